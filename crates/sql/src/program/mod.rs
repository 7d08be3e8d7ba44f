//! Stored programs.
use crate::session::Session;
use leafline_expr::ProgramCall;
use leafline_planner::binder::StoredFunction;
use leafline_types::{MysqlError, Value};

pub(crate) fn call_function(_: &mut Session, call: &ProgramCall, _: &[Value]) -> Result<Value, MysqlError> {
    Err(MysqlError::does_not_exist("FUNCTION", &call.function.name))
}

pub(crate) fn stored_function(_: &Session, _: &str, _: &str) -> Result<Option<StoredFunction>, MysqlError> {
    Ok(None)
}

pub(crate) struct TableTriggers;
use leafline_types::words::{TriggerEvent, TriggerTime};
impl TableTriggers {
    pub(crate) fn of(
        _: &mut Session,
        _: &leafline_table::TableDef,
    ) -> Result<Option<std::sync::Arc<TableTriggers>>, MysqlError> {
        Ok(None)
    }
    pub(crate) fn has(&self, _: TriggerTime, _: TriggerEvent) -> bool {
        false
    }
    pub(crate) fn assigns(&self, _: TriggerEvent, _: usize) -> bool {
        false
    }
    pub(crate) fn fire(
        &self,
        _: &mut Session,
        _: (TriggerTime, TriggerEvent),
        _: &[Value],
        _: &mut [Value],
    ) -> Result<(), MysqlError> {
        Ok(())
    }
}
