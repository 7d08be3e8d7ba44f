//! `optimizer_trace`: the record of the optimizer's choices for a statement.

use crate::settings::TraceSettings;

/// The trace of a statement.
#[derive(Debug)]
pub(crate) struct OptimizerTrace {
    /// The statement.
    pub sql: String,
    /// The trace, up to its limit.
    pub text: String,
    /// Number of bytes beyond the limit.
    pub missing: usize,
}

impl OptimizerTrace {
    /// Keeps as much of the trace as the settings allow.
    pub fn new(sql: &str, mut text: String, settings: TraceSettings) -> OptimizerTrace {
        let whole = text.len();
        let most = usize::try_from(settings.max_bytes).unwrap_or(usize::MAX);
        let end = (0..=most.min(whole)).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
        OptimizerTrace { sql: sql.to_owned(), missing: whole - text.len(), text }
    }
}
