//! Clients that run statements concurrently, each in its own thread.

use crate::rows::rows_of;
use crate::settings::test_variables;
use leafline_sql::session::Session;
use leafline_sql::{Instance, InstanceOptions};
use leafline_storage::device::SimulatedEnv;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The rows of a statement, values separated by blanks, or its error number.
pub type Answer = Result<Vec<String>, u16>;

/// Opens a database in memory.
pub fn database() -> Arc<Instance> {
    let mut options = InstanceOptions { variables: test_variables(), ..InstanceOptions::default() };
    options.engine.store.buffer_pool_bytes = 4 << 20;
    options.engine.store.log_capacity_bytes = 16 << 20;
    Instance::open(Arc::new(SimulatedEnv::new()), options).expect("the database opens")
}

/// Runs a statement to its end.
pub fn run(session: &mut Session, sql: &str) -> Answer {
    rows_of(session, sql).map_err(|error| error.code)
}

/// A client and its thread.
pub struct Client {
    statements: Sender<String>,
    answers: Receiver<Answer>,
    instance: Arc<Instance>,
}

impl Client {
    /// Makes a client of database `d`.
    pub fn new(instance: &Arc<Instance>) -> Client {
        let client = Client::new_without_database(instance);
        client.must(&["USE d"]);
        client
    }

    /// Makes a client.
    pub fn new_without_database(instance: &Arc<Instance>) -> Client {
        let (statements, todo) = channel::<String>();
        let (done, answers) = channel();
        let mut session = instance.connect().expect("a session");
        std::thread::spawn(move || {
            for sql in todo {
                if done.send(run(&mut session, &sql)).is_err() {
                    return;
                }
            }
        });
        Client { statements, answers, instance: instance.clone() }
    }

    fn send(&self, sql: &str) {
        self.statements.send(sql.into()).expect("the client's thread is there");
    }

    /// Returns the answer to the blocked statement.
    pub fn answer(&self) -> Answer {
        self.answers.recv().expect("the client's thread is there")
    }

    /// Runs a statement and returns its answer.
    pub fn run(&self, sql: &str) -> Answer {
        self.send(sql);
        self.answer()
    }

    /// Runs statements that must succeed; returns the rows of the last.
    pub fn must(&self, statements: &[&str]) -> Vec<String> {
        let mut last = Vec::new();
        for sql in statements {
            last = self.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        last
    }

    /// Begins a statement that has to wait for a lock.
    pub fn blocks(&self, sql: &str) {
        let waiting = || self.instance.engine().stats().locks.waiting;
        let before = waiting();
        self.send(sql);
        while waiting() == before {
            if let Ok(answer) = self.answers.try_recv() {
                panic!("{sql}: does not wait: {answer:?}");
            }
            std::thread::yield_now();
        }
    }
}
