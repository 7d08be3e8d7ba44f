//! Tests the embedded API from outside: rows, parameters, transactions, Arrow, errors, several connections,
//! reopening.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use leafline::{Connection, Database, DeviceClass, DiskModel, Error, OpenOptions, Reader, Table, Value};
use std::time::Duration;

fn database() -> (tempfile::TempDir, Database) {
    let holder = tempfile::tempdir().expect("a directory");
    let database = Database::open(holder.path().join("db")).expect("a database");
    (holder, database)
}

fn with_table(database: &Database) -> Connection {
    let mut connection = database.connect().expect("a connection");
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR(50))"] {
        connection.execute(sql, ()).expect(sql);
    }
    connection
}

fn count(connection: &mut Connection) -> i64 {
    let row = connection.query("SELECT COUNT(*) FROM d.t", ()).expect("rows").next().expect("a row");
    row.and_then(|row| row.get(0)).expect("a number")
}

#[test]
fn rows_stream_over_many_batches() {
    let (_holder, database) = database();
    let mut connection = with_table(&database);
    let insert = connection.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
    assert_eq!(insert.parameter_count(), 2);
    let mut transaction = connection.transaction().unwrap();
    for id in 0..20_000_i64 {
        let name = (id % 3 != 0).then(|| format!("name {id}"));
        assert_eq!(insert.execute(&mut transaction, (id, name)).unwrap().rows_affected, 1);
    }
    transaction.commit().unwrap();
    let mut expected = 0;
    for row in connection.query("SELECT id, name FROM t ORDER BY id", ()).unwrap() {
        let row = row.unwrap();
        assert_eq!(row.get::<i64>("ID").unwrap(), expected);
        let name: Option<String> = row.get(1).unwrap();
        assert_eq!(name, (expected % 3 != 0).then(|| format!("name {expected}")));
        expected += 1;
    }
    assert_eq!(expected, 20_000);
    // After rows are dropped half way, the connection is usable.
    assert!(connection.query("SELECT id FROM t", ()).unwrap().next().is_some());
    assert_eq!(count(&mut connection), 20_000);
}

#[test]
fn calls_have_several_results_which_are_given_up_when_they_are_dropped() {
    let (_holder, database) = database();
    let mut connection = with_table(&database);
    let body = "BEGIN INSERT INTO t VALUES (a, 'x'); SELECT a; SELECT id, name FROM t; SET b = a * 2; \
                INSERT INTO t VALUES (a + 1, 'y'); END";
    connection.execute(&format!("CREATE PROCEDURE p(a INT, OUT b INT) {body}"), ()).unwrap();
    let call = connection.prepare("CALL p(?, ?)").unwrap();
    assert_eq!(call.execute(&mut connection, (1, None::<i64>)).unwrap().rows_affected, 1);
    let out = connection.out_parameters().unwrap().unwrap();
    assert_eq!((out.get::<i64>("b").unwrap(), count(&mut connection)), (2, 2));
    assert!(connection.out_parameters().unwrap().is_none());
    // Dropped at the first query.
    assert!(call.query(&mut connection, (10, None::<i64>)).unwrap().next().is_some());
    assert!(connection.out_parameters().unwrap().is_none());
    assert_eq!(count(&mut connection), 3);
    let mut rows = connection.query("CALL p(?, ?)", (20, None::<i64>)).unwrap();
    assert!(rows.next_result().unwrap(), "rows that were not read are dropped");
    assert_eq!((rows.columns().len(), rows.by_ref().count()), (2, 4));
    assert!(!rows.next_result().unwrap() && !rows.next_result().unwrap());
    assert!(rows.columns().is_empty() && rows.next().is_none());
    drop(rows);
    assert_eq!(connection.out_parameters().unwrap().unwrap().get::<i64>(0).unwrap(), 40);
    let mut batches = connection.query_arrow("CALL p(?, ?)", (30, None::<i64>)).unwrap();
    assert_eq!(batches.next().unwrap().unwrap().num_columns(), 1);
    assert!(batches.next_result().unwrap());
    assert_eq!(batches.schema().fields().len(), 2);
    assert!(!batches.next_result().unwrap() && batches.next().is_none());
    drop(batches);
    // The error of a later statement comes from next_result, and ends the results.
    let mut rows = connection.query("CALL p(?, ?)", (29, None::<i64>)).unwrap();
    assert!(rows.next_result().unwrap());
    assert_eq!(rows.next_result().unwrap_err().code(), 1062);
    assert!(!rows.next_result().unwrap());
}

