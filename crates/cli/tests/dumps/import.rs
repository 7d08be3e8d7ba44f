//! Tests imports of SQL, CSV and Parquet.

use super::support::TestServer;
use super::{Place, rows, run, succeed, text};
use std::io::Write as _;

const MARIADB: &[u8] = include_bytes!("../../../../tests/dumps/mariadb-dump.sql");
const MYSQL: &[u8] = include_bytes!("../../../../tests/dumps/mysqldump.sql");

#[test]
fn the_dumps_of_mysql_and_mariadb_are_imported_as_the_shell_runs_them() {
    let place = Place::new();
    for (name, dump) in [("mariadb", MARIADB), ("mysql", MYSQL)] {
        let file = place.file(&format!("{name}.sql"), dump);
        let imported = place.path(name);
        succeed(&["import", text(&imported), text(&file), "-D", "d", "--skip-unsupported"]);
        let ran = place.path(&format!("{name}-shell"));
        succeed(&["shell", text(&ran), "-e", "CREATE DATABASE d"]);
        let script = std::fs::File::open(&file).unwrap();
        super::command().args(["shell", text(&ran), "-D", "d", "--force"]).stdin(script).output().unwrap();
        let (one, other) = (succeed(&["dump", text(&imported)]), succeed(&["dump", text(&ran)]));
        assert_eq!(one, other, "{name}");
        assert!(one.contains("INSERT INTO"), "{one}");
    }
}

#[test]
fn rows_of_statements_for_one_table_are_one_load() {
    let place = Place::new();
    let script = r#"
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
CREATE DATABASE d; USE d;
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(100), b BLOB, f BIT(9), x DOUBLE, n DECIMAL(20,2), g INT AS (CHAR_LENGTH(s)));
LOCK TABLES `t` WRITE; /*!40000 ALTER TABLE `t` DISABLE KEYS */; SET autocommit=0;
INSERT INTO `t` VALUES (0,'it\'s ''a'' "q"; -- no',x'00FF',b'100000001',-1.5e3,12345678901234567.89,7),(1, "d""q", 0x2700, 3, .5, -1, NULL);
-- between
INSERT INTO t VALUES (2,_utf8mb4'é\n\0',_binary 'é','',1,1,1)   ,
  (3,concat('a,', ')', 'b'), NULL, NULL, 2 * (3 + 4), NULL, LOWER(','));
