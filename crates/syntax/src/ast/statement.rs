//! Statements, and the administrative statements in full.

use super::{
    AccountName, AlterDatabase, AlterProgram, AlterTable, Call, ComponentStatement, CreateDatabase,
    CreateProgram, CreateTable, CreateTableLike, CreateView, Delete, DropDatabase, DropProgram, DropTable,
    DropView, Expr, GetDiagnostics, Grant, Handler, Ident, Insert, Into, KeyDefinition, Load,
    PartitionMaintenance, ProgramKind, Query, RenameTable, ResourceGroupStatement, Revoke, RoleStatement,
    Signal, StatementHints, TableName, Update, UserOptions, UserSpec, VariableScope,
};
use leafline_types::words::CheckDepth;

/// One parsed statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// The statement's kind, with its parts.
    pub kind: StatementKind,
    /// The number of `?` parameters in it.
    pub parameters: usize,
    /// Whether an expression of it contains `@name := value`.
    pub assigns_variables: bool,
    /// The optimizer hints that apply to the whole statement.
    pub hints: StatementHints,
}

/// The kinds of statements.
#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    /// A query.
    Query(Box<Query>),
    /// INSERT.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// CREATE DATABASE.
    CreateDatabase(CreateDatabase),
    /// ALTER DATABASE.
    AlterDatabase(AlterDatabase),
    /// DROP DATABASE.
    DropDatabase(DropDatabase),
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// CREATE TABLE .. LIKE.
    CreateTableLike(CreateTableLike),
    /// CREATE VIEW and ALTER VIEW.
    CreateView(Box<CreateView>),
    /// DROP VIEW.
    DropView(DropView),
    /// CREATE PROCEDURE, FUNCTION, TRIGGER or EVENT.
    CreateProgram(Box<CreateProgram>),
    /// ALTER PROCEDURE, FUNCTION or EVENT.
    AlterProgram(AlterProgram),
    /// DROP PROCEDURE, FUNCTION, TRIGGER or EVENT.
    DropProgram(DropProgram),
    /// CALL.
    Call(Call),
    /// SIGNAL and RESIGNAL.
    Signal(Box<Signal>),
    /// GET DIAGNOSTICS.
    GetDiagnostics(GetDiagnostics),
    /// DROP TABLE.
    DropTable(DropTable),
    /// CREATE INDEX.
    CreateIndex(Box<AlterTable>),
    /// CREATE INDEX .. HYPOTHETICAL.
    CreateHypotheticalIndex(TableName, Box<KeyDefinition>),
    /// DROP INDEX.
    DropIndex(Box<AlterTable>),
    /// ALTER TABLE.
    AlterTable(Box<AlterTable>),
    /// ALTER TABLE .. PARTITION with ANALYZE, CHECK, OPTIMIZE or REPAIR, which returns rows.
    MaintainPartitions(Box<PartitionMaintenance>),
    /// `EXPORT TABLE table INTO 'file'`.
    ExportTable {
        /// The table.
        table: TableName,
        /// The file.
        path: String,
    },
    /// `IMPORT TABLE [table] FROM 'file'`.
    ImportTable {
        /// The new table's name; `None` takes the name in the file, in the current database.
        table: Option<TableName>,
        /// The file.
        path: String,
    },
    /// `BACKUP DATABASE TO 'directory' [INCREMENTAL FROM 'directory']`.
    Backup {
        /// The directory written.
        path: String,
        /// The backup that this one adds to; `None` for a full backup.
        parent: Option<String>,
    },
    /// RENAME TABLE.
    RenameTable(RenameTable),
    /// `TRUNCATE [TABLE]`.
    Truncate(TableName),
    /// ANALYZE TABLE.
    AnalyzeTable(Vec<TableName>),
    /// OPTIMIZE TABLE.
    OptimizeTable(Vec<TableName>),
    /// ANALYZE TABLE .. HISTOGRAM.
    AnalyzeHistogram(AnalyzeHistogram),
    /// CHECK TABLE, with its depth.
    CheckTable(Vec<TableName>, CheckDepth),
    /// LOAD INDEX INTO CACHE.
    LoadIndex(Vec<LoadIndex>),
    /// CHECKSUM TABLE.
    ChecksumTable {
        /// The tables.
        tables: Vec<TableName>,
        /// QUICK: answers only what is known without reading the tables.
        quick: bool,
    },
    /// `ADVISE [VERIFY] [FROM 'text' | @variable]`.
    Advise {
        /// The source of the statements; `None` takes the statements that were run.
        workload: Option<PrepareSource>,
        /// VERIFY.
        verify: bool,
    },
    /// REPAIR TABLE.
    RepairTable(Vec<TableName>),
    /// EXPLAIN of a statement.
    Explain(Explain),
    /// LOAD DATA.
    Load(Box<Load>),
    /// `SELECT .. INTO`.
    SelectInto {
        /// The query.
        query: Box<Query>,
        /// The place its rows go to.
        into: Into,
    },
    /// SHOW.
    Show(Box<Show>),
    /// `EXPLAIN FOR CONNECTION number`.
    ExplainConnection {
        /// FORMAT; `None` follows `explain_format`.
        format: Option<ExplainFormat>,
        /// The connection's number.
        connection: u64,
    },
    /// `DESCRIBE table [column | 'pattern']`.
    Describe {
        /// The table.
        table: TableName,
        /// A column name or a pattern for column names.
        column: Option<String>,
    },
    /// HANDLER.
    Handler(Handler),
    /// USE.
    Use(Ident),
    /// SET.
    Set(Vec<SetItem>),
    /// BEGIN, START TRANSACTION.
    Begin {
        /// READ ONLY: `Some(true)`, READ WRITE: `Some(false)`.
        read_only: Option<bool>,
        /// WITH CONSISTENT SNAPSHOT.
        consistent_snapshot: bool,
        /// FROM SESSION: the connection whose snapshot the transaction adopts.
        from_session: Option<u64>,
    },
    /// COMMIT.
    Commit(Completion),
    /// ROLLBACK.
    Rollback(Completion),
    /// `ROLLBACK TO [SAVEPOINT] name`.
    RollbackTo(Ident),
    /// SAVEPOINT name.
    Savepoint(Ident),
    /// RELEASE SAVEPOINT name.
    ReleaseSavepoint(Ident),
    /// FLUSH.
    Flush(Vec<FlushItem>),
    /// KILL.
    Kill {
        /// KILL QUERY: ends only the running statement.
        query_only: bool,
        /// The connection's number.
        connection: Expr,
    },
    /// PREPARE name FROM 'text' | @variable.
    Prepare {
        /// The name.
        name: Ident,
        /// The source of the text.
        source: PrepareSource,
    },
    /// `EXECUTE name [USING @a, @b]`.
    Execute {
        /// The name.
        name: Ident,
        /// The user variables that hold the parameters.
        using: Vec<String>,
    },
    /// DEALLOCATE PREPARE name.
    Deallocate(Ident),
    /// DO expressions.
    Do(Vec<Expr>),
    /// CREATE, ALTER, DROP and SET RESOURCE GROUP.
    ResourceGroup(ResourceGroupStatement),
    /// INSTALL COMPONENT and UNINSTALL COMPONENT.
    Component(ComponentStatement),
    /// CREATE USER.
    CreateUser {
        /// Whether IF NOT EXISTS was written.
        if_not_exists: bool,
        /// The accounts.
        users: Vec<UserSpec>,
        /// DEFAULT ROLE: roles that the accounts get.
        roles: Vec<AccountName>,
        /// The options for all of the accounts.
        options: UserOptions,
    },
    /// ALTER USER.
    AlterUser {
        /// Whether IF EXISTS was written.
        if_exists: bool,
        /// The accounts.
        users: Vec<UserSpec>,
        /// The options for all of the accounts.
        options: UserOptions,
    },
    /// DROP USER.
    DropUser {
        /// Whether IF EXISTS was written.
        if_exists: bool,
        /// The accounts.
        users: Vec<AccountName>,
    },
    /// RENAME USER: pairs of an old and a new name.
    RenameUser(Vec<(AccountName, AccountName)>),
    /// GRANT.
    Grant(Box<Grant>),
    /// REVOKE.
    Revoke(Box<Revoke>),
    /// A statement about roles.
    Role(Box<RoleStatement>),
    /// LOCK TABLES.
    LockTables(Vec<TableLock>),
    /// UNLOCK TABLES.
    UnlockTables,
}

