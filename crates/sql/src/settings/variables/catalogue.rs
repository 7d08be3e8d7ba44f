//! System variables with an effect, and variables that show how this server differs from others.

use super::{
    Constant, Getter, Scope, Setter, Variable, flag, kept_number, number, of_session, on_off, only, settable,
    shared, shown, switch, text, word,
};
use crate::settings::{
    CompressionAlgorithms, Modes, ServerAccess, SessionIsolation, Settings, TimeZone, TransactionInfo,
};
use leafline_access::cost::DeviceChoice;
use leafline_expr::{BlockEncryption, TimeNames, locale_name};
use leafline_planner::optimizer::OptimizerSwitches;
use leafline_table::{ChangeBuffering, Organisation, ReadAheadKind};
use leafline_types::temporal::Zone;
use leafline_types::{Charset, Collation, MysqlError, Value};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The variables in the order of their names.
pub(super) const VARIABLES: &[Variable] = &[
    number(
        "auto_increment_increment",
        (1, 65_535),
        |s, _| Value::UInt(s.numbering.increment),
        |s, n| s.numbering.increment = n,
    ),
    number(
        "auto_increment_offset",
        (1, 65_535),
        |s, _| Value::UInt(s.numbering.offset),
        |s, n| s.numbering.offset = n,
    ),
    switch(
        "autocommit",
        |s, _| on_off(s.autocommit),
        |s, v| flag("autocommit", &v).map(|on| s.autocommit = on),
    ),
    settable(
        "block_encryption_mode",
        |s, _| text(s.block_encryption),
        |s, v| {
            let name = word(&v);
            let mode = BlockEncryption::from_name(&name);
            let wrong = || MysqlError::wrong_value_for_variable("block_encryption_mode", &name);
            s.block_encryption = mode.ok_or_else(wrong)?;
            Ok(())
        },
    ),
    Variable {
        name: "change_buffer_max_size",
        scope: Scope::Shared,
        is_switch: false,
        getter: Getter::Of(|s, _| Value::UInt(s.change_buffer_percent)),
        setter: Setter::Number { least: 0, most: 1000, step: 1, set: |s, n| s.change_buffer_percent = n },
    },
    Variable {
        scope: Scope::Shared,
        ..settable("change_buffering", |s, _| change_buffering(s), set_change_buffering)
    },
    Variable {
        name: "change_buffering_debug",
        scope: Scope::Shared,
        is_switch: false,
        getter: Getter::Of(|s, _| Value::UInt(u64::from(s.change_buffering_forced))),
        setter: Setter::Number { least: 0, most: 1, step: 1, set: |s, n| s.change_buffering_forced = n != 0 },
    },
    settable(
        "character_set_client",
        |s, _| text(s.client_charset.name()),
        |s, v| charset(&v).and_then(Charset::for_client).map(|charset| s.client_charset = charset),
    ),
    settable(
        "character_set_connection",
        |s, _| text(s.collation.charset().name()),
        |s, v| charset(&v).map(|charset| s.collation = charset.default_collation()),
    ),
    settable(
        "character_set_database",
        |s, _| text(s.database_collation.charset().name()),
        |s, v| charset(&v).map(|charset| s.database_collation = charset.default_collation()),
    ),
    settable(
        "character_set_results",
        |s, _| s.results_charset.map_or(Value::Null, |charset| text(charset.name())),
        |s, v| {
            s.results_charset = if v.is_null() { None } else { Some(charset(&v)?) };
            Ok(())
        },
    ),
    settable(
        "character_set_server",
        |s, _| text(s.server_collation.charset().name()),
        |s, v| charset(&v).map(|charset| s.server_collation = charset.default_collation()),
    ),
    shown("character_set_system", |_, _| text("utf8mb3")),
    settable("collation_connection", |s, _| text(s.collation.name()), set_collation),
    settable(
        "collation_database",
        |s, _| text(s.database_collation.name()),
        |s, v| Collation::from_name(&word(&v)).map(|collation| s.database_collation = collation),
    ),
    settable(
        "collation_server",
        |s, _| text(s.server_collation.name()),
        |s, v| Collation::from_name(&word(&v)).map(|collation| s.server_collation = collation),
    ),
    shared(number(
        "connect_timeout",
        (2, 31_536_000),
        |s, _| Value::UInt(s.connect_timeout),
        |s, n| s.connect_timeout = n,
    )),
    number(
        "cte_max_recursion_depth",
        (0, u32::MAX as u64),
        |s, _| Value::UInt(s.cte_max_recursion_depth),
        |s, n| s.cte_max_recursion_depth = n,
    ),
    shown("datadir", |_, f| text(&f.data_directory)),
    shown("default_authentication_plugin", |_, f| text(f.default_plugin.name())),
    settable(
        "default_storage_engine",
        |s, _| text(s.organisation.engine()),
        |s, v| engine(&v).map(|engine| s.organisation = engine),
    ),
    settable(
        "default_tmp_storage_engine",
        |s, _| text(s.temporary_organisation.engine()),
        |s, v| engine(&v).map(|engine| s.temporary_organisation = engine),
    ),
    switch(
        "foreign_key_checks",
        |s, _| on_off(s.foreign_key_checks),
        |s, v| flag("foreign_key_checks", &v).map(|on| s.foreign_key_checks = on),
    ),
    number(
        "group_concat_max_len",
        (4, u64::MAX),
        |s, _| Value::UInt(s.group_concat_max_len),
        |s, n| s.group_concat_max_len = n,
    ),
    shown("have_openssl", |_, f| text(if f.tls_certificate.is_empty() { "DISABLED" } else { "YES" })),
    shown("have_ssl", |_, f| text(if f.tls_certificate.is_empty() { "DISABLED" } else { "YES" })),
    number(
        "information_schema_stats_expiry",
        (0, 31_536_000),
        |s, _| Value::UInt(s.stats_expiry),
        |s, n| s.stats_expiry = n,
    ),
    of_session(number("identity", (0, u64::MAX), |_, _| Value::UInt(0), |_, _| ())),
    only("init_connect", Scope::Shared, Constant::Text("")),
    Variable { is_switch: true, ..shown("innodb_buffer_pool_load_at_startup", |_, f| on_off(f.warm_up)) },
    shown("innodb_buffer_pool_size", |_, f| Value::UInt(f.buffer_pool_bytes)),
    Variable {
        name: "innodb_change_buffer_max_size",
        scope: Scope::Shared,
        is_switch: false,
        getter: Getter::Of(|s, _| Value::UInt(s.change_buffer_percent)),
        setter: Setter::Number { least: 0, most: 1000, step: 1, set: |s, n| s.change_buffer_percent = n },
    },
    Variable {
        scope: Scope::Shared,
        ..settable("innodb_change_buffering", |s, _| change_buffering(s), set_change_buffering)
    },
    number(
        "innodb_ddl_buffer_size",
        (1 << 16, u32::MAX as u64),
        |s, _| Value::UInt(s.build_memory),
        |s, n| s.build_memory = n,
    ),
    number("innodb_ddl_threads", (1, 64), |s, _| Value::UInt(s.build_threads), |s, n| s.build_threads = n),
    shown("innodb_flush_log_at_trx_commit", |_, f| Value::UInt(f.flush_log_at_commit.into())),
    switch(
        "innodb_ft_enable_stopword",
        |s, _| on_off(s.fulltext_stopwords),
        |s, v| flag("innodb_ft_enable_stopword", &v).map(|on| s.fulltext_stopwords = on),
    ),
    number(
        "innodb_lock_wait_timeout",
        (1, 1 << 30),
        |s, _| Value::UInt(s.lock_wait_timeout),
        |s, n| s.lock_wait_timeout = n,
    ),
    shown("innodb_log_file_size", |_, f| Value::UInt(f.log_bytes)),
    shown("innodb_page_size", |_, f| Value::UInt(f.page_bytes)),
    number(
        "innodb_parallel_read_threads",
        (1, 256),
        |s, _| Value::UInt(s.parallel_degree.max(1)),
        |s, n| s.parallel_degree = n,
    ),
    shown("innodb_redo_log_capacity", |_, f| Value::UInt(f.log_bytes)),
    switch(
        "innodb_snapshot_isolation",
        |s, _| on_off(s.snapshot_isolation),
        |s, v| flag("innodb_snapshot_isolation", &v).map(|on| s.snapshot_isolation = on),
    ),
    Variable { is_switch: true, ..shown("innodb_use_native_aio", |_, f| on_off(f.native_aio)) },
    of_session(number(
        "insert_id",
        (0, u64::MAX),
        |s, _| Value::UInt(s.insert_id.unwrap_or(0)),
        |s, n| s.insert_id = (n > 0).then_some(n),
    )),
    number(
        "interactive_timeout",
        (1, 31_536_000),
        |s, _| Value::UInt(s.interactive_timeout),
        |s, n| s.interactive_timeout = n,
    ),
    of_session(number("last_insert_id", (0, u64::MAX), |_, _| Value::UInt(0), |_, _| ())),
    settable("lc_messages", |s, _| text(s.messages_locale), set_messages_locale),
    settable("lc_time_names", |s, _| text(s.time_names.name()), set_time_names),
    number(
        "leafline_bulk_load_rows",
        (0, u64::MAX),
        |s, _| Value::UInt(s.bulk_load_rows),
        |s, n| s.bulk_load_rows = n,
    ),
    settable(
        "leafline_cpu_factor",
        |s, _| Value::Double(s.device.cpu.unwrap_or(0.0)),
        |s, v| figure("leafline_cpu_factor", &v).map(|factor| s.device.cpu = factor),
    ),
    settable("leafline_device", |s, _| text(s.device.choice.name()), set_device),
    Variable {
        scope: Scope::Global,
        ..switch(
            "leafline_digests_persistent",
            |s, _| on_off(s.digests_persistent),
            |s, v| flag("leafline_digests_persistent", &v).map(|on| s.digests_persistent = on),
        )
    },
    switch(
        "leafline_engine_substitution",
        |s, _| on_off(s.engine_substitution),
        |s, v| flag("leafline_engine_substitution", &v).map(|on| s.engine_substitution = on),
    ),
    settable(
        "leafline_parallel_reads",
        |s, _| Value::Double(s.device.parallel_reads.unwrap_or(0.0)),
        |s, v| figure("leafline_parallel_reads", &v).map(|reads| s.device.parallel_reads = reads),
    ),
    Variable {
        scope: Scope::Shared,
        ..switch(
            "leafline_punch_holes",
            |s, _| on_off(s.punch_holes),
            |s, v| flag("leafline_punch_holes", &v).map(|on| s.punch_holes = on),
        )
    },
    number(
        "leafline_query_memory",
        (1 << 16, 1 << 40),
        |s, _| Value::UInt(s.query_memory),
        |s, n| s.query_memory = n,
    ),
    settable(
        "leafline_random_read_time",
        |s, _| Value::Double(s.device.random_read_us.unwrap_or(0.0)),
        |s, v| figure("leafline_random_read_time", &v).map(|time| s.device.random_read_us = time),
    ),
    settable(
        "leafline_sequential_read_rate",
        |s, _| Value::Double(s.device.bytes_per_us.unwrap_or(0.0)),
        |s, v| figure("leafline_sequential_read_rate", &v).map(|rate| s.device.bytes_per_us = rate),
    ),
    shared(number(
        "leafline_server_memory",
        (0, 1 << 50),
        |s, f| Value::UInt(if s.server_memory == 0 { f.server_memory } else { s.server_memory }),
        |s, n| s.server_memory = n,
    )),
    number(
        "leafline_session_memory",
        (1 << 16, 1 << 40),
        |s, _| Value::UInt(s.session_memory),
        |s, n| s.session_memory = n,
    ),
    shown("license", |_, _| text("Apache-2.0")),
    Variable {
        scope: Scope::Shared,
        ..switch(
            "local_infile",
            |s, _| on_off(s.local_infile),
            |s, v| flag("local_infile", &v).map(|on| s.local_infile = on),
        )
    },
    number(
        "lock_wait_timeout",
        (1, 31_536_000),
        |s, _| Value::UInt(s.metadata_lock_wait_timeout),
        |s, n| s.metadata_lock_wait_timeout = n,
    ),
    shared(switch(
        "log_queries_not_using_indexes",
        |s, _| on_off(s.slow_log.not_using_indexes),
        |s, v| flag("log_queries_not_using_indexes", &v).map(|on| s.slow_log.not_using_indexes = on),
    )),
    shared(switch(
        "log_slow_admin_statements",
        |s, _| on_off(s.slow_log.admin_statements),
        |s, v| flag("log_slow_admin_statements", &v).map(|on| s.slow_log.admin_statements = on),
    )),
    number(
        "logical_read_ahead_size",
        (1 << 14, 1 << 40),
        |s, _| Value::UInt(s.read_ahead.window_bytes),
        |s, n| s.read_ahead.window_bytes = n,
    ),
    settable("long_query_time", |s, _| Value::Double(s.long_query_time.as_secs_f64()), set_long_query_time),
    shown("lower_case_table_names", |_, _| Value::Int(0)),
    Variable {
        name: "max_allowed_packet",
        scope: Scope::Global,
        is_switch: false,
        getter: Getter::Of(|s, _| Value::UInt(s.max_allowed_packet)),
        setter: Setter::Number {
            least: 1024,
            most: 1 << 30,
            step: 1024,
            set: |s, n| s.max_allowed_packet = n,
        },
    },
    shared(number(
        "max_connections",
        (1, 100_000),
        |s, _| Value::UInt(s.max_connections),
        |s, n| s.max_connections = n,
    )),
    number(
        "max_execution_time",
        (0, u32::MAX as u64),
        |s, _| Value::UInt(s.max_execution_time),
        |s, n| s.max_execution_time = n,
    ),
    number(
        "max_parallel_degree",
        (0, 256),
        |s, _| Value::UInt(s.parallel_degree),
        |s, n| s.parallel_degree = n,
    ),
    number(
        "max_sp_recursion_depth",
        (0, 255),
        |s, _| Value::UInt(s.max_sp_recursion_depth),
        |s, n| s.max_sp_recursion_depth = n,
    ),
    number(
        "min_examined_row_limit",
        (0, u64::MAX),
        |s, _| Value::UInt(s.min_examined_rows),
        |s, n| s.min_examined_rows = n,
    ),
    number(
        "net_read_timeout",
        (1, 31_536_000),
        |s, _| Value::UInt(s.net_read_timeout),
        |s, n| s.net_read_timeout = n,
    ),
    number(
        "net_write_timeout",
        (1, 31_536_000),
        |s, _| Value::UInt(s.net_write_timeout),
        |s, n| s.net_write_timeout = n,
    ),
    settable(
        "optimizer_switch",
        |s, _| text(s.optimizer_switch),
        |s, v| {
            let default = OptimizerSwitches::default().to_string();
            let given = word(&v);
            s.optimizer_switch = if given == default {
                OptimizerSwitches::default()
            } else {
                s.optimizer_switch.apply(&given)?
            };
            Ok(())
        },
    ),
    settable(
        "optimizer_trace",
        |s, _| text(s.optimizer_trace),
        |s, v| {
            s.optimizer_trace = s.optimizer_trace.apply(&word(&v))?;
            Ok(())
        },
    ),
    number(
        "optimizer_trace_max_mem_size",
        (0, u32::MAX as u64),
        |s, _| Value::UInt(s.optimizer_trace.max_bytes),
        |s, n| s.optimizer_trace.max_bytes = n,
    ),
    number(
        "parser_max_mem_size",
        (10_000_000, u64::MAX),
        |s, _| Value::UInt(s.parser_memory),
        |s, n| s.parser_memory = n,
    ),
    Variable { is_switch: true, ..shown("performance_schema", |_, _| on_off(false)) },
    shown("performance_schema_digests_size", |_, f| Value::UInt(f.digests)),
    shown("port", |_, f| Value::UInt(f.port.into())),
    shared(settable(
        "protocol_compression_algorithms",
        |s, _| text(s.compression),
        |s, v| CompressionAlgorithms::parse(&word(&v)).map(|set| s.compression = set),
    )),
    shown("protocol_version", |_, _| Value::Int(10)),
    of_session(kept_number("pseudo_thread_id", Scope::Session, (0, u64::MAX), 0)),
    shown("query_cache_size", |_, _| Value::Int(0)),
    shown("query_cache_type", |_, _| text("OFF")),
    settable("read_ahead", |s, _| text(read_ahead_name(s.read_ahead.kind)), set_read_ahead),
    number(
        "read_ahead_pause",
        (0, 1_000_000),
        |s, _| Value::UInt(s.read_ahead.pause.as_micros() as u64),
        |s, n| s.read_ahead.pause = Duration::from_micros(n),
    ),
    shared(switch(
        "read_only",
        |s, _| on_off(s.server_access != ServerAccess::ReadWrite),
        |s, v| flag("read_only", &v).map(|on| s.server_access = s.server_access.read_only(on)),
    )),
    shared(switch(
        "require_secure_transport",
        |s, _| on_off(s.require_secure_transport),
        |s, v| flag("require_secure_transport", &v).map(|on| s.require_secure_transport = on),
    )),
    shown("secure_file_priv", |_, f| f.secure_file_priv.as_deref().map_or(Value::Null, text)),
    switch(
        "session_track_schema",
        |s, _| on_off(s.track.schema),
        |s, v| flag("session_track_schema", &v).map(|on| s.track.schema = on),
    ),
    switch(
        "session_track_state_change",
        |s, _| on_off(s.track.state),
        |s, v| flag("session_track_state_change", &v).map(|on| s.track.state = on),
    ),
    settable(
        "session_track_system_variables",
        |s, _| text(&s.track.variables),
        |s, v| tracked_names(&word(&v)).map(|names| s.track.variables = names),
    ),
    settable(
        "session_track_transaction_info",
        |s, _| text(if s.track.transaction == TransactionInfo::Off { "OFF" } else { "STATE" }),
        set_transaction_info,
    ),
    shared(switch(
        "slow_query_log",
        |s, _| on_off(s.slow_log.is_on),
        |s, v| flag("slow_query_log", &v).map(|on| s.slow_log.is_on = on),
    )),
    shared(settable("slow_query_log_file", |s, _| text(&s.slow_log.file), set_slow_log_file)),
    shown("socket", |_, f| text(&f.socket)),
    only("sql_auto_is_null", Scope::Both, Constant::Switch(false)),
    only("sql_log_bin", Scope::Both, Constant::Switch(false)),
    settable(
        "sql_mode",
        |s, _| text(s.sql_mode),
        |s, v| {
            s.sql_mode = match v.as_integer().map(u64::try_from) {
                Some(Ok(bits)) => Modes::from_bits(bits)?,
                _ => Modes::parse(&word(&v))?,
            };
            Ok(())
        },
    ),
    switch("sql_notes", |s, _| on_off(s.sql_notes), |s, v| flag("sql_notes", &v).map(|on| s.sql_notes = on)),
    switch(
        "sql_quote_show_create",
        |s, _| on_off(s.quotes_shown_names),
        |s, v| flag("sql_quote_show_create", &v).map(|on| s.quotes_shown_names = on),
    ),
    switch(
        "sql_safe_updates",
        |s, _| on_off(s.safe_updates),
        |s, v| flag("sql_safe_updates", &v).map(|on| s.safe_updates = on),
    ),
    number("sql_select_limit", (0, u64::MAX), |s, _| Value::UInt(s.select_limit), |s, n| s.select_limit = n),
    switch(
        "sql_warnings",
        |s, _| on_off(s.sql_warnings),
        |s, v| flag("sql_warnings", &v).map(|on| s.sql_warnings = on),
    ),
    shown("ssl_cert", |_, f| text(&f.tls_certificate)),
    shown("ssl_key", |_, f| text(&f.tls_key)),
    shared(switch(
        "super_read_only",
        |s, _| on_off(s.server_access == ServerAccess::SuperReadOnly),
        |s, v| flag("super_read_only", &v).map(|on| s.server_access = s.server_access.super_read_only(on)),
    )),
    shown("system_time_zone", |_, _| text(Zone::system().name())),
    settable(
        "time_zone",
        |s, _| text(&s.time_zone),
        |s, v| {
            s.time_zone = TimeZone::parse(&word(&v))?;
            Ok(())
        },
    ),
    of_session(settable("timestamp", |s, _| Value::Double(timestamp(s)), set_timestamp)),
    shown("tls_version", |_, f| text(if f.tls_certificate.is_empty() { "" } else { "TLSv1.2,TLSv1.3" })),
    settable("transaction_isolation", |s, _| text(s.isolation.name()), set_isolation),
    switch(
        "transaction_read_only",
        |s, _| on_off(s.read_only),
        |s, v| flag("transaction_read_only", &v).map(|on| s.read_only = on),
    ),
    switch(
        "unique_checks",
        |s, _| on_off(s.unique_checks),
        |s, v| flag("unique_checks", &v).map(|on| s.unique_checks = on),
    ),
    shown("version", |_, f| text(&f.version)),
    shown("version_comment", |_, _| text("Leafline")),
    shown("version_compile_machine", |_, _| text(std::env::consts::ARCH)),
    shown("version_compile_os", |_, _| text(std::env::consts::OS)),
    number("wait_timeout", (1, 31_536_000), |s, _| Value::UInt(s.wait_timeout), |s, n| s.wait_timeout = n),
];

