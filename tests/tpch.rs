//! The 22 queries of TPC-H at scale 0.01, loaded and run through the binary. The expected answers are those of
//! MariaDB 10.11 for the same rows.
//!
//! The queries are in `bench/tpch`, the answers in `tests/tpch`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn leafline(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_leafline")).args(words).output().expect("the binary runs");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The queries with their answers, in order of their names.
fn cases() -> Vec<(String, String, String)> {
    let mut names: Vec<String> = fs::read_dir(root().join("bench/tpch"))
        .expect("the queries")
        .filter_map(|entry| {
            entry.expect("an entry").file_name().to_str()?.strip_suffix(".sql").map(str::to_owned)
        })
        .collect();
    names.sort();
    let read = |path: String| fs::read_to_string(root().join(path)).expect("a file");
    let case = |name: String| {
        (name.clone(), read(format!("bench/tpch/{name}.sql")), read(format!("tests/tpch/{name}.tsv")))
    };
    names.into_iter().map(case).collect()
}

#[test]
fn queries_give_the_right_answers() {
    let directory = tempfile::tempdir().expect("a directory");
    let database = directory.path().join("db");
    let database = database.to_str().expect("UTF-8");
    leafline(&["tpch", database, "--scale", "0.01"]);
    let cases = cases();
    assert_eq!(cases.len(), 22);
    let shell = |sql: &str| leafline(&["shell", database, "-D", "tpch", "-e", sql]);
    let ask = |step: &str| {
        for (name, sql, answer) in &cases {
            assert_eq!(shell(sql), *answer, "{name}, {step}");
        }
    };
    ask("without indexes");
    shell(
        "CREATE INDEX i_l_partkey ON lineitem (l_partkey, l_quantity, l_shipmode, l_shipinstruct);
         CREATE INDEX i_l_suppkey_partkey ON lineitem (l_partkey, l_suppkey);
         CREATE INDEX i_l_shipdate ON lineitem (l_shipdate, l_discount, l_quantity, l_extendedprice);
         CREATE INDEX i_o_custkey ON orders (o_custkey, o_orderdate);
         CREATE INDEX i_c_mktsegment ON customer (c_mktsegment)",
    );
    ask("with indexes");
    shell("ANALYZE TABLE lineitem, orders, customer, part, supplier");
    ask("with statistics");
}
