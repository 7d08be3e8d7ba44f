//! Where the pages of an index lie, how full they are and what of them is in memory.

use super::StoredIndex;
use crate::instance::Instance;
use leafline_btree::TreeMap;
use leafline_table::{TableError, Tree};
use leafline_types::MysqlError;

/// Leaves of an index that are looked at; of larger ones so many in all, spread evenly.
const MOST_LEAVES: usize = 4096;

/// An index from outside.
#[derive(Clone, Debug)]
pub struct IndexSize {
    /// Its database.
    pub database: String,
    /// Its table.
    pub table: String,
    /// Its name.
    pub index: String,
    /// The partition, of a table that has any.
    pub partition: Option<String>,
    /// The columns that it is ordered by.
    pub columns: Vec<String>,
    /// No two entries are alike.
    pub is_unique: bool,
    /// It is the table itself.
    pub is_clustered: bool,
    /// Runs of plans that may read it; those of a partitioned table count for each partition.
    pub uses: u64,
    /// Pages that it takes.
    pub pages: u64,
    /// Pages of it that are in memory.
    pub resident: u64,
}

/// The leaves of an index.
#[derive(Clone, Debug)]
pub struct PageMap {
    /// Stretches of neighbours, in the order of keys.
    pub tree: TreeMap,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages of the file.
    pub file_pages: u64,
    /// Levels, the leaves included.
    pub levels: u32,
}

impl Instance {
    /// The indexes of all tables, by name: what can be said of them without looking at a page.
    pub fn index_sizes(&self) -> Vec<IndexSize> {
        let store = self.engine().store();
        let segments = store.segments();
        let mut found = Vec::new();
        self.for_each_index(&mut |StoredIndex { table, partition, stored, index }| {
            let segment = segments.iter().find(|segment| segment.id == index.tree);
            let column = |at: &usize| table.columns.get(*at).map(|column| column.name.clone());
            // Plans name the indexes of the table.
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

    /// The leaves of an index; none if there is no such index.
    ///
    /// # Errors
    /// What the store returns.
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
