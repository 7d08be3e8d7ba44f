//! The file `pages`: pages of the database, extent by extent. A later record of an extent replaces the pages of an
//! earlier one.
//!
//! A record is a header of one block, then the pages whose bits are set, in ascending order, sealed as in `data`:
//!
//! | offset | bytes | field |
//! |-------:|------:|-------|
//! |      0 |     4 | crc32c of bytes 4..4096 |
//! |      4 |     4 | number of the extent |
//! |      8 |     8 | the pages that follow, one bit each, lowest bit first |
//! |     16 |     8 | offset of the record in the file |
//! |     24 |       | zeros |

use super::stream::{StreamReader, StreamWriter, damaged};
use crate::device::{AlignedBuf, BLOCK};
use crate::page::{self, bytes};
use crate::space::{EXTENT_PAGES, ExtentNo};
use crate::{Lsn, Result};

/// Name of the file.
pub(super) const FILE: &str = "pages";

/// Writes the record of an extent. `image` holds all of the extent's pages; the record gets those in `pages`.
pub(super) fn write(to: &mut StreamWriter, extent: ExtentNo, pages: u64, image: &[u8]) -> Result<()> {
    let mut header = [0; BLOCK];
    bytes::put(&mut header, 4, &extent.0.to_le_bytes());
    bytes::put(&mut header, 8, &pages.to_le_bytes());
    bytes::put(&mut header, 16, &to.bytes().to_le_bytes());
    let sum = crc32c::crc32c(&header[4..]);
    bytes::put(&mut header, 0, &sum.to_le_bytes());
    to.write(&header)?;
    let page_size = image.len() / EXTENT_PAGES as usize;
    for (index, page) in image.chunks_exact(page_size).enumerate() {
        if pages & (1 << index) != 0 {
            to.write(page)?;
        }
    }
    Ok(())
}

/// Reads the next record. Puts the pages into their places in `image`, which has room for an extent.
///
/// # Errors
/// `Backup` if a page is damaged, or newer than `end`; `BackupIo`.
pub(super) fn read(from: &mut StreamReader, image: &mut AlignedBuf, end: Lsn) -> Result<(ExtentNo, u64)> {
    let at = from.position();
    let mut header = [0; BLOCK];
    from.read(&mut header)?;
    let sum = crc32c::crc32c(&header[4..]);
    let (Some(extent), Some(pages)) = (bytes::u32_at(&header, 4), bytes::u64_at(&header, 8)) else {
        return Err(damaged(from.name(), "a header without content"));
    };
    if bytes::u32_at(&header, 0) != Some(sum) || bytes::u64_at(&header, 16) != Some(at) {
        return Err(damaged(from.name(), format!("no extent begins at byte {at}")));
    }
    let extent = ExtentNo(extent);
    let page_size = image.len() / EXTENT_PAGES as usize;
    for (index, to) in image.chunks_exact_mut(page_size).enumerate() {
        if pages & (1 << index) == 0 {
            continue;
        }
        from.read(to)?;
        let page_no = extent.page(index as u32);
        let verified = page::verify(to, page_no);
        verified.map_err(|reason| damaged(from.name(), format!("page {page_no}: {reason}")))?;
        if page::lsn(to) > end {
            let reason = format!("page {page_no} is newer than the end of the log");
            return Err(damaged(from.name(), reason));
        }
    }
    Ok((extent, pages))
}
