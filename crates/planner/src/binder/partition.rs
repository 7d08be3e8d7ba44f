//! Checks the partitions of a new table by MySQL's rules.
//!
//! The caller evaluates the values, hence three steps: [`check_shape`] checks the written clause, [`partition_columns`] the
//! partition function, [`check_values`] and [`check_keys`] the rules that depend on its columns.

use leafline_expr::Expr;
use leafline_expr::build::type_of;
use leafline_table::{
    BoundValue, ColumnDef, IndexSpecKind, MOST_PARTITIONS, PartitionMethod as Method, PartitionScheme,
    PartitionSpec, TableDef, TableSpec,
};
use leafline_types::key::encode_part;
use leafline_types::temporal::IntervalUnit;
use leafline_types::{KeyPart, MysqlError, SqlType, StoreContext, Value, Warnings, store_cast};
use std::collections::BTreeSet;
use std::sync::Arc;

use super::BindContext;
use super::row_rules::bound_partition_function;
use leafline_syntax::ast;
use leafline_syntax::ast::{
    BinaryOp, ExprKind, Ident, PartitionBound, PartitionBy, PartitionDefinition, PartitionItem, PartitionKey,
    PartitionMethod, PartitionValues, Span, UnaryOp,
};
use leafline_syntax::parse_stored;
use leafline_types::temporal::TimeSettings;

/// Maximum number of partitioning columns.
const MOST_COLUMNS: usize = 16;
/// The functions that a partition function may call (MySQL 8.0 manual, "Partitioning Limitations Relating to Functions").
const FUNCTIONS: &[&str] = &[
    "abs",
    "ceil",
    "ceiling",
    "datediff",
    "day",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "floor",
    "hour",
    "microsecond",
    "minute",
    "mod",
    "month",
    "quarter",
    "second",
    "time_to_sec",
    "to_days",
    "to_seconds",
    "unix_timestamp",
    "weekday",
    "year",
    "yearweek",
];

/// Returns the rows after VALUES; a single item is a row.
pub fn rows(partition: &PartitionDefinition) -> Vec<&[PartitionBound]> {
    match &partition.values {
        PartitionValues::None => Vec::new(),
        PartitionValues::LessThan(row) => vec![row],
        PartitionValues::In(items) => items
            .iter()
            .map(|item| match item {
                PartitionItem::Value(value) => std::slice::from_ref(value),
                PartitionItem::Row(row) => row,
            })
            .collect(),
    }
}

/// For RANGE and LIST, returns their name, the words after VALUES, and the partition key.
fn valued(method: &PartitionMethod) -> Option<(&'static str, &'static str, &PartitionKey)> {
    match method {
        PartitionMethod::Range(key) => Some(("RANGE", "LESS THAN", key)),
        PartitionMethod::List(key) => Some(("LIST", "IN", key)),
        PartitionMethod::Hash { .. } | PartitionMethod::Key { .. } => None,
    }
}

/// Returns the PARTITION BY clause of a scheme for a table with these columns.
pub fn method_of(scheme: &PartitionScheme, columns: &[ColumnDef]) -> PartitionMethod {
    let ident = |at: &usize| {
        let value = columns.get(*at).map_or(String::new(), |column| column.name.clone());
        Ident { value, span: Span::default() }
    };
    let names = || scheme.columns.iter().map(ident).collect();
    let key = || match &scheme.key {
        leafline_table::PartitionKey::Function(text) => PartitionKey::Expression(text.clone()),
        leafline_table::PartitionKey::Columns => PartitionKey::Columns(names()),
    };
    match (scheme.method, &scheme.key) {
        (Method::Range, _) => PartitionMethod::Range(key()),
        (Method::List, _) => PartitionMethod::List(key()),
        (Method::Hash { linear }, leafline_table::PartitionKey::Function(text)) => {
            PartitionMethod::Hash { linear, expression: text.clone() }
        }
        (Method::Hash { linear }, leafline_table::PartitionKey::Columns) => {
            PartitionMethod::Key { linear, columns: names() }
        }
        (Method::Key { linear, implicit }, _) => {
            PartitionMethod::Key { linear, columns: if implicit { Vec::new() } else { names() } }
        }
    }
}

