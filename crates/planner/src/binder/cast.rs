//! Targets of CAST, and units of intervals.

use leafline_expr::Expr;
use leafline_expr::build::{self, CastTarget};
use leafline_types::{Charset, Collation, MysqlError, Value};

use leafline_syntax::ast::{CastKind, Ident};

/// Returns the target type of a CAST.
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
        CastKind::Char { length, charset, .. } => match charset {
            Some(name) if name.value.eq_ignore_ascii_case("binary") => CastTarget::Binary(width(*length)?),
            _ => CastTarget::Char(width(*length)?),
        },
        CastKind::Binary { length } => CastTarget::Binary(width(*length)?),
        CastKind::Date => CastTarget::Date,
        CastKind::DateTime { fsp } => CastTarget::DateTime(fraction_digits(*fsp, "CAST")?),
        CastKind::Time { fsp } => CastTarget::Time(fraction_digits(*fsp, "CAST")?),
        CastKind::Year => CastTarget::Year,
        CastKind::Json => CastTarget::Json,
    })
}

/// Binds `CONVERT(x USING charset)` and `CAST(x AS CHAR CHARACTER SET charset)`. `bind` binds the conversion of `x` for the
/// character set's collation. Characters that the set lacks become question marks. `collation` chooses among the set's collations
/// for the result.
pub(super) fn convert_using(
    operand: Expr,
    to: CastTarget,
    charset: &Ident,
    collation: fn(Charset) -> Collation,
) -> Result<Expr, MysqlError> {
    let charset = Charset::from_name(&charset.value)?;
    if charset == Charset::Binary {
        return build::cast(operand, CastTarget::Binary(None), Collation::Binary);
    }
    let from = operand.ty.collation.charset();
    let has_all = charset == Charset::Utf8mb4 || from == charset || from == Charset::Ascii;
    let operand = match operand.as_literal() {
        Some(Value::String(text)) if charset.first_foreign(text).is_none() => operand,
        Some(value) if !matches!(value, Value::String(_) | Value::Bytes(_)) => operand,
        None if operand.ty.sql.is_character() && has_all || !operand.ty.sql.is_string() => operand,
        _ => build::convert_using(operand, charset)?,
    };
    build::cast(operand, to, collation(charset))
}

/// Returns precision and scale, with MySQL's defaults and limits.
pub(super) fn decimal_digits(
    precision: Option<u64>,
    scale: Option<u64>,
    column: &str,
) -> Result<(u8, u8), MysqlError> {
    let scale = scale.unwrap_or(0);
    let precision = match precision {
        None => 10,
        Some(0) if scale == 0 => 10,
        Some(precision) => precision,
    };
    if precision > 65 {
        return Err(MysqlError::too_big_precision(precision, column, 65));
    }
    if scale > 30 {
        return Err(MysqlError::too_big_scale(scale, column, 30));
    }
    if scale > precision {
        return Err(MysqlError::precision_less_than_scale(column));
    }
    Ok((precision as u8, scale as u8))
}

/// Returns the number of fractional digits of seconds.
pub(super) fn fraction_digits(fsp: Option<u64>, column: &str) -> Result<u8, MysqlError> {
    match fsp.unwrap_or(0) {
        digits @ 0..=6 => Ok(digits as u8),
        digits => Err(MysqlError::too_big_precision(digits, column, 6)),
    }
}

/// Returns the number of characters or bytes to keep. Error 1439 for more than a value can have.
fn width(length: Option<u64>) -> Result<Option<u32>, MysqlError> {
    let too_big = |_| MysqlError::too_big_display_width("cast as char", u32::MAX);
    length.map(|length| u32::try_from(length).map_err(too_big)).transpose()
}
