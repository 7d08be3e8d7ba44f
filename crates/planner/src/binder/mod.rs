//! From a syntax tree to a bound statement: names looked up, types and collations derived, `*` spread out,
//! aggregates taken out of expressions, result columns described.
//!
//! Meaning is decided here, once, by MySQL's rules; errors carry MySQL's numbers. What the grammar accepts and
//! the engine cannot do yet is refused here with error 1235, never given another meaning.
//!
//! | module | binds |
//! |---|---|
//! | `scope` | names of columns to numbers |
//! | `from` | FROM: relations, the join tree, USING, index hints |
//! | `expression`, `function`, `literal`, `cast` | expressions |
//! | `select` | a query block, in MySQL's order of clauses |
//! | `set_operation`, `common_table` | UNION and its like, VALUES, WITH |
//! | `subquery` | subqueries in expressions, and names that stand for columns of the queries around them |
//! | `locking` | FOR UPDATE, FOR SHARE |
//! | `view` | views |
//! | `row` | comparisons of rows |
//! | `grouping` | aggregates, group keys and ONLY_FULL_GROUP_BY |
//! | `numbering` | expressions that are looked up by what they are |
//! | `dependency` | which columns the group keys determine |
//! | `window` | window functions and the WINDOW clause |
//! | `output` | names and metadata of result columns |
//! | `insert`, `insert_target` | INSERT, REPLACE |
//! | `load` | LOAD DATA |
//! | `dml` | UPDATE, DELETE |
//! | `view_changes` | changes through views |
//! | `target_read` | subqueries that read what their statement changes |
//! | `foreign_keys` | what foreign keys ask of changes |
//! | `row_rules` | expressions of a table's definition |
//! | `data_type`, `table_spec`, `selected`, `alter` | column types and tables of DDL |
//! | `functional_key` | key parts that are expressions |
//! | `partition` | PARTITION BY |

mod alter;
mod cast;
mod common_table;
mod data_type;
pub mod dependency;
mod dml;
mod expression;
mod foreign_keys;
mod from;
mod function;
mod functional_key;
mod grouping;
mod hint;
mod insert;
mod insert_target;
mod json_table;
mod literal;
mod load;
mod locking;
mod numbering;
mod output;
pub mod partition;
mod row;
mod row_rules;
mod scope;
mod select;
mod selected;
mod set_operation;
mod subquery;
mod table_spec;
mod target_read;
#[cfg(test)]
pub(crate) mod tests;
mod view;
mod view_changes;
mod window;
mod window_calls;
mod zero_dates;

use locking::lock;
use scope::Block;
use std::collections::HashMap;
use std::mem::take;
use std::sync::Arc;

use leafline_expr::{Expr, build};
use leafline_table::{ForeignKeyDef, TableDef, ViewDef};
use leafline_types::temporal::DateRules;
use leafline_types::{CancelToken, Collation, ExprType, MysqlError, SqlType, Value};

use crate::SystemRows;
use crate::authority::Authority;
use crate::bound::{
    BlockColumn, BoundExpression, BoundKind, BoundSelect, BoundStatement, BoundSubquery, ColumnOrigin,
};
use leafline_syntax::ast::{Hint, Query, Span, Statement, StatementKind, TableName, VariableScope};
use leafline_syntax::{Privilege, Privileges};

pub use alter::{AlterWork, AlteredTable, altered_table};
pub use data_type::{ColumnType, TypeRules, column_type, table_collation};
pub use functional_key::add_key_columns;
pub use literal::constant_value;
pub use row_rules::{check_expressions, row_rules};
pub use selected::selected_columns;
pub use table_spec::table_spec;
pub use table_spec::{check_owners, index_spec};
pub use view::{is_updatable_view, view_columns, view_def, view_faults, view_sources, view_statement};
pub use window::is_no_distance;

