//! Makes a backup of an open store, in steps. [`super`] has the rules.

use super::extents;
use super::log_copy::LogCopy;
use super::manifest::Manifest;
use super::stream::{FileSum, StreamWriter, failed};
use crate::Store;
use crate::control;
use crate::core::Inner;
use crate::device::{AlignedBuf, BLOCK, Env, File};
use crate::open::draw_number;
use crate::space::{EXTENT_PAGES, ExtentNo, ExtentUse};
use crate::{Lsn, PageNo, Result, SegmentState, StorageError, page};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The log is copied once this many of its bytes are not copied, or their files take more than one in [`LOG_SHARE`]
/// of the log's capacity: small flushes take more bytes of the files than of the stream.
const LOG_PIECE: u64 = 1 << 20;
const LOG_SHARE: u64 = 16;
/// How often a page that may be being written is read again at once.
const ATTEMPTS: usize = 3;
const PAUSE: Duration = Duration::from_millis(1);
/// At most this many extents are copied again while no page may be written past the log.
const MAX_EXTENTS_AT_END: usize = 4;
/// Rounds of copying after which the rest is copied at the end, however many extents it is.
const MAX_ROUNDS: usize = 16;
/// How often, and with what pauses, pages that could not be had are tried again.
const TRIES: usize = 50;
const TRY_PAUSE: Duration = Duration::from_millis(20);

/// A backup that is being made. If it is dropped before it is finished, it leaves a directory that is not recognised
/// as a backup.
pub struct Backup {
    running: BackupMode,
    target: Arc<dyn Env>,
    parent: Option<Manifest>,
    redo: Lsn,
    checkpoint: Lsn,
    pages: StreamWriter,
    /// Number of pages in it.
    stored: u64,
    log: LogCopy,
    others: Vec<(String, FileSum)>,
    /// The next extent, and the number of extents at the beginning. The log has the pages of later extents.
    next: u32,
    extents: u32,
    image: AlignedBuf,
    /// Extents to copy again.
    late: BTreeSet<ExtentNo>,
    rounds: usize,
    /// Pages in use that could not be had.
    lacking: BTreeSet<PageNo>,
    tries: usize,
    /// Number of pages examined, and about how many there are.
    done: u64,
    total: u64,
    /// The end of the backup, and the number of extents of the file as of then.
    end: Option<(Lsn, u64)>,
}

/// The measures that a store takes while a backup is made. Dropping the value ends them.
struct BackupMode {
    inner: Arc<Inner>,
}

impl BackupMode {
    /// Begins the measures. Returns the number of extents.
    fn begin(inner: &Arc<Inner>) -> Result<(BackupMode, u32)> {
        if inner.backup_running.swap(true, Ordering::AcqRel) {
            let what = "another backup of this database is being made".into();
            return Err(StorageError::Backup { what });
        }
        let running = BackupMode { inner: Arc::clone(inner) };
        inner.space.keep_free_space(true);
        let _stopped = inner.space.unlogged.stop();
        let extents = inner.space.state().extents.len() as u32;
        inner.space.unlogged.begin_backup(extents);
        Ok((running, extents))
    }
}

impl Drop for BackupMode {
    fn drop(&mut self) {
        // A failure means that the store has stopped, and keeps nothing any more.
        let _ = self.inner.log.keep_from(None);
        self.inner.space.unlogged.end_backup();
        self.inner.space.keep_free_space(false);
        self.inner.backup_running.store(false, Ordering::Release);
    }
}

/// The meaning of a page that the backup cannot read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The page is free, or soon to be, or taken and not in use yet. It may hold anything.
    Free,
    /// The page is of a tree that is written past the log, and may not be written yet.
    Building,
    /// The page must be readable.
    InUse,
}

impl Store {
    /// Begins a backup into the empty directory `target`: of all pages, or of those that have changed since `parent`
    /// was made.
    ///
    /// # Errors
    /// `Backup` if another one is being made, `target` is not empty, or `parent` is of another database; `BackupIo`;
    /// as [`checkpoint`](Self::checkpoint).
    pub fn begin_backup(&self, target: Arc<dyn Env>, parent: Option<Manifest>) -> Result<Backup> {
        Backup::begin(&self.inner, target, parent)
    }
}

