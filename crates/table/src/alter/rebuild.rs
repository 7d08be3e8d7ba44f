//! Building a table anew: its rows are read, converted, and written to new trees, which take the place of the old ones.
//!
//! Where nobody is to wait for that, rows are those of a snapshot, and what others change meanwhile follows
//! (`crate::build::online`, `super::renewed`). The clustered key of a new row has to follow from the old row alone then: where rows
//! get numbers, or have to be in an order that is asked for, commits to the table wait from the beginning.

use super::renewed::Renewed;
use super::{Rebuild, Switch, Target};
use crate::build::{
    BuildControl, SeenRow, SnapshotSource, TreeSource, check_references, note_number, numbered,
};
use crate::catalog::{IndexPart, IndexSpecPart, TableDef, TableId, key_part};
use crate::ddl::CatalogChange;
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::index::entry::row_id_of;
use crate::partition::{Partitioning, StoredRows, Targets, built};
use crate::read::ReadView;
use crate::run::{EntrySource, Sorter};
use crate::txn::op::CounterChange;
use leafline_btree::{CommitTs, Tree};
use leafline_storage::{PageNo, SegmentId};
use leafline_types::{MysqlError, Stage, Value, encode_part};
use std::sync::Arc;

impl Engine {
    /// Puts a table with the converted rows in the place of a table. Returns how many there are, and the table's number. With `switch` no gate
    /// is closed and `ddl` not held yet.
    pub(super) fn rebuild_table(
        self: &Arc<Self>,
        old: &Arc<TableDef>,
        target: Target<'_>,
        mut rebuild: Rebuild<'_>,
        (next_auto_increment, switch): (Option<u64>, Option<Switch<'_>>),
    ) -> Result<(u64, TableId)> {
        let unproven = target.unproven();
        let mut table = self.new_shell(old, &target);
        let scheme = target.spec.partitioning.clone();
        let control = &target.control;
        let watched = switch.map(|switch| (switch, self.watch(old)));
        let view = watched.as_ref().map(|(_, (_, view))| view);
        if switch.is_none() {
            self.go_on_counting(old, &table, &rebuild, next_auto_increment);
        }
        let mut targets = Targets::new(self, &table, scheme.clone(), control)?;
        control.progress.begin(Stage::CopyingTable, (1, 2), self.row_count(old.id));
        self.convert_rows(old, &table, &mut rebuild, (view, control), &mut targets)?;
        control.progress.begin(Stage::BuildingTrees, (2, 2), targets.entries_left());
        let mut rows = targets.rows();
        let mut finished = targets.finish()?;
        let mut held = None;
        if let Some((switch, (sources, view))) = watched {
            let converter = &mut *rebuild.converter;
            let (mut renewed, trees) = Renewed::new(self, &table, converter, scheme.clone(), &finished)?;
            let terms = (switch, &control.cancel);
            let (added, last) = self.catch_up(old, (&sources, view), (trees, &mut renewed), terms)?;
            let more = renewed.more(&added);
            held = Some(last);
            self.go_on_counting(old, &table, &rebuild, next_auto_increment);
            for (one, (more_rows, more_values)) in finished.iter_mut().zip(more) {
                rows = rows.saturating_add_signed(more_rows);
                self.count_on(old, one, more_rows, more_values);
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
                    next_auto_increment: self.counters.next_auto_increment(id),
                    ..CounterChange::default()
                });
                table.partitioning = Some(Partitioning::new(scheme, stored));
                table
            }
            None => {
                let table = stored.pop().unwrap_or(table);
                let tree = Tree::open(&self.store, table.clustered().tree, table.clustered().root)?;
                check_references(self, &table, &tree, &unproven)?;
                table
            }
        };
        put_tables.push(table);
        put_tables.extend(target.children);
        let remove_tables = vec![old.clone()];
        self.change_catalog(CatalogChange {
            remove_tables,
            put_tables,
            counters,
            ..CatalogChange::default()
        })?;
        built(targets.tables)?;
        drop(held);
        Ok((rows, id))
    }

    /// The definition of the table that is to be, whose indexes have no trees yet.
    fn new_shell(&self, old: &TableDef, target: &Target<'_>) -> TableDef {
        let mut table = target.shell(TableId(self.counters.new_object()));
        table.keep_histograms(old);
        for index in target.draft.indexes.iter().cloned() {
            let shape = self.index_shape(index, &table, target.draft.clustered_key());
            table.indexes.push(Arc::new(shape.build(SegmentId::NONE, PageNo::NONE, CommitTs::NONE)));
        }
        table
    }

    /// The numbers of an AUTO_INCREMENT column go on from those of the old table, or from `next`.
    fn go_on_counting(&self, old: &TableDef, table: &TableDef, rebuild: &Rebuild<'_>, next: Option<u64>) {
        if table.auto_increment_column().is_some() && !rebuild.numbers {
            let known = self.counters.next_auto_increment(old.id);
            self.counters.use_auto_increment(table.id, next.unwrap_or(known).saturating_sub(1));
        } else if let Some(next) = next {
            self.counters.use_auto_increment(table.id, next.saturating_sub(1));
        }
    }

    /// What a table counts from that has got so many more rows and parts of values than were built at first.
    fn count_on(&self, old: &TableDef, new: &mut crate::partition::Finished, rows: i64, values: i64) {
        for change in &mut new.counters {
            change.rows += if change.table == new.table.id { rows } else { values };
            change.next_row_id = self.counters.next_row_id(change.table);
            change.next_auto_increment = self.counters.next_auto_increment(change.table);
        }
        if new.table.has_hidden_row_id()
            && let Some(change) = new.counters.iter_mut().find(|change| change.table == new.table.id)
        {
            // Rows have kept their numbers.
            change.next_row_id = self.counters.next_row_id(old.id);
        }
    }

    /// Gives the rows of `old`, converted, to the tables that `table` is stored in, in the order that is asked for: those of a view, if others
    /// may change them meanwhile.
    fn convert_rows(
        self: &Arc<Self>,
        old: &Arc<TableDef>,
        table: &TableDef,
        rebuild: &mut Rebuild<'_>,
        (view, control): (Option<&ReadView>, &BuildControl),
        targets: &mut Targets<'_>,
    ) -> Result<()> {
        if old.is_partitioned() {
            let mut parts = old.stored();
            return parts
                .try_for_each(|part| self.convert_rows(part, table, rebuild, (view, control), targets));
        }
        if let Some(view) = view {
            let mut rows = SnapshotSource::new(view, old)?;
            while let Some((key, payload)) = rows.next()? {
                let row = rebuild.converter.convert(SeenRow { view, key, payload }.values(old)?)?;
                note_number(self, table, &row);
                let row_id = table.has_hidden_row_id().then(|| row_id_of(key)).transpose()?;
                targets.push(&row, row_id)?;
                control.progress.add(1);
            }
            return Ok(());
        }
        let number = |row: Vec<Value>| match rebuild.numbers {
            true => numbered(self, table, &row, rebuild.zero_is_number).into_owned(),
            false => {
                note_number(self, table, &row);
                row
            }
        };
        let tree = self.trees.current(old.clustered().tree)?;
        let mut rows = TreeSource::new(&tree.tree);
        let stored = StoredRows::new(self, old)?;
        if rebuild.order.is_empty() || !table.has_hidden_row_id() {
            while let Some((key, payload)) = rows.next()? {
                let row = rebuild.converter.convert(stored.row(key, payload)?)?;
                targets.push(&number(row), None)?;
                control.progress.add(1);
            }
            return Ok(());
        }
        let order = order_parts(old, &rebuild.order)?;
        let mut sorter = Sorter::new(&self.env, control.memory_bytes);
        let mut position = 0u64;
        while let Some((key, payload)) = rows.next()? {
            let row = stored.row(key, payload)?;
            let mut place = Vec::new();
            for part in &order {
                if let (Some(column), Some(value)) = (old.columns.get(part.column), row.get(part.column)) {
                    encode_part(&key_part(column, part), value, &mut place)?;
                }
            }
            place.extend_from_slice(&position.to_be_bytes());
            let mut entry = (key.len() as u32).to_le_bytes().to_vec();
            entry.extend_from_slice(key);
            entry.extend_from_slice(payload);
            sorter.push(&place, &entry)?;
            position += 1;
        }
        let mut sorted = sorter.finish()?;
        while let Some((_, entry)) = sorted.next()? {
            let damaged = || TableError::Internal("a sorted row is not as it was".into());
            let (len, entry) = entry.split_first_chunk::<4>().ok_or_else(damaged)?;
            let split = entry.split_at_checked(u32::from_le_bytes(*len) as usize);
            let (key, payload) = split.ok_or_else(damaged)?;
            let row = rebuild.converter.convert(stored.row(key, payload)?)?;
            targets.push(&number(row), None)?;
            control.progress.add(1);
        }
        Ok(())
    }
}

fn order_parts(table: &TableDef, order: &[IndexSpecPart]) -> Result<Vec<IndexPart>> {
    let part = |part: &IndexSpecPart| match table.column(&part.column) {
        Some(column) => Ok(IndexPart { column, descending: part.descending, prefix: None }),
        None => Err(MysqlError::unknown_column(&part.column, "order clause").into()),
    };
    order.iter().map(part).collect()
}
