//! Canonical expressions: without anything that does not influence their value, to recognize an expression of a
//! statement in the definition of a table.
//!
//! An outer join, which makes columns nullable, and the session, whose collation literals have, give one text
//! different types. The effect of a collation is recorded in the nodes ([`CompareDomain`](super::CompareDomain), the
//! type of a result), except for functions, which depend on the collations of their arguments: there a literal's
//! collation is ignored if another argument is not a literal and has a collation of its own.

use super::ir::{Expr, ExprKind};
use leafline_types::collation::Collation;
use leafline_types::value::{Coercibility, SqlType};

impl Expr {
    /// Returns the expression without anything that does not influence its value: equal results compute the same.
    #[must_use]
    pub fn canonical(&self) -> Expr {
        let mut out = self.clone();
        out.canonicalize();
        out
    }

    fn canonicalize(&mut self) {
        let is_call = matches!(self.kind, ExprKind::Call { .. });
        let mut has_collation = !is_call;
        self.for_each_child(&mut |child| {
            let is_text = child.ty.sql.is_string() || child.ty.sql == SqlType::Json;
            has_collation |=
                is_text && child.as_literal().is_none() && child.ty.coercibility < Coercibility::Coercible;
        });
        self.for_each_child_mut(&mut |child| {
            child.canonicalize();
            if has_collation && child.as_literal().is_some() {
                child.ty.collation = Collation::Binary;
            }
        });
        self.ty.nullable = true;
        self.ty.coercibility = Coercibility::Implicit;
    }

    /// Whether its value depends on the session or the day although no function in it says so: on the time zone, if
    /// it reads a TIMESTAMP, and on today, if a TIME becomes a DATETIME.
    pub fn depends_on_time(&self) -> bool {
        let is_time = |e: &Expr| matches!(e.ty.sql, SqlType::Time { .. });
        self.any(&mut |e| match &e.kind {
            ExprKind::Column(_) => matches!(e.ty.sql, SqlType::Timestamp { .. }),
            ExprKind::Cast { operand } => e.ty.sql.has_date() && is_time(operand),
            ExprKind::Call { args, .. } => e.ty.sql.has_date() && args.iter().any(is_time),
            ExprKind::Compare { left, right, .. } => is_time(left) != is_time(right),
            ExprKind::InList { needle, list, .. } => list.iter().any(|one| is_time(needle) != is_time(one)),
            ExprKind::InRows { needle, list, .. } => needle
                .iter()
                .zip(list.columns())
                .any(|(part, column)| column.list.iter().any(|one| is_time(part) != is_time(one))),
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::build;
    use super::*;
    use leafline_types::value::{ExprType, Value};

    fn text(value: &str, collation: Collation) -> Expr {
        let mut literal = build::literal(Value::string(value));
        literal.ty.collation = collation;
        literal
    }

    fn name(nullable: bool) -> Expr {
        let ty = ExprType::column(SqlType::Varchar { len: 10 }, nullable, Collation::Utf8mb4_0900AiCi);
        build::column(0, ty)
    }

    fn concat(first: Expr, second: Expr) -> Expr {
        build::call("CONCAT", vec![first, second]).unwrap()
    }

    #[test]
    fn collations_of_literals_count_where_they_decide() {
        let (here, there) = (Collation::Utf8mb4_0900AiCi, Collation::Utf8mb4Bin);
        let one = concat(name(false), text("x", here));
        let other = concat(name(true), text("x", there));
        assert_ne!(one, other);
        assert_eq!(one.canonical(), other.canonical());
        assert_ne!(one.canonical(), concat(name(false), text("y", here)).canonical());
        let number = || build::column(1, ExprType::numeric(SqlType::BIGINT, false));
        let locate = |collation| build::call("LOCATE", vec![text("x", collation), number()]).unwrap();
        assert_ne!(locate(here).canonical(), locate(there).canonical());
    }
}
