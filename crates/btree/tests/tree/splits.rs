//! The fill of pages after inserts in an order, and the cost of a single insert.

use std::sync::atomic::Ordering;

use leafline_btree::{BtreeError, Change, CommitTs, LeafFormat};
use leafline_storage::{Reservation, StorageError};
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::fixture::{Fixture, mixed};
use super::shape::Keys;

/// Inserts `number` keys. Returns the fill of the leaves.
fn fill(keys: Keys, number: u64, payload_len: usize, ts: u64) -> f64 {
    let fixture = Fixture::new(4096, 4096);
    let mut rng = SmallRng::seed_from_u64(1);
    for n in 0..number {
        let key = keys.make(&mut rng, n, 500);
        fixture.put(&key, &mixed(n, payload_len), ts);
    }
    fixture.assert_reservations_sufficed();
    fixture.tree.verify().expect("a sound tree").fill
}

#[test]
fn ordered_inserts_leave_full_pages_behind() {
    for (keys, least) in [
        (Keys::Ascending4, 0.96),
        (Keys::Ascending8, 0.96),
        // The first leaf has no prefix to cut off, so the entries that it leaves behind shrink.
        (Keys::Descending8, 0.7),
        // Keys jump back by up to ten slots. Packed leaves are split between runs, so somewhat more goes to the next
        // leaf.
        (Keys::NearSorted8, if super::format() == LeafFormat::Packed { 0.8 } else { 0.85 }),
    ] {
        for payload_len in [0, 20, 150] {
            if keys == Keys::NearSorted8 && payload_len == 150 {
                // On a page of 24 entries this order is not nearly sorted any more.
                continue;
            }
            // There are so many leaves that the last one does not matter.
            let number = if payload_len == 0 { 80_000 } else { 8000 };
            let fill = fill(keys, number, payload_len, 5);
            assert!(fill > least, "{keys:?} with {payload_len} bytes: filled {fill:.3}");
        }
    }
    let random = fill(Keys::Random8, 8000, 20, 5);
    assert!((0.6..0.8).contains(&random), "random: filled {random:.3}");
}

#[test]
fn rows_of_half_a_page_in_order_waste_no_more_than_they_must() {
    // Two entries would fit on a page without its header.
    let fixture = Fixture::new(4096, 1024);
    for n in 0..200u32 {
        fixture.put(&n.to_be_bytes(), &[1; 1900], 0);
    }
    let report = fixture.tree.verify().expect("a sound tree");
    assert!(report.leaves <= 104, "{} leaves", report.leaves);
}

#[test]
fn a_key_that_ends_the_common_prefix_of_the_last_leaf_costs_one_split() {
    for (number, ascending) in [(150u32, true), (150, false)] {
        let fixture = Fixture::new(4096, 1024);
        let prefix = vec![b'p'; 300];
        // The first entry lacks the prefix, and then come leaves of entries with it.
        fixture.put(b"a", b"", 0);
        for n in 0..number {
            let n = if ascending { n } else { n * 77 % number };
            fixture.put(&[&prefix[..], &n.to_be_bytes()].concat(), b"1", 0);
        }
        // The leaf has no upper fence, and is full of entries that share 300 bytes: each would become 300 bytes
        // longer.
        let before = fixture.tree.verify().expect("a sound tree");
        fixture.put(b"q", b"", 0);
        let after = fixture.tree.verify().expect("a sound tree");
        assert!(after.leaves <= before.leaves + 1, "{} leaves, then {}", before.leaves, after.leaves);
        assert!(before.leaves < 20, "{} leaves", before.leaves);
    }
}

#[test]
fn a_split_that_nobody_reserved_pages_for_adds_them_to_the_reservation() {
    let fixture = Fixture::new(4096, 256);
    // The reservation has log for the changes alone, and no page, as if other threads had used the room in the
    // leaves.
    let mut reservation = fixture.store.reserve(0, 20_000).expect("a reservation");
    for n in 0..100u32 {
        let put = Change::Put { payload: vec![7; 100].into(), ts: CommitTs(1), has_previous: false };
        fixture
            .tree
            .modify(&mut reservation, &n.to_be_bytes(), CommitTs(0), &mut |_| put.clone())
            .expect("a change");
    }
    drop(reservation);
    let report = fixture.tree.verify().expect("a sound tree");
    assert_eq!((report.entries, report.levels), (100, 2));
    let top_ups = fixture.store.stats().reservation_top_ups.load(Ordering::Relaxed);
    assert_eq!(top_ups, report.leaves + report.branches - 1);
}

#[test]
fn on_a_full_disk_the_pages_of_splits_come_from_the_margin_if_the_reservation_allows_it() {
    let fixture = Fixture::new(4096, 256);
    let reserve = || fixture.store.reserve(0, 20_000).expect("a reservation");
    let mut committed = fixture.store.reserve(0, 4 << 20).expect("log for all of it");
    committed.set_maximum().expect("room for the margin");
    // Other reservations hold all pages that there are.
    fixture.env.set_space_limit(Some(fixture.env.space_used()));
    let mut taken = Vec::new();
    while let Ok(pages) = fixture.store.reserve(1, 0) {
        taken.push(pages);
    }
    let fill = |reservation: &mut Reservation, from: u32| {
        (from..from + 1000).try_for_each(|n| {
            let put = Change::Put { payload: vec![7; 100].into(), ts: CommitTs(1), has_previous: false };
            fixture.tree.modify(reservation, &n.to_be_bytes(), CommitTs(0), &mut |_| put.clone()).map(drop)
        })
    };
    let refused = fill(&mut reserve(), 0).expect_err("no page for a split");
    assert!(matches!(refused, BtreeError::Storage(StorageError::DiskFull)), "{refused}");
    assert!(fixture.tree.verify().expect("a sound tree").leaves == 1);
    fill(&mut committed, 1000).expect("pages of the margin");
    let report = fixture.tree.verify().expect("a sound tree");
    assert!(report.leaves > 20, "{} leaves", report.leaves);
    // The promised pages are given back once, and can be promised again.
    drop((taken, committed));
    assert_eq!(fixture.store.verify_space().expect("a check"), Vec::<String>::new());
    fixture.env.set_space_limit(None);
    let mut again = fixture.store.reserve(8, 0).expect("free pages");
    again.set_maximum().expect("room for the margin");
}