#[test]
fn arrow_batches_have_the_rows_of_the_query() {
    let (_holder, database) = database();
    let mut connection = with_table(&database);
    connection.execute("INSERT INTO t VALUES (1, 'a'), (2, NULL), (3, 'c')", ()).unwrap();
    let batches =
        connection.query_arrow("SELECT id * 2 AS twice, name FROM t WHERE id > ? ORDER BY id", (1,)).unwrap();
    let schema = batches.schema();
    assert_eq!(schema.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), ["twice", "name"]);
    let mut twice = Vec::new();
    let mut names = Vec::new();
    for batch in batches {
        let batch = batch.unwrap();
        twice.extend(batch.column(0).as_primitive::<Int64Type>().values().iter().copied());
        names.extend(batch.column(1).as_string::<i32>().iter().map(|name| name.map(str::to_owned)));
    }
    assert_eq!((twice, names), (vec![4, 6], vec![None, Some("c".to_owned())]));
    assert_eq!(connection.query_arrow("INSERT INTO t VALUES (4, 'd')", ()).unwrap().count(), 0);
    assert_eq!(count(&mut connection), 4);
}

#[test]
fn errors_have_mysqls_number_state_and_text() {
    let (_holder, database) = database();
    let mut connection = with_table(&database);
    connection.execute("INSERT INTO t VALUES (?, ?)", (1, "a")).unwrap();
    let error = connection.execute("INSERT INTO t VALUES (?, ?)", (1, "b")).unwrap_err();
    assert_eq!((error.code(), error.sqlstate()), (1062, "23000"));
    assert_eq!(error.message(), "Duplicate entry '1' for key 't.PRIMARY'");
    let row = connection.query("SELECT name, NULL AS nothing FROM t", ()).unwrap().next().unwrap().unwrap();
    assert_eq!(row.get::<String>("other").unwrap_err().code(), 1054);
    assert!(matches!(row.get::<i64>(0), Err(Error::WrongType { .. })));
    assert!(matches!(row.get::<String>(1), Err(Error::WrongType { .. })));
    assert_eq!(row.get::<Option<String>>("nothing").unwrap(), None);
    assert_eq!(row.values(), [Value::string("a"), Value::Null]);
    let one = connection.prepare("SELECT ?").unwrap();
    assert_eq!(one.query(&mut connection, ()).unwrap_err().code(), 1210);
    let mut other = database.connect().unwrap();
    assert!(matches!(one.query(&mut other, (1,)), Err(Error::ForeignStatement)));
}

#[test]
fn a_transaction_that_is_dropped_never_was() {
    let (_holder, database) = database();
    let mut connection = with_table(&database);
    let mut other = database.connect().unwrap();
    let mut transaction = connection.transaction().unwrap();
    transaction.execute("INSERT INTO t VALUES (1, 'a')", ()).unwrap();
    assert_eq!(count(&mut transaction), 1);
    assert_eq!(count(&mut other), 0, "not committed");
    assert_eq!(transaction.transaction().unwrap_err().code(), 1568);
    drop(transaction);
    assert_eq!(count(&mut connection), 0);
    let mut transaction = connection.transaction().unwrap();
    transaction.execute("INSERT INTO t VALUES (2, 'b')", ()).unwrap();
    transaction.commit().unwrap();
    assert_eq!(count(&mut other), 1);
}

