//! COLUMN_STATISTICS: the histograms of ANALYZE TABLE, as MySQL's JSON.

use super::{Columns, Rows, SystemView, name_column, stored_tables};
use leafline_table::{ColumnDef, HistogramDef, TableDef};
use leafline_types::base64_text;
use leafline_types::convert::to_text;
use leafline_types::json::Json;
use leafline_types::{DateTime, ExprType, MysqlError, SqlType, Value};
use std::fmt::Write;
use std::sync::Arc;

/// The collation that MySQL shows for columns that are not strings: latin1_swedish_ci.
const OF_NUMBERS: u16 = 8;

pub(super) fn columns() -> Columns {
    let mut columns: Vec<_> = ["SCHEMA_NAME", "TABLE_NAME", "COLUMN_NAME"].map(name_column).into();
    columns.push(("HISTOGRAM".into(), ExprType::json(false)));
    columns
}

pub(super) fn rows(system: &SystemView<'_>) -> Result<Rows, MysqlError> {
    let mut rows = Rows::new();
    for table in stored_tables(system) {
        rows.extend(table.histograms.iter().filter_map(|histogram| row(&table, histogram)));
    }
    Ok(rows)
}

fn row(table: &TableDef, histogram: &HistogramDef) -> Option<Vec<Value>> {
    let column = table.columns.get(histogram.column)?;
    let json = Json::parse(&document(histogram, column)).ok()?;
    let names = [&table.database, &table.name, &column.name].map(|name| Value::string(name.as_str()));
    Some(names.into_iter().chain([Value::Json(json)]).collect())
}

/// The histogram in MySQL's form. A bucket of a singleton histogram has one value.
fn document(histogram: &HistogramDef, column: &ColumnDef) -> String {
    let singleton = histogram.buckets.iter().all(|bucket| bucket.lower == bucket.upper);
    let mut cumulative = 0.0;
    let buckets = histogram.buckets.iter().map(|bucket| {
        cumulative += bucket.share;
        // Rounding may raise the sum above 1.
        let cumulative = f64::min(cumulative, 1.0);
        let (lower, upper) = (value(&bucket.lower), value(&bucket.upper));
        match singleton {
            true => format!("[{lower}, {cumulative:?}]"),
            false => format!("[{lower}, {upper}, {cumulative:?}, {}]", bucket.distinct.round() as u64),
        }
    });
    let buckets: Vec<String> = buckets.collect();
    let common = histogram.frequent.iter().map(|(common, share)| format!("[{}, {share:?}]", value(common)));
    let common: Vec<String> = common.collect();
    let collation = if column.ty.is_string() { column.collation.id() } else { OF_NUMBERS };
    let updated = DateTime::from_epoch_micros(histogram.updated).unwrap_or(DateTime::ZERO);
    let updated = text(&Value::DateTime(updated), &SqlType::DateTime { fsp: 6 });
    let mut written = String::new();
    let _ = write!(
        written,
        "{{\"buckets\": [{}], \"data-type\": \"{}\", \"null-values\": {:?}, \"collation-id\": {collation}, \
         \"last-updated\": \"{updated}\", \"sampling-rate\": {:?}, \"histogram-type\": \"{}\", \
         \"number-of-buckets-specified\": {}, \"most-common-values\": [{}]}}",
        buckets.join(", "),
        data_type(&column.ty),
        histogram.nulls,
        histogram.sampling_rate,
        if singleton { "singleton" } else { "equi-height" },
        histogram.buckets_asked_for,
        common.join(", "),
    );
    written
}

fn data_type(ty: &SqlType) -> &'static str {
    match ty {
        SqlType::Enum(_) => "enum",
        SqlType::Set(_) => "set",
        SqlType::Decimal { .. } => "decimal",
        SqlType::Date => "date",
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => "datetime",
        SqlType::Time { .. } => "time",
        ty if ty.is_string() => "string",
        ty if ty.is_real() => "double",
        ty if ty.is_unsigned() => "uint",
        _ => "int",
    }
}

/// A value as JSON. Strings are in base64, because they may hold any bytes.
fn value(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(number) => format!("{number:?}"),
        Value::Decimal(number) => number.to_string(),
        Value::String(text) => encoded(text.as_bytes()),
        Value::Bytes(bytes) => encoded(bytes),
        Value::Date(date) => format!("\"{date}\""),
        Value::DateTime(_) => format!("\"{}\"", text(value, &SqlType::DateTime { fsp: 6 })),
        Value::Time(_) => format!("\"{}\"", text(value, &SqlType::Time { fsp: 6 })),
        _ => "null".into(),
    }
}

fn text(value: &Value, ty: &SqlType) -> Arc<str> {
    to_text(value, ty).unwrap_or_default()
}

/// Encodes a string; MySQL's type 254 is a string of fixed length.
fn encoded(bytes: &[u8]) -> String {
    format!("\"base64:type254:{}\"", base64_text(bytes, usize::MAX))
}
