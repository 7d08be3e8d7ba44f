//! Run files: entries one after the other, written and read in large blocks.
//!
//! | field          | type              |
//! |----------------|-------------------|
//! | key length     | u32 little-endian |
//! | payload length | u32 little-endian |
//! | key            | bytes             |
//! | payload        | bytes             |
//!
//! The file is padded to a whole block; its length in bytes is kept in memory. It lives as long as the process wants
//! it and is never read after a crash, so it is neither synced nor checksummed.

use super::{EntrySource, TEMP, io_error};
use crate::error::{Result, TableError};
use leafline_storage::device::{AlignedBuf, BLOCK};
use leafline_storage::{Env, File, OpenMode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names of run files begin with this.
pub(super) const PREFIX: &str = "run-";
/// Bytes written at once.
const WRITE_BYTES: usize = 256 << 10;
/// Bytes read at once: many runs are read at the same time.
const READ_BYTES: usize = 128 << 10;

/// Numbers for the names of run files, unique in the process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A finished run. The file is removed when this is dropped.
pub(super) struct RunFile {
    env: Arc<dyn Env>,
    name: String,
    file: Arc<dyn File>,
    bytes: u64,
}

impl Drop for RunFile {
    fn drop(&mut self) {
        // If this fails, the next open removes the file.
        let _ = self.env.remove(&self.name);
    }
}

/// Writes a run.
pub(super) struct RunWriter {
    run: RunFile,
    buffer: AlignedBuf,
    filled: usize,
}

impl RunWriter {
    pub(super) fn create(env: &Arc<dyn Env>) -> Result<RunWriter> {
        let name = format!("{TEMP}/{PREFIX}{}", NEXT.fetch_add(1, Ordering::Relaxed));
        env.create_dir(TEMP).map_err(|error| io_error("create", TEMP, error))?;
        let file = env.open(&name, OpenMode::CreateNew).map_err(|error| io_error("create", &name, error))?;
        let run = RunFile { env: env.clone(), name, file, bytes: 0 };
        Ok(RunWriter { run, buffer: AlignedBuf::zeroed(WRITE_BYTES), filled: 0 })
    }

    pub(super) fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<()> {
        self.write(&(key.len() as u32).to_le_bytes())?;
        self.write(&(payload.len() as u32).to_le_bytes())?;
        self.write(key)?;
        self.write(payload)
    }

    pub(super) fn finish(mut self) -> Result<RunFile> {
        let padded = self.filled.next_multiple_of(BLOCK);
        self.buffer[self.filled..padded].fill(0);
        self.flush(padded)?;
        Ok(self.run)
    }

    fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let taken = bytes.len().min(self.buffer.len() - self.filled);
            let (head, rest) = bytes.split_at(taken);
            self.buffer[self.filled..self.filled + taken].copy_from_slice(head);
            self.filled += taken;
            bytes = rest;
            if self.filled == self.buffer.len() {
                self.flush(self.filled)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, until: usize) -> Result<()> {
        let (name, offset) = (&self.run.name, self.run.bytes);
        let write = self.run.file.write_at(&self.buffer[..until], offset);
        write.map_err(|error| io_error("write", name, error))?;
        self.run.bytes += self.filled as u64;
        self.filled = 0;
        Ok(())
    }
}

/// Reads a run from the beginning.
pub(super) struct RunReader {
    run: RunFile,
    buffer: AlignedBuf,
    /// Part of the buffer not taken yet.
    begin: usize,
    end: usize,
    /// Bytes of the file read into the buffer so far.
    read: u64,
    key: Vec<u8>,
    payload: Vec<u8>,
}

impl RunReader {
    pub(super) fn new(run: RunFile) -> RunReader {
        let buffer = AlignedBuf::zeroed(READ_BYTES);
        RunReader { run, buffer, begin: 0, end: 0, read: 0, key: Vec::new(), payload: Vec::new() }
    }

    /// Appends `count` bytes of the run to `out`.
    fn take(&mut self, mut count: usize, out: &mut Vec<u8>) -> Result<()> {
        while count > 0 {
            if self.begin == self.end {
                self.fill()?;
            }
            let taken = count.min(self.end - self.begin);
            out.extend_from_slice(&self.buffer[self.begin..self.begin + taken]);
            self.begin += taken;
            count -= taken;
        }
        Ok(())
    }

    fn fill(&mut self) -> Result<()> {
        let left = self.run.bytes - self.read;
        if left == 0 {
            return Err(TableError::Corrupt(format!("{} ends too early", self.run.name)));
        }
        let bytes = left.min(self.buffer.len() as u64) as usize;
        let padded = bytes.next_multiple_of(BLOCK);
        let read = self.run.file.read_at(&mut self.buffer[..padded], self.read);
        read.map_err(|error| io_error("read", &self.run.name, error))?;
        self.read += bytes as u64;
        (self.begin, self.end) = (0, bytes);
        Ok(())
    }

    fn take_length(&mut self) -> Result<usize> {
        let mut bytes = Vec::with_capacity(4);
        self.take(4, &mut bytes)?;
        let bytes: [u8; 4] = bytes.try_into().unwrap_or_default();
        Ok(u32::from_le_bytes(bytes) as usize)
    }
}

impl EntrySource for RunReader {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.begin == self.end && self.read == self.run.bytes {
            return Ok(None);
        }
        let (key_len, payload_len) = (self.take_length()?, self.take_length()?);
        let (mut key, mut payload) = (std::mem::take(&mut self.key), std::mem::take(&mut self.payload));
        key.clear();
        payload.clear();
        self.take(key_len, &mut key)?;
        self.take(payload_len, &mut payload)?;
        (self.key, self.payload) = (key, payload);
        Ok(Some((&self.key, &self.payload)))
    }
}
