//! The control file: the position where recovery starts, and the parameters that the store was made with.
//!
//! The file has two slots of one block each with the same content. They are written and synced one after the other,
//! so that a torn write leaves the other one. The valid slot with the higher sequence number counts. Log is given
//! back only after both slots say that it is not needed. Either slot is enough to open the store, and opening repairs
//! a damaged one before anything else. The file is made under another name and renamed when the store is complete: a
//! directory without it holds no store, or an unfinished one.
//!
//! | offset | bytes | field                                                                  |
//! |-------:|------:|------------------------------------------------------------------------|
//! |      0 |     8 | magic "LEAFCTRL"                                                        |
//! |      8 |     4 | crc32c of bytes 12..4096                                                |
//! |     12 |     4 | format version                                                          |
//! |     16 |     8 | sequence number                                                         |
//! |     24 |     4 | page size in bytes                                                      |
//! |     28 |     4 | 1 if there is a checkpoint record                                       |
//! |     32 |     8 | number of the database, drawn when it was made                          |
//! |     40 |    24 | log position where redo starts                                          |
//! |     64 |    24 | log position of the checkpoint record                                   |

use crate::device::{AlignedBuf, BLOCK, Env, File, OpenMode};
use crate::log::LogPosition;
use crate::page::bytes;
use crate::{Result, StorageError};
use std::io;
use std::sync::Arc;

pub(crate) const FILE: &str = "control";
pub(crate) const NEW_FILE: &str = "control.new";
const MAGIC: &[u8; 8] = b"LEAFCTRL";
/// Format version.
pub(crate) const FORMAT: u32 = 4;
const SLOTS: usize = 2;
/// Size of the file in bytes.
pub(crate) const FILE_BYTES: u64 = (SLOTS * BLOCK) as u64;

/// The content of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ControlData {
    pub(crate) page_size: u32,
    pub(crate) database_id: u64,
    /// Log position where redo starts.
    pub(crate) redo: LogPosition,
    /// Log position of the last checkpoint's record.
    pub(crate) checkpoint: Option<LogPosition>,
}

/// The open control file.
pub(crate) struct ControlFile {
    file: Arc<dyn File>,
    sequence: u64,
    data: ControlData,
    repaired: bool,
}

fn encode(data: &ControlData, sequence: u64) -> AlignedBuf {
    let mut slot = AlignedBuf::zeroed(BLOCK);
    bytes::put(&mut slot, 0, MAGIC);
    bytes::put(&mut slot, 12, &FORMAT.to_le_bytes());
    bytes::put(&mut slot, 16, &sequence.to_le_bytes());
    bytes::put(&mut slot, 24, &data.page_size.to_le_bytes());
    bytes::put(&mut slot, 28, &u32::from(data.checkpoint.is_some()).to_le_bytes());
    bytes::put(&mut slot, 32, &data.database_id.to_le_bytes());
    bytes::put(&mut slot, 40, &data.redo.encode());
    if let Some(checkpoint) = &data.checkpoint {
        bytes::put(&mut slot, 64, &checkpoint.encode());
    }
    let sum = crc32c::crc32c(&slot[12..]);
    bytes::put(&mut slot, 8, &sum.to_le_bytes());
    slot
}

/// Returns the slot's sequence number and content. Returns `None` if it is damaged or was never written.
fn decode(slot: &[u8]) -> Option<Result<(u64, ControlData)>> {
    if slot.get(..8)? != MAGIC || bytes::u32_at(slot, 8)? != crc32c::crc32c(slot.get(12..)?) {
        return None;
    }
    let format = bytes::u32_at(slot, 12)?;
    if format != FORMAT {
        let reason = format!("format version {format}, this program reads {FORMAT}");
        return Some(Err(StorageError::Format { file: FILE.into(), reason }));
    }
    let checkpoint = match bytes::u32_at(slot, 28)? {
        0 => None,
        _ => Some(LogPosition::decode(&bytes::array_at(slot, 64)?)),
    };
    let data = ControlData {
        page_size: bytes::u32_at(slot, 24)?,
        database_id: bytes::u64_at(slot, 32)?,
        redo: LogPosition::decode(&bytes::array_at(slot, 40)?),
        checkpoint,
    };
    Some(Ok((bytes::u64_at(slot, 16)?, data)))
}

impl ControlFile {
    /// Opens the control file. Returns `None` if there is none.
    pub(crate) fn open(env: &dyn Env) -> Result<Option<ControlFile>> {
        let io = |op| move |source| StorageError::io(op, FILE, source);
        if !env.exists(FILE).map_err(io("look for"))? {
            return Ok(None);
        }
        let file = env.open(FILE, OpenMode::Existing).map_err(io("open"))?;
        let too_short = |source: io::Error| match source.kind() {
            io::ErrorKind::UnexpectedEof => {
                StorageError::Format { file: FILE.into(), reason: "has lost its end".into() }
            }
            _ => StorageError::io("read", FILE, source),
        };
        let mut slots = AlignedBuf::zeroed(2 * BLOCK);
        file.read_at(&mut slots, 0).map_err(too_short)?;
        let found = [decode(&slots[..BLOCK]).transpose()?, decode(&slots[BLOCK..]).transpose()?];
        let best = found.iter().flatten().max_by_key(|(sequence, _)| *sequence).copied();
        let Some((sequence, data)) = best else {
            return Err(StorageError::Format { file: FILE.into(), reason: "both slots are damaged".into() });
        };
        let mut control = ControlFile { file, sequence, data, repaired: false };
        for (slot, found) in found.iter().enumerate() {
            if *found != best {
                control.write_slot(slot)?;
                control.repaired |= found.is_none();
            }
        }
        Ok(Some(control))
    }

