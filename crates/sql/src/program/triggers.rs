//! The triggers of a table.
use crate::session::Session;
use leafline_types::{MysqlError, Value};

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
