//! A small HTTP server for the metrics and the console.
//!
//! The server takes one GET or HEAD request without a body for each connection. Hostile clients cost little. At most
//! [`MOST_CONNECTIONS`] are served at a time. A request of at most [`MOST_HEAD`] bytes must arrive within [`TIME_TO_ASK`], and
//! the client must take the answer within [`TIME_TO_TAKE`].
//!
//! When all places are taken, a new connection takes the place of the one that has been without a request for longest, so that
//! clients that ask nothing keep nobody out. When all connections are being answered, a new one gets 503.

mod request;

pub(crate) use request::Request;

use leafline_storage::worker::{OnPanic, ThreadName, Worker};
use parking_lot::{Condvar, Mutex};
use request::{Refused, read};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Connections that are served at a time.
const MOST_CONNECTIONS: usize = 16;
/// Most bytes of a request.
const MOST_HEAD: usize = 16 << 10;
/// Time for a request to arrive.
const TIME_TO_ASK: Duration = Duration::from_secs(5);
/// Time for the client to take an answer.
const TIME_TO_TAKE: Duration = Duration::from_secs(30);
/// Bytes that are sent between two checks of the time.
const PIECE: usize = 64 << 10;
/// Bytes of stack of a thread that answers: statements run on it.
const STACK_BYTES: usize = 2 << 20;

/// An HTTP answer.
pub(crate) struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    /// Further headers, whose values have no line ends.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// Makes an answer of status 200.
    pub fn of(content_type: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status: 200, content_type, headers: Vec::new(), body: body.into() }
    }

    /// Makes a text answer of an error status.
    pub fn failure(status: u16, text: &str) -> Answer {
        Answer { status, ..Answer::of("text/plain; charset=utf-8", format!("{text}\n")) }
    }

    fn reason(&self) -> &'static str {
        match self.status {
            200 => "OK",
            303 => "See Other",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            421 => "Misdirected Request",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Internal Server Error",
        }
    }

    fn head(&self) -> String {
        let mut head = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\n",
            self.status,
            self.reason(),
            self.content_type,
            self.body.len()
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head
    }
}

/// The function that answers requests. Several threads call it at once.
pub(crate) type Handler = dyn Fn(&Request) -> Answer + Send + Sync;

/// A running HTTP server. Dropping it ends it.
pub(crate) struct HttpServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Worker,
}

struct Shared {
    stopping: AtomicBool,
    connections: Mutex<Connections>,
    /// Signalled when a connection ends.
    ended: Condvar,
    handler: Box<Handler>,
}

/// The open connections.
#[derive(Default)]
struct Connections {
    count: usize,
    /// Connections without a request so far, in the order of their arrival.
    asking: VecDeque<(u64, TcpStream)>,
    next: u64,
}

impl HttpServer {
    /// Serves the connections of the listener in threads of this name.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(listener: TcpListener, name: &'static str, handler: Box<Handler>) -> io::Result<HttpServer> {
        let address = listener.local_addr()?;
        let (stopping, connections) = (AtomicBool::new(false), Mutex::default());
        let shared = Arc::new(Shared { stopping, connections, ended: Condvar::new(), handler });
        let accepting = shared.clone();
        let run = move || accepting.accept_all(&listener, name);
        let acceptor = Worker::spawn(ThreadName::AcceptHttp(name), OnPanic::LeaveOut, run)?;
        Ok(HttpServer { shared, address, acceptor })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address.is_ipv4() {
                true => std::net::Ipv4Addr::LOCALHOST.into(),
                false => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        // A connection wakes the acceptor, which then sees that the server stops.
        let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
        self.acceptor.join();
        // Answers in progress end soon, because stopping the database ends their statements.
        let until = Instant::now() + TIME_TO_ASK;
        let mut connections = self.shared.connections.lock();
        while connections.count > 0 && !self.shared.ended.wait_until(&mut connections, until).timed_out() {}
    }
}

