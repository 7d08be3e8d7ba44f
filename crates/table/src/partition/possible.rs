//! The partitions that may hold rows whose columns lie in given ranges of keys.
//!
//! The ranges are of the bytes of the deciding columns, as [`PartitionScheme::parts`] encodes them. The result may
//! contain too many partitions, never too few. A partition function is used in two cases: if a range is a single
//! value, and if the function is known to ascend with its only column; then its values at the ends of a range bound
//! it. The end of a range may be a value that the column cannot have, such as the day after the last of a month, and
//! the function is then NULL. In that case the neighbour on the other side of the end is used.

use crate::catalog::{PartitionScheme, Places};
use crate::error::Result;
use leafline_expr::{Expr, ExprKind};
use leafline_types::key::decode_value;
use leafline_types::{KeyPart, SqlType, Value, is_restorable};
use std::ops::Bound;

/// Functions that ascend with a date or time, and whether they may be NULL for a value that is not NULL.
const ASCENDING: &[(&str, bool)] =
    &[("year", false), ("to_days", true), ("to_seconds", true), ("unix_timestamp", true)];

/// A set of partitions, by number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Possible {
    found: Vec<bool>,
}

impl Possible {
    /// Returns whether the set contains a partition.
    pub fn has(&self, number: usize) -> bool {
        self.found[number]
    }

    /// The subpartitions of these partitions whose places in their partitions are in `below`.
    #[must_use]
    pub fn subdivided(&self, below: &Possible) -> Possible {
        let tables = self.found.iter().flat_map(|of| below.found.iter().map(move |found| *of && *found));
        Possible { found: tables.collect() }
    }

    /// Returns whether the set contains all partitions.
    pub fn is_all(&self) -> bool {
        self.found.iter().all(|found| *found)
    }

    fn add(&mut self, number: Option<usize>) {
        if let Some(found) = number.and_then(|number| self.found.get_mut(number)) {
            *found = true;
        }
    }

    fn add_all(&mut self) {
        self.found.fill(true);
    }

    fn add_between(&mut self, first: usize, last: usize) {
        let end = self.found.len().min(last.saturating_add(1));
        if let Some(found) = self.found.get_mut(first..end) {
            found.fill(true);
        }
    }
}

/// The relation between a partition function and its only column.
enum Course {
    /// The function is the column.
    Column,
    /// The function ascends with the column. `nullable` says whether it may be NULL where the column is not.
    Ascending { nullable: bool },
    /// The relation is unknown.
    Unknown,
}

impl PartitionScheme {
    /// The empty set of partitions.
    pub fn none_possible(&self) -> Possible {
        Possible { found: vec![false; self.partitions.len()] }
    }

    /// The set of all tables that hold rows.
    pub fn all_possible(&self) -> Possible {
        Possible { found: vec![true; self.tables()] }
    }

    /// The set of all partitions; subpartitions do not count.
    pub fn all_partitions(&self) -> Possible {
        Possible { found: vec![true; self.partitions.len()] }
    }

    /// Adds the partitions that may hold rows with keys from `lower` to below `upper`. `equal` says that all these
    /// keys have the bytes `lower`.
    ///
    /// # Errors
    /// `Internal` if the partition function is not bound.
    pub fn add_possible(
        &self,
        (lower, upper): (&[u8], Option<&[u8]>),
        equal: bool,
        to: &mut Possible,
    ) -> Result<()> {
        match &self.places {
            _ if self.has_function() => self.add_of_function((lower, upper), equal, to)?,
            Places::KeyEnds(ends) => {
                let first = ends.partition_point(|end| end.as_slice() <= lower);
                let last = match upper {
                    Some(upper) => ends.partition_point(|end| end.as_slice() < upper),
                    None => ends.len(),
                };
                to.add_between(first, last);
            }
            Places::KeyLists(lists) => {
                let upper = upper.map_or(Bound::Unbounded, Bound::Excluded);
                if upper == Bound::Unbounded || matches!(upper, Bound::Excluded(upper) if lower < upper) {
                    let range = lists.range::<[u8], _>((Bound::Included(lower), upper));
                    range.for_each(|(_, number)| to.add(Some(*number)));
                }
            }
            Places::Counted(_) if equal => to.add(self.partition_of_key(lower)),
            Places::Counted(_) | Places::NumberEnds(_) | Places::NumberLists(_) => to.add_all(),
        }
        Ok(())
    }

