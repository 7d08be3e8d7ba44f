//! Names for the columns of a node, so that conditions can be printed.

use crate::plan::{Node, Operator, Scan};
use leafline_table::ColumnDef;

/// The names of the columns that a node delivers.
pub(super) fn names(node: &Node) -> Vec<String> {
    let mut found = match &node.operator {
        Operator::JsonTable(table) => {
            let name = |at| table.level.column_name(at).unwrap_or_default().to_owned();
            (0..node.types.len()).map(name).collect()
        }
        Operator::Values(_)
        | Operator::Empty(_)
        | Operator::Common { .. }
        | Operator::Working { .. }
        | Operator::Recursive(_) => Vec::new(),
        Operator::Append { inputs } => inputs.first().map(names).unwrap_or_default(),
        Operator::Matched { left, .. } => names(left),
        Operator::Scan(scan) => delivered(scan),
        Operator::Filter { input, .. }
        | Operator::Sort { input, .. }
        | Operator::TopN { input, .. }
        | Operator::Limit { input, .. }
        | Operator::Distinct { input } => names(input),
        Operator::Guarded { first, .. } => names(first),
        Operator::Parallel { input, .. } => names(input),
        Operator::LockRows(locking) => names(&locking.input),
        Operator::Derived { input, alias } => of_derived(alias, names(input)),
        Operator::Project { input, expressions } => {
            let input = names(input);
            expressions.iter().map(|expr| text(expr, &input)).collect()
        }
        Operator::Aggregate { input, keys, .. } => {
            let input = names(input);
            keys.iter().map(|key| text(key, &input)).collect()
        }
        Operator::Rollup { input, keys, .. } => {
            let mut all = names(input);
            let keys: Vec<String> = keys.iter().map(|key| text(key, &all)).collect();
            all.extend(keys);
            all.push("level".to_owned());
            all
        }
        Operator::Window { input, window } => {
            let mut all = names(input);
            let calls: Vec<String> = window.calls.iter().map(|call| window_call(call, &all)).collect();
            all.extend(calls);
            all
        }
        Operator::LookupJoin { outer, inner, rows, .. } => {
            let mut all = names(outer);
            if rows.delivers_partners() {
                all.extend(delivered(inner));
            }
            all
        }
        Operator::LateralJoin(join) => {
            let mut all = names(&join.outer);
            all.extend(of_derived(&join.alias, names(&join.inner)));
            all
        }
        Operator::HashJoin(join) => {
            let mut all = names(&join.probe);
            if join.rows.delivers_partners() {
                all.extend(names(&join.build));
            }
            all
        }
    };
    for position in found.len()..node.types.len() {
        found.push(format!("#{position}"));
    }
    found
}

/// The names of the columns of a derived table: those of columns inside it, nothing for what is computed.
fn of_derived(alias: &str, inner: Vec<String>) -> Vec<String> {
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
    let base = |(at, name): (usize, String)| match name.rsplit('.').next() {
        Some(base) if is_name(base) => format!("{alias}.{base}"),
        _ => format!("#{at}"),
    };
    inner.into_iter().enumerate().map(base).collect()
}

fn delivered(scan: &Scan) -> Vec<String> {
    named(scan, scan.path.columns.iter().take(scan.path.delivered))
}

/// The names of table columns under the scan's alias.
pub(super) fn named<'c>(scan: &Scan, ordinals: impl IntoIterator<Item = &'c usize>) -> Vec<String> {
    ordinals
        .into_iter()
        .filter_map(|ordinal| scan.path.table.columns.get(*ordinal))
        .map(|column| match column.is_hidden() {
            true => column_name(column),
            false => format!("{}.{}", scan.alias, column.name),
        })
        .collect()
}

/// The name of a table's column; for that of a functional key part its expression.
pub(super) fn column_name(column: &ColumnDef) -> String {
    match &column.generated {
        Some(generated) if column.is_hidden() => format!("({})", generated.expression),
        _ => column.name.clone(),
    }
}

/// An expression with the names of its input's columns.
pub(super) fn text(expr: &leafline_expr::Expr, names: &[String]) -> String {
    let name = |column: usize| names.get(column).filter(|name| !name.starts_with('#')).cloned();
    expr.display_with(&name).to_string()
}

/// A window function with its arguments.
pub(super) fn window_call(call: &crate::window::WindowCall, names: &[String]) -> String {
    let args: Vec<String> = call.args().into_iter().map(|arg| text(arg, names)).collect();
    let star = matches!(&call.function, crate::window::WindowFunction::Aggregate(_)) && args.is_empty();
    format!("{}({})", call.name().to_lowercase(), if star { "*".to_owned() } else { args.join(", ") })
}
