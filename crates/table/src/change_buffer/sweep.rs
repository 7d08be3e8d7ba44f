//! Sweeps: merging the leaves that the run has changes of, in the order of keys, many changes a leaf; and when that is done.
//!
//! A sweep begins where the last run was written and goes round: to the end of the run, then from its beginning. When it has gone
//! over all of it the run is freed. A leaf is merged with all that is pending of it, what is in L0 included, into a copy that takes its place
//! ([`super::relocate`]), or where it is. Leaves are read ahead in batches. A leaf that cannot be read keeps its tree's changes: the run is not freed as long as there are any.
//!
//! | backlog | what the thread does |
//! |---|---|
//! | L0 at its limit | writes a run |
//! | less than is worth a sweep | nothing, unless nothing was buffered for some seconds: then it sweeps until nothing is left |
//! | what is worth a sweep | sweeps, [`BATCH`] leaves a round |
//! | half as much again | sweeps without a pause, while there are writers |
//! | three quarters of what is allowed | sweeps without a pause; writers wait the longer the more there is |
//! | half as much again as is allowed | no more is buffered: writers read their leaves |
//!
//! What is *worth a sweep* is a part of a page for each leaf of the trees concerned, or half of what is allowed, if that is less. To wait for more would
//! save little then, and every leaf that is read meanwhile has to be brought up to date with what lies in pages that are to be read, too.
//!
//! **Writers** pay, beyond three quarters, for what they add with the time that sweeping it takes, measured; by then the share of that time
//! grows from none to all of it. So they are slowed down to what sweeps can do, smoothly, and never stopped.

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

/// Leaves that are read as one batch, and merged in a round.
const BATCH: usize = 64;
/// Nothing was buffered for so long: there is time to sweep.
const IDLE: Duration = Duration::from_secs(2);
/// Of a page for each leaf of the trees that changes are pending of, the part that is worth a sweep.
const WORTH_PAGE_SHARE: u64 = 8;
/// Changes are swept at the latest when they are about so old.
const OLDEST: Duration = Duration::from_secs(600);
/// Pauses after rounds that fail.
const FIRST_REST: Duration = Duration::from_millis(200);
const LONGEST_REST: Duration = Duration::from_secs(60);
/// Microseconds that sweeping a byte takes, as long as no sweep has told: about what a rotating disk does.
const UNKNOWN_SWEEP: f64 = 0.4;
/// Longest that a commit waits.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// What the buffer has done and holds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ChangeBufferStats {
    /// Changes buffered.
    pub buffered: u64,
    /// Changes merged into leaves durably.
    pub merged: u64,
    /// Leaves merged durably.
    pub leaves_merged: u64,
    /// Of these, those that were moved to fresh pages.
    pub leaves_moved: u64,
    /// Leaves merged in memory alone, by who read them.
    pub leaves_merged_softly: u64,
    /// Buffered changes of leaves in memory, which were changed in memory alone.
    pub changed_softly: u64,
    /// Bytes of changes in L0.
    pub l0_bytes: u64,
    /// Bytes of changes in runs that have not been swept.
    pub run_bytes: u64,
    /// Most bytes that there are to be.
    pub most_bytes: u64,
    /// Runs written.
    pub runs_written: u64,
    /// Bytes of changes written to them.
    pub run_bytes_written: u64,
    /// Microseconds that commits waited for sweeps.
    pub waited_us: u64,
    /// Microseconds that sweeps took.
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
    /// Bytes of the leaves of trees that are in the run.
    leaf_bytes: AtomicU64,
}

impl Counts {
    /// The buffer holds so many bytes: in L0, in what is frozen and in the run.
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

    /// Bytes of changes in L0.
    pub(super) fn l0_bytes(&self) -> u64 {
        self.l0_bytes.load(Ordering::Relaxed)
    }

