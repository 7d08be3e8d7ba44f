//! Rows that no table supplies: constants, table functions, none.

use super::{Explained, Node, PlanNode, Role, Step};
use crate::bound;
use leafline_expr::Expr;
use std::sync::Arc;

/// Delivers rows of constant expressions; `SELECT 1` is one row.
#[derive(Clone, Debug)]
pub struct Values {
    /// The rows, each with an expression for each column.
    pub rows: Arc<[Vec<Expr>]>,
}

impl PlanNode for Values {
    fn inputs(&self) -> Vec<&Node> {
        Vec::new()
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        Vec::new()
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        self.rows.iter().flatten().for_each(|expr| each(Role::Value, expr));
    }

    fn column_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn explain(&self) -> Explained<'_> {
        let label = format!("Rows fetched before execution: {}", self.rows.len());
        Explained { label, step: Step::NoTable("No tables used") }
    }
}

/// Delivers the rows of a JSON_TABLE.
#[derive(Clone, Debug)]
pub struct JsonTable {
    /// The document, and the rules that make rows of it.
    pub table: Arc<bound::JsonTable>,
}

impl PlanNode for JsonTable {
    fn inputs(&self) -> Vec<&Node> {
        Vec::new()
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        Vec::new()
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        each(Role::Value, &self.table.document);
    }

    fn column_names(&self) -> Vec<String> {
        (0..).map_while(|at| self.table.level.column_name(at)).map(str::to_owned).collect()
    }

    fn explain(&self) -> Explained<'_> {
        let label = "Materialize table function".to_owned();
        Explained { label, step: Step::TableFunction("Table function: json_table") }
    }
}

/// Delivers no rows.
#[derive(Clone, Copy, Debug)]
pub struct Empty {
    /// The reason, for EXPLAIN's `Extra`.
    pub reason: EmptyReason,
}

/// The reason why a query has no rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyReason {
    /// The condition is never true.
    ImpossibleWhere,
    /// The condition on the groups is never true.
    ImpossibleHaving,
    /// `LIMIT 0`.
    ZeroLimit,
}

impl EmptyReason {
    /// Returns EXPLAIN's words for the reason.
    pub fn phrase(self) -> &'static str {
        match self {
            EmptyReason::ImpossibleWhere => "Impossible WHERE",
            EmptyReason::ImpossibleHaving => "Impossible HAVING",
            EmptyReason::ZeroLimit => "Zero limit",
        }
    }
}

impl PlanNode for Empty {
    fn inputs(&self) -> Vec<&Node> {
        Vec::new()
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        Vec::new()
    }

    fn expressions<'n>(&'n self, _each: &mut dyn FnMut(Role, &'n Expr)) {}

    fn column_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn explain(&self) -> Explained<'_> {
        let label = format!("Zero rows ({:?})", self.reason);
        Explained { label, step: Step::NoTable(self.reason.phrase()) }
    }
}
