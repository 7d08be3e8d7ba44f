//! Tracks extents that are written past the log while a backup is made ([`crate::backup`]).
//!
//! The log does not mention such pages, so a backup that has copied an extent before it was written copies it once
//! more. A writer of an extent begins with [`Unlogged::begin_write`], and ends with
//! [`Write::end`]. A backup records how far it has come ([`Unlogged::passed`]) *before* it reads an extent; a writer
//! checks that *after* it has written. So one of the two sees the other.

use super::layout::ExtentNo;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::BTreeSet;

/// The writes under way, and the extents that a backup has to copy again.
#[derive(Default)]
pub(crate) struct Unlogged {
    /// Locked for reading by the writers.
    writes: RwLock<()>,
    late: Mutex<Option<BackupProgress>>,
}

/// The progress of a backup, and the extents that it has to copy again.
#[derive(Default)]
struct BackupProgress {
    /// The backup has copied, or is copying, the extents before this one.
    passed: u32,
    /// The backup began with the extents before this one. It copies later ones only if they are in `written`.
    end: u32,
    written: BTreeSet<ExtentNo>,
}

/// A write that is under way.
pub(crate) struct Write<'a> {
    unlogged: &'a Unlogged,
    _writing: RwLockReadGuard<'a, ()>,
}

/// While this value lives, no write is under way and none begins.
pub(crate) struct NoWrites<'a> {
    _stopped: RwLockWriteGuard<'a, ()>,
}

impl Unlogged {
    /// Begins a write.
    pub(crate) fn begin_write(&self) -> Write<'_> {
        Write { unlogged: self, _writing: self.writes.read() }
    }

    /// Waits for the writes that are under way, and keeps others from beginning.
    pub(crate) fn stop(&self) -> NoWrites<'_> {
        NoWrites { _stopped: self.writes.write() }
    }

    /// Begins a backup of the extents before `end`, which are all extents. Extents that are written behind the backup
    /// are recorded from now on.
    pub(crate) fn begin_backup(&self, end: u32) {
        *self.late.lock() = Some(BackupProgress { end, ..BackupProgress::default() });
    }

    /// Ends the backup.
    pub(crate) fn end_backup(&self) {
        *self.late.lock() = None;
    }

    /// Records that the backup is about to copy the extents before `end`.
    pub(crate) fn passed(&self, end: u32) {
        if let Some(late) = &mut *self.late.lock() {
            late.passed = late.passed.max(end);
        }
    }

    /// Takes the extents that were written after the backup had copied them.
    pub(crate) fn take(&self) -> BTreeSet<ExtentNo> {
        self.late.lock().as_mut().map(|late| std::mem::take(&mut late.written)).unwrap_or_default()
    }
}

impl Write<'_> {
    /// Ends the write. The extent is in the file.
    pub(crate) fn end(self, extent: ExtentNo) {
        if let Some(late) = &mut *self.unlogged.late.lock()
            && !(late.passed..late.end).contains(&extent.0)
        {
            late.written.insert(extent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_extents_written_behind_a_backup_are_recorded() {
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
