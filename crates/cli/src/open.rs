//! Opens a database for a verb.

use super::args::{Disk, OpenArguments};
use super::failure::Failure;
use super::size::Size;
use super::socket;
use leafline::{Database, DiskModel, Error, OpenOptions, RecoveryStep};
use leafline_storage::RecoveryReport;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Recovery that takes less than this is not reported; reports are at least this far apart.
const NEWS: Duration = Duration::from_secs(1);

/// Returns the options that every verb shares.
pub fn options(open: &OpenArguments, pool: Size, disk: Disk) -> OpenOptions {
    let mut options = with_progress(OpenOptions::new()).buffer_pool_size(pool.0);
    for (name, value) in &open.set {
        options = options.set(name, value);
    }
    match disk {
        Disk::None => options,
        Disk::Hdd => options.emulated_disk(DiskModel::HDD),
        Disk::Ssd => options.emulated_disk(DiskModel::SSD),
    }
}

/// Adds progress reports of recovery to the options.
pub fn with_progress(options: OpenOptions) -> OpenOptions {
    let told = Mutex::new(None);
    options.recovery_progress(move |step| {
        let Ok(mut told) = told.lock() else { return };
        let since = told.get_or_insert_with(Instant::now);
        if since.elapsed() >= NEWS {
            *since = Instant::now();
            eprintln!("{}", progress_line(step));
        }
    })
}

/// Opens the database in `dir`; the error for one that is served says where to connect.
pub fn database(options: &OpenOptions, dir: &Path) -> Result<Database, Failure> {
    let database = options.open(dir).map_err(|error| match error {
        Error::AlreadyOpen { path } => Failure::Message(already_open(&path)),
        Error::NotADatabase { path } => Failure::Message(format!(
            "{} is not empty and holds no Leafline database; name an empty or a new directory",
            path.display()
        )),
        other => other.into(),
    })?;
    tell(database.instance().engine().store().recovery_report());
    if let Some(reason) = database.instance().digests_ignored() {
        eprintln!("statements are counted from zero: {reason}");
    }
    if let Some(reason) = database.instance().accounts().damage() {
        eprintln!("Warning: nobody can log in: {reason}");
    }
    Ok(database)
}

/// Prints the unexpected conditions that opening the database has met.
pub fn tell(report: &RecoveryReport) {
    recovery_messages(report).iter().for_each(|line| eprintln!("{line}"));
}

fn recovery_messages(report: &RecoveryReport) -> Vec<String> {
    let mut lines = Vec::new();
    if report.control_repaired {
        lines.push(
            "one of the two slots of the control file was damaged; it was made good from the other".into(),
        );
    }
    if let Some(reason) = &report.warm_up_ignored {
        lines.push(format!("the buffer pool is not warmed up: {reason}"));
    }
    lines
}

fn progress_line(step: RecoveryStep) -> String {
    const MIB: u64 = 1 << 20;
    match step {
        RecoveryStep::Read { done } => format!("recovery: {} MiB of the log read", done / MIB),
        RecoveryStep::Redo { done, total } => {
            let percent = done * 100 / total.max(1);
            format!("recovery: {} of {} MiB of the log replayed ({percent}%)", done / MIB, total / MIB)
        }
    }
}

/// Returns the message about a database that is open elsewhere.
pub fn already_open(path: &Path) -> String {
    let socket = socket::of_directory(path);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_said_in_mebibytes_and_percent() {
        assert_eq!(progress_line(RecoveryStep::Read { done: 3 << 20 }), "recovery: 3 MiB of the log read");
        let step = RecoveryStep::Redo { done: 30 << 20, total: 120 << 20 };
        assert_eq!(progress_line(step), "recovery: 30 of 120 MiB of the log replayed (25%)");
        assert!(progress_line(RecoveryStep::Redo { done: 0, total: 0 }).ends_with("(0%)"));
    }

    #[test]
    fn damage_that_opening_has_met_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let dir = directory.path().join("db");
        Database::open(&dir).unwrap().close().unwrap();
        let open = || {
            let database = Database::open(&dir).unwrap();
            let lines = recovery_messages(database.instance().engine().store().recovery_report());
            database.close().unwrap();
            lines
        };
        let damage = |name: &str, at: usize| {
            let mut bytes = std::fs::read(dir.join(name)).unwrap();
            bytes[at] ^= 1;
            std::fs::write(dir.join(name), bytes).unwrap();
        };
        assert_eq!(open(), Vec::<String>::new());
        damage("control", 30);
        damage("hot-pages", 20);
        let lines = open();
        assert!(
            matches!(&lines[..], [control, warm] if control.contains("control") && warm.contains("warm")),
            "{lines:?}"
        );
        assert_eq!(open(), Vec::<String>::new());
    }
}
