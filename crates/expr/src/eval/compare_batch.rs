//! Comparisons of columns. Types that no loop here handles are compared row by row, by the same rules.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;

use super::super::context::EvalContext;
use super::super::ir::{CompareDomain, CompareOp};
use super::super::narrow::{GridComparison, to_grid, to_range, to_scale};
use super::Datum;
use super::lanes::{Lanes, TruthColumn, compare_constant, compare_pairs};
use super::operand;
use leafline_types::collation::Collation;
use leafline_types::decimal::Decimal;
use leafline_types::error::MysqlError;
use leafline_types::temporal::{DateRules, DateTime};
use leafline_types::value::{SqlType, Value};

const DAY: i64 = 86_400_000_000;

/// Computes `left op right` for each row.
pub(super) fn compare(
    op: CompareOp,
    domain: CompareDomain,
    (left, left_type): (&Datum, &SqlType),
    (right, right_type): (&Datum, &SqlType),
    rows: usize,
    cx: &mut EvalContext<'_>,
) -> Result<TruthColumn, MysqlError> {
    if let (Datum::Scalar(_), Datum::Array(_)) = (left, right) {
        return compare(op.swapped(), domain, (right, right_type), (left, left_type), rows, cx);
    }
    let fast = match (left, right) {
        (Datum::Array(a), Datum::Scalar(Value::Null)) => Some(if op == CompareOp::NullSafeEq {
            TruthColumn::rows(null_bits(a), None)
        } else {
            TruthColumn::Scalar(None)
        }),
        (Datum::Array(a), Datum::Scalar(c)) => {
            let bits = array_with_constant(op, domain, a, c);
            bits.map(|bits| match (op, a.nulls()) {
                (CompareOp::NullSafeEq, Some(nulls)) => TruthColumn::rows(&bits & nulls.inner(), None),
                (_, nulls) => TruthColumn::rows(bits, nulls.cloned()),
            })
        }
        (Datum::Array(a), Datum::Array(b)) => array_with_array(op, domain, a, b).map(|bits| {
            let valid = NullBuffer::union(a.nulls(), b.nulls());
            match (op, valid) {
                (CompareOp::NullSafeEq, Some(valid)) => {
                    let both_null = &null_bits(a) & &null_bits(b);
                    TruthColumn::rows(&(&bits & valid.inner()) | &both_null, None)
                }
                (_, valid) => TruthColumn::rows(bits, valid),
            }
        }),
        _ => None,
    };
    match fast {
        Some(truths) => Ok(truths),
        None => row_by_row(op, domain, (left, left_type), (right, right_type), rows, cx),
    }
}

/// Returns a bit for each NULL.
pub(super) fn null_bits(array: &ArrayRef) -> BooleanBuffer {
    match array.logical_nulls() {
        Some(nulls) => !nulls.inner(),
        None => BooleanBuffer::new_unset(array.len()),
    }
}

fn row_by_row(
    op: CompareOp,
    domain: CompareDomain,
    (left, left_type): (&Datum, &SqlType),
    (right, right_type): (&Datum, &SqlType),
    rows: usize,
    cx: &mut EvalContext<'_>,
) -> Result<TruthColumn, MysqlError> {
    let mut one = |row: usize| -> Result<Option<bool>, MysqlError> {
        let a = left.value(row, left_type);
        let b = right.value(row, right_type);
        if op == CompareOp::NullSafeEq && (a.is_null() || b.is_null()) {
            return Ok(Some(a.is_null() && b.is_null()));
        }
        let order = operand::compare(domain, (&a, left_type), (&b, right_type), cx)?;
        Ok(match order {
            None if op == CompareOp::NullSafeEq => Some(false),
            order => order.map(|o| op.holds(o)),
        })
    };
    if let (Datum::Scalar(_), Datum::Scalar(_)) = (left, right) {
        return one(0).map(TruthColumn::Scalar);
    }
    (0..rows).map(one).collect::<Result<_, _>>().map(TruthColumn::Rows)
}

