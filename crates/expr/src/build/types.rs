//! The common types and collations of several operands.

use std::cmp::Ordering;

use crate::ir::Expr;
use leafline_types::collation::{Charset, Collation};
use leafline_types::decimal::{MAX_PRECISION, MAX_SCALE};
use leafline_types::error::MysqlError;
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

use super::real::{digits_of_any, real};

/// The collation of text that a number or date was converted to. It loses against any other.
pub(crate) const TEXT_OF_NUMBER: Collation = Collation::DEFAULT;

/// The most characters of a VARCHAR of four-byte characters; longer results are TEXT.
const MAX_VARCHAR: u64 = 16_383;

/// BIGINT, signed.
pub(crate) fn bigint(nullable: bool) -> ExprType {
    ExprType::numeric(SqlType::BIGINT, nullable)
}

/// Returns the type of a value by itself.
pub fn type_of(v: &Value) -> SqlType {
    match v {
        Value::Null => SqlType::Null,
        Value::Int(_) => SqlType::BIGINT,
        Value::UInt(_) => SqlType::BIGINT_UNSIGNED,
        Value::Decimal(d) => {
            let (digits, scale) = (d.digits(), d.scale());
            // As in MySQL, 0.05 has a digit before the point.
            let precision = digits.max(scale + 1).min(MAX_PRECISION);
            SqlType::decimal(precision, scale)
        }
        Value::Double(_) => SqlType::Double,
        Value::String(s) => text_type(s.chars().count() as u64),
        Value::Bytes(b) => SqlType::Varbinary { len: b.len() as u32 },
        Value::Date(_) => SqlType::Date,
        Value::DateTime(t) => {
            SqlType::DateTime { fsp: if t.micros_of_day() % 1_000_000 == 0 { 0 } else { 6 } }
        }
        Value::Json(_) => SqlType::Json,
        Value::Time(t) => SqlType::Time { fsp: if t.micros() % 1_000_000 == 0 { 0 } else { 6 } },
    }
}

/// Returns the type of a character string of up to `characters` characters.
pub(crate) fn text_type(characters: u64) -> SqlType {
    match characters {
        0..=MAX_VARCHAR => SqlType::Varchar { len: characters as u32 },
        _ if characters * 4 <= 0xff_ffff => SqlType::Text { max_bytes: 0xff_ffff },
        _ => SqlType::Text { max_bytes: u32::MAX },
    }
}

/// Returns the most characters of the text of a value of this type (bytes for a binary string).
pub(crate) fn text_length(ty: &SqlType) -> u64 {
    let zerofill = ty.zerofill_width().unwrap_or(0) as u64;
    zerofill.max(match ty {
        SqlType::Null => 0,
        SqlType::Decimal { precision, scale, unsigned, .. } => {
            u64::from(*precision) + u64::from(*scale > 0) + u64::from(!*unsigned)
        }
        SqlType::Real { digits: Some((all, _)), .. } => u64::from(*all) + 2,
        SqlType::Real { single: true, .. } => 12,
        SqlType::Double | SqlType::Real { .. } => 22,
        SqlType::Char { len } | SqlType::Varchar { len } => (*len).into(),
        SqlType::Binary { len } | SqlType::Varbinary { len } => (*len).into(),
        SqlType::Text { max_bytes } | SqlType::Blob { max_bytes } => (*max_bytes).into(),
        SqlType::Json => u32::MAX.into(),
        SqlType::Date => 10,
        SqlType::DateTime { fsp: 0 } => 19,
        SqlType::DateTime { fsp } => 20 + u64::from(*fsp),
        SqlType::Timestamp { fsp: 0 } => 19,
        SqlType::Timestamp { fsp } => 20 + u64::from(*fsp),
        SqlType::Enum(members) => members.longest().into(),
        SqlType::Set(members) => members.longest_list().into(),
        SqlType::Bit { len } => u64::from(len.div_ceil(8)),
        SqlType::Time { fsp: 0 } => 10,
        SqlType::Time { fsp } => 11 + u64::from(*fsp),
        integer => u64::from(integer.decimal_precision().unwrap_or(20)) + u64::from(!integer.is_unsigned()),
    })
}

/// Returns the digits (all, and after the point) of an operand that is an integer, a DECIMAL, a date or NULL; for a
/// literal, those of its value. None for an operand that counts as DOUBLE.
pub fn decimal_digits(operand: &Expr) -> Option<(u8, u8)> {
    match (operand.as_literal(), &operand.ty.sql) {
        (Some(Value::Int(v)), _) => Some((digits(v.unsigned_abs()), 0)),
        (Some(Value::UInt(v)), _) => Some((digits(*v), 0)),
        (_, SqlType::Null) => Some((1, 0)),
        (_, SqlType::Date) => Some((8, 0)),
        (_, SqlType::DateTime { fsp }) => Some((14 + fsp, *fsp)),
        (_, SqlType::Time { fsp }) => Some((7 + fsp, *fsp)),
        (_, SqlType::Real { .. }) => None,
        (_, ty) => Some((ty.decimal_precision()?, ty.scale())),
    }
}

