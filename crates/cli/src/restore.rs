//! `leafline restore`: makes a database of a full backup and of incremental ones.

use super::args::{CheckOptions, ExistingArguments};
use super::check::{self, engine_options, environment, failed};
use super::failure::Failure;
use super::progress::Watched;
use super::size::Size;
use clap::Args;
use leafline_storage::{Env, Manifest};
use leafline_types::{CancelToken, Progress};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `leafline restore`.
#[derive(Args, Debug)]
#[command(override_usage = "leafline restore [OPTIONS] BACKUP [INCREMENTAL...] TARGET")]
pub struct RestoreOptions {
    /// A full backup, then the incremental ones that follow upon it, in the order in which they were made
    #[arg(value_name = "BACKUP", required = true, num_args = 1..)]
    pub backups: Vec<PathBuf>,
    /// A new directory for the database
    #[arg(value_name = "TARGET", required = true)]
    pub target: PathBuf,
    /// Check every table and index of the restored database, as `leafline check` does. (Pages and log are checked in any case.)
    #[arg(long)]
    pub check: bool,
    /// Memory for pages while what was not finished is finished
    #[arg(long, value_name = "SIZE", default_value_t = Size(128 << 20))]
    pub buffer_pool_size: Size,
}

/// Whether a directory contains what an unfinished restore has left.
pub fn has_unfinished_restore(dir: &Path) -> bool {
    dir.join("restoring").exists()
}

/// Returns the message about a directory without a database.
pub fn no_database(dir: &Path) -> Failure {
    let dir_shown = dir.display();
    Failure::Message(match has_unfinished_restore(dir) {
        true => format!("a restore into {dir_shown} was not completed; restore into it again, or remove it"),
        false => format!("there is no database in {dir_shown}"),
    })
}

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
