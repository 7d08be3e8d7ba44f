//! Tests values of every type in Arrow, and that NULL is NULL.

use crate::support::{Home, batches, rows, texts};
use arrow::datatypes::DataType;

const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, i8 TINYINT, u8 TINYINT UNSIGNED, i16 SMALLINT, i24 MEDIUMINT, i32 INT, u32 INT UNSIGNED,
    i64 BIGINT, u64 BIGINT UNSIGNED, flag BOOL, zero INT(6) ZEROFILL, price DECIMAL(10,3), wide DECIMAL(60,10), f FLOAT, x DOUBLE,
    day DATE, at DATETIME(6), second DATETIME, ts TIMESTAMP(3) NULL, tm TIME(2), y YEAR, c CHAR(5), v VARCHAR(20), latin VARCHAR(20) CHARACTER SET latin1, txt TEXT,
    b BINARY(4), vb VARBINARY(10), bl BLOB, bits BIT(12), e ENUM('x', 'y', '10'), s SET('a', 'b', 'c'), j JSON)";

const ROWS: [&str; 4] = [
    "INSERT INTO t VALUES (1, -128, 255, -32768, -8388608, -2147483648, 4294967295, -9223372036854775808, 18446744073709551615, TRUE, 42,
     -1234567.891, 12345678901234567890123456789012345678901234567890.0123456789, 0.5, -1.25e300, '2024-02-29', '9999-12-31 23:59:59.999999', '1000-01-01 00:00:00',
     '2038-01-19 03:14:07.250', '-838:59:58.75', 2155, 'ab ', 'grün ', 'größe', REPEAT('x', 300), 'ab', X'00FF', X'', b'101010101010', 'y', 'a,c', '{\"k\": [1, null]}')",
    "INSERT INTO t (id) VALUES (2)",
    "INSERT INTO t (id, day, at, ts, e, s, v, y) VALUES (3, '0000-00-00', '2024-02-30 10:00:00', '0000-00-00', '', '', '', 0)",
    "INSERT INTO t (id, x, tm, wide, price) VALUES (4, -0e0, '00:00:00', -1, 0)",
];

/// The rows as Arrow shows them.
const SHOWN: [[&str; 32]; 4] = [
    [
        "1",
        "-128",
        "255",
        "-32768",
        "-8388608",
        "-2147483648",
        "4294967295",
        "-9223372036854775808",
        "18446744073709551615",
        "1",
        "42",
        "-1234567.891",
        "12345678901234567890123456789012345678901234567890.0123456789",
        "0.5",
        "-1.25e300",
        "2024-02-29",
        "9999-12-31T23:59:59.999999",
        "1000-01-01T00:00:00",
        "2038-01-19T03:14:07.250Z",
        "",
        "2155",
        "ab",
        "grün ",
        "größe",
        "",
        "61620000",
        "00ff",
        "",
        "2730",
        "y",
        "a,c",
        "{\"k\": [1, null]}",
    ],
    [
        "2", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL",
        "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL",
        "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL",
    ],
    [
        "3", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL",
        "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "0", "NULL", "", "NULL", "NULL", "NULL",
        "NULL", "NULL", "NULL", "", "", "NULL",
    ],
    [
        "4",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "0.000",
        "-1.0000000000",
        "NULL",
        "-0.0",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
        "NULL",
    ],
];

#[tokio::test]
async fn every_type_comes_as_it_is() {
    let mut home = Home::new(&["SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'", TABLE]);
    ROWS.iter().for_each(|row| home.run(row));
    let context = home.context(&["t"]);
    let found = batches(&context, "SELECT * FROM t ORDER BY id").await;
    let schema = found[0].schema();
    let ty = |name: &str| schema.field_with_name(name).expect("a column").data_type().to_string();
    assert_eq!(ty("u8"), "UInt64");
    assert_eq!(ty("i8"), "Int64");
    assert_eq!(ty("price"), "Decimal128(10, 3)");
    assert_eq!(ty("wide"), "Decimal256(60, 10)");
    assert_eq!(ty("f"), "Float64");
    assert_eq!(ty("day"), "Date32");
    assert_eq!(ty("at"), "Timestamp(µs)");
    assert_eq!(ty("ts"), "Timestamp(µs, \"UTC\")");
    assert_eq!(ty("tm"), "Duration(µs)");
    assert_eq!(ty("y"), "UInt64");
    assert_eq!((ty("c"), ty("e"), ty("j")), ("Utf8".into(), "Utf8".into(), "Utf8".into()));
    assert_eq!((ty("b"), ty("bl"), ty("bits")), ("Binary".into(), "Binary".into(), "UInt64".into()));
    assert!(!schema.field(0).is_nullable() && schema.field(1).is_nullable());

    let mut shown = texts(&found);
    assert_eq!(shown.len(), SHOWN.len());
    // Arrow decides how durations are shown, and long text is long.
    let micros = rows(&context, "SELECT arrow_cast(tm, 'Int64') FROM t ORDER BY id").await;
    assert_eq!(micros, [["-3020398750000"], ["NULL"], ["NULL"], ["0"]]);
    assert_eq!(shown[0][24], "x".repeat(300));
    for row in &mut shown {
        for at in [19, 24] {
            if row[at] != "NULL" {
                row[at].clear();
            }
        }
    }
    for (row, wanted) in shown.iter().zip(SHOWN) {
        assert_eq!(row, &wanted);
    }
}

/// Each value is found by itself, and by nothing else.
#[tokio::test]
async fn values_are_found_by_themselves() {
    let mut home = Home::new(&["SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'", TABLE]);
    ROWS.iter().for_each(|row| home.run(row));
    let context = home.context(&["t"]);
    let first = batches(&context, "SELECT * FROM t WHERE id = 1").await;
    for (field, column) in first[0].schema().fields().iter().zip(first[0].columns()) {
        let value = datafusion::scalar::ScalarValue::try_from_array(column, 0).expect("a value");
        for negated in [false, true] {
            let (name, wanted) = (field.name(), datafusion::prelude::lit(value.clone()));
            let column = datafusion::prelude::ident(name);
            let filter = if negated { column.not_eq(wanted) } else { column.eq(wanted) };
            let frame = context.table("t").await.expect("a table").filter(filter).expect("a filter");
            let ids = frame.select_columns(&["id"]).expect("ids").collect().await.expect("rows");
            let others = others(name);
            let wanted: Vec<Vec<String>> = if negated { others } else { vec![vec!["1".into()]] };
            assert_eq!(texts(&ids), wanted, "{name} {negated}");
        }
        let data_type = field.data_type();
        if !matches!(data_type, DataType::Binary) {
            let nulls = format!("SELECT count(*) FROM t WHERE {0} IS NULL", field.name());
            let not_null = format!("SELECT count({}) FROM t", field.name());
            let count = |rows: Vec<Vec<String>>| rows[0][0].parse::<usize>().expect("a number");
            let (nulls, not_null) =
                (count(rows(&context, &nulls).await), count(rows(&context, &not_null).await));
            assert_eq!(nulls + not_null, 4, "{}", field.name());
        }
    }
}

/// Returns the other rows that have a value in that column.
fn others(column: &str) -> Vec<Vec<String>> {
    let ids: &[&str] = match column {
        "id" => &["2", "3", "4"],
        "e" | "s" | "v" | "y" => &["3"],
        "x" | "tm" | "wide" | "price" => &["4"],
        _ => &[],
    };
    ids.iter().map(|id| vec![(*id).to_owned()]).collect()
}
