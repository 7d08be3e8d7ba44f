//! Tests of the graph by itself: structures, what is kept and for how long, and memory.

use super::footprint::{MOST_RANGES, Writes};
use super::graph::{Dangerous, Graph, MOST_BYTES, MOST_ENDED, Marks, Number};
use crate::catalog::TableId;
use crate::engine::Engine;
use crate::testing::open;
use leafline_storage::SegmentId;
use leafline_storage::device::SimulatedEnv;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const TABLE: TableId = TableId(7);
const TREE: SegmentId = SegmentId(70);

struct World {
    engine: Arc<Engine>,
    graph: Graph,
}

impl World {
    fn new() -> World {
        World { engine: open(&SimulatedEnv::new()), graph: Graph::default() }
    }

    fn begin(&mut self) -> Number {
        self.graph.begin(|| self.engine.snapshot(), false, &Arc::default()).1.expect("a writer has a number")
    }

    fn read(&mut self, reader: Number, key: &str) -> Result<(), Dangerous> {
        let end = format!("{key}\0");
        self.graph.register(reader, TABLE, TREE, &[(key.as_bytes(), Some(end.as_bytes()))])
    }

    fn prepare(&mut self, writer: Number, keys: &[&str]) -> Result<(), Dangerous> {
        let mut writes = Writes::default();
        keys.iter().for_each(|key| writes.insert(TABLE, TREE, key.as_bytes()));
        self.graph.prepare(writer, writes)
    }

    /// Begins, reads a key, writes another, and commits.
    fn commit(&mut self, read: &str, written: &str) -> Result<(), Dangerous> {
        let one = self.begin();
        self.read(one, read)?;
        self.prepare(one, &[written])?;
        self.graph.end(one);
        Ok(())
    }
}

#[test]
fn one_conflict_is_no_danger_and_nothing_is_kept() {
    let mut world = World::new();
    let (reader, writer) = (world.begin(), world.begin());
    world.read(reader, "a").unwrap();
    world.prepare(writer, &["a"]).unwrap();
    world.graph.end(writer);
    assert_eq!(world.graph.counts(), (1, 1));
    world.prepare(reader, &["b"]).unwrap();
    world.graph.end(reader);
    assert_eq!((world.graph.counts(), world.graph.bytes), ((0, 0), 0));
}

#[test]
fn write_skew_fails_whoever_is_second() {
    for reads_late in [false, true] {
        let mut world = World::new();
        let (one, two) = (world.begin(), world.begin());
        world.read(one, "a").unwrap();
        if !reads_late {
            world.read(two, "b").unwrap();
        }
        world.prepare(one, &["b"]).unwrap();
        if reads_late {
            world.read(two, "b").unwrap();
        }
        assert_eq!(world.prepare(two, &["a"]), Err(Dangerous));
        world.graph.end(one);
        assert_eq!((world.graph.counts(), world.graph.bytes), ((0, 0), 0));
    }
}

#[test]
fn a_commit_fails_as_the_third_beside_a_second_that_is_being_applied() {
    let mut world = World::new();
    let (one, two, three) = (world.begin(), world.begin(), world.begin());
    world.read(one, "a").unwrap();
    world.read(two, "b").unwrap();
    world.prepare(two, &["a"]).unwrap();
    assert_eq!(world.prepare(three, &["b"]), Err(Dangerous), "it may be visible before the second");
    let four = world.begin();
    world.graph.end(two);
    world.prepare(four, &["b"]).unwrap();
}

#[test]
fn a_third_that_commits_last_is_no_danger() {
    let mut world = World::new();
    let (one, two, three) = (world.begin(), world.begin(), world.begin());
    world.read(one, "a").unwrap();
    world.read(two, "b").unwrap();
    world.prepare(two, &["a"]).unwrap();
    world.graph.end(two);
    world.prepare(one, &["x"]).unwrap();
    world.graph.end(one);
    world.prepare(three, &["b"]).unwrap();
}

#[test]
fn what_was_rolled_back_does_not_count() {
    let mut world = World::new();
    let (one, two, three) = (world.begin(), world.begin(), world.begin());
    world.read(one, "a").unwrap();
    world.read(two, "b").unwrap();
    world.prepare(three, &["b"]).unwrap();
    world.graph.remove(three);
    world.prepare(two, &["a"]).unwrap();
    world.graph.remove(one);
    world.graph.end(two);
    assert_eq!((world.graph.counts(), world.graph.bytes), ((0, 0), 0));
}

