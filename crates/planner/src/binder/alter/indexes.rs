//! The indexes of ALTER TABLE: kept, added and dropped ones, and the effect of column changes on them.

use super::{Alter, AlterWork, Column};
use crate::binder::functional_key::{key_columns, name_index, retype};
use crate::binder::table_spec::{index_spec, spec_kind};
use leafline_syntax::ast::{AlterAction, KeyDefinition, KeyKind};
use leafline_table::{
    ColumnDef, IndexPart, IndexSpec, IndexSpecKind, IndexSpecPart, PRIMARY, TableOptions, TableSpec,
};
use leafline_types::{MysqlError, SqlType};

impl Alter<'_> {
    /// Changes the indexes. `options` are the options of the new table.
    pub(super) fn change_indexes(
        &mut self,
        actions: &[AlterAction],
        options: &TableOptions,
    ) -> Result<(), MysqlError> {
        let actions: Vec<&AlterAction> =
            actions.iter().filter(|action| !self.is_of_fulltext(action)).collect();
        let shown = self.old.ordered_indexes().iter().filter(|index| !index.parts.is_empty());
        let mut kept = Vec::new();
        for (mut spec, index) in TableSpec::of(self.old).indexes.into_iter().zip(shown) {
            let mut anew = false;
            let mut part = |part: &IndexPart| {
                let kept = self.made_from(part.column);
                anew |= kept.is_none();
                let column = &kept.or_else(|| self.made_anew(part.column))?.def;
                let prefix = part.prefix.filter(|prefix| may_have_prefix(&column.ty, *prefix));
                Some(IndexSpecPart { column: column.name.clone(), descending: part.descending, prefix })
            };
            spec.parts = index.parts.iter().filter_map(&mut part).collect();
            if anew {
                // The index lost a column, or a new column took the name of one.
                spec.existing = None;
            }
            kept.push((index.name.as_str(), spec));
        }
        let find = |kept: &[(&str, IndexSpec)], name: &str| {
            kept.iter().position(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        for &action in &actions {
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
        for &action in &actions {
            if let AlterAction::RenameKey { name, to } = action {
                let position = find(&kept, &name.value);
                match position.and_then(|at| kept.get_mut(at)) {
                    Some((_, spec)) if spec.kind != IndexSpecKind::Primary => {
                        (spec.name, spec.for_foreign_key) = (Some(to.value.clone()), false);
                    }
                    Some(_) => return Err(MysqlError::wrong_index_name(PRIMARY)),
                    None => return Err(MysqlError::key_does_not_exist(&name.value, &self.old.name)),
                }
            }
            if let AlterAction::SetKeyVisible(name, _) | AlterAction::SetKeyPacked(name, _) = action {
                let position = find(&kept, &name.value);
                match position.and_then(|at| kept.get_mut(at)) {
                    Some((_, spec)) => set_option(spec, action),
                    None => return Err(MysqlError::key_does_not_exist(&name.value, &self.old.name)),
                }
            }
        }
        for (name, spec) in &mut kept {
            let position = self.old.indexes.iter().position(|index| index.name == *name);
            if position.is_some_and(|at| !self.old.is_packed_as(at, spec.packed, options)) {
                // The index needs a new tree.
                spec.existing = None;
            }
        }
        self.indexes = kept.into_iter().map(|(_, spec)| spec).filter(|spec| !spec.parts.is_empty()).collect();
        for &action in &actions {
            match action {
                AlterAction::AddColumn(column, _) | AlterAction::ChangeColumn { column, .. } => {
                    let Some(kind) = column.key else { continue };
                    let parts = vec![IndexSpecPart::new(&column.name.value)];
                    let index = IndexSpec { kind: spec_kind(kind), parts, ..IndexSpec::default() };
                    self.indexes.retain(|other| !index.replaces(other));
                    self.indexes.push(index);
                }
                AlterAction::AddKey(key) => self.add_key(key)?,
                _ => {}
            }
        }
        self.settle_key_columns()?;
        if self.indexes.iter().any(|index| index.existing.is_none()) {
            self.work = self.work.max(AlterWork::Indexes);
        }
        Ok(())
    }
}

impl Alter<'_> {
    fn add_key(&mut self, key: &KeyDefinition) -> Result<(), MysqlError> {
        if key.kind == KeyKind::Fulltext {
            return Ok(());
        }
        let mut index = index_spec(key);
        self.indexes.retain(|other| !index.replaces(other));
        name_index(key, &mut index, &self.indexes);
        let columns: Vec<ColumnDef> = self.columns.iter().map(|column| column.def.clone()).collect();
        let made = key_columns(key, &mut index, &columns, self.context)?;
        self.columns.extend(made.into_iter().map(|def| Column { def, source: None, written: None }));
        self.indexes.push(index);
        Ok(())
    }

    /// Settles the columns of functional key parts. Columns of no index go; the others move behind all columns and get the types
    /// that their expressions now have. Error 3837 if an expression lost a column.
    fn settle_key_columns(&mut self) -> Result<(), MysqlError> {
        let (mut hidden, named): (Vec<Column>, Vec<Column>) =
            std::mem::take(&mut self.columns).into_iter().partition(|column| column.def.is_hidden());
        self.columns = named;
        let parts = || self.indexes.iter().flat_map(|index| &index.parts);
        hidden.retain(|column| parts().any(|part| part.column == column.def.name));
        let columns: Vec<ColumnDef> = self.columns.iter().map(|column| column.def.clone()).collect();
        for column in &mut hidden {
            if column.source.is_some()
                && let Some(generated) = &column.def.generated
                && let Some(lost) = self.lost_column(&generated.expression)?
            {
                return Err(MysqlError::dependent_by_functional_index(&lost.name));
            }
            retype(&mut column.def, &columns, self.context)?;
        }
        self.columns.extend(hidden);
        Ok(())
    }
}

/// Changes an option of an index. An index that a foreign key made for itself becomes the user's.
fn set_option(spec: &mut IndexSpec, action: &AlterAction) {
    spec.for_foreign_key = false;
    match action {
        AlterAction::SetKeyPacked(_, packed) => spec.packed = Some(*packed),
        AlterAction::SetKeyVisible(_, visible) => spec.invisible = !visible,
        _ => {}
    }
}

/// Whether a key part whose column changed its type can keep its prefix. A part that cannot becomes the whole column.
fn may_have_prefix(ty: &SqlType, prefix: u32) -> bool {
    match ty {
        SqlType::Char { len }
        | SqlType::Varchar { len }
        | SqlType::Binary { len }
        | SqlType::Varbinary { len } => prefix < *len,
        ty => ty.is_large() && *ty != SqlType::Json,
    }
}
