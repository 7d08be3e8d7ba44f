//! Makes a store from a full backup and those that add to it, in steps; and checks whether a backup is whole.
//!
//! A restore makes the files that a crash at the last backup's end would have left, with a log that begins at its
//! redo position. Opening them recovers the store. The store has a new database number, so that no backup of the
//! original is ever added to by a backup of the restored one: their LSNs diverge. The file `restoring` is made before
//! any other and stays until the store has been opened; it keeps others from using an incomplete store. All files in
//! a directory that has it were left by an interrupted restore, and another restore begins by removing them.

use super::extents;
use super::log_copy::{self, read_group};
use super::manifest::{Manifest, read_chain};
use super::stream::{FileSum, StreamReader, damaged};
use crate::control::{self, ControlData, ControlFile};
use crate::device::{AlignedBuf, BLOCK, Env, File, LockGuard, OpenMode};
use crate::doublewrite::{self, Doublewrite};
use crate::log::{self, Log, LogOptions};
use crate::open::{DATA, RESTORING, draw_number};
use crate::space::{self, EXTENT_PAGES};
use crate::{Result, StorageError, page, warm_up};
use std::io::ErrorKind;
use std::sync::Arc;

/// Appended log bytes that may wait in memory.
const LOG_BUFFER: usize = 1 << 20;
/// Smallest capacity of the log that is made.
const LOG_CAPACITY: u64 = 256 << 20;
/// Name of the lock file of a directory.
const LOCK: &str = "lock";
/// Bytes of other files that are copied at once.
const PIECE: usize = 1 << 20;

/// A store that is being made from backups.
pub struct Restore {
    target: Arc<dyn Env>,
    /// The backups that are left to read, in reverse order: the next one last.
    sources: Vec<(Arc<dyn Env>, Manifest)>,
    /// The last backup of the chain.
    last: (Arc<dyn Env>, Manifest),
    reading: Option<(StreamReader, Manifest)>,
    data: Arc<dyn File>,
    image: AlignedBuf,
    done: u64,
    total: u64,
    _lock: LockGuard,
}

impl Restore {
    /// Begins to make a store in `target` from a full backup and those that add to it, in this order. `target` is
    /// empty except for the files of an interrupted restore. `others` are the directories of files that are not the
    /// store's.
    ///
    /// # Errors
    /// `Backup` if the backups are damaged, not complete, or do not follow each other, or if `target` has other
    /// files; `BackupIo`, `Io`, `DiskFull`, `AlreadyOpen`.
    pub fn begin(target: Arc<dyn Env>, backups: &[Arc<dyn Env>], others: &[&str]) -> Result<Restore> {
        let chain = read_chain(backups)?;
        let Some(last) = backups.last().cloned().zip(chain.last().cloned()) else {
            return Err(StorageError::Backup { what: "no backup is named".into() });
        };
        if last.1.database_format != control::FORMAT {
            let (found, known) = (last.1.database_format, control::FORMAT);
            let what = format!("the backup is of a database of format {found}, this program reads {known}");
            return Err(StorageError::Backup { what });
        }
        let lock = lock(&*target)?;
        remove_remains(&*target, others)?;
        write_file(&*target, RESTORING, &[0; BLOCK])?;
        sync_dir(&*target, "")?;
        let page_size = last.1.page_size as usize;
        let data = target.open(DATA, OpenMode::CreateNew);
        let data = data.map_err(|source| StorageError::io("create", DATA, source))?;
        let extent = EXTENT_PAGES * page_size as u64;
        let bytes = last.1.extents * extent;
        let sized = data.allocate_range(bytes.saturating_sub(extent), bytes);
        sized.map_err(|source| StorageError::io("allocate", DATA, source))?;
        let total = chain.iter().map(|manifest| manifest.pages).sum();
        let mut sources: Vec<_> = backups.iter().cloned().zip(chain).collect();
        sources.reverse();
        let image = AlignedBuf::zeroed(extent as usize);
        Ok(Restore { target, sources, last, reading: None, data, image, done: 0, total, _lock: lock })
    }

