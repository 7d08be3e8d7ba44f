//! INSERT, REPLACE, UPDATE and DELETE.

use crate::TextFormat;

use super::{ColumnName, Expr, Hint, Ident, OrderItem, Query, TableName, TableReference, With};

/// `INSERT` or `REPLACE`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// REPLACE: rows in the way are deleted.
    pub replace: bool,
    /// With IGNORE.
    pub ignore: bool,
    /// With DELAYED, which means nothing any more.
    pub delayed: bool,
    /// The table.
    pub table: TableName,
    /// PARTITION: the only partitions that rows go to; none: all of them.
    pub partitions: Vec<Ident>,
    /// The column list; `None` without one.
    pub columns: Option<Vec<Ident>>,
    /// Where the rows come from.
    pub source: InsertSource,
    /// `AS new (a, b)` behind the values.
    pub alias: Option<RowAlias>,
    /// ON DUPLICATE KEY UPDATE, in order; empty without it.
    pub on_duplicate: Vec<Assignment>,
}

/// LOAD DATA.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// LOCAL: the file is the client's.
    pub local: bool,
    /// The name of the file.
    pub path: String,
    /// What the rows are read from.
    pub source: LoadSource,
    /// REPLACE: rows in the way are deleted.
    pub replace: bool,
    /// IGNORE.
    pub ignore: bool,
    /// The table.
    pub table: TableName,
    /// PARTITION: the only partitions that rows go to; none: all of them.
    pub partitions: Vec<Ident>,
    /// CHARACTER SET.
    pub charset: Option<Ident>,
    /// FIELDS and LINES.
    pub format: TextFormat,
    /// Lines at the beginning that are passed over.
    pub skip: u64,
    /// What the fields of a line are for; `None`: all columns.
    pub fields: Option<Vec<LoadField>>,
    /// SET.
    pub assignments: Vec<Assignment>,
}

/// What a load reads rows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadSource {
    /// Lines of a file: LOAD DATA.
    Lines,
    /// A file of a table, as EXPORT TABLE makes it.
    Table,
    /// A program that gives values.
    Values,
}

/// What a field of a line is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadField {
    /// A column.
    Column(Ident),
    /// A variable, which SET may refer to.
    Variable(String),
}

/// Where INTO puts the rows of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Into {
    /// The only row into variables, one for each column.
    Variables(Vec<String>),
    /// OUTFILE: the rows as lines of a new file.
    Lines {
        /// The name of the file.
        path: String,
        /// CHARACTER SET.
        charset: Option<String>,
        /// FIELDS and LINES.
        format: TextFormat,
    },
    /// DUMPFILE: the only row as it is, as a new file of this name.
    Bytes(String),
}

/// The name of an INSERT's new row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowAlias {
    /// Its name.
    pub name: Ident,
    /// Names of its columns; empty: those of the table.
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
    /// With IGNORE.
    pub ignore: bool,
    /// The tables, some of which are changed.
    pub tables: Vec<TableReference>,
    /// The assignments, in order.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT, a count only.
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
    /// With IGNORE.
    pub ignore: bool,
    /// The tables whose rows are deleted, by the names they have in `tables`. Empty for `DELETE FROM t`: the only one.
    pub targets: Vec<TableName>,
    /// The tables.
    pub tables: Vec<TableReference>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// LIMIT, a count only.
    pub limit: Option<Expr>,
}
