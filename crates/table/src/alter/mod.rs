//! ALTER TABLE: changes the definition of a table, its indexes, or all of it.
//!
//! A change of the catalog alone is one commit of the catalog. It may add and drop columns if older rows need not
//! change (`catalog::stored`). New indexes are built from the rows, old ones are retired, and rows are checked
//! against new constraints. If rows must change, they are read, converted and written to new trees. The result is a
//! new table, with a number of its own, that replaces the old one, so that old row versions, which are stored by the
//! table's number, are never taken for rows of the new form. Reads go on meanwhile. Commits go on too, if the
//! statement asks for that (`crate::build::online`) and the change concerns only indexes, constraints and rows;
//! otherwise they wait.
//!
//! | module | contents |
//! |---|---|
//! | `redefine` | changing definitions and indexes |
//! | `constraint_check` | checking rows against new constraints |
//! | `rebuild` | rebuilding a table |
//! | `convert` | converting its rows |
//! | `row_numbers` | the numbers that its rows are given |
//! | `rebuilt_rows` | applying changes of the old table to the new one |
//! | `switch_over` | watching a table, and switching over while others wait |

mod constraint_check;
mod convert;
mod rebuild;
mod rebuilt_rows;
mod redefine;
mod row_numbers;
mod switch_over;

use crate::build::BuildControl;
use crate::catalog::{
    Catalog, CheckDef, ForeignKeyChanges, ForeignKeyDef, IndexSpecPart, KeyAlteration, TableDef, TableDraft,
    TableId, TableSpec, ViewDef, check_name, rename_in,
};
use crate::catalog_change::CatalogChange;
use crate::ddl;
use crate::ddl::Ddl;
use crate::error::{Result, TableError};
use crate::lock::Excluding;
pub use constraint_check::RowCheck;
use leafline_types::{MysqlError, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The database and name of a table.
pub type QualifiedName<'a> = (&'a str, &'a str);

/// A change of a table.
pub struct Alteration<'a> {
    /// The new table. Indexes that stay refer to the existing ones; foreign keys stay unless `foreign_keys` says
    /// otherwise.
    pub spec: TableSpec,
    /// The old column that each new column comes from.
    pub sources: Vec<Option<usize>>,
    /// The values of existing rows in the new columns, in the order of these columns, if rows stay as they are.
    pub older: Vec<Value>,
    /// The next AUTO_INCREMENT value, unless a larger one is in use.
    pub next_auto_increment: Option<u64>,
    /// The foreign keys to drop and to add.
    pub foreign_keys: ForeignKeyChanges,
    /// The check of its rows, if they stay as they are.
    pub check: Option<&'a mut dyn RowCheck>,
    /// The conversion of its rows, if they do not stay as they are.
    pub rebuild: Option<Rebuild<'a>>,
    /// Builds and checks while others write, if the change concerns only indexes, the whole table or new constraints.
    /// This is called before the change comes into force. It excludes sessions that the change would surprise, also
    /// from the tables that new foreign keys refer to. No other session changes the definitions of these tables
    /// meanwhile.
    pub switch: Option<Switch<'a>>,
    /// The resources of the build, and the token that cancels it.
    pub control: BuildControl,
}

/// Excludes the sessions that a change would surprise, until the change is in force.
pub type Switch<'a> = &'a dyn Fn() -> Result<Option<Excluding>>;

/// The way to make the rows of a table from its old rows.
pub struct Rebuild<'a> {
    /// Converts a row.
    pub converter: &'a mut dyn RowConverter,
    /// The order, by columns of the old table, in which rows are stored if there is no clustered key.
    pub order: Vec<IndexSpecPart>,
    /// Whether NULL and 0 in the AUTO_INCREMENT column request a number.
    pub numbers: bool,
    /// Whether 0 does not.
    pub zero_is_number: bool,
}

/// Converts rows of an old table into rows of a new one.
pub trait RowConverter {
    /// Converts an old row: returns a value of its type for each column.
    ///
    /// # Errors
    /// MySQL's error for a value that the new columns cannot have. The table then stays as it was.
    fn convert(&mut self, row: Vec<Value>) -> std::result::Result<Vec<Value>, MysqlError>;

    /// Converts a row that was converted before, without repeating warnings.
    ///
    /// # Errors
    /// The errors of [`convert`](Self::convert).
    fn convert_again(&mut self, row: Vec<Value>) -> std::result::Result<Vec<Value>, MysqlError> {
        self.convert(row)
    }
}

/// The new table, fully checked.
struct Target<'a> {
    spec: &'a TableSpec,
    draft: TableDraft,
    foreign_keys: Vec<ForeignKeyDef>,
    /// How many of the last foreign keys its rows must be checked against.
    unproven: usize,
    /// The tables that new foreign keys refer to.
    parents: Vec<Arc<TableDef>>,
    check: Option<&'a mut dyn RowCheck>,
    /// Other tables, whose foreign keys refer to a name that changes.
    children: Vec<TableDef>,
    is_private: bool,
    control: BuildControl,
}

