//! Opens a store: makes the files of a new one, or recovers an existing one.

use crate::control::{self, ControlData, ControlFile};
use crate::core::{Checkpointer, Inner, Recovered};
use crate::device::{AlignedBuf, File, IoQueue, OpenMode};
use crate::doublewrite::{self, Doublewrite};
use crate::log::{FlushPolicy, Log, LogOptions};
use crate::log_writer::LogWriter;
use crate::page::{MAX_PAGE_SIZE, MIN_PAGE_SIZE};
use crate::page_writer;
use crate::poison::Poison;
use crate::pool::{BufferPool, PageCache};
use crate::recovery::{self, Crash, ReadLog, Redo};
use crate::redo::Handlers;
use crate::space::{
    self, DIRECTORY_ROOT, EXTENT_PAGES, ExtentUse, FIRST_USED, Geometry, Segment, Space, SpaceRecord,
    SpaceRedo, SpaceState,
};
use crate::warm_up;
use crate::worker::ThreadName;
use crate::{
    Env, HandlerId, LogicalReplay, Lsn, PageKind, PageNo, RecoveryReport, RedoHandler, Result, SalvagedStore,
    SegmentId, SegmentState, StorageError, StoreOptions, StoreStats, page,
};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Name of the file of pages.
pub(crate) const DATA: &str = "data";
/// Name of the file that marks a directory which a restore is filling.
pub(crate) const RESTORING: &str = "restoring";
/// First LSN of a new log. LSN 0 means "never changed".
const FIRST_LSN: Lsn = Lsn(1);
/// Appended log bytes may wait in memory up to one in this many of the log's bytes, within bounds.
const LOG_BUFFER_SHARE: u64 = 16;
const LOG_BUFFER: std::ops::RangeInclusive<u64> = 64 << 10..=16 << 20;

/// The results of recovery's passes that the store needs.
struct Recovery {
    log: Log,
    recovered: Recovered,
    state: SpaceState,
}

/// Returns the page size of the store in `env`, which need not be one that can be opened.
///
/// # Errors
/// `Io`, `Format`.
pub fn page_size_of(env: &dyn Env) -> Result<usize> {
    match ControlFile::open(env)? {
        Some(control) => checked_page_size(control.data().page_size as usize),
        None => Err(StorageError::Format { file: "control".into(), reason: "missing".into() }),
    }
}

