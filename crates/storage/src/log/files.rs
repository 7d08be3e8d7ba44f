//! The ring of log files: `wal/<sequence>.log`.
//!
//! All files are made, with their space, when the log is. In order of sequence number they are: in use (from the
//! oldest a checkpoint may need, to the one written now), then spare. A file that a checkpoint has made superfluous is renamed
//! to follow the last spare; the new name is durable before the file counts as spare. A spare becomes the current
//! file by getting a header. A write of the log thus allocates nothing, unless padding has eaten what was set
//! aside for it: then the ring grows by a file, which goes again when it is recycled.
//!
//! Files are filled with zeros once: a sync after the first write to allocated but unwritten blocks has to change
//! the file system's metadata too, and takes longer (290 us against 175 us on ext4).

use super::format::FileHeader;
use crate::device::{AlignedBuf, BLOCK, Env, File, OpenMode};
use crate::error::{Result, StorageError};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The directory of the log files.
pub(super) const DIRECTORY: &str = "wal";

const FEWEST_FILES: u64 = 4;
const SMALLEST_FILE: u64 = 64 << 10;
const LARGEST_FILE: u64 = 64 << 20;
/// Into how many files a log is cut, as long as they keep to the sizes above.
const FILES: u64 = 16;

/// Name of a log file.
pub(super) fn name(sequence: u64) -> String {
    format!("{DIRECTORY}/{sequence}.log")
}

/// Sequence numbers of the log files there are, by their names.
pub(super) fn list(env: &dyn Env) -> Result<Vec<u64>> {
    let names = env.list(DIRECTORY).map_err(|error| StorageError::io("list", DIRECTORY, error))?;
    let mut sequences: Vec<u64> =
        names.iter().filter_map(|name| name.strip_suffix(".log")?.parse().ok()).collect();
    sequences.sort_unstable();
    Ok(sequences)
}

/// Opens a log file that must be there.
pub(super) fn open(env: &dyn Env, sequence: u64) -> Result<Arc<dyn File>> {
    let name = name(sequence);
    env.open(&name, OpenMode::Existing).map_err(|error| StorageError::io("open", name, error))
}

/// Size of a log file in bytes.
pub(super) fn size(file: &dyn File, sequence: u64) -> Result<u64> {
    file.size().map_err(|error| StorageError::io("get the size of", name(sequence), error))
}

/// How the capacity is cut into files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Bytes of a file, header included.
    pub file_bytes: u64,
    /// Files of a ring that has not grown.
    pub files: u64,
}

impl Layout {
    pub fn new(capacity: u64) -> Layout {
        let file_bytes = (capacity / FILES).clamp(SMALLEST_FILE, LARGEST_FILE);
        let file_bytes = file_bytes - file_bytes % BLOCK as u64;
        Layout { file_bytes, files: (capacity / file_bytes).max(FEWEST_FILES) }
    }

    /// Bytes for batches in a file.
    pub fn room(&self) -> u64 {
        self.file_bytes - BLOCK as u64
    }
}

/// The files, by sequence number.
pub(super) struct Ring {
    env: Arc<dyn Env>,
    layout: Layout,
    /// Oldest first, the current file last; each with its room for batches in bytes. Never empty.
    in_use: VecDeque<(u64, u64)>,
    /// How many files are ready after the current one.
    spare: u64,
}

impl Ring {
    /// Makes the files of a new log; file 1 is current and has no header yet.
    pub fn create(env: &Arc<dyn Env>, layout: Layout) -> Result<Ring> {
        env.create_dir(DIRECTORY).map_err(|error| StorageError::io("create", DIRECTORY, error))?;
        env.sync_dir("").map_err(|error| StorageError::io("sync", ".", error))?;
        for sequence in list(&**env)? {
            remove(&**env, sequence)?;
        }
        for sequence in 1..=layout.files {
            create_file(&**env, layout, sequence)?;
        }
        sync_directory(&**env)?;
        let in_use = VecDeque::from([(1, layout.room())]);
        Ok(Ring { env: Arc::clone(env), layout, in_use, spare: layout.files - 1 })
    }

