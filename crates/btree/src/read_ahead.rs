//! Read-ahead: reads the leaves that a scan will visit before it gets there, many at a time.
//!
//! | kind | reads |
//! |---|---|
//! | logical | the leaves that come next according to branch pages, in key order either way, however they lie in the file |
//! | linear | the next extent, once the last leaves lay one behind the other in the file, as InnoDB does |
//! | physical | the pages of the segment in file order, whatever the scan visits |
//! | none | nothing |
//!
//! The scan's [`Course`] tells which leaves come next. Requested pages are kept in a list in the order of the scan;
//! each leaf that it visits takes the pages up to it off the list. When half of a window is left, the next window is
//! requested, twice as large, so a short scan reads few pages that it does not need. Where the scan meets leaves that
//! were not requested, because it leapt or the tree has changed, the course begins anew at its position. A window is
//! passed to the store as one batch, which is sorted by page. Where pages turn out to be scattered, the windows grow
//! beyond [`ORDERED_BYTES`], so that one sweep over the file brings more of them.
//!
//! Nothing here waits for a read, and a page that is in memory costs one look at its state word.

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::time::Duration;

use leafline_storage::PageNo;

use crate::cursor::{Cursor, Direction};
use crate::enumerate::LeafWalk;
use crate::error::Result;
use crate::tree::Tree;

/// Pages in the first window of a scan that may be short.
const FIRST_WINDOW: usize = 8;
/// A scan of fewer leaves visits them in key order.
const FEW_LEAVES: usize = 64;
/// Number of leaves in a row that were not requested before the following ones are looked up. Many scans have no
/// more.
const STRAYS: usize = 2;
/// Most bytes of a window whose pages lie in the order of the scan.
const ORDERED_BYTES: u64 = 4 << 20;
/// Pages are scattered if a window has more than one run of neighbours per this many pages.
const PAGES_PER_RUN: usize = 4;
/// Distance between the leaf that is visited and the one whose slots the processor fetches.
const LEAVES_FETCHED: usize = 2;
/// Linear: pages of an extent, and how many leaves in a row have to lie one behind the other (InnoDB's values).
const EXTENT: u64 = 64;
const THRESHOLD: u64 = 56;

/// The kind of read-ahead of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadAheadKind {
    /// Logical; and scans whose order does not matter may visit scattered leaves in the order of their pages.
    #[default]
    Automatic,
    /// The leaves that come next in key order.
    Logical,
    /// The next pages of the file, once leaves lie one behind the other.
    Linear,
    /// The pages of the tree in file order. Scans whose order does not matter visit leaves in that order.
    Physical,
    /// No read-ahead.
    None,
}

/// The settings of read-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadAheadSettings {
    /// The kind of read-ahead.
    pub kind: ReadAheadKind,
    /// Most bytes of a window.
    pub window_bytes: u64,
    /// How long a scan sleeps after it has requested a window of pages that were not in memory.
    pub pause: Duration,
}

impl Default for ReadAheadSettings {
    fn default() -> ReadAheadSettings {
        ReadAheadSettings {
            kind: ReadAheadKind::Automatic,
            window_bytes: ReadAheadSettings::WINDOW_BYTES,
            pause: Duration::ZERO,
        }
    }
}

impl ReadAheadSettings {
    /// Default of `window_bytes`.
    pub const WINDOW_BYTES: u64 = 64 << 20;

    /// Returns whether a scan whose order does not matter should visit its leaves in the order of their pages. It has
    /// `leaves` of them; `missing` are not in memory, and `backward` lie before the leaf before them.
    pub fn visits_by_page(&self, leaves: usize, missing: usize, backward: usize) -> bool {
        match self.kind {
            ReadAheadKind::Physical => true,
            ReadAheadKind::Automatic => {
                leaves >= FEW_LEAVES && missing * 8 >= leaves && backward * 16 >= leaves
            }
            ReadAheadKind::Logical | ReadAheadKind::Linear | ReadAheadKind::None => false,
        }
    }

    /// Returns whether a scan may visit leaves in the order of their pages.
    pub fn may_visit_by_page(&self) -> bool {
        matches!(self.kind, ReadAheadKind::Physical | ReadAheadKind::Automatic)
    }
}

/// The sequence of leaves that a scan comes to.
pub trait Course {
    /// Begins at the scan's position.
    fn begin(&mut self, position: Option<&[u8]>);
    /// Returns the next leaves, at most `most`. An empty list means that there are no more.
    fn next(&mut self, tree: &Tree, most: usize) -> Result<Vec<PageNo>>;
}

