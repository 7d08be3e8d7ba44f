//! The access times of a disk we do not have, over another environment.
use super::env::{Env, File, LockGuard, OpenMode};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// A disk with one head.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DiskModel {
    /// Cost of a seek.
    pub seek: Duration,
    /// Bytes transferred in a second.
    pub bytes_per_second: u64,
    /// A read that starts at most this many bytes from the end of the one before pays the gap, not a seek.
    pub near_bytes: u64,
}

impl DiskModel {
    /// A spinning disk: 5 ms, 100 MiB/s.
    pub const HDD: DiskModel =
        DiskModel { seek: Duration::from_millis(5), bytes_per_second: 100 << 20, near_bytes: 1 << 20 };
    /// A slow solid-state disk at queue depth 1: 0.2 ms, 250 MiB/s.
    pub const SSD: DiskModel =
        DiskModel { seek: Duration::from_micros(200), bytes_per_second: 250 << 20, near_bytes: 1 << 20 };
}

/// What the model was charged for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ModelCounts {
    /// Reads that paid a seek.
    pub seeks: u64,
    /// Reads near the one before.
    pub near: u64,
    /// Bytes read.
    pub bytes: u64,
}

/// Another environment whose reads take as long as the model says.
pub struct ModelledEnv {
    inner: Arc<dyn Env>,
}

#[expect(clippy::todo, reason = "skeleton")]
#[expect(unused_variables, reason = "skeleton")]
impl ModelledEnv {
    /// Wraps `inner`.
    pub fn new(inner: Arc<dyn Env>, model: DiskModel) -> ModelledEnv {
        ModelledEnv { inner }
    }
    /// Counts since the start.
    pub fn counts(&self) -> ModelCounts {
        todo!()
    }
}
#[expect(clippy::todo, reason = "skeleton")]
#[expect(unused_variables, reason = "skeleton")]
impl Env for ModelledEnv {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        todo!()
    }
    fn exists(&self, name: &str) -> io::Result<bool> {
        self.inner.exists(name)
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
