//! Tests imports of SQLite databases.

use super::{Place, rows, run, succeed, text};
use rusqlite::Connection;

const SCHEMA: &str = r#"
CREATE TABLE person (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE UNIQUE, born DATE, score REAL DEFAULT 1.5, flag BOOLEAN,
  price DECIMAL(8, 2), "odd ""name" VARCHAR(30) DEFAULT 'it''s \x', made DATETIME DEFAULT CURRENT_TIMESTAMP, raw BLOB, mixed, CHECK (score > 0));
CREATE INDEX by_born ON person (born DESC, score);
CREATE INDEX partial ON person (score) WHERE score > 1;
CREATE TABLE pet (owner INTEGER REFERENCES Person ON DELETE CASCADE, tag TEXT, note TEXT, PRIMARY KEY (owner, tag)) WITHOUT ROWID;
CREATE TABLE lost (x INTEGER REFERENCES gone (id));
CREATE VIEW adults AS SELECT name || '!' AS "who is", id FROM person WHERE born < '2000-01-01';
CREATE VIEW stranger AS SELECT julianday(born) FROM person;
CREATE TRIGGER tr AFTER INSERT ON pet BEGIN SELECT 1; END;
INSERT INTO person (id, name, born, score, flag, price, "odd ""name", made, raw, mixed) VALUES
  (1, 'Ann', '1990-02-28', 2.25, 1, 9.99, 'é', '2024-01-01 10:00:00', x'00FF', 5),
  (7, 'ann2', NULL, 3, 0, 12, NULL, '2024-01-01T10:00:00.5', NULL, 'text');
INSERT INTO pet VALUES (1, 'a', NULL), (7, 'A', 'long');
"#;

#[test]
fn tables_keys_rows_and_views_are_taken_over_and_the_rest_is_listed() {
    let place = Place::new();
    let path = place.path("s.db");
    Connection::open(&path).unwrap().execute_batch(SCHEMA).unwrap();
    let (code, _, err) = run(&["import", text(&place.path("no")), text(&path), "-D", "d"]);
    assert!(code == 1 && err.contains("--skip-unsupported"), "{err}");
    assert_eq!(rows(&place.path("no"), "SHOW DATABASES LIKE 'd'"), "");
    let dir = place.path("db");
    let (code, _, err) = run(&["import", text(&dir), text(&path), "-D", "d", "--skip-unsupported"]);
    assert_eq!(code, 0, "{err}");
    for what in ["CHECK", "index partial", "trigger tr", "view stranger", "foreign key to gone"] {
        assert!(err.contains(what), "{what}: {err}");
    }
    let person = rows(
        &dir,
        "SELECT id, name, born, score, flag, price, `odd \"name`, made, HEX(raw), mixed FROM d.person ORDER BY id",
    );
    assert_eq!(
        person,
        "1\tAnn\t1990-02-28\t2.25\t1\t9.99\té\t2024-01-01 10:00:00.000000\t00FF\t5\n\
         7\tann2\tNULL\t3\t0\t12.00\tNULL\t2024-01-01 10:00:00.500000\tNULL\ttext\n"
    );
    assert_eq!(rows(&dir, "SELECT * FROM d.adults"), "Ann!\t1\n");
    let create = rows(&dir, "SHOW CREATE TABLE d.person");
    for part in [
        "bigint NOT NULL AUTO_INCREMENT",
        "date DEFAULT NULL",
        "decimal(8,2)",
        "varchar(30)",
        "KEY `by_born` (`born` DESC,`score`)",
        "it''s",
    ] {
        assert!(create.contains(part), "{part}: {create}");
    }
    // Keys compare as before: case matters in one, and not in the other.
    let code = |sql: &str| run(&["shell", text(&dir), "-e", sql]).2;
    assert!(code("INSERT INTO d.person (name) VALUES ('ANN')").contains("1062"));
    assert!(code("INSERT INTO d.pet VALUES (1, 'A', NULL)").is_empty());
    assert!(code("INSERT INTO d.pet VALUES (2, 'A', NULL)").contains("1452"));
    succeed(&["shell", text(&dir), "-e", "DELETE FROM d.person WHERE id = 1"]);
    assert_eq!(rows(&dir, "SELECT COUNT(*) FROM d.pet"), "1\n");
}

#[test]
fn an_import_that_fails_leaves_nothing_that_it_has_made() {
    let place = Place::new();
    let path = place.path("s.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch(
            "CREATE TABLE a (id INTEGER PRIMARY KEY, b REAL); CREATE TABLE b (id INTEGER REFERENCES a, x REAL); CREATE VIEW v AS SELECT id FROM a;
             INSERT INTO a VALUES (1, 1.5); INSERT INTO b VALUES (1, 1.5), (1, 9e999);",
        )
        .unwrap();
    let dir = place.path("db");
    let import = || run(&["import", text(&dir), text(&path), "-D", "d"]);
    let (code, _, err) = import();
    assert!(code == 1 && err.contains("table b, row 2") && err.contains("nothing of"), "{err}");
    assert_eq!(rows(&dir, "SHOW DATABASES LIKE 'd'"), "", "nor the database");
    // Existing tables stay, and conflicts are found before anything is loaded.
    succeed(&["shell", text(&dir), "-e", "CREATE DATABASE d; CREATE TABLE d.b (mine INT)"]);
    let (code, _, err) = import();
    assert!(code == 1 && err.contains("'b' already exists"), "{err}");
    assert_eq!(rows(&dir, "SHOW TABLES FROM d"), "b\n");
    succeed(&["shell", text(&dir), "-e", "DROP TABLE d.b"]);
    Connection::open(&path).unwrap().execute_batch("DELETE FROM b WHERE x > 2").unwrap();
    assert_eq!(import().0, 0);
    assert_eq!(rows(&dir, "SELECT v.id, x FROM d.v JOIN d.b USING (id)"), "1\t1.5\n");
}

#[test]
fn a_damaged_database_is_an_error_and_fills_no_table_in_part() {
    let place = Place::new();
    let path = place.path("s.db");
    let sqlite = Connection::open(&path).unwrap();
    sqlite
        .execute_batch(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);
             WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 20000) INSERT INTO t SELECT n, hex(randomblob(20)) FROM c;",
        )
        .unwrap();
    drop(sqlite);
    let whole = std::fs::read(&path).unwrap();
    for (name, bytes) in [
        ("short", whole[..whole.len() / 2].to_vec()),
        ("zeros", {
            let mut bytes = whole.clone();
            let middle = bytes.len() / 2;
            bytes[middle..middle + 20_000].fill(0);
            bytes
        }),
    ] {
        let file = place.file("damaged.db", bytes);
        let dir = place.path(name);
        let (code, _, err) = run(&["import", text(&dir), text(&file), "-D", "d"]);
        assert!(code == 1 && err.contains("damaged.db"), "{name}: {err}");
        let (code, out, _) = run(&["shell", text(&dir), "-N", "-e", "SELECT COUNT(*) FROM d.t"]);
        assert!(code != 0 || out.trim() == "0", "{name}: {out}");
    }
}
