//! `SHOW STATUS`: counters and gauges of the server and its sessions.
//!
//! There are three sources. A session's own counters (`Handler_*`, `Leafline_*`, `Com_*`) are exact. The
//! storage counters (`Innodb_*`, named as in MySQL) belong to the whole server; a session sees their growth
//! since its begin or its last FLUSH STATUS, whichever session caused it. Gauges are current values.

pub use crate::command::{Command, RareCommands};

use crate::command::{FREQUENT, frequent_names};
use crate::plan_facts::PlanReads;
use leafline_access::Counters;
use leafline_storage::StoreStats;
use leafline_table::{ChangeBufferStats, EngineStats};
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts how executed plans read their tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounters([u64; READ_NAMES.len()]);

const READ_NAMES: [&str; 6] =
    ["Select_full_join", "Select_full_range_join", "Select_range", "Select_scan", "Sort_range", "Sort_scan"];

impl ReadCounters {
    /// Counts an execution of a plan.
    pub(crate) fn add(&mut self, plan: &PlanReads) {
        let counts = [
            plan.full_joins,
            plan.range_joins,
            plan.ranges,
            plan.scans,
            plan.sorted_ranges,
            plan.sorted_scans,
        ];
        self.0.iter_mut().zip(counts).for_each(|(sum, count)| *sum += u64::from(count));
    }
}

/// The counters of a session, or sums over sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounters {
    /// Access paths and changes of rows.
    pub access: Counters,
    commands: [u64; FREQUENT],
    /// Statements received.
    pub questions: u64,
    /// Counts of how executed plans read their tables.
    pub reads: ReadCounters,
    /// Bytes of packets received from the client.
    pub bytes_received: u64,
    /// Bytes of packets sent to the client.
    pub bytes_sent: u64,
    /// Rows sent to the client.
    pub rows_sent: u64,
    /// Statements that came as text and ran with a kept plan.
    pub statement_cache_hits: u64,
    /// Statements that took longer than `long_query_time`.
    pub slow_queries: u64,
}

impl SessionCounters {
    /// Counts a statement.
    pub fn count(&mut self, command: Command) {
        self.questions += 1;
        self.count_executed(command);
    }

    /// Counts a command that is not a statement of the client by itself: the statement of an EXECUTE, or a
    /// command of the protocol.
    pub fn count_executed(&mut self, command: Command) {
        if let Some(count) = self.commands.get_mut(command as usize) {
            *count += 1;
        }
    }

    fn frequent(&self, command: Command) -> u64 {
        self.commands.get(command as usize).copied().unwrap_or(0)
    }

    fn named(&self) -> Vec<(&'static str, u64)> {
        let mut all = self.access.named();
        all.extend(frequent_names().zip(self.commands));
        all.extend(READ_NAMES.into_iter().zip(self.reads.0));
        all.push(("Bytes_received", self.bytes_received));
        all.push(("Bytes_sent", self.bytes_sent));
        let beside = [Command::StmtPrepare, Command::StmtClose].map(|command| self.frequent(command));
        all.push(("Queries", self.questions + beside.into_iter().sum::<u64>()));
        all.push(("Questions", self.questions));
        all.push(("Slow_queries", self.slow_queries));
        all.push(("Leafline_rows_sent", self.rows_sent));
        all.push(("Leafline_statement_cache_hits", self.statement_cache_hits));
        all
    }
}

impl AddAssign for SessionCounters {
    fn add_assign(&mut self, other: SessionCounters) {
        self.access += other.access;
        self.commands.iter_mut().zip(other.commands).for_each(|(sum, n)| *sum += n);
        self.reads.0.iter_mut().zip(other.reads.0).for_each(|(sum, n)| *sum += n);
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
        self.questions += other.questions;
        self.rows_sent += other.rows_sent;
        self.statement_cache_hits += other.statement_cache_hits;
        self.slow_queries += other.slow_queries;
    }
}

/// Counters of batched reads (read-ahead, sorted fetches): requests, and the sums behind their means.
const BATCHED_READS: &str = "Leafline_batched_reads";
const BATCHED_BYTES: &str = "Leafline_batched_reads_bytes";
const BATCHED_DEPTHS: &str = "Leafline_batched_reads_depths";
const BATCHED_TIME: &str = "Leafline_batched_reads_time_us";
/// Seconds in which the counters have grown.
const SINCE_FLUSH: &str = "Uptime_since_flush_status";

/// The storage counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageCounters(Vec<(&'static str, u64)>);

