//! EXPLAIN: what a plan says of itself, in MySQL's tabular form, as MySQL's JSON document and as a tree with figures.
//!
//! All are read off the object that runs. The table lists base and derived tables in the order of the joins, as
//! MySQL does; what happens above the joins (grouping, sorting) stands in the `Extra` of the first.

mod analyze;
mod document;
mod json;
mod key_len;
mod names;
mod picture;
mod trace;

pub use analyze::access_label;
pub use analyze::explain_tree;
pub use document::Object;
pub use json::Change;
pub use json::explain_json;
pub use picture::plan_steps;
pub use picture::{ActualStep, PlanPicture, PlanStep, RejectedWay};
pub use trace::explain_trace;

use crate::plan::{HashJoin, KeptRows, LateralJoin, Node, Operator, Plan, PlanParts, Scan};
use leafline_access::{AccessPath, JoinRows, ScanOrder};
use leafline_types::{SqlType, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One row of EXPLAIN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainRow {
    /// Number of the query block; 0 for what belongs to several.
    pub id: u64,
    /// `SIMPLE`, `PRIMARY` or `DERIVED`.
    pub select_type: &'static str,
    /// The table's alias, or `<derivedN>`.
    pub table: Option<String>,
    /// How the table is read: `const`, `eq_ref`, `ref`, `range`, `index_merge`, `index` or `ALL`.
    pub access: Option<&'static str>,
    /// Indexes that could be used.
    pub possible_keys: Option<String>,
    /// The index that is used.
    pub key: Option<String>,
    /// Bytes of the used parts of the key, or of each key.
    pub key_len: Option<String>,
    /// The partitions that are left.
    pub partitions: Option<String>,
    /// What the parts are compared with.
    pub reference: Option<String>,
    /// Rows examined, as expected.
    pub rows: Option<u64>,
    /// Percentage of them left after the conditions.
    pub filtered: Option<f64>,
    /// Everything else, in MySQL's phrases.
    pub extra: Vec<Cow<'static, str>>,
}

/// Names and types of EXPLAIN's columns.
pub fn explain_columns() -> Vec<(&'static str, SqlType)> {
    let text = |len| SqlType::Varchar { len };
    vec![
        ("id", SqlType::BIGINT_UNSIGNED),
        ("select_type", text(19)),
        ("table", text(64)),
        ("partitions", text(65_535)),
        ("type", text(10)),
        ("possible_keys", text(4096)),
        ("key", text(64)),
        ("key_len", text(4096)),
        ("ref", text(2048)),
        ("rows", SqlType::BIGINT_UNSIGNED),
        ("filtered", SqlType::Double),
        ("Extra", text(255)),
    ]
}

impl ExplainRow {
    /// The row's values, one per [column](explain_columns).
    pub fn values(&self) -> Vec<Value> {
        let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
        let extra = if self.extra.is_empty() { Value::Null } else { Value::string(self.extra.join("; ")) };
        vec![
            if self.id == 0 { Value::Null } else { Value::UInt(self.id) },
            Value::from(self.select_type),
            text(&self.table),
            text(&self.partitions),
            self.access.map_or(Value::Null, Value::from),
            text(&self.possible_keys),
            text(&self.key),
            text(&self.key_len),
            text(&self.reference),
            self.rows.map_or(Value::Null, Value::UInt),
            self.filtered.map_or(Value::Null, |share| Value::Double((share * 100.0).round() / 100.0)),
            extra,
        ]
    }
}

/// The rows of EXPLAIN for a plan, if there is one, and for the subqueries of its statement.
pub fn explain_rows<'p>(plan: Option<&'p Plan>, parts: &'p PlanParts) -> Vec<ExplainRow> {
    let mut blocks =
        Blocks { rows: Vec::new(), next_id: 2, waiting: Vec::new(), parts, commons: BTreeMap::new() };
    if let Some(plan) = plan {
        blocks.block(&plan.root, 1, "PRIMARY");
    }
    for (_, subquery) in parts.run_by_themselves() {
        let id = blocks.next_id;
        blocks.next_id += 1;
        let select_type = if subquery.is_dependent { "DEPENDENT SUBQUERY" } else { "SUBQUERY" };
        blocks.block(&subquery.plan.root, id, select_type);
    }
    let is_simple = blocks.next_id == 2;
    if is_simple {
        blocks.rows.iter_mut().for_each(|row| row.select_type = "SIMPLE");
    }
    blocks.rows
}

struct Blocks<'p> {
    rows: Vec<ExplainRow>,
    next_id: u64,
    /// Derived tables whose rows follow those of the block they stand in.
    waiting: Vec<(u64, &'p Node, &'static str)>,
    parts: &'p PlanParts,
    /// The numbers under which the queries of WITH are shown.
    commons: BTreeMap<usize, u64>,
}

