//! The values of system variables: one typed set per session, copied from the global one when it begins.

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

use leafline_access::cost::Device;
use leafline_expr::functions::{BlockEncryption, TimeNames};
use leafline_planner::binder::BindModes;
use leafline_planner::optimizer::{OptimizerSwitches, Parallelism};
use leafline_syntax::LexMode;
use leafline_syntax::ast::{Completion, ExplainFormat};
use leafline_table::{ChangeBuffering, Isolation, Numbering, Organisation, ReadAheadSettings};
pub use leafline_types::temporal::TimeSettings;
use leafline_types::temporal::{DateRules, Zone};
use leafline_types::{Charset, Collation, MysqlError};
use std::sync::OnceLock;
use std::time::Duration;
use variables::KeptValues;

/// The isolation levels that a session can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionIsolation {
    /// READ UNCOMMITTED: may read what is not committed, and does not.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
}

impl SessionIsolation {
    /// As `transaction_isolation` has it.
    pub fn name(self) -> &'static str {
        match self {
            SessionIsolation::ReadUncommitted => "READ-UNCOMMITTED",
            SessionIsolation::ReadCommitted => "READ-COMMITTED",
            SessionIsolation::RepeatableRead => "REPEATABLE-READ",
        }
    }

    /// How its transactions are kept apart: no less than it asks for.
    pub fn kept(self) -> Isolation {
        match self {
            SessionIsolation::ReadUncommitted | SessionIsolation::ReadCommitted => Isolation::ReadCommitted,
            SessionIsolation::RepeatableRead => Isolation::RepeatableRead,
        }
    }
}

impl From<Isolation> for SessionIsolation {
    fn from(kept: Isolation) -> Self {
        match kept {
            Isolation::ReadCommitted => SessionIsolation::ReadCommitted,
            Isolation::RepeatableRead => SessionIsolation::RepeatableRead,
        }
    }
}

/// Who may write, as `read_only` and `super_read_only` say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerAccess {
    /// All.
    ReadWrite,
    /// Who has SUPER or CONNECTION_ADMIN.
    ReadOnly,
    /// Nobody.
    SuperReadOnly,
}

impl ServerAccess {
    /// With `read_only` set so. OFF sets `super_read_only` off, too.
    pub(super) fn read_only(self, on: bool) -> ServerAccess {
        match (on, self) {
            (false, _) => ServerAccess::ReadWrite,
            (true, ServerAccess::ReadWrite) => ServerAccess::ReadOnly,
            (true, already) => already,
        }
    }

