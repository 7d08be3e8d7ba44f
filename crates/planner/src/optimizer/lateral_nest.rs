//! Merges several tables on the inner side of a left join into one lateral query, where some of them are lateral queries that
//! depend on the join's left side:
//!
//! ```sql
//! a LEFT JOIN (b JOIN LATERAL (SELECT a.x + b.y) c) ON b.z = a.z
//! a LEFT JOIN LATERAL (SELECT * FROM b JOIN LATERAL (SELECT a.x + b.y) c WHERE b.z = a.z) d ON TRUE
//! ```
//!
//! Columns and relations keep their numbers in the new query; it receives the columns of other relations that it reads. Locked
//! relations stay where they are, and so do derived tables that depend on a surrounding query: the join graph refuses them.

use super::unnest::{conditions_of, source_depends};
use crate::authority::TableRights;
use crate::bound::merge::{empty_block, map_tree, substitute};
use crate::bound::{
    BlockColumn, BoundOutput, BoundSelect, ColumnId, ColumnOrigin, JoinTree, LateralQuery, Relation,
    RelationSource, TableHints,
};
use leafline_expr::build;
use leafline_expr::subquery::outer;
use leafline_expr::{Expr, ExprKind};
use leafline_types::Value;
use std::collections::{BTreeSet, HashMap};

/// Returns the block with such sides of left joins as lateral queries, the innermost first.
pub(super) fn lateral_nests(mut select: BoundSelect) -> BoundSelect {
    let is_lateral = |relation: &Relation| matches!(relation.source, RelationSource::Lateral(_));
    if !select.relations.iter().any(is_lateral) {
        return select;
    }
    while let Some(inside) = select.from.as_ref().and_then(|from| nest(&select, from)) {
        make_lateral(&mut select, &inside);
    }
    select
}

/// Returns the relations of an innermost side that should become a lateral query.
fn nest(select: &BoundSelect, tree: &JoinTree) -> Option<Vec<usize>> {
    match tree {
        JoinTree::Relation(_) => None,
        JoinTree::Inner { children, .. } => children.iter().find_map(|child| nest(select, child)),
        JoinTree::Semi { left, right, .. } => nest(select, left).or_else(|| nest(select, right)),
        JoinTree::Left { left, right, .. } => {
            let below = nest(select, left).or_else(|| nest(select, right));
            if below.is_some() {
                return below;
            }
            let mut inside = Vec::new();
            relations_of(right, &mut inside);
            let depends = inside.iter().any(|relation| depends_on_others(select, *relation, &inside));
            let movable = inside.iter().all(|relation| is_movable(select, *relation));
            (inside.len() > 1 && depends && movable).then_some(inside)
        }
    }
}

fn relations_of(tree: &JoinTree, found: &mut Vec<usize>) {
    match tree {
        JoinTree::Relation(relation) => found.push(*relation),
        JoinTree::Inner { children, .. } => children.iter().for_each(|child| relations_of(child, found)),
        JoinTree::Left { left, right, .. } | JoinTree::Semi { left, right, .. } => {
            relations_of(left, found);
            relations_of(right, found);
        }
    }
}

fn relation_of(select: &BoundSelect, column: ColumnId) -> Option<usize> {
    match select.columns.get(column)?.origin {
        ColumnOrigin::Relation { relation, .. } => Some(relation),
        _ => None,
    }
}

fn is_inside(select: &BoundSelect, column: ColumnId, inside: &[usize]) -> bool {
    relation_of(select, column).is_some_and(|relation| inside.contains(&relation))
}

/// Whether the relation is a lateral query that depends on relations outside `inside`.
fn depends_on_others(select: &BoundSelect, relation: usize, inside: &[usize]) -> bool {
    let Some(RelationSource::Lateral(lateral)) = select.relations.get(relation).map(|r| &r.source) else {
        return false;
    };
    let mut columns = lateral.outer.iter().flat_map(Expr::columns).peekable();
    match columns.peek() {
        None => !inside.contains(&lateral.after),
        Some(_) => columns.any(|column| !is_inside(select, column, inside)),
    }
}

