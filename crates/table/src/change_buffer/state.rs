//! The row of the catalog that names the buffer's trees.
//!
//! | field | type |
//! |---|---|
//! | format | u8: 1 |
//! | L0, frozen, run | each tree u64 (0: none), root page u64 |
//! | bytes of changes in frozen, run | each u64 |
//! | trees that frozen and run have changes of, or had | u32 number ([`UNLISTED`]: too many for the row), each u64 |
//!
//! Opening the database reads L0's beginnings of trees and nothing of the others, however large they are.
//!
//! It is written by a mini-transaction of its own, outside of commits, so that recovery knows the buffer before it finishes the
//! commits that are in doubt. Trees that it does not name are freed by the next open.

use crate::bytes::{ByteReader, ByteWriter};
use crate::catalog::CHANGE_BUFFER;
use crate::error::Result;
use leafline_btree::{Change, CommitTs, Tree};
use leafline_storage::{PageNo, Reservation, SegmentId, Store};
use std::borrow::Cow;
use std::collections::BTreeSet;

const FORMAT: u8 = 1;
/// Number of trees in the row where they are not listed.
const UNLISTED: u32 = u32::MAX;
/// Bytes of the row but for the list.
const HEAD: usize = 1 + 3 * 16 + 2 * 8 + 4;
const KEY_BYTES: usize = 9;

/// The trees, newest changes first.
#[derive(Clone)]
pub(super) struct Sources {
    /// Takes changes.
    pub(super) l0: Option<Tree>,
    /// Was L0, and is being written to a run.
    pub(super) frozen: Option<Tree>,
    /// Written at once, never changed.
    pub(super) run: Option<Tree>,
    /// Bytes of changes in what is frozen, and in the run.
    pub(super) bytes: [u64; 2],
    /// Trees that these have changes of, or had. `None`: it is not known which, too many.
    pub(super) of_trees: Option<BTreeSet<SegmentId>>,
}

impl Sources {
    /// A tree that cannot be read is not one of them any more.
    pub(super) fn forget(&mut self, source: SegmentId) {
        for tree in [&mut self.l0, &mut self.frozen, &mut self.run] {
            if tree.as_ref().is_some_and(|tree| tree.id() == source) {
                *tree = None;
            }
        }
        self.bytes[0] *= u64::from(self.frozen.is_some());
        self.bytes[1] *= u64::from(self.run.is_some());
    }

    /// Reads the row.
    pub(super) fn load(store: &Store, catalog: &Tree) -> Result<Sources> {
        let row = catalog.get(&key(), |entry| {
            entry.filter(|entry| !entry.is_ghost()).map(|entry| entry.payload.to_vec())
        })?;
        let Some(row) = row else { return Ok(Sources::new(None)) };
        let mut from = ByteReader::new("catalog change buffer", &row);
        from.format(FORMAT)?;
        let mut tree = || -> Result<Option<Tree>> {
            let (id, root) = (SegmentId(from.u64()?), PageNo(from.u64()?));
            Ok(if id == SegmentId::NONE { None } else { Some(Tree::open(store, id, root)?) })
        };
        let (l0, frozen, run) = (tree()?, tree()?, tree()?);
        let bytes = [from.u64()?, from.u64()?];
        let of_trees = match from.u32()? {
            UNLISTED => None,
            number => Some((0..number).map(|_| from.u64().map(SegmentId)).collect::<Result<_>>()?),
        };
        from.end()?;
        Ok(Sources { l0, frozen, run, bytes, of_trees })
    }

    /// Nothing but L0.
    pub(super) fn new(l0: Option<Tree>) -> Sources {
        Sources { l0, frozen: None, run: None, bytes: [0; 2], of_trees: Some(BTreeSet::new()) }
    }

    /// L0 is frozen, with what was in it, and `l0` takes its place.
    pub(super) fn freeze(&mut self, l0: Tree, bytes: u64, of_trees: impl Iterator<Item = SegmentId>) {
        self.frozen = self.l0.replace(l0);
        self.bytes = [bytes, self.bytes[1]];
        if let Some(known) = &mut self.of_trees {
            known.extend(of_trees);
        }
    }

    /// Log bytes and pages to reserve for [`save`](Self::save).
    pub(super) fn reserve(catalog: &Tree) -> Result<Reservation> {
        let log = catalog.worst_case_log(KEY_BYTES, catalog.max_entry_len());
        Ok(catalog.store().reserve(catalog.worst_case_pages(), log)?)
    }

    /// Writes the row.
    pub(super) fn save(&self, catalog: &Tree, reservation: &mut Reservation) -> Result<()> {
        let mut out = ByteWriter::with_capacity(HEAD);
        out.u8(FORMAT);
        for tree in [&self.l0, &self.frozen, &self.run] {
            let (id, root) =
                tree.as_ref().map_or((SegmentId::NONE, PageNo::NONE), |tree| (tree.id(), tree.root()));
            out.u64(id.0).u64(root.0);
        }
        out.u64(self.bytes[0]).u64(self.bytes[1]);
        let most = catalog.max_entry_len().saturating_sub(KEY_BYTES + HEAD) / 8;
        match self.of_trees.as_ref().filter(|trees| trees.len() <= most) {
            Some(trees) => {
                out.u32(trees.len() as u32);
                for tree in trees {
                    out.u64(tree.0);
                }
            }
            None => {
                out.u32(UNLISTED);
            }
        }
        let payload = out.finish();
        let put = Change::Put { payload: Cow::Owned(payload), ts: CommitTs::NONE, has_previous: false };
        Ok(catalog.modify(reservation, &key(), CommitTs::NONE, &mut |_| put.clone())?)
    }

    /// All that there are, oldest changes first.
    pub(super) fn trees(&self) -> impl Iterator<Item = &Tree> {
        [&self.run, &self.frozen, &self.l0].into_iter().flatten()
    }
}

fn key() -> Vec<u8> {
    let mut key = vec![CHANGE_BUFFER];
    key.extend_from_slice(&0_u64.to_be_bytes());
    key
}
