//! The columns of ALTER TABLE: the fate of each old column, the new columns, and their places.

use super::{Alter, AlterWork, Column};
use crate::binder::table_spec::{column_def, default_value};
use leafline_syntax::ast::{AlterAction, AlterTable, ColumnDefinition, ColumnPosition, Ident};
use leafline_table::{ColumnDef, DefaultValue, GeneratedKind, is_extended};
use leafline_types::temporal::TimeSettings;
use leafline_types::temporal::{DateRules, Zone};
use leafline_types::{Charset, Collation, Members, MysqlError, SqlType, StoreContext, Warnings, store_cast};
use std::sync::Arc;

impl Alter<'_> {
    pub(super) fn unknown(&self, name: &str) -> MysqlError {
        MysqlError::unknown_column(name, &self.old.name)
    }

    /// Returns the old column of that name, unless the statement drops it or defines it anew.
    fn column(&mut self, name: &Ident) -> Result<(usize, &mut Column), MysqlError> {
        let unknown = self.unknown(&name.value);
        let at = self.old.column(&name.value);
        let column = at.and_then(|at| self.fates.get_mut(at)).and_then(Option::as_mut);
        match (at, column.filter(|column| column.written.is_none())) {
            (Some(at), Some(column)) => Ok((at, column)),
            _ => Err(unknown),
        }
    }

    fn define(&mut self, column: &ColumnDefinition, source: Option<usize>) -> Result<Column, MysqlError> {
        let def = column_def(column, self.collation, self.times, &mut self.notes)?;
        Ok(Column { def, source, written: Some(column.clone()) })
    }

    /// Makes the new columns, in their order.
    pub(super) fn change_columns(
        &mut self,
        alter: &AlterTable,
        convert: Option<Collation>,
    ) -> Result<(), MysqlError> {
        // Columns with a new place: the number of the old column, or the new column.
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
                _ => {}
            }
        }
        // SET DEFAULT may name columns that the statement adds or changes.
        for action in &alter.actions {
            let AlterAction::SetDefault(name, default) = action else { continue };
            let times = self.times;
            if let Ok((_, column)) = self.column(name) {
                set_default(&mut column.def, default.as_ref(), times)?;
                continue;
            }
            let is_named = |column: &&mut Column| column.def.name.eq_ignore_ascii_case(&name.value);
            let added = placed.iter_mut().filter_map(|(column, _)| column.as_mut().err());
            let changed = self.fates.iter_mut().flatten().filter(|column| column.written.is_some());
            let unknown = || MysqlError::unknown_column(&name.value, &self.old.name);
            let column = added.chain(changed).find(is_named).ok_or_else(unknown)?;
            set_default(&mut column.def, default.as_ref(), times)?;
        }
        if let Some(collation) = convert {
            let kept = self.fates.iter_mut().flatten();
            let kept = kept.filter(|column| column.written.is_none() && !column.def.is_hidden());
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
        let column_of = |(column, position): (Result<usize, Column>, _)| {
            let column = match column {
                Ok(at) => fates.get_mut(at).and_then(Option::take),
                Err(column) => Some(column),
            };
            column.map(|column| (column, position))
        };
        let mut waiting: Vec<(Column, Option<&ColumnPosition>)> =
            placed.into_iter().filter_map(column_of).collect();
        while !waiting.is_empty() {
            let before = waiting.len();
            for (column, position) in std::mem::take(&mut waiting) {
                match self.place_of(position) {
                    Some(at) => self.columns.insert(at, column),
                    // The column follows one that gets its place later in the statement.
                    None => waiting.push((column, position)),
                }
            }
            if let (Some((_, Some(ColumnPosition::After(name)))), true) =
                (waiting.first(), waiting.len() == before)
            {
                return Err(self.unknown(&name.value));
            }
        }
        match self.columns.is_empty() {
            true => Err(MysqlError::cannot_remove_all_columns()),
            false => Ok(()),
        }
    }

    /// Returns the place of a column; `None` if the column before it has no place yet.
    fn place_of(&self, position: Option<&ColumnPosition>) -> Option<usize> {
        match position {
            None => Some(self.columns.len()),
            Some(ColumnPosition::First) => Some(0),
            Some(ColumnPosition::After(name)) => {
                let named = |column: &Column| column.def.name.eq_ignore_ascii_case(&name.value);
                self.columns.iter().position(named).map(|before| before + 1)
            }
        }
    }

    /// Returns the new column that takes the name of a dropped one.
    pub(super) fn made_anew(&self, old: usize) -> Option<&Column> {
        let name = &self.old.columns.get(old)?.name;
        let takes_name =
            |column: &&Column| column.source.is_none() && column.def.name.eq_ignore_ascii_case(name);
        self.columns.iter().find(takes_name)
    }

    /// Returns the new column that is made from an old one.
    pub(super) fn made_from(&self, old: usize) -> Option<&Column> {
        self.columns.iter().find(|column| column.source == Some(old))
    }
}

/// Returns the work for a new definition of a column.
pub(super) fn work_of(old: &ColumnDef, new: &ColumnDef) -> AlterWork {
    let expression = |column: &ColumnDef| column.generated.as_ref().map(|one| one.expression.clone());
    let extended = old.collation == new.collation && is_extended(&old.ty, &new.ty);
    if !extended || expression(old) != expression(new) {
        return AlterWork::Conversion;
    }
    if old.nullable != new.nullable || (new.auto_increment && !old.auto_increment) {
        return AlterWork::Rows;
    }
    AlterWork::Definition
}

/// Returns the work for a new column.
pub(super) fn work_of_new(column: &ColumnDef) -> AlterWork {
    let is_computed =
        column.generated.is_some() || matches!(column.default, Some(DefaultValue::Expression(_)));
    match is_computed || column.auto_increment {
        true => AlterWork::Rows,
        // Existing rows all have the same value in the column.
        false => AlterWork::Definition,
    }
}

/// Checks that no column becomes generated and STORED, or stops being so, by its definition alone. Error 3106.
fn check_stored(old: Option<&ColumnDef>, new: &ColumnDef) -> Result<(), MysqlError> {
    let stored = |column: &ColumnDef| {
        column.generated.as_ref().map(|generated| generated.kind == GeneratedKind::Stored)
    };
    match (old.and_then(stored), stored(new)) {
        (Some(false), Some(true) | None) | (Some(true) | None, Some(false)) => {
            Err(MysqlError::unsupported_on_generated_column("Changing the STORED status"))
        }
        _ => Ok(()),
    }
}

/// Applies SET DEFAULT or DROP DEFAULT.
fn set_default(
    column: &mut ColumnDef,
    default: Option<&leafline_syntax::ast::DefaultValue>,
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
    column.default = match default {
        Some(default) => Some(value(default)?),
        None if column.nullable && column.generated.is_none() => Some(DefaultValue::Dropped),
        None => None,
    };
    Ok(())
}

/// Applies CONVERT TO CHARACTER SET to one column. TEXT grows to hold as many characters.
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
            max_document: usize::MAX,
            warnings: &mut warnings,
        };
        let default = store_cast(value, &column.ty, &ty, true, &mut cx);
        let default = default.map_err(|_| MysqlError::invalid_default(&column.name))?;
        column.default = Some(DefaultValue::Constant(default));
    }
    (column.ty, column.collation) = (ty, collation);
    Ok(())
}

fn recollated(members: &Members, collation: Collation) -> Arc<Members> {
    Arc::new(Members::new(members.names(), collation))
}

fn bytes(characters: u32, charset: Charset, most: u32) -> u32 {
    characters.saturating_mul(charset.max_bytes()).min(most)
}
