//! EXPLAIN FORMAT=JSON: writes a plan with the keys of MySQL's document.
//!
//! A query is a `query_block`. The steps on all of its rows enclose its tables, the last step outermost: ordering, duplicates,
//! windows, grouping. Several tables are a `nested_loop` in the order of the joins. A query in FROM stands in its table, a
//! subquery of an expression at the step that evaluates it. Costs are microseconds.

use super::document::{Json, Object};
use super::scan_notes::{part_uses, rejected};
use super::table_row::{ExplainRow, table_row, whole};
use crate::plan::{
    Considered, HashJoin, LateralJoin, LookupJoin, Node, Operation, Plan, PlanParts, Role, Scan, SetKind,
    Step, SubqueryPlan, access_label, column_name, conjunction, named_columns, text,
};
use leafline_access::{JoinType, PartUse};
use leafline_expr::{Expr, ExprKind};
use std::collections::{BTreeMap, BTreeSet};

/// The key for the subqueries of a block's steps, by the role of their expressions.
const SUBQUERY_KEYS: [(Role, &str); 4] = [
    (Role::SortKey, "order_by_subqueries"),
    (Role::GroupKey, "group_by_subqueries"),
    (Role::Output, "select_list_subqueries"),
    (Role::Filter, "having_subqueries"),
];

/// The change that a statement makes with the rows of its plan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Change<'t> {
    /// The rows are shown.
    None,
    /// The rows are inserted into this table, or replace rows of it; the key for the table.
    Insert(&'t str, &'static str),
    /// The rows of these tables are changed; the key for the tables.
    Of(&'t [&'t str], &'static str),
}

/// Makes the document for a plan, if there is one, and for the subqueries of its statement.
pub fn explain_json(plan: Option<&Plan>, parts: &PlanParts, change: Change<'_>) -> Object {
    let mut writer = Writer { parts, next_id: 2, commons: BTreeMap::new(), shown: BTreeSet::new(), change };
    let mut block = Object::default();
    match (plan, change) {
        (plan, Change::Insert(table, key)) => {
            block.put("select_id", Json::Number(1));
            let target = Object::default()
                .with(key, Json::Bool(true))
                .with("table_name", Json::Text(table.to_owned()))
                .with("access_type", Json::Text("ALL".to_owned()));
            block.put("table", Json::Object(target));
            if let Some(plan) = plan {
                block.put("insert_from", Json::Object(writer.steps(&plan.root)));
            }
        }
        (Some(plan), _) => block = writer.block(&plan.root, 1),
        (None, _) => block.put("select_id", Json::Number(1)),
    }
    // Subqueries in the values of INSERT and UPDATE stand in no plan.
    let rest: Vec<usize> = parts.run_by_themselves().map(|(number, _)| number).collect();
    let rest = writer.subqueries(&rest);
    if !rest.is_empty() {
        block.put("update_value_subqueries", Json::Array(rest));
    }
    Object::default().with("query_block", Json::Object(block))
}

struct Writer<'p> {
    parts: &'p PlanParts,
    next_id: u64,
    /// The common tables shown so far, with the numbers of their blocks.
    commons: BTreeMap<usize, u64>,
    /// The subqueries shown so far.
    shown: BTreeSet<usize>,
    change: Change<'p>,
}

/// The tables of a block, each with the columns that the joins up to it deliver.
struct Tables {
    tables: Vec<Object>,
    /// The reason if the block has no tables.
    message: Option<String>,
    /// A set operation in the place of tables.
    whole: Option<Object>,
}

