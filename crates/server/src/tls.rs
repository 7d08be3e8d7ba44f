//! TLS: the server's certificate, which it makes itself or is given.
//!
//! A server without a certificate makes one on its first start and keeps it in the database's directory, under MySQL's names:
//! `server-cert.pem` and, readable by its owner only, `server-key.pem`. The certificate is self-signed. A client that verifies
//! it takes the file as its authority, knows its fingerprint, or has the server prove by the password that both see the same
//! certificate (`Tls::proof`).
//!
//! A server that knows who signs clients' certificates asks for them, as MySQL does with `ssl_ca`. A client may have none.

use crate::private_file;
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CipherSuite, ProtocolVersion, RootCertStore, ServerConfig, ServerConnection};
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Name of the certificate in the database's directory.
pub const CERTIFICATE_NAME: &str = "server-cert.pem";
/// Name of the certificate's key in the database's directory.
pub const KEY_NAME: &str = "server-key.pem";

/// An error of reading, making or using a certificate.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file holds no certificate, or no key.
    #[error("{path} holds no {what} in PEM form")]
    NotPem {
        /// The file.
        path: PathBuf,
        /// The missing object: a certificate or a key.
        what: &'static str,
    },
    /// No certificate can be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// The certificates that sign those of clients cannot be used.
    #[error("{path} cannot be used for clients' certificates: {why}")]
    Authority {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Certificate and key are no pair, or of an unknown kind.
    #[error("{certificate} cannot be used with {key}: {source}")]
    Unusable {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The reason.
        source: rustls::Error,
    },
}

/// A certificate with its key, and the configuration of TLS.
#[derive(Clone, Debug)]
pub struct Tls {
    config: Arc<ServerConfig>,
    /// SHA-256 of the certificate.
    fingerprint: [u8; 32],
    /// The server has made the certificate itself.
    is_own: bool,
}

impl Tls {
    /// Reads the certificate of `directory`. Makes it if there is no key. `authority` is the file with the certificates of those
    /// who sign clients' certificates.
    ///
    /// # Errors
    /// Any [`TlsError`].
    pub fn own(directory: &Path, authority: Option<&Path>) -> Result<Tls, TlsError> {
        let (certificate, key) = (directory.join(CERTIFICATE_NAME), directory.join(KEY_NAME));
        if !key.exists() {
            make(&certificate, &key)?;
        }
        Ok(Tls { is_own: true, ..Tls::from_files(&certificate, &key, authority)? })
    }

    /// Reads a certificate, followed by the certificates that signed it, from one file and its key from another. With an
    /// `authority` the server asks clients for certificates; a client may have none, but not one that cannot be verified.
    ///
    /// # Errors
    /// `File`, `NotPem`, `Unusable`, `Authority`.
    pub fn from_files(certificate: &Path, key: &Path, authority: Option<&Path>) -> Result<Tls, TlsError> {
        let chain = certificates(certificate)?;
        let first = chain.first().ok_or_else(|| not_pem(certificate, "certificate"))?;
        let fingerprint = Sha256::digest(first).into();
        let private = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|_| not_pem(key, "private key"))?;
        let unusable =
            |source| TlsError::Unusable { certificate: certificate.to_owned(), key: key.to_owned(), source };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = authority.map_or_else(
            || Ok(WebPkiClientVerifier::no_client_auth()),
            |authority| client_verifier(authority, provider.clone()),
        )?;
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, private)
            .map_err(unusable)?;
        Ok(Tls { config: Arc::new(config), fingerprint, is_own: false })
    }

    /// Begins TLS with a client.
    ///
    /// # Errors
    /// The configuration cannot be used. No client can cause this.
    pub(crate) fn accept(&self) -> Result<ServerConnection, rustls::Error> {
        ServerConnection::new(self.config.clone())
    }

    /// Proves a self-signed certificate to clients of MariaDB 11.4 and later, so that they notice a man in the middle. The proof is
    /// `01` and the hexadecimal SHA-256 of the password's hash, the challenge and the certificate's SHA-256. `None` for a
    /// certificate that the server has not made itself.
    pub(crate) fn proof(&self, password: &[u8], challenge: &[u8]) -> Option<String> {
        self.is_own.then(|| {
            let hash =
                Sha256::new().chain_update(password).chain_update(challenge).chain_update(self.fingerprint);
            format!("\u{1}{}", hex::encode_upper(hash.finalize()))
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::File { path: path.to_owned(), source })
}

fn not_pem(path: &Path, what: &'static str) -> TlsError {
    TlsError::NotPem { path: path.to_owned(), what }
}

/// Reads the certificates of a file.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    read.map_err(|_| not_pem(path, "certificate"))
}

/// Makes the verifier of clients' certificates, which have to be signed by one of those in `authority`.
fn client_verifier(
    authority: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let unusable = |why: String| TlsError::Authority { path: authority.to_owned(), why };
    let trusted = certificates(authority)?;
    if trusted.is_empty() {
        return Err(not_pem(authority, "certificate"));
    }
    let mut roots = RootCertStore::empty();
    for certificate in trusted {
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    builder.allow_unauthenticated().build().map_err(|error| unusable(error.to_string()))
}

/// Makes a self-signed certificate for this machine's names. It is valid until the year 4096, rcgen's default.
fn make(certificate: &Path, key: &Path) -> Result<(), TlsError> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if !node.is_empty() && node.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte)) {
        names.push(node);
    }
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "Leafline, self-signed");
    let pair = KeyPair::generate()?;
    let made = params.self_signed(&pair)?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::File { path, source }
    };
    // The key is written last: a key file means that its certificate exists, or that somebody has put the key there.
    private_file::write_public(certificate, made.pem().as_bytes()).map_err(failed(certificate))?;
    private_file::write(key, pair.serialize_pem().as_bytes()).map_err(failed(key))
}

