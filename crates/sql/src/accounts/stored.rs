//! Accounts on disk: MySQL's grant tables, in the database `mysql`, with its columns.
//!
//! | table | a row is |
//! |---|---|
//! | `user` | an account: how it is let in, and what is granted on everything |
//! | `global_grants` | a dynamic privilege |
//! | `db` | what is granted on databases whose names fit a pattern |
//! | `tables_priv` | what is granted on a table |
//!
//! All rows are written by one transaction. Statements cannot change them (1142), so that what is there is what we wrote.
//!
//! A database of before these tables has a `mysql.user` of four columns, with the row of root. Its rows are taken into a table of the new
//! form, called `user_upgraded`, which then changes places with it by one change of the catalog; what a crash leaves of that is dropped or
//! finished the next time.

use super::Accounts;
use super::password::{AuthPlugin, StoredPassword};
use super::privilege::{Privilege, Privileges};
use super::set::{Account, AccountId, AccountSet, Secret, TableGrant};
use crate::system_table::{self, SYSTEM_DATABASE};
use leafline_table::{
    ColumnDef, Engine, IndexSpec, IndexSpecKind, IndexSpecPart, Isolation, TableSpec, TxnMode,
};
use leafline_types::{Collation, DateTime, Members, MysqlError, SqlType, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

const USER: &str = "user";
const UPGRADED: &str = "user_upgraded";
const OUTDATED: &str = "user_outdated";
const DATABASES: &str = "db";
const TABLES: &str = "tables_priv";
const DYNAMIC: &str = "global_grants";

/// Characters of a host, at most: as in MySQL 5.7. With 255 keys would be too long for pages of 4 KiB.
pub(super) const MAX_HOST: usize = 60;
/// Characters of a user, at most.
pub(super) const MAX_USER: usize = 32;

/// Columns of `mysql.user` before there were privileges.
const OUTDATED_COLUMNS: usize = 4;

/// The columns of `user` for static privileges, in MySQL's order.
const USER_PRIVILEGES: [(&str, Privilege); 29] = [
    ("Select_priv", Privilege::Select),
    ("Insert_priv", Privilege::Insert),
    ("Update_priv", Privilege::Update),
    ("Delete_priv", Privilege::Delete),
    ("Create_priv", Privilege::Create),
    ("Drop_priv", Privilege::Drop),
    ("Reload_priv", Privilege::Reload),
    ("Shutdown_priv", Privilege::Shutdown),
    ("Process_priv", Privilege::Process),
    ("File_priv", Privilege::File),
    ("Grant_priv", Privilege::GrantOption),
    ("References_priv", Privilege::References),
    ("Index_priv", Privilege::Index),
    ("Alter_priv", Privilege::Alter),
    ("Show_db_priv", Privilege::ShowDatabases),
    ("Super_priv", Privilege::Super),
    ("Create_tmp_table_priv", Privilege::CreateTemporaryTables),
    ("Lock_tables_priv", Privilege::LockTables),
    ("Execute_priv", Privilege::Execute),
    ("Repl_slave_priv", Privilege::ReplicationSlave),
    ("Repl_client_priv", Privilege::ReplicationClient),
    ("Create_view_priv", Privilege::CreateView),
    ("Show_view_priv", Privilege::ShowView),
    ("Create_routine_priv", Privilege::CreateRoutine),
    ("Alter_routine_priv", Privilege::AlterRoutine),
    ("Create_user_priv", Privilege::CreateUser),
    ("Event_priv", Privilege::Event),
    ("Trigger_priv", Privilege::Trigger),
    ("Create_tablespace_priv", Privilege::CreateTablespace),
];

/// The columns of `user` behind those, in MySQL's order. Roles came later.
const ROLE_PRIVILEGES: [(&str, Privilege); 2] =
    [("Create_role_priv", Privilege::CreateRole), ("Drop_role_priv", Privilege::DropRole)];

/// The columns of `db`, in MySQL's order.
const DATABASE_PRIVILEGES: [(&str, Privilege); 19] = [
    ("Select_priv", Privilege::Select),
    ("Insert_priv", Privilege::Insert),
    ("Update_priv", Privilege::Update),
    ("Delete_priv", Privilege::Delete),
    ("Create_priv", Privilege::Create),
    ("Drop_priv", Privilege::Drop),
    ("Grant_priv", Privilege::GrantOption),
    ("References_priv", Privilege::References),
    ("Index_priv", Privilege::Index),
    ("Alter_priv", Privilege::Alter),
    ("Create_tmp_table_priv", Privilege::CreateTemporaryTables),
    ("Lock_tables_priv", Privilege::LockTables),
    ("Create_view_priv", Privilege::CreateView),
    ("Show_view_priv", Privilege::ShowView),
    ("Create_routine_priv", Privilege::CreateRoutine),
    ("Alter_routine_priv", Privilege::AlterRoutine),
    ("Execute_priv", Privilege::Execute),
    ("Event_priv", Privilege::Event),
    ("Trigger_priv", Privilege::Trigger),
];

/// The members of `tables_priv.Table_priv`, in MySQL's order.
const TABLE_PRIVILEGES: [(&str, Privilege); 13] = [
    ("Select", Privilege::Select),
    ("Insert", Privilege::Insert),
    ("Update", Privilege::Update),
    ("Delete", Privilege::Delete),
    ("Create", Privilege::Create),
    ("Drop", Privilege::Drop),
    ("Grant", Privilege::GrantOption),
    ("References", Privilege::References),
    ("Index", Privilege::Index),
    ("Alter", Privilege::Alter),
    ("Create View", Privilege::CreateView),
    ("Show view", Privilege::ShowView),
    ("Trigger", Privilege::Trigger),
];

fn text(name: &str, len: u32) -> ColumnDef {
    ColumnDef::new(name, SqlType::Varchar { len }, false, Collation::Utf8mb4_0900Bin)
}

fn host(name: &str) -> ColumnDef {
    ColumnDef::new(name, SqlType::Varchar { len: MAX_HOST as u32 }, false, Collation::AsciiGeneralCi)
}

fn no_or_yes(name: &str) -> ColumnDef {
    let members = Members::new(["N", "Y"], Collation::Utf8mb3GeneralCi);
    ColumnDef::new(name, SqlType::Enum(members.into()), false, Collation::Utf8mb3GeneralCi)
}

fn nullable(column: ColumnDef) -> ColumnDef {
    ColumnDef { nullable: true, ..column }
}

fn table(name: &str, columns: Vec<ColumnDef>, key: &[&str]) -> TableSpec {
    TableSpec {
        database: SYSTEM_DATABASE.into(),
        name: name.into(),
        columns,
        indexes: vec![IndexSpec {
            kind: IndexSpecKind::Primary,
            parts: key.iter().map(|column| IndexSpecPart::new(*column)).collect(),
            ..IndexSpec::default()
        }],
        ..TableSpec::default()
    }
}

fn user_table(name: &str) -> TableSpec {
    let of = |privileges: &[(&str, Privilege)]| -> Vec<ColumnDef> {
        privileges.iter().map(|(name, _)| no_or_yes(name)).collect()
    };
    let moment = ColumnDef::new(
        "password_last_changed",
        SqlType::DateTime { fsp: 0 },
        true,
        Collation::Utf8mb3GeneralCi,
    );
    let number = |name: &str| ColumnDef::new(name, SqlType::Int { unsigned: true }, true, Collation::Binary);
    let mut columns = vec![host("Host"), text("User", MAX_USER as u32)];
    columns.extend(of(&USER_PRIVILEGES));
    columns.extend([text("plugin", 64), nullable(text("authentication_string", 255))]);
    columns.extend([no_or_yes("password_expired"), moment, number("password_lifetime")]);
    columns.push(no_or_yes("account_locked"));
    columns.extend(of(&ROLE_PRIVILEGES));
    table(name, columns, &["Host", "User"])
}

fn database_table() -> TableSpec {
    let mut columns = vec![host("Host"), text("Db", 64), text("User", MAX_USER as u32)];
    columns.extend(DATABASE_PRIVILEGES.iter().map(|(name, _)| no_or_yes(name)));
    table(DATABASES, columns, &["Host", "User", "Db"])
}

fn tables_table() -> TableSpec {
    let members = Members::new(TABLE_PRIVILEGES.map(|(name, _)| name), Collation::Utf8mb3GeneralCi);
    let privileges =
        ColumnDef::new("Table_priv", SqlType::Set(members.into()), false, Collation::Utf8mb3GeneralCi);
    let moment = ColumnDef::new("Timestamp", SqlType::DateTime { fsp: 0 }, true, Collation::Utf8mb3GeneralCi);
    let columns = vec![
        host("Host"),
        text("Db", 64),
        text("User", MAX_USER as u32),
        text("Table_name", 64),
        text("Grantor", 288),
        moment,
        privileges,
    ];
    table(TABLES, columns, &["Host", "User", "Db", "Table_name"])
}

fn dynamic_table() -> TableSpec {
    let columns =
        vec![text("USER", MAX_USER as u32), host("HOST"), text("PRIV", 32), no_or_yes("WITH_GRANT_OPTION")];
    table(DYNAMIC, columns, &["USER", "HOST", "PRIV"])
}

type Row = Vec<Value>;

fn string(value: &str) -> Value {
    Value::string(value)
}

/// The number of N or Y.
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

/// A moment, to the second.
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
    row.extend([string(plugin), string(&secret), choice(account.expired), seconds(account.changed)]);
    row.extend([if account.never_expires { Value::UInt(0) } else { Value::Null }, choice(account.locked)]);
    row.extend(choices(&ROLE_PRIVILEGES, account.global));
    row
}

