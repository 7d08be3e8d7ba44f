//! Counters of a session's statements on the way to their rows.
//!
//! Names and meanings are MySQL's where MySQL has the counter (manual, "Server Status Variables");
//! those that start with `leafline_` are ours. A counter set is plain numbers owned by one session;
//! the server adds finished statements to the global set.

use std::ops::AddAssign;

macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident => $name:literal,)*) => {
        /// The counters of one session, or the sum of many.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Counters {
            /// Every counter under the name `SHOW STATUS` gives it, in a fixed order.
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$(($name, self.$field),)*]
            }

            /// Returns the counts since `earlier`, an older copy of the same counters.
            pub fn since(&self, earlier: &Counters) -> Counters {
                Counters { $($field: self.$field.wrapping_sub(earlier.$field),)* }
            }
        }

        impl AddAssign for Counters {
            fn add_assign(&mut self, other: Counters) {
                $(self.$field = self.$field.wrapping_add(other.$field);)*
            }
        }
    };
}

counters! {
    /// Times that a sort, a join or grouping went to a file.
    created_tmp_files => "Created_tmp_files",
    /// Transactions and statements committed.
    handler_commit => "Handler_commit",
    /// Rows deleted.
    handler_delete => "Handler_delete",
    /// Entries on which a pushed index condition was evaluated.
    handler_icp_attempts => "Handler_icp_attempts",
    /// Entries that passed the pushed index condition.
    handler_icp_match => "Handler_icp_match",
    /// Reads of the first entry of an index: each stands for a full index scan begun.
    handler_read_first => "Handler_read_first",
    /// Seeks to a key: each range, and each key of a lookup.
    handler_read_key => "Handler_read_key",
    /// Reads of the last entry of an index.
    handler_read_last => "Handler_read_last",
    /// Steps to the next entry in key order.
    handler_read_next => "Handler_read_next",
    /// Steps to the previous entry in key order.
    handler_read_prev => "Handler_read_prev",
    /// Rows read by their position: here, by locator after their order was changed.
    handler_read_rnd => "Handler_read_rnd",
    /// Steps of table scans.
    handler_read_rnd_next => "Handler_read_rnd_next",
    /// Transactions and statements rolled back.
    handler_rollback => "Handler_rollback",
    /// Rows updated.
    handler_update => "Handler_update",
    /// Rows inserted.
    handler_write => "Handler_write",
    /// Sorts that went to files, which were merged.
    sort_merge_passes => "Sort_merge_passes",
    /// Rows that were sorted.
    sort_rows => "Sort_rows",
    /// Rows visited because of an entry of a secondary index that changed after the snapshot, to know whether it is visible.
    leafline_covering_lookups => "Leafline_covering_lookups",
    /// Index entries looked at, whichever the index, before any condition.
    leafline_entries_examined => "Leafline_entries_examined",
    /// Times that a scan went from an entry that does not match to where the next one can be.
    leafline_leaps => "Leafline_leaps",
    /// Plans that were given up for another, because more was to be done than was expected.
    leafline_plans_switched => "Leafline_plans_switched",
    /// Locators that indexes gave for index merge and rowid filters.
    leafline_locators_collected => "Leafline_locators_collected",
    /// Rows read from the clustered index because a secondary index pointed at them.
    leafline_rows_fetched => "Leafline_rows_fetched",
    /// Rows that were not decoded because the other side of a join has no such key.
    leafline_runtime_filtered => "Leafline_runtime_filtered",
    /// Scans whose bounds were narrowed by the keys of the other side of a join.
    leafline_scans_narrowed => "Leafline_scans_narrowed",
    /// Partitions that scans went into, again for each batch of outer rows.
    leafline_partitions_scanned => "Leafline_partitions_scanned",
    /// How long locks were waited for, microseconds.
    leafline_lock_wait_us => "Leafline_lock_wait_us",
    /// Pages that were read from the device, because they were needed or ahead of that.
    leafline_pages_read => "Leafline_pages_read",
    /// Leaf pages handed to read-ahead.
    leafline_read_ahead_pages => "Leafline_read_ahead_pages",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_and_add_assign_are_inverse() {
        let earlier = Counters { handler_read_key: 3, leafline_rows_fetched: 1, ..Counters::default() };
        let mut later = earlier;
        later.handler_read_key += 4;
        let difference = later.since(&earlier);
        assert_eq!(difference, Counters { handler_read_key: 4, ..Counters::default() });
        let mut sum = earlier;
        sum += difference;
        assert_eq!(sum, later);
    }

    #[test]
    fn named_lists_every_counter_once() {
        let named = Counters::default().named();
        let mut names: Vec<_> = named.iter().map(|(name, _)| *name).collect();
        names.dedup();
        assert_eq!(names.len(), size_of::<Counters>() / size_of::<u64>());
    }
}
