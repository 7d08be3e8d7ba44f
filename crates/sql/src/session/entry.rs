//! What other sessions may see of a session: `SHOW PROCESSLIST`, and the way to `KILL` it.

use crate::statement::planned::RunningPlan;
use leafline_types::CancelToken;
use parking_lot::Mutex;
use std::time::Instant;

/// The public side of a session.
#[derive(Debug)]
pub struct SessionEntry {
    /// `CONNECTION_ID()`.
    pub id: u64,
    /// The user's name.
    pub user: String,
    /// Where the client is.
    pub host: String,
    /// Stops its statement, or ends it.
    pub cancel: CancelToken,
    activity: Mutex<Activity>,
    plan: Mutex<Option<RunningPlan>>,
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

impl SessionEntry {
    pub(crate) fn new(id: u64, user: &str, host: &str) -> SessionEntry {
        SessionEntry {
            id,
            user: user.into(),
            host: host.into(),
            cancel: CancelToken::new(),
            activity: Mutex::new(Activity { database: None, statement: None, since: Instant::now() }),
            plan: Mutex::new(None),
        }
    }

    /// What it is doing now.
    pub fn activity(&self) -> Activity {
        self.activity.lock().clone()
    }

    pub(crate) fn begin(&self, sql: &str) {
        let mut end = sql.len().min(KEPT_STATEMENT);
        while !sql.is_char_boundary(end) {
            end -= 1;
        }
        let mut activity = self.activity.lock();
        let statement = activity.statement.get_or_insert_default();
        statement.clear();
        statement.push_str(&sql[..end]);
        activity.since = Instant::now();
        *self.plan.lock() = None;
    }

    pub(crate) fn end(&self) {
        let mut activity = self.activity.lock();
        activity.statement = None;
        activity.since = Instant::now();
        *self.plan.lock() = None;
    }

    /// The plan of the running statement, if it has one.
    pub(crate) fn plan(&self) -> Option<RunningPlan> {
        self.plan.lock().clone()
    }

    pub(crate) fn set_plan(&self, plan: RunningPlan) {
        *self.plan.lock() = Some(plan);
    }

    pub(crate) fn set_database(&self, database: Option<&str>) {
        self.activity.lock().database = database.map(Into::into);
    }
}