/// Parses seconds with a fraction of microseconds, up to the seconds of a year.
fn set_long_query_time(settings: &mut Settings, value: Value) -> Result<(), MysqlError> {
    let seconds = match &value {
        Value::Int(number) => *number as f64,
        Value::UInt(number) => *number as f64,
        Value::Double(number) => *number,
        Value::Decimal(number) => number.to_f64(),
        Value::String(text) => {
            text.trim().parse().map_err(|_| MysqlError::wrong_type_for_variable("long_query_time"))?
        }
        _ => return Err(MysqlError::wrong_type_for_variable("long_query_time")),
    };
    if seconds.is_nan() {
        return Err(MysqlError::wrong_value_for_variable("long_query_time", seconds));
    }
    settings.long_query_time = Duration::from_micros((seconds.clamp(0.0, 31_536_000.0) * 1e6).round() as u64);
    Ok(())
}

/// Accepts names that end with `.log`, so that no other file is written.
fn set_slow_log_file(settings: &mut Settings, value: Value) -> Result<(), MysqlError> {
    let name = word(&value);
    let is_log = matches!(value, Value::String(_)) && name.len() > ".log".len() && name.ends_with(".log");
    if !is_log || name.chars().any(char::is_control) {
        return Err(MysqlError::wrong_value_for_variable("slow_query_log_file", name));
    }
    settings.slow_log.file = name.into();
    Ok(())
}

