//! SHOW.

use super::ast::{Ident, NotThere, Show, ShowFilter, ShowKind, StatementKind, TableName};
use super::cursor::{Parsed, Parser};
use super::lexer::Symbol;

/// The first words of SHOW statements of MySQL that this version does not support.
const UNSUPPORTED: &[&str] = &[
    "BINARY",
    "BINLOG",
    "FUNCTION",
    "MASTER",
    "PROCEDURE",
    "PROFILE",
    "RELAYLOG",
    "REPLICA",
    "SLAVE",
    "PARSE_TREE",
];

impl Parser<'_> {
    pub(super) fn show(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let (kind, filterable) = self.show_kind()?;
        let filter = if filterable { self.show_filter()? } else { None };
        Ok(StatementKind::Show(Box::new(Show { kind, filter })))
    }

    pub(super) fn help(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let kind = ShowKind::Help(self.ident_or_string()?.value);
        Ok(StatementKind::Show(Box::new(Show { kind, filter: None })))
    }

    /// Parses the object shown; also returns whether LIKE or WHERE may follow.
    fn show_kind(&mut self) -> Parsed<(ShowKind, bool)> {
        let start = self.span();
        if self.accept_any_word(&["DATABASES", "SCHEMAS"]) {
            return Ok((ShowKind::Databases, true));
        }
        if self.accept_word("CREATE") {
            return Ok((self.show_create()?, false));
        }
        if self.accept_words(&["TABLE", "STATUS"]) {
            return Ok((ShowKind::TableStatus { database: self.database_clause()? }, true));
        }
        if self.accept_any_word(&["INDEX", "INDEXES", "KEYS"]) {
            let table = self.table_clause()?;
            let filter_follows = self.at_word("WHERE");
            return Ok((ShowKind::Index { table }, filter_follows));
        }
        if self.at_word("COUNT") && self.is_symbol_at(1, Symbol::LeftParen) {
            return Ok((self.show_count()?, false));
        }
        if self.accept_word("WARNINGS") {
            return Ok((ShowKind::Warnings { limit: self.row_window()? }, false));
        }
        if self.accept_word("ERRORS") {
            return Ok((ShowKind::Errors { limit: self.row_window()? }, false));
        }
        if self.at_word("ENGINE") {
            return Ok((self.show_engine()?, false));
        }
        if self.accept_word("ENGINES") || self.accept_words(&["STORAGE", "ENGINES"]) {
            return Ok((ShowKind::Engines, false));
        }
        if self.accept_words(&["DEVICE", "PROFILE"]) {
            return Ok((ShowKind::DeviceProfile, false));
        }
        if self.accept_word("COLLATION") {
            return Ok((ShowKind::Collation, true));
        }
        if self.accept_charset() {
            return Ok((ShowKind::CharacterSet, true));
        }
        let global = self.at_word("GLOBAL");
        if self.accept_any_word(&["GLOBAL", "SESSION", "LOCAL"]) || self.at_any_word(&["STATUS", "VARIABLES"])
        {
            let status = self.at_word("STATUS");
            self.expect_any_word(&["STATUS", "VARIABLES"])?;
            return Ok((
                if status { ShowKind::Status { global } } else { ShowKind::Variables { global } },
                true,
            ));
        }
        if let Some(empty) = self.show_triggers_and_empty_lists()? {
            return Ok(empty);
        }
        if self.accept_word("PLUGINS") {
            return Ok((ShowKind::Plugins, false));
        }
        if self.accept_word("PRIVILEGES") {
            return Ok((ShowKind::Privileges, false));
        }
        if self.accept_word("GRANTS") {
            let account = if self.accept_word("FOR") { Some(self.account_name()?) } else { None };
            let roles = match account.is_some() && self.accept_word("USING") {
                true => self.role_names()?,
                false => Vec::new(),
            };
            return Ok((ShowKind::Grants(account, roles), false));
        }
        if self.at_any_word(UNSUPPORTED) {
            let word = self.any_word()?.value.to_ascii_uppercase();
            return self.refuse(&format!("SHOW {word}"));
        }
        self.accept_word("EXTENDED"); // would show hidden columns too, but there are none
        let full = self.accept_word("FULL");
        if self.accept_word("TABLES") {
            return Ok((ShowKind::Tables { full, database: self.database_clause()? }, true));
        }
        if self.accept_any_word(&["COLUMNS", "FIELDS"]) {
            return Ok((ShowKind::Columns { full, table: self.table_clause()? }, true));
        }
        if self.accept_word("PROCESSLIST") {
            return Ok((ShowKind::ProcessList { full }, false));
        }
        if self.span() == start {
            return Err(self.syntax_error_at(start));
        }
        Err(self.syntax_error())
    }

    /// Parses TRIGGERS, EVENTS, binary logs, and the lists that are always empty here.
    fn show_triggers_and_empty_lists(&mut self) -> Parsed<Option<(ShowKind, bool)>> {
        if self.accept_words(&["FULL", "TRIGGERS"]) || self.accept_word("TRIGGERS") {
            return Ok(Some((ShowKind::Triggers { database: self.database_clause()? }, true)));
        }
        if self.accept_word("EVENTS") {
            return Ok(Some((ShowKind::Events { database: self.database_clause()? }, true)));
        }
        if self.accept_words(&["OPEN", "TABLES"]) {
            self.database_clause()?;
            return Ok(Some((ShowKind::NotThere(NotThere::OpenTables), true)));
        }
        if self.accept_words(&["BINARY", "LOGS"]) || self.accept_words(&["MASTER", "LOGS"]) {
            return Ok(Some((ShowKind::BinaryLogs, false)));
        }
        if self.accept_words(&["PROCEDURE", "STATUS"]) {
            return Ok(Some((ShowKind::Procedures, true)));
        }
        if self.accept_words(&["FUNCTION", "STATUS"]) {
            return Ok(Some((ShowKind::Functions, true)));
        }
        const LISTS: [(&[&str], NotThere, bool); 7] = [
            (&["MASTER", "STATUS"], NotThere::BinaryLogStatus, false),
            (&["BINARY", "LOG", "STATUS"], NotThere::BinaryLogStatus, false),
            (&["REPLICA", "STATUS"], NotThere::ReplicaStatus, false),
            (&["SLAVE", "STATUS"], NotThere::SlaveStatus, false),
            (&["REPLICAS"], NotThere::Replicas, false),
            (&["SLAVE", "HOSTS"], NotThere::SlaveHosts, false),
            (&["PROFILES"], NotThere::Profiles, false),
        ];
        let Some((_, what, filterable)) = LISTS.into_iter().find(|(words, ..)| self.accept_words(words))
        else {
            return Ok(None);
        };
        if matches!(what, NotThere::ReplicaStatus | NotThere::SlaveStatus)
            && self.accept_words(&["FOR", "CHANNEL"])
        {
            self.string()?;
        }
        Ok(Some((ShowKind::NotThere(what), filterable)))
    }

    fn show_create(&mut self) -> Parsed<ShowKind> {
        if self.accept_word("TABLE") {
            return Ok(ShowKind::CreateTable(self.table_name()?));
        }
        if self.accept_any_word(&["DATABASE", "SCHEMA"]) {
            let if_not_exists = self.if_not_exists()?;
            return Ok(ShowKind::CreateDatabase { name: self.ident()?, if_not_exists });
        }
        if self.accept_word("VIEW") {
            return Ok(ShowKind::CreateView(self.table_name()?));
        }
        if self.accept_word("USER") {
            return Ok(ShowKind::CreateUser(self.account_name()?));
        }
        if let Some(kind) = self.program_word() {
            return Ok(ShowKind::CreateProgram(kind, self.program_name()?));
        }
        Err(self.syntax_error())
    }

    /// `ENGINE name STATUS`.
    fn show_engine(&mut self) -> Parsed<ShowKind> {
        self.expect_word("ENGINE")?;
        let name = self.any_word()?;
        if self.at_any_word(&["MUTEX", "LOGS"]) {
            return self.refuse("SHOW ENGINE ... other than STATUS");
        }
        self.expect_word("STATUS")?;
        Ok(ShowKind::EngineStatus { name })
    }

    fn show_count(&mut self) -> Parsed<ShowKind> {
        self.advance();
        self.expect_symbol(Symbol::LeftParen)?;
        self.expect_symbol(Symbol::Star)?;
        self.expect_symbol(Symbol::RightParen)?;
        if self.accept_word("WARNINGS") {
            return Ok(ShowKind::WarningCount);
        }
        self.expect_word("ERRORS")?;
        Ok(ShowKind::ErrorCount)
    }

    /// `[FROM|IN database]`.
    fn database_clause(&mut self) -> Parsed<Option<Ident>> {
        if self.accept_any_word(&["FROM", "IN"]) { Ok(Some(self.ident()?)) } else { Ok(None) }
    }

    /// `FROM|IN table [FROM|IN database]`.
    fn table_clause(&mut self) -> Parsed<TableName> {
        self.expect_any_word(&["FROM", "IN"])?;
        let mut table = self.table_name()?;
        if let Some(database) = self.database_clause()? {
            table.database = Some(database);
        }
        Ok(table)
    }

    /// `[LIMIT [offset,] count]`.
    fn row_window(&mut self) -> Parsed<Option<(u64, u64)>> {
        if !self.accept_word("LIMIT") {
            return Ok(None);
        }
        let first = self.integer()?;
        if self.accept_symbol(Symbol::Comma) {
            return Ok(Some((first, self.integer()?)));
        }
        let offset = if self.accept_word("OFFSET") { self.integer()? } else { 0 };
        Ok(Some((offset, first)))
    }

    fn show_filter(&mut self) -> Parsed<Option<ShowFilter>> {
        if self.accept_word("LIKE") {
            return Ok(Some(ShowFilter::Like(self.string()?)));
        }
        Ok(self.optional_expression("WHERE")?.map(ShowFilter::Where))
    }
}
