//! Opening, creating and closing a database.

use super::connection::Connection;
use super::error::{Error, Result};
use leafline_access::cost::{DeviceChoice, DeviceClass};
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::{DirectoryEnv, DiskModel, ModelledEnv};
use leafline_storage::{Env, FlushPolicy, RecoveryProgress, RecoveryStep};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file that every database has from the end of its creation on.
const CONTROL_FILE: &str = "control";
/// What may be in the directory of a database that is about to be made, or whose making was interrupted.
const OWN_FILES: &[&str] = &[
    "data",
    "wal",
    "doublewrite",
    CONTROL_FILE,
    "control.new",
    "hot-pages",
    "hot-pages.new",
    "lock",
    "temp",
    "leafline.sock",
    "lost+found",
];

/// An open database: a directory. Clones share it; the last one, and its last connection, close it.
///
/// Only one process has a database open at a time; others connect to it through `leafline serve`.
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
}

/// What a database and its connections hold.
pub(crate) struct Shared {
    instance: Arc<Instance>,
    path: PathBuf,
    direct_io: bool,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Nobody is left to be told of an error; the redo log has all that was committed.
        let _ = self.instance.close();
    }
}

impl Database {
    /// Opens the database in `path`, making one if the directory does not exist or is empty.
    ///
    /// # Errors
    /// [`Error::AlreadyOpen`] if it is open, in this process or another; [`Error::NotADatabase`]; what the system or the
    /// engine says.
    ///
    /// ```
    /// # fn main() -> leafline::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("db");
    /// let database = leafline::Database::open(&path)?;
    /// let second = leafline::Database::open(&path);
    /// assert!(matches!(second, Err(leafline::Error::AlreadyOpen { .. })));
    /// # Ok(())
    /// # }
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        OpenOptions::new().open(path)
    }

    /// Begins a connection.
    ///
    /// # Errors
    /// 1040 if there are too many.
    pub fn connect(&self) -> Result<Connection> {
        let session = self.shared.instance.connect()?;
        Ok(Connection::new(session, self.shared.clone()))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Whether files are read and written past the system's page cache. Without, what is not in the buffer pool may
    /// still come from memory.
    pub fn direct_io(&self) -> bool {
        self.shared.direct_io
    }

    /// What is underneath: for a server, a shell, or bulk loading.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.shared.instance
    }

    /// Closes the database and says if that failed. Dropping it, and its connections, closes it too. Connections that
    /// are still there get errors from now on.
    ///
    /// # Errors
    /// What the engine says: nothing that was committed is lost.
    pub fn close(self) -> Result<()> {
        Ok(self.shared.instance.close()?)
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

/// How a database is opened.
///
/// ```
/// # fn main() -> leafline::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("db");
/// let database = leafline::OpenOptions::new()
///     .buffer_pool_size(32 << 20)
///     .set("sql_mode", "ANSI_QUOTES")
///     .open(path)?;
/// let mut connection = database.connect()?;
/// let mut rows = connection.query("SELECT @@sql_mode", ())?;
/// assert_eq!(rows.next().unwrap()?.get::<String>(0)?, "ANSI_QUOTES");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OpenOptions {
    instance: InstanceOptions,
    create: bool,
    disk: Option<DiskModel>,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions { instance: InstanceOptions::default(), create: true, disk: None }
    }
}

impl OpenOptions {
    /// The defaults: a buffer pool of 128 MiB, every commit durable, the database made if there is none.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Memory for pages, in bytes: an exact limit.
    pub fn buffer_pool_size(mut self, bytes: u64) -> OpenOptions {
        self.instance.engine.store.buffer_pool_bytes = bytes;
        self
    }

    /// Bytes of a page, if the database is made now: 4096, 8192, 16384 (the default), 32768 or 65536.
    pub fn page_size(mut self, bytes: usize) -> OpenOptions {
        self.instance.engine.store.page_size = bytes;
        self
    }

    /// When commits reach the disk.
    pub fn flush_log_at_commit(mut self, policy: FlushPolicy) -> OpenOptions {
        self.instance.engine.store.flush_log_at_commit = policy;
        self
    }

    /// Whether reads in batches go through io_uring where it can be had (the default), or through threads.
    pub fn native_aio(mut self, native: bool) -> OpenOptions {
        self.instance.engine.store.native_aio = native;
        self
    }

