//! The rights of a session, or of the definer of a view.
//!
//! An [`Access`] is computed when a session begins and again after accounts have changed, so that a check is
//! a lookup. Global privileges hold for every database, privileges on a database for all of its tables. If
//! several grants on databases have patterns that match a name, the most specific one counts, as in MySQL.
//!
//! Active roles add their privileges: the account's own are computed as if there were no roles, those of each role likewise,
//! and a check looks at the union.

use super::host::{ClientHost, LOCALHOST};
use super::restrictions::Restrictions;
use super::roles::{Active, RoleRules, listed};
use super::set::{AccountSet, RoutineName, literal_name, routine_name};
use super::usage::HourlyLimits;
use crate::like::like_exactly;
use crate::system_names;
use leafline_planner::{Authority, TableRights, definer_of};
use leafline_syntax::AccountId;
use leafline_syntax::ast::AccountName;
use leafline_syntax::{Privilege, Privileges};
use leafline_table::ViewDef;
use leafline_types::MysqlError;
use leafline_types::words::ProgramKind;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};

/// Hashes accounts with their active roles.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The rights of a session or definer.
#[derive(Debug)]
pub struct Access {
    /// Version of the accounts that it was computed from.
    version: u64,
    /// Tells accounts and active roles apart; random, so that nobody can choose names that agree.
    identity: u64,
    /// The active roles, by name.
    active: Vec<AccountId>,
    /// `None` allows everything, whatever the accounts say.
    rights: Option<Rights>,
    /// The accounts that definers of programs are found in.
    accounts: (Arc<AccountSet>, Arc<RoleRules>),
}

#[derive(Debug)]
struct Rights {
    set: Arc<AccountSet>,
    account: AccountId,
    client: ClientHost,
    global: Privileges,
    /// Dynamic privileges that the session may grant.
    grantable: Privileges,
    /// Partial revokes of the account and its roles together.
    restrictions: Restrictions,
    /// Names of databases in grants are no patterns (`partial_revokes`).
    names_are_literal: bool,
    /// Grants on databases of the account and of each role, the more specific patterns first.
    databases: Vec<Vec<(String, Privileges)>>,
    tables: BTreeMap<(String, String), TableRights>,
    routines: BTreeMap<RoutineName, Privileges>,
    /// True if nothing is allowed until the password is changed.
    expired: bool,
    /// Limits per hour.
    limits: HourlyLimits,
}

impl Rights {
    /// Adds the grants of a role.
    fn add_role(&mut self, role: &AccountId) {
        let Some(known) = self.set.accounts.get(role) else { return };
        self.restrictions =
            Restrictions::united((self.global, &self.restrictions), (known.global, &known.restrictions));
        self.global |= known.global;
        self.grantable |= known.grantable;
        let databases = self.set.databases_of(role);
        if !databases.is_empty() {
            self.databases.push(databases);
        }
        for (table, granted) in self.set.tables_of(role) {
            self.tables.entry(table).or_default().add_all(&granted);
        }
        for (routine, granted) in self.set.routines_of(role) {
            *self.routines.entry(routine).or_default() |= granted;
        }
    }
}

