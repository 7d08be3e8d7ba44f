//! What a repair did, and what was lost.

use leafline_storage::PageNo;
use std::fmt;

/// What a repair did to a table, or would do.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TableRepair {
    /// The table, with its database.
    pub table: String,
    /// Secondary indexes that are built anew. That loses nothing.
    pub rebuilt: Vec<String>,
    /// What became of the rows, if the clustered index was damaged.
    pub salvage: Option<SalvageReport>,
    /// Rows that the table was thought to have.
    pub counted: u64,
    /// Rows that it has, where that is not the same.
    pub recounted: Option<u64>,
    /// What became of the values that are stored outside the rows, if they were damaged. Those that a row is lost with are lost
    /// with it, and named there.
    pub values: Option<Box<TableRepair>>,
}

/// What was written of a damaged database to a new one.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Rescue {
    /// Pages of the store itself that cannot be used, and why.
    pub pages: Vec<(PageNo, String)>,
    /// What became of each table.
    pub tables: Vec<TableRepair>,
    /// What is lost besides, as text.
    pub lost: Vec<String>,
}

impl Rescue {
    /// Whether anything is lost, or may be.
    pub fn loses(&self) -> bool {
        !self.lost.is_empty() || self.tables.iter().any(TableRepair::loses_rows)
    }
}

/// What was kept of a damaged clustered index.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SalvageReport {
    /// Rows kept.
    pub rows: u64,
    /// Where rows are lost.
    pub lost: Vec<LostRange>,
    /// Pages that cannot be read or used, and why.
    pub pages: Vec<(PageNo, String)>,
    /// Rows that were left out, and why.
    pub left_out: Vec<String>,
    /// Changes by commits that recovery could not make, and that have been made now.
    pub made_up: u64,
    /// Such changes that cannot be read, as text.
    pub unknown: Vec<String>,
}

/// All rows of the table between two that were kept are lost, or are not: there may have been none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LostRange {
    /// Primary key of the last row that was kept before; `None`: there is none.
    pub after: Option<String>,
    /// Primary key of the first row that was kept behind; `None`: there is none.
    pub before: Option<String>,
}

impl TableRepair {
    /// Whether there is nothing to do.
    pub fn is_nothing(&self) -> bool {
        self.rebuilt.is_empty() && self.salvage.is_none() && self.recounted.is_none() && self.values.is_none()
    }

    /// Whether rows are lost, or may be.
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

/// A line for each thing, without the table's name.
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
