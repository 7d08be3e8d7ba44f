//! Prepared statements: of the protocol, by number, and of PREPARE, by name.

use super::limited::is_change;
use super::{Outcome, Session};
use crate::plans::Planned;
use crate::properties::{Diagnostics, Prepares, properties};
use crate::result::ColumnMeta;
use crate::session_entry::StatementText;
use crate::status::Command;
use hashbrown::HashMap;
use leafline_syntax::ast::{Statement, StatementKind};
use leafline_syntax::token_count;
use leafline_types::{ExprType, MysqlError, Value};
use std::sync::Arc;

/// Limit of a session's prepared statements: the default of MySQL's `max_prepared_stmt_count`.
const MAX_PREPARED: usize = 16_382;

/// Bytes of a statement besides its text and its syntax tree.
const FIXED: usize = 2048;
/// Bytes of the syntax tree for each token of the text: measured from 10 tokens to 400.
const PER_TOKEN: usize = 150;
/// Limit of the parameters of a statement: the protocol counts them with two bytes.
const MAX_PARAMETERS: usize = u16::MAX as usize;

/// Description of a prepared statement for its client.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// Number of the statement.
    pub id: u32,
    /// Number of parameters.
    pub parameters: usize,
    /// Columns of the result; empty if it has none, or if they are known at execution only.
    pub columns: Vec<ColumnMeta>,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) sql: Arc<str>,
    pub(crate) statement: Arc<Statement>,
    pub(super) command: Command,
    diagnostics: Diagnostics,
    /// True if the statement is bound and planned, so that running its plan counts it.
    pub(super) is_planned: bool,
    /// The plan of its last execution, if it was kept.
    pub(super) planned: Option<Arc<Planned>>,
    /// Estimated memory, bytes.
    bytes: usize,
    /// Each CALL that EXECUTE has begun holds it: the statement is neither run nor replaced meanwhile.
    pub(crate) calls: Arc<()>,
}

impl Entry {
    /// Checks that no CALL of the statement runs.
    ///
    /// # Errors
    /// 1444 if the statement is a CALL that runs.
    fn check_unused(&self) -> Result<(), MysqlError> {
        match Arc::strong_count(&self.calls) {
            1 => Ok(()),
            _ => Err(MysqlError::prepared_recursion()),
        }
    }
}

/// An EXECUTE that runs a CALL.
pub(crate) struct Executed {
    /// The user variables of USING.
    pub(crate) using: Vec<String>,
    /// The mark that the call holds until it ends.
    pub(crate) call: Arc<()>,
}

#[derive(Default)]
pub(super) struct PreparedStatements {
    entries: HashMap<u32, Arc<Entry>>,
    names: HashMap<String, u32>,
    last: u32,
    /// Estimated memory of all statements, bytes.
    bytes: usize,
}

impl PreparedStatements {
    fn drop_plans(&mut self) {
        for entry in self.entries.values_mut().filter(|entry| entry.planned.is_some()) {
            let bytes = entry.bytes / 2;
            self.bytes = self.bytes.saturating_sub(entry.bytes - bytes);
            *entry = Arc::new(Entry { planned: None, bytes, ..(**entry).clone() });
        }
    }
}

impl Session {
    pub(super) fn prepare_statement(
        &mut self,
        statement: Statement,
        sql: &str,
    ) -> Result<Prepared, MysqlError> {
        if self.kept.prepared.entries.len() >= MAX_PREPARED {
            return Err(MysqlError::too_many_prepared_statements(MAX_PREPARED));
        }
        let properties = properties(&statement.kind);
        if properties.prepares == Prepares::No {
            return Err(MysqlError::unsupported_in_prepared());
        }
        if statement.parameters > MAX_PARAMETERS {
            return Err(MysqlError::too_many_placeholders());
        }
        let bytes = FIXED + sql.len() + token_count(sql, self.settings.lex_mode()) * PER_TOKEN;
        self.keep_prepared(bytes)?;
        // A plan is kept after it has run: one made without values of parameters is seldom the one that runs.
        let planned = self.plan_statement(&statement, sql, None)?;
        let columns = planned.as_ref().map_or_else(Vec::new, |planned| planned.columns().to_vec());
        let id = self.next_id();
        let parameters = statement.parameters;
        let (command, diagnostics) = (properties.command, properties.diagnostics);
        let entry = Entry {
            sql: sql.into(),
            statement: Arc::new(statement),
            command,
            diagnostics,
            is_planned: planned.is_some(),
            planned: None,
            bytes,
            calls: Arc::default(),
        };
        self.kept.prepared.bytes += bytes;
        self.kept.prepared.entries.insert(id, Arc::new(entry));
        self.entry.set_prepared(self.kept.prepared.entries.len());
        Ok(Prepared { id, parameters, columns })
    }

