//! A query that several sessions read in pieces of its table, at one snapshot.
//!
//! The query is planned once. If the threads of one statement could share its whole plan
//! (`optimizer::parallel`), the ranges of its table are cut beforehand, and each piece runs the plan on one
//! range. The rows of all pieces in sequence are the rows of the query in its order. Any other query is one
//! piece. A piece can be read any number of times.
//!
//! Settings that rows depend on (`time_zone`, `sql_mode`) come from the session that reads.

use super::{Outcome, RowStream, Session};
use crate::plans::Planned;
use crate::result::{ColumnMeta, Done};
use crate::session::Execution;
use crate::session::Now;
use crate::session_entry::StatementText;
use crate::status::Command;
use leafline_access::{AccessPath, ScanOrder, ScanPiece, Source};
use leafline_executor as operator;
use leafline_expr::ExprKind;
use leafline_planner::optimizer::read_in_pieces;
use leafline_planner::plan::{self, Node, Operator};
use leafline_syntax::ast::StatementKind;
use leafline_table::{Catalog, ReadView};
use leafline_types::{MysqlError, Value};
use std::fmt;
use std::sync::Arc;

/// How to cut a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Limit of the number of pieces.
    pub most: usize,
    /// Least number of examined rows in a piece.
    pub least_rows: u64,
    /// True to give rows in the order of the walked index even where the order of the query does not matter.
    pub in_index_order: bool,
}

/// A query in pieces. Old versions of rows are kept while it lives.
pub struct QueryPieces {
    sql: Arc<str>,
    planned: Arc<Planned>,
    /// The catalog by which the query was planned.
    catalog: Arc<Catalog>,
    parameters: Arc<[Value]>,
    view: ReadView,
    now: Now,
    root: Node,
    /// `None` for a query of one piece.
    pieces: Option<Vec<ScanPiece>>,
    order: Vec<(usize, bool)>,
    fixed: usize,
}

impl QueryPieces {
    /// Number of pieces; 0 if there can be no row.
    pub fn count(&self) -> usize {
        self.pieces.as_ref().map_or(1, Vec::len)
    }

    /// The columns of the result.
    pub fn columns(&self) -> &[ColumnMeta] {
        self.planned.columns()
    }

    /// Estimated number of rows of all pieces.
    pub fn expected_rows(&self) -> f64 {
        self.root.estimate.rows
    }

    /// The columns by which rows are ordered without a sort, most significant first, with true for
    /// descending; NULL is the smallest value. Strings are ordered by their collations. Empty for a query
    /// that sorts.
    pub fn order(&self) -> &[(usize, bool)] {
        &self.order
    }

    /// Number of these columns, from the first, that have one value in all rows, by their collations.
    pub fn fixed(&self) -> usize {
        self.fixed
    }
}

impl fmt::Debug for QueryPieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryPieces")
            .field("sql", &self.sql)
            .field("pieces", &self.count())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Plans a SELECT to be read in pieces, at the snapshot of the transaction.
    ///
    /// # Errors
    /// MySQL's errors; 1235 for another statement than a SELECT, one that locks rows or counts the rows
    /// beyond its LIMIT, and in a transaction that has written.
    pub fn query_pieces(
        &mut self,
        sql: &str,
        parameters: &[Value],
        cut: Cut,
    ) -> Result<QueryPieces, MysqlError> {
        let mut pieces = None;
        self.contained(|session| {
            session.begin_statement(StatementText::Of(sql));
            let planned = session.plan_pieces(sql, parameters, cut).map(|planned| {
                pieces = Some(planned);
                Outcome::Done(Done::default())
            });
            session.finish(planned, sql)
        })?;
        pieces.ok_or_else(|| MysqlError::internal("a query without pieces"))
    }

    fn plan_pieces(&mut self, sql: &str, parameters: &[Value], cut: Cut) -> Result<QueryPieces, MysqlError> {
        let statement = self.parse(sql)?;
        self.count_command(Command::Select, true);
        self.warnings.clear();
        if !matches!(statement.kind, StatementKind::Query(_)) {
            return Err(MysqlError::not_supported("pieces of what is no SELECT"));
        }
        if parameters.len() != statement.parameters {
            return Err(MysqlError::wrong_arguments("EXECUTE"));
        }
        if self.has_written() {
            return Err(MysqlError::not_supported("pieces of a query in a transaction that has written"));
        }
        self.apply_hints(&statement.hints);
        let catalog = self.instance.engine().catalog();
        let planned = self.plan_statement(&statement, sql, Some(parameters))?.map(Arc::new);
        let of_query =
            planned.as_ref().and_then(|planned| Some((planned.clone(), planned.query()?.0.clone())));
        let Some((planned, plan)) = of_query.filter(|(planned, plan)| {
            let parts = planned.parts();
            !plan.locks_rows() && !parts.locks_rows() && !parts.calls_programs
        }) else {
            return Err(MysqlError::not_supported(
                "pieces of a SELECT that locks or counts rows, or calls stored functions",
            ));
        };
        let parameters = &*planned.converted(parameters);
        self.count_towards(&planned.digest, Some(&planned.facts), Some(plan.root.estimate.rows));
        let view = self.read_view();
        let (mut root, mut pieces) = (plan.root.clone(), None);
        if let Some(part) = read_in_pieces(&plan.root) {
            root = part.clone();
            if cut.in_index_order {
                keep_index_order(&mut root);
            }
            let scan = operator::scan_of(&root)?.clone();
            let worth = (scan.examined / cut.least_rows.max(1) as f64) as usize;
            let most = cut.most.min(worth).max(1);
            let mut execution = Execution::new(self, view.clone(), parameters, false);
            pieces = Some(execution.with(self, |cx| scan.path.cut(most, &mut cx.exec.scan()))?);
        }
        let (order, fixed) = if pieces.is_some() { order_of(&root) } else { Default::default() };
        let (sql, parameters, now) = (sql.into(), parameters.into(), self.now());
        Ok(QueryPieces { sql, planned, catalog, parameters, view, now, root, pieces, order, fixed })
    }

    /// The rows of piece `number`, counted from 0. The session may be any one of the instance.
    ///
    /// # Errors
    /// 1210 if there is no such piece, 1412 if a table was changed since; MySQL's errors.
    pub fn run_piece(&mut self, of: &QueryPieces, number: usize) -> Result<RowStream, MysqlError> {
        let rows = self.contained(|session| {
            session.begin_statement(StatementText::Prepared(&of.sql));
            session.count_command(Command::Select, true);
            let rows = session.start_piece(of, number).map(Outcome::Rows);
            session.finish(rows, &of.sql)
        });
        match rows? {
            Outcome::Rows(rows) => Ok(rows),
            Outcome::Done(_) => Err(MysqlError::internal("a piece without rows")),
        }
    }

    fn start_piece(&mut self, of: &QueryPieces, number: usize) -> Result<RowStream, MysqlError> {
        self.warnings.clear();
        let piece = match &of.pieces {
            None if number == 0 => None,
            Some(pieces) if number < pieces.len() => pieces.get(number).cloned(),
            _ => return Err(MysqlError::wrong_arguments("the number of a piece")),
        };
        self.use_tables(of.planned.uses())?;
        if !of.planned.has_tables_of(&of.catalog, &self.instance.engine().catalog()) {
            return Err(MysqlError::table_definition_changed());
        }
        self.limit_time(self.settings.max_execution_time);
        self.count_towards(&of.planned.digest, Some(&of.planned.facts), None);
        let execution = Execution::new(self, of.view.clone(), &of.parameters, false);
        let execution = execution.with_parts(of.planned.parts()).reading(piece, of.now);
        let root = operator::build(&of.root, false);
        Ok(RowStream::running(of.columns_shared(), root, execution, None, self.statement_uses()))
    }
}

