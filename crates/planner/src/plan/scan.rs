//! Scans of a table.

use super::access_label::access_label;
use super::text::column_name;
use super::{ColumnOrigin, Explained, Node, PlanNode, Role, Step};
use leafline_access::{AccessPath, Demand};
use leafline_expr::Expr;
use std::sync::Arc;

/// Reads a table: the access path, and the facts about its choice for EXPLAIN.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Position of the run-time figures in the execution context: the node's, or the scan's own on the inner side of a join.
    pub id: usize,
    /// The path that runs.
    pub path: Arc<AccessPath>,
    /// The table's alias.
    pub alias: Arc<str>,
    /// How many rows will be read.
    pub demand: Demand,
    /// Indexes that could have been used.
    pub possible_keys: Vec<Arc<str>>,
    /// Expected number of examined rows, per execution or per outer row.
    pub examined: f64,
    /// Expected percentage of the examined rows that pass the conditions.
    pub filtered: f64,
    /// EXPLAIN's `ref`: the values that the leading equal parts are compared with.
    pub references: Vec<Arc<str>>,
    /// The paths that were compared, cheapest first, if the plan was made for EXPLAIN.
    pub considered: Vec<Considered>,
    /// The runtime filters of the scan, each with the ordinal of its column.
    pub filters: Vec<(usize, usize)>,
    /// The names of the partitions that remain for the values that the plan was made for, if the table has any and the plan was
    /// made for EXPLAIN.
    pub partitions: Option<Arc<str>>,
}

/// An access path that was compared with others.
#[derive(Clone, Debug)]
pub struct Considered {
    /// The path. Its outer columns have other numbers than in the path that runs.
    pub path: Arc<AccessPath>,
    /// The price, once or for one outer row, microseconds.
    pub cost_us: f64,
    /// Expected number of examined rows.
    pub examined: f64,
}

/// Returns the names of table columns under the scan's alias.
pub(crate) fn named_columns<'c>(scan: &Scan, ordinals: impl IntoIterator<Item = &'c usize>) -> Vec<String> {
    ordinals
        .into_iter()
        .filter_map(|ordinal| scan.path.table.columns.get(*ordinal))
        .map(|column| match column.is_hidden() {
            true => column_name(column),
            false => format!("{}.{}", scan.alias, column.name),
        })
        .collect()
}

impl PlanNode for Scan {
    fn inputs(&self) -> Vec<&Node> {
        Vec::new()
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        Vec::new()
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        self.path.constraint.values().iter().for_each(|value| each(Role::Bound, value));
        let conditions = self.path.index_conditions.iter().chain(&self.path.residual_filter);
        conditions.for_each(|condition| each(Role::Filter, &condition.expr));
    }

    fn column_names(&self) -> Vec<String> {
        let path = &self.path;
        let mut names = named_columns(self, path.columns.iter().take(path.delivered));
        if path.scores.is_some() && !path.deliver_locators {
            names.push(format!("score of {}", self.alias));
        }
        names
    }

    fn explain(&self) -> Explained<'_> {
        Explained { label: access_label(&self.path, &self.alias, false), step: Step::Table(self) }
    }

    fn column_origin(&self, column: usize) -> Option<ColumnOrigin> {
        Some(ColumnOrigin::Scan(column))
    }
}
