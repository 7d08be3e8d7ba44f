//! Accounts on disk: MySQL's grant tables, with its columns, in the database `mysql`.
//!
//! | table | a row is |
//! |---|---|
//! | `user` | an account: its login and its global privileges |
//! | `global_grants` | a dynamic privilege |
//! | `db` | privileges on databases whose names match a pattern |
//! | `tables_priv` | privileges on a table |
//! | `procs_priv` | privileges on a stored procedure or function |
//! | `role_edges` | a granted role |
//! | `default_roles` | a default role of an account |
//! | `columns_priv` | privileges on a column of a table |
//!
//! One transaction writes all rows. The only change of these rows that a statement may make is an INSERT, as
//! in a dump of all databases; other changes fail with 1142. A row that could not be read back
//! ([`is_readable`]) fails with 1105, so that the tables stay readable.
//!
//! The `mysql.user` of an older database has fewer columns. An upgrade copies its rows to a table of the
//! current form, `user_upgraded`, which then takes its place by one change of the catalog. After a crash the
//! next open drops what is left of an upgrade, and repeats it if the old table is still in place.
//!
//! | columns | form |
//! |---|---|
//! | 4 | host, user, plugin and hash, from before there were privileges: each account may do everything |
//! | 39 | without the eight columns of TLS and limits: no account has any |
//! | 47 | the current form |

use super::Accounts;
use super::grant_tables::*;
use super::password::{AuthPlugin, StoredPassword};
use super::role_rows::{default_rows, edge_rows, read_default, read_edge};
use super::set::{Account, AccountSet, ColumnGrant, Secret, TableGrant, routine_name};
use crate::system_table::{self, SYSTEM_DATABASE};
use leafline_syntax::AccountId;
use leafline_syntax::{Privilege, Privileges};
use leafline_table::{Engine, Isolation, TableSpec, TxnMode};
use leafline_types::words::ProgramKind;
use leafline_types::{DateTime, MysqlError, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

type Row = Vec<Value>;

fn string(value: &str) -> Value {
    Value::string(value)
}

/// The ENUM value N or Y.
fn choice(yes: bool) -> Value {
    Value::UInt(1 + u64::from(yes))
}

fn is_yes(value: Option<&Value>) -> bool {
    value == Some(&Value::UInt(2))
}

fn choices<'p>(
    columns: &'p [(&'static str, Privilege)],
    granted: Privileges,
) -> impl Iterator<Item = Value> + use<'p> {
    columns.iter().map(move |(_, privilege)| choice(granted.has(*privilege)))
}

fn granted(columns: &[(&str, Privilege)], values: &[Value]) -> Privileges {
    let chosen = columns.iter().zip(values).filter(|(_, value)| is_yes(Some(value)));
    chosen.map(|((_, privilege), _)| *privilege).collect()
}

fn moment(value: Option<&Value>) -> Option<DateTime> {
    match value {
        Some(Value::DateTime(moment)) => Some(*moment),
        _ => None,
    }
}

/// A time, to the second.
fn seconds(moment: Option<DateTime>) -> Value {
    moment.map_or(Value::Null, Value::DateTime)
}

fn user_row(id: &AccountId, account: &Account) -> Row {
    let (plugin, secret) = match &account.secret {
        Secret::Password(password) => (password.plugin().name(), password.authentication_string()),
        Secret::Unreadable(plugin, secret) => (plugin.as_str(), secret.clone()),
    };
    let mut row = vec![string(&id.host), string(&id.user)];
    row.extend(choices(&USER_PRIVILEGES, account.global));
    row.extend(transport_values(account.requires_tls, account.max_user_connections));
    row.extend([string(plugin), string(&secret), choice(account.expired), seconds(account.changed)]);
    row.extend([if account.never_expires { Value::UInt(0) } else { Value::Null }, choice(account.locked)]);
    row.extend(choices(&ROLE_PRIVILEGES, account.global));
    row
}

