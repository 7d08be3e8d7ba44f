//! The values of a key as error 1062 shows them: joined with `-`, and a TIMESTAMP in the time zone of the session
//! that gets the error.

use leafline_types::SqlType;
use leafline_types::Value;
use leafline_types::convert::{local, to_text};
use leafline_types::temporal::Zone;
use std::fmt;

/// The values of an index's own parts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KeyText(pub(crate) Vec<PartText>);

/// The value of one part.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum PartText {
    Shown(String),
    /// A TIMESTAMP with its type.
    Time(Value, SqlType),
}

impl KeyText {
    /// The text, with times shown in `zone`.
    pub fn in_zone(&self, zone: &Zone) -> String {
        let part = |part: &PartText| match part {
            PartText::Shown(text) => text.clone(),
            PartText::Time(Value::DateTime(utc), ty) => {
                to_text(&local(*utc, zone), ty).map_or_else(String::new, |text| text.to_string())
            }
            PartText::Time(value, ty) => to_text(value, ty).map_or("NULL".into(), |text| text.to_string()),
        };
        self.0.iter().map(part).collect::<Vec<_>>().join("-")
    }
}

/// Shows times in UTC.
impl fmt::Display for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_zone(&Zone::UTC))
    }
}
