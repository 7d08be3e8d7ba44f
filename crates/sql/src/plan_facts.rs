//! What is told of a plan besides its figures: a digest, which other plans of the same statement do not have, and whether it reads all of a table.

use crate::explain::access_label;
use crate::plan::{Node, Operator, Plan, PlanParts};
use leafline_access::AccessPath;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlanFacts {
    /// Of operators and the ways in which tables are read; none for a statement that reads nothing.
    pub digest: Option<u64>,
    /// An index, or the rows themselves, are read from one end to the other: MySQL's "no index used".
    pub no_index_used: bool,
}

impl PlanFacts {
    /// Those of a statement's plans.
    pub fn of(plan: Option<&Plan>, parts: &PlanParts) -> PlanFacts {
        let mut hasher = DefaultHasher::new();
        let mut no_index_used = false;
        let mut is_any = false;
        for plan in plan.into_iter().chain(parts.plans()) {
            is_any = true;
            node(&plan.root, &mut hasher);
            no_index_used |= reads_whole_table(plan);
        }
        PlanFacts { digest: is_any.then(|| hasher.finish()), no_index_used }
    }
}

/// Whether a plan reads an index, or the rows of a table, from one end to the other.
pub(crate) fn reads_whole_table(plan: &Plan) -> bool {
    let mut found = false;
    plan.for_each_path(&mut |path| found |= is_whole(path));
    found
}

/// Whether a path reads all that there is.
fn is_whole(path: &AccessPath) -> bool {
    path.constraint.is_unbounded() && !path.leaps && path.locators.is_none()
}

fn node(node_: &Node, hasher: &mut DefaultHasher) {
    std::mem::discriminant(&node_.operator).hash(hasher);
    if let Operator::Scan(scan) | Operator::LookupJoin { inner: scan, .. } = &node_.operator {
        let is_inner = matches!(node_.operator, Operator::LookupJoin { .. });
        access_label(&scan.path, &scan.alias, is_inner).hash(hasher);
    }
    let inputs = node_.inputs();
    inputs.len().hash(hasher);
    inputs.into_iter().for_each(|input| node(input, hasher));
}
