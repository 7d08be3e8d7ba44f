//! Makes the JSON that the console's pages read.

use leafline_sql::observed::{IndexSize, PageMap, PlanPicture, PlanStep, StatementFigures, StatementId};
use serde_json::{Value, json};

/// Returns the digest and the schema, by which requests name a statement.
pub(super) fn statement_id(id: &StatementId) -> Value {
    json!({ "digest": id.digest, "schema": id.schema })
}

pub(super) fn statement(figures: &StatementFigures) -> Value {
    json!({
        "id": figures.id.as_ref().map(statement_id),
        "text": figures.text,
        "has_sample": figures.has_sample,
        "executions": figures.executions,
        "time": figures.time.as_secs_f64(),
        "least_time": figures.least_time.as_secs_f64(),
        "most_time": figures.most_time.as_secs_f64(),
        "quantiles": figures.quantiles.map(|time| time.as_secs_f64()),
        "lock_time": figures.lock_time.as_secs_f64(),
        "errors": figures.errors,
        "warnings": figures.warnings,
        "rows_affected": figures.rows_affected,
        "rows_sent": figures.rows_sent,
        "rows_examined": figures.rows_examined,
        "rows_estimated": figures.rows_estimated,
        "q_error": figures.q_error,
        "pages_read": figures.pages_read,
        "files": figures.files,
        "no_index_used": figures.no_index_used,
        "plans": figures.plans,
        "plan": figures.plan.map(|plan| format!("{plan:016x}")),
        "plan_changed": figures.plan_changed.map(|micros| micros / 1000),
        "first_seen": figures.first_seen / 1000,
        "last_seen": figures.last_seen / 1000,
    })
}

pub(super) fn index_size(index: &IndexSize) -> Value {
    json!({
        "database": index.database,
        "table": index.table,
        "index": index.index,
        "partition": index.partition,
        "columns": index.columns,
        "is_unique": index.is_unique,
        "is_clustered": index.is_clustered,
        "uses": index.uses,
        "pages": index.pages,
        "resident": index.resident,
    })
}

/// Returns for each leaf its page and, if the leaf is in memory, its fill in percent, its number of entries, its number of
/// ghosts, and whether it is packed.
pub(super) fn page_map(map: &PageMap) -> Value {
    let stretches = map.tree.stretches.iter().map(|stretch| {
        let leaves = stretch.iter().map(|leaf| match leaf.content {
            Some(content) => json!([
                leaf.page.0,
                (content.fill * 1000.0).round() / 10.0,
                content.entries,
                content.ghosts,
                content.is_packed,
            ]),
            None => json!([leaf.page.0]),
        });
        Value::Array(leaves.collect())
    });
    json!({
        "page_bytes": map.page_bytes,
        "file_pages": map.file_pages,
        "levels": map.levels,
        "leaves": map.tree.leaves,
        "is_whole": map.tree.is_whole,
        "stretches": stretches.collect::<Vec<_>>(),
    })
}

pub(super) fn picture(picture: &PlanPicture) -> Value {
    let parts = picture.parts.iter().map(|(title, root)| json!({ "title": title, "root": step(root) }));
    json!({ "cost_us": picture.cost_us, "parts": parts.collect::<Vec<_>>() })
}

fn step(step_: &PlanStep) -> Value {
    let actual = step_.actual.map(|actual| {
        json!({
            "rows": actual.rows,
            "loops": actual.loops,
            "time_ms": actual.time.as_secs_f64() * 1000.0,
            "entries_examined": actual.entries_examined,
            "rows_fetched": actual.rows_fetched,
            "pages_requested": actual.pages_requested,
            "pages_read": actual.pages_read,
        })
    });
    let rejected = step_
        .rejected
        .iter()
        .map(|way| json!({ "label": way.label, "cost_us": way.cost_us, "rows": way.rows }));
    json!({
        "label": step_.label,
        "is_access": step_.is_access,
        "conditions": step_.conditions,
        "rows": step_.rows,
        "cost_us": step_.cost_us,
        "actual": actual,
        "rejected": rejected.collect::<Vec<_>>(),
        "inputs": step_.inputs.iter().map(step).collect::<Vec<_>>(),
    })
}
