//! A file system in memory that loses what was not synced.
use super::env::{Env, File, LockGuard, OpenMode};
use std::io;
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
    /// `allocate`.
    Allocate,
    /// `truncate`.
    Truncate,
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
    /// [`Operation::Name`]
    pub names: u64,
    /// [`Operation::SyncDir`]
    pub dir_syncs: u64,
}

/// Decides from operation, file name and offset whether an operation fails.
pub type Fault = Arc<dyn Fn(Operation, &str, u64) -> bool + Send + Sync>;

/// A file system in memory. Clones share it, [`SimulatedEnv::snapshot`] copies it.
#[derive(Clone, Default)]
pub struct SimulatedEnv {}

#[expect(clippy::todo, reason = "skeleton")]
#[expect(unused_variables, reason = "skeleton")]
impl SimulatedEnv {
    /// An empty file system.
    #[must_use]
    pub fn new() -> SimulatedEnv {
        SimulatedEnv {}
    }
    /// An independent copy of the present state, unsynced writes included; faults and locks are not copied.
    #[must_use]
    pub fn snapshot(&self) -> SimulatedEnv {
        todo!()
    }
    /// Cuts the power now and starts again: every write since the last sync of its file is kept, dropped or torn.
    pub fn cut(&self, seed: u64) {
        todo!()
    }
    /// Lets the power go at the `n`-th (from 0, counted from now) write, sync, allocation, truncation or name
    /// operation: it fails (a write may still have reached the disk in part), and so does everything until
    /// [`SimulatedEnv::reboot`].
    pub fn power_cut_after(&self, n: u64) {
        todo!()
    }
    /// Whether the power has gone.
    #[must_use]
    pub fn is_off(&self) -> bool {
        todo!()
    }
    /// Switches on again after a power cut, with what `seed` lets survive. Open files of before stay dead.
    pub fn reboot(&self, seed: u64) {
        todo!()
    }
    /// From now on the files together may take this many bytes.
    pub fn set_space_limit(&self, bytes: Option<u64>) {
        todo!()
    }
    /// Every operation for which `fails(operation, file name, offset)` says so fails with EIO.
    pub fn set_fault(&self, fails: Option<Fault>) {
        todo!()
    }
    /// Operations since the file system was made.
    #[must_use]
    pub fn counts(&self) -> OperationCounts {
        todo!()
    }
    /// Changes stored bytes, as rot on the medium would.
    pub fn damage(&self, name: &str, offset: u64, change: &mut dyn FnMut(&mut [u8])) {
        todo!()
    }
}
#[expect(clippy::todo, reason = "skeleton")]
#[expect(unused_variables, reason = "skeleton")]
impl Env for SimulatedEnv {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        todo!()
    }
    fn exists(&self, name: &str) -> io::Result<bool> {
        todo!()
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        todo!()
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        todo!()
    }
    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        todo!()
    }
    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        todo!()
    }
    fn create_dir(&self, name: &str) -> io::Result<()> {
        todo!()
    }
    fn lock(&self) -> io::Result<LockGuard> {
        todo!()
    }
    fn direct_io(&self) -> bool {
        todo!()
    }
}
