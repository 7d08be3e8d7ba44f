//! The properties of each kind of statement: one row for each, as in MySQL's `sql_command_flags`.
//!
//! [`properties`] matches every kind without a default arm, so a new kind of statement does not compile until
//! its row is written. Code for all kinds (the dispatcher, the checks of rights, the counters, the slow query
//! log) reads the row instead of the kind.
//!
//! A row begins with the properties of its class ([`planned`], [`definition`], [`maintenance`],
//! [`of_accounts`], [`plain`]) and states the differences.

mod asks;
mod command_of;
#[cfg(test)]
mod tests;

pub(crate) use asks::Asks;

use crate::status::Command;
use leafline_syntax::ast::{
    DropTable, Handler, Into as SelectInto, PartitionMaintenance, PartitionOperation, ResourceGroupStatement,
    RoleStatement, SetItem, Show, ShowKind, StatementKind, TableName,
};
use leafline_syntax::{Privilege, Privileges};
use std::slice;

/// The properties of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Properties<'s> {
    /// The `SHOW STATUS` counter of the statement.
    pub(crate) command: Command,
    /// The privileges that the statement needs before it is bound or run.
    pub(crate) asks: Asks<'s>,
    /// How the statement runs.
    pub(crate) runs: Runs,
    /// Whether the statement commits the open transaction.
    pub(crate) commits: Commits,
    /// The things that the statement changes besides rows of tables.
    pub(crate) changes: Changes<'s>,
    /// Whether the diagnostics area is cleared before the statement runs.
    pub(crate) diagnostics: Diagnostics,
    /// The switch of the slow query log that applies.
    pub(crate) logging: SlowLogging,
    /// Whether PREPARE accepts the statement.
    pub(crate) prepares: Prepares,
}

/// How statements of a kind run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// The binder and the optimizer make a plan, which may be kept and run again, or shown by EXPLAIN.
    Planned,
    /// The dispatcher calls the code of the kind: [`Session::run_directly`](crate::Session).
    Directly,
}

/// Whether a statement commits the open transaction before it runs (manual: "Statements That Cause an Implicit Commit").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commits {
    /// The transaction continues.
    Never,
    /// The transaction is committed.
    First,
}

/// The things that a statement changes besides rows of tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Changes<'s> {
    /// Nothing, or the state of its session.
    Nothing,
    /// Definitions. A READ ONLY transaction refuses the statement (1792), even for temporary tables. A server
    /// that is `read_only` refuses it (1290) unless it concerns temporary tables alone.
    Definitions(About<'s>),
    /// Accounts, grants or resource groups. A server that is `read_only` refuses the statement; a READ ONLY
    /// transaction does not.
    Accounts,
}

/// Whether a statement defines temporary tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum About<'s> {
    /// No temporary tables.
    Shared,
    /// The statement says TEMPORARY.
    Temporary,
    /// The tables of these names, which may be temporary.
    Named(&'s [TableName]),
}

/// Whether the diagnostics area is cleared before a statement runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Diagnostics {
    /// It is cleared for the statement's own conditions.
    Own,
    /// It is kept: the statement shows the conditions of the previous one.
    OfBefore,
}

/// The switch of the slow query log that applies to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlowLogging {
    /// The statement is logged when it is slow.
    Always,
    /// The statement is logged when it is slow and `log_slow_admin_statements` is on.
    Administrative,
}

/// Whether PREPARE accepts a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prepares {
    /// PREPARE accepts it.
    Yes,
    /// PREPARE fails with error 1295.
    No,
}

/// A statement that neither changes definitions nor is planned.
fn plain<'s>(command: Command, asks: Asks<'s>) -> Properties<'s> {
    Properties {
        command,
        asks,
        runs: Runs::Directly,
        commits: Commits::Never,
        changes: Changes::Nothing,
        diagnostics: Diagnostics::Own,
        logging: SlowLogging::Always,
        prepares: Prepares::Yes,
    }
}

/// A statement that is bound and planned. The binder checks the privileges on tables.
fn planned<'s>(command: Command, asks: Asks<'s>) -> Properties<'s> {
    Properties { runs: Runs::Planned, ..plain(command, asks) }
}

/// DDL.
fn definition<'s>(command: Command, asks: Asks<'s>) -> Properties<'s> {
    plain(command, asks).commits().about(About::Shared)
}

/// A maintenance statement, which returns rows for each table.
fn maintenance<'s>(command: Command, asks: Asks<'s>) -> Properties<'s> {
    plain(command, asks).commits().administrative()
}

/// A statement about accounts, grants or resource groups.
fn of_accounts<'s>(command: Command, asks: Asks<'s>) -> Properties<'s> {
    Properties { changes: Changes::Accounts, ..plain(command, asks).commits() }
}

