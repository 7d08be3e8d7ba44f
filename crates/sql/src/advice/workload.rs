//! The statements of a workload and what each of them does: from the samples of digests, or from a text.

use super::candidates::{ColumnDemand, wanted};
use crate::session::Session;
use leafline_planner::binder;
use leafline_planner::bound::{BoundKind, ChangedTable, InsertRows, blocks_of};
use leafline_syntax::ast::{Explain, ExplainFormat, Statement, StatementKind};
use leafline_syntax::{normalized, split_statements};
use leafline_table::TableId;
use leafline_types::MysqlError;
use std::collections::{BTreeSet, HashMap};

/// Limit of the statements: the ones with the most time, or that occur most often in the text.
const MOST: usize = 500;
/// Bytes by which statements are told apart.
const MOST_TEXT: usize = 1024;

/// A statement that stands for all with its digest.
#[derive(Debug)]
pub(super) struct Query {
    pub sql: String,
    pub database: Option<String>,
    /// Number of executions.
    pub runs: f64,
    /// EXPLAIN of the statement.
    pub explain: Statement,
    /// The columns that the statement needs of its tables.
    pub wanted: Vec<ColumnDemand>,
    /// The changes that the statement makes.
    pub changes: Vec<Change>,
    /// True for a query that locks nothing, so that it may be run for measuring.
    pub only_reads: bool,
    /// Rows changed by an execution, if that was counted.
    pub affected: Option<f64>,
}

/// A change of a table's rows.
#[derive(Debug)]
pub(super) struct Change {
    pub table: TableId,
    /// Columns that an UPDATE sets; `None` for inserts and deletes.
    pub columns: Option<BTreeSet<usize>>,
    /// Number of rows of VALUES.
    pub rows: Option<usize>,
}

/// A statement before it is parsed.
struct Sample {
    sql: String,
    database: Option<String>,
    runs: f64,
    affected: Option<f64>,
    /// Importance of the statement.
    weight: f64,
}

impl Session {
    /// The statements that have run so far, as far as their digests have samples.
    pub(super) fn workload_of_digests(&mut self) -> Result<Vec<Query>, MysqlError> {
        let mut samples = Vec::new();
        for digest in self.instance.digests().all() {
            let counts = digest.counts();
            let Some(sql) = digest.sample().filter(|_| counts.executions > 0) else { continue };
            let runs = counts.executions as f64;
            samples.push(Sample {
                sql: sql.into(),
                database: digest.schema.as_deref().map(str::to_owned),
                runs,
                affected: Some(counts.rows_affected as f64 / runs),
                weight: counts.time.as_secs_f64(),
            });
        }
        self.queries(samples, false)
    }

    /// The statements of a text. USE sets the database for the statements after it; other statements than
    /// queries and changes are skipped.
    pub(super) fn workload_of_text(&mut self, text: &str) -> Result<Vec<Query>, MysqlError> {
        let mode = self.settings.lex_mode();
        let mut database = self.database().map(str::to_owned);
        let mut samples: Vec<Sample> = Vec::new();
        let mut known: HashMap<(Option<String>, String), usize> = HashMap::new();
        for sql in split_statements(text, mode) {
            if let Ok(Statement { kind: StatementKind::Use(name), .. }) = self.parse(sql) {
                database = Some(name.value);
                continue;
            }
            let key = (database.clone(), normalized(sql, mode, MOST_TEXT));
            let at = *known.entry(key).or_insert(samples.len());
            match samples.get_mut(at) {
                Some(sample) => {
                    sample.runs += 1.0;
                    sample.weight += 1.0;
                }
                None => samples.push(Sample {
                    sql: sql.to_owned(),
                    database: database.clone(),
                    runs: 1.0,
                    affected: None,
                    weight: 1.0,
                }),
            }
        }
        self.queries(samples, true)
    }

