//! The files of a backup, written and read from beginning to end, in large pieces, with a checksum of the whole
//! content.
//!
//! Files bypass the page cache where the file system supports it, so a file is a whole number of blocks: zeros follow
//! its content, whose length the manifest has.

use crate::device::{AlignedBuf, BLOCK, Env, File, OpenMode};
use crate::{Result, StorageError};
use std::sync::Arc;

/// Bytes that are written or read at once.
const PIECE: usize = 1 << 20;

/// The length of a file, and the CRC-32C of its content.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct FileSum {
    pub(super) bytes: u64,
    pub(super) sum: u32,
}

/// Makes the error of a system call on a file of a backup.
pub(super) fn failed(op: &'static str, file: &str) -> impl FnOnce(std::io::Error) -> StorageError {
    let file = file.to_owned();
    move |source| StorageError::BackupIo { op, file, source }
}

/// Makes the error of a file of a backup whose content is wrong.
pub(super) fn damaged(file: &str, reason: impl std::fmt::Display) -> StorageError {
    StorageError::Backup { what: format!("the backup is damaged: {file}: {reason}") }
}

/// Writes a file.
pub(super) struct StreamWriter {
    file: Arc<dyn File>,
    name: String,
    buffer: AlignedBuf,
    filled: usize,
    /// Bytes written to the file.
    written: u64,
    sum: u32,
}

impl StreamWriter {
    /// Makes a new file. No file of this name exists.
    pub(super) fn create(env: &dyn Env, name: &str) -> Result<StreamWriter> {
        let file = env.open(name, OpenMode::CreateNew).map_err(failed("create", name))?;
        let buffer = AlignedBuf::zeroed(PIECE);
        Ok(StreamWriter { file, name: name.to_owned(), buffer, filled: 0, written: 0, sum: 0 })
    }

    /// Returns the bytes of content so far.
    pub(super) fn bytes(&self) -> u64 {
        self.written + self.filled as u64
    }

    /// Appends `bytes`.
    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.sum = crc32c::crc32c_append(self.sum, bytes);
        while !bytes.is_empty() {
            let len = bytes.len().min(self.buffer.len() - self.filled);
            let (now, later) = bytes.split_at(len);
            self.buffer[self.filled..self.filled + len].copy_from_slice(now);
            self.filled += len;
            bytes = later;
            if self.filled == self.buffer.len() {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let whole = self.filled.next_multiple_of(BLOCK);
        self.buffer[self.filled..whole].fill(0);
        self.file.write_at(&self.buffer[..whole], self.written).map_err(failed("write", &self.name))?;
        self.written += self.filled as u64;
        self.filled = 0;
        Ok(())
    }

    /// Writes the rest and makes the content durable.
    pub(super) fn finish(mut self) -> Result<FileSum> {
        if self.filled > 0 {
            self.flush()?;
        }
        self.file.sync().map_err(failed("sync", &self.name))?;
        Ok(FileSum { bytes: self.written, sum: self.sum })
    }
}

/// Reads a file.
pub(super) struct StreamReader {
    file: Arc<dyn File>,
    name: String,
    expected: FileSum,
    buffer: AlignedBuf,
    /// The part of the buffer that was read from the file and is not given out.
    ready: std::ops::Range<usize>,
    /// Bytes that were read from the file.
    read: u64,
    sum: u32,
}

impl StreamReader {
    /// Opens the file of this name, which should have the length and checksum `expected`.
    pub(super) fn open(env: &dyn Env, name: &str, expected: FileSum) -> Result<StreamReader> {
        let file = env.open(name, OpenMode::Existing).map_err(failed("open", name))?;
        let size = file.size().map_err(failed("get the size of", name))?;
        let whole = expected.bytes.next_multiple_of(BLOCK as u64);
        if size != whole {
            return Err(damaged(name, format!("{size} bytes are there, and {whole} were written")));
        }
        let buffer = AlignedBuf::zeroed(PIECE);
        let name = name.to_owned();
        Ok(StreamReader { file, name, expected, buffer, ready: 0..0, read: 0, sum: 0 })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether all was given out.
    pub(super) fn is_over(&self) -> bool {
        self.read == self.expected.bytes && self.ready.is_empty()
    }

    /// Returns the bytes that were given out.
    pub(super) fn position(&self) -> u64 {
        self.read - self.ready.len() as u64
    }

    /// Fills `to` with the next bytes.
    pub(super) fn read(&mut self, mut to: &mut [u8]) -> Result<()> {
        while !to.is_empty() {
            if self.ready.is_empty() {
                self.fill()?;
            }
            let len = to.len().min(self.ready.len());
            let (now, later) = to.split_at_mut(len);
            now.copy_from_slice(&self.buffer[self.ready.start..self.ready.start + len]);
            self.ready.start += len;
            to = later;
        }
        Ok(())
    }

    fn fill(&mut self) -> Result<()> {
        let left = self.expected.bytes - self.read;
        if left == 0 {
            return Err(damaged(&self.name, "it ends too early"));
        }
        let len = left.min(self.buffer.len() as u64) as usize;
        let whole = len.next_multiple_of(BLOCK);
        self.file.read_at(&mut self.buffer[..whole], self.read).map_err(failed("read", &self.name))?;
        self.sum = crc32c::crc32c_append(self.sum, &self.buffer[..len]);
        self.read += len as u64;
        self.ready = 0..len;
        Ok(())
    }

    /// Checks the checksum after all has been read.
    pub(super) fn finish(self) -> Result<()> {
        match (self.is_over(), self.sum == self.expected.sum) {
            (true, true) => Ok(()),
            (false, _) => Err(damaged(&self.name, "it goes on where it must end")),
            (true, false) => Err(damaged(
                &self.name,
                format!("checksum {:08x} computed, {:08x} in the manifest", self.sum, self.expected.sum),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::SimulatedEnv;

    #[test]
    fn a_file_is_read_back_as_written_and_damage_is_found() {
        let env = SimulatedEnv::new();
        for length in [0, 1, BLOCK, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 77] {
            let content: Vec<u8> = (0..length).map(|at| (at * 7 / 3) as u8).collect();
            let name = format!("f{length}");
            let mut writer = StreamWriter::create(&env, &name).unwrap();
            content.chunks(70_001).for_each(|bytes| writer.write(bytes).unwrap());
            let sum = writer.finish().unwrap();
            assert_eq!(sum, FileSum { bytes: length as u64, sum: crc32c::crc32c(&content) });
            let read = || -> Result<Vec<u8>> {
                let mut reader = StreamReader::open(&env, &name, sum)?;
                let mut found = vec![0; length];
                found.chunks_mut(50_003).try_for_each(|bytes| reader.read(bytes))?;
                assert_eq!(reader.position(), length as u64);
                reader.finish()?;
                Ok(found)
            };
            assert_eq!(read().unwrap(), content);
            if length > 0 {
                env.damage(&name, length as u64 / 2, &mut |bytes| bytes[0] ^= 4).unwrap();
                assert!(read().unwrap_err().to_string().contains("checksum"));
                env.open(&name, OpenMode::Existing).unwrap().truncate(0).unwrap();
                assert!(read().unwrap_err().to_string().contains("0 bytes are there"));
            }
            assert!(StreamWriter::create(&env, &name).is_err(), "it is there already");
        }
    }
}
