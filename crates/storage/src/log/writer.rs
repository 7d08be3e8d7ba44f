//! The log, open for appending.
//!
//! An append copies a group into a buffer in memory under a short mutex and never waits for the disk, so a
//! mini-transaction can append with its pages latched. What keeps the buffer small is [`Log::throttle`], called before a
//! latch is taken; what keeps the files from running full is a reservation, made then too.
//!
//! Who waits for what it appended finds in [`super::flush`] how it gets to the disk.

use super::batches::BatchWriter;
use super::files::{DIRECTORY, Growth, Layout, Ring, bytes_of, remove_all};
use super::flush::{Inner, State};
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

/// When a commit reaches the disk, numbered as `innodb_flush_log_at_trx_commit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlushPolicy {
    /// 0: written and synced once a second.
    EverySecond,
    /// 1: written and synced before a commit returns.
    #[default]
    EachCommit,
    /// 2: written before a commit returns, synced once a second. Survives the death of the process.
    WriteEachCommit,
}

/// How a log is made.
#[derive(Clone, Copy, Debug)]
pub struct LogOptions {
    /// Bytes that all log files together can grow to; at least 256 KiB.
    pub capacity: u64,
    /// Appended bytes that may wait in memory before [`Log::throttle`] has them written.
    pub buffer_bytes: usize,
    /// Number of this database, drawn when it is made: goes into the checksums, so that no block of another
    /// database's log is ever taken for this one's.
    pub database_id: u64,
}

/// How full the log files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSpace {
    /// Bytes that all files can grow to; of those there are, if the disk is full.
    pub capacity: u64,
    /// Bytes from the start of the oldest file that is kept to the end of what is written.
    pub used: u64,
    /// Bytes appended and not written, and bytes promised to reservations.
    pub reserved: u64,
    /// Callers waiting in [`Log::reserve`].
    pub waiting: usize,
}

impl LogSpace {
    /// Whether there is less room than, or as much as, there was `before`.
    pub(crate) fn has_gained_nothing(&self, before: &LogSpace) -> bool {
        self.used >= before.used && self.reserved >= before.reserved
    }
}

/// What the log has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// Write requests.
    pub writes: u64,
    /// Bytes written, headers and padding included.
    pub bytes: u64,
    /// Syncs.
    pub syncs: u64,
}

/// The log, open for appending. Clones share it.
#[derive(Clone)]
pub struct Log {
    pub(super) inner: Arc<Inner>,
}

/// Room in the log files, held for groups to be appended. What is left is given back when it is dropped.
/// Appending more than was reserved is possible and takes from the margin that is there for padding.
pub struct LogReservation {
    inner: Arc<Inner>,
    left: u64,
}

impl Log {
    /// Makes the files of a new log that starts at LSN `first`; whatever was in `wal/` goes.
    pub fn create(env: &Arc<dyn Env>, options: LogOptions, first: Lsn) -> Result<(Log, LogPosition)> {
        let layout = Layout::new(options.capacity);
        let ring = Ring::create(env, layout)?;
        let header = FileHeader::new(options.database_id, 1, ring.current(), first, 0);
        let log = Log::start(ring, header, layout, options, Marks::default(), 0)?;
        let position = log.position_of(first)?;
        Ok((log, position))
    }

    /// Bytes that [`Log::create`] takes on the device.
    #[must_use]
    pub fn first_bytes(capacity: u64) -> u64 {
        Layout::new(capacity).first_bytes()
    }

    /// Removes whatever log there is, its directory too.
    pub fn remove(env: &dyn Env) -> Result<()> {
        let io = |error| StorageError::io("remove", DIRECTORY, error);
        if env.exists(DIRECTORY).map_err(io)? {
            remove_all(env)?;
            env.sync_dir(DIRECTORY).map_err(io)?;
            env.remove_dir(DIRECTORY).map_err(io)?;
        }
        Ok(())
    }

    /// Goes on after recovery, in a new file with a new salt, so that no block written before can ever be taken
    /// for one written from now on. Everything the reader gave out is durable when this returns.
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

