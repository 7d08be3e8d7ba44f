//! The listener: accepts connections on TCP and on a Unix socket, runs a thread for each and one that notices clients that have
//! gone, and stops the server.
//!
//! Stopping the server refuses new connections, tells every session to end, waits for the connections' threads and removes the
//! socket. An idle client is cut off; a running statement ends with error 1317.
//!
//! Sessions and handshakes have separate bounds, so that clients that never log in keep nobody out. `Instance::new_session`
//! counts sessions against `max_connections`. The bound of handshakes is `max_connections` too, clamped to `HANDSHAKES`. A
//! client that comes when all handshakes are taken replaces the one that has waited longest, which is cut off. When as many
//! cut-off handshakes have not ended yet, the client waits for one of them, for at most `MOST_WAIT`. When all sessions are
//! taken, even the reserved one, a client gets error 1040 and no thread.

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

/// Stack of a connection's thread, and the nesting of statements that it allows. Untouched stack takes no memory.
const STACK: Stack = Stack { bytes: 8 << 20, nesting: 200 };
/// Stack of a connection's thread in a process whose address space or data is limited: such limits count untouched stack, too.
const STACK_WITHIN_LIMITS: Stack = Stack { bytes: 2 << 20, nesting: MAX_NESTING };

/// Range of the bound of handshakes: `max_connections`, but no fewer and no more than these.
const HANDSHAKES: RangeInclusive<usize> = 32..=1024;

/// Longest wait of a client for the end of a handshake that was cut off.
const MOST_WAIT: Duration = Duration::from_secs(2);

/// An error that keeps a server from starting.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// An address or a socket cannot be listened on.
    #[error("cannot listen on {place}: {source}")]
    Listen {
        /// Address or path.
        place: String,
        /// The reason.
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}

/// The sockets to listen on. They are bound before the database is opened, so that an address in use costs nothing.
#[derive(Default)]
pub struct Listeners {
    tcp: Option<TcpListener>,
    unix: Option<(UnixListener, PathBuf)>,
}

impl Listeners {
    /// Listens on nothing yet.
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
    /// `Listen`, also if another server listens on the path.
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

/// Options of a server.
pub struct ServerOptions {
    /// The certificate and the key of TLS. `None` offers no TLS.
    pub tls: Option<Tls>,
    /// The database's directory, where keys are kept.
    pub directory: PathBuf,
    /// Takes the lines of the log.
    pub log: Log,
}

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    /// The threads that accept connections, and the watcher.
    helpers: Vec<(ThreadName, Worker)>,
    tcp: Option<SocketAddr>,
    unix: Option<PathBuf>,
}

/// The stack of a thread.
#[derive(Clone, Copy)]
struct Stack {
    bytes: usize,
    /// Levels of nesting for which the parser, binder, optimizer and operators have enough stack.
    nesting: usize,
}

impl Stack {
    fn of_connections() -> Stack {
        let mut limits = [Resource::As, Resource::Data].into_iter().map(getrlimit);
        if limits.any(|limit| limit.current.is_some()) { STACK_WITHIN_LIMITS } else { STACK }
    }
}

/// The stage of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The client has not logged in yet.
    Handshake,
    /// The handshake was cut off because its place was needed. The thread is about to end.
    CutOff,
    /// The client has logged in.
    Session,
}

struct OpenConnection {
    stage: Stage,
    cutter: Cutter,
    watched: Watched,
    /// The connection's thread, once it is started.
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    instance: Arc<Instance>,
    gate: Gate,
    stack: Stack,
    stopping: AtomicBool,
    /// Open connections by number: older ones come first.
    connections: Mutex<BTreeMap<u64, OpenConnection>>,
    /// Wakes the watcher: a first connection is open, or the server stops.
    connected: Condvar,
    /// Wakes the acceptor that waits for room: a handshake that was cut off has ended.
    cut_off_ended: Condvar,
}

/// A second handle of a socket, which cuts its connection off.
enum Cutter {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Server {
    /// Serves `instance` on the sockets of `listeners`.
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

    /// Returns the TCP address of the server.
    pub fn address(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// Stops the server, as the module says. The instance stays open.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Connections wake the acceptors, which then see that the server stops.
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
        // Without the socket's file its acceptor cannot be woken. That thread ends with the process.
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
                // The process has no descriptor left, or the client is gone already. Later connections may succeed.
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    fn start_connection(self: &Arc<Self>, cutter: Cutter, transport: Transport, peer: Peer) {
        let number = self.instance.new_connection_id();
        let shared = self.clone();
        // The lock is held until the thread is noted, so that the thread cannot end before.
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
            // The session contains a panic, or the panic closes the connection. The connection must give up its place here either way.
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
    /// Makes room for another handshake: cuts the oldest one off when there are too many. Returns false if all sessions are taken,
    /// or if handshakes that were cut off do not end.
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

    /// Runs the watcher: ends the statements of clients that have gone.
    fn watch_clients(&self) {
        let mut connections = self.connections.lock();
        while !self.stopping.load(Ordering::SeqCst) {
            let long: Vec<(u64, &Cutter)> = connections
                .iter_mut()
                .filter_map(|(number, open)| open.watched.is_long().then_some((*number, &open.cutter)))
                .collect();
            for number in deserted(&long) {
                // The connection may have ended by itself.
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

/// Raises the limit of open files to the most that the system allows: each connection takes two.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // A failure only means fewer connections.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Sends error 1040 to a client for which there is no place. Does not wait for a client that does not read.
fn turn_away(transport: Transport) {
    let mut packets = PacketStream::new(transport, 0);
    let _ = packets.stream().set_write_timeout(1);
    let said = packets.write(|out| put_early_error(out, &MysqlError::too_many_connections()));
    let _ = said.and_then(|()| packets.flush());
}
