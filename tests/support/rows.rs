//! Rows of statements of a session in this process, as text.

use leafline_sql::session::{Outcome, Session};
use leafline_sql::text_format::TextColumns;
use leafline_types::MysqlError;

/// Runs a statement to its end. Its rows, the values of each separated by blanks.
pub fn rows_of(session: &mut Session, sql: &str) -> Result<Vec<String>, MysqlError> {
    let mut stream = match session.execute(sql)? {
        Outcome::Done(_) => return Ok(Vec::new()),
        Outcome::Rows(stream) => stream,
    };
    let types = stream.types();
    let mut rows = Vec::new();
    while let Some(batch) = stream.next_batch(session)? {
        let columns = TextColumns::new(&batch, &types);
        for row in 0..batch.rows {
            let mut text = Vec::new();
            for column in 0..types.len() {
                if column > 0 {
                    text.push(b' ');
                }
                columns.append(row, column, &mut text);
            }
            rows.push(String::from_utf8_lossy(&text).into_owned());
        }
    }
    Ok(rows)
}
