//! Random handlers that stand in each other, what raises their conditions, and cursors that are used wrongly.

use crate::generate::{Generator, STACKED};
use crate::statements::{self, expression};

/// Conditions that statements raise, each with one of them.
const RAISED: &[&str] = &[
    "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'one'",
    "SIGNAL SQLSTATE '45001' SET MYSQL_ERRNO = 5001",
    "SIGNAL SQLSTATE '01234' SET MESSAGE_TEXT = 'warned'",
    "SIGNAL SQLSTATE '02000'",
    "INSERT INTO t2 VALUES (1, 1)",
    "INSERT INTO calls VALUES (1, 'one'), (1, 'two')",
    "UPDATE nosuch SET a = 1",
    "SELECT a FROM nosuch INTO @u",
    "SET @u = (SELECT id FROM t2)",
    "SET @u = nosuch(1)",
    "SELECT id INTO @u FROM t2",
    "SELECT a INTO @u FROM t2 WHERE id > 99",
    "SET @u = 9223372036854775807 + @p + 9",
    "INSERT INTO t1 VALUES (50, 1, 'much too long')",
    "CALL nosuch()",
];

impl Generator {
    /// Returns an expression that fails, or does so for some values.
    pub fn failing(&mut self) -> String {
        match self.number(0, 6) {
            0 => "(SELECT id FROM t1)".to_owned(),
            1 => "(SELECT a FROM nosuch)".to_owned(),
            2 => "nosuch(1)".to_owned(),
            3 => format!("(9223372036854775800 + {})", expression(self, 0)),
            4 => format!("f({}, 1)", self.number(90, 120)),
            5 => "(SELECT a FROM t2 WHERE id < 3)".to_owned(),
            _ => format!("({} * 5000000000 * 5000000000)", expression(self, 0)),
        }
    }

    /// Returns a condition of IF, CASE, WHILE and REPEAT; few fail.
    pub fn tested(&mut self) -> String {
        if self.chance(6) { format!("{} > 1", self.failing()) } else { statements::condition(self) }
    }

    /// Returns up to four blocks in each other, each with handlers, that note which of them ran.
    pub fn nested_handlers(&mut self, depth: usize) -> String {
        let (mark, action) = (self.name("n"), self.of(&["CONTINUE", "EXIT"]));
        let condition = self.of(&[
            "SQLEXCEPTION",
            "SQLWARNING",
            "NOT FOUND",
            "SQLSTATE '45000'",
            "SQLSTATE '23000'",
            "SQLSTATE '42S02'",
            "1062",
            "1146",
            "1242",
            "5001",
            "1305",
            "1690",
            "1172",
        ]);
        let body = self.noting(&mark, depth);
        let mut text = format!("BEGIN DECLARE {action} HANDLER FOR {condition} {body} ");
        if self.chance(30) {
            let (mark, other) =
                (self.name("n"), self.of(&["SQLEXCEPTION", "1062", "SQLWARNING", "NOT FOUND"]));
            if other != condition {
                text += &format!("DECLARE CONTINUE HANDLER FOR {other} {} ", self.noting(&mark, 0));
            }
        }
        for _ in 0..self.number(1, 2) {
            text += self.of(RAISED);
            text += "; ";
        }
        if depth > 0 {
            text += &self.nested_handlers(depth - 1);
            text += " ";
        }
        if self.chance(50) {
            text += self.of(RAISED);
            text += "; ";
        }
        text += &format!("INSERT INTO log (what) VALUES ('after {mark}'); END;");
        text
    }

    /// Returns the body of a handler, which notes the condition, and may raise another, or hold more handlers.
    fn noting(&mut self, mark: &str, depth: usize) -> String {
        let note = format!(
            "GET {STACKED} DIAGNOSTICS CONDITION 1 @e = MYSQL_ERRNO, @s = RETURNED_SQLSTATE; \
             INSERT INTO log (what) VALUES (CONCAT_WS(' ', '{mark}', @e, @s));"
        );
        let then = match self.number(0, 9) {
            0 => "RESIGNAL;".to_owned(),
            1 => "RESIGNAL SQLSTATE '45001' SET MYSQL_ERRNO = 5001;".to_owned(),
            2 => format!("{};", self.of(RAISED)),
            3 | 4 if depth > 0 => self.nested_handlers(depth - 1),
            _ => String::new(),
        };
        format!("BEGIN {note} {then} END;")
    }

    /// Returns a block whose cursors are opened, read and closed in any order, also in a loop.
    pub fn misused_cursors(&mut self) -> String {
        let (first, second, v, w, mark) =
            (self.name("c"), self.name("c"), self.name("v"), self.name("v"), self.name("k"));
        let (one, two) = (statements::cursor_query(self), statements::cursor_query(self));
        let mut steps = String::new();
        for _ in 0..self.number(3, 8) {
            let cursor = if self.chance(60) { &first } else { &second };
            steps += &match self.number(0, 9) {
                0..3 => format!("OPEN {cursor};"),
                3..7 => format!("FETCH {cursor} INTO {v}, {w};"),
                7 | 8 => format!("CLOSE {cursor};"),
                _ => format!("{};", crate::changes::change(self)),
            };
            if self.chance(40) {
                steps += &format!("INSERT INTO log (what) VALUES (CONCAT_WS(' ', '{mark}', {v}, {w}));");
            }
        }
        let handler = self.of(&["SQLEXCEPTION", "NOT FOUND", "1325, 1326", "SQLEXCEPTION, NOT FOUND"]);
        let steps = if self.chance(40) {
            let counter = self.name("i");
            format!(
                "BEGIN DECLARE {counter} INT DEFAULT 0; WHILE {counter} < 2 DO SET {counter} = {counter} + 1; {steps} END WHILE; END;"
            )
        } else {
            steps
        };
        format!(
            "BEGIN DECLARE {v}, {w} INT; DECLARE {first} CURSOR FOR {one}; DECLARE {second} CURSOR FOR {two}; \
             DECLARE CONTINUE HANDLER FOR {handler} INSERT INTO log (what) VALUES ('{mark} handled'); {steps} END;"
        )
    }
}
