//! Facts about the connection that serves a session.

use leafline_types::MysqlError;
use std::fmt;

/// Facts about a connection; all are empty for a session that is not served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFacts {
    /// Encryption; `None` without TLS.
    pub tls: Option<TlsFacts>,
    /// Compression of packets: name and level of the algorithm.
    pub compression: Option<(&'static str, u8)>,
    /// True if the client calls itself interactive: it may be idle for `interactive_timeout`.
    pub is_interactive: bool,
}

/// Encryption of a connection, in OpenSSL's names, which MySQL uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsFacts {
    /// `Ssl_version`.
    pub version: &'static str,
    /// `Ssl_cipher`.
    pub cipher: &'static str,
}

impl ConnectionFacts {
    /// The status variables of the connection.
    pub(crate) fn status(&self) -> [(&'static str, String); 5] {
        let of_tls = |f: fn(&TlsFacts) -> &'static str| self.tls.as_ref().map_or("", f).to_owned();
        let (algorithm, level) = self.compression.unwrap_or_default();
        [
            ("Compression", if self.compression.is_some() { "ON" } else { "OFF" }.into()),
            ("Compression_algorithm", algorithm.into()),
            ("Compression_level", level.to_string()),
            ("Ssl_cipher", of_tls(|tls| tls.cipher)),
            ("Ssl_version", of_tls(|tls| tls.version)),
        ]
    }
}

/// `protocol_compression_algorithms`: the algorithms that clients may choose. Uncompressed packets are always
/// allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressionAlgorithms {
    /// zlib.
    pub zlib: bool,
    /// Zstandard.
    pub zstd: bool,
}

impl Default for CompressionAlgorithms {
    fn default() -> CompressionAlgorithms {
        CompressionAlgorithms { zlib: true, zstd: true }
    }
}

impl CompressionAlgorithms {
    /// Parses the value of the variable.
    ///
    /// # Errors
    /// 1231 for an unknown name; 1235 without `uncompressed`.
    pub(crate) fn parse(text: &str) -> Result<CompressionAlgorithms, MysqlError> {
        let mut algorithms = CompressionAlgorithms { zlib: false, zstd: false };
        let mut uncompressed = false;
        for name in text.split(',') {
            match name.trim().to_ascii_lowercase().as_str() {
                "zlib" => algorithms.zlib = true,
                "zstd" => algorithms.zstd = true,
                "uncompressed" => uncompressed = true,
                _ => {
                    return Err(MysqlError::wrong_value_for_variable(
                        "protocol_compression_algorithms",
                        text,
                    ));
                }
            }
        }
        match uncompressed {
            true => Ok(algorithms),
            false => Err(MysqlError::not_supported("protocol_compression_algorithms without uncompressed")),
        }
    }
}

impl fmt::Display for CompressionAlgorithms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(self.zlib, "zlib,"), (self.zstd, "zstd,")];
        names.iter().filter(|(on, _)| *on).try_for_each(|(_, name)| f.write_str(name))?;
        f.write_str("uncompressed")
    }
}
