//! Quarantine: sets aside the trees that recovery could not bring up to date, so that everything else can
//! be used.
//!
//! If changes could not be replayed on a page, or a commit in doubt could not be finished on it, the page
//! lacks committed changes, whatever later reads return. From then on its tree is *quarantined*: nobody
//! reads it (see [`crate::trees`]), nobody writes to its table, and no more changes are applied to it.
//! Changes that commits in doubt still had to make to it are kept until a repair has built another tree.
//!
//! # Files
//! `quarantine/<tree>`. A tree is quarantined if and only if its file exists. The file is written whole,
//! synced, and renamed to its name before anything relies on it: before a commit in doubt is ended or
//! records its progress, and before a checkpoint gives up log that could not be replayed. The file is
//! removed when the catalog does not name the tree any more; numbers of trees are never reused. Integers
//! are little-endian.
//! numbers of trees are never used again. Integers are little-endian.
//!
//! | offset | bytes | field |
//! |-------:|------:|-------|
//! |      0 |     8 | magic `LEAFQUAR` |
//! |      8 |     4 | crc32c of bytes 12.. up to the end of the body |
//! |     12 |     4 | format, 2 |
//! |     16 |     8 | bytes of the body |
//! |     24 |       | body; then zeros up to a multiple of 4,096 |
//!
//! | field of the body | type |
//! |---|---|
//! | tree | u64 |
//! | incomplete | u8: 1 if a former file of the tree could not be read |
//! | pages | u32 count, each: page u64 (0: none in particular), reason string. They are not to be believed |
//! | operations | u32 count, each: timestamp u64, operation as in a commit record |
//! | commits by reference | u32 count, each: timestamp u64, run number u64, bytes of the file u64; the file stays |
//!
//! Operations on rows are kept. Operations on entries of secondary indexes are not, because a repair
//! derives entries from rows.

use crate::bytes::{ByteReader, ByteWriter};
use crate::error::{Result, TableError};
use crate::op::Op;
use crate::op_run::{RunName, remove_run};
use crate::run::io_error;
use leafline_btree::{BtreeError, CommitTs};
use leafline_storage::device::{AlignedBuf, BLOCK};
use leafline_storage::{Env, OpenMode, PageNo, SegmentId, StorageError, UnreadablePage};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// The directory of the files.
pub(crate) const DIRECTORY: &str = "quarantine";
/// The file being written.
const NEW: &str = "quarantine/new";
const MAGIC: &[u8; 8] = b"LEAFQUAR";
const FORMAT: u32 = 2;
/// The number of bytes before the body.
const HEADER: usize = 24;
/// How often an operation is tried if the device fails to read its page.
const ATTEMPTS: usize = 3;

/// The record of a quarantined tree.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Quarantined {
    /// Pages that must not be trusted, each with the reason; [`PageNo::NONE`] for a reason without a page.
    pub(crate) pages: BTreeMap<PageNo, String>,
    /// Changes of rows still to be made.
    pub(crate) ops: BTreeMap<(Vec<u8>, CommitTs), Op>,
    /// Commits whose changes of rows are still to be made, all of them in these files.
    pub(crate) runs: BTreeMap<CommitTs, RunName>,
    /// Whether there were more changes, which cannot be read.
    pub(crate) incomplete: bool,
}

impl Quarantined {
    /// Adds changes of rows still to be made in `tree`.
    pub(crate) fn keep(&mut self, tree: SegmentId, ts: CommitTs, ops: &[Op]) {
        let of_rows = |op: &&Op| matches!(op, Op::PutRow { .. } | Op::DeleteRow { .. }) && op.tree() == tree;
        self.ops.extend(ops.iter().filter(of_rows).map(|op| ((op.key().to_vec(), ts), op.clone())));
    }

    /// Adds a page and a reason.
    fn note(&mut self, page: PageNo, reason: String) {
        self.pages.entry(page).or_insert(reason);
    }

    fn encode(&self, tree: SegmentId) -> Vec<u8> {
        let mut out = ByteWriter::default();
        out.u64(tree.0).bool(self.incomplete);
        out.u32(self.pages.len() as u32);
        for (page, reason) in &self.pages {
            out.u64(page.0).string(reason);
        }
        out.u32(self.ops.len() as u32);
        for ((_, ts), op) in &self.ops {
            out.u64(ts.0);
            op.encode(&mut out);
        }
        out.u32(self.runs.len() as u32);
        for (ts, run) in &self.runs {
            out.u64(ts.0).u64(run.number).u64(run.bytes);
        }
        out.finish()
    }

