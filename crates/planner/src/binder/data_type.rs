//! Column types of DDL: turns the written type into the stored type and collation.

use leafline_types::{Charset, Collation, Members, MysqlError, SqlType};
use std::sync::Arc;

use super::cast::{decimal_digits, fraction_digits};
use leafline_syntax::ast::{DataType, Ident, TextString, TypeName};

/// Maximum bytes of a VARCHAR or VARBINARY.
const MAX_VARIABLE_BYTES: u64 = 65_535;

/// The stored type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnType {
    /// The type.
    pub ty: SqlType,
    /// The collation; `Binary` for every type that is not a character string.
    pub collation: Collation,
    /// Notes about differences from the written type.
    pub notes: Vec<MysqlError>,
}

/// The rules for replacing a type that is impossible as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeRules {
    /// Strict mode: never replace.
    pub strict: bool,
    /// The column has a constant as its default.
    pub has_default: bool,
}

impl TypeRules {
    /// The rules of strict mode.
    pub const STRICT: TypeRules = TypeRules { strict: true, has_default: false };
}

/// Returns the type of the column of that name; `default` is the table's collation. Outside of strict mode a VARCHAR or VARBINARY
/// that is too long becomes a TEXT or BLOB, and ENUM and SET may repeat a text.
///
/// # Errors
/// 1074 for a length, 1425, 1426 and 1427 for digits, 1439 for a display width beyond MySQL's limits; 1115, 1253 and 1273 for
/// character sets and collations; 1291 for a repeated text of ENUM or SET; 1235 for unsupported types.
pub fn column_type(
    name: &str,
    written: &DataType,
    default: Collation,
    rules: TypeRules,
) -> Result<ColumnType, MysqlError> {
    let mut collation = collation(written.charset.as_ref(), written.collation.as_ref(), default)?;
    if written.binary && written.collation.is_none() {
        collation = collation.charset().binary_collation();
    }
    let mut notes = Vec::new();
    if matches!(written.name, TypeName::Enum | TypeName::Set) {
        let (members, mut repeated) = members_type(written, name, collation)?;
        match repeated.pop() {
            Some(error) if rules.strict => return Err(repeated.into_iter().next().unwrap_or(error)),
            last => notes.extend(repeated.into_iter().chain(last)),
        }
        return Ok(ColumnType { ty: members, collation, notes });
    }
    let longer =
        if rules.strict || rules.has_default { None } else { long_type(written, collation.charset()) };
    let ty = match longer {
        Some((ty, from, to)) => {
            notes.push(MysqlError::column_converted(name, from, to));
            ty
        }
        None => sql_type(written, name, collation.charset())?,
    };
    if !ty.is_character() {
        return Ok(ColumnType { ty, collation: Collation::Binary, notes });
    }
    if collation != Collation::Binary {
        return Ok(ColumnType { ty, collation, notes });
    }
    // A character type in the binary character set is a type of bytes.
    let ty = match ty {
        SqlType::Varchar { len } => SqlType::Varbinary { len },
        SqlType::Char { len } => SqlType::Binary { len },
        SqlType::Text { max_bytes } => SqlType::Blob { max_bytes },
        other => other,
    };
    Ok(ColumnType { ty, collation, notes })
}

/// Returns the TEXT or BLOB that replaces a VARCHAR or VARBINARY that is too long, with the names of both.
fn long_type(written: &DataType, charset: Charset) -> Option<(SqlType, &'static str, &'static str)> {
    let character_bytes = match written.name {
        TypeName::Varchar => u64::from(charset.max_bytes()),
        TypeName::Varbinary => 1,
        _ => return None,
    };
    let length = written.length.filter(|length| u32::try_from(*length).is_ok())?;
    let bytes = length * character_bytes;
    if bytes <= MAX_VARIABLE_BYTES {
        return None;
    }
    Some(match written.name == TypeName::Varbinary || charset == Charset::Binary {
        true => (SqlType::Blob { max_bytes: large(bytes) }, "VARBINARY", "BLOB"),
        false => (text(bytes), "VARCHAR", "TEXT"),
    })
}

