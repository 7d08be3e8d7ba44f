//! Column types as they are written, and small rules that types share with other clauses.

use super::ast::{DataType, Ident, Span, TypeName};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};
use leafline_types::{Charset, MysqlError};

/// The kinds of parentheses after a type's name.
#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    None,
    One,
    Fraction,
    OneRequired,
    Two,
    BothOrNone,
    /// The texts of an ENUM or SET.
    Texts,
}

impl Parser<'_> {
    /// `(n)`, or nothing.
    pub(super) fn optional_length(&mut self) -> Parsed<Option<u64>> {
        if !self.accept_symbol(Symbol::LeftParen) {
            return Ok(None);
        }
        let length = self.length()?;
        self.expect_symbol(Symbol::RightParen)?;
        Ok(Some(length))
    }

    /// Parses the number of fractional digits in parentheses, or nothing.
    pub(super) fn optional_fraction(&mut self) -> Parsed<Option<u64>> {
        if !self.accept_symbol(Symbol::LeftParen) {
            return Ok(None);
        }
        let digits = self.integer()?;
        self.expect_symbol(Symbol::RightParen)?;
        Ok(Some(digits))
    }

    /// Parses a length of a type: an integer of any size, or a number with a point, whose integer part counts.
    fn length(&mut self) -> Parsed<u64> {
        let token = self.token(0);
        if !matches!(token.kind, TokenKind::Integer | TokenKind::Decimal) {
            return Err(self.syntax_error());
        }
        self.advance();
        let digits = self.text(token).split('.').next().unwrap_or_default();
        Ok(if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u64::MAX) })
    }

    /// `(p)`, `(p, s)`, or nothing.
    pub(super) fn precision_and_scale(&mut self) -> Parsed<(Option<u64>, Option<u64>)> {
        if !self.accept_symbol(Symbol::LeftParen) {
            return Ok((None, None));
        }
        let scaled = self.is_symbol_at(1, Symbol::Comma);
        let precision = if scaled { self.integer()? } else { self.length()? };
        let scale = match self.accept_symbol(Symbol::Comma) {
            true => Some(self.integer()?),
            false => None,
        };
        self.expect_symbol(Symbol::RightParen)?;
        Ok((Some(precision), scale))
    }

    /// Parses the name of a character set or collation; `binary` is a name here although it is reserved.
    pub(super) fn charset_or_collation_name(&mut self) -> Parsed<Ident> {
        if self.at_word("BINARY") { self.any_word() } else { self.ident_or_string() }
    }

    /// Returns whether CHARSET or CHARACTER SET comes next.
    pub(super) fn at_charset(&self) -> bool {
        self.at_word("CHARSET") || self.at_words(&["CHARACTER", "SET"]) || self.at_words(&["CHAR", "SET"])
    }

    /// Takes CHARSET or CHARACTER SET.
    pub(super) fn accept_charset(&mut self) -> bool {
        self.accept_word("CHARSET")
            || self.accept_words(&["CHARACTER", "SET"])
            || self.accept_words(&["CHAR", "SET"])
    }

    /// Parses the name after CHARACTER SET of a database or a table. Returns error 1302 if a different name came
    /// before.
    pub(super) fn further_charset(&mut self, known: &mut Option<Ident>) -> Parsed<()> {
        let name = self.charset_or_collation_name()?;
        if let Some(before) = known.replace(name) {
            let name = known.as_ref().map_or("", |name| name.value.as_str());
            let (before, now) = (Charset::from_name(&before.value)?, Charset::from_name(name)?);
            if before != now {
                return Err(MysqlError::conflicting_charsets(before.name(), now.name()));
            }
        }
        Ok(())
    }

    pub(super) fn optional_charset(&mut self) -> Parsed<Option<Ident>> {
        if self.accept_charset() { Ok(Some(self.charset_or_collation_name()?)) } else { Ok(None) }
    }

    /// A column's type with its own attributes.
    pub(super) fn data_type(&mut self) -> Parsed<DataType> {
        let start = self.span();
        let token = self.token(0);
        if token.kind != TokenKind::Word {
            return Err(self.syntax_error());
        }
        let word = self.text(token).to_ascii_uppercase();
        self.advance();
        let (name, numbers) = self.type_name(&word, start)?;
        let mut members = Vec::new();
        let (length, decimals) = match numbers {
            Numbers::Texts => {
                members = self.parenthesised_list(Self::text_string)?;
                (None, None)
            }
            Numbers::None => (None, None),
            Numbers::One => (self.optional_length()?, None),
            Numbers::Fraction => (self.optional_fraction()?, None),
            Numbers::OneRequired if !self.at_symbol(Symbol::LeftParen) => return Err(self.syntax_error()),
            Numbers::OneRequired => (self.optional_length()?, None),
            Numbers::Two => self.precision_and_scale()?,
            Numbers::BothOrNone => match self.precision_and_scale()? {
                (Some(_), None) => return Err(self.syntax_error_at(start)),
                numbers => numbers,
            },
        };
        let mut data_type = DataType {
            name,
            length,
            decimals,
            members,
            unsigned: word == "SERIAL",
            zerofill: false,
            charset: None,
            collation: None,
            binary: false,
            span: start,
        };
        if matches!(word.as_str(), "NCHAR" | "NVARCHAR" | "NATIONAL") {
            data_type.charset = Some(self.national_charset(start));
        }
        if is_number(name) {
            self.number_attributes(&mut data_type)?;
        } else if is_text(name) {
            self.text_attributes(&mut data_type)?;
        }
        data_type.span = self.span_from(start);
        Ok(data_type)
    }

    /// The type whose first word is `word`; takes its further words.
    fn type_name(&mut self, word: &str, start: Span) -> Parsed<(TypeName, Numbers)> {
        Ok(match word {
            "TINYINT" | "INT1" => (TypeName::TinyInt, Numbers::One),
            "BOOL" | "BOOLEAN" => (TypeName::Bool, Numbers::None),
            "SMALLINT" | "INT2" => (TypeName::SmallInt, Numbers::One),
            "MEDIUMINT" | "INT3" | "MIDDLEINT" => (TypeName::MediumInt, Numbers::One),
            "INT" | "INTEGER" | "INT4" => (TypeName::Int, Numbers::One),
            "BIGINT" | "INT8" => (TypeName::BigInt, Numbers::One),
            "DECIMAL" | "DEC" | "NUMERIC" | "FIXED" => (TypeName::Decimal, Numbers::Two),
            "REAL" if self.mode.real_as_float => (TypeName::Float, Numbers::Two),
            "DOUBLE" | "REAL" | "FLOAT8" => {
                self.accept_word("PRECISION");
                (TypeName::Double, Numbers::BothOrNone)
            }
            "CHAR" | "CHARACTER" => {
                if self.accept_word("VARYING") {
                    (TypeName::Varchar, Numbers::OneRequired)
                } else {
                    (TypeName::Char, Numbers::One)
                }
            }
            "VARCHAR" | "VARCHARACTER" => (TypeName::Varchar, Numbers::OneRequired),
            "TINYTEXT" => (TypeName::TinyText, Numbers::None),
            "TEXT" => (TypeName::Text, Numbers::One),
            "MEDIUMTEXT" => (TypeName::MediumText, Numbers::None),
            "LONGTEXT" => (TypeName::LongText, Numbers::None),
            "LONG" => {
                if self.accept_word("VARBINARY") {
                    return Ok((TypeName::MediumBlob, Numbers::None));
                }
                self.accept_any_word(&["VARCHAR", "VARCHARACTER"]);
                (TypeName::MediumText, Numbers::None)
            }
            "VARBINARY" => (TypeName::Varbinary, Numbers::OneRequired),
            "DATE" => (TypeName::Date, Numbers::None),
            "DATETIME" => (TypeName::DateTime, Numbers::Fraction),
            "TIME" => (TypeName::Time, Numbers::Fraction),
            "YEAR" => (TypeName::Year, Numbers::One),
            "FLOAT" | "FLOAT4" => (TypeName::Float, Numbers::Two),
            "BINARY" => (TypeName::Binary, Numbers::One),
            "TINYBLOB" => (TypeName::TinyBlob, Numbers::None),
            "BLOB" => (TypeName::Blob, Numbers::One),
            "MEDIUMBLOB" => (TypeName::MediumBlob, Numbers::None),
            "LONGBLOB" => (TypeName::LongBlob, Numbers::None),
            "TIMESTAMP" => (TypeName::Timestamp, Numbers::Fraction),
            "BIT" => (TypeName::Bit, Numbers::One),
            "ENUM" => (TypeName::Enum, Numbers::Texts),
            "SET" => (TypeName::Set, Numbers::Texts),
            "JSON" => (TypeName::Json, Numbers::None),
            "SERIAL" => (TypeName::BigInt, Numbers::None),
            "NCHAR" => {
                let varies = self.accept_any_word(&["VARYING", "VARCHAR", "VARCHARACTER"]);
                if varies {
                    (TypeName::Varchar, Numbers::OneRequired)
                } else {
                    (TypeName::Char, Numbers::One)
                }
            }
            "NVARCHAR" => (TypeName::Varchar, Numbers::OneRequired),
            "NATIONAL" => {
                let second = self.any_word()?.value.to_ascii_uppercase();
                let varies = match second.as_str() {
                    "CHAR" | "CHARACTER" => self.accept_word("VARYING"),
                    "VARCHAR" | "VARCHARACTER" => true,
                    _ => return Err(self.syntax_error_at(start)),
                };
                if varies {
                    (TypeName::Varchar, Numbers::OneRequired)
                } else {
                    (TypeName::Char, Numbers::One)
                }
            }
            "GEOMETRY" | "POINT" | "LINESTRING" | "POLYGON" | "MULTIPOINT" | "MULTILINESTRING"
            | "MULTIPOLYGON" | "GEOMETRYCOLLECTION" | "GEOMCOLLECTION" | "VECTOR" => {
                return self.refuse(&format!("{word} columns"));
            }
            _ => return Err(self.syntax_error_at(start)),
        })
    }

    /// The character set of `NCHAR` and its relatives.
    pub(super) fn national_charset(&self, span: Span) -> Ident {
        Ident { value: "utf8mb3".to_owned(), span }
    }

    /// Takes the attribute ASCII, UNICODE or BYTE, and returns the character set it stands for; `None` if none comes
    /// next.
    pub(super) fn charset_attribute(&mut self) -> Option<Ident> {
        let attributes = [("ASCII", "latin1"), ("UNICODE", "ucs2"), ("BYTE", "binary")];
        let (word, charset) = attributes.into_iter().find(|(word, _)| self.at_word(word))?;
        let span = self.span();
        self.accept_word(word);
        Some(Ident { value: charset.to_owned(), span })
    }

    fn number_attributes(&mut self, data_type: &mut DataType) -> Parsed<()> {
        loop {
            if self.accept_word("UNSIGNED") {
                data_type.unsigned = true;
            } else if self.accept_word("ZEROFILL") {
                data_type.unsigned = true;
                data_type.zerofill = true;
            } else if !self.accept_word("SIGNED") {
                return Ok(());
            }
        }
    }

    fn text_attributes(&mut self, data_type: &mut DataType) -> Parsed<()> {
        loop {
            if self.at_charset() {
                data_type.charset = self.optional_charset()?;
            } else if self.accept_word("COLLATE") {
                data_type.collation = Some(self.charset_or_collation_name()?);
            } else if self.accept_word("BINARY") {
                data_type.binary = true;
            } else if let Some(charset) = self.charset_attribute() {
                data_type.charset = Some(charset);
            } else {
                return Ok(());
            }
        }
    }
}

fn is_number(name: TypeName) -> bool {
    use TypeName::*;
    matches!(name, TinyInt | SmallInt | MediumInt | Int | BigInt | Decimal | Double | Float)
}

fn is_text(name: TypeName) -> bool {
    use TypeName::*;
    matches!(name, Char | Varchar | TinyText | Text | MediumText | LongText | Enum | Set)
}
