//! Records what an import has done, and what it has left out.

use crate::failure::Failure;
use leafline_types::MysqlError;
use leafline_types::error::errno;
use std::collections::BTreeSet;

/// The record of an import, printed at its end.
#[derive(Default, Debug)]
pub struct Report {
    /// Whether unsupported parts are left out.
    pub skips: bool,
    /// The tables that rows were loaded into.
    pub tables: BTreeSet<String>,
    pub rows: u64,
    left_out: Vec<String>,
}

impl Report {
    pub fn new(skips: bool) -> Report {
        Report { skips, ..Report::default() }
    }

    /// Adds rows that were loaded into a table.
    pub fn loaded(&mut self, database: &str, table: &str, rows: u64) {
        self.tables.insert(format!("{database}.{table}"));
        self.rows += rows;
    }

    /// Records a part that is left out.
    ///
    /// # Errors
    /// The reason, if nothing may be left out.
    pub fn leave_out(&mut self, what: String, why: &str) -> Result<(), Failure> {
        if !self.skips {
            return Err(Failure::Message(format!(
                "{what}: {why}\n--skip-unsupported leaves out what is not supported, and lists it"
            )));
        }
        self.left_out.push(format!("{what}: {why}"));
        Ok(())
    }

    /// Prints what was left out.
    pub fn tell(&self) {
        if self.left_out.is_empty() {
            return;
        }
        eprintln!("Left out:");
        self.left_out.iter().for_each(|line| eprintln!("  {line}"));
    }
}

/// Whether an error means that something is not supported, rather than wrong.
pub fn is_unsupported(error: &MysqlError) -> bool {
    matches!(
        error.code,
        errno::ER_NOT_SUPPORTED_YET
            | errno::ER_UNKNOWN_SYSTEM_VARIABLE
            | errno::ER_SP_DOES_NOT_EXIST
            | errno::ER_UNKNOWN_STORAGE_ENGINE
            | errno::ER_UNKNOWN_COLLATION
            | errno::ER_UNKNOWN_CHARACTER_SET
            | errno::ER_PARSE_ERROR
    )
}
