//! The compiled triggers of a table.

use super::code::Code;
use super::trigger_rights::TriggerRights;
use leafline_table::{ProgramDef, TableDef};
use leafline_types::words::{TriggerEvent, TriggerTime};
use std::sync::Arc;

/// The time and the change that fire a trigger.
pub(crate) type When = (TriggerTime, TriggerEvent);

/// The compiled triggers of one table, in the order in which they fire.
pub(crate) struct TableTriggers {
    /// The definition of the table that they were compiled for: they know its columns by their places.
    table: Arc<TableDef>,
    triggers: Vec<Trigger>,
}

/// A compiled trigger.
pub(crate) struct Trigger {
    /// When it fires.
    pub(crate) when: When,
    /// Its definition.
    pub(crate) def: Arc<ProgramDef>,
    /// Its compiled body.
    pub(crate) code: Arc<Code>,
    /// The columns that are variables, in the order of the slots.
    pub(crate) columns: Vec<RowColumn>,
    /// The privileges of its definer.
    pub(crate) rights: TriggerRights,
}

/// A column of a row that is a variable of a trigger.
pub(crate) struct RowColumn {
    /// Whether it is a column of the new row.
    pub(crate) is_new: bool,
    /// Its place in the table.
    pub(crate) column: usize,
    /// Whether the body assigns it.
    pub(crate) is_assigned: bool,
}

impl TableTriggers {
    /// The triggers of one table.
    pub(crate) fn new(table: Arc<TableDef>, triggers: Vec<Trigger>) -> TableTriggers {
        TableTriggers { table, triggers }
    }

    /// Whether these are the triggers of the definitions.
    pub(crate) fn are(&self, table: &Arc<TableDef>, defs: &[Arc<ProgramDef>]) -> bool {
        Arc::ptr_eq(&self.table, table)
            && self.triggers.len() == defs.len()
            && self.triggers.iter().zip(defs).all(|(trigger, def)| Arc::ptr_eq(&trigger.def, def))
    }

    /// The triggers' definitions and compiled forms.
    pub(crate) fn programs(&self) -> impl Iterator<Item = (&Arc<ProgramDef>, &Arc<Code>)> {
        self.triggers.iter().map(|trigger| (&trigger.def, &trigger.code))
    }

    /// The triggers that fire then, in their order.
    pub(crate) fn that_fire(&self, when: When) -> impl Iterator<Item = &Trigger> {
        self.triggers.iter().filter(move |trigger| trigger.when == when)
    }

    /// Whether any trigger fires then.
    pub(crate) fn has(&self, time: TriggerTime, event: TriggerEvent) -> bool {
        self.that_fire((time, event)).next().is_some()
    }

    /// Whether a trigger that fires before this change assigns the column of the new row.
    pub(crate) fn assigns(&self, event: TriggerEvent, column: usize) -> bool {
        let mut columns = self.that_fire((TriggerTime::Before, event)).flat_map(|trigger| &trigger.columns);
        columns.any(|known| known.column == column && known.is_assigned)
    }
}
