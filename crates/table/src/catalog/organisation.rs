//! How the rows of a table lie, and with that what its secondary indexes name them by.
//!
//! | organisation | rows are ordered by | a locator is | the primary key is |
//! |---|---|---|---|
//! | clustered | the primary key; a hidden row id where there is none | the primary key; the row id | the clustered index |
//! | heap | a hidden row id: in the order in which they came | the row id, 6 bytes | a unique index beside others, called PRIMARY |
//!
//! So a heap is a table without a clustered key: all that reads, writes and recovers tables knows no more of it than that. What is asked about
//! the order of rows is asked of the [clustered key](TableDef::clustered_key), what is asked about their identity of the
//! [primary key](TableDef::primary_key).
//!
//! A row of the catalog holds it as one byte: 0 clustered, 1 heap.

use super::definition::{IndexDef, IndexPart, PRIMARY, TableDef};
use crate::bytes::ByteReader;
use crate::error::Result;
use std::sync::Arc;

/// How the rows of a table lie.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Organisation {
    /// In the order of the primary key, if there is one.
    #[default]
    Clustered,
    /// In the order of hidden row ids.
    Heap,
}

impl Organisation {
    /// What ENGINE calls it: the engine of MySQL's that organises tables so.
    pub fn engine(self) -> &'static str {
        match self {
            Organisation::Clustered => "InnoDB",
            Organisation::Heap => "MyISAM",
        }
    }

    /// That of ENGINE, whatever the case of its letters. `Leafline` is another name of the clustered one, which older dumps have.
    pub fn of_engine(name: &str) -> Option<Organisation> {
        let all = [
            ("InnoDB", Organisation::Clustered),
            ("Leafline", Organisation::Clustered),
            ("MyISAM", Organisation::Heap),
        ];
        all.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, organisation)| *organisation)
    }

    /// Whether tables have foreign keys. Those of heaps are parsed and dropped, as MyISAM's are.
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
    /// Whether it is the primary key, clustered or not. No other index can have its name.
    pub fn is_primary(&self) -> bool {
        self.name == PRIMARY
    }

    /// Whether it is the clustered index of a table without a clustered key, which statements neither name nor show.
    pub fn is_hidden(&self) -> bool {
        self.is_clustered() && self.hidden_row_id
    }
}

impl TableDef {
    /// Whether rows have a hidden row id in place of a clustered key.
    pub fn has_hidden_row_id(&self) -> bool {
        self.clustered().hidden_row_id
    }

    /// The parts that rows are ordered by, if they have no hidden row id.
    pub fn clustered_key(&self) -> Option<&[IndexPart]> {
        let clustered = self.clustered();
        (!clustered.hidden_row_id).then_some(clustered.parts.as_slice())
    }

    /// The index of the primary key, if there is one.
    pub fn primary(&self) -> Option<&Arc<IndexDef>> {
        self.indexes.iter().find(|index| index.is_primary())
    }

    /// Parts of the primary key, if there is one.
    pub fn primary_key(&self) -> Option<&[IndexPart]> {
        self.primary().map(|index| index.parts.as_slice())
    }
}
