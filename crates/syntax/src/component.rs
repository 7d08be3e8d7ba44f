//! INSTALL COMPONENT and UNINSTALL COMPONENT.

use super::ast::{ComponentStatement, StatementKind};
use super::cursor::{Parsed, Parser};

impl Parser<'_> {
    /// Parses INSTALL COMPONENT or UNINSTALL COMPONENT.
    pub(super) fn component(&mut self, install: bool) -> Parsed<StatementKind> {
        self.advance();
        self.advance();
        let urns = self.comma_list(Self::string)?;
        if install && self.at_word("SET") {
            return self.refuse("INSTALL COMPONENT ... SET");
        }
        Ok(StatementKind::Component(ComponentStatement { install, urns }))
    }
}
