//! Reservations: how much of the log files each group may use.
//!
//! Three things take space: written bytes (whole files, from the oldest that is kept), bytes that were appended and are not written, and reserved
//! bytes. A reservation is granted while the three stay below a limit, so that work that has begun can be finished without a checkpoint; a checkpoint
//! may itself wait for work that has begun. The limit is computed from the files there are. The ring is enlarged first, up to its capacity, as long
//! as the disk has room.
//!
//! The padding that flushes add cannot be known beforehand. A reservation is charged 1/32 more than its bytes, for the batch headers and padding of
//! large flushes, and two blocks, for its commit. Small flushes that take more than that take it from a margin of 1/8 of the files, and at last from
//! a file added to the ring.

use super::files::{Layout, RingSize, limit};
use crate::device::BLOCK;
use crate::error::{Result, StorageError};
use std::collections::VecDeque;

/// The record of a checkpoint may take at most one in this many bytes of the log.
pub(crate) const CHECKPOINT_SHARE: u64 = 16;

/// The account of the log files' space, in bytes.
pub(super) struct Space {
    layout: Layout,
    /// The sizes of the files there are.
    ring: RingSize,
    /// Whether the last attempt to add a file met a full disk. Then the files there are have to do.
    disk_full: bool,
    /// Bytes of file written since the log was made.
    pub at: u64,
    /// Bytes of file recycled since the log was made.
    pub freed: u64,
    /// Bytes appended and not written.
    pub pending: u64,
    pub reserved: u64,
    /// The tickets of the callers that wait for space. The first is served first, or a large request would wait for ever.
    queue: VecDeque<u64>,
    last_ticket: u64,
    /// How often all waiting callers were told that there will be no room.
    pub refusals: u64,
    /// Whether the first waiting caller gets its space whatever the limit says.
    pub beyond_limit: bool,
}

/// Returns the bytes that `bytes` of stream may take in the files, small flushes left aside.
pub(super) fn charge(bytes: u64) -> u64 {
    bytes + bytes / 32
}

impl Space {
    pub fn new(layout: Layout, ring: RingSize, at: u64) -> Space {
        let (queue, last_ticket) = (VecDeque::new(), 0);
        Space {
            layout,
            ring,
            disk_full: false,
            at,
            freed: 0,
            pending: 0,
            reserved: 0,
            queue,
            last_ticket,
            refusals: 0,
            beyond_limit: false,
        }
    }

    /// Returns the bytes that the files can grow to, or, if the disk is full, the bytes that they have.
    pub fn capacity(&self) -> u64 {
        if self.disk_full { self.ring.bytes.min(self.layout.capacity) } else { self.layout.capacity }
    }

    /// Records the sizes of the files there are now.
    pub fn set_ring(&mut self, ring: RingSize) {
        self.disk_full &= ring.bytes <= self.ring.bytes;
        self.ring = ring;
    }

    /// Records that a file could not be added.
    pub fn set_disk_full(&mut self) {
        self.disk_full = true;
    }

    /// Returns whether the last attempt to add a file met a full disk.
    pub fn is_disk_full(&self) -> bool {
        self.disk_full
    }

    /// Returns whether no checkpoint can make room for `charge`, and the disk has no room for another file.
    pub fn never_fits(&self, charge: u64) -> bool {
        self.disk_full && charge + self.ring.largest > limit(self.ring.bytes, self.ring.last)
    }

    /// Returns whether a file has to be added before `charge` more bytes can be granted, and may be added.
    pub fn wants_growth(&self, charge: u64) -> bool {
        self.ring.bytes < self.layout.capacity && !self.fits(charge)
    }

    /// Returns a quarter of the bytes of the files there are.
    pub fn quarter(&self) -> u64 {
        self.ring.bytes / 4
    }

    /// Returns the bytes of the files that are kept, up to the end of the written bytes.
    pub fn used(&self) -> u64 {
        self.at - self.freed
    }

    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Returns the largest number of bytes for one reservation. It fits when the ring has grown to its capacity and a checkpoint has freed every file
    /// but the current one. Space that is held for the next checkpoint's record stays held.
    pub fn largest_reservation(&self) -> u64 {
        let room = self.layout.largest_room();
        let checkpoint = charge(self.layout.capacity / CHECKPOINT_SHARE) + 2 * BLOCK as u64;
        let bytes = limit(self.layout.capacity, room) - room - checkpoint - 2 * BLOCK as u64;
        bytes - bytes / 32
    }

