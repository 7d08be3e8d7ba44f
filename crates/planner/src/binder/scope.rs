//! Looks up names of columns.
//!
//! A [`Block`] collects the relations and columns of one query block. A [`Scope`] is the part of it that is visible from a place:
//! an ordered list of columns, which `*` expands to and unqualified names are looked up in (USING merges two columns there), and
//! the relations that qualified names may name. Column names are compared without case, names of tables and databases with case.

use std::collections::BTreeMap;
use std::sync::Arc;

use leafline_expr::aggregate::AggregateCall;
use leafline_expr::{Expr, build};
use leafline_table::{ColumnDef, IndexDef, IndexKind};
use leafline_types::{ExprType, MysqlError, Origin, SqlType};

use super::numbering::{FIRST_AGGREGATE, FIRST_WINDOW, Numbering};
use super::window_calls::{Call, Window, WindowPlace, has_window_function};
use crate::bound::{BlockColumn, ColumnId, ColumnOrigin, Relation, RelationSource};
use leafline_syntax::ast::ColumnName;

/// The name that stands for a table's only integer key column.
const ROW_ID: &str = "_rowid";

/// The clause of an expression, for error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clause {
    FieldList,
    From,
    Where,
    On,
    Group,
    Having,
    Order,
}

impl Clause {
    pub(super) fn name(self) -> &'static str {
        match self {
            Clause::FieldList => "field list",
            Clause::From => "from clause",
            Clause::Where => "where clause",
            Clause::On => "on clause",
            Clause::Group => "group statement",
            Clause::Having => "having clause",
            Clause::Order => "order clause",
        }
    }
}

/// A query block that is being bound.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) relations: Vec<Relation>,
    pub(super) columns: Vec<BlockColumn>,
    /// The name of each column.
    pub(super) names: Vec<String>,
    /// Distinct aggregates so far; number `FIRST_AGGREGATE + i`.
    pub(super) aggregates: Numbering<AggregateCall>,
    /// The place is on a side that an outer join may fill with NULL.
    pub(super) is_inner: bool,
    /// The place is in the arguments of an aggregate, where no other may stand (error 1111).
    pub(super) in_aggregate: bool,
    /// The windows of the WINDOW clause.
    pub(super) windows: Vec<Window>,
    /// Distinct window functions so far; number `FIRST_WINDOW + i`.
    pub(super) window_calls: Vec<Call>,
    /// The place is in a window function or its window, where no other may stand.
    pub(super) window_place: Option<WindowPlace>,
    /// The select list, once bound.
    pub(super) items: Vec<Item>,
    /// The aliases of the select list, while it is being bound.
    pub(super) aliases: Vec<String>,
    /// The distinct keys of GROUP BY, once bound.
    pub(super) group_by: Numbering<Expr>,
    /// The position where each key was first written, and the number of written keys.
    pub(super) group_positions: Vec<usize>,
    pub(super) group_keys_written: usize,
    /// WITH ROLLUP.
    pub(super) rollup: bool,
    /// The arguments of the calls of GROUPING() so far; number `FIRST_GROUPING + i`.
    pub(super) groupings: Vec<Vec<Expr>>,
    /// The types that clients see, for columns that have more digits internally.
    pub(super) shown: BTreeMap<ColumnId, SqlType>,
    /// Columns that USING merged into others and that are visible under the other's name.
    pub(super) joined: Vec<ColumnId>,
    /// In FROM: the scope of a lateral query here.
    pub(super) before: Scope,
    /// In ON DUPLICATE KEY UPDATE: the first column of the row to insert, for VALUES().
    pub(super) inserted: Option<ColumnId>,
    /// The searches for words so far.
    pub(super) matches: Vec<BoundMatch>,
}

/// A search for words: its relation, and what was bound for it.
#[derive(Debug, Clone)]
pub(super) struct BoundMatch {
    pub(super) relation: usize,
    pub(super) score: Expr,
}

/// An entry of the select list after the expansion of wildcards.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// The value.
    pub(super) expr: Expr,
    /// The heading.
    pub(super) name: String,
    /// The entry has an alias.
    pub(super) aliased: bool,
}

/// A column that can be named without its table.
#[derive(Debug, Clone)]
pub(super) struct Visible {
    pub(super) id: ColumnId,
    pub(super) name: String,
}

