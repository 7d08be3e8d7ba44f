//! Views: as derived tables where they are named, and frozen when they are made.

use leafline_table::{ViewAlgorithm, ViewDef};
use leafline_types::error::errno;
use leafline_types::{ExprType, MysqlError};

use super::from::derived_columns;
use super::{BindContext, Binder};
use crate::bound::{BoundSelect, BoundSubquery};
use crate::parser::ast::{CreateView, Ident, Span};
use crate::parser::{canonical_query, parse_view};
use crate::statement::definitions::DEFAULT_COLLATION;

/// Most views in one another.
const MAX_DEPTH: usize = 32;
/// Longest name of a column, in characters.
const MAX_NAME: usize = 64;

impl Binder<'_> {
    /// The query of a view and its columns. It means the same in every session, and sees nothing of the statement around it.
    pub(super) fn view(
        &mut self,
        view: &ViewDef,
    ) -> Result<(BoundSelect, Vec<(String, ExprType)>), MysqlError> {
        let name = (view.database.clone(), view.name.clone());
        if self.views_around.contains(&name) {
            return Err(MysqlError::view_recursive(&view.database, &view.name));
        }
        if self.views_around.len() >= MAX_DEPTH {
            return Err(MysqlError::nested_too_deeply(MAX_DEPTH));
        }
        let query = parse_view(&view.query)?;
        let context = BindContext {
            database: Some(&view.database),
            collation: DEFAULT_COLLATION,
            no_backslash_escapes: false,
            assigns_variables: false,
            parameter_types: &[],
            hints: &[],
            ..*self.context
        };
        let mut inner = Binder::new(&view.query, &context);
        inner.views_around.clone_from(&self.views_around);
        inner.views_around.push(name.clone());
        inner.views = std::mem::take(&mut self.views);
        inner.views.push(name);
        inner.subqueries = std::mem::take(&mut self.subqueries);
        (inner.next_common, inner.volatile_calls) = (self.next_common, self.volatile_calls);
        (inner.query_depth, inner.deepest) = (self.query_depth, self.deepest);
        let bound = inner.query(&query);
        self.subqueries = inner.subqueries;
        self.views = inner.views;
        (self.next_common, self.volatile_calls) = (inner.next_common, inner.volatile_calls);
        self.deepest = inner.deepest;
        let names: Vec<Ident> =
            view.columns.iter().map(|name| Ident { value: name.clone(), span: Span::default() }).collect();
        let bound = bound.and_then(|bound| {
            let columns = derived_columns(&bound, &names)?;
            Ok((bound, columns))
        });
        bound.map_err(|error| match error.code {
            errno::ER_BAD_DB_ERROR
            | errno::ER_NO_SUCH_TABLE
            | errno::ER_BAD_FIELD_ERROR
            | errno::ER_UNKNOWN_TABLE
            | errno::ER_KEY_DOES_NOT_EXITS
            | errno::ER_NON_UNIQ_ERROR
            | errno::ER_SP_DOES_NOT_EXIST
            | 1353 => MysqlError::view_invalid(&view.database, &view.name),
            _ => error,
        })
    }
}

/// The view that a statement asks for, in `database`, with everything looked up; `sql` is its text.
///
/// # Errors
/// Those of its query; 1351 for variables and parameters, 1353 for another number of columns, 1060 for names that are there twice, 1462 if
/// it would refer to itself.
pub(crate) fn view_def(
    create: &CreateView,
    database: &str,
    sql: &str,
    context: &BindContext<'_>,
) -> Result<ViewDef, MysqlError> {
    let mut binder = Binder::new(sql, context);
    binder.wildcards = Some(Vec::new());
    let bound = binder.query(&create.query)?;
    if binder.reads_variables {
        return Err(MysqlError::view_with_variable());
    }
    let own = (database.to_owned(), create.name.name.value.clone());
    if binder.views.contains(&own) {
        return Err(MysqlError::view_recursive(&own.0, &own.1));
    }
    let columns = derived_columns(&bound, &create.columns)?;
    let name = |(number, (name, _)): (usize, (String, _))| match name.chars().count() {
        1..=MAX_NAME => name,
        _ => format!("Name_exp_{number}"),
    };
    let columns = (1..).zip(columns).map(name).collect();
    let mut text = String::new();
    let mut at = create.span.start;
    let mut wildcards = binder.wildcards.take().unwrap_or_default();
    wildcards.sort_by_key(|(span, _)| span.start);
    wildcards.dedup_by_key(|(span, _)| span.start);
    for (span, columns) in wildcards {
        text.push_str(sql.get(at as usize..span.start as usize).unwrap_or_default());
        text.push_str(&columns);
        at = span.end;
    }
    text.push_str(sql.get(at as usize..create.span.end as usize).unwrap_or_default());
    let query = canonical_query(&text, create.mode).ok_or_else(MysqlError::view_with_variable)?;
    let (database, name) = own;
    let view = ViewDef { id: 0, database, name, columns, query, algorithm: create.algorithm };
    // As it will be read.
    Binder::new(&view.query, context).view(&view)?;
    Ok(view)
}

/// The columns of a view.
///
/// # Errors
/// 1356 if it is not valid any more.
pub(crate) fn view_columns(
    view: &ViewDef,
    context: &BindContext<'_>,
) -> Result<Vec<(String, ExprType)>, MysqlError> {
    Ok(Binder::new(&view.query, context).view(view)?.1)
}

/// What a view reads.
pub(crate) struct ViewSources {
    /// Its query.
    pub(crate) query: BoundSelect,
    /// The subqueries of expressions in it.
    pub(crate) subqueries: Vec<BoundSubquery>,
    /// The databases and names of the views that it is made of, itself included.
    pub(crate) views: Vec<(String, String)>,
}

/// What a view reads.
///
/// # Errors
/// 1356 if it is not valid any more.
pub(crate) fn view_sources(view: &ViewDef, context: &BindContext<'_>) -> Result<ViewSources, MysqlError> {
    let mut binder = Binder::new(&view.query, context);
    let (query, _) = binder.view(view)?;
    Ok(ViewSources { query, subqueries: binder.subqueries, views: binder.views })
}

/// The statement that would make a view.
pub(crate) fn view_statement(view: &ViewDef) -> String {
    let quoted = |name: &String| crate::show::statement_text::quoted(name);
    let columns: Vec<String> = view.columns.iter().map(quoted).collect();
    let ViewDef { algorithm, name, query, .. } = view;
    let algorithm: &ViewAlgorithm = algorithm;
    format!(
        "CREATE ALGORITHM={} DEFINER=`root`@`%` SQL SECURITY DEFINER VIEW {} ({}) AS {query}",
        algorithm.name(),
        quoted(name),
        columns.join(",")
    )
}