    /// The most important statements that can be planned. With `tells` each other one gives a note.
    fn queries(&mut self, mut samples: Vec<Sample>, tells: bool) -> Result<Vec<Query>, MysqlError> {
        samples.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        samples.truncate(MOST);
        let mut queries = Vec::with_capacity(samples.len());
        for sample in samples {
            self.cancel.check()?;
            match self.in_database(sample.database.as_deref(), |session| session.query_of(&sample)) {
                Ok(query) => queries.extend(query),
                Err(error) if tells => {
                    let text = format!("No advice for '{}': {}", beginning(&sample.sql), error.message);
                    self.warnings.note(MysqlError::unknown_error(text));
                }
                Err(_) => {}
            }
        }
        Ok(queries)
    }

    /// Runs `work` with another current database.
    pub(super) fn in_database<T>(
        &mut self,
        database: Option<&str>,
        work: impl FnOnce(&mut Session) -> Result<T, MysqlError>,
    ) -> Result<T, MysqlError> {
        let before = self.database().map(str::to_owned);
        if before.as_deref() == database {
            return work(self);
        }
        match database {
            Some(database) => self.set_database(database)?,
            None => self.forget_database(),
        }
        let done = work(self);
        match before {
            // The former database may have been dropped meanwhile.
            Some(before) => self.set_database(&before)?,
            None => self.forget_database(),
        }
        done
    }

    /// Analyses a statement; `None` if it is neither a query nor a change of rows.
    fn query_of(&mut self, sample: &Sample) -> Result<Option<Query>, MysqlError> {
        let statement = self.parse(&sample.sql)?;
        if !matches!(
            statement.kind,
            StatementKind::Query(_)
                | StatementKind::Insert(_)
                | StatementKind::Update(_)
                | StatementKind::Delete(_)
        ) {
            return Ok(None);
        }
        if statement.parameters > 0 {
            return Err(MysqlError::wrong_arguments("ADVISE"));
        }
        let context = self.bind_context(&[]);
        let bound = binder::bind_kind(&statement.kind, statement.parameters, &sample.sql, &context)?;
        let (mut asked, mut locks) = (Vec::new(), false);
        blocks_of(&bound.kind, &bound.subqueries, &mut |block, is_subquery| {
            locks |= block.relations.iter().any(|relation| relation.lock.is_some());
            asked.extend(wanted(block, is_subquery));
        });
        let only_reads =
            matches!(statement.kind, StatementKind::Query(_)) && !locks && !statement.assigns_variables;
        let explain = Explain {
            analyze: false,
            format: Some(ExplainFormat::Traditional),
            statement: Box::new(statement.kind.clone()),
        };
        Ok(Some(Query {
            sql: sample.sql.clone(),
            database: sample.database.clone(),
            runs: sample.runs,
            explain: Statement { kind: StatementKind::Explain(explain), ..statement },
            wanted: asked,
            changes: changes(&bound.kind),
            only_reads,
            affected: sample.affected,
        }))
    }
}

/// The changes that a statement makes.
fn changes(bound: &BoundKind) -> Vec<Change> {
    match bound {
        BoundKind::Select(_) => Vec::new(),
        BoundKind::Insert(insert) => {
            let rows = match &insert.rows {
                InsertRows::Values(rows) => Some(rows.len()),
                InsertRows::Select(_) | InsertRows::File(_) => None,
            };
            vec![Change { table: insert.table.id, columns: None, rows }]
        }
        BoundKind::Update(update) => {
            let of_target = |(at, target): (usize, &ChangedTable)| {
                let assigned = update.assignments.iter().filter(|assignment| assignment.target == at);
                let generated = target.rules.generated.iter().map(|(column, _)| *column);
                let columns = assigned.map(|assignment| assignment.column).chain(generated).collect();
                Change { table: target.table.id, columns: Some(columns), rows: None }
            };
            update.targets.iter().enumerate().map(of_target).collect()
        }
        BoundKind::Delete(delete) => {
            let of_target =
                |target: &ChangedTable| Change { table: target.table.id, columns: None, rows: None };
            delete.targets.iter().map(of_target).collect()
        }
    }
}

/// The beginning of a statement, on one line.
pub(super) fn beginning(sql: &str) -> String {
    const SHOWN: usize = 60;
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
