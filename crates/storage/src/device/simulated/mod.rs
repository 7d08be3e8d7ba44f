//! A file system in memory that promises no more than a disk with a volatile cache does.
//!
//! Each file has a volatile image (the bytes that programs read), a durable image (the bytes that a sync made safe)
//! and the list of changes between the two. Names have the same three. A power cut decides for each change by a seed:
//! kept, dropped, or, for a write, torn, each sector of 512 bytes by itself. File sizes, allocated ranges and holes
//! are metadata, as in a journalled file system: a prefix of their changes survives. Each name change is kept or
//! dropped by itself, in which the simulator is stricter than ext4.
//!
//! Faults: the power goes at the n-th changing operation; operations chosen by a predicate fail with EIO; space is
//! limited. A failed sync loses the data that it should have made safe, without any other sign (Rebello et al., ATC
//! 2020). Misaligned transfers are refused, as direct I/O would. The file system is deterministic as long as its user
//! is.

mod disk;
mod image;
mod random;
#[cfg(test)]
mod tests;

use super::env::{BLOCK, Env, File, LockGuard, OpenMode};
use disk::{Disk, parent};
use parking_lot::{Mutex, MutexGuard};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::sync::Arc;

/// Kinds of operations that are counted and can be made to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// `read_at`, `read_vectored_at`.
    Read,
    /// `write_at`, `write_vectored_at`.
    Write,
    /// `sync`.
    Sync,
    /// `allocate_range`.
    Allocate,
    /// `truncate`.
    Truncate,
    /// `punch`.
    Punch,
    /// Creation, renaming, removal of a file or directory.
    Name,
    /// `sync_dir`.
    SyncDir,
}

/// How often each kind of operation was called.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct OperationCounts {
    /// [`Operation::Read`]
    pub reads: u64,
    /// [`Operation::Write`]
    pub writes: u64,
    /// [`Operation::Sync`]
    pub syncs: u64,
    /// [`Operation::Allocate`]
    pub allocates: u64,
    /// [`Operation::Truncate`]
    pub truncates: u64,
    /// [`Operation::Punch`]
    pub punches: u64,
    /// [`Operation::Name`]
    pub names: u64,
    /// [`Operation::SyncDir`]
    pub dir_syncs: u64,
}

impl OperationCounts {
    /// Returns the number of changing operations, which [`SimulatedEnv::power_cut_after`] counts.
    #[must_use]
    pub fn changes(&self) -> u64 {
        let of_names = self.names + self.dir_syncs;
        self.writes + self.syncs + self.allocates + self.truncates + self.punches + of_names
    }

    fn count(&mut self, operation: Operation) {
        *match operation {
            Operation::Read => &mut self.reads,
            Operation::Write => &mut self.writes,
            Operation::Sync => &mut self.syncs,
            Operation::Allocate => &mut self.allocates,
            Operation::Truncate => &mut self.truncates,
            Operation::Punch => &mut self.punches,
            Operation::Name => &mut self.names,
            Operation::SyncDir => &mut self.dir_syncs,
        } += 1;
    }
}

/// Decides from operation, file name (as it was opened) and offset whether an operation fails.
pub type Fault = Arc<dyn Fn(Operation, &str, u64) -> bool + Send + Sync>;

/// A file system in memory. Clones share it, [`SimulatedEnv::snapshot`] copies it.
#[derive(Clone, Default)]
pub struct SimulatedEnv {
    disk: Arc<Mutex<Disk>>,
}

impl SimulatedEnv {
    /// Makes an empty file system.
    #[must_use]
    pub fn new() -> SimulatedEnv {
        SimulatedEnv::default()
    }

    /// Returns an independent copy of the present state, unsynced changes included. Counters, faults, limits, locks
    /// and open files are not copied.
    #[must_use]
    pub fn snapshot(&self) -> SimulatedEnv {
        SimulatedEnv { disk: Arc::new(Mutex::new(self.disk.lock().snapshot())) }
    }

    /// Cuts the power now and switches it on again. `seed` decides what is left of the unsynced changes. Open files
    /// stay dead, and locks are released.
    pub fn cut(&self, seed: u64) {
        self.disk.lock().cut(seed);
    }

    /// Makes the power go at the `n`-th changing operation from now (0: the next). That operation fails, though a
    /// write may reach the disk in part. Everything after it fails until [`SimulatedEnv::reboot`].
    pub fn power_cut_after(&self, n: u64) {
        self.disk.lock().changes_left = Some(n);
    }

