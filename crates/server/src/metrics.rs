//! `leafline serve --metrics`: serves the variables of SHOW GLOBAL STATUS, the times of statements by kind and the uses of each
//! index under `/metrics`, in the text format of Prometheus.
//!
//! Metrics are named after status variables: `Leafline_page_splits` is `leafline_page_splits_total`, `Innodb_data_read` is
//! `leafline_innodb_data_read_bytes_total`. Times are in seconds, sizes in bytes. `Com_*` and `Handler_*` are one metric each,
//! with a label. An answer only reads counters, so a monitor costs next to nothing.

use crate::http::{Answer, HttpServer, Request};
use leafline_sql::Instance;
use leafline_sql::observed::IndexUse;
use leafline_sql::status::StatusKind;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A running endpoint. Dropping it ends it.
pub struct Metrics(HttpServer);

impl Metrics {
    /// Serves the metrics of `instance` on the listener's address.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(instance: Arc<Instance>, listener: TcpListener) -> io::Result<Metrics> {
        let only_here = listener.local_addr()?.ip().is_loopback();
        let answer = move |request: &Request| {
            // A loopback listener answers only to this machine's own names, so that a web page cannot read the metrics by DNS rebinding.
            if only_here && !request.is_for_this_machine() {
                return Answer::failure(421, "this address is served under another name");
            }
            match request.path.as_str() {
                "/metrics" => Answer::of(CONTENT_TYPE, render(&instance)),
                "/" => Answer::of("text/plain; charset=utf-8", "Leafline. Metrics are at /metrics.\n"),
                _ => Answer::failure(404, "there is nothing here; metrics are at /metrics"),
            }
        };
        HttpServer::start(listener, "metrics", Box::new(answer)).map(Metrics)
    }

    /// Returns the address that the endpoint listens on.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

/// A metric with its samples.
struct Metric {
    help: String,
    is: StatusKind,
    /// Labels, in their text form, and values.
    samples: Vec<(String, f64)>,
}