/// Checks number, names and kinds of values of partitions.
///
/// # Errors
/// 1479 and 1480 for VALUES that are missing or of another method, 1484, 1485, 1492, 1499 and 1504 for the number of partitions,
/// 1500 for subpartitions outside RANGE and LIST, 1517 and 1567 for names, 1653 and 1656 to 1658 for the number of values, 1481
/// for MAXVALUE in the middle.
pub fn check_shape(by: &PartitionBy) -> Result<(), MysqlError> {
    let valued = valued(&by.method);
    for (at, partition) in by.partitions.iter().enumerate() {
        check_values_shape(partition, valued)?;
        let is_max = |row: &[PartitionBound]| matches!(row, [PartitionBound::MaxValue]);
        if matches!(valued, Some((_, _, PartitionKey::Expression(_))))
            && at + 1 < by.partitions.len()
            && rows(partition).into_iter().any(is_max)
        {
            return Err(MysqlError::partition_maxvalue());
        }
    }
    if by.count == Some(0) {
        return Err(MysqlError::no_parts("partitions"));
    }
    if let (Some((method, _, _)), true) = (valued, by.partitions.is_empty()) {
        return Err(MysqlError::partitions_must_be_defined(method));
    }
    let listed = by.partitions.len() as u64;
    if by.count.is_some_and(|count| listed > 0 && count != listed) {
        return Err(MysqlError::partition_wrong_count());
    }
    if by.count.unwrap_or(listed) > MOST_PARTITIONS as u64 {
        return Err(MysqlError::too_many_partitions());
    }
    check_subpartitions(by)?;
    let mut names = BTreeSet::new();
    for partition in &by.partitions {
        let below = partition.subpartitions.iter().map(|below| &below.name.value);
        for name in std::iter::once(&partition.name.value).chain(below) {
            // A trailing blank would be invisible.
            if name.is_empty() || name.ends_with(' ') {
                return Err(MysqlError::wrong_partition_name());
            }
            if !names.insert(name.to_lowercase()) {
                return Err(MysqlError::same_name_partition(name));
            }
        }
    }
    Ok(())
}

/// Checks that only RANGE and LIST have subpartitions, and every partition the same number.
fn check_subpartitions(by: &PartitionBy) -> Result<(), MysqlError> {
    let listed = by.partitions.iter().map(|partition| partition.subpartitions.len());
    let Some(below) = &by.below else {
        return match listed.max().unwrap_or(0) {
            0 => Ok(()),
            _ => Err(MysqlError::subpartitions_of_hash()),
        };
    };
    if valued(&by.method).is_none() {
        return Err(MysqlError::subpartitions_of_hash());
    }
    if below.count == Some(0) {
        return Err(MysqlError::no_parts("subpartitions"));
    }
    let mut listed = listed;
    let first = listed.next().unwrap_or(0);
    let is_other =
        |count: usize| count != first || count > 0 && below.count.is_some_and(|c| c != count as u64);
    if is_other(first) || listed.any(is_other) {
        return Err(MysqlError::subpartition_wrong_count());
    }
    let each = below.count.unwrap_or(first.max(1) as u64);
    if each.saturating_mul(by.partitions.len() as u64) > MOST_PARTITIONS as u64 {
        return Err(MysqlError::too_many_partitions());
    }
    Ok(())
}