fn account(row: &[Value]) -> Option<(AccountId, Account)> {
    let (names, rest) = row.split_at_checked(2)?;
    let (privileges, rest) = rest.split_at_checked(USER_PRIVILEGES.len())?;
    let [plugin, secret, expired, changed, lifetime, locked, roles @ ..] = rest else { return None };
    let id = AccountId::new(names.get(1)?.as_str()?, names.first()?.as_str()?);
    let account = Account {
        secret: stored_secret(plugin.as_str()?, secret.as_str()),
        locked: is_yes(Some(locked)),
        expired: is_yes(Some(expired)),
        never_expires: *lifetime == Value::UInt(0),
        changed: moment(Some(changed)),
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

/// The key of a row: the texts of these columns.
fn key_of(row: &[Value], columns: &[usize]) -> Vec<String> {
    let text = |column: &usize| row.get(*column).and_then(Value::as_str).unwrap_or_default().to_owned();
    columns.iter().map(text).collect()
}

/// A table, the columns of its key, and its rows by these.
type Wanted = (TableSpec, &'static [usize], BTreeMap<Vec<String>, Row>);

/// The rows of all tables.
fn rows_of(set: &AccountSet) -> [Wanted; 4] {
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
    [
        wanted(user_table(USER), &[0, 1], users),
        wanted(dynamic_table(), &[0, 1, 2], dynamic),
        wanted(database_table(), &[0, 1, 2], databases.collect()),
        wanted(tables_table(), &[0, 1, 2, 3], tables.collect()),
    ]
}

/// Makes what is on disk say what `set` says, by one transaction. A table that is not there is made with its rows, by itself.
///
/// # Errors
/// What the engine returns; nothing has been changed then.
pub(super) fn write(engine: &Arc<Engine>, set: &AccountSet) -> Result<(), MysqlError> {
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
    let mut transaction = engine.begin(Isolation::RepeatableRead, TxnMode::ReadWrite);
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

/// What is on disk, brought into the form of today. `None` if there is no table of accounts.
///
/// # Errors
/// What the engine returns.
pub(super) fn read(engine: &Arc<Engine>) -> Result<Option<AccountSet>, MysqlError> {
    finish_upgrade(engine)?;
    if engine.catalog().table(SYSTEM_DATABASE, USER).is_none() {
        return Ok(None);
    }
    if engine.table(SYSTEM_DATABASE, USER)?.columns.len() == OUTDATED_COLUMNS {
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
    if engine.catalog().table(SYSTEM_DATABASE, DYNAMIC).is_none() {
        complete(engine, &mut set)?;
    }
    Ok(Some(set))
}

/// The tables were not all made, before there were privileges or a crash: who may do everything that is static may do what is dynamic, too.
fn complete(engine: &Arc<Engine>, set: &mut AccountSet) -> Result<(), MysqlError> {
    let all = Privileges::STATIC | Privilege::GrantOption;
    for account in set.accounts.values_mut().filter(|account| account.global.has_all(all)) {
        account.global |= Privileges::DYNAMIC;
        account.grantable = Privileges::DYNAMIC;
    }
    write(engine, set)
}

fn unreadable(table: &str) -> MysqlError {
    MysqlError::unknown_error(format_args!("a row of mysql.{table} cannot be understood"))
}

/// The rows of a table; none if it is not there.
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
    // What an account has that is lost is lost, too.
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

/// Whether nothing was ever made in the database; a crash may have come between the making of the database `mysql` and of its tables.
pub(super) fn is_new(engine: &Engine) -> bool {
    let catalog = engine.catalog();
    catalog.databases().all(|database| database.name == SYSTEM_DATABASE)
        && catalog.tables(SYSTEM_DATABASE).next().is_none()
}

/// Makes the tables of a new database: that of accounts with its first rows, so that a crash leaves both or none.
///
/// # Errors
/// What the engine returns.
pub(super) fn make(engine: &Arc<Engine>, set: &AccountSet) -> Result<(), MysqlError> {
    let users: Vec<Row> = set.accounts.iter().map(|(id, account)| user_row(id, account)).collect();
    system_table::make(engine, &user_table(USER), &users)?;
    write(engine, set)
}

/// What a crash has left of an upgrade.
fn finish_upgrade(engine: &Arc<Engine>) -> Result<(), MysqlError> {
    for left in [UPGRADED, OUTDATED] {
        engine.drop_table(SYSTEM_DATABASE, left, true)?;
    }
    Ok(())
}

/// Brings a table of accounts of before there were privileges into the form of today. Its accounts may do everything.
fn upgrade(engine: &Arc<Engine>) -> Result<(), MysqlError> {
    let outdated = engine.table(SYSTEM_DATABASE, USER)?;
    let mut set = AccountSet::default();
    for (_, row) in system_table::rows(engine, &outdated)? {
        let [host, user, plugin, secret] = &row[..] else { return Err(unreadable(USER)) };
        let (Some(host), Some(user), Some(plugin)) = (host.as_str(), user.as_str(), plugin.as_str()) else {
            return Err(unreadable(USER));
        };
        let account = Account {
            secret: stored_secret(plugin, secret.as_str()),
            ..Accounts::administrator(AuthPlugin::default())
        };
        set.accounts.insert(AccountId::new(user, host), account);
    }
    let users: Vec<Row> = set.accounts.iter().map(|(id, account)| user_row(id, account)).collect();
    system_table::make(engine, &user_table(UPGRADED), &users)?;
    let name = |name| (SYSTEM_DATABASE, name);
    engine.rename_tables(&[(name(USER), name(OUTDATED)), (name(UPGRADED), name(USER))], true)?;
    engine.drop_table(SYSTEM_DATABASE, OUTDATED, true)?;
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
            let row = user_row(&id, &written);
            assert_eq!(row.len(), user_table(USER).columns.len());
            assert_eq!(account(&row), Some((id.clone(), written.clone())));
        }
        let mut row = user_row(&id, &written);
        row[2 + USER_PRIVILEGES.len() + 1] = Value::string("*12");
        let (_, read) = account(&row).unwrap();
        assert_eq!(read.secret, Secret::Unreadable("mysql_native_password".into(), "*12".into()));
        assert_eq!(user_row(&id, &read), row, "what is not understood is kept");
        assert_eq!(account(&row[..5]), None);
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