fn is_movable(select: &BoundSelect, relation: usize) -> bool {
    select.relations.get(relation).is_some_and(|relation| {
        let lateral = matches!(relation.source, RelationSource::Lateral(_));
        relation.lock.is_none() && (lateral || !source_depends(&relation.source))
    })
}

/// Replaces the relations `inside`, which are one side of a left join, by one lateral query.
fn make_lateral(select: &mut BoundSelect, inside: &[usize]) {
    let Some(place) = inside.first().copied() else { return };
    let mut side = None;
    select.from = select.from.take().map(|from| with_one_relation(from, inside, place, &mut side));
    let Some((tree, conditions)) = side else { return };
    // If the new query reads no column of another relation, it stands after the relation that the inner lateral queries come
    // after.
    let followed = inside.iter().find_map(|relation| match &select.relations.get(*relation)?.source {
        RelationSource::Lateral(lateral) => Some(lateral.after).filter(|after| !inside.contains(after)),
        _ => None,
    });
    let (query, captures) = inner_query(select, inside, tree, conditions);
    let read = captures.iter().flat_map(Expr::columns).find_map(|column| relation_of(select, column));
    let after = read.or(followed);
    let start = select.columns.len();
    let mut outputs = HashMap::new();
    for (ordinal, output) in query.output.iter().enumerate() {
        let ty = output.expr.ty.clone();
        let origin = ColumnOrigin::Relation { relation: place, ordinal };
        if let Some(column) = output.expr.as_column() {
            outputs.insert(column, Expr { kind: ExprKind::Column(start + ordinal), ty: ty.clone() });
        }
        select.columns.push(BlockColumn { origin, ty });
    }
    substitute(select, &outputs);
    let columns = start..select.columns.len();
    let aliases: Vec<&str> = inside.iter().map(|at| select.relations[*at].alias.as_str()).collect();
    let alias = aliases.join(", ");
    for relation in inside {
        select.relations[*relation] = nothing();
    }
    // Lateral queries that came after one of the relations come after the new query.
    for relation in &mut select.relations {
        if let RelationSource::Lateral(lateral) = &mut relation.source
            && inside.contains(&lateral.after)
        {
            lateral.after = place;
        }
    }
    let lateral = LateralQuery { query, outer: captures, after: after.unwrap_or_default() };
    let source = RelationSource::Lateral(Box::new(lateral));
    select.relations[place] = Relation { alias, source, columns, ..nothing() };
}

/// Replaces, in the tree, the side of a left join with the relations `inside` by the relation `place`. That side moves to `side`,
/// with the join's conditions that can be evaluated in it: rows that they reject do not match either.
fn with_one_relation(
    tree: JoinTree,
    inside: &[usize],
    place: usize,
    side: &mut Option<(JoinTree, Vec<Expr>)>,
) -> JoinTree {
    let mut below = |tree: JoinTree| with_one_relation(tree, inside, place, side);
    match tree {
        JoinTree::Relation(relation) => JoinTree::Relation(relation),
        JoinTree::Inner { children, conditions, straight } => {
            JoinTree::Inner { children: children.into_iter().map(below).collect(), conditions, straight }
        }
        JoinTree::Semi { left, right, conditions, negated } => {
            let (left, right) = (Box::new(below(*left)), Box::new(below(*right)));
            JoinTree::Semi { left, right, conditions, negated }
        }
        JoinTree::Left { left, right, conditions } => {
            let mut found = Vec::new();
            relations_of(&right, &mut found);
            if found != inside {
                let (left, right) = (Box::new(below(*left)), Box::new(below(*right)));
                return JoinTree::Left { left, right, conditions };
            }
            let is_simple = |condition: &Expr| !condition.is_volatile() && !condition.has_subquery();
            let (moved, conditions) = conditions.into_iter().partition(is_simple);
            *side = Some((*right, moved));
            JoinTree::Left { left, right: Box::new(JoinTree::Relation(place)), conditions }
        }
    }
}

