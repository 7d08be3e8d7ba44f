//! The figures of statement digests.

use crate::digest::{Digest, quantile};
use crate::instance::Instance;
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

/// The name of a digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StatementId {
    /// The current database of the statements.
    pub schema: Option<String>,
    /// The digest, 64 hexadecimal digits.
    pub digest: String,
}

/// Figures of a digest, as in `performance_schema.events_statements_summary_by_digest`.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct StatementFigures {
    /// `None` for statements counted together after the limit of digests.
    pub id: Option<StatementId>,
    pub text: Option<String>,
    /// True if a sample statement was kept.
    pub has_sample: bool,
    pub executions: u64,
    pub time: Duration,
    pub least_time: Duration,
    pub most_time: Duration,
    /// Times that 95 %, 99 % and 99.9 % of executions did not exceed.
    pub quantiles: [Duration; 3],
    pub lock_time: Duration,
    pub errors: u64,
    pub warnings: u64,
    pub rows_affected: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
    pub rows_estimated: f64,
    pub q_error: f64,
    pub pages_read: u64,
    pub files: u64,
    pub no_index_used: u64,
    pub plans: u64,
    pub plan: Option<u64>,
    /// Microseconds since 1970.
    pub plan_changed: Option<i64>,
    pub first_seen: i64,
    pub last_seen: i64,
}

impl StatementId {
    pub(super) fn of(digest: &Digest) -> Option<StatementId> {
        let schema = digest.schema.as_deref().map(str::to_owned);
        digest.hash().map(|digest| StatementId { schema, digest })
    }
}

fn figures(digest: &Digest) -> StatementFigures {
    let (counts, times, plans) = (digest.counts(), digest.times(), digest.plans());
    let at = |share| quantile(&times, share).unwrap_or_default();
    StatementFigures {
        id: StatementId::of(digest),
        text: digest.text.as_deref().map(str::to_owned),
        has_sample: digest.sample().is_some(),
        executions: counts.executions,
        time: counts.time,
        least_time: counts.least_time,
        most_time: counts.most_time,
        quantiles: [at(0.95), at(0.99), at(0.999)],
        lock_time: counts.lock_time,
        errors: counts.errors,
        warnings: counts.warnings,
        rows_affected: counts.rows_affected,
        rows_sent: counts.rows_sent,
        rows_examined: counts.rows_examined,
        rows_estimated: counts.rows_estimated,
        q_error: counts.q_error,
        pages_read: counts.pages_read,
        files: counts.files,
        no_index_used: counts.no_index_used,
        plans: plans.count,
        plan: plans.last(),
        plan_changed: plans.changed,
        first_seen: counts.first_seen,
        last_seen: counts.last_seen,
    }
}

impl Instance {
    /// Up to `most` digests, the ones with the most time first.
    pub fn statements(&self, most: usize) -> Vec<StatementFigures> {
        let all = self.digests().all().into_iter().map(|digest| (digest.counts(), digest));
        let mut all: Vec<_> = all
            .filter(|(counts, _)| counts.executions > 0)
            .map(|(counts, digest)| (counts.time, digest))
            .collect();
        all.sort_by_key(|(time, _)| Reverse(*time));
        all.iter().take(most).map(|(_, digest)| figures(digest)).collect()
    }

    /// The sample statement of a digest.
    pub fn sample_of(&self, id: &StatementId) -> Option<String> {
        let digest = self.digest_of(id)?;
        digest.sample().map(str::to_owned)
    }

    fn digest_of(&self, id: &StatementId) -> Option<Arc<Digest>> {
        let all = self.digests().all();
        all.into_iter().find(|digest| {
            digest.schema.as_deref() == id.schema.as_deref() && digest.hash().as_deref() == Some(&id.digest)
        })
    }
}
