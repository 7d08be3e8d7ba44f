//! The table of system variables: names, scopes, how each is read and set.
//!
//! A variable is here because it does something or tells something that is true. One that MySQL has and that is not
//! in the table is error 1193, so that nothing is accepted and ignored.

mod catalogue;

use super::settings::{Modes, Settings};
use crate::accounts::password::AuthPlugin;
pub use catalogue::VARIABLES;
use leafline_types::{MysqlError, Value};

/// The oldest version of the protocol's peers that we stand for, and our name.
pub const VERSION: &str = concat!("8.0.36-leafline-", env!("CARGO_PKG_VERSION"));

/// What is fixed while the instance is open.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// `version`.
    pub version: String,
    /// `datadir`.
    pub data_directory: String,
    /// `port`; 0 when not served.
    pub port: u16,
    /// `socket`; empty when there is none.
    pub socket: String,
    /// `innodb_buffer_pool_size`, bytes.
    pub buffer_pool_bytes: u64,
    /// `innodb_page_size`, bytes.
    pub page_bytes: u64,
    /// `innodb_log_file_size`, `innodb_redo_log_capacity`: bytes that the whole redo log can grow to.
    pub log_bytes: u64,
    /// `innodb_flush_log_at_trx_commit`.
    pub flush_log_at_commit: u8,
    /// `ssl_cert`: the file of the certificate; empty where TLS is not offered.
    pub tls_certificate: String,
    /// `ssl_key`: that of its key.
    pub tls_key: String,
    /// `innodb_use_native_aio`: reads in batches may go through io_uring.
    pub native_aio: bool,
    /// `innodb_buffer_pool_load_at_startup`: pages are read in that were in memory when the database was closed.
    pub warm_up: bool,
    /// `performance_schema_digests_size`: statements that are told apart by what is counted.
    pub digests: u64,
    /// `secure_file_priv`: the directory whose files statements read and write; everywhere if it is empty, nowhere without one.
    pub secure_file_priv: Option<String>,
    /// `default_authentication_plugin`: that of accounts whose statement names none.
    pub default_plugin: AuthPlugin,
}

/// Where a variable can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// For a session, and globally for later ones.
    Both,
    /// Globally, for later sessions; a session keeps what it has begun with.
    Global,
    /// Globally, for all sessions at once.
    Shared,
    /// Only shown.
    ReadOnly,
}

/// One system variable.
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Where it can be set.
    pub scope: Scope,
    /// It is ON or OFF: 1 or 0 as an expression.
    pub is_switch: bool,
    get: fn(&Settings, &Facts) -> Value,
    setter: Setter,
}

/// How a variable takes a value.
enum Setter {
    /// As it is, or not at all.
    Any(fn(&mut Settings, Value) -> Result<(), MysqlError>),
    /// A number, the nearest one between two.
    Number {
        least: u64,
        most: u64,
        /// It takes multiples of this, rounded down.
        step: u64,
        set: fn(&mut Settings, u64),
    },
}

impl Variable {
    /// Whether the hint SET_VAR sets it for one statement.
    pub fn is_hintable(&self) -> bool {
        HINTABLE.contains(&self.name)
    }

    /// Its value.
    pub fn get(&self, settings: &Settings, facts: &Facts) -> Value {
        (self.get)(settings, facts)
    }

    /// Sets it; `None` is DEFAULT. A number beyond its bounds becomes the nearest within, of which it gives the warning, 1292;
    /// under STRICT_ALL_TABLES it is refused, as in MySQL.
    ///
    /// # Errors
    /// 1238 if it is only shown, 1231 or 1232 if the value is not one it can have.
    pub fn set(
        &self,
        settings: &mut Settings,
        value: Option<Value>,
    ) -> Result<Option<MysqlError>, MysqlError> {
        let strict = settings.sql_mode.has(Modes::STRICT_ALL_TABLES);
        self.set_within(settings, value, strict)
    }

    /// As [`set`](Self::set), where it does not depend on `sql_mode` whether numbers beyond the bounds are refused.
    ///
    /// # Errors
    /// Those of `set`.
    pub fn set_within(
        &self,
        settings: &mut Settings,
        value: Option<Value>,
        strict: bool,
    ) -> Result<Option<MysqlError>, MysqlError> {
        if self.scope == Scope::ReadOnly {
            return Err(MysqlError::incorrect_variable_scope(self.name, "read only"));
        }
        let value = value.unwrap_or_else(|| self.get(&Settings::default(), &Facts::default()));
        let (least, most, step, set) = match &self.setter {
            Setter::Any(set) => return set(settings, value).map(|()| None),
            Setter::Number { least, most, step, set } => (*least, *most, *step, set),
        };
        let (given, below) = match &value {
            Value::Int(n) => (u64::try_from(*n).unwrap_or(0), *n < 0),
            Value::UInt(n) => (*n, false),
            _ => return Err(MysqlError::wrong_type_for_variable(self.name)),
        };
        let taken = given.clamp(least, most);
        let taken = taken - taken % step;
        if taken == given && !below {
            set(settings, taken);
            return Ok(None);
        }
        if strict {
            return Err(MysqlError::wrong_value_for_variable(self.name, word(&value)));
        }
        set(settings, taken);
        Ok(Some(MysqlError::truncated_value(self.name, &word(&value))))
    }
}

/// The variable of that name, in any case.
///
/// # Errors
/// 1193 if there is none.
pub fn find(name: &str) -> Result<&'static Variable, MysqlError> {
    let lower = name.to_ascii_lowercase();
    let lower = match lower.as_str() {
        "tx_isolation" => "transaction_isolation",
        "tx_read_only" => "transaction_read_only",
        other => other,
    };
    VARIABLES.iter().find(|v| v.name == lower).ok_or_else(|| MysqlError::unknown_system_variable(name))
}

