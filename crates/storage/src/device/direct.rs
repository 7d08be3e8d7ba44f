//! System calls that std lacks: direct I/O, vectored transfers at an offset, allocation, holes, locks.
#![expect(unsafe_code, reason = "system calls on descriptors and caller's buffers")]

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::AsRawFd;

/// Most buffers that the system takes in one vectored call (`IOV_MAX` on Linux).
const MAX_SLICES: usize = 1024;

/// Turns a system call's -1 into the error that it set.
fn check(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn to_offset(offset: u64) -> io::Result<libc::off_t> {
    libc::off_t::try_from(offset).map_err(|_| ErrorKind::InvalidInput.into())
}

/// Fills the buffers from consecutive bytes. A short read is [`ErrorKind::UnexpectedEof`].
pub(super) fn read_vectored(file: &File, mut bufs: &mut [IoSliceMut<'_>], mut offset: u64) -> io::Result<()> {
    while !bufs.is_empty() {
        let count = bufs.len().min(MAX_SLICES);
        let at = to_offset(offset)?;
        // SAFETY: IoSliceMut is laid out as iovec; the first `count` of them point to memory that is ours to write.
        let result =
            unsafe { libc::preadv(file.as_raw_fd(), bufs.as_mut_ptr().cast(), count as libc::c_int, at) };
        match check(result) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(done) => {
                IoSliceMut::advance_slices(&mut bufs, done);
                offset += done as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes the buffers to consecutive bytes.
pub(super) fn write_vectored(file: &File, mut bufs: &mut [IoSlice<'_>], mut offset: u64) -> io::Result<()> {
    while !bufs.is_empty() {
        let count = bufs.len().min(MAX_SLICES);
        let at = to_offset(offset)?;
        // SAFETY: IoSlice is laid out as iovec; the first `count` of them point to memory we may read.
        let result =
            unsafe { libc::pwritev(file.as_raw_fd(), bufs.as_ptr().cast(), count as libc::c_int, at) };
        match check(result) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(done) => {
                IoSlice::advance_slices(&mut bufs, done);
                offset += done as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Gives the bytes `from..to` blocks on the device, growing the file. Returns [`ErrorKind::Unsupported`] where the
/// file system cannot.
pub(super) fn allocate(file: &File, from: u64, to: u64) -> io::Result<()> {
    fallocate(file, 0, from, to)
}

/// Frees the blocks of the bytes `from..to`. Returns [`ErrorKind::Unsupported`] where the file system cannot.
pub(super) fn punch(file: &File, from: u64, to: u64) -> io::Result<()> {
    fallocate(file, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, from, to)
}

fn fallocate(file: &File, mode: libc::c_int, from: u64, to: u64) -> io::Result<()> {
    let (start, len) = (to_offset(from)?, to_offset(to.saturating_sub(from))?);
    loop {
        // SAFETY: a call on our own descriptor; no memory is involved.
        match check(unsafe { libc::fallocate(file.as_raw_fd(), mode, start, len) } as isize) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                return Err(ErrorKind::Unsupported.into());
            }
            Err(error) => return Err(error),
        }
    }
}

/// Locks the file for this open descriptor, until it is closed. Returns [`ErrorKind::WouldBlock`] if another
/// descriptor, of this process or another, holds the lock.
pub(super) fn lock(file: &File) -> io::Result<()> {
    // SAFETY: a call on our own descriptor; no memory is involved.
    check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } as isize).map(drop)
}
