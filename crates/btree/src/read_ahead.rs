//! Read-ahead: the leaves a scan will visit are read before it gets there, many at a time.
//!
//! | kind | reads |
//! |---|---|
//! | logical | the leaves that branch pages say come next, in key order either way, however they lie in the file |
//! | linear | the next extent, once the last leaves lay one behind the other in the file, as InnoDB does |
//! | physical | the pages of the segment in file order, whatever the scan visits |
//! | none | nothing |
//!
//! What comes next is the scan's [`Course`]. Pages asked for are remembered in the order of the scan; each leaf it visits takes
//! those up to it off the list. When half of a window is left the next one is asked for, twice as large, so a short scan
//! reads little that it does not need. Where the scan meets leaves that nobody asked for, because it leapt or the tree has changed, the
//! course begins anew at its position. A window is handed to the store as one batch, which is sorted by page; where pages
//! turn out to be scattered the windows grow beyond [`ORDERED_BYTES`], so that one sweep over the file brings more of them.
//!
//! Nothing here waits for a read, and pages that are in memory cost a look at their state word.

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
/// Leaves visited in a row that nobody asked for before what follows is looked up: many scans have no more.
const STRAYS: usize = 2;
/// Most bytes of a window of pages that lie in the order of the scan.
const ORDERED_BYTES: u64 = 4 << 20;
/// Pages are scattered if a window has more than one run of neighbours for so many pages.
const PAGES_PER_RUN: usize = 4;
/// Leaves between the one that is visited and the one whose slots the processor is to fetch.
const LEAVES_FETCHED: usize = 2;
/// Linear: pages of an extent, and how many leaves in a row have to lie one behind the other (InnoDB's).
const EXTENT: u64 = 64;
const THRESHOLD: u64 = 56;

/// What is read ahead of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReadAheadKind {
    /// Logical; and scans whose order does not matter may visit scattered leaves in the order of their pages.
    #[default]
    Automatic,
    /// The leaves that come next in key order.
    Logical,
    /// The next pages of the file, where leaves lie one behind the other.
    Linear,
    /// The pages of the tree in the order of the file; scans whose order does not matter visit leaves in it.
    Physical,
    /// Nothing.
    None,
}

/// How scans read ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadAheadSettings {
    /// What is read.
    pub kind: ReadAheadKind,
    /// Most bytes of a window.
    pub window_bytes: u64,
    /// How long a scan sleeps after it has asked for a window of pages that were not in memory.
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
    /// Most bytes of a window unless something else is said.
    pub const WINDOW_BYTES: u64 = 64 << 20;

    /// Whether leaves of a scan whose order does not matter are to be visited in the order of their pages, as they lie:
    /// `leaves` of them, `missing` not in memory, `backward` of which lie before the one before.
    pub fn visits_by_page(&self, leaves: usize, missing: usize, backward: usize) -> bool {
        match self.kind {
            ReadAheadKind::Physical => true,
            ReadAheadKind::Automatic => {
                leaves >= FEW_LEAVES && missing * 8 >= leaves && backward * 16 >= leaves
            }
            ReadAheadKind::Logical | ReadAheadKind::Linear | ReadAheadKind::None => false,
        }
    }

    /// May they be?
    pub fn may_visit_by_page(&self) -> bool {
        matches!(self.kind, ReadAheadKind::Physical | ReadAheadKind::Automatic)
    }
}

/// Which leaves a scan comes to, one after the other.
pub trait Course {
    /// From now on, those from the scan's position on.
    fn begin(&mut self, position: Option<&[u8]>);
    /// The next ones, at most so many. None: that was all.
    fn next(&mut self, tree: &Tree, most: usize) -> Result<Vec<PageNo>>;
}

/// The read-ahead of one scan.
#[derive(Debug)]
pub struct ReadAhead {
    settings: ReadAheadSettings,
    window: usize,
    /// Asked for and not visited yet, in the order of the scan.
    asked: VecDeque<PageNo>,
    /// Leaves visited in a row that were not asked for.
    strays: usize,
    /// What the course had is asked for.
    ended: bool,
    /// How many leaves the cursor had come to at the last look.
    leaves: u64,
    /// The last leaf visited.
    last: PageNo,
    /// The scan goes from page to page.
    by_page: bool,
    /// Linear: how many leaves lay in a row, and up to where was asked.
    row: u64,
    until: u64,
    /// Physical: the pages of the segment, those to come first.
    pages: Option<VecDeque<PageNo>>,
}

impl ReadAhead {
    /// As the settings say.
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

    /// A new walk begins, which is known to come to some leaves: they are asked for at once.
    pub fn start_at_once(&mut self, first_window: usize) {
        self.start();
        (self.window, self.strays) = (first_window, STRAYS);
    }

    /// A new walk begins, in the order of the pages. What is physical for it is its course.
    pub fn start_by_page(&mut self, first_window: usize) {
        self.start_at_once(first_window);
        self.by_page = true;
    }

    /// A new walk begins.
    pub fn start(&mut self) {
        *self = ReadAhead { leaves: self.leaves, last: self.last, ..ReadAhead::new(self.settings) };
    }

    /// The scan went elsewhere: what was asked for does not come next.
    pub fn leapt(&mut self) {
        self.asked.clear();
        self.strays = 0;
    }

    /// The scan is about to visit what follows `position`, after it came to so many leaves, the last one on this page. Returns how
    /// many pages are being read that were not in memory.
    ///
    /// # Errors
    /// `Corrupt`, what the store returns.
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
                    // Who visits few entries of each would wait for memory at every leaf.
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

    /// A leaf was visited.
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

    /// Asks the store for a window, and decides about the next.
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

/// Most pages of a window of so many bytes.
fn largest(tree: &Tree, bytes: u64) -> usize {
    let pages = bytes / tree.store().page_size() as u64;
    usize::try_from(pages).unwrap_or(usize::MAX).min(tree.store().prefetch_limit()).max(1)
}

/// The course of a scan over one range.
#[derive(Debug)]
pub struct RangeCourse {
    direction: Direction,
    lower: Vec<u8>,
    upper: Option<Vec<u8>>,
    /// What is not asked for yet begins (in reverse: ends) here; `None`: nothing is left.
    rest: Option<Vec<u8>>,
    /// In reverse: it ends with the tree.
    at_end: bool,
}

impl RangeCourse {
    /// Over the keys in `[lower, upper)`.
    pub fn new(direction: Direction, lower: &[u8], upper: Option<&[u8]>) -> RangeCourse {
        let (lower, upper) = (lower.to_vec(), upper.map(<[u8]>::to_vec));
        RangeCourse { direction, lower, upper, rest: None, at_end: false }
    }
}

impl Course for RangeCourse {
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

/// Read-ahead of a scan over one range, for whoever walks it with a cursor.
#[derive(Debug)]
pub struct RangeAhead {
    ahead: ReadAhead,
    course: RangeCourse,
}

impl RangeAhead {
    /// Of a scan of the keys in `[lower, upper)`.
    pub fn new(
        settings: ReadAheadSettings,
        direction: Direction,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> RangeAhead {
        let course = RangeCourse::new(direction, lower, upper);
        RangeAhead { ahead: ReadAhead::new(settings), course }
    }

    /// To be called before each visit of the cursor. Returns how many pages are being read.
    ///
    /// # Errors
    /// As [`ReadAhead::advance`].
    pub fn advance<T: Borrow<Tree>>(&mut self, cursor: &Cursor<T>) -> Result<u64> {
        self.ahead.advance(cursor.tree(), cursor.leaf(), cursor.position(), &mut self.course)
    }
}
