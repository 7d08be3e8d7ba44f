//! Which partitions of a table can have rows that meet conditions.
//!
//! The conditions on the columns that decide about the partition are a constraint like that of an index of these columns. Its bounds
//! are expressions over constants, parameters and columns of tables read before, so partitions are left out when a plan is priced, when it
//! begins to run, and for each outer row of a lookup join, by one mechanism. The columns that decide about the subpartition have a constraint of
//! their own: a row is in a subpartition that it leaves of a partition that the first one leaves.

use crate::constraint::{Bounds, Constraint, IndexKeyPart};
use crate::error::Result;
use leafline_expr::{EvalContext, Expr, evaluate_scalar};
use leafline_invariant::invariant;
use leafline_table::{PartitionScheme, Partitioning, Possible, TableDef};
use leafline_types::Value;

/// The constraint that conditions put on the columns that decide about the partition.
#[derive(Clone, Debug)]
pub struct Pruning {
    /// The constraints that the conditions put on the partition, then those on the subpartition if the table has any.
    pub(crate) constraints: Vec<Constraint>,
}

impl Pruning {
    /// The constraints that conditions put on the partitions of a table; outer columns are numbered from 0. `None` if the table is not
    /// partitioned.
    pub(crate) fn of(table: &TableDef, conjuncts: &[Expr]) -> Option<Pruning> {
        let scheme = &table.partitioning.as_ref()?.scheme;
        let width = table.columns.len();
        let own = |column| (column < width).then_some(column);
        let of = |scheme: &PartitionScheme| {
            let parts = scheme.columns.iter().zip(&scheme.parts);
            let parts: Vec<IndexKeyPart> =
                parts.map(|(column, key)| IndexKeyPart { column: *column, key: key.clone() }).collect();
            let constraint = Constraint::build(&parts, conjuncts, &own).constraint;
            constraint.map_values(&mut |value| value.map_columns(&mut |column| outer_column(column, width)))
        };
        let levels = [Some(scheme), scheme.subdivision.as_ref()];
        Some(Pruning { constraints: levels.into_iter().flatten().map(|scheme| of(scheme)).collect() })
    }

    /// Whether it depends on columns of tables read before.
    pub(crate) fn is_correlated(&self) -> bool {
        self.constraints.iter().any(Constraint::is_correlated)
    }

    /// The expressions that its bounds are made of.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Expr> {
        self.constraints.iter().flat_map(|constraint| constraint.values().iter())
    }

    /// Replaces the expressions of the constraints by what `map` makes of them.
    pub(crate) fn map_values(&self, map: &mut impl FnMut(&Expr) -> Expr) -> Pruning {
        let constraints = self.constraints.iter().map(|constraint| constraint.map_values(map));
        Pruning { constraints: constraints.collect() }
    }

    /// The partitions that are left where bounds depend on no outer row; all if they do, or are not to be evaluated yet.
    pub(crate) fn possible(
        &self,
        partitioning: &Partitioning,
        eval: &mut EvalContext<'_>,
    ) -> Result<Possible> {
        let mut values = Vec::new();
        for value in self.values() {
            // One that cannot be evaluated fails where it is evaluated for the rows.
            match (value.columns().is_empty(), evaluate_scalar(value, eval)) {
                (true, Ok(value)) => values.push(value),
                _ => return Ok(partitioning.scheme.all_possible()),
            }
        }
        self.possible_for(partitioning, &values)
    }

    /// The partitions that are left for these values of the bounds.
    pub(crate) fn possible_for(&self, partitioning: &Partitioning, mut values: &[Value]) -> Result<Possible> {
        let scheme = &partitioning.scheme;
        let mut found: Option<Possible> = None;
        for (constraint, scheme) in self.constraints.iter().zip([Some(scheme), scheme.subdivision.as_ref()]) {
            let Some(scheme) = scheme else { continue };
            let (own, others) = values.split_at(constraint.values().len());
            values = others;
            let possible = within(constraint, scheme, &constraint.instantiate(own))?;
            found = Some(match found {
                Some(above) => above.subdivided(&possible),
                None => possible,
            });
        }
        Ok(found.unwrap_or_else(|| scheme.all_possible()))
    }
}

/// The partitions of one level that rows within bounds can be in.
fn within(constraint: &Constraint, scheme: &PartitionScheme, bounds: &Bounds) -> Result<Possible> {
    if constraint.is_unbounded() && !bounds.ranges.is_empty() {
        return Ok(scheme.all_partitions());
    }
    let mut possible = scheme.none_possible();
    for range in &bounds.ranges {
        let equal = range.is_of_equal(scheme.parts.len());
        scheme.add_possible((&range.lower, range.upper.as_deref()), equal, &mut possible)?;
        if possible.is_all() {
            break;
        }
    }
    Ok(possible)
}

/// The number among the outer columns of one that comes behind the `width` columns of a table.
pub(crate) fn outer_column(column: usize, width: usize) -> usize {
    invariant!(column >= width, "a bound is column {column} of a table of {width} columns itself");
    column - width
}
