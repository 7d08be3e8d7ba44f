//! The manifest of a backup, which describes it and proves that it is whole. It is the last file that is written, and
//! gets its name by a rename. A directory without one holds no backup, or one whose making was interrupted.
//!
//! Layout of `manifest`; all integers are little-endian, and a string is a u32 length and the bytes:
//!
//! | offset | bytes | field |
//! |-------:|------:|-------|
//! |      0 |     8 | magic "LEAFBKUP" |
//! |      8 |     4 | crc32c of bytes 12.. up to the end of the body |
//! |     12 |     4 | format: 1 |
//! |     16 |     8 | bytes of the body |
//! |     24 |       | body; then zeros up to a whole block |
//!
//! | field of the body | type |
//! |---|---|
//! | number of the backup, drawn when it was made | u64 |
//! | number of the database | u64 |
//! | number of the parent: the backup that this one adds to; 0 in a full backup | u64 |
//! | base: pages up to this LSN are left out; 0 in a full one | u64 |
//! | redo: the log of the backup begins here; no page lacks a change before it | u64 |
//! | checkpoint: LSN of a checkpoint record in that log | u64 |
//! | end: the log of the backup ends here; a restore gives the database as of then | u64 |
//! | format of the database's control file | u32 |
//! | bytes of a page | u32 |
//! | extents of the database's file | u64 |
//! | pages in the backup | u64 |
//! | time when it was made: microseconds since 1970, UTC | u64 |
//! | `pages`, `log`: bytes and checksum of each | u64, u32 |
//! | other files | u32 count, each: name string, bytes u64, checksum u32 |

use super::stream::{FileSum, damaged, failed};
use crate::device::{BLOCK, Env, small_file};
use crate::page::bytes::Reader;
use crate::page::{self, MAX_PAGE_SIZE, MIN_PAGE_SIZE};
use crate::{Lsn, Result, StorageError};

/// Name of the file.
pub(super) const FILE: &str = "manifest";
const MAGIC: &[u8; 8] = b"LEAFBKUP";
const FORMAT: u32 = 1;
const HEADER: usize = 24;
/// Largest size of a manifest in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// The description of a backup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    /// Number of the backup.
    pub id: u64,
    /// Number of the database.
    pub database: u64,
    /// Number of the backup that this one adds to; `None` in a full backup.
    pub parent: Option<u64>,
    /// Pages up to this LSN are left out.
    pub base: Lsn,
    /// LSN at which its log begins.
    pub redo: Lsn,
    pub(super) checkpoint: Lsn,
    /// LSN at which its log ends.
    pub end: Lsn,
    pub(super) database_format: u32,
    pub(super) page_size: u32,
    pub(super) extents: u64,
    /// Number of pages in the backup.
    pub pages: u64,
    /// Time when it was made: microseconds since 1970, UTC.
    pub made: u64,
    pub(super) pages_file: FileSum,
    pub(super) log_file: FileSum,
    pub(super) others: Vec<(String, FileSum)>,
}

