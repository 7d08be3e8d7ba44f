//! Reads and writes little-endian integers in byte slices, with bounds checked.
//!
//! Outside the slice, reads return `None` and writes return false, so no length found on disk can cause a panic.

/// Returns the `N` bytes at `at`.
pub fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Returns the byte at `at`.
pub fn u8_at(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

/// Returns the u16 at `at`.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array_at(bytes, at).map(u16::from_le_bytes)
}

/// Returns the u32 at `at`.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array_at(bytes, at).map(u32::from_le_bytes)
}

/// Returns the u64 at `at`.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array_at(bytes, at).map(u64::from_le_bytes)
}

/// Copies `value` to `at`. Returns false, and writes nothing, if it does not fit.
pub fn put(bytes: &mut [u8], at: usize, value: &[u8]) -> bool {
    match at.checked_add(value.len()).and_then(|end| bytes.get_mut(at..end)) {
        Some(target) => {
            target.copy_from_slice(value);
            true
        }
        None => false,
    }
}

/// Reads a byte string from front to back.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first byte of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// Returns the bytes that were not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads the next `len` bytes.
    pub fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.rest.split_at_checked(len)?;
        self.rest = tail;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// Reads the next byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[b]| b)
    }

    /// Reads the next u16.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads the next u32.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads the next u64.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_past_the_end_are_refused() {
        let mut bytes = [1u8, 2, 3, 4];
        assert_eq!(u32_at(&bytes, 0), Some(0x0403_0201));
        assert_eq!(u32_at(&bytes, 1), None);
        assert_eq!(u16_at(&bytes, usize::MAX), None);
        assert!(!put(&mut bytes, 3, &[9, 9]));
        assert!(!put(&mut bytes, usize::MAX, &[9]));
        assert!(put(&mut bytes, 2, &[9, 9]));
        assert_eq!(bytes, [1, 2, 9, 9]);
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.u16(), Some(0x0201));
        assert_eq!(reader.u32(), None);
        assert_eq!(reader.take(2), Some(&[9u8, 9][..]));
        assert!(reader.is_empty());
    }
}