    /// [`StorageError::TooLarge`] if the log can never hold room for so much.
    pub fn check_reservation(&self, bytes: u64) -> Result<()> {
        self.inner.lock()?.space.reservation_charge(bytes).map(drop)
    }

    /// [`StorageError::DiskFull`] if the files, which could not be made larger, can never hold so much.
    pub fn check_disk(&self, bytes: u64) -> Result<()> {
        let state = self.inner.lock()?;
        let charge = state.space.reservation_charge(bytes)?;
        if state.space.never_fits(charge) { Err(StorageError::DiskFull) } else { Ok(()) }
    }

    /// Whether the last attempt to make the files larger met a full disk.
    pub fn is_disk_full(&self) -> Result<bool> {
        Ok(self.inner.lock()?.space.is_disk_full())
    }

    /// Holds room for groups of `bytes` in all, [`Log::group_bytes`] each; `None` when a checkpoint has to free
    /// space first.
    pub fn try_reserve(&self, bytes: u64) -> Result<Option<LogReservation>> {
        let mut state = self.inner.lock()?;
        let charge = state.space.reservation_charge(bytes)?;
        Ok(state.space.try_reserve(charge).then(|| self.reservation(charge)))
    }

    /// Makes the files larger if a reservation for `bytes` needs it and the capacity allows: one file at a time,
    /// true if there may be room now. The caller holds no latch. A full disk is no error: what there is has to do then.
    pub fn grow(&self, bytes: u64) -> Result<bool> {
        let charge = self.inner.lock()?.space.reservation_charge(bytes)?;
        let wanted = |inner: &Inner| inner.lock().map(|state| state.space.wants_growth(charge));
        if !wanted(&self.inner)? {
            return Ok(false);
        }
        let _growing = self.inner.growing.lock();
        // Somebody else may have been at it.
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
            // The device fails: as bad for the files in use as for this one.
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
            // Under which name the file is has become unknown.
            Err(error) => Err(self.inner.stop(&mut state, error.to_string())),
        }
    }

    /// Has all who wait for space fail with `DiskFull`: the files cannot grow, and no checkpoint gives anything back.
    pub fn refuse_waiting(&self) {
        self.inner.state.lock().space.refusals += 1;
        self.inner.freed.notify_all();
    }

    /// Whether nobody will give log back who has some reserved, besides `charged` bytes: what is used is as needed as what is waited for.
    /// Not so while a backup keeps what is used.
    pub fn is_held_by_nobody(&self, charged: u64) -> bool {
        let state = self.inner.state.lock();
        state.kept.is_none() && state.space.pending + state.space.reserved <= charged
    }

    /// Gives the first of those who wait what it asks for, whatever the limit says.
    pub fn grant_beyond_limit(&self) {
        self.inner.state.lock().space.beyond_limit = true;
        self.inner.freed.notify_all();
    }

    /// As [`Log::try_reserve`], but waits until [`Log::truncate_before`] has freed the space. The caller holds no
    /// latch and no other reservation, and has seen to it that a checkpoint is under way. If one checkpoint
    /// is not enough, [`LogSpace::waiting`] tells that another is wanted. `DiskFull` if the files, which could not be
    /// made larger, can never hold so much.
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
                // Who came after the refusal has waited for its turn behind us.
                self.inner.freed.notify_all();
                return Err(error);
            }
        }
        // Now it is the next one's turn, for which there may be room too.
        self.inner.freed.notify_all();
        Ok(self.reservation(charge))
    }

    /// Holds room even when the log is full, growing it in the end. For who has to finish what was begun before a checkpoint can
    /// give anything back.
    pub fn reserve_beyond_limit(&self, bytes: u64) -> Result<LogReservation> {
        let mut state = self.inner.lock()?;
        let charge = state.space.reservation_charge(bytes)?;
        state.space.reserve_beyond_limit(charge);
        Ok(self.reservation(charge))
    }

    fn reservation(&self, left: u64) -> LogReservation {
        LogReservation { inner: Arc::clone(&self.inner), left }
    }

    /// Makes another file ahead of the need for it, if little room is left in those there are. For a thread that has the
    /// time.
    pub fn grow_ahead(&self) -> Result<()> {
        let quarter = self.inner.lock()?.space.quarter();
        self.grow(quarter).map(drop)
    }

    /// Waits, without a latch held, until the appended bytes in memory are below the limit, writing them if nobody
    /// does.
    pub fn throttle(&self) -> Result<()> {
        let limit = self.inner.buffer_bytes;
        self.inner.write_until(|state| state.buffer.len() <= limit)
    }

    /// Appends one group, made of `parts` one after the other. Never waits for I/O.
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

    /// Bytes of the stream that a group of this payload takes: what to reserve for it.
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

    /// What a commit that ends at `lsn` waits for, by policy.
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

    /// The work of policies 0 and 2: writes and syncs what is not durable yet. To be called once a second.
    pub fn tick(&self) -> Result<()> {
        self.wait_durable(self.end())
    }

    /// Everything below is on disk.
    #[must_use]
    pub fn durable(&self) -> Lsn {
        Lsn(self.inner.durable.load(Ordering::Acquire))
    }

    /// Where the next group will start.
    #[must_use]
    pub fn end(&self) -> Lsn {
        Lsn(self.inner.end.load(Ordering::Acquire))
    }

    /// Largest group payload that can be appended, in bytes.
    #[must_use]
    pub fn max_payload(&self) -> usize {
        self.inner.max_payload as usize
    }

    /// Makes `lsn`, the start of a group or the end of the log, durable, and says where a reader must start to get the
    /// groups from there on.
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

    /// Bytes of file that were filled, ever, and are about to be.
    #[must_use]
    pub fn produced(&self) -> u64 {
        let state = self.inner.state.lock();
        state.space.at + state.space.pending
    }

    /// Bytes of file from `lsn` to the end of the log: about what a checkpoint at `lsn` would leave in use.
    #[must_use]
    pub fn age(&self, lsn: Lsn) -> u64 {
        let state = self.inner.state.lock();
        let from = state.marks.last_before(lsn).map_or(state.space.freed, |mark| mark.at);
        state.space.at + state.space.pending - from
    }

    /// The LSN of about `bytes` of file back from the end: pages changed before it must be clean for the log to
    /// shrink to that.
    #[must_use]
    pub fn lsn_at_age(&self, bytes: u64) -> Lsn {
        let state = self.inner.state.lock();
        let end = state.space.at + state.space.pending;
        state.marks.first_after(end.saturating_sub(bytes)).map_or(state.taken, |mark| mark.start)
    }

    /// Gives the files that end before `position` back for reuse. A checkpoint that starts there must be durable:
    /// nothing before it can be read again.
    pub fn truncate_before(&self, position: LogPosition) -> Result<()> {
        self.recycle(|state| state.superfluous = state.superfluous.max(position.sequence))
    }

    /// Keeps the files from `sequence` on, whatever checkpoints say, for somebody who reads them; `None`: nobody does any more. The first
    /// call comes while no checkpoint is recorded.
    pub(crate) fn keep_from(&self, sequence: Option<u64>) -> Result<()> {
        self.recycle(|state| state.kept = sequence)
    }

    /// Gives the files back that nobody needs once `change` is made.
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

    /// How full the files are.
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

    /// What was done so far.
    #[must_use]
    pub fn counts(&self) -> LogCounts {
        self.inner.state.lock().counts
    }

    /// Stops the log: every later call fails with `why`, unless it was stopped before.
    pub fn poison(&self, why: String) {
        self.inner.stop(&mut self.inner.state.lock(), why);
    }

    /// A page or a caller that names an LSN the log never gave out is broken; waiting would be for ever.
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
    /// Bytes of stream that it still covers, large flushes assumed.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left - self.left / 32
    }

    /// Bytes of the files that are set aside for it.
    pub fn charged(&self) -> u64 {
        self.left
    }

    /// Gives back what is left.
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
