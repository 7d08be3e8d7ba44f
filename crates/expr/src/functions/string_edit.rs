//! Functions that edit, quote and split strings, compare them by sound, and return their collation.

use super::args::{Made, bounded_text, integer, nullable, string};
use crate::characters::{count_characters, offset};
use crate::function::{Call, Function};
use crate::{EvalContext, Expr, build};
use leafline_types::collation::Collation;
use leafline_types::error::MysqlError;
use leafline_types::value::{Coercibility, ExprType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("BIT_LENGTH", (1, 1), super::args::bigint, |_, call, values| {
        Ok(call.text(values, 0).map_or(Value::Null, |s| Value::Int(s.len() as i64 * 8)))
    })
    .bytes(),
    Function::new("INSERT", (4, 4), insert_type, insert).texts().numbers(&[1, 2]),
    Function::new("QUOTE", (1, 1), quote_type, quote).texts(),
    Function::new("SOUNDEX", (1, 1), soundex_type, soundex),
    Function::new("SPACE", (1, 1), space_type, space).own_text().numbers(&[0]),
    Function::new("STRCMP", (2, 2), strcmp_type, strcmp),
    Function::new("SUBSTRING_INDEX", (3, 3), substring_index_type, substring_index).texts().numbers(&[2]),
    Function::new(
        "LOAD_FILE",
        (1, 1),
        |args| string("load_file", &[&args[0]], u32::MAX.into(), true),
        |_, _, _| Ok(Value::Null),
    ),
    Function::new(
        "CHARSET",
        (1, 1),
        |_| Ok(system_name(64)),
        |_, call, _| Ok(Value::from(call.args[0].ty.collation.charset().name())),
    ),
    Function::new(
        "COLLATION",
        (1, 1),
        |_| Ok(system_name(64)),
        |_, call, _| Ok(Value::from(call.args[0].ty.collation.name())),
    ),
    Function::new(
        "COERCIBILITY",
        (1, 1),
        |_| Ok(build::bigint(false)),
        |_, call, _| Ok(Value::Int(call.args[0].ty.coercibility as i64)),
    ),
    Function::new("NAME_CONST", (2, 2), |args| Ok(args[1].ty.clone()), |_, _, values| Ok(values[1].clone())),
];

/// Returns the type of the name of a character set or collation.
fn system_name(length: u64) -> ExprType {
    ExprType { collation: Collation::Utf8mb3GeneralCi, ..bounded_text(length, false) }
}

fn length(arg: &Expr) -> u64 {
    build::text_length(&arg.ty.sql)
}

fn insert_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    string("insert", &[&args[0], &args[3]], length(&args[0]) + length(&args[3]), nullable(args))
}

/// Computes INSERT: replaces characters from a place on; returns the string unchanged if there is no such place.
fn insert(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let (from, count) = (integer(&values[1], cx)?, integer(&values[2], cx)?);
    let (Some(s), Some(new), Some((from, count))) =
        (call.text(values, 0), call.text(values, 3), from.zip(count))
    else {
        return Ok(Value::Null);
    };
    let bytewise = call.bytewise();
    let have = count_characters(&s, bytewise);
    let Some(start) = usize::try_from(from).ok().and_then(|f| f.checked_sub(1)).filter(|f| *f < have) else {
        return call.string(s);
    };
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(have - start);
    let begin = offset(&s, bytewise, start);
    let end = begin + offset(&s[begin..], bytewise, count);
    if s.len() + new.len() > cx.sql_mode.max_result {
        return call.too_long(cx);
    }
    call.made(cx, values, |out| {
        out.reserve(begin + new.len() + s.len() - end)?;
        out.push(&s[..begin])?;
        out.push(&new)?;
        out.push(&s[end..])?;
        Ok(Made::String)
    })
}

fn quote_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let longest = (length(&args[0]) * 2 + 2).max(4);
    string("quote", &[&args[0]], longest, false)
}

/// Computes QUOTE: a literal of SQL, with a backslash before characters with a meaning inside quotes; the word NULL
/// for NULL.
fn quote(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return call.string(b"NULL") };
    call.made(cx, values, |out| {
        out.push_byte(b'\'')?;
        for b in s.iter() {
            match b {
                0 => out.push(b"\\0")?,
                0x1A => out.push(b"\\Z")?,
                b'\'' | b'\\' => out.push(&[b'\\', *b])?,
                b => out.push_byte(*b)?,
            }
        }
        out.push_byte(b'\'')?;
        Ok(Made::String)
    })
}

fn soundex_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    string("soundex", &[&args[0]], length(&args[0]).max(4), nullable(args))
}

