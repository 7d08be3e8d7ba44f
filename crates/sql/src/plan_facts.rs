//! Facts about a plan besides its estimates: a digest that tells the plans of a statement apart, and how it
//! reads tables.

use leafline_access::AccessPath;
use leafline_planner::plan::{Node, Operator, Plan, PlanParts, access_label, access_type};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Facts about a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlanFacts {
    /// Digest of operators and access paths; `None` for a statement that reads nothing.
    pub digest: Option<u64>,
    /// True if an index or a table is scanned whole: MySQL's "no index used".
    pub no_index_used: bool,
    /// Table reads and sorts by kind.
    pub reads: PlanReads,
}

/// Numbers of MySQL's kinds of table reads and sorts in a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanReads {
    /// Scans of the first table of a join.
    pub scans: u32,
    /// Range reads of the first table.
    pub ranges: u32,
    /// Scans of other tables of a join.
    pub full_joins: u32,
    /// Range reads of other tables.
    pub range_joins: u32,
    /// Sorts of a scan.
    pub sorted_scans: u32,
    /// Sorts of other reads.
    pub sorted_ranges: u32,
}

impl PlanReads {
    /// Adds the nodes below `of`; `is_inner` says that they do not read the first table. Returns the access
    /// type of the first table below.
    fn add(&mut self, of: &Node, is_inner: bool) -> Option<&'static str> {
        let mut first = match &of.operator {
            Operator::Scan(scan) => Some(self.add_access(access_type(&scan.path, is_inner), is_inner)),
            _ => None,
        };
        for (place, input) in of.inputs().into_iter().enumerate() {
            let found = self.add(input, is_inner || place > 0);
            first = first.or(found);
        }
        match &of.operator {
            Operator::LookupJoin(join) => {
                self.add_access(access_type(&join.inner.path, true), true);
            }
            Operator::Sort(_) | Operator::TopN(_) => match first {
                Some("ALL" | "index") => self.sorted_scans += 1,
                Some(_) => self.sorted_ranges += 1,
                None => {}
            },
            _ => {}
        }
        first
    }

    fn add_access(&mut self, access: &'static str, is_inner: bool) -> &'static str {
        match (access, is_inner) {
            ("ALL" | "index", false) => self.scans += 1,
            ("ALL" | "index", true) => self.full_joins += 1,
            ("range" | "index_merge", false) => self.ranges += 1,
            ("range" | "index_merge", true) => self.range_joins += 1,
            _ => {}
        }
        access
    }
}

impl PlanFacts {
    /// The facts about a statement's plans.
    pub fn of(plan: Option<&Plan>, parts: &PlanParts) -> PlanFacts {
        let mut hasher = DefaultHasher::new();
        let mut no_index_used = false;
        let (mut is_any, mut reads) = (false, PlanReads::default());
        for plan in plan.into_iter().chain(parts.plans()) {
            is_any = true;
            node(&plan.root, &mut hasher);
            reads.add(&plan.root, false);
            no_index_used |= reads_whole_table(plan);
        }
        PlanFacts { digest: is_any.then(|| hasher.finish()), no_index_used, reads }
    }
}

/// True if a plan scans a whole index or table.
pub(crate) fn reads_whole_table(plan: &Plan) -> bool {
    let mut found = false;
    plan.for_each_path(&mut |path| found |= is_whole(path));
    found
}

/// True if a path reads all entries.
fn is_whole(path: &AccessPath) -> bool {
    path.constraint.is_unbounded() && !path.leaps() && path.source.locators().is_none()
}

fn node(node_: &Node, hasher: &mut DefaultHasher) {
    std::mem::discriminant(&node_.operator).hash(hasher);
    if let Some(scan) = node_.scan() {
        let is_inner = node_.operator.as_node().inner_scan().is_some();
        access_label(&scan.path, &scan.alias, is_inner).hash(hasher);
    }
    let inputs = node_.inputs();
    inputs.len().hash(hasher);
    inputs.into_iter().for_each(|input| node(input, hasher));
}
