//! Reads the rows of an Arrow stream as parameters of an INSERT.
//!
//! This is the only module that takes pointers from Python: a capsule of the Arrow PyCapsule interface holds a C
//! stream, which is moved out of it.

use crate::error::{DataError, NotSupportedError, ProgrammingError};
use crate::parameters::Parameters;
use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float16Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use leafline_types::{Date, DateTime, Decimal, Time, Value};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::CStr;

const STREAM: &CStr = c"arrow_array_stream";

/// The rows of a stream, read as they are asked for.
pub(crate) struct Rows {
    reader: RecordBatchStreamReader,
    schema: SchemaRef,
    /// The columns of the current batch.
    columns: Vec<ArrayRef>,
    rows: usize,
    next: usize,
}

impl Rows {
    /// Takes the stream of an object with `__arrow_c_stream__`.
    pub(crate) fn of(data: &Bound<'_, PyAny>) -> PyResult<Rows> {
        let why = "append takes what has __arrow_c_stream__: Arrow tables and batches, DataFrames";
        let capsule = data.call_method0("__arrow_c_stream__").map_err(|error| {
            let py = data.py();
            let missing = error.is_instance_of::<pyo3::exceptions::PyAttributeError>(py);
            if missing { ProgrammingError::new_err(why) } else { error }
        })?;
        let capsule = capsule.cast::<PyCapsule>().map_err(|_| ProgrammingError::new_err(why))?;
        let reader = RecordBatchStreamReader::try_new(take_stream(capsule)?).map_err(unusable)?;
        let schema = reader.schema();
        for field in schema.fields() {
            check_type(field.name(), field.data_type())?;
        }
        Ok(Rows { reader, schema, columns: Vec::new(), rows: 0, next: 0 })
    }

    /// Returns the INSERT of one row.
    pub(crate) fn statement(&self, table: &str, schema: Option<&str>) -> PyResult<String> {
        if self.schema.fields().is_empty() {
            return Err(ProgrammingError::new_err("the data has no columns"));
        }
        let table = match schema {
            Some(schema) => format!("{}.{}", quoted(schema), quoted(table)),
            None => quoted(table),
        };
        let columns: Vec<String> = self.schema.fields().iter().map(|field| quoted(field.name())).collect();
        let places = vec!["?"; columns.len()];
        Ok(format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), places.join(", ")))
    }

    /// Returns the next rows, up to `most`; none if there are no more.
    pub(crate) fn next_some(&mut self, py: Python<'_>, most: usize) -> PyResult<Vec<Parameters>> {
        while self.next >= self.rows {
            // The producer may be anything, and may need the interpreter.
            let Some(batch) = py.detach(|| self.reader.next()) else { return Ok(Vec::new()) };
            let batch: RecordBatch = batch.map_err(unusable)?;
            (self.rows, self.next) = (batch.num_rows(), 0);
            self.columns = batch.columns().iter().map(decoded).collect::<PyResult<_>>()?;
        }
        let rows = self.next..self.rows.min(self.next + most);
        self.next = rows.end;
        rows.map(|row| self.row(row)).collect()
    }

    fn row(&self, row: usize) -> PyResult<Parameters> {
        let mut parameters = Parameters::default();
        for (field, column) in self.schema.fields().iter().zip(&self.columns) {
            let value = value(column, row).ok_or_else(|| {
                DataError::new_err(format!("a value of column {} cannot be stored", field.name()))
            })?;
            let zoned = matches!(column.data_type(), DataType::Timestamp(_, Some(_)));
            parameters.push_value(value, zoned);
        }
        Ok(parameters)
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn unusable(error: arrow_schema::ArrowError) -> PyErr {
    DataError::new_err(format!("the data cannot be read: {error}"))
}

/// Moves the stream out of a capsule, and leaves a released one in it.
#[allow(unsafe_code)]
fn take_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: a capsule of that name holds a valid ArrowArrayStream, by the Arrow PyCapsule interface, and this
    // thread has the interpreter, so that no other moves it meanwhile. `append_takes_what_arrow_has` would notice.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast()) })
}

fn check_type(name: &str, ty: &DataType) -> PyResult<()> {
    match ty {
        DataType::Dictionary(_, values) => check_type(name, values),
        DataType::Null | DataType::Boolean => Ok(()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(()),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Ok(())
        }
        DataType::Decimal128(..) | DataType::Decimal256(..) => Ok(()),
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => Ok(()),
        DataType::Timestamp(..) | DataType::Duration(_) => Ok(()),
        ty if ty.is_integer() || ty.is_floating() => Ok(()),
        ty => Err(NotSupportedError::new_err(format!(
            "column {name} is of type {ty}, which no column of a table has"
        ))),
    }
}

