//! GRANT and REVOKE.
//!
//! The grantor must hold the granted privileges, and GRANT OPTION, at the same level. Each statement changes all accounts that
//! it names, or none.

use super::column_grants::{NamedColumns, take_from_columns};
use super::partial_revokes;
use super::users::{check_may_change, check_not_damaged, this_second};
use crate::accounts::restrictions::Restrictions;
use crate::accounts::set::{Account, AccountSet, TableGrant, routine_name};
use crate::accounts::{Access, Accounts};
use crate::information_schema;
use crate::session::Session;
use crate::system_names;
use leafline_planner::Authority;
use leafline_syntax::AccountId;
use leafline_syntax::ast::{Grant, GrantLevel, PrivilegeList, Revoke, TableName};
use leafline_syntax::{Privilege, Privileges, Reach};
use leafline_types::MysqlError;
use leafline_types::words::ProgramKind;

/// The level of a GRANT or REVOKE.
enum Level {
    Everything,
    /// The databases of a pattern.
    Databases(String),
    Table(String, String),
    Routine(ProgramKind, String, String),
}

impl Level {
    /// Returns the privileges that can be granted at this level.
    fn all(&self) -> Privileges {
        match self {
            Level::Everything => Privileges::STATIC | Privileges::DYNAMIC,
            Level::Databases(_) => Privileges::OF_DATABASES,
            Level::Table(..) => Privileges::OF_TABLES,
            Level::Routine(..) => Privileges::OF_ROUTINES,
        }
    }

    /// Finds the level that a statement names.
    ///
    /// # Errors
    /// 1046 without a current database.
    fn of(session: &Session, level: &GrantLevel) -> Result<Level, MysqlError> {
        let current = || session.database().map(str::to_owned).ok_or_else(MysqlError::no_database_selected);
        Ok(match level {
            GrantLevel::Global => Level::Everything,
            GrantLevel::Routine(kind, TableName { database, name }) => {
                let database = database.as_ref().map_or_else(current, |name| Ok(name.value.clone()))?;
                Level::Routine(*kind, database, name.value.clone())
            }
            GrantLevel::Database(Some(name)) => Level::Databases(name.value.clone()),
            GrantLevel::Database(None) => Level::Databases(as_pattern(&current()?)),
            GrantLevel::Table(TableName { database, name }) => {
                let database = database.as_ref().map_or_else(current, |name| Ok(name.value.clone()))?;
                Level::Table(database, name.value.clone())
            }
        })
    }

    /// Returns the privileges that a list means at this level.
    ///
    /// # Errors
    /// 3619, 1221 and 1144 for privileges that cannot be granted at this level.
    fn named(&self, list: &PrivilegeList) -> Result<Privileges, MysqlError> {
        let PrivilegeList::These(list) = list else { return Ok(self.all()) };
        if !matches!(self, Level::Table(..)) && list.iter().any(|named| !named.columns.is_empty()) {
            return Err(MysqlError::illegal_grant_for_table());
        }
        let whole = list.iter().filter(|named| named.columns.is_empty());
        let named: Privileges = whole.map(|named| named.privilege).collect();
        let foreign = named - self.all() - Privileges::of(Privilege::GrantOption);
        if let Some(dynamic) = foreign.iter().find(|privilege| privilege.reach() == Reach::Dynamic) {
            return Err(MysqlError::illegal_privilege_level(dynamic.name()));
        }
        match self {
            Level::Databases(_) if !foreign.is_empty() => {
                Err(MysqlError::wrong_usage("DB GRANT", "GLOBAL PRIVILEGES"))
            }
            Level::Table(..) | Level::Routine(..) if !foreign.is_empty() => {
                Err(MysqlError::illegal_grant_for_table())
            }
            _ => Ok(named),
        }
    }

    /// The database and name of the table.
    fn table(&self) -> Option<(&str, &str)> {
        match self {
            Level::Table(database, table) => Some((database, table)),
            _ => None,
        }
    }

    /// Returns the privileges that `access` has at this level.
    fn held(&self, access: &Access) -> Privileges {
        match self {
            Level::Everything => access.on_everything(),
            Level::Databases(pattern) => access.on_pattern(pattern),
            Level::Table(database, table) => access.on_table(database, table),
            Level::Routine(kind, database, name) => access.on_routine(*kind, database, name),
        }
    }

