//! How a value becomes one of another type: assignment to a column, and CAST.

use crate::error::MysqlError;
use crate::statement::Warnings;
use crate::value::{SqlType, Value};

/// Where a value is stored to, and where its warnings go.
#[derive(Debug)]
pub struct StoreContext<'a> {
    /// The column's name, for messages.
    pub column: &'a str,
    /// The row's number in the statement, from 1, for messages.
    pub row: u64,
    /// `STRICT_TRANS_TABLES`: what would change the value is an error. Otherwise it is changed, with a warning.
    pub strict: bool,
    /// The statement's diagnostics.
    pub warnings: &'a mut Warnings,
}

/// Converts `v`, of type `from`, for a column of type `to`. `nullable` says whether the column can hold NULL.
pub fn store_cast(
    _v: &Value,
    _from: &SqlType,
    _to: &SqlType,
    _nullable: bool,
    _cx: &mut StoreContext<'_>,
) -> Result<Value, MysqlError> {
    todo!()
}

/// `CAST(v AS to)`: what does not convert becomes what MySQL makes of it, with a warning.
pub fn cast(
    _v: &Value,
    _from: &SqlType,
    _to: &SqlType,
    _warnings: &mut Warnings,
) -> Result<Value, MysqlError> {
    todo!()
}

/// The value as a double, as arithmetic and comparison take it; None for NULL.
pub fn to_f64(_v: &Value, _warnings: &mut Warnings) -> Option<f64> {
    todo!()
}
/// The value as a decimal; None for NULL.
pub fn to_decimal(_v: &Value, _warnings: &mut Warnings) -> Option<crate::decimal::Decimal> {
    todo!()
}
/// The value as text, as CONCAT and the text protocol print it; None for NULL. `ty` gives a DATETIME's fraction.
pub fn to_text(_v: &Value, _ty: &SqlType) -> Option<std::sync::Arc<str>> {
    todo!()
}
/// The value as a datetime; Err for a text that is none (error 1292), Ok(None) for NULL.
pub fn to_datetime(_v: &Value) -> Result<Option<crate::temporal::DateTime>, MysqlError> {
    todo!()
}
