//! Backups of a database that is open, and databases made of them.
//!
//! What the store does ([`leafline_storage`], `backup`) is all there is to it but for two kinds of files beside pages and log: the operations of
//! large commits (`commits/`) and what is kept of quarantined trees (`quarantine/`). They are written before the log relies on them, and
//! removed when it does not any more. So those are needed that are there at the moment of the backup's end: it is decided, and they are opened,
//! while nobody can remove one; then they can be copied whatever becomes of their names. More may be copied than is needed: opening what is
//! restored removes that, as after a crash.

use crate::engine::Engine;
use crate::error::Result;
use crate::maintenance::Maintenance;
use crate::options::EngineOptions;
use crate::run::io_error;
use crate::{quarantine, run, txn};
use leafline_storage::{Env, File, Manifest, OpenMode, Restore, StoreOptions, Verification};
use leafline_types::{CancelToken, Progress, Stage};
use std::io::ErrorKind;
use std::sync::Arc;

impl Maintenance {
    /// Makes a backup in the directory `target`, which is empty, while others go on: of everything, or of what has changed since `parent`
    /// was made. It holds all that is committed when this is called, and of what is committed meanwhile each transaction as a whole or not at all.
    ///
    /// # Errors
    /// Damage of a page, which is named; what cannot be written; that it was cancelled. What is in `target` then is recognised as no backup.
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
    for directory in [txn::op_run::DIRECTORY, quarantine::DIRECTORY] {
        if !env.exists(directory).map_err(|error| io_error("look for", directory, error))? {
            continue;
        }
        let names = env.list(directory).map_err(|error| io_error("list", directory, error))?;
        for name in names.into_iter().filter(|name| name.parse::<u64>().is_ok()) {
            let name = format!("{directory}/{name}");
            match env.open(&name, OpenMode::Existing) {
                Ok(file) => files.push((name, file)),
                // A commit that did not come so far that the log names it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(io_error("open", &name, error)),
            }
        }
    }
    Ok(files)
}

/// Directories of files that are not the store's.
const OTHERS: [&str; 3] = [txn::op_run::DIRECTORY, quarantine::DIRECTORY, run::TEMP];

/// Makes a database in the directory `target`, which is empty but for what a restore that was broken off has left, of a full backup and those that add to it, in this order, and finishes what was
/// not finished in it, as after a crash.
///
/// # Errors
/// Damage; backups that do not follow upon each other; what cannot be read or written; that it was cancelled. What was made in `target` is removed
/// then, as far as it can be; the rest cannot be opened.
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
        // Why it failed is what matters.
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

/// Reads a backup from the beginning to the end and says what it is.
///
/// # Errors
/// It is not complete, or is damaged; it cannot be read; that it was cancelled.
pub fn verify_backup(backup: &Arc<dyn Env>, progress: &Progress, cancel: &CancelToken) -> Result<Manifest> {
    let mut verification = Verification::begin(backup.clone())?;
    progress.begin(Stage::Restoring, (1, 1), verification.progress().1);
    while verification.step()? {
        cancel.check()?;
        progress.set(verification.progress().0);
    }
    Ok(verification.manifest().clone())
}
