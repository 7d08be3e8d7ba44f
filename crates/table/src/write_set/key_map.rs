//! An ordered map with byte keys, designed for writes: most keys come in ascending order, and keys are short.
//!
//! The entries are in chunks of up to [`FULL`], in order; no chunk is empty. The first eight bytes of the keys are
//! stored together as numbers, so that a search rarely reads a key itself. Entries after all others fill the last
//! chunk and begin the next; elsewhere a full chunk is split in the middle. Chunks are found by binary search in one
//! array. There are at most some thousands, because the memory of a write set is bounded.

use std::cmp::Ordering;

/// The maximum number of entries in a chunk. It is small in tests, so that they have many chunks.
const FULL: usize = if cfg!(test) { 4 } else { 64 };
/// The maximum length of a key stored in place, in bytes.
const SHORT: usize = 22;

/// A key.
#[derive(Debug)]
enum Key {
    Short(u8, [u8; SHORT]),
    Long(Box<[u8]>),
}

impl Key {
    fn new(bytes: &[u8]) -> Key {
        let mut short = [0; SHORT];
        match short.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                Key::Short(bytes.len() as u8, short)
            }
            None => Key::Long(bytes.into()),
        }
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        match self {
            Key::Short(len, bytes) => &bytes[..usize::from(*len)],
            Key::Long(bytes) => bytes,
        }
    }
}

/// The first bytes of a key as a number. Of two keys with different numbers, the one with the smaller number is
/// smaller.
#[inline]
fn head_of(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(head) => u64::from_be_bytes(*head),
        None => {
            let mut head = [0; 8];
            head[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(head)
        }
    }
}

#[derive(Debug)]
struct Chunk<V> {
    heads: Vec<u64>,
    entries: Vec<(Key, V)>,
}

impl<V> Chunk<V> {
    fn of(head: u64, key: Key, value: V) -> Chunk<V> {
        Chunk { heads: vec![head], entries: vec![(key, value)] }
    }

    fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    fn compare(&self, at: usize, head: u64, key: &[u8]) -> Ordering {
        self.heads[at].cmp(&head).then_with(|| self.entries[at].0.bytes().cmp(key))
    }
}

/// The map.
#[derive(Debug)]
pub(super) struct KeyMap<V> {
    /// The number of the first key of each chunk.
    heads: Vec<u64>,
    chunks: Vec<Chunk<V>>,
    len: usize,
}

/// A place between entries: the number of the chunk, and the position in it of the entry after the place. The place
/// after the last entry is at the beginning of a chunk that does not exist.
type Place = (usize, usize);

impl<V> Default for KeyMap<V> {
    fn default() -> KeyMap<V> {
        KeyMap { heads: Vec::new(), chunks: Vec::new(), len: 0 }
    }
}

