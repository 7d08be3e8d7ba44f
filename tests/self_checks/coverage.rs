//! Counts which paths the queries have taken, and in which circumstances. The paths are read off the output of
//! EXPLAIN.

use super::questions::Question;
use super::tables::{Index, Table};
use super::ways::Way;
use std::collections::BTreeMap;
use std::fmt;

/// The circumstances of a path.
pub const CIRCUMSTANCES: [&str; 6] =
    ["NULL bound", "DESC part", "reverse", "LIMIT", "own writes", "unsettled"];

/// Paths that must be taken, with the circumstances in which they cannot be.
pub const PATHS: &[(&str, &[&str])] = &[
    ("table scan", &["DESC part", "reverse"]),
    ("clustered: one row", &["reverse"]),
    ("clustered: range", &[]),
    ("clustered: all, in order", &[]),
    ("clustered: leaps", &[]),
    ("secondary: one row", &["reverse"]),
    ("secondary: lookup", &[]),
    ("secondary: range", &[]),
    ("secondary: all, in order", &[]),
    ("secondary: skip scan", &[]),
    ("secondary: leaps", &[]),
    ("covering: lookup", &[]),
    ("covering: range", &[]),
    ("covering: all", &[]),
    ("covering: skip scan", &[]),
    ("covering: leaps", &[]),
    ("loose scan", &[]),
    ("loose scan: both ends", &["reverse"]),
    ("first of each value", &[]),
    ("ranges merged in order", &[]),
    ("index condition", &[]),
    ("fetch: batches", &["reverse"]),
    ("fetch: batches, back in order", &[]),
    ("fetch: one by one", &[]),
    ("index merge: intersection", &[]),
    ("index merge: union", &[]),
    ("rowid filter", &[]),
    ("lookup join: inner", &[]),
    ("lookup join: left", &[]),
    ("lookup join: semi", &[]),
    ("lookup join: anti", &[]),
    ("lookup join: one by one", &[]),
    ("lookup join: in order", &[]),
    ("hash join: inner", &[]),
    ("hash join: left", &[]),
    ("hash join: semi", &[]),
    ("hash join: anti", &[]),
    ("partial sort", &[]),
    ("guarded plan", &[]),
    ("guarded plan: given up", &[]),
    ("threads", &[]),
    ("read ahead", &[]),
    ("kept plan", &[]),
    ("point read", &[]),
];

/// The number of times that each path was taken, in all and in each circumstance.
#[derive(Default)]
pub struct Coverage {
    met: BTreeMap<&'static str, [u64; 1 + CIRCUMSTANCES.len()]>,
}

/// The properties of an execution that its plan does not show.
#[derive(Clone, Copy, Default)]
pub struct Execution {
    pub own_writes: bool,
    pub unsettled: bool,
    pub switched: bool,
    pub read_ahead: bool,
    pub kept: bool,
}

/// A line of a plan, with the lines of details below it.
struct Node<'t> {
    label: &'t str,
    notes: Vec<&'t str>,
}

fn nodes(tree: &str) -> Vec<Node<'_>> {
    let mut nodes: Vec<Node<'_>> = Vec::new();
    for line in tree.lines() {
        match (line.trim_start().strip_prefix("-> "), nodes.last_mut()) {
            (Some(label), _) => {
                nodes.push(Node { label: label.split("  (").next().unwrap_or(label), notes: Vec::new() });
            }
            (None, Some(node)) => node.notes.push(line.trim()),
            (None, None) => {}
        }
    }
    nodes
}

