//! Windows and window functions of a block that is being bound.

use super::numbering::FIRST_WINDOW;
use crate::bound::OrderKey;
use crate::window::{Frame, WindowCall};
use leafline_expr::Expr;

/// A window with resolved names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Window {
    pub name: String,
    pub partition: Vec<Expr>,
    pub order: Vec<OrderKey>,
    pub frame: Option<Frame>,
}

/// A window function of a block that is being bound; number `FIRST_WINDOW + i`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) window: Window,
    pub(super) call: WindowCall,
}

impl Call {
    /// Calls `f` on each expression.
    pub(super) fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.window.partition.iter_mut().for_each(&mut *f);
        self.window.order.iter_mut().for_each(|key| f(&mut key.expr));
        self.call.for_each_expr_mut(f);
    }
}

/// The part of a window in which an expression is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowPlace {
    /// The arguments of the function.
    Argument,
    /// The window specification.
    Specification,
}

/// Whether a value of a block that is being bound holds a window function.
pub(super) fn has_window_function(expr: &Expr) -> bool {
    expr.any(&mut |e| e.as_column().is_some_and(|column| column >= FIRST_WINDOW))
}
