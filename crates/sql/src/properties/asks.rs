//! The privileges that a statement asks for before it is bound or run.

use leafline_syntax::ast::{
    AlterTable, CreateTable, CreateTableLike, CreateView, DropProgram, FlushItem, Ident, LoadIndex, SetItem,
    Show, TableLock, TableName, UserOptions, UserSpec,
};
use leafline_syntax::{Privilege, Privileges};

/// What a statement asks for before it is bound or run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asks<'s> {
    /// Nothing: the binder asks for each table, the statement asks when it knows the names, or it is about its session alone.
    Nothing,
    /// One of these global privileges.
    Any(&'static [Privilege]),
    /// A privilege on a database; without a name on the current one.
    Database(Privilege, Option<&'s Ident>),
    /// Privileges on tables. Temporary tables of the session are free.
    Tables(Privileges, &'s [TableName]),
    /// Privileges on names, whatever temporary tables there are.
    Names(Privileges, &'s [TableName]),
    /// CREATE TABLE.
    NewTable(&'s CreateTable),
    /// CREATE TABLE .. LIKE.
    CopiedTable(&'s CreateTableLike),
    /// CREATE VIEW and ALTER VIEW.
    NewView(&'s CreateView),
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
    /// ADVISE on the statements of everybody.
    Advice,
    /// SHOW.
    Show(&'s Show),
    /// Any privilege on a table whose columns are shown.
    Columns(&'s TableName),
    /// SET.
    Settings(&'s [SetItem]),
    /// FLUSH.
    Flush(&'s [FlushItem]),
    /// ALTER USER.
    AlteredUsers(&'s [UserSpec], UserOptions),
    /// LOCK TABLES.
    LockedTables(&'s [TableLock]),
    /// PROCESS, for a connection of another user.
    Connection(u64),
}
