//! The graph of conflicts among SERIALIZABLE transactions: who has read what whose writer it does not see.
//!
//! One mutex protects the graph, in which every step below is atomic:
//! - A reader *registers* ranges before it reads them, and looks for writers among them that it does not see.
//! - A committing transaction *prepares*: it lists what it writes, and looks for readers of it. What it has listed
//!   stays until no transaction is left that may not see it. So whichever comes second finds the other.
//! - Both look for a *dangerous structure*: T1 -> T2 -> T3, where each arrow goes from a reader to a writer that the
//!   reader does not see, and T3 was the first of the three to commit (Fekete et al., TODS 2005). Every cycle has one.
//!   Whoever finds one fails, and nobody else: writes are private, so an arrow to a transaction appears when it
//!   prepares, or later. T2 therefore cannot be found in the middle before it prepares.
//!
//! *Committed first.* A commit becomes visible at some moment between its preparation and its end, after which every
//! new snapshot sees it. T3 counts as the first unless one of the others has ended before T3 prepared. A transaction
//! that only reads can be thought to commit when its snapshot was taken: T3 is the first only if that snapshot sees it
//! (Ports and Grittner, VLDB 2012).
//!
//! *Kept.* An ended transaction is kept until all that were open when it ended have ended, because these may still
//! read what it wrote or write what it read. Beyond [`MOST_ENDED`] the oldest ones are merged. Memory is bounded: see
//! [`Graph::keep_within`].
//!
//! Lock order: below the mutex of counters, above that of the clock.

use super::footprint::{TableReads, TableWrites, Writes};
use crate::catalog::TableId;
use crate::mvcc::{RegisteredSnapshot, Snapshot};
use leafline_btree::CommitTs;
use leafline_storage::SegmentId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The number of ended transactions that are kept apart.
pub(super) const MOST_ENDED: usize = 512;
/// The memory of the footprints of one transaction, in bytes, beyond which they lose detail.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// The number of a transaction in the graph.
pub(super) type Number = u64;

/// A transaction that would close a dangerous structure, and has to be rolled back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Dangerous;

/// The part of a transaction that is read and written without the graph's mutex.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Its commit timestamp; 0 if it has none. It is set before any snapshot can see the commit.
    pub ts: AtomicU64,
    /// Whether no dangerous structure can contain it: it need not register what it reads.
    pub is_safe: AtomicBool,
}

impl Marks {
    fn ts(&self) -> Option<CommitTs> {
        Some(self.ts.load(Ordering::Acquire)).filter(|ts| *ts > 0).map(CommitTs)
    }
}

/// A transaction in the graph.
#[derive(Debug)]
struct Node {
    marks: Arc<Marks>,
    snapshot: Snapshot,
    /// The moments at which it took its snapshot, prepared its commit, and ended.
    begun: u64,
    prepared: Option<u64>,
    ended: Option<u64>,
    /// Whether it does not write: it was declared so, or it has ended without writes.
    read_only: bool,
    /// Whether it stands for several ended transactions.
    is_merged: bool,
    /// Transactions that have read keys which it wrote, and do not see its writes.
    ins: BTreeSet<Number>,
    /// Transactions whose writes it does not see, although it has read their keys.
    outs: BTreeSet<Number>,
    /// When the first of the writers prepared that it did not see, and which the graph has dropped since.
    dropped_out: Option<u64>,
    /// For a reader: the writers that were open when it began, and could make it part of a dangerous structure.
    watched: BTreeSet<Number>,
    /// The tables that it has footprints in, and the memory of these, in bytes.
    tables: BTreeSet<TableId>,
    bytes: usize,
}

impl Node {
    /// Returns whether its snapshot shows what `writer` has written.
    fn sees(&self, writer: &Node) -> bool {
        writer.ended.is_some_and(|ended| ended < self.begun)
            || !writer.is_merged && writer.marks.ts().is_some_and(|ts| self.snapshot.sees(ts))
    }
}

/// The last transaction of a possible structure.
#[derive(Clone, Copy)]
enum Third {
    Known(Number),
    /// One that the graph has dropped: it prepared at that moment, and every open transaction sees it.
    Dropped(u64),
}

