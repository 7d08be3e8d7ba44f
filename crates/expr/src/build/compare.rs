//! Comparisons: the domain in which two operands are compared, and the operators that become comparisons.
//!
//! | operands                                   | compared as                                                      |
//! |--------------------------------------------|------------------------------------------------------------------|
//! | integer, integer                           | integers of either sign                                          |
//! | integer or DECIMAL, DECIMAL                | DECIMAL                                                          |
//! | BIGINT column, DOUBLE literal that is a whole number of its range | the literal is read as that integer       |
//! | number, DOUBLE                             | DOUBLE                                                           |
//! | number column, string literal of a number  | the literal is read as that number                               |
//! | number, other string                       | DOUBLE                                                           |
//! | string, string                             | string, under the collation of both                              |
//! | JSON, anything                             | JSON; a string is a string of JSON                               |
//! | DATE, DATE                                 | DATE                                                             |
//! | DATE or DATETIME, DATETIME                 | DATETIME                                                         |
//! | TIME, TIME                                 | TIME                                                             |
//! | TIMESTAMP, TIMESTAMP or constant           | DATETIME, both in UTC (see `plain`)                              |
//! | ENUM, number; ENUM = text constant; SET = text literal | the number                                           |
//! | DATE or DATETIME, TIME                     | DATETIME; the TIME is of today                                   |
//! | DATE or DATETIME, string literal           | the literal is read as DATE or DATETIME: error 1525 if it is invalid |
//! | DATE or DATETIME, other string             | DATETIME; invalid text is 0000-00-00                             |
//! | TIME, string literal                       | the literal is read as TIME; if it is invalid, both as texts     |
//! | TIME, other string                         | TIME; invalid text is NULL                                       |
//! | temporal, integer literal of that form     | the literal is read as a date or time                            |
//! | temporal, other number                     | the number YYYYMMDD, YYYYMMDDhhmmss or hhmmss                    |
//! | YEAR column, literal of up to two digits   | the year that it means                                           |

use std::sync::Arc;

use super::adapted::{adapted, is_decimal, is_time, number_of_text};
use super::arithmetic::without_rounding;
use super::charset::under;
use super::node::call_of;
use super::plain::plain;
use super::stored::meet;
use super::types::{common_type, compared_by, decimal_digits, merge_collations, shown_digits};
use super::variable::{again, read_as, read_in};
use super::{and, condition, literal, or};
use crate::ir::{CompareDomain, CompareOp, Expr, ExprKind, InSet, RowList};
use crate::like::LikePattern;
use leafline_types::collation::Collation;
use leafline_types::decimal::MAX_PRECISION;
use leafline_types::error::MysqlError;
use leafline_types::temporal::{DateRules, DateTime, Time};
use leafline_types::value::{Coercibility, ExprType, SqlType, Value};

/// Makes `left op right`.
pub fn compare(op: CompareOp, left: Expr, right: Expr) -> Result<Expr, MysqlError> {
    let (left, right) = as_shown(left, right)?;
    let (left, right) = (beside_decimal(left, &right), right);
    let (right, left) = (beside_decimal(right, &left), left);
    compare_among(op, left, right, None)
}

/// Rounds the sides of a comparison of numbers so that they are compared as shown.
///
/// # Errors
/// The errors of calling ROUND; none is known.
fn as_shown(left: Expr, right: Expr) -> Result<(Expr, Expr), MysqlError> {
    let declares = |e: &Expr| matches!(e.ty.sql, SqlType::Real { digits: Some(_), .. });
    if !declares(&left) && !declares(&right) {
        return Ok((left, right));
    }
    let is_null = |e: &Expr| e.ty.sql == SqlType::Null;
    let (Some(digits), false) =
        (shown_digits(&left).zip(shown_digits(&right)), is_null(&left) || is_null(&right))
    else {
        return Ok((left, right));
    };
    let single = |e: &Expr| matches!(e.ty.sql, SqlType::Real { single: true, .. });
    Ok(match (single(&left), single(&right)) {
        (true, true) => (left, right),
        (true, false) => (left, as_single(right)),
        (false, true) => (as_single(left), right),
        (false, false) => {
            let digits = digits.0.max(digits.1);
            (rounded(left, digits)?, rounded(right, digits)?)
        }
    })
}

