//! Functions that make strings or measure them.

use super::args::{Made, integer, nullable, string};
use crate::characters::{count_characters, offset};
use crate::eval_operand as operand;
use crate::function::{Call, Function};
use crate::letter_case::{to_lower, to_upper};
use crate::{Datum, EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("CONCAT", (1, usize::MAX), concat_type, concat).texts(),
    Function::new("CONCAT_WS", (2, usize::MAX), concat_ws_type, concat_ws).texts(),
    Function::new("LENGTH", (1, 1), super::args::bigint, |_, call, values| {
        Ok(call.text(values, 0).map_or(Value::Null, |s| Value::Int(s.len() as i64)))
    })
    .texts()
    .bytes()
    .aliases(&["OCTET_LENGTH"])
    .vector(length_of_all),
    Function::new("CHAR_LENGTH", (1, 1), super::args::bigint, char_length)
        .texts()
        .aliases(&["CHARACTER_LENGTH"]),
    Function::new("UPPER", (1, 1), same_type, |cx, call, values| cased(cx, call, values, to_upper))
        .texts()
        .aliases(&["UCASE"]),
    Function::new("LOWER", (1, 1), same_type, |cx, call, values| cased(cx, call, values, to_lower))
        .texts()
        .aliases(&["LCASE"]),
    Function::new("LTRIM", (1, 1), same_type, |_, call, values| trim(call, values, true, false)).texts(),
    Function::new("RTRIM", (1, 1), same_type, |_, call, values| trim(call, values, false, true)).texts(),
    Function::new("TRIM", (1, 1), same_type, |_, call, values| trim(call, values, true, true)).texts(),
    Function::new("TRIM_LEADING", (2, 2), same_type, |_, call, values| trim(call, values, true, false))
        .special(),
    Function::new("TRIM_TRAILING", (2, 2), same_type, |_, call, values| trim(call, values, false, true))
        .special(),
    Function::new("TRIM_BOTH", (2, 2), same_type, |_, call, values| trim(call, values, true, true)).special(),
    Function::new("REPLACE", (3, 3), replace_type, replace).texts(),
    Function::new("LPAD", (3, 3), pad_type, |cx, call, values| pad(cx, call, values, true))
        .texts()
        .numbers(&[1]),
    Function::new("RPAD", (3, 3), pad_type, |cx, call, values| pad(cx, call, values, false))
        .texts()
        .numbers(&[1]),
    Function::new("REPEAT", (2, 2), repeat_type, repeat).texts().numbers(&[1]),
    Function::new("REVERSE", (1, 1), same_type, reverse).texts(),
    Function::new("HEX", (1, 1), hex_type, hex).own_text().bytes(),
];

/// Returns the most characters of an argument's text.
fn length(arg: &Expr) -> u64 {
    build::text_length(&arg.ty.sql)
}

/// Returns a string as long as the first argument, of all arguments' collation.
fn same_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    string("", &args.iter().collect::<Vec<_>>(), length(&args[0]), nullable(args))
}

fn concat_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    string("concat", &args.iter().collect::<Vec<_>>(), args.iter().map(length).sum(), nullable(args))
}

fn concat(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    call.made(cx, values, |out| {
        for n in 0..values.len() {
            let Some(s) = call.text(values, n) else { return Ok(Made::Null) };
            out.push(&s)?;
        }
        Ok(Made::String)
    })
}

fn concat_ws_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let separators = length(&args[0]) * (args.len() as u64 - 2);
    let total = args[1..].iter().map(length).sum::<u64>() + separators;
    string("concat_ws", &args.iter().collect::<Vec<_>>(), total, args[0].ty.nullable)
}

