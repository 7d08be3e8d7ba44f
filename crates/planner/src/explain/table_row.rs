//! A row of EXPLAIN's table, and its description of an access path.

use super::key_len::key_len;
use crate::plan::{Scan, access_type, is_hypothetical, search_hints};
use leafline_access::{AccessPath, JoinType, PathKind, ScanOrder};
use leafline_types::{SqlType, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// One row of EXPLAIN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainRow {
    /// Number of the query block; 0 for a row that belongs to several.
    pub id: u64,
    /// `SIMPLE`, `PRIMARY` or `DERIVED`.
    pub select_type: &'static str,
    /// The table's alias, or `<derivedN>`.
    pub table: Option<String>,
    /// MySQL's access type: `const`, `eq_ref`, `ref`, `fulltext`, `range`, `index_merge`, `index` or `ALL`.
    pub access: Option<&'static str>,
    /// Indexes that could be used.
    pub possible_keys: Option<String>,
    /// The index that is used.
    pub key: Option<String>,
    /// Bytes of the used parts of the key, or of each key.
    pub key_len: Option<String>,
    /// The partitions that remain after pruning.
    pub partitions: Option<String>,
    /// The values that the key parts are compared with.
    pub reference: Option<String>,
    /// Expected number of examined rows.
    pub rows: Option<u64>,
    /// Percentage of the examined rows that pass the conditions.
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

/// Rounds rows as EXPLAIN shows them: at least one.
pub(super) fn whole(rows: f64) -> u64 {
    rows.round().max(1.0) as u64
}

pub(super) fn add(row: &mut ExplainRow, phrase: impl Into<Cow<'static, str>>) {
    let phrase = phrase.into();
    if !row.extra.contains(&phrase) {
        row.extra.push(phrase);
    }
}

/// Adds MySQL's words for the right side of a semi or anti join; `left` is the table before it.
pub(super) fn add_join_type(row: &mut ExplainRow, join_type: JoinType, left: Option<&str>) {
    match join_type {
        JoinType::Inner | JoinType::LeftOuter => {}
        JoinType::Semi => add(row, format!("FirstMatch({})", left.unwrap_or_default())),
        JoinType::Anti => add(row, "Not exists"),
    }
}

pub(super) fn table_row(scan: &Scan, id: u64, select_type: &'static str, inner: bool) -> ExplainRow {
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
        key_len: uses_key.then(|| of_keys(path, |path| key_len(path).to_string())),
        reference: if matches!(access, "const" | "eq_ref" | "ref") { joined(&scan.references) } else { None },
        rows: Some(whole(scan.examined)),
        filtered: Some(scan.filtered),
        extra: Vec::new(),
    };
    if let Some(searched) = path.search() {
        row.key = Some(searched.index.name.clone());
        row.key_len = Some("0".into());
        row.reference = Some("const".into());
        // MySQL always says so of a search.
        add(&mut row, "Using where");
        let hints = search_hints(path);
        if !hints.is_empty() {
            add(&mut row, format!("Ft_hints: {hints}"));
        }
    } else if let (true, Some(set)) = (path.is_index_merge(), path.source.locators()) {
        add(&mut row, format!("Using {set}"));
    }
    if path.pushes_conditions() {
        add(&mut row, "Using index condition");
    }
    let evaluates = path.residual_filter.iter().any(|condition| !condition.implied);
    if evaluates || (!path.fetches() && path.constraint.has_key_filter()) {
        add(&mut row, "Using where");
    }
    if let Some(first_of) = path.first_of() {
        // MySQL has no words for more than one row of each group.
        let grouping = first_of.count == 1;
        add(
            &mut row,
            if grouping { "Using index for group-by" } else { "Using index for the first of each value" },
        );
    } else if path.kind() == PathKind::SkipScan {
        add(&mut row, "Using index for skip scan");
    } else if path.is_covering() {
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

/// Returns a property of the keys of a path: of the merged keys or the path's own key, then of the keys of a rowid filter.
fn of_keys(path: &AccessPath, of: impl Fn(&AccessPath) -> String) -> String {
    let merged: Vec<String> =
        path.source.locators().into_iter().flat_map(|set| set.paths()).map(|path| of(path)).collect();
    match (path.is_index_merge(), merged.is_empty()) {
        (true, _) => merged.join(","),
        (false, true) => of(path),
        (false, false) => format!("{}|{}", of(path), merged.join(",")),
    }
}
