//! Classes of columns that are equal to each other.
//!
//! `a.x = b.y AND b.y = c.z` makes one class of three columns. Any two of them can join their tables, and a condition on one
//! (`a.x = 5`) holds for all. Only comparisons within one transitive domain make classes: exact numbers, strings under one
//! collation, dates, date-times, doubles.

use super::graph::{ColumnMap, Relations};
use leafline_expr::build::column;
use leafline_expr::{CompareDomain, CompareOp, Expr, ExprKind};
use leafline_types::{ExprType, SqlType};
use std::collections::HashSet;

/// Columns that are equal wherever their relations are joined.
#[derive(Clone, Debug)]
pub(super) struct Class {
    domain: CompareDomain,
    /// The type of the comparison's result, for equalities made from the class.
    result: ExprType,
    members: Vec<ClassMember>,
    /// All columns equal a constant and each has a conjunct that says so: equalities between the columns follow.
    constant: bool,
}

/// A column of a class.
#[derive(Clone, Debug)]
pub(super) struct ClassMember {
    pub column: usize,
    pub relations: Relations,
    ty: ExprType,
}

/// Takes the equalities of columns out of `conjuncts` and makes classes of them. Adds the conjuncts that follow: equalities
/// within one relation and, for each equality of a column with a constant, the equality for the other columns of its class.
pub(super) fn classes(conjuncts: &mut Vec<Expr>, columns: &ColumnMap<'_>) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    conjuncts.retain(|conjunct| {
        let Some((left, right, domain)) = column_equality(conjunct) else { return true };
        let member = |expr: &Expr, column: usize| ClassMember {
            column,
            relations: columns.relations(expr),
            ty: expr.ty.clone(),
        };
        let (Some(a), Some(b)) = (left.as_column(), right.as_column()) else { return true };
        unite(&mut classes, member(left, a), member(right, b), domain, &conjunct.ty);
        false
    });
    for class in &classes {
        conjuncts.extend(class.within_relations());
    }
    let mut constants = Vec::new();
    for conjunct in conjuncts.iter() {
        let Some((column, domain)) = constant_equality(conjunct) else { continue };
        for class in classes.iter_mut().filter(|class| class.domain == domain && class.has(column)) {
            class.constant = true;
            let others = class.members.iter().filter(|member| member.column != column);
            constants.extend(others.map(|member| {
                conjunct.replace_columns(&mut |found| (found == column).then(|| member.expr()))
            }));
        }
    }
    if !constants.is_empty() {
        let mut known: HashSet<Expr> = conjuncts.iter().cloned().collect();
        conjuncts.extend(constants.into_iter().filter(|constant| known.insert(constant.clone())));
    }
    classes
}

fn unite(classes: &mut Vec<Class>, a: ClassMember, b: ClassMember, domain: CompareDomain, result: &ExprType) {
    let of = |classes: &[Class], column: usize| {
        classes.iter().position(|class| class.domain == domain && class.has(column))
    };
    match (of(classes, a.column), of(classes, b.column)) {
        (Some(x), Some(y)) if x == y => {}
        (Some(x), Some(y)) => {
            let moved = classes.remove(x.max(y));
            if let Some(class) = classes.get_mut(x.min(y)) {
                class.members.extend(moved.members);
            }
        }
        (Some(at), None) => classes.get_mut(at).into_iter().for_each(|class| class.members.push(b.clone())),
        (None, Some(at)) => classes.get_mut(at).into_iter().for_each(|class| class.members.push(a.clone())),
        (None, None) => {
            classes.push(Class { domain, result: result.clone(), members: vec![a, b], constant: false })
        }
    }
}

impl ClassMember {
    fn expr(&self) -> Expr {
        column(self.column, self.ty.clone())
    }
}

impl Class {
    pub fn has(&self, column: usize) -> bool {
        self.members.iter().any(|member| member.column == column)
    }

    /// Returns the columns.
    pub fn members(&self) -> &[ClassMember] {
        &self.members
    }

    /// Whether the class has columns on both sides.
    pub fn connects(&self, left: Relations, right: Relations) -> bool {
        let has = |side: Relations| self.members.iter().any(|member| side.contains(member.relations));
        has(left) && has(right)
    }

    /// Whether the condition equates columns of the class that belong to two relations.
    pub fn says(&self, condition: &Expr) -> bool {
        let Some((left, right, domain)) = column_equality(condition) else { return false };
        let of = |side: &Expr| self.members.iter().find(|member| Some(member.column) == side.as_column());
        match (of(left), of(right)) {
            (Some(a), Some(b)) => domain == self.domain && a.relations != b.relations,
            _ => false,
        }
    }

    /// Returns one equality between the two sides, if the class has columns on both. A class that equals a constant gives none:
    /// each side's own conditions imply the equality.
    pub fn between(&self, left: Relations, right: Relations) -> Option<Expr> {
        if self.constant {
            return None;
        }
        let a = self.members.iter().find(|member| left.contains(member.relations))?;
        let b = self.members.iter().find(|member| right.contains(member.relations))?;
        Some(self.equality(a, b))
    }

    fn equality(&self, a: &ClassMember, b: &ClassMember) -> Expr {
        Expr {
            kind: ExprKind::Compare {
                op: CompareOp::Eq,
                left: Box::new(a.expr()),
                right: Box::new(b.expr()),
                domain: self.domain,
            },
            ty: self.result.clone(),
        }
    }

    /// Returns equalities between columns of one relation.
    fn within_relations(&self) -> Vec<Expr> {
        let mut equalities = Vec::new();
        for (position, member) in self.members.iter().enumerate() {
            let earlier =
                self.members.iter().take(position).find(|known| known.relations == member.relations);
            if let Some(earlier) = earlier {
                equalities.push(self.equality(earlier, member));
            }
        }
        equalities
    }
}

fn column_equality(conjunct: &Expr) -> Option<(&Expr, &Expr, CompareDomain)> {
    let ExprKind::Compare { op: CompareOp::Eq, left, right, domain } = &conjunct.kind else { return None };
    let (a, b) = (left.as_column()?, right.as_column()?);
    (a != b && is_transitive(&left.ty, *domain) && is_transitive(&right.ty, *domain)).then_some((
        left.as_ref(),
        right.as_ref(),
        *domain,
    ))
}

fn constant_equality(conjunct: &Expr) -> Option<(usize, CompareDomain)> {
    let ExprKind::Compare { op: CompareOp::Eq, left, right, domain } = &conjunct.kind else { return None };
    let (column, ty, value) = match (left.as_column(), right.as_column()) {
        (Some(column), None) => (column, &left.ty, right),
        (None, Some(column)) => (column, &right.ty, left),
        _ => return None,
    };
    (value.is_constant() && is_transitive(ty, *domain)).then_some((column, *domain))
}

pub(super) fn is_transitive(ty: &ExprType, domain: CompareDomain) -> bool {
    match domain {
        CompareDomain::Integer => ty.sql.is_integer(),
        CompareDomain::Decimal => ty.sql.is_integer() || matches!(ty.sql, SqlType::Decimal { .. }),
        CompareDomain::Double => ty.sql.is_real(),
        CompareDomain::String(collation) => ty.sql.is_string() && ty.collation == collation,
        CompareDomain::Date => matches!(ty.sql, SqlType::Date),
        CompareDomain::DateTime => matches!(ty.sql, SqlType::DateTime { .. }),
        CompareDomain::Time => matches!(ty.sql, SqlType::Time { .. }),
        CompareDomain::Json => false,
    }
}
