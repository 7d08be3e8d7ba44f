//! The rows of a table in a snapshot, while others go on changing the table.

use crate::catalog::TableDef;
use crate::error::Result;
use crate::read::{EntryCursor, EntryStep, ReadView};
use crate::run::EntrySource;
use leafline_btree::Direction;
use std::sync::Arc;

/// Reads one leaf at a time, in key order.
pub(crate) struct SnapshotSource {
    cursor: EntryCursor,
    /// The ends of each row's key and payload in `bytes`.
    spans: Vec<(usize, usize)>,
    bytes: Vec<u8>,
    next: usize,
    begin: usize,
    more: bool,
}

impl SnapshotSource {
    pub(crate) fn new(view: &ReadView, table: &Arc<TableDef>) -> Result<SnapshotSource> {
        let mut cursor = view.entries(table, table.clustered())?;
        cursor.seek(&[]);
        cursor.read_ahead(Direction::Forward, &[], None);
        Ok(SnapshotSource { cursor, spans: Vec::new(), bytes: Vec::new(), next: 0, begin: 0, more: true })
    }

    fn fill(&mut self) -> Result<()> {
        let SnapshotSource { cursor, spans, bytes, .. } = self;
        spans.clear();
        bytes.clear();
        self.more = cursor.visit(Direction::Forward, &mut |row| {
            bytes.extend_from_slice(row.key);
            let key_end = bytes.len();
            bytes.extend_from_slice(row.payload);
            spans.push((key_end, bytes.len()));
            EntryStep::Next
        })?;
        (self.next, self.begin) = (0, 0);
        Ok(())
    }
}

impl EntrySource for SnapshotSource {
    fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        while self.next == self.spans.len() {
            if !self.more {
                return Ok(None);
            }
            self.fill()?;
        }
        let (key_end, end) = self.spans[self.next];
        let begin = std::mem::replace(&mut self.begin, end);
        self.next += 1;
        Ok(Some((&self.bytes[begin..key_end], &self.bytes[key_end..end])))
    }
}
