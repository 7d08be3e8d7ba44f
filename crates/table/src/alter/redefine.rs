//! Changes the definition and the indexes of a table whose rows stay as they are.

use super::constraint_check::ConstraintCheck;
use super::{Switch, Target};
use crate::build::{BuiltTree, IndexEntries, References, SnapshotSource, TreeSource, build_indexes};
use crate::catalog::{IndexDef, IndexDraft, IndexPart, Partition, Partitioning, TableDef, TableDraft};
use crate::catalog_change::CatalogChange;
use crate::ddl;
use crate::ddl::Ddl;
use crate::error::{Result, TableError};
use crate::new_table;
use crate::new_table::NewTrees;
use crate::op::CounterChange;
use crate::overflow::CurrentValues;
use crate::read::ReadView;
use leafline_btree::CommitTs;
use leafline_storage::{PageNo, SegmentId};
use leafline_types::Value;
use std::sync::Arc;

/// Builds indexes of a stored table or partition with its new definition.
type BuildIndexes<'b> =
    dyn FnMut(&Arc<TableDef>, &TableDef, Vec<IndexDef>, &mut NewTrees) -> Result<Vec<IndexDef>> + 'b;

impl Ddl {
    /// Changes definitions and indexes. The rows stay as they are, after they were checked. `older` contains their
    /// values in new columns. With `switch`, no gate is closed and `ddl` is not locked yet.
    pub(super) fn redefine_table(
        &self,
        table: &Arc<TableDef>,
        target: Target<'_>,
        (sources, older): (&[Option<usize>], Vec<Value>),
        (next_auto_increment, switch): (Option<u64>, Option<Switch<'_>>),
    ) -> Result<()> {
        let clustered_key = target.draft.clustered_key().map(<[_]>::to_vec);
        let source = |part: &IndexPart| {
            let column = sources.get(part.column).copied().flatten()?;
            Some(IndexPart { column, ..*part })
        };
        let made_from = clustered_key.iter().flatten().map(source);
        let same_key = made_from.eq(table.clustered_key().unwrap_or_default().iter().copied().map(Some));
        if !same_key || !table.can_keep_rows(&target.draft.columns, sources, &self.core.limits) {
            return Err(TableError::Internal("a table whose rows change is not built anew".into()));
        }
        let mut shell = target.shell(table.id);
        shell.keep_rows(table, sources, older);
        let unproven = target.unproven();
        let mut new = NewTrees::new(&self.core);
        let clustered_key = clustered_key.as_deref();
        let control = &target.control;
        let tables: Vec<Arc<TableDef>> = [table].into_iter().chain(&target.parents).cloned().collect();
        let watched = switch.map(|switch| (switch, self.watch(&tables)));
        let view = watched.as_ref().map(|(_, (_, view))| view);
        let (mut beside, mut trees) = (Vec::new(), Vec::new());
        let mut build =
            |stored: &Arc<TableDef>, changed: &TableDef, drafts: Vec<IndexDef>, new: &mut NewTrees| {
                let words = drafts.iter().filter(|index| index.is_words());
                let words: Vec<Arc<IndexDef>> = words.cloned().map(Arc::new).collect();
                let Some(view) = view else {
                    let clustered = self.core.trees.current(stored.clustered().tree)?;
                    let mut rows = TreeSource::in_any_order(&clustered.tree)?;
                    let values = CurrentValues::of(&self.core, changed, &words)?;
                    let texts = |payload: &[u8]| values.texts_of(changed, payload);
                    return build_indexes(&self.core, changed, drafts, (&mut rows, &texts), control, new);
                };
                let mut rows = SnapshotSource::new(view, stored)?;
                let texts = |payload: &[u8]| view.texts_outside(changed, &words, payload);
                let built = build_indexes(&self.core, changed, drafts, (&mut rows, &texts), control, new)?;
                let indexes: Vec<Arc<IndexDef>> = built.iter().cloned().map(Arc::new).collect();
                for index in &indexes {
                    trees.push(BuiltTree::new(&self.core, stored, index)?);
                }
                beside.push((stored.clone(), indexes));
                Ok(built)
            };
        let (draft, of) = (&target.draft, table);
        let mut changed = self.redefined((table, of), (shell, clustered_key), draft, &mut new, &mut build)?;
        changed.keep_histograms(table);
        let mut outside = Vec::new();
        if let Some(partitioning) = &table.partitioning {
            let model = changed.as_partition();
            let redefined = partitioning.partitions.iter().map(|Partition { table: part, .. }| {
                let shell = TableDef { id: part.id, ..model.clone() };
                let redefined =
                    self.redefined((part, of), (shell, clustered_key), draft, &mut new, &mut build)?;
                self.with_outside(part, redefined, &mut outside, &mut new)
            });
            let redefined = redefined.collect::<Result<Vec<_>>>()?;
            let scheme = target.spec.partitioning.clone().unwrap_or_else(|| partitioning.scheme.clone());
            changed.partitioning = Some(Partitioning::new(scheme, redefined));
        } else {
            changed = self.with_outside(table, changed, &mut outside, &mut new)?;
        }
        let references = (!unproven.is_empty())
            .then(|| References::new(&self.core, &Arc::new(changed.clone()), Some(table), &unproven))
            .transpose()?;
        let mut proven =
            ConstraintCheck::new(table, IndexEntries::new(beside, control.threads), target.check, references);
        let mut held = None;
        if let Some((switch, (sources, view))) = watched {
            proven.check_rows(table, &view, &control.cancel)?;
            let terms = (switch, &control.cancel);
            let (_, last) = self.catch_up(&tables, (&sources, view), (trees, &mut proven), terms)?;
            held = Some(last);
        } else {
            proven.check_rows(table, &ReadView::applied(&self.core), &control.cancel)?;
        }
        let of_outside = |outside: &TableDef| CounterChange { table: outside.id, ..CounterChange::default() };
        let mut counters: Vec<CounterChange> = outside.iter().map(of_outside).collect();
        if let Some(next_auto_increment) = next_auto_increment {
            counters.push(CounterChange { table: table.id, next_auto_increment, ..CounterChange::default() });
        }
        let put_tables = [changed].into_iter().chain(outside).chain(target.children).collect();
        ddl::change_catalog(&self.core, CatalogChange { put_tables, counters, ..CatalogChange::default() })?;
        new.keep();
        drop(held);
        Ok(())
    }

    /// Gives `changed`, the new definition of `stored`, its overflow table: that of `stored`, or a new one, which is
    /// added to `outside`.
    fn with_outside(
        &self,
        stored: &TableDef,
        mut changed: TableDef,
        outside: &mut Vec<TableDef>,
        new: &mut NewTrees,
    ) -> Result<TableDef> {
        changed.overflow = stored.overflow;
        if changed.overflow.is_none() {
            outside.extend(new_table::new_overflow_table(&self.core, &mut changed, new)?);
        }
        Ok(changed)
    }

    /// Gives `changed`, the new definition of `stored` (a table or one of its partitions), the indexes of `draft`:
    /// those that the table `of` has already, and new ones, which are built.
    fn redefined(
        &self,
        (stored, of): (&Arc<TableDef>, &TableDef),
        (mut changed, clustered_key): (TableDef, Option<&[IndexPart]>),
        draft: &TableDraft,
        new: &mut NewTrees,
        build: &mut BuildIndexes<'_>,
    ) -> Result<TableDef> {
        // The build of a FULLTEXT index reads values outside the rows.
        changed.overflow = stored.overflow;
        let (mut kept, mut added) = (Vec::new(), Vec::new());
        for (position, index) in draft.indexes.iter().cloned().enumerate() {
            let known = |id| of.indexes.iter().position(|index| index.id == id);
            let old = if position == 0 { Some(0) } else { index.existing.and_then(known) };
            let Some(old) = old.and_then(|old| stored.indexes.get(old)) else {
                let shape = new_table::index_shape(&self.core, index, &changed, clustered_key);
                // The build fills in root and tree, which are not known yet.
                added.push((position, shape.build(SegmentId::NONE, PageNo::NONE, CommitTs::NONE)));
                continue;
            };
            let name = if position == 0 { old.name.clone() } else { index.name.clone() };
            let draft = IndexDraft { name, ..index };
            let mut shape = new_table::index_shape(&self.core, draft, &changed, clustered_key);
            shape.id = old.id;
            (shape.packing.packed, shape.packing.copies) = (old.packing.packed, old.packing.copies);
            kept.push((position, shape.build(old.tree, old.root, old.valid_from)));
        }
        changed.indexes = kept.iter().map(|(_, index)| Arc::new(index.clone())).collect();
        if !added.is_empty() {
            let (positions, drafts): (Vec<usize>, Vec<_>) = added.into_iter().unzip();
            let built = match stored.is_partitioned() {
                true => drafts,
                false => build(stored, &changed, drafts, new)?,
            };
            kept.extend(positions.into_iter().zip(built));
            kept.sort_by_key(|(position, _)| *position);
            changed.indexes = kept.into_iter().map(|(_, index)| Arc::new(index)).collect();
        }
        Ok(changed)
    }
}
