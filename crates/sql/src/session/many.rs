//! Runs a prepared statement once for each of many sets of parameters; programming interfaces call this array
//! binding or `executemany`.
//!
//! Each run is a statement of its own: it is counted, and undone alone if it fails. Work that does not differ
//! is done once: checking that the plan is current, the begin and end of a statement, table locks. This
//! applies to statements that change one row, within an open transaction; others run one by one.

use super::prepared::Entry;
use super::{Outcome, Session};
use crate::result::Done;
use crate::session_entry::StatementText;
use leafline_executor::EXECUTIONS_BY_OPERATORS;
use leafline_types::error::errno;
use leafline_types::{MysqlError, Value};
use std::sync::Arc;

/// The result of many runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchOutcome {
    /// Number of runs.
    pub runs: usize,
    /// Rows that all runs matched.
    pub matched: u64,
    /// The last AUTO_INCREMENT value that a run generated or set.
    pub insert_id: Option<u64>,
    /// True if the last run gave rows, which were dropped; no run followed it.
    pub gave_rows: bool,
}

impl BatchOutcome {
    fn add(&mut self, done: &Done) {
        self.runs += 1;
        self.matched += done.matched;
        self.insert_id = Some(done.insert_id).filter(|id| *id != 0).or(self.insert_id);
    }
}

impl Session {
    /// Runs a prepared statement once for each of `all`, in order, until a run fails or gives rows.
    ///
    /// # Errors
    /// The errors of [`execute_prepared`](Self::execute_prepared) for the failed run; the runs before it
    /// stay.
    pub fn execute_prepared_many(&mut self, id: u32, all: &[Vec<Value>]) -> Result<BatchOutcome, MysqlError> {
        let (mut done, mut one_by_one) = (BatchOutcome::default(), 0);
        let mut left = all;
        while let Some(first) = left.first() {
            let before = done.runs;
            if one_by_one > 0 {
                one_by_one -= 1;
            } else if let Some(entry) = self.prepared_entry(id)
                && self.contained(|session| session.run_repeated(&entry, left, &mut done))?
            {
                one_by_one = EXECUTIONS_BY_OPERATORS;
            }
            if done.runs == before {
                match self.execute_prepared(id, first)? {
                    Outcome::Done(one) => done.add(&one),
                    Outcome::Rows(rows) => {
                        drop(rows);
                        self.give_up_results();
                        return Ok(BatchOutcome { gave_rows: true, ..done });
                    }
                }
            }
            left = &all[done.runs..];
        }
        Ok(done)
    }

    /// Runs a statement for the first ones of `all`, as many as go together; for none if the statement is not
    /// of the right kind. Returns whether it was tried in vain.
    fn run_repeated(
        &mut self,
        entry: &Arc<Entry>,
        all: &[Vec<Value>],
        done: &mut BatchOutcome,
    ) -> Result<bool, MysqlError> {
        let (Some(planned), Some(first)) = (&entry.planned, all.first()) else { return Ok(false) };
        if all.len() == 1 || !self.may_repeat(planned) || first.len() != entry.statement.parameters {
            return Ok(false);
        }
        self.begin_statement(StatementText::Prepared(&entry.sql));
        let (mut runs, mut affected, mut generated, mut last) = (0, 0, 0, Done::default());
        let result = self.repeat(planned, all, &mut |one| {
            runs += 1;
            affected += one.affected;
            generated = if one.last_insert_id > 0 { one.last_insert_id } else { generated };
            done.add(&one);
            last = one;
        });
        let outcome = match result {
            // A conflict with another transaction is left to a single run.
            Err(error) if error.code != errno::ER_LOCK_DEADLOCK => {
                runs += 1;
                Err(error)
            }
            Ok(()) | Err(_) if runs == 0 => {
                self.forget_statement();
                return Ok(true);
            }
            Ok(()) | Err(_) => {
                affected -= last.affected;
                Ok(Outcome::Done(last))
            }
        };
        if generated > 0 {
            self.facts.last_insert_id = generated;
        }
        self.count_runs(entry.command, runs, affected);
        self.finish(outcome, &entry.sql).map(|_| false)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Instance, InstanceOptions, Outcome, Session};
    use leafline_storage::device::SimulatedEnv;
    use leafline_types::Value;
    use std::sync::Arc;

