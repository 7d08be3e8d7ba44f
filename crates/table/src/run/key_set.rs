//! Sets of byte keys that may be larger than memory: in runs that are searched, of which a Bloom filter says for most keys that they
//! are not there. Sixteen runs of a level are merged into one of the next.

use super::merge::{EntrySource, Merge};
use super::{IndexedRun, IndexedRunWriter};
use crate::error::Result;
use leafline_storage::Env;
use leafline_types::CancelToken;
use std::sync::Arc;

/// Runs of a level that are merged into one of the next.
const FAN_IN: usize = 16;

/// Keys in files.
pub struct KeySet {
    env: Arc<dyn Env>,
    /// Larger ones first, and no key in two of them.
    runs: Vec<(u32, IndexedRun)>,
}

impl KeySet {
    pub(crate) fn new(env: &Arc<dyn Env>) -> KeySet {
        KeySet { env: env.clone(), runs: Vec::new() }
    }

    /// Whether a key was added. Keys that are asked for in their order are found with fewer reads.
    ///
    /// # Errors
    /// A run cannot be read.
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        for (_, run) in &self.runs {
            if run.get(key)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds `count` keys that ascend, none of which is there.
    ///
    /// # Errors
    /// A run cannot be written, or the work was cancelled.
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

    /// One run of those from `from` on.
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

    /// Bytes of memory that looking for keys takes.
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
        // Two merged twice, and three that came last.
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
