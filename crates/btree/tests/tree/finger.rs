//! Cursors that go from place to place through the branch of their last descent, whatever becomes of it.

use std::collections::BTreeSet;

use leafline_btree::{Change, Cursor, Direction, LeafStep, Tree};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::fixture::{Fixture, bulk, mixed, seeds};

/// Makes a key. Most keys differ late: with long separators few of them make many levels.
fn key(n: u32) -> Vec<u8> {
    [&(n / 32).to_be_bytes()[..], &[b'k'; 600], &[(n % 32) as u8]].concat()
}

/// Returns the first key from `n` on, or the last one before it.
fn next(cursor: &mut Cursor<&Tree>, direction: Direction, n: u32) -> Option<u32> {
    match direction {
        Direction::Forward => cursor.seek(&key(n)),
        Direction::Reverse => cursor.seek_before(Some(&key(n))),
    }
    let (mut found, mut bytes) = (None, Vec::new());
    let visited = cursor.visit_leaf(direction, |leaf, slots| {
        let slot = if direction == Direction::Forward { slots.start } else { slots.end - 1 };
        leaf.key_into(slot, &mut bytes);
        found = bytes
            .first_chunk()
            .zip(bytes.last())
            .map(|(high, low)| u32::from_be_bytes(*high) * 32 + u32::from(*low));
        LeafStep::Stop
    });
    visited.expect("a visit");
    found
}

fn check(cursors: &mut [Cursor<&Tree>], there: &BTreeSet<u32>, n: u32) {
    for cursor in cursors {
        assert_eq!(next(cursor, Direction::Forward, n), there.range(n..).next().copied(), "from {n}");
        assert_eq!(next(cursor, Direction::Reverse, n), there.range(..n).next_back().copied(), "before {n}");
    }
}

#[test]
fn a_leap_is_right_after_splits_merges_and_another_root() {
    for seed in seeds(2) {
        let mut rng = SmallRng::seed_from_u64(seed);
        let fixture = Fixture::new(4096, 4000);
        let mut there = BTreeSet::new();
        // One cursor goes along with each change, the others have fingers at branches of long ago.
        let mut cursors: Vec<Cursor<&Tree>> = (0..4).map(|_| fixture.tree.cursor()).collect();
        let mut depths = BTreeSet::new();
        let mut numbers: Vec<u32> = (0..700).collect();
        for removes in [false, true, false, true] {
            rand::seq::SliceRandom::shuffle(&mut numbers[..], &mut rng);
            for n in &numbers {
                if removes {
                    fixture.change(&key(*n), 0, Change::Remove);
                    there.remove(n);
                } else {
                    fixture.put(&key(*n), &[7; 100], 1);
                    there.insert(*n);
                }
                check(&mut cursors[..1], &there, *n);
                if rng.random_ratio(1, 8) {
                    let cursor = rng.random_range(1..4);
                    check(&mut cursors[cursor..=cursor], &there, rng.random_range(0..700));
                }
                depths.insert(fixture.tree.depth().expect("a depth"));
            }
            check(&mut cursors, &there, 350);
        }
        assert_eq!(depths.first(), Some(&1));
        assert!(depths.last() >= Some(&4), "the root has grown, and shrunk, from every level: {depths:?}");
    }
}

#[test]
fn a_leap_behind_the_same_branch_reads_it_and_the_leaf() {
    let fixture = Fixture::new(4096, 4000);
    let entries: Vec<_> = (0..60_000_u32).map(|n| (n.to_be_bytes(), mixed(n.into(), 30))).collect();
    let tree = bulk(&fixture.store, 100, entries.iter().map(|(key, payload)| (&key[..], &payload[..])));
    assert_eq!(tree.depth().expect("a depth"), 3);
    let mut cursor = tree.cursor();
    while cursor.visit_leaf(Direction::Forward, |_, _| LeafStep::NextLeaf).expect("a visit") {}
    // Go from the last branch to the first.
    cursor.seek(&[]);
    let mut pages = || {
        let requests = &fixture.store.stats().page_requests;
        let before = requests.get();
        cursor
            .visit_leaf(Direction::Forward, |leaf, _| {
                let mut far = leaf.upper_fence().expect("not the last leaf").to_vec();
                far[2] += 2;
                LeafStep::SeekTo(far)
            })
            .expect("a visit");
        requests.get() - before
    };
    assert_eq!(pages(), 3);
    // A page that another tree, of any store, frees meanwhile sends the cursor to the root once.
    let leaps: Vec<u64> = (0..8).map(|_| pages()).collect();
    assert!(leaps.iter().all(|pages| *pages <= 3) && leaps.contains(&2), "{leaps:?}");
}
