//! Rows of LOAD DATA: the lines of a file, one at a time, the rows of a table file, or the rows that a program gives.

use super::super::{ChangeContext, computed, default_of};
use super::RowInserter;
use crate::plans::parameters::type_of;
use crate::row_source::RowSource;
use crate::session::StatementContext;
use crate::table_file::{RowCodec, TableReader, damaged};
use crate::text_file::{self, Field, LineReader};
use leafline_planner::bound::{BoundLoad, LoadTarget, NewValue};
use leafline_syntax::ast::LoadSource;
use leafline_table::implicit_default;
use leafline_types::{Charset, Coercibility, ExprType, MysqlError, Progress, SqlType, Value};
use std::io::{self, Read};

/// Inserts the lines of a text file.
pub(super) fn load(
    inserter: &mut RowInserter<'_>,
    (load, file): (&BoundLoad, &mut dyn Read),
    cx: &mut ChangeContext<'_, '_>,
) -> Result<(), MysqlError> {
    let most_bytes = cx.session.settings.evaluation_mode().max_result;
    let mut file = Counted { file, progress: cx.session.entry.progress.clone() };
    if load.source == LoadSource::Table {
        return load_table(inserter, (load, &mut file), cx);
    }
    let mut lines = LineReader::new(file, &load.format, most_bytes).in_charset(load.charset);
    let failed = |e: io::Error| text_file::read_error(&load.path, &e);
    for _ in 0..load.skip {
        cx.exec.eval.cancel.check()?;
        lines.end_line().map_err(failed)?;
    }
    let strict = cx.session.settings.evaluation_mode().strict && !inserter.insert.ignore;
    let mut bytes = Vec::new();
    let mut variables = Vec::new();
    loop {
        inserter.begin_row(cx)?;
        variables.clear();
        for (at, target) in load.fields.iter().enumerate() {
            let field = lines.field(&mut bytes).map_err(failed)?;
            if field == Field::Missing {
                if at == 0 {
                    keep_variables(load, cx, &variables)?;
                    return Ok(());
                }
                told(MysqlError::too_few_records(inserter.counts.records + 1), strict, cx)?;
            }
            match target {
                LoadTarget::Column(column) => give(inserter, *column, field, (&bytes, load.charset), cx)?,
                LoadTarget::Variable(_) => variables.push(match field {
                    Field::Text => value(&bytes, load.charset)?.0,
                    Field::Missing | Field::Null => Value::Null,
                }),
            }
        }
        for (column, new) in &load.assignments {
            let definition = inserter.column(*column)?;
            let stored = match new {
                NewValue::Expr(expr) => {
                    let values = [&inserter.row[..], &variables[..]].concat();
                    computed(expr, &values, definition, inserter.counts.records + 1, cx)?
                }
                NewValue::Default => {
                    default_of(*column, definition, &inserter.insert.rules, &inserter.row, cx)?
                }
            };
            inserter.set(*column, stored);
        }
        keep_variables(load, cx, &variables)?;
        inserter.finish_row(cx)?;
        if lines.end_line().map_err(failed)? {
            told(MysqlError::too_many_records(inserter.counts.records), strict, cx)?;
        }
    }
}

/// Inserts the rows of a table file, as EXPORT TABLE writes it.
fn load_table(
    inserter: &mut RowInserter<'_>,
    (load, file): (&BoundLoad, &mut dyn Read),
    cx: &mut ChangeContext<'_, '_>,
) -> Result<(), MysqlError> {
    let columns: Vec<usize> = load
        .fields
        .iter()
        .filter_map(|field| match field {
            LoadTarget::Column(column) => Some(*column),
            LoadTarget::Variable(_) => None,
        })
        .collect();
    let definitions = columns.iter().map(|at| inserter.column(*at)).collect::<Result<Vec<_>, _>>()?;
    let codec = RowCodec::new(definitions.into_iter());
    let mut rows = TableReader::new(io::BufReader::with_capacity(1 << 20, file), &load.path)?;
    while let Some(bytes) = rows.next_row()? {
        let row = codec.decode(bytes).filter(|row| row.len() == columns.len());
        let row = row.ok_or_else(|| damaged(&load.path, "a row is malformed"))?;
        inserter.begin_row(cx)?;
        for (at, value) in columns.iter().zip(row) {
            let column = inserter.column(*at)?;
            let number = inserter.counts.records + 1;
            let stored = match value {
                Value::Null if column.nullable || cx.rules.null_waits => Value::Null,
                Value::Null => return Err(MysqlError::null_to_not_null(&column.name, number)),
                value => cx.store(&value, &column.ty, column, number)?,
            };
            inserter.set(*at, stored);
        }
        inserter.finish_row(cx)?;
    }
    Ok(())
}

