//! Opening a database for a verb.

use super::args::{Disk, OpenArguments};
use super::failure::Failure;
use super::size::Size;
use leafline::{Database, DiskModel, Error, OpenOptions};
use std::path::Path;

/// The socket of a server, in the database's directory.
pub const SOCKET_NAME: &str = "leafline.sock";

/// The options that every verb shares.
pub fn options(open: &OpenArguments, pool: Size, disk: Disk) -> OpenOptions {
    let mut options = OpenOptions::new().buffer_pool_size(pool.0);
    for (name, value) in &open.set {
        options = options.set(name, value);
    }
    match disk {
        Disk::None => options,
        Disk::Hdd => options.emulated_disk(DiskModel::HDD),
        Disk::Ssd => options.emulated_disk(DiskModel::SSD),
    }
}

/// Opens the database in `dir`; one that is served says where to connect to.
pub fn database(options: &OpenOptions, dir: &Path) -> Result<Database, Failure> {
    options.open(dir).map_err(|error| match error {
        Error::AlreadyOpen { path } => Failure::Message(already_open(&path)),
        Error::NotADatabase { path } => Failure::Message(format!(
            "{} is not empty and holds no Leafline database; name an empty or a new directory",
            path.display()
        )),
        other => other.into(),
    })
}

fn already_open(path: &Path) -> String {
    let socket = path.join(SOCKET_NAME);
    let path = path.display();
    if socket.exists() {
        format!(
            "the database in {path} is being served; connect to it with\n    mariadb --socket={} --user=root",
            socket.display()
        )
    } else {
        format!(
            "the database in {path} is open in another process; if that is `leafline serve`, connect with the mariadb \
             client to the socket or port it listens on"
        )
    }
}
