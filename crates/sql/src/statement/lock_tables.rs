//! LOCK TABLES: also locks the tables that the triggers of the listed tables use, and the stored functions of listed views, at
//! any depth, as MySQL does.
//!
//! Each statement of these programs is bound to find its tables. One that cannot be bound, because its table is missing for
//! instance, gives its error when it runs.

use crate::plans::TableUse;
use crate::program::{entered, load, triggers_of};
use crate::program_code::{Code, StatementCode};
use crate::properties::{Runs, properties};
use crate::session::{ProgramStep, Session};
use leafline_planner::SystemRows;
use leafline_planner::binder::{
    BindContext, CatalogLookup, StoredFunction, bind_kind, bind_scalar, view_sources,
};
use leafline_planner::bound::{BoundSubquery, tables_of_query};
use leafline_syntax::ast::{Expr, SetItem, StatementKind, TableLock};
use leafline_table::{ForeignKeyDef, ProgramDef, TableDef, ViewDef};
use leafline_types::words::ProgramKind;
use leafline_types::{MysqlError, Value};
use std::cell::RefCell;
use std::sync::Arc;

/// Runs LOCK TABLES.
///
/// # Errors
/// The errors of [`Session::lock_tables`].
pub(super) fn lock(session: &mut Session, tables: &[TableLock]) -> Result<(), MysqlError> {
    loop {
        let version = session.instance.engine().catalog_version();
        let mut closure = Closure::default();
        for lock in tables {
            closure.add_listed(session, lock)?;
        }
        let uses = closure.all(session)?;
        session.lock_tables(tables, uses)?;
        // Another session may have changed a trigger or a view before the locks were there.
        if session.instance.engine().catalog_version() == version {
            return Ok(());
        }
    }
}

/// The programs that the listed tables and views lead to, and the tables that these use.
#[derive(Default)]
struct Closure {
    uses: Vec<TableUse>,
    programs: Vec<(Arc<ProgramDef>, Arc<Code>)>,
}

impl Closure {
    /// Adds the programs of a listed table or view.
    fn add_listed(&mut self, session: &mut Session, lock: &TableLock) -> Result<(), MysqlError> {
        let catalog = session.instance.engine().catalog();
        let database = lock.table.database.as_ref().map(|database| database.value.as_str());
        let database = database.or(session.database()).unwrap_or_default().to_owned();
        let name = &lock.table.name.value;
        let mut tables = Vec::new();
        match catalog.view(&database, name) {
            Some(view) => {
                let noted = Noted::new(session);
                let context = BindContext { catalog: &noted, ..session.bind_context(&[]) };
                // An error of the view is told when it is locked.
                if let Ok(sources) = view_sources(view, &context) {
                    tables_of_query(&sources.query, &sources.subqueries, &mut |table, _| {
                        tables.push((table.database.clone(), table.name.clone()));
                    });
                }
                let called = noted.called.into_inner();
                self.add_called(session, called)?;
            }
            None => tables.push((database, name.clone())),
        }
        match lock.write {
            true => {
                tables.iter().try_for_each(|(database, name)| self.add_triggers(session, (database, name)))
            }
            false => Ok(()),
        }
    }

    fn add_triggers(
        &mut self,
        session: &mut Session,
        (database, name): (&str, &str),
    ) -> Result<(), MysqlError> {
        let table = session.instance.engine().catalog().table(database, name).cloned();
        let Some(table) = table else { return Ok(()) };
        let Some(triggers) = triggers_of(session, &table)? else { return Ok(()) };
        triggers.programs().for_each(|(def, code)| self.add(def.clone(), code.clone()));
        Ok(())
    }

    fn add(&mut self, def: Arc<ProgramDef>, code: Arc<Code>) {
        if self.programs.iter().all(|(known, _)| known.id != def.id) {
            self.programs.push((def, code));
        }
    }

    fn add_called(&mut self, session: &mut Session, called: Vec<Called>) -> Result<(), MysqlError> {
        for program in called {
            match program {
                Called::Routine(kind, database, name) => {
                    if let Some((def, code)) = load(session, kind, &database, &name)? {
                        self.add(def, code);
                    }
                }
                Called::Triggers(database, name) => self.add_triggers(session, (&database, &name))?,
            }
        }
        Ok(())
    }

    /// Goes through all programs; returns the tables that they use.
    fn all(mut self, session: &mut Session) -> Result<Vec<TableUse>, MysqlError> {
        let mut at = 0;
        while let Some((def, code)) = self.programs.get(at).cloned() {
            // Without its definer the program fails when it runs.
            let called = entered(session, &def, |session| self.statements(session, &def, &code));
            self.add_called(session, called.unwrap_or_default())?;
            at += 1;
        }
        Ok(self.uses)
    }

