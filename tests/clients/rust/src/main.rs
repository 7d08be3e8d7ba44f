//! Everyday work of Rust programs against a server that runs, through sqlx and mysql_async: logins over each transport, pools, prepared
//! statements, every type, results that are streamed, transactions, errors, migrations, LOAD DATA LOCAL.
//!
//! Environment: LEAFLINE_PORT, LEAFLINE_SOCKET, LEAFLINE_PASSWORD, LEAFLINE_CA. Ends with 1 and says what failed.

mod through_mysql_async;
mod through_sqlx;

use std::path::PathBuf;
use std::process::ExitCode;

/// What goes wrong.
type Failure = Box<dyn std::error::Error + Send + Sync>;
/// What a test comes to.
type Outcome<T = ()> = Result<T, Failure>;

/// A way to the server.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Tcp,
    Tls,
    Socket,
}

/// Where the server is, and who we are to it.
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

/// An error unless it is as it should be.
fn ensure<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}").into()) }
}

/// Says where something went wrong.
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
