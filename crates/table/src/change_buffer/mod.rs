//! The change buffer: buffers changes of leaves of non-unique secondary indexes that are not in memory.
//!
//! Reading in a leaf for every entry that a commit changes would cost a random read each, and a page written twice.
//! Instead the change is kept here, ordered by (tree, key), and merged into its leaf together with others: when the
//! leaf is read, or by a sweep.
//!
//! | module | contents |
//! |---|---|
//! | `entry` | keys and payloads |
//! | `host` | the thread, and the interface to the engine |
//! | `state` | the row of the catalog that names the trees |
//! | `route` | the decision whether a change goes to its leaf or here; merging a leaf by log |
//! | `together` | leaves held for changes that are buffered together |
//! | `run` | writing L0 to the run |
//! | `lost` | indexes whose changes cannot be read any more |
//! | `relocate` | merging leaves into copies on fresh pages |
//! | `sweep` | merging all leaves in the order of keys, its pace, and slowing down writers |
//!
//! # Where changes are
//! *L0* is an ordinary logged tree, small enough to stay in memory. When it has reached its limit it is *frozen*, and
//! another tree replaces it. The frozen tree is merged with the *run* into a new run, a tree that is written at once,
//! without pool and log. Each replacement is one logged change of the catalog's row. A change is therefore durable
//! and redone like any other, and the log need not be kept for it. A leaf's changes are in at most three ranges, one
//! of each tree; the newest change of a key counts.
//!
//! # Pending changes
//! A change carries its *generation*: the end of the log when it was buffered. A leaf's `merged_through` is the end
//! of the log when the leaf was last merged by log. A change is pending if its generation is not below that. Merging
//! a leaf therefore removes nothing here, and a run is freed when a sweep has passed all of it. This is right because
//! the log grows with each change that is buffered and each merge, and because both happen while the leaf is *held*
//! (`storage::pool::pending`).
//!
//! # Invariants
//! - A leaf in memory lacks nothing. Changes are buffered only while the leaf is held out of memory, and a reader
//!   that brings a leaf in merges it first; or while the leaf is taken from all others, unchanged, and the change is
//!   also made in memory before it is given back.
//! - A leaf that was merged or changed in memory only is not changed directly; it is merged by log before.
//! - The root of a tree that is a single leaf has no pending changes.
//! - Removals are not buffered: a purge skips a leaf that is not merged by log. A deletion that no snapshot needs
//!   removes the entry when it reaches the leaf.
//! - Numbers of trees are never reused. Changes of dropped trees are left out when a run is written.
//! - Pages of these trees that recovery left in memory are evicted before anybody reads them.
//!
//! # An index that is being built
//! The index has no leaves yet. Every change of it must be kept here, whatever is in memory, and merged by a sweep of
//! its range once there are leaves. [`ChangeBuffer::buffer`] takes a change of any tree without a look at its leaf,
//! bulk-built leaves are merged through generation 0, and [`ChangeBuffer::merge_leaf`] merges one leaf at a time.

#[cfg(test)]
mod damage_tests;
mod entry;
mod host;
mod lost;
mod relocate;
mod route;
mod run;
mod state;
mod sweep;
mod together;

pub(crate) use host::Host;
pub use sweep::ChangeBufferStats;

use crate::error::{Result, TableError};
use crate::op::Op;
use crate::options::ChangeBuffering;
use crate::quarantine::Quarantine;
use entry::{Entries, after_tree, buffer_key, decode_head, decode_since, encode, split_key};
use hashbrown::HashSet;
use leafline_btree::{BtreeError, BufferedEntry, Change, CommitTs, Direction, Tree, UnpinnedLeaf};
use leafline_storage::worker::Worker;
use leafline_storage::{PageKind, PageMerger, PageNo, RawPage, Reservation, SegmentId, StorageError, Store};
use lost::LostAtOpen;
use parking_lot::{Mutex, RwLock};
use route::PendingByteCounters;
use state::Sources;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use sweep::{Counts, Sweep};