/// Where the binder finds tables.
pub trait CatalogLookup {
    /// The table of that name.
    ///
    /// # Errors
    /// 1049 for an unknown database, 1146 for an unknown table.
    fn table(&self, database: &str, name: &str) -> Result<Arc<TableDef>, MysqlError>;
    /// The table of that name that only the session knows. It comes before others, and before views.
    fn own_table(&self, _database: &str, _name: &str) -> Option<Arc<TableDef>> {
        None
    }
    /// The view of that name.
    fn view(&self, _database: &str, _name: &str) -> Option<Arc<ViewDef>> {
        None
    }
    /// The table of that name that is no stored one.
    fn schema_table(&self, _database: &str, _name: &str) -> Result<Option<SystemRows>, MysqlError> {
        Ok(None)
    }
    /// The foreign keys that refer to the table of that name, each with the table that has it.
    fn references(&self, _database: &str, _name: &str) -> Vec<(Arc<TableDef>, ForeignKeyDef)> {
        Vec::new()
    }
}

/// Where the binder finds variables. A statement that reads any is bound anew for each execution.
pub trait VariableLookup {
    /// The value of `@name`; NULL when it was never set.
    fn user(&self, name: &str) -> Value;
    /// The collation of `@name`, if it is text and has one of its own.
    fn user_collation(&self, _name: &str) -> Option<Collation> {
        None
    }
    /// The value of `@@name`.
    ///
    /// # Errors
    /// 1193 for an unknown variable, 1238 for one that does not have that scope.
    fn system(&self, scope: Option<VariableScope>, name: &str) -> Result<Value, MysqlError>;
}

/// The flags of `sql_mode` that change what expressions mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BindModes {
    /// NO_BACKSLASH_ESCAPES: LIKE has no escape character of its own.
    pub no_backslash_escapes: bool,
    /// NO_UNSIGNED_SUBTRACTION: a difference of integers is signed.
    pub signed_differences: bool,
    /// PAD_CHAR_TO_FULL_LENGTH: values of CHAR columns are read with their trailing spaces.
    pub padded_chars: bool,
}

/// What binding depends on besides the statement.
pub struct BindContext<'a> {
    /// The tables.
    pub catalog: &'a dyn CatalogLookup,
    /// The variables.
    pub variables: &'a dyn VariableLookup,
    /// The session's database.
    pub database: Option<&'a str>,
    /// The connection's collation: that of string literals.
    pub collation: Collation,
    /// ONLY_FULL_GROUP_BY in `sql_mode`.
    pub only_full_group_by: bool,
    /// Flags of `sql_mode`.
    pub modes: BindModes,
    /// Which dates `sql_mode` takes though they are no days.
    pub dates: DateRules,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// `derived_merge` in `optimizer_switch`.
    pub derived_merge: bool,
    /// `use_invisible_indexes` in `optimizer_switch`.
    pub use_invisible_indexes: bool,
    /// `default_week_format`: the mode of WEEK without one.
    pub default_week_format: u8,
    /// `group_concat_max_len`: bytes.
    pub group_concat_max_len: u64,
    /// The statement assigns variables in its expressions: those it reads are read as it goes on.
    pub assigns_variables: bool,
    /// The types of the parameters' values, at execution; empty at PREPARE, when they are not known yet and each
    /// parameter counts as a string.
    pub parameter_types: &'a [ExprType],
    /// The parameters' values, where they are known; plans are made for them only where they must be.
    pub parameters: &'a [Value],
    /// Who wants the statement to stop.
    pub cancel: &'a CancelToken,
    /// Hints for blocks that they name.
    pub hints: &'a [Hint],
    /// What may be done with the tables.
    pub access: &'a dyn Authority,
}

/// Binds SELECT, INSERT, UPDATE and DELETE; `sql` is the text that was parsed.
///
/// # Errors
/// What MySQL finds wrong with names, types and grouping; 1235 for what is not supported; 1815 for another kind of
/// statement, which is no user's fault.
pub fn bind(
    statement: &Statement,
    sql: &str,
    context: &BindContext<'_>,
) -> Result<BoundStatement, MysqlError> {
    bind_kind(&statement.kind, statement.parameters, sql, context)
}

/// Binds a statement that stands inside another, as EXPLAIN's does.
///
/// # Errors
/// As [`bind`].
pub fn bind_kind(
    kind: &StatementKind,
    parameters: usize,
    sql: &str,
    context: &BindContext<'_>,
) -> Result<BoundStatement, MysqlError> {
    let mut scales = HashMap::new();
    for _ in 0..SCALE_ROUNDS {
        let mut binder = Binder::new(sql, context);
        binder.variable_scales = scales;
        let bound = bound_by(&mut binder, kind, parameters)?;
        if !binder.scales_grew {
            return Ok(bound);
        }
        scales = binder.variable_scales;
    }
    let mut binder = Binder::new(sql, context);
    binder.variable_scales = scales;
    bound_by(&mut binder, kind, parameters)
}

