//! Foreign keys, checked row by row right after each change, as in InnoDB. The parent row must exist. Child rows that refer to
//! the old key refuse the change or follow it. The changed row is in the write set by then, so it may refer to itself.
//!
//! Child rows that follow are not counted. A cascade ends: an update that comes back to a table which it is updating already
//! fails (1451), and so does one of more than 15 steps (3008).

use super::{ChangeContext, generate, meets_checks, of_table};
use leafline_planner::bound::{ChildReference, ForeignKeys, ParentReference};
use leafline_table::{
    IndexDef, KeySearch, LockStrength, ReferentialAction, StatementMark, TableDef, TableError, TableId,
    Transaction,
};
use leafline_types::convert::to_text;
use leafline_types::error::errno;
use leafline_types::{MysqlError, SqlType, Value};
use std::sync::Arc;

/// Most steps of a cascade, as in InnoDB.
const MAX_DEPTH: usize = 15;

/// The tables that a cascade has passed, each with whether its row was deleted.
type CascadePath = Vec<(TableId, bool)>;

/// Checks the foreign keys of a row that was inserted.
///
/// # Errors
/// 1452 if a parent row does not exist; errors of locking.
pub(super) fn inserted(
    keys: &ForeignKeys,
    table: &TableDef,
    row: &[Value],
    transaction: &mut Transaction,
) -> Result<(), MysqlError> {
    let Some(references) = keys.tables.get(&table.id) else { return Ok(()) };
    for child in &references.children {
        lock_key(table, &child.columns, row, transaction)?;
    }
    references.parents.iter().try_for_each(|parent| check_parent(parent, row, transaction))
}

/// Applies ON DELETE of the keys that refer to a row that was deleted.
///
/// # Errors
/// 1451 if a key refuses the deletion, 3008 for a cascade of too many steps; errors of changing the child rows.
pub(super) fn deleted(
    keys: &ForeignKeys,
    table: &TableDef,
    row: &[Value],
    cx: &mut ChangeContext<'_, '_>,
) -> Result<(), MysqlError> {
    follow_delete(keys, table, row, cx, &mut CascadePath::new())
}

/// Checks the foreign keys of a row that was changed, and applies ON UPDATE of the keys that refer to it. `moved` says that its
/// clustered key has changed.
///
/// # Errors
/// As [`inserted`] and [`deleted`]; 1761 if a child row that follows meets another row of the same key.
pub(super) fn updated(
    keys: &ForeignKeys,
    table: &TableDef,
    (old, new): (&[Value], &[Value]),
    moved: bool,
    cx: &mut ChangeContext<'_, '_>,
) -> Result<(), MysqlError> {
    follow_update(keys, table, (old, new), moved, cx, &mut CascadePath::new())
}

/// Returns the error of an update that failed with `error`, a duplicate key. InnoDB goes from index to index, and looks in each
/// for child rows before it looks for a duplicate: a foreign key that refuses the change at an earlier index, or at the same
/// one, gives the error.
///
/// # Errors
/// Errors of locking.
pub(super) fn ran_into(
    keys: &ForeignKeys,
    error: TableError,
    table: &TableDef,
    (old, new): (&[Value], &[Value]),
    cx: &mut ChangeContext<'_, '_>,
) -> Result<MysqlError, MysqlError> {
    let TableError::DuplicateEntry { index, .. } = &error else { return Ok(of_table(error, cx.session)) };
    let last = table.indexes.iter().position(|known| known.name == *index);
    let children = keys.tables.get(&table.id).map(|references| &references.children[..]);
    for child in children.unwrap_or_default().iter().filter(|child| child.on_update.refuses()) {
        let has_key = |known: &Arc<IndexDef>| known.leading_columns().starts_with(&child.columns);
        let differs = child.columns.iter().any(|at| old.get(*at) != new.get(*at));
        if !differs || table.indexes.iter().position(has_key) > last {
            continue;
        }
        if let Some(key) = lock_key(table, &child.columns, old, cx.transaction)?
            && cx.transaction.has_row(&mut KeySearch::new(&child.child, &child.index, &key)?)?
        {
            cx.transaction.note_told();
            return Ok(child.violated());
        }
    }
    Ok(of_table(error, cx.session))
}

