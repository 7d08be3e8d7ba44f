//! Tests assignments and casts against a server's results, errors and warnings.

use super::*;
use crate::decimal::Decimal;
use crate::double::f64_text;
use crate::statement::Warnings;
use crate::temporal::{Date, DateTime};
use crate::value::{SqlType, Value};

const INT: SqlType = SqlType::Int { unsigned: false };
const UINT: SqlType = SqlType::Int { unsigned: true };
const D52: SqlType = SqlType::decimal(5, 2);

fn dec(s: &str) -> Value {
    Value::Decimal(Decimal::parse(s).unwrap())
}

fn date(s: &str) -> Value {
    Value::Date(Date::parse(s, crate::temporal::DateRules::PARTS).unwrap().value)
}

fn time(s: &str) -> Value {
    Value::DateTime(DateTime::parse(s, crate::temporal::DateRules::PARTS).unwrap().value)
}

fn s(text: &str) -> Value {
    Value::from(text)
}

/// Returns the type of an expression with this value.
fn type_of(v: &Value) -> SqlType {
    match v {
        Value::Null => SqlType::Null,
        Value::Int(_) => SqlType::BIGINT,
        Value::UInt(_) => SqlType::BIGINT_UNSIGNED,
        Value::Decimal(d) => SqlType::decimal(65, d.scale()),
        Value::Double(_) => SqlType::Double,
        Value::String(_) => SqlType::Varchar { len: 255 },
        Value::Bytes(_) => SqlType::Varbinary { len: 255 },
        Value::Date(_) => SqlType::Date,
        Value::DateTime(_) => SqlType::DateTime { fsp: 6 },
        Value::Time(_) => SqlType::Time { fsp: 6 },
        Value::Json(_) => SqlType::Json,
    }
}

/// Returns the stored value and the numbers of the diagnostics.
fn store(v: &Value, to: &SqlType, strict: bool) -> (Result<Value, crate::MysqlError>, Vec<u16>) {
    let mut warnings = Warnings::new();
    let mut cx = StoreContext {
        column: "c",
        charset: crate::Charset::Utf8mb4,
        row: 3,
        strict,
        dates: crate::temporal::DateRules::DAYS,
        zone: &crate::temporal::Zone::UTC,
        max_document: 100,
        warnings: &mut warnings,
    };
    let stored = store_cast(v, &type_of(v), to, false, &mut cx);
    (stored, warnings.iter().map(|w| w.code).collect())
}

/// Shows a value with its kind; values of one kind that print alike are equal.
fn shown(v: &Value) -> String {
    format!("{v:?}")
}

#[track_caller]
fn stores(v: Value, to: &SqlType, expected: Value, notes: &[u16]) {
    let (stored, codes) = store(&v, to, true);
    assert_eq!((stored.as_ref().map(shown), &codes[..]), (Ok(shown(&expected)), notes), "{v:?} to {to}");
}

/// Checks that strict mode refuses the value with this error, and that otherwise `else_stored` is stored with the
/// warning.
#[track_caller]
fn refuses(v: Value, to: &SqlType, message: &str, code: u16, else_stored: Value) {
    let (stored, _) = store(&v, to, true);
    let e = stored.expect_err(&format!("{v:?} to {to}"));
    assert_eq!((e.code, e.message.as_str()), (code, message), "{v:?} to {to}");
    let (stored, codes) = store(&v, to, false);
    let expected = if code == 1406 { 1265 } else { code };
    assert_eq!(
        (stored.as_ref().map(shown), codes),
        (Ok(shown(&else_stored)), vec![expected]),
        "{v:?} to {to}"
    );
}

const RANGE: &str = "Out of range value for column 'c' at row 3";
const CUT: &str = "Data truncated for column 'c' at row 3";
const LONG: &str = "Data too long for column 'c' at row 3";

