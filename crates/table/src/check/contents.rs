//! Compares rows with entries in both directions.
//!
//! Looking up the row of every entry, and the entries of every row, would need a random read each. Instead
//! the check sums the hashes of an index's entries, and the hashes of the entries that the rows should
//! have. A sum does not depend on order, so that each tree is read only once, in its own order and in
//! pieces.

use super::parallel::in_parallel;
use super::{Check, CheckDepth};
use crate::catalog::IndexDef;
use crate::error::Result;
use crate::index::derived::{DerivedFrom, for_each_entry};
use crate::index::entry::{describe_entry, entry_of_row, read_row, unique_prefix};
use crate::index::words_entry::WordEntries;
use crate::read::{EntryStep, ReadView};
use leafline_btree::{Direction, LeavesByPage, NodeProgress, Tree};
use leafline_types::OverflowRef;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

/// The number of pieces of an index for each thread.
const PIECES_PER_THREAD: usize = 8;

/// A number of entries, and the sum of their hashes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Sum {
    pub(crate) entries: u64,
    hashes: u64,
}

impl Sum {
    pub(crate) fn add(&mut self, key: &[u8], payload: &[u8]) {
        let mut hasher = DefaultHasher::new();
        hasher.write_usize(key.len());
        hasher.write(key);
        hasher.write(payload);
        self.entries += 1;
        self.hashes = self.hashes.wrapping_add(hasher.finish());
    }

    fn join(&mut self, other: Sum) {
        self.entries += other.entries;
        self.hashes = self.hashes.wrapping_add(other.hashes);
    }
}

/// The result of reading a piece of an index.
#[derive(Default)]
struct Piece {
    sum: Sum,
    /// The sums of the entries that each secondary index should have for the rows.
    derived: Vec<Sum>,
    /// The unique prefixes of the first and the last entry, which no other entry may have.
    first_unique: Option<Vec<u8>>,
    last_unique: Option<Vec<u8>>,
    faults: Vec<String>,
    /// References to the overflow values of the rows.
    outside: Vec<OverflowRef>,
}

impl Piece {
    /// Adds the result of the next piece.
    fn join(&mut self, next: Piece) {
        if self.derived.is_empty() {
            self.derived = vec![Sum::default(); next.derived.len()];
        }
        self.faults.extend(next.faults);
        if next.sum.entries == 0 {
            return;
        }
        if let (Some(last), Some(first)) = (&self.last_unique, &next.first_unique)
            && last == first
        {
            self.faults.push(duplicate(last));
        }
        if self.sum.entries == 0 {
            self.first_unique = next.first_unique;
        }
        self.last_unique = next.last_unique;
        self.sum.join(next.sum);
        self.derived.iter_mut().zip(next.derived).for_each(|(all, part)| all.join(part));
        self.outside.extend(next.outside);
    }
}

/// The fault if the last entry of a piece has the unique prefix of the next piece's first entry.
fn duplicate(key: &[u8]) -> String {
    format!("duplicate entry with key {}", hex::encode(key))
}

