//! Listing leaves either way and by page from branch pages, and reading them before a scan comes to them.

use std::sync::atomic::Ordering;

use leafline_btree::{Direction, LeafStep, LeafWalk, RangeReadAhead, ReadAheadKind, ReadAheadSettings, Tree};
use leafline_storage::{PageNo, Store};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use super::fixture::{Fixture, bulk, open, options, seeds};

const PAGE: usize = 4096;

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

/// Makes a tree filled in random order, or in key order, in a store that has just been opened.
fn cold(number: u32, scattered: bool, pool_pages: usize) -> (Store, Tree) {
    let Fixture { env, store, mut tree } = Fixture::new(PAGE, 4000);
    let mut keys: Vec<u32> = (0..number).collect();
    if scattered {
        keys.shuffle(&mut SmallRng::seed_from_u64(4));
        let filled = Fixture { env: env.clone(), store: store.clone(), tree: tree.clone() };
        keys.iter().for_each(|n| filled.put(&key(*n), &[7; 100], 1));
    } else {
        let keys: Vec<[u8; 4]> = keys.iter().map(|n| key(*n)).collect();
        tree = bulk(&store, 100, keys.iter().map(|key| (&key[..], &[7; 100][..])));
    }
    let (id, root) = (tree.id(), tree.root());
    drop(tree);
    store.close().expect("a close");
    let store = open(&env, options(PAGE, pool_pages)).expect("a store");
    let tree = Tree::open(&store, id, root).expect("a tree");
    (store, tree)
}

fn in_reverse(
    tree: &Tree,
    lower: &[u8],
    upper: Option<&[u8]>,
    most: usize,
) -> (Vec<PageNo>, Option<Vec<u8>>) {
    let mut pages = Vec::new();
    let rest = tree.for_each_leaf(Direction::Reverse, lower, upper, &mut |leaf| {
        if pages.len() == most {
            return LeafWalk::Stop;
        }
        pages.push(leaf.page);
        LeafWalk::Next
    });
    (pages, rest.expect("leaves"))
}

#[test]
fn leaves_are_the_same_either_way_in_pieces_and_by_page() {
    let (_, tree) = cold(30_000, true, 4000);
    assert!(tree.depth().expect("a depth") >= 3);
    for seed in seeds(1) {
        let mut rng = SmallRng::seed_from_u64(seed);
        for round in 0..100 {
            let (low, high) = (rng.random_range(0..30_000), rng.random_range(0..31_000));
            let (lower, upper) = (key(low), key(high));
            let upper = (round % 5 > 0).then_some(&upper[..]);
            let mut forward =
                tree.leaves(Direction::Forward, &lower, upper, usize::MAX).expect("leaves").pages;
            let by_page = tree.leaves_by_page(&lower, upper, usize::MAX).expect("leaves");
            let mut parts: Vec<_> = by_page.leaves.iter().map(|leaf| &leaf.keys).collect();
            parts.sort_by(|a, b| a.lower.cmp(&b.lower));
            if let (Some(first), Some(last)) = (parts.first(), parts.last()) {
                assert_eq!((&first.lower[..], last.upper.as_deref()), (&lower[..], upper));
                assert!(parts.windows(2).all(|pair| pair[0].upper.as_ref() == Some(&pair[1].lower)));
            }
            let mut sorted = forward.clone();
            sorted.sort_unstable();
            assert_eq!(by_page.leaves.iter().map(|leaf| leaf.page).collect::<Vec<_>>(), sorted);
            forward.reverse();
            assert_eq!(in_reverse(&tree, &lower, upper, usize::MAX).0, forward, "seed {seed}, {low}..{high}");
            let (mut pieces, mut before) = (Vec::new(), upper.map(<[u8]>::to_vec));
            loop {
                let (pages, rest) = in_reverse(&tree, &lower, before.as_deref(), 7);
                pieces.extend(pages);
                if rest.is_none() {
                    break;
                }
                before = rest;
            }
            assert_eq!(pieces, forward, "seed {seed}, {low}..{high}");
        }
    }
}

/// Reads at most `most` leaves. Returns the entries met, the pages read ahead, and how many pages were read because
/// they were needed at once.
fn read(tree: &Tree, kind: ReadAheadKind, direction: Direction, most: usize) -> (usize, u64, u64) {
    let faults = tree.store().stats().page_faults.get();
    let settings = ReadAheadSettings { kind, ..ReadAheadSettings::default() };
    let mut ahead = RangeReadAhead::new(settings, direction, &[], None);
    let mut cursor = tree.cursor();
    if direction == Direction::Reverse {
        cursor.seek_before(None);
    }
    let (mut entries, mut asked) = (0, 0);
    for _ in 0..most {
        asked += ahead.advance(&cursor).expect("read-ahead");
        let visit = cursor.visit_leaf(direction, |_, slots| {
            entries += slots.len();
            LeafStep::NextLeaf
        });
        if !visit.expect("a leaf") {
            break;
        }
    }
    (entries, asked, tree.store().stats().page_faults.get() - faults)
}

