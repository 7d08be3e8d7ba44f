//! Window functions, the WINDOW clause, and the parts that a window inherits from another.
//!
//! Windows are computed after HAVING and before DISTINCT: their functions stand in the select list and in ORDER BY (3593). Their
//! expressions may hold aggregates, but no other window function. Names in a window are names of FROM, not of the select list.

use leafline_expr::aggregate::AggregateCall;
use leafline_expr::build::CastTarget;
use leafline_expr::{ArithmeticOp, Expr, build};
use leafline_types::MysqlError;
use leafline_types::{ExprType, IntervalUnit, SqlType, Value};

use super::Binder;
use super::expression::{Bound, ExpressionBinder};
use super::scope::{Block, Clause, Scope};
use super::window_calls::{Call, Window, WindowPlace};
use crate::bound::{BlockColumn, BoundWindow, BoundWindowCall, ColumnId, ColumnOrigin, OrderKey};
use crate::window::{Distance, Frame, FrameBound, FrameRow, FrameUnit, WindowCall, WindowFunction};
use leafline_syntax::ast::{self, ExprKind, Literal, NamedWindow, Over, WindowFunctionName, WindowSpec};

/// The name of an unnamed window in errors.
const UNNAMED: &str = "<unnamed window>";

/// Maximum number of windows of a WINDOW clause (error 1235). The limit bounds the stack for windows that refer to one another.
const MAX_WINDOWS: usize = 127;

impl Binder<'_> {
    /// Binds the WINDOW clause.
    pub(super) fn window_clause(
        &mut self,
        block: &mut Block,
        scope: &Scope,
        windows: &[NamedWindow],
    ) -> Result<(), MysqlError> {
        if windows.len() > MAX_WINDOWS {
            return Err(MysqlError::not_supported(format!("more than {MAX_WINDOWS} windows")));
        }
        for (at, window) in windows.iter().enumerate() {
            if windows.iter().take(at).any(|other| is_name(&other.name.value, &window.name.value)) {
                return Err(MysqlError::duplicate_window(&window.name.value));
            }
        }
        let mut bound: Vec<Option<Window>> = vec![None; windows.len()];
        for at in 0..windows.len() {
            self.named_window(block, scope, windows, at, &mut bound, 0)?;
        }
        block.windows = bound.into_iter().flatten().collect();
        Ok(())
    }

    /// Binds a window of the clause, after the window that it refers to.
    fn named_window(
        &mut self,
        block: &mut Block,
        scope: &Scope,
        windows: &[NamedWindow],
        at: usize,
        bound: &mut [Option<Window>],
        depth: usize,
    ) -> Result<(), MysqlError> {
        let (Some(window), Some(None)) = (windows.get(at), bound.get(at)) else { return Ok(()) };
        if depth > windows.len() {
            return Err(MysqlError::circular_windows());
        }
        let mut base = None;
        if let Some(name) = &window.spec.base {
            let position = windows.iter().position(|other| is_name(&other.name.value, &name.value));
            let position = position.ok_or_else(|| MysqlError::no_such_window(&name.value))?;
            self.named_window(block, scope, windows, position, bound, depth + 1)?;
            base = bound.get(position).cloned().flatten();
        }
        let name = window.name.value.clone();
        let made = self.window(block, scope, name, &window.spec, base)?;
        if let Some(place) = bound.get_mut(at) {
            *place = Some(made);
        }
        Ok(())
    }

    fn window(
        &mut self,
        block: &mut Block,
        scope: &Scope,
        name: String,
        spec: &WindowSpec,
        base: Option<Window>,
    ) -> Result<Window, MysqlError> {
        let outer = block.window_place.replace(WindowPlace::Specification);
        let mut expressions =
            ExpressionBinder { binder: self, block: &mut *block, scope, clause: Clause::FieldList };
        let result = expressions.specification(name, spec, base);
        block.window_place = outer;
        result
    }
}

