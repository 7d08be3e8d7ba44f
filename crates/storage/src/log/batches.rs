//! Writes bytes of the stream as batches into the files, one file after the other.
//!
//! One thread at a time, the leader of a flush, uses the writer. No batch is ever rewritten, because a write that is torn by a power cut must not
//! hurt data that was durable before. So each flush begins a new block, and a small flush pays for it with padding.
//!
//! A large flush is compressed where that saves blocks: images of pages and the entries of many rows repeat much of their content, and LZ4 is faster
//! than the device. A small flush would save nothing, and its commit would wait for the compression.

use super::files::{Ring, RingSize, name};
use super::format::{
    BATCH_HEADER, BatchHeader, FileHeader, MAX_BATCH, MAX_STREAM, STREAM_LENGTH, batch_size,
};
use super::position::Mark;
use crate::device::{AlignedBuf, BLOCK, File};
use crate::error::{Result, StorageError};
use crate::ids::Lsn;
use crate::sync::Mutex;
use std::sync::Arc;

/// Writes batches, and keeps the place of the next one and the checksum that it is chained to.
pub(super) struct BatchWriter {
    ring: Arc<Mutex<Ring>>,
    file: Arc<dyn File>,
    header: FileHeader,
    /// Size of the current file.
    size: u64,
    /// Offset of the next batch in the file.
    offset: u64,
    /// Bytes of file used up to that batch. Counted on from where the log was found at its opening.
    at: u64,
    /// Checksum of the last batch.
    chain: u32,
    last_mark: u64,
    buffer: AlignedBuf,
    compressed: Vec<u8>,
    done: Flushed,
}

/// The results of a flush, for the log to take over.
#[derive(Default)]
pub(super) struct Flushed {
    /// The log is durable up to here, because finishing a file synced it on the way.
    pub synced: Lsn,
    /// New places from which a reader can start.
    pub marks: Vec<Mark>,
    /// The sizes of the ring, if the writer has gone on to another file.
    pub ring: Option<RingSize>,
    pub writes: u64,
    pub bytes: u64,
    pub syncs: u64,
}

/// Smallest number of marks that a file gets.
const MARKS: u64 = 16;
/// Smallest number of bytes of the stream that are worth compressing.
const WORTH_COMPRESSING: usize = 4 * BLOCK;

impl BatchWriter {
    /// Starts to write into the ring's current file, with `header`. `at` is the number of bytes of file used so far.
    pub fn start(ring: Arc<Mutex<Ring>>, header: FileHeader, at: u64) -> Result<BatchWriter> {
        let file = ring.lock().start_current(&header)?;
        let size = super::files::size(&*file, header.sequence)?;
        let mut writer = BatchWriter {
            ring,
            file,
            header,
            size,
            offset: BLOCK as u64,
            at,
            chain: header.chain,
            last_mark: 0,
            buffer: AlignedBuf::zeroed(MAX_BATCH),
            compressed: Vec::new(),
            done: Flushed { synced: header.first, ..Flushed::default() },
        };
        writer.mark(header.first);
        Ok(writer)
    }

    /// Writes `bytes`, which start at `start` in the stream. `durable` is the durable LSN as known now.
    pub fn write(&mut self, start: Lsn, bytes: &[u8], durable: Lsn) -> Result<()> {
        let mut rest = bytes;
        let mut at = start;
        while !rest.is_empty() {
            if self.offset == self.size {
                self.next_file(at)?;
            }
            if self.offset - self.last_mark >= self.size / MARKS {
                self.mark(at);
            }
            let room = (self.size - self.offset).min(MAX_BATCH as u64) as usize - BATCH_HEADER;
            let most = rest.len().min(MAX_STREAM);
            // If the rest does not fit compressed, write as much as fits uncompressed.
            let mut stream = &rest[..most];
            let mut compressed = self.compress(stream, room);
            if compressed.is_none() && most > room {
                stream = &rest[..room];
                compressed = self.compress(stream, room);
            }
            self.write_batch(at, stream, compressed, durable)?;
            at = at.plus(stream.len() as u64);
            rest = &rest[stream.len()..];
        }
        Ok(())
    }

    /// Compresses bytes of the stream into `self.compressed`. Returns their compressed length if they fit into `room` and need fewer blocks than
    /// before.
    fn compress(&mut self, stream: &[u8], room: usize) -> Option<usize> {
        if stream.len() < WORTH_COMPRESSING {
            return None;
        }
        self.compressed.resize(lz4_flex::block::get_maximum_output_size(stream.len()), 0);
        let bytes = lz4_flex::block::compress_into(stream, &mut self.compressed).ok()?;
        let payload = STREAM_LENGTH + bytes;
        (payload <= room && batch_size(payload) < batch_size(stream.len())).then_some(bytes)
    }

    /// Returns the number and file of the last write. Everything in earlier files is durable.
    pub fn file(&self) -> (u64, Arc<dyn File>) {
        (self.header.sequence, Arc::clone(&self.file))
    }

    /// Syncs the current file.
    fn sync(&mut self) -> Result<()> {
        self.done.syncs += 1;
        self.file.sync().map_err(|error| StorageError::io("sync", name(self.header.sequence), error))
    }

    /// Takes the results since the last call.
    pub fn take_done(&mut self) -> Flushed {
        std::mem::take(&mut self.done)
    }

    /// Returns the bytes of file used so far.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Writes a batch of `stream`. With `compressed`, takes the bytes that `compress` has left, of that length.
    fn write_batch(
        &mut self,
        start: Lsn,
        stream: &[u8],
        compressed: Option<usize>,
        durable: Lsn,
    ) -> Result<()> {
        let FileHeader { salt, sequence, .. } = self.header;
        let (checksum, previous) = (0, self.chain);
        let payload = compressed.map_or(stream.len(), |bytes| STREAM_LENGTH + bytes);
        let header = BatchHeader {
            checksum,
            salt,
            sequence,
            start,
            durable,
            payload,
            compressed: compressed.map(|_| stream.len()),
            previous,
        };
        let size = header.size();
        let batch = &mut self.buffer[..size];
        let content = header.content();
        let end = content.end;
        batch[content].copy_from_slice(compressed.map_or(stream, |bytes| &self.compressed[..bytes]));
        batch[end..].fill(0);
        self.chain = header.seal(batch);
        self.file
            .write_at(batch, self.offset)
            .map_err(|error| StorageError::io("write", name(sequence), error))?;
        self.offset += size as u64;
        self.at += size as u64;
        self.done.writes += 1;
        self.done.bytes += size as u64;
        Ok(())
    }

    /// Goes on in the next file. The header of the next file says that everything before it is durable, so the full file is synced before that header
    /// is written.
    fn next_file(&mut self, first: Lsn) -> Result<()> {
        self.sync()?;
        self.done.synced = first;
        let mut ring = self.ring.lock();
        ring.advance()?;
        let FileHeader { database_id, incarnation, .. } = self.header;
        self.header = FileHeader::new(database_id, incarnation, ring.current(), first, self.chain);
        self.file = ring.start_current(&self.header)?;
        self.done.ring = Some(ring.size());
        drop(ring);
        self.size = super::files::size(&*self.file, self.header.sequence)?;
        self.offset = BLOCK as u64;
        self.done.syncs += 1;
        self.done.writes += 1;
        self.done.bytes += BLOCK as u64;
        self.mark(first);
        Ok(())
    }

    fn mark(&mut self, start: Lsn) {
        self.last_mark = self.offset;
        self.done.marks.push(Mark {
            start,
            sequence: self.header.sequence,
            offset: self.offset,
            at: self.at,
        });
    }
}
