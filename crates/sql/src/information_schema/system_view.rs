//! The parts of a server and of one session that tables of information_schema, and SHOW, are computed from.

use crate::accounts::Access;
use crate::instance::Instance;
use crate::optimizer_trace::OptimizerTrace;
use crate::settings::Settings;
use leafline_planner::binder::BindContext;
use leafline_types::CancelToken;
use std::sync::Arc;

/// A session, as far as computed tables show it or obey it.
pub(crate) struct SystemView<'s> {
    /// The instance.
    pub(crate) instance: &'s Arc<Instance>,
    /// The session's settings.
    pub(crate) settings: &'s Settings,
    /// What the session may do: the rows are about what it may know of.
    pub(crate) access: &'s Access,
    /// Stops the statement.
    pub(crate) cancel: &'s CancelToken,
    /// The trace of the last statement that was traced.
    pub(crate) optimizer_trace: Option<&'s OptimizerTrace>,
    /// Binds the queries of views.
    pub(crate) binding: BindContext<'s>,
}
