//! Where in the files a position of the stream is.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | sequence number of the file |
//! | 8..16 | byte offset of a batch in it |
//! | 16..24 | LSN of the group to start with, in that batch or later |

use crate::ids::Lsn;

/// Where a reader starts: the place of a batch, and the LSN of the first group wanted, in that batch or a later one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogPosition {
    /// Sequence number of the file, `wal/<sequence>.log`.
    pub sequence: u64,
    /// Byte offset of a batch in the file.
    pub offset: u64,
    /// LSN of the first group wanted; the start of a group.
    pub lsn: Lsn,
}

impl LogPosition {
    /// Bytes of the encoded form.
    pub const ENCODED: usize = 24;

    /// The encoded form, as in the table above.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::ENCODED] {
        let mut out = [0; Self::ENCODED];
        out[..8].copy_from_slice(&self.sequence.to_le_bytes());
        out[8..16].copy_from_slice(&self.offset.to_le_bytes());
        out[16..].copy_from_slice(&self.lsn.0.to_le_bytes());
        out
    }

    /// Reads the encoded form.
    #[must_use]
    pub fn decode(bytes: &[u8; Self::ENCODED]) -> LogPosition {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        LogPosition { sequence: word(0), offset: word(8), lsn: Lsn(word(16)) }
    }
}
