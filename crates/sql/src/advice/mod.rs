//! Advice on indexes: ADVISE, which `leafline advise` sends as well.
//!
//! | module | does |
//! |---|---|
//! | `workload` | collects the statements from digests or a text |
//! | `candidates` | finds indexes that could serve each statement |
//! | `pricing` | prices statements with hypothetical indexes, and the writes and space of an index |
//! | `choose` | chooses the indexes that gain most, one after the other |
//! | `drops` | finds indexes that are not needed |
//! | `verify` | builds proposed indexes and measures them |
//! | `redundant` | finds indexes that another one replaces |
//!
//! Nothing is changed except by VERIFY. The gain of a statement is the difference of two prices of the
//! optimizer, with the device profile that plans are priced with.

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

/// A proposed change of an index.
struct Advice {
    table: Arc<TableDef>,
    /// `CREATE INDEX` or `DROP INDEX`.
    action: &'static str,
    /// The statement that makes the change.
    statement: String,
    /// The statement that reverts it.
    undo: Option<String>,
    /// Price of all reads of the workload before and after the change, microseconds.
    before_us: f64,
    after_us: f64,
    /// Additional cost of the workload's writes, microseconds.
    writes_us: f64,
    /// Additional bytes of the table.
    bytes: f64,
    why: String,
    /// Result of measuring.
    verified: Option<String>,
}

/// ADVISE: proposes indexes for the statements of a text, or for the statements that have run so far. With
/// `verify` it builds the proposed indexes, and drops the ones that do not make the workload's queries
/// faster.
///
/// # Errors
/// 1317 and 3024; with `verify` errors of building an index.
pub(crate) fn advise(session: &mut Session, text: Option<&str>, verify: bool) -> Result<RowSet, MysqlError> {
    let measure: Option<Measure<'_>> = if verify { Some(&mut verify::time_us) } else { None };
    advise_by(session, text, measure)
}

/// Does the work of [`advise`], with any measure.
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

/// The name of a table in a statement.
fn table_name(table: &TableDef) -> String {
    format!("{}.{}", quoted(&table.database), quoted(&table.name))
}

/// The parts of an index in a statement.
fn part_list(table: &TableDef, parts: &[IndexPart]) -> String {
    let part = |part: &IndexPart| {
        let column = table.columns.get(part.column)?;
        Some(format!("{}{}", quoted(&column.name), if part.descending { " DESC" } else { "" }))
    };
    parts.iter().filter_map(part).collect::<Vec<_>>().join(", ")
}
