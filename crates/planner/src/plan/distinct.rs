//! Removal of duplicate rows.

use super::{ColumnOrigin, Explained, Node, Operation, Operator, PlanNode, Role, Step};
use leafline_expr::Expr;

/// Delivers each distinct row once.
#[derive(Clone, Debug)]
pub struct Distinct {
    /// The source of the rows.
    pub input: Box<Node>,
}

impl PlanNode for Distinct {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input]
    }

    fn expressions<'n>(&'n self, _each: &mut dyn FnMut(Role, &'n Expr)) {}

    fn column_names(&self) -> Vec<String> {
        self.input.column_names()
    }

    fn explain(&self) -> Explained<'_> {
        let step = match &self.input.operator {
            Operator::Append(append) => append.set_operation(true),
            _ => Step::Operation(Operation {
                input: &self.input,
                phrase: "Using temporary",
                key: "duplicates_removal",
                flags: &[("using_temporary_table", true)],
                window_functions: Vec::new(),
            }),
        };
        Explained { label: "Distinct by hash".to_owned(), step }
    }

    /// Strings are excluded: one of several equal strings stands for all, and a join may distinguish them.
    fn column_origin(&self, column: usize) -> Option<ColumnOrigin> {
        let is_text = self.input.types.get(column)?.sql.is_string();
        (!is_text).then_some(ColumnOrigin::Input(0, column))
    }
}