    fn session() -> Session {
        let mut options = InstanceOptions::default();
        options.engine.store.background = false;
        let instance = Instance::open(Arc::new(SimulatedEnv::new()), options).unwrap();
        let mut session = instance.connect().unwrap();
        for sql in [
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL, b VARCHAR(9), u INT UNIQUE, \
             at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, CHECK (a < 1000))",
            "CREATE TABLE p (id INT PRIMARY KEY, v INT)",
            "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
            "FLUSH STATUS",
        ] {
            session.execute(sql).map(drop).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        session
    }

    fn shown(session: &mut Session, sql: &str) -> Vec<String> {
        let Outcome::Rows(mut rows) = session.execute(sql).unwrap() else { panic!("{sql}: no rows") };
        let mut shown = Vec::new();
        while let Some(batch) = rows.next_batch(session).unwrap() {
            for row in 0..batch.rows {
                let values = batch.columns.iter().zip(rows.types());
                let values = values.map(|(column, ty)| leafline_types::value_at(column, row, &ty));
                shown.push(format!("{:?}", values.collect::<Vec<_>>()));
            }
        }
        shown
    }

    fn ints(values: &[i64]) -> Vec<Value> {
        values.iter().map(|value| Value::Int(*value)).collect()
    }

    /// The visible state of a session.
    fn state(session: &mut Session) -> Vec<Vec<String>> {
        [
            "SHOW WARNINGS",
            "SELECT ROW_COUNT(), LAST_INSERT_ID()",
            "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler%' OR Variable_name LIKE 'Com\\_%' OR Variable_name = 'Questions'",
            "SELECT id, a, b, u, at IS NULL FROM t ORDER BY id",
            "SELECT * FROM p ORDER BY id",
            "SELECT * FROM c ORDER BY id",
            "SELECT digest_text, count_star, sum_errors, sum_rows_affected FROM performance_schema.events_statements_summary_by_digest \
             WHERE digest_text LIKE 'INSERT%' OR digest_text LIKE 'UPDATE%' OR digest_text LIKE 'DELETE%' ORDER BY 1",
        ]
        .map(|sql| shown(session, sql))
        .into()
    }

