//! PARTITION BY: a table's division into partitions, as it was written.

use super::{Ident, TableName};
use leafline_types::words::CheckDepth;

/// `PARTITION BY method [PARTITIONS n] [(partition, ..)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionBy {
    /// The rule that assigns rows to partitions.
    pub method: PartitionMethod,
    /// PARTITIONS: how many there are.
    pub count: Option<u64>,
    /// SUBPARTITION BY.
    pub below: Option<SubpartitionBy>,
    /// The partitions, if they are listed; else empty.
    pub partitions: Vec<PartitionDefinition>,
}

/// `SUBPARTITION BY method [SUBPARTITIONS n]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SubpartitionBy {
    /// The rule that assigns rows to subpartitions: HASH or KEY.
    pub method: PartitionMethod,
    /// SUBPARTITIONS: how many each partition has; `None` if they are listed, or if there is one.
    pub count: Option<u64>,
}

/// A subpartition.
#[derive(Debug, Clone, PartialEq)]
pub struct SubpartitionDefinition {
    /// The name.
    pub name: Ident,
    /// COMMENT.
    pub comment: String,
    /// ENGINE.
    pub engine: Option<Ident>,
}

/// A rule that assigns rows to partitions.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionMethod {
    /// `[LINEAR] HASH (expression)`.
    Hash {
        /// Whether LINEAR was written.
        linear: bool,
        /// The text of the expression.
        expression: String,
    },
    /// `[LINEAR] KEY (columns)`.
    Key {
        /// Whether LINEAR was written.
        linear: bool,
        /// The columns; empty for the columns of the primary key.
        columns: Vec<Ident>,
    },
    /// `RANGE (expression)` or `RANGE COLUMNS (columns)`.
    Range(PartitionKey),
    /// `LIST (expression)` or `LIST COLUMNS (columns)`.
    List(PartitionKey),
}

/// The expression or columns that the values of partitions are compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionKey {
    /// The text of an expression.
    Expression(String),
    /// COLUMNS: the columns.
    Columns(Vec<Ident>),
}

/// A partition.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionDefinition {
    /// The name.
    pub name: Ident,
    /// The rule for the rows that the partition holds.
    pub values: PartitionValues,
    /// COMMENT.
    pub comment: String,
    /// ENGINE.
    pub engine: Option<Ident>,
    /// The subpartitions, if they are listed; else empty.
    pub subpartitions: Vec<SubpartitionDefinition>,
}

/// The VALUES clause: which rows a partition holds.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionValues {
    /// No VALUES clause.
    None,
    /// `VALUES LESS THAN (bound, ..)`, or `VALUES LESS THAN MAXVALUE`.
    LessThan(Vec<PartitionBound>),
    /// `VALUES IN (value, ..)`: each item is one value, or a row of values.
    In(Vec<PartitionItem>),
}

/// An item of `VALUES IN`.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionItem {
    /// A value.
    Value(PartitionBound),
    /// `(value, ..)`.
    Row(Vec<PartitionBound>),
}

/// A value of a VALUES clause.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionBound {
    /// MAXVALUE.
    MaxValue,
    /// The text of an expression without columns.
    Value(String),
}

/// An action of ALTER TABLE on partitions.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionAction {
    /// PARTITION BY.
    By(PartitionBy),
    /// REMOVE PARTITIONING.
    Remove,
    /// ADD PARTITION (definitions).
    Add(Vec<PartitionDefinition>),
    /// ADD PARTITION PARTITIONS: how many to add.
    AddCount(u64),
    /// COALESCE PARTITION: how many to remove.
    Coalesce(u64),
    /// DROP PARTITION.
    Drop(Vec<Ident>),
    /// TRUNCATE PARTITION; `None`: ALL.
    Truncate(Option<Vec<Ident>>),
    /// REBUILD PARTITION; `None`: ALL.
    Rebuild(Option<Vec<Ident>>),
    /// REORGANIZE PARTITION .. INTO.
    Reorganize {
        /// The partitions replaced.
        names: Vec<Ident>,
        /// The partitions that replace them.
        into: Vec<PartitionDefinition>,
    },
    /// EXCHANGE PARTITION .. WITH TABLE.
    Exchange {
        /// The partition.
        name: Ident,
        /// The table.
        table: TableName,
        /// Whether rows are validated: WITHOUT VALIDATION was not written.
        validates: bool,
    },
}

/// `ALTER TABLE .. {ANALYZE | CHECK | OPTIMIZE | REPAIR} PARTITION`: maintenance of some partitions of a table. The
/// statement returns rows.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionMaintenance {
    /// The table.
    pub table: TableName,
    /// The maintenance to do.
    pub operation: PartitionOperation,
    /// The partitions; `None`: ALL.
    pub names: Option<Vec<Ident>>,
}

/// The kinds of maintenance of tables and partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionOperation {
    /// ANALYZE.
    Analyze,
    /// CHECK, with its depth.
    Check(CheckDepth),
    /// OPTIMIZE.
    Optimize,
    /// REPAIR.
    Repair,
}
