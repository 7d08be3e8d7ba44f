//! The column lists of GRANT and REVOKE.
//!
//! An account may grant a privilege on a column that it has on the column or on the table, if it has GRANT OPTION on the table. A
//! privilege that is revoked on a table is revoked on its columns, too.

use super::users::this_second;
use crate::accounts::set::{AccountSet, ColumnGrant, TableKey};
use crate::accounts::{Access, AccountId};
use crate::session::Session;
use leafline_planner::Authority;
use leafline_syntax::ast::PrivilegeList;
use leafline_syntax::{Privilege, Privileges};
use leafline_types::MysqlError;
use std::collections::BTreeMap;

/// A database and a table, where a statement names one.
type Table<'t> = Option<(&'t str, &'t str)>;

/// The columns that a statement names, in its order, with the privileges on each.
pub(super) struct NamedColumns {
    columns: Vec<(String, Privileges)>,
}

impl NamedColumns {
    /// The columns in a list of privileges.
    pub(super) fn of(list: &PrivilegeList) -> NamedColumns {
        let mut columns: Vec<(String, Privileges)> = Vec::new();
        let PrivilegeList::These(list) = list else { return NamedColumns { columns } };
        for named in list {
            for column in &named.columns {
                match columns.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(&column.value)) {
                    Some((_, privileges)) => *privileges |= named.privilege.into(),
                    None => columns.push((column.value.clone(), named.privilege.into())),
                }
            }
        }
        NamedColumns { columns }
    }

    /// The union of the privileges.
    pub(super) fn privileges(&self) -> Privileges {
        self.columns.iter().fold(Privileges::NONE, |all, (_, privileges)| all | *privileges)
    }

    /// Gives the columns the names that they have in the definition of the table or view.
    ///
    /// # Errors
    /// 1054 for a column that is not there, 1146 for a table that is not there.
    pub(super) fn defined(mut self, session: &Session, table: Table<'_>) -> Result<NamedColumns, MysqlError> {
        let Some((database, table)) = table.filter(|_| !self.columns.is_empty()) else { return Ok(self) };
        let catalog = session.instance.engine().catalog();
        let known: Vec<&str> = match (catalog.table(database, table), catalog.view(database, table)) {
            (Some(found), _) => found.named_columns().map(|(_, column)| column.name.as_str()).collect(),
            (None, Some(view)) => view.columns.iter().map(String::as_str).collect(),
            (None, None) => return Err(MysqlError::no_such_table(database, table)),
        };
        for (name, _) in &mut self.columns {
            match known.iter().find(|known| known.eq_ignore_ascii_case(name)) {
                Some(known) => *name = (*known).to_owned(),
                None => return Err(MysqlError::unknown_column(name, table)),
            }
        }
        Ok(self)
    }

    /// Checks that the session has each of the privileges somewhere on the table.
    ///
    /// # Errors
    /// 1142.
    pub(super) fn check_some(&self, access: &Access, table: Table<'_>) -> Result<(), MysqlError> {
        let Some((database, table)) = table else { return Ok(()) };
        let missing = self.privileges() - access.rights_on(database, table).somewhere();
        if missing.is_empty() { Ok(()) } else { Err(access.table_denied(&missing.to_string(), table)) }
    }

    /// Checks that the session has the privileges on the columns.
    ///
    /// # Errors
    /// 1143.
    pub(super) fn check(&self, access: &Access, table: Table<'_>) -> Result<(), MysqlError> {
        let Some((database, table)) = table else { return Ok(()) };
        let rights = access.rights_on(database, table);
        let missing = |(name, privileges): &(String, Privileges)| -> Option<(String, Privilege)> {
            let missing = *privileges - rights.on_column(name);
            missing.iter().next().map(|privilege| (name.clone(), privilege))
        };
        match self.columns.iter().find_map(missing) {
            Some((column, privilege)) => Err(access.column_denied(privilege, &column, table)),
            None => Ok(()),
        }
    }

    /// Adds the privileges to an account.
    pub(super) fn add(&self, set: &mut AccountSet, session: &Session, (id, table): (&AccountId, Table<'_>)) {
        let Some((database, table)) = table.filter(|_| !self.columns.is_empty()) else { return };
        let columns = set.columns.entry((id.clone(), database.to_owned(), table.to_owned())).or_default();
        for (name, privileges) in &self.columns {
            let key = name.to_ascii_lowercase();
            let before = columns.get(&key).map_or(Privileges::NONE, |grant| grant.privileges);
            let privileges = before | *privileges;
            columns
                .insert(key, ColumnGrant { name: name.clone(), privileges, granted: this_second(session) });
        }
    }

    /// Removes the privileges from an account.
    ///
    /// # Errors
    /// 1147 for a column on which the account has no privilege.
    pub(super) fn take(
        &self,
        set: &mut AccountSet,
        (id, table): (&AccountId, Table<'_>),
    ) -> Result<(), MysqlError> {
        let Some((database, table)) = table.filter(|_| !self.columns.is_empty()) else { return Ok(()) };
        let key = (id.clone(), database.to_owned(), table.to_owned());
        let wanted: BTreeMap<String, Privileges> =
            self.columns.iter().map(|(name, privileges)| (name.to_ascii_lowercase(), *privileges)).collect();
        let known = |name: &String| set.columns.get(&key).is_some_and(|columns| columns.contains_key(name));
        if !wanted.keys().all(known) {
            return Err(MysqlError::no_such_table_grant(&id.user, &id.host, table));
        }
        take_from_columns(set, &key, |name| wanted.get(name).copied().unwrap_or_default());
        Ok(())
    }
}

/// Removes from each column of a table the privileges that `gone` says, by the column's name in lower case.
pub(super) fn take_from_columns(set: &mut AccountSet, key: &TableKey, gone: impl Fn(&str) -> Privileges) {
    let Some(columns) = set.columns.get_mut(key) else { return };
    columns.retain(|name, grant| {
        grant.privileges = grant.privileges - gone(name);
        !grant.privileges.is_empty()
    });
    if columns.is_empty() {
        set.columns.remove(key);
    }
}
