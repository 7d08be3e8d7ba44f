//! Recovery: from what a crash left to an open store.
//!
//! | pass | does |
//! |---|---|
//! | 1 doublewrite | puts back pages of `data` that the last batch of writes may have left torn |
//! | 2 log | reads the log to its end, hands logical records to the crate above, and begins a new incarnation of it: what was read is durable from then on |
//! | 3 redo | replays each mini-transaction on those of its pages that are older |
//! | 4 space | reads the space maps and the segment directory |
//! | 5 segments | goes on freeing segments in state dropping |
//!
//! Passes 1 to 4 make no change that the log does not already hold, and write pages only by the rules of
//! [`crate::pool`], so a crash in them, or in pass 5, is a crash like any other.
//!
//! A page that cannot be read in pass 3 is given up for the moment: the log may format it anew, or it may belong to
//! nobody (an extent that an unlogged writer had begun to fill). What is left after pass 4 is reported; reading
//! such a page is an error for who does it, and none for the rest of the store.

use crate::control::ControlFile;
use crate::device::Env;
use crate::log::{LogReader, LogTail, PAGE_GROUP};
use crate::pool::{Latch, PageCache};
use crate::redo::{CHECKPOINT_KIND, Handlers, LogicalReplay, PageRecord, decode_group};
use crate::space::{EXTENT_PAGES, SpaceRecord, SpaceState};
use crate::{HandlerId, Lsn, LsnRange, PageNo, Result, SegmentId, SegmentState, StorageError, page};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What recovery did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecoveryReport {
    /// Whether one of the two slots of the control file was damaged; the other one was enough, and made it good.
    pub control_repaired: bool,
    /// Pages put back from the doublewrite file.
    pub repaired: Vec<PageNo>,
    /// Mini-transactions in the part of the log that was read.
    pub mini_transactions: u64,
    /// Logical records handed to the crate above.
    pub logical_records: u64,
    /// Pages that changes were replayed on, counted each time.
    pub pages_changed: u64,
    /// Pages in use that could not be read.
    pub unreadable: Vec<UnreadablePage>,
    /// Segments whose freeing was finished.
    pub segments_freed: Vec<SegmentId>,
}

/// A page in use that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreadablePage {
    /// The page.
    pub page: PageNo,
    /// The segment it belongs to.
    pub segment: SegmentId,
    /// What is wrong with it.
    pub reason: String,
}

/// What pass 2 found.
pub(crate) struct ReadLog {
    pub(crate) tail: LogTail,
    /// Payload of the last checkpoint.
    pub(crate) payload: Vec<u8>,
}

/// Pass 2: reads the log, from the last checkpoint's redo position to its end. Pages are not touched before the log
/// has been resumed at that end: only then is what was read sure to stay.
pub(crate) fn read_log(
    env: &Arc<dyn Env>,
    control: &ControlFile,
    replay: &mut dyn LogicalReplay,
    report: &mut RecoveryReport,
) -> Result<ReadLog> {
    let data = control.data();
    let mut payload = Vec::new();
    if let Some(position) = data.checkpoint {
        let mut reader = LogReader::open(env, data.database_id, position)?;
        match reader.next_group()? {
            Some(group) if group.kind == CHECKPOINT_KIND => payload = group.payload.to_vec(),
            _ => {
                let reason = "the checkpoint record is not where the control file says".into();
                return Err(StorageError::Format { file: "control".into(), reason });
            }
        }
        replay.checkpoint(&payload).map_err(StorageError::Replay)?;
    }
    let mut reader = LogReader::open(env, data.database_id, data.redo)?;
    while let Some(group) = reader.next_group()? {
        match group.kind {
            PAGE_GROUP => report.mini_transactions += 1,
            CHECKPOINT_KIND => {}
            kind => {
                report.logical_records += 1;
                replay.record(group.range, kind, group.payload).map_err(StorageError::Replay)?;
            }
        }
    }
    Ok(ReadLog { tail: reader.finish()?, payload })
}

/// Pass 3.
pub(crate) struct Redo<'a> {
    cache: &'a PageCache,
    handlers: &'a Handlers,
    /// Where the log ends: no page can be newer.
    end: Lsn,
    unreadable: BTreeMap<PageNo, String>,
    pages_changed: u64,
}

