//! Moves conditions on derived tables into them.
//!
//! A condition of WHERE on the columns of one derived table holds for its rows wherever it is evaluated. It can stand below
//! grouping if it reads only group keys, otherwise it becomes a condition of HAVING; in a set operation it goes to every operand.
//! Where rows are merged that are equal but not identical (text under a collation), the condition stays above.

use crate::bound::merge::is_nullable;
use crate::bound::{BoundSelect, RelationSource, SetOperation};
use leafline_expr::{Expr, ExprKind, build};
use leafline_types::{ExprType, SqlType};
use std::collections::BTreeSet;

/// Moves conditions of the block into the derived tables that they read. `wanted` is the choice where hints give none.
pub(super) fn pushed_down(mut select: BoundSelect, wanted: bool) -> BoundSelect {
    let filter = std::mem::take(&mut select.filter);
    for condition in filter {
        if !push(&mut select, &condition, wanted) {
            select.filter.push(condition);
        }
    }
    select
}

/// Moves a condition into the relation that it reads, if it can stand there.
fn push(select: &mut BoundSelect, condition: &Expr, wanted: bool) -> bool {
    let is_fixed = condition.has_subquery() || condition.is_volatile();
    let columns = condition.columns();
    let Some(at) = columns
        .first()
        .and_then(|first| select.relations.iter().position(|relation| relation.columns.contains(first)))
    else {
        return false;
    };
    let optional = select.from.as_ref().is_none_or(|from| is_nullable(from, at, false));
    let relation = &mut select.relations[at];
    let unwanted = !relation.hints.condition_pushdown.unwrap_or(wanted);
    if unwanted || is_fixed || optional || !columns.iter().all(|column| relation.columns.contains(column)) {
        return false;
    }
    let start = relation.columns.start;
    let over_outputs = condition.map_columns(&mut |column| column - start);
    let columns = columns.into_iter().map(|column| column - start).collect();
    match &mut relation.source {
        RelationSource::Derived(query) if accepts_conjuncts(query, &columns) => {
            add(query, &over_outputs, None);
            true
        }
        RelationSource::SetOperation(operation) => push_to_operands(operation, &over_outputs, &columns),
        _ => false,
    }
}

fn push_to_operands(operation: &mut SetOperation, condition: &Expr, columns: &BTreeSet<usize>) -> bool {
    let SetOperation { first, steps } = operation;
    let all = steps.iter().all(|step| step.all);
    let types = types_of(condition);
    let same = all || types.iter().all(|(_, ty)| equal_is_same(ty));
    if !same
        || !accepts_conjuncts(first, columns)
        || !steps.iter().all(|step| accepts_conjuncts(&step.operand, columns))
    {
        return false;
    }
    add(first, condition, Some(&types));
    steps.iter_mut().for_each(|step| add(&mut step.operand, condition, Some(&types)));
    true
}

/// Whether a condition on these outputs of a query can be evaluated inside it.
fn accepts_conjuncts(query: &BoundSelect, columns: &BTreeSet<usize>) -> bool {
    let outputs: Vec<&Expr> =
        columns.iter().filter_map(|column| query.output.get(*column)).map(|output| &output.expr).collect();
    outputs.len() == columns.len()
        && query.from.is_some()
        && query.limit.is_none()
        && query.windows.is_empty()
        && query.aggregation.as_ref().is_none_or(|aggregation| aggregation.rollup.is_none())
        && query.relations.iter().all(|relation| relation.lock.is_none())
        && outputs.iter().all(|output| {
            !output.is_volatile() && !output.has_subquery() && (!query.distinct || equal_is_same(&output.ty))
        })
}

/// Adds a condition on a query's outputs to the query. With `types`, the condition reads the outputs converted to these types.
fn add(query: &mut BoundSelect, condition: &Expr, types: Option<&[(usize, ExprType)]>) {
    let over_columns = condition.replace_columns(&mut |column| {
        let output = query.output.get(column)?.expr.clone();
        let ty = types.and_then(|types| types.iter().find(|(known, _)| *known == column));
        Some(match ty {
            Some((_, ty)) => build::conformed(output, ty),
            None => output,
        })
    });
    let Some(aggregation) = &query.aggregation else {
        query.filter.push(over_columns);
        return;
    };
    let key = |column: usize| {
        let key = aggregation.keys.iter().find(|key| key.out == column)?;
        equal_is_same(&key.expr.ty).then(|| key.expr.clone())
    };
    let columns = over_columns.columns();
    if columns.is_empty() || columns.iter().any(|column| key(*column).is_none()) {
        query.having.push(over_columns);
    } else {
        query.filter.push(over_columns.replace_columns(&mut { key }));
    }
}

/// Returns the columns of an expression with their types.
fn types_of(expr: &Expr) -> Vec<(usize, ExprType)> {
    let mut types = Vec::new();
    expr.visit(&mut |e| {
        if let ExprKind::Column(column) = e.kind {
            types.push((column, e.ty.clone()));
        }
        true
    });
    types
}

/// Whether values that are equal to grouping are the same to every condition.
fn equal_is_same(ty: &ExprType) -> bool {
    !ty.sql.is_real() && ty.sql != SqlType::Json && (!ty.sql.is_string() || ty.collation.equal_is_same())
}
