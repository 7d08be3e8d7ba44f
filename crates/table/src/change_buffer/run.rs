//! Writes L0 to the run: freezes L0, and merges the frozen tree with the existing run.
//!
//! 1. An empty L0 replaces the full one, which is *frozen*. One record puts both into the catalog's row.
//! 2. A new run is written from the frozen tree and the old run, without pool and log. It leaves out what a sweep has
//!    merged, and changes of dropped trees.
//! 3. One record replaces both with the new run; their segments are then freed.
//!
//! An L0 that cannot be read goes the same way, and is given up ([`super::lost`]). If it is empty, another one
//! replaces it, and nothing is lost.
//!
//! After a crash the row names the trees, or the next open frees them. Meanwhile changes are buffered, and leaves
//! merged.

use super::entry::{Entries, split_key};
use super::state::Sources;
use super::sweep::Sweep;
use super::{ChangeBuffer, trees_in};
use crate::error::Result;
use crate::trees::{create_tree, tree_reservation};
use hashbrown::HashSet;
use leafline_btree::{BulkBuilder, LeafFormat, Tree};
use leafline_storage::{SegmentId, SegmentState};
use std::cmp::Ordering as Order;
use std::sync::atomic::Ordering;

/// The fill factor of the pages of a run, which never change.
const FILL_PERCENT: u32 = 100;

/// The contents of a new run.
#[derive(Default)]
struct Written {
    tree: Option<Tree>,
    trees: HashSet<SegmentId>,
    bytes: u64,
}

/// The next entry of a tree, if there is one. If the tree cannot be read, `unreadable` is set to it.
fn peek<'e>(
    entries: &'e mut Option<Entries>,
    tree: Option<&Tree>,
    unreadable: &mut Option<SegmentId>,
) -> Result<Option<&'e (Vec<u8>, Vec<u8>)>> {
    let Some(entries) = entries else { return Ok(None) };
    entries.peek().inspect_err(|_| *unreadable = tree.map(Tree::id))
}

impl ChangeBuffer {
    /// Makes L0 if there is none.
    pub(crate) fn prepare(&self) -> Result<()> {
        if self.sources.read().l0.is_some() {
            return Ok(());
        }
        let _one = self.sweep.lock();
        if self.sources.read().l0.is_some() {
            return Ok(());
        }
        self.put_l0(&mut |sources, l0| sources.l0 = Some(l0))
    }

    /// Makes a tree, and calls `place` to add it to the others. The row names it before anybody finds it there.
    fn put_l0(&self, place: &mut dyn FnMut(&mut Sources, Tree)) -> Result<()> {
        let l0 = create_tree(&self.store, LeafFormat::Plain)?;
        let mut reservation = match Sources::reserve(&self.catalog) {
            Ok(reservation) => reservation,
            Err(error) => {
                self.store.drop_segment(l0.id())?;
                return Err(error);
            }
        };
        let mut sources = self.sources.write();
        let mut next = sources.clone();
        place(&mut next, l0);
        // If this fails, the row may name the tree all the same, so that it stays until the next open.
        next.save(&self.catalog, &mut reservation)?;
        *sources = next;
        self.counts.freeze();
        Ok(())
    }

    /// Writes L0, unless it is empty, and the run to a new run. `is_there` returns whether a tree still exists.
    pub(super) fn freeze(&self, sweep: &mut Sweep, is_there: &dyn Fn(SegmentId) -> bool) -> Result<()> {
        loop {
            self.freeze_l0()?;
            let (frozen, run) = {
                let sources = self.sources.read();
                (sources.frozen.clone(), sources.run.clone())
            };
            let written = self.write_run((frozen.as_ref(), run.as_ref()), sweep, is_there)?;
            let is_readable = self.replace(written)?;
            sweep.restart();
            if is_readable {
                return Ok(());
            }
        }
    }

    /// Freezes L0 unless a tree is frozen or L0 is empty. An empty L0 that cannot be read is freed.
    pub(super) fn freeze_l0(&self) -> Result<()> {
        let l0 = {
            let sources = self.sources.read();
            sources.l0.clone().filter(|_| sources.frozen.is_none())
        };
        let Some(l0) = l0 else { return Ok(()) };
        if self.counts.l0_bytes() == 0 {
            match trees_in(&l0) {
                Ok(_) => return Ok(()),
                Err(error) if error.is_damage() => {}
                Err(error) => return Err(error),
            }
        }
        let mut emptied = None;
        self.put_l0(&mut |sources, l0| match self.counts.l0_bytes() {
            0 => emptied = sources.l0.replace(l0),
            // All trees with pending changes, which include those of L0.
            bytes => sources.freeze(l0, bytes, self.trees.read().iter().copied()),
        })?;
        Ok(emptied.map_or(Ok(()), |l0| self.store.drop_segment(l0.id()))?)
    }

