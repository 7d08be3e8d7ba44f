//! Indexes that another one of the table makes redundant.

use leafline_table::{IndexDef, TableDef};
use std::sync::Arc;

/// An index, and one that does what it does.
pub(crate) struct Redundant<'t> {
    pub index: &'t Arc<IndexDef>,
    pub dominant: &'t Arc<IndexDef>,
}

/// The redundant indexes of a table, as MySQL's `sys.schema_redundant_indexes` has them: those with the same parts as one that is unique
/// where they are not, or else whose name comes first; those that are not unique and are a prefix of another; and
/// unique ones that begin with another unique one. Indexes with functional parts are compared like others.
pub(crate) fn redundant_indexes(table: &TableDef) -> Vec<Redundant<'_>> {
    let all = || table.indexes.iter().filter(|index| !index.parts.is_empty());
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

/// Whether an index has the parts of another, and in the same order or the reverse of it, before all others.
pub(crate) fn begins_with(index: &IndexDef, first: &IndexDef) -> bool {
    let pairs = || index.parts.iter().zip(&first.parts);
    let same = |turned: bool| {
        pairs().all(|(a, b)| {
            (a.column, a.prefix) == (b.column, b.prefix) && a.descending == (b.descending ^ turned)
        })
    };
    index.parts.len() >= first.parts.len() && (same(false) || same(true))
}