/// Returns the digits after the point that a number shows; `None` if that depends on its value.
pub(crate) fn shown_digits(operand: &Expr) -> Option<u8> {
    match &operand.ty.sql {
        SqlType::Real { digits, .. } => digits.map(|(_, scale)| scale),
        _ => decimal_digits(operand).map(|(_, scale)| scale),
    }
}

fn digits(v: u64) -> u8 {
    v.checked_ilog10().map_or(1, |log| log as u8 + 1)
}

/// Returns the common collation of several operands. The lowest coercibility wins. Among equals a binary string wins,
/// then a Unicode character set, then the collation of code points. If two are left, there is no collation (the
/// result is that of code points, under which nothing may be compared), unless both are explicit: error 1267. That is
/// also the error for operands of two character sets of which neither has the characters of the other, unless one is
/// a constant, which is converted, or another has an explicit collation.
pub(crate) fn merge_collations<'t>(
    operation: &str,
    types: impl IntoIterator<Item = &'t ExprType>,
) -> Result<(Collation, Coercibility), MysqlError> {
    let types: Vec<&ExprType> = types.into_iter().collect();
    let mut merged = (Collation::Binary, Coercibility::Ignorable);
    let mut waits_for_explicit = false;
    for ty in &types {
        let strength = (ty.collation, ty.coercibility);
        merged = match merge(merged, strength) {
            Some(merged) => merged,
            None if merged.1 == ty.coercibility && merged.1 == Coercibility::Explicit => {
                return Err(illegal_mix(operation, &types));
            }
            None => {
                waits_for_explicit = true;
                (Collation::Binary, Coercibility::None)
            }
        };
    }
    if waits_for_explicit {
        let set = merged.0.charset();
        let converts =
            |ty: &&ExprType| ty.coercibility >= Coercibility::Coercible || set.holds(ty.collation.charset());
        if merged.1 != Coercibility::Explicit || !types.iter().all(converts) {
            return Err(illegal_mix(operation, &types));
        }
    }
    Ok(merged)
}

/// Makes the error that operands of these types have no common collation, which MySQL words differently for two,
/// three and more.
fn illegal_mix(operation: &str, types: &[&ExprType]) -> MysqlError {
    match types {
        [a, b] => MysqlError::illegal_mix_of_collations(
            a.collation,
            a.coercibility.name(),
            b.collation,
            b.coercibility.name(),
            operation,
        ),
        [a, b, c] => MysqlError::illegal_mix_of_three_collations(
            a.collation,
            a.coercibility.name(),
            b.collation,
            b.coercibility.name(),
            c.collation,
            c.coercibility.name(),
            operation,
        ),
        _ => MysqlError::illegal_mix_of_many_collations(operation),
    }
}

type Strength = (Collation, Coercibility);

/// Returns the stronger of two, or None if they do not mix.
fn merge(a: Strength, b: Strength) -> Option<Strength> {
    let (charset_a, charset_b) = (a.0.charset(), b.0.charset());
    // Numbers and NULL have no influence.
    let silent = |s: Strength| s.1 >= Coercibility::Numeric;
    if silent(a) || silent(b) || a.0 == b.0 {
        return Some(if b.1 < a.1 { b } else { a });
    }
    if a.1 == Coercibility::Explicit && b.1 == Coercibility::Explicit {
        return None;
    }
    if charset_a == charset_b {
        return match a.1.cmp(&b.1) {
            Ordering::Less => Some(a),
            Ordering::Greater => Some(b),
            // In MySQL, text of numbers has the connection's collation. Here it has the default, which no other
            // constant has if the connection's differs.
            Ordering::Equal if a.1 == Coercibility::Coercible && a.0 == TEXT_OF_NUMBER => Some(b),
            Ordering::Equal if a.1 == Coercibility::Coercible && b.0 == TEXT_OF_NUMBER => Some(a),
            Ordering::Equal if a.0.is_bin() => Some(a),
            Ordering::Equal if b.0.is_bin() => Some(b),
            Ordering::Equal => Some((charset_a.binary_collation(), Coercibility::None)),
        };
    }
    if a.0 == Collation::Binary || b.0 == Collation::Binary {
        let binary_first = if a.0 == Collation::Binary { (a, b) } else { (b, a) };
        return Some(if binary_first.0.1 <= binary_first.1.1 { binary_first.0 } else { binary_first.1 });
    }
    let constant = |s: Strength| s.1 >= Coercibility::SystemConstant;
    match a.1.cmp(&b.1) {
        Ordering::Less if stands_over(charset_a, charset_b, false) || constant(b) => Some(a),
        Ordering::Greater if stands_over(charset_b, charset_a, false) || constant(a) => Some(b),
        Ordering::Equal if stands_over(charset_a, charset_b, true) => Some(a),
        Ordering::Equal if stands_over(charset_b, charset_a, true) => Some(b),
        // Two constants of different Unicode sets.
        Ordering::Equal if constant(a) && charset_a.holds(charset_b) => Some(a),
        Ordering::Equal if constant(a) && charset_b.holds(charset_a) => Some(b),
        _ => None,
    }
}

