//! A redo handler for tests, a model of the pages, and a random workload that keeps both in step.

use leafline_storage::device::SimulatedEnv;
use leafline_storage::{
    Env, FREE_PAGE_LOG_BYTES, FlushPolicy, HandlerId, Lsn, NoReplay, PAGE_HEADER, PageClass, PageKind,
    PageNo, RECORD_OVERHEAD, RedoError, RedoHandler, Result, SEGMENT_LOG_BYTES, SegmentId, SegmentState,
    Store, StoreOptions, page,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const PAGE: usize = 4096;
pub const CELLS: usize = (PAGE - PAGE_HEADER) / 8;
pub const TEST: HandlerId = HandlerId(7);
/// Payload: cell u16, amount u64. The change is not idempotent, so a change that is replayed twice or never shows.
pub const ADD: u8 = 1;
/// Payload: value u64 for all cells.
pub const FORMAT: u8 = 2;

/// Returns the factor by which random tests multiply their seeds and operations.
pub fn scale() -> usize {
    std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

/// Returns the seeds to run: the one in the environment, or the first few.
pub fn seeds(count: usize) -> Vec<u64> {
    match std::env::var("LEAFLINE_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => vec![seed],
        None => (1..=(count * scale()) as u64).collect(),
    }
}

pub struct TestRedo;

impl RedoHandler for TestRedo {
    fn redo(&self, kind: u8, page: &mut [u8], payload: &[u8]) -> Result<(), RedoError> {
        let value = |at: usize| page::bytes::u64_at(payload, at).ok_or("short payload");
        match kind {
            ADD => {
                let cell = usize::from(page::bytes::u16_at(payload, 0).ok_or("short payload")?);
                let at = PAGE_HEADER + cell * 8;
                let old = page::bytes::u64_at(page, at).ok_or("cell outside the page")?;
                page::bytes::put(page, at, &old.wrapping_add(value(2)?).to_le_bytes());
            }
            FORMAT => {
                let value = value(0)?.to_le_bytes();
                page::set_kind(page, PageKind::LEAF, 1);
                (0..CELLS).for_each(|cell| assert!(page::bytes::put(page, PAGE_HEADER + cell * 8, &value)));
            }
            _ => return Err("no such record".into()),
        }
        Ok(())
    }
}

pub fn add(cell: usize, amount: u64) -> Vec<u8> {
    [&(cell as u16).to_le_bytes()[..], &amount.to_le_bytes()].concat()
}

pub fn cell(page: &[u8], cell: usize) -> u64 {
    page::bytes::u64_at(page, PAGE_HEADER + cell * 8).unwrap()
}

/// Returns options for tests: small pages, a small pool, no threads.
pub fn options(frames: usize) -> StoreOptions {
    StoreOptions {
        page_size: PAGE,
        buffer_pool_bytes: (frames * PAGE) as u64,
        log_capacity_bytes: 1 << 20,
        flush_log_at_commit: FlushPolicy::EachCommit,
        io_threads: 0,
        native_aio: true,
        warm_up: false,
        recovery_progress: None,
        punch_holes: true,
        restoring: false,
        background: false,
    }
}

pub fn open_with(env: &SimulatedEnv, options: StoreOptions) -> Result<Store> {
    let env: Arc<dyn Env> = Arc::new(env.clone());
    Store::open(env, options, vec![(TEST, Arc::new(TestRedo))], &mut NoReplay)
}

/// About the smallest possible pool, in frames.
pub const SMALL_POOL: usize = 56;

pub fn open(env: &SimulatedEnv) -> Result<Store> {
    open_with(env, options(SMALL_POOL))
}

/// Creates a segment with one page, which is its root.
pub fn new_segment(store: &Store) -> Result<(SegmentId, PageNo)> {
    let mut reservation = store.reserve(1, 4 * SEGMENT_LOG_BYTES)?;
    let segment = store.create_segment(&mut reservation)?;
    let mut change = store.begin(&mut reservation, 1)?;
    let root = change.create_root(segment)?;
    change.apply(root, TEST, FORMAT, &0u64.to_le_bytes())?;
    let page = change.page_no(root);
    change.commit();
    store.set_segment_state(&mut reservation, segment, SegmentState::Live)?;
    store.wait_durable(store.log_end())?;
    Ok((segment, page))
}

/// A mini-transaction in the model.
#[derive(Clone, Debug, Default)]
pub struct Step {
    pub adds: Vec<(PageNo, usize, u64)>,
    pub allocated: Vec<(PageNo, SegmentId, u64)>,
    pub freed: Vec<PageNo>,
}

/// The expected content of pages: owner and cells.
pub type Pages = BTreeMap<PageNo, (SegmentId, Vec<u64>)>;

/// Everything that a run has done, in order. A crash may leave any prefix of it.
#[derive(Clone, Default)]
pub struct History {
    pub base: Pages,
    pub steps: Vec<Step>,
    /// Number of steps that were acknowledged as durable.
    pub durable: usize,
}

impl History {
    pub fn pages_after(&self, steps: usize) -> Pages {
        let mut pages = self.base.clone();
        self.steps[..steps].iter().for_each(|step| apply(&mut pages, step));
        pages
    }
}

fn apply(pages: &mut Pages, step: &Step) {
    for (page, segment, value) in &step.allocated {
        assert!(
            pages.insert(*page, (*segment, vec![*value; CELLS])).is_none(),
            "page {page} allocated twice"
        );
    }
    for (page, cell, amount) in &step.adds {
        let value = &mut pages.get_mut(page).unwrap().1[*cell];
        *value = value.wrapping_add(*amount);
    }
    for page in &step.freed {
        pages.remove(page).unwrap();
    }
}

/// A store with a random workload on it. The first page counts the mini-transactions in its cell 0.
pub struct Workload {
    pub store: Store,
    pub history: History,
    pub pages: Pages,
    segments: Vec<SegmentId>,
    /// Root pages, which are never freed.
    kept: Vec<PageNo>,
    counter: PageNo,
    rng: SmallRng,
    committed: Lsn,
    /// Multiplies the number of pages that are allocated and freed at a time. Above 1, free space is given back from
    /// time to time.
    stride: usize,
}

/// Opens a store with the smallest pool that a workload of this stride can have.
pub fn open_for(env: &SimulatedEnv, stride: usize) -> Result<Store> {
    open_with(env, options(SMALL_POOL + 12 * (stride - 1)))
}

impl Workload {
    /// Makes a new store in `env` with two segments.
    pub fn create(env: &SimulatedEnv, seed: u64) -> Workload {
        Workload::create_with_stride(env, seed, 1)
    }

    /// Makes a new store like [`create`](Self::create), with a stride at which whole extents are taken and freed.
    pub fn create_with_stride(env: &SimulatedEnv, seed: u64, stride: usize) -> Workload {
        let store = open_for(env, stride).unwrap();
        let (first, counter) = new_segment(&store).unwrap();
        let (second, other) = new_segment(&store).unwrap();
        store.checkpoint().unwrap();
        let base: Pages = [(counter, (first, vec![0; CELLS])), (other, (second, vec![0; CELLS]))].into();
        let history = History { base: base.clone(), ..History::default() };
        let rng = SmallRng::seed_from_u64(seed);
        Workload {
            store,
            history,
            pages: base,
            segments: vec![first, second],
            kept: vec![counter, other],
            counter,
            rng,
            committed: Lsn::ZERO,
            stride,
        }
    }

    /// Goes on from this state in a copy of the environment that was taken right after a checkpoint.
    pub fn again(&self, env: &SimulatedEnv, seed: u64) -> Result<Workload> {
        let store = open_for(env, self.stride)?;
        let run = Workload::go_on(store, &self.history, self.history.steps.len(), self.counter, seed);
        Ok(Workload { stride: self.stride, ..run })
    }

    /// Goes on from the state after `steps` of `history`.
    pub fn go_on(store: Store, history: &History, steps: usize, counter: PageNo, seed: u64) -> Workload {
        let pages = history.pages_after(steps);
        let committed = store.log_end();
        Workload {
            segments: store.segments().iter().map(|segment| segment.id).collect(),
            kept: store.segments().iter().map(|segment| segment.root).collect(),
            store,
            history: History { base: pages.clone(), ..History::default() },
            pages,
            counter,
            rng: SmallRng::seed_from_u64(seed),
            committed,
            stride: 1,
        }
    }

    pub fn counter(&self) -> PageNo {
        self.counter
    }

    fn any_page(&mut self) -> PageNo {
        *self.pages.keys().nth(self.rng.random_range(0..self.pages.len())).unwrap()
    }

    /// Does `count` random operations. Stops at the first error.
    pub fn run(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            match self.rng.random_range(0..100) {
                0..60 => self.mini_transaction()?,
                60..75 => {
                    let page = self.any_page();
                    self.check_page(page)?;
                }
                75..85 => {
                    let pages: Vec<PageNo> = (0..6).map(|_| self.any_page()).collect();
                    self.store.prefetch(&pages)?;
                }
                at @ 85..98 if self.stride == 1 || at < 95 => {
                    self.store.wait_durable(self.committed)?;
                    self.history.durable = self.history.steps.len();
                }
                _ => {
                    match self.stride {
                        1 => self.store.checkpoint()?,
                        _ => self.store.release_free_space()?,
                    }
                    self.history.durable = self.history.steps.len();
                }
            }
        }
        Ok(())
    }

    fn check_page(&self, page: PageNo) -> Result<()> {
        let guard = self.store.shared(page)?;
        let (segment, cells) = &self.pages[&page];
        assert_eq!(guard.owner(), *segment);
        assert!((0..CELLS).all(|at| cell(&guard, at) == cells[at]), "page {page} differs from the model");
        Ok(())
    }

    /// Does a random step. The history has it from before the commit on.
    fn mini_transaction(&mut self) -> Result<()> {
        let mut step = Step::default();
        let allocations =
            if self.rng.random_bool(0.3) { self.rng.random_range(1..4) * self.stride } else { 0 };
        for _ in 0..self.rng.random_range(0..4) {
            let page = self.any_page();
            step.adds.push((page, self.rng.random_range(1..CELLS), self.rng.random()));
        }
        step.adds.push((self.counter, 0, 1));
        if self.pages.len() > 20 * self.stride && self.rng.random_bool(0.15) {
            let page = self.any_page();
            let neighbours = self.pages.range(page..).map(|(page, _)| *page).take(4 * self.stride - 3);
            step.freed.extend(neighbours.filter(|page| !self.kept.contains(page)));
        }
        let records = 10 + allocations + step.freed.len();
        let mut reservation =
            self.store.reserve(allocations, records * (RECORD_OVERHEAD + 16 + FREE_PAGE_LOG_BYTES))?;
        let store = self.store.clone();
        let mut change = loop {
            let mut wanted: Vec<PageNo> =
                step.adds.iter().map(|add| add.0).chain(step.freed.clone()).collect();
            wanted.sort();
            let mut change = store.begin(&mut reservation, allocations)?;
            let mut missing = None;
            for page in wanted {
                if change.latch(page)?.is_none() {
                    missing = Some(page);
                    break;
                }
            }
            match missing {
                None => break change,
                Some(page) => {
                    drop(change);
                    store.fault_in(page)?;
                }
            }
        };
        for (page, cell, amount) in &step.adds {
            let slot = change.latch(*page)?.unwrap();
            change.apply(slot, TEST, ADD, &add(*cell, *amount))?;
        }
        for _ in 0..allocations {
            let segment = self.segments[self.rng.random_range(0..self.segments.len())];
            let class = if self.rng.random_bool(0.2) { PageClass::Branch } else { PageClass::Leaf };
            let slot = change.allocate(segment, class)?;
            let value: u64 = self.rng.random();
            change.apply(slot, TEST, FORMAT, &value.to_le_bytes())?;
            step.allocated.push((change.page_no(slot), segment, value));
        }
        for page in &step.freed {
            let slot = change.latch(*page)?.unwrap();
            change.free(slot)?;
        }
        apply(&mut self.pages, &step);
        self.history.steps.push(step);
        self.committed = change.commit();
        Ok(())
    }
}

/// Checks that the store holds a prefix of the history with every acknowledged step. Returns how many steps it holds.
pub fn check_recovered(store: &Store, history: &History, counter: PageNo) -> usize {
    assert_eq!(store.recovery_report().unreadable, []);
    let started = history.base[&counter].1[0];
    let steps = (cell(&store.shared(counter).unwrap(), 0) - started) as usize;
    assert!(
        (history.durable..=history.steps.len()).contains(&steps),
        "{steps} steps survived of {}, {} were durable",
        history.steps.len(),
        history.durable
    );
    let expected = history.pages_after(steps);
    for (page, (segment, cells)) in &expected {
        let guard = store.shared(*page).unwrap();
        assert_eq!((guard.page_no(), guard.owner()), (*page, *segment));
        for (at, value) in cells.iter().enumerate() {
            assert_eq!(cell(&guard, at), *value, "page {page} cell {at} after {steps} steps");
        }
    }
    let pages: u64 = store.segments().iter().map(|segment| segment.pages).sum();
    assert_eq!(pages, expected.len() as u64);
    assert_eq!(store.verify_space().unwrap(), Vec::<String>::new());
    steps
}
