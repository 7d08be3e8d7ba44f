//! Rows of a table, looked at once and kept: conditions are evaluated on them, and the spread of each column is read off them.
//!
//! The leaves are spread evenly over the clustered index, chosen from the branches above; of each leaf as many rows are taken, evenly
//! spread. A table of few rows is seen as a whole. Ghosts are left out; who may see a row does not matter here.

use super::histogram::{Histogram, NULL_KEY, Seen, ValueCounter};
use super::sample::{SampleLimits, SampledEntries, leaves_to_sample, look, passing};
use crate::constraint::Bounds;
use crate::error::Result;
use crate::params::{DEPENDENCE_LEAST_ROWS, TABLE_BUCKETS, TABLE_COLD_LEAVES, TABLE_LEAVES, TABLE_ROWS};
use arrow_array::ArrayRef;
use leafline_expr::{EvalContext, Expr};
use leafline_table::{ColumnDef, Core, TableDef};
use leafline_types::key::{KeyPart, encode_part};
use leafline_types::{Batch, Value, value_at};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Rows of a table.
#[derive(Debug)]
pub struct TableSample {
    /// Rows of the table then.
    rows: f64,
    /// All columns of those looked at.
    batch: Batch,
    /// Where in the batch the rows of each leaf end.
    leaf_ends: Vec<usize>,
    /// Leaves of the table then.
    leaves: f64,
    /// The statistics of each column, made when they are first asked for.
    columns: Vec<OnceLock<Column>>,
    /// How far a column determines another, as far as it was asked for.
    dependencies: Mutex<HashMap<(usize, usize), f64>>,
}

/// A column of the rows.
#[derive(Debug)]
struct Column {
    spread: Arc<Histogram>,
    /// Per row a number that is the same for equal values.
    numbers: Vec<u32>,
}

/// How many rows of a sample pass conditions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hits {
    /// The rows that pass.
    pub passed: usize,
    /// All that were looked at.
    pub seen: usize,
    /// There are no others in the table.
    pub is_all: bool,
}

impl Hits {
    /// A share of the rows found in another way, as far as the sample does not contradict it: by no more than chance leaves open.
    pub fn bound(&self, share: f64) -> f64 {
        let (passed, seen) = (self.passed as f64, self.seen as f64);
        if self.seen == 0 {
            return share;
        }
        let chance = if self.is_all { 0.0 } else { passed.sqrt() };
        // Where none has passed, one may have been missed.
        let most = if self.passed == 0 { 1.0 } else { passed + 2.0 * chance };
        share.clamp((passed - chance) / seen, most / seen)
    }
}

impl TableSample {
    /// Looks at rows of a table.
    pub(super) fn take(engine: &Core, table: &TableDef) -> Result<TableSample> {
        let rows = engine.row_count(table.id) as f64;
        let size = engine.tree(table.clustered())?.estimate(&[], None)?;
        let leaves = leaves_to_sample(size.resident_fraction, TABLE_LEAVES, TABLE_COLD_LEAVES);
        let leaves = leaves.min(size.leaves as usize).max(1);
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        let most = SampleLimits { leaves, per_leaf: TABLE_ROWS / leaves, read: true, mean: 1.0 };
        let SampledEntries { batch, leaf_ends, .. } =
            look(engine, table.clustered(), &Bounds::all(), &columns, most)?;
        let columns = columns.iter().map(|_| OnceLock::new()).collect();
        Ok(TableSample {
            rows,
            batch,
            leaf_ends,
            leaves: size.leaves,
            columns,
            dependencies: Mutex::default(),
        })
    }

    /// The rows that pass conditions over the columns of the table, by number. `None` if they cannot be evaluated: planning does not fail for
    /// what execution may never evaluate.
    pub(super) fn passing(&self, conditions: &[Expr], eval: &EvalContext<'_>) -> Option<Vec<usize>> {
        passing(conditions, &self.batch, eval).ok()
    }

    /// How many of the rows `passed`, of all or of those that are `given`.
    pub(super) fn hits(&self, given: Option<&[usize]>, passed: &[usize]) -> Hits {
        let is_all = self.batch.rows as f64 >= self.rows;
        let Some(given) = given else {
            return Hits { passed: passed.len(), seen: self.batch.rows, is_all };
        };
        let passed = given.iter().filter(|row| passed.binary_search(row).is_ok()).count();
        Hits { passed, seen: given.len(), is_all }
    }

    /// The spread of the values of a column.
    ///
    /// # Errors
    /// Values that are not of the column's type.
    pub(super) fn histogram(&self, table: &TableDef, column: usize) -> Result<Option<Arc<Histogram>>> {
        Ok(self.column(table, column)?.map(|known| known.spread.clone()))
    }

    /// How far the value of a column determines that of another: the share of the rows, of those whose value in `from` is not the only
    /// one of its kind, that belong to a value with which there is only one in `to`. 0 if there are too few to tell.
    ///
    /// # Errors
    /// Values that are not of their column's type.
    pub(crate) fn dependency(&self, table: &TableDef, from: usize, to: usize) -> Result<f64> {
        let known =
            self.dependencies.lock().unwrap_or_else(PoisonError::into_inner).get(&(from, to)).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let (Some(left), Some(right)) = (self.column(table, from)?, self.column(table, to)?) else {
            return Ok(0.0);
        };
        // Per value: rows, the value beside the first, and whether it is beside all.
        let mut values: HashMap<u32, (usize, u32, bool)> = HashMap::new();
        for (value, beside) in left.numbers.iter().zip(&right.numbers) {
            let entry = values.entry(*value).or_insert((0, *beside, true));
            entry.0 += 1;
            entry.2 &= entry.1 == *beside;
        }
        let several = values.values().filter(|(rows, ..)| *rows > 1);
        let (mut all, mut determined) = (0, 0);
        for (rows, _, same) in several {
            all += rows;
            determined += if *same { *rows } else { 0 };
        }
        let found = if all < DEPENDENCE_LEAST_ROWS { 0.0 } else { determined as f64 / all as f64 };
        self.dependencies.lock().unwrap_or_else(PoisonError::into_inner).insert((from, to), found);
        Ok(found)
    }

