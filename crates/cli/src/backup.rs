//! `leafline backup`: runs the statement BACKUP DATABASE, in a database that this process opens for it or on the
//! server that has it open; or checks whether a backup is whole.

use super::address::Address;
use super::args::BackupOptions;
use super::existing::{environment, failed, no_database};
use super::failure::Failure;
use super::link::{Link, Place, literal};
use super::progress::{Watched, grouped};
use super::remote::Client;
use super::size::human_bytes;
use leafline_storage::worker::ThreadName;
use leafline_table::{Manifest, verify_backup};
use leafline_types::{CancelToken, Progress, Stage};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time between two requests for a server's progress.
const ASK: Duration = Duration::from_millis(500);

/// Runs the verb.
pub fn run(options: &BackupOptions) -> Result<(), Failure> {
    if let Some(backup) = &options.verify {
        return verify(backup);
    }
    let (Some(source), Some(target)) = (&options.source, &options.target) else {
        return Err(Failure::Message("name the database and a new directory".into()));
    };
    let mut statement = format!("BACKUP DATABASE TO {}", absolute_literal(target)?);
    if let Some(parent) = &options.incremental_from {
        statement.push_str(&format!(" INCREMENTAL FROM {}", absolute_literal(parent)?));
    }
    let place = match Address::is_one(source) {
        true => Place::Server(Address::parse(source).map_err(Failure::Message)?),
        false if !Path::new(source).join("control").exists() => {
            return Err(no_database(Path::new(source)));
        }
        false => Place::of_directory(Path::new(source), options.buffer_pool_size)?,
    };
    let mut link = place.connect()?;
    if !link.is_leafline() {
        return Err(Failure::Message("the server is not a Leafline server".into()));
    }
    let watched = watched(&place, &mut link);
    let mut line = String::new();
    link.query(&statement, &mut |cells| {
        let number = |at| cells.text(at).parse().unwrap_or(0);
        line = format!(
            "{} backup {}: {} pages, {}, log from {} to {}",
            cells.text(1),
            cells.text(0),
            grouped(number(2)),
            human_bytes(number(3)),
            cells.text(4),
            cells.text(5)
        );
        Ok(())
    })?;
    drop(watched);
    println!("{line}");
    drop(link);
    match place {
        Place::Own(database) => Ok(database.close()?),
        Place::Server(_) => Ok(()),
    }
}

/// Returns the absolute name of a directory, as a literal.
fn absolute_literal(path: &Path) -> Result<String, Failure> {
    let absolute = std::path::absolute(path);
    let absolute = absolute.map_err(|error| Failure::io(format!("cannot find {}", path.display()), error))?;
    let text = absolute
        .to_str()
        .ok_or_else(|| Failure::Message(format!("{}: names of backups have to be UTF-8", path.display())))?;
    Ok(literal(text))
}

/// Reads a backup and prints what it contains.
fn verify(directory: &Path) -> Result<(), Failure> {
    if !directory.is_dir() {
        return Err(Failure::Message(format!("there is no directory {}", directory.display())));
    }
    let progress = Progress::default();
    let watched = Watched::over(progress.clone());
    let manifest = verify_backup(&environment(directory)?, &progress, &CancelToken::new()).map_err(failed)?;
    drop(watched);
    println!("{}", described(&manifest));
    Ok(())
}

fn described(manifest: &Manifest) -> String {
    let kind = match manifest.parent {
        None => "full backup".to_owned(),
        Some(parent) => format!("incremental backup upon {parent:016x}"),
    };
    let (pages, bytes) = (grouped(manifest.pages), human_bytes(manifest.bytes()));
    format!(
        "OK: {:016x}, {kind}: {pages} pages, {bytes}, log from {} to {}",
        manifest.id, manifest.redo, manifest.end
    )
}

/// Shows the progress of the link's next statement.
fn watched(place: &Place, link: &mut Link) -> (Watched, Option<Asking>) {
    match (place, link) {
        (_, Link::Own(connection)) => (Watched::begin(connection.session()), None),
        (Place::Server(address), Link::Server(client)) => {
            let progress = Progress::default();
            let asking = Asking::begin(address.clone(), client.id(), progress.clone());
            (Watched::over(progress), asking)
        }
        (Place::Own(_), Link::Server(_)) => (Watched::over(Progress::default()), None),
    }
}

/// Asks a server, by a separate connection, for the progress of another connection's statement. Dropping it ends it.
struct Asking(Option<(Sender<()>, JoinHandle<()>)>);

impl Asking {
    /// Begins to ask; None if there is no thread or connection for it: then no progress is shown.
    fn begin(address: Address, connection: u64, progress: Progress) -> Option<Asking> {
        let (sender, over) = channel();
        let ask = move || {
            let Ok(client) = Client::connect(&address) else { return };
            let mut link = Link::Server(Box::new(client));
            let sql =
                format!("SELECT PROGRESS * 10 FROM information_schema.PROCESSLIST WHERE ID = {connection}");
            progress.begin(Stage::BackingUp, (1, 1), 1000);
            while over.recv_timeout(ASK) == Err(RecvTimeoutError::Timeout) {
                match link.value(&sql, 0) {
                    Ok(value) => progress.set(value.parse::<f64>().unwrap_or(0.0) as u64),
                    Err(_) => return,
                }
            }
        };
        let thread = ThreadName::Progress.builder().spawn(ask).ok()?;
        Some(Asking(Some((sender, thread))))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.0.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}
