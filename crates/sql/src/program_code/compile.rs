//! Compiles the syntax tree of a stored program to steps.
//!
//! Names of variables, cursors and labels become numbers. The parser has checked that they are declared.
//! Handler bodies stand behind the body of their block, in the scope of the handlers around it, so that a
//! block's handlers do not apply in them.

use super::code::{
    Code, Condition, ExpressionCode, HandlerCode, HandlerScope, Slot, StatementCode, Step, StepKind,
};
use super::names::{Named, Names};
use leafline_planner::binder::{TypeRules, column_type};
use leafline_syntax::ast::{
    Block, ConditionValue, CreateProgram, DataType, Declaration, Direction, Expr, ExprKind, HandlerAction,
    Ident, Literal, ProgramForm, ProgramStatement, ProgramStatementKind, SetItem, Span, Statement,
    StatementKind,
};
use leafline_types::{Collation, MysqlError};
use std::borrow::Cow;
use std::sync::Arc;

/// The settings of compilation besides the program's tree.
pub(crate) struct CompileContext<'c> {
    /// The name with its database.
    pub(crate) name: String,
    /// The collation of variables that name none.
    pub(crate) collation: Collation,
    /// The columns of a trigger's rows: `NEW` or `OLD`, and the column.
    pub(crate) rows: Vec<(&'static str, Slot)>,
    /// The text of the CREATE statement.
    pub(crate) text: &'c str,
}

/// Compiles a program.
///
/// # Errors
/// The errors of column types; 1327 and 1308 for names that are not declared.
pub(crate) fn compile(create: &CreateProgram, context: CompileContext<'_>) -> Result<Code, MysqlError> {
    let mut compiler = Compiler::new(context.collation, context.text);
    let (routine, returns) = match &create.form {
        ProgramForm::Procedure(routine) => (Some(routine), None),
        ProgramForm::Function { routine, returns } => (Some(routine), Some(returns)),
        ProgramForm::Trigger(_) | ProgramForm::Event(_) => (None, None),
    };
    let mut directions = Vec::new();
    for parameter in routine.map_or(&[][..], |routine| &routine.parameters) {
        let slot = compiler.slot(&parameter.name.value, &parameter.data_type)?;
        compiler.declare(None, &parameter.name.value, slot);
        directions.push(parameter.direction);
    }
    for (row, slot) in context.rows {
        let name = slot.name.clone();
        let number = compiler.add_slot(slot);
        compiler.declare(Some(row), &name, number);
        directions.push(Direction::In);
    }
    // Errors of converting the result name it as a call.
    let result = format!("{}()", create.name.name.value);
    let returns = returns.map(|returns| compiler.typed(&result, returns)).transpose()?;
    compiler.statement(&create.body)?;
    compiler.emit(StepKind::End);
    Ok(Code {
        text: context.text.to_owned(),
        kind: create.kind(),
        name: context.name,
        types: compiler.slots.iter().map(Slot::expr_type).collect(),
        slots: compiler.slots,
        parameters: directions,
        returns,
        steps: compiler.steps,
        scopes: compiler.scopes,
        expressions: compiler.expressions,
        statements: compiler.statements,
        cursors: compiler.cursors,
    })
}

/// A label that LEAVE and ITERATE can name.
struct Label {
    name: String,
    /// The step of ITERATE; `None` for a block.
    start: Option<usize>,
    /// The jumps of LEAVE and ITERATE that wait for their targets.
    leaves: Vec<usize>,
    iterates: Vec<usize>,
    /// The number of cursors when the statement began.
    cursors: usize,
}

/// The declarations of one block.
#[derive(Default)]
struct Declared {
    names: Arc<Names>,
    cursors: Vec<(String, usize)>,
    conditions: Vec<(String, Condition)>,
}

struct Compiler<'c> {
    collation: Collation,
    text: &'c str,
    slots: Vec<Slot>,
    steps: Vec<Step>,
    scopes: Vec<HandlerScope>,
    expressions: Vec<ExpressionCode>,
    statements: Vec<StatementCode>,
    cursors: Vec<usize>,
    scope: usize,
    labels: Vec<Label>,
    blocks: Vec<Declared>,
}

