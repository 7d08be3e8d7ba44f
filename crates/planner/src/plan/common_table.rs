//! Queries of WITH.

use super::{Explained, Node, PlanNode, Role, Step};
use leafline_expr::Expr;
use std::sync::Arc;

/// The rows of a query of WITH, under an alias.
#[derive(Clone, Debug)]
pub struct CommonTableScan {
    /// Its number in [`PlanParts::commons`](super::PlanParts::commons).
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

/// The rows that the last round has added to a recursive table, under an alias.
#[derive(Clone, Debug)]
pub struct WorkTableScan {
    /// The table's number.
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

/// A recursive query of WITH.
#[derive(Clone, Debug)]
pub struct RecursiveUnion {
    /// The table's number.
    pub number: usize,
    /// Makes the first rows.
    pub seed: Node,
    /// Make rows of those that the round before has added.
    pub steps: Vec<Node>,
    /// Rows that are there already are not added.
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
