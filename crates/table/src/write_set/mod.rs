//! The write set: the changes of a transaction that nobody else can see yet.
//!
//! Pages never contain uncommitted changes, so that an uncommitted write exists only here. For each table the write
//! set contains the written rows, ordered by clustered key, each with its whole history in this transaction. Every
//! write has a sequence number. A statement reads the writes before its start (`as_of`), so that it never meets its
//! own output (the Halloween problem). Unique checks read all writes (`as_of` = [`NOW`]). A rollback to a mark
//! declares an interval of sequence numbers aborted.
//!
//! A reader of a secondary index needs the writes in the order of that index. Such a view is built when it is first
//! requested, and maintained from then on. It maps entry keys to their states in the transaction: live with a
//! payload, or deleted.
//!
//! A write set may be larger than memory: rows and views are [`Layers`], of which only the newest is in memory.
//! [`memory`] decides how much that is.

mod history;
mod key_map;
mod layers;
mod memory;
mod net_changes;
mod overlay;

use crate::catalog::{IndexDef, TableDef, TableId};
use crate::error::{Result, TableError};
use crate::index::entry::{Entry, entry_of_row};
use crate::limits::Limits;
use crate::memory::MemoryAccount;
use crate::run::Sorter;
use history::{Aborted, Base, Encoded, encode_write};
use layers::Layers;
use leafline_storage::{Env, Lsn, Store};
use leafline_types::prefix_successor;
use memory::spill;
pub(crate) use net_changes::NetChange;
use net_changes::{NetChanges, Rows};
use overlay::Part;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Later than every write.
pub(crate) const NOW: u64 = u64::MAX;

/// The first sequence number.
const FIRST: u64 = 1;

/// The minimum memory for sorting the writes of a view, in bytes.
const LEAST_SORT: u64 = 64 << 10;

/// The payload of a live row or entry; `None` if it was deleted.
pub(crate) type State = Option<Arc<[u8]>>;

/// A position in the history of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mark(pub(crate) u64);

/// The files, memory and limits that a write set uses beyond its own memory.
#[derive(Clone, Copy)]
pub(crate) struct WriteSetSpace<'a> {
    pub(crate) env: &'a Arc<dyn Env>,
    pub(crate) store: &'a Store,
    pub(crate) limits: &'a Limits,
}

/// The writes of one transaction to one table.
#[derive(Debug)]
struct TableWrites {
    table: Arc<TableDef>,
    rows: Layers,
    /// The view of each secondary index.
    views: HashMap<u64, Layers>,
    /// One more than the largest AUTO_INCREMENT value used.
    next_auto_increment: u64,
    /// Whether rows may have been written whose base the snapshot does not see.
    unseen: bool,
}

/// The state of one key of an index in a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OverlayEntry {
    pub(crate) key: Vec<u8>,
    pub(crate) state: State,
}

/// All writes of one transaction.
#[derive(Debug)]
pub(crate) struct WriteSet {
    next_seq: u64,
    aborted: Aborted,
    tables: BTreeMap<TableId, TableWrites>,
    /// The bytes of the layers in memory.
    bytes: u64,
    /// The maximum of these bytes before memory must be borrowed or freed.
    room: u64,
    memory: MemoryAccount,
    /// The log's end when the transaction last read a commit that may not be durable.
    seen: Option<Lsn>,
}

impl Default for WriteSet {
    fn default() -> WriteSet {
        WriteSet {
            next_seq: FIRST,
            aborted: Aborted::default(),
            tables: BTreeMap::new(),
            bytes: 0,
            room: 0,
            memory: MemoryAccount::new(&memory::TERMS),
            seen: None,
        }
    }
}

