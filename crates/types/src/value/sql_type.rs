//! The SQL types, their widths and ranges, and the type of an expression.

use super::Origin;
use std::fmt;
use std::sync::Arc;

use super::members::Members;
use crate::collation::Collation;

/// A SQL type, as a column declares it or an expression returns it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SqlType {
    /// The type of a bare `NULL`.
    Null,
    /// 1 byte.
    TinyInt {
        /// Whether it is UNSIGNED.
        unsigned: bool,
    },
    /// 2 bytes.
    SmallInt {
        /// Whether it is UNSIGNED.
        unsigned: bool,
    },
    /// 3 bytes.
    MediumInt {
        /// Whether it is UNSIGNED.
        unsigned: bool,
    },
    /// 4 bytes.
    Int {
        /// Whether it is UNSIGNED.
        unsigned: bool,
    },
    /// 8 bytes.
    BigInt {
        /// Whether it is UNSIGNED.
        unsigned: bool,
    },
    /// TINYINT(1), which is BOOL: one signed byte that clients take for a truth value.
    Boolean,
    /// An unsigned integer that is shown with leading zeros.
    Zerofill {
        /// Its width in keys and rows: 1, 2, 3, 4 or 8 bytes.
        bytes: u8,
        /// The fewest digits that are shown.
        digits: u8,
    },
    /// A year: 0 or 1901 to 2155, an unsigned number.
    Year,
    /// An exact number of `precision` digits, `scale` of them after the point.
    Decimal {
        /// 1 to 65.
        precision: u8,
        /// 0 to 30, not above the precision.
        scale: u8,
        /// Negative values are refused.
        unsigned: bool,
        /// Values are shown with leading zeros; implies `unsigned`.
        zerofill: bool,
    },
    /// IEEE 754 binary64 without restrictions: DOUBLE as declared without digits or sign, and the result of
    /// computations.
    Double,
    /// FLOAT, or a DOUBLE restricted by digits or sign.
    Real {
        /// Whether it is FLOAT: IEEE 754 binary32.
        single: bool,
        /// `(M, D)`: the digits in all, and after the point, to which values are rounded.
        digits: Option<(u8, u8)>,
        /// Negative values are refused.
        unsigned: bool,
        /// Values are shown with leading zeros; implies `unsigned`.
        zerofill: bool,
    },
    /// A string without trailing spaces.
    Char {
        /// Its maximum length in characters, 0 to 255.
        len: u32,
    },
    /// A string.
    Varchar {
        /// Its maximum length in characters.
        len: u32,
    },
    /// TINYTEXT, TEXT, MEDIUMTEXT or LONGTEXT.
    Text {
        /// Its maximum length in bytes: 255, 65,535, 16,777,215 or 4,294,967,295.
        max_bytes: u32,
    },
    /// Bytes, padded with zeros to the length.
    Binary {
        /// The length in bytes, 0 to 255.
        len: u32,
    },
    /// Bytes.
    Varbinary {
        /// The maximum length in bytes.
        len: u32,
    },
    /// TINYBLOB, BLOB, MEDIUMBLOB or LONGBLOB.
    Blob {
        /// Its maximum length in bytes: 255, 65,535, 16,777,215 or 4,294,967,295.
        max_bytes: u32,
    },
    /// A day.
    Date,
    /// A day and a time of day.
    DateTime {
        /// Digits of the fraction of a second, 0 to 6.
        fsp: u8,
    },
    /// A point in time, stored in UTC and shown in the session's time zone.
    Timestamp {
        /// Digits of the fraction of a second, 0 to 6.
        fsp: u8,
    },
    /// One of several texts, stored as its number; 0 stands for a text that was not a member.
    Enum(Arc<Members>),
    /// Any subset of several texts, stored as bits.
    Set(Arc<Members>),
    /// Bits, as many as it says: an unsigned number that is shown as bytes.
    Bit {
        /// 1 to 64.
        len: u8,
    },
    /// A span of up to 838 hours.
    Time {
        /// Digits of the fraction of a second, 0 to 6.
        fsp: u8,
    },
    /// A JSON document.
    Json,
}

