//! The environment of a database in production: a directory of the file system.
//!
//! Files bypass the page cache (`O_DIRECT`) if the file system supports it, which is tried once. Where it does not
//! (tmpfs), they are buffered, and [`Env::direct_io`] returns false. The lock is an `flock` of the file `lock`, which
//! the system releases when the process ends in any way.
//!
//! Files and directories that this module makes are for their owner alone, because they hold the rows of all
//! accounts. A directory that existed keeps its mode.

use super::aligned::AlignedBuf;
use super::direct;
use super::env::{BLOCK, Env, File, LockGuard, OpenMode};
use parking_lot::Mutex;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const LOCK_FILE: &str = "lock";
const PROBE_FILE: &str = "direct-io-probe";
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A directory of the file system, with direct I/O where the file system takes it.
pub struct DirectoryEnv {
    root: PathBuf,
    direct: bool,
    /// Whether opening the environment has made the directory.
    made: bool,
}

impl DirectoryEnv {
    /// Opens a directory. Makes it, but not its parents, if it does not exist.
    pub fn open(root: impl AsRef<Path>) -> io::Result<DirectoryEnv> {
        let root = root.as_ref().to_path_buf();
        let made = match make_dir(&root) {
            Ok(()) => {
                sync_parent(&root)?;
                true
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists && root.is_dir() => false,
            Err(error) => return Err(error),
        };
        let direct = takes_direct_io(&root).map_err(explain_read_only)?;
        Ok(DirectoryEnv { root, direct, made })
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    fn options(&self) -> OpenOptions {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(FILE_MODE);
        if self.direct {
            options.custom_flags(libc::O_DIRECT);
        }
        options
    }
}

fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY_MODE).create(path)
}

/// Turns the error of a directory that takes no new file into one that says why the database cannot be opened.
fn explain_read_only(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => io::Error::new(
            error.kind(),
            format!("files cannot be written there, and a database is always opened for writing ({error})"),
        ),
        _ => error,
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => fs::File::open(parent)?.sync_all(),
        _ => fs::File::open(".")?.sync_all(),
    }
}

