//! The trees of a table, node by node.

use super::Check;
use crate::error::Result;

impl Check<'_> {
    /// Looks at every node of every tree.
    pub(super) fn structure(&mut self) -> Result<()> {
        for index in &self.table.indexes {
            let tree = self.view.engine().trees.for_snapshot(index, self.view.snapshot())?;
            let (_, faults) = tree.tree.examine(self.options.threads, self.progress)?;
            for fault in faults {
                self.found.note(self.table, Some(index), Some(fault.page), fault.what);
            }
        }
        Ok(())
    }
}
