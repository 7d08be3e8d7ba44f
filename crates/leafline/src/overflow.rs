//! Blocks of memory in files, for allocations of a process beyond its memory bound.
//!
//! A Rust program cannot handle an allocation that fails: the process ends. Statements therefore ask before
//! allocations that may be large (`leafline_types::memory::server`), but not every copy of a long value can ask.
//! [`CountingAllocator`](crate::CountingAllocator) takes such blocks from here while the process is beyond its bound,
//! or while the system has no memory: each is a mapping of its own file, which is already unlinked. The kernel may
//! write its pages to the disk, so that neither the process nor the limit of its control group is exceeded. The
//! statement ends with error 1041 when it next asks.
//!
//! | state of an entry of [`BLOCKS`] | address | bytes |
//! |---|---|---|
//! | free | 0 | any |
//! | being made or removed | [`TAKEN`] | any |
//! | a block | its address, a multiple of [`PAGE`] | the mapped length |
//!
//! Memory for this module comes from mappings only, because the allocator calls it.
#![expect(unsafe_code, reason = "maps files and writes through raw pointers for the allocator")]

use std::ffi::CString;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The alignment of mappings in bytes.
pub(crate) const PAGE: usize = 4096;

/// The most blocks at a time.
const MOST_BLOCKS: usize = 1024;

const TAKEN: usize = 1;

struct Block {
    address: AtomicUsize,
    bytes: AtomicUsize,
}

static BLOCKS: [Block; MOST_BLOCKS] =
    [const { Block { address: AtomicUsize::new(0), bytes: AtomicUsize::new(0) } }; MOST_BLOCKS];

/// The number of entries in use.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The template of the files' names. `mkstemp` replaces its six X.
static TEMPLATE: OnceLock<CString> = OnceLock::new();

/// The most bytes of a template, with the zero at its end.
const MOST_TEMPLATE: usize = 1024;

/// Sets the directory for blocks beyond the bound, once and for all, and creates it if it does not exist. Without a
/// directory, and on systems other than Linux, there are no such blocks.
pub fn set_directory(directory: &Path) {
    // If it cannot be created, no file can be created in it, and there are no blocks.
    let _ = std::fs::create_dir(directory);
    let name = directory.join("overflow.XXXXXX").into_os_string().into_encoded_bytes();
    if let Ok(template) = CString::new(name)
        && template.as_bytes_with_nul().len() <= MOST_TEMPLATE
    {
        // A second database of the process uses the directory of the first.
        let _ = TEMPLATE.set(template);
    }
}

