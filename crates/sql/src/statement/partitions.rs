//! Partitioning of tables: makes the partition scheme of a new or altered table, from the statement or from the old scheme.

use super::change::of_table;
use super::metadata::check_concurrency;
use crate::evaluate::constant;
use crate::result::Done;
use crate::session::Session;
use crate::show::base_table;
use leafline_planner::binder::AlterWork;
use leafline_planner::binder::partition::{
    bind_partition_function, check_keys, check_shape, check_values, method_of, partition_columns, rows,
    scheme,
};
use leafline_syntax::ast::{
    AlterAction, AlterTable, Ident, PartitionAction, PartitionBound, PartitionBy, PartitionDefinition,
    SubpartitionBy,
};
use leafline_syntax::parse_stored;
use leafline_table::{
    BoundValue, ColumnDef, IndexDef, MOST_PARTITIONS, Organisation, PartitionChange, PartitionMethod,
    PartitionScheme, PartitionSpec, Partitioning, SubpartitionSpec, TableDef, TableSpec,
};
use leafline_types::MysqlError;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Makes the partition scheme of PARTITION BY for a table that `spec` specifies.
///
/// # Errors
/// MySQL's errors for definitions that are not possible.
pub(super) fn partitioning(
    session: &mut Session,
    by: &PartitionBy,
    spec: &TableSpec,
) -> Result<Arc<PartitionScheme>, MysqlError> {
    check_shape(by)?;
    check_engines(&by.partitions, spec.options.organisation)?;
    let listed = !by.partitions.is_empty();
    let partitions = match listed {
        true => evaluated(session, &by.partitions, subpartitions_of_each(by))?,
        false => unnamed(0, by.count.unwrap_or(1)),
    };
    divided(session, by, (partitions, listed), spec)
}

/// Returns how many subpartitions each partition of a PARTITION BY has; 0 without SUBPARTITION BY.
fn subpartitions_of_each(by: &PartitionBy) -> usize {
    let Some(below) = &by.below else { return 0 };
    let listed = by.partitions.first().map_or(0, |partition| partition.subpartitions.len());
    let counted = below.count.map_or(1, |count| usize::try_from(count).unwrap_or(usize::MAX));
    if listed > 0 { listed } else { counted }
}

/// Returns the name of a subpartition that the statement does not list.
fn subpartition_name(partition: &str, at: usize) -> String {
    format!("{partition}sp{at}")
}

/// Returns whether subpartitions have comments, or other names than subpartitions that are not listed.
fn lists_subpartitions(partitions: &[PartitionSpec]) -> bool {
    partitions.iter().any(|partition| {
        let mut below = partition.subpartitions.iter().enumerate();
        below.any(|(at, of)| of.name != subpartition_name(&partition.name, at) || !of.comment.is_empty())
    })
}

/// Makes the partition scheme with the methods of `by` and these partitions, for a table that `spec` specifies.
///
/// # Errors
/// As [`partitioning`].
fn divided(
    session: &Session,
    by: &PartitionBy,
    (partitions, listed): (Vec<PartitionSpec>, bool),
    spec: &TableSpec,
) -> Result<Arc<PartitionScheme>, MysqlError> {
    let found = partition_columns(&by.method, spec, &session.bind_context(&[]))?;
    let partitions = check_values(by, &found, partitions, session.settings.time_settings())?;
    check_keys(&found, spec)?;
    let mut below = None;
    if let Some(by) = &by.below {
        let found = partition_columns(&by.method, spec, &session.bind_context(&[]))?;
        check_keys(&found, spec)?;
        let count = partitions.first().map_or(0, |partition| partition.subpartitions.len());
        let listed = lists_subpartitions(&partitions);
        below = Some(scheme(&by.method, found, (vec![PartitionSpec::nameless(); count], listed), spec)?);
    }
    let divided = scheme(&by.method, found, (partitions, listed), spec)?.subdivided(below)?;
    Ok(Arc::new(divided))
}

