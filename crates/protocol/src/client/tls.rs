//! TLS like that of MySQL's clients. The connection is always encrypted; the server's certificate is verified only if the user
//! names a file of trusted certificates.

use super::Duplex;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme, StreamOwned,
};
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Options of TLS.
#[derive(Clone, Copy)]
pub struct TlsRequest<'l> {
    /// The host name that the server's certificate must have.
    pub host: &'l str,
    /// A file of certificates: the server's must be one of them or be signed by one. Without a file the client takes any
    /// certificate, and connects in clear if the server offers no TLS.
    pub authority: Option<&'l Path>,
    /// The files of the client's own certificate and of its key, for servers that ask for one.
    pub identity: Option<(&'l Path, &'l Path)>,
}

/// Encrypts a connection from now on. The TLS handshake is made, and fails, when the connection is used.
///
/// # Errors
/// A host name that is not valid; a file without certificates or without a key.
pub(super) fn encrypted(
    stream: Box<dyn Duplex>,
    &TlsRequest { host, authority, identity }: &TlsRequest<'_>,
) -> io::Result<Box<dyn Duplex>> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = match authority {
        Some(path) => builder.with_root_certificates(certificates(path)?),
        None => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
    };
    let config = match identity {
        Some((certificate, key)) => {
            let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(certificate)?).collect();
            let chain = chain.map_err(|error| wrong(certificate, &error))?;
            let key = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| wrong(key, &error))?;
            config.with_client_auth_cert(chain, key).map_err(|error| wrong(certificate, &error))?
        }
        None => config.with_no_client_auth(),
    };
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    Ok(Box::new(StreamOwned::new(connection, stream)))
}

fn wrong(path: &Path, what: &dyn Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| io::Error::new(error.kind(), wrong(path, &error)))
}

/// Reads the certificates in a file.
fn certificates(path: &Path) -> io::Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&read(path)?) {
        let certificate = certificate.map_err(|error| wrong(path, &error))?;
        store.add(certificate).map_err(|error| wrong(path, &error))?;
    }
    match store.is_empty() {
        true => Err(wrong(path, &"it holds no certificate in PEM form")),
        false => Ok(store),
    }
}

/// Accepts every certificate. The server must still prove that it has the key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
