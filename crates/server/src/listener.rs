//! Listening on TCP and on a Unix socket, one thread per connection, one that watches for clients that have gone, and stopping.
//!
//! Stopping takes no new connections, tells every session to end, waits for the connections' threads and removes the
//! socket. A client that is idle is cut off; a statement that runs ends with error 1317.
//!
//! Sessions and handshakes are bounded apart, so that clients that never log in keep nobody out. `Instance::new_session` counts sessions against
//! `max_connections`. Of handshakes there are as many as `max_connections` at a time, within `HANDSHAKES`; who comes then takes the place of the one
//! that has waited longest, which is cut off. Where as many that were cut off have not ended yet, one waits for them, `MOST_WAIT` at most. Where
//! all places of sessions are taken, the reserved one too, a client is told so, 1040, and no thread is made.

use crate::connection::serve;
use crate::login::{Gate, Log, Peer};
use crate::tls::Tls;
use crate::transport::{Socket, Transport};
use crate::watcher::{TICK, Watched, deserted};
use leafline_protocol::packet::PacketStream;
use leafline_protocol::reply::put_early_error;
use leafline_sql::Instance;
use leafline_storage::worker::{OnPanic, ThreadName, Worker};
use leafline_syntax::MAX_NESTING;
use leafline_types::statement::CancelReason;
use leafline_types::{MysqlError, memory};
use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Stack of a connection's thread, and how deep statements may nest there. It takes no memory before it is used.
const STACK: Stack = Stack { bytes: 8 << 20, nesting: 200 };
/// Stack of a connection's thread in a process whose address space or data is limited: such limits count stacks before they are used.
const STACK_WITHIN_LIMITS: Stack = Stack { bytes: 2 << 20, nesting: MAX_NESTING };

/// How many handshakes may be under way at a time: `max_connections`, but no fewer and no more than these.
const HANDSHAKES: RangeInclusive<usize> = 32..=1024;

/// How long a client waits for the end of handshakes that were cut off.
const MOST_WAIT: Duration = Duration::from_secs(2);

/// What keeps a server from starting.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// An address or a socket cannot be listened on.
    #[error("cannot listen on {place}: {source}")]
    Listen {
        /// Address or path.
        place: String,
        /// Why not.
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}

/// Where to listen. Bound before the database is opened, so that an address in use costs nothing.
#[derive(Default)]
pub struct Listeners {
    tcp: Option<TcpListener>,
    unix: Option<(UnixListener, PathBuf)>,
}

impl Listeners {
    /// Nothing yet.
    pub fn new() -> Listeners {
        Listeners::default()
    }

    /// Listens on a TCP address; port 0 takes a free one.
    ///
    /// # Errors
    /// `Listen`.
    pub fn tcp(&mut self, host: &str, port: u16) -> Result<SocketAddr, ServerError> {
        let failed = |source| ServerError::Listen { place: format!("{host}:{port}"), source };
        let listener = TcpListener::bind((host, port)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        self.tcp = Some(listener);
        Ok(address)
    }

    /// Listens on a Unix socket, replacing one that nobody listens on any more.
    ///
    /// # Errors
    /// `Listen`; also if another server listens there.
    pub fn unix(&mut self, path: &Path) -> Result<(), ServerError> {
        let failed = |source| ServerError::Listen { place: path.display().to_string(), source };
        if path.exists() {
            if UnixStream::connect(path).is_ok() {
                return Err(failed(io::Error::from(io::ErrorKind::AddrInUse)));
            }
            std::fs::remove_file(path).map_err(failed)?;
        }
        let listener = UnixListener::bind(path).map_err(failed)?;
        self.unix = Some((listener, path.to_owned()));
        Ok(())
    }
}

/// How clients are served.
pub struct ServerOptions {
    /// What TLS is offered with; without it, it is not.
    pub tls: Option<Tls>,
    /// The database's directory, where keys are kept.
    pub directory: PathBuf,
    /// Where the lines of the log go.
    pub log: Log,
}

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    /// The threads that accept connections, and the one that watches them.
    helpers: Vec<(ThreadName, Worker)>,
    tcp: Option<SocketAddr>,
    unix: Option<PathBuf>,
}

/// The stack of a thread.
#[derive(Clone, Copy)]
struct Stack {
    bytes: usize,
    /// Levels of a statement that its parser, binder, optimizer and operators have room for.
    nesting: usize,
}

impl Stack {
    fn of_connections() -> Stack {
        let mut limits = [Resource::As, Resource::Data].into_iter().map(getrlimit);
        if limits.any(|limit| limit.current.is_some()) { STACK_WITHIN_LIMITS } else { STACK }
    }
}

