//! Optimizer hints: what `/*+ .. */` says.

/// A hint for a query block.
#[derive(Debug, Clone, PartialEq)]
pub struct Hint {
    /// Its name, in capitals.
    pub name: String,
    /// `@name`: the block it is for, if that is not the one in which it stands.
    pub block: Option<String>,
    /// What it is about.
    pub about: HintSubject,
}

impl Hint {
    /// Whether it is for another block than the one in which it stands.
    pub fn names_another_block(&self) -> bool {
        self.other_block().is_some()
    }

    /// The block that it is for, if it says so.
    pub fn other_block(&self) -> Option<&str> {
        let table = match &self.about {
            HintSubject::Tables(tables) => tables.first(),
            HintSubject::Indexes(table, _) => Some(table),
            _ => None,
        };
        self.block.as_deref().or_else(|| table.and_then(|table| table.block.as_deref()))
    }
}

/// What a hint is about.
#[derive(Debug, Clone, PartialEq)]
pub enum HintSubject {
    /// Tables, in order; none for all of the block.
    Tables(Vec<HintTable>),
    /// Indexes of a table; none for all of them.
    Indexes(HintTable, Vec<String>),
    /// Strategies for a subquery; none for all of them.
    Strategies(Vec<String>),
    /// The name of the block.
    BlockName(String),
}

/// A table of a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HintTable {
    /// The name by which the block refers to it.
    pub name: String,
    /// `@name`: the block, if it is not that of the hint.
    pub block: Option<String>,
}

/// The hints of a statement that are for all of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatementHints {
    /// MAX_EXECUTION_TIME: milliseconds.
    pub max_execution_time: Option<u64>,
    /// RESOURCE_GROUP: whose threads the statement runs in.
    pub resource_group: Option<String>,
    /// SET_VAR: variables and the values that they have while the statement runs, in order.
    pub variables: Vec<(String, leafline_types::Value)>,
    /// Hints for blocks by their names.
    pub elsewhere: Vec<Hint>,
    /// What is to be said of hints that were not understood.
    pub warnings: Vec<leafline_types::MysqlError>,
}
