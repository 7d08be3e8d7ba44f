//! Listing and estimating by branch pages: leaves in key order, estimates, samples.

use leafline_btree::{Change, CommitTs, Direction, SampledLeaves};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::fixture::{Fixture, bulk, mixed, scan, seeds};

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

/// Builds a tree of `number` entries with the keys 0, 2, 4... The fixture's own tree stays empty.
fn build(number: u32, page_size: usize, pool_pages: usize) -> Fixture {
    let Fixture { env, store, .. } = Fixture::new(page_size, pool_pages);
    let entries: Vec<_> = (0..number).map(|n| (key(n * 2), mixed(n.into(), 21))).collect();
    let tree = bulk(&store, 100, entries.iter().map(|(key, payload)| (&key[..], &payload[..])));
    Fixture { env, store, tree }
}

#[test]
fn leaves_lists_every_leaf_of_a_range_in_order_without_reading_leaves() {
    let fixture = build(40_000, 4096, 2000);
    let report = fixture.tree.verify().expect("a sound tree");
    assert!(report.levels >= 3);
    let all = fixture.tree.leaves(Direction::Forward, &[], None, usize::MAX).expect("leaves");
    assert_eq!((all.pages.len() as u64, &all.resume), (report.leaves, &None));
    // List the leaves again, in pieces.
    let mut pieces = Vec::new();
    let mut at = Some(Vec::new());
    while let Some(lower) = at {
        let list = fixture.tree.leaves(Direction::Forward, &lower, None, 7).expect("leaves");
        assert!(list.pages.len() <= 7);
        pieces.extend(list.pages);
        at = list.resume;
    }
    assert_eq!(pieces, all.pages);
    let mut rng = SmallRng::seed_from_u64(3);
    for _ in 0..200 {
        let (low, high) = (rng.random_range(0..80_000), rng.random_range(0..80_000));
        let list =
            fixture.tree.leaves(Direction::Forward, &key(low), Some(&key(high)), usize::MAX).expect("leaves");
        if low >= high {
            assert!(list.pages.is_empty());
            continue;
        }
        let first = all.pages.iter().position(|page| Some(page) == list.pages.first()).expect("a leaf");
        assert_eq!(all.pages[first..first + list.pages.len()], list.pages);
        assert_eq!(list.pages.first(), Some(&fixture.tree.leaf_of(&key(low)).expect("a leaf")));
        assert_eq!(list.pages.last(), Some(&fixture.tree.leaf_of(&key(high - 1)).expect("a leaf")));
    }
    let before = fixture.store.resident_pages(fixture.tree.id());
    fixture.tree.leaves(Direction::Forward, &[], None, usize::MAX).expect("leaves");
    assert_eq!(fixture.store.resident_pages(fixture.tree.id()), before);
}

#[test]
fn estimates_are_exact_for_short_ranges_and_near_for_long_ones() {
    let fixture = build(150_000, 4096, 4000);
    let report = fixture.tree.verify().expect("a sound tree");
    let mut rng = SmallRng::seed_from_u64(5);
    for round in 0..400 {
        let low = rng.random_range(0..300_000u32);
        let width = 1 << rng.random_range(1..18);
        let high = (low + width).min(300_000);
        let expected = f64::from(high.div_ceil(2) - low.div_ceil(2));
        let found = fixture.tree.estimate(&key(low), Some(&key(high))).expect("an estimate");
        let pages = fixture
            .tree
            .leaves(Direction::Forward, &key(low), Some(&key(high)), usize::MAX)
            .expect("leaves")
            .pages
            .len();
        if found.exact {
            assert_eq!((found.entries, found.leaves), (expected, pages as f64), "round {round}");
        } else {
            assert!(pages > 4);
            let error = (found.entries - expected).abs() / expected;
            assert!(error < 0.1, "round {round}: {} for {expected}", found.entries);
        }
        assert_eq!((found.depth, found.resident_fraction), (report.levels, 1.0));
    }
    let all = fixture.tree.estimate(&[], None).expect("an estimate");
    assert!((all.entries - 150_000.0).abs() < 3_000.0, "{}", all.entries);
    assert!((all.leaves - report.leaves as f64).abs() < report.leaves as f64 / 50.0, "{}", all.leaves);
    let none = fixture.tree.estimate(b"b", Some(b"b")).expect("an estimate");
    assert_eq!((none.entries, none.exact), (0.0, true));
}

