//! The privileges of a trigger's definer on the columns of the trigger's table: SELECT on those of OLD and NEW that the body reads,
//! UPDATE on those of NEW that it assigns.
//!
//! The body's text says which columns these are: each `OLD.column` and `NEW.column` is a read, unless it is assigned there.

use crate::accounts::{Access, Privilege, Privileges};
use leafline_planner::Authority;
use leafline_syntax::LexMode;
use leafline_syntax::lexer::{Symbol, Token, TokenKind, tokenize};
use leafline_table::ProgramDef;
use leafline_types::MysqlError;

/// The columns that a trigger reads and assigns.
pub(crate) struct TriggerRights {
    /// The names of columns with the privileges that they take; none occurs twice with one privilege.
    columns: Vec<(String, Privilege)>,
}

impl TriggerRights {
    /// Finds the columns in a trigger's text. `names` are the columns of the table; `assignments` are the places of the ones that
    /// steps assign, one for each assignment in the text.
    pub(crate) fn of<'n>(
        (text, mode): (&str, LexMode),
        names: impl Iterator<Item = &'n str>,
        assignments: &[usize],
    ) -> TriggerRights {
        let tokens = tokenize(text, mode);
        let mentioned: Vec<String> = tokens.windows(3).filter_map(|three| column(text, three)).collect();
        let mut columns = Vec::new();
        for (at, name) in names.enumerate() {
            let lower = name.to_lowercase();
            let assigned = assignments.iter().filter(|known| **known == at).count();
            if assigned > 0 {
                columns.push((name.to_owned(), Privilege::Update));
            }
            if mentioned.iter().filter(|known| **known == lower).count() > assigned {
                columns.push((name.to_owned(), Privilege::Select));
            }
        }
        TriggerRights { columns }
    }

    /// Checks that the definer, under whose rights the session runs, has them.
    ///
    /// # Errors
    /// 1143.
    pub(crate) fn check(&self, access: &Access, def: &ProgramDef) -> Result<(), MysqlError> {
        const BOTH: Privileges = Privileges::of_both(Privilege::Select, Privilege::Update);
        if access.holds_everywhere(BOTH) {
            return Ok(());
        }
        let Some(trigger) = def.trigger() else { return Ok(()) };
        let rights = access.rights_on(&def.database, &trigger.table);
        let missing = |(column, wanted): &&(String, Privilege)| {
            !rights.has(*wanted) && !rights.on_column(column).has(*wanted)
        };
        match self.columns.iter().find(missing) {
            Some((column, wanted)) => Err(access.column_denied(*wanted, column, &trigger.table)),
            None => Ok(()),
        }
    }
}

/// Returns the column, in lower case, of three tokens that are `OLD.column` or `NEW.column`.
fn column(text: &str, tokens: &[Token]) -> Option<String> {
    let [row, dot, column] = tokens else { return None };
    if dot.kind != TokenKind::Symbol(Symbol::Dot) {
        return None;
    }
    let row = name(text, row)?;
    let is_row = ["OLD", "NEW"].iter().any(|known| row.eq_ignore_ascii_case(known));
    is_row.then(|| name(text, column)).flatten().map(|name| name.to_lowercase())
}

/// Returns the name that a token is.
fn name(text: &str, token: &Token) -> Option<String> {
    let written = token.span.text(text);
    match token.kind {
        TokenKind::Word => Some(written.to_owned()),
        TokenKind::QuotedIdent => {
            let quote = written.chars().next()?;
            let inner = written.strip_prefix(quote)?.strip_suffix(quote)?;
            Some(inner.replace(&format!("{quote}{quote}"), &quote.to_string()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_assignments_of_columns_take_privileges() {
        let names = ["a", "b", "c`d", "e"].into_iter();
        let text = "TRIGGER t BEFORE UPDATE ON x FOR EACH ROW BEGIN SET NEW.a = old.B + 1, new . `c``d` = 'NEW.e'; \
                    SET NEW.a = NEW.a; END";
        let found = TriggerRights::of((text, LexMode::default()), names, &[0, 0, 2]);
        let found: Vec<_> = found.columns.iter().map(|(name, wanted)| (name.as_str(), *wanted)).collect();
        assert_eq!(
            found,
            [
                ("a", Privilege::Update),
                ("a", Privilege::Select),
                ("b", Privilege::Select),
                ("c`d", Privilege::Update)
            ]
        );
    }
}
