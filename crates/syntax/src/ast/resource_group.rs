//! CREATE, ALTER, DROP and SET RESOURCE GROUP.

use super::Ident;

/// A statement about resource groups.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceGroupStatement {
    /// CREATE RESOURCE GROUP.
    Create {
        /// Its name.
        name: Ident,
        /// TYPE = SYSTEM; else USER.
        of_system: bool,
        /// What it is to be.
        options: ResourceGroupOptions,
    },
    /// ALTER RESOURCE GROUP.
    Alter {
        /// Its name.
        name: Ident,
        /// What is to be changed.
        options: ResourceGroupOptions,
        /// FORCE: sessions leave a group that is disabled.
        force: bool,
    },
    /// DROP RESOURCE GROUP.
    Drop {
        /// Its name.
        name: Ident,
        /// FORCE: sessions leave it.
        force: bool,
    },
    /// SET RESOURCE GROUP.
    Set {
        /// Its name.
        name: Ident,
        /// FOR: which sessions; none: this one.
        threads: Vec<u64>,
    },
}

/// What a statement says about a group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResourceGroupOptions {
    /// VCPU: the first and the last of each range.
    pub vcpus: Vec<(u64, u64)>,
    /// THREAD_PRIORITY.
    pub priority: Option<i32>,
    /// ENABLE or DISABLE.
    pub enabled: Option<bool>,
}
