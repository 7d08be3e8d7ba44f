//! The client's part of the handshake: TLS, both plugins, the request to switch between them.

use super::{Packets, Stream, broken};
use leafline_server::protocol::bytes::{Reader, put_string, put_terminated};
use leafline_server::protocol::capability as cap;
use leafline_server::protocol::compression::Algorithm;
use leafline_server::protocol::packet::PacketStream;
use rsa::pkcs8::DecodePublicKey;
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPublicKey};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use sha1::{Digest, Sha1};
use sha2::Sha256;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What is said to be let in.
pub struct Login<'l> {
    pub user: &'l str,
    pub password: &'l str,
    /// The plugin that the client begins with.
    pub plugin: &'l str,
    /// TLS, with a server that has this certificate.
    pub tls: Option<&'l Path>,
    /// The client is on the server's machine, over a Unix socket.
    pub is_unix: bool,
    /// What the client can do beyond the usual.
    pub capabilities: u32,
    /// The number of its collation.
    pub collation: u8,
    /// What it says of itself, if it says anything.
    pub attributes: &'l [(&'l str, &'l str)],
}

impl Default for Login<'_> {
    fn default() -> Self {
        Login {
            user: "root",
            password: "",
            plugin: "caching_sha2_password",
            tls: None,
            is_unix: false,
            capabilities: 0,
            collation: 0,
            attributes: &[],
        }
    }
}

const CAPABILITIES: u32 = cap::PROTOCOL_41
    | cap::SECURE_CONNECTION
    | cap::PLUGIN_AUTH
    | cap::PLUGIN_AUTH_LENENC
    | cap::DEPRECATE_EOF
    | cap::TRANSACTIONS
    | cap::LOCAL_FILES
    | cap::MULTI_STATEMENTS
    | cap::MULTI_RESULTS;

/// Logs in. The server's last word is given, OK or an error.
pub(super) fn log_in(stream: Box<dyn Stream>, login: &Login<'_>) -> io::Result<(Packets, Vec<u8>)> {
    let mut packets: Packets = PacketStream::new(stream, 64 << 20);
    let greeting = read(&mut packets)?;
    if greeting.first() == Some(&0xff) {
        return Ok((packets, greeting));
    }
    let challenge = challenge_of(&greeting).map_err(broken)?;
    let mut capabilities = CAPABILITIES | login.capabilities;
    if !login.attributes.is_empty() {
        capabilities |= cap::CONNECT_ATTRS;
    }
    let beginning =
        |capabilities: u32| [&capabilities.to_le_bytes()[..], &[0; 4], &[login.collation], &[0; 23]].concat();
    if let Some(certificate) = login.tls {
        capabilities |= cap::SSL;
        write(&mut packets, &beginning(capabilities))?;
        start_tls(&mut packets, certificate)?;
    }
    let mut answer = beginning(capabilities);
    put_terminated(&mut answer, login.user);
    put_string(&mut answer, &scramble(login.plugin, login.password, &challenge));
    put_terminated(&mut answer, login.plugin);
    if !login.attributes.is_empty() {
        let mut all = Vec::new();
        for (name, value) in login.attributes {
            put_string(&mut all, name.as_bytes());
            put_string(&mut all, value.as_bytes());
        }
        put_string(&mut answer, &all);
    }
    let algorithm = match capabilities {
        bits if bits & cap::COMPRESS != 0 => Some(Algorithm::Zlib),
        bits if bits & cap::ZSTD != 0 => Some(Algorithm::Zstd(7)),
        _ => None,
    };
    answer.extend(algorithm.iter().filter(|&&a| a != Algorithm::Zlib).map(|algorithm| algorithm.level()));
    write(&mut packets, &answer)?;
    let verdict = converse(&mut packets, login, challenge)?;
    if let Some(algorithm) = algorithm {
        packets.compress(algorithm);
    }
    Ok((packets, verdict))
}

/// What goes to and fro until the server has made up its mind.
pub(super) fn converse(
    packets: &mut Packets,
    login: &Login<'_>,
    mut challenge: Vec<u8>,
) -> io::Result<Vec<u8>> {
    loop {
        let packet = read(packets)?;
        let sent = match packet.split_first() {
            Some((0xfe, rest)) => {
                let mut reader = Reader::new(rest);
                let plugin = String::from_utf8_lossy(reader.terminated().map_err(broken)?).into_owned();
                challenge = reader.take(20).map_err(broken)?.to_vec();
                scramble(&plugin, login.password, &challenge)
            }
            Some((1, [3])) => continue,
            Some((1, [4])) if login.is_unix || login.tls.is_some() => {
                format!("{}\0", login.password).into_bytes()
            }
            Some((1, [4])) => vec![2],
            Some((1, key)) => encrypt(login.password, &challenge, key)?,
            _ => return Ok(packet),
        };
        write(packets, &sent)?;
    }
}

fn read(packets: &mut Packets) -> io::Result<Vec<u8>> {
    let mut packet = Vec::new();
    match packets.read(&mut packet) {
        Ok(true) => Ok(packet),
        Ok(false) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(error) => Err(broken(error)),
    }
}

fn write(packets: &mut Packets, bytes: &[u8]) -> io::Result<()> {
    packets.write(|out| out.extend_from_slice(bytes)).map_err(broken)?;
    packets.flush().map_err(broken)
}

fn challenge_of(greeting: &[u8]) -> Result<Vec<u8>, leafline_types::MysqlError> {
    let mut reader = Reader::new(greeting);
    reader.u8()?;
    reader.terminated()?;
    reader.u32()?;
    let mut challenge = reader.take(8)?.to_vec();
    reader.take(1 + 2 + 1 + 2 + 2 + 1 + 10)?;
    challenge.extend_from_slice(reader.take(12)?);
    Ok(challenge)
}

/// TLS with a server that has this certificate, and no other.
fn start_tls(packets: &mut Packets, certificate: &Path) -> io::Result<()> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(certificate).map_err(broken)? {
        roots.add(certificate.map_err(broken)?).map_err(broken)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(broken)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").map_err(broken)?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(broken)?;
    let clear = std::mem::replace(packets.stream_mut(), Box::new(io::empty()));
    *packets.stream_mut() = Box::new(StreamOwned::new(connection, clear));
    Ok(())
}

fn scramble(plugin: &str, password: &str, challenge: &[u8]) -> Vec<u8> {
    fn masked(once: &[u8], mask: &[u8]) -> Vec<u8> {
        once.iter().zip(mask).map(|(byte, mask)| byte ^ mask).collect()
    }
    if password.is_empty() {
        return Vec::new();
    }
    if plugin == "mysql_native_password" {
        let once = Sha1::digest(password);
        return masked(
            &once,
            &Sha1::new().chain_update(challenge).chain_update(Sha1::digest(once)).finalize(),
        );
    }
    let once = Sha256::digest(password);
    masked(&once, &Sha256::new().chain_update(Sha256::digest(once)).chain_update(challenge).finalize())
}

fn encrypt(password: &str, challenge: &[u8], key: &[u8]) -> io::Result<Vec<u8>> {
    let key = RsaPublicKey::from_public_key_pem(&String::from_utf8_lossy(key)).map_err(broken)?;
    let plain = format!("{password}\0");
    let masked: Vec<u8> =
        plain.bytes().zip(challenge.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
    key.encrypt(&mut OsRng, Oaep::new::<Sha1>(), &masked).map_err(broken)
}
