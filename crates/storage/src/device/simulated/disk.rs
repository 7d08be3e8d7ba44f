//! The state of the simulated file system: the volatile state that programs see, the durable state, and the changes
//! in between.

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
    /// A growth or cut to this size. A write past the end is a growth followed by a write.
    Resize {
        size: u64,
    },
    Allocate {
        from: u64,
        to: u64,
    },
    Punch {
        from: u64,
        to: u64,
    },
}

/// A file, whatever its name.
#[derive(Clone, Default)]
pub(super) struct Inode {
    pub volatile: Image,
    durable: Image,
    unsynced: Vec<Change>,
    /// Open handles. A removed file lives on until they are closed.
    handles: usize,
    /// Names that lead to the file: names that programs see, durable names, and pending changes of names.
    links: usize,
}

/// The files that a name or handle leads to, by number.
#[derive(Clone, Default)]
pub(super) struct Inodes(HashMap<u64, Inode>);

/// A change of names that is not durable yet.
#[derive(Clone)]
enum NameChange {
    Create { name: String, inode: u64 },
    CreateDir { name: String },
    RemoveDir { name: String },
    Rename { from: String, to: String, inode: u64 },
    Remove { name: String, inode: u64 },
}

/// The names of files and directories at one time.
#[derive(Clone, Default)]
pub(super) struct Names {
    pub files: BTreeMap<String, u64>,
    pub dirs: BTreeMap<String, ()>,
}

/// The whole file system.
#[derive(Default)]
pub(super) struct Disk {
    pub inodes: Inodes,
    next_inode: u64,
    pub names: Names,
    durable_names: Names,
    pending_names: Vec<NameChange>,
    /// Number of power cuts. Handles of an earlier epoch are dead.
    pub epoch: u64,
    pub off: bool,
    /// Changing operations left until the power goes.
    pub changes_left: Option<u64>,
    pub space_limit: Option<u64>,
    pub fault: Option<Fault>,
    pub counts: OperationCounts,
    /// Number of the lock that is held, and of the last one given out.
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
    /// Counts an operation and decides whether it takes place. If the power has just gone, the caller has to record a
    /// write although this returns `Err`: part of the write may have reached the disk.
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

    /// Returns an error unless a handle opened in `epoch` still works.
    pub fn check_epoch(&self, epoch: u64) -> io::Result<()> {
        if self.off || epoch != self.epoch { Err(power_is_off()) } else { Ok(()) }
    }

