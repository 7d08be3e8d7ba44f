//! The values of system variables: one typed set per session, copied from the global set when the session
//! begins.

mod connection;
mod slow_log;
mod sql_mode;
mod tracing;
mod tracking;
pub mod variables;

pub use connection::{CompressionAlgorithms, ConnectionFacts, TlsFacts};
pub use slow_log::SlowLogSettings;
pub use sql_mode::Modes;
pub use tracing::TraceSettings;
pub use tracking::{TrackSettings, TransactionInfo};

use crate::accounts::{PasswordPolicy, SharedPasswordRules};
use leafline_access::cost::Device;
use leafline_expr::{BlockEncryption, TimeNames};
use leafline_planner::binder::BindModes;
use leafline_planner::optimizer::{OptimizerSwitches, Parallelism};
use leafline_syntax::LexMode;
use leafline_syntax::ast::{Completion, ExplainFormat};
use leafline_table::{ChangeBuffering, Isolation, Numbering, Organisation, ReadAheadSettings};
pub use leafline_types::temporal::TimeSettings;
use leafline_types::temporal::{DateRules, Zone};
use leafline_types::{Charset, Collation, MysqlError};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use variables::KeptValues;

/// The isolation levels that a session can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionIsolation {
    /// READ UNCOMMITTED: reads committed rows alone, as at READ COMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

impl SessionIsolation {
    /// Name in `transaction_isolation`.
    pub fn name(self) -> &'static str {
        match self {
            SessionIsolation::ReadUncommitted => "READ-UNCOMMITTED",
            SessionIsolation::ReadCommitted => "READ-COMMITTED",
            SessionIsolation::RepeatableRead => "REPEATABLE-READ",
            SessionIsolation::Serializable => "SERIALIZABLE",
        }
    }

    /// The isolation of its transactions, which is at least as strict.
    pub fn kept(self) -> Isolation {
        match self {
            SessionIsolation::ReadUncommitted | SessionIsolation::ReadCommitted => Isolation::ReadCommitted,
            SessionIsolation::RepeatableRead => Isolation::RepeatableRead,
            SessionIsolation::Serializable => Isolation::Serializable,
        }
    }
}

impl From<Isolation> for SessionIsolation {
    fn from(kept: Isolation) -> Self {
        match kept {
            Isolation::ReadCommitted => SessionIsolation::ReadCommitted,
            Isolation::RepeatableRead => SessionIsolation::RepeatableRead,
            Isolation::Serializable => SessionIsolation::Serializable,
        }
    }
}

/// Which sessions may write, by `read_only` and `super_read_only`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerAccess {
    /// All sessions.
    ReadWrite,
    /// Sessions with SUPER or CONNECTION_ADMIN.
    ReadOnly,
    /// No session.
    SuperReadOnly,
}

impl ServerAccess {
    /// Applies a value of `read_only`. OFF also sets `super_read_only` OFF.
    pub(super) fn read_only(self, on: bool) -> ServerAccess {
        match (on, self) {
            (false, _) => ServerAccess::ReadWrite,
            (true, ServerAccess::ReadWrite) => ServerAccess::ReadOnly,
            (true, already) => already,
        }
    }

    /// Applies a value of `super_read_only`. ON also sets `read_only` ON.
    pub(super) fn super_read_only(self, on: bool) -> ServerAccess {
        match (on, self) {
            (true, _) => ServerAccess::SuperReadOnly,
            (false, ServerAccess::SuperReadOnly) => ServerAccess::ReadOnly,
            (false, other) => other,
        }
    }
}

/// `event_scheduler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EventSchedulerState {
    /// Events do not run.
    #[default]
    Off,
    /// Events run when they are due.
    On,
    /// Events do not run, and SET cannot change that. Only a start can set this.
    Disabled,
}

impl EventSchedulerState {
    /// The state that a text or number names.
    pub(crate) fn from_name(name: &str) -> Option<EventSchedulerState> {
        match name.to_ascii_uppercase().as_str() {
            "OFF" | "FALSE" | "0" => Some(EventSchedulerState::Off),
            "ON" | "TRUE" | "1" => Some(EventSchedulerState::On),
            "DISABLED" | "2" => Some(EventSchedulerState::Disabled),
            _ => None,
        }
    }

