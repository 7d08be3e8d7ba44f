//! mysql_async: its pool, which resets connections, batches, streamed results, LOAD DATA LOCAL.

use crate::{Failure, Outcome, Server, Way, ensure, within};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use mysql_async::prelude::{BatchQuery, Query, Queryable, WithParams};
use mysql_async::{
    Compression, Conn, Deserialized, Error, Opts, OptsBuilder, Pool, PoolConstraints, PoolOpts, Serialized,
    SslOpts, TxOpts, Value, params,
};
use rust_decimal::Decimal;
use serde_json::json;
use time::macros::{date, datetime};
use time::{Date, PrimitiveDateTime};

fn options(server: &Server, way: Way) -> OptsBuilder {
    let options = OptsBuilder::default().user(Some("root")).pass(Some(&server.password)).prefer_socket(false);
    let tcp = options.clone().ip_or_hostname("localhost").tcp_port(server.port);
    match way {
        // TCP connections are compressed.
        Way::Tcp => tcp.compression(Some(Compression::fast())),
        Way::Tls => {
            let ssl = SslOpts::default()
                .with_root_certs(vec![server.authority.clone().into()])
                .with_disable_built_in_roots(true);
            tcp.ssl_opts(Some(ssl))
        }
        Way::Socket => options.socket(Some(&server.socket)),
    }
}

pub async fn run(server: &Server, way: Way) -> Outcome {
    let mut connection = Conn::new(options(server, way)).await?;
    let cipher: Option<(String, String)> = connection.query_first("SHOW STATUS LIKE 'Ssl_cipher'").await?;
    ensure("encrypted", cipher.is_some_and(|(_, cipher)| !cipher.is_empty()), way == Way::Tls)?;
    // Several statements in one text, each of which may return rows.
    connection
        .query_drop("DROP DATABASE IF EXISTS clients_async; CREATE DATABASE clients_async; USE clients_async")
        .await?;
    connection.disconnect().await?;
    let constraints = PoolConstraints::new(1, 3).ok_or("no pool")?;
    let options_of_pool: Opts = options(server, way)
        .db_name(Some("clients_async"))
        .pool_opts(PoolOpts::default().with_constraints(constraints))
        .into();
    let pool = Pool::new(options_of_pool);
    let mut connection = pool.get_conn().await?;
    types(&mut connection).await.map_err(within("types"))?;
    batches(&mut connection).await.map_err(within("batches"))?;
    results(&mut connection).await.map_err(within("results"))?;
    transactions(&mut connection).await.map_err(within("transactions"))?;
    load(&mut connection).await.map_err(within("load"))?;
    reset(&mut connection).await.map_err(within("reset"))?;
    drop(connection);
    together(&pool).await.map_err(within("together"))?;
    pool.disconnect().await?;
    match Conn::new(options(server, way).pass(Some("wrong"))).await {
        Err(Error::Server(error)) => ensure("a wrong password", error.code, 1045),
        other => Err(format!("a wrong password: {other:?}").into()),
    }
}

type Numbers = (i8, u8, i64, u64, f32, f64, Decimal, u16);
type Moments = (Date, PrimitiveDateTime, PrimitiveDateTime, time::Duration);
type Others = (String, Vec<u8>, Vec<u8>, String, Deserialized<serde_json::Value>);

