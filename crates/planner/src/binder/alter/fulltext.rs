//! The FULLTEXT indexes of ALTER TABLE: kept, added and dropped ones.

use super::{Alter, AlterWork};
use crate::binder::table_spec::fulltext_spec;
use leafline_syntax::ast::{AlterAction, KeyKind};
use leafline_table::{FulltextSpec, IndexDef, IndexPart};
use leafline_types::MysqlError;

impl Alter<'_> {
    /// Returns whether an action drops or changes a FULLTEXT index of the old table.
    pub(super) fn is_of_fulltext(&self, action: &AlterAction) -> bool {
        let (AlterAction::DropKey(name)
        | AlterAction::RenameKey { name, .. }
        | AlterAction::SetKeyVisible(name, _)
        | AlterAction::SetKeyPacked(name, _)) = action
        else {
            return false;
        };
        self.old.fulltext().any(|index| index.name.eq_ignore_ascii_case(&name.value))
    }

    /// Changes the FULLTEXT indexes. An index loses the columns that the table loses, and goes with the last of them.
    pub(super) fn change_fulltext(&mut self, actions: &[AlterAction]) -> Result<(), MysqlError> {
        let mut fulltext = Vec::new();
        for index in self.old.fulltext() {
            fulltext.extend(self.kept_fulltext(index, actions)?);
        }
        for action in actions {
            if let AlterAction::AddKey(key) = action
                && key.kind == KeyKind::Fulltext
            {
                fulltext.push(fulltext_spec(key)?);
            }
        }
        let is_changed = fulltext.len() < self.old.fulltext().count()
            || fulltext.iter().any(|index| index.existing.is_none());
        if is_changed {
            self.work = self.work.max(AlterWork::Indexes);
        }
        self.fulltext = fulltext;
        Ok(())
    }

    /// Returns what becomes of an index; nothing if it is dropped.
    fn kept_fulltext(
        &self,
        index: &IndexDef,
        actions: &[AlterAction],
    ) -> Result<Option<FulltextSpec>, MysqlError> {
        let mut spec = FulltextSpec::of(index, &self.old.columns);
        let mut anew = false;
        let column = |part: &IndexPart| {
            let kept = self.made_from(part.column);
            anew |= kept.is_none();
            kept.or_else(|| self.made_anew(part.column)).map(|column| column.def.name.clone())
        };
        spec.columns = index.parts.iter().filter_map(column).collect();
        if anew {
            // The index lost a column, or a new column took the name of one.
            spec.existing = None;
        }
        for action in actions {
            match action {
                AlterAction::DropKey(name) if name.value.eq_ignore_ascii_case(&index.name) => {
                    return Ok(None);
                }
                AlterAction::RenameKey { name, to } if name.value.eq_ignore_ascii_case(&index.name) => {
                    spec.name = Some(to.value.clone());
                }
                AlterAction::SetKeyVisible(name, visible) if name.value.eq_ignore_ascii_case(&index.name) => {
                    spec.invisible = !visible;
                }
                AlterAction::SetKeyPacked(name, _) if name.value.eq_ignore_ascii_case(&index.name) => {
                    return Err(MysqlError::not_supported("PACKED of a FULLTEXT index"));
                }
                _ => {}
            }
        }
        Ok((!spec.columns.is_empty()).then_some(spec))
    }
}