/// The columns and relations that are visible from a place.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    /// The visible columns in the order of `*`.
    pub(super) columns: Vec<Visible>,
    /// The visible relations, as positions in `Block::relations`.
    pub(super) relations: Vec<usize>,
}

impl Scope {
    /// Returns the scope of a place that sees both.
    pub(super) fn beside(mut self, other: Scope) -> Scope {
        self.columns.extend(other.columns);
        self.relations.extend(other.relations);
        self
    }

    /// Returns the visible columns of that name.
    pub(super) fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Visible> + 's {
        self.columns.iter().filter(move |c| c.name.eq_ignore_ascii_case(name))
    }
}

impl Block {
    /// Makes a reference to a column. A quotient that a derived table computes is seen with MySQL's digits; expressions over it
    /// compute with all digits (`build::without_rounding`).
    pub(super) fn reference(&self, id: ColumnId) -> Expr {
        let column = self.column(id);
        match self.shown.get(&id) {
            Some(sql) => {
                let ty = ExprType { sql: sql.clone(), ..column.ty.clone() };
                build::shown(column, ty)
            }
            None => column,
        }
    }

    /// Makes a reference to a column with all its digits.
    pub(super) fn column(&self, id: ColumnId) -> Expr {
        let mut ty = self.columns.get(id).map_or(ExprType::NULL, |c| c.ty.clone());
        if let Some(origin) = self.origin(id) {
            ty.origin = origin;
        }
        build::column(id, ty)
    }

    /// Returns the name of a column of a relation, for messages.
    fn origin(&self, id: ColumnId) -> Option<Origin> {
        let ColumnOrigin::Relation { relation, .. } = self.columns.get(id)?.origin else { return None };
        let name = self.names.get(id)?;
        Some(match self.relations.get(relation) {
            Some(relation) => Origin::column(&relation.database, &relation.alias, name),
            None => Origin::column("", "", name),
        })
    }

    /// Returns the relation that a column belongs to, and its position there.
    pub(super) fn relation_of(&self, id: ColumnId) -> Option<(usize, usize)> {
        match self.columns.get(id).map(|column| column.origin) {
            Some(ColumnOrigin::Relation { relation, ordinal }) => Some((relation, ordinal)),
            _ => None,
        }
    }

    /// Returns the column that `_rowid` means in a relation: the column of the primary key, else of the first unique key without
    /// NULL, if that key is one integer column (MySQL manual, "CREATE TABLE").
    fn row_id(&self, position: usize) -> Option<ColumnId> {
        let relation = self.relations.get(position)?;
        let RelationSource::Base(table) = &relation.source else { return None };
        let is_not_null = |at: usize| table.columns.get(at).is_some_and(|column| !column.nullable);
        let is_key = |index: &&Arc<IndexDef>| {
            index.kind != IndexKind::Secondary
                && !index.parts.is_empty()
                && index.parts.iter().all(|part| is_not_null(part.column))
        };
        let [part] = table.ordered_indexes().iter().find(is_key)?.parts.as_slice() else { return None };
        table.columns.get(part.column).filter(|column| column.ty.is_integer())?;
        relation.columns.clone().nth(part.column)
    }

    /// Finds the column that `name` means in `scope`; `None` when there is none.
    ///
    /// # Errors
    /// 1052 when several columns have the name.
    pub(super) fn find(
        &self,
        scope: &Scope,
        clause: Clause,
        name: &ColumnName,
    ) -> Result<Option<ColumnId>, MysqlError> {
        let Some(table) = &name.table else {
            let mut found = scope.named(&name.column.value);
            let first = found.next().map(|c| c.id);
            if first.is_none() && name.column.value.eq_ignore_ascii_case(ROW_ID) {
                return Ok(scope.relations.iter().find_map(|&position| self.row_id(position)));
            }
            if found.next().is_some() {
                return Err(MysqlError::ambiguous_column(&name.column.value, clause.name()));
            }
            return Ok(first);
        };
        let mut found = None;
        for &position in &scope.relations {
            let relation = &self.relations[position];
            let database_fits = name.database.as_ref().is_none_or(|d| d.value == relation.database);
            if relation.alias != table.value || !database_fits {
                continue;
            }
            let columns = relation.columns.clone();
            let column = columns.clone().find(|&id| self.is_named(id, &name.column.value));
            let is_row_id = column.is_none() && name.column.value.eq_ignore_ascii_case(ROW_ID);
            let column = if is_row_id { self.row_id(position) } else { column };
            match (found, column) {
                (Some(_), Some(_)) => {
                    return Err(MysqlError::ambiguous_column(qualified(name), clause.name()));
                }
                (None, Some(_)) => found = column,
                _ => {}
            }
        }
        Ok(found)
    }

