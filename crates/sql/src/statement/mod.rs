//! Runs statements: from a parsed statement to its outcome.
//!
//! | module | runs |
//! |---|---|
//! | [`planned`] | SELECT, INSERT, UPDATE, DELETE and EXPLAIN of them: binds, plans and executes them |
//! | `point_read` | a kept SELECT of the rows of one key |
//! | `explained` | EXPLAIN |
//! | `change` | the rows of INSERT, UPDATE and DELETE |
//! | `limits` | LIMITs that are added to a query or taken off it |
//! | `load_local` | LOAD DATA LOCAL |
//! | `lock_tables` | LOCK TABLES |
//! | `create` | CREATE TABLE |
//! | `definitions` | CREATE DATABASE, DROP, TRUNCATE |
//! | [`account`] | accounts and privileges |
//! | `alter` | ALTER TABLE, CREATE INDEX, DROP INDEX, RENAME TABLE |
//! | `hypothetical` | CREATE INDEX .. HYPOTHETICAL |
//! | `views` | CREATE, ALTER and DROP VIEW |
//! | `programs` | DROP of stored programs, which do not exist |
//! | `shown` | SHOW |
//! | `storage_engines` | ENGINE of a table |
//! | `metadata` | which tables DDL keeps others away from |
//! | `components` | INSTALL COMPONENT and UNINSTALL COMPONENT |
//! | `resource_groups` | CREATE, ALTER, DROP and SET RESOURCE GROUP |
//! | `select_into` | INTO of a SELECT |
//! | `set` | SET |
//! | `histograms` | ANALYZE TABLE .. HISTOGRAM |
//! | `backup` | BACKUP DATABASE |
//! | `handler` | HANDLER |
//! | `maintenance` | ANALYZE, CHECK, CHECKSUM, REPAIR TABLE, LOAD INDEX, FLUSH, KILL |
//! | `table_uses` | which tables a planned statement uses |

pub(crate) mod account;
mod alter;
mod backup;
mod change;
mod components;
mod create;
pub(crate) mod definitions;
mod events;
mod explained;
pub(crate) mod fulltext;
mod handler;
mod histograms;
mod hypothetical;
mod limits;
mod load_local;
pub(crate) mod load_values;
mod lock_tables;
mod maintenance;
mod metadata;
mod own_objects;
#[cfg(test)]
mod partition_cuts;
mod partition_maintenance;
mod partitions;
pub(crate) mod planned;
mod point_read;
mod program_context;
mod programs;
mod resource_groups;
mod select_into;
pub(crate) mod set;
mod shown;
mod storage_engines;
mod table_uses;
mod transport;
#[cfg(test)]
mod transport_tests;
mod views;

use crate::advice::advise;
use crate::evaluate;
use crate::program;
use crate::properties::{About, Changes, Commits, Diagnostics, properties};
use crate::result::{Done, RowSet};
use crate::session::{Outcome, RowStream, Session};
use crate::show;
use leafline_syntax::ast::{Expr, Handler, PrepareSource, SetItem, Statement, StatementKind};
use leafline_types::{MysqlError, SqlType, Value};

impl Session {
    /// Runs a statement that was parsed from `sql`.
    pub(crate) fn run_statement(
        &mut self,
        statement: &Statement,
        sql: &str,
        parameters: &[Value],
    ) -> Result<Outcome, MysqlError> {
        let kind = &statement.kind;
        let properties = properties(kind);
        self.count_command(properties.command, true);
        // A program's runner removes the conditions of the statement before, if this one uses tables or gives its own.
        if properties.diagnostics == Diagnostics::Own && self.program_step.is_none() {
            self.warnings.clear();
        }
        if self.is_inner() {
            check_inside(kind, properties.commits)?;
        }
        if hypothetical::drop(self, kind) {
            return Ok(Outcome::Done(Done::default()));
        }
        if properties.commits == Commits::First {
            self.commit()?;
            self.forget_next_characteristics();
        }
        self.check_changes(properties.changes)?;
        self.apply_hints(&statement.hints);
        if let Some(planned) = self.plan_statement(statement, sql, Some(parameters))? {
            self.note_table_use(!planned.uses().is_empty());
            return self.run_planned(&planned, parameters);
        }
        self.count_unplanned(&properties, sql);
        if self.passes_over(kind) {
            return Ok(Outcome::Done(Done::default()));
        }
        let _excluding = metadata::excluded_by(self, kind)?;
        self.run_directly(create::Text { statement, sql, parameters })
    }