/// How often a statement is bound again because it assigns decimals with more digits behind the point than it was taken to: each round adds
/// those of a product or quotient.
const SCALE_ROUNDS: usize = 3;

fn bound_by(
    binder: &mut Binder<'_>,
    kind: &StatementKind,
    parameters: usize,
) -> Result<BoundStatement, MysqlError> {
    let kind = match kind {
        StatementKind::Query(query) | StatementKind::SelectInto { query, .. } => {
            binder.first_select = query.first_select().map(|select| select.span);
            BoundKind::Select(Box::new(binder.query(query)?))
        }
        StatementKind::Insert(insert) => BoundKind::Insert(Box::new(binder.insert(insert)?)),
        StatementKind::Load(load) => BoundKind::Insert(Box::new(binder.load(load)?)),
        StatementKind::Update(update) => BoundKind::Update(Box::new(
            binder.query_with_names(update.with.as_ref(), |binder| binder.update(update))?,
        )),
        StatementKind::Delete(delete) => BoundKind::Delete(Box::new(
            binder.query_with_names(delete.with.as_ref(), |binder| binder.delete(delete))?,
        )),
        _ => return Err(MysqlError::internal("only SELECT, INSERT, UPDATE and DELETE are bound")),
    };
    binder.unresolved_hints();
    Ok(BoundStatement {
        kind,
        parameters,
        warnings: take(&mut binder.warnings),
        reads_variables: binder.reads_variables || binder.reads_schema_tables,
        beside_times: take(&mut binder.beside_times),
        beside_numbers: take(&mut binder.beside_numbers),
        subqueries: take(&mut binder.subqueries),
        views: take(&mut binder.views),
    })
}

/// Binds an expression that stands alone, without tables: SET, DO, KILL, EXECUTE.
///
/// # Errors
/// 1054 for a column; else as [`bind`].
pub fn bind_scalar(
    expr: &leafline_syntax::ast::Expr,
    sql: &str,
    context: &BindContext<'_>,
) -> Result<BoundExpression, MysqlError> {
    let mut binder = Binder::new(sql, context);
    // No rows, no aggregates.
    let mut block = Block { in_aggregate: true, ..Block::default() };
    let expr = binder.expression(&mut block, &scope::Scope::default(), scope::Clause::FieldList, expr)?;
    Ok(BoundExpression { expr, subqueries: binder.subqueries })
}

/// Binds a condition over rows that a statement has made itself: WHERE of SHOW. Column `i` of the rows is named and typed by
/// `columns[i]`.
///
/// # Errors
/// 1054 for another column; else as [`bind`].
pub fn bind_over_columns(
    condition: &leafline_syntax::ast::Expr,
    sql: &str,
    context: &BindContext<'_>,
    columns: &[(&str, ExprType)],
) -> Result<BoundExpression, MysqlError> {
    let mut binder = Binder::new(sql, context);
    let mut block = Block::default();
    let mut seen = scope::Scope::default();
    for (id, (name, ty)) in columns.iter().enumerate() {
        block.columns.push(BlockColumn {
            origin: ColumnOrigin::Relation { relation: 0, ordinal: id },
            ty: ty.clone(),
        });
        block.names.push((*name).to_owned());
        seen.columns.push(scope::Visible { id, name: (*name).to_owned() });
    }
    let expr = binder.expression(&mut block, &seen, scope::Clause::Where, condition)?;
    Ok(BoundExpression { expr, subqueries: binder.subqueries })
}

/// Binds a condition over the rows of a table that is called `alias`: WHERE of HANDLER. Column `i` of the rows is column `i` of the table.
///
/// # Errors
/// 1054 for another column; else as [`bind`].
pub fn bind_over_table(
    condition: &leafline_syntax::ast::Expr,
    sql: &str,
    context: &BindContext<'_>,
    reference: &leafline_syntax::ast::TableReference,
) -> Result<BoundExpression, MysqlError> {
    let mut binder = Binder::new(sql, context);
    let mut block = Block::default();
    let (_, seen) = binder.reference(&mut block, reference)?;
    let expr = binder.expression(&mut block, &seen, scope::Clause::Where, condition)?;
    Ok(BoundExpression { expr, subqueries: binder.subqueries })
}

