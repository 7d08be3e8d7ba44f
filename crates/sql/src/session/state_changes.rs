//! Changes of a session's state that its client tracks: `session_track_*`.
//!
//! Statements note changes, and the server takes them with the answer. Nothing is noted unless the client
//! asks for tracking.

use super::Session;
use crate::settings::{TransactionInfo, variables};
use leafline_types::convert::to_text;
use leafline_types::{SqlType, Value};

/// A change of the session's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// A system variable and its new value.
    Variable(&'static str, String),
    /// The new current database.
    Schema(String),
    /// Some other part of the session's state has changed.
    State,
    /// The state of the transaction, one character for each fact, in MySQL's format.
    Transaction(String),
}

/// Facts about the current transaction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TransactionUse {
    /// True if BEGIN or START TRANSACTION began it.
    pub(super) is_explicit: bool,
    /// True if it has read rows.
    pub(super) has_read: bool,
    /// True if it has sent rows to the client.
    pub(super) has_sent: bool,
}

/// The changes noted since they were last taken.
#[derive(Debug, Default)]
pub(crate) struct StateTracker {
    is_on: bool,
    variables: Vec<&'static str>,
    schema: bool,
    state: bool,
    /// The state of the transaction as last sent to the client.
    told: Option<String>,
}

impl StateTracker {
    pub(crate) fn variable(&mut self, name: &'static str) {
        if self.is_on {
            self.state = true;
            if !self.variables.contains(&name) {
                self.variables.push(name);
            }
        }
    }

    pub(crate) fn schema(&mut self) {
        (self.schema, self.state) = (self.is_on, self.is_on);
    }

    pub(crate) fn state(&mut self) {
        self.state = self.is_on;
    }
}

impl Session {
    /// Starts noting changes, for a client that asks for them.
    pub fn track_state(&mut self) {
        self.tracker.is_on = true;
    }

    /// Takes the changes noted since the previous call, as far as the client tracks them.
    pub fn take_state_changes(&mut self) -> Vec<StateChange> {
        if !self.tracker.is_on {
            return Vec::new();
        }
        let mut changes = Vec::new();
        for name in std::mem::take(&mut self.tracker.variables) {
            if let Ok(variable) = variables::find(name)
                && self.settings.track.has(name)
            {
                let value = variable.get(&self.settings, self.instance.facts());
                let text = to_text(&value, &SqlType::Null).unwrap_or_default();
                changes.push(StateChange::Variable(name, text.to_string()));
            }
        }
        if std::mem::take(&mut self.tracker.schema) && self.settings.track.schema {
            changes.push(StateChange::Schema(self.database().unwrap_or_default().to_owned()));
        }
        if std::mem::take(&mut self.tracker.state) && self.settings.track.state {
            changes.push(StateChange::State);
        }
        if self.settings.track.transaction == TransactionInfo::State {
            let state = self.transaction_state();
            if self.tracker.told.as_ref() != Some(&state) {
                self.tracker.told = Some(state.clone());
                changes.push(StateChange::Transaction(state));
            }
        }
        changes
    }

    /// Formats MySQL's eight characters: transaction, reads and writes of tables without and with
    /// transactions, unsafe statements, rows sent, LOCK TABLES. All tables have transactions, and no
    /// statement is unsafe.
    fn transaction_state(&self) -> String {
        let open = self.transaction.open.as_ref();
        let used = self.transaction.used;
        let shown = |is: bool, sign: char| if is && open.is_some() { sign } else { '_' };
        let begun = if used.is_explicit { 'T' } else { 'I' };
        [
            shown(true, begun),
            '_',
            shown(used.has_read, 'R'),
            '_',
            shown(open.is_some_and(|open| open.has_writes()), 'W'),
            '_',
            shown(used.has_sent, 'S'),
            if self.objects.locked_tables.is_some() { 'L' } else { '_' },
        ]
        .iter()
        .collect()
    }

    /// Sets the query attributes that the client sent with the next statement.
    pub fn set_query_attributes(&mut self, attributes: Vec<(String, Value)>) {
        let text = |value: Value| to_text(&value, &SqlType::Null).map(|text| text.to_string());
        self.facts.query_attributes =
            attributes.into_iter().map(|(name, value)| (name, text(value))).collect();
    }
}
