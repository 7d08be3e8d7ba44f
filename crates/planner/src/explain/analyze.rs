//! A plan as a tree of text, with what was expected and, after an execution, what happened.

use super::names::{column_name, named, names, text, window_call};
use super::{access_type, is_hypothetical};
use crate::plan::{
    Considered, HashInstead, KeptRows, LateralJoin, LimitValue, LockRows, LockedTable, Node, Operator, Plan,
    RowLimit, Scan, SortKey, Window,
};
use crate::profile::{NodeProfile, Profile};
use crate::window::Reach;
use leafline_access::{AccessPath, JoinRows, PartUse, ScanOrder};
use leafline_expr::Expr;
use leafline_table::{LockStrength, LockWait};
use std::fmt::Write;

/// The tree of a plan; with a profile, as EXPLAIN ANALYZE shows it.
pub fn explain_tree(plan: &Plan, profile: Option<&Profile>) -> String {
    let mut tree = Tree { text: String::new(), profile };
    tree.node(&plan.root, 0);
    tree.text
}

struct Tree<'p> {
    text: String,
    profile: Option<&'p Profile>,
}

impl Tree<'_> {
    fn node(&mut self, node: &Node, depth: usize) {
        let label = step_label(node);
        let figures = self.figures(node.id);
        let has_own = !matches!(node.operator, Operator::Derived { .. });
        let access = matches!(node.operator, Operator::Scan(_));
        self.line(
            depth,
            &label,
            node.estimate.rows,
            Some(node.estimate.cost_us),
            figures.filter(|_| has_own),
            access,
        );
        if let Operator::Scan(scan) = &node.operator {
            self.conditions(scan, &[], depth + 1);
            self.choice(scan, false, depth + 1);
        }
        for input in node.inputs() {
            self.node(input, depth + 1);
        }
        if let Operator::LookupJoin { outer, inner, instead, .. } = &node.operator {
            let figures = self.figures(inner.id);
            let rows = inner.examined * inner.filtered / 100.0;
            self.line(depth + 1, &access_label(&inner.path, &inner.alias, true), rows, None, figures, true);
            self.conditions(inner, &names(outer), depth + 2);
            self.choice(inner, true, depth + 2);
            if let Some(instead) = instead {
                let HashInstead { after, build, .. } = &**instead;
                let width = (depth + 1) * 4;
                let _ = writeln!(
                    self.text,
                    "{:width$}after {after} outer rows and entries, a hash join of the other rows with:",
                    ""
                );
                self.node(build, depth + 2);
            }
        }
    }

    fn figures(&self, id: usize) -> Option<NodeProfile> {
        self.profile.map(|profile| profile.node(id))
    }

    fn line(
        &mut self,
        depth: usize,
        label: &str,
        rows: f64,
        cost_us: Option<f64>,
        figures: Option<NodeProfile>,
        access: bool,
    ) {
        let _ = write!(self.text, "{:width$}-> {label}  (", "", width = depth * 4);
        if let Some(cost) = cost_us {
            let _ = write!(self.text, "cost={:.3} ms ", cost / 1000.0);
        }
        let _ = write!(self.text, "rows={})", short(rows));
        if let Some(figures) = figures {
            if figures.loops == 0 {
                self.text.push_str(" (never executed)");
            } else {
                let ms = |time: std::time::Duration| time.as_secs_f64() * 1000.0;
                let _ = write!(
                    self.text,
                    " (actual time={:.3}..{:.3} ms rows={} loops={})",
                    ms(figures.first),
                    ms(figures.time),
                    figures.rows,
                    figures.loops
                );
            }
            if access {
                let _ = write!(
                    self.text,
                    " (entries examined={} rows fetched={} pages requested={} pages read={})",
                    figures.counters.leafline_entries_examined,
                    figures.counters.leafline_rows_fetched,
                    figures.page_requests,
                    figures.pages_read
                );
            }
        }
        self.text.push('\n');
    }

    /// What the parts of the key are used for, and the ways to read the table that were not taken.
    fn choice(&mut self, scan: &Scan, inner: bool, depth: usize) {
        let width = depth * 4;
        if scan.path.index.parts.len() > 1 && !scan.path.is_table_scan() && !scan.path.is_index_merge() {
            let parts = part_uses(&scan.path).into_iter().map(|(column, used)| format!("{column} {used}"));
            let parts: Vec<String> = parts.collect();
            let _ = writeln!(self.text, "{:width$}key parts: {}", "", parts.join(", "));
        }
        let chosen = access_label(&scan.path, &scan.alias, inner);
        let rejected = rejected(scan, &chosen);
        if !rejected.is_empty() {
            let of = |(label, considered): &(String, &Considered)| {
                format!("{label} ({:.3} ms)", considered.cost_us / 1000.0)
            };
            let ways: Vec<String> = rejected.iter().map(of).collect();
            let _ = writeln!(self.text, "{:width$}not taken: {}", "", ways.join(", "));
        }
    }

    /// The conditions of an access path, each on the line of the step that evaluates it.
    fn conditions(&mut self, scan: &Scan, outer: &[String], depth: usize) {
        if !scan.filters.is_empty() {
            let columns = named(scan, scan.filters.iter().map(|(_, column)| column));
            let _ =
                write!(self.text, "{:width$}runtime filter on {}", "", columns.join(", "), width = depth * 4);
            if let Some(figures) = self.figures(scan.id) {
                let _ = write!(self.text, " (rows removed={})", figures.counters.leafline_runtime_filtered);
            }
            self.text.push('\n');
        }
        for line in condition_lines(scan, outer) {
            let _ = writeln!(self.text, "{:width$}{line}", "", width = depth * 4);
        }
    }
}

