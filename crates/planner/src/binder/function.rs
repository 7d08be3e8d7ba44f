//! Calls: functions, aggregates, and operators that the function table defines.

use leafline_expr as expr;
use leafline_expr::aggregate::{AggregateCall, AggregateFunction, ConcatOptions};
use leafline_expr::{CompareOp, Expr, FunctionId, Volatility, build};
use leafline_types::{Charset, Collation, MysqlError, SqlType, Value};

use super::expression::{Bound, ExpressionBinder, has_parameter, truth_value};
use super::{cast, literal};
use leafline_syntax::ast::{self, ExprKind, Literal};

impl ExpressionBinder<'_, '_, '_> {
    pub(super) fn call(&mut self, name: &str, args: &[ast::Expr]) -> Bound {
        let call = self.call_of(name, args)?;
        Ok(self.counted(self.of_connection(call)))
    }

    /// Gives the connection's collation to text that is made of numbers and dates, or of a function's own words.
    pub(super) fn of_connection(&self, mut text: Expr) -> Expr {
        if build::has_no_operand_collation(&text) {
            text = self.as_connection(text);
        }
        text
    }

    /// Converts text to the connection's collation.
    pub(super) fn as_connection(&self, mut text: Expr) -> Expr {
        let connection = self.binder.context.collation;
        if connection != Collation::Binary && text.ty.sql.is_character() {
            text.ty.collation = connection;
        }
        text
    }

    /// Counts a call whose value changes with every evaluation.
    pub(super) fn counted(&mut self, call: Expr) -> Expr {
        if let expr::ExprKind::Call { function, .. } = &call.kind
            && function.definition().volatility == Volatility::Volatile
        {
            self.binder.volatile_calls += 1;
        }
        call
    }

    fn call_of(&mut self, name: &str, args: &[ast::Expr]) -> Bound {
        match (name.to_ascii_uppercase().as_str(), args) {
            ("TIMESTAMPDIFF", [ast::Expr { kind: ExprKind::Unit(unit), .. }, from, to]) => {
                let from = self.bind(from)?;
                build::timestamp_diff(*unit, from, self.bind(to)?)
            }
            ("GET_FORMAT", [what, standard]) => {
                let ExprKind::Literal(Literal::String { value, .. }) = &what.kind else {
                    return Err(MysqlError::wrong_arguments("get_format"));
                };
                build::get_format(value, self.bind(standard)?)
            }
            ("WEEK", [day]) if self.binder.context.default_week_format != 0 => {
                let mode = Value::Int(self.binder.context.default_week_format.into());
                build::call(name, vec![self.bind(day)?, build::literal(mode)])
            }
            ("INTERVAL", args) => build::interval_of(self.numbers(args)?),
            ("IF", [condition, yes, no]) => {
                let args = vec![self.number(condition)?, self.bind(yes)?, self.bind(no)?];
                build::call(name, args)
            }
            ("NULLIF", [a, b]) if literal::is_bytes(a) || literal::is_bytes(b) => {
                let equal = self.compare_bound(CompareOp::Eq, a, b)?;
                build::case(None, vec![(equal, build::null())], Some(self.bind(a)?))
            }
            ("NULLIF", [a, b]) => {
                let (first, mut second) = (self.bind(a)?, self.bind(b)?);
                if first.ty.sql == SqlType::Json {
                    second = truth_value(b, second);
                }
                build::call(name, vec![first, second])
            }
            // A hexadecimal or bit literal compared with a number is a number, and all arguments are compared as doubles.
            ("FIELD", args) => {
                let mut bound = args.iter().map(|arg| self.bind(arg)).collect::<Result<Vec<_>, _>>()?;
                if bound.iter().any(|value| value.ty.sql.is_numeric()) {
                    for (value, arg) in bound.iter_mut().zip(args) {
                        if let Some(number) = literal::bytes_as_number(arg)? {
                            *value = build::cast(
                                number,
                                build::CastTarget::Double,
                                self.binder.context.collation,
                            )?;
                        }
                    }
                }
                build::call(name, bound)
            }
            // A constant format decides the type, even if it is computed, unless it contains parameters.
            ("STR_TO_DATE", [text, format]) => {
                let (text, mut format) = (self.bind(text)?, self.bind(format)?);
                if !has_parameter(&format)
                    && let Some(known @ Value::String(_)) = self.constant_value(&format)?
                {
                    format = build::literal(known);
                }
                build::call(name, vec![text, format])
            }
            ("MEMBER OF", [value, array]) => {
                let value = self.document(value)?;
                build::member_of(value, self.document(array)?)
            }
            (_, args) if FunctionId::named(name).is_some_and(|f| f.definition().documents) => {
                let args = args.iter().map(|arg| self.document(arg)).collect::<Result<Vec<_>, _>>()?;
                build::call(name, args)
            }
            // Numeric functions take hexadecimal and bit literals as numbers.
            (_, args) if FunctionId::named(name).is_some_and(|f| f.definition().numeric) => {
                build::call(name, self.numbers(args)?)
            }
            // Functions of the server hide stored ones of the same name.
            (_, args) if !build::is_function(name) => self.stored_call(None, name, args),
            _ => {
                let numbers = FunctionId::named(name).map_or(&[][..], |f| f.definition().number_args);
                let bind = |(n, arg)| if numbers.contains(&n) { self.number(arg) } else { self.bind(arg) };
                build::call(name, args.iter().enumerate().map(bind).collect::<Result<_, _>>()?)
            }
        }
    }

    fn numbers(&mut self, items: &[ast::Expr]) -> Result<Vec<Expr>, MysqlError> {
        items.iter().map(|item| self.number(item)).collect()
    }

    pub(super) fn char_using(&mut self, codes: &[ast::Expr], charset: &ast::Ident) -> Bound {
        let codes = self.numbers(codes)?;
        match Charset::from_name(&charset.value)? {
            Charset::Binary => build::call("CHAR", codes),
            charset => build::characters(codes, charset),
        }
    }

    pub(super) fn group_concat(
        &mut self,
        distinct: bool,
        args: &[ast::Expr],
        order_by: &[ast::OrderItem],
        separator: &str,
    ) -> Bound {
        let values = args.len();
        let mut all = args.to_vec();
        for key in order_by {
            // An integer is the position of an argument.
            all.push(match &key.expr.kind {
                ExprKind::Literal(Literal::Integer(written)) => {
                    let place = usize::try_from(*written).ok().and_then(|place| place.checked_sub(1));
                    let named = place.and_then(|place| args.get(place));
                    named.cloned().ok_or_else(|| MysqlError::unknown_column(written, "order clause"))?
                }
                _ => key.expr.clone(),
            });
        }
        let options = ConcatOptions {
            values,
            descending: order_by.iter().map(|key| key.descending).collect(),
            separator: separator.into(),
            max_length: usize::try_from(self.binder.context.group_concat_max_len).unwrap_or(usize::MAX),
        };
        let connection = self.binder.context.collation;
        self.aggregate_of(&all, false, &|all| {
            let of_numbers = !all
                .iter()
                .take(values)
                .any(|value| value.ty.sql.plain().is_some() || value.ty.sql.is_string());
            let mut call = AggregateCall::group_concat(distinct, all, options.clone())?;
            if of_numbers && call.ty.sql.is_character() && connection != Collation::Binary {
                call.ty.collation = connection;
            }
            Ok(call)
        })
    }

    pub(super) fn json_value(&mut self, value: &ast::JsonValue) -> Bound {
        let returning = match &value.returning {
            None => None,
            Some(target) => {
                let charset = match &target.kind {
                    ast::CastKind::Char { charset: Some(name), .. } => Some(Charset::from_name(&name.value)?),
                    _ => None,
                };
                Some((cast::target(&target.kind)?, charset.map(Charset::default_collation)))
            }
        };
        let document = self.document(&value.document)?;
        let on_empty = self.json_response(&value.on_empty)?;
        let on_error = self.json_response(&value.on_error)?;
        build::json_value(document, &value.path, returning, on_empty, on_error)
    }

    fn json_response(&mut self, response: &ast::JsonResponse) -> Result<build::JsonResponse, MysqlError> {
        Ok(match response {
            ast::JsonResponse::Null => build::JsonResponse::Null,
            ast::JsonResponse::Error => build::JsonResponse::Error,
            ast::JsonResponse::Default(value) => build::JsonResponse::Default(self.bind(value)?),
        })
    }

    pub(super) fn aggregate(
        &mut self,
        function: AggregateFunction,
        distinct: bool,
        args: &[ast::Expr],
    ) -> Bound {
        // SUM and AVG take a hexadecimal or bit literal as a number.
        if let (AggregateFunction::Sum | AggregateFunction::Avg, [arg]) = (function, args)
            && let Some(number) = literal::bytes_as_number(arg)?
        {
            return self.aggregate_of(args, false, &|_| {
                AggregateCall::new(function, distinct, vec![number.clone()])
            });
        }
        // DISTINCT does not change MIN and MAX.
        let distinct = distinct && !matches!(function, AggregateFunction::Min | AggregateFunction::Max);
        let documents = matches!(function, AggregateFunction::JsonArray | AggregateFunction::JsonObject);
        self.aggregate_of(args, documents, &|args| AggregateCall::new(function, distinct, args))
    }

    /// Binds `& | ^`. These operators work on binary strings if both operands are such and not both are hexadecimal or bit literals.
    pub(super) fn bits(&mut self, op: &'static str, left: &ast::Expr, right: &ast::Expr) -> Bound {
        let (a, b) = (literal::bytes_as_number(left)?, literal::bytes_as_number(right)?);
        let (bound_left, bound_right) = (self.bind(left)?, self.bind(right)?);
        let binary = |e: &Expr| e.ty.sql.is_string() && !e.ty.sql.is_character();
        if binary(&bound_left) && binary(&bound_right) && !(a.is_some() && b.is_some()) {
            return build::bits(op, bound_left, bound_right);
        }
        build::bits(op, a.unwrap_or(bound_left), b.unwrap_or(bound_right))
    }

    pub(super) fn regexp(&mut self, operand: &ast::Expr, pattern: &ast::Expr, negated: bool) -> Bound {
        let operand = self.bind(operand)?;
        let matches = build::call("REGEXP_LIKE", vec![operand, self.bind(pattern)?])?;
        Ok(if negated { build::not(matches) } else { matches })
    }
}