    /// Makes room for a statement of `bytes` bytes: kept plans are dropped first, because they can be made
    /// again.
    ///
    /// # Errors
    /// 1041 if the session would keep too much.
    fn keep_prepared(&mut self, bytes: usize) -> Result<(), MysqlError> {
        let room = self.room_for_prepared();
        if self.kept.prepared.bytes.saturating_add(bytes) > room {
            self.kept.prepared.drop_plans();
        }
        match self.kept.prepared.bytes.saturating_add(bytes) > room {
            true => Err(MysqlError::session_memory("prepared statements")),
            false => Ok(()),
        }
    }

    fn room_for_prepared(&self) -> usize {
        self.memory_to_keep().saturating_sub(self.user_variables.bytes())
    }

    /// `leafline_session_memory`.
    fn memory_to_keep(&self) -> usize {
        usize::try_from(self.settings.session_memory).unwrap_or(usize::MAX)
    }

    /// Memory left for user variables, besides prepared statements; bytes.
    pub(crate) fn room_for_variables(&self) -> usize {
        self.memory_to_keep().saturating_sub(self.kept.prepared.bytes)
    }

    /// Sets a user variable.
    ///
    /// # Errors
    /// 1041 if the session would keep too much.
    pub(crate) fn set_user_variable(
        &mut self,
        name: &str,
        value: Value,
        ty: &ExprType,
    ) -> Result<(), MysqlError> {
        let room = self.room_for_variables();
        self.user_variables.set_room(room);
        self.user_variables.set(name, value, ty)
    }

    /// Replaces the kept plan of a statement if there is room; without room it is planned each time.
    fn keep_plan(&mut self, id: u32, planned: Option<&Arc<Planned>>) {
        let room = self.room_for_prepared();
        let Some(stored) = self.kept.prepared.entries.get_mut(&id) else { return };
        let planned = planned.filter(|planned| planned.can_be_kept());
        let without = if stored.planned.is_some() { stored.bytes / 2 } else { stored.bytes };
        let others = self.kept.prepared.bytes.saturating_sub(stored.bytes);
        // A plan takes about as much memory as its statement.
        let fits = others.saturating_add(2 * without) <= room;
        let planned = planned.filter(|_| fits).cloned();
        let bytes = if planned.is_some() { 2 * without } else { without };
        self.kept.prepared.bytes = others + bytes;
        *stored = Arc::new(Entry { planned, bytes, ..(**stored).clone() });
    }

    /// The prepared statement with number `id`.
    pub(super) fn prepared_entry(&self, id: u32) -> Option<Arc<Entry>> {
        self.kept.prepared.entries.get(&id).cloned()
    }

    fn next_id(&mut self) -> u32 {
        loop {
            self.kept.prepared.last = self.kept.prepared.last.wrapping_add(1);
            if self.kept.prepared.last != 0
                && !self.kept.prepared.entries.contains_key(&self.kept.prepared.last)
            {
                return self.kept.prepared.last;
            }
        }
    }

