//! Every kind of statement checks privileges, and no statement reveals an object that its account may not
//! see.

use crate::accounts::{AccountId, Login};
use crate::information_schema::TABLES;
use crate::session::{Outcome, Session};
use crate::{Instance, InstanceOptions};
use leafline_storage::device::SimulatedEnv;
use leafline_syntax::ast::StatementKind;
use leafline_types::{MysqlError, Value, value_at};
use std::collections::BTreeSet;
use std::sync::Arc;

fn open(env: &SimulatedEnv) -> Arc<Instance> {
    Instance::open(Arc::new(env.clone()), InstanceOptions::default()).unwrap()
}

fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<Value>>, MysqlError> {
    let Outcome::Rows(mut stream) = session.execute(sql)? else { return Ok(Vec::new()) };
    let types = stream.types();
    let mut rows = Vec::new();
    while let Some(batch) = stream.next_batch(session)? {
        let value = |row: usize| {
            batch.columns.iter().zip(&types).map(|(column, ty)| value_at(column, row, ty)).collect()
        };
        rows.extend((0..batch.rows).map(value));
    }
    Ok(rows)
}

fn run(session: &mut Session, statements: &[&str]) {
    for sql in statements {
        rows(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

fn session_of(instance: &Arc<Instance>, user: &str) -> Session {
    let (account, _) = instance.accounts().login(user, "localhost").unwrap();
    instance.new_session(instance.new_connection_id(), (user, "localhost"), Some(account)).unwrap()
}

/// Name of a kind of statement. Without a default arm a new kind does not compile.
fn kind_of(kind: &StatementKind) -> &'static str {
    match kind {
        StatementKind::Query(_) => "query",
        StatementKind::Insert(_) => "insert",
        StatementKind::Update(_) => "update",
        StatementKind::Delete(_) => "delete",
        StatementKind::CreateDatabase(_) => "create database",
        StatementKind::AlterDatabase(_) => "alter database",
        StatementKind::DropDatabase(_) => "drop database",
        StatementKind::CreateTable(_) => "create table",
        StatementKind::CreateTableLike(_) => "like",
        StatementKind::CreateView(_) => "create view",
        StatementKind::DropView(_) => "drop view",
        StatementKind::CreateProgram(_) => "create program",
        StatementKind::AlterProgram(_) => "alter program",
        StatementKind::DropProgram(_) => "drop program",
        StatementKind::Call(_) => "call",
        StatementKind::Signal(_) => "signal",
        StatementKind::GetDiagnostics(_) => "get diagnostics",
        StatementKind::DropTable(_) => "drop table",
        StatementKind::CreateIndex(_) => "create index",
        StatementKind::CreateHypotheticalIndex(..) => "hypothetical",
        StatementKind::DropIndex(_) => "drop index",
        StatementKind::AlterTable(_) => "alter table",
        StatementKind::MaintainPartitions(_) => "partitions",
        StatementKind::Backup { .. } => "backup",
        StatementKind::ExportTable { .. } => "export",
        StatementKind::ImportTable { .. } => "import",
        StatementKind::RenameTable(_) => "rename table",
        StatementKind::Truncate(_) => "truncate",
        StatementKind::AnalyzeTable(_) => "analyze",
        StatementKind::OptimizeTable(_) => "optimize",
        StatementKind::AnalyzeHistogram(_) => "histogram",
        StatementKind::CheckTable(..) => "check",
        StatementKind::LoadIndex(_) => "load index",
        StatementKind::ChecksumTable { .. } => "checksum",
        StatementKind::Handler(_) => "handler",
        StatementKind::Advise { .. } => "advise",
        StatementKind::RepairTable(_) => "repair",
        StatementKind::Explain(_) => "explain",
        StatementKind::Load(_) => "load",
        StatementKind::SelectInto { .. } => "into",
        StatementKind::Show(_) => "show",
        StatementKind::ExplainConnection { .. } => "explain connection",
        StatementKind::Describe { .. } => "describe",
        StatementKind::Use(_) => "use",
        StatementKind::Set(_) => "set",
        StatementKind::Flush(_) => "flush",
        StatementKind::Kill { .. } => "kill",
        StatementKind::Prepare { .. } => "prepare",
        StatementKind::Execute { .. } => "execute",
        StatementKind::Do(_) => "do",
        StatementKind::ResourceGroup(_) => "resource group",
        StatementKind::Component(_) => "component",
        StatementKind::CreateUser { .. } => "create user",
        StatementKind::AlterUser { .. } => "alter user",
        StatementKind::DropUser { .. } => "drop user",
        StatementKind::RenameUser(_) => "rename user",
        StatementKind::Grant(_) => "grant",
        StatementKind::Revoke(_) => "revoke",
        StatementKind::Role(_) => "role",
        StatementKind::LockTables(_) => "lock tables",
        StatementKind::UnlockTables
        | StatementKind::Begin { .. }
        | StatementKind::Commit(_)
        | StatementKind::Rollback(_)
        | StatementKind::RollbackTo(_)
        | StatementKind::Savepoint(_)
        | StatementKind::ReleaseSavepoint(_)
        | StatementKind::Deallocate(_) => OF_THE_SESSION,
    }
}

/// Mark of a kind that concerns the session alone and needs no privilege.
const OF_THE_SESSION: &str = "of the session";

/// For each kind that needs a privilege, statements that fail without privileges.
const REFUSED: &[(&str, &[&str])] = &[
    ("query", &["SELECT * FROM s.secret", "TABLE s.secret"]),
    ("insert", &["INSERT INTO s.secret VALUES (1)", "REPLACE INTO s.secret VALUES (1)"]),
    ("update", &["UPDATE s.secret SET a = 1"]),
    ("delete", &["DELETE FROM s.secret"]),
    ("create database", &["CREATE DATABASE x"]),
    ("alter database", &["ALTER DATABASE s CHARACTER SET latin1"]),
    ("drop database", &["DROP DATABASE s"]),
    ("create table", &["CREATE TABLE s.x (a INT)", "CREATE TEMPORARY TABLE s.x (a INT)"]),
    ("like", &["CREATE TABLE s.x LIKE s.secret", "CREATE TEMPORARY TABLE own.x LIKE s.secret"]),
    ("create view", &["CREATE VIEW s.x AS SELECT 1", "CREATE VIEW own.x AS SELECT * FROM s.secret"]),
    ("drop view", &["DROP VIEW s.secret_view"]),
    ("drop program", &["DROP PROCEDURE s.p", "DROP FUNCTION IF EXISTS s.f", "DROP EVENT s.e"]),
    ("drop table", &["DROP TABLE s.secret"]),
    ("create index", &["CREATE INDEX i ON s.secret (a)"]),
    ("hypothetical", &["CREATE INDEX i ON s.secret (a) HYPOTHETICAL"]),
    ("drop index", &["DROP INDEX secret_index ON s.secret"]),
    ("alter table", &["ALTER TABLE s.secret FORCE", "ALTER TABLE own.t RENAME TO s.x"]),
    ("partitions", &["ALTER TABLE s.secret ANALYZE PARTITION ALL"]),
    ("export", &["EXPORT TABLE own.t INTO 'f'"]),
    ("import", &["IMPORT TABLE own.x FROM 'f'"]),
    ("rename table", &["RENAME TABLE s.secret TO own.x", "RENAME TABLE own.t TO s.x"]),
    ("truncate", &["TRUNCATE s.secret"]),
    ("analyze", &["ANALYZE TABLE s.secret"]),
    ("optimize", &["OPTIMIZE TABLE s.secret"]),
    ("histogram", &["ANALYZE TABLE s.secret UPDATE HISTOGRAM ON a"]),
    ("check", &["CHECK TABLE s.secret"]),
    ("load index", &["LOAD INDEX INTO CACHE s.secret"]),
    ("checksum", &["CHECKSUM TABLE s.secret"]),
    ("handler", &["HANDLER s.secret OPEN", "HANDLER s.secret OPEN AS h"]),
    ("advise", &["ADVISE", "ADVISE VERIFY"]),
    ("repair", &["REPAIR TABLE s.secret"]),
    ("explain", &["EXPLAIN SELECT * FROM s.secret", "EXPLAIN DELETE FROM s.secret"]),
    ("load", &["LOAD DATA INFILE 'f' INTO TABLE own.t", "LOAD DATA LOCAL INFILE 'f' INTO TABLE s.secret"]),
    ("into", &["SELECT a FROM s.secret INTO @a", "SELECT 1 INTO OUTFILE 'f'"]),
    (
        "show",
        &[
            "SHOW TABLES FROM s",
            "SHOW TABLE STATUS FROM s",
            "SHOW COLUMNS FROM s.secret",
            "SHOW INDEX FROM s.secret",
            "SHOW CREATE TABLE s.secret",
            "SHOW CREATE VIEW s.secret_view",
            "SHOW CREATE DATABASE s",
            "SHOW ENGINE LEAFLINE STATUS",
            "SHOW GRANTS FOR root",
            "SHOW CREATE USER root",
            "SHOW TRIGGERS FROM s",
            "SHOW EVENTS FROM s",
            "SHOW MASTER STATUS",
        ],
    ),
    ("explain connection", &["EXPLAIN FOR CONNECTION 1"]),
    ("describe", &["DESCRIBE s.secret"]),
    ("use", &["USE s", "USE mysql"]),
    (
        "set",
        &[
            "SET GLOBAL max_execution_time = 1",
            "SET @a = (SELECT a FROM s.secret)",
            "SET PASSWORD FOR root = 'x'",
        ],
    ),
    ("flush", &["FLUSH TABLES", "FLUSH STATUS", "FLUSH LOGS", "FLUSH PRIVILEGES"]),
    ("kill", &["KILL 1", "KILL QUERY 1"]),
    ("prepare", &["PREPARE p FROM 'SELECT * FROM s.secret'"]),
    ("execute", &["EXECUTE dropping"]),
    ("do", &["DO (SELECT a FROM s.secret)"]),
    (
        "resource group",
        &[
            "CREATE RESOURCE GROUP g TYPE = USER",
            "ALTER RESOURCE GROUP USR_default DISABLE",
            "DROP RESOURCE GROUP g",
            "SET RESOURCE GROUP USR_default",
        ],
    ),
    (
        "component",
        &[
            "INSTALL COMPONENT 'file://component_validate_password'",
            "UNINSTALL COMPONENT 'file://component_validate_password'",
        ],
    ),
    ("backup", &["BACKUP DATABASE TO '/x'", "BACKUP DATABASE TO '/x' INCREMENTAL FROM '/y'"]),
    ("create user", &["CREATE USER x"]),
    ("alter user", &["ALTER USER root IDENTIFIED BY 'x'", "ALTER USER joe PASSWORD EXPIRE NEVER"]),
    ("drop user", &["DROP USER root"]),
    ("rename user", &["RENAME USER root TO x"]),
    ("grant", &["GRANT ALL ON *.* TO joe", "GRANT SELECT ON s.* TO joe", "GRANT SELECT ON s.secret TO joe"]),
    ("revoke", &["REVOKE ALL ON *.* FROM root", "REVOKE ALL PRIVILEGES, GRANT OPTION FROM root"]),
    (
        "role",
        &[
            "CREATE ROLE r",
            "DROP ROLE root",
            "GRANT root TO joe",
            "REVOKE root FROM joe",
            "SET DEFAULT ROLE NONE TO root",
            "ALTER USER root DEFAULT ROLE NONE",
        ],
    ),
    ("lock tables", &["LOCK TABLES s.secret READ"]),
];

/// A statement of each kind.
const OF_EACH_KIND: &str = "SELECT 1;INSERT INTO t VALUES (1);UPDATE t SET a=1;DELETE FROM t;CREATE DATABASE d;ALTER DATABASE d COLLATE utf8mb4_bin;DROP DATABASE d;\
    CREATE TABLE t (a INT);CREATE TABLE t LIKE u;CREATE VIEW v AS SELECT 1;DROP VIEW v;DROP PROCEDURE p;DROP TABLE t;CREATE INDEX i ON t (a);CREATE INDEX i ON t (a) HYPOTHETICAL;\
    DROP INDEX i ON t;ALTER TABLE t FORCE;ALTER TABLE t CHECK PARTITION ALL;BACKUP DATABASE TO 'd';EXPORT TABLE t INTO 'f';IMPORT TABLE t FROM 'f';RENAME TABLE t TO u;TRUNCATE t;\
    ANALYZE TABLE t;OPTIMIZE TABLE t;ANALYZE TABLE t DROP HISTOGRAM ON a;CHECK TABLE t;LOAD INDEX INTO CACHE t;CHECKSUM TABLE t;HANDLER t OPEN;ADVISE;REPAIR TABLE t;\
    EXPLAIN SELECT 1;LOAD DATA INFILE 'f' INTO TABLE t;SELECT 1 INTO @a;SHOW TABLES;EXPLAIN FOR CONNECTION 1;DESCRIBE t;USE d;SET @a=1;FLUSH LOGS;KILL 1;\
    PREPARE p FROM 'SELECT 1';EXECUTE p;DO 1;SET RESOURCE GROUP g;INSTALL COMPONENT 'file://c';CREATE USER x;ALTER USER x;DROP USER x;RENAME USER x TO y;GRANT USAGE ON *.* TO x;\
    REVOKE USAGE ON *.* FROM x;CREATE ROLE r;LOCK TABLES t READ;BEGIN;COMMIT;ROLLBACK";

/// Error codes of missing privileges.
const DENIED: [u16; 7] = [1044, 1045, 1095, 1142, 1143, 1227, 1370];

#[test]
fn every_kind_of_statement_asks() {
    let instance = open(&SimulatedEnv::new());
    let mut root = instance.connect().unwrap();
    run(
        &mut root,
        &[
            "CREATE DATABASE s",
            "CREATE DATABASE own",
            "CREATE TABLE own.t (a INT)",
            "CREATE TABLE s.secret (a INT, KEY secret_index (a)) PARTITION BY HASH (a) PARTITIONS 2",
            "CREATE VIEW s.secret_view AS SELECT * FROM s.secret",
            "CREATE USER joe",
            "GRANT ALL ON own.* TO joe",
        ],
    );
    let mut joe = session_of(&instance, "joe");
    run(&mut joe, &["PREPARE dropping FROM 'DROP TABLE s.secret'"]);
    let mut missing: BTreeSet<&str> = REFUSED.iter().map(|(kind, _)| *kind).collect();
    for sql in OF_EACH_KIND.split(';') {
        let statement = root.parse(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let kind = kind_of(&statement.kind);
        missing.remove(kind);
        let refused = REFUSED.iter().find(|(known, _)| *known == kind);
        assert_eq!(refused.is_none(), kind == OF_THE_SESSION, "{kind}");
        for sql in refused.into_iter().flat_map(|(_, refused)| *refused) {
            let found = root.parse(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).kind;
            assert_eq!(kind_of(&found), kind, "{sql}");
            match rows(&mut joe, sql) {
                Err(error) if DENIED.contains(&error.code) => {}
                other => panic!("{sql}: {other:?}"),
            }
        }
    }
    assert!(missing.is_empty(), "no statement of these kinds: {missing:?}");
    assert_eq!(
        rows(&mut root, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 's'").unwrap(),
        [[Value::Int(2)]]
    );
}

/// A database with many objects that joe may not see.
fn hushed() -> Arc<Instance> {
    let instance = open(&SimulatedEnv::new());
    let mut root = instance.connect().unwrap();
    run(
        &mut root,
        &[
            "CREATE DATABASE hush_database",
            "CREATE DATABASE shared",
            "CREATE TABLE hush_database.hush_table (hush_column INT COMMENT 'hush comment', k INT, CONSTRAINT hush_check CHECK (k > 0), \
             PRIMARY KEY (k), KEY hush_index (hush_column), UNIQUE KEY hush_unique (hush_column, k))",
            "INSERT INTO hush_database.hush_table VALUES (1, 1), (2, 2)",
            "ANALYZE TABLE hush_database.hush_table UPDATE HISTOGRAM ON hush_column",
            "CREATE VIEW hush_database.hush_view AS SELECT * FROM hush_database.hush_table",
            "CREATE TABLE shared.hush_beside (hush_column INT, p INT) PARTITION BY LIST (p) (PARTITION hush_partition VALUES IN (1))",
            "CREATE TABLE shared.t (a INT PRIMARY KEY, b INT, KEY b (b))",
            "CREATE TABLE hush_database.hush_child (a INT, CONSTRAINT hush_key FOREIGN KEY (a) REFERENCES shared.t (a))",
            "INSERT INTO shared.t VALUES (1, 1), (2, 2)",
            "INSERT INTO hush_database.hush_child VALUES (1)",
            "CREATE VIEW shared.v AS SELECT k AS a FROM hush_database.hush_table",
            "CREATE RESOURCE GROUP hush_group TYPE = USER",
            "CREATE USER joe, 'hush_user'@'hush_host'",
            "GRANT SELECT ON hush_database.* TO 'hush_user'@'hush_host'",
            "GRANT SELECT ON shared.hush_beside TO 'hush_user'@'hush_host'",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON shared.t TO joe",
            "GRANT SELECT ON shared.v TO joe",
            "USE hush_database",
            "SELECT 'hush statement' FROM hush_table",
        ],
    );
    instance
}

/// True if a text reveals a hidden object.
fn told(text: &str) -> bool {
    text.to_lowercase().contains("hush")
}

/// A hidden object appears in nothing that joe can read: no table, listing, definition, message or plan.
#[test]
fn nothing_tells_of_what_one_may_not_know() {
    let instance = hushed();
    let mut joe = session_of(&instance, "joe");
    let mut statements: Vec<String> = Vec::new();
    for table in TABLES {
        statements.push(format!("SELECT * FROM {}.{}", table.database, table.name));
    }
    let listings = [
        "SHOW DATABASES",
        "SHOW TABLES FROM shared",
        "SHOW FULL TABLES FROM shared",
        "SHOW TABLE STATUS FROM shared",
        "SHOW FULL COLUMNS FROM shared.v",
        "SHOW INDEX FROM shared.t",
        "SHOW CREATE TABLE shared.t",
        "SHOW CREATE TABLE shared.v",
        "SHOW CREATE DATABASE shared",
        "SHOW FULL PROCESSLIST",
        "SHOW GRANTS",
        "SHOW STATUS",
        "SHOW GLOBAL STATUS",
        "SHOW VARIABLES",
        "SHOW ENGINE LEAFLINE STATUS",
        "SHOW PLUGINS",
        "SELECT * FROM mysql.user",
        "SELECT * FROM mysql.resource_groups",
        "ADVISE FROM 'SELECT * FROM shared.t WHERE b = 1; SELECT hush_column FROM hush_database.hush_table; SELECT * FROM shared.v'",
        "EXPLAIN SELECT * FROM shared.v",
        "EXPLAIN FORMAT=JSON SELECT * FROM shared.v JOIN shared.t USING (a)",
        "EXPLAIN FORMAT=TREE SELECT * FROM shared.v",
        "EXPLAIN ANALYZE SELECT * FROM shared.v",
        "EXPLAIN DELETE FROM shared.t WHERE a = 1",
        "EXPLAIN FOR CONNECTION 1",
        "CHECK TABLE shared.v",
        "CHECK TABLE shared.t",
        "DELETE FROM shared.t WHERE a = 1",
        "UPDATE shared.t SET a = 5 WHERE a = 1",
        "SELECT * FROM shared.v WHERE a = 1",
        "SELECT nothing FROM shared.v",
    ];
    statements.extend(listings.map(Into::into));
    for sql in &statements {
        let said = match rows(&mut joe, sql) {
            Ok(rows) => format!("{rows:?}"),
            Err(error) => error.message,
        };
        assert!(!told(&said), "{sql}: {said}");
        if told(sql) {
            // The message repeats a name of the statement.
            continue;
        }
        let warnings = rows(&mut joe, "SHOW WARNINGS").map(|rows| format!("{rows:?}")).unwrap();
        assert!(!told(&warnings), "{sql}: {warnings}");
    }
    run(&mut joe, &["SET optimizer_trace = 'enabled=on'", "SELECT * FROM shared.v JOIN shared.t USING (a)"]);
    let traced = format!("{:?}", rows(&mut joe, "SELECT * FROM information_schema.OPTIMIZER_TRACE").unwrap());
    assert!(!told(&traced), "{traced}");
}

/// Existing and missing names give equal errors.
#[test]
fn an_error_does_not_tell_whether_a_name_is_there() {
    let mut joe = session_of(&hushed(), "joe");
    for sql in [
        "SELECT * FROM {}",
        "INSERT INTO {} VALUES (1)",
        "UPDATE {} SET x = 1",
        "DELETE FROM {}",
        "DROP TABLE {}",
        "DROP TABLE IF EXISTS {}",
        "TRUNCATE {}",
        "SHOW COLUMNS FROM {}",
        "SHOW INDEX FROM {}",
        "SHOW CREATE TABLE {}",
        "SHOW CREATE VIEW {}",
        "DESCRIBE {}",
        "CHECK TABLE {}",
        "CHECKSUM TABLE {}",
        "ANALYZE TABLE {}",
        "OPTIMIZE TABLE {}",
        "ALTER TABLE {} FORCE",
        "CREATE TABLE {} (a INT)",
        "CREATE TABLE shared.x LIKE {}",
        "CREATE TABLE shared.x (a INT, FOREIGN KEY (a) REFERENCES {} (k))",
        "LOCK TABLES {} READ",
        "LOAD INDEX INTO CACHE {}",
        "GRANT SELECT ON {} TO joe",
        "EXPLAIN SELECT * FROM {}",
        "HANDLER {} OPEN",
        "SELECT * FROM {} FOR UPDATE",
        "SELECT * FROM shared.t PARTITION (p0), {}",
    ] {
        let said = |session: &mut Session, name: &str| {
            let error = rows(session, &sql.replace("{}", name)).expect_err(sql);
            let (_, table) = name.split_once('.').unwrap_or_default();
            (error.code, error.message.replace(table, "?"))
        };
        let there = said(&mut joe, "hush_database.hush_table");
        assert_eq!(said(&mut joe, "hush_database.nothing"), there, "{sql}");
        let elsewhere = said(&mut joe, "nowhere.nothing");
        assert_eq!((elsewhere.0, elsewhere.1.replace("nowhere", "hush_database")), there, "{sql}");
    }
}

#[test]
fn accounts_and_grants_survive_a_crash_and_an_old_form_is_brought_up_to_date() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut root = instance.connect().unwrap();
    run(
        &mut root,
        &[
            "CREATE USER joe IDENTIFIED BY 'x'",
            "GRANT SELECT ON d.* TO joe",
            "GRANT FILE, BACKUP_ADMIN ON *.* TO joe",
        ],
    );
    run(
        &mut root,
        &["CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "GRANT INSERT ON d.t TO joe WITH GRANT OPTION"],
    );
    let told = rows(&mut root, "SHOW GRANTS FOR joe").unwrap();
    let everybody = rows(&mut root, "SELECT * FROM mysql.user").unwrap();
    env.power_cut_after(0);
    drop((root, instance));
    env.reboot(1);
    let instance = open(&env);
    let mut root = instance.connect().unwrap();
    assert_eq!(rows(&mut root, "SHOW GRANTS FOR joe").unwrap(), told);
    assert_eq!(rows(&mut root, "SELECT * FROM mysql.user").unwrap(), everybody);
}

#[test]
fn an_account_without_a_password_is_for_this_machine() {
    let instance = open(&SimulatedEnv::new());
    let mut root = instance.connect().unwrap();
    run(&mut root, &["CREATE USER joe, 'net'@'192.0.2.%', 'both'@'%' IDENTIFIED BY 'x', ''@'192.0.2.9'"]);
    let login = |user: &str, host: &str| instance.accounts().login(user, host).map(|(account, _)| account);
    for user in ["root", "joe"] {
        assert_eq!(login(user, "localhost"), Some(AccountId::new(user, "%")));
        assert_eq!(login(user, "127.0.0.1"), Some(AccountId::new(user, "%")));
        for host in ["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "not an address", ""] {
            assert_eq!(login(user, host), None, "{user} {host}");
        }
    }
    assert_eq!(login("net", "192.0.2.1"), None);
    assert_eq!(login("anybody", "192.0.2.9"), None);
    assert_eq!(login("both", "192.0.2.1"), Some(AccountId::new("both", "%")));
    run(&mut root, &["SET PASSWORD FOR joe = 'x'"]);
    assert_eq!(login("joe", "192.0.2.1"), Some(AccountId::new("joe", "%")));
    assert_eq!(AccountId::root(), AccountId::new("root", "%"));
}

/// A power cut at any write of the upgrade of an old table of accounts leaves accounts that may do
/// everything.
#[test]
fn a_table_of_accounts_of_before_there_were_privileges_is_brought_up_to_date_whatever_happens() {
    use crate::system_table;
    use leafline_table::{ColumnDef, IndexSpec, IndexSpecKind, IndexSpecPart, TableSpec};
    use leafline_types::{Collation, SqlType};
    let mut cut = 0;
    loop {
        let env = SimulatedEnv::new();
        let instance = open(&env);
        let engine = instance.engine();
        for table in [
            "user",
            "db",
            "tables_priv",
            "global_grants",
            "password_history",
            "columns_priv",
            "procs_priv",
            "role_edges",
            "default_roles",
        ] {
            engine.ddl().drop_table("mysql", table, false).unwrap();
        }
        let column = |name: &str, len: u32| {
            ColumnDef::new(name, SqlType::Varchar { len }, false, Collation::Utf8mb4_0900Bin)
        };
        let spec = TableSpec {
            database: "mysql".into(),
            name: "user".into(),
            columns: vec![
                column("Host", 60),
                column("User", 32),
                column("plugin", 64),
                column("authentication_string", 255),
            ],
            indexes: vec![IndexSpec {
                kind: IndexSpecKind::Primary,
                parts: ["Host", "User"].map(IndexSpecPart::new).into(),
                ..IndexSpec::default()
            }],
            ..TableSpec::default()
        };
        let hash = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
        let row = ["%", "root", "mysql_native_password", hash].map(Value::string);
        system_table::make(engine, &spec, &[row.into()]).unwrap();
        instance.close().unwrap();
        drop(instance);
        env.power_cut_after(cut);
        let opened = Instance::open(Arc::new(env.clone()), InstanceOptions::default());
        let was_cut =
            opened.is_err() || opened.as_ref().is_ok_and(|instance| instance.accounts().damage().is_some());
        drop(opened);
        env.reboot(cut);
        let instance = open(&env);
        assert_eq!(instance.accounts().damage(), None, "after {cut}");
        let (account, login) =
            instance.accounts().login("root", "192.0.2.1").expect("an account with a password");
        assert_eq!(account, AccountId::root());
        assert!(!login.is_without_password());
        let mut root = instance.new_session(1, ("root", "localhost"), Some(account)).unwrap();
        run(
            &mut root,
            &["CREATE DATABASE d", "CREATE USER joe", "GRANT ALL ON *.* TO joe WITH GRANT OPTION"],
        );
        run(&mut root, &["GRANT SYSTEM_USER ON *.* TO joe WITH GRANT OPTION"]);
        let tables = rows(&mut root, "SHOW TABLES FROM mysql").unwrap();
        let names = [
            "columns_priv",
            "component",
            "db",
            "default_roles",
            "general_log",
            "global_grants",
            "password_history",
            "procs_priv",
            "role_edges",
            "slow_log",
            "tables_priv",
            "user",
        ];
        let names = names.map(Value::string);
        assert_eq!(tables.concat(), names, "after {cut}");
        if !was_cut && cut > 0 {
            break;
        }
        // Cuts at each write, more coarsely where there are many.
        cut += 1 + cut / 16;
    }
    assert!(cut > 3, "cut {cut}");
}

#[test]
fn failed_logins_block_an_account_until_it_is_unlocked() {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let (mut root, joe) = (instance.connect().unwrap(), AccountId::new("joe", "%"));
    run(
        &mut root,
        &["CREATE USER joe IDENTIFIED BY 'x' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME UNBOUNDED"],
    );
    let accounts = instance.accounts();
    assert_eq!(accounts.login_failed(&joe), None);
    accounts.login_succeeded(&joe);
    assert_eq!(accounts.login_failed(&joe), None, "the count began anew");
    assert!(accounts.login_failed(&joe).is_some());
    assert!(matches!(accounts.login("joe", "localhost"), Some((_, Login::Blocked(_)))));
    run(&mut root, &["ALTER USER joe ACCOUNT UNLOCK"]);
    assert!(matches!(accounts.login("joe", "localhost"), Some((_, Login::Password(_)))));
}
