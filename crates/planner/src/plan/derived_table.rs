//! Derived tables: subqueries in FROM.

use super::text::derived_names;
use super::{ColumnOrigin, Explained, Node, PlanNode, Role, Step};
use leafline_expr::Expr;
use std::sync::Arc;

/// Names a subquery in FROM; its rows pass through.
#[derive(Clone, Debug)]
pub struct DerivedTable {
    /// The subquery.
    pub input: Box<Node>,
    /// The alias of the derived table.
    pub alias: Arc<str>,
}

impl PlanNode for DerivedTable {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input]
    }

    fn expressions<'n>(&'n self, _each: &mut dyn FnMut(Role, &'n Expr)) {}

    fn column_names(&self) -> Vec<String> {
        derived_names(&self.alias, self.input.column_names())
    }

    fn explain(&self) -> Explained<'_> {
        let label = format!("Derived table {}", self.alias);
        Explained { label, step: Step::DerivedTable(&self.input, &self.alias) }
    }

    fn column_origin(&self, column: usize) -> Option<ColumnOrigin> {
        Some(ColumnOrigin::Input(0, column))
    }

    fn is_transparent(&self) -> bool {
        true
    }
}