/// The state of binding one statement.
struct Binder<'a> {
    sql: &'a str,
    context: &'a BindContext<'a>,
    warnings: Vec<MysqlError>,
    reads_variables: bool,
    /// It reads tables of information_schema, whose rows are others the next time.
    reads_schema_tables: bool,
    beside_times: Vec<(usize, SqlType)>,
    beside_numbers: Vec<usize>,
    assigns_variables: bool,
    /// The digits behind the point that the statement assigns to variables, by their names in lower case.
    variable_scales: HashMap<String, u8>,
    /// The collations of texts that the statement has assigned to variables so far: what is written after reads them with these.
    variable_collations: HashMap<String, Collation>,
    /// There are more of them than names that were bound before were taken to have.
    scales_grew: bool,
    /// The variables among the fields of a LOAD DATA, with the columns that stand for them and their type.
    row_variables: Vec<(String, usize, ExprType)>,
    /// The queries around the one that is bound, outermost first.
    enclosing: Vec<subquery::Enclosing>,
    /// The subqueries bound so far.
    subqueries: Vec<BoundSubquery>,
    /// How many calls of volatile functions were bound so far.
    volatile_calls: usize,
    /// The names of WITH that can be seen, the nearest last.
    commons: Vec<common_table::CommonName>,
    /// The number of the next query of WITH.
    next_common: usize,
    /// How many names stood for columns of queries around.
    outer_references: usize,
    /// How many queries the one that is bound stands in, itself included.
    query_depth: usize,
    /// The depth of the deepest so far, with the depth of what stands for each name of WITH.
    deepest: usize,
    /// The views in one another that the query belongs to, by database and name.
    views_around: Vec<(String, String)>,
    /// All views that were named.
    views: Vec<(String, String)>,
    /// How many tables views stand for, by `Binder::expands`.
    expanded: usize,
    /// The names that blocks have for hints.
    blocks_named: Vec<String>,
    /// Where the SELECT stands that the statement begins with.
    first_select: Option<Span>,
    /// What `*` stands for, by place, if that is to be kept.
    wildcards: Option<Vec<(Span, String)>>,
    /// What the statement does with the tables of the FROM at hand, besides reading them.
    changes: Privileges,
    /// It does so with some of them, and reads the others; which ones is known later.
    changes_some: bool,
    /// The arguments of an aggregate are bound that belongs to a query around it: they may take all columns of that query's FROM.
    aggregates_outer: bool,
}

impl<'a> Binder<'a> {
    fn new(sql: &'a str, context: &'a BindContext<'a>) -> Self {
        let assigns_variables = context.assigns_variables;
        Binder {
            sql,
            context,
            warnings: Vec::new(),
            reads_variables: false,
            reads_schema_tables: false,
            beside_times: Vec::new(),
            beside_numbers: Vec::new(),
            assigns_variables,
            variable_scales: HashMap::new(),
            variable_collations: HashMap::new(),
            scales_grew: false,
            row_variables: Vec::new(),
            enclosing: Vec::new(),
            subqueries: Vec::new(),
            volatile_calls: 0,
            commons: Vec::new(),
            next_common: 0,
            outer_references: 0,
            query_depth: 0,
            deepest: 0,
            views_around: Vec::new(),
            views: Vec::new(),
            expanded: 0,
            blocks_named: Vec::new(),
            first_select: None,
            wildcards: None,
            changes: Privileges::NONE,
            changes_some: false,
            aggregates_outer: false,
        }
    }

    fn query(&mut self, query: &Query) -> Result<BoundSelect, MysqlError> {
        use leafline_syntax::ast::QueryBody;
        // What it is a part of may change tables: it reads them.
        let changes = take(&mut self.changes);
        let bound = self.query_with_names(query.with.as_ref(), |binder| {
            let mut bound = match &query.body {
                QueryBody::Select(select) => binder.select(select, &query.order_by, query.limit.as_ref()),
                QueryBody::SetOperation { .. } | QueryBody::Parenthesised(_) => binder.set_operation(query),
                QueryBody::Values(rows) => binder.values(query, rows),
            }?;
            lock(&mut bound, &query.locking, binder.context.access)?;
            Ok(bound)
        });
        self.changes = changes;
        bound
    }

