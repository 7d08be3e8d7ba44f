//! Reads every page in use from the file, past the buffer pool, which finds rot that no query has met yet.
//!
//! A whole extent is read at once. A page that is in memory is compared with its copy there. While that copy is
//! dirty, the page on disk does not count, because it will be written again, and may be written just now.

use crate::core::Inner;
use crate::device::AlignedBuf;
use crate::space::{EXTENT_PAGES, ExtentNo, ExtentUse};
use crate::{Lsn, PageNo, Result, SegmentId, StorageError, page};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// How often a wrong page is read again: it may have been written meanwhile.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(2);

/// A fault of a page or of the maps, whatever the content of the pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpaceFault {
    /// The page, if the fault is one of a page.
    pub page: Option<PageNo>,
    /// The segment that the page belongs to, or [`SegmentId::NONE`] for the store's own pages. `None` if the owner is
    /// unknown.
    pub segment: Option<SegmentId>,
    /// A description of the fault.
    pub what: String,
}

impl fmt::Display for SpaceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.page {
            Some(page) => write!(f, "page {page}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// The owners of all pages.
pub(super) struct Owners {
    /// Owners of pages in shared extents, and of the store's own pages.
    pub(super) singly: BTreeMap<PageNo, SegmentId>,
    /// The use of each extent, and its pages in use.
    pub(super) extents: Vec<(Option<ExtentUse>, u64)>,
}

impl Owners {
    fn of(&self, page: PageNo, usage: Option<ExtentUse>) -> Option<SegmentId> {
        match usage {
            Some(ExtentUse::Owned(owner, _)) => Some(owner),
            _ => self.singly.get(&page).copied(),
        }
    }
}

impl Inner {
    /// Checks that each page in use can be read and names its owner. Free pages may hold anything.
    pub(super) fn scrub(
        &self,
        owners: &Owners,
        threads: usize,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Vec<SpaceFault>> {
        let total: u64 = owners.extents.iter().map(|(_, pages)| u64::from(pages.count_ones())).sum();
        let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
        let faults = Mutex::new(Vec::new());
        let work = || -> Result<()> {
            let mut bytes = AlignedBuf::zeroed(EXTENT_PAGES as usize * self.cache.page_size);
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(&(usage, pages)) = owners.extents.get(index) else { return Ok(()) };
                if pages == 0 {
                    continue;
                }
                let extent = ExtentNo(index as u32);
                let whole = self.read_raw(extent.first_page(), &mut bytes).is_ok();
                for bit in (0..EXTENT_PAGES as u32).filter(|bit| pages & (1 << bit) != 0) {
                    let page = extent.page(bit);
                    let owner = owners.of(page, usage);
                    let at = bit as usize * self.cache.page_size;
                    let image = &mut bytes[at..at + self.cache.page_size];
                    if let Some(what) = self.scrub_page(page, owner, whole, image)? {
                        faults.lock().push(SpaceFault { page: Some(page), segment: owner, what });
                    }
                }
                let count = u64::from(pages.count_ones());
                progress(done.fetch_add(count, Ordering::Relaxed) + count, total);
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads.max(1)).map(|_| scope.spawn(work)).collect();
            let mut result = work();
            for other in others {
                let ended = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                result = result.and(ended);
            }
            result
        })?;
        let mut faults = faults.into_inner();
        faults.sort_by_key(|fault| fault.page);
        Ok(faults)
    }

    /// Returns what is wrong with a page, if anything. With `whole`, `image` has been read.
    fn scrub_page(
        &self,
        page: PageNo,
        owner: Option<SegmentId>,
        whole: bool,
        image: &mut [u8],
    ) -> Result<Option<String>> {
        let mut read = whole;
        let mut attempts = 0;
        loop {
            let in_memory = match self.cache.try_shared(page) {
                Some(guard) => {
                    if let Some(wrong) = wrong_owner(&guard, owner) {
                        return Ok(Some(wrong));
                    }
                    if self.cache.pool.dirty_since(&guard).is_some() {
                        return Ok(None);
                    }
                    // A page that was merged in memory alone has another LSN there.
                    (!page::is_soft(&guard)).then(|| guard.lsn())
                }
                None => None,
            };
            let wrong = match read {
                true => wrong_image(page, owner, in_memory, image),
                false => Some("not read yet".into()),
            };
            let Some(wrong) = wrong else { return Ok(None) };
            attempts += 1;
            if attempts > ATTEMPTS {
                return Ok(Some(wrong));
            }
            if attempts > 2 {
                std::thread::sleep(PAUSE);
            }
            match self.read_raw(page, image) {
                Ok(()) => read = true,
                Err(error) if attempts == ATTEMPTS => return Ok(Some(error.to_string())),
                Err(_) => read = false,
            }
            self.poison.check()?;
        }
    }

    fn read_raw(&self, first: PageNo, bytes: &mut [u8]) -> Result<()> {
        let offset = first.0 * self.cache.page_size as u64;
        self.cache.data.read_at(bytes, offset).map_err(|source| StorageError::io("read", "data", source))
    }
}

fn wrong_owner(image: &[u8], owner: Option<SegmentId>) -> Option<String> {
    let (owner, found) = (owner?, page::owner(image));
    (found != owner).then(|| format!("belongs to segment {owner} and says {found}"))
}

fn wrong_image(
    page: PageNo,
    owner: Option<SegmentId>,
    in_memory: Option<Lsn>,
    image: &[u8],
) -> Option<String> {
    if let Err(reason) = page::verify(image, page) {
        return Some(reason);
    }
    match in_memory {
        Some(lsn) if lsn != page::lsn(image) => {
            Some(format!("changed at LSN {} in the file, at {lsn} in memory", page::lsn(image)))
        }
        _ => wrong_owner(image, owner),
    }
}
