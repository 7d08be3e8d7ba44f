//! Measures how fast a device reads, with a file of its own, in a few seconds.

use super::aligned::AlignedBuf;
use super::env::{Env, File, OpenMode};
use super::queue::{IoQueue, PageRead};
use super::request::ReadTarget;
use leafline_invariant::invariant;
use parking_lot::{Condvar, Mutex};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Name of the file that is read. It is removed afterwards.
const FILE: &str = "calibration";
/// Size of the file: more than a device caches of the last writes, and little enough for any disk.
const FILE_BYTES: u64 = 256 << 20;
/// Bytes of a page.
const PAGE: usize = 16 << 10;
/// Pages in a batch.
const BATCH: usize = 64;
/// Bytes that are written at a time, and the unit of sequential reads.
const LARGE: usize = 1 << 20;
/// Bytes of sequential reads that are in flight together.
const WINDOW: usize = 16 << 20;
/// Time of each of the measurements.
const TIME: Duration = Duration::from_secs(1);
/// Number of threads where there is no io_uring.
const THREADS: usize = 4;

/// The results of the measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Median time of one read of 16 KiB at a random place, with nothing else in flight, in microseconds.
    pub single_read_us: f64,
    /// Time per read of 64 such reads that are requested together, in microseconds.
    pub batched_read_us: f64,
    /// Rate of sequential reads of 1 MiB, several in flight, in bytes per microsecond.
    pub bytes_per_us: f64,
}

/// Measures the device that holds the files of `env`.
///
/// # Errors
/// If 256 MiB cannot be written there, or cannot be read.
pub fn measure(env: &dyn Env) -> io::Result<Measured> {
    measure_with(env, FILE_BYTES)
}

fn measure_with(env: &dyn Env, file_bytes: u64) -> io::Result<Measured> {
    if env.exists(FILE)? {
        env.remove(FILE)?;
    }
    let file = env.open(FILE, OpenMode::CreateNew)?;
    let measured = fill(&*file, file_bytes).and_then(|()| measure_file(&file, file_bytes));
    drop(file);
    env.remove(FILE)?;
    measured
}

fn fill(file: &dyn File, file_bytes: u64) -> io::Result<()> {
    let mut buffer = AlignedBuf::zeroed(LARGE);
    // The bytes are not zeros, because a device may answer reads of zeros without having stored them.
    let mut seed = 1;
    buffer.iter_mut().for_each(|byte| *byte = next(&mut seed) as u8);
    for offset in (0..file_bytes).step_by(LARGE) {
        file.write_at(&buffer, offset)?;
    }
    file.sync()
}

fn measure_file(file: &Arc<dyn File>, file_bytes: u64) -> io::Result<Measured> {
    let mut seed = 2;
    let mut somewhere = || next(&mut seed) % (file_bytes / PAGE as u64) * PAGE as u64;
    let mut buffer = AlignedBuf::zeroed(PAGE);
    let (begun, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || begun.elapsed() < TIME {
        let (offset, before) = (somewhere(), Instant::now());
        file.read_at(&mut buffer, offset)?;
        times.push(before.elapsed());
    }
    times.sort_unstable();
    let single_read_us = times.get(times.len() / 2).map_or(0.0, |time| micros(*time));
    let queue = IoQueue::new(Arc::clone(file), THREADS)?;
    let (begun, mut pages) = (Instant::now(), 0);
    while pages == 0 || begun.elapsed() < TIME {
        read(&queue, (0..BATCH).map(|_| somewhere()))?;
        pages += BATCH;
    }
    let batched_read_us = micros(begun.elapsed()) / pages as f64;
    let (begun, mut bytes) = (Instant::now(), 0);
    while bytes == 0 || begun.elapsed() < TIME {
        let start = bytes as u64 % (file_bytes - WINDOW as u64) / LARGE as u64 * LARGE as u64;
        read(&queue, (0..WINDOW / PAGE).map(|page| start + (page * PAGE) as u64))?;
        bytes += WINDOW;
    }
    let bytes_per_us = bytes as f64 / micros(begun.elapsed());
    Ok(Measured { single_read_us, batched_read_us, bytes_per_us })
}

/// Reads pages, all in flight together, and waits for them.
fn read(queue: &IoQueue<Page>, offsets: impl Iterator<Item = u64>) -> io::Result<()> {
    let waiting = Arc::new(Waiting::default());
    let reads: Vec<PageRead<Page>> = offsets
        .map(|offset| {
            let page = Page { buffer: AlignedBuf::zeroed(PAGE), waiting: Arc::clone(&waiting) };
            PageRead { offset, target: page }
        })
        .collect();
    waiting.state.lock().0 = reads.len();
    queue.submit(reads);
    let mut state = waiting.state.lock();
    while state.0 > 0 {
        waiting.done.wait(&mut state);
    }
    state.1.take().map_or(Ok(()), Err)
}

/// The place where a batch is waited for: the number of reads that are left, and an error if there was one.
#[derive(Default)]
struct Waiting {
    state: Mutex<(usize, Option<io::Error>)>,
    done: Condvar,
}

/// A page that is read and discarded.
struct Page {
    buffer: AlignedBuf,
    waiting: Arc<Waiting>,
}

impl ReadTarget for Page {
    fn buffer(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    fn complete(self, result: io::Result<()>) {
        let mut state = self.waiting.state.lock();
        invariant!(state.0 > 0, "a read ends that was not begun");
        state.0 -= 1;
        if let Err(error) = result {
            state.1 = Some(error);
        }
        if state.0 == 0 {
            self.waiting.done.notify_one();
        }
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Returns pseudo-random numbers without a pattern that a device could foresee (Steele, Lea and Flood, OOPSLA 2014).
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DiskModel, ModelledEnv, SimulatedEnv};

    #[test]
    fn a_disk_with_a_head_is_seen_to_have_one() {
        let inner: Arc<dyn Env> = Arc::new(SimulatedEnv::new());
        let env = ModelledEnv::new(Arc::clone(&inner), DiskModel::HDD);
        let measured = measure_with(&env, 64 << 20).expect("a measured disk");
        let seek = DiskModel::HDD.seek.as_secs_f64() * 1e6;
        // Some pages lie near the one before, and no page is read in less time than its transfer takes.
        assert!(measured.single_read_us >= seek, "{measured:?}");
        assert!(measured.bytes_per_us < 110.0, "{measured:?}");
        assert!(measured.batched_read_us > 1_000.0, "{measured:?}");
        assert!(!inner.exists(FILE).expect("a look"), "the file is left");
    }
}
