//! Changing a table: its definition, its indexes, or all of it.
//!
//! What concerns the catalog alone is one commit of the catalog: also columns that come and go, if older rows need not be changed for
//! it (`catalog::stored`). New indexes are built from the rows, old ones retired. Where rows have to be others, they are read, converted and written to new trees: that is a new table, with a number of its own, in the
//! place of the old one, so that old versions of rows, kept by number, are never taken for rows of the new form. Reads go on meanwhile,
//! and so do commits, where it is asked for (`crate::build::online`) and nothing else than indexes and rows is concerned; else they wait.
//!
//! | module | does |
//! |---|---|
//! | `rebuild` | building a table anew |
//! | `renewed` | what changes of the old table are to the new one |
//! | `beside` | watching a table, and the moment when others wait |

mod beside;
mod rebuild;
mod renewed;

use crate::build::{
    BuildControl, BuiltTree, IndexEntries, SnapshotSource, TreeSource, build_indexes, check_references,
};
use crate::catalog::{
    Catalog, CheckDef, ForeignKeyChanges, ForeignKeyDef, IndexDef, IndexDraft, IndexPart, IndexSpecPart,
    KeyAlteration, TableDef, TableDraft, TableId, TableSpec, ViewDef, check_name, rename_in,
};
use crate::ddl::{CatalogChange, NewTrees};
use crate::engine::Engine;
use crate::error::{Result, TableError};
use crate::lock::Excluding;
use crate::partition::{Partition, Partitioning};
use crate::txn::op::CounterChange;
use leafline_btree::CommitTs;
use leafline_storage::{PageNo, SegmentId};
use leafline_types::{MysqlError, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Database and name of a table.
pub type QualifiedName<'a> = (&'a str, &'a str);

/// What is to become of a table.
pub struct Alteration<'a> {
    /// The table as it is to be. Indexes that stay say which they are; foreign keys stay unless `foreign_keys` says otherwise.
    pub spec: TableSpec,
    /// For each of its columns, the column that it was.
    pub sources: Vec<Option<usize>>,
    /// For each of its new columns, in their order, what the rows that there are hold in it, if they stay as they are.
    pub older: Vec<Value>,
    /// The number from which AUTO_INCREMENT goes on, if no larger one is in use.
    pub next_auto_increment: Option<u64>,
    /// Foreign keys that come and go.
    pub foreign_keys: ForeignKeyChanges,
    /// How its rows are made, if they do not stay as they are.
    pub rebuild: Option<Rebuild<'a>>,
    /// New indexes, or the whole table, are built beside those who write, where nothing else is asked for: this is called before they come
    /// into force, to keep away who must not be surprised by that. Nobody else changes the table's definition meanwhile.
    pub switch: Option<Switch<'a>>,
    /// What building may use, and who stops it.
    pub control: BuildControl,
}

/// Keeps those away who would be surprised by what comes into force, until that is done.
pub type Switch<'a> = &'a dyn Fn() -> Result<Option<Excluding>>;

/// How the rows of a table are made from those that it had.
pub struct Rebuild<'a> {
    /// Makes one of the other.
    pub converter: &'a mut dyn RowConverter,
    /// The order, by columns of the old table, in which rows are stored where there is no clustered key.
    pub order: Vec<IndexSpecPart>,
    /// NULL and 0 in the AUTO_INCREMENT column ask for a number.
    pub numbers: bool,
    /// But 0 does not.
    pub zero_is_number: bool,
}

/// Makes a row of another from one.
pub trait RowConverter {
    /// The new row of an old one: a value of its type for each column.
    ///
    /// # Errors
    /// MySQL's, for values that the new columns cannot have. The table stays as it was then.
    fn convert(&mut self, row: Vec<Value>) -> std::result::Result<Vec<Value>, MysqlError>;

    /// The same of a row that was converted before: nobody is told about it again.
    ///
    /// # Errors
    /// As [`convert`](Self::convert).
    fn convert_again(&mut self, row: Vec<Value>) -> std::result::Result<Vec<Value>, MysqlError> {
        self.convert(row)
    }
}

/// A table that is to be, all of it looked at.
struct Target<'a> {
    spec: &'a TableSpec,
    draft: TableDraft,
    foreign_keys: Vec<ForeignKeyDef>,
    /// How many of the last of them its rows are to be checked against.
    unproven: usize,
    /// Other tables, whose foreign keys refer to a name that changes.
    children: Vec<TableDef>,
    is_private: bool,
    control: BuildControl,
}

