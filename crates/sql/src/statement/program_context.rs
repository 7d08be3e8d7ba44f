//! The settings and the definer that a stored program keeps of the session that creates or alters it.

use super::account::check_name;
use crate::session::Session;
use leafline_syntax::AccountId;
use leafline_syntax::ast::AccountName;
use leafline_table::ProgramContext;
use leafline_types::MysqlError;

/// The settings that a program keeps of the session that creates it.
pub(super) fn context_of(session: &Session, database_collation: leafline_types::Collation) -> ProgramContext {
    ProgramContext {
        sql_mode: session.settings.sql_mode.bits(),
        client_charset: session.settings.client_charset,
        connection_collation: session.settings.collation,
        database_collation,
    }
}

/// The account that DEFINER names, or the session's.
///
/// # Errors
/// 1470 for a name that is too long.
pub(super) fn definer_of(session: &Session, named: Option<&AccountName>) -> Result<AccountId, MysqlError> {
    use leafline_planner::Authority as _;
    let access = &session.login.access;
    let definer = named.map_or_else(|| access.account(), |name| access.account_of(name));
    check_name(&definer).map(|()| definer)
}

/// Notes a definer that was named and does not exist.
pub(super) fn note_missing_definer(session: &mut Session, named: Option<&AccountName>, definer: &AccountId) {
    if named.is_some() && !session.instance.accounts().has_definer(definer) {
        session.warnings.note(MysqlError::no_such_definer(&definer.user, &definer.host));
    }
}