/// The buffer of a database.
pub(crate) struct ChangeBuffer {
    store: Store,
    catalog: Tree,
    /// Held for reading while L0 is changed or a tree is read, so that none is freed meanwhile; held for writing to
    /// replace trees. A reader may wait for pages.
    sources: RwLock<Sources>,
    /// The trees that may have pending changes. The set grows with `sources` held for reading, and shrinks with it
    /// held for writing.
    trees: RwLock<HashSet<SegmentId>>,
    /// Whether there are any such trees.
    any: AtomicBool,
    /// The trees that lack changes for good.
    lost: RwLock<HashSet<SegmentId>>,
    /// Whether one of the sources could not be read.
    suspect: AtomicBool,
    /// Deleted entries that were merged by log, for the purge.
    ghosts: Mutex<Vec<(CommitTs, SegmentId, Vec<u8>)>>,
    /// Leaves that a sweep has copied, and nobody has merged since.
    copied: Mutex<HashSet<PageNo>>,
    /// Leaves with many pending changes.
    heavy: Mutex<PendingByteCounters>,
    /// Nobody needs what was deleted before this.
    purge_before: AtomicU64,
    mode: AtomicU8,
    /// Whether leaves are written, or evicted, so that all changes are buffered: a mode for tests.
    force: AtomicBool,
    /// Whether there are more pages than fit in memory.
    is_tight: AtomicBool,
    most_bytes: AtomicU64,
    freeze_bytes: AtomicU64,
    counts: Counts,
    /// The state of the background work. Held by a thread that freezes or sweeps.
    sweep: Mutex<Sweep>,
    /// The thread; `None` in a store without threads of its own, in which committing threads do its work.
    worker: OnceLock<Worker>,
}

/// The merger given to the pool. It does not keep the buffer, and with it the store, open.
struct Merger(Weak<ChangeBuffer>);

impl PageMerger for Merger {
    fn concerns(&self, kind: PageKind, owner: SegmentId) -> bool {
        kind == PageKind::LEAF && self.0.upgrade().is_some_and(|buffer| buffer.is_pending(owner))
    }

    fn merge(&self, page: RawPage) -> leafline_storage::Result<()> {
        match self.0.upgrade() {
            Some(buffer) => buffer.merge_in_memory(page).map_err(to_storage),
            None => Err(StorageError::Poisoned { why: "the database was closed".into() }),
        }
    }
}

/// Converts an error for the pool.
fn to_storage(error: TableError) -> StorageError {
    match error {
        TableError::Storage(error) | TableError::Tree(BtreeError::Storage(error)) => error,
        TableError::Tree(BtreeError::Corrupt { page, what }) => StorageError::Corrupt { page, reason: what },
        other => StorageError::Corrupt { page: PageNo::NONE, reason: other.to_string() },
    }
}

impl ChangeBuffer {
    /// Opens the buffer that the catalog's row names. From here on leaves are merged when they are read in. Damaged
    /// trees must be given up ([`give_up_at_open`](Self::give_up_at_open)) when the indexes are known.
    pub(crate) fn open(
        store: &Store,
        catalog: &Tree,
        quarantine: &Quarantine,
    ) -> Result<(Arc<ChangeBuffer>, LostAtOpen)> {
        let sources = Sources::load(store, catalog)?;
        let (mut trees, mut lost) = (HashSet::new(), LostAtOpen::default());
        let mut look_into = |source: &Tree, listed: Option<&BTreeSet<SegmentId>>| -> Result<usize> {
            let damage =
                quarantine.get(source.id()).map(|_| "recovery could not bring it up to date".to_owned());
            let found = match (&damage, listed) {
                (None, None) => {
                    // A read that fails now and then is not damage.
                    let attempts = (1..lost::ATTEMPTS).map(|_| trees_in(source));
                    let found = attempts.into_iter().find(Result::is_ok);
                    found.unwrap_or_else(|| trees_in(source))
                }
                _ => Ok(Vec::new()),
            };
            let damage = match &found {
                Err(error) if error.is_damage() => Some(error.to_string()),
                _ => damage,
            };
            match damage {
                Some(why) => {
                    lost.note(source, listed, format!("buffered changes of it cannot be read: {why}"))
                }
                None => trees.extend(found?.iter().chain(listed.into_iter().flatten())),
            }
            Ok(trees.len())
        };
        let of_l0 = sources.l0.iter().try_fold(0, |_, l0| look_into(l0, None))?;
        for source in [&sources.frozen, &sources.run].into_iter().flatten() {
            look_into(source, sources.of_trees.as_ref())?;
        }
        let counts = Counts::default();
        counts.set_bytes(if of_l0 == 0 { 0 } else { bytes_of(store, &sources.l0) }, sources.bytes);
        trees.extend(lost.listed());
        let buffer = Arc::new(ChangeBuffer {
            store: store.clone(),
            catalog: catalog.clone(),
            sources: RwLock::new(sources),
            any: AtomicBool::new(!trees.is_empty()),
            trees: RwLock::new(trees),
            lost: RwLock::new(lost.listed().copied().collect()),
            suspect: AtomicBool::new(false),
            ghosts: Mutex::default(),
            copied: Mutex::default(),
            heavy: Mutex::default(),
            purge_before: AtomicU64::new(0),
            mode: AtomicU8::new(ChangeBuffering::None as u8),
            force: AtomicBool::new(false),
            is_tight: AtomicBool::new(false),
            most_bytes: AtomicU64::new(0),
            freeze_bytes: AtomicU64::new(u64::MAX),
            counts,
            sweep: Mutex::default(),
            worker: OnceLock::new(),
        });
        let merger = Arc::new(Merger(Arc::downgrade(&buffer)));
        store.set_page_merger(merger, &|segment| buffer.is_pending(segment))?;
        Ok((buffer, lost))
    }

