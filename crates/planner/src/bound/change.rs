//! Bound INSERT, REPLACE, UPDATE and DELETE: the rows, what becomes of them, and what they are checked by.

use super::BoundSelect;
use leafline_expr::Expr;
use leafline_syntax::TextFormat;
use leafline_syntax::ast::LoadSource;
use leafline_table::{IndexDef, ReferentialAction, TableDef, TableId};
use leafline_types::{Charset, MysqlError, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// INSERT and REPLACE.
#[derive(Debug, Clone)]
pub struct BoundInsert {
    /// With IGNORE: what is wrong with a row is a warning.
    pub ignore: bool,
    /// What becomes of a row that has a key which is there already.
    pub on_duplicate: OnDuplicate,
    /// Values of VALUES refer to the columns of their row: those before them, and else the defaults.
    pub reads_row: bool,
    /// The table.
    pub table: Arc<TableDef>,
    /// The name by which the statement, or the view that it names, refers to the table.
    pub alias: String,
    /// The view that rows are inserted through, by database and name.
    pub view: Option<(String, String)>,
    /// What that view asks of the rows, over the columns of the table.
    pub view_checks: Vec<ViewCheck>,
    /// How its rows are computed and checked.
    pub rules: RowRules,
    /// What foreign keys ask of its rows.
    pub foreign: ForeignKeys,
    /// For each value of a row, the column it goes to; columns not named get their defaults (error 1364 at
    /// execution where there is none).
    pub columns: Vec<usize>,
    /// The rows.
    pub rows: InsertRows,
}

/// The rows of an INSERT, each as long as `BoundInsert::columns`.
#[derive(Debug, Clone)]
pub enum InsertRows {
    /// VALUES. An empty row (`VALUES ()`) is all defaults.
    Values(Vec<Vec<GivenValue>>),
    /// A query.
    Select(Box<BoundSelect>),
    /// The lines of a file.
    File(Box<BoundLoad>),
}

/// The file of a LOAD DATA, and what becomes of its lines.
#[derive(Debug, Clone)]
pub struct BoundLoad {
    /// Its name, as the statement has it.
    pub path: String,
    /// It is the client's.
    pub local: bool,
    /// What is read.
    pub source: LoadSource,
    /// Its character set.
    pub charset: Charset,
    /// What it looks like.
    pub format: TextFormat,
    /// Lines at its beginning that are passed over.
    pub skip: u64,
    /// What the fields of a line are for.
    pub fields: Vec<LoadTarget>,
    /// SET: columns and their values, over the columns of the table and, behind them, the variables among the fields.
    pub assignments: Vec<(usize, NewValue)>,
}

/// What a field of a line is for.
#[derive(Debug, Clone)]
pub enum LoadTarget {
    /// A column of the table.
    Column(usize),
    /// A variable.
    Variable(String),
}

/// A value of VALUES.
#[derive(Debug, Clone)]
pub enum GivenValue {
    /// A number, a string or NULL as it was written, not yet converted to the column's type.
    Literal(Value),
    /// Any other.
    New(Box<NewValue>),
}

/// A value for a column.
#[derive(Debug, Clone)]
pub enum NewValue {
    /// An expression, not yet converted to the column's type.
    Expr(Expr),
    /// The column's default.
    Default,
}

/// The expressions by which the rows of a table are computed and checked, over its columns by position.
#[derive(Debug, Clone, Default)]
pub struct RowRules {
    /// Defaults that are expressions, by column.
    pub defaults: Vec<(usize, Expr)>,
    /// Generated columns.
    pub generated: Vec<(usize, Expr)>,
    /// CHECK constraints that are enforced, by name.
    pub checks: Vec<(String, Expr)>,
}

/// What INSERT does where a unique key is there already.
#[derive(Debug, Clone)]
pub enum OnDuplicate {
    /// Error 1062.
    Fail,
    /// REPLACE: delete the rows that have it.
    Replace,
    /// ON DUPLICATE KEY UPDATE: change the first row that has it. Expressions refer to the columns of that row, then to
    /// those of the row that was to be inserted, then to the outputs of the query behind the inserted columns.
    Update(Vec<BoundAssignment>),
}

/// A table whose rows are changed or deleted.
#[derive(Debug, Clone)]
pub struct ChangedTable {
    /// The table.
    pub table: Arc<TableDef>,
    /// Position of its first column among the outputs of the rows to change; the others follow.
    pub first: usize,
    /// How its rows are computed and checked.
    pub rules: RowRules,
    /// What the view that it is changed through asks of its rows, over the outputs of the rows to change.
    pub view_checks: Vec<ViewCheck>,
}

/// What WITH CHECK OPTION asks of a row that was changed through a view: not to leave it.
#[derive(Debug, Clone)]
pub struct ViewCheck {
    /// The view that the statement names, as errors have it.
    pub view: String,
    /// What has to be true.
    pub condition: Expr,
}

/// A column and its new value.
#[derive(Debug, Clone)]
pub struct BoundAssignment {
    /// Position in `BoundUpdate::targets`; 0 for INSERT.
    pub target: usize,
    /// Position of the column in its table.
    pub column: usize,
    /// The value. It sees the assignments before it, as in MySQL: `SET a = a + 1, b = a` stores the same in both.
    pub value: NewValue,
}

/// UPDATE.
#[derive(Debug, Clone)]
pub struct BoundUpdate {
    /// With IGNORE: what is wrong with a row is a warning, and the row stays.
    pub ignore: bool,
    /// The rows to change: a block whose outputs are the columns of the tables to change, and what else the assignments
    /// need. The relations that are changed, and no others, are locked.
    pub rows: BoundSelect,
    /// The tables that are changed, in the order of their relations.
    pub targets: Vec<ChangedTable>,
    /// The assignments in the order written. Expressions refer to the outputs of `rows`.
    pub assignments: Vec<BoundAssignment>,
    /// What foreign keys ask of the rows.
    pub foreign: ForeignKeys,
}

/// DELETE.
#[derive(Debug, Clone)]
pub struct BoundDelete {
    /// With IGNORE.
    pub ignore: bool,
    /// The rows to delete: a block whose outputs are the columns of the tables to delete from. The relations that rows are
    /// deleted from, and no others, are locked.
    pub rows: BoundSelect,
    /// The tables that rows are deleted from, in the order of their relations.
    pub targets: Vec<ChangedTable>,
    /// What foreign keys ask of the rows.
    pub foreign: ForeignKeys,
}

/// What the foreign keys of and to some tables ask of who changes rows of these. Empty with `foreign_key_checks` off.
#[derive(Debug, Clone, Default)]
pub struct ForeignKeys {
    /// Of the tables that have or are referred to by foreign keys, those of the statement and those that its changes can cascade to.
    pub tables: BTreeMap<TableId, TableReferences>,
}

/// The foreign keys of and to one table.
#[derive(Debug, Clone)]
pub struct TableReferences {
    /// How its rows are computed and checked.
    pub rules: RowRules,
    /// Its own foreign keys.
    pub parents: Vec<ParentReference>,
    /// Those that refer to it, by name.
    pub children: Vec<ChildReference>,
}

/// What rows of a table refer to.
#[derive(Debug, Clone)]
pub struct ParentReference {
    /// The columns that refer.
    pub columns: Vec<usize>,
    /// The table referred to, an index that begins with the columns referred to, and these; `None` if there is no such table or index.
    pub parent: Option<(Arc<TableDef>, Arc<IndexDef>, Vec<usize>)>,
    /// The key, as errors have it.
    pub described: String,
    /// The statement may not know of the table.
    pub hidden: bool,
}

impl ParentReference {
    /// The error for a row that refers to nothing; it does not name a table that one may not know of.
    pub fn violated(&self) -> MysqlError {
        if self.hidden {
            return MysqlError::hidden_no_referenced_row();
        }
        MysqlError::no_referenced_row(&self.described)
    }
}

/// Rows that refer to a table.
#[derive(Debug, Clone)]
pub struct ChildReference {
    /// The columns referred to.
    pub columns: Vec<usize>,
    /// The table whose rows refer.
    pub child: Arc<TableDef>,
    /// An index of it that begins with the columns that refer.
    pub index: Arc<IndexDef>,
    /// The columns that refer.
    pub child_columns: Vec<usize>,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
    /// The key, as errors have it.
    pub described: String,
    /// The statement may not know of the table.
    pub hidden: bool,
}

impl ChildReference {
    /// The error for a row that is referred to; it does not name a table that one may not know of.
    pub fn violated(&self) -> MysqlError {
        if self.hidden {
            return MysqlError::hidden_row_is_referenced();
        }
        MysqlError::row_is_referenced(&self.described)
    }
}
