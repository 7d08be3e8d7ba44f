//! Tests every function by a table of cases, and the properties of the function table.

use super::*;
use crate::Expr;
use crate::build::{self, TrimSide};
use crate::testkit::{Session, date, dbl, dec, int, null, shown, time, txt, uint};
use leafline_types::collation::Collation;
use leafline_types::error::MysqlError;
use leafline_types::statement::CancelReason;
use leafline_types::temporal::IntervalUnit;
use leafline_types::value::{SqlType, Value};

fn call(name: &str, args: Vec<Expr>) -> Expr {
    build::call(name, args).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn bytes(b: &[u8]) -> Expr {
    build::literal(Value::bytes(b))
}

fn check(cases: Vec<(Expr, &str)>) {
    for (e, expected) in cases {
        let v = Session::new().eval(&e).unwrap_or_else(|error| panic!("{e}: {error}"));
        assert_eq!(shown(&v, &e.ty.sql), expected, "{e}");
        assert!(!v.is_null() || e.ty.nullable, "{e} is NULL but typed NOT NULL");
    }
}

#[test]
fn numeric_functions() {
    check(vec![
        (call("ABS", vec![int(-3)]), "3"),
        (call("abs", vec![dec("-1.50")]), "1.50"),
        (call("ABS", vec![txt("-1.5")]), "1.5"),
        (call("CEIL", vec![dec("1.01")]), "2"),
        (call("CEILING", vec![dec("-1.01")]), "-1"),
        (call("FLOOR", vec![dec("-1.01")]), "-2"),
        (call("FLOOR", vec![dbl(1.9)]), "1"),
        (call("CEIL", vec![dec("99999999999999999999.5")]), "100000000000000000000"),
        (call("ROUND", vec![dec("1.5")]), "2"),
        (call("ROUND", vec![dec("-2.5")]), "-3"),
        (call("ROUND", vec![dec("1.2345"), int(2)]), "1.23"),
        (call("ROUND", vec![dec("1.5"), int(3)]), "1.500"),
        (call("ROUND", vec![dec("155.5"), int(-1)]), "160"),
        (call("ROUND", vec![int(155), int(-1)]), "160"),
        (call("ROUND", vec![int(-155), int(-1)]), "-160"),
        (call("ROUND", vec![int(155), int(-30)]), "0"),
        (call("ROUND", vec![dbl(2.5)]), "2"),
        (call("ROUND", vec![dbl(-1.25), int(1)]), "-1.2"),
        (call("ROUND", vec![dbl(1.5), int(400)]), "1.5"),
        (call("ROUND", vec![null(), int(1)]), "NULL"),
        (call("TRUNCATE", vec![dec("-1.999"), int(1)]), "-1.9"),
        (call("TRUNCATE", vec![int(199), int(-2)]), "100"),
        (call("TRUNCATE", vec![dbl(1.999), int(2)]), "1.99"),
        (call("MOD", vec![int(-7), int(3)]), "-1"),
        (call("POW", vec![int(2), int(10)]), "1024"),
        (call("POWER", vec![int(2), int(-1)]), "0.5"),
        (call("SQRT", vec![int(16)]), "4"),
        (call("SQRT", vec![int(-1)]), "NULL"),
        (call("EXP", vec![int(0)]), "1"),
        (call("LN", vec![int(1)]), "0"),
        (call("LOG", vec![int(-1)]), "NULL"),
        (call("LOG", vec![int(2), int(8)]), "3"),
        (call("LOG", vec![int(1), int(8)]), "NULL"),
        (call("LOG2", vec![int(8)]), "3"),
        (call("LOG10", vec![int(1000)]), "3"),
        (call("SIGN", vec![dec("-0.5")]), "-1"),
        (call("SIGN", vec![int(0)]), "0"),
        (call("SIGN", vec![txt("7")]), "1"),
        (call("GREATEST", vec![int(1), dec("2.5"), int(2)]), "2.5"),
        (call("LEAST", vec![int(-1), dec("2.5")]), "-1.0"),
        (call("GREATEST", vec![txt("a"), txt("b"), txt("B")]), "b"),
        (call("GREATEST", vec![int(1), null()]), "NULL"),
        (call("LEAST", vec![date("2024-01-02"), date("2024-01-01")]), "2024-01-01"),
        (call("RAND", vec![int(1)]), "0.40540353712197724"),
        (call("RAND", vec![int(3)]), "0.9057697559760601"),
    ]);
}

#[test]
fn string_functions() {
    check(vec![
        (call("CONCAT", vec![txt("a"), int(1), dec("1.50")]), "a11.50"),
        (call("CONCAT", vec![txt("a"), null()]), "NULL"),
        (call("CONCAT_WS", vec![txt(","), txt("a"), null(), txt("b")]), "a,b"),
        (call("CONCAT_WS", vec![null(), txt("a")]), "NULL"),
        (call("CONCAT_WS", vec![txt(","), txt(""), txt("")]), ","),
        (call("LENGTH", vec![txt("é漢")]), "5"),
        (call("OCTET_LENGTH", vec![int(-12)]), "3"),
        (call("CHAR_LENGTH", vec![txt("é漢")]), "2"),
        (call("CHARACTER_LENGTH", vec![bytes("é".as_bytes())]), "2"),
        (call("UPPER", vec![txt("aéß")]), "AÉß"),
        (call("LCASE", vec![txt("AÉ")]), "aé"),
        (call("UCASE", vec![bytes(b"a")]), "a"),
        (call("SUBSTRING", vec![txt("abcde"), int(2)]), "bcde"),
        (call("SUBSTR", vec![txt("aécde"), int(2), int(2)]), "éc"),
        (call("MID", vec![txt("abcde"), int(-3), int(2)]), "cd"),
        (call("SUBSTRING", vec![txt("abc"), int(0)]), ""),
        (call("SUBSTRING", vec![txt("abc"), int(-5)]), ""),
        (call("SUBSTRING", vec![txt("abc"), int(2), int(-1)]), ""),
        (call("SUBSTRING", vec![txt("abc"), int(9)]), ""),
        (call("LEFT", vec![txt("aéc"), int(2)]), "aé"),
        (call("LEFT", vec![txt("abc"), int(-1)]), ""),
        (call("RIGHT", vec![txt("aéc"), int(2)]), "éc"),
        (call("RIGHT", vec![txt("abc"), int(9)]), "abc"),
        (call("TRIM", vec![txt("  a b  ")]), "a b"),
        (call("LTRIM", vec![txt("  a ")]), "a "),
        (call("RTRIM", vec![txt(" a  ")]), " a"),
        (build::trim(TrimSide::Both, Some(txt("xy")), txt("xyxaxyxy")).unwrap(), "xa"),
        (build::trim(TrimSide::Leading, Some(txt("x")), txt("xxaxx")).unwrap(), "axx"),
        (build::trim(TrimSide::Trailing, Some(txt("x")), txt("xxaxx")).unwrap(), "xxa"),
        (build::trim(TrimSide::Both, Some(txt("")), txt(" a")).unwrap(), " a"),
        (build::trim(TrimSide::Both, None, txt(" a ")).unwrap(), "a"),
        (build::trim(TrimSide::Both, Some(null()), txt("a")).unwrap(), "NULL"),
        (call("REPLACE", vec![txt("aXbXc"), txt("X"), txt("--")]), "a--b--c"),
        (call("REPLACE", vec![txt("abc"), txt(""), txt("x")]), "abc"),
        (call("INSTR", vec![txt("aébc"), txt("b")]), "3"),
        (call("INSTR", vec![txt("abc"), txt("")]), "1"),
        (call("INSTR", vec![txt("abc"), txt("B")]), "0"),
        (call("LOCATE", vec![txt("b"), txt("abcb")]), "2"),
        (call("LOCATE", vec![txt("b"), txt("abcb"), int(3)]), "4"),
        (call("LOCATE", vec![txt("b"), txt("abc"), int(0)]), "0"),
        (call("LOCATE", vec![build::null(), txt("abc"), int(0)]), "NULL"),
        (call("LOCATE", vec![txt(""), txt("abc"), int(4)]), "4"),
        (call("LOCATE", vec![txt(""), txt("abc"), int(3)]), "3"),
        (call("LOCATE", vec![txt(""), txt("abc"), int(5)]), "0"),
        (call("LPAD", vec![txt("abc"), int(5), txt("xy")]), "xyabc"),
        (call("RPAD", vec![txt("abc"), int(6), txt("éy")]), "abcéyé"),
        (call("LPAD", vec![txt("abc"), int(2), txt("x")]), "ab"),
        (call("LPAD", vec![txt("abc"), int(-1), txt("x")]), "NULL"),
        (call("RPAD", vec![txt("abc"), int(5), txt("")]), ""),
        (call("REPEAT", vec![txt("ab"), int(3)]), "ababab"),
        (call("REPEAT", vec![txt("ab"), int(-3)]), ""),
        (call("REVERSE", vec![txt("aéc")]), "céa"),
        (call("HEX", vec![txt("aé")]), "61C3A9"),
        (call("HEX", vec![int(255)]), "FF"),
        (call("HEX", vec![int(-1)]), "FFFFFFFFFFFFFFFF"),
        (call("HEX", vec![dec("2.5")]), "3"),
        (call("HEX", vec![uint(u64::MAX)]), "FFFFFFFFFFFFFFFF"),
    ]);
}

#[test]
fn control_functions() {
    check(vec![
        (call("IF", vec![int(1), txt("a"), txt("b")]), "a"),
        (call("IF", vec![null(), int(1), dec("2.50")]), "2.50"),
        (call("IF", vec![txt("1x"), int(1), dec("2.50")]), "1.00"),
        (call("IFNULL", vec![null(), int(2)]), "2"),
        (call("IFNULL", vec![int(1), txt("a")]), "1"),
        (call("COALESCE", vec![null(), null(), dec("1.5"), dec("2.345")]), "1.500"),
        (call("NULLIF", vec![int(1), int(1)]), "NULL"),
        (call("NULLIF", vec![int(1), txt("1")]), "NULL"),
        (call("NULLIF", vec![int(1), null()]), "1"),
        (call("ISNULL", vec![null()]), "1"),
        (call("ISNULL", vec![int(0)]), "0"),
    ]);
}

#[test]
fn temporal_functions() {
    let day = || date("2024-02-29");
    let moment = || time("2024-02-29 13:04:05.678901");
    check(vec![
        (call("DATE", vec![moment()]), "2024-02-29"),
        (call("DATE", vec![txt("2024-2-9 1:2:3")]), "2024-02-09"),
        (call("DATE", vec![txt("nonsense")]), "NULL"),
        (call("YEAR", vec![day()]), "2024"),
        (call("YEAR", vec![int(20_240_229)]), "2024"),
        (call("QUARTER", vec![day()]), "1"),
        (call("MONTH", vec![txt("2024-12-31")]), "12"),
        (call("DAY", vec![day()]), "29"),
        (call("DAYOFMONTH", vec![moment()]), "29"),
        (call("HOUR", vec![moment()]), "13"),
        (call("HOUR", vec![txt("272:59:59")]), "272"),
        (call("MINUTE", vec![txt("10:05")]), "5"),
        (call("MINUTE", vec![moment()]), "4"),
        (call("SECOND", vec![moment()]), "5"),
        (call("MICROSECOND", vec![moment()]), "678901"),
        (call("MICROSECOND", vec![txt("10:11:12.5")]), "500000"),
        (call("DAYOFWEEK", vec![day()]), "5"),
        (call("WEEKDAY", vec![day()]), "3"),
        (call("DAYOFYEAR", vec![date("2024-12-31")]), "366"),
        (call("WEEK", vec![date("2024-01-06")]), "0"),
        (call("WEEK", vec![date("2024-01-07")]), "1"),
        (call("WEEK", vec![date("2008-02-20")]), "7"),
        (call("WEEK", vec![date("2008-02-20"), int(1)]), "8"),
        (call("WEEK", vec![date("2008-12-31"), int(1)]), "53"),
        (call("WEEK", vec![date("2000-01-01"), int(2)]), "52"),
        (call("WEEK", vec![date("2000-01-01"), int(3)]), "52"),
        (call("WEEK", vec![date("2000-01-01"), int(5)]), "0"),
        (call("WEEK", vec![date("2000-01-01"), int(7)]), "52"),
        (call("LAST_DAY", vec![date("2023-02-03")]), "2023-02-28"),
        (call("DATEDIFF", vec![date("2024-03-01"), time("2024-02-28 23:59:59")]), "2"),
        (
            call("DATE_FORMAT", vec![moment(), txt("%W %a %M %b %D %d %e %j %Y-%m-%y %c")]),
            "Thursday Thu February Feb 29th 29 29 060 2024-02-24 2",
        ),
        (
            call("DATE_FORMAT", vec![moment(), txt("%H:%i:%s.%f %h %I %k %l %p %r %T %S %% %x%z")]),
            "13:04:05.678901 01 01 13 1 PM 01:04:05 PM 13:04:05 05 % 2024z",
        ),
        (
            call("DATE_FORMAT", vec![date("2000-01-01"), txt("%U %u %V %v %X %x %w")]),
            "00 00 52 52 1999 1999 6",
        ),
        (
            call("DATE_FORMAT", vec![date("2008-12-31"), txt("%U %u %V %v %X %x %w")]),
            "52 53 52 01 2008 2009 3",
        ),
        (call("NOW", vec![]), "2024-05-06 07:08:09"),
        (call("CURRENT_TIMESTAMP", vec![int(3)]), "2024-05-06 07:08:09.123"),
        (call("CURDATE", vec![]), "2024-05-06"),
        (call("UNIX_TIMESTAMP", vec![]), "1714979289"),
        (call("UNIX_TIMESTAMP", vec![txt("1970-01-02")]), "86400"),
        (call("UNIX_TIMESTAMP", vec![date("1969-01-02")]), "0"),
    ]);
}

#[test]
fn intervals_are_added_in_the_types_mysql_gives() {
    use IntervalUnit::{Day, Hour, Microsecond, Month, Quarter, Second, Week, Year};
    let add = |d: Expr, n: Expr, unit| build::date_add(d, n, unit, false).unwrap();
    check(vec![
        (add(date("2024-01-31"), int(1), Month), "2024-02-29"),
        (build::date_add(date("2024-03-31"), int(1), Month, true).unwrap(), "2024-02-29"),
        (add(date("2024-02-29"), int(1), Year), "2025-02-28"),
        (add(date("2024-01-01"), int(2), Quarter), "2024-07-01"),
        (add(date("2024-01-01"), int(-1), Week), "2023-12-25"),
        (add(date("2024-01-01"), int(1), Hour), "2024-01-01 01:00:00"),
        (add(time("2024-01-01 00:00:00"), int(90), Second), "2024-01-01 00:01:30"),
        (add(date("2024-01-01"), dec("1.5"), Second), "2024-01-01 00:00:01.5"),
        (add(date("2024-01-01"), dec("-1.5"), Second), "2023-12-31 23:59:58.5"),
        (add(date("2024-01-01"), int(1), Microsecond), "2024-01-01 00:00:00.000001"),
        (add(txt("2024-01-31"), int(1), Day), "2024-02-01"),
        (add(txt("2024-01-31 10:00:00"), int(1), Day), "2024-02-01 10:00:00"),
        (add(txt("2024-01-31"), int(1), Hour), "2024-01-31 01:00:00"),
        (add(date("2024-01-01"), dec("1.5"), Day), "2024-01-03"),
        (add(date("9999-12-31"), int(1), Day), "NULL"),
        (add(date("2024-01-01"), int(i64::MAX), Year), "NULL"),
        (add(date("2024-01-01"), null(), Day), "NULL"),
        (add(txt("nonsense"), int(1), Day), "NULL"),
        (build::extract(Quarter, date("2024-05-01")).unwrap(), "2"),
        (build::extract(Hour, txt("2024-05-01 06:07:08")).unwrap(), "6"),
        (build::extract(Week, date("2024-01-07")).unwrap(), "1"),
    ]);
    let mut session = Session::new();
    session.eval(&add(date("9999-12-31"), int(1), Day)).unwrap();
    assert_eq!(session.codes(), [1441]);
    let e = add(txt("2024-01-31"), int(1), Day);
    assert_eq!(e.to_string(), "('2024-01-31' + interval 1 day)");
}

#[test]
fn session_functions_tell_the_sessions_facts() {
    check(vec![
        (call("VERSION", vec![]), "8.0.99-leafline"),
        (call("DATABASE", vec![]), "test"),
        (call("SCHEMA", vec![]), "test"),
        (call("USER", vec![]), "ada@localhost"),
        (call("SESSION_USER", vec![]), "ada@localhost"),
        (call("CURRENT_USER", vec![]), "ada@%"),
        (call("CONNECTION_ID", vec![]), "7"),
        (call("LAST_INSERT_ID", vec![]), "11"),
        (call("ROW_COUNT", vec![]), "-1"),
        (call("FOUND_ROWS", vec![]), "3"),
        (call("MYSQL_QUERY_ATTRIBUTE_STRING", vec![txt("trace")]), "7"),
        (call("MYSQL_QUERY_ATTRIBUTE_STRING", vec![txt("none")]), "NULL"),
        (call("MYSQL_QUERY_ATTRIBUTE_STRING", vec![txt("other")]), "NULL"),
    ]);
    let mut session = Session::new();
    session.facts.database = None;
    assert!(session.eval(&call("DATABASE", vec![])).unwrap().is_null());
}

#[test]
fn errors_and_warnings_are_mysqls() {
    let error = |e: Result<Expr, MysqlError>| e.unwrap_err().to_string();
    assert_eq!(
        error(build::call("no_such", vec![int(1)])),
        "ERROR 1305 (42000): FUNCTION no_such does not exist"
    );
    assert_eq!(build::call("DATE_ADD", vec![int(1), int(2), int(3)]).unwrap_err().code, 1305);
    assert_eq!(
        error(build::call("abs", vec![])),
        "ERROR 1582 (42000): Incorrect parameter count in the call to native function 'ABS'"
    );
    assert_eq!(build::call("IF", vec![int(1)]).unwrap_err().code, 1582);
    assert_eq!(build::call("NOW", vec![int(7)]).unwrap_err().code, 1426);
    let of = |e: Expr| Session::new().eval(&e).unwrap_err().to_string();
    assert_eq!(
        of(call("ABS", vec![int(i64::MIN)])),
        "ERROR 1690 (22003): BIGINT value is out of range in 'abs(-9223372036854775808)'"
    );
    assert_eq!(
        of(call("EXP", vec![int(1000)])),
        "ERROR 1690 (22003): DOUBLE value is out of range in 'exp(1000)'"
    );
    assert_eq!(
        of(call("ROUND", vec![uint(u64::MAX), int(-1)])).split(':').next(),
        Some("ERROR 1690 (22003)")
    );
    let warned = |e: Expr| {
        let mut session = Session::new();
        session.eval(&e).unwrap();
        session.codes()
    };
    assert_eq!(warned(call("LN", vec![int(0)])), [3020]);
    assert_eq!(warned(call("LOG", vec![int(1), int(0)])), [3020]);
    assert_eq!(warned(call("REPEAT", vec![txt("ab"), int(1 << 40)])), [1301]);
    assert_eq!(warned(call("LPAD", vec![txt("ab"), int(1 << 40), txt("x")])), [1301]);
    assert_eq!(warned(call("YEAR", vec![txt("nonsense")])), [1292]);
    assert_eq!(warned(call("ABS", vec![txt("1x")])), [1292]);
}

#[test]
fn types_of_calls() {
    let of = |e: Expr| e.ty.sql.to_string();
    assert_eq!(of(call("CONCAT", vec![txt("ab"), int(1)])), "varchar(22)");
    assert_eq!(of(call("CONCAT", vec![txt("ab"), bytes(b"a")])), "varbinary(3)");
    assert_eq!(of(call("ROUND", vec![dec("12.345"), int(1)])), "decimal(4,1)");
    assert_eq!(of(call("FLOOR", vec![dec("12.345")])), "bigint");
    assert_eq!(of(call("LENGTH", vec![txt("ab")])), "bigint");
    assert_eq!(of(call("IF", vec![int(1), int(1), uint(1)])), "decimal(20,0)");
    assert_eq!(of(call("IFNULL", vec![int(1), txt("abc")])), "varchar(20)");
    assert_eq!(of(call("COALESCE", vec![date("2024-01-01"), time("2024-01-01 00:00:00")])), "datetime");
    assert_eq!(of(call("REPEAT", vec![txt("ab"), int(3)])), "varchar(6)");
    let explicit = build::collate(txt("a"), Collation::Utf8mb4_0900Bin).unwrap();
    let other = build::collate(txt("a"), Collation::Utf8mb4Bin).unwrap();
    assert_eq!(call("CONCAT", vec![explicit.clone(), txt("b")]).ty.collation, Collation::Utf8mb4_0900Bin);
    let error = build::call("CONCAT", vec![explicit, other]).unwrap_err();
    assert_eq!(
        error.message,
        "Illegal mix of collations (utf8mb4_0900_bin,EXPLICIT) and (utf8mb4_bin,EXPLICIT) for operation 'concat'"
    );
}

#[test]
fn sleep_ends_when_the_statement_is_cancelled() {
    let mut session = Session::new();
    let e = call("SLEEP", vec![int(100_000)]);
    let token = session.cancel.clone();
    let killer = std::thread::spawn(move || token.cancel(CancelReason::QueryKilled));
    assert_eq!(session.eval(&e).unwrap_err().code, 1317);
    killer.join().unwrap();
    assert_eq!(Session::new().eval(&call("SLEEP", vec![dbl(0.001)])).unwrap(), Value::Int(0));
    assert_eq!(Session::new().eval(&call("SLEEP", vec![int(-1)])).unwrap_err().code, 1210);
    assert_eq!(Session::new().eval(&call("SLEEP", vec![null()])).unwrap_err().code, 1210);
}

#[test]
fn rand_has_a_sequence_per_call_and_changes_with_every_row() {
    let e = call("RAND", vec![int(1)]);
    let batch = leafline_types::column::Batch::new(vec![], 3);
    let mut session = Session::new();
    let datum = crate::evaluate(&e, &batch, &mut session.cx()).unwrap();
    let values: Vec<String> =
        (0..3).map(|n| shown(&datum.value(n, &SqlType::Double), &SqlType::Double)).collect();
    assert_eq!(values, ["0.40540353712197724", "0.8716141803857071", "0.1418603212962489"]);
    let e = call("RAND", vec![]);
    assert!(!e.is_constant() && e.is_volatile());
    let datum = crate::evaluate(&e, &batch, &mut session.cx()).unwrap();
    assert_ne!(datum.value(0, &SqlType::Double), datum.value(1, &SqlType::Double));
}

#[test]
fn names_are_unique_and_upper_case() {
    let mut names = std::collections::HashSet::new();
    for function in table() {
        assert!(function.min_args <= function.max_args, "{function:?}");
        for name in std::iter::once(&function.name).chain(function.aliases) {
            assert_eq!(*name, name.to_ascii_uppercase());
            assert!(names.insert(*name), "{name} is there twice");
            let found = FunctionId::named(&name.to_ascii_lowercase()).unwrap();
            assert_eq!(found.definition().name, function.name);
        }
    }
}
