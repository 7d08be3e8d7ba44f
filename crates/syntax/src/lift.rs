//! Turning literals into parameters, so that statements that differ only in them share a plan.
//!
//! A literal becomes a parameter if another value of its kind would leave the statement's meaning, types and headings
//! unchanged: in a comparison with a column of its kind (a number, a string) in WHERE or ON, as a value of INSERT, as
//! a new value of UPDATE, also negated, and as the other operand of plus and minus in such a value. All other
//! literals stay: positions in GROUP BY and ORDER BY, LIMIT, arguments that decide a type, text that becomes a
//! heading, subqueries, and literals compared with a column of another kind, which binding converts.

use super::ast::{
    BinaryOp, ColumnName, Expr, ExprKind, InsertSource, JoinConstraint, Literal, Query, QueryBody, Statement,
    StatementKind, TableReference, UnaryOp,
};
use super::shape::{LiteralKind, Shape, ShapeLiteral};

/// The kind of a column's values, as far as it decides how a literal compares with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Integers, decimals or floating point numbers.
    Number,
    /// CHAR, VARCHAR or TEXT in a character set with every character.
    String,
    /// CHAR, VARCHAR or TEXT in a character set that contains ASCII but not every character: a literal with another
    /// character may cause error 1267.
    NarrowString,
}

/// The literals of a shape that became parameters.
pub struct Lifted {
    /// Their positions in the shape, in the order of the parameters.
    pub positions: Vec<usize>,
    /// The positions of the literals that must be ASCII.
    pub plain: Vec<usize>,
}

/// Turns literals of `shape` into parameters of the statement, which has none yet. `kind_of` returns the kind of a
/// column of the tables in FROM, if it is known.
pub fn lift(
    statement: &mut Statement,
    shape: &Shape,
    kind_of: &dyn Fn(&[TableReference], &ColumnName) -> Option<ColumnKind>,
) -> Lifted {
    let lifted = Lifted { positions: Vec::new(), plain: Vec::new() };
    let mut lifting = Lifting { literals: &shape.literals, kind_of, lifted };
    match &mut statement.kind {
        StatementKind::Query(query) => lifting.query(query),
        StatementKind::Insert(insert) => {
            match &mut insert.source {
                InsertSource::Values(rows) => {
                    rows.iter_mut().flatten().for_each(|value| lifting.stored(value))
                }
                InsertSource::Query(query) => lifting.query(query),
            }
            insert.on_duplicate.iter_mut().for_each(|assignment| lifting.stored(&mut assignment.value));
        }
        StatementKind::Update(update) => {
            update.assignments.iter_mut().for_each(|assignment| lifting.stored(&mut assignment.value));
            lifting.tables_and_filter(&mut update.tables, &mut update.filter);
        }
        StatementKind::Delete(delete) => {
            lifting.tables_and_filter(&mut delete.tables, &mut delete.filter);
        }
        _ => {}
    }
    statement.parameters = lifting.lifted.positions.len();
    lifting.lifted
}

struct Lifting<'a> {
    literals: &'a [ShapeLiteral],
    kind_of: &'a dyn Fn(&[TableReference], &ColumnName) -> Option<ColumnKind>,
    lifted: Lifted,
}

impl Lifting<'_> {
    /// After WITH, a name in FROM may not be a table's.
    fn query(&mut self, query: &mut Query) {
        if let (None, QueryBody::Select(select)) = (&query.with, &mut query.body) {
            self.tables_and_filter(&mut select.from, &mut select.filter);
        }
    }

    fn tables_and_filter(&mut self, tables: &mut [TableReference], filter: &mut Option<Expr>) {
        filter.iter_mut().for_each(|filter| self.condition(filter, tables));
        if tables.iter().any(|reference| matches!(reference, TableReference::Join(_))) {
            let named = tables.to_vec();
            tables.iter_mut().for_each(|reference| self.reference(reference, &named));
        }
    }

    fn reference(&mut self, reference: &mut TableReference, tables: &[TableReference]) {
        if let TableReference::Join(join) = reference {
            self.reference(&mut join.left, tables);
            self.reference(&mut join.right, tables);
            if let JoinConstraint::On(condition) = &mut join.constraint {
                self.condition(condition, tables);
            }
        }
    }

    fn condition(&mut self, condition: &mut Expr, tables: &[TableReference]) {
        let kind = |expr: &Expr| match &expr.kind {
            ExprKind::Column(name) => (self.kind_of)(tables, name),
            _ => None,
        };
        match &mut condition.kind {
            ExprKind::And(terms) | ExprKind::Or(terms) => {
                terms.iter_mut().for_each(|term| self.condition(term, tables));
            }
            ExprKind::Xor(left, right) => {
                self.condition(left, tables);
                self.condition(right, tables);
            }
            ExprKind::Not(operand) => self.condition(operand, tables),
            ExprKind::Compare { left, right, .. } => {
                if let Some(kind) = kind(left) {
                    self.compared(right, kind);
                } else if let Some(kind) = kind(right) {
                    self.compared(left, kind);
                }
            }
            ExprKind::Between { operand, low, high, .. } => {
                if let Some(kind) = kind(operand) {
                    self.compared(low, kind);
                    self.compared(high, kind);
                }
            }
            ExprKind::InList { operand, list, .. } => {
                if let Some(kind) = kind(operand) {
                    list.iter_mut().for_each(|value| self.compared(value, kind));
                }
            }
            _ => {}
        }
    }

    fn compared(&mut self, value: &mut Expr, with: ColumnKind) {
        let same_kind = match &value.kind {
            ExprKind::Literal(Literal::Integer(_)) => with == ColumnKind::Number,
            ExprKind::Literal(Literal::String { .. }) if with == ColumnKind::String => true,
            ExprKind::Literal(Literal::String { value, .. }) => {
                with == ColumnKind::NarrowString && value.is_ascii()
            }
            _ => false,
        };
        let known = self.lifted.positions.len();
        if same_kind {
            self.value(value);
        }
        if with == ColumnKind::NarrowString {
            self.lifted.plain.extend_from_slice(self.lifted.positions.get(known..).unwrap_or_default());
        }
    }

    /// Lifts literals from a value that is stored, whose type becomes the column's in the end. Sums of exact numbers
    /// are exact, whatever the digits of their types.
    fn stored(&mut self, value: &mut Expr) {
        match &mut value.kind {
            ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Subtract, left, right } => {
                for operand in [left, right] {
                    if !matches!(operand.kind, ExprKind::Literal(Literal::String { .. })) {
                        self.stored(operand);
                    }
                }
            }
            ExprKind::Unary { op: UnaryOp::Minus, operand } if takes_sign(operand) => self.value(operand),
            _ => self.value(value),
        }
    }

    /// Lifts `value` if it is just a literal of the shape.
    fn value(&mut self, value: &mut Expr) {
        let is_string = match &value.kind {
            ExprKind::Literal(Literal::Integer(_) | Literal::Decimal(_)) => false,
            ExprKind::Literal(Literal::String { charset: None, .. }) => true,
            _ => return,
        };
        // Adjacent strings are one literal of several tokens, and the shape does not list it.
        let span = (value.span.start, value.span.end);
        if let Ok(position) = self.literals.binary_search_by_key(&span.0, |literal| literal.start)
            && let Some(literal) = self.literals.get(position)
            && (literal.end, literal.kind == LiteralKind::String) == (span.1, is_string)
        {
            value.kind = ExprKind::Parameter(self.lifted.positions.len());
            self.lifted.positions.push(position);
        }
    }
}

