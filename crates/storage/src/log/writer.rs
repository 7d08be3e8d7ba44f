//! The log, open for appending.
//!
//! An append copies a group into a buffer in memory under a short mutex and never waits for the disk, so a mini-transaction can append with its pages
//! latched. [`Log::throttle`], called before a latch is taken, keeps the buffer small. A reservation, made before a latch is taken, too, keeps the
//! files from running full.
//!
//! [`super::flush`] writes and syncs the appended groups for the threads that wait for them.

use super::batches::BatchWriter;
use super::files::{DIRECTORY, Growth, Layout, Ring, bytes_of, remove_all};
use super::flush::{Inner, LogCounts, State};
use super::format::{FileHeader, GROUP_HEADER, group_header};
use super::position::{LogPosition, Marks};
use super::reader::LogTail;
use super::space::{Space, charge};
use crate::device::Env;
use crate::error::{Result, StorageError};
use crate::ids::{Lsn, LsnRange};
use crate::sync::{AtomicBool, AtomicU64, Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Kind of a group that holds the page records of one mini-transaction. All other kinds are logical records.
pub const PAGE_GROUP: u8 = 0;

/// Largest group payload in bytes, however large the log is.
const LARGEST_PAYLOAD: u64 = 1 << 30;

/// The time at which a commit reaches the disk, numbered as `innodb_flush_log_at_trx_commit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlushPolicy {
    /// 0: the log is written and synced once a second.
    EverySecond,
    /// 1: the log is written and synced before a commit returns.
    #[default]
    EachCommit,
    /// 2: the log is written before a commit returns and synced once a second. A commit survives the death of the process.
    WriteEachCommit,
}

/// The parameters of a log.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// Bytes that all log files together can grow to; at least 256 KiB.
    pub capacity: u64,
    /// Appended bytes that may wait in memory before [`Log::throttle`] has them written.
    pub buffer_bytes: usize,
    /// Number of this database, drawn when it is made. It goes into the checksums, so that no block of another database's log is ever taken for one
    /// of this log.
    pub database_id: u64,
}

/// The use of the space in the log files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSpace {
    /// Bytes that all files can grow to. If the disk is full, the bytes of the files there are.
    pub capacity: u64,
    /// Bytes from the start of the oldest file that is kept to the end of what is written.
    pub used: u64,
    /// Bytes appended and not written, plus bytes promised to reservations.
    pub reserved: u64,
    /// Number of callers that wait in [`Log::reserve`].
    pub waiting: usize,
}

impl LogSpace {
    /// Returns whether there is no more room than there was `before`.
    pub(crate) fn is_unchanged_from(&self, before: &LogSpace) -> bool {
        self.used >= before.used && self.reserved >= before.reserved
    }
}

/// The log, open for appending. Clones share it.
#[derive(Clone)]
pub struct Log {
    pub(super) inner: Arc<Inner>,
}

/// Room in the log files for groups that are to be appended. Dropping it gives back the rest. A caller may append more than it reserved, which takes
/// from the margin for padding.
pub struct LogReservation {
    inner: Arc<Inner>,
    left: u64,
}

impl Log {
    /// Makes the files of a new log that starts at LSN `first`. Removes the files that were in `wal/`.
    pub fn create(env: &Arc<dyn Env>, options: LogOptions, first: Lsn) -> Result<(Log, LogPosition)> {
        let layout = Layout::new(options.capacity);
        let ring = Ring::create(env, layout)?;
        let header = FileHeader::new(options.database_id, 1, ring.current(), first, 0);
        let log = Log::start(ring, header, layout, options, Marks::default(), 0)?;
        let position = log.position_of(first)?;
        Ok((log, position))
    }

    /// Returns the bytes that [`Log::create`] takes on the device.
    #[must_use]
    pub fn first_bytes(capacity: u64) -> u64 {
        Layout::new(capacity).first_bytes()
    }

