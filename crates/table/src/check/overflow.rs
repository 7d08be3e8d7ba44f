//! Rows against the values that are stored outside them.

use super::{CheckDepth, CheckOptions, TableCheck, damage};
use crate::catalog::TableDef;
use crate::error::Result;
use crate::overflow;
use crate::read::ReadView;
use leafline_types::OverflowRef;

/// Compares what the rows refer to with what there is, of which there are `parts` parts; in an extended check reads it too.
pub(super) fn compare(
    view: &ReadView,
    table: &TableDef,
    outside: &[OverflowRef],
    parts: u64,
    options: CheckOptions,
    found: &mut TableCheck,
) -> Result<()> {
    let limits = view.engine().limits();
    let referred: u64 = outside.iter().map(|reference| u64::from(overflow::parts(limits, reference))).sum();
    let clustered = table.clustered();
    if referred != parts {
        let what = format!(
            "the rows refer to {referred} parts of values that are stored outside them, there are {parts}"
        );
        found.note(table, None, None, what);
    }
    if options.depth < CheckDepth::Extended && referred == parts {
        return Ok(());
    }
    for reference in outside {
        match view.overflow_values(table, &[*reference]).map_err(damage) {
            Ok(_) => {}
            Err(Ok((page, what))) => found.note(table, Some(clustered), page, what),
            Err(Err(error)) => return Err(error),
        }
    }
    Ok(())
}
