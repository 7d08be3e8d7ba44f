//! SET: system variables, user variables, the character set, transaction characteristics, passwords.

use crate::evaluate;
use crate::session::Session;
use crate::settings::variables::{Scope, Variable};
use crate::settings::{Modes, SessionIsolation, Settings};
use leafline_planner::CONDITION_COUNTS;
use leafline_syntax::ast::{Expr, ExprKind, IsolationLevel, SetItem, VariableScope};
use leafline_types::error::errno;
use leafline_types::{Charset, Collation, MysqlError, Value};

/// Runs SET; `text` is the statement with its parameters. Assignments are made in order. The ones before a wrong assignment
/// stay in force, as in MySQL.
pub(crate) fn set(
    session: &mut Session,
    items: &[SetItem],
    text: (&str, &[Value]),
) -> Result<(), MysqlError> {
    for item in items {
        session.statement.has_set |= !matches!(item, SetItem::User { .. });
        match item {
            SetItem::System { scope, is_of_next, name, value } => {
                if let Some(known) =
                    CONDITION_COUNTS.iter().find(|known| known.eq_ignore_ascii_case(&name.value))
                {
                    return Err(MysqlError::incorrect_variable_scope(known, "read only"));
                }
                let variable = session.variable(&name.value)?;
                let value = value.as_ref().map(|value| setting_value(session, value, text)).transpose()?;
                match *is_of_next && is_characteristic(variable) {
                    true => set_of_next(session, variable, value)?,
                    false => set_system(session, variable, *scope, value)?,
                }
            }
            SetItem::Local { name, .. } => return Err(MysqlError::undeclared_variable(&name.value)),
            SetItem::New { column, .. } => return Err(MysqlError::undeclared_variable(&column.value)),
            SetItem::User { name, value } => {
                let (value, ty) = evaluate::constant(session, value, text)?;
                session.set_user_variable(name, value, &ty)?;
                session.tracker.state();
            }
            SetItem::Names { charset, collation } => {
                let charset =
                    charset.as_ref().map(|charset| Charset::from_name(&charset.value)).transpose()?;
                let charset = charset.unwrap_or(Charset::Utf8mb4).for_client()?;
                let settings = &mut session.settings;
                settings.collation = match collation {
                    Some(name) => {
                        let collation = Collation::from_name(&name.value)?;
                        if collation.charset() != charset {
                            let mismatch = MysqlError::collation_charset_mismatch;
                            return Err(mismatch(collation, charset.name()));
                        }
                        collation
                    }
                    None => charset.default_collation(),
                };
                (settings.client_charset, settings.results_charset) = (charset, Some(charset));
                note_character_sets(session);
            }
            SetItem::CharacterSet(charset) => {
                let charset =
                    charset.as_ref().map(|charset| Charset::from_name(&charset.value)).transpose()?;
                let charset = charset.unwrap_or(Charset::Utf8mb4).for_client()?;
                let settings = &mut session.settings;
                settings.collation = settings.database_collation;
                (settings.client_charset, settings.results_charset) = (charset, Some(charset));
                note_character_sets(session);
            }
            SetItem::Transaction { scope, isolation, read_only } => {
                let isolation = isolation.map(session_isolation);
                set_transaction(session, *scope, isolation, *read_only)?;
            }
            SetItem::Password { account, password, replaced } => {
                let instance = session.instance.clone();
                let password = (password.as_str(), replaced.as_deref());
                instance.accounts().set_password(session, account.as_ref(), password)?;
            }
        }
    }
    Ok(())
}

fn note_character_sets(session: &mut Session) {
    for name in ["character_set_client", "character_set_connection", "character_set_results"] {
        session.tracker.variable(name);
    }
}

/// Returns the value of an assignment to a system variable. A bare word stands for itself.
fn setting_value(session: &mut Session, value: &Expr, text: (&str, &[Value])) -> Result<Value, MysqlError> {
    match &value.kind {
        ExprKind::Column(name) if name.table.is_none() => Ok(Value::string(name.column.value.as_str())),
        _ => Ok(evaluate::constant(session, value, text)?.0),
    }
}

/// Returns whether a variable is a characteristic of transactions.
fn is_characteristic(variable: &Variable) -> bool {
    matches!(variable.name, "transaction_isolation" | "transaction_read_only")
}

/// Runs `SET @@transaction_isolation = ..` and `SET @@transaction_read_only = ..`, which hold for the next transaction alone.
fn set_of_next(session: &mut Session, variable: &Variable, value: Option<Value>) -> Result<(), MysqlError> {
    let value = value.unwrap_or_else(|| session.value_of(variable, true));
    let mut next = session.settings.clone();
    let set = variable.set(&mut next, Some(value));
    warned(session, set)?;
    match variable.name {
        "transaction_isolation" => session.set_next_transaction(Some(next.isolation), None),
        _ => session.set_next_transaction(None, Some(next.read_only)),
    }
}

