//! `sql_mode`: its flags, by name and by number.

use leafline_syntax::LexMode;
use leafline_types::MysqlError;

/// The flags of `sql_mode`, with the bits that they have in MySQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes(u64);

/// The flags in MySQL's order of display.
const MODE_NAMES: &[(&str, Modes)] = &[
    ("REAL_AS_FLOAT", Modes::REAL_AS_FLOAT),
    ("PIPES_AS_CONCAT", Modes::PIPES_AS_CONCAT),
    ("ANSI_QUOTES", Modes::ANSI_QUOTES),
    ("IGNORE_SPACE", Modes::IGNORE_SPACE),
    ("ONLY_FULL_GROUP_BY", Modes::ONLY_FULL_GROUP_BY),
    ("NO_UNSIGNED_SUBTRACTION", Modes::NO_UNSIGNED_SUBTRACTION),
    ("NO_DIR_IN_CREATE", Modes::NO_DIR_IN_CREATE),
    ("ANSI", Modes::ANSI),
    ("NO_AUTO_VALUE_ON_ZERO", Modes::NO_AUTO_VALUE_ON_ZERO),
    ("NO_BACKSLASH_ESCAPES", Modes::NO_BACKSLASH_ESCAPES),
    ("STRICT_TRANS_TABLES", Modes::STRICT_TRANS_TABLES),
    ("STRICT_ALL_TABLES", Modes::STRICT_ALL_TABLES),
    ("NO_ZERO_IN_DATE", Modes::NO_ZERO_IN_DATE),
    ("NO_ZERO_DATE", Modes::NO_ZERO_DATE),
    ("ALLOW_INVALID_DATES", Modes::ALLOW_INVALID_DATES),
    ("ERROR_FOR_DIVISION_BY_ZERO", Modes::ERROR_FOR_DIVISION_BY_ZERO),
    ("TRADITIONAL", Modes::TRADITIONAL),
    ("NO_AUTO_CREATE_USER", Modes(0)),
    ("HIGH_NOT_PRECEDENCE", Modes::HIGH_NOT_PRECEDENCE),
    ("NO_ENGINE_SUBSTITUTION", Modes::NO_ENGINE_SUBSTITUTION),
    ("PAD_CHAR_TO_FULL_LENGTH", Modes::PAD_CHAR_TO_FULL_LENGTH),
    ("TIME_TRUNCATE_FRACTIONAL", Modes::TIME_TRUNCATE_FRACTIONAL),
];

impl Modes {
    /// REAL is FLOAT.
    pub const REAL_AS_FLOAT: Modes = Modes(1);
    /// `||` concatenates strings.
    pub const PIPES_AS_CONCAT: Modes = Modes(1 << 1);
    /// Double quotes hold identifiers.
    pub const ANSI_QUOTES: Modes = Modes(1 << 2);
    /// Spaces may stand between the name of a function and its parenthesis.
    pub const IGNORE_SPACE: Modes = Modes(1 << 3);
    /// Columns that are neither grouped nor determined by the groups are refused.
    pub const ONLY_FULL_GROUP_BY: Modes = Modes(1 << 5);
    /// A difference is signed, even if an operand is unsigned.
    pub const NO_UNSIGNED_SUBTRACTION: Modes = Modes(1 << 6);
    /// DATA DIRECTORY and INDEX DIRECTORY are ignored.
    pub const NO_DIR_IN_CREATE: Modes = Modes(1 << 7);
    /// Short for several flags, which are set with it.
    pub const ANSI: Modes = Modes(
        1 << 18
            | Modes::REAL_AS_FLOAT.0
            | Modes::PIPES_AS_CONCAT.0
            | Modes::ANSI_QUOTES.0
            | Modes::IGNORE_SPACE.0
            | Modes::ONLY_FULL_GROUP_BY.0,
    );
    /// 0 in an AUTO_INCREMENT column is stored.
    pub const NO_AUTO_VALUE_ON_ZERO: Modes = Modes(1 << 19);
    /// A backslash in a string is an ordinary character.
    pub const NO_BACKSLASH_ESCAPES: Modes = Modes(1 << 20);
    /// A value that does not fit its column is an error.
    pub const STRICT_TRANS_TABLES: Modes = Modes(1 << 21);
    /// Has the effect of `STRICT_TRANS_TABLES`, because every table has transactions.
    pub const STRICT_ALL_TABLES: Modes = Modes(1 << 22);
    /// Dates with a month or day of zero are refused.
    pub const NO_ZERO_IN_DATE: Modes = Modes(1 << 23);
    /// The date of zeros is refused.
    pub const NO_ZERO_DATE: Modes = Modes(1 << 24);
    /// Days after the end of their month are accepted.
    pub const ALLOW_INVALID_DATES: Modes = Modes(1 << 25);
    /// Division by zero is an error when the result is stored, a warning otherwise.
    pub const ERROR_FOR_DIVISION_BY_ZERO: Modes = Modes(1 << 26);
    /// Short for several flags, which are set with it.
    pub const TRADITIONAL: Modes = Modes(
        1 << 27
            | Modes::STRICT_TRANS_TABLES.0
            | Modes::STRICT_ALL_TABLES.0
            | Modes::NO_ZERO_IN_DATE.0
            | Modes::NO_ZERO_DATE.0
            | Modes::ERROR_FOR_DIVISION_BY_ZERO.0
            | Modes::NO_ENGINE_SUBSTITUTION.0,
    );
    /// NOT binds as tightly as `!`.
    pub const HIGH_NOT_PRECEDENCE: Modes = Modes(1 << 29);
    /// A storage engine that does not exist is an error.
    pub const NO_ENGINE_SUBSTITUTION: Modes = Modes(1 << 30);
    /// Values of CHAR columns are read with their trailing spaces.
    pub const PAD_CHAR_TO_FULL_LENGTH: Modes = Modes(1 << 31);
    /// Excess digits of fractional seconds are cut off, not rounded.
    pub const TIME_TRUNCATE_FRACTIONAL: Modes = Modes(1 << 32);

