//! Salvages a damaged clustered index into a new one.

use super::pending::PendingRows;
use super::report::{LostRange, SalvageReport};
use crate::build::{BuildControl, EntrySorters, build_secondaries, finish_builder, new_builder};
use crate::catalog::{IndexDef, TableDef};
use crate::check::damage;
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::index::entry::{describe_entry, read_row, row_id_of};
use crate::new_table::NewTrees;
use crate::quarantine::Quarantined;
use crate::read::ReadView;
use crate::write_set::WriteSet;
use leafline_btree::{BulkBuilder, KeyRange, Salvage};
use leafline_storage::{Env, SegmentId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The maximum number of rows left out because another row has the same values in a unique index. Damage
/// does not cause more.
const MAX_DUPLICATES: usize = 1000;

/// The result of salvaging.
pub(super) struct Salvaged {
    pub(super) report: SalvageReport,
    /// The table's indexes with their new trees; with the old trees in a dry run.
    pub(super) indexes: Vec<Arc<IndexDef>>,
}

/// Builds all indexes of `table` from the readable leaves of its clustered index and from the changes that
/// commits still have to make to it. With `dry_run` it only reads them.
pub(super) fn salvage(
    core: &Arc<Core>,
    table: &TableDef,
    dry_run: bool,
    new: &mut NewTrees,
    progress: &mut dyn FnMut(u64),
) -> Result<Salvaged> {
    let id = table.clustered().tree;
    let old = core.trees.current_even_refused(id)?;
    let known = core.quarantine.lock().get(id).cloned().unwrap_or_default();
    let found = old.tree.salvage(&known.pages, progress)?;
    let source = Source { env: &core.env, tree: id, known: &known };
    build(core, table, found, &source, dry_run, new)
}

/// The origin of the rows, besides the leaves found.
pub(super) struct Source<'a> {
    /// The environment that contains the files of large commits.
    pub(super) env: &'a Arc<dyn Env>,
    /// The tree that held the rows.
    pub(super) tree: SegmentId,
    /// The changes still to be made to it.
    pub(super) known: &'a Quarantined,
}

/// Builds all indexes of `table` from the leaves found.
pub(super) fn build(
    core: &Arc<Core>,
    table: &TableDef,
    found: Salvage,
    source: &Source<'_>,
    dry_run: bool,
    new: &mut NewTrees,
) -> Result<Salvaged> {
    // Rows of an older state of a leaf may conflict with newer ones. Repeated attempts find the rows to
    // leave out.
    let mut left_out: BTreeMap<Vec<u8>, String> = BTreeMap::new();
    loop {
        let mut attempt = NewTrees::new(core);
        let memory = core.options.build_memory_bytes;
        let pending = PendingRows::new(&core.env, memory, source.env, source.tree, source.known)?;
        match Building::new(core, table, &found, &left_out, dry_run, &mut attempt)?.build(&found, pending) {
            Ok(mut salvaged) => {
                for index in salvaged.indexes.iter().filter(|_| !dry_run) {
                    new.note(index.tree);
                }
                attempt.keep();
                salvaged.report.left_out.extend(left_out.into_values());
                salvaged.report.pages = found.damaged;
                return Ok(salvaged);
            }
            Err(TableError::DuplicateEntry { entry, index, locator, .. })
                if left_out.len() < MAX_DUPLICATES =>
            {
                let row = format!("the row with clustered key {}", hex::encode(&locator));
                left_out.insert(locator, format!("{row}: another has '{entry}' in the unique index {index}"));
            }
            Err(error) => return Err(error),
        }
    }
}

/// One attempt to build the indexes.
struct Building<'a, 'e> {
    core: &'e Core,
    /// The view that shows overflow values.
    view: ReadView,
    table: &'a TableDef,
    left_out: &'a BTreeMap<Vec<u8>, String>,
    new: &'a mut NewTrees,
    report: SalvageReport,
    gaps: Gaps<'a>,
    control: BuildControl,
    sorters: EntrySorters,
    /// Builds the new clustered index; `None` in a dry run.
    builder: Option<BulkBuilder>,
}

impl<'a, 'e> Building<'a, 'e> {
    fn new(
        core: &'e Arc<Core>,
        table: &'a TableDef,
        found: &'a Salvage,
        left_out: &'a BTreeMap<Vec<u8>, String>,
        dry_run: bool,
        new: &'a mut NewTrees,
    ) -> Result<Building<'a, 'e>> {
        let control = BuildControl::of(core);
        Ok(Building {
            view: ReadView::new(core.clone(), core.snapshot(), Arc::new(WriteSet::default().into()), 0),
            core,
            table,
            left_out,
            report: SalvageReport::default(),
            gaps: Gaps { ranges: &found.lost, last: None },
            sorters: EntrySorters::new(core, table, table.secondary().to_vec(), &control),
            control,
            builder: match dry_run {
                true => None,
                false => Some(new_builder(core, table.clustered().leaf_format(), new)?.1),
            },
            new,
        })
    }

