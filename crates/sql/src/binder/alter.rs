//! ALTER TABLE: from the actions to the table as it is to be, and what that takes.
//!
//! All actions name what the table has before any of them is done, as in MySQL; only AFTER names what is there afterwards.

use crate::session::settings::TimeSettings;
use leafline_table::{
    CheckDef, ColumnDef, DefaultValue, ForeignKeyChanges, ForeignKeyDef, ForeignKeySpec, IndexSpec,
    IndexSpecKind, IndexSpecPart, PRIMARY, TableDef, TableSpec,
};
use leafline_types::temporal::{DateRules, Zone};
use leafline_types::{Charset, Collation, MysqlError, SqlType, StoreContext, Warnings, store_cast};

use super::BindContext;
use super::data_type::table_collation;
use super::row_rules::columns_read;
use super::table_spec::{
    check_engine, column_def, default_value, foreign_key_spec, index_spec, key_warnings, option_warnings,
    spec_kind,
};
use crate::parser::ast::{AlterAction, AlterTable, CheckDefinition, ColumnDefinition, ColumnPosition, Ident};

/// What an alteration takes, at least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum AlterWork {
    /// The definition is changed.
    Definition,
    /// Indexes are built or dropped.
    Indexes,
    /// The table is built anew, its values as they are.
    Rows,
    /// The table is built anew, its values converted.
    Conversion,
}

/// A table as it is to be.
pub(crate) struct AlteredTable {
    /// It.
    pub(crate) spec: TableSpec,
    /// For each of its columns, the column of the old table that it is made from.
    pub(crate) sources: Vec<Option<usize>>,
    /// For each of its constraints, the column at which it stands, if it is new.
    pub(crate) owners: Vec<Option<usize>>,
    /// How many of its constraints it had before.
    pub(crate) old_checks: usize,
    /// What that takes.
    pub(crate) work: AlterWork,
    /// Its foreign keys that come and go.
    pub(crate) foreign_keys: ForeignKeyChanges,
    /// ORDER BY.
    pub(crate) order: Vec<IndexSpecPart>,
    /// AUTO_INCREMENT.
    pub(crate) next_auto_increment: Option<u64>,
    /// What is to be told.
    pub(crate) warnings: Vec<MysqlError>,
}

/// A column on its way.
struct Column {
    def: ColumnDef,
    source: Option<usize>,
    /// The definition, where it is given anew.
    written: Option<ColumnDefinition>,
}

/// The alteration at work.
struct Alter<'a> {
    old: &'a TableDef,
    context: &'a BindContext<'a>,
    /// The default of columns that are added.
    collation: Collation,
    times: TimeSettings<'a>,
    /// What the old columns become; `None` where they are dropped.
    fates: Vec<Option<Column>>,
    columns: Vec<Column>,
    indexes: Vec<IndexSpec>,
    checks: Vec<(CheckDef, Option<String>)>,
    old_checks: usize,
    foreign_keys: ForeignKeyChanges,
    work: AlterWork,
}

