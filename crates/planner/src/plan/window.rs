//! Window functions.

use super::{Explained, Node, Operation, PlanNode, Role, SortKey, Step, text};
use crate::window::{Reach, WindowCall, WindowFunction};
use leafline_expr::Expr;
use leafline_types::ExprType;
use std::sync::Arc;

/// Computes window functions. Its input comes partition by partition and in order; the values follow the columns of the input.
#[derive(Clone, Debug)]
pub struct Window {
    /// The source of the rows.
    pub input: Box<Node>,
    /// The functions.
    pub spec: Arc<WindowSpec>,
}

/// Window functions that see the same partitions in the same order.
#[derive(Clone, Debug)]
pub struct WindowSpec {
    /// The types of the input rows.
    pub input: Arc<[ExprType]>,
    /// The keys that partition the rows, in the directions in which they come.
    pub partition: Arc<[SortKey]>,
    /// The keys that order the rows of a partition.
    pub order: Arc<[SortKey]>,
    /// The functions.
    pub calls: Vec<WindowCall>,
}

impl WindowSpec {
    /// Returns how much of a partition must be present before the values of a row are known.
    pub fn reach(&self) -> Reach {
        self.calls.iter().map(WindowCall::reach).max().unwrap_or(Reach::Row)
    }

    /// Writes the functions with their arguments, as EXPLAIN shows them.
    fn call_texts(&self, names: &[String]) -> Vec<String> {
        let call_text = |call: &WindowCall| {
            let args: Vec<String> = call.args().into_iter().map(|arg| text(arg, names)).collect();
            let star = matches!(&call.function, WindowFunction::Aggregate(_)) && args.is_empty();
            format!("{}({})", call.name().to_lowercase(), if star { "*".to_owned() } else { args.join(", ") })
        };
        self.calls.iter().map(call_text).collect()
    }
}

impl PlanNode for Window {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input]
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        let keys = self.spec.partition.iter().chain(self.spec.order.iter()).map(|key| &key.expr);
        keys.chain(self.spec.calls.iter().flat_map(WindowCall::args))
            .for_each(|expr| each(Role::Window, expr));
    }

    fn column_names(&self) -> Vec<String> {
        let mut names = self.input.column_names();
        let calls = self.spec.call_texts(&names);
        names.extend(calls);
        names
    }

    /// With buffering, rows are held until the values of the functions are known.
    fn explain(&self) -> Explained<'_> {
        let names = self.input.column_names();
        let calls = self.spec.call_texts(&names);
        let mut over = Vec::new();
        for (words, keys) in [("PARTITION BY", &self.spec.partition), ("ORDER BY", &self.spec.order)] {
            if !keys.is_empty() {
                over.push(format!("{words} {}", SortKey::list_text(keys, &names)));
            }
        }
        let buffering = if self.spec.reach() == Reach::Row { "" } else { " with buffering" };
        let label = format!("Window aggregate{buffering}: {} OVER ({})", calls.join(", "), over.join(" "));
        let step = Step::Operation(Operation {
            input: &self.input,
            phrase: "Using temporary",
            key: "windowing",
            flags: &[],
            window_functions: calls,
        });
        Explained { label, step }
    }

    fn asks_for_all(&self, _input: usize, all: bool) -> bool {
        all || self.spec.reach() != Reach::Row
    }
}
