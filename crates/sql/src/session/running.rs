//! The figures of the current statement, on their way to its digest, its kind and the slow query log.

use super::Session;
use crate::digest::{Digest, ExecutionFigures, PointReadRun, Used};
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

/// If `long_query_time` is shorter, all point reads are timed.
const SHORT: Duration = Duration::from_millis(100);

/// Figures of a running statement.
#[derive(Default)]
pub(super) struct StatementAccounting {
    /// The session's counters when the statement began.
    before: Used,
    kind: Command,
    /// The digest that the statement counts for, if any.
    counted: Option<DigestedStatement>,
    pub affected: u64,
    /// For several runs in one: their number, and the rows that all but the last affected.
    pub runs: Option<(u64, u64)>,
    /// Number of the error that ended the statement.
    pub error: Option<u16>,
    /// Time from the begin until it last gave rows.
    gave_rows: Option<Duration>,
    /// Text and parameters, if the statement may have to be logged.
    text: Option<(LoggedText, Vec<Value>)>,
    /// True after the statement ended and was counted.
    is_over: bool,
}

impl StatementAccounting {
    /// The state between statements.
    pub fn over() -> StatementAccounting {
        StatementAccounting { is_over: true, ..StatementAccounting::default() }
    }
}

enum LoggedText {
    Of(String),
    Prepared(Arc<str>),
}

struct DigestedStatement {
    digest: Arc<Digest>,
    /// Estimated rows of a query.
    estimated: Option<f64>,
    is_planned: bool,
    plan: Option<u64>,
    no_index_used: bool,
    logging: SlowLogging,
    diagnostics: Diagnostics,
}

/// Derives the time of day from the monotonic clock, so that one reading of a clock gives both.
pub(super) struct WallClock {
    at: Instant,
    /// Microseconds since 1970 at that moment.
    micros: i64,
}