    /// Binds what a program contains; returns the programs that it calls.
    fn statements(&mut self, session: &mut Session, def: &ProgramDef, code: &Code) -> Vec<Called> {
        let mut called = Vec::new();
        for written in &code.statements {
            session.program_step = Some(ProgramStep::of(written));
            self.statement(session, (def, code, written), &mut called);
            session.program_step = None;
        }
        for written in &code.expressions {
            let noted = Noted::new(session);
            let context = BindContext {
                assigns_variables: true,
                locals: Some(&*written.names),
                catalog: &noted,
                ..session.bind_context(&code.types)
            };
            let bound = bind_scalar(&written.expr, &code.text, &context);
            bound.iter().for_each(|bound| self.subqueries(session, &bound.subqueries));
            called.extend(noted.called.into_inner());
        }
        called
    }

    fn statement(
        &mut self,
        session: &Session,
        (def, code, written): (&ProgramDef, &Code, &StatementCode),
        called: &mut Vec<Called>,
    ) {
        let noted = Noted::new(session);
        let parameters = vec![Value::Null; written.types.len()];
        let context = BindContext {
            assigns_variables: written.statement.assigns_variables,
            parameters: &parameters,
            catalog: &noted,
            ..session.bind_context(&written.types)
        };
        let kind = &written.statement.kind;
        if properties(kind).runs == Runs::Planned
            && let Ok(bound) = bind_kind(kind, parameters.len(), &code.text, &context)
        {
            let (uses, _) = session.tables_used(&bound.kind, &bound.subqueries, &bound.views);
            self.uses.extend(uses);
        }
        for expr in expressions(kind) {
            let bound = bind_scalar(expr, &code.text, &context);
            bound.iter().for_each(|bound| self.subqueries(session, &bound.subqueries));
        }
        if let StatementKind::Call(call) = kind {
            let database = call.name.database.as_ref().map_or(&def.database, |database| &database.value);
            let name = call.name.name.value.clone();
            called.push(Called::Routine(ProgramKind::Procedure, database.clone(), name));
        }
        called.extend(noted.called.into_inner());
    }

    /// Adds the tables of an expression's subqueries.
    fn subqueries(&mut self, session: &Session, subqueries: &[BoundSubquery]) {
        for subquery in subqueries {
            tables_of_query(&subquery.query, subqueries, &mut |table, relation| {
                self.uses.extend(session.use_of(table, &relation.alias));
            });
        }
    }
}

/// Returns the expressions of a statement that has no plan.
fn expressions(kind: &StatementKind) -> Vec<&Expr> {
    match kind {
        StatementKind::Do(expressions) => expressions.iter().collect(),
        StatementKind::Call(call) => call.arguments.iter().collect(),
        StatementKind::Set(items) => {
            let values = items.iter().filter_map(|item| match item {
                SetItem::User { value, .. } | SetItem::Local { value, .. } => Some(value),
                _ => None,
            });
            values.collect()
        }
        _ => Vec::new(),
    }
}

/// A program that a statement leads to.
enum Called {
    /// A function or procedure: its kind, database and name.
    Routine(ProgramKind, String, String),
    /// The triggers of a table that the statement changes: the table's database and name.
    Triggers(String, String),
}

/// The session's catalog, which notes the functions and triggers that statements lead to while they are bound.
struct Noted<'s> {
    session: &'s Session,
    called: RefCell<Vec<Called>>,
}

impl Noted<'_> {
    fn new(session: &Session) -> Noted<'_> {
        Noted { session, called: RefCell::default() }
    }
}

impl CatalogLookup for Noted<'_> {
    fn table(&self, database: &str, name: &str) -> Result<Arc<TableDef>, MysqlError> {
        CatalogLookup::table(self.session, database, name)
    }

    fn own_table(&self, database: &str, name: &str) -> Option<Arc<TableDef>> {
        CatalogLookup::own_table(self.session, database, name)
    }

    fn view(&self, database: &str, name: &str) -> Option<Arc<ViewDef>> {
        self.session.view(database, name)
    }

    fn schema_table(&self, database: &str, name: &str) -> Result<Option<SystemRows>, MysqlError> {
        self.session.schema_table(database, name)
    }

    fn stored_function(&self, database: &str, name: &str) -> Result<Option<StoredFunction>, MysqlError> {
        let found = self.session.stored_function(database, name)?;
        if found.is_some() {
            let called = Called::Routine(ProgramKind::Function, database.to_owned(), name.to_owned());
            self.called.borrow_mut().push(called);
        }
        Ok(found)
    }

    fn has_triggers(&self, table: &TableDef) -> bool {
        let has_any = self.session.has_triggers(table);
        if has_any {
            let called = Called::Triggers(table.database.clone(), table.name.clone());
            self.called.borrow_mut().push(called);
        }
        has_any
    }

    fn references(&self, database: &str, name: &str) -> Vec<(Arc<TableDef>, ForeignKeyDef)> {
        self.session.references(database, name)
    }
}
