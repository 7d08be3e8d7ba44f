//! Searches a FULLTEXT index for the words of a query.
//!
//! The index says of each row which words it has, how often and where. Rows that the transaction has written are examined by their
//! texts, because own writes are in no tree; so are rows whose entries say too little (`leafline_words::postings`).
//!
//! The entries of a word begin with the rows that have it most often. If only the best rows of a query of one word are wanted, the
//! walk ends where no further row can be among them.

use super::cursor::EntryCursor;
use super::{EntryRef, EntryStep, EntryVisitor, LocatorBatch, ReadView, SliceBound};
use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, TableError};
use crate::index::words_entry::texts_of_row;
use crate::index::words_key::{beginning_of, every_row, word_of_key};
use crate::trees::TreeHandle;
use leafline_btree::Direction;
use leafline_types::memory::server;
use leafline_types::{CancelToken, Value, prefix_successor};
use leafline_words::{DamagedEntry, Found, Known, Postings, Query, Statistics, Weight, frequency_of};
use std::sync::Arc;

/// The number of entries or rows between two looks at memory and cancellation.
const STEP: usize = 4096;

/// The maximum number of own rows read at once.
const OWN_ROWS: usize = 256;

/// A row that a search has found.
#[derive(Clone, PartialEq, Debug)]
pub struct MatchedRow {
    /// The clustered key of the row.
    pub locator: Box<[u8]>,
    /// The score of the row.
    pub score: f32,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Matches {
    /// The counts that scores depend on.
    pub statistics: Statistics,
    /// The rows found: all of them, ascending by locator; or only the best ones, descending by score, and ascending by locator where
    /// scores are equal.
    pub rows: Vec<MatchedRow>,
}

/// A search under way.
struct Search<'s> {
    view: &'s ReadView,
    table: &'s Arc<TableDef>,
    index: &'s Arc<IndexDef>,
    tree: Arc<TreeHandle>,
    cancel: &'s CancelToken,
}

/// Counts the entries before a key.
struct Count<'k> {
    upper: Option<&'k [u8]>,
    entries: u64,
}

impl EntryVisitor for Count<'_> {
    fn entry(&mut self, entry: EntryRef<'_>) -> EntryStep {
        if self.upper.is_some_and(|upper| entry.key >= upper) {
            return EntryStep::Stop;
        }
        self.entries += 1;
        EntryStep::Next
    }

    fn slice_bound(&self) -> Option<SliceBound<'_>> {
        Some(SliceBound { entries: usize::MAX, until: self.upper, counted: true })
    }

    fn counted(&mut self, entries: usize) -> EntryStep {
        self.entries += entries as u64;
        EntryStep::Next
    }
}

impl ReadView {
    /// Searches a FULLTEXT index. `most` asks for so many of the best rows. `None` if the index cannot answer: it is newer than the
    /// snapshot, or its entries do not tell which words begin as the query says.
    ///
    /// # Errors
    /// `Corrupt`; 1317 if it is cancelled; the errors of reading; error 1038 without memory.
    pub fn search(
        &self,
        table: &Arc<TableDef>,
        index: &Arc<IndexDef>,
        query: &Query,
        most: Option<usize>,
        cancel: &CancelToken,
    ) -> Result<Option<Matches>> {
        let Some(ranges) = query.ranges() else { return Ok(None) };
        let tree = match self.core.trees.for_reading(index, &self.snapshot) {
            Ok(tree) => tree,
            Err(TableError::DefinitionChanged) => return Ok(None),
            Err(error) => return Err(error),
        };
        let search = Search { view: self, table, index, tree, cancel };
        let beginnings: Vec<Vec<u8>> = ranges.iter().map(beginning_of).collect();
        let has_writes = self.has_writes(table.id);
        let matches = match beginnings.as_slice() {
            [word] if query.is_one_word() && !has_writes => search.one_word(query, word, most)?,
            _ => search.several_words(query, &beginnings, most, has_writes)?,
        };
        Ok(Some(matches))
    }
}

