//! Where statistics are kept, and when they are made anew.
//!
//! A sample serves until a tenth of its table has been written since. Who then asks first samples anew; the others
//! go on with what there is, so that nobody waits for a sample but who takes it.

use crate::params::STALE_SHARE;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// How far a table had come when it was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Age {
    /// Its rows.
    pub rows: f64,
    /// Rows inserted, changed and deleted since the engine was opened.
    pub writes: u64,
}

impl Age {
    fn is_over(&self, now: Age) -> bool {
        let written = now.writes.wrapping_sub(self.writes) as f64;
        written.max((self.rows - now.rows).abs()) > self.rows * STALE_SHARE
    }
}

#[derive(Debug)]
struct Entry<T> {
    found: Arc<T>,
    age: Age,
    /// Somebody is about to replace it.
    renewing: Arc<AtomicBool>,
}

/// Samples by the objects that they are of.
#[derive(Debug)]
pub(super) struct Kept<K, T>(RwLock<HashMap<K, Entry<T>>>);

impl<K, T> Default for Kept<K, T> {
    fn default() -> Self {
        Kept(RwLock::default())
    }
}

impl<K: Eq + Hash, T> Kept<K, T> {
    /// Returns the sample that is known, or else takes one by `sample`.
    pub fn get<E>(&self, key: K, now: Age, sample: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        let known = {
            let entries = self.0.read().unwrap_or_else(PoisonError::into_inner);
            entries.get(&key).map(|entry| (entry.found.clone(), entry.age, entry.renewing.clone()))
        };
        if let Some((found, age, renewing)) = known {
            if !age.is_over(now) || renewing.swap(true, Ordering::AcqRel) {
                return Ok(found);
            }
            return match sample() {
                Ok(found) => Ok(self.put(key, found, now)),
                Err(error) => {
                    renewing.store(false, Ordering::Release);
                    Err(error)
                }
            };
        }
        Ok(self.put(key, sample()?, now))
    }

    fn put(&self, key: K, found: T, age: Age) -> Arc<T> {
        let found = Arc::new(found);
        let entry = Entry { found: found.clone(), age, renewing: Arc::default() };
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key, entry);
        found
    }

    /// Forgets what `is_meant` says.
    pub fn forget(&self, is_meant: impl Fn(&K) -> bool) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|key, _| !is_meant(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn age(rows: f64, writes: u64) -> Age {
        Age { rows, writes }
    }

    fn get(kept: &Kept<u8, u8>, now: Age, value: u8) -> u8 {
        *kept.get(1, now, || Ok::<_, ()>(value)).expect("a value")
    }

    #[test]
    fn a_tenth_written_or_come_or_gone_makes_it_old() {
        let kept = Kept::default();
        assert_eq!(get(&kept, age(100.0, 5), 1), 1);
        assert_eq!(get(&kept, age(110.0, 15), 2), 1);
        assert_eq!(get(&kept, age(100.0, 16), 3), 3);
        assert_eq!(get(&kept, age(89.0, 16), 4), 4);
        kept.forget(|key| *key == 1);
        assert_eq!(get(&kept, age(89.0, 16), 5), 5);
    }

    #[test]
    fn while_one_samples_others_have_what_there_is() {
        let kept = Kept::default();
        get(&kept, age(100.0, 0), 1);
        let found = kept.get(1, age(200.0, 0), || {
            assert_eq!(get(&kept, age(200.0, 0), 7), 1);
            Ok::<_, ()>(2)
        });
        assert_eq!(found.as_deref(), Ok(&2));
        assert_eq!(get(&kept, age(200.0, 0), 7), 2);
        // A caller that fails leaves the work to the next.
        assert_eq!(kept.get(1, age(300.0, 0), || Err("no")), Err("no"));
        assert_eq!(get(&kept, age(300.0, 0), 8), 8);
    }
}