    /// Makes the control file, which is the last step of making a store.
    pub(crate) fn create(env: &dyn Env, data: ControlData) -> Result<ControlFile> {
        let io = |op| move |source| StorageError::io(op, FILE, source);
        let file = env.open(NEW_FILE, OpenMode::Create).map_err(io("create"))?;
        file.allocate(FILE_BYTES).map_err(io("allocate"))?;
        for slot in 0..SLOTS {
            file.write_at(&encode(&data, 0), (slot * BLOCK) as u64).map_err(io("write"))?;
        }
        file.sync().map_err(io("sync"))?;
        drop(file);
        env.rename(NEW_FILE, FILE).map_err(io("rename"))?;
        env.sync_dir("").map_err(io("sync the directory of"))?;
        let file = env.open(FILE, OpenMode::Existing).map_err(io("open"))?;
        Ok(ControlFile { file, sequence: 0, data, repaired: false })
    }

    /// Returns whether opening the file found a damaged slot and repaired it.
    pub(crate) fn was_repaired(&self) -> bool {
        self.repaired
    }

    /// Returns the content that counts now.
    pub(crate) fn data(&self) -> &ControlData {
        &self.data
    }

    /// Writes `data` durably to both slots. After an error it is unknown which content counts.
    pub(crate) fn write(&mut self, data: ControlData) -> Result<()> {
        self.sequence += 1;
        self.data = data;
        (0..SLOTS).try_for_each(|slot| self.write_slot(slot))
    }

    fn write_slot(&self, slot: usize) -> Result<()> {
        self.file
            .write_at(&encode(&self.data, self.sequence), (slot * BLOCK) as u64)
            .map_err(|e| StorageError::io("write", FILE, e))?;
        self.file.sync().map_err(|e| StorageError::io("sync", FILE, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lsn;
    use crate::device::SimulatedEnv;

    fn data(lsn: u64) -> ControlData {
        let position = LogPosition { sequence: 3, offset: 8192, lsn: Lsn(lsn) };
        let checkpoint = (lsn > 1).then_some(LogPosition { lsn: Lsn(lsn + 1), ..position });
        ControlData { page_size: 8192, database_id: 77, redo: position, checkpoint }
    }

    #[test]
    fn either_slot_is_enough_and_the_other_is_made_good_at_once() {
        let env = SimulatedEnv::new();
        assert!(ControlFile::open(&env).unwrap().is_none());
        let mut control = ControlFile::create(&env, data(1)).unwrap();
        for lsn in 1..9 {
            control.write(data(lsn)).unwrap();
            assert!(!ControlFile::open(&env).unwrap().unwrap().was_repaired());
            for damaged in [0, BLOCK as u64] {
                let copy = env.snapshot();
                copy.damage(FILE, damaged + 3000, &mut |bytes| bytes[0] ^= 1).unwrap();
                let found = ControlFile::open(&copy).unwrap().unwrap();
                assert!(*found.data() == data(lsn) && found.was_repaired());
                copy.damage(FILE, (BLOCK as u64 - damaged) + 3000, &mut |bytes| bytes[0] ^= 1).unwrap();
                let mut found = ControlFile::open(&copy).unwrap().unwrap();
                assert_eq!(*found.data(), data(lsn), "the one made good holds everything");
                found.write(data(50)).unwrap();
                assert_eq!(*ControlFile::open(&copy).unwrap().unwrap().data(), data(50));
            }
        }
    }

    #[test]
    fn power_cut_during_a_write_leaves_the_old_or_the_new_content() {
        for seed in 0..40 {
            for cut in 0..4 {
                let env = SimulatedEnv::new();
                let mut control = ControlFile::create(&env, data(1)).unwrap();
                control.write(data(2)).unwrap();
                env.power_cut_after(cut);
                assert!(control.write(data(3)).is_err());
                env.reboot(seed);
                let found = *ControlFile::open(&env).unwrap().unwrap().data();
                assert!(found == data(2) || found == data(3), "seed {seed}, cut {cut}");
                // The content that counts now stays, whichever slot is lost next.
                for slot in [0, BLOCK as u64] {
                    let copy = env.snapshot();
                    copy.damage(FILE, slot + 20, &mut |bytes| bytes[0] ^= 1).unwrap();
                    assert_eq!(*ControlFile::open(&copy).unwrap().unwrap().data(), found);
                }
            }
        }
    }

    #[test]
    fn a_file_that_is_cut_short_is_said_to_be() {
        let env = SimulatedEnv::new();
        ControlFile::create(&env, data(1)).unwrap();
        env.open(FILE, OpenMode::Existing).unwrap().truncate(BLOCK as u64).unwrap();
        let error = ControlFile::open(&env).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("control: has lost its end"));
    }

    #[test]
    fn damage_of_both_slots_and_other_versions_are_errors_and_not_a_new_store() {
        let env = SimulatedEnv::new();
        let mut control = ControlFile::create(&env, data(1)).unwrap();
        control.write(data(2)).unwrap();
        let newer = env.snapshot();
        for slot in [0, BLOCK as u64] {
            env.damage(FILE, slot + 20, &mut |bytes| bytes[0] ^= 1).unwrap();
            newer
                .damage(FILE, slot, &mut |bytes| {
                    bytes[12] = 9;
                    let sum = crc32c::crc32c(&bytes[12..]);
                    bytes[8..12].copy_from_slice(&sum.to_le_bytes());
                })
                .unwrap();
        }
        for env in [env, newer] {
            assert!(matches!(ControlFile::open(&env), Err(StorageError::Format { .. })));
        }
    }
}
