//! Rows as bytes, and entries (key and row) as columns. (Layout: below.)

use std::sync::Arc;

use crate::codec::CodecError;
use crate::collation::Collation;
use crate::column::ColumnBuilder;
use crate::key::KeyPart;
use crate::value::{SqlType, Value};

/// What a row needs to know of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnLayout {
    /// Its type.
    pub ty: SqlType,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// Its collation, where it is a string.
    pub collation: Collation,
}

/// How the columns of one schema version lie in a row.
#[derive(Debug, Clone)]
pub struct RowLayout {
    _private: (),
}

impl RowLayout {
    /// Lays out `columns`, in this order.
    pub fn new(_schema_version: u16, _columns: &[ColumnLayout]) -> Self {
        todo!()
    }
    /// Appends the row's bytes; one value per column.
    pub fn encode(&self, _values: &[Value], _out: &mut Vec<u8>) -> Result<(), CodecError> {
        todo!()
    }
    /// One column's value.
    pub fn decode_value(&self, _row: &[u8], _column: usize) -> Result<Value, CodecError> {
        todo!()
    }
}

/// A column of a table, as an [`EntryFormat`] needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryColumn {
    /// Type, nullability, collation.
    pub layout: ColumnLayout,
    /// The schema version in which the table got the column; rows of older versions read as `default`.
    pub added_in: u16,
    /// What rows older than the column hold.
    pub default: Value,
}

/// Where the columns of a table lie in the entries (key bytes and payload bytes) of one of its trees.
#[derive(Debug, Clone)]
pub struct EntryFormat {
    _private: (),
}

impl EntryFormat {
    /// The entries of a clustered index: the key, and as payload all columns that the key does not restore.
    /// `key_columns` names the table column of each part; None is a part of its own, such as a hidden row id.
    pub fn clustered(
        _schema_version: u16,
        _columns: &[EntryColumn],
        _key: &[KeyPart],
        _key_columns: &[Option<usize>],
    ) -> Self {
        todo!()
    }
    /// The entries of a secondary index: as payload the key columns that the key does not restore.
    pub fn secondary(_columns: &[EntryColumn], _key: &[KeyPart], _key_columns: &[Option<usize>]) -> Self {
        todo!()
    }
    /// Whether the entry gives this column of the table.
    pub fn has_column(&self, _column: usize) -> bool {
        todo!()
    }
    /// Appends the key of a table row (one value per table column). `hidden`: the values of the parts that are no column.
    pub fn encode_key(
        &self,
        _row: &[Value],
        _hidden: &[Value],
        _out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        todo!()
    }
    /// Appends the payload of a table row (one value per table column).
    pub fn encode_payload(&self, _row: &[Value], _out: &mut Vec<u8>) -> Result<(), CodecError> {
        todo!()
    }
    /// One table column's value.
    pub fn decode_value(&self, _key: &[u8], _payload: &[u8], _column: usize) -> Result<Value, CodecError> {
        todo!()
    }
}

/// Appends chosen columns of entries to column builders.
#[derive(Debug, Clone)]
pub struct RowDecoder {
    _private: (),
}

impl RowDecoder {
    /// Decodes the table columns `projection`, in that order. Error if the entries do not hold one of them.
    pub fn new(_format: &Arc<EntryFormat>, _projection: &[usize]) -> Result<Self, CodecError> {
        todo!()
    }
    /// Empty builders, one per projected column.
    pub fn builders(&self, _rows: usize) -> Vec<ColumnBuilder> {
        todo!()
    }
    /// Appends one entry. After an error the builders are of unequal length and must be dropped.
    pub fn decode(&self, _key: &[u8], _payload: &[u8], _out: &mut [ColumnBuilder]) -> Result<(), CodecError> {
        todo!()
    }
    /// One entry as values, appended to `out`.
    pub fn decode_values(
        &self,
        _key: &[u8],
        _payload: &[u8],
        _out: &mut Vec<Value>,
    ) -> Result<(), CodecError> {
        todo!()
    }
}
