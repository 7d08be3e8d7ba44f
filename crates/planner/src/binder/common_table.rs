//! WITH: common tables, recursive ones included.
//!
//! A name is visible in the query that has the WITH clause and in everything inside that query, including later queries of the
//! clause. The query is bound once; each reference uses one shared [`CommonTable`].
//!
//! Common tables refer to others, and each runs while its reader waits. [`MAX_DEPTH`] bounds this nesting, where the text
//! of the statement does not.
//!
//! A recursive common table is a UNION. The operands before the first that names the table make the first rows and decide the
//! types. The other operands run again on the rows that the preceding round added.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use leafline_types::{ExprType, MysqlError, SqlType};

use super::Binder;
use super::from::derived_columns;
use super::locking::lock;
use super::set_operation::{Operand, common_columns, operands};
use crate::bound::{BoundSelect, CommonTable, JoinTree, Recursion, RelationSource};
use leafline_syntax::ast::{self, Query, QueryBody, SetOperation, TableName, With};

/// Maximum nesting of queries, where a reference to a common table counts as its query (error 1436).
const MAX_DEPTH: usize = 64;

/// A visible name of WITH.
#[derive(Debug)]
pub(super) struct CommonName {
    name: String,
    state: State,
    /// Number of queries around the one that has the WITH clause.
    depth: usize,
}

#[derive(Debug)]
enum State {
    /// The query is bound.
    Ready { table: Arc<CommonTable>, columns: Vec<(String, ExprType)>, height: usize },
    /// The first operands are being bound; `named` says whether one of them names the table.
    Pending { named: bool },
    /// The recursive operands are being bound; `references` counts their references.
    Recursive { number: usize, columns: Vec<(String, ExprType)>, references: usize },
}

/// The source and the columns of a common table in FROM.
pub(super) type Named = (RelationSource, Vec<(String, ExprType)>);

