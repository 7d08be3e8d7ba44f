//! The part of a session that other sessions see: `SHOW PROCESSLIST` reads it, and `KILL` goes through it.

use crate::plans::RunningPlan;
use crate::resource_group::ResourceGroup;
use crate::status::{Command, RareCommands, SessionCounters};
use leafline_syntax::AccountId;
use leafline_table::{RegisteredSnapshot, TransactionWatch};
use leafline_types::{CancelToken, Progress};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};

/// The origin of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionKind {
    /// A client, or the embedding program.
    Client,
    /// The event scheduler, which runs no statements.
    EventScheduler,
    /// A run of an event.
    Event,
}

/// A session as other sessions see it.
#[derive(Debug)]
pub struct SessionEntry {
    /// `CONNECTION_ID()`.
    pub id: u64,
    /// Name of the user.
    pub user: String,
    /// The host of the client.
    pub host: String,
    /// The account that the client logged in as; `None` in a program that embeds the database.
    pub account: Option<AccountId>,
    /// Version of the accounts at login.
    pub admitted: u64,
    /// The origin.
    pub(crate) kind: SessionKind,
    /// Cancels the session's statement, or ends the session.
    pub cancel: CancelToken,
    /// Progress of the running statement.
    pub progress: Progress,
    /// Connection attributes: names and values.
    attributes: OnceLock<ConnectAttributes>,
    /// Number of prepared statements.
    prepared: AtomicU64,
    state: Mutex<State>,
}

/// Connection attributes, as a client sends them at login: names and values.
pub type ConnectAttributes = Vec<(String, String)>;

/// Limit of the kept attributes, in bytes; as in MySQL, attributes beyond it are dropped.
pub(crate) const MOST_ATTRIBUTE_BYTES: usize = 512;

#[derive(Debug)]
struct State {
    database: Option<String>,
    statement: CurrentText,
    /// The cause for which the event scheduler waits.
    waiting: &'static str,
    /// Text of the last statement that was not prepared.
    text: String,
    since: Instant,
    plan: Option<RunningPlan>,
    /// Counters at the end of the last statement.
    counters: SessionCounters,
    /// Counts the executions of rare commands in this session.
    commands: RareCommands,
    /// The group that controls the session's threads; `None` for no control.
    resource_group: Option<Arc<ResourceGroup>>,
    /// Snapshot of a transaction begun WITH CONSISTENT SNAPSHOT.
    snapshot: Option<RegisteredSnapshot>,
    /// The last transaction that the session began.
    transaction: Option<BegunTransaction>,
}

/// A transaction that a session has begun. It may have ended.
#[derive(Clone, Debug)]
pub(crate) struct BegunTransaction {
    /// Number, larger than the numbers of earlier transactions.
    pub(crate) number: u64,
    /// Time of its begin.
    pub(crate) since: SystemTime,
    pub(crate) watch: TransactionWatch,
}

static LAST_TRANSACTION: AtomicU64 = AtomicU64::new(0);

/// The kind of the running statement's text.
#[derive(Debug)]
enum CurrentText {
    Nothing,
    Text,
    Prepared(Arc<str>),
}

