//! Writes hints of an instance to its directory, once a minute if they have changed, and at the close: the
//! digests ([`crate::digest`]) unless `leafline_digests_persistent` is off, and the measured device profile
//! if `leafline_device` is `auto`.
//!
//! A failed write is not reported; it is tried again a minute later.

use crate::digest::Digests;
use leafline_access::cost::{Device, Observer, StoredProfile, VersionedProfile};
use leafline_storage::Env;
use leafline_storage::device::ReadSamples;
use leafline_storage::worker::{Next, OnPanic, ThreadName, Worker};
use leafline_types::MysqlError;
use std::sync::Arc;
use std::time::Duration;

/// Time between two rounds.
const ROUND: Duration = Duration::from_secs(60);

/// Writes the changed hints.
pub(crate) struct Keeper {
    env: Arc<dyn Env>,
    /// Checksum of the digests last written.
    digests: Option<u32>,
    device: Observer,
}

impl Keeper {
    /// A keeper for a database's directory.
    pub fn new(env: Arc<dyn Env>, profile: &StoredProfile) -> Keeper {
        Keeper { env, digests: None, device: Observer::new(profile.observed) }
    }

    /// Writes the digests if they have changed, or removes their file if they are not to be kept.
    pub fn digests(&mut self, digests: &Digests, are_kept: bool) {
        self.digests = match are_kept {
            true => digests.save(&*self.env, self.digests).ok(),
            false => Digests::forget(&*self.env).err().and(self.digests),
        };
    }

    /// Evaluates measured reads of the device against the profile `known`. Writes and returns the profile if
    /// it changed.
    pub fn device(
        &mut self,
        samples: &ReadSamples,
        page_bytes: usize,
        known: &Arc<StoredProfile>,
    ) -> Option<StoredProfile> {
        if !self.env.times_reads() {
            return None;
        }
        let device =
            Device { known: VersionedProfile { version: 0, profile: known.clone() }, ..Device::default() };
        self.device.look(samples, device.begun(), page_bytes);
        if !self.device.observed.is_news_to(&known.observed) {
            return None;
        }
        let profile = StoredProfile { observed: self.device.observed, ..(**known).clone() };
        if StoredProfile::may_write(&*self.env).unwrap_or(false) {
            // If the write fails, the next open starts from the same profile as this one.
            let _ = profile.write(&*self.env);
        }
        Some(profile)
    }
}

/// Starts the thread, which calls `round` once a minute until it returns false.
pub(crate) fn start(mut round: impl FnMut() -> bool + Send + 'static) -> Result<Worker, MysqlError> {
    let worker = Worker::start(ThreadName::Upkeep, OnPanic::LeaveOut, Next::After(ROUND), move || {
        if round() { Next::After(ROUND) } else { Next::Never }
    });
    worker.map_err(|error| MysqlError::internal(format_args!("no thread for upkeep: {error}")))
}

#[cfg(test)]
mod tests {
    use crate::{Instance, InstanceOptions};
    use leafline_storage::device::{DiskModel, ModelledEnv, SimulatedEnv};
    use leafline_storage::worker::ThreadName;
    use leafline_storage::{Env, PageNo};
    use std::sync::Arc;
    use std::time::Duration;

    const FILE: &str = "statement-digests";

    fn open(env: &SimulatedEnv) -> Arc<Instance> {
        Instance::open(Arc::new(env.clone()), InstanceOptions::default()).unwrap()
    }

    fn run(instance: &Arc<Instance>, statements: &[&str]) {
        let mut session = instance.connect().unwrap();
        statements.iter().for_each(|sql| drop(session.execute(sql).unwrap()));
    }

    /// Number of executions of INSERT statements.
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

    #[test]
    fn panic_of_the_thread_is_kept_and_holds_nobody_up() {
        let env = SimulatedEnv::new();
        let instance = open(&env);
        run(&instance, &["CREATE DATABASE d", "CREATE TABLE d.t (a INT)"]);
        env.set_fault(Some(Arc::new(|_, _, _| {
            assert!(!ThreadName::Upkeep.is_current(), "planted panic");
            false
        })));
        let upkeep = instance.upkeep.get().expect("a thread");
        upkeep.wake();
        upkeep.join();
        env.set_fault(None);
        assert_eq!(upkeep.panic(), Some("planted panic"));
        run(&instance, &["INSERT INTO d.t VALUES (1)"]);
        instance.close().unwrap();
        assert!(env.exists(FILE).unwrap(), "the lock of what is written is free");
    }

    /// The device figure of a session after its first statement, and its source.
    fn device(instance: &Arc<Instance>, set: &str) -> (f64, String, String) {
        let mut session = instance.connect().unwrap();
        session.execute(set).unwrap();
        session.execute("SELECT 1").unwrap();
        let device = &session.settings.device;
        let [random, rate, ..] = device.sources();
        (device.profile().random_read_us, random, rate)
    }

    #[test]
    fn a_device_that_is_slower_than_was_thought_is_known_better_by_the_number_of_its_reads() {
        let env = SimulatedEnv::new();
        let instance = open(&env);
        let fill = "INSERT INTO d.t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
                    SELECT i, REPEAT('x', 7000) FROM n";
        run(&instance, &["CREATE DATABASE d", "CREATE TABLE d.t (a INT, b VARCHAR(8000))", fill]);
        instance.close().unwrap();
        drop(instance);
        let slow = |disk| {
            let mut options = InstanceOptions::default();
            options.engine.store.warm_up = false;
            Instance::open(Arc::new(ModelledEnv::new(Arc::new(env.clone()), disk)), options).unwrap()
        };
        let disk = DiskModel { seek: Duration::from_millis(2), ..DiskModel::HDD };
        let instance = slow(disk);
        let store = instance.engine().store();
        let begun = device(&instance, "SET leafline_device = 'auto'");
        assert_eq!(begun, (40.0, "class nvme".to_owned(), "class nvme".to_owned()));
        for page in (0..100).flat_map(|page| [page, page + 200]) {
            // The content of the page does not matter.
            let _ = store.fault_in(PageNo(100 + page));
        }
        let reads = store.read_samples().single_us.count();
        assert!(reads >= 128, "{reads}");
        instance.keep_what_was_learnt();
        // A step has this size at most, however long the reads took.
        let expected = (0..reads / 64).fold(40.0, |time, _| time * 1.5);
        let found = device(&instance, "SET leafline_device = 'auto'");
        assert!((found.0 / expected - 1.0_f64).abs() < 1e-9, "{found:?}, {expected}");
        assert_eq!((found.1.as_str(), found.2.as_str()), ("observed", "class nvme"));
        assert_eq!(device(&instance, "SET leafline_device = 'reference'").1, "reference");
        assert_eq!(device(&instance, "SET leafline_random_read_time = 7").0, 7.0);
        instance.close().unwrap();
        drop(instance);
        let instance = slow(disk);
        assert_eq!(device(&instance, "SET leafline_device = 'auto'"), found, "it is kept");
        instance.close().unwrap();
    }
}
