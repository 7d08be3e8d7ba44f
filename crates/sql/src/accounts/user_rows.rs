//! The rows of `mysql.user` and `mysql.password_history`.

use super::Accounts;
use super::attributes;
use super::grant_tables::{ROLE_PRIVILEGES, RULE_COLUMNS, TRANSPORT_COLUMNS, USER_PRIVILEGES};
use super::password::{AuthPlugin, StoredPassword};
use super::password_rules::{OldPassword, PasswordRules};
use super::requirement;
use super::restrictions::Restrictions;
use super::row_values::{Row, choice, choices, granted, is_yes, moment, seconds, string};
use super::set::{Account, AccountSet, Secret};
use super::usage::HourlyLimits;
use leafline_syntax::AccountId;
use leafline_types::{DateTime, Value};

pub(super) fn user_row(id: &AccountId, account: &Account) -> Row {
    let (plugin, secret) = match &account.secret {
        Secret::Password(password) => (password.plugin().name(), password.authentication_string()),
        Secret::Unreadable(plugin, secret) => (plugin.as_str(), secret.clone()),
    };
    let mut row = vec![string(&id.host), string(&id.user)];
    row.extend(choices(&USER_PRIVILEGES, account.global));
    row.extend(transport_values(account));
    row.extend([string(plugin), string(&secret), choice(account.expired), seconds(account.changed)]);
    row.extend([number(account.rules.lifetime), choice(account.locked)]);
    row.extend(choices(&ROLE_PRIVILEGES, account.global));
    row.extend(rule_values(&account.rules, &account.restrictions));
    row
}

/// Number of columns of the current form and of the one before.
const COLUMNS: usize = 2 + USER_PRIVILEGES.len() + TRANSPORT_COLUMNS + COLUMNS_BEHIND + RULE_COLUMNS;

/// Number of columns behind the privileges in the form without TLS and limits.
const COLUMNS_BEHIND: usize = 6 + ROLE_PRIVILEGES.len();

fn number(number: Option<u16>) -> Value {
    number.map_or(Value::Null, |number| Value::UInt(number.into()))
}

/// Values of the columns of TLS and limits.
fn transport_values(account: &Account) -> [Value; TRANSPORT_COLUMNS] {
    let HourlyLimits { queries, updates, connections } = account.limits;
    let [queries, updates, connections, sessions] =
        [queries, updates, connections, account.max_user_connections].map(|limit| Value::UInt(limit.into()));
    let [transport, cipher, issuer, subject] = requirement::values(&account.requirement);
    [transport, cipher, issuer, subject, queries, updates, connections, sessions]
}

/// Values of the columns of rules for passwords, and of the attributes.
fn rule_values(rules: &PasswordRules, restrictions: &Restrictions) -> [Value; RULE_COLUMNS] {
    let current = rules.require_current.map_or(Value::Null, choice);
    [number(rules.history), number(rules.reuse_days), current, attributes::document(rules, restrictions)]
}

/// Reads the rules for passwords, and the restrictions.
fn read_rules(lifetime: &Value, row: &[Value]) -> Option<(PasswordRules, Restrictions)> {
    let [history, days, current, document] = row else { return None };
    let number = |value: &Value| match value {
        Value::UInt(number) => u16::try_from(*number).ok().map(Some),
        Value::Null => Some(None),
        _ => None,
    };
    let mut rules = PasswordRules {
        lifetime: number(lifetime)?,
        history: number(history)?,
        reuse_days: number(days)?,
        require_current: (*current != Value::Null).then(|| is_yes(Some(current))),
        ..PasswordRules::default()
    };
    let restrictions = attributes::read(document, &mut rules)?;
    Some((rules, restrictions))
}

pub(super) fn account(row: &[Value]) -> Option<(AccountId, Account)> {
    let (names, rest) = row.split_at_checked(2)?;
    let (privileges, rest) = rest.split_at_checked(USER_PRIVILEGES.len())?;
    let (transport, rest) = rest.split_at_checked(TRANSPORT_COLUMNS)?;
    let [plugin, secret, expired, changed, lifetime, locked, rest @ ..] = rest else { return None };
    let (roles, rules) = rest.split_at_checked(ROLE_PRIVILEGES.len())?;
    let id = AccountId::new(names.get(1)?.as_str()?, names.first()?.as_str()?);
    let (demands, limits) = transport.split_at_checked(4)?;
    let limit = |at: usize| match limits.get(at) {
        Some(Value::UInt(limit)) => u32::try_from(*limit).ok(),
        _ => None,
    };
    let (rules, restrictions) = read_rules(lifetime, rules)?;
    let account = Account {
        secret: stored_secret(plugin.as_str()?, secret.as_str()),
        locked: is_yes(Some(locked)),
        expired: is_yes(Some(expired)),
        rules,
        changed: moment(Some(changed)),
        requirement: requirement::read(demands)?,
        limits: HourlyLimits { queries: limit(0)?, updates: limit(1)?, connections: limit(2)? },
        max_user_connections: limit(3)?,
        global: granted(&USER_PRIVILEGES, privileges) | granted(&ROLE_PRIVILEGES, roles),
        grantable: leafline_syntax::Privileges::NONE,
        restrictions,
    };
    Some((id, account))
}