impl Manifest {
    /// Returns the bytes of all files that it names.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let others: u64 = self.others.iter().map(|(_, file)| file.bytes).sum();
        self.pages_file.bytes + self.log_file.bytes + others
    }

    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let parent = self.parent.unwrap_or(0);
        for number in
            [self.id, self.database, parent, self.base.0, self.redo.0, self.checkpoint.0, self.end.0]
        {
            body.extend(number.to_le_bytes());
        }
        body.extend(self.database_format.to_le_bytes());
        body.extend(self.page_size.to_le_bytes());
        for number in [self.extents, self.pages, self.made] {
            body.extend(number.to_le_bytes());
        }
        let file = |file: &FileSum, body: &mut Vec<u8>| {
            body.extend(file.bytes.to_le_bytes());
            body.extend(file.sum.to_le_bytes());
        };
        file(&self.pages_file, &mut body);
        file(&self.log_file, &mut body);
        body.extend((self.others.len() as u32).to_le_bytes());
        for (name, sum) in &self.others {
            body.extend((name.len() as u32).to_le_bytes());
            body.extend(name.as_bytes());
            file(sum, &mut body);
        }
        let covered = [&FORMAT.to_le_bytes()[..], &(body.len() as u64).to_le_bytes(), &body].concat();
        [&MAGIC[..], &crc32c::crc32c(&covered).to_le_bytes(), &covered].concat()
    }

    fn decode(bytes: &[u8]) -> Result<Manifest> {
        let wrong = |reason: &str| damaged(FILE, reason);
        if bytes.get(..8) != Some(MAGIC) {
            return Err(wrong("it is none of Leafline"));
        }
        let format = page::bytes::u32_at(bytes, 12).unwrap_or(0);
        let length = page::bytes::u64_at(bytes, 16).and_then(|length| usize::try_from(length).ok());
        let end = length.and_then(|length| length.checked_add(HEADER));
        let covered = end.and_then(|end| bytes.get(12..end)).ok_or_else(|| wrong("it has lost its end"))?;
        if page::bytes::u32_at(bytes, 8) != Some(crc32c::crc32c(covered)) {
            return Err(wrong("wrong checksum"));
        }
        let unused = bytes.get(12 + covered.len()..).unwrap_or_default();
        if unused.len() >= BLOCK || unused.iter().any(|byte| *byte != 0) {
            return Err(wrong("there is something behind its end"));
        }
        if format != FORMAT {
            let what = format!("the backup has format {format}, this program reads {FORMAT}");
            return Err(StorageError::Backup { what });
        }
        let manifest = Manifest::body(&mut Reader::new(covered.get(HEADER - 12..).unwrap_or_default()));
        let manifest = manifest.ok_or_else(|| wrong("its body is malformed"))?;
        let size = manifest.page_size as usize;
        let ordered = manifest.redo <= manifest.checkpoint && manifest.checkpoint <= manifest.end;
        let ordered = ordered && manifest.log_file.bytes == manifest.end.0 - manifest.redo.0;
        if !size.is_power_of_two() || !(MIN_PAGE_SIZE..=MAX_PAGE_SIZE).contains(&size) || !ordered {
            return Err(wrong("what it says is impossible"));
        }
        Ok(manifest)
    }

    fn body(from: &mut Reader<'_>) -> Option<Manifest> {
        fn file(from: &mut Reader<'_>) -> Option<FileSum> {
            Some(FileSum { bytes: from.u64()?, sum: from.u32()? })
        }
        let mut manifest = Manifest {
            id: from.u64()?,
            database: from.u64()?,
            parent: Some(from.u64()?).filter(|parent| *parent != 0),
            base: Lsn(from.u64()?),
            redo: Lsn(from.u64()?),
            checkpoint: Lsn(from.u64()?),
            end: Lsn(from.u64()?),
            database_format: from.u32()?,
            page_size: from.u32()?,
            extents: from.u64()?,
            pages: from.u64()?,
            made: from.u64()?,
            pages_file: file(from)?,
            log_file: file(from)?,
            others: Vec::new(),
        };
        for _ in 0..from.u32()? {
            let length = from.u32()? as usize;
            let name = String::from_utf8(from.take(length)?.to_vec()).ok()?;
            manifest.others.push((name, file(from)?));
        }
        from.is_empty().then_some(manifest)
    }

    /// Reads the manifest of the backup in `env`.
    ///
    /// # Errors
    /// `Backup` if there is none, because the backup is not complete, or if it is damaged or of another version;
    /// `BackupIo`.
    pub fn read(env: &dyn Env) -> Result<Manifest> {
        let bytes = small_file::read(env, FILE, MOST_BYTES).map_err(failed("read", FILE))?;
        let Some(bytes) = bytes else {
            let what = "there is no complete backup in the directory: its manifest, which is written last, is missing";
            return Err(StorageError::Backup { what: what.into() });
        };
        Manifest::decode(&bytes)
    }

    /// Writes the manifest, which is the last step of a backup.
    pub(super) fn write(&self, env: &dyn Env) -> Result<()> {
        small_file::replace(env, FILE, &self.encode()).map_err(failed("write", FILE))
    }

    /// Checks that this backup adds to `parent`.
    ///
    /// # Errors
    /// `Backup` with the reason why it does not.
    pub(super) fn check_parent(&self, parent: &Manifest) -> Result<()> {
        let reason = if self.database != parent.database {
            "they are of different databases"
        } else if self.parent.is_none() {
            "the second one is a full backup"
        } else if self.parent != Some(parent.id) {
            "the second one was made from another backup"
        } else if self.base != parent.redo
            || self.redo < parent.redo
            || self.end < parent.end
            || (self.page_size, self.database_format) != (parent.page_size, parent.database_format)
        {
            "their positions in the log do not fit"
        } else {
            return Ok(());
        };
        let what = format!("backup {:016x} does not follow upon {:016x}: {reason}", self.id, parent.id);
        Err(StorageError::Backup { what })
    }
}