    /// Checks that the transaction and the server allow the changes.
    ///
    /// # Errors
    /// 1792 in a READ ONLY transaction, 1290 if the server is `read_only`.
    fn check_changes(&self, changes: Changes<'_>) -> Result<(), MysqlError> {
        let about = match changes {
            Changes::Nothing => return Ok(()),
            Changes::Accounts => return self.check_server_writable(),
            Changes::Definitions(about) => about,
        };
        if self.is_read_only() {
            return Err(MysqlError::read_only_transaction());
        }
        match about {
            About::Temporary => Ok(()),
            About::Named(tables) if tables.iter().all(|table| self.own_table_named(table).is_some()) => {
                Ok(())
            }
            About::Named(_) | About::Shared => self.check_server_writable(),
        }
    }

    /// Returns the text that PREPARE names: a literal, or the value of a variable.
    fn text_of(&self, source: &PrepareSource) -> String {
        match source {
            PrepareSource::Text(text) => text.clone(),
            PrepareSource::Variable(variable) => match self.user_variables.get(variable) {
                (Value::String(text), _) => text.to_string(),
                (_, SqlType::Null) => "NULL".into(),
                (value, ty) => evaluate::text(&value, &ty),
            },
        }
    }

    /// Runs a statement that has no plan.
    fn run_directly(&mut self, text: create::Text<'_>) -> Result<Outcome, MysqlError> {
        use StatementKind as K;
        let (kind, sql) = (&text.statement.kind, text.sql);
        let with_parameters = (sql, text.parameters);
        let rows = |rows: RowSet| RowStream::ready(rows).map(Outcome::Rows);
        let done = Outcome::Done;
        let nothing = |()| Outcome::Done(Done::default());
        match kind {
            K::Query(_)
            | K::SelectInto { .. }
            | K::Insert(_)
            | K::Load(_)
            | K::Update(_)
            | K::Delete(_)
            | K::Explain(_) => {
                Err(MysqlError::internal("a statement that is planned was run without a plan"))
            }
            K::ExplainConnection { format, connection } => self.explain_connection(*connection, *format),
            K::Show(what) => rows(shown::show(self, what, with_parameters)?),
            K::Describe { table, column } => rows(show::describe(self, table, column.as_deref())?),
            K::AnalyzeTable(tables) => rows(maintenance::analyze(self, tables)),
            K::AnalyzeHistogram(histogram) => rows(histograms::analyze(self, histogram)?),
            K::CheckTable(tables, depth) => rows(maintenance::check(self, tables, *depth)?),
            K::RepairTable(tables) => rows(maintenance::repair(self, tables)),
            K::OptimizeTable(tables) => rows(maintenance::optimize(self, tables)?),
            K::MaintainPartitions(wanted) => rows(partition_maintenance::run(self, wanted)?),
            K::LoadIndex(tables) => rows(maintenance::load_index(self, tables)?),
            K::ChecksumTable { tables, quick } => rows(maintenance::checksum(self, tables, *quick)?),
            K::Advise { workload, verify } => rows(self.advise_on(workload.as_ref(), *verify)?),
            K::Backup { path, parent } => rows(backup::backup(self, path, parent.as_deref())?),
            K::CreateDatabase(create) => definitions::create_database(self, create).map(done),
            K::AlterDatabase(alter) => definitions::alter_database(self, alter).map(done),
            K::DropDatabase(drop) => definitions::drop_database(self, drop).map(done),
            K::CreateTable(create) => create::create_table(self, create, text).map(done),
            K::CreateTableLike(create) => create::create_table_like(self, create).map(done),
            K::DropTable(drop) => definitions::drop_table(self, drop).map(done),
            K::Truncate(table) => definitions::truncate(self, table).map(done),
            K::RenameTable(rename) => alter::rename_tables(self, rename).map(done),
            K::AlterTable(alter) | K::CreateIndex(alter) | K::DropIndex(alter) => {
                alter::alter_table(self, alter).map(done)
            }
            K::CreateHypotheticalIndex(table, key) => hypothetical::create(self, table, key).map(nothing),
            K::ExportTable { table, path } => transport::export_table(self, table, path).map(done),
            K::ImportTable { table, path } => transport::import_table(self, table.as_ref(), path).map(done),
            K::CreateView(create) => views::create_view(self, create, sql).map(done),
            K::DropView(drop) => views::drop_view(self, drop).map(done),
            K::CreateProgram(create) => programs::create(self, create, with_parameters).map(nothing),
            K::AlterProgram(alter) => programs::alter(self, alter, with_parameters).map(nothing),
            K::Call(call) => program::call(self, call, with_parameters),
            K::Signal(signal) => program::signal(self, signal, with_parameters).map(nothing),
            K::GetDiagnostics(get) => program::get_diagnostics(self, get, with_parameters).map(nothing),
            K::DropProgram(drop) => programs::drop(self, drop).map(nothing),
            K::CreateUser { if_not_exists, users, roles, options } => {
                let options = (roles.as_slice(), options);
                self.instance.clone().accounts().create(self, *if_not_exists, users, options).map(nothing)
            }
            K::AlterUser { if_exists, users, options } => {
                self.instance.clone().accounts().alter(self, *if_exists, users, options).map(nothing)
            }
            K::DropUser { if_exists, users } => {
                self.instance.clone().accounts().drop_users(self, *if_exists, users).map(nothing)
            }
            K::RenameUser(renamed) => self.instance.clone().accounts().rename(self, renamed).map(nothing),
            K::Grant(grant) => self.instance.clone().accounts().grant(self, grant).map(nothing),
            K::Revoke(revoke) => self.instance.clone().accounts().revoke(self, revoke).map(nothing),
            K::Role(statement) => self.instance.clone().accounts().run_roles(self, statement).map(nothing),
            K::ResourceGroup(statement) => resource_groups::run(self, statement).map(nothing),
            K::Component(component) => components::run(self, component).map(nothing),
            K::Begin { read_only, consistent_snapshot, from_session } => {
                self.begin(*read_only, *consistent_snapshot, *from_session).map(nothing)
            }
            K::Commit(completion) => self.end_transaction(true, *completion).map(nothing),
            K::Rollback(completion) => self.end_transaction(false, *completion).map(nothing),
            K::Savepoint(name) => Ok(self.run_savepoint(&name.value)),
            K::RollbackTo(name) => self.rollback_to(&name.value).map(nothing),
            K::ReleaseSavepoint(name) => self.release_savepoint(&name.value).map(nothing),
            K::LockTables(tables) => lock_tables::lock(self, tables).map(nothing),
            K::UnlockTables => self.unlock_tables().map(nothing),
            K::Handler(handler) => self.run_handler(handler, with_parameters),
            K::Use(name) => self.run_use(&name.value).map(nothing),
            K::Set(items) => set::set(self, items, with_parameters).map(nothing),
            K::Flush(items) => maintenance::flush(self, items).map(nothing),
            K::Kill { query_only, connection } => {
                maintenance::kill(self, *query_only, connection, with_parameters).map(nothing)
            }
            K::Prepare { name, source } => {
                let prepared = self.text_of(source);
                self.prepare_named(&name.value, &prepared).map(nothing)
            }
            K::Execute { name, using } => {
                let values: Vec<Value> = using.iter().map(|name| self.user_variables.get(name).0).collect();
                self.outside_program(|session| session.execute_named(&name.value, using, &values))
            }
            K::Deallocate(name) => self.deallocate_named(&name.value).map(nothing),
            K::Do(expressions) => self.evaluate_all(expressions, with_parameters).map(nothing),
        }
    }

