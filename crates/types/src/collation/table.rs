//! Tables of weights: the weights of each code point on one level.
//!
//! `examples/collation_tables.rs` makes the tables. They consist of little-endian `u16`s:
//!
//! | field         | length           | content                                                                   |
//! |---------------|------------------|---------------------------------------------------------------------------|
//! | counts        | 5                | the lengths of the five fields below, in their order (for entries: pages) |
//! | index         | one for each page of 256 code points | the number of the page's entries; code points beyond it have none |
//! | entries       | 256 each         | 0: no weight; below `8000`: the weight; `ffff`: not in the table; else `8000` + an expansion |
//! | starts        | expansions + 1   | where each expansion's weights begin                                       |
//! | weights       |                  | the weights of expansions                                                  |
//! | leads         | 2 each           | ranges of weights, first and count: see `format`                           |
//!
//! Keys on disk hold these weights. Changing a table changes the format of databases; then
//! `tables_keep_their_hashes` fails.

use std::collections::{BTreeMap, HashMap};

/// Code points in a page.
const PAGE: usize = 256;

/// A table, in the bytes that are part of the program or were made at run time.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeightTable {
    index: Words,
    entries: Words,
    starts: Words,
    weights: Words,
    pub(super) leads: Words,
}

/// A sequence of little-endian `u16`s.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words(&'static [u8]);

impl Words {
    pub(super) const fn new(bytes: &'static [u8]) -> Self {
        Words(bytes)
    }

    pub(super) const fn len(self) -> usize {
        self.0.len() / 2
    }

    pub(super) fn made(words: impl Iterator<Item = u16>) -> Self {
        Words(words.flat_map(u16::to_le_bytes).collect::<Vec<u8>>().leak())
    }

    /// Returns the word at `at`; 0 beyond the end.
    #[inline]
    pub(super) const fn get(self, at: usize) -> u16 {
        if 2 * at + 1 >= self.0.len() {
            return 0;
        }
        u16::from_le_bytes([self.0[2 * at], self.0[2 * at + 1]])
    }

    const fn split(self, at: usize) -> (Words, Words) {
        let (head, tail) = self.0.split_at(2 * at);
        (Words(head), Words(tail))
    }
}

/// The entry of a code point.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry {
    Weight(u16),
    /// Several weights, from one place in `weights` to another.
    Expansion(usize, usize),
    /// The code point has no weight and does not count.
    Ignorable,
    Absent,
}

const EXPANSION: u16 = 0x8000;
const ABSENT: u16 = 0xffff;

impl WeightTable {
    /// Reads the table in the bytes of a file.
    pub(super) const fn new(bytes: &'static [u8]) -> Self {
        let (counts, rest) = Words(bytes).split(5);
        let (index, rest) = rest.split(counts.get(0) as usize);
        let (entries, rest) = rest.split(counts.get(1) as usize * 256);
        let (starts, rest) = rest.split(counts.get(2) as usize + 1);
        let (weights, leads) = rest.split(counts.get(3) as usize);
        WeightTable { index, entries, starts, weights, leads }
    }

    /// Returns the weights of each code point of the table.
    pub(super) fn weights_of_all(&self) -> BTreeMap<u32, Vec<u16>> {
        let weights = |code_point: u32| match self.entry(code_point) {
            Entry::Absent => None,
            Entry::Ignorable => Some(Vec::new()),
            Entry::Weight(w) => Some(vec![w]),
            Entry::Expansion(from, to) => Some((from..to).map(|at| self.weight(at)).collect()),
        };
        (0..self.end()).filter_map(|c| weights(c).map(|weights| (c, weights))).collect()
    }

