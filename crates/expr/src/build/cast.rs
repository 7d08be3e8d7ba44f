//! CAST and COLLATE.

use super::arithmetic::without_rounding;
use super::types::text_length;
use super::variable::read_as;
use crate::ir::{Expr, ExprKind};
use leafline_types::collation::Collation;
use leafline_types::decimal::{MAX_PRECISION, MAX_SCALE};
use leafline_types::error::MysqlError;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

/// The target of a CAST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CastTarget {
    /// `SIGNED`.
    Signed,
    /// `UNSIGNED`.
    Unsigned,
    /// `CHAR[(characters)]`.
    Char(Option<u32>),
    /// `BINARY[(bytes)]`; with a number of bytes, shorter values are padded with zeros.
    Binary(Option<u32>),
    /// `DECIMAL(precision, scale)`; `DECIMAL` alone is (10, 0).
    Decimal(u8, u8),
    /// `DOUBLE`, `REAL`.
    Double,
    /// `DATE`.
    Date,
    /// `DATETIME[(fsp)]`.
    DateTime(u8),
    /// `TIME[(fsp)]`.
    Time(u8),
    /// `YEAR`.
    Year,
    /// `FLOAT`.
    Float,
    /// `JSON`.
    Json,
}

/// Makes `CAST(operand AS to)`; `CHAR` takes `collation`, that of the connection.
pub fn cast(operand: Expr, to: CastTarget, collation: Collation) -> Result<Expr, MysqlError> {
    let operand = match to {
        _ if operand.ty.sql == SqlType::Json => operand,
        CastTarget::Signed
        | CastTarget::Unsigned
        | CastTarget::Decimal(..)
        | CastTarget::Double
        | CastTarget::Float => super::number(operand),
        CastTarget::Binary(_) => super::charset::bytes(operand),
        CastTarget::Char(_) => super::charset::under(super::plain(operand), collation),
        _ => super::plain(operand),
    };
    // A text may be an invalid date, and a date may have no such year.
    let mut nullable = operand.ty.nullable;
    let sql = match to {
        CastTarget::Signed => SqlType::BIGINT,
        CastTarget::Unsigned => SqlType::BIGINT_UNSIGNED,
        CastTarget::Char(Some(len)) => super::text_type(len.into()),
        CastTarget::Char(None) => super::text_type(text_length(&operand.ty.sql)),
        CastTarget::Binary(Some(len)) => SqlType::Varbinary { len },
        CastTarget::Binary(None) => {
            let per_character = if operand.ty.sql.is_character() { 4 } else { 1 };
            let len = text_length(&operand.ty.sql) * per_character;
            SqlType::Varbinary { len: len.min(u32::MAX.into()) as u32 }
        }
        CastTarget::Decimal(precision, scale) => {
            if scale > MAX_SCALE {
                return Err(MysqlError::too_big_scale(scale, "cast", MAX_SCALE));
            }
            if precision > MAX_PRECISION {
                return Err(MysqlError::too_big_precision(precision, "cast", MAX_PRECISION));
            }
            if precision < scale {
                return Err(MysqlError::precision_less_than_scale(""));
            }
            SqlType::decimal(precision.max(1), scale)
        }
        CastTarget::Double => SqlType::Double,
        CastTarget::Json => SqlType::Json,
        CastTarget::Float => SqlType::FLOAT,
        CastTarget::Year => {
            nullable = true;
            SqlType::Year
        }
        CastTarget::Time(fsp) => {
            nullable |= !operand.ty.sql.is_temporal();
            SqlType::Time { fsp }
        }
        CastTarget::Date | CastTarget::DateTime(_) => {
            nullable |= !operand.ty.sql.is_temporal();
            match to {
                CastTarget::DateTime(fsp) if fsp > 6 => {
                    return Err(MysqlError::too_big_precision(fsp, "CAST", 6));
                }
                CastTarget::DateTime(fsp) => SqlType::DateTime { fsp },
                _ => SqlType::Date,
            }
        }
    };
    let ty = match to {
        CastTarget::Char(_) => ExprType::string(sql, nullable, collation, Coercibility::Implicit),
        CastTarget::Json => ExprType::json(nullable),
        CastTarget::Binary(_) => ExprType::string(sql, nullable, Collation::Binary, Coercibility::Implicit),
        _ => ExprType::numeric(sql, nullable),
    };
    let operand = read_as(operand, &ty.sql);
    // A string shows the operand's digits as they are shown; other types take all digits.
    let operand = if ty.sql.is_string() { operand } else { without_rounding(operand) };
    let e = Expr { kind: ExprKind::Cast { operand: Box::new(operand) }, ty };
    match to {
        CastTarget::Binary(Some(len)) => padded(e, len),
        _ => Ok(e),
    }
}

/// Pads a binary string with zeros to `len` bytes.
fn padded(bytes: Expr, len: u32) -> Result<Expr, MysqlError> {
    let ty = bytes.ty.clone();
    let zero = super::literal(Value::bytes([0u8].as_slice()));
    let mut e = super::call("RPAD", vec![bytes, super::literal(Value::Int(len.into())), zero])?;
    e.ty = ty;
    Ok(e)
}

/// Makes `operand COLLATE collation`. An operand that is not a string becomes text.
pub fn collate(operand: Expr, collation: Collation) -> Result<Expr, MysqlError> {
    let operand = super::plain(operand);
    let mut e =
        if operand.ty.sql.is_string() { operand } else { cast(operand, CastTarget::Char(None), collation)? };
    let charset = e.ty.collation.charset();
    if charset != collation.charset() {
        return Err(MysqlError::collation_charset_mismatch(collation, charset.name()));
    }
    let ty = ExprType { collation, coercibility: Coercibility::Explicit, ..e.ty.clone() };
    if e.ty.collation == collation || matches!(e.kind, ExprKind::Literal(_) | ExprKind::Cast { .. }) {
        e.ty = ty;
        return Ok(e);
    }
    // A node of its own: wherever a bare column is recognized, it compares by the column's collation.
    Ok(Expr { kind: ExprKind::Cast { operand: Box::new(e) }, ty })
}