/// How many of the numbers below `count` come first, which `before` decides for each.
#[inline]
fn partition(count: usize, mut before: impl FnMut(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

impl<V> KeyMap<V> {
    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The chunk that contains a key, or would contain it, and the key's position there if it exists, or its future
    /// position. In an empty map the chunk does not exist.
    #[inline]
    fn find(&self, head: u64, key: &[u8]) -> (usize, Result<usize, usize>) {
        let begins_before = |at: usize| match self.heads[at].cmp(&head) {
            Ordering::Equal => self.chunks[at].compare(0, head, key).is_le(),
            order => order.is_lt(),
        };
        let last = self.chunks.len().saturating_sub(1);
        let number = match last == 0 || begins_before(last) {
            true => last,
            false => partition(last, begins_before).saturating_sub(1),
        };
        let Some(chunk) = self.chunks.get(number) else { return (0, Err(0)) };
        match chunk.compare(chunk.len() - 1, head, key) {
            Ordering::Less => return (number, Err(chunk.len())),
            Ordering::Equal => return (number, Ok(chunk.len() - 1)),
            Ordering::Greater => {}
        }
        let at = partition(chunk.len() - 1, |at| chunk.compare(at, head, key).is_lt());
        let found = chunk.compare(at, head, key).is_eq();
        (number, if found { Ok(at) } else { Err(at) })
    }

    /// The value under a key.
    pub(super) fn get(&self, key: &[u8]) -> Option<&V> {
        match self.find(head_of(key), key) {
            (chunk, Ok(at)) => Some(&self.chunks[chunk].entries[at].1),
            (_, Err(_)) => None,
        }
    }

    /// The value under a key, which is inserted if there is none; and whether it was inserted.
    pub(super) fn get_or_insert(&mut self, key: &[u8], new: impl FnOnce() -> V) -> (&mut V, bool) {
        let head = head_of(key);
        let (chunk, at) = match self.find(head, key) {
            (chunk, Ok(at)) => return (&mut self.chunks[chunk].entries[at].1, false),
            (chunk, Err(at)) => self.insert_at((chunk, at), head, Key::new(key), new()),
        };
        (&mut self.chunks[chunk].entries[at].1, true)
    }

    /// Inserts a new entry where its key belongs. Returns its place.
    fn insert_at(&mut self, (mut number, mut at): Place, head: u64, key: Key, value: V) -> Place {
        self.len += 1;
        let is_last = number + 1 >= self.chunks.len();
        let Some(chunk) = self.chunks.get_mut(number) else {
            self.heads.push(head);
            self.chunks.push(Chunk::of(head, key, value));
            return (number, 0);
        };
        if chunk.len() == FULL && at == FULL && is_last {
            self.heads.push(head);
            self.chunks.push(Chunk::of(head, key, value));
            return (number + 1, 0);
        }
        if chunk.len() == FULL {
            let (heads, entries) = (chunk.heads.split_off(FULL / 2), chunk.entries.split_off(FULL / 2));
            self.heads.insert(number + 1, heads[0]);
            self.chunks.insert(number + 1, Chunk { heads, entries });
            if at > FULL / 2 {
                (number, at) = (number + 1, at - FULL / 2);
            }
        }
        let chunk = &mut self.chunks[number];
        chunk.heads.insert(at, head);
        chunk.entries.insert(at, (key, value));
        self.heads[number] = chunk.heads[0];
        (number, at)
    }

    /// Removes all entries.
    pub(super) fn clear(&mut self) {
        *self = KeyMap::default();
    }

    /// Removes the entries for which `stays` returns false.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(&mut V) -> bool) {
        let all = std::mem::take(self);
        for (key, mut value) in all.chunks.into_iter().flat_map(|chunk| chunk.entries) {
            if stays(&mut value) {
                let end = (self.chunks.len().saturating_sub(1), self.chunks.last().map_or(0, Chunk::len));
                self.insert_at(end, head_of(key.bytes()), key, value);
            }
        }
    }

    /// All entries in order, in both directions.
    pub(super) fn iter(&self) -> Iter<'_, V> {
        Iter { map: self, front: (0, 0), back: (self.chunks.len(), 0) }
    }

    /// The entries from `lower` to before `upper`.
    pub(super) fn range(&self, lower: &[u8], upper: Option<&[u8]>) -> Iter<'_, V> {
        let back = upper.map_or((self.chunks.len(), 0), |upper| self.place_of(upper));
        Iter { map: self, front: self.place_of(lower), back }
    }

    /// The place before a key.
    fn place_of(&self, key: &[u8]) -> Place {
        let (number, Ok(at) | Err(at)) = self.find(head_of(key), key);
        let is_behind = self.chunks.get(number).is_some_and(|chunk| at == chunk.len());
        if is_behind { (number + 1, 0) } else { (number, at) }
    }
}

/// Entries in order, in both directions.
#[derive(Debug)]
pub(super) struct Iter<'m, V> {
    map: &'m KeyMap<V>,
    front: Place,
    back: Place,
}