    /// The value of the variable.
    pub fn name(self) -> &'static str {
        match self {
            EventSchedulerState::Off => "OFF",
            EventSchedulerState::On => "ON",
            EventSchedulerState::Disabled => "DISABLED",
        }
    }

    /// The state after SET GLOBAL.
    ///
    /// # Errors
    /// 1231 for another word than ON and OFF, 1290 if the scheduler was disabled at the start.
    fn set_to(self, name: &str) -> Result<EventSchedulerState, MysqlError> {
        let state =
            EventSchedulerState::from_name(name).filter(|state| *state != EventSchedulerState::Disabled);
        let state = state.ok_or_else(|| MysqlError::wrong_value_for_variable("event_scheduler", name))?;
        match self {
            EventSchedulerState::Disabled => Err(MysqlError::option_prevents_statement(
                "--event-scheduler=DISABLED or --skip-grant-tables",
            )),
            EventSchedulerState::Off | EventSchedulerState::On => Ok(state),
        }
    }
}

/// The settings of a session, or the global ones that new sessions start from.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `autocommit`.
    pub autocommit: bool,
    /// `sql_mode`.
    pub sql_mode: Modes,
    /// `optimizer_switch`.
    pub optimizer_switch: OptimizerSwitches,
    /// `optimizer_trace` and `optimizer_trace_max_mem_size`.
    pub optimizer_trace: TraceSettings,
    /// `transaction_isolation`.
    pub isolation: SessionIsolation,
    /// `innodb_snapshot_isolation`: refuses to write or lock a row changed since the snapshot, at REPEATABLE READ.
    pub snapshot_isolation: bool,
    /// `innodb_ft_enable_stopword`: a FULLTEXT index that is made leaves stopwords out.
    pub fulltext_stopwords: bool,
    /// `innodb_lock_wait_timeout`: seconds that a statement waits for a row lock.
    pub lock_wait_timeout: u64,
    /// `lock_wait_timeout`: seconds that a statement waits for a metadata lock.
    pub metadata_lock_wait_timeout: u64,
    /// `transaction_read_only`.
    pub read_only: bool,
    /// `collation_connection`: the collation of literals and parameters.
    pub collation: Collation,
    /// `collation_server`: the collation of new databases that name none.
    pub server_collation: Collation,
    /// `collation_database`: the collation of the current database.
    pub database_collation: Collation,
    /// `character_set_client`.
    pub client_charset: Charset,
    /// `character_set_results`; `None` if results are not converted.
    pub results_charset: Option<Charset>,
    /// `time_zone`.
    pub time_zone: TimeZone,
    /// `cte_max_recursion_depth`: limit of the rounds of a recursive common table.
    pub cte_max_recursion_depth: u64,
    /// `max_sp_recursion_depth`: how often a procedure may stand in its own call.
    pub max_sp_recursion_depth: u64,
    /// `leafline_query_memory`: bytes that one statement may hold for sorting, joining and grouping.
    pub query_memory: u64,
    /// `leafline_server_memory`: bytes that everything but pages may take; 0 for the default of this machine.
    pub server_memory: u64,
    /// `leafline_session_memory`: bytes that the session may keep in user variables and prepared statements.
    pub session_memory: u64,
    /// `max_parallel_degree`, `innodb_parallel_read_threads`: greatest number of threads that share a part of
    /// a statement.
    pub parallel_degree: u64,
    /// `leafline_device` and related variables: the device that plans are priced for.
    pub device: Device,
    /// `leafline_digests_persistent`: keeps digests when the database is closed.
    pub digests_persistent: bool,
    /// `leafline_punch_holes`: turns free space within the file into holes.
    pub punch_holes: bool,
    /// `default_storage_engine`: the organisation of new tables that name no engine.
    pub organisation: Organisation,
    /// `default_tmp_storage_engine`: the organisation of temporary tables that name no engine.
    pub temporary_organisation: Organisation,
    /// `leafline_engine_substitution`: replaces engines that Leafline lacks by the default one, whatever
    /// `sql_mode` says.
    pub engine_substitution: bool,
    /// `change_buffering`: kinds of changes that go to the change buffer if their leaf is not in memory.
    pub change_buffering: ChangeBuffering,
    /// `change_buffering_debug`: evicts the leaf before each change.
    pub change_buffering_forced: bool,
    /// `change_buffer_max_size`: limit of the change buffer, in percent of the buffer pool.
    pub change_buffer_percent: u64,
    /// `read_ahead`, `logical_read_ahead_size` and `read_ahead_pause`: read-ahead of scans.
    pub read_ahead: ReadAheadSettings,
    /// Values of variables that have no effect.
    pub kept: KeptValues,
    /// `timestamp`: the time that statements see, in microseconds since 1970; `None` for the clock's.
    pub timestamp: Option<i64>,
    /// `insert_id`: first AUTO_INCREMENT value of the next INSERT.
    pub insert_id: Option<u64>,
    /// `auto_increment_increment` and `auto_increment_offset`.
    pub numbering: Numbering,
    /// `read_only` and `super_read_only`. Only the global value counts.
    pub server_access: ServerAccess,
    /// `event_scheduler`. Only the global value counts.
    pub event_scheduler: EventSchedulerState,
    /// `default_week_format`: the default mode of WEEK.
    pub default_week_format: u8,
    /// `completion_type`: what follows a COMMIT or ROLLBACK without CHAIN or RELEASE.
    pub completion: Completion,
    /// `explain_format`: the default FORMAT of EXPLAIN.
    pub explain_format: ExplainFormat,
    /// `sql_require_primary_key`: refuses tables without a primary key.
    pub requires_primary_key: bool,
    /// `lc_time_names`: language of the names of months and days.
    pub time_names: TimeNames,
    /// `sql_quote_show_create`: quotes all names, even where this is not necessary.
    pub quotes_shown_names: bool,
    /// `sql_warnings`: lets an INSERT of one row report its number of warnings.
    pub sql_warnings: bool,
    /// `interactive_timeout`: the initial `wait_timeout` of interactive clients.
    pub interactive_timeout: u64,
    /// `wait_timeout`: seconds after which an idle connection is closed.
    pub wait_timeout: u64,
    /// `connect_timeout`: limit of a login, in seconds. Only the global values of this and the next two
    /// variables count.
    pub connect_timeout: u64,
    /// `max_connections`: limit of sessions; an account that may kill other sessions may have one more.
    pub max_connections: u64,
    /// `mandatory_roles`: the names of roles that every account is granted.
    pub mandatory_roles: Arc<str>,
    /// `default_password_lifetime`, `password_history`, `password_reuse_interval` and `password_require_current`. Only the
    /// global values count.
    pub passwords: SharedPasswordRules,
    /// `validate_password.*`. Only the global values count.
    pub password_policy: PasswordPolicy,
    /// Whether the component `validate_password` is installed, so that these variables are there. Only the global value counts.
    pub validates_passwords: bool,
    /// `activate_all_roles_on_login`.
    pub activates_all_roles: bool,
    /// `partial_revokes`: privileges on everything can be revoked on databases. Only the global value counts.
    pub partial_revokes: bool,
    /// `require_secure_transport`: accepts TLS and Unix sockets alone.
    pub require_secure_transport: bool,
    /// `protocol_compression_algorithms`, for new sessions.
    pub compression: CompressionAlgorithms,
    /// `session_track_*`: changes of state that the client tracks.
    pub track: TrackSettings,
    /// Contents and place of the slow query log. Only the global values count.
    pub slow_log: SlowLogSettings,
    /// `long_query_time`: a statement that takes longer is slow.
    pub long_query_time: Duration,
    /// `min_examined_row_limit`: a statement that examines fewer rows is not logged as slow.
    pub min_examined_rows: u64,
    /// `net_read_timeout`: seconds to wait for the rest of a packet from the client.
    pub net_read_timeout: u64,
    /// `net_write_timeout`: seconds to wait for a client that accepts no data.
    pub net_write_timeout: u64,
    /// `block_encryption_mode`.
    pub block_encryption: BlockEncryption,
    /// `group_concat_max_len`: limit of GROUP_CONCAT's result, bytes.
    pub group_concat_max_len: u64,
    /// `max_allowed_packet`: limit of a packet from the client, and of a string that a function makes; bytes.
    pub max_allowed_packet: u64,
    /// `max_execution_time`: limit of a SELECT in milliseconds; 0 for no limit.
    pub max_execution_time: u64,
    /// `parser_max_mem_size`: limit of the memory for parsing a statement, bytes.
    pub parser_memory: u64,
    /// `innodb_ddl_buffer_size`: memory for the sorts of a bulk build, bytes.
    pub build_memory: u64,
    /// `innodb_ddl_threads`: number of threads that read, sort and build.
    pub build_threads: u64,
    /// `leafline_bulk_load_rows`: number of rows from which a statement that inserts into an empty table uses
    /// a bulk build; 0 for never.
    pub bulk_load_rows: u64,
    /// `foreign_key_checks`: enforces foreign keys.
    pub foreign_key_checks: bool,
    /// `local_infile`: lets LOAD DATA read files of clients that permit it. Only the global value counts.
    pub local_infile: bool,
    /// `sql_safe_updates`: refuses an UPDATE or DELETE that reads a whole table without LIMIT.
    pub safe_updates: bool,
    /// `sql_select_limit`: limit of the rows of a SELECT without LIMIT.
    pub select_limit: u64,
    /// `information_schema_stats_expiry`: accepted age of statistics in seconds. Leafline's are always
    /// current.
    pub stats_expiry: u64,
    /// `lc_messages`: locale of messages. Messages are in English, as MySQL's are for locales without a
    /// translation.
    pub messages_locale: &'static str,
    /// `sql_notes`: stores and counts notes.
    pub sql_notes: bool,
    /// `unique_checks`: has no effect. Unique keys are always checked, as MySQL allows.
    pub unique_checks: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            autocommit: true,
            sql_mode: Modes::DEFAULT,
            optimizer_switch: OptimizerSwitches::default(),
            optimizer_trace: TraceSettings::default(),
            isolation: SessionIsolation::RepeatableRead,
            snapshot_isolation: true,
            fulltext_stopwords: true,
            lock_wait_timeout: 50,
            metadata_lock_wait_timeout: 31_536_000,
            read_only: false,
            collation: Collation::DEFAULT,
            server_collation: Collation::DEFAULT,
            database_collation: Collation::DEFAULT,
            client_charset: Charset::Utf8mb4,
            results_charset: Some(Charset::Utf8mb4),
            time_zone: TimeZone::system(),
            cte_max_recursion_depth: 1000,
            max_sp_recursion_depth: 0,
            query_memory: 1 << 30,
            server_memory: 0,
            session_memory: 256 << 20,
            parallel_degree: default_threads(),
            device: Device::default(),
            digests_persistent: true,
            punch_holes: true,
            organisation: Organisation::default(),
            temporary_organisation: Organisation::default(),
            engine_substitution: false,
            change_buffering: ChangeBuffering::All,
            change_buffering_forced: false,
            change_buffer_percent: 100,
            read_ahead: ReadAheadSettings::default(),
            kept: KeptValues::default(),
            timestamp: None,
            insert_id: None,
            numbering: Numbering::default(),
            server_access: ServerAccess::ReadWrite,
            event_scheduler: EventSchedulerState::default(),
            default_week_format: 0,
            completion: Completion { chain: Some(false), release: Some(false) },
            explain_format: ExplainFormat::default(),
            requires_primary_key: false,
            time_names: TimeNames::default(),
            quotes_shown_names: true,
            sql_warnings: false,
            interactive_timeout: 28_800,
            wait_timeout: 28_800,
            connect_timeout: 10,
            max_connections: 512,
            mandatory_roles: "".into(),
            passwords: SharedPasswordRules::default(),
            password_policy: PasswordPolicy::default(),
            validates_passwords: false,
            activates_all_roles: false,
            partial_revokes: false,
            require_secure_transport: false,
            compression: CompressionAlgorithms::default(),
            track: TrackSettings::default(),
            slow_log: SlowLogSettings::default(),
            long_query_time: Duration::from_secs(10),
            min_examined_rows: 0,
            net_read_timeout: 30,
            net_write_timeout: 60,
            block_encryption: BlockEncryption::default(),
            group_concat_max_len: 1024,
            max_allowed_packet: 64 << 20,
            max_execution_time: 0,
            parser_memory: 1 << 30,
            build_memory: 64 << 20,
            build_threads: default_threads(),
            bulk_load_rows: 4096,
            foreign_key_checks: true,
            local_infile: false,
            safe_updates: false,
            select_limit: u64::MAX,
            stats_expiry: 0,
            messages_locale: "en_US",
            sql_notes: true,
            unique_checks: true,
        }
    }
}

