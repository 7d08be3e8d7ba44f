//! Extents that are written past the log while a backup is made ([`crate::backup`]).
//!
//! The log says nothing of such pages, so a backup that has copied an extent before it was written copies it once more. Whoever writes one
//! begins with [`Inner::begin_unlogged_write`], which stamps the pages, and ends with [`Write::end`]. A backup notes how far it has come
//! ([`Unlogged::passed`]) *before* it reads an extent; a writer looks at that *after* it has written. So one of the two sees the other.

use super::layout::ExtentNo;
use super::map_page;
use crate::store::Inner;
use crate::{PageNo, page};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::BTreeSet;

/// Who writes, and what was written too late.
#[derive(Default)]
pub(crate) struct Unlogged {
    /// Held for reading by those who write.
    writes: RwLock<()>,
    late: Mutex<Option<Late>>,
}

/// What a backup has to copy again.
#[derive(Default)]
struct Late {
    /// Extents before this are copied, or being copied.
    passed: u32,
    /// Extents from this on were not there when it began, and are copied only if they are noted.
    end: u32,
    written: BTreeSet<ExtentNo>,
}

/// A write that is under way.
pub(crate) struct Write<'a> {
    unlogged: &'a Unlogged,
    _writing: RwLockReadGuard<'a, ()>,
}

/// Nothing is written, and nothing begins to be, while there is this.
pub(crate) struct NoWrites<'a> {
    _stopped: RwLockWriteGuard<'a, ()>,
}

impl Unlogged {
    /// A write begins.
    fn begin_write(&self) -> Write<'_> {
        Write { unlogged: self, _writing: self.writes.read() }
    }

    /// Waits for the writes that are under way, and keeps others from beginning.
    pub(crate) fn stop(&self) -> NoWrites<'_> {
        NoWrites { _stopped: self.writes.write() }
    }

    /// A backup of the extents before `end` begins, which are all that there are: what is written behind it from now on is noted.
    pub(crate) fn begin_backup(&self, end: u32) {
        *self.late.lock() = Some(Late { end, ..Late::default() });
    }

    /// It is over.
    pub(crate) fn end_backup(&self) {
        *self.late.lock() = None;
    }

    /// The backup is about to copy the extents before `end`.
    pub(crate) fn passed(&self, end: u32) {
        if let Some(late) = &mut *self.late.lock() {
            late.passed = late.passed.max(end);
        }
    }

    /// The extents that were written after the backup had come to them.
    pub(crate) fn take(&self) -> BTreeSet<ExtentNo> {
        self.late.lock().as_mut().map(|late| std::mem::take(&mut late.written)).unwrap_or_default()
    }
}

impl Write<'_> {
    /// The extent is in the file.
    pub(crate) fn end(self, extent: ExtentNo) {
        if let Some(late) = &mut *self.unlogged.late.lock()
            && !(late.passed..late.end).contains(&extent.0)
        {
            late.written.insert(extent);
        }
    }
}

impl Inner {
    /// A write of some pages of an extent, all of which has room in `buffer`, begins: stamps and seals them.
    pub(super) fn begin_unlogged_write(&self, buffer: &mut [u8], pages: u64) -> Write<'_> {
        let writing = self.space.unlogged.begin_write();
        let stamp = self.log.durable();
        self.cache.pool.raise_newest(stamp);
        for (index, page) in buffer.chunks_exact_mut(self.cache.page_size).enumerate() {
            if pages & (1 << index) != 0 {
                page::set_lsn(page, stamp);
                page::seal(page);
            }
        }
        writing
    }

    /// Whether a group in the log has put the page in use: pages that are to be written past the log are taken before.
    pub(crate) fn is_known_in_use(&self, page: PageNo) -> bool {
        let Some((extent, bit)) = ExtentNo::of(page) else { return false };
        let (map, index) = self.space.geometry.descriptor(extent);
        let Some(guard) = self.cache.try_shared(map) else { return true };
        // A map that cannot be read would have been met when the store was opened.
        map_page::read(&guard, index).map_or(true, |found| found.is_some_and(|(_, pages)| pages & bit != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_written_behind_a_backup_is_noted() {
        let unlogged = Unlogged::default();
        let write = |extent| unlogged.begin_write().end(ExtentNo(extent));
        write(0);
        unlogged.begin_backup(6);
        write(0);
        unlogged.passed(3);
        unlogged.passed(2);
        [5, 2, 3, 1, 2, 6].into_iter().for_each(write);
        assert_eq!(unlogged.take(), BTreeSet::from([ExtentNo(1), ExtentNo(2), ExtentNo(6)]));
        assert!(unlogged.take().is_empty());
        unlogged.end_backup();
        write(1);
        assert!(unlogged.take().is_empty());
        drop(unlogged.stop());
    }
}
