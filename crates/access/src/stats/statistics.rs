//! The statistics of all tables, each sampled when first asked for.

use super::histogram::Histogram;
use super::hypothetical::HypotheticalIndex;
use super::index::{IndexStatistics, sample};
use super::kept::{Age, Kept};
use super::table::TableSample;
use crate::constraint::KeyRange;
use crate::error::Result;
use leafline_btree::Estimate;
use leafline_table::{Core, HistogramDef, IndexDef, Partition, TableDef, TableId};
use leafline_types::MysqlError;
use leafline_types::key::{KeyPart, skip_part};
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, RwLock};

/// The sampled statistics of the tables of an engine.
#[derive(Debug, Default)]
pub struct Statistics {
    indexes: Kept<u64, IndexStatistics>,
    /// By the version of the table: another one may have other columns.
    tables: Kept<(TableId, u16), TableSample>,
    hypothetical: Kept<u64, HypotheticalIndex>,
    /// Histograms of the catalog as they are looked up.
    asked_for: RwLock<HashMap<(TableId, usize), AskedFor>>,
    /// The sizes of whole indexes.
    sizes: RwLock<HashMap<u64, Sized>>,
}

/// A histogram of the catalog, and what is made of it.
type AskedFor = (Arc<HistogramDef>, Arc<Histogram>);

/// The size of an index as it was.
#[derive(Clone, Copy, Debug)]
struct Sized {
    estimate: Estimate,
    /// Rows of the table then.
    rows: f64,
    /// Pages that had come into memory and gone from it.
    moved: u64,
}

/// The common values of the first part of an index.
pub(crate) struct CommonValues {
    histogram: Arc<Histogram>,
    part: KeyPart,
}

impl CommonValues {
    /// Whether a range is of one of them.
    pub fn has(&self, range: &KeyRange) -> bool {
        let Some(bytes) = (range.equal.parts > 0)
            .then(|| skip_part(&self.part, &range.lower).ok())
            .flatten()
            .and_then(|length| range.lower.get(..length))
        else {
            return false;
        };
        // As a part that can be NULL, in ascending order.
        let marker = if self.part.nullable { &[][..] } else { &[1] };
        let inverted = |byte: &u8| if self.part.descending { !byte } else { *byte };
        let key: Vec<u8> = marker.iter().copied().chain(bytes.iter().map(inverted)).collect();
        self.histogram.frequent_share(&key).is_some()
    }
}

impl Statistics {
    /// Nothing known yet.
    pub fn new() -> Statistics {
        Statistics::default()
    }

    /// The statistics of an index.
    ///
    /// # Errors
    /// The errors of reading pages.
    pub fn index(&self, engine: &Core, table: &TableDef, index: &IndexDef) -> Result<Arc<IndexStatistics>> {
        if index.is_hypothetical() {
            return Ok(Arc::new(self.hypothetical(engine, table, index)?.statistics.clone()));
        }
        if let Some((part, own)) = largest(engine, table).zip(position_of(table, index)) {
            let Some(of_part) = part.indexes.get(own) else {
                return Err(MysqlError::internal("an index").into());
            };
            let known = self.index(engine, part, of_part)?;
            return Ok(Arc::new(known.of_partitions(engine.rows_of(table) as f64, table, index)));
        }
        let age = age(engine, table);
        self.indexes.get(index.id, age, || sample(engine, table, index, age.rows))
    }