/// Opens the store, and creates it if there is none. With `remains`, relies neither on space maps nor on the segment
/// directory, and creates no store.
pub(crate) fn open(
    env: Arc<dyn Env>,
    options: StoreOptions,
    mut handlers: Vec<(HandlerId, Arc<dyn RedoHandler>)>,
    replay: &mut dyn LogicalReplay,
    remains: Option<&mut SalvagedStore>,
) -> Result<Arc<Inner>> {
    let lock = env.lock().map_err(|source| match source.kind() {
        io::ErrorKind::WouldBlock => StorageError::AlreadyOpen,
        _ => StorageError::io("lock", "lock", source),
    })?;
    check_restored(&*env, &options)?;
    handlers.push((HandlerId::STORAGE, Arc::new(SpaceRedo)));
    let handlers = Handlers::new(handlers)?;
    let (control, created_log) = match ControlFile::open(&*env)? {
        Some(control) => (control, None),
        None if remains.is_some() => {
            return Err(StorageError::Format { file: "control".into(), reason: "missing".into() });
        }
        None => {
            let (control, log) = create(&env, &options)?;
            (control, Some(log))
        }
    };
    let geometry = Geometry::new(checked_page_size(control.data().page_size as usize)?);
    let mut report = RecoveryReport { control_repaired: control.was_repaired(), ..RecoveryReport::default() };
    let cache = open_cache(&*env, &options, &control, &mut report)?;
    if remains.is_none() {
        check_superblock(&*cache.data, &control)?;
    }
    let Recovery { log, recovered, state } = match created_log {
        Some(log) => {
            cache.set_log(log.clone());
            let recovered = Recovered { payload: Vec::new(), needed: None };
            Recovery { log, recovered, state: space::load(&cache, geometry)? }
        }
        None => {
            let log_options = log_options(&options, control.data().database_id);
            let progress = options.recovery_progress.as_ref();
            let crash = Crash { env: &env, control: &control, cache: &cache, handlers: &handlers, progress };
            recover(&crash, log_options, replay, &mut report, remains)?
        }
    };
    let dropping =
        |(id, segment): (&SegmentId, &Segment)| (segment.state == SegmentState::Dropping).then_some(*id);
    report.segments_freed = state.segments.iter().filter_map(dropping).collect();
    let (stats, poison) = cache.shared_parts();
    let database_id = control.data().database_id;
    let mut hot_pages = Vec::new();
    if options.background && options.warm_up {
        match warm_up::load(&*env, database_id) {
            Ok(pages) => hot_pages = pages,
            Err(reason) => report.warm_up_ignored = Some(reason),
        }
    }
    // Pages may have been freed since the list was written.
    hot_pages.retain(|page| state.usage_of(*page).is_some());
    let inner = Arc::new(Inner {
        checkpointer: Checkpointer::new(control, &log, recovered)?,
        cache,
        log,
        space: Space::new(geometry, state),
        handlers,
        stats,
        poison,
        flush_policy: options.flush_log_at_commit,
        report,
        page_writer: OnceLock::new(),
        log_writer: OnceLock::new(),
        backup_running: AtomicBool::new(false),
        env,
        database_id,
        warm_up: options.warm_up,
        _lock: lock,
    });
    inner.space.releasing.punch.store(options.punch_holes, Ordering::Relaxed);
    if options.restoring {
        inner.back_used_extents()?;
    }
    inner.forget_ownerless()?;
    for segment in &inner.report.segments_freed {
        inner.drop_segment(*segment)?;
    }
    if options.background {
        let no_thread = |source| StorageError::io("start threads for", DATA, source);
        let page_writer = page_writer::start(&inner, hot_pages).map_err(no_thread)?;
        inner.cache.set_cleaner(page_writer.waker());
        let _ = inner.page_writer.set(page_writer);
        if inner.flush_policy == FlushPolicy::EachCommit {
            let on_panic = page_writer::stop_store(&Arc::downgrade(&inner), ThreadName::LogWriter);
            let log_writer = LogWriter::start(inner.log.clone(), on_panic).map_err(no_thread)?;
            let _ = inner.log_writer.set(log_writer);
        }
    }
    Ok(inner)
}

/// Refuses a directory that an incomplete restore has left.
fn check_restored(env: &dyn Env, options: &StoreOptions) -> Result<()> {
    let marked = env.exists(RESTORING).map_err(|source| StorageError::io("look for", RESTORING, source))?;
    match marked && !options.restoring {
        true => Err(StorageError::Format {
            file: RESTORING.into(),
            reason: "a restore into this directory was not completed; restore into it again, or remove it"
                .into(),
        }),
        false => Ok(()),
    }
}

/// Opens `data` behind an empty pool, after repairing torn pages.
fn open_cache(
    env: &dyn Env,
    options: &StoreOptions,
    control: &ControlFile,
    report: &mut RecoveryReport,
) -> Result<PageCache> {
    let page_size = control.data().page_size as usize;
    let data = env.open(DATA, OpenMode::Existing).map_err(|source| StorageError::io("open", DATA, source))?;
    let mut doublewrite = Doublewrite::open(env, OpenMode::Existing, page_size)?;
    report.repaired = doublewrite.repair(&*data)?;
    let size = data.size().map_err(|source| StorageError::io("stat", DATA, source))?;
    let stats = Arc::new(StoreStats::default());
    let pool = BufferPool::new(options.buffer_pool_bytes, page_size, Arc::clone(&stats))?;
    let threads = if options.background { options.io_threads } else { 0 };
    let queue = match options.native_aio {
        true => IoQueue::new(Arc::clone(&data), threads),
        false => IoQueue::with_threads(Arc::clone(&data), threads),
    };
    let queue = queue.map_err(|source| StorageError::io("start I/O threads for", DATA, source))?;
    let cache = PageCache::new(pool, data, doublewrite, queue, stats, Arc::new(Poison::default()));
    cache.set_file_pages(size / (EXTENT_PAGES * page_size as u64) * EXTENT_PAGES);
    Ok(cache)
}

