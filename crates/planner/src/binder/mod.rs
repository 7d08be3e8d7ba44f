//! Turns a syntax tree into a bound statement: looks up names, derives types and collations, expands `*`, takes aggregates out of
//! expressions, describes result columns.
//!
//! The binder decides the meaning of a statement, once, by MySQL's rules; errors carry MySQL's numbers. A construct that the
//! grammar accepts and the engine cannot execute is refused here with error 1235, never given another meaning.
//!
//! | module | binds |
//! |---|---|
//! | `scope` | names of columns to numbers |
//! | `from` | FROM: relations, the join tree, USING, index hints |
//! | `expression`, `function`, `literal`, `cast` | expressions |
//! | `select` | a query block, in MySQL's order of clauses |
//! | `set_operation`, `common_table` | UNION, INTERSECT, EXCEPT, VALUES, WITH |
//! | `subquery` | subqueries in expressions, and names of columns of surrounding queries |
//! | `locking` | FOR UPDATE, FOR SHARE |
//! | `view` | views |
//! | `row` | comparisons of rows |
//! | `grouping` | aggregates, group keys and ONLY_FULL_GROUP_BY |
//! | `numbering` | numbers of equal expressions, found by hash |
//! | `dependency` | columns that the group keys determine |
//! | `window` | window functions and the WINDOW clause |
//! | `output` | names and metadata of result columns |
//! | `insert`, `insert_target` | INSERT, REPLACE |
//! | `load` | LOAD DATA |
//! | `dml` | UPDATE, DELETE |
//! | `view_changes` | changes through views |
//! | `target_read` | subqueries that read the table which their statement changes |
//! | `foreign_keys` | foreign keys that changes must satisfy |
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
mod match_against;
mod numbering;
mod output;
pub mod partition;
mod row;
mod row_rules;
mod scope;
mod select;
mod selected;
mod set_operation;
mod stored_function;
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
use crate::authority::{Authority, TableRights};
use crate::bound::{
    BlockColumn, BoundExpression, BoundKind, BoundSelect, BoundStatement, BoundSubquery, ColumnId,
    ColumnOrigin,
};
use leafline_syntax::ast::{
    ColumnName, Hint, Query, Span, Statement, StatementKind, TableName, VariableScope,
};
use leafline_syntax::{Privilege, Privileges};

pub use alter::{AlterWork, AlteredTable, altered_table};
pub use data_type::{ColumnType, TypeRules, column_type, table_collation};
pub use functional_key::add_key_columns;
pub use literal::constant_value;
pub use row_rules::{check_expressions, row_rules};
pub use selected::selected_columns;
pub use stored_function::StoredFunction;
pub use table_spec::table_spec;
pub use table_spec::{check_owners, index_spec};
pub use view::{is_updatable_view, view_columns, view_def, view_faults, view_sources, view_statement};
pub use window::is_no_distance;

/// Finds the tables and views of a database.
pub trait CatalogLookup {
    /// Returns the table of that name.
    ///
    /// # Errors
    /// 1049 for an unknown database, 1146 for an unknown table.
    fn table(&self, database: &str, name: &str) -> Result<Arc<TableDef>, MysqlError>;
    /// Returns the session's own table of that name, which hides other tables and views.
    fn own_table(&self, _database: &str, _name: &str) -> Option<Arc<TableDef>> {
        None
    }
    /// Returns the view of that name.
    fn view(&self, _database: &str, _name: &str) -> Option<Arc<ViewDef>> {
        None
    }
    /// Returns the unstored table of that name.
    fn schema_table(&self, _database: &str, _name: &str) -> Result<Option<SystemRows>, MysqlError> {
        Ok(None)
    }
    /// Returns the stored function of that name.
    ///
    /// # Errors
    /// Errors of its text.
    fn stored_function(&self, _database: &str, _name: &str) -> Result<Option<StoredFunction>, MysqlError> {
        Ok(None)
    }
    /// Returns whether changes of the table's rows fire triggers.
    fn has_triggers(&self, _table: &TableDef) -> bool {
        false
    }
    /// Returns the foreign keys that refer to the table of that name, each with the table that has it.
    fn references(&self, _database: &str, _name: &str) -> Vec<(Arc<TableDef>, ForeignKeyDef)> {
        Vec::new()
    }
}

