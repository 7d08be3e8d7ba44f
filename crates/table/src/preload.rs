//! Preloading: reading an index into the buffer pool before it is used.

use crate::catalog::IndexDef;
use crate::error::Result;
use crate::maintenance::Maintenance;
use leafline_btree::{LeavesByPage, Tree};
use leafline_storage::PageNo;
use leafline_types::CancelToken;

/// One frame of the pool in this many is left free.
const LEFT: usize = 4;

impl Maintenance {
    /// Reads the branches of an index, and with `leaves` also its leaves, in the order of their pages, as
    /// far as they fit in most of the buffer pool. Other pages make room for them. Returns the number of
    /// pages read ahead.
    ///
    /// # Errors
    /// Errors of the store; 1317 or 3024 once `cancel` is cancelled.
    pub fn preload(&self, index: &IndexDef, leaves: bool, cancel: &CancelToken) -> Result<u64> {
        let tree = self.core.tree(index)?;
        let mut room = self.core.store.prefetch_limit() * 8;
        room -= room / LEFT;
        let mut read = 0;
        let mut from = Some(Vec::new());
        while let Some(lower) = from.take() {
            // This reads the branches.
            let found = tree.leaves_by_page(&lower, None, LeavesByPage::MOST)?;
            from = found.resume;
            if leaves {
                let pages: Vec<PageNo> = found.leaves.iter().map(|leaf| leaf.page).take(room).collect();
                room -= pages.len();
                read += self.load(&tree, &pages, cancel)?;
                if room == 0 {
                    break;
                }
            }
            cancel.check()?;
        }
        Ok(read)
    }

    /// Reads pages in windows; the next window is read while the one before is awaited.
    fn load(&self, tree: &Tree, pages: &[PageNo], cancel: &CancelToken) -> Result<u64> {
        let store = tree.store();
        let mut read = 0;
        let mut before: &[PageNo] = &[];
        let windows = pages.chunks((store.prefetch_limit() / 2).max(1));
        for window in windows.chain([&[][..]]) {
            cancel.check()?;
            read += store.load(window)? as u64;
            for page in before {
                // A page that was freed meanwhile need not be readable.
                match store.fault_in(*page) {
                    Err(error) if !error.is_damage() => return Err(error.into()),
                    _ => {}
                }
            }
            before = window;
        }
        Ok(read)
    }
}