#[test]
fn an_interrupt_ends_the_running_statement_only() {
    let (_holder, database) = database();
    let mut connection = with_table(&database);
    let insert = connection.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
    let mut transaction = connection.transaction().unwrap();
    for id in 0..2000 {
        insert.execute(&mut transaction, (id, "x")).unwrap();
    }
    transaction.commit().unwrap();
    let handle = connection.interrupt_handle();
    handle.interrupt();
    assert_eq!(count(&mut connection), 2000, "an interrupt between statements does nothing");
    // Eight thousand million pairs, or ten thousand checks: the statement runs until it is interrupted.
    let cross = "SELECT COUNT(*) FROM t a, t b, t c WHERE a.id + b.id + c.id = -1";
    let checks = format!("CHECK TABLE {}", ["t"; 10_000].join(", "));
    for statement in [cross, &checks] {
        let handle = handle.clone();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            handle.interrupt();
        });
        let error = connection.query(statement, ()).and_then(|mut rows| rows.next().unwrap()).unwrap_err();
        assert_eq!((error.code(), error.sqlstate()), (1317, "70100"));
        stopper.join().unwrap();
        assert_eq!(count(&mut connection), 2000);
    }
}

#[test]
fn a_database_has_the_page_size_it_was_made_with() {
    let directory = tempfile::tempdir().unwrap();
    for page_size in [4096, 8192, 16384, 32768, 65536] {
        let path = directory.path().join(page_size.to_string());
        {
            let options = OpenOptions::new().buffer_pool_size(16 << 20).page_size(page_size);
            let mut connection = options.open(&path).unwrap().connect().unwrap();
            connection.execute("CREATE DATABASE d", ()).unwrap();
            connection.execute("CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(40), KEY (b))", ()).unwrap();
            for n in 0..500 {
                connection.execute("INSERT INTO d.t VALUES (?, ?)", (n, format!("row {n}"))).unwrap();
            }
        }
        let database = OpenOptions::new().create(false).buffer_pool_size(16 << 20).open(&path).unwrap();
        let mut connection = database.connect().unwrap();
        let mut rows =
            connection.query("SELECT COUNT(*), @@innodb_page_size FROM d.t WHERE b > ''", ()).unwrap();
        let row = rows.next().unwrap().unwrap();
        assert_eq!((row.get::<i64>(0).unwrap(), row.get::<i64>(1).unwrap()), (500, page_size as i64));
    }
}

#[test]
fn committed_rows_survive_a_reopen() {
    let (holder, database) = database();
    let path = holder.path().join("db");
    with_table(&database).execute("INSERT INTO t VALUES (7, 'g')", ()).unwrap();
    assert!(matches!(Database::open(&path), Err(Error::AlreadyOpen { .. })));
    drop(database);
    let again = OpenOptions::new().create(false).buffer_pool_size(8 << 20).open(&path).unwrap();
    assert_eq!(count(&mut again.connect().unwrap()), 1);
    assert!(matches!(
        OpenOptions::new().create(false).open(holder.path().join("no")),
        Err(Error::NotFound { .. })
    ));
}

#[test]
fn a_transaction_may_be_many_times_the_buffer_pool() {
    let holder = tempfile::tempdir().expect("a directory");
    let path = holder.path().join("db");
    let database = OpenOptions::new().buffer_pool_size(8 << 20).open(&path).unwrap();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE DATABASE d", ()).unwrap();
    connection.execute("USE d", ()).unwrap();
    connection
        .execute(
            "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, s VARCHAR(600), KEY (k))",
            (),
        )
        .unwrap();
    let number = |connection: &mut Connection, sql: &str| {
        let row = connection.query(sql, ()).unwrap().next().unwrap().expect("a row");
        row.get::<i64>(0).unwrap()
    };
    let mut transaction = connection.transaction().unwrap();
    transaction
        .execute("INSERT INTO t (k, s) VALUES (1, REPEAT('x', 500)), (2, REPEAT('y', 500))", ())
        .unwrap();
    for _ in 0..14 {
        transaction.execute("INSERT INTO t (k, s) SELECT k + 1, s FROM t", ()).unwrap();
    }
    transaction.execute("UPDATE t SET k = k + 100, s = CONCAT(s, 'z')", ()).unwrap();
    transaction.execute("SAVEPOINT here", ()).unwrap();
    let deleted = transaction.execute("DELETE FROM t WHERE k > 0", ()).unwrap();
    assert_eq!(deleted.rows_affected, 2 << 14);
    transaction.execute("ROLLBACK TO here", ()).unwrap();
    transaction.commit().unwrap();
    assert_eq!(number(&mut connection, "SELECT COUNT(*) FROM t WHERE k > 100 AND LENGTH(s) = 501"), 2 << 14);
    // Each step adds the numbers of neighbours, as in Pascal's triangle.
    assert_eq!(number(&mut connection, "SELECT COUNT(*) FROM t WHERE k = 101"), 1);
    assert_eq!(number(&mut connection, "SELECT COUNT(*) FROM t WHERE k = 102"), 15);
    let mut check = connection.query("CHECK TABLE t", ()).unwrap();
    assert_eq!(check.next().unwrap().expect("a row").get::<String>(3).unwrap(), "OK");
}

