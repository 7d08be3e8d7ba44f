//! The monitoring interfaces of `leafline serve`: metrics and the web console.

use super::args::ServeOptions;
use super::failure::Failure;
use leafline_server::{Console, Metrics};
use leafline_sql::Instance;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// The listeners. They are bound before the database is opened, so that an address in use is found early.
pub struct HttpListeners {
    metrics: Option<TcpListener>,
    console: Option<TcpListener>,
}

/// The running interfaces; they end on drop.
pub struct Watch {
    metrics: Option<Metrics>,
    console: Option<Console>,
}

impl HttpListeners {
    /// Binds the addresses that the options name.
    pub fn new(options: &ServeOptions) -> Result<HttpListeners, Failure> {
        let listen = |address: Option<SocketAddr>, option: &str| {
            let bind = |address: SocketAddr| {
                let why = |error| {
                    Failure::Message(format!(
                        "cannot listen on {address}: {error} ({option} chooses another)"
                    ))
                };
                TcpListener::bind(address).map_err(why)
            };
            address.map(bind).transpose()
        };
        Ok(HttpListeners {
            metrics: listen(options.metrics, "--metrics")?,
            console: listen(options.console, "--console")?,
        })
    }

    /// Starts the interfaces.
    pub fn start(self, instance: &Arc<Instance>) -> Result<Watch, Failure> {
        let failed = |error| Failure::Message(format!("cannot serve metrics or the console: {error}"));
        let metrics = self.metrics.map(|listener| Metrics::start(instance.clone(), listener));
        let console = self.console.map(|listener| Console::start(instance.clone(), listener));
        Ok(Watch {
            metrics: metrics.transpose().map_err(failed)?,
            console: console.transpose().map_err(failed)?,
        })
    }
}

impl Watch {
    /// Prints their addresses.
    pub fn tell(&self) {
        if let Some(metrics) = &self.metrics {
            eprintln!("  metrics: http://{}/metrics", metrics.address());
        }
        if let Some(console) = &self.console {
            eprintln!("  console: http://{}/{}", console.address(), console.query());
            if !console.address().ip().is_loopback() {
                eprintln!(
                    "Warning: the console is served in clear; whoever sees what goes over the network can use it as you do."
                );
            }
        }
    }
}