    /// Whether the pages that are in memory when the database is closed (or some minutes before it ends otherwise) are read into
    /// the buffer pool in the background when it is opened next (the default).
    pub fn warm_up(mut self, warm_up: bool) -> OpenOptions {
        self.instance.engine.store.warm_up = warm_up;
        self
    }

    /// A function that is told how recovery gets on, should the database have to be recovered.
    pub fn recovery_progress(mut self, report: impl Fn(RecoveryStep) + Send + Sync + 'static) -> OpenOptions {
        self.instance.engine.store.recovery_progress = Some(RecoveryProgress::new(report));
        self
    }

    /// Whether a database is made if there is none (the default).
    pub fn create(mut self, create: bool) -> OpenOptions {
        self.create = create;
        self
    }

    /// A system variable and its global value, as `SET GLOBAL` sets it; or one that can be given at the start only, such as
    /// `innodb_redo_log_capacity` (bytes, or `1G`), which comes before the other options.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> OpenOptions {
        self.instance.variables.push((name.into(), value.into()));
        self
    }

    /// Times reads as a disk does that the machine does not have: for experiments. Writes cost what they cost. Plans are
    /// priced for a [device](Self::device) of that kind.
    pub fn emulated_disk(mut self, model: DiskModel) -> OpenOptions {
        self.disk = Some(model);
        self.device(DeviceClass::of_seek(model.seek))
    }

    /// The kind of device that holds the database: the value of `leafline_device`, for which plans are priced. Unless told, it is
    /// `auto`: what `leafline calibrate` measured, or an NVMe disk, and what reads show from there on.
    pub fn device(mut self, class: DeviceClass) -> OpenOptions {
        self.instance.device = DeviceChoice::Class(class);
        self
    }

    /// What the system variables `port` and `socket` say of a database that is served.
    pub fn served_at(mut self, port: u16, socket: impl Into<String>) -> OpenOptions {
        self.instance.port = port;
        self.instance.socket = socket.into();
        self
    }

    /// The value of the system variable `bind_address` while the database is served.
    pub fn listens_on(mut self, host: impl Into<String>) -> OpenOptions {
        self.instance.bind_address = host.into();
        self
    }

    /// What the system variables `ssl_cert` and `ssl_key` say of a database that is served over TLS.
    pub fn served_with_tls(mut self, certificate: &Path, key: &Path) -> OpenOptions {
        let text = |path: &Path| path.display().to_string();
        self.instance.tls_files = Some((text(certificate), text(key)));
        self
    }

    /// Opens the database in `path`.
    ///
    /// # Errors
    /// As [`Database::open`]; [`Error::NotFound`] if there is none and none is to be made; MySQL's 1193, 1231 or 1232
    /// for a variable that does not exist or cannot have its value.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref();
        let failed = |source| Error::Io { path: path.to_owned(), source };
        self.check_directory(path)?;
        let directory = DirectoryEnv::open(path).map_err(failed)?;
        let path = std::fs::canonicalize(path).map_err(failed)?;
        match directory.lock() {
            Ok(held) => drop(held),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(Error::AlreadyOpen { path }),
            Err(error) => return Err(failed(error)),
        }
        let direct_io = directory.direct_io();
        let env: Arc<dyn Env> = match self.disk {
            Some(model) => Arc::new(ModelledEnv::new(Arc::new(directory), model)),
            None => Arc::new(directory),
        };
        let mut options = self.instance.clone();
        options.data_directory = path.display().to_string();
        let instance = Instance::open(env, options)?;
        Ok(Database { shared: Arc::new(Shared { instance, path, direct_io }) })
    }

    /// Refuses to make a database among files of others.
    fn check_directory(&self, path: &Path) -> Result<()> {
        if path.join(CONTROL_FILE).exists() {
            return Ok(());
        }
        if !self.create {
            return Err(Error::NotFound { path: path.to_owned() });
        }
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(Error::Io { path: path.to_owned(), source }),
        };
        for entry in entries {
            let entry = entry.map_err(|source| Error::Io { path: path.to_owned(), source })?;
            let name = entry.file_name();
            if !OWN_FILES.iter().any(|own| name == *own) {
                return Err(Error::NotADatabase { path: path.to_owned() });
            }
        }
        Ok(())
    }
}