/// The conditions of an access path, each with the step that evaluates it; the outer row has columns of these names.
pub(super) fn condition_lines(scan: &Scan, outer: &[String]) -> Vec<String> {
    let path = &scan.path;
    let on = [
        ("index condition", &path.entry_conditions, &path.entry_columns),
        ("condition", &path.row_conditions, &path.columns),
    ];
    let mut lines = Vec::new();
    for (what, conditions, columns) in on {
        let mut columns = named(scan, columns);
        columns.extend_from_slice(outer);
        for implied in [true, false] {
            let exprs: Vec<String> = conditions
                .iter()
                .filter(|condition| condition.implied == implied)
                .map(|condition| text(&condition.expr, &columns))
                .collect();
            if !exprs.is_empty() {
                let how = if implied { "by key bytes" } else { what };
                lines.push(format!("{how}: {}", exprs.join(" and ")));
            }
        }
    }
    lines
}

/// What a step of a plan does, in words.
pub(super) fn step_label(node: &Node) -> String {
    match &node.operator {
        Operator::Values(rows) => format!("Rows fetched before execution: {}", rows.len()),
        Operator::JsonTable(_) => "Materialize table function".to_string(),
        Operator::Empty(reason) => format!("Zero rows ({reason:?})"),
        Operator::Scan(scan) => access_label(&scan.path, &scan.alias, false),
        Operator::Parallel { share, .. } => format!("Parallel: up to {} threads", share.threads),
        Operator::Filter { input, conditions } => format!("Filter: {}", all(conditions, &names(input))),
        Operator::Project { .. } => "Project".to_string(),
        Operator::LookupJoin { rows, .. } => match rows {
            JoinRows::Matching => "Index lookup inner join".to_string(),
            JoinRows::AllOuter => "Index lookup left join".to_string(),
            JoinRows::Semi => "Index lookup semijoin".to_string(),
            JoinRows::Anti => "Index lookup antijoin".to_string(),
        },
        Operator::LateralJoin(join) => lateral_label(node, join),
        Operator::HashJoin(join) => hash_label(join),
        Operator::Aggregate { input, keys, grouping, .. } => match keys.is_empty() {
            true => "Aggregate".to_string(),
            false => {
                let input = names(input);
                let keys: Vec<String> = keys.iter().take(*grouping).map(|key| text(key, &input)).collect();
                format!("Group by hash: {}", keys.join(", "))
            }
        },
        Operator::Sort { input, keys } => format!("Sort: {}", order(keys, &names(input))),
        Operator::TopN { input, keys, presorted, limit } => {
            let names = names(input);
            let come = match keys.get(..*presorted) {
                Some(keys) if !keys.is_empty() => format!(" (rows come by {})", order(keys, &names)),
                _ => String::new(),
            };
            format!("Top {}: {}{come}", limited(limit), order(keys, &names))
        }
        Operator::Rollup { rollup, .. } => format!("Rollup: {} levels", rollup.greatest + 1),
        Operator::Window { input, window } => window_label(window, &names(input)),
        Operator::Guarded { entries, .. } => {
            format!("The first of two plans; the second if more than {entries} entries would be examined")
        }
        Operator::Limit { limit, .. } => format!("Limit: {}", limited(limit)),
        Operator::LockRows(locking) => lock_label(locking),
        Operator::Distinct { .. } => "Distinct by hash".to_string(),
        Operator::Derived { alias, .. } => format!("Derived table {alias}"),
        Operator::Append { .. } => "Append".to_string(),
        Operator::Matched { kept, all, .. } => {
            let all = if *all { " all" } else { "" };
            match kept {
                KeptRows::InBoth => format!("Intersect{all} by hash"),
                KeptRows::OnlyLeft => format!("Except{all} by hash"),
            }
        }
        Operator::Common { alias, .. } => format!("Common table {alias}"),
        Operator::Working { alias, .. } => format!("Rows added to {alias}"),
        Operator::Recursive(_) => "Repeat until no row is added".to_string(),
    }
}

