//! sqlx: its queries without compile-time checks, its pool, its migrations.

use crate::{Failure, Outcome, Server, Way, ensure, within};
use futures_util::TryStreamExt;
use rust_decimal::Decimal;
use serde_json::json;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlSslMode};
use sqlx::types::Json;
use sqlx::{
    Acquire, Connection, Executor, MySqlConnection, MySqlPool, Row, query, query_as, query_scalar, raw_sql,
};
use time::macros::{date, datetime, time};
use time::{Date, OffsetDateTime, PrimitiveDateTime, Time};

fn options(server: &Server, way: Way) -> MySqlConnectOptions {
    let options = MySqlConnectOptions::new().username("root").password(&server.password);
    let tcp = options.clone().host("127.0.0.1").port(server.port);
    match way {
        Way::Tcp => tcp.ssl_mode(MySqlSslMode::Disabled),
        Way::Tls => tcp.ssl_mode(MySqlSslMode::VerifyIdentity).ssl_ca(&server.authority),
        Way::Socket => options.socket(&server.socket).ssl_mode(MySqlSslMode::Disabled),
    }
}

pub async fn run(server: &Server, way: Way) -> Outcome {
    let mut connection = MySqlConnection::connect_with(&options(server, way)).await?;
    raw_sql("DROP DATABASE IF EXISTS clients_sqlx; CREATE DATABASE clients_sqlx")
        .execute(&mut connection)
        .await?;
    let cipher: (String, String) =
        query_as("SHOW STATUS LIKE 'Ssl_cipher'").fetch_one(&mut connection).await?;
    ensure("encrypted", !cipher.1.is_empty(), way == Way::Tls)?;
    connection.close().await?;
    let pool = MySqlPoolOptions::new()
        .max_connections(4)
        .connect_with(options(server, way).database("clients_sqlx"))
        .await?;
    types(&pool).await.map_err(within("types"))?;
    nulls(&pool).await.map_err(within("nulls"))?;
    transactions(&pool).await.map_err(within("transactions"))?;
    streams(&pool).await.map_err(within("streams"))?;
    many_statements(&pool).await.map_err(within("many_statements"))?;
    errors(&pool).await.map_err(within("errors"))?;
    together(&pool).await.map_err(within("together"))?;
    migrations(&pool).await.map_err(within("migrations"))?;
    pool.close().await;
    let wrong = options(server, way).password("wrong");
    match MySqlConnection::connect_with(&wrong).await {
        Err(sqlx::Error::Database(error)) => {
            ensure("a wrong password", error.code().as_deref(), Some("28000"))
        }
        other => Err(format!("a wrong password: {other:?}").into()),
    }
}

const TYPES: &str = "CREATE TABLE types (
    id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, i8 TINYINT, u8 TINYINT UNSIGNED, i16 SMALLINT, u16 SMALLINT UNSIGNED, i24 MEDIUMINT,
    u24 MEDIUMINT UNSIGNED, i32 INT, u32 INT UNSIGNED, i64 BIGINT, u64 BIGINT UNSIGNED, flag BOOL, bits BIT(11), f FLOAT, d DOUBLE,
    n DECIMAL(20, 4), day DATE, at TIME(6), moment DATETIME(6), stamp TIMESTAMP(6) NULL, y YEAR, c CHAR(9), v VARCHAR(90), t LONGTEXT,
    bi BINARY(4), vb VARBINARY(90), bl LONGBLOB, en ENUM('one', 'two'), se SET('r', 'w'), j JSON)";