/// Builds indexes of a table or partition that is stored, as it is to be defined.
type BuildIndexes<'b> =
    dyn FnMut(&Arc<TableDef>, &TableDef, Vec<IndexDef>, &mut NewTrees) -> Result<Vec<IndexDef>> + 'b;

impl Target<'_> {
    /// Whether nothing is concerned but the table's own rows and indexes: these can be built beside those who write.
    fn concerns_rows_alone(
        &self,
        table: &TableDef,
        sources: &[Option<usize>],
        rebuild: Option<&Rebuild<'_>>,
    ) -> bool {
        let added = self.draft.indexes.iter().skip(1).any(|index| index.existing.is_none());
        let same_columns = sources.iter().copied().eq((0..table.columns.len()).map(Some));
        let same_name = (&self.spec.database, &self.spec.name) == (&table.database, &table.name);
        let has_hidden_row_id = self.draft.clustered_key().is_none();
        let is_divided = table.is_partitioned() || self.spec.partitioning.is_some();
        let can_be_built = match rebuild {
            None => added && same_columns && self.spec.columns == table.columns,
            // Rows that have no clustered key keep their numbers.
            Some(rebuild) => {
                let keeps_numbers = table.has_hidden_row_id() && !is_divided && rebuild.order.is_empty();
                !rebuild.numbers && (!has_hidden_row_id || keeps_numbers)
            }
        };
        can_be_built && same_name && self.unproven == 0 && self.children.is_empty() && !self.is_private
    }

    /// The foreign keys that its rows are to be checked against.
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

