//! Literals, casts and column types.

use leafline_expr::{Expr, ExprKind};
use leafline_types::{Collation, SqlType, Value};

use super::super::{TypeRules, column_type, table_spec};
use super::{error, query};
use leafline_syntax::ast::StatementKind;
use leafline_syntax::{LexMode, parse};

fn literal(text: &str) -> Value {
    let bound = query(&format!("SELECT {text}"));
    bound.output[0].expr.as_literal().unwrap_or_else(|| panic!("{text}")).clone()
}

#[test]
fn numbers_have_the_smallest_type_that_holds_them() {
    assert_eq!(literal("1"), Value::Int(1));
    assert_eq!(literal("9223372036854775807"), Value::Int(i64::MAX));
    assert_eq!(literal("9223372036854775808"), Value::UInt(1 << 63));
    assert_eq!(literal("-9223372036854775808"), Value::Int(i64::MIN));
    assert!(matches!(literal("-9223372036854775809"), Value::Decimal(_)));
    assert!(matches!(literal("18446744073709551616"), Value::Decimal(_)));
    assert!(matches!(literal("1.50"), Value::Decimal(_)));
    assert_eq!(literal("-1e3"), Value::Double(-1000.0));
    assert_eq!(literal("TRUE"), Value::Int(1));
    assert_eq!(error(&format!("SELECT {}", "9".repeat(70))).code, 1690);
}

#[test]
fn hexadecimal_literals_are_bytes_or_numbers() {
    assert_eq!(literal("x'41'"), Value::bytes(vec![0x41]));
    for (condition, number) in [("a = 0x41", "65"), ("a IN (0x41)", "65"), ("a BETWEEN 0x41 AND 0x41", "65")]
    {
        let bound = query(&format!("SELECT 1 FROM t WHERE {condition}"));
        let mut found = false;
        for conjunct in &bound.filter {
            let mut look = |e: &Expr| found |= e.as_literal() == Some(&Value::UInt(65));
            conjunct.for_each_child(&mut look);
            if let ExprKind::InList { list, .. } = &conjunct.kind {
                list.iter().for_each(look);
            }
        }
        assert!(found, "{condition} has no {number}");
    }
    let bound = query("SELECT x'41' + 1");
    assert!(bound.output[0].expr.ty.sql.is_integer());
    assert_eq!(error("SELECT 0x010203040506070809 + 1").code, 1690);
}

#[test]
fn strings_have_the_collation_of_the_connection() {
    let ty = query("SELECT 'a'").output[0].expr.ty.clone();
    assert_eq!(ty.collation, Collation::Utf8mb4_0900Bin);
    let ty = query("SELECT _binary'a'").output[0].expr.ty.clone();
    assert_eq!((ty.sql, ty.collation), (SqlType::Varbinary { len: 1 }, Collation::Binary));
    let ty = query("SELECT 'a' COLLATE utf8mb4_bin").output[0].expr.ty.clone();
    assert_eq!(
        (ty.collation, ty.coercibility),
        (Collation::Utf8mb4Bin, leafline_types::Coercibility::Explicit)
    );
    assert_eq!(error("SELECT _ascii'\u{e9}'").code, 1300);
    query("SELECT _latin1'\u{e9}', N'a', _utf8mb3'a'");
}

fn columns(definition: &str) -> Result<(SqlType, Collation), u16> {
    let sql = format!("CREATE TABLE t (c {definition})");
    let statement = parse(&sql, LexMode::default()).map_err(|e| e.code)?;
    let StatementKind::CreateTable(create) = statement.kind else { panic!() };
    let found = column_type("c", &create.columns[0].data_type, Collation::Utf8mb4_0900Bin, TypeRules::STRICT)
        .map_err(|e| e.code)?;
    Ok((found.ty, found.collation))
}

