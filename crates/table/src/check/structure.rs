//! The trees of a table, node by node. A quarantined tree is reported without being read, because it lacks
//! changes even if its nodes look sound.

use super::Check;
use crate::error::Result;
use leafline_storage::PageNo;

impl Check<'_> {
    /// Examines every node of every tree.
    pub(super) fn structure(&mut self) -> Result<()> {
        for index in &self.table.indexes {
            let core = self.view.core();
            if let Some(known) = core.quarantine.lock().get(index.tree) {
                for (page, reason) in &known.pages {
                    let what = format!("quarantined, because changes could not be made to it: {reason}");
                    let page = Some(*page).filter(|page| *page != PageNo::NONE);
                    self.found.note(self.table, Some(index), page, what);
                }
                continue;
            }
            let tree = core.trees.for_snapshot_even_refused(index, self.view.snapshot())?;
            let (report, faults) =
                tree.tree.examine(self.options.threads, self.options.read_ahead, self.progress)?;
            let expected = if index.packing.packed { report.leaves } else { 0 };
            if faults.is_empty() && report.packed != expected {
                let what =
                    format!("{} of {} leaves are packed, {expected} should be", report.packed, report.leaves);
                self.found.note(self.table, Some(index), None, what);
            }
            for fault in faults {
                self.found.note(self.table, Some(index), Some(fault.page), fault.what);
            }
        }
        Ok(())
    }
}
