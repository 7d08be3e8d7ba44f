//! From L0 to the run: freezing, and merging what is frozen with the run there is.
//!
//! 1. An empty L0 takes the place of the one that is full, which is *frozen*; both are in the catalog's row by one record.
//! 2. A new run is written of what is frozen and of the old run, past pool and log. Left out is what a sweep has merged, and
//!    changes of trees that are gone.
//! 3. One record puts it in the place of both, whose segments are freed then.
//!
//! What a crash leaves is named by the row, or freed by the next open. Changes are buffered, and leaves merged, all the while.

use super::ChangeBuffer;
use super::entry::{Entries, split_key};
use super::state::Sources;
use super::sweep::Sweep;
use crate::error::Result;
use crate::txn::recovery::{create_tree, tree_reservation};
use hashbrown::HashSet;
use leafline_btree::{BulkBuilder, Tree};
use leafline_storage::{SegmentId, SegmentState};
use std::cmp::Ordering as Order;
use std::sync::atomic::Ordering;

/// How full the pages of a run are: they never change.
const FILL_PERCENT: u32 = 100;

/// What is in a new run.
#[derive(Default)]
struct Written {
    tree: Option<Tree>,
    trees: HashSet<SegmentId>,
    bytes: u64,
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
        let l0 = create_tree(&self.store)?;
        let mut reservation = Sources::reserve(&self.catalog)?;
        let mut sources = self.sources.write();
        sources.l0 = Some(l0);
        sources.save(&self.catalog, &mut reservation)
    }

    /// Writes L0, if there is anything in it, and the run to a new run. `is_there` says which trees are not gone.
    pub(super) fn freeze(&self, sweep: &mut Sweep, is_there: &dyn Fn(SegmentId) -> bool) -> Result<()> {
        if self.sources.read().frozen.is_none() && self.counts.holds_l0() {
            let l0 = create_tree(&self.store)?;
            let mut reservation = Sources::reserve(&self.catalog)?;
            let mut sources = self.sources.write();
            let mut next = sources.clone();
            next.frozen = next.l0.replace(l0);
            next.save(&self.catalog, &mut reservation)?;
            *sources = next;
            self.counts.freeze();
        }
        let (frozen, run) = {
            let sources = self.sources.read();
            (sources.frozen.clone(), sources.run.clone())
        };
        let written = self.write_run(frozen.as_ref(), run.as_ref(), sweep, is_there)?;
        self.replace(written)?;
        sweep.restart();
        Ok(())
    }

    /// Frees the run: all of it has been merged.
    pub(super) fn drop_run(&self) -> Result<()> {
        self.replace(Written::default())
    }

    /// Puts a run in the place of what is frozen and of the run.
    fn replace(&self, written: Written) -> Result<()> {
        let mut reservation = Sources::reserve(&self.catalog)?;
        let before = {
            let mut sources = self.sources.write();
            let next = Sources { l0: sources.l0.clone(), frozen: None, run: written.tree };
            next.save(&self.catalog, &mut reservation)?;
            let before = std::mem::replace(&mut *sources, next);
            let mut trees = self.trees.write();
            let mut left = written.trees;
            if let Some(l0) = &sources.l0 {
                left.extend(trees_in(l0)?);
            }
            *trees = left;
            self.any.store(!trees.is_empty(), Ordering::Release);
            self.counts.run_written(written.bytes);
            before
        };
        drop(reservation);
        for tree in [before.frozen, before.run].into_iter().flatten() {
            self.store.drop_segment(tree.id())?;
        }
        Ok(())
    }

    fn write_run(
        &self,
        frozen: Option<&Tree>,
        run: Option<&Tree>,
        sweep: &Sweep,
        is_there: &dyn Fn(SegmentId) -> bool,
    ) -> Result<Written> {
        let mut written = Written::default();
        let mut reservation = tree_reservation(&self.store)?;
        let segment = self.store.create_segment(&mut reservation)?;
        drop(reservation);
        let result = self.fill_run(segment, (frozen, run), sweep, is_there, &mut written);
        if result.is_err() || written.tree.is_none() {
            self.store.drop_segment(segment)?;
        }
        result.map(|()| written)
    }

    fn fill_run(
        &self,
        segment: SegmentId,
        (frozen, run): (Option<&Tree>, Option<&Tree>),
        sweep: &Sweep,
        is_there: &dyn Fn(SegmentId) -> bool,
        written: &mut Written,
    ) -> Result<()> {
        let mut builder = BulkBuilder::new(&self.store, segment, FILL_PERCENT)?;
        let mut newer = frozen.map(|tree| Entries::new(tree, &[], None));
        let mut older = run.map(|tree| Entries::new(tree, &[], None));
        let mut last = None;
        loop {
            let new = newer.as_mut().map(Entries::peek).transpose()?.flatten();
            let old = older.as_mut().map(Entries::peek).transpose()?.flatten();
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

/// The trees that a tree of the buffer has changes of.
fn trees_in(tree: &Tree) -> Result<Vec<SegmentId>> {
    let mut found = Vec::new();
    let mut from = Vec::new();
    while let Some((key, _)) = Entries::new(tree, &from, None).next()? {
        let (of, _) = split_key(&key)?;
        found.push(of);
        from = super::entry::after_tree(of);
    }
    Ok(found)
}