/// Reads the manifests of a full backup and of those that add to it, in this order.
///
/// # Errors
/// As [`Manifest::read`]; `Backup` if they do not follow each other.
pub(super) fn read_chain(backups: &[std::sync::Arc<dyn Env>]) -> Result<Vec<Manifest>> {
    let mut chain: Vec<Manifest> = Vec::with_capacity(backups.len());
    for env in backups {
        let manifest = Manifest::read(&**env)?;
        match chain.last() {
            Some(parent) => manifest.check_parent(parent)?,
            None if manifest.parent.is_some() => {
                let what =
                    "the first backup is an incremental one: name the full backup that it adds to before it";
                return Err(StorageError::Backup { what: what.into() });
            }
            None => {}
        }
        chain.push(manifest);
    }
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::SimulatedEnv;

    fn manifest() -> Manifest {
        Manifest {
            id: 1,
            database: 2,
            parent: None,
            base: Lsn(0),
            redo: Lsn(10),
            checkpoint: Lsn(20),
            end: Lsn(30),
            database_format: 4,
            page_size: 4096,
            extents: 5,
            pages: 6,
            made: 7,
            pages_file: FileSum { bytes: 8, sum: 9 },
            log_file: FileSum { bytes: 20, sum: 11 },
            others: vec![("commits/7".into(), FileSum { bytes: 12, sum: 13 })],
        }
    }

    #[test]
    fn a_manifest_is_read_back_and_refused_when_any_byte_has_changed() {
        let env = SimulatedEnv::new();
        assert!(Manifest::read(&env).unwrap_err().to_string().contains("no complete backup"));
        let manifest = manifest();
        manifest.write(&env).unwrap();
        assert_eq!(Manifest::read(&env).unwrap(), manifest);
        let bytes = manifest.encode();
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            assert!(Manifest::decode(&bad).is_err(), "byte {at}");
            assert!(Manifest::decode(&bytes[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn only_backups_that_follow_upon_each_other_are_a_chain() {
        let full = manifest();
        let next = Manifest {
            id: 3,
            parent: Some(1),
            base: Lsn(10),
            redo: Lsn(25),
            checkpoint: Lsn(30),
            end: Lsn(40),
            ..manifest()
        };
        next.check_parent(&full).unwrap();
        for (wrong, why) in [
            (Manifest { database: 9, ..next.clone() }, "different databases"),
            (Manifest { parent: None, ..next.clone() }, "a full backup"),
            (Manifest { parent: Some(8), ..next.clone() }, "another backup"),
            (Manifest { base: Lsn(11), ..next.clone() }, "positions"),
            (Manifest { end: Lsn(29), ..next.clone() }, "positions"),
        ] {
            assert!(wrong.check_parent(&full).unwrap_err().to_string().contains(why), "{why}");
        }
    }
}
