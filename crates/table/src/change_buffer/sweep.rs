//! Sweeps: merge the leaves that the run has changes of, in the order of keys, many changes for each leaf.
//!
//! A sweep begins where the last run was written, and goes round: to the end of the run, then from its beginning.
//! When it has passed all of it, the run is freed. A leaf is merged with all its pending changes, including those in
//! L0, into a copy that replaces it ([`super::relocate`]), or in place. Leaves are read ahead in batches. A leaf that
//! cannot be read keeps its tree's changes, and the run is not freed as long as there are any.
//!
//! | backlog | work of the thread |
//! |---|---|
//! | L0 at its limit | writes a run |
//! | less than is worth a sweep | none, unless nothing was buffered for some seconds: then it sweeps until nothing is left |
//! | worth a sweep | sweeps, [`BATCH`] leaves a round |
//! | half as much again | sweeps without a pause while there are writers |
//! | three quarters of the maximum | sweeps without a pause; writers wait the longer the larger the backlog is |
//! | one and a half times the maximum | no more is buffered: writers read their leaves |
//!
//! A backlog is *worth a sweep* if it is a part of a page for each leaf of the trees concerned, or half of the
//! maximum if that is less. Waiting for more would save little, and every leaf that is read meanwhile must be brought
//! up to date with changes in pages that must be read, too.
//!
//! **Writers** pay, beyond three quarters, for what they add: with the measured time that sweeping it takes. The
//! share of that time grows from none to all of it. Writers are thus slowed down to the speed of sweeps, smoothly,
//! and never stopped.

use super::ChangeBuffer;
use super::entry::{Entries, after_tree, buffer_key, split_key};
use super::host::Host;
use super::relocate::{Copied, Relocation};
use crate::error::{Result, TableError};
use leafline_btree::{BufferedEntry, Direction, LeafWalk, Tree};
use leafline_storage::{PageNo, SegmentId};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The number of leaves that are read as one batch and merged in a round.
const BATCH: usize = 64;
/// If nothing was buffered for this long, there is time to sweep.
const IDLE: Duration = Duration::from_secs(2);
/// A backlog of a page for each leaf with pending changes, divided by this, is worth a sweep.
const WORTH_PAGE_SHARE: u64 = 8;
/// The age at which changes are swept at the latest, approximately.
const OLDEST: Duration = Duration::from_secs(600);
/// The first pause after a round that failed.
const FIRST_REST: Duration = Duration::from_millis(200);
const LONGEST_REST: Duration = Duration::from_secs(60);
/// The time to sweep a byte in microseconds, as long as no sweep has measured it: about that of a rotating disk.
const UNKNOWN_SWEEP: f64 = 0.4;
/// The longest wait of a commit.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The figures of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ChangeBufferStats {
    /// The number of changes buffered.
    pub buffered: u64,
    /// The number of changes merged durably into leaves.
    pub merged: u64,
    /// The number of leaves merged durably.
    pub leaves_merged: u64,
    /// The number of these that were moved to fresh pages.
    pub leaves_moved: u64,
    /// The number of leaves merged in memory only, by their readers.
    pub leaves_merged_softly: u64,
    /// The number of buffered changes of leaves in memory, which were changed there only.
    pub changed_softly: u64,
    /// The bytes of changes in L0.
    pub l0_bytes: u64,
    /// The bytes of changes in runs that have not been swept.
    pub run_bytes: u64,
    /// The maximum number of bytes.
    pub most_bytes: u64,
    /// The number of runs written.
    pub runs_written: u64,
    /// The bytes of changes written to them.
    pub run_bytes_written: u64,
    /// The time that commits waited for sweeps, in microseconds.
    pub waited_us: u64,
    /// The time that sweeps took, in microseconds.
    pub swept_us: u64,
    /// Whether a sweep is under way.
    pub sweeping: bool,
}

/// Counters.
#[derive(Default)]
pub(super) struct Counts {
    buffered: AtomicU64,
    merged: AtomicU64,
    leaves: AtomicU64,
    moved: AtomicU64,
    softly: AtomicU64,
    softly_changed: AtomicU64,
    l0_bytes: AtomicU64,
    frozen_bytes: AtomicU64,
    run_bytes: AtomicU64,
    runs: AtomicU64,
    written: AtomicU64,
    waited_us: AtomicU64,
    swept_us: AtomicU64,
    swept_bytes: AtomicU64,
    sweeping: AtomicU64,
    /// The bytes of the leaves of trees with changes in the run.
    leaf_bytes: AtomicU64,
}