    /// Returns the bytes of file that a reservation for `bytes` is charged.
    pub fn reservation_charge(&self, bytes: u64) -> Result<u64> {
        let limit = self.largest_reservation();
        if bytes > limit {
            return Err(StorageError::TooLarge { what: "a log reservation", size: bytes, limit });
        }
        Ok(charge(bytes) + 2 * BLOCK as u64)
    }

    /// Reserves `charge` if there is room and no caller waits.
    pub fn try_reserve(&mut self, charge: u64) -> bool {
        self.queue.is_empty() && self.take(charge)
    }

    /// Reserves `charge` whatever the limit says.
    pub fn reserve_beyond_limit(&mut self, charge: u64) {
        self.reserved += charge;
    }

    /// Queues a caller up for space. Returns its ticket.
    pub fn enqueue(&mut self) -> u64 {
        self.last_ticket += 1;
        self.queue.push_back(self.last_ticket);
        self.last_ticket
    }

    /// Reserves for the holder of `ticket` if it is first in the queue and there is room or no room is required. The ticket then leaves the queue.
    pub fn try_reserve_in_turn(&mut self, ticket: u64, charge: u64) -> bool {
        if self.queue.front() != Some(&ticket) {
            return false;
        }
        let mut granted = self.take(charge);
        if !granted && self.beyond_limit {
            self.reserve_beyond_limit(charge);
            granted = true;
        }
        if granted {
            // The exemption was for this caller, even if there was room.
            self.beyond_limit = false;
            self.queue.pop_front();
        }
        granted
    }

    /// Leaves the queue without a reservation.
    pub fn leave(&mut self, ticket: u64) {
        self.queue.retain(|queued| *queued != ticket);
    }

    fn fits(&self, charge: u64) -> bool {
        let limit = limit(self.ring.bytes, self.ring.last);
        self.used() + self.pending + self.reserved + charge <= limit
    }

    fn take(&mut self, charge: u64) -> bool {
        let fits = self.fits(charge);
        if fits {
            self.reserved += charge;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the account of a ring that has grown to its capacity.
    fn grown(capacity: u64) -> (Layout, Space) {
        let layout = Layout::new(capacity);
        let ring =
            RingSize { bytes: layout.capacity, last: layout.largest_room(), largest: layout.largest_room() };
        (layout, Space::new(layout, ring, 0))
    }

    #[test]
    fn the_largest_reservation_fits_when_only_the_current_file_is_in_use() {
        for capacity in [0, 1 << 20, 1 << 30, 1 << 40] {
            let (layout, mut space) = grown(capacity);
            space.at = layout.largest_room();
            // The checkpointer holds this much for good.
            space.reserve_beyond_limit(charge(layout.capacity / CHECKPOINT_SHARE) + 2 * BLOCK as u64);
            let charge = space.reservation_charge(space.largest_reservation()).unwrap();
            assert!(space.try_reserve(charge), "capacity {capacity}");
            assert!(space.reservation_charge(space.largest_reservation() + 1).is_err());
        }
    }

    #[test]
    fn a_reservation_beyond_the_present_files_wants_growth_until_the_capacity_is_reached() {
        let layout = Layout::new(256 << 20);
        let mut ring = RingSize { bytes: 4 << 20, last: 1 << 20, largest: 1 << 20 };
        let mut space = Space::new(layout, ring, 0);
        assert!(!space.wants_growth(1 << 20) && space.wants_growth(8 << 20));
        assert!(!space.try_reserve(8 << 20));
        ring.bytes = 16 << 20;
        space.set_ring(ring);
        assert!(!space.wants_growth(8 << 20) && space.try_reserve(8 << 20));
        space.set_disk_full();
        assert_eq!(space.capacity(), 16 << 20, "pacing goes by what there is");
        assert!(space.never_fits(100 << 20) && !space.never_fits(1));
        ring.bytes = layout.capacity;
        space.set_ring(ring);
        assert_eq!(space.capacity(), layout.capacity);
        assert!(!space.never_fits(100 << 20));
        assert!(!space.wants_growth(u64::MAX / 2), "there is no more to be had");
    }

    #[test]
    fn waiters_are_served_in_order_and_nobody_overtakes() {
        let (_, mut space) = grown(1 << 20);
        let all = limit(space.ring.bytes, space.ring.last);
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

    #[test]
    fn a_grant_beyond_the_limit_is_for_the_first_waiter_and_once() {
        let (_, mut space) = grown(1 << 20);
        assert!(space.try_reserve(limit(space.ring.bytes, space.ring.last)));
        let (first, second) = (space.enqueue(), space.enqueue());
        space.beyond_limit = true;
        assert!(!space.try_reserve_in_turn(second, 1));
        assert!(space.try_reserve_in_turn(first, 1));
        assert!(!space.try_reserve_in_turn(second, 1));
    }
}
