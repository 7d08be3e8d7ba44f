//! Checks whether the directory of a database that is served still exists.
//!
//! A server whose directory was removed or replaced would continue with its open files, and lose what it commits with
//! them. So it checks once a second whether the directory and its data file are those that it opened, and ends if
//! they are not.

use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The time between two checks.
const PAUSE: Duration = Duration::from_secs(1);

/// The file whose identity is checked besides the directory's.
const DATA: &str = "data";

/// A directory with a database, identified by device and inode of it and of its data file.
pub struct DirectoryIdentity {
    paths: [PathBuf; 2],
    identities: [Option<(u64, u64)>; 2],
}

impl DirectoryIdentity {
    /// Records the current identities.
    pub fn of(directory: &Path) -> DirectoryIdentity {
        let paths = [directory.to_owned(), directory.join(DATA)];
        DirectoryIdentity { identities: paths.each_ref().map(|path| identity(path)), paths }
    }

    /// Whether the identities are still the same.
    pub fn is_there(&self) -> bool {
        self.paths.each_ref().map(|path| identity(path)) == self.identities
    }

    /// Waits until `stopped` receives something; returns false if the directory went away before.
    pub fn wait(&self, stopped: &Receiver<()>) -> bool {
        loop {
            match stopped.recv_timeout(PAUSE) {
                Ok(()) => return true,
                Err(RecvTimeoutError::Timeout) if !self.is_there() => return false,
                Err(RecvTimeoutError::Timeout) => {}
                // Nobody handles signals.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(PAUSE),
            }
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_directory_that_is_removed_or_replaced_is_missed() {
        let parent = tempfile::tempdir().expect("a directory");
        let directory = parent.path().join("db");
        let make = || {
            fs::create_dir(&directory).expect("a directory");
            fs::write(directory.join(DATA), "x").expect("a file");
        };
        make();
        let presence = DirectoryIdentity::of(&directory);
        assert!(presence.is_there());
        fs::rename(&directory, parent.path().join("elsewhere")).expect("a new name");
        assert!(!presence.is_there());
        make();
        assert!(!presence.is_there(), "another one is in its place");
    }
}