    /// Removes the log's files, if there are any, and their directory.
    pub fn remove(env: &dyn Env) -> Result<()> {
        let io = |error| StorageError::io("remove", DIRECTORY, error);
        if env.exists(DIRECTORY).map_err(io)? {
            remove_all(env)?;
            env.sync_dir(DIRECTORY).map_err(io)?;
            env.remove_dir(DIRECTORY).map_err(io)?;
        }
        Ok(())
    }

    /// Continues a log after recovery, in a new file with a new salt, so that no block written before can ever be taken for one written from now on.
    /// Everything that the reader gave out is durable when this returns.
    pub fn resume(env: &Arc<dyn Env>, options: LogOptions, tail: LogTail) -> Result<Log> {
        let used = bytes_of(&**env, tail.oldest, tail.newest)?;
        let layout = Layout::holding(options.capacity, used);
        let ring = Ring::resume(env, layout, tail.oldest, tail.newest)?;
        let incarnation = tail.incarnation + 1;
        let header = FileHeader::new(options.database_id, incarnation, ring.current(), tail.end, tail.chain);
        Log::start(ring, header, layout, options, tail.marks, tail.at)
    }

    fn start(
        ring: Ring,
        header: FileHeader,
        layout: Layout,
        options: LogOptions,
        mut marks: Marks,
        at: u64,
    ) -> Result<Log> {
        let ring = Arc::new(Mutex::new(ring));
        let mut writer = BatchWriter::start(Arc::clone(&ring), header, at)?;
        marks.extend(writer.take_done().marks);
        let first = header.first;
        let space = Space::new(layout, ring.lock().size(), at);
        let max_payload = (space.largest_reservation() / 2).min(LARGEST_PAYLOAD);
        let state = State {
            buffer: Vec::new(),
            other: Vec::new(),
            taken: first,
            written: first,
            durable: first,
            writing: false,
            syncing: VecDeque::new(),
            gathering: Arc::default(),
            gathered: 0,
            leading: None,
            file: writer.file(),
            stopped: None,
            space,
            marks,
            counts: LogCounts::default(),
            superfluous: 0,
            kept: None,
        };
        let inner = Inner {
            state: Mutex::new(state),
            written: Condvar::default(),
            freed: Condvar::default(),
            writer: Mutex::new(writer),
            ring,
            growing: Mutex::new(()),
            durable: AtomicU64::new(first.0),
            end: AtomicU64::new(first.0),
            stopped: AtomicBool::new(false),
            buffer_bytes: options.buffer_bytes,
            max_payload,
        };
        Ok(Log { inner: Arc::new(inner) })
    }

    /// Returns [`StorageError::TooLarge`] if the log can never hold a reservation for `bytes`.
    pub fn check_reservation(&self, bytes: u64) -> Result<()> {
        self.inner.lock()?.space.reservation_charge(bytes).map(drop)
    }

    /// Returns [`StorageError::DiskFull`] if the files could not be enlarged and can never hold `bytes`.
    pub fn check_disk(&self, bytes: u64) -> Result<()> {
        let state = self.inner.lock()?;
        let charge = state.space.reservation_charge(bytes)?;
        if state.space.never_fits(charge) { Err(StorageError::DiskFull) } else { Ok(()) }
    }

    /// Returns whether the last attempt to enlarge the files met a full disk.
    pub fn is_disk_full(&self) -> Result<bool> {
        Ok(self.inner.lock()?.space.is_disk_full())
    }

    /// Reserves room for groups of `bytes` in all, counted by [`Log::group_bytes`]. Returns `None` when a checkpoint has to free space first.
    pub fn try_reserve(&self, bytes: u64) -> Result<Option<LogReservation>> {
        let mut state = self.inner.lock()?;
        let charge = state.space.reservation_charge(bytes)?;
        Ok(state.space.try_reserve(charge).then(|| self.reservation(charge)))
    }

