//! Turns `column op constant` into ranges of the column's key bytes.
//!
//! The constant is rounded into the column's domain in the direction that keeps the comparison: `int < 1.5` is `int
//! <= 1`, `int = 1.5` is empty, and a constant outside the type's range selects all or nothing. Only the range of
//! `<=> NULL` contains NULL.
//!
//! | column   | constant        | compared as | range                                                          |
//! |----------|-----------------|-------------|----------------------------------------------------------------|
//! | integer  | exact number    | number      | exact                                                          |
//! | integer  | DOUBLE          | DOUBLE      | exact: from 2^53 on several integers are one double            |
//! | DECIMAL  | exact number    | DECIMAL     | exact                                                          |
//! | DECIMAL  | DOUBLE          | DOUBLE      | exact up to 15 digits, which doubles distinguish               |
//! | DOUBLE, FLOAT | number     | DOUBLE      | exact                                                          |
//! | string   | string          | string      | exact under the column's collation, none under another; LIKE: contains all matches, but under weights others, too |
//! | DATE, DATETIME | DATE, DATETIME | temporal | exact                                                          |
//! | TIMESTAMP | TIMESTAMP      | DATETIME    | exact                                                          |
//! | ENUM, SET | number         | number      | exact                                                          |
//! | ENUM, SET | string, equality | string    | exact if exactly one value certainly equals it: for a SET, if all is ASCII |
//! | TIME     | TIME            | TIME        | exact                                                          |
//! | these    | string          | as above    | that of the value it reads as, if all of it is read: many drivers send every parameter as text |
//! | other    |                 |             | none: the comparison must be evaluated                         |

use std::cmp::Ordering;
use std::ops::Bound;

use super::ir::{CompareDomain, CompareOp};
use super::like::LikePattern;
use super::narrow::{GridComparison, beyond, to_grid, to_range, to_scale};
use super::prefix_range::{beginning_with, prefix_ranges};
use leafline_types::codec::fixed::{TIMESTAMP_END, timestamp_at, timestamp_micros};
use leafline_types::collation::Collation;
use leafline_types::convert::f64_prefix;
use leafline_types::decimal::{Decimal, MAX_SCALE};
use leafline_types::key::{KeyPart, encode_part, encode_prefix};
use leafline_types::temporal::{DateRules, DateTime, Time, fraction_unit};
use leafline_types::value::{SqlType, Value};

pub use super::byte_range::ByteRange;
use super::part_range::ranges;
pub use super::part_range::{non_null_range, null_range};

/// The values of a key part that satisfy a comparison with a constant. The set is exact, except for a part that holds
/// only the beginning of its strings (`expr::prefix_range`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnRange {
    /// No value.
    Empty,
    /// Every value except NULL.
    AllNonNull,
    /// The values in these ranges: sorted, disjoint, not empty.
    Ranges(Vec<ByteRange>),
    /// MySQL compares in another domain: the comparison does not constrain the key and must be evaluated.
    NotConvertible,
}

/// Returns the values of `part` for which `part op constant` is TRUE, if both are compared in `domain`.
pub fn column_range(part: &KeyPart, op: CompareOp, constant: &Value, domain: CompareDomain) -> ColumnRange {
    if constant.is_null() {
        return match op {
            CompareOp::NullSafeEq if part.nullable => ColumnRange::Ranges(vec![null_range(part)]),
            _ => ColumnRange::Empty,
        };
    }
    match narrowed(part, op, constant, domain) {
        None => as_doubles(part, op, constant, domain).unwrap_or(ColumnRange::NotConvertible),
        Some(GridComparison::Never) => ColumnRange::Empty,
        Some(GridComparison::Always) => ColumnRange::AllNonNull,
        Some(GridComparison::Compare(op, v)) if part.prefix.is_some() => {
            prefix_ranges(part, op, &v).map_or(ColumnRange::NotConvertible, ColumnRange::Ranges)
        }
        Some(GridComparison::Compare(op, v)) => {
            let mut bytes = Vec::new();
            match encode_part(part, &v, &mut bytes) {
                Ok(()) => ColumnRange::Ranges(ranges(part, op, bytes)),
                Err(_) => ColumnRange::NotConvertible,
            }
        }
    }
}

