//! Run files: entries one after another, in blocks with checksums, written and read in large pieces.
//!
//! A block takes a multiple of [`BLOCK`] bytes. It contains as many entries as fit the run's block size (64
//! KiB; 16 KiB in a run that is searched, see [`super::indexed`]), or a single longer entry. The next block
//! follows at once.
//!
//! | offset | bytes | field |
//! |-------:|------:|-------|
//! |      0 |     4 | crc32c of bytes 4.. up to the end of the entries, seeded with the number of the run and the block's offset |
//! |      4 |     4 | bytes of entries |
//! |      8 |       | entries: key length u32, payload length u32, key, payload; then zeros |
//!
//! All integers are little-endian. A run under `temp` lives as long as the process needs it. It is never
//! read after a crash, so that it is not synced. A run that a commit record names is synced
//! ([`RunFile::make_durable`]).

use super::{EntrySource, TEMP, io_error};
use crate::error::{Result, TableError};
use leafline_storage::device::{AlignedBuf, BLOCK};
use leafline_storage::{Env, File, OpenMode};
use leafline_types::MysqlError;
use leafline_types::memory::server;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The names of temporary run files begin with this.
pub(super) const PREFIX: &str = "run-";
/// The number of bytes written at once.
const WRITE_BYTES: usize = 256 << 10;
/// The size of a block with more than one entry, in bytes, unless the run is to be searched.
const BLOCK_BYTES: usize = 64 << 10;
/// The number of bytes read at once in a sequential read. It is small because many runs are read at the
/// same time.
const READ_BYTES: usize = 64 << 10;
/// The number of bytes of a block before its entries.
const HEADER: usize = 8;
/// An entry of at least this many bytes is charged to the statement's memory.
const LONG_ENTRY: usize = 1 << 20;

/// Numbers for the names of temporary run files, unique in the process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A finished run.
pub struct RunFile {
    env: Arc<dyn Env>,
    name: String,
    file: Arc<dyn File>,
    number: u64,
    bytes: u64,
    /// The maximum size of a block with more than one entry, in bytes.
    block_bytes: usize,
    /// Whether the file is removed when this is dropped.
    temporary: bool,
}

impl Drop for RunFile {
    fn drop(&mut self) {
        if self.temporary {
            // If this fails, the next open removes the file.
            let _ = self.env.remove(&self.name);
        }
    }
}

impl RunFile {
    /// Opens an existing run of `bytes` bytes.
    pub(crate) fn open(env: &Arc<dyn Env>, name: String, number: u64, bytes: u64) -> Result<RunFile> {
        let file = env.open(&name, OpenMode::Existing).map_err(|error| io_error("open", &name, error))?;
        Ok(RunFile {
            env: env.clone(),
            name,
            file,
            number,
            bytes,
            block_bytes: BLOCK_BYTES,
            temporary: false,
        })
    }

    /// The size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes the contents and the name durable.
    pub(crate) fn make_durable(&self) -> Result<()> {
        self.file.sync().map_err(|error| io_error("sync", &self.name, error))?;
        let directory = self.name.rsplit_once('/').map_or("", |(directory, _)| directory);
        self.env.sync_dir(directory).map_err(|error| io_error("sync", directory, error))
    }

    /// Keeps the file when this is dropped.
    pub(crate) fn keep(&mut self) {
        self.temporary = false;
    }

    /// Reads the block at `offset`; `None` at the end.
    pub(crate) fn read_block(&self, offset: u64, buffer: &mut AlignedBuf) -> Result<Option<Block>> {
        let first = self.read_up_to(self.block_bytes, offset, buffer)?;
        if first == 0 {
            return Ok(None);
        }
        if let Some(block) = self.block(&buffer[..first], offset)? {
            return Ok(Some(block));
        }
        let length = self.read_up_to(block_length(buffer), offset, buffer)?;
        self.block(&buffer[..length], offset)?
            .ok_or_else(|| self.damaged("a block that is too long", offset))
            .map(Some)
    }

    /// Reads the blocks from offset `begin` to before `end` at once, and calls `each` with key and payload
    /// of their entries.
    ///
    /// # Errors
    /// Errors of reading the file; damage.
    pub fn read_blocks(&self, begin: u64, end: u64, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        let mut buffer = AlignedBuf::zeroed(0);
        let length = self.read_up_to(end.saturating_sub(begin) as usize, begin, &mut buffer)?;
        let mut offset = begin;
        while let Some(bytes) = buffer.get((offset - begin) as usize..length)
            && !bytes.is_empty()
        {
            let block = self.block(bytes, offset)?;
            let mut block = block.ok_or_else(|| self.damaged("a block that is too long", offset))?;
            while let Some((key, payload)) = block.next_entry(bytes)? {
                each(key, payload);
            }
            offset = block.next;
        }
        Ok(())
    }

    /// Reads up to `bytes` bytes at `offset`, fewer at the end of the run. Returns how many it has read.
    fn read_up_to(&self, bytes: usize, offset: u64, buffer: &mut AlignedBuf) -> Result<usize> {
        let bytes = self.bytes.saturating_sub(offset).min(bytes as u64) as usize;
        if buffer.len() < bytes {
            *buffer = AlignedBuf::zeroed(bytes);
        }
        if bytes > 0 {
            self.read(&mut buffer[..bytes], offset)?;
        }
        Ok(bytes)
    }