/// Returns whether `e` is a number that keeps its type with a sign before it, which a BIGINT UNSIGNED does not.
fn takes_sign(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Literal(Literal::Integer(number)) => i64::try_from(*number).is_ok(),
        ExprKind::Literal(Literal::Decimal(_)) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::shape_of;
    use super::super::{LexMode, parse};
    use super::*;

    /// The source texts of the literals lifted.
    fn lifted(sql: &str) -> Vec<&str> {
        let shape = shape_of(sql, LexMode::default()).unwrap();
        let mut statement = parse(sql, LexMode::default()).unwrap();
        let kind_of = |_: &[TableReference], name: &ColumnName| match &*name.column.value {
            "name" => Some(ColumnKind::String),
            "day" => None,
            _ => Some(ColumnKind::Number),
        };
        let lifted = lift(&mut statement, &shape, &kind_of).positions;
        assert_eq!(statement.parameters, lifted.len());
        lifted.into_iter().map(|position| shape.literals[position].source(sql)).collect()
    }

    #[test]
    fn values_compared_with_columns_and_values_stored_are_lifted() {
        assert_eq!(lifted("SELECT a FROM t WHERE id = 5 AND NOT (name > 'x' OR 7 = c)"), ["5", "'x'", "7"]);
        assert_eq!(
            lifted("SELECT a FROM t JOIN u ON t.a = u.a AND u.b IN (1, 2) WHERE c BETWEEN 3 AND 4").len(),
            4
        );
        assert_eq!(
            lifted("INSERT INTO t VALUES (1, 'x', NULL, 2 + 3), (4, -5, 6.0)"),
            ["1", "'x'", "2", "3", "4", "5", "6.0"]
        );
        assert_eq!(lifted("UPDATE t SET a = 1, b = b + 2 WHERE id = 3"), ["1", "2", "3"]);
        assert_eq!(lifted("UPDATE t SET a = 1.5 - a + (b - 2), b = -2.5, c = -b"), ["1.5", "2", "2.5"]);
        assert_eq!(
            lifted("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 2, b = b + 3"),
            ["1", "2", "3"]
        );
        assert_eq!(lifted("DELETE FROM t WHERE id = 3 LIMIT 1"), ["3"]);
    }

    #[test]
    fn literals_that_decide_types_names_or_positions_are_not_lifted() {
        for sql in [
            "SELECT 1, a + 2, ROUND(a, 3) FROM t GROUP BY 1 HAVING a > 4 ORDER BY 2 LIMIT 5",
            "UPDATE t SET a = b * 2, c = IF(b, 3, 4) + '5', d = -9223372036854775808, e = b / 3 - c * 1.5, f = -'6'",
            "SELECT a FROM t WHERE a + 1 = 2 AND 1 = 2 AND name = 'x' 'y' AND name = _utf8mb4'x'",
            "SELECT a FROM t WHERE a = '5' AND name = 5 AND day = '2024-01-01' AND day IN ('2024-01-01', 5)",
            "INSERT INTO t WITH u AS (SELECT 'x' AS a) SELECT a FROM u WHERE a = 5",
            "SELECT 1 UNION SELECT a FROM t WHERE a = 5",
            "SELECT a FROM (SELECT a FROM t WHERE a = 1) d WHERE a LIKE 'x%'",
        ] {
            assert_eq!(lifted(sql), [""; 0], "{sql}");
        }
    }
}
