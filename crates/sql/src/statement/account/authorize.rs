//! Checks the privileges that a statement needs before it is bound or run.
//!
//! A statement's [`Properties`](crate::properties::Properties) name the privileges that it [asks for](Asks). [`authorize`]
//! checks them at each run, except runs of a kept plan: a plan does not outlive a change of accounts. The binder asks
//! [`Access`](crate::accounts::Access) for each table that a statement reads or changes, because the binder knows the tables of
//! subqueries, views and names of WITH. A statement that learns a name only when it runs asks where it learns the name.

use crate::accounts::{AccountId, Privilege, Privileges, definer_of};
use crate::components;
use crate::properties::Asks;
use crate::session::Session;
use crate::session_entry::SessionEntry;
use crate::system_names::STATEMENT_DIGESTS;
use crate::system_table::SYSTEM_DATABASE;
use leafline_planner::Authority;
use leafline_syntax::ast::{
    AccountName, AlterAction, AlterProgram, AlterTable, CreateProgram, CreateTable, CreateTableLike,
    CreateView, DropProgram, FlushItem, Ident, NotThere, PartitionAction, ProgramForm, ProgramKind, SetItem,
    Show, ShowKind, TableName, UserOptions, UserSpec, VariableScope, ViewVerb,
};
use leafline_table::ViewDef;
use leafline_types::MysqlError;
use std::sync::Arc;

/// Checks that the session has the privileges that a statement asks for.
///
/// # Errors
/// 1820 until a password that has expired is changed; 1044, 1142, 1227 for privileges that the session lacks.
pub(crate) fn authorize(session: &Session, asks: Asks<'_>) -> Result<(), MysqlError> {
    if session.has_to_change_password() && !changes_own_password(session, asks) {
        return Err(MysqlError::must_change_password());
    }
    if session.login.access.is_unlimited() {
        return Ok(());
    }
    let asked = PrivilegeCheck { session };
    match asks {
        Asks::Nothing => Ok(()),
        Asks::Any(wanted) => asked.of_any(wanted),
        Asks::Database(wanted, name) => asked.of_database(wanted, name),
        Asks::Tables(wanted, tables) => asked.of_tables(wanted, tables),
        Asks::Names(wanted, names) => names.iter().try_for_each(|name| asked.of_name(wanted, name)),
        Asks::NewTable(create) => asked.of_new_table(create),
        Asks::CopiedTable(create) => asked.of_copied_table(create),
        Asks::NewView(create) => asked.of_new_view(create),
        Asks::NewProgram(create) => asked.of_new_program(create),
        Asks::AlteredProgram(alter) => asked.of_altered_program(alter),
        Asks::Program(drop) => asked.of_program(drop),
        Asks::AlteredTable(alter) => asked.of_altered_table(alter),
        Asks::Renamed(tables) => tables.iter().try_for_each(|(from, to)| asked.of_new_place(from, to)),
        Asks::ExportedTable(table) => asked.of_exported_table(table),
        Asks::CachedIndexes(indexes) => {
            indexes.iter().try_for_each(|wanted| asked.of_table(Privilege::Index, &wanted.table))
        }
        Asks::Advice => asked.of_advice(),
        Asks::Show(show) => asked.of_show(show),
        Asks::Columns(table) => asked.of_shown_columns(table),
        Asks::Settings(items) => items.iter().try_for_each(|item| asked.of_setting(item)),
        Asks::Flush(items) => items.iter().try_for_each(|item| asked.of_flush(item)),
        Asks::AlteredUsers(users, options) => asked.of_altered_users(users, options),
        Asks::LockedTables(locks) => locks.iter().try_for_each(|lock| asked.of_locked_table(&lock.table)),
        Asks::Components(wanted) => {
            session.login.access.check_table(wanted, SYSTEM_DATABASE, components::TABLE)
        }
        Asks::Connection(id) => asked.of_connection(id),
    }
}