impl StorageCounters {
    /// Reads the counters.
    pub fn read(stats: &StoreStats, uptime_seconds: u64) -> StorageCounters {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StorageCounters(vec![
            ("Innodb_buffer_pool_read_ahead", load(&stats.prefetched)),
            ("Innodb_buffer_pool_read_requests", stats.page_requests.get()),
            ("Innodb_buffer_pool_reads", load(&stats.page_reads)),
            ("Innodb_data_read", load(&stats.bytes_read)),
            ("Innodb_data_written", load(&stats.bytes_written)),
            ("Innodb_dblwr_writes", load(&stats.doublewrite_batches)),
            ("Innodb_log_writes", load(&stats.log_writes)),
            ("Innodb_os_log_fsyncs", load(&stats.log_syncs)),
            ("Innodb_os_log_written", load(&stats.log_bytes)),
            ("Innodb_pages_read", load(&stats.page_reads)),
            ("Innodb_pages_written", load(&stats.pages_written)),
            (BATCHED_READS, load(&stats.batched_reads)),
            (BATCHED_BYTES, load(&stats.batched_bytes)),
            (BATCHED_DEPTHS, load(&stats.batched_depths)),
            (BATCHED_TIME, load(&stats.batched_time_us)),
            ("Leafline_checkpoints", load(&stats.checkpoints)),
            ("Leafline_exclusive_latch_waits", stats.exclusive_latch_waits.get()),
            ("Leafline_optimistic_restarts", stats.optimistic_restarts.get()),
            ("Leafline_page_faults", stats.page_faults.get()),
            ("Leafline_page_merges", load(&stats.page_merges)),
            ("Leafline_page_splits", load(&stats.page_splits)),
            ("Leafline_page_wait_us", stats.page_wait_us.get()),
            ("Leafline_page_waits", stats.page_waits.get()),
            ("Leafline_pages_evicted", load(&stats.evictions)),
            ("Leafline_reservation_top_ups", load(&stats.reservation_top_ups)),
            ("Leafline_shared_latch_waits", stats.shared_latch_waits.get()),
            (SINCE_FLUSH, uptime_seconds),
        ])
    }

    /// Computes the means of batched reads.
    fn means(&self) -> [(&'static str, u64); 4] {
        let value = |name| self.0.iter().find(|(known, _)| *known == name).map_or(0, |(_, value)| *value);
        let requests = value(BATCHED_READS);
        let mean = |sum| value(sum).checked_div(requests).unwrap_or(0);
        [
            ("Leafline_batched_reads_mean_bytes", mean(BATCHED_BYTES)),
            ("Leafline_batched_reads_mean_depth", mean(BATCHED_DEPTHS)),
            ("Leafline_batched_reads_mean_time_us", mean(BATCHED_TIME)),
            ("Leafline_batched_reads_per_second", requests / value(SINCE_FLUSH).max(1)),
        ]
    }

    /// The growth since `earlier`.
    pub fn since(&self, earlier: &StorageCounters) -> StorageCounters {
        let before = earlier.0.iter().map(|(_, value)| *value).chain(std::iter::repeat(0));
        StorageCounters(
            self.0.iter().zip(before).map(|((name, now), then)| (*name, now.saturating_sub(then))).collect(),
        )
    }
}

/// MySQL's variables of things that Leafline does not have, reported as 0: temporary tables (sorts and joins
/// spill to files, `Created_tmp_files`), caches of tables and files, table locks outside LOCK TABLES,
/// MyISAM's key cache, delayed rows, the binary log, range checks for each row.
const NOT_THERE: [&str; 35] = [
    "Binlog_cache_disk_use",
    "Binlog_cache_use",
    "Binlog_stmt_cache_disk_use",
    "Binlog_stmt_cache_use",
    "Created_tmp_disk_tables",
    "Created_tmp_tables",
    "Delayed_errors",
    "Delayed_insert_threads",
    "Delayed_writes",
    "Key_blocks_not_flushed",
    "Key_blocks_unused",
    "Key_blocks_used",
    "Key_read_requests",
    "Key_reads",
    "Key_write_requests",
    "Key_writes",
    "Not_flushed_delayed_rows",
    "Open_files",
    "Open_streams",
    "Open_table_definitions",
    "Open_tables",
    "Opened_files",
    "Opened_table_definitions",
    "Opened_tables",
    "Replica_open_temp_tables",
    "Select_range_check",
    "Slave_open_temp_tables",
    "Slow_launch_threads",
    "Table_locks_immediate",
    "Table_locks_waited",
    "Table_open_cache_hits",
    "Table_open_cache_misses",
    "Table_open_cache_overflows",
    "Tc_log_max_pages_used",
    "Tc_log_page_waits",
];

/// Current values.
pub struct Gauges<'a> {
    /// The store.
    pub store: &'a StoreStats,
    /// The engine.
    pub engine: EngineStats,
    /// The change buffer.
    pub change_buffer: ChangeBufferStats,
    /// Page size in bytes.
    pub page_bytes: u64,
    /// Open connections.
    pub connections: u64,
    /// Connections made so far.
    pub connections_made: u64,
    /// Highest number of connections open at one time.
    pub most_connections: u64,
    /// Connections whose client left without COM_QUIT.
    pub aborted_clients: u64,
    /// Refused logins.
    pub aborted_connects: u64,
    /// Connections that run a statement now.
    pub running: u64,
    /// Prepared statements of all sessions.
    pub prepared: u64,
    /// Entries that the slow query log dropped.
    pub slow_log_dropped: u64,
    /// Bytes that the process has allocated.
    pub memory_used: u64,
    /// Highest number of bytes allocated at one time.
    pub memory_peak: u64,
    /// Seconds since the instance was opened.
    pub uptime_seconds: u64,
}