impl Check<'_> {
    /// Reads every index and compares them. Indexes with a damaged structure are left out.
    pub(super) fn contents(&mut self, rows: u64) -> Result<()> {
        let table = self.table;
        if self.found.damaged.contains(&0) {
            let what = "rows and entries were not compared, because not all rows can be read";
            self.found.note(table, None, None, what.into());
            return Ok(());
        }
        let Some((found, mut derived)) = self.sums(table.clustered())? else { return Ok(()) };
        self.add_words(&mut derived)?;
        if found.entries != rows {
            let what = format!("table {}: it has {} rows, {rows} were counted", table.name, found.entries);
            self.found.miscounted = true;
            self.found.note(table, None, None, what);
        }
        for (position, (index, derived)) in table.secondary().iter().zip(derived).enumerate() {
            if self.found.damaged.contains(&(position + 1)) {
                continue;
            }
            let Some((found, _)) = self.sums(index)? else { continue };
            if found != derived {
                let compared = self.compare(index, found, derived);
                self.tolerate(index, compared)?;
            }
        }
        Ok(())
    }

    /// Adds the entries that FULLTEXT indexes should have, which are derived from values outside the rows, too, and thus without a
    /// latch.
    fn add_words(&self, derived: &mut [Sum]) -> Result<()> {
        let table = self.table;
        if !table.has_fulltext() {
            return Ok(());
        }
        let mut buffers = WordEntries::default();
        self.each_leaf(table.clustered(), &mut |rows| {
            for row in rows {
                let words = table.secondary().iter().zip(&mut *derived).filter(|(index, _)| index.is_words());
                let outside = self.view.texts_outside(table, table.secondary(), &row.payload)?;
                let row = DerivedFrom { key: &row.key, payload: &row.payload, outside: &outside };
                for (index, sum) in words {
                    for_each_entry(table, index, row, &mut buffers, &mut |entry| {
                        sum.add(entry.key, entry.payload);
                        Ok(())
                    })?;
                }
            }
            Ok(())
        })
    }

    /// Reads an index in pieces. `None` if it cannot be read.
    fn sums(&mut self, index: &Arc<IndexDef>) -> Result<Option<(Sum, Vec<Sum>)>> {
        let read = self.read_pieces(index);
        let Some(pieces) = self.tolerate(index, read)? else { return Ok(None) };
        let mut sum = Sum::default();
        let mut derived = vec![Sum::default(); self.table.secondary().len()];
        let mut last: Option<Vec<u8>> = None;
        let mut faults = 0;
        for piece in pieces {
            if piece.sum.entries == 0 && piece.faults.is_empty() {
                continue;
            }
            if last.is_some() && last == piece.first_unique {
                self.fault(index, duplicate(&last.unwrap_or_default()));
            }
            last = piece.last_unique;
            sum.join(piece.sum);
            derived.iter_mut().zip(piece.derived).for_each(|(all, part)| all.join(part));
            faults += piece.faults.len();
            self.outside.extend(piece.outside);
            for fault in piece.faults {
                self.fault(index, fault);
            }
        }
        // Unreadable rows would appear as entries without a row.
        let usable = faults == 0 || !index.is_clustered();
        Ok(usable.then_some((sum, derived)))
    }

    fn read_pieces(&self, index: &Arc<IndexDef>) -> Result<Vec<Piece>> {
        let tree = self.view.core().trees.for_snapshot(index, self.view.snapshot())?;
        if self.options.read_ahead.may_visit_by_page()
            && let Some(pieces) = self.read_by_page(index, &tree.tree)?
        {
            return Ok(pieces);
        }
        let threads = self.options.threads;
        let bounds = match threads {
            0 | 1 => Vec::new(),
            _ => tree.tree.bounds_of_pieces(threads * PIECES_PER_THREAD)?,
        };
        let lowers = std::iter::once(&[][..]).chain(bounds.iter().map(Vec::as_slice));
        let uppers = bounds.iter().map(|bound| Some(bound.as_slice())).chain([None]);
        let ranges: Vec<(&[u8], Option<&[u8]>)> = lowers.zip(uppers).collect();
        in_parallel(threads, &ranges, |_, (lower, upper)| self.read_piece(index, lower, *upper))
    }

    /// Reads like [`read_pieces`](Self::read_pieces), but in the order of the pages; `None` if that does
    /// not pay. A piece combines the results of many leaves.
    fn read_by_page(&self, index: &Arc<IndexDef>, tree: &Tree) -> Result<Option<Vec<Piece>>> {
        let mut all = Vec::new();
        let mut from = Some(Vec::new());
        while let Some(lower) = from.take() {
            let leaves = tree.leaves_by_page(&lower, None, LeavesByPage::MOST)?;
            let LeavesByPage { leaves: list, missing, backward, .. } = &leaves;
            if all.is_empty() && !self.options.read_ahead.visits_by_page(list.len(), *missing, *backward) {
                return Ok(None);
            }
            let read = in_parallel(self.options.threads, list, |at, leaf| {
                leaves.prefetch(tree.store(), at)?;
                self.read_piece(index, &leaf.keys.lower, leaf.keys.upper.as_deref())
            })?;
            let mut pieces: Vec<(&[u8], Piece)> =
                list.iter().map(|leaf| leaf.keys.lower.as_slice()).zip(read).collect();
            pieces.sort_unstable_by(|a, b| a.0.cmp(b.0));
            let mut joined = Piece::default();
            for (_, piece) in pieces {
                joined.join(piece);
            }
            all.push(joined);
            from = leaves.resume;
        }
        Ok(Some(all))
    }

    /// Reads the entries in `[lower, upper)`.
    fn read_piece(&self, index: &Arc<IndexDef>, lower: &[u8], upper: Option<&[u8]>) -> Result<Piece> {
        let table = self.table;
        let derive = if index.is_clustered() { table.secondary() } else { &[] };
        let mut piece = Piece { derived: vec![Sum::default(); derive.len()], ..Piece::default() };
        let extended = index.is_clustered() && self.options.depth == CheckDepth::Extended;
        let mut last = None::<Vec<u8>>;
        visit_entries(self.view, self.table, index, (lower, upper), self.progress, &mut |key, payload| {
            if last.as_deref().is_some_and(|last| last >= key) {
                piece.faults.push(format!("keys out of order at {}", hex::encode(key)));
            }
            let last = last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(key);
            let mut look = || -> Result<()> {
                if let Some(prefix) = unique_prefix(index, key)? {
                    if piece.last_unique.as_deref() == Some(prefix) {
                        let values = describe_entry(index, key, payload)?;
                        piece.faults.push(format!("duplicate entry '{values}'"));
                    }
                    if piece.sum.entries == 0 {
                        piece.first_unique = Some(prefix.to_vec());
                    }
                    let last = piece.last_unique.get_or_insert_default();
                    last.clear();
                    last.extend_from_slice(prefix);
                }
                if extended || (index.is_clustered() && table.overflow.is_some()) {
                    piece.outside.extend(read_row(table, key, payload)?);
                }
                let ordered = derive.iter().zip(&mut piece.derived).filter(|(index, _)| !index.is_words());
                for (index, sum) in ordered {
                    let entry = entry_of_row(table, index, key, payload)?;
                    sum.add(&entry.key, &entry.payload);
                }
                piece.sum.add(key, payload);
                Ok(())
            };
            match look().map_err(super::damage) {
                Err(Ok((_, what))) => {
                    piece.faults.push(format!("entry {} cannot be read: {what}", hex::encode(key)));
                    Ok(())
                }
                Err(Err(error)) => Err(error),
                Ok(()) => Ok(()),
            }
        })?;
        Ok(piece)
    }
}