/// The read-ahead of one scan.
#[derive(Debug)]
pub struct ReadAhead {
    settings: ReadAheadSettings,
    window: usize,
    /// Requested and not visited yet, in the order of the scan.
    asked: VecDeque<PageNo>,
    /// Leaves visited in a row that were not requested.
    strays: usize,
    /// Whether all leaves of the course are requested.
    ended: bool,
    /// The number of leaves that the cursor had come to at the last call.
    leaves: u64,
    /// The last leaf visited.
    last: PageNo,
    /// Whether the scan visits leaves in the order of their pages.
    by_page: bool,
    /// Linear: how many leaves lay in a row, and the page up to which was requested.
    row: u64,
    until: u64,
    /// Physical: the pages of the segment that are still to be requested, in order.
    pages: Option<VecDeque<PageNo>>,
}

impl ReadAhead {
    /// Makes the read-ahead of a scan.
    pub fn new(settings: ReadAheadSettings) -> ReadAhead {
        ReadAhead {
            settings,
            window: FIRST_WINDOW,
            asked: VecDeque::new(),
            strays: 0,
            ended: false,
            leaves: 0,
            last: PageNo::NONE,
            by_page: false,
            row: 0,
            until: 0,
            pages: None,
        }
    }

    /// Begins a new walk that is known to visit some leaves. They are requested at once.
    pub fn start_at_once(&mut self, first_window: usize) {
        self.start();
        (self.window, self.strays) = (first_window, STRAYS);
    }

    /// Begins a new walk in the order of the pages. Its course then replaces physical read-ahead.
    pub fn start_by_page(&mut self, first_window: usize) {
        self.start_at_once(first_window);
        self.by_page = true;
    }

    /// Begins a new walk.
    pub fn start(&mut self) {
        *self = ReadAhead { leaves: self.leaves, last: self.last, ..ReadAhead::new(self.settings) };
    }

    /// Drops the list of requested pages, because the scan went elsewhere.
    pub fn leapt(&mut self) {
        self.asked.clear();
        self.strays = 0;
    }

    /// Requests pages before the scan visits the leaf at `position`. The scan has come to `leaves` leaves, the last
    /// of them `leaf`. Returns how many pages are being read that were not in memory.
    ///
    /// # Errors
    /// `Corrupt`, and the errors of the store.
    pub fn advance(
        &mut self,
        tree: &Tree,
        (leaves, leaf): (u64, PageNo),
        position: Option<&[u8]>,
        course: &mut dyn Course,
    ) -> Result<u64> {
        let came = leaves - self.leaves.min(leaves);
        self.leaves = leaves;
        if came == 0 && self.strays < STRAYS {
            return Ok(0);
        }
        let asked = match self.settings.kind {
            ReadAheadKind::None => Vec::new(),
            ReadAheadKind::Linear if came > 0 => self.linear(leaf),
            ReadAheadKind::Linear => Vec::new(),
            ReadAheadKind::Physical if !self.by_page => self.physical(tree, came)?,
            ReadAheadKind::Automatic | ReadAheadKind::Logical | ReadAheadKind::Physical => {
                if came > 0 {
                    self.note(leaf);
                    // A scan that visits few entries of each leaf would wait for memory at every leaf.
                    if let Some(page) = self.asked.get(LEAVES_FETCHED) {
                        tree.fetch_slots(*page);
                    }
                }
                self.logical(tree, position, course)?
            }
        };
        self.last = leaf;
        if asked.is_empty() {
            return Ok(0);
        }
        self.read(tree, &asked)
    }

    /// Records that a leaf was visited.
    fn note(&mut self, leaf: PageNo) {
        if leaf == self.last {
            return;
        }
        match self.asked.iter().position(|asked| *asked == leaf) {
            Some(at) => {
                self.asked.drain(..=at);
                self.strays = 0;
            }
            None => self.strays += 1,
        }
    }

    fn logical(
        &mut self,
        tree: &Tree,
        position: Option<&[u8]>,
        course: &mut dyn Course,
    ) -> Result<Vec<PageNo>> {
        if self.strays >= STRAYS {
            course.begin(position);
            self.asked.clear();
            (self.strays, self.ended) = (0, false);
        } else if self.ended || self.strays > 0 || self.asked.len() > self.window / 2 {
            return Ok(Vec::new());
        }
        let most = self.window.min(largest(tree, self.settings.window_bytes));
        let pages = course.next(tree, most)?;
        self.ended = pages.is_empty();
        self.asked.extend(&pages);
        Ok(pages)
    }

    fn linear(&mut self, leaf: PageNo) -> Vec<PageNo> {
        self.row = if leaf.0 == self.last.0 + 1 { self.row + 1 } else { 0 };
        if self.row < THRESHOLD || leaf.0 + EXTENT / 2 < self.until {
            return Vec::new();
        }
        let from = self.until.max(leaf.0 + 1);
        self.until = from + EXTENT;
        (from..self.until).map(PageNo).collect()
    }

