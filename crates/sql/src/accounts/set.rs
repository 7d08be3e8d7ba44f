//! The accounts and their grants at one moment.
//!
//! A set never changes: a statement that changes accounts makes a new set, writes it, and then replaces the
//! old one. A session keeps its set until its next statement.

use super::host::{ClientHost, HostPattern};
use super::password::StoredPassword;
use super::password_rules::{OldPassword, PasswordRules};
use super::restrictions::Restrictions;
use super::roles::{RoleGraph, RoleRules};
use super::usage::HourlyLimits;
use leafline_planner::TableRights;
use leafline_syntax::AccountId;
use leafline_syntax::Privileges;
use leafline_syntax::ast::TlsRequirement;
use leafline_types::DateTime;
use leafline_types::words::ProgramKind;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The password of an account, or a stored one that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Secret {
    Password(StoredPassword),
    /// Plugin and text of a row that Leafline does not understand; nobody can log in with it.
    Unreadable(String, String),
}

/// An account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Account {
    pub(crate) secret: Secret,
    /// ACCOUNT LOCK.
    pub(crate) locked: bool,
    /// PASSWORD EXPIRE.
    pub(crate) expired: bool,
    /// Rules for its passwords and logins.
    pub(crate) rules: PasswordRules,
    /// When the password was changed last, in UTC.
    pub(crate) changed: Option<DateTime>,
    /// REQUIRE.
    pub(crate) requirement: TlsRequirement,
    /// Limits per hour.
    pub(crate) limits: HourlyLimits,
    /// WITH MAX_USER_CONNECTIONS; 0 for any number.
    pub(crate) max_user_connections: u32,
    /// Privileges on everything, including GRANT OPTION of the static ones.
    pub(crate) global: Privileges,
    /// Dynamic privileges that the account may grant.
    pub(crate) grantable: Privileges,
    /// Partial revokes.
    pub(crate) restrictions: Restrictions,
}

impl Account {
    pub(crate) fn new(password: StoredPassword) -> Account {
        Account {
            secret: Secret::Password(password),
            locked: false,
            expired: false,
            rules: PasswordRules::default(),
            changed: None,
            requirement: TlsRequirement::None,
            limits: HourlyLimits::default(),
            max_user_connections: 0,
            global: Privileges::NONE,
            grantable: Privileges::NONE,
            restrictions: Restrictions::default(),
        }
    }
}

/// Privileges on a table or routine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TableGrant {
    pub(crate) privileges: Privileges,
    pub(crate) grantor: String,
    /// Time of the grant, in UTC.
    pub(crate) granted: Option<DateTime>,
}

/// Privileges on a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ColumnGrant {
    /// The column's name as in the table's definition.
    pub(crate) name: String,
    pub(crate) privileges: Privileges,
    /// Time of the grant, in UTC.
    pub(crate) granted: Option<DateTime>,
}

/// Privileges on columns of a table, by the columns' names in lower case; none of them is empty.
pub(crate) type ColumnGrants = BTreeMap<String, ColumnGrant>;

/// The grantee and a database pattern.
pub(crate) type DatabaseKey = (AccountId, String);
/// The grantee, a database and a table.
pub(crate) type TableKey = (AccountId, String, String);

/// Kind, database and name, in lower case, of a routine.
pub(crate) type RoutineName = (ProgramKind, String, String);
/// The grantee and a routine.
pub(crate) type RoutineKey = (AccountId, RoutineName);

/// The name by which grants on a routine are kept.
pub(crate) fn routine_name(kind: ProgramKind, database: &str, name: &str) -> RoutineName {
    (kind, database.to_owned(), name.to_lowercase())
}

/// Privileges at every level.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Granted {
    pub(crate) global: Privileges,
    /// Dynamic privileges that may be granted on.
    pub(crate) grantable: Privileges,
    /// Partial revokes.
    pub(crate) restrictions: Restrictions,
    /// By pattern.
    pub(crate) databases: BTreeMap<String, Privileges>,
    pub(crate) tables: BTreeMap<(String, String), Privileges>,
    /// By table and by the column's name.
    pub(crate) columns: BTreeMap<(String, String), BTreeMap<String, Privileges>>,
    pub(crate) routines: BTreeMap<RoutineName, Privileges>,
}

