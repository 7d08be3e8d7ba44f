//! FROM: relations, the join tree, and the scope of each place in it.

use leafline_expr::{CompareOp, Expr, ExprKind, build, conjuncts};
use leafline_table::{IndexDef, TableDef, ViewAlgorithm};
use leafline_types::{Coercibility, ExprType, MysqlError, Value};

use super::partition::selected_partitions;
use super::row_rules::indexed_expressions;
use super::scope::{Block, Clause, Scope, Visible};
use super::select::MAX_KEPT_ITEMS;
use super::{Binder, zero_dates};
use crate::SystemRows;
use crate::authority::TableRights;
use crate::bound::{
    BlockColumn, BoundSelect, ColumnOrigin, CommonTable, IndexChoice, IndexHints, JoinTree, LateralQuery,
    MAX_RELATIONS, Relation, RelationSource, TableHints,
};
use leafline_syntax::Privilege;
use leafline_syntax::ast::{
    Ident, IndexHint, IndexHintAction, IndexHintScope, Join, JoinConstraint, JoinKind, TableName,
    TableReference,
};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// A part of FROM: its join tree and the scope after it.
type Part = (JoinTree, Scope);

impl Binder<'_> {
    /// Binds FROM; `None` when there is none.
    pub(super) fn from(
        &mut self,
        block: &mut Block,
        references: &[TableReference],
    ) -> Result<Option<Part>, MysqlError> {
        let before = block.before.clone();
        let mut joined: Option<Part> = None;
        for reference in references {
            let (right, right_scope) = self.reference(block, reference)?;
            block.before = block.before.clone().beside(right_scope.clone());
            joined = Some(match joined {
                None => (right, right_scope),
                Some((left, left_scope)) => {
                    (inner(left, right, Vec::new(), false), left_scope.beside(right_scope))
                }
            });
        }
        block.before = before;
        Ok(joined)
    }

    pub(super) fn reference(
        &mut self,
        block: &mut Block,
        reference: &TableReference,
    ) -> Result<Part, MysqlError> {
        match reference {
            TableReference::Table { name, partitions, alias, index_hints } => {
                self.base_table(block, (name, partitions), alias.as_ref(), index_hints)
            }
            TableReference::Derived { lateral, query, alias, columns, .. } => {
                let Some(alias) = alias else { return Err(MysqlError::derived_without_alias()) };
                match lateral {
                    true => self.lateral(block, alias, "", columns, |binder| binder.query(query)),
                    false => {
                        let (volatile, outer) = (self.volatile_calls, self.outer_references);
                        let query = self.query(query)?;
                        if self.assigns_variables && self.volatile_calls > volatile {
                            let is_dependent = self.outer_references > outer;
                            return self.materialized(block, query, is_dependent, alias, columns);
                        }
                        derived(block, query, alias, columns)
                    }
                }
            }
            TableReference::JsonTable(table) => {
                let alias = table.alias.as_ref().ok_or_else(MysqlError::table_function_without_alias)?;
                // The alias belongs to the session's database, as aliases of stored tables do.
                let database = self.context.database.unwrap_or_default();
                self.lateral(block, alias, database, &[], |binder| binder.json_table(table))
            }
            TableReference::List(references) => match self.from(block, references)? {
                Some(part) => Ok(part),
                None => Err(MysqlError::no_tables_used()),
            },
            TableReference::Join(join) => self.join(block, join),
        }
    }

    fn base_table(
        &mut self,
        block: &mut Block,
        (name, partitions): (&TableName, &[Ident]),
        alias: Option<&Ident>,
        hints: &[IndexHint],
    ) -> Result<Part, MysqlError> {
        let named = self.common_table(name)?;
        let granted = match &named {
            Some(_) => TableRights::EVERYTHING,
            None => self.granted(name, Privilege::Select)?,
        };
        let is_other = named.is_some()
            || !partitions.is_empty()
                && (self.view_named(name)?.is_some()
                    || self
                        .context
                        .catalog
                        .schema_table(self.database_of(name)?, &name.name.value)?
                        .is_some());
        if is_other && !partitions.is_empty() {
            return Err(MysqlError::partition_clause_on_nonpartitioned());
        }
        let alias = alias.unwrap_or(&name.name).value.clone();
        if let Some((source, columns)) = named {
            if let Some(index) = hints.iter().flat_map(|hint| &hint.indexes).next() {
                return Err(MysqlError::key_does_not_exist(&index.value, &alias));
            }
            return add_relation(block, alias, String::new(), source, columns, TableHints::default());
        }
        let schema_table = self.context.catalog.schema_table(self.database_of(name)?, &name.name.value)?;
        if let Some(table) = schema_table {
            if let Some(index) = hints.iter().flat_map(|hint| &hint.indexes).next() {
                return Err(MysqlError::key_does_not_exist(&index.value, &alias));
            }
            self.reads_schema_tables = true;
            let database = self.database_of(name)?.to_owned();
            let (source, columns) = rows_of(table);
            return add_relation(block, alias, database, source, columns, TableHints::default());
        }
        if let Some(view) = self.view_named(name)? {
            if let Some(index) = hints.iter().flat_map(|hint| &hint.indexes).next() {
                return Err(MysqlError::key_does_not_exist(&index.value, &alias));
            }
            let (query, columns) = self.view(&view)?;
            self.expands(columns.len())?;
            let source = RelationSource::Derived(Box::new(query));
            let by_itself = view.algorithm == ViewAlgorithm::TempTable;
            let hints = TableHints { merge: by_itself.then_some(false), ..TableHints::default() };
            let part = add_relation(block, alias, view.database.clone(), source, columns, hints)?;
            if let Some(relation) = block.relations.last_mut() {
                (relation.view, relation.granted) = (Some(view), granted);
            }
            return Ok(part);
        }
        let table = selected_partitions(self.table(name)?, partitions)?;
        if self.wildcards.is_some() && table.is_private {
            return Err(MysqlError::view_of_temporary_table(&table.name));
        }
        let indexes = index_hints(hints, &table, &alias, self.context.use_invisible_indexes)?;
        let hints = TableHints { indexes, ..TableHints::default() };
        let columns = table
            .columns
            .iter()
            .map(|c| (c.name.clone(), ExprType::column(c.ty.clone(), c.nullable, c.collation)))
            .collect();
        self.expands(table.columns.len())?;
        let database = table.database.clone();
        let generated = indexed_expressions(&table, self.context)?;
        let part = add_relation(block, alias, database, RelationSource::Base(table), columns, hints)?;
        if let Some(relation) = block.relations.last_mut() {
            (relation.generated, relation.granted) = (generated, granted);
        }
        Ok(part)
    }

    /// Binds as a common table a derived table whose query assigns user variables, or reads ones that the statement assigns. Its
    /// rows are made once, before the rows of the query around it.
    fn materialized(
        &mut self,
        block: &mut Block,
        query: BoundSelect,
        is_dependent: bool,
        alias: &Ident,
        names: &[Ident],
    ) -> Result<Part, MysqlError> {
        let columns = derived_columns(&query, names)?;
        let number = self.next_common;
        self.next_common += 1;
        let name = alias.value.clone();
        // More than one reference keeps the optimizer from making it a derived table again.
        let references = AtomicUsize::new(2);
        let table =
            CommonTable { number, name: name.clone(), query, recursion: None, is_dependent, references };
        let source = RelationSource::Common(Arc::new(table));
        add_relation(block, name, String::new(), source, columns, TableHints::default())
    }

    /// Binds `LATERAL (query)`. The query sees earlier relations as a subquery of an expression would.
    fn lateral(
        &mut self,
        block: &mut Block,
        alias: &Ident,
        database: &str,
        names: &[Ident],
        bind: impl FnOnce(&mut Self) -> Result<BoundSelect, MysqlError>,
    ) -> Result<Part, MysqlError> {
        let before = block.before.clone();
        let Some(after) = before.relations.last().copied() else {
            let query = bind(self)?;
            let columns = derived_columns(&query, names)?;
            let (alias, source) = (alias.value.clone(), RelationSource::Derived(Box::new(query)));
            return add_relation(block, alias, database.to_owned(), source, columns, TableHints::default());
        };
        let (mut query, outer) = self.within(block, &before, Clause::From, bind)?;
        query.keep_digits();
        let columns = derived_columns(&query, names)?;
        let source = match outer.is_empty() {
            true => RelationSource::Derived(Box::new(query)),
            false => RelationSource::Lateral(Box::new(LateralQuery { query, outer, after })),
        };
        add_relation(block, alias.value.clone(), database.to_owned(), source, columns, TableHints::default())
    }

    fn join(&mut self, block: &mut Block, join: &Join) -> Result<Part, MysqlError> {
        let is_inner = block.is_inner;
        block.is_inner = is_inner || join.kind == JoinKind::Right;
        let left = self.reference(block, &join.left);
        block.is_inner = is_inner;
        let (left, left_scope) = left?;
        let before = block.before.clone();
        // A right join searches its left side for each row of the right side.
        if join.kind != JoinKind::Right {
            block.before = before.clone().beside(left_scope.clone());
        }
        block.is_inner = is_inner || join.kind == JoinKind::Left;
        let right = self.reference(block, &join.right);
        (block.before, block.is_inner) = (before, is_inner);
        let (right, right_scope) = right?;
        let (conditions, scope) = match &join.constraint {
            JoinConstraint::On(condition) => {
                let scope = left_scope.clone().beside(right_scope.clone());
                let mut condition = self.expression(block, &scope, Clause::On, condition)?;
                if !is_inner && matches!(join.kind, JoinKind::Inner | JoinKind::Straight) {
                    zero_dates::found_as_null(block, &mut condition)?;
                }
                (conjuncts(self.condition(condition)), scope)
            }
            JoinConstraint::Using(columns) => {
                let mut names: Vec<String> = Vec::with_capacity(columns.len());
                for name in columns.iter().map(|column| &column.value) {
                    if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                        names.push(name.clone());
                    }
                }
                merged(block, names, &left_scope, &right_scope, join.kind)?
            }
            JoinConstraint::None if join.natural => {
                let names = common_names(block, &left_scope, &right_scope);
                merged(block, names, &left_scope, &right_scope, join.kind)?
            }
            JoinConstraint::None => (Vec::new(), left_scope.clone().beside(right_scope.clone())),
        };
        if block.relations.iter().any(|relation| !relation.granted.has(Privilege::Select)) {
            let mut columns = conditions.iter().flat_map(Expr::columns);
            columns.try_for_each(|column| self.check_readable(block, column))?;
        }
        let tree = match join.kind {
            JoinKind::Inner => inner(left, right, conditions, false),
            JoinKind::Straight => inner(left, right, conditions, true),
            JoinKind::Left => {
                make_nullable(block, &right_scope);
                JoinTree::Left { left: Box::new(left), right: Box::new(right), conditions }
            }
            JoinKind::Right => {
                make_nullable(block, &left_scope);
                JoinTree::Left { left: Box::new(right), right: Box::new(left), conditions }
            }
        };
        Ok((tree, scope))
    }
}