/// Finds variables. A statement that reads any is bound anew for each execution.
pub trait VariableLookup {
    /// Returns the value of `@name`; NULL if it was never set.
    fn user(&self, name: &str) -> Value;
    /// Returns the collation of `@name`, if it is text with a collation of its own.
    fn user_collation(&self, _name: &str) -> Option<Collation> {
        None
    }
    /// Returns the value of `@@name`.
    ///
    /// # Errors
    /// 1193 for an unknown variable, 1238 for a variable without that scope.
    fn system(&self, scope: Option<VariableScope>, name: &str) -> Result<Value, MysqlError>;
}

/// Finds the variables of the stored program that a statement belongs to.
pub trait LocalLookup {
    /// Returns the number of the parameter that stands for a name; `table` is the part before the point, such as the `NEW` of
    /// a trigger. `None` if the program has no such variable.
    fn local(&self, table: Option<&str>, name: &str) -> Option<usize>;
}

/// Flags of `sql_mode` that change the meaning of expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BindModes {
    /// NO_BACKSLASH_ESCAPES: LIKE has no default escape character.
    pub no_backslash_escapes: bool,
    /// NO_UNSIGNED_SUBTRACTION: a difference of integers is signed.
    pub signed_differences: bool,
    /// PAD_CHAR_TO_FULL_LENGTH: reads of CHAR columns keep trailing spaces.
    pub padded_chars: bool,
}

/// The context of binding: everything besides the statement that it depends on.
pub struct BindContext<'a> {
    /// The tables.
    pub catalog: &'a dyn CatalogLookup,
    /// The variables.
    pub variables: &'a dyn VariableLookup,
    /// The session's database.
    pub database: Option<&'a str>,
    /// The connection's collation, which string literals have.
    pub collation: Collation,
    /// ONLY_FULL_GROUP_BY in `sql_mode`.
    pub only_full_group_by: bool,
    /// Flags of `sql_mode`.
    pub modes: BindModes,
    /// The invalid dates that `sql_mode` accepts.
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
    /// The statement assigns variables in its expressions: reads of them happen during execution.
    pub assigns_variables: bool,
    /// The types of the parameters' values at execution; empty at PREPARE, when they are unknown and each parameter counts as a
    /// string.
    pub parameter_types: &'a [ExprType],
    /// The parameters' values, where they are known. A plan depends on them only where it must.
    pub parameters: &'a [Value],
    /// The variables of the stored program around the statement: parameters with the types in `parameter_types`.
    pub locals: Option<&'a dyn LocalLookup>,
    /// Stops the statement when it is cancelled.
    pub cancel: &'a CancelToken,
    /// Hints for blocks by name.
    pub hints: &'a [Hint],
    /// The rights of the statement.
    pub access: &'a dyn Authority,
}

/// Binds SELECT, INSERT, UPDATE and DELETE; `sql` is the text that was parsed.
///
/// # Errors
/// MySQL's errors for names, types and grouping; 1235 for unsupported constructs; 1815 for another kind of statement, which is no
/// user's fault.
pub fn bind(
    statement: &Statement,
    sql: &str,
    context: &BindContext<'_>,
) -> Result<BoundStatement, MysqlError> {
    bind_kind(&statement.kind, statement.parameters, sql, context)
}

/// Binds a statement inside another, such as the statement of EXPLAIN.
///
/// # Errors
/// The errors of [`bind`].
pub fn bind_kind(
    kind: &StatementKind,
    parameters: usize,
    sql: &str,
    context: &BindContext<'_>,
) -> Result<BoundStatement, MysqlError> {
    let mut scales = HashMap::new();
    for _ in 0..SCALE_ROUNDS {
        let mut binder = Binder::of_statement(sql, context);
        binder.variable_scales = scales;
        let bound = bound_by(&mut binder, kind, parameters)?;
        if !binder.scales_grew {
            return Ok(bound);
        }
        scales = binder.variable_scales;
    }
    let mut binder = Binder::of_statement(sql, context);
    binder.variable_scales = scales;
    bound_by(&mut binder, kind, parameters)
}