/// The roles that are active, by name: of the wanted ones those that are granted to the account directly or to all accounts.
fn active_roles(
    set: &AccountSet,
    account: &AccountId,
    (active, rules): (Active<'_>, &RoleRules),
) -> Vec<AccountId> {
    let mut roles: Vec<AccountId> = match active {
        Active::AtLogin if rules.activates_all => set.roles_of(account, rules),
        Active::AtLogin => set.roles.defaults_of(account).cloned().collect(),
        Active::These(roles) => roles.to_vec(),
    };
    roles.retain(|role| set.may_activate(role, account, rules));
    roles.sort_unstable();
    roles.dedup();
    roles
}

impl Access {
    /// The rights of a program that embeds the database, and may activate the roles of root.
    pub(super) fn everything(
        (version, set): (u64, &Arc<AccountSet>),
        (active, rules): (Active<'_>, &Arc<RoleRules>),
    ) -> Access {
        let accounts = (set.clone(), rules.clone());
        let active = match active {
            Active::AtLogin => Vec::new(),
            active => active_roles(set, &AccountId::root(), (active, rules)),
        };
        Access { version, identity: 0, active, rights: None, accounts }
    }

    /// The rights of a client at `client` that logged in as `account` when the accounts had version
    /// `admitted`. A dropped account has no rights, even if a new one has its name.
    pub(super) fn of(
        version: u64,
        set: &Arc<AccountSet>,
        account: &AccountId,
        (client, admitted): (&str, u64),
        roles: (Active<'_>, &Arc<RoleRules>),
    ) -> Access {
        let client = ClientHost::new(client);
        let is_the_same = set.ended.get(account).is_none_or(|&ended| ended <= admitted);
        let known = set.accounts.contains_key(account) && is_the_same;
        let own = |rights: &mut Rights| {
            rights.databases.push(set.databases_for(&account.user, &rights.client));
            rights.tables = set.tables_for(&account.user, &rights.client);
            rights.routines = set.routines_for(&account.user, &rights.client);
        };
        Access::with_roles((version, set), (account, client), roles, known.then_some(own))
    }

    /// The rights of an account with its roles; `own` adds the account's grants on databases, tables and routines. Nothing is
    /// allowed without it.
    fn with_roles(
        (version, set): (u64, &Arc<AccountSet>),
        (account, client): (&AccountId, ClientHost),
        (active, rules): (Active<'_>, &Arc<RoleRules>),
        own: Option<impl FnOnce(&mut Rights)>,
    ) -> Access {
        let mut rights = Rights {
            set: set.clone(),
            account: account.clone(),
            client,
            global: Privileges::NONE,
            grantable: Privileges::NONE,
            restrictions: Restrictions::default(),
            names_are_literal: rules.names_are_literal,
            databases: Vec::new(),
            tables: BTreeMap::new(),
            routines: BTreeMap::new(),
            expired: false,
            limits: HourlyLimits::default(),
        };
        let mut roles = Vec::new();
        if let Some((own, known)) = own.zip(set.accounts.get(account)) {
            (rights.global, rights.grantable) = (known.global, known.grantable);
            rights.restrictions = known.restrictions.clone();
            (rights.expired, rights.limits) = (known.expired, known.limits);
            own(&mut rights);
            roles = active_roles(set, account, (active, rules));
            set.roles.reached(&roles).iter().for_each(|role| rights.add_role(role));
        }
        let identity = HASHER.hash_one((account, &roles));
        Access {
            version,
            identity,
            active: roles,
            rights: Some(rights),
            accounts: (set.clone(), rules.clone()),
        }
    }

    /// The rights of a view's definer, for reading the view's tables; `None` if the caller's rights apply.
    ///
    /// # Errors
    /// 1449 if the definer does not exist.
    pub(crate) fn of_definer(&self, view: &ViewDef) -> Result<Option<Access>, MysqlError> {
        if view.by_invoker || self.rights.is_none() {
            return Ok(None);
        }
        self.of_account(&definer_of(view)).map(Some)
    }

    /// The rights of a stored program's definer. `None` if the caller is unlimited, and the definer is root or no account: then
    /// the program may do everything, too.
    ///
    /// # Errors
    /// 1449 if there is no such account.
    pub(crate) fn of_program_definer(
        &self,
        (user, host): &(String, String),
    ) -> Result<Option<Access>, MysqlError> {
        let named = AccountId::new(user, host);
        let is_unlimited = || named == AccountId::root() || self.accounts.0.definer(&named).is_none();
        if self.rights.is_none() && is_unlimited() {
            return Ok(None);
        }
        self.of_account(&named).map(Some)
    }

    /// The rights of another account.
    fn of_account(&self, named: &AccountId) -> Result<Access, MysqlError> {
        let (set, rules) = &self.accounts;
        let definer = set.definer(named);
        let definer = definer.ok_or_else(|| MysqlError::no_such_definer(&named.user, &named.host))?;
        // The definer is treated as a client at its host, or at `localhost` if its host is a pattern.
        let host = if definer.host.contains(['%', '_', '/']) { LOCALHOST } else { &definer.host };
        // Only grants of exactly this account count, and of the roles that its login activates.
        let own = |of_definer: &mut Rights| {
            of_definer.databases.push(set.databases_of(definer));
            of_definer.tables = set.tables_of(definer);
            of_definer.routines = set.routines_of(definer);
        };
        let roles = (Active::AtLogin, rules);
        let named = (definer, ClientHost::new(host));
        Ok(Access::with_roles((self.version, set), named, roles, Some(own)))
    }

    /// Returns the key of plans made with these rights: the version of the accounts, the account and its active roles.
    #[inline]
    pub(crate) fn key(&self) -> (u64, u64) {
        (self.version, self.identity)
    }

    /// The active roles, by name.
    pub(crate) fn active_roles(&self) -> &[AccountId] {
        &self.active
    }

    /// The active roles as `CURRENT_ROLE()` shows them; empty for none.
    pub(crate) fn current_role(&self) -> String {
        listed(&self.active)
    }

    /// Dynamic privileges that the session may grant.
    pub(crate) fn grantable(&self) -> Privileges {
        self.rights.as_ref().map_or(Privileges::DYNAMIC, |rights| rights.grantable)
    }

    /// Version of the accounts that it was computed from.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// True if the password has to be changed first.
    pub(crate) fn is_expired(&self) -> bool {
        self.rights.as_ref().is_some_and(|rights| rights.expired)
    }

    /// The limits per hour of the account's statements; `None` without any.
    #[inline]
    pub(crate) fn statement_limits(&self) -> Option<HourlyLimits> {
        let limits = self.rights.as_ref().map(|rights| rights.limits);
        limits.filter(|limits| limits.counts_statements())
    }

    /// The account that a name in a statement refers to.
    pub(crate) fn account_of(&self, name: &AccountName) -> AccountId {
        if name.current { self.account() } else { AccountId::new(&name.user, &name.host) }
    }

    /// Privileges on a database, which hold for all of its tables.
    pub(crate) fn on_database(&self, database: &str) -> Privileges {
        let Some(rights) = &self.rights else { return Privileges::EVERYTHING };
        let database = system_names::database(database).unwrap_or(database);
        let fits = |(pattern, _): &&(String, Privileges)| match rights.names_are_literal {
            true => pattern == database || literal_name(pattern).is_some_and(|name| name == database),
            false => like_exactly(database, pattern),
        };
        let most_specific = rights.databases.iter().filter_map(|granted| granted.iter().find(fits));
        let granted = most_specific.fold(Privileges::NONE, |all, (_, granted)| all | *granted);
        let everybody = match system_names::is_standard(database) {
            true => Privileges::of(Privilege::Select),
            false => Privileges::NONE,
        };
        (rights.global - rights.restrictions.on(database)) | granted | everybody
    }

    /// Privileges on the databases that match a pattern: on the database if the pattern is a name, otherwise
    /// the ones granted on exactly this pattern.
    pub(crate) fn on_pattern(&self, pattern: &str) -> Privileges {
        let Some(rights) = &self.rights else { return Privileges::EVERYTHING };
        match literal_name(pattern) {
            _ if rights.names_are_literal => self.on_database(pattern),
            Some(name) => self.on_database(&name),
            None => {
                let granted = rights.databases.iter().flatten().filter(|(known, _)| known == pattern);
                granted.fold(rights.global, |all, (_, granted)| all | *granted)
            }
        }
    }

    /// The partial revokes of the account and its active roles together.
    pub(crate) fn restrictions(&self) -> Restrictions {
        self.rights.as_ref().map_or_else(Restrictions::default, |rights| rights.restrictions.clone())
    }

    /// True if all of `wanted` are granted on everything, without partial revokes.
    pub(crate) fn holds_everywhere(&self, wanted: Privileges) -> bool {
        self.rights
            .as_ref()
            .is_none_or(|rights| rights.restrictions.is_empty() && rights.global.has_all(wanted))
    }

    /// True if the database is visible: the session has a privilege on it or on a table in it, or SHOW
    /// DATABASES.
    pub(crate) fn sees_database(&self, database: &str) -> bool {
        self.enters_database(database) || self.on_everything().has(Privilege::ShowDatabases)
    }

    /// True if the session may make the database its current one.
    pub(crate) fn enters_database(&self, database: &str) -> bool {
        let Some(rights) = &self.rights else { return true };
        system_names::is_for_everybody(database)
            || self.on_database(database).has_any(Privileges::OF_DATABASES | Privilege::GrantOption)
            || rights
                .tables
                .iter()
                .any(|((of, _), granted)| of == database && !granted.somewhere().is_empty())
            || rights.routines.iter().any(|((_, of, _), granted)| of == database && !granted.is_empty())
    }

    /// Error 1044 for this account and a database.
    pub(crate) fn database_denied(&self, database: &str) -> MysqlError {
        let account = self.account();
        MysqlError::database_access_denied(account.user, account.host, database)
    }

    /// The user and the host of the client.
    fn user_and_client(&self) -> (String, String) {
        match &self.rights {
            Some(rights) => (rights.account.user.clone(), rights.client.text().to_owned()),
            None => (AccountId::root().user, LOCALHOST.to_owned()),
        }
    }

    /// Checks that all of `wanted` are granted on a table.
    ///
    /// # Errors
    /// 1142, with the missing privileges.
    pub(crate) fn check_table(
        &self,
        wanted: impl Into<Privileges>,
        database: &str,
        table: &str,
    ) -> Result<(), MysqlError> {
        let missing = wanted.into() - self.on_table(database, table);
        if missing.is_empty() { Ok(()) } else { Err(self.table_denied(&missing.to_string(), table)) }
    }

    /// Checks that all of `wanted` are granted on a database.
    ///
    /// # Errors
    /// 1044.
    pub(crate) fn check_database(
        &self,
        wanted: impl Into<Privileges>,
        database: &str,
    ) -> Result<(), MysqlError> {
        match self.on_database(database).has_all(wanted.into()) {
            true => Ok(()),
            false => Err(self.database_denied(database)),
        }
    }

    /// Privileges on a stored procedure or function.
    pub(crate) fn on_routine(&self, kind: ProgramKind, database: &str, name: &str) -> Privileges {
        let Some(rights) = &self.rights else { return Privileges::EVERYTHING };
        let granted = match rights.routines.is_empty() {
            true => None,
            false => rights.routines.get(&routine_name(kind, database, name)),
        };
        self.on_database(database) | granted.copied().unwrap_or(Privileges::NONE)
    }

    /// Checks that a privilege is granted on a stored procedure or function.
    ///
    /// # Errors
    /// 1370.
    pub(crate) fn check_routine(
        &self,
        wanted: Privilege,
        kind: ProgramKind,
        database: &str,
        name: &str,
    ) -> Result<(), MysqlError> {
        if self.on_routine(kind, database, name).has(wanted) {
            return Ok(());
        }
        let (user, host) = self.user_and_client();
        let routine = format_args!("{database}.{name}");
        Err(MysqlError::routine_denied(wanted.name().to_lowercase(), user, host, routine))
    }

    /// Checks that at least one of `wanted` is granted globally.
    ///
    /// # Errors
    /// 1227, with all of `wanted`.
    pub(crate) fn check_any(&self, wanted: &[Privilege]) -> Result<(), MysqlError> {
        if wanted.iter().any(|wanted| self.on_everything().has(*wanted)) {
            return Ok(());
        }
        let names: Vec<&str> = wanted.iter().map(|wanted| wanted.name()).collect();
        Err(MysqlError::specific_access_denied(names.join(" or ")))
    }
}

impl Authority for Access {
    fn is_unlimited(&self) -> bool {
        self.rights.is_none()
    }

    fn account(&self) -> AccountId {
        self.rights.as_ref().map_or_else(AccountId::root, |rights| rights.account.clone())
    }

    fn on_everything(&self) -> Privileges {
        self.rights.as_ref().map_or(Privileges::EVERYTHING, |rights| rights.global)
    }

    fn rights_on(&self, database: &str, table: &str) -> TableRights {
        let Some(rights) = &self.rights else { return TableRights::EVERYTHING };
        let granted = match rights.tables.is_empty() {
            true => None,
            false => rights.tables.get(&(database.to_owned(), table.to_owned())),
        };
        let mut granted = granted.cloned().unwrap_or_default();
        granted.add(self.on_database(database));
        if system_names::is_about_own_sessions(database, table) {
            granted.add(Privilege::Select.into());
        }
        granted
    }

    fn on_table(&self, database: &str, table: &str) -> Privileges {
        self.rights_on(database, table).whole()
    }

    fn sees_table(&self, database: &str, table: &str) -> bool {
        let granted = self.rights_on(database, table).somewhere();
        granted.has_any(Privileges::OF_TABLES | Privilege::GrantOption)
    }

    fn check_function(&self, database: &str, name: &str) -> Result<(), MysqlError> {
        self.check_routine(Privilege::Execute, ProgramKind::Function, database, name)
    }

    fn table_denied(&self, wanted: &str, table: &str) -> MysqlError {
        let (user, host) = self.user_and_client();
        MysqlError::table_access_denied(wanted, user, host, table)
    }

    fn column_denied(&self, wanted: Privilege, column: &str, table: &str) -> MysqlError {
        let (user, host) = self.user_and_client();
        MysqlError::column_access_denied(wanted.name(), user, host, column, table)
    }

    fn of_definer(&self, view: &ViewDef) -> Result<Option<Box<dyn Authority>>, MysqlError> {
        Ok(Access::of_definer(self, view)?.map(|definer| Box::new(definer) as Box<dyn Authority>))
    }
}