#[test]
fn connections_outlive_the_handle_they_came_from() {
    let (holder, database) = database();
    let mut connection = with_table(&database);
    drop(database);
    connection.execute("INSERT INTO t VALUES (1, 'a')", ()).unwrap();
    drop(connection);
    assert_eq!(count(&mut Database::open(holder.path().join("db")).unwrap().connect().unwrap()), 1);
}

#[test]
fn plans_are_priced_for_the_device_that_is_emulated() {
    let holder = tempfile::tempdir().expect("a directory");
    let path = holder.path().join("db");
    let device = |options: OpenOptions| {
        let database = options.open(&path).expect("a database");
        let mut connection = database.connect().expect("a connection");
        let row = connection.query("SELECT @@leafline_device", ()).expect("rows").next().expect("a row");
        row.and_then(|row| row.get::<String>(0)).expect("a name")
    };
    assert_eq!(device(OpenOptions::new()), "auto");
    assert_eq!(device(OpenOptions::new().emulated_disk(DiskModel::HDD)), "hdd");
    assert_eq!(device(OpenOptions::new().emulated_disk(DiskModel::SSD)), "ssd");
    assert_eq!(device(OpenOptions::new().device(DeviceClass::Rotating)), "hdd");
    assert_eq!(
        device(OpenOptions::new().emulated_disk(DiskModel::SSD).set("leafline_device", "auto")),
        "auto"
    );
}

/// Makes a table with 100 rows, with odd and even numbers.
fn keyed(database: &Database) -> (Connection, Table) {
    let mut connection = database.connect().expect("succeeds");
    connection.execute("CREATE DATABASE d", ()).expect("succeeds");
    let columns = "a INT, b VARCHAR(20), c DECIMAL(8,2), d VARCHAR(20) UNIQUE, PRIMARY KEY (b, a)";
    connection.execute(&format!("CREATE TABLE d.t ({columns})"), ()).expect("succeeds");
    let table = database.table("d", "t").expect("succeeds");
    let mut writer = database.begin();
    for a in 0..100 {
        let b = if a % 2 == 0 { "even" } else { "odd" };
        writer.insert(&table, (a, b, "1.25", format!("d{a}"))).expect("succeeds");
    }
    writer.commit().expect("succeeds");
    (connection, table)
}

fn name_of(reader: &Reader, a: i32) -> Option<String> {
    reader.get(("odd", a), |row| row.get(3).expect("succeeds")).expect("succeeds")
}

#[test]
fn rows_are_read_by_key_without_sql() {
    let (_holder, database) = database();
    let empty = database.snapshot();
    let (_connection, table) = keyed(&database);
    assert_eq!(database.table("d", "T").unwrap_err().code(), 1146);
    assert_eq!(table.column("C"), Some(2));
    assert_eq!(empty.read(&table).unwrap_err().code(), 1412, "the table is newer");
    let snapshot = database.snapshot();
    let reader = snapshot.read(&table).unwrap();
    assert_eq!((name_of(&reader, 7).as_deref(), name_of(&reader, 8)), (Some("d7"), None));
    let mut seen = Vec::new();
    reader
        .scan(("odd",), |row| {
            seen.push((row.get::<i32>(0).unwrap(), row.bytes(3).unwrap().unwrap().to_vec()));
            seen.len() < 3
        })
        .unwrap();
    assert_eq!(seen, [(1, b"d1".to_vec()), (3, b"d3".to_vec()), (5, b"d5".to_vec())]);
    let mut rows = 0;
    reader
        .scan((), |_| {
            rows += 1;
            true
        })
        .unwrap();
    assert_eq!(rows, 100);
    assert_eq!(reader.get(("odd",), |_| ()).unwrap_err().code(), 1136);
    let wrong = reader.get(("odd", 7), |row| row.get::<i64>(3).map_err(|error| error.code()));
    assert_eq!(wrong.unwrap(), Some(Err(1366)));
}