    /// Checks that the session may grant and revoke the `named` privileges at this level.
    ///
    /// # Errors
    /// 1045 on everything, 1044 on databases, 1142 on a table, 1227 for a dynamic privilege.
    fn check(&self, access: &Access, named: Privileges) -> Result<(), MysqlError> {
        let held = self.held(access);
        let fixed = (named - Privileges::DYNAMIC) | Privilege::GrantOption;
        if access.is_unlimited() {
            return Ok(());
        }
        if !(named - Privileges::DYNAMIC).is_empty() || named.is_empty() {
            let missing = fixed - held;
            match self {
                _ if missing.is_empty() => {}
                Level::Everything => {
                    let account = access.account();
                    return Err(MysqlError::access_denied(account.user, account.host, "YES"));
                }
                Level::Databases(pattern) => return Err(access.database_denied(pattern)),
                Level::Table(_, table) => {
                    // Errors call the right to grant by the statement's name.
                    let missing = missing.to_string().replace(Privilege::GrantOption.name(), "GRANT");
                    return Err(access.table_denied(&missing, table));
                }
                Level::Routine(kind, database, name) => {
                    let missing = missing.iter().next().unwrap_or(Privilege::GrantOption);
                    return access.check_routine(missing, *kind, database, name);
                }
            }
        }
        match ((named & Privileges::DYNAMIC) - access.grantable()).is_empty() {
            true => Ok(()),
            false => Err(MysqlError::specific_access_denied("GRANT OPTION")),
        }
    }
}

/// Escapes a database's name: the pattern matches that name alone.
fn as_pattern(name: &str) -> String {
    name.replace('\\', r"\\").replace('_', r"\_").replace('%', r"\%")
}

impl Accounts {
    /// Runs GRANT.
    ///
    /// # Errors
    /// 1410 for an account that does not exist; 3901 for a partial revoke that a grant contradicts; 1146 for a table that does not, unless CREATE is granted on it; the errors of
    /// privileges that cannot be granted at this level, or not by the session; errors of the engine.
    pub(crate) fn grant(&self, session: &Session, grant: &Grant) -> Result<(), MysqlError> {
        let alone = self.alone();
        let mut set = (*self.set()).clone();
        check_not_damaged(&set)?;
        let level = Level::of(session, &grant.level)?;
        let mut named = level.named(&grant.privileges)?;
        let columns = NamedColumns::of(&grant.privileges);
        if let PrivilegeList::All = grant.privileges {
            // ALL means only those dynamic privileges that the session may grant, as in MySQL.
            named = Accounts::of_dynamic_grantable(&session.login.access, named);
        }
        level.check(&session.login.access, named)?;
        columns.check_some(&session.login.access, level.table())?;
        check_names(session, &level, named | columns.privileges())?;
        let columns = columns.defined(session, level.table())?;
        columns.check(&session.login.access, level.table())?;
        if grant.with_grant_option {
            named |= Privilege::GrantOption.into();
        }
        for name in &grant.accounts {
            let id = session.login.access.account_of(name);
            check_may_change(&session.login.access, &set, &id)?;
            if !set.accounts.contains_key(&id) {
                return Err(MysqlError::cannot_create_user_by_grant());
            }
            let named = match &level {
                Level::Databases(name) if session.instance.globals().read().partial_revokes => {
                    partial_revokes::lift(&mut set, (&id, name), named)?
                }
                _ => named,
            };
            add(&mut set, session, &id, (&level, named));
            columns.add(&mut set, session, (&id, level.table()));
        }
        self.put(set, &alone)
    }

    /// Removes from `named` the dynamic privileges that the session may not grant.
    fn of_dynamic_grantable(access: &Access, named: Privileges) -> Privileges {
        named - (Privileges::DYNAMIC - access.grantable())
    }

