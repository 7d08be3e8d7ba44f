//! Recovery: turns the files that a crash has left into an open store.
//!
//! | pass | work |
//! |---|---|
//! | 1 doublewrite | repairs pages of `data` that the last batch of writes may have left torn |
//! | 2 log | reads the log to its end, hands logical records to the crate above, and begins a new incarnation of the log: all that was read is durable from then on |
//! | 3 redo | replays each mini-transaction on those of its pages that are older |
//! | 4 space | reads the space maps and the segment directory |
//! | 5 segments | goes on freeing segments in state `Dropping` |
//!
//! Passes 1 to 4 make no change that the log does not already hold, and write pages only by the rules of
//! [`crate::pool`], so a crash in them, or in pass 5, is a crash like any other.
//!
//! A page that cannot be read in pass 3 after several attempts is set aside: the log may format it anew, or it may
//! belong to no segment (an extent that an unlogged writer had begun to fill). Pages that are still unreadable after
//! pass 4 are reported, and log is not given back before the crate above has recorded them
//! ([`crate::Store::set_checkpoint_source`]): such a page lacks changes, even if it can be read one day.
//!
//! A page that a record does not fit is set aside, too. Freeing a page forgets its changes: if the page is used again
//! they are not written, and its new use does not keep the log that they are in. So redo may begin in the middle of a
//! former life of a page, with an older image than its records were made for. The result does not matter, because
//! before the page is used the log formats it. A page is damaged only if the log has not formatted it and it is in
//! use. It is then reported with the unreadable pages.

use crate::control::ControlFile;
use crate::device::Env;
use crate::log::{LogPosition, LogReader, LogTail, PAGE_GROUP};
use crate::options::{RecoveryProgress, RecoveryStep};
use crate::pool::{Latch, PageCache};
use crate::redo::{CHECKPOINT_KIND, Handlers, LogicalReplay, PageRecord, decode_group};
use crate::space::{self, SpaceRecord, SpaceState};
use crate::{HandlerId, Lsn, LsnRange, PageNo, Result, SegmentId, SegmentState, StorageError, page};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The results of a recovery.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecoveryReport {
    /// Whether one of the two slots of the control file was damaged. The other one was enough, and repaired it.
    pub control_repaired: bool,
    /// Pages put back from the doublewrite file.
    pub repaired: Vec<PageNo>,
    /// Mini-transactions in the part of the log that was read.
    pub mini_transactions: u64,
    /// Logical records handed to the crate above.
    pub logical_records: u64,
    /// Pages on which changes were replayed, counted each time.
    pub pages_changed: u64,
    /// Why the list of pages to read in at the start was ignored.
    pub warm_up_ignored: Option<String>,
    /// Pages in use on which changes could not be replayed: they could not be read, or their content did not fit the
    /// log. They must not be trusted, whatever a read returns.
    pub unreadable: Vec<UnreadablePage>,
    /// Segments whose freeing was finished.
    pub segments_freed: Vec<SegmentId>,
}

/// A page in use on which changes could not be replayed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreadablePage {
    /// The page.
    pub page: PageNo,
    /// The segment that the page belongs to.
    pub segment: SegmentId,
    /// A description of the fault.
    pub reason: String,
}

/// The files and tools that recovery works with.
pub(crate) struct Crash<'a> {
    pub(crate) env: &'a Arc<dyn Env>,
    pub(crate) control: &'a ControlFile,
    pub(crate) cache: &'a PageCache,
    pub(crate) handlers: &'a Handlers,
    pub(crate) progress: Option<&'a RecoveryProgress>,
}

impl Crash<'_> {
    fn report(&self, step: RecoveryStep) {
        if let Some(progress) = self.progress {
            progress.report(step);
        }
    }
}

/// Bytes of log between two reports of progress while it is read.
const REPORT: u64 = 1 << 20;
/// Bytes of records that are replayed together. About as many bytes again are used to sort them by page.
const WINDOW: usize = 16 << 20;

/// The results of pass 2.
pub(crate) struct ReadLog {
    pub(crate) tail: LogTail,
    /// Payload of the last checkpoint.
    pub(crate) payload: Vec<u8>,
}

