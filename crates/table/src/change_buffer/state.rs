//! The row of the catalog that names the buffer's trees.
//!
//! | field | type |
//! |---|---|
//! | format | u8: 1 |
//! | L0, frozen, run | each tree u64 (0: none), root page u64 |
//! | bytes of changes in frozen, run | each u64 |
//! | trees that frozen and run have changes of, or had | u32 number ([`UNLISTED`]: too many for the row), each u64 |
//!
//! Opening the database reads where the trees begin in L0, and nothing of the other trees, however large they are.
//!
//! The row is written by a mini-transaction of its own, outside of commits, so that recovery knows the buffer before
//! it finishes the commits in doubt. The next open frees trees that the row does not name.

use crate::bytes::{ByteReader, ByteWriter};
use crate::catalog::CHANGE_BUFFER;
use crate::error::Result;
use leafline_btree::{Change, CommitTs, Tree};
use leafline_storage::{PageNo, Reservation, SegmentId, Store};
use std::borrow::Cow;
use std::collections::BTreeSet;

const FORMAT: u8 = 1;
/// The number of trees in a row that does not list them.
const UNLISTED: u32 = u32::MAX;
/// The size of the row without the list, in bytes.
const HEAD: usize = 1 + 3 * 16 + 2 * 8 + 4;
const KEY_BYTES: usize = 9;

/// The trees, newest changes first.
#[derive(Clone)]
pub(super) struct Sources {
    /// Receives changes.
    pub(super) l0: Option<Tree>,
    /// The former L0, which is being written to a run.
    pub(super) frozen: Option<Tree>,
    /// Written at once, never changed.
    pub(super) run: Option<Tree>,
    /// The bytes of changes in the frozen tree, and in the run.
    pub(super) bytes: [u64; 2],
    /// The trees that these have changes of, or had. `None` if there are too many to know.
    pub(super) of_trees: Option<BTreeSet<SegmentId>>,
}

impl Sources {
    /// Removes a tree that cannot be read.
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

    /// The state with L0 alone.
    pub(super) fn new(l0: Option<Tree>) -> Sources {
        Sources { l0, frozen: None, run: None, bytes: [0; 2], of_trees: Some(BTreeSet::new()) }
    }

    /// Freezes L0 with its contents, and puts `l0` in its place.
    pub(super) fn freeze(&mut self, l0: Tree, bytes: u64, of_trees: impl Iterator<Item = SegmentId>) {
        self.frozen = self.l0.replace(l0);
        self.bytes = [bytes, self.bytes[1]];
        if let Some(known) = &mut self.of_trees {
            known.extend(of_trees);
        }
    }

    /// Reserves the log bytes and pages for [`save`](Self::save).
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

    /// All existing trees, oldest changes first.
    pub(super) fn trees(&self) -> impl Iterator<Item = &Tree> {
        [&self.run, &self.frozen, &self.l0].into_iter().flatten()
    }
}

fn key() -> Vec<u8> {
    let mut key = vec![CHANGE_BUFFER];
    key.extend_from_slice(&0_u64.to_be_bytes());
    key
}
