//! CREATE, ALTER, DROP and SET RESOURCE GROUP.

use super::ast::{ResourceGroupOptions, ResourceGroupStatement, StatementKind};
use super::cursor::{Parsed, Parser};
use super::lexer::{Symbol, TokenKind};

impl Parser<'_> {
    /// Returns whether RESOURCE GROUP comes next, after the verb.
    pub(super) fn at_resource_group(&self) -> bool {
        self.at_words(&["RESOURCE", "GROUP"])
    }

    pub(super) fn create_resource_group(&mut self) -> Parsed<StatementKind> {
        self.expect_words(&["RESOURCE", "GROUP"])?;
        let name = self.ident()?;
        self.expect_word("TYPE")?;
        self.accept_symbol(Symbol::Eq);
        let of_system = self.accept_word("SYSTEM");
        if !of_system {
            self.expect_word("USER")?;
        }
        let options = self.resource_group_options()?;
        Ok(StatementKind::ResourceGroup(ResourceGroupStatement::Create { name, of_system, options }))
    }

    pub(super) fn alter_resource_group(&mut self) -> Parsed<StatementKind> {
        self.expect_words(&["RESOURCE", "GROUP"])?;
        let name = self.ident()?;
        let options = self.resource_group_options()?;
        let force = self.accept_word("FORCE");
        Ok(StatementKind::ResourceGroup(ResourceGroupStatement::Alter { name, options, force }))
    }

    pub(super) fn drop_resource_group(&mut self) -> Parsed<StatementKind> {
        self.expect_words(&["RESOURCE", "GROUP"])?;
        let name = self.ident()?;
        let force = self.accept_word("FORCE");
        Ok(StatementKind::ResourceGroup(ResourceGroupStatement::Drop { name, force }))
    }

    pub(super) fn set_resource_group(&mut self) -> Parsed<StatementKind> {
        self.expect_words(&["RESOURCE", "GROUP"])?;
        let name = self.ident()?;
        let mut threads = Vec::new();
        if self.accept_word("FOR") {
            threads.push(self.integer()?);
            while self.accept_symbol(Symbol::Comma) || self.token(0).kind == TokenKind::Integer {
                threads.push(self.integer()?);
            }
        }
        Ok(StatementKind::ResourceGroup(ResourceGroupStatement::Set { name, threads }))
    }

    fn resource_group_options(&mut self) -> Parsed<ResourceGroupOptions> {
        let mut options = ResourceGroupOptions::default();
        if self.accept_word("VCPU") {
            self.accept_symbol(Symbol::Eq);
            options.vcpus.push(self.vcpu_range()?);
            // Commas between ranges are optional.
            while self.accept_symbol(Symbol::Comma) || self.token(0).kind == TokenKind::Integer {
                options.vcpus.push(self.vcpu_range()?);
            }
        }
        if self.accept_word("THREAD_PRIORITY") {
            self.accept_symbol(Symbol::Eq);
            let negative = self.accept_symbol(Symbol::Minus);
            let token = self.token(0);
            let number = i32::try_from(self.integer()?).map_err(|_| self.syntax_error_at(token.span))?;
            options.priority = Some(if negative { -number } else { number });
        }
        if self.accept_word("ENABLE") {
            options.enabled = Some(true);
        } else if self.accept_word("DISABLE") {
            options.enabled = Some(false);
        }
        Ok(options)
    }

    fn vcpu_range(&mut self) -> Parsed<(u64, u64)> {
        let first = self.integer()?;
        let last = if self.accept_symbol(Symbol::Minus) { self.integer()? } else { first };
        Ok((first, last))
    }
}
