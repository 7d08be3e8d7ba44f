//! Enters and leaves the settings under which a program runs.
//!
//! A program runs in its database, under the `sql_mode` and collations that it was created with, and with the
//! rights of its definer unless it says SQL SECURITY INVOKER. The caller's come back on every way out.

use super::frame::CallerContext;
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
    let definer = if is_invoker { None } else { session.login.access.of_program_definer(&def.definer)? };
    if let Some(trigger) = def.trigger() {
        let access = definer.as_ref().unwrap_or(&session.login.access);
        access.check_table(Privilege::Trigger, &def.database, &trigger.table)?;
    }
    let sql_mode = Modes::from_bits(def.context.sql_mode)?;
    let settings = &mut session.settings;
    let mut caller = CallerContext {
        sql_mode: settings.sql_mode,
        client_charset: settings.client_charset,
        collation: settings.collation,
        database_collation: settings.database_collation,
        database: session.facts.database.take(),
        current_user: None,
        access: session.login.access.clone(),
    };
    settings.sql_mode = sql_mode;
    settings.client_charset = def.context.client_charset;
    settings.collation = def.context.connection_collation;
    settings.database_collation = def.context.database_collation;
    session.facts.database = Some(def.database.clone());
    if !is_invoker {
        let (user, host) = &def.definer;
        let definer = format!("{user}@{host}");
        caller.current_user = Some(std::mem::replace(&mut session.facts.current_user, definer));
    }
    if let Some(definer) = definer {
        session.facts.current_role = definer.current_role();
        session.login.access = Arc::new(definer);
    }
    Ok(caller)
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
    session.facts.database = caller.database;
    if !session.is_inner() && session.database().is_some_and(|name| is_dropped(session, name)) {
        session.forget_database();
    }
    if let Some(user) = caller.current_user {
        session.facts.current_user = user;
    }
    session.facts.current_role = caller.access.current_role();
    session.login.access = caller.access;
}
