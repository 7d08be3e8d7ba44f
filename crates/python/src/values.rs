//! Converts SQL's values to those of Python that PyMySQL returns.
//!
//! | SQL | Python |
//! |---|---|
//! | integers, YEAR | `int` |
//! | DECIMAL | `decimal.Decimal` |
//! | DOUBLE, FLOAT | `float`; for a FLOAT the shortest number that rounds to it |
//! | character strings, ENUM, SET, JSON | `str` |
//! | binary strings, BIT | `bytes` |
//! | DATE, DATETIME, TIMESTAMP | `datetime.date`, `datetime.datetime`; `str` for a date that does not exist: `0000-00-00` |
//! | TIME | `datetime.timedelta` |

use crate::parameters::decimal_type;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, Float64Array, Int64Array, StringArray, UInt64Array};
use leafline::{ColumnMeta, Date, DateTime, SqlType, Time, ValueRef};
use leafline_sql::{Chunk, ChunkValues};
use leafline_types::{convert, value_at};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDate, PyDateTime, PyDelta, PyFloat, PyInt, PyString, PyTuple};
use std::sync::Arc;

/// Reads rows one by one.
pub(crate) struct RowReader {
    chunk: Arc<Chunk>,
    columns: Vec<Column>,
    next: usize,
}

/// A column, by the type of its values.
enum Column {
    Int(Int64Array),
    UInt(UInt64Array),
    Double(Float64Array),
    Text(StringArray),
    Bytes(BinaryArray),
    Other(ArrayRef),
}

impl RowReader {
    /// Makes a reader of a chunk of rows.
    pub(crate) fn new(chunk: Arc<Chunk>) -> RowReader {
        let columns = match &chunk.values {
            ChunkValues::Columns(batch) => chunk
                .columns
                .iter()
                .zip(&batch.columns)
                .map(|(meta, array)| Column::new(meta, array))
                .collect(),
            ChunkValues::Rows(_) => Vec::new(),
        };
        RowReader { chunk, columns, next: 0 }
    }

    /// Returns how many rows are left.
    pub(crate) fn left(&self) -> usize {
        self.chunk.rows() - self.next
    }

    /// Returns the chunk, and how many of its rows were read.
    pub(crate) fn rest(&self) -> (&Arc<Chunk>, usize) {
        (&self.chunk, self.next)
    }

    /// Returns the next row.
    pub(crate) fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        if self.left() == 0 {
            return Ok(None);
        }
        let row = self.next;
        let metas = self.chunk.columns.iter();
        let values: Vec<Bound<'py, PyAny>> = match &self.chunk.values {
            ChunkValues::Rows(rows) => metas
                .enumerate()
                .map(|(at, meta)| value(py, rows.get(row, at), &meta.ty))
                .collect::<PyResult<_>>()?,
            ChunkValues::Columns(_) => metas
                .zip(&self.columns)
                .map(|(meta, column)| column.value(py, row, meta))
                .collect::<PyResult<_>>()?,
        };
        self.next += 1;
        PyTuple::new(py, values).map(Some)
    }
}

impl Column {
    fn new(meta: &ColumnMeta, array: &ArrayRef) -> Column {
        let known = match meta.value_type() {
            ty if ty.is_integer() && !matches!(ty, SqlType::Bit { .. }) => {
                let signed = array.as_primitive_opt::<Int64Type>().cloned().map(Column::Int);
                signed.or_else(|| array.as_primitive_opt::<UInt64Type>().cloned().map(Column::UInt))
            }
            SqlType::Double => array.as_primitive_opt::<Float64Type>().cloned().map(Column::Double),
            ty if ty.is_character() => array.as_string_opt::<i32>().cloned().map(Column::Text),
            ty if ty.is_bytes() => array.as_binary_opt::<i32>().cloned().map(Column::Bytes),
            _ => None,
        };
        known.unwrap_or_else(|| Column::Other(array.clone()))
    }

