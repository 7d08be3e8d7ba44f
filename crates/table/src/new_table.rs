//! New tables: their definitions, and their empty trees.

use crate::catalog::{
    ColumnDef, IndexDraft, IndexPart, IndexShape, IndexSpec, IndexSpecKind, IndexSpecPart, Packing,
    Partition, PartitionScheme, Partitioning, TableDef, TableDraft, TableId, TableSpec,
};
use crate::core::Core;
use crate::error::Result;
use crate::limits::Limits;
use crate::op::CounterChange;
use crate::overflow::part_bytes;
use crate::trees::create_tree;
use leafline_btree::{CommitTs, LeafFormat};
use leafline_storage::{PageNo, SegmentId, Store};
use leafline_types::{Collation, SqlType};
use std::sync::Arc;

/// The trees made by a statement; freed unless the statement commits.
pub(crate) struct NewTrees {
    store: Store,
    segments: Vec<SegmentId>,
}

impl NewTrees {
    pub(crate) fn new(core: &Core) -> NewTrees {
        NewTrees { store: core.store.clone(), segments: Vec::new() }
    }

    /// Adds a segment that is being built.
    pub(crate) fn note(&mut self, segment: SegmentId) {
        self.segments.push(segment);
    }

    /// Keeps the trees, because the catalog names them now.
    pub(crate) fn keep(&mut self) {
        self.segments.clear();
    }
}

impl Drop for NewTrees {
    fn drop(&mut self) {
        for &segment in &self.segments {
            // If this fails, the store has stopped, and the next open frees the segment.
            let _ = self.store.drop_segment(segment);
        }
    }
}

/// Makes a new table without rows and foreign keys, its overflow tables, and its counters.
pub(crate) fn empty_table(
    core: &Core,
    spec: &TableSpec,
    is_private: bool,
    new: &mut NewTrees,
) -> Result<(TableDef, Vec<TableDef>, CounterChange)> {
    let draft = TableDraft::new(&spec.with_foreign_indexes(&spec.foreign_keys), &core.limits)?;
    let clustered_key = draft.clustered_key().map(<[_]>::to_vec);
    let mut table = TableDef {
        id: TableId(core.counters.new_object()),
        database: spec.database.clone(),
        name: spec.name.clone(),
        columns: draft.columns,
        dropped: Vec::new(),
        indexes: Vec::with_capacity(draft.indexes.len()),
        checks: spec.checks.clone(),
        foreign_keys: Vec::new(),
        histograms: Vec::new(),
        schema_version: 1,
        overflow: None,
        is_overflow: false,
        is_private,
        partitioning: None,
        partition_of: None,
        options: spec.options.clone(),
    };
    for index in draft.indexes {
        let shape = index_shape(core, index, &table, clustered_key.as_deref());
        let (tree, root) = match &spec.partitioning {
            Some(_) => (SegmentId::NONE, PageNo::NONE),
            None => {
                let format = shape.packing.leaf_format();
                let tree = create_tree(&core.store, format)?;
                new.note(tree.id());
                (tree.id(), tree.root())
            }
        };
        table.indexes.push(Arc::new(shape.build(tree, root, CommitTs::NONE)));
    }
    let start = spec.options.auto_increment_start.unwrap_or(1);
    let counters = CounterChange { table: table.id, next_auto_increment: start, ..CounterChange::default() };
    let overflow = match &spec.partitioning {
        Some(scheme) => add_empty_partitions(core, &mut table, scheme, new)?,
        None => new_overflow_table(core, &mut table, new)?.into_iter().collect(),
    };
    Ok((table, overflow, counters))
}

/// Makes an empty table like `table`, with a number of its own, and its overflow table.
pub(crate) fn emptied(
    core: &Core,
    table: &TableDef,
    new: &mut NewTrees,
) -> Result<(TableDef, Vec<TableDef>)> {
    let mut empty = TableDef { id: TableId(core.counters.new_object()), ..table.clone() };
    for index in &mut empty.indexes {
        let index = Arc::make_mut(index);
        index.id = core.counters.new_object();
        if !table.is_partitioned() {
            let tree = create_tree(&core.store, index.leaf_format())?;
            new.note(tree.id());
            (index.tree, index.root) = (tree.id(), tree.root());
        }
    }
    let overflow = match table.is_partitioned() {
        true => None,
        false => new_overflow_table(core, &mut empty, new)?,
    };
    Ok((empty, overflow.into_iter().collect()))
}

