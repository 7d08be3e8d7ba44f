//! Reads indexed expressions from generated columns: an expression equal to the definition of an indexed generated column is read
//! from that column (MySQL 8.0 manual, "Optimizer Use of Generated Column Indexes"; functional key parts are such columns).
//!
//! An expression is replaced where the column has its value for every row:
//!
//! * the expression equals the definition, literals included. A parameter never equals a literal of the definition, and the
//!   literals that the statement cache turns into parameters are compared with columns, not with expressions;
//! * the column has the type and collation of the expression; in comparisons and ORDER BY it may have another type that holds the
//!   same values;
//! * the column belongs to the row at hand. Behind an outer join that found no row the column is NULL, so there the expression
//!   must be NULL for a row of NULLs.
//!
//! Where a column is `CAST(text AS CHAR(n))`, a comparison of the text itself implies a comparison of the column with the first
//! `n` characters, which is added. Long text, such as text of JSON, must be cast to CHAR to be indexed.

use crate::bound::merge::for_each_expr_mut;
use crate::bound::{BoundSelect, IndexedExpression, JoinTree};
use leafline_expr::{CompareDomain, CompareOp, EvalContext, Expr, ExprKind, build, evaluate_row};
use leafline_types::{Collation, ExprType, Origin, SqlType, Value};
use std::collections::BTreeSet;
use std::mem::discriminant;

/// A generated column of a relation.
struct Candidate {
    relation: usize,
    /// The number of the column in the block.
    column: usize,
    ty: ExprType,
    /// The expression that defines the column, over the columns of the block, in canonical form.
    expr: Expr,
    /// Whether `expr` is NULL for a row of NULLs.
    keeps_null: bool,
    /// The text whose first characters the column holds.
    cut_text: Option<CutText>,
}

/// The operand of `CAST(text AS CHAR(n)) COLLATE utf8mb4_bin`.
struct CutText {
    text: Expr,
    length: u32,
}

/// The collation in which prefixes of equal length compare as the strings do.
const PREFIX_COLLATION: Collation = Collation::Utf8mb4Bin;

impl CutText {
    fn new(expr: &Expr) -> Option<CutText> {
        let (ExprKind::Cast { operand }, SqlType::Varchar { len }) = (&expr.kind, &expr.ty.sql) else {
            return None;
        };
        let same =
            [expr, &**operand].iter().all(|e| e.ty.sql.is_character() && e.ty.collation == PREFIX_COLLATION);
        same.then(|| CutText { text: (**operand).clone(), length: *len })
    }

    /// Whether this is the text of `expr`, or the text of the string in the document `expr`.
    fn is_of(&self, expr: &Expr) -> bool {
        match &self.text.kind {
            ExprKind::Call { function, args } if function.definition().name == "JSON_UNQUOTE" => {
                self.text == *expr || args.first() == Some(expr)
            }
            _ => self.text == *expr,
        }
    }

    /// Returns the first characters of a value that the text is compared with.
    fn beginning(&self, value: &Expr) -> Option<Expr> {
        if !value.ty.sql.is_character() || value.is_volatile() || value.has_subquery() {
            return None;
        }
        build::call("LEFT", vec![value.clone(), build::literal(Value::Int(self.length.into()))]).ok()
    }

    /// Returns the condition on the column that `text op value` implies.
    fn compared(&self, candidate: &Candidate, op: CompareOp, value: &Expr) -> Option<Expr> {
        let op = match op {
            CompareOp::Eq | CompareOp::NullSafeEq => op,
            CompareOp::Lt | CompareOp::Le => CompareOp::Le,
            CompareOp::Gt | CompareOp::Ge => CompareOp::Ge,
            CompareOp::Ne => return None,
        };
        let column = build::column(candidate.column, candidate.ty.clone());
        build::compare(op, column, self.beginning(value)?).ok()
    }
}

/// Rewrites the block so that expressions are read from the indexed columns that they define.
pub(super) fn read_from_columns(mut select: BoundSelect, eval: &mut EvalContext<'_>) -> BoundSelect {
    if select.relations.iter().all(|relation| relation.generated.is_empty()) {
        return select;
    }
    let candidates = candidates(&select, eval);
    let from = select.from.take();
    let nullable = from.as_ref().map(nullable).unwrap_or_default();
    let seen = Replaceable { candidates: &candidates, nullable: &nullable };
    seen.add_implied(&mut select.filter);
    for_each_expr_mut(&mut select, &mut |expr| seen.replace(expr));
    select.order_by.iter_mut().for_each(|key| seen.replace_key(&mut key.expr));
    select.from = from.map(|tree| in_tree(tree, &candidates));
    select
}