impl ExpressionBinder<'_, '_, '_> {
    /// Binds `function OVER ..`.
    pub(super) fn window_call(&mut self, call: &ast::WindowCall) -> Bound {
        let name = match &call.function {
            ast::WindowFunction::Own(name, _) => function_name(*name).to_owned(),
            ast::WindowFunction::Aggregate(aggregate) => aggregate_name(aggregate),
        };
        let allowed = matches!(self.clause, Clause::FieldList | Clause::Order) && !self.block.in_aggregate;
        match self.block.window_place {
            Some(WindowPlace::Specification) => return Err(MysqlError::window_function_in_window(UNNAMED)),
            None if allowed => {}
            _ => return Err(MysqlError::invalid_window_function(name)),
        }
        let window = match &call.over {
            Over::Name(name) => self.window_of_name(&name.value)?,
            Over::Spec(spec) => {
                let base = spec.base.as_ref().map(|name| self.window_of_name(&name.value)).transpose()?;
                self.binder.window(self.block, self.scope, UNNAMED.to_owned(), spec, base)?
            }
        };
        self.block.window_place = Some(WindowPlace::Argument);
        let function = match &call.function {
            ast::WindowFunction::Own(name, args) => self.own_function(*name, args),
            ast::WindowFunction::Aggregate(aggregate) => self.aggregate_over(aggregate),
        };
        self.block.window_place = None;
        let (function, ty) = function?;
        let frame = match &window.frame {
            Some(frame) if uses_frame(&function) => frame.clone(),
            Some(_) => {
                let note = MysqlError::window_function_ignores_frame(&name, &window.name);
                self.binder.warnings.push(note);
                Frame::running()
            }
            None => Frame::running(),
        };
        // Without an order all rows are peers.
        let frame = match window.order.is_empty() && frame == Frame::running() {
            true => Frame { end: FrameBound::Unbounded, ..frame },
            false => frame,
        };
        let window = Window { frame: None, name: String::new(), ..window };
        Ok(self.block.window_function(Call { window, call: WindowCall { function, frame, ty } }))
    }

    fn window_of_name(&self, name: &str) -> Result<Window, MysqlError> {
        let found = self.block.windows.iter().find(|window| is_name(&window.name, name));
        found.cloned().ok_or_else(|| MysqlError::no_such_window(name))
    }

    fn specification(
        &mut self,
        name: String,
        spec: &WindowSpec,
        base: Option<Window>,
    ) -> Result<Window, MysqlError> {
        let mut partition = Vec::new();
        for key in &spec.partition_by {
            partition.push(self.window_key(&name, key)?);
        }
        let mut order = Vec::new();
        for item in &spec.order_by {
            order.push(OrderKey { expr: self.window_key(&name, &item.expr)?, descending: item.descending });
        }
        if let Some(base) = base {
            if !partition.is_empty() {
                return Err(MysqlError::partition_of_dependent_window());
            }
            if base.frame.is_some() {
                return Err(MysqlError::inherited_window_has_frame(&base.name));
            }
            if !order.is_empty() && !base.order.is_empty() {
                return Err(MysqlError::window_order_redefined(&name, &base.name));
            }
            partition = base.partition;
            if order.is_empty() {
                order = base.order;
            }
        }
        let frame = spec.frame.as_ref().map(|frame| self.frame(&name, frame, &order)).transpose()?;
        // A constant neither orders nor partitions rows.
        partition.retain(|key| !key.is_constant());
        order.retain(|key| !key.expr.is_constant());
        Ok(Window { name, partition, order, frame })
    }

    fn window_key(&mut self, window: &str, key: &ast::Expr) -> Bound {
        if let ExprKind::Literal(Literal::Integer(_)) = &key.kind {
            return Err(MysqlError::window_order_by_position(window));
        }
        self.bind(key)
    }

    fn frame(&mut self, window: &str, frame: &ast::Frame, order: &[OrderKey]) -> Result<Frame, MysqlError> {
        use ast::FrameBound::{CurrentRow, Following, Preceding, UnboundedFollowing, UnboundedPreceding};
        match (&frame.start, &frame.end) {
            (UnboundedFollowing, _) => return Err(MysqlError::illegal_frame_start(window)),
            (_, UnboundedPreceding) => return Err(MysqlError::illegal_frame_end(window)),
            (CurrentRow | Following(_), Preceding(_)) | (Following(_), CurrentRow) => {
                return Err(MysqlError::illegal_frame(window));
            }
            _ => {}
        }
        let mut key = None;
        let start = self.frame_bound(window, frame.unit, &frame.start, order, &mut key)?;
        let end = self.frame_bound(window, frame.unit, &frame.end, order, &mut key)?;
        let unit = match frame.unit {
            ast::FrameUnit::Rows => FrameUnit::Rows,
            ast::FrameUnit::Range => {
                FrameUnit::Range { key, descending: order.first().is_some_and(|key| key.descending) }
            }
        };
        Ok(Frame { start, end, unit })
    }

    fn frame_bound(
        &mut self,
        window: &str,
        unit: ast::FrameUnit,
        bound: &ast::FrameBound,
        order: &[OrderKey],
        key: &mut Option<Expr>,
    ) -> Result<FrameBound, MysqlError> {
        let (distance, is_following) = match bound {
            ast::FrameBound::UnboundedPreceding | ast::FrameBound::UnboundedFollowing => {
                return Ok(FrameBound::Unbounded);
            }
            ast::FrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            ast::FrameBound::Preceding(distance) => (distance, false),
            ast::FrameBound::Following(distance) => (distance, true),
        };
        let amount = self.number(&distance.amount)?;
        if !amount.is_constant() {
            return Err(MysqlError::frame_bound_not_constant(window));
        }
        let is_integer = amount.ty.sql.is_integer() || amount.as_literal().is_none();
        if amount.as_literal().is_some_and(is_no_distance) {
            return Err(MysqlError::illegal_frame(window));
        }
        let limit = match (unit, distance.unit) {
            (ast::FrameUnit::Rows, Some(_)) => return Err(MysqlError::interval_in_rows_frame(window)),
            (ast::FrameUnit::Rows, None) if !is_integer => return Err(MysqlError::illegal_frame(window)),
            (ast::FrameUnit::Rows, None) => None,
            (ast::FrameUnit::Range, interval) => {
                let [only] = order else { return Err(MysqlError::range_frame_order(window)) };
                let (compared, limit) = range_limit(window, only, &amount, interval, is_following)?;
                *key = Some(compared);
                Some(limit)
            }
        };
        let distance = Distance { amount, limit };
        Ok(if is_following { FrameBound::Following(distance) } else { FrameBound::Preceding(distance) })
    }

    fn own_function(
        &mut self,
        name: WindowFunctionName,
        args: &[ast::Expr],
    ) -> Result<(WindowFunction, ExprType), MysqlError> {
        let number = ExprType::numeric(SqlType::BIGINT_UNSIGNED, false);
        let share = ExprType::numeric(SqlType::Double, false);
        Ok(match (name, args) {
            (WindowFunctionName::RowNumber, _) => (WindowFunction::RowNumber, number),
            (WindowFunctionName::Rank, _) => (WindowFunction::Rank, number),
            (WindowFunctionName::DenseRank, _) => (WindowFunction::DenseRank, number),
            (WindowFunctionName::PercentRank, _) => (WindowFunction::PercentRank, share),
            (WindowFunctionName::CumeDist, _) => (WindowFunction::CumeDist, share),
            (WindowFunctionName::Ntile, [parts]) => {
                let parts = self.constant(parts, "ntile", 1)?;
                let nullable = parts.ty.nullable;
                (WindowFunction::Ntile(parts), ExprType { nullable, ..number })
            }
            (WindowFunctionName::Lag | WindowFunctionName::Lead, [value, rest @ ..]) => {
                self.shifted(name == WindowFunctionName::Lead, value, rest)?
            }
            (WindowFunctionName::FirstValue, [value]) => self.framed(value, FrameRow::First)?,
            (WindowFunctionName::LastValue, [value]) => self.framed(value, FrameRow::Last)?,
            (WindowFunctionName::NthValue, [value, number]) => {
                let number = self.constant(number, "nth_value", 1)?;
                self.framed(value, FrameRow::Nth(number))?
            }
            _ => return Err(MysqlError::wrong_parameter_count(function_name(name))),
        })
    }

    /// Binds a constant number that is at least `least`.
    fn constant(&mut self, arg: &ast::Expr, function: &str, least: i128) -> Bound {
        let bound = self.bind(arg)?;
        let too_small = match bound.as_literal() {
            None => !bound.is_constant(),
            Some(Value::Null) => false,
            Some(value) => value.as_integer().is_none_or(|number| number < least),
        };
        if too_small {
            return Err(MysqlError::wrong_arguments(function));
        }
        Ok(bound)
    }

    fn shifted(
        &mut self,
        ahead: bool,
        value: &ast::Expr,
        rest: &[ast::Expr],
    ) -> Result<(WindowFunction, ExprType), MysqlError> {
        let name = if ahead { "lead" } else { "lag" };
        let value = build::plain(self.bind(value)?);
        let rows = match rest.first() {
            Some(rows) => self.constant(rows, name, 0)?,
            None => build::literal(Value::Int(1)),
        };
        let default = rest.get(1).map(|default| self.bind(default).map(build::plain)).transpose()?;
        let types: Vec<&ExprType> = std::iter::once(&value).chain(&default).map(|e| &e.ty).collect();
        let ty = ExprType { nullable: true, ..build::common_type(name, &types)? };
        let value = build::conformed(value, &ty);
        let default = default.map(|default| build::conformed(default, &ty));
        Ok((WindowFunction::Shifted { value, rows, ahead, default }, ty))
    }

    fn framed(&mut self, value: &ast::Expr, row: FrameRow) -> Result<(WindowFunction, ExprType), MysqlError> {
        let value = self.bind(value)?;
        let ty = ExprType { nullable: true, ..value.ty.clone() };
        Ok((WindowFunction::Framed { value, row }, ty))
    }

    fn aggregate_over(&mut self, aggregate: &ast::Expr) -> Result<(WindowFunction, ExprType), MysqlError> {
        let ExprKind::Aggregate { function, distinct, args } = &aggregate.kind else {
            return Err(MysqlError::not_supported("group_concat as window function"));
        };
        if *distinct {
            return Err(MysqlError::not_supported("<window function>(DISTINCT ..)"));
        }
        let args = self.list(args)?;
        let call = AggregateCall::new(*function, false, args)?;
        let ty = call.ty.clone();
        Ok((WindowFunction::Aggregate(call), ty))
    }
}

