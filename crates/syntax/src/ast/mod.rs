//! The syntax tree: the parsed statement, before any name is looked up.
//!
//! A node keeps its place in the text ([`Span`]) wherever an error message, a column heading or a stored definition
//! may have to quote the source. Names keep the case in which they were written. The tree is not checked against a
//! catalog. What the grammar accepts and the engine does not support, the parser refuses with error 1235, or keeps as
//! a node that the binder refuses.

mod account;
mod alter;
mod component;
mod ddl;
mod dml;
mod expression;
mod handler;
mod hint;
mod partition;
mod program;
mod query;
mod resource_group;
mod role;
mod routine;
mod statement;
mod window;

pub use account::*;
pub use alter::*;
pub use component::*;
pub use ddl::*;
pub use dml::*;
pub use expression::*;
pub use handler::*;
pub use hint::*;
pub use partition::*;
pub use program::*;
pub use query::*;
pub use resource_group::*;
pub use role::*;
pub use routine::*;
pub use statement::*;
pub use window::*;

/// A half-open range of byte offsets into the statement text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The smallest span that covers both spans.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The span's text in `sql`, the statement it was parsed from; empty if the span does not fit.
    pub fn text(self, sql: &str) -> &str {
        sql.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// A name, as it was written, without quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ident {
    /// The name, in the case in which it was written.
    pub value: String,
    /// Its place in the text, quotes included.
    pub span: Span,
}

/// `[database.]table`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableName {
    /// The database, if written.
    pub database: Option<Ident>,
    /// The table.
    pub name: Ident,
}

impl TableName {
    /// The name as messages write it: `database.name`, or `name` alone.
    pub fn dotted(&self) -> String {
        match &self.database {
            Some(database) => format!("{}.{}", database.value, self.name.value),
            None => self.name.value.clone(),
        }
    }

    /// The place of the whole name in the text.
    pub fn span(&self) -> Span {
        self.database.as_ref().map_or(self.name.span, |d| d.span.to(self.name.span))
    }
}
