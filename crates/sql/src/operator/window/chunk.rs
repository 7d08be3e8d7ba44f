//! A piece of the rows that a window goes over: whole partitions, but the first may go on from the chunk before, and the last may go
//! on in the next.

use crate::window::Reach;
use leafline_types::Batch;
use std::ops::Range;

/// Where partitions and rows that are equal in the order begin.
#[derive(Default)]
pub(super) struct Starts {
    partitions: Vec<bool>,
    /// Also where a partition begins.
    peers: Vec<bool>,
}

impl Starts {
    pub fn add(&mut self, partitions: &[bool], peers: &[bool]) {
        self.partitions.extend_from_slice(partitions);
        self.peers.extend(partitions.iter().zip(peers).map(|(partition, peer)| *partition || *peer));
    }

    pub fn len(&self) -> usize {
        self.partitions.len()
    }

    pub fn memory_bytes(&self) -> usize {
        self.partitions.capacity() + self.peers.capacity()
    }

    /// How many of the first rows can be computed, when each needs what `reach` says.
    pub fn known(&self, reach: Reach) -> usize {
        let last_start = |starts: &[bool]| starts.iter().rposition(|start| *start).unwrap_or(0);
        match reach {
            Reach::Row => self.len(),
            Reach::Peers => last_start(&self.peers),
            Reach::Partition => last_start(&self.partitions),
        }
    }

    pub fn take_first(&mut self, rows: usize) -> Starts {
        let partitions = self.partitions.split_off(rows);
        let peers = self.peers.split_off(rows);
        std::mem::replace(self, Starts { partitions, peers })
    }
}

/// Rows that are computed together.
pub(super) struct Chunk {
    pub batch: Batch,
    pub starts: Starts,
}

impl Chunk {
    pub fn rows(&self) -> usize {
        self.batch.rows
    }

    pub fn starts_partition(&self, row: usize) -> bool {
        self.starts.partitions.get(row).copied().unwrap_or(true)
    }

    pub fn starts_peers(&self, row: usize) -> bool {
        self.starts.peers.get(row).copied().unwrap_or(true)
    }

    /// The partitions; the first may have begun in an earlier chunk.
    pub fn partitions(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        runs(0..self.rows(), |row| self.starts_partition(row))
    }

    /// The rows of a partition that are equal in the order.
    pub fn peers(&self, partition: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        runs(partition, |row| self.starts_peers(row))
    }
}

/// The runs of `rows`, each from a start to the next.
fn runs(rows: Range<usize>, is_start: impl Fn(usize) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut next = rows.start;
    std::iter::from_fn(move || {
        let start = next;
        if start >= rows.end {
            return None;
        }
        next = (start + 1..rows.end).find(|row| is_start(*row)).unwrap_or(rows.end);
        Some(start..next)
    })
}
