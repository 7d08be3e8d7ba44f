//! `session_track_*`: the changes of a session that its client wants to be told of.

/// `session_track_transaction_info`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransactionInfo {
    /// Nothing is told.
    #[default]
    Off,
    /// What it has done so far.
    State,
}

/// The changes of a session that its client wants to be told of.
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
    /// Whether a change of this variable is told.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.variables == "*" || self.variables.split(',').any(|known| known.eq_ignore_ascii_case(name))
    }
}