impl<'c> Compiler<'c> {
    fn new(collation: Collation, text: &'c str) -> Compiler<'c> {
        Compiler {
            collation,
            text,
            slots: Vec::new(),
            steps: Vec::new(),
            scopes: vec![HandlerScope::default()],
            expressions: Vec::new(),
            statements: Vec::new(),
            cursors: Vec::new(),
            scope: 0,
            labels: Vec::new(),
            blocks: vec![Declared::default()],
        }
    }

    fn here(&self) -> usize {
        self.steps.len()
    }

    fn emit(&mut self, kind: StepKind) -> usize {
        let at = self.here();
        self.steps.push(Step { kind, scope: self.scope, resume: at + 1 });
        at
    }

    /// Sets the target of a jump.
    fn patch(&mut self, at: usize, to: usize) {
        let kind = self.steps.get_mut(at).map(|step| &mut step.kind);
        if let Some(StepKind::Jump(target) | StepKind::JumpUnless { target, .. }) = kind {
            *target = to;
        }
    }

    /// Lets CONTINUE go on at `to` after a condition of these steps.
    fn resume_at(&mut self, steps: &[usize], to: usize) {
        for at in steps {
            if let Some(step) = self.steps.get_mut(*at) {
                step.resume = to;
            }
        }
    }

    // --- names ---

    fn typed(&self, name: &str, written: &DataType) -> Result<Slot, MysqlError> {
        let ty = column_type(name, written, self.collation, TypeRules::STRICT)?;
        Ok(Slot { name: name.to_owned(), ty: ty.ty, collation: ty.collation })
    }

    fn slot(&mut self, name: &str, written: &DataType) -> Result<usize, MysqlError> {
        let slot = self.typed(name, written)?;
        Ok(self.add_slot(slot))
    }

    fn add_slot(&mut self, slot: Slot) -> usize {
        self.slots.push(slot);
        self.slots.len() - 1
    }

    fn declare(&mut self, row: Option<&'static str>, name: &str, number: usize) {
        if let Some(block) = self.blocks.last_mut() {
            let names = Arc::make_mut(&mut block.names);
            names.add(Named { row, name: name.to_owned(), number });
        }
    }

    fn names(&self) -> Arc<Names> {
        self.blocks.last().map(|block| block.names.clone()).unwrap_or_default()
    }

    fn variable(&self, row: Option<&str>, name: &Ident) -> Result<usize, MysqlError> {
        let found = self.names().find(row, &name.value);
        found.ok_or_else(|| match row {
            Some(row) => MysqlError::unknown_column(&name.value, row),
            None => MysqlError::undeclared_variable(&name.value),
        })
    }

    fn cursor(&self, name: &Ident) -> Result<usize, MysqlError> {
        let named = |(known, _): &&(String, usize)| known.eq_ignore_ascii_case(&name.value);
        let found = self.blocks.iter().rev().find_map(|block| block.cursors.iter().rev().find(named));
        found.map(|(_, cursor)| *cursor).ok_or_else(|| MysqlError::undefined_cursor(&name.value))
    }

    fn condition(&self, value: &ConditionValue) -> Result<Condition, MysqlError> {
        Ok(match value {
            ConditionValue::Number(number) => Condition::Number(*number),
            ConditionValue::State(state) => Condition::State(*state),
            ConditionValue::Warning => Condition::Warning,
            ConditionValue::NotFound => Condition::NotFound,
            ConditionValue::Exception => Condition::Exception,
            ConditionValue::Name(name) => {
                let named = |(known, _): &&(String, Condition)| known.eq_ignore_ascii_case(&name.value);
                let found =
                    self.blocks.iter().rev().find_map(|block| block.conditions.iter().rev().find(named));
                let found = found.map(|(_, condition)| *condition);
                found.ok_or_else(|| MysqlError::undefined_condition(&name.value))?
            }
        })
    }

    // --- expressions and statements ---

    fn expression(&mut self, expr: &Expr) -> usize {
        self.expressions.push(ExpressionCode { expr: expr.clone(), names: self.names() });
        self.expressions.len() - 1
    }

    fn add_statement(&mut self, statement: Statement, span: Span) -> usize {
        let (names, slots) = self.names().mentioned(span.text(self.text));
        let types = slots.iter().filter_map(|slot| self.slots.get(*slot)).map(Slot::expr_type).collect();
        self.statements.push(StatementCode { statement, span, names: Arc::new(names), slots, types });
        self.statements.len() - 1
    }

    fn set(&mut self, slot: usize, value: &Expr) {
        let value = self.expression(value);
        self.emit(StepKind::Set { slot, value });
    }

    fn sql(&mut self, statement: &Statement, span: Span) -> Result<(), MysqlError> {
        let StatementKind::Set(items) = &statement.kind else {
            let statement = self.add_statement(statement.clone(), span);
            self.emit(StepKind::Sql(statement));
            return Ok(());
        };
        // Each assignment is a step, so that a handler goes on with the next one, as in MySQL.
        for item in items {
            match item {
                SetItem::Local { name, value } => {
                    let slot = self.variable(None, name)?;
                    self.set(slot, value);
                }
                SetItem::New { column, value } => {
                    let slot = self.variable(Some("NEW"), column)?;
                    self.set(slot, value);
                }
                other => {
                    let one =
                        Statement { kind: StatementKind::Set(vec![other.clone()]), ..statement.clone() };
                    let statement = self.add_statement(one, span);
                    self.emit(StepKind::Sql(statement));
                }
            }
        }
        Ok(())
    }

    fn statement(&mut self, statement: &ProgramStatement) -> Result<(), MysqlError> {
        use ProgramStatementKind as K;
        match &statement.kind {
            K::Block(block) => self.block(block),
            K::If { branches, otherwise } => {
                let branches = branches.iter().map(|(condition, body)| (Cow::Borrowed(condition), body));
                self.branches(branches, otherwise.as_deref(), false)
            }
            K::Case { operand, branches, otherwise } => {
                self.case(operand.as_ref(), branches, otherwise.as_deref(), statement.span)
            }
            K::Loop { label, body } => {
                let start = self.here();
                self.open_label(label.as_ref(), Some(start));
                self.body(body)?;
                self.emit(StepKind::Jump(start));
                self.close_label(label.as_ref(), start);
                Ok(())
            }
            K::While { label, condition, body } => {
                let start = self.here();
                self.open_label(label.as_ref(), Some(start));
                let condition = self.expression(condition);
                let test = self.emit(StepKind::JumpUnless { condition, target: 0 });
                self.body(body)?;
                self.emit(StepKind::Jump(start));
                let end = self.here();
                self.patch(test, end);
                self.resume_at(&[test], end);
                self.close_label(label.as_ref(), start);
                Ok(())
            }
            K::Repeat { label, body, until } => {
                let start = self.here();
                // ITERATE of a REPEAT begins the next round without testing the condition.
                self.open_label(label.as_ref(), Some(start));
                self.body(body)?;
                let condition = self.expression(until);
                self.emit(StepKind::JumpUnless { condition, target: start });
                self.close_label(label.as_ref(), start);
                Ok(())
            }
            K::Leave(label) => self.leave(label, false),
            K::Iterate(label) => self.leave(label, true),
            K::Return(value) => {
                let value = self.expression(value);
                self.emit(StepKind::Return(value));
                Ok(())
            }
            K::Open(name) => self.cursor_step(name, StepKind::Open),
            K::Close(name) => self.cursor_step(name, StepKind::Close),
            K::Fetch { cursor, into } => {
                let into = into.iter().map(|name| self.variable(None, name)).collect::<Result<_, _>>()?;
                self.cursor_step(cursor, |cursor| StepKind::Fetch { cursor, into })
            }
            K::Sql(sql) => self.sql(sql, statement.span),
        }
    }

    fn body(&mut self, statements: &[ProgramStatement]) -> Result<(), MysqlError> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn cursor_step(&mut self, name: &Ident, step: impl FnOnce(usize) -> StepKind) -> Result<(), MysqlError> {
        let cursor = self.cursor(name)?;
        self.emit(step(cursor));
        Ok(())
    }

    // --- flow of control ---

    /// Compiles conditions, which are tested one after the other, and the statements behind each. Without ELSE a CASE fails.
    fn branches<'s>(
        &mut self,
        branches: impl Iterator<Item = (Cow<'s, Expr>, &'s Vec<ProgramStatement>)>,
        otherwise: Option<&[ProgramStatement]>,
        is_case: bool,
    ) -> Result<(), MysqlError> {
        let (mut tests, mut ends) = (Vec::new(), Vec::new());
        for (condition, body) in branches {
            let condition = self.expression(&condition);
            let test = self.emit(StepKind::JumpUnless { condition, target: 0 });
            tests.push(test);
            self.body(body)?;
            ends.push(self.emit(StepKind::Jump(0)));
            let next = self.here();
            self.patch(test, next);
        }
        match otherwise {
            None if is_case => tests.push(self.emit(StepKind::CaseMissing)),
            otherwise => self.body(otherwise.unwrap_or_default())?,
        }
        let end = self.here();
        ends.into_iter().for_each(|jump| self.patch(jump, end));
        self.resume_at(&tests, end);
        Ok(())
    }

