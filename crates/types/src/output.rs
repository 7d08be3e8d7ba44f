//! The buffer for a string whose length a statement decides.
//!
//! It is the one home of the rules for such strings. No string is longer than `max_allowed_packet` (or than the
//! longest of its arguments). The memory is requested in a way that can fail (1041), and not before the length is
//! known to be allowed. A writer checks for cancellation every 256 KiB.

use crate::error::MysqlError;
use crate::memory::server;
use crate::statement::{CancelTicker, CancelToken};

/// The number of bytes that are written or examined between two checks for cancellation.
pub const BYTES_BETWEEN_CHECKS: usize = 1 << 18;

/// From this size on, memory is requested in a way that can fail.
const LARGE: usize = 1 << 20;

/// Why a string was not made.
#[derive(Debug)]
pub enum Stop {
    /// It would be longer than allowed: warning 1301 and NULL.
    TooLong,
    /// The statement ends with this error.
    Error(MysqlError),
}

impl From<MysqlError> for Stop {
    fn from(error: MysqlError) -> Self {
        Stop::Error(error)
    }
}

/// A growing string.
#[derive(Debug)]
pub struct Output<'c> {
    bytes: Vec<u8>,
    most: usize,
    steps: CancelTicker<'c>,
}

impl<'c> Output<'c> {
    /// Makes an empty string that may grow to `most` bytes.
    pub fn new(most: usize, cancel: &'c CancelToken) -> Self {
        Output { bytes: Vec::new(), most, steps: CancelTicker::new(cancel, BYTES_BETWEEN_CHECKS) }
    }

    /// Makes room for `more` bytes, for callers that know the length beforehand.
    pub fn reserve(&mut self, more: usize) -> Result<(), Stop> {
        if more > self.most.saturating_sub(self.bytes.len()) {
            return Err(Stop::TooLong);
        }
        if more > self.bytes.capacity() - self.bytes.len() {
            self.extend(more)?;
        }
        Ok(())
    }

    /// Appends `part`.
    #[inline]
    pub fn push(&mut self, part: &[u8]) -> Result<(), Stop> {
        if part.len() > self.bytes.capacity() - self.bytes.len()
            || part.len() > self.most.saturating_sub(self.bytes.len())
        {
            self.grow(part.len())?;
        }
        self.bytes.extend_from_slice(part);
        Ok(self.steps.take(part.len())?)
    }

    /// Makes room for `more` bytes, and doubles the buffer within what is allowed.
    #[cold]
    fn grow(&mut self, more: usize) -> Result<(), Stop> {
        let have = self.bytes.len();
        let left = self.most.saturating_sub(have);
        if more > left {
            return Err(Stop::TooLong);
        }
        let wanted = more.max(have.min(left));
        Ok(self.extend(wanted)?)
    }

    fn extend(&mut self, more: usize) -> Result<(), MysqlError> {
        if more >= LARGE {
            server::ask(more)?;
        }
        self.bytes.try_reserve_exact(more).map_err(|_| MysqlError::out_of_resources())
    }

    /// Appends a byte.
    #[inline]
    pub fn push_byte(&mut self, byte: u8) -> Result<(), Stop> {
        self.push(&[byte])
    }

    /// Appends a character.
    #[inline]
    pub fn push_char(&mut self, c: char) -> Result<(), Stop> {
        self.push(c.encode_utf8(&mut [0; 4]).as_bytes())
    }

    /// Appends `part`, `count` times.
    pub fn push_repeated(&mut self, part: &[u8], count: usize) -> Result<(), Stop> {
        let total = part.len().checked_mul(count).ok_or(Stop::TooLong)?;
        if total == 0 {
            return Ok(());
        }
        self.reserve(total)?;
        // Short parts are joined to a block first, so that each step copies more bytes.
        const BLOCK: usize = 4096;
        let group = (BLOCK / part.len().max(1)).min(count);
        if group < 2 {
            return (0..count).try_for_each(|_| self.push(part));
        }
        let block = part.repeat(group);
        for _ in 0..count / group {
            self.push(&block)?;
        }
        self.push(&block[..count % group * part.len()])
    }

    /// Cuts the string to `bytes` bytes.
    pub fn truncate(&mut self, bytes: usize) {
        self.bytes.truncate(bytes);
    }

    /// Counts bytes that were read without being written, for the checks for cancellation.
    #[inline]
    pub fn read(&mut self, bytes: usize) -> Result<(), Stop> {
        Ok(self.steps.take(bytes)?)
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes written so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A write fails if the string would be too long or the statement has to end; [`Output::push`] tells these apart.
impl std::fmt::Write for Output<'_> {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        self.push(s.as_bytes()).map_err(|_| std::fmt::Error)
    }
}

/// Checks that `bytes` bytes can be allocated, else returns 1041. Called before shared values are made, whose own
/// allocation aborts on failure.
pub fn room_for(bytes: usize) -> Result<(), MysqlError> {
    if bytes < LARGE {
        return Ok(());
    }
    server::ask(bytes)?;
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| MysqlError::out_of_resources())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::CancelReason;

    #[test]
    fn a_string_ends_where_it_is_too_long_before_room_is_made() {
        let cancel = CancelToken::new();
        let mut out = Output::new(10, &cancel);
        out.push(b"12345678").unwrap();
        assert!(matches!(out.push(b"901"), Err(Stop::TooLong)));
        assert!(matches!(out.push_repeated(b"x", usize::MAX / 2), Err(Stop::TooLong)));
        out.push(b"90").unwrap();
        assert!(matches!(out.push_byte(b'1'), Err(Stop::TooLong)));
        assert_eq!(out.as_bytes(), b"1234567890");
        let mut huge = Output::new(usize::MAX, &cancel);
        assert!(matches!(huge.reserve(usize::MAX / 4), Err(Stop::Error(e)) if e.code == 1041));
        assert_eq!(room_for(usize::MAX / 4).unwrap_err().code, 1041);
    }

    #[test]
    fn a_long_string_is_cancelled_between_its_pieces() {
        let cancel = CancelToken::new();
        let mut out = Output::new(usize::MAX, &cancel);
        out.push_repeated(b"ab", 10).unwrap();
        cancel.cancel(CancelReason::QueryKilled);
        let stopped = out.push_repeated(b"ab", BYTES_BETWEEN_CHECKS * 10);
        assert!(matches!(stopped, Err(Stop::Error(e)) if e.code == 1317));
        assert!(out.len() <= BYTES_BETWEEN_CHECKS + 4096);
    }
}