fn follow_delete(
    keys: &ForeignKeys,
    table: &TableDef,
    row: &[Value],
    cx: &mut ChangeContext<'_, '_>,
    way: &mut CascadePath,
) -> Result<(), MysqlError> {
    let Some(references) = keys.tables.get(&table.id) else { return Ok(()) };
    way.push((table.id, true));
    for child in &references.children {
        if let Some(key) = lock_key(table, &child.columns, row, cx.transaction)? {
            follow(keys, (table, row), child, (&key, None), cx, way)?;
        }
    }
    way.pop();
    Ok(())
}

fn follow_update(
    keys: &ForeignKeys,
    table: &TableDef,
    (old, new): (&[Value], &[Value]),
    moved: bool,
    cx: &mut ChangeContext<'_, '_>,
    way: &mut CascadePath,
) -> Result<(), MysqlError> {
    let Some(references) = keys.tables.get(&table.id) else { return Ok(()) };
    let differ = |columns: &[usize]| columns.iter().any(|at| old.get(*at) != new.get(*at));
    way.push((table.id, false));
    for child in references.children.iter().filter(|child| moved || differ(&child.columns)) {
        let key = lock_key(table, &child.columns, old, cx.transaction)?;
        lock_key(table, &child.columns, new, cx.transaction)?;
        if let Some(key) = key.filter(|_| differ(&child.columns)) {
            let to: Vec<Value> =
                child.columns.iter().filter_map(|column| new.get(*column).cloned()).collect();
            follow(keys, (table, old), child, (&key, Some(&to)), cx, way)?;
        }
    }
    way.pop();
    for parent in references.parents.iter().filter(|parent| moved || differ(&parent.columns)) {
        check_parent(parent, new, cx.transaction)?;
    }
    Ok(())
}

/// Applies the foreign key's action to the rows of `child` that refer to the key `from` of a row of `table`. The key is `to`
/// now, or gone.
fn follow(
    keys: &ForeignKeys,
    (table, row): (&TableDef, &[Value]),
    child: &ChildReference,
    (from, to): (&[Value], Option<&[Value]>),
    cx: &mut ChangeContext<'_, '_>,
    way: &mut CascadePath,
) -> Result<(), MysqlError> {
    let action = if to.is_some() { child.on_update } else { child.on_delete };
    let mut search = KeySearch::new(&child.child, &child.index, from)?;
    let refused = || child.violated();
    // As in InnoDB, a row that refers to itself refuses its own change.
    if child.child.id == table.id && (to.is_some() || action.refuses()) && search.has_key(row)? {
        return Err(refused());
    }
    if action.refuses() {
        if cx.transaction.has_row(&mut search)? {
            cx.transaction.note_told();
            return Err(refused());
        }
        return Ok(());
    }
    let deletes = to.is_none() && action == ReferentialAction::Cascade;
    loop {
        let locators = cx.transaction.find_rows(&mut search)?;
        if locators.is_empty() {
            return Ok(());
        }
        for locator in locators {
            cx.exec.eval.cancel.check()?;
            let present = cx.transaction.current_row(&child.child, &locator)?;
            let Some(row) = present else { continue };
            if !search.has_key(&row)? {
                continue;
            }
            let comes_back = |(table, deleted): &(TableId, bool)| *table == child.child.id && !deleted;
            if !deletes && way.iter().any(comes_back) {
                return Err(refused());
            }
            if way.len() >= MAX_DEPTH {
                return Err(MysqlError::fk_depth_exceeded(MAX_DEPTH));
            }
            if deletes {
                cx.transaction.delete_locked(&child.child, &locator, &row)?;
                follow_delete(keys, &child.child, &row, cx, way)?;
            } else {
                let to = to.filter(|_| action == ReferentialAction::Cascade);
                let new = changed_row(keys, child, &row, to, cx)?;
                let moved = match cx.transaction.update_locked(&child.child, &locator, &row, &new) {
                    Err(TableError::DuplicateEntry { table: of, index, .. }) => {
                        let record = record(table, &child.columns, from);
                        return Err(MysqlError::fk_duplicate_key(&table.name, record, of, index));
                    }
                    result => result? != locator,
                };
                follow_update(keys, &child.child, (&row, &new), moved, cx, way)?;
            }
        }
    }
}

