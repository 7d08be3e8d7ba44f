//! The form of rows in files of tables.
//!
//! | bytes | field |
//! |---|---|
//! | u32 | length of the next field |
//! | | the columns of fixed width, as nullable ones, as a row of schema version 0 (`types::row`) |
//! | for each other column | u32 length and the bytes; 2^32 - 1 for NULL |

use leafline_table::ColumnDef;
use leafline_types::row::{ColumnLayout, RowLayout, stored_value};
use leafline_types::{Collation, SqlType, Value};

const NULL: u32 = u32::MAX;

/// Encodes and decodes the values of some columns.
pub(crate) struct RowCodec {
    fixed: RowLayout,
    types: Vec<SqlType>,
}

impl RowCodec {
    /// A codec of these columns.
    pub(crate) fn new<'c>(columns: impl Iterator<Item = &'c ColumnDef>) -> RowCodec {
        let types: Vec<SqlType> = columns.map(|column| column.ty.clone()).collect();
        let layout =
            |ty: &SqlType| ColumnLayout { ty: ty.clone(), nullable: true, collation: Collation::Binary };
        let fixed: Vec<ColumnLayout> = types.iter().filter(|ty| !ty.is_variable()).map(layout).collect();
        RowCodec { fixed: RowLayout::new(0, &fixed), types }
    }

    /// Replaces the content of `out` by the encoded row, one value per column; `None` if the values do not
    /// fit the columns.
    pub(crate) fn encode(&self, row: &[Value], out: &mut Vec<u8>) -> Option<()> {
        let pairs = || self.types.iter().zip(row);
        let fixed: Vec<Value> =
            pairs().filter(|(ty, _)| !ty.is_variable()).map(|(_, value)| value.clone()).collect();
        out.clear();
        out.extend_from_slice(&[0; 4]);
        self.fixed.encode(&fixed, out).ok()?;
        let length = u32::try_from(out.len() - 4).ok()?;
        out.get_mut(..4)?.copy_from_slice(&length.to_le_bytes());
        for (_, value) in pairs().filter(|(ty, _)| ty.is_variable()) {
            let bytes = match value {
                Value::Null => {
                    out.extend_from_slice(&NULL.to_le_bytes());
                    continue;
                }
                Value::String(text) => text.as_bytes(),
                Value::Bytes(bytes) => bytes,
                Value::Json(json) => json.as_bytes(),
                _ => return None,
            };
            let length = u32::try_from(bytes.len()).ok().filter(|length| *length != NULL)?;
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(bytes);
        }
        Some(())
    }

    /// Decodes a row; `None` for malformed bytes.
    pub(crate) fn decode(&self, bytes: &[u8]) -> Option<Vec<Value>> {
        let mut rest = bytes;
        let fixed = taken(&mut rest)??;
        self.fixed.verify(fixed).ok()?;
        let mut next_fixed = 0..;
        let mut row = Vec::with_capacity(self.types.len());
        for ty in &self.types {
            row.push(match ty.is_variable() {
                false => self.fixed.decode_value(fixed, next_fixed.next()?).ok()?,
                true => match taken(&mut rest)? {
                    None => Value::Null,
                    Some(bytes) => stored_value(ty, bytes).ok()?,
                },
            });
        }
        rest.is_empty().then_some(row)
    }
}

/// Takes a length and as many bytes from `rest`; the inner option is `None` for NULL.
#[expect(clippy::option_option, reason = "there may be no bytes, and there may be NULL")]
fn taken<'b>(rest: &mut &'b [u8]) -> Option<Option<&'b [u8]>> {
    let (length, others) = rest.split_first_chunk()?;
    let length = u32::from_le_bytes(*length);
    if length == NULL {
        *rest = others;
        return Some(None);
    }
    let (bytes, others) = others.split_at_checked(length as usize)?;
    *rest = others;
    Some(Some(bytes))
}
