//! How the values of a column are spread: the most common values by themselves, the others in buckets of about equal height.
//!
//! Values are the bytes of a nullable, ascending key part, so that the order is that of the column's collation, NULL is the
//! least of them, and conditions come as the key ranges that an index on the column would be read by. What is known comes of
//! rows that were looked at leaf by leaf, and values that lie together on a leaf say little about the others: a value
//! counts as common only if several leaves have it, and for the number of distinct values a leaf counts once what it has
//! (COLLAPSE of Chaudhuri, Das and Srivastava, SIGMOD 2004, before the estimator Duj2a of Haas and Stokes, JASA 1998).
//!
//! Invariants: the most common values, and the buckets, ascend; the shares of all of them and of NULL sum up to 1 at most.

use crate::constraint::KeyRange;
use crate::params::{COMMON_LEAST_LEAVES, COMMON_LEAST_ROWS, COMMON_VALUES};

/// The bytes of NULL.
pub(super) const NULL_KEY: [u8; 1] = [0];

/// A value and how often it was seen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counted {
    /// Its bytes.
    pub key: Vec<u8>,
    /// In so many rows.
    pub rows: usize,
    /// On so many leaves.
    pub leaves: usize,
    /// Of these, those with one row that has it.
    pub singles: usize,
}

/// Values that are counted as they come, ascending, and those of one leaf together.
#[derive(Debug, Default)]
pub(super) struct ValueCounter {
    pub counted: Vec<Counted>,
    last_leaf: usize,
    /// Rows on that leaf with the last value.
    together: usize,
}

impl ValueCounter {
    /// One more row, on a leaf. Whether its value is a new one.
    pub fn add(&mut self, key: Vec<u8>, leaf: usize) -> bool {
        let elsewhere = leaf != std::mem::replace(&mut self.last_leaf, leaf);
        match self.counted.last_mut().filter(|last| last.key == key) {
            Some(last) => {
                last.rows += 1;
                self.together = if elsewhere { 1 } else { self.together + 1 };
                last.leaves += usize::from(elsewhere);
                match self.together {
                    1 => last.singles += 1,
                    2 => last.singles -= 1,
                    _ => {}
                }
                false
            }
            None => {
                self.together = 1;
                self.counted.push(Counted { key, rows: 1, leaves: 1, singles: 1 });
                true
            }
        }
    }
}

/// The entries that were looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Rows, those with NULL too.
    pub rows: usize,
    /// Rows with NULL.
    pub nulls: usize,
    /// Leaves.
    pub leaves: usize,
    /// Rows of the table.
    pub of: f64,
    /// Leaves of the table.
    pub of_leaves: f64,
}

impl Seen {
    /// Whether nothing was left out.
    fn is_all(&self) -> bool {
        self.rows as f64 >= self.of
    }
}

/// A value that is common.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frequent {
    pub key: Vec<u8>,
    /// The share of the rows that have it.
    pub share: f64,
}

/// The values between two, these included, but for the common ones. Where not all values were seen, buckets begin where the one
/// before ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bucket {
    pub lower: Vec<u8>,
    pub upper: Vec<u8>,
    /// The share of the rows that have one of them.
    pub share: f64,
    /// How many there are.
    pub distinct: f64,
}

/// The spread of the values of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    nulls: f64,
    frequent: Vec<Frequent>,
    buckets: Vec<Bucket>,
    /// Distinct values but NULL.
    distinct: f64,
    /// The share of a value outside of all buckets: what has escaped the sample.
    unseen: f64,
}

