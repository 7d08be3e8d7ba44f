//! Reads the groups of a log back, and distinguishes an unfinished last write from damage.
//!
//! The reader goes from batch to batch. Each batch must have the salt and number of its file, continue the stream and
//! the chain of checksums, and be intact. Where the next batch fails this, one of these holds:
//!
//! | found | conclusion |
//! |---|---|
//! | the next file begins, in the same incarnation, at exactly this LSN and checksum | the file was full: go on there |
//! | the next file begins, in another incarnation, at the end of the last whole group | the log was recovered here: drop the part of a group that may follow, go on there |
//! | the next file begins anywhere else | damage: a file's header is written after everything before it was synced |
//! | a later intact batch of this file says that more than this was durable | damage |
//! | a later file was in use (its header, or else its first batch, says so) | damage |
//! | the next file is missing, or too short to have a header | damage: the file that is written always has a successor |
//! | a file in use has fewer bytes than its header says | damage |
//! | this is below where the reader was told to start | damage: checkpoints start at durable positions |
//! | none of these | the end: bytes that may follow were never acknowledged |
//!
//! A later intact batch proves nothing by itself: of one unfinished write, later sectors may have reached the disk
//! and earlier ones not. The salt ensures that such a batch is never taken for a new one: each opening of the log
//! starts a new file.

use super::files::{self, name};
use super::format::{BatchHeader, FileHeader, GROUP_HEADER, MAX_BATCH, read_group_header};
use super::position::{LogPosition, Mark, Marks};
use crate::device::{AlignedBuf, BLOCK, Env, File};
use crate::error::{Result, StorageError};
use crate::ids::{Lsn, LsnRange};
use std::sync::Arc;

/// A group as it was appended.
#[derive(Debug, PartialEq, Eq)]
pub struct LogGroup<'a> {
    /// Its range in the stream.
    pub range: LsnRange,
    /// [`super::PAGE_GROUP`], or the kind of a logical record.
    pub kind: u8,
    /// The bytes that were appended.
    pub payload: &'a [u8],
}

/// The end of a log as the reader found it; [`super::Log::resume`] goes on from there.
#[derive(Clone, Debug)]
pub struct LogTail {
    /// End of the last whole group.
    pub end: Lsn,
    pub(super) oldest: u64,
    pub(super) newest: u64,
    pub(super) incarnation: u64,
    pub(super) chain: u32,
    pub(super) marks: Marks,
    /// Bytes of file used, from the start of the oldest file to the end of the newest.
    pub(super) at: u64,
}

/// Iterates over the groups of a log from a position on.
pub struct LogReader {
    env: Arc<dyn Env>,
    position: LogPosition,
    file: OpenFile,
    /// Offset of the next batch.
    offset: u64,
    /// Bytes of file before that offset, from the start of the oldest file.
    at: u64,
    /// Checksum of the batch before. Unknown before the first batch.
    chain: Option<u32>,
    /// Bytes of the stream. Those before `consumed` have been given out.
    stream: Vec<u8>,
    consumed: usize,
    /// LSN after the last byte of `stream`. Unknown before the first batch.
    stream_end: Option<Lsn>,
    marks: Marks,
    window: Window,
    at_end: bool,
}

/// A log file and its decoded header.
struct OpenFile {
    file: Arc<dyn File>,
    header: FileHeader,
    size: u64,
}

impl LogReader {
    /// Opens the log at a position given by [`super::Log::position_of`] or [`super::Log::create`].
    pub fn open(env: &Arc<dyn Env>, database_id: u64, position: LogPosition) -> Result<LogReader> {
        let damaged = |reason: &str| {
            let (sequence, lsn, reason) = (position.sequence, position.lsn, reason.to_owned());
            StorageError::LogDamaged { sequence, offset: 0, lsn, reason }
        };
        let exists = env.exists(&name(position.sequence));
        if !exists.map_err(|error| StorageError::io("find", name(position.sequence), error))? {
            return Err(damaged("the file that recovery has to start in is missing"));
        }
        let file = files::open(&**env, position.sequence)?;
        let size = files::size(&*file, position.sequence)?;
        let mut window = Window::new();
        let header = window.file_header(&*file, size, position.sequence)?;
        let header = header.filter(|(header, _)| header.sequence == position.sequence);
        let (header, file_bytes) =
            header.ok_or_else(|| damaged("the header of the file a checkpoint starts in is damaged"))?;
        if size < file_bytes {
            return Err(damaged(&cut_short(position.sequence, size, file_bytes)));
        }
        if header.database_id != database_id {
            let reason = "this is the log of another database".to_owned();
            return Err(StorageError::Format { file: name(position.sequence), reason });
        }
        let blocks = BLOCK as u64..=size;
        if !blocks.contains(&position.offset) || !position.offset.is_multiple_of(BLOCK as u64) {
            return Err(damaged("a checkpoint starts outside the file"));
        }
        let at_start = position.offset == BLOCK as u64;
        let mut reader = LogReader {
            env: Arc::clone(env),
            position,
            file: OpenFile { file, header, size },
            offset: position.offset,
            at: position.offset - BLOCK as u64,
            chain: at_start.then_some(header.chain),
            stream: Vec::new(),
            consumed: 0,
            stream_end: at_start.then_some(header.first),
            marks: Marks::default(),
            window,
            at_end: false,
        };
        if at_start {
            reader.mark(header.first);
        }
        reader.skip_to_start()?;
        Ok(reader)
    }