/// Returns the rows of a table that is not stored.
fn rows_of(table: SystemRows) -> (RelationSource, Vec<(String, ExprType)>) {
    let types: Vec<ExprType> = table.columns.iter().map(|(_, ty)| ty.clone()).collect();
    let row = |row: Vec<Value>| {
        let typed = row.into_iter().zip(&types);
        typed.map(|(value, ty)| Expr { kind: ExprKind::Literal(value), ty: ty.clone() }).collect()
    };
    (RelationSource::Values(table.rows.into_iter().map(row).collect()), table.columns)
}

/// Binds a query in FROM that depends on no earlier relation.
fn derived(
    block: &mut Block,
    mut query: BoundSelect,
    alias: &Ident,
    names: &[Ident],
) -> Result<Part, MysqlError> {
    query.keep_digits();
    let columns = derived_columns(&query, names)?;
    let source = RelationSource::Derived(Box::new(query));
    add_relation(block, alias.value.clone(), String::new(), source, columns, TableHints::default())
}

/// Returns the names and types of the columns of a derived table. Error 1353 for another number of names, 1060 for a repeated
/// name.
pub(super) fn derived_columns(
    query: &BoundSelect,
    names: &[Ident],
) -> Result<Vec<(String, ExprType)>, MysqlError> {
    if !names.is_empty() && names.len() != query.output.len() {
        return Err(MysqlError::with_message(
            1353,
            "In definition of view, derived table or common table expression, SELECT list and column names list \
             have different column counts",
        ));
    }
    if query.output.len() > MAX_KEPT_ITEMS {
        return Err(MysqlError::too_many_columns());
    }
    let mut columns: Vec<(String, ExprType)> = Vec::with_capacity(query.output.len());
    for (position, output) in query.output.iter().enumerate() {
        let name = names.get(position).map_or(&output.meta.name, |n| &n.value).clone();
        if columns.iter().any(|(other, _)| other.eq_ignore_ascii_case(&name)) {
            return Err(MysqlError::duplicate_column(name));
        }
        let ty = &output.expr.ty;
        let column = ExprType::column(ty.sql.clone(), ty.nullable, ty.collation);
        // Converting a text column costs no more than converting its expression.
        let column = match ty.sql.is_character() && ty.coercibility != Coercibility::Ignorable {
            true => ExprType { coercibility: ty.coercibility, ..column },
            false => column,
        };
        columns.push((name, column));
    }
    Ok(columns)
}

