//! How expressions nest.

use super::{expression, nested, outcome};

fn check(cases: &[(&str, &str)]) {
    for (text, tree) in cases {
        assert_eq!(nested(&expression(text)), *tree, "{text}");
    }
}

#[test]
fn searches_for_words_have_modes() {
    check(&[
        ("MATCH (a, t.b) AGAINST ('x')", "[match Natural 'x']"),
        ("match a, b against (@x IN NATURAL LANGUAGE MODE) > 0", "[Gt [match Natural @x] 0]"),
        ("MATCH (a) AGAINST (CONCAT('x', ?) IN BOOLEAN MODE)", "[match Boolean CONCAT('x' ?0)]"),
        ("MATCH (a) AGAINST ('x' WITH QUERY EXPANSION)", "[match Expanded 'x']"),
        ("MATCH (a) AGAINST ('x' IN NATURAL LANGUAGE MODE WITH QUERY EXPANSION)", "[match Expanded 'x']"),
    ]);
    for wrong in [
        "MATCH (a) AGAINST ('x' IN BOOLEAN MODE WITH QUERY EXPANSION)",
        "MATCH (a + 1) AGAINST ('x')",
        "MATCH () AGAINST ('x')",
        "MATCH (a) AGAINST ()",
        "MATCH (a) AGAINST ('x' AND 'y')",
    ] {
        assert_eq!(outcome(&format!("SELECT {wrong} FROM t")), 1064, "{wrong}");
    }
}

#[test]
fn operators_bind_as_in_mysql() {
    check(&[
        ("1 + 2 * 3", "[Add 1 [Multiply 2 3]]"),
        ("1 - 2 - 3", "[Subtract [Subtract 1 2] 3]"),
        ("1 * 2 / 3 % 4 DIV 5 MOD 6", "[Modulo [IntegerDivide [Modulo [Divide [Multiply 1 2] 3] 4] 5] 6]"),
        ("-a * b", "[Multiply [Minus a] b]"),
        ("- a ^ b", "[BitXor [Minus a] b]"),
        ("a * b ^ c", "[Multiply a [BitXor b c]]"),
        ("a | b & c << d + e", "[BitOr a [BitAnd b [ShiftLeft c [Add d e]]]]"),
        ("~a & b", "[BitAnd [BitNot a] b]"),
        ("a OR b AND c", "[or a [and b c]]"),
        ("a || b && c", "[or a [and b c]]"),
        ("a OR b XOR c", "[or a [xor b c]]"),
        ("a XOR b XOR c", "[xor [xor a b] c]"),
        ("a AND b AND c OR d OR e", "[or [and a b c] d e]"),
        ("(a AND b) AND c", "[and [and a b] c]"),
        ("a = b AND c <> d", "[and [Eq a b] [Ne c d]]"),
        ("a = b = c", "[Eq [Eq a b] c]"),
        ("a < b IS NULL", "[is-Null [Lt a b]]"),
        ("a IS NULL = b", "[Eq [is-Null a] b]"),
        ("a IS NOT NULL IS NULL", "[is-Null [is-not-Null a]]"),
        ("a = b IS TRUE", "[is-True [Eq a b]]"),
        ("a <=> b != c >= d <= e > f", "[Gt [Le [Ge [Ne [NullSafeEq a b] c] d] e] f]"),
        ("a = b LIKE c", "[Eq a [like b c]]"),
        ("a + 1 = b | 2", "[Eq [Add a 1] [BitOr b 2]]"),
    ]);
}

#[test]
fn not_stands_above_comparisons_and_bang_below_everything() {
    check(&[
        ("NOT a = b", "[not [Eq a b]]"),
        ("!a = b", "[Eq [not a] b]"),
        ("NOT a AND b", "[and [not a] b]"),
        ("NOT NOT a", "[not [not a]]"),
        ("a AND NOT b OR NOT c", "[or [and a [not b]] [not c]]"),
        ("NOT a IS TRUE", "[not [is-True a]]"),
        ("NOT a BETWEEN b AND c", "[not [between a b c]]"),
        ("NOT a IN (b)", "[not [in a b]]"),
        ("!-a", "[not [Minus a]]"),
        ("(NOT a) = b", "[Eq [not a] b]"),
    ]);
    assert_eq!(outcome("SELECT 1 = NOT 0"), 1064);
    assert_eq!(outcome("SELECT 1 + NOT 0"), 1064);
}

