//! The aggregates of a search for words: counts of its words over all rows, and the words of the rows that are found.
//!
//! The arguments are the texts of a row, the query and, of counts, the words that were collected. Both aggregates have one group.
//! The result is a binary string, NULL without rows: see [`crate::search`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::search::{Search, bytes_of, push_word, text_of};
use crate::{Datum, EvalContext, Expr};
use leafline_types::error::MysqlError;
use leafline_types::value::{SqlType, Value};
use leafline_words::{Query, Statistics};

/// Names the result that an aggregate of a search computes from the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchAggregate {
    /// Counts.
    Statistics,
    /// The words of the rows that are found.
    Words,
}

/// A search, and the number of its columns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MatchOptions {
    /// The search.
    pub search: Arc<Search>,
    /// Selects the result.
    pub makes: MatchAggregate,
    /// The number of arguments that are texts of the row.
    pub columns: usize,
}

/// The state of an aggregate.
#[derive(Debug)]
pub(super) struct Matches {
    options: MatchOptions,
    types: Vec<SqlType>,
    /// The query, from the first row on.
    query: Option<(Query, Statistics)>,
    /// The words of rows that were found, by their keys.
    words: BTreeMap<Box<[u8]>, Box<str>>,
    bytes: usize,
}

impl Matches {
    pub(super) fn new(options: &MatchOptions, args: &[Expr]) -> Matches {
        let types = args.iter().map(|arg| arg.ty.sql.clone()).collect();
        Matches { options: options.clone(), types, query: None, words: BTreeMap::new(), bytes: 0 }
    }

    /// Takes in the rows of a batch.
    pub(super) fn update(
        &mut self,
        rows: usize,
        args: &[Datum],
        cx: &mut EvalContext<'_>,
    ) -> Result<(), MysqlError> {
        let mut values = vec![Value::Null; args.len()];
        for row in 0..rows {
            cx.cancel.check()?;
            for ((value, arg), ty) in values.iter_mut().zip(args).zip(&self.types) {
                *value = arg.value(row, ty);
            }
            let (texts, rest) = values.split_at(self.options.columns.min(values.len()));
            if self.query.is_none() {
                let text = rest.first().map_or(Cow::Borrowed(""), text_of);
                let query = self.options.search.query(&text, rest.get(1).map_or(&[][..], bytes_of))?;
                let statistics = Statistics::new(&query);
                self.query = Some((query, statistics));
            }
            let Some((query, statistics)) = &mut self.query else { continue };
            let texts: Vec<Cow<'_, str>> = texts.iter().map(text_of).collect();
            let found = query.find(texts.iter().map(|text| &**text));
            if self.options.makes == MatchAggregate::Statistics {
                statistics.add(query, &found);
            } else if query.accepts(&found) {
                let (words, bytes) = (&mut self.words, &mut self.bytes);
                query.for_each_other_word(&found, texts.iter().map(|text| &**text), &mut |key, word| {
                    if !words.contains_key(key) {
                        *bytes += key.len() + word.len() + 2 * size_of::<Box<str>>() + 16;
                        words.insert(key.into(), word.into());
                    }
                });
            }
        }
        Ok(())
    }

    /// Returns the result, and drops the state.
    pub(super) fn finish(&mut self) -> Value {
        let Some((_, statistics)) = self.query.take() else { return Value::Null };
        self.bytes = 0;
        match self.options.makes {
            MatchAggregate::Statistics => Value::bytes(statistics.encode()),
            MatchAggregate::Words => {
                let mut out = Vec::new();
                std::mem::take(&mut self.words).into_values().for_each(|word| push_word(&word, &mut out));
                Value::bytes(out)
            }
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes
    }
}
