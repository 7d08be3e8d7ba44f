//! The control file: where recovery starts, and what the store was made with.
//!
//! Two slots of one block each, written in turn and synced, so that a torn write leaves the other one. The valid
//! slot with the higher sequence number counts. The file is made under another name and renamed when the store is
//! complete: a directory without it holds no store, or an unfinished one.
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
use std::sync::Arc;

const FILE: &str = "control";
const NEW_FILE: &str = "control.new";
const MAGIC: &[u8; 8] = b"LEAFCTRL";
const FORMAT: u32 = 1;

/// What a slot holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ControlData {
    pub(crate) page_size: u32,
    pub(crate) database_id: u64,
    /// Where redo starts.
    pub(crate) redo: LogPosition,
    /// The last checkpoint's record.
    pub(crate) checkpoint: Option<LogPosition>,
}

/// The open file.
pub(crate) struct ControlFile {
    file: Arc<dyn File>,
    sequence: u64,
    data: ControlData,
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

/// The slot's sequence number and content, `None` if it is damaged or was never written.
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
    /// Opens the control file; `None` if there is none.
    pub(crate) fn open(env: &dyn Env) -> Result<Option<ControlFile>> {
        let io = |op| move |source| StorageError::io(op, FILE, source);
        if !env.exists(FILE).map_err(io("look for"))? {
            return Ok(None);
        }
        let file = env.open(FILE, OpenMode::Existing).map_err(io("open"))?;
        let mut slots = AlignedBuf::zeroed(2 * BLOCK);
        file.read_at(&mut slots, 0).map_err(io("read"))?;
        let mut best: Option<(u64, ControlData)> = None;
        for slot in slots.chunks(BLOCK) {
            if let Some(found) = decode(slot).transpose()?
                && best.is_none_or(|(sequence, _)| found.0 > sequence)
            {
                best = Some(found);
            }
        }
        match best {
            Some((sequence, data)) => Ok(Some(ControlFile { file, sequence, data })),
            None => Err(StorageError::Format { file: FILE.into(), reason: "both slots are damaged".into() }),
        }
    }

    /// Makes the control file: the last step in making a store.
    pub(crate) fn create(env: &dyn Env, data: ControlData) -> Result<ControlFile> {
        let io = |op| move |source| StorageError::io(op, FILE, source);
        let file = env.open(NEW_FILE, OpenMode::Create).map_err(io("create"))?;
        file.allocate(2 * BLOCK as u64).map_err(io("allocate"))?;
        file.write_at(&AlignedBuf::zeroed(BLOCK), BLOCK as u64).map_err(io("write"))?;
        file.write_at(&encode(&data, 0), 0).map_err(io("write"))?;
        file.sync().map_err(io("sync"))?;
        drop(file);
        env.rename(NEW_FILE, FILE).map_err(io("rename"))?;
        env.sync_dir("").map_err(io("sync the directory of"))?;
        let file = env.open(FILE, OpenMode::Existing).map_err(io("open"))?;
        Ok(ControlFile { file, sequence: 0, data })
    }

    /// What counts now.
    pub(crate) fn data(&self) -> &ControlData {
        &self.data
    }

    /// Makes `data` count, durably.
    pub(crate) fn write(&mut self, data: ControlData) -> Result<()> {
        let sequence = self.sequence + 1;
        let offset = (sequence % 2) * BLOCK as u64;
        self.file
            .write_at(&encode(&data, sequence), offset)
            .map_err(|e| StorageError::io("write", FILE, e))?;
        self.file.sync().map_err(|e| StorageError::io("sync", FILE, e))?;
        self.sequence = sequence;
        self.data = data;
        Ok(())
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
    fn newest_slot_counts_and_a_damaged_one_leaves_the_one_before() {
        let env = SimulatedEnv::new();
        assert!(ControlFile::open(&env).unwrap().is_none());
        let mut control = ControlFile::create(&env, data(1)).unwrap();
        for lsn in 2..9 {
            control.write(data(lsn)).unwrap();
            assert_eq!(*ControlFile::open(&env).unwrap().unwrap().data(), data(lsn));
            let torn = env.snapshot();
            let slot = (control.sequence % 2) * BLOCK as u64;
            torn.damage(FILE, slot + 3000, &mut |bytes| bytes[0] ^= 1).unwrap();
            let mut before = ControlFile::open(&torn).unwrap().unwrap();
            assert_eq!(*before.data(), data(lsn - 1));
            before.write(data(50)).unwrap();
            assert_eq!(*ControlFile::open(&torn).unwrap().unwrap().data(), data(50));
        }
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
