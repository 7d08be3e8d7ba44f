//! The longest keys and entries of a tree.

/// Longest key that any page size allows, in bytes.
pub const MAX_KEY_LEN: usize = 3072;

/// Returns the longest key on pages of `page_size` bytes: 768 at 4 KiB, 1536 at 8 KiB, 3072 above, as in InnoDB.
pub fn max_key_len(page_size: usize) -> usize {
    (page_size / 16 * 3).min(MAX_KEY_LEN)
}

/// Returns the most bytes of key and payload together.
pub fn max_entry_len(page_size: usize) -> usize {
    page_size / 2
}
