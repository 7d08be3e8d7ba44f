use super::*;
use crate::device::AlignedBuf;

fn block(byte: u8) -> AlignedBuf {
    AlignedBuf::from_bytes(&[byte; BLOCK])
}

fn read(env: &SimulatedEnv, name: &str, offset: u64) -> AlignedBuf {
    let mut buf = AlignedBuf::zeroed(BLOCK);
    env.open(name, OpenMode::Existing).unwrap().read_at(&mut buf, offset).unwrap();
    buf
}

/// Makes a file of four blocks of 1s, which is durable together with its name.
fn with_file() -> (SimulatedEnv, Arc<dyn File>) {
    let env = SimulatedEnv::new();
    let file = env.open("f", OpenMode::CreateNew).unwrap();
    for at in 0..4 {
        file.write_at(&block(1), at * BLOCK as u64).unwrap();
    }
    file.sync().unwrap();
    env.sync_dir("").unwrap();
    (env, file)
}

#[test]
fn synced_data_survives_any_cut_and_unsynced_is_kept_dropped_and_torn() {
    let (env, file) = with_file();
    file.write_at(&block(2), 0).unwrap();
    let (mut kept, mut dropped, mut torn) = (0, 0, 0);
    for seed in 0..200 {
        let copy = env.snapshot();
        copy.cut(seed);
        assert!(read(&copy, "f", BLOCK as u64).iter().all(|b| *b == 1));
        let seen = read(&copy, "f", 0);
        for sector in seen.chunks(image::SECTOR) {
            assert!(sector.iter().all(|b| *b == sector[0]), "a sector is whole");
        }
        match seen.iter().filter(|b| **b == 2).count() {
            BLOCK => kept += 1,
            0 => dropped += 1,
            _ => torn += 1,
        }
    }
    assert!(kept > 20 && dropped > 20 && torn > 20, "{kept} {dropped} {torn}");
}

#[test]
fn a_later_write_may_survive_an_earlier_one() {
    let (env, file) = with_file();
    file.write_at(&block(2), 0).unwrap();
    file.write_at(&block(3), BLOCK as u64).unwrap();
    let only_later = (0..200).any(|seed| {
        let copy = env.snapshot();
        copy.cut(seed);
        read(&copy, "f", 0).iter().all(|b| *b == 1) && read(&copy, "f", BLOCK as u64).iter().all(|b| *b == 3)
    });
    assert!(only_later);
}

#[test]
fn names_survive_only_when_their_directory_was_synced() {
    let (env, _file) = with_file();
    env.create_dir("d").unwrap();
    env.sync_dir("").unwrap();
    env.open("d/new", OpenMode::CreateNew).unwrap().sync().unwrap();
    env.rename("f", "g").unwrap();
    let (mut created, mut renamed) = (0, 0);
    for seed in 0..100 {
        let copy = env.snapshot();
        copy.cut(seed);
        created += u32::from(copy.exists("d/new").unwrap());
        renamed += u32::from(copy.exists("g").unwrap());
        assert_ne!(copy.exists("f").unwrap(), copy.exists("g").unwrap(), "one name or the other");
    }
    assert!((20..80).contains(&created) && (20..80).contains(&renamed), "{created} {renamed}");
    env.sync_dir("d").unwrap();
    env.sync_dir("").unwrap();
    env.cut(1);
    assert!(env.exists("d/new").unwrap() && env.exists("g").unwrap() && !env.exists("f").unwrap());
}

#[test]
fn after_the_chosen_operation_everything_fails_until_the_reboot() {
    let (env, file) = with_file();
    env.power_cut_after(1);
    file.write_at(&block(2), 0).unwrap();
    assert!(!env.is_off());
    assert!(file.sync().is_err() && env.is_off());
    assert!(file.read_at(&mut block(0), 0).is_err() && env.exists("f").is_err() && env.lock().is_err());
    env.reboot(7);
    assert!(!env.is_off());
    assert!(file.read_at(&mut block(0), 0).is_err(), "handles of before stay dead");
    assert_eq!(read(&env, "f", BLOCK as u64)[0], 1);
}

#[test]
fn the_write_at_which_the_power_goes_may_have_reached_the_disk() {
    let outcomes: Vec<bool> = (0..100)
        .map(|seed| {
            let (env, file) = with_file();
            env.power_cut_after(0);
            assert!(file.write_at(&block(2), 0).is_err());
            env.reboot(seed);
            read(&env, "f", 0).contains(&2)
        })
        .collect();
    assert!(outcomes.contains(&true) && outcomes.contains(&false));
}

#[test]
fn a_failed_sync_loses_the_data_for_good() {
    let (env, file) = with_file();
    file.write_at(&block(2), 0).unwrap();
    env.set_fault(Some(Arc::new(|operation, _, _| operation == Operation::Sync)));
    assert_eq!(file.sync().unwrap_err().raw_os_error(), Some(libc::EIO));
    env.set_fault(None);
    file.sync().unwrap();
    assert_eq!(read(&env, "f", 0)[0], 2, "it is still in the cache");
    env.cut(3);
    assert_eq!(read(&env, "f", 0)[0], 1, "and was never on the disk");
}

