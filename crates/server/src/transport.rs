//! A client's byte stream: a socket, in clear or under TLS.
//!
//! Until the client is let in, one deadline holds for all reads together, so that a client that sends a byte now and then gets
//! no more time than a silent one.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ServerConnection, Stream};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A socket.
#[derive(Debug)]
enum Kind {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A client's socket.
#[derive(Debug)]
pub(crate) struct Socket {
    kind: Kind,
    /// Time from which on reads fail.
    deadline: Option<Instant>,
    /// Longest wait of the next read, where there is no deadline; zero for ever.
    patience: Duration,
    /// Longest wait of the reads after the first byte.
    patience_within: Duration,
    /// No byte has come since the timeouts were set.
    is_idle: bool,
    /// The timeout that the system has.
    told: Duration,
    /// Bytes that were read before TLS began, which TLS reads again.
    unread: Vec<u8>,
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Socket {
        Socket::over(Kind::Tcp(stream))
    }
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Socket {
        Socket::over(Kind::Unix(stream))
    }
}

impl Socket {
    fn over(kind: Kind) -> Socket {
        // Zero means no timeout, for the system too.
        let none = Duration::ZERO;
        Socket {
            kind,
            deadline: None,
            patience: none,
            patience_within: none,
            is_idle: false,
            told: none,
            unread: Vec::new(),
        }
    }

    /// Sets the system's timeout for the next read.
    fn limit_wait(&mut self) -> io::Result<()> {
        let mut wait = self.patience;
        if let Some(deadline) = self.deadline {
            wait = deadline.saturating_duration_since(Instant::now());
            if wait.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        if wait != self.told {
            let timeout = Some(wait).filter(|wait| !wait.is_zero());
            match &self.kind {
                Kind::Tcp(stream) => stream.set_read_timeout(timeout)?,
                Kind::Unix(stream) => stream.set_read_timeout(timeout)?,
            }
            self.told = wait;
        }
        Ok(())
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.unread.is_empty() {
            let bytes = buffer.len().min(self.unread.len());
            for (place, byte) in buffer.iter_mut().zip(self.unread.drain(..bytes)) {
                *place = byte;
            }
            return Ok(bytes);
        }
        self.limit_wait()?;
        let read = match &mut self.kind {
            Kind::Tcp(stream) => stream.read(buffer),
            Kind::Unix(stream) => stream.read(buffer),
        };
        if read.is_ok() {
            self.patience = self.patience_within;
            self.is_idle = false;
        }
        read
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Tcp(stream) => stream.write(buffer),
            Kind::Unix(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Tcp(stream) => stream.flush(),
            Kind::Unix(stream) => stream.flush(),
        }
    }
}

/// A socket, and TLS over it if that has begun.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: Socket,
    tls: Option<Box<ServerConnection>>,
}

impl From<Socket> for Transport {
    fn from(socket: Socket) -> Transport {
        Transport { socket, tls: None }
    }
}

impl Transport {
    /// Puts TLS over the socket. `unread` has the client's bytes that were read already. The next read makes the handshake.
    pub(crate) fn start_tls(&mut self, tls: ServerConnection, unread: Vec<u8>) {
        self.socket.unread = unread;
        self.tls = Some(Box::new(tls));
    }

    /// Returns the state of TLS, if it has begun.
    pub(crate) fn tls(&self) -> Option<&ServerConnection> {
        self.tls.as_deref()
    }

    /// Returns whether others cannot read the bytes: under TLS or on a Unix socket.
    pub(crate) fn is_secure(&self) -> bool {
        self.tls.is_some() || matches!(self.socket.kind, Kind::Unix(_))
    }

    /// Sets the time from which on reads fail. With `None` the read timeouts hold.
    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.socket.deadline = deadline;
    }

    /// Sets timeouts: the next read fails after `idle` seconds without a byte, and reads after the first byte after `within` seconds.
    pub(crate) fn set_read_timeouts(&mut self, idle: u64, within: u64) {
        self.socket.patience = Duration::from_secs(idle);
        self.socket.patience_within = Duration::from_secs(within);
        self.socket.is_idle = true;
    }

    /// Returns whether no byte has come since the timeouts were set.
    pub(crate) fn is_idle(&self) -> bool {
        self.socket.is_idle
    }

    /// Sets the timeout of writes: a write fails after `seconds` in which the client takes nothing.
    pub(crate) fn set_write_timeout(&self, seconds: u64) -> io::Result<()> {
        let timeout = Some(Duration::from_secs(seconds));
        match &self.socket.kind {
            Kind::Tcp(stream) => stream.set_write_timeout(timeout),
            Kind::Unix(stream) => stream.set_write_timeout(timeout),
        }
    }

    /// Waits for `time`, or until the client has gone.
    pub(crate) fn rest(&self, time: Duration) {
        let Ok(time) = Timespec::try_from(time) else { return };
        let mut polled = match &self.socket.kind {
            Kind::Tcp(stream) => [PollFd::new(stream, PollFlags::RDHUP)],
            Kind::Unix(stream) => [PollFd::new(stream, PollFlags::RDHUP)],
        };
        // A signal may shorten the wait.
        let _ = poll(&mut polled, Some(&time));
    }
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.read(buffer),
            Some(tls) => Stream::new(&mut **tls, &mut self.socket).read(buffer),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.write(buffer),
            Some(tls) => Stream::new(&mut **tls, &mut self.socket).write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => self.socket.flush(),
            Some(tls) => Stream::new(&mut **tls, &mut self.socket).flush(),
        }
    }
}
