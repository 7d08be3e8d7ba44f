//! GROUP_CONCAT, JSON_ARRAYAGG and JSON_OBJECTAGG beyond memory.
//!
//! When memory runs out, the values that such an aggregate holds stay in memory. Entries of further rows go to a sort on disk by
//! group, key and number ([`leafline_expr::aggregate::GroupedAccumulator::close`]). At the end each group in turn receives its
//! entries and is finished, so that only one result is in progress. With DISTINCT and an order other than that of the values, a
//! sort by the values comes first.

use super::super::ExecutionContext;
use super::super::spill::{EntrySort, SortedEntries};
use leafline_expr::aggregate::{Entry, Gathering, GroupedAccumulator};
use leafline_types::{MysqlError, Value};

/// Entries on their way to disk.
pub(super) struct Gathered {
    gathering: Gathering,
    sort: EntrySort,
    payload: Vec<u8>,
}

impl Gathered {
    /// Stops the accumulator from keeping more values; none if it keeps no values of rows.
    pub fn begin(accumulator: &mut GroupedAccumulator, cx: &mut ExecutionContext<'_>) -> Option<Gathered> {
        let gathering = accumulator.gathering()?;
        accumulator.close();
        Some(Gathered { gathering, sort: EntrySort::new(cx), payload: Vec::new() })
    }

    /// Writes the entries of the last batch.
    pub fn write(&mut self, accumulator: &GroupedAccumulator) -> Result<(), MysqlError> {
        for entry in accumulator.entries() {
            let group = entry.group.to_be_bytes();
            if self.gathering != Gathering::OnceByValue {
                self.sort.push(&[&group, entry.key], entry.payload)?;
                continue;
            }
            self.payload.clear();
            self.payload.extend_from_slice(&(entry.key.len() as u32).to_le_bytes());
            self.payload.extend_from_slice(entry.key);
            self.payload.extend_from_slice(entry.payload);
            self.sort.push(&[&group, entry.value], &self.payload)?;
        }
        Ok(())
    }

    /// Sorts the entries after the last row.
    pub fn finish(self, cx: &mut ExecutionContext<'_>) -> Result<GroupEntries, MysqlError> {
        let sort = match self.gathering {
            Gathering::OnceByValue => by_key(self.sort, cx)?,
            _ => self.sort,
        };
        Ok(GroupEntries {
            entries: sort.finish()?,
            once: self.gathering == Gathering::OnceByKey,
            waits: false,
            key: Vec::new(),
            payload: Vec::new(),
        })
    }
}

/// Sorts the first entry of each value by the keys.
fn by_key(values: EntrySort, cx: &mut ExecutionContext<'_>) -> Result<EntrySort, MysqlError> {
    let mut sort = EntrySort::new(cx);
    let mut values = values.finish()?;
    let mut before = Vec::new();
    while let Some((value, number, payload)) = values.next()? {
        cx.eval.cancel.check()?;
        if value == before {
            continue;
        }
        before.clear();
        before.extend_from_slice(value);
        let parts = payload.split_first_chunk::<4>().and_then(|(length, rest)| {
            let (key, payload) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            Some((value.get(..4)?, key, payload))
        });
        let Some((group, key, payload)) = parts else {
            return Err(MysqlError::internal("an entry without its group or key"));
        };
        sort.push_numbered(&[group, key], number, payload)?;
    }
    Ok(sort)
}

/// Sorted entries on disk, to be returned to their groups.
pub(super) struct GroupEntries {
    entries: SortedEntries,
    /// Of entries with equal keys only the first counts.
    once: bool,
    /// The last entry read belongs to a later group.
    waits: bool,
    /// The group's number and the key of the last entry.
    key: Vec<u8>,
    payload: Vec<u8>,
}

impl GroupEntries {
    /// Finishes a group. Callers ask for groups in the order of their numbers.
    pub fn finish_group(
        &mut self,
        group: u32,
        accumulator: &mut GroupedAccumulator,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<Value, MysqlError> {
        while self.waits || self.read(cx)? {
            let Some((number, key)) = self.key.split_first_chunk::<4>() else {
                return Err(MysqlError::internal("an entry without its group"));
            };
            self.waits = u32::from_be_bytes(*number) != group;
            if self.waits {
                break;
            }
            let entry = Entry { group, value: &[], key, payload: &self.payload };
            accumulator.take_back(entry, &mut cx.eval)?;
        }
        accumulator.finish_group(group as usize, &mut cx.eval)
    }

    /// Reads the next entry that counts; false if there is none.
    fn read(&mut self, cx: &mut ExecutionContext<'_>) -> Result<bool, MysqlError> {
        cx.eval.cancel.check()?;
        while let Some((key, _, payload)) = self.entries.next()? {
            if self.once && key == self.key {
                continue;
            }
            self.key.clear();
            self.key.extend_from_slice(key);
            self.payload.clear();
            self.payload.extend_from_slice(payload);
            return Ok(true);
        }
        Ok(false)
    }
}