#[test]
fn rows_are_written_by_key_without_sql() {
    let (_holder, database) = database();
    let (mut connection, table) = keyed(&database);
    let before = database.snapshot().read(&table).unwrap();
    let mut writer = database.begin();
    assert!(writer.put(&table, (7, "odd", 2, "seven")).unwrap());
    assert!(!writer.put(&table, (777, "odd", 3, None::<&str>)).unwrap());
    assert!(writer.delete(&table, ("odd", 9)).unwrap());
    assert!(!writer.delete(&table, ("odd", 9)).unwrap());
    assert_eq!(writer.put(&table, (8, "even", 1, "seven")).unwrap_err().code(), 1062);
    assert_eq!(writer.insert(&table, (7, "odd", 1, "x")).unwrap_err().code(), 1062);
    assert_eq!(name_of(&writer.read(&table).unwrap(), 7).as_deref(), Some("seven"));
    writer.commit().unwrap();
    assert_eq!(name_of(&before, 7).as_deref(), Some("d7"), "a snapshot stays as it is");
    assert_eq!(name_of(&database.snapshot().read(&table).unwrap(), 7).as_deref(), Some("seven"));
    assert_eq!(count(&mut connection), 100);

    let mut writer = database.begin();
    let too_long = writer.insert(&table, (1, "longer than twenty characters", 1, "x"));
    assert_eq!(too_long.unwrap_err().code(), 1406);
    assert_eq!(writer.insert(&table, (None::<i32>, "x", 1, "x")).unwrap_err().code(), 1048);
    assert_eq!(writer.insert(&table, (1, "x")).unwrap_err().code(), 1136);
    drop(writer);
    connection.execute("DROP TABLE d.t", ()).unwrap();
    assert_eq!(database.snapshot().read(&table).unwrap_err().code(), 1412);
}

#[test]
fn the_first_write_goes_on_from_the_newest_version_and_a_later_one_does_not() {
    let (_holder, database) = database();
    let (_connection, table) = keyed(&database);
    let (mut first, mut second, mut third) = (database.begin(), database.begin(), database.begin());
    assert_eq!(name_of(&second.read(&table).unwrap(), 7).as_deref(), Some("d7"));
    first.put(&table, (7, "odd", 3, "first")).unwrap();
    first.commit().unwrap();
    third.put(&table, (7, "odd", 4, "third")).unwrap();
    third.commit().unwrap();
    assert_eq!(second.put(&table, (7, "odd", 5, "second")).unwrap_err().code(), 1213);
    drop(second);
    assert_eq!(name_of(&database.snapshot().read(&table).unwrap(), 7).as_deref(), Some("third"));
}

fn status(connection: &mut Connection, name: &str) -> u64 {
    let sql = format!("SHOW GLOBAL STATUS LIKE '{name}'");
    let row = connection.query(&sql, ()).expect("an answer").next().expect("a row").expect("a row");
    row.get::<String>(1).expect("a string").parse().expect("a number")
}

