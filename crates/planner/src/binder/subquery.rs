//! Subqueries in expressions, and their references to surrounding queries.
//!
//! A name that a query does not know is looked up in the surrounding queries, the nearest first. The column found there is a
//! value that the subquery depends on: each query on the way hands it down, and the subquery refers to it by its position among
//! these values. An aggregate whose argument reads only such columns belongs to the nearest query that one of them comes from,
//! and is handed down in the same way. An argument that is itself an aggregate of a surrounding query is a constant for the
//! aggregate and does not decide where the aggregate belongs, but that query must be farther outside (1111).

use leafline_expr::aggregate::AggregateCall;
use leafline_expr::subquery::{outer, subquery};
use leafline_expr::{CompareOp, Expr, ExprKind as Kind, Subquery, SubqueryUse, build};
use leafline_types::error::errno;
use leafline_types::{ExprType, MysqlError, SqlType};

use super::Binder;
use super::expression::{Bound, ExpressionBinder};
use super::numbering::FIRST_AGGREGATE;
use super::row::strictly;
use super::scope::{Block, Clause, Scope};
use crate::bound::BoundSubquery;
use leafline_syntax::ast::{self, ColumnName, ExprKind, Query};

/// A query around the one that is being bound.
#[derive(Debug)]
pub(super) struct Enclosing {
    block: Block,
    scope: Scope,
    clause: Clause,
    /// The values that the inner query depends on, over this query.
    captures: Vec<Expr>,
}

/// A bound subquery.
struct Inner {
    number: usize,
    outer: Vec<Expr>,
    is_volatile: bool,
    columns: Vec<ExprType>,
}

/// The levels of the nearest surrounding queries whose values some expressions use.
#[derive(Default)]
struct Origins {
    /// The level of the nearest column.
    column: Option<usize>,
    /// The level of the nearest aggregate.
    aggregate: Option<usize>,
}

impl Inner {
    fn asked(self, question: SubqueryUse, needle: Vec<Expr>) -> Expr {
        let Inner { number, outer, is_volatile, mut columns } = self;
        let ty = columns.drain(..).next().unwrap_or(ExprType::NULL);
        subquery(Subquery { number, question, needle, outer, is_volatile }, ty)
    }
}

