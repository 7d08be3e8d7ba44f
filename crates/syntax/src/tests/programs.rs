//! Stored programs: which are accepted, and the errors of the others.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::super::{LexMode, ParseLimits, normalized, parse, parse_program, split_statements};
use super::outcome;
use super::soup::{scale, seed};
use crate::ast::{
    AlterProgram, Declaration, ExprKind, Into, ProgramForm, ProgramStatementKind, SetItem, StatementKind,
    VariableTarget,
};
use crate::shape::shape_of;

const ACCEPTED: &[&str] = &[
    "CREATE PROCEDURE p() SELECT 1",
    "CREATE PROCEDURE p() BEGIN END",
    "CREATE DEFINER = root@localhost PROCEDURE IF NOT EXISTS db.p (IN a INT, OUT b VARCHAR(5), INOUT c DATE, d INT) LANGUAGE SQL NOT DETERMINISTIC CONTAINS SQL SQL SECURITY INVOKER COMMENT 'x' BEGIN SET b = a; END",
    "CREATE DEFINER=CURRENT_USER() FUNCTION f(a INT UNSIGNED) RETURNS CHAR(5) CHARACTER SET latin1 DETERMINISTIC NO SQL RETURN a + 1",
    "CREATE FUNCTION f() RETURNS INT RETURN (SELECT MAX(a) FROM t)",
    "CREATE TRIGGER t1 BEFORE INSERT ON t FOR EACH ROW SET NEW.a = NEW.b + 1, @x := NEW.c",
    "CREATE DEFINER=`a`@`b` TRIGGER db.t1 AFTER UPDATE ON db.t FOR EACH ROW FOLLOWS t0 INSERT INTO u VALUES (OLD.a, NEW.a)",
    "CREATE TRIGGER t1 BEFORE DELETE ON t FOR EACH ROW BEGIN DELETE FROM u WHERE a = OLD.a; END;",
    "CREATE EVENT e ON SCHEDULE EVERY 1 DAY STARTS NOW() + INTERVAL 1 DAY ENDS '2030-01-01' ON COMPLETION NOT PRESERVE DISABLE ON SLAVE COMMENT 'x' DO CALL p()",
    "CREATE EVENT IF NOT EXISTS e ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 1 HOUR DO BEGIN SELECT 1; END",
    "ALTER EVENT e RENAME TO db.f ENABLE",
    "ALTER DEFINER = a@b EVENT e ON SCHEDULE EVERY '1:1' HOUR_MINUTE ON COMPLETION PRESERVE DISABLE COMMENT '' DO SELECT 1",
    "ALTER PROCEDURE p",
    "ALTER FUNCTION db.f READS SQL DATA SQL SECURITY DEFINER COMMENT 'y'",
    "CALL p",
    "CALL db.p()",
    "CALL p(1, @a, ?)",
    "SIGNAL SQLSTATE '45000'",
    "SIGNAL SQLSTATE VALUE '45000' SET MESSAGE_TEXT = 'x', MYSQL_ERRNO = 5",
    "RESIGNAL",
    "RESIGNAL SET MESSAGE_TEXT = @a",
    "GET DIAGNOSTICS @n = NUMBER, @r = ROW_COUNT",
    "GET CURRENT DIAGNOSTICS CONDITION 1 @s = RETURNED_SQLSTATE, @m = MESSAGE_TEXT",
    "GET STACKED DIAGNOSTICS CONDITION @n @s = MYSQL_ERRNO",
    "GRANT EXECUTE, ALTER ROUTINE ON PROCEDURE p TO a@b",
    "GRANT EXECUTE ON FUNCTION db.f TO a WITH GRANT OPTION",
    "REVOKE EXECUTE ON PROCEDURE db.p FROM a",
    "GRANT CREATE ROUTINE, EVENT, TRIGGER ON db.* TO a",
    "SHOW CREATE PROCEDURE p",
    "SHOW CREATE FUNCTION db.f",
    "SHOW CREATE TRIGGER t1",
    "SHOW CREATE EVENT e",
    "SELECT db.f(1, 2) + 1",
    "CREATE PROCEDURE p() l: BEGIN LEAVE l; END l",
    "CREATE PROCEDURE p() BEGIN DECLARE a, b INT DEFAULT 1; DECLARE c CONDITION FOR SQLSTATE '45000'; DECLARE k CURSOR FOR SELECT 1; DECLARE CONTINUE HANDLER FOR c, NOT FOUND, SQLWARNING SET a = 1; OPEN k; FETCH NEXT FROM k INTO a; FETCH k INTO b; FETCH FROM k INTO a; CLOSE k; END",
    "CREATE PROCEDURE p(n INT) BEGIN IF n THEN SELECT 1; ELSEIF n = 2 THEN SELECT 2; ELSE SELECT 3; END IF; CASE n WHEN 1 THEN SELECT 1; ELSE SELECT 2; END CASE; CASE WHEN n THEN BEGIN END; END CASE; END",
    "CREATE PROCEDURE p(n INT) BEGIN l: LOOP ITERATE l; END LOOP; w: WHILE n DO LEAVE w; END WHILE w; REPEAT SET n = n - 1; UNTIL n = 0 END REPEAT; LOOP SELECT 1; END LOOP; END",
    "CREATE PROCEDURE p(n INT) SELECT a INTO n FROM t LIMIT n",
    "CREATE PROCEDURE p(n INT) SELECT a, b FROM t LIMIT 1 INTO n, @y",
    "CREATE PROCEDURE p(n INT) SELECT 1 LIMIT n, 5",
    "CREATE PROCEDURE p(n INT) SET n = DEFAULT, @a = 1, SESSION sql_mode = '', autocommit = 1",
    "CREATE PROCEDURE p() BEGIN START TRANSACTION; COMMIT; PREPARE s FROM 'x'; EXECUTE s; END",
    "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR 1062 l: BEGIN LEAVE l; END; l: BEGIN END; END",
    "CREATE PROCEDURE p() BEGIN DECLARE x CONDITION FOR SQLSTATE '45000'; SIGNAL x; RESIGNAL x SET MESSAGE_TEXT = 'a'; END",
    "CREATE PROCEDURE p(a INT) BEGIN DECLARE a INT; BEGIN DECLARE A INT; END; END",
    "CREATE PROCEDURE p() BEGIN CREATE TEMPORARY TABLE t (a INT); DROP TABLE t; END",
    "CREATE FUNCTION f() RETURNS INT BEGIN DECLARE x INT; CREATE TEMPORARY TABLE t (a INT); SELECT a INTO x FROM t; RETURN x; END",
    "CREATE FUNCTION f() RETURNS INT BEGIN CREATE TEMPORARY TABLE t LIKE u; RETURN 1; END",
    "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`%`*/ /*!50003 TRIGGER t1 BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.a = 1; END */",
];

