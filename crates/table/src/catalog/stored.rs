//! The places of a table's columns in its rows, and the schema versions that have them.
//!
//! A table can get and lose columns without touching its rows: each row has the columns of the schema
//! version that it names (`types::row`). A definition therefore knows for every column its place, the first
//! version that has it, and the value that rows of older versions are taken to have. For every dropped
//! column it knows what older rows still contain.
//!
//! In the catalog, the row of a column ends with this information. Rows of kind 9 (key: 9, table id u64,
//! number u16) describe dropped columns: the row of the column without a name, then the first version
//! without it (u16).

use super::definition::{ColumnDef, TableDef};
use super::encoding::{FORMAT, decode_column, encode_column};
use crate::bytes::{ByteReader, ByteWriter};
use crate::error::Result;
use crate::limits::Limits;
use leafline_types::row::{DroppedColumn, EntryColumn};
use leafline_types::{ColumnLayout, KeyPart, Members, SqlType, Value};

/// The maximum number of versions of a table, as in InnoDB. Readers know a layout for each version.
pub const MAX_ROW_VERSIONS: u16 = 64;
/// The maximum number of columns in rows of a table, over all versions: as many as a table may have.
const MAX_PLACES: usize = 1017;

/// The place of a column in rows.
#[derive(Clone, PartialEq, Debug)]
pub struct StoredColumn {
    /// Its place among the columns of a row.
    pub place: u16,
    /// The first version whose rows have it; 0 if all rows do.
    pub since: u16,
    /// The value of older rows.
    pub older: Value,
}

impl Default for StoredColumn {
    fn default() -> StoredColumn {
        StoredColumn { place: 0, since: 0, older: Value::Null }
    }
}

impl StoredColumn {
    /// Assigns places to the columns of a new table.
    pub(crate) fn place_all(columns: &mut [ColumnDef]) {
        for (place, column) in (0..).zip(columns) {
            column.stored = StoredColumn { place, ..StoredColumn::default() };
        }
    }
}

/// The layout of a column in rows.
pub(super) fn column_layout(column: &ColumnDef) -> ColumnLayout {
    ColumnLayout { ty: column.ty.clone(), nullable: column.nullable, collation: column.collation }
}

/// The row codec's description of a column.
pub(super) fn entry_column(column: &ColumnDef) -> EntryColumn {
    let StoredColumn { place, since, older } = column.stored.clone();
    EntryColumn { layout: column_layout(column), place, added_in: since, default: older }
}

/// Returns whether values of type `old` are stored like those of type `new` and mean the same there. That
/// holds for longer strings, and for texts added at the end of an ENUM or SET.
pub fn is_extended(old: &SqlType, new: &SqlType) -> bool {
    let width = |ty: &SqlType| KeyPart::new(ty.clone()).fixed_width();
    let more = |old: &Members, new: &Members| {
        new.len() >= old.len() && old.names().zip(new.names()).all(|(old, new)| old == new)
    };
    match (old, new) {
        (SqlType::Varchar { len: old }, SqlType::Varchar { len: new })
        | (SqlType::Varbinary { len: old }, SqlType::Varbinary { len: new }) => old <= new,
        (SqlType::Enum(from), SqlType::Enum(to)) | (SqlType::Set(from), SqlType::Set(to)) => {
            more(from, to) && width(old) == width(new)
        }
        _ => old == new,
    }
}

impl TableDef {
    /// Returns whether the table can get `columns` without changes to its rows. `sources` names the old
    /// column that each comes from, or none. Types may be [extended](is_extended), columns may be added,
    /// dropped (unless their values may overflow) and moved.
    pub fn can_keep_rows(&self, columns: &[ColumnDef], sources: &[Option<usize>], limits: &Limits) -> bool {
        let is_same = |(new, source): (&ColumnDef, &Option<usize>)| {
            let Some(source) = *source else { return true };
            let old = &self.columns[source];
            is_extended(&old.ty, &new.ty) && (old.nullable, old.collation) == (new.nullable, new.collation)
        };
        let mut gone = (0..self.columns.len()).filter(|column| !sources.contains(&Some(*column)));
        let places = self.columns.len() + self.dropped.len() + columns.len();
        columns.iter().zip(sources).all(is_same)
            && !gone.any(|column| self.may_overflow(column, limits))
            && places - sources.iter().flatten().count() <= MAX_PLACES
            && !self.is_last_version(columns, sources)
    }

    /// Returns whether the rows would have too many versions with these columns.
    pub fn is_last_version(&self, columns: &[ColumnDef], sources: &[Option<usize>]) -> bool {
        self.schema_version >= MAX_ROW_VERSIONS && !self.has_columns(columns, sources)
    }

    /// Returns whether the table already has these columns in this order, apart from names and other
    /// attributes that rows do not depend on.
    fn has_columns(&self, columns: &[ColumnDef], sources: &[Option<usize>]) -> bool {
        let is_same = |(at, (new, source)): (usize, (&ColumnDef, &Option<usize>))| {
            *source == Some(at) && self.columns.get(at).is_some_and(|old| old.ty == new.ty)
        };
        columns.len() == self.columns.len() && columns.iter().zip(sources).enumerate().all(is_same)
    }

    /// Computes the places of columns in the rows of `self`, which is `old` with other columns. `older`
    /// contains the values that existing rows have in the new columns, in their order. Rows still contain
    /// the dropped columns.
    pub(crate) fn keep_rows(&mut self, old: &TableDef, sources: &[Option<usize>], older: Vec<Value>) {
        self.schema_version = old.schema_version + u16::from(!old.has_columns(&self.columns, sources));
        self.dropped.clone_from(&old.dropped);
        let gone = old.columns.iter().enumerate().filter(|(at, _)| !sources.contains(&Some(*at)));
        self.dropped.extend(gone.map(|(_, column)| DroppedColumn {
            layout: column_layout(column),
            place: column.stored.place,
            added_in: column.stored.since,
            dropped_in: self.schema_version,
        }));
        let places = old.columns.iter().map(|column| column.stored.place);
        let mut place = places.chain(old.dropped.iter().map(|column| column.place)).max().unwrap_or(0);
        let mut older = older.into_iter();
        for (column, source) in self.columns.iter_mut().zip(sources) {
            column.stored = match *source {
                Some(source) => old.columns[source].stored.clone(),
                None => {
                    place += 1;
                    let older = older.next().unwrap_or(Value::Null);
                    StoredColumn { place, since: self.schema_version, older }
                }
            };
        }
    }
}

/// Encodes the catalog's row of a dropped column.
pub(super) fn encode_dropped(column: &DroppedColumn) -> Result<Vec<u8>> {
    let ColumnLayout { ty, nullable, collation } = column.layout.clone();
    let mut definition = ColumnDef::new("", ty, nullable, collation);
    definition.stored = StoredColumn { place: column.place, since: column.added_in, older: Value::Null };
    let mut out = ByteWriter::default();
    out.u8(FORMAT).bytes(&encode_column(&definition)?).u16(column.dropped_in);
    Ok(out.finish())
}

/// Decodes the catalog's row of a dropped column.
pub(super) fn decode_dropped(payload: &[u8]) -> Result<DroppedColumn> {
    let mut from = ByteReader::new("catalog column that is gone", payload);
    from.format(FORMAT)?;
    let column = decode_column(from.bytes()?)?;
    let dropped_in = from.u16()?;
    from.end()?;
    let StoredColumn { place, since, .. } = column.stored;
    Ok(DroppedColumn { layout: column_layout(&column), place, added_in: since, dropped_in })
}
