//! What is known of the connection that a session is served over.

/// Of the connection; nothing is known of a session that is not served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFacts {
    /// How it is encrypted.
    pub tls: Option<TlsFacts>,
}

/// How a connection is encrypted, as OpenSSL and so MySQL names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsFacts {
    /// `Ssl_version`.
    pub version: &'static str,
    /// `Ssl_cipher`.
    pub cipher: &'static str,
}

impl ConnectionFacts {
    /// What SHOW STATUS says of it.
    pub(crate) fn status(&self) -> [(&'static str, String); 2] {
        let of_tls = |f: fn(&TlsFacts) -> &'static str| self.tls.as_ref().map_or("", f).to_owned();
        [("Ssl_cipher", of_tls(|tls| tls.cipher)), ("Ssl_version", of_tls(|tls| tls.version))]
    }
}
