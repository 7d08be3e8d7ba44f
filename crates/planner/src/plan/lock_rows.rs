//! Row locking.

use super::{Explained, Node, PlanNode, Role, RowLimit, Step};
use crate::bound::RowLocking;
use leafline_expr::Expr;
use leafline_table::{LockStrength, LockWait, TableDef};
use leafline_types::{ExprType, SqlType};
use std::sync::Arc;

/// Locks rows of tables and delivers the locked rows in their versions at that time.
#[derive(Clone, Debug)]
pub struct LockRows {
    /// The source of the rows.
    pub input: Node,
    /// The tables whose rows are locked.
    pub tables: Arc<[LockedTable]>,
    /// The conditions that a row of the only table must meet, over the table's columns, if its newest version may replace the
    /// version that was read. `None`: a row that changed is a conflict, and the statement must run again.
    pub recheck: Option<Arc<[Expr]>>,
    /// The rows to deliver: no row beyond them is locked.
    pub limit: Option<RowLimit>,
}

/// A table whose rows are locked.
#[derive(Clone, Debug)]
pub struct LockedTable {
    /// The table.
    pub table: Arc<TableDef>,
    /// The alias of the table.
    pub alias: Arc<str>,
    /// Position of the rows' locators; NULL where an outer join found no row.
    pub locator: usize,
    /// Positions of the table's columns, with their ordinals in the table.
    pub columns: Vec<(usize, usize)>,
    /// The lock that is taken.
    pub lock: RowLocking,
}

/// Returns the type of locators; NULL for a row that an outer join supplies.
pub fn locator_type() -> ExprType {
    ExprType::numeric(SqlType::Varbinary { len: u32::MAX }, true)
}

impl PlanNode for LockRows {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input]
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        self.recheck
            .iter()
            .flat_map(|recheck| recheck.iter())
            .for_each(|condition| each(Role::Recheck, condition));
    }

    fn column_names(&self) -> Vec<String> {
        self.input.column_names()
    }

    fn explain(&self) -> Explained<'_> {
        let table = |table: &LockedTable| {
            let strength = match table.lock.strength {
                LockStrength::Share => "shared",
                LockStrength::Update => "exclusive",
            };
            let wait = match table.lock.wait {
                LockWait::Wait => "",
                LockWait::NoWait => ", no waiting",
                LockWait::SkipLocked => ", skipping locked rows",
            };
            format!("{} ({strength}{wait})", table.alias)
        };
        let tables: Vec<String> = self.tables.iter().map(table).collect();
        let limit = self.limit.as_ref().map(|limit| format!("; limit {limit}"));
        let label = format!("Lock rows: {}{}", tables.join(", "), limit.unwrap_or_default());
        Explained { label, step: Step::Rows(&self.input) }
    }

    fn asks_for_all(&self, _input: usize, all: bool) -> bool {
        all && self.limit.is_none()
    }
}
