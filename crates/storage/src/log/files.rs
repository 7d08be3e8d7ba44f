//! The ring of log files: `wal/<sequence>.log`.
//!
//! In order of sequence number, the files are first those in use (from the oldest that a checkpoint may need, to the one being written), then the
//! spares. A file that a checkpoint no longer needs is renamed to follow the last spare. The new name is durable before the file counts as a spare. A
//! spare becomes the current file by getting a header, and only once there is another spare behind it: **the current file always has a successor with
//! a durable name**, so a reader that finds no successor knows that a file was lost.
//!
//! A new log has few small files. It grows while reservations ask for more than it has, up to its capacity: each file that is added is a quarter of
//! the files there are, within bounds. A reservation is granted only for space that exists, so a write of the log allocates nothing, unless padding
//! has used up the space that was reserved. In that case a file is added on the spot, and removed when it is recycled.
//!
//! Files are filled with zeros once. Otherwise a sync after the first write to allocated but unwritten blocks would have to change the file system's
//! metadata, too, which takes longer (290 us against 175 us on ext4).

use super::format::FileHeader;
use crate::device::{AlignedBuf, BLOCK, Env, File, OpenMode};
use crate::error::{Result, StorageError};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The directory of the log files.
pub(crate) const DIRECTORY: &str = "wal";
/// Name of a file that is being made outside the ring.
const NEW_FILE: &str = "wal/new";

/// Smallest size of a log file in bytes.
pub(super) const SMALLEST_FILE: u64 = 64 << 10;
const FEWEST_FILES: u64 = 4;
const LARGEST_FILE: u64 = 64 << 20;
/// Largest total size of the files of a new log in bytes.
const FIRST_FILE: u64 = 1 << 20;
/// Number of files that a log has at its capacity, if that keeps each file within the sizes above.
const FILES: u64 = 16;
/// An added file is one in this many of the bytes that the ring has.
const GROWTH: u64 = 4;

/// Returns the name of a log file.
pub(super) fn name(sequence: u64) -> String {
    format!("{DIRECTORY}/{sequence}.log")
}

/// Returns the sequence numbers of the log files, in ascending order, as their names give them.
pub(super) fn list(env: &dyn Env) -> Result<Vec<u64>> {
    let names = env.list(DIRECTORY).map_err(|error| StorageError::io("list", DIRECTORY, error))?;
    let mut sequences: Vec<u64> =
        names.iter().filter_map(|name| name.strip_suffix(".log")?.parse().ok()).collect();
    sequences.sort_unstable();
    Ok(sequences)
}

/// Opens a log file that must exist.
pub(super) fn open(env: &dyn Env, sequence: u64) -> Result<Arc<dyn File>> {
    let name = name(sequence);
    env.open(&name, OpenMode::Existing).map_err(|error| StorageError::io("open", name, error))
}

/// Returns the size of a log file in bytes.
pub(super) fn size(file: &dyn File, sequence: u64) -> Result<u64> {
    file.size().map_err(|error| StorageError::io("get the size of", name(sequence), error))
}

/// Returns the total bytes of the files `oldest..=newest`.
pub(super) fn bytes_of(env: &dyn Env, oldest: u64, newest: u64) -> Result<u64> {
    (oldest..=newest).map(|sequence| size(&*open(env, sequence)?, sequence)).sum()
}

/// Returns the limit of written, appended and reserved bytes in files with room for `bytes`, of which the last stays a spare.
pub(super) fn limit(bytes: u64, last: u64) -> u64 {
    bytes.saturating_sub(last + bytes / 8)
}

/// The division of the capacity into files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Bytes of the largest files, header included.
    file_bytes: u64,
    /// Bytes for batches in all files of a ring that has grown to its capacity.
    pub capacity: u64,
}

impl Layout {
    pub fn new(capacity: u64) -> Layout {
        let file_bytes = (capacity / FILES).clamp(SMALLEST_FILE, LARGEST_FILE);
        let file_bytes = file_bytes - file_bytes % BLOCK as u64;
        let files = (capacity / file_bytes).max(FEWEST_FILES);
        Layout { file_bytes, capacity: files * room(file_bytes) }
    }

    /// Returns the layout of a log whose files in use have `used` bytes. The files may be larger than the capacity allows, because the capacity was
    /// another one when they were written. Then the capacity becomes twice `used`: nothing is freed before the checkpoint after recovery, which needs
    /// room.
    pub fn holding(capacity: u64, used: u64) -> Layout {
        let layout = Layout::new(capacity);
        if used > limit(layout.capacity, layout.largest_room()) {
            return Layout::new(2 * used);
        }
        layout
    }

    /// Returns the bytes of all files of a new log.
    pub fn first_bytes(&self) -> u64 {
        FEWEST_FILES * self.next_file(0)
    }

    /// Returns the largest number of bytes for batches in one file.
    pub fn largest_room(&self) -> u64 {
        room(self.file_bytes)
    }

