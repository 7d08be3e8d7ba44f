//! CREATE ROLE, DROP ROLE, GRANT and REVOKE of roles, SET ROLE and SET DEFAULT ROLE. Each statement changes all accounts that it
//! names, or none.

use super::role_grants::{check_admin, check_known, check_not_mandatory, grant};
use super::users::{Failed, check_may_change, check_name, check_not_damaged, this_second};
use crate::accounts::password::StoredPassword;
use crate::accounts::roles::id_of;
use crate::accounts::set::{Account, AccountSet};
use crate::accounts::{Accounts, Privilege};
use crate::session::Session;
use crate::system_table::SYSTEM_DATABASE;
use leafline_planner::Authority;
use leafline_syntax::AccountId;
use leafline_syntax::ast::{AccountName, RoleSelection, RoleStatement};
use leafline_types::MysqlError;
use std::collections::BTreeSet;

/// Error 3530.
fn not_granted(role: &AccountId, account: &AccountId) -> MysqlError {
    MysqlError::role_not_granted(role.backquoted(), account.backquoted())
}

impl Accounts {
    /// Runs a statement about roles.
    ///
    /// # Errors
    /// 1396 for a role that exists or does not, 3523 for an unknown account, 3530 for a role that is not granted, 3628 for a
    /// mandatory one, 4027 for a circle; 1227 for what the session may not do; errors of the engine.
    pub(crate) fn run_roles(
        &self,
        session: &mut Session,
        statement: &RoleStatement,
    ) -> Result<(), MysqlError> {
        if let RoleStatement::Set(selection) = statement {
            return self.set_role(session, selection);
        }
        let alone = self.alone();
        let mut set = (*self.set()).clone();
        check_not_damaged(&set)?;
        match statement {
            RoleStatement::Create { if_not_exists, roles } => {
                self.create_roles(session, &mut set, (*if_not_exists, roles))?;
            }
            RoleStatement::Drop { if_exists, roles } => drop_roles(session, &mut set, (*if_exists, roles))?,
            RoleStatement::Grant { roles, to, with_admin_option } => {
                grant_roles(session, &mut set, (roles, to, *with_admin_option))?;
            }
            RoleStatement::Revoke { if_exists, roles, from, ignore_unknown } => {
                revoke_roles(session, &mut set, (roles, from), (*if_exists, *ignore_unknown))?;
            }
            RoleStatement::SetDefault { if_exists, roles, accounts } => {
                set_defaults(session, &mut set, (*if_exists, roles, accounts))?;
            }
            RoleStatement::Set(_) => {}
        }
        self.put(set, &alone)
    }

    /// Makes roles: locked accounts whose password has expired.
    fn create_roles(
        &self,
        session: &mut Session,
        set: &mut AccountSet,
        (if_not_exists, roles): (bool, &[AccountName]),
    ) -> Result<(), MysqlError> {
        let changed = this_second(session);
        let mut failed = Failed::default();
        for id in roles.iter().map(id_of) {
            check_name(&id)?;
            match set.accounts.contains_key(&id) {
                true if if_not_exists => session.warnings.note(MysqlError::user_already_exists(&id)),
                false if !id.user.is_empty() => {
                    let password = StoredPassword::none(self.default_plugin);
                    let role = Account { locked: true, expired: true, changed, ..Account::new(password) };
                    set.accounts.insert(id, role);
                }
                _ => failed.push(&id),
            }
        }
        failed.check("CREATE ROLE")
    }

    /// Runs SET ROLE.
    fn set_role(&self, session: &mut Session, selection: &RoleSelection) -> Result<(), MysqlError> {
        if session.is_in_program() {
            return Err(MysqlError::not_supported("SET ROLE in a stored program"));
        }
        let (set, rules) = (self.set(), session.instance.role_rules());
        let account = session.login.access.account();
        let (roles, all_must_be_granted) = match selection {
            RoleSelection::None => (Vec::new(), false),
            RoleSelection::Default => (set.roles.defaults_of(&account).cloned().collect(), true),
            RoleSelection::AllExcept(but) => {
                let but: Vec<AccountId> = but.iter().map(id_of).collect();
                let mut all = set.roles_of(&account, &rules);
                all.retain(|role| !but.contains(role));
                (all, false)
            }
            RoleSelection::These(roles) => (roles.iter().map(id_of).collect(), true),
        };
        if all_must_be_granted
            && let Some(role) = roles.iter().find(|role| !set.may_activate(role, &account, &rules))
        {
            return Err(not_granted(role, &account));
        }
        session.activate_roles(&roles);
        Ok(())
    }
}