/// The function called with key and payload of each entry.
type EachEntry<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<()>;

/// Calls `each` with key and payload of the visible entries in a range of an index. It runs under the latch
/// of a leaf and must not block.
fn visit_entries(
    view: &ReadView,
    table: &Arc<crate::catalog::TableDef>,
    index: &Arc<IndexDef>,
    (lower, upper): (&[u8], Option<&[u8]>),
    progress: &NodeProgress<'_>,
    each: EachEntry<'_>,
) -> Result<()> {
    let mut cursor = view.entries(table, index)?;
    cursor.seek(lower);
    cursor.read_ahead(Direction::Forward, lower, upper);
    let mut failed = None;
    while cursor.visit(Direction::Forward, &mut |found| {
        if upper.is_some_and(|upper| found.key >= upper) {
            return EntryStep::Stop;
        }
        match each(found.key, found.payload) {
            Ok(()) => EntryStep::Next,
            Err(error) => {
                failed = Some(error);
                EntryStep::Stop
            }
        }
    })? {
        // If the range ends with a leaf, nothing of it is left.
        let ended = upper.zip(cursor.position()).is_some_and(|(upper, at)| at >= upper) && cursor.is_exact();
        if progress(1).is_break() || ended {
            break;
        }
    }
    failed.map_or(Ok(()), Err)
}