    /// Checks the block at `offset` of the run, which `bytes` begins with. `None` if the block does not end
    /// in `bytes`.
    fn block(&self, bytes: &[u8], offset: u64) -> Result<Option<Block>> {
        let length = block_length(bytes);
        if length > bytes.len() {
            return Ok(None);
        }
        let end = HEADER + u32_at(bytes, 4).unwrap_or_default() as usize;
        let covered = bytes.get(4..end).unwrap_or_default();
        if u32_at(bytes, 0) != Some(checksum(self.number, offset, covered)) {
            return Err(self.damaged("a wrong checksum", offset));
        }
        Ok(Some(Block { begin: HEADER, end, next: offset + length as u64 }))
    }

    fn damaged(&self, what: &str, offset: u64) -> TableError {
        TableError::Corrupt(format!("{}: {what} at {offset}", self.name))
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_at(buffer, offset).map_err(|error| io_error("read", &self.name, error))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_at(bytes, self.bytes);
        written.map_err(|error| io_error("write", &self.name, error))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// A block in a buffer: the range of its entries, and the offset of the next block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(super) begin: usize,
    end: usize,
    pub(crate) next: u64,
}

impl Block {
    /// Takes the next entry, key and payload, from the block in `buffer`.
    pub(crate) fn next_entry<'a>(&mut self, buffer: &'a [u8]) -> Result<Option<(&'a [u8], &'a [u8])>> {
        if self.begin == self.end {
            return Ok(None);
        }
        let entry = buffer.get(self.begin..self.end).and_then(|rest| {
            let (key, payload) = (u32_at(rest, 0)? as usize, u32_at(rest, 4)? as usize);
            Some((rest.get(8..)?.get(..key)?, rest.get(8 + key..)?.get(..payload)?))
        });
        let (key, payload) = entry.ok_or_else(|| TableError::Corrupt("a run's entry is cut off".into()))?;
        self.begin += 8 + key.len() + payload.len();
        Ok(Some((key, payload)))
    }
}

/// Writes a run.
pub struct RunWriter {
    run: RunFile,
    /// Whole blocks that have not been written yet.
    buffer: AlignedBuf,
    filled: usize,
    /// The block being filled, with its header.
    block: Vec<u8>,
}

impl RunWriter {
    /// Creates a temporary run.
    pub(crate) fn create(env: &Arc<dyn Env>) -> Result<RunWriter> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        RunWriter::create_in(env, TEMP, format!("{TEMP}/{PREFIX}{number}"), number)
    }

    /// Creates a temporary run with another block size.
    pub(super) fn create_with_blocks(env: &Arc<dyn Env>, block_bytes: usize) -> Result<RunWriter> {
        let mut writer = RunWriter::create(env)?;
        writer.run.block_bytes = block_bytes;
        Ok(writer)
    }

    /// Creates a run with this name, in a directory that is created if necessary. The file is removed when
    /// the run is dropped, unless [`keep`](RunFile::keep) was called.
    pub(crate) fn create_in(
        env: &Arc<dyn Env>,
        directory: &str,
        name: String,
        number: u64,
    ) -> Result<RunWriter> {
        env.create_dir(directory).map_err(|error| io_error("create", directory, error))?;
        let file = env.open(&name, OpenMode::CreateNew).map_err(|error| io_error("create", &name, error))?;
        let env = env.clone();
        let run = RunFile { env, name, file, number, bytes: 0, block_bytes: BLOCK_BYTES, temporary: true };
        Ok(RunWriter { run, buffer: AlignedBuf::zeroed(WRITE_BYTES), filled: 0, block: vec![0; HEADER] })
    }

    /// Adds an entry; entries must come in the order in which they are to be read. Returns the offset of
    /// the block if the entry is the first one in it.
    ///
    /// # Errors
    /// Errors of writing the file.
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<Option<u64>> {
        let bytes = 8 + key.len() + payload.len();
        if bytes >= LONG_ENTRY {
            // Memory for the entry in its block, and for the block aligned for the device.
            server::ask(2 * bytes)?;
            let missing = (HEADER + bytes + BLOCK).saturating_sub(self.block.len());
            self.block.try_reserve_exact(missing).map_err(|_| MysqlError::out_of_resources())?;
        }
        if self.block.len() > HEADER && self.block.len() + bytes > self.run.block_bytes {
            self.end_block()?;
        }
        let begins = (self.block.len() == HEADER).then_some(self.run.bytes + self.filled as u64);
        self.block.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.block.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        self.block.extend_from_slice(key);
        self.block.extend_from_slice(payload);
        // A full block is written at once, not when the next entry comes.
        if self.block.len() >= self.run.block_bytes {
            self.end_block()?;
        }
        Ok(begins)
    }

    /// Writes the remaining entries.
    ///
    /// # Errors
    /// Errors of writing the file.
    pub fn finish(mut self) -> Result<RunFile> {
        if self.block.len() > HEADER {
            self.end_block()?;
        }
        self.flush()?;
        Ok(self.run)
    }

    fn end_block(&mut self) -> Result<()> {
        let entries = (self.block.len() - HEADER) as u32;
        self.block[4..HEADER].copy_from_slice(&entries.to_le_bytes());
        let offset = self.run.bytes + self.filled as u64;
        let sum = checksum(self.run.number, offset, &self.block[4..]);
        self.block[..4].copy_from_slice(&sum.to_le_bytes());
        self.block.resize(self.block.len().next_multiple_of(BLOCK), 0);
        if self.filled + self.block.len() > self.buffer.len() {
            self.flush()?;
        }
        if self.block.len() > self.buffer.len() {
            let mut single = AlignedBuf::zeroed(self.block.len());
            single.copy_from_slice(&self.block);
            self.run.write(&single)?;
        } else {
            self.buffer[self.filled..self.filled + self.block.len()].copy_from_slice(&self.block);
            self.filled += self.block.len();
        }
        if self.block.capacity() > WRITE_BYTES {
            self.block = Vec::new();
        }
        self.block.clear();
        self.block.resize(HEADER, 0);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let filled = std::mem::take(&mut self.filled);
        if filled > 0 {
            self.run.write(&self.buffer[..filled])?;
        }
        Ok(())
    }
}

