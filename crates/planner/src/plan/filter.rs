//! Filters.

use super::{ColumnOrigin, Explained, Node, Operator, PlanNode, Role, Step, conjunction};
use leafline_expr::Expr;
use std::sync::Arc;

/// Delivers the rows for which every condition is true.
#[derive(Clone, Debug)]
pub struct Filter {
    /// The source of the rows.
    pub input: Box<Node>,
    /// Conditions that must all be true.
    pub conditions: Arc<[Expr]>,
}

impl PlanNode for Filter {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input]
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        self.conditions.iter().for_each(|condition| each(Role::Filter, condition));
    }

    fn column_names(&self) -> Vec<String> {
        self.input.column_names()
    }

    fn explain(&self) -> Explained<'_> {
        let label = format!("Filter: {}", conjunction(&*self.conditions, &self.input.column_names()));
        let is_having = matches!(self.input.operator, Operator::Aggregate(_));
        Explained { label, step: Step::Condition { input: &self.input, is_having } }
    }

    fn column_origin(&self, column: usize) -> Option<ColumnOrigin> {
        Some(ColumnOrigin::Input(0, column))
    }
}