const REFUSED: &[(u16, &str)] = &[
    (1064, "CREATE PROCEDURE p SELECT 1"),
    (1064, "CREATE PROCEDURE p() BEGIN NOT ATOMIC SELECT 1; END"),
    (1064, "CREATE PROCEDURE p() BEGIN SELECT 1 END"),
    (1064, "CREATE PROCEDURE p() BEGIN END l"),
    (1064, "CREATE PROCEDURE p() BEGIN IF 1 THEN END IF; END"),
    (1064, "CREATE PROCEDURE p() SELECT ?"),
    (1064, "CREATE FUNCTION f(IN a INT) RETURNS INT RETURN 1"),
    (1064, "CREATE FUNCTION f() RETURN 1"),
    (1064, "BEGIN DECLARE x INT; END"),
    (1064, "ALTER EVENT e"),
    (1064, "ALTER FUNCTION f DETERMINISTIC"),
    (1064, "SELECT 1 LIMIT a"),
    (1064, "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = CONCAT('a', 'b')"),
    (1235, "CREATE FUNCTION f RETURNS STRING SONAME 'x'"),
    (1235, "SHOW PROCEDURE CODE p"),
    (1235, "SHOW FUNCTION CODE p"),
    (1235, "CREATE PROCEDURE p() LANGUAGE JAVASCRIPT SELECT 1"),
    (1310, "CREATE PROCEDURE p() a: BEGIN END b"),
    (1309, "CREATE PROCEDURE p() a: BEGIN A: LOOP SELECT 1; END LOOP; END"),
    (1308, "CREATE PROCEDURE p() LEAVE a"),
    (1308, "CREATE PROCEDURE p() a: BEGIN ITERATE a; END"),
    (1308, "CREATE PROCEDURE p() a: BEGIN DECLARE EXIT HANDLER FOR 1 LEAVE a; END"),
    (1337, "CREATE PROCEDURE p() BEGIN DECLARE c CURSOR FOR SELECT 1; DECLARE a INT; END"),
    (
        1338,
        "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR 1 SELECT 1; DECLARE c CURSOR FOR SELECT 1; END",
    ),
    (1330, "CREATE PROCEDURE p(a INT, A INT) SELECT 1"),
    (1331, "CREATE PROCEDURE p() BEGIN DECLARE a, a INT; END"),
    (1332, "CREATE PROCEDURE p() BEGIN DECLARE a CONDITION FOR 1; DECLARE a CONDITION FOR 2; END"),
    (1333, "CREATE PROCEDURE p() BEGIN DECLARE c CURSOR FOR SELECT 1; DECLARE c CURSOR FOR SELECT 1; END"),
    (1413, "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR 1, 1 SELECT 1; END"),
    (1327, "CREATE PROCEDURE p() SELECT 1 INTO x"),
    (1327, "CREATE PROCEDURE p() SELECT 1 LIMIT x"),
    (1327, "GET DIAGNOSTICS n = NUMBER"),
    (1319, "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR x SELECT 1; END"),
    (1319, "SIGNAL x"),
    (1324, "CREATE PROCEDURE p() OPEN c"),
    (1323, "CREATE PROCEDURE p() BEGIN DECLARE c CURSOR FOR SELECT 1 INTO @a; END"),
    (1407, "SIGNAL SQLSTATE '00000'"),
    (1407, "SIGNAL SQLSTATE '4500'"),
    (1407, "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR SQLSTATE '4500x' SELECT 1; END"),
    (1525, "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR 0 SELECT 1; END"),
    (1641, "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a', MESSAGE_TEXT = 'b'"),
    (1646, "CREATE PROCEDURE p() BEGIN DECLARE x CONDITION FOR 5; SIGNAL x; END"),
    (1313, "CREATE PROCEDURE p() RETURN 1"),
    (1320, "CREATE FUNCTION f() RETURNS INT BEGIN END"),
    (1314, "CREATE PROCEDURE p() USE db"),
    (1314, "CREATE PROCEDURE p() LOCK TABLES t READ"),
    (1314, "CREATE PROCEDURE p() UNLOCK TABLES"),
    (1314, "CREATE PROCEDURE p() LOAD DATA INFILE 'x' INTO TABLE t"),
    (1314, "CREATE PROCEDURE p() ALTER VIEW v AS SELECT 1"),
    (1303, "CREATE PROCEDURE p() CREATE PROCEDURE q() SELECT 1"),
    (1303, "CREATE PROCEDURE p() CREATE TRIGGER q BEFORE INSERT ON t FOR EACH ROW SELECT 1"),
    (1576, "CREATE PROCEDURE p() CREATE EVENT q ON SCHEDULE EVERY 1 DAY DO SELECT 1"),
    (1357, "CREATE PROCEDURE p() DROP FUNCTION f"),
    (1357, "CREATE PROCEDURE p() ALTER PROCEDURE f COMMENT 'x'"),
    (1336, "CREATE FUNCTION f() RETURNS INT BEGIN PREPARE s FROM 'x'; RETURN 1; END"),
    (1336, "CREATE TRIGGER q BEFORE INSERT ON t FOR EACH ROW FLUSH STATUS"),
    (1415, "CREATE FUNCTION f() RETURNS INT BEGIN SELECT 1; RETURN 1; END"),
    (1415, "CREATE TRIGGER q BEFORE INSERT ON t FOR EACH ROW SHOW TABLES"),
    (1422, "CREATE FUNCTION f() RETURNS INT BEGIN COMMIT; RETURN 1; END"),
    (1422, "CREATE TRIGGER q BEFORE INSERT ON t FOR EACH ROW CREATE TABLE u (a INT)"),
    (1445, "CREATE FUNCTION f() RETURNS INT BEGIN SET autocommit = 1; RETURN 1; END"),
    (1362, "CREATE TRIGGER q BEFORE UPDATE ON t FOR EACH ROW SET OLD.a = 1"),
    (1362, "CREATE TRIGGER q AFTER UPDATE ON t FOR EACH ROW SET NEW.a = 1"),
    (1363, "CREATE TRIGGER q BEFORE DELETE ON t FOR EACH ROW SET NEW.a = 1"),
    (1363, "CREATE TRIGGER q BEFORE DELETE ON t FOR EACH ROW SET @a = NEW.a"),
    (1064, "CREATE PROCEDURE p() lock: BEGIN END"),
    (1064, "CREATE PROCEDURE p() end: BEGIN END"),
    (1337, "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR 1 SELECT 1; DECLARE c CONDITION FOR 1; END"),
    (
        1413,
        "CREATE PROCEDURE p() BEGIN DECLARE c CONDITION FOR SQLSTATE '45000'; DECLARE EXIT HANDLER FOR c SELECT 1; DECLARE EXIT HANDLER FOR SQLSTATE '45000' SELECT 1; END",
    ),
    (1064, "CREATE PROCEDURE p() BEGIN SELECT 1; DECLARE a INT; END"),
    (1064, "CREATE PROCEDURE p() BEGIN DECLARE UNDO HANDLER FOR 1 SELECT 1; END"),
    (1064, "GET DIAGNOSTICS CONDITION (1) @a = MESSAGE_TEXT"),
    (1314, "CREATE PROCEDURE p() HELP 'x'"),
    (1314, "CREATE FUNCTION f() RETURNS INT BEGIN HANDLER t OPEN; RETURN 1; END"),
    (1314, "CREATE PROCEDURE p() HANDLER t READ FIRST"),
    (1314, "CREATE PROCEDURE p() CHECK TABLE t"),
    (1235, "CREATE EVENT e ON SCHEDULE EVERY 1 MINUTE_MICROSECOND DO SELECT 1"),
    (1363, "CREATE TRIGGER q BEFORE INSERT ON t FOR EACH ROW SET @a = OLD.a"),
    (1453, "CREATE PROCEDURE p(names INT) SET names = 1"),
    (1458, "CREATE PROCEDURE `p ` () SELECT 1"),
    (1691, "CREATE PROCEDURE p(x VARCHAR(5)) SELECT 1 LIMIT x"),
];