    /// Merges the rows found with the pending changes, both in key order.
    fn build(mut self, found: &Salvage, mut pending: PendingRows) -> Result<Salvaged> {
        pending.merge(found, |key, payload| self.row(key, payload))?;
        (self.report.made_up, self.report.unknown) = pending.outcome();
        self.finish()
    }

    /// Takes the next row.
    fn row(&mut self, key: &[u8], payload: &[u8]) -> Result<()> {
        if self.left_out.contains_key(key) {
            return Ok(());
        }
        match read_row(self.table, key, payload).map_err(damage) {
            Ok(outside) if outside.is_empty() => {}
            Ok(_) => {
                let lost = self.lost_values(payload)?;
                if !lost.is_empty() {
                    let (row, columns) = (name_of(self.table, key, payload)?, lost.join(", "));
                    let what =
                        format!("the row '{row}', for its values of {columns}, stored outside it, are lost");
                    self.report.left_out.push(what);
                    return Ok(());
                }
            }
            Err(Ok((_, what))) => {
                let row = format!("the row with clustered key {} cannot be read: {what}", hex::encode(key));
                self.report.left_out.push(row);
                return Ok(());
            }
            Err(Err(error)) => return Err(error),
        }
        self.gaps.pass(self.table, key, payload, &mut self.report.lost)?;
        self.report.rows += 1;
        if let Some(builder) = &mut self.builder {
            self.sorters.push(
                key,
                payload,
                self.view.texts_outside(self.table, self.table.secondary(), payload)?,
            )?;
            builder.push(key, payload)?;
        }
        Ok(())
    }

    /// The names of a row's columns whose overflow values cannot be read.
    fn lost_values(&self, payload: &[u8]) -> Result<Vec<&'a str>> {
        let mut lost = Vec::new();
        for (column, reference) in self.table.clustered().format.overflow(payload)? {
            match self.view.overflow_values(self.table, &[reference]).map_err(damage) {
                Ok(_) => {}
                Err(Ok(_)) => lost.extend(self.table.columns.get(column).map(|column| column.name.as_str())),
                Err(Err(error)) => return Err(error),
            }
        }
        Ok(lost)
    }

    fn finish(mut self) -> Result<Salvaged> {
        self.gaps.end(&mut self.report.lost);
        let mut indexes = self.table.indexes.clone();
        if let Some(builder) = self.builder {
            let clustered = finish_builder(self.core, builder)?;
            let sorted = (self.sorters.finish()?, &clustered);
            let (table, of) = (self.table, self.table.secondary());
            let secondary = build_secondaries(self.core, table, of, sorted, &self.control, self.new)?;
            let clustered = (clustered, table.clustered().leaf_format());
            for (index, tree) in indexes.iter_mut().zip([clustered].iter().chain(&secondary)) {
                let index: &mut IndexDef = Arc::make_mut(index);
                index.set_tree(tree);
            }
        }
        Ok(Salvaged { report: self.report, indexes })
    }
}

/// A row's clustered key as text, or its hidden row id.
fn name_of(table: &TableDef, key: &[u8], payload: &[u8]) -> Result<String> {
    match table.has_hidden_row_id() {
        true => Ok(row_id_of(key)?.to_string()),
        false => describe_entry(table.clustered(), key, payload),
    }
}

/// Names the rows between which the lost ranges lie.
struct Gaps<'a> {
    /// The lost ranges that no row has passed yet.
    ranges: &'a [KeyRange],
    /// The last row kept.
    last: Option<String>,
}

impl Gaps<'_> {
    /// Takes the next row kept.
    fn pass(
        &mut self,
        table: &TableDef,
        key: &[u8],
        payload: &[u8],
        lost: &mut Vec<LostRange>,
    ) -> Result<()> {
        let Some(next) = self.ranges.first() else { return Ok(()) };
        let row = name_of(table, key, payload)?;
        if next.lower.as_slice() <= key {
            lost.push(LostRange { after: self.last.take(), before: Some(row.clone()) });
            while let Some((_, rest)) =
                self.ranges.split_first().filter(|(next, _)| next.lower.as_slice() <= key)
            {
                self.ranges = rest;
            }
        }
        self.last = Some(row);
        Ok(())
    }

    /// Finishes after the last row.
    fn end(self, lost: &mut Vec<LostRange>) {
        if !self.ranges.is_empty() {
            lost.push(LostRange { after: self.last, before: None });
        }
    }
}