/// The accounts.
#[derive(Clone, Default, Debug)]
pub(crate) struct AccountSet {
    pub(crate) accounts: BTreeMap<AccountId, Account>,
    pub(crate) databases: BTreeMap<DatabaseKey, Privileges>,
    pub(crate) tables: BTreeMap<TableKey, TableGrant>,
    pub(crate) columns: BTreeMap<TableKey, ColumnGrants>,
    pub(crate) routines: BTreeMap<RoutineKey, TableGrant>,
    /// Granted and default roles.
    pub(crate) roles: RoleGraph,
    /// Earlier passwords that may not be used again yet, the newest first.
    pub(crate) history: BTreeMap<AccountId, Vec<OldPassword>>,
    /// Dropped accounts, each with the version of the first set without it. A session admitted before that
    /// version has no part in a new account of the same name.
    pub(crate) ended: BTreeMap<AccountId, u64>,
    /// Why no login is possible, because the stored accounts cannot be read, and the remedy.
    pub(crate) damage: Option<String>,
}

/// Orders host patterns, the more specific first.
fn more_specific(a: &str, b: &str) -> Ordering {
    HostPattern::new(a).rank().cmp(&HostPattern::new(b).rank()).then_with(|| a.cmp(b))
}

impl AccountSet {
    /// The account that a client logs in as: the one with the most specific host, and among accounts of one
    /// host the named one before the anonymous one.
    pub(crate) fn account_for(&self, user: &str, client: &ClientHost) -> Option<(&AccountId, &Account)> {
        let is_for = |id: &&AccountId| {
            (id.user == user || id.user.is_empty()) && HostPattern::new(&id.host).matches(client)
        };
        let found = self.accounts.keys().filter(is_for);
        let found = found.min_by(|a, b| {
            more_specific(&a.host, &b.host).then_with(|| a.user.is_empty().cmp(&b.user.is_empty()))
        })?;
        self.accounts.get_key_value(found)
    }

    /// The account whose privileges a view with definer `named` has: the account of that name, or else the
    /// one that `named` would log in as if it has the same user. Dumps name accounts of other servers.
    pub(crate) fn definer<'d>(&'d self, named: &'d AccountId) -> Option<&'d AccountId> {
        if self.accounts.contains_key(named) {
            return Some(named);
        }
        let found = self.account_for(&named.user, &ClientHost::new(&named.host));
        found.map(|(id, _)| id).filter(|id| id.user == named.user)
    }

    /// Database grants of a client logged in as `user`: patterns, the more specific first. As in MySQL the
    /// hosts of grants are compared with the client's host, whichever account it logged in as.
    pub(crate) fn databases_for(&self, user: &str, client: &ClientHost) -> Vec<(String, Privileges)> {
        let is_for = |id: &AccountId| id.user == user && HostPattern::new(&id.host).matches(client);
        let found = self.databases.iter().filter(|((id, _), _)| is_for(id));
        let mut found: Vec<_> = found.collect();
        found.sort_by(|((a, first), _), ((b, second), _)| {
            let specific = pattern_rank(first).cmp(&pattern_rank(second));
            more_specific(&a.host, &b.host).then(specific).then_with(|| first.cmp(second))
        });
        found.into_iter().map(|((_, pattern), privileges)| (pattern.clone(), *privileges)).collect()
    }

    /// The rights on tables and columns of a client logged in as `user`, by database and table.
    pub(crate) fn tables_for(
        &self,
        user: &str,
        client: &ClientHost,
    ) -> BTreeMap<(String, String), TableRights> {
        let mut found: BTreeMap<(String, String), (&AccountId, TableRights)> = BTreeMap::new();
        for (id, database, table) in self.tables.keys().chain(self.columns.keys()) {
            if id.user != user || !HostPattern::new(&id.host).matches(client) {
                continue;
            }
            let key = (database.clone(), table.clone());
            let known = found.get(&key);
            if known.is_none_or(|(of, _)| more_specific(&id.host, &of.host) == Ordering::Less) {
                let rights = self.table_rights((id.clone(), database.clone(), table.clone()));
                found.insert(key, (id, rights));
            }
        }
        found.into_iter().map(|(key, (_, rights))| (key, rights)).collect()
    }

    /// The rights of exactly one account on a table and its columns.
    fn table_rights(&self, key: TableKey) -> TableRights {
        let whole = self.tables.get(&key).map_or(Privileges::NONE, |grant| grant.privileges);
        let mut rights = TableRights::from(whole);
        for grant in self.columns.get(&key).into_iter().flat_map(BTreeMap::values) {
            rights.add_column(&grant.name, grant.privileges);
        }
        rights
    }

    /// Grants on routines of a client logged in as `user`.
    pub(crate) fn routines_for(&self, user: &str, client: &ClientHost) -> BTreeMap<RoutineName, Privileges> {
        let mut found: BTreeMap<RoutineName, (&str, Privileges)> = BTreeMap::new();
        for ((id, routine), grant) in &self.routines {
            if id.user != user || !HostPattern::new(&id.host).matches(client) {
                continue;
            }
            let known = found.get(routine);
            if known.is_none_or(|(host, _)| more_specific(&id.host, host) == Ordering::Less) {
                found.insert(routine.clone(), (&id.host, grant.privileges));
            }
        }
        found.into_iter().map(|(routine, (_, privileges))| (routine, privileges)).collect()
    }