/// Makes the query that joins the relations `inside` as in `tree`, under conditions. Returns also the expressions that the query
/// depends on.
fn inner_query(
    select: &BoundSelect,
    inside: &[usize],
    tree: JoinTree,
    conditions: Vec<Expr>,
) -> (BoundSelect, Vec<Expr>) {
    let mut moved: Vec<&Expr> = conditions.iter().collect();
    conditions_of(&tree, &mut moved);
    for relation in inside {
        if let RelationSource::Lateral(lateral) = &select.relations[*relation].source {
            moved.extend(&lateral.outer);
        }
    }
    let captures = captures(select, inside, &moved);
    let handed = |expr: &Expr| {
        expr.replace_columns(&mut |column| {
            let is_it = |value: &Expr| value.as_column() == Some(column);
            let number = captures.iter().position(is_it)?;
            captures.get(number).map(|value| outer(number, value.ty.clone()))
        })
    };
    let mut relations = select.relations.clone();
    let alone = relations.len();
    let mut from = map_tree(tree.clone(), &JoinTree::Relation, &handed);
    let mut comes_alone = false;
    for (at, relation) in relations.iter_mut().enumerate() {
        if !inside.contains(&at) {
            *relation = nothing();
        } else if let RelationSource::Lateral(lateral) = &mut relation.source {
            lateral.outer = lateral.outer.iter().map(handed).collect();
            if lateral.outer.iter().all(|expr| expr.columns().is_empty()) {
                lateral.after = alone;
                comes_alone = true;
            }
        }
    }
    // An inner lateral query that now depends on no relation inside comes after a relation of one row.
    if comes_alone {
        relations.push(Relation { source: RelationSource::Values(vec![Vec::new()]), ..nothing() });
        let children = vec![JoinTree::Relation(alone), from];
        from = JoinTree::Inner { children, conditions: Vec::new(), straight: false };
    }
    let of = |relation: &usize| select.relations[*relation].columns.clone();
    let output = inside.iter().flat_map(of).map(|column| BoundOutput::unnamed(column_of(select, column)));
    let query = BoundSelect {
        relations,
        columns: select.columns.clone(),
        output: output.collect(),
        filter: conditions.iter().map(handed).collect(),
        from: Some(from),
        ..empty_block()
    };
    (query, captures)
}

/// Returns the captures of expressions that move into the new query: first the values that the block itself receives, with their
/// numbers, then columns of its other relations.
fn captures(select: &BoundSelect, inside: &[usize], moved: &[&Expr]) -> Vec<Expr> {
    let mut captures = Vec::new();
    for expr in moved {
        expr.visit(&mut |e| {
            if let ExprKind::Outer(number) = e.kind {
                if captures.len() <= number {
                    captures.resize(number + 1, build::literal(Value::Null));
                }
                captures[number] = e.clone();
            }
            true
        });
    }
    let columns: BTreeSet<usize> = moved.iter().flat_map(|expr| expr.columns()).collect();
    let outside = columns.into_iter().filter(|column| !is_inside(select, *column, inside));
    captures.extend(outside.map(|column| column_of(select, column)));
    captures
}

fn column_of(select: &BoundSelect, column: ColumnId) -> Expr {
    Expr { kind: ExprKind::Column(column), ty: select.columns[column].ty.clone() }
}

/// Makes a relation without rows and columns, in place of one that moved elsewhere.
fn nothing() -> Relation {
    Relation {
        alias: String::new(),
        database: String::new(),
        source: RelationSource::Values(Vec::new()),
        columns: 0..0,
        hints: TableHints::default(),
        lock: None,
        view: None,
        generated: Default::default(),
        granted: TableRights::EVERYTHING,
    }
}
