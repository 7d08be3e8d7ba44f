//! The slow query log: slow statements in MySQL's format, which `mysqldumpslow` and `pt-query-digest` read.
//!
//! A session never waits for the file: it queues its entry, and a thread writes it ([`writer`]). Entries that
//! do not fit the queue or cannot be written are dropped and counted (`Leafline_slow_log_dropped`). As in
//! MySQL the log is not rotated: the file grows until somebody moves it away and runs FLUSH SLOW LOGS.
//!
//! An entry; the second line ends with fields that MySQL does not have:
//!
//! ```text
//! # Time: 2026-01-31T12:00:00.000000Z
//! # User@Host: root[root] @ localhost []  Id:     8
//! # Query_time: 2.000285  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1 Rows_affected: 0 Pages_read: 3 No_index_used: No Errno: 0 Plan_digest: 0123456789abcdef
//! use d;
//! SET timestamp=1769860800;
//! SELECT ...;
//! ```

mod writer;

use crate::digest::Used;
use crate::settings::SlowLogSettings;
use crate::settings::variables::Facts;
use crate::text_file::not_found;
use leafline_syntax::{LexMode, normalized};
use leafline_types::MysqlError;
use parking_lot::{Mutex, RwLock};
use rustix::fs::{Access, access};
use std::borrow::Cow;
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use writer::Writer;

/// Limit of a logged statement in bytes; the rest is cut off.
const MOST_TEXT: usize = 1 << 20;

/// A statement to log.
pub(crate) struct SlowStatement<'s> {
    /// End, microseconds since 1970, and the same in the session's format.
    pub ended: i64,
    pub ended_text: String,
    pub user: &'s str,
    pub host: &'s str,
    pub connection: u64,
    pub time: Duration,
    pub used: Used,
    pub rows_affected: u64,
    pub no_index_used: bool,
    /// Number of the error that ended it; 0 for none.
    pub error: u16,
    pub plan: Option<u64>,
    pub database: Option<&'s str>,
    pub text: &'s str,
}

/// The log of an instance.
#[derive(Debug, Default)]
pub(crate) struct SlowLog {
    is_on: AtomicBool,
    not_using_indexes: AtomicBool,
    admin_statements: AtomicBool,
    dropped: AtomicU64,
    /// Locked no longer than it takes to queue an entry.
    writer: RwLock<Option<Arc<Writer>>>,
    /// The file. A change of it holds the lock while files are opened.
    path: Mutex<LogPath>,
}

#[derive(Debug, Default)]
struct LogPath {
    /// The current or last file.
    path: PathBuf,
    /// Value of the setting when it was last applied; `None` before the first time.
    named: Option<Box<str>>,
}

impl SlowLog {
    /// True if slow statements are logged.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// True if statements without an index are logged, however quick they are.
    pub fn takes_those_without_index(&self) -> bool {
        self.not_using_indexes.load(Ordering::Relaxed)
    }

    /// True if ALTER TABLE and other administrative statements are logged.
    pub fn takes_admin_statements(&self) -> bool {
        self.admin_statements.load(Ordering::Relaxed)
    }

    /// Number of dropped entries.
    pub fn dropped(&self) -> u64 {
        let of_writer = self.writer.read().as_ref().map_or(0, |writer| writer.dropped());
        self.dropped.load(Ordering::Relaxed) + of_writer
    }

    /// Applies the settings: starts, ends, or changes the file.
    ///
    /// # Errors
    /// 1231 if the file cannot be a log, even while the log is off; 29 if it cannot be opened. Nothing is
    /// changed then.
    pub fn apply(&self, settings: &SlowLogSettings, facts: &Facts) -> Result<(), MysqlError> {
        let mut known = self.path.lock();
        let path = Path::new(&facts.data_directory).join(&*settings.file);
        let is_known = match &known.named {
            Some(named) => *named == settings.file,
            None => SlowLogSettings::default().file == settings.file,
        };
        if !is_known && !can_be_written(&path) {
            return Err(MysqlError::wrong_value_for_variable("slow_query_log_file", &*settings.file));
        }
        if settings.is_on {
            if self.writer.read().is_none() || known.path != path {
                self.write_to(open(&path, facts)?)?;
                known.path = path;
            }
        } else {
            self.end();
        }
        self.not_using_indexes.store(settings.not_using_indexes, Ordering::Relaxed);
        self.admin_statements.store(settings.admin_statements, Ordering::Relaxed);
        self.is_on.store(settings.is_on, Ordering::Relaxed);
        known.named = Some(settings.file.clone());
        Ok(())
    }

