//! Merges a derived table that is only a join and a filter into the block around it. The caller has checked that with
//! `is_join_and_filter`.

use super::{
    BlockColumn, BlockHints, BoundSelect, ColumnId, ColumnOrigin, JoinTree, Relation, RelationSource,
};
use leafline_expr::Expr;
use std::collections::HashMap;

pub(crate) fn empty_block() -> BoundSelect {
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
        joined: Vec::new(),
    }
}

impl BoundSelect {
    /// Whether the block is only a join and a filter.
    pub(crate) fn is_join_and_filter(&self) -> bool {
        self.aggregation.is_none()
            && self.having.is_empty()
            && self.windows.is_empty()
            && !self.distinct
            && self.limit.is_none()
            && self.from.is_some()
    }

    /// Calls `f` on each expression of the block itself, subqueries excluded.
    pub fn for_each_expr(&self, f: &mut dyn FnMut(&Expr)) {
        fn of_tree(tree: &JoinTree, f: &mut dyn FnMut(&Expr)) {
            let (children, conditions): (Vec<&JoinTree>, _) = match tree {
                JoinTree::Relation(_) => return,
                JoinTree::Inner { children, conditions, .. } => (children.iter().collect(), conditions),
                JoinTree::Left { left, right, conditions }
                | JoinTree::Semi { left, right, conditions, .. } => (vec![left, right], conditions),
            };
            children.into_iter().for_each(|child| of_tree(child, f));
            conditions.iter().for_each(f);
        }
        self.from.iter().for_each(|tree| of_tree(tree, f));
        self.filter.iter().chain(&self.having).for_each(&mut *f);
        if let Some(aggregation) = &self.aggregation {
            aggregation.keys.iter().for_each(|key| f(&key.expr));
            aggregation.aggregates.iter().flat_map(|aggregate| &aggregate.call.args).for_each(&mut *f);
        }
        for window in &self.windows {
            window.clone().for_each_expr_mut(&mut |expr| f(expr));
        }
        self.output.iter().for_each(|output| f(&output.expr));
        self.order_by.iter().for_each(|key| f(&key.expr));
        for relation in &self.relations {
            match &relation.source {
                RelationSource::Lateral(lateral) => lateral.outer.iter().for_each(&mut *f),
                RelationSource::JsonTable(table) => f(&table.document),
                RelationSource::Values(rows) => rows.iter().flatten().for_each(&mut *f),
                _ => {}
            }
        }
    }
}

/// Whether the relation is on the right side of a left join. `inside`: `tree` itself is on such a side.
pub(crate) fn is_nullable(tree: &JoinTree, position: usize, inside: bool) -> bool {
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

/// Replaces the derived table at `position` by its relations and conditions, and its columns by their expressions. Its first
/// relation takes its position, the others follow the last relation of `outer`. Returns the new numbers of its columns.
pub(crate) fn merge(outer: &mut BoundSelect, position: usize) -> HashMap<ColumnId, ColumnId> {
    let mut numbers = HashMap::new();
    let RelationSource::Derived(inner) = &outer.relations[position].source else { return numbers };
    let inner = inner.as_ref().clone();
    let nullable = outer.from.as_ref().is_some_and(|from| is_nullable(from, position, false));
    let columns = outer.relations[position].columns.clone();
    // The first relation takes the derived table's place, the others the places behind the last one.
    let place = |relation: usize, count: usize| if relation == 0 { position } else { count + relation - 1 };
    let count = outer.relations.len();
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
    let renumber = |expr: &Expr| expr.map_columns(&mut |column| numbers[&column]);
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
    let Some(mut subtree) = inner_tree else { return numbers };
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
    numbers
}

/// Replaces the derived table's columns by their expressions.
pub(crate) fn substitute(select: &mut BoundSelect, outputs: &HashMap<usize, Expr>) {
    for_each_expr_mut(select, &mut |expr| {
        *expr = expr.replace_columns(&mut |column| outputs.get(&column).cloned());
    });
    if let Some(from) = select.from.take() {
        let replaced = |expr: &Expr| expr.replace_columns(&mut |column| outputs.get(&column).cloned());
        select.from = Some(map_tree(from, &JoinTree::Relation, &replaced));
    }
}

/// Calls `f` on the expressions of a block, join conditions excluded.
pub(crate) fn for_each_expr_mut(select: &mut BoundSelect, f: &mut dyn FnMut(&mut Expr)) {
    select.filter.iter_mut().for_each(&mut *f);
    select.having.iter_mut().for_each(&mut *f);
    for relation in &mut select.relations {
        if let RelationSource::Lateral(lateral) = &mut relation.source {
            lateral.outer.iter_mut().for_each(&mut *f);
        }
    }
    select.windows.iter_mut().for_each(|window| window.for_each_expr_mut(f));
    select.output.iter_mut().for_each(|output| f(&mut output.expr));
    select.order_by.iter_mut().for_each(|key| f(&mut key.expr));
    if let Some(aggregation) = &mut select.aggregation {
        aggregation.keys.iter_mut().for_each(|key| f(&mut key.expr));
        for aggregate in &mut aggregation.aggregates {
            aggregate.call.args.iter_mut().for_each(&mut *f);
        }
    }
}

pub(crate) fn map_tree(
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
