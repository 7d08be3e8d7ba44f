//! Rot in the files is reported, and never taken for the end of the log.

use super::*;
use crate::device::{BLOCK, OpenMode};

/// Makes a log over three files whose flushes were all synced, and crashes it. Returns its groups.
fn synced_log() -> (SimulatedEnv, LogPosition, Vec<Group>) {
    let env = SimulatedEnv::new();
    let (log, start) = create(&env);
    let groups = (0..30).map(|i| commit(&log, 1, &vec![i; if i % 5 == 0 { 9000 } else { 100 }])).collect();
    assert_eq!(log.position_of(log.end()).unwrap().sequence, 3);
    drop(log);
    env.cut(0);
    (env, start, groups)
}

fn flip(env: &SimulatedEnv, sequence: u64, offset: u64) {
    env.damage(&files::name(sequence), offset, &mut |bytes| bytes[0] ^= 1).unwrap();
}

fn is_damage(env: &SimulatedEnv, position: LogPosition) -> bool {
    matches!(read_all(env, position), Err(StorageError::LogDamaged { .. }))
}

/// Returns the offsets of the batches in a file.
fn batches(env: &SimulatedEnv, sequence: u64) -> Vec<u64> {
    let file = env.open(&files::name(sequence), OpenMode::Existing).unwrap();
    let mut bytes = crate::device::AlignedBuf::zeroed(file.size().unwrap() as usize);
    file.read_at(&mut bytes, 0).unwrap();
    let mut offsets = Vec::new();
    let mut at = BLOCK;
    while let Some(header) = bytes.get(at..).and_then(format::BatchHeader::decode) {
        offsets.push(at as u64);
        at += header.size();
    }
    offsets
}

#[test]
fn a_flipped_bit_in_any_batch_but_the_last_is_damage() {
    let (env, start, groups) = synced_log();
    assert_eq!(read_all(&env, start).unwrap().0, groups);
    let all: Vec<(u64, u64)> =
        (1..=3).flat_map(|s| batches(&env, s).into_iter().map(move |at| (s, at))).collect();
    let (last, earlier) = all.split_last().unwrap();
    for (sequence, offset) in earlier {
        for byte in [0, 5, 30, 60] {
            let copy = env.snapshot();
            flip(&copy, *sequence, offset + byte);
            assert!(is_damage(&copy, start), "wal/{sequence}.log, {offset} + {byte}");
        }
    }
    // Nothing shows that the last batch was ever acknowledged.
    flip(&env, last.0, last.1 + 60);
    assert_eq!(read_all(&env, start).unwrap().0, groups[..groups.len() - 1]);
}

#[test]
fn a_damaged_file_header_is_damage_be_it_first_middle_or_last() {
    let (env, start, _) = synced_log();
    for sequence in 1..=3 {
        let copy = env.snapshot();
        flip(&copy, sequence, 20);
        assert!(is_damage(&copy, start), "wal/{sequence}.log");
    }
}

#[test]
fn a_missing_file_in_the_middle_is_damage() {
    let (env, start, _) = synced_log();
    env.remove("wal/2.log").unwrap();
    assert!(is_damage(&env, start));
}

#[test]
fn a_missing_file_at_the_end_is_damage_whether_it_was_in_use_or_the_successor_of_one_that_was() {
    let (env, start, groups) = synced_log();
    for missing in [&[3][..], &[4], &[3, 4], &[2, 3, 4]] {
        let copy = env.snapshot();
        missing.iter().for_each(|sequence| copy.remove(&files::name(*sequence)).unwrap());
        assert!(is_damage(&copy, start), "without {missing:?}");
    }
    env.remove("wal/1.log").unwrap();
    assert!(is_damage(&env, start));
    assert!(groups.len() > 3);
}

#[test]
fn a_file_that_is_cut_short_is_damage_unless_it_is_a_spare_behind_the_successor() {
    let (env, start, groups) = synced_log();
    let block = BLOCK as u64;
    for sequence in 1..=4 {
        for size in [0, block, 5 * block, (64 << 10) - block] {
            let copy = env.snapshot();
            let file = copy.open(&files::name(sequence), OpenMode::Existing).unwrap();
            file.truncate(size).unwrap();
            assert!(is_damage(&copy, start), "wal/{sequence}.log of {size} bytes");
        }
    }
    let (_, tail) = read_all(&env, start).unwrap();
    let log = Log::resume(&shared(&env), LogOptions { capacity: 1 << 20, ..SMALL }, tail).unwrap();
    while log.grow(100_000).unwrap() {}
    drop(log);
    let last = env.list("wal").unwrap().len() as u64;
    assert!(last > 5);
    env.open(&files::name(last), OpenMode::Existing).unwrap().truncate(block).unwrap();
    let (read, tail) = read_all(&env, start).unwrap();
    assert_eq!(read, groups);
    Log::resume(&shared(&env), SMALL, tail).unwrap();
}

