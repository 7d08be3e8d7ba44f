//! ALTER TABLE: turns the actions into the new table and the work that it takes.
//!
//! All actions name columns and indexes of the old table, as in MySQL; only AFTER names columns of the new one.

mod columns;
mod constraints;
mod fulltext;
mod indexes;

use super::BindContext;
use super::data_type::table_collation;
use super::table_spec::{column_warnings, key_warnings, option_warnings, organisation, pack_keys};
use columns::{work_of, work_of_new};
use leafline_syntax::ast::{AlterAction, AlterTable, ColumnDefinition, Ident};
use leafline_table::{
    CheckDef, ColumnDef, ForeignKeyChanges, ForeignKeySpec, FulltextSpec, IndexSpec, IndexSpecKind,
    IndexSpecPart, Organisation, TableDef, TableSpec,
};
use leafline_types::temporal::TimeSettings;
use leafline_types::{Collation, MysqlError};

/// The least work that an alteration takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AlterWork {
    /// Change the definition.
    Definition,
    /// Build or drop indexes, or check rows.
    Indexes,
    /// Rebuild the table with its values unchanged.
    Rows,
    /// Rebuild the table with its values converted.
    Conversion,
}

/// The new table of an ALTER TABLE.
pub struct AlteredTable {
    /// The definition.
    pub spec: TableSpec,
    /// For each column, the column of the old table that it is made from.
    pub sources: Vec<Option<usize>>,
    /// For each constraint, the column that declares it, if the constraint is new.
    pub owners: Vec<Option<usize>>,
    /// Number of constraints of the old table.
    pub old_checks: usize,
    /// The work that the alteration takes.
    pub work: AlterWork,
    /// Constraints that existing rows need not meet so far.
    pub unproven_checks: Vec<CheckDef>,
    /// Foreign keys that are added and dropped.
    pub foreign_keys: ForeignKeyChanges,
    /// The keys of ORDER BY.
    pub order: Vec<IndexSpecPart>,
    /// The value of AUTO_INCREMENT.
    pub next_auto_increment: Option<u64>,
    /// Warnings for the user.
    pub warnings: Vec<MysqlError>,
}

/// A column of the new table.
struct Column {
    def: ColumnDef,
    source: Option<usize>,
    /// The new definition, if the statement gives one.
    written: Option<ColumnDefinition>,
}

/// The state of an alteration.
struct Alter<'a> {
    old: &'a TableDef,
    context: &'a BindContext<'a>,
    /// The default collation of added columns.
    collation: Collation,
    times: TimeSettings<'a>,
    /// The new columns of the old ones; `None` for dropped columns.
    fates: Vec<Option<Column>>,
    columns: Vec<Column>,
    indexes: Vec<IndexSpec>,
    fulltext: Vec<FulltextSpec>,
    checks: Vec<(CheckDef, Option<String>)>,
    old_checks: usize,
    foreign_keys: ForeignKeyChanges,
    work: AlterWork,
    /// Collects notes about the types of columns.
    notes: Vec<MysqlError>,
}

/// Makes the table that an ALTER TABLE makes of `old`. `database_collation` is the collation of CONVERT TO CHARACTER SET DEFAULT;
/// `database` qualifies a new name without database. `times` has the time zone of a TIMESTAMP's default.
///
/// # Errors
/// 1054, 1091, 1176, 3821, 3940 for unknown columns, indexes and constraints; 1090, 3108, 3766, 3837, 3959 for columns that
/// cannot go; the errors of definitions in CREATE TABLE.
pub fn altered_table(
    old: &TableDef,
    alter: &AlterTable,
    (database, database_collation): (&str, Collation),
    times: TimeSettings<'_>,
    context: &BindContext<'_>,
) -> Result<AlteredTable, MysqlError> {
    let mut spec = TableSpec::of(old);
    let mut collation = old.options.collation.unwrap_or(database_collation);
    let mut work = AlterWork::Definition;
    let (mut warnings, mut order, mut next_auto_increment) = (Vec::new(), Vec::new(), None);
    let mut convert = None;
    for action in &alter.actions {
        match action {
            AlterAction::Options(options) => {
                if let Some(organisation) = organisation(options) {
                    spec.options.organisation = organisation;
                    work = work.max(AlterWork::Rows);
                }
                if options.charset.is_some() || options.collation.is_some() {
                    collation = table_collation(
                        options.charset.as_ref(),
                        options.collation.as_ref(),
                        database_collation,
                    )?;
                }
                if let Some(comment) = &options.comment {
                    spec.options.comment.clone_from(comment);
                }
                if let Some(option) = options.pack_keys {
                    spec.options.pack_keys = pack_keys(option);
                }
                next_auto_increment = options.auto_increment.or(next_auto_increment);
                warnings.extend(option_warnings(options));
            }
            AlterAction::AddKey(key) => warnings.extend(key_warnings(key)),
            AlterAction::AddColumn(column, _) | AlterAction::ChangeColumn { column, .. } => {
                warnings.extend(column_warnings(column, times));
            }
            AlterAction::Convert { charset, collation: name } => {
                let default = if charset.is_none() { database_collation } else { collation };
                collation = table_collation(charset.as_ref(), name.as_ref(), default)?;
                convert = Some(collation);
                work = AlterWork::Conversion;
            }
            AlterAction::Force => work = work.max(AlterWork::Rows),
            AlterAction::OrderBy(columns) => {
                work = work.max(AlterWork::Rows);
                let part = |(column, descending): &(Ident, bool)| IndexSpecPart {
                    column: column.value.clone(),
                    descending: *descending,
                    prefix: None,
                };
                order = columns.iter().map(part).collect();
            }
            AlterAction::Rename(name) => {
                spec.database = name.database.as_ref().map_or(database.to_owned(), |name| name.value.clone());
                spec.name.clone_from(&name.name.value);
            }
            AlterAction::EnableKeys(_) => warnings.push(MysqlError::no_such_table_option(&old.name)),
            _ => {}
        }
    }
    spec.options.collation = Some(collation);
    if next_auto_increment.is_some() {
        spec.options.auto_increment_start = next_auto_increment;
    }
    let mut state = Alter::new(old, collation, times, work, context);
    state.change_columns(alter, convert)?;
    state.check_dependencies()?;
    state.change_indexes(&alter.actions, &spec.options)?;
    state.change_fulltext(&alter.actions)?;
    state.change_checks(&alter.actions)?;
    state.change_foreign_keys(&alter.actions)?;
    warnings.append(&mut state.notes);
    state.finish(spec, order, next_auto_increment, warnings)
}

