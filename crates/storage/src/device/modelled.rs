//! Adds the access times of a modelled disk to another environment.
//!
//! The disk has one head. A read that starts near the end of the read before, in the same file and in either
//! direction, pays for the gap at the disk's bandwidth (an elevator would have sorted it). Any other read pays a
//! seek. Then each pays for its bytes. Reads queue for the head, so having more of them in flight does not make it
//! faster. Writes and syncs cost what they cost in the other environment.
//!
//! The head may have been idle, and moving while a request was on its way, so up to [`SLACK`] of the cost counts as
//! already paid. This also makes up for sleeps that end late.

use super::env::{Env, File, LockGuard, OpenMode};
use parking_lot::Mutex;
use std::io::{self, IoSlice, IoSliceMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long before a request's arrival its service may begin.
const SLACK: Duration = Duration::from_micros(300);
/// A shorter sleep is left out, and its time is charged to the next request.
const SHORTEST_SLEEP: Duration = Duration::from_micros(60);

/// A disk with one head.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DiskModel {
    /// Time of a seek.
    pub seek: Duration,
    /// Bytes transferred per second.
    pub bytes_per_second: u64,
    /// A read that starts at most this many bytes from the end of the one before pays for the gap instead of a seek.
    pub near_bytes: u64,
}

impl DiskModel {
    /// A spinning disk: 5 ms per seek, 100 MiB/s.
    pub const HDD: DiskModel =
        DiskModel { seek: Duration::from_millis(5), bytes_per_second: 100 << 20, near_bytes: 1 << 20 };
    /// A slow solid-state disk at queue depth 1: 0.2 ms per seek, 250 MiB/s.
    pub const SSD: DiskModel =
        DiskModel { seek: Duration::from_micros(200), bytes_per_second: 250 << 20, near_bytes: 1 << 20 };

    fn transfer(&self, bytes: u64) -> Duration {
        Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64)
    }
}

/// Counters of the costs that the model has charged.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ModelCounts {
    /// Reads that paid a seek.
    pub seeks: u64,
    /// Reads near the end of the one before.
    pub near: u64,
    /// Bytes read.
    pub bytes: u64,
}

/// The head of the disk.
struct Head {
    /// File (by order of opening) and offset at which the last read ended.
    at: Option<(u64, u64)>,
    busy_until: Instant,
    counts: ModelCounts,
}

struct Disk {
    model: DiskModel,
    head: Mutex<Head>,
}

impl Disk {
    /// Takes the head for a read. Returns the time at which the read is done.
    fn charge(&self, file: u64, offset: u64, bytes: u64, now: Instant) -> Instant {
        let mut head = self.head.lock();
        let start = now.checked_sub(SLACK).unwrap_or(now).max(head.busy_until);
        let gap = head.at.filter(|(last, _)| *last == file).map(|(_, end)| end.abs_diff(offset));
        let way = match gap {
            Some(gap) if gap <= self.model.near_bytes => {
                head.counts.near += 1;
                self.model.transfer(gap).min(self.model.seek)
            }
            _ => {
                head.counts.seeks += 1;
                self.model.seek
            }
        };
        head.counts.bytes += bytes;
        head.at = Some((file, offset + bytes));
        head.busy_until = start + way + self.model.transfer(bytes);
        head.busy_until
    }
}

/// Another environment whose reads take as long as the model says.
pub struct ModelledEnv {
    inner: Arc<dyn Env>,
    disk: Arc<Disk>,
    opened: Mutex<Vec<String>>,
}

impl ModelledEnv {
    /// Makes an environment that reads `inner` at the speed of `model`.
    #[must_use]
    pub fn new(inner: Arc<dyn Env>, model: DiskModel) -> ModelledEnv {
        let head = Head { at: None, busy_until: Instant::now(), counts: ModelCounts::default() };
        let disk = Arc::new(Disk { model, head: Mutex::new(head) });
        ModelledEnv { inner, disk, opened: Mutex::new(Vec::new()) }
    }

    /// Returns the counters since the environment was made.
    #[must_use]
    pub fn counts(&self) -> ModelCounts {
        self.disk.head.lock().counts
    }

    /// Returns a number for each name, so that two handles of one file share the head's place in it.
    fn number(&self, name: &str) -> u64 {
        let mut opened = self.opened.lock();
        let found = opened.iter().position(|known| known == name);
        found.unwrap_or_else(|| {
            opened.push(name.to_owned());
            opened.len() - 1
        }) as u64
    }
}