    fn decode(tree: SegmentId, body: &[u8]) -> Result<Quarantined> {
        let mut from = ByteReader::new("quarantine", body);
        if from.u64()? != tree.0 {
            return Err(from.damaged("it is of another tree"));
        }
        let mut found = Quarantined { incomplete: from.bool()?, ..Quarantined::default() };
        for _ in 0..from.u32()? {
            let page = PageNo(from.u64()?);
            found.pages.insert(page, from.string()?);
        }
        for _ in 0..from.u32()? {
            let ts = CommitTs(from.u64()?);
            let op = Op::decode(&mut from)?;
            found.ops.insert((op.key().to_vec(), ts), op);
        }
        for _ in 0..from.u32()? {
            let ts = CommitTs(from.u64()?);
            found.runs.insert(ts, RunName { number: from.u64()?, bytes: from.u64()? });
        }
        from.end()?;
        Ok(found)
    }
}

/// All quarantined trees of a database.
pub(crate) struct Quarantine {
    env: Arc<dyn Env>,
    trees: BTreeMap<SegmentId, Quarantined>,
    /// The trees whose files are out of date.
    changed: BTreeSet<SegmentId>,
    /// The tree that the database cannot do without: the catalog's.
    essential: Option<SegmentId>,
}

impl Quarantine {
    /// Reads the existing files. An unusable file does not end the quarantine of its tree.
    pub(crate) fn load(env: &Arc<dyn Env>, essential: Option<SegmentId>) -> Result<Quarantine> {
        let mut quarantine =
            Quarantine { env: env.clone(), trees: BTreeMap::new(), changed: BTreeSet::new(), essential };
        if !env.exists(DIRECTORY).map_err(failed("look for"))? {
            return Ok(quarantine);
        }
        for name in env.list(DIRECTORY).map_err(failed("list"))? {
            let Ok(number) = name.parse() else { continue };
            let tree = SegmentId(number);
            let found = quarantine.read(tree);
            let found = match found {
                Err(error @ TableError::Corrupt(_)) => {
                    let mut found = Quarantined { incomplete: true, ..Quarantined::default() };
                    found.note(PageNo::NONE, error.to_string());
                    found
                }
                other => other?,
            };
            quarantine.trees.insert(tree, found);
        }
        Ok(quarantine)
    }

    fn read(&self, tree: SegmentId) -> Result<Quarantined> {
        let name = file_name(tree);
        let file = self.env.open(&name, OpenMode::Existing).map_err(failed("open"))?;
        let size = file.size().map_err(failed("stat"))?;
        let damaged = |what: &str| TableError::Corrupt(format!("{name}: {what}"));
        let size = usize::try_from(size).map_err(|_| damaged("it is too large"))? / BLOCK * BLOCK;
        let mut bytes = AlignedBuf::zeroed(size);
        if size > 0 {
            file.read_at(&mut bytes, 0).map_err(failed("read"))?;
        }
        let number = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
        let length = bytes.get(16..HEADER).and_then(|length| length.try_into().ok()).map(u64::from_le_bytes);
        let end = length.and_then(|length| usize::try_from(length).ok()?.checked_add(HEADER));
        let covered = end.and_then(|end| bytes.get(12..end));
        match (bytes.get(..8), covered) {
            (Some(magic), Some(covered)) if magic == MAGIC && number(8) == Some(crc32c::crc32c(covered)) => {
                match number(12) {
                    Some(FORMAT) => Quarantined::decode(tree, covered.get(HEADER - 12..).unwrap_or_default()),
                    format => Err(damaged(&format!("its format {format:?} is unknown"))),
                }
            }
            _ => Err(damaged("it is damaged")),
        }
    }

    /// Adds pages that recovery could not use. The caller must save.
    ///
    /// # Errors
    /// `Corrupt` if one of them belongs to the essential tree.
    pub(crate) fn note_pages(&mut self, pages: &[UnreadablePage]) -> Result<()> {
        for UnreadablePage { page, segment, reason } in pages {
            if Some(*segment) == self.essential {
                return Err(StorageError::Corrupt { page: *page, reason: reason.clone() }.into());
            }
            self.trees.entry(*segment).or_default().note(*page, reason.clone());
            self.changed.insert(*segment);
        }
        Ok(())
    }

    /// Quarantines a tree that lacks changes. The caller must save.
    pub(crate) fn set_aside(&mut self, tree: SegmentId, reason: String) {
        self.trees.entry(tree).or_default().note(PageNo::NONE, reason);
        self.changed.insert(tree);
    }

