//! WITH ROLLUP.

use super::{Explained, Node, PlanNode, Role, Step, text};
use leafline_expr::Expr;
use std::sync::Arc;

/// Delivers each row once for every level of WITH ROLLUP. The keys follow the columns of the input, NULL where the level omits
/// them; the level comes last.
#[derive(Clone, Debug)]
pub struct Rollup {
    /// The source of the rows.
    pub input: Box<Node>,
    /// The group keys.
    pub keys: Arc<[Expr]>,
    /// The levels.
    pub levels: Levels,
}

/// The levels of WITH ROLLUP.
#[derive(Clone, Debug)]
pub struct Levels {
    /// The greatest level; the least is 0.
    pub greatest: usize,
    /// For each key, the greatest level that omits it.
    pub leave_out: Arc<[usize]>,
}

impl PlanNode for Rollup {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.input]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.input]
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        self.keys.iter().for_each(|key| each(Role::RollupKey, key));
    }

    fn column_names(&self) -> Vec<String> {
        let mut names = self.input.column_names();
        let keys: Vec<String> = self.keys.iter().map(|key| text(key, &names)).collect();
        names.extend(keys);
        names.push("level".to_owned());
        names
    }

    fn explain(&self) -> Explained<'_> {
        let label = format!("Rollup: {} levels", self.levels.greatest + 1);
        Explained { label, step: Step::Rows(&self.input) }
    }
}
