//! Locators, the clustered keys of entries: many of them, one behind the other, and what is done with them as sets.
//!
//! They are compared as bytes. Where many are sorted, the first eight bytes of each are compared as one number, and the others only
//! where these are equal.

/// Byte strings one behind the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locators {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Locators {
    fn with_room_for(others: &Locators) -> Locators {
        Locators { bytes: Vec::with_capacity(others.bytes.len()), ends: Vec::with_capacity(others.len()) }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of memory that they take.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>()
    }

    /// The locator at a position.
    pub fn get(&self, position: usize) -> &[u8] {
        let start = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[position]]
    }

    /// All, one after the other.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        (0..self.len()).map(|position| self.get(position))
    }

    /// Appends a locator.
    pub fn push(&mut self, locator: &[u8]) {
        self.bytes.extend_from_slice(locator);
        self.ends.push(self.bytes.len());
    }

    /// Appends those of others, in their order.
    pub fn append(&mut self, others: Locators) {
        if self.ends.is_empty() {
            *self = others;
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&others.bytes);
        self.ends.extend(others.ends.iter().map(|end| start + end));
    }

    /// Sorts positions by locator, those of equal ones by position.
    pub fn sort(&self, positions: &mut [u32]) {
        let mut keyed: Vec<(u64, u32)> =
            positions.iter().map(|at| (head(self.get(*at as usize)), *at)).collect();
        keyed.sort_unstable_by(|a, b| {
            let whole = || self.get(a.1 as usize).cmp(self.get(b.1 as usize));
            a.0.cmp(&b.0).then_with(whole).then(a.1.cmp(&b.1))
        });
        positions.iter_mut().zip(keyed).for_each(|(to, (_, position))| *to = position);
    }

    /// Returns the locators as a set: in order, each once.
    pub fn into_set(self) -> Locators {
        if self.iter().zip(self.iter().skip(1)).all(|(before, behind)| before < behind) {
            return self;
        }
        let mut positions: Vec<u32> = (0..self.len() as u32).collect();
        self.sort(&mut positions);
        let mut set = Locators::with_room_for(&self);
        for position in positions {
            let locator = self.get(position as usize);
            if set.ends.is_empty() || set.get(set.len() - 1) != locator {
                set.push(locator);
            }
        }
        set
    }

    /// Returns the locators with the last one first.
    #[must_use]
    pub fn reversed(&self) -> Locators {
        let mut reversed = Locators::with_room_for(self);
        self.iter().rev().for_each(|locator| reversed.push(locator));
        reversed
    }

    /// The locators of a set that are in another.
    #[must_use]
    pub fn intersection(&self, other: &Locators) -> Locators {
        let (few, many) = if self.len() <= other.len() { (self, other) } else { (other, self) };
        let (mut both, mut at) = (Locators::default(), 0);
        for locator in few.iter() {
            at = many.gallop(at, locator);
            if at == many.len() {
                break;
            }
            if many.get(at) == locator {
                both.push(locator);
                at += 1;
            }
        }
        both
    }

    /// Whether a locator is in the set.
    pub fn contains(&self, locator: &[u8]) -> bool {
        let at = self.search(0, self.len(), locator);
        at < self.len() && self.get(at) == locator
    }

    /// The position of the first from `start` on that is not below `locator`: near ones are found sooner.
    fn gallop(&self, start: usize, locator: &[u8]) -> usize {
        let (mut below, mut step) = (start, 1);
        while below + step <= self.len() && self.get(below + step - 1) < locator {
            below += step;
            step *= 2;
        }
        self.search(below, (below + step).min(self.len()), locator)
    }

    fn search(&self, mut low: usize, mut high: usize, locator: &[u8]) -> usize {
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle) < locator { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// The first eight bytes as a number: of two locators the lower has the lower one, or the same.
fn head(locator: &[u8]) -> u64 {
    let mut head = [0; 8];
    head.iter_mut().zip(locator).for_each(|(to, byte)| *to = *byte);
    u64::from_be_bytes(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::seed;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeSet;

    fn random(rng: &mut SmallRng) -> Vec<Vec<u8>> {
        let many = [3, 40, 2_000][rng.random_range(0..3)];
        let locator = |rng: &mut SmallRng| {
            let len = rng.random_range(0..12);
            (0..len).map(|at| if at < 8 { rng.random_range(0..2) } else { rng.random() }).collect()
        };
        (0..rng.random_range(0..many)).map(|_| locator(rng)).collect()
    }

    fn locators(all: &[Vec<u8>]) -> Locators {
        let mut found = Locators::default();
        all.iter().for_each(|locator| found.push(locator));
        found
    }

    #[test]
    fn sets_are_those_of_a_model() {
        let seed = seed();
        let mut rng = SmallRng::seed_from_u64(seed);
        for _ in 0..300 {
            let (a, b) = (random(&mut rng), random(&mut rng));
            let (model_a, model_b): (BTreeSet<_>, BTreeSet<_>) = (a.iter().collect(), b.iter().collect());
            let (set_a, set_b) = (locators(&a).into_set(), locators(&b).into_set());
            assert!(set_a.iter().eq(model_a.iter().map(|l| l.as_slice())), "seed {seed}");
            let both = set_a.intersection(&set_b);
            assert!(both.iter().eq(model_a.intersection(&model_b).map(|l| l.as_slice())), "seed {seed}");
            for locator in &b {
                assert_eq!(set_a.contains(locator), model_a.contains(locator), "seed {seed}");
            }
            let mut together = locators(&a);
            together.append(locators(&b));
            let united = together.into_set();
            assert!(united.iter().eq(model_a.union(&model_b).map(|l| l.as_slice())), "seed {seed}");
        }
    }
}
