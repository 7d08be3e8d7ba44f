//! Tests of layers alone.

use super::super::overlay::Part;
use super::*;
use crate::catalog::TableId;
use crate::run::Sorter;
use leafline_storage::device::SimulatedEnv;

const NONE: Aborted = Aborted(Vec::new());

fn env() -> (SimulatedEnv, Arc<dyn Env>) {
    let simulated = SimulatedEnv::new();
    let env = Arc::new(simulated.clone());
    (simulated, env)
}

fn spill(env: &Arc<dyn Env>) -> Spill<'_> {
    Spill { env, filtered: true, max_history: 1 << 20 }
}

fn freeze(layers: &mut Layers, aborted: &Aborted, env: &Arc<dyn Env>) {
    layers.freeze(aborted, spill(env)).unwrap();
    layers.merge_runs(aborted, spill(env)).unwrap();
}

fn part<'a>(lower: &'a [u8], upper: Option<&'a [u8]>, reverse: bool, max: usize) -> Part<'a> {
    Part { lower, upper, unique: None, reverse, max }
}

fn state(text: &str) -> State {
    Some(text.as_bytes().into())
}

#[test]
fn a_row_whose_writes_were_all_rolled_back_may_have_another_base() {
    let (_, env) = env();
    let mut layers = Layers::default();
    let mut aborted = Aborted::default();
    assert_eq!(layers.put(b"k", state("base"), 1, state("a"), &aborted).unwrap(), state("base"));
    freeze(&mut layers, &aborted, &env);
    assert_eq!(layers.put(b"k", None, 2, None, &aborted).unwrap(), state("a"));
    aborted.add(1, 3);
    assert_eq!(layers.newest(b"k", NOW, &aborted).unwrap(), None);
    assert_eq!(layers.put(b"k", state("other"), 3, state("b"), &aborted).unwrap(), state("other"));
    freeze(&mut layers, &aborted, &env);
    assert_eq!(layers.runs.len(), 2);
    assert_eq!(layers.newest(b"k", 3, &aborted).unwrap(), None);
    assert_eq!(layers.newest(b"k", 4, &aborted).unwrap(), Some(state("b")));
    let mut groups = layers.groups().unwrap();
    assert!(groups.next(&aborted).unwrap());
    let row = Encoded::new(&groups.payload).unwrap();
    assert_eq!(row.base, Some(Some(&b"other"[..])));
    assert_eq!(row.newest(NOW, &aborted).unwrap(), Some(Some(&b"b"[..])));
    assert!(!groups.next(&aborted).unwrap());
}

#[test]
fn rolled_back_writes_are_removed_with_their_files() {
    let (_, env) = env();
    let mut layers = Layers::default();
    for seq in 1..=7 {
        layers.push(&[seq as u8], seq, state("x"));
        if seq % 2 == 0 {
            freeze(&mut layers, &NONE, &env);
        }
    }
    // Two of three runs were merged with the third.
    assert_eq!((layers.runs.len(), layers.memory.len()), (1, 1));
    freeze(&mut layers, &NONE, &env);
    layers.push(&[8], 8, state("x"));
    let mut aborted = Aborted::default();
    aborted.add(7, 9);
    layers.forget_from(7);
    assert_eq!((layers.runs.len(), layers.memory.len(), layers.bytes()), (1, 0, 0));
    assert_eq!(env.list("temp").unwrap().len(), 1);
    // A part of a layer: it disappears at the next merge.
    aborted.add(3, 9);
    layers.forget_from(3);
    for seq in [20, 22] {
        layers.push(&[1], seq, state("y"));
        freeze(&mut layers, &aborted, &env);
    }
    layers.push(&[1], 24, state("y"));
    freeze(&mut layers, &aborted, &env);
    assert_eq!(layers.runs.len(), 2);
    let all = layers.overlay(&part(&[], None, false, 99), NOW, &aborted).unwrap();
    assert_eq!(all.iter().map(|entry| entry.key[0]).collect::<Vec<_>>(), [1, 2]);
    aborted.add(1, 30);
    layers.forget_from(1);
    assert!(layers.is_empty() && env.list("temp").unwrap().is_empty());
}

#[test]
fn writes_sorted_on_disk_are_put_in_order_of_time() {
    let (_, env) = env();
    let mut sorter = Sorter::new(&env, 1 << 10);
    let table = crate::testing::keyed_spec().unstored(TableId(1), 4096).unwrap();
    let index = table.indexes[3].clone();
    let mut layers = Layers::of_index(&index);
    for seq in 0..200u64 {
        let key = [(seq * 7 % 11) as u8];
        let value = state(&seq.to_string());
        let mut write = Vec::new();
        crate::write_set::history::encode_write(seq, value.as_deref(), &mut write);
        sorter.push(&key, &write).unwrap();
        layers.push(&key, seq, value);
    }
    let sorted = Layers::from_sorted(&index, &mut sorter.finish().unwrap(), 200, spill(&env)).unwrap();
    for (as_of, reverse) in [(NOW, false), (100, true), (3, false), (0, true)] {
        let expected = layers.overlay(&part(&[2], Some(&[9]), reverse, 5), as_of, &NONE).unwrap();
        assert_eq!(sorted.overlay(&part(&[2], Some(&[9]), reverse, 5), as_of, &NONE).unwrap(), expected);
    }
}

#[test]
fn too_many_writes_to_a_row_are_an_error_that_rolling_back_helps() {
    let (_, env) = env();
    let spill = Spill { max_history: 1000, ..spill(&env) };
    let mut layers = Layers::default();
    let mut aborted = Aborted::default();
    (1..100).for_each(|seq| layers.push(b"k", seq, state("0123456789")));
    for _ in 0..2 {
        let failed = layers.freeze(&aborted, spill);
        assert!(matches!(failed, Err(TableError::TransactionTooLarge { .. })));
        assert_eq!(layers.newest(b"k", NOW, &aborted).unwrap(), Some(state("0123456789")));
    }
    aborted.add(20, 100);
    layers.freeze(&aborted, spill).unwrap();
    assert_eq!(layers.memory.len(), 0);
}

#[test]
fn memory_is_counted() {
    let (_, env) = env();
    let mut layers = Layers::default();
    let mut aborted = Aborted::default();
    for seq in 1..50 {
        layers.put(&[seq as u8 % 9], state("base"), seq, state("value"), &aborted).unwrap();
    }
    let counted = layers.bytes();
    layers.prune(&aborted);
    assert_eq!(layers.bytes(), counted);
    aborted.add(1, 50);
    layers.put(&[3], state("another base"), 50, None, &aborted).unwrap();
    let most = layers.bytes();
    layers.prune(&aborted);
    assert!(layers.bytes() < most && layers.memory.len() == 1);
    let counted = layers.bytes();
    layers.prune(&aborted);
    assert_eq!((layers.bytes(), layers.first), (counted, 50));
    freeze(&mut layers, &aborted, &env);
    assert_eq!((layers.bytes(), layers.first), (0, NOW));
    assert!(layers.run_bytes() > 0);
}