/// Runs passes 2 to 4 of recovery.
fn recover(
    crash: &Crash<'_>,
    log_options: LogOptions,
    replay: &mut dyn LogicalReplay,
    report: &mut RecoveryReport,
    remains: Option<&mut SalvagedStore>,
) -> Result<Recovery> {
    let (cache, control) = (crash.cache, crash.control);
    let ReadLog { tail, payload } = recovery::read_log(crash, replay, report)?;
    let end = tail.end;
    let log = Log::resume(crash.env, log_options, tail)?;
    cache.set_log(log.clone());
    cache.pool.raise_newest(end);
    let mut redo = Redo::new(crash, end);
    redo.replay()?;
    report.pages_changed = redo.pages_changed();
    let geometry = Geometry::new(cache.page_size);
    if let Some(remains) = remains {
        *remains = space::remains(cache, geometry, redo.given_up())?;
        // The crate above has not acted on the records in the log.
        let recovered = Recovered { payload, needed: Some(control.data().redo.lsn) };
        return Ok(Recovery { log, recovered, state: SpaceState::new() });
    }
    let state = space::load(cache, geometry)?;
    report.unreadable = redo.unusable_pages(&state)?;
    // Redo may have brought in pages that were freed later in the log.
    let in_use = |page: &PageNo| page.0 == 0 || state.usage_of(*page).is_some();
    cache.pool.pages().into_iter().filter(|page| !in_use(page)).for_each(|page| cache.pool.purge(page));
    let concerns_others = report.logical_records > 0 || !payload.is_empty() || !report.unreadable.is_empty();
    let needed = concerns_others.then_some(control.data().redo.lsn);
    Ok(Recovery { log, recovered: Recovered { payload, needed }, state })
}

fn checked_page_size(page_size: usize) -> Result<usize> {
    match page_size.is_power_of_two() && (MIN_PAGE_SIZE..=MAX_PAGE_SIZE).contains(&page_size) {
        true => Ok(page_size),
        false => Err(StorageError::Format {
            file: "control".into(),
            reason: format!("page size {page_size}: a power of two from 4096 to 65536 is needed"),
        }),
    }
}

fn log_options(options: &StoreOptions, database_id: u64) -> LogOptions {
    let buffer =
        (options.log_capacity_bytes / LOG_BUFFER_SHARE).clamp(*LOG_BUFFER.start(), *LOG_BUFFER.end());
    LogOptions { capacity: options.log_capacity_bytes, buffer_bytes: buffer as usize, database_id }
}

/// Makes a new store, or leaves nothing behind.
fn create(env: &Arc<dyn Env>, options: &StoreOptions) -> Result<(ControlFile, Log)> {
    let possible = checked_page_size(options.page_size)
        .and_then(|page_size| BufferPool::check_size(options.buffer_pool_bytes, page_size));
    possible.inspect_err(|_| discard_directory(&**env))?;
    refuse_to_overwrite(&**env, options.page_size)?;
    create_files(env, options).map_err(|error| {
        discard(&**env);
        match error {
            StorageError::DiskFull => StorageError::DiskFullAtCreation { needed: needed_bytes(options) },
            other => other,
        }
    })
}

/// Returns about how many bytes a new store takes on the device.
fn needed_bytes(options: &StoreOptions) -> u64 {
    let data = EXTENT_PAGES * options.page_size as u64;
    let log = Log::first_bytes(options.log_capacity_bytes);
    data + log + Doublewrite::file_bytes(options.page_size) + control::FILE_BYTES
}

/// Removes the files that [`create_files`] has made, as far as possible. Without a control file they are no store.
fn discard(env: &dyn Env) {
    for file in [control::FILE, control::NEW_FILE, DATA, doublewrite::FILE] {
        let _ = env.remove(file);
    }
    let _ = Log::remove(env);
    let _ = env.sync_dir("");
    discard_directory(env);
}

/// Removes the directory if it was made for the store that failed.
fn discard_directory(env: &dyn Env) {
    // The lock is still held, but has no name from here on.
    let _ = env.remove("lock");
    let _ = env.remove_dir("");
}