impl<'s> Properties<'s> {
    fn commits(self) -> Properties<'s> {
        Properties { commits: Commits::First, ..self }
    }

    /// Marks a statement about temporary tables, which does not commit.
    fn temporary(self, temporary: bool) -> Properties<'s> {
        match temporary {
            true => Properties { commits: Commits::Never, ..self.about(About::Temporary) },
            false => self,
        }
    }

    fn about(self, about: About<'s>) -> Properties<'s> {
        Properties { changes: Changes::Definitions(about), ..self }
    }

    fn about_table(self, table: &'s TableName) -> Properties<'s> {
        self.about(About::Named(slice::from_ref(table)))
    }

    fn administrative(self) -> Properties<'s> {
        Properties { logging: SlowLogging::Administrative, ..self }
    }

    fn not_prepared(self) -> Properties<'s> {
        Properties { prepares: Prepares::No, ..self }
    }
}

/// The properties of a statement of this kind.
pub(crate) fn properties(kind: &StatementKind) -> Properties<'_> {
    use Command as C;
    use Privilege as P;
    use StatementKind as K;
    match kind {
        K::Query(_) => planned(C::Select, Asks::Nothing),
        K::SelectInto { into, .. } => planned(C::Select, destination(into)),
        K::Insert(insert) => planned(command_of::insert(insert), Asks::Nothing),
        K::Update(update) => planned(command_of::update(update), Asks::Nothing),
        K::Delete(delete) => planned(command_of::delete(delete), Asks::Nothing),
        K::Load(load) => planned(C::Load, if load.local { Asks::Nothing } else { FILES }),
        K::Explain(explain) => explained(&properties(&explain.statement)),
        K::ExplainConnection { connection, .. } => plain(C::ExplainOther, Asks::Connection(*connection)),
        K::CreateDatabase(create) => {
            definition(C::CreateDatabase, Asks::Database(P::Create, Some(&create.name)))
        }
        K::AlterDatabase(alter) => {
            definition(C::AlterDatabase, Asks::Database(P::Alter, alter.name.as_ref()))
        }
        K::DropDatabase(drop) => definition(C::DropDatabase, Asks::Database(P::Drop, Some(&drop.name))),
        K::CreateTable(create) => {
            definition(C::CreateTable, Asks::NewTable(create)).temporary(create.temporary)
        }
        K::CreateTableLike(create) => {
            definition(C::CreateTable, Asks::CopiedTable(create)).temporary(create.temporary)
        }
        K::DropTable(drop) => dropped(drop),
        K::CreateView(create) => definition(C::CreateView, Asks::NewView(create)),
        K::DropView(drop) => definition(C::DropView, Asks::Names(P::Drop.into(), &drop.views)),
        K::CreateProgram(create) => definition(command_of::create(create.kind()), Asks::NewProgram(create)),
        K::AlterProgram(alter) => definition(command_of::alter(alter), Asks::AlteredProgram(alter)),
        // CALL checks once it knows the procedure; each statement of the body is checked by itself.
        K::Call(_) => plain(C::CallProcedure, Asks::Nothing),
        K::Signal(signal) => of_diagnostics(if signal.again { C::Resignal } else { C::Signal }),
        K::GetDiagnostics(_) => of_diagnostics(C::GetDiagnostics),
        K::DropProgram(drop) => definition(command_of::drop(drop.kind), Asks::Program(drop)),
        K::CreateIndex(alter) => altered(C::CreateIndex, table(P::Index, &alter.table), &alter.table),
        K::DropIndex(alter) => altered(C::DropIndex, table(P::Index, &alter.table), &alter.table),
        K::AlterTable(alter) => altered(C::AlterTable, Asks::AlteredTable(alter), &alter.table),
        K::CreateHypotheticalIndex(name, _) => plain(C::Other, table(P::Select, name)),
        K::RenameTable(rename) => definition(C::RenameTable, Asks::Renamed(&rename.tables)),
        K::Truncate(name) => definition(C::Truncate, table(P::Drop, name)).about_table(name),
        K::ExportTable { table, .. } => plain(C::Other, Asks::ExportedTable(table)).commits(),
        // The statement checks the name of the table once it knows it.
        K::ImportTable { .. } => definition(C::Import, FILES),
        K::MaintainPartitions(wanted) => {
            maintenance(C::AlterTable, of_partitions(wanted)).about(About::Shared)
        }
        K::AnalyzeTable(names) => maintenance(C::Analyze, tables(MAINTENANCE, names)),
        K::AnalyzeHistogram(histogram) => maintenance(C::Analyze, tables(MAINTENANCE, &histogram.tables)),
        K::OptimizeTable(names) => {
            maintenance(C::Optimize, tables(MAINTENANCE, names)).about(About::Named(names))
        }
        K::RepairTable(names) => {
            maintenance(C::Repair, tables(MAINTENANCE, names)).about(About::Named(names))
        }
        K::CheckTable(names, _) => maintenance(C::Check, tables(P::Select, names)),
        K::ChecksumTable { tables: names, .. } => plain(C::Checksum, tables(P::Select, names)),
        K::LoadIndex(indexes) => plain(C::PreloadKeys, Asks::CachedIndexes(indexes)).commits(),
        K::Backup { .. } => plain(C::Other, Asks::Any(&[P::BackupAdmin])),
        K::Handler(handler) => of_handler(handler),
        K::Advise { workload, verify } => advised(workload.is_some(), *verify),
        K::Show(show) => shown(show),
        K::Describe { table, .. } => plain(C::ShowFields, Asks::Columns(table)),
        // The session checks in its lookup of the database, which the protocol's command uses, too.
        K::Use(_) => plain(C::ChangeDatabase, Asks::Nothing),
        K::Set(items) => set(items),
        K::Flush(items) => plain(C::Flush, Asks::Flush(items)).commits(),
        // KILL checks once it knows the connection.
        K::Kill { .. } => plain(C::Kill, Asks::Nothing),
        // The prepared statement is checked by itself.
        K::Prepare { .. } => plain(C::Prepare, Asks::Nothing).not_prepared(),
        K::Execute { .. } => plain(C::Execute, Asks::Nothing).not_prepared(),
        K::Deallocate(_) => plain(C::Deallocate, Asks::Nothing).not_prepared(),
        K::Do(_) => plain(C::Do, Asks::Nothing),
        K::ResourceGroup(statement) => resource_group(statement),
        K::Component(component) => of_component(component.install),
        K::CreateUser { .. } => of_accounts(C::CreateUser, CREATE_USER).about(About::Shared),
        K::AlterUser { users, options, .. } => {
            of_accounts(C::AlterUser, Asks::AlteredUsers(users, options)).about(About::Shared)
        }
        K::DropUser { .. } => of_accounts(C::DropUser, CREATE_USER).about(About::Shared),
        K::RenameUser(_) => of_accounts(C::RenameUser, CREATE_USER),
        // The accounts check that the grantor holds the granted privileges.
        K::Grant(_) => of_accounts(C::Grant, Asks::Nothing),
        K::Revoke(revoke) => of_accounts(command_of::revoke(revoke), Asks::Nothing),
        K::Role(statement) => role(statement),
        K::LockTables(locks) => plain(C::LockTables, Asks::LockedTables(locks)),
        K::UnlockTables => plain(C::UnlockTables, Asks::Nothing),
        K::Begin { from_session, .. } => {
            plain(C::Begin, from_session.map_or(Asks::Nothing, Asks::Connection))
        }
        K::Commit(_) => plain(C::Commit, Asks::Nothing),
        K::Rollback(_) => plain(C::Rollback, Asks::Nothing),
        K::RollbackTo(_) => plain(C::RollbackToSavepoint, Asks::Nothing),
        K::Savepoint(_) => plain(C::Savepoint, Asks::Nothing),
        K::ReleaseSavepoint(_) => plain(C::ReleaseSavepoint, Asks::Nothing),
    }
}

