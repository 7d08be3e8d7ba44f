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
    /// Whether it is IN BOOLEAN MODE.
    pub fn is_boolean(&self) -> bool {
        self.mode == MatchMode::Boolean
    }

    /// Compiles a query; `expansion` has the words that were collected.
    ///
    /// # Errors
    /// 1064 for a query that InnoDB's grammar does not have.
    pub fn query(&self, text: &str, expansion: &[u8]) -> Result<Query, MysqlError> {
        let mut query = Query::new(text, self.mode, &self.rules)?;
        query.expand(words_of(expansion)?);
        Ok(query)
    }
}

/// The rows that a search finds in a table, each with its score, in the order of their locators: keys of the
/// clustered index.
#[derive(Debug, Default)]
pub struct FoundRows {
    /// The bytes of the counts.
    statistics: Vec<u8>,
    locators: Vec<u8>,
    /// The end of each locator.
    ends: Vec<usize>,
    scores: Vec<f32>,
}

impl FoundRows {
    /// Makes the result of a search with these counts, without rows.
    pub fn new(statistics: Vec<u8>) -> FoundRows {
        FoundRows { statistics, ..FoundRows::default() }
    }

    /// Adds a row behind all others.
    pub fn push(&mut self, locator: &[u8], score: f32) {
        self.locators.extend_from_slice(locator);
        self.ends.push(self.locators.len());
        self.scores.push(score);
    }

    /// The counts of the search's words over the table, as bytes.
    pub fn statistics(&self) -> &[u8] {
        &self.statistics
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// Whether no row is found.
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    /// The locator and the score of the row at a position.
    pub fn get(&self, position: usize) -> Option<(&[u8], f32)> {
        let start = position.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let locator = self.locators.get(start..*self.ends.get(position)?)?;
        Some((locator, *self.scores.get(position)?))
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], f32)> {
        (0..self.len()).filter_map(|position| self.get(position))
    }

    /// The score of a row; 0 if it is not found.
    pub fn score_of(&self, locator: &[u8]) -> f32 {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(middle) {
                Some((known, score)) if known == locator => return score,
                Some((known, _)) if known < locator => low = middle + 1,
                _ => high = middle,
            }
        }
        0.0
    }

    /// The bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let of_row = size_of::<usize>() + size_of::<f32>();
        self.statistics.len() + self.locators.len() + self.len() * of_row + size_of::<FoundRows>()
    }
}

/// A query with the weights of its words.
#[derive(Debug)]
pub struct Scorer {
    query: Query,
    frequencies: Vec<f64>,
}

/// Identifies a scorer: two searches with equal keys share one.
#[derive(Debug, Clone, PartialEq)]
pub struct ScorerKey {
    /// The search.
    pub search: Search,
    /// The words that are sought.
    pub text: String,
    /// The counts over the table.
    pub statistics: Vec<u8>,
    /// The words that were collected, WITH QUERY EXPANSION.
    pub expansion: Vec<u8>,
}

impl Scorer {
    /// Compiles a search.
    ///
    /// # Errors
    /// 1064 for a query that InnoDB's grammar does not have.
    pub fn new(key: &ScorerKey) -> Result<Scorer, MysqlError> {
        let query = key.search.query(&key.text, &key.expansion)?;
        let statistics = match key.statistics.as_slice() {
            [] => Statistics::new(&query),
            bytes => Statistics::decode(bytes, &query)
                .ok_or_else(|| MysqlError::internal("counts of words that make no sense"))?,
        };
        let frequencies = statistics.frequencies(&query);
        Ok(Scorer { query, frequencies })
    }

    /// Returns the score of a row from its texts.
    pub fn score(&self, columns: &[Cow<'_, str>]) -> f32 {
        let found: Found = self.query.find(columns.iter().map(|text| &**text));
        self.query.rank(&found, &self.frequencies)
    }
}

/// Returns a value as text, the empty one for NULL.
pub fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(&**text),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes),
        _ => Cow::Borrowed(""),
    }
}

/// Returns the bytes of a value that an aggregate made, none for NULL.
pub fn bytes_of(value: &Value) -> &[u8] {
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