impl Shared {
    fn accept_all(self: &Arc<Self>, listener: &TcpListener, name: &'static str) {
        while !self.stopping.load(Ordering::SeqCst) {
            match listener.accept() {
                Ok(_) if self.stopping.load(Ordering::SeqCst) => return,
                Ok((stream, _)) => self.take(stream, name),
                // The process has no descriptor left, or the client is gone already. Later connections may succeed.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Serves a connection in a thread of its own.
    fn take(self: &Arc<Self>, stream: TcpStream, name: &'static str) {
        let Some(open) = self.open(&stream) else {
            // Sends as much as the socket takes without waiting.
            let _ = stream.set_nonblocking(true);
            let answer = Answer::failure(503, "too many connections");
            let _ = (&stream).write_all(&[answer.head().as_bytes(), &answer.body].concat());
            return;
        };
        let run = move || {
            // A client that has gone needs no answer.
            let _ = open.answer(stream);
        };
        // The connection closes if the system has no thread.
        let _ = ThreadName::AnswerHttp(name).builder().stack_size(STACK_BYTES).spawn(run);
    }

    /// Takes a place for a connection; `None` if all connections are being answered, or no descriptor is left.
    fn open(self: &Arc<Self>, stream: &TcpStream) -> Option<Open> {
        let stream = stream.try_clone().ok()?;
        let mut connections = self.connections.lock();
        if connections.count >= MOST_CONNECTIONS {
            let (_, oldest) = connections.asking.pop_front()?;
            // The thread of the oldest connection is reading; it sees the end and stops.
            let _ = oldest.shutdown(Shutdown::Both);
            while connections.count >= MOST_CONNECTIONS {
                self.ended.wait(&mut connections);
            }
        }
        connections.count += 1;
        connections.next += 1;
        let number = connections.next;
        connections.asking.push_back((number, stream));
        Some(Open { shared: self.clone(), number })
    }
}

/// The place of an open connection. Dropping it frees the place.
struct Open {
    shared: Arc<Shared>,
    number: u64,
}

impl Open {
    /// Notes that the request has come. Returns false if another connection has taken the place.
    fn has_asked(&self) -> bool {
        let asking = &mut self.shared.connections.lock().asking;
        let place = asking.iter().position(|(number, _)| *number == self.number);
        place.is_some_and(|place| asking.remove(place).is_some())
    }

    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let local = stream.local_addr()?.ip();
        let request = read(&mut stream, local);
        if !self.has_asked() {
            return Ok(());
        }
        let (answer, has_body) = match request {
            Ok(request) => ((self.shared.handler)(&request), !request.is_head),
            Err(Refused::Gone) => return Ok(()),
            Err(Refused::With(status, why)) => {
                let mut answer = Answer::failure(status, why);
                if status == 405 {
                    answer.headers.push(("Allow", "GET, HEAD".to_owned()));
                }
                (answer, true)
            }
        };
        let until = Instant::now() + TIME_TO_TAKE;
        let body = if has_body { &answer.body[..] } else { &[] };
        for piece in std::iter::once(answer.head().as_bytes()).chain(body.chunks(PIECE)) {
            let left = until.saturating_duration_since(Instant::now());
            stream.set_write_timeout(Some(left.max(Duration::from_millis(1))))?;
            stream.write_all(piece)?;
        }
        stream.shutdown(Shutdown::Write)?;
        // Closing with unread bytes would reset the connection and lose the answer, so some of them are read.
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        let mut rest = [0; 4096];
        for _ in 0..16 {
            if stream.read(&mut rest)? == 0 {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.has_asked();
        self.shared.connections.lock().count -= 1;
        self.shared.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve() -> HttpServer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let handler = |request: &Request| match request.path.as_str() {
            "/large" => Answer::of("text/plain", vec![b'x'; 1 << 20]),
            path => Answer::of("text/plain", format!("{path} {:?}", request.parameter("a"))),
        };
        HttpServer::start(listener, "test", Box::new(handler)).expect("a server")
    }

    fn ask(server: &HttpServer, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(server.address()).expect("a connection");
        // The server may have answered and closed already.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).expect("text")
    }

    #[test]
    fn requests_are_answered_and_what_is_none_is_refused() {
        let server = serve();
        let answer = ask(&server, b"GET /x%20y?b=1&a=%3C2+3 HTTP/1.1\r\nHost: h\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n/x y Some(\"<2 3\")"),
            "{answer}"
        );
        let head = ask(&server, b"HEAD /large HTTP/1.1\r\nHost: h\r\n\r\n");
        assert!(head.contains("Content-Length: 1048576\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        assert_eq!(
            ask(&server, b"GET /large HTTP/1.0\r\nHost: h\r\n\r\n").matches('x').count(),
            (1 << 20) + 1
        );
        for (request, status) in [
            (&b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"[..], 405),
            (b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", 400),
            (b"GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            (b"GET  / HTTP/9.9\r\n\r\n", 400),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
            (b"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            (b"GET /%ff HTTP/1.1\r\nHost: h\r\n\r\n", 400),
            (b"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        ] {
            let answer = ask(&server, request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
        }
        let long = [b"GET / HTTP/1.1\r\nX: ".to_vec(), vec![b'y'; 1 << 20]].concat();
        assert!(ask(&server, &long).starts_with("HTTP/1.1 431 "));
        let many = [b"GET / HTTP/1.1\r\n".to_vec(), b"A: b\r\n".repeat(500), b"\r\n".to_vec()].concat();
        assert!(ask(&server, &many).starts_with("HTTP/1.1 431 "));
    }

    #[test]
    fn slow_clients_keep_out_nobody_and_not_for_long() {
        let server = serve();
        let slow = || {
            let mut stream = TcpStream::connect(server.address()).expect("a connection");
            stream.write_all(b"GET / HT").expect("sent");
            stream
        };
        let mut slow: Vec<TcpStream> = (0..70).map(|_| slow()).collect();
        let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        for _ in 0..3 {
            assert!(ask(&server, request).starts_with("HTTP/1.1 200 "));
        }
        assert!(server.shared.connections.lock().count <= MOST_CONNECTIONS);
        let mut answer = String::new();
        // The first connections have lost their places, without an answer.
        let _ = slow[0].read_to_string(&mut answer);
        assert_eq!(answer, "");
        slow[69].read_to_string(&mut answer).expect("text");
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }

    #[test]
    fn who_comes_while_all_are_answered_is_sent_away() {
        let (begun, are_begun) = std::sync::mpsc::channel();
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock();
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let waits = gate.clone();
        let handler = move |_: &Request| {
            let _ = begun.send(());
            drop(waits.lock());
            Answer::of("text/plain", "late")
        };
        let server = HttpServer::start(listener, "test", Box::new(handler)).expect("a server");
        let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        std::thread::scope(|scope| {
            let asked: Vec<_> =
                (0..MOST_CONNECTIONS).map(|_| scope.spawn(|| ask(&server, request))).collect();
            (0..MOST_CONNECTIONS).for_each(|_| are_begun.recv().expect("a request"));
            // The 503 may be lost when the connection closes.
            while !ask(&server, request).starts_with("HTTP/1.1 503 ") {}
            drop(held);
            for answer in asked {
                assert!(answer.join().expect("an answer").ends_with("late"));
            }
        });
        assert!(ask(&server, request).starts_with("HTTP/1.1 200 "));
    }
}
