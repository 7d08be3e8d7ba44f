//! The text of `information_schema.OPTIMIZER_TRACE`: the comparisons, and the chosen plan. Costs are microseconds.

use super::document::{Json, Object};
use super::table_row::whole;
use crate::optimizer::{Trace, TraceStep};
use crate::plan::access_label;

/// Makes the document from the steps of planning a statement and its plan in the form of EXPLAIN FORMAT=JSON.
pub fn explain_trace(sql: &str, trace: &Trace, plan: Object) -> String {
    let preparation = Object::default().with("query", Json::Text(sql.to_owned()));
    let steps = trace.steps.iter().map(|step| Json::Object(step_object(step))).collect();
    let optimization = Object::default().with("steps", Json::Array(steps));
    let named = |name: &str, object: Object| Json::Object(Object::default().with(name, Json::Object(object)));
    let steps = vec![
        named("join_preparation", preparation),
        named("join_optimization", optimization),
        named("chosen_plan", plan),
    ];
    Object::default().with("steps", Json::Array(steps)).document()
}

fn step_object(step: &TraceStep) -> Object {
    let names = |names: &[String]| Json::Array(names.iter().cloned().map(Json::Text).collect());
    let price = |cost_us: f64| Json::Text(format!("{cost_us:.2}"));
    match step {
        TraceStep::Access { table, for_order, ways } => {
            let ways = ways.iter().map(|way| {
                let inner = way.path.constraint.is_correlated();
                let label = access_label(&way.path, table, inner);
                let way = Object::default()
                    .with("access_path", Json::Text(label))
                    .with("rows_examined_per_scan", Json::Number(whole(way.examined)))
                    .with("cost", price(way.cost_us));
                Json::Object(way)
            });
            let name =
                if *for_order { "considered_access_paths_for_order" } else { "considered_access_paths" };
            Object::default().with("table", Json::Text(table.clone())).with(name, Json::Array(ways.collect()))
        }
        TraceStep::Join { joined, next, how, rows, cost_us, cheapest } => {
            let plan = Object::default()
                .with("plan_prefix", names(joined))
                .with("table", names(next))
                .with("how", Json::Text(how.clone()))
                .with("rows_for_plan", Json::Number(whole(*rows)))
                .with("cost_for_plan", price(*cost_us))
                .with("cheapest_so_far", Json::Bool(*cheapest));
            Object::default().with("considered_execution_plan", Json::Object(plan))
        }
        TraceStep::Order { in_order_us, sorted_us, in_order } => {
            let mut order = Object::default();
            if let Some(cost_us) = in_order_us {
                order.put("cost_in_order_of_index", price(*cost_us));
            }
            order.put("cost_sorted", price(*sorted_us));
            order.put("in_order_of_index", Json::Bool(*in_order));
            Object::default().with("ordering", Json::Object(order))
        }
    }
}