    /// Grants on routines of exactly this account.
    pub(crate) fn routines_of(&self, account: &AccountId) -> BTreeMap<RoutineName, Privileges> {
        let found = self.routines.iter().filter(|((id, _), _)| id == account);
        found.map(|((_, routine), grant)| (routine.clone(), grant.privileges)).collect()
    }

    /// Database grants of exactly this account: patterns, the more specific first.
    pub(crate) fn databases_of(&self, account: &AccountId) -> Vec<(String, Privileges)> {
        let found = self.databases.iter().filter(|((id, _), _)| id == account);
        let mut found: Vec<_> = found.map(|((_, pattern), granted)| (pattern.clone(), *granted)).collect();
        found.sort_by(|(a, _), (b, _)| pattern_rank(a).cmp(&pattern_rank(b)).then_with(|| a.cmp(b)));
        found
    }

    /// The rights on tables and columns of exactly this account, by database and table.
    pub(crate) fn tables_of(&self, account: &AccountId) -> BTreeMap<(String, String), TableRights> {
        let keys = self.tables.keys().chain(self.columns.keys()).filter(|(id, ..)| id == account);
        let named = |key: &TableKey| {
            let (_, database, table) = key.clone();
            ((database, table), self.table_rights(key.clone()))
        };
        keys.map(named).collect()
    }

    /// The roles that are granted to an account directly or to all accounts.
    pub(crate) fn roles_of(&self, account: &AccountId, rules: &RoleRules) -> Vec<AccountId> {
        let own = self.roles.of(account).map(|grant| grant.role);
        let mandatory = rules.mandatory.iter().filter(|role| *role != account);
        let mut all: Vec<AccountId> =
            own.chain(mandatory).filter(|role| self.accounts.contains_key(*role)).cloned().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether a session of the account may activate a role.
    pub(crate) fn may_activate(&self, role: &AccountId, account: &AccountId, rules: &RoleRules) -> bool {
        self.accounts.contains_key(role)
            && (self.roles.is_granted(role, account) || rules.mandatory.contains(role))
    }

    /// The union of all grants of exactly these accounts.
    pub(crate) fn granted_to(&self, ids: &BTreeSet<AccountId>) -> Granted {
        let mut all = Granted::default();
        for account in ids.iter().filter_map(|id| self.accounts.get(id)) {
            all.restrictions = Restrictions::united(
                (all.global, &all.restrictions),
                (account.global, &account.restrictions),
            );
            all.global |= account.global;
            all.grantable |= account.grantable;
        }
        for ((_, pattern), granted) in self.databases.iter().filter(|((id, _), _)| ids.contains(id)) {
            *all.databases.entry(pattern.clone()).or_default() |= *granted;
        }
        for ((_, database, table), grant) in self.tables.iter().filter(|((id, ..), _)| ids.contains(id)) {
            *all.tables.entry((database.clone(), table.clone())).or_default() |= grant.privileges;
        }
        for ((_, database, table), grants) in self.columns.iter().filter(|((id, ..), _)| ids.contains(id)) {
            let columns = all.columns.entry((database.clone(), table.clone())).or_default();
            for grant in grants.values() {
                *columns.entry(grant.name.clone()).or_default() |= grant.privileges;
            }
        }
        for ((_, routine), grant) in self.routines.iter().filter(|((id, _), _)| ids.contains(id)) {
            *all.routines.entry(routine.clone()).or_default() |= grant.privileges;
        }
        all
    }

    /// Renames an account, in its grants as well.
    pub(crate) fn rename(&mut self, from: &AccountId, to: &AccountId) {
        if let Some(account) = self.accounts.remove(from) {
            self.accounts.insert(to.clone(), account);
        }
        self.roles.rename(from, to);
        if let Some(history) = self.history.remove(from) {
            self.history.insert(to.clone(), history);
        }
        let other = |id: AccountId| if id == *from { to.clone() } else { id };
        let databases = std::mem::take(&mut self.databases).into_iter();
        self.databases =
            databases.map(|((id, database), granted)| ((other(id), database), granted)).collect();
        let tables = std::mem::take(&mut self.tables).into_iter();
        self.tables =
            tables.map(|((id, database, table), granted)| ((other(id), database, table), granted)).collect();
        let columns = std::mem::take(&mut self.columns).into_iter();
        self.columns =
            columns.map(|((id, database, table), grants)| ((other(id), database, table), grants)).collect();
        let routines = std::mem::take(&mut self.routines).into_iter();
        self.routines = routines.map(|((id, routine), granted)| ((other(id), routine), granted)).collect();
    }

    /// Removes an account and its grants.
    pub(crate) fn remove(&mut self, id: &AccountId) {
        self.accounts.remove(id);
        self.roles.remove(id);
        self.history.remove(id);
        self.databases.retain(|(of, _), _| of != id);
        self.tables.retain(|(of, ..), _| of != id);
        self.columns.retain(|(of, ..), _| of != id);
        self.routines.retain(|(of, _), _| of != id);
    }
}

/// The name that a pattern without wildcards matches; `None` for a pattern with wildcards.
pub(crate) fn literal_name(pattern: &str) -> Option<String> {
    if pattern_rank(pattern).0 {
        return None;
    }
    let mut name = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        name.push(match character {
            '\\' => characters.next().unwrap_or('\\'),
            other => other,
        });
    }
    Some(name)
}

