//! A row of the catalog's tree.

/// A row of the catalog.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CatalogRow {
    pub(crate) key: Vec<u8>,
    pub(crate) payload: Vec<u8>,
}
