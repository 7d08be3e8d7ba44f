//! EXPLAIN's table: a row for each table, in the order of the joins.

use super::table_row::{ExplainRow, add, add_join_type, table_row, whole};
use crate::plan::{HashJoin, LateralJoin, Node, Plan, PlanParts, SetKind, Step};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Returns the rows of EXPLAIN for a plan, if there is one, and for the subqueries of its statement.
pub fn explain_rows<'p>(plan: Option<&'p Plan>, parts: &'p PlanParts) -> Vec<ExplainRow> {
    let mut blocks =
        Blocks { rows: Vec::new(), next_id: 2, waiting: Vec::new(), parts, commons: BTreeMap::new() };
    if let Some(plan) = plan {
        blocks.block(&plan.root, Block { id: 1, select_type: "PRIMARY" });
    }
    for (_, subquery) in parts.run_by_themselves() {
        let id = blocks.next_id;
        blocks.next_id += 1;
        let select_type = if subquery.is_dependent { "DEPENDENT SUBQUERY" } else { "SUBQUERY" };
        blocks.block(&subquery.plan.root, Block { id, select_type });
    }
    let is_simple = blocks.next_id == 2;
    if is_simple {
        blocks.rows.iter_mut().for_each(|row| row.select_type = "SIMPLE");
    }
    blocks.rows
}

/// A query block, in the form that its rows show.
#[derive(Clone, Copy)]
struct Block {
    id: u64,
    select_type: &'static str,
}

struct Blocks<'p> {
    rows: Vec<ExplainRow>,
    next_id: u64,
    /// Derived tables whose rows follow the rows of their block.
    waiting: Vec<(Block, &'p Node)>,
    parts: &'p PlanParts,
    /// The numbers under which common tables are shown.
    commons: BTreeMap<usize, u64>,
}

impl<'p> Blocks<'p> {
    fn block(&mut self, root: &'p Node, block: Block) {
        let Block { id, select_type } = block;
        let first = self.rows.len();
        let mut extra = Vec::new();
        self.node(root, block, &mut extra);
        if self.rows.len() == first {
            self.rows.push(ExplainRow { id, select_type, ..ExplainRow::default() });
        }
        extra.sort_by_key(|phrase| *phrase == "Using filesort");
        if let Some(row) = self.rows.get_mut(first) {
            for phrase in extra {
                add(row, phrase);
            }
        }
        for (block, node) in std::mem::take(&mut self.waiting) {
            self.block(node, block);
        }
    }

    /// Adds the rows of a node's tables; phrases about the block as a whole go to `above`.
    fn node(&mut self, node: &'p Node, block: Block, above: &mut Vec<Cow<'static, str>>) {
        match node.explain().step {
            Step::NoTable(phrase) | Step::TableFunction(phrase) => above.push(phrase.into()),
            Step::Table(scan) => self.rows.push(table_row(scan, block.id, block.select_type, false)),
            Step::Condition { input, is_having } => {
                let before = self.rows.len();
                self.node(input, block, above);
                if self.rows.len() > before && !is_having {
                    self.on_last_row("Using where");
                }
            }
            Step::Rows(input) | Step::Threads(input) => self.node(input, block, above),
            Step::Operation(operation) => {
                self.node(operation.input, block, above);
                above.push(operation.phrase.into());
            }
            Step::LookupJoin(join) => {
                self.node(&join.outer, block, above);
                let left = self.last_table();
                self.rows.push(table_row(&join.inner, block.id, block.select_type, true));
                let last = self.rows.last_mut().into_iter();
                last.for_each(|row| add_join_type(row, join.join_type, left.as_deref()));
            }
            Step::HashJoin(join) => self.hash_join(join, block, above),
            Step::LateralJoin(join) => self.lateral_join(join, block, above),
            Step::DerivedTable(input, _) => {
                let derived = self.next_number();
                self.derived_row(block, format!("<derived{derived}>"), input.estimate.rows);
                self.waiting.push((Block { id: derived, select_type: "DERIVED" }, input));
            }
            Step::CommonTable(number, _) => self.common(number, block, node.estimate.rows),
            Step::WorkTable(alias) => {
                self.derived_row(block, alias.to_owned(), node.estimate.rows);
                self.on_last_row("Recursive");
            }
            Step::SetOperation { kind, inputs, compares } => {
                let (operand, result, name) = match kind {
                    SetKind::Union => ("UNION", "UNION RESULT", "union"),
                    SetKind::Intersect => ("INTERSECT", "INTERSECT RESULT", "intersect"),
                    SetKind::Except => ("EXCEPT", "EXCEPT RESULT", "except"),
                };
                let ids = self.operands(inputs, block, operand, above);
                if compares {
                    self.result(result, name, &ids);
                }
            }
            Step::RecursiveUnion(union) => {
                self.block(&union.seed, block);
                for step in &union.steps {
                    let id = self.next_number();
                    self.block(step, Block { id, select_type: "UNION" });
                }
            }
        }
    }

