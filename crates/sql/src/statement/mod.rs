//! Statements at work: from a parsed statement to its outcome.
//!
//! | module | runs |
//! |---|---|
//! | [`planned`] | SELECT, INSERT, UPDATE, DELETE and EXPLAIN of them: bound, planned, executed |
//! | `repeated` | such statements, with one set of parameters after the other |
//! | `explained` | EXPLAIN |
//! | `change` | the rows of INSERT, UPDATE and DELETE |
//! | `limits` | LIMITs that a query is given, or that are taken off it |
//! | `load_local` | LOAD DATA LOCAL |
//! | `counted` | as what statements are counted |
//! | `create` | CREATE TABLE |
//! | `definitions` | CREATE DATABASE, DROP, TRUNCATE |
//! | `alter` | ALTER TABLE, CREATE INDEX, DROP INDEX, RENAME TABLE |
//! | `hypothetical` | CREATE INDEX .. HYPOTHETICAL |
//! | `views` | CREATE VIEW and the like |
//! | `programs` | DROP of stored programs, of which there are none |
//! | `storage_engines` | ENGINE of a table |
//! | `metadata` | which tables DDL keeps others away from |
//! | `resource_groups` | CREATE, ALTER, DROP and SET RESOURCE GROUP |
//! | `select_into` | INTO of a SELECT |
//! | `set` | SET |
//! | `histograms` | ANALYZE TABLE .. HISTOGRAM |
//! | `backup` | BACKUP DATABASE |
//! | `handler` | HANDLER |
//! | `maintenance` | ANALYZE, CHECK, CHECKSUM, REPAIR TABLE, LOAD INDEX, FLUSH, KILL |
//! | `table_uses` | which tables a planned statement uses |
//! | [`evaluate`] | expressions without a table |

mod alter;
mod backup;
mod change;
mod counted;
mod create;
pub(crate) mod definitions;
pub(crate) mod evaluate;
pub(crate) mod execution;
mod explained;
pub(crate) mod handler;
mod histograms;
mod hypothetical;
mod limits;
mod load_local;
pub(crate) mod load_values;
mod maintenance;
mod metadata;
mod own_objects;
mod parameters;
#[cfg(test)]
mod partition_cuts;
mod partition_maintenance;
mod partitions;
pub(crate) mod planned;
mod programs;
mod repeated;
mod resource_groups;
mod select_into;
pub(crate) mod set;
mod short_read;
mod storage_engines;
mod table_uses;
mod transport;
#[cfg(test)]
mod transport_tests;
mod views;

pub(crate) use counted::command;

use crate::advice::advise;
use crate::result::{Done, RowSet};
use crate::session::{Outcome, RowStream, Session};
use crate::show;
use leafline_syntax::ast::{Handler, PrepareSource, SetItem, Statement, StatementKind, TableName};
use leafline_types::{MysqlError, SqlType, Value};

impl Session {
    /// Runs a statement. `sql` is the text it was parsed from.
    pub(crate) fn run_statement(
        &mut self,
        statement: &Statement,
        sql: &str,
        parameters: &[Value],
    ) -> Result<Outcome, MysqlError> {
        let kind = &statement.kind;
        self.count_command(command(kind), true);
        if !keeps_diagnostics(kind) {
            self.warnings.clear();
        }
        if hypothetical::drop(self, kind) {
            return Ok(Outcome::Done(Done::default()));
        }
        if commits_first(kind) {
            self.commit()?;
            self.forget_next_characteristics();
        }
        if changes_definitions(kind) && self.is_read_only() {
            return Err(MysqlError::read_only_transaction());
        }
        if (changes_definitions(kind) || changes_accounts(kind)) && !is_about_own_tables(self, kind) {
            self.check_server_writable()?;
        }
        self.apply_hints(&statement.hints);
        if let Some(planned) = self.plan_statement(statement, sql, Some(parameters))? {
            return self.run_planned(&planned, parameters);
        }
        self.count_unplanned(kind, sql);
        if let Some(rows) = self.run_listing(kind, (sql, parameters))? {
            return Ok(Outcome::Rows(RowStream::ready(rows)?));
        }
        if let StatementKind::ExplainConnection { format, connection } = kind {
            return self.explain_connection(*connection, *format);
        }
        if let StatementKind::Execute { name, using } = kind {
            let values: Vec<Value> = using.iter().map(|name| self.user_variables.get(name).0).collect();
            return self.execute_named(&name.value, &values);
        }
        self.run_action(create::Text { statement, sql, parameters }).map(Outcome::Done)
    }

