//! Learns the speed of the device from the reads of everyday work, which say more about it than a test.
//!
//! While reads are in flight the device is at work. Such a period is a sample if all its reads are of one kind:
//!
//! | kind | the period has | sample |
//! |---|---|---|
//! | single | one read of a page, far from the one before | its time |
//! | scattered | small reads, many in flight, most of them far from the one before | time per read |
//! | sequential | large reads, hardly any of them far from the one before | bytes per microsecond |
//!
//! Other periods are ignored. Samples are counted in histograms whose classes are an eighth of an octave wide. Users
//! take the median, which a few unusually slow or fast reads do not move. Where reads may come from the memory of the
//! machine ([`crate::Env::times_reads`] is false), the samples must not be used.

use leafline_invariant::invariant;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Smallest distance in bytes of two reads that count as far from each other: more than any disk passes over in the
/// time of a seek.
const FAR: u64 = 1 << 20;
/// Largest average size of small reads in bytes.
const SMALL: u64 = 64 << 10;
/// Smallest average size of large reads in bytes.
const LARGE: u64 = 256 << 10;
/// Smallest number of bytes in a sequential period.
const SEQUENTIAL: u64 = 4 << 20;
/// Smallest number of reads in a scattered period.
const SCATTERED: u64 = 16;
/// Smallest average number of reads in flight in a scattered period.
const DEEP: u64 = 8;
/// Number of reads after which a period ends, even though others are in flight.
const LONG: u64 = 256;
/// Classes of the histogram per octave.
const FINE: f64 = 8.0;
/// Number of classes: enough for 16 seconds in microseconds.
const CLASSES: usize = 192;

/// A histogram of numbers from 1 up.
#[derive(Clone, PartialEq, Debug)]
pub struct Sizes([u64; CLASSES]);

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes([0; CLASSES])
    }
}

impl Sizes {
    /// Returns how many numbers it holds.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the median, exact to about 5 %.
    pub fn median(&self) -> Option<f64> {
        let middle = self.count().div_ceil(2);
        let mut seen = 0;
        let class = self.0.iter().position(|count| {
            seen += count;
            *count > 0 && seen >= middle
        })?;
        Some(((class as f64 + 0.5) / FINE).exp2())
    }

    fn since(&self, before: &Sizes) -> Sizes {
        let mut since = self.clone();
        since.0.iter_mut().zip(before.0).for_each(|(count, before)| *count -= before.min(*count));
        since
    }
}

/// The samples of read times of a file.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct ReadSamples {
    /// Times of single reads, microseconds.
    pub single_us: Sizes,
    /// Times per read of scattered periods, microseconds.
    pub scattered_us: Sizes,
    /// Number of reads in scattered periods.
    pub scattered_reads: u64,
    /// Bytes read in scattered periods.
    pub scattered_bytes: u64,
    /// Rates of sequential periods, bytes per microsecond.
    pub sequential: Sizes,
}

impl ReadSamples {
    /// Returns the samples that were added after `before`.
    #[must_use]
    pub fn since(&self, before: &ReadSamples) -> ReadSamples {
        ReadSamples {
            single_us: self.single_us.since(&before.single_us),
            scattered_us: self.scattered_us.since(&before.scattered_us),
            scattered_reads: self.scattered_reads.saturating_sub(before.scattered_reads),
            scattered_bytes: self.scattered_bytes.saturating_sub(before.scattered_bytes),
            sequential: self.sequential.since(&before.sequential),
        }
    }
}

/// Collects the samples of the reads of one file.
#[derive(Debug, Default)]
pub struct ReadTimes {
    work: Mutex<Work>,
    single_us: ReadCounts,
    scattered_us: ReadCounts,
    scattered_reads: AtomicU64,
    scattered_bytes: AtomicU64,
    sequential: ReadCounts,
}

#[derive(Debug)]
struct ReadCounts([AtomicU64; CLASSES]);

impl Default for ReadCounts {
    fn default() -> ReadCounts {
        ReadCounts([const { AtomicU64::new(0) }; CLASSES])
    }
}

impl ReadCounts {
    fn add(&self, number: f64) {
        let class = (number.max(1.0).log2() * FINE) as usize;
        self.0[class.min(CLASSES - 1)].fetch_add(1, Ordering::Relaxed);
    }

    fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::default();
        sizes.0.iter_mut().zip(&self.0).for_each(|(to, from)| *to = from.load(Ordering::Relaxed));
        sizes
    }
}

/// The present work of the device.
#[derive(Debug, Default)]
struct Work {
    in_flight: u64,
    /// Of the reads since the device was idle: their number, how many were far from the one before, and the sum of
    /// the reads in flight when each began, itself included.
    asked: u64,
    far: u64,
    depths: u64,
    /// Offset at which the last read ends.
    last_end: u64,
    /// Of the present period: its beginning, and the number and bytes of the reads that are done.
    begun: Option<Instant>,
    done: u64,
    bytes: u64,
}

impl ReadTimes {
    /// Records that a read of `bytes` at `offset` has begun.
    pub fn begin(&self, offset: u64, bytes: u64, now: Instant) {
        let mut work = self.work.lock();
        if work.in_flight == 0 {
            *work = Work { last_end: work.last_end, begun: Some(now), ..Work::default() };
        }
        work.in_flight += 1;
        work.asked += 1;
        work.depths += work.in_flight;
        work.far += u64::from(work.last_end.abs_diff(offset) > FAR);
        work.last_end = offset + bytes;
    }

