//! Views: bound as derived tables in statements, and fixed when they are created.

use leafline_table::{CheckOption, ViewAlgorithm, ViewDef};
use leafline_types::error::errno;
use leafline_types::{ExprType, MysqlError};

use super::from::derived_columns;
use super::target_read::is_merged;
use super::{BindContext, BindModes, Binder};
use crate::authority::definer_of;
use crate::bound::{BoundSelect, BoundSubquery};
use leafline_syntax::Privilege;
use leafline_syntax::ast::{CreateView, Ident, SelectItem, Span};
use leafline_syntax::{canonical_query, parse_view};

/// Maximum nesting of views.
const MAX_DEPTH: usize = 32;
/// Maximum length of a column name, in characters.
const MAX_NAME: usize = 64;
/// Maximum number of tables that views stand for in one statement (error 1116). Each view is a copy of all its tables, so that
/// views of views grow exponentially; the statement's text bounds the tables that it names itself.
const MAX_EXPANDED: usize = 16_384;
/// Number of table columns, or bytes of a view's text, that count as one more table.
const COLUMNS_AS_TABLE: usize = 64;
const TEXT_AS_TABLE: usize = 1024;

impl Binder<'_> {
    /// Counts a table with that many columns that a view names.
    ///
    /// # Errors
    /// 1116 beyond [`MAX_EXPANDED`].
    pub(super) fn expands(&mut self, columns: usize) -> Result<(), MysqlError> {
        match self.views_around.is_empty() {
            true => Ok(()),
            false => self.expands_by(1 + columns / COLUMNS_AS_TABLE),
        }
    }

    fn expands_by(&mut self, tables: usize) -> Result<(), MysqlError> {
        self.expanded += tables;
        match self.expanded > MAX_EXPANDED {
            true => Err(MysqlError::too_many_tables(MAX_EXPANDED)),
            false => Ok(()),
        }
    }

    /// Returns the query of a view and its columns. The query means the same in every session, and sees nothing of the statement
    /// around it.
    ///
    /// # Errors
    /// 1356 in place of errors that say what the view lacks.
    pub(super) fn view(
        &mut self,
        view: &ViewDef,
    ) -> Result<(BoundSelect, Vec<(String, ExprType)>), MysqlError> {
        self.query_of_view(view).map_err(|error| match lacks(&error) {
            true => MysqlError::view_invalid(&view.database, &view.name),
            false => error,
        })
    }

    fn query_of_view(
        &mut self,
        view: &ViewDef,
    ) -> Result<(BoundSelect, Vec<(String, ExprType)>), MysqlError> {
        let name = (view.database.clone(), view.name.clone());
        let definer = self.context.access.of_definer(view)?;
        if self.views_around.contains(&name) {
            return Err(MysqlError::view_recursive(&view.database, &view.name));
        }
        if self.views_around.len() >= MAX_DEPTH {
            return Err(MysqlError::nested_too_deeply(MAX_DEPTH));
        }
        self.context.cancel.check()?;
        self.expands_by(view.query.len() / TEXT_AS_TABLE)?;
        let query = parse_view(&view.query)?;
        let context = BindContext {
            database: Some(&view.database),
            collation: view.collation,
            modes: BindModes { no_backslash_escapes: false, ..self.context.modes },
            assigns_variables: false,
            parameter_types: &[],
            parameters: &[],
            locals: None,
            hints: &[],
            access: definer.as_deref().unwrap_or(self.context.access),
            ..*self.context
        };
        let mut inner = Binder::new(&view.query, &context);
        inner.views_around.clone_from(&self.views_around);
        inner.views_around.push(name.clone());
        inner.views = std::mem::take(&mut self.views);
        inner.views.push(name);
        inner.subqueries = std::mem::take(&mut self.subqueries);
        (inner.next_common, inner.volatile_calls) = (self.next_common, self.volatile_calls);
        (inner.query_depth, inner.deepest, inner.expanded) = (self.query_depth, self.deepest, self.expanded);
        let bound = inner.query(&query);
        self.subqueries = inner.subqueries;
        self.views = inner.views;
        (self.next_common, self.volatile_calls) = (inner.next_common, inner.volatile_calls);
        self.calls_programs |= inner.calls_programs;
        (self.deepest, self.expanded) = (inner.deepest, inner.expanded);
        let names: Vec<Ident> =
            view.columns.iter().map(|name| Ident { value: name.clone(), span: Span::default() }).collect();
        let mut bound = bound?;
        bound.keep_digits();
        let columns = derived_columns(&bound, &names)?;
        Ok((bound, columns))
    }
}