/// Makes the child row that refers to the key `to`, or to nothing.
fn changed_row(
    keys: &ForeignKeys,
    child: &ChildReference,
    row: &[Value],
    to: Option<&[Value]>,
    cx: &mut ChangeContext<'_, '_>,
) -> Result<Vec<Value>, MysqlError> {
    let mut new = row.to_vec();
    for (number, at) in child.child_columns.iter().enumerate() {
        let (slot, column) = (&mut new[*at], &child.child.columns[*at]);
        let value = to.map_or(&Value::Null, |to| &to[number]);
        let fits = match (&column.ty, value) {
            (_, Value::Null) => column.nullable,
            (SqlType::Char { len } | SqlType::Varchar { len }, Value::String(text)) => {
                text.chars().count() <= *len as usize
            }
            (SqlType::Binary { len } | SqlType::Varbinary { len }, Value::Bytes(bytes)) => {
                bytes.len() <= *len as usize
            }
            _ => true,
        };
        if !fits {
            return Err(child.violated());
        }
        *slot = match value {
            Value::String(_) | Value::Bytes(_) => cx.store(value, &column.ty, column, 1)?,
            value => value.clone(),
        };
    }
    if let Some(references) = keys.tables.get(&child.child.id) {
        generate(&child.child, &references.rules, &mut new, 1, cx)?;
        meets_checks(&references.rules, &new, false, cx)?;
    }
    Ok(new)
}

/// Error codes of foreign keys. The session may know the names in the first two, and not in the others.
const VIOLATIONS: [u16; 4] = [
    errno::ER_ROW_IS_REFERENCED_2,
    errno::ER_NO_REFERENCED_ROW_2,
    errno::ER_ROW_IS_REFERENCED,
    errno::ER_NO_REFERENCED_ROW,
];

/// Under IGNORE turns an error of foreign keys into a warning and undoes the changes since `mark`. Returns true if there was no
/// error.
pub(super) fn ignoring(
    result: Result<(), MysqlError>,
    ignore: bool,
    mark: StatementMark,
    cx: &mut ChangeContext<'_, '_>,
) -> Result<bool, MysqlError> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if ignore && VIOLATIONS.contains(&error.code) => {
            cx.transaction.rollback_to(mark);
            cx.warn(error);
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Returns the values of a key; `None` if one is NULL: such a key refers to nothing, and nothing refers to it.
fn key_of(columns: &[usize], row: &[Value]) -> Option<Vec<Value>> {
    columns.iter().map(|at| row.get(*at).filter(|value| !value.is_null()).cloned()).collect()
}

/// Locks a key that a parent row has or had, so that no other transaction makes a row refer to it.
fn lock_key(
    table: &TableDef,
    columns: &[usize],
    row: &[Value],
    transaction: &mut Transaction,
) -> Result<Option<Vec<Value>>, MysqlError> {
    let key = key_of(columns, row);
    if let Some(key) = &key {
        transaction.lock_reference(table, columns, key, LockStrength::Update)?;
    }
    Ok(key)
}

/// Error 1452 if the parent row does not exist.
fn check_parent(
    reference: &ParentReference,
    row: &[Value],
    transaction: &mut Transaction,
) -> Result<(), MysqlError> {
    let Some(key) = key_of(&reference.columns, row) else { return Ok(()) };
    if let Some((parent, index, columns)) = &reference.parent {
        transaction.lock_reference(parent, columns, &key, LockStrength::Share)?;
        let mut search = KeySearch::new(parent, index, &key)?;
        if !transaction.find_rows(&mut search)?.is_empty() {
            return Ok(());
        }
    }
    transaction.note_told();
    Err(reference.violated())
}

/// Formats a key as error 1761 shows it.
fn record(table: &TableDef, columns: &[usize], key: &[Value]) -> String {
    let texts = columns.iter().zip(key).filter_map(|(at, value)| {
        let column = table.columns.get(*at)?;
        to_text(value, &column.ty).map(|text| text.to_string())
    });
    texts.collect::<Vec<_>>().join("-")
}
