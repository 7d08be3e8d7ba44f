//! Tests that types, domains and literals of `build` are those of MySQL 8.0.

use super::*;
use crate::testkit::{Session, date, dbl, dec, int, null, time, txt, uint};
use crate::{ArithmeticOp, CompareDomain, CompareOp, bind_parameters, evaluate_row, fold};
use leafline_types::temporal::Date;

fn column_of(sql: SqlType) -> Expr {
    column(0, ExprType::column(sql, true, Collation::Utf8mb4Bin))
}

fn decimal(precision: u8, scale: u8) -> SqlType {
    SqlType::decimal(precision, scale)
}

fn int_type() -> SqlType {
    SqlType::Int { unsigned: false }
}

#[test]
fn arithmetic_types() {
    use ArithmeticOp::*;
    let unsigned = || column_of(SqlType::Int { unsigned: true });
    let varchar = || column_of(SqlType::Varchar { len: 9 });
    for (op, left, right, expected) in [
        (Add, column_of(int_type()), int(1), "bigint"),
        (Add, unsigned(), int(1), "bigint unsigned"),
        (Subtract, int(1), unsigned(), "bigint unsigned"),
        (Modulo, int(1), unsigned(), "bigint"),
        (IntegerDivide, dec("1.5"), dbl(1.0), "bigint"),
        (Add, column_of(decimal(15, 2)), int(1), "decimal(16,2)"),
        (Subtract, int(1), column_of(decimal(15, 2)), "decimal(16,2)"),
        (Multiply, column_of(decimal(15, 2)), column_of(decimal(16, 2)), "decimal(31,4)"),
        (Multiply, column_of(decimal(65, 20)), column_of(decimal(65, 20)), "decimal(65,30)"),
        (Divide, int(1), int(3), "decimal(5,4)"),
        (Divide, column_of(int_type()), column_of(int_type()), "decimal(14,4)"),
        (Divide, column_of(decimal(15, 2)), column_of(decimal(10, 3)), "decimal(22,6)"),
        (Modulo, column_of(decimal(15, 2)), dec("1.234"), "decimal(16,3)"),
        (Add, column_of(SqlType::Double), column_of(decimal(15, 2)), "double"),
        (Add, varchar(), int(1), "double"),
        (Add, column_of(SqlType::Date), int(1), "bigint"),
        (Add, column_of(SqlType::DateTime { fsp: 3 }), int(0), "decimal(18,3)"),
        (Add, null(), int(1), "bigint"),
    ] {
        let text = format!("{left} {op} {right}");
        let e = arithmetic(op, left, right).unwrap();
        assert_eq!(e.ty.sql.to_string(), expected, "{text}");
    }
    let not_null = |op| arithmetic(op, int(1), int(2)).unwrap().ty.nullable;
    assert!(!not_null(Add) && not_null(Divide) && not_null(Modulo));
    assert_eq!(negate(column_of(SqlType::Int { unsigned: true })).unwrap().ty.sql, SqlType::BIGINT);
    assert_eq!(negate(uint(1 << 63)).unwrap().to_string(), "-9223372036854775808");
    assert_eq!(negate(uint((1 << 63) + 1)).unwrap().to_string(), "-9223372036854775809");
}

/// Returns the comparison of a column with an operand as text, and its domain.
fn compared(sql: SqlType, right: Expr) -> (String, CompareDomain) {
    let e = compare(CompareOp::Eq, column_of(sql), right).unwrap();
    let text = e.to_string();
    match e.kind {
        ExprKind::Compare { domain, .. } => (text, domain),
        other => panic!("{other:?}"),
    }
}

