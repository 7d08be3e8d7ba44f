//! How large a tree or a part of it is.

/// Sizes of a tree or a part of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extent {
    pub entries: f64,
    pub leaves: f64,
    pub resident: f64,
}
