//! One row, as a snapshot sees it.

use crate::catalog::TableId;
use crate::error::{Result, TableError};
use crate::mvcc::RegisteredSnapshot;
use crate::mvcc::versions::{Found, VersionStore};
use leafline_btree::EntryView;
use std::sync::Arc;

/// The payload of a row, on the page or of an older version.
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

/// The row that a snapshot sees in place of an entry of the clustered index.
#[derive(Debug)]
pub(super) enum Visible<'a> {
    Row(RowPayload<'a>),
    Nothing,
    /// The version is in a file: [`spilled_row`] must read it without a latch.
    Spilled,
}

/// The row that `snapshot` sees if the clustered index has `entry` under `key`. It takes no latch and never blocks
/// for long, so that it can be called under the leaf's latch.
pub(super) fn visible_row<'a>(
    versions: &VersionStore,
    table: TableId,
    key: &[u8],
    entry: &EntryView<'a>,
    snapshot: &RegisteredSnapshot,
) -> Result<Visible<'a>> {
    if snapshot.sees(entry.commit_ts) {
        return Ok(match entry.is_ghost() {
            true => Visible::Nothing,
            false => Visible::Row(RowPayload::Page(entry.payload)),
        });
    }
    if !entry.has_previous() {
        return Ok(Visible::Nothing);
    }
    match versions.find(table, key, snapshot) {
        Found::Row(payload) => Ok(Visible::Row(RowPayload::Version(payload))),
        Found::Absent => Ok(Visible::Nothing),
        Found::Spilled => Ok(Visible::Spilled),
        Found::Missing => Err(missing(table, snapshot)),
    }
}

/// The row that `snapshot` sees if [`visible_row`] returned `Spilled`. It reads files, so that the caller must not
/// hold a latch.
pub(super) fn spilled_row(
    versions: &VersionStore,
    table: TableId,
    key: &[u8],
    snapshot: &RegisteredSnapshot,
) -> Result<Option<Arc<[u8]>>> {
    match versions.find_spilled(table, key, snapshot)? {
        Found::Row(payload) => Ok(Some(payload)),
        Found::Absent => Ok(None),
        Found::Spilled | Found::Missing => Err(missing(table, snapshot)),
    }
}

/// The error for an old version that cannot be found: the snapshot was given up, or there is a bug.
fn missing(table: TableId, snapshot: &RegisteredSnapshot) -> TableError {
    let bug = || TableError::Internal(format!("an old version of a row of table {} is missing", table.0));
    snapshot.check().err().unwrap_or_else(bug)
}
