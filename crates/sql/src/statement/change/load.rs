//! The rows of LOAD DATA: the lines of a file, one at a time; and those that a program gives.

use super::insert::Run;
use super::{computed, default_of};
use crate::session::Session;
use crate::statement::evaluate::type_of;
use crate::statement::execution::Execution;
use crate::statement::load_values::RowSource;
use crate::table_file::{RowCodec, TableReader, damaged};
use crate::text_file::{self, Field, LineReader};
use leafline_planner::bound::{BoundLoad, LoadTarget, NewValue};
use leafline_syntax::ast::LoadSource;
use leafline_table::Transaction;
use leafline_table::implicit_default;
use leafline_types::{Charset, Coercibility, ExprType, MysqlError, Progress, SqlType, Value};
use std::io::{self, Read};

/// Gives `run` the lines of the file.
pub(super) fn load(
    run: &mut Run<'_>,
    (load, file): (&BoundLoad, &mut dyn Read),
    execution: &mut Execution,
    session: &mut Session,
    transaction: &mut Transaction,
) -> Result<(), MysqlError> {
    let most_bytes = session.settings.evaluation_mode().max_result;
    let mut file = Counted { file, progress: session.entry.progress.clone() };
    if load.source == LoadSource::Table {
        return load_table(run, (load, &mut file), execution, session, transaction);
    }
    let mut lines = LineReader::new(file, &load.format, most_bytes).in_charset(load.charset);
    let failed = |e: io::Error| text_file::read_error(&load.path, &e);
    for _ in 0..load.skip {
        session.cancel.check()?;
        lines.end_line().map_err(failed)?;
    }
    let strict = session.settings.evaluation_mode().strict && !run.insert.ignore;
    let mut bytes = Vec::new();
    let mut variables = Vec::new();
    loop {
        run.begin_row(execution, session)?;
        variables.clear();
        for (at, target) in load.fields.iter().enumerate() {
            let field = lines.field(&mut bytes).map_err(failed)?;
            if field == Field::Missing {
                if at == 0 {
                    keep_variables(load, session, &variables)?;
                    return Ok(());
                }
                told(MysqlError::too_few_records(run.counts.records + 1), strict, session)?;
            }
            match target {
                LoadTarget::Column(column) => {
                    give(run, *column, field, (&bytes, load.charset), execution, session)?
                }
                LoadTarget::Variable(_) => variables.push(match field {
                    Field::Text => value(&bytes, load.charset)?.0,
                    Field::Missing | Field::Null => Value::Null,
                }),
            }
        }
        for (column, new) in &load.assignments {
            let definition = run.column(*column)?;
            let stored = match new {
                NewValue::Expr(expr) => {
                    let values = [&run.row[..], &variables[..]].concat();
                    computed(expr, &values, definition, run.counts.records + 1, execution, session)?
                }
                NewValue::Default => {
                    default_of(*column, definition, &run.insert.rules, &run.row, execution, session)?
                }
            };
            run.set(*column, stored);
        }
        keep_variables(load, session, &variables)?;
        run.finish_row(execution, session, transaction)?;
        if lines.end_line().map_err(failed)? {
            told(MysqlError::too_many_records(run.counts.records), strict, session)?;
        }
    }
}

/// Gives `run` the rows of a file of a table.
fn load_table(
    run: &mut Run<'_>,
    (load, file): (&BoundLoad, &mut dyn Read),
    execution: &mut Execution,
    session: &mut Session,
    transaction: &mut Transaction,
) -> Result<(), MysqlError> {
    let columns: Vec<usize> = load
        .fields
        .iter()
        .filter_map(|field| match field {
            LoadTarget::Column(column) => Some(*column),
            LoadTarget::Variable(_) => None,
        })
        .collect();
    let definitions = columns.iter().map(|at| run.column(*at)).collect::<Result<Vec<_>, _>>()?;
    let codec = RowCodec::new(definitions.into_iter());
    let mut rows = TableReader::new(io::BufReader::with_capacity(1 << 20, file), &load.path)?;
    while let Some(bytes) = rows.next_row()? {
        let row = codec.decode(bytes).filter(|row| row.len() == columns.len());
        let row = row.ok_or_else(|| damaged(&load.path, "a row is malformed"))?;
        run.begin_row(execution, session)?;
        for (at, value) in columns.iter().zip(row) {
            let column = run.column(*at)?;
            let number = run.counts.records + 1;
            let stored = match value {
                Value::Null if column.nullable => Value::Null,
                Value::Null => return Err(MysqlError::null_to_not_null(&column.name, number)),
                value => execution.store(session, &value, &column.ty, column, number)?,
            };
            run.set(*at, stored);
        }
        run.finish_row(execution, session, transaction)?;
    }
    Ok(())
}

