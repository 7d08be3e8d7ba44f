//! Writes output, compressed or not.

use super::super::args::DumpOptions;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// Zstandard's level: the default of its tools.
const ZSTD_LEVEL: i32 = 3;

/// The compression of the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// Returns the compression that options of the command line ask for.
    pub fn of(options: &DumpOptions) -> Compression {
        match (options.gzip, options.compress) {
            (true, _) => Compression::Gzip,
            (false, true) => Compression::Zstd,
            (false, false) => Compression::None,
        }
    }

    /// Returns the suffix of file names.
    pub fn suffix(self) -> &'static str {
        match self {
            Compression::None => "",
            Compression::Gzip => ".gz",
            Compression::Zstd => ".zst",
        }
    }
}

/// A writer that compresses.
pub enum Compressed<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Compressed<W> {
    /// Makes a writer.
    ///
    /// # Errors
    /// Memory for the compressor is lacking.
    pub fn new(out: W, compression: Compression) -> io::Result<Compressed<W>> {
        Ok(match compression {
            Compression::None => Compressed::Plain(out),
            Compression::Gzip => Compressed::Gzip(GzEncoder::new(out, flate2::Compression::fast())),
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(out, ZSTD_LEVEL)?;
                // A checksum lets readers detect damage.
                encoder.include_checksum(true)?;
                Compressed::Zstd(encoder)
            }
        })
    }

    /// Writes the rest and the end of the format.
    ///
    /// # Errors
    /// The output cannot be written.
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
