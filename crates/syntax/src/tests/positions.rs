//! Where errors point, and their messages.

use super::super::{LexMode, parse};

fn message(sql: &str) -> String {
    match parse(sql, LexMode::default()) {
        Ok(_) => panic!("{sql} parsed"),
        Err(e) => e.message,
    }
}

fn near(sql: &str) -> (String, usize) {
    let message = message(sql);
    let start = message.find("near '").unwrap_or_else(|| panic!("{sql}: {message}")) + 6;
    let end = message.rfind("' at line ").unwrap_or_else(|| panic!("{sql}: {message}"));
    (message[start..end].to_owned(), message[end + 10..].parse().expect("a line number"))
}

#[test]
fn the_text_from_the_first_wrong_token_is_quoted() {
    for (sql, text, line) in [
        ("SELEC 1", "SELEC 1", 1),
        ("SELECT 1 FROM", "", 1),
        ("SELECT * FROM t WHERE", "", 1),
        ("SELECT * FORM t", "FORM t", 1),
        ("SELECT a,\n  b c d\nFROM t", "d\nFROM t", 2),
        ("SELECT 1\n\n\n  )", ")", 4),
        ("INSERT INTO t VALUES (1,)", ")", 1),
        ("SELECT 'abc", "'abc", 1),
        ("SELECT 1; SELECT 2", "SELECT 2", 1),
        ("CREATE TABLE t (a INT,)", ")", 1),
        ("CREATE TABLE t (a INTT)", "INTT)", 1),
        ("CREATE TABLE IF EXISTS t (a INT)", "EXISTS t (a INT)", 1),
        ("SELECT * FROM t LIMIT -1", "-1", 1),
        ("SELECT a FROM t GROUP a", "a", 1),
        ("SELECT /* unfinished", "/* unfinished", 1),
        ("SELECT \u{1f600} , , 1", ", 1", 1),
    ] {
        assert_eq!(near(sql), (text.to_owned(), line), "{sql}");
    }
}

#[test]
fn at_most_eighty_characters_are_quoted() {
    let (text, _) = near(&format!("SELECT * FROM t WHERE ORDER {}", "é".repeat(200)));
    assert_eq!(text.chars().count(), 80);
}

#[test]
fn messages_are_mysqls() {
    assert_eq!(
        message("SELEC"),
        "You have an error in your SQL syntax; check the manual that corresponds to your Leafline server version for \
         the right syntax to use near 'SELEC' at line 1"
    );
    assert_eq!(
        message("SELECT LAG(a) IGNORE NULLS OVER ()"),
        "This version of Leafline doesn't yet support 'IGNORE NULLS'"
    );
    assert_eq!(message("SELECT ALL DISTINCT 1"), "Incorrect usage of ALL and DISTINCT");
    assert_eq!(message("  \n"), "Query was empty");
    // As in MySQL, comments alone are a statement.
    assert!(parse("  -- nothing\n", LexMode::default()).is_ok());
    assert!(parse("/* nothing */ ;", LexMode::default()).is_ok());
    assert_eq!(message(";"), "Query was empty");
}
