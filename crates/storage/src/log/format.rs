//! The byte layout of a log file.
//!
//! A file is blocks of [`BLOCK`] bytes. Block 0 is the file header; batches follow, each starting on a block. Integers
//! are little-endian, checksums CRC-32C.
//!
//! | file header bytes | field |
//! |---|---|
//! | 0..8 | magic `LEAFWAL3`; `LEAFWAL2`: no batch is compressed |
//! | 8..12 | checksum of bytes 12..64 |
//! | 12..16 | checksum of the last batch before this file: the start of its chain |
//! | 16..24 | database id |
//! | 24..32 | sequence number, as in the file's name; in a spare file the two differ |
//! | 32..40 | incarnation: one more each time the log is opened for appending |
//! | 40..48 | salt |
//! | 48..56 | LSN of the first byte of the first batch |
//! | 56..64 | bytes of the file: a shorter one has lost its end |
//!
//! | batch bytes | field |
//! |---|---|
//! | 0..4 | magic: `BTCH`, or `BTCZ` of a compressed batch |
//! | 4..8 | checksum of bytes 8.. to the end of the payload, seeded with the salt and with what the batch is |
//! | 8..16 | salt of the file |
//! | 16..24 | sequence number of the file |
//! | 24..32 | LSN of the first byte of the stream in it |
//! | 32..40 | durable LSN, as known when the batch was written |
//! | 40..44 | payload bytes |
//! | 44..48 | checksum of the batch before |
//! | 48.. | payload; then zeros to the end of the block |
//!
//! The payload is bytes of the stream. The payload of a compressed batch is the number of stream bytes in 4 bytes, at most [`MAX_STREAM`], and then
//! an LZ4 block that decompresses to them.
//!
//! The stream, in which LSNs count bytes, is one group after the other. Batches cut it at any byte:
//!
//! | group bytes | field |
//! |---|---|
//! | 0..4 | payload bytes |
//! | 4 | kind: 0 page records of one mini-transaction, others a logical record of that kind |
//! | 5.. | payload |

use crate::device::BLOCK;
use crate::ids::Lsn;
use std::ops::Range;

/// Bytes before a batch's payload.
pub(super) const BATCH_HEADER: usize = 48;
/// Bytes of a compressed payload before the LZ4 block.
pub(super) const STREAM_LENGTH: usize = 4;
/// Largest size of a batch in bytes, header and padding included: one write request.
pub(super) const MAX_BATCH: usize = 1 << 20;
/// Largest number of bytes of the stream in a batch.
pub(super) const MAX_STREAM: usize = MAX_BATCH - BATCH_HEADER;
/// Bytes before a group's payload.
pub(crate) const GROUP_HEADER: usize = 5;

const FILE_MAGIC: [u8; 8] = *b"LEAFWAL3";
const UNCOMPRESSED_FILE_MAGIC: [u8; 8] = *b"LEAFWAL2";
const BATCH_MAGIC: [u8; 4] = *b"BTCH";
const COMPRESSED_MAGIC: [u8; 4] = *b"BTCZ";
const FILE_HEADER: usize = 64;

const _: () = assert!(FILE_HEADER <= BLOCK && MAX_BATCH.is_multiple_of(BLOCK) && BATCH_HEADER < BLOCK);

