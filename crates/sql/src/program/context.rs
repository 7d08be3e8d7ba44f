//! Enters and leaves the settings under which a program runs.
//!
//! A program runs in its database, under the `sql_mode` and collations that it was created with, and with the
//! rights of its definer unless it says SQL SECURITY INVOKER. The caller's come back on every way out.

use super::frame::CallerContext;
use crate::accounts::Access;
use crate::session::Session;
use crate::settings::Modes;
use crate::system_names;
use leafline_syntax::Privilege;
use leafline_table::ProgramDef;
use leafline_types::MysqlError;
use leafline_types::words::Security;
use std::sync::Arc;

/// Enters the settings of a program; returns the caller's.
///
/// # Errors
/// 1449 if its definer does not exist; 1142 if the definer of a trigger has not the privilege TRIGGER for the table.
pub(crate) fn enter(session: &mut Session, def: &ProgramDef) -> Result<CallerContext, MysqlError> {
    let is_invoker = def.routine().is_some_and(|routine| routine.security == Security::Invoker);
    let definer = if is_invoker { None } else { definer(session, def)? };
    let sql_mode = Modes::from_bits(def.context.sql_mode)?;
    let is_elsewhere = session.database() != Some(def.database.as_str());
    let settings = &mut session.settings;
    let mut caller = CallerContext {
        sql_mode: settings.sql_mode,
        client_charset: settings.client_charset,
        collation: settings.collation,
        database_collation: settings.database_collation,
        database: None,
        current_user: None,
        access: session.login.access.clone(),
    };
    settings.sql_mode = sql_mode;
    settings.client_charset = def.context.client_charset;
    settings.collation = def.context.connection_collation;
    settings.database_collation = def.context.database_collation;
    if is_elsewhere {
        caller.database = Some(session.facts.database.replace(def.database.clone()));
    }
    let (user, host) = &def.definer;
    let is_definer = |current: &str| {
        current.strip_prefix(user.as_str()).and_then(|rest| rest.strip_prefix('@')) == Some(host.as_str())
    };
    if !is_invoker && !is_definer(&session.facts.current_user) {
        let definer = format!("{user}@{host}");
        caller.current_user = Some(std::mem::replace(&mut session.facts.current_user, definer));
    }
    if let Some(definer) = definer {
        session.facts.current_role = definer.current_role();
        session.login.access = definer;
    }
    Ok(caller)
}

/// The rights of a program's definer, which has the privilege TRIGGER if the program is a trigger; `None` if the caller's apply.
fn definer(session: &mut Session, def: &ProgramDef) -> Result<Option<Arc<Access>>, MysqlError> {
    let caller = &session.login.access;
    if let Some(known) = session.kept.programs.definer_of(def, caller) {
        return Ok(Some(known));
    }
    let Some(definer) = caller.of_program_definer(&def.definer)? else { return Ok(None) };
    if let Some(trigger) = def.trigger() {
        definer.check_table(Privilege::Trigger, &def.database, &trigger.table)?;
    }
    let definer = Arc::new(definer);
    session.kept.programs.keep_definer(def, caller, &definer);
    Ok(Some(definer))
}

/// Whether there is no database of that name any more.
fn is_dropped(session: &Session, name: &str) -> bool {
    session.instance.engine().catalog().database(name).is_none() && system_names::database(name).is_none()
}

/// Returns to the settings of the caller. Its database is none if the program has dropped it.
pub(crate) fn leave(session: &mut Session, caller: CallerContext) {
    let settings = &mut session.settings;
    settings.sql_mode = caller.sql_mode;
    settings.client_charset = caller.client_charset;
    settings.collation = caller.collation;
    settings.database_collation = caller.database_collation;
    if let Some(database) = caller.database {
        session.facts.database = database;
        if !session.is_inner() && session.database().is_some_and(|name| is_dropped(session, name)) {
            session.forget_database();
        }
    }
    if let Some(user) = caller.current_user {
        session.facts.current_user = user;
    }
    if !Arc::ptr_eq(&session.login.access, &caller.access) {
        session.facts.current_role = caller.access.current_role();
        session.login.access = caller.access;
    }
}

/// Does `work` under the settings of a program.
///
/// # Errors
/// 1449 if its definer does not exist.
pub(crate) fn entered<R>(
    session: &mut Session,
    def: &ProgramDef,
    work: impl FnOnce(&mut Session) -> R,
) -> Result<R, MysqlError> {
    let caller = enter(session, def)?;
    let result = work(session);
    leave(session, caller);
    Ok(result)
}
