//! Derived tables that are no more than a join and a filter become part of the block around them.

use crate::bound::{BlockColumn, BlockHints, BoundSelect, ColumnOrigin, JoinTree, Relation, RelationSource};
use leafline_types::expr::{Expr, ExprKind};
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// The block with its simple derived tables merged, those inside them first; `wanted` is what is done where hints say nothing.
pub(super) fn merged(mut select: BoundSelect, wanted: bool) -> BoundSelect {
    for relation in &mut select.relations {
        // A query of WITH that one place names is a derived table there.
        if let RelationSource::Common(table) = &relation.source
            && table.recursion.is_none()
            && table.references.load(Ordering::Relaxed) == 1
            && relation.hints.merge.unwrap_or(wanted)
        {
            relation.source = RelationSource::Derived(Box::new(table.query.clone()));
        }
        if let RelationSource::Derived(inner) = &mut relation.source {
            **inner = merged(std::mem::replace(inner.as_mut(), empty_block()), wanted);
        }
    }
    while let Some(position) = select.relations.iter().enumerate().position(|(at, relation)| {
        relation.hints.merge.unwrap_or(wanted)
            && matches!(&relation.source, RelationSource::Derived(inner) if is_mergeable(inner, &select, at))
    }) {
        merge(&mut select, position);
    }
    select
}

pub(super) fn empty_block() -> BoundSelect {
    BoundSelect {
        relations: Vec::new(),
        columns: Vec::new(),
        from: None,
        straight_join: false,
        hints: BlockHints::default(),
        filter: Vec::new(),
        aggregation: None,
        having: Vec::new(),
        windows: Vec::new(),
        output: Vec::new(),
        distinct: false,
        order_by: Vec::new(),
        limit: None,
    }
}

/// Rows in, the same rows out, and no column that would not be NULL on the right side of a left join when its
/// tables are.
fn is_mergeable(inner: &BoundSelect, outer: &BoundSelect, position: usize) -> bool {
    let plain = inner.aggregation.is_none()
        && inner.having.is_empty()
        && inner.windows.is_empty()
        && !inner.distinct
        && inner.limit.is_none()
        && inner.from.is_some()
        && inner.output.iter().all(|output| !output.expr.is_volatile() && !output.expr.has_subquery());
    let columns_only = || inner.output.iter().all(|output| matches!(output.expr.kind, ExprKind::Column(_)));
    let inner_side = || outer.from.as_ref().is_some_and(|from| !is_nullable(from, position, false));
    let many = inner.relations.len() + outer.relations.len() - 1;
    let lateral =
        inner.relations.iter().any(|relation| matches!(relation.source, RelationSource::Lateral(_)));
    plain && !lateral && many <= super::graph::MAX_RELATIONS && (inner_side() || columns_only())
}

/// Is a relation on the right side of a left join?
pub(super) fn is_nullable(tree: &JoinTree, position: usize, inside: bool) -> bool {
    match tree {
        JoinTree::Relation(relation) => inside && *relation == position,
        JoinTree::Inner { children, .. } => children.iter().any(|child| is_nullable(child, position, inside)),
        JoinTree::Left { left, right, .. } => {
            is_nullable(left, position, inside) || is_nullable(right, position, true)
        }
        JoinTree::Semi { left, right, .. } => {
            is_nullable(left, position, inside) || is_nullable(right, position, inside)
        }
    }
}