#[test]
fn integers_are_stored() {
    stores(Value::Int(-5), &INT, Value::Int(-5), &[]);
    stores(Value::UInt(5), &INT, Value::Int(5), &[]);
    stores(Value::Int(5), &UINT, Value::UInt(5), &[]);
    stores(s(" 12 "), &INT, Value::Int(12), &[]);
    stores(s("1e3"), &INT, Value::Int(1000), &[]);
    stores(s("12.5"), &INT, Value::Int(13), &[]);
    stores(s("-12.5"), &INT, Value::Int(-13), &[]);
    stores(s("18446744073709551615"), &SqlType::BIGINT_UNSIGNED, Value::UInt(u64::MAX), &[]);
    stores(time("1999-12-31 23:59:59.5"), &SqlType::BIGINT, Value::Int(20_000_101_000_000), &[]);
    refuses(dec("-0.4"), &UINT, RANGE, 1264, Value::UInt(0));
    stores(dec("-2.5"), &INT, Value::Int(-3), &[]);
    stores(Value::Double(2.5), &INT, Value::Int(2), &[]);
    stores(Value::Double(3.5), &INT, Value::Int(4), &[]);
    stores(date("2024-01-02"), &INT, Value::Int(20_240_102), &[]);
    stores(time("2024-01-02 03:04:05.6"), &SqlType::BIGINT, Value::Int(20_240_102_030_406), &[]);
    stores(Value::bytes(*b"7"), &INT, Value::Int(7), &[]);

    let tiny = SqlType::TinyInt { unsigned: false };
    refuses(Value::Int(128), &tiny, RANGE, 1264, Value::Int(127));
    refuses(Value::Int(-129), &tiny, RANGE, 1264, Value::Int(-128));
    refuses(Value::Int(-1), &UINT, RANGE, 1264, Value::UInt(0));
    refuses(s("-1"), &UINT, RANGE, 1264, Value::UInt(0));
    refuses(s("99999999999"), &INT, RANGE, 1264, Value::Int(i32::MAX.into()));
    refuses(s(&format!("-{}", "9".repeat(80))), &INT, RANGE, 1264, Value::Int(i32::MIN.into()));
    refuses(s("9e999"), &INT, RANGE, 1264, Value::Int(i32::MAX.into()));
    refuses(Value::Double(-1e300), &SqlType::BIGINT, RANGE, 1264, Value::Int(i64::MIN));
    refuses(dec("1e60"), &SqlType::BIGINT_UNSIGNED, RANGE, 1264, Value::UInt(u64::MAX));
    refuses(s("12abc"), &INT, CUT, 1265, Value::Int(12));
    refuses(s(""), &INT, "Incorrect integer value: '' for column 'c' at row 3", 1366, Value::Int(0));
    refuses(s("abc"), &INT, "Incorrect integer value: 'abc' for column 'c' at row 3", 1366, Value::Int(0));
}

