//! Runs one statement and writes its result.

use super::super::args::Format;
use super::super::failure::Failure;
use super::super::output::{self, Column, Kind};
use super::super::progress::Watched;
use super::super::script::Statement;
use super::interrupt::Interrupts;
use leafline_sql::result::Done;
use leafline_sql::{Outcome, OwnFiles, RowStream, Session};
use leafline_types::{MysqlError, SqlType, TextColumns};
use std::io::{self, Write};
use std::ops::Range;
use std::time::{Duration, Instant};

/// A session, and how its results are shown.
pub struct Runner {
    /// The session.
    pub session: Session,
    /// Whether summaries, such as `2 rows in set (0.01 sec)`, are shown.
    pub summaries: bool,
    /// Whether summaries show the time.
    pub timing: bool,
    format: Format,
    headings: bool,
    interrupts: Interrupts,
}

/// Why a statement failed, or its rows were not written.
pub enum RunError {
    /// The statement failed.
    Sql(MysqlError),
    /// Ctrl-C stopped it.
    Interrupted(MysqlError),
    /// The rows could not be written.
    Output(io::Error),
}

impl From<MysqlError> for RunError {
    fn from(error: MysqlError) -> RunError {
        RunError::Sql(error)
    }
}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> RunError {
        RunError::Output(error)
    }
}

impl RunError {
    /// Converts the error for a verb that ends with it.
    pub fn into_failure(self) -> Failure {
        match self {
            RunError::Sql(_) => Failure::Silent,
            RunError::Interrupted(_) => Failure::Interrupted,
            RunError::Output(error) => Failure::output(error),
        }
    }
}

impl Runner {
    /// Makes a runner that shows results in `format`.
    pub fn new(mut session: Session, interrupts: Interrupts, format: Format, headings: bool) -> Runner {
        session.allow_several_results(true);
        Runner { session, summaries: false, timing: true, format, headings, interrupts }
    }

    /// Runs a statement, and writes its rows or a summary to `out`, for each of its results.
    pub fn run(&mut self, statement: &Statement, out: &mut dyn Write) -> Result<(), RunError> {
        self.interrupts.begin(self.session.cancel_token());
        let result = self.run_and_write(statement, out);
        match (self.interrupts.end(), result) {
            (true, Err(RunError::Sql(error))) => Err(RunError::Interrupted(error)),
            (_, result) => result,
        }
    }

    fn run_and_write(&mut self, statement: &Statement, out: &mut dyn Write) -> Result<(), RunError> {
        let mut begun = Instant::now();
        let database = self.session.database().map(str::to_owned);
        let watched = Watched::begin(&self.session);
        let outcome = self.session.execute_with_files(&statement.sql, &mut OwnFiles);
        drop(watched);
        let mut next = Some(outcome?);
        while let Some(outcome) = next {
            let written = self.write(outcome, statement, (begun, database.as_deref()), out);
            if written.is_err() {
                self.session.give_up_results();
            }
            written?;
            if !self.session.has_more_results() {
                break;
            }
            begun = Instant::now();
            let watched = Watched::begin(&self.session);
            next = self.session.next_result()?;
            drop(watched);
        }
        Ok(out.flush()?)
    }

    /// Writes a result of a statement, which began, or went on, at a time and in a database.
    fn write(
        &mut self,
        outcome: Outcome,
        statement: &Statement,
        (begun, database): (Instant, Option<&str>),
        out: &mut dyn Write,
    ) -> Result<(), RunError> {
        match outcome {
            Outcome::Done(done) if self.summaries => {
                let took = begun.elapsed();
                if database != self.session.database() && done.affected == 0 && is_use(&statement.sql) {
                    writeln!(out, "Database changed")?;
                } else {
                    let text = done_text(&done);
                    self.summary(&text, took, out)?;
                }
                if !done.info.is_empty() {
                    writeln!(out, "{}", done.info)?;
                }
                writeln!(out)?;
            }
            Outcome::Done(_) => {}
            Outcome::Rows(stream) => {
                let vertical = statement.vertical && self.format == Format::Table;
                let format = if vertical { Format::Vertical } else { self.format };
                let rows = self.write_rows(stream, format, out)?;
                if self.summaries {
                    self.summary(&rows_text(rows), begun.elapsed(), out)?;
                    writeln!(out)?;
                }
            }
        }
        Ok(())
    }

    /// Writes all rows and returns their number.
    fn write_rows(
        &mut self,
        mut stream: RowStream,
        format: Format,
        out: &mut dyn Write,
    ) -> Result<u64, RunError> {
        let mut writer = output::writer(format, self.headings);
        let types = stream.types();
        let columns: Vec<Column> = stream
            .columns()
            .iter()
            .map(|c| Column { name: c.name.clone(), kind: kind(&c.value_type()) })
            .collect();
        writer.begin(&columns, out)?;
        let mut rows = 0;
        let mut text = Vec::new();
        let mut ends = Vec::with_capacity(columns.len());
        while let Some(batch) = stream.next_batch(&mut self.session)? {
            let values = TextColumns::new(&batch, &types);
            for row in 0..batch.rows {
                text.clear();
                ends.clear();
                for column in 0..columns.len() {
                    let start = text.len();
                    let there = values.append(row, column, &mut text);
                    ends.push(there.then_some(start..text.len()));
                }
                let cell = |range: &Option<Range<usize>>| range.clone().and_then(|range| text.get(range));
                let cells: Vec<Option<&[u8]>> = ends.iter().map(cell).collect();
                writer.row(&cells, out)?;
            }
            rows += batch.rows as u64;
        }
        writer.end(out)?;
        Ok(rows)
    }

    fn summary(&self, text: &str, took: Duration, out: &mut dyn Write) -> io::Result<()> {
        let warnings = match self.session.warnings().count() {
            0 => String::new(),
            1 => ", 1 warning".to_owned(),
            many => format!(", {many} warnings"),
        };
        let time = if self.timing { format!(" ({:.2} sec)", took.as_secs_f64()) } else { String::new() };
        writeln!(out, "{text}{warnings}{time}")
    }
}

fn is_use(sql: &str) -> bool {
    sql.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("use"))
}

fn kind(ty: &SqlType) -> Kind {
    match ty {
        SqlType::Decimal { .. } => Kind::Decimal,
        ty if ty.is_bytes() => Kind::Binary,
        ty if ty.is_numeric() => Kind::Number,
        _ => Kind::Text,
    }
}

fn done_text(done: &Done) -> String {
    match done.affected {
        1 => "Query OK, 1 row affected".to_owned(),
        rows => format!("Query OK, {rows} rows affected"),
    }
}

fn rows_text(rows: u64) -> String {
    match rows {
        0 => "Empty set".to_owned(),
        1 => "1 row in set".to_owned(),
        rows => format!("{rows} rows in set"),
    }
}
