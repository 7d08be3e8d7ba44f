//! The statement at hand as it will be counted: towards its digest, towards its kind, and in the slow query log.

use super::Session;
use crate::digest::{Digest, ExecutionFigures, ShortRun, Used};
use crate::plan_facts::PlanFacts;
use crate::properties::{Diagnostics, Properties, SlowLogging};
use crate::sample_text::with_values;
use crate::session_entry::StatementText;
use crate::slow_log::{SlowStatement, without_secrets};
use crate::status::Command;
use leafline_types::convert::to_text;
use leafline_types::error::errno;
use leafline_types::{DateTime, SqlType, Value};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where this is slow, all reads are timed, however short.
const SHORT: Duration = Duration::from_millis(100);

/// What is known of a statement while it runs.
#[derive(Default)]
pub(super) struct Running {
    /// What the session had counted when it began.
    before: Used,
    kind: Command,
    /// If it is counted as one of those alike.
    counted: Option<Counted>,
    pub affected: u64,
    /// If it stands for several that were run one after the other: how many, and the rows that all but the last affected.
    pub runs: Option<(u64, u64)>,
    /// The number of the error that has ended it.
    pub error: Option<u16>,
    /// How long it had worked when it gave rows last.
    gave_rows: Option<Duration>,
    /// As it came, with the values of its parameters, if it may have to be logged.
    text: Option<(LoggedText, Vec<Value>)>,
    /// It is over, and was counted.
    is_over: bool,
}

impl Running {
    /// That of no statement.
    pub fn over() -> Running {
        Running { is_over: true, ..Running::default() }
    }
}

enum LoggedText {
    Of(String),
    Prepared(Arc<str>),
}

struct Counted {
    digest: Arc<Digest>,
    /// Of a query: the rows it was expected to give.
    estimated: Option<f64>,
    is_planned: bool,
    plan: Option<u64>,
    no_index_used: bool,
    logging: SlowLogging,
    diagnostics: Diagnostics,
}

/// The time of day at moments of the clock that measures durations: who asks for both looks at one.
pub(super) struct WallClock {
    at: Instant,
    /// Microseconds since 1970 then.
    micros: i64,
}

/// For so long the two clocks are taken to go alike.
const ALIKE: Duration = Duration::from_millis(100);

impl WallClock {
    /// Compares the clocks.
    pub fn now() -> WallClock {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        WallClock { at: Instant::now(), micros: i64::try_from(since.as_micros()).unwrap_or(i64::MAX) }
    }

    /// Microseconds since 1970 at a moment that has just passed.
    fn micros_at(&mut self, moment: Instant) -> i64 {
        if moment.saturating_duration_since(self.at) > ALIKE {
            *self = WallClock::now();
        }
        let since = moment.saturating_duration_since(self.at).as_micros();
        self.micros.saturating_add(i64::try_from(since).unwrap_or(i64::MAX))
    }
}

impl Session {
    /// It only watches from now on: what it runs is not counted among those that are alike, and not logged.
    pub fn only_watch(&mut self) {
        self.is_watcher = true;
    }

    /// A statement begins: what is counted from now on is its own.
    pub(super) fn begin_counting(&mut self, text: StatementText<'_>) {
        let logged = self.instance.slow_log().is_on().then(|| match text {
            StatementText::Of(sql) => (LoggedText::Of(sql.to_owned()), Vec::new()),
            StatementText::Prepared(sql) => (LoggedText::Prepared(sql.clone()), Vec::new()),
        });
        self.running = Running { before: self.counted_so_far(), text: logged, ..Running::default() };
    }

    /// A statement that may have to be logged has parameters of these values.
    pub(super) fn keep_values(&mut self, values: &[Value]) {
        if let Some((_, kept)) = &mut self.running.text {
            *kept = values.to_vec();
        }
    }

    fn counted_so_far(&self) -> Used {
        let access = &self.counters.access;
        Used {
            rows_sent: self.counters.rows_sent,
            rows_examined: access.leafline_entries_examined,
            pages_read: access.leafline_pages_read,
            lock_time: Duration::from_micros(access.leafline_lock_wait_us),
            files: access.created_tmp_files,
        }
    }

    /// The statement at hand is of this kind.
    pub(super) fn is_of_kind(&mut self, command: Command) {
        self.running.kind = command;
    }