/// Sets the partition scheme of an altered table: the statement's, or the old one over the columns of the same names. Returns
/// whether rows have to be partitioned anew.
///
/// # Errors
/// As [`partitioning`]; 1505 for REMOVE PARTITIONING of a table that is not partitioned, 1506 where foreign keys refer to the
/// table, 1562 for a temporary table.
pub(super) fn divide(
    session: &mut Session,
    alter: &AlterTable,
    table: &TableDef,
    spec: &mut TableSpec,
) -> Result<bool, MysqlError> {
    let mut actions = alter.actions.iter().filter_map(|action| match action {
        AlterAction::Partitions(action) => Some(&**action),
        _ => None,
    });
    match (actions.next(), actions.next(), &table.partitioning) {
        (None, _, None) => Ok(false),
        (None, _, Some(partitioning)) => {
            let scheme = &partitioning.scheme;
            let partitions = (scheme.partitions.clone(), scheme.listed);
            spec.partitioning = Some(divided(session, &written(scheme, table), partitions, spec)?);
            Ok(false)
        }
        (Some(PartitionAction::By(by)), None, _) => {
            if table.is_private {
                return Err(MysqlError::partitioned_temporary_table());
            }
            let catalog = session.instance.engine().catalog();
            if catalog.references(&table.database, &table.name).next().is_some() {
                return Err(MysqlError::foreign_key_on_partitioned());
            }
            spec.partitioning = None;
            spec.partitioning = Some(partitioning(session, by, spec)?);
            Ok(true)
        }
        (Some(PartitionAction::Remove), None, None) => {
            Err(MysqlError::partition_management_on_nonpartitioned())
        }
        (Some(PartitionAction::Remove), None, Some(_)) => {
            spec.partitioning = None;
            Ok(true)
        }
        _ => Err(MysqlError::not_supported("an action on partitions together with other actions")),
    }
}

/// Runs an action of ALTER TABLE on some partitions; `None` if the action rebuilds the whole table.
///
/// # Errors
/// 1505 if the table is not partitioned; MySQL's errors for unknown names and for actions that the method does not have; the
/// errors of [`partitioning`]; 1221, 1845 and 1846 for ALGORITHM and LOCK; errors of the engine.
pub(super) fn change_partitions(
    session: &mut Session,
    table: &Arc<TableDef>,
    alter: &AlterTable,
    action: &PartitionAction,
) -> Result<Option<Done>, MysqlError> {
    if matches!(action, PartitionAction::By(_) | PartitionAction::Remove) {
        return Ok(None);
    }
    let Some(partitioning) = &table.partitioning else {
        return Err(MysqlError::partition_management_on_nonpartitioned());
    };
    bind_partition_function(table, &session.bind_context(&[]))?;
    if let PartitionAction::Exchange { name, table: other, validates } = action {
        if partitioning.scheme.subdivision.is_some() && partitioning.partition_named(&name.value).is_some() {
            return Err(MysqlError::partition_instead_of_subpartition());
        }
        let numbers = known(table, partitioning, std::slice::from_ref(name))?;
        let other = base_table(session, other)?;
        check_exchange(session, table, &other)?;
        check_partition_concurrency(alter, *validates)?;
        let engine = session.instance.engine();
        for number in numbers {
            engine.ddl().exchange_partition(table, number, &other, *validates, &session.cancel)?;
        }
        return Ok(Some(Done::default()));
    }
    let change = change(session, table, partitioning, action)?;
    check_partition_concurrency(alter, !change.moved.is_empty())?;
    let moved = session.instance.engine().ddl().change_partitions(table, change);
    moved.map_err(|error| of_table(error, session.as_view()))?;
    Ok(Some(Done { info: "Records: 0  Duplicates: 0  Warnings: 0".into(), ..Done::default() }))
}

/// Checks ALGORITHM and LOCK as [`check_concurrency`] does, for an action on partitions. No such action is INSTANT in MySQL.
fn check_partition_concurrency(alter: &AlterTable, reads_rows: bool) -> Result<(), MysqlError> {
    let work = if reads_rows { AlterWork::Rows } else { AlterWork::Indexes };
    check_concurrency(alter, work, reads_rows)
}

