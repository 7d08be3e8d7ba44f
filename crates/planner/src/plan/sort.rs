//! Sorts of all rows, and the first rows in order.

use super::{ColumnOrigin, Explained, Node, Operation, PlanNode, Role, RowLimit, Step, text};
use leafline_expr::Expr;
use std::sync::Arc;

/// Delivers all rows in order.
#[derive(Clone, Debug)]
pub struct Sort {
    /// The source of the rows.
    pub input: Box<Node>,
    /// The keys to order by, most significant first.
    pub keys: Arc<[SortKey]>,
}

/// Delivers the first rows in order.
#[derive(Clone, Debug)]
pub struct TopN {
    /// The source of the rows.
    pub input: Box<Node>,
    /// The keys to order by, most significant first.
    pub keys: Arc<[SortKey]>,
    /// Number of keys, from the first, in whose order the rows come. Reading stops as soon as the first rows are known.
    pub presorted: usize,
    /// The rows to deliver, by their place in the order.
    pub limit: RowLimit,
}

/// One ORDER BY element.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// Expression over the input's columns.
    pub expr: Expr,
    /// Order from the greatest value to the least; NULL is the least.
    pub descending: bool,
}

impl SortKey {
    /// Writes a list of keys as EXPLAIN shows it.
    pub(super) fn list_text(keys: &[SortKey], names: &[String]) -> String {
        let key = |key: &SortKey| {
            format!("{}{}", text(&key.expr, names), if key.descending { " DESC" } else { "" })
        };
        keys.iter().map(key).collect::<Vec<_>>().join(", ")
    }
}

fn ordering(input: &Node) -> Step<'_> {
    Step::Operation(Operation {
        input,
        phrase: "Using filesort",
        key: "ordering_operation",
        flags: &[("using_filesort", true)],
        window_functions: Vec::new(),
    })
}

impl PlanNode for Sort {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input]
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        self.keys.iter().for_each(|key| each(Role::SortKey, &key.expr));
    }

    fn column_names(&self) -> Vec<String> {
        self.input.column_names()
    }

    fn explain(&self) -> Explained<'_> {
        let label = format!("Sort: {}", SortKey::list_text(&self.keys, &self.input.column_names()));
        Explained { label, step: ordering(&self.input) }
    }

    fn asks_for_all(&self, _input: usize, _all: bool) -> bool {
        true
    }

    fn column_origin(&self, column: usize) -> Option<ColumnOrigin> {
        Some(ColumnOrigin::Input(0, column))
    }
}

impl PlanNode for TopN {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input]
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        self.keys.iter().for_each(|key| each(Role::SortKey, &key.expr));
    }

    fn column_names(&self) -> Vec<String> {
        self.input.column_names()
    }

    fn explain(&self) -> Explained<'_> {
        let names = self.input.column_names();
        let come = match self.keys.get(..self.presorted) {
            Some(keys) if !keys.is_empty() => {
                format!(" (rows come by {})", SortKey::list_text(keys, &names))
            }
            _ => String::new(),
        };
        let label = format!("Top {}: {}{come}", self.limit, SortKey::list_text(&self.keys, &names));
        Explained { label, step: ordering(&self.input) }
    }

    fn asks_for_all(&self, _input: usize, _all: bool) -> bool {
        self.presorted == 0
    }
}
