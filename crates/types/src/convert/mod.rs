//! Conversion of values to other types: assignment to a column (`store`), CAST (`cast`), and the conversions
//! for arithmetic, comparison and display (`number`, `text`).
//!
//! In strict mode an assignment refuses to change the value. It only notes the rounding of digits after the point or
//! of fractions of a second, and the loss of trailing spaces or of a time of day. CAST never fails: it converts as
//! far as possible, with a warning.

mod cast;
mod context;
mod document;
mod fitted;
mod json;
mod members;
mod number;
mod part;
mod store;
mod text;
mod time;

pub use cast::{cast, to_datetime, to_decimal, to_f64};
pub use cast::{datetime_number, time_number};
pub use context::StoreContext;
pub use json::{parse_json, parse_json_within, to_json, truth_json};
pub use number::{Prefix, decimal_prefix, f64_prefix};
pub use part::{returned, stored_part};
pub use store::{local, store_cast, utc};
pub use text::{bit_bytes, to_text};
pub use time::{compared_year, dated, to_time};

#[cfg(test)]
mod tests;
