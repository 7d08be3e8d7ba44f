//! What is in a log file.
//!
//! A file is blocks of [`BLOCK`] bytes. Block 0 is the file header; batches follow, each starting on a block. Integers
//! are little-endian, checksums CRC-32C.
//!
//! | file header bytes | field |
//! |---|---|
//! | 0..8 | magic `LEAFWAL2` |
//! | 8..12 | checksum of bytes 12..64 |
//! | 12..16 | checksum of the last batch before this file: the start of its chain |
//! | 16..24 | database id |
//! | 24..32 | sequence number, as in the file's name; a file whose name says otherwise is spare |
//! | 32..40 | incarnation: one more each time the log is opened for appending |
//! | 40..48 | salt |
//! | 48..56 | LSN of the first byte of the first batch |
//! | 56..64 | bytes of the file: a shorter one has lost its end |
//!
//! | batch bytes | field |
//! |---|---|
//! | 0..4 | magic |
//! | 4..8 | checksum of bytes 8.. to the end of the payload, seeded with the salt |
//! | 8..16 | salt of the file |
//! | 16..24 | sequence number of the file |
//! | 24..32 | LSN of the first payload byte |
//! | 32..40 | durable LSN, as known when the batch was written |
//! | 40..44 | payload bytes |
//! | 44..48 | checksum of the batch before |
//! | 48.. | payload: bytes of the stream; then zeros to the end of the block |
//!
//! The stream, in which LSNs count, is one group after the other, cut into batches anywhere:
//!
//! | group bytes | field |
//! |---|---|
//! | 0..4 | payload bytes |
//! | 4 | kind: 0 page records of one mini-transaction, others a logical record of that kind |
//! | 5.. | payload |

use crate::device::BLOCK;
use crate::ids::Lsn;

/// Bytes before a batch's payload.
pub(super) const BATCH_HEADER: usize = 48;
/// Most bytes of a batch, header and padding included: one write request.
pub(super) const MAX_BATCH: usize = 1 << 20;
/// Bytes before a group's payload.
pub(crate) const GROUP_HEADER: usize = 5;

const FILE_MAGIC: [u8; 8] = *b"LEAFWAL2";
const BATCH_MAGIC: [u8; 4] = *b"BTCH";
const FILE_HEADER: usize = 64;

const _: () = assert!(FILE_HEADER <= BLOCK && MAX_BATCH.is_multiple_of(BLOCK) && BATCH_HEADER < BLOCK);

/// Reads a little-endian integer; `None` past the end.
fn get<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

fn get_u32(bytes: &[u8], at: usize) -> Option<u32> {
    get(bytes, at).map(u32::from_le_bytes)
}

fn get_u64(bytes: &[u8], at: usize) -> Option<u64> {
    get(bytes, at).map(u64::from_le_bytes)
}

/// The header of a log file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileHeader {
    pub chain: u32,
    pub database_id: u64,
    pub sequence: u64,
    pub incarnation: u64,
    pub salt: u64,
    pub first: Lsn,
}

impl FileHeader {
    /// A header with the salt its numbers give. No two files of a database, in any incarnation, share one.
    pub fn new(database_id: u64, incarnation: u64, sequence: u64, first: Lsn, chain: u32) -> FileHeader {
        let salt = mix(mix(mix(database_id) ^ incarnation) ^ sequence);
        FileHeader { chain, database_id, sequence, incarnation, salt, first }
    }

