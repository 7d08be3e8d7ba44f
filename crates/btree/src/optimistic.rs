//! Descents without latches.
//!
//! A branch is read under its version: the descent searches it, reads the reference, reads the child's version, and
//! only then checks whether the branch is unchanged. If it is, the reference was right at the moment when the child's
//! version was read, and so was the path to it (hand over hand). Until that check, bytes read from a page are used
//! only to read more.
//!
//! An attempt that meets a writer begins again at the root. After [`ATTEMPTS`] the caller descends with coupled
//! shared latches ([`crate::descend`]), which writers have to wait for. A fault in a node counts as having met a
//! writer: the latched descent reports it if it is real.

use std::cmp::Ordering;

use leafline_storage::{Optimistic, OptimisticPage, PageNo};

use crate::entry::{CommitTs, EntryFlags, EntryView};
use crate::freed::freed_pages;
use crate::node::{LeafFormat, NodeResult, Search, Source};
use crate::target::Target;
use crate::tree::Tree;

/// Number of descents without latches that are attempted before latches are taken.
const ATTEMPTS: u64 = 8;
/// How often a page that is latched exclusively is looked at before the attempt is given up.
const SPINS: usize = 40;
/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;
/// Lines of slots of a leaf that are fetched together with the header. A search would otherwise wait for one after
/// the other.
pub(crate) const SLOT_LINES: usize = 16;
/// Longest payload in bytes that is copied to the stack. Longer ones go to the heap.
const SHORT: usize = 512;

/// The outcome of a walk without latches.
pub(crate) enum OptimisticOutcome<T> {
    /// The walk reached its node.
    Reached(T),
    /// Every attempt met a writer. The caller takes latches.
    Contended,
    /// This page is not in memory. The caller faults it in and tries again.
    Missing(PageNo),
    /// The tree has no such level (any more).
    NoSuchLevel,
}

/// One attempt met a writer.
struct Restart;

type Attempt<T> = Result<OptimisticOutcome<T>, Restart>;

/// A reference to a node, as its parent had it.
pub(crate) struct ChildReference<'s> {
    /// The node's page.
    pub page: PageNo,
    /// The node's parent, which can be asked again whether it is unchanged. The root has none.
    pub parent: Option<OptimisticPage<'s>>,
}

/// The branch above the leaf that a search reached. The next search begins there if that branch covers its target,
/// too.
#[derive(Debug, Clone, Copy)]
pub struct Finger {
    branch: PageNo,
    /// Number of pages that had been freed before the branch was found.
    freed: u64,
}

impl Finger {
    /// Points to no branch.
    pub const NONE: Finger = Finger { branch: PageNo::NONE, freed: 0 };
}

impl ChildReference<'_> {
    /// Returns whether the reference still stands. Asked once the page is latched, or its version read: from then on
    /// the page is the node that was looked for. The reference to the root always stands, but the root may have
    /// another level by now.
    #[inline]
    pub fn stands(&self) -> bool {
        self.parent.as_ref().is_none_or(OptimisticPage::is_unchanged)
    }
}

/// An entry that was copied out of a leaf.
pub(crate) struct Copied {
    flags: EntryFlags,
    commit_ts: CommitTs,
    /// Length of the payload in `short`.
    len: usize,
    is_long: bool,
    short: [u8; SHORT],
    long: Vec<u8>,
}

impl Copied {
    /// Makes room for an entry.
    #[inline]
    pub fn new() -> Copied {
        let (flags, commit_ts) = (EntryFlags(0), CommitTs::NONE);
        Copied { flags, commit_ts, len: 0, is_long: false, short: [0; SHORT], long: Vec::new() }
    }

    /// Returns the entry.
    #[inline]
    pub fn entry(&self) -> EntryView<'_> {
        let payload = if self.is_long { self.long.as_slice() } else { &self.short[..self.len] };
        EntryView { flags: self.flags, commit_ts: self.commit_ts, payload }
    }
}

impl Tree {
    /// Repeats an attempt until it succeeds, or has failed [`ATTEMPTS`] times.
    #[inline]
    fn attempt<T>(&self, mut attempt: impl FnMut(&mut u64) -> Attempt<T>) -> OptimisticOutcome<T> {
        let (mut pages, mut restarts) = (0, 0);
        let walk = loop {
            match attempt(&mut pages) {
                Ok(walk) => break walk,
                Err(Restart) => restarts += 1,
            }
            if restarts == ATTEMPTS {
                break OptimisticOutcome::Contended;
            }
        };
        self.store().count_reads(pages, restarts);
        walk
    }