fn set_messages_locale(settings: &mut Settings, value: Value) -> Result<(), MysqlError> {
    let name = word(&value);
    settings.messages_locale = locale_name(&name).ok_or_else(|| MysqlError::unknown_locale(name))?;
    Ok(())
}

fn set_time_names(settings: &mut Settings, value: Value) -> Result<(), MysqlError> {
    let name = word(&value);
    settings.time_names = TimeNames::of_locale(&name).ok_or_else(|| MysqlError::unknown_locale(name))?;
    Ok(())
}

/// Seconds since 1970: `timestamp`, or the clock's.
fn timestamp(settings: &Settings) -> f64 {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as f64;
    settings.timestamp.map_or_else(now, |micros| micros as f64) / 1e6
}

/// Sets `timestamp`: seconds since 1970 with a fraction of microseconds; 0 restores the clock's time.
fn set_timestamp(settings: &mut Settings, value: Value) -> Result<(), MysqlError> {
    /// The last second of a TIMESTAMP in MySQL since 8.0.28.
    const LAST: f64 = 32_536_771_199.0;
    let seconds = match &value {
        Value::Int(number) => *number as f64,
        Value::UInt(number) => *number as f64,
        Value::Double(number) => *number,
        Value::Decimal(number) => number.to_f64(),
        _ => return Err(MysqlError::wrong_type_for_variable("timestamp")),
    };
    settings.timestamp = match seconds {
        0.0 => None,
        1.0..=LAST => Some((seconds * 1e6).round() as i64),
        _ => return Err(MysqlError::wrong_value_for_variable("timestamp", seconds)),
    };
    Ok(())
}

