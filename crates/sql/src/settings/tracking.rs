//! `session_track_*`: the changes of a session's state that its client tracks.

/// `session_track_transaction_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionInfo {
    /// Nothing is sent.
    #[default]
    Off,
    /// The client gets the state of the transaction.
    State,
}

/// The changes of a session's state that its client tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackSettings {
    /// `session_track_schema`.
    pub schema: bool,
    /// `session_track_state_change`.
    pub state: bool,
    /// `session_track_system_variables`: names, or `*`.
    pub variables: String,
    /// `session_track_transaction_info`.
    pub transaction: TransactionInfo,
}

impl Default for TrackSettings {
    fn default() -> TrackSettings {
        TrackSettings {
            schema: true,
            state: false,
            variables:
                "time_zone,autocommit,character_set_client,character_set_results,character_set_connection"
                    .into(),
            transaction: TransactionInfo::Off,
        }
    }
}

impl TrackSettings {
    /// True if the client tracks this variable.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.variables == "*" || self.variables.split(',').any(|known| known.eq_ignore_ascii_case(name))
    }
}
