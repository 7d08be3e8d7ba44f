//! A part of a plan that several threads share.

use super::{Explained, Node, PlanNode, Role, Step};
use leafline_access::Share;
use leafline_expr::Expr;
use std::sync::Arc;

/// Reads an input over one table in several threads, piece by piece, and delivers the rows in the order of a single thread.
#[derive(Clone, Debug)]
pub struct Parallel {
    /// The plan that runs in each thread.
    pub input: Arc<Node>,
    /// Maximum number of threads, and the size of the pieces.
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
