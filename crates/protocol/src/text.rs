//! Rows of the text protocol: each value is a string after its length, or the byte fb for NULL.

use crate::bytes::{NULL, Reader, put_string};
use leafline_types::{MysqlError, RowBlock, SqlType, TextColumns, append_text};
use std::ops::Range;

/// Appends a row of a batch. `value` is a buffer for one value at a time.
pub fn put_row(out: &mut Vec<u8>, columns: &TextColumns<'_>, row: usize, count: usize, value: &mut Vec<u8>) {
    for column in 0..count {
        value.clear();
        let is_there = columns.append(row, column, value);
        put_value(out, is_there.then_some(value));
    }
}

/// Appends a row of a block. `value` is a buffer for one value at a time.
pub fn put_block_row(out: &mut Vec<u8>, rows: &RowBlock, row: usize, types: &[SqlType], value: &mut Vec<u8>) {
    for (column, ty) in types.iter().enumerate() {
        value.clear();
        let is_there = append_text(rows.get(row, column), ty, value);
        put_value(out, is_there.then_some(value));
    }
}

#[inline]
fn put_value(out: &mut Vec<u8>, value: Option<&mut Vec<u8>>) {
    match value {
        Some(value) => put_string(out, value),
        None => out.push(NULL),
    }
}

/// Finds the values of a row of `columns` columns. `places` gets the range of each value in the packet, `None` for NULL.
///
/// # Errors
/// 1835 if the row ends early.
pub fn read_row(
    packet: &[u8],
    columns: usize,
    places: &mut Vec<Option<Range<usize>>>,
) -> Result<(), MysqlError> {
    places.clear();
    let mut reader = Reader::new(packet);
    for _ in 0..columns {
        let value = reader.nullable_string()?;
        let end = packet.len() - reader.remaining();
        places.push(value.map(|bytes| end - bytes.len()..end));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_types::{Batch, Value};

    #[test]
    fn a_row_reads_back_as_written_and_is_refused_where_it_is_cut() {
        let types = [SqlType::Varchar { len: 9 }, SqlType::BigInt { unsigned: false }, SqlType::Double];
        let row = [Value::string("abc"), Value::Null, Value::Double(1.5)];
        let batch = Batch::from_rows(&types, [&row[..]]).expect("a batch");
        let mut packet = Vec::new();
        put_row(&mut packet, &TextColumns::new(&batch, &types), 0, 3, &mut Vec::new());
        assert_eq!(packet, b"\x03abc\xfb\x031.5");
        let mut places = Vec::new();
        read_row(&packet, 3, &mut places).expect("a row");
        assert_eq!(places, [Some(1..4), None, Some(6..9)]);
        for end in 0..packet.len() {
            let cut = read_row(&packet[..end], 3, &mut places);
            assert_eq!(cut.map_err(|error| error.code), Err(1835), "cut at {end}");
        }
    }
}