/// Maximum number of times that a statement is bound again because it assigns decimals with more fractional digits than assumed:
/// each round adds the digits of a product or quotient.
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
        compared_with_times: take(&mut binder.compared_with_times),
        compared_with_numbers: take(&mut binder.compared_with_numbers),
        subqueries: take(&mut binder.subqueries),
        views: take(&mut binder.views),
        calls_programs: binder.calls_programs,
    })
}

/// Binds an expression without tables: SET, DO, KILL, EXECUTE.
///
/// # Errors
/// 1054 for a column; else the errors of [`bind`].
pub fn bind_scalar(
    expr: &leafline_syntax::ast::Expr,
    sql: &str,
    context: &BindContext<'_>,
) -> Result<BoundExpression, MysqlError> {
    let mut binder = Binder::of_statement(sql, context);
    // Without rows there are no aggregates.
    let mut block = Block { in_aggregate: true, ..Block::default() };
    let expr = binder.expression(&mut block, &scope::Scope::default(), scope::Clause::FieldList, expr)?;
    Ok(binder.finished(expr))
}

/// Binds a condition over rows that a statement computes itself: WHERE of SHOW. Column `i` of the rows has the name and type of
/// `columns[i]`.
///
/// # Errors
/// 1054 for an unknown column; else the errors of [`bind`].
pub fn bind_over_columns(
    condition: &leafline_syntax::ast::Expr,
    sql: &str,
    context: &BindContext<'_>,
    columns: &[(&str, ExprType)],
) -> Result<BoundExpression, MysqlError> {
    let mut binder = Binder::of_statement(sql, context);
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
    Ok(binder.finished(expr))
}

/// Binds a condition over the rows of a table with the name `alias`: WHERE of HANDLER. Column `i` of the rows is column `i` of
/// the table.
///
/// # Errors
/// 1054 for an unknown column; else the errors of [`bind`].
pub fn bind_over_table(
    condition: &leafline_syntax::ast::Expr,
    sql: &str,
    context: &BindContext<'_>,
    reference: &leafline_syntax::ast::TableReference,
) -> Result<BoundExpression, MysqlError> {
    let mut binder = Binder::of_statement(sql, context);
    let mut block = Block::default();
    let (_, seen) = binder.reference(&mut block, reference)?;
    let expr = binder.expression(&mut block, &seen, scope::Clause::Where, condition)?;
    Ok(binder.finished(expr))
}

