//! GRANT and REVOKE while `partial_revokes` is on: privileges on everything that are revoked on a database.
//!
//! | statement | restrictions of the account |
//! |---|---|
//! | REVOKE on a database | gets those for privileges that it holds on everything and not by a grant on the database |
//! | GRANT on a database | loses those for the privileges |
//! | GRANT on everything | loses those for the privileges, but where the grantor has them, too |
//! | REVOKE on everything | loses those for the privileges |
//!
//! A session cannot revoke on everything what it lacks itself on a database where the account has it (1044).

use crate::accounts::restrictions::Restrictions;
use crate::accounts::set::{Account, AccountSet, literal_name};
use crate::accounts::{Access, AccountId, Privilege, Privileges};
use leafline_types::MysqlError;

/// The privileges that can be revoked on a database.
const RESTRICTABLE: Privileges = Privileges::OF_DATABASES.with(Privileges::of(Privilege::GrantOption));

/// The database that a name in GRANT or REVOKE means, which is no pattern now.
fn database_of(name: &str) -> String {
    literal_name(name).unwrap_or_else(|| name.to_owned())
}

/// The privileges that an account is granted on a database itself.
fn granted_on(set: &AccountSet, id: &AccountId, database: &str) -> Privileges {
    let of_account = set.databases.iter().filter(|((of, _), _)| of == id);
    let of_database = of_account.filter(|((_, name), _)| database_of(name) == database);
    of_database.fold(Privileges::NONE, |all, (_, granted)| all | *granted)
}

/// Error 3901 for privileges that are both granted and revoked on a database, as grants may be that are older than the revokes.
fn check_not_both(granted: Privileges, revoked: Privileges, database: &str) -> Result<(), MysqlError> {
    match (granted & revoked).iter().next() {
        Some(privilege) => Err(MysqlError::partial_revoke_and_grant(privilege.name(), database)),
        None => Ok(()),
    }
}

/// Lifts restrictions for GRANT on a database. Returns the privileges that are left to be granted on the database.
///
/// # Errors
/// 3901.
pub(super) fn lift(
    set: &mut AccountSet,
    (id, name): (&AccountId, &str),
    named: Privileges,
) -> Result<Privileges, MysqlError> {
    let database = database_of(name);
    let granted = granted_on(set, id, &database);
    let Some(Account { restrictions, .. }) = set.accounts.get_mut(id) else { return Ok(named) };
    let missing = restrictions.on(&database);
    check_not_both(granted, missing, &database)?;
    restrictions.lift(&database, named);
    Ok(named - missing)
}

/// Adds restrictions for REVOKE on a database; `is_all` for ALL PRIVILEGES. Returns the privileges that are left to be revoked on
/// the database, `None` for nothing.
///
/// # Errors
/// 3901.
pub(super) fn restrict(
    set: &mut AccountSet,
    (id, name): (&AccountId, &str),
    (named, is_all): (Privileges, bool),
) -> Result<Option<Privileges>, MysqlError> {
    let database = database_of(name);
    let granted = granted_on(set, id, &database);
    let Some(Account { global, restrictions, .. }) = set.accounts.get_mut(id) else { return Ok(Some(named)) };
    check_not_both(granted, restrictions.on(&database), &database)?;
    let revoked = *global & RESTRICTABLE & (named - granted);
    if granted.has_all(named) || revoked.is_empty() {
        return Ok(Some(named));
    }
    restrictions.add(&database, revoked);
    let left = if is_all { named & granted } else { named - revoked };
    Ok(Some(left).filter(|left| !left.is_empty()))
}

/// The restrictions of an account that a session grants privileges on everything.
pub(super) fn after_grant(
    set: &AccountSet,
    (id, account): (&AccountId, &Account),
    (grantor, named): (&Restrictions, Privileges),
) -> Restrictions {
    let own = (account.global, &account.restrictions);
    Restrictions::granted(
        own,
        named & RESTRICTABLE,
        (grantor, |database: &str| granted_on(set, id, database)),
    )
}

/// Checks that a session does not revoke what the account has on a database where the session lacks it.
///
/// # Errors
/// 1044.
pub(super) fn check_revoker(access: &Access, account: &Account, named: Privileges) -> Result<(), MysqlError> {
    let revoked = named & account.global;
    let exceeds = |(database, missing): &(&String, Privileges)| {
        !((revoked & *missing) - account.restrictions.on(database)).is_empty()
    };
    match access.restrictions().iter().find(exceeds) {
        Some((database, _)) => Err(access.database_denied(database)),
        None => Ok(()),
    }
}