impl Backup {
    fn begin(inner: &Arc<Inner>, target: Arc<dyn Env>, parent: Option<Manifest>) -> Result<Backup> {
        if let Some(parent) = &parent {
            check_parent(inner, parent)?;
        }
        let (running, extents) = BackupMode::begin(inner)?;
        if !target.list("").map_err(failed("list", ""))?.is_empty() {
            let what = "there are files in the directory already: a backup is made in a new one".into();
            return Err(StorageError::Backup { what });
        }
        inner.checkpoint()?;
        let (redo, checkpoint) = inner.keep_log()?;
        // Pages that are written past the log from now on have LSNs above the redo position, by which an incremental
        // backup finds them.
        drop(inner.space.unlogged.stop());
        let log = LogCopy::begin(&inner.env, inner.database_id, redo, &*target)?;
        let pages = StreamWriter::create(&*target, extents::FILE)?;
        let total =
            inner.space.state().extents.iter().map(|extent| u64::from(extent.pages.count_ones())).sum();
        Ok(Backup {
            running,
            target,
            parent,
            redo: redo.lsn,
            checkpoint: checkpoint.lsn,
            pages,
            stored: 0,
            log,
            others: Vec::new(),
            next: 0,
            extents,
            image: AlignedBuf::zeroed(EXTENT_PAGES as usize * inner.cache.page_size),
            late: BTreeSet::new(),
            rounds: 0,
            lacking: BTreeSet::new(),
            tries: 0,
            done: 0,
            total,
            end: None,
        })
    }

