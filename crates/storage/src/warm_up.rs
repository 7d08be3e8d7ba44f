//! Warm-up: the list of the pages that were in memory when the store was last used, which are read in when it is
//! opened.
//!
//! The list is written when the store is closed, and every few minutes by the store's own thread
//! ([`crate::page_writer`]). That thread also reads the list at the start: it fetches the pages in page order, in
//! batches, as long as there are free frames, and evicts nothing. Pages on probation are not on the list, unless many
//! frames are free: a scan that was under way is not repeated.
//!
//! The list is a hint. It is not synced. A list that is missing, damaged or of another database is ignored, and so is
//! a page on it that is not in use any more.
//!
//! | offset | bytes | field of `hot-pages` |
//! |-------:|------:|---|
//! |      0 |     8 | magic "LEAFHOT1" |
//! |      8 |     4 | crc32c of bytes 12.. up to the end of the list |
//! |     12 |     4 | zero |
//! |     16 |     8 | number of the database |
//! |     24 |     8 | number of pages |
//! |     32 | 8 each | page numbers, ascending; then zeros to the end of the block |

use crate::device::{AlignedBuf, Env, OpenMode};
use crate::page::bytes;
use crate::{PageNo, Result, StorageError};

pub(crate) const FILE: &str = "hot-pages";
pub(crate) const NEW_FILE: &str = "hot-pages.new";
const MAGIC: &[u8; 8] = b"LEAFHOT1";
const HEADER: usize = 32;

/// Writes the list.
pub(crate) fn save(env: &dyn Env, database_id: u64, mut pages: Vec<PageNo>) -> Result<()> {
    pages.sort_unstable();
    let used = HEADER + pages.len() * 8;
    let mut list = AlignedBuf::zeroed(used);
    bytes::put(&mut list, 0, MAGIC);
    bytes::put(&mut list, 16, &database_id.to_le_bytes());
    bytes::put(&mut list, 24, &(pages.len() as u64).to_le_bytes());
    for (index, page) in pages.iter().enumerate() {
        bytes::put(&mut list, HEADER + index * 8, &page.0.to_le_bytes());
    }
    let sum = crc32c::crc32c(&list[12..used]);
    bytes::put(&mut list, 8, &sum.to_le_bytes());
    let write = || {
        let file = env.open(NEW_FILE, OpenMode::Create)?;
        file.truncate(0)?;
        file.write_at(&list, 0)?;
        env.rename(NEW_FILE, FILE)
    };
    write().map_err(|source| StorageError::io("write", FILE, source))
}

/// Reads the list, which is empty if there is no file. The error says why the file cannot be used.
pub(crate) fn load(env: &dyn Env, database_id: u64) -> Result<Vec<PageNo>, String> {
    let io = |error: std::io::Error| format!("{FILE} cannot be read: {error}");
    if !env.exists(FILE).map_err(io)? {
        return Ok(Vec::new());
    }
    let file = env.open(FILE, OpenMode::Existing).map_err(io)?;
    let size = file.size().map_err(io)? as usize;
    let mut list = AlignedBuf::zeroed(size - size % crate::device::BLOCK);
    file.read_at(&mut list, 0).map_err(io)?;
    let damaged = || format!("{FILE} is damaged");
    let count = bytes::u64_at(&list, 24).ok_or_else(damaged)?;
    let used = usize::try_from(count).ok().and_then(|count| count.checked_mul(8)?.checked_add(HEADER));
    let covered = used.and_then(|used| list.get(12..used)).ok_or_else(damaged)?;
    if bytes::array_at(&list, 0).as_ref() != Some(MAGIC)
        || bytes::u32_at(&list, 8) != Some(crc32c::crc32c(covered))
    {
        return Err(damaged());
    }
    if bytes::u64_at(&list, 16) != Some(database_id) {
        return Err(format!("{FILE} is of another database"));
    }
    let page = |index: usize| bytes::u64_at(&list, HEADER + index * 8).map(PageNo);
    Ok((0..count as usize).map_while(page).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::SimulatedEnv;

    #[test]
    fn a_list_is_read_back_and_one_that_is_damaged_or_foreign_is_not() {
        for count in [0, 1, 3, 508, 509, 5000] {
            let env = SimulatedEnv::new();
            assert_eq!(load(&env, 7), Ok(Vec::new()), "there is none");
            let pages: Vec<PageNo> = (0..count).map(|n| PageNo(n * 3 + 5)).collect();
            save(&env, 7, pages.iter().rev().copied().collect()).unwrap();
            assert_eq!(load(&env, 7), Ok(pages.clone()));
            assert!(load(&env, 8).unwrap_err().contains("another database"));
            for at in [0, 9, 20, 25, 30] {
                let copy = env.snapshot();
                copy.damage(FILE, at, &mut |bytes| bytes[0] ^= 1).unwrap();
                assert!(load(&copy, 7).is_err(), "byte {at}");
            }
            env.open(FILE, OpenMode::Existing).unwrap().truncate(0).unwrap();
            assert!(load(&env, 7).is_err());
            save(&env, 7, pages.clone()).unwrap();
            assert_eq!(load(&env, 7), Ok(pages));
        }
    }
}
