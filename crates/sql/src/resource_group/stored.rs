//! Resource groups on disk: the table `mysql.resource_groups`, created with the first group.

use super::{GroupState, ResourceGroup, ranges_text};
use crate::resource_group::thread::Controls;
use crate::system_table::{self, SYSTEM_DATABASE};
use leafline_table::{ColumnDef, Engine, IndexSpec, IndexSpecKind, IndexSpecPart, TableSpec};
use leafline_types::{Collation, MysqlError, SqlType, Value};
use parking_lot::RwLock;
use std::sync::Arc;

const TABLE: &str = "resource_groups";
const SYSTEM: &str = "SYSTEM";
const USER: &str = "USER";
/// Length of a list of processors in characters: enough for more than 1,024 of them.
const LIST_LEN: u32 = 4096;

pub(super) fn table() -> TableSpec {
    let text = |name: &str, len: u32| {
        ColumnDef::new(name, SqlType::Varchar { len }, false, Collation::Utf8mb4_0900Bin)
    };
    let number = |name: &str| ColumnDef::new(name, SqlType::BIGINT, false, Collation::Binary);
    TableSpec {
        database: SYSTEM_DATABASE.into(),
        name: TABLE.into(),
        columns: vec![
            text("resource_group_name", 64),
            text("resource_group_type", 6),
            number("resource_group_enabled"),
            text("vcpu_ids", LIST_LEN),
            number("thread_priority"),
        ],
        indexes: vec![IndexSpec {
            kind: IndexSpecKind::Primary,
            parts: vec![IndexSpecPart::new("resource_group_name")],
            ..IndexSpec::default()
        }],
        ..TableSpec::default()
    }
}

pub(super) fn row(name: &str, of_system: bool, state: &GroupState) -> [Value; 5] {
    [
        Value::string(name),
        Value::string(if of_system { SYSTEM } else { USER }),
        Value::Int(state.enabled.into()),
        Value::string(ranges_text(&state.controls.processors)),
        Value::Int(state.controls.priority.into()),
    ]
}

/// True if a row is the one of this group.
pub(super) fn is_of(name: &str) -> impl Fn(&[Value]) -> bool {
    let name = name.to_lowercase();
    move |row| row.first().and_then(Value::as_str).is_some_and(|other| other.to_lowercase() == name)
}

pub(super) fn read(engine: &Arc<Engine>) -> Result<Vec<ResourceGroup>, MysqlError> {
    if engine.catalog().table(SYSTEM_DATABASE, TABLE).is_none() {
        return Ok(Vec::new());
    }
    let table = engine.table(SYSTEM_DATABASE, TABLE)?;
    let rows = system_table::rows(engine, &table)?;
    rows.iter()
        .map(|(_, row)| {
            group(row).ok_or_else(|| MysqlError::unknown_error("a row of mysql.resource_groups is no group"))
        })
        .collect()
}

fn group(row: &[Value]) -> Option<ResourceGroup> {
    let [name, ty, enabled, processors, priority] = row else { return None };
    let of_system = match ty.as_str()? {
        SYSTEM => true,
        USER => false,
        _ => return None,
    };
    let number = |value: &Value| match value {
        Value::Int(number) => i32::try_from(*number).ok(),
        _ => None,
    };
    let controls = Controls { processors: numbers(processors.as_str()?)?, priority: number(priority)? };
    let state = RwLock::new(GroupState { controls, enabled: number(enabled)? != 0 });
    Some(ResourceGroup { name: name.as_str()?.into(), of_system, state })
}

/// The processors of a list of ranges.
fn numbers(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        numbers.extend((first..=last).map(u32::from));
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_back_as_written() {
        for (processors, priority, enabled, of_system) in
            [(vec![0], 0, true, false), (vec![0, 1, 2, 9], 19, false, false), (vec![3, 5], -20, true, true)]
        {
            let state = GroupState { controls: Controls { processors, priority }, enabled };
            let read = group(&row("Batch", of_system, &state)).expect("a group");
            assert_eq!((read.name.as_str(), read.of_system), ("Batch", of_system));
            assert_eq!(*read.state.read(), state);
        }
        let [name, ty, enabled, _, priority] = row(
            "g",
            false,
            &GroupState { controls: Controls { processors: vec![0], priority: 0 }, enabled: true },
        );
        for damaged in ["", "x", "1-", "70000", "1,,2"] {
            let row = [name.clone(), ty.clone(), enabled.clone(), Value::string(damaged), priority.clone()];
            assert!(group(&row).is_none(), "{damaged}");
        }
    }
}