fn as_single(e: Expr) -> Expr {
    let ty = ExprType::numeric(SqlType::FLOAT, e.ty.nullable);
    Expr { kind: ExprKind::Cast { operand: Box::new(e) }, ty }
}

/// Rounds a computed DOUBLE to `digits` digits. Columns are rounded already.
fn rounded(e: Expr, digits: u8) -> Result<Expr, MysqlError> {
    if !e.ty.sql.is_real() || e.as_column().is_some() || e.as_literal().is_some() {
        return Ok(e);
    }
    call_of("ROUND", vec![e, literal(Value::Int(digits.into()))])
}

/// Converts a text literal beside a DECIMAL that is not constant to a number, so that no digits are lost.
fn beside_decimal(operand: Expr, other: &Expr) -> Expr {
    let is_decimal = is_decimal(&other.ty.sql) && !other.is_constant();
    match operand.as_literal().filter(|_| is_decimal) {
        Some(text @ Value::String(_)) => number_of_text(text).map_or(operand, literal),
        _ => operand,
    }
}

/// Makes `left op right`; texts compare under `shared`, if given: the collation of all the operands that these two
/// are among.
fn compare_among(
    op: CompareOp,
    left: Expr,
    right: Expr,
    shared: Option<Collation>,
) -> Result<Expr, MysqlError> {
    let equality = matches!(op, CompareOp::Eq | CompareOp::Ne | CompareOp::NullSafeEq);
    let (left, right) = meet(left, right, equality)?;
    let (left, right, domain) = domain_among(op, left, right, true, shared)?;
    let (left, right) = (read_in(left, domain), read_in(right, domain));
    let nullable = op != CompareOp::NullSafeEq && (left.ty.nullable || right.ty.nullable);
    Ok(condition(ExprKind::Compare { op, left: Box::new(left), right: Box::new(right), domain }, nullable))
}

/// Returns the operands, with literals converted where the other operand's type asks for it, and the domain in which
/// they are compared. Leaves `left` unchanged unless `adapt_left`.
pub(super) fn domain_of(
    operation: impl std::fmt::Display,
    left: Expr,
    right: Expr,
    adapt_left: bool,
) -> Result<(Expr, Expr, CompareDomain), MysqlError> {
    let left = if adapt_left { time_beside(left, &right) } else { left };
    let right = time_beside(right, &left);
    let right = match adapted(&right, &left.ty.sql, left.as_column().is_some())? {
        Some(new) => new,
        None => right,
    };
    let left = match adapted(&left, &right.ty.sql, right.as_column().is_some())? {
        Some(new) if adapt_left => new,
        _ => left,
    };
    let domain = domain_of_operands(operation, &left, &right)?;
    let left = if adapt_left { without_rounding(left) } else { left };
    let (left, right) = of_domain(left, without_rounding(right), adapt_left, domain);
    Ok((left, right, domain))
}

/// Like [`domain_of`], for two of several operands, which compare texts under one collation, `shared`.
pub(super) fn domain_among(
    operation: impl std::fmt::Display,
    left: Expr,
    right: Expr,
    adapt_left: bool,
    shared: Option<Collation>,
) -> Result<(Expr, Expr, CompareDomain), MysqlError> {
    match shared {
        Some(collation) if left.ty.sql.is_string() && right.ty.sql.is_string() => {
            let domain = CompareDomain::String(collation);
            let (left, right) = of_domain(left, right, adapt_left, domain);
            Ok((left, right, domain))
        }
        _ => domain_of(operation, left, right, adapt_left),
    }
}

/// Converts the operands of a string comparison if text meets bytes. Leaves `left` unchanged unless `adapt_left`.
fn of_domain(left: Expr, right: Expr, adapt_left: bool, domain: CompareDomain) -> (Expr, Expr) {
    match domain {
        CompareDomain::String(collation) => {
            (if adapt_left { under(left, collation) } else { left }, under(right, collation))
        }
        _ => (left, right),
    }
}

