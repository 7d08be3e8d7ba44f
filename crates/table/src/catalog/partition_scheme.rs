//! A partition scheme: the method that divides rows, the columns or function that decide, and the values of the
//! partitions.
//!
//! Columns are compared by the bytes of their keys, with NULL below everything else, and partition functions by their
//! numbers. The values of partitions are stored twice: as they were written, for SHOW CREATE TABLE, and in the form
//! in which they are compared. A scheme with subpartitions has a second scheme, which divides every partition in the
//! same way. The tables of the subpartitions are numbered consecutively, partition by partition.

use super::column::ColumnDef;
use crate::error::{Result, TableError};
use leafline_expr::{EvalContext, Expr, SessionFacts, evaluate_row};
use leafline_types::temporal::DateTime;
use leafline_types::{CancelToken, KeyPart, MysqlError, Value, Warnings, encode_part, prefix_successor};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, OnceLock};

/// A value of a partition; `None` is MAXVALUE.
pub type BoundValue = Option<Value>;

/// Greater than the bytes of any nullable part of a key.
const ABOVE_ALL: u8 = 0xff;

/// The method that assigns rows to partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartitionMethod {
    /// The first partition whose end is above the row.
    Range,
    /// The partition whose list contains the row's value.
    List,
    /// By the value of the partition function.
    Hash {
        /// Whether partitions are numbered by powers of two, so that adding a partition divides only one.
        linear: bool,
    },
    /// By a hash of columns.
    Key {
        /// Like `linear` of HASH.
        linear: bool,
        /// Whether the statement named no columns, so that those of the primary key decide.
        implicit: bool,
    },
}

/// The part of a row that decides about its partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartitionKey {
    /// An expression over the columns of a row, as text.
    Function(String),
    /// The columns themselves.
    Columns,
}

/// The definition of a subpartition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SubpartitionSpec {
    /// Its name.
    pub name: String,
    /// Its comment.
    pub comment: String,
}

/// The definition of a partition.
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionSpec {
    /// Its name.
    pub name: String,
    /// Its comment.
    pub comment: String,
    /// The end of its range, as one row; or the rows of its list.
    pub values: Vec<Vec<BoundValue>>,
    /// Its subpartitions; empty if the table has none.
    pub subpartitions: Vec<SubpartitionSpec>,
}

impl PartitionSpec {
    /// A partition without a name, as a place of a [subdivision](PartitionScheme::subdivision).
    pub fn nameless() -> PartitionSpec {
        PartitionSpec {
            name: String::new(),
            comment: String::new(),
            values: Vec::new(),
            subpartitions: Vec::new(),
        }
    }
}

/// The way a table is divided.
#[derive(Clone, Debug)]
pub struct PartitionScheme {
    /// The method that assigns rows to partitions.
    pub method: PartitionMethod,
    /// The part of a row that decides.
    pub key: PartitionKey,
    /// The positions of the deciding columns: in the order in which they are compared, or as the function reads them.
    pub columns: Vec<usize>,
    /// The partitions, in order.
    pub partitions: Vec<PartitionSpec>,
    /// Whether the statement listed the partitions rather than giving only their number.
    pub listed: bool,
    /// The parts of a key of the deciding columns.
    pub parts: Vec<KeyPart>,
    /// The division of each partition by HASH or KEY, into as many subpartitions as this scheme has partitions.
    pub subdivision: Option<Arc<PartitionScheme>>,
    pub(crate) places: Places,
    function: OnceLock<Expr>,
}

/// The values of partitions in the form in which they are compared.
#[derive(Clone, Debug)]
pub(crate) enum Places {
    /// The ends of ranges of keys.
    KeyEnds(Vec<Vec<u8>>),
    /// The ends of ranges of numbers; `None` is above all.
    NumberEnds(Vec<Option<i128>>),
    /// The partition of each key.
    KeyLists(BTreeMap<Vec<u8>, usize>),
    /// The partition of each number, and of NULL.
    NumberLists(BTreeMap<Option<i128>, usize>),
    /// The number of partitions of HASH or KEY.
    Counted(usize),
}

