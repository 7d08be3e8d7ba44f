//! SELECTs of a few rows along one access path, again: from the parameters to the rows without operators.
//!
//! A statement that was planned is asked at each later execution whether the short way will do ([`RowScan`]). If it turns out
//! that it will not, operators run as ever, and for some executions nobody asks.

use super::planned::{Planned, Work};
use crate::result::ColumnMeta;
use crate::session::{Chunk, ChunkValues, RowStream, Session, shown_value};
use leafline_access::RowScan;
use leafline_executor::resolve_limit;
use leafline_expr::ExprKind;
use leafline_planner::plan::{self, Node, Operator, RowLimit};
use leafline_types::{MysqlError, RowBlock, Value};
use std::sync::Arc;

/// Executions that go the long way after the short one was tried in vain.
const REST: u32 = 32;

/// Whether a planned statement can be run the short way.
#[derive(Default)]
pub(super) enum ShortWay {
    /// Nobody has asked yet.
    #[default]
    Unknown,
    /// It cannot.
    None,
    /// It can.
    Ready(Box<ShortRead>),
    /// It can, but was of no use of late: so many executions are not to try.
    Resting(Box<ShortRead>, u32),
}

/// What is kept between two executions.
pub(super) struct ShortRead {
    scan: RowScan,
    limit: Option<RowLimit>,
    /// Columns whose values clients get in another form.
    converted: Vec<usize>,
    columns: Arc<[ColumnMeta]>,
}

impl ShortRead {
    /// The short way of a plan, if it has one.
    fn new(root: &Node, columns: &Arc<[ColumnMeta]>) -> Result<Option<ShortRead>, MysqlError> {
        let (node, limit) = match &root.operator {
            Operator::Limit(plan::Limit { input, limit }) => (&**input, Some(limit.clone())),
            _ => (root, None),
        };
        let (node, output) = match &node.operator {
            Operator::Project(plan::Project { input, expressions }) => {
                let column = |expression: &leafline_expr::Expr| match expression.kind {
                    ExprKind::Column(at) => Some(at),
                    _ => None,
                };
                match expressions.iter().map(column).collect::<Option<Vec<usize>>>() {
                    Some(output) => (&**input, output),
                    None => return Ok(None),
                }
            }
            _ => (node, (0..node.types.len()).collect()),
        };
        let Operator::Scan(path) = &node.operator else { return Ok(None) };
        // All of an index is not short, unless somebody wants no more.
        if path.path.constraint.is_unbounded() && limit.is_none() {
            return Ok(None);
        }
        let scan = RowScan::new(&path.path, &output)?;
        let converted = columns.iter().enumerate().filter(|(_, column)| column.ty.plain().is_some());
        let converted = converted.map(|(at, _)| at).collect();
        Ok(scan.map(|scan| ShortRead { scan, limit, converted, columns: columns.clone() }))
    }
}

impl ShortWay {
    fn of(planned: &Planned) -> Result<ShortWay, MysqlError> {
        let Work::Select { plan, columns, window: None } = planned.work() else { return Ok(ShortWay::None) };
        if plan.locks_rows() || !planned.is_plain() {
            return Ok(ShortWay::None);
        }
        let read = ShortRead::new(&plan.root, columns)?;
        Ok(read.map_or(ShortWay::None, |read| ShortWay::Ready(Box::new(read))))
    }

    /// What is to be tried now.
    fn ready(&mut self, planned: &Planned) -> Result<Option<&mut ShortRead>, MysqlError> {
        if let ShortWay::Unknown = self {
            *self = ShortWay::of(planned)?;
        }
        if let ShortWay::Resting(_, left) = self {
            *left -= 1;
            if *left == 0
                && let ShortWay::Resting(read, _) = std::mem::replace(self, ShortWay::None)
            {
                *self = ShortWay::Ready(read);
            }
            return Ok(None);
        }
        match self {
            ShortWay::Ready(read) => Ok(Some(read)),
            _ => Ok(None),
        }
    }

    fn rest(&mut self) {
        if let ShortWay::Ready(read) = std::mem::replace(self, ShortWay::None) {
            *self = ShortWay::Resting(read, REST);
        }
    }
}

impl Session {
    /// Room for rows: that of the last ones, if nobody has them any more.
    fn rows_for(&mut self, columns: &Arc<[ColumnMeta]>) -> Arc<Chunk> {
        if let Some(mut kept) = self.kept_rows.take()
            && let Some(chunk) = Arc::get_mut(&mut kept)
        {
            if !Arc::ptr_eq(&chunk.columns, columns) {
                chunk.columns = columns.clone();
            }
            return kept;
        }
        Arc::new(Chunk { columns: columns.clone(), values: ChunkValues::Rows(RowBlock::default()) })
    }

    /// Runs a planned statement that can be run again the short way, if it has one that will do.
    ///
    /// # Errors
    /// MySQL's.
    pub(crate) fn read_short(
        &mut self,
        planned: &Planned,
        parameters: &[Value],
    ) -> Result<Option<RowStream>, MysqlError> {
        let mut way = planned.short_way();
        let Some(read) = way.ready(planned)? else { return Ok(None) };
        let (skip, deliver) = match &read.limit {
            Some(limit) => resolve_limit(limit, parameters)?,
            None => (0, u64::MAX),
        };
        let most = usize::try_from(skip.saturating_add(deliver)).unwrap_or(usize::MAX);
        self.limit_time(planned.time_limit(&self.settings));
        let view = self.read_view().with_read_ahead(self.settings.read_ahead);
        let columns = &read.columns;
        let mut chunk = self.rows_for(columns);
        let Some(Chunk { values: ChunkValues::Rows(rows), .. }) = Arc::get_mut(&mut chunk) else {
            return Ok(None);
        };
        if !read.scan.read(parameters, most, &view, &self.cancel, &mut self.counters.access, rows)? {
            way.rest();
            return Ok(None);
        }
        if skip > 0 {
            rows.cut(usize::try_from(skip).unwrap_or(usize::MAX), usize::MAX);
        }
        for column in &read.converted {
            if let Some(meta) = columns.get(*column) {
                let zone = self.settings.time_zone.zone();
                rows.replace(*column, |value| {
                    Ok::<_, MysqlError>(shown_value(value.to_value(), &meta.ty, zone))
                })?;
            }
        }
        let count = rows.rows() as u64;
        self.facts.found_rows = count;
        self.facts.row_count = -1;
        self.counters.rows_sent += count;
        self.kept_rows = Some(chunk.clone());
        Ok(Some(RowStream::whole(chunk)))
    }
}