    /// Returns the next group, or `None` at the end of the log. Damage (a hole below an LSN that is known to have
    /// been durable) is [`StorageError::LogDamaged`], never an early end.
    pub fn next_group(&mut self) -> Result<Option<LogGroup<'_>>> {
        loop {
            if let Some((kind, payload)) = read_group_header(&self.stream[self.consumed..]) {
                let start = self.consumed + GROUP_HEADER;
                if let Some(end) = start.checked_add(payload).filter(|end| *end <= self.stream.len()) {
                    let lsn = self.group_lsn();
                    self.consumed = end;
                    let range = LsnRange { start: lsn, end: lsn.plus((GROUP_HEADER + payload) as u64) };
                    return Ok(Some(LogGroup { range, kind, payload: &self.stream[start..end] }));
                }
            }
            if !self.read_more()? {
                return Ok(None);
            }
        }
    }

    /// Reads the rest of the log. Returns where it ends.
    pub fn finish(mut self) -> Result<LogTail> {
        while self.next_group()?.is_some() {}
        Ok(LogTail {
            end: self.group_lsn(),
            oldest: self.position.sequence,
            newest: self.file.header.sequence,
            incarnation: self.file.header.incarnation,
            chain: self.chain.unwrap_or(self.file.header.chain),
            marks: self.marks,
            at: self.at + (self.file.size - self.offset),
        })
    }

    /// Drops the bytes read ahead, so that later writes to the files are seen. The caller asks only for durable
    /// groups then.
    pub(crate) fn refresh(&mut self) {
        self.window.len = 0;
    }

    /// Returns the sequence number of the file that is being read.
    pub(crate) fn sequence(&self) -> u64 {
        self.file.header.sequence
    }

    /// Returns the LSN at which the next group starts: that of the first byte that has not been given out as part of
    /// a group.
    pub(crate) fn group_lsn(&self) -> Lsn {
        let left = (self.stream.len() - self.consumed) as u64;
        Lsn(self.stream_end.map_or(0, |end| end.0 - left))
    }

    /// Reads up to the position's LSN, which lies in the first batch or later.
    fn skip_to_start(&mut self) -> Result<()> {
        loop {
            if let Some(end) = self.stream_end.filter(|end| *end >= self.position.lsn) {
                let left = end.0 - self.position.lsn.0;
                return match (self.stream.len() as u64).checked_sub(left) {
                    Some(consumed) => {
                        self.consumed = consumed as usize;
                        Ok(())
                    }
                    None => Err(self.damaged("a checkpoint starts before the batch it names")),
                };
            }
            self.consumed = self.stream.len();
            if !self.read_more()? {
                return Err(self.damaged("the log ends before the start of the last checkpoint"));
            }
        }
    }

    /// Adds the next batch to the stream. Returns false at the end of the log.
    fn read_more(&mut self) -> Result<bool> {
        self.stream.drain(..self.consumed);
        self.consumed = 0;
        while !self.at_end {
            if let Some(header) = self.next_batch()? {
                self.take_batch(&header)?;
                return Ok(true);
            }
            if !self.next_file()? {
                self.check_tail()?;
                self.at_end = true;
            }
        }
        Ok(false)
    }

    /// Returns the batch at `offset` if it continues the log. The batch is then in the window.
    fn next_batch(&mut self) -> Result<Option<BatchHeader>> {
        let found = self.window.batch(&self.file, self.offset)?;
        let fits = |header: &BatchHeader| {
            self.stream_end.is_none_or(|end| end == header.start)
                && self.chain.is_none_or(|chain| chain == header.previous)
        };
        match found.filter(fits) {
            None if self.stream_end.is_none() => {
                Err(self.damaged("the batch a checkpoint starts in is damaged"))
            }
            found => Ok(found),
        }
    }

    fn take_batch(&mut self, header: &BatchHeader) -> Result<()> {
        if self.marks.last_offset().is_none_or(|last| self.offset - last >= self.file.size / 16) {
            self.mark(header.start);
        }
        let content = self.window.content(self.offset, header);
        match header.compressed {
            None => self.stream.extend_from_slice(content),
            Some(bytes) => {
                let before = self.stream.len();
                self.stream.resize(before + bytes, 0);
                let decompressed = lz4_flex::block::decompress_into(content, &mut self.stream[before..]);
                if decompressed.ok() != Some(bytes) {
                    self.stream.truncate(before);
                    return Err(self.damaged("a batch with the right checksum cannot be decompressed"));
                }
            }
        }
        self.stream_end = Some(header.end());
        self.chain = Some(header.checksum);
        self.offset += header.size() as u64;
        self.at += header.size() as u64;
        Ok(())
    }

    /// Goes to the next file if the log goes on there. Returns whether it does.
    fn next_file(&mut self) -> Result<bool> {
        let sequence = self.file.header.sequence + 1;
        let Some(next) = self.open_used(sequence)? else { return Ok(false) };
        let header = next.header;
        let recovered = header.incarnation != self.file.header.incarnation;
        let end = if recovered { Some(self.group_lsn()) } else { self.stream_end };
        let continues = self.chain == Some(header.chain) && end == Some(header.first);
        if !continues {
            let reason = format!("wal/{sequence}.log goes on at LSN {} or after another batch", header.first);
            return Err(self.damaged(&reason));
        }
        if recovered {
            self.stream.clear();
            self.stream_end = Some(header.first);
        }
        self.at += self.file.size - self.offset;
        self.file = next;
        self.offset = BLOCK as u64;
        self.mark(header.first);
        Ok(true)
    }

    /// Opens a file after the current one, if it exists and its header says that it is in use.
    fn open_used(&mut self, sequence: u64) -> Result<Option<OpenFile>> {
        let exists = self.env.exists(&name(sequence));
        if !exists.map_err(|error| StorageError::io("find", name(sequence), error))? {
            return Ok(None);
        }
        let file = files::open(&*self.env, sequence)?;
        let size = files::size(&*file, sequence)?;
        let found = self.window.file_header(&*file, size, sequence)?;
        let database_id = self.file.header.database_id;
        let used = |header: &FileHeader| header.sequence == sequence && header.database_id == database_id;
        let Some((header, file_bytes)) = found.filter(|(header, _)| used(header)) else { return Ok(None) };
        if size < file_bytes {
            return Err(self.damaged(&cut_short(sequence, size, file_bytes)));
        }
        Ok(Some(OpenFile { file, header, size }))
    }

    /// Checks a seeming end of the log. Returns an error if more than this is known to have been durable.
    fn check_tail(&mut self) -> Result<()> {
        let end = self.stream_end.unwrap_or(self.position.lsn);
        let mut offset = self.offset;
        while offset < self.file.size {
            if let Some(header) = self.window.batch(&self.file, offset)?
                && header.durable > end
            {
                let reason =
                    format!("a batch at byte {offset} was written when LSN {} was durable", header.durable);
                return Err(self.damaged(&reason));
            }
            offset += BLOCK as u64;
        }
        let current = self.file.header.sequence;
        let successor = current + 1;
        let exists = self.env.exists(&name(successor));
        if !exists.map_err(|error| StorageError::io("find", name(successor), error))? {
            let reason = format!("wal/{successor}.log is missing, and the log may have gone on there");
            return Err(self.damaged(&reason));
        }
        let size = files::size(&*files::open(&*self.env, successor)?, successor)?;
        if size < files::SMALLEST_FILE {
            return Err(self.damaged(&cut_short(successor, size, files::SMALLEST_FILE)));
        }
        for sequence in files::list(&*self.env)?.into_iter().filter(|sequence| *sequence > current) {
            if self.open_used(sequence)?.is_some() || self.holds_batch(sequence)? {
                return Err(self.damaged(&format!("wal/{sequence}.log was in use")));
            }
        }
        Ok(())
    }

    /// Returns whether a file without a valid header begins with a batch that was written under the file's present
    /// name.
    fn holds_batch(&mut self, sequence: u64) -> Result<bool> {
        let file = files::open(&*self.env, sequence)?;
        let size = files::size(&*file, sequence)?;
        let first = BLOCK as u64;
        // Most files have never held a batch, which one block shows.
        if !self.window.begins_batch(&*file, size, sequence, first)? {
            return Ok(false);
        }
        Ok(self.window.any_batch(&*file, size, sequence, first)?.is_some())
    }

    fn mark(&mut self, start: Lsn) {
        let sequence = self.file.header.sequence;
        self.marks.push(Mark { start, sequence, offset: self.offset, at: self.at });
    }

    fn damaged(&self, reason: &str) -> StorageError {
        StorageError::LogDamaged {
            sequence: self.file.header.sequence,
            offset: self.offset,
            lsn: self.stream_end.unwrap_or(self.position.lsn),
            reason: reason.to_owned(),
        }
    }
}

