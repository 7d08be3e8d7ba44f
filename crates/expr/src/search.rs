//! A search for words: what `MATCH .. AGAINST` and the aggregates that it depends on have in common.
//!
//! The score of a row depends on how many rows there are, and how many of them have each word. An aggregate counts that over
//! the whole table, once in an execution ([`crate::aggregate`]); then each row is scored from its own texts. WITH QUERY
//! EXPANSION, one more aggregate collects the words of the rows that are found, before.

use std::borrow::Cow;

use leafline_types::error::MysqlError;
use leafline_types::value::Value;
use leafline_words::{Found, MatchMode, Query, Statistics, WordRules};

/// The rules of an index, and the mode of a search.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Search {
    /// The rules of the index.
    pub rules: WordRules,
    /// The mode.
    pub mode: MatchMode,
}

impl Search {
    /// Compiles a query; `expansion` has the words that were collected.
    ///
    /// # Errors
    /// 1064 for a query that InnoDB's grammar does not have.
    pub(crate) fn query(&self, text: &str, expansion: &[u8]) -> Result<Query, MysqlError> {
        let mut query = Query::new(text, self.mode, &self.rules)?;
        query.expand(words_of(expansion)?);
        Ok(query)
    }
}

/// A query with the weights of its words.
#[derive(Debug)]
pub(crate) struct Scorer {
    query: Query,
    frequencies: Vec<f64>,
}

/// Identifies a scorer: two searches with equal keys share one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScorerKey {
    pub(crate) search: Search,
    pub(crate) text: String,
    pub(crate) statistics: Vec<u8>,
    pub(crate) expansion: Vec<u8>,
}

impl Scorer {
    pub(crate) fn new(key: &ScorerKey) -> Result<Scorer, MysqlError> {
        let query = key.search.query(&key.text, &key.expansion)?;
        let statistics = match key.statistics.as_slice() {
            [] => Statistics::new(&query),
            bytes => Statistics::decode(bytes, &query)
                .ok_or_else(|| MysqlError::internal("counts of words that make no sense"))?,
        };
        let frequencies = statistics.frequencies(&query);
        Ok(Scorer { query, frequencies })
    }

    pub(crate) fn score(&self, columns: &[Cow<'_, str>]) -> f64 {
        let found: Found = self.query.find(columns.iter().map(|text| &**text));
        self.query.rank(&found, &self.frequencies).into()
    }
}

/// Returns a value as text, the empty one for NULL.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(&**text),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes),
        _ => Cow::Borrowed(""),
    }
}

/// Returns the bytes of a value that an aggregate made, none for NULL.
pub(crate) fn bytes_of(value: &Value) -> &[u8] {
    match value {
        Value::Bytes(bytes) => bytes,
        _ => &[],
    }
}

/// Appends a word to those that were collected.
pub(crate) fn push_word(word: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(&(word.len() as u32).to_le_bytes());
    out.extend_from_slice(word.as_bytes());
}

/// Returns the words that were collected.
fn words_of(mut bytes: &[u8]) -> Result<Vec<&str>, MysqlError> {
    let mut words = Vec::new();
    while !bytes.is_empty() {
        let word = bytes.split_first_chunk::<4>().and_then(|(length, rest)| {
            let (word, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            Some((std::str::from_utf8(word).ok()?, rest))
        });
        let (word, rest) = word.ok_or_else(|| MysqlError::internal("collected words that make no sense"))?;
        words.push(word);
        bytes = rest;
    }
    Ok(words)
}
