//! Samples of the statements with the most time, over the last half hour.

use super::statements::StatementId;
use crate::digest::Digest;
use crate::instance::Instance;
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Number of kept samples.
const SAMPLES: usize = 360;
/// Number of digests in a sample.
const TOP: usize = 12;

/// The statements that ended between two looks.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Time of the sample, milliseconds since 1970.
    pub at: u64,
    /// Time since the previous sample.
    pub length: Duration,
    /// Digests with their time and number of executions, the most time first.
    pub loads: Vec<(StatementId, Duration, u64)>,
    /// Time and executions of all other statements.
    pub rest: (Duration, u64),
}

/// Takes and keeps samples.
#[derive(Debug, Default)]
pub struct History {
    /// The figures at the last look, by the address of the digest.
    last: HashMap<usize, (Weak<Digest>, Duration, u64)>,
    looked: Option<SystemTime>,
    samples: VecDeque<Sample>,
}

impl History {
    /// Takes a sample.
    pub fn look(&mut self, instance: &Instance) {
        let now = SystemTime::now();
        let mut grown: Vec<(Arc<Digest>, Duration, u64)> = Vec::new();
        let mut counted = HashMap::with_capacity(self.last.len());
        for digest in instance.digests().all() {
            let counts = digest.counts();
            let place = Arc::as_ptr(&digest) as usize;
            let before = self.last.remove(&place).filter(|(known, ..)| known.strong_count() > 0);
            let (time, executions) = before.map_or((Duration::ZERO, 0), |(_, time, count)| (time, count));
            counted.insert(place, (Arc::downgrade(&digest), counts.time, counts.executions));
            // The digest may have been reset.
            let more = counts.executions.checked_sub(executions).unwrap_or(counts.executions);
            let took = counts.time.checked_sub(time).unwrap_or(counts.time);
            if more > 0 {
                grown.push((digest, took, more));
            }
        }
        self.last = counted;
        let Some(before) = self.looked.replace(now) else { return };
        grown.sort_by_key(|(_, took, _)| Reverse(*took));
        let others = grown.split_off(grown.len().min(TOP));
        let mut rest =
            others.iter().fold((Duration::ZERO, 0), |sum, (_, time, n)| (sum.0 + *time, sum.1 + n));
        let mut loads = Vec::with_capacity(grown.len());
        for (digest, time, executions) in grown {
            match StatementId::of(&digest) {
                Some(id) => loads.push((id, time, executions)),
                None => rest = (rest.0 + time, rest.1 + executions),
            }
        }
        if self.samples.len() == SAMPLES {
            self.samples.pop_front();
        }
        let at = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let length = now.duration_since(before).unwrap_or_default();
        self.samples.push_back(Sample { at: u64::try_from(at).unwrap_or(u64::MAX), length, loads, rest });
    }

    /// The kept samples, oldest first.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InstanceOptions;
    use leafline_storage::device::SimulatedEnv;

    #[test]
    fn a_sample_has_what_ran_since_the_one_before() {
        let instance = Instance::open(Arc::new(SimulatedEnv::new()), InstanceOptions::default()).unwrap();
        let mut session = instance.connect().unwrap();
        let mut run = |sql: &str| {
            let outcome = session.execute(sql).unwrap();
            let crate::Outcome::Rows(mut rows) = outcome else { return };
            while rows.next_batch(&mut session).unwrap().is_some() {}
        };
        let mut history = History::default();
        run("SELECT 1");
        history.look(&instance);
        assert_eq!(history.samples().count(), 0, "nobody knows when that ran");
        (0..20).for_each(|column| run(&format!("SELECT 1 AS c{column}")));
        run("SELECT 2");
        run("SELECT 3");
        history.look(&instance);
        history.look(&instance);
        let samples: Vec<&Sample> = history.samples().collect();
        let [first, second] = samples[..] else { panic!("two samples") };
        let count = first.rest.1 + first.loads.iter().map(|(.., count)| count).sum::<u64>();
        assert_eq!((first.loads.len(), count), (TOP, 22));
        assert!(second.loads.is_empty() && second.rest.1 == 0);
        run("TRUNCATE TABLE performance_schema.events_statements_summary_by_digest");
        run("SELECT 5");
        history.look(&instance);
        let last = history.samples().last().unwrap();
        assert!(last.loads.iter().map(|(.., count)| count).sum::<u64>() >= 1, "{last:?}");
    }
}