/// The graph of conflicts.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: BTreeMap<Number, Node>,
    /// The footprints, by table.
    readers: BTreeMap<TableId, BTreeMap<Number, TableReads>>,
    writers: BTreeMap<TableId, BTreeMap<Number, TableWrites>>,
    /// Open transactions, by the moment at which they began.
    open: BTreeSet<(u64, Number)>,
    /// Ended ones, by the moment at which they ended.
    ended: BTreeSet<(u64, Number)>,
    /// The last moment.
    now: u64,
    /// The last number.
    last: Number,
    /// The memory of all footprints, in bytes.
    pub bytes: usize,
    /// The memory below which it is useless to make footprints coarser again.
    useless_below: usize,
}

impl Graph {
    fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// Takes a snapshot for a transaction and adds it. A reader that no dangerous structure can contain is not
    /// added: it has no number.
    pub fn begin(
        &mut self,
        snapshot: impl FnOnce() -> RegisteredSnapshot,
        read_only: bool,
        marks: &Arc<Marks>,
    ) -> (RegisteredSnapshot, Option<Number>) {
        let snapshot = snapshot();
        let writes = |node: &Node| node.ended.is_none() && !node.read_only;
        let open = self.open.iter().map(|(_, number)| *number);
        let writers = || open.filter(|number| self.nodes.get(number).is_some_and(writes));
        let watched: BTreeSet<Number> = if read_only { writers().collect() } else { BTreeSet::new() };
        if read_only && watched.is_empty() {
            marks.is_safe.store(true, Ordering::Release);
            return (snapshot, None);
        }
        let begun = self.tick();
        self.last += 1;
        let node = Node {
            marks: marks.clone(),
            snapshot: (*snapshot).clone(),
            begun,
            prepared: None,
            ended: None,
            read_only,
            is_merged: false,
            ins: BTreeSet::new(),
            outs: BTreeSet::new(),
            dropped_out: None,
            watched,
            tables: BTreeSet::new(),
            bytes: 0,
        };
        self.nodes.insert(self.last, node);
        self.open.insert((begun, self.last));
        (snapshot, Some(self.last))
    }

    /// Registers ranges of an index that a transaction is about to read.
    ///
    /// # Errors
    /// `Dangerous` if it must not read them, or is not open any more.
    pub fn register(
        &mut self,
        reader: Number,
        table: TableId,
        tree: SegmentId,
        ranges: &[(&[u8], Option<&[u8]>)],
    ) -> Result<(), Dangerous> {
        let Some(node) =
            self.nodes.get(&reader).filter(|node| node.prepared.is_none() && node.ended.is_none())
        else {
            return Err(Dangerous);
        };
        if node.marks.is_safe.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some(node) = self.nodes.get_mut(&reader) {
            node.tables.insert(table);
        }
        let reads = self.readers.entry(table).or_default().entry(reader).or_default();
        let is_new = |(lower, upper): &&(&[u8], Option<&[u8]>)| !reads.covers(tree, lower, *upper);
        let new: Vec<_> = ranges.iter().filter(is_new).copied().collect();
        if new.is_empty() {
            return Ok(());
        }
        let before = reads.bytes();
        new.iter().for_each(|(lower, upper)| reads.insert(tree, lower, *upper));
        let after = reads.bytes();
        let writers = self.writers.get(&table).into_iter().flatten();
        let met = writers.filter(|(writer, writes)| {
            let unseen = |writer: &Node| !self.nodes.get(&reader).is_some_and(|reader| reader.sees(writer));
            **writer != reader && self.nodes.get(*writer).is_some_and(unseen) && writes.is_in(tree, &new)
        });
        let met: Vec<Number> = met.map(|(writer, _)| *writer).collect();
        self.count(reader, before, after);
        self.keep_below(reader, MOST_BYTES);
        for writer in met {
            self.connect(reader, writer);
            if self.thirds(writer).any(|third| self.is_dangerous(reader, writer, third)) {
                return Err(Dangerous);
            }
        }
        Ok(())
    }

