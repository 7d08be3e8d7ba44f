//! Locks on the tables that a session's transaction uses, and LOCK TABLES.
//!
//! Binding a statement tells which tables it uses. Their use is then noted, which waits for DDL, and
//! afterwards the statement is checked to be bound to current definitions. Uses end with the transaction.

use super::Session;
use crate::information_schema;
use crate::plans::TableUse;
use leafline_planner::binder::view_sources;
use leafline_planner::bound::tables_of_query;
use leafline_syntax::ast::{TableLock, TableName};
use leafline_table::{
    Excluding, LockLimits, MetadataKey, MetadataMode, QualifiedName, SessionLocks, TableError,
};
use leafline_types::MysqlError;
use leafline_types::error::errno;
use std::sync::Arc;
use std::time::Duration;

/// The locks of LOCK TABLES or FLUSH TABLES WITH READ LOCK.
#[derive(Debug)]
pub(super) struct LockedTables {
    /// With LOCK TABLES, the usable tables: alias, table, and whether it may be written.
    only: Option<Vec<(String, MetadataKey, bool)>>,
    _excluding: Excluding,
}

/// Ends the uses of a statement that is a transaction of its own when its rows were read or given up.
#[derive(Debug)]
pub(crate) struct StatementUses(Arc<SessionLocks>);

impl Drop for StatementUses {
    fn drop(&mut self) {
        self.0.end_uses();
    }
}

impl Session {
    fn metadata_limits(&self) -> LockLimits {
        let timeout = Duration::from_secs(self.settings.metadata_lock_wait_timeout);
        LockLimits { timeout, cancel: self.cancel.clone() }
    }

    /// The name of a table in the catalog, rather than its alias in a statement.
    fn table_name(&self, used: &TableUse) -> String {
        let catalog = self.instance.engine().catalog();
        let mut tables = catalog.all_tables();
        let table = tables.find(|table| self.locks.table_key(&table.database, &table.name) == used.key);
        table.map(|table| table.name.clone()).or_else(|| used.alias.clone()).unwrap_or_default()
    }

