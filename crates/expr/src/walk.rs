//! Walks and rewrites trees: children, visitors, columns, constancy.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ir::{Expr, ExprKind};
use crate::function::Volatility;
use leafline_types::error::MysqlError;
use leafline_types::value::Value;

impl Expr {
    /// Returns the value if it is a literal.
    pub fn as_literal(&self) -> Option<&Value> {
        match &self.kind {
            ExprKind::Literal(v) => Some(v),
            _ => None,
        }
    }

    /// Returns the value of a literal or a parameter; `None` for other expressions.
    pub fn known<'v>(&'v self, parameters: &'v [Value]) -> Option<&'v Value> {
        match &self.kind {
            ExprKind::Literal(value) => Some(value),
            ExprKind::Parameter(number) => parameters.get(*number),
            _ => None,
        }
    }

    /// Returns the number if it is a column.
    pub fn as_column(&self) -> Option<usize> {
        match self.kind {
            ExprKind::Column(c) => Some(c),
            _ => None,
        }
    }

    /// Calls `f` on each operand, left to right. Skips the members of a list that has a set: they are literals.
    pub fn for_each_child<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Column(_) | ExprKind::Parameter(_) | ExprKind::Outer(_) => {}
            ExprKind::Subquery(subquery) => {
                subquery.needle.iter().chain(subquery.outer.iter()).for_each(f);
            }
            ExprKind::Program(call) => call.args.iter().for_each(f),
            ExprKind::Match(call) => call.operands().for_each(f),
            ExprKind::Call { args, .. } => args.iter().for_each(f),
            ExprKind::InRows { needle, .. } => needle.iter().for_each(f),
            ExprKind::And(list) | ExprKind::Or(list) | ExprKind::Coalesce(list) => list.iter().for_each(f),
            ExprKind::Arithmetic { left, right, .. }
            | ExprKind::Xor(left, right)
            | ExprKind::Compare { left, right, .. } => {
                f(left);
                f(right);
            }
            ExprKind::Negate(operand)
            | ExprKind::Not(operand)
            | ExprKind::IsNull { operand, .. }
            | ExprKind::IsTruth { operand, .. }
            | ExprKind::Cast { operand } => f(operand),
            ExprKind::InList { needle, list, set, .. } => {
                f(needle);
                if set.is_none() {
                    list.iter().for_each(f);
                }
            }
            ExprKind::Like { value, pattern, .. } => {
                f(value);
                f(pattern);
            }
            ExprKind::Case { operand, whens, otherwise } => {
                operand.iter().for_each(|e| f(e));
                for when in whens {
                    f(&when.condition);
                    f(&when.result);
                }
                otherwise.iter().for_each(|e| f(e));
            }
        }
    }

    /// Calls `f` on each operand, left to right, to change it in place.
    pub fn for_each_child_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        match &mut self.kind {
            ExprKind::Literal(_) | ExprKind::Column(_) | ExprKind::Parameter(_) | ExprKind::Outer(_) => {}
            ExprKind::Subquery(subquery) => {
                subquery.needle.iter_mut().chain(&mut subquery.outer).for_each(f);
            }
            ExprKind::Program(call) => call.args.iter_mut().for_each(f),
            ExprKind::Match(call) => call.operands_mut().for_each(f),
            ExprKind::Call { args, .. } => args.iter_mut().for_each(f),
            ExprKind::InRows { needle, .. } => needle.iter_mut().for_each(f),
            ExprKind::And(list) | ExprKind::Or(list) | ExprKind::Coalesce(list) => {
                list.iter_mut().for_each(f)
            }
            ExprKind::Arithmetic { left, right, .. }
            | ExprKind::Xor(left, right)
            | ExprKind::Compare { left, right, .. } => {
                f(left);
                f(right);
            }
            ExprKind::Negate(operand)
            | ExprKind::Not(operand)
            | ExprKind::IsNull { operand, .. }
            | ExprKind::IsTruth { operand, .. }
            | ExprKind::Cast { operand } => f(operand),
            ExprKind::InList { needle, list, set, .. } => {
                f(needle);
                if set.is_none() {
                    Arc::make_mut(list).iter_mut().for_each(f);
                }
            }
            ExprKind::Like { value, pattern, .. } => {
                f(value);
                f(pattern);
            }
            ExprKind::Case { operand, whens, otherwise } => {
                operand.iter_mut().for_each(|e| f(e));
                for when in whens {
                    f(&mut when.condition);
                    f(&mut when.result);
                }
                otherwise.iter_mut().for_each(|e| f(e));
            }
        }
    }

    /// Calls `f` on this node and, while it returns true, on the nodes below, parents first.
    pub fn visit<'e>(&'e self, f: &mut dyn FnMut(&'e Expr) -> bool) {
        if f(self) {
            self.for_each_child(&mut |child| child.visit(f));
        }
    }

    /// Whether `test` holds for this node or one below.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        let mut found = false;
        self.visit(&mut |e| {
            found = found || test(e);
            !found
        });
        found
    }

    /// Passes every node of the tree through `f`, operands first. `f` may replace a node by one of the same type.
    pub fn transform(
        mut self,
        f: &mut dyn FnMut(Expr) -> Result<Expr, MysqlError>,
    ) -> Result<Expr, MysqlError> {
        let mut result = Ok(());
        self.for_each_child_mut(&mut |child| {
            if result.is_ok() {
                let taken = std::mem::replace(child, Expr::taken());
                match taken.transform(f) {
                    Ok(new) => *child = new,
                    Err(e) => result = Err(e),
                }
            }
        });
        result?;
        f(self)
    }

    /// Returns a placeholder for a node that is being rewritten.
    pub(super) fn taken() -> Expr {
        Expr { kind: ExprKind::Literal(Value::Null), ty: leafline_types::value::ExprType::NULL }
    }

    /// Returns the tree with its columns renumbered.
    #[must_use]
    pub fn map_columns(&self, f: &mut dyn FnMut(usize) -> usize) -> Expr {
        let mut out = self.clone();
        out.renumber(f);
        out
    }

    fn renumber(&mut self, f: &mut dyn FnMut(usize) -> usize) {
        if let ExprKind::Column(c) = &mut self.kind {
            *c = f(*c);
        }
        self.for_each_child_mut(&mut |child| child.renumber(f));
    }

    /// Returns the tree with its columns replaced by other expressions, such as those of a derived table's select
    /// list.
    #[must_use]
    pub fn replace_columns(&self, f: &mut dyn FnMut(usize) -> Option<Expr>) -> Expr {
        if let ExprKind::Column(c) = self.kind
            && let Some(replacement) = f(c)
        {
            return replacement;
        }
        let mut out = self.clone();
        out.for_each_child_mut(&mut |child| *child = child.replace_columns(f));
        out
    }

    /// Returns the tree with values in place of its parameters, for display.
    #[must_use]
    pub fn with_parameters(&self, values: &[Value]) -> Expr {
        let mut out = self.clone();
        if let ExprKind::Parameter(number) = out.kind
            && let Some(value) = values.get(number)
        {
            out.kind = ExprKind::Literal(value.clone());
        }
        out.for_each_child_mut(&mut |child| *child = child.with_parameters(values));
        out
    }

    /// Returns the columns it reads.
    pub fn columns(&self) -> BTreeSet<usize> {
        let mut columns = BTreeSet::new();
        self.visit(&mut |e| {
            if let ExprKind::Column(c) = e.kind {
                columns.insert(c);
            }
            true
        });
        columns
    }

    /// Whether it has one value for a whole execution: it reads no column and calls nothing volatile.
    pub fn is_constant(&self) -> bool {
        !self.any(&mut |e| match &e.kind {
            ExprKind::Column(_) => true,
            ExprKind::Subquery(subquery) => subquery.is_volatile,
            ExprKind::Program(call) => call.is_volatile,
            ExprKind::Call { function, .. } => function.definition().volatility == Volatility::Volatile,
            _ => false,
        })
    }

    /// Whether two evaluations on one row can differ: it calls `RAND()`, `SLEEP()` or the like.
    pub fn is_volatile(&self) -> bool {
        self.any(&mut |e| match &e.kind {
            ExprKind::Subquery(subquery) => subquery.is_volatile,
            ExprKind::Program(call) => call.is_volatile,
            ExprKind::Call { function, .. } => function.definition().volatility == Volatility::Volatile,
            _ => false,
        })
    }

    /// Whether its value is always 0, 1 or NULL.
    pub fn is_condition(&self) -> bool {
        matches!(&self.kind, ExprKind::Subquery(subquery) if subquery.is_condition())
            || matches!(&self.kind, ExprKind::Call { function, .. } if function.definition().condition)
            || matches!(
                self.kind,
                ExprKind::And(_)
                    | ExprKind::Or(_)
                    | ExprKind::Xor(..)
                    | ExprKind::Not(_)
                    | ExprKind::Compare { .. }
                    | ExprKind::IsNull { .. }
                    | ExprKind::IsTruth { .. }
                    | ExprKind::InList { .. }
                    | ExprKind::InRows { .. }
                    | ExprKind::Like { .. }
            )
    }
}
