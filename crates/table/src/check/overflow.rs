//! Compares rows with their overflow values.

use super::{CheckDepth, CheckOptions, TableCheck, damage};
use crate::catalog::TableDef;
use crate::error::Result;
use crate::overflow;
use crate::read::ReadView;
use leafline_types::OverflowRef;

/// Compares the references of the rows with the overflow table, which has `parts` parts. Also reads every
/// value in an extended check, and if the numbers of parts differ.
pub(super) fn compare(
    view: &ReadView,
    table: &TableDef,
    outside: &[OverflowRef],
    parts: u64,
    options: CheckOptions,
    found: &mut TableCheck,
) -> Result<()> {
    let limits = view.core().limits();
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