fn merge(outer: &mut BoundSelect, position: usize) {
    let RelationSource::Derived(inner) = &outer.relations[position].source else { return };
    let inner = inner.as_ref().clone();
    let nullable = outer.from.as_ref().is_some_and(|from| is_nullable(from, position, false));
    let columns = outer.relations[position].columns.clone();
    // The derived table's relations take its place and the places behind the last one.
    let place = |relation: usize, count: usize| if relation == 0 { position } else { count + relation - 1 };
    let count = outer.relations.len();
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let mut added = Vec::new();
    for (at, relation) in inner.relations.iter().enumerate() {
        let start = outer.columns.len();
        for (ordinal, column) in relation.columns.clone().enumerate() {
            numbers.insert(column, start + ordinal);
            let mut ty = inner.columns[column].ty.clone();
            ty.nullable |= nullable;
            let origin = ColumnOrigin::Relation { relation: place(at, count), ordinal };
            outer.columns.push(BlockColumn { origin, ty });
        }
        added.push(Relation { columns: start..outer.columns.len(), ..relation.clone() });
    }
    let renumber =
        |expr: &Expr| expr.map_columns(&mut |column| numbers.get(&column).copied().unwrap_or(column));
    let outputs: HashMap<usize, Expr> =
        columns.zip(inner.output.iter().map(|output| renumber(&output.expr))).collect();
    let mut relations = added.into_iter();
    if let Some(first) = relations.next() {
        outer.relations[position] = first;
    }
    outer.relations.extend(relations);
    let inner_tree = inner
        .from
        .map(|tree| map_tree(tree, &|relation| JoinTree::Relation(place(relation, count)), &renumber));
    let conditions: Vec<Expr> = inner.filter.iter().map(renumber).collect();
    substitute(outer, &outputs);
    let Some(mut subtree) = inner_tree else { return };
    if nullable && !conditions.is_empty() {
        subtree = JoinTree::Inner { children: vec![subtree], conditions, straight: false };
    } else {
        outer.filter.extend(conditions);
    }
    if let Some(from) = outer.from.take() {
        let at = |relation: usize| {
            if relation == position { subtree.clone() } else { JoinTree::Relation(relation) }
        };
        outer.from = Some(map_tree(from, &at, &Expr::clone));
    }
}

/// Replaces the derived table's columns by what they are.
fn substitute(select: &mut BoundSelect, outputs: &HashMap<usize, Expr>) {
    let replace = |expr: &mut Expr| *expr = expr.replace_columns(&mut |column| outputs.get(&column).cloned());
    select.filter.iter_mut().for_each(replace);
    select.having.iter_mut().for_each(replace);
    for relation in &mut select.relations {
        if let RelationSource::Lateral(lateral) = &mut relation.source {
            lateral.outer.iter_mut().for_each(replace);
        }
    }
    select.windows.iter_mut().for_each(|window| window.for_each_expr_mut(&mut |expr| replace(expr)));
    select.output.iter_mut().for_each(|output| replace(&mut output.expr));
    select.order_by.iter_mut().for_each(|key| replace(&mut key.expr));
    if let Some(aggregation) = &mut select.aggregation {
        aggregation.keys.iter_mut().for_each(|key| replace(&mut key.expr));
        for aggregate in &mut aggregation.aggregates {
            aggregate.call.args.iter_mut().for_each(replace);
        }
    }
    if let Some(from) = select.from.take() {
        let replaced = |expr: &Expr| expr.replace_columns(&mut |column| outputs.get(&column).cloned());
        select.from = Some(map_tree(from, &JoinTree::Relation, &replaced));
    }
}

pub(super) fn map_tree(
    tree: JoinTree,
    relation: &dyn Fn(usize) -> JoinTree,
    expr: &dyn Fn(&Expr) -> Expr,
) -> JoinTree {
    match tree {
        JoinTree::Relation(at) => relation(at),
        JoinTree::Inner { children, conditions, straight } => JoinTree::Inner {
            children: children.into_iter().map(|child| map_tree(child, relation, expr)).collect(),
            conditions: conditions.iter().map(expr).collect(),
            straight,
        },
        JoinTree::Left { left, right, conditions } => JoinTree::Left {
            left: Box::new(map_tree(*left, relation, expr)),
            right: Box::new(map_tree(*right, relation, expr)),
            conditions: conditions.iter().map(expr).collect(),
        },
        JoinTree::Semi { left, right, conditions, negated } => JoinTree::Semi {
            left: Box::new(map_tree(*left, relation, expr)),
            right: Box::new(map_tree(*right, relation, expr)),
            conditions: conditions.iter().map(expr).collect(),
            negated,
        },
    }
}
