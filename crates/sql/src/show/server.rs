//! SHOW STATUS, VARIABLES, WARNINGS, ERRORS, PROCESSLIST, ENGINES, DEVICE PROFILE, COLLATION, CHARACTER SET.

use super::text;
use crate::information_schema::{LICENSE, PERCENT, PLUGINS, doing, percent};
use crate::result::RowSet;
use crate::session::Session;
use crate::settings::ConnectionFacts;
use crate::settings::variables::{Scope, VARIABLES, Variable};
use crate::status::{StorageCounters, listing};
use leafline_access::CpuCosts;
use leafline_access::cost::DeviceProfile;
use leafline_planner::CONDITION_COUNTS;
use leafline_types::convert::to_text;
use leafline_types::{SqlType, Value, WarningLevel};

pub(super) fn status(session: &Session, global: bool) -> RowSet {
    let instance = &session.instance;
    let (counters, commands) = match global {
        true => (instance.global_counters(), instance.global_commands()),
        false => (session.counters, session.entry.commands()),
    };
    let baseline = if global { StorageCounters::default() } else { session.storage_baseline.clone() };
    let storage = instance.storage_counters().since(&baseline);
    let mut rows = RowSet::text(["Variable_name", "Value"]);
    for (name, value) in listing((&counters, &commands), &storage, &instance.gauges()) {
        rows.push(vec![text(name), text(value.to_string())]);
    }
    let connection = if global { ConnectionFacts::default() } else { session.connection.clone() };
    let dictionary = instance.password_validation().dictionary().into_iter().flat_map(|(words, read_at)| {
        let read_at =
            read_at.and_then(|read_at| to_text(&Value::DateTime(read_at), &SqlType::DateTime { fsp: 0 }));
        let read_at = read_at.map_or_else(String::new, |read_at| read_at.to_string());
        [
            ("validate_password.dictionary_file_last_parsed", read_at),
            ("validate_password.dictionary_file_words_count", words.to_string()),
        ]
    });
    for (name, value) in connection.status().into_iter().chain(dictionary) {
        let place = rows.rows.partition_point(|row| row.first().and_then(Value::as_str) < Some(name));
        rows.rows.insert(place, vec![text(name), text(value)]);
    }
    rows
}

pub(super) fn variables(session: &Session, global: bool) -> RowSet {
    let mut rows = RowSet::text(["Variable_name", "Value"]);
    let is_shown = |variable: &&&Variable| !(global && variable.scope == Scope::Session);
    let globals = session.instance.globals().read().clone();
    for variable in VARIABLES.iter().filter(is_shown).filter(|variable| variable.is_there(&globals)) {
        let value = session.value_of(variable, global);
        let shown = to_text(&value, &SqlType::Null).map_or(Value::Null, Value::String);
        rows.push(vec![text(variable.name), shown]);
    }
    for name in CONDITION_COUNTS.iter().filter(|_| !global) {
        let count =
            if *name == "error_count" { session.facts.error_count } else { session.facts.warning_count };
        let place = rows.rows.partition_point(|row| row.first().and_then(Value::as_str) < Some(name));
        rows.rows.insert(place, vec![text(*name), text(count.to_string())]);
    }
    rows
}

pub(super) fn diagnostics(session: &Session, errors_only: bool, limit: Option<(u64, u64)>) -> RowSet {
    let mut rows = RowSet::new([
        ("Level", SqlType::Varchar { len: 7 }),
        ("Code", SqlType::Int { unsigned: true }),
        ("Message", SqlType::Varchar { len: 512 }),
    ]);
    let (skip, take) = limit.unwrap_or((0, u64::MAX));
    let shown = session.warnings.iter().filter(|w| !errors_only || w.level == WarningLevel::Error);
    for warning in shown.skip(skip as usize).take(usize::try_from(take).unwrap_or(usize::MAX)) {
        rows.push(vec![
            text(warning.level.name()),
            Value::UInt(warning.code.into()),
            text(warning.message.as_str()),
        ]);
    }
    rows
}

pub(super) fn diagnostics_count(session: &Session, errors_only: bool) -> RowSet {
    let count = match errors_only {
        true => session.warnings.errors(),
        false => session.warnings.count(),
    };
    let name = if errors_only { "@@session.error_count" } else { "@@session.warning_count" };
    let mut rows = RowSet::new([(name, SqlType::BIGINT_UNSIGNED)]);
    rows.push(vec![Value::UInt(count)]);
    rows
}

pub(super) fn process_list(session: &Session, full: bool) -> RowSet {
    let mut rows = RowSet::new([
        ("Id", SqlType::BIGINT_UNSIGNED),
        ("User", SqlType::Varchar { len: 32 }),
        ("Host", SqlType::Varchar { len: 261 }),
        ("db", SqlType::Varchar { len: 64 }),
        ("Command", SqlType::Varchar { len: 16 }),
        ("Time", SqlType::BIGINT),
        ("State", SqlType::Varchar { len: 64 }),
        ("Info", SqlType::Varchar { len: 1024 }),
        ("Progress", PERCENT),
    ]);
    for entry in session.system_view().visible().connections() {
        let activity = entry.activity();
        let report = entry.progress.report();
        let (command, state) = doing(&entry, &activity, report.stage);
        let statement = activity.statement.map(|sql| match full {
            true => sql,
            false => sql.chars().take(100).collect(),
        });
        rows.push(vec![
            Value::UInt(entry.id),
            text(entry.user.as_str()),
            text(entry.host.as_str()),
            activity.database.map_or(Value::Null, text),
            text(command),
            Value::Int(activity.since.elapsed().as_secs() as i64),
            text(state),
            statement.map_or(Value::Null, text),
            percent(report.overall()),
        ]);
    }
    rows
}

/// SHOW PLUGINS.
pub(super) fn plugins() -> RowSet {
    let mut rows = RowSet::text(["Name", "Status", "Type", "Library", "License"]);
    for (name, kind, _) in PLUGINS {
        rows.push(vec![text(name), text("ACTIVE"), text(kind), Value::Null, text(LICENSE)]);
    }
    rows
}

/// The figures that plans are priced with, and the source of each.
pub(super) fn device_profile(session: &Session) -> RowSet {
    let device = &session.settings.device;
    let mut rows = RowSet::text(["Variable_name", "Value", "Unit", "Source"]);
    let mut push = |name: &str, value: String, unit: &str, source: String| {
        rows.push([name, &value, unit, &source].map(text).to_vec());
    };
    push("device", device.choice.name().to_string(), "", device.source());
    let DeviceProfile { random_read_us, bytes_per_us, parallel_reads } = device.profile();
    let figure = |value: f64| format!("{value:.3}");
    let [of_random, of_rate, of_parallel, of_cpu] = device.sources();
    push("random_read_time", figure(random_read_us), "microseconds", of_random);
    push("sequential_read_rate", figure(bytes_per_us), "MB/s", of_rate);
    push("parallel_reads", figure(parallel_reads), "reads", of_parallel);
    push("cpu_factor", figure(device.cpu()), "", of_cpu);
    for (name, us) in CpuCosts::default().times(device.cpu()).named() {
        push(name, figure(us), "microseconds", "constant x cpu_factor".to_string());
    }
    rows
}
