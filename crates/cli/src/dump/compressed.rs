//! What is written, compressed or as it is.

use flate2::write::GzEncoder;
use std::io::{self, Write};

/// Zstandard's level: the default of its tools.
const ZSTD_LEVEL: i32 = 3;

/// How files are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// What the names of files end in.
    pub fn suffix(self) -> &'static str {
        match self {
            Compression::None => "",
            Compression::Gzip => ".gz",
            Compression::Zstd => ".zst",
        }
    }
}

/// Compresses what is written to it.
pub enum Compressed<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Compressed<W> {
    /// # Errors
    /// There is no memory for it.
    pub fn new(out: W, compression: Compression) -> io::Result<Compressed<W>> {
        Ok(match compression {
            Compression::None => Compressed::Plain(out),
            Compression::Gzip => Compressed::Gzip(GzEncoder::new(out, flate2::Compression::fast())),
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(out, ZSTD_LEVEL)?;
                // Whoever reads it is told of damage.
                encoder.include_checksum(true)?;
                Compressed::Zstd(encoder)
            }
        })
    }

    /// Writes what is left, and the end.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Compressed::Plain(out) => Ok(out),
            Compressed::Gzip(encoder) => encoder.finish(),
            Compressed::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Compressed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Compressed::Plain(out) => out.write(bytes),
            Compressed::Gzip(encoder) => encoder.write(bytes),
            Compressed::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Compressed::Plain(out) => out.flush(),
            Compressed::Gzip(encoder) => encoder.flush(),
            Compressed::Zstd(encoder) => encoder.flush(),
        }
    }
}
