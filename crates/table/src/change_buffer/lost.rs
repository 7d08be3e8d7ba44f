//! Unreadable trees of the buffer: the indexes with changes there lack them for good, and are quarantined.
//!
//! | when | quarantined indexes |
//! |---|---|
//! | at open, L0 is damaged | every non-unique secondary index, because it is unknown which ones had changes |
//! | at open, the frozen tree or the run is damaged | the indexes that the row lists, or every one if it lists none |
//! | while a run is written | the indexes that may have changes in the unreadable tree, after [`ATTEMPTS`] |
//!
//! An index is in quarantine (`crate::quarantine`) before the row ceases to name the damaged tree, so that no crash
//! lets an index be read that lacks changes. A reader of the index at that moment gets an error at the next leaf that
//! it has to read in; leaves in memory lack nothing. A repair rebuilds the index under another number.
//! memory lack nothing. A repair builds the index anew, under another number.

use super::ChangeBuffer;
use super::host::Host;
use super::state::Sources;
use super::sweep::Sweep;
use crate::error::{Result, TableError};
use crate::quarantine::Quarantine;
use leafline_btree::Tree;
use leafline_storage::{SegmentId, StorageError};
use std::collections::BTreeSet;

/// How often reading a damaged tree is tried at once.
pub(super) const ATTEMPTS: u32 = 3;
/// How often reading is tried, with pauses in between, if the device fails: a read that fails now and then is not
/// damage.
const REFUSALS: u32 = 8;

/// The losses found when the buffer is opened.
#[derive(Default)]
pub(crate) struct LostAtOpen {
    /// The trees of the buffer that cannot be used.
    sources: BTreeSet<SegmentId>,
    /// The trees that lack changes.
    concerned: BTreeSet<SegmentId>,
    /// Whether other trees may lack changes, too.
    unknown: bool,
    reason: String,
}

impl LostAtOpen {
    /// Adds a tree of the buffer that cannot be used, and the trees that it has changes of, as far as they are known.
    pub(super) fn note(&mut self, source: &Tree, of_trees: Option<&BTreeSet<SegmentId>>, reason: String) {
        self.sources.insert(source.id());
        self.reason = reason;
        match of_trees {
            Some(trees) => self.concerned.extend(trees),
            None => self.unknown = true,
        }
    }

    /// The trees that are known to lack changes.
    pub(super) fn listed(&self) -> impl Iterator<Item = &SegmentId> {
        self.concerned.iter()
    }

    /// Returns whether a tree, which belongs to a non-unique secondary index, may lack changes.
    fn concerns(&self, tree: SegmentId) -> bool {
        self.unknown || self.concerned.contains(&tree)
    }
}

/// The error for a reader of a leaf that lacks changes.
fn lost(tree: SegmentId) -> TableError {
    TableError::Corrupt(format!(
        "tree {tree}: changes that were buffered are lost; its index is to be built anew"
    ))
}

impl ChangeBuffer {
    /// Returns an error if a tree lacks changes for good.
    pub(super) fn check_not_lost(&self, tree: SegmentId) -> Result<()> {
        if self.lost.read().contains(&tree) { Err(lost(tree)) } else { Ok(()) }
    }

    /// Quarantines those of the existing indexes that lack changes since the database was opened, and gives up the
    /// unreadable trees of the buffer.
    pub(crate) fn give_up_at_open(
        &self,
        lost: &LostAtOpen,
        indexes: &BTreeSet<SegmentId>,
        quarantine: &mut Quarantine,
    ) -> Result<()> {
        if lost.sources.is_empty() {
            return Ok(());
        }
        for tree in indexes.iter().filter(|tree| lost.concerns(**tree)) {
            quarantine.set_aside(*tree, lost.reason.clone());
        }
        quarantine.save()?;
        lost.sources.iter().try_for_each(|source| self.forget_source(*source))
    }

    /// Makes reading in leaves fail for the trees that a source has changes of. Returns these trees.
    fn lose(&self, source: SegmentId) -> BTreeSet<SegmentId> {
        let sources = self.sources.write();
        let is_l0 = sources.l0.as_ref().is_some_and(|l0| l0.id() == source);
        let listed = sources.of_trees.clone().filter(|_| !is_l0);
        let concerned = listed.unwrap_or_else(|| self.trees.read().iter().copied().collect());
        self.lost.write().extend(concerned.iter().copied());
        concerned
    }

    /// Removes a source from the row.
    fn forget_source(&self, source: SegmentId) -> Result<()> {
        let mut reservation = Sources::reserve(&self.catalog)?;
        let mut sources = self.sources.write();
        let mut next = sources.clone();
        next.forget(source);
        next.save(&self.catalog, &mut reservation)?;
        self.counts.set_bytes(if next.l0.is_some() { self.counts.l0_bytes() } else { 0 }, next.bytes);
        *sources = next;
        Ok(())
    }
}

impl ChangeBuffer {
    /// Writes a run, and gives up trees that cannot be read for that.
    pub(super) fn freeze_changes(&self, host: &dyn Host, sweep: &mut Sweep) -> Result<()> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let outcome = self.freeze(sweep, &|tree| host.tree(tree).is_some());
            match (outcome, sweep.unreadable.take()) {
                (Err(error), Some(source)) if error.is_damage() => {
                    if matches!(error, TableError::Storage(StorageError::Io { .. })) {
                        sweep.refusals += 1;
                        if sweep.refusals < REFUSALS {
                            return Err(error);
                        }
                    } else if attempts < ATTEMPTS {
                        continue;
                    }
                    self.give_up_changes(host, source, &error)?;
                    (attempts, sweep.refusals) = (0, 0);
                }
                (outcome, _) => {
                    if outcome.is_ok() {
                        sweep.refusals = 0;
                    }
                    return outcome;
                }
            }
        }
    }

    fn give_up_changes(&self, host: &dyn Host, source: SegmentId, error: &TableError) -> Result<()> {
        let concerned = self.lose(source);
        host.refuse(&concerned, format!("buffered changes of it cannot be read: {error}"))?;
        self.forget_source(source)?;
        Ok(self.store.drop_segment(source)?)
    }
}
