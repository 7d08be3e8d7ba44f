//! Comparisons of rows: `(a, b) = (1, 2)`, `(a, b) < (c, d)`, `(a, b) IN ((1, 2), (3, 4))`.
//!
//! They are comparisons of their columns: rows are equal when all of them are, and ordered by the first in which they differ.

use leafline_types::MysqlError;
use leafline_types::expr::{CompareOp, build};

use super::expression::{Bound, ExpressionBinder};
use crate::parser::ast::{self, ExprKind};

impl ExpressionBinder<'_, '_, '_> {
    /// A comparison with a row on at least one side.
    pub(super) fn compare_rows(&mut self, op: CompareOp, left: &ast::Expr, right: &ast::Expr) -> Bound {
        match (&left.kind, &right.kind) {
            (ExprKind::Row(left), ExprKind::Row(right)) => {
                if left.len() != right.len() {
                    return Err(MysqlError::operand_columns(left.len()));
                }
                let pairs: Vec<_> = left.iter().zip(right).collect();
                self.compare_pairs(op, &pairs)
            }
            (ExprKind::Row(row), ExprKind::Subquery(query)) => self.row_with_query(op, row, query),
            (ExprKind::Subquery(query), ExprKind::Row(row)) => self.row_with_query(op.swapped(), row, query),
            (ExprKind::Row(row), _) => Err(MysqlError::operand_columns(row.len())),
            _ => Err(MysqlError::operand_columns(1)),
        }
    }

    fn compare_pairs(&mut self, op: CompareOp, pairs: &[(&ast::Expr, &ast::Expr)]) -> Bound {
        let of = |op: CompareOp, binder: &mut Self| {
            pairs.iter().map(|(l, r)| binder.compare_bound(op, l, r)).collect::<Result<Vec<_>, _>>()
        };
        match op {
            CompareOp::Eq | CompareOp::NullSafeEq => Ok(build::and(of(op, self)?)),
            CompareOp::Ne => Ok(build::or(of(op, self)?)),
            _ => {
                let Some(((left, right), rest)) = pairs.split_first() else {
                    return Err(MysqlError::operand_columns(1));
                };
                if rest.is_empty() {
                    return self.compare_bound(op, left, right);
                }
                let first = self.compare_bound(strictly(op), left, right)?;
                let equal = self.compare_bound(CompareOp::Eq, left, right)?;
                let rest = self.compare_pairs(op, rest)?;
                Ok(build::or(vec![first, build::and(vec![equal, rest])]))
            }
        }
    }

    /// `(a, b) [NOT] IN ((1, 2), (3, 4))`.
    pub(super) fn row_in_list(&mut self, operand: &ast::Expr, list: &[ast::Expr], negated: bool) -> Bound {
        let equalities = list.iter().map(|member| self.compare_rows(CompareOp::Eq, operand, member));
        let found = build::or(equalities.collect::<Result<_, _>>()?);
        Ok(if negated { build::not(found) } else { found })
    }
}

/// The comparison that decides before the last column.
pub(super) fn strictly(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Le => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Gt,
        other => other,
    }
}
