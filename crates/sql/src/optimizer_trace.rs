//! `optimizer_trace`: what the optimizer compared for the last statement.

use crate::settings::TraceSettings;

/// What was kept for a statement.
#[derive(Debug)]
pub(crate) struct OptimizerTrace {
    /// Its text.
    pub sql: String,
    /// What was compared, as far as it was kept.
    pub text: String,
    /// How many bytes of it were not.
    pub missing: usize,
}

impl OptimizerTrace {
    /// Keeps what there is room for.
    pub fn new(sql: &str, mut text: String, settings: TraceSettings) -> OptimizerTrace {
        let whole = text.len();
        let most = usize::try_from(settings.max_bytes).unwrap_or(usize::MAX);
        let end = (0..=most.min(whole)).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or(0));
        OptimizerTrace { sql: sql.to_owned(), missing: whole - text.len(), text }
    }
}