    /// Statements that make their rows themselves.
    fn run_listing(
        &mut self,
        kind: &StatementKind,
        text: (&str, &[Value]),
    ) -> Result<Option<RowSet>, MysqlError> {
        Ok(Some(match kind {
            StatementKind::Show(what) => show::show(self, what, text)?,
            StatementKind::Describe { table, column } => show::describe(self, table, column.as_deref())?,
            StatementKind::AnalyzeTable(tables) => maintenance::analyze(self, tables),
            StatementKind::AnalyzeHistogram(histogram) => histograms::analyze(self, histogram)?,
            StatementKind::CheckTable(tables, depth) => maintenance::check(self, tables, *depth)?,
            StatementKind::RepairTable(tables) => maintenance::repair(self, tables),
            StatementKind::OptimizeTable(tables) => maintenance::optimize(self, tables)?,
            StatementKind::MaintainPartitions(wanted) => partition_maintenance::run(self, wanted)?,
            StatementKind::LoadIndex(tables) => maintenance::load_index(self, tables)?,
            StatementKind::Advise { workload, verify } => {
                let text = workload.as_ref().map(|source| self.text_of(source));
                advise(self, text.as_deref(), *verify)?
            }
            StatementKind::ChecksumTable { tables, quick } => maintenance::checksum(self, tables, *quick)?,
            StatementKind::Backup { path, parent } => backup::backup(self, path, parent.as_deref())?,
            StatementKind::Handler(Handler::Read { name, read }) => handler::read(self, name, read, text)?,
            _ => return Ok(None),
        }))
    }

    /// A text that is given as such, or by a variable.
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

