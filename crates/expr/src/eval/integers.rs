//! The values of expressions of signed integers, without a context: the cheapest part of the evaluator for one row, for loops of
//! stored programs.

use super::super::ir::{ArithmeticOp, Expr, ExprKind};
use leafline_types::value::{SqlType, Value};

/// Returns the value of an expression of signed integers: literals, parameters, and arithmetic on these. `None` for other
/// expressions, and where [`evaluate_scalar`](super::evaluate_scalar) gives NULL, a warning or an error; a value is the one that it
/// gives.
pub fn integer_of(expr: &Expr, parameters: &[Value]) -> Option<i64> {
    match &expr.kind {
        ExprKind::Literal(Value::Int(number)) => Some(*number),
        ExprKind::Parameter(number) => match parameters.get(*number) {
            Some(Value::Int(number)) if expr.ty.sql.is_integer() => Some(*number),
            _ => None,
        },
        ExprKind::Arithmetic { op, left, right } if expr.ty.sql == SqlType::BIGINT => {
            let (left, right) = (integer_of(left, parameters)?, integer_of(right, parameters)?);
            match op {
                ArithmeticOp::Add => left.checked_add(right),
                ArithmeticOp::Subtract => left.checked_sub(right),
                ArithmeticOp::Multiply => left.checked_mul(right),
                ArithmeticOp::IntegerDivide => left.checked_div(right),
                ArithmeticOp::Modulo => left.checked_rem(right),
                ArithmeticOp::Divide => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::testing;
    use crate::testkit::{Session, int};
    use leafline_types::value::ExprType;
    use rand::Rng;

    const OPERATORS: [ArithmeticOp; 6] = [
        ArithmeticOp::Add,
        ArithmeticOp::Subtract,
        ArithmeticOp::Multiply,
        ArithmeticOp::Divide,
        ArithmeticOp::IntegerDivide,
        ArithmeticOp::Modulo,
    ];
    const NUMBERS: [i64; 9] = [0, 1, -1, 2, -7, 3_000_000_000, i64::MAX, i64::MIN, i64::MIN + 1];

    fn expression(rng: &mut impl Rng, depth: usize) -> Expr {
        match rng.random_range(0..3) {
            _ if depth > 0 => {
                let op = OPERATORS[rng.random_range(0..OPERATORS.len())];
                build::arithmetic(op, expression(rng, depth - 1), expression(rng, depth - 1))
                    .unwrap_or_else(|_| int(5))
            }
            0 => int(NUMBERS[rng.random_range(0..NUMBERS.len())]),
            _ => Expr {
                kind: ExprKind::Parameter(rng.random_range(0..4)),
                ty: ExprType::numeric(SqlType::BIGINT, true),
            },
        }
    }

    #[test]
    fn integers_are_those_of_the_evaluator() {
        let mut rng = testing::rng("integers_are_those_of_the_evaluator");
        let (mut values, mut others) = (0, 0);
        for _ in 0..testing::iterations(20_000) {
            let depth = rng.random_range(0..4);
            let expr = expression(&mut rng, depth);
            let mut parameters: Vec<Value> =
                (0..3).map(|_| Value::Int(NUMBERS[rng.random_range(0..NUMBERS.len())])).collect();
            parameters.push(Value::Null);
            let mut session = Session::new();
            let mut cx = session.cx();
            cx.parameters = &parameters;
            let expected = super::super::evaluate_scalar(&expr, &mut cx);
            match integer_of(&expr, &parameters) {
                Some(value) => {
                    assert_eq!(expected, Ok(Value::Int(value)), "{expr:?}");
                    assert!(session.warnings.is_empty(), "{expr:?}");
                    values += 1;
                }
                None => others += 1,
            }
        }
        assert!(values > 100 && others > 100, "{values} {others}");
    }
}