    /// Writes the header, of a file of `file_bytes`, to the start of a block.
    pub fn encode(&self, file_bytes: u64, block: &mut [u8]) {
        block[..8].copy_from_slice(&FILE_MAGIC);
        block[12..16].copy_from_slice(&self.chain.to_le_bytes());
        block[16..24].copy_from_slice(&self.database_id.to_le_bytes());
        block[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        block[32..40].copy_from_slice(&self.incarnation.to_le_bytes());
        block[40..48].copy_from_slice(&self.salt.to_le_bytes());
        block[48..56].copy_from_slice(&self.first.0.to_le_bytes());
        block[56..64].copy_from_slice(&file_bytes.to_le_bytes());
        let checksum = crc32c::crc32c(&block[12..FILE_HEADER]);
        block[8..12].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads a header and how many bytes the file has to have; `None` if it is none or is damaged.
    pub fn decode(block: &[u8]) -> Option<(FileHeader, u64)> {
        let covered = block.get(12..FILE_HEADER)?;
        if get(block, 0)? != FILE_MAGIC || !is_right(get_u32(block, 8)?, crc32c::crc32c(covered)) {
            return None;
        }
        let header = FileHeader {
            chain: get_u32(block, 12)?,
            database_id: get_u64(block, 16)?,
            sequence: get_u64(block, 24)?,
            incarnation: get_u64(block, 32)?,
            salt: get_u64(block, 40)?,
            first: Lsn(get_u64(block, 48)?),
        };
        Some((header, get_u64(block, 56)?))
    }
}

/// The header of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BatchHeader {
    pub checksum: u32,
    pub salt: u64,
    pub sequence: u64,
    pub start: Lsn,
    pub durable: Lsn,
    pub payload: usize,
    pub previous: u32,
}

impl BatchHeader {
    /// Writes the header in front of the payload that is in `batch` already, and returns the checksum.
    pub fn seal(&self, batch: &mut [u8]) -> u32 {
        batch[..4].copy_from_slice(&BATCH_MAGIC);
        batch[8..16].copy_from_slice(&self.salt.to_le_bytes());
        batch[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        batch[24..32].copy_from_slice(&self.start.0.to_le_bytes());
        batch[32..40].copy_from_slice(&self.durable.0.to_le_bytes());
        batch[40..44].copy_from_slice(&(self.payload as u32).to_le_bytes());
        batch[44..48].copy_from_slice(&self.previous.to_le_bytes());
        let checksum = batch_checksum(self.salt, &batch[8..BATCH_HEADER + self.payload]);
        batch[4..8].copy_from_slice(&checksum.to_le_bytes());
        checksum
    }

    /// Reads a header without checking the payload; `None` if it is none.
    pub fn decode(block: &[u8]) -> Option<BatchHeader> {
        if get(block, 0)? != BATCH_MAGIC {
            return None;
        }
        let header = BatchHeader {
            checksum: get_u32(block, 4)?,
            salt: get_u64(block, 8)?,
            sequence: get_u64(block, 16)?,
            start: Lsn(get_u64(block, 24)?),
            durable: Lsn(get_u64(block, 32)?),
            payload: get_u32(block, 40)? as usize,
            previous: get_u32(block, 44)?,
        };
        (1..=MAX_BATCH - BATCH_HEADER).contains(&header.payload).then_some(header)
    }

    /// Bytes of the batch in the file.
    pub fn size(&self) -> usize {
        batch_size(self.payload)
    }

    /// LSN after the last payload byte.
    pub fn end(&self) -> Lsn {
        self.start.plus(self.payload as u64)
    }

    /// Whether `batch`, which begins with this header, is whole and unchanged.
    pub fn is_intact(&self, batch: &[u8]) -> bool {
        let covered = batch.get(8..BATCH_HEADER + self.payload);
        covered.is_some_and(|covered| is_right(self.checksum, batch_checksum(self.salt, covered)))
    }
}

/// Bytes a batch of this payload takes in a file.
pub(super) fn batch_size(payload: usize) -> usize {
    (BATCH_HEADER + payload).next_multiple_of(BLOCK)
}

/// Whether a checksum is what it should be. Under a fuzzer all are, or it would never get past them.
fn is_right(found: u32, expected: u32) -> bool {
    cfg!(fuzzing) || found == expected
}

fn batch_checksum(salt: u64, covered: &[u8]) -> u32 {
    // Mixed, or the seed would cancel a change of the salt in the bytes: a CRC is linear.
    crc32c::crc32c_append(mix(salt) as u32, covered)
}

/// The header of a group.
pub(crate) fn group_header(kind: u8, payload: u32) -> [u8; GROUP_HEADER] {
    let [a, b, c, d] = payload.to_le_bytes();
    [a, b, c, d, kind]
}

/// Kind and payload bytes of the group at the start of `stream`, if its header is there.
pub(crate) fn read_group_header(stream: &[u8]) -> Option<(u8, usize)> {
    Some((*stream.get(4)?, get_u32(stream, 0)? as usize))
}

/// Spreads the bits of a number (the finaliser of splitmix64).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_header_is_read_back_and_refused_when_any_byte_changed() {
        let header = FileHeader::new(7, 3, 12, Lsn(99), 0xabcd);
        let mut block = vec![0; BLOCK];
        header.encode(1 << 20, &mut block);
        assert_eq!(FileHeader::decode(&block), Some((header, 1 << 20)));
        for at in 0..FILE_HEADER {
            block[at] ^= 1;
            assert_eq!(FileHeader::decode(&block), None, "byte {at}");
            block[at] ^= 1;
        }
        assert_eq!(FileHeader::decode(&[]), None);
    }

    #[test]
    fn a_batch_is_intact_until_any_byte_changes_and_only_with_its_salt() {
        let header = BatchHeader {
            checksum: 0,
            salt: 5,
            sequence: 6,
            start: Lsn(7),
            durable: Lsn(4),
            payload: 100,
            previous: 9,
        };
        let mut batch = vec![3; header.size()];
        let checksum = header.seal(&mut batch);
        let read = BatchHeader::decode(&batch).unwrap();
        assert_eq!(read, BatchHeader { checksum, ..header });
        assert!(read.is_intact(&batch));
        assert!(!BatchHeader { salt: 4, ..read }.is_intact(&batch));
        for at in 0..BATCH_HEADER + 100 {
            batch[at] ^= 0x10;
            let intact = BatchHeader::decode(&batch).is_some_and(|read| read.is_intact(&batch));
            assert!(!intact, "byte {at}");
            batch[at] ^= 0x10;
        }
    }

    #[test]
    fn salts_differ_between_incarnations_files_and_databases() {
        let salt = |database, incarnation, sequence| {
            FileHeader::new(database, incarnation, sequence, Lsn::ZERO, 0).salt
        };
        let salts = [salt(1, 1, 1), salt(2, 1, 1), salt(1, 2, 1), salt(1, 1, 2)];
        for (i, a) in salts.iter().enumerate() {
            assert!(salts[i + 1..].iter().all(|b| a != b));
        }
    }
}
