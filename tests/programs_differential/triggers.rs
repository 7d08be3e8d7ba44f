//! Random triggers: of every time and event, several of a table in an order that FOLLOWS and PRECEDES give, which fire triggers of
//! other tables.

use crate::generate::{Generator, Kind};

impl Generator {
    /// Returns the triggers of the tables; those of one fire those of the next.
    pub fn triggers(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        for (table, percent, state) in
            [("t1", 35, "45101"), ("t2", 30, "45102"), ("t3", 25, "45103"), ("t4", 20, "45104")]
        {
            self.own_state = state;
            for time in ["BEFORE", "AFTER"] {
                for event in ["INSERT", "UPDATE", "DELETE"] {
                    let mut others = Vec::new();
                    for _ in 0..3 {
                        if self.chance(percent) {
                            let name = self.name("tr");
                            let order = self.order(&others);
                            all.push(self.trigger(&name, table, &format!("{time} {event}"), &order));
                            others.push(name);
                        }
                    }
                }
            }
        }
        all
    }

    /// Returns the place of a trigger among the others of its table, time and event, or nothing.
    fn order(&mut self, others: &[String]) -> String {
        if others.is_empty() || self.chance(50) {
            return String::new();
        }
        let at = self.number(0, others.len() as i32 - 1) as usize;
        format!("{} {}", self.of(&["FOLLOWS", "PRECEDES"]), others[at])
    }

    fn trigger(&mut self, name: &str, table: &str, when: &str, order: &str) -> String {
        self.kind = Kind::Trigger;
        let (time, event) = when.split_once(' ').expect("a time and an event");
        let (has_old, has_new) = (event != "INSERT", event != "DELETE");
        let mut columns = Vec::new();
        if has_new {
            columns.extend(["NEW.id", "NEW.a"]);
        }
        if has_old {
            columns.extend(["OLD.id", "OLD.a"]);
        }
        let mut body = String::new();
        if time == "BEFORE" && has_new && self.chance(60) {
            let more = ["SET NEW.b = CONCAT('t', NEW.b);", "SET NEW.b = NULL, NEW.a = NEW.id;"];
            let all = [
                "SET NEW.a = NEW.a + 100;",
                "IF NEW.a IS NULL THEN SET NEW.a = -1; END IF;",
                "SET NEW.a = f(NEW.id, NEW.a);",
                "SELECT MAX(id) INTO @u FROM t2; SET NEW.a = @u;",
                "SET NEW.id = NEW.id + 1;",
                "SET NEW.a = NULL;",
                "SET NEW.a = NEW.a + 1; SET @u = NEW.a;",
            ];
            body += match table {
                "t1" if self.chance(30) => self.of(&more),
                "t4" if self.chance(40) => self.of(&[
                    "SET NEW.b = IFNULL(NEW.b, 7);",
                    "SET NEW.b = NEW.a;",
                    "SET NEW.a = NEW.a + NEW.b;",
                ]),
                _ => self.of(&all),
            };
        }
        if self.chance(80) {
            let mark = format!("{}{}{table}", &time[..1], &event[..1]);
            body +=
                &format!("INSERT INTO log (what) VALUES (CONCAT_WS(' ', '{mark}', {}));", columns.join(", "));
        }
        if self.chance(15) {
            let least = self.number(0, 9);
            body += &format!(
                "IF {} > {least} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'trigger'; END IF;",
                columns[1]
            );
        }
        if self.chance(10) {
            body += &format!("SET @u = g({}, 2);", columns[1]);
        }
        if self.chance(40) {
            body += &self.fired(table, &columns);
        }
        if self.chance(4) {
            body += &format!("UPDATE {table} SET a = 0;");
        }
        if self.chance(8) {
            self.readable = columns.iter().map(|column| (*column).to_owned()).collect();
            self.functions = vec!["f"];
            body += &self.block(Vec::new());
            self.readable.clear();
        }
        format!("CREATE TRIGGER {name} {time} {event} ON {table} FOR EACH ROW {order} BEGIN {body} END")
    }

    /// Returns a change of the next table, which fires its triggers.
    fn fired(&mut self, table: &str, columns: &[&str]) -> String {
        let (id, a) = (columns[0], columns[1]);
        let next = match table {
            "t1" => "t2",
            "t2" => "t3",
            "t3" => return self.of_fourth(id, a),
            _ => return format!("INSERT IGNORE INTO c2 VALUES ({id}, {a});"),
        };
        let statement = [
            format!("UPDATE {next} SET a = a + 1 WHERE id = {id};"),
            format!("DELETE FROM {next} WHERE id = {a};"),
            format!("INSERT IGNORE INTO {next} VALUES ({id} + 5, {a});"),
            format!("REPLACE INTO {next} VALUES ({id}, {a});"),
            format!("INSERT INTO {next} VALUES ({id}, {a}) ON DUPLICATE KEY UPDATE a = a - 1;"),
            format!(
                "BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION INSERT INTO log (what) VALUES ('handled'); INSERT INTO calls VALUES ({a}, '{next}'); END;"
            ),
            format!("UPDATE c1 SET t = NULL WHERE id = {id};"),
            format!(
                "INSERT INTO log (what) VALUES (CONCAT_WS(' ', '{next}', (SELECT SUM(t) FROM c1), (SELECT COUNT(*) FROM c2 WHERE t > 0)));"
            ),
        ];
        let at = self.number(0, statement.len() as i32 - 1) as usize;
        statement[at].clone()
    }

    fn of_fourth(&mut self, id: &str, a: &str) -> String {
        let statement = [
            format!("INSERT INTO t4 (a) VALUES ({id});"),
            format!("INSERT INTO t4 (id, a) VALUES ({id}, {a}) ON DUPLICATE KEY UPDATE b = b + 1;"),
            format!("UPDATE t4 SET a = a - 1 WHERE id <= {id} ORDER BY id;"),
            format!("DELETE FROM t4 WHERE id = {id};"),
        ];
        let at = self.number(0, statement.len() as i32 - 1) as usize;
        statement[at].clone()
    }
}
