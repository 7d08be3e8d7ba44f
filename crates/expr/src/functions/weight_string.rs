//! WEIGHT_STRING: the weights by which strings are compared.

use super::args::{Made, binary_string, characters, integer};
use crate::characters::count_characters;
use crate::function::{Call, Function};
use crate::{EvalContext, Expr, build};
use leafline_types::collation::{Charset, Collation};
use leafline_types::error::MysqlError;
use leafline_types::output::{Output, Stop, room_for};
use leafline_types::value::{ExprType, Value};

/// The second argument is the number of characters of `AS CHAR(n)`; `AS BINARY(n)` is a cast of the argument.
pub(super) static FUNCTIONS: &[Function] =
    &[Function::new("WEIGHT_STRING", (1, 2), weight_string_type, weight_string)];

fn weight_string_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    let length = build::text_length(&args[0].ty.sql).max(match args.get(1) {
        Some(count) => super::args::literal_integer(count).map_or(0, |count| count.unsigned_abs()),
        None => 0,
    });
    Ok(binary_string(length.saturating_mul(args[0].ty.collation.sort_length().max(4)), true))
}

/// Computes WEIGHT_STRING; NULL for a value that is not a string.
fn weight_string(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let ty = &call.args[0].ty;
    if !ty.sql.is_string() {
        return Ok(Value::Null);
    }
    let Some(mut text) = call.text(values, 0) else { return Ok(Value::Null) };
    if let Some(count) = values.get(1) {
        let count = integer(count, cx)?.and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        if let Some(bytes) = bytes_of_weight(ty.collation) {
            return weights_of(cx, call, values, &text, (count, bytes));
        }
        let bytewise = ty.sql.is_bytes();
        let missing = count.saturating_sub(count_characters(&text, bytewise));
        if missing > cx.sql_mode.max_result {
            return call.too_long(cx);
        }
        room_for(text.len() + missing)?;
        let mut cut = characters(&text, bytewise, 0, count).to_vec();
        if ty.collation.pads_space() {
            cut.resize(cut.len() + missing, b' ');
        }
        text = cut.into();
    }
    call.made_bytes(cx, values, |out| {
        put_weights(ty.collation, &text, out)?;
        Ok(Made::String)
    })
}

/// Returns how many bytes every weight has, if characters have none, one or several weights, and padding counts: then
/// `AS CHAR(n)` gives the number of weights.
fn bytes_of_weight(collation: Collation) -> Option<usize> {
    let charset = collation.charset();
    if !collation.is_weighted() || !collation.pads_space() {
        return None;
    }
    match charset {
        charset if charset.is_unicode() => Some(2),
        Charset::Latin1 => Some(1),
        _ => None,
    }
}

/// Writes the first weights of a text, and those of spaces if it has fewer.
fn weights_of(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    values: &[Value],
    text: &[u8],
    (count, bytes): (usize, usize),
) -> Result<Value, MysqlError> {
    if count > cx.sql_mode.max_result {
        return call.too_long(cx);
    }
    room_for(text.len() + count)?;
    let mut padded = text.to_vec();
    padded.resize(text.len() + count, b' ');
    let collation = call.args[0].ty.collation;
    call.made_bytes(cx, values, |out| {
        put_weights(collation, &padded, out)?;
        out.truncate(count * bytes);
        Ok(Made::String)
    })
}

/// Writes as many bytes for a weight as MySQL: those of its code if the character set is not Unicode's, three for
/// code points beyond U+FFFF.
fn put_weights(collation: Collation, text: &[u8], out: &mut Output<'_>) -> Result<(), Stop> {
    let charset = collation.charset();
    let code_points = |bytes: usize, out: &mut Output<'_>| {
        let text = String::from_utf8_lossy(text);
        text.chars().try_for_each(|c| out.push(&u32::from(c).to_be_bytes()[4 - bytes..]))
    };
    match charset {
        Charset::Binary => collation.put_weight_string(text, out),
        _ if collation == Collation::Utf8mb4_0900Bin => collation.put_weight_string(text, out),
        _ if charset.is_unicode() && collation.is_bin() => {
            let beyond = !matches!(charset, Charset::Utf8mb3 | Charset::Ucs2);
            code_points(if beyond { 3 } else { 2 }, out)
        }
        _ if charset.is_unicode() || charset == Charset::Gb18030 && !collation.is_bin() => {
            collation.put_weight_string(text, out)
        }
        _ if collation.is_bin() => out.push(&charset.encode(&String::from_utf8_lossy(text))),
        _ => collation.put_weights_as_codes(text, out),
    }
}