fn check_values_shape(
    partition: &PartitionDefinition,
    valued: Option<(&'static str, &'static str, &PartitionKey)>,
) -> Result<(), MysqlError> {
    let given = match &partition.values {
        PartitionValues::None => None,
        PartitionValues::LessThan(_) => Some(("RANGE", "LESS THAN")),
        PartitionValues::In(_) => Some(("LIST", "IN")),
    };
    let (method, key) = match (given, valued) {
        (None, None) => return Ok(()),
        (Some((own, _)), Some((method, _, key))) if own == method => (method, key),
        (Some((own, words)), _) => return Err(MysqlError::partition_wrong_values(own, words)),
        (None, Some((method, words, _))) => {
            return Err(MysqlError::partition_requires_values(method, words));
        }
    };
    let width = match key {
        PartitionKey::Expression(_) => None,
        PartitionKey::Columns(columns) => Some(columns.len()),
    };
    if let PartitionValues::In(items) = &partition.values {
        let is_row = |item: &PartitionItem| matches!(item, PartitionItem::Row(_));
        if rows(partition).into_iter().flatten().any(|bound| *bound == PartitionBound::MaxValue) {
            return Err(MysqlError::maxvalue_in_values_in());
        }
        if width.is_none_or(|width| width == 1) && items.iter().any(is_row) {
            return Err(MysqlError::row_single_partition_field());
        }
        if width.is_some_and(|width| width > 1) && !items.iter().all(is_row) {
            return Err(MysqlError::partition_column_list());
        }
    }
    for row in rows(partition) {
        match width {
            None if row.len() > 1 => return Err(MysqlError::too_many_partition_values(method)),
            Some(width) if row.len() != width => return Err(MysqlError::partition_column_list()),
            _ => {}
        }
    }
    Ok(())
}

/// The columns that decide the partition of a row.
pub struct PartitionColumns {
    /// The columns, by position.
    columns: BTreeSet<usize>,
    /// These columns in the order in which they are compared.
    ordered: Vec<usize>,
    /// The function, if there is one.
    function: Option<Expr>,
    /// The types of the values of partitions, for RANGE and LIST.
    compared: Vec<Compared>,
}

/// The counterpart that one value of a partition is compared with.
struct Compared {
    part: KeyPart,
    /// The column's name; `None` for the value of an expression.
    column: Option<String>,
}

/// Checks the partition function, or the column list in its place.
///
/// # Errors
/// 1054 for an unknown column in an expression, 1488 in a list; 1486, 1491 and 1564 for expressions that are not allowed; 1502
/// and 1659 for types; 1652 and 1655 for lists of columns.
pub fn partition_columns(
    method: &PartitionMethod,
    spec: &TableSpec,
    context: &BindContext<'_>,
) -> Result<PartitionColumns, MysqlError> {
    let (text, names, is_key) = match method {
        PartitionMethod::Hash { expression, .. } => (Some(expression), None, false),
        PartitionMethod::Key { columns, .. } => (None, Some(columns), true),
        PartitionMethod::Range(key) | PartitionMethod::List(key) => match key {
            PartitionKey::Expression(text) => (Some(text), None, false),
            PartitionKey::Columns(columns) => (None, Some(columns), false),
        },
    };
    if let Some(text) = text {
        return function_columns(text, spec, context);
    }
    let names = names.map(Vec::as_slice).unwrap_or_default();
    if is_key && names.is_empty() {
        return unique_columns(spec);
    }
    if names.len() > MOST_COLUMNS {
        return Err(MysqlError::too_many_partition_fields("list of partition fields"));
    }
    listed_columns(names, is_key, spec)
}

fn listed_columns(names: &[Ident], is_key: bool, spec: &TableSpec) -> Result<PartitionColumns, MysqlError> {
    let mut found = PartitionColumns {
        columns: BTreeSet::new(),
        ordered: Vec::new(),
        function: None,
        compared: Vec::new(),
    };
    for name in names {
        let at = position(spec, &name.value).ok_or_else(MysqlError::partition_field_not_found)?;
        if !found.columns.insert(at) {
            return Err(MysqlError::same_name_partition_field(&name.value));
        }
        found.ordered.push(at);
        let column = &spec.columns[at];
        check_type(column, is_key)?;
        found.compared.push(Compared { part: key_part(column), column: Some(column.name.clone()) });
    }
    Ok(found)
}