/// Returns the collation under which the first of several operands is compared with the others. MySQL finds one for
/// all of them and ignores numbers. None if the first is not text.
///
/// # Errors
/// 1267, 1270 or 1271 if they have no common collation.
pub(super) fn shared_collation(operation: &str, operands: &[&Expr]) -> Result<Option<Collation>, MysqlError> {
    let Some(first) = operands.first() else { return Ok(None) };
    let is_kept = |e: &&Expr| e.ty.sql.has_members() || e.ty.sql == SqlType::Json;
    let meets_text = first.ty.sql.is_string() && operands.iter().skip(1).any(|e| e.ty.sql.is_string());
    if operands.len() < 3 || !meets_text || operands.iter().any(is_kept) {
        return Ok(None);
    }
    compared_by(operation, operands).map(Some)
}

fn domain_of_operands(
    operation: impl std::fmt::Display,
    left: &Expr,
    right: &Expr,
) -> Result<CompareDomain, MysqlError> {
    let (a, b) = match (&left.ty.sql, &right.ty.sql) {
        (SqlType::Null, SqlType::Null) => return Ok(CompareDomain::Integer),
        (SqlType::Null, b) => (b, b),
        (a, SqlType::Null) => (a, a),
        both => both,
    };
    Ok(match (a, b) {
        (SqlType::Json, _) | (_, SqlType::Json) => CompareDomain::Json,
        (a, b) if a.is_string() && b.is_string() => {
            CompareDomain::String(compared_by(&operation.to_string(), &[left, right])?)
        }
        (SqlType::Timestamp { .. }, SqlType::Timestamp { .. }) => CompareDomain::DateTime,
        (SqlType::Date, SqlType::Date) => CompareDomain::Date,
        (a, b) if a.has_date() && (b.is_temporal() || b.is_string()) => CompareDomain::DateTime,
        (a, b) if b.has_date() && (a.is_temporal() || a.is_string()) => CompareDomain::DateTime,
        (SqlType::Time { .. }, b) if is_time(b) || b.is_string() => CompareDomain::Time,
        (a, SqlType::Time { .. }) if a.is_string() => CompareDomain::Time,
        (a, b) if a.is_real() || b.is_real() => CompareDomain::Double,
        (a, b) if a.is_string() || b.is_string() => CompareDomain::Double,
        (a, b) if is_fractional(a) || is_fractional(b) => CompareDomain::Decimal,
        _ => CompareDomain::Integer,
    })
}

fn is_fractional(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Decimal { .. } | SqlType::DateTime { fsp: 1.. } | SqlType::Time { fsp: 1.. })
}

/// Converts a TIME to text if the other operand is a text literal that is not a time.
fn time_beside(operand: Expr, other: &Expr) -> Expr {
    let is_other = |value: &Value| matches!(value, Value::String(text) if Time::parse(text).is_err());
    if !is_time(&operand.ty.sql) || !other.as_literal().is_some_and(is_other) {
        return operand;
    }
    let text = SqlType::Varchar { len: TIME_LENGTH };
    let ty = ExprType::string(text, operand.ty.nullable, super::TEXT_OF_NUMBER, Coercibility::Numeric);
    Expr { kind: ExprKind::Cast { operand: Box::new(operand) }, ty }
}

/// The most characters of a TIME.
const TIME_LENGTH: u32 = 17;

/// Whether a value, as a literal, can be compared with type `other`: a text that is not a date cannot be compared
/// with dates.
pub fn is_comparable(value: &Value, other: &SqlType) -> bool {
    let plain = match other {
        SqlType::Timestamp { fsp } => &SqlType::DateTime { fsp: *fsp },
        other => other,
    };
    if !matches!(value, Value::String(_)) {
        return true;
    }
    match adapted(&literal(value.clone()), plain, false) {
        // A value with a zero month or day is compared in the session's time zone: see `stored::meet`.
        Ok(Some(read)) if plain != other => !matches!(
            read.as_literal(),
            Some(Value::DateTime(time)) if *time != DateTime::ZERO && time.epoch_micros().is_none()
        ),
        Ok(_) => true,
        Err(_) => false,
    }
}