impl<'p> Blocks<'p> {
    fn block(&mut self, root: &'p Node, id: u64, select_type: &'static str) {
        let first = self.rows.len();
        let mut extra = Vec::new();
        self.node(root, id, select_type, &mut extra);
        if self.rows.len() == first {
            self.rows.push(ExplainRow { id, select_type, ..ExplainRow::default() });
        }
        extra.sort_by_key(|phrase| *phrase == "Using filesort");
        if let Some(row) = self.rows.get_mut(first) {
            for phrase in extra {
                add(row, phrase);
            }
        }
        for (id, node, select_type) in std::mem::take(&mut self.waiting) {
            self.block(node, id, select_type);
        }
    }

    /// Adds the rows of a node's tables; phrases about the block as a whole go to `above`.
    fn node(
        &mut self,
        node: &'p Node,
        id: u64,
        select_type: &'static str,
        above: &mut Vec<Cow<'static, str>>,
    ) {
        match &node.operator {
            Operator::Values(_) => above.push("No tables used".into()),
            Operator::JsonTable(_) => above.push("Table function: json_table".into()),
            Operator::Empty(reason) => above.push(Cow::Borrowed(reason.phrase())),
            Operator::Scan(scan) => {
                let row = table_row(scan, id, select_type, false);
                self.rows.push(row);
            }
            Operator::Filter { input, .. } => {
                let before = self.rows.len();
                self.node(input, id, select_type, above);
                let is_having = matches!(input.operator, Operator::Aggregate { .. });
                if self.rows.len() > before && !is_having {
                    self.rows.last_mut().into_iter().for_each(|row| add(row, "Using where"));
                }
            }
            Operator::Project { input, .. }
            | Operator::Rollup { input, .. }
            | Operator::Limit { input, .. } => {
                self.node(input, id, select_type, above);
            }
            Operator::Guarded { first, .. } => self.node(first, id, select_type, above),
            Operator::Parallel { input, .. } => self.node(input, id, select_type, above),
            Operator::LockRows(locking) => self.node(&locking.input, id, select_type, above),
            Operator::Aggregate { input, keys, .. } => {
                self.node(input, id, select_type, above);
                if !keys.is_empty() {
                    above.push("Using temporary".into());
                }
            }
            Operator::Window { input, .. } => {
                self.node(input, id, select_type, above);
                above.push("Using temporary".into());
            }
            Operator::Distinct { input } if matches!(input.operator, Operator::Append { .. }) => {
                if let Operator::Append { inputs } = &input.operator {
                    let ids = self.operands(inputs, (id, select_type), "UNION", above);
                    self.result("UNION RESULT", "union", &ids);
                }
            }
            Operator::Distinct { input } => {
                self.node(input, id, select_type, above);
                above.push("Using temporary".into());
            }
            Operator::Sort { input, .. } | Operator::TopN { input, .. } => {
                self.node(input, id, select_type, above);
                above.push("Using filesort".into());
            }
            Operator::LookupJoin { outer, inner, rows, .. } => {
                self.node(outer, id, select_type, above);
                let left = self.last_table();
                self.rows.push(table_row(inner, id, select_type, true));
                self.rows.last_mut().into_iter().for_each(|row| add_kind(row, *rows, left.as_deref()));
            }
            Operator::HashJoin(join) => self.hash_join(join, id, select_type, above),
            Operator::LateralJoin(join) => self.lateral_join(join, id, select_type, above),
            Operator::Derived { input, .. } => {
                let derived = self.next_number();
                self.derived_row(id, select_type, format!("<derived{derived}>"), input.estimate.rows);
                self.waiting.push((derived, input, "DERIVED"));
            }
            Operator::Common { number, .. } => {
                self.common(*number, id, select_type, node.estimate.rows);
            }
            Operator::Working { alias, .. } => {
                self.derived_row(id, select_type, alias.to_string(), node.estimate.rows);
                self.rows.last_mut().into_iter().for_each(|row| add(row, "Recursive"));
            }
            Operator::Append { .. } | Operator::Recursive(_) | Operator::Matched { .. } => {
                self.combined(node, id, select_type, above);
            }
        }
    }
}

