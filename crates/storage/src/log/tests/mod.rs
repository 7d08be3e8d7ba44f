//! Tests of the log as a whole, on the simulated device.

mod crash;
mod damage;
mod group_commit;
mod space;

use super::*;
use crate::device::{Env, SimulatedEnv};
use crate::error::{Result, StorageError};
use crate::ids::{Lsn, LsnRange};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

const DATABASE: u64 = 42;
/// Options of the smallest log: 4 files of 64 KiB.
const SMALL: LogOptions = LogOptions { capacity: 0, buffer_bytes: 16 << 10, database_id: DATABASE };

/// A group as it was appended.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Group {
    range: LsnRange,
    kind: u8,
    payload: Vec<u8>,
}

/// Returns the seed of a random test: `LEAFLINE_SEED`, or a fixed one. Prints it, so that the output of a failed test shows it.
fn base_seed() -> u64 {
    let seed = std::env::var("LEAFLINE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("LEAFLINE_SEED={seed}");
    seed
}

/// Returns the factor by which random tests multiply their work.
fn scale() -> u64 {
    std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

fn shared(env: &SimulatedEnv) -> Arc<dyn Env> {
    Arc::new(env.clone())
}

fn create(env: &SimulatedEnv) -> (Log, LogPosition) {
    Log::create(&shared(env), SMALL, Lsn(1000)).unwrap()
}

/// Appends a group under a reservation of its own, for which there is always room.
fn append(log: &Log, kind: u8, payload: &[u8]) -> Result<Group> {
    let reservation = log.reserve_beyond_limit(Log::group_bytes(payload.len()))?;
    append_reserved(log, reservation, kind, payload)
}

fn append_reserved(log: &Log, mut reservation: LogReservation, kind: u8, payload: &[u8]) -> Result<Group> {
    let (one, other) = payload.split_at(payload.len() / 2);
    let range = log.append(&mut reservation, kind, &[one, other])?;
    Ok(Group { range, kind, payload: payload.to_vec() })
}

/// Appends a group and makes it durable.
fn commit(log: &Log, kind: u8, payload: &[u8]) -> Group {
    let group = append(log, kind, payload).unwrap();
    log.wait_durable(group.range.end).unwrap();
    group
}

fn read_all(env: &SimulatedEnv, position: LogPosition) -> Result<(Vec<Group>, LogTail)> {
    let mut reader = LogReader::open(&shared(env), DATABASE, position)?;
    let mut groups = Vec::new();
    while let Some(LogGroup { range, kind, payload }) = reader.next_group()? {
        groups.push(Group { range, kind, payload: payload.to_vec() });
    }
    Ok((groups, reader.finish()?))
}

/// Makes a payload of random size: mostly small, sometimes larger than a file has room for.
fn random_payload(random: &mut SmallRng, largest: usize) -> Vec<u8> {
    let len = match random.random_range(0..20) {
        0 => random.random_range(0..=largest),
        1..5 => random.random_range(0..10_000.min(largest)),
        _ => random.random_range(0..300),
    };
    let first: u8 = random.random();
    (0..len).map(|i| first.wrapping_add((i / 7) as u8)).collect()
}

#[test]
fn groups_come_back_as_they_were_appended_however_they_were_flushed() {
    let seed = base_seed();
    for seed in seed..seed + 5 * scale() {
        let mut random = SmallRng::seed_from_u64(seed);
        let env = SimulatedEnv::new();
        let options = LogOptions { capacity: 16 << 20, buffer_bytes: 1 << 20, database_id: DATABASE };
        let (log, start) = Log::create(&shared(&env), options, Lsn(7)).unwrap();
        let mut groups = Vec::new();
        for _ in 0..200 {
            let payload = random_payload(&mut random, 300_000);
            let group = append(&log, random.random(), &payload).unwrap();
            match random.random_range(0..4) {
                0 => log.wait_durable(group.range.end).unwrap(),
                1 => log.commit(group.range.end, FlushPolicy::WriteEachCommit).unwrap(),
                _ => {}
            }
            groups.push(group);
        }
        log.tick().unwrap();
        assert_eq!(log.durable(), log.end());
        let mut lsn = Lsn(7);
        for group in &groups {
            assert_eq!(group.range.start, lsn, "groups follow each other");
            assert_eq!(group.range.end.0 - lsn.0, Log::group_bytes(group.payload.len()));
            lsn = group.range.end;
        }
        let (read, tail) = read_all(&env, start).unwrap();
        assert!(read == groups, "seed {seed}");
        assert_eq!(tail.end, log.end());
        for first in [1, 50, 199] {
            let position = log.position_of(groups[first].range.start).unwrap();
            assert!(read_all(&env, position).unwrap().0 == groups[first..], "seed {seed} from {first}");
        }
        assert!(read_all(&env, log.position_of(log.end()).unwrap()).unwrap().0.is_empty());
    }
}

#[test]
fn large_flushes_are_compressed_where_that_saves_something_and_read_from_anywhere() {
    let seed = base_seed();
    let mut random = SmallRng::seed_from_u64(seed);
    for alike in [true, false] {
        let env = SimulatedEnv::new();
        let options = LogOptions { capacity: 16 << 20, buffer_bytes: 1 << 20, database_id: DATABASE };
        let (log, start) = Log::create(&shared(&env), options, Lsn(7)).unwrap();
        let mut bytes = 0;
        // Some flushes take several batches and cross the ends of files; others are small.
        let groups: Vec<Group> = (0..20u8)
            .map(|i| {
                let mut payload = vec![i; random.random_range(1..1_500_000) >> (i % 3 * 8)];
                if !alike {
                    random.fill(&mut payload[..]);
                }
                bytes += payload.len() as u64;
                commit(&log, i, &payload)
            })
            .collect();
        let written = log.counts().bytes;
        assert!(
            if alike { written < bytes / 10 } else { written > bytes },
            "seed {seed}: {written} of {bytes}"
        );
        let (read, tail) = read_all(&env, start).unwrap();
        assert!(read == groups && tail.end == log.end(), "seed {seed}");
        for first in 1..groups.len() {
            let position = log.position_of(groups[first].range.start).unwrap();
            assert!(read_all(&env, position).unwrap().0 == groups[first..], "seed {seed} from {first}");
        }
    }
}

#[test]
fn a_group_larger_than_the_limit_is_refused() {
    let (log, _) = create(&SimulatedEnv::new());
    append(&log, 1, &vec![1; log.max_payload()]).unwrap();
    let mut reservation = log.reserve(100).unwrap();
    let result = log.append(&mut reservation, 1, &[&vec![1; log.max_payload() + 1]]);
    assert!(matches!(result, Err(StorageError::TooLarge { .. })));
    assert!(matches!(log.reserve(1 << 30), Err(StorageError::TooLarge { .. })));
}

#[test]
fn an_lsn_that_was_never_given_out_is_an_error_and_not_a_wait_for_ever() {
    let (log, _) = create(&SimulatedEnv::new());
    let beyond = log.end().plus(1);
    assert!(matches!(log.wait_durable(beyond), Err(StorageError::LogDamaged { .. })));
    let policy = FlushPolicy::WriteEachCommit;
    assert!(matches!(log.commit(beyond, policy), Err(StorageError::LogDamaged { .. })));
}

#[test]
fn the_log_of_another_database_is_refused() {
    let env = SimulatedEnv::new();
    let (_, position) = create(&env);
    let result = LogReader::open(&shared(&env), DATABASE + 1, position);
    assert!(matches!(result.err(), Some(StorageError::Format { .. })));
}
