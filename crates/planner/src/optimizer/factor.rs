//! Extracts conditions from ORs.
//!
//! Conjuncts that all branches share become conjuncts of their own: `(a AND x) OR (a AND y)` is `a AND (x OR y)`, with NULLs too.
//! Where every branch has conditions on one relation alone, the OR of these conditions follows from the whole, and can filter
//! that relation before it is joined (TPC-H Query 19: brand, container and size of `part`).

use crate::params::LISTED_CONJUNCTS;
use leafline_expr::{Expr, ExprKind, conjuncts};
use std::collections::{BTreeSet, HashSet};

/// Returns the conjuncts of a condition, with the shared conjuncts of the branches of an OR taken out of it.
pub(super) fn factored(condition: Expr) -> Vec<Expr> {
    let ExprKind::Or(branches) = condition.kind else { return conjuncts(condition) };
    let mut branches: Vec<Vec<Expr>> = branches.into_iter().map(branch_conjuncts).collect();
    let Some((first, others)) = branches.split_first() else { return Vec::new() };
    let sets: Vec<Option<HashSet<&Expr>>> =
        others.iter().map(|other| (other.len() > LISTED_CONJUNCTS).then(|| other.iter().collect())).collect();
    let in_all = |conjunct: &Expr| {
        others.iter().zip(&sets).all(|(other, set)| match set {
            Some(set) => set.contains(conjunct),
            None => other.contains(conjunct),
        })
    };
    let common: Vec<Expr> = first.iter().filter(|conjunct| in_all(conjunct)).cloned().collect();
    let shared: HashSet<&Expr> = common.iter().collect();
    for branch in &mut branches {
        branch.retain(|conjunct| !shared.contains(conjunct));
    }
    let mut result = common;
    // A branch with only shared conjuncts makes the rest of the OR true.
    if branches.iter().all(|branch| !branch.is_empty()) {
        let branches = branches.into_iter().map(|branch| all_of(branch, &condition.ty)).collect();
        result.push(Expr { kind: ExprKind::Or(branches), ty: condition.ty });
    }
    result
}

/// Returns the condition that an OR implies for the columns that `own` accepts, if every branch has conditions on these columns
/// alone.
pub(super) fn implied_for(condition: &Expr, own: &dyn Fn(&BTreeSet<usize>) -> bool) -> Option<Expr> {
    let ExprKind::Or(branches) = &condition.kind else { return None };
    let mut kept = Vec::with_capacity(branches.len());
    for branch in branches {
        let mut about: Vec<Expr> = branch_conjuncts(branch.clone());
        about.retain(|conjunct| own(&conjunct.columns()) && !conjunct.is_volatile());
        if about.is_empty() {
            return None;
        }
        kept.push(all_of(about, &condition.ty));
    }
    Some(Expr { kind: ExprKind::Or(kept), ty: condition.ty.clone() })
}

fn branch_conjuncts(branch: Expr) -> Vec<Expr> {
    conjuncts(branch).into_iter().flat_map(factored).collect()
}

fn all_of(mut conjuncts: Vec<Expr>, ty: &leafline_types::ExprType) -> Expr {
    if conjuncts.len() == 1 {
        return conjuncts.swap_remove(0);
    }
    Expr { kind: ExprKind::And(conjuncts), ty: ty.clone() }
}
