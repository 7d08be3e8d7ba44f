//! An open database and the state that its sessions share.

use crate::accounts::password_policy::PasswordValidation;
use crate::accounts::roles::{Active, RoleRules, mandatory_roles};
use crate::accounts::{Access, AccountId, Accounts, Privilege, SharedPasswordRules};
use crate::components;
use crate::digest::Digests;
use crate::error_log::ErrorLog;
use crate::events::EventScheduler;
use crate::index_uses::IndexUses;
use crate::machine::{LEAST_SERVER_MEMORY, default_server_memory};
use crate::program_code::SharedPrograms;
use crate::resource_group::ResourceGroups;
use crate::session_entry::{SessionEntry, SessionKind};
use crate::settings::CompressionAlgorithms;
use crate::settings::variables::{Facts, VERSION};
use crate::settings::{EventSchedulerState, ServerAccess, Settings};
use crate::slow_log::SlowLog;
use crate::start::Start;
use crate::statement_times::StatementTimes;
use crate::status::{Gauges, RareCommands, SessionCounters, StorageCounters};
use crate::upkeep::{self, Keeper};
use crate::user_locks::UserLocks;
use leafline_access::Statistics;
use leafline_access::cost::{CostModel, Device, DeviceChoice, StoredProfile, VersionedProfile};
use leafline_storage::worker::Worker;
use leafline_storage::{Env, FlushPolicy, lent_bytes};
use leafline_table::{Engine, EngineOptions, TableError};
use leafline_types::MysqlError;
use leafline_types::memory::server;
use leafline_types::statement::CancelReason;
use parking_lot::{Mutex, RwLock};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The options with which an instance is opened.
#[derive(Clone, Debug)]
pub struct InstanceOptions {
    /// Options of the engine.
    pub engine: EngineOptions,
    /// System variables and their first global values, as `--set name=value` gives them; variables of the
    /// engine take effect before its options do (`start`).
    pub variables: Vec<(String, String)>,
    /// `datadir`, as sessions see it.
    pub data_directory: String,
    /// `port`; 0 when not served.
    pub port: u16,
    /// `socket`; empty when there is none.
    pub socket: String,
    /// `bind_address`; empty when not served.
    pub bind_address: String,
    /// Paths of the certificate and of its key, where TLS is offered.
    pub tls_files: Option<(String, String)>,
    /// Path of the certificates that sign those of clients; empty without any.
    pub tls_client_authority: String,
    /// The device that holds the database: the first value of `leafline_device`, for which plans are priced.
    pub device: DeviceChoice,
    /// The first value of `event_scheduler`: ON in a server.
    pub event_scheduler: EventSchedulerState,
    /// The error log.
    pub error_log: ErrorLog,
    /// The result of `VERSION()`; `None` for Leafline's own version.
    pub version: Option<String>,
}

impl Default for InstanceOptions {
    fn default() -> InstanceOptions {
        InstanceOptions {
            engine: EngineOptions::default(),
            variables: Vec::new(),
            data_directory: String::new(),
            port: 0,
            socket: String::new(),
            bind_address: String::new(),
            tls_files: None,
            tls_client_authority: String::new(),
            device: DeviceChoice::Auto,
            event_scheduler: EventSchedulerState::Off,
            error_log: ErrorLog::default(),
            version: None,
        }
    }
}

