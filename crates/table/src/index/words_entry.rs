//! The entries of a FULLTEXT index: one for each word of a row, and one in the list of all rows.
//!
//! | key | bytes |
//! |---|---|
//! | of the list of all rows | `00`, locator |
//! | of a word | `01`, the key of the word, `00`, weight (1 byte), locator |
//!
//! The key of a word is its [hash key](leafline_types::Collation::hash_key) without the `00` that it may end with; no other byte of
//! it is `00`. The locator is the clustered key of the row. Weight and payload are described in [`leafline_words::entries`].
//!
//! A FULLTEXT index is derived from whole texts, which may be stored outside their rows. Whoever derives entries reads these values
//! first ([`TextsOutside`]).

use super::entry::Entry;
use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, TableError};
use leafline_types::row::stored_value;
use leafline_types::{OverflowRef, Value};
use leafline_words::{WordRange, WordRules};
use std::sync::Arc;

/// The first byte of a key in the list of all rows.
const EVERY_ROW: u8 = 0;
/// The first byte of the key of a word.
const WORD: u8 = 1;
/// The byte behind a word.
const END: u8 = 0;
/// The maximum length of the key of a word in bytes; longer words are not in the index.
const MAX_WORD: usize = 1024;

/// The texts of a row that are stored outside it, each with its column.
pub(crate) type TextsOutside = Vec<(usize, Vec<u8>)>;

/// An entry of a word, taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordKey<'k> {
    /// The word's key.
    pub(crate) word: &'k [u8],
    pub(crate) weight: u8,
    pub(crate) locator: &'k [u8],
}

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

/// Calls `f` with each entry of a FULLTEXT index for a row: first the one in the list of all rows, then those of its words, in the
/// order of the index but for their weights.
pub(crate) fn for_each_entry(
    table: &TableDef,
    (index, rules): (&IndexDef, &WordRules),
    (key, payload): (&[u8], &[u8]),
    outside: &[(usize, Vec<u8>)],
    f: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let values = texts_of_row(table, index, (key, payload), outside)?;
    for_each_entry_of(rules, key, &values, f)
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

/// Calls `f` with each entry like [`for_each_entry`], for the values of the index's columns.
pub(crate) fn for_each_entry_of(
    rules: &WordRules,
    locator: &[u8],
    values: &[Value],
    f: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let texts = values.iter().map(text_of).collect::<Result<Vec<_>>>()?;
    rules.for_each_entry(&texts, &mut |entry| {
        let word = entry.word.map(|word| word.strip_suffix(&[END]).unwrap_or(word));
        let mut key = Vec::with_capacity(word.map_or(0, <[u8]>::len) + locator.len() + 3);
        match word {
            None => key.push(EVERY_ROW),
            Some(word) if word.len() > MAX_WORD => return Ok(()),
            Some(word) => {
                key.push(WORD);
                key.extend_from_slice(word);
                key.extend_from_slice(&[END, entry.weight.0]);
            }
        }
        key.extend_from_slice(locator);
        f(Entry { key, payload: entry.payload.to_vec() })
    })
}

fn text_of(value: &Value) -> Result<Option<&str>> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        other => Err(TableError::Internal(format!("{other:?} as a text of a FULLTEXT index"))),
    }
}

/// The beginning of the keys in the list of all rows.
pub(crate) fn every_row() -> Vec<u8> {
    vec![EVERY_ROW]
}

/// The beginning of the keys that a lookup finds.
pub(crate) fn beginning_of(range: &WordRange) -> Vec<u8> {
    let mut key = vec![WORD];
    match range {
        WordRange::Word(word) => {
            key.extend_from_slice(word.strip_suffix(&[END]).unwrap_or(word));
            key.push(END);
        }
        WordRange::Beginning(beginning) => key.extend_from_slice(beginning),
    }
    key
}

/// Takes the key of an entry apart; `None` in the list of all rows.
///
/// # Errors
/// `Corrupt` if it is no key of a FULLTEXT index.
pub(crate) fn word_of_key<'k>(index: &IndexDef, key: &'k [u8]) -> Result<Option<WordKey<'k>>> {
    let damaged = || TableError::Corrupt(format!("a key of index {} is no key of a word", index.name));
    match key.split_first() {
        Some((&EVERY_ROW, _)) => Ok(None),
        Some((&WORD, rest)) => {
            let end = rest.iter().position(|byte| *byte == END).ok_or_else(damaged)?;
            let (word, rest) = rest.split_at(end);
            match rest {
                [_, weight, locator @ ..] => Ok(Some(WordKey { word, weight: *weight, locator })),
                _ => Err(damaged()),
            }
        }
        _ => Err(damaged()),
    }
}

/// The locator in the key of an entry.
pub(crate) fn locator_of_key<'k>(index: &IndexDef, key: &'k [u8]) -> Result<&'k [u8]> {
    let word = word_of_key(index, key)?;
    Ok(word.map_or_else(|| key.get(1..).unwrap_or_default(), |word| word.locator))
}
