//! Pieces of work for several threads.

use crate::error::Result;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work` with the number of each piece and the piece, on at most `threads` threads. Returns the
/// results in the order of the pieces, or the first error.
pub(super) fn in_parallel<P: Sync, R: Send>(
    threads: usize,
    pieces: &[P],
    work: impl Fn(usize, &P) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let run = || -> Vec<(usize, Result<R>)> {
        let mut results = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(at) else { return results };
            let result = work(at, piece);
            if result.is_err() {
                // No thread begins another piece.
                next.store(pieces.len(), Ordering::Relaxed);
            }
            results.push((at, result));
        }
    };
    let mut results = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(pieces.len())).map(|_| scope.spawn(run)).collect();
        let mut results = run();
        for other in others {
            results.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        results
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
