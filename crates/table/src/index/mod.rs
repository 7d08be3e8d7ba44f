//! Clustered, unique and secondary indexes: the derivation of a row's entries, and the way from an entry back to its
//! row.

pub(crate) mod derived;
pub(crate) mod entry;
pub(crate) mod words_entry;
pub(crate) mod words_key;

use crate::catalog::{IndexDef, TableDef};
use crate::error::Result;
pub use leafline_types::RowDecoder;

/// Decodes entries of a secondary index, as a [`RowDecoder`] decodes those of the clustered index.
pub type EntryDecoder = RowDecoder;

/// Makes a decoder of rows into `columns` of the table, in that order.
///
/// # Errors
/// If there is no such column.
pub fn row_decoder(table: &TableDef, columns: &[usize]) -> Result<RowDecoder> {
    Ok(RowDecoder::new(&table.clustered().format, columns)?)
}

/// Makes a decoder of the entries of `index` into `columns` of the table, which the index must cover.
///
/// # Errors
/// If the index does not cover them.
pub fn entry_decoder(index: &IndexDef, columns: &[usize]) -> Result<EntryDecoder> {
    Ok(RowDecoder::new(&index.format, columns)?)
}

/// Sets `locator` to the clustered key of the row that the entry of `index` with this key names.
///
/// # Errors
/// If the key is damaged.
pub fn locator_of(index: &IndexDef, key: &[u8], locator: &mut Vec<u8>) -> Result<()> {
    entry::locator_of_entry(index, key, locator)
}
