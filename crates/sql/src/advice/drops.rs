//! Indexes of a workload's tables that are not needed: prefixes of other indexes, and indexes that no
//! statement reads.

use super::choose::{Chooser, total};
use super::redundant::begins_with;
use super::{Advice, table_name};
use crate::session::Session;
use leafline_syntax::quoted;
use leafline_table::{IndexDef, TableDef, TableId};
use leafline_types::MysqlError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The indexes that can be dropped once the chosen ones exist.
pub(super) fn drops(session: &Session, chosen: &Chooser) -> Result<Vec<Advice>, MysqlError> {
    let read = chosen.queries.iter().flat_map(|query| &query.wanted);
    let tables: BTreeMap<TableId, Arc<TableDef>> =
        read.map(|wanted| (wanted.table.id, wanted.table.clone())).collect();
    let used: BTreeSet<u64> =
        chosen.prices().iter().flat_map(|priced| priced.indexes.iter().copied()).collect();
    let reads_us = total(&chosen.queries, chosen.prices());
    let mut advice = Vec::new();
    for table in tables.values() {
        let mut dropped: BTreeSet<u64> = BTreeSet::new();
        for index in table.secondary().iter().filter(|index| !index.is_unique() && !index.is_words()) {
            let Some(why) = reason(session, chosen, (table, index), (&used, &dropped)) else { continue };
            dropped.insert(index.id);
            let size = session.index_size(table, index)?;
            let priced = chosen.queries.iter().zip(chosen.prices());
            advice.push(Advice {
                table: table.clone(),
                action: "DROP INDEX",
                statement: format!("DROP INDEX {} ON {}", quoted(&index.name), table_name(table)),
                undo: None,
                before_us: reads_us,
                after_us: reads_us,
                writes_us: -session.writes_us((table, index), &size, priced),
                bytes: -session.bytes_of(&size),
                why,
                verified: None,
            });
        }
    }
    Ok(advice)
}

fn reason(
    session: &Session,
    chosen: &Chooser,
    (table, index): (&TableDef, &IndexDef),
    (used, dropped): (&BTreeSet<u64>, &BTreeSet<u64>),
) -> Option<String> {
    let stays =
        |other: &&Arc<IndexDef>| !other.is_words() && other.id != index.id && !dropped.contains(&other.id);
    if let Some(other) = table.secondary().iter().filter(stays).find(|other| begins_with(other, index)) {
        return Some(format!("it is the beginning of {}", other.name));
    }
    let proposals = chosen.proposals().filter(|proposal| proposal.table.id == table.id);
    let longer = proposals.into_iter().find(|proposal| proposal.parts.starts_with(&index.parts));
    if let Some(longer) = longer {
        let name = longer.spec.name.as_deref().unwrap_or_default();
        return Some(format!("it is the beginning of {name}, which is proposed"));
    }
    let is_unused = !used.contains(&index.id) && session.instance.index_uses().of(index.id) == 0;
    (is_unused && !serves_foreign_key(session, table, index)).then(|| {
        "no statement of the workload reads it, and none has since the database was opened".to_owned()
    })
}

/// True if a foreign key may need the index for lookups.
fn serves_foreign_key(session: &Session, table: &TableDef, index: &IndexDef) -> bool {
    let Some(first) = index.parts.first().map(|part| part.column) else { return false };
    let catalog = session.instance.engine().catalog();
    let is_first = |name: &String| table.column(name) == Some(first);
    table.foreign_keys.iter().any(|key| key.columns.contains(&first))
        || catalog
            .references(&table.database, &table.name)
            .any(|(_, key)| key.parent_columns.iter().any(is_first))
}