    /// Returns how many pages were examined, and about how many there are.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.done.min(self.total), self.total)
    }

    /// Copies some more pages, and the log that was written meanwhile. Returns false once only the work of
    /// [`end`](Self::end) is left.
    ///
    /// # Errors
    /// `BackupIo`, `LogDamaged`, `Poisoned`.
    pub fn step(&mut self) -> Result<bool> {
        self.inner().poison.check()?;
        self.copy_much_log()?;
        while self.next < self.extents {
            let extent = ExtentNo(self.next);
            self.next += 1;
            if self.copy_extent(extent)? {
                return Ok(true);
            }
        }
        if let Some(extent) = self.late.pop_first() {
            self.copy_extent(extent)?;
            return Ok(true);
        }
        if self.rounds < MAX_ROUNDS {
            self.rounds += 1;
            self.late = self.inner().space.unlogged.take();
            if self.late.len() > MAX_EXTENTS_AT_END {
                return Ok(true);
            }
            self.rounds = MAX_ROUNDS;
        }
        self.try_again(false)?;
        if self.tries < TRIES && self.lacking.iter().any(|page| self.standing(*page) == Standing::InUse) {
            self.tries += 1;
            std::thread::sleep(TRY_PAUSE);
            return Ok(true);
        }
        Ok(false)
    }

    /// Decides the end of the backup: it includes everything that is in the log by now.
    ///
    /// # Errors
    /// `Corrupt` for a page of the database that cannot be read; `BackupIo`, `Poisoned`.
    pub fn end(&mut self) -> Result<()> {
        let inner = Arc::clone(self.inner());
        let stopped = inner.space.unlogged.stop();
        self.late.append(&mut inner.space.unlogged.take());
        while let Some(extent) = self.late.pop_first() {
            self.copy_extent(extent)?;
        }
        self.try_again(true)?;
        self.end = Some(inner.space.end_and_extents(&inner.log));
        // A tree is not in use before all its pages are written, so a tree with missing pages does not come into use
        // before the end.
        let lacking = self.lacking.iter().find(|page| self.standing(**page) == Standing::InUse).copied();
        drop(stopped);
        match lacking {
            None => Ok(()),
            Some(page) => {
                let mut image = AlignedBuf::zeroed(inner.cache.page_size);
                let offset = page.0 * inner.cache.page_size as u64;
                let reason = match inner.cache.data.read_at(&mut image, offset) {
                    Ok(()) => page::verify(&image, page).err(),
                    Err(error) => Some(format!("cannot read it: {error}")),
                };
                let reason = reason.unwrap_or_else(|| "it could not be read in time".into());
                Err(StorageError::Corrupt { page, reason })
            }
        }
    }

    /// Copies a file of the database's directory, of `bytes` bytes, under its name there.
    ///
    /// # Errors
    /// `Io` for the file, `BackupIo` for the copy.
    pub fn add_file(&mut self, name: &str, file: &dyn File, bytes: u64) -> Result<()> {
        if let Some((directory, _)) = name.rsplit_once('/') {
            self.target.create_dir(directory).map_err(failed("create", directory))?;
        }
        let mut to = StreamWriter::create(&*self.target, name)?;
        let whole = bytes - bytes % BLOCK as u64;
        let mut at = 0;
        while at < whole {
            let len = (whole - at).min(self.image.len() as u64) as usize;
            let read = file.read_at(&mut self.image[..len], at);
            read.map_err(|source| StorageError::io("read", name, source))?;
            to.write(&self.image[..len])?;
            at += len as u64;
        }
        self.others.push((name.to_owned(), to.finish()?));
        if let Some((directory, _)) = name.rsplit_once('/') {
            self.target.sync_dir(directory).map_err(failed("sync", directory))?;
        }
        Ok(())
    }

    /// Copies the rest of the log, makes everything durable, and then writes the manifest. [`end`](Self::end) comes
    /// before.
    ///
    /// # Errors
    /// `BackupIo`, `LogDamaged`, `Poisoned`, `Misuse`.
    pub fn finish(mut self) -> Result<Manifest> {
        let Some((end, extents)) = self.end else {
            return Err(StorageError::Misuse { what: "a backup without an end is finished".into() });
        };
        self.log.copy_until(&self.running.inner.log, end)?;
        let (pages_file, log_file) = (self.pages.finish()?, self.log.finish()?);
        self.target.sync_dir("").map_err(failed("sync", ""))?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let manifest = Manifest {
            // 0 means "no backup".
            id: draw_number() | 1,
            database: self.running.inner.database_id,
            parent: self.parent.as_ref().map(|parent| parent.id),
            base: self.parent.as_ref().map_or(Lsn::ZERO, |parent| parent.redo),
            redo: self.redo,
            checkpoint: self.checkpoint,
            end,
            database_format: control::FORMAT,
            page_size: self.running.inner.cache.page_size as u32,
            extents,
            pages: self.stored,
            made: u64::try_from(since.as_micros()).unwrap_or(0),
            pages_file,
            log_file,
            others: self.others,
        };
        manifest.write(&*self.target)?;
        Ok(manifest)
    }

    /// Copies the log if much of it is not copied.
    fn copy_much_log(&mut self) -> Result<()> {
        let log = &self.running.inner.log;
        let (from, end) = (self.log.position(), log.end());
        let is_much = end.0.saturating_sub(from.0) >= LOG_PIECE
            || end > from && log.age(from) >= log.space().capacity / LOG_SHARE;
        if is_much { self.log.copy_until(log, end) } else { Ok(()) }
    }

    fn inner(&self) -> &Arc<Inner> {
        &self.running.inner
    }

    /// Copies the selected pages of an extent. Returns false if none of its pages is in use.
    fn copy_extent(&mut self, extent: ExtentNo) -> Result<bool> {
        let inner = Arc::clone(self.inner());
        // This comes before the use of the extent is read, so that a later unlogged write to it is recorded.
        inner.space.unlogged.passed(extent.0 + 1);
        let used = inner.space.state().extents.get(extent.0 as usize).map_or(0, |extent| extent.pages);
        if used == 0 {
            return Ok(false);
        }
        self.done += u64::from(used.count_ones());
        let page_size = inner.cache.page_size;
        let mut image = std::mem::replace(&mut self.image, AlignedBuf::zeroed(0));
        let whole = inner.cache.data.read_at(&mut image, extent.first_page().0 * page_size as u64).is_ok();
        let mut chosen = 0;
        for (index, bytes) in image.chunks_exact_mut(page_size).enumerate() {
            let page = extent.page(index as u32);
            if used & (1 << index) == 0 {
                continue;
            }
            let found = whole && page::verify(bytes, page).is_ok() || self.read_again(page, bytes);
            if !found {
                self.lacking.insert(page);
                continue;
            }
            self.lacking.remove(&page);
            if self.is_wanted(page::lsn(bytes)) {
                chosen |= 1 << index;
            }
        }
        let written = self.write(extent, chosen, &image);
        self.image = image;
        written.map(|()| true)
    }

    /// Returns whether a page that was last changed at `lsn` belongs in the backup.
    fn is_wanted(&self, lsn: Lsn) -> bool {
        self.parent.as_ref().is_none_or(|parent| lsn > parent.redo)
    }

    fn write(&mut self, extent: ExtentNo, pages: u64, image: &AlignedBuf) -> Result<()> {
        if pages != 0 {
            extents::write(&mut self.pages, extent, pages, image)?;
            self.stored += u64::from(pages.count_ones());
        }
        Ok(())
    }

    /// Reads a page again whose image was wrong.
    fn read_again(&self, page: PageNo, image: &mut [u8]) -> bool {
        let cache = &self.inner().cache;
        if self.standing(page) != Standing::InUse {
            return false;
        }
        // The page may never have been written, or may be being written.
        if cache.copy_changed(page, image) {
            return true;
        }
        for _ in 0..ATTEMPTS {
            let read = cache.data.read_at(image, page.0 * cache.page_size as u64);
            if read.is_ok() && page::verify(image, page).is_ok() {
                return true;
            }
            std::thread::sleep(PAUSE);
        }
        cache.read_at_rest(page, image)
    }

    /// Tries again to get the pages that could not be had. With `stopped`, also those of trees that are being built,
    /// which nobody writes meanwhile. Drops the pages that are not in use any more.
    fn try_again(&mut self, stopped: bool) -> Result<()> {
        for page in std::mem::take(&mut self.lacking) {
            let standing = self.standing(page);
            let Some((extent, bit)) = ExtentNo::of(page) else { continue };
            let mut image = std::mem::replace(&mut self.image, AlignedBuf::zeroed(0));
            let page_size = self.inner().cache.page_size;
            let at = bit.trailing_zeros() as usize * page_size;
            let bytes = &mut image[at..at + page_size];
            let wanted = standing == Standing::InUse || stopped && standing == Standing::Building;
            let found = wanted && self.inner().cache.read_at_rest(page, bytes);
            let written = match found && self.is_wanted(page::lsn(bytes)) {
                true => self.write(extent, bit, &image),
                false => Ok(()),
            };
            self.image = image;
            written?;
            if !found && standing != Standing::Free {
                self.lacking.insert(page);
            }
        }
        Ok(())
    }

    fn standing(&self, page: PageNo) -> Standing {
        let inner = self.inner();
        let found = {
            let state = inner.space.state();
            let usage = state.usage_of(page).map(|(_, usage)| usage);
            let owner = state.owner_of(page).and_then(|owner| state.segments.get(&owner));
            usage.map(|usage| (usage, owner.map(|segment| segment.state)))
        };
        match found {
            None | Some((_, Some(SegmentState::Dropping))) => Standing::Free,
            Some((ExtentUse::Owned(..), Some(SegmentState::Building))) => Standing::Building,
            Some(_) if inner.is_known_in_use(page) => Standing::InUse,
            Some(_) => Standing::Free,
        }
    }
}

/// Checks that LSNs show which pages of this database have changed since `parent`.
fn check_parent(inner: &Inner, parent: &Manifest) -> Result<()> {
    let what = if parent.database != inner.database_id {
        "the backup to add to is of another database (a restored database is another one, too): make a full backup"
    } else if parent.end > inner.log.end() {
        "the backup to add to is newer than the database: make a full backup"
    } else if parent.page_size as usize != inner.cache.page_size || parent.database_format != control::FORMAT
    {
        "the backup to add to is of a database of another format: make a full backup"
    } else {
        return Ok(());
    };
    Err(StorageError::Backup { what: what.into() })
}
