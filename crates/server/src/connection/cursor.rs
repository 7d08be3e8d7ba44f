//! Cursors of prepared statements: the client fetches some rows at a time.
//!
//! As in MySQL, executing the statement computes all rows. The cursor keeps the first rows in memory and the rest in a temporary
//! file. Later statements and the end of the transaction do not change the rows.

use super::Connection;
use super::results::Delivery;
use leafline_protocol::binary::row::{put_block_row, put_row};
use leafline_protocol::prepared::Fetch;
use leafline_protocol::reply::OkPacket;
use leafline_protocol::{WireError, status};
use leafline_sql::ChunkValues;
use leafline_sql::session::{RowStream, Session};
use leafline_table::run::{EntrySource, RunReader, RunWriter};
use leafline_types::MysqlError;
use std::sync::Arc;

/// Bytes of rows that a cursor keeps in memory.
const MEMORY: usize = 64 << 10;

/// The rows of a statement that are still to be fetched, each as a packet.
pub(super) struct Cursor {
    /// The first rows: for each its length, u32, and its packet.
    first: Vec<u8>,
    at: usize,
    others: Option<RunReader>,
    row: Vec<u8>,
}

impl Cursor {
    /// Computes all rows and keeps them.
    fn open(rows: RowStream, session: &mut Session) -> Result<Cursor, MysqlError> {
        let mut rows = Delivery::of(rows, session);
        let (mut first, mut others, mut row) = (Vec::new(), None::<RunWriter>, Vec::new());
        while let Some(chunk) = rows.next(session)? {
            for number in 0..chunk.rows() {
                row.clear();
                match &chunk.values {
                    ChunkValues::Columns(batch) => put_row(&mut row, batch, number, rows.types()),
                    ChunkValues::Rows(block) => put_block_row(&mut row, block, number, rows.types()),
                }
                if others.is_none() && first.len() + row.len() > MEMORY {
                    others = Some(session.instance().engine().temporary_run()?);
                }
                match &mut others {
                    Some(run) => drop(run.push(&[], &row)?),
                    None => {
                        first.extend_from_slice(&(row.len() as u32).to_le_bytes());
                        first.extend_from_slice(&row);
                    }
                }
            }
        }
        let others = others.map(RunWriter::finish).transpose()?;
        let others = others.map(|run| RunReader::new(Arc::new(run)));
        Ok(Cursor { first, at: 0, others, row })
    }

    /// Returns the next row; `None` after the last.
    fn next(&mut self) -> Result<Option<&[u8]>, MysqlError> {
        let rest = self.first.get(self.at..).unwrap_or_default();
        if let Some((length, rest)) = rest.split_first_chunk::<4>() {
            let length = u32::from_le_bytes(*length) as usize;
            self.row.clear();
            self.row.extend_from_slice(rest.get(..length).unwrap_or_default());
            self.at += 4 + length;
            return Ok(Some(&self.row));
        }
        match &mut self.others {
            Some(run) => Ok(run.next()?.map(|(_, row)| row)),
            None => Ok(None),
        }
    }
}

impl Connection<'_> {
    /// Opens a cursor for a statement that was executed: keeps the rows and sends the column definitions.
    pub(super) fn open_cursor(&mut self, id: u32, rows: RowStream) -> Result<(), WireError> {
        let columns = rows.columns().clone();
        let cursor = match Cursor::open(rows, &mut self.session) {
            Ok(cursor) => cursor,
            Err(error) => return self.send_error(&error),
        };
        if let Some(kept) = self.parameters.get_mut(&id) {
            kept.cursor = Some(cursor);
        }
        self.send_definitions(&columns, true)?;
        self.end_fetch(status::CURSOR_EXISTS)
    }

    /// Runs COM_STMT_FETCH.
    pub(super) fn fetch(&mut self, body: &[u8]) -> Result<(), WireError> {
        let Fetch { id, rows } = match Fetch::read(body) {
            Ok(asked) => asked,
            Err(error) => return self.send_error(&error),
        };
        let cursor = match self.parameters.get_mut(&id) {
            Some(kept) => kept.cursor.as_mut().ok_or_else(|| MysqlError::no_open_cursor(id)),
            None => Err(MysqlError::unknown_statement_handler(id, "mysqld_stmt_fetch")),
        };
        let cursor = match cursor {
            Ok(cursor) => cursor,
            Err(error) => return self.send_error(&error),
        };
        for _ in 0..rows {
            match cursor.next() {
                Ok(Some(row)) => self.packets.write(|out| out.extend_from_slice(row))?,
                Ok(None) => {
                    if let Some(kept) = self.parameters.get_mut(&id) {
                        kept.cursor = None;
                    }
                    return self.end_fetch(status::LAST_ROW_SENT);
                }
                Err(error) => return self.send_error(&error),
            }
        }
        self.end_fetch(status::CURSOR_EXISTS)
    }

    fn end_fetch(&mut self, cursor: u16) -> Result<(), WireError> {
        let end = OkPacket {
            status: self.status(false) | cursor,
            warnings: self.warning_count(),
            ..OkPacket::default()
        };
        let capabilities = self.capabilities;
        self.packets.write(|out| end.put_end_of_rows(capabilities, out))
    }
}