/// Whether the error says that a part of a view is missing or may not be read.
fn lacks(error: &MysqlError) -> bool {
    matches!(
        error.code,
        errno::ER_BAD_DB_ERROR
            | errno::ER_NO_SUCH_TABLE
            | errno::ER_BAD_FIELD_ERROR
            | errno::ER_UNKNOWN_TABLE
            | errno::ER_KEY_DOES_NOT_EXITS
            | errno::ER_NON_UNIQ_ERROR
            | errno::ER_SP_DOES_NOT_EXIST
            | errno::ER_VIEW_INVALID
            | errno::ER_TABLEACCESS_DENIED_ERROR
            | errno::ER_COLUMNACCESS_DENIED_ERROR
            | errno::ER_PROCACCESS_DENIED_ERROR
            | 1353
    )
}

/// Returns the errors of a view: what it lacks, and that it is invalid for that reason. Where names must stay hidden, only the
/// second error is told.
pub fn view_faults(view: &ViewDef, context: &BindContext<'_>) -> Vec<MysqlError> {
    match Binder::new(&view.query, context).query_of_view(view) {
        Ok(_) => Vec::new(),
        Err(error) if lacks(&error) => {
            let invalid = MysqlError::view_invalid(&view.database, &view.name);
            if context.access.is_unlimited() || context.access.on_everything().has(Privilege::Select) {
                return vec![error, invalid];
            }
            vec![invalid]
        }
        Err(error) => vec![error],
    }
}

/// Makes the view of a statement, in `database`, with all names looked up, and warning 1354 if the view asks to be merged and
/// cannot be. `sql` is the statement's text. ALTER VIEW keeps the properties of `altered` that it does not name.
///
/// # Errors
/// The errors of the query; 1351 for variables and parameters, 1353 for another number of columns, 1060 for repeated names, 1166
/// for an invalid name, 1462 if the view would refer to itself, 1368 for a check option of a view that cannot be changed.
pub fn view_def(
    (create, altered): (&CreateView, Option<&ViewDef>),
    database: &str,
    sql: &str,
    context: &BindContext<'_>,
) -> Result<(ViewDef, Option<MysqlError>), MysqlError> {
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
    let names = match create.columns.is_empty() {
        true => unique_names(create, &bound),
        false => create.columns.clone(),
    };
    let columns = derived_columns(&bound, &names)?;
    check_given_names(create)?;
    let name = |(number, (name, _)): (usize, (String, _))| match is_column_name(&name) {
        true => name,
        false => format!("Name_exp_{number}"),
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
    let query = canonical_query(&text, create.mode)?.ok_or_else(MysqlError::view_with_variable)?;
    let (database, name) = own;
    let check_option = create.check_option;
    let algorithm = match create.algorithm {
        ViewAlgorithm::Undefined => altered.map_or(ViewAlgorithm::Undefined, |view| view.algorithm),
        asked => asked,
    };
    let definer = match (&create.definer, altered) {
        (Some(definer), _) if !definer.current => (definer.user.clone(), definer.host.clone()),
        (None, Some(view)) => {
            let kept = definer_of(view);
            (kept.user, kept.host)
        }
        _ => {
            let own_account = context.access.account();
            (own_account.user, own_account.host)
        }
    };
    let kept = || altered.is_some_and(|view| view.by_invoker);
    let by_invoker = create.by_invoker.unwrap_or_else(kept);
    let definer = Some(definer);
    let collation = context.collation;
    let mut view = ViewDef {
        id: 0,
        database,
        name,
        columns,
        query,
        algorithm,
        check_option,
        definer,
        collation,
        by_invoker,
    };
    // Bind without checking rights: they are checked when the view is read. The definer need not exist yet, because a dump may come
    // before the accounts.
    let context = BindContext { access: &crate::authority::Unlimited, ..*context };
    let mut binder = Binder::new(&view.query, &context);
    let (query, _) = binder.view(&view)?;
    let read_only = algorithm == ViewAlgorithm::TempTable || !binder.can_be_changed(&query);
    if check_option != CheckOption::None && read_only {
        return Err(MysqlError::check_option_of_read_only_view(&view.database, &view.name));
    }
    let mut warning = None;
    if algorithm == ViewAlgorithm::Merge && !is_merged(&query) {
        view.algorithm = ViewAlgorithm::Undefined;
        warning = Some(MysqlError::view_not_merged());
    }
    Ok((view, warning))
}

/// Returns the names of a view's columns. MySQL renames expressions without an alias that share a name with another column. Empty
/// where no names collide.
fn unique_names(create: &CreateView, bound: &BoundSelect) -> Vec<Ident> {
    let given: Vec<&str> = aliases(create).map(|alias| alias.value.as_str()).collect();
    let mut names: Vec<String> = bound.output.iter().map(|output| output.meta.name.clone()).collect();
    let made: Vec<bool> = bound
        .output
        .iter()
        .map(|output| output.meta.org_name.is_empty() && !given.contains(&output.meta.name.as_str()))
        .collect();
    let mut meets = false;
    for at in 0..names.len() {
        for before in 0..at {
            if !names[before].eq_ignore_ascii_case(&names[at]) {
                continue;
            }
            let Some(renamed) = [at, before].into_iter().find(|at| made[*at]) else { continue };
            meets = true;
            let name = &names[renamed];
            let candidates = std::iter::once(format!("Name_exp_{name}"))
                .chain((1..).map(|number: u32| format!("Name_exp_{number}_{name}")));
            let is_free =
                |candidate: &String| !names.iter().any(|known| known.eq_ignore_ascii_case(candidate));
            if let Some(free) = candidates.into_iter().find(is_free) {
                names[renamed] = free;
            }
        }
    }
    let ident = |value| Ident { value, span: create.name.name.span };
    if meets { names.into_iter().map(ident).collect() } else { Vec::new() }
}

/// Returns the aliases in the select list of a view.
fn aliases(create: &CreateView) -> impl Iterator<Item = &Ident> {
    let items = create.query.first_select().into_iter().flat_map(|select| &select.items);
    items.filter_map(|item| match item {
        SelectItem::Expr { alias, .. } => alias.as_ref(),
        SelectItem::Wildcard { .. } => None,
    })
}

/// Whether the name is valid for a column of a table or view.
fn is_column_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.chars().count()) && !name.ends_with(' ')
}

