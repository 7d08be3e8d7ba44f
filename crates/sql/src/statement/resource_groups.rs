//! CREATE, ALTER, DROP and SET RESOURCE GROUP. Errors are checked in MySQL's order.

use crate::resource_group::thread::{Controlled, Controls};
use crate::resource_group::{GroupState, ResourceGroup, ResourceGroups};
use crate::session::Session;
use crate::session_entry::SessionEntry;
use leafline_syntax::ast::{ResourceGroupOptions, ResourceGroupStatement};
use leafline_types::MysqlError;
use std::sync::Arc;

/// Most characters of a name.
const MAX_NAME: usize = 64;

pub(super) fn run(session: &mut Session, statement: &ResourceGroupStatement) -> Result<(), MysqlError> {
    let instance = session.instance.clone();
    let groups = instance.resource_groups();
    let _alone = groups.changing.lock();
    match statement {
        ResourceGroupStatement::Create { name, of_system, options } => {
            create(session, groups, &name.value, *of_system, options)
        }
        ResourceGroupStatement::Alter { name, options, force } => {
            alter(session, groups, &name.value, options, *force)
        }
        ResourceGroupStatement::Drop { name, force } => drop_group(session, groups, &name.value, *force),
        ResourceGroupStatement::Set { name, threads } => set(session, groups, &name.value, threads),
    }
}

fn create(
    session: &mut Session,
    groups: &ResourceGroups,
    name: &str,
    of_system: bool,
    options: &ResourceGroupOptions,
) -> Result<(), MysqlError> {
    if name.chars().count() > MAX_NAME {
        return Err(MysqlError::identifier_too_long(name));
    }
    let priority = priority(session, groups, name, of_system, options.priority.unwrap_or(0))?;
    let processors = groups.processors(&options.vcpus)?;
    match groups.find(name) {
        Ok(_) => return Err(MysqlError::resource_group_exists(name)),
        Err(error) if error.code == leafline_types::error::errno::ER_RESOURCE_GROUP_NOT_EXISTS => {}
        Err(error) => return Err(error),
    }
    let controls = Controls { processors, priority };
    groups.put(name, of_system, GroupState { controls, enabled: options.enabled.unwrap_or(true) })
}

fn alter(
    session: &mut Session,
    groups: &ResourceGroups,
    name: &str,
    options: &ResourceGroupOptions,
    force: bool,
) -> Result<(), MysqlError> {
    if ResourceGroups::is_default(name) {
        return Err(MysqlError::disallowed_operation("Alter", "default resource groups."));
    }
    let group = groups.find(name)?;
    let mut state = group.state.read().clone();
    if !options.vcpus.is_empty() {
        state.controls.processors = groups.processors(&options.vcpus)?;
    }
    if let Some(wanted) = options.priority {
        state.controls.priority = priority(session, groups, name, group.of_system, wanted)?;
    }
    if force && options.enabled != Some(false) {
        return Err(MysqlError::force_without_disable());
    }
    state.enabled = options.enabled.unwrap_or(state.enabled);
    groups.put(&group.name, group.of_system, state)?;
    if force {
        members(session, &group).for_each(|entry| entry.set_resource_group(None));
    }
    Ok(())
}

fn drop_group(
    session: &mut Session,
    groups: &ResourceGroups,
    name: &str,
    force: bool,
) -> Result<(), MysqlError> {
    if ResourceGroups::is_default(name) {
        // MySQL's message has two spaces and the word twice.
        return Err(MysqlError::disallowed_operation("Drop operation ", "default resource groups."));
    }
    let group = groups.find(name)?;
    if !force && members(session, &group).next().is_some() {
        return Err(MysqlError::resource_group_busy(name));
    }
    groups.remove(name)?;
    members(session, &group).for_each(|entry| entry.set_resource_group(None));
    Ok(())
}

fn set(
    session: &mut Session,
    groups: &ResourceGroups,
    name: &str,
    threads: &[u64],
) -> Result<(), MysqlError> {
    let group = groups.find(name)?;
    let controls = {
        let state = group.state.read();
        if !state.enabled {
            return Err(MysqlError::resource_group_disabled(&group.name));
        }
        state.controls.clone()
    };
    let own = session.connection_id();
    if threads.is_empty() && group.of_system {
        let why = "System resource group can't be applied to user thread.";
        return Err(MysqlError::resource_group_not_bound(&group.name, own, why));
    }
    // Tries the controls here, where a failure can be reported as an error.
    if let Err(error) = Controlled::new(&controls, groups.sets_priority) {
        let why = format_args!("Failed to apply thread resource controls: {error}");
        return Err(MysqlError::resource_group_not_bound(&group.name, own, why));
    }
    if !groups.sets_priority && controls.priority != 0 {
        session.warnings.warn(priority_ignored());
    }
    let ids = if threads.is_empty() { &[own][..] } else { threads };
    for id in ids {
        match bind(session, &group, *id) {
            Err(error) if ids.len() > 1 => session.warnings.warn(error),
            bound => bound?,
        }
    }
    Ok(())
}

/// Puts a session into a group, from its next statement on.
fn bind(session: &Session, group: &Arc<ResourceGroup>, id: u64) -> Result<(), MysqlError> {
    let sessions = session.instance.sessions();
    let entry =
        sessions.iter().find(|entry| entry.id == id).ok_or_else(|| MysqlError::invalid_thread_id(id))?;
    if group.of_system {
        let why = "Resource group type and thread type doesn't match.";
        return Err(MysqlError::resource_group_not_bound(&group.name, id, why));
    }
    let is_none = ResourceGroups::is_default(&group.name);
    entry.set_resource_group((!is_none).then(|| group.clone()));
    Ok(())
}

/// Returns the sessions of a group.
fn members(session: &Session, group: &Arc<ResourceGroup>) -> impl Iterator<Item = Arc<SessionEntry>> {
    let group = group.clone();
    let is_in = move |entry: &Arc<SessionEntry>| {
        entry.resource_group().is_some_and(|other| Arc::ptr_eq(&other, &group))
    };
    session.instance.sessions().into_iter().filter(is_in)
}

/// Returns the priority that a group gets: 0, with a warning, where the process may not set priorities.
fn priority(
    session: &mut Session,
    groups: &ResourceGroups,
    name: &str,
    of_system: bool,
    priority: i32,
) -> Result<i32, MysqlError> {
    if groups.sets_priority {
        let (least, most) = ResourceGroup::priorities(of_system);
        let kind = if of_system { "System" } else { "User" };
        return match (least..=most).contains(&priority) {
            true => Ok(priority),
            false => Err(MysqlError::invalid_thread_priority(priority, kind, name, least, most)),
        };
    }
    if priority != 0 {
        session.warnings.warn(priority_ignored());
    }
    Ok(0)
}

fn priority_ignored() -> MysqlError {
    MysqlError::attribute_ignored("thread_priority", "using default value")
}