    fn run_action(&mut self, text: create::Text<'_>) -> Result<Done, MysqlError> {
        let (kind, sql) = (&text.statement.kind, text.sql);
        let with_parameters = (sql, text.parameters);
        if self.passes_over(kind) {
            return Ok(Done::default());
        }
        let _excluding = metadata::excluded_by(self, kind)?;
        match kind {
            StatementKind::CreateDatabase(create) => return definitions::create_database(self, create),
            StatementKind::AlterDatabase(alter) => return definitions::alter_database(self, alter),
            StatementKind::DropDatabase(drop) => return definitions::drop_database(self, drop),
            StatementKind::CreateTable(create) => return create::create_table(self, create, text),
            StatementKind::CreateTableLike(create) => return create::create_table_like(self, create),
            StatementKind::ExportTable { table, path } => return transport::export_table(self, table, path),
            StatementKind::ImportTable { table, path } => {
                return transport::import_table(self, table.as_ref(), path);
            }
            StatementKind::DropTable(drop) => return definitions::drop_table(self, drop),
            StatementKind::CreateView(create) => return views::create_view(self, create, sql),
            StatementKind::DropView(drop) => return views::drop_view(self, drop),
            StatementKind::DropProgram(drop) => programs::drop(self, drop)?,
            StatementKind::CreateIndex(alter)
            | StatementKind::DropIndex(alter)
            | StatementKind::AlterTable(alter) => return alter::alter_table(self, alter),
            StatementKind::CreateHypotheticalIndex(table, key) => hypothetical::create(self, table, key)?,
            StatementKind::RenameTable(rename) => return alter::rename_tables(self, rename),
            StatementKind::Truncate(table) => return definitions::truncate(self, table),
            StatementKind::Use(name) => self.set_database(&name.value)?,
            StatementKind::Set(items) => set::set(self, items, with_parameters)?,
            StatementKind::Begin { read_only, consistent_snapshot, from_session } => {
                self.begin(*read_only, *consistent_snapshot, *from_session)?;
            }
            StatementKind::Commit(completion) => self.end_transaction(true, *completion)?,
            StatementKind::Rollback(completion) => self.end_transaction(false, *completion)?,
            StatementKind::RollbackTo(name) => self.rollback_to(&name.value)?,
            StatementKind::Savepoint(name) => self.savepoint(&name.value),
            StatementKind::ReleaseSavepoint(name) => self.release_savepoint(&name.value)?,
            StatementKind::Flush(items) => maintenance::flush(self, items)?,
            StatementKind::Handler(Handler::Open { table, alias }) => {
                handler::open(self, table, alias.as_ref())?;
            }
            StatementKind::Handler(Handler::Close(name)) => handler::close(self, name)?,
            StatementKind::Kill { query_only, connection } => {
                maintenance::kill(self, *query_only, connection, with_parameters)?
            }
            StatementKind::Prepare { name, source } => {
                let text = self.text_of(source);
                self.prepare_named(&name.value, &text)?;
            }
            StatementKind::Deallocate(name) => self.deallocate_named(&name.value)?,
            StatementKind::Do(expressions) => {
                for expression in expressions {
                    evaluate::constant(self, expression, with_parameters)?;
                }
            }
            StatementKind::ResourceGroup(statement) => resource_groups::run(self, statement)?,
            StatementKind::CreateUser { .. }
            | StatementKind::AlterUser { .. }
            | StatementKind::DropUser { .. }
            | StatementKind::RenameUser(_)
            | StatementKind::Grant(_)
            | StatementKind::Revoke(_) => self.change_accounts(kind)?,
            StatementKind::LockTables(tables) => self.lock_tables(tables)?,
            StatementKind::UnlockTables => self.unlock_tables()?,
            StatementKind::Query(_)
            | StatementKind::SelectInto { .. }
            | StatementKind::Insert(_)
            | StatementKind::Load(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Explain(_)
            | StatementKind::ExplainConnection { .. }
            | StatementKind::Show(_)
            | StatementKind::Describe { .. }
            | StatementKind::AnalyzeTable(_)
            | StatementKind::AnalyzeHistogram(_)
            | StatementKind::CheckTable(..)
            | StatementKind::ChecksumTable { .. }
            | StatementKind::Handler(Handler::Read { .. })
            | StatementKind::Backup { .. }
            | StatementKind::LoadIndex(_)
            | StatementKind::RepairTable(_)
            | StatementKind::OptimizeTable(_)
            | StatementKind::MaintainPartitions(_)
            | StatementKind::Advise { .. }
            | StatementKind::Execute { .. } => {
                return Err(MysqlError::unknown_error(
                    "a statement that gives rows was run as one that does not",
                ));
            }
        }
        Ok(Done::default())
    }
}

impl Session {
    /// The statements that change accounts, or what is granted to them.
    fn change_accounts(&mut self, kind: &StatementKind) -> Result<(), MysqlError> {
        let instance = self.instance.clone();
        let accounts = instance.accounts();
        match kind {
            StatementKind::CreateUser { if_not_exists, users, options } => {
                accounts.create(self, *if_not_exists, users, *options)
            }
            StatementKind::AlterUser { if_exists, users, options } => {
                accounts.alter(self, *if_exists, users, *options)
            }
            StatementKind::DropUser { if_exists, users } => accounts.drop_users(self, *if_exists, users),
            StatementKind::RenameUser(renamed) => accounts.rename(self, renamed),
            StatementKind::Grant(grant) => accounts.grant(self, grant),
            StatementKind::Revoke(revoke) => accounts.revoke(self, revoke),
            _ => Err(MysqlError::internal("a statement that changes no accounts")),
        }
    }
}

/// Whether the diagnostics of the statement before stay, because this one shows them.
pub(crate) fn keeps_diagnostics(kind: &StatementKind) -> bool {
    use leafline_syntax::ast::ShowKind;
    matches!(
        kind,
        StatementKind::Show(show)
            if matches!(
                show.kind,
                ShowKind::Warnings { .. } | ShowKind::Errors { .. } | ShowKind::WarningCount | ShowKind::ErrorCount
            )
    )
}

/// Whether the statement cannot be in a transaction that reads alone: error 1792 if the one that is open does, or those of the session do. As in MySQL,
/// that goes for temporary tables, too.
fn changes_definitions(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::CreateDatabase(_)
            | StatementKind::AlterDatabase(_)
            | StatementKind::DropDatabase(_)
            | StatementKind::CreateTable(_)
            | StatementKind::CreateTableLike(_)
            | StatementKind::ImportTable { .. }
            | StatementKind::AlterTable(_)
            | StatementKind::DropTable(_)
            | StatementKind::RenameTable(_)
            | StatementKind::Truncate(_)
            | StatementKind::CreateIndex(_)
            | StatementKind::DropIndex(_)
            | StatementKind::CreateView(_)
            | StatementKind::DropView(_)
            | StatementKind::DropProgram(_)
            | StatementKind::OptimizeTable(_)
            | StatementKind::RepairTable(_)
            | StatementKind::MaintainPartitions(_)
            | StatementKind::AlterUser { .. }
            | StatementKind::CreateUser { .. }
            | StatementKind::DropUser { .. }
    )
}

