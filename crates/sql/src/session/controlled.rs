//! The controls of a statement's thread: of the resource group in the statement's hint, otherwise of the
//! session's group.
//!
//! They apply while the thread works in the session; each call that works for a statement begins and ends
//! here. Calls in between and new threads need no knowledge of them. Pages that the thread reads, and its
//! waits for locks, are counted in the same way.

use super::Session;
use crate::accounts::Privilege;
use crate::resource_group::thread::Controlled;
use crate::resource_group::{ResourceGroup, ResourceGroups};
use leafline_storage::reads_begun_here;
use leafline_table::lock_wait_us_here;
use leafline_types::MysqlError;
use std::sync::Arc;

/// The groups of a statement, and the controls that the thread is under.
#[derive(Default)]
pub(super) struct StatementGroups {
    /// The session's group when the statement began.
    pub of_session: Option<Arc<ResourceGroup>>,
    /// Group of the statement's hint.
    of_hint: Option<Arc<ResourceGroup>>,
    controlled: Option<Controlled>,
    /// The thread's counts of page reads and lock waits when it entered the session; `None` outside.
    came: Option<(u64, u64)>,
}

impl Session {
    /// Notes that the calling thread works for the current statement from now on. Returns false if it did so already, in a
    /// statement around this one.
    pub(super) fn take_thread(&mut self) -> bool {
        let is_inner = self.is_inner();
        let groups = &mut self.statement.groups;
        let comes = groups.came.is_none() && !is_inner;
        if comes {
            groups.came = Some((reads_begun_here(), lock_wait_us_here()));
        }
        self.take_controls();
        comes
    }

    /// Puts the thread under the controls of the statement's group.
    fn take_controls(&mut self) {
        let groups = &mut self.statement.groups;
        let Some(group) = groups.of_hint.as_ref().or(groups.of_session.as_ref()) else { return };
        if groups.controlled.is_some() || ResourceGroups::is_default(&group.name) {
            return;
        }
        let controls = group.state.read().controls.clone();
        match Controlled::new(&controls, self.instance.resource_groups().sets_priority) {
            Ok(controlled) => groups.controlled = Some(controlled),
            // The processors existed when the session joined the group.
            Err(error) => {
                let why = format_args!("Failed to apply thread resource controls: {error}");
                let warning = MysqlError::resource_group_not_bound(&group.name, self.entry.id, why);
                self.warnings.warn(warning);
            }
        }
    }

    /// Notes that the thread leaves the session.
    pub(super) fn leave_thread(&mut self) {
        self.statement.groups.controlled = None;
        if let Some((reads, waited)) = self.statement.groups.came.take() {
            let counters = &mut self.counters.access;
            counters.leafline_pages_read += reads_begun_here().wrapping_sub(reads);
            counters.leafline_lock_wait_us += lock_wait_us_here().wrapping_sub(waited);
        }
    }

    /// Pages read for the current statement since the thread entered.
    pub(super) fn pages_read_now(&self) -> u64 {
        self.statement.groups.came.map_or(0, |(reads, _)| reads_begun_here().wrapping_sub(reads))
    }

    /// The hint RESOURCE_GROUP: puts the rest of the statement under the controls of a group.
    pub(super) fn hint_group(&mut self, name: &str) {
        let id = self.entry.id;
        let asked = [Privilege::ResourceGroupAdmin, Privilege::ResourceGroupUser];
        if let Err(warning) = self.login.access.check_any(&asked) {
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
                self.statement.groups.of_hint = Some(group);
                self.take_thread();
            }
            Err(warning) => self.warnings.warn(warning),
        }
    }

    /// Ends the hint together with its statement.
    pub(super) fn end_groups(&mut self) {
        self.statement.groups.of_hint = None;
    }
}
