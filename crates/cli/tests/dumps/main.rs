//! Tests `leafline dump` and `leafline import`: every format reads back unchanged; input that is damaged, cut off or
//! not supported is reported and leaves no table half full.

mod damage;
mod dump;
mod import;
mod sqlite;
#[path = "../../../../tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A database with every type.
const EVERY_TYPE: &str = include_str!("../../../../tests/clients/every_type.sql");

/// Further cases: generated columns, heaps, packed indexes, names that need quotes, views that depend on views.
const MORE: &str = "
CREATE TABLE gen (a INT PRIMARY KEY, b INT AS (a * 2) STORED, c VARCHAR(20) AS (CONCAT('x', a)), KEY (b)) PACK_KEYS=1;
INSERT INTO gen (a) VALUES (1), (2);
CREATE TABLE `odd ``name'' \"x\"\n%/..` (`a\n'` INT, `b``` VARCHAR(20), KEY `k` (`b```) PACKED) ENGINE=MyISAM;
INSERT INTO `odd ``name'' \"x\"\n%/..` VALUES (1, 'a\\nb;'), (2, '-- /*');
CREATE TABLE nothing (a INT);
CREATE VIEW a_view AS SELECT b.n FROM `on v` b;
CREATE ALGORITHM=TEMPTABLE SQL SECURITY INVOKER VIEW `by SQL SECURITY x` AS SELECT id FROM parent;
SET SESSION sql_mode = 'ALLOW_INVALID_DATES';
CREATE TABLE days (d DATE, t DATETIME, f FLOAT, b BIT(64));
INSERT INTO days VALUES ('0000-00-00', '0000-00-00 00:00:00', 16777217, 18446744073709551615), ('2024-02-31', '2024-00-10 01:02:03', 0.1, 0);
";

/// Exit code, standard output, standard error.
type Ran = (i32, String, String);

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leafline"));
    command.env("HOME", "/nonexistent").env_remove("MYSQL_PWD").stdin(Stdio::null());
    command
}

fn outcome(output: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Runs the binary with words; paths among them are words, too.
fn run(words: &[&str]) -> Ran {
    outcome(command().args(words).output().expect("the binary runs"))
}

/// Runs the binary with words and returns its standard output; it must succeed.
fn succeed(words: &[&str]) -> String {
    let (code, out, err) = run(words);
    assert_eq!(code, 0, "{words:?}: {err}");
    out
}

/// Returns the rows of a statement as lines.
fn rows(dir: &Path, sql: &str) -> String {
    succeed(&["shell", text(dir), "-N", "--format", "tab", "-e", sql])
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A directory for the files of a test.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// Makes a database with a script.
    fn database(&self, name: &str, script: &str) -> PathBuf {
        let dir = self.path(name);
        let file = self.file("script.sql", script);
        succeed(&["shell", text(&dir), "-e", "CREATE DATABASE d"]);
        let script = std::fs::File::open(file).expect("the script");
        let ran =
            command().args(["shell", text(&dir), "-D", "d"]).stdin(script).output().expect("the binary runs");
        let (code, _, err) = outcome(ran);
        assert_eq!(code, 0, "{err}");
        dir
    }

    /// Makes the database that tests of dumps use.
    fn full(&self) -> PathBuf {
        self.database("full", &format!("{EVERY_TYPE}{MORE}"))
    }
}