    /// Takes note of what is assigned to a variable.
    fn assigns(&mut self, name: &str, value: &Expr) {
        if value.ty.sql.is_character() {
            self.variable_collations.insert(name.to_lowercase(), value.ty.collation);
        }
        let SqlType::Decimal { scale, .. } = value.ty.sql else { return };
        let known = self.variable_scales.entry(name.to_lowercase()).or_default();
        if scale > *known {
            *known = scale;
            self.scales_grew = true;
        }
    }

    fn scale_of_variable(&self, name: &str) -> u8 {
        self.variable_scales.get(&name.to_lowercase()).copied().unwrap_or_default()
    }

    /// A column of a block, if it may be read.
    ///
    /// # Errors
    /// 1143.
    fn readable(&self, block: &Block, expr: Expr) -> Result<Expr, MysqlError> {
        let relation = expr.as_column().and_then(|id| Some((id, block.relation_of(id)?.0)));
        if let Some((id, relation)) = relation.and_then(|(id, at)| Some((id, block.relations.get(at)?)))
            && !relation.granted.has(Privilege::Select)
        {
            let name = block.names.get(id).map_or("", String::as_str);
            return Err(self.context.access.column_denied(name, relation.name()));
        }
        Ok(expr)
    }

    /// The value of a CHAR column with its trailing spaces, under PAD_CHAR_TO_FULL_LENGTH. Comparisons and GROUP BY leave them out,
    /// so that they find the same rows with and without an index.
    fn padded(&self, expr: Expr) -> Expr {
        if self.context.modes.padded_chars { build::padded(expr) } else { expr }
    }

    /// What is asked for its truth: warning 3986 if it is a document, which is compared with 0.
    fn condition(&mut self, condition: Expr) -> Expr {
        if condition.ty.sql == SqlType::Json {
            self.warnings.push(MysqlError::implicit_comparison_for_json());
        }
        condition
    }

    /// What may be done with the table or view of a name; everything with one of the session's own.
    ///
    /// # Errors
    /// 1142 if neither all of `wanted` may be, nor, where the statement changes it, that; 1046 without a database.
    fn granted(&self, name: &TableName, wanted: impl Into<Privileges>) -> Result<Privileges, MysqlError> {
        let (database, name) = (self.database_of(name)?, &name.name.value);
        if self.own_table(database, name).is_some() {
            return Ok(Privileges::EVERYTHING);
        }
        let (access, wanted) = (self.context.access, wanted.into());
        let granted = access.on_table(database, name);
        if granted.has_all(wanted) || (!self.changes.is_empty() && granted.has_all(self.changes)) {
            return Ok(granted);
        }
        let reads = self.changes.is_empty() || self.changes_some;
        let missing = if reads { wanted - granted } else { self.changes };
        Err(access.table_denied(&missing.to_string(), name))
    }

    /// The table of that name; 1046 without a database. What may be done with it was asked.
    fn table(&self, name: &TableName) -> Result<Arc<TableDef>, MysqlError> {
        let (database, name) = (self.database_of(name)?, &name.name.value);
        let table = match self.own_table(database, name) {
            Some(table) => table,
            None => self.context.catalog.table(database, name)?,
        };
        partition::bind_partition_function(&table, self.context)?;
        Ok(table)
    }

    /// The session's own table of that name, unless it is a view that names it: it means the same in every session.
    fn own_table(&self, database: &str, name: &str) -> Option<Arc<TableDef>> {
        self.views_around.is_empty().then(|| self.context.catalog.own_table(database, name)).flatten()
    }

    /// The view of that name; `None` if a table hides it.
    fn view_named(&self, name: &TableName) -> Result<Option<Arc<ViewDef>>, MysqlError> {
        let (database, name) = (self.database_of(name)?, &name.name.value);
        let view = self.context.catalog.view(database, name);
        Ok(view.filter(|_| self.own_table(database, name).is_none()))
    }

    /// The database that a name belongs to.
    fn database_of<'n>(&'n self, name: &'n TableName) -> Result<&'n str, MysqlError> {
        match &name.database {
            Some(database) => Ok(database.value.as_str()),
            None => self.context.database.ok_or_else(MysqlError::no_database_selected),
        }
    }
}