/// EXPLAIN.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// ANALYZE: the statement is also run.
    pub analyze: bool,
    /// FORMAT; `None` follows `explain_format`.
    pub format: Option<ExplainFormat>,
    /// The explained SELECT, INSERT, UPDATE or DELETE.
    pub statement: Box<StatementKind>,
}

/// The form in which EXPLAIN shows a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExplainFormat {
    /// A table.
    #[default]
    Traditional,
    /// A document.
    Json,
    /// A tree.
    Tree,
}

/// SHOW.
#[derive(Debug, Clone, PartialEq)]
pub struct Show {
    /// The objects listed.
    pub kind: ShowKind,
    /// LIKE or WHERE.
    pub filter: Option<ShowFilter>,
}

/// LIKE or WHERE of a SHOW statement.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    /// LIKE 'pattern'.
    Like(String),
    /// WHERE: a condition over the columns shown.
    Where(Expr),
}

/// The steps after COMMIT or ROLLBACK; `None` leaves them to `completion_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// AND CHAIN: `Some(true)`, another transaction like it begins. AND NO CHAIN: `Some(false)`.
    pub chain: Option<bool>,
    /// RELEASE: `Some(true)`, the connection ends. NO RELEASE: `Some(false)`.
    pub release: Option<bool>,
}