impl Target<'_> {
    /// Returns whether only the table's rows, indexes and constraints are concerned, so that they can be built and
    /// checked while others write.
    fn concerns_rows_alone(
        &self,
        table: &TableDef,
        sources: &[Option<usize>],
        (foreign_keys, rebuild): (&ForeignKeyChanges, Option<&Rebuild<'_>>),
    ) -> bool {
        let added = self.draft.indexes.iter().skip(1).any(|index| index.existing.is_none());
        let asks = self.check.is_some() || !foreign_keys.added.is_empty();
        let same_columns = sources.iter().copied().eq((0..table.columns.len()).map(Some));
        let same_name = (&self.spec.database, &self.spec.name) == (&table.database, &table.name);
        let can_be_built = match rebuild {
            None => (added || asks) && same_columns && self.spec.columns == table.columns,
            Some(_) => foreign_keys.added.is_empty(),
        };
        can_be_built && same_name && self.children.is_empty() && !self.is_private
    }

    /// The foreign keys that its rows must be checked against.
    fn unproven(&self) -> Vec<ForeignKeyDef> {
        self.foreign_keys.iter().rev().take(self.unproven).rev().cloned().collect()
    }

    /// Its definition without indexes.
    fn shell(&self, id: TableId) -> TableDef {
        TableDef {
            id,
            database: self.spec.database.clone(),
            name: self.spec.name.clone(),
            columns: self.draft.columns.clone(),
            dropped: Vec::new(),
            indexes: Vec::with_capacity(self.draft.indexes.len()),
            checks: self.spec.checks.clone(),
            foreign_keys: self.foreign_keys.clone(),
            histograms: Vec::new(),
            schema_version: 1,
            overflow: None,
            is_overflow: false,
            is_private: self.is_private,
            partitioning: None,
            partition_of: None,
            options: self.spec.options.clone(),
        }
    }
}

impl Ddl {
    /// Changes `table`, all or nothing. Returns the number of rows converted, and the new number of the table.
    ///
    /// # Errors
    /// `DefinitionChanged` if `table` is not the definition in force; 1050 if its new name is taken, 1049 if its new
    /// database does not exist; the errors of [`TableSpec`]'s rules; errors of foreign keys that lose what they need
    /// (1553, 1828 to 1833), and of new ones; 1452 if a row refers to no row; 1062 if there are duplicates in a new
    /// unique index; errors of the conversion and of the store.
    pub fn alter_table(
        &self,
        table: &Arc<TableDef>,
        mut alteration: Alteration<'_>,
    ) -> Result<(u64, TableId)> {
        let ddl = self.core.ddl.lock();
        let catalog = self.core.catalog();
        self.check_in_force(table)?;
        let spec = &mut alteration.spec;
        if !table.is_private && (&spec.database, &spec.name) != (&table.database, &table.name) {
            check_free(&catalog, &spec.database, &spec.name)?;
        }
        let changes = &alteration.foreign_keys;
        *spec = spec.with_foreign_indexes(&changes.added);
        let draft = TableDraft::new(spec, &self.core.limits)?;
        if table.is_private && draft.has_fulltext() {
            return Err(MysqlError::fulltext_on_temporary_table().into());
        }
        let mut altered = KeyAlteration {
            catalog: &catalog,
            table,
            name: (&spec.database, &spec.name),
            columns: &draft.columns,
            sources: &alteration.sources,
            keys: &draft.keys(),
            changes,
            unchecked: spec.unchecked_references,
        }
        .altered()?;
        if spec.name != table.name {
            rename_constraints(&mut spec.checks, &mut altered.own, &table.name, &spec.name);
        }
        let parents = changes.added.iter().filter_map(|key| {
            let parent = catalog.table(&key.parent_database, &key.parent_table)?;
            (parent.id != table.id).then(|| (parent.id, parent.clone()))
        });
        let parents: BTreeMap<TableId, Arc<TableDef>> = parents.collect();
        let children = altered.children.iter().map(|child| child.id).filter(|child| *child != table.id);
        let closed: BTreeSet<TableId> = parents.keys().copied().chain(children).collect();
        let unproven = if spec.unchecked_references { 0 } else { altered.added };
        let (foreign_keys, children) = (altered.own, altered.children);
        let (is_private, control) = (table.is_private, alteration.control);
        let parents = parents.into_values().collect();
        let check: Option<&mut dyn RowCheck> = match &mut alteration.check {
            Some(check) => Some(&mut **check),
            None => None,
        };
        let target =
            Target { spec, draft, foreign_keys, unproven, parents, check, children, is_private, control };
        let next = alteration.next_auto_increment;
        let sources = &alteration.sources;
        let switch = alteration.switch;
        let changes = (&alteration.foreign_keys, alteration.rebuild.as_ref());
        if switch.is_some() && !target.concerns_rows_alone(table, sources, changes) {
            return Err(TableError::Internal("nobody is kept away from a table that changes".into()));
        }
        let waiting = match switch {
            Some(_) => {
                drop(ddl);
                None
            }
            None => {
                let own = ddl::close_gates(&self.core, std::slice::from_ref(table));
                let others: Vec<_> = closed.into_iter().map(|table| self.core.gates.close(table)).collect();
                Some((own, others, ddl))
            }
        };
        let altered = match alteration.rebuild {
            Some(rebuild) => self.rebuild_table(table, target, rebuild, (next, switch))?,
            None => {
                self.redefine_table(table, target, (sources, alteration.older), (next, switch))?;
                (0, table.id)
            }
        };
        let _ddl = waiting.map(|(own, others, ddl)| {
            drop((own, others));
            ddl
        });
        ddl::after_drop(&self.core)?;
        Ok(altered)
    }

