//! The privileges that a statement needs before it is bound or run.

use leafline_syntax::ast::{
    AlterProgram, AlterTable, CreateProgram, CreateTable, CreateTableLike, CreateView, DropProgram,
    FlushItem, Ident, LoadIndex, SetItem, Show, TableLock, TableName, UserOptions, UserSpec,
};
use leafline_syntax::{Privilege, Privileges};

/// The privileges that a statement needs before it is bound or run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asks<'s> {
    /// None: the binder checks each table, or the statement checks once it knows the names, or it concerns
    /// its session alone.
    Nothing,
    /// At least one of these global privileges.
    Any(&'static [Privilege]),
    /// A privilege on a database; without a name on the current one.
    Database(Privilege, Option<&'s Ident>),
    /// Privileges on tables. The session's temporary tables need none.
    Tables(Privileges, &'s [TableName]),
    /// Privileges on names, even if they name temporary tables.
    Names(Privileges, &'s [TableName]),
    /// CREATE TABLE.
    NewTable(&'s CreateTable),
    /// CREATE TABLE .. LIKE.
    CopiedTable(&'s CreateTableLike),
    /// CREATE VIEW and ALTER VIEW.
    NewView(&'s CreateView),
    /// CREATE of a stored program.
    NewProgram(&'s CreateProgram),
    /// ALTER of a stored program.
    AlteredProgram(&'s AlterProgram),
    /// DROP of a stored program.
    Program(&'s DropProgram),
    /// ALTER TABLE.
    AlteredTable(&'s AlterTable),
    /// RENAME TABLE, from and to.
    Renamed(&'s [(TableName, TableName)]),
    /// EXPORT TABLE.
    ExportedTable(&'s TableName),
    /// LOAD INDEX INTO CACHE.
    CachedIndexes(&'s [LoadIndex]),
    /// ADVISE on the statements of all sessions.
    Advice,
    /// SHOW.
    Show(&'s Show),
    /// Any privilege on the table whose columns are shown.
    Columns(&'s TableName),
    /// SET.
    Settings(&'s [SetItem]),
    /// FLUSH.
    Flush(&'s [FlushItem]),
    /// ALTER USER.
    AlteredUsers(&'s [UserSpec], &'s UserOptions),
    /// LOCK TABLES.
    LockedTables(&'s [TableLock]),
    /// A privilege on the table of installed components.
    Components(Privilege),
    /// PROCESS, if the connection belongs to another user.
    Connection(u64),
}
