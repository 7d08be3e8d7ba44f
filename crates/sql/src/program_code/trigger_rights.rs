//! The privileges of a trigger's definer on the columns of the trigger's table: SELECT on those of OLD and NEW that the body reads,
//! UPDATE on those of NEW that it assigns.
//!
//! The body's text says which columns these are: each `OLD.column` and `NEW.column` is a read, unless it is assigned there.

use crate::accounts::{Access, Privilege, Privileges};
use leafline_planner::Authority;
use leafline_syntax::LexMode;
use leafline_syntax::lexer::{Symbol, Token, TokenKind, tokenize};
use leafline_table::{ProgramDef, TableDef};
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

/// Checks that the table has each column of OLD and NEW that a trigger's body names.
///
/// # Errors
/// 1054.
pub(crate) fn check_columns((text, mode): (&str, LexMode), table: &TableDef) -> Result<(), MysqlError> {
    let tokens = tokenize(text, mode);
    let word = |at: usize, word: &str| {
        tokens.get(at).is_some_and(|token: &Token| token.span.text(text).eq_ignore_ascii_case(word))
    };
    let body = (1..tokens.len()).find(|at| word(at - 1, "EACH") && word(*at, "ROW")).unwrap_or(0);
    for (at, three) in tokens.windows(3).enumerate().skip(body) {
        // A table of a database may have one of these names.
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let is_table = before.is_some_and(|before| before.kind == TokenKind::Symbol(Symbol::Dot));
        let Some(column) = column(text, three).filter(|_| !is_table) else { continue };
        if !table.columns.iter().any(|known| known.name.to_lowercase() == column) {
            let row = three.first().and_then(|row| name(text, row)).unwrap_or_default().to_uppercase();
            let written = three.last().and_then(|column| name(text, column)).unwrap_or(column);
            return Err(MysqlError::unknown_column(&written, row));
        }
    }
    Ok(())
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
