//! The rules that make words of the texts of a FULLTEXT index, in its specification and in the catalog.
//!
//! In the catalog the row of a FULLTEXT index ends with its rules: parser u8 (0 words, 1 n-grams), two u16 (the least and the greatest
//! length of a word; the length of an n-gram and 0), stopwords u8 (0 none, 1 the default ones, 2 listed: u32 count and the words).

use crate::bytes::{ByteReader, ByteWriter};
use crate::error::Result;
use leafline_words::{Stopwords, WordParser, WordRules};

/// The rules of words that an index is made with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WordsSpec {
    /// The parser, with its lengths.
    pub parser: WordParser,
    /// The words that it leaves out.
    pub stopwords: Stopwords,
}

impl WordsSpec {
    /// The rules, as they are specified.
    pub(super) fn of(rules: &WordRules) -> WordsSpec {
        WordsSpec { parser: rules.parser(), stopwords: rules.stopwords().clone() }
    }
}

/// Appends rules to the row of an index.
pub(super) fn encode(rules: &WordRules, out: &mut ByteWriter) {
    match rules.parser() {
        WordParser::Words { min, max } => out.u8(0).u16(min).u16(max),
        WordParser::Ngram(size) => out.u8(1).u16(size).u16(0),
    };
    match rules.stopwords() {
        Stopwords::None => {
            out.u8(0);
        }
        Stopwords::Default => {
            out.u8(1);
        }
        Stopwords::Listed(words) => {
            out.u8(2).u32(words.len() as u32);
            for word in words {
                out.string(word);
            }
        }
    }
}

/// Reads the rules at the end of the row of an index.
pub(super) fn decode(from: &mut ByteReader<'_>) -> Result<WordsSpec> {
    let (kind, first, second) = (from.u8()?, from.u16()?, from.u16()?);
    let parser = match kind {
        0 => WordParser::Words { min: first, max: second },
        1 => WordParser::Ngram(first),
        other => return Err(from.damaged(format!("parser {other} is not known"))),
    };
    let stopwords = match from.u8()? {
        0 => Stopwords::None,
        1 => Stopwords::Default,
        2 => {
            let count = from.u32()?;
            Stopwords::Listed((0..count).map(|_| from.string()).collect::<Result<Vec<_>>>()?)
        }
        other => return Err(from.damaged(format!("stopwords {other} are not known"))),
    };
    Ok(WordsSpec { parser, stopwords })
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::Collation;

    #[test]
    fn rules_are_decoded_as_they_were_encoded() {
        let listed = Stopwords::Listed(vec!["and".into(), "or".into()]);
        for (parser, stopwords) in [
            (WordParser::Words { min: 3, max: 84 }, Stopwords::Default),
            (WordParser::Ngram(2), Stopwords::None),
            (WordParser::Words { min: 1, max: 10 }, listed),
        ] {
            let words = WordsSpec { parser, stopwords: stopwords.clone() };
            let mut out = ByteWriter::default();
            encode(&WordRules::new(parser, Collation::DEFAULT, stopwords), &mut out);
            let bytes = out.finish();
            let mut from = ByteReader::new("catalog index", &bytes);
            assert_eq!(decode(&mut from).unwrap(), words);
            from.end().unwrap();
            for end in 0..bytes.len() {
                assert!(decode(&mut ByteReader::new("catalog index", &bytes[..end])).is_err());
            }
        }
    }
}