impl Env for ModelledEnv {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let inner = self.inner.open(name, mode)?;
        Ok(Arc::new(ModelledFile { inner, disk: Arc::clone(&self.disk), number: self.number(name) }))
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        self.inner.exists(name)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn remove_dir(&self, name: &str) -> io::Result<()> {
        self.inner.remove_dir(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.inner.list(dir)
    }

    fn sync_dir(&self, dir: &str) -> io::Result<()> {
        self.inner.sync_dir(dir)
    }

    fn create_dir(&self, name: &str) -> io::Result<()> {
        self.inner.create_dir(name)
    }

    fn lock(&self) -> io::Result<LockGuard> {
        self.inner.lock()
    }

    fn direct_io(&self) -> bool {
        self.inner.direct_io()
    }

    fn times_reads(&self) -> bool {
        true
    }
}

struct ModelledFile {
    inner: Arc<dyn File>,
    disk: Arc<Disk>,
    number: u64,
}

impl ModelledFile {
    fn wait(&self, offset: u64, bytes: usize) {
        let now = Instant::now();
        let wait = self.disk.charge(self.number, offset, bytes as u64, now).saturating_duration_since(now);
        if wait > SHORTEST_SLEEP {
            std::thread::sleep(wait);
        }
    }
}

impl File for ModelledFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.wait(offset, buf.len());
        self.inner.read_at(buf, offset)
    }

    fn read_vectored_at(&self, bufs: &mut [IoSliceMut<'_>], offset: u64) -> io::Result<()> {
        self.wait(offset, bufs.iter().map(|buf| buf.len()).sum());
        self.inner.read_vectored_at(bufs, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_at(buf, offset)
    }

    fn write_vectored_at(&self, bufs: &[IoSlice<'_>], offset: u64) -> io::Result<()> {
        self.inner.write_vectored_at(bufs, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }

    fn size(&self) -> io::Result<u64> {
        self.inner.size()
    }

    fn allocate_range(&self, from: u64, to: u64) -> io::Result<()> {
        self.inner.allocate_range(from, to)
    }

    fn punch(&self, from: u64, to: u64) -> io::Result<()> {
        self.inner.punch(from, to)
    }

    fn allocated(&self) -> io::Result<u64> {
        self.inner.allocated()
    }

    fn truncate(&self, to: u64) -> io::Result<()> {
        self.inner.truncate(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{AlignedBuf, BLOCK, SimulatedEnv};

    /// Charges reads to a disk that has been idle for long. Returns the cost of each.
    fn costs(model: DiskModel, reads: &[(u64, u64, u64)]) -> Vec<Duration> {
        let env = ModelledEnv::new(Arc::new(SimulatedEnv::new()), model);
        let mut now = Instant::now() + Duration::from_secs(10);
        let mut costs = Vec::new();
        for (file, offset, bytes) in reads {
            let done = env.disk.charge(*file, *offset, *bytes, now);
            costs.push(done + SLACK - now);
            now = done + Duration::from_secs(1);
        }
        costs
    }

    fn close(a: Duration, b: Duration) -> bool {
        a.abs_diff(b) < Duration::from_micros(1)
    }

    #[test]
    fn a_seek_a_near_read_and_another_file_cost_what_the_model_says() {
        let page = 16 << 10;
        let far = 1 << 30;
        let costs = costs(
            DiskModel::HDD,
            &[
                (0, 0, page),
                (0, page, page),
                (0, 2 * page + (512 << 10), page),
                (0, far, page),
                (1, far + page, page),
            ],
        );
        let (seek, transfer) = (Duration::from_millis(5), DiskModel::HDD.transfer(page));
        assert!(close(costs[0], seek + transfer), "the first read seeks");
        assert!(close(costs[1], transfer), "a sequential read does not");
        assert!(
            close(costs[2], DiskModel::HDD.transfer(512 << 10) + transfer),
            "a near read pays the gap, at most a seek"
        );
        assert!(close(costs[3], seek + transfer), "a far read seeks");
        assert!(close(costs[4], seek + transfer), "and so does one in another file");
    }

    #[test]
    fn requests_at_one_time_queue_for_the_head() {
        let env = ModelledEnv::new(Arc::new(SimulatedEnv::new()), DiskModel::HDD);
        let now = Instant::now() + Duration::from_secs(10);
        let first = env.disk.charge(0, 0, 4096, now);
        let second = env.disk.charge(0, 1 << 30, 4096, now);
        assert!(close(second - first, Duration::from_millis(5) + DiskModel::HDD.transfer(4096)));
    }

    #[test]
    fn reads_go_through_and_are_counted() {
        let env = ModelledEnv::new(
            Arc::new(SimulatedEnv::new()),
            DiskModel { seek: Duration::ZERO, ..DiskModel::SSD },
        );
        let file = env.open("f", OpenMode::Create).unwrap();
        file.write_at(&AlignedBuf::from_bytes(&[3; 2 * BLOCK]), 0).unwrap();
        let mut buf = AlignedBuf::zeroed(BLOCK);
        file.read_at(&mut buf, 0).unwrap();
        env.open("f", OpenMode::Existing).unwrap().read_at(&mut buf, BLOCK as u64).unwrap();
        assert!(buf.iter().all(|b| *b == 3));
        assert_eq!(env.counts(), ModelCounts { seeks: 1, near: 1, bytes: 2 * BLOCK as u64 });
    }
}
