//! The position of an index's leaves in the file, how full they are, and which are in memory.

use super::StoredIndex;
use crate::instance::Instance;
use leafline_btree::TreeMap;
use leafline_table::{TableError, Tree};
use leafline_types::MysqlError;

/// Limit of the examined leaves of an index; in larger ones as many leaves are spread evenly.
const MOST_LEAVES: usize = 4096;

/// Size and use of an index.
#[derive(Clone, Debug)]
pub struct IndexSize {
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
    /// The index.
    pub index: String,
    /// The partition, if the table has any.
    pub partition: Option<String>,
    /// The columns of the index, in its order.
    pub columns: Vec<String>,
    /// True for a unique index.
    pub is_unique: bool,
    /// True for the clustered index.
    pub is_clustered: bool,
    /// Executions of plans that may read it; an index of a partitioned table has one number for all
    /// partitions.
    pub uses: u64,
    /// Number of pages.
    pub pages: u64,
    /// Number of pages in memory.
    pub resident: u64,
}

/// The leaves of an index.
#[derive(Clone, Debug)]
pub struct PageMap {
    /// Groups of neighbouring leaves, in the order of keys.
    pub tree: TreeMap,
    /// Page size in bytes.
    pub page_bytes: u64,
    /// Number of pages of the file.
    pub file_pages: u64,
    /// Number of levels, including the leaves.
    pub levels: u32,
}

impl Instance {
    /// The indexes of all tables, by name, as far as they can be described without reading a page.
    pub fn index_sizes(&self) -> Vec<IndexSize> {
        let store = self.engine().store();
        let segments = store.segments();
        let mut found = Vec::new();
        self.for_each_index(&mut |StoredIndex { table, partition, stored, index }| {
            let segment = segments.iter().find(|segment| segment.id == index.tree);
            let column = |at: &usize| table.columns.get(*at).map(|column| column.name.clone());
            // Plans refer to the index of the table, not of the partition.
            let of_table = table.index(&index.name).map_or(index.id, |of_table| of_table.id);
            found.push(IndexSize {
                database: table.database.clone(),
                table: table.name.clone(),
                index: index.name.clone(),
                partition: partition.map(str::to_owned),
                columns: index.key_columns.iter().filter_map(column).collect(),
                is_unique: index.is_unique(),
                is_clustered: index.id == stored.clustered().id,
                uses: self.index_uses().of(of_table),
                pages: segment.map_or(0, |segment| segment.pages),
                resident: store.resident_pages(index.tree),
            });
            true
        });
        found
    }

    /// The leaves of an index; `None` if there is no such index.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn page_map(
        &self,
        database: &str,
        table: &str,
        index: &str,
        partition: Option<&str>,
    ) -> Result<Option<PageMap>, MysqlError> {
        let mut tree: Option<Result<Tree, TableError>> = None;
        self.for_each_index(&mut |known| {
            let is_it = known.table.database == database
                && known.table.name == table
                && known.index.name == index
                && known.partition == partition;
            if is_it {
                tree = Some(self.engine().tree(known.index));
            }
            !is_it
        });
        let Some(tree) = tree.transpose()? else { return Ok(None) };
        let store = self.engine().store();
        let map = tree.map(MOST_LEAVES).map_err(TableError::from)?;
        Ok(Some(PageMap {
            tree: map,
            page_bytes: store.page_size() as u64,
            file_pages: store.space_usage().file_pages,
            levels: tree.depth().map_err(TableError::from)?,
        }))
    }
}