    /// The statement at hand is of this kind; it is counted as received, too, unless another one runs it.
    pub(crate) fn count_command(&mut self, command: Command, is_received: bool) {
        self.running.kind = command;
        match is_received {
            true => self.counters.count(command),
            false => self.counters.count_executed(command),
        }
        if !command.is_frequent() {
            self.entry.count_command(command);
        }
    }

    /// So much has come from the client and gone to it.
    pub fn count_bytes(&mut self, received: u64, sent: u64) {
        self.counters.bytes_received += received;
        self.counters.bytes_sent += sent;
    }

    /// The client has sent a command of the protocol.
    pub fn count_protocol_command(&mut self, command: Command) {
        self.counters.count_executed(command);
        if !command.is_frequent() {
            self.entry.count_command(command);
        }
    }

    /// The statement at hand stands for several of this kind, run one after the other; all but the last affected so many rows.
    pub(super) fn count_runs(&mut self, command: Command, runs: u64, affected: u64) {
        self.running.kind = command;
        self.running.runs = Some((runs, affected));
        (0..runs).for_each(|_| self.count_command(command, true));
    }

    /// Nothing of the statement at hand has run, as if it had not begun.
    pub(super) fn forget_statement(&mut self) {
        self.running = Running::over();
        self.leave_thread();
        self.statement_ended();
    }

    /// The statement at hand, which begins to run a plan, belongs to this digest. If it is a query, so many rows are expected.
    pub(crate) fn count_towards(
        &mut self,
        digest: &Arc<Digest>,
        facts: Option<&PlanFacts>,
        estimated: Option<f64>,
    ) {
        if let Some(facts) = facts {
            self.counters.reads.add(&facts.reads);
        }
        self.running.counted = Some(Counted {
            digest: digest.clone(),
            estimated,
            is_planned: facts.is_some(),
            plan: facts.and_then(|facts| facts.digest),
            no_index_used: facts.is_some_and(|facts| facts.no_index_used),
            logging: SlowLogging::Always,
            diagnostics: Diagnostics::Own,
        });
    }

    /// The digest of a statement with a plan, which is kept as a sample, with its values, if there is none yet.
    pub(crate) fn sampled_digest(&self, sql: &str, values: &[Value]) -> Arc<Digest> {
        let mode = self.settings.lex_mode();
        let digest = self.instance.digests().of(self.database(), sql, mode);
        // No value is shorter than its `?`.
        digest.show(sql.len(), || with_values(sql, mode, values));
        digest
    }

    /// The statement at hand has no plan.
    pub(crate) fn count_unplanned(&mut self, properties: &Properties<'_>, sql: &str) {
        let digest = self.instance.digests().of(self.database(), sql, self.settings.lex_mode());
        self.running.counted = Some(Counted {
            digest,
            estimated: None,
            is_planned: false,
            plan: None,
            no_index_used: false,
            logging: properties.logging,
            diagnostics: properties.diagnostics,
        });
    }

    /// A statement that did not come so far as to be counted has failed: it is, unless it is none.
    pub(super) fn count_failed(&mut self, sql: &str, code: u16) {
        if self.running.counted.is_none() && code != errno::ER_PARSE_ERROR {
            let digest = self.instance.digests().of(self.database(), sql, self.settings.lex_mode());
            self.count_towards(&digest, None, None);
        }
    }

    /// Rows were given. Should the rest be given up, it has worked until now.
    pub(super) fn gave_rows(&mut self) {
        self.running.gave_rows = Some(self.began.elapsed());
    }

    /// Counts a read that ran again without operators and gave so many rows. It is over.
    pub(crate) fn count_short(&mut self, digest: &Arc<Digest>, facts: &PlanFacts, rows: u64) {
        if self.is_watcher {
            return;
        }
        let is_timed = self.instance.slow_log().is_on() && self.settings.long_query_time < SHORT
            || facts.no_index_used && self.instance.slow_log().takes_those_without_index();
        let run = ShortRun {
            rows,
            pages_read: self.pages_read_now(),
            no_index_used: facts.no_index_used,
            is_timed,
        };
        self.running.is_over = true;
        let mut ended = 0;
        let timed = digest.count_short(run, || {
            let now = Instant::now();
            ended = self.wall.micros_at(now);
            (now.saturating_duration_since(self.began), ended)
        });
        let Some((time, weight)) = timed else { return };
        self.instance.statement_times().add(self.running.kind, time, weight);
        let used =
            Used { rows_sent: rows, rows_examined: rows, pages_read: run.pages_read, ..Used::default() };
        self.count_towards(digest, Some(facts), None);
        self.note_slow(time, ended, used);
    }