#[test]
fn decimals_and_doubles_are_stored() {
    stores(s("1.2"), &D52, dec("1.20"), &[]);
    stores(dec("1.20000"), &D52, dec("1.20"), &[]);
    stores(s("1.239"), &D52, dec("1.24"), &[1265]);
    stores(dec("-1.235"), &D52, dec("-1.24"), &[1265]);
    stores(Value::Double(0.1 + 0.2), &D52, dec("0.30"), &[1265]);
    stores(Value::Int(999), &D52, dec("999.00"), &[]);
    stores(date("2024-01-02"), &SqlType::decimal(8, 0), dec("20240102"), &[]);
    refuses(Value::Int(1000), &D52, RANGE, 1264, dec("999.99"));
    refuses(dec("-999.995"), &D52, RANGE, 1264, dec("-999.99"));
    refuses(Value::Double(-1e300), &D52, RANGE, 1264, dec("-999.99"));
    refuses(s("1e99"), &D52, RANGE, 1264, dec("999.99"));
    let unsigned = SqlType::Decimal { precision: 5, scale: 2, unsigned: true, zerofill: false };
    refuses(dec("-0.01"), &unsigned, RANGE, 1264, dec("0.00"));
    stores(dec("-0.001"), &unsigned, dec("0.00"), &[1265]);
    refuses(s("12abc"), &D52, "Incorrect decimal value: '12abc' for column 'c' at row 3", 1366, dec("12.00"));
    refuses(s(""), &D52, "Incorrect decimal value: '' for column 'c' at row 3", 1366, dec("0.00"));

    stores(s(" -1.5e3 "), &SqlType::Double, Value::Double(-1500.0), &[]);
    stores(dec("0.1"), &SqlType::Double, Value::Double(0.1), &[]);
    stores(time("2024-01-02 03:04:05.6"), &SqlType::Double, Value::Double(20_240_102_030_405.6), &[]);
    refuses(s("12abc"), &SqlType::Double, CUT, 1265, Value::Double(12.0));
    refuses(s(""), &SqlType::Double, CUT, 1265, Value::Double(0.0));
    refuses(s("-1e500"), &SqlType::Double, RANGE, 1264, Value::Double(f64::MIN));
}

#[test]
fn strings_are_stored() {
    let (char3, varchar3) = (SqlType::Char { len: 3 }, SqlType::Varchar { len: 3 });
    let (tinytext, binary3) = (SqlType::Text { max_bytes: 255 }, SqlType::Varbinary { len: 3 });
    stores(s("ab "), &char3, s("ab"), &[]);
    stores(s("abc   "), &char3, s("abc"), &[]);
    stores(s("ab "), &varchar3, s("ab "), &[]);
    stores(s("abc   "), &varchar3, s("abc"), &[1265]);
    stores(s("é漢🦀"), &varchar3, s("é漢🦀"), &[]);
    stores(Value::Int(-12), &varchar3, s("-12"), &[]);
    stores(Value::Double(1e20), &SqlType::Varchar { len: 9 }, s("1e20"), &[]);
    stores(date("2024-01-02"), &SqlType::Char { len: 10 }, s("2024-01-02"), &[]);
    stores(
        time("2024-01-02 03:04:05.6"),
        &SqlType::Varchar { len: 30 },
        s("2024-01-02 03:04:05.600000"),
        &[],
    );
    stores(s("ab "), &binary3, Value::bytes(*b"ab "), &[]);
    stores(Value::bytes(*b"abc"), &varchar3, s("abc"), &[]);
    stores(s(&"é".repeat(127)), &tinytext, s(&"é".repeat(127)), &[]);
    refuses(s("abcd"), &char3, LONG, 1406, s("abc"));
    refuses(s("é漢🦀x"), &varchar3, LONG, 1406, s("é漢🦀"));
    refuses(Value::Int(1234), &varchar3, LONG, 1406, s("123"));
    refuses(s("abc "), &binary3, LONG, 1406, Value::bytes(*b"abc"));
    refuses(s(&"é".repeat(128)), &tinytext, LONG, 1406, s(&"é".repeat(127)));
    stores(s(&format!("{}  ", "x".repeat(255))), &tinytext, s(&"x".repeat(255)), &[1265]);
    let message = "Incorrect string value: '\\xFFb\\xC3' for column 'c' at row 3";
    refuses(Value::bytes(*b"a\xffb\xc3"), &SqlType::Varchar { len: 9 }, message, 1366, s("a"));
    let message = "Incorrect string value: '\\xFF\\xFF\\xFF\\xFF\\xFF\\xFF...' for column 'c' at row 3";
    refuses(Value::bytes([0xff; 7]), &SqlType::Varchar { len: 9 }, message, 1366, s(""));
}

