//! Bit operators and BIT_COUNT: on BIGINT UNSIGNED, or byte by byte on binary strings.
//!
//! As in MySQL 8, operands that are all binary strings give a binary string of their length; other operands are
//! converted to 64 bits. The binder converts hexadecimal and bit literals to numbers where MySQL does.

use super::args::nullable;
use crate::eval_operand as operand;
use crate::function::{Call, Function};
use crate::{Datum, EvalContext, Expr, build};
use leafline_types::collation::Collation;
use leafline_types::error::MysqlError;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("&", (2, 2), two_type, |cx, call, args| two(cx, call, args, |a, b| a & b, |a, b| a & b))
        .vector(|_, call, data, rows| integers(call, data, rows, |a, b| a & b))
        .special(),
    Function::new("|", (2, 2), two_type, |cx, call, args| two(cx, call, args, |a, b| a | b, |a, b| a | b))
        .vector(|_, call, data, rows| integers(call, data, rows, |a, b| a | b))
        .special(),
    Function::new("^", (2, 2), two_type, |cx, call, args| two(cx, call, args, |a, b| a ^ b, |a, b| a ^ b))
        .vector(|_, call, data, rows| integers(call, data, rows, |a, b| a ^ b))
        .special(),
    Function::new("<<", (2, 2), one_type, |cx, call, args| shift(cx, call, args, true)).special(),
    Function::new(">>", (2, 2), one_type, |cx, call, args| shift(cx, call, args, false)).special(),
    Function::new("~", (1, 1), one_type, invert).special(),
    Function::new("BIT_COUNT", (1, 1), super::args::bigint, bit_count).numeric(),
];

fn is_binary(e: &Expr) -> bool {
    e.ty.sql.is_string() && !e.ty.sql.is_character()
}

fn two_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    if !args.iter().all(is_binary) {
        return Ok(ExprType::numeric(SqlType::BIGINT_UNSIGNED, nullable(args)));
    }
    let len = args.iter().map(|a| build::text_length(&a.ty.sql)).max().unwrap_or(0);
    Ok(binary(len, nullable(args)))
}

fn one_type(args: &[Expr]) -> Result<ExprType, MysqlError> {
    if !is_binary(&args[0]) {
        return Ok(ExprType::numeric(SqlType::BIGINT_UNSIGNED, nullable(args)));
    }
    Ok(binary(build::text_length(&args[0].ty.sql), nullable(args)))
}

fn binary(len: u64, nullable: bool) -> ExprType {
    let sql = SqlType::Varbinary { len: len.min(u32::MAX.into()) as u32 };
    ExprType::string(sql, nullable, Collation::Binary, Coercibility::Coercible)
}

/// Returns the value as 64 bits: a negative number in two's complement, a number that is too large clamped.
pub(crate) fn bits(v: &Value, ty: &SqlType, cx: &mut EvalContext<'_>) -> Result<Option<u64>, MysqlError> {
    Ok(match v {
        Value::Null => None,
        Value::Int(v) => Some(*v as u64),
        Value::UInt(v) => Some(*v),
        Value::Decimal(d) => {
            let rounded = d.round(0).and_then(|d| d.unscaled_i128());
            let (least, most) = match d.is_negative() {
                true => (i64::MIN.into(), 0),
                false if ty.is_unsigned() => (0, u64::MAX.into()),
                false => (0, i128::from(u64::MAX)),
            };
            let nearest = if d.is_negative() { least } else { most };
            Some(rounded.map_or(nearest, |v: i128| v.clamp(least, most)) as u64)
        }
        Value::String(_) | Value::Bytes(_) => match operand::cast(v, ty, &SqlType::BIGINT, cx)? {
            Value::Int(v) => Some(v as u64),
            _ => None,
        },
        other => super::args::integer(other, cx)?.map(|v| v as u64),
    })
}

fn of(call: Call<'_>, args: &[Value], n: usize, cx: &mut EvalContext<'_>) -> Result<Option<u64>, MysqlError> {
    bits(&args[n], &call.args[n].ty.sql, cx)
}

fn two(
    cx: &mut EvalContext<'_>,
    call: Call<'_>,
    args: &[Value],
    of_integers: impl Fn(u64, u64) -> u64,
    of_bytes: impl Fn(u8, u8) -> u8,
) -> Result<Value, MysqlError> {
    if call.bytewise() {
        let (Some(a), Some(b)) = (args[0].as_bytes(), args[1].as_bytes()) else { return Ok(Value::Null) };
        if a.len() != b.len() {
            return Err(MysqlError::invalid_bitwise_operands_size());
        }
        return Ok(Value::bytes(a.iter().zip(b).map(|(a, b)| of_bytes(*a, *b)).collect::<Vec<u8>>()));
    }
    let a = of(call, args, 0, cx)?;
    let b = of(call, args, 1, cx)?;
    Ok(a.zip(b).map_or(Value::Null, |(a, b)| Value::UInt(of_integers(a, b))))
}

