//! Tables of Leafline: catalog, indexes, transactions, versions, commit.