/// Age at which the two clocks are compared again.
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
    /// Makes this a session that monitors the server: its statements are not counted in digests and not
    /// logged.
    pub fn only_watch(&mut self) {
        self.login.is_watcher = true;
    }

    /// Begins the figures of a statement.
    pub(super) fn begin_counting(&mut self, text: StatementText<'_>) {
        let logged = self.instance.slow_log().is_on().then(|| match text {
            StatementText::Of(sql) => (LoggedText::Of(sql.to_owned()), Vec::new()),
            StatementText::Prepared(sql) => (LoggedText::Prepared(sql.clone()), Vec::new()),
        });
        self.statement.running = StatementAccounting {
            before: self.counted_so_far(),
            text: logged,
            ..StatementAccounting::default()
        };
    }

    /// Keeps the values of parameters for the log.
    pub(super) fn keep_values(&mut self, values: &[Value]) {
        if let Some((_, kept)) = &mut self.statement.running.text {
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

    /// Sets the kind of the current statement.
    pub(super) fn is_of_kind(&mut self, command: Command) {
        self.statement.running.kind = command;
    }

    /// Sets and counts the kind of the current statement; counts it as received as well, unless another
    /// statement runs it.
    pub(crate) fn count_command(&mut self, command: Command, is_received: bool) {
        self.statement.running.kind = command;
        match is_received {
            true => self.counters.count(command),
            false => self.counters.count_executed(command),
        }
        if !command.is_frequent() {
            self.entry.count_command(command);
        }
    }

    /// Counts bytes received from the client and sent to it.
    pub fn count_bytes(&mut self, received: u64, sent: u64) {
        self.counters.bytes_received += received;
        self.counters.bytes_sent += sent;
    }

    /// Counts a command of the protocol.
    pub fn count_protocol_command(&mut self, command: Command) {
        self.counters.count_executed(command);
        if !command.is_frequent() {
            self.entry.count_command(command);
        }
    }

    /// Counts the current statement as `runs` statements of a kind; all but the last affected `affected`
    /// rows.
    pub(super) fn count_runs(&mut self, command: Command, runs: u64, affected: u64) {
        self.statement.running.kind = command;
        self.statement.running.runs = Some((runs, affected));
        (0..runs).for_each(|_| self.count_command(command, true));
    }

    /// Undoes the begin of a statement of which nothing has run.
    pub(super) fn forget_statement(&mut self) {
        self.statement.running = StatementAccounting::over();
        self.leave_thread();
        self.statement_ended();
    }

    /// Sets the digest of the current statement, which begins to run a plan, and the estimated rows of a
    /// query.
    pub(crate) fn count_towards(
        &mut self,
        digest: &Arc<Digest>,
        facts: Option<&PlanFacts>,
        estimated: Option<f64>,
    ) {
        if let Some(facts) = facts {
            self.counters.reads.add(&facts.reads);
        }
        self.statement.running.counted = Some(DigestedStatement {
            digest: digest.clone(),
            estimated,
            is_planned: facts.is_some(),
            plan: facts.and_then(|facts| facts.digest),
            no_index_used: facts.is_some_and(|facts| facts.no_index_used),
            logging: SlowLogging::Always,
            diagnostics: Diagnostics::Own,
        });
    }

    /// The digest of a statement with a plan; keeps the statement with its values as the sample if there is
    /// none.
    pub(crate) fn sampled_digest(&self, sql: &str, values: &[Value]) -> Arc<Digest> {
        let mode = self.settings.lex_mode();
        let digest = self.instance.digests().of(self.database(), sql, mode);
        // A value is at least as long as its `?`.
        digest.show(sql.len(), || with_values(sql, mode, values));
        digest
    }

    /// Sets the digest of the current statement, which has no plan.
    pub(crate) fn count_unplanned(&mut self, properties: &Properties<'_>, sql: &str) {
        let digest =
            self.instance.digests().of(self.database(), self.own_text(sql), self.settings.lex_mode());
        self.statement.running.counted = Some(DigestedStatement {
            digest,
            estimated: None,
            is_planned: false,
            plan: None,
            no_index_used: false,
            logging: properties.logging,
            diagnostics: properties.diagnostics,
        });
    }

    /// Sets the digest of a statement that failed before it had one, unless it is a syntax error.
    pub(super) fn count_failed(&mut self, sql: &str, code: u16) {
        if self.statement.running.counted.is_none() && code != errno::ER_PARSE_ERROR {
            let digest = self.instance.digests().of(self.database(), sql, self.settings.lex_mode());
            self.count_towards(&digest, None, None);
        }
    }

    /// Notes that rows were given. If the others are given up, the statement counts as having worked until
    /// now.
    pub(super) fn gave_rows(&mut self) {
        self.statement.running.gave_rows = Some(self.statement.began.elapsed());
    }

    /// Counts a point read that has ended, with the number of its rows.
    pub(crate) fn count_point_read(&mut self, digest: &Arc<Digest>, facts: &PlanFacts, rows: u64) {
        if self.login.is_watcher {
            return;
        }
        let is_timed = self.instance.slow_log().is_on() && self.settings.long_query_time < SHORT
            || facts.no_index_used && self.instance.slow_log().takes_those_without_index();
        let run = PointReadRun {
            rows,
            pages_read: self.pages_read_now(),
            no_index_used: facts.no_index_used,
            is_timed,
        };
        self.statement.running.is_over = true;
        let mut ended = 0;
        let timed = digest.count_point_read(run, || {
            let now = Instant::now();
            ended = self.statement.wall.micros_at(now);
            (now.saturating_duration_since(self.statement.began), ended)
        });
        let Some((time, weight)) = timed else { return };
        self.instance.statement_times().add(self.statement.running.kind, time, weight);
        let used =
            Used { rows_sent: rows, rows_examined: rows, pages_read: run.pages_read, ..Used::default() };
        self.count_towards(digest, Some(facts), None);
        self.note_slow(time, ended, used);
    }

    /// Counts the ended statement unless this was done. Returns its end; `to_the_end` says that all of its
    /// rows were read.
    pub(super) fn count_executed(&mut self, to_the_end: bool) -> Option<Instant> {
        if std::mem::replace(&mut self.statement.running.is_over, true) || self.login.is_watcher {
            return None;
        }
        let gave_rows = self.statement.running.gave_rows.filter(|_| !to_the_end);
        let ended_at = Instant::now();
        let time = gave_rows.unwrap_or_else(|| ended_at.saturating_duration_since(self.statement.began));
        let ended = self.statement.wall.micros_at(ended_at);
        let (now, before) = (self.counted_so_far(), self.statement.running.before);
        // FLUSH STATUS may have reset the counters meanwhile.
        let since = |now: u64, then: u64| now.saturating_sub(then);
        let used = Used {
            rows_sent: since(now.rows_sent, before.rows_sent),
            rows_examined: since(now.rows_examined, before.rows_examined),
            pages_read: since(now.pages_read, before.pages_read),
            lock_time: now.lock_time.saturating_sub(before.lock_time),
            files: since(now.files, before.files),
        };
        let (runs, affected) = self.statement.running.runs.unwrap_or((1, 0));
        let each = time / u32::try_from(runs).unwrap_or(u32::MAX).max(1);
        self.instance.statement_times().add(
            self.statement.running.kind,
            each,
            u32::try_from(runs).unwrap_or(u32::MAX),
        );
        if let Some(counted) = &self.statement.running.counted {
            counted.digest.count(ExecutionFigures {
                more: runs.saturating_sub(1),
                time: each,
                ended,
                failed: self.statement.running.error.is_some(),
                used,
                warnings: match counted.diagnostics {
                    Diagnostics::Own => self.warnings.count(),
                    Diagnostics::OfBefore => 0,
                },
                rows_affected: self.statement.running.affected + affected,
                no_index_used: counted.no_index_used,
                estimated: counted.estimated.map(|estimated| (estimated, to_the_end)),
            });
        }
        self.note_slow(each, ended, used);
        Some(ended_at)
    }

    /// Counts a slow statement, and logs it as the settings say.
    fn note_slow(&mut self, time: Duration, ended: i64, used: Used) {
        let is_slow = time >= self.settings.long_query_time;
        let counted = self.statement.running.counted.as_ref();
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
        // Without a text the log was off when the statement began.
        let Some((text, values)) = &self.statement.running.text else { return };
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
            rows_affected: self.statement.running.affected,
            no_index_used,
            error: self.statement.running.error.unwrap_or(0),
            plan: counted.and_then(|counted| counted.plan),
            database: self.database(),
            text: &text,
        });
    }
}
