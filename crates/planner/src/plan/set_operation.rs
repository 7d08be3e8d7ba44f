//! Set operations.

use super::{Explained, Node, PlanNode, Role, SetKind, Step};
use leafline_expr::Expr;

/// Delivers the rows of all inputs, one input after another.
#[derive(Clone, Debug)]
pub struct Append {
    /// Two or more inputs of the same types.
    pub inputs: Vec<Node>,
}

impl Append {
    /// Returns the place in EXPLAIN; `distinct`: the rows are made distinct.
    pub(super) fn set_operation(&self, distinct: bool) -> Step<'_> {
        Step::SetOperation { kind: SetKind::Union, inputs: self.inputs.iter().collect(), compares: distinct }
    }
}

impl PlanNode for Append {
    fn inputs(&self) -> Vec<&Node> {
        self.inputs.iter().collect()
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        self.inputs.iter_mut().collect()
    }

    fn expressions<'n>(&'n self, _each: &mut dyn FnMut(Role, &'n Expr)) {}

    fn column_names(&self) -> Vec<String> {
        self.inputs.first().map(Node::column_names).unwrap_or_default()
    }

    fn explain(&self) -> Explained<'_> {
        Explained { label: "Append".to_owned(), step: self.set_operation(false) }
    }
}

/// Computes INTERSECT and EXCEPT.
#[derive(Clone, Debug)]
pub struct SetOp {
    /// The left rows, some of which are delivered.
    pub left: Box<Node>,
    /// The rows to compare with, of the same types.
    pub right: Box<Node>,
    /// The left rows that are delivered.
    pub kept: SetOperationKind,
    /// ALL: a right row counts for one left row.
    pub all: bool,
}

/// The rows that INTERSECT and EXCEPT keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperationKind {
    /// INTERSECT.
    InBoth,
    /// EXCEPT.
    OnlyLeft,
}

impl PlanNode for SetOp {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.left, &self.right]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.left, &mut self.right]
    }

    fn expressions<'n>(&'n self, _each: &mut dyn FnMut(Role, &'n Expr)) {}

    fn column_names(&self) -> Vec<String> {
        self.left.column_names()
    }

    fn explain(&self) -> Explained<'_> {
        let (kind, word) = match self.kept {
            SetOperationKind::InBoth => (SetKind::Intersect, "Intersect"),
            SetOperationKind::OnlyLeft => (SetKind::Except, "Except"),
        };
        let all = if self.all { " all" } else { "" };
        let inputs = vec![&*self.left, &*self.right];
        Explained {
            label: format!("{word}{all} by hash"),
            step: Step::SetOperation { kind, inputs, compares: true },
        }
    }

    fn asks_for_all(&self, input: usize, all: bool) -> bool {
        input > 0 || all
    }
}