impl WriteSet {
    /// The current position.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.next_seq)
    }

    /// The number of writes, including undone ones.
    pub(crate) fn written(&self) -> u64 {
        self.next_seq - FIRST
    }

    /// Undoes every write since `mark`.
    pub(crate) fn roll_back_to(&mut self, mark: Mark) {
        if mark.0 < self.next_seq {
            self.aborted.add(mark.0, self.next_seq);
            for writes in self.tables.values_mut() {
                writes.each(&mut |layers| layers.forget_from(mark.0));
            }
            self.count_bytes();
        }
    }

    /// Returns whether there is no write, or all of them were rolled back.
    pub(crate) fn is_empty(&self) -> bool {
        self.next_seq == FIRST || self.aborted.is_all(FIRST, self.next_seq)
    }

    /// Returns whether `table` was written, and not all of its writes were removed after a rollback.
    pub(crate) fn has_table(&self, table: TableId) -> bool {
        self.tables.get(&table).is_some_and(|writes| !writes.rows.is_empty())
    }

    /// Returns whether rows of `table` may have been written over versions that the snapshot does not see. The
    /// versions that the snapshot sees are then not the ones that were replaced.
    pub(crate) fn has_unseen_bases(&self, table: TableId) -> bool {
        self.tables.get(&table).is_some_and(|writes| writes.unseen)
    }

    /// Notes that the statement continues with versions of rows of `table` that its snapshot does not see, and that
    /// are in the log before `end`.
    pub(crate) fn note_unseen(&mut self, table: &Arc<TableDef>, end: Lsn) {
        self.note_unseen_bases(table);
        self.note_seen(end);
    }

    /// Notes that rows of `table` may be written over durable versions that the transaction's snapshot does not see.
    pub(crate) fn note_unseen_bases(&mut self, table: &Arc<TableDef>) {
        self.tables.entry(table.id).or_insert_with(|| TableWrites::new(table)).unseen = true;
    }

    /// Notes that the transaction has read commits that are in the log before `end` and may not be durable.
    pub(crate) fn note_seen(&mut self, end: Lsn) {
        self.seen = self.seen.max(Some(end));
    }

    /// Takes the LSN up to which the log must be durable before the client gets another answer of this transaction.
    pub(crate) fn take_seen(&mut self) -> Option<Lsn> {
        self.seen.take()
    }

    /// The state of the row after the newest write before `as_of`; `None` if there is no such write.
    pub(crate) fn row(&self, table: TableId, key: &[u8], as_of: u64) -> Result<Option<State>> {
        let Some(writes) = self.tables.get(&table) else { return Ok(None) };
        writes.rows.newest(key, as_of, &self.aborted)
    }

    /// Records that the row is `after` from now on. `base` is the committed row; it is used only if the row was not
    /// written before.
    pub(crate) fn put_row(
        &mut self,
        table: &Arc<TableDef>,
        key: &[u8],
        base: State,
        after: State,
    ) -> Result<()> {
        let seq = self.next_seq;
        self.next_seq += 1;
        let writes = self.tables.entry(table.id).or_insert_with(|| TableWrites::new(table));
        let bytes = writes.bytes();
        let before = writes.rows.put(key, base, seq, after.clone(), &self.aborted)?;
        for (index_id, view) in &mut writes.views {
            let index = writes.table.index_by_id(*index_id).expect("views are of the table's indexes");
            let states = (before.as_deref(), after.as_deref());
            view_writes(&writes.table, index, key, states, &mut |key, state| {
                view.push(&key, seq, state.map(Into::into));
                Ok(())
            })?;
        }
        self.bytes = self.bytes - bytes + writes.bytes();
        Ok(())
    }

    /// Builds the view of a secondary index if it does not exist. A table without writes needs none.
    pub(crate) fn build_view(
        &mut self,
        space: WriteSetSpace<'_>,
        table: TableId,
        index: &IndexDef,
    ) -> Result<()> {
        let Some(writes) = self.tables.get(&table) else { return Ok(()) };
        if index.is_clustered() || writes.views.contains_key(&index.id) {
            return Ok(());
        }
        // An index made after the first write belongs to a newer definition; later writes must know it too.
        let Some(index) = writes.table.index_by_id(index.id).cloned() else {
            return Err(TableError::DefinitionChanged);
        };
        // The view takes about as much memory as the rows.
        let needed = self.bytes + writes.rows.bytes();
        let small = !writes.rows.has_runs() && needed <= space.limits.write_set_memory;
        let view = if small && (needed <= self.room || self.borrow(space, needed - self.room, 0)?) {
            self.view_in_memory(table, &index)?
        } else {
            self.view_by_sorting(space, table, &index)?
        };
        self.bytes += view.bytes();
        if let Some(writes) = self.tables.get_mut(&table) {
            writes.views.insert(index.id, view);
        }
        Ok(())
    }

    fn view_in_memory(&self, table: TableId, index: &Arc<IndexDef>) -> Result<Layers> {
        let mut view = Layers::of_index(index);
        let Some(writes) = self.tables.get(&table) else { return Ok(view) };
        for (key, row) in writes.rows.memory() {
            let mut before = match &row.base {
                Base::Is(base) => base.as_deref(),
                Base::Below => return Err(no_base()),
            };
            for (seq, after) in row.iter().filter(|(seq, _)| !self.aborted.contains(*seq)) {
                let states = (before, after.as_deref());
                view_writes(&writes.table, index, key, states, &mut |key, state| {
                    view.push(&key, *seq, state.map(Into::into));
                    Ok(())
                })?;
                before = after.as_deref();
            }
        }
        Ok(view)
    }

    fn view_by_sorting(
        &mut self,
        space: WriteSetSpace<'_>,
        table: TableId,
        index: &Arc<IndexDef>,
    ) -> Result<Layers> {
        self.freeze_at(space, (table, None), false)?;
        let Some(writes) = self.tables.get(&table) else { return Ok(Layers::of_index(index)) };
        let memory = space.limits.write_set_memory.min(self.room.saturating_sub(self.bytes)).max(LEAST_SORT);
        let mut sorter = Sorter::new(space.env, memory);
        let mut entries = 0;
        let mut payload = Vec::new();
        let mut groups = writes.rows.groups()?;
        while groups.next(&self.aborted)? {
            let row = Encoded::new(&groups.payload)?;
            let mut before = row.base.ok_or_else(no_base)?;
            let mut writes_of_row = row.writes();
            while let Some((seq, after)) = writes_of_row.next()? {
                view_writes(&writes.table, index, &groups.key, (before, after), &mut |key, state| {
                    payload.clear();
                    encode_write(seq, state.as_deref(), &mut payload);
                    entries += 1;
                    sorter.push(&key, &payload)
                })?;
                before = after;
            }
        }
        drop(groups);
        let filtered = self.has_room_for_filter(space, entries)?;
        Layers::from_sorted(index, &mut sorter.finish()?, entries, spill(space, filtered))
    }

    /// Returns whether the view exists or is not needed.
    pub(crate) fn has_view(&self, table: TableId, index: &IndexDef) -> bool {
        index.is_clustered()
            || self.tables.get(&table).is_none_or(|writes| writes.views.contains_key(&index.id))
    }

    /// The state of one key of a secondary index, whose view must exist.
    pub(crate) fn entry(&self, table: TableId, index: u64, key: &[u8], as_of: u64) -> Result<Option<State>> {
        match self.tables.get(&table).and_then(|writes| writes.views.get(&index)) {
            Some(view) => view.newest(key, as_of, &self.aborted),
            None => Ok(None),
        }
    }

    /// Up to `max` keys of an index that the transaction wrote before `as_of`, from `range.0` to before `range.1`, in
    /// descending order if `reverse`. The view of the index must exist.
    pub(crate) fn overlay(
        &self,
        table: TableId,
        index: &IndexDef,
        range: (&[u8], Option<&[u8]>),
        reverse: bool,
        as_of: u64,
        max: usize,
    ) -> Result<Vec<OverlayEntry>> {
        let Some(writes) = self.tables.get(&table) else { return Ok(Vec::new()) };
        let layers = if index.is_clustered() { Some(&writes.rows) } else { writes.views.get(&index.id) };
        let part = Part { lower: range.0, upper: range.1, unique: None, reverse, max };
        layers.map_or(Ok(Vec::new()), |layers| layers.overlay(&part, as_of, &self.aborted))
    }

    /// The states of the keys of a secondary index with these unique parts; the view must exist.
    pub(crate) fn with_unique_parts(
        &self,
        table: TableId,
        index: u64,
        parts: &[u8],
    ) -> Result<Vec<OverlayEntry>> {
        let end = prefix_successor(parts);
        let unique = Some(parts);
        let part = Part { lower: parts, upper: end.as_deref(), unique, reverse: false, max: usize::MAX };
        match self.tables.get(&table).and_then(|writes| writes.views.get(&index)) {
            Some(view) => view.overlay(&part, NOW, &self.aborted),
            None => Ok(Vec::new()),
        }
    }

    /// Returns whether a table that is not private was written, and not all of its writes were removed after a
    /// rollback.
    pub(crate) fn has_shared_tables(&self) -> bool {
        self.tables.values().any(|writes| !writes.table.is_private && !writes.rows.is_empty())
    }

    /// Notes that an AUTO_INCREMENT value was used.
    pub(crate) fn note_auto_increment(&mut self, table: &Arc<TableDef>, value: u64) {
        let writes = self.tables.entry(table.id).or_insert_with(|| TableWrites::new(table));
        writes.next_auto_increment = writes.next_auto_increment.max(value.saturating_add(1));
    }

    /// Notes that no value from `next` on was used.
    pub(crate) fn take_back_auto_increment(&mut self, table: TableId, next: u64) {
        if let Some(writes) = self.tables.get_mut(&table) {
            writes.next_auto_increment = writes.next_auto_increment.min(next);
        }
    }

    /// The written tables, as they were defined at the first write.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.tables.values().map(|writes| &writes.table)
    }

    /// One more than the largest AUTO_INCREMENT value used in `table`; 0 if none was used.
    pub(crate) fn next_auto_increment(&self, table: TableId) -> u64 {
        self.tables.get(&table).map_or(0, |writes| writes.next_auto_increment)
    }

    /// Freezes the writes in memory of tables that also have runs, so that [`net_changes`](Self::net_changes) finds
    /// the rows in one place.
    pub(crate) fn finish(&mut self, space: WriteSetSpace<'_>) -> Result<()> {
        let frozen = self.tables.iter().filter(|(_, writes)| writes.rows.has_runs());
        let frozen: Vec<TableId> = frozen.map(|(id, _)| *id).collect();
        frozen.into_iter().try_for_each(|table| self.freeze_at(space, (table, None), false))
    }

    /// The changes to `table` so far, if all of them are in memory.
    pub(crate) fn changes_in_memory(&self, table: TableId) -> Option<NetChanges<'_>> {
        let writes = self.tables.get(&table);
        if writes.is_some_and(|writes| writes.rows.has_runs()) {
            return None;
        }
        let rows = writes.map_or(Rows::None, |writes| Rows::Memory(writes.rows.memory()));
        Some(NetChanges { rows, aborted: &self.aborted })
    }

    /// The changes to `table` to be committed, in key order, after [`finish`](Self::finish) was called.
    pub(crate) fn net_changes(&self, table: TableId) -> Result<NetChanges<'_>> {
        let aborted = &self.aborted;
        let rows = match self.tables.get(&table) {
            Some(writes) if writes.rows.has_runs() => Rows::Frozen(writes.rows.groups()?),
            Some(writes) => Rows::Memory(writes.rows.memory()),
            None => Rows::None,
        };
        Ok(NetChanges { rows, aborted })
    }
}

