//! Roles: the graph of who is granted which account as a role, and the rules that system variables set.
//!
//! A role is a locked account. GRANT refuses circles, but rows of a dump may form them: [`RoleGraph::reached`] visits each account
//! once. Granted roles do nothing until a session activates them; then the account has the privileges of the roles, of the roles
//! granted to these, and so on.

use leafline_syntax::AccountId;
use leafline_syntax::LexMode;
use leafline_syntax::ast::{AccountName, RoleSelection, RoleStatement, StatementKind};
use std::collections::{BTreeMap, BTreeSet};

/// The roles of a session when its rights are computed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Active<'r> {
    /// The roles that a login activates.
    AtLogin,
    /// These, as far as they are granted.
    These(&'r [AccountId]),
}

/// The rules about roles and grants that system variables set.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct RoleRules {
    /// `mandatory_roles`: granted to every account.
    pub(crate) mandatory: Vec<AccountId>,
    /// `activate_all_roles_on_login`.
    pub(crate) activates_all: bool,
    /// Names of databases in grants are no patterns (`partial_revokes`).
    pub(crate) names_are_literal: bool,
}

/// Parses the value of `mandatory_roles`; `None` if it is no list of roles.
pub(crate) fn mandatory_roles(text: &str) -> Option<Vec<AccountId>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let statement = leafline_syntax::parse(&format!("SET ROLE {text}"), LexMode::default()).ok()?;
    let StatementKind::Role(role) = statement.kind else { return None };
    match *role {
        RoleStatement::Set(RoleSelection::These(names)) => Some(names.iter().map(id_of).collect()),
        _ => None,
    }
}

/// The account that the name of a role means.
pub(crate) fn id_of(name: &AccountName) -> AccountId {
    AccountId::new(&name.user, &name.host)
}

/// Formats roles as CURRENT_ROLE() and SHOW GRANTS do.
pub(crate) fn listed<'r>(roles: impl IntoIterator<Item = &'r AccountId>) -> String {
    roles.into_iter().map(AccountId::backquoted).collect::<Vec<_>>().join(",")
}

/// A granted role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RoleGrant<'g> {
    pub(crate) role: &'g AccountId,
    pub(crate) grantee: &'g AccountId,
    /// WITH ADMIN OPTION.
    pub(crate) admin: bool,
}

/// The granted roles, and the default roles of accounts.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct RoleGraph {
    /// By grantee, the roles, each with whether the grantee may grant it on.
    granted: BTreeMap<AccountId, BTreeMap<AccountId, bool>>,
    defaults: BTreeMap<AccountId, BTreeSet<AccountId>>,
}

impl RoleGraph {
    /// Grants a role. An ADMIN OPTION granted before stays.
    pub(crate) fn grant(&mut self, role: &AccountId, grantee: &AccountId, admin: bool) {
        *self.granted.entry(grantee.clone()).or_default().entry(role.clone()).or_default() |= admin;
    }

    /// Revokes a role, also as a default role; false if it was not granted.
    pub(crate) fn revoke(&mut self, role: &AccountId, grantee: &AccountId) -> bool {
        let Some(roles) = self.granted.get_mut(grantee) else { return false };
        let was_granted = roles.remove(role).is_some();
        if roles.is_empty() {
            self.granted.remove(grantee);
        }
        if let Some(defaults) = self.defaults.get_mut(grantee) {
            defaults.remove(role);
            if defaults.is_empty() {
                self.defaults.remove(grantee);
            }
        }
        was_granted
    }

