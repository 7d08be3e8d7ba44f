//! Collects the words of a document and makes their entries, in buffers that serve one document after another.
//!
//! | buffer | contents |
//! |---|---|
//! | `keys` | the keys of the words that the document has, back to back |
//! | `words` | one record for each of them, in the order of their first occurrences; stopwords have one, too |
//! | `known` | finds a record by its key |
//! | `positions` | the encoded positions of each word; where its room is full, a word moves to the end, with more room |
//! | `order` | the records of the words that have entries, in the order of their keys |
//!
//! No word allocates memory once the buffers have grown. A document with more than `MANY_WORDS` leaves none behind.

use crate::entries::{MANY, MAX_POSITION_BYTES, Weight, WordEntry, put_varint};
use crate::rules::WordRules;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use std::ops::Range;

/// The number of words of a document after which the buffers are given back.
const MANY_WORDS: usize = 16 << 10;

/// The words of one document after another.
#[derive(Default)]
pub struct DocumentWords {
    keys: Vec<u8>,
    words: Vec<Word>,
    known: HashTable<u32>,
    hashes: DefaultHashBuilder,
    positions: Vec<u8>,
    order: Vec<(u64, u32)>,
    /// The key of a token.
    folded: Vec<u8>,
    payload: Vec<u8>,
}

/// A word of the document.
struct Word {
    /// The place of its key.
    key: Range<usize>,
    hash: u64,
    /// Whether the index contains the word, which thus is no stopword.
    is_indexed: bool,
    frequency: u32,
    /// The position of its last occurrence.
    last: u64,
    /// The place of its positions, and how many bytes they may take there.
    positions: Range<usize>,
    room: usize,
}

impl Word {
    /// Adds the next position.
    fn add(&mut self, position: u64, positions: &mut Vec<u8>) {
        self.frequency = self.frequency.saturating_add(1);
        let difference = position - std::mem::replace(&mut self.last, position);
        if self.positions.len() > MAX_POSITION_BYTES {
            return;
        }
        let mut varint = [0; 10];
        let bytes = put_varint(difference, &mut varint);
        let length = self.positions.len() + bytes.len();
        if length > self.room {
            let begin = positions.len();
            positions.extend_from_within(self.positions.clone());
            self.room = 2 * length;
            positions.resize(begin + self.room, 0);
            self.positions = begin..begin + self.positions.len();
        }
        positions[self.positions.end..][..bytes.len()].copy_from_slice(bytes);
        self.positions.end += bytes.len();
    }
}

impl DocumentWords {
    /// Calls `f` with each entry of a document, in the order of their words. `columns` has the texts of all columns.
    ///
    /// # Errors
    /// The errors that `f` returns.
    pub fn for_each_entry<E>(
        &mut self,
        rules: &WordRules,
        columns: &[Option<&str>],
        f: &mut dyn FnMut(WordEntry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.collect(rules, columns);
        self.sort();
        f(WordEntry { word: None, weight: Weight(0), payload: &[] })?;
        for (_, number) in &self.order {
            let word = &self.words[*number as usize];
            let positions = match &self.positions[word.positions.clone()] {
                long if long.len() > MAX_POSITION_BYTES => &[],
                positions => positions,
            };
            let mut payload = positions;
            if word.frequency >= MANY {
                self.payload.clear();
                self.payload.extend_from_slice(put_varint(word.frequency.into(), &mut [0; 10]));
                self.payload.extend_from_slice(positions);
                payload = &self.payload;
            }
            let key = &self.keys[word.key.clone()];
            f(WordEntry { word: Some(key), weight: Weight::of(word.frequency), payload })?;
        }
        if self.words.len() > MANY_WORDS {
            *self = DocumentWords::default();
        }
        Ok(())
    }

    /// Fills the buffers with the words of a document.
    fn collect(&mut self, rules: &WordRules, columns: &[Option<&str>]) {
        self.keys.clear();
        self.words.clear();
        self.known.clear();
        self.positions.clear();
        let mut token_number = 0_u64;
        for (column, text) in columns.iter().enumerate() {
            rules.for_each_token(text.unwrap_or_default(), &mut |token| {
                token_number += 1;
                if rules.may_be_indexed(token) {
                    self.add(rules, token, token_number * columns.len() as u64 + column as u64);
                }
            });
        }
    }

    /// Adds an occurrence of a word.
    fn add(&mut self, rules: &WordRules, token: &str, position: u64) {
        let DocumentWords { keys, words, known, hashes, positions, folded, .. } = self;
        let key = rules.key(token, folded);
        let hash = hashes.hash_one(key);
        let is_key = |number: &u32| {
            let word = &words[*number as usize];
            word.hash == hash && keys[word.key.clone()] == *key
        };
        let number = match known.entry(hash, is_key, |number| words[*number as usize].hash) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(vacant) => {
                let number = words.len() as u32;
                vacant.insert(number);
                let begin = keys.len();
                keys.extend_from_slice(key);
                words.push(Word {
                    key: begin..keys.len(),
                    hash,
                    is_indexed: !rules.is_stopword(key),
                    frequency: 0,
                    last: 0,
                    positions: 0..0,
                    room: 0,
                });
                number
            }
        };
        let word = &mut words[number as usize];
        if word.is_indexed {
            word.add(position, positions);
        }
    }

    /// Orders the words by their keys, of which the first eight bytes decide most comparisons.
    fn sort(&mut self) {
        let DocumentWords { keys, words, order, .. } = self;
        order.clear();
        let indexed = (0_u32..).zip(words.iter()).filter(|(_, word)| word.is_indexed);
        order.extend(indexed.map(|(number, word)| (first_bytes(&keys[word.key.clone()]), number)));
        let key = |number: u32| &keys[words[number as usize].key.clone()];
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1))));
    }
}

/// The first eight bytes of a key as a number, as if zeros followed a shorter one.
fn first_bytes(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}