/// Binds the partition function of a table before anybody looks for rows of it.
///
/// # Errors
/// The errors of the function; it was valid when the table was made.
pub fn bind_partition_function(table: &TableDef, context: &BindContext<'_>) -> Result<(), MysqlError> {
    let scheme = table.partitioning.as_ref().map(|partitioning| &partitioning.scheme);
    match scheme {
        Some(scheme) => bind_scheme(scheme, &table.columns, context),
        None => Ok(()),
    }
}

fn bind_scheme(
    scheme: &PartitionScheme,
    columns: &[ColumnDef],
    context: &BindContext<'_>,
) -> Result<(), MysqlError> {
    if let Some(text) = scheme.unbound_function() {
        scheme.bind(bound_partition_function(text, columns, context)?.0);
    }
    scheme.subdivision.as_ref().map_or(Ok(()), |below| bind_scheme(below, columns, context))
}

fn position(spec: &TableSpec, name: &str) -> Option<usize> {
    let is_named = |column: &ColumnDef| column.name.eq_ignore_ascii_case(name) && !column.is_hidden();
    spec.columns.iter().position(is_named)
}

fn key_part(column: &ColumnDef) -> KeyPart {
    KeyPart { collation: column.collation, nullable: true, ..KeyPart::new(column.ty.clone()) }
}

/// Returns the columns of KEY (): the primary key, else the first unique key without NULL.
fn unique_columns(spec: &TableSpec) -> Result<PartitionColumns, MysqlError> {
    let positions = |kind: IndexSpecKind| {
        let of_kind = spec.indexes.iter().filter(move |index| index.kind == kind);
        of_kind.map(|index| index.parts.iter().map(|part| position(spec, &part.column)).collect())
    };
    let never_null = |columns: &Option<BTreeSet<usize>>| {
        let null = |at: &usize| spec.columns.get(*at).is_none_or(|column| column.nullable);
        columns.as_ref().is_some_and(|columns| !columns.iter().any(null))
    };
    let primary: Option<BTreeSet<usize>> = positions(IndexSpecKind::Primary).next().flatten();
    let columns = primary.or_else(|| positions(IndexSpecKind::Unique).find(never_null).flatten());
    let columns = columns.ok_or_else(MysqlError::partition_field_not_found)?;
    for column in columns.iter().filter_map(|at| spec.columns.get(*at)) {
        check_type(column, true)?;
    }
    let ordered = columns.iter().copied().collect();
    Ok(PartitionColumns { columns, ordered, function: None, compared: Vec::new() })
}

/// Checks that a column may stand in a list of KEY, or of COLUMNS.
fn check_type(column: &ColumnDef, is_key: bool) -> Result<(), MysqlError> {
    let ty = &column.ty;
    if ty.is_large() || matches!(ty, SqlType::Json) {
        return Err(MysqlError::blob_in_partition_function());
    }
    let is_day = matches!(ty, SqlType::Date | SqlType::DateTime { .. } | SqlType::Time { .. });
    let is_other = ty.has_members() || matches!(ty, SqlType::Year | SqlType::Bit { .. });
    match is_key || !is_other && (ty.is_integer() || ty.is_string() || is_day) {
        true => Ok(()),
        false => Err(MysqlError::type_not_allowed_as_partition_field(&column.name)),
    }
}

