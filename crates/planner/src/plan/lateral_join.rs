//! Joins with a lateral query.

use super::text::derived_names;
use super::{ColumnOrigin, Explained, Node, PlanNode, Role, Step, conjunction};
use leafline_access::JoinType;
use leafline_expr::Expr;
use std::sync::Arc;

/// Joins each outer row with the rows of a query that runs for it.
#[derive(Clone, Debug)]
pub struct LateralJoin {
    /// The outer rows.
    pub outer: Node,
    /// The query.
    pub inner: Node,
    /// The values that the query depends on, over the outer columns; `ExprKind::Outer` in the query.
    pub captures: Arc<[Expr]>,
    /// Conditions over the columns of both sides.
    pub conditions: Arc<[Expr]>,
    /// The outer rows that are delivered.
    pub join_type: JoinType,
    /// The alias of the query.
    pub alias: Arc<str>,
}

impl PlanNode for LateralJoin {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.outer, &self.inner]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.outer, &mut self.inner]
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        self.captures.iter().for_each(|capture| each(Role::Capture, capture));
        self.conditions.iter().for_each(|condition| each(Role::Filter, condition));
    }

    fn column_names(&self) -> Vec<String> {
        let mut names = self.outer.column_names();
        names.extend(derived_names(&self.alias, self.inner.column_names()));
        names
    }

    fn explain(&self) -> Explained<'_> {
        let kind = match self.join_type {
            JoinType::LeftOuter => "left",
            _ => "inner",
        };
        let conditions = conjunction(&*self.conditions, &self.column_names());
        let on = if conditions.is_empty() { "" } else { ": " };
        let label = format!("Lateral {kind} join with {}{on}{conditions}", self.alias);
        Explained { label, step: Step::LateralJoin(self) }
    }

    fn column_origin(&self, column: usize) -> Option<ColumnOrigin> {
        (column < self.outer.types.len()).then_some(ColumnOrigin::Input(0, column))
    }
}