impl Histogram {
    /// Of values that ascend. Those that are not common go into up to `buckets` buckets.
    pub(super) fn of_sample(counted: &[Counted], seen: Seen, buckets: usize) -> Histogram {
        let rows = seen.rows.max(1) as f64;
        let is_frequent = most_common(counted, seen);
        let mut frequent = Vec::new();
        let mut others: Vec<&Counted> = Vec::new();
        for (value, is_frequent) in counted.iter().zip(is_frequent) {
            match is_frequent {
                true => {
                    frequent.push(Frequent { key: value.key.clone(), share: value.rows as f64 / rows });
                }
                false => others.push(value),
            }
        }
        let distinct_others = distinct_values(others.iter().copied(), seen);
        let scale = distinct_others / others.len().max(1) as f64;
        let height = (others.iter().map(|value| value.rows).sum::<usize>()).div_ceil(buckets.max(1)).max(1);
        let mut filled: Vec<Bucket> = Vec::new();
        let mut inside = 0;
        for value in others {
            let share = value.rows as f64 / rows;
            match filled.last_mut().filter(|_| inside + value.rows <= height) {
                Some(bucket) => {
                    bucket.upper.clone_from(&value.key);
                    bucket.share += share;
                    bucket.distinct += scale;
                    inside += value.rows;
                }
                None => {
                    // A value in between that was not seen is as likely as one that was.
                    let before = filled.last().filter(|_| !seen.is_all()).map(|bucket| &bucket.upper);
                    let (lower, upper) = (before.unwrap_or(&value.key).clone(), value.key.clone());
                    filled.push(Bucket { lower, upper, share, distinct: scale });
                    inside = value.rows;
                }
            }
        }
        for bucket in &mut filled {
            bucket.distinct = bucket.distinct.min(bucket.share * seen.of).max(1.0);
        }
        let nulls = seen.nulls as f64 / rows;
        let unseen = match seen.is_all() {
            true => 0.0,
            false => {
                let left: f64 = filled.iter().map(|bucket| bucket.share).sum();
                (left / distinct_others.max(1.0)).min(0.5 / rows)
            }
        };
        Histogram::new(nulls, frequent, filled, unseen)
    }

    /// Of parts that keep the invariants.
    pub(super) fn new(nulls: f64, frequent: Vec<Frequent>, buckets: Vec<Bucket>, unseen: f64) -> Histogram {
        let others: f64 = buckets.iter().map(|bucket| bucket.distinct).sum();
        Histogram { nulls, distinct: frequent.len() as f64 + others, frequent, buckets, unseen }
    }

    /// How many distinct values there are, NULL not among them.
    pub fn distinct(&self) -> f64 {
        self.distinct
    }

    /// The share of the rows that have NULL.
    pub fn nulls(&self) -> f64 {
        self.nulls
    }

    /// The share of the rows whose value lies in one of the ranges, which are of the column as the only part of a key.
    pub fn share_of(&self, ranges: &[KeyRange]) -> f64 {
        ranges.iter().map(|range| self.share_in(range)).sum::<f64>().clamp(0.0, 1.0)
    }

    fn share_in(&self, range: &KeyRange) -> f64 {
        if range.equal.parts > 0 {
            return self.share_of_value(&range.lower);
        }
        let below = |key: &[u8]| self.share_below(key);
        let share = range.upper.as_deref().map_or(1.0, below) - below(&range.lower);
        share.max(self.unseen)
    }

    /// The share of the rows that have a value.
    pub(super) fn share_of_value(&self, key: &[u8]) -> f64 {
        if key == NULL_KEY {
            return self.nulls;
        }
        if let Some(share) = self.frequent_share(key) {
            return share;
        }
        let at = self.buckets.partition_point(|bucket| bucket.upper.as_slice() < key);
        match self.buckets.get(at) {
            Some(bucket) if at > 0 || bucket.lower.as_slice() <= key => bucket.share / bucket.distinct,
            _ => self.unseen,
        }
    }

    /// The share of the rows that have a value, if it is common.
    pub(super) fn frequent_share(&self, key: &[u8]) -> Option<f64> {
        let at = self.frequent.binary_search_by(|frequent| frequent.key.as_slice().cmp(key)).ok()?;
        self.frequent.get(at).map(|frequent| frequent.share)
    }