    /// Records that a read of `bytes` is done.
    pub fn end(&self, bytes: u64, now: Instant) {
        let mut work = self.work.lock();
        invariant!(work.in_flight > 0, "a read ends that was not begun");
        work.in_flight -= 1;
        work.done += 1;
        work.bytes += bytes;
        if work.in_flight == 0 || work.done >= LONG {
            if let Some(begun) = work.begun {
                self.note(&work, now.saturating_duration_since(begun).as_secs_f64() * 1e6);
            }
            (work.begun, work.done, work.bytes) = (Some(now), 0, 0);
        }
    }

    fn note(&self, work: &Work, time_us: f64) {
        let Work { asked, far, depths, done, bytes, .. } = *work;
        if asked == 1 && far == 1 && bytes <= SMALL {
            self.single_us.add(time_us);
        } else if done >= SCATTERED && bytes <= done * SMALL && far * 4 >= asked * 3 && depths >= asked * DEEP
        {
            self.scattered_us.add(time_us / done as f64);
            self.scattered_reads.fetch_add(done, Ordering::Relaxed);
            self.scattered_bytes.fetch_add(bytes, Ordering::Relaxed);
        } else if bytes >= SEQUENTIAL && bytes >= done * LARGE && far * 4 <= asked {
            self.sequential.add(bytes as f64 / time_us.max(f64::MIN_POSITIVE));
        }
    }

    /// Returns the samples so far.
    pub fn samples(&self) -> ReadSamples {
        ReadSamples {
            single_us: self.single_us.sizes(),
            scattered_us: self.scattered_us.sizes(),
            scattered_reads: self.scattered_reads.load(Ordering::Relaxed),
            scattered_bytes: self.scattered_bytes.load(Ordering::Relaxed),
            sequential: self.sequential.sizes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const PAGE: u64 = 16 << 10;

    /// Begins all of `reads` together, and ends each `each_us` microseconds after the one before.
    fn batch(times: &ReadTimes, now: &mut Instant, reads: &[(u64, u64)], each_us: u64) {
        reads.iter().for_each(|(offset, bytes)| times.begin(*offset, *bytes, *now));
        for (_, bytes) in reads {
            *now += Duration::from_micros(each_us);
            times.end(*bytes, *now);
        }
        *now += Duration::from_millis(3);
    }

    fn scattered(count: u64) -> Vec<(u64, u64)> {
        (1..=count).map(|number| (number * (3 << 20), PAGE)).collect()
    }

    fn close(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found / expected).ln().abs() < 0.09)
    }

    #[test]
    fn reads_are_told_apart_by_what_they_cost_a_device() {
        let (times, mut now) = (ReadTimes::default(), Instant::now());
        for number in 1..100 {
            batch(&times, &mut now, &[(number * (7 << 20), PAGE)], 120);
        }
        batch(&times, &mut now, &scattered(40), 25);
        let large: Vec<(u64, u64)> = (0..8).map(|number| (number << 20, 1 << 20)).collect();
        batch(&times, &mut now, &large, 1000);
        let found = times.samples();
        assert_eq!(
            (found.single_us.count(), found.scattered_us.count(), found.sequential.count()),
            (99, 1, 1)
        );
        assert!(close(found.single_us.median(), 120.0), "{found:?}");
        assert!(close(found.scattered_us.median(), 25.0), "{found:?}");
        assert!(close(found.sequential.median(), 1048.6), "{found:?}");
        assert_eq!((found.scattered_reads, found.scattered_bytes), (40, 40 * PAGE));
        // A few reads of another time do not move the median, however long they take.
        for number in 1..30 {
            batch(&times, &mut now, &[(number * (11 << 20), PAGE)], 900_000);
        }
        assert!(close(times.samples().single_us.median(), 120.0));
        let since = times.samples().since(&found);
        assert_eq!((since.single_us.count(), since.scattered_us.count()), (29, 0));
        assert!(close(since.single_us.median(), 900_000.0));
    }

    #[test]
    fn periods_of_no_kind_are_ignored() {
        let (times, mut now) = (ReadTimes::default(), Instant::now());
        batch(&times, &mut now, &[(4096, PAGE)], 50);
        batch(&times, &mut now, &[(4096 + 2 * PAGE, PAGE)], 50);
        batch(&times, &mut now, &scattered(5), 50);
        let neighbours: Vec<(u64, u64)> = (0..40).map(|number| (number * 3 * PAGE, PAGE)).collect();
        batch(&times, &mut now, &neighbours, 50);
        let jumps: Vec<(u64, u64)> = (0..8).map(|number| (number * (9 << 20), 1 << 20)).collect();
        batch(&times, &mut now, &jumps, 5000);
        let mut shallow = scattered(60).into_iter();
        times.begin(9 << 30, PAGE, now);
        for (offset, bytes) in shallow.by_ref() {
            times.begin(offset, bytes, now);
            now += Duration::from_micros(50);
            times.end(bytes, now);
        }
        times.end(PAGE, now);
        assert_eq!(times.samples(), ReadSamples::default());
        assert_eq!(times.samples().single_us.median(), None);
    }

    #[test]
    fn a_device_that_is_never_idle_is_heard_of() {
        let (times, mut now) = (ReadTimes::default(), Instant::now());
        let reads = scattered(5000);
        reads.iter().take(32).for_each(|(offset, bytes)| times.begin(*offset, *bytes, now));
        for (offset, bytes) in &reads[32..] {
            now += Duration::from_micros(30);
            times.end(PAGE, now);
            times.begin(*offset, *bytes, now);
        }
        let found = times.samples();
        assert_eq!(found.scattered_us.count(), (5000 - 32) / LONG);
        assert!(close(found.scattered_us.median(), 30.0));
    }
}