/// The state of binding one statement.
struct Binder<'a> {
    sql: &'a str,
    context: &'a BindContext<'a>,
    /// The variables of the stored program; `None` in views and in expressions of tables, which belong to no program.
    locals: Option<&'a dyn LocalLookup>,
    warnings: Vec<MysqlError>,
    reads_variables: bool,
    /// The statement reads tables of information_schema, whose rows differ at the next execution.
    reads_schema_tables: bool,
    compared_with_times: Vec<(usize, SqlType)>,
    compared_with_numbers: Vec<usize>,
    assigns_variables: bool,
    /// The number of fractional digits that the statement assigns to variables, by lower-case name.
    variable_scales: HashMap<String, u8>,
    /// The collations of texts that the statement has assigned to variables so far. Expressions written later read the variables
    /// with these.
    variable_collations: HashMap<String, Collation>,
    /// A variable was assigned more fractional digits than names bound before it assumed.
    scales_grew: bool,
    /// The variables among the fields of a LOAD DATA, with their columns and type.
    row_variables: Vec<(String, usize, ExprType)>,
    /// The queries around the one being bound, outermost first.
    enclosing: Vec<subquery::Enclosing>,
    /// The subqueries bound so far.
    subqueries: Vec<BoundSubquery>,
    /// Number of calls of volatile functions bound so far.
    volatile_calls: usize,
    /// Whether the statement calls stored functions or fires triggers.
    calls_programs: bool,
    /// The visible names of WITH, the nearest last.
    commons: Vec<common_table::CommonName>,
    /// The number of the next common table.
    next_common: usize,
    /// Number of names that referred to columns of surrounding queries.
    outer_references: usize,
    /// Nesting of the query being bound, itself included.
    query_depth: usize,
    /// The greatest nesting so far, counting the nesting of each common table where its name stands.
    deepest: usize,
    /// The nested views that the query belongs to, by database and name.
    views_around: Vec<(String, String)>,
    /// All views that the statement named.
    views: Vec<(String, String)>,
    /// Number of tables that the views stand for, as `Binder::expands` counts.
    expanded: usize,
    /// The names of blocks, for hints.
    blocks_named: Vec<String>,
    /// The place of the SELECT that the statement begins with.
    first_select: Option<Span>,
    /// The expansion of each `*` by its place, if the caller keeps them.
    wildcards: Option<Vec<(Span, String)>>,
    /// The privileges, besides reading, that the statement needs on tables of the current FROM.
    changes: Privileges,
    /// The statement needs `changes` on some tables of FROM only and reads the others; the choice is made later.
    changes_some: bool,
    /// The arguments of an aggregate of a surrounding query are being bound: they may name all columns of that query's FROM.
    aggregates_outer: bool,
}

impl<'a> Binder<'a> {
    /// Makes a binder for the text of a statement, which sees the variables of the program around it.
    fn of_statement(sql: &'a str, context: &'a BindContext<'a>) -> Self {
        Binder { locals: context.locals, ..Binder::new(sql, context) }
    }

    fn finished(self, expr: Expr) -> BoundExpression {
        let reads_variables =
            self.reads_variables || self.reads_schema_tables || !self.compared_with_times.is_empty();
        let (subqueries, calls_programs) = (self.subqueries, self.calls_programs);
        BoundExpression { expr, subqueries, calls_programs, reads_variables }
    }

