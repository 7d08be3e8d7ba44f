//! The fill of leaves after interleaved runs of inserts and after deletes.

use leafline_btree::{Change, CommitTs};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use super::fixture::{Fixture, mixed};

const ENTRIES: u32 = 20_000;
/// Bytes of the payload of an entry.
const PAYLOAD: usize = 60;

fn fill(fixture: &Fixture) -> f64 {
    fixture.tree.verify().expect("a sound tree").fill
}

#[test]
fn runs_that_go_on_in_the_middle_of_a_composite_key_leave_full_pages_behind() {
    let (users, rows) = (20u32, 1000u32);
    let fixture = Fixture::new(4096, 4096);
    let mut rng = SmallRng::seed_from_u64(1);
    let mut next = vec![0u32; users as usize];
    let mut open: Vec<u32> = (0..users).collect();
    while !open.is_empty() {
        let at = rng.random_range(0..open.len());
        let user = open[at];
        let seq = &mut next[user as usize];
        fixture.put(
            &[user.to_be_bytes(), seq.to_be_bytes()].concat(),
            &mixed((user * rows + *seq).into(), PAYLOAD),
            1,
        );
        *seq += 1;
        if *seq == rows {
            open.swap_remove(at);
        }
    }
    fixture.assert_reservations_sufficed();
    let fill = fill(&fixture);
    println!("composite: {fill:.3}");
    // Each user has about twenty leaves, of which the first and the last are not filled.
    assert!(fill > 0.8, "filled {fill:.3}");
}

/// Turns some entries of a tree, which was filled in random order, to ghosts and purges them. Returns the fill of the
/// leaves.
fn fill_after_deletes(deleted: impl Fn(&mut SmallRng, u32) -> bool, in_order: bool) -> f64 {
    let fixture = Fixture::new(4096, 4096);
    let mut rng = SmallRng::seed_from_u64(2);
    let mut keys: Vec<u32> = (0..ENTRIES).collect();
    keys.shuffle(&mut rng);
    keys.iter().for_each(|n| fixture.put(&n.to_be_bytes(), &mixed((*n).into(), PAYLOAD), 1));
    if in_order {
        keys.sort_unstable();
    }
    keys.retain(|n| deleted(&mut rng, *n));
    for n in &keys {
        let ghost = Change::Ghost { keep_payload: false, ts: CommitTs(2), has_previous: false };
        fixture.change(&n.to_be_bytes(), 0, ghost);
    }
    for n in &keys {
        // Another purge of the leaf may have removed this ghost.
        fixture.purge(&n.to_be_bytes(), 3);
    }
    let report = fixture.tree.verify().expect("a sound tree");
    assert_eq!((report.entries, report.ghosts), (u64::from(ENTRIES) - keys.len() as u64, 0));
    let (splits, merges) = (fixture.tree.splits(), fixture.tree.merges());
    // The tree also gains and loses pages when it gains and loses a level.
    let levels = u64::from(report.levels);
    let pages = report.leaves + report.branches;
    assert!(
        (pages - levels..=pages + levels).contains(&(1 + splits - merges)),
        "{splits}, {merges}: {report:?}"
    );
    report.fill
}

#[test]
fn leaves_do_not_stay_nearly_empty_after_deletes() {
    // A leaf below half merges with a neighbour if both leave a quarter free.
    type Deleted = fn(&mut SmallRng, u32) -> bool;
    let cases: [(&str, Deleted, f64); 5] = [
        ("half at random", |rng, _| rng.random_ratio(1, 2), 0.5),
        ("nine in ten at random", |rng, _| rng.random_ratio(9, 10), 0.45),
        ("every other", |_, n| n % 2 == 0, 0.5),
        ("all but every tenth", |_, n| n % 10 != 0, 0.45),
        ("a range", |_, n| (ENTRIES / 10..ENTRIES / 10 * 9).contains(&n), 0.6),
    ];
    for (what, deleted, least) in cases {
        for in_order in [false, true] {
            let fill = fill_after_deletes(deleted, in_order);
            println!("{what}, in order {in_order}: {fill:.3}");
            assert!(fill > least, "{what}, in order {in_order}: filled {fill:.3}");
        }
    }
}
