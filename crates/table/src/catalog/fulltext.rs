//! FULLTEXT indexes: how they are found and specified.
//!
//! A FULLTEXT index is an index of kind [`Words`](super::IndexKind::Words): its parts are the columns that are searched, its tree
//! has an entry for each word of each row (`index::words_entry`). It remembers the rules that held when it was made: parser,
//! lengths, stopwords.

use super::column::ColumnDef;
use super::definition::TableDef;
use super::index_def::{IndexDef, IndexKind};
use super::words_spec::WordsSpec;
use leafline_words::WordParser;
use std::sync::Arc;

impl TableDef {
    /// Returns whether there is a FULLTEXT index.
    pub fn has_fulltext(&self) -> bool {
        // They come last.
        self.indexes.last().is_some_and(|index| index.is_words())
    }

    /// The FULLTEXT indexes.
    pub fn fulltext(&self) -> impl Iterator<Item = &Arc<IndexDef>> {
        self.indexes.iter().filter(|index| index.is_words())
    }
}

impl IndexDef {
    /// Returns whether it is a FULLTEXT index.
    pub fn is_words(&self) -> bool {
        self.kind == IndexKind::Words
    }
}

/// A FULLTEXT index to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FulltextSpec {
    /// Its name; `None` names it after its first column.
    pub name: Option<String>,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Whether it has the parser `ngram`.
    pub by_ngrams: bool,
    /// Its rules; `None` until the statement that makes it has settled them.
    pub words: Option<WordsSpec>,
    /// Its comment.
    pub comment: String,
    /// `INVISIBLE`.
    pub invisible: bool,
    /// The number of the existing index of the altered table that it is.
    pub existing: Option<u64>,
}

impl FulltextSpec {
    /// The specification that would make `index`, a FULLTEXT index, of a table with `columns` again.
    pub fn of(index: &IndexDef, columns: &[ColumnDef]) -> FulltextSpec {
        let words = index.words.as_deref().map(WordsSpec::of);
        let own = index.parts.iter().filter_map(|part| columns.get(part.column));
        FulltextSpec {
            name: Some(index.name.clone()),
            columns: own.map(|column| column.name.clone()).collect(),
            by_ngrams: words.as_ref().is_some_and(|words| matches!(words.parser, WordParser::Ngram(_))),
            words,
            comment: index.comment.clone(),
            invisible: index.invisible,
            existing: Some(index.id),
        }
    }
}
