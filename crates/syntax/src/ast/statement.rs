//! Statements and the administrative ones among them.

use super::{
    AccountName, AlterDatabase, AlterTable, CreateDatabase, CreateTable, CreateTableLike, CreateView, Delete,
    DropDatabase, DropProgram, DropTable, DropView, Expr, Grant, Handler, Ident, Insert, Into, KeyDefinition,
    Load, PartitionMaintenance, Query, RenameTable, ResourceGroupStatement, Revoke, StatementHints,
    TableName, Update, UserOptions, UserSpec, VariableScope,
};
use leafline_types::words::CheckDepth;

/// One parsed statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// How many `?` it has.
    pub parameters: usize,
    /// Whether `@name := value` stands in an expression of it.
    pub assigns_variables: bool,
    /// Optimizer hints for all of it.
    pub hints: StatementHints,
}

/// The statements.
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
    /// DROP PROCEDURE, FUNCTION, TRIGGER or EVENT.
    DropProgram(DropProgram),
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
    /// ALTER TABLE about partitions that gives rows.
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
        /// What it is to be called; `None`: as the file says, in the current database.
        table: Option<TableName>,
        /// The file.
        path: String,
    },
    /// `BACKUP DATABASE TO 'directory' [INCREMENTAL FROM 'directory']`.
    Backup {
        /// Where it goes.
        path: String,
        /// The backup that it adds to.
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
    /// CHECK TABLE, and how thoroughly.
    CheckTable(Vec<TableName>, CheckDepth),
    /// LOAD INDEX INTO CACHE.
    LoadIndex(Vec<LoadIndex>),
    /// CHECKSUM TABLE.
    ChecksumTable {
        /// The tables.
        tables: Vec<TableName>,
        /// QUICK: what is known without reading them.
        quick: bool,
    },
    /// `ADVISE [VERIFY] [FROM 'text' | @variable]`.
    Advise {
        /// Where the statements are; without it those that were run.
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
        /// Where its rows go.
        into: Into,
    },
    /// SHOW.
    Show(Box<Show>),
    /// `EXPLAIN FOR CONNECTION number`.
    ExplainConnection {
        /// FORMAT; `None`: as `explain_format` says.
        format: Option<ExplainFormat>,
        /// The number.
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
        /// FROM SESSION: the connection whose snapshot it is.
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
        /// KILL QUERY: only the running statement.
        query_only: bool,
        /// The connection's number.
        connection: Expr,
    },
    /// PREPARE name FROM 'text' | @variable.
    Prepare {
        /// The name.
        name: Ident,
        /// Where the text is.
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
    /// CREATE USER.
    CreateUser {
        /// With IF NOT EXISTS.
        if_not_exists: bool,
        /// The accounts.
        users: Vec<UserSpec>,
        /// What is said of all of them.
        options: UserOptions,
    },
    /// ALTER USER.
    AlterUser {
        /// With IF EXISTS.
        if_exists: bool,
        /// The accounts.
        users: Vec<UserSpec>,
        /// What is said of all of them.
        options: UserOptions,
    },
    /// DROP USER.
    DropUser {
        /// With IF EXISTS.
        if_exists: bool,
        /// The accounts.
        users: Vec<AccountName>,
    },
    /// RENAME USER: from, to.
    RenameUser(Vec<(AccountName, AccountName)>),
    /// GRANT.
    Grant(Box<Grant>),
    /// REVOKE.
    Revoke(Box<Revoke>),
    /// LOCK TABLES.
    LockTables(Vec<TableLock>),
    /// UNLOCK TABLES.
    UnlockTables,
}

/// EXPLAIN.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// With ANALYZE: the statement is run.
    pub analyze: bool,
    /// FORMAT; `None`: as `explain_format` says.
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
    /// What is shown.
    pub kind: ShowKind,
    /// LIKE or WHERE.
    pub filter: Option<ShowFilter>,
}