    fn advise_on(&mut self, workload: Option<&PrepareSource>, verify: bool) -> Result<RowSet, MysqlError> {
        let workload = workload.map(|source| self.text_of(source));
        advise(self, workload.as_deref(), verify)
    }

    /// Runs USE, which a program can only have prepared.
    fn run_use(&mut self, database: &str) -> Result<(), MysqlError> {
        match self.is_in_program() {
            true => Err(MysqlError::not_allowed_in_program("USE")),
            false => self.set_database(database),
        }
    }

    fn run_savepoint(&mut self, name: &str) -> Outcome {
        self.savepoint(name);
        Outcome::Done(Done::default())
    }

    /// Evaluates the expressions of DO.
    fn evaluate_all(&mut self, expressions: &[Expr], text: (&str, &[Value])) -> Result<(), MysqlError> {
        expressions.iter().try_for_each(|expression| evaluate::constant(self, expression, text).map(drop))
    }

    fn run_handler(&mut self, handler: &Handler, text: (&str, &[Value])) -> Result<Outcome, MysqlError> {
        match handler {
            Handler::Open { table, alias } => handler::open(self, table, alias.as_ref())?,
            Handler::Read { name, read } => {
                let rows = handler::read(self, name, read, text)?;
                return RowStream::ready(rows).map(Outcome::Rows);
            }
            Handler::Close(name) => handler::close(self, name)?,
        }
        Ok(Outcome::Done(Done::default()))
    }
}

/// Checks that a stored function or trigger may run a statement, also through a procedure.
///
/// # Errors
/// 1422 for a statement that ends or begins a transaction, 1336 for PREPARE and EXECUTE.
fn check_inside(kind: &StatementKind, commits: Commits) -> Result<(), MysqlError> {
    use StatementKind as K;
    match kind {
        K::Prepare { .. } | K::Execute { .. } | K::Deallocate(_) => {
            Err(MysqlError::not_allowed_in_function("Dynamic SQL"))
        }
        // As in MySQL, like a change of autocommit, because both commit.
        K::Set(items) if items.iter().any(|item| matches!(item, SetItem::Password { .. })) => {
            Err(MysqlError::autocommit_in_function())
        }
        K::Begin { .. } | K::Commit(_) | K::Rollback(_) | K::LockTables(_) | K::UnlockTables => {
            Err(MysqlError::commit_in_function())
        }
        _ if commits == Commits::First => Err(MysqlError::commit_in_function()),
        _ => Ok(()),
    }
}
