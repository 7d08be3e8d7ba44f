//! Optimizer hints, as `/*+ .. */` states them.

/// A hint for a query block.
#[derive(Debug, Clone, PartialEq)]
pub struct Hint {
    /// Its name, in capitals.
    pub name: String,
    /// `@name`: the query block that the hint applies to; `None` is the block that contains it.
    pub block: Option<String>,
    /// The objects that the hint names.
    pub about: HintTarget,
}

impl Hint {
    /// Whether the hint applies to another block than the one that contains it.
    pub fn names_another_block(&self) -> bool {
        self.other_block().is_some()
    }

    /// The name of the other block that the hint applies to, if any.
    pub fn other_block(&self) -> Option<&str> {
        let table = match &self.about {
            HintTarget::Tables(tables) => tables.first(),
            HintTarget::Indexes(table, _) => Some(table),
            _ => None,
        };
        self.block.as_deref().or_else(|| table.and_then(|table| table.block.as_deref()))
    }
}

/// The objects that a hint names.
#[derive(Debug, Clone, PartialEq)]
pub enum HintTarget {
    /// Tables, in order; empty for the whole block.
    Tables(Vec<HintTable>),
    /// Indexes of a table; empty for all of them.
    Indexes(HintTable, Vec<String>),
    /// Strategies for a subquery; empty for all of them.
    Strategies(Vec<String>),
    /// A name for the block.
    BlockName(String),
}

/// A table of a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintTable {
    /// The name by which the block refers to the table.
    pub name: String,
    /// `@name`: the table's block; `None` is the hint's block.
    pub block: Option<String>,
}

/// The hints that apply to a whole statement.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatementHints {
    /// MAX_EXECUTION_TIME, in milliseconds.
    pub max_execution_time: Option<u64>,
    /// RESOURCE_GROUP: the group whose threads run the statement.
    pub resource_group: Option<String>,
    /// SET_VAR: variables and their values while the statement runs, in order.
    pub variables: Vec<(String, leafline_types::Value)>,
    /// Hints that name the block they apply to.
    pub elsewhere: Vec<Hint>,
    /// Warnings about hints that were not understood.
    pub warnings: Vec<leafline_types::MysqlError>,
}