/// Reads a run from the beginning.
pub struct RunReader {
    run: Arc<RunFile>,
    /// The bytes read last, from `offset` of the run on.
    buffer: AlignedBuf,
    filled: usize,
    offset: u64,
    block: Block,
}

impl RunReader {
    /// Makes a reader at the first entry.
    pub fn new(run: Arc<RunFile>) -> RunReader {
        let block = Block { begin: 0, end: 0, next: 0 };
        RunReader { run, buffer: AlignedBuf::zeroed(READ_BYTES), filled: 0, offset: 0, block }
    }

    /// Moves to the next block, which may be in the buffer already. Returns false at the end.
    fn next_block(&mut self) -> Result<bool> {
        let offset = self.block.next;
        let mut at = (offset - self.offset) as usize;
        let mut block = self.run.block(&self.buffer[at..self.filled.max(at)], offset)?;
        if block.is_none() {
            (self.offset, at) = (offset, 0);
            self.filled = self.run.read_up_to(READ_BYTES, offset, &mut self.buffer)?;
            block = self.run.block(&self.buffer[..self.filled], offset)?;
        }
        if block.is_none() && self.filled > 0 {
            self.filled = self.run.read_up_to(block_length(&self.buffer), offset, &mut self.buffer)?;
            block = self.run.block(&self.buffer[..self.filled], offset)?;
            if block.is_none() {
                return Err(self.run.damaged("a block that is too long", offset));
            }
        }
        let found = block.is_some();
        if let Some(Block { begin, end, next }) = block {
            self.block = Block { begin: at + begin, end: at + end, next };
        }
        Ok(found)
    }
}

impl EntrySource for RunReader {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        if self.block.begin == self.block.end && !self.next_block()? {
            return Ok(None);
        }
        self.block.next_entry(&self.buffer)
    }
}

/// The length of the block that `bytes` begins with.
fn block_length(bytes: &[u8]) -> usize {
    (HEADER + u32_at(bytes, 4).unwrap_or_default() as usize).next_multiple_of(BLOCK)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?))
}

fn checksum(number: u64, offset: u64, covered: &[u8]) -> u32 {
    let seed = crc32c::crc32c(&number.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c_append(seed, &offset.to_le_bytes()), covered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_storage::device::SimulatedEnv;

    #[test]
    fn entries_of_any_size_come_back_and_damage_is_noticed() {
        let simulated = SimulatedEnv::new();
        let env: Arc<dyn Env> = Arc::new(simulated.clone());
        let sizes = [0, 1, 5000, 70_000, 3, 300_000, 40_000, 40_000, 8];
        let mut writer = RunWriter::create_in(&env, "d", "d/r".into(), 7).unwrap();
        for (at, size) in sizes.iter().enumerate() {
            writer.push(&[at as u8], &vec![at as u8; *size]).unwrap();
        }
        let mut run = writer.finish().unwrap();
        run.keep();
        let bytes = run.bytes();
        run.make_durable().unwrap();
        drop(run);
        let open = || RunFile::open(&env, "d/r".into(), 7, bytes).unwrap();
        let mut reader = RunReader::new(Arc::new(open()));
        for (at, size) in sizes.iter().enumerate() {
            let (key, payload) = reader.next().unwrap().unwrap();
            assert_eq!((key, payload), (&[at as u8][..], &vec![at as u8; *size][..]));
        }
        assert_eq!(reader.next().unwrap(), None);
        let mut buffer = AlignedBuf::zeroed(BLOCK);
        assert!(RunFile::open(&env, "d/r".into(), 8, bytes).unwrap().read_block(0, &mut buffer).is_err());
        simulated.damage("d/r", 0, &mut |block| block[20] ^= 1).unwrap();
        assert!(matches!(open().read_block(0, &mut buffer), Err(TableError::Corrupt(_))));
    }
}
