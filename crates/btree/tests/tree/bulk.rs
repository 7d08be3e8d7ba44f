//! Bulk-built trees equal trees of inserts.

use std::collections::BTreeMap;

use leafline_btree::{BtreeError, BulkBuilder, Direction};
use leafline_storage::SegmentState;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use super::fixture::{Entry, Fixture, bulk, scan, seeds};
use super::shape::{Keys, Payloads};

fn entries(
    keys: Keys,
    payloads: Payloads,
    number: u64,
    fixture: &Fixture,
    seed: u64,
) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let (max_key, max_entry) = (fixture.tree.max_key_len(), fixture.tree.max_entry_len());
    (0..number)
        .map(|n| {
            let key = keys.make(&mut rng, n, max_key);
            let payload = payloads.make(&mut rng, key.len(), max_entry);
            (key, payload)
        })
        .collect()
}

#[test]
fn bulk_build_equals_inserts_for_every_shape() {
    let shapes = [
        (Keys::Ascending8, Payloads::Small, 20_000),
        (Keys::Random4, Payloads::None, 30_000),
        (Keys::SharedPrefix, Payloads::Small, 4_000),
        (Keys::ZeroBytes, Payloads::Medium, 4_000),
        (Keys::AnyLength, Payloads::Huge, 2_000),
        (Keys::Random8, Payloads::Huge, 2_000),
        (Keys::Ascending4, Payloads::Small, 0),
        (Keys::Ascending4, Payloads::Small, 1),
    ];
    for seed in seeds(1) {
        for (keys, payloads, number) in shapes {
            for (page_size, fill) in [(4096, 100), (16384, 70)] {
                let fixture = Fixture::new(page_size, 256);
                let model = entries(keys, payloads, number, &fixture, seed);
                println!("{keys:?} {payloads:?} {page_size} {fill}");
                let tree =
                    bulk(&fixture.store, fill, model.iter().map(|(k, p)| (k.as_slice(), p.as_slice())));
                let report = tree.verify().expect("a sound tree");
                assert_eq!(report.entries, model.len() as u64);
                let expected =
                    model.into_iter().map(|(key, payload)| (key, Entry { flags: 0, ts: 0, payload }));
                assert!(scan(&tree, Direction::Forward).into_iter().eq(expected));
                if payloads != Payloads::Huge && report.leaves > 10 {
                    let (fill, aim) = (report.fill, f64::from(fill) / 100.0);
                    assert!(fill <= aim + 0.01 && fill > aim * 0.85, "filled to {fill}, not {aim}");
                }
            }
        }
    }
}

#[test]
fn a_bulk_built_tree_takes_changes_and_survives_a_reopen() {
    let fixture = Fixture::new(4096, 64);
    let model = entries(Keys::Random4, Payloads::Small, 20_000, &fixture, 7);
    let tree = bulk(&fixture.store, 90, model.iter().map(|(k, p)| (k.as_slice(), p.as_slice())));
    let Fixture { env, store, tree: unused } = fixture;
    drop(unused);
    let (id, root) = (tree.id(), tree.root());
    let changed = Fixture { env, store, tree };
    for n in 0..5_000u32 {
        changed.put(&(n * 77).to_be_bytes(), b"changed", 9);
    }
    let expected = scan(&changed.tree, Direction::Forward);
    let Fixture { env, store, tree } = changed;
    drop(tree);
    store.close().expect("closed");
    let store = super::fixture::open(&env, super::fixture::options(4096, 64)).expect("opened again");
    let tree = leafline_btree::Tree::open(&store, id, root).expect("a tree");
    tree.verify().expect("a sound tree");
    assert!(scan(&tree, Direction::Forward) == expected);
}

#[test]
fn keys_that_do_not_ascend_or_are_too_large_are_refused() {
    let fixture = Fixture::new(4096, 64);
    let mut reservation = fixture.store.reserve(2, 64 << 10).expect("a reservation");
    let segment = fixture.store.create_segment(&mut reservation).expect("a segment");
    drop(reservation);
    let mut builder = BulkBuilder::new(&fixture.store, segment, 100, super::format()).expect("a builder");
    builder.push(b"b", b"").expect("the first key");
    assert!(matches!(builder.push(b"b", b""), Err(BtreeError::NotAscending)));
    assert!(matches!(builder.push(b"a", b""), Err(BtreeError::NotAscending)));
    assert!(matches!(builder.push(&[b'c'; 769], b""), Err(BtreeError::KeyTooLong { len: 769, limit: 768 })));
    let entry = builder.push(b"c", &[0; 2048]);
    assert!(matches!(entry, Err(BtreeError::EntryTooLarge { len: 2049, limit: 2048 })));
    let tree = builder.finish().expect("a tree");
    let mut reservation = fixture.store.reserve(0, 4096).expect("a reservation");
    fixture.store.set_segment_state(&mut reservation, segment, SegmentState::Live).expect("a state");
    assert_eq!(tree.verify().expect("a sound tree").entries, 1);
}
