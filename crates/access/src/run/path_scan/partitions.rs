//! An access path over the partitions of a table, each of which is scanned along the path as a table of its own.
//!
//! Partitions that can have no row for the bounds are left out: once for a scan, and for each outer row of a lookup join. Those that are
//! left are scanned one after the other. Where the order of the index is relied upon, that is the order if ranges of its first columns are
//! what makes the partitions; else the scans run side by side, and their rows are merged by the columns of the index. A locator has the
//! number of its partition in front.

use crate::error::Result;
use crate::params::{BATCH_GROWTH, BATCH_ROWS, FIRST_BATCH_ENTRIES};
use crate::path::{AccessPath, Condition, ScanOrder};
use crate::run::context::{Demand, ScanBatch, ScanContext};
use crate::run::merge_scan::Next;
use crate::run::path_scan::PathScan;
use crate::run::runtime_filter::Lookups;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray, UInt32Array};
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use leafline_expr::{Datum, evaluate};
use leafline_table::{Partition, Partitioning, locator_in_partition};
use leafline_types::{Batch, KeyPart, MysqlError, SqlType, Value, encode_part, value_at};
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

/// A running access path over partitions.
pub(crate) struct PartitionScan {
    path: Arc<AccessPath>,
    partitioning: Partitioning,
    lookups: Lookups,
    /// Scans that are started again, by partition.
    scans: BTreeMap<usize, PathScan>,
    work: Work,
}

/// The order in which partitions are scanned.
enum Work {
    /// Partitions are scanned one after the other.
    InTurn { waiting: VecDeque<Part>, current: Option<Part>, demand: Demand, first_only: bool },
    /// They are scanned side by side.
    Merged(Box<Merged>),
}

/// A partition that is to be scanned.
struct Part {
    number: usize,
    /// The outer rows that it is scanned for.
    outer: Option<Batch>,
    /// Their numbers, if they are not all.
    tags: Option<Vec<u32>>,
}

impl PartitionScan {
    /// A scan of a path over a partitioned table, not started; `None` if it is not partitioned.
    pub fn new(path: &Arc<AccessPath>) -> Option<PartitionScan> {
        let partitioning = path.table.partitioning.clone()?;
        let work = Work::InTurn {
            waiting: VecDeque::new(),
            current: None,
            demand: Demand::Unknown,
            first_only: false,
        };
        let (lookups, scans) = (Lookups::new(), BTreeMap::new());
        Some(PartitionScan { path: path.clone(), partitioning, lookups, scans, work })
    }

    /// Has rows looked up in these sets before they are decoded.
    pub fn set_lookups(&mut self, lookups: &Lookups) {
        self.lookups.clone_from(lookups);
    }

    /// Starts it with bounds that depend on no outer row.
    pub fn start(&mut self, demand: Demand, cx: &mut ScanContext<'_, '_>) -> Result<()> {
        let possible = match &self.path.pruning {
            Some(pruning) => pruning.possible(&self.partitioning, cx.eval)?,
            None => self.partitioning.scheme.all_possible(),
        };
        let partitions = self.partitioning.partitions.iter();
        let mut left: Vec<usize> = partitions.map(|partition| partition.number).collect();
        left.retain(|number| possible.has(*number));
        cx.counters.leafline_partitions_scanned += left.len() as u64;
        if self.path.order != ScanOrder::Any && left.len() > 1 && !self.come_in_order() {
            self.work = Work::Merged(Box::new(Merged::new(self, &left, demand, cx)?));
            return Ok(());
        }
        if self.path.order == ScanOrder::Reverse {
            left.reverse();
        }
        let waiting = left.into_iter().map(|number| Part { number, outer: None, tags: None }).collect();
        self.work = Work::InTurn { waiting, current: None, demand, first_only: false };
        Ok(())
    }

    /// Starts it for the rows of `outer`.
    pub fn start_for(
        &mut self,
        outer: Batch,
        first_only: bool,
        demand: Demand,
        cx: &mut ScanContext<'_, '_>,
    ) -> Result<()> {
        let mut rows: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        let numbers: Vec<usize> =
            self.partitioning.partitions.iter().map(|partition| partition.number).collect();
        match self.path.pruning.as_deref().filter(|pruning| pruning.is_correlated()) {
            Some(pruning) => {
                let mut columns = Vec::new();
                for value in pruning.values() {
                    columns.push((evaluate(value, &outer, cx.eval)?, &value.ty.sql));
                }
                for row in 0..outer.rows {
                    let value = |(column, ty): &(Datum, &SqlType)| match column {
                        Datum::Scalar(value) => value.clone(),
                        Datum::Array(array) => value_at(array, row, ty),
                    };
                    let values: Vec<Value> = columns.iter().map(value).collect();
                    let possible = pruning.possible_for(&self.partitioning, &values)?;
                    for number in numbers.iter().filter(|number| possible.has(**number)) {
                        rows.entry(*number).or_default().push(row as u32);
                    }
                }
            }
            pruning => {
                let possible =
                    pruning.map(|pruning| pruning.possible(&self.partitioning, cx.eval)).transpose()?;
                let is_left = |number: &&usize| possible.as_ref().is_none_or(|left| left.has(**number));
                let all: Vec<u32> = (0..outer.rows as u32).collect();
                rows.extend(numbers.iter().filter(is_left).map(|number| (*number, all.clone())));
            }
        }
        cx.counters.leafline_partitions_scanned += rows.len() as u64;
        let mut waiting = VecDeque::with_capacity(rows.len());
        for (number, tags) in rows {
            let all = tags.len() == outer.rows;
            let part = if all { outer.clone() } else { taken(&outer, &tags)? };
            waiting.push_back(Part { number, outer: Some(part), tags: (!all).then_some(tags) });
        }
        self.work = Work::InTurn { waiting, current: None, demand, first_only };
        Ok(())
    }