impl PartialEq for PartitionScheme {
    fn eq(&self, other: &PartitionScheme) -> bool {
        (self.method, &self.key, &self.columns, &self.partitions, self.listed, &self.subdivision)
            == (other.method, &other.key, &other.columns, &other.partitions, other.listed, &other.subdivision)
    }
}

/// The key part of a column that decides about partitions.
fn key_part(column: &ColumnDef) -> KeyPart {
    KeyPart { collation: column.collation, nullable: true, ..KeyPart::new(column.ty.clone()) }
}

impl PartitionScheme {
    /// Makes a scheme for a table with these columns; `columns` are positions among them.
    ///
    /// # Errors
    /// `Corrupt` if the method does not allow these values. The statement that makes a table must check them before.
    pub fn new(
        method: PartitionMethod,
        key: PartitionKey,
        columns: Vec<usize>,
        (partitions, listed): (Vec<PartitionSpec>, bool),
        of_table: &[ColumnDef],
    ) -> Result<PartitionScheme> {
        let parts: Option<Vec<KeyPart>> = columns.iter().map(|at| of_table.get(*at).map(key_part)).collect();
        let parts = parts.ok_or_else(|| wrong("it names a column that is not there"))?;
        if partitions.is_empty() || columns.is_empty() {
            return Err(wrong("there are no partitions, or nothing that decides about them"));
        }
        let places = places(method, &key, &parts, &partitions)?;
        Ok(PartitionScheme {
            method,
            key,
            columns,
            partitions,
            listed,
            parts,
            subdivision: None,
            places,
            function: OnceLock::new(),
        })
    }

    /// Adds a subdivision of every partition by HASH or KEY.
    ///
    /// # Errors
    /// `Corrupt` if some partition has a different number of subpartitions.
    pub fn subdivided(self, subdivision: Option<PartitionScheme>) -> Result<PartitionScheme> {
        let count = subdivision.as_ref().map_or(0, |below| below.partitions.len());
        if self.partitions.iter().any(|partition| partition.subpartitions.len() != count) {
            return Err(wrong("a partition has more or fewer subpartitions than it should"));
        }
        Ok(PartitionScheme { subdivision: subdivision.map(Arc::new), ..self })
    }

    /// The number of tables that hold rows: one for each partition, or for each subpartition.
    pub fn tables(&self) -> usize {
        self.partitions.len() * self.tables_of_partition()
    }

    /// The number of tables that hold the rows of one partition.
    pub fn tables_of_partition(&self) -> usize {
        self.subdivision.as_ref().map_or(1, |below| below.partitions.len())
    }

    /// The columns that decide about the table of a row, in ascending order.
    pub fn deciding_columns(&self) -> BTreeSet<usize> {
        let below = self.subdivision.iter().flat_map(|below| below.columns.iter());
        self.columns.iter().chain(below).copied().collect()
    }

    /// Returns whether all partition functions are [bound](Self::bind).
    pub fn is_bound(&self) -> bool {
        self.unbound_function().is_none() && self.subdivision.as_ref().is_none_or(|below| below.is_bound())
    }

