//! Runs one part of a plan in several threads, each on pieces of its table. The rows come in the order of the pieces.
//!
//! Threads live for a round. A thread that has finished a piece takes the next one, until no piece is left or it has made
//! [`ROUND_BYTES`] of rows; it continues an unfinished piece in the next round. Rows are delivered after all rows before them.
//! The calling thread works as well, on the piece to deliver next if that has begun, so that every round delivers something even
//! if no other thread can be started. Rows that wait for earlier ones are limited: beyond [`WAITING_BYTES`] the calling thread
//! works alone.
//!
//! The threads share the snapshot, the parameters and the cancellation of the statement. They divide the memory that is left when
//! they begin. Each thread has its own counters, warnings and figures, which are added up after the round; warnings in the order
//! of the pieces. Of two errors the one in the earlier piece counts, as with one thread.

use super::gather::batch_bytes;
use super::runtime_filters::RuntimeFilters;
use super::{BoxedOperator, Build, Builder, ExecutionContext, Operator, Profile, Subplans};
use crate::params::{FIRST_ROUND_PIECES, MAX_ROUND_PIECES, ROUND_BYTES, WAITING_BYTES};
use leafline_access::{Budget, Counters, ScanPiece, ScanPieces, Share};
use leafline_expr::{CallState, EvalContext, SessionFacts, SqlMode};
use leafline_planner::plan::{self, Node};
use leafline_storage::reads_begun_here;
use leafline_storage::worker::ThreadName;
use leafline_table::ReadView;
use leafline_types::memory::{Held, MemoryBudget, server};
use leafline_types::statement::{CancelToken, Warnings};
use leafline_types::temporal::Zone;
use leafline_types::{Batch, DateTime, MysqlError, Value};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) struct Parallel {
    input: Arc<Node>,
    share: Share,
    profiled: bool,
    filters: Arc<RuntimeFilters>,
    workers: Vec<Worker>,
    /// The source of pieces, once the first round has begun.
    source: Option<ScanPieces>,
    /// Number of pieces that a thread takes in the next round.
    round_pieces: usize,
    /// The pieces that no thread has begun.
    pieces: Vec<ScanPiece>,
    /// The number of the first of these pieces.
    unbegun: usize,
    /// The number of the piece whose rows are delivered.
    current: usize,
    /// The rows of pieces that are not delivered in full.
    made: BTreeMap<usize, PieceRows>,
    ready: VecDeque<Batch>,
    held: Held,
    /// The bytes held.
    bytes: usize,
}

/// The state that a thread keeps between rounds.
#[derive(Default)]
struct Worker {
    operator: Option<BoxedOperator>,
    /// The piece that the thread has not finished.
    piece: Option<usize>,
    /// The memory that the thread's operators may hold.
    memory: Option<MemoryBudget>,
}

/// The rows of a piece so far.
struct PieceRows {
    batches: Vec<Batch>,
    warnings: Warnings,
    /// The piece is complete, or has ended with an error.
    end: Option<Result<(), MysqlError>>,
}

/// The rows that a thread made in a round.
struct RoundResult {
    made: Vec<(usize, PieceRows)>,
    counters: Counters,
    profile: Option<Profile>,
}

/// The context that the threads share.
struct SharedScan<'s> {
    input: &'s Node,
    filters: &'s Arc<RuntimeFilters>,
    profile_nodes: Option<usize>,
    pieces: &'s [ScanPiece],
    /// The number of the first piece.
    first: usize,
    /// Number of pieces that a thread takes.
    most: usize,
    /// Number of pieces taken.
    next: AtomicUsize,
    warnings: &'s Warnings,
    view: &'s ReadView,
    /// The bytes that each thread may hold.
    memory: usize,
    parameters: &'s [Value],
    outer: &'s [Value],
    now: DateTime,
    utc_now: DateTime,
    zone: &'s Zone,
    sql_mode: SqlMode,
    stores: bool,
    session: &'s SessionFacts,
    cancel: &'s CancelToken,
}

impl Parallel {
    pub fn new(input: &Arc<Node>, share: Share, profiled: bool, filters: &Arc<RuntimeFilters>) -> Parallel {
        Parallel {
            filters: filters.clone(),
            input: input.clone(),
            share,
            profiled,
            workers: (0..share.threads.max(1)).map(|_| Worker::default()).collect(),
            source: None,
            round_pieces: FIRST_ROUND_PIECES,
            pieces: Vec::new(),
            unbegun: 0,
            current: 0,
            made: BTreeMap::new(),
            ready: VecDeque::new(),
            held: Held::default(),
            bytes: 0,
        }
    }

