//! The dispatch of statements by their first words.

use super::ast::{
    AnalyzeHistogram, Explain, ExplainFormat, Expr, FlushItem, LoadIndex, PrepareSource, Query, Statement,
    StatementKind,
};
use super::cursor::{Parsed, Parser};
use leafline_types::error::MysqlError;
use leafline_types::words::CheckDepth;

use super::error::unsupported;
use super::lexer::{Symbol, TokenKind};

/// The number of buckets of a histogram, unless the statement says another.
const DEFAULT_BUCKETS: u64 = 100;

impl Parser<'_> {
    /// Parses exactly one statement, with an optional semicolon after it.
    pub(super) fn whole_statement(&mut self) -> Parsed<Statement> {
        let semicolon_alone = self.at_symbol(Symbol::Semicolon) && self.token(1).kind == TokenKind::End;
        let kind = match self.at_end() || semicolon_alone {
            // As in MySQL, a text of comments alone is a statement that does nothing.
            true if self.sql.chars().any(|c| !c.is_whitespace() && c != ';') => {
                self.accept_symbol(Symbol::Semicolon);
                StatementKind::Do(Vec::new())
            }
            true => return Err(MysqlError::empty_query()),
            false => self.statement()?,
        };
        self.accept_symbol(Symbol::Semicolon);
        if !self.at_end() {
            return Err(self.syntax_error());
        }
        self.finished(kind)
    }

    /// Parses one statement of a program's body.
    pub(super) fn statement_in_body(&mut self) -> Parsed<Statement> {
        let outer = std::mem::replace(&mut self.statement_depth, self.depth);
        self.blocks = 0;
        self.assigns_variables = false;
        let kind = self.statement()?;
        self.statement_depth = outer;
        self.finished(kind)
    }

    /// Completes a statement with what its rules noted.
    fn finished(&mut self, kind: StatementKind) -> Parsed<Statement> {
        // A leftover INTO belongs to a query inside another statement, where it is not allowed.
        if self.into.is_some() {
            return Err(self.syntax_error());
        }
        let mut hints = std::mem::take(&mut self.statement_hints);
        let is_query =
            |kind: &StatementKind| matches!(kind, StatementKind::Query(_) | StatementKind::SelectInto { .. });
        let explained = matches!(&kind, StatementKind::Explain(explain) if is_query(&explain.statement));
        if !is_query(&kind) && !explained && hints.max_execution_time.take().is_some() {
            hints.warnings.push(MysqlError::unsupported_max_execution_time());
        }
        let (parameters, assigns_variables) = (self.parameters, self.assigns_variables);
        Ok(Statement { kind, parameters, assigns_variables, hints })
    }

    /// Parses a text that is a single query.
    pub(super) fn whole_query(&mut self) -> Parsed<Query> {
        let query = self.query()?;
        if self.at_end() { Ok(query) } else { Err(self.syntax_error()) }
    }

    /// Parses a text that is a single expression.
    pub(super) fn whole_expression(&mut self) -> Parsed<Expr> {
        let expr = self.expression()?;
        if self.at_end() { Ok(expr) } else { Err(self.syntax_error()) }
    }

    fn statement(&mut self) -> Parsed<StatementKind> {
        if self.at_word("WITH") {
            return self.statement_with_names();
        }
        if self.at_symbol(Symbol::LeftParen) || self.starts_query(0) {
            let query = Box::new(self.query()?);
            return Ok(match self.into.take() {
                Some(into) => StatementKind::SelectInto { query, into },
                None => StatementKind::Query(query),
            });
        }
        let token = self.token(0);
        if token.kind != TokenKind::Word {
            return Err(self.syntax_error());
        }
        let word = self.text(token).to_ascii_uppercase();
        match word.as_str() {
            "INSERT" | "REPLACE" => self.insert(),
            "UPDATE" => self.update(None),
            "DELETE" => self.delete(None),
            "CREATE" => self.create(),
            "DROP" => self.drop_statement(),
            "ALTER" => self.alter(),
            "RENAME" if self.is_word_at(1, "TABLE") || self.is_word_at(1, "TABLES") => {
                self.advance();
                self.advance();
                self.rename_table()
            }
            "RENAME" if self.is_word_at(1, "USER") => self.rename_user(),
            "GRANT" => self.grant(),
            "REVOKE" => self.revoke(),
            "TRUNCATE" => {
                self.advance();
                self.accept_word("TABLE");
                Ok(StatementKind::Truncate(self.table_name()?))
            }
            "ANALYZE" => self.analyze_table(),
            "OPTIMIZE" => self.optimize_table(),
            "CHECK" => self.check_table(),
            "REPAIR" => self.repair_table(),
            "ADVISE" => self.advise(),
            "CHECKSUM" => self.checksum_table(),
            "LOAD" if self.is_word_at(1, "INDEX") => self.load_index(),
            "LOAD" if self.is_word_at(1, "DATA") => self.load_data(),
            "EXPLAIN" | "DESCRIBE" | "DESC" => self.explain(),
            "SHOW" => self.show(),
            "HELP" => self.help(),
            "HANDLER" => self.handler(),
            "USE" => {
                self.advance();
                let name = self.database_or_nothing()?;
                Ok(StatementKind::Use(name.ok_or_else(MysqlError::no_database_selected)?))
            }
            "SET" => self.set(),
            "BEGIN" | "START" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" => self.transaction(&word),
            "FLUSH" => self.flush(),
            "CALL" => self.call_procedure(),
            "SIGNAL" | "RESIGNAL" => self.signal(),
            "GET" => self.get_diagnostics(),
            "KILL" => self.kill(),
            "PREPARE" => self.prepare(),
            "EXECUTE" => self.execute(),
            "DEALLOCATE" => {
                self.advance();
                self.expect_word("PREPARE")?;
                Ok(StatementKind::Deallocate(self.ident()?))
            }
            "DO" => {
                self.advance();
                Ok(StatementKind::Do(self.expressions()?))
            }
            "LOCK" | "UNLOCK" => self.lock_tables(),
            "INSTALL" | "UNINSTALL" if self.is_word_at(1, "COMPONENT") => self.component(word == "INSTALL"),
            "BACKUP" if self.is_word_at(1, "DATABASE") => self.backup(),
            "EXPORT" if self.is_word_at(1, "TABLE") => self.export_table(),
            "IMPORT" if self.is_word_at(1, "TABLE") => self.import_table(),
            _ => Err(self.known_statement(&word)),
        }
    }

    /// The error for a statement that no rule parses: 1235 if MySQL has it, otherwise 1064.
    fn known_statement(&self, word: &str) -> MysqlError {
        let second = self.token(1);
        let second = if second.kind == TokenKind::Word {
            self.text(second).to_ascii_uppercase()
        } else {
            String::new()
        };
        let known = match word {
            "SHUTDOWN" | "RESTART" | "CLONE" | "BINLOG" | "WITH" | "XA" => word.to_owned(),
            "LOAD" if second == "XML" => "LOAD XML".to_owned(),
            "CACHE" if second == "INDEX" => "CACHE INDEX".to_owned(),
            "INSTALL" | "UNINSTALL" if second == "PLUGIN" => format!("{word} {second}"),
            "CHANGE" | "START" | "STOP" | "RESET" | "PURGE" | "IMPORT" if !second.is_empty() => {
                format!("{word} {second}")
            }
            _ => return self.syntax_error(),
        };
        unsupported(&known)
    }

    /// Parses BACKUP DATABASE, a statement that MySQL does not have.
    fn backup(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.advance();
        self.expect_word("TO")?;
        let path = self.string()?;
        let parent = match self.accept_word("INCREMENTAL") {
            true => {
                self.expect_word("FROM")?;
                Some(self.string()?)
            }
            false => None,
        };
        Ok(StatementKind::Backup { path, parent })
    }

    /// Parses EXPORT TABLE, a statement that MySQL does not have.
    fn export_table(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.advance();
        let table = self.table_name()?;
        self.expect_word("INTO")?;
        Ok(StatementKind::ExportTable { table, path: self.string()? })
    }

    /// Parses IMPORT TABLE. Unlike MySQL's, it takes a name for the table and only one file.
    fn import_table(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.advance();
        let table = if self.at_word("FROM") { None } else { Some(self.table_name()?) };
        self.expect_word("FROM")?;
        Ok(StatementKind::ImportTable { table, path: self.string()? })
    }

    fn optimize_table(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.accept_any_word(&["NO_WRITE_TO_BINLOG", "LOCAL"]); // there is no binary log to keep it from
        self.expect_any_word(&["TABLE", "TABLES"])?;
        Ok(StatementKind::OptimizeTable(self.table_names()?))
    }

    fn analyze_table(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.accept_any_word(&["NO_WRITE_TO_BINLOG", "LOCAL"]); // there is no binary log to keep it from
        self.expect_any_word(&["TABLE", "TABLES"])?;
        let tables = self.table_names()?;
        let updates = self.accept_word("UPDATE");
        if !updates && !self.accept_word("DROP") {
            return Ok(StatementKind::AnalyzeTable(tables));
        }
        self.expect_words(&["HISTOGRAM", "ON"])?;
        let columns = self.comma_list(Self::ident)?;
        let mut buckets = updates.then_some(DEFAULT_BUCKETS);
        if updates && self.accept_word("WITH") {
            buckets = Some(self.integer()?);
            self.expect_words(&["BUCKETS"])?;
        }
        if self.at_any_word(&["USING", "AUTO", "MANUAL"]) {
            return self.refuse("ANALYZE TABLE ... UPDATE HISTOGRAM with USING, AUTO or MANUAL");
        }
        Ok(StatementKind::AnalyzeHistogram(AnalyzeHistogram { tables, columns, buckets }))
    }

    /// LOAD INDEX INTO CACHE.
    fn load_index(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.advance();
        self.expect_word("INTO")?;
        self.expect_word("CACHE")?;
        let tables = self.comma_list(|parser| {
            let table = parser.table_name()?;
            if parser.at_word("PARTITION") {
                return parser.refuse("LOAD INDEX INTO CACHE ... PARTITION");
            }
            let indexes = match parser.accept_any_word(&["INDEX", "KEY"]) {
                true => parser.parenthesised_list(Self::index_name)?,
                false => Vec::new(),
            };
            let ignore_leaves = parser.accept_word("IGNORE");
            if ignore_leaves {
                parser.expect_word("LEAVES")?;
            }
            Ok(LoadIndex { table, indexes, ignore_leaves })
        })?;
        Ok(StatementKind::LoadIndex(tables))
    }

    /// CHECKSUM TABLE.
    fn checksum_table(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect_any_word(&["TABLE", "TABLES"])?;
        let tables = self.table_names()?;
        let quick = self.accept_word("QUICK");
        if !quick {
            self.accept_word("EXTENDED"); // changes nothing
        }
        Ok(StatementKind::ChecksumTable { tables, quick })
    }

    fn check_table(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect_any_word(&["TABLE", "TABLES"])?;
        let tables = self.table_names()?;
        Ok(StatementKind::CheckTable(tables, self.check_depth()?))
    }

    /// Parses the options of CHECK TABLE; the most thorough one counts. FAST and CHANGED are for engines that record
    /// whether a table was closed properly, and check no less here.
    pub(super) fn check_depth(&mut self) -> Parsed<CheckDepth> {
        let mut depth = None;
        loop {
            if self.at_word("FOR") {
                return self.refuse("CHECK TABLE ... FOR UPGRADE");
            }
            let option = if self.accept_word("QUICK") {
                CheckDepth::Quick
            } else if self.accept_any_word(&["FAST", "CHANGED", "MEDIUM"]) {
                CheckDepth::Medium
            } else if self.accept_word("EXTENDED") {
                CheckDepth::Extended
            } else {
                break;
            };
            depth = depth.max(Some(option));
        }
        Ok(depth.unwrap_or_default())
    }

    fn repair_table(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.accept_any_word(&["NO_WRITE_TO_BINLOG", "LOCAL"]); // there is no binary log to keep it from
        self.expect_any_word(&["TABLE", "TABLES"])?;
        let tables = self.table_names()?;
        while self.accept_any_word(&["QUICK", "EXTENDED", "USE_FRM"]) {}
        Ok(StatementKind::RepairTable(tables))
    }

    /// Parses WITH and the SELECT, UPDATE or DELETE after it.
    fn statement_with_names(&mut self) -> Parsed<StatementKind> {
        let with = self.nested(Self::with)?;
        match () {
            () if self.at_word("UPDATE") => self.update(Some(with)),
            () if self.at_word("DELETE") => self.delete(Some(with)),
            () => {
                let query = Box::new(self.query_behind(with)?);
                Ok(match self.into.take() {
                    Some(into) => StatementKind::SelectInto { query, into },
                    None => StatementKind::Query(query),
                })
            }
        }
    }

    fn explain(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let analyze = self.accept_word("ANALYZE");
        let mut written = None;
        if self.at_word("FORMAT") && self.is_symbol_at(1, Symbol::Eq) {
            self.advance();
            self.advance();
            let name = self.ident_or_string()?.value.to_ascii_uppercase();
            let format = match name.as_str() {
                "TRADITIONAL" => ExplainFormat::Traditional,
                "JSON" => ExplainFormat::Json,
                "TREE" => ExplainFormat::Tree,
                _ => return Err(MysqlError::unknown_explain_format(name)),
            };
            if analyze && format != ExplainFormat::Tree {
                return self.refuse(&format!("EXPLAIN ANALYZE FORMAT={name}"));
            }
            written = Some(format);
        } else if self.at_any_word(&["EXTENDED", "PARTITIONS"]) && self.is_word_at(1, "SELECT") {
            return Err(self.syntax_error());
        }
        let explainable = self.at_any_word(&["INSERT", "UPDATE", "DELETE", "REPLACE"])
            || self.starts_query(0)
            || self.at_symbol(Symbol::LeftParen);
        if explainable {
            let statement = Box::new(self.statement()?);
            return Ok(StatementKind::Explain(Explain { analyze, format: written, statement }));
        }
        if self.accept_words(&["FOR", "CONNECTION"]) {
            if analyze {
                return self.refuse("EXPLAIN ANALYZE FOR CONNECTION");
            }
            return Ok(StatementKind::ExplainConnection { format: written, connection: self.integer()? });
        }
        if analyze || written.is_some() {
            return Err(self.syntax_error());
        }
        let table = self.table_name()?;
        let column = match self.token(0).kind {
            TokenKind::String => Some(self.string()?),
            _ if self.is_ident_at(0) => Some(self.ident()?.value),
            _ => None,
        };
        Ok(StatementKind::Describe { table, column })
    }

    fn flush(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.accept_any_word(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        if self.accept_any_word(&["TABLES", "TABLE"]) {
            let names = match self.is_ident_at(0) {
                true => self.table_names()?,
                false => Vec::new(),
            };
            if self.at_any_word(&["WITH", "FOR"]) {
                match self.at_word("FOR") && !names.is_empty() {
                    true => self.expect_words(&["FOR", "EXPORT"])?,
                    false => self.expect_words(&["WITH", "READ", "LOCK"])?,
                }
                let lock = if names.is_empty() { FlushItem::ReadLock } else { FlushItem::ReadLockOf(names) };
                return Ok(StatementKind::Flush(vec![lock]));
            }
            return Ok(StatementKind::Flush(vec![FlushItem::Tables(names)]));
        }
        Ok(StatementKind::Flush(self.comma_list(|p| {
            if p.accept_word("STATUS") {
                return Ok(FlushItem::Status);
            }
            if p.accept_word("PRIVILEGES") {
                return Ok(FlushItem::Privileges);
            }
            if p.accept_word("USER_RESOURCES") {
                return Ok(FlushItem::UserResources);
            }
            if p.accept_word("SLOW") {
                p.expect_word("LOGS")?;
                return Ok(FlushItem::SlowLogs);
            }
            p.accept_any_word(&["BINARY", "ENGINE", "ERROR", "GENERAL", "RELAY"]);
            if p.accept_word("LOGS") {
                return Ok(FlushItem::Logs);
            }
            if p.at_any_word(&["HOSTS", "OPTIMIZER_COSTS", "DES_KEY_FILE"]) {
                let word = p.any_word()?;
                return p.refuse(&format!("FLUSH {}", word.value.to_ascii_uppercase()));
            }
            Err(p.syntax_error())
        })?))
    }

    fn kill(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let query_only = self.accept_word("QUERY");
        if !query_only {
            self.accept_word("CONNECTION");
        }
        Ok(StatementKind::Kill { query_only, connection: self.expression()? })
    }

    fn prepare(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.ident()?;
        self.expect_word("FROM")?;
        Ok(StatementKind::Prepare { name, source: self.text_source()? })
    }

    /// Parses the source of a statement's text: a string, or a variable that holds one.
    fn text_source(&mut self) -> Parsed<PrepareSource> {
        Ok(match self.token(0).kind {
            TokenKind::UserVariable => PrepareSource::Variable(self.user_variable()?),
            _ => PrepareSource::Text(self.string()?),
        })
    }

    fn advise(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let verify = self.accept_word("VERIFY");
        let workload = if self.accept_word("FROM") { Some(self.text_source()?) } else { None };
        Ok(StatementKind::Advise { workload, verify })
    }

    fn execute(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.ident()?;
        let using = match self.accept_word("USING") {
            true => self.comma_list(Self::user_variable)?,
            false => Vec::new(),
        };
        Ok(StatementKind::Execute { name, using })
    }
}
