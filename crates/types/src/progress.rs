//! The progress of a long statement: set by the threads that do the work, read by others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// The stage of a long statement, in MySQL's words where it has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Stage {
    /// Work without countable progress.
    Executing,
    /// Storing the rows of a file or of a query.
    Loading,
    /// Rewriting the rows of a table.
    CopyingTable,
    /// Reading rows, and making and sorting their index entries.
    ReadingRows,
    /// Merging sorted entries into trees.
    BuildingTrees,
    /// Applying a transaction that is too large for one log record.
    Committing,
    /// Copying pages into a backup.
    BackingUp,
    /// Reading the pages of a backup.
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

    /// Returns the name that the process list shows.
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

/// The progress of a statement at one moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProgressReport {
    /// The stage.
    pub stage: Stage,
    /// The number of the stage, from 1; 0 if there is nothing to count.
    pub number: u8,
    /// The number of stages.
    pub of: u8,
    /// The share of the stage that is done, in percent.
    pub percent: f64,
}

impl ProgressReport {
    /// Returns how much of the statement is done, in percent, counting all its stages alike.
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

/// The progress of a statement. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Counts>);

impl Progress {
    /// Begins stage `number` of `of`, with `total` to do; 0 if that is unknown.
    pub fn begin(&self, stage: Stage, (number, of): (u8, u8), total: u64) {
        let Counts { stage: at, number: at_number, of: at_of, done, total: at_total } = &*self.0;
        done.store(0, Relaxed);
        at_total.store(total, Relaxed);
        at_number.store(number, Relaxed);
        at_of.store(of, Relaxed);
        at.store(stage as u8, Relaxed);
    }

    /// Adds to the amount done.
    pub fn add(&self, done: u64) {
        self.0.done.fetch_add(done, Relaxed);
    }

    /// Sets the amount done.
    pub fn set(&self, done: u64) {
        self.0.done.store(done, Relaxed);
    }

    /// Ends the statement's progress.
    pub fn end(&self) {
        if self.0.of.load(Relaxed) > 0 {
            self.begin(Stage::Executing, (0, 0), 0);
        }
    }

    /// Returns the progress. The figures may come from two moments.
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
