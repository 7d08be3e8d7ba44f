//! Notes on a scan that the tree, the JSON document and the console share.

use crate::plan::{Considered, Scan, access_label, column_name, named_columns, text};
use leafline_access::{AccessPath, PartUse};

/// Returns the conditions of an access path, each with the step that evaluates it. `outer` names the columns of the outer row.
pub(super) fn condition_lines(scan: &Scan, outer: &[String]) -> Vec<String> {
    let path = &scan.path;
    let on = [
        ("index condition", &path.index_conditions, &path.index_condition_columns),
        ("condition", &path.residual_filter, &path.columns),
    ];
    let mut lines = Vec::new();
    for (what, conditions, columns) in on {
        let mut columns = named_columns(scan, columns);
        columns.extend_from_slice(outer);
        for implied in [true, false] {
            let exprs: Vec<String> = conditions
                .iter()
                .filter(|condition| condition.implied == implied)
                .map(|condition| text(&condition.expr, &columns))
                .collect();
            if !exprs.is_empty() {
                let how = match (implied, path.search()) {
                    (true, Some(_)) => "by words",
                    (true, None) => "by key bytes",
                    (false, _) => what,
                };
                lines.push(format!("{how}: {}", exprs.join(" and ")));
            }
        }
    }
    lines
}

/// Returns the paths that were compared with the chosen one. Of paths with equal names only the cheapest is kept.
pub(super) fn rejected<'s>(scan: &'s Scan, chosen: &str) -> Vec<(String, &'s Considered)> {
    let mut found: Vec<(String, &Considered)> = Vec::new();
    for considered in &scan.considered {
        let label = access_label(&considered.path, &scan.alias, considered.path.constraint.is_correlated());
        // The order of scores is the same path.
        let is_taken = label == chosen || scan.path.search().is_some() && considered.path.search().is_some();
        if !is_taken && found.iter().all(|(known, _)| *known != label) {
            found.push((label, considered));
        }
    }
    found
}

/// Returns the declared parts of a path's index, and how the path uses them.
pub(super) fn part_uses(path: &AccessPath) -> Vec<(String, PartUse)> {
    let columns = path.index.key_columns.iter().map(|column| path.table.columns.get(*column));
    let names = columns.map(|column| column.map(column_name).unwrap_or_default());
    names.zip(path.part_uses()).collect()
}