    /// Returns this scheme with other partitions. The method must have no subpartitions.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn with(&self, partitions: Vec<PartitionSpec>, listed: bool) -> Result<PartitionScheme> {
        let places = places(self.method, &self.key, &self.parts, &partitions)?;
        Ok(PartitionScheme { partitions, listed, places, ..self.clone() })
    }

    /// The text of the partition function if it has not been [bound](Self::bind) yet.
    pub fn unbound_function(&self) -> Option<&str> {
        match &self.key {
            PartitionKey::Function(text) if self.function.get().is_none() => Some(text),
            _ => None,
        }
    }

    /// Binds the partition function, an expression over the columns of a row. It means the same in every session.
    pub fn bind(&self, function: Expr) {
        // Another thread may have bound it first, to the same expression.
        let _ = self.function.set(function);
    }

    /// Returns whether a partition function decides.
    pub fn has_function(&self) -> bool {
        matches!(self.key, PartitionKey::Function(_))
    }

    /// Compares the end of a partition's range with that of a partition of another scheme for the same table.
    pub fn compare_ends(&self, number: usize, other: &PartitionScheme, of_other: usize) -> Ordering {
        match (&self.places, &other.places) {
            (Places::KeyEnds(own), Places::KeyEnds(theirs)) => own.get(number).cmp(&theirs.get(of_other)),
            (Places::NumberEnds(own), Places::NumberEnds(theirs)) => {
                // MAXVALUE is above every number.
                let end = |end: Option<&Option<i128>>| match end {
                    Some(Some(number)) => (false, *number),
                    _ => (true, 0),
                };
                end(own.get(number)).cmp(&end(theirs.get(of_other)))
            }
            _ => Ordering::Equal,
        }
    }

    /// The columns that ascend from each partition to the next, if the division is by ranges of columns.
    pub fn ranges_of_columns(&self) -> Option<&[usize]> {
        let plain = match self.key {
            PartitionKey::Columns => true,
            PartitionKey::Function(_) => self.function.get().is_some_and(|f| f.as_column().is_some()),
        };
        // Rows do not ascend from subpartition to subpartition.
        let ascend = self.method == PartitionMethod::Range && self.subdivision.is_none();
        (ascend && plain).then_some(&self.columns)
    }

    /// The partition function, which must be bound.
    pub(crate) fn function(&self) -> Result<&Expr> {
        let function = self.function.get();
        function.ok_or_else(|| TableError::Internal("a partition function that was not bound".into()))
    }

    /// The number of the table that a row belongs to: of its partition, or of its subpartition among the
    /// subpartitions of all partitions.
    ///
    /// # Errors
    /// 1526 if there is none, and errors of the partition functions.
    pub fn table_of(&self, row: &[Value]) -> Result<usize> {
        let partition = self.partition_of(row)?;
        match &self.subdivision {
            None => Ok(partition),
            Some(below) => Ok(partition * below.partitions.len() + below.partition_of(row)?),
        }
    }

    /// The position of the partition that a row belongs to.
    fn partition_of(&self, row: &[Value]) -> Result<usize> {
        if self.has_function() {
            let number = self.number_of(row)?;
            return self.partition_of_number(number).ok_or_else(|| {
                let text = number.map_or_else(|| "NULL".to_owned(), |number| number.to_string());
                MysqlError::no_partition_for_value(text).into()
            });
        }
        let key = self.key_of(row)?;
        self.partition_of_key(&key)
            .ok_or_else(|| MysqlError::no_partition_for_value("from column_list").into())
    }

    /// The value of the partition function for a row; `None` for NULL.
    pub(crate) fn number_of(&self, row: &[Value]) -> Result<Option<i128>> {
        let function = self.function()?;
        let number = match function.as_column() {
            Some(column) => row.get(column).and_then(number),
            None => number(&evaluated(function, row)?),
        };
        Ok(number)
    }

    /// The key of the deciding columns of a row.
    pub(crate) fn key_of(&self, row: &[Value]) -> Result<Vec<u8>> {
        let mut key = Vec::new();
        for (part, column) in self.parts.iter().zip(&self.columns) {
            encode_part(part, &row[*column], &mut key)?;
        }
        Ok(key)
    }

    pub(crate) fn partition_of_number(&self, number: Option<i128>) -> Option<usize> {
        match &self.places {
            // NULL is less than any number.
            Places::NumberEnds(ends) => {
                let is_before = |end: &Option<i128>| match (end, number) {
                    (Some(end), Some(number)) => *end <= number,
                    _ => false,
                };
                Some(ends.partition_point(is_before)).filter(|at| *at < ends.len())
            }
            Places::NumberLists(lists) => lists.get(&number).copied(),
            Places::Counted(count) => Some(self.hashed(number.unwrap_or(0).unsigned_abs(), *count)),
            Places::KeyEnds(_) | Places::KeyLists(_) => None,
        }
    }

    pub(crate) fn partition_of_key(&self, key: &[u8]) -> Option<usize> {
        match &self.places {
            Places::KeyEnds(ends) => {
                let at = ends.partition_point(|end| end.as_slice() <= key);
                Some(at).filter(|at| *at < ends.len())
            }
            Places::KeyLists(lists) => lists.get(key).copied(),
            Places::Counted(count) => Some(self.hashed(crc32c::crc32c(key).into(), *count)),
            Places::NumberEnds(_) | Places::NumberLists(_) => None,
        }
    }

    /// The partition for a hash. The linear method takes as many bits as are needed to number all partitions, and one
    /// bit less if the number is not that of a partition.
    fn hashed(&self, hash: u128, count: usize) -> usize {
        let linear = matches!(
            self.method,
            PartitionMethod::Hash { linear: true } | PartitionMethod::Key { linear: true, .. }
        );
        if !linear {
            return (hash % count.max(1) as u128) as usize;
        }
        let mask = count.next_power_of_two() - 1;
        let found = (hash & mask as u128) as usize;
        if found < count { found } else { found & (mask >> 1) }
    }
}