impl Writer<'_> {
    fn number(&mut self) -> u64 {
        let number = self.next_id;
        self.next_id += 1;
        number
    }

    fn block(&mut self, root: &Node, id: u64) -> Object {
        let mut block = Object::default();
        block.put("select_id", Json::Number(id));
        block.put("cost_info", Json::Object(costs(&[("query_cost", root.estimate.cost_us)])));
        block.append(self.steps(root));
        block
    }

    /// Shows the steps on the rows of a block, around its tables.
    fn steps(&mut self, node: &Node) -> Object {
        let mut found = match node.explain().step {
            Step::Operation(operation) => self.operation(operation),
            Step::Rows(input) | Step::Condition { input, is_having: true } => self.steps(input),
            _ => return self.tables(node),
        };
        for (role, key) in SUBQUERY_KEYS {
            self.attach(&mut found, key, expressions(node, &[role]).into_iter());
        }
        found
    }

    fn operation(&mut self, operation: Operation<'_>) -> Object {
        let mut step = Object::default();
        if !operation.window_functions.is_empty() {
            let functions = operation.window_functions.into_iter().map(Json::Text).collect();
            let over = Object::default()
                .with("name", Json::Text("<unnamed window>".to_owned()))
                .with("functions", Json::Array(functions));
            step.put("windows", Json::Array(vec![Json::Object(over)]));
        }
        for (key, fact) in operation.flags {
            step.put(*key, Json::Bool(*fact));
        }
        step.append(self.steps(operation.input));
        Object::default().with(operation.key, Json::Object(step))
    }

    /// Shows the tables of a block: a single one by itself, several in a loop.
    fn tables(&mut self, node: &Node) -> Object {
        let mut found = Tables { tables: Vec::new(), message: None, whole: None };
        self.joined(node, &mut found);
        let mut object = found.whole.unwrap_or_default();
        if let Some(message) = found.message {
            object.text("message", message);
        }
        let table = |table: Object| Object::default().with("table", Json::Object(table));
        if found.tables.len() > 1 {
            let tables = found.tables.into_iter().map(|found| Json::Object(table(found))).collect();
            object.put("nested_loop", Json::Array(tables));
        } else {
            found.tables.into_iter().for_each(|found| object.append(table(found)));
        }
        object
    }

    fn joined(&mut self, node: &Node, found: &mut Tables) {
        match node.explain().step {
            Step::Table(scan) => {
                let table = self.scanned(scan, false, node, &[]);
                found.tables.push(table);
            }
            Step::Condition { input, .. } => {
                self.joined(input, found);
                let conditions = expressions(node, &[Role::Filter]);
                let condition = conjunction(conditions.iter().copied(), &input.column_names());
                self.condition(found, &condition, conditions.into_iter());
            }
            Step::LookupJoin(join) => self.lookup_join(join, node, found),
            Step::HashJoin(join) => self.hash_join(join, node, found),
            Step::LateralJoin(join) => self.lateral_join(join, node, found),
            Step::DerivedTable(input, alias) => {
                let id = self.number();
                let mut table = made(alias, node);
                let query = Object::default()
                    .with("using_temporary_table", Json::Bool(true))
                    .with("dependent", Json::Bool(false))
                    .with("cacheable", Json::Bool(true))
                    .with("query_block", Json::Object(self.block(input, id)));
                table.put("materialized_from_subquery", Json::Object(query));
                found.tables.push(table);
            }
            Step::CommonTable(number, alias) => {
                let table = self.common(number, alias, node);
                found.tables.push(table);
            }
            Step::WorkTable(alias) => {
                let mut table = made(alias, node);
                table.flag("recursive");
                found.tables.push(table);
            }
            Step::SetOperation { kind, inputs, .. } => {
                found.whole = Some(self.set_operation(kind, inputs, kind != SetKind::Union));
            }
            Step::RecursiveUnion(_) => {
                found.whole = Some(self.set_operation(SetKind::Union, node.inputs(), true));
            }
            Step::NoTable(message) => found.message = Some(message.to_owned()),
            // Below a join, the steps of a block occur only in a derived table.
            Step::Operation(_) | Step::Rows(_) | Step::Threads(_) | Step::TableFunction(_) => {
                node.inputs().into_iter().for_each(|input| self.joined(input, found));
            }
        }
    }

    fn lookup_join(&mut self, join: &LookupJoin, node: &Node, found: &mut Tables) {
        self.joined(&join.outer, found);
        let mut table = self.scanned(&join.inner, true, node, &join.outer.column_names());
        join_type(&mut table, join.join_type);
        if let Some(fallback) = &join.fallback {
            table.put("hash_join_after_rows_and_entries", Json::Number(fallback.after));
        }
        found.tables.push(table);
    }

    fn hash_join(&mut self, join: &HashJoin, node: &Node, found: &mut Tables) {
        let (first, second) =
            if join.build_is_first { (&join.build, &join.probe) } else { (&join.probe, &join.build) };
        self.joined(first, found);
        let at = found.tables.len();
        self.joined(second, found);
        let (probe, build) = (join.probe.column_names(), join.build.column_names());
        let mut conditions: Vec<String> = join
            .keys
            .iter()
            .map(|(left, right)| format!("({} = {})", text(left, &probe), text(right, &build)))
            .collect();
        let both: Vec<String> = probe.into_iter().chain(build).collect();
        conditions.extend(join.conditions.iter().map(|condition| text(condition, &both)));
        if let Some(table) = found.tables.get_mut(at) {
            table.text("using_join_buffer", "hash join");
            table.set("rows_produced_per_join", Json::Number(whole(node.estimate.rows)));
            table.set("cost_info", Json::Object(costs(&[("prefix_cost", node.estimate.cost_us)])));
            if !join.join_type.delivers_partners() {
                join_type(table, join.join_type);
            }
        }
        let exprs = expressions(node, &[Role::JoinKey, Role::Filter]);
        self.condition(found, &conditions.join(" and "), exprs.into_iter());
    }

    fn lateral_join(&mut self, join: &LateralJoin, node: &Node, found: &mut Tables) {
        self.joined(&join.outer, found);
        let id = self.number();
        let mut table = made(&join.alias, node);
        let query = Object::default()
            .with("using_temporary_table", Json::Bool(true))
            .with("dependent", Json::Bool(true))
            .with("cacheable", Json::Bool(false))
            .with("query_block", Json::Object(self.block(&join.inner, id)));
        table.put("materialized_from_subquery", Json::Object(query));
        found.tables.push(table);
        let condition = conjunction(&*join.conditions, &node.column_names());
        self.condition(found, &condition, join.conditions.iter());
    }

    /// Shows a reference to a common table. The first reference shows the query itself.
    fn common(&mut self, number: usize, alias: &str, node: &Node) -> Object {
        let mut table = made(alias, node);
        let mut query = Object::default();
        match (self.commons.get(&number), self.parts.commons.get(&number)) {
            (None, Some(common)) => {
                let id = self.number();
                self.commons.insert(number, id);
                query.flag("using_temporary_table");
                query.put("dependent", Json::Bool(common.is_dependent));
                query.put("cacheable", Json::Bool(true));
                query.put("query_block", Json::Object(self.block(&common.plan.root, id)));
            }
            (known, _) => {
                let id = known.copied().unwrap_or_default();
                let shared = Object::default().with("select_id", Json::Number(id));
                query.put("sharing_temporary_table_with", Json::Object(shared));
            }
        }
        table.put("materialized_from_subquery", Json::Object(query));
        table
    }

    fn set_operation(&mut self, kind: SetKind, operands: Vec<&Node>, is_temporary: bool) -> Object {
        let (key, name) = match kind {
            SetKind::Union => ("union_result", "union"),
            SetKind::Intersect => ("intersect_result", "intersect"),
            SetKind::Except => ("except_result", "except"),
        };
        let mut ids = Vec::with_capacity(operands.len());
        let mut queries = Vec::with_capacity(operands.len());
        for operand in operands {
            let id = self.number();
            ids.push(id.to_string());
            let query = Object::default()
                .with("dependent", Json::Bool(false))
                .with("cacheable", Json::Bool(true))
                .with("query_block", Json::Object(self.block(operand, id)));
            queries.push(Json::Object(query));
        }
        let mut result = Object::default();
        result.put("using_temporary_table", Json::Bool(is_temporary));
        result.text("table_name", format_args!("<{name}{}>", ids.join(",")));
        result.text("access_type", "ALL");
        result.put("query_specifications", Json::Array(queries));
        Object::default().with(key, Json::Object(result))
    }

    /// Shows a table that is read along a path.
    fn scanned(&mut self, scan: &Scan, inner: bool, node: &Node, outer: &[String]) -> Object {
        let path = &scan.path;
        let row = table_row(scan, 0, "", inner);
        let mut table = Object::default();
        if let Change::Of(tables, key) = self.change
            && tables.contains(&&*scan.alias)
        {
            table.flag(key);
        }
        read(&mut table, &row, scan);
        table.put("rows_produced_per_join", Json::Number(whole(node.estimate.rows)));
        table.text("filtered", format_args!("{:.2}", scan.filtered));
        if path.is_covering() {
            table.flag("using_index");
        }
        for phrase in &row.extra {
            match &**phrase {
                "Using index for group-by" => table.flag("using_index_for_group_by"),
                "Using index for skip scan" => table.flag("using_index_for_skip_scan"),
                "Using hypothetical index" => table.flag("using_hypothetical_index"),
                "Using ordered merge" => table.flag("using_ordered_merge"),
                "Using MRR" => table.flag("using_MRR"),
                "Backward index scan" => table.flag("backward_index_scan"),
                _ => {}
            }
        }
        let conditions = |conditions: &[leafline_access::Condition], columns: &[usize]| {
            let mut columns = named_columns(scan, columns);
            columns.extend_from_slice(outer);
            let exprs = conditions.iter().filter(|condition| !condition.implied);
            exprs.map(|condition| text(&condition.expr, &columns)).collect::<Vec<_>>().join(" and ")
        };
        let pushed = conditions(&path.index_conditions, &path.index_condition_columns);
        if !pushed.is_empty() {
            table.text("index_condition", pushed);
        }
        table.put("cost_info", Json::Object(costs(&[("prefix_cost", node.estimate.cost_us)])));
        choice(&mut table, scan, inner);
        let used = path.columns.iter().chain(&path.index_condition_columns).collect::<BTreeSet<_>>();
        let columns = used.into_iter().filter_map(|column| path.table.columns.get(*column));
        let columns: Vec<Json> = columns.map(|column| Json::Text(column_name(column))).collect();
        table.put("used_columns", Json::Array(columns));
        if !scan.filters.is_empty() {
            let columns = named_columns(scan, scan.filters.iter().map(|(_, column)| column));
            table.put("runtime_filters", Json::Array(columns.into_iter().map(Json::Text).collect()));
        }
        let attached = conditions(&path.residual_filter, &path.columns);
        if !attached.is_empty() {
            table.text("attached_condition", attached);
        }
        let all = path.index_conditions.iter().chain(&path.residual_filter);
        let exprs: Vec<Expr> = all.map(|condition| condition.expr.clone()).collect();
        self.attach(&mut table, "attached_subqueries", exprs.iter().chain(path.constraint.values()));
        table
    }

    /// Adds a condition to the last table.
    fn condition<'e>(&mut self, found: &mut Tables, condition: &str, exprs: impl Iterator<Item = &'e Expr>) {
        let Some(table) = found.tables.last_mut() else { return };
        if !condition.is_empty() {
            let known = match table.get("attached_condition") {
                Some(Json::Text(known)) => format!("{known} and "),
                _ => String::new(),
            };
            table.set("attached_condition", Json::Text(known + condition));
        }
        self.attach(table, "attached_subqueries", exprs);
    }

    /// Adds the subqueries of expressions, each at the first expression that contains it.
    fn attach<'e>(&mut self, to: &mut Object, key: &str, exprs: impl Iterator<Item = &'e Expr>) {
        let mut numbers = Vec::new();
        for expr in exprs {
            expr.visit(&mut |e| {
                if let ExprKind::Subquery(subquery) = &e.kind {
                    numbers.push(subquery.number);
                }
                true
            });
        }
        let found = self.subqueries(&numbers);
        if !found.is_empty() {
            to.put(key, Json::Array(found));
        }
    }

    fn subqueries(&mut self, numbers: &[usize]) -> Vec<Json> {
        let mut found = Vec::new();
        for number in numbers {
            let plan: Option<&SubqueryPlan> = self.parts.subqueries.get(number);
            // An index answers what searches ask for.
            let plan = plan.filter(|plan| plan.search.is_none());
            let Some(plan) = plan.filter(|_| self.shown.insert(*number)) else { continue };
            let id = self.number();
            let query = Object::default()
                .with("dependent", Json::Bool(plan.is_dependent))
                .with("cacheable", Json::Bool(!plan.is_dependent))
                .with("query_block", Json::Object(self.block(&plan.plan.root, id)));
            found.push(Json::Object(query));
        }
        found
    }
}

