//! Values on the scale of an order, so that RANGE frames can compare keys with limits.

use arrow_array::{Array, ArrayRef};
use leafline_types::{Decimal, SqlType, Value, value_at};
use std::cmp::Ordering;

/// A value on the scale of its order.
pub(super) enum Place {
    Exact(Decimal),
    Double(f64),
    /// Microseconds of a TIME; the stored form of a date or datetime.
    Time(i64),
}

impl Place {
    fn of(value: Value) -> Option<Place> {
        Some(match value {
            Value::Int(number) => Place::Exact(Decimal::from_i64(number)),
            Value::UInt(number) => Place::Exact(Decimal::from_u64(number)),
            Value::Decimal(number) => Place::Exact(number),
            Value::Double(number) => Place::Double(number),
            Value::Date(date) => Place::Time(date.to_datetime().ordinal()),
            Value::DateTime(time) => Place::Time(time.ordinal()),
            Value::Time(time) => Place::Time(time.micros()),
            Value::Null | Value::String(_) | Value::Bytes(_) | Value::Json(_) => return None,
        })
    }

    pub fn compare(&self, other: &Place) -> Option<Ordering> {
        match (self, other) {
            (Place::Exact(a), Place::Exact(b)) => Some(a.cmp(b)),
            (Place::Time(a), Place::Time(b)) => Some(a.cmp(b)),
            (a, b) => a.to_f64().partial_cmp(&b.to_f64()),
        }
    }

    fn to_f64(&self) -> f64 {
        match self {
            Place::Exact(number) => number.to_f64(),
            Place::Double(number) => *number,
            Place::Time(micros) => *micros as f64,
        }
    }
}

/// Returns the values of a column.
pub(super) fn places(column: &ArrayRef, ty: &SqlType) -> Vec<Option<Place>> {
    let place = |row: usize| match ty {
        SqlType::Null => None,
        ty => Place::of(value_at(column.as_ref(), row, ty)),
    };
    (0..column.len()).map(place).collect()
}