/// Inserts the rows that a program gives.
pub(super) fn load_values(
    inserter: &mut RowInserter<'_>,
    (load, rows): (&BoundLoad, &mut dyn RowSource),
    cx: &mut ChangeContext<'_, '_>,
) -> Result<(), MysqlError> {
    let mut values = Vec::new();
    loop {
        cx.exec.eval.cancel.check()?;
        values.clear();
        if !rows.next_row(&mut values)? {
            return Ok(());
        }
        if values.len() != load.fields.len() {
            return Err(MysqlError::wrong_value_count(inserter.counts.records + 1));
        }
        inserter.begin_row(cx)?;
        for (target, value) in load.fields.iter().zip(&values) {
            let LoadTarget::Column(at) = target else { continue };
            let column = inserter.column(*at)?;
            let number = inserter.counts.records + 1;
            let stored = cx.store(value, &type_of(value), column, number)?;
            inserter.set(*at, stored);
        }
        inserter.finish_row(cx)?;
    }
}

/// A reader that reports how many bytes of the file were read.
struct Counted<'f> {
    file: &'f mut dyn Read,
    progress: Progress,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.progress.add(read as u64);
        Ok(read)
    }
}

/// Returns the error when `strict`, and makes it a warning otherwise.
fn told(error: MysqlError, strict: bool, cx: &mut StatementContext<'_>) -> Result<(), MysqlError> {
    if strict {
        return Err(error);
    }
    cx.warn(error);
    Ok(())
}

/// Gives a column the value of its field, or its default if the line has no such field.
fn give(
    inserter: &mut RowInserter<'_>,
    at: usize,
    field: Field,
    (bytes, charset): (&[u8], Charset),
    cx: &mut StatementContext<'_>,
) -> Result<(), MysqlError> {
    let column = inserter.column(at)?;
    let number = inserter.counts.records + 1;
    let stored = match field {
        Field::Missing => default_of(at, column, &inserter.insert.rules, &inserter.row, cx)?,
        Field::Null if column.nullable || column.auto_increment || cx.rules.null_waits => Value::Null,
        Field::Null => {
            let strict = cx.session.settings.evaluation_mode().strict && !inserter.insert.ignore;
            told(MysqlError::null_to_not_null(&column.name, number), strict, cx)?;
            implicit_default(column)?
        }
        Field::Text => {
            let is_binary = !column.ty.is_character() && column.ty.is_string();
            let charset =
                if is_binary || matches!(column.ty, SqlType::Bit { .. }) { Charset::Binary } else { charset };
            let (value, from) = value(bytes, charset)?;
            cx.store(&value, &from, column, number)?
        }
    };
    inserter.set(at, stored);
    Ok(())
}

/// Decodes a field. Returns its value and its type.
fn value(bytes: &[u8], charset: Charset) -> Result<(Value, SqlType), MysqlError> {
    Ok(match charset {
        Charset::Binary => (Value::Bytes(bytes.into()), SqlType::Blob { max_bytes: u32::MAX }),
        _ => (Value::string(charset.decode(bytes)?), SqlType::Text { max_bytes: u32::MAX }),
    })
}

/// Gives user variables the fields of the last line.
fn keep_variables(
    load: &BoundLoad,
    cx: &mut StatementContext<'_>,
    values: &[Value],
) -> Result<(), MysqlError> {
    let names = load.fields.iter().filter_map(|field| match field {
        LoadTarget::Variable(name) => Some(name),
        LoadTarget::Column(_) => None,
    });
    for (name, value) in names.zip(values) {
        let ty = match value {
            Value::Bytes(_) => SqlType::Blob { max_bytes: u32::MAX },
            _ => SqlType::Text { max_bytes: u32::MAX },
        };
        let ty = ExprType::string(ty, true, cx.session.settings.collation, Coercibility::Implicit);
        cx.exec.eval.state.variables.set(name, value.clone(), &ty)?;
    }
    Ok(())
}
