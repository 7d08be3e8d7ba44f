//! Rows of statements of a session in this process, as text.

#![allow(dead_code, reason = "each test uses its part")]

use leafline_sql::session::{Outcome, Session};
use leafline_types::{MysqlError, TextColumns};

/// Runs a statement to its end. Its rows, the values of each; `None` is NULL.
pub fn values_of(session: &mut Session, sql: &str) -> Result<Vec<Vec<Option<String>>>, MysqlError> {
    let mut stream = match session.execute(sql)? {
        Outcome::Done(_) => return Ok(Vec::new()),
        Outcome::Rows(stream) => stream,
    };
    let types = stream.types();
    let mut rows = Vec::new();
    while let Some(batch) = stream.next_batch(session)? {
        let columns = TextColumns::new(&batch, &types);
        for row in 0..batch.rows {
            let value = |column| {
                let mut text = Vec::new();
                columns.append(row, column, &mut text).then(|| String::from_utf8_lossy(&text).into_owned())
            };
            rows.push((0..types.len()).map(value).collect());
        }
    }
    Ok(rows)
}

/// Returns the rows as texts, the values of each row separated by blanks; NULL is nothing.
pub fn rows_of(session: &mut Session, sql: &str) -> Result<Vec<String>, MysqlError> {
    let row = |values: Vec<Option<String>>| {
        let values: Vec<String> = values.into_iter().map(Option::unwrap_or_default).collect();
        values.join(" ")
    };
    Ok(values_of(session, sql)?.into_iter().map(row).collect())
}