    /// Notes the tables that a statement uses, and waits for sessions that change them.
    ///
    /// # Errors
    /// 1442 for a change of a table of the statement around; 1099, 1100 and 1223 under LOCK TABLES; 1205, 1213 (after a rollback of the transaction), 1317.
    pub(crate) fn use_tables(&mut self, uses: &[TableUse]) -> Result<(), MysqlError> {
        if let Some(locked) = &self.objects.locked_tables {
            uses.iter().try_for_each(|used| locked.allow(used))?;
        }
        let around = &self.statement.around;
        let is_named = |used: &&TableUse| used.writes && used.alias.is_some() && around.contains(&used.key);
        if let Some(used) = uses.iter().find(is_named) {
            return Err(MysqlError::table_used_around(self.table_name(used)));
        }
        let writes = uses.iter().any(|used| used.writes);
        let everything = writes.then(|| (self.locks.global_key(), true));
        let uses = everything.into_iter().chain(uses.iter().map(|used| (used.key, used.writes)));
        for (key, writes) in uses {
            if let Err(error) = self.locks.note_use(key, writes, || self.metadata_limits()) {
                let error = MysqlError::from(error);
                if error.code == errno::ER_LOCK_DEADLOCK {
                    self.rollback();
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Guard for the rows of a statement that is a transaction of its own.
    pub(crate) fn statement_uses(&self) -> Option<StatementUses> {
        (!self.in_transaction()).then(|| StatementUses(self.locks.clone()))
    }

    /// Ends the uses unless a transaction is open.
    pub(crate) fn end_uses(&self) {
        if !self.in_transaction() && !self.is_inner() {
            self.locks.end_uses();
        }
    }

    /// Excludes other sessions from the objects of a DDL statement, and waits for the ones that use them. The
    /// objects are the tables `changed`, each with the lock mode (`None`: used as before, until
    /// [`keep_away`](Self::keep_away)), the names that tables get, and databases that are created or dropped.
    /// The transaction has to have ended.
    ///
    /// # Errors
    /// 1099 and 1100 under LOCK TABLES, 1223; 1205, 1213, 1317.
    pub(crate) fn exclude(
        &mut self,
        changed: &[(&TableName, Option<MetadataMode>)],
        new_names: &[TableName],
        databases: &[&str],
    ) -> Result<Excluding, MysqlError> {
        let mut wanted = Vec::new();
        for (table, mode) in changed {
            let key = self.key_of(table)?;
            if let Some(locked) = &self.objects.locked_tables {
                let (alias, writes) = (Some(table.name.value.clone()), true);
                locked.allow(&TableUse { key, writes, alias })?;
            }
            wanted.extend(mode.map(|mode| (key, mode)));
            wanted.push((self.change_key_of(table)?, MetadataMode::Exclusive));
        }
        for name in new_names {
            wanted.push((self.key_of(name)?, MetadataMode::Exclusive));
            wanted.push((self.change_key_of(name)?, MetadataMode::Exclusive));
        }
        wanted.extend(databases.iter().map(|name| (self.locks.database_key(name), MetadataMode::Exclusive)));
        match &self.objects.locked_tables {
            Some(LockedTables { only: None, .. }) => return Err(MysqlError::conflicting_read_lock()),
            Some(_) if !databases.is_empty() => return Err(MysqlError::active_transaction()),
            _ => {}
        }
        let limits = self.metadata_limits();
        self.locks.note_use(self.locks.global_key(), true, || limits.clone())?;
        Ok(self.locks.exclude(&wanted, &limits)?)
    }

    /// Returns a function that excludes other sessions, in `mode`, from tables whose change the session has
    /// announced, and waits for the ones that use them.
    pub(crate) fn keep_away(
        &self,
        tables: &[QualifiedName<'_>],
        mode: MetadataMode,
    ) -> impl Fn() -> Result<Excluding, TableError> + use<> {
        let (locks, limits) = (self.locks.clone(), self.metadata_limits());
        let key = |(database, name): &QualifiedName<'_>| (locks.table_key(database, name), mode);
        let wanted: Vec<_> = tables.iter().map(key).collect();
        move || locks.exclude(&wanted, &limits)
    }

    /// True if LOCK TABLES or FLUSH TABLES WITH READ LOCK is in effect.
    pub(crate) fn has_locked_tables(&self) -> bool {
        self.objects.locked_tables.is_some()
    }

    /// True if LOCK TABLES is in effect.
    pub(crate) fn has_only_locked_tables(&self) -> bool {
        self.objects.locked_tables.as_ref().is_some_and(|locked| locked.only.is_some())
    }

    /// Checks that the tables of FLUSH TABLES may be flushed; all tables if it names none.
    ///
    /// # Errors
    /// 1099 if the session has locked a table for reading, 1100 if LOCK TABLES has locked other tables.
    pub(crate) fn check_flush(&self, tables: &[TableName]) -> Result<(), MysqlError> {
        let Some(only) = self.objects.locked_tables.as_ref().and_then(|locked| locked.only.as_ref()) else {
            return Ok(());
        };
        if tables.is_empty() {
            let read = only.iter().find(|(_, _, writes)| !writes);
            return read.map_or(Ok(()), |(alias, ..)| Err(MysqlError::table_locked_for_read(alias)));
        }
        for table in tables.iter().filter(|table| self.own_table_named(table).is_none()) {
            let key = self.key_of(table)?;
            let mut known = only.iter().filter(|(_, locked, _)| *locked == key).peekable();
            if known.peek().is_none() {
                return Err(MysqlError::table_not_locked(&table.name.value));
            }
            if !known.any(|(_, _, writes)| *writes) {
                return Err(MysqlError::table_locked_for_read(&table.name.value));
            }
        }
        Ok(())
    }

    fn key_of(&self, table: &TableName) -> Result<MetadataKey, MysqlError> {
        Ok(self.locks.table_key(self.database_of(table)?, &table.name.value))
    }

    fn change_key_of(&self, table: &TableName) -> Result<MetadataKey, MysqlError> {
        Ok(self.locks.change_key(self.database_of(table)?, &table.name.value))
    }

    fn database_of<'t>(&'t self, table: &'t TableName) -> Result<&'t str, MysqlError> {
        match &table.database {
            Some(database) => Ok(database.value.as_str()),
            None => self.database().ok_or_else(MysqlError::no_database_selected),
        }
    }

    /// LOCK TABLES: commits, and releases the tables locked before. The tables of a view are locked together
    /// with it, under the names that it uses; the list may name them, too, before or after the view. `programs` are
    /// the uses of stored programs, which are locked as well.
    ///
    /// # Errors
    /// 1146 for a missing table, 1356 for a view that lacks a table, 1066 for a name of two tables; 1205,
    /// 1213, 1317.
    pub(crate) fn lock_tables(
        &mut self,
        tables: &[TableLock],
        programs: Vec<TableUse>,
    ) -> Result<(), MysqlError> {
        self.commit()?;
        self.objects.locked_tables = None;
        // Own tables need no lock: no other session can use them.
        let others: Vec<&TableLock> =
            tables.iter().filter(|lock| self.own_table_named(&lock.table).is_none()).collect();
        let mut only: Vec<(String, MetadataKey, bool)> = Vec::with_capacity(tables.len());
        let mut listed: Vec<(String, MetadataKey)> = Vec::with_capacity(tables.len());
        let mut wanted = Vec::with_capacity(tables.len());
        for lock in &others {
            let key = self.key_of(&lock.table)?;
            let alias = lock.alias.as_ref().unwrap_or(&lock.table.name).value.clone();
            let mode = mode_of(lock.write);
            let of_view = self.read_by_view(lock)?;
            if listed.iter().any(|(name, other)| *name == alias && *other == key) {
                return Err(MysqlError::not_unique_table(alias));
            }
            listed.push((alias.clone(), key));
            let named = if of_view.is_empty() { vec![(alias, key)] } else { of_view };
            wanted.push((key, mode));
            wanted.extend(named.iter().map(|(_, key)| (*key, mode)));
            only.extend(named.into_iter().map(|(alias, key)| (alias, key, lock.write)));
        }
        for TableUse { key, writes, alias } in programs {
            wanted.push((key, mode_of(writes)));
            only.extend(alias.map(|alias| (alias, key, writes)));
        }
        let limits = self.metadata_limits();
        let excluding = self.locks.exclude(&wanted, &limits)?;
        for lock in &others {
            // While this session waited, another may have dropped the table.
            self.read_by_view(lock)?;
        }
        self.objects.locked_tables = Some(LockedTables { only: Some(only), _excluding: excluding });
        Ok(())
    }

    /// The tables that a view reads, and the views below it; empty for a table, which has to exist.
    fn read_by_view(&self, lock: &TableLock) -> Result<Vec<(String, MetadataKey)>, MysqlError> {
        let database = lock.table.database.as_ref().map(|database| database.value.as_str());
        let database = database.or(self.database()).unwrap_or_default();
        let name = &lock.table.name.value;
        let Some(view) = self.instance.engine().catalog().view(database, name).cloned() else {
            // System views are never written.
            if information_schema::definition(database, name).is_some() {
                return Ok(Vec::new());
            }
            self.instance.engine().table(database, name)?;
            return Ok(Vec::new());
        };
        let sources = view_sources(&view, &self.bind_context(&[]))?;
        let mut found = Vec::new();
        for (database, name) in sources.views {
            let key = self.locks.table_key(&database, &name);
            found.push((name, key));
        }
        tables_of_query(&sources.query, &sources.subqueries, &mut |table, relation| {
            found.push((relation.alias.clone(), self.locks.table_key(&table.database, &table.name)));
        });
        Ok(found)
    }

    /// FLUSH TABLES of some tables WITH READ LOCK or FOR EXPORT: locks them as LOCK TABLES .. READ does.
    ///
    /// # Errors
    /// 1192 if tables are locked already, 1347 for a view; errors of LOCK TABLES.
    pub(crate) fn lock_for_reading(&mut self, tables: &[TableName]) -> Result<(), MysqlError> {
        if self.has_locked_tables() {
            return Err(MysqlError::active_transaction());
        }
        for table in tables {
            let (database, name) = (self.database_of(table)?, &table.name.value);
            if self.instance.engine().catalog().view(database, name).is_some() {
                return Err(MysqlError::wrong_object(database, name, "BASE TABLE"));
            }
        }
        let lock = |table: &TableName| TableLock { table: table.clone(), alias: None, write: false };
        self.lock_tables(&tables.iter().map(lock).collect::<Vec<_>>(), Vec::new())
    }

    /// Releases dropped tables; LOCK TABLES ends with the last one.
    pub(crate) fn unlock_dropped(&mut self, tables: &[TableName]) {
        let keys: Vec<MetadataKey> = tables.iter().filter_map(|table| self.key_of(table).ok()).collect();
        let Some(only) = self.objects.locked_tables.as_mut().and_then(|locked| locked.only.as_mut()) else {
            return;
        };
        only.retain(|(_, key, _)| !keys.contains(key));
        if only.is_empty() {
            self.objects.locked_tables = None;
        }
    }

    /// Keeps the lock of a table that was renamed.
    pub(crate) fn lock_renamed(&mut self, old: &TableName, new: &TableName) {
        let (Ok(from), Ok(to)) = (self.key_of(old), self.key_of(new)) else { return };
        let Some(only) = self.objects.locked_tables.as_mut().and_then(|locked| locked.only.as_mut()) else {
            return;
        };
        for (alias, key, _) in only.iter_mut().filter(|(_, key, _)| *key == from) {
            *key = to;
            if *alias == old.name.value {
                *alias = new.name.value.clone();
            }
        }
    }

    /// FLUSH TABLES WITH READ LOCK: prevents writes and DDL until UNLOCK TABLES.
    ///
    /// # Errors
    /// 1192 under LOCK TABLES; 1205, 1213, 1317.
    pub(crate) fn lock_everything(&mut self) -> Result<(), MysqlError> {
        if self.objects.locked_tables.as_ref().is_some_and(|locked| locked.only.is_some()) {
            return Err(MysqlError::active_transaction());
        }
        if self.objects.locked_tables.is_none() {
            let limits = self.metadata_limits();
            let wanted = [(self.locks.global_key(), MetadataMode::NoWrite)];
            let excluding = self.locks.exclude(&wanted, &limits)?;
            self.objects.locked_tables = Some(LockedTables { only: None, _excluding: excluding });
        }
        Ok(())
    }

    /// UNLOCK TABLES: ends the transaction if LOCK TABLES was in effect.
    ///
    /// # Errors
    /// Errors of COMMIT.
    pub(crate) fn unlock_tables(&mut self) -> Result<(), MysqlError> {
        if self.objects.locked_tables.as_ref().is_some_and(|locked| locked.only.is_some()) {
            self.commit()?;
        }
        self.objects.locked_tables = None;
        Ok(())
    }

    /// START TRANSACTION releases the tables of LOCK TABLES.
    pub(super) fn begin_unlocks(&mut self) {
        if self.objects.locked_tables.as_ref().is_some_and(|locked| locked.only.is_some()) {
            self.objects.locked_tables = None;
        }
    }
}

/// The mode in which LOCK TABLES locks a table.
fn mode_of(writes: bool) -> MetadataMode {
    if writes { MetadataMode::Exclusive } else { MetadataMode::NoWrite }
}

impl LockedTables {
    /// Returns error 1100 for a table that is not locked under this name, 1099 for a write to a table locked
    /// for reading, 1223 for any write under FLUSH TABLES WITH READ LOCK.
    fn allow(&self, used: &TableUse) -> Result<(), MysqlError> {
        let Some(only) = &self.only else {
            return if used.writes { Err(MysqlError::conflicting_read_lock()) } else { Ok(()) };
        };
        let Some(alias) = &used.alias else { return Ok(()) };
        // A table that a view reads, too, may have locks of both kinds.
        let mut known = only.iter().filter(|(name, key, _)| name == alias && *key == used.key).peekable();
        if known.peek().is_none() {
            return Err(MysqlError::table_not_locked(alias));
        }
        match !used.writes || known.any(|(_, _, writes)| *writes) {
            true => Ok(()),
            false => Err(MysqlError::table_locked_for_read(alias)),
        }
    }
}
