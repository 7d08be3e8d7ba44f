//! CREATE USER, ALTER USER, DROP USER, RENAME USER and SET PASSWORD. Each statement changes all of its accounts or none.

use super::role_grants::{check_admin, check_known, check_not_mandatory, grant};
use crate::accounts::grant_tables::{MAX_DEMAND, MAX_HOST, MAX_USER};
use crate::accounts::password::{AuthPlugin, StoredPassword};
use crate::accounts::roles::id_of;
use crate::accounts::set::{Account, AccountSet, Secret};
use crate::accounts::{Access, Accounts, Privilege, SharedPasswordRules};
use crate::session::Session;
use crate::system_table::SYSTEM_DATABASE;
use leafline_planner::Authority;
use leafline_syntax::AccountId;
use leafline_syntax::ast::{self, AccountName, Expiry, TlsRequirement, UserOptions, UserSpec};
use leafline_types::{DateTime, MysqlError};

/// Error 1470 for a name that is too long.
pub(in crate::statement) fn check_name(id: &AccountId) -> Result<(), MysqlError> {
    for (text, what, most) in [(&id.user, "user name", MAX_USER), (&id.host, "host name", MAX_HOST)] {
        if text.chars().count() > most || (what == "host name" && !text.is_ascii()) {
            return Err(MysqlError::wrong_string_length(text, what, most));
        }
    }
    Ok(())
}

/// Error 1227 if the account has SYSTEM_USER and the session has not.
pub(crate) fn check_may_change(access: &Access, set: &AccountSet, id: &AccountId) -> Result<(), MysqlError> {
    match set.accounts.get(id).is_some_and(|account| account.global.has(Privilege::SystemUser)) {
        true => access.check_any(&[Privilege::SystemUser]),
        false => Ok(()),
    }
}

/// Collects the accounts for which an operation failed.
#[derive(Default)]
pub(crate) struct Failed(Vec<String>);

impl Failed {
    pub(crate) fn push(&mut self, id: &AccountId) {
        self.0.push(id.to_string());
    }

    /// Error 1396 with all failed accounts, if there are any.
    pub(crate) fn check(self, operation: &str) -> Result<(), MysqlError> {
        if self.0.is_empty() { Ok(()) } else { Err(MysqlError::cannot_user(operation, self.0.join(","))) }
    }
}

/// Returns the session's time, cut to the second, in UTC.
pub(crate) fn this_second(session: &Session) -> Option<DateTime> {
    let micros = session.now().utc.epoch_micros()?;
    DateTime::from_epoch_micros(micros - micros.rem_euclid(1_000_000))
}

/// Makes the password that IDENTIFIED gives; `None` without one. The plugin is `before` unless the statement names another.
fn secret(user: &UserSpec, before: AuthPlugin) -> Result<Option<StoredPassword>, MysqlError> {
    let named = user.plugin.as_ref().map(|plugin| {
        AuthPlugin::from_name(&plugin.value).ok_or_else(|| MysqlError::plugin_not_loaded(&plugin.value))
    });
    let named = named.transpose()?;
    let plugin = named.unwrap_or(before);
    Ok(match &user.secret {
        Some(ast::Secret::Password(password)) => Some(StoredPassword::new(plugin, password)?),
        Some(ast::Secret::Stored(stored)) => {
            Some(StoredPassword::parse(plugin, stored).ok_or_else(MysqlError::password_format)?)
        }
        None => named.map(StoredPassword::none),
    })
}

/// Error 1470 for a text of REQUIRE that is too long for its column.
fn check_requirement(options: &UserOptions) -> Result<(), MysqlError> {
    let Some(TlsRequirement::These(demands)) = &options.requirement else { return Ok(()) };
    let texts = [("SUBJECT", &demands.subject), ("ISSUER", &demands.issuer), ("CIPHER", &demands.cipher)];
    for (what, text) in texts {
        if let Some(text) = text.as_ref().filter(|text| text.len() > MAX_DEMAND) {
            return Err(MysqlError::wrong_string_length(text, what, MAX_DEMAND));
        }
    }
    Ok(())
}

