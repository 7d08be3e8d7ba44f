//! Rescues the remains of a damaged database into a new one.
//!
//! If its space maps, segment directory or catalog are damaged, a database cannot be opened, because it is
//! unknown which pages are free or which table a row belongs to. But its pages can be read, and much can be
//! inferred from them. The rescue writes every table that can be reconstructed to another database. It
//! leaves the damaged database as opening it leaves it.
//!
//! | damaged | its replacement |
//! |---|---|
//! | space map | the branches of a tree, which name the tree's pages; see [`leafline_storage::SalvagedStore`] and `leafline_btree::claimed` |
//! | segment directory | the pages, which name their segments, and the catalog, which names the roots |
//! | catalog | the rows of it that can be read; a table whose definition is partly lost is reported and not written |
//!
//! Commits in doubt are completed as in [`super::salvage`]. Secondary indexes are built from the rows.

use super::pending::PendingRows;
use super::report::{Rescue, TableRepair};
use super::salvage::{Source, build};
use crate::catalog::{CatalogRow, TableDef, TableId, decode_remains};
use crate::catalog_change::CatalogChange;
use crate::core::Core;
use crate::counters::Counters;
use crate::ddl;
use crate::ddl::Ddl;
use crate::error::{Result, TableError};
use crate::maintenance::Maintenance;
use crate::new_table;
use crate::new_table::NewTrees;
use crate::op::CounterChange;
use crate::options::EngineOptions;
use crate::quarantine::{Quarantine, Quarantined};
use crate::txn::recovery::{Pending, Replay};
use leafline_btree::{KeyRange, Tree, TreeRedo};
use leafline_storage::{Env, HandlerId, PageNo, RedoHandler, SalvagedStore, SegmentId, SegmentState, Store};
use leafline_types::Collation;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A damaged database, as far as it can be read.
struct DamagedDatabase {
    env: Arc<dyn Env>,
    store: Store,
    remains: SalvagedStore,
    counters: Counters,
    pending: Vec<Pending>,
    quarantine: Quarantine,
}