/// One thread for each processor, up to four.
fn default_threads() -> u64 {
    const MOST: usize = 4;
    static THREADS: OnceLock<usize> = OnceLock::new();
    let known = || std::thread::available_parallelism().map_or(1, |processors| processors.get().min(MOST));
    *THREADS.get_or_init(known) as u64
}

impl Settings {
    /// Parallelism of statements. A disk with one arm is read by one thread.
    pub fn parallelism(&self) -> Parallelism {
        match self.device.has_one_arm() {
            true => Parallelism::NONE,
            false => Parallelism::new(self.parallel_degree as usize),
        }
    }

    /// The collation that results are labelled with: one of the character set that they are sent in. `None`
    /// if they are not converted.
    pub fn results_collation(&self) -> Option<Collation> {
        let charset = self.results_charset.filter(|charset| *charset != Charset::Binary)?;
        Some(if charset == self.collation.charset() { self.collation } else { charset.default_collation() })
    }

    /// `max_allowed_packet` as a length.
    pub fn max_packet_bytes(&self) -> usize {
        usize::try_from(self.max_allowed_packet).unwrap_or(usize::MAX)
    }

    /// Modes of the lexer, by `sql_mode`.
    pub fn lex_mode(&self) -> LexMode {
        self.sql_mode.lex_mode()
    }