/// Whether text of the narrow character set is converted to the wide one when they meet. ASCII always is. Any set is
/// converted to a Unicode set, unless it is such a set itself, as strong (`equal`), and the wide one has no
/// characters beyond U+FFFF.
fn stands_over(wide: Charset, narrow: Charset, equal: bool) -> bool {
    if narrow == Charset::Ascii {
        return true;
    }
    wide.is_unicode() && (!equal || !narrow.is_unicode() || wide.has_supplementary())
}

/// Returns the common collation of several operands; constants among them are to be converted to its character set.
///
/// # Errors
/// 1267, 1270 or 1271 if they have none, or if its set lacks a character of a constant.
pub(crate) fn merge_operands(
    operation: &str,
    operands: &[&Expr],
) -> Result<(Collation, Coercibility), MysqlError> {
    let types: Vec<&ExprType> = operands.iter().map(|e| &e.ty).collect();
    let merged = merge_collations(operation, types.iter().copied())?;
    convert_constants(operation, operands.iter().copied(), merged.0)?;
    Ok(merged)
}

/// Checks that the collation's character set has all characters of the constants.
///
/// # Errors
/// 1267, 1270 or 1271 if it lacks one.
pub fn convert_constants<'e>(
    operation: &str,
    operands: impl Iterator<Item = &'e Expr> + Clone,
    collation: Collation,
) -> Result<(), MysqlError> {
    let charset = collation.charset();
    let is_foreign = |e: &Expr| match e.as_literal() {
        Some(Value::String(text)) => e.ty.sql.is_character() && charset.first_foreign(text).is_some(),
        _ => false,
    };
    if operands.clone().any(is_foreign) {
        return Err(illegal_mix(operation, &operands.map(|e| &e.ty).collect::<Vec<_>>()));
    }
    Ok(())
}

/// Returns the collation under which all operands of a comparison, BETWEEN, IN or CASE are compared.
///
/// # Errors
/// 1267, 1270 or 1271 if they have none in common, or if its set lacks a character of a constant.
pub(crate) fn compared_by(operation: &str, operands: &[&Expr]) -> Result<Collation, MysqlError> {
    let (collation, coercibility) = merge_operands(operation, operands)?;
    if coercibility == Coercibility::None {
        return Err(illegal_mix(operation, &operands.iter().map(|e| &e.ty).collect::<Vec<_>>()));
    }
    Ok(collation)
}

/// Checks that a value can be compared with the result of a subquery, if one of them is a constant text.
///
/// # Errors
/// 1267 if the other's character set lacks one of its characters.
pub fn convert_constants_beside(operation: &str, left: &Expr, right: &Expr) -> Result<(), MysqlError> {
    let is_text = |e: &Expr| e.ty.sql.is_character();
    let is_constant = |e: &Expr| e.as_literal().is_some();
    if is_text(left) && is_text(right) && (is_constant(left) || is_constant(right)) {
        merge_operands(operation, &[left, right])?;
    }
    Ok(())
}

/// Returns the type of values that come from several sources: CASE branches, the blocks of a UNION. Errors about
/// collations that do not mix name `operation`.
pub fn common_type(operation: &str, types: &[&ExprType]) -> Result<ExprType, MysqlError> {
    let nullable = types.iter().any(|ty| ty.nullable);
    let mut sql = SqlType::Null;
    for ty in types {
        sql = common_sql_type(sql, &ty.sql);
    }
    // A column of a set operation has one type for all blocks, without digits if these differ.
    if sql == SqlType::Double && !matches!(operation, "UNION" | "VALUES") {
        sql = real(digits_of_any(types.iter().map(|ty| &ty.sql)));
    }
    let sql = sql.without_zerofill();
    if sql == SqlType::Json {
        return Ok(ExprType::json(nullable));
    }
    if !sql.is_string() {
        return Ok(ExprType::numeric(sql, nullable))
            .map(|ty| if ty.sql == SqlType::Null { ExprType::NULL } else { ty });
    }
    let (mut collation, coercibility) = merge_collations(operation, types.iter().copied())?;
    if coercibility >= Coercibility::Numeric && sql.is_character() {
        collation = TEXT_OF_NUMBER;
    }
    let sql = match sql {
        // A binary collation won over characters.
        character if collation == Collation::Binary && character.is_character() => {
            SqlType::Varbinary { len: (text_length(&character) * 4).min(u32::MAX.into()) as u32 }
        }
        other => other,
    };
    Ok(ExprType::string(sql, nullable, collation, coercibility))
}