fn drop_roles(
    session: &mut Session,
    set: &mut AccountSet,
    (if_exists, roles): (bool, &[AccountName]),
) -> Result<(), MysqlError> {
    let mut failed = Failed::default();
    for id in roles.iter().map(id_of) {
        check_not_mandatory(session, &id)?;
        check_may_change(&session.login.access, set, &id)?;
        match set.accounts.get(&id) {
            Some(account) => {
                // DROP ROLE alone is no privilege to drop accounts that clients log in to.
                if !account.locked {
                    session.login.access.check_any(&[Privilege::CreateUser])?;
                }
                set.remove(&id);
            }
            None if if_exists => session.warnings.note(MysqlError::user_does_not_exist(&id)),
            None => failed.push(&id),
        }
    }
    failed.check("DROP ROLE")
}

fn grant_roles(
    session: &Session,
    set: &mut AccountSet,
    (roles, to, admin): (&[AccountName], &[AccountName], bool),
) -> Result<(), MysqlError> {
    let access = &session.login.access;
    for role in roles.iter().map(id_of) {
        check_admin(session, set, &role)?;
        for grantee in to.iter().map(|name| access.account_of(name)) {
            check_known(set, &grantee)?;
            check_known(set, &role)?;
            check_may_change(access, set, &role)?;
            check_may_change(access, set, &grantee)?;
            grant(set, (&role, &grantee), admin)?;
        }
    }
    Ok(())
}

fn revoke_roles(
    session: &mut Session,
    set: &mut AccountSet,
    (roles, from): (&[AccountName], &[AccountName]),
    (if_exists, ignore_unknown): (bool, bool),
) -> Result<(), MysqlError> {
    for role in roles.iter().map(id_of) {
        check_admin(session, set, &role)?;
        check_not_mandatory(session, &role)?;
        for name in from {
            let grantee = session.login.access.account_of(name);
            if ignore_unknown && let Err(unknown) = check_known(set, &grantee) {
                session.warnings.warn(unknown);
                continue;
            }
            check_known(set, &grantee)?;
            check_may_change(&session.login.access, set, &grantee)?;
            let revoked = check_known(set, &role).and_then(|()| match set.roles.revoke(&role, &grantee) {
                true => Ok(()),
                false => Err(not_granted(&role, &grantee)),
            });
            match revoked {
                Err(error) if if_exists => session.warnings.warn(error),
                revoked => revoked?,
            }
        }
    }
    Ok(())
}

fn set_defaults(
    session: &mut Session,
    set: &mut AccountSet,
    (if_exists, selection, accounts): (bool, &RoleSelection, &[AccountName]),
) -> Result<(), MysqlError> {
    let rules = session.instance.role_rules();
    let mut failed = Failed::default();
    for name in accounts {
        let access = &session.login.access;
        let id = access.account_of(name);
        if id != access.account() && !access.on_database(SYSTEM_DATABASE).has(Privilege::Update) {
            access.check_any(&[Privilege::CreateUser])?;
        }
        check_may_change(access, set, &id)?;
        if !set.accounts.contains_key(&id) {
            match if_exists {
                true => session.warnings.note(MysqlError::user_does_not_exist(&id)),
                false => failed.push(&id),
            }
            continue;
        }
        let roles: BTreeSet<AccountId> = match selection {
            RoleSelection::None | RoleSelection::Default => BTreeSet::new(),
            RoleSelection::AllExcept(_) => set.roles.of(&id).map(|grant| grant.role.clone()).collect(),
            RoleSelection::These(roles) => roles.iter().map(id_of).collect(),
        };
        if let Some(role) = roles.iter().find(|role| !set.may_activate(role, &id, &rules)) {
            return Err(not_granted(role, &id));
        }
        set.roles.set_defaults(&id, roles);
    }
    failed.check("ALTER USER")
}
