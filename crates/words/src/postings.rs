//! Evaluates a query with the entries of an index, without the texts of documents.
//!
//! The entries that the lookups of the query find are collected, lookup by lookup, in the order of the index. Then the lists are
//! merged by document. A document that the entries say too little about has to be read: a phrase may contain tokens that are no
//! words of the index, and a word may have too many positions to be kept.
//!
//! Documents are bytes (the locators of rows), compared as such.

use crate::document::{Found, Words};
use crate::entries::{Weight, positions, split_payload};
use crate::program::{Lookup, Phrase, Step, Target};
use crate::query::Query;
use crate::statistics::Statistics;
use crate::syntax::Operator;
use std::collections::BTreeMap;
use std::ops::Range;

/// The entries that a lookup finds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WordRange {
    /// The entries of a word, given the word's key.
    Word(Box<[u8]>),
    /// The entries of all words whose keys begin with these bytes.
    Beginning(Box<[u8]>),
}

/// An entry whose payload makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("an entry of a FULLTEXT index whose payload makes no sense")]
pub struct DamagedEntry;

/// An entry of a document.
#[derive(Clone, Debug)]
struct Posting {
    document: Range<u32>,
    /// The number of the word among those of a lookup.
    word: u32,
    frequency: u32,
    /// Empty if they were left out, or if nobody asks for them.
    positions: Range<u32>,
}

/// The entries of a lookup.
#[derive(Clone, Default, Debug)]
struct List {
    postings: Vec<Posting>,
    bytes: Vec<u8>,
}

impl List {
    fn bytes_at(&self, range: &Range<u32>) -> &[u8] {
        self.bytes.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    fn push(&mut self, bytes: &[u8]) -> Range<u32> {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len() as u32
    }

    fn document(&self, at: usize) -> Option<&[u8]> {
        self.postings.get(at).map(|posting| self.bytes_at(&posting.document))
    }
}

/// The entries that the lookups of a query have found.
#[derive(Debug)]
pub struct Postings<'q> {
    query: &'q Query,
    columns: u64,
    lists: Vec<List>,
    /// The words and phrases found in the texts of documents that were read.
    read: BTreeMap<Box<[u8]>, Found>,
    is_sorted: bool,
}

/// A function that takes a document and what is known about it.
pub type EachDocument<'f, E> = dyn FnMut(&[u8], Known<'_>) -> Result<(), E> + 'f;

/// The knowledge of a document.
#[derive(Clone, Copy, Debug)]
pub enum Known<'f> {
    /// Everything.
    Found(&'f Found),
    /// Too little: the text of the document has to be read.
    Unread,
}

impl Query {
    /// The entries that each lookup finds; `None` if the entries do not tell which words begin as the query says, because the
    /// collation distinguishes letters only after whole words.
    pub fn ranges(&self) -> Option<Vec<WordRange>> {
        let mut keys: Vec<&[u8]> = vec![&[]; self.program.tokens.len()];
        for (key, number) in &self.program.tokens {
            if let Some(slot) = keys.get_mut(*number) {
                *slot = key;
            }
        }
        let range = |lookup: &Lookup| match &lookup.prefix {
            Some(prefix) => self.rules.key_prefix(prefix).map(WordRange::Beginning),
            None => Some(WordRange::Word(keys.get(lookup.token).copied().unwrap_or_default().into())),
        };
        self.program.lookups.iter().map(range).collect()
    }

    /// The only word, if the ranking of a document is the weight of that word alone.
    pub fn is_one_word(&self) -> bool {
        matches!(self.sum_of(), Some([_]))
            && self.program.lookups.iter().all(|lookup| lookup.prefix.is_none())
    }

    /// The steps, if each looks for a word without an operator: the ranking is then the sum of the words' weights.
    fn sum_of(&self) -> Option<&[Step]> {
        let is_plain =
            |step: &Step| step.operator == Operator::None && matches!(step.target, Target::Lookup(_));
        self.program.steps.iter().all(is_plain).then_some(self.program.steps.as_slice())
    }