    /// Finds the reference to the node of `target` at `level`, as its parent has it.
    pub(crate) fn find_reference(
        &self,
        target: Target<'_>,
        level: u8,
    ) -> OptimisticOutcome<ChildReference<'_>> {
        self.attempt(|pages| self.try_reference(target, level, pages))
    }

    /// Finds the reference to a leaf like [`find_reference`](Self::find_reference), from the finger's branch if that
    /// holds `target`, else from the root. Moves the finger to the branch.
    pub(crate) fn find_leaf(
        &self,
        target: Target<'_>,
        finger: &mut Finger,
    ) -> OptimisticOutcome<ChildReference<'_>> {
        if let Some(reference) = self.try_near(target, *finger) {
            self.store().count_reads(1, 0);
            return OptimisticOutcome::Reached(reference);
        }
        // A page that is freed after this may still have been in the tree when it was read.
        let freed = freed_pages();
        let walk = self.find_reference(target, 0);
        if let OptimisticOutcome::Reached(ChildReference { parent: Some(branch), .. }) = &walk {
            *finger = Finger { branch: branch.page_no(), freed };
        }
        walk
    }

    /// Finds the reference to the leaf of `target` in the finger's branch. A page that is right above the leaves of
    /// this tree, and holds the target between its fences, is the right one, whatever has happened to it, unless it
    /// has been freed.
    #[inline]
    fn try_near(&self, target: Target<'_>, finger: Finger) -> Option<ChildReference<'_>> {
        if finger.branch == PageNo::NONE {
            return None;
        }
        let Optimistic::Page(page) = self.store().optimistic(finger.branch) else { return None };
        // The version of a page that is freed from now on changes.
        if freed_pages() != finger.freed {
            return None;
        }
        let node = Search::open(&page).ok()?;
        node.belongs_to(self.id(), Some(1)).ok()?;
        if !is_within(&page, &node, target) {
            return None;
        }
        let child = child_of(&node, target).ok()?;
        page.is_unchanged().then_some(ChildReference { page: child, parent: Some(page) })
    }

    /// Copies the node of `target` at `level` to `out`. Returns the page's number.
    pub(crate) fn find_copy(
        &self,
        target: Target<'_>,
        level: u8,
        out: &mut Vec<u8>,
    ) -> OptimisticOutcome<PageNo> {
        self.attempt(|pages| self.try_copy(target, level, out, pages))
    }

    /// Returns the level of the root, if that needs no waiting.
    pub(crate) fn root_level(&self) -> Option<u8> {
        match self.attempt(|pages| self.try_root_level(pages)) {
            OptimisticOutcome::Reached(level) => Some(level),
            _ => None,
        }
    }

    /// Looks up `key` in its leaf. Returns whether there is an entry, and copies it to `out`.
    #[inline]
    pub(crate) fn find_entry(&self, key: &[u8], out: &mut Copied) -> OptimisticOutcome<bool> {
        self.attempt(|pages| self.try_entry(key, out, pages))
    }

    #[inline]
    fn try_entry(&self, key: &[u8], out: &mut Copied, pages: &mut u64) -> Attempt<bool> {
        self.try_node(Target::Key(key), 0, pages, |leaf, node| look_up(leaf, node, key, out))
    }

    fn try_copy(&self, target: Target<'_>, level: u8, out: &mut Vec<u8>, pages: &mut u64) -> Attempt<PageNo> {
        self.try_node(target, level, pages, |page, _| {
            out.resize(page.size(), 0);
            page.copy(0, out);
            Ok(page.page_no())
        })
    }

    /// Counts the live entries of `[lower, upper)` on the leaf of `from`, a key within the range. Returns whether the
    /// range goes on beyond the leaf; `fence` is then where.
    pub(crate) fn count_on_leaf(
        &self,
        from: &[u8],
        upper: Option<&[u8]>,
        fence: &mut Vec<u8>,
    ) -> OptimisticOutcome<(usize, bool)> {
        self.attempt(|pages| {
            self.try_node(Target::Key(from), 0, pages, |page, leaf| {
                let start = leaf.find_within(0, from)?.0;
                let (at, len) = match (leaf.upper_fence(), upper) {
                    (None, None) => return Ok((leaf.live(start..leaf.count())?, false)),
                    (Some((at, len)), Some(upper)) if page.compare(at, len, upper).is_lt() => (at, len),
                    (Some(fence), None) => fence,
                    (_, Some(upper)) => {
                        let end = leaf.find_within(start, upper)?.0;
                        return Ok((leaf.live(start..end)?, false));
                    }
                };
                fence.resize(len, 0);
                page.copy(at, fence);
                Ok((leaf.live(start..leaf.count())?, true))
            })
        })
    }

    /// Reads the node of `target` at `level`.
    #[inline]
    fn try_node<'s, T>(
        &'s self,
        target: Target<'_>,
        level: u8,
        pages: &mut u64,
        read: impl FnOnce(&OptimisticPage<'s>, &Search<&OptimisticPage<'s>>) -> NodeResult<T>,
    ) -> Attempt<T> {
        let reference = match self.try_reference(target, level, pages)? {
            OptimisticOutcome::Reached(reference) => reference,
            OptimisticOutcome::Missing(page) => return Ok(OptimisticOutcome::Missing(page)),
            OptimisticOutcome::NoSuchLevel => return Ok(OptimisticOutcome::NoSuchLevel),
            OptimisticOutcome::Contended => return Ok(OptimisticOutcome::Contended),
        };
        let page = self.begin(reference.page)?;
        if let Some(page) = &page {
            (2..=SLOT_LINES).for_each(|line| page.prefetch(line * LINE));
        }
        if !reference.stands() {
            return Err(Restart);
        }
        let Some(page) = page else { return Ok(OptimisticOutcome::Missing(reference.page)) };
        *pages += 1;
        let found = Search::open(&page).and_then(|node| {
            node.belongs_to(self.id(), Some(level))?;
            read(&page, &node)
        });
        match found {
            Ok(found) if page.is_unchanged() => Ok(OptimisticOutcome::Reached(found)),
            _ => Err(Restart),
        }
    }

    #[inline]
    fn try_reference<'s>(
        &'s self,
        target: Target<'_>,
        level: u8,
        pages: &mut u64,
    ) -> Attempt<ChildReference<'s>> {
        let root = self.root();
        let Some(mut page) = self.begin(root)? else { return Ok(OptimisticOutcome::Missing(root)) };
        let mut expected = None;
        loop {
            *pages += 1;
            let node = Search::open(&page).and_then(|node| {
                node.belongs_to(self.id(), expected)?;
                Ok((node.level(), node))
            });
            let Ok((found, node)) = node else { return Err(Restart) };
            if found <= level {
                // Only the root can be so low: the levels below it are as expected.
                return match page.is_unchanged() {
                    true if found < level => Ok(OptimisticOutcome::NoSuchLevel),
                    true => Ok(OptimisticOutcome::Reached(ChildReference { page: root, parent: None })),
                    false => Err(Restart),
                };
            }
            let Ok(child) = child_of(&node, target) else { return Err(Restart) };
            if found == level + 1 {
                return match page.is_unchanged() {
                    true => {
                        Ok(OptimisticOutcome::Reached(ChildReference { page: child, parent: Some(page) }))
                    }
                    false => Err(Restart),
                };
            }
            let next = self.begin(child)?;
            if !page.is_unchanged() {
                return Err(Restart);
            }
            let Some(next) = next else { return Ok(OptimisticOutcome::Missing(child)) };
            expected = Some(found - 1);
            page = next;
        }
    }

    fn try_root_level(&self, pages: &mut u64) -> Attempt<u8> {
        let root = self.root();
        let Some(page) = self.begin(root)? else { return Ok(OptimisticOutcome::Missing(root)) };
        *pages += 1;
        let level = Search::open(&page).map(|node| node.level());
        match level {
            Ok(level) if page.is_unchanged() => Ok(OptimisticOutcome::Reached(level)),
            _ => Err(Restart),
        }
    }

    /// Begins to read a page. Returns `None` if it is not in memory.
    #[inline]
    fn begin(&self, page: PageNo) -> Result<Option<OptimisticPage<'_>>, Restart> {
        let mut spins = 0;
        loop {
            match self.store().optimistic(page) {
                Optimistic::Page(page) => {
                    // Fetch the first slots; the header is about to be read.
                    page.prefetch(LINE);
                    return Ok(Some(page));
                }
                Optimistic::NotResident => return Ok(None),
                Optimistic::Latched if spins < SPINS => spins += 1,
                Optimistic::Latched => return Err(Restart),
            }
            std::hint::spin_loop();
        }
    }
}

