//! Loops over the native values of arrays that pack conditions into bits.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{Array, BooleanArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::DataType;

use super::super::ir::CompareOp;

/// The native values of an array; those of NULLs are arbitrary.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lanes<'a> {
    I64(&'a [i64]),
    U64(&'a [u64]),
    F64(&'a [f64]),
    /// Unscaled decimals and their scale.
    I128(&'a [i128], u8),
    Days(&'a [i32]),
    Micros(&'a [i64]),
}

impl<'a> Lanes<'a> {
    /// Returns the native values of an array; None if its type has none.
    pub(super) fn of(array: &'a dyn Array) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Int64 => Lanes::I64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt64 => Lanes::U64(array.as_primitive::<UInt64Type>().values()),
            DataType::Float64 => Lanes::F64(array.as_primitive::<Float64Type>().values()),
            DataType::Decimal128(_, scale) => {
                Lanes::I128(array.as_primitive::<Decimal128Type>().values(), u8::try_from(*scale).ok()?)
            }
            DataType::Date32 => Lanes::Days(array.as_primitive::<Date32Type>().values()),
            DataType::Timestamp(..) => {
                Lanes::Micros(array.as_primitive::<TimestampMicrosecondType>().values())
            }
            _ => return None,
        })
    }
}

/// Packs one bit for each value.
#[inline]
pub(super) fn pack<T: Copy>(lane: &[T], f: impl Fn(T) -> bool) -> BooleanBuffer {
    let mut words = Vec::with_capacity(lane.len().div_ceil(64));
    let (chunks, rest) = lane.as_chunks::<64>();
    for chunk in chunks {
        words.push(pack_word(chunk, &f));
    }
    if !rest.is_empty() {
        words.push(pack_word(rest, &f));
    }
    BooleanBuffer::new(Buffer::from_vec(words), 0, lane.len())
}

#[inline(always)]
fn pack_word<T: Copy>(values: &[T], f: &impl Fn(T) -> bool) -> u64 {
    let mut word = 0;
    for (bit, v) in values.iter().enumerate() {
        word |= u64::from(f(*v)) << bit;
    }
    word
}

/// Packs one bit for each pair.
#[inline]
pub(super) fn pack_pairs<A: Copy, B: Copy>(a: &[A], b: &[B], f: impl Fn(A, B) -> bool) -> BooleanBuffer {
    let words: Vec<u64> = a
        .chunks(64)
        .zip(b.chunks(64))
        .map(|(a, b)| {
            let mut word = 0;
            for (bit, (a, b)) in a.iter().zip(b).enumerate() {
                word |= u64::from(f(*a, *b)) << bit;
            }
            word
        })
        .collect();
    BooleanBuffer::new(Buffer::from_vec(words), 0, a.len().min(b.len()))
}

/// Computes `value op c` for each value. Chooses the comparison outside of the loop.
pub(super) fn compare_constant<T: Copy, U: PartialOrd + Copy>(
    op: CompareOp,
    lane: &[T],
    c: U,
    get: impl Fn(T) -> U,
) -> BooleanBuffer {
    match op {
        CompareOp::Eq | CompareOp::NullSafeEq => pack(lane, |v| get(v) == c),
        CompareOp::Ne => pack(lane, |v| get(v) != c),
        CompareOp::Lt => pack(lane, |v| get(v) < c),
        CompareOp::Le => pack(lane, |v| get(v) <= c),
        CompareOp::Gt => pack(lane, |v| get(v) > c),
        CompareOp::Ge => pack(lane, |v| get(v) >= c),
    }
}

/// Computes `a op b` for each pair.
pub(super) fn compare_pairs<A: Copy, B: Copy, U: PartialOrd>(
    op: CompareOp,
    a: &[A],
    b: &[B],
    left: impl Fn(A) -> U,
    right: impl Fn(B) -> U,
) -> BooleanBuffer {
    match op {
        CompareOp::Eq | CompareOp::NullSafeEq => pack_pairs(a, b, |a, b| left(a) == right(b)),
        CompareOp::Ne => pack_pairs(a, b, |a, b| left(a) != right(b)),
        CompareOp::Lt => pack_pairs(a, b, |a, b| left(a) < right(b)),
        CompareOp::Le => pack_pairs(a, b, |a, b| left(a) <= right(b)),
        CompareOp::Gt => pack_pairs(a, b, |a, b| left(a) > right(b)),
        CompareOp::Ge => pack_pairs(a, b, |a, b| left(a) >= right(b)),
    }
}

/// The truth of a condition for the rows of a batch.
#[derive(Debug, Clone)]
pub(super) enum TruthColumn {
    /// One truth for all rows.
    Scalar(Option<bool>),
    /// A truth for each row.
    Rows(BooleanArray),
}

impl TruthColumn {
    pub(super) fn rows(bits: BooleanBuffer, nulls: Option<NullBuffer>) -> Self {
        TruthColumn::Rows(BooleanArray::new(bits, nulls))
    }

    /// Returns one truth per row.
    pub(super) fn into_array(self, rows: usize) -> BooleanArray {
        match self {
            TruthColumn::Rows(array) => array,
            TruthColumn::Scalar(Some(t)) => {
                let bits = if t { BooleanBuffer::new_set(rows) } else { BooleanBuffer::new_unset(rows) };
                BooleanArray::new(bits, None)
            }
            TruthColumn::Scalar(None) => BooleanArray::new_null(rows),
        }
    }

    /// Returns a set bit for each row whose truth is `truth`.
    pub(super) fn bits_where(&self, truth: bool, rows: usize) -> BooleanBuffer {
        match self {
            TruthColumn::Scalar(t) if *t == Some(truth) => BooleanBuffer::new_set(rows),
            TruthColumn::Scalar(_) => BooleanBuffer::new_unset(rows),
            TruthColumn::Rows(array) => {
                let bits = if truth { array.values().clone() } else { !array.values() };
                match array.nulls() {
                    Some(nulls) => &bits & nulls.inner(),
                    None => bits,
                }
            }
        }
    }
}