    /// Runs a round: makes rows of the piece to deliver next and of others. False if there are no more rows.
    fn round(&mut self, cx: &mut ExecutionContext<'_>) -> Result<bool, MysqlError> {
        let source = match &mut self.source {
            Some(source) => source,
            none => {
                let scan = scan_of(&self.input)?;
                let path = scan.path.narrowed(&self.filters.of(scan), scan.examined);
                none.insert(path.pieces(self.share, &mut cx.scan())?)
            }
        };
        while self.pieces.len() < self.workers.len() * self.round_pieces {
            let Some(piece) = source.next_piece(&mut cx.scan())? else { break };
            self.pieces.push(piece);
        }
        if self.pieces.is_empty() && self.workers.iter().all(|worker| worker.piece.is_none()) {
            return Ok(false);
        }
        // The calling thread works on the piece that the others wait for.
        let at = self.workers.iter().position(|worker| worker.piece == Some(self.current));
        if let Some(at) = at {
            self.workers.swap(0, at);
        }
        let waiting: usize = self.made.values().flat_map(|made| &made.batches).map(batch_bytes).sum();
        let threads = if waiting > WAITING_BYTES { 1 } else { self.workers.len() };
        let nodes = cx.profile.as_ref().map(|profile| profile.count());
        let shared = SharedScan {
            input: &self.input,
            filters: &self.filters,
            profile_nodes: nodes.filter(|_| self.profiled),
            pieces: &self.pieces,
            first: self.unbegun,
            most: self.round_pieces,
            next: AtomicUsize::new(0),
            warnings: &*cx.eval.warnings,
            view: cx.view,
            memory: cx.memory.part(self.workers.len()),
            parameters: cx.eval.parameters,
            outer: cx.eval.outer,
            now: cx.eval.now,
            utc_now: cx.eval.utc_now,
            zone: cx.eval.zone,
            sql_mode: cx.eval.sql_mode,
            stores: cx.eval.stores,
            session: cx.eval.session,
            cancel: cx.eval.cancel,
        };
        let done = in_threads(&mut self.workers, threads, &shared);
        let begun = shared.next.into_inner().min(self.pieces.len());
        self.round_pieces = (2 * self.round_pieces).min(MAX_ROUND_PIECES);
        self.pieces.drain(..begun);
        self.unbegun += begun;
        for (number, RoundResult { made, counters, profile }) in done.into_iter().enumerate() {
            *cx.counters += counters;
            if let (Some(all), Some(profile)) = (&mut cx.profile, profile) {
                all.absorb(&profile, number == 0);
            }
            for (piece, more) in made {
                self.made.entry(piece).and_modify(|made| made.append(&more)).or_insert(more);
            }
        }
        self.deliver(cx)?;
        Ok(true)
    }

    /// Takes the rows that can be delivered.
    fn deliver(&mut self, cx: &mut ExecutionContext<'_>) -> Result<(), MysqlError> {
        while let Some(made) = self.made.get_mut(&self.current) {
            self.ready.extend(made.batches.drain(..));
            let kept = made.warnings.another();
            cx.eval.warnings.append(std::mem::replace(&mut made.warnings, kept));
            match made.end.take() {
                Some(end) => {
                    end?;
                    self.made.remove(&self.current);
                    self.current += 1;
                }
                None => break,
            }
        }
        let waiting = self.made.values().flat_map(|made| &made.batches);
        let rows: usize = waiting.chain(&self.ready).map(batch_bytes).sum();
        let kept = self.workers.iter().filter_map(|worker| worker.memory.as_ref());
        self.hold(rows + kept.map(MemoryBudget::used).sum::<usize>(), cx);
        Ok(())
    }

    /// Accounts for held bytes. A single round is the minimum, so that it is held even without room.
    fn hold(&mut self, bytes: usize, cx: &mut ExecutionContext<'_>) {
        self.bytes = bytes;
        self.held.fits(bytes, cx.memory);
    }
}

impl Build for plan::Parallel {
    fn build(&self, _node: &Node, builder: &Builder<'_>) -> BoxedOperator {
        Box::new(Parallel::new(&self.input, self.share, builder.profiled, builder.filters))
    }
}

impl Operator for Parallel {
    fn next(&mut self, cx: &mut ExecutionContext<'_>) -> Result<Option<Batch>, MysqlError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                self.hold(self.bytes.saturating_sub(batch_bytes(&batch)), cx);
                return Ok(Some(batch));
            }
            if !self.round(cx)? {
                self.hold(0, cx);
                return Ok(None);
            }
        }
    }

    fn reset(&mut self) -> bool {
        *self = Parallel::new(&self.input, self.share, self.profiled, &self.filters.clone());
        true
    }
}

impl PieceRows {
    fn append(&mut self, more: &PieceRows) {
        self.batches.extend(more.batches.iter().cloned());
        self.warnings.append(more.warnings.clone());
        self.end.clone_from(&more.end);
    }
}

