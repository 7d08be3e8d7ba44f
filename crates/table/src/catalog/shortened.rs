//! Shortens or converts definitions that are too long, outside the strict mode, as MySQL does.

use super::column::ColumnDef;
use super::index_def::PRIMARY;
use super::spec::{
    IndexSpecKind, MAX_COMMENT, MAX_TABLE_COMMENT, TableSpec, bytes_per_character, declared_bytes,
};
use crate::limits::Limits;
use leafline_types::MysqlError;

impl TableSpec {
    /// Cuts comments that are too long, and turns parts of keys that are too long into prefixes, unless the
    /// key is unique. Returns the error that each change avoided.
    pub fn shorten(&mut self, limits: &Limits) -> Vec<MysqlError> {
        let mut errors = Vec::new();
        if cut(&mut self.options.comment, MAX_TABLE_COMMENT) {
            errors.push(MysqlError::table_comment_too_long(&self.name, MAX_TABLE_COMMENT));
        }
        for column in &mut self.columns {
            if cut(&mut column.comment, MAX_COMMENT) {
                errors.push(MysqlError::column_comment_too_long(&column.name, MAX_COMMENT));
            }
        }
        for index in &mut self.indexes {
            if cut(&mut index.comment, MAX_COMMENT) {
                let name = match (&index.name, index.kind, index.parts.first()) {
                    (Some(name), ..) => name,
                    (None, IndexSpecKind::Plain | IndexSpecKind::Unique, Some(part)) => &part.column,
                    _ => PRIMARY,
                };
                errors.push(MysqlError::index_comment_too_long(name, MAX_COMMENT));
            }
            if index.kind != IndexSpecKind::Plain {
                continue;
            }
            for part in &mut index.parts {
                let is_named = |column: &&ColumnDef| column.name.eq_ignore_ascii_case(&part.column);
                let Some(column) = self.columns.iter().find(is_named).filter(|column| column.ty.is_string())
                else {
                    continue;
                };
                let per_character = bytes_per_character(column);
                let bytes = match part.prefix {
                    Some(prefix) => (prefix as usize).saturating_mul(per_character),
                    // A part of this type must be a prefix.
                    None if column.ty.is_large() => 0,
                    None => declared_bytes(column),
                };
                if bytes > limits.max_key {
                    part.prefix = Some((limits.max_key / per_character) as u32);
                    errors.push(MysqlError::key_too_long(limits.max_key));
                }
            }
        }
        errors
    }
}

/// Cuts a comment after its first `most` characters. Returns whether it was longer.
fn cut(comment: &mut String, most: usize) -> bool {
    let end = comment.char_indices().nth(most).map(|(end, _)| end);
    if let Some(end) = end {
        comment.truncate(end);
    }
    end.is_some()
}