/// Runs pass 2: reads the log from the last checkpoint's redo position to its end. Touches no page, because the
/// records are sure to stay only after the log has been resumed at that end.
pub(crate) fn read_log(
    crash: &Crash<'_>,
    replay: &mut dyn LogicalReplay,
    report: &mut RecoveryReport,
) -> Result<ReadLog> {
    let (env, data) = (crash.env, crash.control.data());
    let mut payload = Vec::new();
    if let Some(position) = data.checkpoint {
        let mut reader = LogReader::open(env, data.database_id, position)?;
        match reader.next_group()? {
            Some(group) if group.kind == CHECKPOINT_KIND => payload = group.payload.to_vec(),
            // The control file names a checkpoint only once its record is durable.
            _ => {
                let LogPosition { sequence, offset, lsn } = position;
                let reason = "the record of the last checkpoint is damaged".into();
                return Err(StorageError::LogDamaged { sequence, offset, lsn, reason });
            }
        }
        replay.checkpoint(&payload).map_err(StorageError::Replay)?;
    }
    let mut reader = LogReader::open(env, data.database_id, data.redo)?;
    let mut reported = data.redo.lsn.0;
    while let Some(group) = reader.next_group()? {
        if group.range.end.0 - reported >= REPORT {
            reported = group.range.end.0;
            crash.report(RecoveryStep::Read { done: reported - data.redo.lsn.0 });
        }
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

/// The state of pass 3.
pub(crate) struct Redo<'a> {
    crash: &'a Crash<'a>,
    cache: &'a PageCache,
    /// End of the log. No page can be newer.
    end: Lsn,
    unreadable: BTreeMap<PageNo, String>,
    /// Pages that a record did not fit, and why, until the log formats them.
    misfits: BTreeMap<PageNo, String>,
    pages_changed: u64,
}

/// Records read from the log and not replayed yet, by page.
#[derive(Default)]
struct Window {
    /// Payloads of the records.
    bytes: Vec<u8>,
    pages: BTreeMap<PageNo, Vec<WindowRecord>>,
}

/// A record of a window. The records of one group on one page stand together.
struct WindowRecord {
    range: LsnRange,
    handler: HandlerId,
    kind: u8,
    is_format: bool,
    payload: std::ops::Range<usize>,
}

impl<'a> Redo<'a> {
    /// Makes the redo of a log that ends at `end`.
    pub(crate) fn new(crash: &'a Crash<'a>, end: Lsn) -> Redo<'a> {
        let (unreadable, misfits) = (BTreeMap::new(), BTreeMap::new());
        Redo { crash, cache: crash.cache, end, unreadable, misfits, pages_changed: 0 }
    }

    /// Returns the pages on which changes were replayed, counted each time.
    pub(crate) fn pages_changed(&self) -> u64 {
        self.pages_changed
    }

    /// Replays the log from the last checkpoint's redo position to `end`, a window at a time, and within a window
    /// page after page. Each page is read once per window, in page order and in one batch with its neighbours. If the
    /// pages were read one by one, each time that the log comes to them, the reads would take most of the time of
    /// recovery.
    pub(crate) fn replay(&mut self) -> Result<()> {
        let data = self.crash.control.data();
        let mut reader = LogReader::open(self.crash.env, data.database_id, data.redo)?;
        let begin = data.redo.lsn.0;
        let total = self.end.0.saturating_sub(begin);
        // Stop at the end: pass 2 has verified it, and verifying it again would read much.
        while reader.group_lsn() < self.end {
            let mut window = Window::default();
            let from = reader.group_lsn().0;
            while window.bytes.len() < WINDOW
                && reader.group_lsn() < self.end
                && let Some(group) = reader.next_group()?
            {
                if group.kind == PAGE_GROUP {
                    window.add(group.range, group.payload)?;
                }
            }
            let bytes = reader.group_lsn().0 - from;
            self.redo_window(&window, &|part, parts| {
                let done = from - begin + bytes * part as u64 / parts as u64;
                self.crash.report(RecoveryStep::Redo { done, total });
            })?;
        }
        self.crash.report(RecoveryStep::Redo { done: total, total });
        Ok(())
    }

    /// Replays the window in parts. The pages of the next part are being read while one part is replayed.
    fn redo_window(&mut self, window: &Window, report: &dyn Fn(usize, usize)) -> Result<()> {
        let pages: Vec<(&PageNo, &Vec<WindowRecord>)> = window.pages.iter().collect();
        let parts: Vec<_> = pages.chunks((self.cache.pool.frame_count() / 16).max(1)).collect();
        for number in 0..parts.len() {
            if number == 0 {
                self.read_ahead(parts[0])?;
            }
            if let Some(next) = parts.get(number + 1) {
                self.read_ahead(next)?;
            }
            for (page, found) in parts[number] {
                for group in found.chunk_by(|one, other| one.range.start == other.range.start) {
                    let records: Vec<_> = group.iter().map(|found| window.record(**page, found)).collect();
                    self.redo_page(**page, &records, group[0].range)?;
                }
            }
            report(number + 1, parts.len());
        }
        Ok(())
    }

    /// Begins to read the pages. A page that the log makes anew need not be readable.
    fn read_ahead(&self, part: &[(&PageNo, &Vec<WindowRecord>)]) -> Result<()> {
        let is_new = |found: &&Vec<WindowRecord>| found.first().is_some_and(|first| first.is_format);
        let (new, old): (Vec<_>, Vec<_>) = part.iter().partition(|(_, found)| is_new(found));
        let numbers = |part: Vec<&(&PageNo, &Vec<WindowRecord>)>| {
            part.iter().map(|(page, _)| **page).collect::<Vec<_>>()
        };
        self.cache.read_ahead(&numbers(old), false)?;
        self.cache.read_ahead(&numbers(new), true)?;
        Ok(())
    }

    /// Replays the records of one group on one page.
    fn redo_page(&mut self, page: PageNo, records: &[PageRecord<'_>], range: LsnRange) -> Result<()> {
        let formats = records.first().is_some_and(is_format);
        if self.misfits.contains_key(&page) && !formats {
            return Ok(());
        }
        let mut guard = loop {
            if let Latch::Held(guard) = self.cache.pool.exclusive(page) {
                break guard;
            }
            // The page may be on its way.
            self.cache.pool.wait_for_fault(page);
            if !self.cache.pool.is_resident(page) && !self.bring_in(page, formats)? {
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
        self.misfits.remove(&page);
        if formats {
            // Read-ahead may have brought in an image of a former life, or a torn one.
            self.unreadable.remove(&page);
        }
        for record in records {
            if let Err(error) = self.crash.handlers.redo(record, &mut guard) {
                let (kind, handler) = (record.kind, record.handler.0);
                let reason = format!("record {kind} of handler {handler} at LSN {}: {error}", range.start);
                if record.handler == HandlerId::STORAGE {
                    // The store's own pages are never freed and used again, so this is damage.
                    return Err(corrupt(reason));
                }
                self.misfits.insert(page, reason);
                return Ok(());
            }
        }
        page::set_lsn(&mut guard, range.end);
        self.cache.pool.set_dirty(&guard, range.start);
        self.cache.pool.set_owner(&guard, page::owner(&guard));
        self.pages_changed += 1;
        Ok(())
    }

    /// Reads the page in. A page that the group formats need not be readable. Returns false if the group's records of
    /// the page are to be skipped.
    fn bring_in(&mut self, page: PageNo, formats: bool) -> Result<bool> {
        space::reach(self.cache, page)?;
        let mut frames = self.cache.take_frames(1)?;
        let Some(mut fault) = self.cache.pool.begin_fault(page, &mut frames) else { return Ok(true) };
        match self.read(page, fault.frame_mut()) {
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

    /// Reads a page from the file. An error says why it cannot be used.
    fn read(&self, page: PageNo, frame: &mut [u8]) -> Result<(), String> {
        let offset = page.0 * self.cache.page_size as u64;
        let mut result = Ok(());
        for _ in 0..page::READ_ATTEMPTS {
            let read =
                self.cache.data.read_at(frame, offset).map_err(|error| format!("cannot read it: {error}"));
            result = read.and_then(|()| page::verify(frame, page));
            if result.is_ok() {
                break;
            }
        }
        result
    }

    /// Returns the pages that could not be read or that a record did not fit, whatever segment they belong to.
    pub(crate) fn given_up(self) -> BTreeMap<PageNo, String> {
        self.misfits.keys().for_each(|page| self.cache.pool.purge(*page));
        self.unreadable.into_iter().chain(self.misfits).collect()
    }

    /// Returns the pages in use that could not be read or that a record did not fit.
    ///
    /// # Errors
    /// `Corrupt` if the store itself uses a page that a record did not fit.
    pub(crate) fn unusable_pages(self, space: &SpaceState) -> Result<Vec<UnreadablePage>> {
        let mut found = Vec::new();
        let misfits = self.misfits.into_iter().map(|(page, reason)| (page, reason, true));
        let unreadable = self.unreadable.into_iter().map(|(page, reason)| (page, reason, false));
        for (page, reason, misfit) in misfits.chain(unreadable) {
            let Some(segment) = space.owner_of(page) else { continue };
            if misfit && segment == SegmentId::NONE {
                return Err(StorageError::Corrupt { page, reason });
            }
            if misfit {
                // The page in memory may have a part of a change.
                self.cache.pool.purge(page);
            }
            if space.segments.get(&segment).is_some_and(|found| found.state == SegmentState::Live) {
                found.push(UnreadablePage { page, segment, reason });
            }
        }
        Ok(found)
    }
}

impl Window {
    fn add(&mut self, range: LsnRange, group: &[u8]) -> Result<()> {
        let records = decode_group(group).ok_or_else(|| StorageError::Format {
            file: "wal".into(),
            reason: format!("the mini-transaction at LSN {} is malformed", range.start),
        })?;
        for record in records {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(record.payload);
            self.pages.entry(record.page).or_default().push(WindowRecord {
                range,
                handler: record.handler,
                kind: record.kind,
                is_format: is_format(&record),
                payload: start..self.bytes.len(),
            });
        }
        Ok(())
    }

    fn record(&self, page: PageNo, found: &WindowRecord) -> PageRecord<'_> {
        let payload = &self.bytes[found.payload.clone()];
        PageRecord { handler: found.handler, kind: found.kind, page, payload }
    }
}

/// Returns whether the record makes the page anew, whatever it held.
fn is_format(record: &PageRecord<'_>) -> bool {
    let decoded = SpaceRecord::decode(record.kind, record.payload);
    record.handler == HandlerId::STORAGE && matches!(decoded, Some(SpaceRecord::InitPage { .. }))
}
