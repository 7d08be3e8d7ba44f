//! The directory of the demo's database, and its removal.

use super::super::failure::Failure;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const NAME: &str = "leafline-demo";
/// Attempts to remove a directory that another thread still writes to.
const ATTEMPTS: u32 = 10;

/// A directory of the demo. Unless it is kept, it is removed on drop and on a signal that ends the process.
pub struct Place {
    path: PathBuf,
    keep: Arc<AtomicBool>,
}

impl Place {
    /// Makes the directory: `wanted`; otherwise `leafline-demo`, with a unique suffix if it is not kept, in `target`
    /// if that exists, or in the current directory.
    pub fn new(wanted: Option<&Path>, keep: bool) -> Result<Place, Failure> {
        let parent = Path::new(if Path::new("target").is_dir() { "target" } else { "." });
        let path = match wanted {
            Some(path) => create_directory(path)?,
            None if keep => create_directory(&parent.join(NAME))?,
            None => tempfile::Builder::new()
                .prefix(&format!("{NAME}-"))
                .tempdir_in(parent)
                .map_err(|error| {
                    Failure::io(format!("cannot make a directory in {}", parent.display()), error)
                })?
                .keep(),
        };
        let place = Place { path, keep: Arc::new(AtomicBool::new(keep)) };
        let (path, keep) = (place.path.clone(), place.keep.clone());
        ctrlc::set_handler(move || {
            if !keep.load(Ordering::Relaxed) {
                remove(&path);
            }
            std::process::exit(130);
        })
        .map_err(|error| Failure::Message(format!("cannot handle signals: {error}")))?;
        Ok(place)
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn create_directory(path: &Path) -> Result<PathBuf, Failure> {
    fs::create_dir(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::Message(format!(
            "{0} is there already, perhaps from an earlier run with --keep; remove it (rm -r {0}) or name another \
             directory with --dir",
            path.display()
        )),
        _ => Failure::io(format!("cannot make the directory {}", path.display()), error),
    })?;
    Ok(path.to_owned())
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.keep.load(Ordering::Relaxed) {
            remove(&self.path);
        }
    }
}

fn remove(path: &Path) {
    for _ in 0..ATTEMPTS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                std::thread::sleep(Duration::from_millis(50));
            }
            _ => return,
        }
    }
    eprintln!("leafline: {} could not be removed", path.display());
}
