//! Reads files, decompresses .gz and .zst, and counts bytes for the bar.

use crate::failure::Failure;
use crate::progress::Progress;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

/// The first bytes of .gz files.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The first bytes of .zst files.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Bytes per read.
const BUFFER: usize = 256 << 10;

/// Opens a file, or standard input for `-`. The bar moves as it is read.
///
/// # Errors
/// Errors of the operating system.
pub fn open(path: &Path, bar: &Arc<Progress>) -> Result<Box<dyn Read>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let failed = |error| Failure::io(format!("cannot read {}", path.display()), error);
    let mut file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    let mut first = [0; ZSTD.len()];
    let read = read_up_to(&mut file, &mut first).map_err(failed)?;
    let first = first.get(..read).unwrap_or_default().to_vec();
    let (is_gzip, is_zstd) = (first.starts_with(&GZIP), first == ZSTD);
    let counted = Counted { file: io::Cursor::new(first).chain(file), bar: bar.clone() };
    let file = BufReader::with_capacity(BUFFER, counted);
    Ok(match (is_gzip, is_zstd) {
        (true, _) => Box::new(MultiGzDecoder::new(file)),
        (false, true) => Box::new(zstd::Decoder::with_buffer(file).map_err(failed)?),
        (false, false) => Box::new(file),
    })
}

/// Reads up to the length of the buffer; less only at the end of the input.
///
/// # Errors
/// Errors of reading.
pub fn read_up_to(input: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(space) = buffer.get_mut(filled..).filter(|space| !space.is_empty()) {
        match input.read(space) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

struct Counted<R> {
    file: R,
    bar: Arc<Progress>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bar.add(read as u64);
        Ok(read)
    }
}
