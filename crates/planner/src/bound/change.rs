//! Bound INSERT, REPLACE, UPDATE and DELETE: their rows, the changes that they make, and the rules that check the rows.

use super::BoundSelect;
use leafline_expr::Expr;
use leafline_syntax::TextFormat;
use leafline_syntax::ast::LoadSource;
use leafline_table::{IndexDef, ReferentialAction, TableDef, TableId};
use leafline_types::{Charset, MysqlError, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A bound INSERT or REPLACE.
#[derive(Debug, Clone)]
pub struct BoundInsert {
    /// The statement has IGNORE: an invalid row gives a warning.
    pub ignore: bool,
    /// The action for a row whose unique key exists already.
    pub on_duplicate: OnDuplicate,
    /// Values of VALUES refer to columns of their row: a column to the left has its value, any other its default.
    pub reads_row: bool,
    /// The table.
    pub table: Arc<TableDef>,
    /// The name by which the statement, or the view that it names, refers to the table.
    pub alias: String,
    /// The view that rows are inserted through, by database and name.
    pub view: Option<(String, String)>,
    /// Conditions of that view on the rows, over the columns of the table.
    pub view_checks: Vec<ViewCheck>,
    /// Expressions that compute and check the rows.
    pub rules: RowRules,
    /// The foreign keys that the rows have to satisfy.
    pub foreign: ForeignKeys,
    /// The column for each value of a row. Columns not named get their defaults (error 1364 at execution where there is none).
    pub columns: Vec<usize>,
    /// The source of the rows.
    pub rows: InsertRows,
}

/// The source of the rows of an INSERT. Each row has one value for each of `BoundInsert::columns`.
#[derive(Debug, Clone)]
pub enum InsertRows {
    /// VALUES. An empty row (`VALUES ()`) takes every column's default.
    Values(Vec<Vec<GivenValue>>),
    /// A query.
    Select(Box<BoundSelect>),
    /// The lines of a file.
    File(Box<BoundLoad>),
}

/// The file of a LOAD DATA, and how its lines become rows.
#[derive(Debug, Clone)]
pub struct BoundLoad {
    /// The name of the file, as the statement has it.
    pub path: String,
    /// The client sends the file (LOAD DATA LOCAL).
    pub local: bool,
    /// The kind of file.
    pub source: LoadSource,
    /// The character set of the file.
    pub charset: Charset,
    /// The separators and escapes of the file.
    pub format: TextFormat,
    /// Number of lines to skip at the beginning.
    pub skip: u64,
    /// The target of each field of a line.
    pub fields: Vec<LoadTarget>,
    /// SET: columns and their values, over the columns of the table and, behind them, the variables among the fields.
    pub assignments: Vec<(usize, NewValue)>,
}

/// The target of a field of a line.
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
    /// Any other value.
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

/// The expressions that compute and check the rows of a table, over its columns by position.
#[derive(Debug, Clone, Default)]
pub struct RowRules {
    /// Defaults that are expressions, by column.
    pub defaults: Vec<(usize, Expr)>,
    /// Generated columns.
    pub generated: Vec<(usize, Expr)>,
    /// CHECK constraints that are enforced, by name.
    pub checks: Vec<(String, Expr)>,
}

/// The action of INSERT for a row whose unique key exists already.
#[derive(Debug, Clone)]
pub enum OnDuplicate {
    /// Raise error 1062.
    Fail,
    /// REPLACE: delete the rows that have it.
    Replace,
    /// ON DUPLICATE KEY UPDATE: change the first row that has it. Expressions refer to the columns of that row, then to the
    /// columns of the row that was to be inserted, then to the outputs of the query behind the inserted columns.
    Update(Vec<BoundAssignment>),
}

/// A table whose rows are changed or deleted.
#[derive(Debug, Clone)]
pub struct ChangedTable {
    /// The table.
    pub table: Arc<TableDef>,
    /// Position of the table's first column among the outputs of the rows to change; the others follow.
    pub first: usize,
    /// Expressions that compute and check the rows.
    pub rules: RowRules,
    /// Conditions of the view that the statement changes the table through, over the outputs of the rows to change.
    pub view_checks: Vec<ViewCheck>,
}

/// The condition of WITH CHECK OPTION: a row that is changed through a view must stay visible in it.
#[derive(Debug, Clone)]
pub struct ViewCheck {
    /// The view that the statement names, as errors have it.
    pub view: String,
    /// The condition that must hold.
    pub condition: Expr,
}

/// A column and its new value.
#[derive(Debug, Clone)]
pub struct BoundAssignment {
    /// Position in `BoundUpdate::targets`; 0 for INSERT.
    pub target: usize,
    /// Position of the column in its table.
    pub column: usize,
    /// The new value. An expression sees the assignments before it, as in MySQL: `SET a = a + 1, b = a` stores the same in both.
    pub value: NewValue,
}

/// A bound UPDATE.
#[derive(Debug, Clone)]
pub struct BoundUpdate {
    /// The statement has IGNORE: an invalid row gives a warning and stays unchanged.
    pub ignore: bool,
    /// The rows to change: a block whose outputs are the columns of the changed tables, then further columns that the assignments
    /// need. The block locks rows of the changed relations and of no others.
    pub rows: BoundSelect,
    /// The tables that are changed, in the order of their relations.
    pub targets: Vec<ChangedTable>,
    /// The assignments in the order written. Expressions refer to the outputs of `rows`.
    pub assignments: Vec<BoundAssignment>,
    /// The foreign keys that the rows have to satisfy.
    pub foreign: ForeignKeys,
}

/// A bound DELETE.
#[derive(Debug, Clone)]
pub struct BoundDelete {
    /// The statement has IGNORE: a row that cannot be deleted gives a warning and stays.
    pub ignore: bool,
    /// The rows to delete: a block whose outputs are the columns of the tables to delete from. The block locks rows of these
    /// relations and of no others.
    pub rows: BoundSelect,
    /// The tables that rows are deleted from, in the order of their relations.
    pub targets: Vec<ChangedTable>,
    /// The foreign keys that the rows have to satisfy.
    pub foreign: ForeignKeys,
}

/// The foreign keys of and to the tables that a statement changes. Empty with `foreign_key_checks` off.
#[derive(Debug, Clone, Default)]
pub struct ForeignKeys {
    /// Foreign keys by table: the tables of the statement and the tables that its changes can cascade to. A table without foreign
    /// keys in either direction is absent.
    pub tables: BTreeMap<TableId, TableReferences>,
}

/// The foreign keys of and to one table.
#[derive(Debug, Clone)]
pub struct TableReferences {
    /// Expressions that compute and check the rows of the table.
    pub rules: RowRules,
    /// The foreign keys that the table has.
    pub parents: Vec<ParentReference>,
    /// The foreign keys of other tables, or of itself, that refer to the table, by name.
    pub children: Vec<ChildReference>,
}

/// A foreign key as its own table sees it: the rows that this table's rows refer to.
#[derive(Debug, Clone)]
pub struct ParentReference {
    /// The referring columns.
    pub columns: Vec<usize>,
    /// The parent table, an index of it that begins with the referenced columns, and these columns; `None` if there is no such
    /// table or index.
    pub parent: Option<(Arc<TableDef>, Arc<IndexDef>, Vec<usize>)>,
    /// The key, as error messages write it.
    pub described: String,
    /// The statement may not know of the parent table.
    pub hidden: bool,
}

impl ParentReference {
    /// Returns the error for a row without parent row. The error does not name a table that the statement may not know of.
    pub fn violated(&self) -> MysqlError {
        if self.hidden {
            return MysqlError::hidden_no_referenced_row();
        }
        MysqlError::no_referenced_row(&self.described)
    }
}

/// A foreign key as its parent table sees it: the rows that refer to this table.
#[derive(Debug, Clone)]
pub struct ChildReference {
    /// The referenced columns.
    pub columns: Vec<usize>,
    /// The table with the referring rows.
    pub child: Arc<TableDef>,
    /// An index of `child` that begins with the referring columns.
    pub index: Arc<IndexDef>,
    /// The referring columns.
    pub child_columns: Vec<usize>,
    /// The action of ON DELETE.
    pub on_delete: ReferentialAction,
    /// The action of ON UPDATE.
    pub on_update: ReferentialAction,
    /// The key, as error messages write it.
    pub described: String,
    /// The statement may not know of the child table.
    pub hidden: bool,
}

impl ChildReference {
    /// Returns the error for a row that other rows refer to. The error does not name a table that the statement may not know of.
    pub fn violated(&self) -> MysqlError {
        if self.hidden {
            return MysqlError::hidden_row_is_referenced();
        }
        MysqlError::row_is_referenced(&self.described)
    }
}