/// The account in a row of an older form.
pub(super) fn account_of_before(row: &[Value]) -> Option<(AccountId, Account)> {
    if let [host, user, plugin, secret] = row {
        let secret = stored_secret(plugin.as_str()?, secret.as_str());
        let account = Account { secret, ..Accounts::administrator(AuthPlugin::default()) };
        return Some((AccountId::new(user.as_str()?, host.as_str()?), account));
    }
    if row.len() == COLUMNS {
        return account(row);
    }
    let nobody = Account::new(StoredPassword::none(AuthPlugin::default()));
    let (before, behind) = row.split_at_checked(2 + USER_PRIVILEGES.len())?;
    let mut row = before.to_vec();
    if behind.len() == COLUMNS_BEHIND {
        row.extend(transport_values(&nobody));
    }
    row.extend_from_slice(behind);
    row.extend(rule_values(&nobody.rules, &nobody.restrictions));
    account(&row)
}

fn stored_secret(plugin: &str, secret: Option<&str>) -> Secret {
    let parsed = AuthPlugin::from_name(plugin).zip(secret);
    match parsed.and_then(|(plugin, secret)| StoredPassword::parse(plugin, secret)) {
        Some(password) => Secret::Password(password),
        None => Secret::Unreadable(plugin.into(), secret.unwrap_or_default().into()),
    }
}

/// The rows of `password_history`.
pub(super) fn history_rows(set: &AccountSet) -> Vec<Row> {
    let row = |id: &AccountId, old: &OldPassword| {
        vec![string(&id.host), string(&id.user), Value::DateTime(old.set), string(&old.stored)]
    };
    set.history.iter().flat_map(|(id, history)| history.iter().map(move |old| row(id, old))).collect()
}

/// Adds a row of `password_history`; `None` if it cannot be understood.
pub(super) fn read_history(set: &mut AccountSet, row: &[Value]) -> Option<()> {
    let [host, user, Value::DateTime(moment), stored] = row else { return None };
    let id = AccountId::new(user.as_str()?, host.as_str()?);
    let old = OldPassword { set: *moment, stored: stored.as_str()?.to_owned() };
    let history = set.history.entry(id).or_default();
    let newer = |known: &OldPassword| -> bool { later(known.set, old.set) };
    let at = history.iter().position(|known| !newer(known)).unwrap_or(history.len());
    history.insert(at, old);
    Some(())
}

fn later(a: DateTime, b: DateTime) -> bool {
    a.epoch_micros() > b.epoch_micros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_syntax::ast::{LockTime, TlsRequirement};
    use leafline_syntax::{Privilege, Privileges};

    #[test]
    fn an_account_reads_back_as_written() {
        let password = StoredPassword::new(AuthPlugin::Native, "secret").unwrap();
        let id = AccountId::new("joe", "192.0.2.%");
        let mut written = Account::new(password);
        written.global = Privileges::STATIC | Privilege::GrantOption;
        for (locked, expired, lifetime) in
            [(true, false, None), (false, true, Some(9)), (false, false, Some(0))]
        {
            (written.locked, written.expired, written.rules.lifetime) = (locked, expired, lifetime);
            written.limits = HourlyLimits { queries: 1, updates: 2, connections: u32::from(locked) };
            (written.rules.history, written.rules.require_current) = (lifetime, Some(locked));
            written.rules.failed_logins = u16::from(locked);
            written.rules.lock_time = if expired { LockTime::Unbounded } else { LockTime::Days(0) };
            written.restrictions = Restrictions::default();
            if expired {
                written.restrictions.add("d", Privilege::Select.into());
            }
            written.max_user_connections = u32::from(expired);
            written.requirement = if locked { TlsRequirement::Certificate } else { TlsRequirement::None };
            let row = user_row(&id, &written);
            assert_eq!(row.len(), super::super::grant_tables::user_table("user").columns.len());
            assert_eq!(account(&row), Some((id.clone(), written.clone())));
        }
        let mut row = user_row(&id, &written);
        row[2 + USER_PRIVILEGES.len() + TRANSPORT_COLUMNS + 1] = Value::string("*12");
        let (_, read) = account(&row).unwrap();
        assert_eq!(read.secret, Secret::Unreadable("mysql_native_password".into(), "*12".into()));
        assert_eq!(user_row(&id, &read), row, "what is not understood is kept");
        assert_eq!(account(&row[..5]), None);
        row[50] = Value::string("{\"comment\": \"x\"}");
        assert_eq!(account(&row), None, "attributes are not kept");
    }

    #[test]
    fn accounts_of_older_forms_are_what_they_were() {
        let id = AccountId::new("joe", "%");
        let mut written = Account::new(StoredPassword::new(AuthPlugin::Native, "secret").unwrap());
        written.global = Privileges::of(Privilege::Select) | Privilege::DropRole;
        written.locked = true;
        let mut row = user_row(&id, &written);
        assert_eq!(row.len(), 51);
        row.truncate(47);
        assert_eq!(account_of_before(&row), Some((id.clone(), written.clone())));
        row.drain(2 + USER_PRIVILEGES.len()..2 + USER_PRIVILEGES.len() + TRANSPORT_COLUMNS);
        assert_eq!(account_of_before(&row), Some((id.clone(), written)));
        let stored = StoredPassword::new(AuthPlugin::Native, "secret").unwrap().authentication_string();
        let first = ["%", "joe", "mysql_native_password", &stored].map(Value::string);
        let (found, account) = account_of_before(&first).unwrap();
        assert_eq!((found, account.global), (id, Privileges::EVERYTHING));
        assert_eq!(account_of_before(&first[..3]), None);
    }
}
