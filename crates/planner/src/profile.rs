//! Figures of an execution for each node of a plan: rows, calls, time, and the work of the access paths.

use leafline_access::Counters;
use std::time::Duration;

/// The figures of one node.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeProfile {
    /// Rows delivered.
    pub rows: u64,
    /// Number of starts: one for each run of the query; on the inner side of a lookup join, one for each outer row.
    pub loops: u64,
    /// Time in the node and its inputs.
    pub time: Duration,
    /// Time until the first batch.
    pub first: Duration,
    /// Counters, inputs included.
    pub counters: Counters,
    /// Pages read from the device, inputs included.
    pub pages_read: u64,
    /// Pages asked for, inputs included.
    pub page_requests: u64,
}

impl NodeProfile {
    /// Adds the figures of one call. `before` and `after` count the pages read and requested.
    pub fn add(
        &mut self,
        time: Duration,
        counters: Counters,
        before: (u64, u64),
        after: (u64, u64),
        rows: usize,
    ) {
        self.time += time;
        self.counters += counters;
        self.pages_read += after.0.saturating_sub(before.0);
        self.page_requests += after.1.saturating_sub(before.1);
        if rows > 0 {
            if self.rows == 0 {
                self.first = self.time;
            }
            self.rows += rows as u64;
        }
    }
}

/// The figures of an execution, by node id.
#[derive(Clone, Debug)]
pub struct Profile {
    nodes: Vec<NodeProfile>,
}

impl Profile {
    /// Makes a profile for `nodes` nodes.
    pub fn new(nodes: usize) -> Profile {
        Profile { nodes: vec![NodeProfile::default(); nodes] }
    }

    /// Returns the number of nodes.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Adds the figures of a thread that shares the work. All threads see the same page reads, so `counts_reads` is set for only
    /// one of them.
    pub fn absorb(&mut self, other: &Profile, counts_reads: bool) {
        for (node, more) in self.nodes.iter_mut().zip(&other.nodes) {
            if node.rows == 0 {
                node.first = more.first;
            }
            node.rows += more.rows;
            node.loops += more.loops;
            node.time += more.time;
            node.counters += more.counters;
            node.pages_read += if counts_reads { more.pages_read } else { 0 };
            node.page_requests += more.page_requests;
        }
    }

    /// Returns the figures of a node.
    pub fn node(&self, id: usize) -> NodeProfile {
        self.nodes.get(id).copied().unwrap_or_default()
    }

    /// Returns the figures of a node, to change them.
    pub fn node_mut(&mut self, id: usize) -> Option<&mut NodeProfile> {
        self.nodes.get_mut(id)
    }
}
