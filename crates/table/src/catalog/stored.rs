//! Where rows have the columns of a table, and since when.
//!
//! A table gets and loses columns without its rows being touched: each row has the columns of the schema version that it says it is of
//! (`types::row`). A definition therefore knows of every column its place and the version since which rows have it, with what older ones
//! are taken to hold, and of every column that is gone what rows that are older still have.
//!
//! In the catalog a column's row ends with the first, and rows of kind 9 (key: 9, table id u64, number u16) have the second: the row of
//! the column as it would be without a name, then the version since which it is gone u16.

use super::definition::{ColumnDef, TableDef};
use super::encoding::{FORMAT, decode_column, encode_column};
use crate::bytes::{ByteReader, ByteWriter};
use crate::error::Result;
use crate::limits::Limits;
use leafline_types::row::{DroppedColumn, EntryColumn};
use leafline_types::{ColumnLayout, KeyPart, Members, SqlType, Value};

/// Most versions of a table, as of InnoDB's: each has a layout that readers know.
pub const MAX_ROW_VERSIONS: u16 = 64;
/// Most columns that rows of a table have, in any version: as many as a table may have.
const MAX_PLACES: usize = 1017;

/// Where rows have a column.
#[derive(Clone, PartialEq, Debug)]
pub struct StoredColumn {
    /// Its place among the columns of a row.
    pub place: u16,
    /// The version since which rows have it; 0 if all do.
    pub since: u16,
    /// What older rows hold.
    pub older: Value,
}

impl Default for StoredColumn {
    fn default() -> StoredColumn {
        StoredColumn { place: 0, since: 0, older: Value::Null }
    }
}

impl StoredColumn {
    /// Gives the columns of a new table their places.
    pub(crate) fn place_all(columns: &mut [ColumnDef]) {
        for (place, column) in (0..).zip(columns) {
            column.stored = StoredColumn { place, ..StoredColumn::default() };
        }
    }
}

/// How a column lies in rows.
pub(super) fn column_layout(column: &ColumnDef) -> ColumnLayout {
    ColumnLayout { ty: column.ty.clone(), nullable: column.nullable, collation: column.collation }
}

/// The row codec's description of a column.
pub(super) fn entry_column(column: &ColumnDef) -> EntryColumn {
    let StoredColumn { place, since, older } = column.stored.clone();
    EntryColumn { layout: column_layout(column), place, added_in: since, default: older }
}

/// Whether values of type `old` are stored as those of type `new`, and are the same there: longer strings, texts behind those of an ENUM
/// or SET.
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
    /// Whether the table may have `columns`, each made from the old one that `sources` names or from none, with its rows as they are: types may be
    /// [extended](is_extended), columns may come, go (unless their values may be outside the rows) and change their positions.
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

    /// Whether rows would have too many versions with these columns.
    pub fn is_last_version(&self, columns: &[ColumnDef], sources: &[Option<usize>]) -> bool {
        self.schema_version >= MAX_ROW_VERSIONS && !self.has_columns(columns, sources)
    }

    /// Whether it has these columns in this order already, if one does not look at what they are called and the like.
    fn has_columns(&self, columns: &[ColumnDef], sources: &[Option<usize>]) -> bool {
        let is_same = |(at, (new, source)): (usize, (&ColumnDef, &Option<usize>))| {
            *source == Some(at) && self.columns.get(at).is_some_and(|old| old.ty == new.ty)
        };
        columns.len() == self.columns.len() && columns.iter().zip(sources).enumerate().all(is_same)
    }

    /// Says where the rows of `self`, which is `old` with other columns, have these; `older` is what rows that there are hold in new ones, in their
    /// order. The columns that are gone are still in rows.
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

/// The catalog's row of a column that is gone.
pub(super) fn encode_dropped(column: &DroppedColumn) -> Result<Vec<u8>> {
    let ColumnLayout { ty, nullable, collation } = column.layout.clone();
    let mut definition = ColumnDef::new("", ty, nullable, collation);
    definition.stored = StoredColumn { place: column.place, since: column.added_in, older: Value::Null };
    let mut out = ByteWriter::default();
    out.u8(FORMAT).bytes(&encode_column(&definition)?).u16(column.dropped_in);
    Ok(out.finish())
}

/// The other way.
pub(super) fn decode_dropped(payload: &[u8]) -> Result<DroppedColumn> {
    let mut from = ByteReader::new("catalog column that is gone", payload);
    from.format(FORMAT)?;
    let column = decode_column(from.bytes()?)?;
    let dropped_in = from.u16()?;
    from.end()?;
    let StoredColumn { place, since, .. } = column.stored;
    Ok(DroppedColumn { layout: column_layout(&column), place, added_in: since, dropped_in })
}
