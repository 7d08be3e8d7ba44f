//! Projections.

use super::{ColumnOrigin, Explained, Node, PlanNode, Role, Step, text};
use leafline_expr::Expr;
use std::sync::Arc;

/// Computes expressions for each row.
#[derive(Clone, Debug)]
pub struct Project {
    /// The source of the rows.
    pub input: Box<Node>,
    /// One expression for each delivered column.
    pub expressions: Arc<[Expr]>,
}

impl PlanNode for Project {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input]
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        self.expressions.iter().for_each(|expr| each(Role::Output, expr));
    }

    fn column_names(&self) -> Vec<String> {
        let input = self.input.column_names();
        self.expressions.iter().map(|expr| text(expr, &input)).collect()
    }

    fn explain(&self) -> Explained<'_> {
        Explained { label: "Project".to_owned(), step: Step::Rows(&self.input) }
    }

    fn column_origin(&self, column: usize) -> Option<ColumnOrigin> {
        Some(ColumnOrigin::Input(0, self.expressions.get(column)?.as_column()?))
    }
}
