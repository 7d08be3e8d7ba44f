//! Login of a client: greeting, TLS, proof of the password.
//!
//! | from | packet |
//! |---|---|
//! | server | the greeting, with a challenge |
//! | client | only for TLS: the beginning of its response; then TLS begins |
//! | client | its response: the user, and the plugin's answer to the challenge |
//! | server | if the account has another plugin: the request to switch to that plugin, with another challenge |
//! | client | the other plugin's answer |
//! | server | OK, or an error |
//!
//! The server can check an answer of `caching_sha2_password` only after it has seen the password once. Until then these packets
//! come before the last one:
//!
//! | from | packet |
//! |---|---|
//! | server | 01 04: a request for the password (01 03: the server knows the password, and the answer is right) |
//! | client | over TLS or a Unix socket the password and a zero byte; otherwise 02, a request for the public key, unless it has the key |
//! | server | 01 and the public key |
//! | client | the password, encrypted: see `key_pair` |
//!
//! A client cannot tell a wrong password from an account that does not exist or does not allow its host: the packets are the
//! same.

mod failures;
mod key_pair;

use crate::convert::status_of;
use crate::tls::{Tls, cipher_name, version_name};
use crate::transport::Transport;
use crate::x509;
use failures::Failures;
use key_pair::KeyPair;
use leafline_protocol::handshake::{
    FAST_OK, Greeting, HandshakeResponse, PUBLIC_KEY, SEND_PASSWORD, Switch, is_tls_request, put_more_data,
};
use leafline_protocol::packet::PacketStream;
use leafline_protocol::reply::{OkPacket, put_error};
use leafline_protocol::{WireError, capability as cap, status};
use leafline_sql::accounts::password::{AuthPlugin, CHALLENGE_BYTES, StoredPassword, Verdict};
use leafline_sql::accounts::{AccountId, Blocked, Login, TlsClient};
use leafline_sql::settings::{ConnectionFacts, TlsFacts};
use leafline_sql::{Instance, Session};
use leafline_types::MysqlError;
use rand::TryRngCore;
use rand::rngs::OsRng;
use rustls::ServerConnection;
use std::fmt::Write as _;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Takes the lines of the server's log.
pub type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// Bytes of an answer of `caching_sha2_password`.
const SHA2_ANSWER: usize = 32;

/// The client's side of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The host for messages: `localhost` or an address.
    pub(crate) host: String,
    /// The client is on this machine: it uses a Unix socket or a loopback address.
    pub(crate) local: bool,
    /// The client's address; `None` for a Unix socket.
    pub(crate) address: Option<IpAddr>,
}

/// Lets clients in: has the certificate, the key pair and the counts of failed logins.
pub(crate) struct Gate {
    tls: Option<Tls>,
    keys: KeyPair,
    failures: Failures,
    log: Log,
    /// Nesting that the statements of the sessions may have.
    nesting: usize,
}

/// A client that was let in.
pub(crate) struct LoggedIn {
    pub(crate) session: Session,
    pub(crate) capabilities: u32,
}

/// The result of a login, whose error goes to the client.
type Outcome<T> = Result<T, MysqlError>;

impl Gate {
    /// Makes a gate with a key pair in `directory`.
    pub(crate) fn new(tls: Option<Tls>, directory: PathBuf, log: Log, nesting: usize) -> Gate {
        Gate { tls, keys: KeyPair::of(directory), failures: Failures::default(), log, nesting }
    }

