//! Places runtime filters on the finished plan: scans that receive the keys of hash joins.
//!
//! A row of the probe side without match is not in the result of an inner join or a semi join. So the keys of the build side,
//! once known, are a condition on the column that they are compared with, on any scan below the probe side that delivers it:
//!
//! | passed on the way down | if |
//! |---|---|
//! | filters, sorts, DISTINCT, derived tables, projections of the column | always |
//! | grouping | the column is a group key: groups are kept or dropped as a whole |
//! | the outer side of a join; the probe side of a hash join | always |
//! | the inner side of a join; the build side of a hash join | it is an inner join |
//!
//! Filters do not pass limits, window functions, set operations, or nodes that are read more than once or by several readers.

use super::settings::RuntimeFilterSettings;
use crate::plan::{ColumnOrigin, HashJoin, KeyFilter, Node, Operator, Scan};
use leafline_access::JoinType;
use leafline_expr::{Expr, ExprKind};
use leafline_table::TableDef;
use leafline_types::SqlType;
use std::sync::Arc;

/// Places filters where they are expected to pay, and returns the next free number.
pub(super) fn place_filters(at: &mut Node, filtering: RuntimeFilterSettings, next: usize) -> usize {
    let rows = at.estimate.rows;
    let mut next = next;
    if let Operator::HashJoin(join) = &mut at.operator {
        next = place(join, rows, filtering, next);
    }
    at.inputs_mut().into_iter().fold(next, |next, input| place_filters(input, filtering, next))
}

fn place(join: &mut HashJoin, rows: f64, filtering: RuntimeFilterSettings, mut next: usize) -> usize {
    let probed = join.probe.estimate.rows;
    let is_selective = rows <= probed * filtering.most_left && join.build.estimate.rows <= probed;
    if !is_selective || !matches!(join.join_type, JoinType::Inner | JoinType::Semi) {
        return next;
    }
    let keys = join.keys.iter().zip(join.null_safe.iter()).zip(join.domains.iter());
    for (((probe, build), null_safe), domain) in keys {
        let (Some(probe), Some(build)) = (plain_column(probe), plain_column(build)) else { continue };
        let ty = join.build.types[build].sql.clone();
        if *null_safe || !is_kept_plainly(&ty) {
            continue;
        }
        if let Some((table, column)) = tell(&mut join.probe, probe, next, 1.0, filtering) {
            join.filters.push(KeyFilter { number: next, build, ty, domain: *domain, table, column });
            next += 1;
        }
    }
    next
}

/// Returns the column of a key, ignoring its conversion for the comparison.
fn plain_column(key: &Expr) -> Option<usize> {
    match &key.kind {
        ExprKind::Cast { operand } => operand.as_column(),
        _ => key.as_column(),
    }
}

/// Whether values of a type mean the same everywhere. TIMESTAMP depends on a time zone, ENUM and SET on their members.
fn is_kept_plainly(ty: &SqlType) -> bool {
    ty.is_integer()
        || ty.is_string()
        || matches!(ty, SqlType::Decimal { .. } | SqlType::Date | SqlType::DateTime { .. })
}

/// Gives the filter to the scan that delivers a column, and returns the table and the column there. `loops` is the number of runs
/// of the node.
fn tell(
    at: &mut Node,
    column: usize,
    number: usize,
    loops: f64,
    filtering: RuntimeFilterSettings,
) -> Option<(Arc<TableDef>, usize)> {
    at.types.get(column)?;
    match at.operator.as_node().column_origin(column)? {
        ColumnOrigin::Input(input, column) => {
            let input = at.inputs_mut().into_iter().nth(input)?;
            tell(input, column, number, loops, filtering)
        }
        ColumnOrigin::Scan(column) => {
            let outer_rows: f64 = at.inputs().iter().map(|outer| outer.estimate.rows).product();
            tell_scan(at.scan_mut()?, column, number, loops * outer_rows, filtering)
        }
    }
}

fn tell_scan(
    scan: &mut Arc<Scan>,
    column: usize,
    number: usize,
    loops: f64,
    filtering: RuntimeFilterSettings,
) -> Option<(Arc<TableDef>, usize)> {
    let path = &scan.path;
    let ordinal = *path.columns.get(..path.delivered)?.get(column)?;
    let part = path.index.key_columns.iter().position(|column| *column == ordinal);
    let narrows = match (path.is_clustered(), part) {
        (true, Some(part)) => part <= path.constraint.used_parts(),
        (true, None) => true,
        (false, part) => part.is_some(),
    };
    let worth = scan.examined * loops >= filtering.least_entries;
    let plain = path.table.columns.get(ordinal).is_some_and(|column| is_kept_plainly(&column.ty));
    if !(narrows && worth && plain) || path.is_index_merge() {
        return None;
    }
    let table = path.table.clone();
    Arc::make_mut(scan).filters.push((number, ordinal));
    Some((table, ordinal))
}
