//! Sizes of tables and indexes, in bytes.

use super::SystemView;
use leafline_storage::{SegmentId, SegmentInfo};
use leafline_table::{Catalog, TableDef};
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes that a table takes.
#[derive(Clone, Copy, Default)]
pub(super) struct TableBytes {
    /// Bytes of rows and overflow values.
    pub(super) data: u64,
    /// Bytes of secondary indexes.
    pub(super) indexes: u64,
    /// Bytes of the table's empty pages.
    pub(super) free: u64,
}

/// Sizes of all trees at one moment.
pub(super) struct Sizes {
    segments: HashMap<SegmentId, SegmentInfo>,
    page: u64,
    catalog: Arc<Catalog>,
}

impl Sizes {
    pub(super) fn now(system: &SystemView<'_>) -> Sizes {
        let engine = system.instance.engine();
        let segments = engine.store().segments().into_iter();
        Sizes {
            segments: segments.map(|segment| (segment.id, segment)).collect(),
            page: system.instance.facts().page_bytes,
            catalog: engine.catalog(),
        }
    }

    /// The segment of a tree.
    pub(super) fn segment(&self, tree: SegmentId) -> Option<&SegmentInfo> {
        self.segments.get(&tree)
    }

    /// Bytes of a tree's used pages, and of its empty pages.
    pub(super) fn of_tree(&self, tree: SegmentId) -> (u64, u64) {
        self.segment(tree).map_or((0, 0), |segment| {
            (segment.pages * self.page, segment.allocated.saturating_sub(segment.pages) * self.page)
        })
    }

    /// Bytes of a table without partitions, or of one partition.
    pub(super) fn of_stored(&self, stored: &TableDef) -> TableBytes {
        let mut sum = TableBytes::default();
        let outside = stored.overflow.and_then(|outside| self.catalog.table_by_id(outside));
        for rows in [Some(stored), outside.map(Arc::as_ref)].into_iter().flatten() {
            let (used, unused) = self.of_tree(rows.clustered().tree);
            (sum.data, sum.free) = (sum.data + used, sum.free + unused);
        }
        for index in stored.secondary() {
            let (used, unused) = self.of_tree(index.tree);
            (sum.indexes, sum.free) = (sum.indexes + used, sum.free + unused);
        }
        sum
    }

    /// Bytes of a table with all its partitions.
    pub(super) fn of_table(&self, table: &Arc<TableDef>) -> TableBytes {
        table.stored().map(|stored| self.of_stored(stored)).fold(TableBytes::default(), |sum, one| {
            TableBytes {
                data: sum.data + one.data,
                indexes: sum.indexes + one.indexes,
                free: sum.free + one.free,
            }
        })
    }
}