/// Shows how a table is read.
fn read(table: &mut Object, row: &ExplainRow, scan: &Scan) {
    table.text("table_name", &scan.alias);
    table.text("access_type", row.access.unwrap_or("ALL"));
    if let Some(names) = &scan.partitions {
        let names = names.split(',').map(|name| Json::Text(name.to_owned()));
        table.put("partitions", Json::Array(names.collect()));
    }
    let texts = |names: &[std::sync::Arc<str>]| {
        Json::Array(names.iter().map(|name| Json::Text(name.to_string())).collect())
    };
    if !scan.possible_keys.is_empty() {
        table.put("possible_keys", texts(&scan.possible_keys));
    }
    if let Some(key) = &row.key {
        table.text("key", key);
        let path = &scan.path;
        let used = match path.constraint.used_parts() {
            0 => path.index.key_columns.len(),
            used => used,
        };
        let columns: Vec<usize> = match path.search() {
            Some(searched) => searched.index.parts.iter().map(|part| part.column).collect(),
            None => path.index.key_columns.iter().take(used).copied().collect(),
        };
        let columns = columns.iter().filter_map(|column| path.table.columns.get(*column));
        table.put("used_key_parts", Json::Array(columns.map(|c| Json::Text(column_name(c))).collect()));
        table.text("key_length", row.key_len.as_deref().unwrap_or_default());
        if path.search().is_some() {
            table.put("ref", Json::Array(vec![Json::Text("const".to_owned())]));
        } else if row.reference.is_some() {
            table.put("ref", texts(&scan.references));
        }
    }
    table.put("rows_examined_per_scan", Json::Number(whole(scan.examined)));
}