/// Types a comparison anew after its operands have changed, for example to literals. Texts keep the collation, which
/// may be that of more operands than these (BETWEEN, IN).
pub fn retype(e: Expr) -> Result<Expr, MysqlError> {
    let collation_of = |domain| match domain {
        CompareDomain::String(collation) => Some(collation),
        _ => None,
    };
    match e.kind {
        ExprKind::Compare { op, left, right, domain } => {
            compare_among(op, *left, *right, collation_of(domain))
        }
        // Literals that belong to the domain still do, unless the needle is a literal.
        ExprKind::InList { needle, list, negated, domain, set: Some(set) }
            if needle.as_literal().is_none() =>
        {
            Ok(Expr { kind: ExprKind::InList { needle, list, negated, domain, set: Some(set) }, ty: e.ty })
        }
        ExprKind::InList { needle, list, negated, domain, .. } => {
            in_list_among(*needle, list.to_vec(), negated, collation_of(domain))
        }
        ExprKind::Like { value, pattern, escape, negated, .. } => like(*value, *pattern, escape, negated),
        kind => Ok(Expr { kind, ty: e.ty }),
    }
}

/// Makes `operand [NOT] BETWEEN low AND high`: two comparisons, so the operand must have the same value in both. As
/// in MySQL, one domain serves for all three.
pub fn between(operand: Expr, low: Expr, high: Expr, negated: bool) -> Result<Expr, MysqlError> {
    let bounds = [&low, &high];
    let no_date = |value: &Value| matches!(value, Value::String(text) if DateTime::parse(text, DateRules::ANY).is_err());
    let as_dates = operand.ty.sql.is_string()
        && bounds.iter().any(|bound| bound.ty.sql.has_date())
        && ![&operand, &low, &high].iter().any(|e| e.as_literal().is_some_and(no_date));
    let operand = if as_dates { as_datetime(operand)? } else { operand };
    let same = match operand.is_volatile() {
        true => again(&operand).ok_or_else(|| {
            MysqlError::not_supported("BETWEEN of a value that changes with every evaluation")
        })?,
        false => operand.clone(),
    };
    let (low, high) = match meet_as_doubles(&operand, &low, &high) {
        true => (as_double(low), as_double(high)),
        false => (low, high),
    };
    let shared = shared_collation("between", &[&operand, &low, &high])?;
    if negated {
        let below = compare_among(CompareOp::Lt, operand, low, shared)?;
        let above = compare_among(CompareOp::Gt, same, high, shared)?;
        return Ok(or(vec![below, above]));
    }
    let from = compare_among(CompareOp::Ge, operand, low, shared)?;
    let to = compare_among(CompareOp::Le, same, high, shared)?;
    Ok(and(vec![from, to]))
}

/// Converts a text to DATETIME: BETWEEN compares it so with both bounds if one of them is a date.
fn as_datetime(operand: Expr) -> Result<Expr, MysqlError> {
    let datetime = SqlType::DateTime { fsp: 6 };
    if let Some(literal) = adapted(&operand, &datetime, false)? {
        return Ok(literal);
    }
    let ty = ExprType::numeric(datetime, true);
    Ok(Expr { kind: ExprKind::Cast { operand: Box::new(operand) }, ty })
}

