//! ANALYZE TABLE ... UPDATE HISTOGRAM and DROP HISTOGRAM.

use super::maintenance::{failed, full_name, message, messages};
use crate::result::RowSet;
use crate::session::Session;
use crate::show;
use leafline_access::stats::analyze_column;
use leafline_syntax::ast::{AnalyzeHistogram, Ident};
use leafline_table::{ColumnDef, TableDef};
use leafline_types::{MysqlError, SqlType};
use std::sync::Arc;

/// The operation that the messages name.
const OPERATION: &str = "histogram";
/// Most buckets of a histogram.
const MOST_BUCKETS: u64 = 1024;

/// Makes histograms, or removes them, all or none. Returns a message for each column.
///
/// # Errors
/// 1060 for a column that is named twice, 1690 for too many buckets, 1317 if the statement is stopped.
pub(super) fn analyze(session: &mut Session, statement: &AnalyzeHistogram) -> Result<RowSet, MysqlError> {
    let mut rows = messages();
    let named = |at: usize, column: &Ident| {
        let before = statement.columns.iter().take(at);
        before.into_iter().any(|other| other.value.eq_ignore_ascii_case(&column.value))
    };
    let twice = statement.columns.iter().enumerate().find(|(at, column)| named(*at, column));
    if let Some((_, column)) = twice {
        return Err(MysqlError::duplicate_column(&column.value));
    }
    let buckets = match statement.buckets {
        None => None,
        Some(buckets @ 1..=MOST_BUCKETS) => u16::try_from(buckets).ok(),
        Some(_) => return Err(MysqlError::data_out_of_range("Number of buckets", "ANALYZE TABLE")),
    };
    let Some(first) = statement.tables.first() else { return Ok(rows) };
    let name = full_name(session, first);
    let mut refuse = |text: &str| message(&mut rows, &name, OPERATION, "Error", text);
    if statement.tables.len() > 1 {
        refuse("Only one table can be specified while modifying histogram statistics.");
        return Ok(rows);
    }
    if show::view(session, first)?.is_some() {
        refuse("Cannot create histogram statistics for a view.");
        return Ok(rows);
    }
    match show::base_table(session, first) {
        Ok(table) if table.is_private => refuse("Cannot create histogram statistics for a temporary table."),
        Ok(table) => {
            for (kind, text) in change(session, &table, &statement.columns, buckets)? {
                message(&mut rows, &name, OPERATION, kind, &text);
            }
        }
        Err(error) => failed(&mut rows, &name, OPERATION, &error),
    }
    Ok(rows)
}

/// Messages, each after its kind.
type Messages = Vec<(&'static str, String)>;

fn change(
    session: &mut Session,
    table: &Arc<TableDef>,
    columns: &[Ident],
    buckets: Option<u16>,
) -> Result<Messages, MysqlError> {
    let engine = session.instance.engine().clone();
    let now = session.now().utc.epoch_micros().unwrap_or_default();
    let (mut made, mut removed, mut said) = (Vec::new(), Vec::new(), Vec::new());
    for name in columns {
        let name = &name.value;
        let position = table.column(name);
        let Some((position, column)) = position.and_then(|at| Some((at, table.columns.get(at)?))) else {
            said.push(("Error", format!("The column '{name}' does not exist.")));
            continue;
        };
        let Some(buckets) = buckets else {
            if table.histogram(position).is_some() {
                removed.push(position);
                said.push(("status", format!("Histogram statistics removed for column '{}'.", column.name)));
            } else {
                let text = format!("No histogram statistics found for column '{}'.", column.name);
                said.push(("Error", text));
            }
            continue;
        };
        if let Some(why) = refused(table, position, column) {
            said.push(("Error", format!("The column '{}' {why}.", column.name)));
            continue;
        }
        made.push(analyze_column(&engine, table, (position, column), buckets, now, &session.cancel)?);
        said.push(("status", format!("Histogram statistics created for column '{}'.", column.name)));
    }
    if !made.is_empty() || !removed.is_empty() {
        engine.ddl().change_histograms(table, made, &removed)?;
    }
    Ok(said)
}

/// Returns the reason why a column can have no histogram.
fn refused(table: &TableDef, position: usize, column: &ColumnDef) -> Option<&'static str> {
    if column.ty == SqlType::Json {
        return Some("has an unsupported data type");
    }
    let alone = table.indexes.iter().any(|index| {
        let parts: Vec<usize> = index.parts.iter().map(|part| part.column).collect();
        index.is_unique() && parts == [position] && index.parts.iter().all(|part| part.prefix.is_none())
    });
    alone.then_some("is covered by a single-part unique index")
}
