//! Runtime filters: the keys that the build side of a hash join turned out to have, as constraints of a scan below its probe side.
//!
//! Rows that a filter lets pass are looked up in the join again, so it may let too much pass, and is left out where it would not pay:
//!
//! | the column is | few values | more |
//! |---|---|---|
//! | a part of the index behind parts of one value each, or the first | key ranges, if they are few against the entries | a range from the least to the greatest |
//! | a part of one value, in a lookup | those that no row can have are not looked up | a range from the least to the greatest |
//! | another part of a secondary index | tests on entries | a range from the least to the greatest |
//! | a number in rows of the clustered index | a set of numbers, looked up before the row is decoded | the same |
//!
//! Values are put into the column's keys by the domain in which the join compares, like those of any condition. NULL is none of them. Filters of several joins
//! above one scan are applied together (as dynamic filters of Presto and DuckDB are, and the runtime filters of Impala).

use crate::constraint::IntervalSet;
use crate::params::{FILTER_ENTRIES_PER_SEEK, FILTER_LISTED_VALUES, FILTER_MAX_SEEKS};
use crate::path::AccessPath;
use crate::path::pruning::Pruning;
use leafline_expr::CompareDomain;
use leafline_expr::domain::equal_key;
use leafline_table::TableDef;
use leafline_types::{KeyPart, NumberSet, Value, prefix_successor};
use std::sync::Arc;

/// The values that a column has to have.
#[derive(Debug)]
pub struct RuntimeFilter {
    /// The column, by its ordinal in the table.
    column: usize,
    domain: CompareDomain,
    /// All of them, if they are few.
    few: Option<Vec<Value>>,
    /// The least and the greatest, if that is known.
    ends: Option<(Value, Value)>,
    /// As the numbers that they are in rows, if they are such.
    numbers: Option<Arc<NumberSet>>,
}

/// Collects the values of a filter.
#[derive(Debug)]
pub struct FilterValues {
    column: usize,
    domain: CompareDomain,
    key: KeyPart,
    few: Option<Vec<Value>>,
    numbers: Option<Vec<u64>>,
    least: Option<(u64, Value)>,
    greatest: Option<(u64, Value)>,
    bytes: Vec<u8>,
}

impl FilterValues {
    /// Of a column of a table, by its ordinal; `domain` is what both sides of the join are converted to. `None`: there is no such column.
    pub fn new(table: &TableDef, column: usize, domain: CompareDomain) -> Option<FilterValues> {
        let ty = table.columns.get(column)?.ty.clone();
        let numbers = (!ty.is_string()).then(Vec::new);
        let key = KeyPart::new(ty);
        let (few, bytes) = (Some(Vec::new()), Vec::new());
        Some(FilterValues { column, domain, key, few, numbers, least: None, greatest: None, bytes })
    }

    /// Adds one, which may be NULL or have been added before. False if there will be no filter.
    pub fn add(&mut self, value: Value) -> bool {
        if value.is_null() {
            return true;
        }
        if let Some(numbers) = &mut self.numbers {
            self.bytes.clear();
            match equal_key(&self.key, &value, self.domain, &mut self.bytes) {
                // No row has it.
                Some(false) => return true,
                Some(true) => match big_endian(&self.bytes) {
                    Some(number) => {
                        numbers.push(number);
                        if self.least.as_ref().is_none_or(|(least, _)| number < *least) {
                            self.least = Some((number, value.clone()));
                        }
                        if self.greatest.as_ref().is_none_or(|(greatest, _)| number > *greatest) {
                            self.greatest = Some((number, value.clone()));
                        }
                    }
                    None => self.numbers = None,
                },
                None => return false,
            }
        }
        if let Some(few) = &mut self.few {
            few.push(value);
            if few.len() > FILTER_LISTED_VALUES {
                self.few = None;
            }
        }
        self.few.is_some() || self.numbers.is_some()
    }

    /// The filter.
    pub fn finish(self) -> RuntimeFilter {
        let numbers = self.numbers.map(|numbers| Arc::new(NumberSet::new(&numbers)));
        let ends = numbers.as_ref().and_then(|_| Some((self.least?.1, self.greatest?.1)));
        RuntimeFilter { column: self.column, domain: self.domain, few: self.few, ends, numbers }
    }
}