fn dropped(drop: &DropTable) -> Properties<'_> {
    if drop.temporary {
        return definition(Command::DropTable, Asks::Nothing).temporary(true);
    }
    let asks = tables(Privilege::Drop, &drop.tables);
    definition(Command::DropTable, asks).about(About::Named(&drop.tables))
}

/// A statement that reads or makes diagnostics: those of the statement before stay.
fn of_diagnostics<'s>(command: Command) -> Properties<'s> {
    Properties { diagnostics: Diagnostics::OfBefore, ..plain(command, Asks::Nothing).not_prepared() }
}

/// ADVISE. Each statement of a workload that it is given is checked by itself.
fn advised<'s>(is_given: bool, verify: bool) -> Properties<'s> {
    let properties = plain(Command::Other, if is_given { Asks::Nothing } else { Asks::Advice });
    if verify { properties.commits() } else { properties }
}

const FILES: Asks<'_> = Asks::Any(&[Privilege::File]);
const CREATE_USER: Asks<'_> = Asks::Any(&[Privilege::CreateUser]);
/// Privileges for ANALYZE, OPTIMIZE and REPAIR, as in MySQL.
const MAINTENANCE: Privileges = Privileges::of_both(Privilege::Select, Privilege::Insert);

fn tables(wanted: impl Into<Privileges>, names: &[TableName]) -> Asks<'_> {
    Asks::Tables(wanted.into(), names)
}

