//! Fuzzes the protocol: the decoders of packets of both halves, a client that receives arbitrary bytes, and a server that does.
//!
//! The first byte says which of them, and how packets are compressed. The server gets a login that is valid except
//! for its flags, so that it reads what follows: commands in well-formed packets, or bytes unchanged.

use crate::input::Input;
use leafline_protocol::binary::parameter::{read_attributes, read_parameters};
use leafline_protocol::bytes::Reader;
use leafline_protocol::client::{Answer, Client, ClientError, Login};
use leafline_protocol::column::ColumnDefinition;
use leafline_protocol::compression::Algorithm;
use leafline_protocol::handshake::{
    CACHING_SHA2_PASSWORD, Greeting, HandshakeResponse, Switch, is_tls_request,
};
use leafline_protocol::packet::PacketStream;
use leafline_protocol::prepared::{Execution, Fetch, LongData, Prepared};
use leafline_protocol::reply::{OkPacket, read_error};
use leafline_protocol::{binary, capability as cap, command, text};
use leafline_server::{Listeners, Server, ServerOptions};
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::StoreOptions;
use leafline_storage::device::SimulatedEnv;
use leafline_table::EngineOptions;
use leafline_types::Charset;
use std::io::{self, Cursor, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The longest packet that is accepted.
const MAX_PACKET: usize = 1 << 20;

/// Limits of a statement.
const LIMITS: &[(&str, &str)] = &[
    ("max_allowed_packet", "1048576"),
    ("leafline_query_memory", "33554432"),
    ("parser_max_mem_size", "67108864"),
    ("max_execution_time", "200"),
    ("innodb_parallel_read_threads", "1"),
    ("wait_timeout", "10"),
];

/// Whether a thread of the server has panicked.
static PANICKED: AtomicBool = AtomicBool::new(false);

struct TestServer {
    socket: PathBuf,
    _directory: tempfile::TempDir,
    _server: Server,
}

static SERVED: LazyLock<TestServer> = LazyLock::new(|| {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICKED.store(true, Ordering::SeqCst);
        before(info);
    }));
    let store = StoreOptions {
        page_size: 4096,
        buffer_pool_bytes: 1024 * 4096,
        log_capacity_bytes: 1 << 20,
        io_threads: 1,
        background: false,
        ..StoreOptions::default()
    };
    let options = InstanceOptions {
        engine: EngineOptions { store, ..EngineOptions::default() },
        variables: LIMITS.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        ..InstanceOptions::default()
    };
    let env = SimulatedEnv::new();
    env.set_space_limit(Some(64 << 20));
    let instance = Instance::open(Arc::new(env), options).expect("a database");
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("socket");
    let mut listeners = Listeners::new();
    listeners.unix(&socket).expect("a socket");
    let options = ServerOptions { tls: None, directory: directory.path().to_owned(), log: Arc::new(|_| {}) };
    let server = Server::start(instance, listeners, options).expect("a server");
    TestServer { socket, _directory: directory, _server: server }
});

pub(crate) fn target(data: &[u8]) {
    let mut input = Input::new(data);
    let mode = input.u8();
    let algorithm = match mode >> 6 {
        1 => Some(Algorithm::Zlib),
        2 => Some(Algorithm::Zstd(1)),
        _ => None,
    };
    match mode & 7 {
        0 => drop(HandshakeResponse::read(input.rest(), u32::MAX)),
        1 => {
            let flags = u32::from(input.u16()) << 16;
            let _ = HandshakeResponse::read_change_user(input.rest(), flags);
        }
        2 => parameters(&mut input),
        3 => packets(input.rest(), algorithm),
        6 => answers(input.rest()),
        7 => drop(log_in(input.rest(), algorithm)),
        _ => converse(&mut input, mode & 8 != 0, algorithm),
    }
}

fn parameters(input: &mut Input<'_>) {
    let (count, named) = (usize::from(input.u8()), input.u8() % 2 == 1);
    let mut reader = Reader::new(input.rest());
    let mut types = Vec::new();
    for _ in 0..3 {
        let _ = read_parameters(&mut reader, count, named, &mut types, &[], Charset::Utf8mb4);
    }
    let _ = read_attributes(&mut reader, Charset::Latin1);
}

/// Reads bytes as each packet that a client reads, and as the bodies of commands about prepared statements.
fn answers(bytes: &[u8]) {
    for capabilities in [0, u32::MAX] {
        let _ = OkPacket::read(bytes, capabilities);
    }
    let _ = (Greeting::read(bytes), Switch::read(bytes), read_error(bytes));
    let _ = (Prepared::read(bytes), Fetch::read(bytes));
    let mut reader = Reader::new(bytes);
    let _ = (Execution::read(&mut reader), LongData::read(&mut reader));
    let mut columns = Vec::new();
    let mut reader = Reader::new(bytes);
    while let Ok(column) = ColumnDefinition::read(&mut reader) {
        columns.push(column);
    }
    let _ = text::read_row(bytes, columns.len(), &mut Vec::new());
    let _ = binary::row::read_row(reader.rest(), &columns, Charset::Utf8mb4);
}

