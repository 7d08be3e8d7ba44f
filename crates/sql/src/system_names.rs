//! The names of the databases whose tables are computed and not stored, and of those of their tables that have a part elsewhere.

/// The databases of such tables, by name.
pub(crate) const DATABASES: [&str; 3] = [STANDARD, PERFORMANCE, SYS];
pub(crate) const STANDARD: &str = "information_schema";
pub(crate) const PERFORMANCE: &str = "performance_schema";
pub(crate) const SYS: &str = "sys";

/// The database and the name of the table of what was counted of statements.
pub(crate) const STATEMENT_DIGESTS: (&str, &str) = (PERFORMANCE, "events_statements_summary_by_digest");

/// The database of that name, as it is written here, if its tables are no stored ones.
pub(crate) fn database(name: &str) -> Option<&'static str> {
    DATABASES.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// Whether that is the database of what the standard asks for, which everybody may read; rows are of what one may see.
pub(crate) fn is_standard(database: &str) -> bool {
    database.eq_ignore_ascii_case(STANDARD)
}

/// Whether everybody may know of that database and enter it.
pub(crate) fn is_for_everybody(database: &str) -> bool {
    is_standard(database) || database.eq_ignore_ascii_case(PERFORMANCE)
}

/// Whether that is a table of what concerns the sessions of one's own account, which everybody may read.
pub(crate) fn is_about_own_sessions(database: &str, table: &str) -> bool {
    database.eq_ignore_ascii_case(PERFORMANCE) && table.eq_ignore_ascii_case("session_account_connect_attrs")
}

/// Whether that is the table of what was counted of statements.
pub(crate) fn is_statement_digests(database: &str, name: &str) -> bool {
    database.eq_ignore_ascii_case(PERFORMANCE) && name.eq_ignore_ascii_case(STATEMENT_DIGESTS.1)
}