/// Values of every type go in as parameters and come back unchanged.
async fn types(pool: &MySqlPool) -> Outcome {
    pool.execute(TYPES).await?;
    let moment: PrimitiveDateTime = datetime!(2024-02-29 23:59:59.000_001);
    let stamp: OffsetDateTime = datetime!(2038-01-19 03:14:07 UTC);
    let document = json!({"k": [1, 2.5, null, "é🦀"]});
    let long = "é🦀".repeat(50_000);
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let inserted = query(
        "INSERT INTO types (i8, u8, i16, u16, i24, u24, i32, u32, i64, u64, flag, bits, f, d, n, day, at, moment, stamp, y, c, v, t, bi, vb, bl, en, se, j)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(i8::MIN)
    .bind(u8::MAX)
    .bind(i16::MIN)
    .bind(u16::MAX)
    .bind(-8_388_608_i32)
    .bind(16_777_215_u32)
    .bind(i32::MIN)
    .bind(u32::MAX)
    .bind(i64::MIN)
    .bind(u64::MAX)
    .bind(true)
    .bind(0b100_0000_0001_u16)
    .bind(-1.5_f32)
    .bind(-1.797_693_134_862_315_7e308_f64)
    .bind(Decimal::new(-123_456_789_012_345_678, 4))
    .bind(date!(1000 - 01 - 01))
    .bind(time!(23:59:59.999_999))
    .bind(moment)
    .bind(stamp)
    .bind(2155_u16)
    .bind("trail")
    .bind("é🦀\\'\"\n\0")
    .bind(&long)
    .bind(&b"\x00\xff\x00\x01"[..])
    .bind(&b"\\'\"\x1a\x00"[..])
    .bind(&bytes)
    .bind("two")
    .bind("r,w")
    .bind(Json(&document))
    .execute(pool)
    .await?;
    ensure("rows affected", inserted.rows_affected(), 1)?;
    ensure("last_insert_id", inserted.last_insert_id(), 1)?;
    let row = query("SELECT * FROM types WHERE id = ?").bind(1).fetch_one(pool).await?;
    ensure("id", row.try_get("id")?, 1_u64)?;
    ensure("i8", row.try_get("i8")?, i8::MIN)?;
    ensure("u8", row.try_get("u8")?, u8::MAX)?;
    ensure("i16", row.try_get("i16")?, i16::MIN)?;
    ensure("u16", row.try_get("u16")?, u16::MAX)?;
    ensure("i24", row.try_get("i24")?, -8_388_608_i32)?;
    ensure("u24", row.try_get("u24")?, 16_777_215_u32)?;
    ensure("i32", row.try_get("i32")?, i32::MIN)?;
    ensure("u32", row.try_get("u32")?, u32::MAX)?;
    ensure("i64", row.try_get("i64")?, i64::MIN)?;
    ensure("u64", row.try_get("u64")?, u64::MAX)?;
    ensure("bool", row.try_get("flag")?, true)?;
    ensure("bits", row.try_get("bits")?, 0b100_0000_0001_u64)?;
    ensure("float", row.try_get("f")?, -1.5_f32)?;
    ensure("double", row.try_get("d")?, -1.797_693_134_862_315_7e308_f64)?;
    ensure("decimal", row.try_get("n")?, Decimal::new(-123_456_789_012_345_678, 4))?;
    ensure("date", row.try_get("day")?, date!(1000 - 01 - 01))?;
    ensure("time", row.try_get("at")?, time!(23:59:59.999_999))?;
    ensure("datetime", row.try_get("moment")?, moment)?;
    ensure("timestamp", row.try_get("stamp")?, stamp)?;
    ensure("year", row.try_get("y")?, 2155_u16)?;
    ensure("char", row.try_get("c")?, "trail".to_owned())?;
    ensure("varchar", row.try_get("v")?, "é🦀\\'\"\n\0".to_owned())?;
    ensure("longtext", row.try_get::<String, _>("t")? == long, true)?;
    ensure("binary", row.try_get("bi")?, b"\x00\xff\x00\x01".to_vec())?;
    ensure("varbinary", row.try_get("vb")?, b"\\'\"\x1a\x00".to_vec())?;
    ensure("longblob", row.try_get::<Vec<u8>, _>("bl")? == bytes, true)?;
    ensure("enum", row.try_get("en")?, "two".to_owned())?;
    ensure("set", row.try_get("se")?, "r,w".to_owned())?;
    ensure("json", row.try_get::<Json<serde_json::Value>, _>("j")?.0, document.clone())?;
    // The text protocol returns the same values.
    let row = raw_sql("SELECT bits, n, moment, stamp, j, day FROM types").fetch_one(pool).await?;
    ensure("bits of text", row.try_get(0)?, 0b100_0000_0001_u64)?;
    ensure("decimal of text", row.try_get(1)?, Decimal::new(-123_456_789_012_345_678, 4))?;
    ensure("datetime of text", row.try_get(2)?, moment)?;
    ensure("timestamp of text", row.try_get(3)?, stamp)?;
    ensure("json of text", row.try_get::<Json<serde_json::Value>, _>(4)?.0, document)?;
    ensure("date of text", row.try_get(5)?, date!(1000 - 01 - 01))
}

type Nulls = (
    Option<i8>,
    Option<u64>,
    Option<f64>,
    Option<Decimal>,
    Option<Date>,
    Option<Time>,
    Option<OffsetDateTime>,
    Option<String>,
    Option<Vec<u8>>,
);

async fn nulls(pool: &MySqlPool) -> Outcome {
    query(
        "INSERT INTO types (id, i8, u64, d, n, day, at, stamp, v, bl) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(9)
    .bind(None::<i8>)
    .bind(None::<u64>)
    .bind(None::<f64>)
    .bind(None::<Decimal>)
    .bind(None::<Date>)
    .bind(None::<Time>)
    .bind(None::<OffsetDateTime>)
    .bind(None::<&str>)
    .bind(None::<&[u8]>)
    .execute(pool)
    .await?;
    let found: Nulls = query_as("SELECT i8, u64, d, n, day, at, stamp, v, bl FROM types WHERE id = 9")
        .fetch_one(pool)
        .await?;
    ensure("NULLs", found, (None, None, None, None, None, None, None, None, None))?;
    let none: Option<(i64,)> = query_as("SELECT i64 FROM types WHERE id = 1000").fetch_optional(pool).await?;
    ensure("no row", none, None)
}

async fn transactions(pool: &MySqlPool) -> Outcome {
    raw_sql("CREATE TABLE accounts (id INT PRIMARY KEY, amount INT NOT NULL CHECK (amount >= 0)); INSERT INTO accounts VALUES (1, 10), (2, 20)")
        .execute(pool)
        .await?;
    let sum = "SELECT CAST(SUM(amount) AS SIGNED) FROM accounts";
    let mut transaction = pool.begin().await?;
    let matched =
        query("UPDATE accounts SET amount = amount WHERE id < ?").bind(3).execute(&mut *transaction).await?;
    ensure("rows that match are counted", matched.rows_affected(), 2)?;
    query("UPDATE accounts SET amount = 0").execute(&mut *transaction).await?;
    ensure("inside", query_scalar::<_, i64>(sum).fetch_one(&mut *transaction).await?, 0)?;
    ensure("outside", query_scalar::<_, i64>(sum).fetch_one(pool).await?, 30)?;
    let mut nested = transaction.begin().await?;
    query("DELETE FROM accounts").execute(&mut *nested).await?;
    nested.rollback().await?;
    let rows: i64 = query_scalar("SELECT COUNT(*) FROM accounts").fetch_one(&mut *transaction).await?;
    ensure("the inner one undone", rows, 2)?;
    drop(transaction);
    ensure("dropped", query_scalar::<_, i64>(sum).fetch_one(pool).await?, 30)?;
    let mut transaction = pool.begin().await?;
    query("UPDATE accounts SET amount = amount + 1").execute(&mut *transaction).await?;
    transaction.commit().await?;
    ensure("committed", query_scalar::<_, i64>(sum).fetch_one(pool).await?, 32)
}

/// Many rows, of which one reader takes all and another only a few.
async fn streams(pool: &MySqlPool) -> Outcome {
    const ROWS: i64 = 100_000;
    let mut connection = pool.acquire().await?;
    query("SET cte_max_recursion_depth = 1000000").execute(&mut *connection).await?;
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT i, REPEAT('x', 20) FROM n";
    let (mut count, mut sum) = (0, 0);
    let mut rows = query_as::<_, (i64, String)>(sql).bind(ROWS).fetch(&mut *connection);
    while let Some((number, text)) = rows.try_next().await? {
        count += text.len() as i64 / 20;
        sum += number;
    }
    drop(rows);
    ensure("rows", (count, sum), (ROWS, ROWS * (ROWS + 1) / 2))?;
    let mut rows = query(sql).bind(ROWS).fetch(&mut *connection);
    rows.try_next().await?.ok_or("no row")?;
    drop(rows);
    ensure(
        "after a result that was left",
        query_scalar::<_, i64>("SELECT 7").fetch_one(&mut *connection).await?,
        7,
    )
}

/// More statements than a connection caches, so that some are closed.
async fn many_statements(pool: &MySqlPool) -> Outcome {
    let mut connection = pool.acquire().await?;
    for number in 0..250_i64 {
        let sql = format!("SELECT CAST(? AS SIGNED) + {number}");
        let found: i64 = query_scalar(sqlx::AssertSqlSafe(sql)).bind(1).fetch_one(&mut *connection).await?;
        ensure("a statement", found, number + 1)?;
    }
    let unkept: i64 = query_scalar("SELECT CAST(? AS SIGNED)")
        .bind(3)
        .persistent(false)
        .fetch_one(&mut *connection)
        .await?;
    ensure("a statement that is not kept", unkept, 3)?;
    connection.ping().await?;
    Ok(())
}

async fn errors(pool: &MySqlPool) -> Outcome {
    raw_sql("CREATE TABLE parts (id INT PRIMARY KEY, account INT NOT NULL, FOREIGN KEY (account) REFERENCES accounts (id))").execute(pool).await?;
    let error = async |sql: &'static str| -> Outcome<Box<dyn sqlx::error::DatabaseError>> {
        match query(sql).execute(pool).await {
            Err(sqlx::Error::Database(error)) => Ok(error),
            other => Err(Failure::from(format!("{sql}: {other:?}"))),
        }
    };
    ensure("a key twice", error("INSERT INTO accounts VALUES (1, 1)").await?.is_unique_violation(), true)?;
    ensure("no parent", error("INSERT INTO parts VALUES (1, 9)").await?.is_foreign_key_violation(), true)?;
    ensure("a check", error("INSERT INTO accounts VALUES (3, -1)").await?.is_check_violation(), true)?;
    let unknown = error("SELECT * FROM missing").await?;
    ensure("no table", unknown.code().as_deref(), Some("42S02"))?;
    ensure("no grammar", error("SELEC 1").await?.code().as_deref(), Some("42000"))
}

/// Runs more tasks than there are connections.
async fn together(pool: &MySqlPool) -> Outcome {
    let tasks: Vec<_> = (0..16_i64)
        .map(|number| {
            let pool = pool.clone();
            tokio::spawn(async move {
                query("INSERT INTO accounts VALUES (?, ?)")
                    .bind(100 + number)
                    .bind(number)
                    .execute(&pool)
                    .await?;
                query_scalar::<_, i64>("SELECT COUNT(*) FROM accounts WHERE id = ?")
                    .bind(100 + number)
                    .fetch_one(&pool)
                    .await
            })
        })
        .collect();
    for task in tasks {
        ensure("a row of a task", task.await??, 1)?;
    }
    Ok(())
}

/// Runs what sqlx's migrations need: named locks, a table of applied migrations.
async fn migrations(pool: &MySqlPool) -> Outcome {
    let migrator =
        sqlx::migrate::Migrator::new(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations"))
            .await?;
    migrator.run(pool).await?;
    migrator.run(pool).await?;
    let rows: i64 = query_scalar("SELECT COUNT(*) FROM notes").fetch_one(pool).await?;
    ensure("rows of a migration", rows, 2)?;
    let ran: i64 =
        query_scalar("SELECT COUNT(*) FROM _sqlx_migrations WHERE success").fetch_one(pool).await?;
    ensure("migrations", ran, 2)
}
