//! Views: queries with a name.

use leafline_types::Collation;

/// How a view says that it is to be run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ViewAlgorithm {
    /// As the optimizer likes.
    #[default]
    Undefined,
    /// As part of the query around it, where that is possible.
    Merge,
    /// By itself.
    TempTable,
}

impl ViewAlgorithm {
    /// As in SQL.
    pub fn name(self) -> &'static str {
        match self {
            ViewAlgorithm::Undefined => "UNDEFINED",
            ViewAlgorithm::Merge => "MERGE",
            ViewAlgorithm::TempTable => "TEMPTABLE",
        }
    }
}

/// WITH CHECK OPTION: what a row that is changed through a view has to meet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CheckOption {
    /// Nothing.
    #[default]
    None,
    /// The condition of the view, and what the views below it ask for themselves.
    Local,
    /// The conditions of the view and of all views below it.
    Cascaded,
}

impl CheckOption {
    /// As in SQL.
    pub fn name(self) -> &'static str {
        match self {
            CheckOption::None => "NONE",
            CheckOption::Local => "LOCAL",
            CheckOption::Cascaded => "CASCADED",
        }
    }
}

/// A view. Names of tables and views are one set in a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewDef {
    /// Number, never reused.
    pub id: u64,
    /// Database it is in, where names in its query without a database are looked up.
    pub database: String,
    /// Name.
    pub name: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// The text of its query, `*` spread out, written as under an empty `sql_mode`.
    pub query: String,
    /// ALGORITHM.
    pub algorithm: ViewAlgorithm,
    /// WITH CHECK OPTION.
    pub check_option: CheckOption,
    /// The user and the host of the account that defines it; none of views of before there were accounts.
    pub definer: Option<(String, String)>,
    /// The collation of the connection that made it, which its literals have.
    pub collation: Collation,
    /// SQL SECURITY INVOKER: it may do what who uses it may do, not what its definer may.
    pub by_invoker: bool,
}
