//! Resource groups: which processors the threads of a statement may run on, and how urgent they are.
//!
//! A group is a row of `mysql.resource_groups`, and in memory an object that sessions refer to, so that a change of it reaches them. The
//! two groups that are always there, `USR_default` and `SYS_default`, are neither stored nor changed; who is in the first is in no
//! group at all. A session, or the hint of a statement, names a group; a statement's thread is under its controls while it
//! works ([`thread`]), and threads that it starts inherit them.

mod stored;
#[cfg(test)]
mod tests;
pub(crate) mod thread;

use crate::resource_group::thread::Controls;
use crate::system_table;
use leafline_table::Engine;
use leafline_types::MysqlError;
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// The group of sessions that are in no other.
pub(crate) const USER_DEFAULT: &str = "USR_default";
/// That of the threads of the program.
pub(crate) const SYSTEM_DEFAULT: &str = "SYS_default";

/// A group.
#[derive(Debug)]
pub(crate) struct ResourceGroup {
    pub name: String,
    /// It is for threads of the program, not for those of sessions.
    pub of_system: bool,
    pub state: RwLock<GroupState>,
}

/// What can be changed of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupState {
    pub controls: Controls,
    /// Sessions may be put into it.
    pub enabled: bool,
}

impl ResourceGroup {
    /// Priorities that it may have: user groups can only be less urgent than others.
    pub fn priorities(of_system: bool) -> (i32, i32) {
        if of_system { (-20, 0) } else { (0, 19) }
    }
}

/// The groups of an instance.
pub(crate) struct ResourceGroups {
    engine: Arc<Engine>,
    /// By name in lower case.
    groups: RwLock<BTreeMap<String, Arc<ResourceGroup>>>,
    /// One statement changes groups at a time.
    pub changing: Mutex<()>,
    /// The processors that there are for the program.
    processors: Vec<u32>,
    /// The program may make threads more urgent than others, so that a priority can be put back.
    pub sets_priority: bool,
    /// Why the groups could not be read.
    unread: Option<MysqlError>,
}

impl ResourceGroups {
    /// Reads the groups. If that fails, groups can be neither used nor changed: no reason not to open the database.
    pub fn open(engine: &Arc<Engine>) -> ResourceGroups {
        let processors = thread::processors();
        let (groups, unread) = match stored::read(engine) {
            Ok(groups) => (groups, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let all = Controls { processors: processors.clone(), priority: 0 };
        let default = |name: &str, of_system| ResourceGroup {
            name: name.into(),
            of_system,
            state: RwLock::new(GroupState { controls: all.clone(), enabled: true }),
        };
        let groups = groups.into_iter().chain([default(USER_DEFAULT, false), default(SYSTEM_DEFAULT, true)]);
        let by_name = groups.map(|group| (group.name.to_lowercase(), Arc::new(group)));
        ResourceGroups {
            engine: engine.clone(),
            groups: RwLock::new(by_name.collect()),
            changing: Mutex::new(()),
            processors,
            sets_priority: thread::can_set_priority(),
            unread,
        }
    }

    /// The group of that name.
    ///
    /// # Errors
    /// 3651 if there is none; why they could not be read.
    pub fn find(&self, name: &str) -> Result<Arc<ResourceGroup>, MysqlError> {
        let found = self.groups.read().get(&name.to_lowercase()).cloned();
        found.ok_or_else(|| match &self.unread {
            Some(error) => error.clone(),
            None => MysqlError::no_such_resource_group(name),
        })
    }

    /// All groups, by name.
    pub fn all(&self) -> Vec<Arc<ResourceGroup>> {
        self.groups.read().values().cloned().collect()
    }

    /// Whether a group is one of those that are always there.
    pub fn is_default(name: &str) -> bool {
        name.eq_ignore_ascii_case(USER_DEFAULT) || name.eq_ignore_ascii_case(SYSTEM_DEFAULT)
    }

    /// Adds a group, or gives one another state, on disk and then in memory.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn put(&self, name: &str, of_system: bool, state: GroupState) -> Result<(), MysqlError> {
        let row = stored::row(name, of_system, &state);
        system_table::put(&self.engine, &stored::table(), stored::is_of(name), Some(&row))?;
        let mut groups = self.groups.write();
        match groups.get(&name.to_lowercase()) {
            Some(group) => *group.state.write() = state,
            None => {
                let group = ResourceGroup { name: name.into(), of_system, state: RwLock::new(state) };
                groups.insert(name.to_lowercase(), Arc::new(group));
            }
        }
        Ok(())
    }

    /// Removes a group.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn remove(&self, name: &str) -> Result<(), MysqlError> {
        system_table::put(&self.engine, &stored::table(), stored::is_of(name), None)?;
        self.groups.write().remove(&name.to_lowercase());
        Ok(())
    }

    /// The processors that VCPU names, all if it names none, ascending.
    ///
    /// # Errors
    /// 3652, 3653.
    pub fn processors(&self, ranges: &[(u64, u64)]) -> Result<Vec<u32>, MysqlError> {
        if ranges.is_empty() {
            return Ok(self.processors.clone());
        }
        let there_is = |number: u64| self.processors.iter().any(|known| u64::from(*known) == number);
        if let Some(missing) = ranges.iter().flat_map(|(first, last)| [first, last]).find(|n| !there_is(**n))
        {
            return Err(MysqlError::invalid_vcpu(missing));
        }
        if let Some((first, last)) = ranges.iter().find(|(first, last)| first > last) {
            return Err(MysqlError::invalid_vcpu_range(first, last));
        }
        let named =
            |known: &&u32| ranges.iter().any(|(first, last)| (*first..=*last).contains(&u64::from(**known)));
        Ok(self.processors.iter().filter(named).copied().collect())
    }
}

/// Processors as ranges: `0-3,5`.
pub(crate) fn ranges_text(processors: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = processors;
    while let Some((first, behind)) = rest.split_first() {
        let mut last = *first;
        rest = behind;
        while let Some((next, behind)) = rest.split_first().filter(|(next, _)| **next == last + 1) {
            (last, rest) = (*next, behind);
        }
        let comma = if text.is_empty() { "" } else { "," };
        let _ = match last == *first {
            true => write!(text, "{comma}{first}"),
            false => write!(text, "{comma}{first}-{last}"),
        };
    }
    text
}
