//! Paths of files on the server: only below `secure_file_priv`, after links are followed.

use leafline_types::MysqlError;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Component, Path, PathBuf};

/// Opens a file for reading. `allowed` is `secure_file_priv`.
///
/// # Errors
/// 1290 if the path is outside of `allowed`, 29 if the file cannot be opened.
pub(crate) fn open(path: &str, allowed: Option<&str>) -> Result<File, MysqlError> {
    File::open(readable(path, allowed)?).map_err(|e| not_found(path, &e))
}

/// Opens a regular file, like [`open`]. Opening a pipe would wait for its writer.
///
/// # Errors
/// The errors of [`open`]; 29 if it is not a regular file.
pub(crate) fn open_regular(path: &str, allowed: Option<&str>) -> Result<File, MysqlError> {
    let real = readable(path, allowed)?;
    if !real.is_file() {
        return Err(not_found(path, &io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")));
    }
    File::open(real).map_err(|e| not_found(path, &e))
}

/// The real path of a file that may be read.
fn readable(path: &str, allowed: Option<&str>) -> Result<PathBuf, MysqlError> {
    let (directory, path_there) = place(path, allowed)?;
    resolved(&directory, &path_there, |e| not_found(path, e))
}

/// Creates a file and returns its path. `allowed` is `secure_file_priv`.
///
/// # Errors
/// 1290 if the path is outside of `allowed`, 1086 if the file exists, 1026 if it cannot be created.
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

/// The path of a new backup: an empty directory, or none yet. `allowed` is `secure_file_priv`, which
/// restricts backups as well. Without it a backup may be anywhere, because only administrators make backups
/// (as with MySQL's CLONE).
///
/// # Errors
/// 1290 if the path is outside of `allowed`; 1210 for a relative path without `allowed`, and for a path
/// within `data`, the database's own directory; 1086 if the path is taken, 1026 if its parent cannot be read.
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

/// The path of an existing backup.
///
/// # Errors
/// The errors of [`for_backup`]; 29 if there is no such directory.
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

/// Returns the directory that `allowed` names, if any, and the path of the file; a relative path is taken
/// within that directory.
fn place(path: &str, allowed: Option<&str>) -> Result<(Option<PathBuf>, PathBuf), MysqlError> {
    let Some(allowed) = allowed else { return Err(refused()) };
    if allowed.is_empty() {
        return Ok((None, PathBuf::from(path)));
    }
    let directory = Path::new(allowed).canonicalize().map_err(|_| refused())?;
    let there = directory.join(path);
    Ok((Some(directory), there))
}

/// Follows the links of `there`. A path outside of `directory` is refused whether it exists or not, so that
/// nobody learns which files the machine has; a missing path within it gives the error of `failed`.
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

/// True if the existing part of a path leads into `directory`, and the rest has no `..` and is not a dangling
/// link.
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

/// The system's message, without the error number after it.
fn os_text(e: &io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
