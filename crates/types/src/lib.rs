//! SQL types, values, collations, and the formats of keys and rows.
//!
//! Everything here is pure: no I/O, no pages, no SQL text. The crate `expr` computes with these types.
//!
//! | module | holds |
//! |---|---|
//! | `value` | types and values |
//! | `decimal`, `temporal`, `json` | MySQL's rules for decimals, dates and times, and documents |
//! | `collation` | character sets, and how strings compare |
//! | `codec` | the bytes of fixed-width values |
//! | `key` | the bytes that an index orders by |
//! | `row` | the bytes that a row is stored as |
//! | `column` | the Arrow form in which values travel |
//! | `convert` | conversion between types |
//! | `output` | strings of bounded length |
//! | `memory` | limits of the memory of statements and of the process |
//! | `statement` | warnings and cancellation |
//! | `words` | words of statements that lower layers act on |
//! | `error` | every error number of the product |

mod base64;
pub mod codec;
pub mod collation;
pub mod column;
pub mod convert;
pub mod decimal;
mod double;
pub mod error;
pub mod json;
pub mod key;
pub mod memory;
pub mod output;
pub mod progress;
pub mod result_column;
pub mod row;
mod short;
pub mod statement;
pub mod temporal;
#[cfg(test)]
mod testing;
pub mod value;
pub mod words;

pub use base64::{ALPHABET as BASE64_ALPHABET, base64_text};
pub use collation::{Charset, Collation};
pub use column::{Batch, ColumnBuilder, TextBuilder, TextColumns, append_text, text_at, value_at};
pub use convert::{StoreContext, store_cast};
pub use decimal::Decimal;
pub use error::{CodecError, ConditionDetails, MysqlError};
pub use json::Json;
pub use key::{
    KeyPart, decode_part, decode_value, encode_part, encode_stored_text, is_restorable, prefix_successor,
    skip_part,
};
pub use progress::{Progress, ProgressReport, Stage};
pub use row::{
    ColumnLayout, DecodedRows, EntryFormat, Missing, NumberSet, OverflowRef, RowBlock, RowDecoder, RowLayout,
    StringPlace,
};
pub use short::extend_short;
pub use statement::{CancelToken, Warning, WarningLevel, Warnings, WarningsMark};
pub use temporal::{Date, DateTime, Interval, IntervalUnit, Time};
pub use value::{Coercibility, ExprType, Members, Origin, SqlType, Value, ValueRef};