/// Returns whether a statement does nothing but give the session's own account another password.
fn changes_own_password(session: &Session, asks: Asks<'_>) -> bool {
    let asked = PrivilegeCheck { session };
    match asks {
        Asks::AlteredUsers(users, options) => asked.is_own_password(users, options),
        Asks::Settings(items) => items.iter().all(|item| match item {
            SetItem::Password { account, .. } => account.as_ref().is_none_or(|account| asked.is_own(account)),
            _ => false,
        }),
        _ => false,
    }
}

/// Checks that the session may end the connection `id`, or its statement. An unknown `id` passes.
///
/// # Errors
/// 1095 if the session may not.
pub(crate) fn authorize_kill(session: &Session, id: u64) -> Result<(), MysqlError> {
    let asked = PrivilegeCheck { session };
    let entry = session.instance.sessions().into_iter().find(|entry| entry.id == id);
    let Some(entry) = entry else { return Ok(()) };
    let set = session.instance.accounts().set();
    let of_system =
        |account: &AccountId| super::users::check_may_change(&session.login.access, &set, account).is_err();
    let may = asked.is_own_user(&entry)
        || asked.of_any(&[Privilege::Super, Privilege::ConnectionAdmin]).is_ok()
            && !entry.account.as_ref().is_some_and(of_system);
    if may { Ok(()) } else { Err(MysqlError::kill_denied(id)) }
}

/// Checks privileges of one session.
struct PrivilegeCheck<'s> {
    session: &'s Session,
}