    /// With `super_read_only` set so. ON sets `read_only` on, too.
    pub(super) fn super_read_only(self, on: bool) -> ServerAccess {
        match (on, self) {
            (true, _) => ServerAccess::SuperReadOnly,
            (false, ServerAccess::SuperReadOnly) => ServerAccess::ReadOnly,
            (false, other) => other,
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
    /// `innodb_snapshot_isolation`: at REPEATABLE READ a row changed since the snapshot is not written to or locked.
    pub snapshot_isolation: bool,
    /// `innodb_lock_wait_timeout`: seconds.
    pub lock_wait_timeout: u64,
    /// `lock_wait_timeout`: seconds to wait for who uses or changes a table.
    pub metadata_lock_wait_timeout: u64,
    /// `transaction_read_only`.
    pub read_only: bool,
    /// `collation_connection`: what literals and parameters have.
    pub collation: Collation,
    /// `collation_server`: that of databases that are made, and say none.
    pub server_collation: Collation,
    /// `collation_database`: that of the current database.
    pub database_collation: Collation,
    /// `character_set_client`.
    pub client_charset: Charset,
    /// `character_set_results`; none if results are not converted.
    pub results_charset: Option<Charset>,
    /// `time_zone`.
    pub time_zone: TimeZone,
    /// `cte_max_recursion_depth`: how many rounds a recursive query of WITH may take.
    pub cte_max_recursion_depth: u64,
    /// `leafline_query_memory`: bytes that one statement may hold for sorting, joining and grouping.
    pub query_memory: u64,
    /// `leafline_server_memory`: bytes that everything but pages may take; 0 for the default of this machine.
    pub server_memory: u64,
    /// `leafline_session_memory`: bytes that the session may keep in user variables and prepared statements.
    pub session_memory: u64,
    /// `max_parallel_degree`, and `innodb_parallel_read_threads`: how many threads may share a part of a statement.
    pub parallel_degree: u64,
    /// `leafline_device` and what stands beside it: the device that plans are priced for.
    pub device: Device,
    /// `leafline_digests_persistent`: the digests are kept from one opening of the database to the next.
    pub digests_persistent: bool,
    /// `leafline_punch_holes`: free space within the file becomes holes.
    pub punch_holes: bool,
    /// `default_storage_engine`: how the rows of a new table lie, if it does not say so.
    pub organisation: Organisation,
    /// `default_tmp_storage_engine`: the same of temporary tables.
    pub temporary_organisation: Organisation,
    /// `leafline_engine_substitution`: engines of MySQL's that there are not become the default one, whatever `sql_mode` says.
    pub engine_substitution: bool,
    /// `change_buffering`: which changes of indexes are kept where their pages are not in memory.
    pub change_buffering: ChangeBuffering,
    /// `change_buffering_debug`: the pages leave memory before each change.
    pub change_buffering_forced: bool,
    /// `change_buffer_max_size`: what they may take, in percent of the buffer pool.
    pub change_buffer_percent: u64,
    /// `read_ahead`, `logical_read_ahead_size` and `read_ahead_pause`: what scans read before they get there.
    pub read_ahead: ReadAheadSettings,
    /// Values of variables that are kept as they are set.
    pub kept: KeptValues,
    /// `timestamp`: microseconds since 1970 that statements take for the time; none if it is the clock's.
    pub timestamp: Option<i64>,
    /// `insert_id`: the AUTO_INCREMENT number that the next INSERT begins with.
    pub insert_id: Option<u64>,
    /// `auto_increment_increment` and `auto_increment_offset`.
    pub numbering: Numbering,
    /// `read_only` and `super_read_only`. That of all sessions is the global one.
    pub server_access: ServerAccess,
    /// `default_week_format`: the mode of WEEK without one.
    pub default_week_format: u8,
    /// `completion_type`: what follows COMMIT and ROLLBACK that do not say it.
    pub completion: Completion,
    /// `explain_format`: the form of EXPLAIN without FORMAT.
    pub explain_format: ExplainFormat,
    /// `sql_require_primary_key`: no table is made or left without one.
    pub requires_primary_key: bool,
    /// `lc_time_names`: what months and days are called.
    pub time_names: TimeNames,
    /// `sql_quote_show_create`: names are quoted where they need not be, too.
    pub quotes_shown_names: bool,
    /// `sql_warnings`: an INSERT of one row tells how many warnings there were.
    pub sql_warnings: bool,
    /// `interactive_timeout`: the `wait_timeout` of clients that say they are interactive.
    pub interactive_timeout: u64,
    /// `wait_timeout`: seconds that a connection may be idle.
    pub wait_timeout: u64,
    /// `connect_timeout`: seconds that a client may take to log in. That of all is the global one, as are the next two.
    pub connect_timeout: u64,
    /// `max_connections`: most sessions at one time; `root` may have one more.
    pub max_connections: u64,
    /// `require_secure_transport`: only TLS and Unix sockets are let in.
    pub require_secure_transport: bool,
    /// `protocol_compression_algorithms`, for all sessions to come.
    pub compression: CompressionAlgorithms,
    /// `session_track_*`: what the client is told of the session's changes.
    pub track: TrackSettings,
    /// What is logged of slow statements, and where. That of all sessions is the global one.
    pub slow_log: SlowLogSettings,
    /// `long_query_time`: what takes longer is slow.
    pub long_query_time: Duration,
    /// `min_examined_row_limit`: what examines fewer rows is not logged as slow.
    pub min_examined_rows: u64,
    /// `net_read_timeout`: seconds that a client may take over the rest of what it has begun to send.
    pub net_read_timeout: u64,
    /// `net_write_timeout`: seconds that a client may take nothing of what it is sent.
    pub net_write_timeout: u64,
    /// `block_encryption_mode`.
    pub block_encryption: BlockEncryption,
    /// `group_concat_max_len`: bytes.
    pub group_concat_max_len: u64,
    /// `max_allowed_packet`: bytes of the longest packet from the client, and of the longest string that a function makes.
    pub max_allowed_packet: u64,
    /// `max_execution_time`: milliseconds that a SELECT may take; 0 if as many as it likes.
    pub max_execution_time: u64,
    /// `parser_max_mem_size`: bytes that parsing a statement may take.
    pub parser_memory: u64,
    /// `innodb_ddl_buffer_size`: bytes of memory for the sorts of a bulk load or of a build of indexes.
    pub build_memory: u64,
    /// `innodb_ddl_threads`: threads that read, sort and build.
    pub build_threads: u64,
    /// `leafline_bulk_load_rows`: a statement that inserts so many rows into an empty table builds its trees. 0: none does.
    pub bulk_load_rows: u64,
    /// `foreign_key_checks`: foreign keys are heeded.
    pub foreign_key_checks: bool,
    /// `local_infile`: LOAD DATA reads files of clients that let it. Those of all sessions are the global ones.
    pub local_infile: bool,
    /// `sql_safe_updates`: no UPDATE or DELETE reads all of a table, unless it has a LIMIT.
    pub safe_updates: bool,
    /// `sql_select_limit`: rows that a SELECT without a LIMIT of its own gives at most.
    pub select_limit: u64,
    /// `information_schema_stats_expiry`: seconds that statistics may be old. They never are.
    pub stats_expiry: u64,
    /// `lc_messages`: the locale of messages. They are in English, as MySQL's are where it has none in another language.
    pub messages_locale: &'static str,
    /// `sql_notes`: notes are kept and counted.
    pub sql_notes: bool,
    /// `unique_checks`: shown as set. Unique keys are checked in any case, as MySQL allows.
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

/// A thread for each processor, as far as that is not many.
fn default_threads() -> u64 {
    const MOST: usize = 4;
    static THREADS: OnceLock<usize> = OnceLock::new();
    let known = || std::thread::available_parallelism().map_or(1, |processors| processors.get().min(MOST));
    *THREADS.get_or_init(known) as u64
}

impl Settings {
    /// What threads may share. A disk that has to move its head is read by one.
    pub fn parallelism(&self) -> Parallelism {
        match self.device.has_one_arm() {
            true => Parallelism::NONE,
            false => Parallelism::new(self.parallel_degree as usize),
        }
    }

    /// The collation that results are said to have: one of the character set they are sent in. None if they are not
    /// converted.
    pub fn results_collation(&self) -> Option<Collation> {
        let charset = self.results_charset.filter(|charset| *charset != Charset::Binary)?;
        Some(if charset == self.collation.charset() { self.collation } else { charset.default_collation() })
    }

    /// `max_allowed_packet`, as a length.
    pub fn max_packet_bytes(&self) -> usize {
        usize::try_from(self.max_allowed_packet).unwrap_or(usize::MAX)
    }

    /// How the lexer reads, as `sql_mode` says.
    pub fn lex_mode(&self) -> LexMode {
        LexMode {
            ansi_quotes: self.sql_mode.has(Modes::ANSI_QUOTES),
            no_backslash_escapes: self.sql_mode.has(Modes::NO_BACKSLASH_ESCAPES),
            pipes_as_concat: self.sql_mode.has(Modes::PIPES_AS_CONCAT),
            ignore_space: self.sql_mode.has(Modes::IGNORE_SPACE),
            real_as_float: self.sql_mode.has(Modes::REAL_AS_FLOAT),
            high_not_precedence: self.sql_mode.has(Modes::HIGH_NOT_PRECEDENCE),
            no_directories: self.sql_mode.has(Modes::NO_DIR_IN_CREATE),
        }
    }

    /// The flags of `sql_mode` that change what expressions mean.
    pub fn bind_modes(&self) -> BindModes {
        BindModes {
            no_backslash_escapes: self.sql_mode.has(Modes::NO_BACKSLASH_ESCAPES),
            signed_differences: self.sql_mode.has(Modes::NO_UNSIGNED_SUBTRACTION),
            padded_chars: self.sql_mode.has(Modes::PAD_CHAR_TO_FULL_LENGTH),
        }
    }

    /// What a column's default depends on.
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
    /// `SYSTEM`: it is called that, whatever the machine's is.
    system: bool,
    zone: Zone,
}

impl TimeZone {
    /// The machine's.
    pub fn system() -> TimeZone {
        TimeZone { system: true, zone: Zone::system() }
    }

    /// From `SYSTEM`, the name of a zone, or `[+|-]hh:mm`, between -13:59 and +14:00.
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

    /// The zone that it is.
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