impl QueryPieces {
    fn columns_shared(&self) -> Arc<[ColumnMeta]> {
        self.planned.query().map_or_else(|| Arc::from([]), |(_, columns)| columns.clone())
    }
}

/// True if the path can give its rows in key order: it reads an index that has parts.
fn walks_index(path: &AccessPath) -> bool {
    matches!(path.source, Source::Rows | Source::Entries) && !path.index.parts.is_empty()
}

/// Makes an unordered walk of an index follow the order of the index.
fn keep_index_order(node: &mut Node) {
    if let Operator::Scan(scan) = &mut node.operator {
        if scan.path.order == ScanOrder::Any && walks_index(&scan.path) {
            Arc::make_mut(&mut Arc::make_mut(scan).path).order = ScanOrder::Forward;
        }
        return;
    }
    if let Operator::Filter(_) | Operator::Project(_) | Operator::DerivedTable(_) = &node.operator {
        node.inputs_mut().into_iter().for_each(keep_index_order);
    }
}

/// The columns of a part that its scan orders rows by, with true for descending; and the number of them, from
/// the first, with one value.
fn order_of(root: &Node) -> (Vec<(usize, bool)>, usize) {
    let mut columns: Vec<Option<usize>> = (0..root.types.len()).map(Some).collect();
    let mut at = root;
    let scan = loop {
        match &at.operator {
            Operator::Project(plan::Project { input, expressions }) => {
                let below = |column: Option<usize>| match expressions.get(column?)?.kind {
                    ExprKind::Column(below) => Some(below),
                    _ => None,
                };
                columns.iter_mut().for_each(|column| *column = below(*column));
                at = input;
            }
            Operator::Filter(plan::Filter { input, .. })
            | Operator::DerivedTable(plan::DerivedTable { input, .. }) => at = input,
            Operator::Scan(scan) => break scan,
            _ => return Default::default(),
        }
    };
    let path = &scan.path;
    let (reverse, known) = match path.order {
        ScanOrder::Any => return Default::default(),
        ScanOrder::Forward => (false, &path.columns[..path.delivered]),
        ScanOrder::Reverse => (true, &path.columns[..path.delivered]),
    };
    let equal = path.constraint.equal_parts();
    let (mut order, mut fixed) = (Vec::new(), 0);
    // The parts of the primary key follow.
    let parts = path.index.key_columns.iter().zip(&path.index.key_parts);
    for (at, (column, part)) in parts.take_while(|(_, part)| part.prefix.is_none()).enumerate() {
        let delivered = known.iter().position(|known| known == column);
        match delivered.and_then(|at| columns.iter().position(|column| *column == Some(at))) {
            Some(column) => {
                order.push((column, part.descending != reverse));
                fixed += usize::from(at < equal);
            }
            None if at < equal => {}
            None => break,
        }
    }
    (order, fixed)
}