/// LIKE or WHERE of a SHOW statement.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    /// LIKE 'pattern'.
    Like(String),
    /// WHERE condition over the columns shown.
    Where(Expr),
}

/// Says what COMMIT or ROLLBACK does next; `None` leaves it to `completion_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// AND CHAIN: another transaction like it; AND NO CHAIN: none.
    pub chain: Option<bool>,
    /// RELEASE: the end of the connection; NO RELEASE: not.
    pub release: Option<bool>,
}

/// What SHOW can show.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowKind {
    /// HELP, with the topic.
    Help(String),
    /// DATABASES, SCHEMAS.
    Databases,
    /// `[FULL] TABLES [FROM database]`.
    Tables {
        /// With FULL.
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
        /// With FULL.
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
    /// SHOW CREATE VIEW.
    CreateView(TableName),
    /// CREATE DATABASE [IF NOT EXISTS] name.
    CreateDatabase {
        /// The database.
        name: Ident,
        /// With IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// [GLOBAL | SESSION] STATUS.
    Status {
        /// With GLOBAL.
        global: bool,
    },
    /// [GLOBAL | SESSION] VARIABLES.
    Variables {
        /// With GLOBAL.
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
        /// With FULL.
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
    /// What there is none of.
    NotThere(NotThere),
    /// BINARY LOGS, MASTER LOGS.
    BinaryLogs,
    /// PRIVILEGES.
    Privileges,
    /// PLUGINS.
    Plugins,
    /// GRANTS [FOR account].
    Grants(Option<AccountName>),
    /// CREATE USER account.
    CreateUser(AccountName),
    /// COLLATION.
    Collation,
    /// CHARACTER SET.
    CharacterSet,
}

/// Things that there are none of, and SHOW lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotThere {
    /// PROCEDURE STATUS.
    Procedures,
    /// FUNCTION STATUS.
    Functions,
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
        /// The scope; session when not written.
        scope: Option<VariableScope>,
        /// Written `@@name`, without a scope: of a characteristic of transactions, that of the next one alone.
        is_of_next: bool,
        /// The name.
        name: Ident,
        /// The value; `None` is DEFAULT. A bare word (`SET x = ON`) is a column name here.
        value: Option<Expr>,
    },
    /// A user variable.
    User {
        /// The name without `@`.
        name: String,
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
        /// The scope; without one only the next transaction.
        scope: Option<VariableScope>,
        /// ISOLATION LEVEL.
        isolation: Option<IsolationLevel>,
        /// READ ONLY: `Some(true)`, READ WRITE: `Some(false)`.
        read_only: Option<bool>,
    },
    /// SET PASSWORD [FOR account] = 'text'.
    Password {
        /// The account; the session's own when absent.
        account: Option<AccountName>,
        /// The password in clear.
        password: String,
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

/// What FLUSH flushes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlushItem {
    /// STATUS: counters back to zero.
    Status,
    /// TABLES, with names or all.
    Tables(Vec<TableName>),
    /// TABLES WITH READ LOCK.
    ReadLock,
    /// Some TABLES WITH READ LOCK, or FOR EXPORT.
    ReadLockOf(Vec<TableName>),
    /// PRIVILEGES.
    Privileges,
    /// `[kind] LOGS`.
    Logs,
    /// SLOW LOGS.
    SlowLogs,
}

/// The text of PREPARE.
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
    /// The tables: more than one is refused with a message.
    pub tables: Vec<TableName>,
    /// The columns.
    pub columns: Vec<Ident>,
    /// UPDATE: how many buckets; `None` for DROP.
    pub buckets: Option<u64>,
}

/// A table of LOAD INDEX INTO CACHE.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadIndex {
    /// Its name.
    pub table: TableName,
    /// The indexes; none: all.
    pub indexes: Vec<Ident>,
    /// Without the leaves.
    pub ignore_leaves: bool,
}
