//! Making a backup of an open store, a step at a time; the rules are in [`super`].

use super::extents;
use super::log_copy::LogCopy;
use super::manifest::Manifest;
use super::stream::{FileSum, StreamWriter, failed};
use crate::control;
use crate::device::{AlignedBuf, BLOCK, Env, File};
use crate::open::draw_number;
use crate::space::{EXTENT_PAGES, ExtentNo, ExtentUse};
use crate::store::{Inner, Store};
use crate::{Lsn, PageNo, Result, SegmentState, StorageError, page};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of log after which they are copied, and the part of the log's capacity that the files with them take at most: small flushes take more
/// of the files than they have bytes.
const LOG_PIECE: u64 = 1 << 20;
const LOG_SHARE: u64 = 16;
/// How often a page is read again at once, which may just have been written.
const ATTEMPTS: usize = 3;
const PAUSE: Duration = Duration::from_millis(1);
/// So few extents are copied again while nothing may be written past the log.
const FEW: usize = 4;
/// After so many rounds, however many are left.
const ROUNDS: usize = 16;
/// How often, and with what pauses, pages are tried again that could not be had.
const TRIES: usize = 50;
const TRY_PAUSE: Duration = Duration::from_millis(20);

/// A backup that is being made. Dropped before it is finished it leaves a directory that is recognised as none.
pub struct Backup {
    running: Running,
    target: Arc<dyn Env>,
    parent: Option<Manifest>,
    redo: Lsn,
    checkpoint: Lsn,
    pages: StreamWriter,
    /// Pages in it.
    stored: u64,
    log: LogCopy,
    others: Vec<(String, FileSum)>,
    /// The next extent, and how many there were at the beginning: what others are used for is in the log.
    next: u32,
    extents: u32,
    image: AlignedBuf,
    /// Extents to be copied again.
    late: BTreeSet<ExtentNo>,
    rounds: usize,
    /// Pages in use that could not be had.
    lacking: BTreeSet<PageNo>,
    tries: usize,
    /// Pages looked at, and how many there are, about.
    done: u64,
    total: u64,
    /// Where it ends, and the extents of the file as of then.
    end: Option<(Lsn, u64)>,
}

/// What a store does otherwise while a backup is made.
struct Running {
    inner: Arc<Inner>,
}

impl Running {
    /// Begins, and says how many extents there are.
    fn begin(inner: &Arc<Inner>) -> Result<(Running, u32)> {
        if inner.backup_running.swap(true, Ordering::AcqRel) {
            let what = "another backup of this database is being made".into();
            return Err(StorageError::Backup { what });
        }
        let running = Running { inner: Arc::clone(inner) };
        inner.space.keep_free_space(true);
        let _stopped = inner.space.unlogged.stop();
        let extents = inner.space.state().extents.len() as u32;
        inner.space.unlogged.begin_backup(extents);
        Ok((running, extents))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // If it fails the store has stopped, and keeps nothing any more.
        let _ = self.inner.log.keep_from(None);
        self.inner.space.unlogged.end_backup();
        self.inner.space.keep_free_space(false);
        self.inner.backup_running.store(false, Ordering::Release);
    }
}

/// What a page is to a backup that cannot read it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nobody's, or soon to be, or taken and not in use yet: it may hold anything.
    Free,
    /// Of a tree that is written past the log, and may not be there yet.
    Building,
    /// It has to be there.
    InUse,
}

impl Store {
    /// Begins a backup into the directory `target`, which is empty: of all pages, or of those that have changed since `parent` was made.
    ///
    /// # Errors
    /// `Backup` if one is being made already, `target` is not empty, or `parent` is none of this database; `BackupIo`; as
    /// [`checkpoint`](Self::checkpoint).
    pub fn begin_backup(&self, target: Arc<dyn Env>, parent: Option<Manifest>) -> Result<Backup> {
        Backup::begin(&self.inner, target, parent)
    }
}

impl Backup {
    fn begin(inner: &Arc<Inner>, target: Arc<dyn Env>, parent: Option<Manifest>) -> Result<Backup> {
        if let Some(parent) = &parent {
            check_parent(inner, parent)?;
        }
        let (running, extents) = Running::begin(inner)?;
        if !target.list("").map_err(failed("list", ""))?.is_empty() {
            let what = "there are files in the directory already: a backup is made in a new one".into();
            return Err(StorageError::Backup { what });
        }
        inner.checkpoint()?;
        let (redo, checkpoint) = inner.keep_log()?;
        // What is written past the log from now on has an LSN above the redo position: an incremental backup finds it.
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

    /// How many pages were looked at, of how many, about.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.done.min(self.total), self.total)
    }

    /// Copies some more pages, and what the log has got meanwhile. False once all is copied but what [`end`](Self::end) does.
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
        if self.rounds < ROUNDS {
            self.rounds += 1;
            self.late = self.inner().space.unlogged.take();
            if self.late.len() > FEW {
                return Ok(true);
            }
            self.rounds = ROUNDS;
        }
        self.try_again(false)?;
        if self.tries < TRIES && self.lacking.iter().any(|page| self.standing(*page) == Standing::InUse) {
            self.tries += 1;
            std::thread::sleep(TRY_PAUSE);
            return Ok(true);
        }
        Ok(false)
    }

    /// Decides where the backup ends: what is in the log by now is in it.
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
        // A tree whose pages are not all written is not in use before they are, which they cannot be before the end.
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

    /// Copies a file of the database's directory, of `bytes` bytes, under the name that it has there.
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

    /// Copies the rest of the log, makes everything durable, and then says so. [`end`](Self::end) comes before.
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
            // 0 is none.
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

    /// Copies the log if there is much that is not copied.
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

    /// Copies what is to be copied of an extent; false if none of its pages is in use.
    fn copy_extent(&mut self, extent: ExtentNo) -> Result<bool> {
        let inner = Arc::clone(self.inner());
        // Before its use is looked at: who takes it and writes to it later on is heard of.
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

    /// Whether a page that was changed last at `lsn` belongs in the backup.
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

    /// Reads a page that was not what it must be.
    fn read_again(&self, page: PageNo, image: &mut [u8]) -> bool {
        let cache = &self.inner().cache;
        if self.standing(page) != Standing::InUse {
            return false;
        }
        // It may never have been written, or may be being written.
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

    /// Tries to get those pages that could not be had, those of trees that are being built too if they cannot be written meanwhile; forgets
    /// those that nobody uses any more.
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

/// Checks that what has changed in this database since `parent` can be told from its LSNs.
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