/// Values of the columns of TLS and limits. Certificates are not examined, and there are no limits by the
/// hour.
fn transport_values(requires_tls: bool, most: u32) -> [Value; TRANSPORT_COLUMNS] {
    let nothing = || Value::bytes(Vec::new());
    let [questions, updates, connections] = [Value::UInt(0), Value::UInt(0), Value::UInt(0)];
    let transport = Value::UInt(1 + u64::from(requires_tls));
    [transport, nothing(), nothing(), nothing(), questions, updates, connections, Value::UInt(most.into())]
}

fn account(row: &[Value]) -> Option<(AccountId, Account)> {
    let (names, rest) = row.split_at_checked(2)?;
    let (privileges, rest) = rest.split_at_checked(USER_PRIVILEGES.len())?;
    let (transport, rest) = rest.split_at_checked(TRANSPORT_COLUMNS)?;
    let [plugin, secret, expired, changed, lifetime, locked, roles @ ..] = rest else { return None };
    let id = AccountId::new(names.get(1)?.as_str()?, names.first()?.as_str()?);
    let account = Account {
        secret: stored_secret(plugin.as_str()?, secret.as_str()),
        locked: is_yes(Some(locked)),
        expired: is_yes(Some(expired)),
        never_expires: *lifetime == Value::UInt(0),
        changed: moment(Some(changed)),
        requires_tls: is_yes(transport.first()),
        max_user_connections: match transport.last() {
            Some(Value::UInt(most)) => u32::try_from(*most).ok()?,
            _ => return None,
        },
        global: granted(&USER_PRIVILEGES, privileges) | granted(&ROLE_PRIVILEGES, roles),
        grantable: Privileges::NONE,
    };
    Some((id, account))
}

fn stored_secret(plugin: &str, secret: Option<&str>) -> Secret {
    let parsed = AuthPlugin::from_name(plugin).zip(secret);
    match parsed.and_then(|(plugin, secret)| StoredPassword::parse(plugin, secret)) {
        Some(password) => Secret::Password(password),
        None => Secret::Unreadable(plugin.into(), secret.unwrap_or_default().into()),
    }
}

/// The key of a row: the texts of these columns, or the number of an ENUM value.
fn key_of(row: &[Value], columns: &[usize]) -> Vec<String> {
    let text = |column: &usize| match row.get(*column) {
        Some(Value::UInt(number)) => number.to_string(),
        other => other.and_then(Value::as_str).unwrap_or_default().to_owned(),
    };
    columns.iter().map(text).collect()
}

/// The positions of the key columns of `procs_priv`.
const ROUTINE_KEY: &[usize] = &[0, 1, 2, 3, 4];

/// A table, the positions of its key columns, and its rows by key.
type Wanted = (TableSpec, &'static [usize], BTreeMap<Vec<String>, Row>);

/// The rows of all tables.
fn rows_of(set: &AccountSet) -> [Wanted; 8] {
    let wanted = |spec: TableSpec, key: &'static [usize], rows: Vec<Row>| -> Wanted {
        (spec, key, rows.into_iter().map(|row| (key_of(&row, key), row)).collect())
    };
    let users = set.accounts.iter().map(|(id, account)| user_row(id, account)).collect();
    let mut dynamic = Vec::new();
    for (id, account) in &set.accounts {
        for privilege in (account.global & Privileges::DYNAMIC).iter() {
            let named = [&id.user, &id.host, privilege.name()].map(string);
            dynamic.push([&named[..], &[choice(account.grantable.has(privilege))]].concat());
        }
    }
    let databases = set.databases.iter().map(|((id, pattern), granted)| {
        let mut row: Row = [&id.host, pattern, &id.user].map(|name| string(name)).into();
        row.extend(choices(&DATABASE_PRIVILEGES, *granted));
        row
    });
    let tables = set.tables.iter().map(|((id, database, table), grant)| {
        let mut row: Row =
            [&id.host, database, &id.user, table, &grant.grantor].map(|name| string(name)).into();
        let bits = TABLE_PRIVILEGES.iter().enumerate();
        let bits = bits.filter(|(_, (_, privilege))| grant.privileges.has(*privilege));
        row.extend([seconds(grant.granted), Value::UInt(bits.map(|(at, _)| 1 << at).sum())]);
        row
    });
    let granted_routines = set.routines.iter().map(|((id, (kind, database, name)), grant)| {
        let mut row: Row = [&id.host, database, &id.user, name].map(|name| string(name)).into();
        let bits = ROUTINE_PRIVILEGES.iter().enumerate();
        let bits = bits.filter(|(_, (_, privilege))| grant.privileges.has(*privilege));
        row.extend([
            Value::UInt(1 + u64::from(*kind == ProgramKind::Procedure)),
            string(&grant.grantor),
            Value::UInt(bits.map(|(at, _)| 1 << at).sum()),
            seconds(grant.granted),
        ]);
        row
    });
    let routine_rows: BTreeMap<Vec<String>, Row> =
        granted_routines.map(|row| (key_of(&row, ROUTINE_KEY), row)).collect();
    let [columns, routines] = column_and_routine_tables();
    let [edges, defaults] = role_tables();
    [
        wanted(edges, &[0, 1, 2, 3], edge_rows(&set.roles)),
        wanted(defaults, &[0, 1, 2, 3], default_rows(&set.roles)),
        wanted(columns, &[0, 1, 2, 3, 4], column_rows(set)),
        (routines, ROUTINE_KEY, routine_rows),
        wanted(user_table(USER), &[0, 1], users),
        wanted(dynamic_table(), &[0, 1, 2], dynamic),
        wanted(database_table(), &[0, 1, 2], databases.collect()),
        wanted(tables_table(), &[0, 1, 2, 3], tables.collect()),
    ]
}

