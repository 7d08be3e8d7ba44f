//! The parts of an instance and a session that system views and SHOW are computed from.

use crate::accounts::Access;
use crate::instance::Instance;
use crate::optimizer_trace::OptimizerTrace;
use crate::settings::Settings;
use leafline_planner::binder::BindContext;
use leafline_types::CancelToken;
use std::sync::Arc;

/// A session as system views see it.
pub(crate) struct SystemView<'s> {
    /// The instance.
    pub(crate) instance: &'s Arc<Instance>,
    /// The session's settings.
    pub(crate) settings: &'s Settings,
    /// The session's rights: it sees rows about objects that it may know.
    pub(crate) access: &'s Access,
    /// Cancels the statement.
    pub(crate) cancel: &'s CancelToken,
    /// Trace of the last traced statement.
    pub(crate) optimizer_trace: Option<&'s OptimizerTrace>,
    /// Binds the queries of views.
    pub(crate) binding: BindContext<'s>,
}
