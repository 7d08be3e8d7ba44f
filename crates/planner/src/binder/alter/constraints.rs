//! The constraints of ALTER TABLE: checks, foreign keys, and the columns that expressions keep in place.

use super::{Alter, AlterWork};
use crate::binder::row_rules::columns_read;
use crate::binder::table_spec::foreign_key_spec;
use leafline_syntax::ast::{AlterAction, CheckDefinition, Ident};
use leafline_table::{CheckDef, ColumnDef, DefaultValue, ForeignKeyDef};
use leafline_types::MysqlError;

impl<'a> Alter<'a> {
    /// Returns the first column that an expression over the old columns reads and that is gone or renamed.
    pub(super) fn lost_column(&self, text: &str) -> Result<Option<&'a ColumnDef>, MysqlError> {
        let read = columns_read(text, &self.old.columns, self.context)?;
        let lost = read.into_iter().find_map(|at| {
            let old = self.old.columns.get(at)?;
            let kept = self.made_from(at).is_some_and(|new| new.def.name.eq_ignore_ascii_case(&old.name));
            (!kept).then_some(old)
        });
        Ok(lost)
    }

    /// Checks that columns which expressions of others read are neither dropped nor renamed.
    pub(super) fn check_dependencies(&self) -> Result<(), MysqlError> {
        let kept = self.columns.iter().filter(|column| column.written.is_none() && !column.def.is_hidden());
        for column in kept {
            if let Some(generated) = &column.def.generated
                && let Some(lost) = self.lost_column(&generated.expression)?
            {
                return Err(MysqlError::dependent_by_generated_column(&lost.name));
            }
            // The check of the new table covers defaults of SET DEFAULT.
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

    pub(super) fn change_checks(&mut self, actions: &[AlterAction]) -> Result<(), MysqlError> {
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
                // A constraint on one column goes with the column.
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
        let def = CheckDef { name, expression: check.expression.clone(), enforced: check.enforced };
        self.checks.push((def, owner.map(str::to_owned)));
        Ok(())
    }

    /// Returns the table's foreign key of that name.
    pub(super) fn old_foreign_key(&self, name: &Ident) -> Option<&'a ForeignKeyDef> {
        self.old.foreign_keys.iter().find(|key| key.name.eq_ignore_ascii_case(&name.value))
    }

    /// Collects the foreign keys that are added and dropped. Error 1091 for an unknown one.
    pub(super) fn change_foreign_keys(&mut self, actions: &[AlterAction]) -> Result<(), MysqlError> {
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
}