    /// Lets a client in, or turns it away and returns `None`. Calls `logged_in` before the client gets the OK.
    ///
    /// # Errors
    /// The connection is broken, or the client breaks the protocol.
    pub(crate) fn admit(
        &self,
        packets: &mut PacketStream<Transport>,
        instance: &Arc<Instance>,
        number: u64,
        peer: &Peer,
        logged_in: impl FnOnce(),
    ) -> Result<Option<LoggedIn>, WireError> {
        extend_deadline(packets, instance);
        let challenge = challenge()?;
        let offered = self.offered(instance);
        let greeting = Greeting {
            version: instance.facts().version.clone(),
            connection_id: number as u32,
            challenge: challenge.to_vec(),
            capabilities: offered,
            status: status::AUTOCOMMIT,
            plugin: instance.facts().default_plugin.name().to_owned(),
        };
        packets.write(|out| greeting.put(out))?;
        let mut packet = Vec::new();
        if !packets.read(&mut packet)? {
            return Ok(None);
        }
        if let Some(tls) = self.tls.as_ref().filter(|_| is_tls_request(&packet)) {
            let begun = tls.accept().map_err(io::Error::other)?;
            let unread = packets.take_unread();
            packets.stream_mut().start_tls(begun, unread);
            if !packets.read(&mut packet)? {
                return Ok(None);
            }
        }
        let answer = HandshakeResponse::read(&packet, offered).map_err(WireError::Protocol)?;
        let admitted =
            self.authenticate(packets, instance, &answer, &challenge, peer)?.and_then(|(account, proof)| {
                let mut session = instance.new_session(number, (&answer.user, &peer.host), Some(account))?;
                session.connected(facts(packets.stream(), &answer));
                session.nest_up_to(self.nesting);
                if answer.capabilities & cap::SESSION_TRACK != 0 {
                    session.track_state();
                }
                session.described(answer.attributes.clone());
                session.greet(answer.collation);
                if let Some(database) = &answer.database {
                    session.set_database(database)?;
                }
                Ok((session, proof))
            });
        let session = match admitted {
            Ok((session, proof)) => {
                logged_in();
                let ok = OkPacket { status: status_of(&session), info: proof.into(), ..OkPacket::default() };
                packets.write(|out| ok.put(out))?;
                Some(session)
            }
            Err(error) => {
                packets.write(|out| put_error(out, &error))?;
                None
            }
        };
        packets.flush()?;
        packets.stream_mut().set_deadline(None);
        if let Some(algorithm) = answer.compression {
            packets.compress(algorithm);
        }
        Ok(session.map(|session| LoggedIn { session, capabilities: answer.capabilities }))
    }

    /// Returns the capabilities of the greeting.
    fn offered(&self, instance: &Instance) -> u32 {
        let algorithms = instance.compression_algorithms();
        let by_setting =
            [(self.tls.is_some(), cap::SSL), (algorithms.zlib, cap::COMPRESS), (algorithms.zstd, cap::ZSTD)];
        by_setting.iter().filter(|(on, _)| *on).fold(cap::OFFERED, |all, (_, flag)| all | flag)
    }