    /// Runs REVOKE.
    ///
    /// # Errors
    /// 1141 and 1147 for a privilege that was not granted, 1044 for one that the session lacks itself on a database, 1269 when everything is revoked from an account that does not exist; the
    /// errors of privileges that cannot be revoked at this level, or not by the session; errors of the engine.
    pub(crate) fn revoke(&self, session: &mut Session, revoke: &Revoke) -> Result<(), MysqlError> {
        let alone = self.alone();
        let mut set = (*self.set()).clone();
        check_not_damaged(&set)?;
        let level = revoke.level.as_ref().map(|level| Level::of(session, level)).transpose()?;
        let named = match &level {
            Some(level) => level.named(&revoke.privileges)?,
            None => Privileges::EVERYTHING,
        };
        let columns = NamedColumns::of(&revoke.privileges);
        columns.check_some(&session.login.access, level.as_ref().and_then(Level::table))?;
        match (&level, &revoke.privileges) {
            (Some(level @ Level::Everything), PrivilegeList::All) => {
                let named = Accounts::of_dynamic_grantable(&session.login.access, named);
                level.check(&session.login.access, named)?;
            }
            (Some(level), _) => level.check(&session.login.access, named)?,
            // As in MySQL, the session must be allowed to make accounts or to change the grant tables.
            (None, _) if session.login.access.on_database("mysql").has(Privilege::Update) => {}
            (None, _) => session.login.access.check_any(&[Privilege::CreateUser])?,
        }
        for name in &revoke.accounts {
            let id = session.login.access.account_of(name);
            check_may_change(&session.login.access, &set, &id)?;
            let removed = match (&level, set.accounts.contains_key(&id)) {
                (_, false) if revoke.ignore_unknown => {
                    session.warnings.warn(MysqlError::user_does_not_exist(&id));
                    continue;
                }
                (None, false) => Err(MysqlError::cannot_revoke_all()),
                (Some(_), false) => Err(MysqlError::no_such_grant(&id.user, &id.host)),
                (None, true) => {
                    check_revoker(session, &set, (&id, named))?;
                    take_all(&mut set, &id);
                    Ok(())
                }
                (Some(Level::Databases(name)), true) if session.instance.globals().read().partial_revokes => {
                    let named = (named, revoke.privileges == PrivilegeList::All);
                    match partial_revokes::restrict(&mut set, (&id, name), named)? {
                        Some(left) => take(&mut set, &id, (&Level::Databases(name.clone()), left)),
                        None => Ok(()),
                    }
                }
                (Some(level), true) => {
                    if matches!(level, Level::Everything) {
                        check_revoker(session, &set, (&id, named))?;
                    }
                    take(&mut set, &id, (level, named))
                        .and_then(|()| columns.take(&mut set, (&id, level.table())))
                }
            };
            match removed {
                Err(error) if revoke.if_exists => session.warnings.warn(error),
                removed => removed?,
            }
        }
        self.put(set, &alone)
    }
}

impl Accounts {
    /// Grants EXECUTE and ALTER ROUTINE on a new routine to the account that created it, unless it has them on the database.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn grant_new_routine(
        &self,
        session: &Session,
        (kind, database, name): (ProgramKind, &str, &str),
    ) -> Result<(), MysqlError> {
        let access = &session.login.access;
        if access.on_routine(kind, database, name).has_all(Privileges::OF_ROUTINES) {
            return Ok(());
        }
        let alone = self.alone();
        let mut set = (*self.set()).clone();
        let id = access.account();
        if set.damage.is_some() || !set.accounts.contains_key(&id) {
            return Ok(());
        }
        let level = Level::Routine(kind, database.to_owned(), name.to_owned());
        add(&mut set, session, &id, (&level, Privileges::OF_ROUTINES));
        self.put(set, &alone)
    }

    /// Revokes all privileges on a routine that was dropped.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn forget_routine(
        &self,
        (kind, database, name): (ProgramKind, &str, &str),
    ) -> Result<(), MysqlError> {
        self.forget_routines(|(of_kind, of_database, of_name)| {
            (*of_kind, of_database.as_str()) == (kind, database) && *of_name == name.to_lowercase()
        })
    }

    /// Revokes all privileges on the routines that `is_gone` says.
    ///
    /// # Errors
    /// Errors of the engine.
    pub(crate) fn forget_routines(
        &self,
        is_gone: impl Fn(&crate::accounts::set::RoutineName) -> bool,
    ) -> Result<(), MysqlError> {
        let alone = self.alone();
        let set = self.set();
        if !set.routines.keys().any(|(_, routine)| is_gone(routine)) {
            return Ok(());
        }
        let mut set = (*set).clone();
        set.routines.retain(|(_, routine), _| !is_gone(routine));
        self.put(set, &alone)
    }
}

/// Checks that the table or database of a level exists and may have grants.
///
/// # Errors
/// 1146 for a table that does not exist, unless CREATE is granted on it; 1044 and 1142 for the standard databases, on which
/// nothing is granted.
fn check_names(session: &Session, level: &Level, named: Privileges) -> Result<(), MysqlError> {
    match level {
        Level::Everything => Ok(()),
        Level::Databases(pattern) if system_names::is_standard(pattern) => {
            Err(session.login.access.database_denied(pattern))
        }
        Level::Databases(_) => Ok(()),
        Level::Routine(kind, database, name) => {
            match session.instance.engine().catalog().program(*kind, database, name) {
                Some(_) => Ok(()),
                None => Err(MysqlError::does_not_exist(kind.name(), name)),
            }
        }
        Level::Table(database, table) if system_names::is_standard(database) => {
            Err(session.login.access.table_denied(&named.to_string(), table))
        }
        Level::Table(database, table) => {
            let catalog = session.instance.engine().catalog();
            let is_there = catalog.table(database, table).is_some()
                || catalog.view(database, table).is_some()
                || information_schema::definition(database, table).is_some();
            match is_there || named.has(Privilege::Create) {
                true => Ok(()),
                false => Err(MysqlError::no_such_table(database, table)),
            }
        }
    }
}

