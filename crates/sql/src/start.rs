//! The options of an instance, from system variables and their first values. Names are the ones of the
//! section `[mysqld]` in MySQL's option files, with underscores or hyphens. A number may end with K, M, G or
//! T (powers of 1024).
//!
//! | only set at the start | meaning |
//! |---|---|
//! | `innodb_buffer_pool_size` | size of the buffer pool |
//! | `innodb_log_file_size`, `innodb_redo_log_capacity` | capacity of the log, all files together |
//! | `innodb_page_size` | page size of a new database; an existing one has to have it |
//! | `innodb_flush_log_at_trx_commit` | flush policy |
//! | `innodb_use_native_aio` | whether batched reads may use io_uring |
//! | `innodb_buffer_pool_load_at_startup` | whether to warm up |
//! | `default_authentication_plugin`, `performance_schema_digests_size`, `secure_file_priv` | the values of these variables |

use crate::accounts::password::AuthPlugin;
use crate::digest::{DIGESTS, MOST_DIGESTS};
use crate::settings::variables::{self, Scope, flag};
use crate::settings::{EventSchedulerState, Settings};
use leafline_storage::FlushPolicy;
use leafline_table::EngineOptions;
use leafline_types::error::errno;
use leafline_types::{MysqlError, Value};
use std::ops::RangeInclusive;

const POOL_BYTES: RangeInclusive<u64> = 1 << 20..=1 << 50;
const LOG_BYTES: RangeInclusive<u64> = 1 << 20..=1 << 40;
const PAGE_BYTES: [u64; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];

/// The options that variables give.
pub(crate) struct Start {
    pub engine: EngineOptions,
    pub globals: Settings,
    pub secure_file_priv: Option<String>,
    pub default_plugin: AuthPlugin,
    pub digests: u64,
    /// The required page size.
    page_bytes: Option<u64>,
}

impl Start {
    /// Applies variables to options; the later of two values counts.
    ///
    /// # Errors
    /// 1193, 1231, 1232 or 1238 for a variable that does not exist or cannot have its value.
    pub fn new(
        engine: EngineOptions,
        globals: Settings,
        values: &[(String, String)],
    ) -> Result<Start, MysqlError> {
        let mut start = Start {
            engine,
            globals,
            secure_file_priv: None,
            default_plugin: AuthPlugin::default(),
            digests: DIGESTS,
            page_bytes: None,
        };
        values
            .iter()
            .try_for_each(|(name, text)| start.take(&name.to_ascii_lowercase().replace('-', "_"), text))?;
        Ok(start)
    }

    fn take(&mut self, name: &str, text: &str) -> Result<(), MysqlError> {
        let wrong = || MysqlError::wrong_value_for_variable(name, text);
        let within = |bounds: RangeInclusive<u64>| {
            number(text).filter(|number| bounds.contains(number)).ok_or_else(wrong)
        };
        let store = &mut self.engine.store;
        match name {
            "innodb_buffer_pool_size" => store.buffer_pool_bytes = within(POOL_BYTES)?,
            "innodb_log_file_size" | "innodb_redo_log_capacity" => {
                store.log_capacity_bytes = within(LOG_BYTES)?;
            }
            "innodb_page_size" => {
                let bytes = number(text).filter(|bytes| PAGE_BYTES.contains(bytes)).ok_or_else(wrong)?;
                store.page_size = bytes as usize;
                self.page_bytes = Some(bytes);
            }
            "innodb_flush_log_at_trx_commit" => {
                store.flush_log_at_commit = match text {
                    "0" => FlushPolicy::EverySecond,
                    "1" => FlushPolicy::EachCommit,
                    "2" => FlushPolicy::WriteEachCommit,
                    _ => return Err(wrong()),
                };
            }
            "innodb_use_native_aio" => store.native_aio = flag(name, &Value::string(text))?,
            "innodb_buffer_pool_load_at_startup" => store.warm_up = flag(name, &Value::string(text))?,
            "secure_file_priv" => {
                self.secure_file_priv = (!text.eq_ignore_ascii_case("NULL")).then(|| text.to_owned());
            }
            "default_authentication_plugin" => {
                self.default_plugin = AuthPlugin::from_name(text).ok_or_else(wrong)?;
            }
            "event_scheduler" => {
                self.globals.event_scheduler = EventSchedulerState::from_name(text).ok_or_else(wrong)?;
            }
            "performance_schema_digests_size" => self.digests = within(0..=MOST_DIGESTS)?,
            _ => self.set(name, text)?,
        }
        Ok(())
    }