    fn new(sql: &'a str, context: &'a BindContext<'a>) -> Self {
        let assigns_variables = context.assigns_variables;
        Binder {
            sql,
            context,
            locals: None,
            warnings: Vec::new(),
            reads_variables: false,
            reads_schema_tables: false,
            compared_with_times: Vec::new(),
            compared_with_numbers: Vec::new(),
            assigns_variables,
            variable_scales: HashMap::new(),
            variable_collations: HashMap::new(),
            scales_grew: false,
            row_variables: Vec::new(),
            enclosing: Vec::new(),
            subqueries: Vec::new(),
            volatile_calls: 0,
            calls_programs: false,
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
        // A query only reads its tables, even inside a statement that changes some.
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

    /// Returns the parameter that stands for a variable of the program.
    fn local(&self, name: &ColumnName) -> Option<Expr> {
        let number = match (&name.database, &name.table) {
            (None, table) => {
                self.locals?.local(table.as_ref().map(|table| table.value.as_str()), &name.column.value)?
            }
            (Some(_), _) => return None,
        };
        let ty = self.context.parameter_types.get(number).cloned().unwrap_or(ExprType::NULL);
        Some(build::parameter(number, ty))
    }

    /// Records an assignment to a variable.
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

    /// Returns a column of a block, if the statement may read it.
    ///
    /// # Errors
    /// 1143.
    fn readable(&self, block: &Block, expr: Expr) -> Result<Expr, MysqlError> {
        match expr.as_column() {
            Some(id) => self.check_readable(block, id)?,
            None => expr.columns().into_iter().try_for_each(|id| self.check_readable(block, id))?,
        }
        Ok(expr)
    }

    /// Checks that the statement may read a column of a block.
    ///
    /// # Errors
    /// 1143.
    fn check_readable(&self, block: &Block, id: ColumnId) -> Result<(), MysqlError> {
        let relation = block.relation_of(id).and_then(|(at, _)| block.relations.get(at));
        let Some(relation) = relation.filter(|relation| !relation.granted.has(Privilege::Select)) else {
            return Ok(());
        };
        let name = block.names.get(id).map_or("", String::as_str);
        self.check_column(&relation.granted, Privilege::Select, (name, relation.name()))
    }

    /// Checks a privilege on a column of a table.
    ///
    /// # Errors
    /// 1143.
    fn check_column(
        &self,
        granted: &TableRights,
        wanted: Privilege,
        (column, table): (&str, &str),
    ) -> Result<(), MysqlError> {
        match granted.has(wanted) || granted.on_column(column).has(wanted) {
            true => Ok(()),
            false => Err(self.context.access.column_denied(wanted, column, table)),
        }
    }

    /// Returns the value of a CHAR column with its trailing spaces, under PAD_CHAR_TO_FULL_LENGTH. Comparisons and GROUP BY use
    /// the value without them, so that they find the same rows with and without an index.
    fn padded(&self, expr: Expr) -> Expr {
        if self.context.modes.padded_chars { build::padded(expr) } else { expr }
    }

    /// Takes an expression that is tested for truth. Adds warning 3986 for a document, which is compared with 0.
    fn condition(&mut self, condition: Expr) -> Expr {
        if condition.ty.sql == SqlType::Json {
            self.warnings.push(MysqlError::implicit_comparison_for_json());
        }
        condition
    }

    /// Returns the privileges on the table or view of a name; all privileges on the session's own tables.
    ///
    /// # Errors
    /// 1142 unless the statement has all privileges of `wanted`, on the table or on some column of it, or, where it changes tables,
    /// all privileges for that; 1046 without a database.
    fn granted(&self, name: &TableName, wanted: impl Into<Privileges>) -> Result<TableRights, MysqlError> {
        let (database, name) = (self.database_of(name)?, &name.name.value);
        if self.own_table(database, name).is_some() {
            return Ok(TableRights::EVERYTHING);
        }
        let (access, wanted) = (self.context.access, wanted.into());
        let granted = access.rights_on(database, name);
        let held = granted.somewhere();
        if held.has_all(wanted) || (!self.changes.is_empty() && held.has_all(self.changes)) {
            return Ok(granted);
        }
        let reads = self.changes.is_empty() || self.changes_some;
        let missing = if reads { wanted - held } else { self.changes };
        Err(access.table_denied(&missing.to_string(), name))
    }

    /// Returns the table of that name; 1046 without a database. The caller has checked the privileges.
    fn table(&self, name: &TableName) -> Result<Arc<TableDef>, MysqlError> {
        let (database, name) = (self.database_of(name)?, &name.name.value);
        let table = match self.own_table(database, name) {
            Some(table) => table,
            None => self.context.catalog.table(database, name)?,
        };
        partition::bind_partition_function(&table, self.context)?;
        Ok(table)
    }

    /// Returns the session's own table of that name, except inside a view: a view means the same in every session.
    fn own_table(&self, database: &str, name: &str) -> Option<Arc<TableDef>> {
        self.views_around.is_empty().then(|| self.context.catalog.own_table(database, name)).flatten()
    }

    /// Returns the view of that name; `None` if a table hides it.
    fn view_named(&self, name: &TableName) -> Result<Option<Arc<ViewDef>>, MysqlError> {
        let (database, name) = (self.database_of(name)?, &name.name.value);
        let view = self.context.catalog.view(database, name);
        Ok(view.filter(|_| self.own_table(database, name).is_none()))
    }

    /// Returns the database that a name belongs to.
    fn database_of<'n>(&'n self, name: &'n TableName) -> Result<&'n str, MysqlError> {
        match &name.database {
            Some(database) => Ok(database.value.as_str()),
            None => self.context.database.ok_or_else(MysqlError::no_database_selected),
        }
    }
}
