//! The rules that statements about roles share: who may grant a role, which roles exist, and that no account reaches itself.

use crate::accounts::Privilege;
use crate::accounts::set::AccountSet;
use crate::session::Session;
use leafline_planner::Authority;
use leafline_syntax::AccountId;
use leafline_types::MysqlError;

/// Error 3523 for an account that does not exist.
pub(super) fn check_known(set: &AccountSet, id: &AccountId) -> Result<(), MysqlError> {
    match set.accounts.contains_key(id) {
        true => Ok(()),
        false => Err(MysqlError::unknown_authorization_id(&id.user, &id.host)),
    }
}

/// Error 1227 unless the session may grant and revoke the role: by ROLE_ADMIN, SUPER, or WITH ADMIN OPTION of its account or of
/// an active role.
pub(super) fn check_admin(session: &Session, set: &AccountSet, role: &AccountId) -> Result<(), MysqlError> {
    let access = &session.login.access;
    if access.on_everything().has_any(Privilege::RoleAdmin | Privilege::Super) {
        return Ok(());
    }
    let mut holders = set.roles.reached(access.active_roles());
    holders.insert(access.account());
    match holders.iter().any(|holder| set.roles.has_admin(role, holder)) {
        true => Ok(()),
        false => Err(MysqlError::specific_access_denied("WITH ADMIN, ROLE_ADMIN, SUPER")),
    }
}

/// Error 3628 for a role of `mandatory_roles`.
pub(super) fn check_not_mandatory(session: &Session, role: &AccountId) -> Result<(), MysqlError> {
    match session.instance.role_rules().mandatory.contains(role) {
        true => Err(MysqlError::mandatory_role(role.backquoted())),
        false => Ok(()),
    }
}

/// Grants a role.
///
/// # Errors
/// 4027 if the grantee is granted to the role, directly or through others.
pub(super) fn grant(
    set: &mut AccountSet,
    (role, grantee): (&AccountId, &AccountId),
    admin: bool,
) -> Result<(), MysqlError> {
    if set.roles.reached([role]).contains(grantee) {
        return Err(MysqlError::role_granted_to_itself(grantee.backquoted(), role.backquoted()));
    }
    set.roles.grant(role, grantee, admin);
    Ok(())
}
