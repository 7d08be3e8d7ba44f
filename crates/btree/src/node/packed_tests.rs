//! Packed cells of packed leaves: a gathered packed cell is read, searched and unpacked right, and damage is a fault.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::tests::{redo, seeds};
use super::{LeafFormat, MAX_CELL_ENTRIES, Node, NodeBuilder, Record, Unpacked};
use crate::entry::{CommitTs, EntryFlags, EntryView};
use crate::unpacked_cells::UnpackedCells;
use crate::view::LeafView;
use leafline_storage::{Lsn, PageNo};

const PAGE: usize = 4096;

/// Makes a value like its neighbours: with a part of `base` at its front, some bytes of its own, and an end that
/// others have, too.
fn value(rng: &mut SmallRng, base: &[u8], most: usize) -> Vec<u8> {
    let mut value = base[..rng.random_range(0..=base.len())].to_vec();
    let own = rng.random_range(0..=most);
    value.extend((0..own).map(|_| rng.random_range(0..4u8)));
    value.extend(&[9, 9, 9, 9, 9, 9, 9, 9][..rng.random_range(0..=8)]);
    if rng.random() {
        value.extend(&rng.random_range(0..600u64).to_be_bytes()[2..]);
    }
    value
}

/// Makes entries for a leaf, in the order of their keys.
fn entries(rng: &mut SmallRng) -> Vec<(Vec<u8>, Vec<u8>)> {
    let most = [2, 6, 20, 60][rng.random_range(0..4)];
    let base: Vec<u8> = (0..rng.random_range(0..40)).map(|_| rng.random_range(0..3)).collect();
    let payloads = rng.random_range(0..3);
    let mut entries: Vec<_> = (0..rng.random_range(1..40))
        .map(|_| {
            let key = value(rng, &base, most);
            let payload = match payloads {
                0 => Vec::new(),
                1 => key.clone(),
                _ => value(rng, &base, most),
            };
            (key, payload)
        })
        .collect();
    entries.sort();
    entries.dedup_by(|a, b| a.0 == b.0);
    entries
}

fn leaf(entries: &[(Vec<u8>, Vec<u8>)]) -> Option<Vec<u8>> {
    let mut builder = NodeBuilder::new(PAGE, 0, &[], None).unwrap().in_format(LeafFormat::Packed);
    for (key, payload) in entries {
        let entry = EntryView { flags: EntryFlags::default(), commit_ts: CommitTs::NONE, payload };
        builder.push_leaf(&[], key, entry).ok()?;
    }
    builder.finish().ok()
}

/// Settling a leaf that is full of changed packed cells never makes it larger.
#[test]
fn a_leaf_full_of_changed_cells_can_be_settled() {
    for seed in seeds(60) {
        println!("LEAFLINE_SEED={seed}");
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut page = leaf(&[]).unwrap();
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let (base, most) = ([0, 1, 2, 0, 1, 2], [1, 2, 6, 20][rng.random_range(0..4)]);
        let (mut full, mut fuller) = (0, 0);
        while full < 60 {
            let ts = CommitTs(rng.random_range(0..4));
            let entry = EntryView { flags: EntryFlags::of(false, ts, false), commit_ts: ts, payload: &[] };
            let removed = rng.random_range(0..=keys.len() * 3);
            if let Some(key) = keys.get(removed) {
                let (slot, found) = Node::open(&page).unwrap().lower_bound(key).unwrap();
                assert!(found);
                redo(&mut page, &Record::leaf_remove(slot)).unwrap();
                keys.remove(removed);
                continue;
            }
            let key = value(&mut rng, &base, most);
            let node = Node::open(&page).unwrap();
            let (slot, found) = node.lower_bound(&key).unwrap();
            if found {
                continue;
            }
            if redo(&mut page, &Record::leaf_insert(slot, &key, entry)).is_ok() {
                keys.push(key);
                continue;
            }
            full += 1;
            let free = Node::open(&page).unwrap().free();
            let mut settled = page.clone();
            // Nothing is old enough to be settled.
            redo(&mut settled, &Record::leaf_settle(CommitTs(0))).unwrap();
            fuller += usize::from(Node::open(&settled).unwrap().free() == free);
            redo(&mut settled, &Record::leaf_settle(CommitTs(rng.random_range(0..5)))).unwrap();
            assert_eq!(Node::open(&settled).unwrap().count(), keys.len());
        }
        println!("{fuller} of {full} have not gained by being gathered anew");
    }
}