    /// The flags of `sql_mode` that change what expressions mean.
    pub fn bind_modes(&self) -> BindModes {
        BindModes {
            no_backslash_escapes: self.sql_mode.has(Modes::NO_BACKSLASH_ESCAPES),
            signed_differences: self.sql_mode.has(Modes::NO_UNSIGNED_SUBTRACTION),
            padded_chars: self.sql_mode.has(Modes::PAD_CHAR_TO_FULL_LENGTH),
        }
    }

    /// The settings that defaults of columns depend on.
    pub fn time_settings(&self) -> TimeSettings<'_> {
        let mode = self.evaluation_mode();
        TimeSettings { dates: mode.dates, zone: self.time_zone.zone(), strict: mode.strict }
    }

    /// The modes that evaluation depends on.
    pub fn evaluation_mode(&self) -> leafline_expr::SqlMode {
        leafline_expr::SqlMode {
            strict: self.sql_mode.has(Modes::STRICT_TRANS_TABLES)
                || self.sql_mode.has(Modes::STRICT_ALL_TABLES),
            error_for_division_by_zero: self.sql_mode.has(Modes::ERROR_FOR_DIVISION_BY_ZERO),
            dates: DateRules {
                zero: !self.sql_mode.has(Modes::NO_ZERO_DATE),
                zero_parts: !self.sql_mode.has(Modes::NO_ZERO_IN_DATE),
                beyond_month: self.sql_mode.has(Modes::ALLOW_INVALID_DATES),
                cut_fractions: self.sql_mode.has(Modes::TIME_TRUNCATE_FRACTIONAL),
            },
            block_encryption: self.block_encryption,
            time_names: self.time_names,
            max_result: self.max_packet_bytes(),
        }
    }
}