/// Adds a relation to the block. Error 1066 when another relation has its name.
pub(super) fn add_relation(
    block: &mut Block,
    alias: String,
    database: String,
    source: RelationSource,
    columns: Vec<(String, ExprType)>,
    hints: TableHints,
) -> Result<Part, MysqlError> {
    if block.relations.len() >= MAX_RELATIONS {
        return Err(MysqlError::too_many_tables(MAX_RELATIONS));
    }
    if block.relations.iter().any(|r| r.alias == alias && r.database == database) {
        return Err(MysqlError::not_unique_table(alias));
    }
    let relation = block.relations.len();
    let first = block.columns.len();
    let mut scope = Scope { columns: Vec::with_capacity(columns.len()), relations: vec![relation] };
    for (ordinal, (name, ty)) in columns.into_iter().enumerate() {
        if let Some(shown) = source.shown_type(ordinal, &ty.sql) {
            block.shown.insert(block.columns.len(), shown);
        }
        if !source.hides(ordinal) {
            scope.columns.push(Visible { id: block.columns.len(), name: name.clone() });
        }
        block.columns.push(BlockColumn { origin: ColumnOrigin::Relation { relation, ordinal }, ty });
        block.names.push(name);
    }
    let columns = first..block.columns.len();
    block.relations.push(Relation {
        alias,
        database,
        source,
        columns,
        hints,
        lock: None,
        view: None,
        generated: Default::default(),
        granted: TableRights::EVERYTHING,
    });
    Ok((JoinTree::Relation(relation), scope))
}

