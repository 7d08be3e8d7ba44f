//! CREATE, ALTER, DROP and SET RESOURCE GROUP.

use super::Ident;

/// A statement about resource groups.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceGroupStatement {
    /// CREATE RESOURCE GROUP.
    Create {
        /// Its name.
        name: Ident,
        /// TYPE = SYSTEM; otherwise the type is USER.
        of_system: bool,
        /// Its attributes.
        options: ResourceGroupOptions,
    },
    /// ALTER RESOURCE GROUP.
    Alter {
        /// Its name.
        name: Ident,
        /// The attributes changed.
        options: ResourceGroupOptions,
        /// FORCE: sessions leave the group if it is disabled.
        force: bool,
    },
    /// DROP RESOURCE GROUP.
    Drop {
        /// Its name.
        name: Ident,
        /// FORCE: sessions leave the group before it is dropped.
        force: bool,
    },
    /// SET RESOURCE GROUP.
    Set {
        /// Its name.
        name: Ident,
        /// FOR: the threads that move to the group; empty for the session's own.
        threads: Vec<u64>,
    },
}

/// The attributes of a group that a statement sets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResourceGroupOptions {
    /// VCPU: the first and the last of each range.
    pub vcpus: Vec<(u64, u64)>,
    /// THREAD_PRIORITY.
    pub priority: Option<i32>,
    /// ENABLE or DISABLE.
    pub enabled: Option<bool>,
}