async fn types(connection: &mut Conn) -> Outcome {
    "CREATE TABLE types (id INT PRIMARY KEY, i8 TINYINT, u8 TINYINT UNSIGNED, i64 BIGINT, u64 BIGINT UNSIGNED, f FLOAT, d DOUBLE,
        n DECIMAL(20, 4), y YEAR, day DATE, moment DATETIME(6), stamp TIMESTAMP(6) NULL, at TIME(6), t LONGTEXT, bl LONGBLOB, bits BIT(9),
        en ENUM('one', 'two'), j JSON)"
        .ignore(&mut *connection)
        .await?;
    let decimal = Decimal::new(-123_456_789_012_345_678, 4);
    let moment: PrimitiveDateTime = datetime!(2024-02-29 23:59:59.000_001);
    let at = -(time::Duration::hours(838)
        + time::Duration::minutes(59)
        + time::Duration::microseconds(58_999_999));
    let text = "é🦀".repeat(40_000);
    let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let document = json!({"k": [1, 2.5, null, "é🦀"]});
    let insert = connection
        .prep("INSERT INTO types VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .await?;
    let values: Vec<Value> = vec![
        1.into(),
        i8::MIN.into(),
        u8::MAX.into(),
        i64::MIN.into(),
        u64::MAX.into(),
        1.5_f32.into(),
        f64::MIN_POSITIVE.into(),
        decimal.into(),
        2155.into(),
        date!(1000 - 01 - 01).into(),
        moment.into(),
        moment.into(),
        at.into(),
        text.as_str().into(),
        bytes.as_slice().into(),
        b"\x01\x01".as_slice().into(),
        "two".into(),
        Serialized(&document).into(),
    ];
    connection.exec_drop(&insert, values).await?;
    ensure("rows affected", connection.affected_rows(), 1)?;
    let nulls = [vec![Value::from(2)], vec![Value::NULL; 17]].concat();
    connection.exec_drop(&insert, nulls).await?;
    let numbers: Option<Numbers> =
        connection.exec_first("SELECT i8, u8, i64, u64, f, d, n, y FROM types WHERE id = ?", (1,)).await?;
    ensure(
        "numbers",
        numbers,
        Some((i8::MIN, u8::MAX, i64::MIN, u64::MAX, 1.5, f64::MIN_POSITIVE, decimal, 2155)),
    )?;
    let sql = "SELECT day, moment, stamp, at FROM types WHERE id = 1";
    for moments in
        [connection.exec_first::<Moments, _, _>(sql, ()).await?, connection.query_first(sql).await?]
    {
        ensure("moments", moments, Some((date!(1000 - 01 - 01), moment, moment, at)))?;
    }
    let sql = "SELECT t, bl, bits, en, j FROM types WHERE id = 1";
    for others in [connection.exec_first::<Others, _, _>(sql, ()).await?, connection.query_first(sql).await?]
    {
        let (found, blob, bits, member, json) = others.ok_or("no row")?;
        ensure("long values", found == text && blob == bytes, true)?;
        ensure("others", (bits, member, json.0), (vec![1, 1], "two".into(), document.clone()))?;
    }
    let row: Option<mysql_async::Row> = connection.exec_first("SELECT * FROM types WHERE id = 2", ()).await?;
    let values = row.ok_or("no row")?.unwrap();
    ensure("NULLs", values.iter().filter(|value| **value == Value::NULL).count(), 17)
}

async fn batches(connection: &mut Conn) -> Outcome {
    "CREATE TABLE batch (id BIGINT PRIMARY KEY AUTO_INCREMENT, n INT NOT NULL, t VARCHAR(40))"
        .ignore(&mut *connection)
        .await?;
    "INSERT INTO batch (n, t) VALUES (:n, :t)"
        .with((0..500).map(
            |number| params! { "n" => number, "t" => (number % 2 == 0).then(|| format!("é🦀 {number}")) },
        ))
        .batch(&mut *connection)
        .await?;
    ensure("last_insert_id", connection.last_insert_id(), Some(500))?;
    let found: Option<(i64, i64)> = connection.query_first("SELECT COUNT(*), COUNT(t) FROM batch").await?;
    ensure("rows of a batch", found, Some((500, 250)))?;
    let same: Vec<i32> = "SELECT n FROM batch WHERE n < :n OR n < :n ORDER BY n"
        .with(params! { "n" => 3 })
        .fetch(&mut *connection)
        .await?;
    ensure("a parameter that is named twice", same, vec![0, 1, 2])
}

/// Several results of one text, and a result of many rows that is not kept.
async fn results(connection: &mut Conn) -> Outcome {
    let mut result = connection.query_iter("SELECT 1 UNION ALL SELECT 2; DO 1; SELECT 'x'").await?;
    let numbers: Vec<i32> = result.collect().await?;
    ensure("the first result", numbers, vec![1, 2])?;
    let none: Vec<mysql_async::Row> = result.collect().await?;
    ensure("a result without rows", none.len(), 0)?;
    let texts: Vec<String> = result.collect().await?;
    ensure("the third result", texts, vec!["x".into()])?;
    result.drop_result().await?;
    let sql = "SELECT a.id, b.t FROM batch a, batch b WHERE b.id <= ?";
    let mut rows = connection.exec_stream::<(i64, Option<String>), _, _>(sql, (100,)).await?;
    let (mut count, mut texts) = (0, 0);
    while let Some((_, text)) = rows.try_next().await? {
        count += 1;
        texts += i32::from(text.is_some());
    }
    drop(rows);
    ensure("rows that are streamed", (count, texts), (50_000, 25_000))?;
    // A result left halfway: the connection reads the rest of it.
    let mut rows = connection
        .query_stream::<(i64, i64), _>("SELECT a.id, b.id FROM batch a, batch b LIMIT 100000")
        .await?;
    rows.next().await.ok_or("no row")??;
    drop(rows);
    ensure("after it", connection.query_first("SELECT 7").await?, Some(7))
}