    /// Lists what a transaction writes, and lets it commit.
    ///
    /// # Errors
    /// `Dangerous` if it must not. The transaction is removed then.
    pub fn prepare(&mut self, writer: Number, writes: Writes) -> Result<(), Dangerous> {
        let now = self.tick();
        let Some(node) = self.nodes.get_mut(&writer) else { return Err(Dangerous) };
        (node.prepared, node.read_only) = (Some(now), false);
        let begun = node.begun;
        let concurrent = |node: &Node| node.ended.is_none_or(|ended| ended > begun);
        let mut met = BTreeSet::new();
        for (table, writes) in writes.into_tables() {
            let readers = self.readers.get(&table).into_iter().flatten();
            met.extend(readers.filter_map(|(reader, reads)| {
                let counts = *reader != writer && self.nodes.get(reader).is_some_and(concurrent);
                (counts && reads.meets(&writes)).then_some(*reader)
            }));
            self.count(writer, 0, writes.bytes());
            if let Some(node) = self.nodes.get_mut(&writer) {
                node.tables.insert(table);
            }
            self.writers.entry(table).or_default().insert(writer, writes);
        }
        self.keep_below(writer, MOST_BYTES);
        met.iter().for_each(|reader| self.connect(*reader, writer));
        let first = |node: Number| self.nodes.get(&node).map(|node| node.ins.clone()).unwrap_or_default();
        let in_middle = first(writer)
            .iter()
            .any(|one| self.thirds(writer).any(|third| self.is_dangerous(*one, writer, third)));
        let at_end = || {
            let ends = |middle: Number| {
                first(middle).iter().any(|one| self.is_dangerous(*one, middle, Third::Known(writer)))
            };
            first(writer).iter().any(|middle| ends(*middle))
        };
        if in_middle || at_end() {
            self.remove(writer);
            return Err(Dangerous);
        }
        Ok(())
    }

