//! Numbers that rows are given while their table is built anew, by the rows that they are made of: hidden row ids, and those of an
//! AUTO_INCREMENT column.
//!
//! Such a number, often the key of the new row, does not follow from the old row. Where others change that meanwhile, it is kept, in a tree
//! for each table that the old rows are in; rounds of [`crate::build::CatchUp`] change these trees with those of the new table.
//! They are freed with this.
//!
//! | key | payload, big-endian |
//! |---|---|
//! | the clustered key of the old row | the hidden row id of the new one, u64 (0: it has none); what it was given in the AUTO_INCREMENT column, u64 (0: nothing) |

use crate::build::{BuiltTree, STEP, finish_builder, new_builder, note_number, numbered};
use crate::catalog::TableDef;
use crate::core::Core;
use crate::ddl::NewTrees;
use crate::error::{Result, TableError};
use crate::run::{EntrySource, Sorter};
use crate::txn::{asks_for_number, auto_increment_value};
use leafline_btree::{BulkBuilder, LeafFormat, Tree};
use leafline_types::{CancelToken, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Bytes of memory for numbers that come in another order than their rows' keys.
const MEMORY: u64 = 8 << 20;

/// The numbers of one row.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Given {
    /// Its hidden row id.
    pub(super) row_id: u64,
    /// What it was given in the AUTO_INCREMENT column.
    pub(super) number: u64,
}

/// Who gives numbers in an AUTO_INCREMENT column.
#[derive(Clone, Copy)]
pub(super) struct Numbering<'a> {
    pub(super) core: &'a Core,
    /// The table with the name, which counts them.
    pub(super) table: &'a TableDef,
    /// NULL and 0 in the column ask for one.
    pub(super) gives: bool,
    /// But 0 does not.
    pub(super) zero_is_number: bool,
}

/// The numbers of all rows.
pub(super) struct GivenNumbers<'e> {
    core: &'e Core,
    /// For each table that old rows are in.
    trees: Vec<Tree>,
    new: NewTrees,
}

/// Takes down the numbers of the rows of one table.
pub(super) struct GivenWriter {
    builder: BulkBuilder,
    /// Holds them where they do not come in the order of the keys.
    sorter: Option<Sorter>,
}

impl Given {
    /// As it is kept.
    pub(super) fn payload(self) -> [u8; 16] {
        let mut payload = [0; 16];
        payload[..8].copy_from_slice(&self.row_id.to_be_bytes());
        payload[8..].copy_from_slice(&self.number.to_be_bytes());
        payload
    }

    /// What is kept so.
    ///
    /// # Errors
    /// `Internal` if that is no numbers.
    pub(super) fn of(payload: &[u8]) -> Result<Given> {
        match payload.as_chunks::<8>() {
            ([row_id, number], []) => {
                Ok(Given { row_id: u64::from_be_bytes(*row_id), number: u64::from_be_bytes(*number) })
            }
            _ => Err(TableError::Internal("a row that was given no numbers".into())),
        }
    }
}

impl Numbering<'_> {
    /// Gives a row a number, if it asks for one: that which it was given before (0: none), or a new one. Returns it; 0 if it has one of its
    /// own, which is used then.
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

    /// Puts the number in that a row was given, if it was.
    pub(super) fn fill(&self, row: &mut [Value], number: u64) {
        if number > 0
            && let Some(column) = self.table.auto_increment_column()
            && let (Some(slot), Some(def)) = (row.get_mut(column), self.table.columns.get(column))
        {
            *slot = auto_increment_value(&def.ty, number);
        }
    }
}

impl<'e> GivenNumbers<'e> {
    pub(super) fn new(core: &'e Core) -> GivenNumbers<'e> {
        GivenNumbers { core, trees: Vec::new(), new: NewTrees::new(core) }
    }

    /// For the rows of the next table, which come in the order of their keys if `ascending`.
    ///
    /// # Errors
    /// What the store returns.
    pub(super) fn begin(&mut self, ascending: bool) -> Result<GivenWriter> {
        let (_, builder) = new_builder(self.core, LeafFormat::Plain, &mut self.new)?;
        let sorter = (!ascending).then(|| Sorter::new(&self.core.env, MEMORY));
        Ok(GivenWriter { builder, sorter })
    }

    /// All rows of that table have their numbers.
    ///
    /// # Errors
    /// What the store returns; 1317.
    pub(super) fn end(&mut self, mut writer: GivenWriter, cancel: &CancelToken) -> Result<()> {
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

    /// The trees as rounds change them, for the tables that old rows are in.
    pub(super) fn built(&self, old: &Arc<TableDef>) -> Vec<BuiltTree> {
        self.trees.iter().zip(old.stored()).map(|(tree, old)| BuiltTree::of_rows(tree.clone(), old)).collect()
    }
}

impl GivenWriter {
    /// A row has got its numbers.
    ///
    /// # Errors
    /// What the store returns.
    pub(super) fn push(&mut self, key: &[u8], given: Given) -> Result<()> {
        match &mut self.sorter {
            Some(sorter) => sorter.push(key, &given.payload()),
            None => Ok(self.builder.push(key, &given.payload())?),
        }
    }
}
