//! Sets of byte keys that may be larger than memory. The keys are in searchable runs, whose Bloom filters
//! show for most absent keys that they are absent. Sixteen runs of a level are merged into one of the next
//! level.

use super::merge::{EntrySource, Merge};
use super::{IndexedRun, IndexedRunWriter};
use crate::error::Result;
use leafline_storage::Env;
use leafline_types::CancelToken;
use std::sync::Arc;

/// The number of runs of a level that are merged into one of the next level.
const FAN_IN: usize = 16;

/// Keys in files.
pub struct KeySet {
    env: Arc<dyn Env>,
    /// The runs with their levels, higher levels first. No key is in two runs.
    runs: Vec<(u32, IndexedRun)>,
}

impl KeySet {
    pub(crate) fn new(env: &Arc<dyn Env>) -> KeySet {
        KeySet { env: env.clone(), runs: Vec::new() }
    }

    /// Returns whether a key was added. Keys looked up in ascending order need fewer reads.
    ///
    /// # Errors
    /// Errors of reading a run.
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        for (_, run) in &self.runs {
            if run.get(key)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds `count` ascending keys, none of which may be in the set.
    ///
    /// # Errors
    /// Errors of writing a run; the error of a cancellation.
    pub fn add<'k>(
        &mut self,
        keys: impl Iterator<Item = &'k [u8]>,
        count: usize,
        cancel: &CancelToken,
    ) -> Result<()> {
        let mut writer = IndexedRunWriter::create(&self.env, count as u64)?;
        for key in keys {
            writer.push(key, &[])?;
        }
        self.runs.push((0, writer.finish()?));
        while let Some((level, _)) = self.runs.last() {
            let level = *level;
            let from = self.runs.partition_point(|(of, _)| *of > level);
            if self.runs.len() - from < FAN_IN {
                break;
            }
            let merged = self.merge(from, cancel)?;
            self.runs.truncate(from);
            self.runs.push((level + 1, merged));
        }
        Ok(())
    }

    /// Merges the runs from `from` on into one.
    fn merge(&self, from: usize, cancel: &CancelToken) -> Result<IndexedRun> {
        let runs = &self.runs[from..];
        let keys = runs.iter().map(|(_, run)| run.entries()).sum();
        let sources = runs.iter().map(|(_, run)| Box::new(run.reader()) as Box<dyn EntrySource>);
        let mut merge = Merge::new(sources.collect())?;
        let mut writer = IndexedRunWriter::create(&self.env, keys)?;
        while let Some((key, _)) = merge.next()? {
            cancel.check()?;
            writer.push(key, &[])?;
        }
        writer.finish()
    }

    /// The memory that look-ups need, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.runs.iter().map(|(_, run)| run.memory_bytes()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafline_storage::device::SimulatedEnv;
    use leafline_types::statement::CancelReason;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeSet;

    #[test]
    fn keys_are_found_through_merges_and_files_are_removed() {
        let seed = crate::testing::seed();
        let mut random = SmallRng::seed_from_u64(seed);
        let env: Arc<dyn Env> = Arc::new(SimulatedEnv::new());
        let cancel = CancelToken::new();
        let (mut set, mut model) = (KeySet::new(&env), BTreeSet::new());
        for round in 0..2 * FAN_IN * FAN_IN + 3 {
            let mut new = BTreeSet::new();
            for _ in 0..random.random_range(1..9) {
                let key = random.random_range(0..20_000u32).to_string().into_bytes();
                assert_eq!(set.contains(&key).unwrap(), model.contains(&key), "seed {seed}, round {round}");
                if !model.contains(&key) {
                    new.insert(key);
                }
            }
            set.add(new.iter().map(Vec::as_slice), new.len(), &cancel).unwrap();
            model.extend(new);
        }
        // Two runs merged twice, and the last three.
        assert_eq!(set.runs.iter().map(|(level, _)| *level).collect::<Vec<_>>(), [2, 2, 0, 0, 0]);
        assert!(model.iter().all(|key| set.contains(key).unwrap()), "seed {seed}");
        assert!(set.memory_bytes() > 0);
        for number in 0..FAN_IN as u32 - 4 {
            set.add([&number.to_be_bytes()[..]].into_iter(), 1, &cancel).unwrap();
        }
        cancel.cancel(CancelReason::QueryKilled);
        let killed = set.add([&[0xff, 0xff][..]].into_iter(), 1, &cancel).unwrap_err();
        assert_eq!(leafline_types::MysqlError::from(killed).code, 1317);
        drop(set);
        assert!(env.list(super::super::TEMP).unwrap().is_empty());
    }
}
