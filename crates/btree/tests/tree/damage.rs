//! Damaged nodes with right checksums, as a bug would write them, give errors to every user of the tree.

use leafline_btree::node::{NodeBuilder, Record};
use leafline_btree::{BtreeError, Change, CommitTs, Direction, EntryFlags, EntryView, LeafStep};
use leafline_storage::HandlerId;

use super::fixture::Fixture;

/// Formats the root with a leaf of 20 entries after `damage` to its image.
fn damaged(damage: impl Fn(&mut [u8])) -> Fixture {
    let fixture = Fixture::new(4096, 64);
    let mut builder = NodeBuilder::new(4096, 0, &[], None).expect("a node");
    for n in 0..20 {
        let entry =
            EntryView { flags: EntryFlags::default(), commit_ts: CommitTs::NONE, payload: b"payload" };
        builder.push_leaf(&[n], &[], entry).expect("room");
    }
    let mut record = Record::format(builder).expect("a record");
    damage(&mut record.payload);
    let mut reservation = fixture.reserve(1, 2000);
    let mut mini = fixture.store.begin(&mut reservation, 0).expect("a mini-transaction");
    let root = mini.latch(fixture.tree.root()).expect("a latch").expect("resident");
    mini.apply(root, HandlerId::BTREE, record.kind, &record.payload).expect("a node that can be opened");
    mini.commit();
    drop(reservation);
    fixture
}

/// Returns the offset of slot `n` in the image. The slots follow the node header; a slot has its offset at byte 4,
/// and its length and flags at byte 6.
fn slot(n: usize) -> usize {
    48 + 8 * n
}

fn assert_corrupt<T: std::fmt::Debug>(result: Result<T, BtreeError>) {
    assert!(matches!(result, Err(BtreeError::Corrupt { .. })), "{result:?}");
}

#[test]
fn a_sound_image_is_no_error() {
    let fixture = damaged(|_| ());
    assert_eq!(fixture.tree.verify().expect("a sound tree").entries, 20);
}

#[test]
fn a_cell_outside_the_page_is_an_error_to_every_reader_and_writer() {
    let fixture = damaged(|image| image[slot(7) + 4..slot(7) + 6].copy_from_slice(&4094u16.to_le_bytes()));
    let tree = &fixture.tree;
    assert_corrupt(tree.verify());
    assert_corrupt(tree.get(&[7], |_| ()));
    assert_corrupt(tree.modify(&mut fixture.reserve(1, 2000), &[7], CommitTs(0), &mut |_| Change::Remove));
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut cursor = tree.cursor();
        if direction == Direction::Reverse {
            cursor.seek_before(None);
        }
        let mut seen = 0;
        assert_corrupt(cursor.visit_leaf(direction, |leaf, range| {
            seen = range.map(|slot| leaf.entry(slot).payload.len()).sum();
            LeafStep::NextLeaf
        }));
        assert_eq!(seen, 19 * 7, "the damaged entry shows as empty");
    }
    // Neighbours of a damaged entry can still be read.
    assert!(tree.get(&[8], |entry| entry.is_some()).expect("a sound entry"));
}

#[test]
fn the_verifier_describes_the_fault_of_a_node() {
    type Damage = fn(&mut [u8]);
    let cases: [(&str, Damage); 4] = [
        ("head differs from the key", |image| image[slot(3)] ^= 1),
        ("keys out of order", |image| {
            let (a, b) = (slot(3), slot(4));
            (0..8).for_each(|byte| image.swap(a + byte, b + byte));
        }),
        ("garbage miscounted", |image| image[6] = 1),
        ("ghosts or timestamps miscounted", |image| image[slot(5) + 7] |= 1 << 4),
    ];
    for (expected, damage) in cases {
        let fixture = damaged(damage);
        match fixture.tree.verify() {
            Err(BtreeError::Corrupt { what, .. }) if what.contains(expected) => {}
            other => panic!("{expected}: {other:?}"),
        }
    }
}
