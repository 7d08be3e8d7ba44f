//! INSERT, REPLACE, UPDATE and DELETE.

use crate::TextFormat;

use super::{
    ColumnName, Expr, Hint, Ident, OrderItem, Query, TableName, TableReference, VariableTarget, With,
};

/// `INSERT` or `REPLACE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// REPLACE: a new row deletes the rows that it conflicts with.
    pub replace: bool,
    /// Whether IGNORE was written.
    pub ignore: bool,
    /// Whether DELAYED was written, which has no effect any more.
    pub delayed: bool,
    /// The table.
    pub table: TableName,
    /// PARTITION: the only partitions that may receive rows; empty allows all.
    pub partitions: Vec<Ident>,
    /// The column list; `None` if none was written.
    pub columns: Option<Vec<Ident>>,
    /// The new rows.
    pub source: InsertSource,
    /// `AS new (a, b)` after the values.
    pub alias: Option<RowAlias>,
    /// ON DUPLICATE KEY UPDATE, in order; empty if not written.
    pub on_duplicate: Vec<Assignment>,
}

/// LOAD DATA.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// LOCAL: the client sends the file.
    pub local: bool,
    /// The name of the file.
    pub path: String,
    /// The kind of source that the rows are read from.
    pub source: LoadSource,
    /// REPLACE: a new row deletes the rows that it conflicts with.
    pub replace: bool,
    /// IGNORE.
    pub ignore: bool,
    /// The table.
    pub table: TableName,
    /// PARTITION: the only partitions that may receive rows; empty allows all.
    pub partitions: Vec<Ident>,
    /// CHARACTER SET.
    pub charset: Option<Ident>,
    /// FIELDS and LINES.
    pub format: TextFormat,
    /// IGNORE n LINES: how many lines at the beginning to skip.
    pub skip: u64,
    /// The targets of a line's fields; `None` fills all columns.
    pub fields: Option<Vec<LoadField>>,
    /// SET.
    pub assignments: Vec<Assignment>,
}

/// The kind of source that a load reads rows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadSource {
    /// LOAD DATA: the lines of a text file.
    Lines,
    /// IMPORT TABLE: a table's file, as EXPORT TABLE writes it.
    Table,
    /// A program that supplies values.
    Values,
}

/// The target of one field of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadField {
    /// A column.
    Column(Ident),
    /// A variable, which SET may refer to.
    Variable(String),
}

/// The place that INTO writes a query's rows to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Into {
    /// Variables, one for each column of the only row.
    Variables(Vec<VariableTarget>),
    /// OUTFILE: a new file, one line for each row.
    Lines {
        /// The name of the file.
        path: String,
        /// CHARACTER SET.
        charset: Option<String>,
        /// FIELDS and LINES.
        format: TextFormat,
    },
    /// DUMPFILE: a new file of this name, which holds the only row's bytes unchanged.
    Bytes(String),
}

/// The alias that an INSERT gives its new row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowAlias {
    /// Its name.
    pub name: Ident,
    /// The names of its columns; empty where the table names them.
    pub columns: Vec<Ident>,
}

/// The rows of an INSERT.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// `VALUES (..), (..)` or `VALUES ROW(..), ..`. `INSERT .. SET a = 1` arrives as a column list and one row.
    Values(Vec<Vec<Expr>>),
    /// `SELECT ..`.
    Query(Box<Query>),
}

/// `UPDATE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The WITH clause.
    pub with: Option<With>,
    /// The hints after UPDATE.
    pub hints: Vec<Hint>,
    /// Whether IGNORE was written.
    pub ignore: bool,
    /// The tables read; the assignments say which of them change.
    pub tables: Vec<TableReference>,
    /// The assignments, in order.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT; only a count, no offset.
    pub limit: Option<Expr>,
}

/// `column = value`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The column.
    pub column: ColumnName,
    /// The value.
    pub value: Expr,
}

/// `DELETE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// The WITH clause.
    pub with: Option<With>,
    /// The hints after DELETE.
    pub hints: Vec<Hint>,
    /// Whether IGNORE was written.
    pub ignore: bool,
    /// The tables whose rows are deleted, by their names in `tables`. Empty for `DELETE FROM t`, which deletes from
    /// the only table.
    pub targets: Vec<TableName>,
    /// The tables read.
    pub tables: Vec<TableReference>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT; only a count, no offset.
    pub limit: Option<Expr>,
}
