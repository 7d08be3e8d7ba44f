//! Files of the server: only those below `secure_file_priv`, links followed.

use leafline_types::MysqlError;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};

/// Opens a file to be read. `allowed` is `secure_file_priv`.
///
/// # Errors
/// 1290 if it is not there that files may be read, 29 if it cannot be opened.
pub(crate) fn open(path: &str, allowed: Option<&str>) -> Result<File, MysqlError> {
    File::open(readable(path, allowed)?).map_err(|e| not_found(path, &e))
}

/// As [`open`], of regular files: opening a pipe would wait for who writes to it.
///
/// # Errors
/// As [`open`]; 29 for what is no regular file.
pub(crate) fn open_regular(path: &str, allowed: Option<&str>) -> Result<File, MysqlError> {
    let real = readable(path, allowed)?;
    if !real.is_file() {
        return Err(not_found(path, &io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")));
    }
    File::open(real).map_err(|e| not_found(path, &e))
}

/// Where a file is that may be read.
fn readable(path: &str, allowed: Option<&str>) -> Result<PathBuf, MysqlError> {
    let (directory, path_there) = place(path, allowed)?;
    resolved(&directory, &path_there, |e| not_found(path, e))
}

/// Makes a file, and says where it is. `allowed` is `secure_file_priv`.
///
/// # Errors
/// 1290 if files may not be written there, 1086 if there is one, 1026 if it cannot be made.
pub(crate) fn create(path: &str, allowed: Option<&str>) -> Result<(File, PathBuf), MysqlError> {
    let (directory, path_there) = place(path, allowed)?;
    let parent = path_there.parent().filter(|parent| !parent.as_os_str().is_empty());
    resolved(&directory, parent.unwrap_or(Path::new(".")), |e| write_error(path, e))?;
    match OpenOptions::new().write(true).create_new(true).open(&path_there) {
        Ok(file) => Ok((file, path_there)),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(MysqlError::file_exists(path)),
        Err(e) => Err(write_error(path, &e)),
    }
}

/// Where a backup may be made: in a directory that is empty, or not there. `allowed` is `secure_file_priv`, by which backups are kept to a
/// directory too; without one they may be anywhere, as only administrators make them (so it is with MySQL's CLONE).
///
/// # Errors
/// 1290 for another directory than it names, 1210 for a relative name where it names none, and within `data`, the database's own directory; 1086 if there
/// is something, 1026 if its parent cannot be read.
pub(crate) fn for_backup(path: &str, allowed: Option<&str>, data: &Path) -> Result<PathBuf, MysqlError> {
    let (directory, there) = backup_place(path, allowed)?;
    let parent = resolved(&directory, there.parent().unwrap_or(Path::new("/")), |e| write_error(path, e))?;
    if data.canonicalize().is_ok_and(|data| parent.starts_with(data)) {
        return Err(MysqlError::wrong_arguments("BACKUP DATABASE: a directory within the database's own"));
    }
    match there.read_dir().map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(there),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(there),
        Ok(false) => Err(MysqlError::file_exists(path)),
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => Err(MysqlError::file_exists(path)),
        Err(e) => Err(write_error(path, &e)),
    }
}

/// Where a backup is.
///
/// # Errors
/// As [`for_backup`]; 29 if there is no such directory.
pub(crate) fn of_backup(path: &str, allowed: Option<&str>) -> Result<PathBuf, MysqlError> {
    let (directory, there) = backup_place(path, allowed)?;
    let real = resolved(&directory, &there, |e| not_found(path, e))?;
    match real.is_dir() {
        true => Ok(real),
        false => Err(not_found(path, &io::Error::from(io::ErrorKind::NotADirectory))),
    }
}

fn backup_place(path: &str, allowed: Option<&str>) -> Result<(Option<PathBuf>, PathBuf), MysqlError> {
    let (directory, there) = place(path, Some(allowed.unwrap_or("")))?;
    match there.is_absolute() && there.file_name().is_some() {
        true => Ok((directory, there)),
        false => Err(MysqlError::wrong_arguments("BACKUP DATABASE: name a directory by its whole path")),
    }
}

/// The directory that files have to be in, if any, and where the file would be: a relative name is one in it.
fn place(path: &str, allowed: Option<&str>) -> Result<(Option<PathBuf>, PathBuf), MysqlError> {
    let Some(allowed) = allowed else { return Err(refused()) };
    if allowed.is_empty() {
        return Ok((None, PathBuf::from(path)));
    }
    let directory = Path::new(allowed).canonicalize().map_err(|_| refused())?;
    let there = directory.join(path);
    Ok((Some(directory), there))
}

/// `there` with its links followed. What is outside of `directory` is refused whether it is there or not, so that nobody learns which files
/// the machine has; what is not there within it is the error that `failed` makes.
fn resolved(
    directory: &Option<PathBuf>,
    there: &Path,
    failed: impl Fn(&io::Error) -> MysqlError,
) -> Result<PathBuf, MysqlError> {
    match (there.canonicalize(), directory) {
        (Ok(real), Some(directory)) if !real.starts_with(directory) => Err(refused()),
        (Ok(real), _) => Ok(real),
        (Err(error), Some(directory)) if is_missing_within(directory, there) => Err(failed(&error)),
        (Err(_), Some(_)) => Err(refused()),
        (Err(error), None) => Err(failed(&error)),
    }
}

/// Whether the part of a path that is there leads into `directory`, and the rest neither goes back nor is a link to nothing.
fn is_missing_within(directory: &Path, there: &Path) -> bool {
    for known in there.ancestors().skip(1) {
        let Ok(real) = known.canonicalize() else { continue };
        let Ok(rest) = there.strip_prefix(known) else { return false };
        let goes_down =
            rest.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let is_link = rest.components().next().is_some_and(|first| known.join(first).is_symlink());
        return real.starts_with(directory) && goes_down && !is_link;
    }
    false
}

fn refused() -> MysqlError {
    MysqlError::option_prevents_statement("--secure-file-priv")
}

pub(crate) fn not_found(path: &str, e: &io::Error) -> MysqlError {
    MysqlError::file_not_found(path, e.raw_os_error().unwrap_or(0), os_text(e))
}

pub(crate) fn read_error(path: &str, e: &io::Error) -> MysqlError {
    MysqlError::error_on_read(path, e.raw_os_error().unwrap_or(0), os_text(e))
}

pub(crate) fn write_error(path: &str, e: &io::Error) -> MysqlError {
    MysqlError::error_on_write(path, e.raw_os_error().unwrap_or(0), os_text(e))
}

/// What the system says, without the number behind it.
fn os_text(e: &io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