fn candidates(select: &BoundSelect, eval: &mut EvalContext<'_>) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (relation, of) in select.relations.iter().enumerate() {
        let nulls = vec![Value::Null; of.columns.len()];
        for IndexedExpression { ordinal, expr } in of.generated.iter() {
            let column = of.columns.start + ordinal;
            let known = &select.columns[column];
            let keeps_null = evaluate_row(expr, &nulls, eval).is_ok_and(|value| value.is_null());
            let expr = expr.map_columns(&mut |ordinal| of.columns.start + ordinal).canonical();
            let cut_text = CutText::new(&expr).filter(|_| known.ty.collation == PREFIX_COLLATION);
            found.push(Candidate { relation, column, ty: known.ty.clone(), expr, keeps_null, cut_text });
        }
    }
    found
}

/// Returns the relations whose columns an outer join of the tree may set to NULL.
fn nullable(tree: &JoinTree) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    collect(tree, false, &mut found);
    found
}

fn collect(tree: &JoinTree, inside: bool, found: &mut BTreeSet<usize>) {
    match tree {
        JoinTree::Relation(relation) => {
            if inside {
                found.insert(*relation);
            }
        }
        JoinTree::Inner { children, .. } => children.iter().for_each(|child| collect(child, inside, found)),
        JoinTree::Left { left, right, .. } => {
            collect(left, inside, found);
            collect(right, true, found);
        }
        JoinTree::Semi { left, right, .. } => {
            collect(left, inside, found);
            collect(right, inside, found);
        }
    }
}

/// Rewrites the conditions of joins, which see rows as they are before their own join sets any to NULL.
fn in_tree(tree: JoinTree, candidates: &[Candidate]) -> JoinTree {
    let replaced = |mut conditions: Vec<Expr>, sides: &[&JoinTree]| {
        let nullable = sides.iter().flat_map(|side| nullable(side)).collect();
        let seen = Replaceable { candidates, nullable: &nullable };
        seen.add_implied(&mut conditions);
        conditions.iter_mut().for_each(|condition| seen.replace(condition));
        conditions
    };
    let below = |tree: Box<JoinTree>| Box::new(in_tree(*tree, candidates));
    match tree {
        JoinTree::Relation(relation) => JoinTree::Relation(relation),
        JoinTree::Inner { children, conditions, straight } => {
            let sides: Vec<&JoinTree> = children.iter().collect();
            let conditions = replaced(conditions, &sides);
            let children = children.into_iter().map(|child| in_tree(child, candidates)).collect();
            JoinTree::Inner { children, conditions, straight }
        }
        JoinTree::Left { left, right, conditions } => {
            let conditions = replaced(conditions, &[&left, &right]);
            JoinTree::Left { left: below(left), right: below(right), conditions }
        }
        JoinTree::Semi { left, right, conditions, negated } => {
            let conditions = replaced(conditions, &[&left, &right]);
            JoinTree::Semi { left: below(left), right: below(right), conditions, negated }
        }
    }
}

/// The expressions that can be replaced in one place.
struct Replaceable<'a> {
    candidates: &'a [Candidate],
    /// The relations whose columns may have been set to NULL there.
    nullable: &'a BTreeSet<usize>,
}

