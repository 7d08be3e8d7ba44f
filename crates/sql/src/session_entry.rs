//! What other sessions may see of a session: `SHOW PROCESSLIST`, and the way to `KILL` it.

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

/// The public side of a session.
#[derive(Debug)]
pub struct SessionEntry {
    /// `CONNECTION_ID()`.
    pub id: u64,
    /// The user's name.
    pub user: String,
    /// Where the client is.
    pub host: String,
    /// The account that has let it in; none of a program that embeds the database.
    pub account: Option<AccountId>,
    /// The number that the accounts had then.
    pub admitted: u64,
    /// Stops its statement, or ends it.
    pub cancel: CancelToken,
    /// How far its statement is.
    pub progress: Progress,
    /// What the client has said of itself: names and values.
    attributes: OnceLock<ConnectAttributes>,
    /// How many prepared statements it has.
    prepared: AtomicU64,
    state: Mutex<State>,
}

/// What a client says of itself when it comes: names and values.
pub type ConnectAttributes = Vec<(String, String)>;

/// Bytes that are kept of it: as in MySQL, attributes beyond that are left out.
pub(crate) const MOST_ATTRIBUTE_BYTES: usize = 512;

#[derive(Debug)]
struct State {
    database: Option<String>,
    statement: Running,
    /// The text of the last statement that came as such.
    text: String,
    since: Instant,
    plan: Option<RunningPlan>,
    /// As of the end of the last statement.
    counters: SessionCounters,
    /// Counts the executions of rare commands in this session.
    commands: RareCommands,
    /// Whose controls its threads are under; none: nobody's.
    resource_group: Option<Arc<ResourceGroup>>,
    /// That of its transaction, if it was begun WITH CONSISTENT SNAPSHOT.
    snapshot: Option<RegisteredSnapshot>,
    /// The last one that it began.
    transaction: Option<BegunTransaction>,
}

/// A transaction that a session has begun. It may have ended.
#[derive(Clone, Debug)]
pub(crate) struct BegunTransaction {
    /// Its number, larger than those of transactions before it.
    pub(crate) number: u64,
    /// When.
    pub(crate) since: SystemTime,
    pub(crate) watch: TransactionWatch,
}

static LAST_TRANSACTION: AtomicU64 = AtomicU64::new(0);

/// What is running.
#[derive(Debug)]
enum Running {
    Nothing,
    Text,
    Prepared(Arc<str>),
}

/// The text of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StatementText<'s> {
    /// As it came.
    Of(&'s str),
    /// Kept with a prepared statement.
    Prepared(&'s Arc<str>),
}

/// What a session is doing.
#[derive(Clone, Debug)]
pub struct Activity {
    /// Its current database.
    pub database: Option<String>,
    /// The running statement.
    pub statement: Option<String>,
    /// Since when.
    pub since: Instant,
}

/// How much of a statement is kept for the process list, in bytes.
const KEPT_STATEMENT: usize = 1024;

/// What is kept of a statement.
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
            cancel: CancelToken::new(),
            progress: Progress::default(),
            attributes: OnceLock::new(),
            prepared: AtomicU64::new(0),
            state: Mutex::new(State {
                database: None,
                statement: Running::Nothing,
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

    /// Keeps what the client has said of itself, once.
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

    /// What the client has said of itself.
    pub(crate) fn attributes(&self) -> &[(String, String)] {
        self.attributes.get().map_or(&[], Vec::as_slice)
    }

    /// What it is doing now.
    pub fn activity(&self) -> Activity {
        let state = self.state.lock();
        let statement = match &state.statement {
            Running::Nothing => None,
            Running::Text => Some(state.text.clone()),
            Running::Prepared(sql) => Some(beginning(sql).to_owned()),
        };
        Activity { database: state.database.clone(), statement, since: state.since }
    }

    /// A statement begins; the group that the session is in.
    pub(crate) fn begin(&self, sql: StatementText<'_>, now: Instant) -> Option<Arc<ResourceGroup>> {
        let mut state = self.state.lock();
        state.statement = match sql {
            StatementText::Of(sql) => {
                state.text.clear();
                state.text.push_str(beginning(sql));
                Running::Text
            }
            StatementText::Prepared(sql) => Running::Prepared(sql.clone()),
        };
        state.since = now;
        state.plan = None;
        state.resource_group.clone()
    }

    /// The statement is over; the session has counted so much. When that was is `None` after one that took no time that anybody would see.
    pub(crate) fn end(&self, counters: &SessionCounters, ended: Option<Instant>) {
        self.progress.end();
        let mut state = self.state.lock();
        state.statement = Running::Nothing;
        if let Some(ended) = ended {
            state.since = ended;
        }
        state.plan = None;
        state.counters = *counters;
    }

    /// What the session had counted when its last statement ended.
    pub(crate) fn counters(&self) -> SessionCounters {
        self.state.lock().counters
    }

    /// Forgets what the session has counted; its rare commands, which are nowhere else.
    pub(crate) fn forget_counters(&self) -> RareCommands {
        let mut state = self.state.lock();
        state.counters = SessionCounters::default();
        std::mem::take(&mut state.commands)
    }

    /// Counts a command that is rare.
    pub(crate) fn count_command(&self, command: Command) {
        self.state.lock().commands.count(command);
    }

    /// The rare commands of the session.
    pub(crate) fn commands(&self) -> RareCommands {
        self.state.lock().commands.clone()
    }

    /// Whether it runs a statement.
    pub(crate) fn is_running(&self) -> bool {
        !matches!(self.state.lock().statement, Running::Nothing)
    }

    /// How many prepared statements the session has.
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

    /// The resource group that it is in.
    pub(crate) fn resource_group(&self) -> Option<Arc<ResourceGroup>> {
        self.state.lock().resource_group.clone()
    }

    /// Puts it into a resource group from its next statement on, or into none.
    pub(crate) fn set_resource_group(&self, group: Option<Arc<ResourceGroup>>) {
        self.state.lock().resource_group = group;
    }

    /// The snapshot that other sessions may read at, too.
    pub(crate) fn snapshot(&self) -> Option<RegisteredSnapshot> {
        self.state.lock().snapshot.clone()
    }

    pub(crate) fn set_snapshot(&self, snapshot: Option<RegisteredSnapshot>) {
        self.state.lock().snapshot = snapshot;
    }

    /// The last transaction that it began.
    pub(crate) fn transaction(&self) -> Option<BegunTransaction> {
        self.state.lock().transaction.clone()
    }

    /// The session begins a transaction.
    pub(crate) fn begins_transaction(&self, watch: TransactionWatch) {
        let number = LAST_TRANSACTION.fetch_add(1, Ordering::Relaxed) + 1;
        self.state.lock().transaction = Some(BegunTransaction { number, since: SystemTime::now(), watch });
    }

    pub(crate) fn set_database(&self, database: Option<&str>) {
        self.state.lock().database = database.map(Into::into);
    }
}
