//! Names of columns.
//!
//! A [`Block`] collects the relations and columns of one query block. A [`Scope`] is what a place in it can see: an
//! ordered list of visible columns, which `*` spreads out and unqualified names are looked up in (USING makes two
//! columns one there), and the relations that qualified names may name. Names of columns are compared without case,
//! names of tables and databases as they are.

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

/// The name of a table's only integer key column.
const ROW_ID: &str = "_rowid";

/// The clause an expression stands in; errors name it.
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

/// A query block while it is bound.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) relations: Vec<Relation>,
    pub(super) columns: Vec<BlockColumn>,
    /// The name of each column.
    pub(super) names: Vec<String>,
    /// Aggregates met so far, each once; number `FIRST_AGGREGATE + i`.
    pub(super) aggregates: Numbering<AggregateCall>,
    /// Inside of what an outer join may fill with NULL.
    pub(super) is_inner: bool,
    /// Inside the arguments of an aggregate: no other may follow (error 1111).
    pub(super) in_aggregate: bool,
    /// The windows of the WINDOW clause.
    pub(super) windows: Vec<Window>,
    /// Window functions met so far, each once; number `FIRST_WINDOW + i`.
    pub(super) window_calls: Vec<Call>,
    /// Inside of a window function or its window: no other may follow.
    pub(super) window_place: Option<WindowPlace>,
    /// The select list, once it is bound.
    pub(super) items: Vec<Item>,
    /// The aliases of the select list, while it is bound.
    pub(super) aliases: Vec<String>,
    /// GROUP BY, once it is bound: each key once.
    pub(super) group_by: Numbering<Expr>,
    /// Where each of them was written first, and how many were written.
    pub(super) group_positions: Vec<usize>,
    pub(super) group_keys_written: usize,
    /// WITH ROLLUP.
    pub(super) rollup: bool,
    /// The arguments of calls of GROUPING() met so far; number `FIRST_GROUPING + i`.
    pub(super) groupings: Vec<Vec<Expr>>,
    /// The types that columns are shown with which have more digits than these.
    pub(super) shown: BTreeMap<ColumnId, SqlType>,
    /// Columns that USING has joined with others, by whose names they are seen.
    pub(super) joined: Vec<ColumnId>,
    /// In FROM: what a lateral query sees here.
    pub(super) before: Scope,
    /// In ON DUPLICATE KEY UPDATE: the first column of the row that was to be inserted, for VALUES().
    pub(super) inserted: Option<ColumnId>,
}

/// An entry of the select list, wildcards spread out.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Its value.
    pub(super) expr: Expr,
    /// Its heading.
    pub(super) name: String,
    /// With an alias.
    pub(super) aliased: bool,
}

/// A column that can be named without a table.
#[derive(Debug, Clone)]
pub(super) struct Visible {
    pub(super) id: ColumnId,
    pub(super) name: String,
}

/// What can be seen from a place.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    /// In the order of `*`.
    pub(super) columns: Vec<Visible>,
    /// Positions in `Block::relations`.
    pub(super) relations: Vec<usize>,
}

impl Scope {
    /// What is seen from a place that sees both.
    pub(super) fn beside(mut self, other: Scope) -> Scope {
        self.columns.extend(other.columns);
        self.relations.extend(other.relations);
        self
    }

    /// The visible columns of that name.
    pub(super) fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Visible> + 's {
        self.columns.iter().filter(move |c| c.name.eq_ignore_ascii_case(name))
    }
}

impl Block {
    /// A reference to a column. Of a quotient that a derived table computes it shows the digits that MySQL shows; what is computed
    /// with it goes on with all of them (`build::without_rounding`).
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

    /// A column with all digits that it has.
    pub(super) fn column(&self, id: ColumnId) -> Expr {
        let mut ty = self.columns.get(id).map_or(ExprType::NULL, |c| c.ty.clone());
        if let Some(origin) = self.origin(id) {
            ty.origin = origin;
        }
        build::column(id, ty)
    }

    /// What messages call a column of a relation.
    fn origin(&self, id: ColumnId) -> Option<Origin> {
        let ColumnOrigin::Relation { relation, .. } = self.columns.get(id)?.origin else { return None };
        let name = self.names.get(id)?;
        Some(match self.relations.get(relation) {
            Some(relation) => Origin::column(&relation.database, &relation.alias, name),
            None => Origin::column("", "", name),
        })
    }

