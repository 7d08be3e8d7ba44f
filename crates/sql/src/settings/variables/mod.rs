//! The table of system variables: their names and scopes, and how each is read and set.
//!
//! A variable of this table has an effect or shows a fact. MySQL's variables about things that Leafline lacks
//! are of three kinds. Facts are only shown (1238). Some can be set to their value and to no other (1235).
//! Others keep any value without effect, because no client could tell the difference: sizes of buffers,
//! effort of planning, the format of a log that is not written. A name outside the table is error 1193.
//!
//! | module | has |
//! |---|---|
//! | `catalogue` | variables with an effect |
//! | `meanings` | variables that decide what a statement means where it does not say |
//! | `server_wide` | settings and facts of the server |
//! | `passwords` | variables of the component `validate_password` |
//! | `other_servers` | MySQL's variables about things that Leafline lacks: replication, binary log, plugins |
//! | `innodb` | variables of InnoDB |
//! | `instrumentation` | variables of the performance schema |
//! | `kept` | values of variables without an effect |

mod catalogue;
mod innodb;
mod instrumentation;
mod kept;
mod meanings;
mod other_servers;
mod passwords;
mod server_wide;

use super::{Modes, Settings};
use crate::accounts::password::AuthPlugin;
use crate::accounts::password_policy;
use kept::Constant;
pub use kept::KeptValues;
use leafline_types::{MysqlError, Value};
use std::sync::LazyLock;

/// The MySQL version that clients see, with Leafline's own.
pub const VERSION: &str = concat!("8.0.36-leafline-", env!("CARGO_PKG_VERSION"));

/// Every system variable, ordered by name.
pub static VARIABLES: LazyLock<Vec<&'static Variable>> = LazyLock::new(|| {
    let tables = [
        catalogue::VARIABLES,
        meanings::VARIABLES,
        server_wide::VARIABLES,
        passwords::VARIABLES,
        other_servers::VARIABLES,
        innodb::VARIABLES,
        instrumentation::VARIABLES,
    ];
    let mut all: Vec<&Variable> = tables.into_iter().flatten().collect();
    all.sort_unstable_by_key(|variable| variable.name);
    all
});

/// Facts that are fixed while the instance is open.
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
    /// `leafline_server_memory` if it is not set.
    pub server_memory: u64,
    /// `innodb_page_size`, bytes.
    pub page_bytes: u64,
    /// `innodb_log_file_size`, `innodb_redo_log_capacity`: capacity of the log, in bytes.
    pub log_bytes: u64,
    /// `innodb_flush_log_at_trx_commit`.
    pub flush_log_at_commit: u8,
    /// `ssl_cert`: path of the certificate; empty where TLS is not offered.
    pub tls_certificate: String,
    /// `ssl_key`: path of the certificate's key.
    pub tls_key: String,
    /// `ssl_ca`: path of the certificates that sign those of clients; empty where the server asks for none.
    pub tls_client_authority: String,
    /// `innodb_use_native_aio`: true if batched reads may use io_uring.
    pub native_aio: bool,
    /// `innodb_buffer_pool_load_at_startup`: true if opening reads back the pages that were in memory at the
    /// last close.
    pub warm_up: bool,
    /// `performance_schema_digests_size`: limit of the number of digests.
    pub digests: u64,
    /// `secure_file_priv`: the directory whose files statements may read and write; an empty text allows all
    /// directories, `None` allows none.
    pub secure_file_priv: Option<String>,
    /// `bind_address`: the host that the server listens on; empty when not served.
    pub bind_address: String,
    /// `server_uuid`: identifies the database.
    pub server_uuid: String,
    /// `default_authentication_plugin`: the plugin of accounts whose statement names none.
    pub default_plugin: AuthPlugin,
}

/// Where a variable can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// For a session, and globally for later sessions.
    Both,
    /// Globally, for later sessions; a session keeps its value.
    Global,
    /// Globally, for all sessions at once.
    Shared,
    /// For a session alone; there is no global value.
    Session,
    /// Only shown.
    ReadOnly,
}

/// A system variable.
pub struct Variable {
    /// The name, in lower case.
    pub name: &'static str,
    /// Where the variable can be set.
    pub scope: Scope,
    /// True for ON and OFF, which are 1 and 0 in expressions.
    pub is_switch: bool,
    getter: Getter,
    setter: Setter,
}

/// Source of a variable's value.
enum Getter {
    /// Computed.
    Of(fn(&Settings, &Facts) -> Value),
    /// Always this constant.
    Constant(Constant),
    /// This constant until the variable is set.
    Kept(Constant),
}

/// How a variable accepts a value.
enum Setter {
    /// Accepts only the current value.
    Only,
    /// Stores ON or OFF.
    Switch,
    /// Stores one of these words.
    Word(&'static [&'static str]),
    /// Stores a number within bounds.
    KeptNumber { least: u64, most: u64 },
    /// Passes the value to a function, which may refuse it.
    Any(fn(&mut Settings, Value) -> Result<(), MysqlError>),
    /// Passes a number to a function, after moving it within bounds.
    Number {
        least: u64,
        most: u64,
        /// Numbers are rounded down to multiples of this.
        step: u64,
        set: fn(&mut Settings, u64),
    },
}