#[test]
fn dates_are_stored() {
    let (seconds, millis) = (SqlType::DateTime { fsp: 0 }, SqlType::DateTime { fsp: 3 });
    stores(s("2024-01-02"), &SqlType::Date, date("2024-01-02"), &[]);
    stores(s("2024-01-02 00:00:00"), &SqlType::Date, date("2024-01-02"), &[]);
    stores(s("2024-01-02 03:04:05"), &SqlType::Date, date("2024-01-02"), &[1265]);
    stores(time("2024-01-02 03:04:05"), &SqlType::Date, date("2024-01-02"), &[1265]);
    stores(Value::Int(20_240_102), &SqlType::Date, date("2024-01-02"), &[]);
    stores(Value::UInt(240_102), &SqlType::Date, date("2024-01-02"), &[]);
    stores(s("2024-01-02 03:04:05.6"), &seconds, time("2024-01-02 03:04:06"), &[]);
    stores(s("2024-01-02 03:04:05.1236"), &millis, time("2024-01-02 03:04:05.124"), &[]);
    stores(dec("20240102030405.6"), &millis, time("2024-01-02 03:04:05.6"), &[]);
    stores(dec("20240102.9"), &millis, time("2024-01-02"), &[]);
    stores(Value::Double(20_240_102_030_405.5), &millis, time("2024-01-02 03:04:05.5"), &[]);
    stores(date("2024-01-02"), &seconds, time("2024-01-02"), &[]);
    for (v, to, kind, text) in [
        (s("abc"), &SqlType::Date, "date", "abc"),
        (s("0000-00-00"), &SqlType::Date, "date", "0000-00-00"),
        (s("2024-02-30"), &seconds, "datetime", "2024-02-30"),
        (s("9999-12-31 23:59:59.5"), &seconds, "datetime", "9999-12-31 23:59:59.5"),
        (Value::Int(20_240_199), &SqlType::Date, "date", "20240199"),
        (Value::Double(1.5), &seconds, "datetime", "1.5"),
        (dec("-20240102"), &SqlType::Date, "date", "-20240102"),
    ] {
        let e = store(&v, to, true).0.unwrap_err();
        let message = format!("Incorrect {kind} value: '{text}' for column 'c' at row 3");
        assert_eq!((e.code, e.message, e.sqlstate), (1292, message, *b"22007"), "{v:?}");
        let zero = store(&v, to, false).0.unwrap();
        assert!([date("0000-00-00"), time("0000-00-00")].contains(&zero), "{v:?}");
    }
    let (strict, lax) =
        (store(&s("2024-01-02abc"), &SqlType::Date, true), store(&s("2024-01-02abc"), &SqlType::Date, false));
    assert_eq!(
        strict.0.unwrap_err().message,
        "Incorrect date value: '2024-01-02abc' for column 'c' at row 3"
    );
    assert_eq!(lax, (Ok(date("2024-01-02")), vec![1265]));
}

#[test]
fn null_needs_a_nullable_column() {
    let mut warnings = Warnings::new();
    let mut cx = StoreContext {
        column: "c",
        charset: crate::Charset::Utf8mb4,
        row: 1,
        strict: false,
        dates: crate::temporal::DateRules::DAYS,
        zone: &crate::temporal::Zone::UTC,
        max_document: 100,
        warnings: &mut warnings,
    };
    assert_eq!(store_cast(&Value::Null, &SqlType::Null, &INT, true, &mut cx), Ok(Value::Null));
    let e = store_cast(&Value::Null, &SqlType::Null, &INT, false, &mut cx).unwrap_err();
    assert_eq!((e.code, e.message.as_str()), (1048, "Column 'c' cannot be null"));
}

/// Casts, and compares value and warnings (`1292 DOUBLE` for a truncated DOUBLE, and so on).
#[track_caller]
fn casts(v: Value, to: &SqlType, expected: Value, expected_warnings: &[&str]) {
    let mut warnings = Warnings::new();
    let found = cast(&v, &type_of(&v), to, crate::temporal::DateRules::DAYS, &mut warnings).unwrap();
    let messages: Vec<&str> = warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!((shown(&found), &messages[..]), (shown(&expected), expected_warnings), "{v:?} to {to}");
}