    /// Where each row comes in the order of a column, from 0 to 1: of equal ones all in the middle.
    ///
    /// # Errors
    /// Values that are not of the column's type.
    pub(super) fn places_in_order(&self, table: &TableDef, column: usize) -> Result<Option<Vec<f64>>> {
        let Some(column) = self.column(table, column)? else { return Ok(None) };
        let mut rows = vec![0usize; column.numbers.iter().max().map_or(0, |most| *most as usize + 1)];
        column.numbers.iter().for_each(|number| rows[*number as usize] += 1);
        let mut before = 0;
        let middle = |rows: &usize| {
            before += rows;
            (before as f64 - *rows as f64 / 2.0) / column.numbers.len() as f64
        };
        let middles: Vec<f64> = rows.iter().map(middle).collect();
        Ok(Some(column.numbers.iter().map(|number| middles[*number as usize]).collect()))
    }

    fn column(&self, table: &TableDef, column: usize) -> Result<Option<&Column>> {
        let (Some(definition), Some(kept)) = (table.columns.get(column), self.columns.get(column)) else {
            return Ok(None);
        };
        if let Some(known) = kept.get() {
            return Ok(Some(known));
        }
        let made = self.look_at(definition, column)?;
        Ok(Some(kept.get_or_init(|| made)))
    }

    fn look_at(&self, definition: &ColumnDef, column: usize) -> Result<Column> {
        let part = part_of(definition);
        let mut keys: Vec<(Vec<u8>, usize, usize)> = Vec::with_capacity(self.batch.rows);
        if let Some(values) = self.batch.columns.get(column) {
            for (leaf, row) in self.places() {
                let mut key = Vec::new();
                encode_part(&part, &value_at(values, row, &definition.ty), &mut key)?;
                keys.push((key, leaf, row));
            }
        }
        keys.sort_unstable();
        let mut numbers = vec![0; self.batch.rows];
        let mut counting = ValueCounter::default();
        for (key, leaf, row) in keys {
            counting.add(key, leaf);
            if let Some(number) = numbers.get_mut(row) {
                *number = counting.counted.len() as u32;
            }
        }
        Ok(Column { spread: Arc::new(self.spread(&counting)), numbers })
    }

    /// The rows, in the order of the table, each with the leaf that it is on.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let starts = std::iter::once(0).chain(self.leaf_ends.iter().copied());
        let leaves = starts.zip(&self.leaf_ends).enumerate();
        leaves.flat_map(|(leaf, (start, end))| (start..*end).map(move |row| (leaf, row)))
    }

    /// The spread of values that were counted over all of the rows.
    pub(super) fn spread(&self, counting: &ValueCounter) -> Histogram {
        let counted = &counting.counted;
        // NULL comes first.
        let nulls = counted.first().filter(|first| first.key == NULL_KEY).map_or(0, |first| first.rows);
        let not_null = counted.get(usize::from(nulls > 0)..).unwrap_or_default();
        let seen = Seen {
            rows: self.batch.rows,
            nulls,
            leaves: self.leaf_ends.len(),
            of: self.rows,
            of_leaves: self.leaves,
        };
        Histogram::of_sample(not_null, seen, TABLE_BUCKETS)
    }

    /// The values of a row; NULL for columns that are not `wanted`.
    pub(super) fn row(&self, table: &TableDef, row: usize, wanted: &[usize]) -> Vec<Value> {
        let value = |(column, (definition, values)): (usize, (&ColumnDef, &ArrayRef))| {
            if wanted.contains(&column) { value_at(values, row, &definition.ty) } else { Value::Null }
        };
        table.columns.iter().zip(&self.batch.columns).enumerate().map(value).collect()
    }

    /// How many rows were looked at, and how many the table had.
    pub(super) fn counts(&self) -> (usize, f64) {
        (self.batch.rows, self.rows)
    }
}

/// A column as the only part of a key, with NULL as the least value whether or not there can be any.
pub(super) fn part_of(column: &ColumnDef) -> KeyPart {
    KeyPart {
        ty: column.ty.clone(),
        collation: column.collation,
        nullable: true,
        descending: false,
        prefix: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_contradicts_only_what_chance_cannot_explain() {
        let hits = |passed| Hits { passed, seen: 1000, is_all: false };
        assert_eq!(hits(0).bound(0.1), 0.001);
        assert_eq!(hits(0).bound(0.000_01), 0.000_01);
        assert_eq!(hits(4).bound(0.5), 0.008);
        assert_eq!(hits(4).bound(0.003), 0.003);
        assert_eq!(hits(400).bound(0.01), 0.38);
        assert_eq!(Hits { is_all: true, ..hits(4) }.bound(0.5), 0.004);
        assert_eq!(Hits { passed: 0, seen: 0, is_all: true }.bound(0.5), 0.5);
    }
}