/// Codes of similar consonants, from A to Z; 0 for vowels and the like.
const SOUNDS: &[u8; 26] = b"01230120022455012623010202";

fn sound(c: char) -> u8 {
    match c.to_ascii_uppercase() {
        c @ 'A'..='Z' => SOUNDS[usize::from(c as u8 - b'A')],
        _ => b'0',
    }
}

/// Computes SOUNDEX. As in MySQL, vowels do not separate equal sounds, and all letters count, however many there are.
/// Letters beyond ASCII are vowels.
fn soundex(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return Ok(Value::Null) };
    let bytewise = call.bytewise();
    let text = match bytewise {
        true => s.iter().map(|b| char::from(*b)).collect(),
        false => String::from_utf8_lossy(&s),
    };
    call.made(cx, values, |out| {
        let mut letters = text.chars().filter(|c| c.is_ascii_alphabetic() || *c >= '\u{C0}');
        let Some(first) = letters.next() else { return Ok(Made::String) };
        match first.to_ascii_uppercase() {
            first if bytewise => out.push_byte(first as u8)?,
            first => out.push_char(first)?,
        }
        let (mut last, mut length) = (sound(first), 1);
        for code in letters.map(sound) {
            out.read(1)?;
            if code != b'0' && code != last {
                out.push_byte(code)?;
                (last, length) = (code, length + 1);
            }
        }
        out.push_repeated(b"0", 4usize.saturating_sub(length))?;
        Ok(Made::String)
    })
}

fn space_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let count = match super::args::literal_integer(&args[0]) {
        Some(n) => n.clamp(0, u32::MAX.into()) as u64,
        None => u32::MAX.into(),
    };
    Ok(bounded_text(count, true))
}

fn space(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(count) = integer(&values[0], cx)? else { return Ok(Value::Null) };
    call.made(cx, values, |out| {
        out.push_repeated(b" ", usize::try_from(count).unwrap_or(0))?;
        Ok(Made::String)
    })
}

fn strcmp_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    build::compared_by("strcmp", &[&args[0], &args[1]])?;
    super::args::bigint(args)
}

fn strcmp(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let (Some(a), Some(b)) = (call.text(values, 0), call.text(values, 1)) else { return Ok(Value::Null) };
    let (collation, coercibility) = build::merge_collations("strcmp", call.args.iter().map(|a| &a.ty))?;
    let collation = if coercibility >= Coercibility::Numeric { build::TEXT_OF_NUMBER } else { collation };
    Ok(Value::Int(collation.compare_long(&a, &b, cx.cancel)? as i64))
}

fn substring_index_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    string("substring_index", &[&args[0], &args[1]], length(&args[0]), nullable(args))
}

/// Computes SUBSTRING_INDEX: the text before delimiter number `count`, counted from the left, or for a negative
/// number the text after it, counted from the right. As in MySQL, overlapping delimiters are separated from the left
/// in multi-byte character sets, and otherwise from the side from which they are counted.
fn substring_index(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let count = match &values[2] {
        Value::UInt(v) => Some(i64::try_from(*v).unwrap_or(i64::MAX)),
        v => integer(v, cx)?,
    };
    let (Some(s), Some(delimiter), Some(count)) = (call.text(values, 0), call.text(values, 1), count) else {
        return Ok(Value::Null);
    };
    if s.is_empty() || delimiter.is_empty() || count == 0 {
        return call.string([]);
    }
    let mut left = count.unsigned_abs();
    let mut steps = cx.steps();
    if count > 0 || call.ty.collation.charset().max_bytes() > 1 {
        let finder = memchr::memmem::Finder::new(&*delimiter);
        if count < 0 {
            let (mut all, mut end) = (0u64, 0);
            for found in finder.find_iter(&s) {
                steps.take(found + delimiter.len() - end)?;
                (all, end) = (all + 1, found + delimiter.len());
            }
            match all.checked_sub(left) {
                Some(before) => left = before + 1,
                None => return call.string(s),
            }
        }
        let mut at = 0;
        while let Some(found) = finder.find(&s[at..]) {
            steps.take(found + delimiter.len())?;
            left -= 1;
            if left == 0 {
                let found = at + found;
                return call.string(if count > 0 { &s[..found] } else { &s[found + delimiter.len()..] });
            }
            at += found + delimiter.len();
        }
        return call.string(s);
    }
    let finder = memchr::memmem::FinderRev::new(&*delimiter);
    let mut end = s.len();
    while let Some(found) = finder.rfind(&s[..end]) {
        steps.take(end - found)?;
        left -= 1;
        if left == 0 {
            return call.string(&s[found + delimiter.len()..]);
        }
        end = found;
    }
    call.string(s)
}
