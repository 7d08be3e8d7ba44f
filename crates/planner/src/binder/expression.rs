//! Binds expressions.
//!
//! Each form has a small function of its own. The binder recurses as deep as the expression is tall, and small stack frames allow
//! taller expressions.

use leafline_expr as expr;

use leafline_expr::{ArithmeticOp, EvalContext, Expr, SessionFacts, build};
use leafline_types::{Charset, Collation, ExprType, IntervalUnit, MysqlError, SqlType, Value, Warnings};

use super::scope::{Block, Clause, Scope, qualified};
use super::{Binder, cast, literal};
use crate::CONDITION_COUNTS;
use leafline_syntax::ast::{
    self, BinaryOp, ColumnName, CompareOp, ExprKind, IsTest, Literal, TrimSide, UnaryOp,
};

pub(super) type Bound = Result<Expr, MysqlError>;

impl Binder<'_> {
    /// Binds an expression at a place of a block.
    pub(super) fn expression(
        &mut self,
        block: &mut Block,
        scope: &Scope,
        clause: Clause,
        expr: &ast::Expr,
    ) -> Bound {
        ExpressionBinder { binder: self, block, scope, clause }.bind(expr)
    }
}

/// Binds expressions of one clause.
pub(super) struct ExpressionBinder<'b, 'a, 's> {
    pub(super) binder: &'b mut Binder<'a>,
    pub(super) block: &'b mut Block,
    pub(super) scope: &'s Scope,
    pub(super) clause: Clause,
}

fn unsupported(what: &str) -> Bound {
    Err(MysqlError::not_supported(what))
}