    /// Renames tables and views, one after another, all or none. Foreign keys that refer to the tables follow. A view
    /// keeps its database, in which its query finds names.
    ///
    /// # Errors
    /// 1146 if a table does not exist, 1050 if a new name is taken, 1049 if a database does not exist; 3734, 3780,
    /// 3733 and 1822 (unless `unchecked`) if foreign keys refer to the new name and the table does not satisfy them;
    /// 1450 for a view that would change its database; errors of the store.
    pub fn rename_tables(
        &self,
        renames: &[(QualifiedName<'_>, QualifiedName<'_>)],
        unchecked: bool,
    ) -> Result<()> {
        let _ddl = self.core.ddl.lock();
        let before = self.core.catalog();
        let mut catalog = (*before).clone();
        let mut renamed: Vec<TableId> = Vec::new();
        let mut views: BTreeMap<u64, Arc<ViewDef>> = BTreeMap::new();
        for ((database, name), (new_database, new_name)) in renames {
            if let Some(view) = catalog.view(database, name).cloned() {
                check_free(&catalog, new_database, new_name)?;
                if new_database != database {
                    return Err(MysqlError::change_of_schema(database, new_database).into());
                }
                let changed = Arc::new(ViewDef { name: (*new_name).into(), ..(*view).clone() });
                catalog.remove_view(&view);
                catalog.put_view(changed.clone());
                views.insert(view.id, changed);
                continue;
            }
            let Some(table) = catalog.table(database, name).cloned() else {
                return Err(MysqlError::no_such_table(database, name).into());
            };
            check_free(&catalog, new_database, new_name)?;
            let mut changed = (*table).clone();
            changed.rename(new_database, new_name);
            rename_constraints(&mut changed.checks, &mut changed.foreign_keys, &table.name, new_name);
            renamed.extend(rename_in(&mut catalog, changed, &table, unchecked)?);
        }
        renamed.sort_unstable();
        renamed.dedup();
        let tables = renamed.iter().filter_map(|table| before.table_by_id(*table)).cloned();
        let closed = ddl::close_gates(&self.core, &tables.collect::<Vec<_>>());
        let changed = renamed.iter().filter_map(|table| catalog.table_by_id(*table));
        let databases: BTreeSet<&str> = renames.iter().map(|((database, _), _)| *database).collect();
        let old_views = databases.into_iter().flat_map(|database| before.views(database));
        ddl::change_catalog(
            &self.core,
            CatalogChange {
                put_tables: changed.map(|table| (**table).clone()).collect(),
                remove_views: old_views.filter(|view| views.contains_key(&view.id)).cloned().collect(),
                put_views: views.into_values().collect(),
                ..CatalogChange::default()
            },
        )?;
        drop(closed);
        Ok(())
    }

    /// Returns `DefinitionChanged` unless `table` is the definition in force.
    fn check_in_force(&self, table: &Arc<TableDef>) -> Result<()> {
        let catalog = self.core.catalog();
        match catalog.table_by_id(table.id).is_some_and(|current| Arc::ptr_eq(current, table)) {
            true => Ok(()),
            false => Err(TableError::DefinitionChanged),
        }
    }
}

/// Renames the constraints that are named after their table.
fn rename_constraints(checks: &mut [CheckDef], foreign_keys: &mut [ForeignKeyDef], from: &str, to: &str) {
    let names = checks.iter_mut().map(|check| (&mut check.name, "_chk_"));
    for (name, middle) in names.chain(foreign_keys.iter_mut().map(|key| (&mut key.name, "_ibfk_"))) {
        let number = name.strip_prefix(from).and_then(|rest| rest.strip_prefix(middle));
        if let Some(number) = number.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
            *name = format!("{to}{middle}{number}");
        }
    }
}

/// Checks that a table can have this name; returns error 1049, 1103 or 1050 if not.
pub(crate) fn check_free(catalog: &Catalog, database: &str, name: &str) -> Result<()> {
    check_name(name, |name| MysqlError::wrong_table_name(name))?;
    if catalog.database(database).is_none() {
        return Err(MysqlError::unknown_database(database).into());
    }
    match catalog.table(database, name).is_some() || catalog.view(database, name).is_some() {
        true => Err(MysqlError::table_exists(name).into()),
        false => Ok(()),
    }
}