    /// Returns the size of the file to add to a ring with room for `bytes`.
    fn next_file(&self, bytes: u64) -> u64 {
        let first = FIRST_FILE.clamp(SMALLEST_FILE, (self.file_bytes / 16).max(SMALLEST_FILE));
        let wanted = (bytes / GROWTH).clamp(first, self.file_bytes);
        wanted - wanted % BLOCK as u64
    }
}

/// Returns the bytes for batches in a file of this size.
fn room(file_bytes: u64) -> u64 {
    file_bytes.saturating_sub(BLOCK as u64)
}

/// The bytes for batches in the files of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct RingSize {
    /// Bytes in all files.
    pub bytes: u64,
    /// Bytes in the last spare, which always stays a spare.
    pub last: u64,
    /// Bytes in the largest file.
    pub largest: u64,
}

/// The ring of files, by sequence number.
pub(super) struct Ring {
    env: Arc<dyn Env>,
    layout: Layout,
    /// The sequence numbers of the files in use and their room for batches in bytes, the oldest first and the current file last. Never empty.
    in_use: VecDeque<(u64, u64)>,
    /// Room of the spare files after the current one, in bytes. Never empty.
    spare: VecDeque<u64>,
}

impl Ring {
    /// Makes the files of a new log. File 1 is current and has no header yet.
    pub fn create(env: &Arc<dyn Env>, layout: Layout) -> Result<Ring> {
        env.create_dir(DIRECTORY).map_err(|error| StorageError::io("create", DIRECTORY, error))?;
        env.sync_dir("").map_err(|error| StorageError::io("sync", ".", error))?;
        remove_all(&**env)?;
        let mut spare = VecDeque::new();
        for sequence in 1..=FEWEST_FILES {
            let bytes = layout.next_file(0);
            create_file(&**env, &name(sequence), bytes)?;
            spare.push_back(room(bytes));
        }
        sync_directory(&**env)?;
        let current = spare.pop_front().expect("a new ring has files");
        Ok(Ring { env: Arc::clone(env), layout, in_use: VecDeque::from([(1, current)]), spare })
    }

    /// Takes the ring over after recovery. The files `oldest..=newest` are in use. `newest + 1`, which the reader has found to exist, becomes
    /// current; it has no header yet.
    pub fn resume(env: &Arc<dyn Env>, layout: Layout, oldest: u64, newest: u64) -> Result<Ring> {
        let mut in_use = VecDeque::new();
        for sequence in oldest..=newest {
            // The last writes of a process that was killed may not be on disk, but recovery has read them.
            let file = open(&**env, sequence)?;
            file.sync().map_err(|error| StorageError::io("sync", name(sequence), error))?;
            in_use.push_back((sequence, room(size(&*file, sequence)?)));
        }
        remove_new(&**env)?;
        let mut usable = BTreeSet::new();
        for sequence in list(&**env)?.into_iter().filter(|sequence| !(oldest..=newest).contains(sequence)) {
            let size = size(&*open(&**env, sequence)?, sequence)?;
            if size >= SMALLEST_FILE && size.is_multiple_of(BLOCK as u64) {
                usable.insert(sequence);
            } else {
                remove(&**env, sequence)?;
            }
        }
        let mut bytes: u64 = in_use.iter().map(|(_, room)| room).sum();
        let mut spare = VecDeque::new();
        let mut next = newest + 1;
        // At least two spares are needed: the one that becomes current, and its successor.
        while spare.len() < 2 || bytes < layout.capacity {
            if !usable.remove(&next) {
                // If the wanted number is missing, take any other file: a file that is left over would be in the way later.
                match usable.pop_last() {
                    Some(stray) => rename(&**env, &name(stray), next)?,
                    None if spare.len() < 2 => create_file(&**env, &name(next), layout.next_file(bytes))?,
                    None => break,
                }
            }
            let found = room(size(&*open(&**env, next)?, next)?);
            bytes += found;
            spare.push_back(found);
            next += 1;
        }
        for sequence in usable {
            remove(&**env, sequence)?;
        }
        sync_directory(&**env)?;
        in_use.push_back((newest + 1, spare.pop_front().expect("two spare files at least")));
        Ok(Ring { env: Arc::clone(env), layout, in_use, spare })
    }

    /// Returns the sequence number of the current file.
    pub fn current(&self) -> u64 {
        self.in_use.back().map_or(0, |(sequence, _)| *sequence)
    }

    /// Returns the sequence number of the oldest file in use.
    pub fn oldest(&self) -> u64 {
        self.in_use.front().map_or(0, |(sequence, _)| *sequence)
    }

    /// Returns the bytes that the files have for batches.
    pub fn size(&self) -> RingSize {
        let rooms = || self.in_use.iter().map(|(_, room)| *room).chain(self.spare.iter().copied());
        RingSize {
            bytes: rooms().sum(),
            last: self.spare.back().copied().unwrap_or(0),
            largest: rooms().max().unwrap_or(0),
        }
    }