impl Search<'_> {
    /// Makes a cursor for the committed entries that begin with some bytes.
    fn cursor(&self, beginning: &[u8], upper: Option<&[u8]>) -> Result<EntryCursor> {
        let mut cursor = EntryCursor::on(self.view, self.table, self.index, self.tree.clone(), false)?;
        cursor.read_only_in(&[(beginning, upper)])?;
        cursor.seek(beginning);
        cursor.read_ahead(Direction::Forward, beginning, upper);
        Ok(cursor)
    }

    /// Counts the committed entries that begin with some bytes.
    fn count(&self, beginning: &[u8]) -> Result<u64> {
        let upper = prefix_successor(beginning);
        let mut cursor = self.cursor(beginning, upper.as_deref())?;
        let mut count = Count { upper: upper.as_deref(), entries: 0 };
        while cursor.visit_with(Direction::Forward, &mut count)? {
            self.cancel.check()?;
        }
        Ok(count.entries)
    }

    /// Calls `each` with the committed entries that begin with some bytes, until it returns false. It must not use the engine.
    fn each(&self, beginning: &[u8], each: &mut dyn FnMut(EntryRef<'_>) -> Result<bool>) -> Result<()> {
        let upper = prefix_successor(beginning);
        let mut cursor = self.cursor(beginning, upper.as_deref())?;
        let mut failed = None;
        while cursor.visit(Direction::Forward, &mut |entry| {
            if upper.as_deref().is_some_and(|upper| entry.key >= upper) {
                return EntryStep::Stop;
            }
            match each(entry) {
                Ok(true) => EntryStep::Next,
                Ok(false) => EntryStep::Stop,
                Err(error) => {
                    failed = Some(error);
                    EntryStep::Stop
                }
            }
        })? {
            self.cancel.check()?;
        }
        failed.map_or(Ok(()), Err)
    }

    /// Searches for the only word of a query.
    fn one_word(&self, query: &Query, word: &[u8], most: Option<usize>) -> Result<Matches> {
        let documents = self.count(&every_row())?;
        let statistics = Statistics::of_word(query, documents, self.count(word)?);
        let frequencies = statistics.frequencies(query);
        let mut rows: Vec<(u32, MatchedRow)> = Vec::new();
        let (mut bytes, mut class) = (0, None);
        // The number of rows after which the rows of the same class cannot be among the best.
        let enough = most.unwrap_or(usize::MAX);
        self.each(word, &mut |entry| {
            let Some(key) = word_of_key(self.index, entry.key)? else { return Err(self.damaged()) };
            let weight = Weight(key.weight);
            if rows.len() >= enough && (class != Some(weight) || weight.is_exact()) {
                return Ok(false);
            }
            class = Some(weight);
            let frequency = frequency_of(key.weight, entry.payload).map_err(|_| self.damaged())?;
            let score = query.rank_of_word(frequency, &frequencies);
            bytes += key.locator.len() + size_of::<(u32, MatchedRow)>() + 16;
            if rows.len().is_multiple_of(STEP) {
                server::ask(bytes)?;
            }
            rows.push((frequency, MatchedRow { locator: key.locator.into(), score }));
            Ok(true)
        })?;
        match most {
            Some(most) => {
                rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.locator.cmp(&b.1.locator)));
                rows.truncate(most);
            }
            None => rows.sort_by(|a, b| a.1.locator.cmp(&b.1.locator)),
        }
        Ok(Matches { statistics, rows: rows.into_iter().map(|(_, row)| row).collect() })
    }

    /// Searches for the words of any query.
    fn several_words(
        &self,
        query: &Query,
        beginnings: &[Vec<u8>],
        most: Option<usize>,
        has_writes: bool,
    ) -> Result<Matches> {
        let mut postings = Postings::new(query, self.index.parts.len());
        for (lookup, beginning) in beginnings.iter().enumerate() {
            let (mut word, mut last, mut read) = (0_u32, Vec::new(), 0_usize);
            self.each(beginning, &mut |entry| {
                let Some(key) = word_of_key(self.index, entry.key)? else { return Err(self.damaged()) };
                if key.word != last {
                    word += u32::from(!last.is_empty());
                    last.clear();
                    last.extend_from_slice(key.word);
                }
                read += 1;
                if read.is_multiple_of(STEP) {
                    server::ask(postings.memory())?;
                }
                let said = (key.weight, entry.payload);
                postings.add(lookup, word, said, key.locator).map_err(|DamagedEntry| self.damaged())?;
                Ok(true)
            })?;
        }
        let mut documents = self.count(&every_row())?;
        if has_writes {
            documents = self.examine_own(query, &mut postings, documents)?;
        }
        self.examine_unread(query, &mut postings)?;
        let statistics = postings.statistics(documents);
        let frequencies = statistics.frequencies(query);
        let mut rows = Vec::new();
        let mut bytes = postings.memory();
        postings.for_each(&mut |locator, known| {
            let Known::Found(found) = known else { return Err(self.damaged()) };
            if rows.len().is_multiple_of(STEP) {
                self.cancel.check()?;
                server::ask(bytes)?;
            }
            if let Some(score) = query.score(found, &frequencies) {
                bytes += locator.len() + size_of::<MatchedRow>() + 16;
                rows.push(MatchedRow { locator: locator.into(), score });
            }
            Ok::<_, TableError>(())
        })?;
        if let Some(most) = most {
            let order = |a: &MatchedRow, b: &MatchedRow| {
                b.score.total_cmp(&a.score).then_with(|| a.locator.cmp(&b.locator))
            };
            if rows.len() > most && most > 0 {
                rows.select_nth_unstable_by(most - 1, order);
            }
            rows.truncate(most);
            rows.sort_by(order);
        }
        Ok(Matches { statistics, rows })
    }

    /// Examines the texts of the rows that the transaction has written. Returns the number of rows of the view; `committed` is that
    /// of the snapshot.
    fn examine_own(&self, query: &Query, postings: &mut Postings<'_>, committed: u64) -> Result<u64> {
        let (view, clustered) = (self.view, self.table.clustered());
        let mut documents = committed;
        let mut from = Vec::new();
        loop {
            let own = view.own_entries(self.table.id, clustered, (&from, None), false, OWN_ROWS)?;
            self.cancel.check()?;
            server::ask(postings.memory())?;
            for row in &own {
                let mut listed = every_row();
                listed.extend_from_slice(&row.key);
                // Keys have no other key as a beginning.
                documents = documents - self.count(&listed)? + u64::from(row.state.is_some());
                let found = match &row.state {
                    Some(payload) => self.find(query, &row.key, payload)?,
                    None => query.find(std::iter::empty()),
                };
                postings.set(&row.key, found);
            }
            match own.into_iter().next_back() {
                Some(last) => {
                    from = last.key;
                    from.push(0);
                }
                None => return Ok(documents),
            }
        }
    }

    /// Examines the texts of the rows about which the entries say too little.
    fn examine_unread(&self, query: &Query, postings: &mut Postings<'_>) -> Result<()> {
        let mut unread = LocatorBatch::new();
        postings.for_each(&mut |locator, known| {
            if matches!(known, Known::Unread) {
                unread.push(locator);
            }
            Ok::<_, TableError>(())
        })?;
        let mut rest = 0..unread.len();
        while !rest.is_empty() {
            self.cancel.check()?;
            server::ask(postings.memory())?;
            let mut batch = LocatorBatch::new();
            rest.by_ref().take(OWN_ROWS).for_each(|at| batch.push(unread.get(at)));
            let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
            self.view.fetch(self.table, &batch, &mut |_, row| {
                rows.extend(row.map(|row| (row.key.to_vec(), row.payload.to_vec())));
            })?;
            if rows.len() != batch.len() {
                return Err(self.damaged());
            }
            for (key, payload) in rows {
                postings.set(&key, self.find(query, &key, &payload)?);
            }
        }
        Ok(())
    }

    /// Finds the words of the query in the texts of a row.
    fn find(&self, query: &Query, key: &[u8], payload: &[u8]) -> Result<Found> {
        let outside = self.view.texts_outside(self.table, std::slice::from_ref(self.index), payload)?;
        let texts = texts_of_row(self.table, self.index, (key, payload), &outside)?;
        Ok(query.find(texts.iter().map(|text| match text {
            Value::String(text) => &**text,
            _ => "",
        })))
    }

    fn damaged(&self) -> TableError {
        TableError::Corrupt(format!("FULLTEXT index {} does not agree with its rows", self.index.name))
    }
}
