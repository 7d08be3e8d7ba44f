//! How much lies in ranges of an index: by dives into them, as many as what is learnt is worth.
//!
//! Leaves that are in memory are looked at freely. Where each may be a read from the device few ranges are dived into, of longer ones only branch
//! pages are read, and of a table that is read as quickly as that none.

use crate::constraint::Bounds;
use crate::cost::{point_read_us, scan_us};
use crate::error::Result;
use crate::params::{
    COLD_SHARE, MAX_COLD_DIVES, MAX_COMMON_DIVES, MAX_DIVED_PARTITIONS, MAX_DIVES, READS_PER_DIVE,
};
use crate::path::AccessPath;
use crate::plan::base_relation::BaseRelation;
use crate::plan::candidate::position_in;
use crate::plan::planner::Planner;
use crate::stats::Extent;
use leafline_table::{IndexDef, Partition, Partitioning, TableDef};

impl Planner<'_> {
    /// The size of an index.
    pub(crate) fn whole(&self, table: &TableDef, index: &IndexDef) -> Result<Extent> {
        let found = self.statistics.size(self.engine, table, index)?;
        Ok(Extent {
            entries: found.entries,
            leaves: found.leaves.max(1.0),
            resident: found.resident_fraction,
        })
    }

    /// Estimates the entries in the ranges. Of many, those of common values are dived into apart from the others.
    pub(crate) fn extent(&self, table: &TableDef, index: &IndexDef, bounds: &Bounds) -> Result<Extent> {
        if index.is_hypothetical() {
            let hypothetical = self.statistics.hypothetical(self.engine, table, index)?;
            let found = bounds.ranges.iter().map(|range| hypothetical.estimate(range));
            return Ok(found.fold(Extent::default(), |sum, found| Extent {
                entries: sum.entries + found.entries,
                leaves: sum.leaves + found.leaves,
                resident: found.resident_fraction,
            }));
        }
        if let Some(partitioning) = &table.partitioning {
            return self.extent_of_partitions((table, partitioning), index, bounds);
        }
        let tree = self.engine.tree(index)?;
        let whole = self.whole(table, index)?;
        let per_leaf = Some(whole.entries / whole.leaves);
        let is_cold = whole.resident < COLD_SHARE;
        if is_cold && let Some(extent) = self.guessed_extent(table, index, bounds, whole)? {
            return Ok(extent);
        }
        let (mut common, mut others) = (Vec::new(), Vec::new());
        let values = match bounds.ranges.len() > MAX_DIVES {
            true => self.statistics.common_values(self.engine, table, index)?,
            false => None,
        };
        for range in &bounds.ranges {
            let is_common = values.as_ref().is_some_and(|values| values.has(range));
            if is_common { &mut common } else { &mut others }.push(range);
        }
        let mut sum = Extent::default();
        let mut dives = 0.0;
        for (ranges, most) in [(common, MAX_COMMON_DIVES), (others, MAX_DIVES)] {
            let most = if is_cold { MAX_COLD_DIVES } else { most };
            let step = ranges.len().div_ceil(most).max(1);
            let scale = ranges.len() as f64 / ranges.len().div_ceil(step).max(1) as f64;
            for range in ranges.iter().step_by(step) {
                let found = tree.estimate_knowing(&range.lower, range.upper.as_deref(), per_leaf)?;
                sum.entries += found.entries * scale;
                sum.leaves += found.leaves.max(1.0) * scale;
                sum.resident += found.resident_fraction;
                dives += 1.0;
            }
        }
        Ok(Extent { resident: sum.resident / f64::max(dives, 1.0), ..sum })
    }

    /// Estimates the entries in the ranges of all partitions; of many some are looked at, and the others taken to be like these.
    fn extent_of_partitions(
        &self,
        (table, partitioning): (&TableDef, &Partitioning),
        index: &IndexDef,
        bounds: &Bounds,
    ) -> Result<Extent> {
        let position = position_in(table, index);
        let rows = |partition: &Partition| self.engine.rows_of(&partition.table) as f64;
        let filled: Vec<&Partition> = partitioning.partitions.iter().filter(|one| rows(one) > 0.0).collect();
        let step = filled.len().div_ceil(MAX_DIVED_PARTITIONS).max(1);
        let (mut sum, mut seen, mut looked) = (Extent::default(), 0.0, 0.0);
        for partition in filled.iter().step_by(step) {
            let own = &partition.table.indexes[position];
            let found = self.extent(&partition.table, own, bounds)?;
            sum.entries += found.entries;
            sum.leaves += found.leaves;
            sum.resident += found.resident;
            seen += rows(partition);
            looked += 1.0;
        }
        let all: f64 = filled.iter().map(|partition| rows(partition)).sum();
        let scale = if seen > 0.0 { all / seen } else { 1.0 };
        Ok(Extent {
            entries: sum.entries * scale,
            leaves: sum.leaves * scale,
            resident: sum.resident / f64::max(looked, 1.0),
        })
    }

    /// Estimates the entries in ranges of equal values on average, where looking would take longer than reading the table.
    fn guessed_extent(
        &self,
        table: &TableDef,
        index: &IndexDef,
        bounds: &Bounds,
        whole: Extent,
    ) -> Result<Option<Extent>> {
        let rows = self.whole(table, table.clustered())?;
        let dives = bounds.ranges.len().min(MAX_COLD_DIVES) as f64;
        let all_us = scan_us(self.model, rows.leaves, rows.resident);
        if all_us > READS_PER_DIVE * dives * point_read_us(self.model, 0.0) {
            return Ok(None);
        }
        let statistics = self.statistics.index(self.engine, table, index)?;
        let mut sum = Extent { resident: whole.resident, ..Extent::default() };
        for range in &bounds.ranges {
            if range.equal.parts == 0 {
                return Ok(None);
            }
            let entries = statistics.entries_per(range.equal.parts);
            sum.entries += entries;
            sum.leaves += 1.0 + entries * whole.leaves / whole.entries;
        }
        Ok(Some(sum))
    }

    /// Estimates the entries for one set of outer values: the average over the index.
    pub(crate) fn per_key(
        &self,
        path: &AccessPath,
        relation: &BaseRelation<'_>,
        whole: Extent,
        rows: f64,
    ) -> Result<Extent> {
        let constraint = &path.constraint;
        if path.is_unique_lookup() {
            return Ok(Extent { entries: 1.0, leaves: 1.0, resident: whole.resident });
        }
        let statistics = self.statistics.index(self.engine, relation.request.table, &path.index)?;
        let mut entries = statistics.entries_per(constraint.equal_parts()).min(rows);
        if constraint.used_parts() > constraint.equal_parts() {
            entries *= 1.0 / 3.0;
        }
        let per_leaf = (whole.entries / whole.leaves.max(1.0)).max(1.0);
        Ok(Extent { entries, leaves: 1.0 + entries / per_leaf, resident: whole.resident })
    }
}
