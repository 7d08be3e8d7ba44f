//! Grouping.

use super::{ColumnOrigin, Explained, Node, Operation, PlanNode, Role, Step, text};
use leafline_expr::Expr;
use leafline_expr::aggregate::AggregateCall;
use std::sync::Arc;

/// Groups rows: one row for each group, or a single row if there are no keys.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// The source of the rows.
    pub input: Box<Node>,
    /// The group keys, delivered first.
    pub keys: Arc<[Expr]>,
    /// Number of keys, from the first, that make a group; they determine the other keys.
    pub grouping: usize,
    /// The aggregates, delivered after the keys.
    pub aggregates: Arc<[AggregateCall]>,
}

impl PlanNode for Aggregate {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input]
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        self.keys.iter().for_each(|key| each(Role::GroupKey, key));
        self.aggregates.iter().flat_map(|call| &call.args).for_each(|arg| each(Role::Output, arg));
    }

    fn column_names(&self) -> Vec<String> {
        let input = self.input.column_names();
        self.keys.iter().map(|key| text(key, &input)).collect()
    }

    fn explain(&self) -> Explained<'_> {
        if self.keys.is_empty() {
            return Explained { label: "Aggregate".to_owned(), step: Step::Rows(&self.input) };
        }
        let input = self.input.column_names();
        let keys: Vec<String> = self.keys.iter().take(self.grouping).map(|key| text(key, &input)).collect();
        let step = Step::Operation(Operation {
            input: &self.input,
            phrase: "Using temporary",
            key: "grouping_operation",
            flags: &[("using_temporary_table", true), ("using_filesort", false)],
            window_functions: Vec::new(),
        });
        Explained { label: format!("Group by hash: {}", keys.join(", ")), step }
    }

    fn asks_for_all(&self, _input: usize, _all: bool) -> bool {
        true
    }

    /// A filter on a group key keeps or drops whole groups. Strings are excluded: one of several equal strings stands for the
    /// group, and a join may distinguish them.
    fn column_origin(&self, column: usize) -> Option<ColumnOrigin> {
        let key = self.keys.get(column).filter(|key| !key.ty.sql.is_string())?;
        Some(ColumnOrigin::Input(0, key.as_column()?))
    }
}