/// Computes CONCAT_WS: NULL only for a NULL separator; other NULLs are skipped.
fn concat_ws(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(separator) = call.text(values, 0) else { return Ok(Value::Null) };
    call.made(cx, values, |out| {
        let mut first = true;
        for n in 1..values.len() {
            let Some(s) = call.text(values, n) else { continue };
            if !std::mem::take(&mut first) {
                out.push(&separator)?;
            }
            out.push(&s)?;
        }
        Ok(Made::String)
    })
}

/// Computes lengths from the offsets of a string column alone.
fn length_of_all(
    _: &mut EvalContext<'_>,
    _: Call<'_>,
    data: &[Datum],
    _: usize,
) -> Result<Option<Datum>, MysqlError> {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, Int64Array};
    use arrow_schema::DataType;
    let [Datum::Array(array)] = data else { return Ok(None) };
    let offsets = match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().offsets(),
        DataType::Binary => array.as_binary::<i32>().offsets(),
        _ => return Ok(None),
    };
    let lengths: Vec<i64> = offsets.windows(2).map(|w| i64::from(w[1] - w[0])).collect();
    let lengths = Int64Array::new(lengths.into(), array.nulls().cloned());
    Ok(Some(Datum::Array(std::sync::Arc::new(lengths))))
}

fn char_length(_: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let bytewise = call.args[0].ty.sql.is_bytes();
    Ok(call.text(values, 0).map_or(Value::Null, |s| Value::Int(count_characters(&s, bytewise) as i64)))
}

/// Converts to upper or lower case, character by character. Leaves bytes unchanged.
fn cased(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
    map: fn(char) -> char,
) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return Ok(Value::Null) };
    if call.bytewise() {
        return call.string(s);
    }
    let text = String::from_utf8_lossy(&s);
    // A letter stays unchanged if the character set lacks its other case.
    let charset = call.ty.collation.charset();
    let mapped = |c: char| Some(map(c)).filter(|mapped| charset.has(*mapped)).unwrap_or(c);
    call.made(cx, values, |out| {
        // Some letters have more bytes in the other case.
        out.reserve(text.len())?;
        match charset.is_utf8() {
            true => text.chars().try_for_each(|c| out.push_char(map(c)))?,
            false => text.chars().try_for_each(|c| out.push_char(mapped(c)))?,
        }
        Ok(Made::String)
    })
}

/// Removes the second argument (by default a space) from the ends, as often as it is there.
fn trim(call: Call<'_>, values: &[Value], leading: bool, trailing: bool) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return Ok(Value::Null) };
    let remove = if values.len() > 1 { call.text(values, 1) } else { Some(b" ".as_slice().into()) };
    let Some(remove) = remove else { return Ok(Value::Null) };
    let mut rest: &[u8] = &s;
    if !remove.is_empty() {
        while leading && let Some(shorter) = rest.strip_prefix(&*remove) {
            rest = shorter;
        }
        while trailing && let Some(shorter) = rest.strip_suffix(&*remove) {
            rest = shorter;
        }
    }
    call.string(rest)
}

fn replace_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let growth = if length(&args[2]) > 1 { length(&args[2]) } else { 1 };
    let longest = (length(&args[0]) * growth).min(u32::MAX.into());
    string("replace", &args.iter().collect::<Vec<_>>(), longest, nullable(args))
}

fn replace(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let (Some(s), Some(from), Some(to)) = (call.text(values, 0), call.text(values, 1), call.text(values, 2))
    else {
        return Ok(Value::Null);
    };
    if from.is_empty() {
        return call.string(s);
    }
    let finder = memchr::memmem::Finder::new(&*from);
    call.made(cx, values, |out| {
        let mut rest: &[u8] = &s;
        while let Some(at) = finder.find(rest) {
            out.push(&rest[..at])?;
            out.push(&to)?;
            out.read(from.len())?;
            rest = &rest[at + from.len()..];
        }
        out.push(rest)?;
        Ok(Made::String)
    })
}

