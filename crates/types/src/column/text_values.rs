//! Writes values as text, as the text protocol, the shell and CSV show them.

use super::{Batch, value_at};
use crate::convert::{bit_bytes, to_text};
use crate::value::{SqlType, ValueRef};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, StringArray, UInt64Array};
use std::io::Write as _;

/// The columns of one batch, ready to be written value by value.
pub struct TextColumns<'a>(Vec<TextColumn<'a>>);

enum TextColumn<'a> {
    Int(&'a Int64Array),
    UInt(&'a UInt64Array),
    String(&'a StringArray),
    Bytes(&'a BinaryArray),
    Other(&'a ArrayRef, &'a SqlType),
}

impl<'a> TextColumns<'a> {
    /// The columns of `batch`, whose types are `types`.
    pub fn new(batch: &'a Batch, types: &'a [SqlType]) -> TextColumns<'a> {
        TextColumns(batch.columns.iter().zip(types).map(|(array, ty)| TextColumn::new(array, ty)).collect())
    }

    /// Appends the value as the bytes of its text; false, and nothing appended, for NULL.
    pub fn append(&self, row: usize, column: usize, out: &mut Vec<u8>) -> bool {
        self.0.get(column).is_some_and(|column| column.append(row, out))
    }
}

impl<'a> TextColumn<'a> {
    fn new(array: &'a ArrayRef, ty: &'a SqlType) -> TextColumn<'a> {
        if let Some(ints) = array.as_primitive_opt::<Int64Type>() {
            TextColumn::Int(ints)
        } else if let Some(ints) = array.as_primitive_opt::<UInt64Type>()
            && !matches!(ty, SqlType::Zerofill { .. } | SqlType::Year | SqlType::Bit { .. })
        {
            TextColumn::UInt(ints)
        } else if let Some(strings) = array.as_string_opt::<i32>() {
            TextColumn::String(strings)
        } else if let Some(bytes) = array.as_binary_opt::<i32>() {
            TextColumn::Bytes(bytes)
        } else {
            TextColumn::Other(array, ty)
        }
    }

    fn append(&self, row: usize, out: &mut Vec<u8>) -> bool {
        let null = match self {
            TextColumn::Int(array) => array.is_null(row),
            TextColumn::UInt(array) => array.is_null(row),
            TextColumn::String(array) => array.is_null(row),
            TextColumn::Bytes(array) => array.is_null(row),
            TextColumn::Other(array, _) => array.is_null(row),
        };
        if null {
            return false;
        }
        match self {
            TextColumn::Int(array) => write!(out, "{}", array.value(row)).is_ok(),
            TextColumn::UInt(array) => write!(out, "{}", array.value(row)).is_ok(),
            TextColumn::String(array) => {
                out.extend_from_slice(array.value(row).as_bytes());
                true
            }
            TextColumn::Bytes(array) => {
                out.extend_from_slice(array.value(row));
                true
            }
            TextColumn::Other(array, ty) => append_text(value_at(array, row, ty).borrowed(), ty, out),
        }
    }
}

/// Appends a value of a type as the bytes of its text; false, and nothing appended, for NULL.
pub fn append_text(value: ValueRef<'_>, ty: &SqlType, out: &mut Vec<u8>) -> bool {
    match (value, ty) {
        (ValueRef::Null, _) => return false,
        (ValueRef::String(text), _) => out.extend_from_slice(text.as_bytes()),
        (ValueRef::Bytes(bytes), _) => out.extend_from_slice(bytes),
        (ValueRef::UInt(bits), SqlType::Bit { .. }) => out.extend_from_slice(&bit_bytes(bits, ty)),
        (ValueRef::Int(number), _) => return write!(out, "{number}").is_ok(),
        (value, ty) => match to_text(&value.to_value(), ty) {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => return false,
        },
    }
    true
}