/// Computes the bits of `array op c`, arbitrary for NULLs; None if no loop handles the types.
fn array_with_constant(
    op: CompareOp,
    domain: CompareDomain,
    array: &ArrayRef,
    c: &Value,
) -> Option<BooleanBuffer> {
    if let CompareDomain::String(collation) = domain {
        return strings_with_constant(op, collation, array, c.as_bytes()?);
    }
    let lanes = Lanes::of(array.as_ref())?;
    match domain {
        CompareDomain::Integer | CompareDomain::Decimal => {
            let c = match c {
                Value::Int(v) => Decimal::from_i64(*v),
                Value::UInt(v) => Decimal::from_u64(*v),
                Value::Decimal(d) => d.clone(),
                _ => return None,
            };
            match lanes {
                Lanes::I64(lane) => {
                    let narrowed = to_range(to_scale(op, &c, 0), i64::MIN.into(), i64::MAX.into());
                    Some(narrowed_bits(narrowed.map(|c| c as i64), lane))
                }
                Lanes::U64(lane) => {
                    let narrowed = to_range(to_scale(op, &c, 0), 0, u64::MAX.into());
                    Some(narrowed_bits(narrowed.map(|c| c as u64), lane))
                }
                Lanes::I128(lane, scale) => Some(narrowed_bits(to_scale(op, &c, scale), lane)),
                _ => None,
            }
        }
        CompareDomain::Double => {
            let c = match c {
                Value::Int(v) => *v as f64,
                Value::UInt(v) => *v as f64,
                Value::Decimal(d) => d.to_f64(),
                Value::Double(d) => *d,
                _ => return None,
            };
            match lanes {
                Lanes::F64(lane) => Some(compare_constant(op, lane, c, |v| v)),
                Lanes::I64(lane) => Some(compare_constant(op, lane, c, |v| v as f64)),
                Lanes::U64(lane) => Some(compare_constant(op, lane, c, |v| v as f64)),
                _ => None,
            }
        }
        CompareDomain::Date | CompareDomain::DateTime => {
            let c = match c {
                Value::Date(d) => d.to_datetime(),
                Value::DateTime(t) => *t,
                // A literal was parsed when the comparison was made; this text is a parameter or computed. An invalid
                // date may need a warning for each row.
                Value::String(text) => {
                    DateTime::parse(text, DateRules::DAYS)
                        .ok()
                        .filter(|p| !p.truncated && p.offset.is_none())?
                        .value
                }
                _ => return None,
            };
            match lanes {
                Lanes::Micros(lane) => Some(compare_constant(op, lane, c.ordinal(), |v| v)),
                Lanes::Days(lane) => {
                    let narrowed = to_grid(op, c.date().ordinal(), c.micros_of_day() == 0);
                    Some(narrowed_bits(narrowed, lane))
                }
                _ => None,
            }
        }
        CompareDomain::String(_) | CompareDomain::Time | CompareDomain::Json => None,
    }
}

fn narrowed_bits<T: Copy + PartialOrd>(narrowed: GridComparison<T>, lane: &[T]) -> BooleanBuffer {
    match narrowed {
        GridComparison::Never => BooleanBuffer::new_unset(lane.len()),
        GridComparison::Always => BooleanBuffer::new_set(lane.len()),
        GridComparison::Compare(op, c) => compare_constant(op, lane, c, |v| v),
    }
}

/// An array of character or binary strings.
#[derive(Clone, Copy)]
pub(super) enum Strings<'a> {
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
}