impl Node<'_> {
    fn note(&self, what: &str) -> Option<&str> {
        self.notes.iter().find_map(|note| note.strip_prefix(what))
    }

    /// Returns the indexes that an access path uses. The alias tells which index is meant by PRIMARY.
    fn indexes<'t>(
        &self,
        question: &Question,
        tables: &'t [Table],
        is_ordered: bool,
    ) -> impl Iterator<Item = &'t Index> {
        let (before, names) = self.label.split_once(" using ").unwrap_or((self.label, ""));
        let alias =
            before.split_once(" on ").and_then(|(_, rest)| rest.split(' ').next()).unwrap_or_default();
        let in_order = is_ordered && before.starts_with("Table scan on");
        let names: Vec<&str> = names.split([' ', ',', '(', ')']).collect();
        let place = question.tables.iter().find(|(_, known)| known == alias);
        let number = place.map(|(number, _)| *number).or_else(|| question.number_of(alias));
        let all = tables.iter().enumerate();
        let all = all.flat_map(|(number, table)| table.indexes.iter().map(move |index| (number, index)));
        all.filter(move |(of, index)| {
            let is_read = names.contains(&index.name.as_str()) || in_order && index.clustered;
            is_read && (index.name != "PRIMARY" || Some(*of) == number)
        })
        .map(|(_, index)| index)
    }

    /// Returns the access paths that this line shows; by a `clustered` index, or by others.
    fn access(&self, clustered: bool, is_ordered: bool, batched: bool) -> Vec<&'static str> {
        let label = self.label;
        let leaps = self.note("key parts: ").is_some_and(|parts| parts.contains(" leaps"));
        let tests = self.note("index condition").is_some()
            || self.note("key parts: ").is_some_and(|parts| parts.contains(" filters"));
        let of = |clustered_name, covering_name, other| match (clustered, label.starts_with("Covering")) {
            (true, _) => clustered_name,
            (_, true) => covering_name,
            _ => other,
        };
        let mut found = Vec::new();
        let way = match label {
            _ if label.starts_with("Table scan on") && is_ordered => "clustered: all, in order",
            _ if label.starts_with("Table scan on") => "table scan",
            _ if label.starts_with("Index merge on") => {
                let union = label.contains("union");
                found.extend(label.contains("intersect").then_some("index merge: intersection"));
                if union { "index merge: union" } else { "index merge: intersection" }
            }
            _ if label.starts_with("Single-row") => of("clustered: one row", "", "secondary: one row"),
            _ if label.contains("skip scan for grouping") => "loose scan",
            _ if label.contains("skip scan for both ends") => "loose scan: both ends",
            _ if label.contains("skip scan for the first") => "first of each value",
            _ if label.contains("skip scan on") => {
                of("clustered: leaps", "covering: skip scan", "secondary: skip scan")
            }
            _ if label.contains("index range scan on") || label.starts_with("Index range scan on") => {
                of("clustered: range", "covering: range", "secondary: range")
            }
            _ if label.contains("index lookup on") || label.starts_with("Index lookup on") => {
                of("clustered: range", "covering: lookup", "secondary: lookup")
            }
            _ if label.contains("index scan on") || label.starts_with("Index scan on") => {
                of("clustered: all, in order", "covering: all", "secondary: all, in order")
            }
            _ => return Vec::new(),
        };
        found.push(way);
        if leaps && !label.contains("skip scan") {
            found.push(of("clustered: leaps", "covering: leaps", "secondary: leaps"));
        }
        found.extend(label.contains(", ranges merged in order").then_some("ranges merged in order"));
        let single = label.starts_with("Index ") && !clustered && !label.starts_with("Index merge");
        if single {
            found.extend(tests.then_some("index condition"));
            found.extend(label.contains(", rows in ").then_some("rowid filter"));
            found.push(match (batched, is_ordered) {
                (true, true) => "fetch: batches, back in order",
                (true, false) => "fetch: batches",
                _ => "fetch: one by one",
            });
        }
        found.dedup();
        found
    }

    /// Returns the other operators that this line shows.
    fn operator(&self, is_ordered: bool, batched_keys: bool) -> Vec<&'static str> {
        let label = self.label;
        let mut found = Vec::new();
        let kinds = [
            ("Index lookup inner join", "lookup join: inner"),
            ("Index lookup left join", "lookup join: left"),
            ("Index lookup semijoin", "lookup join: semi"),
            ("Index lookup antijoin", "lookup join: anti"),
            ("Inner hash join", "hash join: inner"),
            ("Left hash join", "hash join: left"),
            ("Hash semijoin", "hash join: semi"),
            ("Hash antijoin", "hash join: anti"),
            ("The first of two plans", "guarded plan"),
            ("Parallel:", "threads"),
        ];
        found.extend(kinds.iter().filter(|(start, _)| label.starts_with(start)).map(|(_, name)| *name));
        found.extend(label.contains("(rows come by").then_some("partial sort"));
        let lookup = label.starts_with("Index lookup ") && label.ends_with("join");
        found.extend((lookup && !batched_keys).then_some("lookup join: one by one"));
        found.extend((lookup && is_ordered).then_some("lookup join: in order"));
        found
    }
}

