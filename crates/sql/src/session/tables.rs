//! The tables that a session's transaction uses, which others do not change meanwhile, and those that it has locked as wholes.
//!
//! A statement is bound first, because that tells which tables it uses; then their use is noted, which waits for DDL; then it is seen
//! whether what was bound still stands. Uses end with the transaction.

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

/// LOCK TABLES, FLUSH TABLES WITH READ LOCK.
#[derive(Debug)]
pub(super) struct LockedTables {
    /// With LOCK TABLES: alias, table, and whether it can be written to. Nothing else can be used.
    only: Option<Vec<(String, MetadataKey, bool)>>,
    _excluding: Excluding,
}

/// Ends the uses of a statement that is a transaction of its own when its rows are read or given up.
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

    /// Notes what a statement uses, and waits for who is changing it.
    ///
    /// # Errors
    /// 1099, 1100 and 1223 under LOCK TABLES; 1205, 1213 (the transaction is rolled back), 1317.
    pub(crate) fn use_tables(&mut self, uses: &[TableUse]) -> Result<(), MysqlError> {
        if let Some(locked) = &self.locked_tables {
            uses.iter().try_for_each(|used| locked.allow(used))?;
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

    /// For the rows of a statement that is a transaction of its own.
    pub(crate) fn statement_uses(&self) -> Option<StatementUses> {
        (!self.in_transaction()).then(|| StatementUses(self.locks.clone()))
    }

    /// Ends the uses if no transaction is open.
    pub(super) fn end_uses(&self) {
        if !self.in_transaction() {
            self.locks.end_uses();
        }
    }

    /// Keeps others away from what DDL changes, and waits for those who use it: the tables `changed`, with whether they may be read
    /// meanwhile (`None`: used as ever, until [`keep_away`](Self::keep_away)), the names that tables get, and the databases that are made or dropped. The transaction has
    /// ended.
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
            if let Some(locked) = &self.locked_tables {
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
        match &self.locked_tables {
            Some(LockedTables { only: None, .. }) => return Err(MysqlError::conflicting_read_lock()),
            Some(_) if !databases.is_empty() => return Err(MysqlError::active_transaction()),
            _ => {}
        }
        let limits = self.metadata_limits();
        self.locks.note_use(self.locks.global_key(), true, || limits.clone())?;
        Ok(self.locks.exclude(&wanted, &limits)?)
    }

    /// What keeps others away, in that way, from tables whose change the session has announced, and waits for those there are.
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

    /// Whether LOCK TABLES, or FLUSH TABLES WITH READ LOCK, is in effect.
    pub(crate) fn has_locked_tables(&self) -> bool {
        self.locked_tables.is_some()
    }

    /// Whether LOCK TABLES is in effect.
    pub(crate) fn has_only_locked_tables(&self) -> bool {
        self.locked_tables.as_ref().is_some_and(|locked| locked.only.is_some())
    }

    /// Whether the tables of FLUSH TABLES, all of them if it names none, may be flushed.
    ///
    /// # Errors
    /// 1099 if the session has locked one for reading, 1100 if it has locked others by LOCK TABLES.
    pub(crate) fn check_flush(&self, tables: &[TableName]) -> Result<(), MysqlError> {
        let Some(only) = self.locked_tables.as_ref().and_then(|locked| locked.only.as_ref()) else {
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

    /// LOCK TABLES: commits, and lets go of the tables locked before. With a view its tables are locked, by the names it has for them:
    /// they may be in the list, too, before it or behind it.
    ///
    /// # Errors
    /// 1146 for a table that is not there, 1356 for a view that lacks one, 1066 for a name that stands for two; 1205, 1213, 1317.
    pub(crate) fn lock_tables(&mut self, tables: &[TableLock]) -> Result<(), MysqlError> {
        self.commit()?;
        self.locked_tables = None;
        // Nobody else can use the session's own.
        let others: Vec<&TableLock> =
            tables.iter().filter(|lock| self.own_table_named(&lock.table).is_none()).collect();
        let mut only: Vec<(String, MetadataKey, bool)> = Vec::with_capacity(tables.len());
        let mut listed: Vec<(String, MetadataKey)> = Vec::with_capacity(tables.len());
        let mut wanted = Vec::with_capacity(tables.len());
        for lock in &others {
            let key = self.key_of(&lock.table)?;
            let alias = lock.alias.as_ref().unwrap_or(&lock.table.name).value.clone();
            let mode = if lock.write { MetadataMode::Exclusive } else { MetadataMode::NoWrite };
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
        let limits = self.metadata_limits();
        let excluding = self.locks.exclude(&wanted, &limits)?;
        for lock in &others {
            // Whoever was waited for may have dropped it.
            self.read_by_view(lock)?;
        }
        self.locked_tables = Some(LockedTables { only: Some(only), _excluding: excluding });
        Ok(())
    }

    /// The tables that a view reads, and the views that it is made of; nothing for a table, which has to be there.
    fn read_by_view(&self, lock: &TableLock) -> Result<Vec<(String, MetadataKey)>, MysqlError> {
        let database = lock.table.database.as_ref().map(|database| database.value.as_str());
        let database = database.or(self.database()).unwrap_or_default();
        let name = &lock.table.name.value;
        let Some(view) = self.instance.engine().catalog().view(database, name).cloned() else {
            // Nobody writes to what is computed.
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
    /// 1192 where tables are locked already, 1347 for a view; those of LOCK TABLES.
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
        self.lock_tables(&tables.iter().map(lock).collect::<Vec<_>>())
    }

    /// Tables were dropped: they are locked no more, and with the last of them LOCK TABLES is over.
    pub(crate) fn unlock_dropped(&mut self, tables: &[TableName]) {
        let keys: Vec<MetadataKey> = tables.iter().filter_map(|table| self.key_of(table).ok()).collect();
        let Some(only) = self.locked_tables.as_mut().and_then(|locked| locked.only.as_mut()) else { return };
        only.retain(|(_, key, _)| !keys.contains(key));
        if only.is_empty() {
            self.locked_tables = None;
        }
    }

    /// A table has another name: it is locked under that.
    pub(crate) fn lock_renamed(&mut self, old: &TableName, new: &TableName) {
        let (Ok(from), Ok(to)) = (self.key_of(old), self.key_of(new)) else { return };
        let Some(only) = self.locked_tables.as_mut().and_then(|locked| locked.only.as_mut()) else { return };
        for (alias, key, _) in only.iter_mut().filter(|(_, key, _)| *key == from) {
            *key = to;
            if *alias == old.name.value {
                *alias = new.name.value.clone();
            }
        }
    }

    /// FLUSH TABLES WITH READ LOCK: nobody writes, and no DDL runs, until UNLOCK TABLES.
    ///
    /// # Errors
    /// 1192 under LOCK TABLES; 1205, 1213, 1317.
    pub(crate) fn lock_everything(&mut self) -> Result<(), MysqlError> {
        if self.locked_tables.as_ref().is_some_and(|locked| locked.only.is_some()) {
            return Err(MysqlError::active_transaction());
        }
        if self.locked_tables.is_none() {
            let limits = self.metadata_limits();
            let wanted = [(self.locks.global_key(), MetadataMode::NoWrite)];
            let excluding = self.locks.exclude(&wanted, &limits)?;
            self.locked_tables = Some(LockedTables { only: None, _excluding: excluding });
        }
        Ok(())
    }

    /// UNLOCK TABLES: ends the transaction if tables were locked one by one.
    ///
    /// # Errors
    /// Those of COMMIT.
    pub(crate) fn unlock_tables(&mut self) -> Result<(), MysqlError> {
        if self.locked_tables.as_ref().is_some_and(|locked| locked.only.is_some()) {
            self.commit()?;
        }
        self.locked_tables = None;
        Ok(())
    }

    /// START TRANSACTION lets go of tables that were locked one by one.
    pub(super) fn begin_unlocks(&mut self) {
        if self.locked_tables.as_ref().is_some_and(|locked| locked.only.is_some()) {
            self.locked_tables = None;
        }
    }
}

impl LockedTables {
    /// Error 1100 for a table that is not locked under this name, 1099 for a write to one that is locked for reading, 1223 for any
    /// write under FLUSH TABLES WITH READ LOCK.
    fn allow(&self, used: &TableUse) -> Result<(), MysqlError> {
        let Some(only) = &self.only else {
            return if used.writes { Err(MysqlError::conflicting_read_lock()) } else { Ok(()) };
        };
        let Some(alias) = &used.alias else { return Ok(()) };
        // A table that a view reads, too, may be locked in both ways.
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