/// Sends a client bytes in place of a server's: it logs in, and reads the answers to statements.
fn log_in(bytes: &[u8], algorithm: Option<Algorithm>) -> Result<(), ClientError> {
    let capabilities = algorithm.map_or(0, |algorithm| match algorithm {
        Algorithm::Zlib => cap::COMPRESS,
        Algorithm::Zstd(_) => cap::ZSTD,
    });
    let login = Login { user: "root", password: "secret", capabilities, ..Login::default() };
    let mut client = Client::log_in(Box::new(Bytes(Cursor::new(bytes.to_vec()))), &login)?;
    let mut places = Vec::new();
    loop {
        if let Answer::Rows(mut rows) = client.query("SELECT 1")? {
            while rows.next(&mut places)? {
                assert!(places.iter().flatten().all(|place| rows.bytes().get(place.clone()).is_some()));
            }
        }
        client.prepare("SELECT ?")?;
    }
}

/// Bytes to be read as packets.
struct Bytes<B>(Cursor<B>);

impl<B: AsRef<[u8]>> Read for Bytes<B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<B> Write for Bytes<B> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn packets(bytes: &[u8], algorithm: Option<Algorithm>) {
    let mut stream = PacketStream::new(Bytes(Cursor::new(bytes)), MAX_PACKET);
    if let Some(algorithm) = algorithm {
        stream.compress(algorithm);
    }
    let mut packet = Vec::new();
    while let Ok(true) = stream.read(&mut packet) {
        assert!(packet.len() <= MAX_PACKET);
        let _ = is_tls_request(&packet);
        stream.begin_command();
    }
}

/// Sends a login and what follows it, and reads the server's answers until it ends.
fn converse(input: &mut Input<'_>, raw: bool, algorithm: Option<Algorithm>) {
    let stream = UnixStream::connect(&SERVED.socket).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    stream.set_write_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let mut far = stream.try_clone().expect("a socket");
    let answers = std::thread::spawn(move || io::copy(&mut far, &mut io::sink()));
    let mut packets = PacketStream::new(stream, MAX_PACKET);
    let flags = input.u16();
    let mut capabilities = cap::PROTOCOL_41 | cap::SECURE_CONNECTION | cap::PLUGIN_AUTH;
    let optional = [
        cap::DEPRECATE_EOF,
        cap::QUERY_ATTRIBUTES,
        cap::SESSION_TRACK,
        cap::MULTI_STATEMENTS,
        cap::FOUND_ROWS,
        cap::LOCAL_FILES,
    ];
    for (bit, flag) in optional.into_iter().enumerate() {
        capabilities |= if flags & (1 << bit) != 0 { flag } else { 0 };
    }
    capabilities |= match algorithm {
        Some(Algorithm::Zlib) => cap::COMPRESS,
        Some(Algorithm::Zstd(_)) => cap::ZSTD,
        None => 0,
    };
    let login = HandshakeResponse {
        capabilities,
        collation: 0,
        user: "root".to_owned(),
        authentication: Vec::new(),
        database: None,
        plugin: Some(CACHING_SHA2_PASSWORD.to_owned()),
        compression: algorithm,
        attributes: Vec::new(),
    };
    // The greeting has the number before.
    packets.begin_unasked_answer();
    let mut sent =
        packets.write(|out| login.put(out)).and_then(|()| packets.flush()).map_err(io::Error::other);
    if let Some(algorithm) = algorithm {
        packets.compress(algorithm);
    }
    if raw {
        sent = sent.and_then(|()| packets.stream_mut().write_all(input.rest()));
    }
    while sent.is_ok() && !input.is_empty() {
        let length = usize::from(input.u8()) + usize::from(input.u8() % 4) * 256;
        let body = input.bytes(length);
        // Failed logins are slow on purpose.
        if body.first() == Some(&command::CHANGE_USER) {
            continue;
        }
        packets.begin_command();
        let written = packets.write(|out| out.extend_from_slice(body)).and_then(|()| packets.flush());
        sent = written.map_err(io::Error::other);
    }
    // The server may have ended the connection already.
    let _ = packets.stream_mut().shutdown(Shutdown::Write);
    let answered = answers.join().expect("no panic");
    let came_back = answered.map_or_else(|error| error.kind() == io::ErrorKind::ConnectionReset, |_| true);
    assert!(came_back, "the server neither answers nor ends the connection");
    assert!(!PANICKED.load(Ordering::SeqCst), "a connection has panicked");
}