impl Coverage {
    /// Records an execution.
    pub fn note(
        &mut self,
        tree: &str,
        question: &Question,
        tables: &[Table],
        way: &Way,
        execution: Execution,
    ) {
        let nodes = nodes(tree);
        let sorts = |node: &Node<'_>| node.label.starts_with("Sort:") || node.label.starts_with("Top ");
        let is_ordered = !question.order.is_empty() && !nodes.iter().any(sorts);
        let mut plan = [false; 3];
        let mut found: Vec<(&'static str, [bool; 3])> = Vec::new();
        for node in &nodes {
            let (null, reverse) = (node.has_null_bound(), node.label.contains("(reverse)"));
            let indexes: Vec<&Index> = node.indexes(question, tables, is_ordered).collect();
            let desc = indexes.iter().any(|index| index.parts.iter().any(|part| part.descending));
            let clustered = indexes.iter().any(|index| index.clustered);
            let own = [null, desc, reverse];
            plan.iter_mut().zip(own).for_each(|(any, one)| *any |= one);
            let access = node.access(clustered, is_ordered, way.batched);
            found.extend(access.into_iter().map(|path| (path, own)));
        }
        // Other operators have the circumstances of the access paths below them.
        let operators = nodes.iter().flat_map(|node| node.operator(is_ordered, way.batched_keys));
        found.extend(operators.map(|path| (path, plan)));
        let [first, ..] = nodes.as_slice() else { return };
        let guarded = first.label.starts_with("The first of two plans");
        found.extend((guarded && execution.switched).then_some(("guarded plan: given up", plan)));
        found.extend(execution.read_ahead.then_some(("read ahead", plan)));
        found.extend(execution.kept.then_some(("kept plan", plan)));
        let short = |node: &Node<'_>| {
            let label = node.label;
            !node.access(false, false, false).is_empty() || label == "Project" || label.starts_with("Limit")
        };
        if execution.kept && nodes.iter().all(short) {
            found.push(("point read", plan));
        }
        let rest = [question.limit.is_some(), execution.own_writes, execution.unsettled];
        for (path, own) in found {
            let row = self.met.entry(path).or_default();
            row[0] += 1;
            for (at, holds) in own.into_iter().chain(rest).enumerate() {
                row[1 + at] += u64::from(holds);
            }
        }
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Coverage) {
        for (path, hits) in &other.met {
            let row = self.met.entry(path).or_default();
            row.iter_mut().zip(hits).for_each(|(all, more)| *all += more);
        }
    }

    /// Returns the cells with fewer than `least` hits: path, circumstance or "all", hits.
    pub fn below(&self, least: u64) -> Vec<(&'static str, &'static str, u64)> {
        let mut below = Vec::new();
        for (path, never) in PATHS {
            let row = self.met.get(path).copied().unwrap_or_default();
            let names = ["all"].into_iter().chain(CIRCUMSTANCES);
            below.extend(
                names
                    .zip(row)
                    .filter(|(name, hits)| *hits < least && !never.contains(name))
                    .map(|(name, hits)| (*path, name, hits)),
            );
        }
        below
    }
}

impl Node<'_> {
    /// Whether NULLs are among the bounds or tests of the entries.
    fn has_null_bound(&self) -> bool {
        let says = |note: &&str| {
            let text = note.to_ascii_lowercase();
            !text.starts_with("not taken") && (text.contains("null") || text.contains("<=>"))
        };
        self.notes.iter().any(says)
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:32}{:>10}", "path", "all")?;
        CIRCUMSTANCES.iter().try_for_each(|name| write!(f, "{name:>12}"))?;
        for (path, never) in PATHS {
            let row = self.met.get(path).copied().unwrap_or_default();
            write!(f, "\n{path:32}{:>10}", row[0])?;
            for (name, hits) in CIRCUMSTANCES.iter().zip(&row[1..]) {
                match never.contains(name) && *hits == 0 {
                    true => write!(f, "{:>12}", "-")?,
                    false => write!(f, "{hits:>12}")?,
                }
            }
        }
        Ok(())
    }
}