/// The objects that SHOW lists.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowKind {
    /// HELP, with the topic.
    Help(String),
    /// DATABASES, SCHEMAS.
    Databases,
    /// `[FULL] TABLES [FROM database]`.
    Tables {
        /// Whether FULL was written.
        full: bool,
        /// The database.
        database: Option<Ident>,
    },
    /// TABLE STATUS [FROM database].
    TableStatus {
        /// The database.
        database: Option<Ident>,
    },
    /// `[FULL] COLUMNS FROM table [FROM database]`.
    Columns {
        /// Whether FULL was written.
        full: bool,
        /// The table.
        table: TableName,
    },
    /// INDEX FROM table [FROM database].
    Index {
        /// The table.
        table: TableName,
    },
    /// CREATE TABLE name.
    CreateTable(TableName),
    /// CREATE VIEW name.
    CreateView(TableName),
    /// CREATE PROCEDURE, FUNCTION, TRIGGER or EVENT name.
    CreateProgram(ProgramKind, TableName),
    /// PROCEDURE STATUS.
    Procedures,
    /// FUNCTION STATUS.
    Functions,
    /// CREATE DATABASE [IF NOT EXISTS] name.
    CreateDatabase {
        /// The database.
        name: Ident,
        /// Whether IF NOT EXISTS was written.
        if_not_exists: bool,
    },
    /// [GLOBAL | SESSION] STATUS.
    Status {
        /// Whether GLOBAL was written.
        global: bool,
    },
    /// [GLOBAL | SESSION] VARIABLES.
    Variables {
        /// Whether GLOBAL was written.
        global: bool,
    },
    /// `WARNINGS [LIMIT [offset,] count]`.
    Warnings {
        /// LIMIT: (offset, count).
        limit: Option<(u64, u64)>,
    },
    /// `ERRORS [LIMIT [offset,] count]`.
    Errors {
        /// LIMIT: (offset, count).
        limit: Option<(u64, u64)>,
    },
    /// COUNT(*) WARNINGS.
    WarningCount,
    /// COUNT(*) ERRORS.
    ErrorCount,
    /// `DEVICE PROFILE`.
    DeviceProfile,
    /// `[STORAGE] ENGINES`.
    Engines,
    /// `ENGINE name STATUS`.
    EngineStatus {
        /// The engine.
        name: Ident,
    },
    /// `[FULL] PROCESSLIST`.
    ProcessList {
        /// Whether FULL was written.
        full: bool,
    },
    /// TRIGGERS [FROM database].
    Triggers {
        /// The database.
        database: Option<Ident>,
    },
    /// EVENTS [FROM database].
    Events {
        /// The database.
        database: Option<Ident>,
    },
    /// A list that is always empty here.
    NotThere(NotThere),
    /// BINARY LOGS, MASTER LOGS.
    BinaryLogs,
    /// PRIVILEGES.
    Privileges,
    /// PLUGINS.
    Plugins,
    /// GRANTS [FOR account [USING roles]].
    Grants(Option<AccountName>, Vec<AccountName>),
    /// CREATE USER account.
    CreateUser(AccountName),
    /// COLLATION.
    Collation,
    /// CHARACTER SET.
    CharacterSet,
}

