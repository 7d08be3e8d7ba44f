//! Each error number of the binder, with MySQL's text.

use super::{error, query};

#[track_caller]
fn check(sql: &str, code: u16, message: &str) {
    let error = error(sql);
    assert_eq!((error.code, error.message.as_str()), (code, message), "{sql}");
}

#[test]
fn unknown_names_say_where_they_stand() {
    for (sql, name, clause) in [
        ("SELECT q FROM t", "q", "field list"),
        ("SELECT t.q FROM t", "t.q", "field list"),
        ("SELECT q.a FROM t", "q.a", "field list"),
        ("SELECT test.q.a FROM t", "test.q.a", "field list"),
        ("SELECT other.t.a FROM t", "other.t.a", "field list"),
        ("SELECT t.a FROM t AS s", "t.a", "field list"),
        ("SELECT 1 FROM t WHERE q = 1", "q", "where clause"),
        ("SELECT a AS z FROM t WHERE z = 1", "z", "where clause"),
        ("SELECT 1 FROM t JOIN u ON t.q = u.a", "t.q", "on clause"),
        ("SELECT 1 FROM t JOIN u ON t.id = v.k1 JOIN v", "v.k1", "on clause"),
        ("SELECT 1 FROM t JOIN u USING (b)", "b", "from clause"),
        ("SELECT 1 FROM t GROUP BY q", "q", "group statement"),
        ("SELECT 1 FROM t GROUP BY 2", "2", "group statement"),
        ("SELECT a FROM t HAVING q = 1", "q", "having clause"),
        ("SELECT a FROM t HAVING c = 1", "c", "having clause"),
        ("SELECT a FROM t ORDER BY q", "q", "order clause"),
        ("SELECT a FROM t ORDER BY 2", "2", "order clause"),
        ("SELECT a FROM t ORDER BY 0", "0", "order clause"),
        ("SELECT a", "a", "field list"),
        ("INSERT INTO t (q) VALUES (1)", "q", "field list"),
        ("INSERT INTO t (a) VALUES (q)", "q", "field list"),
        ("UPDATE t SET q = 1", "q", "field list"),
        ("UPDATE t SET a = q", "q", "field list"),
        ("UPDATE t SET a = 1 WHERE q", "q", "where clause"),
        ("UPDATE t SET a = 1 ORDER BY q", "q", "order clause"),
        ("DELETE FROM t WHERE q", "q", "where clause"),
    ] {
        check(sql, 1054, &format!("Unknown column '{name}' in '{clause}'"));
    }
}

#[test]
fn names_of_two_tables_are_ambiguous() {
    check("SELECT a FROM t, u", 1052, "Column 'a' in field list is ambiguous");
    check("SELECT 1 FROM t, u WHERE id = 1", 1052, "Column 'id' in where clause is ambiguous");
    check("SELECT 1 FROM t JOIN u ON id = 1", 1052, "Column 'id' in on clause is ambiguous");
    check("SELECT a AS x, c AS x FROM t ORDER BY x", 1052, "Column 'x' in order clause is ambiguous");
    check(
        "SELECT a AS x, c AS x, a + 1 AS x FROM t ORDER BY x",
        1052,
        "Column 'x' in order clause is ambiguous",
    );
    check(
        "SELECT 1 FROM t JOIN u JOIN v JOIN u AS w USING (a)",
        1052,
        "Column 'a' in from clause is ambiguous",
    );
}

#[test]
fn tables_and_databases_must_be_there() {
    check("SELECT 1 FROM q", 1146, "Table 'test.q' doesn't exist");
    check("SELECT 1 FROM other.u", 1146, "Table 'other.u' doesn't exist");
    check("SELECT 1 FROM nowhere.t", 1049, "Unknown database 'nowhere'");
    check("INSERT INTO q VALUES (1)", 1146, "Table 'test.q' doesn't exist");
    check("SELECT q.* FROM t", 1051, "Unknown table 'q'");
    check("SELECT other.t.* FROM t", 1051, "Unknown table 'other.t'");
    check("SELECT *", 1096, "No tables used");
    check("SELECT 1 FROM t, t", 1066, "Not unique table/alias: 't'");
    check("SELECT 1 FROM t JOIN u AS t", 1066, "Not unique table/alias: 't'");
    check("SELECT 1 FROM (SELECT 1)", 1248, "Every derived table must have its own alias");
    check("SELECT 1 FROM (SELECT 1 AS a, 2 AS a) AS d", 1060, "Duplicate column name 'a'");
    assert_eq!(error("SELECT 1 FROM (SELECT 1) AS d (a, b)").code, 1353);
}

#[test]
fn group_functions_have_their_places() {
    let text = "Invalid use of group function";
    check("SELECT 1 FROM t WHERE COUNT(*) > 1", 1111, text);
    check("SELECT SUM(COUNT(*)) FROM t", 1111, text);
    check("SELECT 1 FROM t JOIN u ON SUM(t.a) = 1", 1111, text);
    check("UPDATE t SET a = SUM(a)", 1111, text);
    check("INSERT INTO t (a) VALUES (COUNT(*))", 1111, text);
    check("DELETE FROM t ORDER BY SUM(a)", 1111, text);
    check("SELECT COUNT(*) FROM t GROUP BY 1", 1056, "Can't group on 'COUNT(*)'");
    check("SELECT COUNT(*) AS n FROM t GROUP BY n", 1056, "Can't group on 'n'");
}

