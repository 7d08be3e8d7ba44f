//! A constant IN list as a set.

/// A constant IN list as a set.
#[derive(Debug, Default)]
pub struct InSet {}