    /// Adds one file if a reservation for `bytes` needs it and the capacity allows it. Returns true if there may be room now. The caller holds no
    /// latch. A full disk is no error: the files there are have to do then.
    pub fn grow(&self, bytes: u64) -> Result<bool> {
        let charge = self.inner.lock()?.space.reservation_charge(bytes)?;
        let wanted = |inner: &Inner| inner.lock().map(|state| state.space.wants_growth(charge));
        if !wanted(&self.inner)? {
            return Ok(false);
        }
        let _growing = self.inner.growing.lock();
        // Another thread may have added a file meanwhile.
        if !wanted(&self.inner)? {
            return Ok(true);
        }
        let growth = self.inner.ring.lock().growth();
        match growth.make() {
            Ok(()) => self.add_file(&growth).map(|()| true),
            Err(StorageError::DiskFull) => {
                self.inner.state.lock().space.set_disk_full();
                Ok(false)
            }
            // A failing device is as bad for the files in use as for this one.
            Err(error) => Err(self.inner.stop(&mut self.inner.state.lock(), error.to_string())),
        }
    }

    fn add_file(&self, made: &Growth) -> Result<()> {
        let mut ring = self.inner.ring.lock();
        let (added, size) = (ring.add(made), ring.size());
        drop(ring);
        let mut state = self.inner.state.lock();
        match added {
            Ok(()) => {
                state.space.set_ring(size);
                self.inner.freed.notify_all();
                Ok(())
            }
            // The name of the file is unknown after a failed rename.
            Err(error) => Err(self.inner.stop(&mut state, error.to_string())),
        }
    }

    /// Fails all callers that wait for space with `DiskFull`. Called when the files cannot grow and no checkpoint gives anything back.
    pub fn fail_waiters(&self) {
        self.inner.state.lock().space.refusals += 1;
        self.inner.freed.notify_all();
    }

    /// Returns whether all pending and reserved bytes are among the `charged` ones, so that no other holder will give log space back. The bytes in
    /// use are then as necessary as the bytes waited for. Returns false while a backup keeps files.
    pub fn is_unreferenced(&self, charged: u64) -> bool {
        let state = self.inner.state.lock();
        state.kept.is_none() && state.space.pending + state.space.reserved <= charged
    }

    /// Gives the first waiting caller its space, whatever the limit says.
    pub fn grant_emergency_space(&self) {
        self.inner.state.lock().space.beyond_limit = true;
        self.inner.freed.notify_all();
    }

    /// Reserves room like [`Log::try_reserve`], but waits until [`Log::truncate_before`] has freed it. The caller holds no latch and no other
    /// reservation, and has made sure that a checkpoint is under way. If one checkpoint is not enough, [`LogSpace::waiting`] shows that another is
    /// wanted. Returns `DiskFull` if the files could not be enlarged and can never hold `bytes`.
    pub fn reserve(&self, bytes: u64) -> Result<LogReservation> {
        let mut state = self.inner.lock()?;
        let charge = state.space.reservation_charge(bytes)?;
        if state.space.never_fits(charge) {
            return Err(StorageError::DiskFull);
        }
        let (ticket, refusals) = (state.space.enqueue(), state.space.refusals);
        while !state.space.try_reserve_in_turn(ticket, charge) {
            self.inner.freed.wait(&mut state);
            let refused = match state.space.refusals == refusals {
                true => Ok(()),
                false => Err(StorageError::DiskFull),
            };
            if let Err(error) = state.check().and(refused) {
                state.space.leave(ticket);
                // A caller that came after the refusal has waited for its turn behind this one.
                self.inner.freed.notify_all();
                return Err(error);
            }
        }
        // The next caller in the queue may find room, too.
        self.inner.freed.notify_all();
        Ok(self.reservation(charge))
    }

    /// Reserves room even when the log is full, enlarging it if necessary. For a caller that has to finish work before a checkpoint can give anything
    /// back.
    pub fn reserve_beyond_limit(&self, bytes: u64) -> Result<LogReservation> {
        let mut state = self.inner.lock()?;
        let charge = state.space.reservation_charge(bytes)?;
        state.space.reserve_beyond_limit(charge);
        Ok(self.reservation(charge))
    }

    fn reservation(&self, left: u64) -> LogReservation {
        LogReservation { inner: Arc::clone(&self.inner), left }
    }

    /// Adds a file ahead of need if little room is left in the files there are. Called by a thread that has the time.
    pub fn grow_ahead(&self) -> Result<()> {
        let quarter = self.inner.lock()?.space.quarter();
        self.grow(quarter).map(drop)
    }