impl Gauges<'_> {
    fn named(&self) -> Vec<(&'static str, u64)> {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        vec![
            ("Aborted_clients", self.aborted_clients),
            ("Aborted_connects", self.aborted_connects),
            ("Connections", self.connections_made),
            ("Innodb_buffer_pool_bytes_data", load(&self.store.pool_data) * self.page_bytes),
            ("Innodb_buffer_pool_bytes_dirty", load(&self.store.pool_dirty) * self.page_bytes),
            ("Innodb_buffer_pool_pages_data", load(&self.store.pool_data)),
            ("Innodb_buffer_pool_pages_dirty", load(&self.store.pool_dirty)),
            ("Innodb_buffer_pool_pages_free", load(&self.store.pool_free)),
            ("Innodb_buffer_pool_pages_total", load(&self.store.pool_frames)),
            ("Innodb_data_pending_reads", load(&self.store.batched_in_flight)),
            ("Innodb_deadlocks", self.engine.locks.deadlocks),
            ("Innodb_page_size", self.page_bytes),
            ("Innodb_row_lock_current_waits", self.engine.locks.waiting),
            ("Innodb_row_lock_time", self.engine.locks.wait_us / 1000),
            ("Innodb_row_lock_time_max", self.engine.locks.longest_wait_us / 1000),
            ("Innodb_row_lock_waits", self.engine.locks.waits),
            ("Leafline_change_buffer_bytes", self.change_buffer.l0_bytes + self.change_buffer.run_bytes),
            ("Leafline_change_buffer_bytes_most", self.change_buffer.most_bytes),
            ("Leafline_change_buffer_buffered", self.change_buffer.buffered),
            ("Leafline_change_buffer_changed_softly", self.change_buffer.changed_softly),
            ("Leafline_change_buffer_leaves_merged", self.change_buffer.leaves_merged),
            ("Leafline_change_buffer_leaves_merged_softly", self.change_buffer.leaves_merged_softly),
            ("Leafline_change_buffer_leaves_moved", self.change_buffer.leaves_moved),
            ("Leafline_change_buffer_merged", self.change_buffer.merged),
            ("Leafline_change_buffer_runs_written", self.change_buffer.runs_written),
            ("Leafline_change_buffer_run_bytes_written", self.change_buffer.run_bytes_written),
            ("Leafline_change_buffer_sweep_time_us", self.change_buffer.swept_us),
            ("Leafline_change_buffer_sweeping", u64::from(self.change_buffer.sweeping)),
            ("Leafline_change_buffer_wait_us", self.change_buffer.waited_us),
            ("Leafline_lock_timeouts", self.engine.locks.timeouts),
            ("Leafline_locks", self.engine.locks.held),
            ("Leafline_old_versions", self.engine.versions),
            ("Leafline_old_versions_bytes", self.engine.version_bytes),
            ("Leafline_old_versions_file_bytes", self.engine.spilled_version_bytes),
            ("Leafline_old_versions_in_files", self.engine.spilled_versions),
            ("Leafline_old_versions_spills", self.engine.version_spills),
            ("Leafline_oldest_snapshot_seconds", self.engine.oldest_snapshot.map_or(0, |age| age.as_secs())),
            ("Leafline_purge_queue", self.engine.purge_queue),
            ("Leafline_purged", self.engine.purged),
            ("Leafline_server_memory_peak", self.memory_peak),
            ("Leafline_server_memory_used", self.memory_used),
            ("Leafline_slow_log_dropped", self.slow_log_dropped),
            ("Leafline_snapshots", self.engine.snapshots),
            ("Leafline_snapshots_given_up", self.engine.snapshots_given_up),
            ("Leafline_write_conflicts", self.engine.conflicts),
            ("Max_used_connections", self.most_connections),
            ("Prepared_stmt_count", self.prepared),
            // Each connection has its own thread, which ends with it.
            ("Threads_cached", 0),
            ("Threads_connected", self.connections),
            ("Threads_created", self.connections_made),
            ("Threads_running", self.running),
            ("Uptime", self.uptime_seconds),
        ]
    }
}