impl SqlType {
    /// BIGINT, the type of integer literals and COUNT.
    pub const BIGINT: SqlType = SqlType::BigInt { unsigned: false };
    /// BIGINT UNSIGNED.
    pub const BIGINT_UNSIGNED: SqlType = SqlType::BigInt { unsigned: true };
    /// FLOAT without digits.
    pub const FLOAT: SqlType = SqlType::Real { single: true, digits: None, unsigned: false, zerofill: false };

    /// Makes a signed DECIMAL.
    pub const fn decimal(precision: u8, scale: u8) -> SqlType {
        SqlType::Decimal { precision, scale, unsigned: false, zerofill: false }
    }

    /// Whether it is an integer type: one of the five with or without a display width, or YEAR.
    pub fn is_integer(&self) -> bool {
        self.integer_width().is_some()
    }

    /// Returns how many bytes an integer of this type takes in keys and rows.
    #[inline]
    pub fn integer_width(&self) -> Option<usize> {
        match self {
            SqlType::TinyInt { .. } | SqlType::Boolean => Some(1),
            SqlType::SmallInt { .. } | SqlType::Year => Some(2),
            SqlType::MediumInt { .. } => Some(3),
            SqlType::Int { .. } => Some(4),
            SqlType::BigInt { .. } => Some(8),
            SqlType::Zerofill { bytes, .. } => Some(usize::from(*bytes)),
            SqlType::Bit { len } => Some(usize::from(len.div_ceil(8))),
            _ => None,
        }
    }

    /// Whether it is a numeric type declared UNSIGNED.
    pub fn is_unsigned(&self) -> bool {
        match self {
            SqlType::TinyInt { unsigned }
            | SqlType::SmallInt { unsigned }
            | SqlType::MediumInt { unsigned }
            | SqlType::Int { unsigned }
            | SqlType::BigInt { unsigned }
            | SqlType::Decimal { unsigned, .. }
            | SqlType::Real { unsigned, .. } => *unsigned,
            SqlType::Zerofill { .. } | SqlType::Year | SqlType::Bit { .. } => true,
            SqlType::Enum(_) | SqlType::Set(_) => true,
            _ => false,
        }
    }

    /// Returns the fewest characters that a value of a type with ZEROFILL is shown with.
    pub fn zerofill_width(&self) -> Option<usize> {
        match self {
            SqlType::Zerofill { digits, .. } => Some(usize::from(*digits)),
            SqlType::Decimal { precision, scale, zerofill: true, .. } => {
                let whole = (precision - scale).max(1);
                Some(usize::from(whole) + usize::from(*scale) + usize::from(*scale > 0))
            }
            SqlType::Real { single, digits, zerofill: true, .. } => Some(match digits {
                Some((all, _)) => usize::from(*all),
                None if *single => 12,
                None => 22,
            }),
            _ => None,
        }
    }

    /// Returns the type of a value computed from this type, which is shown without leading zeros.
    pub fn without_zerofill(self) -> SqlType {
        let unsigned = true;
        match self {
            SqlType::Zerofill { bytes: 1, .. } => SqlType::TinyInt { unsigned },
            SqlType::Zerofill { bytes: 2, .. } => SqlType::SmallInt { unsigned },
            SqlType::Zerofill { bytes: 3, .. } => SqlType::MediumInt { unsigned },
            SqlType::Zerofill { bytes: 4, .. } => SqlType::Int { unsigned },
            SqlType::Zerofill { .. } => SqlType::BigInt { unsigned },
            SqlType::Decimal { precision, scale, zerofill: true, .. } => {
                SqlType::Decimal { precision, scale, unsigned, zerofill: false }
            }
            SqlType::Real { single, digits, zerofill: true, .. } => {
                SqlType::Real { single, digits, unsigned, zerofill: false }
            }
            other => other,
        }
    }