#[test]
fn a_log_that_ends_before_the_checkpoint_is_damage() {
    let env = SimulatedEnv::new();
    let options = LogOptions { capacity: 256 << 20, ..SMALL };
    let (log, start) = Log::create(&shared(&env), options, Lsn(1000)).unwrap();
    commit(&log, 1, b"one");
    let last = commit(&log, 1, b"two");
    let position = log.position_of(last.range.end).unwrap();
    assert_eq!((position.sequence, position.offset), (start.sequence, start.offset));
    flip(&env, 1, 2 * BLOCK as u64 + 50);
    assert_eq!(read_all(&env, start).unwrap().0.len(), 1, "without the checkpoint it would be the tail");
    assert!(is_damage(&env, position));
}

#[test]
fn a_checkpoint_whose_batch_is_gone_is_damage() {
    let env = SimulatedEnv::new();
    let (log, _) = create(&env);
    commit(&log, 1, b"one");
    let last = commit(&log, 1, b"two");
    let position = log.position_of(last.range.end).unwrap();
    assert_eq!(position.offset, 2 * BLOCK as u64);
    flip(&env, 1, position.offset);
    assert!(is_damage(&env, position));
    assert!(is_damage(&env, LogPosition { offset: 1 << 40, ..position }));
    assert!(is_damage(&env, LogPosition { offset: position.offset + 1, ..position }));
}

/// Rewrites the first batch of a file with other contents and a checksum that fits them.
fn forge(env: &SimulatedEnv, change: &mut dyn FnMut(&mut format::BatchHeader, &mut [u8])) {
    env.damage("wal/1.log", BLOCK as u64, &mut |batch| {
        let mut header = format::BatchHeader::decode(batch).unwrap();
        change(&mut header, batch);
        header.seal(batch);
    })
    .unwrap();
}

#[test]
fn a_batch_is_refused_unless_salt_chain_and_file_are_the_right_ones() {
    let env = SimulatedEnv::new();
    let (log, start) = create(&env);
    commit(&log, 1, b"one");
    let read = |env: &SimulatedEnv| read_all(env, start).map(|(groups, _)| groups.len());
    let copy = env.snapshot();
    forge(&copy, &mut |_, _| {});
    assert_eq!(read(&copy).unwrap(), 1);
    type Change = fn(&mut format::BatchHeader);
    let changes: [Change; 4] =
        [|h| h.salt ^= 1, |h| h.sequence += 1, |h| h.previous ^= 1, |h| h.start = h.start.plus(1)];
    for (number, change) in changes.iter().enumerate() {
        let copy = env.snapshot();
        forge(&copy, &mut |header, _| change(header));
        assert_eq!(read(&copy).unwrap(), 0, "change {number}");
    }
    // Another payload under a fitting checksum breaks the chain to the batch that follows.
    commit(&log, 1, b"two");
    forge(&env, &mut |_, batch| batch[format::BATCH_HEADER + 6] ^= 1);
    assert_eq!(read(&env).unwrap(), 1);
    commit(&log, 1, b"three");
    assert!(is_damage(&env, start), "for the third says that the second was durable");
}

#[test]
fn a_batch_that_cannot_be_decompressed_is_damage_even_with_a_right_checksum() {
    let env = SimulatedEnv::new();
    let (log, start) = create(&env);
    let group = commit(&log, 1, &[7; 25_000]);
    drop(log);
    forge(&env, &mut |header, _| assert!(header.payload < 1000 && header.compressed.is_some()));
    assert_eq!(read_all(&env, start).unwrap().0, [group]);
    for change in 0..3 {
        let copy = env.snapshot();
        forge(&copy, &mut |header, batch| match change {
            0 => header.compressed = header.compressed.map(|bytes| bytes - 1),
            1 => header.compressed = header.compressed.map(|bytes| bytes + 1),
            _ => batch[header.content()].fill(0xff),
        });
        assert!(is_damage(&copy, start), "change {change}");
    }
}

#[test]
fn a_read_error_is_an_error_and_not_the_end() {
    let (env, start, _) = synced_log();
    env.set_fault(Some(Arc::new(|operation, name, offset| {
        operation == crate::device::Operation::Read && name == "wal/2.log" && offset > 0
    })));
    assert!(matches!(read_all(&env, start), Err(StorageError::Io { op: "read", .. })));
}

#[test]
fn any_bytes_in_place_of_the_log_are_refused_or_read_without_panic() {
    let seed = base_seed();
    let (env, start, groups) = synced_log();
    for seed in seed..seed + 200 * scale() {
        let copy = env.snapshot();
        let mut random = SmallRng::seed_from_u64(seed);
        for _ in 0..random.random_range(1..6) {
            let (sequence, block) = (random.random_range(1..=3), random.random_range(0..16));
            copy.damage(&files::name(sequence), block * BLOCK as u64, &mut |bytes| {
                let from = random.random_range(0..bytes.len());
                let to = random.random_range(from..bytes.len().min(from + 100));
                random.fill(&mut bytes[from..to]);
            })
            .unwrap();
        }
        if let Ok((read, _)) = read_all(&copy, start) {
            assert!(groups.starts_with(&read), "seed {seed}");
        }
    }
}