/// An open database.
pub struct Instance {
    engine: Arc<Engine>,
    facts: Facts,
    globals: RwLock<Settings>,
    /// Counts of sessions that have ended or have started to count from zero again.
    finished: Mutex<(SessionCounters, RareCommands)>,
    sessions: Mutex<BTreeMap<u64, Arc<SessionEntry>>>,
    connections_made: AtomicU64,
    /// Highest number of connections open at one time.
    most_connections: AtomicU64,
    /// Number of connections whose client left without COM_QUIT (`Aborted_clients`), and of refused logins
    /// (`Aborted_connects`).
    aborted: [AtomicU64; 2],
    accounts: Accounts,
    resource_groups: ResourceGroups,
    statistics: Statistics,
    digests: Digests,
    statement_times: StatementTimes,
    slow_log: SlowLog,
    error_log: ErrorLog,
    events: EventScheduler,
    /// Why the stored digests could not be read.
    digests_ignored: Option<String>,
    /// `None` after the instance was closed.
    keeper: Mutex<Option<Keeper>>,
    pub(crate) upkeep: OnceLock<Worker>,
    known_device: RwLock<VersionedProfile>,
    /// Version of `known_device`.
    device_version: AtomicU64,
    index_uses: IndexUses,
    programs: SharedPrograms,
    password_validation: Arc<PasswordValidation>,
    user_locks: Arc<UserLocks>,
    opened: Instant,
}

impl Instance {
    /// Opens the database in `env`, creating it if there is none.
    ///
    /// # Errors
    /// Errors of the engine; 1193, 1231, 1232 or 1238 for a variable that does not exist or cannot have its
    /// value.
    pub fn open(env: Arc<dyn Env>, options: InstanceOptions) -> Result<Arc<Instance>, MysqlError> {
        // Without a stored profile plans are priced for a class of devices, so a failed read does not prevent
        // opening.
        let profile = StoredProfile::read(&*env).ok().flatten().unwrap_or_default();
        let keeper = Keeper::new(env.clone(), &profile);
        let known = VersionedProfile { version: 0, profile: Arc::new(profile) };
        let device = Device { choice: options.device, known: known.clone(), ..Device::default() };
        let globals = Settings { device, event_scheduler: options.event_scheduler, ..Settings::default() };
        let start = Start::new(options.engine, globals, &options.variables)?;
        let engine = Engine::open(env.clone(), start.engine.clone()).map_err(MysqlError::from)?;
        let page_bytes = engine.store().page_size() as u64;
        start.check_page_size(page_bytes)?;
        let Start {
            engine: used, mut globals, secure_file_priv, default_plugin, digests: most_digests, ..
        } = start;
        let no_digests = || Digests::new(usize::try_from(most_digests).unwrap_or(usize::MAX));
        let (digests, digests_ignored) = match globals.digests_persistent {
            true => match no_digests().with_stored(&*env) {
                Ok(read) => (read, None),
                Err(why) => (no_digests(), Some(why)),
            },
            false => (no_digests(), None),
        };
        let (tls_certificate, tls_key) = options.tls_files.unwrap_or_default();
        let facts = Facts {
            version: options.version.unwrap_or_else(|| VERSION.into()),
            data_directory: options.data_directory,
            port: options.port,
            socket: options.socket,
            buffer_pool_bytes: used.store.buffer_pool_bytes,
            server_memory: default_server_memory(used.store.buffer_pool_bytes),
            page_bytes,
            log_bytes: used.store.log_capacity_bytes,
            flush_log_at_commit: match used.store.flush_log_at_commit {
                FlushPolicy::EachCommit => 1,
                FlushPolicy::WriteEachCommit => 2,
                FlushPolicy::EverySecond => 0,
            },
            tls_certificate,
            tls_key,
            tls_client_authority: options.tls_client_authority,
            native_aio: used.store.native_aio,
            warm_up: used.store.warm_up,
            digests: most_digests,
            secure_file_priv,
            bind_address: options.bind_address,
            server_uuid: uuid_of(engine.store().database_id()),
            default_plugin,
        };
        let accounts = Accounts::open(&engine, default_plugin)?;
        if let Err(error) = components::start(&engine, &mut globals) {
            let why = format_args!("mysql.component cannot be read, so passwords are not validated: {error}");
            options.error_log.warning(why);
        }
        let resource_groups = ResourceGroups::open(&engine);
        let instance = Arc::new(Instance {
            engine,
            facts,
            globals: RwLock::new(globals),
            finished: Mutex::default(),
            sessions: Mutex::default(),
            connections_made: AtomicU64::new(0),
            most_connections: AtomicU64::new(0),
            aborted: Default::default(),
            accounts,
            resource_groups,
            statistics: Statistics::new(),
            digests,
            statement_times: StatementTimes::default(),
            slow_log: SlowLog::default(),
            error_log: options.error_log,
            events: EventScheduler::default(),
            digests_ignored,
            keeper: Mutex::new(Some(keeper)),
            known_device: RwLock::new(known),
            device_version: AtomicU64::new(0),
            upkeep: OnceLock::new(),
            index_uses: IndexUses::default(),
            programs: SharedPrograms::default(),
            password_validation: Arc::default(),
            user_locks: Arc::default(),
            opened: Instant::now(),
        });
        server::exempt(lent_bytes());
        instance.notice_restrictions();
        instance.apply_globals()?;
        if used.store.background {
            // The thread holds a weak reference, so that it does not keep the instance open.
            let weak = Arc::downgrade(&instance);
            let upkeep = upkeep::start(move || match weak.upgrade() {
                Some(instance) => {
                    instance.keep_what_was_learnt();
                    true
                }
                None => false,
            })?;
            let _ = instance.upkeep.set(upkeep);
        }
        Ok(instance)
    }