fn function_columns(
    text: &str,
    spec: &TableSpec,
    context: &BindContext<'_>,
) -> Result<PartitionColumns, MysqlError> {
    let (expr, reads_variables) = bound_partition_function(text, &spec.columns, context)?;
    let columns = expr.columns();
    let written = parse_stored(text)?;
    if reads_variables {
        return Err(MysqlError::partition_function_not_allowed());
    }
    check_function(&written, spec)?;
    if columns.is_empty() {
        return Err(MysqlError::wrong_partition_function());
    }
    for column in columns.iter().filter_map(|at| spec.columns.get(*at)) {
        if column.ty.is_large() {
            return Err(MysqlError::blob_in_partition_function());
        }
        let is_number = column.ty.is_integer();
        if expr.as_column().is_some() && !is_number {
            return Err(MysqlError::type_not_allowed_as_partition_field(&column.name));
        }
    }
    if !expr.ty.sql.is_integer() {
        return Err(MysqlError::partition_function_wrong_type("PARTITION"));
    }
    let part = KeyPart { nullable: true, ..KeyPart::new(expr.ty.sql.clone()) };
    let (ordered, compared) = (columns.iter().copied().collect(), vec![Compared { part, column: None }]);
    Ok(PartitionColumns { columns, ordered, function: Some(expr), compared })
}

/// The column types that a date and time function may be applied to in a partition function.
enum Argument {
    Date,
    Time,
    DateTime,
    Timestamp,
    Any,
    /// No column: the result depends on a variable.
    Nothing,
}

impl Argument {
    fn of_function(name: &str) -> Argument {
        match name.to_ascii_lowercase().as_str() {
            "datediff" | "day" | "dayofmonth" | "dayofweek" | "dayofyear" | "month" | "quarter"
            | "to_days" | "to_seconds" | "weekday" | "year" | "yearweek" => Argument::Date,
            "hour" | "microsecond" | "minute" | "second" | "time_to_sec" => Argument::Time,
            "unix_timestamp" => Argument::Timestamp,
            _ => Argument::Any,
        }
    }

    fn of_extract(unit: IntervalUnit) -> Argument {
        use IntervalUnit as Unit;
        match unit {
            Unit::Year | Unit::Quarter | Unit::Month | Unit::Day | Unit::YearMonth => Argument::Date,
            Unit::Week => Argument::Nothing,
            Unit::DayHour | Unit::DayMinute | Unit::DaySecond | Unit::DayMicrosecond => Argument::DateTime,
            _ => Argument::Time,
        }
    }

    /// Whether the first argument is a column of such a type.
    fn accepts(&self, first: Option<&ast::Expr>, spec: &TableSpec) -> bool {
        let column = match first.map(|first| &first.kind) {
            Some(ExprKind::Column(name)) => position(spec, &name.column.value),
            _ => None,
        };
        let ty = column.and_then(|at| spec.columns.get(at)).map(|column| &column.ty);
        match self {
            Argument::Any => true,
            Argument::Nothing => false,
            Argument::Date => matches!(ty, Some(SqlType::Date | SqlType::DateTime { .. })),
            Argument::Time => matches!(ty, Some(SqlType::Time { .. } | SqlType::DateTime { .. })),
            Argument::DateTime => matches!(ty, Some(SqlType::DateTime { .. })),
            Argument::Timestamp => matches!(ty, Some(SqlType::Timestamp { .. })),
        }
    }
}

