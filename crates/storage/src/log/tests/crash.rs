//! Power cuts: the log that is read back is a prefix of the one that was appended, and contains everything acknowledged.

use super::*;
use crate::device::{BLOCK, OpenMode};

/// The knowledge of a test that survives crashes, in place of the control file and the clients.
#[derive(Default)]
struct Memory {
    /// The last checkpoint. The tests assume that it is durable.
    position: Option<LogPosition>,
    /// The groups that were appended, as far as they may still be there.
    groups: Vec<Group>,
    /// Everything below this was acknowledged.
    acknowledged: Lsn,
}

impl Memory {
    /// Opens or makes the log, checks the groups that are read back, and works with it until the power goes or `steps` are done.
    fn live(&mut self, env: &SimulatedEnv, random: &mut SmallRng, steps: usize) -> Result<()> {
        let log = match self.position {
            None => {
                let (log, position) = Log::create(&shared(env), SMALL, Lsn(1000))?;
                self.position = Some(position);
                log
            }
            Some(position) => {
                let tail = self.check(env, position)?;
                Log::resume(&shared(env), SMALL, tail)?
            }
        };
        self.acknowledged = log.durable();
        for _ in 0..steps {
            self.step(&log, random)?;
        }
        Ok(())
    }

    fn check(&mut self, env: &SimulatedEnv, position: LogPosition) -> Result<LogTail> {
        let (read, tail) = read_all(env, position)?;
        let first = self.groups.iter().position(|group| group.range.start >= position.lsn);
        let first = first.unwrap_or(self.groups.len());
        assert!(self.groups[first..].starts_with(&read), "what is read back was appended");
        assert!(tail.end >= self.acknowledged, "{} is missing before {}", tail.end, self.acknowledged);
        self.groups.truncate(first + read.len());
        Ok(tail)
    }

