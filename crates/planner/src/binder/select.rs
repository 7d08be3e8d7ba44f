//! Binds a query block in MySQL's order of clauses: FROM, WHERE, the select list, GROUP BY, HAVING, ORDER BY, LIMIT.

use leafline_expr::{Expr, build, conjuncts};
use leafline_types::memory::server;
use leafline_types::{MysqlError, SqlType};

use super::match_against::order_by_score;
use super::numbering::{FIRST_AGGREGATE, FIRST_GROUPING, FIRST_WINDOW, Numbering};
use super::scope::{Block, Clause, Item, Scope, named_item, qualified};
use super::window_calls::has_window_function;
use super::{Binder, output, zero_dates};
use crate::bound::{BlockHints, BoundLimit, BoundOutput, BoundSelect, JoinTree, OrderKey};
use leafline_syntax::Privilege;
use leafline_syntax::ast::{self, ExprKind, Limit, Literal, OrderItem, Select, SelectItem, TableName};
use std::collections::HashSet;

/// Maximum length of a select list, and of a row of VALUES.
pub(super) const MAX_ITEMS: usize = 65_535;

/// Maximum length of a select list whose rows are sorted, grouped or read by another query, and maximum number of table columns
/// in any select list.
pub(super) const MAX_KEPT_ITEMS: usize = 4096;