impl Variable {
    /// True if the hint SET_VAR may set the variable for one statement.
    pub fn is_hintable(&self) -> bool {
        HINTABLE.contains(&self.name)
    }

    /// True if the variable is there: those of a component come with it.
    pub fn is_there(&self, globals: &Settings) -> bool {
        globals.validates_passwords || !self.name.starts_with(password_policy::PREFIX)
    }

    /// The value.
    pub fn get(&self, settings: &Settings, facts: &Facts) -> Value {
        match &self.getter {
            Getter::Of(get) => get(settings, facts),
            Getter::Constant(constant) => constant.value(),
            Getter::Kept(default) => settings.kept.get(self.name).unwrap_or_else(|| default.value()),
        }
    }

    /// Sets the variable; `None` sets its default. A number out of bounds becomes the nearest within, with
    /// warning 1292; under STRICT_ALL_TABLES it is refused, as in MySQL.
    ///
    /// # Errors
    /// 1238 for a variable that is only shown, 1231 or 1232 for a value that it cannot have.
    pub fn set(
        &self,
        settings: &mut Settings,
        value: Option<Value>,
    ) -> Result<Option<MysqlError>, MysqlError> {
        let strict = settings.sql_mode.has(Modes::STRICT_ALL_TABLES);
        self.set_within(settings, value, strict)
    }

    /// Like [`set`](Self::set), with `strict` in the place of STRICT_ALL_TABLES.
    ///
    /// # Errors
    /// Errors of `set`.
    pub fn set_within(
        &self,
        settings: &mut Settings,
        value: Option<Value>,
        strict: bool,
    ) -> Result<Option<MysqlError>, MysqlError> {
        if self.scope == Scope::ReadOnly {
            return Err(MysqlError::incorrect_variable_scope(self.name, "read only"));
        }
        let value = match value {
            Some(value) => value,
            None if matches!(self.setter, Setter::Only) => return Ok(None),
            None => self.get(&Settings::default(), &Facts::default()),
        };
        match &self.setter {
            Setter::Any(set) => set(settings, value).map(|()| None),
            Setter::Only => self.check_same(settings, &value).map(|()| None),
            Setter::Switch => {
                let on = flag(self.name, &value)?;
                self.keep(settings, on_off(on));
                Ok(None)
            }
            Setter::Word(words) => {
                let given = word(&value);
                let known = words.iter().find(|known| known.eq_ignore_ascii_case(&given));
                let known = known.ok_or_else(|| MysqlError::wrong_value_for_variable(self.name, &given))?;
                self.keep(settings, text(known));
                Ok(None)
            }
            Setter::Number { least, most, step, set } => {
                let (taken, warning) = self.clipped(&value, (*least, *most, *step), strict)?;
                set(settings, taken);
                Ok(warning)
            }
            Setter::KeptNumber { least, most } => {
                let (taken, warning) = self.clipped(&value, (*least, *most, 1), strict)?;
                self.keep(settings, Value::UInt(taken));
                Ok(warning)
            }
        }
    }

    fn keep(&self, settings: &mut Settings, value: Value) {
        match &self.getter {
            Getter::Kept(default) if default.value() == value => settings.kept.forget(self.name),
            _ => settings.kept.set(self.name, value),
        }
    }

    /// The nearest accepted number, with a warning if it differs from `value`.
    fn clipped(
        &self,
        value: &Value,
        (least, most, step): (u64, u64, u64),
        strict: bool,
    ) -> Result<(u64, Option<MysqlError>), MysqlError> {
        let (given, below) = match value {
            Value::Int(n) => (u64::try_from(*n).unwrap_or(0), *n < 0),
            Value::UInt(n) => (*n, false),
            _ => return Err(MysqlError::wrong_type_for_variable(self.name)),
        };
        let taken = given.clamp(least, most);
        let taken = taken - taken % step;
        if taken == given && !below {
            return Ok((taken, None));
        }
        if strict {
            return Err(MysqlError::wrong_value_for_variable(self.name, word(value)));
        }
        Ok((taken, Some(MysqlError::truncated_value(self.name, &word(value)))))
    }

    /// Returns error 1235 unless `value` is the current value, and 1231 for a malformed switch.
    fn check_same(&self, settings: &Settings, value: &Value) -> Result<(), MysqlError> {
        let own = self.get(settings, &Facts::default());
        let (own, given) = (word(&own), word(value));
        let same = match self.is_switch {
            true => flag(self.name, value)? == (own == "ON"),
            false => own.eq_ignore_ascii_case(&given) || own.is_empty() && value.is_null(),
        };
        match same {
            true => Ok(()),
            false => {
                let given = if self.is_switch { on_off_word(own != "ON") } else { &given };
                Err(MysqlError::not_supported(format_args!("{} = {given}", self.name)))
            }
        }
    }
}