/// Makes an inner join and absorbs inner joins below it that prescribe no order.
fn inner(left: JoinTree, right: JoinTree, conditions: Vec<Expr>, straight: bool) -> JoinTree {
    let mut children = Vec::new();
    let mut all = Vec::new();
    for side in [left, right] {
        match side {
            JoinTree::Inner { children: below, conditions, straight: false } if !straight => {
                children.extend(below);
                all.extend(conditions);
            }
            other => children.push(other),
        }
    }
    all.extend(conditions);
    JoinTree::Inner { children, conditions: all, straight }
}

/// Makes every column of these relations nullable, because an outer join may find no row for them.
fn make_nullable(block: &mut Block, scope: &Scope) {
    for &relation in &scope.relations {
        let columns = block.relations[relation].columns.clone();
        for column in &mut block.columns[columns] {
            column.ty.nullable = true;
        }
    }
}

/// Returns the names that both sides have.
fn common_names(block: &Block, left: &Scope, right: &Scope) -> Vec<String> {
    let shared = |name: &str| right.named(name).any(|column| block.is_visible(column.id));
    let visible = left.columns.iter().filter(|column| block.is_visible(column.id));
    visible.filter(|column| shared(&column.name)).map(|column| column.name.clone()).collect()
}

/// Binds USING: its conditions, and the scope after it. Shared columns come first and once, then the other columns of the left,
/// then the others of the right. A right join has the scope of the left join with its sides exchanged.
fn merged(
    block: &mut Block,
    names: Vec<String>,
    left: &Scope,
    right: &Scope,
    kind: JoinKind,
) -> Result<(Vec<Expr>, Scope), MysqlError> {
    let (first, second) = if kind == JoinKind::Right { (right, left) } else { (left, right) };
    let mut conditions = Vec::new();
    let mut shared = Vec::new();
    let (mut seen_first, mut seen_second) = (first.columns.clone(), second.columns.clone());
    for name in &names {
        let (of_first, of_second) = (only(first, name)?, only(second, name)?);
        conditions.push(build::compare(
            CompareOp::Eq,
            block.reference(of_first.id),
            block.reference(of_second.id),
        )?);
        shared.push(of_first.clone());
        seen_first.retain(|c| c.id != of_first.id);
        seen_second.retain(|c| c.id != of_second.id);
        block.joined.push(of_second.id);
    }
    shared.sort_by_key(|c| first.columns.iter().position(|f| f.id == c.id));
    shared.append(&mut seen_first);
    shared.append(&mut seen_second);
    let mut relations = left.relations.clone();
    relations.extend_from_slice(&right.relations);
    Ok((conditions, Scope { columns: shared, relations }))
}

