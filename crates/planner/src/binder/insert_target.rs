//! The target table of an INSERT, as the statement knows it: directly or through a view.
//!
//! A view takes rows if each of its columns is a column of a stored table, no column of the target occurs twice, and all its
//! relations can be changed and are joined by inner joins. The values of one INSERT go to one table.

use std::collections::BTreeSet;
use std::sync::Arc;

use leafline_expr::Expr;
use leafline_table::{TableDef, ViewDef};
use leafline_types::error::errno;
use leafline_types::{ExprType, MysqlError};

use super::from::add_relation;
use super::partition::selected_partitions;
use super::scope::{Block, Clause, Scope};
use super::view_changes::{Asked, Verb, origin, over_relation};
use super::{Binder, select};
use crate::authority::TableRights;
use crate::bound::merge::is_nullable;
use crate::bound::{BoundOutput, BoundSelect, RelationSource, TableHints, ViewCheck};
use leafline_syntax::ast::{Assignment, Ident, TableName, TableReference};
use leafline_syntax::{Privilege, Privileges};

/// The target of an INSERT.
pub(super) struct InsertTarget {
    pub(super) table: Arc<TableDef>,
    /// The name by which the statement, or the view, refers to the table.
    pub(super) alias: String,
    /// The column names that the statement knows, in its order, with their positions in the table.
    names: Vec<(String, usize)>,
    pub(super) view: Option<Arc<ViewDef>>,
    /// The conditions of the view on rows, over the columns of the table.
    pub(super) checks: Vec<ViewCheck>,
    /// The privileges on what the statement names.
    granted: TableRights,
    /// The statement's name for the target, and the database of that name.
    pub(super) name: String,
    database: String,
}

/// The kind of statement that inserts.
#[derive(Clone, Copy)]
pub(super) struct InsertKind<'s> {
    /// The statement is REPLACE.
    pub(super) replaces: bool,
    /// The statement is LOAD DATA: only the columns of a view that get fields must be columns of a table.
    pub(super) loads: bool,
    /// ON DUPLICATE KEY UPDATE, or SET of LOAD DATA.
    pub(super) assignments: &'s [Assignment],
}

impl InsertKind<'_> {
    /// Returns the privilege that an assignment takes.
    fn assigns(self) -> Privilege {
        if self.loads { Privilege::Insert } else { Privilege::Update }
    }

    /// Returns the privileges that the change of a view with these columns takes of definers; `listed` are the columns that the
    /// statement names.
    fn asked(self, names: &[String], listed: Option<&Vec<Ident>>) -> Asked {
        let place = |name: &Ident| names.iter().position(|known| known.eq_ignore_ascii_case(&name.value));
        let mut columns: Vec<(usize, Privilege)> = match listed.filter(|listed| !listed.is_empty()) {
            Some(listed) => listed.iter().filter_map(place).map(|at| (at, Privilege::Insert)).collect(),
            None => (0..names.len()).map(|at| (at, Privilege::Insert)).collect(),
        };
        let assigned = self.assignments.iter().filter_map(|assignment| place(&assignment.column.column));
        columns.extend(assigned.map(|at| (at, self.assigns())));
        let whole = if self.replaces { Privilege::Delete.into() } else { Privileges::NONE };
        Asked { whole, columns }
    }
}

impl InsertTarget {
    /// Adds the target to a block, as its first relation. Columns that the statement does not know have no name.
    pub(super) fn relation(&self, block: &mut Block) -> Result<Scope, MysqlError> {
        let column = |(at, column): (usize, &leafline_table::ColumnDef)| {
            let named = self.names.iter().find(|(_, known)| *known == at);
            let name = named.map_or(String::new(), |(name, _)| name.clone());
            (name, ExprType::column(column.ty.clone(), column.nullable, column.collation))
        };
        let columns = self.table.columns.iter().enumerate().map(column).collect();
        let source = RelationSource::Base(self.table.clone());
        let (name, database) = (self.name.clone(), self.database.clone());
        let (_, mut scope) = add_relation(block, name, database, source, columns, TableHints::default())?;
        scope.columns.retain(|column| !column.name.is_empty());
        if let Some(relation) = block.relations.last_mut() {
            relation.granted = self.granted.clone();
        }
        Ok(scope)
    }

