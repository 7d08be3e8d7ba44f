//! Characters and numbers as codes: ASCII, ORD, CHAR, CONV and its shorthands, hexadecimal and base 64.

use super::args::{Made, binary_string, bounded_text, integer, low_bits, nullable};
use crate::function::{Call, Function};
use crate::{EvalContext, Expr, build};
use leafline_types::error::MysqlError;
use leafline_types::output::{Output, Stop};
use leafline_types::value::{ExprType, SqlType, Value};
use leafline_types::{BASE64_ALPHABET, base64_text};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("ASCII", (1, 1), super::args::bigint, |_, call, values| {
        Ok(call.text(values, 0).map_or(Value::Null, |s| Value::Int(s.first().copied().unwrap_or(0).into())))
    })
    .bytes(),
    Function::new("ORD", (1, 1), super::args::bigint, ord),
    Function::new("CHAR", (1, usize::MAX), char_type, |cx, _, values| {
        Ok(Value::bytes(bytes_of_codes(cx, values, 1)?))
    })
    .numeric(),
    Function::new("CHAR_USING", (1, usize::MAX), char_using_type, char_using).special(),
    Function::new(
        "BIN",
        (1, 1),
        |args| Ok(bounded_text(64, nullable(args))),
        |cx, call, values| convert(cx, call, values, 10, 2),
    )
    .own_text(),
    Function::new(
        "OCT",
        (1, 1),
        |args| Ok(bounded_text(64, nullable(args))),
        |cx, call, values| convert(cx, call, values, 10, 8),
    )
    .own_text(),
    Function::new(
        "CONV",
        (3, 3),
        |_| Ok(bounded_text(65, true)),
        |cx, call, values| {
            let (Some(from), Some(to)) = (integer(&values[1], cx)?, integer(&values[2], cx)?) else {
                return Ok(Value::Null);
            };
            convert(cx, call, values, from, to)
        },
    )
    .own_text()
    .numbers(&[1, 2]),
    Function::new("UNHEX", (1, 1), |args| Ok(binary_string(length(&args[0]).div_ceil(2), true)), unhex),
    Function::new("TO_BASE64", (1, 1), to_base64_type, to_base64).own_text().bytes(),
    Function::new(
        "FROM_BASE64",
        (1, 1),
        |args| Ok(binary_string(length(&args[0]) / 4 * 3 + 3, true)),
        from_base64,
    ),
];

fn length(arg: &Expr) -> u64 {
    build::text_length(&arg.ty.sql)
}

/// Returns the bytes of the first character as one number.
fn ord(_: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(s) = call.text(values, 0) else { return Ok(Value::Null) };
    let bytewise = !call.args[0].ty.sql.is_character();
    let first = &s[..crate::characters::offset(&s, bytewise, 1)];
    let charset = call.args[0].ty.collation.charset();
    let encoded = match str::from_utf8(first) {
        Ok(text) if !bytewise && !charset.is_utf8() => charset.encode(text),
        _ => first.to_vec(),
    };
    let first = encoded;
    Ok(Value::Int(first.iter().fold(0i64, |code, b| code << 8 | i64::from(*b))))
}

fn char_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    Ok(binary_string(args.len() as u64 * 4, false))
}

fn char_using_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    // The maker of the call sets the collation.
    Ok(bounded_text(args.len() as u64 * 4, true))
}

/// Returns the low 32 bits of each number, without leading zero bytes except as needed for a multiple of `unit`
/// bytes. Skips NULLs.
fn bytes_of_codes(cx: &mut EvalContext<'_>, values: &[Value], unit: usize) -> Result<Vec<u8>, MysqlError> {
    let mut out = Vec::new();
    for v in values {
        let Some(code) = low_bits(v, cx)? else { continue };
        let bytes = code.to_be_bytes();
        let start = bytes.iter().position(|b| *b != 0).unwrap_or(3) / unit * unit;
        out.extend_from_slice(&bytes[start..]);
    }
    Ok(out)
}

/// Computes CHAR(.. USING ..); NULL, with a warning, if the bytes are invalid in the character set.
fn char_using(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let charset = call.ty.collation.charset();
    let bytes = bytes_of_codes(cx, values, charset.min_bytes() as usize)?;
    match charset.decode(&bytes) {
        Ok(text) => Ok(Value::string(text)),
        Err(e) => {
            cx.warn(e)?;
            Ok(Value::Null)
        }
    }
}

/// Converts argument 0, a number in base `from`, to base `to`; a negative base stands for signed numbers.
fn convert(
    _: &mut EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
    from: i64,
    to: i64,
) -> Result<Value, MysqlError> {
    let bases = 2..=36;
    if !bases.contains(&from.unsigned_abs()) || !bases.contains(&to.unsigned_abs()) {
        return Ok(Value::Null);
    }
    let bits = match (&values[0], &call.args[0].ty.sql) {
        // A BIT is its number: its text is bytes, not digits.
        (Value::UInt(bits), SqlType::Bit { .. }) => *bits,
        _ => match call.text(values, 0) {
            Some(text) if !text.is_empty() => read_radix(&text, from.unsigned_abs() as u32, from < 0),
            _ => return Ok(Value::Null),
        },
    };
    Ok(Value::string(match to < 0 && (bits as i64) < 0 {
        true => format!("-{}", in_radix((bits as i64).unsigned_abs(), to.unsigned_abs())),
        false => in_radix(bits, to.unsigned_abs()),
    }))
}