impl Binder<'_> {
    /// Binds a SELECT with the ORDER BY and LIMIT that follow it.
    pub(super) fn select(
        &mut self,
        select: &Select,
        order_by: &[OrderItem],
        limit: Option<&Limit>,
    ) -> Result<BoundSelect, MysqlError> {
        if select.calc_found_rows && self.first_select != Some(select.span) {
            return Err(MysqlError::cannot_use_option_here("SQL_CALC_FOUND_ROWS"));
        }
        let mut block = Block::default();
        let (from, scope) = match self.from(&mut block, &select.from)? {
            Some((tree, scope)) => (Some(tree), scope),
            None => (None, Scope::default()),
        };
        let hints = self.hints(&mut block, &select.hints, select.number);
        let filter = self.conditions(&mut block, &scope, Clause::Where, select.filter.as_ref())?;
        if select.rollup.is_some() {
            block.roll_up();
        }
        self.window_clause(&mut block, &scope, &select.windows)?;
        self.select_list(&mut block, &scope, &select.items)?;
        self.group_by(&mut block, &scope, &select.group_by)?;
        let having = self.conditions(&mut block, &scope, Clause::Having, select.having.as_ref())?;
        let order_by = self.order_by(&mut block, &scope, order_by)?;
        let limit = limit.map(|l| self.limit(l)).transpose()?;
        let matches = std::mem::take(&mut block.matches);
        let mut bound = finished(block, from, filter, having, order_by, self.context.only_full_group_by)?;
        bound.straight_join = select.straight_join || hints.fixed_order;
        bound.hints = hints;
        bound.limit = limit;
        if select.distinct {
            bound.distinct = true;
            if self.context.only_full_group_by {
                check_distinct_order(&bound)?;
            }
        }
        if self.first_select == Some(select.span) || bound.limit.is_some() {
            order_by_score(&mut bound, &matches);
        }
        let keeps_rows = bound.distinct
            || !bound.order_by.is_empty()
            || bound.aggregation.is_some()
            || !bound.windows.is_empty();
        if keeps_rows && bound.output.len() > MAX_KEPT_ITEMS {
            return Err(MysqlError::too_many_columns());
        }
        Ok(bound)
    }

    /// Binds WHERE or HAVING.
    pub(super) fn conditions(
        &mut self,
        block: &mut Block,
        scope: &Scope,
        clause: Clause,
        condition: Option<&ast::Expr>,
    ) -> Result<Vec<Expr>, MysqlError> {
        match condition {
            Some(condition) => {
                let mut condition = self.expression(block, scope, clause, condition)?;
                if clause == Clause::Where {
                    zero_dates::found_as_null(block, &mut condition)?;
                }
                Ok(conjuncts(self.condition(condition)))
            }
            None => Ok(Vec::new()),
        }
    }

    fn select_list(
        &mut self,
        block: &mut Block,
        scope: &Scope,
        items: &[SelectItem],
    ) -> Result<(), MysqlError> {
        // Entries do not see each other, but their subqueries see earlier entries.
        block.aliases = items
            .iter()
            .filter_map(|item| match item {
                SelectItem::Expr { alias: Some(alias), .. } => Some(alias.value.clone()),
                _ => None,
            })
            .collect();
        for item in items {
            match item {
                SelectItem::Wildcard { table, span } => {
                    let mut spread_out = Vec::new();
                    wildcard(block, scope, table.as_ref(), &mut spread_out)?;
                    self.check_all_readable(block, &spread_out)?;
                    if let Some(kept) = &mut self.wildcards {
                        kept.push((*span, spread(block, &spread_out)));
                    }
                    block.items.extend(spread_out.into_iter().map(|item| {
                        let expr = self.padded(item.expr);
                        Item { expr, ..item }
                    }));
                }
                SelectItem::Expr { expr, alias, span } => {
                    let value = self.expression(block, scope, Clause::FieldList, expr)?;
                    let name = match alias {
                        Some(alias) => alias.value.clone(),
                        None => output::heading(expr, span.text(self.sql)),
                    };
                    server::push(&mut block.items, Item { expr: value, name, aliased: alias.is_some() })?;
                }
            }
        }
        block.aliases.clear();
        if block.items.len() > MAX_ITEMS || has_too_many_columns(&block.items) {
            return Err(MysqlError::too_many_columns());
        }
        Ok(())
    }

    /// Checks that the statement may read the columns that a wildcard stands for.
    ///
    /// # Errors
    /// 1142, which names no column: the account may not know of it.
    fn check_all_readable(&self, block: &Block, items: &[Item]) -> Result<(), MysqlError> {
        if block.relations.iter().all(|relation| relation.granted.has(Privilege::Select)) {
            return Ok(());
        }
        for id in items.iter().flat_map(|item| item.expr.columns()) {
            let relation = block.relation_of(id).and_then(|(at, _)| block.relations.get(at));
            if let Some(relation) = relation
                && self.check_readable(block, id).is_err()
            {
                return Err(self.context.access.table_denied(Privilege::Select.name(), relation.name()));
            }
        }
        Ok(())
    }

    fn group_by(&mut self, block: &mut Block, scope: &Scope, keys: &[ast::Expr]) -> Result<(), MysqlError> {
        let mut bound = Numbering::default();
        let mut names: Vec<String> = Vec::new();
        for (position, key) in keys.iter().enumerate() {
            let (mut expr, name) = self.group_key(block, scope, key)?;
            if block.rollup && bound.number(&expr).is_some() && !names.contains(&name) {
                expr = apart(&mut block.items, &name, expr)?;
            }
            names.push(name.clone());
            if has_window_function(&expr) {
                return Err(MysqlError::invalid_window_alias(name));
            }
            if expr.columns().iter().any(|&c| c >= FIRST_AGGREGATE) {
                return Err(MysqlError::cannot_group_on(name));
            }
            if expr.columns().iter().any(|&c| c >= FIRST_GROUPING) {
                return Err(MysqlError::invalid_group_function());
            }
            if bound.insert(expr).1 {
                block.group_positions.push(position);
            }
        }
        block.group_by = bound;
        block.group_keys_written = keys.len();
        Ok(())
    }

    /// Binds a key of GROUP BY (a position, a column, an alias, or an expression), and returns its name for errors.
    fn group_key(
        &mut self,
        block: &mut Block,
        scope: &Scope,
        key: &ast::Expr,
    ) -> Result<(Expr, String), MysqlError> {
        let text = key.span.text(self.sql).to_owned();
        if let Some(item) = position(&block.items, key, Clause::Group)? {
            return Ok((build::unpadded(item.expr.clone()), item.name.clone()));
        }
        if let ExprKind::Column(name) = &key.kind
            && name.table.is_none()
            && self.local(name).is_none()
            && let Some(item) = named_item(&block.items, &name.column.value, Clause::Group)?
        {
            // A column of FROM takes precedence over an alias of the select list; MySQL warns when they differ. Where several
            // columns of FROM have the name, the select list decides.
            let column = block.find(scope, Clause::Group, name).ok().flatten().map(|id| block.reference(id));
            return Ok(match column {
                Some(column) => {
                    let shown = build::unpadded(item.expr.clone());
                    if column != shown {
                        self.warnings
                            .push(MysqlError::ambiguous_column(qualified(name), Clause::Group.name()));
                    }
                    (column, text)
                }
                None => (build::unpadded(item.expr.clone()), item.name.clone()),
            });
        }
        Ok((build::unpadded(self.expression(block, scope, Clause::Group, key)?), text))
    }

    pub(super) fn order_by(
        &mut self,
        block: &mut Block,
        scope: &Scope,
        items: &[OrderItem],
    ) -> Result<Vec<OrderKey>, MysqlError> {
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            let expr = self.order_key(block, scope, &item.expr)?;
            // A constant does not order anything.
            if !expr.is_constant() {
                keys.push(OrderKey { expr, descending: item.descending });
            }
        }
        Ok(keys)
    }

    /// Binds a key of ORDER BY: a position, a name of the select list, else an expression over the tables.
    fn order_key(&mut self, block: &mut Block, scope: &Scope, key: &ast::Expr) -> Result<Expr, MysqlError> {
        if let Some(item) = position(&block.items, key, Clause::Order)? {
            return Ok(item.expr.clone());
        }
        if let ExprKind::Column(name) = &key.kind
            && name.table.is_none()
            && self.local(name).is_none()
            && let Some(item) = named_item(&block.items, &name.column.value, Clause::Order)?
        {
            return Ok(item.expr.clone());
        }
        self.expression(block, scope, Clause::Order, key)
    }

    pub(super) fn limit(&mut self, limit: &Limit) -> Result<BoundLimit, MysqlError> {
        let offset = limit.offset.as_ref().map(|e| self.limit_value(e)).transpose()?;
        Ok(BoundLimit { offset, count: self.limit_value(&limit.count)? })
    }

    /// Binds an integer, or a parameter, which becomes an integer with its value.
    pub(super) fn limit_value(&mut self, value: &ast::Expr) -> Result<Expr, MysqlError> {
        match &value.kind {
            ExprKind::Parameter(number) => {
                let ty = leafline_types::ExprType::numeric(SqlType::BIGINT_UNSIGNED, false);
                Ok(build::parameter(*number, ty))
            }
            ExprKind::Literal(Literal::Integer(count)) => {
                Ok(build::literal(leafline_types::Value::UInt(*count)))
            }
            ExprKind::Column(name) => match self.local(name) {
                Some(local) if local.ty.sql.is_integer() => Ok(local),
                Some(_) => Err(MysqlError::limit_variable_not_integer()),
                None => Err(MysqlError::undeclared_variable(&name.column.value)),
            },
            _ => Err(MysqlError::wrong_arguments("LIMIT")),
        }
    }
}

