//! Column types of DDL: from what was written to the type and collation that is stored.

use leafline_types::{Collation, MysqlError, SqlType};

use super::cast::{check_charset, decimal_digits, fraction_digits};
use crate::parser::ast::{ColumnDefinition, DataType, Ident, TypeName};

/// The most bytes of a VARCHAR or VARBINARY.
const MAX_VARIABLE_BYTES: u64 = 65_535;
/// The most bytes of a character.
const CHARACTER_BYTES: u64 = 4;

/// The type of a column as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnType {
    /// Its type.
    pub ty: SqlType,
    /// Its collation; `Binary` for all that is no character string.
    pub collation: Collation,
}

/// The type of a column; `default` is the table's collation.
///
/// # Errors
/// 1074 for a length, 1425, 1426 and 1427 for digits, 1439 for a display width beyond MySQL's limits; 1115, 1253 and
/// 1273 for character sets and collations; 1235 for what is not supported.
pub fn column_type(column: &ColumnDefinition, default: Collation) -> Result<ColumnType, MysqlError> {
    let written = &column.data_type;
    let name = column.name.value.as_str();
    let ty = sql_type(written, name)?;
    if !ty.is_character() {
        return Ok(ColumnType { ty, collation: Collation::Binary });
    }
    let mut collation = collation(written.charset.as_ref(), written.collation.as_ref(), default)?;
    if written.binary && written.collation.is_none() {
        collation = Collation::Utf8mb4Bin;
    }
    if collation != Collation::Binary {
        return Ok(ColumnType { ty, collation });
    }
    // A character type in the binary character set is a type of bytes.
    match ty {
        SqlType::Varchar { len } => Ok(ColumnType { ty: SqlType::Varbinary { len }, collation }),
        SqlType::Char { .. } => Err(MysqlError::not_supported("BINARY columns")),
        _ => Err(MysqlError::not_supported("BLOB columns")),
    }
}

/// The collation of a table or a database from its options.
///
/// # Errors
/// 1115, 1253, 1273; 1235 for those that are known and not supported.
pub fn table_collation(
    charset: Option<&Ident>,
    collation_name: Option<&Ident>,
    default: Collation,
) -> Result<Collation, MysqlError> {
    collation(charset, collation_name, default)
}

fn collation(
    charset: Option<&Ident>,
    name: Option<&Ident>,
    default: Collation,
) -> Result<Collation, MysqlError> {
    let binary = match charset {
        Some(charset) if charset.value.eq_ignore_ascii_case("binary") => Some(true),
        Some(charset) => {
            check_charset(charset)?;
            Some(false)
        }
        None => None,
    };
    match name {
        Some(name) => {
            let collation = Collation::from_name(&name.value)?;
            if binary.is_some_and(|b| b != (collation == Collation::Binary)) {
                let charset = charset.map_or("", |c| c.value.as_str());
                return Err(MysqlError::collation_charset_mismatch(collation.name(), charset));
            }
            Ok(collation)
        }
        None => Ok(match binary {
            Some(true) => Collation::Binary,
            Some(false) if default == Collation::Binary => Collation::Utf8mb4_0900Bin,
            _ => default,
        }),
    }
}

fn sql_type(written: &DataType, column: &str) -> Result<SqlType, MysqlError> {
    let unsigned = written.unsigned;
    let integer = |ty: SqlType| match written.length {
        Some(width) if width > 255 => Err(MysqlError::too_big_display_width(column, 255)),
        _ => Ok(ty),
    };
    let limited = |max: u64, length: u64| match u32::try_from(length) {
        Ok(len) if length <= max => Ok(len),
        _ => Err(MysqlError::column_too_long(column, max)),
    };
    let characters = written.length.unwrap_or(1);
    match written.name {
        TypeName::TinyInt => integer(SqlType::TinyInt { unsigned }),
        TypeName::SmallInt => integer(SqlType::SmallInt { unsigned }),
        TypeName::MediumInt => integer(SqlType::MediumInt { unsigned }),
        TypeName::Int => integer(SqlType::Int { unsigned }),
        TypeName::BigInt => integer(SqlType::BigInt { unsigned }),
        TypeName::Decimal => {
            let (precision, scale) = decimal_digits(written.length, written.decimals, column)?;
            Ok(SqlType::Decimal { precision, scale, unsigned })
        }
        TypeName::Double if unsigned => Err(MysqlError::not_supported("DOUBLE UNSIGNED")),
        TypeName::Double => Ok(SqlType::Double),
        TypeName::Char => Ok(SqlType::Char { len: limited(255, characters)? }),
        TypeName::Varchar => {
            Ok(SqlType::Varchar { len: limited(MAX_VARIABLE_BYTES / CHARACTER_BYTES, characters)? })
        }
        TypeName::Varbinary => Ok(SqlType::Varbinary { len: limited(MAX_VARIABLE_BYTES, characters)? }),
        TypeName::TinyText => Ok(text(0xff)),
        TypeName::Text => Ok(text(written.length.map_or(0xffff, |n| n.saturating_mul(CHARACTER_BYTES)))),
        TypeName::MediumText => Ok(text(0xff_ffff)),
        TypeName::LongText => Ok(text(0xffff_ffff)),
        TypeName::Date => Ok(SqlType::Date),
        TypeName::DateTime => Ok(SqlType::DateTime { fsp: fraction_digits(written.length, column)? }),
    }
}

/// The smallest TEXT type for that many bytes.
fn text(bytes: u64) -> SqlType {
    let sizes = [0xff, 0xffff, 0xff_ffff, u32::MAX];
    let max_bytes = sizes.into_iter().find(|&max| bytes <= u64::from(max)).unwrap_or(u32::MAX);
    SqlType::Text { max_bytes }
}
