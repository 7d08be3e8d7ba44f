//! A plan as a text tree, with estimates and, after an execution, the measured figures.

use super::scan_notes::{condition_lines, part_uses, rejected};
use crate::plan::{Considered, HashFallback, Node, Plan, Scan, Step, access_label, named_columns};
use crate::profile::{NodeProfile, Profile};
use std::fmt::Write;

/// Writes the tree of a plan; with a profile, the tree of EXPLAIN ANALYZE.
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
        let explained = node.explain();
        let figures = self.figures(node.id).filter(|_| !node.operator.as_node().is_transparent());
        let is_table = matches!(explained.step, Step::Table(_));
        let estimate = node.estimate;
        self.line(depth, &explained.label, estimate.rows, Some(estimate.cost_us), figures, is_table);
        if let Step::Table(scan) = explained.step {
            self.conditions(scan, &[], depth + 1);
            self.choice(scan, false, depth + 1);
        }
        for input in node.inputs() {
            self.node(input, depth + 1);
        }
        if let Step::LookupJoin(join) = explained.step {
            let inner = &join.inner;
            let figures = self.figures(inner.id);
            let rows = inner.examined * inner.filtered / 100.0;
            self.line(depth + 1, &access_label(&inner.path, &inner.alias, true), rows, None, figures, true);
            self.conditions(inner, &join.outer.column_names(), depth + 2);
            self.choice(inner, true, depth + 2);
            if let Some(fallback) = &join.fallback {
                let HashFallback { after, build, .. } = &**fallback;
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

    /// Writes the use of each part of the key, and the paths that were not taken.
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

    /// Writes the conditions of an access path, each on the line of the step that evaluates it.
    fn conditions(&mut self, scan: &Scan, outer: &[String], depth: usize) {
        if !scan.filters.is_empty() {
            let columns = named_columns(scan, scan.filters.iter().map(|(_, column)| column));
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

/// Formats a number of rows with fewer digits the greater it is.
fn short(rows: f64) -> String {
    if rows < 10.0 { format!("{rows:.2}") } else { format!("{rows:.0}") }
}