    /// Writes the header of the current file and makes it durable. Batches may follow it.
    pub fn start_current(&self, header: &FileHeader) -> Result<Arc<dyn File>> {
        let sequence = self.current();
        let file = open(&*self.env, sequence)?;
        let mut block = AlignedBuf::zeroed(BLOCK);
        let file_bytes = size(&*file, sequence)?;
        header.encode(file_bytes, &mut block);
        file.write_at(&block, 0).map_err(|error| StorageError::io("write", name(sequence), error))?;
        file.sync().map_err(|error| StorageError::io("sync", name(sequence), error))?;
        Ok(file)
    }

    /// Makes the next spare the current file, without a header yet. If it is the last spare, first makes another file to follow it.
    pub fn advance(&mut self) -> Result<()> {
        if self.spare.len() == 1 {
            let bytes = self.layout.next_file(self.size().bytes);
            create_file(&*self.env, &name(self.current() + 2), bytes)?;
            sync_directory(&*self.env)?;
            self.spare.push_back(room(bytes));
        }
        if let Some(room) = self.spare.pop_front() {
            self.in_use.push_back((self.current() + 1, room));
        }
        Ok(())
    }

    /// Makes the files before `sequence` spare, but never the current one. Returns the bytes that they had for batches. After an error the names of
    /// the files are unknown, and the log must stop.
    pub fn recycle_before(&mut self, sequence: u64) -> Result<u64> {
        let end = sequence.min(self.current());
        if self.oldest() >= end {
            return Ok(0);
        }
        let (mut recycled, mut freed) = (VecDeque::new(), 0);
        let mut bytes = self.size().bytes;
        while let Some((oldest, room)) = self.in_use.front().copied().filter(|(oldest, _)| *oldest < end) {
            if bytes - room >= self.layout.capacity {
                remove(&*self.env, oldest)?;
                bytes -= room;
            } else {
                let last = self.current() + self.spare.len() as u64 + recycled.len() as u64;
                rename(&*self.env, &name(oldest), last + 1)?;
                recycled.push_back(room);
            }
            self.in_use.pop_front();
            freed += room;
        }
        sync_directory(&*self.env)?;
        self.spare.append(&mut recycled);
        Ok(freed)
    }

    /// Returns a plan to make another file outside the ring, while the ring is in use.
    pub fn growth(&self) -> Growth {
        let file_bytes = self.layout.next_file(self.size().bytes);
        Growth { env: Arc::clone(&self.env), file_bytes }
    }

    /// Adds a file that [`Growth::make`] has made.
    pub fn add(&mut self, made: &Growth) -> Result<()> {
        rename(&*self.env, NEW_FILE, self.current() + self.spare.len() as u64 + 1)?;
        sync_directory(&*self.env)?;
        self.spare.push_back(room(made.file_bytes));
        Ok(())
    }
}

/// A file that is to be added to a ring.
pub(super) struct Growth {
    env: Arc<dyn Env>,
    file_bytes: u64,
}

impl Growth {
    /// Makes the file outside the ring; one at a time. Leaves nothing behind if it fails.
    pub fn make(&self) -> Result<()> {
        create_file(&*self.env, NEW_FILE, self.file_bytes)
    }
}

/// Removes all log files.
pub(super) fn remove_all(env: &dyn Env) -> Result<()> {
    for sequence in list(env)? {
        remove(env, sequence)?;
    }
    remove_new(env)
}

/// Removes the file that was being made when the power failed, if there is one.
fn remove_new(env: &dyn Env) -> Result<()> {
    match env.exists(NEW_FILE).map_err(|error| StorageError::io("find", NEW_FILE, error))? {
        true => env.remove(NEW_FILE).map_err(|error| StorageError::io("remove", NEW_FILE, error)),
        false => Ok(()),
    }
}

/// Makes a file of zeros. Its name is not durable yet.
fn create_file(env: &dyn Env, name: &str, bytes: u64) -> Result<()> {
    let fill = || {
        let file = env.open(name, OpenMode::CreateNew)?;
        file.allocate(bytes)?;
        let zeros = AlignedBuf::zeroed((1 << 20).min(bytes as usize));
        let mut at = 0;
        while at < bytes {
            let len = (bytes - at).min(zeros.len() as u64);
            file.write_at(&zeros[..len as usize], at)?;
            at += len;
        }
        file.sync()
    };
    fill().map_err(|error| {
        // Best effort: a file that stays behind is in nobody's way.
        let _ = env.remove(name);
        StorageError::io("create", name, error)
    })
}

fn remove(env: &dyn Env, sequence: u64) -> Result<()> {
    let name = name(sequence);
    env.remove(&name).map_err(|error| StorageError::io("remove", name, error))
}

fn rename(env: &dyn Env, from: &str, to: u64) -> Result<()> {
    env.rename(from, &name(to)).map_err(|error| StorageError::io("rename", from, error))
}

fn sync_directory(env: &dyn Env) -> Result<()> {
    env.sync_dir(DIRECTORY).map_err(|error| StorageError::io("sync", DIRECTORY, error))
}
