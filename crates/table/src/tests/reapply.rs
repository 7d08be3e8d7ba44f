//! Applying commits again. For any commits that do not conflict, with any part of each applied, in any order,
//! once or twice, the trees end as if each commit had been applied once.

use crate::catalog::TableId;
use crate::change_buffer::ChangeBuffer;
use crate::mvcc::clock::Clock;
use crate::mvcc::history_memory::HistoryMemory;
use crate::mvcc::versions::VersionStore;
use crate::op::{CommitRecord, Op};
use crate::op_run::{OpRun, RunPosition};
use crate::options::ChangeBuffering;
use crate::quarantine::Quarantine;
use crate::testing::{scale, seed};
use crate::trees::create_tree;
use crate::txn::apply::{Applier, reapply};
use crate::txn::large::finish_commit_by_reference;
use crate::txn::recovery::finish_commit;
use leafline_btree::{CommitTs, Direction, LeafFormat, LeafStep, Tree, TreeRedo};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, HandlerId, LogicalReplay, LsnRange, ReplayError, SegmentId, Store};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

struct Ignore;

impl LogicalReplay for Ignore {
    fn checkpoint(&mut self, _: &[u8]) -> Result<(), ReplayError> {
        Ok(())
    }

    fn record(&mut self, _: LsnRange, _: u8, _: &[u8]) -> Result<(), ReplayError> {
        Ok(())
    }
}

type Entries = BTreeMap<Vec<u8>, (Vec<u8>, CommitTs)>;

/// Live entries, with their timestamps.
fn entries(tree: &Tree, seed: u64) -> Entries {
    let verified = tree.verify();
    assert!(verified.is_ok(), "seed {seed}: {verified:?}");
    let mut found = Entries::new();
    let mut cursor = tree.cursor();
    cursor.seek(&[]);
    while cursor
        .visit_leaf(Direction::Forward, |leaf, slots| {
            for slot in slots {
                let (mut key, entry) = (Vec::new(), leaf.entry(slot));
                leaf.key_into(slot, &mut key);
                if !entry.is_ghost() {
                    found.insert(key, (entry.payload.to_vec(), entry.commit_ts));
                }
            }
            LeafStep::NextLeaf
        })
        .unwrap()
    {}
    found
}

/// Applies operations to two trees, of which the second is `bufferable`.
struct Applying<'a> {
    store: &'a Store,
    versions: &'a VersionStore,
    change_buffer: &'a ChangeBuffer,
    bufferable: BTreeSet<SegmentId>,
}

impl Applying<'_> {
    fn apply(&self, tree: &Tree, op: &Op, ts: CommitTs) {
        let Applying { store, versions, change_buffer, bufferable } = self;
        let applier = Applier { versions, change_buffer, bufferable, purge_before: CommitTs(0) };
        let (pages, log) = change_buffer.worst_case(tree, op);
        let mut reservation = store.reserve(pages, log).unwrap();
        applier.apply(tree, std::slice::from_ref(op), ts, &mut reservation).unwrap();
    }
}

/// Finishes a commit by reference. Its operations are in a file, and some of them are applied, as far as the
/// last progress record says.
fn finish_from_anywhere(
    (store, change_buffer): (&Store, &ChangeBuffer),
    (env, file): (Arc<SimulatedEnv>, u64),
    [rows, index]: [&Tree; 2],
    commit: &CommitRecord,
    clock: &Clock,
    random: &mut SmallRng,
) {
    let tree_of = |op: &Op| if op.tree() == rows.id() { rows } else { index };
    let mut ops = commit.ops.clone();
    ops.sort_by(|a, b| (a.tree(), a.key()).cmp(&(b.tree(), b.key())));
    let env = env as Arc<dyn Env>;
    let mut writer = OpRun::create(&env, file).unwrap();
    let (mut key, mut entry) = (Vec::new(), Vec::new());
    for op in &ops {
        op.to_entry(&mut key, &mut entry);
        writer.push(&key, &entry).unwrap();
    }
    let run = OpRun::new(writer.finish().unwrap(), file);
    let done = random.random_range(0..=ops.len());
    for op in &ops[..done] {
        let tree = tree_of(op);
        let (pages, log) = change_buffer.worst_case(tree, op);
        let mut reservation = store.reserve(pages, log).unwrap();
        reapply(change_buffer, tree, op, commit.ts, &mut reservation).unwrap();
    }
    let from = RunPosition { block: 0, entries: done as u32 };
    let mut found = |op: &Op| Ok(Some(tree_of(op).clone()));
    let piece = random.random_range(0..2000);
    let quarantine = &mut Quarantine::load(&env, None).unwrap();
    finish_commit_by_reference(
        store,
        clock,
        change_buffer,
        &run,
        commit.ts,
        from,
        piece,
        quarantine,
        &mut found,
    )
    .unwrap();
    assert!(quarantine.get(rows.id()).is_none() && quarantine.get(index.id()).is_none());
}

fn open_buffer(env: &Arc<dyn Env>, store: &Store, buffering: bool) -> Arc<ChangeBuffer> {
    let catalog = create_tree(store, LeafFormat::Plain).unwrap();
    let (buffer, _) = ChangeBuffer::open(store, &catalog, &Quarantine::load(env, None).unwrap()).unwrap();
    if buffering {
        buffer.set_limits(1 << 20, 1 << 20);
        buffer.set_mode(ChangeBuffering::All);
        buffer.set_forced(true);
        buffer.prepare().unwrap();
    }
    buffer
}

