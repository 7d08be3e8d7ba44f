//! Observes the reads that statements ask for: the figures of the device move towards what was found, slowly.
//!
//! For every so many samples of a kind (`STEP_SINGLE_READS`, `STEP_SCATTERED_READS`, `STEP_SEQUENTIAL_READS`) a figure goes a quarter of the way to their median, on a scale of
//! ratios, and by no more than half of itself. So it is the number of requests that decides how far it goes, and no moment of
//! disorder carries it away. What was not observed stays as it is.

use super::device_profile::DeviceProfile;
use crate::params::{
    MAX_PARALLEL_READS, PROFILE_NEWS, READ_RATES, READ_TIMES_US, STEP_MOST, STEP_SCATTERED_READS,
    STEP_SEQUENTIAL_READS, STEP_SINGLE_READS, STEP_WEIGHT,
};
use leafline_storage::device::ReadSamples;

/// Figures that were observed; the others are those of the class, or as they were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observed {
    /// [`DeviceProfile::random_read_us`].
    pub random_read_us: Option<f64>,
    /// [`DeviceProfile::bytes_per_us`].
    pub bytes_per_us: Option<f64>,
    /// [`DeviceProfile::parallel_reads`].
    pub parallel_reads: Option<f64>,
}

impl Observed {
    /// The figures, where there are none those of `other`.
    pub fn or(&self, other: DeviceProfile) -> DeviceProfile {
        DeviceProfile {
            random_read_us: self.random_read_us.unwrap_or(other.random_read_us),
            bytes_per_us: self.bytes_per_us.unwrap_or(other.bytes_per_us),
            parallel_reads: self.parallel_reads.unwrap_or(other.parallel_reads),
        }
    }

    /// Whether a figure is new, or differs from the one of `before` by what matters to plans.
    pub fn is_news_to(&self, before: &Observed) -> bool {
        let differs = |now: Option<f64>, before: Option<f64>| match (now, before) {
            (Some(now), Some(before)) => !(1.0 / PROFILE_NEWS..=PROFILE_NEWS).contains(&(now / before)),
            (now, before) => now.is_some() != before.is_some(),
        };
        differs(self.random_read_us, before.random_read_us)
            || differs(self.bytes_per_us, before.bytes_per_us)
            || differs(self.parallel_reads, before.parallel_reads)
    }
}

/// Looks at reads.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    /// The rows that were found so far.
    pub observed: Observed,
    /// The numbers of reads that were looked at, by kind.
    single: ReadSamples,
    scattered: ReadSamples,
    sequential: ReadSamples,
}

impl Observer {
    /// Goes on from what was found before.
    pub fn new(observed: Observed) -> Observer {
        Observer { observed, ..Observer::default() }
    }

    /// Looks at all samples so far, of a device that is otherwise thought to be `begun`, and moves the figures.
    pub fn look(&mut self, samples: &ReadSamples, begun: DeviceProfile, page_bytes: usize) {
        let new = samples.since(&self.sequential).sequential;
        if let Some(rate) = new.median().filter(|_| new.count() >= STEP_SEQUENTIAL_READS) {
            let rate = rate.clamp(READ_RATES.0, READ_RATES.1);
            let from = self.observed.or(begun).bytes_per_us;
            self.observed.bytes_per_us = Some(moved(from, rate, new.count() / STEP_SEQUENTIAL_READS));
            self.sequential.clone_from(samples);
        }
        let new = samples.since(&self.single).single_us;
        if let Some(time) = new.median().filter(|_| new.count() >= STEP_SINGLE_READS) {
            let DeviceProfile { random_read_us, bytes_per_us, .. } = self.observed.or(begun);
            // Never nothing, whatever is thought of the rate.
            let time = (time - page_bytes as f64 / bytes_per_us)
                .max(time / 8.0)
                .clamp(READ_TIMES_US.0, READ_TIMES_US.1);
            self.observed.random_read_us = Some(moved(random_read_us, time, new.count() / STEP_SINGLE_READS));
            self.single.clone_from(samples);
        }
        let new = samples.since(&self.scattered);
        if let Some(time) =
            new.scattered_us.median().filter(|_| new.scattered_us.count() >= STEP_SCATTERED_READS)
        {
            let DeviceProfile { random_read_us, bytes_per_us, parallel_reads } = self.observed.or(begun);
            let bytes = new.scattered_bytes as f64 / new.scattered_reads.max(1) as f64;
            let each = (time - bytes / bytes_per_us).max(random_read_us / MAX_PARALLEL_READS);
            let parallel = (random_read_us / each).clamp(1.0, MAX_PARALLEL_READS);
            let steps = new.scattered_us.count() / STEP_SCATTERED_READS;
            self.observed.parallel_reads = Some(moved(parallel_reads, parallel, steps));
            self.scattered.clone_from(samples);
        }
    }
}