    /// Resolves `name` in a clause of the block; `None` when nothing there has that name. HAVING looks in the select list and the
    /// group keys; every other clause looks in the tables first.
    pub fn resolve(
        &self,
        scope: &Scope,
        clause: Clause,
        name: &ColumnName,
    ) -> Result<Option<Expr>, MysqlError> {
        if clause == Clause::Having && !self.in_aggregate {
            return self.result_column(scope, clause, name);
        }
        if let Some(id) = self.find(scope, clause, name)? {
            return Ok(Some(self.reference(id)));
        }
        let sees_aliases = matches!(clause, Clause::Order | Clause::Group) && name.table.is_none();
        if sees_aliases && let Some(item) = named_item(&self.items, &name.column.value, clause)? {
            return self.aliased(item.expr.clone(), &name.column.value, clause).map(Some);
        }
        Ok(None)
    }

    /// Whether the block has neither group keys nor aggregates so far.
    pub(super) fn is_ungrouped(&self) -> bool {
        self.group_by.is_empty() && self.aggregates.is_empty() && !self.rollup
    }

    /// Returns the entry of the select list with the name as its alias, for a subquery in a later entry.
    ///
    /// # Errors
    /// 1247 if the entry holds an aggregate or a window function.
    pub(super) fn earlier_item(&self, name: &ColumnName) -> Result<Option<Expr>, MysqlError> {
        let alias = &name.column.value;
        let aliased = |item: &&Item| item.aliased && item.name.eq_ignore_ascii_case(alias);
        let Some(item) = self.items.iter().find(aliased).filter(|_| name.table.is_none()) else {
            return Ok(None);
        };
        if has_window_function(&item.expr) {
            return Err(MysqlError::invalid_window_alias(alias));
        }
        if item.expr.columns().iter().any(|&column| column >= FIRST_AGGREGATE) {
            return Err(MysqlError::illegal_reference(alias, "reference to group function"));
        }
        Ok(Some(item.expr.clone()))
    }

    /// Resolves a name in HAVING.
    fn result_column(
        &self,
        scope: &Scope,
        clause: Clause,
        name: &ColumnName,
    ) -> Result<Option<Expr>, MysqlError> {
        let table_column = self.find(scope, clause, name);
        if let Ok(Some(id)) = table_column {
            let reference = self.reference(id);
            if self.group_by.number(&reference).is_some() {
                return Ok(Some(reference));
            }
        }
        if name.table.is_none()
            && let Some(item) = named_item(&self.items, &name.column.value, clause)?
        {
            return self.aliased(item.expr.clone(), &name.column.value, clause).map(Some);
        }
        if let Some(id) = table_column? {
            let reference = self.reference(id);
            if self.items.iter().any(|item| item.expr == reference) {
                return Ok(Some(reference));
            }
        }
        Ok(None)
    }

    /// Returns the value of an alias. Inside an aggregate the value must not hold another aggregate; only ORDER BY may refer to
    /// window functions.
    fn aliased(&self, expr: Expr, name: &str, clause: Clause) -> Result<Expr, MysqlError> {
        let is_nested = clause != Clause::Order || self.in_aggregate || self.window_place.is_some();
        if is_nested && has_window_function(&expr) {
            return Err(MysqlError::invalid_window_alias(name));
        }
        let holds_aggregate = expr.columns().iter().any(|&c| c >= FIRST_AGGREGATE);
        if self.in_aggregate && holds_aggregate {
            return Err(MysqlError::illegal_reference(name, "reference to group function"));
        }
        Ok(expr)
    }

    /// Whether `*` and NATURAL JOIN see a column: a column declared INVISIBLE is hidden from them.
    pub(super) fn is_visible(&self, id: ColumnId) -> bool {
        self.stored_column(id).is_none_or(|column| !column.invisible)
    }