#[test]
fn comparison_domains() {
    use CompareDomain as Domain;
    let varchar = || SqlType::Varchar { len: 9 };
    let fsp = |fsp| SqlType::DateTime { fsp };
    for (sql, right, text, domain) in [
        (int_type(), int(1), "(#0 = 1)", Domain::Integer),
        (int_type(), uint(u64::MAX), "(#0 = 18446744073709551615)", Domain::Integer),
        (int_type(), dec("1.5"), "(#0 = 1.5)", Domain::Decimal),
        (int_type(), dbl(1.5), "(#0 = 1.5e0)", Domain::Double),
        (int_type(), txt("12"), "(#0 = 12)", Domain::Integer),
        (int_type(), txt("1.5"), "(#0 = 1.5)", Domain::Decimal),
        (int_type(), txt("12a"), "(#0 = '12a')", Domain::Double),
        (decimal(9, 2), txt("1.5"), "(#0 = 1.5)", Domain::Decimal),
        (SqlType::Double, dec("1.5"), "(#0 = 1.5)", Domain::Double),
        (varchar(), txt("x"), "(#0 = 'x')", Domain::String(Collation::Utf8mb4Bin)),
        (varchar(), int(1), "(#0 = 1)", Domain::Double),
        (SqlType::Date, txt("2024-1-2"), "(#0 = DATE'2024-01-02')", Domain::Date),
        (SqlType::Date, txt("2024-1-2 3:0:0"), "(#0 = TIMESTAMP'2024-01-02 03:00:00')", Domain::DateTime),
        (SqlType::Date, int(20_240_102), "(#0 = DATE'2024-01-02')", Domain::Date),
        (SqlType::Date, int(7), "(#0 = 7)", Domain::Integer),
        (SqlType::Date, time("2024-01-02 00:00:00"), "(#0 = DATE'2024-01-02')", Domain::Date),
        (fsp(0), date("2024-01-02"), "(#0 = TIMESTAMP'2024-01-02 00:00:00')", Domain::DateTime),
        (fsp(0), txt("20240102030405"), "(#0 = TIMESTAMP'2024-01-02 03:04:05')", Domain::DateTime),
        (fsp(0), column_of(varchar()), "(#0 = #0)", Domain::DateTime),
        (fsp(0), column_of(SqlType::Date), "(#0 = #0)", Domain::DateTime),
        (SqlType::Date, dec("1.5"), "(#0 = 1.5)", Domain::Decimal),
        (int_type(), null(), "(#0 = NULL)", Domain::Integer),
    ] {
        assert_eq!(compared(sql, right), (text.to_string(), domain));
    }
    let error = compare(CompareOp::Lt, column_of(SqlType::Date), txt("abc")).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (1525, "Incorrect DATE value: 'abc'"));
    let error =
        compare(CompareOp::Lt, txt("2024-13-30"), column_of(SqlType::DateTime { fsp: 0 })).unwrap_err();
    assert_eq!(error.message, "Incorrect DATETIME value: '2024-13-30'");
}

