//! The entries of a FULLTEXT index: one for each word of a row, and one in the list of all rows.
//!
//! A FULLTEXT index is derived from whole texts, which may be stored outside their rows. Whoever derives entries reads these values
//! first ([`TextsOutside`]). The payload of an entry is described in [`leafline_words::entries`].

use super::entry::{Entry, EntryRef};
use super::words_key::set_key;
use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, TableError};
use leafline_types::row::stored_value;
use leafline_types::{OverflowRef, Value};
use leafline_words::{DocumentWords, WordRules};
use std::sync::Arc;

/// The maximum length of the key of a word in bytes; longer words are not in the index.
const MAX_WORD: usize = 1024;

/// The texts of a row that are stored outside it, each with its column.
pub(crate) type TextsOutside = Vec<(usize, Vec<u8>)>;

/// Reads the texts outside a row, given its payload.
pub(crate) type ReadTexts<'t> = dyn Fn(&[u8]) -> Result<TextsOutside> + 't;

/// Returns whether one of some indexes is a FULLTEXT index of a column.
pub(crate) fn is_indexed_text(indexes: &[Arc<IndexDef>], column: usize) -> bool {
    let mut words = indexes.iter().filter(|index| index.is_words());
    words.any(|index| index.parts.iter().any(|part| part.column == column))
}

/// Reads the texts of a row that some indexes of its table are derived from and that are stored outside it. `outside` reads values.
pub(crate) fn texts_outside(
    table: &TableDef,
    indexes: &[Arc<IndexDef>],
    payload: &[u8],
    mut outside: impl FnMut(&OverflowRef) -> Result<Vec<u8>>,
) -> Result<TextsOutside> {
    if table.overflow.is_none() || !indexes.iter().any(|index| index.is_words()) {
        return Ok(Vec::new());
    }
    let references = table.clustered().format.overflow(payload)?.into_iter();
    let texts = references.filter(|(column, _)| is_indexed_text(indexes, *column));
    texts.map(|(column, reference)| Ok((column, outside(&reference)?))).collect()
}

/// Makes the entries of FULLTEXT indexes for one row after another, in buffers that all of them use.
#[derive(Default)]
pub(crate) struct WordEntries {
    words: DocumentWords,
    key: Vec<u8>,
}

impl WordEntries {
    /// Calls `f` with each entry of a FULLTEXT index for a row: first the one in the list of all rows, then those of its
    /// words, in the order of the index but for their weights.
    pub(crate) fn for_each(
        &mut self,
        table: &TableDef,
        (index, rules): (&IndexDef, &WordRules),
        (key, payload): (&[u8], &[u8]),
        outside: &[(usize, Vec<u8>)],
        f: &mut dyn FnMut(EntryRef<'_>) -> Result<()>,
    ) -> Result<()> {
        let values = texts_of_row(table, index, (key, payload), outside)?;
        self.for_each_of(rules, key, &values, f)
    }

    /// Calls `f` with each entry like [`for_each`](Self::for_each), for the values of the index's columns.
    fn for_each_of(
        &mut self,
        rules: &WordRules,
        locator: &[u8],
        values: &[Value],
        f: &mut dyn FnMut(EntryRef<'_>) -> Result<()>,
    ) -> Result<()> {
        let texts = values.iter().map(text_of).collect::<Result<Vec<_>>>()?;
        let WordEntries { words, key } = self;
        words.for_each_entry(rules, &texts, &mut |entry| {
            if entry.word.is_some_and(|word| word.len() > MAX_WORD) {
                return Ok(());
            }
            set_key(key, entry.word.map(|word| (word, entry.weight.0)), locator);
            f(EntryRef { key, payload: entry.payload })
        })
    }
}

/// The values of a FULLTEXT index's columns in a row.
pub(crate) fn texts_of_row(
    table: &TableDef,
    index: &IndexDef,
    (key, payload): (&[u8], &[u8]),
    outside: &[(usize, Vec<u8>)],
) -> Result<Vec<Value>> {
    let format = &table.clustered().format;
    let text_of = |column: usize| -> Result<Value> {
        match (outside.iter().find(|(outside, _)| *outside == column), table.columns.get(column)) {
            (Some((_, bytes)), Some(column)) => Ok(stored_value(&column.ty, bytes)?),
            _ => Ok(format.decode_value(key, payload, column)?),
        }
    };
    index.parts.iter().map(|part| text_of(part.column)).collect()
}

/// Calls `f` with a copy of each entry of a FULLTEXT index for a row, given the values of the index's columns.
pub(crate) fn for_each_entry_of(
    rules: &WordRules,
    locator: &[u8],
    values: &[Value],
    f: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    WordEntries::default().for_each_of(rules, locator, values, &mut |entry| f(entry.to_entry()))
}

fn text_of(value: &Value) -> Result<Option<&str>> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        other => Err(TableError::Internal(format!("{other:?} as a text of a FULLTEXT index"))),
    }
}
