//! The statement at hand as it will be counted towards its digest.

use super::Session;
use crate::digest::{Digest, Executed};
use std::sync::Arc;

/// What a statement began with.
pub(super) struct Running {
    digest: Arc<Digest>,
    /// Of a query: the rows it was expected to give.
    estimated: Option<f64>,
    sent: u64,
    examined: u64,
    pub affected: u64,
    pub failed: bool,
}

impl Session {
    /// The statement at hand, which begins to run, belongs to this digest. If it is a query, so many rows are expected.
    pub(crate) fn count_towards(&mut self, digest: &Arc<Digest>, estimated: Option<f64>) {
        self.running = Some(Running {
            digest: digest.clone(),
            estimated,
            sent: self.counters.rows_sent,
            examined: self.counters.access.leafline_entries_examined,
            affected: 0,
            failed: false,
        });
    }

    /// Counts the statement at hand, which has ended. `to_the_end`: all of its rows were asked for.
    pub(super) fn count_executed(&mut self, to_the_end: bool) {
        let Some(running) = self.running.take() else { return };
        // FLUSH STATUS may have been between.
        let since = |now: u64, then: u64| now.saturating_sub(then);
        running.digest.count(Executed {
            time: self.began.elapsed(),
            ended: self.now().utc.epoch_micros().unwrap_or_default(),
            failed: running.failed,
            rows_affected: running.affected,
            rows_sent: since(self.counters.rows_sent, running.sent),
            rows_examined: since(self.counters.access.leafline_entries_examined, running.examined),
            estimated: running.estimated.map(|estimated| (estimated, to_the_end)),
        });
    }
}