    /// Parameters may have changed.
    pub fn reset(&mut self) {
        self.scans.values_mut().for_each(PathScan::reset);
    }

    /// The next rows; `None` when there are no more.
    pub fn next(&mut self, cx: &mut ScanContext<'_, '_>) -> Result<Option<ScanBatch>> {
        loop {
            let (path, partitioning, lookups) = (&self.path, &self.partitioning, &self.lookups);
            let (waiting, current, demand, first_only) = match &mut self.work {
                Work::Merged(merged) => return merged.next(path, cx),
                Work::InTurn { waiting, current, demand, first_only } => {
                    (waiting, current, demand, first_only)
                }
            };
            let part = match current {
                Some(part) => part,
                None => {
                    let Some(mut part) = waiting.pop_front() else { return Ok(None) };
                    let number = part.number;
                    if let std::collections::btree_map::Entry::Vacant(slot) = self.scans.entry(number) {
                        let partition = partition(partitioning, number)?;
                        slot.insert(scan_in(path, partition, lookups));
                    }
                    if let Some(scan) = self.scans.get_mut(&number) {
                        match part.outer.take() {
                            Some(outer) => scan.start_for(outer, *first_only, *demand, cx)?,
                            None => scan.start(*demand, cx)?,
                        }
                    }
                    current.insert(part)
                }
            };
            let number = part.number;
            let found = self.scans.get_mut(&number).map(|scan| scan.next(cx)).transpose()?.flatten();
            let Some(mut found) = found else {
                if part.tags.is_none() && !path.constraint.is_correlated() {
                    // It is not looked into again, or not soon.
                    self.scans.remove(&number);
                }
                *current = None;
                continue;
            };
            if let Some(tags) = &part.tags {
                for tag in &mut found.tags {
                    *tag = tags[*tag as usize];
                }
            }
            if path.deliver_locators {
                name_partition(&mut found.batch, number)?;
            }
            return Ok(Some(found));
        }
    }

    /// Whether the rows of each partition come before those of the next in the order of the index.
    fn come_in_order(&self) -> bool {
        let index = &self.path.index;
        let behind = self.path.merged.unwrap_or(0);
        let ordered = index.leading_columns().get(behind..).unwrap_or_default();
        let parts = index.key_parts.get(behind..).unwrap_or_default();
        self.partitioning.scheme.ranges_of_columns().is_some_and(|columns| {
            ordered.starts_with(columns) && parts.iter().take(columns.len()).all(|part| !part.descending)
        })
    }
}

fn partition(partitioning: &Partitioning, number: usize) -> Result<&Partition> {
    Ok(partitioning.get(number).ok_or_else(|| MysqlError::internal("a partition that is not there"))?)
}

/// A scan of the path over one partition.
fn scan_in(path: &AccessPath, partition: &Partition, lookups: &Lookups) -> PathScan {
    PathScan::with_lookups(&Arc::new(path.in_partition(partition)), lookups)
}

/// Some rows of a batch.
fn taken(batch: &Batch, rows: &[u32]) -> Result<Batch> {
    let wanted = UInt32Array::from(rows.to_vec());
    let columns =
        batch.columns.iter().map(|column| take(column, &wanted, None).map_err(MysqlError::internal));
    Ok(Batch { columns: columns.collect::<std::result::Result<_, _>>()?, rows: rows.len() })
}

/// Puts the number of the partition in front of the locators, which are the last column.
fn name_partition(batch: &mut Batch, number: usize) -> Result<()> {
    let last = batch.columns.last_mut().expect("locators are the last column");
    let keys = last.as_binary_opt::<i32>();
    let keys = keys.ok_or_else(|| MysqlError::internal("rows of a partition without locators"))?;
    let named = keys.iter().flatten().map(|key| locator_in_partition(number, key));
    *last = Arc::new(BinaryArray::from_iter_values(named)) as ArrayRef;
    Ok(())
}

/// Scans of partitions side by side, in the order of the index.
struct Merged {
    streams: Vec<Stream>,
    heap: BinaryHeap<Next>,
    /// The parts that the order is made of, each with its column's place in the batches.
    order: Vec<(KeyPart, usize)>,
    /// The columns that are delivered, of those that scans give.
    delivered: usize,
    goal: usize,
}

/// The scan of one partition.
struct Stream {
    number: usize,
    scan: PathScan,
    batch: Option<Batch>,
    /// The next row of the batch.
    at: usize,
}

