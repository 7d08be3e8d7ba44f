//! What each kind of statement asks for, before it is planned or run.
//!
//! [`authorize`] is asked for every statement, at each of its runs that is not one of a kept plan, which does not outlive a change of accounts.
//! It has an arm for each kind and none for the others, so that a kind cannot be added without saying what it asks for. What statements
//! read and change in tables is found by the binder, which knows the tables of subqueries, views and names of WITH; it asks
//! [`Access`](super::Access) for each. The same is asked where a name is known only when a statement runs.

use super::users::account_of;
use super::{AccountId, Privilege, Privileges, definer_of};
use crate::information_schema::STATEMENT_DIGESTS;
use crate::session::{Session, SessionEntry};
use crate::system_table::SYSTEM_DATABASE;
use leafline_syntax::ast::{
    AccountName, AlterAction, AlterTable, CreateTable, CreateTableLike, CreateView, DropProgram, FlushItem,
    Handler, Ident, Into as SelectInto, NotThere, PartitionAction, PartitionMaintenance, PartitionOperation,
    ProgramKind, ResourceGroupStatement, SetItem, Show, ShowKind, StatementKind, TableName, UserOptions,
    UserSpec, VariableScope, ViewVerb,
};
use leafline_table::ViewDef;
use leafline_types::MysqlError;
use std::sync::Arc;