    /// The share of the rows whose value is less, NULL being the least.
    fn share_below(&self, key: &[u8]) -> f64 {
        let nulls = if key > NULL_KEY.as_slice() { self.nulls } else { 0.0 };
        let frequent = self.frequent.iter().take_while(|frequent| frequent.key.as_slice() < key);
        let buckets = self.buckets.iter().take_while(|bucket| bucket.lower.as_slice() < key);
        nulls
            + frequent.map(|frequent| frequent.share).sum::<f64>()
            + buckets.map(|bucket| bucket.share * bucket.part_below(key)).sum::<f64>()
    }

    /// The share of the pairs of a row of each column whose values are equal, both having the same bytes for the same value. The common
    /// values are paired; the others are taken to be of so many `distinct` values, those of the column that has more.
    pub fn share_of_equal_pairs(&self, other: &Histogram, distinct: f64) -> f64 {
        let mut together = 0.0;
        let (mut paired, mut paired_other) = (0.0, 0.0);
        for frequent in &self.frequent {
            let share = other.share_of_value(&frequent.key);
            together += frequent.share * share;
            paired += frequent.share;
            paired_other += share;
        }
        let mut also = 0;
        for frequent in other.frequent.iter().filter(|one| self.frequent_share(&one.key).is_none()) {
            let share = self.share_of_value(&frequent.key);
            together += frequent.share * share;
            paired += share;
            paired_other += frequent.share;
            also += 1;
        }
        let left = |nulls: f64, paired: f64| (1.0 - nulls - paired).max(0.0);
        let named = (self.frequent.len() + also) as f64;
        let distinct = (distinct - named).max(1.0);
        together + left(self.nulls, paired) * left(other.nulls, paired_other) / distinct
    }
}

impl Bucket {
    /// The part of the rows in the bucket whose value is less, as if values were at even distances.
    fn part_below(&self, key: &[u8]) -> f64 {
        if key <= self.lower.as_slice() {
            return 0.0;
        }
        if key > self.upper.as_slice() {
            return 1.0;
        }
        let common = self.lower.iter().zip(&self.upper).take_while(|(a, b)| a == b).count();
        let number = |key: &[u8]| {
            let mut bytes = [0; 8];
            bytes.iter_mut().zip(key.get(common..).unwrap_or_default()).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(bytes) as f64
        };
        let (low, high) = (number(&self.lower), number(&self.upper));
        let part = if high > low { (number(key) - low) / (high - low) } else { 0.5 };
        // The greatest value itself is not less.
        part.clamp(0.0, 1.0) * (1.0 - 1.0 / self.distinct.max(1.0))
    }
}

/// Per value, whether it is one of the most common ones.
pub(super) fn most_common(counted: &[Counted], seen: Seen) -> Vec<bool> {
    let rows = seen.rows.saturating_sub(seen.nulls) as f64;
    let mean = rows / counted.len().max(1) as f64;
    // Where there are more values than can be kept, those that stand out from what chance makes of equal ones.
    let least = if counted.len() > COMMON_VALUES { mean + 3.0 * mean.sqrt() } else { 0.0 };
    let leaves = COMMON_LEAST_LEAVES.min(seen.leaves);
    let stands_out = |value: &Counted| {
        let is_sure = seen.is_all() || (value.rows >= COMMON_LEAST_ROWS && value.leaves >= leaves);
        is_sure && value.rows as f64 >= least
    };
    let mut candidates: Vec<usize> =
        counted.iter().enumerate().filter(|(_, value)| stands_out(value)).map(|(at, _)| at).collect();
    candidates.sort_by_key(|at| std::cmp::Reverse(counted[*at].rows));
    let mut chosen = vec![false; counted.len()];
    for at in candidates.into_iter().take(COMMON_VALUES) {
        chosen[at] = true;
    }
    chosen
}