fn set_system(
    session: &mut Session,
    variable: &Variable,
    scope: Option<VariableScope>,
    value: Option<Value>,
) -> Result<(), MysqlError> {
    if matches!(scope, Some(VariableScope::Persist | VariableScope::PersistOnly)) {
        return Err(MysqlError::not_supported("SET PERSIST"));
    }
    if scope == Some(VariableScope::Global) {
        return set_global(session, variable, value);
    }
    if let (Scope::Session, "last_insert_id" | "identity") = (variable.scope, variable.name) {
        let mut number = 0;
        if let Some(value) = value {
            number = value
                .as_integer()
                .and_then(|number| u64::try_from(number).ok())
                .ok_or_else(|| MysqlError::wrong_type_for_variable(variable.name))?;
        }
        session.facts.last_insert_id = number;
        return Ok(());
    }
    match variable.scope {
        Scope::Shared => return Err(MysqlError::global_variable(variable.name)),
        Scope::Global => return Err(MysqlError::variable_is_readonly("SESSION", variable.name, "GLOBAL")),
        Scope::Both | Scope::ReadOnly | Scope::Session => {}
    }
    session.tracker.variable(variable.name);
    match variable.name {
        "transaction_isolation" => session.replace_next_transaction(true, false),
        "transaction_read_only" => session.replace_next_transaction(false, true),
        _ => {}
    }
    if variable.name == "autocommit" && variable.scope == Scope::Both {
        if session.is_inner() {
            return Err(MysqlError::autocommit_in_function());
        }
        let before = session.settings.autocommit;
        let set = variable.set(&mut session.settings, value);
        warned(session, set)?;
        if !before && session.settings.autocommit {
            session.commit()?;
        }
        return Ok(());
    }
    if value.is_none() && variable.scope == Scope::Both {
        // DEFAULT for a session is the global value.
        let global = variable.get(&session.instance.globals().read(), session.instance.facts());
        let set = variable.set(&mut session.settings, Some(global));
        return warned(session, set);
    }
    let set = variable.set(&mut session.settings, value);
    warned(session, set)?;
    if matches!(variable.name, "character_set_database" | "collation_database") {
        let text = format!(
            "Updating '{}' is deprecated. It will be made read-only in a future release.",
            variable.name
        );
        session
            .warnings
            .warn(MysqlError::with_message(errno::ER_WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT, text));
    }
    Ok(())
}

/// Sets a global value. Settings of the server itself come into force at once. If the server cannot apply the value, the old one
/// stays.
fn set_global(session: &mut Session, variable: &Variable, value: Option<Value>) -> Result<(), MysqlError> {
    if variable.scope == Scope::Session {
        return Err(MysqlError::session_variable(variable.name));
    }
    let strict = session.settings.sql_mode.has(Modes::STRICT_ALL_TABLES);
    let instance = session.instance.clone();
    let (before, set) = {
        let mut globals = instance.globals().write();
        (variable.get(&globals, instance.facts()), variable.set_within(&mut globals, value, strict))
    };
    if let Err(error) = instance.apply_globals().and_then(|()| instance.follow_event_scheduler()) {
        variable.set_within(&mut instance.globals().write(), Some(before), false)?;
        return Err(error);
    }
    warned(session, set)
}

/// Keeps the warning that setting a variable has given.
fn warned(session: &mut Session, set: Result<Option<MysqlError>, MysqlError>) -> Result<(), MysqlError> {
    if let Some(warning) = set? {
        session.warnings.warn(warning);
    }
    Ok(())
}

fn session_isolation(level: IsolationLevel) -> SessionIsolation {
    match level {
        IsolationLevel::ReadUncommitted => SessionIsolation::ReadUncommitted,
        IsolationLevel::ReadCommitted => SessionIsolation::ReadCommitted,
        IsolationLevel::RepeatableRead => SessionIsolation::RepeatableRead,
        IsolationLevel::Serializable => SessionIsolation::Serializable,
    }
}

fn set_transaction(
    session: &mut Session,
    scope: Option<VariableScope>,
    isolation: Option<SessionIsolation>,
    read_only: Option<bool>,
) -> Result<(), MysqlError> {
    let change = |settings: &mut Settings| {
        settings.isolation = isolation.unwrap_or(settings.isolation);
        settings.read_only = read_only.unwrap_or(settings.read_only);
    };
    match scope {
        None => return session.set_next_transaction(isolation, read_only),
        Some(VariableScope::Global) => change(&mut session.instance.globals().write()),
        Some(_) => {
            change(&mut session.settings);
            session.replace_next_transaction(isolation.is_some(), read_only.is_some());
        }
    }
    Ok(())
}
