//! Unlogged bulk writing: complete and durable when it has finished, harmless before, and never over pages that a
//! crash can bring back.

use super::support::*;
use leafline_storage::device::{OpenMode, SimulatedEnv};
use leafline_storage::{
    BulkWriter, Env, PageClass, PageKind, PageNo, Result, SEGMENT_LOG_BYTES, SegmentId, SegmentState,
    StorageError, Store, page,
};
use std::collections::BTreeMap;

fn image(value: u64) -> Vec<u8> {
    let mut image = vec![0; PAGE];
    page::set_kind(&mut image, PageKind::LEAF, 1);
    image.chunks_mut(8).skip(4).for_each(|cell| cell.copy_from_slice(&value.to_le_bytes()));
    image
}

/// Builds a segment of `count` leaf pages and a few branch pages, and makes it live.
fn build(store: &Store, count: u64, first: u64) -> Result<(SegmentId, BTreeMap<PageNo, u64>)> {
    let mut reservation = store.reserve(0, 4 * SEGMENT_LOG_BYTES)?;
    let segment = store.create_segment(&mut reservation)?;
    let mut writer: BulkWriter = store.bulk_writer(segment)?;
    let mut pages = BTreeMap::new();
    for value in first..first + count {
        let class = if value % 50 == 49 { PageClass::Branch } else { PageClass::Leaf };
        let page = writer.allocate(class)?;
        writer.write(page, &image(value))?;
        assert_eq!(pages.insert(page, value), None);
    }
    let root = *pages.keys().next_back().unwrap();
    writer.finish(root)?;
    store.set_segment_state(&mut reservation, segment, SegmentState::Live)?;
    store.wait_durable(store.log_end())?;
    assert_eq!(store.segments().iter().find(|info| info.id == segment).unwrap().root, root);
    Ok((segment, pages))
}

fn check(store: &Store, segment: SegmentId, pages: &BTreeMap<PageNo, u64>) {
    for (page, value) in pages {
        let guard = store.shared(*page).unwrap();
        assert_eq!((guard.owner(), cell(&guard, 99)), (segment, *value), "page {page}");
    }
}

#[test]
fn bulk_pages_are_there_can_be_changed_and_survive_a_crash() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    let (segment, mut pages) = build(&store, 150, 1000).unwrap();
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
    check(&store, segment, &pages);
    let first = *pages.keys().next().unwrap();
    let mut reservation = store.reserve(1, 300).unwrap();
    store.fault_in(first).unwrap();
    let mut change = store.begin(&mut reservation, 1).unwrap();
    let slot = change.latch(first).unwrap().unwrap();
    change.apply(slot, TEST, ADD, &add(99, 5)).unwrap();
    let slot = change.allocate(segment, PageClass::Leaf).unwrap();
    let added = change.page_no(slot);
    change.apply(slot, TEST, FORMAT, &77u64.to_le_bytes()).unwrap();
    let end = change.commit();
    *pages.get_mut(&first).unwrap() += 5;
    assert_eq!(pages.insert(added, 77), None);
    store.wait_durable(end).unwrap();
    drop(reservation);
    drop(store);
    env.cut(5);
    let store = open(&env).unwrap();
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
    check(&store, segment, &pages);
}

#[test]
fn power_cut_while_pages_of_a_dropped_segment_are_rewritten_in_bulk_leaves_one_or_the_other() {
    let base = SimulatedEnv::new();
    let store = open(&base).unwrap();
    let (old, mut old_pages) = build(&store, 300, 1000).unwrap();
    // The log has records of the pages' former life.
    for (page, value) in old_pages.iter_mut().take(30) {
        let mut reservation = store.reserve(0, 300).unwrap();
        store.fault_in(*page).unwrap();
        let mut change = store.begin(&mut reservation, 0).unwrap();
        let slot = change.latch(*page).unwrap().unwrap();
        change.apply(slot, TEST, ADD, &add(99, 1)).unwrap();
        change.commit();
        *value += 1;
    }
    store.wait_durable(store.log_end()).unwrap();
    drop(store);
    let (mut old_seen, mut new_seen, mut neither, mut reused) = (0, 0, 0, false);
    for cut in 0.. {
        eprintln!("cut {cut}");
        let env = base.snapshot();
        let store = open(&env).unwrap();
        env.power_cut_after(cut);
        let mut new = None;
        let done = (|| {
            store.drop_segment(old)?;
            let (segment, pages) = build(&store, 200, 5000)?;
            reused |= pages.keys().any(|page| old_pages.contains_key(page));
            new = Some((segment, pages));
            store.checkpoint()
        })();
        drop(store);
        env.reboot(cut * 7 + 1);
        let store = open(&env).unwrap();
        assert_eq!(store.recovery_report().unreadable, []);
        if let Some((segment, pages)) = &new {
            new_seen += 1;
            check(&store, *segment, pages);
        }
        let infos = store.segments();
        for info in &infos {
            if info.id == old {
                old_seen += 1;
                assert_eq!(info.state, SegmentState::Live);
                check(&store, old, &old_pages);
            } else if info.state == SegmentState::Building {
                // The segment was never finished, so the program that opens the store drops it.
                store.drop_segment(info.id).unwrap();
            }
        }
        neither += usize::from(infos.iter().all(|info| info.state == SegmentState::Building));
        assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
        if done.is_ok() {
            break;
        }
    }
    assert!(
        old_seen > 0 && new_seen > 0 && neither > 0 && reused,
        "{old_seen} {new_seen} {neither} {reused}"
    );
}

