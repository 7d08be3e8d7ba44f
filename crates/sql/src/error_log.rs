//! The error log: messages about work that no client waits for, such as events. A server writes them to its log; a
//! program that embeds the database gets them only if it asks for them.

use std::fmt;
use std::sync::Arc;

/// Takes the lines of the error log.
type Sink = Arc<dyn Fn(&str) + Send + Sync>;

/// The error log.
#[derive(Clone, Default)]
pub struct ErrorLog(Option<Sink>);

impl ErrorLog {
    /// Makes a log that gives each line, without a time and an end, to a function.
    pub fn new(sink: impl Fn(&str) + Send + Sync + 'static) -> ErrorLog {
        ErrorLog(Some(Arc::new(sink)))
    }

    /// Adds an error.
    pub(crate) fn error(&self, message: impl fmt::Display) {
        self.add("ERROR", &message);
    }

    /// Adds a warning.
    pub(crate) fn warning(&self, message: impl fmt::Display) {
        self.add("Warning", &message);
    }

    fn add(&self, level: &str, message: &dyn fmt::Display) {
        if let Some(sink) = &self.0 {
            sink(&format!("[{level}] {message}"));
        }
    }
}

impl fmt::Debug for ErrorLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ErrorLog")
    }
}
