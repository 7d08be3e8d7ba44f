//! Measures the processor time of the basic operations of a tree in memory.
//!
//! `cargo run --release -p leafline-btree --example speed [entries]`

use std::hint::black_box;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use leafline_btree::{
    BtreeError, BulkBuilder, Change, CommitTs, Direction, LeafFormat, LeafStep, Tree, TreeRedo,
};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{HandlerId, NoReplay, SegmentState, Store, StoreOptions};

fn main() -> Result<(), BtreeError> {
    let entries: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2_000_000);
    let options = StoreOptions {
        buffer_pool_bytes: 2 << 30,
        log_capacity_bytes: 1 << 30,
        background: false,
        ..StoreOptions::default()
    };
    let env = Arc::new(SimulatedEnv::new());
    let store = Store::open(env, options, vec![(HandlerId::BTREE, Arc::new(TreeRedo))], &mut NoReplay)?;
    let payload = [7u8; 40];
    let key = |n: u64| n.to_be_bytes();
    // Returns every number below `entries` once, in an order without a pattern.
    let shuffled = |n: u64| (n * 0x9E37_79B9_7F4A_7C15 % (1 << 62)) % entries;

    let mut reservation = store.reserve(2, 64 << 10)?;
    let segment = store.create_segment(&mut reservation)?;
    drop(reservation);
    let mut builder = BulkBuilder::new(&store, segment, 100, LeafFormat::Plain)?;
    let start = cpu_time();
    for n in 0..entries {
        builder.push(&key(n), &payload)?;
    }
    let tree = builder.finish()?;
    report("bulk build", cpu_time() - start, entries);
    store.set_segment_state(&mut store.reserve(0, 4096)?, segment, SegmentState::Live)?;
    let found = tree.verify()?;
    println!(
        "{entries} entries, {} leaves, {} levels, filled {:.0}%",
        found.leaves,
        found.levels,
        found.fill * 100.0
    );

    // Bring the tree into the pool.
    scan(&tree, Direction::Forward, &mut |_, _| {})?;
    let mut sum = 0u64;
    let start = cpu_time();
    for n in 0..entries {
        sum += tree.get(&key(shuffled(n)), |entry| entry.map_or(0, |entry| u64::from(entry.payload[0])))?;
    }
    report("get, random", cpu_time() - start, entries);
    let start = cpu_time();
    for n in 0..entries {
        sum += tree.get(&key(n), |entry| entry.map_or(0, |entry| u64::from(entry.payload[0])))?;
    }
    report("get, in order", cpu_time() - start, entries);
    assert_eq!(sum, 2 * entries * 7);

    for direction in [Direction::Forward, Direction::Reverse] {
        let start = cpu_time();
        let mut bytes = 0;
        scan(&tree, direction, &mut |suffix, payload| bytes += suffix.len() + payload.len())?;
        report(&format!("scan, {direction:?}"), cpu_time() - start, entries);
        black_box(bytes);
    }
    let start = cpu_time();
    let mut cursor = tree.cursor();
    let mut visits = 0u64;
    while cursor.visit_leaf(Direction::Forward, |leaf, range| {
        visits += 1;
        black_box(leaf.entry(range.start));
        if range.len() > 10 { LeafStep::StayAt(range.start + 10) } else { LeafStep::NextLeaf }
    })? {}
    report("visit that stays in the leaf", cpu_time() - start, visits);

    changes(&store, entries, &payload, "in order", &|n| n)?;
    changes(&store, entries, &payload, "random", &shuffled)?;
    Ok(())
}

fn scan(tree: &Tree, direction: Direction, f: &mut impl FnMut(&[u8], &[u8])) -> Result<(), BtreeError> {
    let mut cursor = tree.cursor();
    if direction == Direction::Reverse {
        cursor.seek_before(None);
    }
    while cursor.visit_leaf(direction, |leaf, range| {
        let visit = |slot| {
            let cell = leaf.cell(slot);
            f(cell.suffix, cell.entry.payload);
        };
        match direction {
            Direction::Forward => range.for_each(visit),
            Direction::Reverse => range.rev().for_each(visit),
        }
        LeafStep::NextLeaf
    })? {}
    Ok(())
}

fn changes(
    store: &Store,
    entries: u64,
    payload: &[u8],
    name: &str,
    order: &dyn Fn(u64) -> u64,
) -> Result<(), BtreeError> {
    let mut reservation = store.reserve(2, 64 << 10)?;
    let segment = store.create_segment(&mut reservation)?;
    let tree = Tree::create(store, &mut reservation, segment, LeafFormat::Plain)?;
    drop(reservation);
    let (pages, log) = (tree.worst_case_pages(), tree.worst_case_log(8, payload.len()));
    for (what, byte) in [("insert", 0u8), ("update", 1)] {
        let start = cpu_time();
        for n in 0..entries {
            let mut payload = payload.to_vec();
            payload[20] = byte;
            let change = Change::Put { payload: payload.into(), ts: CommitTs(n + 1), has_previous: false };
            let mut reservation = store.reserve(pages, log)?;
            tree.modify(&mut reservation, &order(n).to_be_bytes(), CommitTs(0), &mut |_| change.clone())?;
        }
        report(&format!("{what}, {name}"), cpu_time() - start, entries);
    }
    let found = tree.verify()?;
    println!("  {} leaves, filled {:.0}%", found.leaves, found.fill * 100.0);
    Ok(())
}

/// Returns the processor time of this thread on Linux, and the elapsed time elsewhere.
fn cpu_time() -> Duration {
    let on_cpu = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = on_cpu.and_then(|fields| fields.split(' ').next().and_then(|field| field.parse().ok()));
    static START: OnceLock<Instant> = OnceLock::new();
    nanoseconds.map_or_else(|| START.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

fn report(what: &str, elapsed: Duration, number: u64) {
    println!("{what:30} {:8.1} ns", elapsed.as_nanos() as f64 / number as f64);
}
