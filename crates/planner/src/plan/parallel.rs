//! A part of a plan that several threads share.

use super::{Explained, Node, PlanNode, Role, Step};
use leafline_access::Share;
use leafline_expr::Expr;
use std::sync::Arc;

/// The rows of an input over one table, which several threads read piece by piece; in the order in which one would read it.
#[derive(Clone, Debug)]
pub struct Parallel {
    /// Runs in each of the threads.
    pub input: Arc<Node>,
    /// How many there are at most, and how much each takes at a time.
    pub share: Share,
}

impl PlanNode for Parallel {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![Arc::make_mut(&mut self.input)]
    }

    fn expressions<'n>(&'n self, _each: &mut dyn FnMut(Role, &'n Expr)) {}

    fn column_names(&self) -> Vec<String> {
        self.input.column_names()
    }

    fn explain(&self) -> Explained<'_> {
        let label = format!("Parallel: up to {} threads", self.share.threads);
        Explained { label, step: Step::Threads(&self.input) }
    }

    fn asks_for_all(&self, _input: usize, _all: bool) -> bool {
        true
    }
}