#[test]
fn extents_of_an_unfinished_build_are_known_when_the_growth_of_the_file_is_lost() {
    let mut lost = 0;
    for seed in seeds(20) {
        eprintln!("seed {seed}");
        let env = SimulatedEnv::new();
        let store = open(&env).unwrap();
        let mut reservation = store.reserve(0, 4 * SEGMENT_LOG_BYTES).unwrap();
        let segment = store.create_segment(&mut reservation).unwrap();
        let mut writer = store.bulk_writer(segment).unwrap();
        let pages: Vec<PageNo> = (0..300).map(|_| writer.allocate(PageClass::Leaf).unwrap()).collect();
        let size = env.open("data", OpenMode::Existing).unwrap().size().unwrap();
        // Another commit makes the log durable.
        store.wait_durable(store.log_end()).unwrap();
        drop((writer, reservation, store));
        env.cut(seed);
        lost += u64::from(env.open("data", OpenMode::Existing).unwrap().size().unwrap() < size);
        let store = open(&env).unwrap();
        store.drop_segment(segment).unwrap();
        assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
        // Other pages take their places.
        let (segment, others) = build(&store, 300, 1000).unwrap();
        assert!(others.keys().any(|page| pages.contains(page)));
        check(&store, segment, &others);
        assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
    }
    assert!(lost > 0, "the growth of the file was never lost");
}

#[test]
fn stale_pages_of_a_dropped_segment_are_not_seen_in_place_of_bulk_pages() {
    let env = SimulatedEnv::new();
    let store = open_with(&env, options(400)).unwrap();
    let (old, old_pages) = build(&store, 200, 1000).unwrap();
    store.drop_segment(old).unwrap();
    // A reader that does not know of the drop yet reads ahead.
    store.prefetch(&old_pages.keys().copied().collect::<Vec<_>>()).unwrap();
    let mut reservation = store.reserve(0, 4 * SEGMENT_LOG_BYTES).unwrap();
    let segment = store.create_segment(&mut reservation).unwrap();
    let mut writer = store.bulk_writer(segment).unwrap();
    let mut pages = BTreeMap::new();
    for value in 0..200 {
        let page = writer.allocate(PageClass::Leaf).unwrap();
        writer.write(page, &image(value)).unwrap();
        pages.insert(page, value);
        if value % 20 == 0 {
            store.prefetch(&old_pages.keys().copied().collect::<Vec<_>>()).unwrap();
        }
    }
    assert!(pages.keys().any(|page| old_pages.contains_key(page)));
    writer.finish(*pages.keys().next().unwrap()).unwrap();
    check(&store, segment, &pages);
    // With logged pages, too, the new life begins in the frame of the old one.
    store.drop_segment(segment).unwrap();
    store.prefetch(&pages.keys().copied().collect::<Vec<_>>()).unwrap();
    let (fresh, _) = new_segment(&store).unwrap();
    let mut taken = BTreeMap::new();
    for value in 0..200u64 {
        let mut reservation = store.reserve(1, 100).unwrap();
        let mut change = store.begin(&mut reservation, 1).unwrap();
        let slot = change.allocate(fresh, PageClass::Leaf).unwrap();
        change.apply(slot, TEST, FORMAT, &value.to_le_bytes()).unwrap();
        taken.insert(change.page_no(slot), value);
        change.commit();
    }
    assert!(taken.keys().any(|page| pages.contains_key(page)));
    check(&store, fresh, &taken);
    assert_eq!(store.resident_pages(fresh), 201);
    assert_eq!(store.resident_pages(segment), 0);
}

#[test]
fn full_disk_in_a_bulk_build_leaves_a_segment_that_can_be_dropped() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    env.set_space_limit(Some(env.space_used() + 64 * 4096));
    assert!(matches!(build(&store, 1000, 0), Err(StorageError::DiskFull)));
    let left = store.segments();
    assert_eq!((left.len(), left[0].state), (1, SegmentState::Building));
    store.drop_segment(left[0].id).unwrap();
    assert_eq!(store.segments(), []);
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
    build(&store, 40, 0).unwrap();
}

#[test]
fn bulk_writer_refuses_pages_it_did_not_hand_out_and_those_left_out() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    let mut reservation = store.reserve(0, 4 * SEGMENT_LOG_BYTES).unwrap();
    let segment = store.create_segment(&mut reservation).unwrap();
    let mut writer = store.bulk_writer(segment).unwrap();
    let page = writer.allocate(PageClass::Leaf).unwrap();
    assert!(matches!(writer.write(PageNo(page.0 + 1), &image(1)), Err(StorageError::Misuse { .. })));
    writer.write(page, &image(1)).unwrap();
    assert!(matches!(writer.write(page, &image(1)), Err(StorageError::Misuse { .. })));
    writer.allocate(PageClass::Leaf).unwrap();
    assert!(matches!(writer.finish(page), Err(StorageError::Misuse { .. })));
    store.set_segment_state(&mut reservation, segment, SegmentState::Live).unwrap();
    assert!(matches!(store.bulk_writer(segment), Err(StorageError::Misuse { .. })));
}
