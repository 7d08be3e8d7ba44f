//! The allocator of programs that bound the memory of all statements together.
//!
//! It hands every request on to another allocator and counts bytes in [`leafline_types::memory::server`]. Counting allocates
//! nothing and takes a thread-local addition.
//!
//! [`tune`] sets up the C library's allocator for a process in which single statements take much for a short time: large blocks
//! are mappings of their own, which go back to the system when they are freed, and free memory between others is given back when
//! the process holds much less than it did.
#![expect(unsafe_code, reason = "implements GlobalAlloc and sets parameters of the C library's allocator")]

use leafline_types::memory::server;
use std::alloc::{GlobalAlloc, Layout};

/// Blocks of this size are mappings of their own. A fixed threshold: by default it grows to 32 MiB with what was freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: libc::c_int = 1 << 20;

/// So much free memory at the end of a heap goes back to the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TRIM_BYTES: libc::c_int = 4 << 20;

/// Counts what `A` allocates.
pub struct CountingAllocator<A>(pub A);

// SAFETY: every call is handed on to `A` with the arguments it came with, and its result is returned. Counting neither allocates
// nor unwinds: it is arithmetic on a thread-local without destructor and on atomics.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        let block = unsafe { self.0.alloc(layout) };
        if !block.is_null() {
            server::allocated(layout.size());
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`: the block came from `self.0` with this layout.
        unsafe { self.0.dealloc(block, layout) };
        server::freed(layout.size());
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        if !block.is_null() {
            server::allocated(layout.size());
        }
        block
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`: the block came from `self.0` with this layout.
        let moved = unsafe { self.0.realloc(block, layout, new_size) };
        if !moved.is_null() {
            match new_size.checked_sub(layout.size()) {
                Some(more) => server::allocated(more),
                None => server::freed(layout.size() - new_size),
            }
        }
        moved
    }
}

/// Sets up the C library's allocator, for a program that uses it. Called once, before there are other threads.
pub fn tune() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: the calls set parameters of the allocator; a value it does not take changes nothing.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
            libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM_BYTES);
        }
        server::set_trim(|| {
            // SAFETY: the call gives free pages back to the system and changes nothing that is in use.
            unsafe { libc::malloc_trim(0) };
        });
    }
}
