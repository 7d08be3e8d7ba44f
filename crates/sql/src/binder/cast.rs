//! Targets of CAST, and units of intervals.

use leafline_types::expr::build::{self, CastTarget};
use leafline_types::{Collation, IntervalUnit, MysqlError};

use crate::parser::ast::{self, CastKind, Ident};

/// What CAST makes of this target.
pub(super) fn target(kind: &CastKind) -> Result<CastTarget, MysqlError> {
    Ok(match kind {
        CastKind::Signed => CastTarget::Signed,
        CastKind::Unsigned => CastTarget::Unsigned,
        CastKind::Decimal { precision, scale } => {
            let (precision, scale) = decimal_digits(*precision, *scale, "")?;
            CastTarget::Decimal(precision, scale)
        }
        CastKind::Double => CastTarget::Double,
        CastKind::Float { precision: Some(25..=53) } => CastTarget::Double,
        CastKind::Float { precision: None | Some(0..=24) } => CastTarget::Float,
        CastKind::Float { precision: Some(precision) } => {
            return Err(MysqlError::too_big_precision(precision, "CAST", 53));
        }
        CastKind::Char { length, charset } => match charset {
            Some(name) if name.value.eq_ignore_ascii_case("binary") => CastTarget::Binary(width(*length)),
            Some(name) => {
                check_charset(name)?;
                CastTarget::Char(width(*length))
            }
            None => CastTarget::Char(width(*length)),
        },
        CastKind::Binary { length } => CastTarget::Binary(width(*length)),
        CastKind::Date => CastTarget::Date,
        CastKind::DateTime { fsp } => CastTarget::DateTime(fraction_digits(*fsp, "CAST")?),
        CastKind::Time { fsp } => CastTarget::Time(fraction_digits(*fsp, "CAST")?),
        CastKind::Year => CastTarget::Year,
        CastKind::Json => return refused("CAST to JSON"),
    })
}

/// `CONVERT(x USING charset)`.
pub(super) fn convert_using(
    operand: leafline_types::expr::Expr,
    charset: &Ident,
    collation: Collation,
) -> Result<leafline_types::expr::Expr, MysqlError> {
    if charset.value.eq_ignore_ascii_case("binary") {
        return build::cast(operand, CastTarget::Binary(None), collation);
    }
    check_charset(charset)?;
    build::cast(operand, CastTarget::Char(None), collation)
}

/// Character sets that strings can be in.
pub(super) fn check_charset(name: &Ident) -> Result<(), MysqlError> {
    const KNOWN: &[&str] = &[
        "armscii8", "ascii", "big5", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866",
        "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8",
        "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis",
        "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8", "utf8mb3",
    ];
    let lower = name.value.to_ascii_lowercase();
    match lower.as_str() {
        "utf8mb4" => Ok(()),
        known if KNOWN.contains(&known) => {
            Err(MysqlError::not_supported(format_args!("CHARACTER SET {known}")))
        }
        _ => Err(MysqlError::unknown_character_set(&name.value)),
    }
}

/// Precision and scale with MySQL's defaults and limits.
pub(super) fn decimal_digits(
    precision: Option<u64>,
    scale: Option<u64>,
    column: &str,
) -> Result<(u8, u8), MysqlError> {
    let scale = scale.unwrap_or(0);
    let precision = match precision {
        None | Some(0) => 10,
        Some(precision) => precision,
    };
    if scale > 30 {
        return Err(MysqlError::too_big_scale(scale, column, 30));
    }
    if precision > 65 {
        return Err(MysqlError::too_big_precision(precision, column, 65));
    }
    if scale > precision {
        return Err(MysqlError::precision_less_than_scale(column));
    }
    Ok((precision as u8, scale as u8))
}

/// Digits of a second's fraction.
pub(super) fn fraction_digits(fsp: Option<u64>, column: &str) -> Result<u8, MysqlError> {
    match fsp.unwrap_or(0) {
        digits @ 0..=6 => Ok(digits as u8),
        digits => Err(MysqlError::too_big_precision(digits, column, 6)),
    }
}

fn width(length: Option<u64>) -> Option<u32> {
    length.map(|n| u32::try_from(n).unwrap_or(u32::MAX))
}

fn refused<T>(what: &str) -> Result<T, MysqlError> {
    Err(MysqlError::not_supported(what))
}

/// The unit of an interval.
pub(super) fn unit(unit: ast::IntervalUnit) -> Result<IntervalUnit, MysqlError> {
    use ast::IntervalUnit as Written;
    Ok(match unit {
        Written::Microsecond => IntervalUnit::Microsecond,
        Written::Second => IntervalUnit::Second,
        Written::Minute => IntervalUnit::Minute,
        Written::Hour => IntervalUnit::Hour,
        Written::Day => IntervalUnit::Day,
        Written::Week => IntervalUnit::Week,
        Written::Month => IntervalUnit::Month,
        Written::Quarter => IntervalUnit::Quarter,
        Written::Year => IntervalUnit::Year,
        _ => return refused("interval units of two parts"),
    })
}