impl PrivilegeCheck<'_> {
    fn of_any(&self, wanted: &[Privilege]) -> Result<(), MysqlError> {
        self.session.login.access.check_any(wanted)
    }

    fn of_files(&self) -> Result<(), MysqlError> {
        self.of_any(&[Privilege::File])
    }

    /// Returns the database that a table's name means. `None` without a current database: a later step reports that error.
    fn database<'n>(&'n self, table: &'n TableName) -> Option<&'n str> {
        let own = table.database.as_ref().map(|database| database.value.as_str());
        own.or(self.session.database())
    }

    fn of_database(&self, wanted: Privilege, name: Option<&Ident>) -> Result<(), MysqlError> {
        match name.map(|name| name.value.as_str()).or(self.session.database()) {
            Some(name) => self.session.login.access.check_database(wanted, name),
            None => Ok(()),
        }
    }

    fn of_new_program(&self, create: &CreateProgram) -> Result<(), MysqlError> {
        self.of_named_definer(create.definer.as_ref())?;
        let database = create.name.database.as_ref();
        match &create.form {
            ProgramForm::Procedure(_) | ProgramForm::Function { .. } => {
                self.of_database(Privilege::CreateRoutine, database)
            }
            ProgramForm::Trigger(trigger) => self.of_name(Privilege::Trigger, &trigger.table),
            ProgramForm::Event(_) => self.of_database(Privilege::Event, database),
        }
    }

    fn of_altered_program(&self, alter: &AlterProgram) -> Result<(), MysqlError> {
        match alter {
            AlterProgram::Routine { kind, name, .. } => self.of_routine(*kind, name),
            AlterProgram::Event(event) => {
                self.of_named_definer(event.definer.as_ref())?;
                self.of_database(Privilege::Event, event.name.database.as_ref())?;
                match &event.rename {
                    Some(to) => self.of_database(Privilege::Event, to.database.as_ref()),
                    None => Ok(()),
                }
            }
        }
    }

    /// Checks that the session may make programs that run with the privileges of the account that DEFINER names.
    fn of_named_definer(&self, named: Option<&AccountName>) -> Result<(), MysqlError> {
        let access = &self.session.login.access;
        match named.map(|named| access.account_of(named)).filter(|named| *named != access.account()) {
            Some(definer) => {
                self.of_any(&[Privilege::Super, Privilege::SetUserId])?;
                self.of_definer(&definer)
            }
            None => Ok(()),
        }
    }

    /// Checks ALTER ROUTINE on a procedure or function.
    fn of_routine(&self, kind: ProgramKind, name: &TableName) -> Result<(), MysqlError> {
        let access = &self.session.login.access;
        match self.database(name) {
            Some(database) => access.check_routine(Privilege::AlterRoutine, kind, database, &name.name.value),
            None => Ok(()),
        }
    }

    /// Checks the privilege to drop a program; a trigger's is one on its table.
    fn of_program(&self, drop: &DropProgram) -> Result<(), MysqlError> {
        let database = drop.name.database.as_ref();
        match drop.kind {
            ProgramKind::Procedure | ProgramKind::Function => self.of_routine(drop.kind, &drop.name),
            ProgramKind::Event => self.of_database(Privilege::Event, database),
            ProgramKind::Trigger => {
                let Some(database) = self.database(&drop.name) else { return Ok(()) };
                let catalog = self.session.instance.engine().catalog();
                let known = catalog.program(ProgramKind::Trigger, database, &drop.name.name.value);
                match known.and_then(|program| program.trigger()) {
                    Some(own) => {
                        self.session.login.access.check_table(Privilege::Trigger, database, &own.table)
                    }
                    None => Ok(()),
                }
            }
        }
    }

    /// Checks privileges on a table that exists. The session's own tables need none.
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
            Some(database) => self.session.login.access.check_table(wanted, database, &table.name.value),
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
                self.session.login.access.check_database(Privilege::CreateTemporaryTables, database)
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

    fn of_altered_users(&self, users: &[UserSpec], options: &UserOptions) -> Result<(), MysqlError> {
        match self.is_own_password(users, options) {
            true => Ok(()),
            false => self.of_any(&[Privilege::CreateUser]),
        }
    }

    /// Checks REFERENCES on the table that a foreign key of `child` refers to: in the child's database, unless the key names another.
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
        let access = &self.session.login.access;
        let definer = match &create.definer {
            Some(definer) => Some(access.account_of(definer)),
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

    /// Finds the view that has this name.
    fn view(&self, name: &TableName) -> Option<Arc<ViewDef>> {
        let catalog = self.session.instance.engine().catalog();
        catalog.view(self.database(name)?, &name.name.value).cloned()
    }

    /// Checks that the session may make views that run with the privileges of `definer`: a system user's need SYSTEM_USER.
    fn of_definer(&self, definer: &AccountId) -> Result<(), MysqlError> {
        let accounts = self.session.instance.accounts().set();
        match accounts.definer(definer) {
            Some(definer) => super::users::check_may_change(&self.session.login.access, &accounts, definer),
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

    /// Checks the privileges of RENAME TABLE, which ignores the session's own tables, whatever their names.
    fn of_new_place(&self, from: &TableName, to: &TableName) -> Result<(), MysqlError> {
        self.of_name(Privilege::Alter | Privilege::Drop, from)?;
        let mut to = to.clone();
        to.database = to.database.or_else(|| from.database.clone());
        self.of_name(Privilege::Create | Privilege::Insert, &to)
    }

    fn of_locked_table(&self, table: &TableName) -> Result<(), MysqlError> {
        let own = self.session.own_table_named(table).is_some();
        let Some(database) = self.database(table).filter(|_| !own) else { return Ok(()) };
        let access = &self.session.login.access;
        access.check_database(Privilege::LockTables, database)?;
        match access.rights_on(database, &table.name.value).somewhere().has(Privilege::Select) {
            true => Ok(()),
            false => Err(access.table_denied(Privilege::Select.name(), &table.name.value)),
        }
    }

    /// Checks that the session may see the statements of all accounts, on which advice is based. Each statement that advice
    /// explains, runs or builds is checked by itself.
    fn of_advice(&self) -> Result<(), MysqlError> {
        let (database, table) = STATEMENT_DIGESTS;
        self.session.login.access.check_table(Privilege::Select, database, table)
    }

    fn of_shown_columns(&self, table: &TableName) -> Result<(), MysqlError> {
        self.of_seen_table(Privilege::Select.name(), table)
    }

    /// Checks that the session has any privilege on a table.
    fn of_seen_table(&self, command: &str, table: &TableName) -> Result<(), MysqlError> {
        let access = &self.session.login.access;
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

    /// Checks that the session may see the definition of a table or view: privileges on single columns do not suffice.
    fn of_shown_definition(&self, table: &TableName) -> Result<(), MysqlError> {
        self.of_seen_table("SHOW", table)?;
        let access = &self.session.login.access;
        let of_table = Privileges::OF_TABLES | Privilege::GrantOption;
        if self.session.own_table_named(table).is_none()
            && let Some(database) = self.database(table)
            && !access.on_table(database, &table.name.value).has_any(of_table)
        {
            return Err(access.table_denied("SHOW", &table.name.value));
        }
        match self.view(table) {
            Some(_) => self.of_table(Privilege::Select | Privilege::ShowView, table),
            None => Ok(()),
        }
    }

    fn of_entered_database(&self, name: Option<&Ident>) -> Result<(), MysqlError> {
        let access = &self.session.login.access;
        match name.map(|name| name.value.as_str()).or(self.session.database()) {
            Some(name) if !access.enters_database(name) => Err(access.database_denied(name)),
            _ => Ok(()),
        }
    }

    fn of_show(&self, show: &Show) -> Result<(), MysqlError> {
        match &show.kind {
            // These statements show only what the session may know of.
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
            ShowKind::Grants(None, _) => Ok(()),
            ShowKind::Grants(Some(account), _) | ShowKind::CreateUser(account) => match self.is_own(account) {
                true => Ok(()),
                false => self.session.login.access.check_database(Privilege::Select, SYSTEM_DATABASE),
            },
            ShowKind::Status { .. }
            | ShowKind::Variables { .. }
            | ShowKind::Warnings { .. }
            | ShowKind::Errors { .. }
            | ShowKind::WarningCount
            | ShowKind::ErrorCount
            | ShowKind::DeviceProfile
            | ShowKind::Engines
            | ShowKind::Procedures
            | ShowKind::Functions
            // The statement checks once it has found the program.
            | ShowKind::CreateProgram(..)
            | ShowKind::NotThere(NotThere::OpenTables | NotThere::Profiles)
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
            SetItem::System { scope, name, .. } if name.value.eq_ignore_ascii_case("mandatory_roles") => {
                self.of_scope(*scope)?;
                self.of_any(&[Privilege::RoleAdmin])
            }
            SetItem::System { scope, .. } | SetItem::Transaction { scope, .. } => self.of_scope(*scope),
            SetItem::Password { account: Some(account), .. } if !self.is_own(account) => {
                self.of_any(&[Privilege::CreateUser])
            }
            SetItem::Password { .. }
            | SetItem::User { .. }
            | SetItem::Local { .. }
            | SetItem::New { .. }
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
            FlushItem::UserResources => self.of_any(&[Privilege::Reload, Privilege::FlushUserResources]),
            FlushItem::Privileges | FlushItem::Logs | FlushItem::SlowLogs => {
                self.of_any(&[Privilege::Reload])
            }
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
        self.session.login.access.account_of(account) == self.session.login.access.account()
    }

    /// Returns whether a connection belongs to the session's own user.
    fn is_own_user(&self, entry: &SessionEntry) -> bool {
        entry.account.as_ref().is_some_and(|account| account.user == self.session.login.access.account().user)
    }

    fn is_own_password(&self, users: &[UserSpec], options: &UserOptions) -> bool {
        let of_own = |user: &UserSpec| self.is_own(&user.account) && user.secret.is_some();
        *options == UserOptions::default() && users.iter().all(of_own)
    }
}

/// The privileges that EXCHANGE PARTITION needs on both tables.
const EXCHANGE: Privileges = Privileges::of_both(Privilege::Alter, Privilege::Drop)
    .with(Privileges::of_both(Privilege::Create, Privilege::Insert));