    /// Frees the run, because all of it was merged.
    pub(super) fn drop_run(&self) -> Result<()> {
        self.replace(Written::default()).map(drop)
    }

    /// Replaces the frozen tree and the run with a new run. Returns false if L0 cannot be read.
    fn replace(&self, written: Written) -> Result<bool> {
        let mut reservation = match Sources::reserve(&self.catalog) {
            Ok(reservation) => reservation,
            Err(error) => {
                written.tree.map_or(Ok(()), |run| self.store.drop_segment(run.id()))?;
                return Err(error);
            }
        };
        let segments = self.store.segments();
        let pages = segments.iter().filter(|segment| written.trees.contains(&segment.id));
        let leaf_bytes = pages.map(|segment| segment.pages).sum::<u64>() * self.store.page_size() as u64;
        let (before, is_readable) = {
            let mut sources = self.sources.write();
            // This comes before the set is locked, because the threads that complete reads ask it.
            let (of_l0, is_readable) = match self.watched(sources.l0.as_ref().map(trees_in).transpose()) {
                Ok(trees) => (trees.unwrap_or_default(), true),
                Err(error) if error.is_damage() => (self.trees.read().iter().copied().collect(), false),
                Err(error) => return Err(error),
            };
            let next = Sources {
                run: written.tree,
                bytes: [0, written.bytes],
                of_trees: Some(written.trees.iter().copied().collect()),
                ..Sources::new(sources.l0.clone())
            };
            next.save(&self.catalog, &mut reservation)?;
            let before = std::mem::replace(&mut *sources, next);
            let mut trees = self.trees.write();
            *trees = written.trees;
            trees.extend(of_l0);
            trees.extend(self.lost.read().iter());
            self.any.store(!trees.is_empty(), Ordering::Release);
            self.counts.run_written(written.bytes, leaf_bytes);
            (before, is_readable)
        };
        drop(reservation);
        for tree in [before.frozen, before.run].into_iter().flatten() {
            self.store.drop_segment(tree.id())?;
        }
        Ok(is_readable)
    }

    fn write_run(
        &self,
        sources: (Option<&Tree>, Option<&Tree>),
        sweep: &mut Sweep,
        is_there: &dyn Fn(SegmentId) -> bool,
    ) -> Result<Written> {
        let mut written = Written::default();
        let mut reservation = tree_reservation(&self.store)?;
        let segment = self.store.create_segment(&mut reservation)?;
        drop(reservation);
        let result = self.fill_run(segment, sources, sweep, is_there, &mut written);
        if result.is_err() || written.tree.is_none() {
            self.store.drop_segment(segment)?;
        }
        result.map(|()| written)
    }

    fn fill_run(
        &self,
        segment: SegmentId,
        (frozen, run): (Option<&Tree>, Option<&Tree>),
        sweep: &mut Sweep,
        is_there: &dyn Fn(SegmentId) -> bool,
        written: &mut Written,
    ) -> Result<()> {
        let mut builder = BulkBuilder::new(&self.store, segment, FILL_PERCENT, LeafFormat::Plain)?;
        let mut newer = frozen.map(Entries::all);
        let mut older = run.map(Entries::all);
        let mut last = None;
        loop {
            let new = peek(&mut newer, frozen, &mut sweep.unreadable)?;
            let old = peek(&mut older, run, &mut sweep.unreadable)?;
            let order = match (new, old) {
                (None, None) => break,
                (Some(_), None) => Order::Less,
                (None, Some(_)) => Order::Greater,
                (Some((new, _)), Some((old, _))) => new.cmp(old),
            };
            let taken = match order {
                Order::Less => newer.as_mut().map(Entries::next).transpose()?.flatten(),
                Order::Greater => older.as_mut().map(Entries::next).transpose()?.flatten(),
                Order::Equal => {
                    older.as_mut().map(Entries::next).transpose()?;
                    newer.as_mut().map(Entries::next).transpose()?.flatten()
                }
            };
            let Some((key, payload)) = taken else { break };
            if order == Order::Greater && sweep.has_passed(&key) {
                continue;
            }
            let (tree, _) = split_key(&key)?;
            if last.is_none_or(|(of, _)| of != tree) {
                last = Some((tree, is_there(tree)));
            }
            if last.is_some_and(|(_, there)| there) {
                written.trees.insert(tree);
                written.bytes += (key.len() + payload.len()) as u64;
                builder.push(&key, &payload)?;
            }
        }
        if written.bytes > 0 {
            let tree = builder.finish()?;
            let mut reservation = tree_reservation(&self.store)?;
            self.store.set_segment_state(&mut reservation, segment, SegmentState::Live)?;
            written.tree = Some(tree);
        }
        Ok(())
    }
}