    /// Counts the statement at hand, which has ended, if it was not counted yet; when that was. `to_the_end`: all of its rows were asked for.
    pub(super) fn count_executed(&mut self, to_the_end: bool) -> Option<Instant> {
        if std::mem::replace(&mut self.running.is_over, true) || self.is_watcher {
            return None;
        }
        let gave_rows = self.running.gave_rows.filter(|_| !to_the_end);
        let ended_at = Instant::now();
        let time = gave_rows.unwrap_or_else(|| ended_at.saturating_duration_since(self.began));
        let ended = self.wall.micros_at(ended_at);
        let (now, before) = (self.counted_so_far(), self.running.before);
        // FLUSH STATUS may have been between.
        let since = |now: u64, then: u64| now.saturating_sub(then);
        let used = Used {
            rows_sent: since(now.rows_sent, before.rows_sent),
            rows_examined: since(now.rows_examined, before.rows_examined),
            pages_read: since(now.pages_read, before.pages_read),
            lock_time: now.lock_time.saturating_sub(before.lock_time),
            files: since(now.files, before.files),
        };
        let (runs, affected) = self.running.runs.unwrap_or((1, 0));
        let each = time / u32::try_from(runs).unwrap_or(u32::MAX).max(1);
        self.instance.statement_times().add(self.running.kind, each, u32::try_from(runs).unwrap_or(u32::MAX));
        if let Some(counted) = &self.running.counted {
            counted.digest.count(ExecutionFigures {
                more: runs.saturating_sub(1),
                time: each,
                ended,
                failed: self.running.error.is_some(),
                used,
                warnings: match counted.diagnostics {
                    Diagnostics::Own => self.warnings.count(),
                    Diagnostics::OfBefore => 0,
                },
                rows_affected: self.running.affected + affected,
                no_index_used: counted.no_index_used,
                estimated: counted.estimated.map(|estimated| (estimated, to_the_end)),
            });
        }
        self.note_slow(each, ended, used);
        Some(ended_at)
    }

    /// Counts a statement that was slow, and logs it if it is to be logged.
    fn note_slow(&mut self, time: Duration, ended: i64, used: Used) {
        let is_slow = time >= self.settings.long_query_time;
        let counted = self.running.counted.as_ref();
        let no_index_used = counted.is_some_and(|counted| counted.no_index_used);
        self.counters.slow_queries += u64::from(is_slow);
        let log = self.instance.slow_log();
        if !log.is_on()
            || !(is_slow || no_index_used && log.takes_those_without_index())
            || used.rows_examined < self.settings.min_examined_rows
            || counted.is_some_and(|counted| counted.logging == SlowLogging::Administrative)
                && !log.takes_admin_statements()
        {
            return;
        }
        // Logging had not begun when the statement did.
        let Some((text, values)) = &self.running.text else { return };
        let mode = self.settings.lex_mode();
        let sql = match text {
            LoggedText::Of(sql) => sql.as_str(),
            LoggedText::Prepared(sql) => sql,
        };
        let text = match counted.is_some_and(|counted| counted.is_planned) {
            true => with_values(sql, mode, values).map_or(Cow::Borrowed(sql), Cow::Owned),
            false => without_secrets(sql, mode),
        };
        let utc = DateTime::from_epoch_micros(ended).unwrap_or(DateTime::ZERO);
        let shown = to_text(&Value::DateTime(utc), &SqlType::DateTime { fsp: 6 });
        let shown = shown.map_or_else(String::new, |text| text.replace(' ', "T") + "Z");
        log.log(&SlowStatement {
            ended,
            ended_text: shown,
            user: &self.entry.user,
            host: &self.entry.host,
            connection: self.entry.id,
            time,
            used,
            rows_affected: self.running.affected,
            no_index_used,
            error: self.running.error.unwrap_or(0),
            plan: counted.and_then(|counted| counted.plan),
            database: self.database(),
            text: &text,
        });
    }
}