    /// The relation that a column belongs to, and its position there.
    pub(super) fn relation_of(&self, id: ColumnId) -> Option<(usize, usize)> {
        match self.columns.get(id).map(|column| column.origin) {
            Some(ColumnOrigin::Relation { relation, ordinal }) => Some((relation, ordinal)),
            _ => None,
        }
    }

    /// The column that `_rowid` means in a relation: the only one of the primary key, else of the first unique key without NULL, if that is one
    /// integer column (MySQL manual, "CREATE TABLE").
    fn row_id(&self, position: usize) -> Option<ColumnId> {
        let relation = self.relations.get(position)?;
        let RelationSource::Base(table) = &relation.source else { return None };
        let is_not_null = |at: usize| table.columns.get(at).is_some_and(|column| !column.nullable);
        let is_key = |index: &&Arc<IndexDef>| {
            index.kind != IndexKind::Secondary
                && !index.parts.is_empty()
                && index.parts.iter().all(|part| is_not_null(part.column))
        };
        let [part] = table.indexes.iter().find(is_key)?.parts.as_slice() else { return None };
        table.columns.get(part.column).filter(|column| column.ty.is_integer())?;
        relation.columns.clone().nth(part.column)
    }

    /// The column that `name` means in `scope`; `None` when there is none.
    ///
    /// # Errors
    /// 1052 when there are several.
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

    /// What `name` means in a clause of the block; `None` when nothing there has that name. HAVING sees results, the select
    /// list and the group keys; everything else sees the tables first.
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

    /// Whether neither keys nor aggregates group its rows, as far as it is bound.
    pub(super) fn is_ungrouped(&self) -> bool {
        self.group_by.is_empty() && self.aggregates.is_empty() && !self.rollup
    }

    /// The entry of the select list that has the name as its alias, for a subquery in an entry behind it.
    ///
    /// # Errors
    /// 1247 if it holds an aggregate or a window function.
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

    /// A name in HAVING.
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

    /// The value of an alias; inside an aggregate it must not hold another, and window functions are seen by ORDER BY alone.
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

    /// Whether `*` and NATURAL JOIN know a column: not if it was declared INVISIBLE.
    pub(super) fn is_visible(&self, id: ColumnId) -> bool {
        self.stored_column(id).is_none_or(|column| !column.invisible)
    }

    fn is_named(&self, id: ColumnId, name: &str) -> bool {
        self.names.get(id).is_some_and(|n| n.eq_ignore_ascii_case(name))
            && !self.stored_column(id).is_some_and(ColumnDef::is_hidden)
    }

    /// The definition of a column of a stored table.
    fn stored_column(&self, id: ColumnId) -> Option<&ColumnDef> {
        let ColumnOrigin::Relation { relation, ordinal } = self.columns.get(id)?.origin else { return None };
        match &self.relations.get(relation)?.source {
            RelationSource::Base(table) => table.columns.get(ordinal),
            _ => None,
        }
    }

    /// `database.table.column`, as errors about grouping name a column.
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

    /// The number of an aggregate; equal ones share it.
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

    /// From here on every column can be NULL: rows of WITH ROLLUP leave keys out.
    pub(super) fn roll_up(&mut self) {
        self.rollup = true;
        self.columns.iter_mut().for_each(|column| column.ty.nullable = true);
    }

    /// The number of a window function; equal ones share it.
    pub(super) fn window_function(&mut self, call: Call) -> Expr {
        let ty = call.call.ty.clone();
        let position = self.window_calls.iter().position(|known| *known == call).unwrap_or_else(|| {
            self.window_calls.push(call);
            self.window_calls.len() - 1
        });
        build::column(FIRST_WINDOW + position, ty)
    }
}

/// What messages call the value of an aggregate.
fn aggregate_origin(call: &AggregateCall) -> Origin {
    let text = |shown: &dyn Fn(&Expr) -> String| {
        let args: Vec<String> = call.args.iter().map(shown).collect();
        let args = if args.is_empty() { "0".to_owned() } else { args.join(",") };
        let distinct = if call.distinct { "distinct " } else { "" };
        format!("{}({distinct}{args})", call.function.name().to_lowercase())
    };
    Origin::text(&text(&Expr::to_string), &text(&|arg| arg.display_with(&|_| None).to_string()))
}

/// A name as it was written.
pub(super) fn qualified(name: &ColumnName) -> String {
    let parts = [name.database.as_ref(), name.table.as_ref(), Some(&name.column)];
    parts.iter().flatten().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")
}

/// The entry of the select list of that name: by alias, or a column by its own name. The first that is not a column goes
/// before columns, as in MySQL.
///
/// # Errors
/// 1052 when several columns that differ have it, and nothing before them decides.
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
