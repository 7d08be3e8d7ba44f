//! What statements change of a session that its client may want to know: `session_track_*`.
//!
//! Statements note what they do; who serves the session takes it with their answer. Nothing is noted of a session whose client does not ask.

use super::Session;
use crate::settings::{TransactionInfo, variables};
use leafline_types::convert::to_text;
use leafline_types::{SqlType, Value};

/// Something that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateChange {
    /// A system variable has this value.
    Variable(&'static str, String),
    /// The current database.
    Schema(String),
    /// Something of the session: another reason why it is not like any other.
    State,
    /// What the transaction has done so far, a character for each thing, as MySQL writes it.
    Transaction(String),
}

/// What the transaction at hand has done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TransactionUse {
    /// It was begun by a statement that says so.
    pub(super) is_explicit: bool,
    /// It has read rows.
    pub(super) has_read: bool,
    /// It has given rows to the client.
    pub(super) has_sent: bool,
}

/// What was noted since it was taken last.
#[derive(Debug, Default)]
pub(crate) struct StateTracker {
    is_on: bool,
    variables: Vec<&'static str>,
    schema: bool,
    state: bool,
    /// What the client was told last.
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
    /// From now on changes are noted, for a client that asks.
    pub fn track_state(&mut self) {
        self.tracker.is_on = true;
    }

    /// What has changed since this was asked last, of what the client wants to know.
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

    /// MySQL's eight characters: transaction, reads and writes of tables without and with transactions, unsafe statements, rows sent, LOCK
    /// TABLES. All tables have transactions, and no statement is unsafe.
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
            if self.locked_tables.is_some() { 'L' } else { '_' },
        ]
        .iter()
        .collect()
    }

    /// What the client has sent along with the next statement.
    pub fn set_query_attributes(&mut self, attributes: Vec<(String, Value)>) {
        let text = |value: Value| to_text(&value, &SqlType::Null).map(|text| text.to_string());
        self.facts.query_attributes =
            attributes.into_iter().map(|(name, value)| (name, text(value))).collect();
    }
}
