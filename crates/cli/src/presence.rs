//! Whether the directory of a database that is served is still there.
//!
//! A server whose directory was removed or replaced goes on with the files that it has open, and what it commits is lost with them. So
//! it looks once a second whether the directory and its data file are the ones that it opened, and ends when they are not.

use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often is looked.
const PAUSE: Duration = Duration::from_secs(1);

/// The file of the directory whose identity is looked at besides its own.
const DATA: &str = "data";

/// A directory with a database, by device and inode of it and of its data file.
pub struct Presence {
    paths: [PathBuf; 2],
    identities: [Option<(u64, u64)>; 2],
}

impl Presence {
    /// Notes what is there now.
    pub fn of(directory: &Path) -> Presence {
        let paths = [directory.to_owned(), directory.join(DATA)];
        Presence { identities: paths.each_ref().map(|path| identity(path)), paths }
    }

    /// Whether the same is there.
    pub fn is_there(&self) -> bool {
        self.paths.each_ref().map(|path| identity(path)) == self.identities
    }

    /// Waits until `stopped` has received something. False if what was there has gone before.
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
        let presence = Presence::of(&directory);
        assert!(presence.is_there());
        fs::rename(&directory, parent.path().join("elsewhere")).expect("a new name");
        assert!(!presence.is_there());
        make();
        assert!(!presence.is_there(), "another one is in its place");
    }
}