/// Reads the number at the front of a text, clamped to 64 bits.
fn read_radix(text: &[u8], radix: u32, signed: bool) -> u64 {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let mut number = 0u64;
    let mut beyond = false;
    for digit in digits.iter().map_while(|b| char::from(*b).to_digit(radix)) {
        let next = number.checked_mul(radix.into()).and_then(|n| n.checked_add(digit.into()));
        beyond |= next.is_none();
        number = next.unwrap_or(u64::MAX);
    }
    match (signed, negative) {
        (_, _) if beyond && !signed => u64::MAX,
        (true, true) if beyond || number > i64::MIN.unsigned_abs() => i64::MIN as u64,
        (true, false) if beyond || number > i64::MAX as u64 => i64::MAX as u64,
        (_, true) => number.wrapping_neg(),
        (_, false) => number,
    }
}

fn in_radix(mut number: u64, radix: u64) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = char::from_digit((number % radix) as u32, radix as u32).unwrap_or('0');
        digits.push(digit.to_ascii_uppercase());
        number /= radix;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// Returns NULL, with warning 1411 that names the argument.
pub(super) fn null_with_warning_1411(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    kind: &str,
) -> Result<Value, MysqlError> {
    let name = call.function.definition().name.to_ascii_lowercase();
    cx.warn(MysqlError::wrong_value_for_function(kind, &call.args[0], name))?;
    Ok(Value::Null)
}

fn unhex(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(text) = call.text(values, 0) else { return Ok(Value::Null) };
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    let (first, pairs) = text.split_at(text.len() % 2);
    let mut wrong = false;
    let made = call.made_bytes(cx, values, |out| {
        out.reserve(text.len().div_ceil(2))?;
        for pair in first.chunks(1).chain(pairs.chunks(2)) {
            match pair.iter().try_fold(0u8, |byte, b| Some(byte << 4 | digit(*b)?)) {
                Some(byte) => out.push_byte(byte)?,
                None => {
                    wrong = true;
                    return Ok(Made::Null);
                }
            }
        }
        Ok(Made::String)
    });
    if wrong { null_with_warning_1411(cx, call, "string") } else { made }
}

/// Characters in a line of base 64.
const LINE: usize = 76;

fn to_base64_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let bytes = length(&args[0]) * if args[0].ty.sql.is_character() { 4 } else { 1 };
    let characters = bytes.div_ceil(3) * 4;
    Ok(bounded_text(characters + characters / LINE as u64, nullable(args)))
}

fn to_base64(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(bytes) = call.text(values, 0) else { return Ok(Value::Null) };
    let characters = bytes.len().div_ceil(3) * 4;
    // Whole lines of the result, so that each piece begins with a group.
    const PIECE: usize = LINE / 4 * 3 * 256;
    call.made(cx, values, |out| {
        out.reserve(characters + characters.saturating_sub(1) / LINE)?;
        for (n, piece) in bytes.chunks(PIECE).enumerate() {
            if n > 0 {
                out.push_byte(b'\n')?;
            }
            out.push(base64_text(piece, LINE).as_bytes())?;
        }
        Ok(Made::String)
    })
}

fn from_base64(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let Some(text) = call.text(values, 0) else { return Ok(Value::Null) };
    let mut wrong = false;
    let made = call.made_bytes(cx, values, |out| {
        out.reserve(text.len() / 4 * 3)?;
        match decode_base64(&text, out)? {
            true => Ok(Made::String),
            false => {
                wrong = true;
                Ok(Made::Null)
            }
        }
    });
    if wrong { null_with_warning_1411(cx, call, "string") } else { made }
}

/// The value of each byte in base 64; 64 for a byte that is not a digit.
const DIGITS: [u8; 256] = {
    let mut digits = [64; 256];
    let mut n = 0;
    while n < 64 {
        digits[BASE64_ALPHABET[n] as usize] = n as u8;
        n += 1;
    }
    digits
};

/// Decodes base 64, ignoring white space; returns whether the text is valid.
fn decode_base64(text: &[u8], out: &mut Output<'_>) -> Result<bool, Stop> {
    let (mut group, mut filled, mut ended) = ([0u8; 4], 0, false);
    for byte in text.iter().filter(|b| !b.is_ascii_whitespace()) {
        if ended {
            return Ok(false);
        }
        group[filled] = *byte;
        filled += 1;
        if filled < group.len() {
            continue;
        }
        filled = 0;
        let padding = group.iter().rev().take_while(|b| **b == b'=').count();
        let digits = &group[..4 - padding.min(3)];
        if padding > 2 || digits.iter().any(|b| DIGITS[usize::from(*b)] == 64) {
            return Ok(false);
        }
        let bits = digits.iter().fold(0u32, |bits, b| bits << 6 | u32::from(DIGITS[usize::from(*b)]));
        out.push(&(bits << (6 * padding)).to_be_bytes()[1..4 - padding])?;
        ended = padding > 0;
    }
    Ok(filled == 0)
}