    /// Returns the smallest and largest value of an integer type, or of the numbers that an ENUM, SET or BIT is
    /// stored as.
    pub fn integer_range(&self) -> Option<(i128, i128)> {
        match self {
            SqlType::Year => return Some((0, 2155)),
            SqlType::Bit { len } => return Some((0, (1i128 << len) - 1)),
            SqlType::Enum(members) => return Some((0, members.len() as i128)),
            SqlType::Set(members) => return Some((0, members.all_bits().into())),
            _ => {}
        }
        let bits = self.integer_width()? * 8;
        Some(if self.is_unsigned() {
            (0, (1i128 << bits) - 1)
        } else {
            (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
        })
    }

    /// Whether it is an integer, DECIMAL, DOUBLE or FLOAT.
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_real() || matches!(self, SqlType::Decimal { .. })
    }

    /// Whether it is DOUBLE or FLOAT.
    pub fn is_real(&self) -> bool {
        matches!(self, SqlType::Double | SqlType::Real { .. })
    }

    /// Whether it is a string of characters or bytes.
    pub fn is_string(&self) -> bool {
        self.is_character() || self.is_bytes()
    }

    /// Whether it is a string of bytes.
    pub fn is_bytes(&self) -> bool {
        matches!(self, SqlType::Binary { .. } | SqlType::Varbinary { .. } | SqlType::Blob { .. })
    }

    /// Whether it is of the TEXT or BLOB family or JSON: it has no default, and a key holds at most a prefix of it.
    pub fn is_large(&self) -> bool {
        matches!(self, SqlType::Text { .. } | SqlType::Blob { .. } | SqlType::Json)
    }

    /// Whether its values vary in length in rows: strings and documents.
    pub fn is_variable(&self) -> bool {
        self.is_string() || *self == SqlType::Json
    }

    /// Whether it is a string of characters.
    pub fn is_character(&self) -> bool {
        matches!(self, SqlType::Char { .. } | SqlType::Varchar { .. } | SqlType::Text { .. })
    }

    /// Whether it is DATE, DATETIME, TIMESTAMP or TIME.
    pub fn is_temporal(&self) -> bool {
        self.has_date() || matches!(self, SqlType::Time { .. } | SqlType::Timestamp { .. })
    }

    /// Whether it is ENUM or SET.
    pub fn has_members(&self) -> bool {
        matches!(self, SqlType::Enum(_) | SqlType::Set(_))
    }

    /// Returns the type of the value that clients and most expressions see, if values are stored as something else:
    /// text for an ENUM, SET or JSON, a DATETIME in the session's time zone for a TIMESTAMP. None for all other
    /// types.
    pub fn plain(&self) -> Option<SqlType> {
        Some(match self {
            SqlType::Timestamp { fsp } => SqlType::DateTime { fsp: *fsp },
            SqlType::Enum(members) => SqlType::Varchar { len: members.longest() },
            SqlType::Set(members) => SqlType::Varchar { len: members.longest_list() },
            SqlType::Json => SqlType::Text { max_bytes: u32::MAX },
            _ => return None,
        })
    }

    /// Whether it is DATE or DATETIME.
    pub fn has_date(&self) -> bool {
        matches!(self, SqlType::Date | SqlType::DateTime { .. })
    }

    /// Returns the digits after the point of a DECIMAL, of a FLOAT or DOUBLE that declares them, or of an integer
    /// (0), or the digits of the second's fraction of a DATETIME or TIME.
    pub fn scale(&self) -> u8 {
        match self {
            SqlType::Decimal { scale, .. } => *scale,
            SqlType::Real { digits: Some((_, scale)), .. } => *scale,
            SqlType::DateTime { fsp } | SqlType::Time { fsp } | SqlType::Timestamp { fsp } => *fsp,
            _ => 0,
        }
    }

    /// Returns how many decimal digits a value of this integer type or DECIMAL can have, as MySQL counts them when it
    /// derives the precision of an arithmetic result.
    pub fn decimal_precision(&self) -> Option<u8> {
        Some(match self {
            SqlType::TinyInt { .. } | SqlType::Boolean => 3,
            SqlType::SmallInt { .. } => 5,
            SqlType::Year => 4,
            SqlType::Bit { len } => (f64::from(*len) * std::f64::consts::LOG10_2).ceil() as u8,
            SqlType::Zerofill { bytes, .. } => match bytes {
                1 => 3,
                2 => 5,
                3 => 8,
                4 => 10,
                _ => 20,
            },
            SqlType::MediumInt { unsigned: false } => 7,
            SqlType::MediumInt { unsigned: true } => 8,
            SqlType::Int { .. } => 10,
            SqlType::BigInt { unsigned: false } => 19,
            SqlType::BigInt { unsigned: true } => 20,
            SqlType::Decimal { precision, .. } => *precision,
            _ => return None,
        })
    }
}

