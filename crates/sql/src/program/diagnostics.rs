//! SIGNAL, RESIGNAL and GET DIAGNOSTICS, in programs and outside.

use crate::evaluate;
use crate::session::Session;
use leafline_syntax::ast::{
    ConditionValue, DiagnosticsCondition, DiagnosticsWanted, GetDiagnostics, Signal, SignalItem,
    StatementItem, VariableTarget,
};
use leafline_types::convert::to_text;
use leafline_types::{
    Coercibility, Collation, ConditionDetails, ExprType, MysqlError, SqlType, Value, Warning, WarningLevel,
};

/// The limit of MESSAGE_TEXT and of other items, in characters.
const MESSAGE_CHARACTERS: usize = 128;
const ITEM_CHARACTERS: usize = 64;

/// Runs SIGNAL and RESIGNAL.
///
/// # Errors
/// The condition, unless it is a warning; 1645 for RESIGNAL outside of handlers; 1231 for an item that is
/// NULL.
pub(crate) fn signal(
    session: &mut Session,
    signal: &Signal,
    text: (&str, &[Value]),
) -> Result<(), MysqlError> {
    let handled = session.program_step.as_ref().and_then(|step| step.handled.clone());
    if signal.again && handled.is_none() {
        return Err(MysqlError::resignal_without_handler());
    }
    let state = match signal.condition.as_ref() {
        Some(ConditionValue::State(state)) => Some(*state),
        Some(_) => match &signal.declared {
            Some(ConditionValue::State(state)) => Some(*state),
            _ => return Err(MysqlError::signal_bad_condition()),
        },
        None => None,
    };
    let mut condition = match (state, &handled) {
        // RESIGNAL of another condition keeps the message and the other items of the handled one.
        (Some(state), Some(handled)) if signal.again => {
            MysqlError { code: unset(state).code, sqlstate: state, ..handled.0.error() }
        }
        (Some(state), _) => unset(state),
        (None, Some(handled)) => handled.0.error(),
        (None, None) => return Err(MysqlError::resignal_without_handler()),
    };
    for (item, value) in &signal.items {
        let (value, ty) = evaluate::constant(session, value, text)?;
        set_item(session, &mut condition, *item, (&value, &ty.sql))?;
    }
    match &handled {
        Some(handled) if signal.again => {
            session.warnings.restore(&handled.1);
            if state.is_none() {
                remove(session, &handled.0);
            }
        }
        _ => session.warnings.clear(),
    }
    // Without a condition of its own RESIGNAL raises a warning, such as 1329 of SELECT INTO, as a warning again.
    let is_warning = match (&handled, state) {
        (Some(handled), None) => handled.0.level != WarningLevel::Error,
        _ => condition.sqlstate.starts_with(b"01"),
    };
    if is_warning {
        session.warnings.warn(condition);
        return Ok(());
    }
    Err(condition)
}

/// The condition of a state for which no item is set.
fn unset(state: [u8; 5]) -> MysqlError {
    let error = match &state[..2] {
        b"01" => MysqlError::signal_warning(),
        b"02" => MysqlError::signal_not_found(),
        _ => MysqlError::signal_exception(),
    };
    MysqlError { sqlstate: state, ..error }
}

/// Removes the handled condition from the list: RESIGNAL raises it again, changed.
fn remove(session: &mut Session, handled: &Warning) {
    let others: Vec<Warning> = session.warnings.iter().filter(|known| *known != handled).cloned().collect();
    let mut list = session.warnings.another();
    others.into_iter().for_each(|other| list.push(other.level, other.error()));
    session.warnings.restore(&list);
}

fn set_item(
    session: &mut Session,
    condition: &mut MysqlError,
    item: SignalItem,
    (value, ty): (&Value, &SqlType),
) -> Result<(), MysqlError> {
    let wrong = |text: &str| MysqlError::wrong_value_for_variable(name(item), text);
    if item == SignalItem::MysqlErrno {
        let number = value.as_integer().or_else(|| to_text(value, ty)?.trim().parse().ok());
        let number = number.and_then(|number| u16::try_from(number).ok()).filter(|number| *number > 0);
        let shown = to_text(value, ty).map_or_else(|| "NULL".to_owned(), |text| text.to_string());
        condition.code = number.ok_or_else(|| wrong(&shown))?;
        return Ok(());
    }
    let mut text = to_text(value, ty).ok_or_else(|| wrong("NULL"))?.to_string();
    let most = if item == SignalItem::MessageText { MESSAGE_CHARACTERS } else { ITEM_CHARACTERS };
    if let Some((end, _)) = text.char_indices().nth(most) {
        if session.settings.evaluation_mode().strict {
            return Err(MysqlError::condition_item_too_long(name(item)));
        }
        session.warnings.warn(MysqlError::condition_item_too_long(name(item)));
        text.truncate(end);
    }
    if item == SignalItem::MessageText {
        condition.message = text;
        return Ok(());
    }
    if let Some(place) = detail_mut(condition.details.get_or_insert_default(), item) {
        *place = Some(text);
    }
    Ok(())
}