/// Returns the smallest type that holds the values of both.
fn common_sql_type(a: SqlType, b: &SqlType) -> SqlType {
    use SqlType::*;
    if a != *b && (a.plain().is_some() || b.plain().is_some()) && a != Null && *b != Null {
        return common_sql_type(a.plain().unwrap_or(a), &b.plain().unwrap_or_else(|| b.clone()));
    }
    match (&a, b) {
        (Null, other) => other.clone(),
        (_, Null) => a,
        (a, b) if a == b => b.clone(),
        (a, b) if a.is_integer() && b.is_integer() => common_integer(a, b),
        (a, b) if a.is_numeric() && b.is_numeric() && (a.is_real() || b.is_real()) => common_real(a, b),
        (a, b) if a.is_numeric() && b.is_numeric() => {
            let of = |t: &SqlType| (t.decimal_precision().unwrap_or(MAX_PRECISION), t.scale());
            let unsigned = a.is_unsigned() && b.is_unsigned();
            let (p, s) = widest(of(a), of(b));
            Decimal { precision: p, scale: s, unsigned, zerofill: false }
        }
        (DateTime { fsp: a }, DateTime { fsp: b }) => DateTime { fsp: *a.max(b) },
        (Time { fsp: a }, Time { fsp: b }) => Time { fsp: *a.max(b) },
        (a, b) if a.is_temporal() && b.is_temporal() => DateTime { fsp: a.scale().max(b.scale()) },
        (a, b) if a.is_bytes() || b.is_bytes() => {
            let bytes = |t: &SqlType| match t {
                Char { len } | Varchar { len } => u64::from(*len) * 4,
                other => text_length(other),
            };
            let len = bytes(a).max(bytes(b)).min(u32::MAX.into()) as u32;
            if a.is_large() || b.is_large() { Blob { max_bytes: len } } else { Varbinary { len } }
        }
        (Char { len: a }, Char { len: b }) => Char { len: *a.max(b) },
        (Text { max_bytes: a }, Text { max_bytes: b }) => Text { max_bytes: *a.max(b) },
        (Text { max_bytes }, other) | (other, Text { max_bytes }) => Text {
            max_bytes: (u64::from(*max_bytes)).max(text_length(other) * 4).min(u32::MAX.into()) as u32,
        },
        (a, b) => text_type(text_length(a).max(text_length(b))),
    }
}

/// Returns the type for two numbers, one of them FLOAT or DOUBLE: FLOAT for two FLOATs and, as in MySQL, for a FLOAT
/// and any integer but INT.
fn common_real(a: &SqlType, b: &SqlType) -> SqlType {
    let single = |t: &SqlType| matches!(t, SqlType::Real { single: true, .. });
    let joins = |t: &SqlType| single(t) || t.is_integer() && t.integer_width() != Some(4);
    if (single(a) || single(b)) && joins(a) && joins(b) {
        return SqlType::FLOAT;
    }
    SqlType::Double
}

/// Returns the integer type for two; DECIMAL(20, 0) if none has the range of both.
fn common_integer(a: &SqlType, b: &SqlType) -> SqlType {
    let (low, high) = [a, b]
        .iter()
        .filter_map(|t| t.integer_range())
        .fold((0, 0), |(low, high), range| (range.0.min(low), range.1.max(high)));
    let unsigned = a.is_unsigned() && b.is_unsigned();
    let candidates = [
        SqlType::TinyInt { unsigned },
        SqlType::SmallInt { unsigned },
        SqlType::MediumInt { unsigned },
        SqlType::Int { unsigned },
        SqlType::BigInt { unsigned },
    ];
    let holds = |t: &SqlType| t.integer_range().is_some_and(|range| range.0 <= low && high <= range.1);
    candidates.into_iter().find(holds).unwrap_or(SqlType::decimal(20, 0))
}

/// Returns precision and scale of a DECIMAL with the digits of both on either side of the point, within 65 digits.
fn widest(a: (u8, u8), b: (u8, u8)) -> (u8, u8) {
    let scale = a.1.max(b.1).min(MAX_SCALE);
    let whole = a.0.saturating_sub(a.1).max(b.0.saturating_sub(b.1));
    ((whole + scale).clamp(1, MAX_PRECISION), scale)
}
