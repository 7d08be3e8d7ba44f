//! Steps that the writers past the log share: stamping pages, keeping the pool away from them, syncing them.

use crate::core::Inner;
use crate::space::{EXTENT_PAGES, ExtentNo, UnloggedWrite, map_page};
use crate::{PageNo, Result, StorageError, page};

impl Inner {
    /// Begins a write of some pages of an extent, and stamps and seals them. `buffer` has room for the whole extent.
    pub(super) fn begin_unlogged_write(&self, buffer: &mut [u8], pages: u64) -> UnloggedWrite<'_> {
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

    /// Returns whether a group in the log has put the page in use. Pages that are to be written past the log are
    /// taken in memory before that.
    pub(crate) fn is_known_in_use(&self, page: PageNo) -> bool {
        let Some((extent, bit)) = ExtentNo::of(page) else { return false };
        let (map, index) = self.space.geometry.descriptor(extent);
        let Some(guard) = self.cache.try_shared(map) else { return true };
        // A map that cannot be read would have been found when the store was opened.
        map_page::read(&guard, index).map_or(true, |found| found.is_some_and(|(_, pages)| pages & bit != 0))
    }

    /// Drops the pages of the extent from memory.
    pub(super) fn purge_extent(&self, extent: ExtentNo) {
        (0..EXTENT_PAGES as u32).for_each(|index| self.cache.pool.purge(extent.page(index)));
    }

    /// Syncs `data`. A failure stops the store.
    pub(super) fn sync_data(&self) -> Result<()> {
        let synced = self.cache.data.sync().map_err(|source| StorageError::io("sync", "data", source));
        synced.inspect_err(|error| self.cache.stop(error))
    }
}