/// Makes the files of a new store. The control file, whose presence makes the directory a store, comes last.
fn create_files(env: &Arc<dyn Env>, options: &StoreOptions) -> Result<(ControlFile, Log)> {
    let database_id = draw_number();
    let io = |op| move |source| StorageError::io(op, DATA, source);
    let data = env.open(DATA, OpenMode::Create).map_err(io("create"))?;
    data.truncate(0).map_err(io("truncate"))?;
    data.allocate(EXTENT_PAGES * options.page_size as u64).map_err(io("allocate"))?;
    let mut pages = AlignedBuf::zeroed(FIRST_PAGES as usize * options.page_size);
    for (index, image) in first_pages(options.page_size, database_id)?.into_iter().enumerate() {
        let page = &mut pages[index * options.page_size..(index + 1) * options.page_size];
        page.copy_from_slice(&image);
        page::seal(page);
    }
    data.write_at(&pages, 0).map_err(io("write"))?;
    data.sync().map_err(io("sync"))?;
    drop(Doublewrite::open(&**env, OpenMode::Create, options.page_size)?);
    let (log, position) = Log::create(env, log_options(options, database_id), FIRST_LSN)?;
    env.sync_dir("").map_err(io("sync the directory of"))?;
    let page_size = options.page_size as u32;
    let control = ControlFile::create(
        &**env,
        ControlData { page_size, database_id, redo: position, checkpoint: None },
    )?;
    Ok((control, log))
}

/// Number of pages that a new store has.
const FIRST_PAGES: u64 = 3;

/// Returns the first pages of a new store: superblock, space map, segment directory.
fn first_pages(page_size: usize, database_id: u64) -> Result<[Vec<u8>; FIRST_PAGES as usize]> {
    let mut map = vec![0; page_size];
    page::initialise(&mut map, PageNo(1), PageKind::SPACE_MAP, SegmentId::NONE);
    let record = SpaceRecord::SetPages { descriptor: 0, usage: ExtentUse::Shared, pages: FIRST_USED };
    let (kind, payload) = record.encode();
    SpaceRedo
        .redo(kind, &mut map, &payload)
        .map_err(|error| StorageError::Corrupt { page: PageNo(1), reason: error.reason })?;
    let mut directory = vec![0; page_size];
    page::initialise(&mut directory, DIRECTORY_ROOT, PageKind::SEGMENT_DIRECTORY, SegmentId::NONE);
    Ok([space::superblock(page_size, database_id), map, directory])
}

/// Refuses to make a store over an existing one. A directory without a control file holds no store, or one whose
/// making was interrupted; but the control file may have been lost, too. Only a store that was never changed since it
/// was made is made again.
fn refuse_to_overwrite(env: &dyn Env, page_size: usize) -> Result<()> {
    let io = |op| move |source| StorageError::io(op, DATA, source);
    if !env.exists(DATA).map_err(io("look for"))? {
        return Ok(());
    }
    let data = env.open(DATA, OpenMode::Existing).map_err(io("open"))?;
    let size = data.size().map_err(io("stat"))?;
    let mut changed = size > EXTENT_PAGES * MAX_PAGE_SIZE as u64;
    let mut image = AlignedBuf::zeroed(page_size);
    for page in (0..(size / page_size as u64).min(EXTENT_PAGES)).map(PageNo) {
        data.read_at(&mut image, page.0 * page_size as u64).map_err(io("read"))?;
        let written = page::verify(&image, page).is_ok() && page::lsn(&image) > Lsn::ZERO;
        // Making a store writes no other pages. These are of a store whose pages have lost their checksums, or of
        // something else.
        let foreign = page.0 >= FIRST_PAGES && image.iter().any(|byte| *byte != 0);
        changed |= written || foreign;
    }
    match changed {
        true => Err(StorageError::Format {
            file: "control".into(),
            reason: "missing, although the file data holds something: a database is not made over it".into(),
        }),
        false => Ok(()),
    }
}

fn check_superblock(data: &dyn File, control: &ControlFile) -> Result<()> {
    let page_size = control.data().page_size as usize;
    let mut block = AlignedBuf::zeroed(page_size);
    data.read_at(&mut block, 0).map_err(|source| StorageError::io("read", DATA, source))?;
    page::verify(&block, PageNo(0))
        .and_then(|()| space::check_superblock(&block, page_size, control.data().database_id))
        .map_err(|reason| StorageError::Format { file: DATA.into(), reason })
}

/// Draws a number that no other database or backup has, from the process's random hash keys, which the system seeds.
pub(crate) fn draw_number() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
