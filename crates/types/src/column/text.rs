//! Builds a column of character strings.
//!
//! Unlike arrow's builder it takes many strings at once and checks their bytes together: most text is ASCII, and one
//! long piece is checked faster than many short ones.

use arrow_array::StringArray;
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};

use crate::error::CodecError;
use crate::memory::server;
use crate::short::extend_short;

/// The most bytes of strings in one column: Arrow's offsets are `i32`.
pub(super) const MAX_STRING_BYTES: usize = i32::MAX as usize;

/// A column that grows beyond this many bytes asks the server for the memory.
const LARGE_BYTES: usize = 8 << 20;

/// Builds a column of character strings. Its content is always UTF-8.
#[derive(Debug)]
pub struct TextBuilder {
    values: Vec<u8>,
    /// The offset at which each string begins, and the end.
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

const NOT_UTF8: CodecError = CodecError::Malformed { what: "UTF-8 string" };

impl TextBuilder {
    /// Makes an empty builder with room for `rows` strings of `bytes` bytes in all.
    pub(super) fn with_capacity(rows: usize, bytes: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        TextBuilder { values: Vec::with_capacity(bytes), offsets, nulls: NullBufferBuilder::new(rows) }
    }

    /// Returns the number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn append_null(&mut self) {
        self.offsets.push(self.values.len() as i32);
        self.nulls.append_null();
    }

    /// Appends a string.
    #[inline]
    pub(super) fn append(&mut self, s: &str) -> Result<(), CodecError> {
        check_room(self.values.len(), s.len())?;
        self.push(s.as_bytes());
        Ok(())
    }

    #[inline]
    fn push(&mut self, s: &[u8]) {
        extend_short(&mut self.values, s);
        self.offsets.push(self.values.len() as i32);
        self.nulls.append_non_null();
    }

    /// Appends the string that `write` appends to the bytes, which must be UTF-8. An error leaves the column as it
    /// was.
    #[inline]
    pub(crate) fn append_written<R>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<R, CodecError>,
    ) -> Result<R, CodecError> {
        let start = self.values.len();
        let written = write(&mut self.values);
        let len = self.values.len().saturating_sub(start);
        let written = written.and_then(|written| check_room(start, len).map(|()| written));
        if written.is_err() {
            self.values.truncate(start);
            return written;
        }
        self.offsets.push(self.values.len() as i32);
        self.nulls.append_non_null();
        written
    }

    /// Appends up to 64 strings, with NULL where a bit of `nulls` is set. An error leaves the column as it was.
    pub(crate) fn append_all(&mut self, strings: &[&[u8]], nulls: u64) -> Result<(), CodecError> {
        let start = self.values.len();
        check_room(start, strings.iter().map(|s| s.len()).sum())?;
        for s in strings {
            extend_short(&mut self.values, s);
        }
        let ascii = self.values.get(start..).is_some_and(<[u8]>::is_ascii);
        if !ascii && !strings.iter().all(|s| std::str::from_utf8(s).is_ok()) {
            self.values.truncate(start);
            return Err(NOT_UTF8);
        }
        let mut end = start;
        self.offsets.extend(strings.iter().map(|s| {
            end += s.len();
            end as i32
        }));
        match nulls {
            0 => self.nulls.append_n_non_nulls(strings.len()),
            _ => (0..strings.len()).for_each(|row| self.nulls.append(nulls & 1 << row == 0)),
        }
        Ok(())
    }

    /// Returns the column and leaves the builder empty.
    pub(super) fn finish(&mut self) -> StringArray {
        let empty = TextBuilder::with_capacity(0, 0);
        let TextBuilder { values, offsets, mut nulls } = std::mem::replace(self, empty);
        // Checks all of the text again, which is quick.
        StringArray::new(
            OffsetBuffer::new(ScalarBuffer::from(offsets)),
            Buffer::from_vec(values),
            nulls.finish(),
        )
    }
}

/// Returns the bytes as text, or an error if they are not UTF-8.
pub(super) fn text_of(s: &[u8]) -> Result<&str, CodecError> {
    std::str::from_utf8(s).map_err(|_| NOT_UTF8)
}

/// Checks that a column with `used` bytes of strings can take `more`.
#[inline]
pub(super) fn check_room(used: usize, more: usize) -> Result<(), CodecError> {
    if used + more <= LARGE_BYTES { Ok(()) } else { check_large(used, more) }
}

#[cold]
fn check_large(used: usize, more: usize) -> Result<(), CodecError> {
    if more > MAX_STRING_BYTES.saturating_sub(used) {
        return Err(CodecError::BatchFull { bytes: more });
    }
    // A growing buffer is copied into one of twice its size.
    server::ask(more.max(used)).map_err(|error| CodecError::OutOfMemory(Box::new(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use arrow_array::Array;
    use rand::Rng;

    /// Strings appended in any way read back unchanged; text that is not UTF-8 is refused and changes nothing.
    #[test]
    fn strings_come_back() {
        let mut rng = testing::rng("strings_come_back");
        for _ in 0..testing::iterations(300) {
            let mut builder = TextBuilder::with_capacity(0, 0);
            let mut expected: Vec<Option<String>> = Vec::new();
            for _ in 0..rng.random_range(0..8) {
                let some: Vec<Option<String>> = (0..rng.random_range(0..=64))
                    .map(|_| rng.random_ratio(4, 5).then(|| testing::text(&mut rng, 20)))
                    .collect();
                if rng.random() {
                    let nulls = some.iter().enumerate().map(|(row, s)| u64::from(s.is_none()) << row).sum();
                    let mut bytes: Vec<&[u8]> =
                        some.iter().map(|s| s.as_deref().unwrap_or("").as_bytes()).collect();
                    builder.append_all(&bytes, nulls).unwrap();
                    if let Some(first) = bytes.first_mut() {
                        *first = &[b'a', 0xc3];
                        assert!(builder.append_all(&bytes, nulls).is_err());
                    }
                } else {
                    for s in &some {
                        match s {
                            Some(s) => builder.append(s).unwrap(),
                            None => builder.append_null(),
                        }
                    }
                }
                expected.extend(some);
            }
            assert_eq!(builder.len(), expected.len());
            let found = builder.finish();
            assert_eq!(found.len(), expected.len());
            assert!(found.iter().eq(expected.iter().map(|s| s.as_deref())));
            assert!(builder.is_empty() && builder.finish().is_empty());
        }
    }
}