#[test]
fn predicates_take_their_own_operands_and_do_not_chain() {
    check(&[
        ("a BETWEEN 1 AND 2 AND b", "[and [between a 1 2] b]"),
        ("a NOT BETWEEN 1 + 1 AND 2 OR b", "[or [not-between a [Add 1 1] 2] b]"),
        ("a BETWEEN b AND c LIKE d", "[between a b [like c d]]"),
        ("a IN (1, 2 + 3, 'x')", "[in a 1 [Add 2 3] 'x']"),
        ("a NOT IN (1) = 0", "[Eq [not-in a 1] 0]"),
        ("a + 1 IN (2)", "[in [Add a 1] 2]"),
        ("a LIKE 'x%' ESCAPE '|'", "[like a 'x%' '|']"),
        ("a NOT LIKE concat(b, '%')", "[not-like a concat(b '%')]"),
        (
            "a REGEXP 'x' AND b RLIKE 'y' AND c NOT REGEXP 'z'",
            "[and [regexp a 'x'] [regexp b 'y'] [not-regexp c 'z']]",
        ),
        ("a SOUNDS LIKE b", "[Eq SOUNDEX(a) SOUNDEX(b)]"),
        ("a IN (SELECT 1)", "[in a query]"),
        ("a > ALL (SELECT 1) AND b = ANY (SELECT 2)", "[and [Gt-all a query] [Eq-any b query]]"),
    ]);
    for sql in
        ["a LIKE b LIKE c", "a IN (1) IN (2)", "a LIKE b + c", "a IS TRUE IS TRUE", "a BETWEEN 1", "a IN ()"]
    {
        assert_eq!(outcome(&format!("SELECT {sql}")), 1064, "{sql}");
    }
}

#[test]
fn collate_and_binary_bind_tightest() {
    check(&[
        ("a = b COLLATE utf8mb4_bin", "[Eq a [collate b utf8mb4_bin]]"),
        ("- a COLLATE utf8mb4_bin", "[Minus [collate a utf8mb4_bin]]"),
        ("BINARY a = b", "[Eq [cast a Binary { length: None }] b]"),
        ("a LIKE b COLLATE binary", "[like a [collate b binary]]"),
    ]);
}

#[test]
fn literals_keep_what_was_written() {
    check(&[
        ("'a' 'b' \"c\"", "'abc'"),
        ("N'x'", "'x'"),
        ("_utf8mb4'x'", "'x'"),
        ("_binary'x'", "[120]"),
        ("x'41' + 0x4142 + b'11' + 0b1", "[Add [Add [Add [65] [65, 66]] [3]] [1]]"),
        ("1.50 + 1e3 + .5", "[Add [Add 1.50 1e3] .5]"),
        ("18446744073709551616", "18446744073709551616"),
        ("TRUE + false", "[Add true false]"),
        ("DATE '2020-01-01'", "Date'2020-01-01'"),
        ("TIMESTAMP'2020-01-01 00:00:00'", "Timestamp'2020-01-01 00:00:00'"),
        ("TIME '10:00'", "Time'10:00'"),
        ("{d '2020-01-01'}", "Date'2020-01-01'"),
        ("{ts '2020-01-01 10:00:00'}", "Timestamp'2020-01-01 10:00:00'"),
        ("{fn concat(a, b)}", "concat(a b)"),
        ("? + ?", "[Add ?0 ?1]"),
        ("NULL", "null"),
        ("@a := 1 + 2", "[:= @a [Add 1 2]]"),
        (
            "@@max_connections + @@global.x + @@session.y",
            "[Add [Add @@max_connections @@Global.x] @@Session.y]",
        ),
    ]);
}

#[test]
fn names_take_one_two_or_three_parts_and_reserved_words_after_a_dot() {
    check(&[
        ("a", "a"),
        ("t.a", "t.a"),
        ("d.t.a", "d.t.a"),
        ("`select`.`from`", "select.from"),
        ("t.select", "t.select"),
        ("status + date + count", "[Add [Add status date] count]"),
        ("`a``b`", "a`b"),
    ]);
    assert_eq!(outcome("SELECT select"), 1064);
    assert_eq!(outcome("SELECT key FROM t"), 1064);
}

#[test]
fn dates_take_intervals_in_every_form() {
    check(&[
        ("a + INTERVAL 1 DAY", "[date+ a 1 Day]"),
        ("a - INTERVAL '1' MONTH - INTERVAL 2 YEAR", "[date- [date- a '1' Month] 2 Year]"),
        ("INTERVAL 1 DAY + a", "[date+ a 1 Day]"),
        ("INTERVAL (1) DAY + a", "[date+ a 1 Day]"),
        ("a < date '1994-01-01' + interval '1' year", "[Lt a [date+ Date'1994-01-01' '1' Year]]"),
        ("DATE_ADD(a, INTERVAL b HOUR)", "[date+ a b Hour]"),
        ("DATE_SUB(a, INTERVAL '1:1' MINUTE_SECOND)", "[date- a '1:1' MinuteSecond]"),
        ("ADDDATE(a, 3)", "[date+ a 3 Day]"),
        ("SUBDATE(a, INTERVAL 3 WEEK)", "[date- a 3 Week]"),
        ("TIMESTAMPADD(MINUTE, 3, a)", "[date+ a 3 Minute]"),
        ("TIMESTAMPDIFF(SQL_TSI_DAY, a, b)", "TIMESTAMPDIFF(Day a b)"),
        ("EXTRACT(YEAR_MONTH FROM a)", "[extract YearMonth a]"),
    ]);
    assert_eq!(outcome("SELECT INTERVAL(1, 2, 3)"), 0);
    assert_eq!(outcome("SELECT a + INTERVAL 1"), 1064);
    assert_eq!(outcome("SELECT a + INTERVAL 1 FORTNIGHT"), 1064);
}

