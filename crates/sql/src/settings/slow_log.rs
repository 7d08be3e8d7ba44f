//! The variables of the slow query log.

/// The variables of the slow query log.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowLogSettings {
    /// `slow_query_log`.
    pub is_on: bool,
    /// `slow_query_log_file`, within the database's directory if it is not absolute.
    pub file: Box<str>,
    /// `log_queries_not_using_indexes`: logs statements that scan a table, however quick they are.
    pub not_using_indexes: bool,
    /// `log_slow_admin_statements`: logs ALTER TABLE and other administrative statements, too.
    pub admin_statements: bool,
}

impl Default for SlowLogSettings {
    fn default() -> SlowLogSettings {
        SlowLogSettings {
            is_on: false,
            file: "leafline-slow.log".into(),
            not_using_indexes: false,
            admin_statements: false,
        }
    }
}
