//! The rules of an index: which tokens of a text are its words, and which words are equal.
//!
//! An index keeps the rules that held when it was made. Words are equal if the collation of the columns says so.

use crate::stopwords::DEFAULT_STOPWORDS;
use crate::tokens::{length, ngrams, words};
use hashbrown::HashSet;
use leafline_types::Collation;
use std::sync::Arc;

/// The parser that takes a text apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WordParser {
    /// Words of at least `min` and at most `max` characters.
    Words {
        /// The value of `innodb_ft_min_token_size`.
        min: u16,
        /// The value of `innodb_ft_max_token_size`.
        max: u16,
    },
    /// `WITH PARSER ngram`: n-grams of that many characters, the value of `ngram_token_size`.
    Ngram(u16),
}

/// The words that an index leaves out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Stopwords {
    /// None.
    None,
    /// [`DEFAULT_STOPWORDS`].
    Default,
    /// The words of a table.
    Listed(Vec<String>),
}

/// The rules of an index.
#[derive(Clone, Debug)]
pub struct WordRules {
    parser: WordParser,
    collation: Collation,
    stopwords: Stopwords,
    /// The keys of the stopwords.
    stop_keys: Arc<HashSet<Box<[u8]>>>,
}

impl PartialEq for WordRules {
    fn eq(&self, other: &Self) -> bool {
        (self.parser, self.collation, &self.stopwords) == (other.parser, other.collation, &other.stopwords)
    }
}

impl Eq for WordRules {}

impl std::hash::Hash for WordRules {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.parser, self.collation.id(), &self.stopwords).hash(state);
    }
}

impl WordRules {
    /// Makes the rules of an index of columns of that collation.
    pub fn new(parser: WordParser, collation: Collation, stopwords: Stopwords) -> WordRules {
        let keys = |words: &mut dyn Iterator<Item = &str>| {
            words.map(|word| key(collation, word)).collect::<HashSet<Box<[u8]>>>()
        };
        let stop_keys = match &stopwords {
            Stopwords::None => HashSet::new(),
            Stopwords::Default => keys(&mut DEFAULT_STOPWORDS.iter().copied()),
            Stopwords::Listed(listed) => keys(&mut listed.iter().map(String::as_str)),
        };
        WordRules { parser, collation, stopwords, stop_keys: Arc::new(stop_keys) }
    }

    /// The parser.
    pub fn parser(&self) -> WordParser {
        self.parser
    }

    /// The collation of the columns.
    pub fn collation(&self) -> Collation {
        self.collation
    }

    /// The stopwords.
    pub fn stopwords(&self) -> &Stopwords {
        &self.stopwords
    }

    /// Calls `f` with each token of a text, in order: its words or n-grams, including those that are not indexed.
    pub fn for_each_token<'t>(&self, text: &'t str, f: &mut dyn FnMut(&'t str)) {
        match self.parser {
            WordParser::Words { .. } => words(text).for_each(f),
            WordParser::Ngram(size) => ngrams(text, size.into()).for_each(f),
        }
    }

    /// Returns the bytes that equal tokens share and others do not have.
    pub fn key<'k>(&self, token: &'k str, buffer: &'k mut Vec<u8>) -> &'k [u8] {
        self.collation.hash_key(token.as_bytes(), buffer)
    }

    /// Returns a copy of the [`key`](Self::key).
    pub(crate) fn own_key(&self, token: &str) -> Box<[u8]> {
        key(self.collation, token)
    }

    /// Returns the bytes that the keys of words with this beginning begin with; `None` if other words' keys do, too.
    pub(crate) fn key_prefix(&self, beginning: &str) -> Option<Box<[u8]>> {
        let mut key = Vec::new();
        self.collation.hash_key_prefix(beginning.as_bytes(), &mut key).then(|| key.into())
    }

    /// Returns whether the index contains a token of a text; `key` is the token's.
    pub fn is_indexed(&self, token: &str, key: &[u8]) -> bool {
        self.may_be_indexed(token) && !self.is_stopword(key)
    }

    /// Returns whether the index contains a token unless its key is that of a [stopword](Self::is_stopword).
    pub(crate) fn may_be_indexed(&self, token: &str) -> bool {
        match self.parser {
            WordParser::Words { .. } => self.has_length(token),
            WordParser::Ngram(size) => !self.contains_stopword(token, size.into()),
        }
    }

    /// Returns whether the index leaves out the words with this key. N-grams are left out by their
    /// [parts](Self::may_be_indexed).
    pub(crate) fn is_stopword(&self, key: &[u8]) -> bool {
        matches!(self.parser, WordParser::Words { .. }) && self.stop_keys.contains(key)
    }

    /// The maximum length of the key of a word in bytes.
    pub fn most_word_bytes(&self) -> usize {
        let characters = match self.parser {
            WordParser::Words { max, .. } => max,
            WordParser::Ngram(size) => size,
        };
        usize::from(characters) * self.collation.most_key_bytes() * 3 + 1
    }

    /// Returns whether a word is neither too short nor too long.
    pub(crate) fn has_length(&self, token: &str) -> bool {
        match self.parser {
            // The number of characters is at most the number of bytes.
            WordParser::Words { min, max } => {
                token.len() >= min.into() && (usize::from(min)..=usize::from(max)).contains(&length(token))
            }
            WordParser::Ngram(_) => true,
        }
    }

    /// Returns whether an n-gram has a part that is a stopword.
    fn contains_stopword(&self, token: &str, size: usize) -> bool {
        let mut buffer = Vec::new();
        !self.stop_keys.is_empty()
            && (1..=size).any(|part| {
                ngrams(token, part).any(|part| self.stop_keys.contains(self.key(part, &mut buffer)))
            })
    }

    /// Returns whether a token begins with the characters of `prefix`, one by one equal.
    pub(crate) fn begins_with(&self, token: &str, prefix: &str) -> bool {
        let mut of_token = token.chars();
        let (mut a, mut b) = ([0; 4], [0; 4]);
        prefix.chars().all(|wanted| {
            of_token.next().is_some_and(|c| {
                let (c, wanted) = (c.encode_utf8(&mut a), wanted.encode_utf8(&mut b));
                c == wanted || self.collation.same_character(c.as_bytes(), wanted.as_bytes())
            })
        })
    }
}

fn key(collation: Collation, token: &str) -> Box<[u8]> {
    let mut buffer = Vec::new();
    collation.hash_key(token.as_bytes(), &mut buffer).into()
}