/// Raises error 1166 for an invalid column name in the statement: in its column list, or without one as an alias.
fn check_given_names(create: &CreateView) -> Result<(), MysqlError> {
    let mut names: Vec<&Ident> = create.columns.iter().collect();
    if names.is_empty() {
        names.extend(aliases(create));
    }
    match names.into_iter().find(|name| !is_column_name(&name.value)) {
        Some(name) => Err(MysqlError::wrong_column_name(&name.value)),
        None => Ok(()),
    }
}

/// Returns the columns of a view.
///
/// # Errors
/// 1356 if the view is no longer valid.
pub fn view_columns(
    view: &ViewDef,
    context: &BindContext<'_>,
) -> Result<Vec<(String, ExprType)>, MysqlError> {
    Ok(Binder::new(&view.query, context).view(view)?.1)
}

/// The tables and views that a view reads.
pub struct ViewSources {
    /// The query of the view.
    pub query: BoundSelect,
    /// The subqueries of expressions in the query.
    pub subqueries: Vec<BoundSubquery>,
    /// The databases and names of the views that the view consists of, itself included.
    pub views: Vec<(String, String)>,
}

/// Finds the tables and views that a view reads.
///
/// # Errors
/// 1356 if the view is no longer valid.
pub fn view_sources(view: &ViewDef, context: &BindContext<'_>) -> Result<ViewSources, MysqlError> {
    let mut binder = Binder::new(&view.query, context);
    let (query, _) = binder.view(view)?;
    Ok(ViewSources { query, subqueries: binder.subqueries, views: binder.views })
}

/// Whether rows can be changed through a view.
pub fn is_updatable_view(view: &ViewDef, context: &BindContext<'_>) -> bool {
    let mut binder = Binder::new(&view.query, context);
    let query = binder.query_of_view(view);
    view.algorithm != ViewAlgorithm::TempTable && query.is_ok_and(|(query, _)| binder.can_be_changed(&query))
}

/// Returns the statement that creates a view.
pub fn view_statement(view: &ViewDef) -> String {
    let quoted = |name: &String| leafline_syntax::quoted(name);
    let columns: Vec<String> = view.columns.iter().map(quoted).collect();
    let ViewDef { algorithm, name, query, check_option, .. } = view;
    let check_option = match check_option {
        CheckOption::None => String::new(),
        CheckOption::Local | CheckOption::Cascaded => format!(" WITH {} CHECK OPTION", check_option.name()),
    };
    format!(
        "CREATE ALGORITHM={} DEFINER={} SQL SECURITY {} VIEW {} ({}) AS {query}{check_option}",
        algorithm.name(),
        definer_of(view).backquoted(),
        if view.by_invoker { "INVOKER" } else { "DEFINER" },
        quoted(name),
        columns.join(",")
    )
}