impl Binder<'_> {
    /// Binds an inner query at a place of this one, and returns the values that it depends on.
    pub(super) fn within<T>(
        &mut self,
        block: &mut Block,
        scope: &Scope,
        clause: Clause,
        bind: impl FnOnce(&mut Self) -> Result<T, MysqlError>,
    ) -> Result<(T, Vec<Expr>), MysqlError> {
        let block_here = std::mem::take(block);
        self.enclosing.push(Enclosing {
            block: block_here,
            scope: scope.clone(),
            clause,
            captures: Vec::new(),
        });
        let bound = bind(self);
        let Some(frame) = self.enclosing.pop() else {
            return Err(MysqlError::internal("no query to return to"));
        };
        *block = frame.block;
        Ok((bound?, frame.captures))
    }

    /// Returns the column of a surrounding query that `name` means, if there is one.
    ///
    /// # Errors
    /// 1052 when several columns have the name; 1247 for the alias of the select list entry that contains the query, or of a
    /// later entry.
    pub(super) fn outer_column(&mut self, name: &ColumnName) -> Result<Option<Expr>, MysqlError> {
        for level in (0..self.enclosing.len()).rev() {
            let Some(frame) = self.enclosing.get(level) else { continue };
            if let Some(found) = frame.block.resolve(&frame.scope, frame.clause, name)? {
                let found = self.readable(&frame.block, found)?;
                return Ok(Some(self.handed_down(level, found)));
            }
            // Ungrouped rows have all their columns, and aggregates are over such rows.
            if frame.clause == Clause::Having
                && (self.aggregates_outer || frame.block.is_ungrouped())
                && let Some(id) = frame.block.find(&frame.scope, frame.clause, name)?
            {
                let found = self.readable(&frame.block, frame.block.reference(id))?;
                return Ok(Some(self.handed_down(level, found)));
            }
            if frame.clause == Clause::FieldList
                && let Some(found) = frame.block.earlier_item(name)?
            {
                return Ok(Some(self.handed_down(level, found)));
            }
        }
        let is_ahead = |frame: &Enclosing| {
            frame.block.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(&name.column.value))
        };
        if name.table.is_none() && self.enclosing.iter().any(is_ahead) {
            return Err(MysqlError::illegal_reference(&name.column.value, "forward reference in item list"));
        }
        Ok(None)
    }

    /// Hands an expression over the query at `level` down to the innermost query, and returns the reference there.
    fn handed_down(&mut self, level: usize, mut expr: Expr) -> Expr {
        self.outer_references += 1;
        if let Some(exact) = build::operand_of_rounding(&expr) {
            let (exact, ty) = (exact.clone(), expr.ty);
            return build::shown(self.handed_down(level, exact), ty);
        }
        // Without ONLY_FULL_GROUP_BY the query may aggregate without groups, and then a column of no row is NULL.
        let clause = self.enclosing.get(level).map(|frame| frame.clause);
        let after_groups = matches!(clause, Some(Clause::FieldList | Clause::Having | Clause::Order));
        let may_have_no_row = after_groups && !self.context.only_full_group_by;
        for frame in self.enclosing.iter_mut().skip(level) {
            let ty = ExprType { nullable: expr.ty.nullable || may_have_no_row, ..expr.ty.clone() };
            let number = frame.captures.iter().position(|known| *known == expr).unwrap_or_else(|| {
                frame.captures.push(expr);
                frame.captures.len() - 1
            });
            expr = outer(number, ty);
        }
        expr
    }

    /// Returns the query that a handed-down value of the innermost query comes from, and the expression over that query.
    fn origin(&self, number: usize) -> Option<(usize, Expr)> {
        let mut number = number;
        for (level, frame) in self.enclosing.iter().enumerate().rev() {
            let captured = frame.captures.get(number)?;
            match captured.kind {
                Kind::Outer(further) => number = further,
                _ => return Some((level, captured.clone())),
            }
        }
        None
    }

    /// Returns the nearest queries that values in expressions of the innermost query come from.
    fn nearest_origins(&self, exprs: &[Expr]) -> Origins {
        let mut nearest = Origins::default();
        for expr in exprs {
            expr.visit(&mut |e| {
                if let Kind::Outer(number) = e.kind
                    && let Some((level, value)) = self.origin(number)
                {
                    let holds_aggregate = value.columns().iter().any(|&column| column >= FIRST_AGGREGATE);
                    let of_kind = if holds_aggregate { &mut nearest.aggregate } else { &mut nearest.column };
                    *of_kind = (*of_kind).max(Some(level));
                }
                true
            });
        }
        nearest
    }

    /// Rewrites an expression of the innermost query that reads only handed-down values as one over the query at `level`.
    fn lifted(&self, expr: Expr, level: usize) -> Result<Expr, MysqlError> {
        expr.transform(&mut |e| {
            let Kind::Outer(mut number) = e.kind else { return Ok(e) };
            for frame in self.enclosing.iter().skip(level).rev() {
                let Some(captured) = frame.captures.get(number) else { break };
                match captured.kind {
                    Kind::Outer(further) => number = further,
                    _ => return Ok(captured.clone()),
                }
            }
            Ok(outer(number, e.ty))
        })
    }
}

