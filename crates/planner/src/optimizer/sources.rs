//! Plans relations other than stored and derived tables: set operations, VALUES, common tables.

use super::block_node::node;
use super::operators::limited;
use super::settings::OptimizerContext;
use crate::bound::{
    BoundSelect, CommonTable, Recursion, Relation, RelationSource, SetOperation, SetOperator, SetStep,
};
use crate::params::{CHAINED_OPERANDS, EXPECTED_ROUNDS, JSON_TABLE_ROWS, MAX_SET_LEVELS};
use crate::plan::{self, CommonPlan, Node, Operator, Plan, RecursiveUnion, SetOperationKind};
use leafline_expr::build;
use leafline_types::{ExprType, MysqlError};
use std::sync::Arc;

/// Plans a relation; `types` are the types of its columns.
pub(super) fn plan_source(
    relation: &Relation,
    types: Vec<ExprType>,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Node, MysqlError> {
    match &relation.source {
        RelationSource::Base(_) => Err(MysqlError::internal("a table is read along a path")),
        RelationSource::Derived(query) => cx.plan_derived(query),
        RelationSource::Lateral(lateral) => cx.plan_derived(&lateral.query),
        RelationSource::SetOperation(operation) => plan_set_operation(operation, &types, cx),
        RelationSource::Values(rows) => {
            let count = rows.len() as f64;
            Ok(node(Operator::Values(plan::Values { rows: rows.clone().into() }), types, count, 0.0))
        }
        RelationSource::JsonTable(table) => {
            let operator = Operator::JsonTable(plan::JsonTable { table: Arc::new(table.as_ref().clone()) });
            Ok(node(operator, types, JSON_TABLE_ROWS, 0.0))
        }
        RelationSource::Common(table) => plan_common(table, &relation.alias, types, cx),
        RelationSource::WorkTable(number) => {
            let operator = Operator::WorkTableScan(plan::WorkTableScan {
                number: *number,
                alias: relation.alias.as_str().into(),
            });
            Ok(node(operator, types, 100.0, 0.0))
        }
    }
}

/// Plans a set operation. Consecutive UNIONs become one append, in which the inputs up to the last UNION DISTINCT are made
/// distinct together. INTERSECTs and EXCEPTs are planned in runs of equal operators.
///
/// # Errors
/// 1436 for a plan of more than [`MAX_SET_LEVELS`].
fn plan_set_operation(
    operation: &SetOperation,
    types: &[ExprType],
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Node, MysqlError> {
    let mut inputs = vec![conformed(cx.plan_derived(&operation.first)?, types)];
    // Number of inputs that are made distinct together.
    let mut distinct = 0;
    let mut levels = 0;
    for run in operation.steps.chunk_by(|a, b| a.operator == b.operator && a.all == b.all) {
        let operands = run.iter().map(|step| Ok(conformed(cx.plan_derived(&step.operand)?, types)));
        let operands = operands.collect::<Result<Vec<_>, MysqlError>>()?;
        let Some(SetStep { operator, all, .. }) = run.first() else { continue };
        let kept = match operator {
            SetOperator::Union => {
                inputs.extend(operands);
                if !all {
                    distinct = inputs.len();
                }
                continue;
            }
            SetOperator::Intersect => SetOperationKind::InBoth,
            SetOperator::Except => SetOperationKind::OnlyLeft,
        };
        levels += operands.len().min(CHAINED_OPERANDS) + usize::from(inputs.len() > 1);
        if levels > MAX_SET_LEVELS {
            return Err(MysqlError::nested_too_deeply(MAX_SET_LEVELS));
        }
        let left = union(std::mem::take(&mut inputs), distinct, types);
        (inputs, distinct) = (vec![matched(left, operands, (kept, *all), types)], 0);
    }
    Ok(union(inputs, distinct, types))
}

/// Plans INTERSECT or EXCEPT of a left side and all right sides: in their order or, if there are many, in a shape with the same
/// rows and fewer levels.
fn matched(
    left: Node,
    mut right: Vec<Node>,
    (kept, all): (SetOperationKind, bool),
    types: &[ExprType],
) -> Node {
    let pair = |left: Node, right: Node| {
        let rows = match kept {
            SetOperationKind::InBoth => left.estimate.rows.min(right.estimate.rows),
            SetOperationKind::OnlyLeft => left.estimate.rows,
        };
        let cost = left.estimate.cost_us + right.estimate.cost_us;
        let operator =
            Operator::SetOp(plan::SetOp { left: Box::new(left), right: Box::new(right), kept, all });
        node(operator, types.to_vec(), rows, cost)
    };
    match kept {
        _ if right.len() <= CHAINED_OPERANDS => right.into_iter().fold(left, pair),
        // EXCEPT of all right sides is EXCEPT of their append: rows in none of them or, with ALL, more often than in all
        // together.
        SetOperationKind::OnlyLeft => pair(left, append(right, types)),
        SetOperationKind::InBoth => {
            right.insert(0, left);
            while right.len() > 1 {
                let mut level = std::mem::take(&mut right).into_iter();
                while let Some(first) = level.next() {
                    right.push(match level.next() {
                        Some(second) => pair(first, second),
                        None => first,
                    });
                }
            }
            append(right, types)
        }
    }
}

/// Appends the inputs, the first `distinct` of them made distinct.
fn union(mut inputs: Vec<Node>, distinct: usize, types: &[ExprType]) -> Node {
    if distinct == 0 {
        return append(inputs, types);
    }
    let rest = inputs.split_off(distinct.min(inputs.len()));
    let input = append(inputs, types);
    let estimate = input.estimate;
    let operator = Operator::Distinct(plan::Distinct { input: Box::new(input) });
    let first = node(operator, types.to_vec(), estimate.rows, estimate.cost_us);
    append(std::iter::once(first).chain(rest).collect(), types)
}

/// Appends the inputs.
fn append(mut inputs: Vec<Node>, types: &[ExprType]) -> Node {
    if inputs.len() == 1
        && let Some(only) = inputs.pop()
    {
        return only;
    }
    let (rows, cost) = inputs
        .iter()
        .fold((0.0, 0.0), |(rows, cost), input| (rows + input.estimate.rows, cost + input.estimate.cost_us));
    node(Operator::Append(plan::Append { inputs }), types.to_vec(), rows, cost)
}

/// Converts the rows of a node to these types.
fn conformed(input: Node, types: &[ExprType]) -> Node {
    let expressions: Vec<_> = input
        .types
        .iter()
        .zip(types)
        .enumerate()
        .map(|(at, (from, to))| build::conformed(build::column(at, from.clone()), to))
        .collect();
    if expressions.iter().enumerate().all(|(at, expr)| expr.as_column() == Some(at)) {
        return input;
    }
    let estimate = input.estimate;
    let operator =
        Operator::Project(plan::Project { input: Box::new(input), expressions: expressions.into() });
    node(operator, types.to_vec(), estimate.rows, estimate.cost_us)
}

/// Plans a reference to a common table. The first reference plans the query.
fn plan_common(
    table: &CommonTable,
    alias: &str,
    types: Vec<ExprType>,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Node, MysqlError> {
    if !cx.commons.contains_key(&table.number) {
        let root = match &table.recursion {
            None => cx.plan_derived(&table.query)?,
            Some(recursion) => plan_recursion(table.number, &table.query, recursion, cx)?,
        };
        let plan = Plan::of(root, cx);
        cx.commons.insert(
            table.number,
            CommonPlan { name: table.name.as_str().into(), plan, is_dependent: table.is_dependent },
        );
    }
    let estimate = cx.commons.get(&table.number).map(|known| known.plan.root.estimate).unwrap_or_default();
    let operator =
        Operator::CommonTableScan(plan::CommonTableScan { number: table.number, alias: alias.into() });
    Ok(node(operator, types, estimate.rows, estimate.cost_us))
}

fn plan_recursion(
    number: usize,
    seed: &BoundSelect,
    recursion: &Recursion,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Node, MysqlError> {
    let types = &recursion.types;
    let seed = conformed(cx.plan_derived(seed)?, types);
    let steps = recursion.steps.iter().map(|step| Ok(conformed(cx.plan_derived(step)?, types)));
    let steps = steps.collect::<Result<Vec<_>, MysqlError>>()?;
    let rows = seed.estimate.rows * EXPECTED_ROUNDS;
    let cost = steps.iter().map(|step| step.estimate.cost_us).sum::<f64>() * EXPECTED_ROUNDS;
    let cost = seed.estimate.cost_us + cost;
    let union = RecursiveUnion { number, seed, steps, distinct: recursion.distinct };
    let root = node(Operator::RecursiveUnion(Arc::new(union)), types.clone(), rows, cost);
    match &recursion.limit {
        Some(limit) => limited(root, limit),
        None => Ok(root),
    }
}
