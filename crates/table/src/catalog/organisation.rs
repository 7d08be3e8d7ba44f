//! The organisation of a table: the order of its rows, and the locator by which secondary indexes refer to
//! them.
//!
//! | organisation | rows are ordered by | a locator is | the primary key is |
//! |---|---|---|---|
//! | clustered | the primary key, or a hidden row id if there is none | the primary key, or the row id | the clustered index |
//! | heap | a hidden row id, which is the order of insertion | the row id, 6 bytes | a unique index like others, called PRIMARY |
//!
//! A heap is a table without a clustered key. The code that reads, writes and recovers tables knows nothing
//! else about heaps. A question about the order of rows is a question about the [clustered
//! key](TableDef::clustered_key), a question about their identity one about the [primary
//! key](TableDef::primary_key).
//!
//! The row of a table in the catalog contains it as one byte: 0 clustered, 1 heap.

use super::definition::{Organisation, TableDef};
use super::index_def::{IndexDef, IndexPart, PRIMARY};
use crate::bytes::ByteReader;
use crate::error::Result;
use std::sync::Arc;

impl Organisation {
    /// The name that ENGINE has for it: the engine of MySQL that organises tables like this.
    pub fn engine(self) -> &'static str {
        match self {
            Organisation::Clustered => "InnoDB",
            Organisation::Heap => "MyISAM",
        }
    }

    /// The organisation that an ENGINE name, in any case, stands for. `Leafline`, which older dumps
    /// contain, is another name of the clustered organisation.
    pub fn of_engine(name: &str) -> Option<Organisation> {
        let all = [
            ("InnoDB", Organisation::Clustered),
            ("Leafline", Organisation::Clustered),
            ("MyISAM", Organisation::Heap),
        ];
        all.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, organisation)| *organisation)
    }

    /// Returns whether tables have foreign keys. Foreign keys of heaps are parsed and ignored, like
    /// MyISAM's.
    pub fn has_foreign_keys(self) -> bool {
        self == Organisation::Clustered
    }

    pub(super) fn encode(self) -> u8 {
        match self {
            Organisation::Clustered => 0,
            Organisation::Heap => 1,
        }
    }

    pub(super) fn decode(from: &mut ByteReader<'_>) -> Result<Organisation> {
        match from.u8()? {
            0 => Ok(Organisation::Clustered),
            1 => Ok(Organisation::Heap),
            other => Err(from.damaged(format!("organisation {other} is not known"))),
        }
    }
}

impl IndexDef {
    /// Returns whether it is the primary key, clustered or not. No other index can have its name.
    pub fn is_primary(&self) -> bool {
        self.name == PRIMARY
    }

    /// Returns whether it is the clustered index of a table without a clustered key, which statements
    /// neither name nor show.
    pub fn is_hidden(&self) -> bool {
        self.is_clustered() && self.hidden_row_id
    }
}

impl TableDef {
    /// Returns whether rows have a hidden row id in place of a clustered key.
    pub fn has_hidden_row_id(&self) -> bool {
        self.clustered().hidden_row_id
    }

    /// The parts that rows are ordered by; `None` if they have a hidden row id.
    pub fn clustered_key(&self) -> Option<&[IndexPart]> {
        let clustered = self.clustered();
        (!clustered.hidden_row_id).then_some(clustered.parts.as_slice())
    }

    /// The index of the primary key, if there is one.
    pub fn primary(&self) -> Option<&Arc<IndexDef>> {
        self.indexes.iter().find(|index| index.is_primary())
    }

    /// The parts of the primary key, if there is one.
    pub fn primary_key(&self) -> Option<&[IndexPart]> {
        self.primary().map(|index| index.parts.as_slice())
    }
}