/// Whether BETWEEN compares numbers and texts as DOUBLE: if a DOUBLE is among them, or both numbers and texts are.
/// Not for a BIGINT column between constants that are integers, nor for a number column, which reads text constants
/// as numbers.
fn meet_as_doubles(operand: &Expr, low: &Expr, high: &Expr) -> bool {
    let column = operand.as_column().map(|_| &operand.ty.sql);
    let constant = |e: &Expr| e.columns().is_empty() && !e.is_volatile();
    let (least, most) = column.and_then(SqlType::integer_range).unwrap_or_default();
    let is_integer = |bound: &Expr| match bound.as_literal() {
        Some(Value::Int(v)) => (least..=most).contains(&i128::from(*v)),
        Some(Value::UInt(v)) => (least..=most).contains(&i128::from(*v)),
        Some(Value::Decimal(d)) => {
            let whole = d.truncate(0).filter(|whole| whole == d).and_then(|whole| whole.unscaled_i128());
            whole.is_some_and(|whole| (least..=most).contains(&whole))
        }
        Some(_) => adapted(bound, &operand.ty.sql, true).is_ok_and(|adapted| adapted.is_some()),
        None => true,
    };
    if column.is_some_and(|sql| matches!(sql, SqlType::BigInt { .. }))
        && [low, high].into_iter().all(|bound| constant(bound) && is_integer(bound))
    {
        return false;
    }
    let (mut reals, mut numbers, mut texts) = (false, false, false);
    for e in [operand, low, high] {
        match &e.ty.sql {
            SqlType::Null => {}
            sql if sql.is_numeric() => (numbers, reals) = (true, reals || sql.is_real()),
            sql if sql.is_string() => texts |= !(column.is_some_and(SqlType::is_numeric) && constant(e)),
            _ => return false,
        }
    }
    reals || numbers && texts
}

/// Converts a number or text to DOUBLE. The result is not a literal, which a column's type could convert again.
fn as_double(bound: Expr) -> Expr {
    if bound.ty.sql == SqlType::Null || bound.ty.sql.is_real() && bound.as_literal().is_none() {
        return bound;
    }
    let ty = ExprType::numeric(SqlType::Double, bound.ty.nullable);
    Expr { kind: ExprKind::Cast { operand: Box::new(bound) }, ty }
}

/// Makes `needle [NOT] IN (list)`. Members that are compared with the needle in another domain than the first form a
/// list of their own.
pub fn in_list(needle: Expr, list: Vec<Expr>, negated: bool) -> Result<Expr, MysqlError> {
    let shared = match needle.ty.sql.is_string() {
        true => shared_collation(" IN ", &std::iter::once(&needle).chain(&list).collect::<Vec<_>>())?,
        false => None,
    };
    in_list_among(needle, list, negated, shared)
}

/// Makes `needle [NOT] IN (list)`; texts compare under `shared` if it is given.
fn in_list_among(
    needle: Expr,
    list: Vec<Expr>,
    negated: bool,
    shared: Option<Collation>,
) -> Result<Expr, MysqlError> {
    let mut lists: Vec<(Expr, CompareDomain, Vec<Expr>)> = Vec::new();
    let most = list.len();
    for member in list {
        let (needle, member) = meet(needle.clone(), member, true)?;
        let (adapted, member, domain) = domain_among(" IN ", needle, member, true, shared)?;
        match lists.iter_mut().find(|(n, d, _)| *d == domain && *n == adapted) {
            Some((_, _, members)) => members.push(member),
            None => {
                // Most lists have one domain.
                let mut members = Vec::with_capacity(if lists.is_empty() { most } else { 1 });
                members.push(member);
                lists.push((adapted, domain, members));
            }
        }
    }
    if needle.is_volatile() {
        for (needle, ..) in lists.iter_mut().skip(1) {
            *needle = again(needle).ok_or_else(|| {
                MysqlError::not_supported("IN of a value that changes with every evaluation")
            })?;
        }
    }
    let conditions = lists.into_iter().map(|(needle, domain, list)| {
        let nullable = needle.ty.nullable || list.iter().any(|e| e.ty.nullable);
        let values: Option<Vec<&Value>> = list.iter().map(Expr::as_literal).collect();
        let set = values.and_then(|values| InSet::new(&values, domain)).map(Arc::new);
        let list = list.into();
        condition(ExprKind::InList { needle: Box::new(needle), list, negated, domain, set }, nullable)
    });
    let conditions = conditions.collect();
    Ok(if negated { and(conditions) } else { or(conditions) })
}

