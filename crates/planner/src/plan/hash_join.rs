//! Joins by hashing.

use super::{ColumnOrigin, Explained, Node, PlanNode, Role, Step, text};
use leafline_access::JoinType;
use leafline_expr::{CompareDomain, Expr};
use leafline_table::TableDef;
use leafline_types::SqlType;
use std::sync::Arc;

/// A join by hashing: rows of two inputs with equal keys.
#[derive(Clone, Debug)]
pub struct HashJoin {
    /// The input that streams; its columns come first.
    pub probe: Node,
    /// The input that is held in memory.
    pub build: Node,
    /// Equal expressions: over the probe's columns, over the build's.
    pub keys: Arc<[(Expr, Expr)]>,
    /// `<=>` rather than `=`, per key.
    pub null_safe: Arc<[bool]>,
    /// Further conditions over the columns of both.
    pub conditions: Arc<[Expr]>,
    /// Which probe rows are delivered.
    pub join_type: JoinType,
    /// The rows come in the order of the probe rows.
    pub keep_order: bool,
    /// The build input comes first in the order of the joins: EXPLAIN lists it first.
    pub build_is_first: bool,
    /// The domain that both sides of each key are converted to to be compared.
    pub domains: Arc<[CompareDomain]>,
    /// The filters that scans below the probe side get when the build side was read.
    pub filters: Vec<KeyFilter>,
}

/// The keys of a hash join as a filter of a scan.
#[derive(Clone, Debug)]
pub struct KeyFilter {
    /// The number by which the scan knows it, in [`Scan::filters`](super::Scan::filters).
    pub number: usize,
    /// Position of the key among the columns of the build side.
    pub build: usize,
    /// Its type.
    pub ty: SqlType,
    /// The domain that both sides are converted to.
    pub domain: CompareDomain,
    /// The table that is scanned.
    pub table: Arc<TableDef>,
    /// The column that is compared with the key, by its ordinal there.
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
