//! Variables of the server that show facts or have no effect.

use super::Constant::{self, Negative, Number, Text};
use super::Scope::{Both, Session, Shared};
use super::{
    Variable, fact, flag, kept_number, kept_switch, kept_word, number, on_off, only, settable, shared, shown,
    switch, text, word,
};
use crate::accounts::mandatory_roles;
use leafline_types::statement::MAX_KEPT_WARNINGS;
use leafline_types::{MysqlError, Value};
use rustix::process::{Resource, getrlimit};

const ON: Constant = Constant::Switch(true);
const OFF: Constant = Constant::Switch(false);

/// The variables in the order of their names.
pub(super) const VARIABLES: &[Variable] = &[
    shared(switch(
        "activate_all_roles_on_login",
        |s, _| on_off(s.activates_all_roles),
        |s, v| flag("activate_all_roles_on_login", &v).map(|on| s.activates_all_roles = on),
    )),
    fact("admin_address", Text("")),
    fact("admin_port", Number(0)),
    fact("admin_ssl_ca", Text("")),
    fact("admin_ssl_capath", Text("")),
    fact("admin_ssl_cert", Text("")),
    fact("admin_ssl_cipher", Text("")),
    fact("admin_ssl_crl", Text("")),
    fact("admin_ssl_crlpath", Text("")),
    fact("admin_ssl_key", Text("")),
    fact("admin_tls_ciphersuites", Text("")),
    fact("admin_tls_version", Text("")),
    fact("auto_generate_certs", ON),
    fact("back_log", Number(128)),
    shown("basedir", |_, _| program_directory()),
    kept_switch("big_tables", Both, false),
    shown("bind_address", |_, f| text(&f.bind_address)),
    fact("build_id", Text("")),
    kept_number("bulk_insert_buffer_size", Both, (0, u64::MAX), 8_388_608),
    only("character_set_filesystem", Both, Text("binary")),
    fact("character_sets_dir", Text("")),
    only("check_table_functions", Shared, Text("ABORT")),
    only("connection_memory_chunk_size", Both, Number(8192)),
    only("connection_memory_limit", Both, Number(u64::MAX)),
    fact("core_file", OFF),
    fact("create_admin_listener_thread", OFF),
    only("default_collation_for_utf8mb4", Both, Text("utf8mb4_0900_ai_ci")),
    shared(number(
        "default_password_lifetime",
        (0, 65_535),
        |s, _| Value::UInt(s.passwords.lifetime.into()),
        |s, n| s.passwords.lifetime = u16::try_from(n).unwrap_or(u16::MAX),
    )),
    fact("disconnect_on_expired_password", OFF),
    only("div_precision_increment", Both, Number(4)),
    only("end_markers_in_json", Both, OFF),
    kept_number("eq_range_index_dive_limit", Both, (0, 4_294_967_295), 0),
    shared(settable(
        "event_scheduler",
        |s, _| text(s.event_scheduler.name()),
        |s, v| {
            s.event_scheduler = s.event_scheduler.set_to(&word(&v))?;
            Ok(())
        },
    )),
    only("explain_json_format_version", Both, Number(1)),
    only("explicit_defaults_for_timestamp", Both, ON),
    only("flush", Shared, OFF),
    only("flush_time", Shared, Number(0)),
    only("general_log", Shared, OFF),
    only("general_log_file", Shared, Text("")),
    only("global_connection_memory_limit", Shared, Number(u64::MAX)),
    only("global_connection_memory_tracking", Both, OFF),
    fact("have_compress", Text("YES")),
    fact("have_dynamic_loading", Text("NO")),
    fact("have_geometry", Text("NO")),
    fact("have_profiling", Text("NO")),
    fact("have_query_cache", Text("NO")),
    fact("have_rtree_keys", Text("NO")),
    fact("have_statement_timeout", Text("YES")),
    fact("have_symlink", Text("DISABLED")),
    kept_number("histogram_generation_max_mem_size", Both, (1_000_000, u64::MAX), 20_000_000),
    only("host_cache_size", Shared, Number(0)),
    shown("hostname", |_, _| host_name()),
    fact("init_file", Text("")),
    kept_word("internal_tmp_mem_storage_engine", Both, &["TempTable", "MEMORY"]),
    kept_number("join_buffer_size", Both, (128, 18_446_744_073_709_547_520), 262_144),
    only("keep_files_on_create", Both, OFF),
    fact("large_files_support", ON),
    fact("large_page_size", Number(0)),
    fact("large_pages", OFF),
    fact("lc_messages_dir", Text("")),
    fact("locked_in_memory", OFF),
    fact("log_error", Text("stderr")),
    only("log_error_services", Shared, Text("log_filter_internal; log_sink_internal")),
    only("log_error_suppression_list", Shared, Text("")),
    only("log_error_verbosity", Shared, Number(2)),
    only("log_output", Shared, Text("FILE")),
    only("log_raw", Shared, OFF),
    only("log_slow_extra", Shared, OFF),
    only("log_throttle_queries_not_using_indexes", Shared, Number(0)),
    only("log_timestamps", Shared, Text("UTC")),
    kept_switch("low_priority_updates", Both, false),
    fact("lower_case_file_system", OFF),
    shared(settable(
        "mandatory_roles",
        |s, _| text(&s.mandatory_roles),
        |s, v| {
            let names = word(&v);
            match v != Value::Null && mandatory_roles(&names).is_some() {
                true => s.mandatory_roles = names.into(),
                false => return Err(MysqlError::wrong_value_for_variable("mandatory_roles", names)),
            }
            Ok(())
        },
    )),
    only("max_connect_errors", Shared, Number(3)),
    fact("max_digest_length", Number(1024)),
    only("max_error_count", Both, Number(MAX_KEPT_WARNINGS as u64)),
    kept_number("max_heap_table_size", Both, (16_384, 18_446_744_073_709_550_592), 16_777_216),
    only("max_join_size", Both, Number(u64::MAX)),
    kept_number("max_length_for_sort_data", Both, (4, 8_388_608), 4096),
    only("max_prepared_stmt_count", Shared, Number(16_382)),
    kept_number("max_seeks_for_key", Both, (1, u64::MAX), u64::MAX),
    kept_number("max_sort_length", Both, (4, 8_388_608), 1024),
    only("max_user_connections", Both, Number(0)),
    only("max_write_lock_count", Shared, Number(u64::MAX)),
    kept_number("net_buffer_length", Both, (1024, 1_048_576), 16_384),
    kept_number("net_retry_count", Both, (1, u64::MAX), 10),
    only("offline_mode", Shared, OFF),
    only("old_alter_table", Both, OFF),
    shown("open_files_limit", |_, _| Value::UInt(most_open_files())),
    kept_number("optimizer_max_subgraph_pairs", Both, (1, 2_147_483_647), 100_000),
    kept_number("optimizer_prune_level", Both, (0, 1), 1),
    kept_number("optimizer_search_depth", Both, (0, 62), 62),
    only(
        "optimizer_trace_features",
        Both,
        Text("greedy_search=on,range_optimizer=on,dynamic_range=on,repeated_subselect=on"),
    ),
    only("optimizer_trace_limit", Both, Number(1)),
    only("optimizer_trace_offset", Both, Negative(-1)),
    shared(switch(
        "partial_revokes",
        |s, _| on_off(s.partial_revokes),
        |s, v| flag("partial_revokes", &v).map(|on| s.partial_revokes = on),
    )),
    shared(number(
        "password_history",
        (0, u32::MAX as u64),
        |s, _| Value::UInt(s.passwords.history.into()),
        |s, n| s.passwords.history = u32::try_from(n).unwrap_or(u32::MAX),
    )),
    shared(switch(
        "password_require_current",
        |s, _| on_off(s.passwords.require_current),
        |s, v| flag("password_require_current", &v).map(|on| s.passwords.require_current = on),
    )),
    shared(number(
        "password_reuse_interval",
        (0, u32::MAX as u64),
        |s, _| Value::UInt(s.passwords.reuse_days.into()),
        |s, n| s.passwords.reuse_days = u32::try_from(n).unwrap_or(u32::MAX),
    )),
    fact("persist_only_admin_x509_subject", Text("")),
    fact("persist_sensitive_variables_in_plaintext", ON),
    fact("persisted_globals_load", OFF),
    fact("pid_file", Text("")),
    fact("plugin_dir", Text("")),
    kept_number("query_alloc_block_size", Both, (1024, 4_294_966_272), 8192),
    kept_number("query_prealloc_size", Both, (8192, 18_446_744_073_709_550_592), 8192),
    only("rand_seed1", Session, Number(0)),
    only("rand_seed2", Session, Number(0)),
    kept_number("range_alloc_block_size", Both, (4096, 18_446_744_073_709_547_520), 4096),
    kept_number("range_optimizer_max_mem_size", Both, (0, u64::MAX), 8_388_608),
    kept_number("read_buffer_size", Both, (8192, 2_147_479_552), 131_072),
    kept_number("read_rnd_buffer_size", Both, (1, 2_147_483_647), 262_144),
    only("regexp_stack_limit", Shared, Number(8_000_000)),
    only("regexp_time_limit", Shared, Number(32)),
    only("restrict_fk_on_non_standard_key", Both, OFF),
    only("resultset_metadata", Session, Text("FULL")),
    kept_number("schema_definition_cache", Shared, (256, 524_288), 256),
    kept_number("select_into_buffer_size", Both, (8192, 2_147_479_552), 131_072),
    only("select_into_disk_sync", Both, OFF),
    only("select_into_disk_sync_delay", Both, Number(0)),
    shown("server_uuid", |_, f| text(&f.server_uuid)),
    kept_number("set_operations_buffer_size", Both, (16_384, 1_073_741_824), 262_144),
    only("show_create_table_skip_secondary_engine", Session, OFF),
    only("show_create_table_verbosity", Both, OFF),
    only("show_gipk_in_create_table_and_information_schema", Both, ON),
    fact("skip_external_locking", ON),
    fact("skip_name_resolve", ON),
    Variable { is_switch: true, ..shown("skip_networking", |_, f| on_off(f.port == 0)) },
    fact("skip_show_database", OFF),
    kept_number("slow_launch_time", Shared, (0, 31_536_000), 2),
    kept_number("sort_buffer_size", Both, (32_768, u64::MAX), 262_144),
    only("sql_big_selects", Both, ON),
    kept_switch("sql_buffer_result", Both, false),
    only("sql_generate_invisible_primary_key", Both, OFF),
    kept_switch("sql_log_off", Both, false),
    shown("ssl_ca", |_, f| text(&f.tls_client_authority)),
    fact("ssl_capath", Text("")),
    fact("ssl_cipher", Text("")),
    fact("ssl_crl", Text("")),
    fact("ssl_crlpath", Text("")),
    fact("ssl_fips_mode", Text("OFF")),
    fact("sysdate_is_now", OFF),
    kept_number("table_definition_cache", Shared, (400, 524_288), 2000),
    kept_number("table_open_cache", Shared, (1, 524_288), 4000),
    fact("table_open_cache_instances", Number(1)),
    kept_number("table_open_cache_triggers", Shared, (1, 524_288), 524_288),
    kept_number("tablespace_definition_cache", Shared, (256, 524_288), 256),
    kept_number("temptable_max_mmap", Shared, (0, u64::MAX), 0),
    kept_number("temptable_max_ram", Shared, (2_097_152, u64::MAX), 1_073_741_824),
    kept_switch("temptable_use_mmap", Shared, false),
    kept_number("thread_cache_size", Shared, (0, 16_384), 0),
    fact("thread_handling", Text("one-thread-per-connection")),
    fact("thread_stack", Number(8_388_608)),
    fact("tls_certificates_enforced_validation", OFF),
    fact("tls_ciphersuites", Text("")),
    kept_number("tmp_table_size", Both, (1024, u64::MAX), 16_777_216),
    shown("tmpdir", |_, f| text(format_args!("{}/temp", f.data_directory))),
    kept_number("transaction_alloc_block_size", Both, (1024, 131_072), 8192),
    kept_number("transaction_prealloc_size", Both, (1024, 131_072), 4096),
    only("updatable_views_with_limit", Both, Text("YES")),
    fact("version_compile_zlib", Text("")),
    only("windowing_use_high_precision", Both, ON),
];

/// Directory of the program.
fn program_directory() -> Value {
    let program = std::env::current_exe().ok();
    let directory = program.as_deref().and_then(|program| program.parent());
    text(directory.map_or_else(String::new, |directory| format!("{}/", directory.display())))
}

/// Name of the machine.
fn host_name() -> Value {
    text(rustix::system::uname().nodename().to_string_lossy())
}

/// Limit of the process's open files.
fn most_open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
