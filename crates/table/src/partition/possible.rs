//! The partitions that rows can be in whose columns lie in ranges of keys.
//!
//! Ranges are of the bytes of the columns that decide, as [`PartitionScheme::parts`] has them. What is found is never too little. A
//! partition function is understood where ranges are single values, and where it is known to ascend with its only column: then the
//! values at the ends of a range bound it. An end may be no value that a column can have, such as the day behind the last of a
//! month, for which the function gives NULL; its neighbour on the other side is asked then.

use super::scheme::{PartitionScheme, Places};
use crate::error::Result;
use leafline_expr::{Expr, ExprKind};
use leafline_types::key::decode_value;
use leafline_types::{KeyPart, SqlType, Value, is_restorable};
use std::ops::Bound;

/// Functions of a day or moment that ascend with it, and whether they may be NULL where it is not.
const ASCENDING: &[(&str, bool)] =
    &[("year", false), ("to_days", true), ("to_seconds", true), ("unix_timestamp", true)];

/// Partitions, by their numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Possible {
    found: Vec<bool>,
}

impl Possible {
    /// Whether a partition is among them.
    pub fn has(&self, number: usize) -> bool {
        self.found[number]
    }

    /// The subpartitions of these partitions whose places in their partitions are among `below`.
    #[must_use]
    pub fn subdivided(&self, below: &Possible) -> Possible {
        let tables = self.found.iter().flat_map(|of| below.found.iter().map(move |found| *of && *found));
        Possible { found: tables.collect() }
    }

    /// Whether all partitions are.
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

/// How a partition function goes with its only column.
enum Course {
    /// It is the column.
    Column,
    /// It ascends; it may be NULL where the column is not.
    Ascending { nullable: bool },
    /// Nothing is known.
    Unknown,
}

impl PartitionScheme {
    /// No partition yet.
    pub fn none_possible(&self) -> Possible {
        Possible { found: vec![false; self.partitions.len()] }
    }

    /// All tables that rows are in.
    pub fn all_possible(&self) -> Possible {
        Possible { found: vec![true; self.tables()] }
    }

    /// All partitions, whatever they are divided into.
    pub fn all_partitions(&self) -> Possible {
        Possible { found: vec![true; self.partitions.len()] }
    }

    /// Adds the partitions that rows can be in whose keys lie from `lower` to below `upper`; `equal`: all of them have the bytes `lower`.
    ///
    /// # Errors
    /// `Internal` if the function is not bound.
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
        // Values begin behind the only byte of NULL.
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

    /// Adds the partitions of numbers from `least` to `most`.
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

    /// A row that has the values of a key, if they can be read from it.
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

    /// A row with these values in the columns that decide.
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

/// The greatest bytes of that length that are less.
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