fn run(seed: u64, buffering: bool) {
    let mut random = SmallRng::seed_from_u64(seed);
    let env = Arc::new(SimulatedEnv::new());
    let handlers: Vec<(HandlerId, Arc<dyn leafline_storage::RedoHandler>)> =
        vec![(HandlerId::BTREE, Arc::new(TreeRedo))];
    let store = Store::open(env.clone(), crate::testing::options().store, handlers, &mut Ignore).unwrap();
    let memory = Arc::new(HistoryMemory::new(None, 1 << 20));
    let versions = VersionStore::new(&(env.clone() as Arc<dyn Env>), &memory);
    let (rows, index) =
        (create_tree(&store, LeafFormat::Plain).unwrap(), create_tree(&store, LeafFormat::Packed).unwrap());
    let change_buffer = open_buffer(&(env.clone() as Arc<dyn Env>), &store, buffering);
    let bufferable = if buffering { BTreeSet::from([index.id()]) } else { BTreeSet::new() };
    let applying = Applying { store: &store, versions: &versions, change_buffer: &change_buffer, bufferable };
    let table = TableId(9);
    let key = |number: u32| number.to_be_bytes().to_vec();
    let payload = |random: &mut SmallRng| vec![random.random(); random.random_range(0..400)];

    // The initial contents: some rows and entries, some of them ghosts.
    for number in 0..60 {
        for tree in [&rows, &index] {
            let op = Op::PutEntry { tree: tree.id(), key: key(number), payload: payload(&mut random) };
            applying.apply(tree, &op, CommitTs(1));
            if random.random_range(0..4) == 0 {
                let op = Op::DropEntry { tree: tree.id(), key: key(number) };
                applying.apply(tree, &op, CommitTs(2));
            }
        }
    }
    let mut expected = [entries(&rows, seed), entries(&index, seed)];

    // Commits with disjoint keys.
    let mut free: Vec<(bool, u32)> = (0..100).flat_map(|number| [(true, number), (false, number)]).collect();
    free.shuffle(&mut random);
    let mut commits = Vec::new();
    for number in 0..5 {
        let ts = CommitTs(10 + number);
        let mut ops = Vec::new();
        for (is_row, number) in free.drain(..random.random_range(1..40).min(free.len())) {
            let tree = if is_row { rows.id() } else { index.id() };
            let there = &mut expected[usize::from(!is_row)];
            let key = key(number);
            if there.contains_key(&key) && random.random() {
                there.remove(&key);
                ops.push(match is_row {
                    true => Op::DeleteRow { table, tree, key },
                    false => Op::DropEntry { tree, key },
                });
            } else {
                let payload = payload(&mut random);
                there.insert(key.clone(), (payload.clone(), ts));
                ops.push(match is_row {
                    true => Op::PutRow { table, tree, key, payload },
                    false => Op::PutEntry { tree, key, payload },
                });
            }
        }
        commits.push(CommitRecord { ts, ops, ..CommitRecord::default() });
    }

    // Any part of each is on the pages, in any order.
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for (number, commit) in commits.iter().enumerate() {
        let share = random.random_range(0..=100);
        let chosen = (0..commit.ops.len()).filter(|_| random.random_range(0..100) < share);
        parts.extend(chosen.map(|op| (number, op)));
    }
    parts.shuffle(&mut random);
    for (number, op) in parts {
        let (commit, tree) =
            (&commits[number], if commits[number].ops[op].tree() == rows.id() { &rows } else { &index });
        applying.apply(tree, &commit.ops[op], commit.ts);
    }
    // Some commits are finished twice.
    let mut order: Vec<usize> =
        (0..commits.len()).chain((0..commits.len()).filter(|_| random.random())).collect();
    order.shuffle(&mut random);
    let finished: BTreeSet<usize> = order.iter().copied().collect();
    assert_eq!(finished.len(), commits.len());
    let clock = Arc::new(Clock::new(CommitTs(100)));
    for (turn, number) in order.into_iter().enumerate() {
        if random.random() {
            let commit = &commits[number];
            finish_from_anywhere(
                (&store, &change_buffer),
                (env.clone(), turn as u64),
                [&rows, &index],
                commit,
                &clock,
                &mut random,
            );
            continue;
        }
        let quarantine = &mut Quarantine::load(&(env.clone() as Arc<dyn Env>), None).unwrap();
        finish_commit(&store, &change_buffer, commits[number].ts, &commits[number].ops, quarantine).unwrap();
    }
    assert_eq!([entries(&rows, seed), entries(&index, seed)], expected, "seed {seed}");
    assert_eq!(change_buffer.stats().buffered > 0, buffering, "seed {seed}");
}

#[test]
fn any_part_applied_and_applied_again_is_all_applied_once() {
    let first = seed();
    for round in 0..8 * scale() {
        run(first.wrapping_add(round), false);
    }
}

#[test]
fn commits_can_be_applied_again_when_changes_are_buffered() {
    let first = seed();
    for round in 0..8 * scale() {
        run(first.wrapping_add(round), true);
    }
}