fn detail_mut(details: &mut ConditionDetails, item: SignalItem) -> Option<&mut Option<String>> {
    Some(match item {
        SignalItem::ClassOrigin => &mut details.class_origin,
        SignalItem::SubclassOrigin => &mut details.subclass_origin,
        SignalItem::ConstraintCatalog => &mut details.constraint_catalog,
        SignalItem::ConstraintSchema => &mut details.constraint_schema,
        SignalItem::ConstraintName => &mut details.constraint_name,
        SignalItem::CatalogName => &mut details.catalog_name,
        SignalItem::SchemaName => &mut details.schema_name,
        SignalItem::TableName => &mut details.table_name,
        SignalItem::ColumnName => &mut details.column_name,
        SignalItem::CursorName => &mut details.cursor_name,
        SignalItem::MessageText | SignalItem::MysqlErrno => return None,
    })
}

fn name(item: SignalItem) -> &'static str {
    match item {
        SignalItem::ClassOrigin => "CLASS_ORIGIN",
        SignalItem::SubclassOrigin => "SUBCLASS_ORIGIN",
        SignalItem::ConstraintCatalog => "CONSTRAINT_CATALOG",
        SignalItem::ConstraintSchema => "CONSTRAINT_SCHEMA",
        SignalItem::ConstraintName => "CONSTRAINT_NAME",
        SignalItem::CatalogName => "CATALOG_NAME",
        SignalItem::SchemaName => "SCHEMA_NAME",
        SignalItem::TableName => "TABLE_NAME",
        SignalItem::ColumnName => "COLUMN_NAME",
        SignalItem::CursorName => "CURSOR_NAME",
        SignalItem::MessageText => "MESSAGE_TEXT",
        SignalItem::MysqlErrno => "MYSQL_ERRNO",
    }
}

/// Runs GET DIAGNOSTICS, which leaves ROW_COUNT() as it is. A number that no condition has gives the condition 1758, and no error,
/// as in MySQL.
///
/// # Errors
/// 1787 for STACKED outside of handlers.
pub(crate) fn get_diagnostics(
    session: &mut Session,
    get: &GetDiagnostics,
    text: (&str, &[Value]),
) -> Result<(), MysqlError> {
    let handled = session.program_step.as_ref().and_then(|step| step.handled.clone());
    let area = match (get.stacked, handled) {
        (false, _) => session.warnings.clone(),
        (true, Some(handled)) => handled.1.clone(),
        (true, None) => return Err(MysqlError::stacked_without_handler()),
    };
    match &get.wanted {
        DiagnosticsWanted::Statement(items) => {
            for (target, item) in items {
                let value = match item {
                    StatementItem::Number => Value::Int(i64::try_from(area.count()).unwrap_or(i64::MAX)),
                    StatementItem::RowCount => Value::Int(session.facts.row_count),
                };
                assign(session, target, value, ExprType::numeric(SqlType::BIGINT, false))?;
            }
        }
        DiagnosticsWanted::Condition { number, items } => {
            let (number, _) = evaluate::constant(session, number, text)?;
            let number = number.as_integer().and_then(|number| usize::try_from(number).ok());
            let condition = number.and_then(|number| area.iter().nth(number.checked_sub(1)?));
            let Some(condition) = condition.cloned() else {
                session.warnings.push(WarningLevel::Error, MysqlError::invalid_condition_number());
                session.statement.keeps_row_count = true;
                return Ok(());
            };
            for (target, item) in items {
                let (value, ty) = item_of(&condition, *item);
                assign(session, target, value, ty)?;
            }
        }
    }
    session.statement.keeps_row_count = true;
    Ok(())
}

fn assign(
    session: &mut Session,
    target: &VariableTarget,
    value: Value,
    ty: ExprType,
) -> Result<(), MysqlError> {
    match target {
        VariableTarget::User(name) => session.set_user_variable(name, value, &ty),
        VariableTarget::Local(name) => session.assign_local(name, value, ty.sql),
    }
}

fn item_of(condition: &Warning, item: DiagnosticsCondition) -> (Value, ExprType) {
    let text = |text: &str| {
        let len = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        let ty = SqlType::Varchar { len };
        let ty = ExprType::string(ty, false, Collation::Utf8mb3GeneralCi, Coercibility::Implicit);
        (Value::string(text), ty)
    };
    let item = match item {
        DiagnosticsCondition::ReturnedSqlstate => {
            return text(std::str::from_utf8(&condition.sqlstate).unwrap_or("HY000"));
        }
        DiagnosticsCondition::Item(item) => item,
    };
    let standard = is_standard(condition.sqlstate);
    let default = match item {
        SignalItem::MysqlErrno => {
            let number = Value::Int(i64::from(condition.code));
            return (number, ExprType::numeric(SqlType::BIGINT, false));
        }
        SignalItem::MessageText => return text(&condition.message),
        SignalItem::ClassOrigin | SignalItem::SubclassOrigin if standard => "ISO 9075",
        SignalItem::ClassOrigin | SignalItem::SubclassOrigin => "MySQL",
        _ => "",
    };
    let mut details = condition.details.as_deref().cloned().unwrap_or_default();
    let set = detail_mut(&mut details, item).and_then(|set| set.take());
    text(set.as_deref().unwrap_or(default))
}

/// Whether the class of a state is one of the SQL standard's.
fn is_standard(state: [u8; 5]) -> bool {
    matches!(state[0], b'0'..=b'4' | b'A'..=b'H')
}