    /// The segments it owns.
    pub(crate) fn segments(&self) -> BTreeSet<SegmentId> {
        self.sources.read().trees().map(Tree::id).collect()
    }

    /// Returns whether a tree may have pending changes.
    pub(crate) fn is_pending(&self, tree: SegmentId) -> bool {
        self.any.load(Ordering::Acquire) && self.trees.read().contains(&tree)
    }

    /// Forgets dropped trees; the next run that is written leaves out the rest of their changes.
    pub(crate) fn retain(&self, is_there: impl Fn(SegmentId) -> bool) {
        let sources = self.sources.write();
        let mut trees = self.trees.write();
        trees.retain(|tree| is_there(*tree));
        self.lost.write().retain(|tree| is_there(*tree));
        self.any.store(!trees.is_empty(), Ordering::Release);
        drop(sources);
    }

    /// Ghosts and timestamps from before this may be removed.
    fn purge_before(&self) -> CommitTs {
        CommitTs(self.purge_before.load(Ordering::Relaxed))
    }

    /// Sets the bound below which no snapshot needs anything.
    pub(crate) fn set_bound(&self, bound: CommitTs) {
        self.purge_before.fetch_max(bound.0, Ordering::Relaxed);
    }

    /// Buffers changes of the commit at `ts`, of one tree and ascending by key. The caller holds their leaves, or
    /// knows that there are none.
    pub(crate) fn buffer(&self, ops: &[Op], ts: CommitTs, reservation: &mut Reservation) -> Result<()> {
        let Some(first) = ops.first() else { return Ok(()) };
        let sources = self.sources.read();
        let Some(l0) = &sources.l0 else {
            return Err(TableError::Internal("a change was buffered before there was a buffer".into()));
        };
        if !self.is_pending(first.tree()) {
            self.trees.write().insert(first.tree());
            self.any.store(true, Ordering::Release);
        }
        let generation = self.store.log_end().0;
        let entry = |op: &Op| (buffer_key(op.tree(), op.key()), encode(op, ts, generation));
        let entries: Vec<(Vec<u8>, Vec<u8>)> = ops.iter().map(entry).collect();
        let mut left = &entries[..];
        let mut added = 0;
        while !left.is_empty() {
            let mut replaced = vec![0; left.len()];
            let key = |number: usize| left.get(number).map(|(key, _)| key.as_slice());
            let made = l0.modify_run(reservation, &key, CommitTs::NONE, &mut |number, there| {
                let (key, payload) = &left[number];
                if let Some(there) = there {
                    replaced[number] = key.len() + there.payload.len();
                    // The change of a commit that is finished after a crash may be there already.
                    if decode_head(there.payload).is_ok_and(|(_, newest, _)| newest > ts) {
                        return Change::Keep;
                    }
                }
                Change::Put { payload: Cow::Borrowed(payload), ts: CommitTs::NONE, has_previous: false }
            })?;
            let (done, rest) = left.split_at(made.min(left.len()));
            let sizes = done.iter().zip(replaced);
            added += sizes
                .map(|((key, payload), replaced)| (key.len() + payload.len()).saturating_sub(replaced))
                .sum::<usize>();
            left = rest;
        }
        self.counts.buffered(ops.len() as u64, added as u64);
        Ok(())
    }

    /// The lengths of key and payload that a change takes in L0, for the reservation.
    pub(crate) fn entry_lens(op: &Op) -> (usize, usize) {
        (entry::KEY_HEAD + op.key().len(), entry::PAYLOAD_HEAD + op.payload_len())
    }

    /// The maximum number of pages and log bytes that one change needs, on its leaf or here.
    pub(crate) fn worst_case(&self, tree: &Tree, op: &Op) -> (usize, usize) {
        let (key, payload) = ChangeBuffer::entry_lens(op);
        let of = |tree: &Tree| (tree.worst_case_pages(), tree.worst_case_log(key, payload));
        let (here, there) = (self.l0().map_or((0, 0), |l0| of(&l0)), of(tree));
        (here.0.max(there.0), here.1.max(there.1))
    }

