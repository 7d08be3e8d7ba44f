//! The two traits between the engine and its files.
//!
//! | promise | by whom |
//! |---|---|
//! | offsets, lengths and addresses of transfers are multiples of [`BLOCK`] | the caller |
//! | contents and size are durable after [`File::sync`] | the file |
//! | a name (created, renamed, removed) is durable after [`Env::sync_dir`] of its directory, not before | the environment |
//! | a write to what was [`File::allocate`]d, and not [`File::punch`]ed since, never meets "disk full" | the file |
//!
//! Until then a power cut may keep, drop or tear each write by itself, in any order: a device promises no more.

use std::any::Any;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Unit of every transfer and alignment of every buffer, in bytes: the sector size direct I/O may ask for.
pub const BLOCK: usize = 4096;

/// What [`Env::open`] does about a file that is there, or is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// The file must exist.
    Existing,
    /// The file is made, empty, if it does not exist.
    Create,
    /// The file is made, empty; it must not exist.
    CreateNew,
}

/// Keeps others from opening the database; released when dropped.
pub struct LockGuard {
    _held: Box<dyn Any + Send + Sync>,
}

impl LockGuard {
    /// A guard that releases the lock by dropping `held`.
    pub fn new(held: impl Any + Send + Sync) -> LockGuard {
        LockGuard { _held: Box::new(held) }
    }
}

/// A directory of files. Names are relative to it, parts separated by `/`; the directory itself is `""`.
pub trait Env: Send + Sync {
    /// Opens a file for reading and writing, with direct I/O where the system can.
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Whether a file or directory of this name is there.
    fn exists(&self, name: &str) -> io::Result<bool>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Removes an empty directory; the environment's own (`""`) only if opening the environment has made it.
    fn remove_dir(&self, name: &str) -> io::Result<()>;
    /// Renames a file, replacing what `to` names. After a power cut either name may hold it, never both or none.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Names (without the directory) of the files in a directory, sorted.
    fn list(&self, dir: &str) -> io::Result<Vec<String>>;
    /// Makes creations, renames and removals in a directory durable.
    fn sync_dir(&self, dir: &str) -> io::Result<()>;
    /// Makes a directory; it may exist already.
    fn create_dir(&self, name: &str) -> io::Result<()>;
    /// Locks the environment for this handle. An error of kind [`io::ErrorKind::WouldBlock`] says that it is
    /// locked already.
    fn lock(&self) -> io::Result<LockGuard>;
    /// Whether files are read and written past the system's page cache.
    fn direct_io(&self) -> bool;
    /// Whether the time of a read says something about the device, or may be that of the memory of the machine.
    fn times_reads(&self) -> bool {
        self.direct_io()
    }
    /// A number for the device that holds the files, if that can be known.
    fn device(&self) -> Option<u64> {
        None
    }
}

/// An open file. All transfers are whole: a short read or write is an error.
pub trait File: Send + Sync {
    /// Reads `buf.len()` bytes; reading past the end is an error of kind [`io::ErrorKind::UnexpectedEof`].
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    /// Reads consecutive bytes into several buffers, with one request where the system can.
    fn read_vectored_at(&self, bufs: &mut [IoSliceMut<'_>], offset: u64) -> io::Result<()>;
    /// Writes; the file grows if it must.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;
    /// Writes several buffers to consecutive bytes, with one request where the system can.
    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], offset: u64) -> io::Result<()>;
    /// Makes contents and size durable (fdatasync). After an error the contents are unknown: do not try again.
    fn sync(&self) -> io::Result<()>;
    /// Size in bytes.
    fn size(&self) -> io::Result<u64>;
    /// Gives the bytes `from..to` space on the device, and keeps what they hold; the file grows with zeros if it must. "Disk full"
    /// is reported here, and not by a later write to them.
    fn allocate_range(&self, from: u64, to: u64) -> io::Result<()>;
    /// Grows the file with zeros to at least `upto` bytes, with space on the device for those that are added.
    fn allocate(&self, upto: u64) -> io::Result<()> {
        let size = self.size()?;
        if upto > size { self.allocate_range(size, upto) } else { Ok(()) }
    }
    /// Gives the space of the bytes `from..to`, which are within the file, back to the device: they are zeros from now on, and
    /// writing to them can meet "disk full" until they are allocated again. An error of kind [`io::ErrorKind::Unsupported`] says that
    /// nothing was done because files cannot have holes there.
    fn punch(&self, from: u64, to: u64) -> io::Result<()>;
    /// Bytes that the file takes on the device.
    fn allocated(&self) -> io::Result<u64>;
    /// Cuts the file to `to` bytes.
    fn truncate(&self, to: u64) -> io::Result<()>;
    /// The system's descriptor, for transfers past this trait; none if they are to go through it.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