#[test]
fn a_scan_either_way_waits_for_few_of_its_leaves_and_a_short_one_reads_no_other() {
    for direction in [Direction::Forward, Direction::Reverse] {
        let (store, tree) = cold(30_000, true, 400);
        let leaves =
            tree.leaves(Direction::Forward, &[], None, usize::MAX).expect("leaves").pages.len() as u64;
        let (entries, asked, faults) = read(&tree, ReadAheadKind::Logical, direction, usize::MAX);
        assert_eq!(entries, 30_000);
        assert!(asked >= leaves - 10 && faults < leaves / 15, "{direction:?}: {faults} of {leaves}, {asked}");
        let prefetched = store.stats().prefetched.load(Ordering::Relaxed);
        assert!(prefetched <= leaves + leaves / 10, "each once: {prefetched} of {leaves}");

        let (_, tree) = cold(30_000, true, 400);
        assert_eq!(read(&tree, ReadAheadKind::Logical, direction, 2).1, 0);
        // Requests beyond that grow step by step.
        let (_, tree) = cold(30_000, true, 400);
        let (_, asked, _) = read(&tree, ReadAheadKind::Logical, direction, 12);
        assert!((8..=56).contains(&asked), "{asked}");

        let (_, tree) = cold(30_000, true, 400);
        let (_, asked, faults) = read(&tree, ReadAheadKind::None, direction, usize::MAX);
        assert!(asked == 0 && faults >= leaves);
    }
}

#[test]
fn linear_read_ahead_fires_where_leaves_lie_in_a_row_and_physical_reads_the_segment() {
    let (_, tree) = cold(30_000, false, 400);
    let leaves = tree.leaves(Direction::Forward, &[], None, usize::MAX).expect("leaves").pages.len() as u64;
    let (entries, asked, faults) = read(&tree, ReadAheadKind::Linear, Direction::Forward, usize::MAX);
    assert_eq!(entries, 30_000);
    assert!(asked > leaves / 2 && faults < leaves / 2, "{asked}, {faults} of {leaves}");

    let (_, tree) = cold(30_000, true, 400);
    assert_eq!(read(&tree, ReadAheadKind::Linear, Direction::Forward, usize::MAX).1, 0);

    let (_, tree) = cold(30_000, true, 4000);
    let (_, asked, faults) = read(&tree, ReadAheadKind::Physical, Direction::Forward, usize::MAX);
    assert!(asked > leaves - 10 && faults < leaves, "{asked}, {faults} of {leaves}");
}

#[test]
fn a_scattered_tree_is_verified_in_the_order_of_its_pages() {
    let (store, tree) = cold(30_000, true, 200);
    let report = tree.verify().expect("a sound tree");
    assert_eq!(report.entries, 30_000);
    let prefetched = store.stats().prefetched.load(Ordering::Relaxed);
    assert!(prefetched >= report.leaves - 1, "{prefetched} of {}", report.leaves);
    // Neighbouring pages are read together.
    let requests = store.stats().batched_reads.load(Ordering::Relaxed);
    assert!(requests * 8 < prefetched, "{requests} requests for {prefetched} pages");
}

#[test]
fn leaves_of_many_keys_are_found_without_reading_any_leaf() {
    for direction in [Direction::Forward, Direction::Reverse] {
        let (store, tree) = cold(30_000, true, 4000);
        let wanted: Vec<[u8; 4]> = (0..30_000).step_by(7).map(key).collect();
        let wanted = wanted.iter().map(|key| Some(&key[..]));
        let found = tree.find_leaves(direction, wanted.clone()).expect("leaves");
        assert!(found.iter().all(|leaf| !store.is_resident(leaf.page())));
        for (found, key) in found.iter().zip(wanted) {
            let expected = match direction {
                Direction::Forward => tree.leaf_of(key.expect("a key")),
                Direction::Reverse => tree.leaf_before(key),
            };
            assert_eq!(found.page(), expected.expect("a leaf"));
        }
        let all = tree.leaves(Direction::Forward, &[], None, usize::MAX).expect("leaves").pages;
        let (pages, branches) =
            (store.segment_pages(tree.id()).expect("pages"), store.resident_pages(tree.id()));
        assert!(branches > 3 && branches as usize <= pages.len() - all.len(), "{branches} branches");
    }
}