/// `time_zone`.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeZone {
    /// True for `SYSTEM`, which is shown as such.
    system: bool,
    zone: Zone,
}

impl TimeZone {
    /// The zone of the machine.
    pub fn system() -> TimeZone {
        TimeZone { system: true, zone: Zone::system() }
    }

    /// Parses `SYSTEM`, the name of a zone, or `[+|-]hh:mm` between -13:59 and +14:00.
    ///
    /// # Errors
    /// 1298 for anything else.
    pub fn parse(text: &str) -> Result<TimeZone, MysqlError> {
        if text.eq_ignore_ascii_case("SYSTEM") {
            return Ok(TimeZone::system());
        }
        let zone = Zone::parse(text).ok_or_else(|| MysqlError::unknown_time_zone(text))?;
        Ok(TimeZone { system: false, zone })
    }

    /// The zone.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }
}

impl std::fmt::Display for TimeZone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&if self.system { "SYSTEM".to_owned() } else { self.zone.name() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_change_one_flag_at_a_time() {
        let off = OptimizerSwitches::default().apply("index_condition_pushdown=off").expect("a flag");
        assert!(!off.index_condition_pushdown && off.hash_join);
        assert_eq!(off.apply("default"), Ok(OptimizerSwitches::default()));
        assert_eq!(off.apply("index_condition_pushdown=default"), Ok(OptimizerSwitches::default()));
        assert_eq!(off.apply("no_such=on").map_err(|e| e.code), Err(1231));
        assert_eq!(off.apply("block_nested_loop=maybe").map_err(|e| e.code), Err(1231));
    }

    #[test]
    fn time_zones_are_shown_as_they_were_set() {
        for (text, shown) in [
            ("+00:00", "+00:00"),
            ("-05:30", "-05:30"),
            ("+1:05", "+01:05"),
            ("system", "SYSTEM"),
            ("utc", "UTC"),
            ("europe/berlin", "Europe/Berlin"),
        ] {
            assert_eq!(TimeZone::parse(text).map(|zone| zone.to_string()), Ok(shown.to_owned()), "{text}");
        }
        for text in ["", "+14:01", "-14:00", "05:00", "+5", "Europe/Nowhere", "+1:60", "+é:00"] {
            assert_eq!(TimeZone::parse(text).map_err(|e| e.code), Err(1298), "{text}");
        }
    }
}
