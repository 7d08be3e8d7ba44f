//! Hostile input: random tokens, truncated statements, deep nesting. Nothing panics.

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::super::{LexMode, MAX_HEIGHT, MAX_NESTING, parse};
use super::{outcomes, programs};

const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "BY",
    "HAVING",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "JOIN",
    "LEFT",
    "RIGHT",
    "INNER",
    "CROSS",
    "NATURAL",
    "STRAIGHT_JOIN",
    "ON",
    "USING",
    "AS",
    "DISTINCT",
    "ALL",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "INSERT",
    "INTO",
    "VALUES",
    "SET",
    "UPDATE",
    "DELETE",
    "CREATE",
    "TABLE",
    "INDEX",
    "UNIQUE",
    "KEY",
    "PRIMARY",
    "INT",
    "VARCHAR",
    "DECIMAL",
    "NOT",
    "NULL",
    "DEFAULT",
    "AUTO_INCREMENT",
    "AND",
    "OR",
    "XOR",
    "IN",
    "IS",
    "LIKE",
    "BETWEEN",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST",
    "CONVERT",
    "INTERVAL",
    "DAY",
    "DATE",
    "EXISTS",
    "ANY",
    "COUNT",
    "SUM",
    "TRIM",
    "EXTRACT",
    "SUBSTRING",
    "POSITION",
    "COLLATE",
    "BINARY",
    "ROW",
    "SHOW",
    "EXPLAIN",
    "ANALYZE",
    "FORMAT",
    "USE",
    "FORCE",
    "IGNORE",
    "FOR",
    "LOCK",
    "WITH",
    "RECURSIVE",
    "BEGIN",
    "COMMIT",
    "PROCEDURE",
    "FUNCTION",
    "TRIGGER",
    "EVENT",
    "DECLARE",
    "CURSOR",
    "HANDLER",
    "CONDITION",
    "IF",
    "LOOP",
    "WHILE",
    "DO",
    "REPEAT",
    "RETURN",
    "SIGNAL",
    "l:",
    "NEW.a",
    "FLUSH",
    "KILL",
    "t",
    "a",
    "b",
    "x.y",
    "`q`",
    "'s'",
    "\"d\"",
    "1",
    "2.5",
    "1e3",
    "0x1f",
    "b'1'",
    "?",
    "@v",
    "@@w",
    "(",
    ")",
    "(",
    ")",
    ",",
    ";",
    ".",
    "*",
    "+",
    "-",
    "/",
    "%",
    "=",
    "<",
    ">",
    "<=>",
    "<>",
    ":=",
    "||",
    "&&",
    "!",
    "~",
    "^",
    "{",
    "}",
    "/*",
    "*/",
    "/*!",
    "--",
    "#",
    "\n",
    "'",
    "\\",
    "é",
    "\0",
];

pub(super) fn scale() -> usize {
    std::env::var("LEAFLINE_TEST_SCALE").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}

