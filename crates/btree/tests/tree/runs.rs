//! Changes of neighbours that share a mini-transaction.

use super::fixture::{Entry, Fixture, scan, seeds};
use leafline_btree::{Change, CommitTs, Direction, EntryView};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn changes_made_together_give_the_same_tree_as_changes_made_one_by_one() {
    for seed in seeds(4) {
        let mut random = SmallRng::seed_from_u64(seed);
        let fixture = Fixture::new(4096, 256);
        let mut model: BTreeMap<Vec<u8>, Entry> = BTreeMap::new();
        let (mut changes, mut groups) = (0, 0);
        for ts in 1..150 {
            let wide = random.random_bool(0.5);
            let base: u32 = random.random_range(0..2000);
            let keys: BTreeSet<Vec<u8>> = (0..random.random_range(1..60u32))
                .map(|n| if wide { random.random_range(0..2500u32) } else { base + n })
                .map(|key| key.to_be_bytes().to_vec())
                .collect();
            let keys: Vec<Vec<u8>> = keys.into_iter().collect();
            let kinds: Vec<u32> = keys.iter().map(|_| random.random_range(0..10)).collect();
            let payload = vec![seed as u8; random.random_range(0..120)];
            let change = |number: usize, entry: bool| match kinds[number] {
                0 => Change::Keep,
                1 | 2 => Change::Remove,
                3 => Change::Ghost { ts: CommitTs(ts), has_previous: entry, keep_payload: false },
                _ => {
                    Change::Put { payload: payload.as_slice().into(), ts: CommitTs(ts), has_previous: entry }
                }
            };
            for (number, key) in keys.iter().enumerate() {
                let before = model.contains_key(key);
                let previous = if before { 4 } else { 0 };
                let entry = match change(number, before) {
                    Change::Keep => continue,
                    Change::Remove => {
                        model.remove(key);
                        continue;
                    }
                    Change::Ghost { .. } => Entry { flags: 3 | previous, ts, payload: Vec::new() },
                    Change::Put { .. } => Entry { flags: 2 | previous, ts, payload: payload.clone() },
                };
                model.insert(key.clone(), entry);
            }
            let mut done = 0;
            while done < keys.len() {
                let left = keys.len() - done;
                let pages = fixture.tree.worst_case_pages_for(left, 4 + payload.len());
                let log = fixture.tree.worst_case_log_for(left, 4, payload.len());
                let mut reservation = fixture.store.reserve(pages, log).expect("a reservation");
                let key = |number: usize| keys.get(done + number).map(Vec::as_slice);
                let mut decide =
                    |number: usize, entry: Option<EntryView<'_>>| change(done + number, entry.is_some());
                let made = fixture.tree.modify_run(&mut reservation, &key, CommitTs(0), &mut decide);
                let made = made.expect("changes");
                assert!((1..=left).contains(&made), "{made} of {left}");
                (changes, groups, done) = (changes + made, groups + 1, done + made);
            }
            fixture.tree.verify().expect("a sound tree");
        }
        let all: Vec<_> = model.into_iter().collect();
        assert_eq!(scan(&fixture.tree, Direction::Forward), all);
        assert!(groups * 2 < changes, "{changes} changes in {groups} groups");
        fixture.assert_reservations_sufficed();
    }
}