/// Whether the statement changes what the server keeps of accounts or resource groups.
fn changes_accounts(kind: &StatementKind) -> bool {
    use leafline_syntax::ast::ResourceGroupStatement;
    match kind {
        StatementKind::RenameUser(_) | StatementKind::Grant(_) | StatementKind::Revoke(_) => true,
        StatementKind::ResourceGroup(group) => !matches!(group, ResourceGroupStatement::Set { .. }),
        StatementKind::Set(items) => items.iter().any(|item| matches!(item, SetItem::Password { .. })),
        _ => false,
    }
}

/// Whether the statement defines nothing but temporary tables.
fn is_about_own_tables(session: &Session, kind: &StatementKind) -> bool {
    use leafline_syntax::ast::CreateTableLike;
    let is_own = |table: &TableName| session.own_table_named(table).is_some();
    match kind {
        StatementKind::CreateTable(create) => create.temporary,
        StatementKind::CreateTableLike(CreateTableLike { temporary, .. }) => *temporary,
        StatementKind::DropTable(drop) => drop.temporary || drop.tables.iter().all(is_own),
        StatementKind::AlterTable(alter)
        | StatementKind::CreateIndex(alter)
        | StatementKind::DropIndex(alter) => is_own(&alter.table),
        StatementKind::Truncate(table) => is_own(table),
        StatementKind::OptimizeTable(tables) | StatementKind::RepairTable(tables) => {
            tables.iter().all(is_own)
        }
        _ => false,
    }
}

/// Whether the statement ends the open transaction (manual: "Statements That Cause an Implicit Commit").
fn commits_first(kind: &StatementKind) -> bool {
    use leafline_syntax::ast::{CreateTableLike, DropTable, ResourceGroupStatement};
    if let StatementKind::CreateTable(create) = kind {
        return !create.temporary;
    }
    matches!(
        kind,
        StatementKind::CreateDatabase(_)
            | StatementKind::AlterDatabase(_)
            | StatementKind::DropDatabase(_)
            | StatementKind::CreateTableLike(CreateTableLike { temporary: false, .. })
            | StatementKind::DropTable(DropTable { temporary: false, .. })
            | StatementKind::CreateView(_)
            | StatementKind::DropView(_)
            | StatementKind::DropProgram(_)
            | StatementKind::CreateIndex(_)
            | StatementKind::DropIndex(_)
            | StatementKind::AlterTable(_)
            | StatementKind::ExportTable { .. }
            | StatementKind::ImportTable { .. }
            | StatementKind::RenameTable(_)
            | StatementKind::Truncate(_)
            | StatementKind::AnalyzeTable(_)
            | StatementKind::AnalyzeHistogram(_)
            | StatementKind::CheckTable(..)
            | StatementKind::LoadIndex(_)
            | StatementKind::RepairTable(_)
            | StatementKind::OptimizeTable(_)
            | StatementKind::MaintainPartitions(_)
            | StatementKind::ResourceGroup(
                ResourceGroupStatement::Create { .. }
                    | ResourceGroupStatement::Alter { .. }
                    | ResourceGroupStatement::Drop { .. }
            )
            | StatementKind::AlterUser { .. }
            | StatementKind::CreateUser { .. }
            | StatementKind::DropUser { .. }
            | StatementKind::RenameUser(_)
            | StatementKind::Grant(_)
            | StatementKind::Revoke(_)
            | StatementKind::Flush(_)
            | StatementKind::Advise { verify: true, .. }
    )
}
