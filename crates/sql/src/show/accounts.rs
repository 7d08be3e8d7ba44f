//! SHOW GRANTS and SHOW CREATE USER.

use crate::accounts::roles::{id_of, listed};
use crate::accounts::set::{Account, Granted, Secret};
use crate::accounts::{Privilege, Privileges};
use crate::result::RowSet;
use crate::session::Session;
use leafline_planner::Authority;
use leafline_syntax::AccountId;
use leafline_syntax::ast::{AccountName, LockTime, TlsRequirement};
use leafline_syntax::quoted;
use leafline_types::{MysqlError, SqlType, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Formats `GRANT .. ON .. TO ..`; `all` are the privileges that ALL PRIVILEGES means there, if it may be
/// shown.
fn grant(granted: Privileges, all: Option<Privileges>, on: &str, id: &AccountId) -> Value {
    let named = granted.without(Privilege::GrantOption);
    let what = match named.is_empty() {
        true => "USAGE".to_owned(),
        false if all == Some(named) => "ALL PRIVILEGES".to_owned(),
        false => named.to_string(),
    };
    grant_of(&what, granted, on, id)
}

fn grant_of(what: &str, granted: Privileges, on: &str, id: &AccountId) -> Value {
    let option = if granted.has(Privilege::GrantOption) { " WITH GRANT OPTION" } else { "" };
    Value::string(format!("GRANT {what} ON {on} TO {}{option}", id.backquoted()))
}

/// Formats privileges on a table and on columns of it.
fn with_columns(whole: Privileges, columns: &BTreeMap<String, Privileges>) -> String {
    let mut named = Vec::new();
    for privilege in Privileges::OF_TABLES.iter() {
        if whole.has(privilege) {
            named.push(privilege.name().to_owned());
        }
        let of = columns.iter().filter(|(_, privileges)| privileges.has(privilege));
        let of: Vec<String> = of.map(|(column, _)| quoted(column)).collect();
        if !of.is_empty() {
            named.push(format!("{} ({})", privilege.name(), of.join(", ")));
        }
    }
    named.join(", ")
}

/// SHOW GRANTS; `None` for the session's account. Privileges of the roles `using` are added, or of the active roles for the
/// session's own account.
///
/// # Errors
/// 1141 if there is no such account, 3530 for a role that is not granted to it.
pub(super) fn grants(
    session: &Session,
    account: Option<&AccountName>,
    using: &[AccountName],
) -> Result<RowSet, MysqlError> {
    let access = &session.login.access;
    let id = account.map_or_else(|| access.account(), |name| access.account_of(name));
    let (set, rules) = (session.instance.accounts().set(), session.instance.role_rules());
    if !set.accounts.contains_key(&id) {
        return Err(MysqlError::no_such_grant(&id.user, &id.host));
    }
    let mut roles: Vec<AccountId> = using.iter().map(id_of).collect();
    if let Some(role) = roles.iter().find(|role| !set.may_activate(role, &id, &rules)) {
        return Err(MysqlError::role_not_granted(role.backquoted(), id.backquoted()));
    }
    if roles.is_empty() && account.is_none_or(|account| account.current) {
        roles = access.active_roles().to_vec();
    }
    let mut of = set.roles.reached(&roles);
    of.insert(id.clone());
    let mut rows = RowSet::new([(format!("Grants for {}", id.plain()), SqlType::Varchar { len: 1024 })]);
    privilege_rows(&mut rows, &id, &set.granted_to(&of));
    let (with_admin, plain): (Vec<_>, Vec<_>) =
        set.roles_of(&id, &rules).into_iter().partition(|role| set.roles.has_admin(role, &id));
    for (roles, option) in [(plain, ""), (with_admin, " WITH ADMIN OPTION")] {
        if !roles.is_empty() {
            rows.push(vec![Value::string(format!(
                "GRANT {} TO {}{option}",
                listed(&roles),
                id.backquoted()
            ))]);
        }
    }
    Ok(rows)
}

/// Adds the rows of SHOW GRANTS about privileges.
fn privilege_rows(rows: &mut RowSet, id: &AccountId, granted: &Granted) {
    rows.push(vec![grant(granted.global - Privileges::DYNAMIC, None, "*.*", id)]);
    let dynamic = granted.global & Privileges::DYNAMIC;
    for (granted, option) in
        [(dynamic - granted.grantable, ""), (dynamic & granted.grantable, " WITH GRANT OPTION")]
    {
        if !granted.is_empty() {
            let names = granted.to_string().replace(", ", ",");
            rows.push(vec![Value::string(format!("GRANT {names} ON *.* TO {}{option}", id.backquoted()))]);
        }
    }
    for (pattern, granted) in &granted.databases {
        let on = format!("{}.*", quoted(pattern));
        rows.push(vec![grant(*granted, Some(Privileges::OF_DATABASES), &on, id)]);
    }
    for (database, missing) in granted.restrictions.iter() {
        let (database, account) = (quoted(database), id.backquoted());
        rows.push(vec![Value::string(format!("REVOKE {missing} ON {database}.* FROM {account}"))]);
    }
    let tables: BTreeSet<_> = granted.tables.keys().chain(granted.columns.keys()).collect();
    for key @ (database, table) in tables {
        let on = format!("{}.{}", quoted(database), quoted(table));
        let whole = granted.tables.get(key).copied().unwrap_or_default();
        rows.push(vec![match granted.columns.get(key) {
            None => grant(whole, Some(Privileges::OF_TABLES), &on, id),
            Some(columns) => grant_of(&with_columns(whole, columns), whole, &on, id),
        }]);
    }
    for ((kind, database, name), granted) in &granted.routines {
        let on = format!("{} {}.{}", kind.name(), quoted(database), quoted(name));
        rows.push(vec![grant(*granted, None, &on, id)]);
    }
}

/// SHOW CREATE USER.
///
/// # Errors
/// 1396 if there is no such account.
pub(super) fn create_user(session: &Session, account: &AccountName) -> Result<RowSet, MysqlError> {
    let id = session.login.access.account_of(account);
    let set = session.instance.accounts().set();
    let known = set.accounts.get(&id).ok_or_else(|| MysqlError::cannot_user("SHOW CREATE USER", &id))?;
    let heading = format!("CREATE USER for {}", id.plain());
    let mut rows = RowSet::new([(heading, SqlType::Varchar { len: 16_383 })]);
    rows.push(vec![Value::string(user_statement(&id, known, &listed(set.roles.defaults_of(&id))))]);
    Ok(rows)
}

/// Formats WITH and the limits of an account; nothing without any.
fn limits(account: &Account) -> String {
    let named = [
        ("MAX_QUERIES_PER_HOUR", account.limits.queries),
        ("MAX_UPDATES_PER_HOUR", account.limits.updates),
        ("MAX_CONNECTIONS_PER_HOUR", account.limits.connections),
        ("MAX_USER_CONNECTIONS", account.max_user_connections),
    ];
    let set = named.iter().filter(|(_, limit)| *limit > 0);
    let texts: Vec<String> = set.map(|(name, limit)| format!("{name} {limit}")).collect();
    if texts.is_empty() { String::new() } else { format!(" WITH {}", texts.join(" ")) }
}

/// Formats what REQUIRE demands.
fn requirement(requirement: &TlsRequirement) -> String {
    let TlsRequirement::These(demands) = requirement else {
        return match requirement {
            TlsRequirement::None => "NONE",
            TlsRequirement::Tls => "SSL",
            _ => "X509",
        }
        .to_owned();
    };
    let texts = [("SUBJECT", &demands.subject), ("ISSUER", &demands.issuer), ("CIPHER", &demands.cipher)];
    let text = |(name, text): &(&str, &Option<String>)| {
        text.as_ref().map(|text| format!("{name} '{}'", text.replace('\\', r"\\").replace('\'', "''")))
    };
    texts.iter().filter_map(text).collect::<Vec<_>>().join(" ")
}

fn user_statement(id: &AccountId, account: &Account, default_roles: &str) -> String {
    let roles = match default_roles {
        "" => String::new(),
        roles => format!(" DEFAULT ROLE {roles}"),
    };
    let (plugin, stored) = match &account.secret {
        Secret::Password(password) => (password.plugin().name(), password.authentication_string()),
        Secret::Unreadable(plugin, stored) => (plugin.as_str(), stored.clone()),
    };
    let stored = match stored.is_empty() {
        true => String::new(),
        false => format!(" AS '{}'", stored.replace('\\', r"\\").replace('\'', "''")),
    };
    let rules = &account.rules;
    let expiry = match (account.expired, rules.lifetime) {
        (true, _) => "EXPIRE".to_owned(),
        (false, Some(0)) => "EXPIRE NEVER".to_owned(),
        (false, Some(days)) => format!("EXPIRE INTERVAL {days} DAY"),
        (false, None) => "EXPIRE DEFAULT".to_owned(),
    };
    let lock = if account.locked { "LOCK" } else { "UNLOCK" };
    let required = requirement(&account.requirement);
    let limits = limits(account);
    let history = rules.history.map_or("DEFAULT".to_owned(), |history| history.to_string());
    let reuse = rules.reuse_days.map_or("DEFAULT".to_owned(), |days| format!("{days} DAY"));
    let current = match rules.require_current {
        None => " DEFAULT",
        Some(true) => "",
        Some(false) => " OPTIONAL",
    };
    let failures = match (rules.failed_logins, rules.lock_time) {
        (0, LockTime::Days(0)) => String::new(),
        (failures, LockTime::Days(days)) => {
            format!(" FAILED_LOGIN_ATTEMPTS {failures} PASSWORD_LOCK_TIME {days}")
        }
        (failures, LockTime::Unbounded) => {
            format!(" FAILED_LOGIN_ATTEMPTS {failures} PASSWORD_LOCK_TIME UNBOUNDED")
        }
    };
    format!(
        "CREATE USER {} IDENTIFIED WITH '{plugin}'{stored}{roles} REQUIRE {required}{limits} PASSWORD {expiry} ACCOUNT {lock} PASSWORD \
         HISTORY {history} PASSWORD REUSE INTERVAL {reuse} PASSWORD REQUIRE CURRENT{current}{failures}",
        id.backquoted()
    )
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
        (account.requirement, account.max_user_connections) = (TlsRequirement::Tls, 3);
        assert_eq!(
            user_statement(&id, &account, ""),
            "CREATE USER `a``b`@`192.0.2.%` IDENTIFIED WITH 'mysql_native_password' AS \
             '*14E65567ABDB5135D0CFD9A70B3032C179A49EE7' REQUIRE SSL WITH MAX_USER_CONNECTIONS 3 PASSWORD EXPIRE DEFAULT ACCOUNT LOCK PASSWORD HISTORY \
             DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT"
        );
    }
}
