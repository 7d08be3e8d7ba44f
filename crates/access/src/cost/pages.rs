//! From rows to pages and from pages to time.
//!
//! Distinct pages of a random draw: Yao (CACM 1977) in Cardenas' approximation; a sorted batch of k pages out of a span of
//! N is neither random nor sequential: on a rotating disk each page costs the smaller of a seek and
//! reading the gap before it, on flash the transfer divided by what the device serves at once.

use super::CostModel;

/// Pages of `pages` that a random draw of `rows` rows touches.
pub fn distinct_pages(rows: f64, pages: f64) -> f64 {
    if pages <= 1.0 || rows <= 0.0 {
        return rows.min(pages).max(0.0);
    }
    // pages * (1 - (1 - 1/pages)^rows), in the form that keeps its precision for large numbers
    -pages * (rows * (-1.0 / pages).ln_1p()).exp_m1()
}

/// Time of one page read alone, when a share `resident` of such pages is in memory.
pub fn point_read_us(model: &CostModel, resident: f64) -> f64 {
    let miss = 1.0 - model.resident(resident);
    miss * (model.device.random_read_us + model.page_bytes / model.device.bytes_per_us)
}

/// Time of putting an entry into an index, or taking one out, at a place that no other change of the statement is near: its leaf is found
/// before the commit, to be read in, and again when it is changed. The log, and writing the leaf back, cost no more for an index more.
pub fn entry_change_us(model: &CostModel, resident: f64) -> f64 {
    2.0 * model.cpu.seek + model.cpu.leaf + point_read_us(model, resident)
}

/// Time to read `pages` pages that lie in order on the device except for `jumps` places, with read-ahead.
pub fn scan_us(model: &CostModel, pages: f64, resident: f64) -> f64 {
    let missing = pages * (1.0 - model.resident(resident));
    if missing < 0.5 {
        return 0.0;
    }
    model.device.random_read_us + missing * model.page_bytes / model.device.bytes_per_us
}

/// Time to read `pages` pages, sorted, out of a span of `span` pages, in batches of many.
pub fn batched_fetch_us(model: &CostModel, pages: f64, span: f64, resident: f64) -> f64 {
    let missing = pages * (1.0 - model.resident(resident));
    if missing <= 0.0 {
        return 0.0;
    }
    let device = &model.device;
    let transfer = model.page_bytes / device.bytes_per_us;
    let in_flight = device.parallel_reads.min(missing).max(1.0);
    let seek = device.random_read_us / in_flight;
    let gap = (span / missing - 1.0).max(0.0) * transfer;
    missing * (seek.min(gap) + transfer)
}

/// Rows of a tree fetched in sorted batches: each is a sweep over the tree.
#[derive(Clone, Copy, Debug)]
pub struct Sweeps {
    /// Rows in all.
    pub rows: f64,
    /// Rows of one batch.
    pub batch: f64,
    /// Pages of the tree.
    pub pages: f64,
    /// Share of them in memory.
    pub resident: f64,
    /// Distinct pages per row among rows that follow each other.
    pub pages_per_row: f64,
}

impl Sweeps {
    /// Pages that so many rows of one sweep are on.
    fn touched(&self, rows: f64) -> f64 {
        distinct_pages(rows, self.pages).min((rows * self.pages_per_row).max(1.0))
    }

    /// How many pages are latched, and the time to read those that are not in memory. A tree that the buffer pool holds
    /// is read once, however many sweeps there are.
    pub fn cost(&self, model: &CostModel) -> (f64, f64) {
        let touched = |rows: f64| self.touched(rows);
        let time = |pages: f64| batched_fetch_us(model, pages, self.pages, self.resident);
        let full = (self.rows / self.batch.max(1.0)).floor();
        let rest = self.rows - full * self.batch;
        let rest = if rest > 0.0 { touched(rest) } else { 0.0 };
        let latched = full * touched(self.batch) + rest;
        if self.pages <= model.pool_pages {
            return (latched, time(touched(self.rows)));
        }
        (latched, full * time(touched(self.batch)) + time(rest))
    }