fn charset(value: &Value) -> Result<Charset, MysqlError> {
    Charset::from_name(&word(value))
}

fn set_isolation(settings: &mut Settings, value: Value) -> Result<(), MysqlError> {
    let name = word(&value);
    settings.isolation = match name.to_ascii_uppercase().as_str() {
        "READ-UNCOMMITTED" => SessionIsolation::ReadUncommitted,
        "READ-COMMITTED" => SessionIsolation::ReadCommitted,
        "REPEATABLE-READ" => SessionIsolation::RepeatableRead,
        "SERIALIZABLE" => SessionIsolation::Serializable,
        _ => return Err(MysqlError::wrong_value_for_variable("transaction_isolation", name)),
    };
    Ok(())
}

fn set_collation(settings: &mut Settings, value: Value) -> Result<(), MysqlError> {
    settings.collation = Collation::from_name(&word(&value))?;
    Ok(())
}

fn engine(value: &Value) -> Result<Organisation, MysqlError> {
    Organisation::of_engine(&word(value)).ok_or_else(|| MysqlError::unknown_storage_engine(word(value)))
}

fn set_device(settings: &mut Settings, value: Value) -> Result<(), MysqlError> {
    let name = word(&value);
    settings.device.choice = DeviceChoice::from_name(&name)
        .ok_or_else(|| MysqlError::wrong_value_for_variable("leafline_device", name))?;
    Ok(())
}

