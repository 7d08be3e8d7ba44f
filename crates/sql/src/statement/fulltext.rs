//! The rules of words that a statement gives to FULLTEXT indexes: those of the variables in force.

use crate::session::Session;
use leafline_table::{TableSpec, WordsSpec};
use leafline_words::{Stopwords, WordParser};

/// `innodb_ft_min_token_size` and `innodb_ft_max_token_size`, which are constants.
const LENGTHS: (u16, u16) = (3, 84);

/// `ngram_token_size`, which is a constant.
const NGRAM: u16 = 2;

/// Gives their rules to the FULLTEXT indexes that have none yet.
pub(super) fn settle(session: &Session, spec: &mut TableSpec) {
    let stopwords = match session.settings.fulltext_stopwords {
        true => Stopwords::Default,
        false => Stopwords::None,
    };
    for index in &mut spec.fulltext {
        let (min, max) = LENGTHS;
        let parser = if index.by_ngrams { WordParser::Ngram(NGRAM) } else { WordParser::Words { min, max } };
        index.words.get_or_insert_with(|| WordsSpec { parser, stopwords: stopwords.clone() });
    }
}
