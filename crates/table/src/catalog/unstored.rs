//! Definitions of tables that are not stored, for binding and planning without a database.

use super::definition::{TableDef, TableId};
use super::index_def::{IndexShape, Packing};
use super::spec::{TableDraft, TableSpec};
use crate::error::Result;
use crate::limits::Limits;
use leafline_btree::{CommitTs, limits};
use leafline_storage::{PageNo, SegmentId};
use std::sync::Arc;

impl TableSpec {
    /// The definition that creating this table would give, with the number `id` and the limits for pages of
    /// `page_size` bytes. Its indexes are numbered from 1 and have no trees, so that the table cannot be
    /// read.
    ///
    /// # Errors
    /// The errors of the rules for tables, as when the table is created.
    pub fn unstored(&self, id: TableId, page_size: usize) -> Result<TableDef> {
        let limits = Limits {
            max_key: limits::max_key_len(page_size),
            max_entry: limits::max_entry_len(page_size),
            inline_commit: usize::MAX,
            progress_bytes: usize::MAX,
            write_set_memory: u64::MAX,
            commit_memory: u64::MAX,
            max_row_history: u64::MAX,
            version_memory: u64::MAX,
            change_buffer: 0,
            change_buffer_l0: 0,
            max_locks: u64::MAX,
        };
        let draft = TableDraft::new(self, &limits)?;
        let clustered_key = draft.clustered_key().map(<[_]>::to_vec);
        let mut indexes = Vec::with_capacity(draft.indexes.len());
        for (number, index) in (1..).zip(draft.indexes) {
            let packing = Packing::of_new(&index, &draft.columns, &self.options);
            let shape = IndexShape {
                id: number,
                name: index.name,
                kind: index.kind,
                parts: index.parts,
                comment: index.comment,
                invisible: index.invisible,
                for_foreign_key: index.for_foreign_key,
                packing,
                words: index.words,
                columns: &draft.columns,
                dropped: &[],
                clustered_key: clustered_key.as_deref(),
                schema_version: 1,
            };
            indexes.push(Arc::new(shape.build(SegmentId(0), PageNo(0), CommitTs::NONE)));
        }
        Ok(TableDef {
            id,
            database: self.database.clone(),
            name: self.name.clone(),
            columns: draft.columns,
            dropped: Vec::new(),
            indexes,
            checks: self.checks.clone(),
            foreign_keys: Vec::new(),
            histograms: Vec::new(),
            schema_version: 1,
            overflow: None,
            is_overflow: false,
            is_private: false,
            partitioning: None,
            partition_of: None,
            options: self.options.clone(),
        })
    }
}
