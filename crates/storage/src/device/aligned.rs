//! Memory aligned for direct I/O.
#![expect(unsafe_code, reason = "an aligned allocation has no safe form in std")]

use super::env::BLOCK;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A byte buffer whose address and length are multiples of [`BLOCK`]. It starts as zeros and has a fixed size.
pub struct AlignedBuf {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the buffer owns its memory as a `Vec<u8>` does, and gives it out only through `&` and `&mut`.
unsafe impl Send for AlignedBuf {}
// SAFETY: as above; `&` allows only shared reads of plain bytes.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// Makes a buffer of zeros of at least `len` bytes, rounded up to whole blocks.
    ///
    /// # Panics
    /// If no allocation can have `len` bytes.
    #[must_use]
    pub fn zeroed(len: usize) -> AlignedBuf {
        let len = len.next_multiple_of(BLOCK);
        if len == 0 {
            return AlignedBuf { start: NonNull::dangling(), len };
        }
        let layout = Self::layout(len);
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        match NonNull::new(start) {
            Some(start) => AlignedBuf { start, len },
            None => handle_alloc_error(layout),
        }
    }

    /// Makes a buffer that starts with `bytes` and is padded with zeros to whole blocks.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> AlignedBuf {
        let mut buf = AlignedBuf::zeroed(bytes.len());
        buf[..bytes.len()].copy_from_slice(bytes);
        buf
    }

    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len, BLOCK).unwrap_or_else(|_| panic!("a buffer of {len} bytes"))
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` is valid for `len` initialised bytes (or dangling with len 0), owned by self.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in deref; &mut self makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: allocated in `zeroed` with this layout, and not freed before.
            unsafe { dealloc(self.start.as_ptr(), Self::layout(self.len)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_whole_blocks() {
        for len in [0, 1, 4095, 4096, 4097, 1 << 20] {
            let buf = AlignedBuf::zeroed(len);
            assert_eq!(buf.len(), len.next_multiple_of(BLOCK));
            assert!(buf.is_empty() || buf.as_ptr().addr().is_multiple_of(BLOCK));
            assert!(buf.iter().all(|b| *b == 0));
        }
    }

    #[test]
    fn from_bytes_pads_with_zeros() {
        let buf = AlignedBuf::from_bytes(&[7; 5000]);
        assert_eq!(buf.len(), 8192);
        assert!(buf[..5000].iter().all(|b| *b == 7) && buf[5000..].iter().all(|b| *b == 0));
    }
}