/// Returns OpenSSL's name of a cipher suite, which MySQL shows.
pub(crate) fn cipher_name(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-ECDSA-CHACHA20-POLY1305",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        _ => "unknown",
    }
}

/// Returns MySQL's name of a TLS version.
pub(crate) fn version_name(version: ProtocolVersion) -> &'static str {
    match version {
        ProtocolVersion::TLSv1_3 => "TLSv1.3",
        ProtocolVersion::TLSv1_2 => "TLSv1.2",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_made_once_and_its_key_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a directory");
        let made = Tls::own(directory.path(), None).expect("a certificate");
        let again = Tls::own(directory.path(), None).expect("the same");
        assert_eq!(made.fingerprint, again.fingerprint);
        let mode =
            |name| std::fs::metadata(directory.path().join(name)).expect("a file").permissions().mode();
        assert_eq!(mode(KEY_NAME) & 0o777, 0o600);
        let other = tempfile::tempdir().expect("a directory");
        assert_ne!(Tls::own(other.path(), None).expect("another").fingerprint, made.fingerprint);
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        Tls::own(directory.path(), None).expect("a certificate");
        let (certificate, key) = (path(CERTIFICATE_NAME), path(KEY_NAME));
        let error = |certificate: &Path, key: &Path| {
            Tls::from_files(certificate, key, None).map(drop).expect_err("refused").to_string()
        };
        assert!(error(&path("missing"), &key).contains("missing"));
        assert!(error(&key, &key).contains("holds no certificate"), "{}", error(&key, &key));
        assert!(error(&certificate, &certificate).contains("holds no private key"));
        let other = tempfile::tempdir().expect("a directory");
        Tls::own(other.path(), None).expect("another");
        assert!(error(&certificate, &other.path().join(KEY_NAME)).contains("cannot be used with"));
        std::fs::remove_file(&certificate).expect("removed");
        assert!(
            Tls::own(directory.path(), None).is_err(),
            "a key without its certificate is somebody's fault"
        );
    }

    /// Shakes hands with a client that has this certificate, if any. Returns what the server learnt of the client.
    fn shake_hands(
        (tls, directory): (&Tls, &Path),
        client: Option<(&rcgen::Certificate, &KeyPair)>,
    ) -> Result<Option<Vec<u8>>, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        for own in certificates(&directory.join(CERTIFICATE_NAME)).expect("the server's certificate") {
            roots.add(own).expect("a certificate");
        }
        let builder = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots);
        let config = match client {
            Some((certificate, key)) => {
                let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
                builder.with_client_auth_cert(vec![certificate.der().clone()], key).expect("a pair")
            }
            None => builder.with_no_client_auth(),
        };
        let name = "localhost".try_into().expect("a name");
        let mut client = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
        let mut server = tls.accept()?;
        while client.is_handshaking() || server.is_handshaking() {
            let mut bytes = Vec::new();
            client.write_tls(&mut bytes).expect("written");
            server.read_tls(&mut &bytes[..]).expect("read");
            server.process_new_packets()?;
            bytes.clear();
            server.write_tls(&mut bytes).expect("written");
            client.read_tls(&mut &bytes[..]).expect("read");
            client.process_new_packets()?;
        }
        Ok(server.peer_certificates().and_then(|chain| chain.first()).map(|first| first.to_vec()))
    }

    #[test]
    fn clients_may_have_certificates_that_can_be_verified() {
        let directory = tempfile::tempdir().expect("a directory");
        let authority_file = directory.path().join("ca.pem");
        let made = |name: &str, is_ca: bool| {
            let mut params = CertificateParams::new(Vec::new()).expect("parameters");
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.distinguished_name.push(DnType::CommonName, name);
            if is_ca {
                params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            }
            (params, KeyPair::generate().expect("a key"))
        };
        let ((ca, ca_key), (joe, joe_key), (eve, eve_key)) =
            (made("ca", true), made("joe", false), made("eve", false));
        std::fs::write(&authority_file, ca.self_signed(&ca_key).expect("a certificate").pem())
            .expect("written");
        let issuer = rcgen::Issuer::new(ca, ca_key);
        let joe = joe.signed_by(&joe_key, &issuer).expect("a certificate");
        let eve = eve.self_signed(&eve_key).expect("a certificate");
        let asking = Tls::own(directory.path(), Some(&authority_file)).expect("a server");
        assert_eq!(shake_hands((&asking, directory.path()), None), Ok(None));
        assert_eq!(
            shake_hands((&asking, directory.path()), Some((&joe, &joe_key))),
            Ok(Some(joe.der().to_vec()))
        );
        let names = crate::x509::names(joe.der()).expect("names");
        assert_eq!((names.subject.as_str(), names.issuer.as_str()), ("/CN=joe", "/CN=ca"));
        assert!(shake_hands((&asking, directory.path()), Some((&eve, &eve_key))).is_err());
        let other = Tls::own(directory.path(), None).expect("a server");
        assert_eq!(
            shake_hands((&other, directory.path()), Some((&joe, &joe_key))),
            Ok(None),
            "the server asks for none"
        );
        let missing = Tls::own(directory.path(), Some(&directory.path().join("missing")));
        assert!(missing.map(drop).expect_err("refused").to_string().contains("missing"));
    }
}