    /// Returns whether the power is off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.disk.lock().off
    }

    /// Switches the power on again after a power cut, like [`SimulatedEnv::cut`].
    pub fn reboot(&self, seed: u64) {
        self.cut(seed);
    }

    /// Limits the bytes that the files together may take, holes not counted. Taking more is an error of kind
    /// [`ErrorKind::StorageFull`].
    pub fn set_space_limit(&self, bytes: Option<u64>) {
        self.disk.lock().space_limit = bytes;
    }

    /// Returns the bytes that all files take together.
    #[must_use]
    pub fn space_used(&self) -> u64 {
        self.disk.lock().inodes.bytes()
    }

    /// Makes every operation for which `fault` returns true fail with EIO. A failed write is short: its first half is
    /// done. A failed sync loses the unsynced data (see above). Other failed operations have no effect. `fault` is
    /// called with the file system locked, so it must not use it.
    pub fn set_fault(&self, fault: Option<Fault>) {
        self.disk.lock().fault = fault;
    }

    /// Returns the operations since the file system was made.
    #[must_use]
    pub fn counts(&self) -> OperationCounts {
        self.disk.lock().counts
    }

    /// Changes the stored bytes of the block at `offset`, as rot on the medium would.
    pub fn damage(&self, name: &str, offset: u64, change: &mut dyn FnMut(&mut [u8])) -> io::Result<()> {
        let mut disk = self.disk.lock();
        let number = *disk.names.files.get(name).ok_or(ErrorKind::NotFound)?;
        let inode = disk.inode(number)?;
        let start = offset - offset % BLOCK as u64;
        check_range(start, BLOCK, inode.volatile.size())?;
        let mut block = [0; BLOCK];
        inode.volatile.read(&mut block, start);
        change(&mut block[(offset - start) as usize..]);
        inode.damage(start, &block);
        Ok(())
    }
}

impl Env for SimulatedEnv {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let mut disk = self.disk.lock();
        let found = disk.names.files.get(name).copied();
        let number = match (found, mode) {
            (Some(_), OpenMode::CreateNew) => return Err(ErrorKind::AlreadyExists.into()),
            (None, OpenMode::Existing) => {
                disk.check_epoch(disk.epoch)?;
                return Err(ErrorKind::NotFound.into());
            }
            (Some(number), _) => {
                disk.check_epoch(disk.epoch)?;
                number
            }
            (None, _) => {
                disk.enter(Operation::Name, name, 0)?;
                disk.create(name)?
            }
        };
        disk.inodes.open(number);
        let (epoch, name) = (disk.epoch, name.to_owned());
        Ok(Arc::new(SimulatedFile { disk: Arc::clone(&self.disk), name, number, epoch }))
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        let disk = self.disk.lock();
        disk.check_epoch(disk.epoch)?;
        Ok(name.is_empty() || disk.names.files.contains_key(name) || disk.names.dirs.contains_key(name))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.enter(Operation::Name, name, 0)?;
        disk.remove(name)
    }

    fn remove_dir(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.enter(Operation::Name, name, 0)?;
        disk.remove_dir(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.enter(Operation::Name, from, 0)?;
        disk.rename(from, to)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        let disk = self.disk.lock();
        disk.check_epoch(disk.epoch)?;
        if !dir.is_empty() && !disk.names.dirs.contains_key(dir) {
            return Err(ErrorKind::NotFound.into());
        }
        let inside = disk.names.files.keys().filter(|name| parent(name) == dir);
        Ok(inside.map(|name| name.rsplit('/').next().unwrap_or(name).to_owned()).collect())
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.enter(Operation::SyncDir, dir, 0)?;
        disk.sync_dir(dir);
        Ok(())
    }

    fn create_dir(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.enter(Operation::Name, name, 0)?;
        disk.create_dir(name);
        Ok(())
    }

    fn lock(&self) -> io::Result<LockGuard> {
        let mut disk = self.disk.lock();
        disk.check_epoch(disk.epoch)?;
        if disk.lock.is_some() {
            return Err(ErrorKind::WouldBlock.into());
        }
        disk.last_lock += 1;
        let number = disk.last_lock;
        disk.lock = Some(number);
        Ok(LockGuard::new(SimulatedLock { disk: Arc::clone(&self.disk), number }))
    }

    fn direct_io(&self) -> bool {
        true
    }

    fn times_reads(&self) -> bool {
        false
    }
}

struct SimulatedLock {
    disk: Arc<Mutex<Disk>>,
    number: u64,
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        let mut disk = self.disk.lock();
        if disk.lock == Some(self.number) {
            disk.lock = None;
        }
    }
}

/// An open simulated file. It dies with the next power cut.
struct SimulatedFile {
    disk: Arc<Mutex<Disk>>,
    name: String,
    number: u64,
    epoch: u64,
}