impl<'m, V> Iter<'m, V> {
    fn at(&self, (chunk, at): Place) -> Option<(&'m [u8], &'m V)> {
        let (key, value) = self.map.chunks.get(chunk)?.entries.get(at)?;
        Some((key.bytes(), value))
    }
}

impl<'m, V> Iterator for Iter<'m, V> {
    type Item = (&'m [u8], &'m V);

    fn next(&mut self) -> Option<Self::Item> {
        if self.front >= self.back {
            return None;
        }
        let entry = self.at(self.front);
        let (chunk, at) = self.front;
        let is_last = self.map.chunks.get(chunk).is_none_or(|chunk| at + 1 == chunk.len());
        self.front = if is_last { (chunk + 1, 0) } else { (chunk, at + 1) };
        entry
    }
}

impl<V> DoubleEndedIterator for Iter<'_, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.front >= self.back {
            return None;
        }
        let (chunk, at) = self.back;
        self.back = match at.checked_sub(1) {
            Some(before) => (chunk, before),
            None => {
                let before = chunk.checked_sub(1)?;
                (before, self.map.chunks.get(before)?.len().checked_sub(1)?)
            }
        };
        self.at(self.back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeMap;
    use std::ops::Bound;

    /// Makes keys from a few byte values, so that many begin alike, of up to twice the length stored in place.
    fn key(random: &mut SmallRng) -> Vec<u8> {
        let len =
            if random.random_bool(0.7) { random.random_range(0..4) } else { random.random_range(0..44) };
        (0..len).map(|_| [0, 0, 0, 1, 255][random.random_range(0..5)]).collect()
    }

    #[test]
    fn it_is_what_an_ordered_map_is() {
        let seed = crate::testing::seed();
        println!("seed {seed}");
        let mut random = SmallRng::seed_from_u64(seed);
        for _ in 0..50 {
            let (mut map, mut model) = (KeyMap::default(), BTreeMap::new());
            for number in 0..random.random_range(0..300_u32) {
                let key = match random.random_bool(0.3) {
                    true => number.to_be_bytes().to_vec(),
                    false => key(&mut random),
                };
                let is_new = !model.contains_key(&key);
                let (value, inserted) = map.get_or_insert(&key, || number);
                assert_eq!((*value, inserted), (*model.entry(key).or_insert(number), is_new));
            }
            if random.random_bool(0.5) {
                map.retain(|value| *value % 3 > 0);
                model.retain(|_, value| *value % 3 > 0);
            }
            let all = |(key, value): (&Vec<u8>, &u32)| (key.clone(), *value);
            let shown = |(key, value): (&[u8], &u32)| (key.to_vec(), *value);
            assert!(map.iter().map(shown).eq(model.iter().map(all)));
            assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
            for _ in 0..50 {
                let (a, b) = (key(&mut random), key(&mut random));
                assert_eq!(map.get(&a), model.get(&a));
                let (lower, upper) =
                    (a.clone().min(b.clone()), Some(a.max(b)).filter(|_| random.random_bool(0.9)));
                let bounds =
                    (Bound::Included(&lower), upper.as_ref().map_or(Bound::Unbounded, Bound::Excluded));
                let upper = upper.as_deref();
                assert!(map.range(&lower, upper).map(shown).eq(model.range::<Vec<u8>, _>(bounds).map(all)));
                let (back, model_back) =
                    (map.range(&lower, upper).rev(), model.range::<Vec<u8>, _>(bounds).rev());
                assert!(back.map(shown).eq(model_back.map(all)));
                // From both ends.
                let mut both = map.range(&lower, upper);
                let mut count = 0;
                while (if count % 2 == 0 { both.next() } else { both.next_back() }).is_some() {
                    count += 1;
                }
                assert_eq!(count, model.range::<Vec<u8>, _>(bounds).count());
            }
            map.clear();
            assert!(map.is_empty() && map.iter().next().is_none() && map.get(&[]).is_none());
        }
    }
}
