//! Figures of an execution for each node of a plan: rows, calls, time, and what the access paths did.

use leafline_access::Counters;
use std::time::Duration;

/// What one node did.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeProfile {
    /// Rows delivered.
    pub rows: u64,
    /// How often the node was begun: once for each run of its query, or for the inner side of a lookup join once per outer row.
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
    /// Adds what one call did. `before` and `after`: pages read and asked for.
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
    /// For a plan of so many nodes.
    pub fn new(nodes: usize) -> Profile {
        Profile { nodes: vec![NodeProfile::default(); nodes] }
    }

    /// Of how many nodes there are figures.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Adds what a thread did that shares the work. Pages that were read are seen by all threads: `counts_reads` for one of them.
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

    /// The figures of a node.
    pub fn node(&self, id: usize) -> NodeProfile {
        self.nodes.get(id).copied().unwrap_or_default()
    }

    /// To change the figures of a node.
    pub fn node_mut(&mut self, id: usize) -> Option<&mut NodeProfile> {
        self.nodes.get_mut(id)
    }
}