/// Allocates a block of `bytes` zero bytes; null if that fails.
pub(crate) fn allocate(bytes: usize) -> *mut u8 {
    let Some(template) = TEMPLATE.get() else { return std::ptr::null_mut() };
    let free = |block: &&Block| {
        block.address.compare_exchange(0, TAKEN, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    let Some(entry) = BLOCKS.iter().find(free) else { return std::ptr::null_mut() };
    COUNT.fetch_add(1, Ordering::AcqRel);
    let address = map(template, bytes);
    if address.is_null() {
        COUNT.fetch_sub(1, Ordering::AcqRel);
        entry.address.store(0, Ordering::Release);
    } else {
        entry.bytes.store(bytes, Ordering::Release);
        entry.address.store(address.addr(), Ordering::Release);
    }
    address
}

/// Whether a block may be at `address`: false for nearly all addresses, at the cost of a comparison.
#[inline]
pub(crate) fn may_have(address: *mut u8) -> bool {
    address.addr().is_multiple_of(PAGE) && COUNT.load(Ordering::Acquire) > 0
}

/// Returns the length of the block at `address`, if it came from here.
#[cold]
pub(crate) fn bytes_at(address: *mut u8) -> Option<usize> {
    // The caller owns the block, so that its entry does not change meanwhile.
    let entry = BLOCKS.iter().find(|block| block.address.load(Ordering::Acquire) == address.addr())?;
    Some(entry.bytes.load(Ordering::Acquire))
}

/// Frees the block at `address`; returns false if it did not come from here.
#[cold]
pub(crate) fn free(address: *mut u8) -> bool {
    let owned = |block: &&Block| {
        let taken =
            block.address.compare_exchange(address.addr(), TAKEN, Ordering::AcqRel, Ordering::Relaxed);
        taken.is_ok()
    };
    let Some(entry) = BLOCKS.iter().find(owned) else { return false };
    unmap(address, entry.bytes.load(Ordering::Acquire));
    entry.address.store(0, Ordering::Release);
    COUNT.fetch_sub(1, Ordering::AcqRel);
    true
}

/// Maps a new file of `bytes` bytes, whose disk space is allocated; null if that fails.
#[cfg(target_os = "linux")]
fn map(template: &CString, bytes: usize) -> *mut u8 {
    let null = std::ptr::null_mut();
    let Ok(length) = libc::off_t::try_from(bytes) else { return null };
    let mut name = [0u8; MOST_TEMPLATE];
    let template = template.as_bytes_with_nul();
    let Some(begin) = name.get_mut(..template.len()) else { return null };
    begin.copy_from_slice(template);
    // SAFETY: `name` is a string with a zero at its end, which the call may change; the call creates a new file.
    let file = unsafe { libc::mkstemp(name.as_mut_ptr().cast()) };
    if file < 0 {
        return null;
    }
    // SAFETY: `name` is the name of the file, with a zero at its end; `file` is open. Without disk space a write to
    // the mapping would raise a signal, so the file is not mapped then.
    let has_room = unsafe {
        libc::unlink(name.as_ptr().cast());
        libc::posix_fallocate(file, 0, length) == 0
    };
    let address = if has_room {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of an open file, at an address of the kernel's choice.
        unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file, 0) }
    } else {
        libc::MAP_FAILED
    };
    // SAFETY: `file` is open and not used any more; a mapping keeps the file.
    unsafe { libc::close(file) };
    if address == libc::MAP_FAILED { null } else { address.cast() }
}

#[cfg(target_os = "linux")]
fn unmap(address: *mut u8, bytes: usize) {
    // SAFETY: `map` mapped that many bytes there, and this thread has taken the entry, so nobody uses them any more.
    unsafe { libc::munmap(address.cast(), bytes) };
}

#[cfg(not(target_os = "linux"))]
fn map(_template: &CString, _bytes: usize) -> *mut u8 {
    std::ptr::null_mut()
}

#[cfg(not(target_os = "linux"))]
fn unmap(_address: *mut u8, _bytes: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// One test, because the table belongs to the process.
    #[test]
    fn blocks_lie_in_files_that_have_no_names_and_are_found_again() {
        const BYTES: usize = (3 << 20) + 5;
        assert!(allocate(BYTES).is_null(), "there is no directory");
        let folder = tempfile::tempdir().expect("a directory");
        let directory = folder.path().join("temp");
        set_directory(&directory);
        let blocks: Vec<*mut u8> = (0..3).map(|_| allocate(BYTES)).collect();
        for (n, block) in blocks.iter().enumerate() {
            assert!(may_have(*block) && bytes_at(*block) == Some(BYTES));
            // SAFETY: the block has that many bytes, and nobody else uses it.
            let bytes = unsafe { std::slice::from_raw_parts_mut(*block, BYTES) };
            assert!(bytes.iter().all(|byte| *byte == 0));
            bytes.fill(n as u8 + 1);
        }
        assert_eq!(std::fs::read_dir(&directory).expect("a directory").count(), 0);
        for (n, block) in blocks.iter().enumerate() {
            // SAFETY: as above.
            let bytes = unsafe { std::slice::from_raw_parts(*block, BYTES) };
            assert!(bytes.iter().all(|byte| *byte == n as u8 + 1));
            assert!(free(*block) && !free(*block));
        }
        assert!(!may_have(blocks[0]), "no block is left");
        // A file that the disk has no room for is not mapped.
        assert!(allocate(1 << 60).is_null());
        assert_eq!(COUNT.load(Ordering::Acquire), 0);
    }
}