    /// Returns how many pages were written, and how many there are.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.done, self.total)
    }

    /// Writes some more pages. Returns false once all are written.
    ///
    /// # Errors
    /// `Backup` for damage; `BackupIo`, `Io`, `DiskFull`.
    pub fn step(&mut self) -> Result<bool> {
        let Some((reader, manifest)) = &mut self.reading else {
            let Some((env, manifest)) = self.sources.pop() else { return Ok(false) };
            let reader = StreamReader::open(&*env, extents::FILE, manifest.pages_file)?;
            self.reading = Some((reader, manifest));
            return Ok(true);
        };
        if reader.is_over() {
            return match self.reading.take() {
                Some((reader, _)) => reader.finish().map(|()| true),
                None => Ok(true),
            };
        }
        let (extent, pages) = extents::read(reader, &mut self.image, manifest.end)?;
        self.done += u64::from(pages.count_ones());
        if u64::from(extent.0) >= self.last.1.extents {
            // The file has become shorter since this backup.
            return Ok(true);
        }
        let page_size = self.last.1.page_size as usize;
        let mut left = pages;
        while left != 0 {
            let first = left.trailing_zeros();
            let count = (left >> first).trailing_ones();
            let bytes = &self.image[first as usize * page_size..(first + count) as usize * page_size];
            let written = self.data.write_at(bytes, extent.page(first).0 * page_size as u64);
            written.map_err(|source| StorageError::io("write", DATA, source))?;
            left &= u64::MAX.checked_shl(first + count).unwrap_or(0);
        }
        Ok(true)
    }

    /// Makes the rest of the store. It can then be opened with
    /// [`StoreOptions::restoring`](crate::StoreOptions::restoring), before [`complete`](Self::complete) is called.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn finish(self) -> Result<()> {
        let (target, (source, manifest)) = (&self.target, &self.last);
        let database_id = draw_number();
        let page_size = manifest.page_size as usize;
        let mut superblock = AlignedBuf::from_bytes(&space::superblock(page_size, database_id));
        page::seal(&mut superblock);
        self.data.write_at(&superblock, 0).map_err(|source| StorageError::io("write", DATA, source))?;
        self.data.sync().map_err(|source| StorageError::io("sync", DATA, source))?;
        drop(Doublewrite::open(&**target, OpenMode::CreateNew, page_size)?);
        for (name, sum) in &manifest.others {
            self.copy_file(&**source, name, *sum)?;
        }
        let control = self.write_log(&**source, manifest, database_id)?;
        sync_dir(&**target, "")?;
        ControlFile::create(&**target, control)?;
        Ok(())
    }

    /// Removes the files that a failed restore has left in `target`. `others` as in [`begin`](Self::begin).
    ///
    /// # Errors
    /// `Io`; `AlreadyOpen` if the restore goes on; `Backup` if there are other files, too.
    pub fn give_up(target: &dyn Env, others: &[&str]) -> Result<()> {
        let _lock = lock(target)?;
        remove_remains(target, others)
    }

    /// Makes the store like any other, after it has been opened and closed.
    ///
    /// # Errors
    /// `Io`.
    pub fn complete(target: &dyn Env) -> Result<()> {
        target.remove(RESTORING).map_err(|source| StorageError::io("remove", RESTORING, source))?;
        sync_dir(target, "")
    }

    fn copy_file(&self, source: &dyn Env, name: &str, sum: FileSum) -> Result<()> {
        let (directory, _) = safe_name(name)?;
        let io = |op| move |source| StorageError::io(op, name.to_owned(), source);
        self.target.create_dir(directory).map_err(io("create the directory of"))?;
        let file = self.target.open(name, OpenMode::CreateNew).map_err(io("create"))?;
        let mut reader = StreamReader::open(source, name, sum)?;
        let mut piece = AlignedBuf::zeroed(PIECE);
        while !reader.is_over() {
            let at = reader.position();
            let len = (sum.bytes - at).min(PIECE as u64) as usize;
            reader.read(&mut piece[..len])?;
            let whole = len.next_multiple_of(BLOCK);
            piece[len..whole].fill(0);
            file.write_at(&piece[..whole], at).map_err(io("write"))?;
        }
        reader.finish()?;
        file.sync().map_err(io("sync"))?;
        sync_dir(&*self.target, directory)
    }

    /// Makes the log. Returns the content of the control file.
    fn write_log(&self, source: &dyn Env, manifest: &Manifest, database_id: u64) -> Result<ControlData> {
        let bytes = manifest.log_file.bytes;
        // No group takes more than a third of this.
        let capacity = LOG_CAPACITY.max(bytes.saturating_mul(4));
        let options = LogOptions { capacity, buffer_bytes: LOG_BUFFER, database_id };
        let (log, redo) = Log::create(&self.target, options, manifest.redo)?;
        let mut reader = StreamReader::open(source, log_copy::FILE, manifest.log_file)?;
        let mut payload = Vec::new();
        while !reader.is_over() {
            let left = bytes - reader.position();
            let kind = read_group(&mut reader, &mut payload, left)?;
            let mut reservation = log.reserve_beyond_limit(Log::group_bytes(payload.len()))?;
            log.append(&mut reservation, kind, &[&payload])?;
            log.throttle()?;
        }
        reader.finish()?;
        if log.end() != manifest.end {
            return Err(damaged(log_copy::FILE, format!("it ends at LSN {}", log.end())));
        }
        log.wait_durable(manifest.end)?;
        let checkpoint = Some(log.position_of(manifest.checkpoint)?);
        Ok(ControlData { page_size: manifest.page_size, database_id, redo, checkpoint })
    }
}

fn lock(target: &dyn Env) -> Result<LockGuard> {
    target.lock().map_err(|source| match source.kind() {
        ErrorKind::WouldBlock => StorageError::AlreadyOpen,
        _ => StorageError::io("lock", LOCK, source),
    })
}