    /// L0 is frozen. The caller keeps everybody from it.
    pub(super) fn freeze(&self) {
        self.frozen_bytes.fetch_add(self.l0_bytes.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// All but L0 is a run of so many bytes, of trees whose leaves have so many.
    pub(super) fn run_written(&self, bytes: u64, leaf_bytes: u64) {
        self.leaf_bytes.store(leaf_bytes, Ordering::Relaxed);
        self.frozen_bytes.store(0, Ordering::Relaxed);
        self.run_bytes.store(bytes, Ordering::Relaxed);
        if bytes > 0 {
            self.runs.fetch_add(1, Ordering::Relaxed);
            self.written.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Bytes that are pending, about.
    fn backlog(&self) -> u64 {
        [&self.l0_bytes, &self.frozen_bytes, &self.run_bytes]
            .map(|bytes| bytes.load(Ordering::Relaxed))
            .iter()
            .sum()
    }

    /// A sweep has gone over so many bytes of the run.
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
    /// Goes over the run.
    Sweeping { begun: Instant },
    /// Pauses after a round that failed. `begun`: a sweep goes on afterwards.
    Resting { until: Instant, begun: Option<Instant> },
}

/// The background work: its state, and where the sweep is.
#[derive(Default)]
pub(super) struct Sweep {
    state: State,
    /// How long the last pause was; `None` after a round that succeeded.
    pause: Option<Duration>,
    /// Where it began on this run.
    origin: Vec<u8>,
    /// It has gone over what is before this, from the origin.
    position: Vec<u8>,
    /// It has come to the end of the run and begun at its beginning.
    wrapped: bool,
    /// A tree that leaves were moved of last, and a page beside which there may be room for more.
    place: Option<(SegmentId, PageNo)>,
    /// Trees with a leaf that could not be merged.
    failed: BTreeSet<SegmentId>,
    /// When something was buffered last, and how much had been by then.
    busy: Option<(Instant, u64)>,
    /// Nothing is older than this.
    since: Option<Instant>,
    /// Bytes of changes that a sweep could not merge; they are tried again when the database is opened, or merged on demand.
    stuck: u64,
    /// The tree that a run could not be written from.
    pub(super) unreadable: Option<SegmentId>,
    /// How often the device did not give it.
    pub(super) refusals: u32,
}

impl Sweep {
    /// Whether the sweep has gone over this key of the run.
    pub(super) fn has_passed(&self, key: &[u8]) -> bool {
        let passed = match self.wrapped {
            false => self.origin.as_slice() <= key && key < self.position.as_slice(),
            true => self.origin.as_slice() <= key || key < self.position.as_slice(),
        };
        passed && !split_key(key).is_ok_and(|(tree, _)| self.failed.contains(&tree))
    }

    /// There is another run: the sweep goes round it from here.
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

    /// When the sweep that is under way began.
    fn begun(&self) -> Option<Instant> {
        match self.state {
            State::Idle => None,
            State::Sweeping { begun } => Some(begun),
            State::Resting { begun, .. } => begun,
        }
    }

    /// Ends a pause that is over; whether there is none any more.
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

    /// Pauses after a round that has failed, each time for longer.
    fn rest(&mut self) {
        let pause = self.pause.map_or(FIRST_REST, |pause| (2 * pause).min(LONGEST_REST));
        self.state = State::Resting { until: Instant::now() + pause, begun: self.begun() };
        self.pause = Some(pause);
    }
}

impl ChangeBuffer {
    /// Sets the most bytes of changes there are to be, and those of L0.
    pub(crate) fn set_limits(&self, most: u64, freeze: u64) {
        self.heavy.lock().set_most(most);
        self.most_bytes.store(most, Ordering::Relaxed);
        self.freeze_bytes.store(freeze, Ordering::Relaxed);
    }

    fn most(&self) -> u64 {
        self.most_bytes.load(Ordering::Relaxed).max(1)
    }

    /// Bytes of changes that are worth a sweep.
    fn worth_a_sweep(&self) -> u64 {
        let half = self.most() / 2;
        match self.counts.leaf_bytes.load(Ordering::Relaxed) {
            // No run has told.
            0 => half,
            leaves => (leaves / WORTH_PAGE_SHARE).max(self.freeze_bytes.load(Ordering::Relaxed)).min(half),
        }
    }

    /// Whether what has been read of it since it was last looked into was damaged.
    fn is_suspect(&self) -> bool {
        self.suspect.load(Ordering::Relaxed)
    }

    /// Whether so much is pending that no more is taken.
    pub(super) fn is_over_full(&self) -> bool {
        self.counts.backlog() > self.most() / 2 * 3
    }

    /// What it has done and holds.
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

    /// How long a commit that will buffer `bytes` waits before it begins.
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
    /// What is to be done about buffered changes now. True: there is more to be done at once.
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
        // As long as nobody writes, who reads need not share the device with it; but writers may be waiting for it.
        let is_urgent = backlog > if before == buffered { self.most() / 4 * 3 } else { worth / 2 * 3 };
        Ok(!done && (is_idle || is_urgent))
    }

    /// The same where there are no threads for it: after a commit, by who has made it, until it is not urgent.
    pub(crate) fn tend_here(&self, host: &dyn Host) {
        if self.worker.get().is_some() || self.counts.backlog() == 0 && !self.is_suspect() {
            return;
        }
        // What fails is tried again by the next; what has stopped the store is reported to who uses it.
        while self.tend(host).unwrap_or(false) {}
    }

    /// Merges all changes that are buffered now into their leaves.
    ///
    /// # Errors
    /// What the store returns. Changes of leaves that cannot be read stay.
    pub(crate) fn merge_all(&self, host: &dyn Host) -> Result<()> {
        let mut sweep = self.sweep.lock();
        self.set_bound(host.bound());
        if self.counts.backlog() == 0 && !self.is_suspect() {
            return Ok(());
        }
        sweep.end();
        sweep.stuck = 0;
        if self.sources.read().frozen.is_some() {
            // L0 has to wait until that is written.
            self.freeze_changes(host, &mut sweep)?;
        }
        self.freeze_changes(host, &mut sweep)?;
        self.suspect.store(false, Ordering::Relaxed);
        while !self.sweep_some(host, &mut sweep, BATCH)? {}
        Ok(())
    }

    /// Goes on with the sweep, for so many leaves; whether the run is done.
    pub(super) fn sweep_some(&self, host: &dyn Host, sweep: &mut Sweep, leaves: usize) -> Result<bool> {
        let Some(run) = self.sources.read().run.clone() else {
            sweep.end();
            return Ok(true);
        };
        let begun = Instant::now();
        let swept = self.sweep_leaves(host, &run, sweep, leaves);
        let (bytes, done) = match swept {
            // Writing a run tells what is to be given up.
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

    /// Merges the next leaves that the run has changes of: bytes of changes gone over, and whether the run is done.
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
            // What of the run lies on the leaf.
            while let Some((key, payload)) = entries.peek()?.filter(|(key, _)| *key < beyond) {
                swept += (key.len() + payload.len()) as u64;
                entries.next()?;
            }
            sweep.position = beyond;
        }
        Ok((swept, false))
    }

    /// Has the next leaves read that the run has changes of, as one batch.
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
                // Who comes to the damaged page sees to that.
                if error.is_damage() { break } else { return Err(error) }
            }
        }
        Ok(self.store.prefetch_from_file(&pages)?)
    }