/// The ways that were compared with the one that was taken, each once: the cheapest of those with the same name.
pub(super) fn rejected<'s>(scan: &'s Scan, chosen: &str) -> Vec<(String, &'s Considered)> {
    let mut found: Vec<(String, &Considered)> = Vec::new();
    for considered in &scan.considered {
        let label = access_label(&considered.path, &scan.alias, considered.path.constraint.is_correlated());
        if label != chosen && found.iter().all(|(known, _)| *known != label) {
            found.push((label, considered));
        }
    }
    found
}

/// The declared parts of the index of a path, and what it makes of them.
pub(super) fn part_uses(path: &AccessPath) -> Vec<(String, PartUse)> {
    let columns = path.index.key_columns.iter().map(|column| path.table.columns.get(*column));
    let names = columns.map(|column| column.map(column_name).unwrap_or_default());
    names.zip(path.part_uses()).collect()
}

/// The line of EXPLAIN FORMAT=TREE for an access path; `inner`: of a lookup join.
pub fn access_label(path: &AccessPath, alias: &str, inner: bool) -> String {
    let covering = if path.covering { "Covering index" } else { "Index" };
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
            let set = path.locators.as_ref().map(|set| format!(" using {set}")).unwrap_or_default();
            format!("Index merge on {alias}{set}{reverse}")
        }
        "ALL" => format!("Table scan on {alias}{reverse}"),
        "index" => format!("{covering} scan on {alias} using {index}{reverse}"),
        "const" | "eq_ref" => format!("Single-row index lookup on {alias} using {index}"),
        "ref" => format!("{covering} lookup on {alias} using {index}{reverse}"),
        "range" if let Some(first_of) = &path.first_of => {
            let wanted = match first_of.count {
                1 if first_of.both_ends => "both ends of each group".to_string(),
                1 => "grouping".to_string(),
                count => format!("the first {count} of each value"),
            };
            format!("{covering} skip scan for {wanted} on {alias} using {index}{reverse}")
        }
        "range" if path.is_skip_scan() => format!("{covering} skip scan on {alias} using {index}{reverse}"),
        _ => format!("{covering} range scan on {alias} using {index}{reverse}"),
    }
}

