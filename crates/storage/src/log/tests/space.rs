//! Tests of reservations, of recycling, and of a full disk.

use super::*;
use crate::device::OpenMode;

/// Appends until a reservation is refused.
fn fill(log: &Log) {
    while let Some(mut reservation) = log.try_reserve(5000).unwrap() {
        let range = log.append(&mut reservation, 1, &[&[1; 4900]]).unwrap();
        log.wait_durable(range.end).unwrap();
    }
}

fn checkpoint(log: &Log) -> LogPosition {
    let position = log.position_of(log.end()).unwrap();
    log.truncate_before(position).unwrap();
    position
}

#[test]
fn a_full_log_refuses_reservations_until_a_checkpoint_frees_files() {
    let (log, _) = create(&SimulatedEnv::new());
    fill(&log);
    let full = log.space();
    assert!(full.used < full.capacity && full.used > full.capacity / 3, "{full:?}");
    assert_eq!(full.waiting, 0);
    checkpoint(&log);
    assert!(log.space().used < full.used / 2);
    assert!(log.try_reserve(5000).unwrap().is_some());
}

#[test]
fn a_caller_waiting_for_space_goes_on_after_a_checkpoint_and_fails_when_the_log_stops() {
    for stop in [false, true] {
        let (log, _) = create(&SimulatedEnv::new());
        fill(&log);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| log.reserve(5000).map(drop));
            while log.space().waiting == 0 {
                std::thread::yield_now();
            }
            assert!(log.try_reserve(1).unwrap().is_none(), "nobody overtakes");
            if stop {
                log.poison("stopped".to_owned());
                assert!(matches!(waiting.join().unwrap(), Err(StorageError::Poisoned { .. })));
            } else {
                checkpoint(&log);
                waiting.join().unwrap().unwrap();
            }
        });
        assert_eq!(log.space().waiting, 0);
    }
}

#[test]
fn reserved_space_suffices_even_for_the_smallest_appends_and_flushes() {
    let env = SimulatedEnv::new();
    let (log, start) = create(&env);
    let files = env.list("wal").unwrap().len();
    env.set_space_limit(Some(env.space_used()));
    let mut groups = Vec::new();
    let mut position = start;
    for _ in 0..50 {
        let mut reservation = match log.try_reserve(3000).unwrap() {
            Some(reservation) => reservation,
            None => {
                position = checkpoint(&log);
                continue;
            }
        };
        for _ in 0..3 {
            let payload = [9; 900];
            let range = log.append(&mut reservation, 3, &[&payload]).unwrap();
            groups.push(Group { range, kind: 3, payload: payload.to_vec() });
        }
        log.wait_durable(log.end()).unwrap();
    }
    assert_eq!(env.list("wal").unwrap().len(), files);
    groups.retain(|group| group.range.start >= position.lsn);
    assert_eq!(read_all(&env, position).unwrap().0, groups);
}

#[test]
fn a_log_that_is_recycled_for_ever_takes_no_more_space_than_at_first() {
    let env = SimulatedEnv::new();
    let (mut log, _) = create(&env);
    env.set_space_limit(Some(env.space_used()));
    for round in 0..30 {
        fill(&log);
        checkpoint(&log);
        let kept = commit(&log, 1, &[round; 10]);
        let position = log.position_of(kept.range.start).unwrap();
        log.truncate_before(position).unwrap();
        if round % 7 == 6 {
            // A restart takes a file for itself; the next checkpoint frees one.
            log.tick().unwrap();
            let (groups, tail) = read_all(&env, position).unwrap();
            assert_eq!(groups, [kept]);
            log = Log::resume(&shared(&env), SMALL, tail).unwrap();
        }
    }
    assert_eq!(env.list("wal").unwrap().len(), 4);
}

#[test]
fn a_log_that_cannot_be_made_for_want_of_space_says_so() {
    let env = SimulatedEnv::new();
    env.set_space_limit(Some(200 << 10));
    let result = Log::create(&shared(&env), SMALL, Lsn(1000));
    assert!(matches!(result.err(), Some(StorageError::DiskFull)));
    env.set_space_limit(None);
    let (log, start) = create(&env);
    let group = commit(&log, 1, b"after all");
    assert_eq!(read_all(&env, start).unwrap().0, [group]);
}

#[test]
fn a_log_filled_beyond_its_limit_grows_and_shrinks_again() {
    let env = SimulatedEnv::new();
    let (log, start) = create(&env);
    let mut groups = Vec::new();
    for i in 0..80 {
        let mut reservation = log.reserve_beyond_limit(8000).unwrap();
        let range = log.append(&mut reservation, 2, &[&[i; 7000]]).unwrap();
        log.wait_durable(range.end).unwrap();
        groups.push(Group { range, kind: 2, payload: vec![i; 7000] });
    }
    assert!(env.list("wal").unwrap().len() > 4);
    assert_eq!(read_all(&env, start).unwrap().0, groups);
    checkpoint(&log);
    assert_eq!(env.list("wal").unwrap().len(), 4);
    fill(&log);
}