/// Shows the use of each part of the key, and the paths that were not taken.
fn choice(table: &mut Object, scan: &Scan, inner: bool) {
    if !scan.path.is_table_scan() && !scan.path.is_index_merge() {
        let part = |(column, used): (String, PartUse)| {
            let mut part = Object::default();
            part.text("column", column);
            part.text("use", used);
            Json::Object(part)
        };
        table.put("key_parts", Json::Array(part_uses(&scan.path).into_iter().map(part).collect()));
    }
    let rejected = rejected(scan, &access_label(&scan.path, &scan.alias, inner));
    if !rejected.is_empty() {
        let way = |(label, considered): (String, &Considered)| {
            let mut way = Object::default();
            way.text("access_path", label);
            way.put("rows_examined_per_scan", Json::Number(whole(considered.examined)));
            way.put("cost_info", Json::Object(costs(&[("read_cost", considered.cost_us)])));
            Json::Object(way)
        };
        table.put("rejected_access_paths", Json::Array(rejected.into_iter().map(way).collect()));
    }
}

/// Shows a table that a query makes.
fn made(alias: &str, node: &Node) -> Object {
    let mut table = Object::default();
    table.text("table_name", alias);
    table.text("access_type", "ALL");
    let rows = whole(node.estimate.rows);
    table.put("rows_examined_per_scan", Json::Number(rows));
    table.put("rows_produced_per_join", Json::Number(rows));
    table.text("filtered", "100.00");
    table.put("cost_info", Json::Object(costs(&[("prefix_cost", node.estimate.cost_us)])));
    table
}

/// Adds MySQL's word for a join that delivers no columns of its right side.
fn join_type(table: &mut Object, join_type: JoinType) {
    match join_type {
        JoinType::Semi => table.flag("first_match"),
        JoinType::Anti => table.flag("not_exists"),
        JoinType::Inner | JoinType::LeftOuter => {}
    }
}

/// Returns the expressions of a node that have these roles.
fn expressions<'n>(node: &'n Node, roles: &[Role]) -> Vec<&'n Expr> {
    let mut found = Vec::new();
    node.operator.as_node().expressions(&mut |role, expr| {
        if roles.contains(&role) {
            found.push(expr);
        }
    });
    found
}

fn costs(costs: &[(&str, f64)]) -> Object {
    let mut object = Object::default();
    for (key, us) in costs {
        object.text(key, format_args!("{us:.2}"));
    }
    object
}
