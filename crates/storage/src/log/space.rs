//! Who may use how much of the log files.
//!
//! Three things take space: what is written (whole files, from the oldest that is kept), what was appended and is
//! not written, and what is reserved. A reservation is granted while the three stay below a limit, so that what
//! has been begun can be finished without a checkpoint, which may itself wait for what has been begun.
//!
//! How much padding flushes add cannot be known beforehand. A reservation is charged 1/32 more than its bytes, for the batch
//! headers and padding of large flushes, and two blocks, for its commit; what small flushes take beyond that
//! comes out of a margin of 1/8 of the files, and at last out of a file added to the ring.

use super::files::Layout;
use crate::device::BLOCK;
use crate::error::{Result, StorageError};
use std::collections::VecDeque;

/// The account of the log files' space, in bytes.
pub(super) struct Space {
    capacity: u64,
    /// What may be written, appended and reserved in all.
    limit: u64,
    /// What may be reserved at once: it fits when a checkpoint has freed every file but the current one.
    largest: u64,
    /// Written, ever.
    pub at: u64,
    /// Recycled, ever.
    pub freed: u64,
    /// Appended and not written.
    pub pending: u64,
    pub reserved: u64,
    /// Callers that wait for space, by ticket: the first is served first, or a large one would wait for ever.
    queue: VecDeque<u64>,
    last_ticket: u64,
}

/// What `bytes` of stream may take in the files, small flushes left aside.
pub(super) fn charge(bytes: u64) -> u64 {
    bytes + bytes / 32
}

impl Space {
    pub fn new(layout: Layout, at: u64) -> Space {
        let capacity = layout.files * layout.room();
        let limit = capacity - layout.room() - capacity / 8;
        let (queue, last_ticket) = (VecDeque::new(), 0);
        let largest = limit - layout.room();
        Space { capacity, limit, largest, at, freed: 0, pending: 0, reserved: 0, queue, last_ticket }
    }

    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes of the files that are kept, up to the end of what is written.
    pub fn used(&self) -> u64 {
        self.at - self.freed
    }

    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Most bytes that one reservation can be for.
    pub fn largest_reservation(&self) -> u64 {
        let bytes = self.largest - 2 * BLOCK as u64;
        bytes - bytes / 32
    }

    /// What a reservation for `bytes` is charged.
    pub fn reservation_charge(&self, bytes: u64) -> Result<u64> {
        let limit = self.largest_reservation();
        if bytes > limit {
            return Err(StorageError::TooLarge { what: "a log reservation", size: bytes, limit });
        }
        Ok(charge(bytes) + 2 * BLOCK as u64)
    }

    /// Reserves if there is room and nobody waits.
    pub fn try_reserve(&mut self, charge: u64) -> bool {
        self.queue.is_empty() && self.take(charge)
    }

    /// Reserves whatever the limit says.
    pub fn reserve_beyond_limit(&mut self, charge: u64) {
        self.reserved += charge;
    }

    /// Queues up for space.
    pub fn enqueue(&mut self) -> u64 {
        self.last_ticket += 1;
        self.queue.push_back(self.last_ticket);
        self.last_ticket
    }

    /// Reserves for the holder of `ticket` if it is its turn and there is room; it then leaves the queue.
    pub fn try_reserve_in_turn(&mut self, ticket: u64, charge: u64) -> bool {
        let granted = self.queue.front() == Some(&ticket) && self.take(charge);
        if granted {
            self.queue.pop_front();
        }
        granted
    }

    /// Leaves the queue without a reservation.
    pub fn leave(&mut self, ticket: u64) {
        self.queue.retain(|queued| *queued != ticket);
    }

    fn take(&mut self, charge: u64) -> bool {
        let fits = self.used() + self.pending + self.reserved + charge <= self.limit;
        if fits {
            self.reserved += charge;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_reservation_fits_when_only_the_current_file_is_in_use() {
        for capacity in [0, 1 << 20, 1 << 30, 1 << 40] {
            let layout = Layout::new(capacity);
            let mut space = Space::new(layout, layout.room());
            let charge = space.reservation_charge(space.largest_reservation()).unwrap();
            assert!(space.try_reserve(charge), "capacity {capacity}");
            assert!(space.reservation_charge(space.largest_reservation() + 1).is_err());
        }
    }

    #[test]
    fn those_who_wait_are_served_in_order_and_nobody_overtakes() {
        let mut space = Space::new(Layout::new(1 << 20), 0);
        let all = space.limit;
        assert!(space.try_reserve(all));
        let (first, second) = (space.enqueue(), space.enqueue());
        space.reserved = 0;
        assert!(!space.try_reserve(1) && !space.try_reserve_in_turn(second, 1));
        assert!(space.try_reserve_in_turn(first, 1) && space.try_reserve_in_turn(second, 1));
        assert!(space.try_reserve(1));
        let third = space.enqueue();
        space.leave(third);
        assert!(space.try_reserve(1));
    }
}