    /// Takes the ring over after recovery: the files `oldest..=newest` are in use and `newest + 1`, which has no
    /// header yet, becomes current.
    pub fn resume(env: &Arc<dyn Env>, layout: Layout, oldest: u64, newest: u64) -> Result<Ring> {
        let mut in_use = VecDeque::new();
        for sequence in oldest..=newest {
            // What the process had written before it was killed may not be on disk, yet recovery has read it.
            let file = open(&**env, sequence)?;
            file.sync().map_err(|error| StorageError::io("sync", name(sequence), error))?;
            in_use.push_back((sequence, size(&*file, sequence)?.saturating_sub(BLOCK as u64)));
        }
        let wanted = layout.files.saturating_sub(in_use.len() as u64).max(1);
        let outside: Vec<u64> =
            list(&**env)?.into_iter().filter(|sequence| !(oldest..=newest).contains(sequence)).collect();
        let mut usable = BTreeSet::new();
        for sequence in outside {
            let file = open(&**env, sequence)?;
            if size(&*file, sequence)? == layout.file_bytes {
                usable.insert(sequence);
            } else {
                remove(&**env, sequence)?;
            }
        }
        for sequence in newest + 1..=newest + wanted {
            if usable.remove(&sequence) {
                continue;
            }
            // Take one from outside the range of names wanted, so that no later turn misses it.
            let stray = usable.iter().copied().find(|stray| *stray <= newest || *stray > newest + wanted);
            match stray {
                Some(stray) => {
                    usable.remove(&stray);
                    rename(&**env, stray, sequence)?;
                }
                None => create_file(&**env, layout, sequence)?,
            }
        }
        for sequence in usable {
            remove(&**env, sequence)?;
        }
        sync_directory(&**env)?;
        in_use.push_back((newest + 1, layout.room()));
        Ok(Ring { env: Arc::clone(env), layout, in_use, spare: wanted - 1 })
    }

    /// Sequence number of the current file.
    pub fn current(&self) -> u64 {
        self.in_use.back().map_or(0, |(sequence, _)| *sequence)
    }

    /// Sequence number of the oldest file in use.
    pub fn oldest(&self) -> u64 {
        self.in_use.front().map_or(0, |(sequence, _)| *sequence)
    }

    /// Writes the header of the current file and makes it durable; batches may follow.
    pub fn start_current(&self, header: &FileHeader) -> Result<Arc<dyn File>> {
        let sequence = self.current();
        let file = open(&*self.env, sequence)?;
        let mut block = AlignedBuf::zeroed(BLOCK);
        header.encode(&mut block);
        file.write_at(&block, 0).map_err(|error| StorageError::io("write", name(sequence), error))?;
        file.sync().map_err(|error| StorageError::io("sync", name(sequence), error))?;
        Ok(file)
    }

    /// Makes the next file current; it has no header yet.
    pub fn advance(&mut self) -> Result<()> {
        let next = self.current() + 1;
        if self.spare == 0 {
            create_file(&*self.env, self.layout, next)?;
            sync_directory(&*self.env)?;
        } else {
            self.spare -= 1;
        }
        self.in_use.push_back((next, self.layout.room()));
        Ok(())
    }

    /// Makes the files before `sequence`, but never the current one, spare. Returns the bytes for batches they had.
    /// After an error the names are not known any more: the log must stop.
    pub fn recycle_before(&mut self, sequence: u64) -> Result<u64> {
        let end = sequence.min(self.current());
        if self.oldest() >= end {
            return Ok(0);
        }
        let (mut recycled, mut freed) = (0, 0);
        while let Some((oldest, room)) = self.in_use.front().copied().filter(|(oldest, _)| *oldest < end) {
            let files = self.in_use.len() as u64 + self.spare + recycled;
            if files > self.layout.files || room != self.layout.room() {
                remove(&*self.env, oldest)?;
            } else {
                rename(&*self.env, oldest, self.current() + self.spare + recycled + 1)?;
                recycled += 1;
            }
            self.in_use.pop_front();
            freed += room;
        }
        sync_directory(&*self.env)?;
        self.spare += recycled;
        Ok(freed)
    }
}

fn create_file(env: &dyn Env, layout: Layout, sequence: u64) -> Result<()> {
    let name = name(sequence);
    let fill = || {
        let file = env.open(&name, OpenMode::CreateNew)?;
        file.allocate(layout.file_bytes)?;
        let zeros = AlignedBuf::zeroed((1 << 20).min(layout.file_bytes as usize));
        let mut at = 0;
        while at < layout.file_bytes {
            let len = (layout.file_bytes - at).min(zeros.len() as u64);
            file.write_at(&zeros[..len as usize], at)?;
            at += len;
        }
        file.sync()
    };
    fill().map_err(|error| StorageError::io("create", name.as_str(), error))
}

fn remove(env: &dyn Env, sequence: u64) -> Result<()> {
    let name = name(sequence);
    env.remove(&name).map_err(|error| StorageError::io("remove", name, error))
}

fn rename(env: &dyn Env, from: u64, to: u64) -> Result<()> {
    env.rename(&name(from), &name(to)).map_err(|error| StorageError::io("rename", name(from), error))
}

fn sync_directory(env: &dyn Env) -> Result<()> {
    env.sync_dir(DIRECTORY).map_err(|error| StorageError::io("sync", DIRECTORY, error))
}
