//! Variables of the performance schema. Most sizes are 0, because Leafline does not collect those things.

use super::Constant::{self, Number};
use super::Scope::Shared;
use super::{Variable, fact, only};
use crate::session_entry::MOST_ATTRIBUTE_BYTES;

const OFF: Constant = Constant::Switch(false);

/// The variables in the order of their names.
pub(super) const VARIABLES: &[Variable] = &[
    fact("performance_schema_accounts_size", Number(0)),
    fact("performance_schema_error_size", Number(0)),
    fact("performance_schema_events_stages_history_long_size", Number(0)),
    fact("performance_schema_events_stages_history_size", Number(0)),
    fact("performance_schema_events_statements_history_long_size", Number(0)),
    fact("performance_schema_events_statements_history_size", Number(0)),
    fact("performance_schema_events_transactions_history_long_size", Number(0)),
    fact("performance_schema_events_transactions_history_size", Number(0)),
    fact("performance_schema_events_waits_history_long_size", Number(0)),
    fact("performance_schema_events_waits_history_size", Number(0)),
    fact("performance_schema_hosts_size", Number(0)),
    fact("performance_schema_max_cond_classes", Number(0)),
    fact("performance_schema_max_cond_instances", Number(0)),
    fact("performance_schema_max_digest_length", Number(1024)),
    only("performance_schema_max_digest_sample_age", Shared, Number(60)),
    fact("performance_schema_max_file_classes", Number(0)),
    fact("performance_schema_max_file_handles", Number(0)),
    fact("performance_schema_max_file_instances", Number(0)),
    fact("performance_schema_max_index_stat", Number(0)),
    fact("performance_schema_max_logger_classes", Number(0)),
    fact("performance_schema_max_memory_classes", Number(0)),
    fact("performance_schema_max_metadata_locks", Number(0)),
    fact("performance_schema_max_meter_classes", Number(0)),
    fact("performance_schema_max_metric_classes", Number(0)),
    fact("performance_schema_max_mutex_classes", Number(0)),
    fact("performance_schema_max_mutex_instances", Number(0)),
    fact("performance_schema_max_prepared_statements_instances", Number(0)),
    fact("performance_schema_max_program_instances", Number(0)),
    fact("performance_schema_max_rwlock_classes", Number(0)),
    fact("performance_schema_max_rwlock_instances", Number(0)),
    fact("performance_schema_max_socket_classes", Number(0)),
    fact("performance_schema_max_socket_instances", Number(0)),
    fact("performance_schema_max_sql_text_length", Number(1024)),
    fact("performance_schema_max_stage_classes", Number(0)),
    fact("performance_schema_max_statement_classes", Number(0)),
    fact("performance_schema_max_statement_stack", Number(0)),
    fact("performance_schema_max_table_handles", Number(0)),
    fact("performance_schema_max_table_instances", Number(0)),
    fact("performance_schema_max_table_lock_stat", Number(0)),
    fact("performance_schema_max_thread_classes", Number(0)),
    fact("performance_schema_max_thread_instances", Number(0)),
    fact("performance_schema_session_connect_attrs_size", Number(MOST_ATTRIBUTE_BYTES as u64)),
    fact("performance_schema_setup_actors_size", Number(0)),
    fact("performance_schema_setup_objects_size", Number(0)),
    only("performance_schema_show_processlist", Shared, OFF),
    fact("performance_schema_users_size", Number(0)),
];
