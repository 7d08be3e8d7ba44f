//! Memcomparable keys: the bytes an index orders by. (Layout: below.)

use crate::codec::CodecError;
use crate::collation::Collation;
use crate::column::ColumnBuilder;
use crate::value::{SqlType, Value};

/// One part of a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyPart {
    /// The column's type.
    pub ty: SqlType,
    /// The column's collation, where it is a string.
    pub collation: Collation,
    /// Whether it can be NULL: then a marker byte precedes the value.
    pub nullable: bool,
    /// Whether it is ordered backwards.
    pub descending: bool,
}

/// Appends the bytes of one part.
pub fn encode_part(_part: &KeyPart, _v: &Value, _out: &mut Vec<u8>) -> Result<(), CodecError> {
    todo!()
}
/// How many bytes of `key` the part takes.
pub fn skip_part(_part: &KeyPart, _key: &[u8]) -> Result<usize, CodecError> {
    todo!()
}
/// Appends the part's value to a column; returns the bytes it took.
pub fn decode_part(_part: &KeyPart, _key: &[u8], _out: &mut ColumnBuilder) -> Result<usize, CodecError> {
    todo!()
}
/// The part's value and the bytes it took.
pub fn decode_value(_part: &KeyPart, _key: &[u8]) -> Result<(Value, usize), CodecError> {
    todo!()
}
/// Whether the value can be rebuilt from the key's bytes.
pub fn is_restorable(_part: &KeyPart) -> bool {
    todo!()
}
/// The least key above all that begin with `prefix`; None if there is none (the prefix is empty or all 0xff).
pub fn prefix_successor(_prefix: &[u8]) -> Option<Vec<u8>> {
    todo!()
}
/// Appends the sort key of a string.
pub(crate) fn encode_string(_collation: Collation, _s: &[u8], _out: &mut Vec<u8>) {
    todo!()
}