    /// Compiles CASE. Of WHENs that may fail, those behind the one that holds are not evaluated, nor looked at.
    fn case(
        &mut self,
        operand: Option<&Expr>,
        branches: &[(Expr, Vec<ProgramStatement>)],
        otherwise: Option<&[ProgramStatement]>,
        span: Span,
    ) -> Result<(), MysqlError> {
        let is_plain = |expr: &Expr| matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Column(_));
        match operand {
            None => {
                let branches = branches.iter().map(|(when, body)| (Cow::Borrowed(when), body));
                self.branches(branches, otherwise, true)
            }
            Some(operand) if is_plain(operand) && !branches.iter().all(|(when, _)| is_plain(when)) => {
                let number = |number: u64| Expr { kind: ExprKind::Literal(Literal::Integer(number)), span };
                let equals = |when: &Expr| ExprKind::Case {
                    operand: Some(Box::new(operand.clone())),
                    branches: vec![(when.clone(), number(1))],
                    otherwise: Some(Box::new(number(0))),
                };
                let condition = |when: &Expr| Cow::Owned(Expr { kind: equals(when), span });
                let branches = branches.iter().map(|(when, body)| (condition(when), body));
                self.branches(branches, otherwise, true)
            }
            Some(operand) => self.switch(operand, branches, otherwise, span),
        }
    }

    /// Compiles CASE of an operand: an expression of the same form gives the number of the branch, so that the operand
    /// is evaluated once.
    fn switch(
        &mut self,
        operand: &Expr,
        branches: &[(Expr, Vec<ProgramStatement>)],
        otherwise: Option<&[ProgramStatement]>,
        span: Span,
    ) -> Result<(), MysqlError> {
        let number = |number: usize| Expr { kind: ExprKind::Literal(Literal::Integer(number as u64)), span };
        let whens = branches.iter().enumerate().map(|(at, (when, _))| (when.clone(), number(at))).collect();
        let kind = ExprKind::Case {
            operand: Some(Box::new(operand.clone())),
            branches: whens,
            otherwise: Some(Box::new(number(branches.len()))),
        };
        let branch = self.expression(&Expr { kind, span });
        let switch = self.emit(StepKind::Switch { branch, targets: Vec::new() });
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for (_, body) in branches {
            starts.push(self.here());
            self.body(body)?;
            ends.push(self.emit(StepKind::Jump(0)));
        }
        starts.push(self.here());
        let missing = match otherwise {
            Some(body) => {
                self.body(body)?;
                None
            }
            None => Some(self.emit(StepKind::CaseMissing)),
        };
        let end = self.here();
        ends.into_iter().for_each(|jump| self.patch(jump, end));
        self.resume_at(&[switch], end);
        self.resume_at(missing.as_slice(), end);
        if let Some(StepKind::Switch { targets, .. }) = self.steps.get_mut(switch).map(|step| &mut step.kind)
        {
            *targets = starts;
        }
        Ok(())
    }

    fn open_label(&mut self, label: Option<&Ident>, start: Option<usize>) {
        if let Some(label) = label {
            self.labels.push(Label {
                name: label.value.clone(),
                start,
                leaves: Vec::new(),
                iterates: Vec::new(),
                cursors: self.cursors.len(),
            });
        }
    }

    /// Ends the label of the statement that ends here; ITERATE goes to `start`.
    fn close_label(&mut self, label: Option<&Ident>, start: usize) {
        if label.is_none() {
            return;
        }
        let Some(label) = self.labels.pop() else { return };
        let end = self.here();
        label.leaves.into_iter().for_each(|jump| self.patch(jump, end));
        label.iterates.into_iter().for_each(|jump| self.patch(jump, start));
    }

    /// Compiles LEAVE, or ITERATE with `again`.
    fn leave(&mut self, name: &Ident, again: bool) -> Result<(), MysqlError> {
        let known =
            |label: &Label| label.name.eq_ignore_ascii_case(&name.value) && (label.start.is_some() || !again);
        let Some(at) = self.labels.iter().rposition(known) else {
            let verb = if again { "ITERATE" } else { "LEAVE" };
            return Err(MysqlError::no_such_label(verb, &name.value));
        };
        let left = self.labels.get(at).map_or(0, |label| label.cursors)..self.cursors.len();
        if !left.is_empty() {
            self.emit(StepKind::CloseAll(left));
        }
        let jump = self.emit(StepKind::Jump(0));
        if let Some(label) = self.labels.get_mut(at) {
            if again { label.iterates.push(jump) } else { label.leaves.push(jump) }
        }
        Ok(())
    }

    // --- blocks ---

    fn block(&mut self, block: &Block) -> Result<(), MysqlError> {
        let around = self.scope;
        let first_cursor = self.cursors.len();
        self.open_label(block.label.as_ref(), None);
        self.blocks.push(Declared { names: self.names(), ..Declared::default() });
        let mut handlers = Vec::new();
        for declaration in &block.declarations {
            match declaration {
                Declaration::Handler(handler) => handlers.push(handler),
                other => self.declaration(other)?,
            }
        }
        if !handlers.is_empty() {
            let depth = self.scopes.get(around).map_or(0, |scope| scope.depth) + 1;
            self.scopes.push(HandlerScope { parent: Some(around), depth, handlers: Vec::new() });
            self.scope = self.scopes.len() - 1;
        }
        let own = self.scope;
        self.body(&block.body)?;
        self.scope = around;
        let mut exits = Vec::new();
        if !handlers.is_empty() {
            exits.push(self.emit(StepKind::Jump(0)));
        }
        // The labels around a handler are not visible in it.
        let labels = std::mem::take(&mut self.labels);
        for handler in handlers {
            let conditions =
                handler.conditions.iter().map(|value| self.condition(value)).collect::<Result<_, _>>()?;
            let entry = self.here();
            if let Some(scope) = self.scopes.get_mut(own) {
                scope.handlers.push(HandlerCode { conditions, entry });
            }
            self.statement(&handler.body)?;
            let end = self.emit(StepKind::EndHandler(None));
            if handler.action == HandlerAction::Exit {
                exits.push(end);
            }
        }
        self.labels = labels;
        self.blocks.pop();
        let end = self.here();
        for exit in exits {
            match self.steps.get_mut(exit).map(|step| &mut step.kind) {
                Some(StepKind::Jump(target)) => *target = end,
                Some(StepKind::EndHandler(target)) => *target = Some(end),
                _ => {}
            }
        }
        self.close_label(block.label.as_ref(), end);
        if self.cursors.len() > first_cursor {
            self.emit(StepKind::CloseAll(first_cursor..self.cursors.len()));
        }
        Ok(())
    }

    fn declaration(&mut self, declaration: &Declaration) -> Result<(), MysqlError> {
        match declaration {
            Declaration::Variables { names, data_type, default } => {
                for name in names {
                    let slot = self.slot(&name.value, data_type)?;
                    // The default of a variable does not see the variable itself.
                    match default {
                        Some(default) => self.set(slot, default),
                        None => {
                            self.emit(StepKind::Clear(slot));
                        }
                    }
                    self.declare(None, &name.value, slot);
                }
            }
            Declaration::Condition { name, value } => {
                let condition = self.condition(value)?;
                if let Some(block) = self.blocks.last_mut() {
                    block.conditions.push((name.value.clone(), condition));
                }
            }
            Declaration::Cursor { name, query, span } => {
                let statement = self.add_statement((**query).clone(), *span);
                self.cursors.push(statement);
                let cursor = self.cursors.len() - 1;
                if let Some(block) = self.blocks.last_mut() {
                    block.cursors.push((name.value.clone(), cursor));
                }
            }
            Declaration::Handler(_) => {}
        }
        Ok(())
    }
}
