//! Views: queries with names.

use leafline_types::Collation;
pub use leafline_types::words::{CheckOption, ViewAlgorithm};

/// A view. In a database, tables and views share one set of names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewDef {
    /// Its number, never reused.
    pub id: u64,
    /// The database that contains it, in which its query finds names without a database.
    pub database: String,
    /// Its name.
    pub name: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// The text of its query, with `*` expanded, which means the same under an empty `sql_mode`.
    pub query: String,
    /// ALGORITHM.
    pub algorithm: ViewAlgorithm,
    /// WITH CHECK OPTION.
    pub check_option: CheckOption,
    /// The user and host of the account that defined it; `None` for views older than accounts.
    pub definer: Option<(String, String)>,
    /// The collation of the connection that created it, which its literals have.
    pub collation: Collation,
    /// SQL SECURITY INVOKER: the view has the privileges of its user, not of its definer.
    pub by_invoker: bool,
}