fn cut_short(sequence: u64, size: u64, wanted: u64) -> String {
    format!("wal/{sequence}.log has lost its end: {size} bytes of {wanted} or more are there")
}

/// Reads one block of a file without the window. Returns `None` if the file ends before it.
fn read_block(file: &dyn File, size: u64, sequence: u64, offset: u64) -> Result<Option<AlignedBuf>> {
    if size < offset + BLOCK as u64 {
        return Ok(None);
    }
    let mut block = AlignedBuf::zeroed(BLOCK);
    file.read_at(&mut block, offset).map_err(|error| StorageError::io("read", name(sequence), error))?;
    Ok(Some(block))
}

/// A piece of a log file in memory.
struct Window {
    buffer: AlignedBuf,
    /// The file, offset and length of the bytes in the buffer.
    sequence: u64,
    offset: u64,
    len: usize,
}

impl Window {
    /// Most bytes read at once.
    const BYTES: u64 = 4 * MAX_BATCH as u64;

    fn new() -> Window {
        Window { buffer: AlignedBuf::zeroed(0), sequence: 0, offset: 0, len: 0 }
    }

    /// Returns the header of a file, whatever its name, and the number of bytes that the file has to have. Returns
    /// `None` if it has no valid header.
    fn file_header(
        &mut self,
        file: &dyn File,
        size: u64,
        sequence: u64,
    ) -> Result<Option<(FileHeader, u64)>> {
        Ok(read_block(file, size, sequence, 0)?.and_then(|block| FileHeader::decode(&block)))
    }