fn lock_label(locking: &LockRows) -> String {
    let table = |table: &LockedTable| {
        let strength = match table.lock.strength {
            LockStrength::Share => "shared",
            LockStrength::Update => "exclusive",
        };
        let wait = match table.lock.wait {
            LockWait::Wait => "",
            LockWait::NoWait => ", no waiting",
            LockWait::SkipLocked => ", skipping locked rows",
        };
        format!("{} ({strength}{wait})", table.alias)
    };
    let tables: Vec<String> = locking.tables.iter().map(table).collect();
    let limit = locking.limit.as_ref().map(|limit| format!("; limit {}", limited(limit)));
    format!("Lock rows: {}{}", tables.join(", "), limit.unwrap_or_default())
}

fn lateral_label(node: &Node, join: &LateralJoin) -> String {
    let kind = match join.rows {
        JoinRows::AllOuter => "left",
        _ => "inner",
    };
    let conditions = all(&join.conditions, &names(node));
    let on = if conditions.is_empty() { "" } else { ": " };
    format!("Lateral {kind} join with {}{on}{conditions}", join.alias)
}

fn hash_label(join: &crate::plan::HashJoin) -> String {
    let kind = match join.rows {
        JoinRows::Matching => "Inner hash join",
        JoinRows::AllOuter => "Left hash join",
        JoinRows::Semi => "Hash semijoin",
        JoinRows::Anti => "Hash antijoin",
    };
    let (probe, build) = (names(&join.probe), names(&join.build));
    let mut conditions: Vec<String> =
        join.keys.iter().map(|(l, r)| format!("{} = {}", text(l, &probe), text(r, &build))).collect();
    let both: Vec<String> = probe.into_iter().chain(build).collect();
    conditions.extend(join.conditions.iter().map(|condition| text(condition, &both)));
    if conditions.is_empty() {
        format!("{kind} (no condition)")
    } else {
        format!("{kind}: {}", conditions.join(" and "))
    }
}

fn all(conditions: &[Expr], names: &[String]) -> String {
    conditions.iter().map(|condition| text(condition, names)).collect::<Vec<_>>().join(" and ")
}

fn order(keys: &[SortKey], names: &[String]) -> String {
    let key =
        |key: &SortKey| format!("{}{}", text(&key.expr, names), if key.descending { " DESC" } else { "" });
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

/// With buffering: rows are held until the values of the functions are known.
fn window_label(window: &Window, names: &[String]) -> String {
    let calls: Vec<String> = window.calls.iter().map(|call| window_call(call, names)).collect();
    let mut over = Vec::new();
    for (what, keys) in [("PARTITION BY", &window.partition), ("ORDER BY", &window.order)] {
        if !keys.is_empty() {
            over.push(format!("{what} {}", order(keys, names)));
        }
    }
    let buffering = if window.reach() == Reach::Row { "" } else { " with buffering" };
    format!("Window aggregate{buffering}: {} OVER ({})", calls.join(", "), over.join(" "))
}

fn limited(limit: &RowLimit) -> String {
    let value = |value: LimitValue| match value {
        LimitValue::Constant(rows) => rows.to_string(),
        LimitValue::Parameter(_) => "?".to_string(),
    };
    let count = limit.count.map_or_else(|| "all".to_string(), value);
    match limit.offset {
        LimitValue::Constant(0) => format!("{count} row(s)"),
        offset => format!("{}/{count} row(s)", value(offset)),
    }
}

/// A number of rows with as many digits as it deserves.
fn short(rows: f64) -> String {
    if rows < 10.0 { format!("{rows:.2}") } else { format!("{rows:.0}") }
}
