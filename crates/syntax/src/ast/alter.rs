//! ALTER TABLE and what is a form of it: CREATE INDEX, DROP INDEX, RENAME TABLE.

use super::{
    CheckDefinition, ColumnDefinition, DefaultValue, ForeignKeyDefinition, Ident, KeyDefinition,
    PartitionAction, TableName, TableOptions,
};

/// `ALTER TABLE name action, ..`; CREATE INDEX and DROP INDEX are of one action.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    /// The table.
    pub table: TableName,
    /// What to do, in order; there may be nothing.
    pub actions: Vec<AlterAction>,
    /// ALGORITHM.
    pub algorithm: AlterAlgorithm,
    /// LOCK.
    pub lock: AlterLock,
}

/// `ALGORITHM =`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlterAlgorithm {
    /// DEFAULT: whatever is quickest.
    #[default]
    Default,
    /// INSTANT: nothing but the definition is changed.
    Instant,
    /// INPLACE: rows are not converted.
    Inplace,
    /// COPY: the table is built anew.
    Copy,
}

/// `LOCK =`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlterLock {
    /// DEFAULT: as little as possible.
    #[default]
    Default,
    /// NONE: the table is read and written meanwhile.
    None,
    /// SHARED: it is read meanwhile.
    Shared,
    /// EXCLUSIVE.
    Exclusive,
}

/// Where a column is put.
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
    /// CHANGE COLUMN; MODIFY COLUMN where the column keeps its name.
    ChangeColumn {
        /// The column.
        name: Ident,
        /// As it is to be.
        column: Box<ColumnDefinition>,
        /// Where to put it.
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
    /// DROP CONSTRAINT: of whatever kind.
    DropConstraint(Ident),
    /// ALTER CHECK ENFORCED, or NOT ENFORCED.
    EnforceCheck(Ident, bool),
    /// The same with ALTER CONSTRAINT.
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
    /// ORDER BY columns, with whether they descend.
    OrderBy(Vec<(Ident, bool)>),
    /// FORCE.
    Force,
    /// ENABLE KEYS, DISABLE KEYS.
    EnableKeys(bool),
    /// Something about partitions.
    Partitions(Box<PartitionAction>),
}

/// `RENAME TABLE a TO b, c TO d`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenameTable {
    /// Old and new names, in order.
    pub tables: Vec<(TableName, TableName)>,
}
