//! Commands of prepared statements: COM_STMT_PREPARE, COM_STMT_SEND_LONG_DATA and COM_STMT_EXECUTE.

use super::Connection;
use super::cursor::Cursor;
use leafline_protocol::binary::parameter::{ParameterType, attributes, read_count, read_parameters};
use leafline_protocol::bytes::Reader;
use leafline_protocol::prepared::{CURSOR, Execution, HAS_COUNT, LongData, Prepared};
use leafline_protocol::{WireError, capability as cap};
use leafline_sql::session::Outcome;
use leafline_types::result_column::column;
use leafline_types::{MysqlError, SqlType, Value};
use std::collections::HashMap;

/// The parameters of the prepared statements, by statement number.
pub(super) type Parameters = HashMap<u32, PreparedParameters>;

/// The state of a prepared statement's parameters between packets.
#[derive(Default)]
pub(super) struct PreparedParameters {
    count: usize,
    types: Vec<ParameterType>,
    pub(super) long_data: Vec<Option<Vec<u8>>>,
    /// The long data of a parameter exceeds `max_allowed_packet`: the execution is refused.
    pub(super) is_too_long: bool,
    /// The rows of the last execution that are still to be fetched.
    pub(super) cursor: Option<Cursor>,
}

impl Connection<'_> {
    pub(super) fn prepare(&mut self, body: &[u8]) -> Result<(), WireError> {
        let sql = self.statement_text(body);
        let prepared = match sql.and_then(|sql| self.session.prepare(&sql)) {
            Ok(prepared) => prepared,
            Err(error) => return self.send_error(&error),
        };
        let answer = Prepared {
            id: prepared.id,
            columns: prepared.columns.len() as u16,
            parameters: prepared.parameters as u16,
            warnings: self.warning_count(),
        };
        self.packets.write(|out| answer.put(out))?;
        if prepared.parameters > 0 {
            let parameter = column("?", SqlType::Varchar { len: 16_383 });
            self.send_columns(&vec![parameter; prepared.parameters], false)?;
        }
        if !prepared.columns.is_empty() {
            self.send_columns(&prepared.columns, false)?;
        }
        let kept = PreparedParameters { count: prepared.parameters, ..PreparedParameters::default() };
        self.parameters.insert(prepared.id, kept);
        Ok(())
    }

    pub(super) fn execute(&mut self, body: &[u8]) -> Result<(), WireError> {
        let outcome = self.read_execution(body).and_then(|(id, has_cursor, values)| {
            Ok((id, has_cursor, self.session.execute_prepared(id, &values)?))
        });
        match outcome {
            // CALL has no cursor: its results are sent at once, as in MySQL.
            Ok((id, true, Outcome::Rows(rows))) if !self.session.has_more_results() => {
                self.open_cursor(id, rows)
            }
            outcome => self.send_results(outcome.map(|(_, _, outcome)| outcome), false, true).map(|_| ()),
        }
    }

    /// Reads a COM_STMT_EXECUTE. Returns the statement's number, whether a cursor keeps its rows, and the parameters.
    fn read_execution(&mut self, body: &[u8]) -> Result<(u32, bool, Vec<Value>), MysqlError> {
        let mut reader = Reader::new(body);
        let charset = self.session.settings().client_charset;
        let Execution { id, flags } = Execution::read(&mut reader)?;
        if flags & !(CURSOR | HAS_COUNT) != 0 {
            return Err(MysqlError::not_supported("cursors that scroll or write"));
        }
        let kept = self.parameters.get_mut(&id);
        let kept = kept.ok_or_else(|| MysqlError::unknown_statement_handler(id, "mysqld_stmt_execute"))?;
        kept.cursor = None;
        if std::mem::take(&mut kept.is_too_long) {
            kept.long_data.clear();
            return Err(MysqlError::unknown_error(
                "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
                 'max_allowed_packet' bytes",
            ));
        }
        let named = self.capabilities & cap::QUERY_ATTRIBUTES != 0;
        let mut count = kept.count;
        if named && (count > 0 || flags & HAS_COUNT != 0) {
            count = read_count(&mut reader)?;
            if count < kept.count {
                return Err(MysqlError::malformed_packet());
            }
        }
        let (types, long_data) = (&mut kept.types, &kept.long_data);
        let mut values = read_parameters(&mut reader, count, named, types, long_data, charset)?;
        kept.long_data.clear();
        if named {
            self.session.set_query_attributes(attributes(types, &values));
        }
        values.truncate(kept.count);
        Ok((id, flags & CURSOR != 0, values))
    }

    pub(super) fn add_long_data(&mut self, body: &[u8]) {
        let mut reader = Reader::new(body);
        let Ok(LongData { id, parameter }) = LongData::read(&mut reader) else { return };
        let Some(kept) = self.parameters.get_mut(&id) else { return };
        let parameter = usize::from(parameter);
        if parameter >= kept.count {
            return;
        }
        if kept.long_data.len() <= parameter {
            kept.long_data.resize(parameter + 1, None);
        }
        if let Some(slot) = kept.long_data.get_mut(parameter) {
            let data = slot.get_or_insert_default();
            let part = reader.rest();
            if data.len() + part.len() <= self.session.settings().max_packet_bytes() {
                data.extend_from_slice(part);
            } else {
                kept.is_too_long = true;
            }
        }
    }
}
