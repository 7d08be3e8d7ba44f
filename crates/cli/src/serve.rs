//! `leafline serve`: serves a database over the MySQL protocol, until SIGTERM or Ctrl-C.

use super::args::{Disk, ServeOptions};
use super::failure::Failure;
use super::open;
use super::presence::DirectoryIdentity;
use super::size::{Size, default_server_pool};
use super::socket::{self, SOCKET_NAME, SocketLink};
use super::watch::HttpListeners;
use leafline_server::tls::{CERTIFICATE_NAME, KEY_NAME};
use leafline_server::{Listeners, Server, ServerError, ServerOptions, Tls};
use leafline_sql::accounts::{LOCALHOST, ROOT};
use leafline_types::convert::to_text;
use leafline_types::{DateTime, SqlType, Value};
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{SystemTime, UNIX_EPOCH};

/// The folder of temporary files in a database's directory.
const TEMP: &str = "temp";

/// Runs the verb.
pub fn run(options: &ServeOptions) -> Result<(), Failure> {
    let pool = options.buffer_pool_size.unwrap_or_else(default_server_pool);
    let (stop, stopped) = mpsc::channel();
    ctrlc::set_handler(move || {
        // Nobody receives if the server stops already.
        let _ = stop.send(());
    })
    .map_err(|error| Failure::Message(format!("cannot handle signals: {error}")))?;

    let directory = options.open.dir.clone();
    let mut database_options = open::options(&options.open, pool, Disk::None)
        .native_aio(!options.skip_innodb_use_native_aio)
        .warm_up(!options.skip_warm_up)
        .event_scheduler(true)
        .error_log(|line| eprintln!("{} {line}", now()));
    let tls_files = tls_files(options);
    if let Some((certificate, key)) = &tls_files {
        let authority = options.tls_client_ca.clone().map(absolute);
        database_options = database_options.served_with_tls(certificate, key, authority.as_deref());
    }
    // The socket comes last, because the socket of a database that is already served must not be taken over.
    let expected = absolute(options.socket.clone().unwrap_or_else(|| directory.join(SOCKET_NAME)));
    let mut listeners = Listeners::new();
    if !options.skip_networking {
        database_options = database_options.listens_on(&options.host);
    }
    let port = if options.skip_networking {
        0
    } else {
        listeners.tcp(&options.host, options.port).map_err(|error| listen_failure(&error))?.port()
    };
    let watch = HttpListeners::new(options)?;
    let database =
        open::database(&database_options.served_at(port, expected.display().to_string()), &directory)?;
    leafline::set_overflow_directory(&absolute(directory.join(TEMP)));
    socket::remove_stale(&directory)?;
    listeners.unix(&expected).map_err(|error| listen_failure(&error))?;
    // Some file systems have no links.
    let link = SocketLink::new(&directory, &expected).unwrap_or_else(|failure| {
        eprintln!("Warning: {failure}; `leafline dump` finds this server by --socket only");
        None
    });
    let authority = options.tls_client_ca.as_deref();
    let tls = match &tls_files {
        None => None,
        Some((certificate, key)) if options.tls_cert.is_some() => {
            Some(Tls::from_files(certificate, key, authority))
        }
        Some(_) => Some(Tls::own(&directory, authority)),
    };
    let tls = tls.transpose().map_err(|error| Failure::Message(error.to_string()))?;
    let log = Arc::new(|line: &str| eprintln!("{} {line}", now()));
    let (presence, shown) = (DirectoryIdentity::of(&directory), absolute(directory.clone()));
    let server_options = ServerOptions { tls, directory, log };
    let server = Server::start(database.instance().clone(), listeners, server_options)
        .map_err(|error| listen_failure(&error))?;

    let watch = watch.start(database.instance())?;

    eprintln!(
        "Leafline {} serves {} (buffer pool {})",
        env!("CARGO_PKG_VERSION"),
        database.path().display(),
        Size(database.instance().facts().buffer_pool_bytes)
    );
    eprintln!("  mariadb --socket={} --user={ROOT}", expected.display());
    if let Some(address) = server.address() {
        eprintln!("  mariadb --host={} --port={} --user={ROOT}", address.ip(), address.port());
    }
    watch.tell();
    if database
        .instance()
        .accounts()
        .login(ROOT, LOCALHOST)
        .is_some_and(|(_, login)| login.is_without_password())
    {
        eprintln!(
            "Warning: the account {ROOT} has no password, so it is let in from this machine only. To set one:\n  \
             ALTER USER {ROOT} IDENTIFIED BY '...';"
        );
    }
    let stays = presence.wait(&stopped);
    match stays {
        true => eprintln!("Stopping."),
        false => eprintln!("{} The directory {} is gone. Stopping.", now(), shown.display()),
    }
    server.stop();
    drop((watch, link));
    let closed = database.close();
    if !stays {
        let lost = "what was committed since is lost";
        return Err(Failure::Message(format!("the directory {} is gone; {lost}", shown.display())));
    }
    Ok(closed?)
}

/// Returns the files of the certificate and of its key, unless TLS is off.
fn tls_files(options: &ServeOptions) -> Option<(PathBuf, PathBuf)> {
    let own = |name: &str| absolute(options.open.dir.join(name));
    let given = options.tls_cert.clone().zip(options.tls_key.clone());
    (!options.no_tls).then(|| given.unwrap_or_else(|| (own(CERTIFICATE_NAME), own(KEY_NAME))))
}

/// Returns the time of a line of the log, in UTC.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = i64::try_from(since.as_micros()).ok().and_then(DateTime::from_epoch_micros);
    let text = time.and_then(|time| to_text(&Value::DateTime(time), &SqlType::DateTime { fsp: 0 }));
    text.map_or_else(String::new, |text| text.to_string())
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

fn listen_failure(error: &ServerError) -> Failure {
    Failure::Message(format!("{error} (--port and --socket choose others)"))
}