/// Checks that a partition function contains only allowed parts, and has one value in all time zones.
fn check_function(expr: &ast::Expr, spec: &TableSpec) -> Result<(), MysqlError> {
    let is_timestamp = |expr: &ast::Expr| match &expr.kind {
        ExprKind::Column(name) => {
            let column = position(spec, &name.column.value).and_then(|at| spec.columns.get(at));
            column.is_some_and(|column| matches!(column.ty, SqlType::Timestamp { .. }))
        }
        _ => false,
    };
    match &expr.kind {
        ExprKind::Literal(_) => Ok(()),
        ExprKind::Column(_) if is_timestamp(expr) => Err(MysqlError::wrong_partition_function()),
        ExprKind::Column(_) => Ok(()),
        ExprKind::Unary { op, operand } if *op != UnaryOp::BitNot => check_function(operand, spec),
        ExprKind::Binary { op, left, right } => {
            use BinaryOp::{Add, IntegerDivide, Modulo, Multiply, Subtract};
            if ![Add, Subtract, Multiply, IntegerDivide, Modulo].contains(op) {
                return Err(MysqlError::partition_function_not_allowed());
            }
            check_function(left, spec)?;
            check_function(right, spec)
        }
        ExprKind::Extract { unit, operand } => match Argument::of_extract(*unit).accepts(Some(operand), spec)
        {
            true => check_function(operand, spec),
            false => Err(MysqlError::wrong_partition_function()),
        },
        ExprKind::Function { name, args } if name.value.eq_ignore_ascii_case("unix_timestamp") => {
            match args.as_slice() {
                [arg] if is_timestamp(arg) => Ok(()),
                _ => Err(MysqlError::wrong_partition_function()),
            }
        }
        ExprKind::Function { name, args }
            if FUNCTIONS.iter().any(|f| f.eq_ignore_ascii_case(&name.value)) =>
        {
            args.iter().try_for_each(|arg| check_function(arg, spec))?;
            match Argument::of_function(&name.value).accepts(args.first(), spec) {
                true => Ok(()),
                false => Err(MysqlError::wrong_partition_function()),
            }
        }
        _ => Err(MysqlError::partition_function_not_allowed()),
    }
}

/// Checks the values of partitions, in the order of the partitions, and returns them in comparable form.
///
/// # Errors
/// 1481 for MAXVALUE in the middle, 1493 where ranges do not ascend, 1495 for a value in two lists, 1563, 1654 and 1697 for
/// values of another type, 1566 for NULL as the end of a range.
pub fn check_values(
    by: &PartitionBy,
    found: &PartitionColumns,
    mut partitions: Vec<PartitionSpec>,
    times: TimeSettings<'_>,
) -> Result<Vec<PartitionSpec>, MysqlError> {
    let is_range = matches!(by.method, PartitionMethod::Range(_));
    let last_at = partitions.len().saturating_sub(1);
    let mut last: Option<Vec<Key>> = None;
    let mut listed = BTreeSet::new();
    for (at, partition) in partitions.iter_mut().enumerate() {
        for row in &mut partition.values {
            if is_range && row.iter().any(|value| matches!(value, Some(Value::Null))) {
                return Err(MysqlError::null_in_values_less_than());
            }
            if found.function.is_some() && at < last_at && matches!(row.as_slice(), [None]) {
                return Err(MysqlError::partition_maxvalue());
            }
            let mut keys = Vec::with_capacity(row.len());
            for (value, with) in row.iter_mut().zip(&found.compared) {
                keys.push(key(value, with, &partition.name, times)?);
            }
            if is_range {
                // Values after MAXVALUE do not count.
                let counted = keys.iter().position(|key| *key == Key::Max).map_or(keys.len(), |max| max + 1);
                keys.truncate(counted);
                if last.as_ref().is_some_and(|last| *last >= keys) {
                    return Err(MysqlError::range_not_increasing());
                }
                last = Some(keys);
            } else if !listed.insert(keys) {
                return Err(MysqlError::multiple_definition_in_list());
            }
        }
    }
    Ok(partitions)
}

/// Makes the partitioning scheme of a checked clause.
///
/// # Errors
/// Fails if the clause was not checked.
pub fn scheme(
    method: &PartitionMethod,
    found: PartitionColumns,
    (partitions, listed): (Vec<PartitionSpec>, bool),
    spec: &TableSpec,
) -> Result<PartitionScheme, MysqlError> {
    let of_key = |key: &PartitionKey| match key {
        PartitionKey::Expression(text) => leafline_table::PartitionKey::Function(text.clone()),
        PartitionKey::Columns(_) => leafline_table::PartitionKey::Columns,
    };
    let (method, key) = match method {
        PartitionMethod::Range(key) => (Method::Range, of_key(key)),
        PartitionMethod::List(key) => (Method::List, of_key(key)),
        PartitionMethod::Hash { linear, expression } => {
            let key = leafline_table::PartitionKey::Function(expression.clone());
            (Method::Hash { linear: *linear }, key)
        }
        PartitionMethod::Key { linear, columns } => {
            let method = Method::Key { linear: *linear, implicit: columns.is_empty() };
            (method, leafline_table::PartitionKey::Columns)
        }
    };
    let scheme = PartitionScheme::new(method, key, found.ordered, (partitions, listed), &spec.columns)?;
    if let Some(function) = found.function {
        scheme.bind(function);
    }
    Ok(scheme)
}