/// The values of a column of 64-bit integers, or one for all rows.
enum Lane<'a> {
    One(u64),
    Signed(&'a [i64]),
    Unsigned(&'a [u64]),
}

impl Lane<'_> {
    fn get(&self, row: usize) -> u64 {
        match self {
            Lane::One(v) => *v,
            Lane::Signed(lane) => lane[row] as u64,
            Lane::Unsigned(lane) => lane[row],
        }
    }
}

/// Handles two operands that are columns or constants of 64-bit integers.
fn integers(
    call: Call<'_>,
    data: &[Datum],
    rows: usize,
    f: impl Fn(u64, u64) -> u64,
) -> Result<Option<Datum>, MysqlError> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int64Type, UInt64Type};
    use arrow_array::{Array, UInt64Array};
    use arrow_buffer::NullBuffer;
    if call.bytewise() {
        return Ok(None);
    }
    let mut lanes = Vec::with_capacity(2);
    let mut nulls = None;
    for datum in data {
        lanes.push(match datum {
            Datum::Scalar(Value::Int(v)) => Lane::One(*v as u64),
            Datum::Scalar(Value::UInt(v)) => Lane::One(*v),
            Datum::Scalar(_) => return Ok(None),
            Datum::Array(array) => {
                nulls = NullBuffer::union(nulls.as_ref(), array.nulls());
                if let Some(array) = array.as_primitive_opt::<Int64Type>() {
                    Lane::Signed(array.values())
                } else if let Some(array) = array.as_primitive_opt::<UInt64Type>() {
                    Lane::Unsigned(array.values())
                } else {
                    return Ok(None);
                }
            }
        });
    }
    let [a, b] = lanes.as_slice() else { return Ok(None) };
    let values: Vec<u64> = (0..rows).map(|row| f(a.get(row), b.get(row))).collect();
    Ok(Some(Datum::Array(std::sync::Arc::new(UInt64Array::new(values.into(), nulls)))))
}

fn shift(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value], left: bool) -> Result<Value, MysqlError> {
    let Some(distance) = of(call, args, 1, cx)? else { return Ok(Value::Null) };
    if call.bytewise() {
        let Some(bytes) = args[0].as_bytes() else { return Ok(Value::Null) };
        return Ok(Value::bytes(shifted(bytes, distance, left)));
    }
    let Some(v) = of(call, args, 0, cx)? else { return Ok(Value::Null) };
    let distance = u32::try_from(distance).unwrap_or(u32::MAX);
    let moved = if left { v.checked_shl(distance) } else { v.checked_shr(distance) };
    Ok(Value::UInt(moved.unwrap_or(0)))
}

/// Shifts the bytes as one long number, which keeps its length.
fn shifted(bytes: &[u8], distance: u64, left: bool) -> Vec<u8> {
    let mut out = vec![0; bytes.len()];
    let Ok(whole) = usize::try_from(distance / 8) else { return out };
    let part = (distance % 8) as u32;
    let at = |n: Option<usize>| u16::from(n.and_then(|n| bytes.get(n)).copied().unwrap_or(0));
    for (n, byte) in out.iter_mut().enumerate() {
        *byte = if left {
            let pair =
                at(n.checked_add(whole)) << 8 | at(n.checked_add(whole).and_then(|n| n.checked_add(1)));
            (pair << part >> 8) as u8
        } else {
            let low = n.checked_sub(whole);
            let pair = at(low.and_then(|n| n.checked_sub(1))) << 8 | at(low);
            (pair >> part) as u8
        };
    }
    out
}

fn invert(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    if call.bytewise() {
        let Some(bytes) = args[0].as_bytes() else { return Ok(Value::Null) };
        return Ok(Value::bytes(bytes.iter().map(|b| !b).collect::<Vec<u8>>()));
    }
    Ok(of(call, args, 0, cx)?.map_or(Value::Null, |v| Value::UInt(!v)))
}

fn bit_count(cx: &mut EvalContext<'_>, call: Call<'_>, args: &[Value]) -> Result<Value, MysqlError> {
    if let Value::Bytes(bytes) = &args[0] {
        return Ok(Value::Int(bytes.iter().map(|b| i64::from(b.count_ones())).sum()));
    }
    Ok(of(call, args, 0, cx)?.map_or(Value::Null, |v| Value::Int(v.count_ones().into())))
}