/// Returns the scan whose pieces the threads take.
pub fn scan_of(node: &Node) -> Result<&plan::Scan, MysqlError> {
    match (&node.operator, node.inputs().first()) {
        (plan::Operator::Scan(scan), _) => Ok(scan),
        (_, Some(input)) => scan_of(input),
        (_, None) => Err(MysqlError::internal("threads share what has no scan")),
    }
}

/// Runs a round of the first `threads` workers; the first of them works in the calling thread.
fn in_threads(workers: &mut [Worker], threads: usize, shared: &SharedScan<'_>) -> Vec<RoundResult> {
    let Some((first, others)) = workers.split_first_mut() else { return Vec::new() };
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for worker in others.iter_mut().take(threads - 1) {
            let thread = ThreadName::Scan.builder();
            // Fewer threads run if no more can be started.
            running.extend(thread.spawn_scoped(scope, || {
                server::statement_begins();
                let mut done = worker.work(shared);
                done.counters.leafline_pages_read += reads_begun_here();
                done
            }));
        }
        let mut done = vec![first.work(shared)];
        for thread in running {
            done.push(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    })
}

impl Worker {
    fn work(&mut self, shared: &SharedScan<'_>) -> RoundResult {
        let mut done = RoundResult {
            made: Vec::new(),
            counters: Counters::default(),
            profile: shared.profile_nodes.map(Profile::new),
        };
        let memory = self.memory.take().unwrap_or_else(|| MemoryBudget::new(shared.memory));
        let (subplans, mut state, mut bytes) = (Subplans::default(), CallState::default(), 0);
        let mut begun = 0;
        while bytes < ROUND_BYTES && (begun < shared.most || self.piece.is_some()) {
            let (at, piece) = match self.piece.take() {
                Some(at) => (at, None),
                None => {
                    let at = shared.next.fetch_add(1, Ordering::Relaxed);
                    let Some(piece) = shared.pieces.get(at) else { break };
                    begun += 1;
                    // The thread needs no memory for its previous piece.
                    memory.shrink_to(0);
                    (shared.first + at, Some(piece.clone()))
                }
            };
            let mut made = PieceRows { batches: Vec::new(), warnings: shared.warnings.another(), end: None };
            let mut cx = ExecutionContext {
                eval: shared.eval(&mut made.warnings, &memory, std::mem::take(&mut state)),
                view: shared.view,
                counters: &mut done.counters,
                locks: None,
                memory: &memory,
                subplans: &subplans,
                profile: done.profile.as_mut(),
                piece,
                budget: Budget::default(),
            };
            let result = self.rows(&mut made.batches, &mut bytes, shared, &mut cx);
            state = std::mem::take(&mut cx.eval.state);
            match result {
                Ok(false) => self.piece = Some(at),
                Ok(true) => made.end = Some(Ok(())),
                Err(error) => {
                    // No thread begins another piece.
                    shared.next.store(shared.pieces.len(), Ordering::Relaxed);
                    made.end = Some(Err(error));
                }
            }
            done.made.push((at, made));
        }
        if self.piece.is_none() {
            memory.shrink_to(0);
        }
        self.memory = Some(memory);
        done
    }

    /// Makes rows of a piece until it ends or the thread has made enough; true if the piece has ended.
    fn rows(
        &mut self,
        batches: &mut Vec<Batch>,
        bytes: &mut usize,
        shared: &SharedScan<'_>,
        cx: &mut ExecutionContext<'_>,
    ) -> Result<bool, MysqlError> {
        cx.eval.cancel.check()?;
        let begins = cx.piece.is_some();
        let kept = self.operator.take().and_then(|mut kept| (!begins || kept.reset()).then_some(kept));
        let profiled = cx.profile.is_some();
        let build = || Builder { profiled, filters: shared.filters }.build(shared.input);
        let operator = self.operator.insert(kept.unwrap_or_else(build));
        while *bytes < ROUND_BYTES {
            let Some(batch) = operator.next(cx)? else { return Ok(true) };
            *bytes += batch_bytes(&batch);
            batches.push(batch);
        }
        Ok(false)
    }
}

impl<'s> SharedScan<'s> {
    fn eval<'e>(
        &self,
        warnings: &'e mut Warnings,
        memory: &'e MemoryBudget,
        state: CallState,
    ) -> EvalContext<'e>
    where
        's: 'e,
    {
        EvalContext {
            parameters: self.parameters,
            outer: self.outer,
            subqueries: None,
            // Plans that call stored functions do not share work between threads.
            programs: None,
            now: self.now,
            utc_now: self.utc_now,
            zone: self.zone,
            sql_mode: self.sql_mode,
            stores: self.stores,
            session: self.session,
            warnings,
            cancel: self.cancel,
            memory,
            ignores: false,
            // Statements that assign variables do not share work between threads.
            row_by_row: false,
            state,
        }
    }
}
