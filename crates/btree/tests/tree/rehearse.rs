//! Changes take exactly what a rehearsal of them has computed.

use super::fixture::{Fixture, mixed, seeds};
use leafline_btree::{Change, CommitTs, EntryView, Rehearsal};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;

/// Makes keys for deep trees, some of them long, in ascending order.
fn keys(random: &mut SmallRng) -> Vec<Vec<u8>> {
    let base = random.random_range(0..30_000u32);
    let (wide, long) = (random.random_bool(0.5), random.random_bool(0.3));
    let count = random.random_range(1..400);
    let keys: BTreeSet<Vec<u8>> = (0..count)
        .map(|n| {
            let number = if wide { random.random_range(0..40_000u32) } else { base + n };
            let mut key = number.to_be_bytes().to_vec();
            if long {
                key.extend(mixed(u64::from(number), (number % 700) as usize));
            }
            key
        })
        .collect();
    keys.into_iter().collect()
}

#[test]
fn changes_take_the_pages_of_their_rehearsal_and_no_more_log() {
    for seed in seeds(4) {
        let mut random = SmallRng::seed_from_u64(seed);
        let fixture = Fixture::new(4096, 4096);
        let (mut taken, mut free_of_splits) = (0, 0);
        for ts in 1..120 {
            let keys = keys(&mut random);
            let ghosts = random.random_range(0..10);
            let most = if random.random_bool(0.2) { 1000 } else { 120 };
            let changes: Vec<(bool, Vec<u8>)> = keys
                .iter()
                .map(|_| (random.random_range(0..10) < ghosts, vec![7; random.random_range(0..most)]))
                .collect();
            let purge_before = CommitTs(if random.random_bool(0.5) { ts } else { 0 });
            let change = |number: usize, entry: Option<EntryView<'_>>| {
                let (is_ghost, payload): &(bool, Vec<u8>) = &changes[number];
                let has_previous = entry.is_some();
                match is_ghost {
                    true => Change::Ghost { ts: CommitTs(ts), has_previous, keep_payload: false },
                    false => Change::Put { payload: payload.clone().into(), ts: CommitTs(ts), has_previous },
                }
            };
            let mut rehearsal = Rehearsal::new(&fixture.tree, purge_before).expect("a tree");
            for (number, key) in keys.iter().enumerate() {
                rehearsal.modify(key, &mut |entry| change(number, entry)).expect("a change");
            }
            let (pages, log) = (rehearsal.pages(), rehearsal.log());
            let mut reservation = fixture.store.reserve(pages, log).expect("a reservation");
            let mut done = 0;
            while done < keys.len() {
                let key = |number: usize| keys.get(done + number).map(Vec::as_slice);
                let mut decide = |number: usize, entry: Option<EntryView<'_>>| change(done + number, entry);
                done += fixture
                    .tree
                    .modify_run(&mut reservation, &key, purge_before, &mut decide)
                    .unwrap_or_else(|error| panic!("seed {seed}, at {ts}: {error}"));
            }
            assert_eq!(reservation.pages(), 0, "seed {seed}, at {ts}: of {pages} pages");
            taken += pages;
            free_of_splits += usize::from(pages == 0);
        }
        fixture.tree.verify().expect("a sound tree");
        assert!(fixture.tree.depth().expect("a tree") > 2);
        assert!(taken > 500 && free_of_splits > 5, "seed {seed}: {taken} pages, {free_of_splits} without");
        fixture.assert_reservations_sufficed();
    }
}
