//! The rows of `USER_PRIVILEGES`, `SCHEMA_PRIVILEGES`, `TABLE_PRIVILEGES` and `COLUMN_PRIVILEGES`.

use super::{CATALOG, SystemView, text, yes_no};
use crate::accounts::set::AccountSet;
use crate::accounts::{Privilege, Privileges};
use leafline_planner::Authority;
use leafline_syntax::AccountId;
use leafline_types::Value;
use std::sync::Arc;

/// The accounts, and a test for the ones that the session may see: all accounts if it may read the grant
/// tables, otherwise its own.
fn seen(system: &SystemView<'_>) -> (Arc<AccountSet>, impl Fn(&AccountId) -> bool + use<>) {
    let all = system.access.on_database("mysql").has(Privilege::Select);
    let own = system.access.account();
    (system.instance.accounts().set(), move |id: &AccountId| all || *id == own)
}

/// A row for each privilege of a set, or one for USAGE: grantee, object, privilege, and whether it may be
/// granted.
fn rows_of(
    id: &AccountId,
    of: &[&str],
    granted: Privileges,
    grantable: impl Fn(Privilege) -> bool,
) -> Vec<Vec<Value>> {
    let row = |name: &str, grantable: bool| -> Vec<Value> {
        let mut row = vec![text(id.to_string().as_str()), text(CATALOG)];
        row.extend(of.iter().map(|name| text(*name)));
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
pub(super) fn user_privileges(system: &SystemView<'_>) -> Vec<Vec<Value>> {
    let (set, is_seen) = seen(system);
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
pub(super) fn database_privileges(system: &SystemView<'_>) -> Vec<Vec<Value>> {
    let (set, is_seen) = seen(system);
    let known = set.databases.iter().filter(|((id, _), _)| is_seen(id));
    let rows = known.flat_map(|((id, pattern), granted)| {
        rows_of(id, &[pattern], *granted, |_| granted.has(Privilege::GrantOption))
    });
    rows.collect()
}

/// `information_schema.TABLE_PRIVILEGES`.
pub(super) fn table_privileges(system: &SystemView<'_>) -> Vec<Vec<Value>> {
    let (set, is_seen) = seen(system);
    let known = set.tables.iter().filter(|((id, ..), _)| is_seen(id));
    // An account with privileges on columns has no row for USAGE.
    let known = known.filter(|(key, grant)| {
        grant.privileges != Privilege::GrantOption.into() || !set.columns.contains_key(*key)
    });
    let rows = known.flat_map(|((id, database, table), grant)| {
        let option = grant.privileges.has(Privilege::GrantOption);
        rows_of(id, &[database, table], grant.privileges, |_| option)
    });
    rows.collect()
}

/// `information_schema.COLUMN_PRIVILEGES`: of each account and table, by privilege and column.
pub(super) fn column_privileges(system: &SystemView<'_>) -> Vec<Vec<Value>> {
    let (set, is_seen) = seen(system);
    let mut rows = Vec::new();
    for (key @ (id, database, table), columns) in set.columns.iter().filter(|((id, ..), _)| is_seen(id)) {
        let of_table = set.tables.get(key).map_or(Privileges::NONE, |grant| grant.privileges);
        for privilege in Privileges::OF_COLUMNS.iter() {
            for grant in columns.values().filter(|grant| grant.privileges.has(privilege)) {
                let mut row = vec![text(id.to_string().as_str()), text(CATALOG)];
                row.extend([database, table, &grant.name].map(|name| text(name.as_str())));
                row.extend([text(privilege.name()), yes_no(of_table.has(Privilege::GrantOption))]);
                rows.push(row);
            }
        }
    }
    rows
}