/// Gives `run` the rows of a program.
pub(super) fn load_values(
    run: &mut Run<'_>,
    (load, rows): (&BoundLoad, &mut dyn RowSource),
    execution: &mut Execution,
    session: &mut Session,
    transaction: &mut Transaction,
) -> Result<(), MysqlError> {
    let mut values = Vec::new();
    loop {
        session.cancel.check()?;
        values.clear();
        if !rows.next_row(&mut values)? {
            return Ok(());
        }
        if values.len() != load.fields.len() {
            return Err(MysqlError::wrong_value_count(run.counts.records + 1));
        }
        run.begin_row(execution, session)?;
        for (target, value) in load.fields.iter().zip(&values) {
            let LoadTarget::Column(at) = target else { continue };
            let column = run.column(*at)?;
            let number = run.counts.records + 1;
            let stored = execution.store(session, value, &type_of(value), column, number)?;
            run.set(*at, stored);
        }
        run.finish_row(execution, session, transaction)?;
    }
}

/// Tells how much of a file was read.
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

/// An error, or the warning in its place.
fn told(error: MysqlError, strict: bool, session: &mut Session) -> Result<(), MysqlError> {
    if strict {
        return Err(error);
    }
    session.warnings.warn(error);
    Ok(())
}

/// Gives a column what its field has: its default if there is no field.
fn give(
    run: &mut Run<'_>,
    at: usize,
    field: Field,
    (bytes, charset): (&[u8], Charset),
    execution: &mut Execution,
    session: &mut Session,
) -> Result<(), MysqlError> {
    let column = run.column(at)?;
    let number = run.counts.records + 1;
    let stored = match field {
        Field::Missing => default_of(at, column, &run.insert.rules, &run.row, execution, session)?,
        Field::Null if column.nullable || column.auto_increment => Value::Null,
        Field::Null => {
            let strict = session.settings.evaluation_mode().strict && !run.insert.ignore;
            told(MysqlError::null_to_not_null(&column.name, number), strict, session)?;
            implicit_default(column)?
        }
        Field::Text => {
            let is_binary = !column.ty.is_character() && column.ty.is_string();
            let charset =
                if is_binary || matches!(column.ty, SqlType::Bit { .. }) { Charset::Binary } else { charset };
            let (value, from) = value(bytes, charset)?;
            execution.store(session, &value, &from, column, number)?
        }
    };
    run.set(at, stored);
    Ok(())
}

/// The value of a field, and its type.
fn value(bytes: &[u8], charset: Charset) -> Result<(Value, SqlType), MysqlError> {
    Ok(match charset {
        Charset::Binary => (Value::Bytes(bytes.into()), SqlType::Blob { max_bytes: u32::MAX }),
        _ => (Value::string(charset.decode(bytes)?), SqlType::Text { max_bytes: u32::MAX }),
    })
}

/// The variables have the fields of the last line.
fn keep_variables(load: &BoundLoad, session: &mut Session, values: &[Value]) -> Result<(), MysqlError> {
    let names = load.fields.iter().filter_map(|field| match field {
        LoadTarget::Variable(name) => Some(name),
        LoadTarget::Column(_) => None,
    });
    for (name, value) in names.zip(values) {
        let ty = match value {
            Value::Bytes(_) => SqlType::Blob { max_bytes: u32::MAX },
            _ => SqlType::Text { max_bytes: u32::MAX },
        };
        let ty = ExprType::string(ty, true, session.settings.collation, Coercibility::Implicit);
        session.set_user_variable(name, value.clone(), &ty)?;
    }
    Ok(())
}
