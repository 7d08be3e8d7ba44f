//! The handlers that a session has opened by HANDLER .. OPEN, and the places where they stand.

pub(crate) mod entries;

use crate::result::ColumnMeta;
use entries::Place;
use leafline_syntax::ast::{Ident, TableName};
use leafline_table::TableDef;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The handlers of a session, by their names in lower case.
#[derive(Default)]
pub(crate) struct OpenHandlers(pub(crate) BTreeMap<String, OpenHandler>);

impl OpenHandlers {
    /// Takes their places from those of the tables that `concerns` holds for, by database and name: they begin anew.
    pub(crate) fn lose_places(&mut self, concerns: impl Fn(&TableName) -> bool) {
        self.0
            .values_mut()
            .filter(|handler| concerns(&handler.table))
            .for_each(|handler| handler.place = None);
    }

    /// Closes those of a table that the session is about to change.
    pub(crate) fn close_those_of(&mut self, database: &str, table: &str) {
        self.0
            .retain(|_, handler| handler.definition.database != database || handler.definition.name != table);
    }
}

/// A handler.
pub(crate) struct OpenHandler {
    /// The table, with its database.
    pub(crate) table: TableName,
    pub(crate) alias: Ident,
    pub(crate) definition: Arc<TableDef>,
    /// The columns of `SELECT *`, and their positions in the table.
    pub(crate) shown: (Vec<ColumnMeta>, Vec<usize>),
    /// Where it stands, and in which order.
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
