//! Joins that look partners up through an index.

use super::{ColumnOrigin, Explained, Node, PlanNode, Role, Scan, Step};
use leafline_access::JoinType;
use leafline_expr::Expr;
use std::sync::Arc;

/// For each outer row the matching rows of a table, found through an index.
#[derive(Clone, Debug)]
pub struct LookupJoin {
    /// The rows to find partners for.
    pub outer: Box<Node>,
    /// How the table is entered; its bounds and conditions may use the outer columns.
    pub inner: Arc<Scan>,
    /// Which outer rows are delivered.
    pub join_type: JoinType,
    /// Deliver the rows in the order of the outer ones.
    pub keep_order: bool,
    /// The hash join that it goes on with if there are many more outer rows than were expected.
    pub fallback: Option<Box<HashFallback>>,
}

/// A hash join that a lookup join goes on with: it costs as much as the lookups that were made by then.
#[derive(Clone, Debug)]
pub struct HashFallback {
    /// Outer rows that are looked up, and entries that are examined for them, at most, together.
    pub after: u64,
    /// The rows of the table.
    pub build: Node,
    /// Equal expressions: over the outer columns, over the table's.
    pub keys: Arc<[(Expr, Expr)]>,
    /// `<=>` rather than `=`, per key.
    pub null_safe: Arc<[bool]>,
    /// Further conditions over the columns of both.
    pub conditions: Arc<[Expr]>,
    /// The positions, among the columns of both, of those that the lookup join delivers.
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