    /// Makes a change of the commit at `ts` by calling `apply`. If its tree is quarantined, or becomes so
    /// because the change cannot be made, keeps the change: by itself, or as part of the file `run`. The
    /// caller must save.
    pub(crate) fn apply_or_keep(
        &mut self,
        op: &Op,
        ts: CommitTs,
        run: Option<RunName>,
        apply: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let tree = op.tree();
        if !self.trees.contains_key(&tree) {
            let mut result = apply();
            for _ in 1..ATTEMPTS {
                // A read that fails now and then is not damage.
                if matches!(&result, Err(TableError::Storage(error @ StorageError::Io { .. })) if error.is_damage())
                {
                    result = apply();
                }
            }
            match result {
                Err(error) if error.is_damage() && Some(tree) != self.essential => {
                    let (page, reason) = place(&error);
                    self.trees.entry(tree).or_default().note(page, reason);
                    self.changed.insert(tree);
                }
                other => return other,
            }
        }
        if !matches!(op, Op::PutRow { .. } | Op::DeleteRow { .. }) {
            return Ok(());
        }
        let Some(found) = self.trees.get_mut(&tree) else { return Ok(()) };
        let new = match run {
            Some(run) => found.runs.insert(ts, run) != Some(run),
            None => found.ops.insert((op.key().to_vec(), ts), op.clone()).as_ref() != Some(op),
        };
        if new {
            self.changed.insert(tree);
        }
        Ok(())
    }

    /// Makes changed records durable.
    pub(crate) fn save(&mut self) -> Result<()> {
        while let Some(tree) = self.changed.first().copied() {
            if let Some(found) = self.trees.get(&tree) {
                self.write(tree, found)?;
            }
            self.changed.remove(&tree);
        }
        Ok(())
    }

    fn write(&self, tree: SegmentId, found: &Quarantined) -> Result<()> {
        let body = found.encode(tree);
        let mut bytes = AlignedBuf::zeroed((HEADER + body.len()).next_multiple_of(BLOCK));
        let mut covered = ByteWriter::with_capacity(HEADER + body.len());
        covered.u32(FORMAT).u64(body.len() as u64);
        let mut covered = covered.finish();
        covered.extend_from_slice(&body);
        let mut head = ByteWriter::with_capacity(12);
        head.u32(crc32c::crc32c(&covered));
        let parts = [&MAGIC[..], &head.finish(), &covered].concat();
        for (to, from) in bytes.iter_mut().zip(parts) {
            *to = from;
        }
        self.env.create_dir(DIRECTORY).map_err(failed("create"))?;
        self.env.sync_dir("").map_err(failed("sync"))?;
        let file = self.env.open(NEW, OpenMode::Create).map_err(failed("create"))?;
        file.truncate(0).map_err(failed("truncate"))?;
        file.allocate(bytes.len() as u64).map_err(failed("allocate"))?;
        file.write_at(&bytes, 0).map_err(failed("write"))?;
        file.sync().map_err(failed("sync"))?;
        self.env.rename(NEW, &file_name(tree)).map_err(failed("rename"))?;
        self.env.sync_dir(DIRECTORY).map_err(failed("sync"))
    }

    /// The record of a tree, if it is quarantined.
    pub(crate) fn get(&self, tree: SegmentId) -> Option<&Quarantined> {
        self.trees.get(&tree)
    }

    /// All pages that must not be trusted, each with the reason.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (&PageNo, &String)> {
        self.trees.values().flat_map(|found| &found.pages)
    }

    /// Returns whether a file with operations is still needed.
    pub(crate) fn needs_run(&self, number: u64) -> bool {
        self.trees
            .values()
            .any(|found| found.incomplete || found.runs.values().any(|run| run.number == number))
    }

    /// Removes the trees that are not in `named`, which nobody will ask for again.
    pub(crate) fn retain(&mut self, named: &BTreeSet<SegmentId>) {
        let gone: Vec<SegmentId> = self.trees.keys().copied().filter(|tree| !named.contains(tree)).collect();
        gone.into_iter().for_each(|tree| self.forget(tree));
    }

    /// Removes a tree that does not exist any more.
    pub(crate) fn forget(&mut self, tree: SegmentId) {
        let Some(gone) = self.trees.remove(&tree) else { return };
        // If this fails, the next open removes the files.
        let _ = self.env.remove(&file_name(tree));
        for run in gone.runs.values().filter(|run| !self.needs_run(run.number)) {
            remove_run(&*self.env, run.number);
        }
    }
}

