//! Compares nodes with a sorted map, and reads nodes of garbage.

use std::collections::BTreeMap;

use leafline_storage::{PageNo, RedoHandler};
use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};

use super::packed_edit::CellReplacement;
use super::*;
use crate::entry::{CommitTs, EntryFlags, EntryView};
use crate::policy;

pub(super) fn seeds(default: u64) -> Vec<u64> {
    if let Ok(seed) = std::env::var("LEAFLINE_SEED") {
        return vec![seed.parse().expect("LEAFLINE_SEED is a number")];
    }
    let scale: u64 = std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    (0..default * scale).collect()
}

pub(super) fn redo(page: &mut [u8], record: &Record) -> Result<(), String> {
    TreeRedo.redo(record.kind, page, &record.payload).map_err(|error| error.reason)
}

#[test]
fn common_prefixes_end_at_the_first_byte_that_differs() {
    let mut random = SmallRng::seed_from_u64(seeds(1)[0]);
    for _ in 0..10_000 {
        let byte =
            |random: &mut SmallRng| if random.random_range(0..16) == 0 { random.random() } else { 7u8 };
        let [a, b] =
            [(); 2].map(|()| (0..random.random_range(0..40)).map(|_| byte(&mut random)).collect::<Vec<u8>>());
        let expected = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
        assert_eq!(common_prefix(&a, &b), expected, "{a:?} {b:?}");
    }
}

fn formatted(page_size: usize, level: u8, lower: &[u8], upper: Option<&[u8]>) -> Vec<u8> {
    let mut page = vec![0; page_size];
    let mut builder = NodeBuilder::new(page_size, level, lower, upper).unwrap();
    if level > 0 {
        builder.push_child(lower, &[], PageNo(1)).unwrap();
    }
    redo(&mut page, &Record::format(builder).unwrap()).unwrap();
    page
}

const FORMATS: [LeafFormat; 2] = [LeafFormat::Plain, LeafFormat::Packed];

fn empty_leaf(format: LeafFormat, page_size: usize, lower: &[u8], upper: Option<&[u8]>) -> Vec<u8> {
    let mut page = vec![0; page_size];
    let builder = NodeBuilder::new(page_size, 0, lower, upper).unwrap().in_format(format);
    redo(&mut page, &Record::format(builder).unwrap()).unwrap();
    assert_eq!(Node::open(&page).unwrap().format(), format);
    page
}