#[test]
fn casts_to_integers() {
    let (signed, unsigned) = (SqlType::BIGINT, SqlType::BIGINT_UNSIGNED);
    let wrong = |v: &str| format!("Truncated incorrect INTEGER value: '{v}'");
    let wrong_decimal = |v: &str| format!("Truncated incorrect DECIMAL value: '{v}'");
    let complement = "Cast to unsigned converted negative integer to its positive complement";
    let negative = "Cast to signed converted positive out-of-range integer to its negative complement";
    casts(Value::UInt(u64::MAX), &signed, Value::Int(-1), &[]);
    casts(Value::Int(-1), &unsigned, Value::UInt(u64::MAX), &[]);
    casts(s("-1"), &unsigned, Value::UInt(u64::MAX), &[complement]);
    casts(s("18446744073709551615"), &signed, Value::Int(-1), &[negative]);
    casts(dec("-1.5"), &unsigned, Value::UInt(0), &[&wrong_decimal("-1.5")]);
    casts(
        dec("99999999999999999999"),
        &signed,
        Value::Int(i64::MAX),
        &[&wrong_decimal("99999999999999999999")],
    );
    casts(dec("2.5"), &signed, Value::Int(3), &[]);
    casts(Value::Double(2.5), &signed, Value::Int(2), &[]);
    casts(Value::Double(1e30), &signed, Value::Int(i64::MAX), &[&wrong("1e30")]);
    casts(Value::Double(-1.0), &unsigned, Value::UInt(0), &[&wrong("-1")]);
    casts(s(" 12 "), &signed, Value::Int(12), &[]);
    casts(s("12.6"), &signed, Value::Int(12), &[&wrong("12.6")]);
    casts(s("1e3"), &signed, Value::Int(1), &[&wrong("1e3")]);
    casts(s("abc"), &signed, Value::Int(0), &[&wrong("abc")]);
    casts(s("-"), &signed, Value::Int(0), &[&wrong("-")]);
    casts(s(""), &unsigned, Value::UInt(0), &[&wrong("")]);
    casts(date("2024-01-02"), &signed, Value::Int(20_240_102), &[]);
    casts(time("2024-01-02 03:04:05.5"), &signed, Value::Int(20_240_102_030_406), &[]);
    casts(Value::Null, &signed, Value::Null, &[]);
}

#[test]
fn casts_to_decimals_and_doubles() {
    let d30 = SqlType::decimal(3, 0);
    casts(
        Value::Int(12_345),
        &d30,
        dec("999"),
        &["Out of range value for column 'cast(12345 as decimal(3,0))' at row 1"],
    );
    casts(s("12.345x"), &D52, dec("12.35"), &["Truncated incorrect DECIMAL value: '12.345x'"]);
    casts(s("abc"), &D52, dec("0.00"), &["Truncated incorrect DECIMAL value: 'abc'"]);
    casts(Value::Double(1.005), &D52, dec("1.01"), &[]);
    casts(s("12x"), &SqlType::Double, Value::Double(12.0), &["Truncated incorrect DOUBLE value: '12x'"]);
    casts(s(""), &SqlType::Double, Value::Double(0.0), &["Truncated incorrect DOUBLE value: ''"]);
    casts(
        s("1e500"),
        &SqlType::Double,
        Value::Double(f64::MAX),
        &["Truncated incorrect DOUBLE value: '1e500'"],
    );
    casts(s(" .5 "), &SqlType::Double, Value::Double(0.5), &[]);
}