/// Removes the files of an interrupted restore from a directory. Removes their mark last, so that an interrupted
/// removal can be recognised.
fn remove_remains(target: &dyn Env, others: &[&str]) -> Result<()> {
    /// The store's own files in its directory.
    const FILES: [&str; 6] =
        [DATA, doublewrite::FILE, control::FILE, control::NEW_FILE, warm_up::FILE, warm_up::NEW_FILE];
    let names = target.list("").map_err(|source| StorageError::io("list", "", source))?;
    let is_directory = |name: &str| name == log::DIRECTORY || others.contains(&name);
    let is_known = |name: &String| {
        let name = name.as_str();
        name == LOCK || name == RESTORING || FILES.contains(&name) || is_directory(name)
    };
    let is_marked = names.iter().any(|name| name == RESTORING);
    if names.iter().any(|name| !is_known(name) || (!is_marked && name != LOCK)) {
        let what = "there are files in the directory already: a database is restored into a new one".into();
        return Err(StorageError::Backup { what });
    }
    let remove = |name: &str| {
        target.remove(name).map_err(|source| StorageError::io("remove", name.to_owned(), source))
    };
    for name in names.iter().filter(|name| *name != LOCK && *name != RESTORING) {
        if !is_directory(name) {
            remove(name)?;
            continue;
        }
        let inside = target.list(name).map_err(|source| StorageError::io("list", name.clone(), source))?;
        inside.iter().try_for_each(|file| remove(&format!("{name}/{file}")))?;
        target.remove_dir(name).map_err(|source| StorageError::io("remove", name.clone(), source))?;
    }
    sync_dir(target, "")?;
    if is_marked {
        remove(RESTORING)?;
        sync_dir(target, "")?;
    }
    Ok(())
}

/// Returns the directory and the rest of the name of one of the other files, which are in subdirectories of the
/// database's directory.
fn safe_name(name: &str) -> Result<(&str, &str)> {
    let plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.split_once('/')
        .filter(|(directory, file)| plain(directory) && plain(file))
        .ok_or_else(|| damaged("manifest", format!("no file of a backup is called {name:?}")))
}

fn write_file(env: &dyn Env, name: &str, bytes: &[u8]) -> Result<()> {
    let io = |op| move |source| StorageError::io(op, name.to_owned(), source);
    let file = env.open(name, OpenMode::CreateNew).map_err(io("create"))?;
    file.write_at(&AlignedBuf::from_bytes(bytes), 0).map_err(io("write"))?;
    file.sync().map_err(io("sync"))
}

fn sync_dir(env: &dyn Env, directory: &str) -> Result<()> {
    env.sync_dir(directory).map_err(|source| StorageError::io("sync", directory.to_owned(), source))
}

/// Reads a backup from beginning to end and checks it, in steps.
pub struct Verification {
    env: Arc<dyn Env>,
    manifest: Manifest,
    pages: Option<StreamReader>,
    image: AlignedBuf,
    found: u64,
}

impl Verification {
    /// Begins with the manifest.
    ///
    /// # Errors
    /// `Backup` if the backup is not complete, or is damaged; `BackupIo`.
    pub fn begin(env: Arc<dyn Env>) -> Result<Verification> {
        let manifest = Manifest::read(&*env)?;
        let pages = Some(StreamReader::open(&*env, extents::FILE, manifest.pages_file)?);
        let image = AlignedBuf::zeroed(EXTENT_PAGES as usize * manifest.page_size as usize);
        Ok(Verification { env, manifest, pages, image, found: 0 })
    }

    /// Returns the description of the backup.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns how many pages were read, and how many there are.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.found, self.manifest.pages)
    }

    /// Reads some more. Returns false once all is read and found right.
    ///
    /// # Errors
    /// `Backup` for damage; `BackupIo`.
    pub fn step(&mut self) -> Result<bool> {
        match self.pages.take() {
            Some(mut pages) if !pages.is_over() => {
                let (_, read) = extents::read(&mut pages, &mut self.image, self.manifest.end)?;
                self.found += u64::from(read.count_ones());
                self.pages = Some(pages);
                return Ok(true);
            }
            Some(pages) => pages.finish()?,
            None => return Ok(false),
        }
        if self.found != self.manifest.pages {
            let reason = format!("{} pages, and {} in the manifest", self.found, self.manifest.pages);
            return Err(damaged(extents::FILE, reason));
        }
        let sum = self.manifest.log_file;
        let mut log = StreamReader::open(&*self.env, log_copy::FILE, sum)?;
        let mut payload = Vec::new();
        while !log.is_over() {
            let left = sum.bytes - log.position();
            read_group(&mut log, &mut payload, left)?;
        }
        log.finish()?;
        for (name, sum) in &self.manifest.others {
            safe_name(name)?;
            let mut reader = StreamReader::open(&*self.env, name, *sum)?;
            while !reader.is_over() {
                let len = (sum.bytes - reader.position()).min(self.image.len() as u64) as usize;
                reader.read(&mut self.image[..len])?;
            }
            reader.finish()?;
        }
        Ok(true)
    }
}