#[test]
fn how_scattered_leaves_are_is_seen_from_few_branches() {
    let fixture = build(40_000, 4096, 2000);
    let breaks = |tree: &leafline_btree::Tree| tree.breaks().expect("a look").expect("several leaves");
    let dense = breaks(&fixture.tree);
    assert!(dense < 0.05, "{dense}");
    let scattered = Fixture::new(4096, 2000);
    assert_eq!(scattered.tree.breaks().expect("a look"), None, "one leaf");
    let mut rng = SmallRng::seed_from_u64(9);
    for _ in 0..20_000 {
        let put = Change::Put {
            ts: CommitTs(5),
            payload: b"payload of twenty byt"[..].into(),
            has_previous: false,
        };
        scattered.change(&key(rng.random()), 0, put);
    }
    let report = scattered.tree.verify().expect("a sound tree");
    let exact = report.breaks as f64 / report.leaves as f64;
    let seen = breaks(&scattered.tree);
    assert!(exact > 0.5 && (seen - exact).abs() < 0.15, "{seen} of {exact}");
}

#[test]
fn ghosts_do_not_count_and_absent_pages_show() {
    let fixture = build(20_000, 4096, 64);
    for n in 0..200 {
        let ghost = Change::Ghost { ts: CommitTs(5), has_previous: false, keep_payload: false };
        fixture.change(&key(n * 2), 0, ghost);
    }
    let short = fixture.tree.estimate(&key(0), Some(&key(500))).expect("an estimate");
    assert_eq!((short.entries, short.exact), (50.0, true));
    assert_eq!(scan(&fixture.tree, Direction::Forward).len(), 20_000);
    let all = fixture.tree.estimate(&[], None).expect("an estimate");
    assert!(all.resident_fraction < 0.5, "{}", all.resident_fraction);
    assert!((all.entries - 19_800.0).abs() < 2_500.0, "{}", all.entries);
}

#[test]
fn with_a_known_mean_no_leaf_is_read_for_a_long_range() {
    let fixture = build(20_000, 4096, 64);
    let reads = || fixture.store.stats().page_reads.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(scan(&fixture.tree, Direction::Forward).len(), 20_000);
    let whole = fixture.tree.estimate_knowing(&[], None, Some(1.0)).expect("an estimate");
    let before = reads();
    let mean = Some(20_000.0 / whole.leaves);
    let long = fixture.tree.estimate_knowing(&key(4_000), Some(&key(12_000)), mean).expect("an estimate");
    let mut seen = 0;
    let leaves = SampledLeaves { most: 10, read: false };
    let mut sample = |_: &leafline_btree::LeafView<'_>, slots: std::ops::Range<usize>| seen += slots.len();
    fixture.tree.sample(&key(4_000), Some(&key(12_000)), leaves, &mut sample).expect("a sample");
    assert_eq!(reads(), before, "branch pages are in memory");
    assert!(!long.exact && (long.entries - 4_000.0).abs() < 400.0, "{}", long.entries);
    assert!(seen < 4_000, "only what is in memory: {seen}");
    // Without a known mean, leaves are read.
    fixture.tree.estimate(&key(4_000), Some(&key(12_000))).expect("an estimate");
    assert!(reads() > before);
}

#[test]
fn samples_are_spread_over_the_range() {
    for seed in seeds(1) {
        let fixture = build(60_000, 4096, 200);
        let mut rng = SmallRng::seed_from_u64(seed);
        for _ in 0..20 {
            let low = rng.random_range(0..50_000);
            let high = low + rng.random_range(20_000..60_000);
            let mut keys = Vec::new();
            let sample = |leaf: &leafline_btree::LeafView<'_>, slots: std::ops::Range<usize>| {
                let mut key = Vec::new();
                for slot in slots {
                    leaf.key_into(slot, &mut key);
                    keys.push(u32::from_be_bytes([key[0], key[1], key[2], key[3]]));
                }
            };
            let mut sample = sample;
            let leaves = SampledLeaves { most: 10, read: true };
            fixture.tree.sample(&key(low), Some(&key(high)), leaves, &mut sample).expect("a sample");
            assert!(keys.is_sorted() && keys.iter().all(|key| (low..high).contains(key)));
            // The sample meets each fifth of the range, and not much more than ten leaves.
            for part in 0..5 {
                let part = low + (high - low) / 5 * part..low + (high - low) / 5 * (part + 1);
                assert!(keys.iter().any(|key| part.contains(key)), "nothing in {part:?}");
            }
            assert!(keys.len() < 10 * 160, "{} keys", keys.len());
        }
    }
}