    fn add_of_function(
        &self,
        (lower, upper): (&[u8], Option<&[u8]>),
        equal: bool,
        to: &mut Possible,
    ) -> Result<()> {
        let function = self.function()?;
        if equal {
            match self.values_of(lower).map(|row| self.number_of(&row)) {
                Some(Ok(number)) => to.add(self.partition_of_number(number)),
                Some(Err(_)) | None => to.add_all(),
            }
            return Ok(());
        }
        let (Some(part), 1) = (self.parts.first(), self.parts.len()) else {
            to.add_all();
            return Ok(());
        };
        let nullable = match course(function, part) {
            Course::Unknown => {
                to.add_all();
                return Ok(());
            }
            Course::Column => false,
            Course::Ascending { nullable } => nullable,
        };
        // The key of NULL is a single byte, and all values come after it.
        let is_below_values = |bytes: &[u8]| bytes.first().is_none_or(|marker| *marker == 0);
        if is_below_values(lower) || nullable {
            to.add(self.partition_of_number(None));
        }
        if upper.is_some_and(is_below_values) {
            return Ok(());
        }
        let at = |bytes: Option<Vec<u8>>| {
            let (value, _) = decode_value(part, &bytes?).ok()?;
            self.number_of(&self.row_of(vec![value])).ok()?
        };
        let width = KeyPart { nullable: false, ..part.clone() }.fixed_width().map(|width| width + 1);
        let padded = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            bytes.resize(width?, 0);
            Some(bytes)
        };
        let least = match is_below_values(lower) {
            true => None,
            false => at(padded(lower)).or_else(|| at(padded(lower).and_then(before))),
        };
        let most = upper.and_then(|upper| at(padded(upper).and_then(before)).or_else(|| at(padded(upper))));
        self.add_numbers(least, most, to);
        Ok(())
    }

    /// Adds the partitions for the function's values from `least` to `most`.
    fn add_numbers(&self, least: Option<i128>, most: Option<i128>, to: &mut Possible) {
        match &self.places {
            Places::NumberEnds(ends) => {
                let first = least.map_or(Some(0), |least| self.partition_of_number(Some(least)));
                let last = most.and_then(|most| self.partition_of_number(Some(most)));
                if let Some(first) = first {
                    to.add_between(first, last.unwrap_or(ends.len()));
                }
            }
            Places::NumberLists(lists) => {
                let is_within = |number: &i128| {
                    least.is_none_or(|least| *number >= least) && most.is_none_or(|most| *number <= most)
                };
                let found = lists.iter().filter(|(number, _)| number.as_ref().is_some_and(is_within));
                found.for_each(|(_, partition)| to.add(Some(*partition)));
            }
            Places::Counted(count) => match (least, most) {
                (Some(least), Some(most)) if most.saturating_sub(least) < *count as i128 => {
                    (least..=most).for_each(|number| to.add(self.partition_of_number(Some(number))));
                }
                _ => to.add_all(),
            },
            Places::KeyEnds(_) | Places::KeyLists(_) => to.add_all(),
        }
    }

    /// Decodes the values of a key, if they can be recovered, into a row.
    fn values_of(&self, mut key: &[u8]) -> Option<Vec<Value>> {
        let mut values = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            if !is_restorable(part) {
                return None;
            }
            let (value, length) = decode_value(part, key).ok()?;
            values.push(value);
            key = key.get(length..)?;
        }
        Some(self.row_of(values))
    }

    /// A row with these values in the deciding columns.
    fn row_of(&self, values: Vec<Value>) -> Vec<Value> {
        let width = self.columns.iter().max().map_or(0, |last| last + 1);
        let mut row = vec![Value::Null; width];
        for (column, value) in self.columns.iter().zip(values) {
            if let Some(slot) = row.get_mut(*column) {
                *slot = value;
            }
        }
        row
    }
}

fn course(function: &Expr, part: &KeyPart) -> Course {
    let is_moment = matches!(part.ty, SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. });
    match &function.kind {
        ExprKind::Column(_) if part.ty.is_integer() => Course::Column,
        ExprKind::Call { function, args }
            if is_moment && matches!(args.as_slice(), [arg] if arg.as_column().is_some()) =>
        {
            let name = function.definition().name;
            match ASCENDING.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)) {
                Some((_, nullable)) => Course::Ascending { nullable: *nullable },
                None => Course::Unknown,
            }
        }
        _ => Course::Unknown,
    }
}

/// The greatest bytes of the same length that are less; `None` if there are none.
fn before(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    for byte in bytes.iter_mut().rev() {
        let (less, borrows) = byte.overflowing_sub(1);
        *byte = less;
        if !borrows {
            return Some(bytes);
        }
    }
    None
}