#[test]
fn growing_on_a_full_disk_stops_the_log() {
    let env = SimulatedEnv::new();
    let (log, start) = create(&env);
    env.set_space_limit(Some(env.space_used()));
    let mut acknowledged = 0;
    let stopped = loop {
        let mut reservation = log.reserve_beyond_limit(8000).unwrap();
        let range = log.append(&mut reservation, 2, &[&[1; 7000]]).unwrap();
        match log.wait_durable(range.end) {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(&stopped, StorageError::Poisoned { why } if why.contains("space")), "{stopped}");
    env.cut(0);
    assert!(read_all(&env, start).unwrap().0.len() >= acknowledged);
}

#[test]
fn a_restart_with_another_capacity_changes_the_files_as_they_are_recycled() {
    let env = SimulatedEnv::new();
    let (log, start) = create(&env);
    let mut groups: Vec<Group> = (0..15).map(|i| commit(&log, 1, &[i; 9000])).collect();
    let (_, tail) = read_all(&env, start).unwrap();
    let larger = LogOptions { capacity: 2 << 20, ..SMALL };
    let log = Log::resume(&shared(&env), larger, tail).unwrap();
    groups.push(commit(&log, 1, b"in a larger file"));
    assert_eq!(read_all(&env, start).unwrap().0, groups);
    let before = log.position_of(groups[14].range.start).unwrap();
    assert!(before.sequence < 4 && read_all(&env, before).unwrap().0 == groups[14..]);
    log.truncate_before(checkpoint(&log)).unwrap();
    // The log grows beyond its old files, so that larger ones are added. A smaller capacity removes them again.
    drop(reserve(&log, 500_000));
    let grown = total(&env);
    assert!(grown > 4 * (64 << 10) && log.try_reserve(500_000).unwrap().is_some(), "{grown}");
    let (_, tail) = read_all(&env, checkpoint(&log)).unwrap();
    let log = Log::resume(&shared(&env), SMALL, tail).unwrap();
    for _ in 0..3 {
        fill(&log);
        checkpoint(&log);
    }
    assert!(total(&env) < grown && total(&env) < 600_000, "{}", total(&env));
}

/// Returns the bytes of all log files.
fn total(env: &SimulatedEnv) -> u64 {
    let size = |name: &String| env.open(&format!("wal/{name}"), OpenMode::Existing).unwrap().size().unwrap();
    env.list("wal").unwrap().iter().map(size).sum()
}

/// Reserves `bytes`, enlarging the files as needed.
fn reserve(log: &Log, bytes: u64) -> LogReservation {
    while log.grow(bytes).unwrap() {}
    log.try_reserve(bytes).unwrap().unwrap()
}

#[test]
fn a_new_log_is_small_and_grows_to_its_capacity_as_reservations_ask_for_it() {
    let env = SimulatedEnv::new();
    let options = LogOptions { capacity: 64 << 20, ..SMALL };
    let (log, start) = Log::create(&shared(&env), options, Lsn(1000)).unwrap();
    assert_eq!(total(&env), 4 * (256 << 10));
    let mut held = reserve(&log, 20 << 20);
    assert!(total(&env) > 20 << 20 && total(&env) < 40 << 20, "{}", total(&env));
    // Reserved bytes can be written although the disk is full now.
    env.set_space_limit(Some(env.space_used()));
    let mut groups = Vec::new();
    for i in 0..10 {
        let range = log.append(&mut held, 1, &[&vec![i; 2_000_000]]).unwrap();
        log.wait_durable(range.end).unwrap();
        groups.push(Group { range, kind: 1, payload: vec![i; 2_000_000] });
    }
    drop(held);
    assert!(!log.grow(40 << 20).unwrap(), "a full disk is no error");
    assert!(log.space().capacity < 40 << 20, "what is there is what counts");
    assert!(matches!(log.reserve(40 << 20), Err(StorageError::DiskFull)), "it could never be granted");
    assert!(matches!(log.check_disk(40 << 20), Err(StorageError::DiskFull)));
    env.set_space_limit(None);
    assert!(log.grow(40 << 20).unwrap());
    env.cut(3);
    assert!(read_all(&env, start).unwrap().0 == groups);
}

#[test]
fn power_cut_at_every_step_of_growing_leaves_the_log_as_it_was() {
    let options = LogOptions { capacity: 1 << 20, ..SMALL };
    for cut in 0.. {
        let env = SimulatedEnv::new();
        let (log, start) = Log::create(&shared(&env), options, Lsn(1000)).unwrap();
        let mut groups = vec![commit(&log, 1, b"before")];
        env.power_cut_after(cut);
        let grown = (0..3).try_for_each(|_| log.grow(400_000).map(drop));
        if !env.is_off() {
            grown.unwrap();
            assert!(cut > 10);
            break;
        }
        drop(log);
        env.reboot(cut);
        let (read, tail) = read_all(&env, start).unwrap();
        assert_eq!(read, groups);
        let log = Log::resume(&shared(&env), options, tail).unwrap();
        drop(reserve(&log, 400_000));
        groups.push(commit(&log, 1, b"after"));
        assert_eq!(read_all(&env, start).unwrap().0, groups);
    }
}

#[test]
fn age_and_lsn_at_age_agree_with_the_space_a_checkpoint_leaves() {
    let (log, _) = create(&SimulatedEnv::new());
    let first = commit(&log, 1, &[1; 100]);
    for _ in 0..25 {
        commit(&log, 1, &[1; 5000]);
    }
    assert_eq!(log.age(first.range.start), log.space().used);
    assert!(log.age(log.end()) <= 8 << 10);
    let half = log.space().used / 2;
    let lsn = log.lsn_at_age(half);
    let age = log.age(lsn);
    assert!(age <= half && age + (8 << 10) > half - (8 << 10), "{age} of {half}");
    assert_eq!(log.lsn_at_age(u64::MAX), first.range.start);
    assert_eq!(log.lsn_at_age(0), log.end());
}
