//! Limits and thresholds.

/// Longest key any page size allows, in bytes.
pub const MAX_KEY_LEN: usize = 3072;

/// Longest key on pages of `page_size` bytes: 768 at 4 KiB, 1536 at 8 KiB, 3072 above, as InnoDB has it.
pub fn max_key_len(page_size: usize) -> usize {
    (page_size / 16 * 3).min(MAX_KEY_LEN)
}

/// Most bytes that key and payload may have together.
pub fn max_entry_len(page_size: usize) -> usize {
    page_size / 2
}
