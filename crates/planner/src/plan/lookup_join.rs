//! Lookup joins.

use super::{ColumnOrigin, Explained, Node, PlanNode, Role, Scan, Step};
use leafline_access::JoinType;
use leafline_expr::Expr;
use std::sync::Arc;

/// Finds, for each outer row, the matching rows of a table through an index.
#[derive(Clone, Debug)]
pub struct LookupJoin {
    /// The outer rows.
    pub outer: Box<Node>,
    /// The scan of the inner table; its bounds and conditions may use the outer columns.
    pub inner: Arc<Scan>,
    /// The outer rows that are delivered.
    pub join_type: JoinType,
    /// Deliver rows in the order of the outer rows.
    pub keep_order: bool,
    /// The hash join that takes over if there are many more outer rows than expected.
    pub fallback: Option<Box<HashFallback>>,
}

/// The hash join that a lookup join falls back to, once the lookups have cost as much as this join will.
#[derive(Clone, Debug)]
pub struct HashFallback {
    /// Maximum number of looked-up outer rows and of entries examined for them, together.
    pub after: u64,
    /// The plan that reads the table.
    pub build: Node,
    /// Pairs of key expressions: over the outer columns, over the table's.
    pub keys: Arc<[(Expr, Expr)]>,
    /// For each key, whether the comparison is `<=>` rather than `=`.
    pub null_safe: Arc<[bool]>,
    /// Further conditions, over the columns of both sides.
    pub conditions: Arc<[Expr]>,
    /// The positions, among the columns of both sides, of the columns that the lookup join delivers.
    pub columns: Arc<[usize]>,
}

impl PlanNode for LookupJoin {
    fn inputs(&self) -> Vec<&Node> {
        vec![&self.outer]
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        vec![&mut self.outer]
    }

    fn expressions<'n>(&'n self, each: &mut dyn FnMut(Role, &'n Expr)) {
        self.inner.expressions(each);
    }

    fn column_names(&self) -> Vec<String> {
        let mut names = self.outer.column_names();
        if self.join_type.delivers_partners() {
            names.extend(self.inner.column_names());
        }
        names
    }

    fn explain(&self) -> Explained<'_> {
        let label = match self.join_type {
            JoinType::Inner => "Index lookup inner join",
            JoinType::LeftOuter => "Index lookup left join",
            JoinType::Semi => "Index lookup semijoin",
            JoinType::Anti => "Index lookup antijoin",
        };
        Explained { label: label.to_owned(), step: Step::LookupJoin(self) }
    }

    fn inner_scan(&self) -> Option<&Arc<Scan>> {
        Some(&self.inner)
    }

    fn inner_scan_mut(&mut self) -> Option<&mut Arc<Scan>> {
        Some(&mut self.inner)
    }

    fn fallback_mut(&mut self) -> Option<&mut Node> {
        self.fallback.as_mut().map(|fallback| &mut fallback.build)
    }

    fn column_origin(&self, column: usize) -> Option<ColumnOrigin> {
        match column.checked_sub(self.outer.types.len()) {
            None => Some(ColumnOrigin::Input(0, column)),
            Some(column) => (self.join_type == JoinType::Inner).then_some(ColumnOrigin::Scan(column)),
        }
    }
}