#[test]
fn calls_take_their_special_forms() {
    check(&[
        ("SUBSTRING(a FROM 2 FOR 3)", "SUBSTRING(a 2 3)"),
        ("SUBSTR(a, 2)", "SUBSTR(a 2)"),
        ("POSITION('a' IN b)", "LOCATE('a' b)"),
        ("TRIM(a)", "[trim Both a]"),
        ("TRIM('x' FROM a)", "[trim Both 'x' a]"),
        ("TRIM(LEADING FROM a)", "[trim Leading a]"),
        ("TRIM(TRAILING 'x' FROM a)", "[trim Trailing 'x' a]"),
        ("IF(a, b, c) + LEFT(a, 1) + MOD(5, 3)", "[Add [Add IF(a b c) LEFT(a 1)] MOD(5 3)]"),
        ("CURRENT_DATE", "CURRENT_DATE()"),
        ("CURRENT_TIMESTAMP(3) + NOW()", "[Add CURRENT_TIMESTAMP(3) NOW()]"),
        ("REPLACE(a, 'b', 'c')", "REPLACE(a 'b' 'c')"),
        ("CHAR(65, 66)", "CHAR(65 66)"),
        ("database()", "database()"),
        ("avg (a)", "Avg(a)"),
    ]);
    assert_eq!(outcome("SELECT count (*)"), 1064);
    assert_eq!(outcome("SELECT count (a)"), 1630);
    assert_eq!(outcome("SELECT now ()"), 1630);
    assert_eq!(outcome("SELECT sum(*)"), 1064);
    assert_eq!(outcome("SELECT sum()"), 1064);
}

#[test]
fn aggregates_are_told_from_functions() {
    check(&[
        ("COUNT(*)", "CountAll()"),
        ("count(DISTINCT a, b)", "Count(distinct a b)"),
        ("sum(DISTINCT a)", "Sum(distinct a)"),
        ("sum(ALL a * (1 - b))", "Sum([Multiply a [Subtract 1 b]])"),
        ("min(a) + max(b) / avg(c)", "[Add Min(a) [Divide Max(b) Avg(c)]]"),
        ("stddev_samp(a)", "StddevSamp(a)"),
    ]);
}

#[test]
fn casts_know_their_targets() {
    check(&[
        ("CAST(a AS SIGNED)", "[cast a Signed]"),
        ("CAST(a AS UNSIGNED INTEGER)", "[cast a Unsigned]"),
        ("CAST(a AS DECIMAL(10,2))", "[cast a Decimal { precision: Some(10), scale: Some(2) }]"),
        ("CONVERT(a, DATETIME(3))", "[cast a DateTime { fsp: Some(3) }]"),
        ("CONVERT(a USING utf8mb4)", "[convert a utf8mb4]"),
        ("CAST(a AS FLOAT(30))", "[cast a Float { precision: Some(30) }]"),
        ("CAST(a AS BINARY(3))", "[cast a Binary { length: Some(3) }]"),
    ]);
    assert_eq!(outcome("SELECT CAST(a AS INT)"), 1064);
    assert_eq!(outcome("SELECT CAST(a AS VARCHAR(3))"), 1064);
}

#[test]
fn case_has_two_forms() {
    check(&[
        ("CASE WHEN a THEN b END", "[case a=>b]"),
        ("CASE a WHEN 1 THEN 'x' WHEN 2 THEN 'y' ELSE 'z' END", "[case a 1=>'x' 2=>'y' else 'z']"),
    ]);
    assert_eq!(outcome("SELECT CASE a END"), 1064);
    assert_eq!(outcome("SELECT CASE WHEN a THEN b"), 1064);
}

#[test]
fn parentheses_hold_expressions_rows_and_queries() {
    check(&[
        ("((1)) + (2)", "[Add 1 2]"),
        ("(1, 2) = (3, 4)", "[Eq [row 1 2] [row 3 4]]"),
        ("ROW(1, 2)", "[row 1 2]"),
        ("(SELECT 1)", "query"),
        ("((SELECT 1))", "query"),
        ("((SELECT 1) UNION (SELECT 2))", "query"),
        ("((SELECT 1) + 1)", "[Add query 1]"),
        ("((SELECT 1), 2)", "[row query 2]"),
        ("EXISTS (SELECT 1)", "[exists query]"),
        ("EXISTS ((SELECT 1) UNION SELECT 2)", "[exists query]"),
    ]);
}

#[test]
fn spans_cover_the_source() {
    let text = "SELECT  ( a+1 ) *b  AS x";
    let super::StatementKind::Query(query) = super::parsed(text).kind else { panic!() };
    let crate::ast::QueryBody::Select(select) = query.body else { panic!() };
    let Some(super::SelectItem::Expr { span, expr, .. }) = select.items.first() else { panic!() };
    assert_eq!(span.text(text), "( a+1 ) *b");
    assert_eq!(expr.span.text(text), "( a+1 ) *b");
}
