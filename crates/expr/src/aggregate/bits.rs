//! BIT_AND, BIT_OR and BIT_XOR of 64-bit integers, or byte by byte of binary strings of one length.

use arrow_array::{Array, ArrayRef, UInt64Array};

use super::Groups;
use crate::EvalContext;
use crate::functions::bits_of;
use leafline_types::column::{ColumnBuilder, value_at};
use leafline_types::error::MysqlError;
use leafline_types::value::{SqlType, Value};

/// The operation on bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BitOp {
    And,
    Or,
    Xor,
}

/// The longest binary string that can be folded.
const MAX_BYTES: usize = 511;

/// The folded bits of groups.
#[derive(Debug)]
pub(super) struct BitFold {
    op: BitOp,
    /// The groups' results for integers.
    numbers: Vec<u64>,
    /// The groups' results for binary strings; None before a group's first.
    strings: Vec<Option<Box<[u8]>>>,
    /// The declared length of binary strings; None for integers.
    length: Option<usize>,
}

impl BitFold {
    pub(super) fn new(op: BitOp, ty: &SqlType) -> Self {
        let length = match ty {
            ty if ty.is_string() && !ty.is_character() => Some(crate::build::text_length(ty) as usize),
            _ => None,
        };
        BitFold { op, numbers: Vec::new(), strings: Vec::new(), length }
    }

    pub(super) fn grow(&mut self, groups: usize) {
        match self.length {
            Some(_) => self.strings.resize(groups, None),
            None => self.numbers.resize(groups, if self.op == BitOp::And { u64::MAX } else { 0 }),
        }
    }

    pub(super) fn update(
        &mut self,
        groups: Groups<'_>,
        array: &ArrayRef,
        ty: &SqlType,
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
            let v = value_at(array, row, ty);
            let group = groups.of(row);
            if self.length.is_some() {
                self.fold_bytes(group, &v)?;
            } else if let Some(bits) = bits_of(&v, ty, cx)? {
                let folded = &mut self.numbers[group];
                *folded = match self.op {
                    BitOp::And => *folded & bits,
                    BitOp::Or => *folded | bits,
                    BitOp::Xor => *folded ^ bits,
                };
            }
        }
        Ok(())
    }

    fn fold_bytes(&mut self, group: usize, v: &Value) -> Result<(), MysqlError> {
        let Some(bytes) = v.as_bytes() else { return Ok(()) };
        if bytes.len() > MAX_BYTES {
            return Err(MysqlError::invalid_bitwise_aggregate_operands_size());
        }
        match &mut self.strings[group] {
            none @ None => *none = Some(bytes.into()),
            Some(folded) if folded.len() != bytes.len() => {
                return Err(MysqlError::invalid_bitwise_operands_size());
            }
            Some(folded) => {
                for (a, b) in folded.iter_mut().zip(bytes) {
                    match self.op {
                        BitOp::And => *a &= b,
                        BitOp::Or => *a |= b,
                        BitOp::Xor => *a ^= b,
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the current result of a group. A group without values has the neutral element, in the declared length.
    pub(super) fn value(&self, group: usize) -> Value {
        let Some(length) = self.length else { return Value::UInt(self.numbers[group]) };
        let neutral = if self.op == BitOp::And { 0xFF } else { 0 };
        match &self.strings[group] {
            Some(folded) => Value::bytes(&**folded),
            None => Value::bytes(vec![neutral; length.min(MAX_BYTES)]),
        }
    }

    pub(super) fn finish(&mut self, ty: &SqlType) -> Result<ArrayRef, MysqlError> {
        if self.length.is_none() {
            return Ok(std::sync::Arc::new(UInt64Array::from(std::mem::take(&mut self.numbers))));
        }
        let mut out = ColumnBuilder::with_capacity(ty, self.strings.len());
        for group in 0..self.strings.len() {
            out.push_value(&self.value(group))?;
        }
        self.strings = Vec::new();
        Ok(out.finish())
    }

    pub(super) fn memory(&self) -> usize {
        let strings = self.strings.capacity() * (size_of::<Option<Box<[u8]>>>() + self.length.unwrap_or(0));
        self.numbers.capacity() * 8 + strings
    }
}