#[test]
fn a_held_snapshot_is_visible_and_bounded() {
    let holder = tempfile::tempdir().expect("a directory");
    let options = OpenOptions::new().buffer_pool_size(8 << 20);
    let database = options.open(holder.path().join("db")).expect("a database");
    let mut connection = with_table(&database);
    let insert = connection.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
    let mut transaction = connection.transaction().unwrap();
    for id in 0..20_000_i64 {
        insert.execute(&mut transaction, (id, "x".repeat(40))).unwrap();
    }
    transaction.commit().unwrap();
    let mut reader = database.connect().unwrap();
    reader.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT", ()).unwrap();
    for round in 0..3 {
        connection.execute("UPDATE d.t SET name = ?", (format!("round {round}"),)).unwrap();
    }
    let old = "SELECT COUNT(*), MIN(id), MAX(id) FROM d.t WHERE name = REPEAT('x', 40)";
    let row = reader.query(old, ()).unwrap().next().unwrap().unwrap();
    let found: (i64, i64, i64) = (row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap());
    assert_eq!(found, (20_000, 0, 19_999));
    assert!(status(&mut connection, "Leafline_old_versions_in_files") > 0);
    // A quarter of the pool, and a little more.
    assert!(status(&mut connection, "Leafline_old_versions_bytes") <= 5 << 19);
    let report = connection.query("SHOW ENGINE LEAFLINE STATUS", ()).unwrap().next().unwrap().unwrap();
    let report: String = report.get(2).unwrap();
    for line in
        ["age of the oldest snapshot", "versions in memory", "versions in files", "snapshots given up"]
    {
        assert!(report.contains(line), "{line}: {report}");
    }
    reader.execute("COMMIT", ()).unwrap();
    let begun = std::time::Instant::now();
    while status(&mut connection, "Leafline_old_versions")
        + status(&mut connection, "Leafline_old_versions_in_files")
        > 0
    {
        assert!(begun.elapsed() < Duration::from_secs(60), "old versions are still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn sessions_that_count_in_one_row_lose_nothing() {
    const SESSIONS: i64 = 4;
    const TIMES: i64 = 50;
    for isolation in ["READ COMMITTED", "REPEATABLE READ"] {
        let (_holder, database) = database();
        let mut first = database.connect().expect("a connection");
        for sql in
            ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, n INT, m INT, UNIQUE KEY (m))"]
        {
            first.execute(sql, ()).expect("DDL");
        }
        std::thread::scope(|scope| {
            for session in 0..SESSIONS {
                let database = &database;
                scope.spawn(move || {
                    let mut connection = database.connect().expect("a connection");
                    let level = format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}");
                    connection.execute(&level, ()).expect("a setting");
                    for _ in 0..TIMES {
                        // By the primary key, and by another unique key.
                        let row = if session % 2 == 0 { "(1, 1, 1)" } else { "(2, 1, 1)" };
                        let sql = format!("INSERT INTO d.t VALUES {row} ON DUPLICATE KEY UPDATE n = n + 1");
                        connection.execute(&sql, ()).expect("a count");
                    }
                });
            }
        });
        let row =
            first.query("SELECT CAST(SUM(n) AS SIGNED) FROM d.t", ()).expect("rows").next().expect("a row");
        assert_eq!(row.and_then(|row| row.get::<i64>(0)).expect("a sum"), SESSIONS * TIMES, "{isolation}");
    }
}

#[test]
fn long_values_are_shown_whole_without_sql() {
    let (_holder, database) = database();
    let mut connection = database.connect().expect("a connection");
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE l (id INT PRIMARY KEY, a LONGTEXT, b LONGBLOB)"] {
        connection.execute(sql, ()).expect(sql);
    }
    let table = database.table("d", "l").unwrap();
    let text = |id: i32| "x".repeat(if id % 3 == 0 { 10 } else { 20_000 + id as usize });
    let mut writer = database.begin();
    for id in 0..200 {
        writer.insert(&table, (id, text(id), vec![id as u8; 30_000])).unwrap();
    }
    writer.commit().unwrap();
    let mut writer = database.begin();
    assert!(writer.delete(&table, (7,)).unwrap());
    writer.put(&table, (8, "short", Vec::new())).unwrap();
    writer.commit().unwrap();
    let reader = database.snapshot().read(&table).unwrap();
    let found =
        reader.get((4,), |row| (row.get::<String>(1).unwrap(), row.bytes(2).unwrap().map(<[u8]>::len)));
    assert_eq!(found.unwrap(), Some((text(4), Some(30_000))));
    assert_eq!(reader.get((7,), |_| ()).unwrap(), None);
    let mut ids = Vec::new();
    reader
        .scan((2,), |row| {
            let id: i32 = row.get(0).unwrap();
            let expected = if id == 8 { "short".to_owned() } else { text(id) };
            assert_eq!(row.bytes(1).unwrap(), Some(expected.as_bytes()));
            ids.push(id);
            id < 150
        })
        .unwrap();
    assert_eq!(ids, (2..=150).filter(|id| *id != 7).collect::<Vec<i32>>());
}