impl SimulatedFile {
    fn write(&self, mut data: Vec<u8>, offset: u64) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.check_epoch(self.epoch)?;
        let entered = disk.enter(Operation::Write, &self.name, offset);
        if entered.is_err() && !disk.off {
            data.truncate(data.len() / BLOCK / 2 * BLOCK);
        }
        let lacking = disk.inode(self.number)?.volatile.lacking(offset, offset + data.len() as u64);
        disk.check_space(lacking)?;
        disk.inode(self.number)?.write(data, offset);
        entered
    }

    /// Locks the file system for an operation on the aligned bytes from `offset` to `end`, if the operation takes
    /// place.
    fn enter(&self, operation: Operation, offset: u64, end: u64) -> io::Result<MutexGuard<'_, Disk>> {
        check_aligned(&[], offset)?;
        check_aligned(&[], end)?;
        let mut disk = self.disk.lock();
        disk.check_epoch(self.epoch)?;
        disk.enter(operation, &self.name, offset)?;
        Ok(disk)
    }
}

impl File for SimulatedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_vectored_at(&mut [IoSliceMut::new(buf)], offset)
    }

    fn read_vectored_at(&self, bufs: &mut [IoSliceMut<'_>], offset: u64) -> io::Result<()> {
        bufs.iter().try_for_each(|buf| check_aligned(buf, offset))?;
        let mut disk = self.disk.lock();
        disk.check_epoch(self.epoch)?;
        disk.enter(Operation::Read, &self.name, offset)?;
        let image = &disk.inode(self.number)?.volatile;
        check_range(offset, bufs.iter().map(|buf| buf.len()).sum(), image.size())?;
        let mut at = offset;
        for buf in bufs {
            image.read(buf, at);
            at += buf.len() as u64;
        }
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        check_aligned(buf, offset)?;
        self.write(buf.to_vec(), offset)
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], offset: u64) -> io::Result<()> {
        bufs.iter().try_for_each(|buf| check_aligned(buf, offset))?;
        self.write(bufs.iter().flat_map(|buf| buf.iter().copied()).collect(), offset)
    }

    fn sync(&self) -> io::Result<()> {
        let mut disk = self.disk.lock();
        disk.check_epoch(self.epoch)?;
        let entered = disk.enter(Operation::Sync, &self.name, 0);
        let off = disk.off;
        let inode = disk.inode(self.number)?;
        match entered {
            Ok(()) => inode.sync(),
            Err(_) if !off => inode.sync_failed(),
            Err(_) => {}
        }
        entered
    }

    fn size(&self) -> io::Result<u64> {
        let mut disk = self.disk.lock();
        disk.check_epoch(self.epoch)?;
        Ok(disk.inode(self.number)?.volatile.size())
    }

    fn allocate_range(&self, from: u64, to: u64) -> io::Result<()> {
        let mut disk = self.enter(Operation::Allocate, from, to)?;
        let lacking = disk.inode(self.number)?.volatile.lacking(from, to);
        disk.check_space(lacking)?;
        disk.inode(self.number)?.allocate(from, to);
        Ok(())
    }

    fn punch(&self, from: u64, to: u64) -> io::Result<()> {
        let mut disk = self.enter(Operation::Punch, from, to)?;
        let size = disk.inode(self.number)?.volatile.size();
        check_range(from, (to - from) as usize, size)?;
        disk.inode(self.number)?.punch(from, to);
        Ok(())
    }

    fn allocated(&self) -> io::Result<u64> {
        let mut disk = self.disk.lock();
        disk.check_epoch(self.epoch)?;
        Ok(disk.inode(self.number)?.volatile.allocated())
    }

    fn truncate(&self, to: u64) -> io::Result<()> {
        self.enter(Operation::Truncate, to, to)?.inode(self.number)?.resize(to);
        Ok(())
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        self.disk.lock().inodes.close(self.number);
    }
}

/// Refuses misaligned transfers as direct I/O does. Otherwise tests would pass that a device fails.
fn check_aligned(buf: &[u8], offset: u64) -> io::Result<()> {
    let aligned_buf =
        buf.len().is_multiple_of(BLOCK) && (buf.is_empty() || buf.as_ptr().addr().is_multiple_of(BLOCK));
    if aligned_buf && offset.is_multiple_of(BLOCK as u64) {
        Ok(())
    } else {
        Err(ErrorKind::InvalidInput.into())
    }
}

fn check_range(offset: u64, len: usize, size: u64) -> io::Result<()> {
    match offset.checked_add(len as u64) {
        Some(end) if end <= size => Ok(()),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}