/// Finds a variable by name, in any case.
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
    let found = VARIABLES.binary_search_by(|variable| variable.name.cmp(lower)).ok();
    let found = found.and_then(|at| VARIABLES.get(at)).copied();
    found.ok_or_else(|| MysqlError::unknown_system_variable(name))
}

fn text(value: impl ToString) -> Value {
    Value::string(value.to_string())
}

fn on_off(on: bool) -> Value {
    text(on_off_word(on))
}

fn on_off_word(on: bool) -> &'static str {
    if on { "ON" } else { "OFF" }
}

/// Parses ON, OFF, TRUE, FALSE, 1 or 0.
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
        Value::Double(n) => n.to_string(),
        Value::String(s) => s.to_string(),
        other => other.kind().into(),
    }
}

const fn shown(name: &'static str, get: fn(&Settings, &Facts) -> Value) -> Variable {
    Variable { name, scope: Scope::ReadOnly, is_switch: false, getter: Getter::Of(get), setter: Setter::Only }
}

const fn settable(
    name: &'static str,
    get: fn(&Settings, &Facts) -> Value,
    set: fn(&mut Settings, Value) -> Result<(), MysqlError>,
) -> Variable {
    Variable { name, scope: Scope::Both, is_switch: false, getter: Getter::Of(get), setter: Setter::Any(set) }
}

/// A variable that is set for all sessions at once.
const fn shared(variable: Variable) -> Variable {
    Variable { scope: Scope::Shared, ..variable }
}

/// A variable without a global value.
const fn of_session(variable: Variable) -> Variable {
    Variable { scope: Scope::Session, ..variable }
}

const fn switch(
    name: &'static str,
    get: fn(&Settings, &Facts) -> Value,
    set: fn(&mut Settings, Value) -> Result<(), MysqlError>,
) -> Variable {
    Variable { name, scope: Scope::Both, is_switch: true, getter: Getter::Of(get), setter: Setter::Any(set) }
}

const fn number(
    name: &'static str,
    (least, most): (u64, u64),
    get: fn(&Settings, &Facts) -> Value,
    set: fn(&mut Settings, u64),
) -> Variable {
    let setter = Setter::Number { least, most, step: 1, set };
    Variable { name, scope: Scope::Both, is_switch: false, getter: Getter::Of(get), setter }
}

/// A variable that only shows a constant.
const fn fact(name: &'static str, constant: Constant) -> Variable {
    let getter = Getter::Constant(constant);
    Variable { name, scope: Scope::ReadOnly, is_switch: constant.is_switch(), getter, setter: Setter::Only }
}

/// A variable that accepts only its current value.
const fn only(name: &'static str, scope: Scope, constant: Constant) -> Variable {
    let getter = Getter::Constant(constant);
    Variable { name, scope, is_switch: constant.is_switch(), getter, setter: Setter::Only }
}

/// A number without effect.
const fn kept_number(name: &'static str, scope: Scope, (least, most): (u64, u64), default: u64) -> Variable {
    let getter = Getter::Kept(Constant::Number(default));
    Variable { name, scope, is_switch: false, getter, setter: Setter::KeptNumber { least, most } }
}

/// A switch without effect.
const fn kept_switch(name: &'static str, scope: Scope, default: bool) -> Variable {
    let getter = Getter::Kept(Constant::Switch(default));
    Variable { name, scope, is_switch: true, getter, setter: Setter::Switch }
}

/// A word without effect; the first one is the default.
const fn kept_word(name: &'static str, scope: Scope, words: &'static [&'static str]) -> Variable {
    let getter = Getter::Kept(Constant::Text(words[0]));
    Variable { name, scope, is_switch: false, getter, setter: Setter::Word(words) }
}

/// Variables that a hint may set for one statement: MySQL's, and Leafline's that concern plans and memory.
const HINTABLE: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "innodb_lock_wait_timeout",
    "insert_id",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "leafline_cpu_factor",
    "leafline_device",
    "leafline_parallel_reads",
    "leafline_query_memory",
    "leafline_random_read_time",
    "leafline_sequential_read_rate",
    "lock_wait_timeout",
    "logical_read_ahead_size",
    "max_execution_time",
    "max_heap_table_size",
    "max_length_for_sort_data",
    "max_parallel_degree",
    "max_seeks_for_key",
    "max_sort_length",
    "min_examined_row_limit",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_ahead",
    "read_ahead_pause",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "set_operations_buffer_size",
    "sort_buffer_size",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SessionIsolation;

    #[test]
    fn names_are_unique_and_every_default_can_be_set() {
        for pair in VARIABLES.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} before {}", pair[0].name, pair[1].name);
        }
        for variable in VARIABLES.iter().filter(|v| ![Scope::ReadOnly, Scope::Session].contains(&v.scope)) {
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