/// Returns the integers for which `op constant` holds as doubles. From 2^53 on several integers are one double and
/// compare as equal.
fn as_doubles(part: &KeyPart, op: CompareOp, constant: &Value, domain: CompareDomain) -> Option<ColumnRange> {
    let (CompareDomain::Double, true, Value::Double(d)) = (domain, part.prefix.is_none(), constant) else {
        return None;
    };
    let (low, high) = part.ty.integer_range()?;
    // Finds the least integer for which `holds` is true; one above the largest if there is none.
    let first = |holds: &dyn Fn(f64) -> bool| {
        let (mut from, mut to) = (low, high + 1);
        while from < to {
            let middle = from + (to - from) / 2;
            if holds(middle as f64) {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
        from
    };
    let (equal, above) = (first(&|v| v >= *d), first(&|v| v > *d));
    let compared = |op, c: i128| match to_range(GridComparison::Compare(op, c), low, high) {
        GridComparison::Never => Some(None),
        GridComparison::Always => Some(Some(non_null_range(part))),
        GridComparison::Compare(op, c) => {
            let c = if part.ty.is_unsigned() { Value::UInt(c as u64) } else { Value::Int(c as i64) };
            let mut bytes = Vec::new();
            encode_part(part, &c, &mut bytes).ok()?;
            Some(ranges(part, op, bytes).pop())
        }
    };
    let found = match op {
        CompareOp::Lt => vec![compared(CompareOp::Lt, equal)?],
        CompareOp::Ge => vec![compared(CompareOp::Ge, equal)?],
        CompareOp::Le => vec![compared(CompareOp::Lt, above)?],
        CompareOp::Gt => vec![compared(CompareOp::Ge, above)?],
        CompareOp::Ne => {
            let mut sides = vec![compared(CompareOp::Lt, equal)?, compared(CompareOp::Ge, above)?];
            if part.descending {
                sides.reverse();
            }
            sides
        }
        CompareOp::Eq | CompareOp::NullSafeEq => {
            let sides = (compared(CompareOp::Ge, equal)?, compared(CompareOp::Lt, above)?);
            let (Some(from), Some(to)) = sides else { return Some(ColumnRange::Empty) };
            let both = match part.descending {
                false => ByteRange { lower: from.lower, upper: to.upper },
                true => ByteRange { lower: to.lower, upper: from.upper },
            };
            vec![(equal < above).then_some(both)]
        }
    };
    let found: Vec<ByteRange> = found.into_iter().flatten().collect();
    Some(if found.is_empty() { ColumnRange::Empty } else { ColumnRange::Ranges(found) })
}

/// Appends the bytes of the one value of `part` that equals a constant to `out`. Returns false if no value equals it;
/// `None` if a single key cannot express the result: then use [`column_range`].
pub fn equal_key(part: &KeyPart, constant: &Value, domain: CompareDomain, out: &mut Vec<u8>) -> Option<bool> {
    // The keys of most types need no conversion to decimals.
    if let (true, CompareDomain::Integer, Some(number)) =
        (part.ty.is_integer(), domain, constant.as_integer())
    {
        let (low, high) = part.ty.integer_range()?;
        if !(low..=high).contains(&number) {
            return Some(false);
        }
        let value =
            if part.ty.is_unsigned() { Value::UInt(number as u64) } else { Value::Int(number as i64) };
        return encode_part(part, &value, out).ok().map(|()| true);
    }
    match column_range(part, CompareOp::Eq, constant, domain) {
        ColumnRange::Empty => Some(false),
        ColumnRange::Ranges(ranges) => match ranges.as_slice() {
            [ByteRange { lower: Bound::Included(lower), upper: Bound::Included(upper) }]
                if lower == upper =>
            {
                out.extend_from_slice(lower);
                Some(true)
            }
            _ => None,
        },
        ColumnRange::AllNonNull | ColumnRange::NotConvertible => None,
    }
}

/// Returns the comparison with a constant of the column's own type.
fn narrowed(
    part: &KeyPart,
    op: CompareOp,
    constant: &Value,
    domain: CompareDomain,
) -> Option<GridComparison<Value>> {
    let read;
    let constant = match (domain, constant) {
        (CompareDomain::Double, Value::String(text)) => {
            let number = f64_prefix(text.as_bytes());
            read = Value::Double(number.is_clean().then_some(number.value)?);
            &read
        }
        (CompareDomain::Date | CompareDomain::DateTime, Value::String(text)) => {
            let time = DateTime::parse(text, DateRules::ANY)
                .ok()
                .filter(|parsed| !parsed.truncated && parsed.offset.is_none())?;
            read = Value::DateTime(time.value);
            &read
        }
        _ => constant,
    };
    match (&part.ty, domain) {
        (ty, CompareDomain::Integer | CompareDomain::Decimal | CompareDomain::Double)
            if ty.is_integer() || ty.has_members() =>
        {
            let (low, high) = ty.integer_range()?;
            let c = match (domain, constant) {
                (CompareDomain::Double, Value::Double(d)) => {
                    let exact = d.abs() < (1i64 << 53) as f64 || ty.integer_width()? < 8;
                    match on_its_side(*d).filter(|_| exact) {
                        Some(c) => c,
                        None if exact => return Some(beyond(op, *d > 0.0)),
                        None => return None,
                    }
                }
                (CompareDomain::Double, _) => return None,
                (_, constant) => exact_number(constant)?,
            };
            let value = |v: i128| if ty.is_unsigned() { Value::UInt(v as u64) } else { Value::Int(v as i64) };
            Some(to_range(to_scale(op, &c, 0), low, high).map(value))
        }
        (SqlType::Decimal { .. }, CompareDomain::Decimal) => {
            decimal_column(&part.ty, op, exact_number(constant)?)
        }
        (SqlType::Decimal { precision: 0..=15, .. }, CompareDomain::Double) => match constant {
            Value::Double(d) => match on_its_side(*d) {
                Some(c) => decimal_column(&part.ty, op, c),
                None => Some(beyond(op, *d > 0.0)),
            },
            _ => None,
        },
        (ty, CompareDomain::Double) if ty.is_real() => {
            let c = match constant {
                Value::Double(d) => *d,
                Value::Int(v) => *v as f64,
                Value::UInt(v) => *v as f64,
                Value::Decimal(d) => d.to_f64(),
                _ => return None,
            };
            if matches!(ty, SqlType::Real { single: true, .. }) {
                return Some(single_column(op, c));
            }
            Some(GridComparison::Compare(op, Value::Double(c)))
        }
        (ty, CompareDomain::String(collation)) if ty.is_string() => {
            let own = if ty.is_character() { part.collation } else { Collation::Binary };
            match constant {
                _ if own != collation => None,
                Value::String(_) if ty.is_character() => Some(GridComparison::Compare(op, constant.clone())),
                Value::String(s) => Some(GridComparison::Compare(op, Value::bytes(s.as_bytes()))),
                Value::Bytes(_) if !ty.is_character() => Some(GridComparison::Compare(op, constant.clone())),
                _ => None,
            }
        }
        (ty, CompareDomain::String(collation)) if ty.has_members() => {
            text_of_members(ty, op, constant, collation)
        }
        _ => temporal_column(&part.ty, op, constant, domain),
    }
}

/// Returns the number of the ENUM's or SET's value whose text equals a constant.
fn text_of_members(
    ty: &SqlType,
    op: CompareOp,
    constant: &Value,
    collation: Collation,
) -> Option<GridComparison<Value>> {
    let Value::String(text) = constant else { return None };
    let number = match ty {
        _ if !matches!(op, CompareOp::Eq | CompareOp::NullSafeEq) => return None,
        SqlType::Enum(members) if members.collation() == collation => {
            // The empty text may be a member as well as the text of 0.
            if members.number("").is_some() && collation.equal(text.as_bytes(), b"") {
                return None;
            }
            members.compared_number(text)
        }
        SqlType::Set(members) if members.collation() == collation => members.compared_bits(text)?,
        _ => return None,
    };
    Some(match number {
        u64::MAX => GridComparison::Never,
        number => GridComparison::Compare(op, Value::UInt(number)),
    })
}

/// Handles `column op constant` for a column of days or times.
fn temporal_column(
    ty: &SqlType,
    op: CompareOp,
    constant: &Value,
    domain: CompareDomain,
) -> Option<GridComparison<Value>> {
    match (ty, domain) {
        (SqlType::Date, CompareDomain::Date | CompareDomain::DateTime) => {
            let c = temporal(constant)?;
            Some(to_grid(op, Value::Date(c.date()), c.micros_of_day() == 0))
        }
        (SqlType::DateTime { fsp }, CompareDomain::DateTime) => {
            let c = temporal(constant)?;
            let cut = c.truncate(*fsp);
            Some(to_grid(op, Value::DateTime(cut), cut == c))
        }
        // Both are in UTC: see `build::plain`.
        (SqlType::Timestamp { fsp }, CompareDomain::DateTime) => {
            let Value::DateTime(c) = constant else { return None };
            if *c != DateTime::ZERO && c.epoch_micros().is_none() {
                return Some(beside_no_day(op, *c, *fsp));
            }
            if *c != DateTime::ZERO && timestamp_micros(*c).is_none() {
                // No value lies between the zero date and 1970.
                if c.epoch_micros().is_none_or(|micros| micros < TIMESTAMP_END) {
                    return Some(to_grid(op, Value::DateTime(DateTime::ZERO), false));
                }
                return Some(beyond(op, true));
            }
            let cut = c.truncate(*fsp);
            Some(to_grid(op, Value::DateTime(cut), cut == *c))
        }
        (SqlType::Time { fsp }, CompareDomain::Time) => {
            let Value::Time(c) = constant else { return None };
            let toward_zero = c.truncate(*fsp);
            let below = match toward_zero > *c {
                // Cutting a negative time moves it up; below the least value of the grid there is none.
                true => Time::from_micros(toward_zero.micros() - fraction_unit(*fsp))?,
                false => toward_zero,
            };
            Some(to_grid(op, Value::Time(below), below == *c))
        }
        _ => None,
    }
}

/// Handles `column op c` for a TIMESTAMP column if the day of `c` does not exist (its month or day is zero, or the
/// day is behind the end of its month): `c` lies between two neighbouring moments and equals neither.
fn beside_no_day(op: CompareOp, c: DateTime, fsp: u8) -> GridComparison<Value> {
    let (mut low, mut high) = (0, TIMESTAMP_END);
    // Finds the least moment above it: moments order as their parts do.
    while low < high {
        let middle = low + (high - low) / 2;
        match DateTime::from_epoch_micros(middle) {
            Some(moment) if moment > c => high = middle,
            _ => low = middle + 1,
        }
    }
    if low >= TIMESTAMP_END {
        return beyond(op, true);
    }
    match timestamp_at(low.saturating_sub(1).max(0)) {
        Some(below) => to_grid(op, Value::DateTime(below.truncate(fsp)), false),
        None => beyond(op, false),
    }
}

/// Handles `column op c` for a FLOAT column: rounds the constant to a binary32.
fn single_column(op: CompareOp, c: f64) -> GridComparison<Value> {
    if c.abs() > f32::MAX.into() {
        return beyond(op, c > 0.0);
    }
    let nearest = c as f32;
    let below = if f64::from(nearest) > c { nearest.next_down() } else { nearest };
    to_grid(op, Value::Double(below.into()), f64::from(below) == c)
}

/// Returns a decimal that is on the same side of every number of a column's grid as the double. Cutting to a
/// decimal's 30 places alone would make a double equal to a number that it is only close to: 1e-31 to 0.
fn on_its_side(d: f64) -> Option<Decimal> {
    let cut = Decimal::from_f64(d)?;
    let least = Decimal::from_i128(1, MAX_SCALE);
    match cut.to_f64().partial_cmp(&d)? {
        Ordering::Less => cut.checked_add(&least),
        Ordering::Equal => Some(cut),
        Ordering::Greater => cut.checked_sub(&least),
    }
}

fn exact_number(v: &Value) -> Option<Decimal> {
    Some(match v {
        Value::Int(v) => Decimal::from_i64(*v),
        Value::UInt(v) => Decimal::from_u64(*v),
        Value::Decimal(d) => d.clone(),
        _ => return None,
    })
}

fn temporal(v: &Value) -> Option<DateTime> {
    match v {
        Value::Date(d) => Some(d.to_datetime()),
        Value::DateTime(t) => Some(*t),
        _ => None,
    }
}

/// Handles `column op c` for a DECIMAL column of any precision.
fn decimal_column(ty: &SqlType, op: CompareOp, c: Decimal) -> Option<GridComparison<Value>> {
    let SqlType::Decimal { precision, scale, unsigned, .. } = ty else { return None };
    let max = Decimal::max_value(*precision, *scale);
    let min = if *unsigned { Decimal::from_i64(0) } else { max.negate() };
    if c > max || c < min {
        return Some(beyond(op, c > max));
    }
    let toward_zero = c.truncate((*scale).into())?;
    let exact = toward_zero == c;
    let below = if exact || !c.is_negative() {
        toward_zero
    } else {
        toward_zero.checked_sub(&Decimal::from_i128(1, *scale))?
    };
    // -9.995 is below the least value, -9.99, when cut downwards, although its cut towards zero is in range.
    if below < min {
        return Some(beyond(op, false));
    }
    Some(to_grid(op, Value::Decimal(below), exact))
}

/// Returns a range of `part` with all strings that match a LIKE pattern, and whether it has no others if the part
/// holds whole strings. None if the part is not a string of that collation, or if the pattern begins with a wildcard.
pub fn like_range(part: &KeyPart, pattern: &LikePattern, collation: Collation) -> Option<(ByteRange, bool)> {
    let own = if part.ty.is_character() { part.collation } else { Collation::Binary };
    let (prefix, whole) = pattern.literal_prefix();
    let closed = own.before_contractions(prefix);
    let (prefix, whole) = (closed, whole && closed.len() == prefix.len());
    if !part.ty.is_string() || own != collation || prefix.is_empty() && !whole {
        return None;
    }
    if whole {
        let v = if part.ty.is_character() {
            Value::from(std::str::from_utf8(prefix).ok()?)
        } else {
            Value::bytes(prefix)
        };
        let mut bytes = Vec::new();
        if encode_prefix(part, prefix, &mut bytes).ok()? {
            return Some((beginning_with(bytes), false));
        }
        bytes.clear();
        encode_part(part, &v, &mut bytes).ok()?;
        // LIKE counts trailing spaces.
        return Some((ByteRange::point(bytes), own.equal_is_same()));
    }
    let mut bytes = Vec::new();
    encode_prefix(part, prefix, &mut bytes).ok()?;
    let exact = pattern.is_prefix() && !own.is_weighted() && !(own.pads_space() && prefix.ends_with(b" "));
    Some((beginning_with(bytes), exact))
}