fn no_base() -> TableError {
    TableError::Internal("the write set does not know what a row was".into())
}

impl TableWrites {
    fn new(table: &Arc<TableDef>) -> TableWrites {
        TableWrites {
            table: table.clone(),
            rows: Layers::default(),
            views: HashMap::new(),
            next_auto_increment: 0,
            unseen: false,
        }
    }

    /// The bytes in memory.
    fn bytes(&self) -> u64 {
        self.rows.bytes() + self.views.values().map(Layers::bytes).sum::<u64>()
    }

    /// The rows, and the views by index.
    fn layers(&self) -> impl Iterator<Item = (Option<u64>, &Layers)> {
        let views = self.views.iter().map(|(index, view)| (Some(*index), view));
        std::iter::once((None, &self.rows)).chain(views)
    }

    /// The rows, or the view of an index.
    fn at(&self, index: Option<u64>) -> Option<&Layers> {
        index.map_or(Some(&self.rows), |index| self.views.get(&index))
    }

    fn each(&mut self, change: &mut dyn FnMut(&mut Layers)) {
        change(&mut self.rows);
        self.views.values_mut().for_each(change);
    }
}

/// The changes of an index's keys that follow from one write of a row, from the first state to the second.
fn view_writes(
    table: &TableDef,
    index: &IndexDef,
    key: &[u8],
    (before, after): (Option<&[u8]>, Option<&[u8]>),
    add: &mut dyn FnMut(Vec<u8>, Option<Vec<u8>>) -> Result<()>,
) -> Result<()> {
    let derive = |state: Option<&[u8]>| -> Result<Option<Entry>> {
        state.map(|payload| entry_of_row(table, index, key, payload)).transpose()
    };
    // An unchanged entry is added too: if the snapshot becomes newer than the write, readers hide what others made of
    // the row, and must find here what the entry is to this transaction.
    let (old, new) = (derive(before)?, derive(after)?);
    if let Some(old) = old
        && new.as_ref().is_none_or(|new| new.key != old.key)
    {
        add(old.key, None)?;
    }
    match new {
        Some(new) => add(new.key, Some(new.payload)),
        None => Ok(()),
    }
}