    /// Waits until the appended bytes in memory are below the limit, writing them if no other thread does. The caller holds no latch.
    pub fn throttle(&self) -> Result<()> {
        let limit = self.inner.buffer_bytes;
        self.inner.write_until(|state| state.buffer.len() <= limit)
    }

    /// Appends one group that consists of `parts` one after the other. Never waits for I/O.
    pub fn append(&self, reservation: &mut LogReservation, kind: u8, parts: &[&[u8]]) -> Result<LsnRange> {
        let payload: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let limit = self.inner.max_payload;
        if payload > limit {
            return Err(StorageError::TooLarge { what: "a log record", size: payload, limit });
        }
        let mut guard = self.inner.lock()?;
        let state = &mut *guard;
        let start = state.end();
        state.buffer.extend_from_slice(&group_header(kind, payload as u32));
        for part in parts {
            state.buffer.extend_from_slice(part);
        }
        let end = state.end();
        let charge = charge(end.0 - start.0);
        let covered = charge.min(reservation.left);
        reservation.left -= covered;
        state.space.reserved -= covered;
        state.space.pending += charge;
        self.inner.end.store(end.0, Ordering::Release);
        Ok(LsnRange { start, end })
    }

    /// Returns the bytes of the stream that a group of this payload takes, which is the number to reserve for it.
    #[must_use]
    pub fn group_bytes(payload: usize) -> u64 {
        (GROUP_HEADER + payload) as u64
    }

    /// Waits until everything below `lsn` is on disk.
    pub fn wait_durable(&self, lsn: Lsn) -> Result<()> {
        let inner = &self.inner;
        if inner.durable.load(Ordering::Acquire) >= lsn.0 && !inner.stopped.load(Ordering::Acquire) {
            return Ok(());
        }
        self.check_within(lsn)?;
        inner.sync_until(lsn)
    }

    /// Waits until a commit that ends at `lsn` is as durable as `policy` demands.
    pub fn commit(&self, lsn: Lsn, policy: FlushPolicy) -> Result<()> {
        match policy {
            FlushPolicy::EachCommit => self.wait_durable(lsn),
            FlushPolicy::WriteEachCommit => {
                self.check_within(lsn)?;
                self.inner.write_until(|state| state.written >= lsn)
            }
            FlushPolicy::EverySecond => self.inner.lock().map(drop),
        }
    }

    /// Writes and syncs all bytes that are not durable yet. Policies 0 and 2 call it once a second.
    pub fn tick(&self) -> Result<()> {
        self.wait_durable(self.end())
    }

    /// Returns the durable LSN: everything below it is on disk.
    #[must_use]
    pub fn durable(&self) -> Lsn {
        Lsn(self.inner.durable.load(Ordering::Acquire))
    }

    /// Returns the LSN at which the next group will start.
    #[must_use]
    pub fn end(&self) -> Lsn {
        Lsn(self.inner.end.load(Ordering::Acquire))
    }

    /// Returns the largest payload of a group that can be appended, in bytes.
    #[must_use]
    pub fn max_payload(&self) -> usize {
        self.inner.max_payload as usize
    }

    /// Makes `lsn`, the start of a group or the end of the log, durable. Returns where a reader must start to get the groups from there on.
    pub fn position_of(&self, lsn: Lsn) -> Result<LogPosition> {
        self.wait_durable(lsn)?;
        let mark = self.inner.lock()?.marks.find(lsn);
        match mark {
            Some(mark) => Ok(LogPosition { sequence: mark.sequence, offset: mark.offset, lsn }),
            None => Err(StorageError::Format {
                file: DIRECTORY.to_owned(),
                reason: format!("LSN {lsn} is older than the log"),
            }),
        }
    }

    /// Returns the bytes of file written since the log was made, plus those about to be written.
    #[must_use]
    pub fn produced(&self) -> u64 {
        let state = self.inner.state.lock();
        state.space.at + state.space.pending
    }

