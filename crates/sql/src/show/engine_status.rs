//! SHOW ENGINE STATUS: the state of the engine as readable text, in sections.

use super::text;
use crate::result::RowSet;
use crate::session::Session;
use leafline_table::ChangeBufferStats;
use leafline_types::{MysqlError, SqlType};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// The status of the engine, by its name or by InnoDB's.
pub(super) fn engine_status(session: &Session, name: &str) -> Result<RowSet, MysqlError> {
    if !name.eq_ignore_ascii_case("Leafline") && !name.eq_ignore_ascii_case("InnoDB") {
        return Err(MysqlError::unknown_storage_engine(name));
    }
    let mut rows = RowSet::new([
        ("Type", SqlType::Varchar { len: 10 }),
        ("Name", SqlType::Varchar { len: 512 }),
        ("Status", SqlType::Text { max_bytes: u32::MAX }),
    ]);
    rows.push(vec![text("InnoDB"), text(""), text(report(session))]);
    Ok(rows)
}

fn report(session: &Session) -> String {
    let engine = session.instance.engine();
    let (figures, store) = (engine.stats(), engine.store());
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let mut report = String::new();
    let mut section = |title: &str, lines: &[(&str, String)]| {
        let _ = writeln!(report, "{title}");
        for (name, value) in lines {
            let _ = writeln!(report, "  {name:<40} {value}");
        }
    };
    let oldest = match figures.oldest_snapshot {
        Some(age) => format!("{:.1} s", age.as_secs_f64()),
        None => "none".into(),
    };
    let (open, kept) = figures.serializable;
    section(
        "TRANSACTIONS",
        &[
            ("commits", figures.commits.to_string()),
            ("snapshots in use", figures.snapshots.to_string()),
            ("age of the oldest snapshot", oldest),
            ("snapshots given up", figures.snapshots_given_up.to_string()),
            ("rows met that had changed", figures.conflicts.to_string()),
            ("SERIALIZABLE open, kept, refused", format!("{open}, {kept}, {}", figures.serializable_refused)),
            ("bytes of SERIALIZABLE", figures.serializable_bytes.to_string()),
        ],
    );
    let locks = figures.locks;
    section(
        "LOCKS",
        &[
            ("held", locks.held.to_string()),
            ("bytes borrowed from the buffer pool", locks.borrowed.to_string()),
            ("transactions waiting", locks.waiting.to_string()),
            ("waits", locks.waits.to_string()),
            (
                "time waited, longest",
                format!("{} ms, {} ms", locks.wait_us / 1000, locks.longest_wait_us / 1000),
            ),
            ("waits given up", locks.timeouts.to_string()),
            ("deadlocks", locks.deadlocks.to_string()),
        ],
    );
    let borrowed = format!("{}, {}", figures.history_borrowed, figures.history_limit);
    section(
        "OLD VERSIONS",
        &[
            ("versions in memory", figures.versions.to_string()),
            ("bytes of them", figures.version_bytes.to_string()),
            ("versions in files", figures.spilled_versions.to_string()),
            ("files, bytes", format!("{}, {}", figures.version_runs, figures.spilled_version_bytes)),
            ("times written to a file", figures.version_spills.to_string()),
            ("memory, with queue and indexes of files", figures.history_bytes.to_string()),
            ("borrowed from the buffer pool, limit", borrowed),
            ("deleted entries to be removed", figures.purge_queue.to_string()),
            ("bytes of files that list them", figures.purge_queue_file_bytes.to_string()),
            ("deleted entries removed", figures.purged.to_string()),
            ("left to later writes", figures.purge_forgotten.to_string()),
            ("dropped trees still read", figures.retired_trees.to_string()),
        ],
    );
    section("CHANGE BUFFER", &of_change_buffer(engine.maintenance().change_buffer_stats()));
    let log = store.log_space();
    let of_log = |bytes: u64| format!("{bytes} ({:.0} %)", 100.0 * bytes as f64 / log.capacity.max(1) as f64);
    section(
        "LOG",
        &[
            ("end", store.log_end().0.to_string()),
            ("durable up to", store.durable_lsn().0.to_string()),
            ("bytes kept for recovery", of_log(log.used)),
            ("bytes reserved", of_log(log.reserved)),
            ("capacity", log.capacity.to_string()),
            (
                "writes, syncs",
                format!("{}, {}", load(&store.stats().log_writes), load(&store.stats().log_syncs)),
            ),
            ("checkpoints", load(&store.stats().checkpoints).to_string()),
        ],
    );
    let pool = store.stats();
    section(
        "BUFFER POOL",
        &[
            ("pages, of them changed", format!("{}, {}", load(&pool.pool_data), load(&pool.pool_dirty))),
            ("frames, of them free", format!("{}, {}", load(&pool.pool_frames), load(&pool.pool_free))),
            ("bytes", load(&pool.pool_bytes).to_string()),
            ("pages asked for", pool.page_requests.get().to_string()),
            ("pages read, written", format!("{}, {}", load(&pool.page_reads), load(&pool.pages_written))),
            ("pages evicted", load(&pool.evictions).to_string()),
            (
                "waits for latches",
                (pool.shared_latch_waits.get() + pool.exclusive_latch_waits.get()).to_string(),
            ),
            ("waits for pages on their way", pool.page_waits.get().to_string()),
            ("reads begun again", pool.optimistic_restarts.get().to_string()),
        ],
    );
    report
}

fn of_change_buffer(buffer: ChangeBufferStats) -> [(&'static str, String); 8] {
    [
        ("changes buffered, merged", format!("{}, {}", buffer.buffered, buffer.merged)),
        (
            "leaves merged, in memory alone",
            format!("{}, {}", buffer.leaves_merged, buffer.leaves_merged_softly),
        ),
        ("bytes in the tree, in the run", format!("{}, {}", buffer.l0_bytes, buffer.run_bytes)),
        ("most bytes", buffer.most_bytes.to_string()),
        ("runs written, bytes", format!("{}, {}", buffer.runs_written, buffer.run_bytes_written)),
        ("a sweep is under way", if buffer.sweeping { "yes" } else { "no" }.to_owned()),
        ("time of sweeps", format!("{} ms", buffer.swept_us / 1000)),
        ("time that commits waited for them", format!("{} ms", buffer.waited_us / 1000)),
    ]
}
