//! `optimizer_trace` and related variables.

use leafline_types::MysqlError;
use std::fmt;

/// Settings of the optimizer trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceSettings {
    /// `optimizer_trace`: true if statements are traced.
    pub enabled: bool,
    /// `optimizer_trace_max_mem_size`: limit of a trace in bytes.
    pub max_bytes: u64,
}

impl Default for TraceSettings {
    fn default() -> TraceSettings {
        TraceSettings { enabled: false, max_bytes: 1 << 20 }
    }
}

impl TraceSettings {
    /// Applies `enabled=on|off,one_line=off` or `default`.
    ///
    /// # Errors
    /// 1231 for a flag or a value that does not exist; `one_line=on` is not supported.
    pub fn apply(mut self, given: &str) -> Result<TraceSettings, MysqlError> {
        for part in given.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let flag = part.to_ascii_lowercase().replace(' ', "");
            match flag.as_str() {
                "enabled=on" => self.enabled = true,
                "enabled=off" | "enabled=default" | "default" => self.enabled = false,
                "one_line=off" | "one_line=default" => {}
                _ => return Err(MysqlError::wrong_value_for_variable("optimizer_trace", part)),
            }
        }
        Ok(self)
    }
}

impl fmt::Display for TraceSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "enabled={},one_line=off", if self.enabled { "on" } else { "off" })
    }
}