/// Returns the two sides of the comparison at a bound of RANGE: the key in a computable type, and the limit.
fn range_limit(
    window: &str,
    order: &OrderKey,
    amount: &Expr,
    interval: Option<IntervalUnit>,
    is_following: bool,
) -> Result<(Expr, Expr), MysqlError> {
    let key = build::plain(order.expr.clone());
    let subtract = is_following == order.descending;
    if key.ty.sql.is_temporal() && key.ty.sql != SqlType::Year {
        let Some(unit) = interval else { return Err(MysqlError::range_frame_wants_interval(window)) };
        let limit = build::date_add(key.clone(), amount.clone(), unit, subtract)?;
        return Ok((key, limit));
    }
    if !key.ty.sql.is_numeric() {
        return Err(MysqlError::range_frame_order(window));
    }
    if interval.is_some() {
        return Err(MysqlError::range_frame_wants_number(window));
    }
    // Exact numbers are computed as DECIMAL, which has room beyond the range of integers.
    let key = match build::decimal_digits(&key) {
        Some((precision, scale)) => {
            let precision = precision.saturating_add(1).min(leafline_types::decimal::MAX_PRECISION);
            build::cast(key, CastTarget::Decimal(precision, scale), leafline_types::Collation::Binary)?
        }
        None => key,
    };
    let op = if subtract { ArithmeticOp::Subtract } else { ArithmeticOp::Add };
    let limit = build::arithmetic(op, key.clone(), amount.clone())?;
    Ok((key, limit))
}