/// The text of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StatementText<'s> {
    /// The text as the client sent it.
    Of(&'s str),
    /// The text kept with a prepared statement.
    Prepared(&'s Arc<str>),
}

/// The activity of a session at one moment.
#[derive(Clone, Debug)]
pub struct Activity {
    /// The current database.
    pub database: Option<String>,
    /// The running statement.
    pub statement: Option<String>,
    /// The cause for which the event scheduler waits; empty for other sessions.
    pub(crate) waiting: &'static str,
    /// Start of the running statement, or end of the last one.
    pub since: Instant,
}

/// Length of a statement's text in the process list, in bytes.
const KEPT_STATEMENT: usize = 1024;

/// Cuts a statement to `KEPT_STATEMENT` bytes, at a character boundary.
fn beginning(sql: &str) -> &str {
    let mut end = sql.len().min(KEPT_STATEMENT);
    while !sql.is_char_boundary(end) {
        end -= 1;
    }
    &sql[..end]
}

impl SessionEntry {
    pub(crate) fn new(
        id: u64,
        user: &str,
        host: &str,
        (account, admitted): (Option<AccountId>, u64),
    ) -> SessionEntry {
        SessionEntry {
            id,
            user: user.into(),
            host: host.into(),
            account,
            admitted,
            kind: SessionKind::Client,
            cancel: CancelToken::new(),
            progress: Progress::default(),
            attributes: OnceLock::new(),
            prepared: AtomicU64::new(0),
            state: Mutex::new(State {
                database: None,
                statement: CurrentText::Nothing,
                waiting: "",
                text: String::new(),
                since: Instant::now(),
                plan: None,
                counters: SessionCounters::default(),
                commands: RareCommands::default(),
                resource_group: None,
                snapshot: None,
                transaction: None,
            }),
        }
    }

    /// Makes it the entry of another kind of session.
    pub(crate) fn of_kind(self, kind: SessionKind) -> SessionEntry {
        SessionEntry { kind, ..self }
    }

    /// Notes the activity of the event scheduler: what it waits for.
    pub(crate) fn set_waiting(&self, waiting: &'static str) {
        let mut state = self.state.lock();
        if state.waiting != waiting {
            (state.waiting, state.since) = (waiting, Instant::now());
        }
    }

    /// Keeps the connection attributes; only the first call has an effect.
    pub(crate) fn set_attributes(&self, mut attributes: ConnectAttributes) {
        let mut bytes = 0;
        let end = attributes.iter().position(|(name, value)| {
            bytes += name.len() + value.len();
            bytes > MOST_ATTRIBUTE_BYTES
        });
        attributes.truncate(end.unwrap_or(attributes.len()));
        attributes.shrink_to_fit();
        let _ = self.attributes.set(attributes);
    }

    /// The connection attributes.
    pub(crate) fn attributes(&self) -> &[(String, String)] {
        self.attributes.get().map_or(&[], Vec::as_slice)
    }

    /// The activity now.
    pub fn activity(&self) -> Activity {
        let state = self.state.lock();
        let statement = match &state.statement {
            CurrentText::Nothing => None,
            CurrentText::Text => Some(state.text.clone()),
            CurrentText::Prepared(sql) => Some(beginning(sql).to_owned()),
        };
        Activity { database: state.database.clone(), statement, waiting: state.waiting, since: state.since }
    }

    /// Notes the begin of a statement and returns the session's resource group.
    pub(crate) fn begin(&self, sql: StatementText<'_>, now: Instant) -> Option<Arc<ResourceGroup>> {
        let mut state = self.state.lock();
        state.statement = match sql {
            StatementText::Of(sql) => {
                state.text.clear();
                state.text.push_str(beginning(sql));
                CurrentText::Text
            }
            StatementText::Prepared(sql) => CurrentText::Prepared(sql.clone()),
        };
        state.since = now;
        state.plan = None;
        state.resource_group.clone()
    }

    /// Notes the end of a statement, with the session's counters. `ended` is `None` after a statement too
    /// short to be seen.
    pub(crate) fn end(&self, counters: &SessionCounters, ended: Option<Instant>) {
        self.progress.end();
        let mut state = self.state.lock();
        state.statement = CurrentText::Nothing;
        if let Some(ended) = ended {
            state.since = ended;
        }
        state.plan = None;
        state.counters = *counters;
    }

    /// The session's counters at the end of its last statement.
    pub(crate) fn counters(&self) -> SessionCounters {
        self.state.lock().counters
    }

    /// Sets the counters to zero. Returns the rare commands, which are counted nowhere else.
    pub(crate) fn forget_counters(&self) -> RareCommands {
        let mut state = self.state.lock();
        state.counters = SessionCounters::default();
        std::mem::take(&mut state.commands)
    }

    /// Counts a rare command.
    pub(crate) fn count_command(&self, command: Command) {
        self.state.lock().commands.count(command);
    }

    /// The rare commands of the session.
    pub(crate) fn commands(&self) -> RareCommands {
        self.state.lock().commands.clone()
    }

    /// True while a statement runs.
    pub(crate) fn is_running(&self) -> bool {
        !matches!(self.state.lock().statement, CurrentText::Nothing)
    }

    /// Number of prepared statements.
    pub(crate) fn prepared(&self) -> u64 {
        self.prepared.load(Ordering::Relaxed)
    }

    pub(crate) fn set_prepared(&self, statements: usize) {
        self.prepared.store(statements as u64, Ordering::Relaxed);
    }

    /// The plan of the running statement, if it has one.
    pub(crate) fn plan(&self) -> Option<RunningPlan> {
        self.state.lock().plan.clone()
    }

    pub(crate) fn set_plan(&self, plan: RunningPlan) {
        self.state.lock().plan = Some(plan);
    }

    /// The session's resource group.
    pub(crate) fn resource_group(&self) -> Option<Arc<ResourceGroup>> {
        self.state.lock().resource_group.clone()
    }

    /// Changes the resource group, from the next statement on; `None` for no group.
    pub(crate) fn set_resource_group(&self, group: Option<Arc<ResourceGroup>>) {
        self.state.lock().resource_group = group;
    }

    /// The snapshot, which other sessions may read at, too.
    pub(crate) fn snapshot(&self) -> Option<RegisteredSnapshot> {
        self.state.lock().snapshot.clone()
    }

    pub(crate) fn set_snapshot(&self, snapshot: Option<RegisteredSnapshot>) {
        self.state.lock().snapshot = snapshot;
    }

    /// The last transaction that the session began.
    pub(crate) fn transaction(&self) -> Option<BegunTransaction> {
        self.state.lock().transaction.clone()
    }

    /// Notes the begin of a transaction and numbers it.
    pub(crate) fn begins_transaction(&self, watch: TransactionWatch) {
        let number = LAST_TRANSACTION.fetch_add(1, Ordering::Relaxed) + 1;
        self.state.lock().transaction = Some(BegunTransaction { number, since: SystemTime::now(), watch });
    }

    pub(crate) fn set_database(&self, database: Option<&str>) {
        self.state.lock().database = database.map(Into::into);
    }
}
