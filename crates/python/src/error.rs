//! Raises errors as DB-API's exceptions.
//!
//! The classes are the package's own (`leafline._exceptions`); this module chooses the class for an error number.
//! Numbers that tell more than their SQLSTATE come first, then the SQLSTATE's class decides.

use leafline_types::MysqlError;
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::PyType;

pyo3::import_exception!(leafline._exceptions, DataError);
pyo3::import_exception!(leafline._exceptions, DatabaseError);
pyo3::import_exception!(leafline._exceptions, Error);
pyo3::import_exception!(leafline._exceptions, IntegrityError);
pyo3::import_exception!(leafline._exceptions, InterfaceError);
pyo3::import_exception!(leafline._exceptions, InternalError);
pyo3::import_exception!(leafline._exceptions, NotSupportedError);
pyo3::import_exception!(leafline._exceptions, OperationalError);
pyo3::import_exception!(leafline._exceptions, ProgrammingError);
pyo3::import_exception!(leafline._exceptions, Warning);

/// Makes an exception of an engine's error: its arguments are number and text, its attributes `errno` and `sqlstate`.
pub(crate) fn raised(error: &MysqlError) -> PyErr {
    numbered(error.code, error.state(), &error.message)
}

/// Makes an exception of an error in opening, closing or using a database.
pub(crate) fn raised_by_api(error: &leafline::Error) -> PyErr {
    numbered(error.code(), error.sqlstate(), &error.message())
}

fn numbered(code: u16, sqlstate: &str, message: &str) -> PyErr {
    Python::attach(|py| {
        let exception = class_of(py, code, sqlstate).call1((code, message)).and_then(|exception| {
            exception.setattr("sqlstate", sqlstate)?;
            Ok(exception)
        });
        exception.map_or_else(|error| error, PyErr::from_value)
    })
}

fn class_of<'py>(py: Python<'py>, code: u16, sqlstate: &str) -> Bound<'py, PyType> {
    match code {
        // Unknown or missing databases, files and tables; wrong use of statements and parameters.
        1007 | 1008 | 1049 | 1210 => ProgrammingError::type_object(py),
        // Missing privileges; too many connections.
        1040 | 1044 | 1045 | 1142 | 1143 | 1227 => OperationalError::type_object(py),
        // Not supported, disabled, or read-only.
        1235 | 1286 | 1289 => NotSupportedError::type_object(py),
        // NULL where it is not allowed, and violations of CHECK and foreign keys.
        1048 | 1215 | 1216 | 1217 | 1451 | 1452 | 3819 => IntegrityError::type_object(py),
        // Values that do not fit; some have no SQLSTATE of their own.
        1264..=1267 | 1292 | 1365..=1367 | 1406 | 1441 | 1690 | 3140..=3158 => DataError::type_object(py),
        1815 => InternalError::type_object(py),
        _ => match sqlstate.get(..2) {
            Some("21" | "22") => DataError::type_object(py),
            Some("23") => IntegrityError::type_object(py),
            Some("0A") => NotSupportedError::type_object(py),
            Some("42" | "3D" | "24" | "25") => ProgrammingError::type_object(py),
            _ => OperationalError::type_object(py),
        },
    }
}
