//! Looking up keys on leaves that were found before, and may have changed since.

use std::collections::BTreeSet;

use leafline_btree::{Change, Direction, FoundLeaf};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::fixture::{Fixture, get, seeds};

const KEYS: u32 = 6_000;

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

/// Returns whether the key is there, by a visit of the leaf that was found for it.
fn is_there(fixture: &Fixture, n: u32, found: FoundLeaf) -> bool {
    let at = |leaf: &leafline_btree::LeafView<'_>| {
        assert!(leaf.lower_fence() <= &key(n)[..], "a leaf behind the key");
        assert!(leaf.upper_fence().is_none_or(|upper| &key(n)[..] < upper), "a leaf before the key");
        leaf.find(&key(n)).1
    };
    fixture.tree.visit_leaf_of(&key(n), found, at).expect("a visit")
}

#[test]
fn a_leaf_that_was_split_merged_or_freed_since_is_found_again() {
    for seed in seeds(3) {
        println!("LEAFLINE_SEED={seed}");
        let mut rng = SmallRng::seed_from_u64(seed);
        let fixture = Fixture::new(4096, 1000);
        let mut there = BTreeSet::new();
        // The tree grows from an empty root to three levels, and shrinks again.
        for round in 0..12 {
            let mut sought: Vec<u32> = (0..400).map(|_| rng.random_range(0..KEYS)).collect();
            if round % 3 > 0 {
                sought.sort_unstable();
            }
            let keys: Vec<[u8; 4]> = sought.iter().map(|n| key(*n)).collect();
            let keys = keys.iter().map(|key| Some(&key[..]));
            let before = fixture.tree.find_leaves(Direction::Reverse, keys.clone()).expect("leaves");
            for (key, before) in keys.clone().zip(before) {
                assert_eq!(before.page(), fixture.tree.leaf_before(key).expect("a leaf"));
            }
            let found = fixture.tree.find_leaves(Direction::Forward, keys).expect("leaves");
            for (n, found) in sought.iter().zip(&found) {
                assert_eq!(found.page(), fixture.tree.leaf_of(&key(*n)).expect("a leaf"));
                assert_eq!(is_there(&fixture, *n, *found), there.contains(n), "{n}");
            }
            let (low, removes) = (rng.random_range(0..KEYS), round % 4 == 3);
            for n in low..(low + KEYS / 3).min(KEYS) {
                if removes && there.remove(&n) {
                    fixture.change(&key(n), 0, Change::Remove);
                } else if !removes && there.insert(n) {
                    fixture.put(&key(n), &[7; 60], 1);
                }
            }
            for (n, found) in sought.iter().zip(&found) {
                fixture.tree.fetch_slots(found.page());
                assert_eq!(is_there(&fixture, *n, *found), there.contains(n), "{n}");
                assert_eq!(get(&fixture.tree, &key(*n)).is_some(), there.contains(n));
            }
        }
        fixture.tree.verify().expect("a sound tree");
    }
}
