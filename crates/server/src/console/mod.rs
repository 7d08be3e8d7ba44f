//! `leafline serve --console`: shows the activity of a database in a browser.
//!
//! | module | is |
//! |---|---|
//! | `access` | the token and the cookie |
//! | `answers` | answers to requests, as JSON |
//! | `plans` | plans of statements, shown and run, with hypothetical indexes |
//! | `shapes` | the JSON of figures |
//!
//! The console changes nothing. On request it plans a statement of the digests, and runs the statement if it is a query that
//! locks nothing: in a READ ONLY transaction and for at most ten seconds. No statement comes from the browser, which only names
//! digests, and indexes that ADVISE proposed. The pages are in the binary (`assets`), have no inline scripts and load nothing
//! from elsewhere. Data of users is put into them as text, never as HTML.
//!
//! A thread samples the load every few seconds. All other work is done when a browser asks.

mod access;
mod answers;
mod plans;
mod shapes;

use crate::http::{Answer, HttpServer, Request};
use access::Access;
use leafline_sql::Instance;
use leafline_sql::observed::History;
use leafline_storage::worker::{Next, OnPanic, ThreadName, Worker};
use parking_lot::Mutex;
use plans::Advised;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

/// Time between two samples of the load.
const LOOK: Duration = Duration::from_secs(5);

/// The content security policy: a page loads nothing but the console's own files.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// The pages: path, type, content.
const ASSETS: [(&str, &str, &str); 6] = [
    ("/", "text/html; charset=utf-8", include_str!("assets/index.html")),
    ("/console.css", "text/css; charset=utf-8", include_str!("assets/console.css")),
    ("/console.js", "text/javascript; charset=utf-8", include_str!("assets/console.js")),
    ("/draw.js", "text/javascript; charset=utf-8", include_str!("assets/draw.js")),
    ("/plan.js", "text/javascript; charset=utf-8", include_str!("assets/plan.js")),
    ("/icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
];

/// A running console. Dropping it ends it.
pub struct Console {
    http: HttpServer,
    query: String,
    /// The thread that samples the load for the history.
    _history: Worker,
}

struct Shared {
    instance: Arc<Instance>,
    access: Access,
    history: Mutex<History>,
    /// The last result of ADVISE.
    advised: Mutex<Option<Advised>>,
    /// Held while a statement is planned or run: one at a time.
    at_work: Mutex<()>,
}

impl Console {
    /// Serves the console of `instance` on the listener's address.
    ///
    /// # Errors
    /// The system has no thread, or no random numbers for the token.
    pub fn start(instance: Arc<Instance>, listener: TcpListener) -> io::Result<Console> {
        let access = Access::new(listener.local_addr()?.port())?;
        let query = access.query();
        let shared = Arc::new(Shared {
            instance,
            access,
            history: Mutex::default(),
            advised: Mutex::default(),
            at_work: Mutex::default(),
        });
        let watched = shared.clone();
        let history = Worker::start(ThreadName::ConsoleHistory, OnPanic::LeaveOut, Next::Now, move || {
            watched.history.lock().look(&watched.instance);
            Next::After(LOOK)
        })?;
        let http = HttpServer::start(listener, "console", Box::new(move |request| shared.answer(request)))?;
        Ok(Console { http, query, _history: history })
    }

    /// Returns the address that the console listens on.
    pub fn address(&self) -> SocketAddr {
        self.http.address()
    }

    /// Returns the query string, with the token, that a browser has to open.
    pub fn query(&self) -> &str {
        &self.query
    }
}

impl Shared {
    fn answer(&self, request: &Request) -> Answer {
        let mut answer = self.access.refuse(request).unwrap_or_else(|| self.admitted(request));
        answer.headers.extend(
            [
                ("Content-Security-Policy", POLICY),
                ("Referrer-Policy", "no-referrer"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
                ("X-Frame-Options", "DENY"),
            ]
            .map(|(name, value)| (name, value.to_owned())),
        );
        answer
    }

    /// Answers a request that has the token.
    fn admitted(&self, request: &Request) -> Answer {
        if let Some((_, content_type, content)) = ASSETS.iter().find(|(path, ..)| *path == request.path) {
            return Answer::of(content_type, *content);
        }
        let found = match request.path.as_str() {
            "/api/status" => Ok(self.status()),
            "/api/statements" => Ok(self.statements()),
            "/api/indexes" => Ok(self.indexes()),
            "/api/map" => self.map(request),
            "/api/plan" => self.plan(request),
            "/api/advice" => self.advice(request),
            "/api/supposed" => self.supposed(request),
            _ => return Answer::failure(404, "there is nothing here"),
        };
        match found {
            Ok(value) => Answer::of("application/json", value.to_string()),
            Err(answers::Refusal(status, why)) => Answer::failure(status, &why),
        }
    }
}