    /// MySQL 8.0's default.
    pub const DEFAULT: Modes = Modes(
        Modes::ONLY_FULL_GROUP_BY.0
            | Modes::STRICT_TRANS_TABLES.0
            | Modes::NO_ZERO_IN_DATE.0
            | Modes::NO_ZERO_DATE.0
            | Modes::ERROR_FOR_DIVISION_BY_ZERO.0
            | Modes::NO_ENGINE_SUBSTITUTION.0,
    );

    /// MySQL's number for the flags.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The modes of the lexer.
    pub fn lex_mode(self) -> LexMode {
        LexMode {
            ansi_quotes: self.has(Modes::ANSI_QUOTES),
            no_backslash_escapes: self.has(Modes::NO_BACKSLASH_ESCAPES),
            pipes_as_concat: self.has(Modes::PIPES_AS_CONCAT),
            ignore_space: self.has(Modes::IGNORE_SPACE),
            real_as_float: self.has(Modes::REAL_AS_FLOAT),
            high_not_precedence: self.has(Modes::HIGH_NOT_PRECEDENCE),
            no_directories: self.has(Modes::NO_DIR_IN_CREATE),
        }
    }

    /// True if all of `other` are set.
    pub fn has(self, other: Modes) -> bool {
        self.0 & other.0 == other.0
    }

    /// Makes flags of MySQL's number for them.
    ///
    /// # Errors
    /// 1231 for unknown bits.
    pub fn from_bits(bits: u64) -> Result<Modes, MysqlError> {
        let known = MODE_NAMES.iter().fold(0, |known, (_, mode)| known | mode.0);
        if bits & !known != 0 {
            return Err(MysqlError::wrong_value_for_variable("sql_mode", bits));
        }
        let named = |mode: Modes, own: u64| if bits & own == 0 { 0 } else { mode.0 };
        Ok(Modes(bits | named(Modes::ANSI, 1 << 18) | named(Modes::TRADITIONAL, 1 << 27)))
    }

    /// Parses a comma-separated list.
    ///
    /// # Errors
    /// 1231 for a word that MySQL does not know.
    pub fn parse(text: &str) -> Result<Modes, MysqlError> {
        let mut modes = 0;
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match MODE_NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
                Some((_, mode)) => modes |= mode.0,
                None => return Err(MysqlError::wrong_value_for_variable("sql_mode", word)),
            }
        }
        Ok(Modes(modes))
    }
}

impl std::fmt::Display for Modes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = MODE_NAMES
            .iter()
            .filter(|(_, mode)| mode.0 != 0 && self.has(*mode))
            .map(|(name, _)| *name)
            .collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_read_back_as_written() {
        let text = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                    ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
        assert_eq!(Modes::DEFAULT.to_string(), text);
        assert_eq!(Modes::parse(text), Ok(Modes::DEFAULT));
        assert_eq!(
            Modes::parse(" ansi_quotes, ,STRICT_ALL_TABLES").map(|m| m.to_string()),
            Ok("ANSI_QUOTES,STRICT_ALL_TABLES".into())
        );
        let ansi = "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI";
        assert_eq!(Modes::parse("ansi").map(|m| m.to_string()), Ok(ansi.into()));
        assert_eq!(Modes::from_bits(1 << 18), Modes::parse(ansi));
        assert_eq!(
            Modes::parse("Traditional").map(|m| m.to_string()),
            Ok("STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                ERROR_FOR_DIVISION_BY_ZERO,TRADITIONAL,NO_ENGINE_SUBSTITUTION"
                .into())
        );
        assert_eq!(Modes::from_bits(6).map(|m| m.to_string()), Ok("PIPES_AS_CONCAT,ANSI_QUOTES".into()));
        let last =
            "HIGH_NOT_PRECEDENCE,NO_ENGINE_SUBSTITUTION,PAD_CHAR_TO_FULL_LENGTH,TIME_TRUNCATE_FRACTIONAL";
        assert_eq!(Modes::from_bits(0b1111 << 29).map(|m| m.to_string()), Ok(last.into()));
        assert_eq!(Modes::parse(last), Modes::from_bits(0b1111 << 29));
        assert_eq!(Modes::from_bits(1 << 4).map_err(|e| e.code), Err(1231));
        assert_eq!(Modes::from_bits(1 << 40).map_err(|e| e.code), Err(1231));
        assert_eq!(Modes::parse("NO_SUCH").map_err(|e| e.code), Err(1231));
    }
}
