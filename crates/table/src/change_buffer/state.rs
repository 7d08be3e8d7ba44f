//! The row of the catalog that names the buffer's trees.
//!
//! | field | type |
//! |---|---|
//! | format | u8: 1 |
//! | L0, frozen, run | each tree u64 (0: none), root page u64 |
//!
//! It is written by a mini-transaction of its own, outside of commits, so that recovery knows the buffer before it finishes the
//! commits that are in doubt. Trees that it does not name are freed by the next open.

use crate::bytes::{ByteReader, ByteWriter};
use crate::catalog::CHANGE_BUFFER;
use crate::error::Result;
use leafline_btree::{Change, CommitTs, Tree};
use leafline_storage::{PageNo, Reservation, SegmentId, Store};
use std::borrow::Cow;

const FORMAT: u8 = 1;

/// The trees, newest changes first.
#[derive(Clone, Default)]
pub(super) struct Sources {
    /// Takes changes.
    pub(super) l0: Option<Tree>,
    /// Was L0, and is being written to a run.
    pub(super) frozen: Option<Tree>,
    /// Written at once, never changed.
    pub(super) run: Option<Tree>,
}

impl Sources {
    /// Reads the row.
    pub(super) fn load(store: &Store, catalog: &Tree) -> Result<Sources> {
        let row = catalog.get(&key(), |entry| {
            entry.filter(|entry| !entry.is_ghost()).map(|entry| entry.payload.to_vec())
        })?;
        let Some(row) = row else { return Ok(Sources::default()) };
        let mut from = ByteReader::new("catalog change buffer", &row);
        from.format(FORMAT)?;
        let mut tree = || -> Result<Option<Tree>> {
            let (id, root) = (SegmentId(from.u64()?), PageNo(from.u64()?));
            Ok(if id == SegmentId::NONE { None } else { Some(Tree::open(store, id, root)?) })
        };
        let (l0, frozen, run) = (tree()?, tree()?, tree()?);
        from.end()?;
        Ok(Sources { l0, frozen, run })
    }

    /// Log bytes and pages to reserve for [`save`](Self::save).
    pub(super) fn reserve(catalog: &Tree) -> Result<Reservation> {
        Ok(catalog.store().reserve(catalog.worst_case_pages(), catalog.worst_case_log(9, 64))?)
    }

    /// Writes the row.
    pub(super) fn save(&self, catalog: &Tree, reservation: &mut Reservation) -> Result<()> {
        let mut out = ByteWriter::with_capacity(64);
        out.u8(FORMAT);
        for tree in [&self.l0, &self.frozen, &self.run] {
            let (id, root) =
                tree.as_ref().map_or((SegmentId::NONE, PageNo::NONE), |tree| (tree.id(), tree.root()));
            out.u64(id.0).u64(root.0);
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