async fn transactions(connection: &mut Conn) -> Outcome {
    let count = "SELECT COUNT(*) FROM batch";
    let mut transaction = connection.start_transaction(TxOpts::default()).await?;
    transaction.query_drop("DELETE FROM batch").await?;
    ensure("rows deleted", transaction.affected_rows(), 500)?;
    ensure("inside", transaction.query_first(count).await?, Some(0))?;
    transaction.rollback().await?;
    ensure("undone", connection.query_first(count).await?, Some(500))?;
    let mut transaction = connection.start_transaction(TxOpts::default().with_readonly(true).clone()).await?;
    match transaction.query_drop("DELETE FROM batch").await {
        Err(Error::Server(error)) => ensure("a transaction that only reads", error.code, 1792)?,
        other => return Err(Failure::from(format!("a transaction that only reads: {other:?}"))),
    }
    transaction.commit().await?;
    match connection.query_drop("INSERT INTO batch (id, n) VALUES (1, 1)").await {
        Err(Error::Server(error)) => {
            ensure("a key twice", (error.code, error.state.as_str()), (1062, "23000"))
        }
        other => Err(format!("a key twice: {other:?}").into()),
    }
}

async fn load(connection: &mut Conn) -> Outcome {
    "SET GLOBAL local_infile = ON".ignore(&mut *connection).await?;
    "CREATE TABLE loaded (id INT PRIMARY KEY, t VARCHAR(40))".ignore(&mut *connection).await?;
    connection.set_infile_handler(async {
        // Pieces end anywhere.
        let lines: String = (0..50_000).map(|number| format!("{number},\"é, {number}\"\n")).collect();
        let pieces: Vec<_> =
            lines.as_bytes().chunks(4097).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        Ok(stream::iter(pieces).boxed())
    });
    let load =
        r#"LOAD DATA LOCAL INFILE 'anything' INTO TABLE loaded FIELDS TERMINATED BY ',' ENCLOSED BY '"'"#;
    load.ignore(&mut *connection).await?;
    let found: Option<(i64, String)> = connection.query_first("SELECT COUNT(*), MAX(t) FROM loaded").await?;
    ensure("rows of a file", found, Some((50_000, "é, 9999".into())))?;
    ensure("after it", connection.query_first("SELECT 7").await?, Some(7))
}

/// COM_RESET_CONNECTION drops variables, temporary tables and transactions, but keeps the database.
async fn reset(connection: &mut Conn) -> Outcome {
    connection
        .query_drop("SET @x = 1; CREATE TEMPORARY TABLE temporary (a INT); BEGIN; DELETE FROM loaded")
        .await?;
    ensure("reset", connection.reset().await?, true)?;
    let found: Option<(Option<i32>, String, i64)> =
        connection.query_first("SELECT @x, DATABASE(), (SELECT COUNT(*) FROM loaded)").await?;
    ensure("after a reset", found, Some((None, "clients_async".into(), 50_000)))?;
    match connection.query_drop("SELECT * FROM temporary").await {
        Err(Error::Server(error)) => ensure("a temporary table", error.code, 1146),
        other => Err(format!("a temporary table: {other:?}").into()),
    }
}

/// Runs more tasks than the pool has connections.
async fn together(pool: &Pool) -> Outcome {
    let tasks: Vec<_> = (0..12_i32)
        .map(|number| {
            let pool = pool.clone();
            tokio::spawn(async move {
                let mut connection = pool.get_conn().await?;
                connection.exec_drop("INSERT INTO batch (n, t) VALUES (?, 'task')", (number,)).await?;
                connection
                    .exec_first::<i64, _, _>(
                        "SELECT COUNT(*) FROM batch WHERE t = 'task' AND n = ?",
                        (number,),
                    )
                    .await
            })
        })
        .collect();
    for task in tasks {
        ensure("a row of a task", task.await??, Some(1))?;
    }
    Ok(())
}