/// Returns MySQL's warnings about a type, in MySQL's order.
pub fn type_warnings(written: &DataType) -> Vec<MysqlError> {
    use TypeName::{BigInt, Decimal, Double, Float, Int, MediumInt, SmallInt, TinyInt, Year};
    let integer = matches!(written.name, TinyInt | SmallInt | MediumInt | Int | BigInt);
    let real = matches!(written.name, Double | Float);
    let removed = "will be removed in a future release";
    let mut warnings = Vec::new();
    if written.zerofill {
        let advice = "will be removed in a future release. Use the LPAD function to zero-pad numbers, or store the formatted \
                      numbers in a CHAR column";
        warnings.push(MysqlError::deprecated("The ZEROFILL attribute", advice));
    }
    if integer && written.length.is_some() {
        warnings.push(MysqlError::deprecated("Integer display width", removed));
    }
    if real && written.decimals.is_some() {
        let what = "Specifying number of digits for floating point data types";
        warnings.push(MysqlError::deprecated(what, removed));
    }
    if (real || written.name == Decimal) && written.unsigned && !written.zerofill {
        let what = "UNSIGNED for decimal and floating point data types";
        let advice = "support for it will be removed in a future release";
        warnings.push(MysqlError::deprecated(what, advice));
    }
    if written.name == Year && written.length.is_some() {
        warnings.push(MysqlError::deprecated_syntax("YEAR(4)", "YEAR"));
    }
    warnings
}

/// Returns the collation of a table or a database from its options.
///
/// # Errors
/// 1115, 1253, 1273; 1235 for known but unsupported collations.
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
    let charset = charset.map(|charset| Charset::from_name(&charset.value)).transpose()?;
    match (charset, name) {
        (None, None) => Ok(default),
        (Some(charset), None) => Ok(charset.default_collation()),
        (charset, Some(name)) => {
            let collation = Collation::from_name(&name.value)?;
            match charset {
                Some(charset) if charset != collation.charset() => {
                    Err(MysqlError::collation_charset_mismatch(collation, charset.name()))
                }
                _ => Ok(collation),
            }
        }
    }
}

fn sql_type(written: &DataType, column: &str, charset: Charset) -> Result<SqlType, MysqlError> {
    let character_bytes = u64::from(charset.max_bytes());
    let unsigned = written.unsigned;
    let integer = |ty: SqlType| match written.length {
        Some(width) if width > 255 => Err(MysqlError::too_big_display_width(column, 255)),
        Some(1) if ty == (SqlType::TinyInt { unsigned: false }) => Ok(SqlType::Boolean),
        width if written.zerofill => Ok(zerofill(&ty, width)),
        _ => Ok(ty),
    };
    let limited = |max: u64, length: u64| match u32::try_from(length) {
        Ok(len) if length <= max => Ok(len),
        _ => Err(MysqlError::column_too_long(column, max)),
    };
    let characters = written.length.unwrap_or(1);
    let is_fraction = matches!(written.name, TypeName::DateTime | TypeName::Time | TypeName::Timestamp);
    if !is_fraction && characters > u64::from(u32::MAX) {
        return Err(MysqlError::too_big_display_width(column, u32::MAX));
    }
    match written.name {
        TypeName::Bool => Ok(SqlType::Boolean),
        TypeName::TinyInt => integer(SqlType::TinyInt { unsigned }),
        TypeName::SmallInt => integer(SqlType::SmallInt { unsigned }),
        TypeName::MediumInt => integer(SqlType::MediumInt { unsigned }),
        TypeName::Int => integer(SqlType::Int { unsigned }),
        TypeName::BigInt => integer(SqlType::BigInt { unsigned }),
        TypeName::Decimal => {
            let (precision, scale) = decimal_digits(written.length, written.decimals, column)?;
            Ok(SqlType::Decimal { precision, scale, unsigned, zerofill: written.zerofill })
        }
        TypeName::Double | TypeName::Float => real(written, column),
        TypeName::Char => Ok(SqlType::Char { len: limited(255, characters)? }),
        TypeName::Varchar => {
            Ok(SqlType::Varchar { len: limited(MAX_VARIABLE_BYTES / character_bytes, characters)? })
        }
        TypeName::Binary => Ok(SqlType::Binary { len: limited(255, characters)? }),
        TypeName::TinyBlob => Ok(SqlType::Blob { max_bytes: 0xff }),
        TypeName::Blob => Ok(SqlType::Blob { max_bytes: large(written.length.unwrap_or(0xffff)) }),
        TypeName::MediumBlob => Ok(SqlType::Blob { max_bytes: 0xff_ffff }),
        TypeName::LongBlob => Ok(SqlType::Blob { max_bytes: u32::MAX }),
        TypeName::Varbinary => Ok(SqlType::Varbinary { len: limited(MAX_VARIABLE_BYTES, characters)? }),
        TypeName::TinyText => Ok(text(0xff)),
        TypeName::Text => Ok(text(written.length.map_or(0xffff, |n| n.saturating_mul(character_bytes)))),
        TypeName::MediumText => Ok(text(0xff_ffff)),
        TypeName::LongText => Ok(text(0xffff_ffff)),
        TypeName::Json => Ok(SqlType::Json),
        TypeName::Date => Ok(SqlType::Date),
        TypeName::DateTime => Ok(SqlType::DateTime { fsp: fraction_digits(written.length, column)? }),
        TypeName::Time => Ok(SqlType::Time { fsp: fraction_digits(written.length, column)? }),
        TypeName::Timestamp => Ok(SqlType::Timestamp { fsp: fraction_digits(written.length, column)? }),
        TypeName::Bit => match written.length {
            None => Ok(SqlType::Bit { len: 1 }),
            Some(0) => Err(MysqlError::invalid_size_of_column(column)),
            Some(len @ 1..=64) => Ok(SqlType::Bit { len: len as u8 }),
            Some(_) => Err(MysqlError::too_big_display_width(column, 64)),
        },
        // The texts are checked once their collation is known.
        TypeName::Enum | TypeName::Set => Ok(SqlType::Null),
        TypeName::Year if written.length.is_some_and(|digits| digits != 4) => {
            Err(MysqlError::invalid_year_length())
        }
        TypeName::Year => Ok(SqlType::Year),
    }
}

