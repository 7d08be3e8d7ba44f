//! The keys of a FULLTEXT index.
//!
//! | key | bytes |
//! |---|---|
//! | of the list of all rows | `00`, locator |
//! | of a word | `01`, the key of the word, `00`, weight (1 byte), locator |
//!
//! The key of a word is its [hash key](leafline_types::Collation::hash_key) without the `00` that it may end with; no other byte of
//! it is `00`. The locator is the clustered key of the row. Weights are described in [`leafline_words::entries`].

use crate::catalog::IndexDef;
use crate::error::{Result, TableError};
use leafline_words::WordRange;

/// The first byte of a key in the list of all rows.
const EVERY_ROW: u8 = 0;
/// The first byte of the key of a word.
const WORD: u8 = 1;
/// The byte behind a word.
const END: u8 = 0;

/// An entry of a word, taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordKey<'k> {
    /// The word's key.
    pub(crate) word: &'k [u8],
    pub(crate) weight: u8,
    pub(crate) locator: &'k [u8],
}

/// Sets `key` to the key of an entry; `word` is a word's key with its weight, none in the list of all rows.
pub(crate) fn set_key(key: &mut Vec<u8>, word: Option<(&[u8], u8)>, locator: &[u8]) {
    key.clear();
    match word {
        None => key.push(EVERY_ROW),
        Some((word, weight)) => {
            key.push(WORD);
            key.extend_from_slice(word.strip_suffix(&[END]).unwrap_or(word));
            key.extend_from_slice(&[END, weight]);
        }
    }
    key.extend_from_slice(locator);
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
