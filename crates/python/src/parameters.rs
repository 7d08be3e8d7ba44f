//! Converts Python's values to parameters of statements.
//!
//! | Python | SQL |
//! |---|---|
//! | `None`, pandas' `NaT` and `NA` | NULL |
//! | `bool`, `int` | an integer, DECIMAL beyond 64 bits |
//! | `float` | DOUBLE |
//! | `decimal.Decimal` | DECIMAL |
//! | `str` | a character string |
//! | `bytes`, `bytearray`, `memoryview` | a binary string |
//! | `datetime.date` | DATE |
//! | `datetime.datetime` | DATETIME; one with a time zone is converted to the session's |
//! | `datetime.timedelta`, `datetime.time` | TIME |
//! | NumPy's scalars | the result of `item()`, converted |

use crate::error::{DataError, ProgrammingError};
use leafline_sql::Session;
use leafline_types::temporal::{CivilDateTime, CivilTime, DateRules};
use leafline_types::{Date, DateTime, Decimal, MysqlError, Time, Value};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFloat,
    PyInt, PyMemoryView, PyString, PyTime, PyTimeAccess, PyTuple, PyType, PyTzInfo, PyTzInfoAccess,
};

/// The parameters of one run of a statement.
#[derive(Default)]
pub(crate) struct Parameters {
    values: Vec<Value>,
    /// The positions of values that are moments, in UTC.
    moments: Vec<usize>,
}

impl Parameters {
    /// Converts a sequence; None has no parameters.
    pub(crate) fn of(given: Option<&Bound<'_, PyAny>>) -> PyResult<Parameters> {
        let mut parameters = Parameters::default();
        let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(parameters) };
        if let Ok(tuple) = given.cast_exact::<PyTuple>() {
            parameters.values.reserve_exact(tuple.len());
            for item in tuple.iter_borrowed() {
                parameters.push(&item)?;
            }
            return Ok(parameters);
        }
        if given.is_instance_of::<PyString>()
            || given.is_instance_of::<PyBytes>()
            || given.is_instance_of::<PyDict>()
        {
            return Err(ProgrammingError::new_err("parameters are a sequence: one value for each '?'"));
        }
        let items = given
            .try_iter()
            .map_err(|_| ProgrammingError::new_err("parameters are a sequence: one value for each '?'"))?;
        for item in items {
            parameters.push(&item?)?;
        }
        Ok(parameters)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the values; moments as local time in the session's time zone.
    pub(crate) fn into_values(mut self, session: &Session) -> Result<Vec<Value>, MysqlError> {
        for moment in self.moments {
            if let Some(Value::DateTime(utc)) = self.values.get(moment) {
                let zone = session.settings().time_zone.zone();
                let local = zone.to_local(*utc);
                let out_of_range = || MysqlError::incorrect_temporal("datetime", &utc.display(6).to_string());
                self.values[moment] = Value::DateTime(local.ok_or_else(out_of_range)?);
            }
        }
        Ok(self.values)
    }

    /// Adds a value. A DATETIME that is `zoned` is a moment in UTC.
    pub(crate) fn push_value(&mut self, value: Value, zoned: bool) {
        if zoned {
            self.moments.push(self.values.len());
        }
        self.values.push(value);
    }

    fn push(&mut self, given: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = match common_value(given)? {
            Some(value) => value,
            None => match given.cast::<PyDateTime>() {
                Ok(time) if !is_named(given, "NaTType")? => return self.push_datetime(time),
                _ => other(given)?,
            },
        };
        self.values.push(value);
        Ok(())
    }

    fn push_datetime(&mut self, time: &Bound<'_, PyDateTime>) -> PyResult<()> {
        let py = time.py();
        if time.get_tzinfo().is_none() {
            self.values.push(Value::DateTime(datetime(time)?));
            return Ok(());
        }
        let utc = PyTzInfo::utc(py)?;
        let moment = time.call_method1("astimezone", (utc,))?;
        self.push_value(Value::DateTime(datetime(moment.cast::<PyDateTime>()?)?), true);
        Ok(())
    }
}

/// Converts a value of a common type; None for other types.
fn common_value(given: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    if given.is_none() {
        return Ok(Some(Value::Null));
    }
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Some(Value::string(text.to_cow()?.as_ref())));
    }
    if given.is_instance_of::<PyBool>() {
        return Ok(Some(Value::Int(given.is_truthy()?.into())));
    }
    if let Ok(number) = given.cast::<PyInt>() {
        return integer(number).map(Some);
    }
    if let Ok(number) = given.cast::<PyFloat>() {
        let number = number.extract::<f64>()?;
        let why = || DataError::new_err(format!("SQL has no number {number}"));
        return if number.is_finite() { Ok(Some(Value::Double(number))) } else { Err(why()) };
    }
    if let Ok(bytes) = given.cast::<PyBytes>() {
        return Ok(Some(Value::bytes(bytes.as_bytes())));
    }
    Ok(None)
}

