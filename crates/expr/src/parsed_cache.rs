//! Keeps what was parsed of the texts that stay the same from row to row: patterns and paths.

use std::sync::Arc;

use leafline_types::error::MysqlError;

/// The last `KEPT` values that a statement has parsed, with the texts they were parsed from; a statement seldom has
/// more that stay the same from row to row.
#[derive(Debug)]
pub(crate) struct ParsedCache<K, V, const KEPT: usize>(Vec<(K, Arc<V>)>);

impl<K, V, const KEPT: usize> ParsedCache<K, V, KEPT> {
    /// Returns the value whose key `is_known` accepts, or else the one that `parse` makes, with its key.
    ///
    /// # Errors
    /// The errors of `parse`.
    pub(crate) fn get(
        &mut self,
        is_known: impl Fn(&K) -> bool,
        parse: impl FnOnce() -> Result<(K, V), MysqlError>,
    ) -> Result<Arc<V>, MysqlError> {
        if let Some((_, value)) = self.0.iter().find(|(key, _)| is_known(key)) {
            return Ok(value.clone());
        }
        let (key, value) = parse()?;
        let value = Arc::new(value);
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push((key, value.clone()));
        Ok(value)
    }
}

impl<K, V, const KEPT: usize> Default for ParsedCache<K, V, KEPT> {
    fn default() -> Self {
        ParsedCache(Vec::new())
    }
}

impl<K: Clone, V, const KEPT: usize> Clone for ParsedCache<K, V, KEPT> {
    fn clone(&self) -> Self {
        ParsedCache(self.0.clone())
    }
}
