//! What an instance has learnt is written to its directory once a minute, if it has changed, and when it is closed: the digests
//! ([`crate::digest`]), unless `leafline_digests_persistent` is off.
//!
//! These are hints. What cannot be written is tried again a minute later, and is nobody's error.

use crate::digest::Digests;
use crate::instance::Instance;
use leafline_storage::Env;
use leafline_types::MysqlError;
use parking_lot::{Condvar, Mutex};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks at what has changed.
const ROUND: Duration = Duration::from_secs(60);

/// Writes what has changed.
pub(crate) struct Keeper {
    env: Arc<dyn Env>,
    /// The checksum of the digests that were written last.
    digests: Option<u32>,
}

impl Keeper {
    /// Of a database's directory.
    pub fn new(env: Arc<dyn Env>) -> Keeper {
        Keeper { env, digests: None }
    }

    /// Writes the digests if they have changed, or removes what was written if they are not to be kept.
    pub fn digests(&mut self, digests: &Digests, are_kept: bool) {
        self.digests = match are_kept {
            true => digests.save(&*self.env, self.digests).ok(),
            false => Digests::forget(&*self.env).err().and(self.digests),
        };
    }
}

#[derive(Default)]
struct Signal {
    stop: Mutex<bool>,
    changed: Condvar,
}

/// The thread that has it written.
pub(crate) struct Upkeep {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

impl Upkeep {
    /// Starts it. It does not keep the instance open.
    pub fn start(instance: &Arc<Instance>) -> Result<Upkeep, MysqlError> {
        let signal = Arc::new(Signal::default());
        let (weak, shared) = (Arc::downgrade(instance), signal.clone());
        let thread = std::thread::Builder::new().name("upkeep".into()).spawn(move || run(&weak, &shared));
        let thread =
            thread.map_err(|error| MysqlError::internal(format_args!("no thread for upkeep: {error}")))?;
        Ok(Upkeep { signal, thread: Some(thread) })
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        *self.signal.stop.lock() = true;
        self.signal.changed.notify_all();
        // The instance may be dropped by this very thread.
        let is_other = |thread: &JoinHandle<()>| thread.thread().id() != std::thread::current().id();
        if let Some(thread) = self.thread.take().filter(is_other) {
            // If it panicked it has said so already.
            let _ = thread.join();
        }
    }
}

fn run(instance: &Weak<Instance>, signal: &Signal) {
    let mut stop = signal.stop.lock();
    while !*stop {
        if signal.changed.wait_for(&mut stop, ROUND).timed_out() && !*stop {
            parking_lot::MutexGuard::unlocked(&mut stop, || {
                if let Some(instance) = instance.upgrade() {
                    instance.keep_what_was_learnt();
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Instance, InstanceOptions};
    use leafline_storage::Env;
    use leafline_storage::device::SimulatedEnv;
    use std::sync::Arc;

    const FILE: &str = "statement-digests";

    fn open(env: &SimulatedEnv) -> Arc<Instance> {
        Instance::open(Arc::new(env.clone()), InstanceOptions::default()).unwrap()
    }

    fn run(instance: &Arc<Instance>, statements: &[&str]) {
        let mut session = instance.connect().unwrap();
        statements.iter().for_each(|sql| drop(session.execute(sql).unwrap()));
    }

    /// How often statements ran that insert into the table.
    fn inserts(instance: &Instance) -> u64 {
        let all = instance.digests().all().into_iter();
        let inserts =
            all.filter(|digest| digest.text.as_deref().is_some_and(|text| text.starts_with("INSERT")));
        inserts.map(|digest| digest.counts().executions).sum()
    }

    const CLEAR: &str = "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest";

    #[test]
    fn digests_outlive_the_instance_and_what_is_lost_with_its_end_is_what_came_after_the_last_round() {
        let env = SimulatedEnv::new();
        let instance = open(&env);
        run(&instance, &["CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)"]);
        instance.keep_what_was_learnt();
        run(&instance, &["INSERT INTO d.t VALUES (2)"]);
        let killed = open(&env.snapshot());
        assert_eq!(inserts(&killed), 1);
        run(&killed, &["INSERT INTO d.t VALUES (3)"]);
        assert_eq!(inserts(&killed), 2);
        instance.close().unwrap();
        drop(instance);
        let instance = open(&env);
        assert_eq!((inserts(&instance), instance.digests_ignored()), (2, None));
        run(&instance, &[CLEAR]);
        assert_eq!(inserts(&instance), 0);
        run(&instance, &["INSERT INTO d.t VALUES (4)"]);
        instance.close().unwrap();
        instance.digests().clear();
        assert!(instance.close().is_err(), "it was closed");
        drop(instance);
        assert_eq!(inserts(&open(&env)), 1, "nothing is written after the end");
    }

    #[test]
    fn a_damaged_file_is_a_note_and_no_error() {
        let env = SimulatedEnv::new();
        let instance = open(&env);
        run(&instance, &["CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)"]);
        instance.close().unwrap();
        drop(instance);
        env.damage(FILE, 50, &mut |bytes| bytes[0] ^= 1).unwrap();
        let instance = open(&env);
        assert_eq!(inserts(&instance), 0);
        assert_eq!(instance.digests_ignored(), Some("statement-digests is damaged"));
        run(&instance, &["INSERT INTO d.t VALUES (1)"]);
        instance.close().unwrap();
        drop(instance);
        assert_eq!(inserts(&open(&env)), 1);
    }

    #[test]
    fn with_the_variable_off_nothing_is_kept() {
        let env = SimulatedEnv::new();
        let instance = open(&env);
        run(&instance, &["CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "INSERT INTO d.t VALUES (1)"]);
        instance.keep_what_was_learnt();
        assert!(env.exists(FILE).unwrap());
        run(&instance, &["SET GLOBAL leafline_digests_persistent = OFF"]);
        instance.keep_what_was_learnt();
        assert!(!env.exists(FILE).unwrap());
        instance.close().unwrap();
        assert!(!env.exists(FILE).unwrap());
    }
}