/// How many distinct values there are where these were seen. Where common values are not among them, that is Duj2a: the number is
/// raised by how unevenly the rows are spread over what Duj1 takes for the number of values. What is sampled is what leaves have: the
/// share of it that was seen is the share of the leaves, less what was missed on these because not all of their rows were looked at.
pub(super) fn distinct_values<'c>(counted: impl Iterator<Item = &'c Counted>, seen: Seen) -> f64 {
    let (mut found, mut once, mut all, mut pairs) = (0.0, 0.0, 0.0, 0.0);
    let (mut rows, mut singles) = (0.0, 0.0);
    for value in counted {
        let leaves = value.leaves as f64;
        found += 1.0;
        all += leaves;
        once += f64::from(u8::from(value.leaves == 1));
        pairs += leaves * (leaves - 1.0);
        rows += value.rows as f64;
        singles += value.singles as f64;
    }
    let of_rows = (seen.rows as f64 / seen.of.max(1.0)).min(1.0);
    let of_leaves = (seen.leaves as f64 / seen.of_leaves.max(1.0)).clamp(of_rows, 1.0);
    let within = of_rows / of_leaves.max(f64::MIN_POSITIVE);
    let missed = if rows > 0.0 { rows / (rows - singles + singles * within) } else { 1.0 };
    let share = (of_leaves / missed).clamp(of_rows, 1.0);
    if found == 0.0 || share >= 1.0 {
        return found;
    }
    let rows = all / share;
    let first = (all * found / (all - once + once * share)).clamp(found, rows.max(found));
    let variation = (first / (all * all) * pairs + first / rows - 1.0).max(0.0);
    let more = -once * (1.0 - share) * (1.0 - share).ln() * variation / share;
    ((found + more) / (1.0 - once * (1.0 - share) / all)).clamp(found, rows.max(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::KeyStart;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    fn key(value: u32) -> Vec<u8> {
        [&[1][..], &value.to_be_bytes()].concat()
    }

    fn point(value: u32) -> KeyRange {
        let lower = key(value);
        let equal = KeyStart { parts: 1, bytes: lower.len() };
        KeyRange { upper: Some(key(value + 1)), lower, equal, ..KeyRange::all() }
    }

    fn between(from: u32, to: u32) -> KeyRange {
        KeyRange { lower: key(from), upper: Some(key(to)), ..KeyRange::all() }
    }

    /// Values as they come on leaves of 32.
    fn counted(values: &[u32]) -> Vec<Counted> {
        let mut sorted: Vec<(u32, usize)> =
            values.iter().enumerate().map(|(at, value)| (*value, at / 32)).collect();
        sorted.sort_unstable();
        let mut counting = ValueCounter::default();
        for (value, leaf) in sorted {
            counting.add(key(value), leaf);
        }
        counting.counted
    }

    /// A part of `of` rows on leaves of 200.
    fn seen(values: &[u32], nulls: usize, of: f64) -> Seen {
        let rows = values.len() + nulls;
        Seen { rows, nulls, leaves: rows.div_ceil(32), of, of_leaves: (of / 200.0).ceil() }
    }

    fn close(found: f64, expected: f64, factor: f64) {
        let q_error = (found / expected).max(expected / found);
        assert!(q_error <= factor, "{found} is not {expected}");
    }

    #[test]
    fn all_values_seen_are_known_exactly() {
        let values: Vec<u32> = (0..100).flat_map(|value| vec![value * 10; value as usize + 1]).collect();
        let nulls = 50;
        let of = (values.len() + nulls) as f64;
        let histogram = Histogram::of_sample(&counted(&values), seen(&values, nulls, of), 10);
        close(histogram.share_of(&[point(990)]), 100.0 / of, 1.0001);
        close(histogram.share_of(&[point(0)]), 1.0 / of, 1.0001);
        assert_eq!(histogram.share_of(&[point(5)]), 0.0);
        close(histogram.share_of(&[between(0, 500)]), 1275.0 / of, 1.0001);
        close(histogram.share_of(&[point(990), point(980)]), 199.0 / of, 1.0001);
        close(histogram.share_of_value(&NULL_KEY), 50.0 / of, 1.0001);
        close(histogram.share_of(&[KeyRange { lower: vec![1], ..KeyRange::all() }]), 1.0 - 50.0 / of, 1.0001);
        assert_eq!(histogram.distinct(), 100.0);
    }

    #[test]
    fn a_sample_of_skewed_values_tells_the_common_from_the_rare() {
        let mut rng = SmallRng::seed_from_u64(7);
        let skewed = |rng: &mut SmallRng| (1.0 / rng.random_range(0.0001f64..1.0)) as u32;
        let values: Vec<u32> = (0..2048).map(|_| skewed(&mut rng)).collect();
        let histogram = Histogram::of_sample(&counted(&values), seen(&values, 0, 1e6), 64);
        // The share of v is about 1/v - 1/(v+1).
        close(histogram.share_of(&[point(1)]), 0.5, 1.1);
        close(histogram.share_of(&[point(4)]), 0.05, 1.4);
        close(histogram.share_of(&[between(100, 200)]), 0.005, 2.5);
        close(histogram.share_of(&[point(150)]), 1.0 / (150.0 * 151.0), 6.0);
        assert!(histogram.share_of(&[point(4_000_000)]) < 0.0003);
    }

    #[test]
    fn values_that_lie_together_are_neither_common_nor_few() {
        // Each leaf has one value.
        let values: Vec<u32> = (0..2048).map(|at| at / 32).collect();
        let histogram = Histogram::of_sample(&counted(&values), seen(&values, 0, 1e6), 64);
        assert!(histogram.distinct() > 2_000.0, "{}", histogram.distinct());
        assert!(histogram.share_of(&[point(5)]) < 0.001);
        close(histogram.share_of(&[between(0, 32)]), 0.5, 1.1);
    }

    #[test]
    fn pairs_of_common_values_are_counted() {
        let left: Vec<u32> = (0..1000).map(|at| if at < 500 { 1 } else { at }).collect();
        let right: Vec<u32> = (0..1000).map(|at| if at < 200 { 1 } else { at }).collect();
        let histogram =
            |values: &[u32]| Histogram::of_sample(&counted(values), seen(values, 0, values.len() as f64), 64);
        let pairs = histogram(&left).share_of_equal_pairs(&histogram(&right), 801.0) * 1e6;
        close(pairs, 500.0 * 200.0 + 500.0, 1.02);
        close(histogram(&right).share_of_equal_pairs(&histogram(&left), 801.0) * 1e6, pairs, 1.02);
    }

    #[test]
    fn distinct_values_are_judged_by_how_many_come_once() {
        let mut rng = SmallRng::seed_from_u64(3);
        let mut distinct = |values: u32, of: f64| {
            let values: Vec<u32> = (0..2048).map(|_| rng.random_range(0..values)).collect();
            distinct_values(counted(&values).iter(), seen(&values, 0, of))
        };
        // Few values, many, and all different.
        close(distinct(4, 600_000.0), 4.0, 1.01);
        close(distinct(2_000, 600_000.0), 2_000.0, 1.1);
        close(distinct(20_000, 600_000.0), 20_000.0, 1.3);
        close(distinct(u32::MAX, 600_000.0), 600_000.0, 1.01);
        // Sixteen values on each leaf of 200 rows, and on no other: of the 3,000 leaves 64 were seen.
        let together: Vec<u32> = (0..2048).map(|at| at / 32 * 16 + rng.random_range(0..16)).collect();
        close(distinct_values(counted(&together).iter(), seen(&together, 0, 600_000.0)), 48_000.0, 1.2);
        // The whole table was seen.
        let all = [1, 2, 2, 3];
        assert_eq!(distinct_values(counted(&all).iter(), seen(&all, 0, 4.0)), 3.0);
    }
}
