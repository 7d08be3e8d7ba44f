//! The tables and views that a planned statement uses.

use crate::accounts::Privilege;
use crate::plans::TableUse;
use crate::plans::Work;
use crate::session::Session;
use crate::system_table::SYSTEM_DATABASE;
use leafline_planner::Authority;
use leafline_planner::bound::{BoundKind, BoundSubquery, OnDuplicate, tables_of};
use leafline_table::{LockStrength, TableDef, TableId};
use leafline_types::MysqlError;

impl Work {
    /// Returns whether the statement changes rows of a table that other sessions know.
    pub(super) fn changes_shared_tables(&self) -> bool {
        match self {
            Work::Insert { insert, .. } => !insert.table.is_private,
            Work::Update { update, .. } => update.targets.iter().any(|target| !target.table.is_private),
            Work::Delete { delete, .. } => delete.targets.iter().any(|target| !target.table.is_private),
            // EXPLAIN ANALYZE runs queries alone.
            Work::Select { .. } | Work::Into { .. } | Work::Explain { .. } => false,
        }
    }
}

impl Session {
    /// Returns the tables and views that a statement uses, and the row counts of the tables that it reads.
    pub(super) fn tables_used(
        &self,
        bound: &BoundKind,
        subqueries: &[BoundSubquery],
        views: &[(String, String)],
    ) -> (Vec<TableUse>, Vec<(TableId, u64)>) {
        let (mut uses, mut sizes) = (Vec::new(), Vec::new());
        tables_of(bound, subqueries, &mut |table, relation| {
            sizes.push((table.id, self.instance.engine().row_count(table.id)));
            let strength = relation.lock.map(|lock| lock.strength);
            uses.extend(TableUse::new(&self.locks, table, Some(&relation.alias), strength));
        });
        self.uses_of_changes(bound, &mut uses);
        uses.extend(views.iter().map(|(database, name)| TableUse::of_view(&self.locks, database, name)));
        (uses, sizes)
    }

    /// Returns the use of a table that is read under this name.
    pub(super) fn use_of(&self, table: &TableDef, alias: &str) -> Option<TableUse> {
        TableUse::new(&self.locks, table, Some(alias), None)
    }

    /// Returns whether the session may see the plan of a statement. A plan shows the tables of views, which takes SHOW VIEW on each
    /// view and SELECT on the tables that it reads.
    ///
    /// # Errors
    /// 1345 if the session may not, and the plan is to be `shown`.
    pub(super) fn check_explained(
        &self,
        shown: bool,
        (bound, subqueries, views): (&BoundKind, &[BoundSubquery], &[(String, String)]),
    ) -> Result<bool, MysqlError> {
        if views.is_empty() || self.login.access.is_unlimited() {
            return Ok(true);
        }
        let wanted = Privilege::Select | Privilege::ShowView;
        let mut may =
            views.iter().all(|(database, name)| self.login.access.on_table(database, name).has_all(wanted));
        tables_of(bound, subqueries, &mut |table, _| {
            let granted = self.login.access.on_table(&table.database, &table.name);
            may &= table.is_private || granted.has(Privilege::Select);
        });
        if shown && !may { Err(MysqlError::view_not_explainable()) } else { Ok(may) }
    }

    /// Error 1290 for a change of a table that other sessions know, if the server is read-only.
    pub(super) fn check_server_access(&self, work: &Work) -> Result<(), MysqlError> {
        if work.changes_shared_tables() { self.check_server_writable() } else { Ok(()) }
    }

    /// Adds the tables that a statement changes, and the tables that foreign keys connect with them.
    fn uses_of_changes(&self, bound: &BoundKind, uses: &mut Vec<TableUse>) {
        let (target, foreign) = match bound {
            BoundKind::Select(_) => (None, None),
            BoundKind::Insert(insert) => (Some((&insert.table, &insert.alias)), Some(&insert.foreign)),
            BoundKind::Update(update) => (None, Some(&update.foreign)),
            BoundKind::Delete(delete) => (None, Some(&delete.foreign)),
        };
        if let Some((table, alias)) = target {
            uses.extend(TableUse::new(&self.locks, table, Some(alias), Some(LockStrength::Update)));
        }
        for references in foreign.into_iter().flat_map(|foreign| foreign.tables.values()) {
            for (parent, ..) in references.parents.iter().filter_map(|reference| reference.parent.as_ref()) {
                uses.extend(TableUse::new(&self.locks, parent, None, None));
            }
            for child in &references.children {
                uses.extend(TableUse::new(&self.locks, &child.child, None, Some(LockStrength::Update)));
            }
        }
    }

    /// Refuses changes of the server's own tables, because such rows might not be readable. An INSERT of a dump passes; it replaces
    /// existing rows.
    pub(super) fn refuse_system_table(&self, bound: &mut BoundKind) -> Result<(), MysqlError> {
        let (command, tables): (_, Vec<_>) = match bound {
            BoundKind::Select(_) => return Ok(()),
            BoundKind::Insert(insert)
                if insert.table.database == SYSTEM_DATABASE && self.restores_accounts(insert) =>
            {
                insert.on_duplicate = OnDuplicate::Replace;
                return Ok(());
            }
            BoundKind::Insert(insert) => ("INSERT", vec![&insert.table]),
            BoundKind::Update(update) => {
                ("UPDATE", update.targets.iter().map(|target| &target.table).collect())
            }
            BoundKind::Delete(delete) => {
                ("DELETE", delete.targets.iter().map(|target| &target.table).collect())
            }
        };
        match tables.iter().find(|table| table.database == SYSTEM_DATABASE) {
            Some(table) => {
                let (user, host) = (&self.entry.user, &self.entry.host);
                Err(MysqlError::table_access_denied(command, user, host, &table.name))
            }
            None => Ok(()),
        }
    }
}
