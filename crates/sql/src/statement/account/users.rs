//! CREATE USER, ALTER USER, DROP USER, RENAME USER and SET PASSWORD. Each statement changes all of its accounts or none.

use super::role_grants::{check_admin, check_known, check_not_mandatory, grant};
use crate::accounts::grant_tables::{MAX_HOST, MAX_USER};
use crate::accounts::password::{AuthPlugin, StoredPassword};
use crate::accounts::roles::id_of;
use crate::accounts::set::{Account, AccountSet, Secret};
use crate::accounts::{Access, Accounts, Privilege};
use crate::session::Session;
use leafline_planner::Authority;
use leafline_syntax::AccountId;
use leafline_syntax::ast::{self, AccountName, Expiry, UserOptions, UserSpec};
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

fn apply(account: &mut Account, options: UserOptions) {
    if let Some(locked) = options.locked {
        account.locked = locked;
    }
    account.requires_tls = options.requires_tls.unwrap_or(account.requires_tls);
    account.max_user_connections = options.max_user_connections.unwrap_or(account.max_user_connections);
    match options.expiry {
        Some(Expiry::Now) => account.expired = true,
        Some(Expiry::Never) => account.never_expires = true,
        Some(Expiry::Default) => account.never_expires = false,
        None => {}
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
        (roles, options): (&[AccountName], UserOptions),
    ) -> Result<(), MysqlError> {
        let alone = self.alone();
        let mut set = (*self.set()).clone();
        check_not_damaged(&set)?;
        let now = this_second(session);
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
            let password = secret(user, self.default_plugin)?;
            let password = password.unwrap_or_else(|| StoredPassword::none(self.default_plugin));
            let mut account = Account { changed: now, ..Account::new(password) };
            apply(&mut account, options);
            set.accounts.insert(id.clone(), account);
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
        options: UserOptions,
    ) -> Result<(), MysqlError> {
        let alone = self.alone();
        let mut set = (*self.set()).clone();
        let now = this_second(session);
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
            if let Some(password) = secret(user, account.plugin(self.default_plugin))? {
                account.set_password(password, now);
                // The old password does not work with the new plugin. Without a new one the account is expired until one is set.
                account.expired = user.secret.is_none();
            }
            apply(account, options);
        }
        failed.check("ALTER USER")?;
        self.put(set, &alone)
    }

    /// Runs SET PASSWORD. `None` stands for the session's own account.
    ///
    /// # Errors
    /// 1133 if the account does not exist; 1227 if the session may not change it; 1819 for a weak password; errors of the engine.
    pub(crate) fn set_password(
        &self,
        session: &Session,
        account: Option<&AccountName>,
        password: &str,
    ) -> Result<(), MysqlError> {
        let alone = self.alone();
        let mut set = (*self.set()).clone();
        let access = &session.login.access;
        let id = account.map_or_else(|| access.account(), |name| access.account_of(name));
        self.rescue(&mut set, access, &id, true);
        check_not_damaged(&set)?;
        check_may_change(access, &set, &id)?;
        let account = set.accounts.get_mut(&id).ok_or_else(MysqlError::password_no_match)?;
        let password = StoredPassword::new(account.plugin(self.default_plugin), password)?;
        account.set_password(password, this_second(session));
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