impl<'p> Blocks<'p> {
    /// The rows of queries whose rows are put together.
    fn combined(
        &mut self,
        node: &'p Node,
        id: u64,
        select_type: &'static str,
        above: &mut Vec<Cow<'static, str>>,
    ) {
        match &node.operator {
            Operator::Append { inputs } => {
                self.operands(inputs, (id, select_type), "UNION", above);
            }
            Operator::Recursive(union) => {
                self.block(&union.seed, id, select_type);
                for step in &union.steps {
                    let number = self.next_number();
                    self.block(step, number, "UNION");
                }
            }
            Operator::Matched { left, right, kept, .. } => {
                let (operand, result, name) = match kept {
                    KeptRows::InBoth => ("INTERSECT", "INTERSECT RESULT", "intersect"),
                    KeptRows::OnlyLeft => ("EXCEPT", "EXCEPT RESULT", "except"),
                };
                self.node(left, id, select_type, above);
                let number = self.next_number();
                self.block(right, number, operand);
                self.result(result, name, &[id, number]);
            }
            _ => {}
        }
    }

    fn lateral_join(
        &mut self,
        join: &'p LateralJoin,
        id: u64,
        select_type: &'static str,
        above: &mut Vec<Cow<'static, str>>,
    ) {
        self.node(&join.outer, id, select_type, above);
        let derived = self.next_number();
        // MySQL names the derived table with the table that it depends on.
        if let Some(row) = self.rows.last_mut() {
            row.extra.push(format!("Rematerialize (<derived{derived}>)").into());
        }
        self.derived_row(id, select_type, format!("<derived{derived}>"), join.inner.estimate.rows);
        if !join.conditions.is_empty() {
            self.rows.last_mut().into_iter().for_each(|row| add(row, "Using where"));
        }
        self.waiting.push((derived, &join.inner, "DEPENDENT DERIVED"));
    }

    fn hash_join(
        &mut self,
        join: &'p HashJoin,
        id: u64,
        select_type: &'static str,
        above: &mut Vec<Cow<'static, str>>,
    ) {
        let (first, second) =
            if join.build_is_first { (&join.build, &join.probe) } else { (&join.probe, &join.build) };
        self.node(first, id, select_type, above);
        let joined = self.rows.len();
        let left = self.last_table();
        self.node(second, id, select_type, above);
        if let Some(row) = self.rows.last_mut().filter(|_| !join.rows.delivers_partners()) {
            add_kind(row, join.rows, left.as_deref());
        }
        if let Some(row) = self.rows.get_mut(joined) {
            if !join.conditions.is_empty() || !join.keys.is_empty() {
                add(row, "Using where");
            }
            add(row, "Using join buffer (hash join)");
        }
    }

    /// The table of the last row.
    fn last_table(&self) -> Option<String> {
        self.rows.last().and_then(|row| row.table.clone())
    }

    fn next_number(&mut self) -> u64 {
        let number = self.next_id;
        self.next_id += 1;
        number
    }

    /// A place that names a query of WITH. The query's own rows follow once.
    fn common(&mut self, number: usize, id: u64, select_type: &'static str, rows: f64) {
        let derived = match self.commons.get(&number) {
            Some(known) => *known,
            None => {
                let derived = self.next_number();
                self.commons.insert(number, derived);
                let plan = self.parts.commons.get(&number);
                self.waiting.extend(plan.map(|common| (derived, &common.plan.root, "DERIVED")));
                derived
            }
        };
        self.derived_row(id, select_type, format!("<derived{derived}>"), rows);
    }

    fn derived_row(&mut self, id: u64, select_type: &'static str, table: String, rows: f64) {
        self.rows.push(ExplainRow {
            id,
            select_type,
            table: Some(table),
            access: Some("ALL"),
            rows: Some(whole(rows)),
            filtered: Some(100.0),
            ..ExplainRow::default()
        });
    }

