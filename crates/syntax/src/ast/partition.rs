//! PARTITION BY: how a table is divided, as it is written.

use super::{Ident, TableName};
use leafline_types::words::CheckDepth;

/// `PARTITION BY method [PARTITIONS n] [(partition, ..)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionBy {
    /// How the partition of a row is found.
    pub method: PartitionMethod,
    /// PARTITIONS.
    pub count: Option<u64>,
    /// SUBPARTITION BY.
    pub below: Option<SubpartitionBy>,
    /// The partitions, where they are listed.
    pub partitions: Vec<PartitionDefinition>,
}

/// `SUBPARTITION BY method [SUBPARTITIONS n]`.
#[derive(Debug, Clone, PartialEq)]
pub struct SubpartitionBy {
    /// How the subpartition of a row is found: HASH or KEY.
    pub method: PartitionMethod,
    /// SUBPARTITIONS; none where they are listed, or one.
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

/// How the partition of a row is found.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionMethod {
    /// `[LINEAR] HASH (expression)`.
    Hash {
        /// With LINEAR.
        linear: bool,
        /// The text of the expression.
        expression: String,
    },
    /// `[LINEAR] KEY (columns)`.
    Key {
        /// With LINEAR.
        linear: bool,
        /// The columns; none for those of the primary key.
        columns: Vec<Ident>,
    },
    /// `RANGE (expression)` or `RANGE COLUMNS (columns)`.
    Range(PartitionKey),
    /// `LIST (expression)` or `LIST COLUMNS (columns)`.
    List(PartitionKey),
}

/// What the values of partitions are compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionKey {
    /// The text of an expression.
    Expression(String),
    /// COLUMNS.
    Columns(Vec<Ident>),
}

/// A partition.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionDefinition {
    /// The name.
    pub name: Ident,
    /// Which rows it holds.
    pub values: PartitionValues,
    /// COMMENT.
    pub comment: String,
    /// ENGINE.
    pub engine: Option<Ident>,
    /// The subpartitions, where they are listed.
    pub subpartitions: Vec<SubpartitionDefinition>,
}

/// Which rows a partition holds.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionValues {
    /// Not said.
    None,
    /// `VALUES LESS THAN (bound, ..)`, or `VALUES LESS THAN MAXVALUE`.
    LessThan(Vec<PartitionBound>),
    /// `VALUES IN (value, ..)`: each value one bound, or those of a row.
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

/// A value of a partition.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionBound {
    /// MAXVALUE.
    MaxValue,
    /// The text of an expression without columns.
    Value(String),
}

/// An action of ALTER TABLE about partitions.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionAction {
    /// PARTITION BY.
    By(PartitionBy),
    /// REMOVE PARTITIONING.
    Remove,
    /// ADD PARTITION (definitions).
    Add(Vec<PartitionDefinition>),
    /// ADD PARTITION PARTITIONS.
    AddCount(u64),
    /// COALESCE PARTITION.
    Coalesce(u64),
    /// DROP PARTITION.
    Drop(Vec<Ident>),
    /// TRUNCATE PARTITION; `None`: ALL.
    Truncate(Option<Vec<Ident>>),
    /// REBUILD PARTITION; `None`: ALL.
    Rebuild(Option<Vec<Ident>>),
    /// REORGANIZE PARTITION .. INTO.
    Reorganize {
        /// Those that are replaced.
        names: Vec<Ident>,
        /// What replaces them.
        into: Vec<PartitionDefinition>,
    },
    /// EXCHANGE PARTITION .. WITH TABLE.
    Exchange {
        /// The partition.
        name: Ident,
        /// The table.
        table: TableName,
        /// Without WITHOUT VALIDATION.
        validates: bool,
    },
}

/// `ALTER TABLE .. {ANALYZE | CHECK | OPTIMIZE | REPAIR} PARTITION`: what is done for tables, for some partitions of one. It gives rows.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionMaintenance {
    /// The table.
    pub table: TableName,
    /// What is done.
    pub operation: PartitionOperation,
    /// The partitions; `None`: ALL.
    pub names: Option<Vec<Ident>>,
}

/// What can be done for partitions as for tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionOperation {
    /// ANALYZE.
    Analyze,
    /// CHECK, and how thoroughly.
    Check(CheckDepth),
    /// OPTIMIZE.
    Optimize,
    /// REPAIR.
    Repair,
}