/// Makes the change of partitions that an action asks for.
fn change(
    session: &mut Session,
    table: &TableDef,
    partitioning: &Partitioning,
    action: &PartitionAction,
) -> Result<PartitionChange, MysqlError> {
    let scheme = &partitioning.scheme;
    let by_values = matches!(scheme.method, PartitionMethod::Range | PartitionMethod::List);
    let count = scheme.partitions.len();
    let all = || (0..count).map(Some).collect::<Vec<_>>();
    let control = session.build_control();
    // Subpartitions share the fate of their partition.
    let each = scheme.tables_of_partition();
    let of_scheme = |scheme: Arc<PartitionScheme>, kept: Vec<Option<usize>>, moved: Vec<usize>| {
        let kept = kept.into_iter().flat_map(|kept| (0..each).map(move |at| kept.map(|of| of * each + at)));
        let moved = moved.into_iter().flat_map(|of| of * each..(of + 1) * each);
        PartitionChange { scheme, kept: kept.collect(), moved: moved.collect(), control: control.clone() }
    };
    let same = |kept: Vec<Option<usize>>, moved: Vec<usize>| of_scheme(scheme.clone(), kept, moved);
    // All rows of a hash-partitioned table move when the number of partitions changes.
    let counted = |partitions: Vec<PartitionSpec>| -> Result<PartitionChange, MysqlError> {
        let kept = vec![None; partitions.len()];
        check_count(partitions.len())?;
        let scheme = Arc::new(scheme.with(partitions, scheme.listed)?);
        Ok(PartitionChange { scheme, kept, moved: (0..count).collect(), control: control.clone() })
    };
    Ok(match action {
        PartitionAction::AddCount(_) if by_values => {
            return Err(MysqlError::partitions_must_be_defined(method_name(scheme)));
        }
        PartitionAction::AddCount(0) => return Err(MysqlError::add_no_partition()),
        PartitionAction::AddCount(added) => {
            let mut partitions = scheme.partitions.clone();
            let room = (MOST_PARTITIONS + 1).saturating_sub(count) as u64;
            partitions.extend(unnamed(count as u64, (*added).min(room)));
            counted(partitions)?
        }
        PartitionAction::Add(added) => {
            let added = defined(session, table, scheme, added)?;
            let mut partitions = scheme.partitions.clone();
            partitions.extend(added);
            if !by_values {
                check_names(&partitions)?;
                return counted(partitions);
            }
            let kept = (0..partitions.len()).map(|at| (at < count).then_some(at)).collect();
            of_scheme(redefined(session, table, scheme, partitions)?, kept, Vec::new())
        }
        PartitionAction::Coalesce(_) if by_values => return Err(MysqlError::coalesce_only_on_hash()),
        PartitionAction::Coalesce(0) => return Err(MysqlError::coalesce_no_partition()),
        PartitionAction::Coalesce(less) => {
            let left = count.checked_sub(usize::try_from(*less).unwrap_or(usize::MAX));
            let left = left.filter(|left| *left > 0).ok_or_else(MysqlError::drop_last_partition)?;
            counted(scheme.partitions.iter().take(left).cloned().collect())?
        }
        PartitionAction::Drop(_) if !by_values => return Err(MysqlError::only_on_range_or_list("DROP")),
        PartitionAction::Drop(names) => {
            check_repeated(names)?;
            let gone = numbers(partitioning, names, "DROP")?;
            let kept: Vec<usize> = (0..count).filter(|number| !gone.contains(number)).collect();
            if kept.is_empty() {
                return Err(MysqlError::drop_last_partition());
            }
            let left = kept.iter().filter_map(|number| scheme.partitions.get(*number));
            let partitions = left.cloned().collect();
            let scheme = redefined(session, table, scheme, partitions)?;
            of_scheme(scheme, kept.into_iter().map(Some).collect(), Vec::new())
        }
        PartitionAction::Truncate(names) => {
            names.as_ref().map_or(Ok(()), |names| check_repeated(names))?;
            let emptied = match names {
                None => (0..scheme.tables()).collect(),
                Some(names) => known(table, partitioning, names)?,
            };
            let kept = without((0..scheme.tables()).map(Some).collect(), &emptied);
            PartitionChange { scheme: scheme.clone(), kept, moved: Vec::new(), control }
        }
        PartitionAction::Rebuild(names) => {
            let rebuilt = match names {
                None => (0..count).collect(),
                Some(names) => numbers(partitioning, names, "REBUILD")?,
            };
            same(without(all(), &rebuilt), rebuilt.into_iter().collect())
        }
        PartitionAction::Reorganize { names, .. } if names.is_empty() => match by_values {
            true => return Err(MysqlError::reorganize_without_parameters()),
            // The table has this number of partitions already.
            false => same(all(), Vec::new()),
        },
        PartitionAction::Reorganize { names, into } => {
            let replaced = numbers(partitioning, names, "REORGANIZE")?;
            let into = defined(session, table, scheme, into)?;
            let (new, kept, moved) = reorganized(session, table, scheme, &replaced, into)?;
            of_scheme(new, kept, moved)
        }
        PartitionAction::By(_) | PartitionAction::Remove | PartitionAction::Exchange { .. } => {
            return Err(MysqlError::internal("an action on partitions that is another's"));
        }
    })
}