    /// Returns the columns that values are given for: the listed columns, or all visible ones.
    ///
    /// # Errors
    /// 1054 for an unknown column, 1110 for a repeated one.
    pub(super) fn columns(&self, listed: Option<&Vec<Ident>>) -> Result<Vec<usize>, MysqlError> {
        // Without a list, or with an empty one, values are for all columns.
        let listed = listed.filter(|listed| !listed.is_empty());
        let Some(listed) = listed else {
            let is_visible = |at: &usize| self.table.columns.get(*at).is_some_and(|column| !column.invisible);
            let all = self.names.iter().map(|(_, at)| *at);
            return Ok(all.filter(|at| self.view.is_some() || is_visible(at)).collect());
        };
        let mut columns = Vec::with_capacity(listed.len());
        for name in listed {
            let known = self.names.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name.value));
            let Some((_, column)) = known else {
                return Err(MysqlError::unknown_column(&name.value, Clause::FieldList.name()));
            };
            if columns.contains(column) {
                return Err(MysqlError::column_specified_twice(&name.value));
            }
            columns.push(*column);
        }
        Ok(columns)
    }
}

impl Binder<'_> {
    /// Finds the table that a statement inserts into by `name`; `listed` are the columns that it names.
    pub(super) fn insert_target(
        &mut self,
        (name, partitions): (&TableName, &[Ident]),
        listed: Option<&Vec<Ident>>,
        kind: InsertKind<'_>,
    ) -> Result<InsertTarget, MysqlError> {
        let mut wanted = Privileges::of(Privilege::Insert);
        if kind.replaces {
            wanted = wanted | Privilege::Delete;
        }
        if !kind.assignments.is_empty() {
            wanted = wanted | kind.assigns();
        }
        let granted = self.granted(name, wanted)?;
        if let Some(view) = self.view_named(name)? {
            if !partitions.is_empty() {
                return Err(MysqlError::partition_clause_on_nonpartitioned());
            }
            return self.insert_view(name, view.clone(), listed, (kind, wanted, granted));
        }
        let table = selected_partitions(self.table(name)?, partitions)?;
        let names = table.named_columns().map(|(at, column)| (column.name.clone(), at)).collect();
        Ok(InsertTarget {
            alias: table.name.clone(),
            name: table.name.clone(),
            database: table.database.clone(),
            names,
            view: None,
            checks: Vec::new(),
            granted,
            table,
        })
    }

    /// Checks that the statement may give values to these columns: to those that it lists, or else to all columns.
    ///
    /// # Errors
    /// 1143 for a listed column; 1142 without a list.
    pub(super) fn check_inserted(
        &self,
        target: &InsertTarget,
        listed: Option<&Vec<Ident>>,
        columns: &[usize],
    ) -> Result<(), MysqlError> {
        let mut checks = columns.iter().map(|at| self.check_target(target, Privilege::Insert, *at));
        match (listed.is_some_and(|listed| !listed.is_empty()), checks.find(Result::is_err)) {
            (_, None) => Ok(()),
            (true, Some(denied)) => denied,
            (false, Some(_)) => Err(self.context.access.table_denied(Privilege::Insert.name(), &target.name)),
        }
    }

    /// Checks that the statement may give a value to a column of the target.
    ///
    /// # Errors
    /// 1143.
    pub(super) fn check_target(
        &self,
        target: &InsertTarget,
        wanted: Privilege,
        column: usize,
    ) -> Result<(), MysqlError> {
        let named = target.names.iter().find(|(_, known)| *known == column);
        let name = named.map_or("", |(name, _)| name.as_str());
        self.check_column(&target.granted, wanted, (name, &target.name))
    }

    fn insert_view(
        &mut self,
        name: &TableName,
        view: Arc<ViewDef>,
        listed: Option<&Vec<Ident>>,
        (kind, wanted, granted): (InsertKind<'_>, Privileges, TableRights),
    ) -> Result<InsertTarget, MysqlError> {
        let refused = || match kind.loads {
            true => MysqlError::non_updatable_table(&name.name.value, "LOAD"),
            false => MysqlError::non_insertable_table(&name.name.value, Verb::Insert.name()),
        };
        let subqueries = self.subqueries.len();
        self.changes = wanted;
        let rows = self.rows_of_view(name);
        self.changes = Privileges::NONE;
        let (mut rows, names) = rows?;
        let Some(relation) = rows.relations.first() else { return Err(refused()) };
        for (ordinal, column) in names.iter().enumerate() {
            let gets_field = listed
                .filter(|listed| kind.loads && !listed.is_empty())
                .is_none_or(|listed| listed.iter().any(|name| name.value.eq_ignore_ascii_case(column)));
            match self.stored_column(relation, ordinal, ("", Verb::Insert)) {
                Err(error) if kind.loads && error.code == errno::ER_NONUPDATEABLE_COLUMN => {
                    if gets_field {
                        return Err(MysqlError::invalid_load_column(format!("{}.{column}", name.name.value)));
                    }
                }
                Err(_) => return Err(refused()),
                Ok(_) => {}
            }
        }
        let Some(expansion) = self.expand(&mut rows, 0, &kind.asked(&names, listed))? else {
            return Err(refused());
        };
        let full_name = expansion.name();
        let is_base = |at: &usize| {
            rows.relations.get(*at).is_some_and(|of| matches!(of.source, RelationSource::Base(_)))
        };
        let is_outer = |at: &usize| rows.from.as_ref().is_some_and(|from| is_nullable(from, *at, false));
        if !expansion.relations.iter().all(is_base) || expansion.relations.iter().any(is_outer) {
            return Err(refused());
        }
        let outputs = rows.output.iter().map(|output| output.expr.as_column());
        let origins = outputs.map(|column| column.and_then(|column| origin(&rows, column)));
        let columns: Vec<(String, (usize, usize))> =
            names.into_iter().zip(origins).filter_map(|(name, origin)| Some((name, origin?))).collect();
        if expansion.relations.len() > 1 && kind.replaces {
            return Err(MysqlError::delete_from_join_view(full_name));
        }
        if expansion.relations.len() > 1 && listed.is_none_or(Vec::is_empty) {
            return Err(MysqlError::insert_into_join_view_without_columns(full_name));
        }
        let mut wanted = BTreeSet::new();
        for name in listed.into_iter().flatten() {
            let known = columns.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name.value));
            let (_, (relation, _)) =
                known.ok_or_else(|| MysqlError::unknown_column(&name.value, Clause::FieldList.name()))?;
            wanted.insert(*relation);
        }
        if wanted.len() > 1 {
            return Err(MysqlError::change_of_several_tables_of_view(full_name));
        }
        let at = wanted.first().copied().unwrap_or_default();
        let own = columns.into_iter().filter(|(_, (relation, _))| *relation == at);
        let names: Vec<(String, usize)> = own.map(|(name, (_, ordinal))| (name, ordinal)).collect();
        let different: BTreeSet<usize> = names.iter().map(|(_, ordinal)| *ordinal).collect();
        let Some(relation) = rows.relations.get(at).filter(|_| different.len() == names.len()) else {
            return Err(refused());
        };
        let RelationSource::Base(table) = &relation.source else { return Err(refused()) };
        let over_table = |check: ViewCheck| {
            let condition: Result<Expr, MysqlError> = over_relation(check.condition, relation);
            condition.map(|condition| ViewCheck { condition, ..check })
        };
        let checks: Vec<ViewCheck> =
            expansion.checks(&rows).into_iter().map(over_table).collect::<Result<_, _>>()?;
        if checks.is_empty() {
            // Without checks no condition of the view is evaluated, so that its subqueries are not needed.
            self.subqueries.truncate(subqueries);
        }
        Ok(InsertTarget {
            table: table.clone(),
            alias: relation.alias.clone(),
            names,
            checks,
            granted,
            name: name.name.value.clone(),
            database: view.database.clone(),
            view: Some(view),
        })
    }

    /// Makes a block that reads all columns of a view, and returns their names.
    fn rows_of_view(&mut self, name: &TableName) -> Result<(BoundSelect, Vec<String>), MysqlError> {
        let mut block = Block::default();
        let reference = TableReference::Table {
            name: name.clone(),
            partitions: Vec::new(),
            alias: None,
            index_hints: Vec::new(),
        };
        let (from, scope) = self.reference(&mut block, &reference)?;
        let columns: Vec<Expr> = scope.columns.iter().map(|column| block.reference(column.id)).collect();
        let names = scope.columns.into_iter().map(|column| column.name).collect();
        let mut rows = select::finished(block, Some(from), Vec::new(), Vec::new(), Vec::new(), true)?;
        rows.output = columns.into_iter().map(BoundOutput::unnamed).collect();
        Ok((rows, names))
    }
}