    /// All granted roles, by grantee.
    pub(crate) fn grants(&self) -> impl Iterator<Item = RoleGrant<'_>> {
        self.granted.iter().flat_map(|(grantee, roles)| {
            roles.iter().map(move |(role, admin)| RoleGrant { role, grantee, admin: *admin })
        })
    }

    /// The roles granted directly to an account.
    pub(crate) fn of(&self, grantee: &AccountId) -> impl Iterator<Item = RoleGrant<'_>> {
        let found = self.granted.get_key_value(grantee);
        found.into_iter().flat_map(|(grantee, roles)| {
            roles.iter().map(move |(role, admin)| RoleGrant { role, grantee, admin: *admin })
        })
    }

    /// Whether a role is granted directly to an account.
    pub(crate) fn is_granted(&self, role: &AccountId, grantee: &AccountId) -> bool {
        self.granted.get(grantee).is_some_and(|roles| roles.contains_key(role))
    }

    /// Whether `grantee` may grant and revoke the role.
    pub(crate) fn has_admin(&self, role: &AccountId, grantee: &AccountId) -> bool {
        self.granted.get(grantee).and_then(|roles| roles.get(role)).copied().unwrap_or_default()
    }

    /// Whether an account is granted to another.
    pub(crate) fn is_role(&self, id: &AccountId) -> bool {
        self.granted.values().any(|roles| roles.contains_key(id))
    }

    /// The accounts `from`, and all that are granted to them directly or through others.
    pub(crate) fn reached<'a>(&self, from: impl IntoIterator<Item = &'a AccountId>) -> BTreeSet<AccountId> {
        let mut reached: BTreeSet<AccountId> = from.into_iter().cloned().collect();
        let mut next: Vec<AccountId> = reached.iter().cloned().collect();
        while let Some(grantee) = next.pop() {
            for role in self.granted.get(&grantee).into_iter().flat_map(BTreeMap::keys) {
                if reached.insert(role.clone()) {
                    next.push(role.clone());
                }
            }
        }
        reached
    }

    /// The default roles of an account.
    pub(crate) fn defaults_of(&self, id: &AccountId) -> impl Iterator<Item = &AccountId> {
        self.defaults.get(id).into_iter().flatten()
    }

    /// The accounts that have default roles, each with one of them.
    pub(crate) fn defaults(&self) -> impl Iterator<Item = (&AccountId, &AccountId)> {
        self.defaults.iter().flat_map(|(id, roles)| roles.iter().map(move |role| (id, role)))
    }

    /// Replaces the default roles of an account.
    pub(crate) fn set_defaults(&mut self, id: &AccountId, roles: BTreeSet<AccountId>) {
        match roles.is_empty() {
            true => self.defaults.remove(id),
            false => self.defaults.insert(id.clone(), roles),
        };
    }

    /// Adds a default role.
    pub(crate) fn add_default(&mut self, id: &AccountId, role: &AccountId) {
        self.defaults.entry(id.clone()).or_default().insert(role.clone());
    }

    /// Renames a grantee.
    pub(crate) fn rename(&mut self, from: &AccountId, to: &AccountId) {
        if let Some(roles) = self.granted.remove(from) {
            self.granted.insert(to.clone(), roles);
        }
        if let Some(roles) = self.defaults.remove(from) {
            self.defaults.insert(to.clone(), roles);
        }
    }

    /// Removes an account, as a grantee and as a role.
    pub(crate) fn remove(&mut self, id: &AccountId) {
        self.granted.remove(id);
        self.defaults.remove(id);
        self.granted.retain(|_, roles| {
            roles.remove(id);
            !roles.is_empty()
        });
        self.defaults.retain(|_, roles| {
            roles.remove(id);
            !roles.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> AccountId {
        AccountId::new(name, "%")
    }

    #[test]
    fn circles_of_roles_end_and_dropped_roles_leave_nothing() {
        let mut graph = RoleGraph::default();
        for (role, grantee) in [("a", "u"), ("b", "a"), ("c", "b"), ("a", "c"), ("d", "d")] {
            graph.grant(&id(role), &id(grantee), false);
        }
        let reached = |graph: &RoleGraph, from: &str| -> String {
            graph.reached([&id(from)]).iter().map(|id| id.user.as_str()).collect()
        };
        assert_eq!(reached(&graph, "u"), "abcu");
        assert_eq!(reached(&graph, "b"), "abc");
        assert_eq!(reached(&graph, "d"), "d");
        graph.grant(&id("a"), &id("u"), true);
        graph.grant(&id("a"), &id("u"), false);
        assert!(graph.has_admin(&id("a"), &id("u")) && !graph.has_admin(&id("b"), &id("a")));
        graph.add_default(&id("u"), &id("a"));
        graph.remove(&id("a"));
        assert_eq!(reached(&graph, "u"), "u");
        assert!(graph.defaults().next().is_none() && !graph.is_role(&id("a")));
        assert!(graph.revoke(&id("c"), &id("b")) && !graph.revoke(&id("c"), &id("b")));
    }

    #[test]
    fn mandatory_roles_are_a_list_of_names() {
        let found = mandatory_roles("`a b`@`%.h`,c , 'd'@'localhost'").unwrap();
        assert_eq!(listed(&found), "`a b`@`%.h`,`c`@`%`,`d`@`localhost`");
        assert_eq!(mandatory_roles(" "), Some(Vec::new()));
        for wrong in ["a b", "NONE", "ALL EXCEPT a", "a,", "a; b"] {
            assert_eq!(mandatory_roles(wrong), None, "{wrong}");
        }
    }
}