impl Counts {
    /// Sets the bytes in L0, in the frozen tree and in the run.
    pub(super) fn set_bytes(&self, l0: u64, [frozen, run]: [u64; 2]) {
        self.l0_bytes.store(l0, Ordering::Relaxed);
        self.frozen_bytes.store(frozen, Ordering::Relaxed);
        self.run_bytes.store(run, Ordering::Relaxed);
    }

    pub(super) fn buffered(&self, changes: u64, bytes: u64) {
        self.buffered.fetch_add(changes, Ordering::Relaxed);
        self.l0_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn softly_merged(&self) {
        self.softly.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn softly_changed(&self, changes: u64) {
        self.softly_changed.fetch_add(changes, Ordering::Relaxed);
    }

    pub(super) fn moved(&self) {
        self.moved.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn merged(&self, entries: &[BufferedEntry]) {
        self.leaves.fetch_add(1, Ordering::Relaxed);
        self.merged.fetch_add(entries.len() as u64, Ordering::Relaxed);
    }

    /// The bytes of changes in L0.
    pub(super) fn l0_bytes(&self) -> u64 {
        self.l0_bytes.load(Ordering::Relaxed)
    }

    /// Notes that L0 is frozen. The caller excludes everybody from it.
    pub(super) fn freeze(&self) {
        self.frozen_bytes.fetch_add(self.l0_bytes.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Notes that everything except L0 is a run of this many bytes, of trees with this many bytes of leaves.
    pub(super) fn run_written(&self, bytes: u64, leaf_bytes: u64) {
        self.leaf_bytes.store(leaf_bytes, Ordering::Relaxed);
        self.frozen_bytes.store(0, Ordering::Relaxed);
        self.run_bytes.store(bytes, Ordering::Relaxed);
        if bytes > 0 {
            self.runs.fetch_add(1, Ordering::Relaxed);
            self.written.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// The approximate number of pending bytes.
    fn backlog(&self) -> u64 {
        [&self.l0_bytes, &self.frozen_bytes, &self.run_bytes]
            .map(|bytes| bytes.load(Ordering::Relaxed))
            .iter()
            .sum()
    }

    /// Notes that a sweep has passed this many bytes of the run.
    fn swept(&self, bytes: u64, took: Duration) {
        let left = |run: u64| Some(run.saturating_sub(bytes));
        let _ = self.run_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        self.swept_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.swept_us.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
    }
}

/// The states of the background work.
///
/// | from | to | when |
/// |---|---|---|
/// | idle | sweeping | enough is pending, or nobody writes, or something is old |
/// | sweeping | idle | the sweep has gone over the whole run |
/// | idle, sweeping | resting | a round has failed |
/// | resting | idle, sweeping: the one it was before | the pause is over |
#[derive(Clone, Copy, Default)]
enum State {
    /// Waits until there is enough to merge.
    #[default]
    Idle,
    /// Sweeps the run.
    Sweeping { begun: Instant },
    /// Pauses after a round that failed. With `begun`, a sweep continues afterwards.
    Resting { until: Instant, begun: Option<Instant> },
}

/// The background work: its state, and the position of the sweep.
#[derive(Default)]
pub(super) struct Sweep {
    state: State,
    /// The length of the last pause; `None` after a round that succeeded.
    pause: Option<Duration>,
    /// The key at which it began on this run.
    origin: Vec<u8>,
    /// The key before which it has passed everything from the origin.
    position: Vec<u8>,
    /// Whether it has reached the end of the run and continued at its beginning.
    wrapped: bool,
    /// The tree whose leaves were moved last, and a page after which there may be room for more.
    place: Option<(SegmentId, PageNo)>,
    /// The trees with a leaf that could not be merged.
    failed: BTreeSet<SegmentId>,
    /// The time when something was buffered last, and how much had been buffered by then.
    busy: Option<(Instant, u64)>,
    /// Nothing pending is older than this.
    since: Option<Instant>,
    /// The bytes of changes that a sweep could not merge. They are tried again when the database is opened, or merged
    /// on demand.
    stuck: u64,
    /// The tree that could not be read to write a run.
    pub(super) unreadable: Option<SegmentId>,
    /// How often the device failed to read it.
    pub(super) refusals: u32,
}

impl Sweep {
    /// Returns whether the sweep has passed this key of the run.
    pub(super) fn has_passed(&self, key: &[u8]) -> bool {
        let passed = match self.wrapped {
            false => self.origin.as_slice() <= key && key < self.position.as_slice(),
            true => self.origin.as_slice() <= key || key < self.position.as_slice(),
        };
        passed && !split_key(key).is_ok_and(|(tree, _)| self.failed.contains(&tree))
    }

    /// Begins to sweep another run, from here round.
    pub(super) fn restart(&mut self) {
        self.origin.clone_from(&self.position);
        self.wrapped = false;
    }

    fn end(&mut self) {
        *self = Sweep {
            busy: self.busy,
            since: self.since,
            stuck: self.stuck,
            pause: self.pause,
            refusals: self.refusals,
            ..Sweep::default()
        };
    }

    /// The time when the current sweep began.
    fn begun(&self) -> Option<Instant> {
        match self.state {
            State::Idle => None,
            State::Sweeping { begun } => Some(begun),
            State::Resting { begun, .. } => begun,
        }
    }

    /// Ends a pause that is over. Returns whether there is no pause any more.
    fn wake(&mut self) -> bool {
        if let State::Resting { until, begun } = self.state {
            if Instant::now() < until {
                return false;
            }
            self.state = begun.map_or(State::Idle, |begun| State::Sweeping { begun });
        }
        true
    }

    #[cfg(test)]
    pub(super) fn rest_for(&mut self, pause: Duration) {
        self.state = State::Resting { until: Instant::now() + pause, begun: self.begun() };
    }

    /// Pauses after a round that has failed, longer each time.
    fn rest(&mut self) {
        let pause = self.pause.map_or(FIRST_REST, |pause| (2 * pause).min(LONGEST_REST));
        self.state = State::Resting { until: Instant::now() + pause, begun: self.begun() };
        self.pause = Some(pause);
    }
}

impl ChangeBuffer {
    /// Sets the maximum number of bytes of changes, and of those in L0.
    pub(crate) fn set_limits(&self, most: u64, freeze: u64) {
        self.heavy.lock().set_most(most);
        self.most_bytes.store(most, Ordering::Relaxed);
        self.freeze_bytes.store(freeze, Ordering::Relaxed);
    }

    fn most(&self) -> u64 {
        self.most_bytes.load(Ordering::Relaxed).max(1)
    }

    /// The bytes of changes that are worth a sweep.
    fn worth_a_sweep(&self) -> u64 {
        let half = self.most() / 2;
        match self.counts.leaf_bytes.load(Ordering::Relaxed) {
            // No run has shown the size of its leaves yet.
            0 => half,
            leaves => (leaves / WORTH_PAGE_SHARE).max(self.freeze_bytes.load(Ordering::Relaxed)).min(half),
        }
    }

    /// Returns whether damage was read since the buffer was last checked.
    fn is_suspect(&self) -> bool {
        self.suspect.load(Ordering::Relaxed)
    }

    /// Returns whether so many changes are pending that no more are taken.
    pub(super) fn is_over_full(&self) -> bool {
        self.counts.backlog() > self.most() / 2 * 3
    }

    /// The figures of the buffer.
    pub(crate) fn stats(&self) -> ChangeBufferStats {
        let counts = &self.counts;
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ChangeBufferStats {
            buffered: load(&counts.buffered),
            merged: load(&counts.merged),
            leaves_merged: load(&counts.leaves),
            leaves_moved: load(&counts.moved),
            leaves_merged_softly: load(&counts.softly),
            changed_softly: load(&counts.softly_changed),
            l0_bytes: load(&counts.l0_bytes),
            run_bytes: load(&counts.frozen_bytes) + load(&counts.run_bytes),
            most_bytes: load(&self.most_bytes),
            runs_written: load(&counts.runs),
            run_bytes_written: load(&counts.written),
            waited_us: load(&counts.waited_us),
            swept_us: load(&counts.swept_us),
            sweeping: load(&counts.sweeping) != 0,
        }
    }

    /// Makes a commit that will buffer `bytes` wait before it begins.
    pub(crate) fn admit(&self, bytes: u64) {
        let (backlog, most) = (self.counts.backlog(), self.most());
        let gentle = most / 4 * 3;
        if backlog <= gentle {
            return;
        }
        let (swept, took) =
            (self.counts.swept_bytes.load(Ordering::Relaxed), self.counts.swept_us.load(Ordering::Relaxed));
        let share = ((backlog - gentle) as f64 / (most - gentle).max(1) as f64).min(2.0);
        let us_for_a_byte = if swept == 0 { UNKNOWN_SWEEP } else { took as f64 / swept as f64 };
        let wait = share * bytes as f64 * us_for_a_byte;
        let wait = Duration::from_micros(wait as u64).min(LONGEST_WAIT);
        self.counts.waited_us.fetch_add(wait.as_micros() as u64, Ordering::Relaxed);
        std::thread::sleep(wait);
    }
}

impl ChangeBuffer {
    /// Does the next piece of work on buffered changes. Returns true if there is more to do at once.
    pub(super) fn tend(&self, host: &dyn Host) -> Result<bool> {
        let mut sweep = self.sweep.lock();
        if !sweep.wake() {
            return Ok(false);
        }
        let outcome = self.tend_changes(host, &mut sweep);
        match outcome {
            Ok(_) => sweep.pause = None,
            Err(_) => sweep.rest(),
        }
        outcome
    }

    fn tend_changes(&self, host: &dyn Host, sweep: &mut Sweep) -> Result<bool> {
        self.set_bound(host.bound());
        let (counts, now) = (&self.counts, Instant::now());
        let buffered = counts.buffered.load(Ordering::Relaxed);
        let (at, before) = *sweep.busy.get_or_insert((now, buffered));
        if before != buffered {
            sweep.busy = Some((now, buffered));
        }
        let is_idle = before == buffered && now.duration_since(at) > IDLE;
        let backlog = counts.backlog().saturating_sub(sweep.stuck);
        let is_suspect = self.suspect.swap(false, Ordering::Relaxed);
        if backlog == 0 && !is_suspect {
            sweep.since = None;
            return Ok(false);
        }
        let is_old = now.duration_since(*sweep.since.get_or_insert(now)) > OLDEST;
        let l0 = counts.l0_bytes.load(Ordering::Relaxed);
        let is_due = l0 > self.freeze_bytes.load(Ordering::Relaxed)
            || counts.frozen_bytes.load(Ordering::Relaxed) > 0
            || is_suspect;
        if is_due {
            self.freeze_changes(host, sweep)?;
        }
        let worth = self.worth_a_sweep();
        if sweep.begun().is_none() && (is_idle || is_old || backlog > worth) {
            if counts.l0_bytes.load(Ordering::Relaxed) > 0 {
                self.freeze_changes(host, sweep)?;
            }
            sweep.state = State::Sweeping { begun: now };
        }
        let Some(begun) = sweep.begun() else { return Ok(false) };
        counts.sweeping.store(1, Ordering::Relaxed);
        let done = self.sweep_some(host, sweep, BATCH)?;
        if done {
            counts.sweeping.store(0, Ordering::Relaxed);
            sweep.since = Some(begun);
        }
        // As long as nobody writes, readers need not share the device with sweeps; but writers may be waiting for
        // them.
        let is_urgent = backlog > if before == buffered { self.most() / 4 * 3 } else { worth / 2 * 3 };
        Ok(!done && (is_idle || is_urgent))
    }

    /// Does the same work in a store without threads: the committing thread does it after its commit, until it is not
    /// urgent.
    pub(crate) fn tend_here(&self, host: &dyn Host) {
        if self.worker.get().is_some() || self.counts.backlog() == 0 && !self.is_suspect() {
            return;
        }
        // The next commit tries again after a failure; a failure that has stopped the store is reported to its users.
        while self.tend(host).unwrap_or(false) {}
    }

    /// Merges all changes that are buffered now into their leaves.
    ///
    /// # Errors
    /// Errors of the store. Changes of leaves that cannot be read stay.
    pub(crate) fn merge_all(&self, host: &dyn Host) -> Result<()> {
        let mut sweep = self.sweep.lock();
        self.set_bound(host.bound());
        if self.counts.backlog() == 0 && !self.is_suspect() {
            return Ok(());
        }
        sweep.end();
        sweep.stuck = 0;
        if self.sources.read().frozen.is_some() {
            // L0 must wait until that is written.
            self.freeze_changes(host, &mut sweep)?;
        }
        self.freeze_changes(host, &mut sweep)?;
        self.suspect.store(false, Ordering::Relaxed);
        while !self.sweep_some(host, &mut sweep, BATCH)? {}
        Ok(())
    }

    /// Continues the sweep for this many leaves. Returns whether the run is done.
    pub(super) fn sweep_some(&self, host: &dyn Host, sweep: &mut Sweep, leaves: usize) -> Result<bool> {
        let Some(run) = self.sources.read().run.clone() else {
            sweep.end();
            return Ok(true);
        };
        let begun = Instant::now();
        let swept = self.sweep_leaves(host, &run, sweep, leaves);
        let (bytes, done) = match swept {
            // Writing a run shows which trees must be given up.
            Err(error) if error.is_damage() => {
                self.freeze_changes(host, sweep)?;
                return Ok(false);
            }
            swept => swept?,
        };
        self.counts.swept(bytes, begun.elapsed());
        self.list_merged_ghosts(host);
        if done {
            sweep.stuck = self.finish_run(host, sweep)?;
            sweep.end();
        }
        Ok(done)
    }

    /// Merges the next leaves that the run has changes of. Returns the bytes of changes passed, and whether the run
    /// is done.
    fn sweep_leaves(
        &self,
        host: &dyn Host,
        run: &Tree,
        sweep: &mut Sweep,
        leaves: usize,
    ) -> Result<(u64, bool)> {
        self.read_ahead_of_sweep(host, run, sweep, leaves)?;
        let mut moving = None;
        let swept = self.sweep_run(host, run, sweep, leaves, &mut moving);
        let ended = self.end_moving(sweep, &mut moving);
        let swept = swept?;
        ended.map(|()| swept)
    }

    fn sweep_run(
        &self,
        host: &dyn Host,
        run: &Tree,
        sweep: &mut Sweep,
        leaves: usize,
        moving: &mut Option<Relocation>,
    ) -> Result<(u64, bool)> {
        let mut entries = Entries::new(run, &sweep.position);
        let mut swept = 0;
        for _ in 0..leaves {
            let end = if sweep.wrapped { Some(sweep.origin.as_slice()) } else { None };
            let next = entries.peek()?.filter(|(key, _)| end.is_none_or(|end| key.as_slice() < end));
            let Some((key, _)) = next else {
                if sweep.wrapped || sweep.origin.is_empty() {
                    return Ok((swept, true));
                }
                self.end_moving(sweep, moving)?;
                sweep.wrapped = true;
                sweep.position.clear();
                entries = Entries::new(run, &[]);
                continue;
            };
            let (tree, in_tree) = split_key(key)?;
            let beyond = match self.sweep_leaf(host, sweep, moving, tree, in_tree) {
                Ok(Some(upper)) => buffer_key(tree, &upper),
                Ok(None) => after_tree(tree),
                Err(error) if error.is_damage() => {
                    sweep.failed.insert(tree);
                    after_tree(tree)
                }
                Err(error) => return Err(error),
            };
            // The changes of the run that belong to the leaf.
            while let Some((key, payload)) = entries.peek()?.filter(|(key, _)| *key < beyond) {
                swept += (key.len() + payload.len()) as u64;
                entries.next()?;
            }
            sweep.position = beyond;
        }
        Ok((swept, false))
    }

    /// Reads the next leaves that the run has changes of, as one batch.
    fn read_ahead_of_sweep(&self, host: &dyn Host, run: &Tree, sweep: &Sweep, leaves: usize) -> Result<()> {
        let mut entries = Entries::new(run, &sweep.position);
        let mut pages = Vec::with_capacity(leaves);
        while let Some((key, _)) = entries.peek()?
            && pages.len() < leaves
        {
            let (id, from) = split_key(key)?;
            let from = from.to_vec();
            let Some(handle) = host.tree(id) else { break };
            let mut failed = None;
            let walked = handle.tree.for_each_leaf(Direction::Forward, &from, None, &mut |leaf| {
                pages.push(leaf.page);
                let beyond =
                    leaf.keys.upper.as_ref().map_or_else(|| after_tree(id), |upper| buffer_key(id, upper));
                match skip_to(&mut entries, &beyond) {
                    Ok(Some((of, key))) if of == id && pages.len() < leaves => LeafWalk::SkipTo(key),
                    Ok(_) => LeafWalk::Stop,
                    Err(error) => {
                        failed = Some(error);
                        LeafWalk::Stop
                    }
                }
            });
            failed.map_or(Ok(()), Err)?;
            if let Err(error) = walked.map_err(TableError::from) {
                // The thread that merges the damaged page handles the damage.
                if error.is_damage() { break } else { return Err(error) }
            }
        }
        Ok(self.store.prefetch_from_file(&pages)?)
    }

    /// Frees the run, which a sweep has passed, except for changes that could not be merged. Returns their bytes.
    fn finish_run(&self, host: &dyn Host, sweep: &mut Sweep) -> Result<u64> {
        if sweep.failed.is_empty() {
            self.drop_run()?;
            return Ok(0);
        }
        self.freeze_changes(host, sweep)?;
        Ok(self.counts.run_bytes.load(Ordering::Relaxed))
    }

    /// Merges a leaf, or copies it to be moved. Returns the beginning of the next leaf.
    fn sweep_leaf(
        &self,
        host: &dyn Host,
        sweep: &mut Sweep,
        moving: &mut Option<Relocation>,
        tree: SegmentId,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        // The handle keeps its segment from being freed.
        let Some(handle) = host.tree(tree) else { return Ok(None) };
        // The second attempt is for the case that the rest of an extent is not enough.
        for _ in 0..2 {
            if moving.as_ref().is_none_or(|relocation| relocation.tree() != tree) {
                self.end_moving(sweep, moving)?;
                let beside = sweep.place.filter(|(of, _)| *of == tree).map(|(_, page)| page);
                *moving = self.relocation(&handle, &sweep.position, beside)?;
            }
            let Some(relocation) = moving else { break };
            match self.copy_leaf(relocation, key)? {
                Copied::Done(next) => return Ok(next),
                Copied::NoRoom => self.end_moving(sweep, moving)?,
            }
        }
        self.merge_leaf(&handle.tree, key, &|pages, log| self.store.reserve(pages, log))
    }

    /// Replaces the copied leaves. The sweep goes back to the first that could not be replaced.
    fn end_moving(&self, sweep: &mut Sweep, moving: &mut Option<Relocation>) -> Result<()> {
        let Some(mut relocation) = moving.take() else { return Ok(()) };
        sweep.place = Some((relocation.tree(), relocation.place()));
        match self.finish_relocation(&mut relocation) {
            Err(error) if error.is_damage() => {
                sweep.failed.insert(relocation.tree());
                Ok(())
            }
            Err(error) => {
                sweep.position = relocation.left_from().unwrap_or(std::mem::take(&mut sweep.position));
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }

    /// Lists the deleted entries that merging has left for the purge.
    pub(crate) fn list_merged_ghosts(&self, host: &dyn Host) {
        for (ts, tree, key) in std::mem::take(&mut *self.ghosts.lock()) {
            host.add_ghost(ts, tree, &key);
        }
    }
}

/// Takes entries up to `beyond`. Returns the tree and key of the next one.
fn skip_to(entries: &mut Entries, beyond: &[u8]) -> Result<Option<(SegmentId, Vec<u8>)>> {
    while entries.peek()?.is_some_and(|(key, _)| key.as_slice() < beyond) {
        entries.next()?;
    }
    let Some((key, _)) = entries.peek()? else { return Ok(None) };
    let (tree, key) = split_key(key)?;
    Ok(Some((tree, key.to_vec())))
}
