//! The resources of a build, the token that cancels it, and its progress.

use crate::core::Core;
use leafline_types::{CancelToken, Progress};

/// The number of rows between two checks for cancellation.
pub(crate) const STEP: u64 = 256;

/// The terms of one build.
#[derive(Clone, Debug)]
pub struct BuildControl {
    /// The maximum memory for all its sorts together, in bytes.
    pub memory_bytes: u64,
    /// The maximum number of threads that sort and build, besides the caller's.
    pub threads: usize,
    /// Cancels the build.
    pub cancel: CancelToken,
    /// Receives its progress.
    pub progress: Progress,
}

impl BuildControl {
    /// The terms given by the engine's options; the build cannot be cancelled.
    pub fn of(core: &Core) -> BuildControl {
        BuildControl {
            memory_bytes: core.options.build_memory_bytes,
            threads: core.options.build_threads,
            cancel: CancelToken::default(),
            progress: Progress::default(),
        }
    }
}
