//! Foreign keys: their definitions, and MySQL's rules for making them.
//!
//! A foreign key belongs to the table whose rows refer to others (the child). It names the referenced table
//! (the parent) and its columns. The parent may not exist, or may later be a different table, if
//! `foreign_key_checks` is off. Both sides need an index that begins with the columns, in their order.

use super::column::{ColumnDef, GeneratedKind};
use super::definition::{ForeignKeyDef, TableDef, TableId};
use super::index_def::IndexDef;
use super::published::Catalog;
use super::spec::{ForeignKeySpec, IndexSpec, IndexSpecKind, IndexSpecPart, TableSpec, check_name};
use crate::error::{Result, TableError};
use leafline_types::words::ReferentialAction;
use leafline_types::{MysqlError, SqlType};
use std::fmt::Write as _;

/// The columns and indexes of one side of a foreign key.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) table: &'a str,
    pub(crate) columns: &'a [ColumnDef],
    /// The key columns of each index, in order.
    pub(crate) keys: &'a [Vec<usize>],
}

impl ForeignKeyDef {
    /// The key as SHOW CREATE TABLE shows it for a table in `database`.
    pub fn definition(&self, database: &str, columns: &[ColumnDef]) -> String {
        let own = self.columns.iter().filter_map(|at| columns.get(*at)).map(|column| column.name.as_str());
        let parents = self.parent_columns.iter().map(String::as_str);
        let mut text = format!("CONSTRAINT {} FOREIGN KEY ({})", quoted(&self.name), list(own));
        text.push_str(" REFERENCES ");
        if self.parent_database != database {
            write!(text, "{}.", quoted(&self.parent_database)).ok();
        }
        write!(text, "{} ({})", quoted(&self.parent_table), list(parents)).ok();
        for (event, action) in [("DELETE", self.on_delete), ("UPDATE", self.on_update)] {
            if action != ReferentialAction::NoAction {
                write!(text, " ON {event} {}", action.name()).ok();
            }
        }
        text
    }

    /// The key as errors 1451 and 1452 describe it.
    pub fn described(&self, table: &TableDef) -> String {
        let definition = self.definition(&table.database, &table.columns);
        format!("{}.{}, {definition}", quoted(&table.database), quoted(&table.name))
    }

    /// Returns whether it refers to the table with this name.
    pub fn refers_to(&self, database: &str, table: &str) -> bool {
        self.parent_table == table && self.parent_database == database
    }

    /// The positions of the referenced columns in `parent`; `None` if one does not exist.
    pub fn columns_in(&self, parent: &TableDef) -> Option<Vec<usize>> {
        self.parent_columns.iter().map(|name| parent.column(name)).collect()
    }

    /// Checks the parent: error 3734 if a column does not exist, 3780 if its type differs, 3733 if it is
    /// virtual, and, unless `unchecked`, 1822 if no index begins with the columns.
    fn check_parent(&self, child: &[ColumnDef], parent: &Side<'_>, unchecked: bool) -> Result<()> {
        let mut positions = Vec::with_capacity(self.columns.len());
        for (own, name) in self.columns.iter().zip(&self.parent_columns) {
            let at = parent.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
            let (Some(at), Some(own)) = (at, child.get(*own)) else {
                return Err(MysqlError::fk_no_parent_column(name, &self.name, parent.table).into());
            };
            let column = &parent.columns[at];
            if is_virtual(column) {
                return Err(MysqlError::fk_virtual_column(&self.name, &column.name).into());
            }
            if !are_comparable(own, column) {
                return Err(MysqlError::fk_incompatible_columns(&own.name, name, &self.name).into());
            }
            positions.push(at);
        }
        if !unchecked && !parent.keys.iter().any(|key| key.starts_with(&positions)) {
            return Err(MysqlError::fk_no_parent_index(&self.name, parent.table).into());
        }
        Ok(())
    }
}

/// The columns that each index but a FULLTEXT one is ordered by, including those that make its keys unique.
pub(crate) fn keys_of(indexes: &[impl std::borrow::Borrow<IndexDef>]) -> Vec<Vec<usize>> {
    let ordered = indexes.iter().map(std::borrow::Borrow::borrow).filter(|index| !index.is_words());
    ordered.map(|index| index.leading_columns().to_vec()).collect()
}

impl TableSpec {
    /// The table, with an index added for each foreign key of `keys` that has none.
    pub(crate) fn with_foreign_indexes(&self, keys: &[ForeignKeySpec]) -> TableSpec {
        let mut spec = self.clone();
        for key in keys {
            if let Some(index) = missing_index(key, &spec.indexes) {
                spec.indexes.push(index);
            }
        }
        spec
    }
}

