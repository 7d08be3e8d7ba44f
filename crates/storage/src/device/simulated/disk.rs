//! State of the simulated file system: what programs see, what would survive, and what is in between.

use super::image::Image;
use super::random::Random;
use super::{Fault, Operation, OperationCounts};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};

/// A change of a file since its last sync.
#[derive(Clone)]
enum Change {
    Write {
        offset: u64,
        data: Vec<u8>,
    },
    /// A growth or cut to this size; a write past the end is a growth followed by a write.
    Resize {
        size: u64,
    },
}

/// A file, by whatever name.
#[derive(Clone, Default)]
pub(super) struct Inode {
    pub volatile: Image,
    durable: Image,
    unsynced: Vec<Change>,
    /// Handles open on it: a removed file lives on until they are closed.
    pub handles: usize,
}

/// A change of names that is not durable yet.
#[derive(Clone)]
enum NameChange {
    Create { name: String, inode: u64 },
    CreateDir { name: String },
    RemoveDir { name: String },
    Rename { from: String, to: String, inode: u64 },
    Remove { name: String, inode: u64 },
}

/// Names of files and directories at one time.
#[derive(Clone, Default)]
pub(super) struct Names {
    pub files: BTreeMap<String, u64>,
    pub dirs: BTreeMap<String, ()>,
}

/// The whole file system.
#[derive(Default)]
pub(super) struct Disk {
    pub inodes: HashMap<u64, Inode>,
    next_inode: u64,
    pub names: Names,
    durable_names: Names,
    pending_names: Vec<NameChange>,
    /// Counts power cuts; handles of an earlier epoch are dead.
    pub epoch: u64,
    pub off: bool,
    /// Changing operations left until the power goes.
    pub changes_left: Option<u64>,
    pub space_limit: Option<u64>,
    pub fault: Option<Fault>,
    pub counts: OperationCounts,
    /// Number of the lock held, and of the last one given out.
    pub lock: Option<u64>,
    pub last_lock: u64,
}

pub(super) fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(dir, _)| dir)
}

fn power_is_off() -> io::Error {
    io::Error::other("the simulated power is off")
}

impl Disk {
    /// Counts an operation and decides whether it takes place. On `Err` with the power just gone, a write has to
    /// be recorded all the same: part of it may have reached the disk.
    pub fn enter(&mut self, operation: Operation, name: &str, offset: u64) -> io::Result<()> {
        if self.off {
            return Err(power_is_off());
        }
        self.counts.count(operation);
        if operation != Operation::Read
            && let Some(left) = &mut self.changes_left
        {
            if *left == 0 {
                self.off = true;
                return Err(power_is_off());
            }
            *left -= 1;
        }
        match &self.fault {
            Some(fails) if fails(operation, name, offset) => Err(io::Error::from_raw_os_error(libc::EIO)),
            _ => Ok(()),
        }
    }

    /// Whether a handle opened in `epoch` still works.
    pub fn check_epoch(&self, epoch: u64) -> io::Result<()> {
        if self.off || epoch != self.epoch { Err(power_is_off()) } else { Ok(()) }
    }