/// Returns the only column of that name.
fn only<'s>(scope: &'s Scope, name: &'s str) -> Result<&'s Visible, MysqlError> {
    let mut found = scope.named(name);
    match (found.next(), found.next()) {
        (Some(column), None) => Ok(column),
        (None, _) => Err(MysqlError::unknown_column(name, Clause::From.name())),
        (Some(_), Some(_)) => Err(MysqlError::ambiguous_column(name, Clause::From.name())),
    }
}

/// Binds USE, FORCE and IGNORE INDEX by purpose. Hints do not see invisible indexes. Error 1176 for an unknown index, 1221 for
/// USE together with FORCE.
fn index_hints(
    hints: &[IndexHint],
    table: &TableDef,
    alias: &str,
    use_invisible: bool,
) -> Result<IndexHints, MysqlError> {
    let mut bound = IndexHints::default();
    let unseen = |index: &IndexDef| index.invisible && !use_invisible;
    let has = |action| hints.iter().any(|h| h.action == action);
    if has(IndexHintAction::Use) && has(IndexHintAction::Force) {
        return Err(MysqlError::wrong_usage("USE INDEX", "FORCE INDEX"));
    }
    for hint in hints {
        let mut indexes = Vec::with_capacity(hint.indexes.len());
        for name in &hint.indexes {
            let position = table
                .indexes
                .iter()
                .position(|i| i.name.eq_ignore_ascii_case(&name.value) && !i.is_hidden() && !unseen(i));
            indexes.push(position.ok_or_else(|| MysqlError::key_does_not_exist(&name.value, alias))?);
        }
        let IndexHints { join, order_by, group_by } = &mut bound;
        let choices = match hint.scope {
            IndexHintScope::All => vec![join, order_by, group_by],
            IndexHintScope::Join => vec![join],
            IndexHintScope::OrderBy => vec![order_by],
            IndexHintScope::GroupBy => vec![group_by],
        };
        for choice in choices {
            apply_hint(choice, hint.action, &indexes);
        }
    }
    let positions = table.ordered_indexes().iter().enumerate().filter(|(_, index)| unseen(index));
    let unseen: Vec<usize> = positions.map(|(position, _)| position).collect();
    for choice in [&mut bound.join, &mut bound.order_by, &mut bound.group_by] {
        apply_hint(choice, IndexHintAction::Ignore, &unseen);
    }
    Ok(bound)
}

fn apply_hint(choice: &mut IndexChoice, action: IndexHintAction, indexes: &[usize]) {
    let add = |list: &mut Vec<usize>| {
        for &index in indexes {
            if !list.contains(&index) {
                list.push(index);
            }
        }
    };
    match action {
        IndexHintAction::Ignore => add(&mut choice.ignored),
        IndexHintAction::Use => add(choice.only.get_or_insert_default()),
        IndexHintAction::Force => {
            choice.forced = true;
            add(choice.only.get_or_insert_default());
        }
    }
}