#[test]
fn a_packed_cell_returns_the_gathered_entries() {
    for seed in seeds(1) {
        println!("LEAFLINE_SEED={seed}");
        let mut rng = SmallRng::seed_from_u64(seed);
        let (mut leaves, mut unpacked, mut payload) = (0, Unpacked::default(), Vec::new());
        for _ in 0..3000 {
            let entries = entries(&mut rng);
            let Some(page) = leaf(&entries) else { continue };
            leaves += 1;
            let node = Node::open(&page).unwrap();
            assert_eq!(node.count(), entries.len());
            for slot in 0..node.slots() {
                let of_slot = &entries[node.positions(slot)];
                // The memory of the packed cell before is used again, for a whole packed cell and for a part.
                for most in [MAX_CELL_ENTRIES, rng.random_range(1..=MAX_CELL_ENTRIES)] {
                    assert_eq!(node.unpack(slot, most, &mut unpacked), Ok(of_slot.len()));
                    assert_eq!(unpacked.len(), of_slot.len().min(most));
                    for (index, (key, payload)) in of_slot.iter().enumerate().take(most) {
                        assert_eq!(unpacked.suffix(index), Ok(&key[..]), "{of_slot:?}");
                        assert_eq!(unpacked.payload(index), Ok(&payload[..]), "{of_slot:?}");
                    }
                    assert!(unpacked.suffix(unpacked.len()).is_err());
                }
            }
            for (at, (key, expected)) in entries.iter().enumerate() {
                assert_eq!(node.lower_bound(key), Ok((at, true)), "{key:?} of {entries:?}");
                assert_eq!(node.entry(at, &mut payload).unwrap().payload, expected);
                let behind = [key.as_slice(), &[0]].concat();
                let there = entries.get(at + 1).is_some_and(|(next, _)| *next == behind);
                assert_eq!(node.lower_bound(&behind), Ok((at + 1, there)));
            }
        }
        assert!(leaves > 1000, "{leaves}");
    }
}

/// Reads all entries of a leaf, one by one in some order, or together. Returns whether there was a fault.
fn read(page: &[u8], cells: &mut UnpackedCells, rng: &mut SmallRng) -> bool {
    let Ok(node) = Node::open(page) else { return true };
    let mut view = LeafView::new(node, PageNo(1), Lsn(1), cells);
    let (together, reverse) = (rng.random(), rng.random());
    let count = view.len().min(3000);
    let mut read = 0;
    while read < count {
        let slot = if reverse { count - 1 - read } else { read };
        match view.packed_with(slot) {
            Some(packed) if together => {
                read += packed.slots().len();
                for slot in packed.slots() {
                    let _ = (packed.get(slot), packed.flags(), packed.commit_ts());
                }
            }
            _ => {
                let _ = view.cell(slot);
                read += 1;
            }
        }
        view.forget();
    }
    view.checked().is_err()
}

#[test]
fn damage_in_a_packed_cell_is_a_fault_and_never_a_panic() {
    for seed in seeds(1) {
        println!("LEAFLINE_SEED={seed}");
        let mut rng = SmallRng::seed_from_u64(seed);
        let (mut cells, mut faults) = (UnpackedCells::default(), 0);
        for _ in 0..4000 {
            let entries = entries(&mut rng);
            let Some(page) = leaf(&entries) else { continue };
            assert!(!read(&page, &mut cells, &mut rng), "{entries:?}");
            for _ in 0..4 {
                let mut page = page.clone();
                let heap = Node::open(&page).unwrap().heap_start();
                let changes = rng.random_range(1..4);
                (0..changes).for_each(|_| page[rng.random_range(heap..PAGE)] = rng.random());
                faults += usize::from(read(&page, &mut cells, &mut rng));
                let Ok(node) = Node::open(&page) else { continue };
                let _ = (super::check(&node), node.lower_bound(&entries[entries.len() / 2].0));
                let _ = node.entry(entries.len() / 2, &mut Vec::new());
            }
        }
        assert!(faults > 500, "{faults}");
    }
}