    fn value<'py>(&self, py: Python<'py>, row: usize, meta: &ColumnMeta) -> PyResult<Bound<'py, PyAny>> {
        let is_null = match self {
            Column::Int(array) => array.is_null(row),
            Column::UInt(array) => array.is_null(row),
            Column::Double(array) => array.is_null(row),
            Column::Text(array) => array.is_null(row),
            Column::Bytes(array) => array.is_null(row),
            Column::Other(_) => false,
        };
        Ok(match self {
            _ if is_null => py.None().into_bound(py),
            Column::Int(array) => PyInt::new(py, array.value(row)).into_any(),
            Column::UInt(array) => PyInt::new(py, array.value(row)).into_any(),
            Column::Double(array) => PyFloat::new(py, array.value(row)).into_any(),
            Column::Text(array) => PyString::new(py, array.value(row)).into_any(),
            Column::Bytes(array) => PyBytes::new(py, array.value(row)).into_any(),
            Column::Other(array) => {
                return value(py, value_at(array, row, &meta.value_type()).borrowed(), &meta.ty);
            }
        })
    }
}

/// Converts a value of a column of type `ty`.
fn value<'py>(py: Python<'py>, value: ValueRef<'_>, ty: &SqlType) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        ValueRef::Null => py.None().into_bound(py),
        ValueRef::Int(number) => PyInt::new(py, number).into_any(),
        ValueRef::UInt(number) => match ty {
            SqlType::Bit { len } => {
                let bytes = number.to_be_bytes();
                let first = bytes.len() - usize::from(len.div_ceil(8)).min(bytes.len());
                PyBytes::new(py, &bytes[first..]).into_any()
            }
            _ => PyInt::new(py, number).into_any(),
        },
        ValueRef::Double(number) => match ty {
            SqlType::Real { single: true, .. } => PyFloat::new(py, shortest(number)).into_any(),
            _ => PyFloat::new(py, number).into_any(),
        },
        ValueRef::Decimal(number) => decimal_type(py)?.call1((number.to_string(),))?,
        ValueRef::String(text) => PyString::new(py, text).into_any(),
        ValueRef::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        ValueRef::Date(date) => day(py, date)?,
        ValueRef::DateTime(time) => datetime(py, time, ty.scale())?,
        ValueRef::Time(span) => timedelta(py, span)?,
        ValueRef::Json(_) => match convert::to_text(&value.to_value(), ty) {
            Some(text) => PyString::new(py, &text).into_any(),
            None => py.None().into_bound(py),
        },
    })
}

/// Returns the shortest number for a FLOAT: 0.1 instead of 0.10000000149011612.
fn shortest(number: f64) -> f64 {
    (number as f32).to_string().parse().unwrap_or(number)
}

fn day(py: Python<'_>, date: Date) -> PyResult<Bound<'_, PyAny>> {
    let civil = date.civil();
    if !(civil.exists() && civil.year > 0) {
        return Ok(PyString::new(py, &date.to_string()).into_any());
    }
    Ok(PyDate::new(py, civil.year.into(), civil.month, civil.day)?.into_any())
}

fn datetime(py: Python<'_>, time: DateTime, digits: u8) -> PyResult<Bound<'_, PyAny>> {
    let civil = time.civil();
    if !(civil.date.exists() && civil.date.year > 0) {
        return Ok(PyString::new(py, &time.display(digits).to_string()).into_any());
    }
    let (year, month, day) = (civil.date.year.into(), civil.date.month, civil.date.day);
    let time = PyDateTime::new(
        py,
        year,
        month,
        day,
        civil.hour,
        civil.minute,
        civil.second,
        civil.microsecond,
        None,
    )?;
    Ok(time.into_any())
}

fn timedelta(py: Python<'_>, span: Time) -> PyResult<Bound<'_, PyAny>> {
    const SECOND: i64 = 1_000_000;
    let (seconds, micros) = (span.micros().div_euclid(SECOND), span.micros().rem_euclid(SECOND));
    // Up to 838 hours.
    Ok(PyDelta::new(py, 0, seconds as i32, micros as i32, true)?.into_any())
}