pub(super) fn seed() -> u64 {
    std::env::var("LEAFLINE_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or_else(|| SmallRng::from_os_rng().random())
}

#[test]
fn random_tokens_never_panic() {
    let seed = seed();
    println!("LEAFLINE_SEED={seed}");
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut accepted = 0;
    for _ in 0..20_000 * scale() {
        let length = rng.random_range(1..25);
        let mut sql = String::new();
        for _ in 0..length {
            sql += WORDS.choose(&mut rng).expect("words");
            if rng.random_range(0..8) != 0 {
                sql.push(' ');
            }
        }
        let mode = LexMode {
            ansi_quotes: rng.random(),
            no_backslash_escapes: rng.random(),
            pipes_as_concat: rng.random(),
            ignore_space: rng.random(),
            real_as_float: rng.random(),
            high_not_precedence: rng.random(),
            no_directories: rng.random(),
        };
        accepted += usize::from(parse(&sql, mode).is_ok());
    }
    println!("{accepted} accepted");
}

#[test]
fn damaged_statements_never_panic() {
    let seed = seed();
    println!("LEAFLINE_SEED={seed}");
    let mut rng = SmallRng::seed_from_u64(seed);
    for sql in outcomes::all().chain(programs::all()) {
        for end in (0..sql.len()).filter(|&i| sql.is_char_boundary(i)) {
            let _ = parse(&sql[..end], LexMode::default());
        }
        for _ in 0..10 * scale() {
            let mut words: Vec<&str> = sql.split(' ').collect();
            let at = rng.random_range(0..words.len());
            match rng.random_range(0..3) {
                0 => words.insert(at, WORDS.choose(&mut rng).expect("words")),
                1 => {
                    words.remove(at);
                }
                _ => words[at] = WORDS.choose(&mut rng).expect("words"),
            }
            let _ = parse(&words.join(" "), LexMode::default());
        }
    }
}

/// A procedure whose body has the block, opened by one text and closed by the other, `levels` deep.
fn program(levels: usize, open: &str, close: &str) -> String {
    let closed = close.repeat(levels);
    format!("CREATE PROCEDURE p() {}SELECT 1; {}", open.repeat(levels), closed.trim_end_matches([';', ' ']))
}

/// One statement for each construct that nests, `levels` deep.
fn deep(levels: usize) -> Vec<String> {
    vec![
        format!("SELECT {}1{}", "(".repeat(levels), ")".repeat(levels)),
        format!("SELECT {}1", "-".repeat(levels).replace("--", "- - ")),
        format!("SELECT {}1", "NOT ".repeat(levels)),
        format!("SELECT 1{}", " + 1".repeat(levels)),
        format!("SELECT 1{}", " = 1".repeat(levels)),
        format!("SELECT {}1{}", "f(".repeat(levels), ")".repeat(levels)),
        format!("SELECT {}1{}", "CASE WHEN ".repeat(levels), " THEN 1 END".repeat(levels)),
        format!("SELECT {}1{}", "(SELECT ".repeat(levels), ")".repeat(levels)),
        format!("SELECT 1 FROM {}t{}", "(".repeat(levels), ")".repeat(levels)),
        format!("SELECT 1 FROM t{}", " JOIN t".repeat(levels)),
        format!("{}SELECT 1{}", "(".repeat(levels), ")".repeat(levels)),
        format!("SELECT {}1{}", "(1 + ".repeat(levels), ")".repeat(levels)),
        format!("SELECT {}1{}", "(".repeat(levels), " + 1)".repeat(levels)),
        format!("SELECT 1 FROM {}", "(SELECT 1 FROM ".repeat(levels)),
        format!("SELECT 1 FROM t WHERE a IN {}", "(SELECT 1 FROM t WHERE a IN ".repeat(levels)),
        format!("EXPLAIN {}SELECT 1", "EXPLAIN ".repeat(levels)),
        format!("CREATE PROCEDURE p() {}SELECT 1; {}", "BEGIN ".repeat(levels), "END; ".repeat(levels)),
        format!(
            "CREATE PROCEDURE p() {}{}",
            "IF 1 THEN ".repeat(levels),
            "SELECT 1; END IF; ".repeat(levels)
        ),
        format!(
            "CREATE PROCEDURE p() {}{}",
            "CASE 1 WHEN 1 THEN ".repeat(levels),
            "END CASE; ".repeat(levels)
        ),
        format!("CREATE PROCEDURE p() {}SELECT 1", "LOOP ".repeat(levels)),
        format!("CREATE PROCEDURE p() {}SELECT 1", "REPEAT WHILE 1 DO ".repeat(levels)),
        format!("CREATE PROCEDURE p() {}SELECT 1", "BEGIN DECLARE EXIT HANDLER FOR 1 ".repeat(levels)),
        program(levels, "BEGIN ", "END; "),
        program(levels, "BEGIN DECLARE EXIT HANDLER FOR 1 BEGIN END; IF 1 THEN ", "END IF; END; "),
        program(levels, "l: BEGIN DECLARE EXIT HANDLER FOR 1 ", "; END "),
    ]
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    // Far beyond the limit there is an error, on a stack that unlimited recursion would overflow.
    for sql in deep(100_000) {
        let error = parse(&sql, LexMode::default()).expect_err("too deep");
        assert!([1436, 1064, 1235].contains(&error.code), "{error}");
    }
    let codes: Vec<u16> = deep(MAX_HEIGHT + 1)
        .iter()
        .map(|sql| parse(sql, LexMode::default()).map_or_else(|e| e.code, |_| 0))
        .collect();
    assert_eq!(codes.iter().filter(|&&c| c == 1436).count(), 24, "{codes:?}");
}

#[test]
fn long_flat_statements_are_not_deep() {
    let terms = vec!["a = 1"; 20_000];
    for sql in [
        format!("SELECT 1 FROM t WHERE {}", terms.join(" OR ")),
        format!("SELECT 1 FROM t WHERE {}", terms.join(" AND ")),
        format!("SELECT 1 FROM t WHERE a IN ({})", vec!["1"; 20_000].join(", ")),
        format!("INSERT INTO t VALUES {}", vec!["(1, 'x')"; 20_000].join(", ")),
    ] {
        parse(&sql, LexMode::default()).expect("flat");
    }
    let pipes = LexMode { pipes_as_concat: true, ..LexMode::default() };
    for chain in [terms.join(" XOR "), vec!["a"; 20_000].join(" || ")] {
        parse(&format!("SELECT 1 FROM t WHERE {chain}"), pipes).expect("flat");
    }
}

#[test]
fn the_deepest_statement_fits_a_small_stack() {
    // 1.5 MiB in an unoptimised build; an optimised one needs a fraction of it.
    let thread = std::thread::Builder::new().stack_size(3 << 19).spawn(|| {
        for sql in deep(MAX_HEIGHT + 1) {
            drop(parse(&sql, LexMode::default()));
        }
        for sql in deep(MAX_NESTING - 10) {
            drop(parse(&sql, LexMode::default()).map(|s| format!("{s:?}").len()));
        }
    });
    thread.expect("a thread").join().expect("no overflow");
}