/// Marks the replaced partitions as new.
fn without(mut all: Vec<Option<usize>>, replaced: &BTreeSet<usize>) -> Vec<Option<usize>> {
    all.iter_mut()
        .filter(|kept| kept.is_some_and(|number| replaced.contains(&number)))
        .for_each(|kept| *kept = None);
    all
}

/// Returns the numbers of the partitions and subpartitions of these names; error 1735 for an unknown name.
pub(super) fn known(
    table: &TableDef,
    partitioning: &Partitioning,
    names: &[Ident],
) -> Result<BTreeSet<usize>, MysqlError> {
    let mut known = BTreeSet::new();
    for name in names {
        let numbers = partitioning.named(&name.value);
        known.extend(numbers.ok_or_else(|| MysqlError::unknown_partition(&name.value, &table.name))?);
    }
    Ok(known)
}

/// Error 1517 if a name occurs twice.
fn check_repeated(names: &[Ident]) -> Result<(), MysqlError> {
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(name.value.to_lowercase())) {
        Some(name) => Err(MysqlError::same_name_partition(&name.value)),
        None => Ok(()),
    }
}

/// The result of a reorganization: the new scheme, for each of its partitions the old one that it keeps, and the old partitions
/// whose rows move.
type Reorganized = (Arc<PartitionScheme>, Vec<Option<usize>>, Vec<usize>);

/// Puts the partitions `into` in the place of the `replaced` ones: REORGANIZE PARTITION.
fn reorganized(
    session: &Session,
    table: &TableDef,
    scheme: &Arc<PartitionScheme>,
    replaced: &BTreeSet<usize>,
    into: Vec<PartitionSpec>,
) -> Result<Reorganized, MysqlError> {
    let count = scheme.partitions.len();
    let first = replaced.first().copied().unwrap_or(0);
    let last = replaced.last().copied().unwrap_or(0);
    let is_range = scheme.method == PartitionMethod::Range;
    let by_values = is_range || scheme.method == PartitionMethod::List;
    if !by_values && into.len() != replaced.len() {
        return Err(MysqlError::reorganize_hash_only_on_same_number());
    }
    if (is_range || !by_values) && last - first + 1 != replaced.len() {
        return Err(MysqlError::consecutive_reorganize());
    }
    let added = into.len();
    let (mut partitions, mut kept) = (Vec::new(), Vec::new());
    let mut into = Some(into);
    for (number, partition) in scheme.partitions.iter().enumerate() {
        if !replaced.contains(&number) {
            partitions.push(partition.clone());
            kept.push(Some(number));
        } else if let Some(into) = into.take() {
            // Hash partitions only change their names.
            kept.extend((0..added).map(|at| (!by_values).then_some(number + at)));
            partitions.extend(into);
        }
    }
    let new = redefined(session, table, scheme, partitions)?;
    if is_range {
        let ends = new.compare_ends(first + added - 1, scheme, last);
        let is_wrong = if last + 1 == count { ends.is_lt() } else { ends.is_ne() };
        if is_wrong {
            return Err(MysqlError::reorganize_outside_range());
        }
    }
    let moved = if by_values { replaced.iter().copied().collect() } else { Vec::new() };
    Ok((new, kept, moved))
}