fn wrong(what: &str) -> TableError {
    TableError::Corrupt(format!("a partitioning: {what}"))
}

fn number(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some((*number).into()),
        Value::UInt(number) => Some((*number).into()),
        _ => None,
    }
}

/// Evaluates a partition function for a row. It depends on the row alone, and its warnings are dropped.
fn evaluated(function: &Expr, row: &[Value]) -> Result<Value> {
    static NOBODY: LazyLock<SessionFacts> = LazyLock::new(SessionFacts::default);
    static NEVER: LazyLock<CancelToken> = LazyLock::new(CancelToken::default);
    let mut warnings = Warnings::new();
    let any = DateTime::from_epoch_micros(0);
    let now = any.ok_or_else(|| TableError::Internal("a moment that is none".into()))?;
    let mut cx = EvalContext::new(now, &NOBODY, &mut warnings, &NEVER);
    Ok(evaluate_row(function, row, &mut cx)?)
}

/// The values of partitions in the form in which they are compared.
fn places(
    method: PartitionMethod,
    key: &PartitionKey,
    parts: &[KeyPart],
    partitions: &[PartitionSpec],
) -> Result<Places> {
    let bytes = |row: &[BoundValue]| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for (part, value) in parts.iter().zip(row) {
            match value {
                Some(value) => encode_part(part, value, &mut bytes)?,
                // MAXVALUE comes after all keys that begin with the parts before it.
                None => {
                    bytes = prefix_successor(&bytes).unwrap_or_else(|| vec![ABOVE_ALL]);
                    break;
                }
            }
        }
        Ok(bytes)
    };
    let of_function = matches!(key, PartitionKey::Function(_));
    let single = |row: &Vec<BoundValue>| match row.as_slice() {
        [Some(value)] => Ok(number(value)),
        [None] => Ok(None),
        _ => Err(wrong("a value of several columns for one")),
    };
    Ok(match method {
        PartitionMethod::Range => {
            let end = |spec: &PartitionSpec| {
                spec.values.first().cloned().ok_or_else(|| wrong("a range without an end"))
            };
            let ends = partitions.iter().map(end).collect::<Result<Vec<_>>>()?;
            match of_function {
                true => Places::NumberEnds(ends.iter().map(single).collect::<Result<_>>()?),
                false => Places::KeyEnds(ends.iter().map(|end| bytes(end)).collect::<Result<_>>()?),
            }
        }
        PartitionMethod::List => {
            let rows = partitions
                .iter()
                .enumerate()
                .flat_map(|(at, spec)| spec.values.iter().map(move |row| (row, at)));
            match of_function {
                true => {
                    Places::NumberLists(rows.map(|(row, at)| Ok((single(row)?, at))).collect::<Result<_>>()?)
                }
                false => {
                    Places::KeyLists(rows.map(|(row, at)| Ok((bytes(row)?, at))).collect::<Result<_>>()?)
                }
            }
        }
        PartitionMethod::Hash { .. } | PartitionMethod::Key { .. } => Places::Counted(partitions.len()),
    })
}