#[test]
fn programs_are_accepted_and_refused_as_in_mysql() {
    let wrong: Vec<String> = ACCEPTED
        .iter()
        .map(|sql| (0, *sql))
        .chain(REFUSED.iter().copied())
        .filter(|(code, sql)| outcome(sql) != *code)
        .map(|(code, sql)| format!("{code}, not {}: {sql}", outcome(sql)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// All statements of the lists.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    ACCEPTED.iter().copied().chain(REFUSED.iter().map(|(_, sql)| *sql))
}

#[test]
fn digests_and_shapes_treat_programs_as_any_text() {
    let sql = "CREATE PROCEDURE p(a INT)\n BEGIN SELECT 1; SET a = 'x'; END";
    let normal = normalized(sql, LexMode::default(), 100);
    assert_eq!(normal, "CREATE PROCEDURE p ( a INT ) BEGIN SELECT ? ; SET a = ? ; END");
    assert_eq!(normalized("CALL p(1, 'x')", LexMode::default(), 100), "CALL p ( ... )");
    assert!(shape_of(sql, LexMode::default()).is_none());
    assert!(shape_of("CALL p(1)", LexMode::default()).is_none());
}

#[test]
fn a_stored_text_parses_to_the_program_it_was_taken_from() {
    for sql in ACCEPTED {
        let StatementKind::CreateProgram(create) = parse(sql, LexMode::default()).expect(sql).kind else {
            continue;
        };
        let text = create.stored_text(sql, LexMode::default());
        let again = parse_program(&text, LexMode::default(), ParseLimits::default()).expect(&text);
        assert_eq!((again.kind(), again.name.dotted()), (create.kind(), create.name.dotted()), "{text}");
        assert_eq!(again.stored_text(&text, LexMode::default()), text);
    }
}

#[test]
fn an_altered_event_has_a_text_of_its_own() {
    let sql = "/*!50106 ALTER EVENT e COMMENT 'x' DO BEGIN SELECT 1; END */";
    let StatementKind::AlterProgram(AlterProgram::Event(alter)) =
        parse(sql, LexMode::default()).expect(sql).kind
    else {
        panic!("{sql}");
    };
    let text = alter.stored_text(sql, LexMode::default()).expect("a body");
    assert_eq!(text, "EVENT `e` ON SCHEDULE EVERY 1 DAY DO BEGIN SELECT 1; END");
    parse_program(&text, LexMode::default(), ParseLimits::default()).expect(&text);
}

/// The body of the program that this text creates.
fn body(sql: &str) -> ProgramStatementKind {
    match parse(sql, LexMode::default()).expect(sql).kind {
        StatementKind::CreateProgram(create) => create.body.kind,
        _ => panic!("{sql}: no program"),
    }
}

/// The statement that is the program's whole body.
fn sql_of_body(sql: &str) -> StatementKind {
    match body(sql) {
        ProgramStatementKind::Sql(statement) => statement.kind,
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn assignments_know_variables_of_the_program() {
    let StatementKind::Set(items) = sql_of_body(
        "CREATE PROCEDURE p(a INT, `b` INT) SET a = 1, B := a + 1, @c = 2, d = 3, SESSION a = 4, a = DEFAULT",
    ) else {
        panic!("no SET");
    };
    let names: Vec<String> = items
        .iter()
        .map(|item| match item {
            SetItem::Local { name, .. } => format!("local {}", name.value),
            SetItem::User { name, .. } => format!("user {name}"),
            SetItem::System { name, .. } => format!("system {}", name.value),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["local a", "local B", "user c", "system d", "system a", "local a"]);
    let StatementKind::Set(items) =
        sql_of_body("CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1, `new`.b := NEW.c")
    else {
        panic!("no SET");
    };
    assert!(items.iter().all(|item| matches!(item, SetItem::New { .. })), "{items:?}");
}

#[test]
fn into_and_limit_take_variables_of_the_program() {
    let sql = "CREATE PROCEDURE p(a INT) SELECT b, c INTO a, @x FROM t LIMIT a";
    let StatementKind::SelectInto { query, into: Into::Variables(targets) } = sql_of_body(sql) else {
        panic!("{sql}");
    };
    let [VariableTarget::Local(local), VariableTarget::User(user)] = targets.as_slice() else {
        panic!("{targets:?}");
    };
    assert_eq!((local.value.as_str(), user.as_str()), ("a", "x"));
    let limit = query.limit.expect("a limit").count;
    assert!(matches!(limit.kind, ExprKind::Column(name) if name.column.value == "a"));
}

#[test]
fn spans_are_places_in_the_whole_text() {
    let sql = "CREATE PROCEDURE p(a INT, b INT) BEGIN DECLARE c CURSOR FOR SELECT 1; SELECT 2; END;";
    let StatementKind::CreateProgram(create) = parse(sql, LexMode::default()).expect(sql).kind else {
        panic!("{sql}");
    };
    assert_eq!(create.span.text(sql), &sql[7..sql.len() - 1]);
    let ProgramForm::Procedure(routine) = &create.form else { panic!("{sql}") };
    assert_eq!(routine.parameters_span.text(sql), "a INT, b INT");
    let ProgramStatementKind::Block(block) = &create.body.kind else { panic!("{sql}") };
    let Declaration::Cursor { span, .. } = &block.declarations[0] else { panic!("{sql}") };
    assert_eq!((span.text(sql), block.body[0].span.text(sql)), ("SELECT 1", "SELECT 2"));
}

/// Writes random bodies that follow every rule.
struct Bodies {
    rng: SmallRng,
    names: usize,
    variables: Vec<String>,
    cursors: Vec<String>,
    /// Labels in reach, each with whether it is a loop's.
    labels: Vec<(String, bool)>,
}

impl Bodies {
    fn name(&mut self, letter: char) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn pick(&mut self, from: usize) -> usize {
        self.rng.random_range(0..from)
    }

    fn value(&mut self) -> String {
        let at = self.pick(self.variables.len() + 3);
        match self.variables.get(at) {
            Some(variable) => variable.clone(),
            None => ["IF(1, 2, 3)", "CASE WHEN 1 THEN 2 ELSE 3 END", "(SELECT MAX(a) FROM t)"]
                [at - self.variables.len()]
            .to_owned(),
        }
    }

    fn statements(&mut self, depth: usize) -> String {
        let count = 1 + self.pick(3);
        (0..count).map(|_| self.statement(depth) + "; ").collect()
    }

    fn block(&mut self, depth: usize) -> String {
        let (variables, cursors) = (self.variables.len(), self.cursors.len());
        let mut text = "BEGIN ".to_owned();
        for _ in 0..self.pick(3) {
            let name = self.name('v');
            let default = self.value();
            text += &format!("DECLARE {name} INT DEFAULT {default}; ");
            self.variables.push(name);
        }
        if self.pick(2) == 0 {
            let name = self.name('k');
            text += &format!("DECLARE {name} CURSOR FOR SELECT a FROM t; ");
            self.cursors.push(name);
        }
        if self.pick(3) == 0 && depth > 0 {
            let labels = std::mem::take(&mut self.labels);
            text +=
                &format!("DECLARE CONTINUE HANDLER FOR SQLEXCEPTION, 1062 {}; ", self.statement(depth - 1));
            self.labels = labels;
        }
        text += &self.statements(depth.saturating_sub(1));
        self.variables.truncate(variables);
        self.cursors.truncate(cursors);
        text + "END"
    }

    fn labelled(&mut self, is_loop: bool, rule: impl FnOnce(&mut Self) -> String) -> String {
        if self.pick(2) == 0 {
            return rule(self);
        }
        let label = self.name('l');
        self.labels.push((label.clone(), is_loop));
        let text = rule(self);
        self.labels.pop();
        let end = if self.pick(2) == 0 { format!(" {label}") } else { String::new() };
        format!("{label}: {text}{end}")
    }

    fn statement(&mut self, depth: usize) -> String {
        let kinds = if depth == 0 { 7 } else { 13 };
        match self.pick(kinds) {
            0 => format!("INSERT INTO t VALUES ({})", self.value()),
            1 => match self.variables.last().cloned() {
                Some(variable) => format!("SET {variable} = {}, @x = 1", self.value()),
                None => "SELECT 1 INTO @x".to_owned(),
            },
            2 => match self.cursors.last().cloned() {
                Some(cursor) => format!("OPEN {cursor}"),
                None => "DO 1".to_owned(),
            },
            3 => match self.labels.last().cloned() {
                Some((label, true)) => format!("ITERATE {label}"),
                Some((label, false)) => format!("LEAVE {label}"),
                None => "SIGNAL SQLSTATE '45000'".to_owned(),
            },
            4 => format!("UPDATE t SET a = {} LIMIT 1", self.value()),
            5 => match (self.cursors.last().cloned(), self.variables.last().cloned()) {
                (Some(cursor), Some(variable)) => format!("FETCH {cursor} INTO {variable}"),
                _ => "CALL p(1, @a)".to_owned(),
            },
            6 => "SELECT a AS end, b begin FROM t".to_owned(),
            7 => self.labelled(false, |bodies| bodies.block(depth)),
            8 => {
                let (a, b, c) = (self.value(), self.statements(depth - 1), self.statements(depth - 1));
                format!("IF {a} THEN {b}ELSEIF {a} THEN {c}ELSE {c}END IF")
            }
            9 => {
                let (a, b) = (self.value(), self.statements(depth - 1));
                format!("CASE {a} WHEN {a} THEN {b}ELSE {b}END CASE")
            }
            10 => self.labelled(true, |bodies| format!("LOOP {}END LOOP", bodies.statements(depth - 1))),
            11 => self.labelled(true, |bodies| {
                let value = bodies.value();
                format!("WHILE {value} DO {}END WHILE", bodies.statements(depth - 1))
            }),
            _ => self.labelled(true, |bodies| {
                let body = bodies.statements(depth - 1);
                format!("REPEAT {body}UNTIL {} END REPEAT", bodies.value())
            }),
        }
    }
}

#[test]
fn random_bodies_parse_and_damaged_ones_never_panic() {
    let seed = seed();
    println!("LEAFLINE_SEED={seed}");
    let rng = SmallRng::seed_from_u64(seed);
    let mut bodies = Bodies { rng, names: 0, variables: Vec::new(), cursors: Vec::new(), labels: Vec::new() };
    for _ in 0..300 * scale() {
        let sql = format!("CREATE PROCEDURE p() {}", bodies.block(4));
        if let Err(error) = parse(&sql, LexMode::default()) {
            panic!("{error}: {sql}");
        }
        let script = format!("SELECT 1; {sql}; SELECT 2");
        assert_eq!(split_statements(&script, LexMode::default()), ["SELECT 1", &sql, "SELECT 2"]);
        let mut words: Vec<&str> = sql.split(' ').collect();
        for _ in 0..5 {
            let (from, to) = (bodies.pick(words.len()), bodies.pick(words.len()));
            words.swap(from, to);
            let _ = parse(&words.join(" "), LexMode::default());
            words.remove(to);
            let damaged = words.join(" ");
            let _ = parse(&damaged, LexMode::default());
            assert!(!split_statements(&damaged, LexMode::default()).is_empty());
        }
    }
}
