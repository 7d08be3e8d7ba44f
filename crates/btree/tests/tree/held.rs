//! Leaves that are held so that changes of them can be kept elsewhere.

use leafline_btree::{CommitTs, Direction, Finger, HeldLeaf, HoldOutcome};
use leafline_storage::PageNo;

use super::fixture::{Fixture, bulk, mixed};

fn key(n: u32) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}

#[test]
fn leaves_are_held_side_by_side_as_long_as_nobody_has_to_be_waited_for() {
    let fixture = Fixture::new(4096, 400);
    let rows: Vec<(Vec<u8>, Vec<u8>)> = (0..2000).map(|n| (key(n), mixed(n.into(), 40))).collect();
    let tree = bulk(&fixture.store, 100, rows.iter().map(|(key, payload)| (&key[..], &payload[..])));
    // The rows have the first keys of leaves.
    let found = tree.find_leaves(Direction::Forward, rows.iter().map(|(key, _)| Some(&key[..]))).unwrap();
    let pages: Vec<PageNo> = found.iter().map(|leaf| leaf.page()).collect();
    let firsts: Vec<usize> = (1..2000).filter(|n| pages[*n] != pages[n - 1]).collect();
    let [first, second, third, fourth, ..] = firsts[..] else { panic!("{firsts:?}") };
    // The second leaf is in memory, changed; the third is in memory as the file has it.
    fixture.store.checkpoint().unwrap();
    pages.iter().for_each(|page| drop(fixture.store.evict_all(*page)));
    tree.get(&key(third as u32), |_| ()).unwrap();
    let mut finger = Finger::NONE;
    let held = tree.hold_leaf(&key(first as u32), false, &mut finger).unwrap();
    assert!(matches!(&held, HeldLeaf::Held(held) if held.page_no() == pages[first]));
    let mut beside = |last: usize, n: usize, take| {
        let beside = tree.hold_beside(pages[last], &key(n as u32), take, &mut finger);
        let page = match &beside {
            HoldOutcome::Another(held) => held.page_no(),
            HoldOutcome::Same => Some(pages[last]),
            HoldOutcome::No => None,
        };
        assert!(page.is_none_or(|page| page == pages[n]), "{n}");
        beside
    };
    assert!(matches!(beside(first, first + 1, true), HoldOutcome::Same));
    let HoldOutcome::Another(HeldLeaf::Held(other)) = beside(first, fourth, true) else { panic!("not held") };
    assert!(matches!(beside(first, fourth + 1, true), HoldOutcome::No), "it was held a second time");
    assert!(matches!(beside(fourth, fourth + 1, true), HoldOutcome::Same));
    assert!(matches!(beside(first, third, false), HoldOutcome::No), "a leaf in memory was held");
    let HoldOutcome::Another(HeldLeaf::Taken(taken)) = beside(first, third, true) else {
        panic!("not taken")
    };
    // A reader of held leaves waits until they are released.
    std::thread::scope(|scope| {
        let reader =
            |n: usize| tree.get(&key(n as u32), |entry| entry.map(|entry| entry.payload.to_vec())).unwrap();
        let readers: Vec<_> = [first, third, fourth].map(|n| (n, scope.spawn(move || reader(n)))).into();
        taken.merge_softly(&[], CommitTs::NONE, fixture.store.log_end()).unwrap();
        drop((held, other));
        for (n, reader) in readers {
            assert_eq!(reader.join().unwrap(), Some(rows[n].1.clone()));
        }
    });
    fixture.put(b"other", b"", 1);
    let mut change = fixture.reserve(4, 40);
    tree.modify(&mut change, &key(second as u32), CommitTs::NONE, &mut |_| leafline_btree::Change::Remove)
        .unwrap();
    let held = tree.hold_leaf(&key(first as u32), true, &mut finger).unwrap();
    assert!(matches!(&held, HeldLeaf::Taken(_)));
    assert!(
        matches!(tree.hold_beside(pages[first], &key(second as u32), true, &mut finger), HoldOutcome::No),
        "a changed leaf was taken"
    );
    held.let_go();
    assert_eq!(
        tree.get(&key(first as u32), |entry| entry.map(|entry| entry.payload.to_vec())).unwrap(),
        Some(rows[first].1.clone())
    );
}