/// Up to eight bytes as the number that they are.
fn big_endian(bytes: &[u8]) -> Option<u64> {
    let mut wide = [0; 8];
    wide.get_mut(8usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(u64::from_be_bytes(wide))
}

impl RuntimeFilter {
    /// The bytes that it holds in memory.
    pub fn memory_bytes(&self) -> usize {
        let few = self.few.as_ref().map_or(0, |few| few.capacity() * size_of::<Value>());
        few + self.numbers.as_ref().map_or(0, |numbers| numbers.memory_bytes())
    }

    /// Each of the values, as a part of an index has them.
    fn points(&self, part: &KeyPart) -> Option<IntervalSet> {
        let mut points = Vec::new();
        for value in self.few.as_ref()? {
            let mut bytes = Vec::new();
            if equal_key(part, value, self.domain, &mut bytes)? {
                points.push(bytes);
            }
        }
        Some(IntervalSet::points(points))
    }

    /// All values from the least to the greatest, as a part of an index has them.
    fn interval(&self, part: &KeyPart) -> Option<IntervalSet> {
        let (least, greatest) = self.ends.as_ref()?;
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let are_keys =
            equal_key(part, least, self.domain, &mut a)? && equal_key(part, greatest, self.domain, &mut b)?;
        let (first, last) = if a <= b { (a, b) } else { (b, a) };
        are_keys.then(|| IntervalSet::range(first, prefix_successor(&last)))
    }
}

/// The numbers that rows are still to be looked up by, each with its column's ordinal in the table.
pub(crate) type Lookups = Vec<(usize, Arc<NumberSet>)>;

impl AccessPath {
    /// Returns the path for rows that filters let pass, of about so many entries that it would examine.
    #[must_use]
    pub fn narrowed(&self, filters: &[Arc<RuntimeFilter>], examined: f64) -> AccessPath {
        self.narrowed_by(filters, examined).0
    }

    /// Partitions without any of the values are left out.
    fn prune_by(&mut self, filter: &RuntimeFilter) {
        let (Some(partitioning), Some(pruning)) = (&self.table.partitioning, &self.pruning) else { return };
        let scheme = &partitioning.scheme;
        let mut constraints = pruning.constraints.clone();
        for (constraint, scheme) in constraints.iter_mut().zip([Some(scheme), scheme.subdivision.as_ref()]) {
            let Some(scheme) = scheme else { continue };
            let mut parts = scheme.columns.iter().zip(&scheme.parts).enumerate();
            let found = parts.find(|(_, (column, _))| **column == filter.column);
            let Some((position, (_, part))) = found else { continue };
            if let Some(set) = filter.points(part).or_else(|| filter.interval(part)) {
                *constraint = constraint.clone().narrowed(position, part, set);
            }
        }
        self.pruning = Some(Arc::new(Pruning { constraints }));
    }

    /// Narrows the path, and returns it with the sets in which rows are looked up before they are decoded.
    pub(crate) fn narrowed_by(&self, filters: &[Arc<RuntimeFilter>], examined: f64) -> (AccessPath, Lookups) {
        let mut path = self.clone();
        let mut lookups = Lookups::new();
        if path.is_index_merge() {
            return (path, lookups);
        }
        for filter in filters {
            path.prune_by(filter);
            let mut sought = false;
            let parts = self.index.key_columns.iter().zip(&self.index.key_parts).enumerate();
            let parts =
                parts.filter(|(_, (column, part))| **column == filter.column && part.prefix.is_none());
            for (position, (_, part)) in parts {
                let leads = position <= path.constraint.used_parts();
                if !leads && self.is_clustered() {
                    // Rows are taken many at a time where nothing is asked of their keys.
                    continue;
                }
                let is_fixed = position < path.constraint.equal_parts();
                let points = filter.points(part).filter(|points| {
                    let values = points.intervals().len();
                    is_fixed
                        || !leads
                        || (values <= FILTER_MAX_SEEKS && values as f64 * FILTER_ENTRIES_PER_SEEK <= examined)
                });
                sought |= leads && points.is_some();
                if let Some(set) = points.or_else(|| filter.interval(part)) {
                    path.constraint = path.constraint.narrowed(position, part, set);
                }
            }
            if let (false, true, Some(numbers)) = (sought, self.is_clustered(), &filter.numbers) {
                lookups.push((filter.column, numbers.clone()));
            }
        }
        (path, lookups)
    }
}