#[test]
fn columns_must_be_grouped() {
    let tail = "which is not functionally dependent on columns in GROUP BY clause; this is incompatible with \
                sql_mode=only_full_group_by";
    check(
        "SELECT a, c FROM t GROUP BY a",
        1055,
        &format!(
            "Expression #2 of SELECT list is not in GROUP BY clause and contains nonaggregated column 'test.t.c' {tail}"
        ),
    );
    check(
        "SELECT a FROM t AS s GROUP BY a ORDER BY c + 1",
        1055,
        &format!(
            "Expression #1 of ORDER BY clause is not in GROUP BY clause and contains nonaggregated column 'test.s.c' {tail}"
        ),
    );
    check(
        "SELECT 1, a + COUNT(*) FROM t",
        1140,
        "In aggregated query without GROUP BY, expression #2 of SELECT list contains nonaggregated column 'test.t.a'; \
         this is incompatible with sql_mode=only_full_group_by",
    );
    assert_eq!(error("SELECT * FROM t GROUP BY a").code, 1055);
    assert_eq!(error("SELECT a + 1 FROM t GROUP BY a + 2").code, 1055);
    assert_eq!(
        error("SELECT DISTINCT a FROM t ORDER BY c").message,
        "Expression #1 of ORDER BY clause is not in SELECT list, references column 'test.t.c' which is not in SELECT \
         list; this is incompatible with DISTINCT"
    );
}

#[test]
fn hints_name_indexes_of_the_table() {
    check("SELECT 1 FROM t USE INDEX (q)", 1176, "Key 'q' doesn't exist in table 't'");
    check("SELECT 1 FROM t AS s FORCE INDEX (ab, q)", 1176, "Key 'q' doesn't exist in table 's'");
    check(
        "SELECT 1 FROM t USE INDEX (ab) FORCE INDEX (ue)",
        1221,
        "Incorrect usage of USE INDEX and FORCE INDEX",
    );
    assert_eq!(error("SELECT 1 FROM other.t USE INDEX (PRIMARY)").code, 1176);
    assert_eq!(error("SELECT 1 FROM other.t USE INDEX (GEN_CLUST_INDEX)").code, 1176);
}

#[test]
fn rows_have_as_many_values_as_columns() {
    check("INSERT INTO t (a, b) VALUES (1)", 1136, "Column count doesn't match value count at row 1");
    check("INSERT INTO t (a) VALUES (1), (2, 3)", 1136, "Column count doesn't match value count at row 2");
    check("INSERT INTO v VALUES (1)", 1136, "Column count doesn't match value count at row 1");
    check("INSERT INTO v SELECT 1", 1136, "Column count doesn't match value count at row 1");
    check("INSERT INTO t (a, A) VALUES (1, 2)", 1110, "Column 'A' specified twice");
}

#[test]
fn what_is_not_supported_says_so() {
    for sql in ["SELECT 1 FROM t WHERE a IN (SELECT 1 LIMIT 1)", "SELECT 'a' COLLATE utf8mb4_zh_0900_as_cs"] {
        assert_eq!(error(sql).code, 1235, "{sql}");
    }
}

#[test]
fn a_select_list_has_an_end() {
    let list = |items: usize| format!("SELECT {}", vec!["1"; items].join(", "));
    assert_eq!(query(&list(65_535)).output.len(), 65_535);
    check(&list(65_536), 1117, "Too many columns");
    for kept in
        ["SELECT * FROM ({}) x", "{} FROM t ORDER BY a", "{} UNION {}", "WITH x AS ({}) SELECT 1 FROM x"]
    {
        check(&kept.replace("{}", &list(4097)), 1117, "Too many columns");
    }
    check(&list(4097).replace("SELECT", "SELECT DISTINCT"), 1117, "Too many columns");
}

#[test]
fn wrong_values_are_found_while_binding() {
    check("SELECT DATE '2020-13-01'", 1525, "Incorrect DATE value: '2020-13-01'");
    check("SELECT TIMESTAMP 'x'", 1525, "Incorrect DATETIME value: 'x'");
    check("SELECT 1e999", 1367, "Illegal double '1e999' value found during parsing");
    check("SELECT a LIKE 'x' ESCAPE 'ab' FROM t", 1210, "Incorrect arguments to ESCAPE");
    check("SELECT nothing(1)", 1305, "FUNCTION test.nothing does not exist");
    check("SELECT 'a' COLLATE nothing", 1273, "Unknown collation: 'nothing'");
    check("SELECT CONVERT('a' USING nothing)", 1115, "Unknown character set: 'nothing'");
    check("SELECT @@nothing", 1193, "Unknown system variable 'nothing'");
    assert_eq!(error("SELECT CAST(1 AS DECIMAL(70, 2))").code, 1426);
    assert_eq!(error("SELECT CAST(1 AS DECIMAL(10, 40))").code, 1425);
    assert_eq!(error("SELECT CAST(1 AS DECIMAL(5, 6))").code, 1427);
    assert_eq!(error("SELECT CAST('x' AS DATETIME(7))").code, 1426);
    assert_eq!(error("SELECT ABS(1, 2)").code, 1582);
    assert_eq!(error("SELECT DEFAULT(e) FROM t").code, 1364);
}
