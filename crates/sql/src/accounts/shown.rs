//! What is told of accounts: SHOW GRANTS, SHOW CREATE USER, and the tables of privileges of information_schema.

use super::set::{Account, AccountSet, Secret};
use super::users::account_of;
use super::{Privilege, Privileges};
use crate::result::RowSet;
use crate::session::Session;
use leafline_syntax::AccountId;
use leafline_syntax::ast::AccountName;
use leafline_syntax::quoted;
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

/// `GRANT .. ON .. TO ..`; `all` is what ALL PRIVILEGES stands for there, if it is said.
fn grant(granted: Privileges, all: Option<Privileges>, on: &str, id: &AccountId) -> Value {
    let option = match granted.has(Privilege::GrantOption) {
        true => " WITH GRANT OPTION",
        false => "",
    };
    let granted = granted.without(Privilege::GrantOption);
    let what = match granted.is_empty() {
        true => "USAGE".to_owned(),
        false if all == Some(granted) => "ALL PRIVILEGES".to_owned(),
        false => granted.to_string(),
    };
    Value::string(format!("GRANT {what} ON {on} TO {}{option}", id.backquoted()))
}

/// SHOW GRANTS; `None`: of the session's own account.
///
/// # Errors
/// 1141 if there is no such account.
pub(crate) fn grants(session: &Session, account: Option<&AccountName>) -> Result<RowSet, MysqlError> {
    let access = &session.access;
    let id = account.map_or_else(|| access.account(), |name| account_of(access, name));
    let set = session.instance.accounts().set();
    let known = set.accounts.get(&id).ok_or_else(|| MysqlError::no_such_grant(&id.user, &id.host))?;
    let mut rows = RowSet::new([(format!("Grants for {}", id.plain()), SqlType::Varchar { len: 1024 })]);
    rows.push(vec![grant(known.global - Privileges::DYNAMIC, None, "*.*", &id)]);
    let dynamic = known.global & Privileges::DYNAMIC;
    for (granted, option) in
        [(dynamic - known.grantable, ""), (dynamic & known.grantable, " WITH GRANT OPTION")]
    {
        if !granted.is_empty() {
            let names = granted.to_string().replace(", ", ",");
            rows.push(vec![Value::string(format!("GRANT {names} ON *.* TO {}{option}", id.backquoted()))]);
        }
    }
    for ((_, pattern), granted) in set.databases.iter().filter(|((of, _), _)| *of == id) {
        let on = format!("{}.*", quoted(pattern));
        rows.push(vec![grant(*granted, Some(Privileges::OF_DATABASES), &on, &id)]);
    }
    for ((_, database, table), granted) in set.tables.iter().filter(|((of, ..), _)| *of == id) {
        let on = format!("{}.{}", quoted(database), quoted(table));
        rows.push(vec![grant(granted.privileges, Some(Privileges::OF_TABLES), &on, &id)]);
    }
    Ok(rows)
}

/// SHOW CREATE USER.
///
/// # Errors
/// 1396 if there is no such account.
pub(crate) fn create_user(session: &Session, account: &AccountName) -> Result<RowSet, MysqlError> {
    let id = account_of(&session.access, account);
    let set = session.instance.accounts().set();
    let known = set.accounts.get(&id).ok_or_else(|| MysqlError::cannot_user("SHOW CREATE USER", &id))?;
    let heading = format!("CREATE USER for {}", id.plain());
    let mut rows = RowSet::new([(heading, SqlType::Varchar { len: 16_383 })]);
    rows.push(vec![Value::string(user_statement(&id, known))]);
    Ok(rows)
}

fn user_statement(id: &AccountId, account: &Account) -> String {
    let (plugin, stored) = match &account.secret {
        Secret::Password(password) => (password.plugin().name(), password.authentication_string()),
        Secret::Unreadable(plugin, stored) => (plugin.as_str(), stored.clone()),
    };
    let stored = match stored.is_empty() {
        true => String::new(),
        false => format!(" AS '{}'", stored.replace('\\', r"\\").replace('\'', "''")),
    };
    let expiry = match (account.expired, account.never_expires) {
        (true, _) => "EXPIRE",
        (false, true) => "EXPIRE NEVER",
        (false, false) => "EXPIRE DEFAULT",
    };
    let lock = if account.locked { "LOCK" } else { "UNLOCK" };
    let required = if account.requires_tls { "SSL" } else { "NONE" };
    let limits = match account.max_user_connections {
        0 => String::new(),
        most => format!(" WITH MAX_USER_CONNECTIONS {most}"),
    };
    format!(
        "CREATE USER {} IDENTIFIED WITH '{plugin}'{stored} REQUIRE {required}{limits} PASSWORD {expiry} ACCOUNT {lock} PASSWORD \
         HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT",
        id.backquoted()
    )
}