/// Whether the value is negative or NULL, and so is not a distance between rows.
pub fn is_no_distance(amount: &Value) -> bool {
    match amount {
        Value::Null => true,
        Value::Int(number) => *number < 0,
        Value::Decimal(number) => number.is_negative(),
        Value::Double(number) => *number < 0.0,
        _ => false,
    }
}

fn is_name(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

fn uses_frame(function: &WindowFunction) -> bool {
    matches!(function, WindowFunction::Framed { .. } | WindowFunction::Aggregate(_))
}

fn function_name(name: WindowFunctionName) -> &'static str {
    match name {
        WindowFunctionName::RowNumber => "row_number",
        WindowFunctionName::Rank => "rank",
        WindowFunctionName::DenseRank => "dense_rank",
        WindowFunctionName::PercentRank => "percent_rank",
        WindowFunctionName::CumeDist => "cume_dist",
        WindowFunctionName::Ntile => "ntile",
        WindowFunctionName::Lag => "lag",
        WindowFunctionName::Lead => "lead",
        WindowFunctionName::FirstValue => "first_value",
        WindowFunctionName::LastValue => "last_value",
        WindowFunctionName::NthValue => "nth_value",
    }
}

fn aggregate_name(aggregate: &ast::Expr) -> String {
    match &aggregate.kind {
        ExprKind::Aggregate { function, .. } => function.name().to_lowercase(),
        _ => "group_concat".to_owned(),
    }
}

/// Gives the window functions of a block their final numbers, in their order, and groups them by window.
pub(super) fn numbered(block: &mut Block) -> (Vec<BoundWindow>, Vec<ColumnId>) {
    let mut windows: Vec<BoundWindow> = Vec::new();
    let mut numbers = Vec::new();
    for Call { window, call } in std::mem::take(&mut block.window_calls) {
        let out = block.columns.len();
        block.columns.push(BlockColumn { origin: ColumnOrigin::Window, ty: call.ty.clone() });
        numbers.push(out);
        let call = BoundWindowCall { call, out };
        let Window { partition, order, .. } = window;
        match windows.iter_mut().find(|known| known.partition == partition && known.order == order) {
            Some(known) => known.calls.push(call),
            None => windows.push(BoundWindow { partition, order, calls: vec![call] }),
        }
    }
    (windows, numbers)
}