insert into d.t (s, id) values ('one' 'two', 10); INSERT IGNORE INTO t (id, s) VALUES (10, 'again'), (11, 'new');
INSERT INTO t (id, s) VALUES (12, 'x') ON DUPLICATE KEY UPDATE s = 'y';
COMMIT; UNLOCK TABLES;
SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES';
INSERT INTO t (id, s) VALUES (13, 'back\slash\'),(14, LOWER('X'));
"#;
    let script =
        script.replace("INSERT INTO t (id, s) VALUES (12, 'x') ON DUPLICATE KEY UPDATE s = 'y';\n", "");
    let file = place.file("s.sql", script);
    let dir = place.path("db");
    succeed(&["import", text(&dir), text(&file)]);
    let found = rows(&dir, "SELECT id, s, HEX(b), f + 0, x, n, g FROM d.t ORDER BY id");
    let expected = "0\tit's 'a' \"q\"; -- no\t00FF\t257\t-1500\t12345678901234567.89\t19\n\
                    1\td\"q\t2700\t3\t0.5\t-1.00\t3\n\
                    2\té\\n\\0\tC3A9\t0\t1\t1.00\t3\n\
                    3\ta,)b\tNULL\tNULL\t14\tNULL\t4\n\
                    10\tonetwo\tNULL\tNULL\tNULL\tNULL\t6\n\
                    11\tnew\tNULL\tNULL\tNULL\tNULL\t3\n\
                    13\tback\\\\slash\\\\\tNULL\tNULL\tNULL\tNULL\t11\n\
                    14\tx\tNULL\tNULL\tNULL\tNULL\t1\n";
    assert_eq!(found, expected);
    // On standard input; and messages name the wrong line.
    let mut child = super::command()
        .args(["import", text(&dir), "-"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"USE d;\n\nINSERT INTO t (id) VALUES (20),\n(21),\n(20),\n(22);\n")
        .unwrap();
    let ran = child.wait_with_output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert!(
        ran.status.code() == Some(1) && err.contains("-, line 5: table d.t") && err.contains("1062"),
        "{err}"
    );
    assert_eq!(rows(&dir, "SELECT COUNT(*) FROM d.t WHERE id >= 20"), "0\n");
}

#[test]
fn unsupported_parts_are_left_out_and_listed() {
    let place = Place::new();
    let script = "CREATE DATABASE d; USE d;
CREATE TABLE `a` (\n  `id` int NOT NULL,\n  `t` text COLLATE utf8mb4_uca1400_ai_ci,\n  PRIMARY KEY (`id`),\n  FULLTEXT KEY `f` (`t`),\n  SPATIAL KEY `s` (`t`)\n) ENGINE=Aria;
INSERT INTO `a` VALUES (1,'x');
CREATE TABLE `g` (\n  `p` point NOT NULL\n) ENGINE=InnoDB;
INSERT INTO `g` VALUES (ST_GeomFromText('POINT(1 1)'));
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`r`@`%`*/ /*!50003 TRIGGER tr BEFORE INSERT ON a FOR EACH ROW BEGIN SET @x = 1; END */;;
DELIMITER ;
/*!50003 DROP PROCEDURE IF EXISTS `pr` */;
CREATE ROLE 'readers';
INSERT INTO `a` VALUES (2,'y');\n";
    let file = place.file("s.sql", script);
    let dir = place.path("db");
    let (code, _, err) = run(&["import", text(&dir), text(&file)]);
    assert!(code == 1 && err.contains("line 2: TABLE `a`") && err.contains("--skip-unsupported"), "{err}");
    let dir = place.path("again");
    let (code, _, err) = run(&["import", text(&dir), text(&file), "--skip-unsupported"]);
    assert_eq!(code, 0, "{err}");
    for what in ["SPATIAL KEY `s`", "ENGINE=Aria", "utf8mb4_uca1400_ai_ci", "TABLE `g`"] {
        assert!(err.contains(what), "{what}: {err}");
    }
    assert!(!err.contains("`pr`"), "{err}");
    assert_eq!(rows(&dir, "SELECT * FROM d.a"), "1\tx\n2\ty\n");
    assert_eq!(rows(&dir, "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS"), "tr\n");
}

#[test]
fn csv_makes_a_table_whose_types_fit_or_fills_one() {
    let place = Place::new();
    let csv = "\u{feff}id,amount,at,note,code\n1,1.50,2024-02-29 10:00:00,\"a \"\"b\"\",\nc\",007\n2,,2024-03-01T00:00:00.5,,010\n\n3,-20,2024-03-01,\"\",x\n";
    let file = place.file("in.csv", csv);
    let dir = place.path("db");
    succeed(&["import", text(&dir), text(&file), "-D", "d", "--primary-key", "id"]);
    let expected = "1\t1.50\t2024-02-29 10:00:00.000000\ta \"b\",\\nc\t007\n2\tNULL\t2024-03-01 00:00:00.500000\tNULL\t010\n\
                    3\t-20.00\t2024-03-01 00:00:00.000000\t\tx\n";
    assert_eq!(rows(&dir, "SELECT * FROM d.`in` ORDER BY id"), expected);
    let keys = rows(
        &dir,
        "SELECT GROUP_CONCAT(COLUMN_NAME) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd' AND COLUMN_KEY = 'PRI'",
    );
    assert_eq!(keys, "id\n");

    let tsv = place.file("more.tsv", "4\tx\r\n5\ty\r\n");
    succeed(&["shell", text(&dir), "-e", "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(5))"]);
    succeed(&["import", text(&dir), text(&tsv), "-D", "d", "--table", "t", "--no-header"]);
    for (text_of, line, what) in [
        ("a;b\n6;z\n7;z\n4;z\n", "line 4", "1062"),
        ("a;b\n6;z\n7;toolong\n", "line 3", "1406"),
        ("a;b\n6;z\nx;z\n", "line 3", "1366"),
        ("a;b\n6;z\n7\n", "line 3", "1 values where there are 2 columns"),
        ("a;b\n6;\"z\n", "line 2", "cut off"),
        ("a;nope\n6;z\n", "line 1", "1054"),
    ] {
        let file = place.file("wrong.csv", text_of);
        let (code, _, err) =
            run(&["import", text(&dir), text(&file), "-D", "d", "--table", "t", "--separator", ";"]);
        assert!(code == 1 && err.contains(line) && err.contains(what), "{text_of}: {err}");
        assert_eq!(rows(&dir, "SELECT * FROM d.t"), "4\tx\n5\ty\n", "{text_of}");
    }
    let (code, _, err) = run(&["import", text(&dir), text(&file)]);
    assert!(code == 1 && err.contains("--database"), "{err}");
    let sql = place.file("s.sql", "SELECT 1;");
    for words in [&["--table", "t"][..], &["--no-header"], &["--primary-key", "a"], &["--separator", ";"]] {
        let (code, _, err) = run(&[&["import", text(&dir), text(&sql)], words].concat());
        assert!(code == 1 && err.contains(words[0]), "{err}");
    }
}

#[test]
fn rows_of_half_a_megabyte_and_large_values_come_through() {
    let place = Place::new();
    let script = "CREATE TABLE big (id INT PRIMARY KEY, t LONGTEXT, b LONGBLOB);
        INSERT INTO big SELECT n.n, REPEAT(CONCAT(n.n, '''\\\\'), 16384), RANDOM_BYTES(1024) FROM (SELECT 1 n UNION SELECT 2 UNION SELECT 3) n;
        UPDATE big SET b = REPEAT(b, 3000) WHERE id = 2;";
    let dir = place.database("db", script);
    let sum = "SELECT id, MD5(t), MD5(b), LENGTH(b) FROM d.big ORDER BY id";
    for format in ["sql", "csv", "parquet"] {
        let folder = place.path(format);
        succeed(&["dump", text(&dir), "d.big", "--output", text(&folder), "--format", format]);
        let again = place.path(&format!("{format}-again"));
        let (schema, file) = (folder.join("schema.sql"), folder.join(format!("d.big.{format}")));
        if format == "sql" {
            succeed(&["import", text(&again), text(&file)]);
        } else {
            succeed(&["import", text(&again), text(&schema)]);
            succeed(&["import", text(&again), text(&file), "-D", "d", "--table", "big"]);
        }
        assert_eq!(rows(&again, sum), rows(&dir, sum), "{format}");
    }
}

#[test]
fn a_database_that_is_served_is_not_imported_into() {
    let place = Place::new();
    let dir = place.path("db");
    let server = TestServer::start(&dir, &[]);
    let file = place.file("s.sql", "SELECT 1;");
    let (code, _, err) = run(&["import", text(&dir), text(&file)]);
    assert!(code == 1 && err.contains("being served"), "{err}");
    let (code, _, err) =
        run(&["import", text(&place.path("new")), "--from", &format!("mysql://nobody@{}", server.address)]);
    assert!(code == 1 && err.contains("1045"), "{err}");
    let (code, _, err) = run(&["import", text(&place.path("new")), "--from", "mysql://127.0.0.1:1/d"]);
    assert!(code == 1 && err.contains("cannot connect"), "{err}");
}

#[test]
fn a_script_that_takes_back_what_it_did_is_refused_there() {
    let place = Place::new();
    let script = "CREATE DATABASE d; USE d; CREATE TABLE t (a INT);\nSTART TRANSACTION;\nINSERT INTO t VALUES (1);\nROLLBACK;\n";
    let file = place.file("s.sql", script);
    let dir = place.path("db");
    let (code, _, err) = run(&["import", text(&dir), text(&file)]);
    assert!(code == 1 && err.contains("line 4") && err.contains("commits as it goes"), "{err}");
}

#[test]
fn a_script_without_statements_is_noted_and_a_comment_without_an_end_is_an_error() {
    let place = Place::new();
    let dir = place.path("db");
    for empty in ["", "\n -- nothing\n;;\n/* at all */"] {
        let (code, _, err) = run(&["import", text(&dir), text(&place.file("empty.sql", empty))]);
        assert!(code == 0 && err.contains("no statement in"), "{err}");
    }
    let begin = "CREATE DATABASE IF NOT EXISTS d; USE d; CREATE TABLE IF NOT EXISTS t (a INT);\n";
    for (rest, expected) in [
        ("/* cut off\nINSERT INTO t VALUES (1);", "line 2 has no end"),
        ("SELECT 1 /* cut off\n;", "line 2 has no end"),
        ("INSERT INTO t VALUES (1);\n/* cut off", "line 3 has no end"),
        ("/*!40101 INSERT INTO t VALUES (1)", "1064"),
        ("SELECT 'cut off", "within a statement"),
    ] {
        let file = place.file("s.sql", format!("{begin}{rest}"));
        let (code, _, err) = run(&["import", text(&dir), text(&file)]);
        assert!(code == 1 && err.contains(expected), "{rest}: {err}");
        assert_eq!(rows(&dir, "SELECT * FROM d.t"), "", "{rest}");
    }
}

#[test]
fn text_of_another_character_set_is_converted() {
    let place = Place::new();
    let script = "CREATE DATABASE d; USE d; CREATE TABLE t (a VARCHAR(9));\nSET NAMES latin1;\nINSERT INTO t VALUES ('plain');\nINSERT INTO t VALUES ('\u{e9}');\n";
    let file = place.file("s.sql", script);
    let dir = place.path("db");
    let (code, _, err) = run(&["import", text(&dir), text(&file)]);
    assert_eq!(code, 0, "{err}");
    // The two bytes of the letter in UTF-8 are two characters of latin1.
    assert_eq!(rows(&dir, "SELECT * FROM d.t"), "plain\n\u{c3}\u{a9}\n");
}