impl<'a> Alter<'a> {
    fn new(
        old: &'a TableDef,
        collation: Collation,
        times: TimeSettings<'a>,
        work: AlterWork,
        context: &'a BindContext<'a>,
    ) -> Alter<'a> {
        let same = |(at, def): (usize, &ColumnDef)| {
            Some(Column { def: def.clone(), source: Some(at), written: None })
        };
        Alter {
            old,
            context,
            collation,
            times,
            fates: old.columns.iter().enumerate().map(same).collect(),
            columns: Vec::new(),
            indexes: Vec::new(),
            fulltext: Vec::new(),
            checks: old.checks.iter().map(|check| (check.clone(), None)).collect(),
            old_checks: 0,
            foreign_keys: ForeignKeyChanges::default(),
            work,
            notes: Vec::new(),
        }
    }

    fn finish(
        mut self,
        mut spec: TableSpec,
        order: Vec<IndexSpecPart>,
        next_auto_increment: Option<u64>,
        warnings: Vec<MysqlError>,
    ) -> Result<AlteredTable, MysqlError> {
        let primary = self.indexes.iter().find(|index| index.kind == IndexSpecKind::Primary).cloned();
        let in_primary = |name: &str| {
            let parts = primary.iter().flat_map(|index| &index.parts);
            parts.into_iter().any(|part| part.column.eq_ignore_ascii_case(name))
        };
        for column in self.columns.iter_mut().filter(|column| in_primary(&column.def.name)) {
            if column.written.as_ref().is_some_and(|written| written.nullable == Some(true)) {
                return Err(MysqlError::primary_cannot_have_null());
            }
            column.def.nullable = false;
        }
        let clustered_key = primary.filter(|_| spec.options.organisation == Organisation::Clustered);
        let same_key = match (&clustered_key, self.old.has_hidden_row_id()) {
            (Some(index), false) => index.existing == Some(self.old.clustered().id),
            (None, true) => true,
            _ => false,
        };
        if !same_key {
            self.work = self.work.max(AlterWork::Rows);
        }
        for column in &self.columns {
            let old = column.source.and_then(|source| self.old.columns.get(source));
            self.work = self.work.max(match old {
                Some(old) => work_of(old, &column.def),
                None => work_of_new(&column.def),
            });
        }
        let position =
            |name: &String| self.columns.iter().position(|c| c.def.name.eq_ignore_ascii_case(name));
        let owners = self.checks.iter().map(|(_, owner)| owner.as_ref().and_then(position)).collect();
        let dropped = &self.foreign_keys.dropped;
        for key in self.old.foreign_keys.iter().filter(|key| !dropped.contains(&key.name)) {
            let name = |old: &usize| self.made_from(*old).map(|column| column.def.name.clone());
            spec.foreign_keys.push(ForeignKeySpec {
                name: Some(key.name.clone()),
                columns: key.columns.iter().filter_map(name).collect(),
                on_delete: key.on_delete,
                on_update: key.on_update,
                ..ForeignKeySpec::default()
            });
        }
        if !spec.options.organisation.has_foreign_keys() {
            self.foreign_keys.added.clear();
        }
        spec.foreign_keys.extend_from_slice(&self.foreign_keys.added);
        let (columns, sources) = self.columns.into_iter().map(|column| (column.def, column.source)).unzip();
        spec.columns = columns;
        spec.indexes = self.indexes;
        spec.fulltext = self.fulltext;
        spec.checks = self.checks.into_iter().map(|(check, _)| check).collect();
        let was_met = |check: &CheckDef| {
            let same = |old: &CheckDef| old.name == check.name && old.expression == check.expression;
            self.old.checks.iter().any(|old| old.enforced && same(old))
        };
        let unproven = spec.checks.iter().filter(|check| check.enforced && !was_met(check));
        let unproven_checks: Vec<CheckDef> = unproven.cloned().collect();
        if !unproven_checks.is_empty() {
            self.work = self.work.max(AlterWork::Indexes);
        }
        Ok(AlteredTable {
            spec,
            sources,
            owners,
            old_checks: self.old_checks,
            foreign_keys: self.foreign_keys,
            unproven_checks,
            work: self.work,
            order,
            next_auto_increment,
            warnings,
        })
    }
}