/// Formats all metrics.
fn render(instance: &Instance) -> String {
    let mut metrics: BTreeMap<String, Metric> = BTreeMap::new();
    for (name, value, is) in instance.status() {
        let Named { metric, help, labels, scale } = named(name, is);
        let new = || Metric { help, is, samples: Vec::new() };
        metrics.entry(metric).or_insert_with(new).samples.push((labels, value as f64 * scale));
    }
    let mut text = String::with_capacity(32 << 10);
    let version = label(&instance.facts().version);
    let _ = write!(
        text,
        "# HELP leafline_build_info The version that runs.\n# TYPE leafline_build_info gauge\n\
         leafline_build_info{{version=\"{version}\"}} 1\n"
    );
    for (name, metric) in &metrics {
        let kind = if metric.is == StatusKind::Counter { "counter" } else { "gauge" };
        let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", metric.help);
        for (labels, value) in &metric.samples {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    }
    indexes(&mut text, &instance.uses_by_index());
    times(&mut text, instance);
    text
}

fn indexes(text: &mut String, uses: &[IndexUse]) {
    if uses.is_empty() {
        return;
    }
    text.push_str(
        "# HELP leafline_index_uses_total Runs of statements whose plan may read the index. Those of a plan that is kept are told 32 at a time.\n\
         # TYPE leafline_index_uses_total counter\n",
    );
    for IndexUse { database, table, index, uses } in uses {
        let (database, table, index) = (label(database), label(table), label(index));
        let _ = writeln!(
            text,
            "leafline_index_uses_total{{database=\"{database}\",table=\"{table}\",index=\"{index}\"}} {uses}"
        );
    }
}

fn times(text: &mut String, instance: &Instance) {
    const NAME: &str = "leafline_statement_duration_seconds";
    let _ = writeln!(
        text,
        "# HELP {NAME} How long statements took, by kind. Reads of less than a microsecond are sampled.\n# TYPE {NAME} histogram"
    );
    for times in instance.times_by_kind() {
        let kind = times.kind;
        for (end, count) in &times.classes {
            let _ = writeln!(text, "{NAME}_bucket{{kind=\"{kind}\",le=\"{end}\"}} {count}");
        }
        let _ = writeln!(text, "{NAME}_bucket{{kind=\"{kind}\",le=\"+Inf\"}} {}", times.count);
        let _ = writeln!(text, "{NAME}_sum{{kind=\"{kind}\"}} {}", times.sum);
        let _ = writeln!(text, "{NAME}_count{{kind=\"{kind}\"}} {}", times.count);
    }
}

/// Escapes the value of a label.
fn label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The metric of a status variable.
struct Named {
    metric: String,
    help: String,
    labels: String,
    /// The factor from the variable's unit to the metric's.
    scale: f64,
}

fn named(variable: &str, is: StatusKind) -> Named {
    let lower = variable.to_ascii_lowercase();
    for (prefix, metric, by, what) in [
        ("com_", "leafline_commands_total", "command", "Statements received, by kind (Com_*)."),
        (
            "handler_",
            "leafline_handler_total",
            "handler",
            "Steps on rows and index entries, by kind (Handler_*).",
        ),
    ] {
        if let Some(kind) = lower.strip_prefix(prefix) {
            let labels = format!("{{{by}=\"{kind}\"}}");
            return Named { metric: metric.into(), help: what.into(), labels, scale: 1.0 };
        }
    }
    let base = lower.strip_prefix("leafline_").unwrap_or(&lower);
    let (base, scale) = match base {
        "innodb_data_read" | "innodb_data_written" | "innodb_os_log_written" => {
            (format!("{base}_bytes"), 1.0)
        }
        "innodb_row_lock_time" | "innodb_row_lock_time_max" => (format!("{base}_seconds"), 1e-3),
        "innodb_buffer_pool_pages_total" => ("innodb_buffer_pool_pages_capacity".into(), 1.0),
        "innodb_page_size" => ("innodb_page_size_bytes".into(), 1.0),
        "batched_reads_bytes" => ("batched_read_bytes".into(), 1.0),
        "uptime" => ("uptime_seconds".into(), 1.0),
        _ => match base.strip_suffix("_us") {
            Some(base) => (format!("{}_seconds", base.strip_suffix("_time").unwrap_or(base)), 1e-6),
            None => (base.to_owned(), 1.0),
        },
    };
    let end = if is == StatusKind::Counter { "_total" } else { "" };
    let help = format!("{} (status variable {variable}).", explained(variable));
    Named { metric: format!("leafline_{base}{end}"), help, labels: String::new(), scale }
}

/// Returns the help text of a variable, made from its name where that suffices.
fn explained(variable: &str) -> String {
    let known = match variable {
        "Connections" => "Connections made",
        "Created_tmp_files" => "Sorts, joins and groupings that went to a file",
        "Innodb_buffer_pool_read_requests" => "Pages asked for",
        "Innodb_buffer_pool_reads" | "Innodb_pages_read" => "Pages read from the data file",
        "Innodb_buffer_pool_read_ahead" => "Pages read ahead of their use",
        "Innodb_buffer_pool_pages_total" => "Pages that there is room for in the buffer pool",
        "Innodb_buffer_pool_pages_free" => "Pages of the buffer pool that hold nothing",
        "Innodb_data_read" => "Bytes read from the data file",
        "Innodb_data_written" => "Bytes written to the data and doublewrite files",
        "Innodb_os_log_written" => "Bytes written to the redo log",
        "Innodb_os_log_fsyncs" => "Syncs of the redo log",
        "Innodb_row_lock_time" => "Time spent waiting for locks",
        "Leafline_batched_reads" => "Requests for reads in batches",
        "Leafline_batched_reads_depths" => "Sum of the numbers of requests under way when another came",
        "Leafline_change_buffer_bytes" => "Bytes of index changes that wait to be merged",
        "Leafline_covering_lookups" => "Rows visited to know whether an entry is visible",
        "Leafline_entries_examined" => "Index entries looked at",
        "Leafline_lock_wait_us" => "Time that statements waited for locks",
        "Leafline_pages_read" => "Pages that statements had read from the device",
        "Leafline_rows_fetched" => "Rows read because a secondary index pointed at them",
        "Leafline_rows_sent" => "Rows sent to clients",
        "Leafline_slow_log_dropped" => "Entries of the slow query log that were not written",
        "Leafline_statement_cache_hits" => "Statements run with a plan that was there already",
        "Questions" => "Statements received",
        "Slow_queries" => "Statements that took longer than long_query_time",
        "Threads_connected" => "Open connections",
        "Uptime" => "Seconds since the database was opened",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    let words =
        variable.strip_prefix("Leafline_").or_else(|| variable.strip_prefix("Innodb_")).unwrap_or(variable);
    let words = words.strip_suffix("_us").unwrap_or(words).replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_units_and_ends_that_tools_expect() {
        let name = |variable, is| named(variable, is);
        let plain = |variable, is| name(variable, is).metric;
        assert_eq!(plain("Leafline_page_splits", StatusKind::Counter), "leafline_page_splits_total");
        assert_eq!(plain("Innodb_data_read", StatusKind::Counter), "leafline_innodb_data_read_bytes_total");
        assert_eq!(plain("Threads_connected", StatusKind::Gauge), "leafline_threads_connected");
        let waited = name("Leafline_page_wait_us", StatusKind::Counter);
        assert_eq!((waited.metric.as_str(), waited.scale), ("leafline_page_wait_seconds_total", 1e-6));
        let swept = name("Leafline_change_buffer_sweep_time_us", StatusKind::Counter);
        assert_eq!(swept.metric, "leafline_change_buffer_sweep_seconds_total");
        let command = name("Com_select", StatusKind::Counter);
        assert_eq!(
            (command.metric.as_str(), command.labels.as_str()),
            ("leafline_commands_total", "{command=\"select\"}")
        );
        assert_eq!(explained("Leafline_old_versions_bytes"), "Old versions bytes");
        assert_eq!(label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