/// Lists of SHOW that are always empty here, because the server has no such objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotThere {
    /// MASTER STATUS, BINARY LOG STATUS.
    BinaryLogStatus,
    /// REPLICA STATUS.
    ReplicaStatus,
    /// SLAVE STATUS.
    SlaveStatus,
    /// REPLICAS.
    Replicas,
    /// SLAVE HOSTS.
    SlaveHosts,
    /// OPEN TABLES.
    OpenTables,
    /// PROFILES.
    Profiles,
}

/// One assignment of SET.
#[derive(Debug, Clone, PartialEq)]
pub enum SetItem {
    /// A system variable.
    System {
        /// The scope; `None` is the session.
        scope: Option<VariableScope>,
        /// Whether it was written `@@name` without a scope. A transaction characteristic then applies to the next
        /// transaction only.
        is_of_next: bool,
        /// The name.
        name: Ident,
        /// The value; `None` is DEFAULT. A bare word (`SET x = ON`) arrives as a column name.
        value: Option<Expr>,
    },
    /// A user variable.
    User {
        /// The name without `@`.
        name: String,
        /// The value.
        value: Expr,
    },
    /// A variable of the program.
    Local {
        /// The name.
        name: Ident,
        /// The value.
        value: Expr,
    },
    /// `NEW.column` of a trigger.
    New {
        /// The column.
        column: Ident,
        /// The value.
        value: Expr,
    },
    /// SET NAMES.
    Names {
        /// The character set; `None` is DEFAULT.
        charset: Option<Ident>,
        /// COLLATE.
        collation: Option<Ident>,
    },
    /// SET CHARACTER SET; `None` is DEFAULT.
    CharacterSet(Option<Ident>),
    /// SET [GLOBAL | SESSION] TRANSACTION.
    Transaction {
        /// The scope; `None` applies to the next transaction only.
        scope: Option<VariableScope>,
        /// ISOLATION LEVEL.
        isolation: Option<IsolationLevel>,
        /// READ ONLY: `Some(true)`, READ WRITE: `Some(false)`.
        read_only: Option<bool>,
    },
    /// SET PASSWORD [FOR account] = 'text'.
    Password {
        /// The account; `None` is the session's own.
        account: Option<AccountName>,
        /// The password in clear.
        password: String,
        /// REPLACE: the password that the account has.
        replaced: Option<String>,
    },
}

/// Isolation levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsolationLevel {
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

/// The objects that FLUSH flushes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlushItem {
    /// STATUS: sets the counters to zero.
    Status,
    /// TABLES, named or, if the list is empty, all.
    Tables(Vec<TableName>),
    /// TABLES WITH READ LOCK.
    ReadLock,
    /// TABLES names WITH READ LOCK, or FOR EXPORT.
    ReadLockOf(Vec<TableName>),
    /// PRIVILEGES.
    Privileges,
    /// USER_RESOURCES: the limits per hour begin anew.
    UserResources,
    /// `[kind] LOGS`.
    Logs,
    /// SLOW LOGS.
    SlowLogs,
}

/// The source of a statement's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrepareSource {
    /// A literal.
    Text(String),
    /// A user variable.
    Variable(String),
}

/// One table of LOCK TABLES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLock {
    /// The table.
    pub table: TableName,
    /// Its alias.
    pub alias: Option<Ident>,
    /// True for WRITE, false for READ.
    pub write: bool,
}

/// ANALYZE TABLE .. UPDATE HISTOGRAM or DROP HISTOGRAM.
#[derive(Debug, Clone, PartialEq)]
pub struct AnalyzeHistogram {
    /// The tables. More than one is refused with a message.
    pub tables: Vec<TableName>,
    /// The columns.
    pub columns: Vec<Ident>,
    /// UPDATE: the number of buckets; `None` for DROP.
    pub buckets: Option<u64>,
}

/// A table of LOAD INDEX INTO CACHE.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadIndex {
    /// Its name.
    pub table: TableName,
    /// The indexes; empty for all.
    pub indexes: Vec<Ident>,
    /// IGNORE LEAVES: loads only the inner pages.
    pub ignore_leaves: bool,
}