    /// The size of a whole index, and how much of it is in memory: looked at again when a hundredth of the rows has come or gone, or as many
    /// pages have been read or evicted as are a hundredth of the index.
    ///
    /// # Errors
    /// The errors of reading branch pages.
    pub fn size(&self, engine: &Core, table: &TableDef, index: &IndexDef) -> Result<Estimate> {
        if index.is_hypothetical() {
            return Ok(self.hypothetical(engine, table, index)?.size);
        }
        if let (Some(partitioning), Some(position)) = (&table.partitioning, position_of(table, index)) {
            let empty = Estimate { entries: 0.0, leaves: 0.0, resident_fraction: 0.0, depth: 1, exact: true };
            let mut sum = empty;
            for Partition { table, .. } in partitioning.partitions.iter() {
                let own = &table.indexes[position];
                let found = self.size(engine, table, own)?;
                sum.resident_fraction += found.resident_fraction * found.leaves;
                (sum.entries, sum.leaves) = (sum.entries + found.entries, sum.leaves + found.leaves);
                (sum.depth, sum.exact) = (sum.depth.max(found.depth), sum.exact && found.exact);
            }
            sum.resident_fraction /= sum.leaves.max(1.0);
            return Ok(sum);
        }
        let rows = engine.row_count(table.id) as f64;
        let pages = engine.store().stats();
        let moved = pages.page_reads.load(Relaxed).wrapping_add(pages.evictions.load(Relaxed));
        let known = self.sizes.read().unwrap_or_else(PoisonError::into_inner).get(&index.id).copied();
        if let Some(known) = known
            && (known.rows - rows).abs() <= known.rows * 0.01
            && moved.wrapping_sub(known.moved) as f64 <= known.estimate.leaves * 0.01
        {
            return Ok(known.estimate);
        }
        // How many entries there are is known: it takes no look at leaves.
        let mut estimate = engine.tree(index)?.estimate_knowing(&[], None, Some(1.0))?;
        if !estimate.exact {
            estimate.entries = rows;
        }
        let found = Sized { estimate, rows, moved };
        self.sizes.write().unwrap_or_else(PoisonError::into_inner).insert(index.id, found);
        Ok(estimate)
    }

    /// The statistics of an index that is not there.
    ///
    /// # Errors
    /// The errors of reading pages of the table.
    pub fn hypothetical(
        &self,
        engine: &Core,
        table: &TableDef,
        index: &IndexDef,
    ) -> Result<Arc<HypotheticalIndex>> {
        self.hypothetical.get(index.id, age(engine, table), || {
            let size = self.size(engine, table, table.clustered())?;
            HypotheticalIndex::new(engine, (table, size), index, &*self.rows(engine, table)?)
        })
    }

    /// Forgets hypothetical indexes, which nobody will ask about again.
    pub fn forget_hypothetical(&self, ids: &[u64]) {
        self.hypothetical.forget(|id| ids.contains(id));
    }

    /// Rows of a table.
    ///
    /// # Errors
    /// The errors of reading pages.
    pub(crate) fn rows(&self, engine: &Core, table: &TableDef) -> Result<Arc<TableSample>> {
        if let Some(part) = largest(engine, table) {
            return self.rows(engine, part);
        }
        self.tables
            .get((table.id, table.schema_version), age(engine, table), || TableSample::take(engine, table))
    }

    /// The spread of the values of a column; `None` if there is no such column.
    ///
    /// # Errors
    /// The errors of reading pages.
    pub fn histogram(
        &self,
        engine: &Core,
        table: &TableDef,
        column: usize,
    ) -> Result<Option<Arc<Histogram>>> {
        if let Some(asked_for) = self.asked_for(table, column) {
            return Ok(Some(asked_for));
        }
        self.rows(engine, table)?.histogram(table, column)
    }

    /// The histogram of a column that ANALYZE TABLE has made.
    fn asked_for(&self, table: &TableDef, column: usize) -> Option<Arc<Histogram>> {
        let definition = table.histogram(column)?;
        let key = (table.id, column);
        let known = self.asked_for.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some((_, known)) = known.filter(|(of, _)| Arc::ptr_eq(of, definition)) {
            return Some(known);
        }
        let made = Arc::new(Histogram::of_definition(definition, table.columns.get(column)?)?);
        let entry = (definition.clone(), made.clone());
        self.asked_for.write().unwrap_or_else(PoisonError::into_inner).insert(key, entry);
        Some(made)
    }

