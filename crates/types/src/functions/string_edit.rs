//! Strings taken apart, quoted, compared by sound, and what is known of their collation.

use super::args::{bounded_text, count_characters, integer, nullable, offset, string};
use super::{Call, Function};
use crate::collation::Collation;
use crate::error::MysqlError;
use crate::expr::{EvalContext, Expr, build, find_bytes};
use crate::value::{Coercibility, ExprType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("BIT_LENGTH", (1, 1), super::args::bigint, |_, call, values| {
        Ok(call.text(values, 0).map_or(Value::Null, |s| Value::Int(s.len() as i64 * 8)))
    })
    .bytes(),
    Function::new("INSERT", (4, 4), insert_type, insert).numbers(&[1, 2]),
    Function::new("QUOTE", (1, 1), quote_type, quote),
    Function::new("SOUNDEX", (1, 1), soundex_type, soundex),
    Function::new("SPACE", (1, 1), space_type, space).numbers(&[0]),
    Function::new("STRCMP", (2, 2), strcmp_type, strcmp),
    Function::new("SUBSTRING_INDEX", (3, 3), substring_index_type, substring_index).numbers(&[2]),
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

/// The name of a character set or collation.
fn system_name(length: u64) -> ExprType {
    ExprType { collation: Collation::Utf8mb3GeneralCi, ..bounded_text(length, false) }
}

fn length(arg: &Expr) -> u64 {
    build::text_length(&arg.ty.sql)
}

fn insert_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    string("insert", &[&args[0], &args[3]], length(&args[0]) + length(&args[3]), nullable(args))
}

/// Characters from a place on replaced by others; the string itself where there is no such place.
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
    if s.len() + new.len() > cx.sql_mode.max_result {
        return call.too_long(cx);
    }
    let begin = offset(&s, bytewise, start);
    let end = begin + offset(&s[begin..], bytewise, count);
    call.string([&s[..begin], &new, &s[end..]].concat())
}

fn quote_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let longest = (length(&args[0]) * 2 + 2).max(4);
    string("quote", &[&args[0]], longest, false)
}

/// A literal of SQL: what has a meaning inside of quotes after a backslash; the word NULL for NULL.
fn quote(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return call.string(b"NULL".as_slice()) };
    let mut out = Vec::with_capacity(s.len() + 2);
    out.push(b'\'');
    for b in s.iter() {
        match b {
            0 => out.extend_from_slice(b"\\0"),
            0x1A => out.extend_from_slice(b"\\Z"),
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', *b]),
            b => out.push(*b),
        }
    }
    out.push(b'\'');
    if out.len() > cx.sql_mode.max_result {
        return call.too_long(cx);
    }
    call.string(out)
}

fn soundex_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    string("soundex", &[&args[0]], length(&args[0]).max(4), nullable(args))
}

/// Consonants that sound alike, from A to Z; 0 for vowels and the like.
const SOUNDS: &[u8; 26] = b"01230120022455012623010202";

fn sound(c: char) -> u8 {
    match c.to_ascii_uppercase() {
        c @ 'A'..='Z' => SOUNDS[usize::from(c as u8 - b'A')],
        _ => b'0',
    }
}

/// As MySQL has it: vowels do not separate equal sounds, and all letters count, however many. Letters beyond ASCII
/// are vowels.
fn soundex(_: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return Ok(Value::Null) };
    let bytewise = call.bytewise();
    let text = match bytewise {
        true => s.iter().map(|b| char::from(*b)).collect(),
        false => String::from_utf8_lossy(&s),
    };
    let mut letters = text.chars().filter(|c| c.is_ascii_alphabetic() || *c >= '\u{C0}');
    let Some(first) = letters.next() else { return call.string(Vec::new()) };
    let mut out = String::from(first.to_ascii_uppercase());
    let mut last = sound(first);
    for code in letters.map(sound).filter(|code| *code != b'0') {
        if code != last {
            out.push(char::from(code));
            last = code;
        }
    }
    while out.chars().count() < 4 {
        out.push('0');
    }
    if bytewise {
        return call.string(out.chars().map(|c| c as u8).collect::<Vec<u8>>());
    }
    call.string(out)
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
    match usize::try_from(count).unwrap_or(0) {
        count if count <= cx.sql_mode.max_result => Ok(Value::string(" ".repeat(count))),
        _ => call.too_long(cx),
    }
}

fn strcmp_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    build::merge_collations("strcmp", args.iter().map(|a| &a.ty))?;
    super::args::bigint(args)
}

fn strcmp(_: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let (Some(a), Some(b)) = (call.text(values, 0), call.text(values, 1)) else { return Ok(Value::Null) };
    let (collation, coercibility) = build::merge_collations("strcmp", call.args.iter().map(|a| &a.ty))?;
    let collation = if coercibility >= Coercibility::Numeric { build::TEXT_OF_NUMBER } else { collation };
    Ok(Value::Int(collation.compare(&a, &b) as i64))
}

fn substring_index_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    string("substring_index", &[&args[0], &args[1]], length(&args[0]), nullable(args))
}

/// What is before the delimiter number `count`, counted from the left, or for a negative number what is after it,
/// counted from the right.
fn substring_index(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let count = match &values[2] {
        Value::UInt(v) => Some(i64::try_from(*v).unwrap_or(i64::MAX)),
        v => integer(v, cx)?,
    };
    let (Some(s), Some(delimiter), Some(count)) = (call.text(values, 0), call.text(values, 1), count) else {
        return Ok(Value::Null);
    };
    if s.is_empty() || delimiter.is_empty() || count == 0 {
        return call.string(Vec::new());
    }
    let mut left = count.unsigned_abs();
    if count > 0 {
        let mut at = 0;
        while let Some(found) = find_bytes(&s[at..], &delimiter) {
            left -= 1;
            if left == 0 {
                return call.string(&s[..at + found]);
            }
            at += found + delimiter.len();
        }
        return call.string(s);
    }
    let mut end = s.len();
    while end >= delimiter.len() {
        if s[..end].ends_with(&delimiter) {
            left -= 1;
            if left == 0 {
                return call.string(&s[end..]);
            }
            end -= delimiter.len();
        } else {
            end -= 1;
        }
    }
    call.string(s)
}
