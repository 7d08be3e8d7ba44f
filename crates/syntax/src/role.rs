//! CREATE ROLE, DROP ROLE, SET ROLE, SET DEFAULT ROLE, and the role forms of GRANT, REVOKE, CREATE USER and ALTER USER.

use super::ast::{AccountName, RoleSelection, RoleStatement, StatementKind};
use super::cursor::{Parsed, Parser};

fn statement(role: RoleStatement) -> StatementKind {
    StatementKind::Role(Box::new(role))
}

impl Parser<'_> {
    /// CREATE ROLE, after these words.
    pub(super) fn create_role(&mut self) -> Parsed<StatementKind> {
        let if_not_exists = self.if_not_exists()?;
        Ok(statement(RoleStatement::Create { if_not_exists, roles: self.role_names()? }))
    }

    /// DROP ROLE, after these words.
    pub(super) fn drop_role(&mut self) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        Ok(statement(RoleStatement::Drop { if_exists, roles: self.role_names()? }))
    }

    /// GRANT of roles, after GRANT.
    pub(super) fn grant_roles(&mut self) -> Parsed<StatementKind> {
        let roles = self.role_names()?;
        self.expect_word("TO")?;
        let to = self.comma_list(Self::account_name)?;
        let with_admin_option = self.accept_words(&["WITH", "ADMIN", "OPTION"]);
        Ok(statement(RoleStatement::Grant { roles, to, with_admin_option }))
    }

    /// REVOKE of roles, after REVOKE and IF EXISTS.
    pub(super) fn revoke_roles(&mut self, if_exists: bool) -> Parsed<StatementKind> {
        let roles = self.role_names()?;
        self.expect_word("FROM")?;
        let from = self.comma_list(Self::account_name)?;
        let ignore_unknown = self.accept_words(&["IGNORE", "UNKNOWN", "USER"]);
        Ok(statement(RoleStatement::Revoke { if_exists, roles, from, ignore_unknown }))
    }

    /// SET ROLE, after SET.
    pub(super) fn set_role(&mut self) -> Parsed<StatementKind> {
        self.expect_word("ROLE")?;
        let roles = match () {
            () if self.accept_word("DEFAULT") => RoleSelection::Default,
            () if self.accept_words(&["ALL", "EXCEPT"]) => RoleSelection::AllExcept(self.role_names()?),
            () => self.selected_roles()?,
        };
        Ok(statement(RoleStatement::Set(roles)))
    }

    /// SET DEFAULT ROLE, after SET.
    pub(super) fn set_default_role(&mut self) -> Parsed<StatementKind> {
        self.expect_words(&["DEFAULT", "ROLE"])?;
        let roles = self.selected_roles()?;
        self.expect_word("TO")?;
        let accounts = self.comma_list(Self::account_name)?;
        Ok(statement(RoleStatement::SetDefault { if_exists: false, roles, accounts }))
    }

    /// ALTER USER account DEFAULT ROLE, at DEFAULT.
    pub(super) fn alter_default_role(
        &mut self,
        if_exists: bool,
        account: AccountName,
    ) -> Parsed<StatementKind> {
        self.expect_words(&["DEFAULT", "ROLE"])?;
        let roles = self.selected_roles()?;
        Ok(statement(RoleStatement::SetDefault { if_exists, roles, accounts: vec![account] }))
    }

    /// NONE, ALL or a list of roles.
    fn selected_roles(&mut self) -> Parsed<RoleSelection> {
        Ok(match () {
            () if self.accept_word("NONE") => RoleSelection::None,
            () if self.accept_word("ALL") => RoleSelection::AllExcept(Vec::new()),
            () => RoleSelection::These(self.role_names()?),
        })
    }

    pub(super) fn role_names(&mut self) -> Parsed<Vec<AccountName>> {
        self.comma_list(Self::role_name)
    }

    /// The name of a role. CURRENT_USER is none.
    fn role_name(&mut self) -> Parsed<AccountName> {
        let start = self.span();
        match self.account_name()? {
            name if name.current => Err(self.syntax_error_at(start)),
            name => Ok(name),
        }
    }
}
