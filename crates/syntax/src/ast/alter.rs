//! ALTER TABLE, and the statements that do the same: CREATE INDEX, DROP INDEX, RENAME TABLE.

use super::{
    CheckDefinition, ColumnDefinition, DefaultValue, ForeignKeyDefinition, Ident, KeyDefinition,
    PartitionAction, TableName, TableOptions,
};

/// `ALTER TABLE name action, ..`. CREATE INDEX and DROP INDEX arrive as an ALTER TABLE with one action.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    /// The table.
    pub table: TableName,
    /// The actions, in order; may be empty.
    pub actions: Vec<AlterAction>,
    /// ALGORITHM.
    pub algorithm: AlterAlgorithm,
    /// LOCK.
    pub lock: AlterLock,
}

/// The ALGORITHM option: how a table is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlterAlgorithm {
    /// DEFAULT: the quickest way possible.
    #[default]
    Default,
    /// INSTANT: only the table's definition changes.
    Instant,
    /// INPLACE: rows stay as they are.
    Inplace,
    /// COPY: the table is built anew.
    Copy,
}

/// The LOCK option: what other sessions may do to the table meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlterLock {
    /// DEFAULT: the weakest lock possible.
    #[default]
    Default,
    /// NONE: others read and write the table.
    None,
    /// SHARED: others read the table.
    Shared,
    /// EXCLUSIVE: others wait.
    Exclusive,
}

/// The place of a column in its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnPosition {
    /// FIRST.
    First,
    /// AFTER a column.
    After(Ident),
}

/// One action of ALTER TABLE.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    /// ADD COLUMN.
    AddColumn(Box<ColumnDefinition>, Option<ColumnPosition>),
    /// DROP COLUMN.
    DropColumn(Ident),
    /// CHANGE COLUMN, and MODIFY COLUMN, which keeps the column's name.
    ChangeColumn {
        /// The column.
        name: Ident,
        /// Its new definition.
        column: Box<ColumnDefinition>,
        /// Its new place; `None` leaves it where it is.
        position: Option<ColumnPosition>,
    },
    /// RENAME COLUMN.
    RenameColumn {
        /// The column.
        name: Ident,
        /// Its new name.
        to: Ident,
    },
    /// ALTER COLUMN SET DEFAULT, or DROP DEFAULT.
    SetDefault(Ident, Option<DefaultValue>),
    /// ALTER COLUMN SET VISIBLE, or INVISIBLE.
    SetVisible(Ident, bool),
    /// ADD INDEX, ADD UNIQUE, ADD PRIMARY KEY.
    AddKey(KeyDefinition),
    /// DROP INDEX name, DROP KEY name, DROP PRIMARY KEY (name `PRIMARY`).
    DropKey(Ident),
    /// RENAME INDEX.
    RenameKey {
        /// The index.
        name: Ident,
        /// Its new name.
        to: Ident,
    },
    /// ALTER INDEX VISIBLE, or INVISIBLE.
    SetKeyVisible(Ident, bool),
    /// ALTER INDEX PACKED, or NOT PACKED.
    SetKeyPacked(Ident, bool),
    /// ADD CHECK.
    AddCheck(CheckDefinition),
    /// DROP CHECK.
    DropCheck(Ident),
    /// DROP CONSTRAINT: drops a constraint of any kind.
    DropConstraint(Ident),
    /// ALTER CHECK ENFORCED, or NOT ENFORCED.
    EnforceCheck(Ident, bool),
    /// ALTER CONSTRAINT ENFORCED, or NOT ENFORCED.
    EnforceConstraint(Ident, bool),
    /// ADD FOREIGN KEY.
    AddForeignKey(Box<ForeignKeyDefinition>),
    /// DROP FOREIGN KEY.
    DropForeignKey(Ident),
    /// RENAME TO.
    Rename(TableName),
    /// Table options.
    Options(TableOptions),
    /// CONVERT TO CHARACTER SET.
    Convert {
        /// The character set; `None` for DEFAULT.
        charset: Option<Ident>,
        /// COLLATE.
        collation: Option<Ident>,
    },
    /// ORDER BY: the columns, each with whether it descends.
    OrderBy(Vec<(Ident, bool)>),
    /// FORCE.
    Force,
    /// ENABLE KEYS, DISABLE KEYS.
    EnableKeys(bool),
    /// An action on partitions.
    Partitions(Box<PartitionAction>),
}

/// `RENAME TABLE a TO b, c TO d`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenameTable {
    /// Old and new names, in order.
    pub tables: Vec<(TableName, TableName)>,
}