/// Makes partitions from their definitions, for a table that is partitioned by `scheme`.
fn defined(
    session: &mut Session,
    table: &TableDef,
    scheme: &PartitionScheme,
    partitions: &[PartitionDefinition],
) -> Result<Vec<PartitionSpec>, MysqlError> {
    let mut by = PartitionBy { partitions: partitions.to_vec(), ..written(scheme, table) };
    let each = scheme.subdivision.as_ref().map_or(0, |below| below.partitions.len());
    if let Some(below) = &mut by.below {
        below.count = Some(each as u64);
    }
    check_shape(&by)?;
    check_engines(partitions, table.options.organisation)?;
    evaluated(session, partitions, each)
}

/// Makes a scheme with the same methods and other partitions.
fn redefined(
    session: &Session,
    table: &TableDef,
    scheme: &PartitionScheme,
    partitions: Vec<PartitionSpec>,
) -> Result<Arc<PartitionScheme>, MysqlError> {
    check_count(partitions.len().saturating_mul(scheme.tables_of_partition()))?;
    check_names(&partitions)?;
    divided(session, &written(scheme, table), (partitions, true), &TableSpec::of(table))
}

/// Error 1517 if two partitions or subpartitions have one name.
fn check_names(partitions: &[PartitionSpec]) -> Result<(), MysqlError> {
    let mut names = BTreeSet::new();
    for partition in partitions {
        let below = partition.subpartitions.iter().map(|below| &below.name);
        for name in std::iter::once(&partition.name).chain(below) {
            if !names.insert(name.to_lowercase()) {
                return Err(MysqlError::same_name_partition(name));
            }
        }
    }
    Ok(())
}

/// Checks that the partitions have the engine of their table: error 1497 for another engine, 1286 for an unknown one.
fn check_engines(partitions: &[PartitionDefinition], organisation: Organisation) -> Result<(), MysqlError> {
    let engines = partitions.iter().flat_map(|partition| {
        let below = partition.subpartitions.iter().map(|below| &below.engine);
        std::iter::once(&partition.engine).chain(below)
    });
    for engine in engines.flatten() {
        match Organisation::of_engine(&engine.value) {
            None => return Err(MysqlError::unknown_storage_engine(&engine.value)),
            Some(own) if own != organisation => return Err(MysqlError::mix_of_engines()),
            Some(_) => {}
        }
    }
    Ok(())
}

fn check_count(partitions: usize) -> Result<(), MysqlError> {
    if partitions > MOST_PARTITIONS { Err(MysqlError::too_many_partitions()) } else { Ok(()) }
}

/// Returns the numbers of the partitions of these names; error 1507 for an unknown name.
fn numbers(
    partitioning: &Partitioning,
    names: &[Ident],
    operation: &str,
) -> Result<BTreeSet<usize>, MysqlError> {
    let number = |name: &Ident| {
        let number = partitioning.partition_named(&name.value);
        number.ok_or_else(|| MysqlError::drop_partition_non_existent(operation))
    };
    let found: BTreeSet<usize> = names.iter().map(number).collect::<Result<_, _>>()?;
    match found.len() == names.len() {
        true => Ok(found),
        false => Err(MysqlError::drop_partition_non_existent(operation)),
    }
}

fn method_name(scheme: &PartitionScheme) -> &'static str {
    match scheme.method {
        PartitionMethod::Range => "RANGE",
        PartitionMethod::List => "LIST",
        PartitionMethod::Hash { .. } => "HASH",
        PartitionMethod::Key { .. } => "KEY",
    }
}

