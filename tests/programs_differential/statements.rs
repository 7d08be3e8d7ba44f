//! Random statements, conditions and expressions of programs.

use crate::changes;
use crate::generate::{Generator, Kind};

/// Returns an expression of at most `depth` levels.
pub fn expression(g: &mut Generator, depth: usize) -> String {
    if depth == 0 {
        return if g.chance(40) && !g.readable.is_empty() {
            g.readable()
        } else {
            g.number(-3, 9).to_string()
        };
    }
    match g.number(0, 99) {
        0..25 => g.number(-3, 9).to_string(),
        25..58 if !g.readable.is_empty() => g.readable(),
        58..68 if !g.functions.is_empty() => {
            let functions = g.functions.clone();
            let function = g.of(&functions);
            format!("{function}({}, {})", expression(g, depth - 1), expression(g, depth - 1))
        }
        68..73 => "(SELECT COUNT(*) FROM t2)".to_owned(),
        73..78 => format!("(SELECT MAX(a) FROM t2 WHERE id < {})", expression(g, 0)),
        78..83 => format!("IFNULL({}, {})", expression(g, depth - 1), expression(g, depth - 1)),
        83..86 => "NULL".to_owned(),
        86..88 => "@u".to_owned(),
        _ => {
            let (left, right) = (expression(g, depth - 1), expression(g, depth - 1));
            format!("({left} {} {right})", g.of(&["+", "-", "*"]))
        }
    }
}

/// Returns the right side of SET, which is evaluated once.
pub fn assigned(g: &mut Generator) -> String {
    if g.chance(8) && g.kind == Kind::Procedure {
        return format!("w({})", expression(g, 0));
    }
    if g.chance(4) {
        return "ROW_COUNT()".to_owned();
    }
    expression(g, 2)
}

pub fn condition(g: &mut Generator) -> String {
    match g.number(0, 99) {
        0..12 => format!("EXISTS (SELECT 1 FROM t2 WHERE a = {})", expression(g, 1)),
        12..20 => format!("{} IN (SELECT a FROM t3)", expression(g, 1)),
        20..32 => format!("{} IS NULL", expression(g, 1)),
        _ => {
            let (left, right) = (expression(g, 1), expression(g, 1));
            format!("{left} {} {right}", g.of(&["<", "=", ">", "<>", "<="]))
        }
    }
}

/// Returns a condition on the rows of a table with `id` and `a`.
fn rows(g: &mut Generator) -> String {
    match g.number(0, 9) {
        0..5 => format!("id = {}", expression(g, 1)),
        // Without an index, so that the rows come in the order of the primary key.
        5..8 => format!("a + 0 {} {}", g.of(&["<", ">"]), expression(g, 1)),
        8 if !g.functions.is_empty() => format!("f(id, {}) > {}", expression(g, 0), g.number(0, 9)),
        _ => format!("id IN (SELECT a FROM t3 WHERE id < {})", expression(g, 0)),
    }
}

/// Returns a query of a cursor with two columns, in a determined order.
pub fn cursor_query(g: &mut Generator) -> String {
    let called = if g.functions.is_empty() { "t1.a + 1" } else { "f(t1.id, t1.a)" };
    match g.number(0, 4) {
        0 => format!("SELECT id, a FROM t1 WHERE {} ORDER BY id", rows(g)),
        1 => format!(
            "SELECT t1.id, t2.a FROM t1 JOIN t2 ON t1.id = t2.id WHERE t2.a > {} ORDER BY t1.id",
            expression(g, 0)
        ),
        2 => format!("SELECT t1.id, {called} FROM t1 ORDER BY t1.id DESC LIMIT 3"),
        3 => {
            "SELECT COUNT(*), t1.id FROM t1 LEFT JOIN t3 ON t3.a < t1.a GROUP BY t1.id ORDER BY 2".to_owned()
        }
        _ => format!("SELECT id, a FROM t2 UNION ALL SELECT id, {} FROM t3 ORDER BY 1, 2", expression(g, 0)),
    }
}

/// Returns a statement that is no part of the language of programs.
pub fn sql(g: &mut Generator) -> String {
    let text = any_sql(g);
    if reads_target(&text) {
        return "UPDATE t1 SET a = a + 1 WHERE id < 3".to_owned();
    }
    text
}

/// Whether a subquery of a change reads the table that it changes.
pub fn reads_target(text: &str) -> bool {
    let reads = ["t1", "t2", "t3"].into_iter().any(|table| {
        let changes = ["INTO ", "UPDATE ", "IGNORE INTO ", "DELETE FROM "];
        let is_target = changes.iter().any(|words| text.contains(&format!("{words}{table} ")));
        is_target && text.replacen(&format!("DELETE FROM {table}"), "", 1).contains(&format!("FROM {table}"))
    });
    reads && !text.starts_with("SELECT")
}