/// Where so many steps lead.
fn moved(from: f64, to: f64, steps: u64) -> f64 {
    // By then it is there.
    const MOST: u64 = 1000;
    let mut left = (to / from).ln();
    for _ in 0..steps.min(MOST) {
        left -= (left * STEP_WEIGHT).clamp(-STEP_MOST.ln(), STEP_MOST.ln());
    }
    to / left.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::DeviceClass;
    use leafline_storage::device::ReadTimes;
    use std::time::{Duration, Instant};

    const PAGE: u64 = 16_384;

    /// A device with one arm, or many, that does what a class does; no clock is asked.
    struct Simulated {
        profile: DeviceProfile,
        times: ReadTimes,
        now: Instant,
    }

    impl Simulated {
        fn new(class: DeviceClass) -> Simulated {
            let profile = DeviceProfile::of_class(class);
            Simulated { profile, times: ReadTimes::default(), now: Instant::now() }
        }

        fn read(&mut self, reads: &[(u64, u64)], us_before_each: f64) {
            reads.iter().for_each(|(offset, bytes)| self.times.begin(*offset, *bytes, self.now));
            for (_, bytes) in reads {
                let us = us_before_each + *bytes as f64 / self.profile.bytes_per_us;
                self.now += Duration::from_secs_f64(us / 1e6);
                self.times.end(*bytes, self.now);
            }
            self.now += Duration::from_millis(1);
        }

        fn singles(&mut self, count: u64) {
            let seek = self.profile.random_read_us;
            (0..count).for_each(|number| self.read(&[((number % 9 + 1) * (5 << 30), PAGE)], seek));
        }

        fn scattered(&mut self, stretches: u64) {
            let reads: Vec<(u64, u64)> = (1..=64).map(|number| (number * (5 << 20), PAGE)).collect();
            let seek = self.profile.random_read_us / self.profile.parallel_reads;
            (0..stretches).for_each(|_| self.read(&reads, seek));
        }

        fn sequential(&mut self, stretches: u64) {
            let reads: Vec<(u64, u64)> = (0..16).map(|number| (number << 20, 1 << 20)).collect();
            (0..stretches).for_each(|_| self.read(&reads, 0.0));
        }
    }

    fn is_about(found: DeviceProfile, expected: DeviceProfile) -> bool {
        let close = |found: f64, expected: f64| (found / expected).ln().abs() < 0.2;
        close(found.random_read_us, expected.random_read_us)
            && close(found.bytes_per_us, expected.bytes_per_us)
            && close(found.parallel_reads, expected.parallel_reads)
    }

    #[test]
    fn a_profile_of_the_wrong_class_becomes_that_of_the_device() {
        let classes = [DeviceClass::Rotating, DeviceClass::SolidState, DeviceClass::Nvme];
        for (is, thought) in classes.into_iter().flat_map(|is| classes.map(|thought| (is, thought))) {
            let (mut device, mut observer) = (Simulated::new(is), Observer::default());
            let begun = DeviceProfile::of_class(thought);
            let mut looks = 0;
            while !is_about(observer.observed.or(begun), device.profile) || looks < 2 {
                device.singles(STEP_SINGLE_READS);
                device.scattered(STEP_SCATTERED_READS);
                device.sequential(STEP_SEQUENTIAL_READS);
                observer.look(&device.times.samples(), begun, PAGE as usize);
                looks += 1;
                assert!(looks <= 40, "{is:?} for {thought:?}: {:?}", observer.observed);
            }
            // It is the number of requests that counts, and not how often somebody looks.
            let mut at_once = Observer::default();
            at_once.look(&device.times.samples(), begun, PAGE as usize);
            assert!(is_about(at_once.observed.or(begun), device.profile), "{:?}", at_once.observed);
        }
    }

    #[test]
    fn few_reads_say_nothing_and_a_step_is_small() {
        let (mut device, mut observer) = (Simulated::new(DeviceClass::Rotating), Observer::default());
        let begun = DeviceProfile::of_class(DeviceClass::Nvme);
        device.singles(STEP_SINGLE_READS - 1);
        device.scattered(STEP_SCATTERED_READS - 1);
        device.sequential(STEP_SEQUENTIAL_READS - 1);
        observer.look(&device.times.samples(), begun, PAGE as usize);
        assert_eq!(observer.observed, Observed::default());
        device.singles(1);
        observer.look(&device.times.samples(), begun, PAGE as usize);
        let first = observer.observed;
        let step = first.random_read_us.map_or(0.0, |us| us / begun.random_read_us);
        assert!((step - STEP_MOST).abs() < 1e-9, "{step}");
        assert_eq!((first.bytes_per_us, first.parallel_reads), (None, None));
        assert!(first.is_news_to(&Observed::default()) && !first.is_news_to(&first));
        observer.look(&device.times.samples(), begun, PAGE as usize);
        assert_eq!(observer.observed, first, "nothing was read meanwhile");
        let hardly = Observed { random_read_us: first.random_read_us.map(|us| us * 1.05), ..first };
        assert!(!hardly.is_news_to(&first));
    }
}