fn table(wanted: impl Into<Privileges>, name: &TableName) -> Asks<'_> {
    tables(wanted, slice::from_ref(name))
}

fn destination(into: &SelectInto) -> Asks<'_> {
    match into {
        SelectInto::Variables(_) => Asks::Nothing,
        SelectInto::Lines { .. } | SelectInto::Bytes(_) => FILES,
    }
}

/// EXPLAIN is planned and counted like its statement, and needs the same privileges. It changes nothing.
fn explained<'s>(statement: &Properties<'s>) -> Properties<'s> {
    Properties { runs: statement.runs, ..plain(statement.command, statement.asks) }
}

/// ALTER TABLE, CREATE INDEX and DROP INDEX.
fn altered<'s>(command: Command, asks: Asks<'s>, table: &'s TableName) -> Properties<'s> {
    definition(command, asks).about_table(table).administrative()
}

fn of_handler(handler: &Handler) -> Properties<'_> {
    match handler {
        Handler::Open { table: name, .. } => plain(Command::HandlerOpen, table(Privilege::Select, name)),
        // HANDLER .. OPEN has checked the table, which READ looks up again.
        Handler::Read { .. } => plain(Command::HandlerRead, Asks::Nothing),
        Handler::Close(_) => plain(Command::HandlerClose, Asks::Nothing),
    }
}

fn shown(show: &Show) -> Properties<'_> {
    let diagnostics = match &show.kind {
        ShowKind::Warnings { .. }
        | ShowKind::Errors { .. }
        | ShowKind::WarningCount
        | ShowKind::ErrorCount => Diagnostics::OfBefore,
        _ => Diagnostics::Own,
    };
    Properties { diagnostics, ..plain(command_of::show(&show.kind), Asks::Show(show)) }
}

fn set(items: &[SetItem]) -> Properties<'_> {
    let has_password = items.iter().any(|item| matches!(item, SetItem::Password { .. }));
    let command = match items {
        [SetItem::Password { .. }] => Command::SetPassword,
        _ => Command::SetOption,
    };
    let changes = if has_password { Changes::Accounts } else { Changes::Nothing };
    Properties { changes, ..plain(command, Asks::Settings(items)) }
}

fn of_partitions(wanted: &PartitionMaintenance) -> Asks<'_> {
    match wanted.operation {
        PartitionOperation::Check(_) => table(Privilege::Select, &wanted.table),
        PartitionOperation::Analyze | PartitionOperation::Optimize | PartitionOperation::Repair => {
            table(MAINTENANCE, &wanted.table)
        }
    }
}

fn role(statement: &RoleStatement) -> Properties<'_> {
    match statement {
        RoleStatement::Create { .. } => {
            of_accounts(Command::CreateRole, Asks::Any(&[Privilege::CreateRole, Privilege::CreateUser]))
        }
        RoleStatement::Drop { .. } => {
            of_accounts(Command::DropRole, Asks::Any(&[Privilege::DropRole, Privilege::CreateUser]))
        }
        // The accounts check the rights on each role and account.
        RoleStatement::Grant { .. } => of_accounts(Command::GrantRoles, Asks::Nothing),
        RoleStatement::Revoke { .. } => of_accounts(Command::RevokeRoles, Asks::Nothing),
        RoleStatement::SetDefault { .. } => of_accounts(Command::AlterUserDefaultRole, Asks::Nothing),
        RoleStatement::Set(_) => plain(Command::SetRole, Asks::Nothing),
    }
}

fn of_component<'s>(install: bool) -> Properties<'s> {
    match install {
        true => of_accounts(Command::InstallComponent, Asks::Components(Privilege::Insert)),
        false => of_accounts(Command::UninstallComponent, Asks::Components(Privilege::Delete)),
    }
}

fn resource_group(statement: &ResourceGroupStatement) -> Properties<'_> {
    const ADMIN: Asks<'_> = Asks::Any(&[Privilege::ResourceGroupAdmin]);
    const USER: Asks<'_> = Asks::Any(&[Privilege::ResourceGroupAdmin, Privilege::ResourceGroupUser]);
    match statement {
        ResourceGroupStatement::Create { .. } => of_accounts(Command::CreateResourceGroup, ADMIN),
        ResourceGroupStatement::Alter { .. } => of_accounts(Command::AlterResourceGroup, ADMIN),
        ResourceGroupStatement::Drop { .. } => of_accounts(Command::DropResourceGroup, ADMIN),
        ResourceGroupStatement::Set { .. } => plain(Command::SetResourceGroup, USER),
    }
}