impl Replaceable<'_> {
    /// Adds the implied conditions on columns that are text cast to CHAR.
    fn add_implied(&self, conditions: &mut Vec<Expr>) {
        let implied: Vec<Expr> = conditions.iter().filter_map(|condition| self.implied(condition)).collect();
        conditions.extend(implied);
    }

    fn implied(&self, condition: &Expr) -> Option<Expr> {
        let implied = match &condition.kind {
            ExprKind::Compare { op, left, right, .. } => match self.cut(left, *op) {
                Some((candidate, cut)) => cut.compared(candidate, *op, right),
                None => {
                    let (candidate, cut) = self.cut(right, op.swapped())?;
                    cut.compared(candidate, op.swapped(), left)
                }
            },
            ExprKind::InList { needle, list, negated: false, .. } => {
                let (candidate, cut) = self.cut(needle, CompareOp::Eq)?;
                let list = list.iter().map(|value| cut.beginning(value)).collect::<Option<Vec<Expr>>>()?;
                build::in_list(build::column(candidate.column, candidate.ty.clone()), list, false).ok()
            }
            _ => None,
        }?;
        match &implied.kind {
            ExprKind::Compare { domain, .. } | ExprKind::InList { domain, .. } => {
                (*domain == CompareDomain::String(PREFIX_COLLATION)).then_some(implied)
            }
            _ => None,
        }
    }

    /// Returns the column with the first characters of a compared text. A document is known to be a string only where it equals
    /// one.
    fn cut(&self, text: &Expr, op: CompareOp) -> Option<(&Candidate, &CutText)> {
        if text.as_column().is_some() || text.as_literal().is_some() {
            return None;
        }
        if text.ty.sql == SqlType::Json && op != CompareOp::Eq {
            return None;
        }
        let canonical = text.canonical();
        let candidates = self.candidates.iter().filter(|candidate| self.is_there(candidate));
        let mut found = candidates.filter_map(|candidate| Some((candidate, candidate.cut_text.as_ref()?)));
        found.find(|(_, cut)| cut.is_of(&canonical))
    }

    /// Whether the column has the value of its expression at this place.
    fn is_there(&self, candidate: &Candidate) -> bool {
        candidate.keeps_null || !self.nullable.contains(&candidate.relation)
    }

    fn replace(&self, expr: &mut Expr) {
        if let Some(candidate) = self.find(expr, |ty, own| ty.sql == own.sql && same_collation(ty, own)) {
            expr.kind = ExprKind::Column(candidate.column);
            expr.ty.nullable |= candidate.ty.nullable;
            expr.ty.origin = Origin::UNKNOWN;
            return;
        }
        self.replace_operands(expr);
        expr.for_each_child_mut(&mut |child| self.replace(child));
    }

    /// Replaces operands of a comparison by columns of another type, if the comparison keeps its meaning.
    fn replace_operands(&self, expr: &mut Expr) {
        if !matches!(expr.kind, ExprKind::Compare { .. } | ExprKind::InList { .. }) {
            return;
        }
        let mut other = expr.clone();
        match &mut other.kind {
            ExprKind::Compare { left, right, .. } => {
                self.replace_key(left);
                self.replace_key(right);
            }
            ExprKind::InList { needle, .. } => self.replace_key(needle),
            _ => {}
        }
        let Ok(other) = build::retype(other) else { return };
        let same = match (&expr.kind, &other.kind) {
            (ExprKind::Compare { domain: a, .. }, ExprKind::Compare { domain: b, .. })
            | (ExprKind::InList { domain: a, .. }, ExprKind::InList { domain: b, .. }) => a == b,
            _ => false,
        };
        if same {
            *expr = other;
        }
    }

    /// Replaces a compared expression or a sort key. The column may have another type that orders the same values alike.
    fn replace_key(&self, expr: &mut Expr) {
        if let Some(candidate) = self.find(expr, holds_values_of) {
            *expr = build::column(candidate.column, candidate.ty.clone());
        }
    }

    /// Returns the column with the value of `expr`, if `fits` accepts its type.
    fn find(&self, expr: &Expr, fits: impl Fn(&ExprType, &ExprType) -> bool) -> Option<&Candidate> {
        let mut canonical = None;
        self.candidates.iter().find(|candidate| {
            discriminant(&expr.kind) == discriminant(&candidate.expr.kind)
                && fits(&candidate.ty, &expr.ty)
                && self.is_there(candidate)
                && *canonical.get_or_insert_with(|| expr.canonical()) == candidate.expr
        })
    }
}

fn same_collation(column: &ExprType, own: &ExprType) -> bool {
    !own.sql.is_character() || column.collation == own.collation
}

/// Whether a column of type `column` either stores every value of an expression of type `own` unchanged, or refuses it.
fn holds_values_of(column: &ExprType, own: &ExprType) -> bool {
    match (&column.sql, &own.sql) {
        (a, b) if a == b => same_collation(column, own),
        (SqlType::Decimal { scale: a, .. }, SqlType::Decimal { scale: b, .. }) => a >= b,
        (SqlType::DateTime { fsp: a }, SqlType::DateTime { fsp: b })
        | (SqlType::Time { fsp: a }, SqlType::Time { fsp: b }) => a >= b,
        (SqlType::Binary { .. }, _) => false,
        // Trailing spaces of text that is too long are cut off silently.
        (a, b) if a.is_character() && b.is_character() => {
            column.collation == own.collation && (column.collation.pads_space() || is_longer(a, b))
        }
        (a, b) if a.is_bytes() && b.is_bytes() => true,
        (a, b) => is_plain_integer(a) && is_plain_integer(b),
    }
}

/// Whether text of type `other` never exceeds the length of `column`.
fn is_longer(column: &SqlType, other: &SqlType) -> bool {
    match (column, other) {
        (SqlType::Varchar { len: a }, SqlType::Char { len: b } | SqlType::Varchar { len: b }) => a >= b,
        (SqlType::Text { max_bytes: a }, SqlType::Text { max_bytes: b }) => a >= b,
        _ => false,
    }
}

fn is_plain_integer(ty: &SqlType) -> bool {
    ty.is_integer() && !matches!(ty, SqlType::Year | SqlType::Bit { .. })
}