    /// Returns the bytes of file from `lsn` to the end of the log: about the bytes that a checkpoint at `lsn` would leave in use.
    #[must_use]
    pub fn age(&self, lsn: Lsn) -> u64 {
        let state = self.inner.state.lock();
        let from = state.marks.last_before(lsn).map_or(state.space.freed, |mark| mark.at);
        state.space.at + state.space.pending - from
    }

    /// Returns the LSN of about `bytes` of file back from the end. Pages changed before it must be clean for the log to shrink to `bytes`.
    #[must_use]
    pub fn lsn_at_age(&self, bytes: u64) -> Lsn {
        let state = self.inner.state.lock();
        let end = state.space.at + state.space.pending;
        state.marks.first_after(end.saturating_sub(bytes)).map_or(state.taken, |mark| mark.start)
    }

    /// Gives the files that end before `position` back for reuse. A checkpoint that starts there must be durable: nothing before it can be read
    /// again.
    pub fn truncate_before(&self, position: LogPosition) -> Result<()> {
        self.recycle(|state| state.superfluous = state.superfluous.max(position.sequence))
    }

    /// Keeps the files from `sequence` on for a reader, whatever checkpoints say. `None` keeps none. The first call comes while no checkpoint is
    /// recorded.
    pub(crate) fn keep_from(&self, sequence: Option<u64>) -> Result<()> {
        self.recycle(|state| state.kept = sequence)
    }

    /// Makes `change`, then recycles the files that nobody needs any more.
    fn recycle(&self, change: impl FnOnce(&mut State)) -> Result<()> {
        let before = {
            let mut state = self.inner.lock()?;
            change(&mut state);
            state.kept.map_or(state.superfluous, |kept| kept.min(state.superfluous))
        };
        let mut ring = self.inner.ring.lock();
        let recycled = ring.recycle_before(before);
        let (oldest, size) = (ring.oldest(), ring.size());
        drop(ring);
        match recycled {
            Ok(freed) => {
                let mut state = self.inner.state.lock();
                state.space.freed += freed;
                state.space.set_ring(size);
                state.marks.remove_before(oldest);
                self.inner.freed.notify_all();
                Ok(())
            }
            Err(error) => Err(self.inner.stop(&mut self.inner.state.lock(), error.to_string())),
        }
    }

    /// Returns the use of the space in the files.
    #[must_use]
    pub fn space(&self) -> LogSpace {
        let state = self.inner.state.lock();
        let space = &state.space;
        LogSpace {
            capacity: space.capacity(),
            used: space.used(),
            reserved: space.pending + space.reserved,
            waiting: space.waiting(),
        }
    }

    /// Returns the counters of the work so far.
    #[must_use]
    pub fn counts(&self) -> LogCounts {
        self.inner.state.lock().counts
    }

    /// Stops the log. Every later call fails with `why`, unless the log was stopped before.
    pub fn poison(&self, why: String) {
        self.inner.stop(&mut self.inner.state.lock(), why);
    }

    /// Returns an error if `lsn` is after the end of the log. A page or caller that names such an LSN is broken, and a wait for it would never end.
    fn check_within(&self, lsn: Lsn) -> Result<()> {
        let end = self.end();
        if lsn <= end {
            return Ok(());
        }
        let sequence = self.inner.ring.lock().current();
        let reason = format!("LSN {lsn} is in use and the log ends before it");
        Err(StorageError::LogDamaged { sequence, offset: 0, lsn: end, reason })
    }
}

impl LogReservation {
    /// Returns the bytes of stream that the reservation still covers if flushes are large.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left - self.left / 32
    }

    /// Returns the bytes of the files that are set aside for the reservation.
    pub fn charged(&self) -> u64 {
        self.left
    }

    /// Gives the rest back.
    pub fn release(&mut self) {
        let left = std::mem::take(&mut self.left);
        if left > 0 {
            let mut state = self.inner.state.lock();
            state.space.reserved -= left;
            if state.space.waiting() > 0 {
                self.inner.freed.notify_all();
            }
        }
    }
}

impl Drop for LogReservation {
    fn drop(&mut self) {
        self.release();
    }
}
