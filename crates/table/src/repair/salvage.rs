//! From a damaged clustered index to a new one.

use super::report::{LostRange, SalvageReport};
use crate::build::{build_secondary, finish_builder, new_builder, push_entry};
use crate::catalog::{IndexDef, TableDef};
use crate::check::{damage, hex};
use crate::ddl::NewTrees;
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::index::entry::{describe_entry, row_id_of, row_values};
use crate::run::Sorter;
use leafline_btree::{KeyRange, Salvage};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows that are left out because another one has the same values in a unique index, at most: more than that is not
/// what damage does.
const MAX_DUPLICATES: usize = 1000;

/// What came of it.
pub(super) struct Salvaged {
    pub(super) report: SalvageReport,
    /// The table's indexes, with their new trees; with the old ones of a dry run.
    pub(super) indexes: Vec<Arc<IndexDef>>,
}

/// Builds all indexes of `table` from the readable leaves of its clustered index; with `dry_run` only looks at those.
pub(super) fn salvage(
    engine: &Engine,
    table: &TableDef,
    dry_run: bool,
    new: &mut NewTrees<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<Salvaged> {
    let old = engine.trees.current(table.clustered().tree)?;
    let found = old.tree.salvage(progress)?;
    // Rows of an older state of a leaf may be in the way of newer ones: what is left out is found by trying.
    let mut left_out: BTreeMap<Vec<u8>, String> = BTreeMap::new();
    loop {
        let mut attempt = NewTrees::new(engine);
        match build(engine, table, &found, &left_out, dry_run, &mut attempt) {
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
                let row = format!("the row with clustered key {}", hex(&locator));
                left_out.insert(locator, format!("{row}: another has '{entry}' in the unique index {index}"));
            }
            Err(error) => return Err(error),
        }
    }
}

fn build(
    engine: &Engine,
    table: &TableDef,
    found: &Salvage,
    left_out: &BTreeMap<Vec<u8>, String>,
    dry_run: bool,
    new: &mut NewTrees<'_>,
) -> Result<Salvaged> {
    let mut report = SalvageReport::default();
    let mut gaps = Gaps { ranges: &found.lost, last: None };
    let memory = engine.options.build_memory_bytes / table.indexes.len().max(1) as u64;
    let mut sorters: Vec<Sorter> =
        table.secondary().iter().map(|_| Sorter::new(&engine.env, memory)).collect();
    let mut builder = match dry_run {
        true => None,
        false => Some(new_builder(engine, new)?.1),
    };
    found.entries(|key, entry| -> Result<()> {
        if entry.is_ghost() || left_out.contains_key(key) {
            return Ok(());
        }
        match row_values(table, key, entry.payload).map_err(damage) {
            Ok(_) => {}
            Err(Ok((_, what))) => {
                report
                    .left_out
                    .push(format!("the row with clustered key {} cannot be read: {what}", hex(key)));
                return Ok(());
            }
            Err(Err(error)) => return Err(error),
        }
        gaps.pass(table, key, entry.payload, &mut report.lost)?;
        report.rows += 1;
        if let Some(builder) = &mut builder {
            for (index, sorter) in table.secondary().iter().zip(&mut sorters) {
                push_entry(engine, table, index, sorter, (key, entry.payload))?;
            }
            builder.push(key, entry.payload)?;
        }
        Ok(())
    })?;
    gaps.end(&mut report.lost);
    let mut indexes = table.indexes.clone();
    if let Some(builder) = builder {
        let mut trees = vec![finish_builder(engine, builder)?];
        for (index, sorter) in table.secondary().iter().zip(sorters) {
            trees.push(build_secondary(engine, table, index, sorter, new)?);
        }
        for (index, tree) in indexes.iter_mut().zip(&trees) {
            let index: &mut IndexDef = Arc::make_mut(index);
            (index.tree, index.root) = (tree.id(), tree.root());
        }
    }
    Ok(Salvaged { report, indexes })
}

/// Says between which rows the ranges lie that are lost.
struct Gaps<'a> {
    /// Those that no row has been met beyond.
    ranges: &'a [KeyRange],
    /// The last row.
    last: Option<String>,
}

impl Gaps<'_> {
    /// A row that is kept, the next one.
    fn pass(
        &mut self,
        table: &TableDef,
        key: &[u8],
        payload: &[u8],
        lost: &mut Vec<LostRange>,
    ) -> Result<()> {
        let Some(next) = self.ranges.first() else { return Ok(()) };
        let row = match table.has_hidden_row_id() {
            true => row_id_of(key)?.to_string(),
            false => describe_entry(table.clustered(), key, payload)?,
        };
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

    /// There is no further row.
    fn end(self, lost: &mut Vec<LostRange>) {
        if !self.ranges.is_empty() {
            lost.push(LostRange { after: self.last, before: None });
        }
    }
}