    /// `read_only` and `super_read_only`.
    pub(crate) fn server_access(&self) -> ServerAccess {
        self.globals.read().server_access
    }

    /// Switches `partial_revokes` on if an account has restrictions, as MySQL does where the grant tables have some.
    pub(crate) fn notice_restrictions(&self) {
        if self.accounts.have_restrictions() {
            self.globals.write().partial_revokes = true;
            self.accounts.make_names_literal(true);
        }
    }

    /// Makes the engine, the slow query log and the validation of passwords follow the global variables.
    ///
    /// # Errors
    /// 29 if the slow query log cannot be opened, 3896 for `partial_revokes` = OFF while accounts have restrictions.
    pub(crate) fn apply_globals(&self) -> Result<(), MysqlError> {
        let globals = self.globals.read().clone();
        if !globals.partial_revokes && self.accounts.have_restrictions() {
            return Err(MysqlError::partial_revokes_exist("partial_revokes"));
        }
        self.accounts.make_names_literal(globals.partial_revokes);
        self.engine
            .maintenance()
            .set_change_buffering(globals.change_buffering, globals.change_buffer_percent);
        self.engine.maintenance().force_change_buffering(globals.change_buffering_forced);
        self.engine.store().set_punch_holes(globals.punch_holes);
        let memory =
            if globals.server_memory == 0 { self.facts.server_memory } else { globals.server_memory };
        let policy = globals.validates_passwords.then_some(&globals.password_policy);
        if let Err(why) = self.password_validation.follow(policy, Path::new(&self.facts.data_directory)) {
            self.error_log.warning(why);
        }
        server::set_limit(usize::try_from(memory.max(LEAST_SERVER_MEMORY)).unwrap_or(usize::MAX));
        self.slow_log.apply(&globals.slow_log, &self.facts)
    }