    pub fn inode(&mut self, number: u64) -> io::Result<&mut Inode> {
        self.inodes.0.get_mut(&number).ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Returns an error if the files would take more than the limit with `grown` more bytes of space.
    pub fn check_space(&self, grown: u64) -> io::Result<()> {
        let Some(limit) = self.space_limit else { return Ok(()) };
        if self.inodes.bytes() + grown > limit { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    pub fn create(&mut self, name: &str) -> io::Result<u64> {
        if !parent(name).is_empty() && !self.names.dirs.contains_key(parent(name)) {
            return Err(ErrorKind::NotFound.into());
        }
        self.next_inode += 1;
        let inode = self.next_inode;
        self.inodes.0.insert(inode, Inode::default());
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
        Ok(())
    }

    pub fn remove(&mut self, name: &str) -> io::Result<()> {
        let inode = *self.names.files.get(name).ok_or(ErrorKind::NotFound)?;
        self.change_names(NameChange::Remove { name: name.to_owned(), inode });
        Ok(())
    }

    fn change_names(&mut self, change: NameChange) {
        change.inode().into_iter().for_each(|inode| self.inodes.link(inode));
        change.apply(&mut self.names, &mut self.inodes);
        self.pending_names.push(change);
    }

    pub fn sync_dir(&mut self, dir: &str) {
        for change in std::mem::take(&mut self.pending_names) {
            if change.touches(dir) {
                self.settle(&change, true);
            } else {
                self.pending_names.push(change);
            }
        }
    }

    /// Ends a pending change of names: it is durable, or lost.
    fn settle(&mut self, change: &NameChange, durable: bool) {
        if durable {
            change.apply(&mut self.durable_names, &mut self.inodes);
        }
        change.inode().into_iter().for_each(|inode| self.inodes.unlink(inode));
    }

    /// Cuts the power. `seed` decides what is left of each unsynced change.
    pub fn cut(&mut self, seed: u64) {
        let mut random = Random::new(seed);
        let mut numbers: Vec<u64> = self.inodes.0.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            if let Some(inode) = self.inodes.0.get_mut(&number) {
                inode.cut(&mut random);
            }
        }
        for change in std::mem::take(&mut self.pending_names) {
            self.settle(&change, random.chance(1, 2));
        }
        self.durable_names.files.values().for_each(|inode| self.inodes.link(*inode));
        let before = std::mem::replace(&mut self.names, self.durable_names.clone());
        before.files.values().for_each(|inode| self.inodes.unlink(*inode));
        self.epoch += 1;
        self.off = false;
        self.changes_left = None;
        self.lock = None;
    }

    /// Returns a copy of the state, without faults, limits, locks and handles.
    pub fn snapshot(&self) -> Disk {
        Disk {
            inodes: self.inodes.closed(),
            next_inode: self.next_inode,
            names: self.names.clone(),
            durable_names: self.durable_names.clone(),
            pending_names: self.pending_names.clone(),
            off: self.off,
            ..Disk::default()
        }
    }
}

impl Inodes {
    /// Returns the bytes that all files take.
    pub fn bytes(&self) -> u64 {
        self.0.values().map(|inode| inode.volatile.allocated()).sum()
    }

    fn link(&mut self, number: u64) {
        self.0.entry(number).and_modify(|inode| inode.links += 1);
    }

    fn unlink(&mut self, number: u64) {
        self.leave(number, |inode| inode.links -= 1);
    }

    /// Counts a handle that was opened on the file.
    pub fn open(&mut self, number: u64) {
        self.0.entry(number).and_modify(|inode| inode.handles += 1);
    }

    /// Counts a handle that was closed on the file.
    pub fn close(&mut self, number: u64) {
        self.leave(number, |inode| inode.handles -= 1);
    }

    fn leave(&mut self, number: u64, leave: impl FnOnce(&mut Inode)) {
        if let Some(inode) = self.0.get_mut(&number) {
            leave(inode);
            if inode.links == 0 && inode.handles == 0 {
                self.0.remove(&number);
            }
        }
    }

    /// Returns a copy without handles.
    fn closed(&self) -> Inodes {
        let named = self.0.iter().filter(|(_, inode)| inode.links > 0);
        Inodes(named.map(|(number, inode)| (*number, Inode { handles: 0, ..inode.clone() })).collect())
    }
}

impl Names {
    fn put(&mut self, name: &str, inode: u64, inodes: &mut Inodes) {
        inodes.link(inode);
        if let Some(before) = self.files.insert(name.to_owned(), inode) {
            inodes.unlink(before);
        }
    }

    /// Removes the file under whatever name it has: an earlier rename may have been lost.
    fn remove(&mut self, inode: u64, inodes: &mut Inodes) {
        let (before, names) = (self.files.len(), &mut self.files);
        names.retain(|_, named| *named != inode);
        (names.len()..before).for_each(|_| inodes.unlink(inode));
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

    pub fn allocate(&mut self, from: u64, to: u64) {
        self.volatile.allocate(from, to);
        self.unsynced.push(Change::Allocate { from, to });
    }

    pub fn punch(&mut self, from: u64, to: u64) {
        self.volatile.punch(from, to);
        self.unsynced.push(Change::Punch { from, to });
    }

    pub fn sync(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            change.apply(&mut self.durable, &mut || true);
        }
    }

    /// Fails a sync. As on Linux, the data counts as clean from now on although it never got to the disk.
    pub fn sync_failed(&mut self) {
        self.unsynced.clear();
    }

    /// Changes the stored bytes, in both images.
    pub fn damage(&mut self, offset: u64, data: &[u8]) {
        self.volatile.write(data, offset, &mut || true);
        self.durable.write(data, offset, &mut || true);
    }

    fn cut(&mut self, random: &mut Random) {
        // Sizes and space are metadata, which a journal keeps in order: a prefix of their changes survives.
        let metadata = self.unsynced.iter().filter(|change| !matches!(change, Change::Write { .. })).count();
        let mut metadata_kept = random.below(metadata as u64 + 1);
        for change in std::mem::take(&mut self.unsynced) {
            // Each sector is decided by itself, which covers any order of writing: of two writes to one sector, the
            // earlier, the later or neither may survive.
            match change {
                Change::Write { .. } => match random.below(3) {
                    0 => change.apply(&mut self.durable, &mut || true),
                    1 => {}
                    _ => {
                        let kept = 1 + random.below(15);
                        change.apply(&mut self.durable, &mut || random.chance(kept, 16));
                    }
                },
                _ if metadata_kept > 0 => {
                    change.apply(&mut self.durable, &mut || true);
                    metadata_kept -= 1;
                }
                _ => {}
            }
        }
        self.volatile = self.durable.clone();
    }
}

impl Change {
    /// Makes the change. Of a write, makes the sectors for which `keep` returns true.
    fn apply(self, image: &mut Image, keep: &mut dyn FnMut() -> bool) {
        match self {
            Change::Write { offset, data } => image.write(&data, offset, keep),
            Change::Resize { size } => image.resize(size),
            Change::Allocate { from, to } => image.allocate(from, to),
            Change::Punch { from, to } => image.punch(from, to),
        }
    }
}

impl NameChange {
    /// Makes the change. The caller holds a link to the file meanwhile.
    fn apply(&self, names: &mut Names, inodes: &mut Inodes) {
        match self {
            NameChange::Create { name, inode } => names.put(name, *inode, inodes),
            NameChange::CreateDir { name } => {
                names.dirs.insert(name.clone(), ());
            }
            NameChange::RemoveDir { name } => {
                // A directory is not removed from under files whose removal was lost.
                if !names.files.keys().any(|file| parent(file) == name) {
                    names.dirs.remove(name);
                }
            }
            NameChange::Rename { to, inode, .. } => {
                names.remove(*inode, inodes);
                names.put(to, *inode, inodes);
            }
            NameChange::Remove { inode, .. } => names.remove(*inode, inodes),
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