/// Rank of a pattern; a lower rank is more specific. Names come before patterns, and patterns with a later
/// first wildcard before others.
fn pattern_rank(pattern: &str) -> (bool, usize) {
    let mut escaped = false;
    for (at, character) in pattern.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '%' | '_' => return (true, usize::MAX - at),
            _ => {}
        }
    }
    (false, 0)
}

#[cfg(test)]
mod tests {
    use super::super::password::AuthPlugin;
    use super::*;
    use crate::accounts::Privilege;

    fn set(accounts: &[(&str, &str)]) -> AccountSet {
        let account = Account::new(StoredPassword::none(AuthPlugin::default()));
        let accounts = accounts.iter().map(|(user, host)| (AccountId::new(*user, *host), account.clone()));
        AccountSet { accounts: accounts.collect(), ..AccountSet::default() }
    }

    #[test]
    fn the_most_specific_account_lets_in() {
        let known =
            [("joe", "%"), ("joe", "192.0.2.%"), ("", "localhost"), ("joe", "192.0.2.1"), ("ann", "%")];
        let set = set(&known);
        for (user, client, expected) in [
            ("joe", "192.0.2.1", Some(("joe", "192.0.2.1"))),
            ("joe", "192.0.2.9", Some(("joe", "192.0.2.%"))),
            ("joe", "198.51.100.1", Some(("joe", "%"))),
            // As in MySQL, the host decides before the user.
            ("joe", "localhost", Some(("", "localhost"))),
            ("eve", "127.0.0.1", Some(("", "localhost"))),
            ("eve", "192.0.2.1", None),
            ("Ann", "192.0.2.1", None),
        ] {
            let found = set.account_for(user, &ClientHost::new(client)).map(|(id, _)| id.clone());
            assert_eq!(found, expected.map(|(user, host)| AccountId::new(user, host)), "{user} {client}");
        }
    }

    #[test]
    fn grants_are_found_by_where_the_client_is() {
        let mut set = set(&[("joe", "%")]);
        let grant = |set: &mut AccountSet, host: &str, pattern: &str, privilege: Privilege| {
            set.databases.insert((AccountId::new("joe", host), pattern.into()), privilege.into());
        };
        grant(&mut set, "%", "d%", Privilege::Insert);
        grant(&mut set, "%", r"d\_x", Privilege::Select);
        grant(&mut set, "192.0.2.%", "%", Privilege::Delete);
        let of = |client: &str| -> Vec<String> {
            let found = set.databases_for("joe", &ClientHost::new(client));
            found.into_iter().map(|(pattern, _)| pattern).collect()
        };
        assert_eq!(of("192.0.2.1"), ["%", r"d\_x", "d%"]);
        assert_eq!(of("localhost"), [r"d\_x", "d%"]);
    }

    #[test]
    fn who_is_renamed_keeps_what_is_granted_and_who_is_removed_loses_it() {
        let mut set = set(&[("joe", "%")]);
        let (joe, ann) = (AccountId::new("joe", "%"), AccountId::new("ann", "%"));
        set.databases.insert((joe.clone(), "d".into()), Privilege::Select.into());
        let grant = TableGrant { privileges: Privilege::Drop.into(), grantor: String::new(), granted: None };
        set.tables.insert((joe.clone(), "d".into(), "t".into()), grant);
        set.rename(&joe, &ann);
        assert!(set.accounts.contains_key(&ann) && !set.accounts.contains_key(&joe));
        assert!(
            set.databases.keys().all(|(of, _)| *of == ann) && set.tables.keys().all(|(of, ..)| *of == ann)
        );
        set.remove(&ann);
        assert!(set.accounts.is_empty() && set.databases.is_empty() && set.tables.is_empty());
    }
}