    /// Makes a table of these weights of code points. It is never freed.
    pub(super) fn made(weights: &BTreeMap<u32, Vec<u16>>) -> Self {
        let mut expansions: Vec<&[u16]> = Vec::new();
        let mut numbers: HashMap<&[u16], u16> = HashMap::new();
        let last = weights.keys().next_back().map_or(0, |last| *last as usize);
        let mut index = vec![0; last / PAGE + 1];
        let mut pages = vec![[ABSENT; PAGE]];
        for (code_point, list) in weights {
            let entry = match list[..] {
                [] => 0,
                [only @ 1..EXPANSION] => only,
                _ => *numbers.entry(list).or_insert_with(|| {
                    expansions.push(list);
                    EXPANSION + (expansions.len() - 1) as u16
                }),
            };
            let (page, at) = (*code_point as usize / PAGE, *code_point as usize % PAGE);
            if index[page] == 0 {
                index[page] = pages.len() as u16;
                pages.push([ABSENT; PAGE]);
            }
            pages[usize::from(index[page])][at] = entry;
        }
        let ends = expansions.iter().scan(0, |end, list| {
            *end += list.len() as u16;
            Some(*end)
        });
        WeightTable {
            index: Words::made(index.into_iter()),
            entries: Words::made(pages.into_iter().flatten()),
            starts: Words::made(std::iter::once(0).chain(ends)),
            weights: Words::made(expansions.iter().copied().flatten().copied()),
            leads: Words::new(&[]),
        }
    }

    #[inline]
    pub(super) const fn entry(&self, code_point: u32) -> Entry {
        let page = (code_point >> 8) as usize;
        if page >= self.index.len() {
            return Entry::Absent;
        }
        let entry = self.entries.get(self.index.get(page) as usize * 256 + (code_point & 0xff) as usize);
        match entry {
            0 => Entry::Ignorable,
            ABSENT => Entry::Absent,
            EXPANSION.. => {
                let number = (entry - EXPANSION) as usize;
                Entry::Expansion(self.starts.get(number) as usize, self.starts.get(number + 1) as usize)
            }
            weight => Entry::Weight(weight),
        }
    }

    /// Returns the first code point beyond the table.
    pub(super) fn end(&self) -> u32 {
        self.index.len() as u32 * 256
    }

    /// Returns the weight at `at` in the weights of expansions.
    #[inline]
    pub(super) const fn weight(&self, at: usize) -> u16 {
        self.weights.get(at)
    }
}

pub(super) const UCA_900_PRIMARY: WeightTable = WeightTable::new(include_bytes!("tables/uca900_1.weights"));
pub(super) const UCA_900_SECONDARY: WeightTable = WeightTable::new(include_bytes!("tables/uca900_2.weights"));
pub(super) const UCA_900_TERTIARY: WeightTable = WeightTable::new(include_bytes!("tables/uca900_3.weights"));
pub(super) const UCA_520: WeightTable = WeightTable::new(include_bytes!("tables/uca520.weights"));
pub(super) const UCA_400: WeightTable = WeightTable::new(include_bytes!("tables/uca400.weights"));
pub(super) const GENERAL: WeightTable = WeightTable::new(include_bytes!("tables/general.weights"));
pub(super) const LATIN1: WeightTable = WeightTable::new(include_bytes!("tables/latin1.weights"));
pub(super) const LATIN1_SWEDISH: WeightTable =
    WeightTable::new(include_bytes!("tables/latin1_swedish.weights"));

#[cfg(test)]
mod tests {
    /// Keys on disk depend on every byte of the tables. Changing one requires a new version of the file format.
    #[test]
    fn tables_keep_their_hashes() {
        let tables: [(&str, &[u8], u64); 8] = [
            ("uca900_1", include_bytes!("tables/uca900_1.weights"), 0x6f7c_4ced_8b57_e7bb),
            ("uca900_2", include_bytes!("tables/uca900_2.weights"), 0xe0d6_ab16_3f97_03b4),
            ("uca900_3", include_bytes!("tables/uca900_3.weights"), 0xa6e3_3898_fc9e_671a),
            ("uca520", include_bytes!("tables/uca520.weights"), 0xc63d_e3fb_4295_eb7d),
            ("uca400", include_bytes!("tables/uca400.weights"), 0x4350_d8db_0e01_c419),
            ("general", include_bytes!("tables/general.weights"), 0xfa70_bbc9_45b0_8afc),
            ("latin1", include_bytes!("tables/latin1.weights"), 0x7668_ba88_20b5_1e21),
            ("latin1_swedish", include_bytes!("tables/latin1_swedish.weights"), 0x2b64_7201_4ab2_ee31),
        ];
        for (name, bytes, expected) in tables {
            // FNV-1a.
            let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
            let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, step);
            assert_eq!(hash, expected, "{name}: {hash:#x}");
        }
    }
}
