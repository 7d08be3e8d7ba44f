//! Fuzzes operations on a small tree against a sorted map.

use crate::input::Input;
use leafline_btree::{Change, CommitTs, Direction, EntryView, LeafFormat, LeafStep, Tree, TreeRedo};
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, HandlerId, NoReplay, RedoHandler, SegmentState, Store, StoreOptions};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Live entries, by key.
type Model = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) fn target(data: &[u8]) {
    run(data, LeafFormat::Plain);
    run(data, LeafFormat::Packed);
}

fn run(data: &[u8], format: LeafFormat) {
    let mut input = Input::new(data);
    let (store, tree) = empty_tree(format);
    let mut model = Model::new();
    let mut now = 1;
    while !input.is_empty() {
        now += 1;
        match input.u8() % 8 {
            0..=2 => {
                let key = key(&mut input);
                let payload = payload(&mut input, tree.max_entry_len() - key.len());
                let put =
                    Change::Put { payload: (&payload[..]).into(), ts: CommitTs(now), has_previous: false };
                change(&store, &tree, &key, &put, CommitTs(now));
                model.insert(key, payload);
            }
            3 => {
                let key = key(&mut input);
                let keep_payload = input.u8() & 1 == 1;
                if model.remove(&key).is_some() {
                    let ghost = Change::Ghost { ts: CommitTs(now), has_previous: false, keep_payload };
                    change(&store, &tree, &key, &ghost, CommitTs(0));
                }
            }
            4 => {
                let key = key(&mut input);
                change(&store, &tree, &key, &Change::Remove, CommitTs(now));
                model.remove(&key);
            }
            5 => {
                let key = key(&mut input);
                let mut reservation =
                    store.reserve(tree.worst_case_pages(), tree.worst_case_log(key.len(), 0)).expect("room");
                tree.purge(&mut reservation, &key, CommitTs(now)).expect("a purge");
            }
            6 => {
                let key = key(&mut input);
                assert_eq!(get(&tree, &key).as_ref(), model.get(&key), "{key:?}");
            }
            _ => walk(&tree, &model, &key(&mut input), input.u8() & 1 == 1),
        }
    }
    walk(&tree, &model, b"", false);
    let report = tree.verify().expect("a sound tree");
    assert!(report.entries >= model.len() as u64);
}

fn empty_tree(format: LeafFormat) -> (Store, Tree) {
    let options = StoreOptions {
        page_size: 4096,
        buffer_pool_bytes: 256 * 4096,
        log_capacity_bytes: 64 << 20,
        io_threads: 1,
        background: false,
        ..StoreOptions::default()
    };
    let env: Arc<dyn Env> = Arc::new(SimulatedEnv::new());
    let handlers: Vec<(HandlerId, Arc<dyn RedoHandler>)> = vec![(HandlerId::BTREE, Arc::new(TreeRedo))];
    let store = Store::open(env, options, handlers, &mut NoReplay).expect("a new store");
    let mut reservation = store.reserve(2, 64 << 10).expect("room");
    let segment = store.create_segment(&mut reservation).expect("a segment");
    let tree = Tree::create(&store, &mut reservation, segment, format).expect("a tree");
    store.set_segment_state(&mut reservation, segment, SegmentState::Live).expect("a state");
    drop(reservation);
    (store, tree)
}

/// Makes long keys with common prefixes, often the same ones, of few bytes.
fn key(input: &mut Input<'_>) -> Vec<u8> {
    let shape = input.u8();
    let mut key = vec![b'k'; usize::from(shape >> 4) * 20];
    key.extend_from_slice(input.bytes(usize::from(shape & 3) + 1));
    key.resize(key.len() + usize::from(shape >> 2 & 3) * 30, b'z');
    key
}

fn payload(input: &mut Input<'_>, most: usize) -> Vec<u8> {
    let len = usize::from(input.u8()) * 5;
    vec![input.u8(); len.min(most)]
}

fn change(store: &Store, tree: &Tree, key: &[u8], change: &Change<'_>, purge_before: CommitTs) {
    let payload = match change {
        Change::Put { payload, .. } => payload.len(),
        _ => tree.max_entry_len(),
    };
    let pages = tree.worst_case_pages_for(1, key.len() + payload);
    let mut reservation = store.reserve(pages, tree.worst_case_log(key.len(), payload)).expect("room");
    tree.modify(&mut reservation, key, purge_before, &mut |_| change.clone()).expect("a change");
}

fn get(tree: &Tree, key: &[u8]) -> Option<Vec<u8>> {
    let live = |entry: Option<EntryView<'_>>| {
        entry.filter(|entry| !entry.is_ghost()).map(|entry| entry.payload.to_vec())
    };
    tree.get(key, live).expect("a read")
}

/// Scans from `from` on, or backwards, and compares.
fn walk(tree: &Tree, model: &Model, from: &[u8], reverse: bool) {
    let mut found = Vec::new();
    let mut cursor = tree.cursor();
    let direction = if reverse { Direction::Reverse } else { Direction::Forward };
    if reverse {
        cursor.seek_before(Some(from));
    } else {
        cursor.seek(from);
    }
    let mut more = true;
    while more {
        more = cursor
            .visit_leaf(direction, |leaf, range| {
                let mut take = |slot| {
                    let mut key = Vec::new();
                    leaf.key_into(slot, &mut key);
                    if !leaf.entry(slot).is_ghost() {
                        found.push((key, leaf.entry(slot).payload.to_vec()));
                    }
                };
                if reverse {
                    range.rev().for_each(&mut take)
                } else {
                    range.for_each(&mut take)
                }
                LeafStep::NextLeaf
            })
            .expect("a visit");
    }
    let entry = |(key, payload): (&Vec<u8>, &Vec<u8>)| (key.clone(), payload.clone());
    let expected: Vec<_> = if reverse {
        model.range(..from.to_vec()).rev().map(entry).collect()
    } else {
        model.range(from.to_vec()..).map(entry).collect()
    };
    assert_eq!(found, expected, "{direction:?} from {from:?}");
}