impl Binder<'_> {
    /// Binds the queries of a WITH clause. Their names stay visible until the caller removes them.
    pub(super) fn with(&mut self, with: &With) -> Result<(), MysqlError> {
        let mut known = HashSet::new();
        for table in &with.tables {
            let name = &table.name.value;
            if !known.insert(name) {
                return Err(MysqlError::not_unique_table(name));
            }
            let outer_before = self.outer_references;
            let number = self.next_common;
            self.next_common += 1;
            let deepest_before = std::mem::replace(&mut self.deepest, self.query_depth);
            let (query, recursion, columns) =
                if with.recursive { self.maybe_recursive(table, number)? } else { self.plain(table)? };
            let height = self.deepest - self.query_depth;
            self.deepest = deepest_before;
            let table = Arc::new(CommonTable {
                number,
                name: name.clone(),
                query,
                recursion,
                is_dependent: self.outer_references > outer_before,
                references: AtomicUsize::new(0),
            });
            let depth = self.enclosing.len();
            self.commons.push(CommonName {
                name: name.clone(),
                state: State::Ready { table, columns, height },
                depth,
            });
        }
        Ok(())
    }

    fn plain(&mut self, table: &ast::CommonTable) -> Result<Bound, MysqlError> {
        let mut query = self.query(&table.query)?;
        query.keep_digits();
        let columns = derived_columns(&query, &table.columns)?;
        Ok((query, None, columns))
    }

    fn maybe_recursive(&mut self, table: &ast::CommonTable, number: usize) -> Result<Bound, MysqlError> {
        let depth = self.enclosing.len();
        let name = table.name.value.clone();
        self.commons.push(CommonName { name, state: State::Pending { named: false }, depth });
        let position = self.commons.len() - 1;
        let bound = match &table.query.body {
            QueryBody::SetOperation { .. } if table.query.with.is_none() => {
                self.recursive_union(table, number, position)
            }
            _ => {
                let bound = self.plain(table);
                if self.is_named(position) {
                    Err(recursive_error(3573, &table.name.value, "should contain a UNION"))
                } else {
                    bound
                }
            }
        };
        self.commons.truncate(position);
        bound
    }

    fn is_named(&self, position: usize) -> bool {
        let state = self.commons.get(position).map(|common| &common.state);
        matches!(state, Some(State::Pending { named: true }))
    }

    fn recursive_union(
        &mut self,
        table: &ast::CommonTable,
        number: usize,
        position: usize,
    ) -> Result<Bound, MysqlError> {
        let name = &table.name.value;
        let operands = operands(&table.query);
        // The operands that do not name the table form a query of their own. Each is bound once, because operands with names of
        // their own take long to bind.
        let mut bound = Vec::new();
        for (at, (_, operand)) in operands.iter().enumerate() {
            let (commons, subqueries, views) = (self.commons.len(), self.subqueries.len(), self.views.len());
            let found = self.query(operand);
            if self.is_named(position) {
                if at == 0 {
                    return Err(order_error(name));
                }
                self.commons.truncate(commons);
                self.subqueries.truncate(subqueries);
                self.views.truncate(views);
                break;
            }
            bound.push(found?);
        }
        let (seeds, rest) = operands.split_at(bound.len());
        let operators: Vec<_> = seeds.iter().map(|(operator, _)| *operator).collect();
        if rest.is_empty() {
            let mut query = self.query_with_names(None, |binder| {
                binder.set_operation_of(bound, &operators, Some(&table.query))
            })?;
            lock(&mut query, &table.query.locking, self.context.access)?;
            let columns = derived_columns(&query, &table.columns)?;
            return Ok((query, None, columns));
        }
        if !table.query.order_by.is_empty() {
            return Err(MysqlError::not_supported(
                "ORDER BY over UNION in recursive Common Table Expression",
            ));
        }
        let seed = match bound.len() {
            1 => bound.remove(0),
            _ => self.query_with_names(None, |binder| binder.set_operation_of(bound, &operators, None))?,
        };
        let mut columns = derived_columns(&seed, &table.columns)?;
        columns.iter_mut().for_each(|(_, ty)| ty.nullable = true);
        let rest = recursive_operands(rest)?;
        let (subqueries, bound) = (self.subqueries.len(), self.views.len());
        let (mut steps, distinct) = self.recursive_steps(name, number, position, &rest, &columns)?;
        if columns.iter().any(|(_, ty)| ty.sql == SqlType::Null) {
            // A column that is only NULL in the first part takes its type from the recursive part.
            let all: Vec<&BoundSelect> = std::iter::once(&seed).chain(&steps).collect();
            for ((_, ty), (_, common)) in columns.iter_mut().zip(common_columns(&all)?) {
                if ty.sql == SqlType::Null {
                    *ty = ExprType { nullable: true, ..common };
                }
            }
            self.subqueries.truncate(subqueries);
            self.views.truncate(bound);
            (steps, _) = self.recursive_steps(name, number, position, &rest, &columns)?;
        }
        for step in &steps {
            common_columns(&[&seed, step])?;
        }
        let limit = table.query.limit.as_ref().map(|limit| self.limit(limit)).transpose()?;
        let types = columns.iter().map(|(_, ty)| ty.clone()).collect();
        Ok((seed, Some(Recursion { steps, distinct, limit, types }), columns))
    }

    /// Binds the recursive operands with these columns, and returns whether equal rows are merged.
    fn recursive_steps(
        &mut self,
        name: &str,
        number: usize,
        position: usize,
        operands: &[(bool, &Query)],
        columns: &[(String, ExprType)],
    ) -> Result<(Vec<BoundSelect>, bool), MysqlError> {
        let mut steps = Vec::new();
        let last_distinct = operands.iter().rposition(|(all, _)| !all);
        for (at, (_, operand)) in operands.iter().enumerate() {
            if let Some(common) = self.commons.get_mut(position) {
                common.state = State::Recursive { number, columns: columns.to_vec(), references: 0 };
            }
            let step = self.query(operand)?;
            let references = match self.commons.get(position).map(|common| &common.state) {
                Some(State::Recursive { references, .. }) => *references,
                _ => 0,
            };
            match &operand.body {
                QueryBody::SetOperation { .. } if references > 0 => return Err(nested_union(operand)),
                QueryBody::Parenthesised(_) if references > 0 => return Err(not_in_union()),
                _ => check_step(name, number, &step, references)?,
            }
            if last_distinct == Some(at) && at + 1 < operands.len() {
                return Err(MysqlError::not_supported(
                    "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression",
                ));
            }
            steps.push(step);
        }
        Ok((steps, last_distinct.is_some()))
    }

    /// Returns the common table that a name of FROM refers to, if it names one.
    pub(super) fn common_table(&mut self, name: &TableName) -> Result<Option<Named>, MysqlError> {
        if name.database.is_some() {
            return Ok(None);
        }
        let depth = self.enclosing.len();
        let Some(common) = self.commons.iter_mut().rev().find(|common| common.name == name.name.value) else {
            return Ok(None);
        };
        match &mut common.state {
            State::Ready { table, columns, height } => {
                if table.is_dependent && depth != common.depth {
                    return Err(MysqlError::not_supported(
                        "a common table that depends on an outer query, in a subquery of the query that defines it",
                    ));
                }
                table.references.fetch_add(1, Ordering::Relaxed);
                self.deepest = self.deepest.max(self.query_depth + *height);
                if self.deepest > MAX_DEPTH {
                    return Err(MysqlError::nested_too_deeply(MAX_DEPTH));
                }
                Ok(Some((RelationSource::Common(table.clone()), columns.clone())))
            }
            State::Pending { named } => {
                *named = true;
                Err(order_error(&name.name.value))
            }
            State::Recursive { number, columns, references } => {
                *references += 1;
                if depth != common.depth {
                    return Err(single_reference_error(&name.name.value));
                }
                Ok(Some((RelationSource::WorkTable(*number), columns.clone())))
            }
        }
    }
}

/// A query of WITH, its recursive part, and its columns.
type Bound = (BoundSelect, Option<Recursion>, Vec<(String, ExprType)>);