fn text(value: impl ToString) -> Value {
    Value::string(value.to_string())
}

fn on_off(on: bool) -> Value {
    text(if on { "ON" } else { "OFF" })
}

/// ON, OFF, TRUE, FALSE, 1 or 0.
pub(crate) fn flag(name: &str, value: &Value) -> Result<bool, MysqlError> {
    let word = word(value);
    match word.to_ascii_uppercase().as_str() {
        "ON" | "TRUE" | "1" => Ok(true),
        "OFF" | "FALSE" | "0" => Ok(false),
        _ => Err(MysqlError::wrong_value_for_variable(name, word)),
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        Value::String(s) => s.to_string(),
        other => other.kind().into(),
    }
}

const fn shown(name: &'static str, get: fn(&Settings, &Facts) -> Value) -> Variable {
    Variable { name, scope: Scope::ReadOnly, is_switch: false, get, setter: Setter::Any(|_, _| Ok(())) }
}

const fn settable(
    name: &'static str,
    get: fn(&Settings, &Facts) -> Value,
    set: fn(&mut Settings, Value) -> Result<(), MysqlError>,
) -> Variable {
    Variable { name, scope: Scope::Both, is_switch: false, get, setter: Setter::Any(set) }
}

/// One that is set for all sessions at once.
const fn shared(variable: Variable) -> Variable {
    Variable { scope: Scope::Shared, ..variable }
}

const fn switch(
    name: &'static str,
    get: fn(&Settings, &Facts) -> Value,
    set: fn(&mut Settings, Value) -> Result<(), MysqlError>,
) -> Variable {
    Variable { name, scope: Scope::Both, is_switch: true, get, setter: Setter::Any(set) }
}

const fn number(
    name: &'static str,
    (least, most): (u64, u64),
    get: fn(&Settings, &Facts) -> Value,
    set: fn(&mut Settings, u64),
) -> Variable {
    let setter = Setter::Number { least, most, step: 1, set };
    Variable { name, scope: Scope::Both, is_switch: false, get, setter }
}

/// A switch that is off, and can be set to what it is.
const fn always_off(name: &'static str, set: fn(&mut Settings, Value) -> Result<(), MysqlError>) -> Variable {
    switch(name, |_, _| on_off(false), set)
}

const fn always_on(name: &'static str, set: fn(&mut Settings, Value) -> Result<(), MysqlError>) -> Variable {
    switch(name, |_, _| on_off(true), set)
}

/// Lets a switch be set to what it is.
fn stays(on: bool, name: &str, value: &Value) -> Result<(), MysqlError> {
    match flag(name, value)? {
        asked if asked == on => Ok(()),
        true => Err(MysqlError::not_supported(format_args!("{name} = ON"))),
        false => Err(MysqlError::not_supported(format_args!("{name} = OFF"))),
    }
}

/// `@@error_count` and `@@warning_count`: what the statement before has said. They are of the session at hand and change with each
/// statement, so that expressions compute them (the function of the name in capitals).
pub const CONDITION_COUNTS: &[&str] = &["error_count", "warning_count"];

/// Variables that a hint sets for one statement: those that MySQL lets, and our own that decide about plans and memory.
const HINTABLE: &[&str] = &[
    "cte_max_recursion_depth",
    "foreign_key_checks",
    "group_concat_max_len",
    "innodb_lock_wait_timeout",
    "leafline_cpu_factor",
    "leafline_device",
    "leafline_parallel_reads",
    "leafline_query_memory",
    "leafline_random_read_time",
    "leafline_sequential_read_rate",
    "lock_wait_timeout",
    "logical_read_ahead_size",
    "max_execution_time",
    "max_parallel_degree",
    "optimizer_switch",
    "read_ahead",
    "read_ahead_pause",
    "sql_mode",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "unique_checks",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::settings::SessionIsolation;

    #[test]
    fn the_table_is_sorted_and_every_default_can_be_set() {
        for pair in VARIABLES.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} before {}", pair[0].name, pair[1].name);
        }
        for variable in VARIABLES.iter().filter(|v| v.scope != Scope::ReadOnly) {
            let mut settings = Settings { query_memory: 1 << 20, wait_timeout: 5, ..Settings::default() };
            assert_eq!(variable.set(&mut settings, None), Ok(None), "{}", variable.name);
            let value = variable.get(&settings, &Facts::default());
            assert_eq!(value, variable.get(&Settings::default(), &Facts::default()), "{}", variable.name);
        }
    }

    #[test]
    fn wrong_values_are_refused_with_their_number() {
        let mut settings = Settings::default();
        let mut set = |name: &str, value: Value| find(name).and_then(|v| v.set(&mut settings, Some(value)));
        assert_eq!(set("no_such", Value::Int(1)).map_err(|e| e.code), Err(1193));
        assert_eq!(set("version", Value::Int(1)).map_err(|e| e.code), Err(1238));
        assert_eq!(set("autocommit", Value::Int(2)).map_err(|e| e.code), Err(1231));
        assert_eq!(set("wait_timeout", text("x")).map_err(|e| e.code), Err(1232));
        assert_eq!(set("collation_connection", text("utf8mb4_zh_0900_as_cs")).map_err(|e| e.code), Err(1235));
        assert_eq!(set("tx_isolation", text("read-committed")), Ok(None));
        let clipped = set("wait_timeout", Value::Int(0)).map(|warning| warning.map(|w| w.message));
        assert_eq!(clipped, Ok(Some("Truncated incorrect wait_timeout value: '0'".to_owned())));
        assert_eq!(settings.isolation, SessionIsolation::ReadCommitted);
        assert_eq!(settings.wait_timeout, 1);
    }
}