/// Makes `(needle, ..) [NOT] IN ((..), ..)`. Each of `columns` is the `needle IN (list)` of one part of the row and
/// of the list's values for that part. None if a list is not all literal, or its values are compared in several
/// domains.
pub fn in_rows(columns: Vec<Expr>, negated: bool) -> Option<Expr> {
    let nullable = columns.iter().any(|column| column.ty.nullable);
    let (needle, list) = RowList::new(columns)?;
    Some(condition(ExprKind::InRows { needle, list: Arc::new(list), negated }, nullable))
}

/// Makes `value [NOT] LIKE pattern [ESCAPE escape]`. Without `ESCAPE` pass `Some('\\')`; `ESCAPE ''` is None.
pub fn like(value: Expr, pattern: Expr, escape: Option<char>, negated: bool) -> Result<Expr, MysqlError> {
    let text = SqlType::Text { max_bytes: u32::MAX };
    let (value, pattern) = (read_as(plain(value), &text), read_as(plain(pattern), &text));
    let mut collation = compared_by("like", &[&value, &pattern])?;
    let (_, coercibility) = merge_collations("like", [&value.ty, &pattern.ty])?;
    if coercibility >= Coercibility::Numeric {
        collation = super::TEXT_OF_NUMBER;
    }
    let (value, pattern) = (under(value, collation), under(pattern, collation));
    let compiled = match pattern.as_literal() {
        Some(v @ (Value::String(_) | Value::Bytes(_))) => {
            LikePattern::room_for(v.as_bytes().unwrap_or_default())?;
            v.as_bytes().map(|p| Arc::new(LikePattern::new(p, escape, collation)))
        }
        _ => None,
    };
    let nullable = value.ty.nullable || pattern.ty.nullable;
    let (value, pattern) = (Box::new(value), Box::new(pattern));
    Ok(condition(ExprKind::Like { value, pattern, escape, negated, collation, compiled }, nullable))
}

/// Converts the two sides of an equality to expressions of one type, for a hash join: their keys are equal exactly
/// where the sides are equal in `domain`. None if no type holds the values of both.
pub fn join_keys(left: Expr, right: Expr, domain: CompareDomain) -> Option<(Expr, Expr)> {
    let as_type = |e: Expr, ty: &SqlType, collation: Collation| {
        let ty = ExprType::string(ty.clone(), true, collation, e.ty.coercibility);
        Expr { kind: ExprKind::Cast { operand: Box::new(e) }, ty }
    };
    let sql = match domain {
        CompareDomain::Integer => {
            let number = |ty: &ExprType| match ty.sql.has_members() {
                true => ExprType::numeric(SqlType::BIGINT_UNSIGNED, true),
                false => ty.clone(),
            };
            common_type("=", &[&number(&left.ty), &number(&right.ty)])
                .ok()
                .map(|ty| ty.sql)
                .filter(SqlType::is_numeric)
                .map(|ty| match ty {
                    SqlType::Decimal { .. } => ty,
                    integer => SqlType::BigInt { unsigned: integer.is_unsigned() },
                })?
        }
        CompareDomain::Decimal => {
            let (p1, s1) = decimal_digits(&left)?;
            let (p2, s2) = decimal_digits(&right)?;
            let scale = s1.max(s2);
            let precision = p1.saturating_sub(s1).max(p2.saturating_sub(s2)) + scale;
            if precision > MAX_PRECISION {
                return None;
            }
            SqlType::decimal(precision.max(1), scale)
        }
        CompareDomain::Double => SqlType::Double,
        CompareDomain::String(Collation::Binary) => SqlType::Varbinary { len: u32::MAX },
        CompareDomain::String(_) => SqlType::Text { max_bytes: u32::MAX },
        CompareDomain::Date => SqlType::Date,
        CompareDomain::DateTime => SqlType::DateTime { fsp: 6 },
        CompareDomain::Time => SqlType::Time { fsp: 6 },
        // No cast converts a SQL string to the document that comparison makes of it.
        CompareDomain::Json if left.ty.sql != right.ty.sql => return None,
        CompareDomain::Json => SqlType::Json,
    };
    let collation = match domain {
        CompareDomain::String(collation) => collation,
        _ => Collation::Binary,
    };
    Some((as_type(left, &sql, collation), as_type(right, &sql, collation)))
}