    fn physical(&mut self, tree: &Tree, came: u64) -> Result<Vec<PageNo>> {
        let pages = match &mut self.pages {
            Some(pages) => pages,
            none => none.insert(tree.store().segment_pages(tree.id())?.into()),
        };
        self.asked.drain(..self.asked.len().min(came as usize));
        if self.asked.len() > self.window / 2 {
            return Ok(Vec::new());
        }
        let most = self.window.min(largest(tree, self.settings.window_bytes)).min(pages.len());
        let next: Vec<PageNo> = pages.drain(..most).collect();
        self.asked.extend(&next);
        Ok(next)
    }

    /// Requests a window from the store, and sets the size of the next one.
    fn read(&mut self, tree: &Tree, pages: &[PageNo]) -> Result<u64> {
        let store = tree.store();
        let mut missing: Vec<PageNo> =
            pages.iter().copied().filter(|page| !store.is_resident(*page)).collect();
        let grown = self.window * 2;
        missing.sort_unstable();
        let neighbours = missing.windows(2).filter(|pair| pair[0].0 + 1 == pair[1].0).count();
        let scattered = (missing.len() - neighbours) * PAGES_PER_RUN > pages.len();
        let ordered = largest(tree, ORDERED_BYTES.min(self.settings.window_bytes));
        self.window = match scattered {
            true => grown,
            false => grown.min(ordered.max(self.window)),
        };
        self.window = self.window.min(largest(tree, self.settings.window_bytes));
        if missing.is_empty() {
            return Ok(0);
        }
        store.prefetch(&missing)?;
        if !self.settings.pause.is_zero() {
            std::thread::sleep(self.settings.pause);
        }
        Ok(missing.len() as u64)
    }
}

/// Returns the most pages of a window of `bytes`.
fn largest(tree: &Tree, bytes: u64) -> usize {
    let pages = bytes / tree.store().page_size() as u64;
    usize::try_from(pages).unwrap_or(usize::MAX).min(tree.store().prefetch_limit()).max(1)
}

/// The course of a scan over one range.
#[derive(Debug)]
pub struct RangeLeafOrder {
    direction: Direction,
    lower: Vec<u8>,
    upper: Option<Vec<u8>>,
    /// Where the leaves that were not requested yet begin (in reverse: end); `None`: there are no more.
    rest: Option<Vec<u8>>,
    /// In reverse: whether the range ends with the tree.
    at_end: bool,
}

impl RangeLeafOrder {
    /// Makes the course of a scan over the keys in `[lower, upper)`.
    pub fn new(direction: Direction, lower: &[u8], upper: Option<&[u8]>) -> RangeLeafOrder {
        let (lower, upper) = (lower.to_vec(), upper.map(<[u8]>::to_vec));
        RangeLeafOrder { direction, lower, upper, rest: None, at_end: false }
    }
}

impl Course for RangeLeafOrder {
    fn begin(&mut self, position: Option<&[u8]>) {
        self.at_end = position.is_none();
        self.rest = Some(position.unwrap_or_default().to_vec());
    }

    fn next(&mut self, tree: &Tree, most: usize) -> Result<Vec<PageNo>> {
        let Some(rest) = self.rest.take() else { return Ok(Vec::new()) };
        let at_end = std::mem::take(&mut self.at_end);
        let (lower, upper) = match self.direction {
            Direction::Forward if at_end => return Ok(Vec::new()),
            Direction::Forward => (rest.as_slice().max(&self.lower), self.upper.as_deref()),
            Direction::Reverse if at_end => (self.lower.as_slice(), None),
            Direction::Reverse => (self.lower.as_slice(), Some(rest.as_slice())),
        };
        let mut pages = Vec::new();
        self.rest = tree.for_each_leaf(self.direction, lower, upper, &mut |leaf| {
            if pages.len() == most {
                return LeafWalk::Stop;
            }
            pages.push(leaf.page);
            LeafWalk::Next
        })?;
        Ok(pages)
    }
}

/// Read-ahead of a scan over one range with a cursor.
#[derive(Debug)]
pub struct RangeReadAhead {
    ahead: ReadAhead,
    course: RangeLeafOrder,
}

impl RangeReadAhead {
    /// Makes the read-ahead of a scan of the keys in `[lower, upper)`.
    pub fn new(
        settings: ReadAheadSettings,
        direction: Direction,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> RangeReadAhead {
        let course = RangeLeafOrder::new(direction, lower, upper);
        RangeReadAhead { ahead: ReadAhead::new(settings), course }
    }

    /// Requests pages before a visit of the cursor. Called before each visit. Returns how many pages are being read.
    ///
    /// # Errors
    /// As [`ReadAhead::advance`].
    pub fn advance<T: Borrow<Tree>>(&mut self, cursor: &Cursor<T>) -> Result<u64> {
        self.ahead.advance(cursor.tree(), cursor.leaf(), cursor.position(), &mut self.course)
    }
}
