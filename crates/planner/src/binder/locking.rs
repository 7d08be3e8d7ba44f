//! FOR UPDATE and FOR SHARE: marks the rows of a query that are locked.
//!
//! A clause locks rows of the query's tables and of the tables of its views; in a set operation, rows of all queries. Rows of
//! derived tables are locked only by clauses of their own.

use leafline_table::LockStrength;
use leafline_types::MysqlError;

use crate::authority::Authority;
use crate::bound::{BoundSelect, Relation, RelationSource, RowLocking};
use leafline_syntax::Privilege;
use leafline_syntax::ast::Locking;

/// Marks the tables whose rows a query locks.
///
/// # Errors
/// 1142 for a table without the privilege to lock its rows for an update; 3568 for an unknown table name, 3569 for a table in two
/// clauses.
pub(super) fn lock(
    query: &mut BoundSelect,
    clauses: &[Locking],
    access: &dyn Authority,
) -> Result<(), MysqlError> {
    for clause in clauses {
        let lock = RowLocking { strength: clause.strength, wait: clause.wait };
        if clause.of.is_empty() {
            of_blocks(query, &mut |block| {
                block.relations.iter_mut().try_for_each(|of| mark(of, lock, access))
            })?;
        }
        for name in &clause.of {
            let is_named = |relation: &&mut Relation| {
                relation.alias == name.name.value
                    && name.database.as_ref().is_none_or(|database| database.value == relation.database)
            };
            let mut found = false;
            of_blocks(query, &mut |block| match block.relations.iter_mut().find(is_named) {
                Some(relation) => {
                    found = true;
                    mark(relation, lock, access)
                }
                None => Ok(()),
            })?;
            if !found {
                return Err(MysqlError::unresolved_table_lock(&name.name.value));
            }
        }
    }
    Ok(())
}

/// Calls `f` on the block of a query, or on the blocks of the queries of a set operation.
fn of_blocks(
    query: &mut BoundSelect,
    f: &mut dyn FnMut(&mut BoundSelect) -> Result<(), MysqlError>,
) -> Result<(), MysqlError> {
    if let [Relation { source: RelationSource::SetOperation(operation), .. }] = &mut query.relations[..] {
        of_blocks(&mut operation.first, f)?;
        return operation.steps.iter_mut().try_for_each(|step| of_blocks(&mut step.operand, f));
    }
    f(query)
}

fn mark(relation: &mut Relation, lock: RowLocking, access: &dyn Authority) -> Result<(), MysqlError> {
    let asked = Privilege::Update | Privilege::Delete | Privilege::LockTables;
    if lock.strength == LockStrength::Update && !relation.granted.somewhere().has_any(asked) {
        return Err(access.table_denied("SELECT with locking clause", relation.name()));
    }
    match &mut relation.source {
        RelationSource::Base(_) => match relation.lock.replace(lock) {
            Some(_) => Err(MysqlError::duplicate_table_lock(&relation.alias)),
            None => Ok(()),
        },
        RelationSource::Derived(query) if relation.view.is_some() => of_blocks(query, &mut |block| {
            block.relations.iter_mut().try_for_each(|of| mark(of, lock, access))
        }),
        _ => Ok(()),
    }
}
