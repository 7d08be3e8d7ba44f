//! Accounts on disk: MySQL's grant tables, with its columns, in the database `mysql`.
//!
//! | table | a row is |
//! |---|---|
//! | `user` | an account: its login and its global privileges |
//! | `global_grants` | a dynamic privilege |
//! | `db` | privileges on databases whose names match a pattern |
//! | `tables_priv` | privileges on a table |
//! | `procs_priv` | privileges on a stored procedure or function |
//! | `password_history` | an earlier password |
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
//! | 47 | without the four columns of rules for passwords: no account has any but EXPIRE NEVER |
//! | 51 | with `User_attributes` as a text |
//! | 51 | the current form, where it is JSON |

use super::grant_tables::*;
use super::role_rows::{default_rows, edge_rows, read_default, read_edge};
use super::row_values::{Row, choice, choices, granted, is_yes, moment, seconds, string};
use super::set::{AccountSet, ColumnGrant, TableGrant, routine_name};
use super::user_rows::{account, account_of_before, history_rows, read_history, user_row};
use crate::system_table::{self, SYSTEM_DATABASE};
use leafline_syntax::AccountId;
use leafline_syntax::{Privilege, Privileges};
use leafline_table::{ColumnDef, Engine, Isolation, TableSpec, TxnMode};
use leafline_types::words::ProgramKind;
use leafline_types::{MysqlError, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The key of a row: the texts of these columns, or the number of an ENUM value.
fn key_of(row: &[Value], columns: &[usize]) -> Vec<String> {
    let text = |column: &usize| match row.get(*column) {
        Some(Value::UInt(number)) => number.to_string(),
        Some(Value::DateTime(moment)) => moment.epoch_micros().unwrap_or_default().to_string(),
        other => other.and_then(Value::as_str).unwrap_or_default().to_owned(),
    };
    columns.iter().map(text).collect()
}

/// The positions of the key columns of `procs_priv`.
const ROUTINE_KEY: &[usize] = &[0, 1, 2, 3, 4];

/// A table, the positions of its key columns, and its rows by key.
type Wanted = (TableSpec, &'static [usize], BTreeMap<Vec<String>, Row>);

/// The rows of all tables.
fn rows_of(set: &AccountSet) -> [Wanted; 9] {
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
        wanted(history_table(), &[0, 1, 2, 3], history_rows(set)),
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
    let types = |columns: &[ColumnDef]| columns.iter().map(|column| column.ty.clone()).collect::<Vec<_>>();
    if types(&engine.table(SYSTEM_DATABASE, USER)?.columns) != types(&user_table(USER).columns) {
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
    for row in rows(engine, HISTORY)? {
        read_history(&mut set, &row).ok_or_else(|| unreadable(HISTORY))?;
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
        for spec in column_and_routine_tables().into_iter().chain(role_tables()).chain([history_table()]) {
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
        HISTORY => read_history(&mut set, row),
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
    fn every_privilege_has_its_column() {
        let columns =
            |of: &[(&str, Privilege)]| of.iter().map(|(_, privilege)| *privilege).collect::<Privileges>();
        let option = Privileges::of(Privilege::GrantOption);
        assert_eq!(columns(&USER_PRIVILEGES) | columns(&ROLE_PRIVILEGES), Privileges::STATIC | option);
        assert_eq!(columns(&DATABASE_PRIVILEGES), Privileges::OF_DATABASES | option);
        assert_eq!(columns(&TABLE_PRIVILEGES), Privileges::OF_TABLES | option);
    }
}
