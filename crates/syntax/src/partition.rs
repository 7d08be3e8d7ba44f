//! Partitions: PARTITION BY, ALTER TABLE, and PARTITION after a table's name.

use super::ast::{
    Ident, PartitionAction, PartitionBound, PartitionBy, PartitionDefinition, PartitionItem, PartitionKey,
    PartitionMaintenance, PartitionMethod, PartitionOperation, PartitionValues, StatementKind,
    SubpartitionBy, SubpartitionDefinition, TableName,
};
use super::cursor::{Parsed, Parser};
use super::lexer::Symbol;

impl Parser<'_> {
    /// Parses `PARTITION (name, ..)` after a table's name, which restricts a statement to those partitions. Empty
    /// means all.
    pub(super) fn partition_selection(&mut self) -> Parsed<Vec<Ident>> {
        match self.accept_word("PARTITION") {
            true => self.parenthesised_list(Self::ident),
            false => Ok(Vec::new()),
        }
    }

    /// Parses an action of ALTER TABLE on partitions; `None` if another action comes next.
    pub(super) fn partition_action(&mut self) -> Parsed<Option<PartitionAction>> {
        if self.at_words(&["PARTITION", "BY"]) {
            return Ok(self.partition_by()?.map(PartitionAction::By));
        }
        if self.accept_words(&["REMOVE", "PARTITIONING"]) {
            return Ok(Some(PartitionAction::Remove));
        }
        const VERBS: &[&str] = &["ADD", "COALESCE", "DROP", "EXCHANGE", "REBUILD", "REORGANIZE", "TRUNCATE"];
        if !(self.at_any_word(VERBS) && self.is_word_at(1, "PARTITION")) {
            return Ok(None);
        }
        let verb = self.any_word()?.value.to_ascii_uppercase();
        self.advance();
        if verb != "DROP" && verb != "TRUNCATE" {
            // There is no binary log to keep the statement from.
            self.accept_any_word(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        }
        Ok(Some(match verb.as_str() {
            "ADD" if self.accept_word("PARTITIONS") => PartitionAction::AddCount(self.integer()?),
            "ADD" => PartitionAction::Add(self.parenthesised_list(Self::partition_definition)?),
            "COALESCE" => PartitionAction::Coalesce(self.integer()?),
            "DROP" => PartitionAction::Drop(self.comma_list(Self::ident)?),
            "TRUNCATE" => PartitionAction::Truncate(self.partition_names()?),
            "REBUILD" => PartitionAction::Rebuild(self.partition_names()?),
            "EXCHANGE" => {
                let name = self.ident()?;
                self.expect_words(&["WITH", "TABLE"])?;
                let table = self.table_name()?;
                let validates = !self.accept_words(&["WITHOUT", "VALIDATION"]);
                if validates {
                    self.accept_words(&["WITH", "VALIDATION"]);
                }
                PartitionAction::Exchange { name, table, validates }
            }
            _ => {
                let names = match self.at_end() || self.at_symbol(Symbol::Semicolon) {
                    true => Vec::new(),
                    false => self.comma_list(Self::ident)?,
                };
                let into = match names.is_empty() {
                    true => Vec::new(),
                    false => {
                        self.expect_word("INTO")?;
                        self.parenthesised_list(Self::partition_definition)?
                    }
                };
                PartitionAction::Reorganize { names, into }
            }
        }))
    }

    /// Parses the rest of ALTER TABLE after its table if it is maintenance of partitions; `None` if it is not.
    pub(super) fn partition_maintenance(&mut self, table: &TableName) -> Parsed<Option<StatementKind>> {
        const VERBS: &[&str] = &["ANALYZE", "CHECK", "OPTIMIZE", "REPAIR"];
        if !(self.at_any_word(VERBS) && self.is_word_at(1, "PARTITION")) {
            return Ok(None);
        }
        let verb = self.any_word()?.value.to_ascii_uppercase();
        self.advance();
        if verb != "CHECK" {
            // There is no binary log to keep the statement from.
            self.accept_any_word(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        }
        let names = self.partition_names()?;
        let operation = match verb.as_str() {
            "ANALYZE" => PartitionOperation::Analyze,
            "CHECK" => PartitionOperation::Check(self.check_depth()?),
            "OPTIMIZE" => PartitionOperation::Optimize,
            _ => {
                while self.accept_any_word(&["QUICK", "EXTENDED", "USE_FRM"]) {}
                PartitionOperation::Repair
            }
        };
        let table = table.clone();
        Ok(Some(StatementKind::MaintainPartitions(Box::new(PartitionMaintenance {
            table,
            operation,
            names,
        }))))
    }

    /// Parses names of partitions, or ALL.
    fn partition_names(&mut self) -> Parsed<Option<Vec<Ident>>> {
        match self.accept_word("ALL") {
            true => Ok(None),
            false => self.comma_list(Self::ident).map(Some),
        }
    }

    /// `PARTITION BY ..`, or nothing.
    pub(super) fn partition_by(&mut self) -> Parsed<Option<PartitionBy>> {
        if !self.accept_word("PARTITION") {
            return Ok(None);
        }
        self.expect_word("BY")?;
        let method = self.partition_method()?;
        let count = if self.accept_word("PARTITIONS") { Some(self.integer()?) } else { None };
        let below = self.subpartition_by()?;
        let mut partitions = Vec::new();
        if self.at_symbol(Symbol::LeftParen) && self.is_word_at(1, "PARTITION") {
            partitions = self.parenthesised_list(Self::partition_definition)?;
        }
        Ok(Some(PartitionBy { method, count, below, partitions }))
    }

    /// `SUBPARTITION BY ..`, or nothing.
    fn subpartition_by(&mut self) -> Parsed<Option<SubpartitionBy>> {
        if !self.accept_words(&["SUBPARTITION", "BY"]) {
            return Ok(None);
        }
        let method = self.partition_method()?;
        match &method {
            PartitionMethod::Hash { .. } => {}
            PartitionMethod::Key { columns, .. } if !columns.is_empty() => {}
            _ => return Err(self.syntax_error()),
        }
        let count = if self.accept_word("SUBPARTITIONS") { Some(self.integer()?) } else { None };
        Ok(Some(SubpartitionBy { method, count }))
    }

    fn partition_method(&mut self) -> Parsed<PartitionMethod> {
        let linear = self.accept_word("LINEAR");
        if self.accept_word("HASH") {
            return Ok(PartitionMethod::Hash { linear, expression: self.stored_expression()? });
        }
        if self.accept_word("KEY") {
            if self.accept_word("ALGORITHM") {
                self.expect_symbol(Symbol::Eq)?;
                if !(1..=2).contains(&self.integer()?) {
                    return Err(self.syntax_error());
                }
            }
            let none = self.at_symbol(Symbol::LeftParen) && self.is_symbol_at(1, Symbol::RightParen);
            if none {
                self.advance();
                self.advance();
                return Ok(PartitionMethod::Key { linear, columns: Vec::new() });
            }
            return Ok(PartitionMethod::Key { linear, columns: self.parenthesised_list(Self::ident)? });
        }
        if linear {
            return Err(self.syntax_error());
        }
        if self.accept_word("RANGE") {
            return self.partition_key().map(PartitionMethod::Range);
        }
        self.expect_word("LIST")?;
        self.partition_key().map(PartitionMethod::List)
    }

    /// `(expression)` or `COLUMNS (column, ..)`.
    fn partition_key(&mut self) -> Parsed<PartitionKey> {
        if self.accept_word("COLUMNS") {
            return self.parenthesised_list(Self::ident).map(PartitionKey::Columns);
        }
        self.stored_expression().map(PartitionKey::Expression)
    }

    /// `PARTITION name [VALUES ..] [option ..]`.
    pub(super) fn partition_definition(&mut self) -> Parsed<PartitionDefinition> {
        self.expect_word("PARTITION")?;
        let name = self.ident()?;
        let mut values = PartitionValues::None;
        if self.accept_word("VALUES") {
            values = self.partition_values()?;
        }
        let (comment, engine) = self.partition_options()?;
        let mut subpartitions = Vec::new();
        if self.at_symbol(Symbol::LeftParen) {
            subpartitions = self.parenthesised_list(Self::subpartition_definition)?;
        }
        Ok(PartitionDefinition { name, values, comment, engine, subpartitions })
    }

    /// `SUBPARTITION name [option ..]`.
    fn subpartition_definition(&mut self) -> Parsed<SubpartitionDefinition> {
        self.expect_word("SUBPARTITION")?;
        let name = self.ident_or_string()?;
        let (comment, engine) = self.partition_options()?;
        Ok(SubpartitionDefinition { name, comment, engine })
    }

    fn partition_values(&mut self) -> Parsed<PartitionValues> {
        if self.accept_words(&["LESS", "THAN"]) {
            if self.accept_word("MAXVALUE") {
                return Ok(PartitionValues::LessThan(vec![PartitionBound::MaxValue]));
            }
            return self.parenthesised_list(Self::partition_bound).map(PartitionValues::LessThan);
        }
        self.expect_word("IN")?;
        let items = self.parenthesised_list(|p| match p.at_symbol(Symbol::LeftParen) {
            true => p.parenthesised_list(Self::partition_bound).map(PartitionItem::Row),
            false => p.partition_bound().map(PartitionItem::Value),
        })?;
        Ok(PartitionValues::In(items))
    }

    fn partition_bound(&mut self) -> Parsed<PartitionBound> {
        if self.accept_word("MAXVALUE") {
            return Ok(PartitionBound::MaxValue);
        }
        self.stored_text().map(PartitionBound::Value)
    }

    /// Parses the options of a partition and returns its comment and its engine. Other options are accepted only if
    /// they change nothing.
    fn partition_options(&mut self) -> Parsed<(String, Option<Ident>)> {
        let (mut comment, mut engine) = (String::new(), None);
        loop {
            let storage = self.accept_word("STORAGE");
            if self.accept_word("ENGINE") {
                self.accept_symbol(Symbol::Eq);
                engine = Some(self.ident_or_string()?);
            } else if storage {
                return Err(self.syntax_error());
            } else if self.accept_word("COMMENT") {
                self.accept_symbol(Symbol::Eq);
                comment = self.string()?;
            } else if self.accept_any_word(&["MAX_ROWS", "MIN_ROWS", "NODEGROUP"]) {
                self.accept_symbol(Symbol::Eq);
                self.integer()?;
            } else if self.mode.no_directories && self.accept_directory()? {
            } else if self.at_any_word(&["DATA", "INDEX", "TABLESPACE"]) {
                return self.refuse("where a partition is stored");
            } else {
                return Ok((comment, engine));
            }
        }
    }
}
