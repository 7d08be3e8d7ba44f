//! The metadata of result columns that clients receive.

use leafline_types::{Collation, SqlType};

use super::query;
use leafline_types::result_column::{ColumnFlags, ColumnMeta};

fn metas(sql: &str) -> Vec<ColumnMeta> {
    query(sql).output.into_iter().map(|o| o.meta).collect()
}

fn names(sql: &str) -> Vec<String> {
    metas(sql).into_iter().map(|m| m.name).collect()
}

#[test]
fn headings_are_what_was_written() {
    assert_eq!(
        names(
            "SELECT a, t.a, `a`, (a), a AS z, 'x', 'p' 'q', \"y\", 1 +  1, ( a ) + 1, COUNT( * ) , null, True, ?, -1, \
             1.50, NOW(), @five, 'a' AS 'b c' FROM t GROUP BY a"
        ),
        [
            "a",
            "a",
            "a",
            "a",
            "z",
            "x",
            "p",
            "y",
            "1 +  1",
            "( a ) + 1",
            "COUNT( * )",
            "NULL",
            "TRUE",
            "?",
            "-1",
            "1.50",
            "NOW()",
            "@five",
            "b c"
        ]
    );
    assert_eq!(names("SELECT *, K1 FROM v"), ["k1", "k2", "z", "K1"]);
}

#[test]
fn columns_tell_their_table() {
    let meta = &metas("SELECT s.a AS z FROM t AS s")[0];
    assert_eq!((meta.database.as_str(), meta.table.as_str(), meta.org_table.as_str()), ("test", "s", "t"));
    assert_eq!((meta.name.as_str(), meta.org_name.as_str()), ("z", "a"));
    let meta = &metas("SELECT a + 1 FROM t")[0];
    assert_eq!((meta.database.as_str(), meta.table.as_str(), meta.org_name.as_str()), ("", "", ""));
    let meta = &metas("SELECT n FROM (SELECT COUNT(*) AS n FROM t) AS d")[0];
    assert_eq!((meta.database.as_str(), meta.table.as_str(), meta.org_table.as_str()), ("", "d", ""));
}

#[test]
fn flags_follow_keys_and_types() {
    use ColumnFlags as F;
    let all = [
        (F::NOT_NULL, "not null"),
        (F::PRIMARY_KEY, "primary"),
        (F::UNIQUE_KEY, "unique"),
        (F::MULTIPLE_KEY, "multiple"),
        (F::BLOB, "blob"),
        (F::UNSIGNED, "unsigned"),
        (F::BINARY, "binary"),
        (F::AUTO_INCREMENT, "auto"),
        (F::NO_DEFAULT_VALUE, "no default"),
    ];
    let flags = |sql: &str| -> Vec<String> {
        let text = |m: ColumnMeta| {
            all.iter().filter(|(f, _)| m.flags.has(*f)).map(|(_, n)| *n).collect::<Vec<_>>().join(",")
        };
        metas(sql).into_iter().map(text).collect()
    };
    assert_eq!(
        flags("SELECT * FROM t"),
        [
            "not null,primary,auto",
            "multiple",
            "",
            "not null",
            "binary",
            "not null,unique,unsigned,no default",
            "binary"
        ]
    );
    assert_eq!(flags("SELECT k1, k2 FROM v"), ["not null,primary,no default", "not null,primary,no default"]);
    assert_eq!(flags("SELECT y FROM u"), ["blob"]);
    assert_eq!(
        flags("SELECT 1, NULL, e + 1 FROM t"),
        ["not null,binary", "binary", "not null,unsigned,binary"]
    );
    assert_eq!(flags("SELECT u.id FROM t LEFT JOIN u ON t.id = u.id"), ["primary,no default"]);
}

#[test]
fn types_and_collations_are_those_of_the_expression() {
    let metas =
        metas("SELECT b, CONCAT(b, 'x'), 'x', a, c * c, AVG(c), COUNT(*), MIN(d) FROM t GROUP BY b, a, c");
    let types: Vec<_> = metas.iter().map(|m| (m.ty.clone(), m.collation)).collect();
    let binary = Collation::Binary;
    assert_eq!(types[0], (SqlType::Varchar { len: 10 }, Collation::Utf8mb4Bin));
    assert_eq!(types[1].1, Collation::Utf8mb4Bin);
    assert_eq!(types[2], (SqlType::Varchar { len: 1 }, Collation::Utf8mb4_0900Bin));
    assert_eq!(types[3], (SqlType::Int { unsigned: false }, binary));
    assert_eq!(types[4], (SqlType::decimal(20, 4), binary));
    assert_eq!(types[5], (SqlType::decimal(14, 6), binary));
    assert_eq!(types[6], (SqlType::BIGINT, binary));
    assert_eq!(types[7], (SqlType::Date, binary));
}
