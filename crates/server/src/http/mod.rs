//! A small HTTP server for those who watch a database: metrics and the console.
//!
//! It takes GET and HEAD, a request for each connection, and nothing that has a body. Hostile clients cost little: at most [`MOST_CONNECTIONS`]
//! at a time are served; a request has to be there, whole and no longer than [`MOST_HEAD`] bytes, within [`TIME_TO_ASK`],
//! and its answer to be taken within [`TIME_TO_TAKE`]. Who comes when there are as many takes the place of the one that has been without a request for
//! longest, so that clients that ask for nothing keep nobody out; where all are being answered, it is sent away.

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
/// Bytes of a request.
const MOST_HEAD: usize = 16 << 10;
/// Time for a request to arrive.
const TIME_TO_ASK: Duration = Duration::from_secs(5);
/// Time for an answer to be taken.
const TIME_TO_TAKE: Duration = Duration::from_secs(30);
/// Bytes that are sent between two looks at the clock.
const PIECE: usize = 64 << 10;
/// Stack of a thread that answers: statements run on it.
const STACK_BYTES: usize = 2 << 20;

/// An answer.
pub(crate) struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    /// Further headers, whose values have no line ends.
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// An answer of some type.
    pub fn of(content_type: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status: 200, content_type, headers: Vec::new(), body: body.into() }
    }

    /// Something went wrong.
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

/// Answers requests, from several threads at once.
pub(crate) type Handler = dyn Fn(&Request) -> Answer + Send + Sync;

/// A running HTTP server. It ends when it is dropped.
pub(crate) struct HttpServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Worker,
}

struct Shared {
    stopping: AtomicBool,
    connections: Mutex<Connections>,
    /// One has ended.
    ended: Condvar,
    handler: Box<Handler>,
}

/// Those that are open.
#[derive(Default)]
struct Connections {
    count: usize,
    /// Those without a request so far, in the order in which they came.
    asking: VecDeque<(u64, TcpStream)>,
    next: u64,
}

impl HttpServer {
    /// Serves what comes to the listener, in threads of this name.
    ///
    /// # Errors
    /// Why there is no thread.
    pub fn start(listener: TcpListener, name: &'static str, handler: Box<Handler>) -> io::Result<HttpServer> {
        let address = listener.local_addr()?;
        let (stopping, connections) = (AtomicBool::new(false), Mutex::default());
        let shared = Arc::new(Shared { stopping, connections, ended: Condvar::new(), handler });
        let accepting = shared.clone();
        let run = move || accepting.accept_all(&listener, name);
        let acceptor = Worker::spawn(ThreadName::AcceptHttp(name), OnPanic::LeaveOut, run)?;
        Ok(HttpServer { shared, address, acceptor })
    }

    /// Where it listens.
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
        // The acceptor waits for a connection: here is one.
        let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
        self.acceptor.join();
        // What is being answered ends soon, as its statements are ended by whoever stops the database.
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
                // Out of descriptors, or the client is gone already: others may still come.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Serves a connection by a thread of its own.
    fn take(self: &Arc<Self>, stream: TcpStream, name: &'static str) {
        let Some(open) = self.open(&stream) else {
            // As much as there is room for without waiting.
            let _ = stream.set_nonblocking(true);
            let answer = Answer::failure(503, "too many connections");
            let _ = (&stream).write_all(&[answer.head().as_bytes(), &answer.body].concat());
            return;
        };
        let run = move || {
            // A client that has gone needs no answer.
            let _ = open.answer(stream);
        };
        // Where there is no thread to be had the connection is closed.
        let _ = ThreadName::AnswerHttp(name).builder().stack_size(STACK_BYTES).spawn(run);
    }

    /// A place for a connection; `None` if all are being answered, or there is no descriptor.
    fn open(self: &Arc<Self>, stream: &TcpStream) -> Option<Open> {
        let stream = stream.try_clone().ok()?;
        let mut connections = self.connections.lock();
        if connections.count >= MOST_CONNECTIONS {
            let (_, oldest) = connections.asking.pop_front()?;
            // Its thread reads, and ends as there is nothing more.
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

/// A connection that is counted as long as it is open.
struct Open {
    shared: Arc<Shared>,
    number: u64,
}

impl Open {
    /// It is no longer without a request. False if another has got its place.
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
        // What the client still sends would have the system take the answer back: some of that is read.
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
        // A server that has answered may read no more.
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
        // The first have lost their places, and are told nothing.
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
            // The answer can be lost with the connection.
            while !ask(&server, request).starts_with("HTTP/1.1 503 ") {}
            drop(held);
            for answer in asked {
                assert!(answer.join().expect("an answer").ends_with("late"));
            }
        });
        assert!(ask(&server, request).starts_with("HTTP/1.1 200 "));
    }
}
