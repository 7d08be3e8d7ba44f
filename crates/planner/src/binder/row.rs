//! Comparisons of rows: `(a, b) = (1, 2)`, `(a, b) < (c, d)`, `(a, b) IN ((1, 2), (3, 4))`.
//!
//! A row comparison becomes comparisons of columns: rows are equal when all columns are, and ordered by the first column in which
//! they differ.

use crate::params::COMPARED_ROWS;
use leafline_expr::{CompareOp, Expr, build};
use leafline_types::MysqlError;

use super::expression::{Bound, ExpressionBinder};
use leafline_syntax::ast::{self, ExprKind};

impl ExpressionBinder<'_, '_, '_> {
    /// Binds a comparison with a row on at least one side.
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

    /// Binds `(a, b) [NOT] IN ((1, 2), (3, 4))`.
    pub(super) fn row_in_list(&mut self, operand: &ast::Expr, list: &[ast::Expr], negated: bool) -> Bound {
        if list.len() > COMPARED_ROWS
            && let Some(found) = self.in_literal_rows(operand, list, negated)?
        {
            return Ok(found);
        }
        let equalities = list.iter().map(|member| self.compare_rows(CompareOp::Eq, operand, member));
        let found = build::or(equalities.collect::<Result<_, _>>()?);
        Ok(if negated { build::not(found) } else { found })
    }

    /// Binds IN over literal rows as one list that is looked up by hash; `None` if a row is not literal.
    fn in_literal_rows(
        &mut self,
        operand: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
    ) -> Result<Option<Expr>, MysqlError> {
        let Some(needle) = parts(operand) else { return Ok(None) };
        let rows = list.iter().map(|row| parts(row).filter(|row| row.len() == needle.len()));
        let Some(rows) = rows.collect::<Option<Vec<_>>>() else { return Ok(None) };
        let is_literal = |part: &ast::Expr| matches!(part.kind, ExprKind::Literal(_));
        if !rows.iter().all(|row| row.iter().all(is_literal)) {
            return Ok(None);
        }
        let mut columns = Vec::with_capacity(needle.len());
        for (n, part) in needle.iter().enumerate() {
            let values: Vec<&ast::Expr> = rows.iter().filter_map(|row| row.get(n)).collect();
            columns.push(self.value_in_list(part, &values, false)?);
        }
        Ok(build::in_rows(columns, negated))
    }
}

/// Returns the parts of a row that are not rows themselves.
fn parts(row: &ast::Expr) -> Option<&[ast::Expr]> {
    match &row.kind {
        ExprKind::Row(parts) if !parts.iter().any(|part| matches!(part.kind, ExprKind::Row(_))) => {
            Some(parts)
        }
        _ => None,
    }
}

/// Returns the comparison that decides before the last column.
pub(super) fn strictly(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Le => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Gt,
        other => other,
    }
}
