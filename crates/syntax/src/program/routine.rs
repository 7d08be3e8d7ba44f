//! Procedures and functions: parameters, characteristics, CALL.

use super::super::ast::{
    AlterProgram, Call, Characteristics, ColumnName, DataAccess, Direction, Expr, ExprKind, ProgramForm,
    ProgramKind, ProgramStatement, Routine, RoutineParameter, Security, Span, StatementKind, StoredCall,
    TableName,
};
use super::super::cursor::{Parsed, Parser};
use super::super::lexer::Symbol;
use super::super::scope::{Scope, Variable};
use leafline_types::error::MysqlError;

impl Parser<'_> {
    /// Parses CREATE PROCEDURE after the name.
    pub(super) fn create_procedure(&mut self) -> Parsed<(ProgramForm, ProgramStatement)> {
        let (parameters, parameters_span) = self.parameters(Self::procedure_parameter)?;
        let scope = declared(Scope::new(ProgramKind::Procedure), &parameters)?;
        let characteristics = self.characteristics(true)?;
        let routine = Routine { parameters, parameters_span, characteristics };
        self.program_body(scope, || ProgramForm::Procedure(routine))
    }

    /// Parses CREATE FUNCTION after the name.
    pub(super) fn create_function(&mut self, name: &TableName) -> Parsed<(ProgramForm, ProgramStatement)> {
        if self.at_word("RETURNS") {
            return self.refuse("loadable functions");
        }
        let (parameters, parameters_span) = self.parameters(|p| p.parameter(Direction::In))?;
        let scope = declared(Scope::of_function(name.dotted()), &parameters)?;
        self.expect_word("RETURNS")?;
        let returns = self.data_type()?;
        let characteristics = self.characteristics(true)?;
        let routine = Routine { parameters, parameters_span, characteristics };
        self.program_body(scope, || ProgramForm::Function { routine, returns })
    }

    /// Parses `(parameters)`; also returns the place of the text between the parentheses.
    fn parameters(
        &mut self,
        rule: impl FnMut(&mut Self) -> Parsed<RoutineParameter>,
    ) -> Parsed<(Vec<RoutineParameter>, Span)> {
        let open = self.span();
        self.expect_symbol(Symbol::LeftParen)?;
        let parameters = match self.at_symbol(Symbol::RightParen) {
            true => Vec::new(),
            false => self.comma_list(rule)?,
        };
        let close = self.span();
        self.expect_symbol(Symbol::RightParen)?;
        Ok((parameters, Span { start: open.end, end: close.start }))
    }

    /// `[IN | OUT | INOUT] name type`.
    fn procedure_parameter(&mut self) -> Parsed<RoutineParameter> {
        let direction = if self.accept_word("OUT") {
            Direction::Out
        } else if self.accept_word("INOUT") {
            Direction::InOut
        } else {
            self.accept_word("IN");
            Direction::In
        };
        self.parameter(direction)
    }

    fn parameter(&mut self, direction: Direction) -> Parsed<RoutineParameter> {
        Ok(RoutineParameter { direction, name: self.ident()?, data_type: self.data_type()? })
    }

    /// Parses characteristics, possibly none. DETERMINISTIC is one of CREATE only.
    fn characteristics(&mut self, creates: bool) -> Parsed<Characteristics> {
        let mut found = Characteristics::default();
        loop {
            if self.accept_word("COMMENT") {
                found.comment = Some(self.string()?);
            } else if self.accept_word("LANGUAGE") {
                if !self.accept_word("SQL") {
                    let language = self.ident_or_string()?.value;
                    return self.refuse(&format!("LANGUAGE {language}"));
                }
            } else if creates && self.accept_word("DETERMINISTIC") {
                found.deterministic = Some(true);
            } else if creates && self.accept_words(&["NOT", "DETERMINISTIC"]) {
                found.deterministic = Some(false);
            } else if self.accept_words(&["SQL", "SECURITY"]) {
                let by_definer = self.accept_word("DEFINER");
                if !by_definer {
                    self.expect_word("INVOKER")?;
                }
                found.security = Some(if by_definer { Security::Definer } else { Security::Invoker });
            } else if let Some(data) = self.data_access() {
                found.data = Some(data);
            } else {
                return Ok(found);
            }
        }
    }

    fn data_access(&mut self) -> Option<DataAccess> {
        let forms: [(&[&str], DataAccess); 4] = [
            (&["CONTAINS", "SQL"], DataAccess::ContainsSql),
            (&["NO", "SQL"], DataAccess::NoSql),
            (&["READS", "SQL", "DATA"], DataAccess::ReadsSqlData),
            (&["MODIFIES", "SQL", "DATA"], DataAccess::ModifiesSqlData),
        ];
        forms.into_iter().find(|(words, _)| self.accept_words(words)).map(|(_, data)| data)
    }

    /// Parses ALTER PROCEDURE or ALTER FUNCTION after the verb.
    pub(crate) fn alter_routine(&mut self) -> Parsed<StatementKind> {
        let (kind, word) = match self.accept_word("PROCEDURE") {
            true => (ProgramKind::Procedure, "PROCEDURE"),
            false => {
                self.expect_word("FUNCTION")?;
                (ProgramKind::Function, "FUNCTION")
            }
        };
        if self.scope.is_some() {
            return Err(MysqlError::routine_in_use(word));
        }
        let name = self.program_name()?;
        let characteristics = self.characteristics(false)?;
        Ok(StatementKind::AlterProgram(AlterProgram::Routine { kind, name, characteristics }))
    }

    /// `CALL name [(arguments)]`.
    pub(crate) fn call_procedure(&mut self) -> Parsed<StatementKind> {
        self.expect_word("CALL")?;
        let name = self.program_name()?;
        let arguments = match self.at_symbol(Symbol::LeftParen) {
            true => self.call_arguments()?,
            false => Vec::new(),
        };
        Ok(StatementKind::Call(Call { name, arguments }))
    }

    /// Parses the arguments of a call of `name`, a function named with its database.
    pub(crate) fn stored_call(&mut self, name: TableName) -> Parsed<StoredCall> {
        Ok(StoredCall { name, arguments: self.call_arguments()? })
    }

    fn call_arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect_symbol(Symbol::LeftParen)?;
        let arguments = match self.at_symbol(Symbol::RightParen) {
            true => Vec::new(),
            false => self.expressions()?,
        };
        self.expect_symbol(Symbol::RightParen)?;
        Ok(arguments)
    }

    /// Parses a value of LIMIT that is a variable of the program (errors 1327, 1691); a name alone comes next.
    pub(crate) fn limit_variable(&mut self) -> Parsed<Expr> {
        if self.scope.is_none() || !self.is_ident_at(0) {
            return Err(self.syntax_error());
        }
        let name = self.declared_variable()?;
        let integer =
            self.scope.as_ref().and_then(|scope| scope.variable(&name.value)).is_some_and(|v| v.is_integer);
        if !integer {
            return Err(MysqlError::limit_variable_not_integer());
        }
        let span = name.span;
        let column = ColumnName { database: None, table: None, column: name };
        Ok(Expr { kind: ExprKind::Column(column), span })
    }
}

/// Adds the parameters to the scope.
fn declared(mut scope: Scope, parameters: &[RoutineParameter]) -> Parsed<Scope> {
    for parameter in parameters {
        scope.add_parameter(&parameter.name, Variable::new(parameter.data_type.name, None))?;
    }
    Ok(scope)
}