/// Makes an ENUM or SET of its texts without trailing spaces, and an error 1291 for each repeated text.
fn members_type(
    written: &DataType,
    column: &str,
    collation: Collation,
) -> Result<(SqlType, Vec<MysqlError>), MysqlError> {
    let (kind, most) = if written.name == TypeName::Set { ("SET", 64) } else { ("ENUM", 65_535) };
    if written.members.len() > most {
        return Err(MysqlError::too_many_strings(column, kind));
    }
    let text = |member: &TextString| match member {
        TextString::Text(text) => Ok(text.trim_end_matches(' ').to_owned()),
        TextString::Bytes(bytes) => {
            collation.charset().decode(bytes).map(|text| text.trim_end_matches(' ').to_owned())
        }
    };
    let names = written.members.iter().map(text).collect::<Result<Vec<String>, MysqlError>>()?;
    let mut repeated = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if written.name == TypeName::Set && name.contains(',') {
            return Err(MysqlError::illegal_value_for_type("set", name));
        }
        if names[..at].iter().any(|known| collation.equal(known.as_bytes(), name.as_bytes())) {
            repeated.push(MysqlError::duplicated_value_in_type(column, name, kind));
        }
    }
    let members = Arc::new(Members::new(names, collation));
    let ty = if written.name == TypeName::Set { SqlType::Set(members) } else { SqlType::Enum(members) };
    Ok((ty, repeated))
}

/// Makes an integer with ZEROFILL; the default display width is the number of digits of the type.
fn zerofill(ty: &SqlType, width: Option<u64>) -> SqlType {
    let bytes = ty.integer_width().unwrap_or(8) as u8;
    let digits = match width {
        Some(width @ 1..) => width as u8,
        _ => ty.decimal_precision().unwrap_or(20),
    };
    SqlType::Zerofill { bytes, digits }
}

/// Makes FLOAT, FLOAT(p), FLOAT(M, D), or the DOUBLE of that form.
fn real(written: &DataType, column: &str) -> Result<SqlType, MysqlError> {
    let unsigned = written.unsigned;
    let mut single = written.name == TypeName::Float;
    let digits = match (written.length, written.decimals) {
        (Some(all), Some(scale)) => {
            if scale > 30 {
                return Err(MysqlError::too_big_scale(scale, column, 30));
            }
            if all > 255 {
                return Err(MysqlError::too_big_display_width(column, 255));
            }
            if scale > all {
                return Err(MysqlError::precision_less_than_scale(column));
            }
            Some((all as u8, scale as u8))
        }
        (Some(54..), None) => return Err(MysqlError::incorrect_column_specifier(column)),
        // The precision is a number of binary digits.
        (Some(precision), None) => {
            single = precision <= 24;
            None
        }
        (None, _) => None,
    };
    if !single && digits.is_none() && !unsigned {
        return Ok(SqlType::Double);
    }
    Ok(SqlType::Real { single, digits, unsigned, zerofill: written.zerofill })
}

/// Returns the smallest TEXT type for that many bytes.
fn text(bytes: u64) -> SqlType {
    SqlType::Text { max_bytes: large(bytes) }
}

/// Returns the capacity in bytes of the smallest TEXT or BLOB type for that many bytes.
fn large(bytes: u64) -> u32 {
    let sizes = [0xff, 0xffff, 0xff_ffff, u32::MAX];
    sizes.into_iter().find(|&max| bytes <= u64::from(max)).unwrap_or(u32::MAX)
}