    /// The writers that `reader` has met and does not see.
    fn thirds(&self, reader: Number) -> impl Iterator<Item = Third> + '_ {
        let node = self.nodes.get(&reader);
        let known = node.into_iter().flat_map(|node| node.outs.iter().copied().map(Third::Known));
        known.chain(node.and_then(|node| node.dropped_out).map(Third::Dropped))
    }

    /// Returns whether `one` -> `two` -> `three` may be a part of a cycle.
    fn is_dangerous(&self, one: Number, two: Number, three: Third) -> bool {
        let (Some(first), Some(second)) = (self.nodes.get(&one), self.nodes.get(&two)) else { return false };
        let third = match three {
            Third::Known(three) => self.nodes.get(&three),
            Third::Dropped(_) => None,
        };
        let prepared = match (third, three) {
            (Some(third), _) => third.prepared,
            (None, Third::Dropped(prepared)) => Some(prepared),
            (None, Third::Known(_)) => None,
        };
        let Some(prepared) = prepared else { return false };
        if second.ended.is_some_and(|ended| ended < prepared) {
            return false;
        }
        match first.read_only {
            true => third.is_none_or(|third| first.sees(third)),
            false => first.ended.is_none_or(|ended| ended > prepared),
        }
    }

    fn connect(&mut self, reader: Number, writer: Number) {
        if let Some(node) = self.nodes.get_mut(&reader) {
            node.outs.insert(writer);
        }
        if let Some(node) = self.nodes.get_mut(&writer) {
            node.ins.insert(reader);
        }
    }

    /// Ends a transaction that has committed, or whose reads are over. It must be visible to every later snapshot.
    pub fn end(&mut self, number: Number) {
        let now = self.tick();
        let Some(node) = self.nodes.get_mut(&number) else { return };
        node.ended = Some(now);
        node.read_only |= node.prepared.is_none();
        self.open.remove(&(node.begun, number));
        self.ended.insert((now, number));
        self.unwatch(number);
        self.forget_unneeded();
        while self.ended.len() > MOST_ENDED {
            self.merge_oldest();
        }
    }

    /// Removes a transaction that was rolled back.
    pub fn remove(&mut self, number: Number) {
        self.detach(number);
        self.unwatch(number);
        self.forget_unneeded();
    }

    /// Removes a transaction, its edges and its footprints.
    fn detach(&mut self, number: Number) {
        let Some(node) = self.nodes.remove(&number) else { return };
        self.open.remove(&(node.begun, number));
        for reader in &node.ins {
            self.nodes.get_mut(reader).map(|reader| reader.outs.remove(&number));
        }
        for writer in &node.outs {
            self.nodes.get_mut(writer).map(|writer| writer.ins.remove(&number));
        }
        self.drop_footprints(number, &node);
    }

    /// Drops the ended transactions that no open one has run beside.
    fn forget_unneeded(&mut self) {
        let oldest = self.open.first().map_or(u64::MAX, |(begun, _)| *begun);
        while let Some((_, number)) = self.ended.first().copied().filter(|(ended, _)| *ended < oldest) {
            self.forget(number);
        }
    }

    /// Tells the readers that watch a writer that it has ended. Those that nothing can make part of a dangerous
    /// structure any more are safe from now on.
    fn unwatch(&mut self, writer: Number) {
        let outs: Vec<Third> = self.thirds(writer).collect();
        let is_gone = self.nodes.get(&writer).is_none_or(|node| node.prepared.is_none());
        let mut safe = Vec::new();
        for (_, number) in &self.open {
            let Some(reader) = self.nodes.get(number).filter(|node| node.watched.contains(&writer)) else {
                continue;
            };
            let sees = |third: &Third| match third {
                Third::Known(third) => self.nodes.get(third).is_some_and(|third| reader.sees(third)),
                Third::Dropped(_) => true,
            };
            if is_gone || !outs.iter().any(sees) {
                safe.push(*number);
            }
        }
        for number in safe {
            let Some(reader) = self.nodes.get_mut(&number) else { continue };
            reader.watched.remove(&writer);
            if reader.watched.is_empty() {
                reader.marks.is_safe.store(true, Ordering::Release);
                self.detach(number);
            }
        }
    }

    /// Drops an ended transaction that no open one has run beside.
    fn forget(&mut self, number: Number) {
        let Some(node) = self.nodes.get(&number) else { return };
        self.ended.remove(&(node.ended.unwrap_or(0), number));
        let prepared = node.prepared;
        for reader in node.ins.clone() {
            if let Some(reader) = self.nodes.get_mut(&reader) {
                reader.dropped_out = reader.dropped_out.into_iter().chain(prepared).min();
            }
        }
        self.detach(number);
    }

    /// Merges the two transactions that ended first. The result has read and written what either has, began with the
    /// first, and ended with the last.
    fn merge_oldest(&mut self) {
        let mut oldest = self.ended.iter().map(|(_, number)| *number);
        let (Some(from), Some(into)) = (oldest.next(), oldest.next()) else { return };
        let Some(gone) = self.nodes.remove(&from) else { return };
        self.ended.remove(&(gone.ended.unwrap_or(0), from));
        for reader in gone.ins.iter().filter(|reader| **reader != into) {
            if let Some(reader) = self.nodes.get_mut(reader) {
                reader.outs.remove(&from);
                reader.outs.insert(into);
            }
        }
        for writer in gone.outs.iter().filter(|writer| **writer != into) {
            if let Some(writer) = self.nodes.get_mut(writer) {
                writer.ins.remove(&from);
                writer.ins.insert(into);
            }
        }
        if let Some(node) = self.nodes.get_mut(&into) {
            node.is_merged = true;
            node.begun = node.begun.min(gone.begun);
            // An edge between the two becomes an edge to one that was dropped.
            let inner = gone.prepared.filter(|_| node.outs.contains(&from));
            let inner = inner.into_iter().chain(node.prepared.filter(|_| gone.outs.contains(&into)));
            let dropped = node.dropped_out.into_iter().chain(gone.dropped_out).chain(inner).min();
            node.dropped_out = dropped;
            node.prepared = node.prepared.into_iter().chain(gone.prepared).min();
            // Whether a reader saw a writer is not known any more.
            node.read_only = false;
            node.ins.extend(gone.ins);
            node.outs.extend(gone.outs);
            for own in [&mut node.ins, &mut node.outs] {
                own.remove(&from);
                own.remove(&into);
            }
        }
        self.bytes -= gone.bytes.min(self.bytes);
        if let Some(node) = self.nodes.get_mut(&into) {
            node.tables.extend(&gone.tables);
        }
        for readers in self.readers.values_mut() {
            if let Some(reads) = readers.remove(&from) {
                readers.entry(into).or_default().merge(&reads);
            }
        }
        for writers in self.writers.values_mut() {
            if let Some(writes) = writers.remove(&from) {
                match writers.get_mut(&into) {
                    Some(known) => known.merge(&writes),
                    None => drop(writers.insert(into, writes)),
                }
            }
        }
        self.count_anew(into);
        self.keep_below(into, MOST_BYTES);
    }

    /// Counts that the footprints of a transaction have grown.
    fn count(&mut self, number: Number, before: usize, after: usize) {
        let Some(node) = self.nodes.get_mut(&number) else { return };
        node.bytes = (node.bytes + after).saturating_sub(before);
        self.bytes = (self.bytes + after).saturating_sub(before);
    }

    /// Counts the footprints of a transaction.
    fn count_anew(&mut self, number: Number) {
        let Some(node) = self.nodes.get(&number) else { return };
        let (before, mut after) = (node.bytes, 0);
        for table in &node.tables {
            let reads = self.readers.get(table).and_then(|readers| readers.get(&number));
            let writes = self.writers.get(table).and_then(|writers| writers.get(&number));
            after += reads.map_or(0, TableReads::bytes) + writes.map_or(0, TableWrites::bytes);
        }
        self.count(number, before, after);
    }

    /// Drops the footprints of a transaction that was removed.
    fn drop_footprints(&mut self, number: Number, node: &Node) {
        self.bytes = self.bytes.saturating_sub(node.bytes);
        for table in &node.tables {
            if let Some(readers) = self.readers.get_mut(table) {
                readers.remove(&number);
                if readers.is_empty() {
                    self.readers.remove(table);
                }
            }
            if let Some(writers) = self.writers.get_mut(table) {
                writers.remove(&number);
                if writers.is_empty() {
                    self.writers.remove(table);
                }
            }
        }
    }

    /// Makes the footprints of a transaction one step coarser. Returns false if they cannot be.
    pub(super) fn coarsen(&mut self, number: Number) -> bool {
        let Some(node) = self.nodes.get(&number) else { return false };
        let mut any = false;
        for table in &node.tables {
            let reads = self.readers.get_mut(table).and_then(|readers| readers.get_mut(&number));
            any |= reads.is_some_and(TableReads::coarsen);
            let writes = self.writers.get_mut(table).and_then(|writers| writers.get_mut(&number));
            any |= writes.is_some_and(TableWrites::coarsen);
        }
        self.count_anew(number);
        any
    }

    /// Makes the footprints of a transaction coarser until they take no more than `most` bytes.
    fn keep_below(&mut self, number: Number, most: usize) {
        while self.nodes.get(&number).is_some_and(|node| node.bytes > most) && self.coarsen(number) {}
    }

    /// Makes footprints coarser, those of ended transactions first, and then merges ended ones, until all together
    /// take no more than `most` bytes. What open transactions have read as whole tables, at least, remains.
    pub fn keep_within(&mut self, most: usize) {
        if self.bytes <= most.max(self.useless_below) {
            return;
        }
        let ended: Vec<Number> = self.ended.iter().map(|(_, number)| *number).collect();
        let open: Vec<Number> = self.open.iter().map(|(_, number)| *number).collect();
        for number in ended.into_iter().chain(open) {
            while self.bytes > most && self.coarsen(number) {}
        }
        while self.bytes > most && self.ended.len() > 1 {
            self.merge_oldest();
        }
        self.useless_below = if self.bytes > most { self.bytes + self.bytes / 4 } else { 0 };
    }

    /// The number of transactions in the graph: open ones, and ended ones.
    pub fn counts(&self) -> (usize, usize) {
        (self.open.len(), self.ended.len())
    }
}