/// A figure of the device: a number that is not negative; 0 restores the profile's.
fn figure(name: &'static str, value: &Value) -> Result<Option<f64>, MysqlError> {
    let number = match value {
        Value::Int(number) => *number as f64,
        Value::UInt(number) => *number as f64,
        Value::Double(number) => *number,
        Value::Decimal(number) => number.to_f64(),
        _ => return Err(MysqlError::wrong_type_for_variable(name)),
    };
    if !(0.0..=1e12).contains(&number) {
        return Err(MysqlError::wrong_value_for_variable(name, number));
    }
    Ok((number > 0.0).then_some(number))
}

const READ_AHEAD: [(&str, ReadAheadKind); 5] = [
    ("auto", ReadAheadKind::Automatic),
    ("logical", ReadAheadKind::Logical),
    ("linear", ReadAheadKind::Linear),
    ("physical", ReadAheadKind::Physical),
    ("none", ReadAheadKind::None),
];

fn read_ahead_name(kind: ReadAheadKind) -> &'static str {
    READ_AHEAD.iter().find(|(_, known)| *known == kind).map_or("", |(name, _)| *name)
}

fn set_read_ahead(settings: &mut Settings, value: Value) -> Result<(), MysqlError> {
    let name = word(&value);
    let known = READ_AHEAD.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name));
    settings.read_ahead.kind =
        known.ok_or_else(|| MysqlError::wrong_value_for_variable("read_ahead", &name))?.1;
    Ok(())
}