impl IndexSpec {
    /// Returns whether the index begins with whole values of these columns, in ascending order. As in
    /// MySQL, a descending index does not replace one that a foreign key created.
    fn begins_with<'n>(&self, columns: impl ExactSizeIterator<Item = &'n String>) -> bool {
        let is_it = |(part, name): (&IndexSpecPart, &String)| {
            part.prefix.is_none() && !part.descending && part.column.eq_ignore_ascii_case(name)
        };
        self.parts.len() >= columns.len() && self.parts.iter().zip(columns).all(is_it)
    }

    /// Returns whether it replaces an index that a foreign key created.
    pub fn replaces(&self, other: &IndexSpec) -> bool {
        other.for_foreign_key && self.begins_with(other.parts.iter().map(|part| &part.column))
    }
}

/// The index that a foreign key needs; `None` if one of `indexes` begins with its columns.
fn missing_index(key: &ForeignKeySpec, indexes: &[IndexSpec]) -> Option<IndexSpec> {
    if indexes.iter().any(|index| index.begins_with(key.columns.iter())) {
        return None;
    }
    Some(IndexSpec {
        name: key.name.clone().or_else(|| key.index_name.clone()),
        kind: IndexSpecKind::Plain,
        parts: key.columns.iter().map(IndexSpecPart::new).collect(),
        for_foreign_key: true,
        ..IndexSpec::default()
    })
}

/// The names of the foreign keys `specs` of a table that already has keys with the names `present`. A key
/// without a name gets the next number.
pub fn foreign_key_names<'n>(
    table: &str,
    present: impl IntoIterator<Item = &'n str>,
    specs: &'n [ForeignKeySpec],
) -> Vec<String> {
    let prefix = format!("{table}_ibfk_");
    let given = specs.iter().filter_map(|spec| spec.name.as_deref());
    let names = present.into_iter().chain(given);
    let mut number =
        names.filter_map(|name| name.strip_prefix(&prefix)?.parse::<u32>().ok()).max().unwrap_or(0);
    let mut name = |spec: &ForeignKeySpec| match &spec.name {
        Some(name) => name.clone(),
        None => {
            number = number.saturating_add(1);
            format!("{prefix}{number}")
        }
    };
    specs.iter().map(&mut name).collect()
}

/// Resolves the foreign keys `specs` of a table in `database`. The table has the given number if it exists
/// already, the columns and index keys of `child`, and the foreign keys `present`. With `unchecked`,
/// parents and their indexes may be missing.
///
/// # Errors
/// 1826 for a name in use, 1239 for different numbers of columns, 1072 and 1060 for the columns, 1830 for
/// SET NULL on a column that cannot be NULL, 3104 and 3733 for generated columns, 1824 for a parent that
/// does not exist, 3734, 3780 and 1822 for its columns.
pub(crate) fn resolve_foreign_keys(
    catalog: &Catalog,
    (database, id): (&str, Option<TableId>),
    child: &Side<'_>,
    present: &[ForeignKeyDef],
    specs: &[ForeignKeySpec],
    unchecked: bool,
) -> Result<Vec<ForeignKeyDef>> {
    let mut made: Vec<ForeignKeyDef> = Vec::with_capacity(specs.len());
    let names = foreign_key_names(child.table, present.iter().map(|key| key.name.as_str()), specs);
    for (spec, name) in specs.iter().zip(names) {
        check_name(&name, |name| MysqlError::wrong_index_name(name))?;
        let in_use = catalog.tables(database).filter(|table| Some(table.id) != id);
        let mut taken = in_use.flat_map(|table| &table.foreign_keys).chain(present).chain(&made);
        if taken.any(|key| key.name.eq_ignore_ascii_case(&name)) {
            return Err(MysqlError::fk_duplicate_name(name).into());
        }
        let key = resolve(spec, name, child)?;
        check_against_parent(catalog, database, child, &key, unchecked)?;
        made.push(key);
    }
    Ok(made)
}