#[test]
fn readers_are_safe_as_soon_as_no_writer_can_harm_them() {
    let mut world = World::new();
    let marks = Arc::new(Marks::default());
    let is_safe = |marks: &Arc<Marks>| marks.is_safe.load(Ordering::Acquire);
    assert!(world.graph.begin(|| world.engine.snapshot(), true, &marks).1.is_none() && is_safe(&marks));

    // A writer without a conflict ends.
    let writer = world.begin();
    let marks = Arc::new(Marks::default());
    let reader = world.graph.begin(|| world.engine.snapshot(), true, &marks).1.expect("it has to register");
    world.read(reader, "a").unwrap();
    world.prepare(writer, &["a"]).unwrap();
    assert!(!is_safe(&marks));
    world.graph.end(writer);
    assert!(is_safe(&marks));
    assert_eq!((world.graph.counts(), world.graph.bytes), ((0, 0), 0));

    // A writer that has not seen what the reader sees ends.
    let writer = world.begin();
    world.read(writer, "b").unwrap();
    world.commit("x", "b").unwrap();
    let marks = Arc::new(Marks::default());
    let reader = world.graph.begin(|| world.engine.snapshot(), true, &marks).1.expect("it has to register");
    world.read(reader, "c").unwrap();
    world.prepare(writer, &["a"]).unwrap();
    world.graph.end(writer);
    assert!(!is_safe(&marks));
    assert_eq!(world.read(reader, "a"), Err(Dangerous));
    world.graph.remove(reader);

    // It is rolled back.
    let writer = world.begin();
    let marks = Arc::new(Marks::default());
    let reader = world.graph.begin(|| world.engine.snapshot(), true, &marks).1;
    world.graph.remove(writer);
    assert!(reader.is_some() && is_safe(&marks));
    assert_eq!((world.graph.counts(), world.graph.bytes), ((0, 0), 0));
}

#[test]
fn ended_transactions_are_merged_and_still_conflict() {
    let many = MOST_ENDED * 2;
    // The oldest transaction comes in the middle of a structure, then at its beginning.
    for comes_last in [false, true] {
        let mut world = World::new();
        let oldest = world.begin();
        world.read(oldest, "w00003").unwrap();
        for number in 0..many {
            world.commit(&format!("r{number:05}"), &format!("w{number:05}")).unwrap();
        }
        assert!(world.graph.counts().1 <= MOST_ENDED);
        if comes_last {
            // It reads what a merged one wrote, which has not read what another wrote: no structure.
            world.read(oldest, "w00001").unwrap();
            world.prepare(oldest, &["x"]).unwrap();
        } else {
            assert_eq!(world.prepare(oldest, &["r00009"]), Err(Dangerous));
            assert_eq!((world.graph.counts(), world.graph.bytes), ((0, 0), 0));
        }
    }
    // Two that are merged have a conflict between them.
    let mut world = World::new();
    let oldest = world.begin();
    let pivot = world.begin();
    world.read(pivot, "p").unwrap();
    world.commit("x", "p").unwrap();
    world.prepare(pivot, &["q"]).unwrap();
    world.graph.end(pivot);
    for number in 0..many {
        world.commit(&format!("r{number:05}"), &format!("w{number:05}")).unwrap();
    }
    assert_eq!(world.read(oldest, "q"), Err(Dangerous));
}

#[test]
fn memory_is_bounded_and_coarse_footprints_conflict_more() {
    let mut world = World::new();
    let (reader, writer) = (world.begin(), world.begin());
    for number in 0..=MOST_RANGES {
        world.read(reader, &format!("k{:05}", 2 * number)).unwrap();
    }
    assert!(world.graph.bytes < 1000, "a hull");
    let long = "x".repeat(2000);
    for number in 0..1000 {
        world.read(writer, &format!("k{number:05}{long}")).unwrap();
    }
    assert!(world.graph.bytes <= MOST_BYTES + 2000);
    world.graph.keep_within(10_000);
    assert!(world.graph.bytes <= 10_000);
    world.graph.keep_within(0);
    let whole = world.graph.bytes;
    assert!(whole < 1000, "{whole}");
    world.graph.keep_within(0);
    assert_eq!(world.graph.bytes, whole);
    world.prepare(writer, &["anything"]).unwrap();
    world.graph.end(writer);
    assert_eq!(world.prepare(reader, &["something"]), Err(Dangerous));
}

/// A coarse range has keys that were never compared with what others wrote before.
#[test]
fn keys_within_a_coarse_range_are_looked_for_when_they_are_read() {
    for steps in 0..3 {
        let mut world = World::new();
        let (reader, pivot) = (world.begin(), world.begin());
        world.read(pivot, "p").unwrap();
        world.commit("x", "p").unwrap();
        world.prepare(pivot, &["m"]).unwrap();
        world.graph.end(pivot);
        world.read(reader, "a").unwrap();
        world.read(reader, "z").unwrap();
        (0..steps).for_each(|_| assert!(world.graph.coarsen(reader)));
        assert_eq!(world.read(reader, "m"), Err(Dangerous), "{steps}");
    }
}

#[test]
fn indexes_that_the_other_side_does_not_know_conflict() {
    let mut world = World::new();
    let (one, two, three) = (world.begin(), world.begin(), world.begin());
    let other = SegmentId(71);
    world.graph.register(one, TABLE, other, &[(b"a", Some(b"b"))]).unwrap();
    world.prepare(two, &["z"]).unwrap();
    world.graph.end(two);
    world.graph.register(three, TABLE, other, &[(b"a", Some(b"b"))]).unwrap();
    assert_eq!(world.prepare(one, &["y"]), Err(Dangerous), "the third has read another index");
}