fn any_sql(g: &mut Generator) -> String {
    let text = g.of(&["x", "yy", "zzz", "toolongvalue"]);
    let id = g.number(1, 9);
    let table = g.of(&["t1", "t1", "t1", "t2", "t3"]);
    // Only t1 has a third column.
    let third = if table == "t1" { format!(", '{text}'") } else { String::new() };
    let variable = g.variable();
    match (g.number(0, 99), variable) {
        (0..14, _) => format!("INSERT INTO {table} VALUES ({id}, {}{third})", expression(g, 1)),
        (14..26, _) => {
            let mark = g.name("m");
            format!("INSERT INTO log (what) VALUES (CONCAT('{mark} ', IFNULL({}, 'null')))", expression(g, 1))
        }
        (26..36, _) => format!("UPDATE {table} SET a = {} WHERE {}", expression(g, 1), rows(g)),
        (36..41, _) => format!("DELETE FROM {table} WHERE {}", rows(g)),
        (41..44, _) => format!("REPLACE INTO {table} VALUES ({id}, {}{third})", expression(g, 1)),
        (44..48, _) => {
            format!(
                "INSERT INTO {table} VALUES ({id}, {}{third}) ON DUPLICATE KEY UPDATE a = a + 1",
                expression(g, 1)
            )
        }
        (48..50, _) => {
            format!("INSERT IGNORE INTO {table} VALUES ({id}, 1{third}), ({}, 2{third})", g.number(1, 9))
        }
        (50..53, _) => format!("INSERT INTO t3 SELECT id + {id}, a FROM t2 WHERE {} ORDER BY id", rows(g)),
        (53..55, _) => {
            format!("UPDATE t2 JOIN t3 ON t2.id = t3.id SET t2.a = {} WHERE t3.id < {id}", expression(g, 1))
        }
        (55..63, Some(variable)) => format!("SELECT {} INTO {variable}", expression(g, 1)),
        (63..70, Some(variable)) => {
            format!("SELECT a INTO {variable} FROM {table} WHERE {} ORDER BY id LIMIT 1", rows(g))
        }
        (70..73, Some(variable)) => format!("SELECT a INTO {variable} FROM {table} WHERE id < 5"),
        (73..76, _) => format!("SET @u = {}", expression(g, 1)),
        (76..78, _) => "UPDATE nosuch SET a = 1".to_owned(),
        (78, _) => "DO f(1, 2), g(2, 1)".to_owned(),
        (79..83, _) if g.kind != Kind::Trigger => changes::change(g),
        (83, _) if g.kind != Kind::Trigger => changes::query(g),
        _ if g.kind != Kind::Trigger => of_procedure(g),
        _ => format!("UPDATE t3 SET a = a + 1 WHERE {}", rows(g)),
    }
}

/// Returns a statement that only procedures may have.
fn of_procedure(g: &mut Generator) -> String {
    let mark = g.name("r");
    match g.number(0, 99) {
        0..30 => format!("SELECT '{mark}', {}", expression(g, 1)),
        30..40 => format!("SELECT '{mark}', id, a FROM t1 WHERE {} ORDER BY g(id, 1), id", rows(g)),
        40..60 => call(g),
        60..64 => "START TRANSACTION".to_owned(),
        64..68 => g.of(&["COMMIT", "ROLLBACK"]).to_owned(),
        68..76 => format!("SAVEPOINT {}", g.of(&["s1", "s2"])),
        76..81 => format!("ROLLBACK TO {}", g.of(&["s1", "s2"])),
        81..84 => format!("RELEASE SAVEPOINT {}", g.of(&["s1", "s2"])),
        84..90 => {
            let sql = g.of(&[
                "SELECT ?, a FROM t2 WHERE id = 2",
                "UPDATE t2 SET a = a + ?",
                "INSERT INTO t3 VALUES (?, 3)",
                "SELECT f(?, 2) INTO @u",
                "SELECT * FROM nosuch WHERE a = ?",
                "CALL p2(@o, @u, ?)",
                "DELETE FROM t2 WHERE id = ?",
                "REPLACE INTO t4 (id, a) VALUES (?, 9)",
            ]);
            format!("PREPARE {} FROM '{sql}'", g.of(&["q1", "q2"]))
        }
        90..97 => format!("EXECUTE {} USING @u", g.of(&["q1", "q2"])),
        97..98 => format!("DEALLOCATE PREPARE {}", g.of(&["q1", "q2"])),
        _ => format!("SET @u = w({})", expression(g, 0)),
    }
}

/// Returns a CALL. Procedures that call themselves count down.
fn call(g: &mut Generator) -> String {
    if g.procedures.is_empty() {
        return format!("SELECT {}", expression(g, 1));
    }
    let procedures = g.procedures.clone();
    let procedure = g.of(&procedures);
    let first = g.variable().unwrap_or_else(|| "@u".into());
    let second = if g.chance(70) { "@o".to_owned() } else { g.variable().unwrap_or_else(|| "@o".into()) };
    if procedure == "p0" {
        return format!("BEGIN IF n > 0 THEN CALL p0({first}, {second}, n - 1); END IF; END");
    }
    format!("CALL {procedure}({first}, {second}, {})", expression(g, 0))
}
