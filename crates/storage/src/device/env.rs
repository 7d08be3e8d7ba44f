//! The two traits between the engine and its files.
//!
//! | promise | kept by |
//! |---|---|
//! | offsets, lengths and addresses of transfers are multiples of [`BLOCK`] | the caller |
//! | contents and size are durable after [`File::sync`] | the file |
//! | a name (created, renamed, removed) is durable after [`Env::sync_dir`] of its directory, not before | the environment |
//! | a write to bytes that were [`File::allocate`]d, and not [`File::punch`]ed since, never meets "disk full" | the file |
//!
//! Until a change is durable, a power cut may keep, drop or tear each write by itself, in any order. A device
//! promises no more.

use std::any::Any;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Unit of every transfer and alignment of every buffer, in bytes: the largest sector size that direct I/O may
/// require.
pub const BLOCK: usize = 4096;

/// The treatment by [`Env::open`] of files that exist, or do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenMode {
    /// The file must exist.
    Existing,
    /// The file is made, empty, if it does not exist.
    Create,
    /// The file is made, empty; it must not exist.
    CreateNew,
}

/// Keeps others from opening the database. Dropping it releases the lock.
pub struct LockGuard {
    _held: Box<dyn Any + Send + Sync>,
}

impl LockGuard {
    /// Makes a guard that releases the lock by dropping `held`.
    pub fn new(held: impl Any + Send + Sync) -> LockGuard {
        LockGuard { _held: Box::new(held) }
    }
}

/// A directory of files. Names are relative to it, with parts separated by `/`. The name of the directory itself is
/// `""`.
pub trait Env: Send + Sync {
    /// Opens a file for reading and writing, with direct I/O where the system can.
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>>;
    /// Returns whether a file or directory of this name exists.
    fn exists(&self, name: &str) -> io::Result<bool>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Removes an empty directory. Removes the environment's own (`""`) only if opening the environment has made it.
    fn remove_dir(&self, name: &str) -> io::Result<()>;
    /// Renames a file, replacing the file `to` if it exists. After a power cut the file has one of the two names,
    /// never both or none.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Returns the sorted names, without the directory, of the files in a directory.
    fn list(&self, dir: &str) -> io::Result<Vec<String>>;
    /// Makes creations, renames and removals in a directory durable.
    fn sync_dir(&self, dir: &str) -> io::Result<()>;
    /// Makes a directory. It may exist already.
    fn create_dir(&self, name: &str) -> io::Result<()>;
    /// Locks the environment for this handle. Returns an error of kind [`io::ErrorKind::WouldBlock`] if it is locked
    /// already.
    fn lock(&self) -> io::Result<LockGuard>;
    /// Returns whether reads and writes bypass the system's page cache.
    fn direct_io(&self) -> bool;
    /// Returns whether the time of a read says something about the device. It does not where the bytes may come from
    /// the memory of the machine.
    fn times_reads(&self) -> bool {
        self.direct_io()
    }
    /// Returns a number of the device that holds the files, if it is known.
    fn device(&self) -> Option<u64> {
        None
    }
}

/// An open file. All transfers are whole: a short read or write is an error.
pub trait File: Send + Sync {
    /// Reads `buf.len()` bytes. Reading past the end is an error of kind [`io::ErrorKind::UnexpectedEof`].
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    /// Reads consecutive bytes into several buffers, with one request where the system can.
    fn read_vectored_at(&self, bufs: &mut [IoSliceMut<'_>], offset: u64) -> io::Result<()>;
    /// Writes `buf`. The file grows if necessary.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()>;
    /// Writes several buffers to consecutive bytes, with one request where the system can.
    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], offset: u64) -> io::Result<()>;
    /// Makes contents and size durable (fdatasync). After an error the contents are unknown: do not try again.
    fn sync(&self) -> io::Result<()>;
    /// Returns the size in bytes.
    fn size(&self) -> io::Result<u64>;
    /// Gives the bytes `from..to` space on the device, and keeps their content. The file grows with zeros if
    /// necessary. "Disk full" is reported here, and not by a later write to these bytes.
    fn allocate_range(&self, from: u64, to: u64) -> io::Result<()>;
    /// Grows the file with zeros to at least `upto` bytes, with space on the device for the added bytes.
    fn allocate(&self, upto: u64) -> io::Result<()> {
        let size = self.size()?;
        if upto > size { self.allocate_range(size, upto) } else { Ok(()) }
    }
    /// Gives the space of the bytes `from..to`, which are within the file, back to the device. The bytes are zeros
    /// from now on, and a write to them can meet "disk full" until they are allocated again. An error of kind
    /// [`io::ErrorKind::Unsupported`] says that files cannot have holes there, and that nothing was done.
    fn punch(&self, from: u64, to: u64) -> io::Result<()>;
    /// Returns the bytes that the file takes on the device.
    fn allocated(&self) -> io::Result<u64>;
    /// Cuts the file to `to` bytes.
    fn truncate(&self, to: u64) -> io::Result<()>;
    /// Returns the system's descriptor, for transfers that bypass this trait. Returns none if all transfers must go
    /// through it.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
