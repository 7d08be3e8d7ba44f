//! The real thing: a directory of the file system.
use super::env::{Env, File, LockGuard, OpenMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory of the file system, with direct I/O where the file system takes it.
pub struct DirectoryEnv {
    root: PathBuf,
}

impl DirectoryEnv {
    /// Opens a directory, making it (not its parents) if it is not there.
    pub fn open(root: impl AsRef<Path>) -> io::Result<DirectoryEnv> {
        Ok(DirectoryEnv { root: root.as_ref().to_path_buf() })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.root
    }
}
#[expect(clippy::todo, reason = "skeleton")]
#[expect(unused_variables, reason = "skeleton")]
impl Env for DirectoryEnv {
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
