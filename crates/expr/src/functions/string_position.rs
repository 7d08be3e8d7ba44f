//! Functions that count characters: parts of strings, and places in them. Characters count from 1; the characters of
//! binary strings are bytes.

use super::args::{characters, integer, nullable, string};
use crate::characters::{count_characters, offset};
use crate::function::{Call, Function};
use crate::{Datum, EvalContext, Expr, build};
use arrow_array::StringArray;
use arrow_array::cast::AsArray;
use leafline_types::collation::Collation;
use leafline_types::error::MysqlError;
use leafline_types::value::{ExprType, Value};
use std::sync::Arc;

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("SUBSTRING", (2, 3), part_type, substring)
        .texts()
        .numbers(&[1, 2])
        .aliases(&["SUBSTR", "MID"])
        .vector(|_, call, data, _| Ok(parts(call, data, data.get(1), data.get(2)))),
    Function::new("LEFT", (2, 2), end_type, left)
        .texts()
        .numbers(&[1])
        .vector(|_, call, data, _| Ok(parts(call, data, None, data.get(1)))),
    Function::new("RIGHT", (2, 2), end_type, right).texts().numbers(&[1]),
    Function::new("INSTR", (2, 2), position_type, |cx, call, values| {
        position(cx, call, call.text(values, 0), call.text(values, 1), 0)
    })
    .texts(),
    Function::new("LOCATE", (2, 3), position_type, locate).texts().aliases(&["POSITION"]).numbers(&[2]),
];

fn part_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    part_of(args, args.get(2))
}

fn end_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    part_of(args, args.get(1))
}

/// Returns a type no longer than the text, nor than a literal length.
fn part_of(args: &[Expr], count: Option<&Expr>) -> Result<ExprType, MysqlError> {
    let whole = build::text_length(&args[0].ty.sql);
    let most = match count.and_then(Expr::as_literal) {
        Some(Value::Int(count)) => whole.min(u64::try_from(*count).unwrap_or(0)),
        _ => whole,
    };
    string("substr", &[&args[0]], most, nullable(args))
}

fn substring(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let (Some(s), Some(from)) = (call.text(values, 0), integer(&values[1], cx)?) else {
        return Ok(Value::Null);
    };
    let count = match values.get(2) {
        None => usize::MAX,
        Some(count) => match integer(count, cx)? {
            None => return Ok(Value::Null),
            Some(count) => usize::try_from(count).unwrap_or(0),
        },
    };
    let bytewise = call.bytewise();
    let from = match from {
        1.. => usize::try_from(from - 1).ok(),
        0 => None,
        _ => usize::try_from(from.unsigned_abs())
            .ok()
            .and_then(|back| count_characters(&s, bytewise).checked_sub(back)),
    };
    match from {
        Some(from) => call.string(characters(&s, bytewise, from, count)),
        None => call.string([]),
    }
}

/// Returns the parts of a column's texts from character `from` on, counted from 1, at most `count` long. None unless
/// these numbers are constants, and `from` is missing or positive.
fn parts(call: Call<'_>, data: &[Datum], from: Option<&Datum>, count: Option<&Datum>) -> Option<Datum> {
    let number = |datum: Option<&Datum>, otherwise: i64| match datum {
        None => Some(otherwise),
        Some(Datum::Scalar(Value::Int(number))) => Some(*number),
        Some(_) => None,
    };
    let before = usize::try_from(number(from, 1)?.checked_sub(1)?).ok()?;
    let count = usize::try_from(number(count, i64::MAX)?).unwrap_or(0);
    let Some(Datum::Array(array)) = data.first() else { return None };
    let texts = array.as_string_opt::<i32>().filter(|_| !call.bytewise())?;
    let part = |text| {
        let rest = str::get(text, offset(text.as_bytes(), false, before)..).unwrap_or_default();
        rest.get(..offset(rest.as_bytes(), false, count)).unwrap_or_default()
    };
    let parts = StringArray::from_iter(texts.iter().map(|text| text.map(part)));
    Some(Datum::Array(Arc::new(parts)))
}

fn left(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let (Some(s), Some(count)) = (call.text(values, 0), integer(&values[1], cx)?) else {
        return Ok(Value::Null);
    };
    call.string(characters(&s, call.bytewise(), 0, usize::try_from(count).unwrap_or(0)))
}

fn right(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let (Some(s), Some(count)) = (call.text(values, 0), integer(&values[1], cx)?) else {
        return Ok(Value::Null);
    };
    let have = count_characters(&s, call.bytewise());
    let from = have.saturating_sub(usize::try_from(count).unwrap_or(0));
    call.string(&s[offset(&s, call.bytewise(), from)..])
}

fn position_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    build::compared_by("locate", &[&args[0], &args[1]])?;
    super::args::bigint(args)
}

fn locate(cx: &mut EvalContext<'_>, call: Call<'_>, values: &[Value]) -> Result<Value, MysqlError> {
    let skip = match values.get(2) {
        None => 0,
        Some(from) => match integer(from, cx)? {
            None => return Ok(Value::Null),
            // Nothing is found from a place before the first character.
            Some(from) => usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX),
        },
    };
    position(cx, call, call.text(values, 1), call.text(values, 0), skip)
}

/// Returns where `part` first is in `s` after `skip` characters; 0 if it is not found, or if there are fewer
/// characters.
fn position(
    cx: &EvalContext<'_>,
    call: Call<'_>,
    s: Option<std::borrow::Cow<'_, [u8]>>,
    part: Option<std::borrow::Cow<'_, [u8]>>,
    skip: usize,
) -> Result<Value, MysqlError> {
    let (Some(s), Some(part)) = (s, part) else { return Ok(Value::Null) };
    let (collation, coercibility) = build::merge_collations("locate", call.args[..2].iter().map(|a| &a.ty))?;
    let bytewise =
        collation == Collation::Binary && coercibility < leafline_types::value::Coercibility::Numeric;
    if skip > 0 && skip > count_characters(&s, bytewise) {
        return Ok(Value::Int(0));
    }
    let start = offset(&s, bytewise, skip);
    if part.is_empty() {
        // As in MySQL, the place of an empty text counts bytes.
        let skipped = str::from_utf8(&s[..start]).unwrap_or_default();
        let bytes = if bytewise { start } else { collation.charset().encoded_len(skipped) };
        return Ok(Value::Int(bytes as i64 + 1));
    }
    Ok(Value::Int(match collation.find(&s[start..], &part, &mut cx.steps())? {
        Some(at) => (skip + count_characters(&s[start..start + at], bytewise)) as i64 + 1,
        None => 0,
    }))
}
