//! Places of characters in texts; in binary strings, of bytes.

/// Returns where character `n` begins; the end if there are fewer.
pub(crate) fn offset(text: &[u8], bytewise: bool, n: usize) -> usize {
    if bytewise {
        return n.min(text.len());
    }
    let mut starts = text.iter().enumerate().filter(|(_, b)| *b & 0xC0 != 0x80);
    starts.nth(n).map_or(text.len(), |(at, _)| at)
}

/// Returns how many characters a text has.
pub(crate) fn count_characters(text: &[u8], bytewise: bool) -> usize {
    if bytewise { text.len() } else { text.iter().filter(|b| *b & 0xC0 != 0x80).count() }
}