impl ExpressionBinder<'_, '_, '_> {
    pub(super) fn bind(&mut self, e: &ast::Expr) -> Bound {
        self.binder.context.cancel.check()?;
        match &e.kind {
            ExprKind::Literal(literal) => self.literal(literal, false),
            ExprKind::Column(name) => self.column(name),
            ExprKind::Parameter(number) => Ok(self.parameter(*number)),
            ExprKind::UserVariable(name) => self.user_variable(name),
            ExprKind::SystemVariable { scope, name } => self.system_variable(*scope, name),
            ExprKind::AssignVariable { name, value } => {
                let value = self.bind(value)?;
                self.binder.assigns(name, &value);
                Ok(self.counted(build::assign_variable(name, value)?))
            }
            ExprKind::Unary { op, operand } => self.unary(*op, operand),
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right),
            ExprKind::Compare { op, left, right } => self.compare(*op, left, right),
            ExprKind::And(items) => Ok(build::and(self.truths(items)?)),
            ExprKind::Or(items) => Ok(build::or(self.truths(items)?)),
            ExprKind::Xor(left, right) => self.xor(left, right),
            ExprKind::Not(operand) => Ok(build::not(self.truth(operand)?)),
            ExprKind::Is { operand, test, negated } => self.is_test(operand, *test, *negated),
            ExprKind::Between { operand, low, high, negated } => self.between(operand, low, high, *negated),
            ExprKind::InList { operand, list, negated } => self.in_list(operand, list, *negated),
            ExprKind::Like { operand, pattern, escape, negated } => {
                self.like(operand, pattern, escape.as_deref(), *negated)
            }
            ExprKind::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref())
            }
            ExprKind::Cast { operand, target } => self.cast(operand, target),
            ExprKind::ConvertUsing { operand, charset } => {
                let operand = self.bind(operand)?;
                cast::convert_using(
                    operand,
                    build::CastTarget::Char(None),
                    charset,
                    Charset::default_collation,
                )
            }
            ExprKind::Collate { operand, collation } => self.collate(operand, &collation.value),
            ExprKind::DateArithmetic { operand, amount, unit, subtract } => {
                self.date_arithmetic(operand, amount, *unit, *subtract)
            }
            ExprKind::Extract { unit, operand } => build::extract(*unit, self.bind(operand)?),
            ExprKind::Trim { side, remove, operand } => self.trim(*side, remove.as_deref(), operand),
            ExprKind::Function { name, args } => self.call(&name.value, args),
            ExprKind::StoredCall(call) => {
                let database = call.name.database.as_ref().map(|database| database.value.as_str());
                self.stored_call(database, &call.name.name.value, &call.arguments)
            }
            ExprKind::Aggregate { function, distinct, args } => self.aggregate(*function, *distinct, args),
            ExprKind::Default(Some(column)) => self.default_of(column),
            ExprKind::InsertedValue(column) => self.inserted_value(column),
            ExprKind::Default(None) => Err(MysqlError::wrong_usage("DEFAULT", "expression")),
            ExprKind::Regexp { operand, pattern, negated } => self.regexp(operand, pattern, *negated),
            ExprKind::GroupConcat { distinct, args, order_by, separator } => {
                self.group_concat(*distinct, args, order_by, separator)
            }
            ExprKind::Grouping(keys) => self.grouping(keys),
            ExprKind::Window(call) => self.window_call(call),
            ExprKind::JsonValue(value) => self.json_value(value),
            ExprKind::CharUsing { codes, charset } => self.char_using(codes, charset),
            ExprKind::Row(_) => Err(MysqlError::operand_columns(1)),
            ExprKind::Unit(_) => unsupported("a unit as a value"),
            ExprKind::CompareQuantified { op, all, left, query } => self.quantified(*op, *all, left, query),
            ExprKind::InQuery { operand, query, negated } => self.in_query(operand, query, *negated),
            ExprKind::Subquery(query) => self.scalar_subquery(query),
            ExprKind::Exists(query) => self.exists(query),
            ExprKind::Match(search) => self.match_against(search),
        }
    }

    pub(super) fn list(&mut self, items: &[ast::Expr]) -> Result<Vec<Expr>, MysqlError> {
        items.iter().map(|item| self.bind(item)).collect()
    }

    /// Binds an operand of AND and other logical operators.
    fn truth(&mut self, operand: &ast::Expr) -> Bound {
        let operand = self.bind(operand)?;
        Ok(self.binder.condition(operand))
    }

    fn truths(&mut self, operands: &[ast::Expr]) -> Result<Vec<Expr>, MysqlError> {
        operands.iter().map(|operand| self.truth(operand)).collect()
    }

    // --- names ---

    fn column(&mut self, name: &ColumnName) -> Bound {
        if let Some(local) = self.binder.local(name) {
            return Ok(local);
        }
        if let Some(found) = self.block.resolve(self.scope, self.clause, name)? {
            return self.binder.readable(self.block, found).map(|found| self.binder.padded(found));
        }
        let found = self.binder.outer_column(name)?.map(|found| self.binder.padded(found));
        found.ok_or_else(|| MysqlError::unknown_column(qualified(name), self.clause.name()))
    }

    fn parameter(&self, number: usize) -> Expr {
        let unknown = || {
            let text = SqlType::Varchar { len: 65_535 / 4 };
            ExprType::string(
                text,
                true,
                self.binder.context.collation,
                leafline_types::Coercibility::Coercible,
            )
        };
        let ty = self.binder.context.parameter_types.get(number).cloned().unwrap_or_else(unknown);
        build::parameter(number, ty)
    }

    fn user_variable(&mut self, name: &str) -> Bound {
        if let Some((_, column, ty)) =
            self.binder.row_variables.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))
        {
            return Ok(build::column(*column, ty.clone()));
        }
        self.binder.reads_variables = true;
        let value = self.binder.context.variables.user(name);
        let mut bound = self.value(value);
        bound.ty.nullable = true;
        if bound.ty.sql.is_string() {
            bound.ty.coercibility = leafline_types::Coercibility::Implicit;
            if let Some(own) = self.binder.context.variables.user_collation(name) {
                bound.ty.collation = own;
            }
        }
        // The value is known only during execution.
        match self.binder.assigns_variables {
            true => {
                let scale = self.binder.scale_of_variable(name);
                let mut read = build::read_variable(name, bound, scale)?;
                if let Some(assigned) = self.binder.variable_collations.get(&name.to_lowercase())
                    && read.ty.sql.is_character()
                {
                    read.ty.collation = *assigned;
                }
                Ok(self.counted(read))
            }
            false => Ok(bound),
        }
    }

    fn system_variable(&mut self, scope: Option<ast::VariableScope>, name: &str) -> Bound {
        self.binder.reads_variables = true;
        if let Some(name) = CONDITION_COUNTS.iter().find(|known| known.eq_ignore_ascii_case(name)) {
            if scope == Some(ast::VariableScope::Global) {
                return Err(MysqlError::incorrect_variable_scope(name, "SESSION"));
            }
            return build::condition_count(name);
        }
        let value = self.binder.context.variables.system(scope, name)?;
        let mut bound = self.value(value);
        if bound.ty.sql.is_string() {
            bound.ty.collation = Collation::Utf8mb3GeneralCi;
            bound.ty.coercibility = leafline_types::Coercibility::SystemConstant;
        }
        Ok(bound)
    }

    fn value(&self, value: Value) -> Expr {
        match value.as_str() {
            Some(text) => build::string(text, self.binder.context.collation),
            None => build::literal(value),
        }
    }

    /// Binds `VALUES(column)`: NULL anywhere but in ON DUPLICATE KEY UPDATE.
    fn inserted_value(&mut self, name: &ColumnName) -> Bound {
        let advice = "an alias (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the ON DUPLICATE KEY UPDATE \
                      clause with alias.col";
        self.binder.warnings.push(MysqlError::deprecated_syntax("VALUES function", advice));
        let Some(first) = self.block.inserted else {
            return match self.block.find(self.scope, self.clause, name)? {
                Some(_) => Ok(build::null()),
                None => Err(MysqlError::unknown_column(qualified(name), self.clause.name())),
            };
        };
        // The name belongs to the table, which is the first relation.
        let of_table = Scope { columns: Vec::new(), relations: vec![0] };
        let table = self.block.relations.first().map(|relation| relation.alias.clone());
        let written =
            name.table.clone().or_else(|| table.map(|value| ast::Ident { value, span: name.column.span }));
        let name = ColumnName { table: written, ..name.clone() };
        match self.block.find(&of_table, self.clause, &name)? {
            Some(id) => Ok(self.block.reference(first + id)),
            None => Err(MysqlError::unknown_column(&name.column.value, self.clause.name())),
        }
    }

    /// Binds `DEFAULT(column)`.
    fn default_of(&mut self, name: &ColumnName) -> Bound {
        use super::view_changes::Verb;
        let Some(id) = self.block.find(self.scope, self.clause, name)? else {
            return Err(MysqlError::unknown_column(qualified(name), self.clause.name()));
        };
        self.binder.check_readable(self.block, id)?;
        let origin = self.block.relation_of(id);
        let relation = origin.and_then(|(at, ordinal)| Some((self.block.relations.get(at)?, ordinal)));
        let stored = relation.and_then(|(relation, ordinal)| {
            self.binder.stored_column(relation, ordinal, ("", Verb::Update)).ok()
        });
        let column = stored.and_then(|(table, ordinal)| table.columns.get(ordinal));
        let Some(column) = column else { return unsupported("DEFAULT() of a derived column") };
        match &column.default {
            Some(leafline_table::DefaultValue::Constant(value)) => {
                if column.ty.plain().is_some() {
                    let ty = ExprType::column(column.ty.clone(), value.is_null(), column.collation);
                    return Ok(Expr { kind: expr::ExprKind::Literal(value.clone()), ty });
                }
                let mut literal = build::literal(value.clone());
                if literal.ty.sql.is_character() {
                    literal.ty.collation = column.collation;
                }
                Ok(literal)
            }
            Some(leafline_table::DefaultValue::CurrentTimestamp) => {
                unsupported("DEFAULT() of a current timestamp")
            }
            Some(leafline_table::DefaultValue::Expression(_)) => Err(MysqlError::default_of_expression()),
            None if column.nullable => Ok(build::null()),
            None | Some(leafline_table::DefaultValue::Dropped) => {
                Err(MysqlError::no_default_for_field(&column.name))
            }
        }
    }

    // --- operators ---

    /// Binds an operand of a numeric operator, where hexadecimal and bit literals are numbers.
    pub(super) fn number(&mut self, e: &ast::Expr) -> Bound {
        match literal::bytes_as_number(e)? {
            Some(number) => Ok(number),
            None => self.bind(e),
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &ast::Expr) -> Bound {
        match (op, &operand.kind) {
            (UnaryOp::Minus, ExprKind::Literal(value)) if literal::is_number(value) => {
                self.literal(value, true)
            }
            (UnaryOp::Minus, _) => build::negate(self.number(operand)?),
            (UnaryOp::BitNot, _) => build::invert_bits(self.number(operand)?),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Bound {
        let op = match op {
            BinaryOp::Add => ArithmeticOp::Add,
            BinaryOp::Subtract => ArithmeticOp::Subtract,
            BinaryOp::Multiply => ArithmeticOp::Multiply,
            BinaryOp::Divide => ArithmeticOp::Divide,
            BinaryOp::IntegerDivide => ArithmeticOp::IntegerDivide,
            BinaryOp::Modulo => ArithmeticOp::Modulo,
            BinaryOp::BitAnd => return self.bits("&", left, right),
            BinaryOp::BitOr => return self.bits("|", left, right),
            BinaryOp::BitXor => return self.bits("^", left, right),
            BinaryOp::ShiftLeft => return build::bits("<<", self.number(left)?, self.number(right)?),
            BinaryOp::ShiftRight => return build::bits(">>", self.number(left)?, self.number(right)?),
        };
        let left = self.number(left)?;
        let result = build::arithmetic(op, left, self.number(right)?)?;
        let signed = op == ArithmeticOp::Subtract && self.binder.context.modes.signed_differences;
        Ok(if signed { build::signed(result) } else { result })
    }

    fn compare(&mut self, op: CompareOp, left: &ast::Expr, right: &ast::Expr) -> Bound {
        self.compare_bound(op, left, right)
    }

    pub(super) fn compare_bound(&mut self, op: CompareOp, left: &ast::Expr, right: &ast::Expr) -> Bound {
        if let (ExprKind::Row(_), _) | (_, ExprKind::Row(_)) = (&left.kind, &right.kind) {
            return self.compare_rows(op, left, right);
        }
        let [mut bound_left, mut bound_right] = self.compared([left, right])?;
        if bound_left.ty.sql == SqlType::Json {
            bound_right = truth_value(right, bound_right);
        } else if bound_right.ty.sql == SqlType::Json {
            bound_left = truth_value(left, bound_left);
        }
        build::compare(op, bound_left, bound_right)
    }

    fn xor(&mut self, left: &ast::Expr, right: &ast::Expr) -> Bound {
        let left = self.truth(left)?;
        Ok(build::xor(left, self.truth(right)?))
    }

    fn is_test(&mut self, operand: &ast::Expr, test: IsTest, negated: bool) -> Bound {
        let operand = match test {
            IsTest::Null => build::unpadded(self.bind(operand)?),
            IsTest::True | IsTest::False | IsTest::Unknown => self.truth(operand)?,
        };
        Ok(match test {
            IsTest::Null | IsTest::Unknown => build::is_null(operand, negated),
            IsTest::True => build::is_truth(operand, true, negated),
            IsTest::False => build::is_truth(operand, false, negated),
        })
    }

    /// Binds operands that are compared with one another. Hexadecimal and bit literals are numbers where another operand is one.
    pub(super) fn compared<const N: usize>(
        &mut self,
        operands: [&ast::Expr; N],
    ) -> Result<[Expr; N], MysqlError> {
        let mut bound = operands.map(|_| build::null());
        for (place, operand) in bound.iter_mut().zip(operands) {
            *place = build::unpadded(self.bind(operand)?);
        }
        if bound.iter().any(|value| value.ty.sql.is_numeric()) {
            for (value, operand) in bound.iter_mut().zip(operands) {
                if let Some(number) = literal::bytes_as_number(operand)? {
                    *value = number;
                }
            }
        }
        self.put_values_beside_times(&mut bound);
        self.note_beside_numbers(&bound);
        Ok(bound)
    }

    /// Notes parameters that are compared with a column of numbers: the first of several operands with any other.
    fn note_beside_numbers(&mut self, operands: &[Expr]) {
        let reads = |e: &Expr| e.as_column().is_some() && build::reads_text_as_number(&e.ty.sql);
        let mut note = |column: &Expr, other: &Expr| {
            if let (true, expr::ExprKind::Parameter(number)) = (reads(column), &other.kind) {
                self.binder.compared_with_numbers.push(*number);
            }
        };
        if let [left, right] = operands {
            note(right, left);
        }
        if let Some((first, others)) = operands.split_first() {
            others.iter().for_each(|other| note(first, other));
        }
    }

    /// Replaces parameters that are compared with dates, times or years by literals of their values: numbers, texts compared with
    /// a year, and texts that are not a date or time. The statement is then bound for these values only.
    fn put_values_beside_times(&mut self, operands: &mut [Expr]) {
        let beside_years = operands.iter().any(|operand| operand.ty.sql == SqlType::Year);
        let time = operands.iter().map(|operand| &operand.ty.sql).find(|ty| ty.is_temporal()).cloned();
        if !beside_years && time.is_none() {
            return;
        }
        for operand in operands {
            let expr::ExprKind::Parameter(number) = operand.kind else { continue };
            let literal = match self.binder.context.parameters.get(number) {
                Some(Value::Int(number)) => build::literal(Value::Int(*number)),
                Some(Value::UInt(number)) => match i64::try_from(*number) {
                    Ok(number) => build::literal(Value::Int(number)),
                    Err(_) => build::literal(Value::UInt(*number)),
                },
                Some(text @ Value::String(_)) => {
                    let beside = time.iter().map(|time| (number, time.clone()));
                    self.binder.compared_with_times.extend(beside);
                    if !beside_years && time.iter().all(|time| build::is_comparable(text, time)) {
                        continue;
                    }
                    Expr { kind: expr::ExprKind::Literal(text.clone()), ty: operand.ty.clone() }
                }
                _ => continue,
            };
            self.binder.reads_variables = true;
            *operand = literal;
        }
    }

    fn between(&mut self, operand: &ast::Expr, low: &ast::Expr, high: &ast::Expr, negated: bool) -> Bound {
        let bounds = [low, high];
        let [operand, mut low, mut high] = self.compared([operand, low, high])?;
        if operand.ty.sql == SqlType::Json {
            (low, high) = (truth_value(bounds[0], low), truth_value(bounds[1], high));
        }
        build::between(operand, low, high, negated)
    }

    fn in_list(&mut self, operand: &ast::Expr, list: &[ast::Expr], negated: bool) -> Bound {
        if list.iter().chain([operand]).any(|e| matches!(e.kind, ExprKind::Row(_))) {
            return self.row_in_list(operand, list, negated);
        }
        self.value_in_list(operand, &list.iter().collect::<Vec<_>>(), negated)
    }

    /// Binds `operand [NOT] IN (list)` over values.
    pub(super) fn value_in_list(&mut self, operand: &ast::Expr, list: &[&ast::Expr], negated: bool) -> Bound {
        if literal::is_bytes(operand) {
            let equal = |e: &&ast::Expr| self.compare(CompareOp::Eq, operand, e);
            let found = build::or(list.iter().map(equal).collect::<Result<_, _>>()?);
            return Ok(if negated { build::not(found) } else { found });
        }
        let needle = build::unpadded(self.bind(operand)?);
        let number = needle.ty.sql.is_numeric();
        let document = needle.ty.sql == SqlType::Json;
        let list = list.iter().map(|e| match (number, document) {
            (true, _) => self.number(e),
            (_, true) => self.document(e),
            _ => self.bind(e).map(build::unpadded),
        });
        let mut operands = vec![needle];
        for value in list {
            operands.push(value?);
        }
        self.put_values_beside_times(&mut operands);
        self.note_beside_numbers(&operands);
        let needle = operands.remove(0);
        build::in_list(needle, operands, negated)
    }

    fn like(
        &mut self,
        operand: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
    ) -> Bound {
        let default = if self.binder.context.modes.no_backslash_escapes { None } else { Some('\\') };
        let escape = match escape.map(|e| &e.kind) {
            None => default,
            Some(_) => match escape.map(|e| self.bind(e)).transpose()? {
                Some(escape) => self.escape_character(escape, default)?,
                None => default,
            },
        };
        let operand = self.bind(operand)?;
        build::like(operand, self.bind(pattern)?, escape, negated)
    }

    /// Returns the character of the expression after ESCAPE: `default` for NULL, none for an empty text.
    ///
    /// # Errors
    /// 1210 if the expression is not constant, or is longer than a character.
    fn escape_character(&mut self, escape: Expr, default: Option<char>) -> Result<Option<char>, MysqlError> {
        let wrong = || MysqlError::wrong_arguments("ESCAPE");
        let value = match &escape.kind {
            expr::ExprKind::Literal(value) => value.clone(),
            expr::ExprKind::Parameter(number) => {
                // The plan holds for this value only.
                self.binder.reads_variables = true;
                match self.binder.context.parameters.get(*number) {
                    Some(value) => value.clone(),
                    None => return Ok(default),
                }
            }
            _ => match self.constant_value(&escape)? {
                Some(value) => value,
                None => return Err(wrong()),
            },
        };
        let Some(text) = leafline_types::convert::to_text(&value, &escape.ty.sql) else { return Ok(default) };
        let mut chars = text.chars();
        let first = chars.next();
        if chars.next().is_some() { Err(wrong()) } else { Ok(first) }
    }

    /// Returns the value of a constant expression; `None` for others. If the expression has parameters, the plan holds only for
    /// their values.
    pub(super) fn constant_value(&mut self, e: &Expr) -> Result<Option<Value>, MysqlError> {
        if !e.is_constant() || e.has_subquery() || e.depends_on_time() {
            return Ok(None);
        }
        self.binder.reads_variables |= has_parameter(e);
        let (facts, mut warnings) = (SessionFacts::default(), Warnings::new());
        let now = leafline_types::DateTime::ZERO;
        let mut cx = EvalContext::new(now, &facts, &mut warnings, self.binder.context.cancel);
        cx.parameters = self.binder.context.parameters;
        expr::evaluate_scalar(e, &mut cx).map(Some)
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        branches: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
    ) -> Bound {
        // A hexadecimal or bit literal is a number when compared with one branch, and bytes when compared with the next.
        let literal = operand.filter(|e| literal::is_bytes(e));
        let operand = operand.filter(|_| literal.is_none()).map(|e| self.bind(e)).transpose()?;
        if let Some(document) = operand.as_ref().filter(|e| e.ty.sql == SqlType::Json && !e.is_volatile()) {
            return self.case_of_document(document, branches, otherwise);
        }
        // CASE compares documents by their text form, as in MySQL.
        let operand = operand.map(document_as_text).transpose()?;
        let number = operand.as_ref().is_some_and(|operand| operand.ty.sql.is_numeric());
        let branches = branches
            .iter()
            .map(|(when, then)| {
                let when = match literal {
                    Some(literal) => self.compare(CompareOp::Eq, literal, when)?,
                    None if number => self.number(when)?,
                    None if operand.is_some() => document_as_text(self.bind(when)?)?,
                    None => self.bind(when)?,
                };
                if let Some(operand) = &operand {
                    self.note_beside_numbers(&[operand.clone(), when.clone()]);
                }
                Ok((when, self.bind(then)?))
            })
            .collect::<Result<Vec<_>, MysqlError>>()?;
        let otherwise = otherwise.map(|e| self.bind(e)).transpose()?;
        Ok(self.of_connection(build::case(operand, branches, otherwise)?))
    }

    /// Binds `CASE document WHEN ..`. Compared with text, the document counts as its text form; compared with a number, as its
    /// number. TRUE and FALSE match 1 and 0 as well as JSON's booleans.
    fn case_of_document(
        &mut self,
        document: &Expr,
        branches: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
    ) -> Bound {
        let equal = |to| build::compare(CompareOp::Eq, document.clone(), to);
        let mut bound = Vec::with_capacity(branches.len());
        for (when, then) in branches {
            let when = self.bind(when)?;
            let condition = match when.as_literal() {
                Some(Value::Int(0 | 1)) => {
                    build::or(vec![equal(when.clone())?, equal(build::json_truth(when))?])
                }
                _ if when.ty.sql.is_numeric() => equal(when)?,
                _ => {
                    let text = document_as_text(document.clone())?;
                    build::compare(CompareOp::Eq, text, document_as_text(when)?)?
                }
            };
            bound.push((condition, self.bind(then)?));
        }
        let otherwise = otherwise.map(|e| self.bind(e)).transpose()?;
        build::case(None, bound, otherwise)
    }

    fn literal(&self, literal: &Literal, negative: bool) -> Bound {
        let context = self.binder.context;
        literal::bind(literal, negative, context.collation, context.dates)
    }

    fn cast(&mut self, operand: &ast::Expr, target: &ast::CastTarget) -> Bound {
        use build::CastTarget::{Binary, Char, Date, DateTime, Json};
        let (charset, binary) = match &target.kind {
            ast::CastKind::Char { charset, binary, .. } => (charset.as_ref(), *binary),
            _ => (None, false),
        };
        let target = match cast::target(&target.kind)? {
            // Text of the character set `binary` is bytes.
            Char(length) if charset.is_none() && self.binder.context.collation == Collation::Binary => {
                Binary(length)
            }
            target => target,
        };
        let operand = match target {
            Json => self.document(operand)?,
            Char(_) | Binary(_) | Date | DateTime(_) => self.bind(operand)?,
            _ => self.number(operand)?,
        };
        match charset {
            Some(charset) if matches!(target, Char(_)) => {
                let collation = if binary { Charset::binary_collation } else { Charset::default_collation };
                cast::convert_using(operand, target, charset, collation)
            }
            _ if binary => {
                let charset = self.binder.context.collation.charset();
                build::cast(operand, target, charset.binary_collation())
            }
            _ => build::cast(operand, target, self.binder.context.collation),
        }
    }

    fn collate(&mut self, operand: &ast::Expr, name: &str) -> Bound {
        let operand = self.bind(operand)?;
        build::collate(operand, Collation::from_name(name)?)
    }

    // --- functions ---

    /// Binds an operand that has to be a document: TRUE and FALSE become JSON's booleans.
    pub(super) fn document(&mut self, e: &ast::Expr) -> Bound {
        let bound = self.bind(e)?;
        Ok(truth_value(e, bound))
    }

    fn date_arithmetic(
        &mut self,
        operand: &ast::Expr,
        amount: &ast::Expr,
        unit: IntervalUnit,
        subtract: bool,
    ) -> Bound {
        let operand = self.bind(operand)?;
        // An amount of several units is a text.
        let amount = if unit.parts().len() > 1 { self.bind(amount)? } else { self.number(amount)? };
        Ok(self.as_connection(build::date_add(operand, amount, unit, subtract)?))
    }

    fn trim(&mut self, side: TrimSide, remove: Option<&ast::Expr>, operand: &ast::Expr) -> Bound {
        let Some(remove) = remove else {
            // The space would give a collation to the text of a number.
            let operand = self.bind(operand)?;
            let is_number = !operand.ty.sql.is_string() && !operand.ty.sql.has_members();
            let trimmed = build::trim(side, None, operand)?;
            return Ok(if is_number { self.as_connection(trimmed) } else { trimmed });
        };
        let remove = self.bind(remove)?;
        let trimmed = build::trim(side, Some(remove), self.bind(operand)?)?;
        Ok(self.of_connection(trimmed))
    }
}

/// Turns TRUE and FALSE into documents; returns any other expression as bound.
pub(super) fn truth_value(e: &ast::Expr, bound: Expr) -> Expr {
    match &e.kind {
        ExprKind::Literal(Literal::Boolean(_)) => build::json_truth(bound),
        _ => bound,
    }
}

/// Converts a document to text; returns any other expression unchanged.
fn document_as_text(bound: Expr) -> Bound {
    match bound.ty.sql {
        SqlType::Json => build::cast(bound, build::CastTarget::Char(None), Collation::Utf8mb4Bin),
        _ => Ok(bound),
    }
}

/// Whether the expression contains a parameter.
pub(super) fn has_parameter(e: &Expr) -> bool {
    e.any(&mut |part| matches!(part.kind, expr::ExprKind::Parameter(_)))
}