/// Names among the gauges whose values only grow.
const GROWING: &[&str] = &[
    "Aborted_clients",
    "Aborted_connects",
    "Connections",
    "Innodb_deadlocks",
    "Innodb_row_lock_time",
    "Innodb_row_lock_waits",
    "Leafline_change_buffer_buffered",
    "Leafline_change_buffer_changed_softly",
    "Leafline_change_buffer_leaves_merged",
    "Leafline_change_buffer_leaves_merged_softly",
    "Leafline_change_buffer_leaves_moved",
    "Leafline_change_buffer_merged",
    "Leafline_change_buffer_run_bytes_written",
    "Leafline_change_buffer_runs_written",
    "Leafline_change_buffer_sweep_time_us",
    "Leafline_change_buffer_wait_us",
    "Leafline_lock_timeouts",
    "Leafline_old_versions_spills",
    "Leafline_purged",
    "Leafline_slow_log_dropped",
    "Leafline_snapshots_given_up",
    "Leafline_write_conflicts",
    "Threads_created",
];

/// Kind of a status variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusKind {
    /// A count since the instance was opened, which only grows.
    Counter,
    /// A current value.
    Gauge,
}

/// The status variables of the server, ordered by name, without derived ones.
pub(crate) fn observed(
    (sessions, commands): (&SessionCounters, &RareCommands),
    storage: &StorageCounters,
    gauges: &Gauges<'_>,
) -> Vec<(&'static str, u64, StatusKind)> {
    let of_storage = storage.0.iter().copied().filter(|(name, _)| *name != SINCE_FLUSH);
    let counters = sessions.named().into_iter().chain(commands.named()).chain(of_storage);
    let mut all: Vec<_> = counters.map(|(name, value)| (name, value, StatusKind::Counter)).collect();
    all.extend(gauges.named().into_iter().map(|(name, value)| {
        let is = if GROWING.contains(&name) { StatusKind::Counter } else { StatusKind::Gauge };
        (name, value, is)
    }));
    all.sort_unstable_by_key(|(name, ..)| *name);
    all
}

/// All status variables, ordered by name.
pub fn listing(
    (session, commands): (&SessionCounters, &RareCommands),
    storage: &StorageCounters,
    gauges: &Gauges<'_>,
) -> Vec<(&'static str, u64)> {
    let mut all = session.named();
    all.extend(commands.named());
    all.extend(storage.0.iter().copied());
    all.extend(storage.means());
    all.extend(gauges.named());
    all.extend(NOT_THERE.map(|name| (name, 0)));
    all.sort_unstable_by_key(|(name, _)| *name);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_is_listed_once_and_in_order() {
        let stats = StoreStats::default();
        stats.page_reads.store(7, Ordering::Relaxed);
        stats.batched_reads.store(40, Ordering::Relaxed);
        stats.batched_bytes.store(4000, Ordering::Relaxed);
        let gauges = Gauges {
            change_buffer: ChangeBufferStats::default(),
            store: &stats,
            engine: EngineStats::default(),
            page_bytes: 16384,
            connections: 1,
            connections_made: 2,
            most_connections: 2,
            aborted_clients: 0,
            aborted_connects: 0,
            running: 1,
            prepared: 0,
            slow_log_dropped: 0,
            memory_used: 0,
            memory_peak: 0,
            uptime_seconds: 3,
        };
        let mut counters = SessionCounters::default();
        counters.count(Command::Select);
        counters.count(Command::Other);
        let mut rare = RareCommands::default();
        rare.count(Command::XaStart);
        rare.count(Command::Select);
        let observed = observed((&counters, &rare), &StorageCounters::read(&stats, 6), &gauges);
        assert!(
            GROWING
                .iter()
                .all(|name| observed.iter().any(|(n, _, is)| n == name && *is == StatusKind::Counter))
        );
        assert!(observed.contains(&("Threads_connected", 1, StatusKind::Gauge)));
        assert!(observed.iter().all(|(name, ..)| !name.contains("_mean_") && *name != SINCE_FLUSH));
        let earlier = StorageCounters::read(&StoreStats::default(), 2);
        let all = listing((&counters, &rare), &StorageCounters::read(&stats, 6).since(&earlier), &gauges);
        for pair in all.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{} before {}", pair[0].0, pair[1].0);
        }
        let value = |name: &str| all.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
        assert_eq!(value("Com_select"), Some(1));
        assert_eq!(value("Com_xa_start"), Some(1));
        assert_eq!(value("Com_admin_commands"), Some(0));
        assert_eq!(value("Questions"), Some(2));
        assert_eq!(value("Innodb_buffer_pool_reads"), Some(7));
        assert_eq!(value("Handler_read_key"), Some(0));
        assert_eq!(value("Leafline_batched_reads_mean_bytes"), Some(100));
        assert_eq!(value("Leafline_batched_reads_per_second"), Some(10), "in 4 seconds");
    }
}
