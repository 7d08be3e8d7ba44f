//! Reading a store whose own pages are damaged.

use crate::support::*;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{Env, NoReplay, PageNo, SalvagedStore, SegmentState, StorageError, Store};
use std::sync::Arc;

const MAP: PageNo = PageNo(1);
const DIRECTORY: PageNo = PageNo(2);

fn remains(env: &SimulatedEnv) -> (Store, SalvagedStore) {
    let env = Arc::new(env.clone()) as Arc<dyn Env>;
    let handlers: Vec<(_, Arc<dyn leafline_storage::RedoHandler>)> = vec![(TEST, Arc::new(TestRedo))];
    Store::open_remains(env, options(SMALL_POOL), handlers, &mut NoReplay).unwrap()
}

/// Flips a bit of the page, and destroys the copies of the pages written last.
fn damage(env: &SimulatedEnv, page: PageNo) {
    env.damage("data", page.0 * PAGE as u64 + 100, &mut |bytes| bytes[0] ^= 1).unwrap();
    env.damage("doublewrite", 0, &mut |bytes| bytes[0] = 0xff).unwrap();
}

#[test]
fn pages_say_whose_they_are_where_maps_and_directory_cannot() {
    let env = SimulatedEnv::new();
    let store = open(&env).unwrap();
    let (first, root) = new_segment(&store).unwrap();
    let (second, other) = new_segment(&store).unwrap();
    let (dropped, freed) = new_segment(&store).unwrap();
    store.drop_segment(dropped).unwrap();
    // The page was written while it was in use, and is unchanged.
    store.close().unwrap();
    let (whole, sound) = remains(&env);
    assert_eq!(whole.segments(), []);
    assert_eq!((sound.first_segment(), sound.directory_is_whole), (Some(first), true));
    assert!(sound.damaged.is_empty() && sound.unknown.is_empty());
    assert_eq!((sound.segments[&first].root, sound.segments[&first].certain.as_slice()), (root, &[root][..]));
    assert!(!sound.segments.contains_key(&dropped), "page {freed} is free");
    drop(whole);

    damage(&env, MAP);
    assert!(matches!(open(&env), Err(StorageError::Corrupt { page: MAP, .. })));
    let (store, found) = remains(&env);
    assert!(found.damaged.contains_key(&MAP) && found.directory_is_whole);
    assert_eq!(found.segments[&second].state, Some(SegmentState::Live));
    // The directory lists single pages.
    assert_eq!(found.segments[&second].certain, [other]);
    assert_eq!(cell(&store.shared(other).unwrap(), 0), 0);
    drop(store);

    damage(&env, DIRECTORY);
    let (_, found) = remains(&env);
    assert!(found.damaged.contains_key(&DIRECTORY) && !found.directory_is_whole);
    assert_eq!((found.segments[&second].state, found.segments[&second].root), (None, PageNo::NONE));
    assert_eq!(
        (found.segments[&second].certain.len(), found.segments[&second].claimed.as_slice()),
        (0, &[other][..])
    );
    assert_eq!(found.first_segment(), Some(first));

    damage(&env, other);
    let (_, found) = remains(&env);
    assert!(found.unknown.contains(&other) && !found.segments.contains_key(&second));
}

#[test]
fn remains_of_nothing_are_an_error_and_nothing_is_made() {
    let env = SimulatedEnv::new();
    let shared = Arc::new(env.clone()) as Arc<dyn Env>;
    let opened =
        Store::open_remains(shared, options(SMALL_POOL), vec![(TEST, Arc::new(TestRedo))], &mut NoReplay);
    assert!(matches!(opened, Err(StorageError::Format { .. })));
    assert!(!env.exists("data").unwrap());
}