impl Merged {
    fn new(
        of: &PartitionScan,
        numbers: &[usize],
        demand: Demand,
        cx: &mut ScanContext<'_, '_>,
    ) -> Result<Merged> {
        let (path, order) = ordered(&of.path);
        let mut streams = Vec::with_capacity(numbers.len());
        for &number in numbers {
            let mut scan = scan_in(&path, partition(&of.partitioning, number)?, &of.lookups);
            scan.start(demand, cx)?;
            streams.push(Stream { number, scan, batch: None, at: 0 });
        }
        let goal = match demand {
            Demand::Rows(rows) => rows.clamp(1, BATCH_ROWS),
            Demand::Unknown | Demand::All => FIRST_BATCH_ENTRIES,
        };
        let delivered = of.path.delivered;
        let mut merged = Merged { streams, heap: BinaryHeap::new(), order, delivered, goal };
        for stream in 0..merged.streams.len() {
            merged.advance(stream, &path, cx)?;
        }
        Ok(merged)
    }

    /// The next rows in order.
    fn next(&mut self, path: &AccessPath, cx: &mut ScanContext<'_, '_>) -> Result<Option<ScanBatch>> {
        // The batches that rows are picked from, and which of the streams' present ones each is.
        let (mut batches, mut picks): (Vec<Batch>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
        let mut held: BTreeMap<usize, usize> = BTreeMap::new();
        while picks.len() < self.goal
            && let Some(Next { stream: number, .. }) = self.heap.pop()
        {
            let stream = &mut self.streams[number];
            let batch = stream.batch.as_ref().expect("a stream in the heap has a row");
            let place = *held.entry(number).or_insert_with(|| {
                batches.push(batch.clone());
                batches.len() - 1
            });
            picks.push((place, stream.at));
            stream.at += 1;
            if stream.at >= batch.rows {
                held.remove(&number);
            }
            self.advance(number, path, cx)?;
        }
        self.goal = (self.goal * BATCH_GROWTH).min(BATCH_ROWS);
        if picks.is_empty() {
            return Ok(None);
        }
        let first = &batches[0];
        let columns = (0..first.columns.len())
            .filter(|at| *at < self.delivered || path.deliver_locators && *at + 1 == first.columns.len());
        let columns = columns.map(|at| {
            let arrays: Vec<_> =
                batches.iter().filter_map(|batch| batch.columns.get(at)).map(|array| &**array).collect();
            interleave(&arrays, &picks).map_err(MysqlError::internal)
        });
        let batch = Batch { columns: columns.collect::<std::result::Result<_, _>>()?, rows: picks.len() };
        Ok(Some(ScanBatch { batch, tags: vec![0; picks.len()] }))
    }

    /// Puts what a stream has next into the heap.
    fn advance(&mut self, number: usize, path: &AccessPath, cx: &mut ScanContext<'_, '_>) -> Result<()> {
        let stream = &mut self.streams[number];
        if stream.batch.as_ref().is_none_or(|batch| stream.at >= batch.rows) {
            let Some(mut found) = stream.scan.next(cx)? else {
                stream.batch = None;
                return Ok(());
            };
            if path.deliver_locators {
                name_partition(&mut found.batch, stream.number)?;
            }
            (stream.batch, stream.at) = (Some(found.batch), 0);
        }
        let Some(batch) = &stream.batch else { return Ok(()) };
        let mut key = Vec::new();
        for (part, place) in &self.order {
            encode_part(part, &value_at(&batch.columns[*place], stream.at, &part.ty), &mut key)?;
        }
        self.heap.push(Next { key, stream: number, reverse: path.order == ScanOrder::Reverse });
        Ok(())
    }
}

/// Returns the path delivering all columns that the order of its index is made of, behind those that are wanted; and where they are.
fn ordered(path: &AccessPath) -> (AccessPath, Vec<(KeyPart, usize)>) {
    let behind = path.merged.unwrap_or(0);
    // Of which there are beginnings only, that is not the order, unless it is the same in all rows.
    let parts = path.index.key_columns.iter().zip(&path.index.key_parts).skip(behind);
    let whole: Vec<_> = parts.filter(|(_, part)| part.prefix.is_none()).collect();
    let wanted = &path.columns[..path.delivered];
    let mut columns = wanted.to_vec();
    columns.extend(whole.iter().map(|(column, _)| **column).filter(|column| !wanted.contains(column)));
    let delivered = columns.len();
    let added = delivered - wanted.len();
    columns.extend(path.columns.iter().skip(path.delivered));
    let moved = |condition: &Condition| Condition {
        expr: condition
            .expr
            .map_columns(&mut |column| if column < path.delivered { column } else { column + added }),
        ..condition.clone()
    };
    let place = |column: &usize| columns.iter().position(|known| known == column);
    let order = whole.iter().filter_map(|(column, part)| Some(((*part).clone(), place(column)?)));
    let order = order.collect();
    let residual_filter = path.residual_filter.iter().map(moved).collect();
    (AccessPath { columns, delivered, residual_filter, ..path.clone() }, order)
}