impl<'a> Redo<'a> {
    /// Redo of a log that ends at `end`.
    pub(crate) fn new(cache: &'a PageCache, handlers: &'a Handlers, end: Lsn) -> Redo<'a> {
        Redo { cache, handlers, end, unreadable: BTreeMap::new(), pages_changed: 0 }
    }

    /// Pages that changes were replayed on, counted each time.
    pub(crate) fn pages_changed(&self) -> u64 {
        self.pages_changed
    }

    /// Replays the log from the last checkpoint's redo position to `end`.
    pub(crate) fn run(&mut self, env: &Arc<dyn Env>, control: &ControlFile) -> Result<()> {
        let data = control.data();
        let mut reader = LogReader::open(env, data.database_id, data.redo)?;
        // Not beyond: that the log ends there has been checked, and the check reads much.
        while reader.group_lsn() < self.end
            && let Some(group) = reader.next_group()?
        {
            if group.kind != PAGE_GROUP {
                continue;
            }
            let records = decode_group(group.payload).ok_or_else(|| StorageError::Format {
                file: "wal".into(),
                reason: format!("the mini-transaction at LSN {} is malformed", group.range.start),
            })?;
            let mut by_page: BTreeMap<PageNo, Vec<PageRecord<'_>>> = BTreeMap::new();
            for record in records {
                by_page.entry(record.page).or_default().push(record);
            }
            for (page, records) in by_page {
                self.redo_page(page, &records, group.range)?;
            }
        }
        Ok(())
    }

    /// Replays one group's records of one page.
    fn redo_page(&mut self, page: PageNo, records: &[PageRecord<'_>], range: LsnRange) -> Result<()> {
        let formats = records.first().is_some_and(is_format);
        let mut guard = loop {
            if let Latch::Held(guard) = self.cache.pool.exclusive(page) {
                break guard;
            }
            if !self.bring_in(page, formats)? {
                return Ok(());
            }
        };
        let corrupt = |reason: String| StorageError::Corrupt { page, reason };
        let lsn = page::lsn(&guard);
        if lsn > self.end {
            return Err(corrupt(format!("its LSN {lsn} is after the end of the log, {}", self.end)));
        }
        if lsn >= range.end {
            return Ok(());
        }
        for record in records {
            self.handlers.redo(record, &mut guard).map_err(|error| {
                let (kind, handler) = (record.kind, record.handler.0);
                corrupt(format!("record {kind} of handler {handler} at LSN {}: {error}", range.start))
            })?;
        }
        page::set_lsn(&mut guard, range.end);
        self.cache.pool.set_dirty(&guard, range.start);
        self.cache.pool.set_owner(&guard, page::owner(&guard));
        self.pages_changed += 1;
        Ok(())
    }

    /// Reads the page in; a page that the group formats need not be readable. False if the group's records of the
    /// page are to be skipped.
    fn bring_in(&mut self, page: PageNo, formats: bool) -> Result<bool> {
        self.extend_file(page)?;
        let mut frames = self.cache.take_frames(1)?;
        let Some(mut fault) = self.cache.pool.begin_fault(page, &mut frames) else { return Ok(true) };
        let offset = page.0 * self.cache.page_size as u64;
        let read = self.cache.data.read_at(fault.frame_mut(), offset);
        read.map_err(|source| StorageError::io("read", "data", source))?;
        match page::verify(fault.frame_mut(), page) {
            Ok(()) => fault.publish(),
            Err(_) if formats => {
                fault.frame_mut().fill(0);
                fault.publish();
            }
            Err(reason) => {
                self.unreadable.entry(page).or_insert(reason);
                return Ok(false);
            }
        }
        self.unreadable.remove(&page);
        Ok(true)
    }

    /// The log may name pages beyond the end of the file: its growth was not synced.
    fn extend_file(&self, page: PageNo) -> Result<()> {
        if page.0 < self.cache.file_pages() {
            return Ok(());
        }
        if page.0 >= crate::pool::MAX_PAGES {
            return Err(StorageError::Corrupt { page, reason: "no page has this number".into() });
        }
        let pages = (page.0 / EXTENT_PAGES + 1) * EXTENT_PAGES;
        let bytes = pages * self.cache.page_size as u64;
        self.cache.data.allocate(bytes).map_err(|source| StorageError::io("allocate", "data", source))?;
        self.cache.set_file_pages(pages);
        Ok(())
    }

    /// The pages that could not be read and that a segment uses.
    pub(crate) fn unreadable_pages(self, space: &SpaceState) -> Vec<UnreadablePage> {
        let in_use = |(page, reason): (PageNo, String)| {
            let segment = space.owner_of(page)?;
            let live = space.segments.get(&segment).is_some_and(|found| found.state == SegmentState::Live);
            live.then_some(UnreadablePage { page, segment, reason })
        };
        self.unreadable.into_iter().filter_map(in_use).collect()
    }
}

/// Whether the record makes the page anew, whatever it held.
fn is_format(record: &PageRecord<'_>) -> bool {
    let decoded = SpaceRecord::decode(record.kind, record.payload);
    record.handler == HandlerId::STORAGE && matches!(decoded, Some(SpaceRecord::InitPage { .. }))
}