    #[test]
    fn many_runs_come_to_what_they_come_to_one_by_one() {
        let number = |n: i64| Value::Int(n);
        let text = |text: &str| Value::string(text);
        let work: Vec<(&str, Vec<Vec<Value>>)> = vec![
            (
                "INSERT INTO t (a, b, u) VALUES (?, ?, ?)",
                (0..40).map(|n| vec![number(n), text("x"), number(n)]).collect(),
            ),
            // A value of another type is converted; a value that is too long fails, and the sets before it stay.
            (
                "INSERT INTO t (a, b, u) VALUES (?, ?, ?)",
                vec![
                    vec![number(50), Value::Null, number(50)],
                    vec![text("51"), text("y"), number(51)],
                    vec![number(52), text("z"), number(52)],
                    vec![number(53), text("much too long"), number(53)],
                    vec![number(54), text("never"), number(54)],
                ],
            ),
            ("INSERT INTO t (a, u) VALUES (?, ?)", vec![ints(&[60, 60]), ints(&[61, 5]), ints(&[62, 62])]),
            ("INSERT INTO t (a, u) VALUES (?, ?)", vec![ints(&[70, 70]), ints(&[2000, 71]), ints(&[72, 72])]),
            ("INSERT INTO t (id, a) VALUES (?, ?)", vec![ints(&[500, 1]), ints(&[0, 2]), ints(&[400, 3])]),
            ("REPLACE INTO t (a, u) VALUES (?, ?)", vec![ints(&[80, 3]), ints(&[81, 3]), ints(&[82, 83])]),
            ("INSERT INTO t (a, u) VALUES (?, ?) ON DUPLICATE KEY UPDATE a = a + 1", vec![ints(&[9, 9]); 3]),
            ("INSERT IGNORE INTO t (a, u) VALUES (?, ?)", vec![ints(&[9, 9]), ints(&[9, 99]), ints(&[9, 9])]),
            (
                "UPDATE t SET a = a + ?, b = 'u' WHERE id = ?",
                (0..30).map(|n| ints(&[n % 2, n % 20])).collect(),
            ),
            ("UPDATE t SET a = a + ? WHERE id = ? AND a > 10", (0..30).map(|n| ints(&[1, n])).collect()),
            ("UPDATE t SET id = id + 1000 WHERE id = ?", (0..9).map(|n| ints(&[n])).collect()),
            ("UPDATE t SET a = 999 + ? WHERE id = ?", vec![ints(&[0, 11]), ints(&[1, 12]), ints(&[0, 13])]),
            (
                "UPDATE t SET a = LAST_INSERT_ID(a + ?) WHERE id = ?",
                vec![ints(&[1, 14]), ints(&[2, 15]), ints(&[3, 999])],
            ),
            ("UPDATE t SET a = a + 1 WHERE u = ?", (0..9).map(|n| ints(&[n])).collect()),
            ("DELETE FROM t WHERE id = ?", (10..20).map(|n| ints(&[n / 2 * 2])).collect()),
            ("INSERT INTO p VALUES (?, ?)", (0..9).map(|n| ints(&[n, n])).collect()),
            ("INSERT INTO c VALUES (?, ?)", (0..9).map(|n| ints(&[n, n])).chain([ints(&[9, 77])]).collect()),
            ("DELETE FROM p WHERE id = ?", (0..5).map(|n| ints(&[n])).collect()),
            ("DELETE FROM t WHERE id = ?", vec![ints(&[20]), vec![], ints(&[22])]),
        ];
        for isolation in ["REPEATABLE READ", "READ COMMITTED"] {
            for begin in ["BEGIN", "SET autocommit = 0", "DO 0"] {
                let mut both = [session(), session()];
                for session in &mut both {
                    session
                        .execute(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"))
                        .map(drop)
                        .unwrap();
                    session.execute(begin).map(drop).unwrap();
                }
                for (sql, all) in &work {
                    let [many, single] = &mut both;
                    let ids = [many.prepare(sql).unwrap().id, single.prepare(sql).unwrap().id];
                    let together = many.execute_prepared_many(ids[0], all);
                    let (mut matched, mut insert_id) = (0, None);
                    let one_by_one =
                        all.iter().try_for_each(|values| match single.execute_prepared(ids[1], values)? {
                            Outcome::Done(done) => {
                                matched += done.matched;
                                insert_id = Some(done.insert_id).filter(|id| *id > 0).or(insert_id);
                                Ok(())
                            }
                            Outcome::Rows(_) => panic!("{sql}: rows"),
                        });
                    let what = format!("{isolation}, {begin}: {sql}");
                    let counted = together.as_ref().map(|done| (done.matched, done.insert_id));
                    assert_eq!(counted, one_by_one.as_ref().map(|()| (matched, insert_id)), "{what}");
                    assert_eq!(state(many), state(single), "{what}");
                }
                for session in &mut both {
                    session.execute("COMMIT").map(drop).unwrap();
                }
                assert_eq!(state(&mut both[0]), state(&mut both[1]));
            }
        }
    }

    #[test]
    fn a_run_that_meets_another_transaction_is_left_to_itself() {
        let mut session = session();
        let mut other = session.instance().connect().unwrap();
        let run = |session: &mut Session, sql: &str| session.execute(sql).map(drop).unwrap();
        run(&mut other, "USE d");
        run(&mut session, "INSERT INTO p VALUES (1, 1), (2, 2), (3, 3)");
        let update = session.prepare("UPDATE p SET v = v + ? WHERE id = ?").unwrap().id;
        session.execute_prepared(update, &ints(&[0, 1])).map(drop).unwrap();
        run(&mut session, "BEGIN");
        // The snapshot is older than the other session's change.
        assert_eq!(shown(&mut session, "SELECT v FROM p WHERE id = 1"), ["[Int(1)]"]);
        run(&mut other, "UPDATE p SET v = 20 WHERE id = 2");
        let all = [ints(&[1, 1]), ints(&[1, 2]), ints(&[1, 3])];
        let error = session.execute_prepared_many(update, &all).unwrap_err();
        assert_eq!(error.code, 1213);
        assert!(!session.in_transaction());
        assert_eq!(shown(&mut session, "SELECT v FROM p ORDER BY id"), ["[Int(1)]", "[Int(20)]", "[Int(3)]"]);
        // A transaction that has shown nothing yet continues with a newer snapshot.
        run(&mut session, "BEGIN");
        let done = session.execute_prepared_many(update, &all).unwrap();
        assert_eq!((done.runs, done.matched), (3, 3));
        run(&mut session, "COMMIT");
        assert_eq!(shown(&mut session, "SELECT v FROM p ORDER BY id"), ["[Int(2)]", "[Int(21)]", "[Int(4)]"]);
    }
}
