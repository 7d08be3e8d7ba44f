//! Random stored programs: procedures that call each other and themselves, functions, triggers that fire triggers;
//! blocks with handlers, loops, cursors, conditions, prepared statements and savepoints.
//!
//! Every loop is bounded by a counter that nothing else assigns. What MariaDB is known to do otherwise is not generated, see
//! [`NOT_GENERATED`].

use crate::statements;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Programs that are not generated, because MySQL's documentation leaves the result open, or MariaDB does otherwise.
/// `docs/compat/mariadb.md` has the same list.
pub const NOT_GENERATED: &[&str] = &[
    "Functions that write where a query may call them more or less than once for a row: how often is the optimizer's choice.",
    "Statements of functions and triggers that fail after a part of their changes, with a handler inside the function or trigger: MariaDB keeps the part; Leafline undoes the statement.",
    "Changes of a table that a subquery of theirs reads: Leafline and MySQL refuse them (1093); MariaDB allows some.",
    "UPDATE IGNORE: for rows that it leaves as they are MariaDB gives no warnings and fires AFTER UPDATE triggers; Leafline and MySQL do the contrary.",
    "IGNORE of rows that break a CHECK constraint: MariaDB fails; Leafline and MySQL leave the row out with a warning.",
    "LAST_INSERT_ID() behind an INSERT that failed: its value is undefined.",
    "Functions that return the MAX of a query: MariaDB gives NULL where it gave a value for the same argument before.",
    "DO of an expression that fails: it gives the error in Leafline, as in MySQL 8, and nothing in MariaDB.",
    "GET STACKED DIAGNOSTICS: MariaDB has none. Its GET DIAGNOSTICS takes the place as the first statement of a handler, where both say the same.",
];

/// Stands for `STACKED` in the text of a program; MariaDB gets nothing there.
pub const STACKED: &str = "/*stacked*/";

/// The tables of each program.
pub const TABLES: &[&str] = &[
    "CREATE TABLE t1 (id INT PRIMARY KEY, a INT, b VARCHAR(6))",
    "CREATE TABLE t2 (id INT PRIMARY KEY, a INT)",
    "CREATE TABLE t3 (id INT PRIMARY KEY, a INT, UNIQUE (a))",
    "CREATE TABLE log (n INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(60))",
    "CREATE TABLE calls (n INT PRIMARY KEY, what VARCHAR(60))",
    "CREATE TABLE t4 (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b INT NOT NULL DEFAULT 5, CHECK (a < 90))",
    "CREATE TABLE c1 (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t2 (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE c2 (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t2 (id) ON DELETE SET NULL ON UPDATE SET NULL)",
    "INSERT INTO t1 VALUES (1, 10, 'a'), (2, 20, 'b'), (4, NULL, 'c')",
    "INSERT INTO t2 VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
    "INSERT INTO t3 VALUES (1, 7), (2, NULL), (5, 3)",
    "INSERT INTO t4 (a) VALUES (3), (4)",
    "INSERT INTO c1 VALUES (1, 1), (2, 2), (3, 2)",
    "INSERT INTO c2 VALUES (1, 1), (2, 3)",
];

/// The kind of the program that is being made: it decides which statements are allowed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Procedure,
    Trigger,
    /// No program: a statement of the session.
    Session,
}

