//! The places of a table's columns in its rows, and the schema versions that have them.
//!
//! A table can get and lose columns without touching its rows: each row has the columns of the schema
//! version that it names (`types::row`). A definition therefore knows for every column its place, the first
//! version that has it, and the value that rows of older versions are taken to have. For every dropped
//! column it knows what older rows still contain.
//!
//! In the catalog, the row of a column ends with this information, and each dropped column has a row (see
//! `catalog::encoding`).

use super::column::{ColumnDef, StoredColumn, column_layout};
use super::definition::TableDef;
use crate::limits::Limits;
use leafline_types::row::DroppedColumn;
use leafline_types::{KeyPart, Members, SqlType, Value};

/// The maximum number of versions of a table, as in InnoDB. Readers know a layout for each version.
pub const MAX_ROW_VERSIONS: u16 = 64;
/// The maximum number of columns in rows of a table, over all versions: as many as a table may have.
const MAX_PLACES: usize = 1017;

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