#[test]
fn casts_to_strings() {
    let char3 = SqlType::Varchar { len: 3 };
    casts(s("abcdef"), &char3, s("abc"), &["Truncated incorrect CHAR(3) value: 'abcdef'"]);
    casts(s("abc  "), &char3, s("abc"), &["Truncated incorrect CHAR(3) value: 'abc  '"]);
    casts(s("ab "), &char3, s("ab "), &[]);
    casts(dec("1.50"), &SqlType::Varchar { len: 20 }, s("1.50"), &[]);
    casts(
        s("abcd"),
        &SqlType::Varbinary { len: 3 },
        Value::bytes(*b"abc"),
        &["Truncated incorrect BINARY(3) value: 'abcd'"],
    );
    casts(
        s(&"é".repeat(200)),
        &SqlType::Text { max_bytes: 255 },
        s(&"é".repeat(127)),
        &[&format!("Truncated incorrect CHAR value: '{}'", "é".repeat(128))],
    );
}

#[test]
fn casts_to_dates() {
    let micros = SqlType::DateTime { fsp: 6 };
    casts(
        s("2024-01-02abc"),
        &SqlType::Date,
        date("2024-01-02"),
        &["Truncated incorrect date value: '2024-01-02abc'"],
    );
    casts(s("2024-01-02 10:11:12.5"), &SqlType::Date, date("2024-01-02"), &[]);
    casts(s("abc"), &SqlType::Date, Value::Null, &["Incorrect datetime value: 'abc'"]);
    casts(s("0000-00-00"), &micros, Value::Null, &["Incorrect datetime value: '0000-00-00'"]);
    casts(Value::Int(123), &SqlType::Date, date("2000-01-23"), &[]);
    casts(Value::Int(-1), &SqlType::Date, Value::Null, &["Incorrect datetime value: '-1'"]);
    casts(Value::Double(1e20), &micros, Value::Null, &["Incorrect datetime value: '1e20'"]);
    casts(dec("20240102030405.123457"), &SqlType::DateTime { fsp: 3 }, time("2024-01-02 03:04:05.123"), &[]);
    casts(time("2024-01-02 23:59:59.5"), &SqlType::DateTime { fsp: 0 }, time("2024-01-03"), &[]);
    casts(time("2024-01-02 23:59:59.5"), &SqlType::Date, date("2024-01-02"), &[]);
    casts(date("2024-01-02"), &micros, time("2024-01-02"), &[]);
    assert_eq!(to_datetime(&Value::Null, crate::temporal::DateRules::DAYS), Ok(None));
    assert_eq!(to_datetime(&s("x"), crate::temporal::DateRules::DAYS).unwrap_err().code, 1292);
}

#[test]
fn doubles_print_as_mysql_prints_them() {
    for (d, text) in [
        (1e15, "1e15"),
        (1e14, "100000000000000"),
        (123_456_789_012_345_678.0, "1.2345678901234568e17"),
        (0.00001, "0.00001"),
        (1e-15, "0.000000000000001"),
        (1e-16, "1e-16"),
        (1.5e300, "1.5e300"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e20, "1e20"),
        (0.0, "0"),
        (-0.0, "-0"),
        (-12.5, "-12.5"),
        (2.5e-20, "2.5e-20"),
        (999_999_999_999_999.0, "999999999999999"),
    ] {
        assert_eq!(f64_text(d), text);
        assert_eq!(text.parse::<f64>().unwrap(), d);
    }
}

#[test]
fn documents_are_stored_up_to_a_packet() {
    // Two bytes hold the version and the kind of value.
    let text = |length: usize| format!("\"{}\"", "x".repeat(length));
    let document = |length: usize| Value::Json(crate::json::Json::parse(&text(length)).unwrap());
    stores(Value::string(text(98)), &SqlType::Json, document(98), &[]);
    for strict in [true, false] {
        for too_large in [Value::string(text(99)), document(99)] {
            let (stored, codes) = store(&too_large, &SqlType::Json, strict);
            assert_eq!((stored.unwrap_err().code, codes), (1301, vec![]));
        }
    }
}
