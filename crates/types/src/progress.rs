//! How far a statement is that takes long: told by whoever does the work, read by other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// What such a statement is doing, in MySQL's words where it has any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Stage {
    /// Nothing that can be counted.
    Executing,
    /// Rows of a file, or of a query, are stored.
    Loading,
    /// Rows are read and written anew.
    CopyingTable,
    /// Rows are read, and entries of indexes made of them and sorted.
    ReadingRows,
    /// Sorted entries are merged into trees.
    BuildingTrees,
    /// A transaction too large for one log record is applied.
    Committing,
    /// Pages are copied into a backup.
    BackingUp,
    /// Pages of a backup are read.
    Restoring,
}

impl Stage {
    const ALL: [Stage; 8] = [
        Stage::Executing,
        Stage::Loading,
        Stage::CopyingTable,
        Stage::ReadingRows,
        Stage::BuildingTrees,
        Stage::Committing,
        Stage::BackingUp,
        Stage::Restoring,
    ];

    /// As the process list shows it.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Executing => "executing",
            Stage::Loading => "loading rows",
            Stage::CopyingTable => "copy to tmp table",
            Stage::ReadingRows => "alter table (read PK and internal sort)",
            Stage::BuildingTrees => "alter table (insert)",
            Stage::Committing => "committing",
            Stage::BackingUp => "copying pages",
            Stage::Restoring => "reading a backup",
        }
    }
}

/// Where a statement is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProgressReport {
    /// What it is doing.
    pub stage: Stage,
    /// The number of the stage, from 1, and of how many: 0 where nothing can be said.
    pub number: u8,
    /// How many stages there are.
    pub of: u8,
    /// How much of the stage is done, in percent.
    pub percent: f64,
}

impl ProgressReport {
    /// How much of the statement is done, in percent, if its stages took the same time.
    pub fn overall(&self) -> f64 {
        match self.of {
            0 => 0.0,
            of => (f64::from(self.number.saturating_sub(1)) * 100.0 + self.percent) / f64::from(of),
        }
    }
}

#[derive(Debug, Default)]
struct Counts {
    stage: AtomicU8,
    number: AtomicU8,
    of: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
}

/// How far a statement is. Clones tell of the same.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Counts>);

impl Progress {
    /// A stage begins, the `number`th of so many, with so much to do: 0 if nobody knows.
    pub fn begin(&self, stage: Stage, (number, of): (u8, u8), total: u64) {
        let Counts { stage: at, number: at_number, of: at_of, done, total: at_total } = &*self.0;
        done.store(0, Relaxed);
        at_total.store(total, Relaxed);
        at_number.store(number, Relaxed);
        at_of.store(of, Relaxed);
        at.store(stage as u8, Relaxed);
    }

    /// So much more is done.
    pub fn add(&self, done: u64) {
        self.0.done.fetch_add(done, Relaxed);
    }

    /// So much is done by now.
    pub fn set(&self, done: u64) {
        self.0.done.store(done, Relaxed);
    }

    /// The statement is over.
    pub fn end(&self) {
        if self.0.of.load(Relaxed) > 0 {
            self.begin(Stage::Executing, (0, 0), 0);
        }
    }

    /// Where it is. The figures may be of two moments.
    pub fn report(&self) -> ProgressReport {
        let counts = &*self.0;
        let stage = Stage::ALL.get(usize::from(counts.stage.load(Relaxed))).copied();
        let (done, total) = (counts.done.load(Relaxed), counts.total.load(Relaxed));
        let percent = if total == 0 { 0.0 } else { (done as f64 * 100.0 / total as f64).min(100.0) };
        ProgressReport {
            stage: stage.unwrap_or(Stage::Executing),
            number: counts.number.load(Relaxed),
            of: counts.of.load(Relaxed),
            percent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_follow_the_stages() {
        let progress = Progress::default();
        assert_eq!(progress.report().of, 0);
        let teller = progress.clone();
        teller.begin(Stage::BuildingTrees, (2, 3), 400);
        teller.add(100);
        let report = progress.report();
        assert_eq!((report.stage, report.number, report.of), (Stage::BuildingTrees, 2, 3));
        assert_eq!((report.percent, report.overall()), (25.0, 125.0 / 3.0));
        teller.set(500);
        assert_eq!(progress.report().percent, 100.0);
        teller.end();
        assert_eq!(progress.report().stage, Stage::Executing);
        assert!(Stage::ALL.iter().enumerate().all(|(at, stage)| *stage as usize == at));
    }
}