fn apply(account: &mut Account, options: &UserOptions) {
    if let Some(locked) = options.locked {
        account.locked = locked;
    }
    if let Some(requirement) = &options.requirement {
        account.requirement = requirement.clone();
    }
    account.max_user_connections = options.max_user_connections.unwrap_or(account.max_user_connections);
    let limits = &mut account.limits;
    limits.queries = options.max_queries.unwrap_or(limits.queries);
    limits.updates = options.max_updates.unwrap_or(limits.updates);
    limits.connections = options.max_connections.unwrap_or(limits.connections);
    account.expired |= options.expiry == Some(Expiry::Now);
    account.rules.apply(options);
}

/// The moment of a change of passwords, and the rules that system variables set.
#[derive(Clone, Copy)]
struct Change {
    now: Option<DateTime>,
    shared: SharedPasswordRules,
}

impl Change {
    fn of(session: &Session) -> Change {
        Change { now: this_second(session), shared: session.instance.password_rules() }
    }

    /// Replaces the password of an account and remembers it. `plain` is the password, where the statement says it.
    ///
    /// # Errors
    /// 3638 for an earlier password that may not come again yet.
    fn apply(
        self,
        set: &mut AccountSet,
        id: &AccountId,
        (password, plain): (StoredPassword, Option<&str>),
    ) -> Result<(), MysqlError> {
        let Some(account) = set.accounts.get_mut(id) else { return Ok(()) };
        if let Some(now) = self.now {
            let mut history = set.history.remove(id).unwrap_or_default();
            let plain = plain.map(|plain| (password.plugin(), plain));
            if plain.is_some_and(|plain| account.rules.forbid(plain, &history, (self.shared, now))) {
                return Err(MysqlError::password_in_history(&id.user, &id.host));
            }
            account.rules.remember(&password, &mut history, (self.shared, now));
            if !history.is_empty() {
                set.history.insert(id.clone(), history);
            }
        }
        account.set_password(password, self.now);
        Ok(())
    }
}

/// Checks the password that a statement names as the one to be replaced.
///
/// # Errors
/// 3892 if the session has to name it and does not, 3891 for a wrong one, 3893 for that of another account.
fn check_replaced(
    session: &Session,
    (id, account): (&AccountId, &Account),
    replaced: Option<&str>,
) -> Result<(), MysqlError> {
    let access = &session.login.access;
    let is_own = access.account() == *id;
    let Secret::Password(current) = &account.secret else { return Ok(()) };
    match replaced {
        Some(_) if !is_own => Err(MysqlError::current_password_not_required()),
        Some(replaced) if current.verify(replaced.as_bytes()) => Ok(()),
        Some(_) => Err(MysqlError::incorrect_current_password()),
        None => {
            let may_change_all = access.on_everything().has(Privilege::CreateUser)
                || access.on_database(SYSTEM_DATABASE).has(Privilege::Update);
            let must = is_own && !may_change_all && !current.is_none();
            match must && account.rules.requires_current(session.instance.password_rules()) {
                true => Err(MysqlError::missing_current_password()),
                false => Ok(()),
            }
        }
    }
}

/// Checks the password that a statement sets by the policy, if the component `validate_password` is installed.
///
/// # Errors
/// 1819.
fn check_policy(session: &Session, plain: &str, replaced: Option<&str>) -> Result<(), MysqlError> {
    let facts = &session.facts;
    let users =
        [&facts.user, &facts.current_user].map(|name| name.rsplit_once('@').map_or("", |(user, _)| user));
    let validation = session.instance.password_validation();
    validation.check(plain, users)?;
    replaced.map_or(Ok(()), |replaced| validation.check_change(replaced, plain))
}

/// The password that a statement says.
fn plain(user: &UserSpec) -> Option<&str> {
    match &user.secret {
        Some(ast::Secret::Password(plain)) => Some(plain),
        _ => None,
    }
}

impl Account {
    /// Replaces the password. An expired account is no longer expired.
    fn set_password(&mut self, password: StoredPassword, now: Option<DateTime>) {
        self.secret = Secret::Password(password);
        self.changed = now;
        self.expired = false;
    }

    fn plugin(&self, default: AuthPlugin) -> AuthPlugin {
        match &self.secret {
            Secret::Password(password) => password.plugin(),
            Secret::Unreadable(plugin, _) => AuthPlugin::from_name(plugin).unwrap_or(default),
        }
    }
}

