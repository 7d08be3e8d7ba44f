//! One row as a snapshot sees it.

use crate::catalog::TableId;
use crate::error::{Result, TableError};
use crate::txn::snapshot::Snapshot;
use crate::txn::versions::{Found, VersionStore};
use leafline_btree::EntryView;
use std::sync::Arc;

/// The payload of a row: on the page, or an older version.
#[derive(Debug)]
pub(super) enum RowPayload<'a> {
    Page(&'a [u8]),
    Version(Arc<[u8]>),
}

impl RowPayload<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            RowPayload::Page(payload) => payload,
            RowPayload::Version(payload) => payload,
        }
    }
}

/// The row that `snapshot` sees where the clustered index has `entry` under `key`. Takes no latch and never blocks
/// for long, so that it can be called under the leaf's latch.
pub(super) fn visible_row<'a>(
    versions: &VersionStore,
    table: TableId,
    key: &[u8],
    entry: &EntryView<'a>,
    snapshot: &Snapshot,
) -> Result<Option<RowPayload<'a>>> {
    if snapshot.sees(entry.commit_ts) {
        return Ok((!entry.is_ghost()).then_some(RowPayload::Page(entry.payload)));
    }
    if !entry.has_previous() {
        return Ok(None);
    }
    match versions.find(table, key, snapshot) {
        Found::Row(payload) => Ok(Some(RowPayload::Version(payload))),
        Found::Absent => Ok(None),
        Found::Missing => {
            Err(TableError::Internal(format!("an old version of a row of table {} is missing", table.0)))
        }
    }
}