/// Returns a column with values in place of a dictionary's indexes.
fn decoded(column: &ArrayRef) -> PyResult<ArrayRef> {
    match column.as_any_dictionary_opt() {
        Some(dictionary) => {
            arrow_select::take::take(dictionary.values(), dictionary.keys(), None).map_err(unusable)
        }
        None => Ok(column.clone()),
    }
}

/// Returns a value; None if SQL has no such value.
fn value(column: &ArrayRef, row: usize) -> Option<Value> {
    if column.is_null(row) || *column.data_type() == DataType::Null {
        return Some(Value::Null);
    }
    Some(match column.data_type() {
        DataType::Boolean => Value::Int(column.as_boolean().value(row).into()),
        DataType::Int8 => Value::Int(number::<Int8Type>(column, row).into()),
        DataType::Int16 => Value::Int(number::<Int16Type>(column, row).into()),
        DataType::Int32 => Value::Int(number::<Int32Type>(column, row).into()),
        DataType::Int64 => Value::Int(number::<Int64Type>(column, row)),
        DataType::UInt8 => Value::UInt(number::<UInt8Type>(column, row).into()),
        DataType::UInt16 => Value::UInt(number::<UInt16Type>(column, row).into()),
        DataType::UInt32 => Value::UInt(number::<UInt32Type>(column, row).into()),
        DataType::UInt64 => Value::UInt(number::<UInt64Type>(column, row)),
        DataType::Float16 => double(number::<Float16Type>(column, row).into())?,
        DataType::Float32 => double(number::<Float32Type>(column, row).into())?,
        DataType::Float64 => double(number::<Float64Type>(column, row))?,
        DataType::Decimal128(..) => {
            Value::Decimal(Decimal::parse(&column.as_primitive::<Decimal128Type>().value_as_string(row))?)
        }
        DataType::Decimal256(..) => {
            Value::Decimal(Decimal::parse(&column.as_primitive::<Decimal256Type>().value_as_string(row))?)
        }
        DataType::Utf8 => Value::string(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Value::string(column.as_string::<i64>().value(row)),
        DataType::Utf8View => Value::string(column.as_string_view().value(row)),
        DataType::Binary => Value::bytes(column.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Value::bytes(column.as_binary::<i64>().value(row)),
        DataType::BinaryView => Value::bytes(column.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => Value::bytes(column.as_fixed_size_binary().value(row)),
        DataType::Date32 => Value::Date(Date::from_epoch_days(number::<Date32Type>(column, row))?),
        DataType::Date64 => {
            let days = number::<Date64Type>(column, row).div_euclid(86_400_000);
            Value::Date(Date::from_epoch_days(days.try_into().ok()?)?)
        }
        DataType::Timestamp(unit, _) => {
            let since = match unit {
                TimeUnit::Second => number::<TimestampSecondType>(column, row),
                TimeUnit::Millisecond => number::<TimestampMillisecondType>(column, row),
                TimeUnit::Microsecond => number::<TimestampMicrosecondType>(column, row),
                TimeUnit::Nanosecond => number::<TimestampNanosecondType>(column, row),
            };
            Value::DateTime(DateTime::from_epoch_micros(micros(since, *unit)?)?)
        }
        DataType::Time32(TimeUnit::Second) => {
            time(number::<Time32SecondType>(column, row).into(), TimeUnit::Second)?
        }
        DataType::Time32(_) => {
            time(number::<Time32MillisecondType>(column, row).into(), TimeUnit::Millisecond)?
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            time(number::<Time64NanosecondType>(column, row), TimeUnit::Nanosecond)?
        }
        DataType::Time64(_) => time(number::<Time64MicrosecondType>(column, row), TimeUnit::Microsecond)?,
        DataType::Duration(unit) => {
            let span = match unit {
                TimeUnit::Second => number::<DurationSecondType>(column, row),
                TimeUnit::Millisecond => number::<DurationMillisecondType>(column, row),
                TimeUnit::Microsecond => number::<DurationMicrosecondType>(column, row),
                TimeUnit::Nanosecond => number::<DurationNanosecondType>(column, row),
            };
            time(span, *unit)?
        }
        _ => return None,
    })
}

fn number<T: ArrowPrimitiveType>(column: &ArrayRef, row: usize) -> T::Native {
    column.as_primitive::<T>().value(row)
}

fn double(number: f64) -> Option<Value> {
    number.is_finite().then_some(Value::Double(number))
}

/// Returns microseconds; cuts off smaller parts.
fn micros(count: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => count.checked_mul(1_000_000),
        TimeUnit::Millisecond => count.checked_mul(1000),
        TimeUnit::Microsecond => Some(count),
        TimeUnit::Nanosecond => Some(count.div_euclid(1000)),
    }
}

fn time(count: i64, unit: TimeUnit) -> Option<Value> {
    Time::from_micros(micros(count, unit)?).map(Value::Time)
}
