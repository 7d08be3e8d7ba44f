//! `leafline restore`: makes a database of a full backup and of incremental ones.

use super::args::{CheckOptions, ExistingArguments, RestoreOptions};
use super::check;
use super::existing::{engine_options, environment, failed, has_unfinished_restore};
use super::failure::Failure;
use super::progress::Watched;
use leafline_storage::{Env, Manifest};
use leafline_types::{CancelToken, Progress};
use std::io;
use std::sync::Arc;

/// Runs the verb.
pub fn run(options: &RestoreOptions) -> Result<(), Failure> {
    let target = &options.target;
    let backups = options.backups.iter().map(|backup| match backup.is_dir() {
        true => environment(backup),
        false => Err(Failure::Message(format!("there is no backup in {}", backup.display()))),
    });
    let backups = backups.collect::<Result<Vec<Arc<dyn Env>>, Failure>>()?;
    // A restore removes what an earlier unfinished one has left.
    let is_free = match target.read_dir() {
        Ok(mut entries) => {
            has_unfinished_restore(target)
                || entries.all(|entry| entry.is_ok_and(|e| e.file_name() == "lock"))
        }
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if !is_free {
        return Err(Failure::Message(format!("{} is there already; name a new directory", target.display())));
    }
    // Checked before the directory is created.
    for backup in &backups {
        Manifest::read(&**backup).map_err(|error| failed(error.into()))?;
    }
    let existing = ExistingArguments {
        dir: target.clone(),
        table: Vec::new(),
        buffer_pool_size: options.buffer_pool_size,
    };
    let progress = Progress::default();
    let watched = Watched::over(progress.clone());
    leafline_table::restore(
        &environment(target)?,
        &backups,
        engine_options(&existing),
        &progress,
        &CancelToken::new(),
    )
    .map_err(failed)?;
    drop(watched);
    println!("restored to {}", target.display());
    match options.check {
        true => check::run(&CheckOptions { existing, quick: false, threads: None }),
        false => Ok(()),
    }
}