/// Returns the room that an insert or a replacement needs, and the room that there is for it.
fn room(
    node: &Node<'_>,
    (slot, found): (usize, bool),
    suffix: &[u8],
    entry: EntryView<'_>,
) -> (usize, usize) {
    let len = leaf_cell_len(entry.commit_ts.is_some(), suffix.len(), entry.payload.len());
    match (node.format(), found) {
        (LeafFormat::Plain, false) => (len + SLOT, node.free()),
        (LeafFormat::Plain, true) => (len, node.free() + node.cell_len(slot).unwrap()),
        (LeafFormat::Packed, false) => {
            (CellReplacement::insert(node, slot, suffix, entry).unwrap().room(), node.free())
        }
        (LeafFormat::Packed, true) => {
            (CellReplacement::replace(node, slot, entry).unwrap().room(), node.free())
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    flags: EntryFlags,
    ts: CommitTs,
    payload: Vec<u8>,
}

impl Entry {
    fn view(&self) -> EntryView<'_> {
        EntryView { flags: self.flags, commit_ts: self.ts, payload: &self.payload }
    }
}

type Model = BTreeMap<Vec<u8>, Entry>;

fn compare(page: &[u8], model: &Model) {
    let node = Node::open(page).unwrap();
    check(&node).unwrap();
    assert_eq!(node.count(), model.len());
    for (slot, (key, entry)) in model.iter().enumerate() {
        let mut found = Vec::new();
        node.key_into(slot, &mut found).unwrap();
        assert_eq!(&found, key);
        assert_eq!(node.entry(slot, &mut Vec::new()).unwrap(), entry.view());
        assert_eq!(node.lower_bound(key).unwrap(), (slot, true));
        // Neighbours of the key that do not exist.
        let mut after = key.clone();
        after.push(0);
        assert_eq!(node.lower_bound(&after).unwrap(), (slot + 1, model.contains_key(&after)));
        if let Some((last, before)) = key.split_last()
            && *last > 0
        {
            let mut below = before.to_vec();
            below.push(last - 1);
            let expected = model.range(..below.clone()).count();
            assert_eq!(node.lower_bound(&below).unwrap(), (expected, model.contains_key(&below)));
        }
    }
}

/// Makes a random key between the fences "k" + shared and "l".
fn random_key(rng: &mut SmallRng, shared: &[u8]) -> Vec<u8> {
    let len = if rng.random_ratio(1, 20) { rng.random_range(0..300) } else { rng.random_range(0..9) };
    let mut key = shared.to_vec();
    // The few letters, among them 0, make short keys and ties of heads common.
    key.extend((0..len).map(|_| *[0u8, 0, 1, 97, 255].get(rng.random_range(0..5)).unwrap()));
    key
}

#[test]
fn leaf_under_random_changes_equals_a_sorted_map() {
    for (seed, format) in seeds(6).into_iter().flat_map(|seed| FORMATS.map(|format| (seed, format))) {
        println!("LEAFLINE_SEED={seed} {format:?}");
        let mut rng = SmallRng::seed_from_u64(seed);
        let page_size = [4096, 8192, 16384, 32768, 65536][seed as usize % 5];
        let lower: Vec<u8> = [&b"k"[..], &vec![b'x'; rng.random_range(0..40)]].concat();
        let upper = if rng.random() { Some(b"kz".to_vec()) } else { None };
        let mut page = empty_leaf(format, page_size, &lower, upper.as_deref());
        let mut model = Model::new();
        for step in 0..4000 {
            let key = match model.len() {
                n if n > 0 && rng.random_ratio(1, 2) => {
                    model.keys().nth(rng.random_range(0..n)).unwrap().clone()
                }
                _ => random_key(&mut rng, &lower),
            };
            let node = Node::open(&page).unwrap();
            let (slot, found) = node.lower_bound(&key).unwrap();
            assert_eq!(found, model.contains_key(&key));
            let choice = rng.random_range(0..100);
            if choice < 75 {
                let ts = CommitTs(if rng.random_ratio(1, 3) { step } else { 0 });
                let flags = EntryFlags::of(rng.random_ratio(1, 4), ts, rng.random_ratio(1, 3));
                let most = if seed % 2 == 0 { page_size / 20 } else { 9 };
                let len = if rng.random_ratio(1, 3) { 0 } else { rng.random_range(0..most) };
                let mut payload = vec![0; len];
                rng.fill_bytes(&mut payload);
                if let Some(old) = model.get(&key)
                    && rng.random()
                {
                    // A small change in the middle, perhaps of another length.
                    payload = old.payload.clone();
                    let at = rng.random_range(0..=payload.len());
                    payload.splice(at..(at + 2).min(payload.len()), vec![7u8; rng.random_range(0..4)]);
                }
                let entry = Entry { flags, ts, payload };
                let suffix = &key[node.prefix().len()..];
                let (needed, there) = room(&node, (slot, found), suffix, entry.view());
                let fits = needed <= there;
                let record = if found {
                    Record::leaf_replace(
                        slot,
                        node.entry(slot, &mut Vec::new()).unwrap().payload,
                        entry.view(),
                    )
                } else {
                    Record::leaf_insert(slot, suffix, entry.view())
                };
                let before = page.clone();
                let result = redo(&mut page, &record);
                assert_eq!(result.is_ok(), fits, "step {step}: {result:?}");
                if fits {
                    model.insert(key, entry);
                } else {
                    assert!(page == before, "a refused record left the page as it was");
                }
            } else if choice < 96 {
                if found {
                    redo(&mut page, &Record::leaf_remove(slot)).unwrap();
                    model.remove(&key);
                }
            } else {
                let before = CommitTs(rng.random_range(0..=step));
                let gain = settle_gain(&node, before).unwrap();
                let free = node.free();
                redo(&mut page, &Record::leaf_settle(before)).unwrap();
                model.retain(|_, entry| entry.ts >= before || !entry.view().is_ghost());
                for entry in model.values_mut().filter(|entry| entry.ts < before) {
                    (entry.flags, entry.ts) = (EntryFlags::default(), CommitTs::NONE);
                }
                match format {
                    LeafFormat::Plain => assert_eq!(Node::open(&page).unwrap().free(), free + gain),
                    LeafFormat::Packed => assert!(Node::open(&page).unwrap().free() >= free),
                }
            }
            if step % 50 == 0 {
                compare(&page, &model);
            }
        }
        compare(&page, &model);
    }
}

#[test]
fn settling_clears_the_page_maximum_only_when_it_is_below_the_threshold() {
    let mut page = formatted(4096, 0, b"", None);
    for (key, ts) in [(b"a", 5), (b"b", 9)] {
        let entry =
            Entry { flags: EntryFlags::of(false, CommitTs(ts), false), ts: CommitTs(ts), payload: vec![] };
        let slot = Node::open(&page).unwrap().lower_bound(key).unwrap().0;
        redo(&mut page, &Record::leaf_insert(slot, key, entry.view())).unwrap();
    }
    redo(&mut page, &Record::leaf_settle(CommitTs(9))).unwrap();
    let node = Node::open(&page).unwrap();
    assert_eq!((node.max_commit_ts(), node.unsettled()), (CommitTs(9), 1));
    redo(&mut page, &Record::leaf_settle(CommitTs(10))).unwrap();
    let node = Node::open(&page).unwrap();
    assert_eq!((node.max_commit_ts(), node.unsettled()), (CommitTs::NONE, 0));
}

/// Splits a full leaf as the policy says and merges the parts again.
#[test]
fn split_parts_hold_all_entries_and_merge_back() {
    for (seed, format) in seeds(40).into_iter().flat_map(|seed| FORMATS.map(|format| (seed, format))) {
        println!("LEAFLINE_SEED={seed} {format:?}");
        let mut rng = SmallRng::seed_from_u64(seed);
        let page_size = [4096, 16384][seed as usize % 2];
        let shared = vec![b'p'; [0, 5, 400][seed as usize % 3]];
        let upper = [&shared[..], &[255; 320]].concat();
        let mut page = empty_leaf(format, page_size, &shared, (!shared.is_empty()).then_some(&upper));
        let mut model = Model::new();
        let largest = [8, 200, page_size / 4][seed as usize / 2 % 3];
        let (key, len) = loop {
            let mut key = shared.clone();
            match seed % 5 {
                0 => key.extend_from_slice(&(model.len() as u32).to_be_bytes()),
                1 => key.extend_from_slice(&(u32::MAX / 2 - model.len() as u32).to_be_bytes()),
                _ => key = random_key(&mut rng, &shared),
            }
            let entry = Entry {
                flags: EntryFlags(0),
                ts: CommitTs(0),
                payload: vec![3; rng.random_range(0..largest)],
            };
            let node = Node::open(&page).unwrap();
            let (slot, found) = node.lower_bound(&key).unwrap();
            if found || !node.covers(&key) {
                continue;
            }
            let suffix = &key[node.prefix().len()..];
            let (needed, there) = room(&node, (slot, found), suffix, entry.view());
            if needed > there {
                let len = leaf_cell_len(false, suffix.len(), entry.payload.len()).max(needed);
                break (key, len);
            }
            redo(&mut page, &Record::leaf_insert(slot, suffix, entry.view())).unwrap();
            model.insert(key, entry);
        };
        let node = Node::open(&page).unwrap();
        let split = policy::split_leaf(&node, &key, len).unwrap();
        let history = node.history();
        match seed % 5 {
            // One entry moves where there is no room for the fence.
            0 if largest == 8 => assert!(split.at + 1 >= node.slots() && split.new_page == Side::Right),
            1 if largest == 8 => assert!(split.at <= 1 && split.new_page == Side::Left),
            0 | 1 => {}
            _ => assert!(history.trend.abs() < 24),
        }
        let at = node.positions(split.at).start;
        let (left, right) = parts(&page, at, &split);
        let at_key = model.keys().nth(at).cloned();
        let mut left_model = model.clone();
        let right_model = at_key.map(|key| left_model.split_off(&key)).unwrap_or_default();
        compare(&left, &left_model);
        compare(&right, &right_model);
        let (l, r) = (Node::open(&left).unwrap(), Node::open(&right).unwrap());
        let size = policy::merged_size(&l, &r).unwrap();
        let record = Record::absorb(Side::Right, &r).unwrap();
        let mut merged = left.clone();
        redo(&mut merged, &record).unwrap();
        compare(&merged, &model);
        assert!(Node::open(&merged).unwrap().used() <= size);
        let mut merged = right.clone();
        redo(&mut merged, &Record::absorb(Side::Left, &l).unwrap()).unwrap();
        compare(&merged, &model);
        // Split in the middle, which may be inside a packed cell.
        let at = model.len() / 2;
        let (mut below, upto) = (model.clone(), model.keys().nth(at).unwrap());
        let above = below.split_off(upto);
        let separator = policy::separator(below.keys().next_back().unwrap(), upto).to_vec();
        let (left, right) = parts(&page, at, &policy::Split { separator, ..split });
        compare(&left, &below);
        compare(&right, &above);
    }
}

/// Returns the parts of a leaf that is split at a position.
fn parts(page: &[u8], at: usize, split: &policy::Split) -> (Vec<u8>, Vec<u8>) {
    let node = Node::open(page).unwrap();
    let (mut left, mut right, mut right_again) = (page.to_vec(), page.to_vec(), page.to_vec());
    let builder = part(&node, Side::Right, at, &split.separator, split.right).unwrap();
    redo(&mut right, &Record::format(builder).unwrap()).unwrap();
    redo(&mut left, &Record::truncate(Side::Left, at, &split.separator, split.left)).unwrap();
    redo(&mut right_again, &Record::truncate(Side::Right, at, &split.separator, split.right)).unwrap();
    assert!(right[32..] == right_again[32..], "both ways to make a part agree");
    (left, right)
}

#[test]
fn branch_finds_the_child_of_every_key() {
    let mut page = formatted(4096, 1, b"", None);
    let separators: Vec<Vec<u8>> = (1..100u32).map(|n| (n * 3).to_be_bytes().to_vec()).collect();
    // Insert from the back, so that every insert moves slots.
    for (n, key) in separators.iter().enumerate().rev() {
        redo(&mut page, &Record::branch_insert(1, key, PageNo(n as u64 + 2))).unwrap();
    }
    let node = Node::open(&page).unwrap();
    check(&node).unwrap();
    for n in 0..300u32 {
        let key = n.to_be_bytes();
        let slot = node.child_for(&key).unwrap();
        assert_eq!(node.child(slot).unwrap(), PageNo(u64::from((n / 3).min(99)) + 1));
        let before = node.child_before(Some(&key)).unwrap();
        assert_eq!(before as u32, (n.saturating_sub(1) / 3).min(99));
    }
    assert_eq!(node.child_before(None).unwrap(), 99);
    redo(&mut page, &Record::branch_remove(5)).unwrap();
    redo(&mut page, &Record::branch_set_child(5, PageNo(77))).unwrap();
    let node = Node::open(&page).unwrap();
    check(&node).unwrap();
    assert_eq!(node.child(node.child_for(&19u32.to_be_bytes()).unwrap()).unwrap(), PageNo(77));
    assert!(redo(&mut page, &Record::branch_remove(0)).is_err());
    assert!(redo(&mut page, &Record::leaf_remove(0)).is_err());
}

#[test]
fn ascending_with_stragglers_is_recognised_and_random_is_not() {
    let mut rng = SmallRng::seed_from_u64(1);
    for (name, expected) in [("ascending", 1), ("descending", -1), ("near sorted", 1), ("random", 0)] {
        let mut keys: Vec<u32> = (0..400).collect();
        match name {
            "descending" => keys.reverse(),
            "near sorted" => keys.chunks_mut(6).for_each(|chunk| chunk.swap(0, chunk.len() - 1)),
            "random" => keys.sort_by_cached_key(|_| rng.next_u32()),
            _ => {}
        }
        let mut sorted: Vec<u32> = Vec::new();
        let mut history = InsertHistory::default();
        for key in keys {
            let slot = sorted.partition_point(|other| *other < key);
            history = history::insert_history(history, slot, sorted.len());
            sorted.insert(slot, key);
        }
        let found = if history.trend.abs() < 6 { 0 } else { history.trend.signum() };
        assert_eq!(found, expected, "{name}: {history:?}");
        assert_eq!(history.spread > 0, name == "near sorted", "{name}: {history:?}");
    }
}

#[test]
fn garbage_is_a_fault_and_never_a_panic() {
    let mut rng = SmallRng::seed_from_u64(seeds(1)[0]);
    let mut leaves = FORMATS.map(|format| empty_leaf(format, 4096, b"a", Some(b"b")));
    for (n, leaf) in (0..60u8).flat_map(|n| [(n, 0), (n, 1)]) {
        let entry =
            Entry { flags: EntryFlags::of(false, CommitTs(7), false), ts: CommitTs(7), payload: vec![n; 9] };
        let record = Record::leaf_insert(usize::from(n), &[n, 1, 2], entry.view());
        redo(&mut leaves[leaf], &record).unwrap();
    }
    let mut branch = formatted(4096, 1, b"a", Some(b"b"));
    for n in 1..60u8 {
        redo(&mut branch, &Record::branch_insert(usize::from(n), &[n, 1], PageNo(9))).unwrap();
    }
    let mut faults = 0;
    for round in 0..30_000 {
        let mut page = match round / 3 % 3 {
            0 => branch.clone(),
            leaf => leaves[leaf - 1].clone(),
        };
        match round % 3 {
            // Random bytes everywhere, in a few bytes of the header, or in a few bytes anywhere.
            0 => rng.fill_bytes(&mut page[32..]),
            1 => (0..rng.random_range(1..4)).for_each(|_| page[rng.random_range(32..80)] = rng.random()),
            _ => (0..rng.random_range(1..9)).for_each(|_| page[rng.random_range(32..4096)] = rng.random()),
        }
        let mut payload = vec![0; rng.random_range(0..80)];
        rng.fill_bytes(&mut payload);
        for _ in 0..3 {
            let _ = TreeRedo.redo(rng.random_range(0..12), &mut page.clone(), &payload);
            payload.insert(0, 0);
            payload.insert(0, rng.random_range(0..70));
        }
        let Ok(node) = Node::open(&page) else {
            faults += 1;
            continue;
        };
        faults += usize::from(check(&node).is_err());
        let key = [b'a', rng.random(), rng.random()];
        let _ = (node.lower_bound(&key), settle_gain(&node, CommitTs(9)));
        let _ = policy::split_leaf(&node, &key, 20);
        let _ = policy::merged_size(&node, &node);
        for slot in [0, 1, node.count() / 2, node.count()] {
            let _ = (
                node.entry(slot, &mut Vec::new()),
                node.key(slot),
                node.child(slot),
                node.search().flags(slot),
            );
            let _ = (node.key_into(slot, &mut Vec::new()), node.search().live(slot..slot + 3));
        }
        if !node.is_leaf() {
            let _ = (node.child_for(&key), node.child_before(Some(&key)), policy::split_branch(&node, &key));
        }
    }
    assert!(faults > 10_000, "{faults}");
}

/// The last node of a level keeps a prefix although it has no upper fence.
#[test]
fn prefix_without_upper_fence_follows_the_keys() {
    FORMATS.into_iter().for_each(prefix_follows_the_keys);
}

fn prefix_follows_the_keys(format: LeafFormat) {
    let mut page = empty_leaf(format, 4096, &[0, 0, 1, 4], None);
    let mut model = Model::new();
    for n in (0x104..0x140u32).chain([0x200, 0x201, 0x1_0000, 0x100_0000]) {
        let key = n.to_be_bytes().to_vec();
        let node = Node::open(&page).unwrap();
        let free = node.free();
        let wanted = node.prefix_for(&key);
        if let Some(len) = wanted {
            let expected = node.free_with_prefix(len);
            redo(&mut page, &Record::set_prefix(len)).unwrap();
            let now = Node::open(&page).unwrap().free();
            let right = if format == LeafFormat::Plain { now == expected } else { now >= expected };
            assert!(model.is_empty() || right && expected < free);
        }
        let node = Node::open(&page).unwrap();
        assert_eq!(node.prefix_for(&key), None);
        let entry = Entry { flags: EntryFlags(0), ts: CommitTs(0), payload: vec![1] };
        let slot = node.lower_bound(&key).unwrap().0;
        let record = Record::leaf_insert(slot, &key[node.prefix().len()..], entry.view());
        redo(&mut page, &record).unwrap();
        model.insert(key, entry);
        compare(&page, &model);
    }
    assert_eq!(Node::open(&page).unwrap().prefix(), &[0u8; 0]);
    // The prefix may not become longer than the keys allow, and an upper fence determines it.
    assert!(redo(&mut page, &Record::set_prefix(1)).is_err());
    let mut bounded = formatted(4096, 0, &[1, 2], Some(&[1, 3]));
    assert!(redo(&mut bounded, &Record::set_prefix(0)).is_err());
}