    /// FLUSH SLOW LOGS: opens the file of the current name again.
    ///
    /// # Errors
    /// 29 if it cannot be opened: the log then keeps the old file.
    pub fn reopen(&self, facts: &Facts) -> Result<(), MysqlError> {
        let path = self.path.lock();
        if self.writer.read().is_some() {
            self.write_to(open(&path.path, facts)?)?;
        }
        Ok(())
    }

    fn write_to(&self, file: File) -> Result<(), MysqlError> {
        if let Some(writer) = &*self.writer.read() {
            writer.go_on_in(file);
            return Ok(());
        }
        let no_thread =
            |error| MysqlError::internal(format_args!("no thread for the slow query log: {error}"));
        let writer = Writer::start(file).map_err(no_thread)?;
        *self.writer.write() = Some(Arc::new(writer));
        Ok(())
    }

    /// Writes the queued entries and closes the file.
    fn end(&self) {
        self.is_on.store(false, Ordering::Relaxed);
        let writer = self.writer.write().take();
        if let Some(writer) = writer {
            self.dropped.fetch_add(writer.stop(), Ordering::Relaxed);
        }
    }

    /// Queues an entry for a statement.
    pub fn log(&self, statement: &SlowStatement<'_>) {
        let entry = entry(statement);
        // The log may have been switched off meanwhile.
        if let Some(writer) = &*self.writer.read() {
            writer.take(entry);
        }
    }

    /// Ends the log when the instance is closed.
    pub fn close(&self) {
        let _path = self.path.lock();
        self.end();
    }
}

/// True if the file can be written or created. Creates nothing.
fn can_be_written(path: &Path) -> bool {
    let may = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    match path.metadata() {
        Ok(known) => known.is_file() && may(path),
        Err(_) => path.parent().is_some_and(|parent| parent.is_dir() && may(parent)),
    }
}

/// Opens the file and writes the header that tools look for.
fn open(path: &Path, facts: &Facts) -> Result<File, MysqlError> {
    let refused = |error: io::Error| not_found(&path.display().to_string(), &error);
    // Opening a pipe or device could block.
    let is_other = path.metadata().is_ok_and(|known| !known.is_file());
    if is_other || path.is_relative() {
        return Err(refused(io::Error::from(io::ErrorKind::InvalidInput)));
    }
    let mut file = File::options().append(true).create(true).mode(0o640).open(path).map_err(refused)?;
    let head = format!(
        "leafline, Version: {} (Leafline). started with:\nTcp port: {}  Unix socket: {}\n\
         Time                 Id Command    Argument\n",
        facts.version, facts.port, facts.socket
    );
    // A full disk shows itself by dropped entries.
    let _ = io::Write::write_all(&mut file, head.as_bytes());
    Ok(file)
}

/// The lines of an entry.
fn entry(statement: &SlowStatement<'_>) -> String {
    let SlowStatement { user, host, connection, used, rows_affected, error, .. } = statement;
    let mut text = String::with_capacity(statement.text.len().min(MOST_TEXT) + 512);
    let address = if *host == "localhost" { "" } else { host };
    let no_index = if statement.no_index_used { "Yes" } else { "No" };
    let _ = write!(
        text,
        "# Time: {}\n# User@Host: {user}[{user}] @ {host} [{address}]  Id: {connection:5}\n\
         # Query_time: {:.6}  Lock_time: {:.6} Rows_sent: {}  Rows_examined: {} Rows_affected: {rows_affected} \
         Pages_read: {} No_index_used: {no_index} Errno: {error}",
        statement.ended_text,
        statement.time.as_secs_f64(),
        used.lock_time.as_secs_f64(),
        used.rows_sent,
        used.rows_examined,
        used.pages_read,
    );
    if let Some(plan) = statement.plan {
        let _ = write!(text, " Plan_digest: {plan:016x}");
    }
    text.push('\n');
    if let Some(database) = statement.database.filter(|name| !name.contains(['\n', ';'])) {
        let _ = writeln!(text, "use {database};");
    }
    let _ = writeln!(text, "SET timestamp={};", statement.ended.div_euclid(1_000_000));
    let sql = statement.text.trim_end().trim_end_matches(';');
    let end = (0..=MOST_TEXT.min(sql.len())).rev().find(|end| sql.is_char_boundary(*end)).unwrap_or(0);
    text.push_str(&sql[..end]);
    if end < sql.len() {
        let _ = write!(text, " /* and {} bytes more */", sql.len() - end);
    }
    text.push_str(";\n");
    text
}