    /// The rows of queries that are put together, and the numbers of these. The first is of the block that the whole is.
    fn operands(
        &mut self,
        inputs: &'p [Node],
        (id, select_type): (u64, &'static str),
        others: &'static str,
        above: &mut Vec<Cow<'static, str>>,
    ) -> Vec<u64> {
        let mut ids = vec![id];
        for (at, input) in inputs.iter().enumerate() {
            if at == 0 {
                self.node(input, id, select_type, above);
            } else {
                let number = self.next_number();
                ids.push(number);
                self.block(input, number, others);
            }
        }
        ids
    }

    /// The row for what is made of the rows of several queries.
    fn result(&mut self, select_type: &'static str, name: &str, ids: &[u64]) {
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        self.rows.push(ExplainRow {
            select_type,
            table: Some(format!("<{name}{}>", ids.join(","))),
            access: Some("ALL"),
            extra: vec!["Using temporary".into()],
            ..ExplainRow::default()
        });
    }
}

/// Rows as EXPLAIN shows them: at least one.
fn whole(rows: f64) -> u64 {
    rows.round().max(1.0) as u64
}

fn add(row: &mut ExplainRow, phrase: impl Into<Cow<'static, str>>) {
    let phrase = phrase.into();
    if !row.extra.contains(&phrase) {
        row.extra.push(phrase);
    }
}

/// MySQL's words for the right side of a semi or anti join; `left` is the table before it.
fn add_kind(row: &mut ExplainRow, rows: JoinRows, left: Option<&str>) {
    match rows {
        JoinRows::Matching | JoinRows::AllOuter => {}
        JoinRows::Semi => add(row, format!("FirstMatch({})", left.unwrap_or_default())),
        JoinRows::Anti => add(row, "Not exists"),
    }
}

fn table_row(scan: &Scan, id: u64, select_type: &'static str, inner: bool) -> ExplainRow {
    let path = &scan.path;
    let access = access_type(path, inner);
    let joined = |names: &[Arc<str>]| (!names.is_empty()).then(|| names.join(","));
    let uses_key = access != "ALL";
    let mut row = ExplainRow {
        id,
        select_type,
        table: Some(scan.alias.to_string()),
        partitions: scan.partitions.as_deref().map(Into::into),
        access: Some(access),
        possible_keys: joined(&scan.possible_keys),
        key: uses_key.then(|| of_keys(path, |path| path.index.name.clone())),
        key_len: uses_key.then(|| of_keys(path, |path| key_len::key_len(path).to_string())),
        reference: if matches!(access, "const" | "eq_ref" | "ref") { joined(&scan.references) } else { None },
        rows: Some(whole(scan.examined)),
        filtered: Some(scan.filtered),
        extra: Vec::new(),
    };
    if let (true, Some(set)) = (path.is_index_merge(), &path.locators) {
        add(&mut row, format!("Using {set}"));
    }
    if path.pushes_conditions() {
        add(&mut row, "Using index condition");
    }
    let evaluates = path.row_conditions.iter().any(|condition| !condition.implied);
    if evaluates || (!path.fetches() && path.constraint.has_tests()) {
        add(&mut row, "Using where");
    }
    if let Some(first_of) = &path.first_of {
        // MySQL has no such words for the second.
        let grouping = first_of.count == 1;
        add(
            &mut row,
            if grouping { "Using index for group-by" } else { "Using index for the first of each value" },
        );
    } else if path.is_skip_scan() {
        add(&mut row, "Using index for skip scan");
    } else if path.covering {
        add(&mut row, "Using index");
    }
    if path.merged.is_some() {
        add(&mut row, "Using ordered merge");
    }
    if path.rowid_filter().is_some() {
        add(&mut row, "Using rowid filter");
    }
    if is_hypothetical(path) {
        add(&mut row, "Using hypothetical index");
    }
    if !scan.filters.is_empty() {
        add(&mut row, "Using runtime filter");
    }
    if path.order == ScanOrder::Reverse {
        add(&mut row, "Backward index scan");
    }
    if access == "range" && path.fetches() && path.batched && path.order == ScanOrder::Any {
        add(&mut row, "Using MRR");
    }
    row
}

/// Whether it reads an index that is not there, so that nobody can go this way.
fn is_hypothetical(path: &AccessPath) -> bool {
    let merged = path.locators.iter().flat_map(|set| set.paths());
    path.index.is_hypothetical() || merged.into_iter().any(|path| path.index.is_hypothetical())
}

/// Something of the keys that a path uses: those that are merged, or its own, and behind it those of a rowid filter.
fn of_keys(path: &AccessPath, of: impl Fn(&AccessPath) -> String) -> String {
    let merged: Vec<String> = path.locators.iter().flat_map(|set| set.paths()).map(|path| of(path)).collect();
    match (path.is_index_merge(), merged.is_empty()) {
        (true, _) => merged.join(","),
        (false, true) => of(path),
        (false, false) => format!("{}|{}", of(path), merged.join(",")),
    }
}

/// MySQL's name for the way a table is read.
pub fn access_type(path: &AccessPath, inner: bool) -> &'static str {
    let constraint = &path.constraint;
    if path.is_index_merge() {
        "index_merge"
    } else if path.is_table_scan() {
        // InnoDB's word for the rows in the order of the primary key, where that order is wanted, is that of a read of an index.
        if path.order == ScanOrder::Any || !path.index.is_primary() { "ALL" } else { "index" }
    } else if path.is_skip_scan() || path.first_of.is_some() {
        "range"
    } else if constraint.is_unbounded() {
        "index"
    } else if path.is_unique_lookup() {
        if inner { "eq_ref" } else { "const" }
    } else if constraint.equal_parts() == constraint.used_parts() || (inner && constraint.equal_parts() > 0) {
        "ref"
    } else {
        "range"
    }
}