    /// Returns pages and microseconds for sweeps of which the first is of `first` rows, and each further one of `growth` times as many.
    pub fn growing(&self, model: &CostModel, first: f64, growth: f64) -> (f64, f64) {
        let (mut latched, mut time_us, mut done, mut batch) = (0.0, 0.0, 0.0, first.max(1.0));
        while done < self.rows {
            let rows = batch.min(self.batch.max(1.0)).min(self.rows - done);
            let touched = self.touched(rows);
            let is_kept = self.pages <= model.pool_pages;
            let new = if is_kept { self.touched(done + rows) - self.touched(done) } else { touched };
            latched += touched;
            let alone = batched_fetch_us(model, touched, self.pages, self.resident);
            time_us += alone * new / touched.max(f64::MIN_POSITIVE);
            done += rows;
            batch *= growth;
        }
        (latched, time_us)
    }

    /// Returns pages and microseconds for rows that are fetched one by one, in another order than theirs.
    pub fn one_by_one(&self, model: &CostModel) -> (f64, f64) {
        let near = (self.rows * self.pages_per_row).max(1.0);
        let reads = match self.pages <= model.pool_pages {
            true => distinct_pages(self.rows, self.pages),
            // A page that was read is gone when it is needed again.
            false => self.rows,
        };
        (self.rows, reads.min(near) * point_read_us(model, self.resident))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::DeviceClass;

    #[test]
    fn distinct_pages_is_bounded_by_rows_and_pages() {
        assert!((distinct_pages(1.0, 1000.0) - 1.0).abs() < 1e-6);
        assert!(distinct_pages(1e9, 1000.0) <= 1000.0);
        assert!(distinct_pages(10.0, 1e9) <= 10.0);
        // The published example: 20,000 random rows of a 12,000-page table touch 9,733 pages.
        assert!((distinct_pages(20_000.0, 12_000.0) - 9_733.0).abs() < 1.0);
        assert_eq!(distinct_pages(0.0, 12.0), 0.0);
    }

    #[test]
    fn sorted_batch_costs_between_sequential_and_random() {
        for class in [DeviceClass::Rotating, DeviceClass::SolidState, DeviceClass::Nvme] {
            let model = CostModel::new(class, 16384);
            for pages in [10.0, 1_000.0, 8_000.0, 12_000.0] {
                let batched = batched_fetch_us(&model, pages, 12_000.0, 0.0);
                assert!(batched <= pages * point_read_us(&model, 0.0) * 1.001, "{class:?} {pages}");
                assert!(batched >= pages * model.page_bytes / model.device.bytes_per_us * 0.999);
            }
            let all = batched_fetch_us(&model, 12_000.0, 12_000.0, 0.0);
            let scan = scan_us(&model, 12_000.0, 0.0);
            assert!((all - scan).abs() / scan < 0.01, "{class:?}: {all} {scan}");
        }
    }

    #[test]
    fn each_sweep_reads_a_table_again_that_does_not_stay_in_memory() {
        let model = CostModel::new(DeviceClass::Rotating, 16384);
        let sweeps = |rows, batch| Sweeps { rows, batch, pages: 1_000.0, resident: 0.0, pages_per_row: 1.0 };
        let (_, once) = sweeps(10_000.0, 10_000.0).cost(&model);
        let (latched, kept) = sweeps(40_000.0, 10_000.0).cost(&model);
        assert!((kept / once - 1.0).abs() < 0.01, "{kept} {once}");
        assert!((latched - 4_000.0).abs() < 1.0, "{latched}");
        // A few rows at a time cost more than all at once, each, and at most as much as one by one.
        let few = sweeps(200.0, 10_000.0);
        let (_, growing) = few.growing(&model, 16.0, 4.0);
        let ((_, at_once), (_, alone)) = (few.cost(&model), few.one_by_one(&model));
        assert!(growing > 1.05 * at_once && growing < alone, "{at_once} {growing} {alone}");
        let small = model.with_pool(100 * 16384);
        let (_, again) = sweeps(40_000.0, 10_000.0).cost(&small);
        assert!((again / once - 4.0).abs() < 0.01, "{again} {once}");
        assert_eq!(sweeps(0.0, 10_000.0).cost(&small), (0.0, 0.0));
        let (_, alone) = sweeps(10_000.0, 10_000.0).one_by_one(&small);
        assert!(alone > 9.0 * once, "{alone} {once}");
    }

    #[test]
    fn resident_pages_cost_no_device_time_unless_residency_is_ignored() {
        let mut model = CostModel::new(DeviceClass::Rotating, 16384);
        assert_eq!(batched_fetch_us(&model, 100.0, 1000.0, 1.0), 0.0);
        assert_eq!(scan_us(&model, 100.0, 1.0), 0.0);
        model.use_residency = false;
        assert!(batched_fetch_us(&model, 100.0, 1000.0, 1.0) > 0.0);
    }
}
