//! Short reads: SELECTs of a few rows along one access path, run without operators.

use crate::result::ColumnMeta;
use leafline_access::RowScan;
use leafline_expr::ExprKind;
use leafline_planner::plan::{self, Node, Operator, Plan, RowLimit};
use leafline_types::MysqlError;
use std::sync::Arc;

/// Number of executions with operators after a vain short read.
const REST: u32 = 32;

/// Whether a planned statement can be a short read.
#[derive(Default)]
pub(crate) enum ShortWay {
    /// Not yet examined.
    #[default]
    Unknown,
    /// No.
    None,
    /// Yes.
    Ready(Box<ShortRead>),
    /// Yes, but a short read was vain of late: the given number of executions is not to try it.
    Resting(Box<ShortRead>, u32),
}

/// State kept between executions.
pub(crate) struct ShortRead {
    pub(crate) scan: RowScan,
    pub(crate) limit: Option<RowLimit>,
    /// Columns whose client form differs from the stored one.
    pub(crate) converted: Vec<usize>,
    pub(crate) columns: Arc<[ColumnMeta]>,
}

impl ShortRead {
    /// The short read of a plan, if it has one.
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
        // A scan of a whole index is short only under a LIMIT.
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
    /// Returns the short read to try now. `query` is asked once: it gives the plan of a query without further parts, and its
    /// columns.
    pub(crate) fn ready<'p>(
        &mut self,
        query: impl FnOnce() -> Option<(&'p Arc<Plan>, &'p Arc<[ColumnMeta]>)>,
    ) -> Result<Option<&mut ShortRead>, MysqlError> {
        if let ShortWay::Unknown = self {
            let read = query().map_or(Ok(None), |(plan, columns)| ShortRead::new(&plan.root, columns))?;
            *self = read.map_or(ShortWay::None, |read| ShortWay::Ready(Box::new(read)));
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

    pub(crate) fn rest(&mut self) {
        if let ShortWay::Ready(read) = std::mem::replace(self, ShortWay::None) {
            *self = ShortWay::Resting(read, REST);
        }
    }
}
