//! A result with a value of every kind, for the tests of the formats.

use super::{Column, Kind, RowWriter};

/// Returns the columns of the result.
pub fn columns() -> Vec<Column> {
    let column = |name: &str, kind| Column { name: name.into(), kind };
    vec![
        column("id", Kind::Number),
        column("price", Kind::Decimal),
        column("name, \"x\"", Kind::Text),
        column("raw", Kind::Binary),
    ]
}

/// Writes `rows` under [`columns`].
pub fn written(writer: &mut dyn RowWriter, rows: &[[Option<&str>; 4]]) -> String {
    let mut out = Vec::new();
    writer.begin(&columns(), &mut out).unwrap();
    for row in rows {
        let cells: Vec<Option<&[u8]>> = row.iter().map(|cell| cell.map(str::as_bytes)).collect();
        writer.row(&cells, &mut out).unwrap();
    }
    writer.end(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}