impl fmt::Display for SqlType {
    /// Writes the type as `SHOW CREATE TABLE` and `information_schema.columns.column_type` show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlType::Null => f.write_str("null")?,
            SqlType::TinyInt { .. } => f.write_str("tinyint")?,
            SqlType::SmallInt { .. } => f.write_str("smallint")?,
            SqlType::MediumInt { .. } => f.write_str("mediumint")?,
            SqlType::Int { .. } => f.write_str("int")?,
            SqlType::BigInt { .. } => f.write_str("bigint")?,
            SqlType::Boolean => f.write_str("tinyint(1)")?,
            SqlType::Zerofill { bytes, digits } => {
                let name = match bytes {
                    1 => "tinyint",
                    2 => "smallint",
                    3 => "mediumint",
                    4 => "int",
                    _ => "bigint",
                };
                write!(f, "{name}({digits})")?;
            }
            SqlType::Year => return f.write_str("year"),
            SqlType::Decimal { precision, scale, .. } => write!(f, "decimal({precision},{scale})")?,
            SqlType::Real { single, digits, .. } => {
                f.write_str(if *single { "float" } else { "double" })?;
                if let Some((all, scale)) = digits {
                    write!(f, "({all},{scale})")?;
                }
            }
            SqlType::Double => f.write_str("double")?,
            SqlType::Char { len } => write!(f, "char({len})")?,
            SqlType::Varchar { len } => write!(f, "varchar({len})")?,
            SqlType::Text { max_bytes } => f.write_str(match max_bytes {
                0..=0xff => "tinytext",
                0x100..=0xffff => "text",
                0x1_0000..=0xff_ffff => "mediumtext",
                _ => "longtext",
            })?,
            SqlType::Binary { len } => write!(f, "binary({len})")?,
            SqlType::Varbinary { len } => write!(f, "varbinary({len})")?,
            SqlType::Blob { max_bytes } => f.write_str(match max_bytes {
                0..=0xff => "tinyblob",
                0x100..=0xffff => "blob",
                0x1_0000..=0xff_ffff => "mediumblob",
                _ => "longblob",
            })?,
            SqlType::Date => f.write_str("date")?,
            SqlType::DateTime { fsp: 0 } => f.write_str("datetime")?,
            SqlType::DateTime { fsp } => write!(f, "datetime({fsp})")?,
            SqlType::Timestamp { fsp: 0 } => f.write_str("timestamp")?,
            SqlType::Timestamp { fsp } => write!(f, "timestamp({fsp})")?,
            SqlType::Enum(members) => return write_members(f, "enum", members),
            SqlType::Set(members) => return write_members(f, "set", members),
            SqlType::Bit { len } => return write!(f, "bit({len})"),
            SqlType::Json => f.write_str("json")?,
            SqlType::Time { fsp: 0 } => f.write_str("time")?,
            SqlType::Time { fsp } => write!(f, "time({fsp})")?,
        }
        if self.is_unsigned() {
            f.write_str(" unsigned")?;
        }
        if self.zerofill_width().is_some() { f.write_str(" zerofill") } else { Ok(()) }
    }
}

fn write_members(f: &mut fmt::Formatter<'_>, name: &str, members: &Members) -> fmt::Result {
    let quoted: Vec<String> = members.names().map(|name| format!("'{}'", name.replace('\'', "''"))).collect();
    write!(f, "{name}({})", quoted.join(","))
}

/// The strength with which an expression insists on its collation; when two meet, the lower value wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coercibility {
    /// A COLLATE clause.
    Explicit = 0,
    /// Two implicit collations that differ.
    None = 1,
    /// A column.
    Implicit = 2,
    /// `USER()`, `VERSION()` and the like.
    SystemConstant = 3,
    /// A literal.
    Coercible = 4,
    /// A number or a date.
    Numeric = 5,
    /// NULL.
    Ignorable = 6,
}