#[test]
fn growing_beyond_the_space_limit_fails_and_allocated_space_does_not() {
    let (env, file) = with_file();
    file.allocate(8 * BLOCK as u64).unwrap();
    env.set_space_limit(Some(8 * BLOCK as u64));
    file.write_at(&block(2), 7 * BLOCK as u64).unwrap();
    assert_eq!(file.write_at(&block(2), 8 * BLOCK as u64).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.allocate(9 * BLOCK as u64).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.size().unwrap(), 8 * BLOCK as u64);
}

#[test]
fn a_hole_gives_space_back_and_a_write_into_it_may_meet_a_full_disk() {
    let (env, file) = with_file();
    let at = |blocks: u64| blocks * BLOCK as u64;
    file.allocate(at(8)).unwrap();
    file.punch(at(2), at(6)).unwrap();
    assert_eq!((env.space_used(), file.allocated().unwrap(), file.size().unwrap()), (at(4), at(4), at(8)));
    env.set_space_limit(Some(at(5)));
    file.write_at(&block(2), at(3)).unwrap();
    assert_eq!(file.write_at(&block(2), at(4)).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.allocate_range(at(3), at(5)).unwrap_err().kind(), ErrorKind::StorageFull);
    env.set_space_limit(None);
    file.allocate_range(at(2), at(9)).unwrap();
    assert_eq!((env.space_used(), read(&env, "f", at(3))[0], read(&env, "f", at(2))[0]), (at(9), 2, 0));
    file.sync().unwrap();
    file.punch(at(3), at(4)).unwrap();
    let left = |seed| {
        let copy = env.snapshot();
        copy.cut(seed);
        read(&copy, "f", at(3))[0]
    };
    let left: std::collections::BTreeSet<u8> = (0..20).map(left).collect();
    assert_eq!(left.into_iter().collect::<Vec<_>>(), [0, 2], "a hole may be lost with the power");
}

#[test]
fn an_unsynced_truncation_keeps_a_whole_image_or_a_cut_one() {
    let (env, file) = with_file();
    file.truncate(2 * BLOCK as u64).unwrap();
    file.allocate(3 * BLOCK as u64).unwrap();
    let mut sizes = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let copy = env.snapshot();
        copy.cut(seed);
        let size = copy.open("f", OpenMode::Existing).unwrap().size().unwrap() / BLOCK as u64;
        sizes.insert(size);
        if size == 3 {
            assert_eq!(read(&copy, "f", 2 * BLOCK as u64)[0], 0, "what was cut off does not come back");
        }
    }
    assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [2, 3, 4]);
}

#[test]
fn misaligned_and_out_of_range_transfers_are_refused() {
    let (_env, file) = with_file();
    assert_eq!(file.write_at(&block(2), 100).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(file.write_at(&block(2)[..100], 0).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(
        file.read_at(&mut AlignedBuf::zeroed(2 * BLOCK)[1..=BLOCK], 0).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    assert_eq!(file.read_at(&mut block(0), 4 * BLOCK as u64).unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn the_lock_is_held_once_and_released_on_drop_or_cut() {
    let env = SimulatedEnv::new();
    let first = env.lock().unwrap();
    assert_eq!(env.lock().err().map(|e| e.kind()), Some(ErrorKind::WouldBlock));
    env.cut(0);
    let second = env.lock().unwrap();
    drop(first);
    assert!(env.lock().is_err(), "the guard of before the cut releases nothing");
    drop(second);
    env.lock().unwrap();
}

#[test]
fn a_removed_file_lives_until_its_handle_is_closed() {
    let (env, file) = with_file();
    env.remove("f").unwrap();
    env.sync_dir("").unwrap();
    let mut buf = block(0);
    file.read_at(&mut buf, 0).unwrap();
    assert_eq!(buf[0], 1);
    drop(file);
    assert_eq!(env.space_used(), 0);
}

#[test]
fn files_whose_removal_is_not_durable_cost_no_more_the_more_they_are() {
    let env = SimulatedEnv::new();
    env.create_dir("temp").unwrap();
    env.sync_dir("").unwrap();
    for n in 0..20_000 {
        let name = format!("temp/{n}");
        env.open(&name, OpenMode::CreateNew).unwrap().write_at(&block(1), 0).unwrap();
        env.remove(&name).unwrap();
    }
    assert_eq!(env.space_used(), 20_000 * BLOCK as u64, "a power cut may bring any of them back");
    let cut = env.snapshot();
    cut.cut(1);
    let (left, blocks) = (cut.list("temp").unwrap().len(), cut.space_used() as usize / BLOCK);
    assert!((4_000..6_000).contains(&left) && (left / 3..left).contains(&blocks), "{left} {blocks}");
    env.sync_dir("temp").unwrap();
    assert_eq!(env.space_used(), 0);
}
