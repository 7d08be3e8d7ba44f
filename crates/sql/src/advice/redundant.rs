//! Indexes that another index of the table makes redundant.

use leafline_table::{IndexDef, TableDef};
use std::sync::Arc;

/// A redundant index, and the one that replaces it.
pub(crate) struct Redundant<'t> {
    pub index: &'t Arc<IndexDef>,
    pub dominant: &'t Arc<IndexDef>,
}

/// The redundant indexes of a table, as in MySQL's `sys.schema_redundant_indexes`. An index is redundant if
/// another has the same parts and is unique where it is not, or has the earlier name; if it is not unique and
/// a prefix of another; or if it is unique and begins with another unique index. Indexes with functional
/// parts are compared like others.
pub(crate) fn redundant_indexes(table: &TableDef) -> Vec<Redundant<'_>> {
    let all = || table.ordered_indexes().iter().filter(|index| !index.parts.is_empty());
    let mut found = Vec::new();
    for index in all().filter(|index| !index.is_primary()) {
        for dominant in all().filter(|other| other.id != index.id && makes_redundant(other, index)) {
            found.push(Redundant { index, dominant });
        }
    }
    found
}

fn makes_redundant(dominant: &IndexDef, index: &IndexDef) -> bool {
    let is_prefix = begins_with(dominant, index);
    match dominant.parts.len() == index.parts.len() {
        true if is_prefix => {
            let rank = |index: &IndexDef| (!index.is_unique(), !index.is_primary());
            let name = |index: &IndexDef| index.name.to_lowercase();
            (rank(dominant), name(dominant)) < (rank(index), name(index))
        }
        true => false,
        false => is_prefix && !index.is_unique() || dominant.is_unique() && begins_with(index, dominant),
    }
}

/// True if `index` begins with the parts of `first`, in the same or in the reverse order.
pub(crate) fn begins_with(index: &IndexDef, first: &IndexDef) -> bool {
    let pairs = || index.parts.iter().zip(&first.parts);
    let same = |turned: bool| {
        pairs().all(|(a, b)| {
            (a.column, a.prefix) == (b.column, b.prefix) && a.descending == (b.descending ^ turned)
        })
    };
    index.parts.len() >= first.parts.len() && (same(false) || same(true))
}
