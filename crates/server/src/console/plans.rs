//! Plans of statements of the digests, and indexes that would make them cheaper.

use super::Shared;
use super::answers::{Refusal, named_statement};
use super::shapes::{picture, statement_id};
use crate::http::Request;
use leafline_sql::observed::{PlanPicture, StatementFigures, StatementId};
use leafline_sql::{Outcome, Session};
use leafline_types::{MysqlError, Value as Cell, value_at};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Longest run of a statement, and longest wait for another request's work.
pub(super) const TIME: Duration = Duration::from_secs(10);
/// Most statements for which a proposed index is tried.
const TRIED: usize = 20;

/// A result of ADVISE.
pub(super) struct Advised {
    at: Instant,
    rows: Vec<Proposal>,
}

/// A row of ADVISE.
#[derive(Clone)]
struct Proposal {
    schema: String,
    table: String,
    action: String,
    statement: String,
    before_us: i64,
    after_us: i64,
    gain_percent: i64,
    writes_us: i64,
    bytes: i64,
    why: String,
}

impl Shared {
    /// Does `work` while no other request works. Waits for the other for up to [`TIME`], then refuses.
    fn alone<R>(&self, work: impl FnOnce() -> Result<R, Refusal>) -> Result<R, Refusal> {
        let Some(_alone) = self.at_work.try_lock_for(TIME) else {
            return Err(Refusal(503, "the console is at work on something else; try again".into()));
        };
        work()
    }

    /// Opens a read-only session in the database of a statement.
    fn session_for(&self, id: &StatementId) -> Result<Session, Refusal> {
        let mut session = self.instance.connect()?;
        session.only_watch();
        if let Some(schema) = &id.schema {
            session.set_database(schema)?;
        }
        session.execute("SET SESSION transaction_read_only = ON")?;
        Ok(session)
    }

    fn sample_of(&self, id: &StatementId) -> Result<String, Refusal> {
        let missing = "no statement of this kind was kept as it came: there is none, it was too long, or it has no plan";
        self.instance.sample_of(id).ok_or_else(|| Refusal(404, missing.into()))
    }

    /// Returns the plan of a statement. The parameter `index` is the number of a proposed index, which adds the plan with it; `run`
    /// = 1 runs the statement.
    pub(super) fn plan(&self, request: &Request) -> Result<Value, Refusal> {
        let id = named_statement(request)?;
        let sql = self.sample_of(&id)?;
        let runs = request.parameter("run") == Some("1");
        self.alone(|| {
            let mut session = self.session_for(&id)?;
            if let Some(index) = request.parameter("index") {
                let index = self.proposed(index)?;
                let before = session.picture(&sql, None)?;
                suppose(&mut session, &index)?;
                let after = session.picture(&sql, None)?;
                return Ok(json!({ "sql": sql, "picture": picture(&after), "before": picture(&before) }));
            }
            let found = session.picture(&sql, runs.then_some(TIME))?;
            Ok(json!({ "sql": sql, "picture": picture(&found) }))
        })
    }

    /// Returns the proposals of ADVISE: runs ADVISE if the parameter `now` is 1, else returns the last result.
    pub(super) fn advice(&self, request: &Request) -> Result<Value, Refusal> {
        if request.parameter("now") == Some("1") {
            let rows = self.alone(|| {
                let mut session = self.instance.connect()?;
                session.only_watch();
                Ok(advise(&mut session)?)
            })?;
            *self.advised.lock() = Some(Advised { at: Instant::now(), rows });
        }
        let advised = self.advised.lock();
        let rows = advised.iter().flat_map(|advised| &advised.rows).enumerate().map(|(number, row)| {
            json!({
                "number": number,
                "schema": row.schema,
                "table": row.table,
                "action": row.action,
                "statement": row.statement,
                "before_us": row.before_us,
                "after_us": row.after_us,
                "gain_percent": row.gain_percent,
                "writes_us": row.writes_us,
                "bytes": row.bytes,
                "why": row.why,
            })
        });
        Ok(json!({
            "seconds_ago": advised.as_ref().map(|advised| advised.at.elapsed().as_secs()),
            "rows": rows.collect::<Vec<_>>(),
        }))
    }

    /// Returns, for the statements that took most time, the cost without and with a proposed index.
    pub(super) fn supposed(&self, request: &Request) -> Result<Value, Refusal> {
        let index = self.proposed(request.parameter("index").unwrap_or_default())?;
        let about = |figures: &StatementFigures| {
            let text = figures.text.as_deref().unwrap_or_default().to_lowercase();
            figures.has_sample && text.contains(&index.table.to_lowercase())
        };
        let statements: Vec<StatementFigures> =
            self.instance.statements(usize::MAX).into_iter().filter(about).take(TRIED).collect();
        self.alone(|| {
            let mut found = Vec::new();
            for figures in &statements {
                let Some(id) = &figures.id else { continue };
                // A statement whose table is gone is left out.
                if let Ok((before, after)) = self.priced(id, &index) {
                    found.push(json!({
                        "id": statement_id(id),
                        "text": figures.text,
                        "executions": figures.executions,
                        "before_us": before.cost_us,
                        "after_us": after.cost_us,
                    }));
                }
            }
            Ok(json!({ "statement": index.statement, "statements": found }))
        })
    }

    fn priced(&self, id: &StatementId, index: &Proposal) -> Result<(PlanPicture, PlanPicture), Refusal> {
        let sql = self.sample_of(id)?;
        let mut session = self.session_for(id)?;
        let before = session.picture(&sql, None)?;
        suppose(&mut session, index)?;
        Ok((before, session.picture(&sql, None)?))
    }

    /// Returns the proposed index of this number.
    fn proposed(&self, number: &str) -> Result<Proposal, Refusal> {
        let advised = self.advised.lock();
        let rows = advised.as_ref().map(|advised| &advised.rows);
        let row = rows.zip(number.parse::<usize>().ok()).and_then(|(rows, number)| rows.get(number));
        match row {
            Some(row) if row.action == "CREATE INDEX" => Ok(row.clone()),
            _ => Err(Refusal(404, "no such index was proposed last".into())),
        }
    }
}

/// Creates the proposed index as a hypothetical one of the session.
fn suppose(session: &mut Session, index: &Proposal) -> Result<(), MysqlError> {
    let statement = index.statement.trim_end().trim_end_matches(';');
    session.execute(&format!("{statement} HYPOTHETICAL")).map(drop)
}

/// Runs ADVISE and returns its rows.
fn advise(session: &mut Session) -> Result<Vec<Proposal>, MysqlError> {
    let Outcome::Rows(mut rows) = session.execute("ADVISE")? else { return Ok(Vec::new()) };
    let types = rows.types();
    let mut found = Vec::new();
    while let Some(batch) = rows.next_batch(session)? {
        for row in 0..batch.rows {
            let cell = |at: usize| match (batch.columns.get(at), types.get(at)) {
                (Some(column), Some(ty)) => value_at(column, row, ty),
                _ => Cell::Null,
            };
            let text = |at| match cell(at) {
                Cell::String(text) => text.to_string(),
                _ => String::new(),
            };
            let number =
                |at| cell(at).as_integer().and_then(|number| i64::try_from(number).ok()).unwrap_or(0);
            found.push(Proposal {
                schema: text(0),
                table: text(1),
                action: text(2),
                statement: text(3),
                before_us: number(4),
                after_us: number(5),
                gain_percent: number(6),
                writes_us: number(7),
                bytes: number(8),
                why: text(9),
            });
        }
    }
    Ok(found)
}
