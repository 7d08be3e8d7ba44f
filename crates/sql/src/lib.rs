//! SQL of Leafline: parser, binder, optimizer, operators, statements and sessions.

pub mod binder;
pub mod bound;
pub mod parser;
pub mod result;

pub use result::{ColumnFlags, ColumnMeta, Done};
