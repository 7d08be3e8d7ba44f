//! Everyday work of Rust programs against a running server, through sqlx and mysql_async: logins over each transport,
//! pools, prepared statements, every type, streamed results, transactions, errors, migrations, LOAD DATA LOCAL.
//!
//! Environment: LEAFLINE_PORT, LEAFLINE_SOCKET, LEAFLINE_PASSWORD, LEAFLINE_CA. Exits with 1 and prints the failure.

mod through_mysql_async;
mod through_sqlx;

use std::path::PathBuf;
use std::process::ExitCode;

/// The error of a failed test.
type Failure = Box<dyn std::error::Error + Send + Sync>;
/// The outcome of a test.
type Outcome<T = ()> = Result<T, Failure>;

/// A transport.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Tcp,
    Tls,
    Socket,
}

/// The server's addresses and the password.
struct Server {
    port: u16,
    socket: String,
    password: String,
    authority: PathBuf,
}

impl Server {
    fn from_environment() -> Outcome<Server> {
        let variable = |name: &str| std::env::var(name).map_err(|error| format!("{name}: {error}"));
        Ok(Server {
            port: variable("LEAFLINE_PORT")?.parse()?,
            socket: variable("LEAFLINE_SOCKET")?,
            password: variable("LEAFLINE_PASSWORD")?,
            authority: variable("LEAFLINE_CA")?.into(),
        })
    }
}

/// Returns an error unless `found` is `expected`.
fn ensure<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}").into()) }
}

/// Adds the failed part to an error.
fn within(part: &str) -> impl FnOnce(Failure) -> Failure {
    move |error| format!("{part}: {error}").into()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let server = match Server::from_environment() {
        Ok(server) => server,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut is_right = true;
    for way in [Way::Tcp, Way::Tls, Way::Socket] {
        for (name, outcome) in [
            ("sqlx", through_sqlx::run(&server, way).await),
            ("mysql_async", through_mysql_async::run(&server, way).await),
        ] {
            if let Err(error) = outcome {
                println!("Rust, {name}, {way:?}: FAILED: {error}");
                is_right = false;
            }
        }
    }
    if !is_right {
        return ExitCode::FAILURE;
    }
    println!("Rust, sqlx, mysql_async: ok");
    ExitCode::SUCCESS
}
