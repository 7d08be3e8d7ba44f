//! Backups of an open database, and restoring databases from them.
//!
//! The store does the work ([`leafline_storage`], `backup`). This module adds two kinds of files besides
//! pages and log: the operations of large commits (`commits/`) and the records of quarantined trees
//! (`quarantine/`). They are written before the log relies on them, and removed when it no longer does. The
//! backup therefore needs the files that exist at its end. At that moment, while no thread can remove a
//! file, the list is fixed and the files are opened. After that they can be copied even if their names are
//! removed. The backup may contain more files than it needs: opening the restored database removes them, as
//! after a crash.

use crate::engine::Engine;
use crate::error::Result;
use crate::maintenance::Maintenance;
use crate::options::EngineOptions;
use crate::run::io_error;
use crate::{op_run, quarantine, run};
use leafline_storage::{Env, File, Manifest, OpenMode, Restore, StoreOptions, Verification};
use leafline_types::{CancelToken, Progress, Stage};
use std::io::ErrorKind;
use std::sync::Arc;

impl Maintenance {
    /// Makes a backup in the directory `target`, which must be empty, while others use the database. It
    /// contains everything, or the changes since `parent` was made. It includes every transaction committed
    /// before the call; a transaction that commits during the backup is included as a whole or not at all.
    ///
    /// # Errors
    /// Damage, with the page; errors of writing; the error of a cancellation. The contents of `target` are
    /// then not recognised as a backup.
    pub fn backup(
        &self,
        target: &Arc<dyn Env>,
        parent: Option<Manifest>,
        progress: &Progress,
        cancel: &CancelToken,
    ) -> Result<Manifest> {
        let mut backup = self.core.store.begin_backup(target.clone(), parent)?;
        progress.begin(Stage::BackingUp, (1, 1), backup.progress().1);
        while backup.step()? {
            cancel.check()?;
            progress.set(backup.progress().0);
        }
        let files = {
            let _quarantine = self.core.quarantine.lock();
            let _op_runs = self.core.op_runs.write();
            backup.end()?;
            open_files(&*self.core.env)?
        };
        for (name, file) in files {
            cancel.check()?;
            let bytes = file.size().map_err(|error| io_error("get the size of", &name, error))?;
            backup.add_file(&name, &*file, bytes)?;
        }
        cancel.check()?;
        Ok(backup.finish()?)
    }
}

/// Opens the files that the log may rely on.
fn open_files(env: &dyn Env) -> Result<Vec<(String, Arc<dyn File>)>> {
    let mut files = Vec::new();
    for directory in [op_run::DIRECTORY, quarantine::DIRECTORY] {
        if !env.exists(directory).map_err(|error| io_error("look for", directory, error))? {
            continue;
        }
        let names = env.list(directory).map_err(|error| io_error("list", directory, error))?;
        for name in names.into_iter().filter(|name| name.parse::<u64>().is_ok()) {
            let name = format!("{directory}/{name}");
            match env.open(&name, OpenMode::Existing) {
                Ok(file) => files.push((name, file)),
                // The file of a commit that the log does not name yet.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(io_error("open", &name, error)),
            }
        }
    }
    Ok(files)
}

/// Directories of files that the store does not own.
const OTHERS: [&str; 3] = [op_run::DIRECTORY, quarantine::DIRECTORY, run::TEMP];

/// Restores a database into the directory `target`, from a full backup and the backups that add to it, in
/// this order. Then finishes unfinished work in it, as after a crash. `target` must be empty, except for
/// what an interrupted restore has left.
///
/// # Errors
/// Damage; backups that do not follow each other; errors of reading and writing; the error of a
/// cancellation. The restored files are then removed from `target` as far as possible; the rest cannot be
/// opened.
pub fn restore(
    target: &Arc<dyn Env>,
    backups: &[Arc<dyn Env>],
    options: EngineOptions,
    progress: &Progress,
    cancel: &CancelToken,
) -> Result<()> {
    let restore = Restore::begin(target.clone(), backups, &OTHERS)?;
    let made = make(restore, target, options, progress, cancel);
    if made.is_err() {
        // The error of the restore is the one to report.
        let _ = Restore::give_up(&**target, &OTHERS);
    }
    made
}

fn make(
    mut restore: Restore,
    target: &Arc<dyn Env>,
    options: EngineOptions,
    progress: &Progress,
    cancel: &CancelToken,
) -> Result<()> {
    progress.begin(Stage::Restoring, (1, 1), restore.progress().1);
    while restore.step()? {
        cancel.check()?;
        progress.set(restore.progress().0);
    }
    restore.finish()?;
    let store = StoreOptions { restoring: true, background: false, warm_up: false, ..options.store };
    Engine::open(target.clone(), EngineOptions { store, ..options })?.close()?;
    Ok(Restore::complete(&**target)?)
}

/// Reads a backup from beginning to end, and returns its description.
///
/// # Errors
/// Missing parts or damage; errors of reading; the error of a cancellation.
pub fn verify_backup(backup: &Arc<dyn Env>, progress: &Progress, cancel: &CancelToken) -> Result<Manifest> {
    let mut verification = Verification::begin(backup.clone())?;
    progress.begin(Stage::Restoring, (1, 1), verification.progress().1);
    while verification.step()? {
        cancel.check()?;
        progress.set(verification.progress().0);
    }
    Ok(verification.manifest().clone())
}
