//! Finds the server of a database by its directory: its socket is in the directory, or a symbolic link there leads to
//! it.
//!
//! Only the process that has the database open creates and removes the link, so whatever it finds there is left from
//! a server that was killed.

use super::failure::Failure;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::{Path, PathBuf};

/// The socket of a server, or the link to it, in the database's directory.
pub const SOCKET_NAME: &str = "leafline.sock";

/// Returns the socket of the server that serves the database in `dir`; it does not exist if there is none.
pub fn of_directory(dir: &Path) -> PathBuf {
    let own = dir.join(SOCKET_NAME);
    // Not through the link: the path of a socket must be short, and that of the directory may not be.
    fs::read_link(&own).unwrap_or(own)
}

/// A link to a socket that is elsewhere; removed on drop.
#[derive(Debug)]
pub struct SocketLink(PathBuf);

impl SocketLink {
    /// Creates a link in the directory of an open database to the socket that its server listens on; `None` if the
    /// socket is in the directory.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn new(dir: &Path, socket: &Path) -> Result<Option<SocketLink>, Failure> {
        if is_in(dir, socket) {
            return Ok(None);
        }
        remove_stale(dir)?;
        let own = dir.join(SOCKET_NAME);
        let failed = |error| Failure::io(format!("cannot note the socket in {}", own.display()), error);
        symlink(socket, &own).map_err(failed)?;
        Ok(Some(SocketLink(own)))
    }
}

impl Drop for SocketLink {
    fn drop(&mut self) {
        // A link that stays leads nowhere.
        let _ = fs::remove_file(&self.0);
    }
}

/// Removes the socket or link that a killed server has left in the directory.
///
/// # Errors
/// Errors of the operating system.
pub fn remove_stale(dir: &Path) -> Result<(), Failure> {
    let own = dir.join(SOCKET_NAME);
    let failed = |error| Failure::io(format!("cannot remove {}", own.display()), error);
    match fs::symlink_metadata(&own) {
        Ok(found) if found.file_type().is_symlink() || found.file_type().is_socket() => {
            fs::remove_file(&own).map_err(failed)
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(()),
    }
}

/// Whether the path, however it is written, is that of the socket in the directory.
fn is_in(dir: &Path, socket: &Path) -> bool {
    let parent = socket.parent().map(fs::canonicalize);
    let is_here = matches!((parent, fs::canonicalize(dir)), (Some(Ok(parent)), Ok(dir)) if parent == dir);
    is_here && socket.file_name().is_some_and(|name| name == SOCKET_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn the_link_is_there_while_the_socket_is_elsewhere() {
        let place = tempfile::tempdir().unwrap();
        let (dir, socket) = (place.path().join("db"), place.path().join("other.sock"));
        let own = dir.join(SOCKET_NAME);
        fs::create_dir(&dir).unwrap();
        assert_eq!(of_directory(&dir), own);
        assert!(SocketLink::new(&dir, &dir.join("../db").join(SOCKET_NAME)).unwrap().is_none());
        // Killed servers leave a socket, or a link.
        drop(UnixListener::bind(&own).unwrap());
        let killed = SocketLink::new(&dir, Path::new("/nowhere")).unwrap();
        std::mem::forget(killed);
        assert_eq!(of_directory(&dir), Path::new("/nowhere"));
        let link = SocketLink::new(&dir, &socket).unwrap();
        assert_eq!(of_directory(&dir), socket);
        drop(link);
        assert!(fs::symlink_metadata(&own).is_err());
        // A file that is not a socket is left alone.
        fs::write(&own, "x").unwrap();
        remove_stale(&dir).unwrap();
        assert!(SocketLink::new(&dir, &socket).is_err());
        assert_eq!(fs::read(&own).unwrap(), b"x");
    }
}
