//! Texts for access paths: the line of EXPLAIN FORMAT=TREE, and MySQL's name of the access type.

use leafline_access::{AccessPath, PathKind, ScanOrder, Scores};

/// Returns the line of EXPLAIN FORMAT=TREE for an access path; `inner`: on the inner side of a lookup join.
pub fn access_label(path: &AccessPath, alias: &str, inner: bool) -> String {
    let covering = if path.is_covering() { "Covering index" } else { "Index" };
    let index = &path.index.name;
    let reverse = if path.order == ScanOrder::Reverse { " (reverse)" } else { "" };
    let filtered = match path.rowid_filter() {
        Some(set) => format!(", rows in {set}"),
        None => String::new(),
    };
    let hypothetical = if is_hypothetical(path) { " (hypothetical)" } else { "" };
    let merged = if path.merged.is_some() { ", ranges merged in order" } else { "" };
    let reverse = format!("{hypothetical}{merged}{reverse}{filtered}");
    match access_type(path, inner) {
        "index_merge" => {
            let set = path.source.locators().map(|set| format!(" using {set}")).unwrap_or_default();
            format!("Index merge on {alias}{set}{reverse}")
        }
        "fulltext" => {
            let set = path.source.locators().map(|set| set.to_string()).unwrap_or_default();
            let hints = search_hints(path);
            let hints = if hints.is_empty() { hints } else { format!(" ({hints})") };
            format!("Full-text index search on {alias} using {set}{hints}")
        }
        "ALL" => format!("Table scan on {alias}{reverse}"),
        "index" => format!("{covering} scan on {alias} using {index}{reverse}"),
        "const" | "eq_ref" => format!("Single-row index lookup on {alias} using {index}"),
        "ref" => format!("{covering} lookup on {alias} using {index}{reverse}"),
        "range" if let Some(first_of) = path.first_of() => {
            let wanted = match first_of.count {
                1 if first_of.both_ends => "both ends of each group".to_string(),
                1 => "grouping".to_string(),
                count => format!("the first {count} of each value"),
            };
            format!("{covering} skip scan for {wanted} on {alias} using {index}{reverse}")
        }
        "range" if path.kind() == PathKind::SkipScan => {
            format!("{covering} skip scan on {alias} using {index}{reverse}")
        }
        _ => format!("{covering} range scan on {alias} using {index}{reverse}"),
    }
}

/// Returns MySQL's name of the access type.
pub fn access_type(path: &AccessPath, inner: bool) -> &'static str {
    let constraint = &path.constraint;
    match path.kind() {
        PathKind::IndexMerge => "index_merge",
        PathKind::Search => "fulltext",
        // InnoDB shows a read of all rows in the order of the primary key, where that order is wanted, as a read of an index.
        PathKind::TableScan if path.order != ScanOrder::Any && path.index.is_primary() => "index",
        PathKind::TableScan => "ALL",
        PathKind::SkipScan | PathKind::LooseScan => "range",
        PathKind::IndexScan => "index",
        PathKind::UniqueLookup if inner => "eq_ref",
        PathKind::UniqueLookup => "const",
        PathKind::RangeScan => {
            let equal = constraint.equal_parts();
            if equal == constraint.used_parts() || (inner && equal > 0) { "ref" } else { "range" }
        }
    }
}

/// Returns MySQL's words for what a search need not do, or does beside finding rows.
pub(crate) fn search_hints(path: &AccessPath) -> String {
    match path.scores {
        None => "no_ranking".to_owned(),
        Some(Scores { in_order: true, most: Some(most), .. }) => format!("sorted, limit = {most}"),
        Some(Scores { in_order: true, .. }) => "sorted".to_owned(),
        Some(_) => String::new(),
    }
}

/// Whether the path reads a hypothetical index, so that it cannot run.
pub(crate) fn is_hypothetical(path: &AccessPath) -> bool {
    let merged = path.source.locators().into_iter().flat_map(|set| set.paths());
    path.index.is_hypothetical() || merged.into_iter().any(|path| path.index.is_hypothetical())
}