/// The shape of an index of a table, with a new number.
pub(crate) fn index_shape<'c>(
    core: &Core,
    draft: IndexDraft,
    table: &'c TableDef,
    clustered_key: Option<&'c [IndexPart]>,
) -> IndexShape<'c> {
    let packing = Packing::of_new(&draft, &table.columns, &table.options);
    IndexShape {
        id: core.counters.new_object(),
        name: draft.name,
        kind: draft.kind,
        parts: draft.parts,
        comment: draft.comment,
        invisible: draft.invisible,
        for_foreign_key: draft.for_foreign_key,
        packing,
        words: draft.words,
        columns: &table.columns,
        dropped: &table.dropped,
        clustered_key,
        schema_version: table.schema_version,
    }
}

/// Makes an empty overflow table for a new table whose rows may need one.
pub(crate) fn new_overflow_table(
    core: &Core,
    table: &mut TableDef,
    new: &mut NewTrees,
) -> Result<Option<TableDef>> {
    table.overflow = None;
    let any = (0..table.columns.len()).any(|column| table.may_overflow(column, &core.limits));
    if table.is_overflow || !any {
        return Ok(None);
    }
    let draft = TableDraft::new(&overflow_spec(table, &core.limits), &core.limits)?;
    let mut overflow = TableDef {
        id: TableId(core.counters.new_object()),
        database: table.database.clone(),
        name: table.name.clone(),
        columns: draft.columns,
        dropped: Vec::new(),
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        histograms: Vec::new(),
        schema_version: 1,
        overflow: None,
        is_overflow: true,
        is_private: table.is_private,
        partitioning: None,
        partition_of: None,
        options: Default::default(),
    };
    for index in draft.indexes {
        let tree = create_tree(&core.store, LeafFormat::Plain)?;
        new.note(tree.id());
        let clustered_key = Some(index.parts.clone());
        let shape = index_shape(core, index, &overflow, clustered_key.as_deref());
        overflow.indexes.push(Arc::new(shape.build(tree.id(), tree.root(), CommitTs::NONE)));
    }
    table.overflow = Some(overflow.id);
    Ok(Some(overflow))
}

/// The definition of the overflow table of `table`.
fn overflow_spec(table: &TableDef, limits: &Limits) -> TableSpec {
    let column = |name: &str, ty| ColumnDef::new(name, ty, false, Collation::Binary);
    TableSpec {
        database: table.database.clone(),
        name: table.name.clone(),
        columns: vec![
            column("id", SqlType::BIGINT_UNSIGNED),
            column("part", SqlType::Int { unsigned: true }),
            column("bytes", SqlType::Varbinary { len: part_bytes(limits) as u32 }),
        ],
        indexes: vec![IndexSpec {
            kind: IndexSpecKind::Primary,
            parts: ["id", "part"].map(IndexSpecPart::new).to_vec(),
            ..IndexSpec::default()
        }],
        ..TableSpec::default()
    }
}

/// Gives a new table empty partitions. Returns their overflow tables.
pub(crate) fn add_empty_partitions(
    core: &Core,
    table: &mut TableDef,
    scheme: &Arc<PartitionScheme>,
    new: &mut NewTrees,
) -> Result<Vec<TableDef>> {
    let model = table.as_partition();
    let (mut partitions, mut overflow) = (Vec::new(), Vec::new());
    for number in 0..scheme.tables() {
        let (partition, values) = emptied(core, &model, new)?;
        partitions.push(Partition { number, table: Arc::new(partition) });
        overflow.extend(values);
    }
    table.partitioning = Some(Partitioning { scheme: scheme.clone(), partitions: partitions.into() });
    Ok(overflow)
}
