//! Writes a dump to standard output: one thread reads and formats, another compresses and writes.

use super::super::args::DumpFormat;
use super::compressed::{Compressed, Compression};
use super::{Work, sql, write_database, write_table, write_views_and_programs};
use crate::failure::Failure;
use crate::link::Link;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd as _;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Bytes that one thread passes to the other at once.
const CHUNK: usize = 256 << 10;
/// The most chunks that may wait.
const WAITING: usize = 16;

/// Writes the dump.
pub(super) fn run(work: &Work<'_>, leader: &mut Link) -> Result<(), Failure> {
    let is_sql = work.options.format == DumpFormat::Sql;
    if !is_sql && work.schema.tables.len() != 1 {
        let format = if work.options.format == DumpFormat::Csv { "CSV" } else { "Parquet" };
        let tables = work.schema.tables.len();
        return Err(Failure::Message(format!(
            "{format} on standard output has one table, and these are {tables}; name one, or a directory by --output"
        )));
    }
    let out = io::stdout().as_fd().try_clone_to_owned().map_err(Failure::output)?;
    let out = File::from(out);
    let (sender, receiver) = sync_channel(WAITING);
    let (read, written) = std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut chunks = Chunks { chunk: Vec::with_capacity(CHUNK), sender };
            if is_sql {
                all(work, leader, &mut chunks)?
            } else {
                one(work, leader, &mut chunks)?
            }
            chunks.flush().map_err(Failure::output)
        });
        let written = write(receiver, out, Compression::of(work.options));
        let read =
            reading.join().unwrap_or_else(|_| Err(Failure::Message("the reading thread has ended".into())));
        (read, written)
    });
    // If writing failed, that is why reading ended.
    written.and(read)
}

fn write(receiver: Receiver<Vec<u8>>, out: File, compression: Compression) -> Result<(), Failure> {
    // Collects the compressor's output into larger writes.
    let out = BufWriter::with_capacity(CHUNK, out);
    let mut out = Compressed::new(out, compression).map_err(Failure::output)?;
    for chunk in receiver {
        out.write_all(&chunk).map_err(Failure::output)?;
    }
    out.finish().and_then(|mut out| out.flush()).map_err(Failure::output)
}

fn one(work: &Work<'_>, link: &mut Link, out: &mut Chunks) -> Result<(), Failure> {
    work.schema.tables.iter().try_for_each(|table| write_table(work, link, table, out))
}

fn all(work: &Work<'_>, link: &mut Link, out: &mut Chunks) -> Result<(), Failure> {
    out.write_all(sql::BEFORE.as_bytes()).map_err(Failure::output)?;
    for database in &work.schema.databases {
        write_database(work, &database.name, out).map_err(Failure::output)?;
        for table in work.schema.tables.iter().filter(|table| table.database == database.name) {
            write_table(work, link, table, out)?;
        }
    }
    if !work.options.no_schema {
        write_views_and_programs(work, out).map_err(Failure::output)?;
    }
    out.write_all(sql::BEHIND.as_bytes()).map_err(Failure::output)
}

/// A writer that sends chunks to the other thread. If that has ended, writing fails with a broken pipe.
struct Chunks {
    chunk: Vec<u8>,
    sender: SyncSender<Vec<u8>>,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= CHUNK {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        self.sender.send(chunk).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
