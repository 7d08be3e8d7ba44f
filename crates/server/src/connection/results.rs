//! Sends results to the client: column definitions and rows.

use super::Connection;
use crate::convert::state_changes;
use leafline_protocol::binary::row as binary;
use leafline_protocol::bytes::put_length;
use leafline_protocol::column::put_column;
use leafline_protocol::reply::OkPacket;
use leafline_protocol::{WireError, capability as cap, status, text};
use leafline_sql::session::{Outcome, RowStream, Session};
use leafline_sql::{Chunk, ChunkValues, ColumnMeta};
use leafline_types::memory::server;
use leafline_types::{Batch, Charset, MysqlError, SqlType, TextColumns};
use std::sync::Arc;

/// Rows in the client's character set.
pub(super) struct Delivery {
    rows: RowStream,
    /// The types of the values as the client gets them.
    types: Vec<SqlType>,
    /// The types of the values as the statement makes them.
    found: Vec<SqlType>,
    /// The character set that the texts of each column are converted to; empty if no column is converted.
    charsets: Vec<Option<Charset>>,
}

/// Bytes of a batch from which on the server's memory limit is asked before the batch is sent.
const LARGE_BATCH: usize = 8 << 20;

impl Delivery {
    pub(super) fn of(rows: RowStream, session: &Session) -> Delivery {
        let found = rows.types();
        let mut types = found.clone();
        let wanted = session.settings().results_charset.filter(|charset| *charset != Charset::Binary);
        // Text that is not converted has the bytes of its own character set.
        let of_column = |(ty, column): (&SqlType, &ColumnMeta)| {
            let charset = wanted.unwrap_or(column.collation.charset());
            let is_text = ty.is_character() || ty.has_members();
            let is_as_stored = charset == Charset::Utf8mb4 || charset == Charset::Binary;
            (is_text && !is_as_stored && (wanted.is_some() || !charset.is_utf8())).then_some(charset)
        };
        let mut charsets: Vec<_> = found.iter().zip(rows.columns().iter()).map(of_column).collect();
        for (ty, _) in types.iter_mut().zip(&charsets).filter(|(_, charset)| charset.is_some()) {
            *ty = SqlType::Varbinary { len: u32::MAX };
        }
        if charsets.iter().all(Option::is_none) {
            charsets.clear();
        }
        Delivery { rows, types, found, charsets }
    }

    /// Returns the types of the values as the client gets them.
    pub(super) fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// Returns the next rows; `None` after the last.
    pub(super) fn next(&mut self, session: &mut Session) -> Result<Option<Arc<Chunk>>, MysqlError> {
        if self.charsets.is_empty() {
            return self.rows.next_chunk(session);
        }
        let batch = self.rows.next_batch(session)?;
        let columns = self.rows.columns().clone();
        let values = |batch: Batch| ChunkValues::Columns(batch.in_charsets(&self.charsets, &self.found));
        Ok(batch.map(|batch| Arc::new(Chunk { columns, values: values(batch) })))
    }
}

/// Asks the server's memory limit for the packets of a large batch.
fn room_to_send(values: &ChunkValues) -> Result<(), MysqlError> {
    let ChunkValues::Columns(batch) = values else { return Ok(()) };
    let bytes: usize = batch.columns.iter().map(|column| column.get_array_memory_size()).sum();
    // A batch of that size may be one row. Its value, its packet and the pieces that are sent each take as many bytes.
    if bytes >= LARGE_BATCH { server::ask(bytes.saturating_mul(3)) } else { Ok(()) }
}

