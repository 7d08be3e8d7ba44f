//! A query: the text of AGAINST, compiled for an index.

use crate::boolean_ngram;
use crate::mode::MatchMode;
use crate::program::Program;
use crate::rules::{WordParser, WordRules};
use crate::syntax::{self, Node};
use crate::tokens::ngrams;
use leafline_types::MysqlError;

/// A compiled query.
#[derive(Clone, Debug)]
pub struct Query {
    pub(crate) program: Program,
    pub(crate) rules: WordRules,
}

impl Query {
    /// Compiles a query for an index with these rules.
    ///
    /// # Errors
    /// 1064 for text that InnoDB's grammar does not have; 128 for too many nested groups, 191 for too many words of a phrase.
    pub fn new(text: &str, mode: MatchMode, rules: &WordRules) -> Result<Query, MysqlError> {
        let tree = match (rules.parser(), mode) {
            (WordParser::Words { .. }, _) => syntax::parse(text, mode, rules)?,
            (WordParser::Ngram(size), MatchMode::Boolean) => boolean_ngram::parse(text, size.into()),
            (WordParser::Ngram(size), _) => {
                let term = |gram: &str| Node::Term { word: gram.to_owned(), wildcard: false };
                Some(Node::List(ngrams(text, size.into()).map(term).collect()))
            }
        };
        Ok(Query { program: Program::new(tree, rules)?, rules: rules.clone() })
    }

    /// Adds words of the documents that the query finds.
    pub fn expand<'w>(&mut self, words: impl IntoIterator<Item = &'w str>) {
        for word in words {
            self.program.add_word(word, &self.rules);
        }
    }

    /// The rules of the index.
    pub fn rules(&self) -> &WordRules {
        &self.rules
    }
}