    /// Distinct values of a column but NULL: as its histogram says, or an index that leads with it, which has looked at more.
    ///
    /// # Errors
    /// The errors of reading pages.
    pub fn distinct_values(&self, engine: &Core, table: &TableDef, column: usize) -> Result<f64> {
        let rows = engine.rows_of(table) as f64;
        let mut found = None;
        for index in &table.indexes {
            if index.leading_columns().first() != Some(&column) || index.parts.is_empty() {
                continue;
            }
            let unique = index.is_unique() && index.parts.len() == 1;
            if unique {
                return Ok(rows.max(1.0));
            }
            found = Some((rows / self.index(engine, table, index)?.entries_per(1)).max(1.0));
        }
        match found {
            Some(found) => Ok(found),
            None => Ok(self.histogram(engine, table, column)?.map_or(1.0, |known| known.distinct().max(1.0))),
        }
    }

    /// The share of the pairs of rows of two tables whose values in a column each are equal; `None` if these are of different types, so
    /// that nothing is known of them together.
    ///
    /// # Errors
    /// The errors of reading pages.
    pub fn share_of_equal_pairs(
        &self,
        engine: &Core,
        [left, right]: [(&TableDef, usize); 2],
    ) -> Result<Option<f64>> {
        let kind = |(table, column): (&TableDef, usize)| {
            table.columns.get(column).map(|column| (column.ty.clone(), column.collation))
        };
        if kind(left).is_none() || kind(left) != kind(right) {
            return Ok(None);
        }
        let histogram = |(table, column)| self.histogram(engine, table, column);
        let (Some(of_left), Some(of_right)) = (histogram(left)?, histogram(right)?) else { return Ok(None) };
        let distinct = |(table, column)| self.distinct_values(engine, table, column);
        let distinct = distinct(left)?.max(distinct(right)?);
        Ok(Some(of_left.share_of_equal_pairs(&of_right, distinct)))
    }

    /// The common values of the first part of an index; `None` if it has only the beginnings of values.
    ///
    /// # Errors
    /// The errors of reading pages.
    pub(crate) fn common_values(
        &self,
        engine: &Core,
        table: &TableDef,
        index: &IndexDef,
    ) -> Result<Option<CommonValues>> {
        let (Some(column), Some(part)) = (index.key_columns.first(), index.key_parts.first()) else {
            return Ok(None);
        };
        if part.prefix.is_some() {
            return Ok(None);
        }
        let histogram = self.histogram(engine, table, *column)?;
        Ok(histogram.map(|histogram| CommonValues { histogram, part: part.clone() }))
    }

    /// Forgets what is known of a table's indexes and columns, so that they are sampled again: `ANALYZE TABLE`.
    pub fn forget(&self, table: &TableDef) {
        let partitions = table.partitioning.iter().flat_map(|all| all.partitions.iter());
        partitions.for_each(|partition| self.forget(&partition.table));
        let is_its = |id: &u64| table.indexes.iter().any(|index| index.id == *id);
        self.indexes.forget(is_its);
        // Of which table each is, only sessions know.
        self.hypothetical.forget(|_| true);
        self.tables.forget(|(id, _)| *id == table.id);
        self.asked_for.write().unwrap_or_else(PoisonError::into_inner).retain(|(id, _), _| *id != table.id);
        self.sizes.write().unwrap_or_else(PoisonError::into_inner).retain(|id, _| !is_its(id));
    }
}

/// The partition with the most rows, which stands for the others; `None` if the table has none.
pub(crate) fn largest<'t>(engine: &Core, table: &'t TableDef) -> Option<&'t Arc<TableDef>> {
    let partitions = table.partitioning.as_ref()?.partitions.iter().map(|partition| &partition.table);
    partitions.max_by_key(|table| (engine.rows_of(table), std::cmp::Reverse(table.id)))
}

/// The index itself, or that of the largest partition.
pub(crate) fn largest_with(engine: &Core, table: &TableDef, index: &Arc<IndexDef>) -> Arc<IndexDef> {
    let own = largest(engine, table).zip(position_of(table, index));
    own.map_or(index, |(part, position)| &part.indexes[position]).clone()
}

fn position_of(table: &TableDef, index: &IndexDef) -> Option<usize> {
    table.indexes.iter().position(|known| known.id == index.id)
}

fn age(engine: &Core, table: &TableDef) -> Age {
    Age { rows: engine.row_count(table.id) as f64, writes: engine.rows_written(table.id) }
}