/// A generator of programs.
pub struct Generator {
    rng: SmallRng,
    names: usize,
    pub kind: Kind,
    /// Variables that can be read.
    pub readable: Vec<String>,
    /// Variables that can be assigned.
    pub variables: Vec<String>,
    labels: Vec<String>,
    depth: usize,
    /// Functions that expressions may call.
    pub functions: Vec<&'static str>,
    /// Procedures that CALL may name.
    pub procedures: Vec<&'static str>,
    /// The SQLSTATE that triggers of this table raise, and no others.
    pub own_state: &'static str,
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator {
            rng: SmallRng::seed_from_u64(seed),
            names: 0,
            kind: Kind::Procedure,
            readable: Vec::new(),
            variables: Vec::new(),
            labels: Vec::new(),
            depth: 0,
            functions: Vec::new(),
            procedures: Vec::new(),
            own_state: "45001",
        }
    }

    pub fn of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.rng.random_range(0..choices.len())]
    }

    pub fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    pub fn number(&mut self, least: i32, most: i32) -> i32 {
        self.rng.random_range(least..=most)
    }

    /// Returns a name that no other item has.
    pub fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    pub fn readable(&mut self) -> String {
        let at = self.rng.random_range(0..self.readable.len());
        self.readable[at].clone()
    }

    pub fn variable(&mut self) -> Option<String> {
        let count = self.variables.len();
        (count > 0).then(|| self.variables[self.rng.random_range(0..count)].clone())
    }

    /// Returns the statements that create the programs of one case.
    pub fn programs(&mut self) -> Vec<String> {
        let mut all = vec![self.function_f(), self.function_g(), self.function_w()];
        all.push("CREATE VIEW v1 AS SELECT id, a, f(id, a) AS called FROM t1".to_owned());
        all.extend(self.triggers());
        self.functions = vec!["f", "g"];
        self.kind = Kind::Procedure;
        all.push(self.procedure("p2"));
        self.procedures = vec!["p2"];
        all.push(self.procedure("p1"));
        self.procedures = vec!["p1", "p2", "p0"];
        all.push(self.procedure("p0"));
        all
    }

    /// A function of one statement, or with a query.
    fn function_f(&mut self) -> String {
        let characteristic = self.of(&["DETERMINISTIC", "READS SQL DATA", "NO SQL"]);
        let body = self.of(&[
            "RETURN x + y",
            "RETURN IF(x > y, x, NULL)",
            "RETURN (SELECT SUM(a) FROM t2 WHERE id <= x)",
            "RETURN CASE WHEN x IS NULL THEN y WHEN x < y THEN x * 2 ELSE -x END",
            "BEGIN DECLARE r INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR NOT FOUND SET r = -1; SELECT a INTO r FROM t2 WHERE id = x; RETURN r; END",
            "BEGIN DECLARE i INT DEFAULT 0; DECLARE r INT DEFAULT y; WHILE i < 3 DO SET i = i + 1, r = r + x; END WHILE; RETURN r; END",
            "BEGIN IF x > 99 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'f', MYSQL_ERRNO = 5002; END IF; RETURN y; END",
            "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION RETURN -7; IF x > 5 THEN SIGNAL SQLSTATE '45001'; END IF; RETURN x; END",
        ]);
        format!("CREATE FUNCTION f(x INT, y INT) RETURNS INT {characteristic} {body}")
    }

    /// A function that calls the first one, and reads with a cursor.
    fn function_g(&mut self) -> String {
        let body = self.of(&[
            "RETURN f(x, 1) + f(y, x)",
            "BEGIN DECLARE s, v INT DEFAULT 0; DECLARE done BOOL DEFAULT FALSE; DECLARE c CURSOR FOR SELECT a FROM t3 WHERE id > x ORDER BY id; \
             DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE; OPEN c; l: LOOP FETCH c INTO v; IF done THEN LEAVE l; END IF; \
             SET s = s + IFNULL(v, 100); END LOOP; CLOSE c; RETURN s + f(y, 0); END",
            "BEGIN DECLARE r INT; SELECT COUNT(*) INTO r FROM t1 WHERE f(id, x) > y; RETURN r; END",
            "BEGIN IF x = 3 THEN RETURN NULL; END IF; CASE y WHEN 1 THEN RETURN 11; WHEN 2 THEN RETURN f(2, 2); ELSE BEGIN END; END CASE; RETURN x; END",
        ]);
        format!("CREATE FUNCTION g(x INT, y INT) RETURNS BIGINT READS SQL DATA {body}")
    }

    /// A function that writes; it is called only where each call is one.
    fn function_w(&mut self) -> String {
        let body = self.of(&[
            "BEGIN INSERT INTO log (what) VALUES (CONCAT('w ', IFNULL(x, 'null'))); RETURN x + 1; END",
            "BEGIN UPDATE t3 SET a = a + 10 WHERE id = x; RETURN ROW_COUNT(); END",
            "BEGIN DECLARE CONTINUE HANDLER FOR 1062 INSERT INTO log (what) VALUES ('w duplicate'); INSERT INTO calls VALUES (x, 'w'); RETURN 1; END",
            "BEGIN INSERT INTO t3 VALUES (x, x); DELETE FROM t3 WHERE id = x - 1; RETURN (SELECT COUNT(*) FROM t3); END",
            "BEGIN SET @w = IFNULL(@w, 0) + 1; INSERT INTO log (what) VALUES ('w'); IF x > 6 THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 5004; END IF; RETURN @w; END",
        ]);
        format!("CREATE FUNCTION w(x INT) RETURNS INT MODIFIES SQL DATA {body}")
    }

    fn procedure(&mut self, name: &str) -> String {
        self.variables = vec!["x".into(), "y".into()];
        self.readable = vec!["x".into(), "y".into(), "n".into()];
        let body = self.block(Vec::new());
        self.variables.clear();
        self.readable.clear();
        let body = body.trim_end_matches(';');
        format!("CREATE PROCEDURE {name}(INOUT x INT, OUT y VARCHAR(9), IN n INT) {body}")
    }

    /// Returns one to `most` statements.
    pub fn body(&mut self, most: i32) -> String {
        let count = self.number(1, most);
        (0..count).map(|_| self.statement()).collect::<Vec<_>>().join(" ")
    }

    fn statement(&mut self) -> String {
        if self.depth > 4 {
            return statements::sql(self) + ";";
        }
        match self.number(0, 99) {
            0..40 => statements::sql(self) + ";",
            40..54 => match self.variable() {
                Some(variable) => format!("SET {variable} = {};", statements::assigned(self)),
                None => statements::sql(self) + ";",
            },
            54..65 => self.conditional(),
            65..70 => self.case(),
            70..78 => self.repeated(),
            78..82 => self.jump(),
            82..86 => self.signal(),
            86..89 => self.reading_loop(),
            89..91 if self.kind == Kind::Procedure => self.misused_cursors(),
            91..94 if self.kind == Kind::Procedure => {
                let depth = self.number(1, 3) as usize;
                self.nested_handlers(depth)
            }
            _ => self.block(Vec::new()),
        }
    }

    fn conditional(&mut self) -> String {
        let mut text = format!("IF {} THEN {}", self.tested(), self.body(2));
        if self.chance(40) {
            text += &format!(" ELSEIF {} THEN {}", self.tested(), self.body(1));
        }
        if self.chance(50) {
            text += &format!(" ELSE {}", self.body(2));
        }
        text + " END IF;"
    }

    fn case(&mut self) -> String {
        let mut text = String::from("CASE");
        let is_simple = self.chance(60);
        if is_simple {
            let value = if self.chance(5) { self.failing() } else { statements::expression(self, 1) };
            text += &format!(" {value}");
        }
        for _ in 0..2 {
            let when = if is_simple { statements::expression(self, 1) } else { self.tested() };
            text += &format!(" WHEN {when} THEN {}", self.body(1));
        }
        if self.chance(60) {
            text += &format!(" ELSE {}", self.body(1));
        }
        text + " END CASE;"
    }

    fn repeated(&mut self) -> String {
        let (counter, label, most) = (self.name("i"), self.name("l"), self.number(1, 4));
        self.depth += 1;
        self.labels.push(label.clone());
        let body = self.body(2);
        self.labels.pop();
        self.depth -= 1;
        let step = format!("SET {counter} = {counter} + 1;");
        let also = if self.chance(10) { format!(" AND {} > 0", self.failing()) } else { String::new() };
        let text = match self.number(0, 2) {
            0 => format!("{label}: WHILE {counter} < {most}{also} DO {step} {body} END WHILE {label};"),
            1 => format!("{label}: REPEAT {step} {body} UNTIL {counter} >= {most} END REPEAT {label};"),
            _ => format!(
                "{label}: LOOP {step} IF {counter} > {most} THEN LEAVE {label}; END IF; {body} END LOOP {label};"
            ),
        };
        format!("BEGIN DECLARE {counter} INT DEFAULT 0; {text} END;")
    }

    fn jump(&mut self) -> String {
        if self.labels.is_empty() {
            return self.conditional();
        }
        let at = self.number(0, self.labels.len() as i32 - 1) as usize;
        let (label, word) = (self.labels[at].clone(), self.of(&["LEAVE", "ITERATE"]));
        format!("IF {} THEN {word} {label}; END IF;", statements::condition(self))
    }

    fn signal(&mut self) -> String {
        let state = match self.kind {
            Kind::Trigger => self.of(&["45000", "01234", "42S02", self.own_state]),
            _ => self.of(&["45000", "01234", "02000", "42S02", "45001"]),
        };
        let items = self.signal_items();
        format!("IF {} THEN SIGNAL SQLSTATE '{state}'{items}; END IF;", statements::condition(self))
    }

    fn signal_items(&mut self) -> String {
        let (message, number) = (self.name("message"), self.number(5000, 5005));
        match self.number(0, 2) {
            0 => String::new(),
            1 => format!(" SET MESSAGE_TEXT = '{message}'"),
            _ => format!(" SET MESSAGE_TEXT = '{message}', MYSQL_ERRNO = {number}"),
        }
    }

    /// A loop over the rows of a cursor.
    fn reading_loop(&mut self) -> String {
        let (cursor, done, one, two, label) =
            (self.name("c"), self.name("d"), self.name("v"), self.name("v"), self.name("l"));
        let query = statements::cursor_query(self);
        self.depth += 1;
        let (readable, variables) = (self.readable.clone(), self.variables.clone());
        self.readable.extend([one.clone(), two.clone()]);
        self.variables.push(two.clone());
        self.labels.push(label.clone());
        let body = self.body(2);
        self.labels.pop();
        (self.readable, self.variables) = (readable, variables);
        self.depth -= 1;
        // Another NOT FOUND in the body ends the loop as well.
        format!(
            "BEGIN DECLARE {done}, {one}, {two} INT DEFAULT 0; DECLARE {cursor} CURSOR FOR {query}; \
             DECLARE CONTINUE HANDLER FOR NOT FOUND SET {done} = 1; OPEN {cursor}; \
             {label}: LOOP FETCH {cursor} INTO {one}, {two}; IF {done} THEN LEAVE {label}; END IF; {body} END LOOP; CLOSE {cursor}; END;"
        )
    }

    fn handler(&mut self) -> String {
        self.depth += 1;
        const CONDITIONS: &[&str] = &[
            "SQLEXCEPTION",
            "SQLWARNING",
            "NOT FOUND",
            "SQLSTATE '45000'",
            "SQLSTATE '23000'",
            "1062",
            "1146",
            "1329",
            "SQLSTATE '42S02'",
            "5001",
            "1172",
            "1365",
            "1442",
            "1305",
            "1242",
            "1690",
            "1339",
        ];
        // Triggers handle only conditions that triggers of other tables and functions do not raise.
        let own = format!("SQLSTATE '{}'", self.own_state);
        let of_trigger = ["SQLWARNING", "NOT FOUND", own.as_str(), "1329"];
        let conditions = if self.kind == Kind::Trigger { &of_trigger[..] } else { CONDITIONS };
        let (first, second) = (self.of(conditions), self.of(conditions));
        let conditions =
            if first == second || self.chance(50) { first.to_owned() } else { format!("{first}, {second}") };
        let action = self.of(&["CONTINUE", "EXIT"]);
        let labels = std::mem::take(&mut self.labels);
        let body = self.handler_body();
        self.labels = labels;
        self.depth -= 1;
        format!("DECLARE {action} HANDLER FOR {conditions} {body}")
    }

    fn handler_body(&mut self) -> String {
        let mark = self.name("h");
        let note = format!("INSERT INTO log (what) VALUES ('{mark}');");
        match (self.number(0, 99), self.variable()) {
            (0..30, Some(variable)) => format!("SET {variable} = {};", statements::expression(self, 1)),
            (0..55, _) => note,
            (55..80, _) => format!(
                "BEGIN GET {STACKED} DIAGNOSTICS @n = NUMBER; \
                 GET {STACKED} DIAGNOSTICS CONDITION @n @e = MYSQL_ERRNO, @s = RETURNED_SQLSTATE; \
                 INSERT INTO log (what) VALUES (CONCAT('{mark} ', @e, ' ', @s)); END;"
            ),
            (80..86, _) => {
                format!("BEGIN {note} RESIGNAL{}; END;", self.of(&["", " SET MYSQL_ERRNO = 5003"]))
            }
            (86..90, _) => {
                let states: &[&str] = match self.kind {
                    Kind::Trigger => &["45000", "01000"],
                    _ => &["45000", "45001", "02000", "01000"],
                };
                let (state, items) = (self.of(states), self.signal_items());
                format!("RESIGNAL SQLSTATE '{state}'{items};")
            }
            _ => self.block(Vec::new()),
        }
    }

    /// A block with declarations. `first` are statements to begin with.
    pub fn block(&mut self, first: Vec<String>) -> String {
        self.depth += 1;
        let (readable, variables) = (self.readable.clone(), self.variables.clone());
        let mut text = String::from("BEGIN ");
        for _ in 0..self.number(0, 2) {
            let (name, ty) =
                (self.name("v"), self.of(&["INT", "INT", "BIGINT", "TINYINT", "DECIMAL(6,2)", "VARCHAR(8)"]));
            text += &format!("DECLARE {name} {ty}");
            if self.chance(70) {
                text += &format!(" DEFAULT {}", self.number(0, 9));
            }
            text += "; ";
            self.readable.push(name.clone());
            self.variables.push(name);
        }
        let cursor = (self.chance(12) && !self.variables.is_empty()).then(|| self.name("c"));
        if let Some(cursor) = &cursor {
            text += &format!(
                "DECLARE {cursor} CURSOR FOR SELECT a FROM t1 WHERE id > {} ORDER BY id; ",
                self.number(0, 4)
            );
        }
        if self.chance(55) {
            text += &self.handler();
            text += " ";
        }
        text += &first.join(" ");
        text += &self.body(3);
        if let (Some(cursor), Some(variable)) = (cursor, self.variable()) {
            let again =
                if self.chance(50) { format!(" FETCH {cursor} INTO {variable};") } else { String::new() };
            let close = if self.chance(70) { format!(" CLOSE {cursor};") } else { String::new() };
            text += &format!(" OPEN {cursor}; FETCH {cursor} INTO {variable};{again}{close}");
        }
        (self.readable, self.variables) = (readable, variables);
        self.depth -= 1;
        text + " END;"
    }
}