/// Grants the roles of CREATE USER .. DEFAULT ROLE and makes them default roles.
fn give_default_roles(
    session: &Session,
    set: &mut AccountSet,
    id: &AccountId,
    roles: &[AccountName],
) -> Result<(), MysqlError> {
    for role in roles.iter().map(id_of) {
        check_known(set, &role)?;
        check_admin(session, set, &role)?;
        check_may_change(&session.login.access, set, &role)?;
        grant(set, (&role, id), false)?;
        set.roles.add_default(id, &role);
    }
    Ok(())
}

impl Accounts {
    /// Runs CREATE USER.
    ///
    /// # Errors
    /// 1396 for an account that exists; 3523 and 1227 for a role that does not, or that the session may not grant; 1470, 1524, 1819, 1827 for a wrong name, plugin or password; errors of the engine.
    pub(crate) fn create(
        &self,
        session: &mut Session,
        if_not_exists: bool,
        users: &[UserSpec],
        (roles, options): (&[AccountName], &UserOptions),
    ) -> Result<(), MysqlError> {
        let alone = self.alone();
        let mut set = (*self.set()).clone();
        check_not_damaged(&set)?;
        check_requirement(options)?;
        let change = Change::of(session);
        let mut failed = Failed::default();
        for user in users {
            let id = session.login.access.account_of(&user.account);
            check_name(&id)?;
            if set.accounts.contains_key(&id) {
                match if_not_exists {
                    true => session.warnings.note(MysqlError::user_already_exists(&id)),
                    false => failed.push(&id),
                }
                continue;
            }
            // As in MySQL, the policy also refuses an account without a password.
            if !matches!(user.secret, Some(ast::Secret::Stored(_))) {
                check_policy(session, plain(user).unwrap_or_default(), None)?;
            }
            let password = secret(user, self.default_plugin)?;
            let password = password.unwrap_or_else(|| StoredPassword::none(self.default_plugin));
            let mut account = Account { changed: change.now, ..Account::new(password.clone()) };
            apply(&mut account, options);
            let is_expired = account.expired;
            set.accounts.insert(id.clone(), account);
            change.apply(&mut set, &id, (password, plain(user)))?;
            if let Some(account) = set.accounts.get_mut(&id) {
                account.expired = is_expired;
            }
            give_default_roles(session, &mut set, &id, roles)?;
        }
        failed.check("CREATE USER")?;
        self.put(set, &alone)
    }

    /// Runs ALTER USER.
    ///
    /// # Errors
    /// 1396 for an account that does not exist; 1227 for one that the session may not change; 1524, 1819, 1827 for a wrong plugin
    /// or password; errors of the engine.
    pub(crate) fn alter(
        &self,
        session: &mut Session,
        if_exists: bool,
        users: &[UserSpec],
        options: &UserOptions,
    ) -> Result<(), MysqlError> {
        let alone = self.alone();
        let mut set = (*self.set()).clone();
        check_requirement(options)?;
        let change = Change::of(session);
        let mut failed = Failed::default();
        for user in users {
            let id = session.login.access.account_of(&user.account);
            self.rescue(&mut set, &session.login.access, &id, user.secret.is_some());
            check_not_damaged(&set)?;
            check_may_change(&session.login.access, &set, &id)?;
            let Some(account) = set.accounts.get_mut(&id) else {
                match if_exists {
                    true => session.warnings.note(MysqlError::user_does_not_exist(&id)),
                    false => failed.push(&id),
                }
                continue;
            };
            let password = secret(user, account.plugin(self.default_plugin))?;
            if password.is_some() {
                check_replaced(session, (&id, account), user.replaced.as_deref())?;
            }
            if let Some(plain) = plain(user) {
                check_policy(session, plain, user.replaced.as_deref())?;
            }
            apply(account, options);
            if let Some(password) = password {
                let is_expired = account.expired && options.expiry == Some(Expiry::Now);
                change.apply(&mut set, &id, (password, plain(user)))?;
                if let Some(account) = set.accounts.get_mut(&id) {
                    // The old password does not work with the new plugin. Without a new one the account is expired until one is
                    // set.
                    account.expired = is_expired || user.secret.is_none();
                }
            }
        }
        failed.check("ALTER USER")?;
        self.put(set, &alone)?;
        for user in users {
            self.begin_anew(&session.login.access.account_of(&user.account), options);
        }
        Ok(())
    }

