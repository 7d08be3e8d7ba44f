//! The modes of a search.

/// The mode of a search.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MatchMode {
    /// IN NATURAL LANGUAGE MODE.
    Natural,
    /// WITH QUERY EXPANSION: the words of the documents that are found are sought as well.
    Expanded,
    /// IN BOOLEAN MODE.
    Boolean,
}
