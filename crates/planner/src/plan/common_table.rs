//! Common tables: the queries of WITH.

use super::{Explained, Node, PlanNode, Role, Step};
use leafline_expr::Expr;
use std::sync::Arc;

/// Reads a common table under an alias.
#[derive(Clone, Debug)]
pub struct CommonTableScan {
    /// The common table's number in [`PlanParts::commons`](super::PlanParts::commons).
    pub number: usize,
    /// The alias.
    pub alias: Arc<str>,
}

impl PlanNode for CommonTableScan {
    fn inputs(&self) -> Vec<&Node> {
        Vec::new()
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        Vec::new()
    }

    fn expressions<'n>(&'n self, _each: &mut dyn FnMut(Role, &'n Expr)) {}

    fn column_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn explain(&self) -> Explained<'_> {
        let label = format!("Common table {}", self.alias);
        Explained { label, step: Step::CommonTable(self.number, &self.alias) }
    }
}

/// Reads the work table of a recursive common table: the rows that the preceding round added, under an alias.
#[derive(Clone, Debug)]
pub struct WorkTableScan {
    /// The number of the common table.
    pub number: usize,
    /// The alias.
    pub alias: Arc<str>,
}

impl PlanNode for WorkTableScan {
    fn inputs(&self) -> Vec<&Node> {
        Vec::new()
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        Vec::new()
    }

    fn expressions<'n>(&'n self, _each: &mut dyn FnMut(Role, &'n Expr)) {}

    fn column_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn explain(&self) -> Explained<'_> {
        let label = format!("Rows added to {}", self.alias);
        Explained { label, step: Step::WorkTable(&self.alias) }
    }
}

/// Computes a recursive common table.
#[derive(Clone, Debug)]
pub struct RecursiveUnion {
    /// The number of the common table.
    pub number: usize,
    /// The plan of the first rows.
    pub seed: Node,
    /// The plans that run in each round, over the rows that the preceding round added.
    pub steps: Vec<Node>,
    /// Rows that exist already are not added.
    pub distinct: bool,
}

impl PlanNode for RecursiveUnion {
    fn inputs(&self) -> Vec<&Node> {
        std::iter::once(&self.seed).chain(&self.steps).collect()
    }

    fn inputs_mut(&mut self) -> Vec<&mut Node> {
        std::iter::once(&mut self.seed).chain(&mut self.steps).collect()
    }

    fn expressions<'n>(&'n self, _each: &mut dyn FnMut(Role, &'n Expr)) {}

    fn column_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn explain(&self) -> Explained<'_> {
        Explained { label: "Repeat until no row is added".to_owned(), step: Step::RecursiveUnion(self) }
    }
}