impl ExpressionBinder<'_, '_, '_> {
    fn subquery(&mut self, query: &Query) -> Result<Inner, MysqlError> {
        let volatile_before = self.binder.volatile_calls;
        let (query, outer) =
            self.binder.within(self.block, self.scope, self.clause, |binder| binder.query(query))?;
        let is_volatile = self.binder.volatile_calls > volatile_before;
        let columns = query.output.iter().map(|output| output.expr.ty.clone()).collect();
        let number = self.binder.subqueries.len();
        let is_dependent = !outer.is_empty() || is_volatile;
        self.binder.subqueries.push(BoundSubquery { query, is_dependent });
        Ok(Inner { number, outer, is_volatile, columns })
    }

    /// Binds `(query)` as a value.
    pub(super) fn scalar_subquery(&mut self, query: &Query) -> Bound {
        let mut inner = self.subquery(query)?;
        let [shown] = inner.columns.as_slice() else { return Err(MysqlError::operand_columns(1)) };
        let shown = shown.clone();
        if let Some(subquery) = self.binder.subqueries.get_mut(inner.number) {
            subquery.query.keep_digits();
            inner.columns = subquery.query.output.iter().map(|output| output.expr.ty.clone()).collect();
        }
        let value = inner.asked(SubqueryUse::Value, Vec::new());
        let decimals =
            matches!((&value.ty.sql, &shown.sql), (SqlType::Decimal { .. }, SqlType::Decimal { .. }));
        if !decimals || value.ty.sql.scale() <= shown.sql.scale() {
            return Ok(value);
        }
        let ty = ExprType { sql: shown.sql.without_zerofill(), ..value.ty.clone() };
        Ok(build::shown(value, ty))
    }

    /// Binds `EXISTS (query)`.
    pub(super) fn exists(&mut self, query: &Query) -> Bound {
        Ok(self.subquery(query)?.asked(SubqueryUse::Exists, Vec::new()))
    }

    /// Binds `operand [NOT] IN (query)`.
    pub(super) fn in_query(&mut self, operand: &ast::Expr, query: &Query, negated: bool) -> Bound {
        let found = self.any(CompareOp::Eq, operand, query)?;
        Ok(if negated { build::not(found) } else { found })
    }

    /// Binds `left op ANY (query)` and `left op ALL (query)`: ALL is true when the opposite comparison is true of no row.
    pub(super) fn quantified(&mut self, op: CompareOp, all: bool, left: &ast::Expr, query: &Query) -> Bound {
        let is_row = matches!(left.kind, ExprKind::Row(_));
        if is_row && !matches!((op, all), (CompareOp::Eq, false) | (CompareOp::Ne, true)) {
            return Err(MysqlError::operand_columns(1));
        }
        match (all, op.negated()) {
            (false, _) => self.any(op, left, query),
            (true, Some(opposite)) => Ok(build::not(self.any(opposite, left, query)?)),
            (true, None) => Err(MysqlError::not_supported("<=> ALL")),
        }
    }

    fn any(&mut self, op: CompareOp, left: &ast::Expr, query: &Query) -> Bound {
        if query.limit.is_some() {
            return Err(MysqlError::not_supported("LIMIT & IN/ALL/ANY/SOME subquery"));
        }
        let needle = match &left.kind {
            ExprKind::Row(row) => row.iter().map(|e| self.bind(e)).collect::<Result<Vec<_>, _>>()?,
            _ => vec![self.bind(left)?],
        };
        let inner = self.subquery(query)?;
        let comparison = comparison(op, &needle, &inner.columns)?;
        self.convert_constants(op, &needle, &inner)?;
        Ok(inner.asked(SubqueryUse::Any(Box::new(comparison)), needle))
    }

    /// Binds `(a, b) op (query)`; the query has one row.
    pub(super) fn row_with_query(&mut self, op: CompareOp, row: &[ast::Expr], query: &Query) -> Bound {
        let needle = row.iter().map(|e| self.bind(e)).collect::<Result<Vec<_>, _>>()?;
        let inner = self.subquery(query)?;
        let comparison = comparison(op, &needle, &inner.columns)?;
        self.convert_constants(op, &needle, &inner)?;
        Ok(inner.asked(SubqueryUse::Row(Box::new(comparison)), needle))
    }

    /// Raises error 1267 where a constant of the needle, or of the query, has characters that the other side's character set
    /// lacks.
    fn convert_constants(&self, op: CompareOp, needle: &[Expr], inner: &Inner) -> Result<(), MysqlError> {
        let Some(subquery) = self.binder.subqueries.get(inner.number) else { return Ok(()) };
        let mut pairs = needle.iter().zip(&subquery.query.output);
        let operation = op.to_string();
        pairs.try_for_each(|(left, right)| build::convert_constants_beside(&operation, left, &right.expr))
    }

    /// Binds the arguments of an aggregate.
    fn arguments(&mut self, args: &[ast::Expr], documents: bool) -> Result<Vec<Expr>, MysqlError> {
        let nested = std::mem::replace(&mut self.block.in_aggregate, true);
        let bound =
            args.iter().map(|arg| if documents { self.document(arg) } else { self.bind(arg) }).collect();
        self.block.in_aggregate = nested;
        bound
    }

    /// Binds an aggregate of `args`. The aggregate belongs to this query or, where the arguments read only surrounding queries,
    /// to one of these.
    pub(super) fn aggregate_of(
        &mut self,
        args: &[ast::Expr],
        documents: bool,
        call: &dyn Fn(Vec<Expr>) -> Result<AggregateCall, MysqlError>,
    ) -> Bound {
        let known: Vec<usize> = self.binder.enclosing.iter().map(|frame| frame.captures.len()).collect();
        let nested = self.block.in_aggregate;
        let is_allowed = !nested && has_aggregates(self.clause);
        let has_columns = |bound: &[Expr]| bound.iter().any(|arg| !arg.columns().is_empty());
        let bound = match self.arguments(args, documents) {
            Err(unknown)
                if unknown.code == errno::ER_BAD_FIELD_ERROR && !self.binder.enclosing.is_empty() =>
            {
                let before = std::mem::replace(&mut self.binder.aggregates_outer, true);
                let bound = self.arguments(args, documents);
                self.binder.aggregates_outer = before;
                bound.ok().filter(|bound| !bound.is_empty() && !has_columns(bound)).ok_or(unknown)?
            }
            bound => bound?,
        };
        let own = has_columns(&bound);
        let origins = self.binder.nearest_origins(&bound);
        let level = match origins.column {
            Some(level) if !own => Some(level),
            // An aggregate without columns, such as COUNT(*), belongs to the nearest query that allows aggregates there.
            None if !own && !is_allowed => {
                self.binder.enclosing.iter().rposition(Enclosing::allows_aggregates)
            }
            _ => None,
        };
        if level.is_some_and(|level| origins.aggregate >= Some(level)) {
            return Err(MysqlError::invalid_group_function());
        }
        // The aggregate belongs to the outermost query, from `level` inwards, that allows aggregates there; if none does, to this
        // query.
        let allowing = level.and_then(|level| {
            let mut frames = self.binder.enclosing.iter().enumerate().skip(level);
            frames.find(|(_, frame)| frame.allows_aggregates()).map(|(at, _)| at)
        });
        let Some(level) = allowing else {
            if !is_allowed {
                return Err(MysqlError::invalid_group_function());
            }
            return Ok(self.block.aggregate(call(bound)?));
        };
        let lifted =
            bound.into_iter().map(|arg| self.binder.lifted(arg, level)).collect::<Result<Vec<_>, _>>()?;
        // Values of the lifted arguments that come from farther outside are still handed down to the query at `level`.
        for (frame, known) in self.binder.enclosing.iter_mut().zip(known).skip(level) {
            frame.captures.truncate(known);
        }
        let Some(frame) = self.binder.enclosing.get_mut(level) else {
            return Err(MysqlError::internal("an aggregate of a query that is not there"));
        };
        let aggregate = frame.block.aggregate(call(lifted)?);
        Ok(self.binder.handed_down(level, aggregate))
    }
}