/// The rows of `columns_priv`.
fn column_rows(set: &AccountSet) -> Vec<Row> {
    let mut rows = Vec::new();
    for ((id, database, table), grants) in &set.columns {
        for grant in grants.values() {
            let mut row: Row =
                [&id.host, database, &id.user, table, &grant.name].map(|name| string(name)).into();
            let bits = COLUMN_PRIVILEGES.iter().enumerate();
            let bits = bits.filter(|(_, (_, privilege))| grant.privileges.has(*privilege));
            row.extend([seconds(grant.granted), Value::UInt(bits.map(|(at, _)| 1 << at).sum())]);
            rows.push(row);
        }
    }
    rows
}

/// Changes the tables to hold `set`, in one transaction. A missing table is created with its rows first, in a
/// transaction of its own.
///
/// # Errors
/// Errors of the engine; nothing is changed then.
pub(crate) fn write(engine: &Arc<Engine>, set: &AccountSet) -> Result<(), MysqlError> {
    let mut changes = Vec::new();
    for (spec, key, rows) in rows_of(set) {
        if engine.catalog().table(SYSTEM_DATABASE, &spec.name).is_none() {
            system_table::make(engine, &spec, &rows.into_values().collect::<Vec<_>>())?;
            continue;
        }
        let table = engine.table(SYSTEM_DATABASE, &spec.name)?;
        let stored = system_table::rows(engine, &table)?;
        changes.push((table, key, stored, rows));
    }
    let mut transaction = engine.transactions().begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
    transaction.begin_statement();
    for (table, key, stored, mut rows) in changes {
        for (locator, old) in stored {
            match rows.remove(&key_of(&old, key)) {
                Some(row) if row == old => {}
                Some(row) => drop(transaction.update(&table, &locator, &old, &row)?),
                None => drop(transaction.delete(&table, &locator, &old)?),
            }
        }
        for row in rows.into_values() {
            transaction.insert(&table, &row)?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Reads the accounts, after upgrading the tables to the current form. `None` if `mysql.user` does not exist.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn read(engine: &Arc<Engine>) -> Result<Option<AccountSet>, MysqlError> {
    finish_upgrade(engine)?;
    if engine.catalog().table(SYSTEM_DATABASE, USER).is_none() {
        return Ok(None);
    }
    if engine.table(SYSTEM_DATABASE, USER)?.columns.len() < user_table(USER).columns.len() {
        upgrade(engine)?;
    }
    let mut set = AccountSet::default();
    for row in rows(engine, USER)? {
        let (id, account) = account(&row).ok_or_else(|| unreadable(USER))?;
        set.accounts.insert(id, account);
    }
    for row in rows(engine, DYNAMIC)? {
        read_dynamic(&mut set, &row).ok_or_else(|| unreadable(DYNAMIC))?;
    }
    for row in rows(engine, DATABASES)? {
        read_database(&mut set, &row).ok_or_else(|| unreadable(DATABASES))?;
    }
    for row in rows(engine, TABLES)? {
        read_table(&mut set, &row).ok_or_else(|| unreadable(TABLES))?;
    }
    for row in rows(engine, COLUMNS)? {
        read_column(&mut set, &row).ok_or_else(|| unreadable(COLUMNS))?;
    }
    for row in rows(engine, ROUTINES)? {
        read_routine(&mut set, &row).ok_or_else(|| unreadable(ROUTINES))?;
    }
    for row in rows(engine, ROLE_EDGES)? {
        read_edge(&mut set.roles, &row).ok_or_else(|| unreadable(ROLE_EDGES))?;
    }
    for row in rows(engine, DEFAULT_ROLES)? {
        read_default(&mut set.roles, &row).ok_or_else(|| unreadable(DEFAULT_ROLES))?;
    }
    if engine.catalog().table(SYSTEM_DATABASE, DYNAMIC).is_none() {
        complete(engine, &mut set)?;
    } else {
        for spec in column_and_routine_tables().into_iter().chain(role_tables()) {
            if engine.catalog().table(SYSTEM_DATABASE, &spec.name).is_none() {
                // On failure the next change of accounts creates the table.
                let _ = system_table::make(engine, &spec, &[]);
            }
        }
    }
    Ok(Some(set))
}

/// Completes the tables, some of which are missing in a database from before there were privileges or after a
/// crash: an account with all static privileges gets all dynamic ones.
fn complete(engine: &Arc<Engine>, set: &mut AccountSet) -> Result<(), MysqlError> {
    let all = Privileges::STATIC | Privilege::GrantOption;
    for account in set.accounts.values_mut().filter(|account| account.global.has_all(all)) {
        account.global |= Privileges::DYNAMIC;
        account.grantable = Privileges::DYNAMIC;
    }
    write(engine, set)
}

/// True if a row is well-formed for the table.
pub(crate) fn is_readable(table: &str, row: &[Value]) -> bool {
    let mut set = AccountSet::default();
    let read = match table {
        USER => account(row).map(drop),
        DYNAMIC => read_dynamic(&mut set, row),
        DATABASES => read_database(&mut set, row),
        TABLES => read_table(&mut set, row),
        COLUMNS => read_column(&mut set, row),
        ROUTINES => read_routine(&mut set, row),
        ROLE_EDGES => read_edge(&mut set.roles, row),
        DEFAULT_ROLES => read_default(&mut set.roles, row),
        _ => None,
    };
    read.is_some()
}

pub(crate) fn unreadable(table: &str) -> MysqlError {
    MysqlError::unknown_error(format_args!("a row of mysql.{table} cannot be understood"))
}

/// The rows of a table; none if it does not exist.
fn rows(engine: &Arc<Engine>, name: &str) -> Result<Vec<Row>, MysqlError> {
    if engine.catalog().table(SYSTEM_DATABASE, name).is_none() {
        return Ok(Vec::new());
    }
    let table = engine.table(SYSTEM_DATABASE, name)?;
    Ok(system_table::rows(engine, &table)?.into_iter().map(|(_, row)| row).collect())
}

fn read_dynamic(set: &mut AccountSet, row: &[Value]) -> Option<()> {
    let [user, host, privilege, grantable] = row else { return None };
    let privilege = Privilege::from_name(privilege.as_str()?)?;
    // Privileges of a lost account are ignored.
    if let Some(account) = set.accounts.get_mut(&AccountId::new(user.as_str()?, host.as_str()?)) {
        account.global |= privilege.into();
        if is_yes(Some(grantable)) {
            account.grantable |= privilege.into();
        }
    }
    Some(())
}

fn read_database(set: &mut AccountSet, row: &[Value]) -> Option<()> {
    let [host, pattern, user, privileges @ ..] = row else { return None };
    let id = AccountId::new(user.as_str()?, host.as_str()?);
    set.databases.insert((id, pattern.as_str()?.into()), granted(&DATABASE_PRIVILEGES, privileges));
    Some(())
}

fn read_table(set: &mut AccountSet, row: &[Value]) -> Option<()> {
    let [host, database, user, table, grantor, since, privileges] = row else { return None };
    let Value::UInt(bits) = privileges else { return None };
    let chosen = TABLE_PRIVILEGES.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
    let grant = TableGrant {
        privileges: chosen.map(|(_, (_, privilege))| *privilege).collect(),
        grantor: grantor.as_str()?.into(),
        granted: moment(Some(since)),
    };
    let id = AccountId::new(user.as_str()?, host.as_str()?);
    set.tables.insert((id, database.as_str()?.into(), table.as_str()?.into()), grant);
    Some(())
}

/// Adds a row of `columns_priv`, which has no key: several rows of one column add up.
fn read_column(set: &mut AccountSet, row: &[Value]) -> Option<()> {
    let [host, database, user, table, column, since, privileges] = row else { return None };
    let Value::UInt(bits) = privileges else { return None };
    let chosen = COLUMN_PRIVILEGES.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
    let privileges: Privileges = chosen.map(|(_, (_, privilege))| *privilege).collect();
    let name = column.as_str()?.to_owned();
    let id = AccountId::new(user.as_str()?, host.as_str()?);
    if !privileges.is_empty() {
        let of_table =
            set.columns.entry((id, database.as_str()?.into(), table.as_str()?.into())).or_default();
        let grant = of_table.entry(name.to_ascii_lowercase()).or_insert(ColumnGrant {
            name,
            privileges: Privileges::NONE,
            granted: moment(Some(since)),
        });
        grant.privileges |= privileges;
    }
    Some(())
}

fn read_routine(set: &mut AccountSet, row: &[Value]) -> Option<()> {
    let [host, database, user, name, kind, grantor, privileges, since] = row else { return None };
    let (Value::UInt(kind), Value::UInt(bits)) = (kind, privileges) else { return None };
    let kind = if *kind == 2 { ProgramKind::Procedure } else { ProgramKind::Function };
    let chosen = ROUTINE_PRIVILEGES.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
    let grant = TableGrant {
        privileges: chosen.map(|(_, (_, privilege))| *privilege).collect(),
        grantor: grantor.as_str()?.into(),
        granted: moment(Some(since)),
    };
    let id = AccountId::new(user.as_str()?, host.as_str()?);
    set.routines.insert((id, routine_name(kind, database.as_str()?, name.as_str()?)), grant);
    Some(())
}

/// True if nothing was ever created in the database. A crash may have left the database `mysql` without
/// tables.
pub(crate) fn is_new(engine: &Engine) -> bool {
    let catalog = engine.catalog();
    catalog.databases().all(|database| database.name == SYSTEM_DATABASE)
        && catalog.tables(SYSTEM_DATABASE).next().is_none()
}

/// Creates the tables of a new database. The table of accounts is created together with its first rows, so
/// that a crash leaves both or none.
///
/// # Errors
/// Errors of the engine.
pub(crate) fn make(engine: &Arc<Engine>, set: &AccountSet) -> Result<(), MysqlError> {
    let users: Vec<Row> = set.accounts.iter().map(|(id, account)| user_row(id, account)).collect();
    system_table::make(engine, &user_table(USER), &users)?;
    write(engine, set)
}

/// Drops what a crash left of an upgrade.
fn finish_upgrade(engine: &Arc<Engine>) -> Result<(), MysqlError> {
    for left in [UPGRADED, OUTDATED] {
        engine.ddl().drop_table(SYSTEM_DATABASE, left, true)?;
    }
    Ok(())
}

/// The account in a row of an older form.
fn account_of_before(row: &[Value]) -> Option<(AccountId, Account)> {
    if let [host, user, plugin, secret] = row {
        let secret = stored_secret(plugin.as_str()?, secret.as_str());
        let account = Account { secret, ..Accounts::administrator(AuthPlugin::default()) };
        return Some((AccountId::new(user.as_str()?, host.as_str()?), account));
    }
    let (before, behind) = row.split_at_checked(2 + USER_PRIVILEGES.len())?;
    account(&[before, &transport_values(false, 0), behind].concat())
}

/// Upgrades an older table of accounts to the current form.
fn upgrade(engine: &Arc<Engine>) -> Result<(), MysqlError> {
    let outdated = engine.table(SYSTEM_DATABASE, USER)?;
    let mut set = AccountSet::default();
    for (_, row) in system_table::rows(engine, &outdated)? {
        let (id, account) = account_of_before(&row).ok_or_else(|| unreadable(USER))?;
        set.accounts.insert(id, account);
    }
    let users: Vec<Row> = set.accounts.iter().map(|(id, account)| user_row(id, account)).collect();
    system_table::make(engine, &user_table(UPGRADED), &users)?;
    let name = |name| (SYSTEM_DATABASE, name);
    engine.ddl().rename_tables(&[(name(USER), name(OUTDATED)), (name(UPGRADED), name(USER))], true)?;
    engine.ddl().drop_table(SYSTEM_DATABASE, OUTDATED, true)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_reads_back_as_written() {
        let password = StoredPassword::new(AuthPlugin::Native, "secret").unwrap();
        let id = AccountId::new("joe", "192.0.2.%");
        let mut written = Account::new(password);
        written.global = Privileges::STATIC | Privilege::GrantOption;
        for (locked, expired, never_expires) in
            [(true, false, false), (false, true, false), (false, false, true)]
        {
            (written.locked, written.expired, written.never_expires) = (locked, expired, never_expires);
            (written.requires_tls, written.max_user_connections) = (locked, u32::from(expired));
            let row = user_row(&id, &written);
            assert_eq!(row.len(), user_table(USER).columns.len());
            assert_eq!(account(&row), Some((id.clone(), written.clone())));
        }
        let mut row = user_row(&id, &written);
        row[2 + USER_PRIVILEGES.len() + TRANSPORT_COLUMNS + 1] = Value::string("*12");
        let (_, read) = account(&row).unwrap();
        assert_eq!(read.secret, Secret::Unreadable("mysql_native_password".into(), "*12".into()));
        assert_eq!(user_row(&id, &read), row, "what is not understood is kept");
        assert_eq!(account(&row[..5]), None);
    }

    #[test]
    fn accounts_of_older_forms_are_what_they_were() {
        let id = AccountId::new("joe", "%");
        let mut written = Account::new(StoredPassword::new(AuthPlugin::Native, "secret").unwrap());
        written.global = Privileges::of(Privilege::Select) | Privilege::DropRole;
        written.locked = true;
        let mut row = user_row(&id, &written);
        assert_eq!(row.len(), 47);
        row.drain(2 + USER_PRIVILEGES.len()..2 + USER_PRIVILEGES.len() + TRANSPORT_COLUMNS);
        assert_eq!(account_of_before(&row), Some((id.clone(), written)));
        let stored = StoredPassword::new(AuthPlugin::Native, "secret").unwrap().authentication_string();
        let first = ["%", "joe", "mysql_native_password", &stored].map(Value::string);
        let (found, account) = account_of_before(&first).unwrap();
        assert_eq!((found, account.global), (id, Privileges::EVERYTHING));
        assert_eq!(account_of_before(&first[..3]), None);
    }

    #[test]
    fn every_privilege_has_its_column() {
        let columns =
            |of: &[(&str, Privilege)]| of.iter().map(|(_, privilege)| *privilege).collect::<Privileges>();
        let option = Privileges::of(Privilege::GrantOption);
        assert_eq!(columns(&USER_PRIVILEGES) | columns(&ROLE_PRIVILEGES), Privileges::STATIC | option);
        assert_eq!(columns(&DATABASE_PRIVILEGES), Privileges::OF_DATABASES | option);
        assert_eq!(columns(&TABLE_PRIVILEGES), Privileges::OF_TABLES | option);
    }
}
