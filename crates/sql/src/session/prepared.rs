//! Prepared statements: of the protocol, by number, and of PREPARE, by name.

use super::entry::StatementText;
use super::{Outcome, Session};
use crate::parser::ast::Statement;
use crate::result::ColumnMeta;
use crate::statement::planned::Planned;
use crate::statement::{command, keeps_diagnostics};
use crate::status::Command;
use hashbrown::HashMap;
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// Most prepared statements of one session, as `max_prepared_stmt_count` bounds them in MySQL.
const MAX_PREPARED: usize = 16_382;

/// Most parameters of a prepared statement: the protocol counts them with two bytes.
const MAX_PARAMETERS: usize = u16::MAX as usize;

/// What a client is told of a statement that it has prepared.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// Its number.
    pub id: u32,
    /// How many parameters it has.
    pub parameters: usize,
    /// The columns of its rows; none if it gives no rows, or if they are known at execution only.
    pub columns: Vec<ColumnMeta>,
}

#[derive(Clone)]
pub(super) struct Entry {
    pub(super) sql: Arc<str>,
    pub(super) statement: Arc<Statement>,
    pub(super) command: Command,
    pub(super) planned: Option<Arc<Planned>>,
}

#[derive(Default)]
pub(super) struct PreparedStatements {
    entries: HashMap<u32, Arc<Entry>>,
    names: HashMap<String, u32>,
    last: u32,
}

impl Session {
    pub(super) fn prepare_statement(
        &mut self,
        statement: Statement,
        sql: &str,
    ) -> Result<Prepared, MysqlError> {
        if self.prepared.entries.len() >= MAX_PREPARED {
            return Err(MysqlError::too_many_prepared_statements(MAX_PREPARED));
        }
        if statement.parameters > MAX_PARAMETERS {
            return Err(MysqlError::too_many_placeholders());
        }
        let planned = self.plan_statement(&statement, sql, None)?.map(Arc::new);
        let columns = planned.as_ref().map_or_else(Vec::new, |planned| planned.columns().to_vec());
        let id = self.next_id();
        let parameters = statement.parameters;
        let command = command(&statement.kind);
        let entry = Entry { sql: sql.into(), statement: Arc::new(statement), command, planned };
        self.prepared.entries.insert(id, Arc::new(entry));
        Ok(Prepared { id, parameters, columns })
    }

    /// A prepared statement, if it is there.
    pub(super) fn prepared_entry(&self, id: u32) -> Option<Arc<Entry>> {
        self.prepared.entries.get(&id).cloned()
    }

    fn next_id(&mut self) -> u32 {
        loop {
            self.prepared.last = self.prepared.last.wrapping_add(1);
            if self.prepared.last != 0 && !self.prepared.entries.contains_key(&self.prepared.last) {
                return self.prepared.last;
            }
        }
    }

    /// Runs a prepared statement.
    ///
    /// # Errors
    /// 1243 if there is no such statement, 1210 if the number of parameters is wrong; MySQL's.
    pub fn execute_prepared(&mut self, id: u32, parameters: &[Value]) -> Result<Outcome, MysqlError> {
        let Some(entry) = self.prepared.entries.get(&id).cloned() else {
            return Err(MysqlError::unknown_statement_handler(id, "EXECUTE"));
        };
        self.begin_statement(StatementText::Prepared(&entry.sql));
        // Others are counted where they are run.
        if entry.planned.is_some() {
            self.count_command(entry.command, true);
        }
        let outcome = self.run_prepared(id, &entry, parameters);
        self.finish(outcome, &entry.sql)
    }

    fn run_prepared(
        &mut self,
        id: u32,
        entry: &Arc<Entry>,
        parameters: &[Value],
    ) -> Result<Outcome, MysqlError> {
        if parameters.len() != entry.statement.parameters {
            return Err(MysqlError::wrong_arguments("EXECUTE"));
        }
        if !keeps_diagnostics(&entry.statement.kind) {
            self.warnings.clear();
        }
        self.apply_hints(&entry.statement.hints);
        self.keep_values(parameters);
        if let Some(planned) = &entry.planned
            && let Some(outcome) = self.run_again(planned, parameters)?
        {
            return Ok(outcome);
        }
        let planned = self.plan_statement(&entry.statement, &entry.sql, Some(parameters))?.map(Arc::new);
        if let Some(stored) = self.prepared.entries.get_mut(&id) {
            *stored = Arc::new(Entry { planned: planned.clone(), ..(**entry).clone() });
        }
        match planned {
            Some(planned) => self.run_planned(&planned, parameters),
            None => self.run_statement(&entry.statement, &entry.sql, parameters),
        }
    }

    /// Forgets a prepared statement, if it is there.
    pub fn close_prepared(&mut self, id: u32) {
        self.prepared.entries.remove(&id);
        self.prepared.names.retain(|_, named| *named != id);
    }

    /// PREPARE: replaces one of the same name.
    pub(crate) fn prepare_named(&mut self, name: &str, sql: &str) -> Result<(), MysqlError> {
        let key = name.to_lowercase();
        if let Some(old) = self.prepared.names.remove(&key) {
            self.close_prepared(old);
        }
        let statement = self.parse(sql)?;
        let prepared = self.prepare_statement(statement, sql)?;
        self.prepared.names.insert(key, prepared.id);
        Ok(())
    }

    /// EXECUTE of a statement of PREPARE.
    pub(crate) fn execute_named(&mut self, name: &str, parameters: &[Value]) -> Result<Outcome, MysqlError> {
        let found = self.prepared.names.get(&name.to_lowercase()).copied();
        let entry = found.and_then(|id| Some((id, self.prepared.entries.get(&id)?.clone())));
        let Some((id, entry)) = entry else {
            return Err(MysqlError::unknown_statement_handler(name, "EXECUTE"));
        };
        if entry.planned.is_some() {
            self.count_command(entry.command, false);
        }
        self.run_prepared(id, &entry, parameters)
    }

    /// DEALLOCATE PREPARE.
    pub(crate) fn deallocate_named(&mut self, name: &str) -> Result<(), MysqlError> {
        match self.prepared.names.get(&name.to_lowercase()).copied() {
            Some(id) => {
                self.close_prepared(id);
                Ok(())
            }
            None => Err(MysqlError::unknown_statement_handler(name, "DEALLOCATE PREPARE")),
        }
    }
}