    pub fn inode(&mut self, number: u64) -> io::Result<&mut Inode> {
        self.inodes.get_mut(&number).ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Fails if the files would take more than the limit with `grown` more bytes.
    pub fn check_space(&self, grown: u64) -> io::Result<()> {
        let Some(limit) = self.space_limit else { return Ok(()) };
        let used: u64 = self.inodes.values().map(|inode| inode.volatile.size()).sum();
        if used + grown > limit { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    pub fn create(&mut self, name: &str) -> io::Result<u64> {
        if !parent(name).is_empty() && !self.names.dirs.contains_key(parent(name)) {
            return Err(ErrorKind::NotFound.into());
        }
        self.next_inode += 1;
        let inode = self.next_inode;
        self.inodes.insert(inode, Inode::default());
        self.change_names(NameChange::Create { name: name.to_owned(), inode });
        Ok(inode)
    }

    pub fn create_dir(&mut self, name: &str) {
        if !self.names.dirs.contains_key(name) {
            self.change_names(NameChange::CreateDir { name: name.to_owned() });
        }
    }

    pub fn remove_dir(&mut self, name: &str) -> io::Result<()> {
        if name.is_empty() {
            return Ok(());
        }
        if !self.names.dirs.contains_key(name) {
            return Err(ErrorKind::NotFound.into());
        }
        if self.names.files.keys().any(|file| parent(file) == name) {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        self.change_names(NameChange::RemoveDir { name: name.to_owned() });
        Ok(())
    }

    pub fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let inode = *self.names.files.get(from).ok_or(ErrorKind::NotFound)?;
        self.change_names(NameChange::Rename { from: from.to_owned(), to: to.to_owned(), inode });
        self.forget_unreachable();
        Ok(())
    }

    pub fn remove(&mut self, name: &str) -> io::Result<()> {
        let inode = *self.names.files.get(name).ok_or(ErrorKind::NotFound)?;
        self.change_names(NameChange::Remove { name: name.to_owned(), inode });
        self.forget_unreachable();
        Ok(())
    }

    fn change_names(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.pending_names.push(change);
    }

    pub fn sync_dir(&mut self, dir: &str) {
        for change in std::mem::take(&mut self.pending_names) {
            if change.touches(dir) {
                change.apply(&mut self.durable_names);
            } else {
                self.pending_names.push(change);
            }
        }
        self.forget_unreachable();
    }

    /// Drops the files that no name, no pending name and no handle leads to.
    pub fn forget_unreachable(&mut self) {
        let (names, durable, pending) = (&self.names, &self.durable_names, &self.pending_names);
        self.inodes.retain(|number, inode| {
            inode.handles > 0
                || names.files.values().chain(durable.files.values()).any(|named| named == number)
                || pending.iter().any(|change| change.inode() == Some(*number))
        });
    }

    /// What a power cut leaves: of each unsynced change, what `seed` says.
    pub fn cut(&mut self, seed: u64) {
        let mut random = Random::new(seed);
        let mut numbers: Vec<u64> = self.inodes.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            if let Some(inode) = self.inodes.get_mut(&number) {
                inode.cut(&mut random);
            }
        }
        for change in std::mem::take(&mut self.pending_names) {
            if random.chance(1, 2) {
                change.apply(&mut self.durable_names);
            }
        }
        self.names = self.durable_names.clone();
        self.epoch += 1;
        self.off = false;
        self.changes_left = None;
        self.lock = None;
        self.forget_unreachable();
    }

    /// A copy of the state, without faults, limits, locks and handles.
    pub fn snapshot(&self) -> Disk {
        let mut inodes = self.inodes.clone();
        inodes.values_mut().for_each(|inode| inode.handles = 0);
        let mut copy = Disk {
            inodes,
            next_inode: self.next_inode,
            names: self.names.clone(),
            durable_names: self.durable_names.clone(),
            pending_names: self.pending_names.clone(),
            off: self.off,
            ..Disk::default()
        };
        copy.forget_unreachable();
        copy
    }
}

impl Inode {
    pub fn write(&mut self, data: Vec<u8>, offset: u64) {
        let end = offset + data.len() as u64;
        if end > self.volatile.size() {
            self.resize(end);
        }
        self.volatile.write(&data, offset, &mut || true);
        self.unsynced.push(Change::Write { offset, data });
    }

    pub fn resize(&mut self, size: u64) {
        self.volatile.resize(size);
        self.unsynced.push(Change::Resize { size });
    }

    pub fn sync(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            match change {
                Change::Write { offset, data } => self.durable.write(&data, offset, &mut || true),
                Change::Resize { size } => self.durable.resize(size),
            }
        }
    }

    /// A sync that failed: as on Linux, the data counts as clean from now on though it never got to the disk.
    pub fn sync_failed(&mut self) {
        self.unsynced.clear();
    }

    /// Changes what is stored, in both images.
    pub fn damage(&mut self, offset: u64, data: &[u8]) {
        self.volatile.write(data, offset, &mut || true);
        self.durable.write(data, offset, &mut || true);
    }

    fn cut(&mut self, random: &mut Random) {
        // Sizes are metadata, which a journal keeps in order: a prefix of the changes survives.
        let resizes = self.unsynced.iter().filter(|change| matches!(change, Change::Resize { .. })).count();
        let mut resizes_kept = random.below(resizes as u64 + 1);
        for change in std::mem::take(&mut self.unsynced) {
            match change {
                Change::Resize { size } if resizes_kept > 0 => {
                    self.durable.resize(size);
                    resizes_kept -= 1;
                }
                Change::Resize { .. } => {}
                // Each sector by itself, so that any order of writing is covered: of two writes to one sector,
                // the earlier, the later or none may be what is left.
                Change::Write { offset, data } => match random.below(3) {
                    0 => self.durable.write(&data, offset, &mut || true),
                    1 => {}
                    _ => {
                        let kept = 1 + random.below(15);
                        self.durable.write(&data, offset, &mut || random.chance(kept, 16));
                    }
                },
            }
        }
        self.volatile = self.durable.clone();
    }
}

impl NameChange {
    fn apply(&self, names: &mut Names) {
        match self {
            NameChange::Create { name, inode } => {
                names.files.insert(name.clone(), *inode);
            }
            NameChange::CreateDir { name } => {
                names.dirs.insert(name.clone(), ());
            }
            NameChange::RemoveDir { name } => {
                // Not from under files whose removal was lost.
                if !names.files.keys().any(|file| parent(file) == name) {
                    names.dirs.remove(name);
                }
            }
            NameChange::Rename { to, inode, .. } => {
                // Under whichever name it survived: an earlier change of its name may have been lost.
                names.files.retain(|_, named| named != inode);
                names.files.insert(to.clone(), *inode);
            }
            NameChange::Remove { inode, .. } => names.files.retain(|_, named| named != inode),
        }
    }

    fn touches(&self, dir: &str) -> bool {
        match self {
            NameChange::Create { name, .. }
            | NameChange::CreateDir { name }
            | NameChange::RemoveDir { name }
            | NameChange::Remove { name, .. } => parent(name) == dir,
            NameChange::Rename { from, to, .. } => parent(from) == dir || parent(to) == dir,
        }
    }

    fn inode(&self) -> Option<u64> {
        match self {
            NameChange::Create { inode, .. }
            | NameChange::Rename { inode, .. }
            | NameChange::Remove { inode, .. } => Some(*inode),
            NameChange::CreateDir { .. } | NameChange::RemoveDir { .. } => None,
        }
    }
}