impl Connection<'_> {
    /// Sends all results of a statement; `more` says that another statement follows. Returns false if they end
    /// with an error, which the client has got.
    pub(super) fn send_results(
        &mut self,
        first: Result<Outcome, MysqlError>,
        more: bool,
        is_binary: bool,
    ) -> Result<bool, WireError> {
        let mut next = first;
        loop {
            match next {
                Ok(Outcome::Done(done)) => {
                    if is_binary && !self.send_out_parameters()? {
                        return Ok(false);
                    }
                    self.send_done(&done, more)?;
                    return Ok(true);
                }
                Ok(Outcome::Rows(rows)) => {
                    let follows =
                        if more || self.session.has_more_results() { status::MORE_RESULTS } else { 0 };
                    if !self.send_rows(rows, follows, is_binary)? {
                        self.session.give_up_results();
                        return Ok(false);
                    }
                    // The procedure goes on for any time: its client reads meanwhile, or is found to have gone.
                    if self.session.has_more_results() {
                        self.packets.flush()?;
                    }
                }
                Err(error) => {
                    self.send_error(&error)?;
                    return Ok(false);
                }
            }
            next = match self.session.next_result() {
                Ok(Some(outcome)) => Ok(outcome),
                Ok(None) => return Ok(true),
                Err(error) => Err(error),
            };
        }
    }

    /// Sends the OUT and INOUT parameters of a prepared CALL as a row, if there are any and the client reads it.
    /// Returns false if that ends with an error, which the client has got.
    fn send_out_parameters(&mut self) -> Result<bool, WireError> {
        match self.session.out_parameters() {
            Ok(Some(rows)) if self.capabilities & cap::PS_MULTI_RESULTS != 0 => {
                self.send_rows(rows, status::MORE_RESULTS | status::PS_OUT_PARAMS, true)
            }
            Ok(_) => Ok(true),
            Err(error) => {
                self.send_error(&error)?;
                Ok(false)
            }
        }
    }

    /// Sends rows as they come, with the bits of `status` at their end. Returns false if they end with an error,
    /// which the client has got.
    fn send_rows(&mut self, rows: RowStream, status: u16, is_binary: bool) -> Result<bool, WireError> {
        self.send_definitions(rows.columns(), true)?;
        // Clients ask this packet whether the rows are OUT parameters, before they read the rows.
        self.end_definitions(status)?;
        let mut rows = Delivery::of(rows, &self.session);
        loop {
            let next = rows.next(&mut self.session).and_then(|chunk| {
                chunk.as_ref().map_or(Ok(()), |chunk| room_to_send(&chunk.values))?;
                Ok(chunk)
            });
            match next {
                Ok(Some(chunk)) => self.send_values(&chunk.values, rows.types(), is_binary)?,
                Ok(None) => break,
                Err(error) => {
                    self.send_error(&error)?;
                    return Ok(false);
                }
            }
        }
        let changes = self.session.take_state_changes();
        let end = OkPacket {
            status: self.status(false) | status,
            warnings: self.warning_count(),
            changes: state_changes(&changes),
            ..OkPacket::default()
        };
        let capabilities = self.capabilities;
        self.packets.write(|out| end.put_end_of_rows(capabilities, out))?;
        Ok(true)
    }

    fn send_values(
        &mut self,
        values: &ChunkValues,
        types: &[SqlType],
        is_binary: bool,
    ) -> Result<(), WireError> {
        match values {
            ChunkValues::Columns(batch) if is_binary => (0..batch.rows)
                .try_for_each(|row| self.packets.write(|out| binary::put_row(out, batch, row, types))),
            ChunkValues::Rows(rows) if is_binary => (0..rows.rows())
                .try_for_each(|row| self.packets.write(|out| binary::put_block_row(out, rows, row, types))),
            ChunkValues::Columns(batch) => {
                let (columns, mut value) = (TextColumns::new(batch, types), Vec::new());
                (0..batch.rows).try_for_each(|row| {
                    self.packets.write(|out| text::put_row(out, &columns, row, types.len(), &mut value))
                })
            }
            ChunkValues::Rows(rows) => {
                let mut value = Vec::new();
                (0..rows.rows()).try_for_each(|row| {
                    self.packets.write(|out| text::put_block_row(out, rows, row, types, &mut value))
                })
            }
        }
    }

    /// Sends column definitions, after their number if `with_count`, and the EOF packet that older clients expect.
    pub(super) fn send_columns(&mut self, columns: &[ColumnMeta], with_count: bool) -> Result<(), WireError> {
        self.send_definitions(columns, with_count)?;
        self.end_definitions(0)
    }

    /// Sends the EOF packet behind column definitions to older clients, with the bits of `status`.
    fn end_definitions(&mut self, status: u16) -> Result<(), WireError> {
        if self.capabilities & cap::DEPRECATE_EOF == 0 {
            let eof = OkPacket { status: self.status(false) | status, ..OkPacket::default() };
            self.packets.write(|out| eof.put_eof(out))?;
        }
        Ok(())
    }

    /// Sends column definitions alone.
    pub(super) fn send_definitions(
        &mut self,
        columns: &[ColumnMeta],
        with_count: bool,
    ) -> Result<(), WireError> {
        if with_count {
            let count = columns.len() as u64;
            self.packets.write(|out| put_length(out, count))?;
        }
        let results = self.session.settings().results_collation();
        columns.iter().try_for_each(|column| self.packets.write(|out| put_column(out, column, results)))
    }
}