/// The accounts, and those of them that a session may know of: all if it may read the tables that they are in, else its own.
fn seen(session: &Session) -> (Arc<AccountSet>, impl Fn(&AccountId) -> bool + use<>) {
    let all = session.access.on_database("mysql").has(Privilege::Select);
    let own = session.access.account();
    (session.instance.accounts().set(), move |id: &AccountId| all || *id == own)
}

fn text(value: &str) -> Value {
    Value::string(value)
}

fn yes_no(yes: bool) -> Value {
    text(if yes { "YES" } else { "NO" })
}

const CATALOG: &str = "def";

/// A row each of a set, or one for USAGE: whose, of what, which, and whether it may be granted.
fn rows_of(
    id: &AccountId,
    of: &[&str],
    granted: Privileges,
    grantable: impl Fn(Privilege) -> bool,
) -> Vec<Vec<Value>> {
    let row = |name: &str, grantable: bool| -> Vec<Value> {
        let mut row = vec![text(&id.to_string()), text(CATALOG)];
        row.extend(of.iter().map(|name| text(name)));
        row.extend([text(name), yes_no(grantable)]);
        row
    };
    let without_option = granted.without(Privilege::GrantOption);
    if without_option.is_empty() {
        return vec![row("USAGE", granted.has(Privilege::GrantOption))];
    }
    without_option.iter().map(|privilege| row(privilege.name(), grantable(privilege))).collect()
}

/// `information_schema.USER_PRIVILEGES`.
pub(crate) fn user_privileges(session: &Session) -> Vec<Vec<Value>> {
    let (set, is_seen) = seen(session);
    let known = set.accounts.iter().filter(|(id, _)| is_seen(id));
    let rows = known.flat_map(|(id, account)| {
        let option = account.global.has(Privilege::GrantOption);
        rows_of(id, &[], account.global, |privilege| match Privileges::DYNAMIC.has(privilege) {
            true => account.grantable.has(privilege),
            false => option,
        })
    });
    rows.collect()
}

/// `information_schema.SCHEMA_PRIVILEGES`.
pub(crate) fn database_privileges(session: &Session) -> Vec<Vec<Value>> {
    let (set, is_seen) = seen(session);
    let known = set.databases.iter().filter(|((id, _), _)| is_seen(id));
    let rows = known.flat_map(|((id, pattern), granted)| {
        rows_of(id, &[pattern], *granted, |_| granted.has(Privilege::GrantOption))
    });
    rows.collect()
}

/// `information_schema.TABLE_PRIVILEGES`.
pub(crate) fn table_privileges(session: &Session) -> Vec<Vec<Value>> {
    let (set, is_seen) = seen(session);
    let known = set.tables.iter().filter(|((id, ..), _)| is_seen(id));
    let rows = known.flat_map(|((id, database, table), grant)| {
        let option = grant.privileges.has(Privilege::GrantOption);
        rows_of(id, &[database, table], grant.privileges, |_| option)
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::password::{AuthPlugin, StoredPassword};

    #[test]
    fn grants_and_accounts_are_told_as_mysql_tells_them() {
        let id = AccountId::new("a`b", "192.0.2.%");
        let shown =
            |granted: Privileges, all, on: &str| grant(granted, all, on, &id).as_str().map(str::to_owned);
        let expected = "GRANT USAGE ON *.* TO `a``b`@`192.0.2.%`";
        assert_eq!(shown(Privileges::NONE, None, "*.*").as_deref(), Some(expected));
        let all = Privileges::OF_TABLES;
        let expected = "GRANT ALL PRIVILEGES ON `d`.`t` TO `a``b`@`192.0.2.%` WITH GRANT OPTION";
        assert_eq!(shown(all | Privilege::GrantOption, Some(all), "`d`.`t`").as_deref(), Some(expected));
        let mut account = Account::new(StoredPassword::new(AuthPlugin::Native, "secret").unwrap());
        account.locked = true;
        (account.requires_tls, account.max_user_connections) = (true, 3);
        assert_eq!(
            user_statement(&id, &account),
            "CREATE USER `a``b`@`192.0.2.%` IDENTIFIED WITH 'mysql_native_password' AS \
             '*14E65567ABDB5135D0CFD9A70B3032C179A49EE7' REQUIRE SSL WITH MAX_USER_CONNECTIONS 3 PASSWORD EXPIRE DEFAULT ACCOUNT LOCK PASSWORD HISTORY \
             DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT"
        );
    }
}
