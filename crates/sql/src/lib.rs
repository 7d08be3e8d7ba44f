//! SQL of Leafline: parser, binder, optimizer, operators, statements and sessions.

pub mod binder;
pub mod bound;
pub mod explain;
pub mod operator;
pub mod optimizer;
pub mod parser;
pub mod plan;
pub mod result;
#[cfg(test)]
mod testing;

pub use result::{ColumnFlags, ColumnMeta, Done};