impl Enclosing {
    /// Whether aggregates of this query may stand at the place of the inner query.
    fn allows_aggregates(&self) -> bool {
        !self.block.in_aggregate && has_aggregates(self.clause)
    }
}

/// Whether aggregates of a query may stand in the clause.
fn has_aggregates(clause: Clause) -> bool {
    matches!(clause, Clause::FieldList | Clause::Having | Clause::Order)
}

/// Binds `needle op row`; the needle takes the first columns, the row the following ones. Error 1241 when their lengths differ.
fn comparison(op: CompareOp, needle: &[Expr], row: &[ExprType]) -> Bound {
    if needle.len() != row.len() {
        return Err(MysqlError::operand_columns(needle.len()));
    }
    let pairs: Vec<(Expr, Expr)> = needle
        .iter()
        .zip(row)
        .enumerate()
        .map(|(at, (left, right))| {
            (build::column(at, left.ty.clone()), build::column(needle.len() + at, right.clone()))
        })
        .collect();
    compare_columns(op, &pairs)
}

fn compare_columns(op: CompareOp, pairs: &[(Expr, Expr)]) -> Bound {
    let of = |op| {
        pairs.iter().map(|(l, r)| build::compare(op, l.clone(), r.clone())).collect::<Result<Vec<_>, _>>()
    };
    match (op, pairs) {
        (_, [(left, right)]) => build::compare(op, left.clone(), right.clone()),
        (CompareOp::Eq | CompareOp::NullSafeEq, _) => Ok(build::and(of(op)?)),
        (CompareOp::Ne, _) => Ok(build::or(of(op)?)),
        (_, [(left, right), rest @ ..]) => {
            let first = build::compare(strictly(op), left.clone(), right.clone())?;
            let equal = build::compare(CompareOp::Eq, left.clone(), right.clone())?;
            let rest = compare_columns(op, rest)?;
            Ok(build::or(vec![first, build::and(vec![equal, rest])]))
        }
        (_, []) => Err(MysqlError::operand_columns(1)),
    }
}