fn other(given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = given.py();
    if is_named(given, "NaTType")? || is_named(given, "NAType")? {
        return Ok(Value::Null);
    }
    if let Ok(bytes) = given.cast::<PyByteArray>() {
        return Ok(Value::bytes(bytes.to_vec()));
    }
    if given.is_instance_of::<PyMemoryView>() {
        let bytes = given.call_method0("tobytes")?;
        return Ok(Value::bytes(bytes.cast::<PyBytes>()?.as_bytes()));
    }
    if given.is_instance(decimal_type(py)?)? {
        let text = given.str()?;
        let decimal = Decimal::parse(text.to_cow()?.as_ref());
        let why = || DataError::new_err(format!("no DECIMAL holds {given}"));
        return decimal.map(Value::Decimal).ok_or_else(why);
    }
    if let Ok(date) = given.cast::<PyDate>() {
        let found = u16::try_from(date.get_year()).ok();
        let found = found.and_then(|year| Date::from_civil(year, date.get_month(), date.get_day()));
        return found.map(Value::Date).ok_or_else(|| DataError::new_err(format!("no DATE is {given}")));
    }
    if let Ok(span) = given.cast::<PyDelta>() {
        let seconds = i64::from(span.get_days()) * 86_400 + i64::from(span.get_seconds());
        let micros = seconds * 1_000_000 + i64::from(span.get_microseconds());
        let why = || DataError::new_err(format!("no TIME is {given}: it has up to 838:59:59"));
        return Time::from_micros(micros).map(Value::Time).ok_or_else(why);
    }
    if let Ok(time) = given.cast::<PyTime>() {
        if time.get_tzinfo().is_some() {
            return Err(ProgrammingError::new_err("a TIME has no time zone"));
        }
        let time = Time::from_civil(CivilTime {
            negative: false,
            hour: time.get_hour().into(),
            minute: time.get_minute(),
            second: time.get_second(),
            microsecond: time.get_microsecond(),
        });
        return time.map(Value::Time).ok_or_else(|| DataError::new_err("no TIME"));
    }
    converted(given)
}

/// Converts a value of another type: a NumPy scalar, or an object that says that it is an integer.
fn converted(given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let ty = given.get_type();
    let item = match ty.module()?.to_cow()?.as_ref() {
        "numpy" => given.call_method0("item")?,
        _ => given.call_method0("__index__").map_err(|_| unsupported(&ty))?,
    };
    if item.get_type().is(&ty) {
        return Err(unsupported(&ty));
    }
    let mut parameters = Parameters::default();
    parameters.push(&item)?;
    // NumPy's times have no zones.
    parameters.values.pop().ok_or_else(|| unsupported(&ty))
}

fn unsupported(ty: &Bound<'_, PyType>) -> PyErr {
    ProgrammingError::new_err(format!("parameters of type {ty} are not supported"))
}

fn is_named(given: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    Ok(given.get_type().name()?.to_cow()?.as_ref() == name)
}

fn integer(number: &Bound<'_, PyInt>) -> PyResult<Value> {
    if let Ok(number) = number.extract::<i64>() {
        return Ok(Value::Int(number));
    }
    if let Ok(number) = number.extract::<u64>() {
        return Ok(Value::UInt(number));
    }
    let too_large = || DataError::new_err("the integer has more than 65 digits");
    let bits = number.call_method0("bit_length")?.extract::<u64>()?;
    if bits > 220 {
        return Err(too_large());
    }
    Decimal::parse(number.str()?.to_cow()?.as_ref()).map(Value::Decimal).ok_or_else(too_large)
}

fn datetime(time: &Bound<'_, PyDateTime>) -> PyResult<DateTime> {
    let date = u16::try_from(time.get_year()).ok();
    let date = date.and_then(|year| Date::from_civil(year, time.get_month(), time.get_day()));
    let civil = date.map(|date| CivilDateTime {
        date: date.civil(),
        hour: time.get_hour(),
        minute: time.get_minute(),
        second: time.get_second(),
        microsecond: time.get_microsecond(),
    });
    let found = civil.and_then(|civil| DateTime::from_civil(civil, DateRules::DAYS));
    found.ok_or_else(|| DataError::new_err(format!("no DATETIME is {time}")))
}

/// Returns `decimal.Decimal`.
pub(crate) fn decimal_type(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    DECIMAL.import(py, "decimal", "Decimal")
}
