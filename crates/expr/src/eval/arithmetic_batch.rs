//! Arithmetic on columns. A loop computes all rows and notes whether any result is out of range. If one is, or no
//! loop handles the types, `arithmetic` computes the rows one by one, and so raises errors only for rows that count.

use std::sync::Arc;

use arrow_array::types::{Decimal128Type, Decimal256Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{NullBuffer, i256};

use super::super::context::EvalContext;
use super::super::ir::{ArithmeticOp, Expr};
use super::Datum;
use super::arithmetic::{binary, negate as negate_value};
use super::lanes::Lanes;
use leafline_types::column::ColumnBuilder;
use leafline_types::decimal::MAX_SCALE;
use leafline_types::error::MysqlError;
use leafline_types::value::{SqlType, Value};

/// Computes `left op right` for each row, of the type of `e`.
pub(super) fn arithmetic(
    e: &Expr,
    op: ArithmeticOp,
    (left, left_type): (&Datum, &SqlType),
    (right, right_type): (&Datum, &SqlType),
    rows: usize,
    cx: &mut EvalContext<'_>,
) -> Result<Datum, MysqlError> {
    if let (Datum::Scalar(a), Datum::Scalar(b)) = (left, right) {
        return binary(e, op, a, b, cx).map(Datum::Scalar);
    }
    if left.is_null_scalar() || right.is_null_scalar() {
        return Ok(Datum::Scalar(Value::Null));
    }
    if let Some(array) = by_lanes(e, op, left, right, rows) {
        return Ok(Datum::Array(array));
    }
    let mut out = ColumnBuilder::with_capacity(&e.ty.sql, rows);
    for row in 0..rows {
        let v = binary(e, op, &left.value(row, left_type), &right.value(row, right_type), cx)?;
        out.push_value(&v)?;
    }
    Ok(Datum::Array(out.finish()))
}

/// Computes `-operand` for each row, of the type of `e`.
pub(super) fn negate(
    e: &Expr,
    operand: &Datum,
    ty: &SqlType,
    rows: usize,
    cx: &mut EvalContext<'_>,
) -> Result<Datum, MysqlError> {
    let mut out = match operand {
        Datum::Scalar(v) => return negate_value(e, v, cx).map(Datum::Scalar),
        Datum::Array(_) => ColumnBuilder::with_capacity(&e.ty.sql, rows),
    };
    for row in 0..rows {
        out.push_value(&negate_value(e, &operand.value(row, ty), cx)?)?;
    }
    Ok(Datum::Array(out.finish()))
}

/// One operand: a value per row, or one for all.
#[derive(Clone, Copy)]
enum Side<'a, T> {
    Lane(&'a [T]),
    One(T),
}

fn by_lanes(e: &Expr, op: ArithmeticOp, left: &Datum, right: &Datum, rows: usize) -> Option<ArrayRef> {
    let nulls = NullBuffer::union(left.nulls(), right.nulls());
    match &e.ty.sql {
        SqlType::BigInt { unsigned: false } => {
            let (a, b) = (left.i64_side()?, right.i64_side()?);
            integers::<Int64Type>(op, a, b, rows, nulls)
        }
        SqlType::BigInt { unsigned: true } => {
            let (a, b) = (left.u64_side()?, right.u64_side()?);
            integers::<UInt64Type>(op, a, b, rows, nulls)
        }
        SqlType::Double | SqlType::Real { .. } => {
            doubles(op, left.f64_side()?, right.f64_side()?, rows, nulls)
        }
        SqlType::Decimal { precision, scale, .. } => {
            decimals(op, left.decimal_side()?, right.decimal_side()?, (*precision, *scale), rows, nulls)
        }
        _ => None,
    }
}

/// The operations of an integer type for the loops: the result, and whether it is out of range.
trait Overflowing: Copy {
    fn add(self, other: Self) -> (Self, bool);
    fn subtract(self, other: Self) -> (Self, bool);
    fn multiply(self, other: Self) -> (Self, bool);
}

macro_rules! overflowing {
    ($($t:ty),*) => {$(impl Overflowing for $t {
        #[inline(always)]
        fn add(self, other: Self) -> (Self, bool) { self.overflowing_add(other) }
        #[inline(always)]
        fn subtract(self, other: Self) -> (Self, bool) { self.overflowing_sub(other) }
        #[inline(always)]
        fn multiply(self, other: Self) -> (Self, bool) { self.overflowing_mul(other) }
    })*};
}
overflowing!(i64, u64);

/// Computes integers; None if a result is out of range, be it in a row that is NULL.
fn integers<P>(
    op: ArithmeticOp,
    a: Side<'_, P::Native>,
    b: Side<'_, P::Native>,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Option<ArrayRef>
where
    P: ArrowPrimitiveType,
    P::Native: Overflowing,
{
    let values = match op {
        ArithmeticOp::Add => checked(a, b, rows, Overflowing::add),
        ArithmeticOp::Subtract => checked(a, b, rows, Overflowing::subtract),
        ArithmeticOp::Multiply => checked(a, b, rows, Overflowing::multiply),
        _ => None,
    }?;
    Some(Arc::new(PrimitiveArray::<P>::new(values.into(), nulls)))
}

fn doubles(
    op: ArithmeticOp,
    a: Side<'_, f64>,
    b: Side<'_, f64>,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Option<ArrayRef> {
    let finite = |v: f64| (v, !v.is_finite());
    let values = match op {
        ArithmeticOp::Add => checked(a, b, rows, |a, b| finite(a + b)),
        ArithmeticOp::Subtract => checked(a, b, rows, |a, b| finite(a - b)),
        ArithmeticOp::Multiply => checked(a, b, rows, |a, b| finite(a * b)),
        // A quotient by zero is not finite either.
        ArithmeticOp::Divide => checked(a, b, rows, |a, b| finite(a / b)),
        _ => None,
    }?;
    Some(Arc::new(PrimitiveArray::<Float64Type>::new(values.into(), nulls)))
}

/// Returns the results, or None if one is flagged.
#[inline(always)]
fn checked<A: Copy, B: Copy, R>(
    a: Side<'_, A>,
    b: Side<'_, B>,
    rows: usize,
    f: impl Fn(A, B) -> (R, bool),
) -> Option<Vec<R>> {
    let mut out = Vec::with_capacity(rows);
    let mut flagged = false;
    let mut one = |a: A, b: B| {
        let (v, flag) = f(a, b);
        flagged |= flag;
        v
    };
    match (a, b) {
        (Side::Lane(a), Side::Lane(b)) => out.extend(a.iter().zip(b).map(|(a, b)| one(*a, *b))),
        (Side::Lane(a), Side::One(b)) => out.extend(a.iter().map(|a| one(*a, b))),
        (Side::One(a), Side::Lane(b)) => out.extend(b.iter().map(|b| one(a, *b))),
        (Side::One(_), Side::One(_)) => return None,
    }
    (!flagged).then_some(out)
}

/// An operand as unscaled decimals with their scale.
enum DecimalSide<'a> {
    I128(Side<'a, i128>, u8),
    I64(Side<'a, i64>),
}

fn decimals(
    op: ArithmeticOp,
    a: DecimalSide<'_>,
    b: DecimalSide<'_>,
    (precision, scale): (u8, u8),
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Option<ArrayRef> {
    let values = match (a, b) {
        (DecimalSide::I128(a, s), DecimalSide::I128(b, t)) => {
            unscaled(op, a, b, (s, t), (precision, scale), rows, |a| a, |b| b)
        }
        (DecimalSide::I64(a), DecimalSide::I128(b, t)) => {
            unscaled(op, a, b, (0, t), (precision, scale), rows, i128::from, |b| b)
        }
        (DecimalSide::I128(a, s), DecimalSide::I64(b)) => {
            unscaled(op, a, b, (s, 0), (precision, scale), rows, |a| a, i128::from)
        }
        (DecimalSide::I64(a), DecimalSide::I64(b)) => {
            unscaled(op, a, b, (0, 0), (precision, scale), rows, i128::from, i128::from)
        }
    }?;
    let scale = i8::try_from(scale).ok()?;
    if precision <= 38 {
        let array = PrimitiveArray::<Decimal128Type>::new(values.into(), nulls);
        return Some(Arc::new(array.with_precision_and_scale(precision, scale).ok()?));
    }
    let wide: Vec<i256> = values.into_iter().map(i256::from_i128).collect();
    let array = PrimitiveArray::<Decimal256Type>::new(wide.into(), nulls);
    Some(Arc::new(array.with_precision_and_scale(precision, scale).ok()?))
}

/// Computes the unscaled results in 128 bits; None if one does not fit or has more digits than a DECIMAL of 38.
#[expect(clippy::too_many_arguments, reason = "two operands, each with its lane, scale and conversion")]
fn unscaled<A: Copy, B: Copy>(
    op: ArithmeticOp,
    a: Side<'_, A>,
    b: Side<'_, B>,
    (s, t): (u8, u8),
    (precision, scale): (u8, u8),
    rows: usize,
    left: impl Fn(A) -> i128,
    right: impl Fn(B) -> i128,
) -> Option<Vec<i128>> {
    match op {
        ArithmeticOp::Add | ArithmeticOp::Subtract => {
            let (up_a, up_b) = (power(scale.checked_sub(s)?)?, power(scale.checked_sub(t)?)?);
            // Operands of up to 38 digits in all, raised to the scale of a result of up to 38, stay in 128 bits.
            let add = op == ArithmeticOp::Add;
            if precision <= 38 {
                checked(a, b, rows, |a, b| {
                    let (a, b) = (left(a).wrapping_mul(up_a), right(b).wrapping_mul(up_b));
                    (if add { a.wrapping_add(b) } else { a.wrapping_sub(b) }, false)
                })
            } else {
                checked(a, b, rows, |a, b| {
                    let (a, over_a) = left(a).overflowing_mul(up_a);
                    let (b, over_b) = right(b).overflowing_mul(up_b);
                    let (v, over) = if add { a.overflowing_add(b) } else { a.overflowing_sub(b) };
                    (v, over_a | over_b | over)
                })
            }
        }
        ArithmeticOp::Multiply if s + t == scale && s + t <= MAX_SCALE => {
            if precision <= 38 {
                checked(a, b, rows, |a, b| (left(a).wrapping_mul(right(b)), false))
            } else {
                checked(a, b, rows, |a, b| narrow_product(left(a), right(b)))
            }
        }
        _ => None,
    }
}

/// Returns the product of two factors of 64 bits; flags factors that are wider, whose product may not fit.
#[inline(always)]
fn narrow_product(a: i128, b: i128) -> (i128, bool) {
    if i128::from(a as i64) == a && i128::from(b as i64) == b {
        (i128::from(a as i64) * i128::from(b as i64), false)
    } else {
        a.overflowing_mul(b)
    }
}

fn power(exponent: u8) -> Option<i128> {
    10i128.checked_pow(exponent.into())
}

impl Datum {
    fn nulls(&self) -> Option<&NullBuffer> {
        match self {
            Datum::Array(array) => array.nulls(),
            Datum::Scalar(_) => None,
        }
    }

    fn is_null_scalar(&self) -> bool {
        matches!(self, Datum::Scalar(Value::Null))
    }

    fn lanes(&self) -> Option<Lanes<'_>> {
        match self {
            Datum::Array(array) => Lanes::of(array.as_ref()),
            Datum::Scalar(_) => None,
        }
    }

    fn i64_side(&self) -> Option<Side<'_, i64>> {
        match (self, self.lanes()) {
            (Datum::Scalar(Value::Int(v)), _) => Some(Side::One(*v)),
            (_, Some(Lanes::I64(lane))) => Some(Side::Lane(lane)),
            _ => None,
        }
    }

    fn u64_side(&self) -> Option<Side<'_, u64>> {
        match (self, self.lanes()) {
            (Datum::Scalar(v), _) => u64::try_from(v.as_integer()?).ok().map(Side::One),
            (_, Some(Lanes::U64(lane))) => Some(Side::Lane(lane)),
            _ => None,
        }
    }

    fn f64_side(&self) -> Option<Side<'_, f64>> {
        match (self, self.lanes()) {
            (Datum::Scalar(Value::Double(v)), _) => Some(Side::One(*v)),
            (Datum::Scalar(Value::Int(v)), _) => Some(Side::One(*v as f64)),
            (Datum::Scalar(Value::Decimal(d)), _) => Some(Side::One(d.to_f64())),
            (_, Some(Lanes::F64(lane))) => Some(Side::Lane(lane)),
            _ => None,
        }
    }

    fn decimal_side(&self) -> Option<DecimalSide<'_>> {
        match (self, self.lanes()) {
            (Datum::Scalar(Value::Decimal(d)), _) => {
                Some(DecimalSide::I128(Side::One(d.unscaled_i128()?), d.scale()))
            }
            (Datum::Scalar(v), _) => Some(DecimalSide::I128(Side::One(v.as_integer()?), 0)),
            (_, Some(Lanes::I128(lane, scale))) => Some(DecimalSide::I128(Side::Lane(lane), scale)),
            (_, Some(Lanes::I64(lane))) => Some(DecimalSide::I64(Side::Lane(lane))),
            _ => None,
        }
    }
}
