//! Merges derived tables that are only a join and a filter into the block around them.

use crate::bound::merge::{empty_block, is_nullable, merge};
use crate::bound::{BoundSelect, MAX_RELATIONS, RelationSource};
use leafline_expr::ExprKind;
use std::sync::atomic::Ordering;

/// Merges the simple derived tables of the block, inner ones first. `wanted` is the choice where hints give none.
pub(super) fn merged(mut select: BoundSelect, wanted: bool) -> BoundSelect {
    for relation in &mut select.relations {
        // A common table with one reference is a derived table there.
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

/// Whether merging keeps the rows. On the right side of a left join every column must be NULL when the columns of its tables are.
fn is_mergeable(inner: &BoundSelect, outer: &BoundSelect, position: usize) -> bool {
    let plain = inner.is_join_and_filter()
        && inner.output.iter().all(|output| !output.expr.is_volatile() && !output.expr.has_subquery());
    let columns_only = || inner.output.iter().all(|output| matches!(output.expr.kind, ExprKind::Column(_)));
    let inner_side = || outer.from.as_ref().is_some_and(|from| !is_nullable(from, position, false));
    let many = inner.relations.len() + outer.relations.len() - 1;
    let lateral =
        inner.relations.iter().any(|relation| matches!(relation.source, RelationSource::Lateral(_)));
    plain && !lateral && many <= MAX_RELATIONS && (inner_side() || columns_only())
}
