//! One row as a snapshot sees it.

use crate::catalog::TableId;
use crate::error::{Result, TableError};
use crate::txn::RegisteredSnapshot;
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

/// What a snapshot sees where the clustered index has an entry.
#[derive(Debug)]
pub(super) enum Visible<'a> {
    Row(RowPayload<'a>),
    Nothing,
    /// [`spilled_row`] has to be asked, with no latch held.
    Spilled,
}

/// The row that `snapshot` sees where the clustered index has `entry` under `key`. Takes no latch and never blocks
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

/// The row that `snapshot` sees where [`visible_row`] says `Spilled`. Reads files: the caller holds no latch.
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

/// An old version is not there: because the snapshot was given up, or it is a bug.
fn missing(table: TableId, snapshot: &RegisteredSnapshot) -> TableError {
    let bug = || TableError::Internal(format!("an old version of a row of table {} is missing", table.0));
    snapshot.check().err().unwrap_or_else(bug)
}
