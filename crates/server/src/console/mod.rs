//! `leafline serve --console`: what a database does, in a browser.
//!
//! | module | is |
//! |---|---|
//! | `access` | the token, the cookie |
//! | `answers` | what is asked for, as JSON |
//! | `plans` | the plans of statements, drawn and run, with indexes that are not there |
//! | `shapes` | the JSON of figures |
//!
//! It only looks: a statement that was counted is planned, and run if it is a query that locks nothing, in a transaction that cannot write and for
//! ten seconds at most, when somebody asks for that. No statement comes from the browser: it names those that were counted, and indexes that were
//! proposed. Its pages are in the binary (`assets`), have no scripts within them and load nothing from elsewhere; what is not the server's own
//! is put into them as text.
//!
//! A thread takes a sample of what ran every few seconds; all else is done when a browser asks.

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

/// Between two samples of what ran.
const LOOK: Duration = Duration::from_secs(5);

/// What a page may load, and from where: nothing but its own files.
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

/// The console at work. It ends when it is dropped.
pub struct Console {
    http: HttpServer,
    query: String,
    /// Notes what the instance does for the history.
    _history: Worker,
}

struct Shared {
    instance: Arc<Instance>,
    access: Access,
    history: Mutex<History>,
    /// What was proposed last.
    advised: Mutex<Option<Advised>>,
    /// Held by who plans and runs statements: one at a time.
    at_work: Mutex<()>,
}

impl Console {
    /// Serves the console of `instance` on what the listener listens on.
    ///
    /// # Errors
    /// Why there is no thread for it, or no token.
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.http.address()
    }

    /// What is to be opened in a browser, but for the host.
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

    /// The answer to who has the token.
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