    fn step(&mut self, log: &Log, random: &mut SmallRng) -> Result<()> {
        let payload = random_payload(random, log.max_payload());
        let bytes = Log::group_bytes(payload.len());
        let mut reservation = loop {
            match log.try_reserve(bytes)? {
                Some(reservation) => break reservation,
                None => self.checkpoint(log, log.end())?,
            }
        };
        let kind = random.random();
        let range = log.append(&mut reservation, kind, &[&payload])?;
        drop(reservation);
        self.groups.push(Group { range, kind, payload });
        match random.random_range(0..8) {
            0..3 => {
                log.wait_durable(range.end)?;
                self.acknowledged = range.end;
            }
            3 => log.commit(range.end, FlushPolicy::WriteEachCommit)?,
            4 => {
                log.tick()?;
                self.acknowledged = range.end;
            }
            5 => log.throttle()?,
            6 if random.random_range(0..4) == 0 => {
                let oldest = self.position.map_or(Lsn::ZERO, |position| position.lsn);
                let recent = self.groups.len().saturating_sub(random.random_range(1..10));
                let redo = self.groups[recent].range.start;
                self.checkpoint(log, redo.max(oldest))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn checkpoint(&mut self, log: &Log, redo: Lsn) -> Result<()> {
        let position = log.position_of(redo)?;
        self.acknowledged = self.acknowledged.max(redo);
        self.position = Some(position);
        log.truncate_before(position)
    }
}

/// Works until the power goes. Any other end is a failure of the test.
fn live_until_cut(memory: &mut Memory, env: &SimulatedEnv, random: &mut SmallRng, steps: usize) {
    if let Err(error) = memory.live(env, random, steps) {
        assert!(env.is_off(), "{error}");
    }
}

#[test]
fn after_a_power_cut_at_any_operation_the_log_is_a_prefix_with_all_that_was_acknowledged() {
    let seed = base_seed();
    for seed in seed..seed + 3 * scale() {
        let env = SimulatedEnv::new();
        Memory::default().live(&env, &mut SmallRng::seed_from_u64(seed), 60).unwrap();
        let operations = env.counts().changes();
        for cut in 0..=operations {
            let env = SimulatedEnv::new();
            let mut memory = Memory::default();
            env.power_cut_after(cut);
            live_until_cut(&mut memory, &env, &mut SmallRng::seed_from_u64(seed), 60);
            // The power goes in recovery, and in the work after it.
            let mut random = SmallRng::seed_from_u64(seed ^ cut << 32);
            for _ in 0..3 {
                env.reboot(random.random());
                env.power_cut_after(random.random_range(0..40));
                live_until_cut(&mut memory, &env, &mut random, 20);
            }
            env.reboot(random.random());
            if let Err(error) = memory.live(&env, &mut random, 0) {
                panic!("seed {seed}, cut at {cut}: {error}");
            }
        }
    }
}

#[test]
fn records_that_recovery_has_read_survive_a_power_cut_after_the_death_of_the_process() {
    for seed in 0..40 {
        let env = SimulatedEnv::new();
        let (log, start) = create(&env);
        let first = commit(&log, 1, b"synced");
        let second = append(&log, 2, b"written").unwrap();
        log.commit(second.range.end, FlushPolicy::WriteEachCommit).unwrap();
        // The process dies while the device still holds the second group in its cache.
        drop(log);
        let (groups, tail) = read_all(&env, start).unwrap();
        assert_eq!(groups, [first.clone(), second.clone()]);
        let third = commit(&Log::resume(&shared(&env), SMALL, tail).unwrap(), 3, b"after");
        env.cut(seed);
        assert_eq!(read_all(&env, start).unwrap().0, [first, second, third]);
    }
}

/// Reads a block of a log file.
fn block(env: &SimulatedEnv, sequence: u64, number: u64) -> Vec<u8> {
    let file = env.open(&files::name(sequence), OpenMode::Existing).unwrap();
    let mut block = crate::device::AlignedBuf::zeroed(BLOCK);
    file.read_at(&mut block, number * BLOCK as u64).unwrap();
    block.to_vec()
}

#[test]
fn a_block_of_an_unfinished_write_is_never_taken_for_one_of_the_log_that_follows() {
    let mut seen = 0;
    for seed in 0..200 {
        let env = SimulatedEnv::new();
        let (log, start) = create(&env);
        let first = commit(&log, 1, b"acknowledged");
        for payload in [b"lost one", b"kept one"] {
            let group = append(&log, 2, payload).unwrap();
            log.commit(group.range.end, FlushPolicy::WriteEachCommit).unwrap();
        }
        drop(log);
        let stale = block(&env, 1, 3);
        env.cut(seed);
        // The scenario needs that only the second of two writes has reached the disk.
        let (groups, tail) = read_all(&env, start).unwrap();
        if groups.len() > 1 || block(&env, 1, 3) != stale {
            continue;
        }
        seen += 1;
        assert_eq!(groups, std::slice::from_ref(&first));
        let log = Log::resume(&shared(&env), SMALL, tail).unwrap();
        let next = commit(&log, 2, b"new here");
        drop(log);
        env.cut(seed);
        assert_eq!(read_all(&env, start).unwrap().0, [first.clone(), next.clone()], "in a file of its own");

        // The stale block is also refused where it lies exactly where the new log goes on, at the same LSN.
        env.damage("wal/2.log", 2 * BLOCK as u64, &mut |bytes| bytes.copy_from_slice(&stale)).unwrap();
        assert_eq!(read_all(&env, start).unwrap().0, [first, next]);
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn part_of_a_group_at_the_end_is_dropped_and_the_log_goes_on_after_the_last_whole_one() {
    let mut dropped = 0;
    for seed in 0..200 {
        let env = SimulatedEnv::new();
        let (log, start) = create(&env);
        let mut groups = vec![commit(&log, 1, b"whole")];
        // The write crosses the end of the first file. The part in that file is synced, the rest is not.
        let large = append(&log, 2, &vec![7; log.max_payload()]).unwrap();
        let rest = append(&log, 2, &vec![8; log.max_payload()]).unwrap();
        log.commit(rest.range.end, FlushPolicy::WriteEachCommit).unwrap();
        drop(log);
        env.cut(seed);
        let (read, tail) = read_all(&env, start).unwrap();
        groups.extend([large, rest]);
        assert!(groups.starts_with(&read));
        groups.truncate(read.len());
        dropped += u32::from(read.len() < 3);
        let log = Log::resume(&shared(&env), SMALL, tail).unwrap();
        groups.push(commit(&log, 3, b"after recovery"));
        drop(log);
        env.cut(seed);
        let (read, tail) = read_all(&env, start).unwrap();
        assert_eq!(read, groups);
        let log = Log::resume(&shared(&env), SMALL, tail).unwrap();
        groups.push(commit(&log, 4, b"after another"));
        assert_eq!(read_all(&env, start).unwrap().0, groups);
    }
    assert!(dropped > 20, "{dropped}");
}