#[test]
fn collations_meet_by_coercibility() {
    let of = |collation, sql: SqlType| column(0, ExprType::column(sql, true, collation));
    let varchar = SqlType::Varchar { len: 9 };
    let padded = || of(Collation::Utf8mb4Bin, varchar.clone());
    let unpadded = || of(Collation::Utf8mb4_0900Bin, varchar.clone());
    let binary = || of(Collation::Binary, SqlType::Varbinary { len: 9 });
    let domain = |a: Expr, b: Expr| match compare(CompareOp::Eq, a, b)?.kind {
        ExprKind::Compare { domain: CompareDomain::String(collation), .. } => {
            Ok::<_, leafline_types::MysqlError>(collation)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(domain(unpadded(), txt("a")), Ok(Collation::Utf8mb4_0900Bin));
    assert_eq!(domain(txt("a"), unpadded()), Ok(Collation::Utf8mb4_0900Bin));
    assert_eq!(domain(padded(), unpadded()), Ok(Collation::Utf8mb4Bin));
    assert_eq!(domain(padded(), binary()), Ok(Collation::Binary));
    assert_eq!(domain(binary(), txt("a")), Ok(Collation::Binary));
    let explicit = |e, collation| collate(e, collation).unwrap();
    assert_eq!(
        domain(padded(), explicit(txt("a"), Collation::Utf8mb4_0900Bin)),
        Ok(Collation::Utf8mb4_0900Bin)
    );
    let error =
        domain(explicit(padded(), Collation::Utf8mb4Bin), explicit(txt("a"), Collation::Utf8mb4_0900Bin))
            .unwrap_err();
    assert_eq!(error.code, 1267);
    assert_eq!(collate(padded(), Collation::Binary).unwrap_err().code, 1253);
}

#[test]
fn in_lists_split_by_domain_and_become_sets() {
    let e = in_list(column_of(int_type()), vec![int(1), int(2), null()], false).unwrap();
    let ExprKind::InList { set: Some(set), .. } = &e.kind else { panic!("{e:?}") };
    assert!(set.has_null() && e.ty.nullable);
    let e = in_list(column_of(int_type()), vec![int(1), txt("x"), int(3)], false).unwrap();
    assert_eq!(e.to_string(), "((#0 in (1,3)) or (#0 in ('x')))");
    let e = in_list(column_of(SqlType::Date), vec![txt("2024-1-2"), date("2024-01-03")], true).unwrap();
    assert_eq!(e.to_string(), "(#0 not in (DATE'2024-01-02',DATE'2024-01-03'))");
    let e = in_list(column_of(int_type()), vec![column(1, ExprType::numeric(SqlType::BIGINT, false))], false);
    assert!(matches!(e.unwrap().kind, ExprKind::InList { set: None, .. }));
    let rand = call("RAND", vec![]).unwrap();
    assert_eq!(between(rand, int(0), int(1), false).unwrap_err().code, 1235);
}

#[test]
fn common_types() {
    let common = |a: SqlType, b: SqlType| {
        let of = |sql| ExprType::column(sql, false, Collation::Utf8mb4Bin);
        common_type("case", &[&of(a), &of(b)]).unwrap().sql.to_string()
    };
    let tiny = |unsigned| SqlType::TinyInt { unsigned };
    assert_eq!(common(tiny(false), int_type()), "int");
    assert_eq!(common(tiny(true), tiny(false)), "smallint");
    assert_eq!(common(SqlType::BIGINT_UNSIGNED, tiny(false)), "decimal(20,0)");
    assert_eq!(common(SqlType::BIGINT_UNSIGNED, tiny(true)), "bigint unsigned");
    assert_eq!(common(decimal(10, 2), decimal(6, 4)), "decimal(12,4)");
    assert_eq!(common(decimal(10, 2), int_type()), "decimal(12,2)");
    assert_eq!(common(decimal(10, 2), SqlType::Double), "double");
    assert_eq!(common(SqlType::Null, SqlType::Date), "date");
    assert_eq!(common(SqlType::Date, SqlType::DateTime { fsp: 3 }), "datetime(3)");
    assert_eq!(common(SqlType::Date, int_type()), "varchar(11)");
    assert_eq!(common(SqlType::Char { len: 3 }, SqlType::Varchar { len: 2 }), "varchar(3)");
    assert_eq!(common(SqlType::Char { len: 3 }, SqlType::Char { len: 5 }), "char(5)");
    assert_eq!(common(int_type(), SqlType::Varchar { len: 2 }), "varchar(11)");
    assert_eq!(common(SqlType::Text { max_bytes: 65_535 }, SqlType::Varchar { len: 2 }), "text");
    assert_eq!(common(SqlType::Varbinary { len: 3 }, SqlType::Varchar { len: 2 }), "varbinary(8)");
}

/// Keys of the two sides are equal where the comparison is true, across types, too.
#[test]
fn join_keys_meet_in_one_type() {
    let of = |sql: SqlType| column_of(sql);
    let ty = |a: SqlType, b: SqlType| {
        let (left, right) = (of(a), of(b));
        let (_, _, domain) = compare::domain_of("=", left.clone(), right.clone(), true).unwrap();
        let keys = join_keys(left, right, domain)?;
        assert_eq!((&keys.0.ty.sql, keys.0.ty.collation), (&keys.1.ty.sql, keys.1.ty.collation));
        Some(keys.0.ty.sql.to_string())
    };
    let text = |s: &str| Some(s.to_string());
    assert_eq!(ty(int_type(), SqlType::TinyInt { unsigned: false }), text("bigint"));
    assert_eq!(ty(int_type(), SqlType::BIGINT_UNSIGNED), text("decimal(20,0)"));
    assert_eq!(ty(int_type(), decimal(10, 2)), text("decimal(12,2)"));
    assert_eq!(ty(decimal(65, 30), decimal(65, 0)), None);
    assert_eq!(ty(SqlType::Date, SqlType::DateTime { fsp: 0 }), text("datetime(6)"));
    assert_eq!(ty(SqlType::Varchar { len: 3 }, int_type()), text("double"));
    assert_eq!(ty(SqlType::Char { len: 3 }, SqlType::Varchar { len: 9 }), text("longtext"));
    let (left, right) = join_keys(of(int_type()), of(decimal(10, 2)), CompareDomain::Decimal).unwrap();
    let mut session = Session::new();
    let a = evaluate_row(&left, &[Value::Int(7)], &mut session.cx()).unwrap();
    let b = evaluate_row(&right, &[dec("7.00").as_literal().unwrap().clone()], &mut session.cx()).unwrap();
    assert_eq!(a, b);
}

#[test]
fn casts_have_the_types_asked_for() {
    let to = |target| cast(txt("1"), target, Collation::Utf8mb4Bin).map(|e| e.ty.sql.to_string());
    assert_eq!(to(CastTarget::Signed).unwrap(), "bigint");
    assert_eq!(to(CastTarget::Unsigned).unwrap(), "bigint unsigned");
    assert_eq!(to(CastTarget::Char(Some(3))).unwrap(), "varchar(3)");
    assert_eq!(to(CastTarget::Char(None)).unwrap(), "varchar(1)");
    assert_eq!(to(CastTarget::Binary(None)).unwrap(), "varbinary(4)");
    assert_eq!(to(CastTarget::Decimal(5, 2)).unwrap(), "decimal(5,2)");
    assert_eq!(to(CastTarget::Decimal(2, 5)).unwrap_err().code, 1427);
    assert_eq!(to(CastTarget::Decimal(66, 0)).unwrap_err().code, 1426);
    assert_eq!(to(CastTarget::Decimal(65, 31)).unwrap_err().code, 1425);
    assert_eq!(to(CastTarget::DateTime(3)).unwrap(), "datetime(3)");
    assert_eq!(to(CastTarget::DateTime(7)).unwrap_err().code, 1426);
}

#[test]
fn constants_fold_unless_they_raise_something() {
    let mut session = Session::new();
    let sum = |a, b| arithmetic(ArithmeticOp::Add, a, b).unwrap();
    let mut folded = |e| fold(e, &mut session.cx()).unwrap().to_string();
    assert_eq!(folded(sum(int(1), sum(int(2), int(3)))), "6");
    assert_eq!(folded(sum(column_of(int_type()), sum(int(2), int(3)))), "(#0 + 5)");
    assert_eq!(folded(sum(int(i64::MAX), int(1))), "(9223372036854775807 + 1)");
    assert_eq!(folded(sum(int(1), txt("x"))), "(1 + 'x')");
    assert_eq!(folded(call("NOW", vec![]).unwrap()), "now()");
    assert_eq!(folded(call("RAND", vec![]).unwrap()), "rand()");
    assert!(session.codes().is_empty());
}

/// A parameter with its value is typed like a literal: dates are read, lists become sets, patterns are compiled.
#[test]
fn bound_parameters_are_typed_as_literals() {
    let parameters = [Value::from("2024-01-02"), Value::Int(5), Value::from("a%")];
    let text = || {
        ExprType::string(SqlType::Varchar { len: 10 }, true, Collation::Utf8mb4Bin, Coercibility::Coercible)
    };
    let number = || ExprType::numeric(SqlType::BIGINT, true);
    let mut session = Session::new();
    let mut bound = |e: Expr| {
        let mut cx = session.cx();
        cx.parameters = &parameters;
        bind_parameters(&e, &mut cx).unwrap()
    };
    let day = compare(CompareOp::Ge, column_of(SqlType::Date), parameter(0, text())).unwrap();
    assert_eq!(day.to_string(), "(#0 >= ?)");
    assert_eq!(bound(day).to_string(), "(#0 >= DATE'2024-01-02')");
    let list = in_list(column_of(int_type()), vec![parameter(1, number()), int(2)], false).unwrap();
    assert!(matches!(bound(list).kind, ExprKind::InList { set: Some(_), .. }));
    let pattern =
        like(column_of(SqlType::Varchar { len: 3 }), parameter(2, text()), Some('\\'), false).unwrap();
    assert!(matches!(bound(pattern).kind, ExprKind::Like { compiled: Some(_), .. }));
    let today = compare(CompareOp::Eq, column_of(SqlType::Date), call("CURDATE", vec![]).unwrap()).unwrap();
    assert_eq!(bound(today).to_string(), "(#0 = DATE'2024-05-06')");
    let bad = compare(CompareOp::Eq, column_of(SqlType::Date), parameter(2, text())).unwrap();
    let mut cx = session.cx();
    cx.parameters = &parameters;
    assert_eq!(bind_parameters(&bad, &mut cx).unwrap_err().code, 1525);
}

#[test]
fn equal_expressions_are_equal_and_hash_alike() {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let hash = |e: &Expr| {
        let mut hasher = DefaultHasher::new();
        e.hash(&mut hasher);
        hasher.finish()
    };
    let make = |n: i64| {
        let sum = arithmetic(ArithmeticOp::Add, column_of(int_type()), int(n)).unwrap();
        let day = literal(Value::Date(
            Date::parse("2024-01-02", leafline_types::temporal::DateRules::PARTS).unwrap().value,
        ));
        let year = call("YEAR", vec![day]).unwrap();
        and(vec![compare(CompareOp::Lt, sum, year).unwrap(), is_null(txt("x"), true)])
    };
    assert_eq!(make(1), make(1));
    assert_eq!(hash(&make(1)), hash(&make(1)));
    assert_ne!(make(1), make(2));
    assert_ne!(dec("1.0"), dec("1.00"), "their types differ");
    assert_ne!(dbl(0.0), dbl(-0.0), "they print differently");
    assert_eq!(make(1).columns().into_iter().collect::<Vec<_>>(), [0]);
    assert_eq!(make(1).map_columns(&mut |n| n + 7).columns().into_iter().collect::<Vec<_>>(), [7]);
    let replaced = make(1).replace_columns(&mut |_| Some(int(5)));
    assert!(replaced.columns().is_empty() && replaced.is_constant());
}

#[test]
fn expressions_print_as_sql() {
    let name = |n: usize| Some(format!("t.c{n}"));
    let shown = |e: Expr| e.display_with(&name).to_string();
    let c = || column_of(SqlType::Varchar { len: 9 });
    assert_eq!(shown(like(c(), txt("a'\\%"), Some('\\'), true).unwrap()), "(t.c0 not like 'a''\\\\%')");
    assert_eq!(shown(like(c(), txt("a"), Some('|'), false).unwrap()), "(t.c0 like 'a' escape '|')");
    let e = case(Some(c()), vec![(txt("a"), int(1))], Some(int(2))).unwrap();
    assert_eq!(shown(e), "(case t.c0 when 'a' then 1 else 2 end)");
    assert_eq!(shown(is_truth(c(), false, true)), "(t.c0 is not false)");
    assert_eq!(shown(cast(c(), CastTarget::Unsigned, Collation::Binary).unwrap()), "cast(t.c0 as unsigned)");
    assert_eq!(shown(not(xor(c(), null()))), "(not (t.c0 xor NULL))");
    assert_eq!(shown(literal(Value::bytes(vec![0, 255]))), "x'00FF'");
    let e = extract(leafline_types::temporal::IntervalUnit::Year, c()).unwrap();
    assert_eq!(shown(e), "extract(year from t.c0)");
}