/// The loggable text of a statement without a plan: without its values if a password may be among them.
pub(crate) fn without_secrets(sql: &str, mode: LexMode) -> Cow<'_, str> {
    let secret = ["identified", "password"];
    let lower = sql.to_ascii_lowercase();
    match secret.iter().any(|word| lower.contains(word)) {
        true => Cow::Owned(normalized(sql, mode, MOST_TEXT)),
        false => Cow::Borrowed(sql),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(text: &str) -> SlowStatement<'_> {
        SlowStatement {
            ended: 1_769_860_800_123_456,
            ended_text: "2026-01-31T12:00:00.123456Z".into(),
            user: "root",
            host: "localhost",
            connection: 8,
            time: Duration::from_micros(2_000_285),
            used: Used { rows_sent: 1, rows_examined: 2, pages_read: 3, ..Used::default() },
            rows_affected: 0,
            no_index_used: true,
            error: 1317,
            plan: Some(0xabc),
            database: Some("d"),
            text,
        }
    }

    #[test]
    fn an_entry_is_what_tools_read() {
        let expected = "# Time: 2026-01-31T12:00:00.123456Z\n\
            # User@Host: root[root] @ localhost []  Id:     8\n\
            # Query_time: 2.000285  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 2 Rows_affected: 0 Pages_read: 3 No_index_used: Yes \
            Errno: 1317 Plan_digest: 0000000000000abc\n\
            use d;\nSET timestamp=1769860800;\nSELECT 1;\n";
        assert_eq!(entry(&statement("SELECT 1; ")), expected);
        let long = format!("SELECT '{}'", "\u{e9}".repeat(MOST_TEXT));
        let entry = entry(&SlowStatement { database: Some("d;\nx"), ..statement(&long) });
        assert!(entry.len() < MOST_TEXT + 600 && !entry.contains("use "), "{}", entry.len());
        assert!(entry.ends_with(" bytes more */;\n"), "{}", &entry[entry.len() - 40..]);
    }

    #[test]
    fn passwords_are_not_logged() {
        let shown = |sql| without_secrets(sql, LexMode::default()).into_owned();
        assert_eq!(shown("ALTER USER r Identified BY 'x'"), "ALTER USER r Identified BY ?");
        assert_eq!(shown("SET PASSWORD = 'x'"), "SET PASSWORD = ?");
        assert_eq!(
            shown("ALTER TABLE t ADD COLUMN c INT DEFAULT 5"),
            "ALTER TABLE t ADD COLUMN c INT DEFAULT 5"
        );
    }

    #[test]
    fn the_log_follows_its_settings_and_a_file_that_is_moved() {
        let directory = tempfile::tempdir().unwrap();
        let facts = Facts { data_directory: directory.path().display().to_string(), ..Facts::default() };
        let path = directory.path().join("a.log");
        let (log, mut settings) = (SlowLog::default(), SlowLogSettings::default());
        log.log(&statement("SELECT 0"));
        log.apply(&settings, &facts).unwrap();
        assert!(!log.is_on());
        let code = |settings: &_| log.apply(settings, &facts).map_err(|error| error.code);
        std::fs::create_dir(directory.path().join("b.log")).unwrap();
        for (is_on, file) in [(false, "no/a.log"), (true, "no/a.log"), (false, "b.log"), (true, "b.log")] {
            (settings.is_on, settings.file) = (is_on, file.into());
            assert_eq!(code(&settings), Err(1231), "{file}");
            assert!(!log.is_on());
        }
        std::fs::create_dir(directory.path().join("no")).unwrap();
        (settings.is_on, settings.file) = (false, "no/a.log".into());
        assert_eq!(code(&settings), Ok(()));
        std::fs::remove_dir(directory.path().join("no")).unwrap();
        assert_eq!(code(&settings), Ok(()), "it was looked at");
        settings.is_on = true;
        assert_eq!(code(&settings), Err(29));
        settings.file = "a.log".into();
        log.apply(&settings, &facts).unwrap();
        log.log(&statement("SELECT 1"));
        settings.is_on = false;
        log.apply(&settings, &facts).unwrap();
        log.log(&statement("SELECT 2"));
        settings.is_on = true;
        log.apply(&settings, &facts).unwrap();
        let moved = directory.path().join("a.log.1");
        std::fs::rename(&path, &moved).unwrap();
        log.reopen(&facts).unwrap();
        log.log(&statement("SELECT 3"));
        log.close();
        assert_eq!(log.dropped(), 0);
        let has = |path: &Path, sql: &str| std::fs::read_to_string(path).unwrap().contains(sql);
        assert!(has(&moved, "SELECT 1") && !has(&moved, "SELECT 2") && !has(&moved, "SELECT 3"));
        assert!(has(&path, "SELECT 3") && has(&path, "started with:"));
    }
}