fn file_name(tree: SegmentId) -> String {
    format!("{DIRECTORY}/{tree}")
}

fn failed(op: &'static str) -> impl Fn(io::Error) -> TableError {
    move |error| io_error(op, DIRECTORY, error)
}

/// The page and the reason of damage.
fn place(error: &TableError) -> (PageNo, String) {
    match error {
        TableError::Tree(BtreeError::Corrupt { page, what }) => (*page, what.clone()),
        TableError::Storage(StorageError::Corrupt { page, reason }) => (*page, reason.clone()),
        other => (PageNo::NONE, other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::TableId;
    use leafline_storage::device::SimulatedEnv;

    const TREE: SegmentId = SegmentId(7);

    fn put(key: &[u8]) -> Op {
        Op::PutRow { table: TableId(3), tree: TREE, key: key.into(), payload: b"row".into() }
    }

    fn damaged() -> Result<()> {
        Err(StorageError::Corrupt { page: PageNo(9), reason: "wrong checksum".into() }.into())
    }

    #[test]
    fn changes_that_cannot_be_applied_are_kept_across_a_power_cut() {
        let env = SimulatedEnv::new();
        let shared = Arc::new(env.clone()) as Arc<dyn Env>;
        let mut quarantine = Quarantine::load(&shared, Some(SegmentId(1))).unwrap();
        quarantine.apply_or_keep(&put(b"a"), CommitTs(5), None, &mut || Ok(())).unwrap();
        assert_eq!(quarantine.get(TREE), None);
        quarantine.apply_or_keep(&put(b"b"), CommitTs(5), None, &mut damaged).unwrap();
        quarantine.apply_or_keep(&put(b"c"), CommitTs(6), None, &mut || panic!("applied")).unwrap();
        let entry = Op::DropEntry { tree: SegmentId(8), key: b"d".into() };
        quarantine.apply_or_keep(&entry, CommitTs(6), None, &mut damaged).unwrap();
        let run = RunName { number: 4, bytes: 4096 };
        quarantine.apply_or_keep(&put(b"e"), CommitTs(7), Some(run), &mut damaged).unwrap();
        quarantine.save().unwrap();
        let found = quarantine.get(TREE).unwrap().clone();
        assert_eq!(found.ops.keys().map(|(key, _)| key.as_slice()).collect::<Vec<_>>(), [b"b", b"c"]);
        assert_eq!(found.runs, BTreeMap::from([(CommitTs(7), run)]));
        assert_eq!(found.pages, BTreeMap::from([(PageNo(9), "wrong checksum".to_owned())]));
        assert!(quarantine.needs_run(4) && !quarantine.needs_run(5));
        env.cut(3);
        let mut again = Quarantine::load(&shared, None).unwrap();
        assert_eq!(again.get(TREE), Some(&found));
        assert!(again.get(SegmentId(8)).unwrap().ops.is_empty());
        again.retain(&BTreeSet::from([SegmentId(8)]));
        assert!(Quarantine::load(&shared, None).unwrap().get(TREE).is_none());
    }

    #[test]
    fn the_essential_tree_is_not_set_aside() {
        let env = Arc::new(SimulatedEnv::new()) as Arc<dyn Env>;
        let mut quarantine = Quarantine::load(&env, Some(TREE)).unwrap();
        assert!(quarantine.apply_or_keep(&put(b"a"), CommitTs(5), None, &mut damaged).is_err());
        let page = UnreadablePage { page: PageNo(9), segment: TREE, reason: String::new() };
        assert!(quarantine.note_pages(&[page]).is_err());
    }

    #[test]
    fn a_damaged_file_does_not_end_a_quarantine() {
        let env = SimulatedEnv::new();
        let shared = Arc::new(env.clone()) as Arc<dyn Env>;
        let mut quarantine = Quarantine::load(&shared, None).unwrap();
        quarantine.apply_or_keep(&put(b"a"), CommitTs(5), None, &mut damaged).unwrap();
        quarantine.save().unwrap();
        for at in [0, 9, 13, 17, 30, 60] {
            let env = env.snapshot();
            env.damage("quarantine/7", at, &mut |bytes| bytes[0] ^= 1).unwrap();
            let found = Quarantine::load(&(Arc::new(env) as Arc<dyn Env>), None).unwrap();
            assert!(found.get(TREE).unwrap().incomplete && found.needs_run(1), "byte {at}");
        }
    }
}