/// Tries a direct transfer. Some file systems refuse to open the file, others refuse the first write or an unusual
/// block size.
fn takes_direct_io(root: &Path) -> io::Result<bool> {
    // The name has the process number: several processes may open one directory before one of them gets the lock.
    let path = root.join(format!("{PROBE_FILE}-{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(FILE_MODE).custom_flags(libc::O_DIRECT);
    let works = match options.open(&path) {
        Ok(file) => match file.write_all_at(&AlignedBuf::zeroed(BLOCK), 0) {
            // A successful open has to do here: a database on a full disk can still be read, and its rows deleted.
            Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
                Ok(true)
            }
            written => written.map(|()| true),
        },
        Err(error) => Err(error),
    };
    let removed = match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    match works {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => removed.map(|()| false),
        other => removed.and(other),
    }
}

impl Env for DirectoryEnv {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut options = self.options();
        match mode {
            OpenMode::Existing => {}
            OpenMode::Create => {
                options.create(true).truncate(false);
            }
            OpenMode::CreateNew => {
                options.create_new(true);
            }
        }
        let file = options.open(self.root.join(name))?;
        Ok(Arc::new(DirectoryFile { file, cached: (!self.direct).then(Mutex::default) }))
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        self.root.join(name).try_exists()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.root.join(name))
    }

    fn remove_dir(&self, name: &str) -> io::Result<()> {
        match name {
            "" if !self.made => Ok(()),
            "" => fs::remove_dir(&self.root),
            name => fs::remove_dir(self.root.join(name)),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.root.join(from), self.root.join(to))
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.root.join(dir))? {
            let entry = entry?;
            // A name that is not UTF-8 is not a name of this database.
            if let (true, Ok(name)) = (entry.file_type()?.is_file(), entry.file_name().into_string()) {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        fs::File::open(self.root.join(dir))?.sync_all()
    }

    fn create_dir(&self, name: &str) -> io::Result<()> {
        let path = self.root.join(name);
        match make_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            other => other,
        }
    }

    fn lock(&self) -> io::Result<LockGuard> {
        let path = self.root.join(LOCK_FILE);
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(FILE_MODE);
            let file = options.open(&path)?;
            direct::lock(&file)?;
            // A process that failed to make a database removes the lock file, perhaps since this one opened it.
            match fs::metadata(&path) {
                Ok(named) if named.ino() == file.metadata()?.ino() => return Ok(LockGuard::new(file)),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn direct_io(&self) -> bool {
        self.direct
    }

    fn device(&self) -> Option<u64> {
        fs::metadata(&self.root).ok().map(|metadata| metadata.dev())
    }
}

/// An open file of the file system.
struct DirectoryFile {
    file: fs::File,
    /// For a file without direct I/O: whether a sync has failed. The system reports data that it cannot write back to
    /// one sync and then forgets the failure, so a second sync at the same time would report success. The mutex makes
    /// syncs take turns, and none succeeds after a failure.
    cached: Option<Mutex<bool>>,
}

impl File for DirectoryFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buf, offset)
    }

    fn read_vectored_at(&self, bufs: &mut [IoSliceMut<'_>], offset: u64) -> io::Result<()> {
        direct::read_vectored(&self.file, bufs, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(buf, offset)
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], offset: u64) -> io::Result<()> {
        direct::write_vectored(&self.file, &mut bufs.to_vec(), offset)
    }

    fn sync(&self) -> io::Result<()> {
        let Some(failed) = &self.cached else { return self.file.sync_data() };
        let mut failed = failed.lock();
        if *failed {
            return Err(io::Error::other("a sync of this file has failed before"));
        }
        let synced = self.file.sync_data();
        *failed = synced.is_err();
        synced
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn allocate_range(&self, from: u64, to: u64) -> io::Result<()> {
        match direct::allocate(&self.file, from, to) {
            // Such a file system has no holes either, so every byte below the end has space.
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                fill_with_zeros(self, from.max(self.size()?), to)
            }
            other => other,
        }
    }

    fn punch(&self, from: u64, to: u64) -> io::Result<()> {
        direct::punch(&self.file, from, to)
    }

    fn allocated(&self) -> io::Result<u64> {
        // The unit is 512 bytes whatever the block size of the file system.
        Ok(self.file.metadata()?.blocks() * 512)
    }

    fn truncate(&self, to: u64) -> io::Result<()> {
        self.file.set_len(to)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}

/// Takes space by writing zeros, where the file system cannot allocate it.
fn fill_with_zeros(file: &dyn File, from: u64, to: u64) -> io::Result<()> {
    const CHUNK: u64 = 1 << 20;
    let zeros = AlignedBuf::zeroed(CHUNK as usize);
    let mut at = from;
    while at < to {
        let len = CHUNK.min(to - at);
        file.write_at(&zeros[..len as usize], at)?;
        at += len;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env() -> (tempfile::TempDir, DirectoryEnv) {
        let dir = tempfile::tempdir().unwrap();
        let env = DirectoryEnv::open(dir.path().join("db")).unwrap();
        (dir, env)
    }

    #[test]
    fn written_bytes_are_read_back_whole_and_in_parts() {
        let (_dir, env) = env();
        let file = env.open("f", OpenMode::CreateNew).unwrap();
        let pages: Vec<AlignedBuf> =
            (0..1500u32).map(|i| AlignedBuf::from_bytes(&[i as u8; BLOCK])).collect();
        let slices: Vec<IoSlice<'_>> = pages.iter().map(|page| IoSlice::new(page)).collect();
        file.write_vectored_at(&slices, BLOCK as u64).unwrap();
        file.sync().unwrap();
        let mut read: Vec<AlignedBuf> = (0..1500).map(|_| AlignedBuf::zeroed(BLOCK)).collect();
        let mut slices: Vec<IoSliceMut<'_>> = read.iter_mut().map(|page| IoSliceMut::new(page)).collect();
        file.read_vectored_at(&mut slices, BLOCK as u64).unwrap();
        for (read, written) in read.iter().zip(&pages) {
            assert!(**read == **written);
        }
        let mut one = AlignedBuf::zeroed(BLOCK);
        file.read_at(&mut one, 0).unwrap();
        assert!(one.iter().all(|b| *b == 0), "the gap reads as zeros");
        let past = file.read_vectored_at(&mut [IoSliceMut::new(&mut one)], 1501 * BLOCK as u64);
        assert_eq!(past.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn allocation_grows_with_zeros_and_never_shrinks() {
        let (_dir, env) = env();
        let file = env.open("f", OpenMode::Create).unwrap();
        file.allocate(1 << 20).unwrap();
        file.allocate(1 << 10).unwrap();
        assert_eq!(file.size().unwrap(), 1 << 20);
        let mut buf = AlignedBuf::from_bytes(&[1; BLOCK]);
        file.read_at(&mut buf, (1 << 20) - BLOCK as u64).unwrap();
        assert!(buf.iter().all(|b| *b == 0));
        file.truncate(BLOCK as u64).unwrap();
        assert_eq!(file.size().unwrap(), BLOCK as u64);
        fill_with_zeros(&*file, BLOCK as u64, (1 << 20) + 2 * BLOCK as u64).unwrap();
        assert_eq!(file.size().unwrap(), (1 << 20) + 2 * BLOCK as u64);
    }

    #[test]
    fn a_punched_range_is_zeros_takes_no_space_and_can_be_allocated_again() {
        const MIB: u64 = 1 << 20;
        let (_dir, env) = env();
        let file = env.open("f", OpenMode::Create).unwrap();
        file.allocate(4 * MIB).unwrap();
        let ones = AlignedBuf::from_bytes(&vec![1; 4 << 20]);
        file.write_at(&ones, 0).unwrap();
        file.sync().unwrap();
        let full = file.allocated().unwrap();
        match file.punch(MIB, 3 * MIB) {
            Err(error) if error.kind() == ErrorKind::Unsupported => return,
            punched => punched.unwrap(),
        }
        assert_eq!((file.size().unwrap(), full - file.allocated().unwrap()), (4 * MIB, 2 * MIB));
        let mut buf = AlignedBuf::zeroed(4 << 20);
        file.read_at(&mut buf, 0).unwrap();
        let sum: u64 = buf.iter().map(|byte| u64::from(*byte)).sum();
        assert_eq!(sum, 2 * MIB);
        file.allocate_range(0, 5 * MIB).unwrap();
        assert_eq!((file.size().unwrap(), file.allocated().unwrap() - full), (5 * MIB, MIB));
        file.read_at(&mut buf, MIB).unwrap();
        let sum: u64 = buf.iter().map(|byte| u64::from(*byte)).sum();
        assert_eq!(sum, MIB, "what was there is kept");
    }

    #[test]
    fn after_a_failed_sync_of_a_cached_file_none_succeeds() {
        // A pipe cannot be synced.
        let pipe = || fs::File::from(std::os::fd::OwnedFd::from(io::pipe().unwrap().1));
        let cached = DirectoryFile { file: pipe(), cached: Some(Mutex::default()) };
        assert_eq!(cached.sync().unwrap_err().kind(), ErrorKind::InvalidInput);
        assert!(cached.sync().unwrap_err().to_string().contains("failed before"));
    }

    #[test]
    fn open_modes_mind_whether_the_file_is_there() {
        let (_dir, env) = env();
        assert_eq!(env.open("f", OpenMode::Existing).err().map(|e| e.kind()), Some(ErrorKind::NotFound));
        env.open("f", OpenMode::Create).unwrap().allocate(8192).unwrap();
        assert_eq!(env.open("f", OpenMode::Create).unwrap().size().unwrap(), 8192);
        assert_eq!(
            env.open("f", OpenMode::CreateNew).err().map(|e| e.kind()),
            Some(ErrorKind::AlreadyExists)
        );
    }

    #[test]
    fn names_are_listed_renamed_and_removed() {
        let (_dir, env) = env();
        assert_eq!(env.list("").unwrap(), Vec::<String>::new(), "the probe leaves nothing behind");
        env.create_dir("wal").unwrap();
        env.create_dir("wal").unwrap();
        for name in ["wal/2.log", "wal/1.log"] {
            env.open(name, OpenMode::CreateNew).unwrap();
        }
        assert_eq!(env.list("wal").unwrap(), ["1.log", "2.log"]);
        env.rename("wal/1.log", "wal/3.log").unwrap();
        env.remove("wal/2.log").unwrap();
        env.sync_dir("wal").unwrap();
        assert_eq!(env.list("wal").unwrap(), ["3.log"]);
        assert!(env.exists("wal").unwrap() && !env.exists("wal/1.log").unwrap());
    }

    #[test]
    fn files_and_directories_are_made_for_their_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        let path = dir.path().join("db");
        let env = DirectoryEnv::open(&path).unwrap();
        env.create_dir("wal").unwrap();
        env.open("wal/1", OpenMode::CreateNew).unwrap();
        env.open("f", OpenMode::Create).unwrap();
        let _lock = env.lock().unwrap();
        for (name, expected) in
            [("", 0o700), ("wal", 0o700), ("wal/1", 0o600), ("f", 0o600), (LOCK_FILE, 0o600)]
        {
            assert_eq!(mode(&path.join(name)), expected, "{name}");
        }
        // A directory that existed keeps its mode.
        let other = dir.path().join("other");
        DirBuilder::new().mode(0o750).create(&other).unwrap();
        DirectoryEnv::open(&other).unwrap();
        assert_eq!(mode(&other), 0o750);
    }

    #[test]
    fn a_lock_is_held_on_the_file_that_has_the_name_now() {
        let (dir, env) = env();
        let held = env.lock().unwrap();
        env.remove(LOCK_FILE).unwrap();
        let other = DirectoryEnv::open(dir.path().join("db")).unwrap();
        let second = other.lock().unwrap();
        drop(held);
        assert_eq!(env.lock().err().map(|e| e.kind()), Some(ErrorKind::WouldBlock));
        drop(second);
    }

    #[test]
    fn a_directory_is_removed_only_if_it_was_made_here() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        DirectoryEnv::open(&path).unwrap().remove_dir("").unwrap();
        assert!(!path.exists());
        DirectoryEnv::open(&path).unwrap();
        DirectoryEnv::open(&path).unwrap().remove_dir("").unwrap();
        assert!(path.exists());
    }

    #[test]
    fn the_error_of_a_read_only_directory_explains_itself() {
        let error = explain_read_only(ErrorKind::PermissionDenied.into());
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("always opened for writing"), "{error}");
    }

    #[test]
    fn a_second_lock_is_refused_until_the_first_is_dropped() {
        let (dir, env) = env();
        let other = DirectoryEnv::open(dir.path().join("db")).unwrap();
        let held = env.lock().unwrap();
        assert_eq!(other.lock().err().map(|e| e.kind()), Some(ErrorKind::WouldBlock));
        drop(held);
        other.lock().unwrap();
    }
}
