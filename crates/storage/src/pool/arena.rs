//! The memory of the frames: one anonymous mapping made when the pool is made, with huge pages where the system gives
//! them.
//!
//! The arena owns the mapping and nothing else. The translation words decide who may touch which frame (see
//! [`super::word`]), and only the guards in [`super::guard`] make slices.
#![expect(unsafe_code, reason = "maps and unmaps the frames' memory")]

use crate::{Result, StorageError};
use std::io;
use std::ptr::NonNull;

/// Number of a frame in the arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameId(pub(crate) u32);

/// The frames' memory.
pub(crate) struct Arena {
    start: NonNull<u8>,
    bytes: usize,
    page_size: usize,
}

// SAFETY: the arena is plain memory and hands out addresses only. The code that makes a reference from an address is
// responsible for its exclusiveness.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Maps `frames` frames of `page_size` bytes, all zeros. The system commits the memory of a frame when it is
    /// first touched.
    pub(crate) fn new(frames: usize, page_size: usize) -> Result<Arena> {
        let bytes = frames.saturating_mul(page_size);
        // SAFETY: a new anonymous mapping at an address of the system's choice touches no other memory.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        let start = match NonNull::new(address.cast::<u8>()) {
            Some(start) if address != libc::MAP_FAILED => start,
            _ => {
                return Err(StorageError::io(
                    "allocate memory for",
                    "the buffer pool",
                    io::Error::last_os_error(),
                ));
            }
        };
        #[cfg(target_os = "linux")]
        // SAFETY: the range is the mapping just made. The call is advice: its failure changes nothing.
        unsafe {
            libc::madvise(address, bytes, libc::MADV_HUGEPAGE);
        }
        Ok(Arena { start, bytes, page_size })
    }

    /// Bytes of a frame.
    pub(crate) fn page_size(&self) -> usize {
        self.page_size
    }

    /// Returns the address of the frame's first byte. It is valid for `page_size` bytes as long as the arena lives.
    pub(crate) fn frame(&self, frame: FrameId) -> *mut u8 {
        let offset = frame.0 as usize * self.page_size;
        assert!(offset + self.page_size <= self.bytes, "frame {} is outside the arena", frame.0);
        // SAFETY: the offset was just checked to lie in the mapping.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// Gives the frame's memory back to the system. The frame reads as zeros when it is used again. The caller owns
    /// the frame.
    pub(crate) fn discard(&self, frame: FrameId) {
        // SAFETY: the range is one frame of the mapping, which nobody references: the caller owns it. The call
        // is advice: its failure changes nothing.
        unsafe {
            libc::madvise(self.frame(frame).cast(), self.page_size, libc::MADV_DONTNEED);
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` with this size; guards borrow the pool, so no reference is left.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), self.bytes);
        }
    }
}