/// Checks that `other` can take the place of a partition: it has the same columns, indexes and CHECKs, and no foreign keys.
fn check_exchange(session: &Session, table: &TableDef, other: &TableDef) -> Result<(), MysqlError> {
    if other.is_private {
        return Err(MysqlError::exchange_with_temporary(&other.name));
    }
    if other.is_partitioned() {
        return Err(MysqlError::exchange_with_partitioned(&other.name));
    }
    let catalog = session.instance.engine().catalog();
    let referred = catalog.references(&other.database, &other.name).next().is_some();
    if referred || !other.foreign_keys.is_empty() {
        return Err(MysqlError::exchange_with_foreign_key(&other.name));
    }
    let column = |column: &ColumnDef| {
        (
            column.name.to_lowercase(),
            column.ty.clone(),
            column.nullable,
            column.collation,
            column.auto_increment,
            column.generated.clone(),
        )
    };
    // Rows must store their columns in the same places, including dropped columns.
    let places = |table: &TableDef| {
        let places = table.columns.iter().map(|column| column.stored.clone()).collect::<Vec<_>>();
        (places, table.dropped.clone(), table.schema_version)
    };
    let index = |index: &Arc<IndexDef>| {
        (
            index.name.to_lowercase(),
            index.kind,
            index.parts.clone(),
            index.packing.declared,
            index.words.clone(),
        )
    };
    let checks = |table: &TableDef| -> Vec<(String, bool)> {
        table.checks.iter().map(|check| (check.expression.clone(), check.enforced)).collect()
    };
    let same = table.columns.iter().map(column).eq(other.columns.iter().map(column))
        && table.indexes.iter().map(index).eq(other.indexes.iter().map(index))
        && checks(table) == checks(other)
        && table.options.pack_keys == other.options.pack_keys
        && table.options.organisation == other.options.organisation
        && places(table) == places(other);
    if same { Ok(()) } else { Err(MysqlError::tables_different_metadata()) }
}

/// Returns the PARTITION BY clause of a scheme, without its partitions.
fn written(scheme: &PartitionScheme, table: &TableDef) -> PartitionBy {
    PartitionBy {
        method: method_of(scheme, &table.columns),
        count: None,
        below: scheme.subdivision.as_ref().map(|below| SubpartitionBy {
            method: method_of(below, &table.columns),
            count: (!below.listed).then_some(below.partitions.len() as u64),
        }),
        partitions: Vec::new(),
    }
}

/// Makes `count` partitions with default names, from number `first`.
fn unnamed(first: u64, count: u64) -> Vec<PartitionSpec> {
    let spec = |number| PartitionSpec { name: format!("p{number}"), ..PartitionSpec::nameless() };
    (first..first + count).map(spec).collect()
}

/// Evaluates the values of partition definitions, and gives each partition `subpartitions` subpartitions.
///
/// # Errors
/// Errors of evaluating the values.
fn evaluated(
    session: &mut Session,
    partitions: &[PartitionDefinition],
    subpartitions: usize,
) -> Result<Vec<PartitionSpec>, MysqlError> {
    let mut specs = Vec::with_capacity(partitions.len());
    for partition in partitions {
        let mut values = Vec::new();
        for row in rows(partition) {
            let row = row.iter().map(|bound| value(session, bound));
            values.push(row.collect::<Result<Vec<BoundValue>, MysqlError>>()?);
        }
        let (name, comment) = (partition.name.value.clone(), partition.comment.clone());
        let below = (0..subpartitions).map(|at| match partition.subpartitions.get(at) {
            Some(below) => {
                SubpartitionSpec { name: below.name.value.clone(), comment: below.comment.clone() }
            }
            None => SubpartitionSpec { name: subpartition_name(&name, at), comment: String::new() },
        });
        specs.push(PartitionSpec { subpartitions: below.collect(), name, comment, values });
    }
    Ok(specs)
}

fn value(session: &mut Session, bound: &PartitionBound) -> Result<BoundValue, MysqlError> {
    match bound {
        PartitionBound::MaxValue => Ok(None),
        PartitionBound::Value(text) => {
            constant(session, &parse_stored(text)?, (text, &[])).map(|(v, _)| Some(v))
        }
    }
}