    /// Authenticates a client by its answer to `challenge`. Returns the account, and the [proof](Tls::proof) of the server's
    /// certificate for clients that ask for it, or the error for the client.
    ///
    /// # Errors
    /// The connection is broken.
    pub(crate) fn authenticate(
        &self,
        packets: &mut PacketStream<Transport>,
        instance: &Arc<Instance>,
        answer: &HandshakeResponse,
        challenge: &[u8; CHALLENGE_BYTES],
        peer: &Peer,
    ) -> Result<Outcome<(AccountId, String)>, WireError> {
        extend_deadline(packets, instance);
        if instance.requires_secure_transport() && !packets.stream().is_secure() {
            return Ok(Err(MysqlError::secure_transport_required()));
        }
        let wait = match self.failures.begin(peer.address, Instant::now()) {
            Ok(wait) => wait,
            Err(()) => return Ok(Err(MysqlError::host_is_blocked(&peer.host))),
        };
        if let Some(wait) = wait {
            packets.stream().rest(wait.time);
            extend_deadline(packets, instance);
        }
        let (account, password) = match instance.accounts().login(&answer.user, &peer.host) {
            Some((account, Login::Password(password))) => (Some(account), password),
            Some((_, Login::Locked(_))) => {
                let error = MysqlError::account_locked(&answer.user, &peer.host);
                return Ok(Err(self.refuse(error, answer, peer)));
            }
            Some((_, Login::Blocked(blocked))) => {
                return Ok(Err(self.refuse(blocked_error(&blocked, answer, peer), answer, peer)));
            }
            None => (None, StoredPassword::unknowable().map_err(WireError::Protocol)?),
        };
        let mut exchange =
            Exchange { packets, answer, challenge: *challenge, given: Vec::new(), keys: &self.keys };
        let is_right = match exchange.proves(&password)? {
            Ok(is_right) => is_right && (peer.local || !password.is_none()),
            Err(ExchangeFailure::Client(error)) => return Ok(Err(self.refuse(error, answer, peer))),
            Err(ExchangeFailure::Server(error)) => {
                (self.log)(&error);
                return Ok(Err(MysqlError::unknown_error(
                    "the server cannot check the password; see its log",
                )));
            }
        };
        // As in MySQL, a client that should have used TLS gets the error of a wrong password.
        let client = exchange.packets.stream().tls().map(client_of);
        let comes_right = |account: &AccountId| instance.accounts().accept(account, client.as_ref());
        let named = account.clone();
        let Some(account) = account.filter(|account| is_right && comes_right(account)) else {
            let blocked =
                named.filter(|_| !is_right).and_then(|named| instance.accounts().login_failed(&named));
            if let Some(blocked) = blocked {
                return Ok(Err(self.refuse(blocked_error(&blocked, answer, peer), answer, peer)));
            }
            let using = if exchange.given.is_empty() { "NO" } else { "YES" };
            let error = MysqlError::access_denied(&answer.user, &peer.host, using);
            return Ok(Err(self.refuse(error, answer, peer)));
        };
        self.failures.succeeded(peer.address);
        instance.accounts().login_succeeded(&account);
        let proof = match (&self.tls, password.native_hash()) {
            (Some(tls), Some(hash)) if exchange.packets.stream().tls().is_some() => {
                tls.proof(hash, &exchange.challenge)
            }
            _ => None,
        };
        Ok(Ok((account, proof.unwrap_or_default())))
    }

    /// Counts and logs a login that failed. Returns the error.
    fn refuse(&self, error: MysqlError, answer: &HandshakeResponse, peer: &Peer) -> MysqlError {
        self.failures.failed(peer.address, Instant::now());
        // The client chooses the name, so characters that are not plain text are escaped in the log.
        let mut line = format!("login refused: user '{}' from ", answer.user.escape_debug());
        let _ = match peer.address {
            Some(address) => write!(line, "{address}"),
            None => write!(line, "the socket"),
        };
        let _ = write!(line, ", error {}", error.code);
        (self.log)(&line);
        error
    }
}

/// Returns error 3955 for an account that failed logins have locked.
fn blocked_error(blocked: &Blocked, answer: &HandshakeResponse, peer: &Peer) -> MysqlError {
    let Blocked { days, remaining, failures } = blocked;
    MysqlError::account_blocked(&answer.user, &peer.host, days, remaining, failures)
}

/// Why the exchange about a password fails.
enum ExchangeFailure {
    /// The client does not support the exchange. It gets this error.
    Client(MysqlError),
    /// The server cannot do the exchange, for this reason.
    Server(String),
}

/// The exchange of packets about one password.
struct Exchange<'e> {
    packets: &'e mut PacketStream<Transport>,
    answer: &'e HandshakeResponse,
    challenge: [u8; CHALLENGE_BYTES],
    /// The client's last answer; empty without a password.
    given: Vec<u8>,
    keys: &'e KeyPair,
}