    /// Forgets the uses and failed logins of an account whose limits a statement sets, or which it unlocks.
    fn begin_anew(&self, id: &AccountId, options: &UserOptions) {
        if options.max_queries.or(options.max_updates).or(options.max_connections).is_some() {
            self.usage.reset(Some(id));
        }
        if options.failed_logins.is_some() || options.lock_time.is_some() || options.locked == Some(false) {
            self.failed_logins.forget(id);
        }
    }

    /// Runs SET PASSWORD. `None` stands for the session's own account.
    ///
    /// # Errors
    /// 1133 if the account does not exist; 1227 if the session may not change it; 1819 for a weak password; errors of the engine.
    pub(crate) fn set_password(
        &self,
        session: &Session,
        account: Option<&AccountName>,
        (plain, replaced): (&str, Option<&str>),
    ) -> Result<(), MysqlError> {
        let alone = self.alone();
        let mut set = (*self.set()).clone();
        let access = &session.login.access;
        let id = account.map_or_else(|| access.account(), |name| access.account_of(name));
        self.rescue(&mut set, access, &id, true);
        check_not_damaged(&set)?;
        check_may_change(access, &set, &id)?;
        let account = set.accounts.get(&id).ok_or_else(MysqlError::password_no_match)?;
        check_replaced(session, (&id, account), replaced)?;
        check_policy(session, plain, replaced)?;
        let password = StoredPassword::new(account.plugin(self.default_plugin), plain)?;
        Change::of(session).apply(&mut set, &id, (password, Some(plain)))?;
        self.put(set, &alone)
    }

    /// Runs DROP USER. Open sessions of the accounts have no privileges from their next statement on.
    ///
    /// # Errors
    /// 1396 for an account that does not exist; 1227 for one that the session may not change; 3628 for a mandatory role; errors
    /// of the engine.
    pub(crate) fn drop_users(
        &self,
        session: &mut Session,
        if_exists: bool,
        users: &[AccountName],
    ) -> Result<(), MysqlError> {
        let alone = self.alone();
        let mut set = (*self.set()).clone();
        check_not_damaged(&set)?;
        let mut failed = Failed::default();
        for user in users {
            let id = session.login.access.account_of(user);
            check_may_change(&session.login.access, &set, &id)?;
            check_not_mandatory(session, &id)?;
            match set.accounts.contains_key(&id) {
                true => set.remove(&id),
                false if if_exists => session.warnings.note(MysqlError::user_does_not_exist(&id)),
                false => failed.push(&id),
            }
        }
        failed.check("DROP USER")?;
        self.put(set, &alone)
    }

    /// Runs RENAME USER.
    ///
    /// # Errors
    /// 1396 for an account that does not exist, or a name that is taken; 3532 for a role; 1227 for an account that the session may not change; 1470
    /// for a name that is too long; errors of the engine.
    pub(crate) fn rename(
        &self,
        session: &Session,
        renamed: &[(AccountName, AccountName)],
    ) -> Result<(), MysqlError> {
        let alone = self.alone();
        let mut set = (*self.set()).clone();
        check_not_damaged(&set)?;
        let mut failed = Failed::default();
        for (from, to) in renamed {
            let (from, to) = (session.login.access.account_of(from), session.login.access.account_of(to));
            check_name(&to)?;
            check_may_change(&session.login.access, &set, &from)?;
            if set.roles.is_role(&from) || session.instance.role_rules().mandatory.contains(&from) {
                return Err(MysqlError::cannot_rename_role());
            }
            match set.accounts.contains_key(&from) && !set.accounts.contains_key(&to) {
                true => set.rename(&from, &to),
                false => failed.push(&from),
            }
        }
        failed.check("RENAME USER")?;
        self.put(set, &alone)
    }

    /// Makes the root account anew when the accounts on disk are damaged and a program that embeds the database gives root a
    /// password.
    fn rescue(&self, set: &mut AccountSet, access: &Access, id: &AccountId, has_password: bool) {
        if set.damage.is_some() && access.is_unlimited() && *id == AccountId::root() && has_password {
            set.damage = None;
            set.accounts.insert(id.clone(), Accounts::administrator(self.default_plugin));
        }
    }
}

/// Error 1105 while the accounts on disk cannot be read, because a change would overwrite them.
pub(crate) fn check_not_damaged(set: &AccountSet) -> Result<(), MysqlError> {
    set.damage.as_ref().map_or(Ok(()), |why| Err(MysqlError::unknown_error(why)))
}
