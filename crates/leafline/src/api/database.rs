//! Opening, creating and closing a database.

use super::connection::Connection;
use super::error::{Error, Result};
use super::shared::Shared;
use leafline_access::cost::{DeviceChoice, DeviceClass};
use leafline_sql::settings::EventSchedulerState;
use leafline_sql::{ErrorLog, Instance, InstanceOptions};
use leafline_storage::device::{DirectoryEnv, DiskModel, ModelledEnv};
use leafline_storage::{Env, FlushPolicy, RecoveryProgress, RecoveryStep};
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// The file that every database has once it is created.
const CONTROL_FILE: &str = "control";
/// Files that may be in a directory in which the creation of a database was interrupted.
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

/// An open database, which is a directory. Clones share it; it closes with the last clone and the last connection.
///
/// Only one process can have a database open; other programs connect to that process by `leafline serve`.
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
}

impl Database {
    /// Opens the database in `path`, and creates it if the directory does not exist or is empty.
    ///
    /// # Errors
    /// [`Error::AlreadyOpen`] if it is open, in this process or another; [`Error::NotADatabase`]; errors of the
    /// system or the engine.
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

    /// Opens a connection.
    ///
    /// # Errors
    /// 1040 if there are too many.
    pub fn connect(&self) -> Result<Connection> {
        let session = self.shared.instance.connect()?;
        Ok(Connection::new(session, self.shared.clone()))
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Whether files are read and written with direct I/O, past the system's page cache. Otherwise a page that is not
    /// in the buffer pool may still come from memory.
    pub fn direct_io(&self) -> bool {
        self.shared.direct_io
    }

    /// Returns the instance underneath, for a server, a shell, or bulk loading.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.shared.instance
    }

    /// Closes the database and returns whether that failed. Dropping it and its connections closes it too.
    /// Connections that still exist get errors from now on.
    ///
    /// # Errors
    /// Errors of the engine; no committed transaction is lost.
    pub fn close(self) -> Result<()> {
        Ok(self.shared.instance.close()?)
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

/// Options for opening a database.
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
    /// Makes the default options: a buffer pool of 128 MiB, every commit durable, the database created if it does not
    /// exist.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Sets the memory for pages in bytes, an exact limit.
    pub fn buffer_pool_size(mut self, bytes: u64) -> OpenOptions {
        self.instance.engine.store.buffer_pool_bytes = bytes;
        self
    }

    /// Sets the size of a page in bytes, if the database is created now: 4096, 8192, 16384 (the default), 32768 or
    /// 65536.
    pub fn page_size(mut self, bytes: usize) -> OpenOptions {
        self.instance.engine.store.page_size = bytes;
        self
    }

    /// Sets when commits reach the disk.
    pub fn flush_log_at_commit(mut self, policy: FlushPolicy) -> OpenOptions {
        self.instance.engine.store.flush_log_at_commit = policy;
        self
    }

    /// Sets whether batches of reads use io_uring where it is available (the default), or threads.
    pub fn native_aio(mut self, native: bool) -> OpenOptions {
        self.instance.engine.store.native_aio = native;
        self
    }

    /// Sets whether opening reads the pages that were in memory when the database was closed (or some minutes before
    /// it ended otherwise) into the buffer pool again, in the background (the default).
    pub fn warm_up(mut self, warm_up: bool) -> OpenOptions {
        self.instance.engine.store.warm_up = warm_up;
        self
    }

    /// Sets a function that receives the progress of recovery, if the database has to be recovered.
    pub fn recovery_progress(mut self, report: impl Fn(RecoveryStep) + Send + Sync + 'static) -> OpenOptions {
        self.instance.engine.store.recovery_progress = Some(RecoveryProgress::new(report));
        self
    }

    /// Sets whether a database is created if it does not exist (the default).
    pub fn create(mut self, create: bool) -> OpenOptions {
        self.create = create;
        self
    }

    /// Sets the global value of a system variable, as `SET GLOBAL` does, or a variable that can only be set at the
    /// start, such as `innodb_redo_log_capacity` (bytes, or `1G`). The latter overrides other options.
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> OpenOptions {
        self.instance.variables.push((name.into(), value.into()));
        self
    }

    /// Delays reads as a disk would that the machine does not have, for experiments. Writes are not delayed. Plans
    /// are priced for a [device](Self::device) of that kind.
    pub fn emulated_disk(mut self, model: DiskModel) -> OpenOptions {
        self.disk = Some(model);
        self.device(DeviceClass::of_seek(model.seek))
    }

    /// Sets the kind of device that holds the database: the value of `leafline_device`, for which plans are priced.
    /// The default is `auto`: the device that `leafline calibrate` measured, or an NVMe disk, corrected by the times
    /// of reads.
    pub fn device(mut self, class: DeviceClass) -> OpenOptions {
        self.instance.device = DeviceChoice::Class(class);
        self
    }

    /// Sets whether events run when they are due: the first value of `event_scheduler`. The default is that they do not.
    pub fn event_scheduler(mut self, on: bool) -> OpenOptions {
        self.instance.event_scheduler = if on { EventSchedulerState::On } else { EventSchedulerState::Off };
        self
    }

    /// Sets a function that receives the lines of the error log: messages about work that no connection waits for, such as
    /// events.
    pub fn error_log(mut self, log: impl Fn(&str) + Send + Sync + 'static) -> OpenOptions {
        self.instance.error_log = ErrorLog::new(log);
        self
    }

    /// Sets the values of the system variables `port` and `socket` of a database that is served.
    pub fn served_at(mut self, port: u16, socket: impl Into<String>) -> OpenOptions {
        self.instance.port = port;
        self.instance.socket = socket.into();
        self
    }

    /// Sets the value of the system variable `bind_address` of a database that is served.
    pub fn listens_on(mut self, host: impl Into<String>) -> OpenOptions {
        self.instance.bind_address = host.into();
        self
    }

    /// Sets the values of the system variables `ssl_cert`, `ssl_key` and `ssl_ca` of a database that is served over TLS.
    pub fn served_with_tls(
        mut self,
        certificate: &Path,
        key: &Path,
        authority: Option<&Path>,
    ) -> OpenOptions {
        let text = |path: &Path| path.display().to_string();
        self.instance.tls_files = Some((text(certificate), text(key)));
        self.instance.tls_client_authority = authority.map_or_else(String::new, text);
        self
    }

    /// Opens the database in `path`.
    ///
    /// # Errors
    /// The errors of [`Database::open`]; [`Error::NotFound`] if it does not exist and is not to be created; MySQL's 1193, 1231
    /// or 1232 for a variable that does not exist or cannot have its value.
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
        instance.follow_event_scheduler()?;
        Ok(Database { shared: Arc::new(Shared { instance, path, direct_io }) })
    }

    /// Refuses to create a database among files of others.
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
