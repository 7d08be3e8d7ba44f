//! The views about roles: `APPLICABLE_ROLES`, `ADMINISTRABLE_ROLE_AUTHORIZATIONS`, `ENABLED_ROLES`, `ROLE_TABLE_GRANTS`,
//! `ROLE_COLUMN_GRANTS` and `ROLE_ROUTINE_GRANTS`. They show what concerns the session's own account.

use super::{CATALOG, Columns, Rows, SystemView, name_column, nullable_name, text, text_column, yes_no};
use crate::accounts::roles::RoleGrant;
use crate::accounts::set::TableGrant;
use crate::accounts::{Privilege, Privileges};
use leafline_planner::Authority;
use leafline_syntax::AccountId;
use leafline_types::{MysqlError, SqlType, Value};
use std::collections::BTreeSet;

/// The length of a host in MySQL's views.
const HOST: SqlType = SqlType::Varchar { len: 255 };

const GRANT_OPTION: Privileges = Privileges::of(Privilege::GrantOption);

pub(super) fn applicable_columns() -> Columns {
    vec![
        nullable_name("USER"),
        text_column("HOST", HOST),
        nullable_name("GRANTEE"),
        text_column("GRANTEE_HOST", HOST),
        nullable_name("ROLE_NAME"),
        text_column("ROLE_HOST", HOST),
        name_column("IS_GRANTABLE"),
        nullable_name("IS_DEFAULT"),
        name_column("IS_MANDATORY"),
    ]
}

/// A row for each role that the account has directly or through others.
fn applicable(system: &SystemView<'_>, only_grantable: bool) -> Rows {
    let (set, rules) = (system.instance.accounts().set(), system.instance.role_rules());
    let own = system.access.account();
    let defaults: BTreeSet<&AccountId> = set.roles.defaults_of(&own).collect();
    let mandatory = rules.mandatory.iter().filter(|role| set.accounts.contains_key(*role));
    let added = mandatory.clone().filter(|role| **role != own && !set.roles.is_granted(role, &own));
    let reached = set.roles.reached(mandatory.chain([&own]));
    let granted = set.roles.grants().filter(|grant| reached.contains(grant.grantee));
    let added = added.map(|role| RoleGrant { role, grantee: &own, admin: false });
    let row = |grant: RoleGrant<'_>| {
        let names = [
            &own.user,
            &own.host,
            &grant.grantee.user,
            &grant.grantee.host,
            &grant.role.user,
            &grant.role.host,
        ];
        let mut row: Vec<Value> = names.into_iter().map(|name| text(name.as_str())).collect();
        row.push(yes_no(grant.admin));
        row.push(yes_no(*grant.grantee == own && defaults.contains(grant.role)));
        row.push(yes_no(rules.mandatory.contains(grant.role)));
        row
    };
    granted.chain(added).filter(|grant| grant.admin || !only_grantable).map(row).collect()
}

pub(super) fn applicable_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    Ok(applicable(system, false))
}

pub(super) fn administrable_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    Ok(applicable(system, true))
}

pub(super) fn enabled_columns() -> Columns {
    vec![
        nullable_name("ROLE_NAME"),
        text_column("ROLE_HOST", HOST),
        nullable_name("IS_DEFAULT"),
        name_column("IS_MANDATORY"),
    ]
}

pub(super) fn enabled_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let (set, rules) = (system.instance.accounts().set(), system.instance.role_rules());
    let own = system.access.account();
    let row = |role: &AccountId| {
        let is_default = set.roles.defaults_of(&own).any(|default| default == role);
        let names = [text(role.user.as_str()), text(role.host.as_str())];
        [&names[..], &[yes_no(is_default), yes_no(rules.mandatory.contains(role))]].concat()
    };
    Ok(system.access.active_roles().iter().map(row).collect())
}

/// The accounts whose privileges the active roles give.
fn enabled(system: &SystemView<'_>) -> BTreeSet<AccountId> {
    system.instance.accounts().set().roles.reached(system.access.active_roles())
}

fn grant_columns(object: &[&str]) -> Columns {
    let mut columns = vec![
        nullable_name("GRANTOR"),
        text_column("GRANTOR_HOST", HOST),
        name_column("GRANTEE"),
        text_column("GRANTEE_HOST", HOST),
    ];
    columns.extend(object.iter().map(|name| name_column(name)));
    columns.push(text_column("PRIVILEGE_TYPE", SqlType::Varchar { len: 1024 }));
    columns.push(name_column("IS_GRANTABLE"));
    columns
}

pub(super) fn table_grant_columns() -> Columns {
    grant_columns(&["TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME"])
}

pub(super) fn column_grant_columns() -> Columns {
    grant_columns(&["TABLE_CATALOG", "TABLE_SCHEMA", "TABLE_NAME", "COLUMN_NAME"])
}

pub(super) fn routine_grant_columns() -> Columns {
    grant_columns(&[
        "SPECIFIC_CATALOG",
        "SPECIFIC_SCHEMA",
        "SPECIFIC_NAME",
        "ROUTINE_CATALOG",
        "ROUTINE_SCHEMA",
        "ROUTINE_NAME",
    ])
}

fn grant_row(id: &AccountId, object: &[&str], grant: &TableGrant) -> Vec<Value> {
    let (user, host) = grant.grantor.rsplit_once('@').unwrap_or((&grant.grantor, ""));
    let mut row: Vec<Value> = [user, host, &id.user, &id.host].into_iter().map(text).collect();
    row.extend(object.iter().map(|name| text(*name)));
    let granted: Privileges = grant.privileges.without(Privilege::GrantOption);
    row.push(text(granted.to_string().replace(", ", ",").as_str()));
    row.push(yes_no(grant.privileges.has(Privilege::GrantOption)));
    row
}

pub(super) fn table_grant_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let (set, enabled) = (system.instance.accounts().set(), enabled(system));
    let granted = set.tables.iter().filter(|((id, ..), _)| enabled.contains(id));
    Ok(granted
        .map(|((id, database, table), grant)| grant_row(id, &[CATALOG, database, table], grant))
        .collect())
}

/// Rows of `ROLE_COLUMN_GRANTS`. The grantor is known where privileges on the table were granted, too.
pub(super) fn column_grant_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let (set, enabled) = (system.instance.accounts().set(), enabled(system));
    let mut rows = Rows::new();
    for (key @ (id, database, table), grants) in &set.columns {
        if !enabled.contains(id) {
            continue;
        }
        let of_table = set.tables.get(key);
        let option = of_table.map_or(Privileges::NONE, |grant| grant.privileges & GRANT_OPTION);
        for column in grants.values() {
            let grant = TableGrant {
                privileges: column.privileges | option,
                grantor: of_table.map(|grant| grant.grantor.clone()).unwrap_or_default(),
                granted: column.granted,
            };
            rows.push(grant_row(id, &[CATALOG, database, table, &column.name], &grant));
        }
    }
    Ok(rows)
}

pub(super) fn routine_grant_rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let (set, enabled) = (system.instance.accounts().set(), enabled(system));
    let granted = set.routines.iter().filter(|((id, _), _)| enabled.contains(id));
    Ok(granted
        .map(|((id, (_, database, name)), grant)| {
            grant_row(id, &[CATALOG, database, name, CATALOG, database, name], grant)
        })
        .collect())
}
