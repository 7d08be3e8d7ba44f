//! What a build may use, who can stop it, and who is told how far it is.

use crate::engine::Engine;
use leafline_types::{CancelToken, Progress};

/// Terms of one build.
#[derive(Clone, Debug)]
pub struct BuildControl {
    /// Most bytes of memory for all its sorts together.
    pub memory_bytes: u64,
    /// Most threads that sort and build, besides the caller's.
    pub threads: usize,
    /// Stops it.
    pub cancel: CancelToken,
    /// Is told how far it is.
    pub progress: Progress,
}

impl BuildControl {
    /// As the engine was opened for; nobody stops it.
    pub fn of(engine: &Engine) -> BuildControl {
        BuildControl {
            memory_bytes: engine.options.build_memory_bytes,
            threads: engine.options.build_threads,
            cancel: CancelToken::default(),
            progress: Progress::default(),
        }
    }
}
