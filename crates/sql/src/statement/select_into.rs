//! SELECT .. INTO: puts the rows into variables or a file.

use crate::result::{ColumnMeta, Done};
use crate::session::{RowStream, Session};
use crate::text_file;
use leafline_syntax::TextFormat;
use leafline_syntax::ast::{Into, VariableTarget};
use leafline_types::{Charset, Coercibility, ExprType, MysqlError, TextColumns};
use std::io::Write as _;

impl Session {
    /// Puts the rows into the variables or the file that INTO names.
    pub(super) fn select_into(&mut self, rows: RowStream, into: &Into) -> Result<Done, MysqlError> {
        let (path, lines) = match into {
            Into::Variables(variables) => return self.set_variables(rows, variables),
            Into::Lines { path, charset, format } => {
                let charset = charset.as_deref().map(Charset::from_name).transpose()?;
                (path, Some((format, charset.filter(|charset| *charset != Charset::Binary))))
            }
            Into::Bytes(path) => (path, None),
        };
        let (mut file, place) = text_file::create(path, self.instance.facts().secure_file_priv.as_deref())?;
        let written = self.write_file(rows, lines, &mut |bytes| {
            file.write_all(bytes).map_err(|e| text_file::write_error(path, &e))
        });
        if written.is_err() {
            // A part of the file is useless, and would make another attempt fail.
            let _ = std::fs::remove_file(place);
        }
        written
    }

    /// Writes the rows as lines, or, without a format, the only row as it is. Text is written in the given character set, or in each
    /// column's own.
    fn write_file(
        &mut self,
        mut rows: RowStream,
        lines: Option<(&TextFormat, Option<Charset>)>,
        write: &mut dyn FnMut(&[u8]) -> Result<(), MysqlError>,
    ) -> Result<Done, MysqlError> {
        let types = rows.types();
        let given = lines.and_then(|(_, charset)| charset);
        let own = |column: &ColumnMeta| given.unwrap_or_else(|| column.collation.charset());
        let charsets: Vec<Charset> = rows.columns().iter().map(own).collect();
        let mut out = Vec::new();
        let mut affected = 0;
        while let Some(batch) = rows.next_within(self)? {
            affected += batch.rows as u64;
            if lines.is_none() && affected > 1 {
                return Err(MysqlError::too_many_rows());
            }
            let columns = TextColumns::new(&batch, &types);
            for row in 0..batch.rows {
                let values = types.iter().enumerate().map(|(at, ty)| {
                    let mut text = Vec::new();
                    let has_value = columns.append(row, at, &mut text);
                    if let Some(charset) = charsets.get(at).filter(|charset| !charset.is_utf8())
                        && (ty.is_character() || ty.has_members())
                        && *charset != Charset::Binary
                        && let Ok(utf8) = std::str::from_utf8(&text)
                    {
                        text = charset.encode(utf8);
                    }
                    has_value.then_some((text, !ty.is_numeric()))
                });
                let values: Vec<Option<(Vec<u8>, bool)>> = values.collect();
                match lines {
                    Some((format, _)) => {
                        let values =
                            values.iter().map(|value| value.as_ref().map(|(text, is)| (&text[..], *is)));
                        text_file::append_line(format, values, &mut out);
                    }
                    None => values.iter().flatten().for_each(|(bytes, _)| out.extend_from_slice(bytes)),
                }
            }
            write(&out)?;
            out.clear();
        }
        Ok(Done { affected, ..Done::default() })
    }

    /// Puts the only row into variables. Without a row the variables stay as they are, with warning 1329. With more than one row they
    /// take the first, as in MySQL, and the statement fails with error 1172.
    fn set_variables(
        &mut self,
        mut rows: RowStream,
        variables: &[VariableTarget],
    ) -> Result<Done, MysqlError> {
        let columns = rows.columns().clone();
        let (first, has_more) = rows.first_row(self)?;
        let Some(values) = first else {
            self.warnings.warn(MysqlError::no_data());
            return Ok(Done::default());
        };
        for ((name, value), column) in variables.iter().zip(values).zip(columns.iter()) {
            let ty = column.value_type();
            match name {
                VariableTarget::User(name) => {
                    let ty = ExprType::string(ty, true, column.collation, Coercibility::Implicit);
                    self.set_user_variable(name, value, &ty)?;
                }
                VariableTarget::Local(name) => self.assign_local(name, value, ty)?,
            }
        }
        match has_more {
            true => Err(MysqlError::too_many_rows()),
            false => Ok(Done { affected: 1, ..Done::default() }),
        }
    }
}