/// Returns the table with only the partitions of these names; no names select all partitions.
///
/// # Errors
/// 1747 if the table has no partitions, 1735 for an unknown partition.
pub(crate) fn selected_partitions(
    table: Arc<TableDef>,
    names: &[Ident],
) -> Result<Arc<TableDef>, MysqlError> {
    if names.is_empty() {
        return Ok(table);
    }
    let Some(partitioning) = &table.partitioning else {
        return Err(MysqlError::partition_clause_on_nonpartitioned());
    };
    let mut selected = BTreeSet::new();
    for name in names {
        let numbers = partitioning.named(&name.value);
        selected.extend(numbers.ok_or_else(|| MysqlError::unknown_partition(&name.value, &table.name))?);
    }
    Ok(Arc::new(table.with_partitions(|number| selected.contains(&number))))
}

/// A value in a form that compares with other values of its position.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Bytes(Vec<u8>),
    Max,
}

/// Converts a value to the type that it is compared with.
fn key(
    bound: &mut BoundValue,
    with: &Compared,
    partition: &str,
    times: TimeSettings<'_>,
) -> Result<Key, MysqlError> {
    let Some(value) = bound else { return Ok(Key::Max) };
    let ty = &with.part.ty;
    let from = type_of(value);
    let wrong = || match with.column {
        Some(_) => MysqlError::wrong_type_of_column_value(),
        None => MysqlError::partition_value_is_not_int(partition),
    };
    let fits = match ty {
        _ if value.is_null() => true,
        ty if ty.is_integer() => from.is_integer(),
        ty if ty.is_temporal() => from.is_string() || from.is_temporal(),
        _ => from.is_string(),
    };
    if !fits {
        return Err(wrong());
    }
    let mut warnings = Warnings::new();
    let mut cx = StoreContext {
        column: with.column.as_deref().unwrap_or_default(),
        charset: with.part.collation.charset(),
        row: 1,
        strict: true,
        dates: times.dates,
        zone: times.zone,
        max_document: usize::MAX,
        warnings: &mut warnings,
    };
    let cast = store_cast(value, &from, ty, true, &mut cx).map_err(|_| match with.column {
        Some(_) => wrong(),
        None => MysqlError::partition_constant_domain(),
    })?;
    let mut bytes = Vec::new();
    encode_part(&with.part, &cast, &mut bytes).map_err(|_| wrong())?;
    *value = cast;
    Ok(Key::Bytes(bytes))
}

/// Checks that each partition, or subpartition, can verify the keys of the whole table alone.
///
/// # Errors
/// 1503 for a unique key without a partitioning column, 1506 for a foreign key.
pub fn check_keys(found: &PartitionColumns, spec: &TableSpec) -> Result<(), MysqlError> {
    for index in &spec.indexes {
        let what = match index.kind {
            IndexSpecKind::Primary => "PRIMARY KEY",
            IndexSpecKind::Unique => "UNIQUE INDEX",
            IndexSpecKind::Plain => continue,
        };
        let parts = index.parts.iter().filter(|part| part.prefix.is_none());
        let own: BTreeSet<usize> = parts.filter_map(|part| position(spec, &part.column)).collect();
        if !found.columns.is_subset(&own) {
            return Err(MysqlError::unique_key_needs_all_fields(what));
        }
    }
    match spec.foreign_keys.is_empty() {
        true => Ok(()),
        false => Err(MysqlError::foreign_key_on_partitioned()),
    }
}
