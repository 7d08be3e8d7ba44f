//! Histogram of execution times: counts in a fixed number of classes.
//!
//! A class is an eighth of an octave (9 %) wide. The first class has all times up to [`LEAST`], the last all
//! times longer than a quarter of an hour. A quantile is the upper end of its class, so it is too large by 9
//! % at most. When a class is full, all counts are halved, which keeps the shares.

use std::array;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Classes of an octave, as a power of two.
const STEPS: u32 = 3;
/// Number of octaves.
const OCTAVES: u32 = 32;
/// Number of classes.
pub const CLASSES: usize = (OCTAVES << STEPS) as usize;
/// Upper end of the times in the first class: nanoseconds, as a power of two.
const LEAST: u32 = 8;

/// Counts of the classes: 1 KiB.
#[derive(Debug)]
pub struct Histogram([AtomicU32; CLASSES]);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram(array::from_fn(|_| AtomicU32::new(0)))
    }
}

/// The class of a time.
fn class_of(time: Duration) -> usize {
    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1 << LEAST);
    let octave = nanoseconds.ilog2();
    // The bits after the first one.
    let step = (nanoseconds >> (octave - STEPS)) & ((1 << STEPS) - 1);
    let class = u64::from((octave - LEAST) << STEPS) + step;
    usize::try_from(class).unwrap_or(CLASSES).min(CLASSES - 1)
}

/// Upper end of a class.
fn end_of(class: usize) -> Duration {
    let next = class as u64 + 1;
    let octave = (next >> STEPS) + u64::from(LEAST);
    let step = next & ((1 << STEPS) - 1);
    Duration::from_nanos((1 << octave) + (step << (octave - u64::from(STEPS))))
}

impl Histogram {
    /// Counts `times` executions of duration `time`.
    pub fn add(&self, time: Duration, times: u32) {
        let Some(class) = self.0.get(class_of(time)) else { return };
        if class.fetch_add(times, Ordering::Relaxed) > u32::MAX / 2 {
            for class in &self.0 {
                // A concurrent count may be lost, which is little of so many.
                class.store(class.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
            }
        }
    }

    /// The counts of all classes.
    pub fn counts(&self) -> Vec<u32> {
        self.0.iter().map(|class| class.load(Ordering::Relaxed)).collect()
    }

    /// Sets the count of a class.
    pub fn set(&self, class: usize, count: u32) {
        if let Some(class) = self.0.get(class) {
            class.store(count, Ordering::Relaxed);
        }
    }

    /// Sets all counts to zero.
    pub fn reset(&self) {
        self.0.iter().for_each(|class| class.store(0, Ordering::Relaxed));
    }
}

/// The time that this share of executions does not exceed, by the counts of the classes; `None` without
/// executions.
pub fn quantile(counts: &[u32], share: f64) -> Option<Duration> {
    let all: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let wanted = ((all as f64 * share).ceil() as u64).max(1);
    let mut sum = 0;
    let class = counts.iter().position(|count| {
        sum += u64::from(*count);
        sum >= wanted
    });
    class.filter(|_| all > 0).map(end_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_in_the_class_that_ends_behind_it_within_an_eighth() {
        let mut last = 0;
        for nanoseconds in (0..200_000).chain((1..1 << 39).step_by(123_456_789)) {
            let time = Duration::from_nanos(nanoseconds);
            let class = class_of(time);
            assert!(class >= last || nanoseconds == 1, "{nanoseconds}");
            last = class;
            let end = end_of(class).as_nanos() as u64;
            assert!(nanoseconds < end, "{nanoseconds} ns, end {end}");
            assert!(
                nanoseconds < 256 || end <= nanoseconds + nanoseconds / 8 + 1,
                "{nanoseconds} ns, end {end}"
            );
        }
        assert_eq!(class_of(Duration::MAX), CLASSES - 1);
    }

    #[test]
    fn quantiles_are_those_of_what_was_counted() {
        let histogram = Histogram::default();
        assert_eq!(quantile(&histogram.counts(), 0.95), None);
        (0..95).for_each(|_| histogram.add(Duration::from_millis(1), 1));
        histogram.add(Duration::from_secs(1), 5);
        let counts = histogram.counts();
        let of = |share| quantile(&counts, share).map_or(0.0, |time| time.as_secs_f64());
        assert!((0.001..0.00113).contains(&of(0.95)), "{}", of(0.95));
        assert!((1.0..1.13).contains(&of(0.96)), "{}", of(0.96));
        assert_eq!(of(0.999), of(0.96));
    }

    #[test]
    fn shares_outlast_a_class_that_is_full() {
        let histogram = Histogram::default();
        for _ in 0..40 {
            histogram.add(Duration::from_millis(1), 90 << 20);
            histogram.add(Duration::from_secs(1), 10 << 20);
        }
        let counts = histogram.counts();
        let (small, large) =
            (counts[class_of(Duration::from_millis(1))], counts[class_of(Duration::from_secs(1))]);
        let share = f64::from(large) / f64::from(large + small);
        assert!((0.08..0.12).contains(&share), "{share}");
    }
}
