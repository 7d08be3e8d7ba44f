//! Definitions of columns and of CHECK constraints.

use leafline_types::row::EntryColumn;
use leafline_types::{Collation, ColumnLayout, SqlType, Value};

/// The value of a column for which a statement gives none.
#[derive(Clone, PartialEq, Debug)]
pub enum DefaultValue {
    /// A constant, possibly `NULL`, already of the column's type.
    Constant(Value),
    /// `CURRENT_TIMESTAMP` with the column's fractional digits.
    CurrentTimestamp,
    /// An expression over the columns of the row, as text.
    Expression(String),
    /// None, because DROP DEFAULT removed it: statements must give a value although the column can be NULL.
    Dropped,
}

/// The computation of a generated column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GeneratedColumn {
    /// The expression over the other columns of the row, as text.
    pub expression: String,
    /// The kind it was declared as.
    pub kind: GeneratedKind,
}

/// The kinds of generated columns. Rows contain the values of all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GeneratedKind {
    /// `VIRTUAL`.
    Virtual,
    /// `STORED`.
    Stored,
    /// The column of a functional key part. No statement declared it; statements neither name nor show it.
    KeyPart,
}

/// A CHECK constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckDef {
    /// Its name.
    pub name: String,
    /// The condition over the columns of a row, as text. It must not be false.
    pub expression: String,
    /// Whether it is enforced: NOT ENFORCED was not written.
    pub enforced: bool,
}

/// A column.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDef {
    /// Its name, as it was written; compared without case.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// Whether it can be NULL. Columns of the primary key never can.
    pub nullable: bool,
    /// The collation of its strings; `Binary` for other types.
    pub collation: Collation,
    /// Its default; `None` if the DDL gave none. A NOT NULL column must then be given a value.
    pub default: Option<DefaultValue>,
    /// Whether ON UPDATE CURRENT_TIMESTAMP was declared.
    pub on_update_now: bool,
    /// Whether AUTO_INCREMENT was declared.
    pub auto_increment: bool,
    /// `GENERATED ALWAYS AS`: the writer of a row computes the value.
    pub generated: Option<GeneratedColumn>,
    /// `INVISIBLE`: only statements that name the column see it.
    pub invisible: bool,
    /// Its comment.
    pub comment: String,
    /// Its place in rows.
    pub stored: StoredColumn,
}

impl ColumnDef {
    /// Makes a column without a default and with no other attributes.
    pub fn new(name: impl Into<String>, ty: SqlType, nullable: bool, collation: Collation) -> ColumnDef {
        ColumnDef {
            name: name.into(),
            ty,
            nullable,
            collation,
            default: None,
            on_update_now: false,
            auto_increment: false,
            generated: None,
            invisible: false,
            comment: String::new(),
            stored: StoredColumn::default(),
        }
    }

    /// Returns whether it has no default, not even NULL.
    pub fn has_no_default(&self) -> bool {
        match self.default {
            None => !self.nullable,
            Some(DefaultValue::Dropped) => true,
            Some(_) => false,
        }
    }

    /// Returns whether it is the column of a functional key part, which statements neither name nor show.
    pub fn is_hidden(&self) -> bool {
        self.generated.as_ref().is_some_and(|generated| generated.kind == GeneratedKind::KeyPart)
    }
}

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
