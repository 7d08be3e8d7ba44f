//! BACKUP DATABASE: copies the whole database to a directory of the server while the database is in use.

use crate::result::RowSet;
use crate::session::Session;
use crate::text_file;
use leafline_storage::device::DirectoryEnv;
use leafline_storage::{Env, Manifest};
use leafline_types::{MysqlError, SqlType, Value};
use std::path::Path;
use std::sync::Arc;

/// Makes a backup and returns a row that describes it. With `parent`, the backup has only the changes since the backup in that
/// directory. The statement ends no transaction and waits for none.
///
/// # Errors
/// 1290, 1210, 1086, 29 and 1026 for the directories, 1021 for a full disk, 1194 for a damaged page, 1105 for a parent that is
/// no backup, 1317 if it is stopped. After an error the directory is not recognised as a backup.
pub(super) fn backup(session: &mut Session, path: &str, parent: Option<&str>) -> Result<RowSet, MysqlError> {
    let facts = session.instance.facts();
    let (allowed, data) = (facts.secure_file_priv.clone(), facts.data_directory.clone());
    let parent = parent
        .map(|parent| {
            let directory = text_file::of_backup(parent, allowed.as_deref())?;
            Manifest::read(&*environment(parent, &directory)?).map_err(failed)
        })
        .transpose()?;
    let directory = text_file::for_backup(path, allowed.as_deref(), Path::new(&data))?;
    let target = environment(path, &directory)?;
    let (progress, cancel) = (session.progress(), session.cancel.clone());
    let made = session.instance.engine().maintenance().backup(&target, parent, &progress, &cancel)?;
    let number = |name| (name, SqlType::BIGINT_UNSIGNED);
    let mut rows = RowSet::new([
        ("Backup", SqlType::Varchar { len: 16 }),
        ("Kind", SqlType::Varchar { len: 11 }),
        number("Pages"),
        number("Bytes"),
        number("Start_lsn"),
        number("End_lsn"),
    ]);
    rows.push(vec![
        Value::string(format!("{:016x}", made.id)),
        Value::string(if made.parent.is_some() { "incremental" } else { "full" }),
        Value::UInt(made.pages),
        Value::UInt(made.bytes()),
        Value::UInt(made.redo.0),
        Value::UInt(made.end.0),
    ]);
    Ok(rows)
}

fn environment(path: &str, directory: &Path) -> Result<Arc<dyn Env>, MysqlError> {
    match DirectoryEnv::open(directory) {
        Ok(env) => Ok(Arc::new(env)),
        Err(error) => Err(text_file::write_error(path, &error)),
    }
}

fn failed(error: leafline_storage::StorageError) -> MysqlError {
    leafline_table::TableError::from(error).into()
}