/// How far a connection is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its client has not logged in yet.
    Handshake,
    /// It had not logged in, and its place was needed: its thread is about to end.
    CutOff,
    /// Its client has logged in.
    Session,
}

struct OpenConnection {
    stage: Stage,
    cutter: Cutter,
    watched: Watched,
    /// Once it has been started.
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    instance: Arc<Instance>,
    gate: Gate,
    stack: Stack,
    stopping: AtomicBool,
    /// By number, so that older ones come first.
    connections: Mutex<BTreeMap<u64, OpenConnection>>,
    /// Wakes the watcher: there is a connection again, or the server stops.
    connected: Condvar,
    /// Wakes who waits for room: a handshake that was cut off has ended.
    cut_off_ended: Condvar,
}

/// Cuts a connection off.
enum Cutter {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Server {
    /// Serves `instance` on what `listeners` listen on.
    ///
    /// # Errors
    /// `Thread`.
    pub fn start(
        instance: Arc<Instance>,
        listeners: Listeners,
        options: ServerOptions,
    ) -> Result<Server, ServerError> {
        raise_descriptor_limit();
        let stack = Stack::of_connections();
        let shared = Arc::new(Shared {
            instance,
            gate: Gate::new(options.tls, options.directory, options.log, stack.nesting),
            stack,
            stopping: AtomicBool::new(false),
            connections: Mutex::default(),
            connected: Condvar::new(),
            cut_off_ended: Condvar::new(),
        });
        let mut server = Server { shared, helpers: Vec::new(), tcp: None, unix: None };
        let watching = server.shared.clone();
        server.help(ThreadName::WatchClients, move || watching.watch_clients())?;
        if let Some(listener) = listeners.tcp {
            server.tcp = Some(listener.local_addr()?);
            let shared = server.shared.clone();
            server.help(ThreadName::AcceptTcp, move || {
                shared.accept_all(|| {
                    let (stream, address) = listener.accept()?;
                    stream.set_nodelay(true)?;
                    let address = address.ip().to_canonical();
                    let local = address.is_loopback();
                    let host = if local { "localhost".into() } else { address.to_string() };
                    let peer = Peer { host, local, address: Some(address) };
                    Ok((Cutter::Tcp(stream.try_clone()?), stream.into(), peer))
                });
            })?;
        }
        if let Some((listener, path)) = listeners.unix {
            server.unix = Some(path);
            let shared = server.shared.clone();
            server.help(ThreadName::AcceptSocket, move || {
                shared.accept_all(|| {
                    let (stream, _) = listener.accept()?;
                    let peer = Peer { host: "localhost".into(), local: true, address: None };
                    Ok((Cutter::Unix(stream.try_clone()?), stream.into(), peer))
                });
            })?;
        }
        Ok(server)
    }

    fn help(&mut self, name: ThreadName, run: impl FnOnce() + Send + 'static) -> Result<(), ServerError> {
        self.helpers.push((name, Worker::spawn(name, OnPanic::LeaveOut, run)?));
        Ok(())
    }

