//! The numbers that rows are given while their table is rebuilt, by the old rows they come from: hidden row ids, and
//! AUTO_INCREMENT values.
//!
//! Such a number, often the key of the new row, does not follow from the old row. If others change the old row
//! meanwhile, the number must stay the same. It is therefore stored in a tree, one for each table that stores old
//! rows. Rounds of [`crate::build::CatchUp`] change these trees together with those of the new table. Dropping the
//! map frees them.
//!
//! | key | payload, big-endian |
//! |---|---|
//! | the clustered key of the old row | the hidden row id of the new row, u64 (0: none); the AUTO_INCREMENT value it was given, u64 (0: none) |

use crate::build::{BuiltTree, STEP, finish_builder, new_builder, note_number, numbered};
use crate::catalog::TableDef;
use crate::core::Core;
use crate::error::{Result, TableError};
use crate::new_table::NewTrees;
use crate::run::{EntrySource, Sorter};
use crate::txn::{asks_for_number, auto_increment_value};
use leafline_btree::{BulkBuilder, LeafFormat, Tree};
use leafline_types::{CancelToken, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// The memory for numbers that do not come in the order of their rows' keys, in bytes.
const MEMORY: u64 = 8 << 20;

/// The numbers of one row.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct AssignedNumbers {
    /// Its hidden row id.
    pub(super) row_id: u64,
    /// The AUTO_INCREMENT value that it was given.
    pub(super) number: u64,
}

/// Gives out AUTO_INCREMENT values.
#[derive(Clone, Copy)]
pub(super) struct Numbering<'a> {
    pub(super) core: &'a Core,
    /// The table with the name, whose counter is used.
    pub(super) table: &'a TableDef,
    /// Whether NULL and 0 in the column request a number.
    pub(super) gives: bool,
    /// Whether 0 does not.
    pub(super) zero_is_number: bool,
}

/// The numbers of all rows.
pub(super) struct NumberMap<'e> {
    core: &'e Core,
    /// A tree for each table that stores old rows.
    trees: Vec<Tree>,
    new: NewTrees,
}

/// Records the numbers of the rows of one table.
pub(super) struct NumberMapWriter {
    builder: BulkBuilder,
    /// Sorts the numbers if they do not come in the order of the keys.
    sorter: Option<Sorter>,
}

impl AssignedNumbers {
    /// Encodes the numbers.
    pub(super) fn payload(self) -> [u8; 16] {
        let mut payload = [0; 16];
        payload[..8].copy_from_slice(&self.row_id.to_be_bytes());
        payload[8..].copy_from_slice(&self.number.to_be_bytes());
        payload
    }

    /// Decodes the numbers.
    ///
    /// # Errors
    /// `Internal` if the payload is malformed.
    pub(super) fn of(payload: &[u8]) -> Result<AssignedNumbers> {
        match payload.as_chunks::<8>() {
            ([row_id, number], []) => Ok(AssignedNumbers {
                row_id: u64::from_be_bytes(*row_id),
                number: u64::from_be_bytes(*number),
            }),
            _ => Err(TableError::Internal("a row that was given no numbers".into())),
        }
    }
}

impl Numbering<'_> {
    /// Gives a row a number if it requests one: the number `before` that it was given before (0: none), or a new one.
    /// Returns the number; 0 if the row has a number of its own, which is then noted as used.
    pub(super) fn number(&self, row: &mut Vec<Value>, before: u64) -> u64 {
        let Numbering { core, table, gives, zero_is_number } = *self;
        if !gives {
            note_number(core, table, row);
            return 0;
        }
        let Some(column) = table.auto_increment_column() else { return 0 };
        let asks = row.get(column).is_some_and(|value| asks_for_number(value, zero_is_number));
        if asks && before > 0 {
            self.fill(row, before);
            return before;
        }
        let filled = match numbered(core, table, row, zero_is_number) {
            Cow::Owned(filled) => filled,
            Cow::Borrowed(_) => return 0,
        };
        *row = filled;
        match row.get(column) {
            Some(Value::Int(number)) => number.unsigned_abs(),
            Some(Value::UInt(number)) => *number,
            _ => 0,
        }
    }

    /// Writes the number that a row was given into it, unless the number is 0.
    pub(super) fn fill(&self, row: &mut [Value], number: u64) {
        if number > 0
            && let Some(column) = self.table.auto_increment_column()
            && let (Some(slot), Some(def)) = (row.get_mut(column), self.table.columns.get(column))
        {
            *slot = auto_increment_value(&def.ty, number);
        }
    }
}

impl<'e> NumberMap<'e> {
    pub(super) fn new(core: &'e Core) -> NumberMap<'e> {
        NumberMap { core, trees: Vec::new(), new: NewTrees::new(core) }
    }

    /// Begins the next table. Its rows come in the order of their keys if `ascending`.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) fn begin(&mut self, ascending: bool) -> Result<NumberMapWriter> {
        let (_, builder) = new_builder(self.core, LeafFormat::Plain, &mut self.new)?;
        let sorter = (!ascending).then(|| Sorter::new(&self.core.env, MEMORY));
        Ok(NumberMapWriter { builder, sorter })
    }

    /// Finishes a table, after all its rows have their numbers.
    ///
    /// # Errors
    /// Errors of the store; 1317.
    pub(super) fn end(&mut self, mut writer: NumberMapWriter, cancel: &CancelToken) -> Result<()> {
        if let Some(sorter) = writer.sorter.take() {
            let mut sorted = sorter.finish()?;
            let mut count = 0u64;
            while let Some((key, payload)) = sorted.next()? {
                if count.is_multiple_of(STEP) {
                    cancel.check()?;
                }
                count += 1;
                writer.builder.push(key, payload)?;
            }
        }
        self.trees.push(finish_builder(self.core, writer.builder)?);
        Ok(())
    }

    /// The trees, in the form in which rounds change them, one for each table that stores old rows.
    pub(super) fn built_trees(&self, old: &Arc<TableDef>) -> Vec<BuiltTree> {
        self.trees.iter().zip(old.stored()).map(|(tree, old)| BuiltTree::of_rows(tree.clone(), old)).collect()
    }
}

impl NumberMapWriter {
    /// Records the numbers of a row.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) fn push(&mut self, key: &[u8], given: AssignedNumbers) -> Result<()> {
        match &mut self.sorter {
            Some(sorter) => sorter.push(key, &given.payload()),
            None => Ok(self.builder.push(key, &given.payload())?),
        }
    }
}