impl Maintenance {
    /// Writes all tables that can be reconstructed from the database in `from` to this one, which is new.
    /// No process may have `from` open. `options` serve to open it; `progress` is called with the number of
    /// pages read since the last call.
    ///
    /// # Errors
    /// Errors of the stores, except for unreadable pages; `Corrupt` if nothing is left of the catalog.
    pub fn rescue(
        &self,
        from: &Arc<dyn Env>,
        options: &EngineOptions,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Rescue> {
        let damaged = DamagedDatabase::open(from, options)?;
        let mut rescue = Rescue::default();
        let ddl = Ddl::new(&self.core);
        for (page, reason) in &damaged.remains.damaged {
            rescue.pages.push((*page, reason.clone()));
        }
        let (rows, lost) = damaged.catalog_rows(&self.core, progress)?;
        let is_lost = |lower: &[u8], upper: &[u8]| {
            lost.iter().any(|gap| {
                gap.lower.as_slice() < upper && gap.upper.as_ref().is_none_or(|end| end.as_slice() > lower)
            })
        };
        let left = decode_remains(&rows, &is_lost);
        if !damaged.remains.directory_is_whole && left.databases.is_empty() && left.tables.is_empty() {
            // The tree taken for the catalog was another one.
            return Err(TableError::Corrupt("nothing is left of the catalog".into()));
        }
        rescue.lost.extend(left.faults);
        for database in left.databases {
            ddl.create_database(&database.name, database.collation, true)?;
        }
        // Overflow tables come first, because the rows of other tables refer to their values.
        let mut moved: BTreeMap<TableId, TableId> = BTreeMap::new();
        let (overflow, others): (Vec<_>, Vec<_>) = left.tables.iter().partition(|table| table.is_overflow);
        for table in overflow.into_iter().chain(others) {
            ddl.create_database(&table.database, Collation::DEFAULT, true)?;
            rescue.tables.push(self.rescue_table(&damaged, table, &mut moved, progress)?);
        }
        let mut named: BTreeSet<SegmentId> =
            left.tables.iter().flat_map(|table| &table.indexes).map(|index| index.tree).collect();
        named.extend(damaged.remains.first_segment());
        for (id, segment) in &damaged.remains.segments {
            if segment.state == Some(SegmentState::Live) && !named.contains(id) && !lost.is_empty() {
                let pages = segment.certain.len() + segment.claimed.len();
                rescue
                    .lost
                    .push(format!("segment {id} of {pages} pages: the catalog does not say what it was"));
            }
        }
        Ok(rescue)
    }

    /// Makes a table with the same definition, and fills it with the readable rows.
    fn rescue_table(
        &self,
        damaged: &DamagedDatabase,
        table: &TableDef,
        moved: &mut BTreeMap<TableId, TableId>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<TableRepair> {
        let clustered = table.clustered();
        let tree = Tree::open(&damaged.store, clustered.tree, clustered.root)?;
        let found = tree.salvage_remains(&damaged.remains, progress)?;
        let known = damaged.known_of(clustered.tree);
        let mut copy = table.clone();
        copy.id = TableId(self.core.counters.new_object());
        for index in &mut copy.indexes {
            Arc::make_mut(index).id = self.core.counters.new_object();
        }
        moved.insert(table.id, copy.id);
        let _ddl = self.core.ddl.lock();
        let mut new = NewTrees::new(&self.core);
        copy.overflow = table.overflow.and_then(|overflow| moved.get(&overflow).copied());
        let overflow = match copy.overflow {
            // The old overflow table is lost.
            None => new_table::new_overflow_table(&self.core, &mut copy, &mut new)?,
            Some(_) => None,
        };
        let source = Source { env: &damaged.env, tree: clustered.tree, known: &known };
        let salvaged = build(&self.core, &copy, found, &source, false, &mut new)?;
        copy.indexes = salvaged.indexes;
        let counted = damaged.counters.rows(table.id);
        let rows = salvaged.report.rows;
        let counters = CounterChange {
            table: copy.id,
            rows: i64::try_from(rows).unwrap_or(i64::MAX),
            next_row_id: damaged.counters.next_row_id(table.id),
            next_auto_increment: damaged.counters.next_auto_increment(table.id),
        };
        let repair = TableRepair {
            table: match table.is_overflow {
                true => format!("{}.{} (values outside the rows)", table.database, table.name),
                false => format!("{}.{}", table.database, table.name),
            },
            rebuilt: table.secondary().iter().map(|index| index.name.clone()).collect(),
            counted,
            recounted: Some(rows).filter(|rows| *rows != counted),
            salvage: Some(salvaged.report),
            values: None,
        };
        ddl::change_catalog(
            &self.core,
            CatalogChange {
                put_tables: [copy].into_iter().chain(overflow).collect(),
                counters: vec![counters],
                ..CatalogChange::default()
            },
        )?;
        new.keep();
        Ok(repair)
    }
}

impl DamagedDatabase {
    fn open(env: &Arc<dyn Env>, options: &EngineOptions) -> Result<DamagedDatabase> {
        let mut replay = Replay::default();
        let handlers: Vec<(HandlerId, Arc<dyn RedoHandler>)> = vec![(HandlerId::BTREE, Arc::new(TreeRedo))];
        let (store, mut remains) =
            Store::open_remains(env.clone(), options.store.clone(), handlers, &mut replay)?;
        let (counters, pending) = replay.finish();
        let quarantine = Quarantine::load(env, None)?;
        let pages = quarantine.pages().filter(|(page, _)| **page != PageNo::NONE);
        remains.unusable.extend(pages.map(|(page, reason)| (*page, reason.clone())));
        let counters = Counters::new(counters);
        Ok(DamagedDatabase { env: env.clone(), store, remains, counters, pending, quarantine })
    }

    /// The changes still to be made to a tree.
    fn known_of(&self, tree: SegmentId) -> Quarantined {
        let mut known = self.quarantine.get(tree).cloned().unwrap_or_default();
        self.pending.iter().for_each(|commit| commit.keep(tree, &mut known));
        known
    }

    /// The readable rows of the catalog, and the ranges of keys in which others are lost.
    fn catalog_rows(
        &self,
        core: &Core,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Vec<CatalogRow>, Vec<KeyRange>)> {
        let id = self.remains.first_segment();
        let id = id.ok_or_else(|| TableError::Corrupt("nothing is left of the catalog".into()))?;
        let root = self.remains.segments.get(&id).map_or(PageNo::NONE, |segment| segment.root);
        let found = Tree::open(&self.store, id, root)?.salvage_remains(&self.remains, progress)?;
        let memory = core.options.build_memory_bytes;
        let mut pending = PendingRows::new(&core.env, memory, &self.env, id, &self.known_of(id))?;
        let mut rows = Vec::new();
        pending.merge(&found, |key, payload| {
            rows.push(CatalogRow { key: key.to_vec(), payload: payload.to_vec() });
            Ok(())
        })?;
        Ok((rows, found.lost))
    }
}
