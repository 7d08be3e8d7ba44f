//! Backups under a workload: a restored store is, to the step, the store as of the backup's end.

use super::support::*;
use leafline_storage::device::SimulatedEnv;
use leafline_storage::{
    Backup, BulkWriter, Env, Manifest, OpenMode, PageClass, PageKind, PageNo, Restore, Result,
    SEGMENT_LOG_BYTES, SegmentId, SegmentState, StorageError, Store, Verification, page,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;

fn shared(env: &SimulatedEnv) -> Arc<dyn Env> {
    Arc::new(env.clone())
}

/// Writes the whole backup with nothing between its steps.
fn finish(mut backup: Backup) -> Result<Manifest> {
    while backup.step()? {}
    backup.end()?;
    backup.finish()
}

fn verify(env: &SimulatedEnv) -> Result<Manifest> {
    let mut verification = Verification::begin(shared(env))?;
    while verification.step()? {}
    Ok(verification.manifest().clone())
}

/// Restores the chain of backups into files.
fn restored_files(backups: &[SimulatedEnv]) -> Result<SimulatedEnv> {
    let target = SimulatedEnv::new();
    let chain: Vec<Arc<dyn Env>> = backups.iter().map(shared).collect();
    let mut restore = Restore::begin(shared(&target), &chain, &[])?;
    while restore.step()? {}
    restore.finish()?;
    Ok(target)
}

/// Opens a restored store, closes it, and opens it like any other.
fn opened(target: &SimulatedEnv) -> Store {
    let first = open_with(target, options(SMALL_POOL));
    assert!(matches!(first, Err(StorageError::Format { .. })), "a restore that is not completed");
    let restoring = leafline_storage::StoreOptions { restoring: true, ..options(SMALL_POOL) };
    open_with(target, restoring).unwrap().close().unwrap();
    Restore::complete(target).unwrap();
    target.cut(7);
    open(target).unwrap()
}

/// A tree that is written past the log, some pages at a time.
struct Build {
    segment: SegmentId,
    writer: BulkWriter,
    pages: BTreeMap<PageNo, u64>,
}

impl Build {
    fn begin(store: &Store) -> Build {
        let mut reservation = store.reserve(0, 4 * SEGMENT_LOG_BYTES).unwrap();
        let segment = store.create_segment(&mut reservation).unwrap();
        Build { segment, writer: store.bulk_writer(segment).unwrap(), pages: BTreeMap::new() }
    }

    fn write(&mut self, count: usize, rng: &mut SmallRng) {
        for _ in 0..count {
            let class = if rng.random_bool(0.1) { PageClass::Branch } else { PageClass::Leaf };
            let (page, value) = (self.writer.allocate(class).unwrap(), rng.random());
            let mut image = vec![0; PAGE];
            page::set_kind(&mut image, PageKind::LEAF, 1);
            image.chunks_mut(8).skip(4).for_each(|cell| cell.copy_from_slice(&u64::to_le_bytes(value)));
            self.writer.write(page, &image).unwrap();
            self.pages.insert(page, value);
        }
    }

    fn finish(self, store: &Store) -> (SegmentId, BTreeMap<PageNo, u64>) {
        self.writer.finish(*self.pages.keys().next_back().unwrap()).unwrap();
        let mut reservation = store.reserve(0, 4 * SEGMENT_LOG_BYTES).unwrap();
        store.set_segment_state(&mut reservation, self.segment, SegmentState::Live).unwrap();
        (self.segment, self.pages)
    }
}

/// The workload, and trees that are built and dropped beside it.
struct World {
    run: Workload,
    rng: SmallRng,
    build: Option<Build>,
    built: BTreeMap<SegmentId, BTreeMap<PageNo, u64>>,
}

impl World {
    fn create(env: &SimulatedEnv, seed: u64) -> World {
        let stride = if seed.is_multiple_of(2) { 1 } else { 12 };
        let run = Workload::create_with_stride(env, seed, stride);
        World { run, rng: SmallRng::seed_from_u64(seed + 1), build: None, built: BTreeMap::new() }
    }

    fn go_on(&mut self, most: usize) {
        let count = self.rng.random_range(0..=most);
        self.run.run(count).unwrap();
        let store = self.run.store.clone();
        match self.rng.random_range(0..10) {
            0..4 => {
                let mut build = self.build.take().unwrap_or_else(|| Build::begin(&store));
                build.write(self.rng.random_range(1..150), &mut self.rng);
                self.build = Some(build);
            }
            4 => {
                let build = self.build.take();
                self.built.extend(build.map(|build| build.finish(&store)));
            }
            5 if self.built.len() > 2 => {
                if let Some((segment, _)) = self.built.pop_first() {
                    store.drop_segment(segment).unwrap();
                }
            }
            _ => {}
        }
    }

    /// Makes a backup with work between its steps. Returns the steps of the workload and the trees that it must hold.
    fn back_up(&mut self, to: &SimulatedEnv, parent: Option<Manifest>, most: usize) -> (Manifest, Expected) {
        let mut backup = self.run.store.begin_backup(shared(to), parent).unwrap();
        assert!(matches!(
            self.run.store.begin_backup(Arc::new(SimulatedEnv::new()), None),
            Err(StorageError::Backup { .. })
        ));
        self.go_on(most);
        while backup.step().unwrap() {
            self.go_on(most);
        }
        backup.end().unwrap();
        let expected = Expected { steps: self.run.history.steps.len(), built: self.built.clone() };
        (0..3).for_each(|_| self.go_on(most));
        (backup.finish().unwrap(), expected)
    }

    fn check(&self, backups: &[SimulatedEnv], expected: &Expected) {
        let store = opened(&restored_files(backups).unwrap());
        let counter = self.run.counter();
        let started = self.run.history.base[&counter].1[0];
        let steps = (cell(&store.shared(counter).unwrap(), 0) - started) as usize;
        assert_eq!(steps, expected.steps);
        for (page, (segment, cells)) in &self.run.history.pages_after(steps) {
            let guard = store.shared(*page).unwrap();
            assert_eq!(guard.owner(), *segment);
            assert!((0..CELLS).all(|at| cell(&guard, at) == cells[at]), "page {page}");
        }
        for (segment, pages) in &expected.built {
            for (page, value) in pages {
                let guard = store.shared(*page).unwrap();
                assert_eq!((guard.owner(), cell(&guard, 99)), (*segment, *value), "page {page}");
            }
        }
        // The program that opens a store drops unfinished segments; so does this.
        for info in store.segments() {
            assert_eq!(info.state == SegmentState::Live, {
                let of_workload = self.run.history.base.values().any(|(segment, _)| *segment == info.id);
                of_workload || expected.built.contains_key(&info.id)
            });
            if info.state != SegmentState::Live {
                store.drop_segment(info.id).unwrap();
            }
        }
        assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
    }
}

struct Expected {
    steps: usize,
    built: BTreeMap<SegmentId, BTreeMap<PageNo, u64>>,
}

#[test]
fn a_restored_store_is_the_store_as_of_the_end_of_the_backup() {
    for seed in seeds(12) {
        eprintln!("seed {seed}");
        let env = SimulatedEnv::new();
        let mut world = World::create(&env, seed);
        (0..60).for_each(|_| world.go_on(10));
        let mut chain = vec![SimulatedEnv::new()];
        let (mut manifest, expected) = world.back_up(&chain[0], None, 12);
        assert_eq!(verify(&chain[0]).unwrap(), manifest);
        world.check(&chain, &expected);
        for _ in 0..3 {
            (0..30).for_each(|_| world.go_on(10));
            let next = SimulatedEnv::new();
            let (found, expected) = world.back_up(&next, Some(manifest.clone()), 12);
            assert_eq!((found.parent, found.base), (Some(manifest.id), manifest.redo));
            manifest = found;
            chain.push(next);
            assert_eq!(verify(&chain[chain.len() - 1]).unwrap(), manifest);
            world.check(&chain, &expected);
        }
    }
}

#[test]
fn an_incremental_backup_has_few_pages_and_refuses_to_be_alone() {
    let env = SimulatedEnv::new();
    let mut run = Workload::create(&env, 3);
    run.run(2000).unwrap();
    let (full, next, other) = (SimulatedEnv::new(), SimulatedEnv::new(), SimulatedEnv::new());
    let manifest = finish(run.store.begin_backup(shared(&full), None).unwrap()).unwrap();
    assert!(manifest.pages > 100);
    let second = finish(run.store.begin_backup(shared(&next), Some(manifest.clone())).unwrap()).unwrap();
    assert!(second.pages < 5, "{} pages where nothing was changed", second.pages);
    let third = finish(run.store.begin_backup(shared(&other), Some(second)).unwrap()).unwrap();
    let refused = |backups: &[&SimulatedEnv]| {
        let backups: Vec<SimulatedEnv> = backups.iter().map(|env| (*env).clone()).collect();
        restored_files(&backups).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(refused(&[&next]).contains("the first backup is an incremental one"));
    assert!(refused(&[&full, &other]).contains("was made from another backup"));
    assert!(refused(&[&full, &full]).contains("the second one is a full backup"));
    assert_eq!(refused(&[&full, &next, &other]), "");
    // The restored store is another database.
    let store = opened(&restored_files(&[full.clone(), next.clone()]).unwrap());
    let error = store.begin_backup(Arc::new(SimulatedEnv::new()), Some(third)).err().unwrap();
    assert!(error.to_string().contains("of another database"), "{error}");
    assert!(matches!(
        run.store.begin_backup(shared(&full), Some(manifest)),
        Err(StorageError::Backup { .. })
    ));
}

#[test]
fn damage_of_the_store_is_an_error_that_names_the_page_and_no_backup() {
    let env = SimulatedEnv::new();
    let mut run = Workload::create(&env, 4);
    run.run(1000).unwrap();
    run.store.checkpoint().unwrap();
    run.store.evict_clean_pages();
    let page = *run.pages.keys().find(|page| !run.store.is_resident(**page) && page.0 > 70).unwrap();
    env.damage("data", page.0 * PAGE as u64 + 2000, &mut |bytes| bytes[0] ^= 1).unwrap();
    let to = SimulatedEnv::new();
    let error = finish(run.store.begin_backup(shared(&to), None).unwrap()).unwrap_err();
    assert!(matches!(error, StorageError::Corrupt { page: found, .. } if found == page), "{error}");
    assert!(verify(&to).unwrap_err().to_string().contains("no complete backup"));
    assert!(restored_files(&[to]).is_err());
    // Changed pages that are in memory are written again.
    let change = |run: &mut Workload| run.run(300);
    assert!(change(&mut run).is_err(), "the page is read some time");
}

#[test]
fn damage_of_a_backup_is_found_by_verifying_it_and_by_restoring_it() {
    let env = SimulatedEnv::new();
    let mut run = Workload::create(&env, 5);
    run.run(500).unwrap();
    let whole = SimulatedEnv::new();
    let mut backup = run.store.begin_backup(shared(&whole), None).unwrap();
    run.run(100).unwrap();
    while backup.step().unwrap() {}
    backup.end().unwrap();
    backup.finish().unwrap();
    verify(&whole).unwrap();
    let mut rng = SmallRng::seed_from_u64(6);
    for name in ["manifest", "pages", "log"] {
        let size = whole.open(name, OpenMode::Existing).unwrap().size().unwrap();
        for _ in 0..30 {
            // Zeros behind the content of the other files do not matter.
            let at = rng.random_range(0..size);
            let at = if name == "manifest" { at } else { at / 2 };
            let damaged = whole.snapshot();
            damaged.damage(name, at, &mut |bytes| bytes[0] ^= 1 << rng.random_range(0..8)).unwrap();
            assert!(verify(&damaged).is_err(), "byte {at} of {name}");
            assert!(restored_files(&[damaged]).is_err(), "byte {at} of {name}");
        }
        let cut = whole.snapshot();
        cut.open(name, OpenMode::Existing).unwrap().truncate(size / 8192 * 4096).unwrap();
        assert!(verify(&cut).is_err() && restored_files(&[cut]).is_err(), "{name} is cut short");
        let gone = whole.snapshot();
        gone.remove(name).unwrap();
        assert!(verify(&gone).is_err() && restored_files(&[gone]).is_err(), "{name} is gone");
    }
}

/// Cuts the power at every step of writing a backup, and of restoring one.
#[test]
fn an_interrupted_backup_or_restore_is_recognised_as_incomplete() {
    let env = SimulatedEnv::new();
    let mut run = Workload::create(&env, 8);
    run.run(400).unwrap();
    let whole = SimulatedEnv::new();
    let before = whole.counts().changes();
    finish(run.store.begin_backup(shared(&whole), None).unwrap()).unwrap();
    let changes = whole.counts().changes() - before;
    for cut in 0..changes {
        let to = SimulatedEnv::new();
        to.power_cut_after(cut);
        let result = run.store.begin_backup(shared(&to), None).and_then(finish);
        to.reboot(cut);
        match result {
            Ok(_) => drop(verify(&to).unwrap()),
            // Everything was done except the sync of the directory.
            Err(_) if Manifest::read(&to).is_ok() => drop(verify(&to).unwrap()),
            Err(_) => assert!(restored_files(&[to]).is_err(), "cut {cut}"),
        }
    }
    run.run(100).unwrap();
    let restore = |target: &SimulatedEnv| -> Result<()> {
        let mut restore = Restore::begin(shared(target), &[shared(&whole)], &["others"])?;
        while restore.step()? {}
        restore.finish()
    };
    let target = SimulatedEnv::new();
    let before = target.counts().changes();
    restore(&target).unwrap();
    let changes = target.counts().changes() - before;
    for cut in 0..changes {
        let target = SimulatedEnv::new();
        target.power_cut_after(cut);
        assert!(restore(&target).is_err());
        target.reboot(cut);
        let names = target.list("").unwrap();
        let is_empty = names.iter().all(|name| name == "lock");
        assert!(is_empty || open(&target).is_err(), "cut {cut}: {names:?}");
        let stranger = target.snapshot();
        stranger.open("mine", OpenMode::CreateNew).unwrap();
        assert!(restore(&stranger).is_err() && stranger.list("").unwrap().len() == names.len() + 1);
        // The next restore begins by removing the files that are there.
        restore(&target).unwrap_or_else(|error| panic!("cut {cut}: {error}"));
        if cut % 7 == 0 {
            drop(opened(&target));
        }
        assert!(restore(&target).is_err() == (cut % 7 == 0), "cut {cut}: a database is no remains");
        let given_up = stranger;
        given_up.remove("mine").unwrap();
        Restore::give_up(&given_up, &["others"]).unwrap();
        assert!(given_up.list("").unwrap().iter().all(|name| name == "lock"), "cut {cut}");
    }
}

#[test]
fn a_full_disk_ends_the_backup_and_not_the_store() {
    let env = SimulatedEnv::new();
    let mut run = Workload::create(&env, 9);
    run.run(1000).unwrap();
    let to = SimulatedEnv::new();
    to.set_space_limit(Some(40 * PAGE as u64));
    let error = run.store.begin_backup(shared(&to), None).and_then(finish).unwrap_err();
    assert!(matches!(error, StorageError::BackupIo { .. }), "{error}");
    run.run(300).unwrap();
    let to = SimulatedEnv::new();
    finish(run.store.begin_backup(shared(&to), None).unwrap()).unwrap();
    verify(&to).unwrap();
}
