//! COM_FIELD_LIST: sends the columns of a table. The `mysql` client asks for them to complete names.

use super::{Connection, text};
use leafline_expr::LikePattern;
use leafline_protocol::WireError;
use leafline_protocol::bytes::{NULL, Reader};
use leafline_protocol::column::put_column;
use leafline_protocol::reply::OkPacket;
use leafline_sql::ColumnMeta;
use leafline_types::{Collation, MysqlError};

impl Connection<'_> {
    /// Runs COM_FIELD_LIST. `body` has a table's name, a zero byte, and a pattern for column names.
    pub(super) fn list_fields(&mut self, body: &[u8]) -> Result<(), WireError> {
        let columns = match self.fields(body) {
            Ok(columns) => columns,
            Err(error) => return self.send_error(&error),
        };
        let results = self.session.settings().results_collation();
        for column in &columns {
            // The column's default value follows; the server sends none.
            self.packets.write(|out| {
                put_column(out, column, results);
                out.push(NULL);
            })?;
        }
        let end = OkPacket { status: self.status(false), ..OkPacket::default() };
        let capabilities = self.capabilities;
        self.packets.write(|out| end.put_end_of_rows(capabilities, out))
    }

    fn fields(&mut self, body: &[u8]) -> Result<Vec<ColumnMeta>, MysqlError> {
        let charset = self.session.settings().client_charset;
        let mut reader = Reader::new(body);
        let table = text(reader.terminated()?, charset)?.replace('`', "``");
        // Some clients end the pattern with a zero byte.
        let pattern = text(reader.rest(), charset)?;
        let pattern = pattern.trim_end_matches('\0');
        let prepared = self.session.prepare(&format!("SELECT * FROM `{table}` LIMIT 0"))?;
        self.session.close_prepared(prepared.id);
        let mut columns = prepared.columns;
        if !pattern.is_empty() {
            let pattern = LikePattern::new(pattern.as_bytes(), Some('\\'), Collation::Utf8mb3GeneralCi);
            columns.retain(|column| pattern.matches(column.name.as_bytes()));
        }
        Ok(columns)
    }
}
