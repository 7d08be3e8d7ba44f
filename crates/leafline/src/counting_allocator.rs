//! The allocator of programs that limit the memory of all statements together.
//!
//! It passes every request on to another allocator and counts bytes in [`leafline_types::memory::server`]. Counting
//! allocates nothing and costs a thread-local addition. Large blocks come from files ([`overflow`]) while the process
//! is beyond its bound.
//!
//! [`tune`] configures the C library's allocator for a process in which single statements take much memory for a
//! short time: large blocks are separate mappings, which return to the system when they are freed, and other free
//! memory is returned when the process holds much less than it did.
#![expect(unsafe_code, reason = "implements GlobalAlloc and sets parameters of the C library's allocator")]

use crate::overflow;
use leafline_types::memory::server;
use std::alloc::{GlobalAlloc, Layout};

/// Blocks of this size are separate mappings. The threshold is fixed: by default it would grow to 32 MiB with what
/// was freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: libc::c_int = 1 << 20;

/// Free memory of this size at the end of a heap returns to the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TRIM_BYTES: libc::c_int = 4 << 20;

/// The number of the C library's arenas if the address space or the data of the process is limited. Threads of other
/// arenas cannot use what is free in an arena, and such limits count it even after its pages have been returned.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const ARENAS_WITHIN_LIMITS: libc::c_int = 2;

/// Blocks from this size on come from files while the process is beyond its bound, or while `A` has no memory.
const LARGE: usize = 1 << 20;

/// Counts what `A` allocates, and takes large blocks from files if that is too much.
pub struct CountingAllocator<A>(pub A);

impl<A: GlobalAlloc> CountingAllocator<A> {
    /// Allocates a large block, which the caller counts.
    #[cold]
    fn large(&self, layout: Layout, zeroed: bool) -> *mut u8 {
        let may_be_in_file = layout.align() <= overflow::PAGE;
        if may_be_in_file && server::used().saturating_add(layout.size()) > server::limit() {
            let block = overflow::allocate(layout.size());
            if !block.is_null() {
                return block;
            }
        }
        // SAFETY: a large layout is not of size zero.
        let block = unsafe {
            match zeroed {
                true => self.0.alloc_zeroed(layout),
                false => self.0.alloc(layout),
            }
        };
        if block.is_null() && may_be_in_file { overflow::allocate(layout.size()) } else { block }
    }

    /// Moves a block that is in a file, or that has to be because `A` has no room for it. Null if it was not moved.
    ///
    /// # Safety
    /// As of `realloc`.
    #[cold]
    unsafe fn moved(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(new_size, layout.align()) else {
            return std::ptr::null_mut();
        };
        // SAFETY: the caller says that the size is not zero.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: both blocks have that many bytes and do not overlap; the old one came from here with `layout`.
            unsafe {
                std::ptr::copy_nonoverlapping(block, moved, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
        }
        moved
    }
}

// SAFETY: every call is passed on to `A` with its arguments, and its result is returned; or the block is a mapping
// that `overflow` made, of the layout's size and alignment, which is returned there. Counting neither allocates nor
// unwinds: it is arithmetic on a thread-local without destructor and on atomics.
unsafe impl<A: GlobalAlloc> GlobalAlloc for CountingAllocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = match layout.size() < LARGE {
            // SAFETY: the caller keeps the contract of `alloc`.
            true => unsafe { self.0.alloc(layout) },
            false => self.large(layout, false),
        };
        if !block.is_null() {
            server::allocated(layout.size());
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !overflow::may_have(block) || !overflow::free(block) {
            // SAFETY: the caller keeps the contract of `dealloc`: the block came from `self.0` with this layout.
            unsafe { self.0.dealloc(block, layout) };
        }
        server::freed(layout.size());
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = match layout.size() < LARGE {
            // SAFETY: the caller keeps the contract of `alloc_zeroed`.
            true => unsafe { self.0.alloc_zeroed(layout) },
            false => self.large(layout, true),
        };
        if !block.is_null() {
            server::allocated(layout.size());
        }
        block
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if overflow::may_have(block)
            && let Some(bytes) = overflow::bytes_at(block)
        {
            if new_size > bytes || new_size < LARGE {
                // SAFETY: the caller keeps the contract of `realloc`.
                return unsafe { self.moved(block, layout, new_size) };
            }
            count_change(layout.size(), new_size);
            return block;
        }
        let grows = new_size >= LARGE && new_size > layout.size();
        if grows && server::used().saturating_add(new_size - layout.size()) > server::limit() {
            // SAFETY: the caller keeps the contract of `realloc`.
            return unsafe { self.moved(block, layout, new_size) };
        }
        // SAFETY: the caller keeps the contract of `realloc`: the block came from `self.0` with this layout.
        let moved = unsafe { self.0.realloc(block, layout, new_size) };
        if moved.is_null() && grows {
            // SAFETY: the caller keeps the contract of `realloc`, and the block has not moved.
            return unsafe { self.moved(block, layout, new_size) };
        }
        if !moved.is_null() {
            count_change(layout.size(), new_size);
        }
        moved
    }
}

#[inline]
fn count_change(before: usize, after: usize) {
    match after.checked_sub(before) {
        Some(more) => server::allocated(more),
        None => server::freed(before - after),
    }
}

/// Configures the C library's allocator, for a program that uses it. Called once, before there are other threads.
pub fn tune() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: the calls set parameters of the allocator, which ignores values that it does not accept, and read
        // limits into a variable of this function.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
            libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM_BYTES);
            let is_limited = |resource| {
                let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
                libc::getrlimit(resource, &raw mut limit) == 0 && limit.rlim_cur != libc::RLIM_INFINITY
            };
            if is_limited(libc::RLIMIT_AS) || is_limited(libc::RLIMIT_DATA) {
                libc::mallopt(libc::M_ARENA_MAX, ARENAS_WITHIN_LIMITS);
            }
        }
        server::set_trim(|| {
            // SAFETY: the call returns free pages to the system and changes nothing that is in use.
            unsafe { libc::malloc_trim(0) };
        });
    }
}
