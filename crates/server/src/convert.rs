//! Converts a session's state to that of the protocol.

use leafline_protocol::reply::StateChange;
use leafline_protocol::status;
use leafline_sql::settings::Modes;
use leafline_sql::{Session, session};

/// Returns the server status of a session between two statements.
pub(crate) fn status_of(session: &Session) -> u16 {
    let mut bits = 0;
    if session.in_transaction() {
        bits |= status::IN_TRANSACTION;
    }
    if session.autocommit() {
        bits |= status::AUTOCOMMIT;
    }
    if session.settings().sql_mode.has(Modes::NO_BACKSLASH_ESCAPES) {
        bits |= status::NO_BACKSLASH_ESCAPES;
    }
    bits
}

/// Converts the state changes of a session.
pub(crate) fn state_changes(changes: &[session::StateChange]) -> Vec<StateChange<'_>> {
    let converted = changes.iter().map(|change| match change {
        session::StateChange::Variable(name, value) => {
            StateChange::Variable { name: (*name).into(), value: value.into() }
        }
        session::StateChange::Schema(name) => StateChange::Schema(name.into()),
        session::StateChange::State => StateChange::State,
        session::StateChange::Transaction(state) => StateChange::Transaction(state.into()),
    });
    converted.collect()
}
