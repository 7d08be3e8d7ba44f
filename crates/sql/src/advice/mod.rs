//! Advice on indexes: ADVISE, which `leafline advise` sends, too.
//!
//! | module | does |
//! |---|---|
//! | `workload` | the statements: from digests, or a text |
//! | `candidates` | which indexes could serve each |
//! | `pricing` | what statements cost with indexes that are not there, and what these cost in writes and space |
//! | `choose` | the indexes that gain most, one after the other |
//! | `drops` | indexes that nothing needs |
//! | `verify` | builds what is proposed, and measures |
//! | `redundant` | indexes that do nothing that another does not |
//!
//! Nothing is changed unless VERIFY says so. What statements gain is the difference of two prices of the optimizer, with the constants of the
//! device that plans are made for.

mod candidates;
mod choose;
mod drops;
mod pricing;
mod redundant;
#[cfg(test)]
mod tests;
mod verify;
mod workload;

pub(crate) use redundant::redundant_indexes;

use crate::result::RowSet;
use crate::session::Session;
use leafline_syntax::quoted;
use leafline_table::{IndexPart, TableDef};
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;
use verify::Measure;

/// Something to do about an index.
struct Advice {
    table: Arc<TableDef>,
    /// `CREATE INDEX` or `DROP INDEX`.
    action: &'static str,
    /// The statement that does it.
    statement: String,
    /// The statement that undoes it.
    undo: Option<String>,
    /// What all reads of the workload cost, before it is done and after, microseconds.
    before_us: f64,
    after_us: f64,
    /// What it adds to the cost of the writes of the workload, microseconds.
    writes_us: f64,
    /// What it adds to the size of the table.
    bytes: f64,
    why: String,
    /// What measuring it has shown.
    verified: Option<String>,
}

/// ADVISE: of the statements of a text, or those that were run so far. With `verify` the indexes that are proposed are built, and those
/// are dropped again that do not make the workload's queries faster.
///
/// # Errors
/// 1317 and 3024; with `verify` those of building an index.
pub(crate) fn advise(session: &mut Session, text: Option<&str>, verify: bool) -> Result<RowSet, MysqlError> {
    let measure: Option<Measure<'_>> = if verify { Some(&mut verify::time_us) } else { None };
    advise_by(session, text, measure)
}

/// The same with another measure.
fn advise_by(
    session: &mut Session,
    text: Option<&str>,
    measure: Option<Measure<'_>>,
) -> Result<RowSet, MysqlError> {
    let queries = match text {
        Some(text) => session.workload_of_text(text)?,
        None => session.workload_of_digests()?,
    };
    let mut chosen = choose::Chooser::new(session, queries)?;
    let found = chosen.choose(session);
    let advice = found.and_then(|()| {
        let mut advice = chosen.advice(session)?;
        if let Some(measure) = measure {
            verify::verify(session, &chosen.queries, &mut advice, measure)?;
        }
        advice.extend(drops::drops(session, &chosen)?);
        Ok(advice)
    });
    chosen.forget(session);
    Ok(rows(&advice?))
}

fn rows(advice: &[Advice]) -> RowSet {
    let name = || SqlType::Varchar { len: 64 };
    let text = || SqlType::Varchar { len: 16_383 };
    let mut rows = RowSet::new([
        ("TABLE_SCHEMA", name()),
        ("TABLE_NAME", name()),
        ("ACTION", name()),
        ("STATEMENT", text()),
        ("READS_BEFORE_US", SqlType::BIGINT),
        ("READS_AFTER_US", SqlType::BIGINT),
        ("GAIN_PERCENT", SqlType::BIGINT),
        ("WRITES_US", SqlType::BIGINT),
        ("BYTES", SqlType::BIGINT),
        ("WHY", text()),
        ("VERIFIED", text()),
    ]);
    for one in advice {
        let whole = |number: f64| Value::Int(number.round() as i64);
        let gain = (one.before_us - one.after_us) / one.before_us.max(f64::MIN_POSITIVE) * 100.0;
        rows.push(vec![
            Value::string(one.table.database.as_str()),
            Value::string(one.table.name.as_str()),
            Value::string(one.action),
            Value::string(one.statement.as_str()),
            whole(one.before_us),
            whole(one.after_us),
            whole(gain),
            whole(one.writes_us),
            whole(one.bytes),
            Value::string(one.why.as_str()),
            one.verified.as_deref().map_or(Value::Null, Value::string),
        ]);
    }
    rows
}

/// A table in a statement.
fn table_name(table: &TableDef) -> String {
    format!("{}.{}", quoted(&table.database), quoted(&table.name))
}

/// The parts of an index as they are written.
fn part_list(table: &TableDef, parts: &[IndexPart]) -> String {
    let part = |part: &IndexPart| {
        let column = table.columns.get(part.column)?;
        Some(format!("{}{}", quoted(&column.name), if part.descending { " DESC" } else { "" }))
    };
    parts.iter().filter_map(part).collect::<Vec<_>>().join(", ")
}
