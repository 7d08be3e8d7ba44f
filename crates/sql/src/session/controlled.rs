//! The thread that works for a statement, under the controls of a resource group: that of the statement's hint, else the session's.
//!
//! It is under them while it is in the session: each call that works for a statement begins and ends with this. What is called in
//! between, and what starts threads, need not know. What the thread has pages read for, and how long it waits for locks, is counted likewise.

use super::Session;
use crate::accounts::Privilege;
use crate::resource_group::thread::Controlled;
use crate::resource_group::{ResourceGroup, ResourceGroups};
use leafline_storage::reads_begun_here;
use leafline_table::lock_wait_us_here;
use leafline_types::MysqlError;
use std::sync::Arc;

/// The groups of a statement, and what the thread is under now.
#[derive(Default)]
pub(super) struct StatementGroups {
    /// The session's, as the statement began.
    pub of_session: Option<Arc<ResourceGroup>>,
    /// That of the statement's hint.
    of_hint: Option<Arc<ResourceGroup>>,
    controlled: Option<Controlled>,
    /// What the thread had begun to read and waited for when it came, while it is there.
    came: Option<(u64, u64)>,
}

impl Session {
    /// The calling thread works for the statement at hand from now on.
    pub(super) fn take_thread(&mut self) {
        let groups = &mut self.groups;
        groups.came.get_or_insert((reads_begun_here(), lock_wait_us_here()));
        let Some(group) = groups.of_hint.as_ref().or(groups.of_session.as_ref()) else { return };
        if groups.controlled.is_some() || ResourceGroups::is_default(&group.name) {
            return;
        }
        let controls = group.state.read().controls.clone();
        match Controlled::new(&controls, self.instance.resource_groups().sets_priority) {
            Ok(controlled) => groups.controlled = Some(controlled),
            // The processors were there when the session came to be in the group.
            Err(error) => {
                let why = format_args!("Failed to apply thread resource controls: {error}");
                let warning = MysqlError::resource_group_not_bound(&group.name, self.entry.id, why);
                self.warnings.warn(warning);
            }
        }
    }

    /// It does not any more.
    pub(super) fn leave_thread(&mut self) {
        self.groups.controlled = None;
        if let Some((reads, waited)) = self.groups.came.take() {
            let counters = &mut self.counters.access;
            counters.leafline_pages_read += reads_begun_here().wrapping_sub(reads);
            counters.leafline_lock_wait_us += lock_wait_us_here().wrapping_sub(waited);
        }
    }

    /// Pages that were read for the statement at hand since the thread came to it.
    pub(super) fn pages_read_now(&self) -> u64 {
        self.groups.came.map_or(0, |(reads, _)| reads_begun_here().wrapping_sub(reads))
    }

    /// The hint RESOURCE_GROUP: the rest of the statement is under the controls of that group.
    pub(super) fn hint_group(&mut self, name: &str) {
        let id = self.entry.id;
        let asked = [Privilege::ResourceGroupAdmin, Privilege::ResourceGroupUser];
        if let Err(warning) = self.access.check_any(&asked) {
            self.warnings.warn(warning);
            return;
        }
        let usable = |group: Arc<ResourceGroup>| match (group.of_system, group.state.read().enabled) {
            (true, _) => {
                let why = "System resource group can't be bound with a session thread";
                Err(MysqlError::resource_group_not_bound(&group.name, id, why))
            }
            (_, false) => Err(MysqlError::resource_group_disabled(&group.name)),
            _ => Ok(group.clone()),
        };
        match self.instance.resource_groups().find(name).and_then(usable) {
            Ok(group) => {
                self.leave_thread();
                self.groups.of_hint = Some(group);
                self.take_thread();
            }
            Err(warning) => self.warnings.warn(warning),
        }
    }

    /// The statement is over, and its hint with it.
    pub(super) fn end_groups(&mut self) {
        self.groups.of_hint = None;
    }
}
