//! `leafline serve`: a database over the MySQL protocol, until SIGTERM or Ctrl-C.

use super::args::{Disk, ServeOptions};
use super::failure::Failure;
use super::open::{self, SOCKET_NAME};
use super::size::default_server_pool;
use leafline_server::{Listeners, Server, ServerError};
use leafline_sql::accounts::ROOT;
use std::path::PathBuf;
use std::sync::mpsc;

/// Runs the verb.
pub fn run(options: &ServeOptions) -> Result<(), Failure> {
    let pool = options.buffer_pool_size.unwrap_or_else(default_server_pool);
    let (stop, stopped) = mpsc::channel();
    ctrlc::set_handler(move || {
        // Nobody receives when the server stops already.
        let _ = stop.send(());
    })
    .map_err(|error| Failure::Message(format!("cannot handle signals: {error}")))?;

    let directory = options.open.dir.clone();
    let database_options = open::options(&options.open, pool, Disk::None)
        .native_aio(!options.skip_innodb_use_native_aio)
        .warm_up(!options.skip_warm_up);
    // The socket comes last: that of a database that is served must not be taken over.
    let socket = options.socket.clone();
    let socket_of =
        |directory: &std::path::Path| socket.clone().unwrap_or_else(|| directory.join(SOCKET_NAME));
    let expected = absolute(socket_of(&directory));
    let mut listeners = Listeners::new();
    let port = if options.skip_networking {
        0
    } else {
        listeners.tcp(&options.host, options.port).map_err(|error| listen_failure(&error))?.port()
    };
    let database =
        open::database(&database_options.served_at(port, expected.display().to_string()), &directory)?;
    listeners.unix(&expected).map_err(|error| listen_failure(&error))?;
    let server =
        Server::start(database.instance().clone(), listeners).map_err(|error| listen_failure(&error))?;

    eprintln!(
        "Leafline {} serves {} (buffer pool {pool})",
        env!("CARGO_PKG_VERSION"),
        database.path().display()
    );
    eprintln!("  mariadb --socket={} --user={ROOT}", expected.display());
    if let Some(address) = server.address() {
        eprintln!("  mariadb --host={} --port={} --user={ROOT}", address.ip(), address.port());
    }
    if database.instance().accounts().login(ROOT).is_some_and(|login| login.is_without_password()) {
        eprintln!(
            "Warning: the account {ROOT} has no password, so it is let in from this machine only. To set one:\n  \
             ALTER USER {ROOT} IDENTIFIED BY '...';"
        );
    }
    if stopped.recv().is_ok() {
        eprintln!("Stopping.");
    }
    server.stop();
    Ok(database.close()?)
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn listen_failure(error: &ServerError) -> Failure {
    Failure::Message(format!("{error} (--port and --socket choose others)"))
}
