//! Hash joins.

use super::{ColumnOrigin, Explained, Node, PlanNode, Role, Step, text};
use leafline_access::JoinType;
use leafline_expr::{CompareDomain, Expr};
use leafline_table::TableDef;
use leafline_types::SqlType;
use std::sync::Arc;

/// Joins the rows of two inputs with equal keys: a hash table holds the build side, and the probe side streams.
#[derive(Clone, Debug)]
pub struct HashJoin {
    /// The probe side, which streams; its columns come first.
    pub probe: Node,
    /// The build side, which is held in memory.
    pub build: Node,
    /// Pairs of key expressions: over the probe side's columns, over the build side's.
    pub keys: Arc<[(Expr, Expr)]>,
    /// For each key, whether the comparison is `<=>` rather than `=`.
    pub null_safe: Arc<[bool]>,
    /// Further conditions, over the columns of both sides.
    pub conditions: Arc<[Expr]>,
    /// The probe rows that are delivered.
    pub join_type: JoinType,
    /// The rows come in the order of the probe rows.
    pub keep_order: bool,
    /// The build side comes first in the join order: EXPLAIN lists it first.
    pub build_is_first: bool,
    /// For each key, the domain that both sides are converted to.
    pub domains: Arc<[CompareDomain]>,
    /// The runtime filters for scans below the probe side, made once the build side is read.
    pub filters: Vec<KeyFilter>,
}

/// A key of a hash join as a runtime filter of a scan.
#[derive(Clone, Debug)]
pub struct KeyFilter {
    /// The number of the filter in [`Scan::filters`](super::Scan::filters).
    pub number: usize,
    /// Position of the key among the columns of the build side.
    pub build: usize,
    /// The type of the key.
    pub ty: SqlType,
    /// The domain that both sides are converted to.
    pub domain: CompareDomain,
    /// The table that is scanned.
    pub table: Arc<TableDef>,
    /// The ordinal of the table's column that is compared with the key.
    pub column: usize,
}

impl PlanNode for HashJoin {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.probe, &self.build]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.probe, &mut self.build]
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        self.keys.iter().flat_map(|(probe, build)| [probe, build]).for_each(|key| each(Role::JoinKey, key));
        self.conditions.iter().for_each(|condition| each(Role::Filter, condition));
    }

    fn column_names(&self) -> Vec<String> {
        let mut names = self.probe.column_names();
        if self.join_type.delivers_partners() {
            names.extend(self.build.column_names());
        }
        names
    }

    fn explain(&self) -> Explained<'_> {
        let kind = match self.join_type {
            JoinType::Inner => "Inner hash join",
            JoinType::LeftOuter => "Left hash join",
            JoinType::Semi => "Hash semijoin",
            JoinType::Anti => "Hash antijoin",
        };
        let (probe, build) = (self.probe.column_names(), self.build.column_names());
        let mut conditions: Vec<String> = self
            .keys
            .iter()
            .map(|(left, right)| format!("{} = {}", text(left, &probe), text(right, &build)))
            .collect();
        let both: Vec<String> = probe.into_iter().chain(build).collect();
        conditions.extend(self.conditions.iter().map(|condition| text(condition, &both)));
        let label = if conditions.is_empty() {
            format!("{kind} (no condition)")
        } else {
            format!("{kind}: {}", conditions.join(" and "))
        };
        Explained { label, step: Step::HashJoin(self) }
    }

    fn asks_for_all(&self, input: usize, all: bool) -> bool {
        input > 0 || all
    }

    fn column_origin(&self, column: usize) -> Option<ColumnOrigin> {
        match column.checked_sub(self.probe.types.len()) {
            None => Some(ColumnOrigin::Input(0, column)),
            Some(column) => (self.join_type == JoinType::Inner).then_some(ColumnOrigin::Input(1, column)),
        }
    }
}