fn resolve(spec: &ForeignKeySpec, name: String, child: &Side<'_>) -> Result<ForeignKeyDef> {
    if spec.columns.len() != spec.parent_columns.len() {
        let called = spec.name.as_deref().unwrap_or("foreign key without name");
        return Err(MysqlError::wrong_foreign_key(called).into());
    }
    let mut columns = Vec::with_capacity(spec.columns.len());
    let sets_null = [spec.on_delete, spec.on_update].contains(&ReferentialAction::SetNull);
    for column_name in &spec.columns {
        let at = child.columns.iter().position(|column| column.name.eq_ignore_ascii_case(column_name));
        let Some((at, column)) = at.and_then(|at| Some((at, child.columns.get(at)?))) else {
            return Err(MysqlError::key_column_missing(column_name).into());
        };
        if columns.contains(&at) {
            return Err(MysqlError::duplicate_column(&column.name).into());
        }
        if is_virtual(column) {
            return Err(MysqlError::fk_virtual_column(&name, &column.name).into());
        }
        if column.generated.is_some() {
            let clauses = [
                (spec.on_update == ReferentialAction::SetNull, "ON UPDATE SET NULL"),
                (spec.on_update == ReferentialAction::Cascade, "ON UPDATE CASCADE"),
                (spec.on_delete == ReferentialAction::SetNull, "ON DELETE SET NULL"),
            ];
            if let Some((_, clause)) = clauses.iter().find(|(given, _)| *given) {
                return Err(MysqlError::fk_generated_column(clause).into());
            }
        }
        if sets_null && !column.nullable {
            return Err(MysqlError::fk_column_not_null(&column.name, &name).into());
        }
        columns.push(at);
    }
    Ok(ForeignKeyDef {
        name,
        columns,
        parent_database: spec.parent_database.clone(),
        parent_table: spec.parent_table.clone(),
        parent_columns: spec.parent_columns.clone(),
        on_delete: spec.on_delete,
        on_update: spec.on_update,
    })
}

fn check_against_parent(
    catalog: &Catalog,
    database: &str,
    child: &Side<'_>,
    key: &ForeignKeyDef,
    unchecked: bool,
) -> Result<()> {
    if key.refers_to(database, child.table) {
        return key.check_parent(child.columns, child, unchecked);
    }
    match catalog.table(&key.parent_database, &key.parent_table) {
        Some(parent) if parent.is_partitioned() => Err(MysqlError::foreign_key_on_partitioned().into()),
        Some(parent) if !parent.options.organisation.has_foreign_keys() => {
            Err(MysqlError::fk_cannot_open_parent(&key.parent_table).into())
        }
        Some(parent) => {
            let keys = keys_of(&parent.indexes);
            let side = Side { table: &parent.name, columns: &parent.columns, keys: &keys };
            key.check_parent(child.columns, &side, unchecked)
        }
        None if unchecked => Ok(()),
        None => Err(MysqlError::fk_cannot_open_parent(&key.parent_table).into()),
    }
}

/// Checks a new or renamed table against the foreign keys that refer to its name.
///
/// # Errors
/// 3734, 3780 and 3733 for its columns; 1822 for its indexes, unless `unchecked`.
pub(crate) fn check_as_parent(
    catalog: &Catalog,
    database: &str,
    parent: &Side<'_>,
    unchecked: bool,
) -> Result<()> {
    for (child, key) in catalog.references(database, parent.table) {
        if child.name != parent.table || child.database != database {
            let checked = key.check_parent(&child.columns, parent, unchecked);
            checked.map_err(|error| match error {
                TableError::Sql(error) => TableError::referred_to(error, &child.database, &child.name),
                other => other,
            })?;
        }
    }
    Ok(())
}

fn is_virtual(column: &ColumnDef) -> bool {
    column.generated.as_ref().is_some_and(|generated| generated.kind != GeneratedKind::Stored)
}

/// Returns whether values of a column may refer to those of another: numbers of the same size and sign,
/// strings of the same collation.
fn are_comparable(child: &ColumnDef, parent: &ColumnDef) -> bool {
    let (own, other) = (&child.ty, &parent.ty);
    if own.is_integer() && other.is_integer() {
        return own.integer_width() == other.integer_width() && own.is_unsigned() == other.is_unsigned();
    }
    if own.is_character() && other.is_character() {
        return child.collation == parent.collation;
    }
    match (own, other) {
        (
            SqlType::Binary { .. } | SqlType::Varbinary { .. },
            SqlType::Binary { .. } | SqlType::Varbinary { .. },
        ) => true,
        (SqlType::Enum(own), SqlType::Enum(other)) | (SqlType::Set(own), SqlType::Set(other)) => {
            own.names().count() == other.names().count()
        }
        (own, other) => own == other,
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(quoted).collect::<Vec<_>>().join(", ")
}