impl Coercibility {
    /// Returns its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::None => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::SystemConstant => "SYSCONST",
            Coercibility::Coercible => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
            Coercibility::Ignorable => "IGNORABLE",
        }
    }
}

/// The properties of an expression's value that are known before evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExprType {
    /// Its SQL type.
    pub sql: SqlType,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// Its collation if it is a string; otherwise [`Collation::Binary`].
    pub collation: Collation,
    /// The strength with which it insists on that collation.
    pub coercibility: Coercibility,
    /// The column it comes from, for messages.
    pub origin: Origin,
}

impl ExprType {
    /// The type of a bare NULL.
    pub const NULL: ExprType = ExprType {
        sql: SqlType::Null,
        nullable: true,
        collation: Collation::Binary,
        coercibility: Coercibility::Ignorable,
        origin: Origin::UNKNOWN,
    };

    /// Makes the type of a number or a date.
    pub fn numeric(sql: SqlType, nullable: bool) -> Self {
        Self::string(sql, nullable, Collation::Binary, Coercibility::Numeric)
    }

    /// Makes the type of a document.
    pub fn json(nullable: bool) -> Self {
        Self::string(SqlType::Json, nullable, Collation::Utf8mb4Bin, Coercibility::Implicit)
    }

    /// Makes the type of a string.
    pub fn string(sql: SqlType, nullable: bool, collation: Collation, coercibility: Coercibility) -> Self {
        ExprType { sql, nullable, collation, coercibility, origin: Origin::UNKNOWN }
    }

    /// Makes a column's type.
    pub fn column(sql: SqlType, nullable: bool, collation: Collation) -> Self {
        if sql == SqlType::Json {
            return Self::json(nullable);
        }
        // A BIT in the place of text is read as bytes.
        if sql.is_string() || matches!(sql, SqlType::Bit { .. }) {
            Self::string(sql, nullable, collation, Coercibility::Implicit)
        } else {
            Self::numeric(sql, nullable)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_ranges_are_those_of_the_manual() {
        let t = SqlType::MediumInt { unsigned: false };
        assert_eq!(t.integer_range(), Some((-8_388_608, 8_388_607)));
        let t = SqlType::MediumInt { unsigned: true };
        assert_eq!(t.integer_range(), Some((0, 16_777_215)));
        assert_eq!(SqlType::BIGINT.integer_range(), Some((i64::MIN.into(), i64::MAX.into())));
        assert_eq!(SqlType::BIGINT_UNSIGNED.integer_range(), Some((0, u64::MAX.into())));
        assert_eq!(SqlType::Date.integer_range(), None);
    }

    #[test]
    fn types_print_as_show_create_table_does() {
        let d = SqlType::Decimal { precision: 15, scale: 2, unsigned: true, zerofill: false };
        assert_eq!(d.to_string(), "decimal(15,2) unsigned");
        assert_eq!(SqlType::Text { max_bytes: 65_535 }.to_string(), "text");
        assert_eq!(SqlType::DateTime { fsp: 3 }.to_string(), "datetime(3)");
        assert_eq!(SqlType::Int { unsigned: true }.to_string(), "int unsigned");
        assert_eq!(SqlType::Zerofill { bytes: 3, digits: 8 }.to_string(), "mediumint(8) unsigned zerofill");
        let real = SqlType::Real { single: true, digits: Some((7, 3)), unsigned: true, zerofill: false };
        assert_eq!(real.to_string(), "float(7,3) unsigned");
        assert_eq!(SqlType::Blob { max_bytes: 65_535 }.to_string(), "blob");
        assert_eq!(SqlType::Boolean.to_string(), "tinyint(1)");
        let members = Arc::new(Members::new(["a", "it's"], Collation::Utf8mb4Bin));
        assert_eq!(SqlType::Enum(members.clone()).to_string(), "enum('a','it''s')");
        assert_eq!(SqlType::Set(members).to_string(), "set('a','it''s')");
        assert_eq!(SqlType::Bit { len: 9 }.to_string(), "bit(9)");
    }
}