/// Checks that partial revokes of the session do not forbid to revoke privileges on everything.
fn check_revoker(
    session: &Session,
    set: &AccountSet,
    (id, named): (&AccountId, Privileges),
) -> Result<(), MysqlError> {
    match set.accounts.get(id) {
        Some(account) => partial_revokes::check_revoker(&session.login.access, account, named),
        None => Ok(()),
    }
}

/// Adds privileges to an account.
fn add(set: &mut AccountSet, session: &Session, id: &AccountId, (level, named): (&Level, Privileges)) {
    match level {
        Level::Everything => {
            let grantor = session.login.access.restrictions();
            let account = set.accounts.get(id);
            let restrictions =
                account.map(|account| partial_revokes::after_grant(set, (id, account), (&grantor, named)));
            if let Some((account, restrictions)) = set.accounts.get_mut(id).zip(restrictions) {
                account.restrictions = restrictions;
                let option = named.has(Privilege::GrantOption);
                let dynamic = named & Privileges::DYNAMIC;
                let only_dynamic = (named - Privileges::DYNAMIC).without(Privilege::GrantOption).is_empty();
                account.global |= named.without(Privilege::GrantOption);
                if option {
                    account.grantable |= dynamic;
                }
                // WITH GRANT OPTION on dynamic privileges alone covers these alone.
                if option && (dynamic.is_empty() || !only_dynamic) {
                    account.global |= Privilege::GrantOption.into();
                }
            }
        }
        Level::Databases(pattern) => {
            let granted = set.databases.entry((id.clone(), pattern.clone())).or_default();
            *granted |= named;
            if granted.is_empty() {
                set.databases.remove(&(id.clone(), pattern.clone()));
            }
        }
        Level::Table(database, table) => {
            let key = (id.clone(), database.clone(), table.clone());
            let before = set.tables.get(&key).map_or(Privileges::NONE, |grant| grant.privileges);
            if !(before | named).is_empty() {
                let grant = TableGrant {
                    privileges: before | named,
                    grantor: session.login.access.account().plain(),
                    granted: this_second(session),
                };
                set.tables.insert(key, grant);
            }
        }
        Level::Routine(kind, database, name) => {
            let key = (id.clone(), routine_name(*kind, database, name));
            let before = set.routines.get(&key).map_or(Privileges::NONE, |grant| grant.privileges);
            if !(before | named).is_empty() {
                let grant = TableGrant {
                    privileges: before | named,
                    grantor: session.login.access.account().plain(),
                    granted: this_second(session),
                };
                set.routines.insert(key, grant);
            }
        }
    }
}

/// Removes privileges from an account.
fn take(
    set: &mut AccountSet,
    id: &AccountId,
    (level, named): (&Level, Privileges),
) -> Result<(), MysqlError> {
    match level {
        Level::Everything => {
            if let Some(Account { global, grantable, restrictions, .. }) = set.accounts.get_mut(id) {
                *global = *global - named;
                *grantable = *grantable & *global;
                restrictions.forget(named);
            }
        }
        Level::Databases(pattern) => {
            let key = (id.clone(), pattern.clone());
            let Some(granted) = set.databases.get_mut(&key) else {
                return Err(MysqlError::no_such_grant(&id.user, &id.host));
            };
            *granted = *granted - named;
            if granted.is_empty() {
                set.databases.remove(&key);
            }
        }
        Level::Table(database, table) => {
            let key = (id.clone(), database.clone(), table.clone());
            if !set.tables.contains_key(&key) && !set.columns.contains_key(&key) {
                return Err(MysqlError::no_such_table_grant(&id.user, &id.host, table));
            }
            if let Some(grant) = set.tables.get_mut(&key) {
                grant.privileges = grant.privileges - named;
                if grant.privileges.is_empty() {
                    set.tables.remove(&key);
                }
            }
            take_from_columns(set, &key, |_| named);
        }
        Level::Routine(kind, database, name) => {
            let key = (id.clone(), routine_name(*kind, database, name));
            let Some(grant) = set.routines.get_mut(&key) else {
                return Err(MysqlError::nonexisting_routine_grant(&id.user, &id.host, name));
            };
            grant.privileges = grant.privileges - named;
            if grant.privileges.is_empty() {
                set.routines.remove(&key);
            }
        }
    }
    Ok(())
}

/// Removes all privileges from an account.
fn take_all(set: &mut AccountSet, id: &AccountId) {
    if let Some(account) = set.accounts.get_mut(id) {
        (account.global, account.grantable) = (Privileges::NONE, Privileges::NONE);
        account.restrictions = Restrictions::default();
    }
    set.databases.retain(|(of, _), _| of != id);
    set.tables.retain(|(of, ..), _| of != id);
    set.columns.retain(|(of, ..), _| of != id);
    set.routines.retain(|(of, _), _| of != id);
}
