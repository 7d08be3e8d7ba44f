//! The implicit default of a column without a DEFAULT.

use super::ColumnDef;
use leafline_types::temporal::{DateRules, Zone};
use leafline_types::{MysqlError, SqlType, StoreContext, Value, Warnings, store_cast};

/// The value that a NOT NULL column takes by its type (manual: "Data Type Default Values"): zero, or the
/// empty string.
pub fn implicit_default(column: &ColumnDef) -> Result<Value, MysqlError> {
    let (zero, from) = match &column.ty {
        ty if ty.is_string() => (Value::string(""), SqlType::Varchar { len: 0 }),
        SqlType::Json => (Value::string("null"), SqlType::Varchar { len: 4 }),
        // The first of its texts.
        SqlType::Enum(_) => (Value::Int(1), SqlType::BIGINT),
        _ => (Value::Int(0), SqlType::BIGINT),
    };
    let mut warnings = Warnings::new();
    let mut cx = StoreContext {
        column: &column.name,
        charset: column.collation.charset(),
        row: 1,
        strict: false,
        dates: DateRules::ANY,
        zone: &Zone::UTC,
        max_document: usize::MAX,
        warnings: &mut warnings,
    };
    store_cast(&zero, &from, &column.ty, true, &mut cx)
}
