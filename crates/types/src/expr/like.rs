//! LIKE patterns.

/// A LIKE pattern made ready for matching.
#[derive(Debug, Default)]
pub struct LikePattern {}
