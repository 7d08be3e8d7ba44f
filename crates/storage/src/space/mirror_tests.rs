//! Tests the promise of reservations: whatever is taken in whatever order, a promised page is there.

use super::layout::EXTENT_PAGES;
use super::mirror::SpaceState;
use super::record::ExtentUse;
use super::segment::EntryAt;
use super::{SINGLE_PAGES, SegmentState};
use crate::{Lsn, PageClass, PageNo, SegmentId};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

fn seeds() -> Vec<u64> {
    let scale = std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1);
    match std::env::var("LEAFLINE_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => vec![seed],
        None => (0..60 * scale).collect(),
    }
}

fn state(extents: usize) -> SpaceState {
    let mut state = SpaceState::new();
    state.add_extent(Some((ExtentUse::Shared, 0b111)));
    (1..extents).for_each(|_| state.add_extent(None));
    state
}

fn add_segment(state: &mut SpaceState) -> SegmentId {
    let id = SegmentId(state.next_segment);
    state.add_segment(id, EntryAt { page: PageNo(2), entry: id.0 as u16 }, SegmentState::Live);
    id
}

/// A page that the test has taken.
#[derive(Clone, Copy)]
struct Page {
    page: PageNo,
    owner: SegmentId,
    single: Option<u8>,
}

#[test]
fn promised_pages_are_there_whatever_is_taken_and_freed_meanwhile() {
    let mut refused = 0;
    for seed in seeds() {
        eprintln!("seed {seed}");
        let mut rng = SmallRng::seed_from_u64(seed);
        let mut state = state(rng.random_range(8..40));
        let mut segments: Vec<SegmentId> = (0..3).map(|_| add_segment(&mut state)).collect();
        let mut promises: Vec<u64> = Vec::new();
        let mut pages: Vec<Page> = Vec::new();
        for _ in 0..3000 {
            match rng.random_range(0..20) {
                0..4 => {
                    let most = if rng.random_bool(0.1) { 120 } else { 12 };
                    let wanted = rng.random_range(1..most);
                    match state.promise(wanted) {
                        Ok(()) => promises.push(wanted),
                        Err(lacking) => {
                            assert!(lacking > 0);
                            refused += 1;
                        }
                    }
                }
                4..14 if !promises.is_empty() => {
                    let index = rng.random_range(0..promises.len());
                    let (segment, class) = taker(&state, &segments, &mut rng);
                    let taken = state.take(segment, class, Some).unwrap();
                    let (taken, page) = taken.expect("a promised page is not there");
                    assert_eq!(taken.page, page);
                    let single = taken.single.map(|(_, slot)| slot);
                    pages.push(Page { page, owner: segment, single });
                    promises[index] -= 1;
                    if promises[index] == 0 {
                        promises.swap_remove(index);
                    }
                }
                14 if !promises.is_empty() => {
                    let promise = promises.swap_remove(rng.random_range(0..promises.len()));
                    state.take_back(promise);
                }
                15 if segments.len() < 12 && state.promise_new_segment().is_ok() => {
                    segments.push(add_segment(&mut state));
                    state.end_new_segment();
                }
                16 => {
                    let segment = segments[rng.random_range(0..segments.len())];
                    if let Some(extent) = state.take_extent(segment, PageClass::Leaf, Lsn(u64::MAX)) {
                        let index = |bit| Page { page: extent.page(bit), owner: segment, single: None };
                        pages.extend((0..EXTENT_PAGES as u32).map(index));
                    }
                }
                17 => state.give_some_back(&mut rng),
                _ => {
                    for _ in 0..rng.random_range(0..40) {
                        if pages.is_empty() {
                            break;
                        }
                        let freed = pages.swap_remove(rng.random_range(0..pages.len()));
                        free(&mut state, freed);
                    }
                }
            }
            check(&state, &pages);
        }
        // All promised pages can be taken, to the last one.
        let left: u64 = promises.iter().sum();
        for _ in 0..left {
            let (segment, class) = taker(&state, &segments, &mut rng);
            assert!(state.take(segment, class, Some).unwrap().is_some(), "a promised page is not there");
        }
    }
    assert!(refused > 0, "space never ran out");
}

impl SpaceState {
    /// Makes holes of some free extents, or fills some.
    fn give_some_back(&mut self, rng: &mut SmallRng) {
        if rng.random_bool(0.5) {
            self.take_for_holes(rng.random_bool(0.8), Lsn(u64::MAX));
        } else {
            let some: Vec<_> = self.bare.iter().copied().take(rng.random_range(0..8)).collect();
            self.set_backed(&some);
        }
    }
}

/// Chooses the segment and class that take a page: any, or one whose extents have the fewest unused pages.
fn taker(state: &SpaceState, segments: &[SegmentId], rng: &mut SmallRng) -> (SegmentId, PageClass) {
    if rng.random_bool(0.5) {
        let class = if rng.random_bool(0.3) { PageClass::Branch } else { PageClass::Leaf };
        return (segments[rng.random_range(0..segments.len())], class);
    }
    let classes = [PageClass::Leaf, PageClass::Branch];
    let takers = segments.iter().flat_map(|id| classes.map(|class| (*id, class)));
    let unused = |(id, class): &(SegmentId, PageClass)| {
        let segment = state.segment(*id).unwrap();
        segment.unused().map_or(segment.free_singles(), |unused| unused[*class as usize])
    };
    takers.min_by_key(unused).unwrap()
}

fn free(state: &mut SpaceState, page: Page) {
    match page.single {
        Some(slot) => state.give_back_single(page.owner, slot, Lsn(5)),
        None => {
            let (extent, bit) = super::layout::ExtentNo::of(page.page).unwrap();
            state.give_back(extent, bit, Lsn(5));
        }
    }
}

fn check(state: &SpaceState, pages: &[Page]) {
    let counted: u64 = state.segment_infos().iter().map(|info| info.pages).sum();
    assert_eq!(counted, pages.len() as u64);
    let used: u32 = state.extents.iter().map(|extent| extent.pages.count_ones()).sum();
    assert_eq!(used as usize, pages.len() + 3);
    let free = state.extents.iter().filter(|extent| extent.usage.is_none()).count();
    assert_eq!(free as u64, state.unowned_extents());
    assert!(state.segments.values().all(|segment| segment.singles.len() == SINGLE_PAGES));
}

#[test]
fn extent_freed_by_a_group_that_is_not_durable_is_not_given_to_unlogged_writers() {
    let mut state = state(3);
    let segment = add_segment(&mut state);
    let first = state.take_extent(segment, PageClass::Leaf, Lsn(10)).unwrap();
    let second = state.take_extent(segment, PageClass::Leaf, Lsn(10)).unwrap();
    assert_eq!(state.take_extent(segment, PageClass::Leaf, Lsn(10)), None);
    state.give_back(first, u64::MAX, Lsn(20));
    assert_eq!(state.take_extent(segment, PageClass::Leaf, Lsn(19)), None);
    assert_eq!(state.newest_free_lsn(), Lsn(20));
    assert_eq!(state.take_extent(segment, PageClass::Leaf, Lsn(20)), Some(first));
    assert_ne!(first, second);
}
