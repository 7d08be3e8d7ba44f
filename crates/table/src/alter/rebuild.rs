//! Rebuilds a table: reads its rows, converts them, and writes them to new trees that replace the old ones.
//!
//! If nobody is to wait for that, the rows are those of a snapshot, and changes made meanwhile are applied afterwards
//! (`crate::build::online`, `super::rebuilt_rows`). The clustered key of a new row must then follow from the old row, or
//! from the numbers that the new row was given (`super::row_numbers`).

use super::convert::Conversion;
use super::rebuilt_rows::RebuiltRows;
use super::row_numbers::{NumberMap, Numbering};
use super::{Rebuild, Switch, Target};
use crate::build::{References, TreeSource};
use crate::catalog::{ForeignKeyDef, Partitioning, TableDef, TableId};
use crate::catalog_change::CatalogChange;
use crate::ddl;
use crate::ddl::Ddl;
use crate::error::Result;
use crate::new_table;
use crate::op::CounterChange;
use crate::partition::{Finished, Targets, keep_trees};
use crate::read::ReadView;
use leafline_btree::{CommitTs, Tree};
use leafline_storage::{PageNo, SegmentId};
use leafline_types::{CancelToken, Stage};
use std::sync::Arc;

impl Ddl {
    /// Replaces a table with one that has the converted rows. Returns their number, and the number of the table. With
    /// `switch`, no gate is closed and `ddl` is not locked yet.
    pub(super) fn rebuild_table(
        &self,
        old: &Arc<TableDef>,
        target: Target<'_>,
        mut rebuild: Rebuild<'_>,
        (next_auto_increment, switch): (Option<u64>, Option<Switch<'_>>),
    ) -> Result<(u64, TableId)> {
        let unproven = target.unproven();
        // Keeps the counters of tables that the catalog does not contain yet.
        let _counts = self.core.counters.keep_new();
        let mut table = self.new_shell(old, &target);
        let scheme = target.spec.partitioning.clone();
        let control = &target.control;
        let watched = switch.map(|switch| (switch, self.watch(std::slice::from_ref(old))));
        let view =
            watched.as_ref().map_or_else(|| ReadView::applied(&self.core), |(_, (_, view))| view.clone());
        if switch.is_none() || rebuild.numbers {
            self.continue_auto_increment(old, &table, &rebuild, next_auto_increment);
        }
        let keeps_row_ids = switch.is_some() && keeps_row_ids(old, &table, &target, &rebuild);
        let gives_row_ids = table.has_hidden_row_id() && !keeps_row_ids;
        let gives = switch.is_some() && (rebuild.numbers || gives_row_ids);
        let mut given = gives.then(|| NumberMap::new(&self.core));
        let mut targets = Targets::new(&self.core, &table, scheme.clone(), control)?;
        control.progress.begin(Stage::CopyingTable, (1, 2), self.core.row_count(old.id));
        let numbering = Numbering {
            core: &self.core,
            table: &table,
            gives: rebuild.numbers,
            zero_is_number: rebuild.zero_is_number,
        };
        let mut conversion = Conversion {
            numbering,
            rebuild: &mut rebuild,
            view: &view,
            control,
            targets: &mut targets,
            keeps_row_ids,
            given: given.as_mut(),
        };
        conversion.run(old)?;
        drop(view);
        control.progress.begin(Stage::BuildingTrees, (2, 2), targets.entries_left());
        let mut rows = targets.rows();
        let mut finished = targets.finish()?;
        let mut held = None;
        if let Some((switch, (sources, view))) = watched {
            let converter = &mut *rebuild.converter;
            let (mut renewed, trees) =
                RebuiltRows::new(numbering, converter, scheme.clone(), &finished, (old, given.as_ref()))?;
            let terms = (switch, &control.cancel);
            let old_tables = std::slice::from_ref(old);
            let (added, last) = self.catch_up(old_tables, (&sources, view), (trees, &mut renewed), terms)?;
            let more = renewed.growth(&added);
            held = Some(last);
            self.continue_auto_increment(old, &table, &rebuild, next_auto_increment);
            for (one, (more_rows, more_values)) in finished.iter_mut().zip(more) {
                rows = rows.saturating_add_signed(more_rows);
                self.update_counters(old, one, (more_rows, more_values), keeps_row_ids);
            }
        }
        let id = table.id;
        let (mut put_tables, mut counters, mut stored) = (Vec::new(), Vec::new(), Vec::new());
        for one in finished {
            stored.push(one.table);
            put_tables.extend(one.values);
            counters.extend(one.counters);
        }
        let table = match scheme {
            Some(scheme) => {
                counters.push(CounterChange {
                    table: id,
                    next_auto_increment: self.core.counters.next_auto_increment(id),
                    ..CounterChange::default()
                });
                table.partitioning = Some(Partitioning::new(scheme, stored));
                table
            }
            None => {
                let table = stored.pop().expect("a table without partitions is stored as one");
                self.check_references(&table, &unproven, &control.cancel)?;
                table
            }
        };
        put_tables.push(table);
        put_tables.extend(target.children);
        let remove_tables = vec![old.clone()];
        ddl::change_catalog(
            &self.core,
            CatalogChange { remove_tables, put_tables, counters, ..CatalogChange::default() },
        )?;
        keep_trees(targets.tables)?;
        drop(held);
        Ok((rows, id))
    }

    /// Checks the rows of a new table against new foreign keys. Nobody writes to it or to the tables it refers to.
    fn check_references(&self, table: &TableDef, keys: &[ForeignKeyDef], cancel: &CancelToken) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let tree = Tree::open(&self.core.store, table.clustered().tree, table.clustered().root)?;
        let mut references = References::new(&self.core, &Arc::new(table.clone()), None, keys)?;
        references.check(&mut TreeSource::new(&tree), &ReadView::applied(&self.core), cancel)
    }