/// Reads a little-endian integer. Returns `None` past the end.
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
    /// Makes a header with a salt computed from its numbers. No two files of a database, in any incarnation, share a salt.
    pub fn new(database_id: u64, incarnation: u64, sequence: u64, first: Lsn, chain: u32) -> FileHeader {
        let salt = mix(mix(mix(database_id) ^ incarnation) ^ sequence);
        FileHeader { chain, database_id, sequence, incarnation, salt, first }
    }

    /// Writes the header of a file of `file_bytes` to the start of a block.
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

    /// Reads a header and the number of bytes that the file has to have. Returns `None` if the block holds no header or a damaged one.
    pub fn decode(block: &[u8]) -> Option<(FileHeader, u64)> {
        let covered = block.get(12..FILE_HEADER)?;
        let is_known = [FILE_MAGIC, UNCOMPRESSED_FILE_MAGIC].contains(&get(block, 0)?);
        if !is_known || !is_right(get_u32(block, 8)?, crc32c::crc32c(covered)) {
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
    /// Bytes of the stream that the payload decompresses to, if it is compressed.
    pub compressed: Option<usize>,
    pub previous: u32,
}

impl BatchHeader {
    /// Writes the header in front of the payload, which is in `batch` already. Returns the checksum.
    pub fn seal(&self, batch: &mut [u8]) -> u32 {
        let magic = if self.compressed.is_some() { COMPRESSED_MAGIC } else { BATCH_MAGIC };
        batch[..4].copy_from_slice(&magic);
        batch[8..16].copy_from_slice(&self.salt.to_le_bytes());
        batch[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        batch[24..32].copy_from_slice(&self.start.0.to_le_bytes());
        batch[32..40].copy_from_slice(&self.durable.0.to_le_bytes());
        batch[40..44].copy_from_slice(&(self.payload as u32).to_le_bytes());
        batch[44..48].copy_from_slice(&self.previous.to_le_bytes());
        if let Some(stream) = self.compressed {
            batch[BATCH_HEADER..BATCH_HEADER + STREAM_LENGTH].copy_from_slice(&(stream as u32).to_le_bytes());
        }
        let checksum = self.checksum_of(&batch[8..BATCH_HEADER + self.payload]);
        batch[4..8].copy_from_slice(&checksum.to_le_bytes());
        checksum
    }

    /// Reads a header without checking the payload. Returns `None` if the block holds none.
    pub fn decode(block: &[u8]) -> Option<BatchHeader> {
        let compressed = match get(block, 0)? {
            BATCH_MAGIC => None,
            COMPRESSED_MAGIC => Some(get_u32(block, BATCH_HEADER)? as usize),
            _ => return None,
        };
        let header = BatchHeader {
            checksum: get_u32(block, 4)?,
            salt: get_u64(block, 8)?,
            sequence: get_u64(block, 16)?,
            start: Lsn(get_u64(block, 24)?),
            durable: Lsn(get_u64(block, 32)?),
            payload: get_u32(block, 40)? as usize,
            compressed,
            previous: get_u32(block, 44)?,
        };
        let least = if compressed.is_some() { STREAM_LENGTH + 1 } else { 1 };
        let is_possible = (least..=MAX_BATCH - BATCH_HEADER).contains(&header.payload)
            && (1..=MAX_STREAM).contains(&header.stream());
        is_possible.then_some(header)
    }

    /// Returns the bytes of the batch in the file.
    pub fn size(&self) -> usize {
        batch_size(self.payload)
    }

    /// Returns the bytes of the stream in the batch.
    pub fn stream(&self) -> usize {
        self.compressed.unwrap_or(self.payload)
    }

    /// Returns the range of the batch that holds the bytes of the stream, compressed or not.
    pub fn content(&self) -> Range<usize> {
        let before = if self.compressed.is_some() { STREAM_LENGTH } else { 0 };
        BATCH_HEADER + before..BATCH_HEADER + self.payload
    }

    /// Returns the LSN after the last byte of the stream in the batch.
    pub fn end(&self) -> Lsn {
        self.start.plus(self.stream() as u64)
    }

    /// Returns whether `batch`, which begins with this header, is whole and unchanged.
    pub fn is_intact(&self, batch: &[u8]) -> bool {
        let covered = batch.get(8..BATCH_HEADER + self.payload);
        covered.is_some_and(|covered| is_right(self.checksum, self.checksum_of(covered)))
    }

    fn checksum_of(&self, covered: &[u8]) -> u32 {
        // The salt is mixed before it becomes the seed. A CRC is linear: an unmixed seed would cancel a change of the salt in the bytes.
        crc32c::crc32c_append(mix(self.salt) as u32 ^ u32::from(self.compressed.is_some()), covered)
    }
}

/// Returns the bytes that a batch of this payload takes in a file.
pub(super) fn batch_size(payload: usize) -> usize {
    (BATCH_HEADER + payload).next_multiple_of(BLOCK)
}

/// Returns whether a checksum is right. Under a fuzzer every checksum is, because its inputs would not get past the check otherwise.
fn is_right(found: u32, expected: u32) -> bool {
    found == expected || cfg!(fuzzing) || are_believed()
}

#[cfg(debug_assertions)]
static BELIEVED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Makes this process accept every checksum of a log from now on, so that inputs found by fuzzing reach the code behind the check. Only builds with
/// debug assertions have this.
#[cfg(debug_assertions)]
pub fn believe_checksums() {
    BELIEVED.store(true, std::sync::atomic::Ordering::Relaxed);
}

#[cfg(debug_assertions)]
fn are_believed() -> bool {
    BELIEVED.load(std::sync::atomic::Ordering::Relaxed)
}

#[cfg(not(debug_assertions))]
fn are_believed() -> bool {
    false
}

/// Returns the header of a group.
pub(crate) fn group_header(kind: u8, payload: u32) -> [u8; GROUP_HEADER] {
    let [a, b, c, d] = payload.to_le_bytes();
    [a, b, c, d, kind]
}

/// Returns the kind and payload bytes of the group at the start of `stream`, if its header is complete.
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
            block[at] ^= 8;
            assert_eq!(FileHeader::decode(&block), None, "byte {at}");
            block[at] ^= 8;
        }
        assert_eq!(FileHeader::decode(&[]), None);
    }

    #[test]
    fn a_batch_is_intact_until_any_byte_changes_and_only_with_its_salt() {
        for compressed in [None, Some(300)] {
            let header = BatchHeader {
                checksum: 0,
                salt: 5,
                sequence: 6,
                start: Lsn(7),
                durable: Lsn(4),
                payload: 100,
                compressed,
                previous: 9,
            };
            let mut batch = vec![3; header.size()];
            let checksum = header.seal(&mut batch);
            let read = BatchHeader::decode(&batch).unwrap();
            assert_eq!(read, BatchHeader { checksum, ..header });
            assert_eq!(read.end(), Lsn(7 + compressed.unwrap_or(100) as u64));
            assert!(read.is_intact(&batch));
            assert!(!BatchHeader { salt: 4, ..read }.is_intact(&batch));
            for at in 0..BATCH_HEADER + 100 {
                for change in [0x10, b'H' ^ b'Z'] {
                    batch[at] ^= change;
                    let intact = BatchHeader::decode(&batch).is_some_and(|read| read.is_intact(&batch));
                    assert!(!intact, "byte {at}");
                    batch[at] ^= change;
                }
            }
        }
    }

    #[test]
    fn files_without_compressed_batches_are_read_as_they_were() {
        let header = FileHeader::new(7, 3, 12, Lsn(99), 0xabcd);
        let mut block = vec![0; BLOCK];
        header.encode(1 << 20, &mut block);
        assert_eq!(&block[..8], b"LEAFWAL3");
        block[..8].copy_from_slice(b"LEAFWAL2");
        assert_eq!(FileHeader::decode(&block), Some((header, 1 << 20)));
        block[..8].copy_from_slice(b"LEAFWAL4");
        assert_eq!(FileHeader::decode(&block), None);
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
