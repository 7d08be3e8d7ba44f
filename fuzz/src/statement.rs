//! Fuzzes statements: they are parsed, bound, planned and, if they are queries or definitions, run over a few small
//! tables.

use leafline_sql::session::Outcome;
use leafline_sql::{Instance, InstanceOptions, Session};
use leafline_storage::StoreOptions;
use leafline_storage::device::SimulatedEnv;
use leafline_syntax::LexMode;
use leafline_syntax::shape::shape_of;
use leafline_syntax::split_statements;
use leafline_table::EngineOptions;
use leafline_types::{MysqlError, TextColumns};
use std::cell::RefCell;
use std::sync::{Arc, LazyLock};

/// The tables of the statements.
const DEFINITIONS: &[&str] = &[
    "CREATE DATABASE d",
    "USE d",
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, b BIGINT UNSIGNED, s VARCHAR(20), d DECIMAL(10,2), KEY (a, s), UNIQUE (b))",
    "CREATE TABLE u (id INT AUTO_INCREMENT PRIMARY KEY, a INT, f DOUBLE, j JSON, e ENUM('x', 'y'), k SET('p', 'q'), KEY (a))",
    "CREATE TABLE v (dt DATE, ts DATETIME(6), tm TIME(3), y YEAR, x VARBINARY(20), g INT AS (YEAR(dt)) STORED, \
     c CHAR(5) CHARACTER SET latin1, KEY (ts), KEY ((lower(c))))",
    "CREATE TABLE w (id INT PRIMARY KEY, t_id INT, a TEXT, CHECK (id > 0), FOREIGN KEY (t_id) REFERENCES t (id))",
    "CREATE VIEW q AS SELECT id, a, s FROM t WHERE a > 0",
    "INSERT INTO t VALUES (1, 1, 1, 'a', 1.5), (2, NULL, 2, 'B', -2.25), (3, 3, NULL, NULL, NULL), (4, 1, 18446744073709551615, '12', 0)",
    "INSERT INTO u (a, f, j, e, k) VALUES (1, 1.5, '{\"a\": [1, 2]}', 'x', 'p,q'), (NULL, -0.1, '[]', NULL, ''), (3, NULL, NULL, 'y', 'q')",
    "INSERT INTO v (dt, ts, tm, y, x, c) VALUES ('2024-02-29', '2024-02-29 12:34:56.789', '-10:11:12.5', 2024, x'00FF', 'ab'), \
     (NULL, NULL, NULL, NULL, NULL, NULL), ('9999-12-31', '9999-12-31 23:59:59', '838:59:59', 1901, '', 'é')",
    "INSERT INTO w VALUES (1, 1, 'text'), (2, NULL, NULL)",
];

/// Limits of a query, so that one that takes longer or more is a fault of the database.
const LIMITS: &[(&str, &str)] = &[
    ("max_allowed_packet", "1048576"),
    ("leafline_query_memory", "33554432"),
    ("parser_max_mem_size", "67108864"),
    ("max_execution_time", "200"),
    ("lock_wait_timeout", "1"),
    ("innodb_lock_wait_timeout", "1"),
    ("innodb_parallel_read_threads", "1"),
    ("cte_max_recursion_depth", "30"),
];

/// A database with the tables, not closed.
static SOUND: LazyLock<SimulatedEnv> = LazyLock::new(|| {
    let env = SimulatedEnv::new();
    let instance = open(&env);
    let mut session = instance.connect().expect("a session");
    for sql in DEFINITIONS {
        run(&mut session, sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    drop(session);
    instance.close().expect("a clean end");
    env
});

thread_local! {
    static SESSION: RefCell<Session> = RefCell::new(session());
}

fn open(env: &SimulatedEnv) -> Arc<Instance> {
    let store = StoreOptions {
        page_size: 4096,
        buffer_pool_bytes: 1024 * 4096,
        log_capacity_bytes: 1 << 20,
        io_threads: 1,
        background: false,
        ..StoreOptions::default()
    };
    let options = InstanceOptions {
        engine: EngineOptions { store, ..EngineOptions::default() },
        variables: LIMITS.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        ..InstanceOptions::default()
    };
    Instance::open(Arc::new(env.clone()), options).expect("a database")
}

/// Opens a session on its own copy of the database.
fn session() -> Session {
    let env = SOUND.snapshot();
    env.set_space_limit(Some(64 << 20));
    let mut session = open(&env).connect().expect("a session");
    run(&mut session, "USE d").expect("the database");
    session
}

fn run(session: &mut Session, sql: &str) -> Result<(), MysqlError> {
    let outcome = session.execute(sql)?;
    drain(session, outcome)
}

/// Reads every value in the form that a client would see.
fn drain(session: &mut Session, outcome: Outcome) -> Result<(), MysqlError> {
    let Outcome::Rows(mut stream) = outcome else { return Ok(()) };
    let types = stream.types();
    let mut text = Vec::new();
    while let Some(batch) = stream.next_batch(session)? {
        let columns = TextColumns::new(&batch, &types);
        for row in 0..batch.rows {
            for column in 0..types.len() {
                text.clear();
                columns.append(row, column, &mut text);
            }
        }
    }
    Ok(())
}

pub(crate) fn target(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for statement in split_statements(&text, LexMode::default()) {
        one(statement);
    }
}

fn one(sql: &str) {
    if let Some(shape) = shape_of(sql, LexMode::default()) {
        for literal in &shape.literals {
            literal.value(sql, LexMode::default());
        }
    }
    let first =
        sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("").to_ascii_uppercase();
    match first.as_str() {
        "CREATE" | "ALTER" | "DROP" | "RENAME" | "TRUNCATE" | "REPLACE" | "INSERT" | "UPDATE" | "DELETE" => {
            // The database is a copy that is dropped, so that the next statement finds the same state.
            let mut session = session();
            let _ = session.prepare(sql);
            if run(&mut session, sql).is_ok() {
                for table in ["t", "u", "v", "w"] {
                    let _ = run(&mut session, &format!("SHOW CREATE TABLE {table}"));
                    let _ = run(&mut session, &format!("SELECT * FROM {table}"));
                }
            }
        }
        _ => SESSION.with_borrow_mut(|session| {
            let Ok(prepared) = session.prepare(sql) else { return };
            let queries = ["SELECT", "WITH", "TABLE", "VALUES", "EXPLAIN", "SHOW", "DESC", "DESCRIBE", ""];
            if prepared.parameters == 0 && queries.contains(&first.as_str()) {
                let outcome = session.execute_prepared(prepared.id, &[]);
                let _ = outcome.and_then(|outcome| drain(session, outcome));
            }
            session.close_prepared(prepared.id);
        }),
    }
}