/// Returns the length that a literal argument asks for; the maximum for any other argument.
fn asked_length(arg: &Expr) -> u64 {
    match super::args::literal_integer(arg) {
        Some(n) => n.clamp(0, u32::MAX.into()) as u64,
        None => u32::MAX.into(),
    }
}

fn pad_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    string("lpad", &[&args[0], &args[2]], asked_length(&args[1]), true)
}

fn pad(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value], left: bool) -> Result<Value, MysqlError> {
    let Some(wanted) = integer(&values[1], cx)? else { return Ok(Value::Null) };
    let (Some(s), Some(padding)) = (call.text(values, 0), call.text(values, 2)) else {
        return Ok(Value::Null);
    };
    let Ok(wanted) = usize::try_from(wanted) else { return Ok(Value::Null) };
    let bytewise = call.bytewise();
    let have = count_characters(&s, bytewise);
    if have >= wanted {
        return call.string(&s[..offset(&s, bytewise, wanted)]);
    }
    if padding.is_empty() {
        return call.string([]);
    }
    let missing = wanted - have;
    let unit = count_characters(&padding, bytewise);
    let last = &padding[..offset(&padding, bytewise, missing % unit)];
    let filled = (missing / unit).saturating_mul(padding.len()).saturating_add(last.len());
    call.made(cx, values, |out| {
        out.reserve(s.len().saturating_add(filled))?;
        if !left {
            out.push(&s)?;
        }
        out.push_repeated(&padding, missing / unit)?;
        out.push(last)?;
        if left {
            out.push(&s)?;
        }
        Ok(Made::String)
    })
}

fn repeat_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let longest = length(&args[0]).saturating_mul(asked_length(&args[1]));
    string("repeat", &[&args[0]], longest, true)
}

fn repeat(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(count) = integer(&values[1], cx)? else { return Ok(Value::Null) };
    let Some(s) = call.text(values, 0) else { return Ok(Value::Null) };
    let count = usize::try_from(count).unwrap_or(0);
    call.made(cx, values, |out| {
        out.push_repeated(&s, count)?;
        Ok(Made::String)
    })
}

fn reverse(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return Ok(Value::Null) };
    call.made(cx, values, |out| {
        out.reserve(s.len())?;
        match call.bytewise() {
            true => s.iter().rev().try_for_each(|byte| out.push_byte(*byte))?,
            false => String::from_utf8_lossy(&s).chars().rev().try_for_each(|c| out.push_char(c))?,
        }
        Ok(Made::String)
    })
}

fn hex_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let ty = &args[0].ty.sql;
    let bytes = if ty.is_character() { length(&args[0]) * 4 } else { length(&args[0]).max(8) };
    let sql = build::text_type(bytes * 2);
    let coercibility = leafline_types::value::Coercibility::Coercible;
    Ok(ExprType::string(sql, nullable(args), build::TEXT_OF_NUMBER, coercibility))
}

const HEX_DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Returns the 64 bits of a number without leading zeros, or the bytes of a string.
fn hex(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    Ok(match &values[0] {
        Value::Null => Value::Null,
        Value::Int(v) => Value::string(format!("{v:X}")),
        Value::UInt(v) => Value::string(format!("{v:X}")),
        Value::Decimal(_) | Value::Double(_) => {
            let rounded = operand::decimal(&values[0], cx)?
                .and_then(|d| d.to_i64().map(|v| v as u64).or_else(|| d.to_u64()));
            Value::string(rounded.map_or("FFFFFFFFFFFFFFFF".into(), |v| format!("{v:X}")))
        }
        _ => match call.text(values, 0) {
            Some(s) => {
                let digit = |half: u8| HEX_DIGITS[usize::from(half & 0xF)];
                return call.made(cx, values, |out| {
                    out.reserve(s.len() * 2)?;
                    s.iter().try_for_each(|b| out.push(&[digit(b >> 4), digit(*b)]))?;
                    Ok(Made::String)
                });
            }
            None => Value::Null,
        },
    })
}
