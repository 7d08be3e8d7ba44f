//! Tests queries that several connections share, and dates that do not exist in Arrow.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use leafline::{Connection, Cut, Database, OpenOptions, Pieces};

fn database() -> (tempfile::TempDir, Database, Connection) {
    let holder = tempfile::tempdir().expect("a directory");
    let database = OpenOptions::new().page_size(4096).open(holder.path().join("db")).expect("a database");
    let mut connection = database.connect().expect("a connection");
    for sql in
        ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY (a, b DESC))"]
    {
        connection.execute(sql, ()).expect(sql);
    }
    let values: Vec<String> = (0..4000).map(|id| format!("({id}, {}, {})", id % 7, id * 31 % 1000)).collect();
    for values in values.chunks(500) {
        let sql = format!("INSERT INTO t VALUES {}", values.join(", "));
        connection.execute(&sql, ()).expect("rows");
    }
    (holder, database, connection)
}

fn cut(most: usize) -> Cut {
    Cut { most, least_rows: 1, in_index_order: true }
}

fn numbers(batch: &RecordBatch, column: usize) -> Vec<i64> {
    batch.column(column).as_primitive::<Int64Type>().values().to_vec()
}

/// Returns the first column of all pieces, each read by a thread with its own connection.
fn read(pieces: &Pieces, database: &Database) -> Vec<i64> {
    let read_one = |number: usize| {
        let mut connection = database.connect().expect("a connection");
        let batches = pieces.read(number, &mut connection).expect("a piece");
        batches.flat_map(|batch| numbers(&batch.expect("a batch"), 0)).collect::<Vec<i64>>()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..pieces.count()).map(|number| scope.spawn(move || read_one(number))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("rows")).collect()
    })
}

fn query(connection: &mut Connection, sql: &str) -> Vec<i64> {
    let batches = connection.query_arrow(sql, ()).expect(sql);
    batches.flat_map(|batch| numbers(&batch.expect("a batch"), 0)).collect()
}

#[test]
fn pieces_in_their_order_are_the_query() {
    let (_holder, database, mut connection) = database();
    let queries = [
        ("SELECT id FROM t ORDER BY id", &[(0, false)][..], 0),
        ("SELECT id FROM t WHERE id BETWEEN 500 AND 3500 ORDER BY id DESC", &[(0, true)], 0),
        ("SELECT a, b, id FROM t ORDER BY a, b DESC", &[(0, false), (1, true), (2, false)], 0),
        ("SELECT b, a FROM t WHERE a = 3 ORDER BY b DESC", &[(1, false), (0, true)], 1),
        ("SELECT b FROM t WHERE a = 3 ORDER BY b DESC", &[(0, true)], 0),
        ("SELECT id * 2, id FROM t WHERE b < 100 AND id > 7", &[(1, false)], 0),
    ];
    for (sql, order, fixed) in queries {
        for most in [1, 2, 5, 1000] {
            let pieces = connection.pieces(sql, (), cut(most)).expect(sql);
            assert!(pieces.count() <= most && (most == 1 || pieces.count() > 1), "{sql}: {}", pieces.count());
            assert_eq!((pieces.order(), pieces.fixed()), (order, fixed), "{sql}");
            assert_eq!(read(&pieces, &database), query(&mut connection, sql), "{sql}");
        }
    }
    // A query that is more than a read of one table is one piece, and a query that sorts has no order.
    for sql in [
        "SELECT COUNT(*) FROM t",
        "SELECT id FROM t ORDER BY b, id",
        "SELECT id FROM t ORDER BY id LIMIT 5",
        "SELECT 1",
    ] {
        let pieces = connection.pieces(sql, (), cut(8)).expect(sql);
        assert_eq!((pieces.count(), pieces.order()), (1, &[][..]), "{sql}");
        assert_eq!(read(&pieces, &database), query(&mut connection, sql), "{sql}");
    }
    // Pieces with few rows are not worth it.
    let few = Cut { least_rows: 1500, ..cut(8) };
    assert_eq!(connection.pieces("SELECT id FROM t", (), few).expect("pieces").count(), 2);
}

