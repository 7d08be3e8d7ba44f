//! The values in rows of the grant tables.

use leafline_syntax::{Privilege, Privileges};
use leafline_types::{DateTime, Value};

pub(super) type Row = Vec<Value>;

pub(super) fn string(value: &str) -> Value {
    Value::string(value)
}

/// The ENUM value N or Y.
pub(super) fn choice(yes: bool) -> Value {
    Value::UInt(1 + u64::from(yes))
}

pub(super) fn is_yes(value: Option<&Value>) -> bool {
    value == Some(&Value::UInt(2))
}

pub(super) fn choices<'p>(
    columns: &'p [(&'static str, Privilege)],
    granted: Privileges,
) -> impl Iterator<Item = Value> + use<'p> {
    columns.iter().map(move |(_, privilege)| choice(granted.has(*privilege)))
}

pub(super) fn granted(columns: &[(&str, Privilege)], values: &[Value]) -> Privileges {
    let chosen = columns.iter().zip(values).filter(|(_, value)| is_yes(Some(value)));
    chosen.map(|((_, privilege), _)| *privilege).collect()
}

pub(super) fn moment(value: Option<&Value>) -> Option<DateTime> {
    match value {
        Some(Value::DateTime(moment)) => Some(*moment),
        _ => None,
    }
}

/// A time, to the second.
pub(super) fn seconds(moment: Option<DateTime>) -> Value {
    moment.map_or(Value::Null, Value::DateTime)
}