/// Separates a key of GROUP BY with ROLLUP that equals an earlier key but is another entry of the select list. Groups omit the
/// key by its own position, and also that entry (`a, a AS c .. GROUP BY a, c`). Entry and key become an expression that equals no
/// other.
fn apart(items: &mut [Item], name: &str, key: Expr) -> Result<Expr, MysqlError> {
    let named = |item: &&mut Item| item.name == name && build::unpadded(item.expr.clone()) == key;
    let Some(item) = items.iter_mut().find(named) else { return Ok(key) };
    let own = build::call("ANY_VALUE", vec![key])?;
    item.expr = own.clone();
    Ok(own)
}

/// Returns the column list that could be written in place of `*`.
fn spread(block: &Block, items: &[Item]) -> String {
    let quoted = leafline_syntax::quoted;
    let text = |item: &Item| {
        let origin = match item.expr.kind {
            leafline_expr::ExprKind::Column(id) => block.columns.get(id).map(|column| column.origin),
            _ => None,
        };
        let relation = match origin {
            Some(crate::bound::ColumnOrigin::Relation { relation, .. }) => block.relations.get(relation),
            _ => None,
        };
        match relation {
            Some(relation) => format!("{}.{}", quoted(&relation.alias), quoted(&item.name)),
            None => quoted(&item.name),
        }
    };
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Expands `*` and `t.*`.
fn wildcard(
    block: &Block,
    scope: &Scope,
    table: Option<&TableName>,
    items: &mut Vec<Item>,
) -> Result<(), MysqlError> {
    let item = |id: usize| Item {
        expr: block.reference(id),
        name: block.names.get(id).cloned().unwrap_or_default(),
        aliased: false,
    };
    let Some(table) = table else {
        if scope.relations.is_empty() {
            return Err(MysqlError::no_tables_used());
        }
        items.extend(scope.columns.iter().filter(|c| block.is_visible(c.id)).map(|c| item(c.id)));
        return Ok(());
    };
    let relation = scope.relations.iter().filter_map(|&r| block.relations.get(r)).find(|r| {
        r.alias == table.name.value && table.database.as_ref().is_none_or(|d| d.value == r.database)
    });
    let Some(relation) = relation else {
        let name = match &table.database {
            Some(database) => format!("{}.{}", database.value, table.name.value),
            None => table.name.value.clone(),
        };
        return Err(MysqlError::unknown_table(name));
    };
    items.extend(relation.columns.clone().filter(|id| block.is_visible(*id)).map(item));
    Ok(())
}

/// Returns the entry of the select list at the position given by a bare integer; `None` for other expressions.
fn position<'i>(items: &'i [Item], key: &ast::Expr, clause: Clause) -> Result<Option<&'i Item>, MysqlError> {
    let ExprKind::Literal(Literal::Integer(place)) = &key.kind else { return Ok(None) };
    let item = usize::try_from(*place).ok().and_then(|n| n.checked_sub(1)).and_then(|n| items.get(n));
    match item {
        Some(item) => Ok(Some(item)),
        None => Err(MysqlError::unknown_column(place, clause.name())),
    }
}