    /// Runs a prepared statement.
    ///
    /// # Errors
    /// 1243 if there is no such statement, 1210 if the number of parameters is wrong; MySQL's.
    pub fn execute_prepared(&mut self, id: u32, parameters: &[Value]) -> Result<Outcome, MysqlError> {
        let Some(entry) = self.kept.prepared.entries.get(&id).cloned() else {
            return Err(MysqlError::unknown_statement_handler(id, "EXECUTE"));
        };
        self.contained(|session| {
            session.begin_statement(StatementText::Prepared(&entry.sql));
            // Statements without a plan are counted where they run.
            if entry.is_planned {
                session.count_command(entry.command, true);
            }
            let counted = session.count_use(|_| is_change(&entry.statement.kind));
            let outcome = counted.and_then(|()| session.run_prepared(id, &entry, parameters));
            session.finish(outcome, &entry.sql)
        })
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
        if entry.diagnostics == Diagnostics::Own {
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
        self.keep_plan(id, planned.as_ref());
        match planned {
            Some(planned) => self.run_planned(&planned, parameters),
            None => self.run_statement(&entry.statement, &entry.sql, parameters),
        }
    }

    /// Forgets a prepared statement, if it exists.
    pub fn close_prepared(&mut self, id: u32) {
        if let Some(entry) = self.kept.prepared.entries.remove(&id) {
            self.kept.prepared.bytes = self.kept.prepared.bytes.saturating_sub(entry.bytes);
        }
        if self.kept.prepared.entries.is_empty() {
            self.kept.prepared.entries.shrink_to_fit();
        }
        self.kept.prepared.names.retain(|_, named| *named != id);
        self.entry.set_prepared(self.kept.prepared.entries.len());
    }

    /// PREPARE: replaces a statement of the same name.
    pub(crate) fn prepare_named(&mut self, name: &str, sql: &str) -> Result<(), MysqlError> {
        self.count_protocol_command(Command::StmtPrepare);
        let key = name.to_lowercase();
        if let Some(old) = self.kept.prepared.names.get(&key).copied() {
            self.check_unused(old)?;
            self.close_prepared(old);
        }
        let statement = self.parse(sql)?;
        let prepared = self.prepare_statement(statement, sql)?;
        self.kept.prepared.names.insert(key, prepared.id);
        Ok(())
    }

    /// Checks that no CALL of the statement runs.
    ///
    /// # Errors
    /// 1444.
    fn check_unused(&self, id: u32) -> Result<(), MysqlError> {
        self.kept.prepared.entries.get(&id).map_or(Ok(()), |entry| entry.check_unused())
    }

    /// EXECUTE of a statement that PREPARE has named.
    pub(crate) fn execute_named(
        &mut self,
        name: &str,
        using: &[String],
        parameters: &[Value],
    ) -> Result<Outcome, MysqlError> {
        self.count_protocol_command(Command::StmtExecute);
        let found = self.kept.prepared.names.get(&name.to_lowercase()).copied();
        let entry = found.and_then(|id| Some((id, self.kept.prepared.entries.get(&id)?.clone())));
        let Some((id, entry)) = entry else {
            return Err(MysqlError::unknown_statement_handler(name, "EXECUTE"));
        };
        entry.check_unused()?;
        if entry.is_planned {
            self.count_command(entry.command, false);
        }
        self.executed = Some(Executed { using: using.to_vec(), call: entry.calls.clone() });
        let outcome = self.run_prepared(id, &entry, parameters);
        self.executed = None;
        outcome
    }

    /// Whether PREPARE has given the name to a CALL.
    pub(crate) fn is_prepared_call(&self, name: &str) -> bool {
        self.prepared_statement(name)
            .is_ok_and(|entry| matches!(entry.statement.kind, StatementKind::Call(_)))
    }

    /// A statement that PREPARE has named, for EXECUTE.
    ///
    /// # Errors
    /// 1243 if there is none, 1444 if it is a CALL that runs.
    pub(crate) fn prepared_statement(&self, name: &str) -> Result<Arc<Entry>, MysqlError> {
        let found = self.kept.prepared.names.get(&name.to_lowercase());
        let entry = found.and_then(|id| self.kept.prepared.entries.get(id));
        let entry = entry.ok_or_else(|| MysqlError::unknown_statement_handler(name, "EXECUTE"))?;
        entry.check_unused()?;
        Ok(entry.clone())
    }

    /// DEALLOCATE PREPARE.
    pub(crate) fn deallocate_named(&mut self, name: &str) -> Result<(), MysqlError> {
        self.count_protocol_command(Command::StmtClose);
        match self.kept.prepared.names.get(&name.to_lowercase()).copied() {
            Some(id) => {
                self.check_unused(id)?;
                self.close_prepared(id);
                Ok(())
            }
            None => Err(MysqlError::unknown_statement_handler(name, "DEALLOCATE PREPARE")),
        }
    }
}
