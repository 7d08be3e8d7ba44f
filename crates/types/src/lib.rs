//! SQL types, values, collations, key and row formats, expressions and their evaluator.
//!
//! Everything here is pure: no I/O, no pages, no SQL text. `value` says what a value is, `decimal`,
//! `temporal` and `json` hold what MySQL defines for them, `collation` how strings compare, `key` the bytes an
//! index orders by, `row` the bytes a row is stored as, `column` the Arrow form in which values travel,
//! `convert` how a value becomes one of another type, `memory` what a statement and the process may hold, `error` every error number the product uses. On these stand
//! `expr`, the expressions and their one evaluator, `functions`, the one function table, and `aggregate`, sums over
//! groups and the keys to group, join and sort by.

pub mod aggregate;
pub mod codec;
pub mod collation;
pub mod column;
pub mod convert;
pub mod decimal;
pub mod error;
pub mod expr;
pub mod functions;
pub mod json;
pub mod key;
pub mod memory;
mod output;
pub mod progress;
pub mod row;
pub mod statement;
pub mod temporal;
#[cfg(test)]
mod testing;
mod user_variables;
pub mod value;
mod xml;

pub use codec::{CodecError, extend_short};
pub use collation::{Charset, Collation};
pub use column::{Batch, ColumnBuilder, TextBuilder, text_at, value_at};
pub use convert::{StoreContext, store_cast};
pub use decimal::Decimal;
pub use error::MysqlError;
pub use json::Json;
pub use key::{
    KeyPart, decode_part, decode_value, encode_part, encode_stored_text, is_restorable, prefix_successor,
    skip_part,
};
pub use progress::{Progress, ProgressReport, Stage};
pub use row::{
    ColumnLayout, DecodedRows, EntryFormat, Missing, NumberSet, OverflowRef, RowBlock, RowDecoder, RowLayout,
    RowScreen, StringPlace,
};
pub use statement::{CancelToken, Warning, WarningLevel, Warnings};
pub use temporal::{Date, DateTime, Interval, IntervalUnit, Time};
pub use user_variables::UserVariables;
pub use value::{Coercibility, ExprType, Members, Origin, SqlType, Value, ValueRef};
