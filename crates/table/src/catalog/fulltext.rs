//! FULLTEXT indexes: which columns can be searched for words, and the rules that make words of their texts.
//!
//! A FULLTEXT index has no tree. It is a promise about its columns, which `MATCH .. AGAINST` asks for; the words are found in the
//! texts of the rows. It remembers the rules that held when it was made: parser, lengths, stopwords.
//!
//! The payload of its row in the catalog, after the format byte: name, columns (u16 count, each u16), parser u8 (0 words, 1
//! n-grams), two u16 (the least and the greatest length of a word; the length of an n-gram and 0), stopwords u8 (0 none, 1
//! the default ones, 2 listed: u32 count and the words), comment, whether it is INVISIBLE u8.

use super::column::ColumnDef;
use crate::bytes::{ByteReader, ByteWriter};
use crate::error::Result;
use leafline_types::Collation;
use leafline_words::{Stopwords, WordParser, WordRules};

/// The format of the payload.
const FORMAT: u8 = 1;

/// The rules of words that an index is made with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WordsSpec {
    /// The parser, with its lengths.
    pub parser: WordParser,
    /// The words that it leaves out.
    pub stopwords: Stopwords,
}

/// A FULLTEXT index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FulltextDef {
    /// Its name.
    pub name: String,
    /// The positions of its columns in the table.
    pub columns: Vec<usize>,
    /// Its rules.
    pub words: WordsSpec,
    /// Its comment.
    pub comment: String,
    /// `INVISIBLE`.
    pub invisible: bool,
}

impl FulltextDef {
    /// Returns the rules that make words of the texts of the index's columns; `columns` are those of the table.
    pub fn rules(&self, columns: &[ColumnDef]) -> WordRules {
        let first = self.columns.first().and_then(|column| columns.get(*column));
        let collation = first.map_or(Collation::DEFAULT, |column| column.collation);
        WordRules::new(self.words.parser, collation, self.words.stopwords.clone())
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
}

impl FulltextSpec {
    /// The specification that would make `index` of a table with `columns` again.
    pub fn of(index: &FulltextDef, columns: &[ColumnDef]) -> FulltextSpec {
        let columns = index.columns.iter().filter_map(|column| columns.get(*column));
        FulltextSpec {
            name: Some(index.name.clone()),
            columns: columns.map(|column| column.name.clone()).collect(),
            by_ngrams: matches!(index.words.parser, WordParser::Ngram(_)),
            words: Some(index.words.clone()),
            comment: index.comment.clone(),
            invisible: index.invisible,
        }
    }
}

pub(super) fn encode(index: &FulltextDef) -> Vec<u8> {
    let mut out = ByteWriter::default();
    out.u8(FORMAT).string(&index.name).u16(index.columns.len() as u16);
    for column in &index.columns {
        out.u16(*column as u16);
    }
    match index.words.parser {
        WordParser::Words { min, max } => out.u8(0).u16(min).u16(max),
        WordParser::Ngram(size) => out.u8(1).u16(size).u16(0),
    };
    match &index.words.stopwords {
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
    out.string(&index.comment).bool(index.invisible);
    out.finish()
}

pub(super) fn decode(payload: &[u8], columns: usize) -> Result<FulltextDef> {
    let mut from = ByteReader::new("catalog FULLTEXT index", payload);
    from.format(FORMAT)?;
    let name = from.string()?;
    let count = from.u16()?;
    let own = (0..count).map(|_| from.u16().map(usize::from)).collect::<Result<Vec<_>>>()?;
    if own.iter().any(|column| *column >= columns) {
        return Err(from.damaged("it names a column that is not there"));
    }
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
    let (comment, invisible) = (from.string()?, from.bool()?);
    from.end()?;
    let words = WordsSpec { parser, stopwords };
    Ok(FulltextDef { name, columns: own, words, comment, invisible })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_decoded_as_it_was_encoded() {
        let listed = Stopwords::Listed(vec!["and".into(), "or".into()]);
        for (parser, stopwords) in [
            (WordParser::Words { min: 3, max: 84 }, Stopwords::Default),
            (WordParser::Ngram(2), Stopwords::None),
            (WordParser::Words { min: 1, max: 10 }, listed),
        ] {
            let index = FulltextDef {
                name: "f".into(),
                columns: vec![1, 3],
                words: WordsSpec { parser, stopwords },
                comment: "c".into(),
                invisible: true,
            };
            let bytes = encode(&index);
            assert_eq!(decode(&bytes, 4).unwrap(), index);
            assert!(decode(&bytes, 3).is_err());
            for end in 0..bytes.len() {
                assert!(decode(&bytes[..end], 4).is_err());
            }
        }
    }
}