/// Whether the session may run such a statement.
///
/// # Errors
/// 1820 until a password that has expired is changed; 1044, 1142, 1227 for what is not granted.
pub(crate) fn authorize(session: &Session, kind: &StatementKind) -> Result<(), MysqlError> {
    if session.has_to_change_password() && !changes_own_password(session, kind) {
        return Err(MysqlError::must_change_password());
    }
    if session.access.is_unlimited() {
        return Ok(());
    }
    let asked = Asked { session };
    match kind {
        // The binder asks for each table.
        StatementKind::Query(_)
        | StatementKind::Insert(_)
        | StatementKind::Update(_)
        | StatementKind::Delete(_)
        | StatementKind::Do(_) => Ok(()),
        StatementKind::SelectInto { into: SelectInto::Variables(_), .. } => Ok(()),
        StatementKind::SelectInto { into: SelectInto::Lines { .. } | SelectInto::Bytes(_), .. } => {
            asked.of_files()
        }
        StatementKind::Load(load) if load.local => Ok(()),
        StatementKind::Load(_) => asked.of_files(),
        StatementKind::Explain(explain) => authorize(session, &explain.statement),
        StatementKind::ExplainConnection { connection, .. } => asked.of_connection(*connection),
        StatementKind::CreateDatabase(create) => asked.of_database(Privilege::Create, Some(&create.name)),
        StatementKind::AlterDatabase(alter) => asked.of_database(Privilege::Alter, alter.name.as_ref()),
        StatementKind::DropDatabase(drop) => asked.of_database(Privilege::Drop, Some(&drop.name)),
        StatementKind::CreateTable(create) => asked.of_new_table(create),
        StatementKind::CreateTableLike(create) => asked.of_copied_table(create),
        StatementKind::CreateView(create) => asked.of_new_view(create),
        StatementKind::DropView(drop) => {
            drop.views.iter().try_for_each(|view| asked.of_name(Privilege::Drop, view))
        }
        StatementKind::DropProgram(drop) => asked.of_program(drop),
        StatementKind::DropTable(drop) if drop.temporary => Ok(()),
        StatementKind::DropTable(drop) => asked.of_tables(Privilege::Drop, &drop.tables),
        StatementKind::CreateIndex(alter) | StatementKind::DropIndex(alter) => {
            asked.of_table(Privilege::Index, &alter.table)
        }
        StatementKind::CreateHypotheticalIndex(table, _) => asked.of_table(Privilege::Select, table),
        StatementKind::AlterTable(alter) => asked.of_altered_table(alter),
        StatementKind::RenameTable(rename) => {
            rename.tables.iter().try_for_each(|(from, to)| asked.of_new_place(from, to))
        }
        StatementKind::Truncate(table) => asked.of_table(Privilege::Drop, table),
        StatementKind::MaintainPartitions(wanted) => asked.of_partitions(wanted),
        StatementKind::AnalyzeTable(tables)
        | StatementKind::OptimizeTable(tables)
        | StatementKind::RepairTable(tables) => asked.of_tables(MAINTENANCE, tables),
        StatementKind::AnalyzeHistogram(histogram) => asked.of_tables(MAINTENANCE, &histogram.tables),
        StatementKind::CheckTable(tables, _) | StatementKind::ChecksumTable { tables, .. } => {
            asked.of_tables(Privilege::Select, tables)
        }
        StatementKind::Handler(Handler::Open { table, .. }) => asked.of_table(Privilege::Select, table),
        // Their table was asked for when it was opened, and is looked up again.
        StatementKind::Handler(Handler::Read { .. } | Handler::Close(_)) => Ok(()),
        StatementKind::LoadIndex(tables) => {
            tables.iter().try_for_each(|wanted| asked.of_table(Privilege::Index, &wanted.table))
        }
        StatementKind::ExportTable { table, .. } => asked.of_exported_table(table),
        StatementKind::Backup { .. } => asked.of_any(&[Privilege::BackupAdmin]),
        // The name that the table gets is asked for when it is known.
        StatementKind::ImportTable { .. } => asked.of_files(),
        StatementKind::Advise { workload: None, .. } => asked.of_advice(),
        StatementKind::Advise { workload: Some(_), .. } => Ok(()),
        StatementKind::Show(show) => asked.of_show(show),
        StatementKind::Describe { table, .. } => asked.of_shown_columns(table),
        // Asked where the database is looked up, also for the protocol's command.
        StatementKind::Use(_) => Ok(()),
        StatementKind::Set(items) => items.iter().try_for_each(|item| asked.of_setting(item)),
        StatementKind::Flush(items) => items.iter().try_for_each(|item| asked.of_flush(item)),
        // Asked when its number is known.
        StatementKind::Kill { .. } => Ok(()),
        // Their statement is asked for by itself.
        StatementKind::Prepare { .. } | StatementKind::Execute { .. } | StatementKind::Deallocate(_) => {
            Ok(())
        }
        StatementKind::ResourceGroup(statement) => asked.of_resource_group(statement),
        StatementKind::CreateUser { .. } | StatementKind::DropUser { .. } | StatementKind::RenameUser(_) => {
            asked.of_any(&[Privilege::CreateUser])
        }
        StatementKind::AlterUser { users, options, .. } => asked.of_altered_users(users, *options),
        // What is granted must be held, which is asked where it is known.
        StatementKind::Grant(_) | StatementKind::Revoke(_) => Ok(()),
        StatementKind::LockTables(locks) => {
            locks.iter().try_for_each(|lock| asked.of_locked_table(&lock.table))
        }
        StatementKind::Begin { from_session: Some(connection), .. } => asked.of_connection(*connection),
        StatementKind::UnlockTables
        | StatementKind::Begin { from_session: None, .. }
        | StatementKind::Commit(_)
        | StatementKind::Rollback(_)
        | StatementKind::RollbackTo(_)
        | StatementKind::Savepoint(_)
        | StatementKind::ReleaseSavepoint(_) => Ok(()),
    }
}

/// What ANALYZE, OPTIMIZE and REPAIR ask for.
const MAINTENANCE: Privileges = Privileges::of_both(Privilege::Select, Privilege::Insert);

/// Whether a statement does nothing but give the session's own account another password.
fn changes_own_password(session: &Session, kind: &StatementKind) -> bool {
    let asked = Asked { session };
    match kind {
        StatementKind::AlterUser { users, options, .. } => asked.is_own_password(users, *options),
        StatementKind::Set(items) => items.iter().all(|item| match item {
            SetItem::Password { account, .. } => account.as_ref().is_none_or(|account| asked.is_own(account)),
            _ => false,
        }),
        _ => false,
    }
}