#[test]
fn tables_with_foreign_keys_are_not_written_without_sql() {
    let (_holder, database) = database();
    let mut connection = database.connect().expect("a connection");
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE p (id INT PRIMARY KEY)"] {
        connection.execute(sql, ()).expect(sql);
    }
    let parent = database.table("d", "p").unwrap();
    let mut writer = database.begin();
    writer.insert(&parent, (1,)).unwrap();
    writer.insert(&parent, (2,)).unwrap();
    writer.commit().unwrap();
    connection
        .execute("CREATE TABLE c (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES p (id))", ())
        .unwrap();
    connection.execute("INSERT INTO c VALUES (1)", ()).unwrap();
    let child = database.table("d", "c").unwrap();
    let mut writer = database.begin();
    assert_eq!(writer.insert(&child, (5,)).unwrap_err().code(), 1235);
    assert_eq!(writer.delete(&parent, (1,)).unwrap_err().code(), 1235);
    assert_eq!(writer.put(&parent, (3,)).unwrap_err().code(), 1235);
}

#[test]
fn variables_are_set_to_parameters() {
    let (_holder, database) = database();
    let mut connection = database.connect().expect("a connection");
    connection.execute("SET @x = ?, @y = ? + 1", ("text", 5)).expect("two variables");
    connection.execute("SET max_execution_time = ?", (7000,)).expect("a system variable");
    let sql = "SELECT @x, @y, @@max_execution_time";
    let row = connection.query(sql, ()).expect("rows").next().expect("a row").expect("its values");
    let found = (row.get::<String>(0), row.get::<i64>(1), row.get::<i64>(2));
    assert!(matches!(found, (Ok(text), Ok(6), Ok(7000)) if text == "text"));
    assert!(connection.execute("SET @x = ?", ()).is_err(), "its value is not there");
}

#[test]
fn the_log_has_another_size_at_each_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let mut rows = 0;
    for (size, bytes) in [("2M", 2 << 20), ("64M", 64 << 20), ("4194304", 4 << 20)] {
        let database = OpenOptions::new().set("innodb-redo-log-capacity", size).open(&path).unwrap();
        let mut connection = database.connect().unwrap();
        connection.execute("CREATE DATABASE IF NOT EXISTS d", ()).unwrap();
        connection
            .execute("CREATE TABLE IF NOT EXISTS d.t (id INT PRIMARY KEY, s VARBINARY(20000))", ())
            .unwrap();
        for _ in 0..20 {
            let noise = format!(
                "INSERT INTO d.t WITH RECURSIVE n (i) AS (SELECT {rows} UNION ALL SELECT i + 1 FROM n WHERE i < {rows} + 199) \
                 SELECT i, RANDOM_BYTES(1000) FROM n"
            );
            connection.execute(noise.as_str(), ()).unwrap();
            rows += 200;
        }
        let mut found = connection.query("SELECT COUNT(*), @@innodb_redo_log_capacity FROM d.t", ()).unwrap();
        let found = found.next().unwrap().unwrap();
        assert_eq!(found.get::<i64>(0).unwrap(), rows);
        assert_eq!(found.get::<i64>(1).unwrap(), bytes);
        let files = std::fs::read_dir(path.join("wal")).unwrap();
        let used: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
        // Log files of an earlier, larger capacity go when checkpoints pass them.
        let most = if size == "64M" { 64 << 20 } else { 6 << 20 };
        assert!(used <= most, "{used} bytes with {size}");
    }
    let refused = OpenOptions::new().set("innodb_page_size", "4K").open(&path);
    assert!(matches!(refused, Err(Error::Sql(error)) if error.code == 1231));
    assert!(OpenOptions::new().set("innodb_page_size", "16K").open(&path).is_ok());
}
