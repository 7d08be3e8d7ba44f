//! Hypothetical indexes: definitions without trees, which are never built. The optimizer estimates the cost
//! of plans with them.
//!
//! Invariants: their numbers are above those of all stored indexes, and no number is given twice in the
//! life of the process. No catalog contains them. They have no tree, so that reading one fails
//! (`DefinitionChanged`).

use super::definition::TableDef;
use super::index_def::{IndexDef, IndexShape, Packing};
use super::spec::{IndexSpec, MAX_INDEXES, validate_index};
use crate::error::Result;
use crate::limits::Limits;
use leafline_btree::CommitTs;
use leafline_storage::{PageNo, SegmentId};
use leafline_types::MysqlError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Their first number.
const FIRST: u64 = 1 << 63;

static NEXT: AtomicU64 = AtomicU64::new(FIRST);

impl IndexSpec {
    /// A new number for a hypothetical index.
    pub fn hypothetical_number() -> u64 {
        NEXT.fetch_add(1, Ordering::Relaxed)
    }
}

impl IndexDef {
    /// Returns whether the index is only a definition.
    pub fn is_hypothetical(&self) -> bool {
        self.id >= FIRST
    }
}

impl TableDef {
    /// Returns this table with one more index, which is hypothetical and has the number `id`.
    ///
    /// # Errors
    /// The errors of a real index: 1061 for a name in use, 1069, 1070, 1071, 1072 and the like.
    pub fn with_hypothetical_index(&self, spec: &IndexSpec, id: u64, limits: &Limits) -> Result<TableDef> {
        let taken: Vec<&str> = self.indexes.iter().map(|index| index.name.as_str()).collect();
        let draft = validate_index(spec, &self.columns, &taken, limits)?;
        if self.indexes.len() > MAX_INDEXES {
            return Err(MysqlError::too_many_keys(MAX_INDEXES).into());
        }
        let packing = Packing::of_new(&draft, &self.columns, &self.options);
        let shape = IndexShape {
            id: id.max(FIRST),
            name: draft.name,
            kind: draft.kind,
            parts: draft.parts,
            comment: draft.comment,
            invisible: draft.invisible,
            for_foreign_key: false,
            packing,
            words: None,
            columns: &self.columns,
            dropped: &self.dropped,
            clustered_key: self.clustered_key(),
            schema_version: self.schema_version,
        };
        let index = shape.build(SegmentId(u64::MAX), PageNo(0), CommitTs::NONE);
        let mut with = self.clone();
        // FULLTEXT indexes stay the last ones.
        with.indexes.insert(self.ordered_indexes().len(), Arc::new(index));
        Ok(with)
    }
}
