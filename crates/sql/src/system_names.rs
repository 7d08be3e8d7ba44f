//! Names of the databases with system views, and of system views that other code knows.

/// The databases with system views, by name.
pub(crate) const DATABASES: [&str; 3] = [STANDARD, PERFORMANCE, SYS];
pub(crate) const STANDARD: &str = "information_schema";
pub(crate) const PERFORMANCE: &str = "performance_schema";
pub(crate) const SYS: &str = "sys";

/// Database and name of the table of statement digests.
pub(crate) const STATEMENT_DIGESTS: (&str, &str) = (PERFORMANCE, "events_statements_summary_by_digest");

/// The database of this name, in its own spelling, if it has system views.
pub(crate) fn database(name: &str) -> Option<&'static str> {
    DATABASES.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// True for `information_schema`, which every account may read; its rows describe visible objects only.
pub(crate) fn is_standard(database: &str) -> bool {
    database.eq_ignore_ascii_case(STANDARD)
}

/// True if every account may see and enter the database.
pub(crate) fn is_for_everybody(database: &str) -> bool {
    is_standard(database) || database.eq_ignore_ascii_case(PERFORMANCE)
}

/// True for a table about sessions of the reader's own account, which every account may read.
pub(crate) fn is_about_own_sessions(database: &str, table: &str) -> bool {
    database.eq_ignore_ascii_case(PERFORMANCE) && table.eq_ignore_ascii_case("session_account_connect_attrs")
}

/// True for the table of statement digests.
pub(crate) fn is_statement_digests(database: &str, name: &str) -> bool {
    database.eq_ignore_ascii_case(PERFORMANCE) && name.eq_ignore_ascii_case(STATEMENT_DIGESTS.1)
}