/// Returns the child of a branch that `target` is behind.
#[inline]
fn child_of(node: &Search<&OptimisticPage<'_>>, target: Target<'_>) -> NodeResult<PageNo> {
    let slot = match target {
        Target::Key(key) => node.child_for(key),
        Target::Before(key) => node.child_before(key),
    };
    node.child(slot?)
}

/// Returns whether `target` is between the fences of a node.
#[inline]
fn is_within(page: &OptimisticPage<'_>, node: &Search<&OptimisticPage<'_>>, target: Target<'_>) -> bool {
    let (Target::Key(key) | Target::Before(Some(key))) = target else { return node.upper_fence().is_none() };
    let (at, len) = node.lower_fence();
    let lower = page.compare(at, len, key);
    let upper = node.upper_fence().map_or(Ordering::Greater, |(at, len)| page.compare(at, len, key));
    match target {
        Target::Key(_) => lower.is_le() && upper.is_gt(),
        Target::Before(_) => (len == 0 || lower.is_lt()) && upper.is_ge(),
    }
}

/// Looks `key` up on the leaf that covers it, and copies the entry if there is one.
#[inline]
fn look_up<'p>(
    leaf: &OptimisticPage<'p>,
    node: &Search<&OptimisticPage<'p>>,
    key: &[u8],
    out: &mut Copied,
) -> NodeResult<bool> {
    let (slot, found) = node.find_within(0, key)?;
    if found && node.format() == LeafFormat::Packed {
        (out.flags, out.commit_ts) = node.packed_entry(slot, &mut out.long)?;
        out.is_long = true;
    } else if found {
        let cell = node.entry(slot)?;
        (out.flags, out.commit_ts, out.len) = (cell.flags, cell.commit_ts, cell.payload_len);
        let short = out.short.get_mut(..cell.payload_len);
        out.is_long = short.is_none();
        let payload = match short {
            Some(payload) => payload,
            None => {
                out.long.resize(cell.payload_len, 0);
                &mut out.long
            }
        };
        leaf.copy(cell.payload_at, payload);
    }
    Ok(found)
}