    fn lateral_join(&mut self, join: &'p LateralJoin, block: Block, above: &mut Vec<Cow<'static, str>>) {
        self.node(&join.outer, block, above);
        let derived = self.next_number();
        // MySQL names the table that a derived table depends on in that table's row.
        if let Some(row) = self.rows.last_mut() {
            row.extra.push(format!("Rematerialize (<derived{derived}>)").into());
        }
        self.derived_row(block, format!("<derived{derived}>"), join.inner.estimate.rows);
        if !join.conditions.is_empty() {
            self.on_last_row("Using where");
        }
        self.waiting.push((Block { id: derived, select_type: "DEPENDENT DERIVED" }, &join.inner));
    }

    fn hash_join(&mut self, join: &'p HashJoin, block: Block, above: &mut Vec<Cow<'static, str>>) {
        let (first, second) =
            if join.build_is_first { (&join.build, &join.probe) } else { (&join.probe, &join.build) };
        self.node(first, block, above);
        let joined = self.rows.len();
        let left = self.last_table();
        self.node(second, block, above);
        if let Some(row) = self.rows.last_mut().filter(|_| !join.join_type.delivers_partners()) {
            add_join_type(row, join.join_type, left.as_deref());
        }
        if let Some(row) = self.rows.get_mut(joined) {
            if !join.conditions.is_empty() || !join.keys.is_empty() {
                add(row, "Using where");
            }
            add(row, "Using join buffer (hash join)");
        }
    }

    fn on_last_row(&mut self, phrase: &'static str) {
        self.rows.last_mut().into_iter().for_each(|row| add(row, phrase));
    }

    /// Returns the table of the last row.
    fn last_table(&self) -> Option<String> {
        self.rows.last().and_then(|row| row.table.clone())
    }

    fn next_number(&mut self) -> u64 {
        let number = self.next_id;
        self.next_id += 1;
        number
    }

    /// Adds the row of a reference to a common table. The query's own rows follow once.
    fn common(&mut self, number: usize, block: Block, rows: f64) {
        let derived = match self.commons.get(&number) {
            Some(known) => *known,
            None => {
                let derived = self.next_number();
                self.commons.insert(number, derived);
                let plan = self.parts.commons.get(&number);
                let inside = Block { id: derived, select_type: "DERIVED" };
                self.waiting.extend(plan.map(|common| (inside, &common.plan.root)));
                derived
            }
        };
        self.derived_row(block, format!("<derived{derived}>"), rows);
    }

    fn derived_row(&mut self, block: Block, table: String, rows: f64) {
        self.rows.push(ExplainRow {
            id: block.id,
            select_type: block.select_type,
            table: Some(table),
            access: Some("ALL"),
            rows: Some(whole(rows)),
            filtered: Some(100.0),
            ..ExplainRow::default()
        });
    }

    /// Adds the rows of the queries of a set operation, and returns their numbers. The first query has the number of the whole
    /// block.
    fn operands(
        &mut self,
        inputs: Vec<&'p Node>,
        block: Block,
        others: &'static str,
        above: &mut Vec<Cow<'static, str>>,
    ) -> Vec<u64> {
        let mut ids = vec![block.id];
        for (at, input) in inputs.into_iter().enumerate() {
            if at == 0 {
                self.node(input, block, above);
            } else {
                let id = self.next_number();
                ids.push(id);
                self.block(input, Block { id, select_type: others });
            }
        }
        ids
    }

    /// Adds the row for the result of a set operation.
    fn result(&mut self, select_type: &'static str, name: &str, ids: &[u64]) {
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        self.rows.push(ExplainRow {
            select_type,
            table: Some(format!("<{name}{}>", ids.join(","))),
            access: Some("ALL"),
            extra: vec!["Using temporary".into()],
            ..ExplainRow::default()
        });
    }
}