impl Engine {
    /// Changes `table`, all of it or nothing. Returns the number of rows that were converted, and the number that the table has now.
    ///
    /// # Errors
    /// `DefinitionChanged` if that is not the definition in force; 1050 if its new name is taken, 1049 if its new database is not
    /// there; the errors of [`TableSpec`]'s rules; those of foreign keys that lose what they need (1553, 1828 to 1833), and of new ones; 1452 if
    /// a row does not refer to one that is there; 1062 if there are duplicates in a new unique index; what the conversion and the store return.
    pub fn alter_table(
        self: &Arc<Self>,
        table: &Arc<TableDef>,
        mut alteration: Alteration<'_>,
    ) -> Result<(u64, TableId)> {
        let ddl = self.ddl.lock();
        let catalog = self.catalog();
        self.check_in_force(table)?;
        let spec = &mut alteration.spec;
        if !table.is_private && (&spec.database, &spec.name) != (&table.database, &table.name) {
            check_free(&catalog, &spec.database, &spec.name)?;
        }
        let changes = &alteration.foreign_keys;
        *spec = spec.with_foreign_indexes(&changes.added);
        let draft = TableDraft::new(spec, &self.limits)?;
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
            Some(parent.id)
        });
        let mut closed: Vec<TableId> = parents.chain(altered.children.iter().map(|child| child.id)).collect();
        closed.sort_unstable();
        closed.dedup();
        closed.retain(|other| *other != table.id);
        let unproven = if spec.unchecked_references { 0 } else { altered.added };
        let (foreign_keys, children) = (altered.own, altered.children);
        let (is_private, control) = (table.is_private, alteration.control);
        let target = Target { spec, draft, foreign_keys, unproven, children, is_private, control };
        let next = alteration.next_auto_increment;
        let sources = &alteration.sources;
        let switch = alteration.switch;
        if switch.is_some() && !target.concerns_rows_alone(table, sources, alteration.rebuild.as_ref()) {
            return Err(TableError::Internal("nobody is kept away from a table that changes".into()));
        }
        let waiting = match switch {
            Some(_) => {
                drop(ddl);
                None
            }
            None => {
                let own = self.close_gates(std::slice::from_ref(table));
                let others: Vec<_> = closed.into_iter().map(|table| self.gates.close(table)).collect();
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
        self.after_drop()?;
        Ok(altered)
    }

    /// Gives tables and views other names, one after the other, all or none. Foreign keys that refer to the tables follow; a view keeps
    /// its database, where the names in it are looked up.
    ///
    /// # Errors
    /// 1146 if there is no such table, 1050 if the new name is taken, 1049 if the database is not there; 3734, 3780, 3733 and 1822 (unless
    /// `unchecked`) if foreign keys refer to the new name, and the table is not what they need; 1450 for a view and another database; what
    /// the store returns.
    pub fn rename_tables(
        &self,
        renames: &[(QualifiedName<'_>, QualifiedName<'_>)],
        unchecked: bool,
    ) -> Result<()> {
        let _ddl = self.ddl.lock();
        let before = self.catalog();
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
        let closed = self.close_gates(&tables.collect::<Vec<_>>());
        let changed = renamed.iter().filter_map(|table| catalog.table_by_id(*table));
        let databases: BTreeSet<&str> = renames.iter().map(|((database, _), _)| *database).collect();
        let old_views = databases.into_iter().flat_map(|database| before.views(database));
        self.change_catalog(CatalogChange {
            put_tables: changed.map(|table| (**table).clone()).collect(),
            remove_views: old_views.filter(|view| views.contains_key(&view.id)).cloned().collect(),
            put_views: views.into_values().collect(),
            ..CatalogChange::default()
        })?;
        drop(closed);
        Ok(())
    }

    /// `DefinitionChanged` if that is not the definition in force.
    fn check_in_force(&self, table: &Arc<TableDef>) -> Result<()> {
        let catalog = self.catalog();
        match catalog.table_by_id(table.id).is_some_and(|current| Arc::ptr_eq(current, table)) {
            true => Ok(()),
            false => Err(TableError::DefinitionChanged),
        }
    }

    /// Changes definitions and indexes; the rows stay as they are. `older` is what they hold in new columns. With `switch` no gate is closed
    /// and `ddl` not held yet.
    fn redefine_table(
        self: &Arc<Self>,
        table: &Arc<TableDef>,
        target: Target<'_>,
        (sources, older): (&[Option<usize>], Vec<Value>),
        (next_auto_increment, switch): (Option<u64>, Option<Switch<'_>>),
    ) -> Result<()> {
        let clustered_key = target.draft.clustered_key().map(<[_]>::to_vec);
        let source = |part: &IndexPart| {
            let column = sources.get(part.column).copied().flatten()?;
            Some(IndexPart { column, ..*part })
        };
        let made_from = clustered_key.iter().flatten().map(source);
        let same_key = made_from.eq(table.clustered_key().unwrap_or_default().iter().copied().map(Some));
        if !same_key || !table.can_keep_rows(&target.draft.columns, sources, &self.limits) {
            return Err(TableError::Internal("a table whose rows change is not built anew".into()));
        }
        let mut shell = target.shell(table.id);
        shell.keep_rows(table, sources, older);
        let unproven = target.unproven();
        let mut new = NewTrees::new(self);
        let clustered_key = clustered_key.as_deref();
        let control = &target.control;
        let watched = switch.map(|switch| (switch, self.watch(table)));
        let view = watched.as_ref().map(|(_, (_, view))| view);
        let (mut beside, mut trees) = (Vec::new(), Vec::new());
        let mut build =
            |stored: &Arc<TableDef>, changed: &TableDef, drafts: Vec<IndexDef>, new: &mut NewTrees| {
                let Some(view) = view else {
                    let clustered = self.trees.current(stored.clustered().tree)?;
                    let mut rows = TreeSource::in_any_order(&clustered.tree)?;
                    return build_indexes(self, changed, drafts, &mut rows, control, new);
                };
                let mut rows = SnapshotSource::new(view, stored)?;
                let built = build_indexes(self, changed, drafts, &mut rows, control, new)?;
                let indexes: Vec<Arc<IndexDef>> = built.iter().cloned().map(Arc::new).collect();
                for index in &indexes {
                    trees.push(BuiltTree::new(self, stored, index)?);
                }
                beside.push((stored.clone(), indexes));
                Ok(built)
            };
        let (draft, of) = (&target.draft, table);
        let mut changed = self.redefined((table, of), (shell, clustered_key), draft, &mut new, &mut build)?;
        changed.keep_histograms(table);
        let mut outside = Vec::new();
        if let Some(partitioning) = &table.partitioning {
            let model = changed.as_partition();
            let redefined = partitioning.partitions.iter().map(|Partition { table: part, .. }| {
                let shell = TableDef { id: part.id, ..model.clone() };
                let redefined =
                    self.redefined((part, of), (shell, clustered_key), draft, &mut new, &mut build)?;
                self.with_outside(part, redefined, &mut outside, &mut new)
            });
            let redefined = redefined.collect::<Result<Vec<_>>>()?;
            let scheme = target.spec.partitioning.clone().unwrap_or_else(|| partitioning.scheme.clone());
            changed.partitioning = Some(Partitioning::new(scheme, redefined));
        } else {
            let tree = self.trees.current(changed.clustered().tree)?;
            check_references(self, &changed, &tree.tree, &unproven)?;
            changed = self.with_outside(table, changed, &mut outside, &mut new)?;
        }
        let mut held = None;
        if let Some((switch, (sources, view))) = watched {
            let mut entries = IndexEntries::new(beside);
            let terms = (switch, &control.cancel);
            let (_, last) = self.catch_up(table, (&sources, view), (trees, &mut entries), terms)?;
            held = Some(last);
        }
        let of_outside = |outside: &TableDef| CounterChange { table: outside.id, ..CounterChange::default() };
        let mut counters: Vec<CounterChange> = outside.iter().map(of_outside).collect();
        if let Some(next_auto_increment) = next_auto_increment {
            counters.push(CounterChange { table: table.id, next_auto_increment, ..CounterChange::default() });
        }
        let put_tables = [changed].into_iter().chain(outside).chain(target.children).collect();
        self.change_catalog(CatalogChange { put_tables, counters, ..CatalogChange::default() })?;
        new.keep();
        drop(held);
        Ok(())
    }

    /// `changed`, what `stored` becomes, with a table of overflow values: that of `stored`, or one that is added to `outside`.
    fn with_outside(
        &self,
        stored: &TableDef,
        mut changed: TableDef,
        outside: &mut Vec<TableDef>,
        new: &mut NewTrees,
    ) -> Result<TableDef> {
        changed.overflow = stored.overflow;
        if changed.overflow.is_none() {
            outside.extend(self.new_overflow_table(&mut changed, new)?);
        }
        Ok(changed)
    }

    /// `changed`, the definition of a table or of a partition of it, which is `stored`, with the indexes of `draft`: those that the table
    /// `of` has already, and others, which are built.
    fn redefined(
        &self,
        (stored, of): (&Arc<TableDef>, &TableDef),
        (mut changed, clustered_key): (TableDef, Option<&[IndexPart]>),
        draft: &TableDraft,
        new: &mut NewTrees,
        build: &mut BuildIndexes<'_>,
    ) -> Result<TableDef> {
        let (mut kept, mut added) = (Vec::new(), Vec::new());
        for (position, index) in draft.indexes.iter().cloned().enumerate() {
            let known = |id| of.indexes.iter().position(|index| index.id == id);
            let old = if position == 0 { Some(0) } else { index.existing.and_then(known) };
            let Some(old) = old.and_then(|old| stored.indexes.get(old)) else {
                let shape = self.index_shape(index, &changed, clustered_key);
                // Root and tree are not known yet; the build fills them in.
                added.push((position, shape.build(SegmentId::NONE, PageNo::NONE, CommitTs::NONE)));
                continue;
            };
            let name = if position == 0 { old.name.clone() } else { index.name.clone() };
            let draft = IndexDraft { name, ..index };
            let mut shape = self.index_shape(draft, &changed, clustered_key);
            shape.id = old.id;
            shape.packing.packed = old.packing.packed;
            kept.push((position, shape.build(old.tree, old.root, old.valid_from)));
        }
        changed.indexes = kept.iter().map(|(_, index)| Arc::new(index.clone())).collect();
        if !added.is_empty() {
            let (positions, drafts): (Vec<usize>, Vec<_>) = added.into_iter().unzip();
            let built = match stored.is_partitioned() {
                true => drafts,
                false => build(stored, &changed, drafts, new)?,
            };
            kept.extend(positions.into_iter().zip(built));
            kept.sort_by_key(|(position, _)| *position);
            changed.indexes = kept.into_iter().map(|(_, index)| Arc::new(index)).collect();
        }
        Ok(changed)
    }
}

/// The constraints that are named after their table follow its name.
fn rename_constraints(checks: &mut [CheckDef], foreign_keys: &mut [ForeignKeyDef], from: &str, to: &str) {
    let names = checks.iter_mut().map(|check| (&mut check.name, "_chk_"));
    for (name, middle) in names.chain(foreign_keys.iter_mut().map(|key| (&mut key.name, "_ibfk_"))) {
        let number = name.strip_prefix(from).and_then(|rest| rest.strip_prefix(middle));
        if let Some(number) = number.filter(|number| number.bytes().all(|byte| byte.is_ascii_digit())) {
            *name = format!("{to}{middle}{number}");
        }
    }
}

/// Whether a table can have that name: 1049, 1103, 1050 if not.
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