#[test]
fn column_types_take_mysqls_limits() {
    let binary = Collation::Binary;
    let text = Collation::Utf8mb4_0900Bin;
    for (definition, expected) in [
        ("INT(11) UNSIGNED", Ok((SqlType::Int { unsigned: true }, binary))),
        ("BOOL", Ok((SqlType::Boolean, binary))),
        ("INT(5) ZEROFILL", Ok((SqlType::Zerofill { bytes: 4, digits: 5 }, binary))),
        ("CHAR(5) CHARACTER SET binary", Ok((SqlType::Binary { len: 5 }, binary))),
        ("FLOAT(24)", Ok((SqlType::FLOAT, binary))),
        ("FLOAT(25)", Ok((SqlType::Double, binary))),
        (
            "DOUBLE(5,2) UNSIGNED",
            Ok((
                SqlType::Real { single: false, digits: Some((5, 2)), unsigned: true, zerofill: false },
                binary,
            )),
        ),
        ("FLOAT(54)", Err(1063)),
        ("FLOAT(5,6)", Err(1427)),
        ("YEAR(2)", Err(1818)),
        ("TIME(7)", Err(1426)),
        ("BINARY(256)", Err(1074)),
        ("DECIMAL", Ok((SqlType::decimal(10, 0), binary))),
        ("DECIMAL(15,2)", Ok((SqlType::decimal(15, 2), binary))),
        ("CHAR", Ok((SqlType::Char { len: 1 }, text))),
        ("VARCHAR(16383)", Ok((SqlType::Varchar { len: 16_383 }, text))),
        ("VARCHAR(5) COLLATE utf8mb4_bin", Ok((SqlType::Varchar { len: 5 }, Collation::Utf8mb4Bin))),
        ("VARCHAR(5) BINARY", Ok((SqlType::Varchar { len: 5 }, Collation::Utf8mb4Bin))),
        ("VARCHAR(5) CHARACTER SET binary", Ok((SqlType::Varbinary { len: 5 }, binary))),
        ("TEXT", Ok((SqlType::Text { max_bytes: 65_535 }, text))),
        ("TEXT(63)", Ok((SqlType::Text { max_bytes: 255 }, text))),
        ("TEXT(20000)", Ok((SqlType::Text { max_bytes: 0xff_ffff }, text))),
        ("DATETIME(6)", Ok((SqlType::DateTime { fsp: 6 }, binary))),
        ("INT(256)", Err(1439)),
        ("DECIMAL(66)", Err(1426)),
        ("DECIMAL(60,31)", Err(1425)),
        ("DECIMAL(5,6)", Err(1427)),
        ("CHAR(256)", Err(1074)),
        ("VARCHAR(16384)", Err(1074)),
        ("VARBINARY(65536)", Err(1074)),
        ("DATETIME(7)", Err(1426)),
        (
            "VARCHAR(65535) CHARACTER SET latin1",
            Ok((SqlType::Varchar { len: 65_535 }, Collation::Latin1SwedishCi)),
        ),
        (
            "VARCHAR(21845) CHARACTER SET utf8 BINARY",
            Ok((SqlType::Varchar { len: 21_845 }, Collation::Utf8mb3Bin)),
        ),
        ("CHAR(5) CHARACTER SET utf8mb4", Ok((SqlType::Char { len: 5 }, Collation::Utf8mb4_0900AiCi))),
        ("CHAR(5) COLLATE utf8_bin", Ok((SqlType::Char { len: 5 }, Collation::Utf8mb3Bin))),
        ("CHAR(5) CHARACTER SET latin1 COLLATE utf8mb4_bin", Err(1253)),
        ("CHAR(5) CHARACTER SET latin2 COLLATE latin2_czech_cs", Err(1235)),
        ("CHAR(5) CHARACTER SET nothing", Err(1115)),
        ("CHAR(5) COLLATE utf8mb4_zh_0900_as_cs", Err(1235)),
        ("CHAR(5) COLLATE nothing", Err(1273)),
        ("CHAR(5) CHARACTER SET utf8mb4 COLLATE binary", Err(1253)),
        (
            "FLOAT ZEROFILL",
            Ok((SqlType::Real { single: true, digits: None, unsigned: true, zerofill: true }, binary)),
        ),
        (
            "DECIMAL(5,2) ZEROFILL",
            Ok((SqlType::Decimal { precision: 5, scale: 2, unsigned: true, zerofill: true }, binary)),
        ),
    ] {
        assert_eq!(columns(definition), expected, "{definition}");
    }
}

fn spec(sql: &str) -> Result<leafline_table::TableSpec, u16> {
    let statement = parse(sql, LexMode::default()).map_err(|e| e.code)?;
    let StatementKind::CreateTable(create) = statement.kind else { panic!() };
    table_spec(&create, "test", Collation::Utf8mb4_0900Bin, Default::default())
        .map(|(spec, _)| spec)
        .map_err(|e| e.code)
}

#[test]
fn defaults_are_of_the_column_type() {
    use leafline_table::DefaultValue::{Constant, CurrentTimestamp};
    let table = spec(
        "CREATE TABLE t (a INT DEFAULT '5', b VARCHAR(5) DEFAULT 5, c DATETIME DEFAULT NOW(), d INT DEFAULT NULL, e INT)",
    )
    .expect("a table");
    let defaults: Vec<_> = table.columns.iter().map(|c| c.default.clone()).collect();
    assert_eq!(
        defaults,
        [
            Some(Constant(Value::Int(5))),
            Some(Constant(Value::string("5"))),
            Some(CurrentTimestamp),
            Some(Constant(Value::Null)),
            None
        ]
    );
    for (column, code) in [
        ("a INT DEFAULT 'x'", 1067),
        ("a TINYINT DEFAULT 300", 1067),
        ("a INT NOT NULL DEFAULT NULL", 1067),
        ("a DATE DEFAULT '2020-02-30'", 1067),
        ("a INT DEFAULT CURRENT_TIMESTAMP", 1067),
        ("a DATETIME(3) DEFAULT CURRENT_TIMESTAMP", 1067),
        ("a TEXT DEFAULT 'x'", 1101),
        ("a INT AUTO_INCREMENT DEFAULT 1", 1067),
        ("a VARCHAR(5) AUTO_INCREMENT", 1063),
        ("a INT ON UPDATE NOW()", 1294),
        ("a INT NULL PRIMARY KEY", 1171),
        ("a INT NULL, PRIMARY KEY (a)", 1171),
    ] {
        assert_eq!(spec(&format!("CREATE TABLE t ({column})")).err(), Some(code), "{column}");
    }
}
