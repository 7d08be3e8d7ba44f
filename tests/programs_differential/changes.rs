//! Random changes of rows in every form that fires triggers, and queries that call functions.

use crate::generate::{Generator, Kind};
use crate::statements::{self, expression};

/// Returns a change of rows in a form that `statements` does not have: of several tables, with IGNORE, of several rows,
/// with an AUTO_INCREMENT number, and of tables whose foreign keys have actions.
pub fn change(g: &mut Generator) -> String {
    let text = any_change(g);
    if statements::reads_target(&text) { "INSERT INTO t4 (a) VALUES (1), (2)".to_owned() } else { text }
}

fn any_change(g: &mut Generator) -> String {
    let (id, other) = (g.number(1, 9), g.number(1, 9));
    match g.number(0, 19) {
        // Of one row of each table: which rows a join finds first is the optimizer's choice.
        0 => format!("DELETE t2, t3 FROM t2 JOIN t3 ON t2.id = t3.id WHERE t2.id = {id}"),
        1 => format!("DELETE FROM t3 USING t2 JOIN t3 ON t2.id = t3.id WHERE t2.id = {id}"),
        2 => format!(
            "UPDATE t2 JOIN t3 ON t2.id = t3.id SET t2.a = {}, t3.a = {other} WHERE t2.id = {id}",
            expression(g, 1)
        ),
        3 => format!("UPDATE t3 SET a = {} WHERE id <= {id} ORDER BY id LIMIT 1", expression(g, 0)),
        4 => format!("UPDATE t3 SET id = id + 1 WHERE id >= {id} ORDER BY id DESC"),
        5 => format!("INSERT INTO t4 (a) VALUES ({}), ({other})", expression(g, 1)),
        6 => format!(
            "INSERT INTO t4 (id, a, b) VALUES ({id}, {}, {other}) ON DUPLICATE KEY UPDATE a = VALUES(a) + 1, b = b + 1",
            expression(g, 1)
        ),
        7 => format!("REPLACE INTO t4 (id, a) VALUES ({id}, {other}), ({other}, {id})"),
        8 => format!("UPDATE t4 SET a = {} WHERE id <= {id} ORDER BY id", expression(g, 1)),
        9 => format!("DELETE FROM t4 WHERE id > {id} ORDER BY id LIMIT 2"),
        10 => format!("INSERT INTO t4 (a, b) SELECT a, {} FROM t3 ORDER BY id", expression(g, 0)),
        11 => format!("INSERT INTO c1 VALUES ({id}, {other}) ON DUPLICATE KEY UPDATE t = {other}"),
        12 => format!("INSERT INTO c2 VALUES ({id}, {other})"),
        13 => format!("UPDATE t2 SET id = id + 10 WHERE id = {id}"),
        14 => format!("DELETE FROM t2 WHERE id IN ({id}, {other}) ORDER BY id"),
        15 => format!(
            "INSERT INTO t2 VALUES ({id}, 1), ({other}, 2), ({id} + 9, {}), ({other} + 9, 4)",
            expression(g, 0)
        ),
        16 => format!("INSERT IGNORE INTO t2 SELECT id, a FROM t3 WHERE id <> {id} ORDER BY id"),
        17 => format!("REPLACE INTO t3 SELECT id, a + {other} FROM t2 ORDER BY id"),
        18 => format!(
            "INSERT INTO t3 SELECT id, a FROM t4 ORDER BY id ON DUPLICATE KEY UPDATE t3.a = t3.a + {other}"
        ),
        _ => format!("INSERT INTO t4 (id, a, b) VALUES ({id}, {}, NULL)", expression(g, 0)),
    }
}

/// Returns a query that calls functions in every place that a query has.
pub fn query(g: &mut Generator) -> String {
    let (id, text) = (g.number(0, 6), expression(g, 0));
    match g.number(0, 11) {
        0 => format!(
            "SELECT x.id, f(x.a, {text}) FROM t1 x JOIN t2 y ON f(x.id, 0) = y.id ORDER BY x.id, y.id"
        ),
        1 => format!("SELECT a, COUNT(*) FROM t2 GROUP BY a HAVING MAX(f(id, {id})) > 2 ORDER BY a"),
        2 => format!("SELECT DISTINCT g(id, {text}) FROM t2 ORDER BY 1"),
        3 => "SELECT * FROM v1 ORDER BY id".to_owned(),
        4 => format!("SELECT id, called FROM v1 WHERE called > {id} ORDER BY id"),
        5 => "SELECT id, (SELECT MAX(f(y.a, x.id)) FROM t2 y WHERE y.id <= x.id) FROM t1 x ORDER BY id"
            .to_owned(),
        6 => format!("SELECT f(1, {id}) UNION SELECT g({id}, a) FROM t2 ORDER BY 1"),
        7 => {
            format!("SELECT d.k, COUNT(*) FROM (SELECT f(id, {id}) AS k FROM t2) d GROUP BY d.k ORDER BY d.k")
        }
        8 => format!(
            "SELECT id FROM t2 WHERE EXISTS (SELECT 1 FROM t3 WHERE t3.id = f(t2.id, {id})) ORDER BY id"
        ),
        9 => format!("SELECT COUNT(f(a, {id})), SUM(g(id, 1)), MAX(f(id, a)) FROM t2"),
        10 => {
            format!("SELECT id, CASE f(id, {id}) WHEN 1 THEN 'one' WHEN 2 THEN 'two' END FROM t2 ORDER BY id")
        }
        _ => format!("SELECT id, g(id, {text}) FROM t2 ORDER BY f(a, id), id LIMIT 3"),
    }
}

impl Generator {
    /// Returns statements that run behind the programs, outside of them.
    pub fn statements(&mut self) -> Vec<String> {
        self.kind = Kind::Session;
        self.procedures.clear();
        let mut all = Vec::new();
        for _ in 0..10 {
            let statement = match self.number(0, 9) {
                // The number of an INSERT that failed is left open.
                0 => {
                    all.push(format!("INSERT INTO t4 (a) VALUES ({}), (2)", expression(self, 0)));
                    "SELECT LAST_INSERT_ID()".to_owned()
                }
                1..5 => change(self),
                5 | 6 => query(self),
                7 => self.of(&["SELECT @u, @o, @w", "SELECT ROW_COUNT()"]).to_owned(),
                8 => self.of(&["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s1", "ROLLBACK TO s1"]).to_owned(),
                _ => statements::sql(self),
            };
            all.push(statement);
        }
        all.push("COMMIT".to_owned());
        all
    }
}
