//! The file `log`: the groups of the redo log from the backup's redo position to its end, one after the other as in
//! the stream: payload bytes as u32, kind u8, payload ([`crate::log`]). So the file is that part of the stream, and
//! an LSN is a place in it.
//!
//! The log is copied as it grows, and given back to the store as it is copied: only the log that the backup has not
//! read yet has to be kept.

use super::stream::{FileSum, StreamReader, StreamWriter, damaged};
use crate::device::Env;
use crate::log::{GROUP_HEADER, Log, LogPosition, LogReader, group_header, read_group_header};
use crate::{Lsn, Result, StorageError};
use std::sync::Arc;

/// Name of the file.
pub(super) const FILE: &str = "log";

/// Copies the log of an open store.
pub(super) struct LogCopy {
    reader: LogReader,
    to: StreamWriter,
    /// Sequence number of the oldest log file that is kept.
    kept: u64,
}

impl LogCopy {
    /// Begins a copy from `from` on, into a new file of `target`. The log is kept from there on.
    pub(super) fn begin(
        env: &Arc<dyn Env>,
        database: u64,
        from: LogPosition,
        target: &dyn Env,
    ) -> Result<LogCopy> {
        let reader = LogReader::open(env, database, from)?;
        Ok(LogCopy { reader, to: StreamWriter::create(target, FILE)?, kept: from.sequence })
    }

    /// Returns the LSN up to which the log is copied.
    pub(super) fn position(&self) -> Lsn {
        self.reader.group_lsn()
    }

    /// Copies up to `end`, which is or was the end of the log.
    pub(super) fn copy_until(&mut self, log: &Log, end: Lsn) -> Result<()> {
        log.wait_durable(end)?;
        self.reader.refresh();
        while self.reader.group_lsn() < end {
            let Some(group) = self.reader.next_group()? else {
                let what = format!("the redo log ends before LSN {end}, up to which it is durable");
                return Err(StorageError::Backup { what });
            };
            let length = u32::try_from(group.payload.len()).expect("the log's groups have 32-bit lengths");
            self.to.write(&group_header(group.kind, length))?;
            self.to.write(group.payload)?;
        }
        if self.reader.sequence() > self.kept {
            self.kept = self.reader.sequence();
            log.keep_from(Some(self.kept))?;
        }
        Ok(())
    }

    /// Makes the copy durable.
    pub(super) fn finish(self) -> Result<FileSum> {
        self.to.finish()
    }
}

/// Reads the next group, which takes at most `left` bytes. Returns its kind.
pub(super) fn read_group(from: &mut StreamReader, payload: &mut Vec<u8>, left: u64) -> Result<u8> {
    let at = from.position();
    let mut header = [0; GROUP_HEADER];
    from.read(&mut header)?;
    let (kind, length) = read_group_header(&header).expect("a whole header");
    if length as u64 > left.saturating_sub(GROUP_HEADER as u64) {
        return Err(damaged(from.name(), format!("the group at byte {at} goes beyond the end")));
    }
    payload.clear();
    payload.resize(length, 0);
    from.read(payload)?;
    Ok(kind)
}
