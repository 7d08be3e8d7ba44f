//! Relations that are neither tables nor derived tables: set operations, VALUES, the queries of WITH.

use super::block::plan_derived;
use super::emit::node;
use super::settings::OptimizerContext;
use crate::bound::{
    BoundSelect, CommonTable, Recursion, Relation, RelationSource, SetOperation, SetOperator,
};
use crate::plan::{CommonPlan, KeptRows, Node, Operator, Plan, RecursiveUnion};
use leafline_types::expr::build;
use leafline_types::{ExprType, MysqlError};
use std::sync::Arc;

/// How many rounds a recursive table is expected to take.
const EXPECTED_ROUNDS: f64 = 10.0;
/// How many rows a document is expected to give.
const EXPECTED_PARTS: f64 = 10.0;

/// Plans a relation; `types` are those of its columns.
pub(super) fn plan_source(
    relation: &Relation,
    types: Vec<ExprType>,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Node, MysqlError> {
    match &relation.source {
        RelationSource::Base(_) => Err(MysqlError::internal("a table is read along a path")),
        RelationSource::Derived(query) => plan_derived(query, cx),
        RelationSource::Lateral(lateral) => plan_derived(&lateral.query, cx),
        RelationSource::SetOperation(operation) => plan_set_operation(operation, &types, cx),
        RelationSource::Values(rows) => {
            let count = rows.len() as f64;
            Ok(node(Operator::Values(rows.clone().into()), types, count, 0.0))
        }
        RelationSource::JsonTable(table) => {
            let operator = Operator::JsonTable(Arc::new(table.as_ref().clone()));
            Ok(node(operator, types, EXPECTED_PARTS, 0.0))
        }
        RelationSource::Common(table) => plan_common(table, &relation.alias, types, cx),
        RelationSource::Working(number) => {
            let operator = Operator::Working { number: *number, alias: relation.alias.as_str().into() };
            Ok(node(operator, types, 100.0, 0.0))
        }
    }
}

/// UNIONs that follow one another become one append; what stands before the last UNION DISTINCT is made distinct at once.
fn plan_set_operation(
    operation: &SetOperation,
    types: &[ExprType],
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Node, MysqlError> {
    let mut inputs = vec![conformed(plan_derived(&operation.first, cx)?, types)];
    for step in &operation.steps {
        let operand = conformed(plan_derived(&step.operand, cx)?, types);
        let kept = match step.operator {
            SetOperator::Union => {
                inputs.push(operand);
                if !step.all {
                    inputs = vec![distinct(append(inputs, types))];
                }
                continue;
            }
            SetOperator::Intersect => KeptRows::InBoth,
            SetOperator::Except => KeptRows::OnlyLeft,
        };
        let left = append(inputs, types);
        let rows = match kept {
            KeptRows::InBoth => left.estimate.rows.min(operand.estimate.rows),
            KeptRows::OnlyLeft => left.estimate.rows,
        };
        let cost = left.estimate.cost_us + operand.estimate.cost_us;
        let operator =
            Operator::Matched { left: Box::new(left), right: Box::new(operand), kept, all: step.all };
        inputs = vec![node(operator, types.to_vec(), rows, cost)];
    }
    Ok(append(inputs, types))
}

/// The inputs one after the other. One that is an append itself, or distinct before more is made distinct, is taken apart.
fn append(mut inputs: Vec<Node>, types: &[ExprType]) -> Node {
    if inputs.len() == 1
        && let Some(only) = inputs.pop()
    {
        return only;
    }
    let (rows, cost) = inputs
        .iter()
        .fold((0.0, 0.0), |(rows, cost), input| (rows + input.estimate.rows, cost + input.estimate.cost_us));
    node(Operator::Append { inputs }, types.to_vec(), rows, cost)
}

fn distinct(mut input: Node) -> Node {
    // Distinct rows that more rows are added to, before all are made distinct, need not be.
    if let Operator::Append { inputs } = &mut input.operator
        && let Some(Operator::Distinct { .. }) = inputs.first().map(|first| &first.operator)
    {
        let first = inputs.remove(0);
        if let Operator::Distinct { input: inner } = first.operator {
            match inner.operator {
                Operator::Append { inputs: before } => inputs.splice(0..0, before),
                _ => inputs.splice(0..0, vec![*inner]),
            };
        }
    }
    let (types, estimate) = (input.types.to_vec(), input.estimate);
    node(Operator::Distinct { input: Box::new(input) }, types, estimate.rows, estimate.cost_us)
}

/// The rows of a node as values of these types.
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
    let operator = Operator::Project { input: Box::new(input), expressions: expressions.into() };
    node(operator, types.to_vec(), estimate.rows, estimate.cost_us)
}

/// A place that names a common table. Its query is planned with the first of them.
fn plan_common(
    table: &CommonTable,
    alias: &str,
    types: Vec<ExprType>,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Node, MysqlError> {
    if !cx.commons.contains_key(&table.number) {
        let root = match &table.recursion {
            None => plan_derived(&table.query, cx)?,
            Some(recursion) => plan_recursion(table.number, &table.query, recursion, cx)?,
        };
        let plan = Plan::of(root, cx);
        cx.commons.insert(
            table.number,
            CommonPlan { name: table.name.as_str().into(), plan, is_dependent: table.is_dependent },
        );
    }
    let estimate = cx.commons.get(&table.number).map(|known| known.plan.root.estimate).unwrap_or_default();
    let operator = Operator::Common { number: table.number, alias: alias.into() };
    Ok(node(operator, types, estimate.rows, estimate.cost_us))
}

fn plan_recursion(
    number: usize,
    seed: &BoundSelect,
    recursion: &Recursion,
    cx: &mut OptimizerContext<'_, '_>,
) -> Result<Node, MysqlError> {
    let types = &recursion.types;
    let seed = conformed(plan_derived(seed, cx)?, types);
    let steps = recursion.steps.iter().map(|step| Ok(conformed(plan_derived(step, cx)?, types)));
    let steps = steps.collect::<Result<Vec<_>, MysqlError>>()?;
    let rows = seed.estimate.rows * EXPECTED_ROUNDS;
    let cost = steps.iter().map(|step| step.estimate.cost_us).sum::<f64>() * EXPECTED_ROUNDS;
    let cost = seed.estimate.cost_us + cost;
    let union = RecursiveUnion { number, seed, steps, distinct: recursion.distinct };
    let root = node(Operator::Recursive(Arc::new(union)), types.clone(), rows, cost);
    match &recursion.limit {
        Some(limit) => super::block::limited(root, limit),
        None => Ok(root),
    }
}