impl<'a> Strings<'a> {
    pub(super) fn of(array: &'a ArrayRef) -> Option<Self> {
        match array.data_type() {
            DataType::Utf8 => Some(Strings::Text(array.as_string::<i32>())),
            DataType::Binary => Some(Strings::Bytes(array.as_binary::<i32>())),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn get(self, row: usize) -> &'a [u8] {
        match self {
            Strings::Text(array) => array.value(row).as_bytes(),
            Strings::Bytes(array) => array.value(row),
        }
    }
}

fn strings_with_constant(
    op: CompareOp,
    collation: Collation,
    array: &ArrayRef,
    c: &[u8],
) -> Option<BooleanBuffer> {
    let strings = Strings::of(array)?;
    let rows = array.len();
    Some(match op {
        CompareOp::Eq | CompareOp::NullSafeEq | CompareOp::Ne => {
            let equal = op != CompareOp::Ne;
            BooleanBuffer::collect_bool(rows, |row| collation.equal(strings.get(row), c) == equal)
        }
        _ => BooleanBuffer::collect_bool(rows, |row| op.holds(collation.compare(strings.get(row), c))),
    })
}

/// Computes the bits of `a op b`, arbitrary for NULLs; None if no loop handles the types.
fn array_with_array(
    op: CompareOp,
    domain: CompareDomain,
    a: &ArrayRef,
    b: &ArrayRef,
) -> Option<BooleanBuffer> {
    if let CompareDomain::String(collation) = domain {
        let (left, right) = (Strings::of(a)?, Strings::of(b)?);
        return Some(BooleanBuffer::collect_bool(a.len(), |row| {
            op.holds(collation.compare(left.get(row), right.get(row)))
        }));
    }
    Some(match (domain, Lanes::of(a.as_ref())?, Lanes::of(b.as_ref())?) {
        (CompareDomain::Integer, Lanes::I64(a), Lanes::I64(b)) => compare_pairs(op, a, b, |v| v, |v| v),
        (CompareDomain::Integer, Lanes::U64(a), Lanes::U64(b)) => compare_pairs(op, a, b, |v| v, |v| v),
        (CompareDomain::Integer, Lanes::I64(a), Lanes::U64(b)) => {
            compare_pairs(op, a, b, i128::from, i128::from)
        }
        (CompareDomain::Integer, Lanes::U64(a), Lanes::I64(b)) => {
            compare_pairs(op, a, b, i128::from, i128::from)
        }
        (CompareDomain::Decimal, Lanes::I128(a, s), Lanes::I128(b, t)) if s == t => {
            compare_pairs(op, a, b, |v| v, |v| v)
        }
        // Integers have up to 20 digits: times 10^18 they stay in 128 bits.
        (CompareDomain::Decimal, Lanes::I128(a, s @ 0..=18), Lanes::I64(b)) => {
            let unit = 10i128.pow(s.into());
            compare_pairs(op, a, b, |v| v, move |v| i128::from(v) * unit)
        }
        (CompareDomain::Decimal, Lanes::I64(a), Lanes::I128(b, s @ 0..=18)) => {
            let unit = 10i128.pow(s.into());
            compare_pairs(op, a, b, move |v| i128::from(v) * unit, |v| v)
        }
        (CompareDomain::Double, Lanes::F64(a), Lanes::F64(b)) => compare_pairs(op, a, b, |v| v, |v| v),
        (CompareDomain::Double, Lanes::F64(a), Lanes::I64(b)) => compare_pairs(op, a, b, |v| v, |v| v as f64),
        (CompareDomain::Double, Lanes::I64(a), Lanes::F64(b)) => compare_pairs(op, a, b, |v| v as f64, |v| v),
        (CompareDomain::Date, Lanes::Days(a), Lanes::Days(b)) => compare_pairs(op, a, b, |v| v, |v| v),
        (CompareDomain::DateTime, Lanes::Micros(a), Lanes::Micros(b)) => {
            compare_pairs(op, a, b, |v| v, |v| v)
        }
        (CompareDomain::DateTime, Lanes::Days(a), Lanes::Micros(b)) => {
            compare_pairs(op, a, b, |v| i64::from(v) * DAY, |v| v)
        }
        (CompareDomain::DateTime, Lanes::Micros(a), Lanes::Days(b)) => {
            compare_pairs(op, a, b, |v| v, |v| i64::from(v) * DAY)
        }
        _ => return None,
    })
}