/// Whether the session may end a connection, or its statement.
///
/// # Errors
/// 1095.
pub(crate) fn authorize_kill(session: &Session, id: u64) -> Result<(), MysqlError> {
    let asked = Asked { session };
    let entry = session.instance.sessions().into_iter().find(|entry| entry.id == id);
    let Some(entry) = entry else { return Ok(()) };
    let set = session.instance.accounts().set();
    let of_system =
        |account: &AccountId| super::users::check_may_change(&session.access, &set, account).is_err();
    let may = asked.is_own_user(&entry)
        || asked.of_any(&[Privilege::Super, Privilege::ConnectionAdmin]).is_ok()
            && !entry.account.as_ref().is_some_and(of_system);
    if may { Ok(()) } else { Err(MysqlError::kill_denied(id)) }
}

/// A session that asks.
struct Asked<'s> {
    session: &'s Session,
}

impl Asked<'_> {
    fn of_any(&self, wanted: &[Privilege]) -> Result<(), MysqlError> {
        self.session.access.check_any(wanted)
    }

    fn of_files(&self) -> Result<(), MysqlError> {
        self.of_any(&[Privilege::File])
    }

    /// The database of a name; none where there is no current one, which is another error.
    fn database<'n>(&'n self, table: &'n TableName) -> Option<&'n str> {
        let own = table.database.as_ref().map(|database| database.value.as_str());
        own.or(self.session.database())
    }

    fn of_database(&self, wanted: Privilege, name: Option<&Ident>) -> Result<(), MysqlError> {
        match name.map(|name| name.value.as_str()).or(self.session.database()) {
            Some(name) => self.session.access.check_database(wanted, name),
            None => Ok(()),
        }
    }

    /// The privilege to drop a program. That of a trigger is one on its table, which only a trigger that is there has.
    fn of_program(&self, drop: &DropProgram) -> Result<(), MysqlError> {
        let database = drop.name.database.as_ref();
        match drop.kind {
            ProgramKind::Procedure | ProgramKind::Function => {
                self.of_database(Privilege::AlterRoutine, database)
            }
            ProgramKind::Event => self.of_database(Privilege::Event, database),
            ProgramKind::Trigger => Ok(()),
        }
    }

    /// Asks for a table that is there; one of the session's own is free.
    fn of_table(&self, wanted: impl Into<Privileges>, table: &TableName) -> Result<(), MysqlError> {
        match self.session.own_table_named(table) {
            Some(_) => Ok(()),
            None => self.of_name(wanted, table),
        }
    }

    fn of_tables(&self, wanted: impl Into<Privileges>, tables: &[TableName]) -> Result<(), MysqlError> {
        let wanted = wanted.into();
        tables.iter().try_for_each(|table| self.of_table(wanted, table))
    }

    fn of_name(&self, wanted: impl Into<Privileges>, table: &TableName) -> Result<(), MysqlError> {
        match self.database(table) {
            Some(database) => self.session.access.check_table(wanted, database, &table.name.value),
            None => Ok(()),
        }
    }

    fn of_new_name(
        &self,
        temporary: bool,
        wanted: impl Into<Privileges>,
        table: &TableName,
    ) -> Result<(), MysqlError> {
        match (temporary, self.database(table)) {
            (true, Some(database)) => {
                self.session.access.check_database(Privilege::CreateTemporaryTables, database)
            }
            _ => self.of_name(wanted, table),
        }
    }

    fn of_new_table(&self, create: &CreateTable) -> Result<(), MysqlError> {
        let mut wanted = Privileges::of(Privilege::Create);
        if create.source.is_some() {
            wanted = wanted | Privilege::Insert;
        }
        self.of_new_name(create.temporary, wanted, &create.name)?;
        create.foreign_keys.iter().try_for_each(|key| self.of_parent(&key.parent, &create.name))
    }

    fn of_copied_table(&self, create: &CreateTableLike) -> Result<(), MysqlError> {
        self.of_new_name(create.temporary, Privilege::Create, &create.name)?;
        self.of_table(Privilege::Select, &create.like)
    }

    fn of_exported_table(&self, table: &TableName) -> Result<(), MysqlError> {
        self.of_files()?;
        self.of_table(Privilege::Select, table)
    }

    fn of_partitions(&self, wanted: &PartitionMaintenance) -> Result<(), MysqlError> {
        match wanted.operation {
            PartitionOperation::Check(_) => self.of_table(Privilege::Select, &wanted.table),
            PartitionOperation::Analyze | PartitionOperation::Optimize | PartitionOperation::Repair => {
                self.of_table(MAINTENANCE, &wanted.table)
            }
        }
    }

    fn of_altered_users(&self, users: &[UserSpec], options: UserOptions) -> Result<(), MysqlError> {
        match self.is_own_password(users, options) {
            true => Ok(()),
            false => self.of_any(&[Privilege::CreateUser]),
        }
    }

    /// The table that a foreign key of another refers to: in the database of that one, unless it says otherwise.
    fn of_parent(&self, parent: &TableName, child: &TableName) -> Result<(), MysqlError> {
        let mut parent = parent.clone();
        parent.database = parent.database.or_else(|| child.database.clone());
        self.of_name(Privilege::References, &parent)
    }

    fn of_new_view(&self, create: &CreateView) -> Result<(), MysqlError> {
        let mut wanted = Privileges::of(Privilege::CreateView);
        if create.verb != ViewVerb::Create {
            wanted = wanted | Privilege::Drop;
        }
        self.of_name(wanted, &create.name)?;
        let access = &self.session.access;
        let definer = match &create.definer {
            Some(definer) => Some(account_of(access, definer)),
            None if create.verb == ViewVerb::Alter => self.view(&create.name).map(|view| definer_of(&view)),
            None => None,
        };
        match definer.filter(|definer| *definer != access.account()) {
            Some(definer) => {
                self.of_any(&[Privilege::Super, Privilege::SetUserId])?;
                self.of_definer(&definer)
            }
            None => Ok(()),
        }
    }

    /// The view of a name.
    fn view(&self, name: &TableName) -> Option<Arc<ViewDef>> {
        let catalog = self.session.instance.engine().catalog();
        catalog.view(self.database(name)?, &name.name.value).cloned()
    }

    /// Views run with the privileges of who defines them: not of a system user for whom is none.
    fn of_definer(&self, definer: &AccountId) -> Result<(), MysqlError> {
        let accounts = self.session.instance.accounts().set();
        match accounts.definer(definer) {
            Some(definer) => super::users::check_may_change(&self.session.access, &accounts, definer),
            None => Ok(()),
        }
    }

    fn of_altered_table(&self, alter: &AlterTable) -> Result<(), MysqlError> {
        let mut wanted = Privileges::of(Privilege::Alter);
        for action in &alter.actions {
            match action {
                AlterAction::Rename(to) => self.of_renamed_table(&alter.table, to)?,
                AlterAction::AddForeignKey(key) => self.of_parent(&key.parent, &alter.table)?,
                AlterAction::Partitions(action) => match &**action {
                    PartitionAction::Drop(_) | PartitionAction::Truncate(_) => {
                        wanted = wanted | Privilege::Drop
                    }
                    PartitionAction::Exchange { table, .. } => {
                        wanted = EXCHANGE;
                        self.of_table(EXCHANGE, table)?;
                    }
                    PartitionAction::By(_)
                    | PartitionAction::Remove
                    | PartitionAction::Add(_)
                    | PartitionAction::AddCount(_)
                    | PartitionAction::Coalesce(_)
                    | PartitionAction::Rebuild(_)
                    | PartitionAction::Reorganize { .. } => {}
                },
                AlterAction::AddColumn(..)
                | AlterAction::DropColumn(_)
                | AlterAction::ChangeColumn { .. }
                | AlterAction::RenameColumn { .. }
                | AlterAction::SetDefault(..)
                | AlterAction::SetVisible(..)
                | AlterAction::AddKey(_)
                | AlterAction::DropKey(_)
                | AlterAction::RenameKey { .. }
                | AlterAction::SetKeyVisible(..)
                | AlterAction::SetKeyPacked(..)
                | AlterAction::AddCheck(_)
                | AlterAction::DropCheck(_)
                | AlterAction::DropConstraint(_)
                | AlterAction::EnforceCheck(..)
                | AlterAction::EnforceConstraint(..)
                | AlterAction::DropForeignKey(_)
                | AlterAction::Options(_)
                | AlterAction::Convert { .. }
                | AlterAction::OrderBy(_)
                | AlterAction::Force
                | AlterAction::EnableKeys(_) => {}
            }
        }
        self.of_table(wanted, &alter.table)
    }

    fn of_renamed_table(&self, from: &TableName, to: &TableName) -> Result<(), MysqlError> {
        match self.session.own_table_named(from) {
            Some(_) => Ok(()),
            None => self.of_new_place(from, to),
        }
    }

    /// RENAME TABLE has nothing to do with tables of the session's own, whatever their names.
    fn of_new_place(&self, from: &TableName, to: &TableName) -> Result<(), MysqlError> {
        self.of_name(Privilege::Alter | Privilege::Drop, from)?;
        let mut to = to.clone();
        to.database = to.database.or_else(|| from.database.clone());
        self.of_name(Privilege::Create | Privilege::Insert, &to)
    }

    fn of_locked_table(&self, table: &TableName) -> Result<(), MysqlError> {
        let own = self.session.own_table_named(table).is_some();
        let Some(database) = self.database(table).filter(|_| !own) else { return Ok(()) };
        self.session.access.check_database(Privilege::LockTables, database)?;
        self.of_name(Privilege::Select, table)
    }

    /// Advice on the statements of everybody. Each statement that is explained, run or built for it is asked for by itself.
    fn of_advice(&self) -> Result<(), MysqlError> {
        let (database, table) = STATEMENT_DIGESTS;
        self.session.access.check_table(Privilege::Select, database, table)
    }

    fn of_shown_columns(&self, table: &TableName) -> Result<(), MysqlError> {
        self.of_seen_table(Privilege::Select.name(), table)
    }

    /// Asks for anything that may be done with a table.
    fn of_seen_table(&self, command: &str, table: &TableName) -> Result<(), MysqlError> {
        let access = &self.session.access;
        match self.database(table) {
            Some(database)
                if self.session.own_table_named(table).is_none()
                    && !access.sees_table(database, &table.name.value) =>
            {
                Err(access.table_denied(command, &table.name.value))
            }
            _ => Ok(()),
        }
    }

    fn of_shown_definition(&self, table: &TableName) -> Result<(), MysqlError> {
        self.of_seen_table("SHOW", table)?;
        match self.view(table) {
            Some(_) => self.of_table(Privilege::Select | Privilege::ShowView, table),
            None => Ok(()),
        }
    }

    fn of_entered_database(&self, name: Option<&Ident>) -> Result<(), MysqlError> {
        let access = &self.session.access;
        match name.map(|name| name.value.as_str()).or(self.session.database()) {
            Some(name) if !access.enters_database(name) => Err(access.database_denied(name)),
            _ => Ok(()),
        }
    }

    fn of_show(&self, show: &Show) -> Result<(), MysqlError> {
        match &show.kind {
            // They show what the session may know of.
            ShowKind::Databases | ShowKind::ProcessList { .. } | ShowKind::Help(_) => Ok(()),
            ShowKind::Tables { database, .. }
            | ShowKind::TableStatus { database }
            | ShowKind::Triggers { database }
            | ShowKind::Events { database } => self.of_entered_database(database.as_ref()),
            ShowKind::Columns { table, .. } | ShowKind::Index { table } => self.of_shown_columns(table),
            ShowKind::CreateTable(table) | ShowKind::CreateView(table) => self.of_shown_definition(table),
            ShowKind::CreateDatabase { name, .. } => self.of_entered_database(Some(name)),
            ShowKind::EngineStatus { .. } => self.of_any(&[Privilege::Process]),
            ShowKind::BinaryLogs
            | ShowKind::NotThere(
                NotThere::BinaryLogStatus | NotThere::ReplicaStatus | NotThere::SlaveStatus,
            ) => self.of_any(&[Privilege::Super, Privilege::ReplicationClient]),
            ShowKind::NotThere(NotThere::Replicas | NotThere::SlaveHosts) => {
                self.of_any(&[Privilege::ReplicationSlave])
            }
            ShowKind::Grants(None) => Ok(()),
            ShowKind::Grants(Some(account)) | ShowKind::CreateUser(account) => match self.is_own(account) {
                true => Ok(()),
                false => self.session.access.check_database(Privilege::Select, SYSTEM_DATABASE),
            },
            ShowKind::Status { .. }
            | ShowKind::Variables { .. }
            | ShowKind::Warnings { .. }
            | ShowKind::Errors { .. }
            | ShowKind::WarningCount
            | ShowKind::ErrorCount
            | ShowKind::DeviceProfile
            | ShowKind::Engines
            | ShowKind::NotThere(
                NotThere::Procedures | NotThere::Functions | NotThere::OpenTables | NotThere::Profiles,
            )
            | ShowKind::Privileges
            | ShowKind::Plugins
            | ShowKind::Collation
            | ShowKind::CharacterSet => Ok(()),
        }
    }

    fn of_scope(&self, scope: Option<VariableScope>) -> Result<(), MysqlError> {
        match scope {
            Some(VariableScope::Global | VariableScope::Persist | VariableScope::PersistOnly) => {
                self.of_any(&[Privilege::Super, Privilege::SystemVariablesAdmin])
            }
            Some(VariableScope::Session) | None => Ok(()),
        }
    }

    fn of_setting(&self, item: &SetItem) -> Result<(), MysqlError> {
        match item {
            SetItem::System { scope, .. } | SetItem::Transaction { scope, .. } => self.of_scope(*scope),
            SetItem::Password { account: Some(account), .. } if !self.is_own(account) => {
                self.of_any(&[Privilege::CreateUser])
            }
            SetItem::Password { .. }
            | SetItem::User { .. }
            | SetItem::Names { .. }
            | SetItem::CharacterSet(_) => Ok(()),
        }
    }

    fn of_flush(&self, item: &FlushItem) -> Result<(), MysqlError> {
        match item {
            FlushItem::Status => self.of_any(&[Privilege::Reload, Privilege::FlushStatus]),
            FlushItem::Tables(_) | FlushItem::ReadLock | FlushItem::ReadLockOf(_) => {
                self.of_any(&[Privilege::Reload, Privilege::FlushTables])
            }
            FlushItem::Privileges | FlushItem::Logs | FlushItem::SlowLogs => {
                self.of_any(&[Privilege::Reload])
            }
        }
    }

    fn of_resource_group(&self, statement: &ResourceGroupStatement) -> Result<(), MysqlError> {
        match statement {
            ResourceGroupStatement::Set { .. } => {
                self.of_any(&[Privilege::ResourceGroupAdmin, Privilege::ResourceGroupUser])
            }
            ResourceGroupStatement::Create { .. }
            | ResourceGroupStatement::Alter { .. }
            | ResourceGroupStatement::Drop { .. } => self.of_any(&[Privilege::ResourceGroupAdmin]),
        }
    }

    fn of_connection(&self, id: u64) -> Result<(), MysqlError> {
        let entry = self.session.instance.sessions().into_iter().find(|entry| entry.id == id);
        match entry {
            Some(entry) if !self.is_own_user(&entry) => self.of_any(&[Privilege::Process]),
            _ => Ok(()),
        }
    }

    fn is_own(&self, account: &AccountName) -> bool {
        account_of(&self.session.access, account) == self.session.access.account()
    }

    /// Whether a connection is of the session's own user.
    fn is_own_user(&self, entry: &SessionEntry) -> bool {
        entry.account.as_ref().is_some_and(|account| account.user == self.session.access.account().user)
    }

    fn is_own_password(&self, users: &[UserSpec], options: UserOptions) -> bool {
        let of_own = |user: &UserSpec| self.is_own(&user.account) && user.secret.is_some();
        options == UserOptions::default() && users.iter().all(of_own)
    }
}

/// What EXCHANGE PARTITION asks for, of both tables.
const EXCHANGE: Privileges = Privileges::of_both(Privilege::Alter, Privilege::Drop)
    .with(Privileges::of_both(Privilege::Create, Privilege::Insert));
