//! The handlers that a session has opened by HANDLER .. OPEN, with their places.

pub(crate) mod entries;

use crate::result::ColumnMeta;
use entries::Place;
use leafline_syntax::ast::{Ident, TableName};
use leafline_table::TableDef;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The handlers of a session by name, in lower case.
#[derive(Default)]
pub(crate) struct OpenHandlers(pub(crate) BTreeMap<String, OpenHandler>);

impl OpenHandlers {
    /// Takes away the places of handlers whose table satisfies `concerns`; they begin again.
    pub(crate) fn lose_places(&mut self, concerns: impl Fn(&TableName) -> bool) {
        self.0
            .values_mut()
            .filter(|handler| concerns(&handler.table))
            .for_each(|handler| handler.place = None);
    }

    /// Closes the handlers of a table that the session is about to change.
    pub(crate) fn close_those_of(&mut self, database: &str, table: &str) {
        self.0
            .retain(|_, handler| handler.definition.database != database || handler.definition.name != table);
    }
}

/// An open handler.
pub(crate) struct OpenHandler {
    /// The table's name, with its database.
    pub(crate) table: TableName,
    pub(crate) alias: Ident,
    pub(crate) definition: Arc<TableDef>,
    /// The columns of `SELECT *`, and their positions in the table.
    pub(crate) shown: (Vec<ColumnMeta>, Vec<usize>),
    /// The place, and its order.
    pub(crate) place: Option<(Order, Place)>,
}

/// The order in which a handler reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// READ without an index.
    Stored,
    /// The position of the index in the table.
    Index(usize),
}