    /// Returns the batch at `offset` if it is intact and was written to the file since its header was. The batch is
    /// then in the window.
    fn batch(&mut self, file: &OpenFile, offset: u64) -> Result<Option<BatchHeader>> {
        let found = self.any_batch(&*file.file, file.size, file.header.sequence, offset)?;
        Ok(found.filter(|batch| batch.salt == file.header.salt && batch.sequence == file.header.sequence))
    }

    /// Returns whether the block at `offset` looks like the first of a batch that was written to the file under its
    /// present name.
    fn begins_batch(&mut self, file: &dyn File, size: u64, sequence: u64, offset: u64) -> Result<bool> {
        let batch = read_block(file, size, sequence, offset)?.and_then(|block| BatchHeader::decode(&block));
        Ok(batch.is_some_and(|batch| batch.sequence == sequence))
    }

    /// Returns the batch at `offset` if it is intact, whatever file it was written for.
    fn any_batch(
        &mut self,
        file: &dyn File,
        size: u64,
        sequence: u64,
        offset: u64,
    ) -> Result<Option<BatchHeader>> {
        if !self.load(file, size, sequence, offset, BLOCK)? {
            return Ok(None);
        }
        let Some(header) = BatchHeader::decode(self.bytes(offset, BLOCK)) else { return Ok(None) };
        if !self.load(file, size, sequence, offset, header.size())? {
            return Ok(None);
        }
        Ok(header.is_intact(self.bytes(offset, header.size())).then_some(header))
    }

    /// Returns the bytes of the stream in a batch, compressed or not.
    fn content(&self, offset: u64, header: &BatchHeader) -> &[u8] {
        &self.bytes(offset, header.size())[header.content()]
    }

    /// Returns bytes that are in the window.
    fn bytes(&self, offset: u64, len: usize) -> &[u8] {
        let start = (offset - self.offset) as usize;
        &self.buffer[start..start + len]
    }

    /// Brings `len` bytes, at most [`MAX_BATCH`], into the window. Returns false if the file ends before them.
    fn load(&mut self, file: &dyn File, size: u64, sequence: u64, offset: u64, len: usize) -> Result<bool> {
        let end = offset + len as u64;
        if end > size {
            return Ok(false);
        }
        let loaded = self.offset..=self.offset + self.len as u64;
        if self.sequence == sequence && loaded.contains(&offset) && loaded.contains(&end) {
            return Ok(true);
        }
        let len = (size - offset).min(Self::BYTES) as usize;
        let len = len - len % BLOCK;
        self.len = 0;
        if self.buffer.len() < len {
            self.buffer = AlignedBuf::zeroed(len);
        }
        file.read_at(&mut self.buffer[..len], offset)
            .map_err(|error| StorageError::io("read", name(sequence), error))?;
        (self.sequence, self.offset, self.len) = (sequence, offset, len);
        Ok(true)
    }
}