    /// Returns the number of a new connection: the `CONNECTION_ID()` of its session.
    pub fn new_connection_id(&self) -> u64 {
        self.connections_made.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Adds the entry of a session for `user` at `host`, which logged in as `account`.
    ///
    /// # Errors
    /// 1040 if there are `max_connections` sessions; an account that may kill other sessions may have one
    /// more. 1226 if the account has as many sessions as it may have.
    pub(crate) fn add_session(
        &self,
        id: u64,
        (user, host): (&str, &str),
        account: Option<AccountId>,
    ) -> Result<Arc<SessionEntry>, MysqlError> {
        let admitted = self.accounts.version();
        let access = self.access_of(account.as_ref(), (host, admitted), Active::AtLogin);
        let sees_to_it = access.check_any(&[Privilege::ConnectionAdmin, Privilege::Super]).is_ok();
        let most = self.globals.read().max_connections + u64::from(sees_to_it);
        let mut sessions = self.sessions.lock();
        let clients = sessions.values().filter(|entry| entry.kind == SessionKind::Client).count();
        if clients as u64 >= most {
            return Err(MysqlError::too_many_connections());
        }
        if let Some(account) = &account {
            self.check_sessions_of(account, id, &sessions)?;
            self.accounts.count_connection(account)?;
        }
        let entry = Arc::new(SessionEntry::new(id, user, host, (account, admitted)));
        sessions.insert(id, entry.clone());
        self.most_connections.fetch_max(clients as u64 + 1, Ordering::Relaxed);
        Ok(entry)
    }

    /// Adds the entry of a session that no client has asked for, whatever `max_connections` is.
    pub(crate) fn add_own_session(&self, entry: SessionEntry) -> Arc<SessionEntry> {
        let entry = Arc::new(entry);
        self.sessions.lock().insert(entry.id, entry.clone());
        entry
    }

    /// The rights of a client at `host` that logged in as `account` when the accounts had version `admitted`.
    pub(crate) fn access_of(
        &self,
        account: Option<&AccountId>,
        client: (&str, u64),
        active: Active<'_>,
    ) -> Access {
        self.accounts.access(account, client, (active, &self.role_rules()))
    }

    /// The rules about roles that system variables set.
    pub(crate) fn role_rules(&self) -> Arc<RoleRules> {
        let globals = self.globals.read();
        let mandatory = mandatory_roles(&globals.mandatory_roles).unwrap_or_default();
        let (activates_all, names_are_literal) = (globals.activates_all_roles, globals.partial_revokes);
        Arc::new(RoleRules { mandatory, activates_all, names_are_literal })
    }

    /// The rules for passwords that system variables set.
    pub(crate) fn password_rules(&self) -> SharedPasswordRules {
        self.globals.read().passwords
    }

    /// Returns error 1226 if an account has, besides session `id`, as many sessions as it may have.
    fn check_sessions_of(
        &self,
        account: &AccountId,
        id: u64,
        sessions: &BTreeMap<u64, Arc<SessionEntry>>,
    ) -> Result<(), MysqlError> {
        let Some(most) = self.accounts.most_sessions(account) else { return Ok(()) };
        let is_client = |entry: &&Arc<SessionEntry>| entry.id != id && entry.kind == SessionKind::Client;
        let others =
            sessions.values().filter(is_client).filter(|entry| entry.account.as_ref() == Some(account));
        match others.count() < most as usize {
            true => Ok(()),
            false => Err(MysqlError::user_limit_reached(&account.user, "max_user_connections", most)),
        }
    }

    /// Replaces the entry of session `id` by one for `user` at `host`, logged in as `account`.
    ///
    /// # Errors
    /// 1226 if the account has as many sessions as it may have.
    pub(crate) fn replace_session(
        &self,
        id: u64,
        (user, host): (&str, &str),
        account: AccountId,
    ) -> Result<Arc<SessionEntry>, MysqlError> {
        let mut sessions = self.sessions.lock();
        self.check_sessions_of(&account, id, &sessions)?;
        self.accounts.count_connection(&account)?;
        let entry = Arc::new(SessionEntry::new(id, user, host, (Some(account), self.accounts.version())));
        sessions.insert(id, entry.clone());
        Ok(entry)
    }

    /// Counts a connection that ended badly: without COM_QUIT if its client was logged in, or by a refused
    /// login.
    pub fn count_aborted(&self, was_let_in: bool) {
        self.aborted[usize::from(!was_let_in)].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_session(&self, id: u64) {
        self.sessions.lock().remove(&id);
    }

    /// Adds a session's counters to the global ones; the session then counts from zero again.
    pub(crate) fn add_counters(&self, counters: SessionCounters, session: &SessionEntry) {
        let mut finished = self.finished.lock();
        finished.0 += counters;
        finished.1.add(&session.forget_counters());
    }

    /// All open sessions, by number.
    pub(crate) fn sessions(&self) -> Vec<Arc<SessionEntry>> {
        self.sessions.lock().values().cloned().collect()
    }

    /// The session with number `id`.
    ///
    /// # Errors
    /// 1094 if there is none.
    pub(crate) fn session(&self, id: u64) -> Result<Arc<SessionEntry>, MysqlError> {
        self.sessions.lock().get(&id).cloned().ok_or_else(|| MysqlError::no_such_thread(id))
    }

    /// Cancels a session's statement, or the session itself.
    ///
    /// # Errors
    /// 1094 if there is no such session.
    pub fn kill(&self, id: u64, reason: CancelReason) -> Result<(), MysqlError> {
        self.session(id)?.cancel.cancel(reason);
        self.events.wake();
        Ok(())
    }

    /// Cancels the session of every client for the same reason.
    pub fn kill_all(&self, reason: CancelReason) {
        self.kill_sessions(SessionKind::Client, reason);
    }

    fn kill_sessions(&self, kind: SessionKind, reason: CancelReason) {
        for entry in self.sessions.lock().values().filter(|entry| entry.kind == kind) {
            entry.cancel.cancel(reason);
        }
    }

    /// The event scheduler.
    pub(crate) fn events(&self) -> &EventScheduler {
        &self.events
    }

    /// The error log.
    pub(crate) fn error_log(&self) -> &ErrorLog {
        &self.error_log
    }

    /// Seconds since the instance was opened.
    pub fn uptime_seconds(&self) -> u64 {
        self.opened.elapsed().as_secs()
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Prices of the steps of a plan on a device.
    pub fn cost_model(&self, device: &Device) -> CostModel {
        CostModel::of_device(device, self.engine.store().page_size()).with_pool(self.facts.buffer_pool_bytes)
    }

    /// The locks of `GET_LOCK`.
    pub(crate) fn user_locks(&self) -> &Arc<UserLocks> {
        &self.user_locks
    }

    /// The validation of passwords.
    pub(crate) fn password_validation(&self) -> &Arc<PasswordValidation> {
        &self.password_validation
    }

    /// Sampled statistics of tables.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Compiled stored programs.
    pub(crate) fn programs(&self) -> &SharedPrograms {
        &self.programs
    }

    /// Digests of statements.
    pub(crate) fn digests(&self) -> &Digests {
        &self.digests
    }

    /// Times of statements by kind.
    pub(crate) fn statement_times(&self) -> &StatementTimes {
        &self.statement_times
    }

    /// The slow query log.
    pub(crate) fn slow_log(&self) -> &SlowLog {
        &self.slow_log
    }

    /// Why the digests of the directory were ignored; `None` if they were read or are not persistent.
    pub fn digests_ignored(&self) -> Option<&str> {
        self.digests_ignored.as_deref()
    }

    /// Writes to the directory the digests and device figures gathered since the previous call.
    pub(crate) fn keep_what_was_learnt(&self) {
        let (are_kept, device) = {
            let globals = self.globals.read();
            (globals.digests_persistent, globals.device.choice)
        };
        if let Some(keeper) = &mut *self.keeper.lock() {
            keeper.digests(&self.digests, are_kept);
            if device == DeviceChoice::Auto {
                self.observe_device(keeper);
            }
        }
    }

    /// Updates the device profile from measured reads, if they show something new.
    fn observe_device(&self, keeper: &mut Keeper) {
        let store = self.engine.store();
        let before = self.known_device.read().clone();
        if let Some(profile) = keeper.device(&store.read_samples(), store.page_size(), &before.profile) {
            let version = before.version + 1;
            *self.known_device.write() = VersionedProfile { version, profile: Arc::new(profile) };
            self.device_version.store(version, Ordering::Release);
        }
    }

    /// Gives a session the latest device profile. A new profile makes its plans be made anew.
    #[inline]
    pub(crate) fn refresh_device(&self, device: &mut Device) {
        if device.known.version != self.device_version.load(Ordering::Acquire)
            && device.choice == DeviceChoice::Auto
        {
            device.known = self.known_device.read().clone();
        }
    }

    /// Counts of index uses.
    pub(crate) fn index_uses(&self) -> &IndexUses {
        &self.index_uses
    }

    /// The accounts that may connect, and what they may do.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// The resource groups.
    pub(crate) fn resource_groups(&self) -> &ResourceGroups {
        &self.resource_groups
    }

    /// Facts that do not change while the instance is open.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// `require_secure_transport`.
    pub fn requires_secure_transport(&self) -> bool {
        self.globals.read().require_secure_transport
    }

    /// `connect_timeout`: seconds that a client may take to log in.
    pub fn connect_timeout(&self) -> u64 {
        self.globals.read().connect_timeout
    }

    /// `protocol_compression_algorithms`.
    pub fn compression_algorithms(&self) -> CompressionAlgorithms {
        self.globals.read().compression
    }

    /// `max_connections`.
    pub fn max_connections(&self) -> u64 {
        self.globals.read().max_connections
    }

    /// The global values of system variables.
    pub(crate) fn globals(&self) -> &RwLock<Settings> {
        &self.globals
    }

    pub(crate) fn storage_counters(&self) -> StorageCounters {
        StorageCounters::read(self.engine.store().stats(), self.uptime_seconds())
    }

    /// The counters of all sessions, including ended ones.
    pub(crate) fn global_counters(&self) -> SessionCounters {
        let finished = self.finished.lock();
        let mut all = finished.0;
        self.sessions.lock().values().for_each(|session| all += session.counters());
        all
    }

    /// The rare commands of all sessions, including ended ones.
    pub(crate) fn global_commands(&self) -> RareCommands {
        let finished = self.finished.lock();
        let mut all = finished.1.clone();
        self.sessions.lock().values().for_each(|session| all.add(&session.commands()));
        all
    }

    pub(crate) fn gauges(&self) -> Gauges<'_> {
        let (connections, running, prepared) = {
            let sessions = self.sessions.lock();
            let running = sessions.values().filter(|session| session.is_running()).count();
            let clients = sessions.values().filter(|session| session.kind == SessionKind::Client).count();
            (clients, running, sessions.values().map(|session| session.prepared()).sum())
        };
        Gauges {
            change_buffer: self.engine.maintenance().change_buffer_stats(),
            store: self.engine.store().stats(),
            engine: self.engine.stats(),
            page_bytes: self.facts.page_bytes,
            connections: connections as u64,
            connections_made: self.connections_made.load(Ordering::Relaxed),
            most_connections: self.most_connections.load(Ordering::Relaxed),
            aborted_clients: self.aborted[0].load(Ordering::Relaxed),
            aborted_connects: self.aborted[1].load(Ordering::Relaxed),
            running: running as u64,
            prepared,
            slow_log_dropped: self.slow_log.dropped(),
            memory_used: server::used() as u64,
            memory_peak: server::peak() as u64,
            uptime_seconds: self.uptime_seconds(),
        }
    }

    /// Writes everything and closes the database. Running events are cancelled. Statements of sessions that are still open fail from now
    /// on.
    ///
    /// # Errors
    /// Errors of the engine.
    pub fn close(&self) -> Result<(), MysqlError> {
        self.events.close(|| self.kill_sessions(SessionKind::Event, CancelReason::ConnectionKilled));
        if let Some(upkeep) = self.upkeep.get() {
            upkeep.stop();
        }
        self.keep_what_was_learnt();
        // From now on another instance may use the directory.
        drop(self.keeper.lock().take());
        self.slow_log.close();
        self.engine.close().map_err(|error: TableError| MysqlError::from(error))
    }
}

/// Derives a UUID from the number of a database; the same number gives the same UUID.
fn uuid_of(database_id: u64) -> String {
    let digest = Sha256::digest(database_id.to_le_bytes());
    let digits: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let part = |range| digits.get(range).unwrap_or_default();
    // Version 8 (free format); variant 1.
    format!("{}-{}-8{}-8{}-{}", part(0..8), part(8..12), part(13..16), part(17..20), part(20..32))
}