    /// Reads in the pages where changes of a tree, ascending by key, would be buffered, while that can still fail.
    pub(crate) fn read_in(&self, ops: &[&Op]) -> Result<()> {
        let sources = self.sources.read();
        let Some(l0) = sources.l0.as_ref().filter(|_| !ops.is_empty()) else { return Ok(()) };
        let keys: Vec<Vec<u8>> = ops.iter().map(|op| buffer_key(op.tree(), op.key())).collect();
        let all = keys.iter().map(|key| Some(key.as_slice()));
        let leaves = self.watched(l0.find_leaves(Direction::Forward, all).map_err(TableError::from))?;
        let mut last = None;
        for (key, leaf) in keys.iter().zip(leaves) {
            if last.replace(leaf.page()) != Some(leaf.page()) && !self.store.is_resident(leaf.page()) {
                self.watched(l0.get(key, |_| ()).map_err(TableError::from))?;
            }
        }
        Ok(())
    }

    /// Passes on the result of reading a source. Notes damage, so that it is soon dealt with.
    fn watched<T>(&self, read: Result<T>) -> Result<T> {
        read.inspect_err(|error| {
            if error.is_damage() {
                self.suspect.store(true, Ordering::Relaxed);
            }
        })
    }

    /// Returns whether there is an L0.
    fn has_l0(&self) -> bool {
        self.sources.read().l0.is_some()
    }

    /// L0, if there is one.
    pub(crate) fn l0(&self) -> Option<Tree> {
        self.sources.read().l0.clone()
    }

    /// The pending changes of a held leaf, ascending by key.
    fn pending_of(&self, tree: SegmentId, leaf: &UnpinnedLeaf) -> Result<Vec<BufferedEntry>> {
        let lower = buffer_key(tree, &leaf.lower);
        let upper = leaf.upper.as_ref().map_or_else(|| after_tree(tree), |upper| buffer_key(tree, upper));
        self.check_not_lost(tree)?;
        let sources = self.sources.read();
        let mut pending: Vec<BufferedEntry> = Vec::new();
        let mut is_sorted = true;
        for source in sources.trees() {
            let older = pending.len();
            let read = entry::for_each(source, &lower, &upper, |key, payload| {
                pending.extend(decode_since(leaf.merged_through, split_key(key)?.1, payload)?);
                Ok(())
            });
            self.watched(read).map_err(|error| of_leaf(leaf, error))?;
            is_sorted &= older == 0 || pending.len() == older;
        }
        drop(sources);
        if !is_sorted {
            // The newest change of a key comes last, and is kept.
            pending.sort_by(|one, other| one.key.cmp(&other.key));
            pending.dedup_by(|newer, kept| {
                let is_same = newer.key == kept.key;
                if is_same {
                    std::mem::swap(newer, kept);
                }
                is_same
            });
        }
        Ok(pending)
    }

    /// Merges a page that was read in; in memory only, if its changes fit.
    fn merge_in_memory(&self, mut page: RawPage) -> Result<()> {
        let tree = leafline_storage::page::owner(page.bytes());
        let leaf = match UnpinnedLeaf::open(page) {
            Ok(leaf) => leaf,
            // The reader of the page gets the error.
            Err(page) => {
                page.publish();
                return Ok(());
            }
        };
        let pending = self.pending_of(tree, &leaf)?;
        if pending.is_empty() {
            leaf.publish();
            return Ok(());
        }
        self.counts.softly_merged();
        let Some(leaf) = leaf.merge_softly(&pending, self.purge_before(), self.store.log_end())? else {
            return Ok(());
        };
        let Some(root) = self.store.root_of(tree) else {
            return Err(TableError::Internal(format!("leaf of tree {tree}, which is not there")));
        };
        let tree = Tree::open(&self.store, tree, root)?;
        self.merge_by_log(&tree, leaf, &pending, &|pages, log| {
            self.store.reserve_at_once(pages, log, false)
        })?;
        Ok(())
    }
}

/// The error for a leaf whose changes cannot be read.
fn of_leaf(leaf: &UnpinnedLeaf, error: TableError) -> TableError {
    if !error.is_damage() {
        return error;
    }
    let what = format!("its buffered changes cannot be read: {error}");
    TableError::Tree(BtreeError::Corrupt { page: leaf.page_no(), what })
}

/// The trees that a tree of the buffer has changes of.
fn trees_in(tree: &Tree) -> Result<Vec<SegmentId>> {
    let mut found = Vec::new();
    let mut from = Vec::new();
    while let Some((key, _)) = Entries::new(tree, &from).next()? {
        let (of, _) = split_key(&key)?;
        found.push(of);
        from = after_tree(of);
    }
    Ok(found)
}

/// The approximate size of changes in a tree, in bytes: its pages are two thirds full.
fn bytes_of(store: &Store, tree: &Option<Tree>) -> u64 {
    let segments = store.segments();
    let segment = tree.as_ref().and_then(|tree| segments.iter().find(|segment| segment.id == tree.id()));
    segment.map_or(0, |segment| segment.pages * store.page_size() as u64 * 2 / 3)
}