    /// The definition of the new table, whose indexes have no trees yet.
    fn new_shell(&self, old: &TableDef, target: &Target<'_>) -> TableDef {
        let mut table = target.shell(TableId(self.core.counters.new_object()));
        table.keep_histograms(old);
        for index in target.draft.indexes.iter().cloned() {
            let shape = new_table::index_shape(&self.core, index, &table, target.draft.clustered_key());
            table.indexes.push(Arc::new(shape.build(SegmentId::NONE, PageNo::NONE, CommitTs::NONE)));
        }
        table
    }

    /// Continues the numbers of an AUTO_INCREMENT column after those of the old table, or at `next`.
    fn continue_auto_increment(
        &self,
        old: &TableDef,
        table: &TableDef,
        rebuild: &Rebuild<'_>,
        next: Option<u64>,
    ) {
        if table.auto_increment_column().is_some() && !rebuild.numbers {
            let known = self.core.counters.next_auto_increment(old.id);
            self.core.counters.use_auto_increment(table.id, next.unwrap_or(known).saturating_sub(1));
        } else if let Some(next) = next {
            self.core.counters.use_auto_increment(table.id, next.saturating_sub(1));
        }
    }

    /// Updates the counters of a table that has gained this many rows, and parts of overflow values, since it was
    /// built.
    fn update_counters(
        &self,
        old: &TableDef,
        new: &mut Finished,
        (rows, values): (i64, i64),
        keeps_row_ids: bool,
    ) {
        for change in &mut new.counters {
            change.rows += if change.table == new.table.id { rows } else { values };
            let counts = if keeps_row_ids && change.table == new.table.id { old.id } else { change.table };
            change.next_row_id = self.core.counters.next_row_id(counts);
            change.next_auto_increment = self.core.counters.next_auto_increment(change.table);
        }
    }
}

/// Returns whether rows of an online rebuild keep their hidden row ids: each table is one tree, and rows are given no
/// other numbers.
fn keeps_row_ids(old: &TableDef, table: &TableDef, target: &Target<'_>, rebuild: &Rebuild<'_>) -> bool {
    let is_divided = old.is_partitioned() || target.spec.partitioning.is_some();
    let have_row_ids = old.has_hidden_row_id() && table.has_hidden_row_id();
    have_row_ids && !is_divided && !rebuild.numbers && rebuild.order.is_empty()
}
