//! Words of texts: what a FULLTEXT index and `MATCH .. AGAINST` are made of.
//!
//! Everything here is a function of texts, rules and counts; nothing knows tables, trees or statements. The rules, the
//! syntax of queries and the ranking are InnoDB's, so that scores have the digits of InnoDB's.
//!
//! | module | what it does |
//! |---|---|
//! | [`tokens`] | finds words and n-grams in a text |
//! | [`rules`] | the properties of an index that decide which tokens are words: parser, lengths, stopwords, collation |
//! | [`query`] | a query, compiled to the steps that InnoDB's evaluation takes |
//! | [`document`] | which words of a query a document contains, and its ranking |
//! | [`entries`] | the words of a document as an index keeps them |
//! | [`document_words`] | makes the entries of documents |
//! | [`postings`] | evaluates a query with the entries of an index |
//! | [`statistics`] | in how many documents the words of a query are |

mod boolean;
mod boolean_ngram;
pub mod document;
pub mod document_words;
pub mod entries;
mod marks;
mod mode;
pub mod postings;
mod program;
pub mod query;
pub mod rules;
pub mod statistics;
mod stopwords;
mod syntax;
#[cfg(test)]
mod tests;
pub mod tokens;

pub use document::Found;
pub use document_words::DocumentWords;
pub use entries::{Weight, WordEntry};
pub use mode::MatchMode;
pub use postings::{DamagedEntry, Known, Postings, WordRange, frequency_of};
pub use query::Query;
pub use rules::{Stopwords, WordParser, WordRules};
pub use statistics::Statistics;
pub use stopwords::DEFAULT_STOPWORDS;