/// Returns the operands from the first that names the table on, each with its ALL. A union on the right of a union adds its
/// operands, unless it removes duplicates that the outer one keeps.
///
/// # Errors
/// 4114 for an operand of INTERSECT or EXCEPT, 1235 for a union that cannot be taken apart.
fn recursive_operands<'q>(found: &[Operand<'q>]) -> Result<Vec<(bool, &'q Query)>, MysqlError> {
    let mut flat = Vec::new();
    for (at, (operator, operand)) in found.iter().enumerate() {
        let all = match operator {
            Some((SetOperation::Union, all)) => *all,
            _ if at == 0 => return Err(not_in_union()),
            _ => return Err(right_nested()),
        };
        match nested_operands(operand, all) {
            Some(nested) => flat.extend(nested.into_iter().map(|query| (all, query))),
            None => flat.push((all, *operand)),
        }
    }
    Ok(flat)
}

/// Returns the operands of a union on the right of another, which has ALL or not, if they can be added to the outer one.
fn nested_operands(operand: &Query, all: bool) -> Option<Vec<&Query>> {
    let QueryBody::SetOperation { .. } = &operand.body else { return None };
    let plain = !operand.has_clauses();
    let mut flat = Vec::new();
    for (operator, nested) in operands(operand) {
        let belongs = match operator {
            None => true,
            Some((SetOperation::Union, nested_all)) => !all || nested_all,
            _ => false,
        };
        if !plain || !belongs {
            return None;
        }
        match nested_operands(nested, all) {
            Some(deeper) => flat.extend(deeper),
            None => flat.push(nested),
        }
    }
    Some(flat)
}

/// Returns the error for a set operation on the right of a union that names the table.
fn nested_union(operand: &Query) -> MysqlError {
    let unions =
        |operator: &Option<(SetOperation, bool)>| matches!(operator, None | Some((SetOperation::Union, _)));
    let only_unions = operands(operand).iter().all(|(operator, _)| unions(operator));
    if only_unions { right_nested() } else { not_in_union() }
}

fn right_nested() -> MysqlError {
    MysqlError::not_supported("right nested recursive query blocks, in Common Table Expression")
}

fn not_in_union() -> MysqlError {
    MysqlError::with_message(4114, "Recursive table reference in EXCEPT or INTERSECT operand is not allowed")
}

/// Checks the rules for an operand that names the table.
fn check_step(name: &str, number: usize, step: &BoundSelect, references: usize) -> Result<(), MysqlError> {
    if references == 0 {
        return Err(order_error(name));
    }
    let working =
        |source: &RelationSource| matches!(source, RelationSource::WorkTable(found) if *found == number);
    let position = step.relations.iter().position(|relation| working(&relation.source));
    let Some(position) = position.filter(|_| references == 1) else {
        return Err(single_reference_error(name));
    };
    if step.aggregation.is_some() {
        return Err(recursive_error(
            3575,
            name,
            "can contain neither aggregation nor window functions in recursive query block",
        ));
    }
    if step.distinct || !step.order_by.is_empty() || step.limit.is_some() {
        return Err(not_in_recursion());
    }
    if step.from.as_ref().is_some_and(|from| is_optional(from, position, false)) {
        let text = format!(
            "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must neither be in \
             the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints"
        );
        return Err(MysqlError::with_message(3576, text));
    }
    Ok(())
}

fn is_optional(tree: &JoinTree, position: usize, inside: bool) -> bool {
    match tree {
        JoinTree::Relation(relation) => inside && *relation == position,
        JoinTree::Inner { children, .. } => children.iter().any(|child| is_optional(child, position, inside)),
        JoinTree::Left { left, right, .. } | JoinTree::Semi { left, right, .. } => {
            is_optional(left, position, inside) || is_optional(right, position, true)
        }
    }
}

fn recursive_error(code: u16, name: &str, what: &str) -> MysqlError {
    MysqlError::with_message(code, format!("Recursive Common Table Expression '{name}' {what}"))
}

fn order_error(name: &str) -> MysqlError {
    recursive_error(
        3574,
        name,
        "should have one or more non-recursive query blocks followed by one or more recursive ones",
    )
}

fn single_reference_error(name: &str) -> MysqlError {
    let text = format!(
        "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must be referenced only \
         once, and not in any subquery"
    );
    MysqlError::with_message(3577, text)
}

fn not_in_recursion() -> MysqlError {
    MysqlError::not_supported(
        "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression",
    )
}

impl Binder<'_> {
    /// Binds a query within the names of its WITH clause.
    pub(super) fn query_with_names<T>(
        &mut self,
        with: Option<&With>,
        bind: impl FnOnce(&mut Self) -> Result<T, MysqlError>,
    ) -> Result<T, MysqlError> {
        self.query_depth += 1;
        self.deepest = self.deepest.max(self.query_depth);
        let known = self.commons.len();
        let bound = match with {
            Some(with) => self.with(with).and_then(|()| bind(self)),
            None => bind(self),
        };
        self.commons.truncate(known);
        self.query_depth -= 1;
        bound
    }
}
