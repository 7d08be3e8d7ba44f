//! UNION, INTERSECT, EXCEPT and VALUES: queries other than a single SELECT.
//!
//! Each becomes a block over one relation that stands for its rows, so that ORDER BY, LIMIT, and being a table or a subquery mean
//! the same for all queries. INTERSECT binds closer than UNION and EXCEPT (the parser sees to that); otherwise operators apply
//! from left to right. A parenthesised query with clauses of its own, followed by further clauses, is a set operation of one
//! query. Columns have the names of the first query, and types that hold the values of all.

use leafline_expr::{Expr, build};
use leafline_types::{Coercibility, ExprType, MysqlError};

use super::from::add_relation;
use super::scope::{Block, Clause, Item, Scope};
use super::{Binder, select};
use crate::bound::{
    BoundSelect, RelationSource, SetOperation as BoundSetOperation, SetOperator, SetStep, TableHints,
};
use leafline_syntax::ast::{self, ExprKind, Query, QueryBody, SetOperation};

/// An operand of a chain of set operations, and the operator before it.
pub(super) type Operand<'q> = (Option<(SetOperation, bool)>, &'q Query);

impl Binder<'_> {
    /// Binds a set operation, or a parenthesised query that further clauses follow as a set operation of one query.
    pub(super) fn set_operation(&mut self, query: &Query) -> Result<BoundSelect, MysqlError> {
        let operands = operands(query);
        let bound: Vec<BoundSelect> =
            operands.iter().map(|(_, operand)| self.query(operand)).collect::<Result<_, _>>()?;
        let operators: Vec<_> = operands.into_iter().map(|(operator, _)| operator).collect();
        self.set_operation_of(bound, &operators, Some(query))
    }

    /// Combines operands, each with the operator before it, and applies the clauses of the whole query, if any can follow.
    pub(super) fn set_operation_of(
        &mut self,
        operands: Vec<BoundSelect>,
        operators: &[Option<(SetOperation, bool)>],
        query: Option<&Query>,
    ) -> Result<BoundSelect, MysqlError> {
        let mut operands = operands.into_iter().zip(operators);
        let Some((first, _)) = operands.next() else {
            return Err(MysqlError::internal("a union of nothing"));
        };
        let steps: Vec<SetStep> = operands
            .map(|(operand, operator)| {
                let (operation, all) = operator.unwrap_or((SetOperation::Union, false));
                SetStep { operator: set_operator(operation), all, operand }
            })
            .collect();
        let all = std::iter::once(&first).chain(steps.iter().map(|step| &step.operand));
        let columns = common_columns(&all.collect::<Vec<_>>())?;
        let source = RelationSource::SetOperation(Box::new(BoundSetOperation { first, steps }));
        self.over(source, columns, query)
    }

    /// Binds VALUES.
    pub(super) fn values(
        &mut self,
        query: &Query,
        rows: &[Vec<ast::Expr>],
    ) -> Result<BoundSelect, MysqlError> {
        let width = rows.first().map_or(0, Vec::len);
        if width > select::MAX_KEPT_ITEMS {
            return Err(MysqlError::too_many_columns());
        }
        let mut bound: Vec<Vec<Expr>> = Vec::with_capacity(rows.len());
        let mut block = Block { in_aggregate: true, ..Block::default() };
        for (number, row) in rows.iter().enumerate() {
            if row.len() != width || width == 0 {
                return Err(MysqlError::wrong_value_count(number + 1));
            }
            let values = row
                .iter()
                .map(|value| self.expression(&mut block, &Scope::default(), Clause::FieldList, value));
            bound.push(values.collect::<Result<_, _>>()?);
        }
        let mut columns = Vec::with_capacity(width);
        for column in 0..width {
            let types: Vec<&ExprType> =
                bound.iter().filter_map(|row| row.get(column)).map(|value| &value.ty).collect();
            columns.push((format!("column_{column}"), build::common_type("VALUES", &types)?));
        }
        for row in &mut bound {
            for (value, (_, ty)) in row.iter_mut().zip(&columns) {
                let taken = std::mem::replace(value, build::null());
                *value = build::conformed(taken, ty);
            }
        }
        self.over(RelationSource::Values(bound), columns, Some(query))
    }

    /// Makes a block that delivers the rows of `source`, with the clauses of the whole query, if any can follow.
    pub(super) fn over(
        &mut self,
        source: RelationSource,
        columns: Vec<(String, ExprType)>,
        query: Option<&Query>,
    ) -> Result<BoundSelect, MysqlError> {
        let mut block = Block::default();
        let (tree, scope) =
            add_relation(&mut block, String::new(), String::new(), source, columns, TableHints::default())?;
        block.items = scope
            .columns
            .iter()
            .map(|column| Item { expr: block.reference(column.id), name: column.name.clone(), aliased: true })
            .collect();
        let keys = query.map_or(&[][..], |query| &query.order_by);
        for item in keys {
            if let ExprKind::Column(name) = &item.expr.kind
                && let Some(table) = &name.table
            {
                let text = format!(
                    "Table '{}' from one of the SELECTs cannot be used in global ORDER clause",
                    table.value
                );
                return Err(MysqlError::with_message(1250, text));
            }
        }
        block.in_aggregate = true;
        let order_by = self.order_by(&mut block, &scope, keys)?;
        let limit = query.and_then(|query| query.limit.as_ref());
        let limit = limit.map(|limit| self.limit(limit)).transpose()?;
        let mut bound = select::finished(block, Some(tree), Vec::new(), Vec::new(), order_by, false)?;
        bound.limit = limit;
        Ok(bound)
    }
}

/// Returns the operands of a chain of set operations, from left to right.
pub(super) fn operands(query: &Query) -> Vec<Operand<'_>> {
    match &query.body {
        QueryBody::SetOperation { first, steps } => {
            let steps = steps.iter().map(|step| (Some((step.operation, step.all)), &step.query));
            std::iter::once((None, &**first)).chain(steps).collect()
        }
        QueryBody::Parenthesised(inner) => vec![(None, inner)],
        QueryBody::Select(_) | QueryBody::Values(_) => vec![(None, query)],
    }
}

/// Returns the columns of combined queries. Error 1222 when the queries differ in their number of columns.
pub(super) fn common_columns(queries: &[&BoundSelect]) -> Result<Vec<(String, ExprType)>, MysqlError> {
    let Some(first) = queries.first() else { return Ok(Vec::new()) };
    if queries.iter().any(|query| query.output.len() != first.output.len()) {
        return Err(MysqlError::wrong_number_of_columns_in_select());
    }
    if first.output.len() > select::MAX_KEPT_ITEMS {
        return Err(MysqlError::too_many_columns());
    }
    let mut columns = Vec::with_capacity(first.output.len());
    for (position, output) in first.output.iter().enumerate() {
        let outputs =
            queries.iter().filter_map(|query| query.output.get(position)).map(|output| &output.expr);
        let types: Vec<&ExprType> = outputs.clone().map(|output| &output.ty).collect();
        let ty = build::common_type("UNION", &types)?;
        if ty.sql.is_character() {
            build::convert_constants("UNION", outputs, ty.collation)?;
        }
        if ty.coercibility == Coercibility::None && ty.sql.is_character() {
            return Err(MysqlError::illegal_mix_of_many_collations("UNION"));
        }
        columns.push((output.meta.name.clone(), ty));
    }
    Ok(columns)
}

fn set_operator(operation: SetOperation) -> SetOperator {
    match operation {
        SetOperation::Union => SetOperator::Union,
        SetOperation::Intersect => SetOperator::Intersect,
        SetOperation::Except => SetOperator::Except,
    }
}
