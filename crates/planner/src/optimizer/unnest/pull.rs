//! Moves a subquery's tables into the block around it.

use crate::authority::TableRights;
use crate::binder::dependency::{is_exact, unique_keys};
use crate::bound::merge::{empty_block, map_tree};
use crate::bound::{
    BlockColumn, BoundSelect, ColumnOrigin, JoinTree, MAX_RELATIONS, Relation, RelationSource,
};

use leafline_expr::{CompareDomain, CompareOp, Expr, ExprKind, Subquery, SubqueryUse, build, conjuncts};
use leafline_types::{ExprType, SqlType};
use std::collections::{BTreeSet, HashMap};

/// Adds the tables of `inner`, which is a join and a filter, to a block as the right side of a semi join or, if no row has two
/// matches, of an inner join. Returns whether the join is an inner one; `None` if the block cannot take the tables.
pub(super) fn pull(
    outer: &mut BoundSelect,
    inner: &BoundSelect,
    subquery: &Subquery,
    negated: bool,
) -> Option<bool> {
    if outer.relations.len() + inner.relations.len() > MAX_RELATIONS {
        return None;
    }
    let added = Added::new(outer, inner);
    let translated = |expr: &Expr| added.translated(expr, &subquery.outer);
    let right = inner.from.clone()?;
    let right = map_tree(right, &|relation| JoinTree::Relation(added.first_relation + relation), &translated);
    let mut conditions: Vec<Expr> = inner.filter.iter().map(translated).collect();
    if let SubqueryUse::Any(comparison) = &subquery.question {
        let width = subquery.needle.len();
        let outputs: Vec<Expr> = inner.output.iter().map(|output| translated(&output.expr)).collect();
        let side = |column: usize| match column.checked_sub(width) {
            None => subquery.needle.get(column).cloned(),
            Some(output) => outputs.get(output).cloned(),
        };
        conditions.extend(conjuncts(comparison.replace_columns(&mut { side })));
    }
    // Conditions on the right side alone are applied there.
    let (within, between): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(|condition| {
        let columns = condition.columns();
        !columns.is_empty() && columns.iter().all(|column| *column >= added.first_column)
    });
    let only = match &right {
        JoinTree::Relation(relation) => outer.relations.get(*relation),
        _ => None,
    };
    let is_inner = !negated && only.is_some_and(|only| has_one_row(only, &between));
    let right = match within.is_empty() {
        true => right,
        false => JoinTree::Inner { children: vec![right], conditions: within, straight: false },
    };
    let left = outer.from.take()?;
    outer.from = Some(match is_inner {
        true => JoinTree::Inner { children: vec![left, right], conditions: between, straight: false },
        false => {
            JoinTree::Semi { left: Box::new(left), right: Box::new(right), conditions: between, negated }
        }
    });
    Some(is_inner)
}

/// Wraps a query as the only relation of a block that outputs its columns.
pub(super) fn as_relation(query: BoundSelect) -> BoundSelect {
    let mut block = empty_block();
    block.output.clone_from(&query.output);
    let types: Vec<ExprType> = query.output.iter().map(|output| output.expr.ty.clone()).collect();
    let relation = add_relation(&mut block, RelationSource::Derived(Box::new(query)), types.clone());
    for (at, (output, ty)) in block.output.iter_mut().zip(types).enumerate() {
        output.expr = build::column(at, ty);
    }
    block.from = Some(JoinTree::Relation(relation));
    block
}

/// Adds a relation that the statement does not name, and returns its position.
pub(super) fn add_relation(block: &mut BoundSelect, source: RelationSource, types: Vec<ExprType>) -> usize {
    let (position, start) = (block.relations.len(), block.columns.len());
    let column =
        |(ordinal, ty)| BlockColumn { origin: ColumnOrigin::Relation { relation: position, ordinal }, ty };
    block.columns.extend(types.into_iter().enumerate().map(column));
    block.relations.push(Relation {
        alias: "subquery".into(),
        database: String::new(),
        source,
        columns: start..block.columns.len(),
        hints: Default::default(),
        lock: None,
        view: None,
        generated: Default::default(),
        granted: TableRights::EVERYTHING,
    });
    position
}

/// The new positions of a block's relations and columns.
struct Added {
    first_relation: usize,
    first_column: usize,
    numbers: HashMap<usize, usize>,
}

impl Added {
    fn new(outer: &mut BoundSelect, inner: &BoundSelect) -> Added {
        let (first_relation, first_column) = (outer.relations.len(), outer.columns.len());
        let mut numbers = HashMap::new();
        for (at, relation) in inner.relations.iter().enumerate() {
            let start = outer.columns.len();
            for (ordinal, column) in relation.columns.clone().enumerate() {
                numbers.insert(column, start + ordinal);
                let origin = ColumnOrigin::Relation { relation: first_relation + at, ordinal };
                let ty = inner.columns.get(column).map_or(ExprType::NULL, |column| column.ty.clone());
                outer.columns.push(BlockColumn { origin, ty });
            }
            outer.relations.push(Relation { columns: start..outer.columns.len(), ..relation.clone() });
        }
        Added { first_relation, first_column, numbers }
    }

    /// Rewrites an expression of the inner block as one of the outer block.
    fn translated(&self, expr: &Expr, outer: &[Expr]) -> Expr {
        let renumbered = expr.map_columns(&mut |column| self.numbers[&column]);
        with_outer(renumbered, outer)
    }
}

/// Replaces the outer values of an expression by expressions over the surrounding row.
fn with_outer(mut expr: Expr, outer: &[Expr]) -> Expr {
    if let ExprKind::Outer(number) = expr.kind
        && let Some(value) = outer.get(number)
    {
        return value.clone();
    }
    expr.for_each_child_mut(&mut |child| *child = with_outer(child.clone(), outer));
    expr
}

/// Whether the conditions fix a unique key of the relation.
fn has_one_row(relation: &Relation, conditions: &[Expr]) -> bool {
    let mut fixed = BTreeSet::new();
    for condition in conditions {
        let ExprKind::Compare { op: CompareOp::Eq, left, right, domain } = &condition.kind else { continue };
        for (side, other) in [(left, right), (right, left)] {
            if let Some(column) = side.as_column().filter(|column| relation.columns.contains(column))
                && !other.columns().iter().any(|column| relation.columns.contains(column))
                && is_fixed(&side.ty, *domain)
            {
                fixed.insert(column - relation.columns.start);
            }
        }
    }
    unique_keys(&relation.source).iter().any(|key| key.iter().all(|ordinal| fixed.contains(ordinal)))
}

/// Whether all values of the type that grouping merges are equal in a domain. Most collations treat strings as equal that differ
/// as bytes, or as numbers: one of them does not represent the others then.
pub(super) fn same_is_equal(ty: &ExprType, domain: CompareDomain) -> bool {
    if ty.sql.is_string() {
        return ty.collation.equal_is_same() || domain == CompareDomain::String(ty.collation);
    }
    match domain {
        CompareDomain::Json => ty.sql == SqlType::Json,
        CompareDomain::String(_) => !ty.sql.is_real() && ty.sql != SqlType::Json,
        _ => ty.sql != SqlType::Json,
    }
}

/// Whether a unique key treats all values of the type as the same that equal a given one in a domain.
pub(super) fn is_fixed(ty: &ExprType, domain: CompareDomain) -> bool {
    is_exact(&ty.sql, domain)
        || matches!(domain, CompareDomain::String(collation) if ty.sql.is_string() && ty.collation == collation)
}