    fn is_named(&self, id: ColumnId, name: &str) -> bool {
        self.names.get(id).is_some_and(|n| n.eq_ignore_ascii_case(name))
            && !self.stored_column(id).is_some_and(ColumnDef::is_hidden)
    }

    /// Returns the definition of a column of a stored table.
    fn stored_column(&self, id: ColumnId) -> Option<&ColumnDef> {
        let ColumnOrigin::Relation { relation, ordinal } = self.columns.get(id)?.origin else { return None };
        match &self.relations.get(relation)?.source {
            RelationSource::Base(table) => table.columns.get(ordinal),
            _ => None,
        }
    }

    /// Returns `database.table.column`, as grouping errors name a column.
    pub(super) fn full_name(&self, id: ColumnId) -> String {
        let name = self.names.get(id).map_or("", String::as_str);
        let relation = match self.columns.get(id).map(|c| c.origin) {
            Some(ColumnOrigin::Relation { relation, .. }) => self.relations.get(relation),
            _ => None,
        };
        match relation {
            Some(r) if r.database.is_empty() => format!("{}.{name}", r.alias),
            Some(r) => format!("{}.{}.{name}", r.database, r.alias),
            None => name.to_owned(),
        }
    }

    /// Returns a reference to an aggregate; equal aggregates share a number.
    pub(super) fn aggregate(&mut self, call: AggregateCall) -> Expr {
        if let Some(exact) = call.with_all_digits() {
            let ty = ExprType { origin: aggregate_origin(&call), ..call.ty.clone() };
            return build::shown(self.aggregate_column(exact), ty);
        }
        self.aggregate_column(call)
    }

    fn aggregate_column(&mut self, call: AggregateCall) -> Expr {
        let ty = ExprType { origin: aggregate_origin(&call), ..call.ty.clone() };
        let (position, _) = self.aggregates.insert(call);
        build::column(FIRST_AGGREGATE + position, ty)
    }

    /// Makes every column nullable from here on: rows of WITH ROLLUP omit keys.
    pub(super) fn roll_up(&mut self) {
        self.rollup = true;
        self.columns.iter_mut().for_each(|column| column.ty.nullable = true);
    }

    /// Returns a reference to a window function; equal ones share a number.
    pub(super) fn window_function(&mut self, call: Call) -> Expr {
        let ty = call.call.ty.clone();
        let position = self.window_calls.iter().position(|known| *known == call).unwrap_or_else(|| {
            self.window_calls.push(call);
            self.window_calls.len() - 1
        });
        build::column(FIRST_WINDOW + position, ty)
    }
}

/// Returns the name of an aggregate's value, for messages.
fn aggregate_origin(call: &AggregateCall) -> Origin {
    let text = |shown: &dyn Fn(&Expr) -> String| {
        let args: Vec<String> = call.args.iter().map(shown).collect();
        let args = if args.is_empty() { "0".to_owned() } else { args.join(",") };
        let distinct = if call.distinct { "distinct " } else { "" };
        format!("{}({distinct}{args})", call.function.name().to_lowercase())
    };
    Origin::text(&text(&Expr::to_string), &text(&|arg| arg.display_with(&|_| None).to_string()))
}

/// Returns a name as it was written.
pub(super) fn qualified(name: &ColumnName) -> String {
    let parts = [name.database.as_ref(), name.table.as_ref(), Some(&name.column)];
    parts.iter().flatten().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")
}

/// Returns the entry of the select list of that name: by alias, or a column by its own name. The first entry that is not a column
/// takes precedence over columns, as in MySQL.
///
/// # Errors
/// 1052 when several different columns have the name and no other entry takes precedence.
pub(super) fn named_item<'i>(
    items: &'i [Item],
    name: &str,
    clause: Clause,
) -> Result<Option<&'i Item>, MysqlError> {
    let mut found: Option<&Item> = None;
    for item in items {
        let is_column = item.expr.as_column().is_some();
        if !(item.aliased || is_column) || !item.name.eq_ignore_ascii_case(name) {
            continue;
        }
        if !is_column {
            return Ok(Some(item));
        }
        match found {
            Some(first) if first.expr != item.expr => {
                return Err(MysqlError::ambiguous_column(name, clause.name()));
            }
            Some(_) => {}
            None => found = Some(item),
        }
    }
    Ok(found)
}