/// Whether a select list names more table columns than a row can have.
fn has_too_many_columns(items: &[Item]) -> bool {
    items.len() > MAX_KEPT_ITEMS && {
        let columns: HashSet<usize> = items.iter().flat_map(|item| item.expr.columns()).collect();
        columns.len() > MAX_KEPT_ITEMS
    }
}

/// Returns the block with its aggregates numbered and its outputs described.
pub(super) fn finished(
    mut block: Block,
    from: Option<JoinTree>,
    filter: Vec<Expr>,
    mut having: Vec<Expr>,
    mut order_by: Vec<OrderKey>,
    only_full_group_by: bool,
) -> Result<BoundSelect, MysqlError> {
    let metas: Vec<_> = block.items.iter().map(|item| output::meta(&block, item)).collect();
    let aggregation = super::grouping::aggregate(
        &mut block,
        from.as_ref(),
        &filter,
        &mut having,
        &mut order_by,
        only_full_group_by,
    )?;
    let (windows, numbers) = super::window::numbered(&mut block);
    if !windows.is_empty() {
        let renumber = |expr: &mut Expr| {
            *expr = expr.map_columns(&mut |column| match column.checked_sub(FIRST_WINDOW) {
                Some(position) => numbers[position],
                None => column,
            });
        };
        block.items.iter_mut().for_each(|item| renumber(&mut item.expr));
        order_by.iter_mut().for_each(|key| renumber(&mut key.expr));
    }
    let Block { relations, columns, items, joined, .. } = block;
    let output =
        items.into_iter().zip(metas).map(|(item, meta)| BoundOutput { expr: item.expr, meta }).collect();
    Ok(BoundSelect {
        relations,
        columns,
        from,
        straight_join: false,
        hints: BlockHints::default(),
        filter,
        aggregation,
        having,
        windows,
        output,
        distinct: false,
        order_by,
        limit: None,
        joined,
    })
}

/// Checks for error 3065: with DISTINCT, rows can only be ordered by selected expressions.
fn check_distinct_order(bound: &BoundSelect) -> Result<(), MysqlError> {
    for (position, key) in bound.order_by.iter().enumerate() {
        let Err(missing) = bound.over_outputs(&key.expr) else { continue };
        let name = output::column_text(bound, missing);
        return Err(MysqlError::order_by_not_in_select(position + 1, "ORDER BY clause", name, "DISTINCT"));
    }
    Ok(())
}
