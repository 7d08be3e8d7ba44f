//! A plan for the first rows, with a fallback for the case that the first plan turns out to be expensive.

use super::{Explained, Node, PlanNode, Role, RowLimit, Step};
use leafline_expr::Expr;

/// The first rows of a plan that was chosen because it was expected to examine few entries. No row is delivered before all are
/// known. If the plan exceeds its budget, the fallback runs instead.
#[derive(Clone, Debug)]
pub struct AdaptivePlan {
    /// The plan that is expected to be cheaper.
    pub primary: Box<Node>,
    /// The plan that runs when the primary plan exceeds its budget.
    pub fallback: Box<Node>,
    /// Entries that the primary plan may examine.
    pub entry_budget: u64,
    /// The rows that are delivered. If they are too many to be held, the primary plan has no budget.
    pub limit: RowLimit,
}

impl PlanNode for AdaptivePlan {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.primary, &self.fallback]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.primary, &mut self.fallback]
    }

    fn expressions<'n>(&'n self, _each: &mut dyn FnMut(Role, &'n Expr)) {}

    fn column_names(&self) -> Vec<String> {
        self.primary.column_names()
    }

    fn explain(&self) -> Explained<'_> {
        let entries = self.entry_budget;
        let label =
            format!("The first of two plans; the second if more than {entries} entries would be examined");
        Explained { label, step: Step::Rows(&self.primary) }
    }

    fn asks_for_all(&self, input: usize, all: bool) -> bool {
        input > 0 && all
    }
}