impl Exchange<'_> {
    /// Checks whether the client knows the password.
    fn proves(&mut self, password: &StoredPassword) -> Result<Result<bool, ExchangeFailure>, WireError> {
        self.take(self.answer.authentication.clone());
        let plugin = password.plugin();
        let used = self.answer.plugin.as_deref().unwrap_or(AuthPlugin::Native.name());
        // Both plugins give the same empty answer for an empty password. An empty answer of any other plugin proves nothing: MariaDB's
        // library begins with one that only waits for a request to switch, where it could not load the right one.
        let is_either = used.is_empty() || AuthPlugin::from_name(used).is_some();
        let is_no_password = password.is_none() && self.given.is_empty() && is_either;
        if used != plugin.name() && !is_no_password {
            if self.answer.capabilities & cap::PLUGIN_AUTH == 0 {
                return Ok(Err(ExchangeFailure::Client(MysqlError::unsupported_authentication())));
            }
            self.challenge = challenge()?;
            let switch = Switch { plugin: plugin.name().to_owned(), challenge: self.challenge.to_vec() };
            self.packets.write(|out| switch.put(out))?;
            let given = self.read()?;
            self.take(given);
        }
        let is_right = match password.check_answer(&self.challenge, &self.given) {
            Verdict::Right => {
                if plugin == AuthPlugin::CachingSha2 && !self.given.is_empty() {
                    self.packets.write(|out| put_more_data(out, &[FAST_OK]))?;
                }
                true
            }
            Verdict::Wrong => false,
            Verdict::Unknown => return self.ask(password),
        };
        Ok(Ok(is_right))
    }

    /// Takes an answer. A single zero byte means no password in `caching_sha2_password`.
    fn take(&mut self, given: Vec<u8>) {
        self.given = if given == [0] { Vec::new() } else { given };
    }

    /// Asks for the password itself and checks it.
    fn ask(&mut self, password: &StoredPassword) -> Result<Result<bool, ExchangeFailure>, WireError> {
        let is_secure = self.packets.stream().is_secure();
        // MariaDB's library sends the password over TLS in place of an answer. A password of 31 characters is as long as an answer.
        if is_secure && let Some((0, plain)) = self.given.split_last() {
            let is_right = password.verify(plain);
            if is_right || self.given.len() != SHA2_ANSWER {
                return Ok(Ok(is_right));
            }
        }
        self.packets.write(|out| put_more_data(out, &[SEND_PASSWORD]))?;
        let mut sent = self.read()?;
        if is_secure {
            return Ok(Ok(sent.pop() == Some(0) && password.verify(&sent)));
        }
        if sent == [PUBLIC_KEY] {
            let key = match self.keys.public() {
                Ok(key) => key,
                Err(error) => return Ok(Err(ExchangeFailure::Server(error))),
            };
            self.packets.write(|out| put_more_data(out, key.as_bytes()))?;
            sent = self.read()?;
        }
        Ok(match self.keys.decrypt(&sent, &self.challenge) {
            Ok(plain) => Ok(plain.is_some_and(|plain| password.verify(&plain))),
            Err(error) => Err(ExchangeFailure::Server(error)),
        })
    }

    fn read(&mut self) -> Result<Vec<u8>, WireError> {
        let mut packet = Vec::new();
        match self.packets.read(&mut packet)? {
            true => Ok(packet),
            false => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }
}

/// Makes a challenge of random bytes. None is zero, because clients read the challenge as text.
pub(crate) fn challenge() -> io::Result<[u8; CHALLENGE_BYTES]> {
    let mut bytes = [0; CHALLENGE_BYTES];
    OsRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.map(|byte| (byte & 0x7f).max(1)))
}

/// Sets the deadline of the client's next packets: `connect_timeout` from now.
fn extend_deadline(packets: &mut PacketStream<Transport>, instance: &Instance) {
    let deadline = Instant::now().checked_add(Duration::from_secs(instance.connect_timeout()));
    packets.stream_mut().set_deadline(deadline);
}

/// Returns what the requirements of accounts concern.
fn client_of(tls: &ServerConnection) -> TlsClient {
    let cipher = tls.negotiated_cipher_suite().map_or("", |suite| cipher_name(suite.suite()));
    let certificate = tls.peer_certificates().and_then(|chain| x509::names(chain.first()?));
    TlsClient { cipher, certificate }
}

/// Returns the facts about the connection that the session shows.
fn facts(transport: &Transport, answer: &HandshakeResponse) -> ConnectionFacts {
    let tls = transport.tls().and_then(|tls| {
        let suite = tls.negotiated_cipher_suite()?;
        let cipher = cipher_name(suite.suite());
        Some(TlsFacts { version: version_name(tls.protocol_version()?), cipher })
    });
    let compression = answer.compression.map(|algorithm| (algorithm.name(), algorithm.level()));
    ConnectionFacts { tls, compression, is_interactive: answer.capabilities & cap::INTERACTIVE != 0 }
}