    /// Sets the first global value of a variable that can be changed later.
    fn set(&mut self, name: &str, text: &str) -> Result<(), MysqlError> {
        let value = match (text.parse::<i64>(), text.parse::<u64>()) {
            (Ok(number), _) => Value::Int(number),
            (_, Ok(number)) => Value::UInt(number),
            _ => Value::string(text),
        };
        let variable = variables::find(name)?;
        if variable.scope == Scope::Session {
            return Err(MysqlError::incorrect_variable_scope(variable.name, "SESSION"));
        }
        let set = variable.set_within(&mut self.globals, Some(value), true);
        match (set, number(text)) {
            (Err(error), Some(number)) if error.code == errno::ER_WRONG_TYPE_FOR_VAR => {
                variable.set_within(&mut self.globals, Some(Value::UInt(number)), true)
            }
            (set, _) => set,
        }
        .map(drop)
    }

    /// Returns error 1231 if the database has another page size than required.
    pub fn check_page_size(&self, bytes: u64) -> Result<(), MysqlError> {
        match self.page_bytes {
            Some(wanted) if wanted != bytes => {
                Err(MysqlError::wrong_value_for_variable("innodb_page_size", wanted))
            }
            _ => Ok(()),
        }
    }
}

/// Parses a number as option files write it.
fn number(text: &str) -> Option<u64> {
    let shift = match text.bytes().last()?.to_ascii_uppercase() {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        b'T' => 40,
        _ => 0,
    };
    let digits = if shift > 0 { text.get(..text.len() - 1)? } else { text };
    let number: u64 =
        digits.parse().ok().filter(|_| digits.starts_with(|first: char| first.is_ascii_digit()))?;
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(values: &[(&str, &str)]) -> Result<Start, u16> {
        let values: Vec<_> =
            values.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        Start::new(EngineOptions::default(), Settings::default(), &values).map_err(|error| error.code)
    }

    #[test]
    fn option_files_names_and_sizes_are_known() {
        let start = start(&[
            ("innodb-log-file-size", "1G"),
            ("INNODB_BUFFER_POOL_SIZE", "64m"),
            ("innodb_flush_log_at_trx_commit", "2"),
            ("innodb_page_size", "8K"),
            ("innodb-use-native-aio", "OFF"),
            ("innodb_buffer_pool_load_at_startup", "0"),
            ("max_allowed_packet", "16M"),
            ("max-connections", "7"),
            ("max_connections", "9"),
            ("secure-file-priv", "/files"),
        ])
        .unwrap();
        let store = &start.engine.store;
        assert_eq!((store.log_capacity_bytes, store.buffer_pool_bytes), (1 << 30, 64 << 20));
        assert_eq!((store.page_size, store.native_aio, store.warm_up), (8192, false, false));
        assert_eq!(store.flush_log_at_commit, FlushPolicy::WriteEachCommit);
        assert_eq!((start.globals.max_allowed_packet, start.globals.max_connections), (16 << 20, 9));
        assert_eq!(start.secure_file_priv.as_deref(), Some("/files"));
        assert_eq!(start.check_page_size(8192), Ok(()));
        assert_eq!(start.check_page_size(16384).map_err(|error| error.code), Err(1231));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (name, text, code) in [
            ("innodb_log_file_size", "1", 1231),
            ("innodb_redo_log_capacity", "-5", 1231),
            ("innodb_redo_log_capacity", "99999999T", 1231),
            ("innodb_buffer_pool_size", "much", 1231),
            ("innodb_buffer_pool_size", "", 1231),
            ("innodb_buffer_pool_size", "+1G", 1231),
            ("innodb_page_size", "5000", 1231),
            ("innodb_flush_log_at_trx_commit", "3", 1231),
            ("innodb_use_native_aio", "perhaps", 1231),
            ("performance_schema_digests_size", "2000000", 1231),
            ("max_allowed_packet", "M", 1232),
            ("max_allowed_packet", "2T", 1231),
            ("sql_mode", "16M", 1231),
            ("port", "3307", 1238),
            ("innodb_log_files_in_group", "2", 1238),
            ("timestamp", "1", 1238),
            ("no_such_variable", "2", 1193),
        ] {
            assert_eq!(start(&[(name, text)]).err(), Some(code), "{name}={text}");
        }
    }
}
