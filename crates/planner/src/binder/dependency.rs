//! Functional dependencies: the columns whose value is the same in all rows of a group.
//!
//! Group keys determine themselves. A column is determined if WHERE or the condition of an inner join makes it equal to a
//! constant or to a determined column. All columns of a table are determined if all parts of a unique key without NULL are.
//! Behind a left join the right table's columns are determined when its condition determines such a key and reads nothing else on
//! the left. (SQL:2011 4.19; MySQL 8.0 manual, "Detection of Functional Dependence".)

use std::collections::BTreeSet;

use leafline_expr::{CompareDomain, CompareOp, Expr, ExprKind};
use leafline_types::{ExprType, SqlType};

use super::scope::Block;
use crate::bound::{BoundSelect, ColumnId, JoinTree, Relation, RelationSource};

/// Returns the relation columns that are the same in all rows of a group of `block.group_by`.
pub(super) fn determined(block: &Block, from: Option<&JoinTree>, filter: &[Expr]) -> BTreeSet<ColumnId> {
    let mut known: BTreeSet<ColumnId> = block.group_by.iter().filter_map(Expr::as_column).collect();
    let mut equalities: Vec<&Expr> = filter.iter().collect();
    let mut left_joins = Vec::new();
    if let Some(from) = from {
        collect(from, &mut equalities, &mut left_joins);
    }
    loop {
        let before = known.len();
        for condition in &equalities {
            add_equal(condition, &mut known);
        }
        for relation in &block.relations {
            if has_known_key(relation, &known) {
                known.extend(relation.columns.clone());
            }
        }
        for &(right, conditions) in &left_joins {
            if let Some(relation) = block.relations.get(right) {
                add_optional(relation, conditions, &mut known);
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

/// Collects the conditions that hold for every row, and the left joins whose right side is one relation.
fn collect<'t>(tree: &'t JoinTree, always: &mut Vec<&'t Expr>, left_joins: &mut Vec<(usize, &'t [Expr])>) {
    match tree {
        JoinTree::Relation(_) => {}
        JoinTree::Inner { children, conditions, .. } => {
            always.extend(conditions);
            children.iter().for_each(|child| collect(child, always, left_joins));
        }
        JoinTree::Semi { left, .. } => collect(left, always, left_joins),
        JoinTree::Left { left, right, conditions } => {
            collect(left, always, left_joins);
            // Conditions below the right side do not hold for rows without match.
            if let JoinTree::Relation(right) = &**right {
                left_joins.push((*right, conditions));
            }
        }
    }
}

/// Adds the column of `column = known`.
fn add_equal(condition: &Expr, known: &mut BTreeSet<ColumnId>) {
    let ExprKind::Compare { op: CompareOp::Eq | CompareOp::NullSafeEq, left, right, domain } =
        &condition.kind
    else {
        return;
    };
    for (side, other) in [(left, right), (right, left)] {
        if let Some(column) = side.as_column()
            && (is_exact(&side.ty.sql, *domain) || is_of_its_collation(&side.ty, *domain))
            && other.columns().is_subset(known)
            && !other.is_volatile()
        {
            known.insert(column);
        }
    }
}

/// Whether the comparison uses the type's own collation. Equal values are then one group.
fn is_of_its_collation(ty: &ExprType, domain: CompareDomain) -> bool {
    ty.sql.is_character() && domain == CompareDomain::String(ty.collation)
}

/// Whether at most one value of this type equals another in this domain.
pub(crate) fn is_exact(ty: &SqlType, domain: CompareDomain) -> bool {
    match domain {
        CompareDomain::Integer | CompareDomain::Decimal => ty.is_numeric(),
        CompareDomain::Date | CompareDomain::DateTime | CompareDomain::Time => ty.is_temporal(),
        CompareDomain::String(collation) => ty.is_string() && collation.equal_is_same(),
        CompareDomain::Double | CompareDomain::Json => false,
    }
}

/// Whether the relation has a unique key, without NULL, of known columns.
fn has_known_key(relation: &Relation, known: &BTreeSet<ColumnId>) -> bool {
    let is_known = |ordinal: &usize| known.contains(&(relation.columns.start + ordinal));
    unique_keys(&relation.source).iter().any(|key| key.iter().all(is_known))
}

/// Returns sets of columns, by position, in whose values no two rows agree.
pub(crate) fn unique_keys(source: &RelationSource) -> Vec<Vec<usize>> {
    match source {
        RelationSource::Base(table) => {
            let has_no_null = |c: usize| table.columns.get(c).is_some_and(|c| !c.nullable);
            table
                .indexes
                .iter()
                .filter(|index| {
                    index.is_unique()
                        && !index.has_prefixes()
                        && index.parts.iter().all(|part| has_no_null(part.column))
                })
                .map(|index| index.parts.iter().map(|part| part.column).collect())
                .collect()
        }
        RelationSource::Derived(query) => derived_keys(query),
        RelationSource::Common(table) if table.recursion.is_none() => derived_keys(&table.query),
        _ => Vec::new(),
    }
}

/// Returns the group keys of a derived table if it outputs all of them; all columns under DISTINCT.
fn derived_keys(query: &BoundSelect) -> Vec<Vec<usize>> {
    let mut keys = Vec::new();
    if query.distinct {
        keys.push((0..query.output.len()).collect());
    }
    if let Some(aggregation) = query.aggregation.as_ref().filter(|aggregation| aggregation.rollup.is_none()) {
        let position = |out: ColumnId| query.output.iter().position(|o| o.expr.as_column() == Some(out));
        keys.extend(
            aggregation
                .keys
                .iter()
                .filter(|k| !k.dependent)
                .map(|k| position(k.out))
                .collect::<Option<Vec<_>>>(),
        );
    }
    keys
}

/// Adds columns of the right side of a left join.
fn add_optional(relation: &Relation, conditions: &[Expr], known: &mut BTreeSet<ColumnId>) {
    let of_right = |column: &ColumnId| relation.columns.contains(column);
    let left_is_known = conditions
        .iter()
        .all(|c| c.columns().iter().all(|column| of_right(column) || known.contains(column)));
    if !left_is_known {
        return;
    }
    let mut matched = known.clone();
    for condition in conditions {
        add_equal(condition, &mut matched);
    }
    if has_known_key(relation, &matched) {
        known.extend(relation.columns.clone());
    }
}