    /// A sweep has gone over all of the run: frees it, but for what could not be merged. How many bytes that is.
    fn finish_run(&self, host: &dyn Host, sweep: &mut Sweep) -> Result<u64> {
        if sweep.failed.is_empty() {
            self.drop_run()?;
            return Ok(0);
        }
        self.freeze_changes(host, sweep)?;
        Ok(self.counts.run_bytes.load(Ordering::Relaxed))
    }

    /// Merges a leaf, or copies it to be moved; where the next begins.
    fn sweep_leaf(
        &self,
        host: &dyn Host,
        sweep: &mut Sweep,
        moving: &mut Option<Relocation>,
        tree: SegmentId,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        // Held, so that its segment is not freed.
        let Some(handle) = host.tree(tree) else { return Ok(None) };
        // Once more if what was left of an extent is not enough.
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

    /// Puts the leaves that were copied in their places; the sweep goes back to the first that could not be.
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

    /// Lists the deleted entries that merging has left for a purge.
    pub(crate) fn list_merged_ghosts(&self, host: &dyn Host) {
        for (ts, tree, key) in std::mem::take(&mut *self.ghosts.lock()) {
            host.add_ghost(ts, tree, &key);
        }
    }
}

/// Takes entries up to `beyond`; the tree and key of the next one.
fn skip_to(entries: &mut Entries, beyond: &[u8]) -> Result<Option<(SegmentId, Vec<u8>)>> {
    while entries.peek()?.is_some_and(|(key, _)| key.as_slice() < beyond) {
        entries.next()?;
    }
    let Some((key, _)) = entries.peek()? else { return Ok(None) };
    let (tree, key) = split_key(key)?;
    Ok(Some((tree, key.to_vec())))
}