    /// The TCP address that is served.
    pub fn address(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// Stops: see the module. The instance stays open.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // The acceptors wait for a connection: here is one.
        if let Some(mut address) = self.tcp {
            if address.ip().is_unspecified() {
                address.set_ip(if address.is_ipv4() {
                    std::net::Ipv4Addr::LOCALHOST.into()
                } else {
                    std::net::Ipv6Addr::LOCALHOST.into()
                });
            }
            let _ = TcpStream::connect_timeout(&address, Duration::from_secs(1));
        }
        // Where the name of the socket is gone, its acceptor cannot be reached: it ends with the process.
        let lost = self.unix.as_ref().is_some_and(|path| UnixStream::connect(path).is_err());
        {
            let _connections = self.shared.connections.lock();
            self.shared.connected.notify_all();
        }
        for (name, helper) in self.helpers.drain(..) {
            match lost && name == ThreadName::AcceptSocket {
                true => helper.detach(),
                false => helper.join(),
            }
        }
        let mut threads = Vec::new();
        for connection in self.shared.connections.lock().values_mut() {
            connection.cutter.cut();
            threads.extend(connection.thread.take());
        }
        self.shared.instance.kill_all(CancelReason::ConnectionKilled);
        for thread in threads {
            let _ = thread.join();
        }
        if let Some(path) = &self.unix {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Shared {
    fn accept_all(self: &Arc<Self>, accept: impl Fn() -> io::Result<(Cutter, Socket, Peer)>) {
        while !self.stopping.load(Ordering::SeqCst) {
            match accept() {
                Ok(_) if self.stopping.load(Ordering::SeqCst) => return,
                Ok((cutter, socket, peer)) => self.start_connection(cutter, socket.into(), peer),
                // Out of descriptors, or the client is gone already: others may still come.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    fn start_connection(self: &Arc<Self>, cutter: Cutter, transport: Transport, peer: Peer) {
        let number = self.instance.new_connection_id();
        let shared = self.clone();
        // Held until the thread is noted, so that it cannot end before.
        let mut connections = self.connections.lock();
        if !self.make_room(&mut connections) {
            drop(connections);
            turn_away(transport);
            return;
        }
        let watched = Watched::default();
        let activity = watched.activity.clone();
        connections.insert(number, OpenConnection { stage: Stage::Handshake, cutter, watched, thread: None });
        if connections.len() == 1 {
            self.connected.notify_all();
        }
        let run = move || {
            memory::server::statement_begins();
            let logged_in = || {
                if let Some(connection) = shared.connections.lock().get_mut(&number) {
                    connection.stage = Stage::Session;
                }
            };
            // A panic is contained by the session, or closes the connection; here it must not keep its place.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                serve(transport, (&shared.gate, &peer), &shared.instance, number, &activity, logged_in)
            }));
            memory::server::give_back();
            let ended = shared.connections.lock().remove(&number);
            if ended.is_some_and(|connection| connection.stage == Stage::CutOff) {
                shared.cut_off_ended.notify_all();
            }
        };
        match ThreadName::Connection(number).builder().stack_size(self.stack.bytes).spawn(run) {
            Ok(thread) => {
                if let Some(connection) = connections.get_mut(&number) {
                    connection.thread = Some(thread);
                }
            }
            Err(_) => {
                connections.remove(&number);
            }
        }
    }
}

impl Shared {
    /// Makes room for another handshake, and says whether there is any: at the price of the oldest one where there are too many. There is none
    /// where nobody could log in, and where those that were cut off do not end.
    fn make_room(&self, connections: &mut MutexGuard<'_, BTreeMap<u64, OpenConnection>>) -> bool {
        let most = usize::try_from(self.instance.max_connections()).unwrap_or(usize::MAX);
        let handshakes = most.clamp(*HANDSHAKES.start(), *HANDSHAKES.end());
        let until = Instant::now() + MOST_WAIT;
        loop {
            let count = |stage| connections.values().filter(|connection| connection.stage == stage).count();
            if count(Stage::Session) > most {
                return false;
            }
            if count(Stage::CutOff) < handshakes {
                break;
            }
            if self.cut_off_ended.wait_until(connections, until).timed_out() {
                return false;
            }
        }
        let in_handshake = |connection: &&mut OpenConnection| connection.stage == Stage::Handshake;
        if connections.values_mut().filter(in_handshake).count() >= handshakes
            && let Some(oldest) = connections.values_mut().find(in_handshake)
        {
            oldest.stage = Stage::CutOff;
            oldest.cutter.cut();
        }
        true
    }

    /// Ends the statements of clients that have gone.
    fn watch_clients(&self) {
        let mut connections = self.connections.lock();
        while !self.stopping.load(Ordering::SeqCst) {
            let long: Vec<(u64, &Cutter)> = connections
                .iter_mut()
                .filter_map(|(number, open)| open.watched.is_long().then_some((*number, &open.cutter)))
                .collect();
            for number in deserted(&long) {
                // It may have ended by itself.
                let _ = self.instance.kill(number, CancelReason::ConnectionKilled);
            }
            match connections.is_empty() {
                true => self.connected.wait(&mut connections),
                false => drop(self.connected.wait_for(&mut connections, TICK)),
            }
        }
    }
}

impl AsFd for &Cutter {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Cutter::Tcp(stream) => stream.as_fd(),
            Cutter::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Cutter {
    fn cut(&self) {
        let _ = match self {
            Cutter::Tcp(stream) => stream.shutdown(Shutdown::Read),
            Cutter::Unix(stream) => stream.shutdown(Shutdown::Read),
        };
    }
}

/// As many open files as the system lets the process have: each connection takes two.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // With fewer there are fewer connections.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Tells a client that there is no place for it. What it cannot be told at once it is not told.
fn turn_away(transport: Transport) {
    let mut packets = PacketStream::new(transport, 0);
    let _ = packets.stream().set_write_timeout(1);
    let said = packets.write(|out| put_early_error(out, &MysqlError::too_many_connections()));
    let _ = said.and_then(|()| packets.flush());
}