#[test]
fn pieces_are_of_one_moment() {
    let (_holder, database, mut connection) = database();
    let pieces = connection.pieces("SELECT id FROM t", (), cut(4)).expect("pieces");
    assert!(pieces.count() > 1);
    connection.execute("DELETE FROM t WHERE id % 2 = 0", ()).expect("a change");
    connection.execute("INSERT INTO t VALUES (10000, 1, 1)", ()).expect("a change");
    for _ in 0..2 {
        assert_eq!(read(&pieces, &database), (0..4000).collect::<Vec<i64>>());
    }
    assert_eq!(
        connection
            .query("SELECT COUNT(*) FROM t", ())
            .expect("rows")
            .next()
            .expect("a row")
            .and_then(|row| row.get(0))
            .ok(),
        Some(2001_i64)
    );
}

#[test]
fn statements_that_cannot_be_read_in_pieces_are_refused() {
    let (holder, database, mut connection) = database();
    let mut code =
        |sql: &str| connection.pieces(sql, (), cut(4)).map(|_| 0).unwrap_or_else(|error| error.code());
    assert_eq!(code("SELECT id FROM t FOR UPDATE"), 1235);
    assert_eq!(code("SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 3"), 1235);
    assert_eq!(code("DELETE FROM t"), 1235);
    assert_eq!(code("SHOW TABLES"), 1235);
    assert_eq!(code("SELECT id FROM none"), 1146);
    assert_eq!(code("SELECT id FROM t WHERE id = ?"), 1210);
    assert_eq!(code("SELECT id FROM t WHERE"), 1064);
    let mut transaction = connection.transaction().expect("a transaction");
    assert!(transaction.pieces("SELECT id FROM t", (), cut(4)).is_ok());
    transaction.execute("UPDATE t SET a = 100 WHERE id = 1", ()).expect("a change");
    let refused = transaction.pieces("SELECT id FROM t", (), cut(4)).expect_err("own writes");
    assert_eq!(refused.code(), 1235);
    transaction.rollback().expect("a rollback");

    let pieces = connection.pieces("SELECT id FROM t", (), cut(4)).expect("pieces");
    let mut reader = database.connect().expect("a connection");
    assert_eq!(pieces.read(pieces.count(), &mut reader).expect_err("no such piece").code(), 1210);
    let other = Database::open(holder.path().join("other")).expect("a database");
    assert!(pieces.read(0, &mut other.connect().expect("a connection")).is_err());
    // The table has changed: rows from before must not be read as rows of now.
    connection.execute("ALTER TABLE t ADD c INT", ()).expect("a change");
    assert_eq!(pieces.read(0, &mut reader).expect_err("another table").code(), 1412);
    connection.execute("DROP TABLE t", ()).expect("a change");
    assert!(pieces.read(0, &mut reader).is_err());
}

#[test]
fn dates_that_are_no_days_are_null_in_arrow() {
    let (_holder, _database, mut connection) = database();
    connection.execute("SET sql_mode = 'ALLOW_INVALID_DATES'", ()).expect("a setting");
    connection.execute("CREATE TABLE days (id INT PRIMARY KEY, day DATE, at DATETIME)", ()).expect("a table");
    let days =
        ["0000-00-00", "2024-02-30", "2023-02-29", "2024-02-29", "2024-11-31", "2024-00-10", "1969-12-31"];
    for (id, day) in days.iter().enumerate() {
        connection.execute("INSERT INTO days VALUES (?, ?, ?)", (id as i64, *day, *day)).expect("a row");
    }
    let found = connection.query_arrow("SELECT day, at FROM days ORDER BY id", ()).expect("rows");
    let batches: Vec<RecordBatch> = found.collect::<Result<_, _>>().expect("batches");
    let column = |at: usize| batches.iter().map(move |batch| batch.column(at).clone());
    let days = column(0).flat_map(|days| days.as_primitive::<Date32Type>().iter().collect::<Vec<_>>());
    assert_eq!(days.collect::<Vec<_>>(), [None, None, None, Some(19782), None, None, Some(-1)]);
    let nulls: Vec<bool> = column(1)
        .flat_map(|times| {
            let times = times.as_primitive::<TimestampMicrosecondType>().clone();
            (0..times.len()).map(move |row| times.is_null(row)).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(nulls, [true, true, true, false, true, true, false]);
}