    /// Returns the ranking of a document that has one word, of a query that [is one word](Self::is_one_word).
    pub fn rank_of_word(&self, frequency: u32, frequencies: &[f64]) -> f32 {
        let words = Words { count: 1, frequency };
        self.rank(&Found { words: vec![words; self.program.lookups.len()], phrases: Vec::new() }, frequencies)
    }
}

/// Returns the frequency of a word in a document, from its entry.
///
/// # Errors
/// [`DamagedEntry`].
pub fn frequency_of(weight: u8, payload: &[u8]) -> Result<u32, DamagedEntry> {
    Ok(split_payload(Weight(weight), payload).ok_or(DamagedEntry)?.0)
}

impl<'q> Postings<'q> {
    /// Makes empty lists for a query of an index with this number of columns.
    pub fn new(query: &'q Query, columns: usize) -> Postings<'q> {
        Postings {
            query,
            columns: columns as u64,
            lists: vec![List::default(); query.program.lookups.len()],
            read: BTreeMap::new(),
            is_sorted: false,
        }
    }

    /// Adds an entry that a lookup has found. `word` is the number of its word among those that the lookup has found.
    ///
    /// # Errors
    /// [`DamagedEntry`].
    pub fn add(
        &mut self,
        lookup: usize,
        word: u32,
        (weight, payload): (u8, &[u8]),
        document: &[u8],
    ) -> Result<(), DamagedEntry> {
        let (frequency, places) = split_payload(Weight(weight), payload).ok_or(DamagedEntry)?;
        let keeps = !self.query.program.phrases.is_empty();
        let list = self.lists.get_mut(lookup).ok_or(DamagedEntry)?;
        if list.bytes.len() + document.len() + places.len() > u32::MAX as usize {
            return Err(DamagedEntry);
        }
        let document = list.push(document);
        let positions = if keeps { list.push(places) } else { 0..0 };
        list.postings.push(Posting { document, word, frequency, positions });
        self.is_sorted = false;
        Ok(())
    }

    /// Sets what the text of a document says, whatever its entries are.
    pub fn set(&mut self, document: &[u8], found: Found) {
        self.read.insert(document.into(), found);
    }

    /// The bytes that the lists take.
    pub fn memory(&self) -> usize {
        let of_list = |list: &List| list.bytes.capacity() + list.postings.capacity() * size_of::<Posting>();
        let of_read = |document: &[u8]| document.len() + 64 + 8 * self.lists.len();
        self.lists.iter().map(of_list).sum::<usize>()
            + self.read.keys().map(|document| of_read(document)).sum::<usize>()
    }

    /// Calls `f` with each document that has a word of the query, in ascending order, and with what is known about it.
    ///
    /// # Errors
    /// The errors that `f` returns.
    pub fn for_each<E>(&mut self, f: &mut EachDocument<'_, E>) -> Result<(), E> {
        self.sort();
        let program = &self.query.program;
        let mut found = Found {
            words: vec![Words::default(); self.lists.len()],
            phrases: vec![false; program.phrases.len()],
        };
        let mut heads = vec![0_usize; self.lists.len()];
        let mut groups: Vec<Range<usize>> = Vec::with_capacity(heads.len());
        let mut read = self.read.iter().peekable();
        loop {
            let of_lists =
                self.lists.iter().zip(&heads).filter_map(|(list, head)| list.document(*head)).min();
            let of_read = read.peek().map(|(document, _)| &***document);
            let Some(document) = of_lists.into_iter().chain(of_read).min() else { return Ok(()) };
            groups.clear();
            for ((list, head), words) in self.lists.iter().zip(&mut heads).zip(&mut found.words) {
                let begin = *head;
                while list.document(*head) == Some(document) {
                    *head += 1;
                }
                let first = list.postings.get(begin).filter(|_| *head > begin);
                *words = Words {
                    count: (*head - begin) as u32,
                    frequency: first.map_or(0, |posting| posting.frequency),
                };
                groups.push(begin..*head);
            }
            if let Some((_, said)) = read.next_if(|(of_read, _)| &***of_read == document) {
                f(document, Known::Found(said))?;
                continue;
            }
            let mut is_decided = true;
            for (phrase, is_found) in program.phrases.iter().zip(&mut found.phrases) {
                match self.has_phrase(phrase, &groups) {
                    Some(has) => *is_found = has,
                    None => is_decided = false,
                }
            }
            f(document, if is_decided { Known::Found(&found) } else { Known::Unread })?;
        }
    }

    /// Counts for the query, if there are so many documents. All documents that had to be read were [set](Self::set).
    pub fn statistics(&mut self, documents: u64) -> Statistics {
        let mut statistics = Statistics::new(self.query);
        let query = self.query;
        if self.read.is_empty() && query.program.searches_are_unconditional() {
            statistics.set_found(self.lists.iter().map(|list| list.postings.len() as u64));
            statistics.set_documents(documents);
            return statistics;
        }
        let added: Result<(), std::convert::Infallible> = self.for_each(&mut |_, known| {
            if let Known::Found(found) = known {
                statistics.add(query, found);
            }
            Ok(())
        });
        let Ok(()) = added;
        statistics.set_documents(documents);
        statistics
    }

    fn sort(&mut self) {
        if std::mem::replace(&mut self.is_sorted, true) {
            return;
        }
        for List { postings, bytes } in &mut self.lists {
            let bytes_at =
                |range: &Range<u32>| bytes.get(range.start as usize..range.end as usize).unwrap_or_default();
            // The entries of a word are a few runs in order already.
            postings
                .sort_by(|a, b| bytes_at(&a.document).cmp(bytes_at(&b.document)).then(a.word.cmp(&b.word)));
        }
    }

    /// Returns whether a document contains a phrase; `None` if its text must be read. `groups` has its entries in each list.
    fn has_phrase(&self, phrase: &Phrase, groups: &[Range<usize>]) -> Option<bool> {
        let posting = |lookup: usize| {
            let list = self.lists.get(lookup)?;
            Some((list, list.postings.get(groups.get(lookup)?.clone())?.first()?))
        };
        if phrase.lookups.is_empty() || phrase.lookups.iter().any(|lookup| posting(*lookup).is_none()) {
            return Some(false);
        }
        if phrase.sequence.len() < 2 {
            return Some(!phrase.sequence.is_empty());
        }
        let places = |lookup: usize| -> Option<Vec<(u64, u64)>> {
            let (list, posting) = posting(lookup)?;
            let places: Vec<_> = positions(list.bytes_at(&posting.positions), self.columns).collect();
            (places.len() == posting.frequency as usize).then_some(places)
        };
        if let Some(distance) = phrase.distance {
            let lists: Option<Vec<Vec<(u64, u64)>>> = phrase.lookups.iter().map(|at| places(*at)).collect();
            return Some(is_near(&lists?, distance));
        }
        let program = &self.query.program;
        let lookup_of = |token: &usize| {
            let mut lookups = phrase.lookups.iter().copied();
            lookups.find(|at| program.lookups.get(*at).is_some_and(|lookup| lookup.token == *token))
        };
        let lists: Option<Vec<Vec<(u64, u64)>>> =
            phrase.sequence.iter().map(|token| places(lookup_of(token)?)).collect();
        let lists = lists?;
        let (first, rest) = lists.split_first()?;
        Some(first.iter().any(|&(at, column)| {
            (1..).zip(rest).all(|(distance, list)| list.binary_search(&(at + distance, column)).is_ok())
        }))
    }
}

/// Returns whether at most `distance` tokens reach from the first to the last word of some place. The lists are walked side by side.
fn is_near(lists: &[Vec<(u64, u64)>], distance: u64) -> bool {
    let mut heads = vec![0_usize; lists.len()];
    loop {
        let mut least: Option<(u64, usize)> = None;
        let mut last = 0;
        for (number, (list, head)) in lists.iter().zip(&heads).enumerate() {
            let Some((at, _)) = list.get(*head) else { return false };
            least = least.filter(|(known, _)| known <= at).or(Some((*at, number)));
            last = last.max(*at);
        }
        let Some((first, number)) = least else { return false };
        if last - first < distance {
            return true;
        }
        match heads.get_mut(number) {
            Some(head) => *head += 1,
            None => return false,
        }
    }
}