/// Words of `change_buffering`.
const CHANGE_BUFFERING: [(&str, ChangeBuffering); 3] =
    [("none", ChangeBuffering::None), ("inserts", ChangeBuffering::Inserts), ("all", ChangeBuffering::All)];

fn change_buffering(settings: &Settings) -> Value {
    let known = CHANGE_BUFFERING.iter().find(|(_, mode)| *mode == settings.change_buffering);
    text(known.map_or("", |(name, _)| name))
}

fn set_change_buffering(settings: &mut Settings, value: Value) -> Result<(), MysqlError> {
    let name = word(&value);
    let known = CHANGE_BUFFERING.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name));
    settings.change_buffering =
        known.ok_or_else(|| MysqlError::wrong_value_for_variable("change_buffering", &name))?.1;
    Ok(())
}

fn set_transaction_info(settings: &mut Settings, value: Value) -> Result<(), MysqlError> {
    let name = word(&value);
    settings.track.transaction = match name.to_ascii_uppercase().as_str() {
        "OFF" | "0" => TransactionInfo::Off,
        "STATE" | "1" => TransactionInfo::State,
        "CHARACTERISTICS" | "2" => {
            return Err(MysqlError::not_supported("session_track_transaction_info = CHARACTERISTICS"));
        }
        _ => return Err(MysqlError::wrong_value_for_variable("session_track_transaction_info", name)),
    };
    Ok(())
}

/// Parses `session_track_system_variables`.
///
/// # Errors
/// 1193 for an unknown name, for which MySQL only warns.
fn tracked_names(text: &str) -> Result<String, MysqlError> {
    let names: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names != ["*"] {
        names.iter().try_for_each(|name| super::find(name).map(drop))?;
    }
    Ok(names.join(","))
}