/// The table that an ALTER TABLE makes of `old`. `database_collation` is what CONVERT TO CHARACTER SET DEFAULT means, `database` the
/// one of a new name without any; a default of a TIMESTAMP is in the time zone that is so many seconds ahead of UTC.
///
/// # Errors
/// 1054, 1091, 1176, 3821, 3940 for what the table does not have; 1090, 3108, 3766, 3959 for columns that cannot go; what is wrong with
/// a definition in CREATE TABLE.
pub(crate) fn altered_table(
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
                check_engine(options)?;
                if options.charset.is_some() || options.collation.is_some() {
                    collation = table_collation(
                        options.charset.as_ref(),
                        options.collation.as_ref(),
                        database_collation,
                    )?;
                }
                if options.engine.is_some() {
                    work = work.max(AlterWork::Rows);
                }
                if let Some(comment) = &options.comment {
                    spec.options.comment.clone_from(comment);
                }
                next_auto_increment = options.auto_increment.or(next_auto_increment);
                warnings.extend(option_warnings(options));
            }
            AlterAction::AddKey(key) => warnings.extend(key_warnings(key)),
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
    state.change_indexes(&alter.actions)?;
    state.change_checks(&alter.actions)?;
    state.change_foreign_keys(&alter.actions)?;
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
            checks: old.checks.iter().map(|check| (check.clone(), None)).collect(),
            old_checks: 0,
            foreign_keys: ForeignKeyChanges::default(),
            work,
        }
    }

    fn unknown(&self, name: &str) -> MysqlError {
        MysqlError::unknown_column(name, &self.old.name)
    }

    /// The old column of that name, unless it is dropped or defined anew already.
    fn column(&mut self, name: &Ident) -> Result<(usize, &mut Column), MysqlError> {
        let unknown = self.unknown(&name.value);
        let at = self.old.column(&name.value);
        let column = at.and_then(|at| self.fates.get_mut(at)).and_then(Option::as_mut);
        match (at, column.filter(|column| column.written.is_none())) {
            (Some(at), Some(column)) => Ok((at, column)),
            _ => Err(unknown),
        }
    }

    fn define(&self, column: &ColumnDefinition, source: Option<usize>) -> Result<Column, MysqlError> {
        let def = column_def(column, self.collation, self.times)?;
        Ok(Column { def, source, written: Some(column.clone()) })
    }

    /// Makes the new columns, in their order.
    fn change_columns(&mut self, alter: &AlterTable, convert: Option<Collation>) -> Result<(), MysqlError> {
        // Columns that have a new place, with the number of the old one or the new one.
        let mut placed: Vec<(Result<usize, Column>, Option<&ColumnPosition>)> = Vec::new();
        for action in &alter.actions {
            match action {
                AlterAction::AddColumn(column, position) => {
                    placed.push((Err(self.define(column, None)?), position.as_ref()));
                }
                AlterAction::DropColumn(name) => {
                    let dropped = self.old.column(&name.value).and_then(|at| self.fates.get_mut(at));
                    if dropped.and_then(Option::take).is_none() {
                        return Err(MysqlError::cannot_drop(&name.value));
                    }
                }
                AlterAction::ChangeColumn { name, column, position } => {
                    let (at, _) = self.column(name)?;
                    let changed = self.define(column, Some(at))?;
                    check_stored(self.old.columns.get(at), &changed.def)?;
                    if let Some(fate) = self.fates.get_mut(at) {
                        *fate = Some(changed);
                    }
                    if position.is_some() {
                        placed.push((Ok(at), position.as_ref()));
                    }
                }
                AlterAction::RenameColumn { name, to } => self.column(name)?.1.def.name.clone_from(&to.value),
                AlterAction::SetVisible(name, visible) => self.column(name)?.1.def.invisible = !visible,
                AlterAction::SetDefault(name, default) => {
                    let times = self.times;
                    set_default(&mut self.column(name)?.1.def, default.as_ref(), times)?;
                }
                _ => {}
            }
        }
        if let Some(collation) = convert {
            let kept = self.fates.iter_mut().flatten().filter(|column| column.written.is_none());
            for column in kept {
                convert_column(&mut column.def, collation)?;
            }
        }
        let moved: Vec<usize> =
            placed.iter().filter_map(|(column, _)| column.as_ref().ok().copied()).collect();
        let mut fates = std::mem::take(&mut self.fates);
        for (at, fate) in fates.iter_mut().enumerate() {
            if !moved.contains(&at) {
                self.columns.extend(fate.take());
            }
        }
        for (column, position) in placed {
            let column = match column {
                Ok(at) => fates.get_mut(at).and_then(Option::take),
                Err(column) => Some(column),
            };
            let Some(column) = column else { continue };
            let at = match position {
                None => self.columns.len(),
                Some(ColumnPosition::First) => 0,
                Some(ColumnPosition::After(name)) => {
                    let named = |column: &Column| column.def.name.eq_ignore_ascii_case(&name.value);
                    let unknown = || self.unknown(&name.value);
                    self.columns.iter().position(named).ok_or_else(unknown)? + 1
                }
            };
            self.columns.insert(at, column);
        }
        match self.columns.is_empty() {
            true => Err(MysqlError::cannot_remove_all_columns()),
            false => Ok(()),
        }
    }

    /// The new column that is made from an old one.
    fn made_from(&self, old: usize) -> Option<&Column> {
        self.columns.iter().find(|column| column.source == Some(old))
    }

    /// The first column that an expression over the old columns reads and that is not called so any more.
    fn lost_column(&self, text: &str) -> Result<Option<&'a ColumnDef>, MysqlError> {
        let read = columns_read(text, &self.old.columns, self.context)?;
        let lost = read.into_iter().find_map(|at| {
            let old = self.old.columns.get(at)?;
            let kept = self.made_from(at).is_some_and(|new| new.def.name.eq_ignore_ascii_case(&old.name));
            (!kept).then_some(old)
        });
        Ok(lost)
    }

    /// Columns that the expressions of others read can be neither dropped nor renamed.
    fn check_dependencies(&self) -> Result<(), MysqlError> {
        for column in self.columns.iter().filter(|column| column.written.is_none()) {
            if let Some(generated) = &column.def.generated
                && let Some(lost) = self.lost_column(&generated.expression)?
            {
                return Err(MysqlError::dependent_by_generated_column(&lost.name));
            }
            // What SET DEFAULT has given is looked at with the new table.
            let old = column.source.and_then(|at| self.old.columns.get(at));
            if let Some(DefaultValue::Expression(text)) = &column.def.default
                && old.is_some_and(|old| old.default == column.def.default)
                && let Some(lost) = self.lost_column(text)?
            {
                return Err(MysqlError::dependent_by_default(&lost.name, &self.old.name));
            }
        }
        Ok(())
    }

    fn change_indexes(&mut self, actions: &[AlterAction]) -> Result<(), MysqlError> {
        let shown = self.old.indexes.iter().filter(|index| !index.parts.is_empty());
        let mut kept = Vec::new();
        for (mut spec, index) in TableSpec::of(self.old).indexes.into_iter().zip(shown) {
            let part = |part: &leafline_table::IndexPart| {
                let column = &self.made_from(part.column)?.def;
                let prefix = part.prefix.filter(|prefix| may_have_prefix(&column.ty, *prefix));
                Some(IndexSpecPart { column: column.name.clone(), descending: part.descending, prefix })
            };
            spec.parts = index.parts.iter().filter_map(part).collect();
            if spec.parts.len() < index.parts.len() {
                // It lost a column.
                spec.existing = None;
            }
            kept.push((index.name.as_str(), spec));
        }
        let find = |kept: &[(&str, IndexSpec)], name: &str| {
            kept.iter().position(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        for action in actions {
            match action {
                AlterAction::DropKey(name) => {
                    let at = find(&kept, &name.value).ok_or_else(|| MysqlError::cannot_drop(&name.value))?;
                    kept.remove(at);
                    self.work = self.work.max(AlterWork::Indexes);
                }
                AlterAction::DropConstraint(name) => {
                    let is_check = self.old.checks.iter().any(|c| c.name.eq_ignore_ascii_case(&name.value));
                    let is_foreign = self.old_foreign_key(name).is_some();
                    let at = find(&kept, &name.value)
                        .filter(|at| kept.get(*at).is_some_and(|(_, key)| key.kind != IndexSpecKind::Plain));
                    match (at, u8::from(at.is_some()) + u8::from(is_check) + u8::from(is_foreign)) {
                        (_, 0) => return Err(MysqlError::constraint_not_found(&name.value)),
                        (_, 2..) => return Err(MysqlError::constraint_name_ambiguous(&name.value)),
                        (Some(at), _) => {
                            kept.remove(at);
                            self.work = self.work.max(AlterWork::Indexes);
                        }
                        (None, _) => {}
                    }
                }
                _ => {}
            }
        }
        for action in actions {
            if let AlterAction::RenameKey { name, to } = action {
                let position = find(&kept, &name.value);
                match position.and_then(|at| kept.get_mut(at)) {
                    Some((_, spec)) if spec.kind != IndexSpecKind::Primary => {
                        spec.name = Some(to.value.clone());
                    }
                    Some(_) => return Err(MysqlError::wrong_index_name(PRIMARY)),
                    None => return Err(MysqlError::key_does_not_exist(&name.value, &self.old.name)),
                }
            }
            if let AlterAction::SetKeyVisible(name, visible) = action {
                let position = find(&kept, &name.value);
                match position.and_then(|at| kept.get_mut(at)) {
                    Some((_, spec)) => spec.invisible = !visible,
                    None => return Err(MysqlError::key_does_not_exist(&name.value, &self.old.name)),
                }
            }
        }
        self.indexes = kept.into_iter().map(|(_, spec)| spec).filter(|spec| !spec.parts.is_empty()).collect();
        for action in actions {
            match action {
                AlterAction::AddColumn(column, _) | AlterAction::ChangeColumn { column, .. } => {
                    let Some(kind) = column.key else { continue };
                    let parts = vec![IndexSpecPart::new(&column.name.value)];
                    self.indexes.push(IndexSpec { kind: spec_kind(kind), parts, ..IndexSpec::default() });
                }
                AlterAction::AddKey(key) => self.indexes.push(index_spec(key)),
                _ => {}
            }
        }
        if self.indexes.iter().any(|index| index.existing.is_none()) {
            self.work = self.work.max(AlterWork::Indexes);
        }
        Ok(())
    }

    fn change_checks(&mut self, actions: &[AlterAction]) -> Result<(), MysqlError> {
        let mut dropped: Vec<&str> = Vec::new();
        for action in actions {
            let (name, missing) = match action {
                AlterAction::DropCheck(name)
                | AlterAction::EnforceCheck(name, _)
                | AlterAction::EnforceConstraint(name, _) => (name, MysqlError::check_not_found(&name.value)),
                AlterAction::DropConstraint(name) => (name, MysqlError::constraint_not_found(&name.value)),
                _ => continue,
            };
            let named = |(check, _): &&mut (CheckDef, _)| check.name.eq_ignore_ascii_case(&name.value);
            match (action, self.checks.iter_mut().find(named)) {
                (AlterAction::DropCheck(_) | AlterAction::DropConstraint(_), Some(_)) => {
                    dropped.push(&name.value);
                }
                (AlterAction::DropConstraint(_), None) => {}
                (AlterAction::EnforceConstraint(..), None) if self.old.index(&name.value).is_some() => {
                    return Err(MysqlError::constraint_enforcement_not_supported(&name.value));
                }
                (AlterAction::EnforceConstraint(..), None) => {
                    return Err(MysqlError::constraint_not_found(&name.value));
                }
                (
                    AlterAction::EnforceCheck(_, enforced) | AlterAction::EnforceConstraint(_, enforced),
                    Some((check, _)),
                ) => {
                    if *enforced && !check.enforced {
                        self.work = self.work.max(AlterWork::Rows);
                    }
                    check.enforced = *enforced;
                }
                _ => return Err(missing),
            }
        }
        self.checks.retain(|(check, _)| !dropped.iter().any(|name| check.name.eq_ignore_ascii_case(name)));
        let mut kept = Vec::new();
        for (check, owner) in std::mem::take(&mut self.checks) {
            if let Some(lost) = self.lost_column(&check.expression)? {
                let read = columns_read(&check.expression, &self.old.columns, self.context)?;
                let gone = self.old.column(&lost.name).is_some_and(|at| self.made_from(at).is_none());
                let alone = read.iter().all(|at| self.old.column(&lost.name) == Some(*at));
                // A constraint of one column goes with it.
                if gone && alone {
                    continue;
                }
                return Err(MysqlError::dependent_by_check(&check.name, &lost.name));
            }
            kept.push((check, owner));
        }
        self.checks = kept;
        self.old_checks = self.checks.len();
        for action in actions {
            match action {
                AlterAction::AddColumn(column, _) | AlterAction::ChangeColumn { column, .. } => {
                    for check in &column.checks {
                        self.add_check(check, Some(&column.name.value))?;
                    }
                }
                AlterAction::AddCheck(check) => self.add_check(check, None)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn add_check(&mut self, check: &CheckDefinition, owner: Option<&str>) -> Result<(), MysqlError> {
        let prefix = format!("{}_chk_", self.old.name);
        let name = match &check.name {
            Some(name) => name.value.clone(),
            None => {
                let all = self.old.checks.iter().chain(self.checks.iter().map(|(check, _)| check));
                let numbers = all.filter_map(|check| check.name.strip_prefix(&prefix)?.parse::<u64>().ok());
                format!("{prefix}{}", numbers.max().unwrap_or(0) + 1)
            }
        };
        if self.checks.iter().any(|(other, _)| other.name.eq_ignore_ascii_case(&name)) {
            return Err(MysqlError::check_duplicate_name(name));
        }
        if check.enforced {
            self.work = self.work.max(AlterWork::Rows);
        }
        let def = CheckDef { name, expression: check.expression.clone(), enforced: check.enforced };
        self.checks.push((def, owner.map(str::to_owned)));
        Ok(())
    }

    /// The foreign key of that name that the table has.
    fn old_foreign_key(&self, name: &Ident) -> Option<&'a ForeignKeyDef> {
        self.old.foreign_keys.iter().find(|key| key.name.eq_ignore_ascii_case(&name.value))
    }

    /// Which foreign keys come and go. Error 1091 for one that is not there.
    fn change_foreign_keys(&mut self, actions: &[AlterAction]) -> Result<(), MysqlError> {
        for action in actions {
            match action {
                AlterAction::DropForeignKey(name) => {
                    let key = self.old_foreign_key(name).map(|key| key.name.clone());
                    let key = key.filter(|key| !self.foreign_keys.dropped.contains(key));
                    let key = key.ok_or_else(|| MysqlError::cannot_drop(&name.value))?;
                    self.foreign_keys.dropped.push(key);
                }
                AlterAction::DropConstraint(name) => {
                    self.foreign_keys.dropped.extend(self.old_foreign_key(name).map(|key| key.name.clone()));
                }
                AlterAction::AddForeignKey(key) => {
                    self.foreign_keys.added.push(foreign_key_spec(key, &self.old.database));
                    self.work = self.work.max(AlterWork::Indexes);
                }
                _ => {}
            }
        }
        Ok(())
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
        let same_primary = match (&primary, self.old.has_hidden_row_id()) {
            (Some(index), false) => index.existing == Some(self.old.clustered().id),
            (None, true) => true,
            _ => false,
        };
        if !same_primary || self.columns.len() != self.old.columns.len() {
            self.work = self.work.max(AlterWork::Rows);
        }
        for (at, column) in self.columns.iter().enumerate() {
            let old = column.source.and_then(|source| self.old.columns.get(source));
            let work = match old {
                Some(old) => work_of(old, &column.def),
                None => AlterWork::Rows,
            };
            let moved = if column.source == Some(at) { AlterWork::Definition } else { AlterWork::Rows };
            self.work = self.work.max(work).max(moved);
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
        spec.foreign_keys.extend_from_slice(&self.foreign_keys.added);
        let (columns, sources) = self.columns.into_iter().map(|column| (column.def, column.source)).unzip();
        spec.columns = columns;
        spec.indexes = self.indexes;
        spec.checks = self.checks.into_iter().map(|(check, _)| check).collect();
        Ok(AlteredTable {
            spec,
            sources,
            owners,
            old_checks: self.old_checks,
            foreign_keys: self.foreign_keys,
            work: self.work,
            order,
            next_auto_increment,
            warnings,
        })
    }
}

/// What a new definition of a column takes.
fn work_of(old: &ColumnDef, new: &ColumnDef) -> AlterWork {
    let expression = |column: &ColumnDef| column.generated.as_ref().map(|one| one.expression.clone());
    if (&old.ty, old.collation) != (&new.ty, new.collation) || expression(old) != expression(new) {
        return AlterWork::Conversion;
    }
    if old.nullable != new.nullable || (new.auto_increment && !old.auto_increment) {
        return AlterWork::Rows;
    }
    AlterWork::Definition
}

/// Whether a key part of a column that has another type now can keep its prefix. Where it cannot, the part is the whole column.
fn may_have_prefix(ty: &SqlType, prefix: u32) -> bool {
    match ty {
        SqlType::Char { len }
        | SqlType::Varchar { len }
        | SqlType::Binary { len }
        | SqlType::Varbinary { len } => prefix < *len,
        ty => ty.is_large() && *ty != SqlType::Json,
    }
}

/// A column cannot become generated and STORED, or stop being so, by definition alone. Error 3106.
fn check_stored(old: Option<&ColumnDef>, new: &ColumnDef) -> Result<(), MysqlError> {
    let stored = |column: &ColumnDef| column.generated.as_ref().map(|generated| generated.stored);
    match (old.and_then(stored), stored(new)) {
        (Some(false), Some(true) | None) | (Some(true) | None, Some(false)) => {
            Err(MysqlError::unsupported_on_generated_column("Changing the STORED status"))
        }
        _ => Ok(()),
    }
}

/// SET DEFAULT and DROP DEFAULT.
fn set_default(
    column: &mut ColumnDef,
    default: Option<&crate::parser::ast::DefaultValue>,
    times: TimeSettings<'_>,
) -> Result<(), MysqlError> {
    if default.is_some() && column.generated.is_some() {
        return Err(MysqlError::wrong_usage("DEFAULT", "generated column"));
    }
    if default.is_some() && column.auto_increment {
        return Err(MysqlError::invalid_default(&column.name));
    }
    let charset = column.collation.charset();
    let value = |default| default_value(default, &column.name, (&column.ty, charset), column.nullable, times);
    column.default = default.map(value).transpose()?;
    Ok(())
}

/// CONVERT TO CHARACTER SET, of one column. TEXT grows so that it has room for as many characters.
fn convert_column(column: &mut ColumnDef, collation: Collation) -> Result<(), MysqlError> {
    if !column.ty.is_character() && !column.ty.has_members() {
        return Ok(());
    }
    let (from, to) = (column.collation.charset(), collation.charset());
    let ty = match (&column.ty, to == Charset::Binary) {
        (SqlType::Enum(members), _) => SqlType::Enum(recollated(members, collation)),
        (SqlType::Set(members), _) => SqlType::Set(recollated(members, collation)),
        (SqlType::Char { len }, true) => SqlType::Binary { len: bytes(*len, from, 255) },
        (SqlType::Varchar { len }, true) => SqlType::Varbinary { len: bytes(*len, from, 65_535) },
        (SqlType::Text { max_bytes }, true) => SqlType::Blob { max_bytes: *max_bytes },
        (SqlType::Text { max_bytes }, false) if to.max_bytes() > from.max_bytes() => {
            let room = u64::from(*max_bytes) / u64::from(from.max_bytes()) * u64::from(to.max_bytes());
            let sizes = [0xff, 0xffff, 0xff_ffff, u32::MAX];
            let max_bytes = sizes.into_iter().find(|&max| room <= u64::from(max)).unwrap_or(u32::MAX);
            SqlType::Text { max_bytes }
        }
        (other, _) => other.clone(),
    };
    if let SqlType::Varchar { len } = ty
        && u64::from(len) * u64::from(to.max_bytes()) > 65_535
    {
        return Err(MysqlError::column_too_long(&column.name, 65_535 / to.max_bytes()));
    }
    if let Some(DefaultValue::Constant(value)) = &column.default {
        let mut warnings = Warnings::new();
        let mut cx = StoreContext {
            column: &column.name,
            charset: to,
            row: 1,
            strict: true,
            dates: DateRules::ANY,
            zone: &Zone::UTC,
            warnings: &mut warnings,
        };
        let default = store_cast(value, &column.ty, &ty, true, &mut cx);
        let default = default.map_err(|_| MysqlError::invalid_default(&column.name))?;
        column.default = Some(DefaultValue::Constant(default));
    }
    (column.ty, column.collation) = (ty, collation);
    Ok(())
}

fn recollated(
    members: &leafline_types::Members,
    collation: Collation,
) -> std::sync::Arc<leafline_types::Members> {
    std::sync::Arc::new(leafline_types::Members::new(members.names(), collation))
}

fn bytes(characters: u32, charset: Charset, most: u32) -> u32 {
    characters.saturating_mul(charset.max_bytes()).min(most)
}
