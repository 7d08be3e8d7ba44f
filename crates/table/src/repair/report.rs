//! Reports of repairs: the work done, and the rows lost.

use leafline_storage::PageNo;
use std::fmt;

/// The report of repairing a table, or of a dry run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TableRepair {
    /// The table's database and name.
    pub table: String,
    /// The names of secondary indexes that are rebuilt, which loses nothing.
    pub rebuilt: Vec<String>,
    /// The report of salvaging the rows, if the clustered index was damaged.
    pub salvage: Option<SalvageReport>,
    /// The number of rows that the table was thought to have.
    pub counted: u64,
    /// The number of rows it has, if that is different.
    pub recounted: Option<u64>,
    /// The report of repairing the overflow values, if they were damaged. A row that is lost together with
    /// its overflow values is named in `salvage`.
    pub values: Option<Box<TableRepair>>,
}

/// The report of rescuing a damaged database into a new one.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Rescue {
    /// Pages of the store itself that cannot be used, each with the reason.
    pub pages: Vec<(PageNo, String)>,
    /// The report for each table.
    pub tables: Vec<TableRepair>,
    /// Descriptions of other losses.
    pub lost: Vec<String>,
}

impl Rescue {
    /// Returns whether anything is lost, or may be.
    pub fn loses(&self) -> bool {
        !self.lost.is_empty() || self.tables.iter().any(TableRepair::loses_rows)
    }
}

/// The report of salvaging a damaged clustered index.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SalvageReport {
    /// The number of rows kept.
    pub rows: u64,
    /// The ranges in which rows may be lost.
    pub lost: Vec<LostRange>,
    /// Pages that cannot be read or used, each with the reason.
    pub pages: Vec<(PageNo, String)>,
    /// Rows left out, each with the reason.
    pub left_out: Vec<String>,
    /// The number of changes made now that recovery could not make.
    pub made_up: u64,
    /// Descriptions of such changes that cannot be read.
    pub unknown: Vec<String>,
}

/// A range between two rows that were kept. All rows in it are lost, but there may have been none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LostRange {
    /// The primary key of the last row kept before it; `None` if there is none.
    pub after: Option<String>,
    /// The primary key of the first row kept after it; `None` if there is none.
    pub before: Option<String>,
}

impl TableRepair {
    /// Returns whether there is nothing to repair.
    pub fn is_nothing(&self) -> bool {
        self.rebuilt.is_empty() && self.salvage.is_none() && self.recounted.is_none() && self.values.is_none()
    }

    /// Returns whether rows are lost, or may be.
    pub fn loses_rows(&self) -> bool {
        self.salvage.as_ref().is_some_and(|report| {
            !(report.lost.is_empty() && report.left_out.is_empty() && report.unknown.is_empty())
        })
    }
}

impl fmt::Display for LostRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.after, &self.before) {
            (None, None) => f.write_str("all rows"),
            (Some(after), None) => write!(f, "the rows after '{after}'"),
            (None, Some(before)) => write!(f, "the rows before '{before}'"),
            (Some(after), Some(before)) => write!(f, "the rows after '{after}' and before '{before}'"),
        }
    }
}

/// Shows one line for each fact, without the table's name.
impl fmt::Display for TableRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_nothing() {
            return writeln!(f, "nothing to repair");
        }
        if let Some(report) = &self.salvage {
            writeln!(f, "rows kept: {}, of {} that were counted", report.rows, self.counted)?;
            for (page, reason) in &report.pages {
                writeln!(f, "page {page} of the rows cannot be used: {reason}")?;
            }
            for range in &report.lost {
                writeln!(f, "lost, by primary key: {range}")?;
            }
            for row in &report.left_out {
                writeln!(f, "lost: {row}")?;
            }
            for what in &report.unknown {
                writeln!(f, "lost: {what}")?;
            }
            if report.made_up > 0 {
                writeln!(
                    f,
                    "changes of commits that recovery could not make, and that are made now: {}",
                    report.made_up
                )?;
            }
            if !self.loses_rows() {
                writeln!(f, "no row is lost")?;
            }
        } else if let Some(rows) = self.recounted {
            writeln!(f, "number of rows put right: {rows}, {} were counted", self.counted)?;
        }
        for index in &self.rebuilt {
            writeln!(f, "index {index} built anew from the rows")?;
        }
        if let Some(values) = &self.values {
            writeln!(f, "{}:", values.table)?;
            values.to_string().lines().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        Ok(())
    }
}
