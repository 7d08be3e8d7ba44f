//! OPEN, FETCH and CLOSE.
//!
//! OPEN reads all rows of the query: later statements, also COMMIT and DDL, do not change what FETCH finds.
//! The rows count as memory of the program.

use super::evaluate::{self, Surroundings};
use super::frame::OpenCursor;
use super::run::Run;
use crate::session::{Outcome, Session};
use leafline_executor::batch_bytes;
use leafline_types::column::value_at;
use leafline_types::{Coercibility, ExprType, MysqlError, Value};
use std::collections::VecDeque;
use std::ops::Range;

impl Run {
    /// Opens a cursor.
    ///
    /// # Errors
    /// 1325 if it is open; errors of the query.
    pub(super) fn open_cursor(&mut self, session: &mut Session, cursor: usize) -> Result<(), MysqlError> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        if frame.cursors.get(cursor).is_some_and(Option::is_some) {
            return Err(MysqlError::cursor_already_open());
        }
        let code = frame.code.clone();
        let Some(statement) = code.cursors.get(cursor) else {
            return Err(MysqlError::internal("a cursor without its query"));
        };
        let Outcome::Rows(mut rows) = self.statement(session, &code, *statement)? else {
            return Err(MysqlError::internal("a cursor's query without rows"));
        };
        let collations = rows.columns().iter().map(|column| column.collation);
        let types = rows.types().into_iter().zip(collations);
        let types = types
            .map(|(ty, collation)| ExprType::string(ty, true, collation, Coercibility::Implicit))
            .collect();
        let mut opened = OpenCursor { types, batches: VecDeque::new(), row: 0, bytes: 0 };
        let read = std::iter::from_fn(|| rows.next_within(session).transpose()).try_for_each(|batch| {
            let batch = batch?;
            let size = batch_bytes(&batch);
            self.memory.take(size)?;
            opened.bytes += size;
            opened.batches.push_back(batch);
            Ok(())
        });
        if let Err(error) = read {
            self.memory.give_back(opened.bytes);
            return Err(error);
        }
        if let Some(place) = self.frames.last_mut().and_then(|frame| frame.cursors.get_mut(cursor)) {
            *place = Some(opened);
        }
        Ok(())
    }

    /// Fetches the next row into slots.
    ///
    /// # Errors
    /// 1326 if the cursor is not open, 1328 for another number of variables, 1329 behind the last row; errors of
    /// conversion.
    pub(super) fn fetch(
        &mut self,
        session: &mut Session,
        cursor: usize,
        into: &[usize],
    ) -> Result<(), MysqlError> {
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        let Some(open) = frame.cursors.get_mut(cursor).and_then(Option::as_mut) else {
            return Err(MysqlError::cursor_not_open());
        };
        if open.types.len() != into.len() {
            return Err(MysqlError::wrong_number_of_fetch_variables());
        }
        let Some(batch) = open.batches.front() else { return Err(MysqlError::no_data()) };
        let columns = batch.columns.iter().zip(&open.types);
        let row: Vec<Value> = columns.map(|(column, ty)| value_at(column, open.row, &ty.sql)).collect();
        let types: Vec<ExprType> = open.types.clone();
        open.row += 1;
        if open.row >= batch.rows {
            open.row = 0;
            open.batches.pop_front();
        }
        let around = Surroundings::of(session);
        for ((slot, value), ty) in into.iter().zip(row).zip(types) {
            let place = (&mut *frame, &self.memory);
            evaluate::assign(session, place, *slot, (value, &ty.sql), &around)?;
        }
        Ok(())
    }

    /// Closes a cursor.
    ///
    /// # Errors
    /// 1326 if it is not open.
    pub(super) fn close_cursor(&mut self, cursor: usize) -> Result<(), MysqlError> {
        let open =
            self.frames.last_mut().and_then(|frame| frame.cursors.get_mut(cursor)).and_then(Option::take);
        let open = open.ok_or_else(MysqlError::cursor_not_open)?;
        self.memory.give_back(open.bytes);
        Ok(())
    }

    /// Closes the open ones of some cursors.
    pub(super) fn close_cursors(&mut self, cursors: Range<usize>) {
        let Some(frame) = self.frames.last_mut() else { return };
        for open in frame.cursors.get_mut(cursors).into_iter().flatten() {
            if let Some(open) = open.take() {
                self.memory.give_back(open.bytes);
            }
        }
    }
}
